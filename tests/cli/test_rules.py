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


def test_rules_mean_what_they_mean_in_python(run, shop, items):
    rules = "--diversity .4 --max-per kind=2 --boost i3=1.5 --boost kind:b=2 --max-share 50%".split()
    printed = run("recommend", shop / "all.corml", "--all", "-k", "4", "--items", items, *rules, "--json").json
    model = corml.read_model(shop / "all.corml").with_items(str(items))
    lists = model.recommend(
        list(model.users_),
        k=4,
        diversity=0.4,
        max_per={"kind": 2},
        boost={"i3": 1.5, "kind": {"b": 2}},
        max_share=0.5,
    )
    assert [[item["item"] for item in one["items"]] for one in printed] == lists.values()
    assert {item["boost"] for one in printed for item in one["items"]} <= {1.0, 1.5, 2.0, 3.0}
    assert any(item["boost"] == 2 for one in printed for item in one["items"])


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
        (["--max-share", "all"], "--max-share 'all' needs a number"),
        (["--max-share", "5"], "max_share must be a share of the lists above 0, up to 1"),
        (["--max-share", "5%"], "max_share 0.05 of 2 lists is less than one list"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(run, shop, words, sentence):
    outcome = run("recommend", shop / "all.corml", "-u", "u1", "-u", "u2", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
