"""What people rely on, checked on what a command or a call gave them, against the tables that they put in."""

import numpy as np
import polars as pl


def known_pairs(*tables, user="customer_id", item="sku"):
    """Everything that rows say of anybody, as text: {user: items}."""
    rows = pl.concat([table.select(pl.col(user, item).cast(pl.String)) for table in tables]).drop_nulls()
    grouped = rows.group_by(user).agg(pl.col(item).unique())
    return {name: set(items) for name, items in grouped.iter_rows()}


def assert_lists(lists, known, k, *, ranked=True):
    """Lists of distinct items, none of them known, with finite scores that fall; short ones say why.

    `lists` is a frame with a row for each place. Where rules choose places, scores do not fall: `ranked=False`.
    """
    assert lists.schema["user"] == lists.schema["item"] == pl.String
    assert lists["score"].is_finite().all()
    lengths = lists.group_by("user", maintain_order=True).agg(
        pl.col("item"), pl.col("score"), pl.col("rank"), pl.col("reason").first(), pl.col("source").unique()
    )
    for user, items, scores, ranks, reason, sources in lengths.iter_rows():
        assert len(set(items)) == len(items)
        assert ranks == list(range(1, len(items) + 1))
        assert len(items) == k or reason, user
        assert not known.get(user, set()) & set(items), user
        assert not ranked or (np.diff(scores) <= 0).all(), user
        assert sources in (["personal"], ["fallback"])
    personal = lengths.filter(pl.col("source").list.first() == "personal")
    assert personal.height > 0.9 * lengths.height
    assert personal["item"].list.join(" ").n_unique() > 0.5 * personal.height  # lists are personal, not alike


def assert_explained(why, score):
    """Contributions add up to the score that the list shows."""
    total = sum(part["contribution"] for part in why["contributions"])
    np.testing.assert_allclose([total, why["score"]], score, rtol=2e-4, atol=2e-6)
    assert why["contributions"]


def same_figures(figures, others):
    """Figures in two places are equal, name by name."""
    assert figures.keys() == others.keys()
    for name, value in figures.items():
        np.testing.assert_allclose(value, others[name], rtol=1e-9, err_msg=name)


def popularity(events, among=None):
    """Items by how many users have them, most first."""
    pairs = events.drop_nulls(["customer_id", "sku"]).select("customer_id", "sku").unique()
    counts = pairs.group_by("sku").len().sort("len", "sku", descending=[True, False])
    return counts if among is None else counts.filter(pl.col("sku").is_in(among))
