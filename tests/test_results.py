"""Benchmark results: every file of results/ records its provenance and is used, and pages agree with it."""

import importlib
import json
import re
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
FILES = sorted(RESULTS.rglob("*.json"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
VERSIONS = {"corml", "python", "numpy", "scipy", "numba"}
FINGERPRINT = r"[0-9a-f]{64}"


def read(name):
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


# --- provenance ------------------------------------------------------------------------------------------------------


def test_every_result_records_its_provenance_and_the_same_data_have_one_fingerprint():
    known = {}
    for path in FILES:
        record = json.loads(path.read_text("utf-8"))
        check_provenance(record)
        for name, fingerprint in record["data fingerprint"].items():
            assert name == "generated" or known.setdefault(name, fingerprint) == fingerprint, path


def check_provenance(record):
    script = re.fullmatch(r"python (benchmarks/\w+\.py)( .+)?", record["command"])
    assert script, record["command"]
    assert (ROOT / script[1]).exists()
    assert type(record["seed"]) is int
    assert record["data fingerprint"]
    for name, fingerprint in record["data fingerprint"].items():
        if name == "generated":
            assert "seed" in fingerprint
            assert "by" in fingerprint
        else:
            assert set(fingerprint) == {"train", "split"}
            assert all(re.fullmatch(FINGERPRINT, digits) for digits in fingerprint.values())
    assert set(record["versions"]) >= VERSIONS
    assert all(re.match(r"\d+\.\d+", version) for version in record["versions"].values())
    assert re.fullmatch(r"[0-9a-f]{7,40}(\+changes)?", record["commit"])
    assert date.fromisoformat(record["date"]) >= date(2026, 1, 1)
    assert set(record["machine"]) == {"processor", "cores", "threads", "load before"}
    assert "provenance" not in record or "added afterwards" in record["provenance"]


SPOILED = {
    "command": ["", "make figures", "python benchmarks/of_no_such_name.py"],
    "seed": [None, "2026"],
    "data fingerprint": [{}, {"gowalla": {"train": "abc"}}, {"generated": {"items": 5}}],
    "versions": [{}, {"corml": "0.1.0"}],
    "commit": ["", "3d22a8", "main"],
    "date": ["", "yesterday"],
    "machine": [{}, {"processor": "fast"}],
}


@pytest.mark.parametrize("key", SPOILED)
def test_a_result_without_provenance_is_refused(key):
    record = read("corml/fit-gowalla")
    check_provenance(record)
    for value in SPOILED[key]:
        with pytest.raises((AssertionError, ValueError)):
            check_provenance({**record, key: value})
    with pytest.raises(KeyError):
        check_provenance({name: value for name, value in record.items() if name != key})


# --- how settings were chosen ----------------------------------------------------------------------------------------


def test_tuned_settings_are_the_best_of_a_recorded_search_on_the_validation_set():
    for data, name in (("gowalla", "corml/tuning-gowalla"), ("pinterest", "corml/tuning-pinterest")):
        record, tuning = read(f"corml/quality-{data}"), read(name)
        assert tuning["part"] == "valid"
        assert tuning["best"] == max(tuning["trials"], key=lambda trial: trial["ndcg@10"])
        assert record["tuned"]["settings"] == tuning["best"]["settings"]
        assert record["tuned and pruned"]["settings"] == {**tuning["best"]["settings"], "budget": 64}
    assert "tuned" not in read("corml/quality-yelp2018")  # the page says that it was not run


def test_linear_models_have_the_best_settings_that_were_tried():
    for path in (RESULTS / "linear").glob("*.json"):
        record = json.loads(path.read_text("utf-8"))
        if record["tried"]:
            assert record["settings"] == max(record["tried"], key=lambda one: one["ndcg@10 on valid"])["settings"]
        else:  # another solver of the problem of another model
            assert record["budget"].startswith("as ")


# --- pages agree with the files --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("pages")


def test_tables_are_made_from_results(pages):
    for name, tables in pages.PAGES.items():
        text = (ROOT / name).read_text("utf-8")
        assert pages.put(text, tables(), name) == text, f"{name} is behind results/: run python benchmarks/pages.py"
    marked = {
        str(page.relative_to(ROOT)): set(names)
        for page in PAGES
        if (names := re.findall(r"<!-- (\w+): made by benchmarks -->", page.read_text("utf-8")))
    }
    assert marked == {name: set(tables()) for name, tables in pages.PAGES.items()}


def test_every_result_is_printed_by_a_page_or_read_by_a_test(pages, monkeypatch):
    opened, read_text = set(), Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, *words: opened.add(path) or read_text(path, *words))
    for tables in pages.PAGES.values():
        tables()
    texts = "".join(path.read_text("utf-8") for path in (*PAGES, Path(__file__)))
    for path in FILES:
        name = str(path.relative_to(RESULTS).with_suffix(""))
        assert path in opened or re.search(rf"[/\"]{name}[.\"]", texts), f"delete results/{name}.json, or use it"


def test_every_model_has_a_row_and_every_cell_a_figure_or_a_reason(pages):
    from corml import models

    table = pages.PAGES["docs/models.md"]()["models"]
    rows = {row.split("|")[1].strip(): row for row in table.splitlines()[2:] if row.startswith("|")}
    assert set(rows) == set(models.names()) - {"corml-dial"}  # the dial is several fits of corml
    for name, row in rows.items():
        cells = [cell.strip() for cell in row.strip("|").split("|")[1:]]
        assert len(cells) == 3
        for cell in cells:
            assert cell == "not run" or re.match(r"\.\d{4}", cell), (name, cell)
    assert "Not run:" in table


# A figure in running text: the page, words around it with a group for each figure, and where each comes from. A figure
# may be rounded: what is recorded, written with as many digits, must be the same.
FIGURES = [
    (
        "docs/models.md",
        r"`cml` on Gowalla: (\.\d+) with ten, (\.\d+) with 40",
        [("neural/cml-gowalla-ten-negatives", "test/ndcg@10"), ("neural/cml-gowalla", "test/ndcg@10")],
    ),
    (
        "docs/models.md",
        r"one epoch of ours, ([\d.]+) s, has an NDCG@10 of (\.\d+), the best of implicit's eight runs, "
        r"([\d.]+) s, one of (\.\d+)",
        [
            ("neural/bpr-peer-pinterest", "corml, at least as good/seconds"),
            ("neural/bpr-peer-pinterest", "corml, at least as good/test"),
            ("neural/bpr-peer-pinterest", "best of implicit/seconds"),
            ("neural/bpr-peer-pinterest", "best of implicit/test"),
        ],
    ),
    (
        "docs/method.md",
        r"\| 0\.4, 0\.4, 0\.4 \| (0\.\d+) \| (0\.\d+) \| (0\.\d+) \|",
        [(f"corml/quality-{data}", "default/valid/ndcg@10") for data in ("gowalla", "yelp2018", "pinterest")],
    ),
    (
        "README.md",
        r"share ([\d]+) % of their top ten",
        [("corml/metric-movielens-small", "shared/default")],
    ),
]


@pytest.mark.parametrize(("page", "words", "sources"), FIGURES, ids=[words[:30] for _, words, _ in FIGURES])
def test_figures_in_running_text_are_those_recorded(page, words, sources):
    text = re.sub(r"\s+", " ", (ROOT / page).read_text("utf-8"))
    (figures,) = [found.groups() for found in re.finditer(words, text)]
    assert len(figures) == len(sources)
    for written, (name, key) in zip(figures, sources, strict=True):
        value = read(name)
        for part in key.split("/"):
            value = value[part]
        assert as_written(value, written) == written, f"{page} says {written} where results/{name}.json has {value}"


def as_written(value, written):
    """A recorded number in the form a page has it: with as many digits, without a leading zero, or as a percentage."""
    if "." not in written:
        return f"{100 * value:.0f}" if value < 1 else f"{value:.0f}"
    digits = f"{value:.{len(written.partition('.')[2])}f}"
    return digits.removeprefix("0") if written.startswith(".") else digits


def test_a_figure_is_compared_to_its_last_digit():
    assert as_written(0.11697, ".1170") == ".1170"
    assert as_written(0.11697, ".1169") != ".1169"
    assert as_written(0.6716, "67") == "67"
    assert as_written(9.897, "9.9") == "9.9"
