"""The bad-input matrix on the command line: for every row an exit code, one sentence, and nothing written.

Numbers are those of the matrix; rows about accepted input say what must be true of the outcome instead.
"""

import gzip
import io
import os
import random
import time

import polars as pl
import pytest

import corml
import corml.data.formats._guard as _guard

HEAD = "user,item,rating,time\n"
GOOD = "user,item\n" + "".join(f"u{n % 40},i{n % 7 + n % 3}\n" for n in range(400))
GZ = gzip.compress(GOOD.encode())
DATA, USAGE, REFUSED, FOREIGN = 3, 2, 4, 5


def parquet(**columns):
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


# name of the file, its content, options, exit code, and what the sentence says
REFUSALS = [
    pytest.param("a.csv", "", [], DATA, "no interactions", id="2 no bytes"),
    pytest.param("a.csv", "user,item\n", [], DATA, "no interactions", id="2 header only"),
    pytest.param("a.csv", "\n# nothing\n\n", [], DATA, "no interactions", id="2 blank and comment lines"),
    pytest.param("a.csv", "user;item\na;x\n", ["--separator", ","], DATA, "which holds ';'", id="3"),
    pytest.param("a.csv", "user,thing,c\na,x,1\n", [], DATA, "'user', 'thing', 'c'", id="4 no item column"),
    pytest.param("a.csv", "user,item,user\na,x,b\n", [], DATA, "two columns named 'user'", id="4 twice"),
    pytest.param("a.csv", GOOD, ["--user", "usr"], DATA, "did you mean 'user'", id="4 misspelt"),
    pytest.param("a.csv", "1,31,2.5\n1,29,3.0\n", [], DATA, "--no-header", id="5 no header"),
    pytest.param("a.csv", GOOD, ["--no-header"], DATA, "starts with a header", id="5 header"),
    pytest.param("a.csv", "user,item\na,x\nb\n", [], DATA, "line 3", id="6 short row"),
    pytest.param("a.csv", "user,item\na,x\nb,y,z\n", [], DATA, "line 3", id="6 long row"),
    pytest.param("a.csv", 'user,item\na,x\n"b,y\n', [], DATA, "line 3: a quote opens", id="6 open quote"),
    pytest.param("a.csv", HEAD + "a," + "x" * 2_000_000, [], DATA, "line 2 is longer than", id="6 endless line"),
    pytest.param("a.csv", "user,item\n,x\n", [], DATA, "line 2: the user is an empty id", id="7 empty id"),
    pytest.param("a.csv", "user,item\na,  \n", [], DATA, "the item is an empty id", id="7 blanks"),
    pytest.param("a.csv", HEAD + "a,x,NaN,1\n", [], DATA, "'NaN' is not a finite number", id="8 NaN"),
    pytest.param("a.csv", HEAD + "a,x,1e400,1\n", [], DATA, "'1e400' is not a finite number", id="8 1e400"),
    pytest.param("a.csv", HEAD + "a,x,good,1\n", [], DATA, "'good' is not a finite number", id="8 text"),
    pytest.param("a.csv", HEAD + "a,x,-1,1\n", [], DATA, "'-1' is negative", id="8 negative"),
    pytest.param("a.csv", "user,item\na," + "x" * 2049, [], DATA, "longer than 2048 bytes", id="12 long id"),
    pytest.param("a.csv", b"user,item\na,caf\xe9\n", [], DATA, "byte offset 15", id="14 Latin-1"),
    pytest.param("a.csv", GOOD.encode("utf-16"), [], DATA, "UTF-16", id="14 UTF-16"),
    pytest.param("a.csv", b"user,item\na,x\0\n", [], DATA, "NUL byte at byte offset 13", id="14 NUL"),
    pytest.param("a.csv.gz", GZ[:-20], [], DATA, "not a whole gzip file", id="16 cut"),
    pytest.param("a.csv.gz", GZ + b"more", [], DATA, "not a whole gzip file", id="16 trailing garbage"),
    pytest.param("a.csv.gz", GOOD, [], DATA, "not a whole gzip file", id="16 not gzip"),
    pytest.param("a.zip", b"PK\x03\x04 and no more", [], DATA, "not a whole zip file", id="16 zip"),
    pytest.param("a.csv.zst", b"\x28\xb5\x2f\xfd", [], DATA, ".zst", id="16 zstd"),
    pytest.param("a.parquet", parquet(user=["a"], item=["x"])[:-9], [], DATA, "Parquet", id="16 parquet"),
    pytest.param("a.csv", HEAD + "a,x,2,1\n", ["--at-least", "4"], DATA, "0 positives after threshold", id="27"),
    pytest.param("a.parquet", parquet(user=["a", None], item=["x", "y"]), [], DATA, "row 2: the user", id="32 null"),
    pytest.param("a.parquet", parquet(user=[[1]], item=["x"]), [], DATA, "one plain value", id="32 nested"),
    pytest.param("a.csv", GOOD, ["--k-core", "-1"], USAGE, "--k-core must be a whole number", id="35 k-core"),
    pytest.param("a.csv", GOOD, ["--k-core", "two"], USAGE, "--k-core", id="35 k-core as text"),
    pytest.param("a.csv", GOOD, ["--at-least", "nan"], USAGE, "--at-least must be a finite", id="35 at-least"),
    pytest.param("a.csv", GOOD, ["--item", "user", "--user", "user"], USAGE, "two roles", id="35 one column twice"),
]


