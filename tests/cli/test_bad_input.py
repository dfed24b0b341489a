"""Bad input on the command line: an exit code, one sentence, and nothing written; or what holds if it is accepted."""

import gzip
import io
import itertools
import os
import random
import time

import polars as pl
import pytest

import corml

HEAD = "user,item,rating,time\n"
GOOD = "user,item\n" + "".join(f"u{n % 40},i{n % 7 + n % 3}\n" for n in range(400))
GZ = gzip.compress(GOOD.encode())
DATA, USAGE, REFUSED, FOREIGN = 3, 2, 4, 5


def parquet(**columns):
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


# One of each kind, as `tests/datasets` has all of them: file, content, options, exit code, and part of the error
REFUSALS = [
    pytest.param("a.csv", "", [], DATA, "no interactions", id="no bytes"),
    pytest.param("a.csv", GOOD, ["--user", "usr"], DATA, "did you mean 'user'", id="misspelt column"),
    pytest.param("a.csv", "1,31,2.5\n1,29,3.0\n", [], DATA, "--no-header", id="advice names the flag"),
    pytest.param("a.csv", "user,item\na,x\nb\n", [], DATA, "line 3", id="short row"),
    pytest.param("a.csv", b"user,item\na,caf\xe9\n", [], DATA, "byte offset 15", id="Latin-1"),
    pytest.param("a.csv.gz", GZ[:-20], [], DATA, "not a whole gzip file", id="cut archive"),
    pytest.param("a.parquet", parquet(user=["a", None], item=["x", "y"]), [], DATA, "row 2: the user", id="null"),
    pytest.param("a.csv", GOOD, ["--k-core", "-1"], USAGE, "--k-core must be a whole number", id="option"),
    pytest.param("a.csv", GOOD, ["--k-core", "two"], USAGE, "--k-core", id="option as text"),
    pytest.param("a.csv", GOOD, ["--at-least", "nan"], USAGE, "--at-least must be a finite", id="NaN"),
]


@pytest.mark.parametrize(("name", "content", "options", "code", "fragment"), REFUSALS)
@pytest.mark.parametrize("words", [["fit", "-o", "model.corml"], ["data", "info"]], ids=["fit", "info"])
def test_bad_data_are_refused_in_one_sentence_and_nothing_is_written(
    run, here, words, name, content, options, code, fragment
):
    (here / name).write_bytes(content.encode() if isinstance(content, str) else content)
    outcome = run(*words, name, *options)
    assert outcome.code == code
    assert fragment in outcome.err
    assert outcome.out == ""
    assert os.listdir(here) == [name]


OUT_OF_RANGE = ["mix=1.5", "mix=strong", "rho=0", "l2=nan", "rank=2.5", "partition_ratio=-1", "tol=2", "filter=sharp"]


@pytest.mark.parametrize("given", OUT_OF_RANGE)
@pytest.mark.parametrize("by", ["--set", "--settings"])
def test_a_setting_out_of_range_is_named_with_its_range(run, here, by, given):
    name, _, value = given.partition("=")
    (here / "a.csv").write_text(GOOD)
    (here / "fit.toml").write_text(f"[model]\n{name} = {value if value[-1].isdigit() else repr(value)}\n")
    outcome = run("fit", "a.csv", "-o", "model.corml", by, given if by == "--set" else "fit.toml")
    assert outcome.code == USAGE
    assert name in outcome.err
    assert "must be" in outcome.err
    assert not (here / "model.corml").exists()


def test_blocks_smaller_than_an_item_are_refused(run, here):
    (here / "a.csv").write_text("user,item\na,x\na,y\nb,y\nb,z\n")
    outcome = run("fit", "a.csv", "-o", "m.corml", "--set", "partition_ratio=0.3")
    assert outcome.code == USAGE
    assert "partition_ratio must be above 1/items" in outcome.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize(("name", "reason"), [("none.csv", "no file"), (".", "a folder"), ("pipe.csv", "pipe")])
def test_what_is_no_readable_file_is_refused_within_a_second(run, here, shop, name, reason):
    os.mkfifo(here / "pipe.csv")
    for words in (["fit", name, "-o", "m.corml"], ["data", "info", name], ["evaluate", shop / "split.corml", name]):
        begun = time.monotonic()
        outcome = run(*words)
        assert time.monotonic() - begun < 1
        assert outcome.code == DATA
        assert reason in outcome.err
        assert f"'{name}'" in outcome.err
    assert os.listdir(here) == ["pipe.csv"]


def test_no_permission_names_the_path(run, here, monkeypatch):
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


