"""At home in a notebook: ids, lists, frames, names and progress behave as a Python person expects."""

import copy
import logging
import pickle
import subprocess
import sys

import numpy as np
import pytest

import corml
from corml import models, plugins
from corml._runtime.console_progress import COMPILING, bars, shown
from corml.data.interactions import Interactions
from corml.errors import SettingError, UnknownIdError, UsageError
from corml.models import registry


@pytest.fixture(scope="module")
def data():
    users = ["15", "15", "15", "19", "19", "7"]
    items = ["a", "b", "c", "a", "d", "b"]
    titles = {"a": "Apple", "b": "Bread"}
    return Interactions.from_pairs(users, items, times=[1, 2, np.nan, 4, 5, 6], titles=titles)


@pytest.fixture(scope="module")
def model(data):
    return corml.Popularity().fit(data)


# --- ids and pairs ---------------------------------------------------------------------------------------------------


def test_ids_are_a_sequence_of_text(data):
    assert data.users[0] == "15"
    assert type(data.users[0]) is str
    assert data.users[-1] == "7"
    assert data.users[1:] == ["19", "7"]
    assert list(data.users) == ["15", "19", "7"]
    assert (len(data.users), len(data.items), len(data)) == (3, 4, 6)
    assert "15" in data.users
    assert data.users[np.int64(1)] == "19"


def test_an_index_out_of_range_names_the_count(data):
    with pytest.raises(IndexError, match=r"There are 3 users, counted from 0; there is no number 3\."):
        data.users[3]


def test_indexing_ids_by_an_id_is_an_error(data):
    with pytest.raises(UsageError, match=r"There are 3 users, counted from 0; '15' is an id, not a number\."):
        data.users["15"]


def test_pairs_are_a_frame(data):
    frame = data.to_frame()
    assert frame.columns == ["user", "item", "time", "title"]
    assert frame["user"].to_list() == ["15", "15", "15", "19", "19", "7"]
    assert frame["item"].to_list() == ["a", "b", "c", "a", "d", "b"]
    assert frame["time"].to_list() == [1, 2, None, 4, 5, 6]
    assert frame["title"].to_list() == ["Apple", "Bread", "", "Apple", "", "Bread"]


def test_a_frame_omits_missing_columns():
    assert Interactions.from_pairs(["007"], ["7.0"]).to_frame().rows() == [("007", "7.0")]


def test_a_frame_can_be_loaded_again():
    data = Interactions.from_pairs(["u", "u", "v"], ["007", "7", "7"], times=[1, 2, 3])
    assert corml.load(data.to_frame()).fingerprint == data.fingerprint


# --- lists -----------------------------------------------------------------------------------------------------------


def test_a_list_is_found_by_its_user(model):
    lists = model.recommend(["15", "19"], k=4)
    assert lists["15"] == lists[15] == ["d"]
    assert lists["19"] == ["b", "c"]
    assert "19" in lists
    assert "7" not in lists


def test_users_and_their_lists_are_items_of_a_mapping(model):
    lists = model.recommend(["15", "19"], k=4)
    assert dict(lists.items()) == {"15": ["d"], "19": ["b", "c"]}
    assert dict(lists) == dict(lists.items()) == dict(zip(lists.users, lists.values(), strict=True))


def test_list_items_are_an_array(model):
    items = model.recommend(["15", "19"], k=4).items
    assert items.shape == (2, 4)
    assert items.tolist() == [["d", None, None, None], ["b", "c", None, None]]
    assert type(items[0]) is type(items[:1]) is type(items == "b") is np.ndarray


def test_a_user_without_a_list_is_an_error(model):
    with pytest.raises(UnknownIdError, match=r"not among the 1 known: '0'\. A list is found by the id of its user"):
        model.recommend(["15"])[0]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda lists: pickle.loads(pickle.dumps(lists))])
def test_copied_lists_are_lists(model, again):
    lists = again(model.recommend(["15", "19"], k=4))
    assert dict(lists.items()) == {"15": ["d"], "19": ["b", "c"]}


# --- models by name --------------------------------------------------------------------------------------------------


def test_settings_of_a_model_are_given_by_name():
    assert models.make("ease", l2=500).l2 == models.make("ease", {"l2": 500}).l2 == 500


@pytest.mark.parametrize("name", ["EASE", "Ease", "ease", "item-knn", "item_knn", "ItemKNN", "Item-kNN"])
def test_models_are_found_in_either_case_and_by_class(name):
    assert models.get(name).__name__ == ("EASE" if name.lower() == "ease" else "ItemKNN")


def test_a_name_as_it_is_listed_comes_before_a_similar_one(monkeypatch):
    monkeypatch.setattr(registry, "names", lambda: ("corml", "item-knn", "itemknn"))
    assert [registry._spelled(name) for name in ("itemknn", "item_knn", "ItemKNN")] == [
        "itemknn",
        "item-knn",
        "item-knn",
    ]


def test_a_setting_that_is_not_there_gets_a_suggestion():
    with pytest.raises(SettingError, match=r"EASE has no setting 'l3'; did you mean 'l2'\?"):
        models.make("EASE", l3=1)


@pytest.mark.parametrize("file", plugins.own("corml.models"))
def test_every_model_can_be_imported_by_the_name_of_its_class(file):
    kind = plugins.get("corml.models", file)
    assert getattr(models, kind.__name__) is kind


