"""corml recommend, similar, explain, inspect: asking a model file."""

import json
import os

import polars as pl
import pytest

import corml
from corml.outofcore.lists import sizes
from corml.recommend.text import ids


def test_lists_are_printed_with_titles(run, shop):
    printed = run("recommend", shop / "all.corml", "-u", "u1", "-k", "3").out.splitlines()
    assert printed[0].split() == ["user", "rank", "item", "score", "title"]
    assert [line.split()[:2] for line in printed[2:5]] == [["u1", "1"], ["u1", "2"], ["u1", "3"]]
    assert all("Thing number" in line for line in printed[2:5])


def test_json_has_one_entry_per_list_in_the_order_asked_even_for_one_name_twice(run, shop):
    lists = run("recommend", shop / "all.corml", "-u", "u2", "-u", "u1", "-u", "u2", "-k", "4", "--json").json
    assert [one["user"] for one in lists] == ["u2", "u1", "u2"]
    assert all([item["rank"] for item in one["items"]] == [1, 2, 3, 4] for one in lists)
    assert lists[0] == lists[2]


def test_json_says_what_the_model_says(run, shop):
    (one,) = run("recommend", shop / "all.corml", "--history", "i1,i2", "-k", "5", "--json").json
    lists = corml.read_model(shop / "all.corml").recommend(history=[["i1", "i2"]], k=5)
    assert [item["item"] for item in one["items"]] == list(lists.items[0])
    assert [item["title"] for item in one["items"]] == [lists.titles[item] for item in lists.items[0]]


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "json"])
def test_everybodys_lists_go_to_a_file_in_pieces_as_in_one(run, here, shop, monkeypatch, ending):
    monkeypatch.setattr(sizes, "PIECE", 7)
    outcome = run("recommend", shop / "all.corml", "--all", "-o", f"lists.{ending}", "-k", "3", "--json")
    assert outcome.json == {"file": f"lists.{ending}", "lists": 40}
    model = corml.read_model(shop / "all.corml")
    expected = [[row["user"], row["item"]] for row in model.recommend(list(model.users_.labels), k=3).rows()]
    if ending == "json":
        entries = json.loads((here / "lists.json").read_text())
        assert [[one["user"], item["item"]] for one in entries for item in one["items"]] == expected
        return
    readers = {"parquet": pl.read_parquet, "csv": pl.read_csv, "tsv": lambda path: pl.read_csv(path, separator="\t")}
    frame = readers[ending](here / f"lists.{ending}")
    assert frame.columns == ["user", "rank", "item", "score", "title", "source", "reason"]
    assert [list(row) for row in frame.select("user", "item").iter_rows()] == expected


def test_a_folder_gets_the_lists_of_one_file_in_parts(run, here, shop, monkeypatch):
    monkeypatch.setattr(sizes, "PIECE", 7)
    monkeypatch.setattr(sizes, "PIECES", 2)
    question = ["recommend", shop / "all.corml", "--all", "-k", "3", "--exclude", "i1"]
    assert run(*question, "-o", "one.parquet").code == 0
    assert run(*question, "-o", "lists/").out == "wrote lists/: 40 lists in 3 shards\n"
    assert sorted(path.name for path in (here / "lists").glob("part-*")) == [f"part-0000{n}.parquet" for n in range(3)]
    assert pl.read_parquet("lists/*.parquet").equals(pl.read_parquet("one.parquet"))


def test_the_same_command_goes_on_with_the_parts_that_are_missing(run, here, shop, monkeypatch):
    monkeypatch.setattr(sizes, "PIECE", 7)
    monkeypatch.setattr(sizes, "PIECES", 2)
    question = ["recommend", shop / "all.corml", "--all", "-k", "3", "--only", "i1,i2", "--json", "-o"]
    facts = {"folder": "lists/", "lists": 40, "parts": 3, "found": 0, "with_reason": 40}
    assert run(*question, "lists/").json == facts | {"rows": (rows := pl.read_parquet("lists/*.parquet").height)}
    before = {path.name: path.read_bytes() for path in (here / "lists").iterdir()}
    (here / "lists" / "part-00001.parquet").unlink()
    again = run(*question, "lists")  # it is there: no slash is needed
    assert again.json == facts | {"folder": "lists", "rows": rows, "found": 2}
    assert "note: 40 lists are short or not personal; the column reason says why" in again.err
    assert "note: 2 of the 3 shards had been written by an earlier run" in again.err
    assert {path.name: path.read_bytes() for path in (here / "lists").iterdir()} == before


