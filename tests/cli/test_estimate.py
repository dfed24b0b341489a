"""corml plan: what a fit on a store will take; corml fit STORE --plan: its stages."""

import json

import pytest

import corml
from corml.outofcore.fit import estimate
from support import random_interactions

SHAPE = ("--interactions", "1e9", "--items", "1e6", "--users", "1e8")


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch):
    """A nanosecond for everything, so that what is printed is always the same."""
    same = dict.fromkeys(estimate.RATES, 1e-9)
    monkeypatch.setattr(estimate, "measure_rates", lambda items: same)


@pytest.fixture
def store(tmp_path):
    random_interactions(0, 300, 120, 6).to_frame().write_parquet(tmp_path / "pairs.parquet")
    corml.build_store(tmp_path / "pairs.parquet", tmp_path / "shop.store")
    return str(tmp_path / "shop.store")


def test_a_table_and_a_sentence_are_printed(run, tmp_path):
    outcome = run("plan", *SHAPE, "--nodes", "32", "--cores", "16")
    assert outcome.code == 0
    assert "assumed: user skew 2, distinct 0.5" in outcome.out
    assert "documented 0.00 µs a row" in outcome.out
    for stage in (
        "read and encode",
        "matrix",
        "filter selection: V",
        "candidates",
        "solve",
        "pricing",
        "lists for all users",
    ):
        assert sum(line.strip().startswith(f"{stage}  ") for line in outcome.out.splitlines()) == 1
    last = outcome.out.strip().splitlines()[-1]
    assert last.startswith("About ")
    assert "on 32 nodes of 16 cores" in last
    assert "(estimated)" in last
    assert not list(tmp_path.iterdir())


def test_json_is_valid_and_says_that_it_is_estimated(run):
    found = json.loads(run("plan", *SHAPE, "--nodes", "4", "--cores", "2", "--json").out)
    assert found["label"] == "estimated"
    assert {stage["label"] for stage in found["stages"]} == {"estimated"}
    assert found["counts"]["interactions"] == 10**9
    assert (found["nodes"], found["cores"]) == (4, 2)
    assert found["seconds"] == pytest.approx(sum(stage["seconds"] for stage in found["stages"]))
    assert found["counts"]["assumed"]
    assert found["unevenness"]["user_skew"] == pytest.approx(2)
    assert found["sentence"].endswith("GiB.")


def test_settings_and_assumptions_are_followed(run):
    how = ("--rank", "64", "--candidates", "50", "--set", "adapt=false", "--user-skew", "5")
    found = json.loads(run("plan", *SHAPE, *how, "--json").out)
    assert (found["counts"]["rank"], found["counts"]["candidates"]) == (64, 50)
    assert found["counts"]["visits"] == pytest.approx(5e10)
    assert not any(stage["name"].startswith("filter selection") for stage in found["stages"])


def test_a_store_is_counted_and_left_alone(run, store, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    outcome = run("plan", store)
    assert outcome.code == 0
    assert "\ncounted: user skew" in outcome.out
    assert f"{len(corml.Store(store)):,} interactions of 300 users" in outcome.out
    assert sorted(tmp_path.rglob("*")) == before


def test_a_chart_is_written(run, tmp_path):
    path = tmp_path / "plan.svg"
    assert run("plan", *SHAPE, "--nodes", "2", "--chart", str(path)).out.endswith(
        f"wrote {path}: the estimated time of each stage\n"
    )
    text = path.read_text("utf-8")
    assert text.startswith("<svg")
    for word in ("lists for all users", "read and encode", "Estimated time of each stage", "hours"):
        assert word in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((), "Give a store, or --interactions, --items and --users"),
        ((*SHAPE[:2], "--items", "many", *SHAPE[4:]), "--items takes a whole number such as 1e6, from 1 to 1e15; got "),
        ((*SHAPE[:2], "--items", "1.5", *SHAPE[4:]), "--items takes a whole number"),
        ((*SHAPE[:2], "--items", "nan", *SHAPE[4:]), "--items takes a whole number"),
        (("--interactions", "1e9", "--items", "10", "--users", "10"), "10 users have at most 100 pairs with 10 items"),
        ((*SHAPE, "--nodes", "0"), "--nodes must be a whole number from 1"),
        ((*SHAPE, "--distinct", "2"), "--distinct must be above 0, up to 1; got 2"),
        ((*SHAPE, "--rank", "-4"), "rank of CoRML must be"),
        ((*SHAPE, "--chart", "plan.png"), "A chart is written as .svg; got "),
        (("nowhere.store",), "'nowhere.store' is not a store"),
    ],
)
def test_bad_input_gets_one_clear_sentence(run, given, message):
    outcome = run("plan", *given)
    assert outcome.code in (2, 3)
    assert outcome.out == ""
    (line,) = [line for line in outcome.err.splitlines() if line.startswith("error")]
    assert message in line


def test_a_store_and_numbers_are_refused_together(run, store):
    assert "A store has its own numbers" in run("plan", store, "--items", "5").err


# --- corml fit STORE -------------------------------------------------------------------------------------------------


def test_the_plan_of_a_fit_on_a_store_has_its_stages(run, store):
    outcome = run("fit", store, "--plan")
    assert outcome.code == 0
    assert "worker bytes" in outcome.out
    for stage in ("matrix", "V", "candidates", "solve"):
        assert any(line.startswith(f"{stage} ") for line in outcome.out.splitlines())
    facts = json.loads(run("fit", store, "--plan", "--json").out)
    assert [stage["name"] for stage in facts["stages"]][:2] == ["matrix", "plan"]
    assert facts["tasks"] == sum(stage["runs"] * stage["tasks"] for stage in facts["stages"])


def test_a_fit_on_a_store_tells_its_plan_first(run, store, tmp_path):
    out = str(tmp_path / "m.corml")
    told = run("fit", store, "--out", out).err
    assert told.startswith("plan: ")
    assert "tasks; the driver needs" in told
    columns, *rows = told.splitlines()[1:]
    assert columns.split() == ["stage", "rounds", "tasks", "work", "read", "written", "worker"]
    assert [
        stage for stage in ("matrix", "V", "candidates", "solve") if any(row.startswith(f"{stage} ") for row in rows)
    ]
    assert "plan:" not in run("--quiet", "fit", store, "--out", out).err
