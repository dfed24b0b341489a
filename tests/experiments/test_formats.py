"""A study as text, Markdown, LaTeX, CSV, JSON and HTML: the same figures in all, and no label breaks a table."""

import csv
import io
import json
import re
from dataclasses import replace

import polars
import pytest

import corml
from corml.errors import UsageError
from corml.experiments.grid import BEST, SECOND, Grid, Value, clean

EVIL = "a|b_c & 100% \\x{} <i>\n*z*"


@pytest.fixture(scope="module")
def study(split, kinds):
    models = {"popularity": "popularity", EVIL: "ease", "dice": kinds["dice"](), "broken": kinds["broken"]()}
    return corml.compare(models, split, metrics="ndcg@10,recall@10,coverage@10", seeds=2, resamples=200)


def test_the_frame_has_a_row_for_each_row_and_metric(study):
    frame = study.to_frame()
    assert len(frame) == len(study) * 3
    row = frame.row(by_predicate=(polars.col("label") == "dice") & (polars.col("metric") == "ndcg@10"), named=True)
    one = study.comparisons["dice"]["ndcg@10"]
    assert row["mean"] == study["dice"].means["ndcg@10"]
    assert (row["low"], row["high"]) == study["dice"].intervals["ndcg@10"]
    assert row["reference"] == study.reference
    assert (row["p_wilcoxon"], row["holm_permutation"]) == (one.tests.wilcoxon, one.holm.permutation)
    assert (row["d_z"], row["runs"]) == (one.effect.d_z, 2)
    best = frame.filter((polars.col("label") == study.reference) & (polars.col("metric") == "ndcg@10"))
    assert best["difference"].to_list() == [None]
    failed = frame.filter(polars.col("label") == "broken")
    assert failed["mean"].null_count() == 3
    assert failed["error"][0].startswith("RuntimeError")


def test_csv_is_the_frame(study, tmp_path):
    study.save(tmp_path / "a.csv")
    read = polars.read_csv(io.StringIO((tmp_path / "a.csv").read_text("utf-8")), schema=study.to_frame().schema)
    numbers = [name for name, kind in read.schema.items() if kind == polars.Float64]
    assert read.select(numbers).equals(study.to_frame().select(numbers))


def test_labels_with_controls_read_back_from_csv(study, tmp_path):
    odd = ["\x1b[2J", "\r", "\r\n", 'a"b,c', "\x00", "\x85\u2028\u202e", "\x0b\x1c", ""]
    rows = [replace(row, label=label) for row, label in zip(study.models * 2, odd, strict=True)]
    replace(study, models=tuple(rows)).save(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert {row["label"] for row in csv.DictReader(file)} == set(odd)
    read = polars.read_csv(tmp_path / "a.csv", infer_schema=False)
    assert set(read["label"]) == set(odd)


def test_json_holds_everything_but_the_users_values(study, tmp_path):
    study.save(tmp_path / "a.json")
    record = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert record["primary"] == "ndcg@10"
    assert record["best"] == study.best.label
    assert record["tests"]["family"] == study.family
    row = next(row for row in record["models"] if row["label"] == "dice")
    assert row["means"] == dict(study["dice"].means)
    assert [run["seed"] for run in row["runs"]] == [0, 1]
    assert row["comparisons"]["ndcg@10"]["p_t"] == study.comparisons["dice"]["ndcg@10"].tests.t
    assert "per_user" not in json.dumps(record)


def test_the_text_has_a_line_for_each_row_and_marks_best_and_runner_up(study):
    lines = study.to_text().splitlines()
    table = lines[: lines.index("")]
    assert len(table) == 2 + len(study)
    starred = [line for line in table if re.search(r"\d\*", line.split("±")[1] if "±" in line else "")]
    assert len(starred) == 1
    mean = f"{study.best.means['ndcg@10']:.4f}"
    assert mean in starred[0]
    assert sum(bool(re.search(r"\d†", line)) for line in table) >= 1
    assert "broken" in study.to_text()
    assert "Primary metric, named beforehand: ndcg@10" in study.to_text()
    assert EVIL not in study.to_text()  # its line break is escaped


def test_the_brief_has_scores_and_the_best_model_but_no_tests(study):
    text = study.brief()
    assert text.splitlines()[: 2 + len(study)] == study.to_text().splitlines()[: 2 + len(study)]
    assert "ndcg@10 decides" in text
    assert clean(f"{study.best.label} is best.") in text
    assert "Wilcoxon" not in text
    assert "Failed: broken" in text


def test_a_note_about_several_models_is_shown_once(study):
    rows = [row for row in study if row.done]
    cells = [replace(row.runs[0], warnings=("slow", *(["own"] if at == 0 else []))) for at, row in enumerate(rows)]
    noted = replace(study, models=tuple(replace(one, runs=(cell,)) for one, cell in zip(rows, cells, strict=True)))
    for text in (noted.brief(), noted.to_text()):
        assert text.count("slow") == 1
        assert "all models: slow" in text
        assert f"{rows[0].label}: own" in text


def test_a_markdown_table_keeps_its_columns(study):
    rows = [line for line in study.to_markdown().splitlines() if line.startswith("|")]
    scores = rows[: 2 + len(study)]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in scores}) == 1
    assert sum("**" in row for row in scores) >= 1


def test_latex_and_html_escape_labels_and_latex_has_the_rules_of_booktabs(study):
    text = study.to_latex()
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{lrrr", r"\textbf{", r"\underline{"):
        assert rule in text
    scores = text.partition(r"\midrule")[2].partition(r"\bottomrule")[0].strip().splitlines()
    assert len(scores) == len(study)
    assert len({len(re.findall(r"(?<!\\)&", row)) for row in scores}) == 1
    assert r"a|b\_c \& 100\% \textbackslash{}x\{\}" in text
    assert "<i>" not in study._repr_html_()
    assert "<strong>" in study._repr_html_()


def test_every_ending_has_a_format_and_others_are_refused(study, tmp_path):
    for name, start in (("a.txt", "model"), ("a.md", "| model"), ("a.tex", r"\begin"), ("A.JSON", "{")):
        study.save(tmp_path / name)
        assert (tmp_path / name).read_text("utf-8").startswith(start)
    with pytest.raises(UsageError, match=r"its name must end in \.txt, \.md, \.tex, \.csv, \.json"):
        study.save(tmp_path / "a.xls")
    with pytest.raises(UsageError, match="no format 'latx'; did you mean 'latex'"):
        study.write("latx")


def test_rows_are_found_by_their_label(study):
    assert study["dice"].label == "dice"
    assert repr(study).startswith("Study(4 models")
    assert "runs" in repr(study["dice"])
    with pytest.raises(UsageError, match="No model is called 'dise'; did you mean 'dice'"):
        study["dise"]


def test_a_grid_is_aligned_whatever_the_width_of_letters():
    rows = (
        (Value("日本"), Value("0.5", "±0.1", BEST)),
        (Value("ab"), Value("10", mark=SECOND)),
        (Value("x"), Value("")),
    )
    lines = Grid(("name", "value"), rows).text().splitlines()
    assert lines[2] == "日本  0.5 ±0.1*"
    assert lines[3] == "ab          10†"
