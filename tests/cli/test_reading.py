"""What loading refuses, drops or ignores, as the command line and settings files say it."""

import pytest

import corml


@pytest.fixture
def dated(here):
    """Data whose last row is dated two centuries late."""
    rows = [f"u{at % 9},i{at % 14},2024-01-{1 + at % 28:02d}" for at in range(150)]
    (here / "dated.csv").write_text("\n".join(["user,item,time", *rows, "u1,i1,2224-01-01"]) + "\n")
    return "dated.csv"


@pytest.mark.parametrize("words", [["data", "info"], ["data", "convert"], ["data", "store"]])
def test_a_time_later_than_now_ends_a_command_with_its_line(run, here, dated, words):
    given = [*words, dated] if words[1] == "info" else [*words, dated, "out.parquet"]
    outcome = run(*given)
    assert outcome.code == 3
    assert "line 152: the time '2224-01-01', 2224-01-01T00:00:00+00:00, is later than now" in outcome.err
    assert "give --now" in outcome.err


def test_bad_times_are_left_out_and_counted_where_that_is_asked_for(run, here, dated):
    outcome = run("data", "convert", dated, "out.csv", "--skip-bad-rows")
    assert outcome.code == 0
    assert "warning: bad rows skipped: 1, the first: 'dated.csv', line 152" in outcome.err
    facts = run("data", "info", dated, "--skip-bad-rows", "--json").json["facts"]
    assert (facts["first time"][:10], facts["last time"][:10]) == ("2024-01-01", "2024-01-28")


def test_now_can_be_said_by_an_option_and_in_a_settings_file(run, here, dated):
    assert run("fit", dated, "--now", "2224-02-01", "--model", "popularity", "-o", "a.corml").code == 0
    options = corml.read_model("a.corml").fitted_.source["options"]
    assert options == {"now": "2224-02-01"}
    for number, now in enumerate(("'2224-02-01'", "2224-02-01", "2224-02-01T00:00:00Z", "8018265600")):
        (here / "fit.toml").write_text(f"[data]\nsource = '{dated}'\nnow = {now}\n[model]\nname = 'popularity'\n")
        assert run("fit", "--settings", "fit.toml", "-o", f"{number}.corml").code == 0
    assert run("data", "store", dated, "store", "--now", "2224-02-01").code == 0
    assert "--now must be a date such as 2024-05-31" in run("data", "info", dated, "--now", "soon").err


def test_an_update_has_a_now_of_its_own(run, here, dated):
    rows = (here / dated).read_text().splitlines()[:-1]
    (here / "old.csv").write_text("\n".join(rows) + "\n")
    (here / "new.csv").write_text("user,item,time\nu1,i9,2024-03-01\nu2,i8,2024-03-02\n")
    assert run("fit", "old.csv", "--now", "2024-02-01", "--model", "item-knn", "-o", "m.corml").code == 0
    assert run("update", "m.corml", "new.csv", "-o", "n.corml").code == 0


def test_a_rating_under_another_name_is_told_of(run, here):
    rows = [f"u{at % 9},i{at % 14},{1 + at % 5}" for at in range(80)]
    (here / "a.csv").write_text("\n".join(["user,item,Bewertung", *rows]) + "\n")
    outcome = run("fit", "a.csv", "--model", "popularity", "-o", "m.corml")
    assert "warning: columns ignored: 'Bewertung' (1 to 5: ratings? use --rating)" in outcome.err
    assert "--no-rating" in outcome.err
    for flags in (["--no-rating"], ["--rating", "Bewertung", "--at-least", "4"]):
        assert "warning" not in run("data", "info", "a.csv", *flags).err


def test_playlists_in_json_lines_are_read_by_commands(run, here):
    lists = [f'{{"playlist": {at}, "tracks": [{at % 5}, {at % 7 + 5}, {at % 3 + 20}]}}' for at in range(40)]
    (here / "p.jsonl").write_text("\n".join(lists) + "\n")
    assert run("fit", "p.jsonl", "--item-lists", "--model", "item-knn", "-o", "m.corml").code == 0
    assert run("recommend", "m.corml", "--user", "7").code == 0
    assert run("data", "store", "p.jsonl", "store", "--item-lists").code == 0
    assert corml.Store("store").interactions().fingerprint == corml.load("p.jsonl", item_lists=True).fingerprint
    assert "--item-lists makes a row of each item" in run("data", "info", "p.jsonl").err


def test_errors_about_titles_and_items_name_their_flag(run, here):
    (here / "a.csv").write_text("user,item\na,x\nb,y\n")
    for flag in ("--titles", "--items"):
        assert f"{flag}: There is no file 'none.csv'" in run("data", "info", "a.csv", flag, "none.csv").err
