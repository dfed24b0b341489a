"""--targets: judge one event type only."""

import json

import pytest

import corml
from corml.cli._reporting import _samples


def test_the_command_line_judges_one_event_type(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"u{n % 40},i{(n * 7 + n // 9) % 23},{'purchase' if n % 4 == 0 else 'view'}" for n in range(600)]
    (tmp_path / "a.csv").write_text("user,item,event\n" + "\n".join(rows) + "\n")
    words = ["--event", "event", "--split", "ratio", "-m", "ndcg@5"]
    compared = ["compare", "a.csv", *words, "--models", "popularity", "--primary", "ndcg@5", "--json"]
    every, some = run(*compared).json, run(*compared, "--targets", "purchase").json
    assert json.dumps(some) != json.dumps(every)
    assert '"targets": ["purchase"]' in json.dumps(some)
    assert run("fit", "a.csv", *words[:-2], "--targets", "purchase", "--model", "popularity", "-o", "m.corml").code == 0
    again = run("evaluate", "m.corml", "-m", "ndcg@5", "--json")  # as recorded
    assert again.json["procedure"]["targets"] == ["purchase"]
    assert again.json["notes"]["held-out pairs of other event types, not counted as targets"] > 0
    assert "--targets all counts all" in again.err
    whole = run("evaluate", "m.corml", "-m", "ndcg@5", "--targets", "all", "--json")
    assert "targets" not in whole.json["procedure"]
    assert "event types" not in whole.err.replace("more event types", "")
    refused = run("compare", "a.csv", *words, "--targets", "rent")
    assert refused.code == 2
    assert "no event type 'rent'; there is: purchase, view" in refused.err


def test_commands_that_judge_say_how_many_users_and_warn_of_few(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"u{n % 40},i{(n * 7 + n // 9) % 23},{'purchase' if n % 4 == 0 else 'view'}" for n in range(600)]
    (tmp_path / "a.csv").write_text("user,item,event\n" + "\n".join(rows) + "\n")
    few = "warning: Only 10 users of the test part are judged, by events of type 'purchase' alone."
    options = ["--event", "event", "--split", "ratio", "--targets", "purchase"]
    split = run("data", "split", "a.csv", "a.split", *options)
    assert few in split.err
    assert "targets in test, of 10 users who are judged" in split.out
    fitted = run("-q", "fit", "a.csv", *options, "--model", "popularity", "-o", "m.corml")
    assert few in fitted.err  # a warning is shown by a quiet program as well
    assert few in run("evaluate", "m.corml").err
    assert few in run("compare", "a.split", "--models", "popularity").err
    searched = run("tune", "a.split", "--model", "ease", "--trials", "1")
    assert few.replace("test", "valid") in searched.err
    assert "split, 10 users, only events of type 'purchase':" in run("inspect", "m.corml").out


@pytest.mark.parametrize("recorded", [[], ["--targets", "purchase"]], ids=["all", "purchase"])
def test_other_targets_than_recorded_are_judged_with_the_fit_that_was_measured(here, run, recorded):
    rows = [f"u{n % 40},i{(n * 7 + n // 9) % 23},{'purchase' if n % 4 == 0 else 'view'}" for n in range(600)]
    (here / "a.csv").write_text("user,item,event\n" + "\n".join(rows) + "\n")
    words = ["--event", "event", "--split", "ratio", "--model", "ease", "-o", "m.corml"]
    assert run("fit", "a.csv", *words, *recorded).code == 0
    split = corml.split(corml.load("a.csv", event="event"), "ratio")
    model = corml.models.make("ease").fit(split.train)
    for targets in ("view", "purchase", "all"):
        judged = run("evaluate", "m.corml", "-m", "ndcg@5", "--targets", targets, "--json")
        assert judged.json["metrics"] == {"ndcg@5": corml.evaluate(model, split, "ndcg@5", targets=targets)["ndcg@5"]}
        assert "the measured fit on the train set is repeated" in judged.err
        assert "learned from" not in judged.err


def test_cards_of_a_report_mark_targets_only_and_show_users_who_have_some(here, run):
    rows = [f"u{n % 40},i{(n * 7 + n // 9) % 23},{'purchase' if n % 4 == 0 else 'view'}" for n in range(600)]
    (here / "a.csv").write_text("user,item,event\n" + "\n".join(rows) + "\n")
    split = corml.split(corml.load("a.csv", event="event"), "ratio")
    model = corml.models.make("ease").fit(split.train)
    kinds = split.test.kinds
    bought = split.test.where(kinds.having(["purchase"]))
    titles = {user: set(bought.items.labels[bought.matrix[[row]].indices]) for row, user in enumerate(bought.users)}
    shown = _samples(model, split.judging("purchase"), "test")
    assert shown
    for card in shown:
        assert titles[card.name]
        lists = model.recommend([card.name], k=5).items[0]
        assert [pick.held_out for pick in card.picks] == [item in titles[card.name] for item in lists]
    assert any(pick.held_out for card in shown for pick in card.picks)
    every = _samples(model, split, "test")
    assert sum(pick.held_out for card in every for pick in card.picks) > 0
