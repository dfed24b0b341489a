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
    assert "note: weights of pairs: median " in outcome.err
    assert "not used for training, never recommended" in outcome.err
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
        (["--event", "type", "--weights", "view=1"], 3, "events of a type without a weight: "),
        (["--half-life", "ever"], 2, "half_life must be a length of time such as '30d'"),
        (["--weights", "view=1"], 2, "name their column with --event"),
    ],
)
def test_a_mistake_is_one_sentence(run, here, events, words, code, sentence):
    outcome = run("fit", events, *words, "-o", "m.corml")
    assert outcome.code == code
    assert sentence in outcome.err


def test_what_was_returned_is_explained_with_kind_and_age(run, here, events):
    assert run("fit", events, *FLAGS, "--model", "ease", "-o", "m.corml").code == 0
    model = corml.read_model("m.corml")
    row = int(model.fitted_.negative.pattern.indptr.searchsorted(0, "right")) - 1
    user = model.users_[row]
    item = model.recommend([user], k=1).items[0][0]
    rows = run("explain", "m.corml", item, "--user", user, "--json").json["contributions"]
    assert any(one["kind"] == "return" and one["strength"] < 0 for one in rows)
    shown = run("explain", "m.corml", item, "--user", user)
    assert "strength" in shown.out
    assert "age days" in shown.out


@pytest.mark.parametrize("how", ["flags", "settings"])
def test_ratings_as_strength(run, here, how):
    rng = random.Random(1)
    lines = [f"u{u},i{i},{rng.randint(1, 5)}" for u in range(30) for i in rng.sample(range(20), 6)]
    (here / "r.csv").write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    toml = '[data]\nsource = "r.csv"\nat_least = 4\nrating_strength = true\nlow_ratings = "negative"\n'
    (here / "fit.toml").write_text(toml + '[model]\nname = "ease"\n')
    flags = ["r.csv", "--at-least", "4", "--rating-strength", "--low-ratings", "negative", "--model", "ease"]
    outcome = run("fit", *(flags if how == "flags" else ["--settings", "fit.toml"]), "-o", "m.corml")
    assert outcome.code == 0
    assert "push down what is like them" in outcome.err
    fitted = corml.read_model("m.corml").fitted_
    assert set(fitted.weights) == {1.0, 2.0}
    assert set(fitted.negative.weights) == {1.0, 2.0, 3.0}


@pytest.mark.parametrize("how", ["flags", "settings"])
def test_files_of_one_kind_each(run, here, how):
    rng = random.Random(2)
    for kind, count in (("views", 8), ("orders", 3)):
        pairs = [f"u{u},i{i}" for u in range(40) for i in rng.sample(range(20), count)]
        (here / f"{kind}.csv").write_text("user,item\n" + "\n".join(pairs) + "\n")
    toml = '[data]\nsource = {view = "views.csv", buy = "orders.csv"}\nweights = {view = 1, buy = 10}\n'
    (here / "fit.toml").write_text(toml + '[split]\nhow = "ratio"\n[model]\nname = "ease"\n')
    flags = ["view=views.csv,buy=orders.csv", "--weights", "view=1,buy=10", "--split", "ratio", "--model", "ease"]
    fitted = run("fit", *(flags if how == "flags" else ["--settings", "fit.toml"]), "-o", "m.corml", "--json").json
    assert run("verify", "m.corml", "--json").json["metrics"] == fitted["metrics"]
    data = corml.load({"view": "views.csv", "buy": "orders.csv"}, weights={"view": 1, "buy": 10})
    assert corml.read_model("m.corml").fitted_.fingerprint == data.fingerprint
    assert "is the file to read" in run("fit", *flags, "-o", "views.csv", "--force").err


def test_a_split_file_of_weighted_pairs_is_refitted_with_weights(run, here, events):
    assert run("data", "split", events, "a.split", *FLAGS, "--split", "ratio").code == 0
    assert run("fit", "--split", "a.split", "--model", "ease", "-o", "m.corml").code == 0
    fitted = corml.read_model("m.corml").fitted_
    assert fitted.weights is not None
    assert fitted.negative is not None
