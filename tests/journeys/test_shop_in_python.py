"""The shop in a notebook: from data frames of pandas or Polars to lists, reasons, updates, files and a page."""

import json
import sqlite3
import warnings
from contextlib import closing
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

import corml
from journeys.facts import assert_explained, assert_lists, known_pairs, same_figures
from journeys.shop import LAST, NEGATIVE, WEIGHTS, as_pandas

LOADING = {
    "event": "event",
    "weights": WEIGHTS,
    "negative": {NEGATIVE},
    "weight": "quantity",
    "transform": "log1p",
    "half_life": "90d",
    "rating": "rating",
    "at_least": 3,
    "rating_strength": True,
    "low_ratings": "negative",
    "null_ids": "drop",
}
METRICS = ["ndcg@10", "recall@10", "coverage@10"]


WHOLE = ("decimal numbers that are whole are read without .0",)


def catalogue_in_pandas(items):
    import pandas as pd

    return pd.DataFrame({name: items[name].to_list() for name in items.columns})


@pytest.fixture(params=["pandas", "polars"])
def frames(request):
    """How events and items come: as they are, or as pandas frames; and what loading says of floats that pandas made."""
    if request.param == "polars":
        return lambda events: events, lambda items: items, ()
    pytest.importorskip("pandas")
    return as_pandas, catalogue_in_pandas, WHOLE


