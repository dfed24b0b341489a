"""Tables to make stores of."""

import gzip
from pathlib import Path

import polars as pl
import pytest

import corml

BUNDLED = Path(corml.__file__).parent / "datasets" / "_movielens_small" / "ratings.csv.gz"


@pytest.fixture(scope="session")
def ratings():
    """The rows of the bundled sample, with 2,000 of them a second time, rated and dated otherwise."""
    frame = pl.read_csv(gzip.decompress(BUNDLED.read_bytes()))
    again = frame.sample(2000, seed=1).with_columns(
        pl.col("rating").reverse(), pl.col("timestamp") + pl.Series(range(-1000, 1000))
    )
    return pl.concat([frame, again]).sample(fraction=1, shuffle=True, seed=2)


@pytest.fixture
def parts(ratings, tmp_path):
    """The same rows as three CSV files (one compressed) and three Parquet files, and as a single file."""
    folder = tmp_path / "parts"
    folder.mkdir()
    size = len(ratings) // 6 + 1
    for number in range(6):
        part = ratings.slice(number * size, size)
        name = folder / f"part-{number}"
        if number == 1:
            name.with_suffix(".csv.gz").write_bytes(gzip.compress(part.write_csv().encode()))
        elif number < 3:
            part.write_csv(name.with_suffix(".csv"))
        else:
            part.write_parquet(name.with_suffix(".parquet"), row_group_size=5000)
    ratings.write_parquet(tmp_path / "whole.parquet")
    return folder
