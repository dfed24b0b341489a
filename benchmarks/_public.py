"""Public data as papers share them, read from below CORML_DATA: LightGCN's and KGAT's splits, and MovieTweetings."""

import gzip
import os
from pathlib import Path

import numpy as np

import corml
from corml import data as datasets

FOLDERS = {"gowalla": "lightgcn/gowalla", "yelp2018": "lightgcn/yelp2018", "amazon-book": "kgat-amazon-book"}
CORE = 3  # interactions that users and items of MovieTweetings must have


def public_split(name: str) -> corml.Split:
    """Train and test part of a public split; it has no validation part."""
    train, test = datasets.load_item_lists(
        *(_folder() / FOLDERS[name] / f"{part}.txt.gz" for part in ("train", "test"))
    )
    return corml.Split(train=train, test=test)


def train_part(name: str) -> corml.Interactions:
    """What a public split has for training; its test part is not opened."""
    (train,) = datasets.load_item_lists(_folder() / FOLDERS[name] / "train.txt.gz")
    return train


def movie_tweetings() -> corml.Interactions:
    """All ratings as interactions, with their times; users and items with fewer than three are left out."""
    with gzip.open(_folder() / "movietweetings/ratings.dat.gz", "rt") as lines:
        user, item, _, time = zip(*(line.rstrip().split("::") for line in lines), strict=True)
    data = corml.Interactions.from_pairs(user, item, times=np.array(time, dtype=np.float64))
    while min(data.user_degrees.min(), data.item_degrees.min()) < CORE:
        keep = (data.user_degrees[data.user] >= CORE) & (data.item_degrees[data.item] >= CORE)
        data = data.where(keep).compact()
    return data


def _folder() -> Path:
    return Path(os.environ["CORML_DATA"])