def test_a_model_that_is_not_there_cannot_be_imported():
    with pytest.raises(ImportError, match="cannot import name 'Ease'"):
        from corml.models import Ease  # noqa: F401


# --- submodules ------------------------------------------------------------------------------------------------------


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "expression",
    [
        "data.known()",
        "models.names()",
        "metrics.names()",
        "splits.options('ratio')",
        "models.EASE",
        "charts.bars",
    ],
)
def test_submodules_are_there_after_import_corml(expression):
    assert python(f"import corml; print(corml.{expression})").strip()


def test_a_model_is_imported_without_the_others():
    loaded = python("import sys; from corml.models import Popularity; print(*sys.modules)").split()
    assert "corml.models.linear.popularity" in loaded
    assert not {"corml.models.linear.ease", "corml.models.neural.lightgcn", "torch"} & set(loaded)


def test_submodules_are_listed_and_not_loaded():
    listed, loaded = python("import sys, corml; print(*dir(corml)); print(*sys.modules)").splitlines()
    assert {"data", "models", "metrics"} <= set(listed.split())
    assert not {"corml.data", "corml.models", "corml.evaluation.metrics", "numpy"} & set(loaded.split())


# --- progress and log ------------------------------------------------------------------------------------------------


def test_progress_true_reports_compilation(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("corml._runtime.console_progress.COMPILE_SECONDS", 0.0)
    with shown(True) as show:
        show("compile", 0, 1)
        show("compile", 1, 1)
    assert capsys.readouterr().err == f"{COMPILING}\n"


def test_progress_true_estimates_the_time_left(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 0.0, 2.5])
    monkeypatch.setattr("corml._runtime.console_progress.time.monotonic", lambda: next(clock))
    with shown(True) as show:
        show("solve", 0, 10)
        show("solve", 5, 10)
    assert capsys.readouterr().err == "solve: 5 of 10, about 2 s left\n"


@pytest.mark.parametrize("asked", [None, False])
def test_without_progress_nothing_is_printed(data, capsys, asked):
    corml.Popularity().fit(data, progress=asked)
    assert capsys.readouterr().err == ""


def test_fit_and_evaluate_take_true_and_functions(data):
    split, heard = corml.split(data, "ratio", seed=1), []
    model = models.make("ease").fit(split.train, progress=True)
    corml.evaluate(model, split, "ndcg@1", progress=lambda *report: heard.append(report))
    assert heard[-1][0] == "rank"
    corml.evaluate(model, split, "ndcg@1", progress=True)


def test_an_invalid_progress_is_an_error(data):
    with pytest.raises(UsageError, match="progress is True, or a function of stage, done and total; got 'yes'"):
        corml.Popularity().fit(data, progress="yes")


def test_bars_are_drawn_in_a_notebook_that_has_widgets(monkeypatch):
    drawn = []
    monkeypatch.setattr("corml._runtime.console_progress._notebook_with_widgets", lambda: True)
    with bars(drawn.append, every=0) as show:
        show("fit", 1, 2)
    assert drawn == []


def test_the_logger_reports_loading_fitting_and_evaluating(data, caplog):
    split = corml.split(data, "ratio", seed=1)
    with caplog.at_level(logging.INFO, logger="corml"):
        corml.load(data.to_frame().drop("time"))
        model = corml.Popularity().fit(split.train)
        corml.evaluate(model, split, "ndcg@1")
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("load: columns: user=user, item=item") for line in lines)
    assert any(line.startswith("fit popularity on Interactions(3 users x 4 items") for line in lines)
    assert any(line.startswith("evaluate popularity on ") and line.endswith(" s") for line in lines)
    assert {record.name for record in caplog.records} == {"corml"}


def test_without_a_listener_the_logger_is_silent():
    code = "import corml; corml.Popularity().fit(corml.Interactions.from_pairs(['u'], ['i']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


def test_lists_cannot_be_unpacked_as_ids_and_scores(model):
    lists = model.recommend(["15", "19"], k=4)
    for use in (
        lambda: (lambda ids, scores: None)(*lists),
        lambda: list(lists),
        lambda: model.similar(["a", "b"]).__iter__(),
    ):
        with pytest.raises(UsageError, match=r"lists\.items and lists\.scores.*for user, items in lists\.items\(\)"):
            use()
    assert lists.keys() == lists.users
    assert lists.values() == [["d"], ["b", "c"]]


def test_similar_items_have_their_own_column_names(model):
    found = model.similar(["a", "b"], k=2)
    assert found.to_frame().columns[:4] == list(found.rows()[0])[:4] == ["item", "rank", "similar", "score"]
    assert found["b"] == found.to_frame().filter(item="b")["similar"].to_list()
    assert '<th scope="col">similar</th>' in found._repr_html_()
    with pytest.raises(UnknownIdError, match="found by the id of its item"):
        found["15"]


def test_tables_become_frames_of_polars_and_pandas(model):
    pytest.importorskip("pandas")
    lists = model.recommend(["15", "19"], k=4)
    tables = (lists, model.similar("a", k=2), model.similar_users("15", k=1))
    for table in tables:
        frame, theirs = table.to_frame(), table.to_pandas()
        assert table.to_polars().equals(frame)
        assert list(theirs.columns) == frame.columns
        assert theirs.to_dict("list") == frame.to_dict(as_series=False)
    assert lists.to_pandas()["score"].dtype == "float32"


def test_a_frame_of_pandas_needs_pandas(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="needs pandas"):
        model.recommend(["15"]).to_pandas()
