"""Small things that once ended as mistakes of ours: each is a sentence now, or works."""

import gzip
import io
import json
import os
import zipfile

import numpy as np
import pytest

import corml
from corml import data as datasets
from corml import models
from corml.errors import DataError, SettingError, UsageError
from corml.persistence import container, facts
from support import random_interactions

N = 5_000  # levels
PAIRS = "user,item\na,x\nb,y\na,y\n"


# --- files -----------------------------------------------------------------------------------------------------------


def test_half_of_a_character_in_an_archive_is_said(tmp_path):
    np.savez(tmp_path / "a.npz", user=np.array(["a\ud800", "b"]), item=np.array(["x", "y"]))
    with pytest.raises(
        DataError, match=r"a.npz' has half of a character, '\\ud800', in a text: write it again as UTF-8."
    ):
        corml.load(tmp_path / "a.npz")


@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_that_are_no_characters_are_no_text(tmp_path, order):
    """Neither NumPy nor Python looks at them, and Polars made bytes of them that are no UTF-8."""
    user = np.array([[97, 0x110000], [98, 99]], dtype=f"{order}u4").view(f"{order}U2")[:, 0]
    np.savez(tmp_path / "a.npz", user=user, item=np.array(["x", "y"]))
    with pytest.raises(DataError, match="a text has a number that is no character"):
        corml.load(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", user=user[1:], item=np.array(["y"]))
    assert corml.load(tmp_path / "b.npz").users.labels.tolist() == ["bc"]


def test_half_of_a_character_in_json_lines_is_said(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"user": "a", "item": "x"}\n{"user": "b", "item": "\\udfff"}\n')
    with pytest.raises(DataError, match=r"has half of a character, '\\udfff', in a text"):
        corml.load(tmp_path / "a.jsonl")


@pytest.fixture(scope="module")
def halves():
    """A model of people and items whose ids have half of a character, and one user of it."""
    data = corml.Interactions.from_pairs(
        [f"u{n % 9}\ud800" for n in range(90)], [f"i{n * 5 % 13}\ud800" for n in range(90)]
    )
    split = corml.split(data, "ratio")
    return corml.CoRML(rank=2).fit(split.train), split, "u1\ud800"


@pytest.mark.parametrize(
    "write",
    [
        lambda model, split, user: split.train.to_frame(),
        lambda model, split, user: model.recommend([user]).to_frame(),
        lambda model, split, user: model.explain(user, "i1\ud800").to_frame(),
        lambda model, split, user: model.similar_users([user]).to_frame(),
        lambda model, split, user: corml.evaluate(model, split).to_frame(),
        lambda model, split, user: corml.Attributes(split.train.items, {}).to_frame(),
        lambda model, split, user: datasets.write(split.train, "a.parquet"),
        lambda model, split, user: datasets.write(split.train, "a.csv"),
        lambda model, split, user: corml.recommend_to(model, "lists", k=2),
        lambda model, split, user: corml.export.export_model(model, "sqlite", "a.sqlite"),
    ],
)  # fmt: skip
def test_half_of_a_character_that_cannot_be_written_is_said(halves, tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"can be written as UTF-8: it has half of a character, '\\ud800'"):
        write(*halves)
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


def test_lists_with_half_of_a_character_are_shown_and_refused_as_a_table(halves, tmp_path, monkeypatch):
    from cli.conftest import call

    monkeypatch.chdir(tmp_path)
    halves[0].save("m.corml")
    for out in ("a.csv", "a.parquet", "lists/", "-"):
        assert call("recommend", "m.corml", "--all", "--out", out).code == 3
    for words in (["--out", "a.json"], ["--json"], []):
        assert call("recommend", "m.corml", "--all", *words).code == 0
    assert {row["user"] for row in json.loads((tmp_path / "a.json").read_text())} >= {"u1\ud800"}


def test_a_name_with_half_of_a_character_is_no_name_of_a_file(halves, tmp_path):
    with pytest.raises(DataError, match=r"Cannot write '.*a\\ud800'"):
        halves[0].save(tmp_path / "a\ud800")


def test_a_zip_in_a_gzip_file_is_said(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("a.csv", PAIRS)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(inner.getvalue()))
    with pytest.raises(DataError, match="is not text but a zip file: give it the suffix of its kind"):
        corml.load(tmp_path / "a.csv.gz")


# --- split files -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_split_is_not_read_from_a_pipe_or_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(DataError, match="is not a regular file"):
            corml.read_split(path)


def test_a_split_whose_name_has_a_nul_is_said():
    with pytest.raises(DataError, match="embedded null byte"):
        corml.read_split("a\0b.split")


def test_the_command_line_says_it_too(tmp_path, monkeypatch):
    from cli.conftest import call

    monkeypatch.chdir(tmp_path)
    for name in ("a\0b.split", "/dev/zero"):
        assert call("fit", "--split", name, "-o", "m.corml").code == 3


def test_a_split_with_a_deep_header_is_refused(tmp_path, monkeypatch):
    path, titles = tmp_path / "a.split", []
    corml.split(random_interactions(1), "ratio").save(path)
    held = container.read(path, container.SPLIT)
    for _ in range(300):
        titles = [titles]
    with monkeypatch.context() as forging:
        forging.setattr(facts, "DEEPEST", 1_000)
        forged = {**held.meta, "source": {"titles": titles}}
        path.write_bytes(container.pack(dict(held.arrays), forged, container.SPLIT))
    with pytest.raises(DataError, match="deep"):
        corml.read_split(path)


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * N + "]" * N, "a = " + "{a=" * N + "1" + "}" * N, "[" + ".".join("a" * N) + "]\nb=1"],
    ids=["lists", "tables", "sections"],
)
def test_settings_that_are_nested_five_thousand_deep_are_refused(tmp_path, text):
    from corml.cli._inputs import read_settings

    (tmp_path / "deep.toml").write_text(text)
    with pytest.raises(SettingError, match=r"is nested too deeply|has no section 'a'"):
        read_settings(str(tmp_path / "deep.toml"))


