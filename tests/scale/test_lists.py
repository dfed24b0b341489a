"""Lists for everybody in a store, by the histories there; nobody is shown what the store or the model knows of them."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import corml
from corml.errors import UsageError
from corml.outofcore.lists import sizes
from corml.recommend.query import FromData


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Some 150 users ranked at a time, and lists of two pieces in a part: neither fits the parts of the store."""
    monkeypatch.setattr(sizes, "PIECE", 150)
    monkeypatch.setattr(sizes, "PIECES", 2)


@pytest.fixture(scope="module")
def model(in_memory):
    return corml.CoRML(rank=8, max_steps=20).fit(in_memory)


def lists_in(folder):
    return pl.read_parquet(folder / "*.parquet")


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def known_pairs(*data):
    """Everything anybody is known to have."""
    parts = [part for one in data for part in (one, one.seen, one.others, one.others.seen) if part is not None]
    return {
        pair for part in parts for pair in zip(part.users.labels[part.user], part.items.labels[part.item], strict=True)
    }


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seen": "allow"},
        {"seen": "allow", "exclude_recent": "1000s"},
        {"seen": "only"},
        {"seen": "learned"},
        {"exclude": ["i1"], "diversity": 0.3},
    ],
    ids=str,
)
def test_a_model_of_the_store_gives_its_people_the_lists_it_gives_its_users(model, shop, tmp_path, options):
    own = corml.recommend_to(model, tmp_path / "own", k=6, **options)
    made = corml.recommend_to(model, tmp_path / "store", data=shop, k=6, **options)
    assert lists_in(tmp_path / "store").equals(lists_in(tmp_path / "own"))
    assert (made.lists, made.rows, made.parts) == (own.lists, own.rows, own.parts)
    assert made.lists == shop.users + shop.manifest.others


def test_people_whom_the_model_does_not_know_have_personal_lists(in_memory, shop, tmp_path):
    known = in_memory.where((in_memory.user % 2 == 0) & (in_memory.item % 3 > 0)).compact()
    model = corml.CoRML(rank=8, max_steps=20).fit(known)
    corml.recommend_to(model, tmp_path / "lists", data=shop, k=5)
    lists = lists_in(tmp_path / "lists")
    by_history = model.recommend(history=in_memory, k=5).to_frame()
    personal = lists.filter(pl.col("user").is_in(list(in_memory.users)))
    # Users are ranked in other groups there, and on some processors a product of other height is rounded otherwise.
    assert_frame_equal(personal, by_history, rel_tol=1e-5)
    others = lists.filter(pl.col("user").is_in(list(in_memory.others.users)))
    assert others["reason"].unique().to_list() == ["most popular items: no history"]
    assert not known_pairs(in_memory) & set(zip(lists["user"], lists["item"], strict=True))


def test_nobody_is_shown_what_only_the_model_knows_of_them(in_memory, parts_of, model, tmp_path):
    """The test part has few pairs of a user; the model has learned from all."""
    part = parts_of("ratio").test
    corml.recommend_to(model, tmp_path / "lists", data=part, k=5)
    lists = lists_in(tmp_path / "lists")
    shown = set(zip(lists["user"], lists["item"], strict=True))
    assert not known_pairs(in_memory) & shown
    assert lists["user"].n_unique() == part.users + part.manifest.others


def test_ages_count_from_the_latest_moment_of_the_whole_store(model, in_memory, shop):
    users = shop.user_histories()
    assert users.latest == max(in_memory.times.max(), in_memory.seen.times.max(), in_memory.others.seen.times.max())
    early = users.some(0, 5)
    asked = {"k": 5, "seen": "only", "exclude_recent": "1000s"}
    expected = model.recommend(list(early.users), **asked)
    assert model.recommend(history=FromData(early, users.latest), **asked).to_frame().equals(expected.to_frame())


def test_the_latest_moment_may_be_that_of_somebody_who_likes_nothing(tmp_path):
    rows = {"user": ["a", "a", "b", "c"], "item": ["x", "y", "x", "y"], "rating": [5, 1, 1, 5]}
    for last in range(4):
        pl.DataFrame({**rows, "time": [30 if row == last else row for row in range(4)]}).write_csv(tmp_path / "r.csv")
        store = corml.build_store(tmp_path / "r.csv", tmp_path / str(last), at_least=3)
        assert (store.users, store.manifest.seen, store.manifest.others) == (2, 1, 1)
        assert store.user_histories().latest == 30


