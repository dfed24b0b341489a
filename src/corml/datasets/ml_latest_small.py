"""MovieLens latest, small edition: it changes over time, so it has no checksum and no fixed size."""

from corml.datasets._known import Known, Remote

__all__ = ["ml_latest_small"]

ml_latest_small = Known(
    name="ml-latest-small",
    title="MovieLens latest, small edition: about 600 users, 9,000 movies, 100,000 ratings",
    files=(Remote("https://files.grouplens.org/datasets/movielens/ml-latest-small.zip", "ml-latest-small.zip"),),
    licence="GroupLens: acknowledge it, redistribute under the same conditions; no commercial use without permission",
    citation="F. M. Harper, J. A. Konstan. The MovieLens Datasets: History and Context. ACM TiiS 5(4), 2015",
    accepts=("ml-latest-small/ratings.csv",),
    member="ml-latest-small/ratings.csv",
    titles="ml-latest-small/movies.csv",
    attributes=("genres",),
)