def load(frame, *says, **options):
    """Load a frame; the warnings are those that are named, by a part of each."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = corml.load(frame, **LOADING, **options)
    texts = [str(one.message) for one in said]
    assert all(issubclass(one.category, corml.errors.DataWarning) for one in said)
    assert len(texts) == len(says), texts
    assert all(part in text for part, text in zip(says, texts, strict=True)), texts
    return data


def test_a_shop_goes_from_data_frames_to_lists_and_a_page_in_python(shop, frames, tmp_path):
    events_of, items_of, whole = frames
    moments = [shop.weeks_before_the_end(weeks) for weeks in (4, 2)]
    parts = shop.before(moments[0]), shop.between(*moments), shop.since(moments[1])
    known, first, second = (part.with_columns(pl.col("rating").fill_null(3)) for part in parts)
    had = known_pairs(known)

    # the data
    without_id = len(known) - len(known.drop_nulls(["customer_id", "sku"]))
    lost = f"null ids: {without_id} of {len(known):,} rows without a user or an item"
    data = load(events_of(known), *whole, lost, k_core=3, items=items_of(shop.items))
    assert set(data.users) | set(data.others.users) <= set(had)
    assert data.source["latest"] == known.drop_nulls(["customer_id", "sku"])["time"].max().timestamp()
    assert set(data.kinds.words()) == set(WEIGHTS)
    assert min(data.user_degrees) >= 3
    assert dict(corml.data.examine(data).facts)["interactions"] == len(data)

    # the model: compared, tuned, measured, fitted
    split = corml.split(data, "temporal")
    study = corml.compare(["corml", "ease", "item-knn"], split, metrics=METRICS, folder=tmp_path / "study")
    again = corml.read_study(tmp_path / "study")
    for label in ("corml", "ease", "item-knn"):
        np.testing.assert_array_equal(study[label].per_user["ndcg@10"], again[label].per_user["ndcg@10"])
    tuned = corml.tune("corml", split, trials=3)
    assert tuned.score >= tuned.default_score
    measured = tuned.make().fit(split.train)
    result = corml.evaluate(measured, split, METRICS)
    assert 0 < result["ndcg@10"] < 1
    same_figures(corml.evaluate(corml.CoRML().fit(split.train), split, METRICS).means, study["corml"].means)

    model = tuned.make().fit(data)
    model.save(tmp_path / "shop.corml")
    model = corml.read_model(tmp_path / "shop.corml")

    # lists
    lists = model.recommend(list(model.users_), k=20)
    assert_lists(lists.to_frame(), had, 20)
    corml.recommend_to(model, tmp_path / "lists", k=20)
    assert pl.read_parquet(tmp_path / "lists/*.parquet").equals(lists.to_frame())
    user = next(user for user, source in zip(lists.users, lists.sources, strict=True) if source == "personal")
    number = int(user)  # in a frame the id is a number
    assert model.recommend([number], k=20)[number] == lists[user]
    cart = shop.items["sku"][:3].to_list()
    new = model.recommend(history=[cart], k=5)
    assert not set(new.items[0]) & set(cart)
    assert model.recommend(["nobody"], k=3, unknown="fallback").sources == ("fallback",)

    wider = model.with_new_items(items_of(shop.arrivals), lift=1.5)
    rules = {"diversity": 0.3, "max_per": {"category": 3}, "boost": {"category": {"Toys": 1.2}}, "max_share": 0.05}
    only, exclude = {"price": (None, 60)}, {"brand": "Brand 7"}
    ruled = wider.recommend(list(model.users_), k=10, only=only, exclude=exclude, now=LAST, **rules).to_frame()
    assert_lists(ruled, had, 10, ranked=False)
    assert ruled.group_by("item").len()["len"].max() <= 0.05 * len(model.users_)
    items = pl.concat([shop.items, shop.arrivals])
    listed = ruled.join(items, left_on="item", right_on="sku", how="left")
    assert listed["price"].max() <= 60
    assert "Brand 7" not in set(listed["brand"])
    assert (listed["available_from"].fill_null(LAST) <= LAST).all()
    assert (listed["available_until"].fill_null(LAST) >= LAST).all()
    assert set(listed.filter("new")["item"]) <= set(shop.arrivals["sku"])

    again = model.recommend(list(model.users_), k=5, seen="only", exclude_recent="14d").to_frame()
    rows = known.drop_nulls(["customer_id", "sku"]).group_by(user=pl.col("customer_id").cast(pl.String), item="sku")
    ages = again.join(rows.agg(pl.col("time").max()), on=["user", "item"], how="left")
    assert ages.height > 1000
    assert ages["time"].null_count() == 0
    assert (known["time"].max() - ages["time"]).min().days >= 14

    hiding = {"hide_events": ["purchase", "cart"], "exclude_recent": {"view": "7d"}}
    viewed = model.recommend(list(model.users_), k=10, **hiding).to_frame()
    recent = pl.col("time") > known["time"].max() - timedelta(days=7)
    hidden = known.filter(pl.col("event").is_in(["purchase", "cart", NEGATIVE]) | recent)
    assert_lists(viewed, known_pairs(hidden), 10)
    assert sum(item in had[name] for name, item in viewed.select("user", "item").iter_rows()) > 0.1 * len(viewed)

    # reasons
    why = model.explain(user, lists[user][0])
    assert_explained({"contributions": why.to_frame().to_dicts(), "score": why.score}, lists.scores[0, 0])
    assert {"kind", "age_days", "strength"} <= set(why.to_frame().columns)

    long = model.recommend([user], k=30)
    no = model.why_not(user, long[user][-1])
    assert (no.verdict, no.rank) == ("below", 30)
    assert no.score == pytest.approx(long.scores[0, -1], rel=1e-5)
    assert no.score < no.needed <= long.scores[0, 9] * (1 + 1e-6)

    # two weeks later
    newcomers = set(known_pairs(first, second)) - set(had)
    updated = model.update(load(events_of(first), *whole, "null ids", as_update=True))
    assert_lists(updated.recommend(list(updated.users_), k=10).to_frame(), known_pairs(known, first), 10)
    updated = updated.update(load(events_of(second), *whole, "null ids", as_update=True), refit=True)
    updated.save(tmp_path / "shop.corml")
    later = corml.read_model(tmp_path / "shop.corml").recommend(list(updated.users_), k=10)
    assert_lists(later.to_frame(), known_pairs(known, first, second), 10)
    np.testing.assert_array_equal(later.items, updated.recommend(list(updated.users_), k=10).items)
    assert newcomers & {user for user, source in zip(later.users, later.sources, strict=True) if source == "personal"}

    # what others get
    with pytest.warns(corml.errors.WeightsWarning):
        popular = corml.Popularity().fit(split.train)
    results = {"ours": (measured, result), "popularity": (popular, corml.evaluate(popular, split, METRICS))}
    subject = corml.report.Subject(name="Our shop", data=data, split=split, models=results)
    corml.report.write_report(tmp_path / "report.html", corml.report.build_page(subject))
    assert f"{result['ndcg@10']:.4g}" in (tmp_path / "report.html").read_text()
    done = corml.export.export_model(updated, "sqlite", tmp_path / "shop.sqlite", pairs=None)
    with closing(sqlite3.connect(done.path)) as database:
        rows = database.execute(done.query, {"history": json.dumps(cart), "k": 5}).fetchall()
    assert [item for _, item, *_ in rows] == updated.recommend(history=[cart], k=5).items[0].tolist()
    corml.export.export_model(updated, "html", tmp_path / "shop.html", name="Our shop")
    assert user not in (tmp_path / "shop.html").read_text()


def test_the_same_events_are_the_same_data_from_pandas_polars_and_parquet(shop, tmp_path):
    pytest.importorskip("pandas")
    events = shop.events.with_columns(pl.col("rating").fill_null(3))
    events.write_parquet(tmp_path / "events.parquet")
    sources = (events,), (as_pandas(events), *WHOLE), (tmp_path / "events.parquet",)
    prints = [load(source, *says, "null ids", k_core=3).fingerprint for source, *says in sources]
    assert prints == [prints[0]] * 3