def test_some_people_are_those_of_all_interactions(shop, in_memory):
    users = shop.user_histories()
    assert len(users) == len(in_memory.users) + len(in_memory.others.users)
    labels = [*in_memory.users, *in_memory.others.users]
    for first, last in [(0, 1), (0, 0), (390, 1200), (1950, 1960), (1955, 1970), (len(users) - 3, len(users))]:
        some = users.some(first, last)
        assert list(some.users) == labels[first:last]
        for name, of in [("pairs", lambda data: data), ("seen", lambda data: data.seen)]:
            found = [] if of(some) is None else of(some)
            whole = [part for part in (of(in_memory), of(in_memory.others)) if part is not None]
            wanted = {
                (user, item, time)
                for part in whole
                for user, item, time in zip(
                    part.users.labels[part.user], part.items.labels[part.item], part.times, strict=True
                )
                if user in set(labels[first:last])
            }
            pairs = (
                set()
                if not len(found)
                else set(zip(found.users.labels[found.user], found.items.labels[found.item], found.times, strict=True))
            )
            assert pairs == wanted, name


def test_a_model_without_vectors_for_new_users_says_so(in_memory, shop, tmp_path, monkeypatch):
    model = corml.CoRML(rank=4, max_steps=5).fit(in_memory.where(in_memory.user % 2 == 0).compact())
    monkeypatch.setattr(type(model), "_folds_in", False)
    corml.recommend_to(model, tmp_path / "lists", data=shop, k=3)
    lists = lists_in(tmp_path / "lists")
    new = lists.filter(~pl.col("user").is_in(list(model.users_)) & pl.col("user").is_in(list(in_memory.users)))
    reason = "most popular items: the model has no vector for a user it did not learn from"
    assert new["reason"].unique().to_list() == [reason]
    known = lists.filter(pl.col("user").is_in(list(model.fitted_.users)))
    assert known["source"].unique().to_list() == ["personal"]


def test_a_file_without_users_is_enough(model, shop, tmp_path):
    model.save(tmp_path / "m.corml", history=False)
    small, options = corml.read_model(tmp_path / "m.corml"), {"k": 4, "seen": "allow", "exclude_recent": "1000s"}
    corml.recommend_to(small, tmp_path / "small", data=shop, **options)
    corml.recommend_to(model, tmp_path / "whole", **options)
    assert lists_in(tmp_path / "small").equals(lists_in(tmp_path / "whole"))


class Stop(Exception):
    pass


def test_stopped_lists_go_on_to_the_same_bytes_and_those_of_another_store_are_refused(model, shop, parts_of, tmp_path):
    def stop(stage, done, total):
        if done > 1000:
            raise Stop

    with pytest.raises(Stop):
        corml.recommend_to(model, tmp_path / "lists", data=shop, k=4, progress=stop)
    with pytest.raises(UsageError, match="has lists of other users"):
        corml.recommend_to(model, tmp_path / "lists", data=parts_of("ratio").train, k=4)
    made = corml.recommend_to(model, tmp_path / "lists", data=shop, k=4)
    assert made.found == 3
    corml.recommend_to(model, tmp_path / "whole", data=shop, k=4)
    assert files_of(tmp_path / "lists") == files_of(tmp_path / "whole")
    facts = json.loads((tmp_path / "lists" / "manifest.json").read_text("utf-8"))
    assert facts["users"] == {"count": made.lists, "store": shop.fingerprint}


def test_what_does_not_fit_a_store_is_refused_before_anything_is_written(model, shop, in_memory, tmp_path):
    out = tmp_path / "lists"
    with pytest.raises(UsageError, match="either users, or data"):
        corml.recommend_to(model, out, ["u1"], data=shop)
    with pytest.raises(UsageError, match=r"data takes a corml\.Store, not 'Interactions'"):
        corml.recommend_to(model, out, data=in_memory)
    with pytest.raises(UsageError, match=r"unknown .* is for users by their ids"):
        corml.recommend_to(model, out, data=shop, unknown="error")
    with pytest.raises(UsageError, match="max_share"):
        corml.recommend_to(model, out, data=shop, max_share=0.5)
    assert not out.exists()
