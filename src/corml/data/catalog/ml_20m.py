"""MovieLens 20M, read as the paper reads it.

The paper names ratings of 4 and more and users with at least 5 of them. The 13,680 items of its table are reached
only if items need 5 as well, hence the 5-core.
"""

from corml.data.catalog._known import Known, Remote

__all__ = ["ml_20m"]

ml_20m = Known(
    name="ml-20m",
    title="MovieLens 20M: 138,493 users, 26,744 movies, 20,000,263 ratings",
    files=(
        # As TensorFlow Datasets publishes it; other projects state the same, beside GroupLens' own md5 of the file.
        Remote(
            "https://files.grouplens.org/datasets/movielens/ml-20m.zip",
            "ml-20m.zip",
            "96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
        ),
    ),
    licence="GroupLens: research use, acknowledge it; redistribution and commercial use only with permission",
    citation="F. M. Harper, J. A. Konstan. The MovieLens Datasets: History and Context. ACM TiiS 5(4), 2015",
    accepts=("ml-20m/ratings.csv", "ml-20m/ml-20m.inter", "ml-20m.inter"),
    member="ml-20m/ratings.csv",
    rules={"at_least": 4, "k_core": 5},
    titles="ml-20m/movies.csv",
    attributes=("genres",),
)
