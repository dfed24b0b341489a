"""The data of an experiment: what is available is loaded and split, what is not is named."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corml import data as datasets
from corml.data.interactions import Interactions
from corml.experiments.reproduce.published import Published
from corml.splits import Split, split

SAMPLE = "movielens-small"
SEED = 2026


# --- the paper's data ------------------------------------------------------------------------------------------------


def missing(published: Published, name: str) -> str:
    """How to get a data set that is not available; empty if it is."""
    return _missing_known(name, published["data"][name]["title"])


def paper_split(published: Published, name: str) -> Split:
    """A data set split as the paper does it."""
    entry = published["data"][name]
    return split(datasets.load(name, **entry.get("load", {})), **entry["split"])


def valid_split(published: Published, name: str) -> Split:
    """The paper's split with the validation set in the place of the test set, which is not opened."""
    whole = paper_split(published, name)
    return Split(train=whole.train, test=whole.valid, procedure={**whole.procedure, "part": "valid"})


def sizes(published: Published, name: str, parts: Split) -> list[str]:
    """A note if the data have not the sizes of the paper's table."""
    expected = published["data"][name].get("sizes")
    pairs = len(parts.train) + len(parts.valid) + len(parts.test)
    sizes = {"users": len(parts.train.users), "items": len(parts.train.items), "interactions": pairs}
    if expected in (None, sizes):
        return []
    text = ", ".join(f"{sizes[what]:,} {what} (paper: {expected[what]:,})" for what in expected)
    return [f"{published['data'][name]['title']} differs from the paper's data: {text}."]


# --- LightGCN's splits -----------------------------------------------------------------------------------------------


def missing_board(published: Published, name: str) -> str:
    """How to get a split of the leaderboard that is not available; empty if it is."""
    if name == SAMPLE or all(_list_file(published, name, part) for part in ("train", "test")):
        return ""
    folder = published["leaderboard"]["folders"][name]
    return f"{name}: put train.txt and test.txt (or .gz) of LightGCN's split into {folder} below CORML_DATA."


def board_split(published: Published, name: str) -> Split:
    """Train and test set as they were published; of the sample, a random fifth is the test set."""
    if name == SAMPLE:
        return split(datasets.load(name, **published["data"][name]["load"]), "ratio", shares=(0.8, 0.2), seed=SEED)
    paths = [_list_file(published, name, part) for part in ("train", "test")]
    train, test = datasets.load_item_lists(*(path for path in paths if path is not None))
    return Split(train=train, test=test, procedure={"name": "ready-made"})


def _list_file(published: Published, name: str, part: str) -> Path | None:
    folder = datasets.folder() / published["leaderboard"]["folders"][name]
    return next((path for ending in ("txt", "txt.gz") if (path := folder / f"{part}.{ending}").is_file()), None)


# --- new users -------------------------------------------------------------------------------------------------------


def missing_strong(published: Published, name: str) -> str:
    """How to get a data set for new users that is not available; empty if it is."""
    entry = published["strong"]["sets"][name]
    if "files" not in entry:
        return _missing_known(name, entry["title"])
    if _strong_file(entry) is not None:
        return ""
    return f"{entry['title']}: put {entry['files'][0]} (columns user, item, rating) into the folder CORML_DATA."


def strong_split(published: Published, name: str) -> Split:
    """Users held out whole; as many as the papers hold out, else a tenth for validation and a tenth for the test."""
    entry = published["strong"]["sets"][name]
    source = _strong_file(entry) if "files" in entry else name
    data = datasets.load(source, **entry.get("load", {}))
    return split(data, "new-users", shares=shares(data, entry.get("held_out")), given=0.8, seed=SEED)


def shares(data: Interactions, held_out: int | None) -> tuple[float, float, float]:
    """Shares of users that give the numbers the papers hold out, where there are enough."""
    users = int((data.user_degrees >= 2).sum())
    share = 0.1 if held_out is None or 2 * held_out >= users else held_out / users
    return 1 - 2 * share, share, share


def _strong_file(entry: Mapping[str, Any]) -> Path | None:
    return next((path for name in entry["files"] if (path := datasets.folder() / name).is_file()), None)


def _missing_known(name: str, title: str) -> str:
    if datasets.present(datasets.get(name)):
        return ""
    return f"{title}: fetch it with `corml data fetch {name}`, or put its file into the folder CORML_DATA."
