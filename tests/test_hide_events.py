"""Known is not the same as viewed: which event types keep an item out of lists, and for how long."""

import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import corml
from corml import Interactions
from corml.data.ids import Ids
from corml.data.kinds import Kinds
from corml.errors import ModelFileError, UsageError, WeightsWarning
from corml.service.export import export_model
from support import forge

DAY = 86_400
EVENTS = [  # user, item, event, day
    ("a", "bought", "purchase", 10),
    ("a", "bought", "view", 99),  # bought first and viewed later: the last event is a view
    ("a", "viewed", "view", 20),
    ("a", "viewed", "view", 98),
    ("a", "carted", "cart", 30),
    ("a", "back", "purchase", 40),
    ("a", "back", "return", 50),
    ("b", "bought", "view", 1),
    ("b", "new", "purchase", 60),
    ("c", "new", "purchase", 70),
    ("c", "viewed", "purchase", 71),
    ("c", "carted", "purchase", 72),
    ("c", "back", "purchase", 73),
    ("d", "weightless", "look", 80),
    ("d", "bought", "purchase", 100),
    ("e", "weightless", "purchase", 5),
]
LOADED = {"event": "event", "weights": {"view": 1, "cart": 3, "purchase": 10, "look": 0}, "negative": ["return"]}
ALL = {"bought", "viewed", "carted", "back", "new", "weightless"}


def table(rows=EVENTS, *, timed=True):
    frame = pl.DataFrame(rows, schema=["user", "item", "event", "time"], orient="row")
    frame = frame.with_columns(pl.col("time") * DAY)
    return frame if timed else frame.drop("time")


@pytest.fixture(scope="module")
def data():
    return corml.load(table(), **LOADED)


@pytest.fixture(scope="module", params=["popularity", "ease", "corml"])
def model(request, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightsWarning)
        return corml.models.make(request.param, {"rank": 2} if request.param == "corml" else {}).fit(data)


def listed(model, user="a", **options):
    return {item for item in model.recommend([user], k=9, **options).items[0] if item is not None}


def types(data):
    """All event types of each pair, with their times."""
    found = {}
    for part in (data, data.seen):
        for at in range(0 if part is None else len(part)):
            pair = data.users.labels[part.user[at]], data.items.labels[part.item[at]]
            kinds = part.kinds.where([at])
            times = [None] * len(kinds.codes) if kinds.times is None else kinds.times.tolist()
            found[pair] = dict(zip([kinds.names[code] for code in kinds.codes], times, strict=True))
    return found


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_every_event_type_of_a_pair_is_kept_with_its_latest_time(data):
    known = types(data)
    assert known["a", "bought"] == {"purchase": 10 * DAY, "view": 99 * DAY}
    assert known["a", "viewed"] == {"view": 98 * DAY}
    assert known["a", "back"] == {"purchase": 40 * DAY, "return": 50 * DAY}
    assert known["d", "weightless"] == {"look": 80 * DAY}  # only seen
    assert data.event_types == ("purchase", "view", "cart", "return", "look")


def test_without_an_event_column_nothing_is_kept():
    data = corml.load(table().drop("event"))
    assert data.kinds is None
    assert data.event_types == ()
    assert corml.Popularity().fit(data).fitted_.histories.pairs.kinds is None


def test_files_by_event_type_are_event_types():
    files = {name: table([row for row in EVENTS if row[2] == name]) for name in ("view", "purchase")}
    data = corml.load({name: frame.drop("event") for name, frame in files.items()})
    assert types(data)["a", "bought"] == {"purchase": 10 * DAY, "view": 99 * DAY}


def test_event_types_survive_selections_other_ids_splits_and_files(data, tmp_path):
    known = types(data)
    keep = np.arange(len(data))[::-2]
    assert types(data.where(keep)).items() <= known.items()
    assert types(data.where(keep).compact()).items() <= known.items()
    moved = data.on(Ids(["new", *reversed(data.users)]), Ids([*reversed(data.items), "other"]))
    assert types(moved) == known
    split = corml.split(data, "ratio", shares=(0.5, 0.2, 0.3))
    split.save(tmp_path / "a.split")
    read = corml.read_split(tmp_path / "a.split")
    for one, other in zip(split.parts().values(), read.parts().values(), strict=True):
        assert types(one) == types(other)
        assert types(one).items() <= known.items()


