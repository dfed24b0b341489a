"""MovieLens 1M: fields divided by two colons, no header, titles in Latin-1."""

from corml.data.catalog._known import Known, Remote

__all__ = ["ml_1m"]

ml_1m = Known(
    name="ml-1m",
    title="MovieLens 1M: 6,040 users, 3,706 movies, 1,000,209 ratings",
    files=(
        # As TensorFlow Datasets publishes it; other projects state the same, beside GroupLens' own md5 of the file.
        Remote(
            "https://files.grouplens.org/datasets/movielens/ml-1m.zip",
            "ml-1m.zip",
            "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        ),
    ),
    licence="GroupLens: research use, acknowledge it; redistribution and commercial use only with permission",
    citation="F. M. Harper, J. A. Konstan. The MovieLens Datasets: History and Context. ACM TiiS 5(4), 2015",
    accepts=("ml-1m/ratings.dat", "ml-1m/ml-1m.inter", "ml-1m.inter"),
    member="ml-1m/ratings.dat",
    layout={"separator": "::", "header": False, "rating": 2, "time": 3},
    titles="ml-1m/movies.dat",
    titles_layout={"separator": "::", "header": False, "encoding": "latin-1"},
    attributes=("genres",),
)