def test_users_of_a_folder_may_be_listed_and_strangers_are_named(run, here, shop):
    outcome = run("recommend", shop / "all.corml", "-u", "u3", "-u", "nobody", "-o", "lists/", "-k", "2")
    assert pl.read_parquet("lists/*.parquet")["user"].to_list() == ["u3", "u3", "nobody", "nobody"]
    assert "1 of the 2 users are not known to the model: 'nobody'" in outcome.err


@pytest.mark.parametrize(
    ("words", "code", "fragment"),
    [
        (["--all", "--max-share", "5%"], 2, "--max-share is a rule for all lists together"),
        (["--history", "i1"], 2, "Lists in a folder are for known users"),
        (["--all", "-k", "4"], 2, "has lists made with k '3', and these would be with k '4'"),
        (["--all", "--seen", "allow", "-k", "3"], 2, "made without seen, and these would be with seen 'allow'"),
    ],
)
def test_what_a_folder_of_lists_cannot_have_is_refused(run, here, shop, words, code, fragment):
    assert run("recommend", shop / "all.corml", "--all", "-k", "3", "-o", "lists/").code == 0
    outcome = run("recommend", shop / "all.corml", *words, "-o", "lists/")
    assert outcome.code == code
    assert fragment in outcome.err


def test_users_and_items_may_come_from_files(run, here, shop):
    (here / "users.txt").write_text("\ufeffu3\r\nu4\n\n", encoding="utf-8", newline="")
    (here / "items.txt").write_text("i1\ni2\n")
    model = shop / "all.corml"
    assert [one["user"] for one in run("recommend", model, "--users", "users.txt", "--json").json] == ["u3", "u4"]
    (one,) = run("recommend", model, "--history", "@items.txt", "--only", "i3,i4", "--json").json
    assert {item["item"] for item in one["items"]} == {"i3", "i4"}
    assert "exhausted" in one["reason"]


def test_what_the_model_does_not_know_is_named(run, shop):
    outcome = run("recommend", shop / "all.corml", "--history", "i1,zzz", "--exclude", "i2,yyy", "-k", "2", "--json")
    assert "does not know 'zzz' (history 1)" in outcome.err
    assert "warning: --exclude: the model does not know 'yyy', and ignores it" in outcome.err
    assert outcome.json[0]["unknown"] == ["zzz"]
    many = run("recommend", shop / "all.corml", "--history", "i1," + ",".join(f"z{n}" for n in range(30)))
    assert "and 20 more" in many.err


def test_reasons_are_printed_one_by_one_for_a_few_lists_and_summed_up_for_many(run, shop):
    model = shop / "all.corml"
    assert "note: u1: exhausted" in run("recommend", model, "-u", "u1", "--only", "i1").err
    assert "note: 40 lists are short or not personal" in run("recommend", model, "--all", "--only", "i1").err