@pytest.mark.parametrize(("name", "content", "options", "code", "fragment"), REFUSALS)
@pytest.mark.parametrize("command", ["fit", "info"])
def test_bad_data_are_refused_in_one_sentence_and_nothing_is_written(
    run, here, command, name, content, options, code, fragment
):
    (here / name).write_bytes(content.encode() if isinstance(content, str) else content)
    words = ["fit", name, "-o", "model.corml"] if command == "fit" else ["data", "info", name]
    outcome = run(*words, *options)
    assert outcome.code == code
    assert fragment in outcome.err
    assert outcome.out == ""
    assert os.listdir(here) == [name]


# setting, values that are out of range; the sentence names the setting and says «must be»
OUT_OF_RANGE = [
    *(("mix", value) for value in ("0", "-0.5", "1.5", "nan", "strong")),
    *(("rho", value) for value in ("0", "-1", "inf")),
    *(("l2", value) for value in ("-1", "nan")),
    *(("rank", value) for value in ("0", "20000", "2.5", "many")),
    *(("partition_ratio", value) for value in ("0", "-1", "2")),
    *(("tol", value) for value in ("-1", "2")),
    *(("filter", value) for value in ("sharp", "1")),
]


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
@pytest.mark.parametrize("by", ["--set", "--settings"])
def test_row_35_a_setting_out_of_range_is_named_with_its_range(run, here, by, name, value):
    (here / "a.csv").write_text(GOOD)
    (here / "fit.toml").write_text(f"[model]\n{name} = {value if value[-1].isdigit() else repr(value)}\n")
    outcome = run("fit", "a.csv", "-o", "model.corml", by, f"{name}={value}" if by == "--set" else "fit.toml")
    assert outcome.code == USAGE
    assert name in outcome.err
    assert "must be" in outcome.err
    assert not (here / "model.corml").exists()


def test_row_35_blocks_smaller_than_an_item_are_refused(run, here):
    (here / "a.csv").write_text("user,item\na,x\na,y\nb,y\nb,z\n")
    outcome = run("fit", "a.csv", "-o", "m.corml", "--set", "partition_ratio=0.3")
    assert outcome.code == USAGE
    assert "partition_ratio must be above 1/items" in outcome.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("command", ["fit", "data info", "data convert", "data split", "evaluate"])
def test_row_1_what_is_no_readable_file_is_refused_within_a_second(run, here, shop, monkeypatch, command):
    os.mkfifo(here / "pipe.csv")
    words = {
        "fit": ["fit", "{}", "-o", "m.corml"],
        "data info": ["data", "info", "{}"],
        "data convert": ["data", "convert", "{}", "out.csv"],
        "data split": ["data", "split", "{}", "out.split"],
        "evaluate": ["evaluate", shop / "split.corml", "{}"],
    }[command]
    for name, reason in (("none.csv", "no file"), (".", "a folder"), ("pipe.csv", "pipe")):
        begun = time.monotonic()
        outcome = run(*(name if word == "{}" else word for word in words))
        assert time.monotonic() - begun < 1
        assert outcome.code == DATA
        assert reason in outcome.err
        assert f"'{name}'" in outcome.err
    assert os.listdir(here) == ["pipe.csv"]


def test_row_1_no_permission_names_the_path(run, here, monkeypatch):
    (here / "secret.csv").write_text(GOOD)

    opened = os.open

    def refuse(path, *rest, **how):
        if str(path).endswith("secret.csv"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest, **how)

    monkeypatch.setattr("corml.data.formats._files.os.open", refuse)
    outcome = run("fit", "secret.csv", "-o", "m.corml")
    assert outcome.code == DATA
    assert "'secret.csv': Permission denied" in outcome.err