def test_those_of_people_and_items_left_out_are_kept_too():
    data = corml.load(table(), **LOADED, k_core=2)
    everything = [part for part in (data, data.others, data.elsewhere) if part is not None]
    known = {pair: found for part in everything for pair, found in types(part).items()}
    assert known == types(corml.load(table(), **LOADED))


def test_a_file_with_odd_event_types_is_refused(data, tmp_path):
    corml.CoRML(rank=2).fit(data).save(tmp_path / "m.corml")
    good = (tmp_path / "m.corml").read_bytes()
    for name, change in (
        ("train.kinds", lambda a: a + 9),
        ("train.kinds.starts", lambda a: a[:-1]),
        ("train.kinds.starts", lambda a: np.zeros_like(a)),
        ("train.seen.kinds", lambda a: a[1:]),
        ("train.seen.kinds.times", lambda a: a[1:]),
    ):
        (tmp_path / "odd.corml").write_bytes(good)
        forge(tmp_path / "odd.corml", {name: change})
        with pytest.raises(ModelFileError, match=r"event types of|times of"):
            corml.read_model(tmp_path / "odd.corml")


def test_events_of_several_sources_become_one():
    names, pair = ("x", "y"), np.array([0, 1, 0, 0, 2])
    kinds = Kinds.of_events(names, pair, np.array([0, 1, 1, 0, 1], np.int32), np.array([5.0, 1, 7, 6, np.nan]), 3)
    assert kinds.starts.tolist() == [0, 2, 3, 4]
    assert kinds.codes.tolist() == [0, 1, 1, 1]
    assert kinds.times[:3].tolist() == [6, 7, 1]
    assert kinds.words() == ["y", "y", "y"]
    assert kinds.having(["x"]).tolist() == [True, False, False]
    both = Kinds.joined([kinds, None], [3, 1])
    assert both.words() == ["y", "y", "y", ""]
    assert both.onto(np.array([0, 0, 1, 1]), 2).words() == ["y", ""]  # a missing time comes first


def test_the_report_on_the_data_says_how_many_items_stay_out_and_names_the_option():
    views = [("e", item, "view", 3) for item in ALL] + [("d", "new", "view", 4)]
    data = corml.load(table(EVENTS + views), **LOADED)
    (said,) = [one for one in corml.data.examine(data).findings if "lists leave out" in one.what]
    assert "4 items of the median user, 6 of the heaviest" in said.what
    assert "nothing but 'view' events it would be 2 and 4" in said.what
    assert "hide_events= (--hide-events purchase,cart,look)" in said.advice
    plain = corml.data.examine(corml.load(table().drop("event")))
    assert not any("lists leave out" in one.what for one in plain.findings)


# --- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "hidden"),
    [
        ({}, {"bought", "viewed", "carted"}),
        ({"hide_events": ["purchase"]}, {"bought"}),
        ({"hide_events": "purchase, cart"}, {"bought", "carted"}),
        ({"hide_events": []}, set()),
        ({"seen": "allow"}, set()),
        ({"seen": "allow", "hide_events": ["view"]}, {"bought", "viewed"}),
        ({"exclude_recent": "3d"}, {"bought", "viewed"}),
        ({"exclude_recent": "view=3d,purchase=10d"}, {"bought", "viewed"}),
        ({"exclude_recent": {"view": "1h", "purchase": "91d"}}, {"bought"}),
        ({"exclude_recent": {"view": "36h", "purchase": "89d"}}, {"bought"}),
        ({"exclude_recent": {"cart": "70d"}}, {"carted"}),
        ({"hide_events": ["cart"], "exclude_recent": "view=2d"}, {"bought", "viewed", "carted"}),
    ],
)
def test_only_what_the_options_name_stays_out_and_what_was_rejected_always_does(model, options, hidden):
    assert listed(model, **options) == ALL - hidden - {"back"}