@pytest.mark.parametrize(
    ("words", "code", "fragment"),
    [
        ([], 2, "Say for whom"),
        (["--all", "--history", "i1"], 2, "Say for whom"),
        (["-u", "nobody", "-u", "u1", "--unknown", "error"], 3, "'nobody'"),
        (["-u", "u1", "-k", "0"], 2, "k must be a whole number"),
        (["-u", "u1", "-k", "ten"], 2, "-k"),
        (["--all", "-o", "lists.xls"], 2, "must end in .parquet, .csv, .tsv or .json"),
        (["--all", "-o", "none/lists.csv"], 3, "create it first"),
        (["--users", "none.txt"], 3, "There is no file 'none.txt': check the path"),
        (["--users", "latin.txt"], 3, "'latin.txt' is not UTF-8"),
        (["--users", "users.csv", "-o", "users.csv"], 2, "is the file to read"),
        (["-u", "u1", "--only", "@long.txt"], 3, "'long.txt', line 1 is longer than 1.0 MiB"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused(run, here, shop, words, code, fragment):
    (here / "latin.txt").write_bytes(b"caf\xe9\n")
    (here / "users.csv").write_text("u1\n")
    (here / "long.txt").write_text("i" * (1 << 21))
    outcome = run("recommend", shop / "all.corml", *words)
    assert outcome.code == code
    assert fragment in outcome.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name are of POSIX")
@pytest.mark.parametrize("words", [["--users"], ["--history"], ["-u", "u1", "--only"], ["-u", "u1", "--boost"]])
@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_ids_of_a_pipe_or_a_device_are_refused(run, here, shop, words, name):
    """A device has no end and filled memory; a pipe that nobody writes to was waited for."""
    os.mkfifo(here / "pipe")
    outcome = run("recommend", shop / "all.corml", *words, name if words == ["--users"] else f"@{name}")
    assert outcome.code == 3
    assert f"'{name}' is a pipe or a device: save it to a regular file first" in outcome.err


def test_a_model_without_users_says_so(run, here, shop):
    run("fit", shop / "ratings.csv", "-o", "private.corml", "--no-history")
    for words in (["recommend", "private.corml", "--all"], ["explain", "private.corml", "i1", "-u", "u1"]):
        outcome = run(*words)
        assert outcome.code == 2
        assert "saved without its users: give --history" in outcome.err
    assert run("recommend", "private.corml", "--history", "i1").code == 0
    assert "without the histories" in run("inspect", "private.corml").out


def test_similar_lists_what_goes_with_each_item(run, shop):
    rows = run("similar", shop / "all.corml", "i1", "i2", "-k", "3", "--json").json
    assert [(row["item"], row["rank"]) for row in rows] == [(to, rank) for to in ("i1", "i2") for rank in (1, 2, 3)]
    assert "Thing number" in run("similar", shop / "all.corml", "i1").out
    assert run("similar", shop / "all.corml", "zzz").code == 3


def test_an_explanation_adds_up(run, shop):
    explained = run("explain", shop / "all.corml", "i1", "--history", "i2,i3,zzz", "--json")
    assert sum(part["contribution"] for part in explained.json["contributions"]) == pytest.approx(
        explained.json["score"]
    )
    assert explained.json["unknown"] == ["zzz"]
    assert "does not know 'zzz'" in explained.err
    shown = run("explain", shop / "all.corml", "i1", "-u", "u1", "--top", "2").out.splitlines()
    assert shown[0].startswith("Thing number 1: score ")
    lines = [line for line in shown[3:] if line]
    assert len(lines) == 3
    assert lines[-1].startswith("7 more ")


@pytest.mark.parametrize(
    ("words", "code"),
    [(["i1"], 2), (["i1", "-u", "u1", "--history", "i2"], 2), (["zzz", "-u", "u1"], 3), (["i1", "-u", "nobody"], 3)],
)
def test_an_explanation_needs_one_history_and_a_known_item(run, shop, words, code):
    assert run("explain", shop / "all.corml", *words).code == code


def test_popularity_has_nothing_to_explain(run, here, shop):
    run("fit", shop / "ratings.csv", "-o", "p.corml", "--model", "popularity")
    assert "nothing to explain" in run("explain", "p.corml", "i1", "-u", "u1").err


def test_inspect_shows_settings_split_metrics_and_versions(run, shop):
    shown = run("inspect", "-v", shop / "split.corml").out
    for fragment in (
        "corml model, format 5",
        "evaluation",
        "versions",
        "40 users x 25 items",
        "mix",
        "procedure seed",
        "ndcg",
        "numpy",
        "@10",
    ):
        assert fragment in shown
    facts = run("inspect", shop / "split.corml", "--json").json
    assert facts["evaluation"]["procedure"]["name"] == "ratio"
    assert facts["arrays"]["counts"] == ["int64", 25]
    assert "evaluation" not in run("inspect", "-v", shop / "all.corml").out


def test_inspect_shows_what_a_person_needs_first_and_no_setting_twice(run, shop):
    shown = run("inspect", shop / "split.corml").out
    assert len(shown.splitlines()) < 15
    assert f"fitted on 40 users x 25 items, from {shop / 'ratings.csv'}\n" in shown
    assert "settings: " in shown
    assert "measured on the test set of a ratio split, 40 users:" in shown
    assert "ndcg" in shown
    every = run("inspect", "-v", shop / "all.corml").out
    assert " → " in every  # a setting that was left to the fit, and what it chose
    assert not any(f"\nplan {name} " in every for name in ("rank", "solver", "ridge"))


def test_a_hostile_title_cannot_touch_the_terminal(run, here):
    (here / "a.csv").write_text("user,item\na,x\na,y\nb,y\nb,z\n")
    (here / "titles.csv").write_text('item,title\nx,"\x1b[2Jgone\nerror[data]: forged"\ny,Y\nz,Z\n')
    run("fit", "a.csv", "-o", "m.corml", "--titles", "titles.csv")
    for words in (
        ["explain", "m.corml", "x", "-u", "b"],
        ["recommend", "m.corml", "-u", "b"],
        ["similar", "m.corml", "z"],
    ):
        outcome = run(*words)
        assert "\x1b" not in outcome.out + outcome.err
        assert not any(line.startswith("error[") for line in outcome.out.splitlines())


def test_whitespace_and_nothing_between_commas_are_no_part_of_ids():
    assert ids(" i1,, i2 ,") == ids("i1,i2") == ["i1", "i2"]


def test_unknown_users_get_the_labelled_fallback_and_are_counted(run, here, shop):
    (here / "users.txt").write_text("u3\nghost\nu4\nspook\n")
    outcome = run("recommend", shop / "all.corml", "--users", "users.txt", "-k", "2", "-o", "lists.parquet")
    assert outcome.code == 0
    assert "note: 2 of the 4 users are not known to the model: 'ghost', 'spook'; they get the most" in outcome.err
    frame = pl.read_parquet(here / "lists.parquet")
    assert dict(frame.select("user", "source").unique().iter_rows()) == {
        **dict.fromkeys(("u3", "u4"), "personal"),
        **dict.fromkeys(("ghost", "spook"), "fallback"),
    }
    assert set(frame.filter(source="fallback")["reason"]) == {"most popular items: the model does not know this user"}
    entries = run("recommend", shop / "all.corml", "--users", "users.txt", "--json").json
    assert [one["source"] for one in entries] == ["personal", "fallback"] * 2
    assert (here / "lists.parquet").exists()
    printed = run("recommend", shop / "all.corml", "--users", "users.txt", "-k", "1", "-o", "-").out.splitlines()
    assert printed[0] == "user,rank,item,score,title,source,reason"
    assert printed[1].endswith(",personal,")
    assert printed[2].endswith(",fallback,most popular items: the model does not know this user")


def test_a_misspelt_user_is_named_or_refused(run, shop):
    outcome = run("recommend", shop / "all.corml", "--user", "U1", "-k", "2")
    assert outcome.code == 0
    assert "note: U1: most popular items: the model does not know this user" in outcome.err
    assert "note: none of the users is known to the model: 'U1'" in outcome.err
    assert "warning" not in outcome.err
    refused = run("recommend", shop / "all.corml", "--user", "u1", "--user", "U1", "--unknown", "error")
    assert refused.code == 3
    assert "1 user id is not among the 40 known: 'U1'" in refused.err
    assert run("recommend", shop / "all.corml", "--user", "u1", "--unknown", "skip").code == 2


def test_similar_users_are_listed_with_the_items_that_link_them(run, shop):
    model = corml.read_model(shop / "all.corml")
    rows = run("similar", shop / "all.corml", "--user", "u1", "-k", "3", "--json").json
    assert rows == [{**row, "links": list(row["links"])} for row in model.similar_users(["u1"], k=3).rows()]
    printed = run("similar", shop / "all.corml", "--user", "u1", "-k", "3").out.splitlines()
    assert printed[0].split() == ["user", "rank", "similar", "similarity", "because", "of"]
    assert "Thing number" in printed[2]
    assert run("similar", shop / "all.corml", "--history", "i1,zzz", "-k", "1", "--json").json[0]["user"] == "history 1"
    assert "does not know 'zzz' (--history)" in run("similar", shop / "all.corml", "--history", "i1,zzz").err
    assert (
        "note: history 1: nobody has anything in common" in run("similar", shop / "all.corml", "--history", "zzz").err
    )
    assert "Say similar to what" in run("similar", shop / "all.corml").err
    assert run("similar", shop / "all.corml", "i1", "--user", "u1").code == 2


@pytest.mark.parametrize("out", ["lists.csv", "lists.json"])
def test_lists_that_do_not_fit_in_one_file_are_refused_and_a_folder_is_advised(run, here, shop, monkeypatch, out):
    monkeypatch.setattr("corml.cli.recommend.FEW_ITEMS", 10)
    monkeypatch.setattr("corml.cli.recommend.PER_ITEM_IN_TABLE", 1 << 40)
    monkeypatch.setattr("corml.cli.recommend.PER_ITEM_AS_TEXT", 1 << 40)
    made = run("recommend", shop / "all.corml", "--all", "--out", out)
    assert made.code == 4
    assert "write them into a folder, in the space of a few: --out lists/" in made.err
    assert not (here / out).exists()
    assert run("recommend", shop / "all.corml", "--all", "--out", "lists/").code == 0


def test_why_not_says_it_for_the_options_of_the_list(run, shop):
    model = str(shop / "all.corml")
    listed = run("recommend", model, "--history", "i1,i2", "-k", "9", "--json").json[0]["items"]
    item, options = listed[7]["item"], ("--history", "i1,i2", "-k", "3")
    told = run("why-not", model, item, *options).out.splitlines()
    assert ": below the list: rank 8 of" in told[0]
    assert sum("in the history: rank" in line for line in told) == 3
    found = run("why-not", model, item, *options, "--exclude", item, "--lifts", "0", "--json").json
    assert (found["verdict"], found["rank"], found["lifts"]) == ("excluded", 8, [])
    assert {row["item"] for row in found["contributions"]} == {"i1", "i2"}
    assert run("why-not", model, item).code == 2
    assert run("why-not", model, item, *options, "--seen", "never").code == 2


def test_several_users_may_follow_user_with_commas_between_them(run, shop):
    model = shop / "all.corml"
    assert [one["user"] for one in run("recommend", model, "-u", "u1,u2", "-u", "u3", "--json").json] == [
        *("u1", "u2", "u3")
    ]
    assert [one["user"] for one in run("recommend", model, "-u", "u1,nobody", "--json").json] == ["u1,nobody"]


@pytest.mark.parametrize(
    "words",
    [["recommend"], ["explain", "i1"], ["why-not", "i1"], ["similar"]],
)
def test_a_user_and_a_history_together_are_refused_in_the_same_words(run, shop, words):
    command, *item = words
    outcome = run(command, shop / "all.corml", *item, "--user", "u1", "--history", "i2")
    assert outcome.code == 2
    assert "Say for whom once: either --user or --history." in outcome.err


def test_item_ids_given_as_users_are_told_to_be_items(run, shop):
    outcome = run("recommend", shop / "all.corml", "-u", "i1")
    assert "none of the users is known to the model: 'i1' (these are item ids: --history takes them)" in outcome.err


def test_lists_of_all_users_of_a_large_model_are_written_not_printed(run, shop, monkeypatch):
    monkeypatch.setattr("corml.cli.recommend.MOST_PRINTED", 39)
    refused = run("recommend", shop / "all.corml", "--all")
    assert refused.code == 2
    assert "--all are 40 users: write their lists with --out lists.parquet" in refused.err
    assert run("recommend", shop / "all.corml", "--all", "--out", "-").code == 0
