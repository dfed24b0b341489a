"""Tables to make stores of."""

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import corml

BUNDLED = Path(corml.__file__).parent / "data" / "catalog" / "_movielens_small" / "ratings.csv.gz"


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


SMALL = 1 << 20  # the least budget: buckets of 4,096 rows


@pytest.fixture(scope="session")
def shop_rows(tmp_path_factory):
    """20,000 rows in a file: 2,000 users, of whom some like nothing, skewed items, ratings and times."""
    rng, rows = np.random.default_rng(3), 20_000
    user = rng.integers(0, 2000, rows)
    frame = pl.DataFrame(
        {
            "user": [f"u{number}" for number in user],
            "item": [f"i{number}" for number in (300 * rng.random(rows) ** 3).astype(np.int64)],
            "rating": np.where(user % 50 == 7, 1, rng.integers(1, 6, rows)),
            "time": rng.integers(0, 5000, rows),  # some at the same moment
        }
    )
    path = tmp_path_factory.mktemp("shop") / "rows.parquet"
    frame.write_parquet(path)
    return path


@pytest.fixture(scope="session")
def shop(shop_rows):
    """A store of five parts, with pairs that were only seen and people who like nothing."""
    store = corml.build_store(shop_rows, shop_rows.parent / "shop.store", memory=SMALL, at_least=3)
    assert len(store.manifest.user_starts) == 6
    assert store.manifest.seen > 0
    assert store.manifest.others > 0
    return store


@pytest.fixture(scope="session")
def in_memory(shop):
    return shop.interactions()


@pytest.fixture(scope="session")
def parts_of(shop, tmp_path_factory):
    """The split of the shop by a name, made once."""
    made = {}

    def split(how, **options):
        key = how, str(options)
        if key not in made:
            made[key] = corml.split(shop, how, out=tmp_path_factory.mktemp("split") / "parts", **options)
        return made[key]

    return split
