"""Rules of lists on the command line."""

import polars as pl
import pytest

import corml
from corml.outofcore.lists import sizes
from corml.recommend import rerank


@pytest.fixture
def items(here):
    """A table of items: every third is of a kind."""
    path = here / "items.csv"
    path.write_text("item,kind\n" + "".join(f"i{n},{'abc'[n % 3]}\n" for n in range(25)))
    return path


@pytest.fixture
def dated(run, here, shop, items):
    """A model of events with days and types, and a table of items."""
    rows = [f"u{n % 5},i{n % 23},2024-01-{1 + n % 28:02},{('view', 'buy')[n % 2]}" for n in range(60)]
    (here / "events.csv").write_text("user,item,date,event\n" + "\n".join(rows) + "\n")
    assert run("fit", "events.csv", "-o", "m.corml", "--event", "event", "--items", items).code == 0
    return corml.read_model("m.corml")


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("-k 4", {"k": 4}),
        ("--diversity .4 --max-per kind=2", {"diversity": 0.4, "max_per": {"kind": 2}}),
        ("--boost i3=1.5 --boost kind:b=2", {"boost": {"i3": 1.5, "kind": {"b": 2}}}),
        ("--max-share 50%", {"max_share": 0.5}),
        ("--exclude i1,i2 --exclude-where kind=a", {"exclude": [{"kind": ["a"]}, "i1", "i2"]}),
        ("--only i1,i2,i3,i4", {"only": ["i1", "i2", "i3", "i4"]}),
        ("--only-where kind=a,b --only i1,i2,i3,i4", {"only": {"kind": ["a", "b"], "item": ["i1", "i2", "i3", "i4"]}}),
        ("--seen allow", {"seen": "allow"}),
        ("--seen only --exclude-recent 10d", {"seen": "only", "exclude_recent": "10d"}),
        ("--exclude-recent buy=20d,view=1h", {"exclude_recent": {"buy": "20d", "view": "1h"}}),
        ("--hide-events buy", {"hide_events": ["buy"]}),
    ],
)
def test_flags_mean_what_the_options_mean_in_python(run, dated, flags, options):
    printed = run("recommend", "m.corml", "--all", *flags.split(), "--json").json
    lists = dated.recommend(list(dated.users_), **options)
    assert [[item["item"] for item in one["items"]] for one in printed] == lists.values()
    assert [one["reason"] for one in printed] == list(lists.reasons)
    assert options == {"k": 4} or lists.values() != dated.recommend(list(dated.users_)).values()


def test_a_share_holds_over_all_users_however_many_are_asked_for_at_a_time(run, here, shop, monkeypatch):
    monkeypatch.setattr(sizes, "PIECE", 7)
    monkeypatch.setattr(rerank, "BAND", 9)
    assert run("recommend", shop / "all.corml", "--all", "-k", "3", "--max-share", "20%", "-o", "lists.csv").code == 0
    frame = pl.read_csv(here / "lists.csv")
    assert frame["item"].value_counts()["count"].max() <= 8  # of 40 lists
    assert frame.height == 120


def test_boosts_stand_beside_the_scores(run, here, shop):
    (here / "boosts.txt").write_text("i1=2\ni2=1.5\n")
    outcome = run("recommend", shop / "all.corml", "--history", "i4", "-k", "3", "--boost", "@boosts.txt")
    assert outcome.out.split("\n")[0].split() == ["user", "rank", "item", "score", "boost", "title"]
    run("recommend", shop / "all.corml", "--history", "i4", "--boost", "@boosts.txt", "-o", "lists.csv")
    assert pl.read_csv(here / "lists.csv").columns == [
        "user",
        "rank",
        "item",
        "score",
        "boost",
        "title",
        "source",
        "reason",
    ]
    assert (
        "warning: --boost: the model does not know 'zzz', and ignores it"
        in run("recommend", shop / "all.corml", "-u", "u1", "--boost", "zzz=2").err
    )


def test_lists_that_obey_are_measured(run, shop):
    printed = run("evaluate", shop / "split.corml", "-m", "ndcg@5,diversity@5", "--diversity", "1").out
    assert "lists with diversity 1" in printed
    plain, diverse = (
        run("evaluate", shop / "split.corml", "-m", "diversity@5", "--json", *rules).json
        for rules in ([], ["--diversity", "1"])
    )
    assert diverse["metrics"]["diversity@5"] > plain["metrics"]["diversity@5"]
    assert diverse["rules"] == "diversity 1"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--diversity", "2"], "diversity must be a number from 0"),
        (["--diversity", "much"], "--diversity"),
        (["--max-per", "kind"], "Invalid --max-per 'kind': write, for example, genre=2"),
        (["--max-per", "kind=two"], "Invalid --max-per 'kind=two'"),
        (["--max-per", "kind=2"], "There is no attribute 'kind'"),
        (["--boost", "i1"], "Invalid --boost 'i1': write ID=1.2 or genre:Comedy=1.2"),
        (["--boost", "i1=lots"], "--boost 'i1=lots' needs a number; got 'lots'"),
        (["--boost", "i1=0"], "boost must be a factor above 0"),
        (["--max-share", "all"], "--max-share needs a number or a percentage"),
        (["--max-share", "5"], "max_share must be a share of the lists above 0, up to 1"),
        (["--max-share", "5%"], "max_share 0.05 of 2 lists is less than one list"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(run, shop, words, sentence):
    outcome = run("recommend", shop / "all.corml", "-u", "u1", "-u", "u2", *words)
    assert outcome.code == 2
    assert sentence in outcome.err


def test_a_share_may_be_a_percentage_in_every_option(run, here, shop):
    model = shop / "split.corml"
    lists = [run("recommend", model, "-u", "u1", "--diversity", one, "--json").json for one in ("30%", "0.3")]
    assert lists[0] == lists[1]
    (here / "bad.csv").write_text("user,item\na,x\nb,x\na,y\nshort\n")
    assert run("data", "info", "bad.csv", "--max-bad-rows", "50%").code == 0
    assert "--max-bad-rows needs a number or a percentage" in run("data", "info", "bad.csv", "--max-bad-rows", "x").err