def test_rows_6_to_8_bad_rows_can_be_skipped_up_to_one_in_a_hundred(run, here):
    rows = [f"u{n % 30},i{n % 11}" for n in range(300)]
    (here / "some.csv").write_text("user,item\n" + "\n".join([*rows, "short", "u1,"]))
    (here / "many.csv").write_text("user,item\n" + "\n".join([*rows, *["short"] * 9]))
    info = run("data", "info", "some.csv", "--skip-bad-rows", "--json")
    assert info.code == 0
    assert info.json["facts"]["bad rows skipped"] == 2
    assert run("fit", "many.csv", "-o", "m.corml", "--skip-bad-rows").code == DATA
    assert run("fit", "some.csv", "-o", "m.corml").code == DATA
    assert run("fit", "some.csv", "-o", "m.corml", "--skip-bad-rows").code == 0


def test_row_9_bad_times_matter_only_to_splits_that_need_times(run, here):
    rows = [f"u{n % 9},i{n % 7},1,{'' if n == 3 else 1000 + n}" for n in range(60)]
    (here / "a.csv").write_text(HEAD + "\n".join(rows))
    assert run("fit", "a.csv", "-o", "m.corml", "--split", "ratio", "--no-time").code == 0
    for split in ("temporal", "leave-last"):
        refused = run("fit", "a.csv", "-o", "t.corml", "--split", split, "--no-time")
        assert refused.code == DATA
        assert split in refused.err
    refused = run("fit", "a.csv", "-o", "t.corml")
    assert refused.code == DATA
    assert "line 5: the time is missing; --no-time ignores column 'time'" in refused.err
    assert not (here / "t.corml").exists()


ODD = ["NA", "null", "nan", "None", "True", "007", "7", "7.0", " 7", str(2**63), "-1", "1" + "0" * 30, "x" * 256]
ODD += ["🙂", "\u00e9", "e\u0301", "tab\tbed", "two\nlines", "../../etc", "=cmd()", "<script>", "\x1b[31m", 'q"', "a,b"]


def odd_file(path, seed=0):
    rng = random.Random(seed)
    rows = [(f"u{u}", item) for u in range(20) for item in rng.sample(ODD, 10)]
    quoted = ['"' + item.replace('"', '""') + '"' for _, item in rows]
    path.write_text("user,item\n" + "".join(f"{u},{i}\n" for (u, _), i in zip(rows, quoted, strict=True)), newline="")


def test_rows_10_to_13_odd_ids_are_kept_as_they_are_and_escaped_on_the_screen(run, here):
    odd_file(here / "odd.csv")
    assert run("fit", "odd.csv", "-o", "odd.corml").code == 0
    lists = run("recommend", "odd.corml", "--all", "-k", len(ODD), "--json").json
    listed = {item["item"] for one in lists for item in one["items"]}
    assert listed <= set(ODD)
    assert {"NA", "007", "7", "7.0", " 7", "=cmd()"} <= listed
    printed = run("recommend", "odd.corml", "--all", "-k", len(ODD))
    assert "\x1b" not in printed.out
    assert "two\\nlines" in printed.out


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json"])
def test_row_13_lists_with_odd_ids_survive_the_trip_through_a_file(run, here, ending):
    odd_file(here / "odd.csv")
    run("fit", "odd.csv", "-o", "odd.corml")
    expected = {(one["user"], item["item"]) for one in run("recommend", "odd.corml", "--all", "--json").json
              for item in one["items"]}  # fmt: skip
    assert run("recommend", "odd.corml", "--all", "--out", f"lists.{ending}").code == 0
    if ending == "json":
        import json

        lists = json.loads((here / "lists.json").read_text())
        assert {(one["user"], item["item"]) for one in lists for item in one["items"]} == expected
        return
    back = corml.load(f"lists.{ending}", user="user", item="item", rating=False)
    assert set(zip(back.users.labels[back.user], back.items.labels[back.item], strict=True)) == expected


def fingerprint(run, path, *options):
    """Of the data, and of nothing else."""
    return run("data", "split", path, "parts.split", "--json", *options).json["procedure"]["data"]


