"""MovieLens latest, small edition, as it has been since September 2018.

GroupLens may put another edition in its place. Then it is not fetched, and a note says so of one put there by hand.
"""

from corml.data.catalog._known import Known, Remote

__all__ = ["ml_latest_small"]

ml_latest_small = Known(
    name="ml-latest-small",
    title="MovieLens latest, small edition: about 600 users, 9,000 movies, 100,000 ratings",
    files=(
        # As TensorFlow Datasets and other projects publish it.
        Remote(
            "https://files.grouplens.org/datasets/movielens/ml-latest-small.zip",
            "ml-latest-small.zip",
            "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
        ),
    ),
    licence="GroupLens: acknowledge it, redistribute under the same conditions; no commercial use without permission",
    citation="F. M. Harper, J. A. Konstan. The MovieLens Datasets: History and Context. ACM TiiS 5(4), 2015",
    accepts=("ml-latest-small/ratings.csv",),
    member="ml-latest-small/ratings.csv",
    titles="ml-latest-small/movies.csv",
    attributes=("genres",),
)
