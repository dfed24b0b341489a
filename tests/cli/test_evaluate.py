"""corml evaluate and verify: metrics that can be reproduced, and warnings where they flatter."""

import polars as pl
import pytest

import corml
from corml.persistence.container import pack, read

SPLITS = {
    "ratio": ["--split-set", "seed=7", "--split-set", "shares=.7,.1,.2"],
    "authors": [],
    "k-fold": ["--split-set", "fold=2", "--split-set", "valid_fold=1"],
    "leave-last": ["--split-set", "n=2", "--split-set", "n_valid=1"],
    "temporal": [],
    "new-users": ["--split-set", "given=0.5", "--split-set", "shares=.6,.2,.2"],
}


@pytest.mark.parametrize("how", SPLITS)
def test_every_split_is_reproduced_from_what_the_model_file_recorded(run, here, shop, how):
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    given = ["--split", how, *SPLITS[how], "--at-least", "2", "--set", "rank=4"]
    fitted = run("fit", "ratings.csv", "-o", "m.corml", *given, "--json").json
    evaluated = run("evaluate", "m.corml", "--json")
    assert evaluated.json["metrics"] == pytest.approx(fitted["metrics"])
    assert "warning: the model" not in evaluated.err
    verified = run("verify", "m.corml")
    assert verified.code == 0
    assert "verified: the data, the split and every metric are the same" in verified.out
    assert run("verify", "m.corml", "--json").json == {"same": True, "differs": [], "metrics": fitted["metrics"]}


def test_a_model_without_its_users_is_not_suspected_on_the_split_it_was_fitted_on(run, here, shop):
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    assert run("fit", "ratings.csv", "-o", "m.corml", "--split", "ratio", "--no-history").code == 0
    assert "warning: the model" not in run("evaluate", "m.corml").err
    other = run("evaluate", "m.corml", "--split-set", "seed=1")
    assert "warning: the model was not fitted on the train part of this split" in other.err


def test_given_moments_are_reproduced(run, here, shop):
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    given = ["--split", "temporal", "--split-set", "moments=1300,1400"]
    assert run("fit", "ratings.csv", "-o", "m.corml", *given).code == 0
    assert run("verify", "m.corml").code == 0


def test_a_moment_may_be_earlier_than_any_other(run, here):
    rows = [f"u{n % 6},i{n % 5},{0 if n < 20 else n}" for n in range(30)]
    (here / "a.csv").write_text("user,item,time\n" + "\n".join(dict.fromkeys(rows)))
    result = run("data", "split", "a.csv", "a.split", "--split", "temporal", "--split-set", "moments=1", "--json")
    assert result.json["procedure"]["moments"] == [1.0]


def test_data_are_found_beside_the_model_from_another_folder(run, here, shop, monkeypatch):
    (here / "work").mkdir()
    (here / "elsewhere").mkdir()
    (here / "work" / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    monkeypatch.chdir(here / "work")
    run("fit", "ratings.csv", "-o", "m.corml", "--split", "ratio", "--at-least", "2")
    monkeypatch.chdir(here / "elsewhere")
    assert run("verify", "../work/m.corml").code == 0
    (here / "work" / "ratings.csv").rename(here / "moved.csv")
    lost = run("verify", "../work/m.corml")
    assert lost.code == 3
    assert "'ratings.csv' recorded in '../work/m.corml' are not here: name the file after the model" in lost.err
    assert run("verify", "../work/m.corml", "../moved.csv").code == 0


def test_missing_titles_do_not_matter_to_metrics(run, here, shop):
    for name in ("ratings.csv", "titles.csv"):
        (here / name).write_text((shop / name).read_text())
    run("fit", "ratings.csv", "-o", "m.corml", "--split", "ratio", "--titles", "titles.csv")
    (here / "titles.csv").unlink()
    assert run("verify", "m.corml").code == 0


def test_options_of_loading_that_are_not_given_are_as_recorded(run, here, shop):
    renamed = (shop / "ratings.csv").read_text().replace("user,item", "who,what")
    (here / "renamed.csv").write_text(renamed)
    assert run("verify", shop / "split.corml", "renamed.csv", "--user", "who", "--item", "what").code == 0
    assert run("verify", shop / "split.corml", "renamed.csv", "--user", "who", "--item", "what", "--at-least", 1).code


def test_verify_notices_changed_data(run, here, shop):
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text() + "u1,brand new,5,1200\nu2,brand new,5,1\n")
    outcome = run("verify", shop / "split.corml", "ratings.csv", "--json")
    assert outcome.code == 3
    assert outcome.json["same"] is False
    assert {"data", "split"} & set(outcome.json["differs"])
    assert "differ from what it recorded" in outcome.err


def test_verify_notices_another_order_of_rows_where_the_order_matters(run, here, shop):
    first, *rows = (shop / "ratings.csv").read_text().splitlines()
    (here / "ratings.csv").write_text("\n".join([first, *rows]))
    run("fit", "ratings.csv", "-o", "m.corml", "--split", "authors")
    (here / "ratings.csv").write_text("\n".join([first, *reversed(rows)]))
    outcome = run("verify", "m.corml")
    assert outcome.code == 3
    assert "order of rows" in outcome.err


def test_verify_notices_figures_that_were_changed(run, here, shop):
    contents = read(shop / "split.corml")
    facts = {name: value for name, value in contents.meta.items() if name != "format"}
    facts["evaluation"]["metrics"]["ndcg@10"] += 0.01
    (here / "flattered.corml").write_bytes(pack(contents.arrays, facts))
    outcome = run("verify", "flattered.corml", shop / "ratings.csv")
    assert outcome.code == 5
    assert "does not verify: ndcg@10 differ" in outcome.err


