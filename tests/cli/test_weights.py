"""Strength of interactions on the command line and in settings files."""

import random

import pytest

import corml

KINDS = {"view": 1, "cart": 3, "buy": 10}


@pytest.fixture
def events(here):
    rng = random.Random(4)
    lines = ["user,item,type,quantity,time"]
    for user in range(40):
        for item in rng.sample(range(20), 8):
            kind = rng.choice(["view", "view", "cart", "buy", "return"])
            lines.append(f"u{user},i{item},{kind},{rng.randint(1, 4)},2024-0{rng.randint(1, 9)}-01")
    (here / "events.csv").write_text("\n".join(lines) + "\n")
    return "events.csv"


FLAGS = ["--event", "type", "--weights", "view=1,cart=3,buy=10", "--negative", "return", "--half-life", "90d"]
FLAGS += ["--weight", "quantity", "--transform", "log1p"]


def same_as_in_python(path):
    data = corml.load(
        "events.csv",
        event="type",
        weights=KINDS,
        negative={"return"},
        half_life="90d",
        weight="quantity",
        transform="log1p",
    )
    fitted = corml.read_model(path).fitted_
    assert fitted.fingerprint == data.fingerprint
    assert fitted.weights is not None
    return fitted


def test_flags_say_what_python_says(run, here, events):
    outcome = run("fit", events, *FLAGS, "--model", "ease", "-o", "m.corml")
    assert outcome.code == 0
    assert "note: weights: from " in outcome.err
    assert "not learned from, only seen" in outcome.err
    fitted = same_as_in_python("m.corml")
    assert fitted.source["options"]["weights"] == KINDS
    assert fitted.source["options"]["negative"] == ["return"]


def test_a_settings_file_says_it_too(run, here, events):
    (here / "fit.toml").write_text(
        '[data]\nsource = "events.csv"\nevent = "type"\nweights = {view = 1, cart = 3, buy = 10}\n'
        'negative = ["return"]\nhalf_life = "90d"\nweight = "quantity"\ntransform = "log1p"\n'
        '[model]\nname = "ease"\n'
    )
    assert run("fit", "--settings", "fit.toml", "-o", "m.corml").code == 0
    same_as_in_python("m.corml")


@pytest.mark.parametrize("model", ["corml", "ease", "item-knn"])
def test_weighted_fits_are_measured_refitted_and_verified(run, here, events, model):
    fitted = run("fit", events, *FLAGS, "--model", model, "--split", "ratio", "-o", "m.corml", "--json").json
    assert run("verify", "m.corml", "--json").json["metrics"] == fitted["metrics"]
    assert run("evaluate", "m.corml", "--json").json["metrics"] == fitted["metrics"]
    assert run("recommend", "m.corml", "--all", "-o", "lists.csv").code == 0
    rated = corml.load(events, rating=False)
    known = set(zip(rated.users.labels[rated.user], rated.items.labels[rated.item], strict=True))
    lines = [tuple(line.split(",")) for line in (here / "lists.csv").read_text().splitlines()[1:]]
    assert not known & {(user, item) for user, _, item, *_ in lines}


def test_a_model_that_cannot_says_so_in_one_line(run, here, events):
    outcome = run("fit", events, *FLAGS, "--model", "popularity", "-o", "m.corml")
    assert outcome.code == 0
    assert "warning: popularity cannot learn from weights: every interaction counts alike." in outcome.err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (
            ["--event", "type", "--weights", "view"],
            2,
            "--weights needs a number for 'view': write, for example, view=1",
        ),
        (["--event", "type", "--weights", "view=1"], 3, "events of a kind without a weight: "),
        (["--half-life", "ever"], 2, "half_life must be a length of time such as '30d'"),
        (["--weights", "view=1"], 2, "name their column with --event"),
    ],
)
def test_a_mistake_is_one_sentence(run, here, events, words, code, sentence):
    outcome = run("fit", events, *words, "-o", "m.corml")
    assert outcome.code == code
    assert sentence in outcome.err
