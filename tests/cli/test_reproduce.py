"""corml reproduce on the bundled sample."""

import json
import time

import pytest


def test_one_experiment_shows_a_table_and_writes_files(run, here):
    done = run("reproduce", "table", "--quick", "--models", "popularity,item-knn")
    assert done.code == 0
    assert "MovieLens sample" in done.out
    assert "ItemKNN" in done.out
    assert "a quick run on the bundled sample" in done.out
    assert "four data sets" not in done.out
    assert "not published" not in done.out
    folder = here / "corml-reproduce-quick"
    assert {"table.md", "table.csv", "table.json", "runs"} <= {path.name for path in folder.iterdir()}
    again = run("reproduce", "table", "--quick", "--models", "popularity,item-knn", "--json")
    assert again.json == json.loads((folder / "table.json").read_text("utf-8"))
    assert again.json["provenance"]["command"].endswith("--models popularity,item-knn --json")
    assert {row["model"] for row in again.json["rows"]} == {"popularity", "item-knn"}


@pytest.mark.parametrize("name", ["strong", "leaderboard", "speed"])
def test_an_experiment_runs_for_one_model(run, here, name):
    done = run("reproduce", name, "--quick", "--models", "popularity", "--out", "mine", "--json")
    assert done.code == 0
    assert [row["model"] for row in done.json["rows"]] == [{"speed": "popularity"}.get(name, "Popularity")]
    assert (here / "mine" / f"{name}.csv").exists()


def test_mistakes_have_one_line(run, here, monkeypatch):
    monkeypatch.setenv("CORML_DATA", str(here / "empty"))
    assert "did you mean 'novelty'" in run("reproduce", "novlty").err
    assert run("reproduce", "table", "--quick", "--data", "gowalla").code == 2
    assert run("reproduce", "table", "--data", "gowalla").code == 3
    nothing = run("reproduce", "all", "--data", "gowalla", "--models", "corml")
    assert nothing.code == 3
    assert "not run: table: None of the data are available." in nothing.err


def test_a_failed_fit_has_the_exit_code_of_studies(run, here, monkeypatch):
    import corml

    def broken(self, *given, **more):
        raise RuntimeError("boom")

    monkeypatch.setattr(corml.Popularity, "fit", broken)
    done = run("reproduce", "table", "--quick", "--models", "popularity,item-knn")
    assert done.code == 6
    assert "1 fits failed" in done.err


@pytest.mark.slow
def test_everything_quick_takes_less_than_three_minutes(run, here):
    begun = time.process_time()
    done = run("reproduce", "all", "--quick", "--json")
    assert done.code == 0
    assert time.process_time() - begun < 180
    assert [one["experiment"] for one in done.json] == [
        "table", "novelty", "mix", "weights", "speed", "ablation", "leaderboard", "strong",
    ]  # fmt: skip
    table = {row["model"]: row for row in done.json[0]["rows"] if row["metric"] == "ndcg@10"}
    assert len(table) == 15
    assert table["corml-untouched"]["star"]
    assert len(list((here / "corml-reproduce-quick").glob("*.svg"))) == 3 + 2 + 2 + 1