def test_only_what_was_viewed_and_not_bought_is_a_reminder(model):
    assert listed(model, seen="only", hide_events=["purchase"]) == {"viewed", "carted"}
    assert listed(model, seen="only", exclude_recent={"purchase": "1d"}) == {"bought", "viewed", "carted"}


def test_an_event_without_weight_may_come_back_too(model):
    assert "weightless" not in listed(model, "d")
    assert "weightless" in listed(model, "d", hide_events=["purchase"])
    assert "weightless" not in listed(model, "d", hide_events=["look"])


def test_a_model_file_an_update_and_a_refit_keep_the_event_types(model, tmp_path):
    model.save(tmp_path / "m.corml")
    read = corml.read_model(tmp_path / "m.corml")
    options = {"hide_events": ["purchase"]}
    assert listed(read, **options) == ALL - {"bought", "back"}
    more = corml.load(table([("a", "viewed", "purchase", 90), ("a", "new", "view", 100)]), **LOADED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightsWarning)
        refitted = read.update(more, refit=True)
    for later in (read.update(more), refitted):
        assert listed(later, **options) == ALL - {"bought", "viewed", "back"}
        assert listed(later, hide_events=["view"]) == ALL - {"bought", "viewed", "new", "back"}
        later.save(tmp_path / "later.corml")
        assert listed(corml.read_model(tmp_path / "later.corml"), **options) == ALL - {"bought", "viewed", "back"}


def test_what_was_rejected_stays_out_when_its_item_comes_back():
    rows = [*EVENTS, ("a", "gone", "return", 1), ("b", "gone", "return", 2)]
    data = corml.load(table(rows), **LOADED, k_core=1)
    assert "gone" not in data.items
    model = corml.CoRML(rank=2).fit(data)
    back = corml.load(table([("c", "gone", "purchase", 90), ("d", "gone", "purchase", 91)]), **LOADED)
    later = model.update(back, refit=True)
    assert "gone" in later.items_
    assert "gone" not in listed(later, seen="allow") | listed(later, hide_events=["purchase"])
    assert "gone" in listed(later, "e", seen="allow")


def test_all_of_a_plain_list_is_hidden_and_interactions_bring_their_event_types(model, data):
    lists = model.recommend(history=[["viewed", "carted"]], k=9, hide_events=["purchase"])
    assert not {"viewed", "carted"} & set(lists.items[0])
    own = data.where(data.users.labels[data.user] == "a")
    lists = model.recommend(history=replace(own, others=None, elsewhere=None), k=9, hide_events=["purchase"])
    row = {item for item in lists.items[list(lists.users).index("a")] if item is not None}
    assert row == ALL - {"bought", "back"}


def test_a_pair_of_no_known_event_type_is_hidden(data):
    shop = Interactions.from_pairs(["a", "a"], ["new", "viewed"])
    model = corml.CoRML(rank=2).fit(data.with_seen(shop))
    assert listed(model, hide_events=["purchase"]) == ALL - {"bought", "back", "new", "viewed"}