def test_settings_without_an_end_are_refused(tmp_path):
    from corml.cli._inputs import read_settings

    (tmp_path / "long.toml").write_text("# settings\n" * 100_000)
    for path in (str(tmp_path / "long.toml"), "/dev/zero"):
        with pytest.raises(SettingError, match="has more than 1,048,576 bytes: it is something else"):
            read_settings(path)


@pytest.mark.parametrize(
    ("model", "setting", "value"),
    [("cml", "covariance", 10**30), ("corml", "ridge", 1e300), ("ease", "l2", 1e30), ("slim", "l2", 1e30)],
)
def test_a_setting_that_would_overflow_is_refused_by_its_name(model, setting, value):
    with pytest.raises(SettingError, match=rf"^{setting} of \w+ must be .*1e\+12"):
        models.make(model, {setting: value}).fit(random_interactions(1))


@pytest.mark.parametrize(("model", "setting"), [("corml", "ridge"), ("ease", "l2")])
def test_the_largest_setting_is_fitted_and_saved(tmp_path, model, setting):
    models.make(model, {setting: 1e12}).fit(random_interactions(1)).save(tmp_path / "m.corml")
    assert corml.read_model(tmp_path / "m.corml").NAME == model


# --- the NA of pandas ------------------------------------------------------------------------------------------------


class Missing:
    """As the NA of pandas: it does not say whether it differs from itself."""

    def __eq__(self, other):
        return self

    __ne__ = __eq__
    __hash__ = object.__hash__

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    def __repr__(self):
        return "<NA>"


@pytest.fixture(scope="module")
def model():
    return corml.CoRML(rank=2).fit(random_interactions(1))


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, na: model.recommend([na]),
        lambda model, na: model.recommend(na),
        lambda model, na: model.recommend(["u1"], k=na),
        lambda model, na: model.recommend(["u1"], exclude=na),
        lambda model, na: model.recommend(["u1"], exclude=[na]),
        lambda model, na: model.recommend(["u1"], only=na),
        lambda model, na: model.recommend(history=[[na, "i1"]]),
        lambda model, na: model.similar([na]),
        lambda model, na: model.explain(na, "i1"),
        lambda model, na: model.explain("u1", na),
        lambda model, na: corml.CoRML(solver=na).fit(random_interactions(1)),
        lambda model, na: corml.CoRML(rank=na).fit(random_interactions(1)),
        lambda model, na: corml.split(random_interactions(1), "ratio", seed=na),
        lambda model, na: corml.split(random_interactions(1), na),
        lambda model, na: corml.evaluate(model, corml.split(random_interactions(1), "ratio"), na),
        lambda model, na: corml.Interactions.from_pairs(["a", na], ["x", "y"]),
        lambda model, na: corml.Interactions.from_pairs(["a", "b"], ["x", "y"], weights=[1, na]),
        lambda model, na: corml.Interactions.from_pairs(["a", "b"], ["x", "y"], times=[1, na]),
        lambda model, na: corml.load(io.StringIO(PAIRS), user=na),
        lambda model, na: corml.load(io.StringIO(PAIRS), at_least=na),
    ],
)
@pytest.mark.parametrize("kind", ["ours", "pandas"])
def test_a_value_that_is_missing_is_one_sentence(model, ask, kind):
    na = Missing() if kind == "ours" else pytest.importorskip("pandas").NA
    with pytest.raises((UsageError, DataError)) as refused:
        ask(model, na)
    assert "\n" not in str(refused.value)


def test_a_missing_id_in_a_frame_is_named_by_its_row():
    pandas = pytest.importorskip("pandas")
    for users in (["a", pandas.NA, "b"], [1, pandas.NA, "b"], pandas.array([1, pandas.NA, 2], dtype="Int64")):
        with pytest.raises(DataError, match="row 2: the user is an empty id"):
            corml.load(pandas.DataFrame({"user": users, "item": ["x", "y", "y"]}))


# --- model files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bpr-mf", "lightgcn", "recvae"])
def test_equal_fits_give_equal_files_whatever_time_they_took(tmp_path, name):
    pytest.importorskip("torch")
    for number in range(2):
        models.make(name, {"epochs": 2, "seed": 5}).fit(random_interactions(1)).save(tmp_path / f"{number}.corml")
    assert (tmp_path / "0.corml").read_bytes() == (tmp_path / "1.corml").read_bytes()


def test_a_file_without_recorded_seconds_is_inspected_reported_and_explained(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from cli.conftest import call

    monkeypatch.chdir(tmp_path)
    random_interactions(1).to_frame().write_csv("r.csv")
    words = ["fit", "r.csv", "--model", "bpr-mf", "--set", "epochs=2", "--split", "ratio", "-o", "m.corml"]
    assert call(*words, "--no-refit").code == 0
    assert corml.read_model("m.corml").fitted_.training is not None
    for words in (["inspect", "m.corml"], ["inspect", "m.corml", "--json"], ["report", "m.corml", "--out", "r.html"]):
        outcome = call(*words)
        assert outcome.code == 0
        assert "None" not in outcome.out