def test_there_must_be_something_to_verify_and_something_to_evaluate_on(run, here, shop, data):
    assert "has no metrics to verify" in run("verify", shop / "all.corml").err
    assert "say how to split" in run("evaluate", shop / "all.corml").err
    corml.Popularity().fit(data).save("frame.corml")
    assert "does not say which data" in run("evaluate", "frame.corml", "--split", "ratio").err


def test_parts_made_elsewhere_cannot_be_reproduced(run, here, data):
    from corml.splits import ready_made

    split = corml.split(data, "ratio")
    joined = ready_made(split.train, split.valid, split.test)
    model = corml.Popularity().fit(joined.train)
    model.save("m.corml", evaluation=corml.evaluate(model, joined).record())
    outcome = run("verify", "m.corml")
    assert outcome.code == 2
    assert "a precomputed split" in outcome.err


def test_a_model_fitted_on_held_out_pairs_gets_a_warning(run, shop):
    outcome = run("evaluate", shop / "all.corml", "--split", "ratio", "-m", "ndcg@10")
    assert outcome.code == 0
    assert "warning: the model learned from" in outcome.err
    assert "flatter" in outcome.err
    other = run("evaluate", shop / "split.corml", "--split-set", "seed=99", "--json")
    assert "warning: the model learned from" in other.err
    assert other.json["procedure"]["seed"] == 99


def test_without_histories_the_warning_says_it_may_have(run, here, shop):
    run("fit", shop / "ratings.csv", "-o", "private.corml", "--no-history")
    assert "it may have learned" in run("evaluate", "private.corml", "--split", "ratio").err


def test_ready_made_parts_are_evaluated(run, here, shop):
    lines = (shop / "ratings.csv").read_text().splitlines()
    head, rows = lines[0], lines[1:]
    parts = {"train": rows[::2], "valid": rows[1::4], "test": rows[3::4]}
    for name, part in parts.items():
        (here / f"{name}.csv").write_text("\n".join([head, *part]))
    run("fit", "train.csv", "-o", "m.corml")
    files = ["--train", "train.csv", "--valid", "valid.csv", "--test", "test.csv"]
    test, valid = (run("evaluate", "m.corml", *files, "--part", part, "--json") for part in ("test", "valid"))
    assert test.json["metrics"] != valid.json["metrics"]
    assert "warning: the model" not in test.err
    assert run("evaluate", "m.corml", *files[:2], *files[4:], "-m", "recall@3").code == 0


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_every_users_values_go_to_a_file(run, here, shop, ending):
    given = ["-m", "ndcg@10,recall@5", "--per-user", f"values.{ending}", "--json"]
    outcome = run("evaluate", shop / "split.corml", shop / "ratings.csv", *given)
    frame = (pl.read_parquet if ending == "parquet" else pl.read_csv)(here / f"values.{ending}")
    assert frame["ndcg@10"].mean() == pytest.approx(outcome.json["metrics"]["ndcg@10"])
    assert f"wrote values.{ending}: {len(frame)} users" in outcome.err


def test_the_table_has_a_row_for_each_metric_and_intervals(run, shop):
    shown = run("evaluate", shop / "split.corml", shop / "ratings.csv", "-m", "ndcg@5,ndcg@10,gini@10").out
    assert [line.split()[0] for line in shown.splitlines()[:3]] == ["@5", "ndcg", "gini"]
    assert "95% interval over users" in shown


@pytest.mark.parametrize(
    ("words", "code", "fragment"),
    [
        (["-m", "ndgc@10"], 2, "did you mean 'ndcg'"),
        (["-m", "ndcg@zero"], 2, "got 'zero'"),
        (["--part", "train"], 2, "--part must be test or valid"),
        (["--per-user", "values.xls"], 2, "must end in .parquet, .csv or .tsv"),
        (["--per-user", "none/values.csv"], 3, "create it first"),
        (["--train", "a.csv"], 2, "needs at least --train and --test"),
        (["--valid", "a.csv"], 2, "needs at least --train and --test"),
        (["b.csv", "--train", "a.csv", "--test", "a.csv"], 2, "not both"),
        (["--train", "a.csv", "--test", "a.csv", "--split", "ratio"], 2, "not both"),
        (["--split-set", "sed=3"], 2, "did you mean 'seed'"),
        (["--split", "rotio"], 2, "did you mean 'ratio'"),
    ],
)
def test_a_mistake_is_named_before_the_data_are_read(run, here, shop, monkeypatch, words, code, fragment):
    monkeypatch.setattr("corml.cli._work.corml.load", lambda *_, **__: pytest.fail("the data were read"))
    outcome = run("evaluate", shop / "split.corml", *words)
    assert outcome.code == code
    assert fragment in outcome.err


def test_moments_of_dates_are_given_as_dates(run, here):
    rows = [f"u{n % 6},i{n % 5},2024-01-{n + 1:02}" for n in range(30)]
    (here / "a.csv").write_text("\n".join(["user,item,time", *rows]))
    given = ["a.csv", "a.split", "--split", "temporal", "--split-set"]
    result = run("data", "split", *given, "moments=2024-01-11,2024-01-21", "--json")
    assert result.json["procedure"]["moments"] == [1_704_931_200.0, 1_705_795_200.0]
    refused = run("data", "split", *given, "moments=noon")
    assert refused.code == 2
    assert "or seconds since 1970" in refused.err
