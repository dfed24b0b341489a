"""Stopped at any step, lists go on to the same bytes; and nothing else is ever taken for a part of them."""

import json
import os
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

import corml
from corml.errors import DataError, UsageError
from corml.outofcore.lists import write
from corml.persistence import atomic

WRITES = 1 + 7 * 2  # the first manifest, then each part and the manifest that says so


@pytest.fixture
def whole(model, tmp_path, contents):
    """What an uninterrupted run leaves behind."""
    corml.recommend_to(model, tmp_path / "whole", k=4)
    return contents(tmp_path / "whole")


class Stopped(Exception):
    pass


def stop_at(monkeypatch, step, *, written):
    """End the run at a write, before it or after it."""
    count, replace = iter(range(1000)), atomic.replace

    def stopping(path, *parts):
        last = next(count) == step
        if written or not last:
            replace(path, *parts)
        if last:
            raise Stopped

    monkeypatch.setattr(atomic, "replace", stopping)


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("step", range(WRITES))
def test_stopped_at_any_write_it_goes_on_to_the_same_bytes(model, whole, tmp_path, contents, step, written):
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, step, written=written)
        with pytest.raises(Stopped):
            corml.recommend_to(model, tmp_path / "lists", k=4)
    made = corml.recommend_to(model, tmp_path / "lists", k=4)
    assert contents(tmp_path / "lists") == whole
    assert made.found == max(0, (step - 1 + written) // 2)


def test_there_are_no_more_writes_than_that(model, tmp_path, monkeypatch):
    stop_at(monkeypatch, WRITES, written=False)
    corml.recommend_to(model, tmp_path / "lists", k=4)


def test_what_is_finished_is_neither_ranked_nor_written_again(model, whole, tmp_path, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "whole").iterdir()}
    monkeypatch.setattr(write.Maker, "shard", None)
    made = corml.recommend_to(model, tmp_path / "whole", k=4)
    assert (made.found, made.parts, made.lists) == (7, 7, 42)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "whole").iterdir()} == before


@pytest.mark.parametrize("harm", ["flipped", "cut", "gone", "empty"])
def test_a_part_that_is_not_as_it_was_is_made_again(model, whole, tmp_path, contents, harm):
    path = tmp_path / "whole" / "part-00003.parquet"
    data = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        middle = bytes([data[100] ^ 1])
        path.write_bytes({"flipped": data[:100] + middle + data[101:], "cut": data[:-1], "empty": b""}[harm])
    assert corml.recommend_to(model, tmp_path / "whole", k=4).found == 6
    assert contents(tmp_path / "whole") == whole


def test_progress_goes_on_where_it_was(model, whole, tmp_path):
    (tmp_path / "whole" / "part-00002.parquet").unlink()
    told = []
    corml.recommend_to(model, tmp_path / "whole", k=4, progress=lambda *step: told.append(step))
    assert told[:7] == [("check parts", done, 7) for done in range(1, 8)]
    assert [step[1:] for step in told[7:]] == [(36, 42), (39, 42), (42, 42)]


def test_defaults_may_be_given_or_not(model, whole, tmp_path):
    given = {"seen": "exclude", "exclude": None, "diversity": 0.0, "unknown": "fallback", "now": None}
    assert corml.recommend_to(model, tmp_path / "whole", list(model.users_), k=4, **given).found == 7


@pytest.mark.parametrize(
    ("asked", "fragment"),
    [
        ({"k": 5}, "has lists made with k '4', and these would be with k '5'"),
        ({"k": 4, "seen": "allow"}, "made without seen, and these would be with seen 'allow'"),
        ({"k": 4, "exclude": ["i1"]}, "made without exclude, and these would be with exclude"),
        ({"k": 4, "users": ["u1", "u2"]}, "has lists of other users"),
    ],
)
def test_other_options_in_the_same_folder_are_refused(model, whole, tmp_path, contents, asked, fragment):
    with pytest.raises(UsageError, match=f"{fragment}.*: choose another folder, or remove it"):
        corml.recommend_to(model, tmp_path / "whole", **asked)
    assert contents(tmp_path / "whole") == whole


def test_another_model_in_the_same_folder_is_refused(other, whole, tmp_path, contents):
    with pytest.raises(UsageError, match="has lists of another model: choose another folder"):
        corml.recommend_to(other, tmp_path / "whole", k=4)
    assert contents(tmp_path / "whole") == whole


