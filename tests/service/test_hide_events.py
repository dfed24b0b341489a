"""Hiding known items by event type and age, over HTTP."""

import polars as pl
import pytest

import corml
from corml.client import ServiceError
from corml.service.served import Shelf, load

DAY = 86_400
ROWS = [
    *(("ann", item, event, day) for item, event, day in (("x", "view", 9), ("y", "purchase", 1), ("z", "view", 99))),
    *(("bob", item, "purchase", 50) for item in "xyzv"),
    *(("cem", item, "purchase", 100) for item in "zvw"),
]


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    folder, shelf = tmp_path_factory.mktemp("events"), Shelf("events")
    frame = pl.DataFrame(ROWS, schema=["user", "item", "event", "time"], orient="row")
    data = corml.load(frame.with_columns(pl.col("time") * DAY), event="event")
    corml.CoRML(rank=2).fit(data).save(folder / "events.corml")
    plain = corml.load(frame.select("user", "item"))
    corml.CoRML.dial(plain, item_norms=(-0.1, 0.1), rank=2).save(folder / "plain.corml")
    for name in ("events", "plain"):
        shelf.put(load(name, str(folder / f"{name}.corml")))
    return shelf


@pytest.mark.parametrize(
    ("options", "hidden"),
    [
        ({}, "xyz"),
        ({"hide_events": ["purchase"]}, "y"),
        ({"hide_events": ["purchase", "view"]}, "xyz"),
        ({"exclude_recent": "3d"}, "z"),
        ({"exclude_recent": {"purchase": "99d", "view": "1h"}}, "y"),
        ({"hide_events": ["purchase"], "exclude_recent": {"view": "2d"}}, "yz"),
        ({"hide_events": ["purchase"], "seen": "only"}, "yvw"),
    ],
)
def test_a_request_hides_what_the_library_hides(events, make_inside, options, hidden):
    inside, model = make_inside(events), events["events"].model
    answer = inside.client.recommend(user="ann", k=9, **options)
    assert {item.item for item in answer.items} == set("xyzvw") - set(hidden)
    expected = [item for item in model.recommend(["ann"], k=9, **options).items[0] if item is not None]
    assert [item.item for item in answer.items] == expected
    (one,) = inside.client.batch([{"user": "ann", "k": 9, **options}]).lists
    assert one.items == answer.items
    for item in "xyzvw":
        verdict = inside.client.why_not(item, user="ann", k=9, **options).verdict
        assert (verdict == "listed") == (item in expected)
        assert verdict in ("listed", "seen", "not seen")


def test_all_of_a_history_of_ids_is_hidden(events, make_inside):
    answer = make_inside(events).client.recommend(["x", "z"], k=9, hide_events=["purchase"])
    assert {item.item for item in answer.items} == set("yvw")


@pytest.mark.parametrize(
    ("request_", "status", "says"),
    [
        ({"user": "ann", "hide_events": ["rent"]}, 404, "GET /v1/models lists event_types"),
        ({"user": "ann", "exclude_recent": {"rent": "1d"}}, 404, "GET /v1/models lists event_types"),
        ({"user": "ann", "exclude_recent": "soon"}, 422, "exclude_recent"),
        ({"user": "ann", "hide_events": "view"}, 422, "hide_events"),
        ({"history": ["x"], "exclude_recent": "1d"}, 422, "ask for a user whose times are known"),
        ({"user": "ann", "hide_events": ["view"], "model": "plain"}, 422, "The model knows no event types"),
        ({"user": "ann", "exclude_recent": "1d", "model": "plain"}, 422, "needs the time of each interaction"),
    ],
)
def test_what_the_model_cannot_tell_is_refused_in_a_sentence(events, make_inside, request_, status, says):
    with pytest.raises(ServiceError, match=says) as refusal:
        make_inside(events).client.recommend(**request_)
    assert refusal.value.status == status


def test_the_models_list_their_event_types(events, make_inside):
    known = {model.name: model.event_types for model in make_inside(events).client.models()}
    assert known == {"events": ["view", "purchase"], "plain": []}
