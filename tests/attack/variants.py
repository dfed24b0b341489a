"""Fitted models of every kind, and of those that hold more than most: what is valid before it is damaged."""

from dataclasses import replace
from typing import Any

import numpy as np

import corml
from corml import Interactions, models
from corml._runtime.settings import declared
from support import random_interactions, with_weights

__all__ = ["fitted_models"]

SMALL = {"epochs": 2, "rank": 3, "size": 4, "hidden": 4, "latent": 3, "neighbours": 3, "features": 3}


def fitted_models(data: Interactions) -> dict[str, Any]:
    """One of every model, then CoRML on richer data."""
    made: dict[str, Any] = {}
    for name in models.names():
        own = declared(models.get(name))
        made[name] = models.make(name, {key: value for key, value in SMALL.items() if key in own}).fit(data)
    plain = corml.CoRML(rank=3)
    made["local"] = models.make("ease", {"route": "local", "candidates": 3}).fit(data)
    made["weights"] = plain.fit(with_weights(_timed(data)))
    made["attributes"] = corml.CoRML(rank=3).fit(replace(data, attributes=_table(data)))
    made["negative"] = corml.CoRML(rank=3).fit(_with_negative(data))
    made["elsewhere"] = corml.CoRML(rank=3).fit(_thinned(data))
    made["updated"] = corml.CoRML(rank=3).fit(data).update(_more(data))
    made["updated neural"] = models.make("bpr-mf", {"epochs": 1, "size": 3}).fit(data).update(_more(data))
    made["novel"] = corml.CoRML.paper(rank=3).fit(data)
    return made


def _timed(data: Interactions) -> Interactions:
    times = np.arange(len(data), dtype=np.float64) * 1000
    times[0] = np.nan
    return replace(data, times=times)


def _table(data: Interactions) -> Any:
    import polars as pl

    labels = list(data.items)
    table = {
        "item": labels,
        "genre": [["a", "b"][at % 2] for at in range(len(labels))],
        "price": [1.5 * at for at in range(len(labels))],
        "title": [f"Title {at}" for at in range(len(labels))],
    }
    return corml.load_items(pl.DataFrame(table))


def _with_negative(data: Interactions) -> Interactions:
    import polars as pl

    frame = data.to_frame().select("user", "item")
    kinds = ["return" if at % 7 == 0 else "view" if at % 2 else "buy" for at in range(len(frame))]
    times = [1_000_000 + 60 * at for at in range(len(frame))]
    frame = frame.with_columns(event=pl.Series(kinds), time=pl.Series(times))
    return corml.load(frame, event="event", weights={"view": 1, "buy": 3, "return": 1}, negative={"return"})


def _thinned(data: Interactions) -> Interactions:
    import polars as pl

    rare = pl.DataFrame({"user": ["u0", "x", "x"], "item": ["rare", "rare", "i0"]})
    return corml.load(pl.concat([data.to_frame().select("user", "item"), rare]), min_user=2, min_item=2)


def _more(data: Interactions) -> Interactions:
    return random_interactions(5, users=len(data.users) + 2, items=len(data.items) + 2, mean=3)
