"""Recommendation files of other programs: the same lists in every format, ids unchanged, clear errors."""

import gzip
import os

import polars
import pytest

import corml
from corml.errors import DataError, ResourceError
from corml.evaluation import evaluate_lists
from corml.evaluation.external_lists import by_user
from corml.evaluation.list_files import read_lists

LISTS = {"007": ["7", "3", "x y"], "b": ["3"]}
ROWS = [("007", "3", 2, 0.5), ("b", "3", 1, 0.1), ("007", "7", 1, 0.9), ("007", "x y", 3, -1.0)]


def table(separator, columns=("user", "item", "rank", "score")):
    lines = [columns, *(tuple(map(str, row[: len(columns)])) for row in ROWS)]
    return "\n".join(separator.join(line) for line in lines) + "\n"


def test_every_format_gives_the_same_lists(tmp_path):
    (tmp_path / "a.csv").write_text(table(","))
    (tmp_path / "a.tsv").write_text(table("\t", ("user_id", "item_id", "rank")))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(table(",").encode()))
    frame = polars.DataFrame(ROWS, schema=["userId", "itemId", "rank", "prediction"], orient="row")
    frame.drop("rank").write_parquet(tmp_path / "a.parquet")  # by score
    frame.write_ndjson(tmp_path / "a.jsonl")
    for name in ("a.csv", "a.tsv", "a.csv.gz", "a.parquet", "a.jsonl"):
        assert by_user(tmp_path / name) == LISTS, name


@pytest.mark.parametrize("name", ["a.run", "a.trec", "a.txt", "a.run.gz"])
def test_a_trec_run_is_sorted_by_score_and_then_by_rank(tmp_path, name):
    text = "u1  Q0 i1 3 0.5 mine\nu1 Q0 i2 1 0.9 mine\n\nu1\tQ0\ti3\t2\t0.5\tmine\nu2 Q0 i1 1 7 mine\n"
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(content)
    assert by_user(str(tmp_path / name)) == {"u1": ["i2", "i3", "i1"], "u2": ["i1"]}


def test_without_rank_and_score_the_order_of_rows_counts(tmp_path):
    (tmp_path / "a.csv").write_text("item,user\nz,1\na,1\n")
    assert by_user(tmp_path / "a.csv") == {"1": ["z", "a"]}


@pytest.mark.parametrize(
    ("name", "content", "fragment"),
    [
        *((f"none.{ending}", None, f"none.{ending}") for ending in ("csv", "run", "parquet")),
        ("a.xls", "", "save it as .xlsx or CSV"),
        ("a.csv", "user,thing\n1,2\n", "no column item among 'user', 'thing'"),
        ("a.csv", "user,item,rank\n1,2,first\n", "rank of the lists"),
        ("a.csv", "user,item\n1,2\n1,\n", "Row 2 of the lists"),
        ("a.csv", "", "it is empty"),
        ("a.parquet", "no parquet", "not a readable Parquet file"),
        ("a.run", "u1 Q0 i1 1 0.5 mine\nu1 i2 2\n", "Line 2 of the run"),
        ("a.run", "u1 Q0 i1 1 high mine\n", "score of the lists"),
        ("a.csv", "user,item\n1,2,3\n", "line 2: "),
        ("a.run", "u1 Q0 i1 1 0.5 mine\n\n" + "a " * 1_000, "Line 3 of the run .* has more than six words"),
    ],
)
def test_an_invalid_or_missing_file_is_refused(tmp_path, name, content, fragment):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=fragment):
        read_lists(tmp_path / name)


def test_a_models_own_lists_from_a_file_are_as_good_as_the_model(tmp_path, split):
    model = corml.Popularity().fit(split.train)
    users = [user for user in split.train.users.labels if split.train.user_degrees[split.train.users.rows([user])[0]]]
    model.recommend(users, k=30).to_frame().write_csv(tmp_path / "lists.csv")
    theirs = evaluate_lists(tmp_path / "lists.csv", split, ["ndcg@10", "recall@5"], mask=True)
    ours = corml.evaluate(model, split, ["ndcg@10", "recall@5"])
    assert theirs.means == ours.means  # the lists hold valid items, which are taken out as the model's are
    assert theirs.notes["recommended items already seen, taken out"] > 0
    unmasked = evaluate_lists(tmp_path / "lists.csv", split, ["ndcg@10"])
    assert unmasked["ndcg@10"] < ours["ndcg@10"]


BOMBS = {
    "a.csv.gz": gzip.compress(b"user,item,rank\n" + b"1,1,1\n" * 100_000),
    "a.run.gz": gzip.compress(b"1 Q0 1 1 1 x\n" * 100_000),
}


@pytest.mark.parametrize("name", [*BOMBS, "a.parquet"])
def test_files_that_expand_without_bound_are_refused(tmp_path, monkeypatch, name):
    """1.6 MB of a run became 8.5 GB, and as much of a table ended the process."""
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 100_000)
    if name in BOMBS:
        (tmp_path / name).write_bytes(BOMBS[name])
    else:
        lists = polars.DataFrame({"user": ["u" * 5_000] * 1_000, "item": ["i"] * 1_000})
        lists.write_parquet(tmp_path / name, statistics=False)
    with pytest.raises(DataError, match="unpack it by other means, or write it as CSV"):
        read_lists(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.run", "a.parquet"])
def test_lists_that_do_not_fit_into_memory_are_refused_before_they_are_read(tmp_path, monkeypatch, name):
    if name == "a.parquet":
        polars.DataFrame({"user": ["1"] * 100_000, "item": ["1"] * 100_000}).write_parquet(tmp_path / name)
    else:
        (tmp_path / name).write_bytes(gzip.decompress(BOMBS[f"{name}.gz"]))
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 10_000_000)
    with pytest.raises(ResourceError, match=r"Reading the lists .* needs"):
        read_lists(tmp_path / name)


@pytest.mark.parametrize("column", ["user", "item", "rank"])
def test_a_nested_column_is_refused(tmp_path, column):
    columns = {"user": ["u"], "item": ["i"], "rank": [1]} | {column: [[1, 2]]}
    polars.DataFrame(columns).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=f"The column {column} of the lists .* one plain value per row"):
        read_lists(tmp_path / "a.parquet")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
@pytest.mark.parametrize("name", ["a.run", "a.csv", "a.parquet"])
def test_a_pipe_is_refused_without_waiting(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match="is a pipe or a device"):
        read_lists(tmp_path / name)
