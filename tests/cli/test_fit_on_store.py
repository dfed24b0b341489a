"""corml fit on a store: in files, with several processes, and refusals in a sentence."""

import pytest

import corml
from support import random_interactions

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    random_interactions(0, 300, 120, 8).to_frame().write_parquet(folder / "pairs.parquet")
    return corml.build_store(folder / "pairs.parquet", folder / "pairs.store")


def test_a_store_is_fitted_in_files_and_what_was_finished_stays_there(run, store, tmp_path, monkeypatch):
    def full(*_, **__):
        raise corml.errors.DataError("The disk is full.")

    monkeypatch.setattr("corml.outofcore.fit.fit.checked", full)
    assert run("fit", store.path, "--out", tmp_path / "m.corml").code == 3
    assert (store.path / "fit" / "durable").is_dir()
    monkeypatch.undo()
    assert run("fit", store.path, "--out", tmp_path / "m.corml").code == 0
    assert not (store.path / "fit").exists()


def test_processes_that_share_the_work_write_the_same_file(run, store, tmp_path):
    pytest.importorskip("distributed")
    one, two = tmp_path / "one.corml", tmp_path / "two.corml"
    how = ["--set", "rank=8", "--set", "adapt=false"]
    assert run("fit", store.path, *how, "--out", one).code == 0
    assert run("fit", store.path, *how, "--workers", 2, "--work", tmp_path / "work", "--out", two).code == 0
    assert one.read_bytes() == two.read_bytes()
    assert not (tmp_path / "work").exists()


def test_options_of_loading_and_splits_load_the_store(run, store, tmp_path):
    done = run("fit", store.path, "--k-core", 2, "--set", "rank=8", "--out", tmp_path / "m.corml")
    assert done.code == 0
    assert corml.read_model(tmp_path / "m.corml").fitted_.source["options"]["k_core"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workers", 2, "--k-core", 2], "--workers is for a fit of corml on a store"),
        (["--workers", 2, "--split", "ratio"], "--workers is for a fit of corml on a store"),
        (["--workers", 2, "--model", "ease"], "--workers is for a fit of corml on a store"),
        (["--work", "w", "--k-core", 2], "--work is for a fit of corml on a store"),
        (["--insecure-cluster"], "--insecure-cluster requires --cluster ADDRESS."),
        (["--workers", 0], "at least 1; got 0"),
        (["--workers", 1, "--cluster", "tcp://127.0.0.1:1"], "give one of them"),
        (["--cluster", "tcp://10.0.0.1:8786"], "without TLS"),
        (["--cluster", "here"], "Invalid address of a scheduler"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(run, store, tmp_path, words, said):
    pytest.importorskip("distributed")
    done = run("fit", store.path, *words, "--out", tmp_path / "m.corml")
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "m.corml").exists()