def test_bad_rows_can_be_skipped_up_to_one_in_a_hundred(run, here):
    rows = [f"u{n % 30},i{n % 11}" for n in range(300)]
    (here / "some.csv").write_text("user,item\n" + "\n".join([*rows, "short", "u1,"]))
    (here / "many.csv").write_text("user,item\n" + "\n".join([*rows, *["short"] * 9]))
    info = run("data", "info", "some.csv", "--skip-bad-rows", "--json")
    assert info.code == 0
    assert info.json["facts"]["bad rows skipped"] == 2
    assert run("fit", "many.csv", "-o", "m.corml", "--skip-bad-rows").code == DATA
    assert run("fit", "some.csv", "-o", "m.corml").code == DATA
    assert run("fit", "some.csv", "-o", "m.corml", "--skip-bad-rows").code == 0


def test_bad_times_matter_only_to_splits_that_need_times(run, here):
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


def test_odd_ids_are_kept_as_they_are_and_escaped_on_the_screen(run, here):
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
def test_lists_with_odd_ids_survive_the_trip_through_a_file(run, here, ending):
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


def test_marks_and_line_ends_do_not_change_the_data(run, here):
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


DEGENERATE = {
    "20 one interaction": "a,x\n",
    "20 one user": "a,x\na,y\na,z\n",
    "20 one item": "a,x\nb,x\nc,x\n",
    "21 everybody has everything": "".join(f"{u},{i}\n" for u in "abc" for i in "xyz"),
    "24 two identical items": "a,x\na,y\nb,x\nb,y\nc,z\nc,x\nc,y\n",
    "24 disconnected": "a,x\na,y\nb,x\nb,y\nc,p\nc,q\nd,p\nd,q\n",
    "24 rank one": "".join(f"{u},{i}\n" for u in "abcd" for i in "wxyz"),
}


@pytest.mark.parametrize(
    ("rows", "setting"),
    list(
        zip(DEGENERATE.values(), itertools.cycle(["scale=1", "partition_ratio=0.6", "filter=factored"]), strict=False)
    ),
    ids=DEGENERATE,
)
def test_tiny_and_degenerate_data_give_finite_lists(run, here, rows, setting):
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
def test_they_are_evaluated_or_refused_before_anything_is_written(run, here, rows):
    (here / "tiny.csv").write_text("user,item\n" + rows)
    fitted = run("fit", "tiny.csv", "-o", "m.corml", "--split", "ratio")
    if fitted.code:
        assert fitted.code == DATA
        assert "No user can be evaluated" in fitted.err
        assert os.listdir(here) == ["tiny.csv"]
    else:
        evaluated = run("evaluate", "m.corml", "--json").json
        assert all(0 <= evaluated["metrics"][name] <= 1 for name in ("ndcg@10", "recall@10", "coverage@10"))


def test_items_without_train_pairs_stay_in_the_catalogue(run, here):
    rows = "".join(f"u{n},i{n % 5}\nu{n},rare{n}\n" for n in range(12))
    (here / "cold.csv").write_text("user,item\n" + rows)
    result = run("data", "split", "cold.csv", "parts.split", "--json").json
    assert result["counts"]["cold items"] > 0
    fitted = run("fit", "cold.csv", "-o", "m.corml", "--split", "ratio", "--set", "partition_ratio=0.3", "--json")
    assert fitted.code == 0
    assert fitted.json["items"] == 17


def test_unknown_users_and_items_in_a_test_file_are_counted_and_left_out(run, here, shop):
    (here / "train.csv").write_text((shop / "ratings.csv").read_text())
    (here / "test.csv").write_text("user,item\nu1,never seen\nnobody,i1\n" + "".join(f"u2,i{n}\n" for n in range(25)))
    outcome = run("evaluate", shop / "all.corml", "--train", "train.csv", "--test", "test.csv", "--json")
    assert outcome.code == 0
    assert outcome.json["users"] == 1
    assert sum(outcome.json["notes"].values()) >= 2


def test_swapped_columns_are_suspected(run, here):
    (here / "swapped.csv").write_text("user,item\n" + "".join(f"u{n % 2},i{n}\n" for n in range(150)))
    assert "swapped?" in run("fit", "swapped.csv", "-o", "m.corml").err


def test_shuffled_rows_and_columns_give_the_same_lists(run, here):
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


@pytest.mark.parametrize("words", [["fit", "a.csv", "-o", "m.corml"], ["data", "convert", "a.csv", "b.csv"]])
def test_an_interrupt_leaves_nothing_behind(run, here, monkeypatch, words):
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


@pytest.mark.parametrize("content", [b"", b"\x80\x04\x95 pickle"])
@pytest.mark.parametrize(
    "words", ["recommend {} -u a", "similar {} x", "explain {} x -u a", "evaluate {}", "verify {}", "inspect {}"]
)
def test_a_foreign_model_file_is_rejected_by_every_command(run, here, words, content):
    (here / "m.corml").write_bytes(content)
    outcome = run(*words.format("m.corml").split())
    assert outcome.code == FOREIGN
    assert "'m.corml'" in outcome.err
