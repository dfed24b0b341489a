"""The sample that comes with corml: MovieLens, small 2016 edition, with titles. Its README states its conditions."""

from corml.data.catalog._known import Known

__all__ = ["movielens_small"]

movielens_small = Known(
    name="movielens-small",
    title="MovieLens, small 2016 edition: 671 users, 9,066 movies, 100,004 ratings (comes with corml)",
    files=(),
    licence="GroupLens: acknowledge it, redistribute under the same conditions; no commercial use without permission",
    citation="F. M. Harper, J. A. Konstan. The MovieLens Datasets: History and Context. ACM TiiS 5(4), 2015",
    member="ratings.csv.gz",
    titles="movies.csv.gz",
    attributes=("genres",),
    bundled="_movielens_small",
)
