"""MovieLens 100K: tabs, no header, titles in Latin-1."""

from corml.data.catalog._known import Known, Remote

__all__ = ["ml_100k"]

ml_100k = Known(
    name="ml-100k",
    title="MovieLens 100K: 943 users, 1,682 movies, 100,000 ratings",
    files=(
        # As TensorFlow Datasets publishes it; other projects state the same, beside GroupLens' own md5 of the file.
        Remote(
            "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
            "ml-100k.zip",
            "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        ),
    ),
    licence="GroupLens: research use, acknowledge it; redistribution and commercial use only with permission",
    citation="F. M. Harper, J. A. Konstan. The MovieLens Datasets: History and Context. ACM TiiS 5(4), 2015",
    accepts=("ml-100k/u.data", "ml-100k/ml-100k.inter", "ml-100k.inter"),
    member="ml-100k/u.data",
    layout={"separator": "\t", "header": False, "rating": 2, "time": 3},
    titles="ml-100k/u.item",
    titles_layout={"separator": "|", "header": False, "encoding": "latin-1"},
)