@pytest.mark.filterwarnings("ignore:.*model does not know:corml.errors.DataWarning")
def test_long_lists_of_items_are_told_apart_without_being_written_out(model, tmp_path):
    many = [f"i{n}" for n in range(100)]
    corml.recommend_to(model, tmp_path / "lists", k=4, exclude=many[20:])
    assert "i77" not in (tmp_path / "lists" / "manifest.json").read_text("utf-8")
    assert corml.recommend_to(model, tmp_path / "lists", k=4, exclude=iter(many[20:])).found == 7
    with pytest.raises(UsageError, match="made with exclude"):
        corml.recommend_to(model, tmp_path / "lists", k=4, exclude=many[19:])


def test_a_folder_with_anything_else_in_it_is_refused(model, whole, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "poem.txt").write_text("roses")
    with pytest.raises(
        UsageError, match=r"notes' has other files and no manifest\.json of lists: choose a new or an empty folder"
    ):
        corml.recommend_to(model, tmp_path / "notes", k=4)
    (tmp_path / "notes" / "manifest.json").write_text('{"name": "app"}')
    with pytest.raises(UsageError, match=r"has a manifest\.json that is not one of lists in shards"):
        corml.recommend_to(model, tmp_path / "notes", k=4)
    (tmp_path / "whole" / "zz.parquet").write_bytes(b"")
    with pytest.raises(UsageError, match=r"'zz\.parquet' in .* is not a shard of these lists: move it away"):
        corml.recommend_to(model, tmp_path / "whole", k=4)


def test_a_manifest_that_was_changed_is_not_believed(model, whole, tmp_path):
    path = tmp_path / "whole" / "manifest.json"
    facts = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**facts, "parts": [{"file": "part-00000.parquet"}]}))
    with pytest.raises(UsageError, match="cannot be read: choose another folder"):
        corml.recommend_to(model, tmp_path / "whole", k=4)


def test_a_place_that_is_no_folder_is_refused(model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file, not a folder"):
        corml.recommend_to(model, tmp_path / "file")
    with pytest.raises(DataError, match="create it first"):
        corml.recommend_to(model, tmp_path / "none" / "lists")


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be locked")
def test_a_second_run_at_the_same_time_is_refused(model, whole, tmp_path):
    with (
        write._alone(tmp_path / "whole"),
        pytest.raises(UsageError, match=r"Another process writes lists into .*: wait for it to end"),
    ):
        corml.recommend_to(model, tmp_path / "whole", k=4)


@pytest.mark.parametrize(
    ("asked", "fragment"),
    [
        ({"max_share": 0.1}, r"max_share .* is a rule for all lists together, .*: leave it out, or write one file"),
        ({"history": [["i1"]]}, "Lists in shards are for known users"),
        ({"only": [["i1"], ["i2"]]}, "only takes one list of item ids for all users"),
        ({"exlude": ["i1"]}, "no option 'exlude'; did you mean 'exclude'"),
        ({"users": []}, "the list of users is empty"),
        ({"k": 0}, "k must be a whole number"),
        ({"diversity": 2}, "diversity must be a number from 0"),
        ({"only": {"genre": "Comedy"}}, "genre"),
    ],
)
def test_what_cannot_be_done_in_parts_is_said_before_anything_is_written(model, tmp_path, asked, fragment):
    with pytest.raises(UsageError, match=fragment):
        corml.recommend_to(model, tmp_path / "lists", **asked)
    assert not (tmp_path / "lists").exists()


def test_lists_of_now_stay_those_of_the_moment_they_were_begun(model, tmp_path, contents, monkeypatch):
    soon = datetime.now(UTC) + timedelta(hours=1)
    table = pl.DataFrame({"item": ["i0", "i1"], "available_until": [soon.isoformat()] * 2})
    shop = model.with_items(table)
    corml.recommend_to(shop, tmp_path / "lists", k=4, now="now")
    before = contents(tmp_path / "lists")

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(days=1)

    monkeypatch.setattr(write, "datetime", Later)
    monkeypatch.setattr("corml.recommend.conditions.datetime", Later)
    (tmp_path / "lists" / "part-00000.parquet").unlink()
    assert corml.recommend_to(shop, tmp_path / "lists", k=4, now="now").found == 6
    assert contents(tmp_path / "lists") == before
    corml.recommend_to(shop, tmp_path / "tomorrow", k=4, now="now")
    assert not {"i0", "i1"} & set(pl.read_parquet(tmp_path / "tomorrow" / "*.parquet")["item"])
    assert {"i0", "i1"} & set(pl.read_parquet(tmp_path / "lists" / "*.parquet")["item"])