def test_rows_14_and_15_marks_and_line_ends_do_not_change_the_data(run, here):
    lines = GOOD.splitlines()
    (here / "lf.csv").write_text(GOOD)
    variants = {
        "crlf": "\r\n".join(lines) + "\r\n",
        "cr": "\r".join(lines) + "\r",
        "open": "\n".join(lines),
        "mark": "\ufeff" + GOOD,
    }
    for name, text in variants.items():
        (here / f"{name}.csv").write_text(text, newline="", encoding="utf-8")
        assert fingerprint(run, f"{name}.csv") == fingerprint(run, "lf.csv"), name


def test_row_17_an_extreme_compression_ratio_is_refused_unless_allowed(run, here, monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 100_000)
    monkeypatch.setattr("corml.data.formats._guard.BOMB_RATIO", 100)
    monkeypatch.setattr("corml.data.formats._files.CHUNK", 10_000)
    (here / "bomb.csv.gz").write_bytes(gzip.compress(b"user,item\n" + b"u,i\n" * 500_000))
    refused = run("data", "info", "bomb.csv.gz")
    assert refused.code == DATA
    assert "--allow-expansion" in refused.err
    assert run("data", "info", "bomb.csv.gz", "--allow-expansion").code == 0


def test_rows_18_and_19_repeated_pairs_count_once_and_are_reported(run, here):
    (here / "once.csv").write_text("user,item,rating\na,x,5\nb,x,4\nb,y,4\n")
    (here / "twice.csv").write_text("user,item,rating\na,x,1\na,x,5\nb,x,4\nb,y,4\nb,y,4\n")
    facts = run("data", "info", "twice.csv", "--json").json["facts"]
    assert (facts["repeated rows"], facts["pairs with differing ratings"]) == (2, 1)
    assert fingerprint(run, "once.csv", "--at-least", "4") == fingerprint(run, "twice.csv", "--at-least", "4")


DEGENERATE = {
    "20 one interaction": "a,x\n",
    "20 one user": "a,x\na,y\na,z\n",
    "20 one item": "a,x\nb,x\nc,x\n",
    "21 everybody has everything": "".join(f"{u},{i}\n" for u in "abc" for i in "xyz"),
    "24 two identical items": "a,x\na,y\nb,x\nb,y\nc,z\nc,x\nc,y\n",
    "24 disconnected": "a,x\na,y\nb,x\nb,y\nc,p\nc,q\nd,p\nd,q\n",
    "24 rank one": "".join(f"{u},{i}\n" for u in "abcd" for i in "wxyz"),
}