def test_without_times_event_types_still_count():
    with pytest.warns():
        model = corml.Popularity().fit(corml.load(table(timed=False), **LOADED))
    assert listed(model, hide_events=["purchase"]) >= {"viewed", "carted", "new"}
    with pytest.raises(UsageError, match="exclude_recent needs the time of each interaction"):
        listed(model, exclude_recent="view=1h")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"hide_events": ["purchse"]}, r"no event type 'purchse'; did you mean 'purchase'\? There are: 'purchase', "),
        ({"exclude_recent": {"buy!": "1d"}}, r"exclude_recent: .* no event type 'buy!'; there is: cart, look"),
        ({"hide_events": ["view"], "seen": "learned"}, "seen='learned'"),
        ({"hide_events": 7}, "hide_events must name event types"),
        ({"hide_events": {"view": 1}}, "hide_events must name event types"),
        ({"exclude_recent": "view=soon"}, "exclude_recent of view must be a length of time"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(model, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        model.recommend(["a"], **options)


def test_a_model_without_event_types_refuses_them(data, tmp_path):
    plain = corml.Popularity().fit(corml.load(table().drop("event")))
    with pytest.raises(UsageError, match=r"hide_events needs the event type .* have none: load them with an event"):
        plain.recommend(["a"], hide_events=["purchase"])
    corml.CoRML(rank=2).fit(data).save(tmp_path / "m.corml", history=False)
    with pytest.raises(UsageError, match="save the model with its histories"):
        corml.read_model(tmp_path / "m.corml").recommend(history=[["new"]], hide_events=["purchase"])


def test_lists_in_parts_and_a_dial_hide_the_same(data, tmp_path):
    model = corml.CoRML.dial(data, item_norms=(-0.1, 0.1), rank=2)
    options = {"hide_events": ["purchase"], "exclude_recent": {"cart": "70d"}}
    whole = model.recommend(model.users_.labels, k=4, **options, unknown="fallback")
    made = corml.recommend_to(model, tmp_path / "lists", k=4, **options)
    written = pl.read_parquet(sorted(made.folder.glob("*.parquet")))
    assert written.drop("reason").equals(whole.to_frame().drop("reason"))
    assert listed(model, **options) == ALL - {"bought", "carted", "back"}
    with pytest.raises(UsageError, match="exclude_recent"):
        corml.recommend_to(model, tmp_path / "lists", k=4, hide_events=["purchase"])


def test_exported_lists_hide_the_same(data, tmp_path):
    model = corml.CoRML(rank=2).fit(data)
    export_model(model, "parquet", tmp_path / "out", lists=True, k=9, hide_events="purchase")
    (file,) = (tmp_path / "out").glob("lists*")
    rows = pl.read_parquet(file).filter(pl.col("user_id") == "a")
    assert set(rows["item"]) == listed(model, hide_events=["purchase"]) == ALL - {"bought", "back"}
    with pytest.raises(UsageError, match="hide_events is about the lists of users"):
        export_model(model, "parquet", tmp_path / "pairs", hide_events="purchase")
    with pytest.raises(UsageError, match="no event type 'rent'"):
        export_model(model, "parquet", tmp_path / "no", lists=True, exclude_recent={"rent": "1d"})
    assert not (tmp_path / "no").exists()


def test_a_store_says_that_it_has_no_event_types(data, tmp_path):
    table().drop("event").write_parquet(tmp_path / "a.parquet")
    store = corml.build_store(tmp_path / "a.parquet", tmp_path / "a.store")
    model = corml.CoRML(rank=2).fit(data)
    with pytest.raises(UsageError, match="A store has no event types"):
        corml.recommend_to(model, tmp_path / "lists", data=store, hide_events=["purchase"])


@pytest.mark.parametrize(
    ("item", "hidden_by", "options"),
    [
        ("viewed", "exclude_recent", {"hide_events": ["purchase"], "exclude_recent": {"view": "7d"}}),
        ("viewed", "exclude_recent", {"exclude_recent": "7d"}),
        ("viewed", "hide_events", {"hide_events": ["view"]}),
        ("viewed", "seen", {}),
        ("back", "rejected", {"seen": "allow"}),
        ("back", "rejected", {"hide_events": ["cart"]}),
    ],
)
def test_why_not_names_the_option_that_hides_a_known_item(model, item, hidden_by, options):
    found = model.why_not("a", item, **options)
    assert (found.verdict, found.hidden_by) == ("seen", hidden_by)
    assert hidden_by in found.reason
    others = {"exclude_recent", "hide_events"} - {hidden_by}
    assert hidden_by == "seen" or not any(other in found.reason for other in others)


def test_why_not_names_the_option_that_hides_an_item_of_a_plain_history(model):
    found = model.why_not(["viewed"], "viewed", hide_events=["purchase"])
    assert (found.verdict, found.hidden_by) == ("seen", "hide_events")
