"""Public data as papers share them, read from below CORML_DATA: LightGCN's and KGAT's splits, and MovieTweetings."""

import gzip
import os
from pathlib import Path

import numpy as np

import corml

FOLDERS = {"gowalla": "lightgcn/gowalla", "yelp2018": "lightgcn/yelp2018", "amazon-book": "kgat-amazon-book"}
CORE = 3  # interactions that users and items of MovieTweetings must have


def public_split(name: str) -> corml.Split:
    """Train and test part of a public split; it has no validation part."""
    parts = [_pairs(name, part) for part in ("train", "test")]
    users, items = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    every, is_train = corml.Interactions.from_pairs(users, items), np.arange(len(users)) < len(parts[0][0])
    user, item = every.users.rows(users), every.items.rows(items)
    train, test = (
        corml.Interactions(every.users, every.items, user[part], item[part]) for part in (is_train, ~is_train)
    )
    return corml.Split(train=train, test=test)


def train_part(name: str) -> corml.Interactions:
    """What a public split has for training; its test part is not opened."""
    return corml.Interactions.from_pairs(*_pairs(name, "train"))


def movie_tweetings() -> corml.Interactions:
    """All ratings as interactions, with their times; users and items with fewer than three are left out."""
    with gzip.open(_folder() / "movietweetings/ratings.dat.gz", "rt") as lines:
        user, item, _, time = zip(*(line.rstrip().split("::") for line in lines), strict=True)
    data = corml.Interactions.from_pairs(user, item, times=np.array(time, dtype=np.float64))
    while min(data.user_degrees.min(), data.item_degrees.min()) < CORE:
        keep = (data.user_degrees[data.user] >= CORE) & (data.item_degrees[data.item] >= CORE)
        data = data.where(keep).compact()
    return data


def _pairs(name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Users and items of a file with a user and then items on each line."""
    with gzip.open(_folder() / FOLDERS[name] / f"{part}.txt.gz", "rt") as lines:
        rows = [line.split() for line in lines]
    users = np.repeat([row[0] for row in rows if row], [len(row) - 1 for row in rows if row])
    return users, np.array([item for row in rows for item in row[1:]])


def _folder() -> Path:
    return Path(os.environ["CORML_DATA"])