@pytest.mark.parametrize("rows", DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.parametrize("setting", ["scale=1", "partition_ratio=0.6", "filter=factored"])
def test_rows_20_to_24_tiny_and_degenerate_data_give_finite_lists(run, here, rows, setting):
    one_item = len({row.partition(",")[2] for row in rows.split()}) == 1
    settings = ["--set", "partition_ratio=1" if one_item and "ratio" in setting else setting]
    (here / "tiny.csv").write_text("user,item\n" + rows)
    assert run("fit", "tiny.csv", "-o", "m.corml", "--set", "rank=256", *settings).code == 0
    users, items = run("inspect", "m.corml", "--json").json["shape"]
    assert run("inspect", "m.corml", "--json").json["notes"]["plan"]["rank"] <= min(users, items)
    for one in run("recommend", "m.corml", "--all", "--json").json:
        assert all(abs(item["score"]) < 1e6 for item in one["items"])
        assert len(one["items"]) == 10 or "exhausted" in one["reason"]


@pytest.mark.parametrize("rows", DEGENERATE.values(), ids=DEGENERATE)
def test_rows_20_to_26_they_are_evaluated_or_refused_before_anything_is_written(run, here, rows):
    (here / "tiny.csv").write_text("user,item\n" + rows)
    fitted = run("fit", "tiny.csv", "-o", "m.corml", "--split", "ratio")
    if fitted.code:
        assert fitted.code == DATA
        assert "No user can be evaluated" in fitted.err
        assert os.listdir(here) == ["tiny.csv"]
    else:
        evaluated = run("evaluate", "m.corml", "--json").json
        assert all(0 <= evaluated["metrics"][name] <= 1 for name in ("ndcg@10", "recall@10", "coverage@10"))


def test_row_22_items_without_train_pairs_stay_in_the_catalogue(run, here):
    rows = "".join(f"u{n},i{n % 5}\nu{n},rare{n}\n" for n in range(12))
    (here / "cold.csv").write_text("user,item\n" + rows)
    result = run("data", "split", "cold.csv", "parts.split", "--json").json
    assert result["counts"]["cold items"] > 0
    fitted = run("fit", "cold.csv", "-o", "m.corml", "--split", "ratio", "--set", "partition_ratio=0.3", "--json")
    assert fitted.code == 0
    assert fitted.json["items"] == 17


def test_rows_25_and_26_unknown_users_and_items_in_a_test_file_are_counted_and_left_out(run, here, shop):
    (here / "train.csv").write_text((shop / "ratings.csv").read_text())
    (here / "test.csv").write_text("user,item\nu1,never seen\nnobody,i1\n" + "".join(f"u2,i{n}\n" for n in range(25)))
    outcome = run("evaluate", shop / "all.corml", "--train", "train.csv", "--test", "test.csv", "--json")
    assert outcome.code == 0
    assert outcome.json["users"] == 1
    assert sum(outcome.json["notes"].values()) >= 2


def test_row_28_swapped_columns_are_suspected(run, here):
    (here / "swapped.csv").write_text("user,item\n" + "".join(f"u{n % 2},i{n}\n" for n in range(150)))
    assert "swapped?" in run("fit", "swapped.csv", "-o", "m.corml").err


def test_row_29_shuffled_rows_and_columns_give_the_same_lists(run, here):
    rows = [f"u{n % 13},i{(n * n) % 11}" for n in range(120)]
    (here / "a.csv").write_text("user,item\n" + "\n".join(rows))
    random.Random(1).shuffle(rows)
    turned = [",".join(reversed(row.split(","))) for row in rows]
    (here / "b.csv").write_text("item,user\n" + "\n".join(turned))
    for name in "ab":
        run("fit", f"{name}.csv", "-o", f"{name}.corml")
    first, second = ({one["user"]: one["items"] for one in run("recommend", f"{name}.corml", "--all", "-k", 3,
                                                               "--json").json} for name in "ab")  # fmt: skip
    for user, items in first.items():
        scores = [[item["score"] for item in listed] for listed in (items, second[user])]
        assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_row_30_a_file_that_changes_while_it_is_read_is_refused(run, here, monkeypatch):

    (here / "growing.csv.gz").write_bytes(GZ)
    check = _guard.Budget.check

    def appended(budget, size):
        with (here / "growing.csv.gz").open("ab") as file:
            file.write(b"more")
        check(budget, size)

    monkeypatch.setattr(_guard.Budget, "check", appended)
    outcome = run("fit", "growing.csv.gz", "-o", "m.corml")
    assert outcome.code == DATA
    assert "changed while it was being read" in outcome.err
    assert not (here / "m.corml").exists()


def test_rows_31_and_32_numbers_of_a_parquet_file_are_the_texts_of_a_csv_file(run, here):
    users, items = [1, 2, 2, 3], [2**53 + 1, 2**53 + 1, 7, 7]
    (here / "a.parquet").write_bytes(parquet(user=users, item=items))
    (here / "a.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in zip(users, items, strict=True)))
    assert fingerprint(run, "a.parquet") == fingerprint(run, "a.csv")


@pytest.mark.parametrize("words", [["fit", "a.csv", "-o", "m.corml"], ["data", "convert", "a.csv", "b.csv"]])
def test_row_34_an_interrupt_leaves_nothing_behind(run, here, monkeypatch, words):
    def stop(*_, **__):
        raise KeyboardInterrupt

    (here / "a.csv").write_text(GOOD)
    monkeypatch.setattr("corml.data._load.gather", stop)
    outcome = run(*words)
    assert outcome.code == 75
    assert os.listdir(here) == ["a.csv"]


def test_work_that_does_not_fit_in_memory_is_refused_before_it_begins(run, here, monkeypatch):
    (here / "a.csv").write_text(GOOD)
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 100)
    outcome = run("fit", "a.csv", "-o", "m.corml")
    assert outcome.code == REFUSED
    assert os.listdir(here) == ["a.csv"]


@pytest.mark.parametrize("content", [b"", b"no model at all", b"\x80\x04\x95 pickle", GZ])
@pytest.mark.parametrize(
    "words", ["recommend {} -u a", "similar {} x", "explain {} x -u a", "evaluate {}", "verify {}", "inspect {}"]
)
def test_a_foreign_model_file_is_rejected_by_every_command(run, here, words, content):
    (here / "m.corml").write_bytes(content)
    outcome = run(*words.format("m.corml").split())
    assert outcome.code == FOREIGN
    assert "'m.corml'" in outcome.err
