"""What a folder of lists holds: the lists of a single file, in parts that depend on the length of the lists alone."""

import hashlib
import json
from dataclasses import replace

import polars as pl
import pytest

import corml
from corml.errors import UnknownIdError
from corml.models.saved.model_file import fingerprint
from corml.outofcore.lists import sizes
from support import random_interactions


def one_frame(model, users=None, **options):
    return model.recommend(list(model.users_ if users is None else users), **options).to_frame()


@pytest.mark.parametrize(
    "options",
    [
        {"k": 4},
        {"k": 30},
        {"k": 3, "exclude": ["i1", "i2"], "seen": "allow"},
        {"k": 3, "boost": {"i3": 2.0}, "diversity": 0.5},
    ],
    ids=["plain", "longer than the catalogue", "limits", "rules"],
)
def test_all_parts_together_are_the_lists_of_everybody(model, tmp_path, options):
    made = corml.recommend_to(model, tmp_path / "lists", **options)
    frame = pl.read_parquet(tmp_path / "lists" / "*.parquet")
    assert frame.equals(one_frame(model, **options))
    assert (made.lists, made.rows, made.parts, made.found) == (42, len(frame), 7, 0)
    reasons = model.recommend(list(model.users_), **options).reasons
    assert made.with_reason == sum(reason is not None for reason in reasons) > 0


def test_any_users_in_any_order_have_their_lists(model, tmp_path):
    users = ["u7", "nobody", "u3", "u7", "late", 12, "u0", "u1"]
    made = corml.recommend_to(model, tmp_path / "lists", users, k=3)
    assert (made.lists, made.parts) == (8, 2)
    assert pl.read_parquet(tmp_path / "lists" / "*.parquet").equals(one_frame(model, users, k=3))


def test_the_manifest_tells_what_was_asked_and_what_is_there(model, tmp_path):
    made = corml.recommend_to(model, tmp_path / "lists", k=4, exclude=["i1"])
    manifest = json.loads((tmp_path / "lists" / "manifest.json").read_text("utf-8"))
    assert manifest["model"] == {"name": "corml", "fingerprint": fingerprint(model)}
    assert manifest["request"] == {"k": 4, "exclude": ["i1"]}
    assert (manifest["users"]["count"], manifest["users_per_part"], manifest["complete"]) == (42, 6, True)
    for part in manifest["parts"]:
        data = (tmp_path / "lists" / part["file"]).read_bytes()
        assert (part["bytes"], part["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert (part["rows"], part["users"]) == (len(pl.read_parquet(data)), 6)
    assert sum(part["rows"] for part in manifest["parts"]) == made.rows
    assert sorted(path.name for path in (tmp_path / "lists").iterdir()) == [
        "manifest.json",
        *(part["file"] for part in manifest["parts"]),
    ]


def test_parts_are_cut_by_the_length_of_lists_and_whole_pieces(monkeypatch):
    monkeypatch.undo()
    assert [sizes.users_of_a_part(width) for width in (1, 10, 20, 100)] == [100_000, 100_000, 50_000, 10_000]
    for width in (1, 7, 10, 20, 64, 100, 500, 10_000):
        piece, part = sizes.users_at_a_time(width), sizes.users_of_a_part(width)
        assert part % piece == 0
        assert piece <= 10_000
        assert width * part <= 1 << 20


def test_a_dial_writes_lists_of_its_position(tmp_path):
    settings = {"item_norms": [-0.2, 0.2], "of": {"rank": 4, "adapt": False}}
    dial = corml.models.make("corml-dial", settings).fit(random_interactions(0))
    corml.recommend_to(dial, tmp_path / "lists", k=3, novelty=1.0)
    frame = pl.read_parquet(tmp_path / "lists" / "*.parquet")
    assert frame.equals(dial.at(1.0).recommend(list(dial.users_), k=3).to_frame())


def test_unknown_users_are_refused_where_that_is_asked_for_before_anything_is_written(model, tmp_path):
    with pytest.raises(UnknownIdError, match="'nobody', 'no one'"):
        corml.recommend_to(model, tmp_path / "lists", ["u1", "nobody", "u2", "no one"], unknown="error")
    assert not (tmp_path / "lists").exists()


def test_progress_counts_users_and_tells_the_speed(model, tmp_path):
    told = []
    corml.recommend_to(model, tmp_path / "lists", k=3, progress=lambda *step: told.append(step))
    assert told[0] == ("lists", 0, 42)
    assert [(done, total) for _, done, total in told[1:]] == [(done, 42) for done in range(3, 43, 3)]
    assert all(stage.startswith("lists at ") and stage.endswith(" users/s") for stage, _, _ in told[1:])


def test_a_model_has_one_fingerprint_in_memory_and_from_its_file(model, other, tmp_path):
    model.save(tmp_path / "m.corml")
    assert fingerprint(corml.read_model(tmp_path / "m.corml")) == fingerprint(model)
    data = random_interactions(0)
    grown = replace(data, seen=corml.Interactions.from_pairs(["u0"], ["i24"]).on(data.users, data.items))
    same, seen = (corml.CoRML(rank=4, max_steps=20, tol=0).fit(one) for one in (data, grown))
    titled = same.with_items(pl.DataFrame({"item": ["i1"], "title": ["One"]}))
    everyone = [model, other, same, seen, titled]
    assert len({fingerprint(one) for one in everyone}) == len(everyone)
