"""Models, metrics, splits and data sets of another package: they appear wherever corml's own do."""

import json
import sys

import pytest

import corml
from corml import data as datasets
from corml import models, plugins, splits
from corml.cli._main import main
from corml.errors import UsageError
from corml.evaluation import metrics

MODULE = '''
from pathlib import Path
from typing import ClassVar

import numpy as np

import corml
from corml.data import Known
from corml.splits import Split, assemble, record


class Toy(corml.Popularity):
    """Popularity by another name."""

    NAME: ClassVar[str] = "toy-model"


def toy(lists, k):
    """Share of the list that is filled.

    Formula: |list| / K
    Better: higher, 0 to 1
    """
    return (lists.items[:, :k] >= 0).sum(axis=1) / k


def bare(lists, k):
    return 0.5


def toy_split(data, *, every: int = 2) -> Split:
    """Every so-manieth pair is tested."""
    part = np.where(np.arange(len(data)) % int(every) == 0, 2, 0)
    return assemble(data, part, record("toy", data, every=every))


toy_data = Known(
    name="toy-data", title="Toys: 3 users", files=(), licence="none", citation="none",
    member="toys.csv", bundled=str(Path(__file__).parent),
)
number = 7
'''

ENTRIES = """
[corml.models]
toy_model = toy_plugin:Toy

[corml.metrics]
Toy = toy_plugin:toy
bare = toy_plugin:bare

[corml.splits]
toy = toy_plugin:toy_split

[corml.datasets]
toy-data = toy_plugin:toy_data
"""

TOYS = "user,item\n" + "".join(f"u{user},i{item}\n" for user in range(3) for item in range(user, user + 5))


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package as pip would: a module, and a folder that says what it adds."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def installed(entries=ENTRIES, package="toy-pack", module="toy_plugin", code=MODULE):
        about = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(entries)
        (tmp_path / f"{module}.py").write_text(code)
        (tmp_path / "toys.csv").write_text(TOYS)
        plugins.refresh()

    yield installed
    monkeypatch.undo()
    plugins.refresh()
    for name, module in list(sys.modules.items()):
        if str(tmp_path) in (getattr(module, "__file__", None) or ""):
            del sys.modules[name]


def printed(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert end.value.code == 0
    return capsys.readouterr().out


def test_everything_is_listed_without_being_imported(install):
    install()
    assert "toy-model" in models.names()
    assert {"toy", "bare"} <= set(metrics.names())
    assert "toy" in plugins.names("corml.splits")
    assert "toy-data" in datasets.known()
    assert "toy_plugin" not in sys.modules


def test_everything_works_together(install, tmp_path):
    install()
    data = corml.load("toy-data")
    assert data.shape == (3, 7)
    split = corml.split(data, "toy", every="3")
    assert (len(split.train), len(split.test)) == (10, 5)
    assert splits.options("toy") == ("every",)
    split.verify(data)
    model = models.make("toy_model").fit(split.train)
    result = corml.evaluate(model, split, ["toy@10", "TOY@2", "bare@3", "ndcg@10"])
    assert 0 < result["toy@10"] < result["toy@2"] == 1
    assert result["bare@3"] == 0.5
    model.save(tmp_path / "toy.corml")
    again = corml.read_model(tmp_path / "toy.corml")
    assert type(again) is models.get("toy-model")
    assert again.recommend(["u0"]).items.tolist() == model.recommend(["u0"]).items.tolist()


def test_a_misspelt_name_suggests_it(install):
    install()
    with pytest.raises(UsageError, match="did you mean 'toy-model'"):
        models.get("toy-modle")
    with pytest.raises(UsageError, match="There is no data set 'toy-dat'; did you mean 'toy-data'"):
        datasets.get("toy-dat")


def test_the_command_line_lists_and_uses_them(install, capsys, tmp_path, monkeypatch):
    install()
    monkeypatch.chdir(tmp_path)
    assert "Popularity by another name." in printed(capsys, "models")
    assert "Share of the list that is filled.\n" in printed(capsys, "metrics")
    assert {"name": "bare", "words": "bare", "formula": "", "better": ""} in json.loads(
        printed(capsys, "metrics", "--json")
    )
    assert "toy-data         Toys: 3 users" in printed(capsys, "data", "list")
    printed(capsys, "fit", "toy-data", "--model", "toy-model", "--split", "toy", "-o", "toy.corml")
    assert "toy   1.0000" in printed(capsys, "evaluate", "toy.corml", "--metrics", "toy@2,ndcg@5")
    assert "verified" in printed(capsys, "verify", "toy.corml")


BROKEN = "\n".join(f"[corml.{group}]\nbroken = lost_module:thing\n" for group in ("models", "metrics", "datasets"))


def test_a_package_that_cannot_be_imported_is_named_when_it_is_used(install):
    install(BROKEN + "[corml.splits]\nbroken = toy_plugin:no_such_name\n", "broken-pack")
    assert "broken" in models.names()
    sentence = (
        r"of the package 'broken-pack' cannot be loaded \(ModuleNotFoundError: .*lost_module.*\): "
        "repair, update or uninstall that package"
    )
    for use in (models.get, datasets.get, lambda name: metrics.parse(name + "@5")):
        with pytest.raises(UsageError, match=sentence):
            use("broken")
    with pytest.raises(UsageError, match=r"The split 'broken' of the package .* \(AttributeError: .*no_such_name"):
        splits.options("broken")


def test_a_package_that_cannot_be_imported_does_not_spoil_the_lists(install, capsys):
    install(BROKEN, "broken-pack")
    assert "The model 'broken' of the package 'broken-pack' cannot be loaded" in printed(capsys, "models")
    assert "The metric 'broken' of the package 'broken-pack'" in printed(capsys, "metrics")
    assert "broken           The data set 'broken' of the package" in printed(capsys, "data", "list")
    assert models.get("popularity").NAME == "popularity"


@pytest.mark.parametrize("name", ["corml", "corml-dial", "item_knn"])
def test_a_name_of_corml_is_not_to_be_taken(install, name):
    install(f"[corml.models]\n{name} = toy_plugin:Toy\n")
    shown = name.replace("_", "-")
    assert models.names().count(shown) == 1
    with pytest.raises(
        UsageError, match=f"The model '{shown}' is corml's own, and the package 'toy-pack' adds another"
    ):
        models.get(shown)


def test_a_metric_of_corml_is_not_to_be_taken(install):
    install("[corml.metrics]\nNDCG = toy_plugin:toy\n")
    with pytest.raises(UsageError, match="The metric 'ndcg' is corml's own"):
        metrics.parse("ndcg@10")


def test_two_packages_with_one_name_are_both_named(install):
    install()
    install(package="other-pack")
    with pytest.raises(UsageError, match=r"'toy' is added by the packages .*'(toy|other)-pack' and '(toy|other)-pack'"):
        splits.options("toy")


@pytest.mark.parametrize(
    ("entries", "use", "what"),
    [
        ("[corml.models]\nother = toy_plugin:Toy\n", models.get, "a Recommender whose NAME is 'other'"),
        ("[corml.models]\nother = toy_plugin:number\n", models.get, "a Recommender whose NAME is 'other'"),
        (
            "[corml.datasets]\nother = toy_plugin:toy_data\n",
            datasets.get,
            "a corml.data.Known whose name is 'other'",
        ),
        ("[corml.splits]\nother = toy_plugin:number\n", splits.options, "a function"),
    ],
)
def test_an_object_that_does_not_fit_is_refused(install, entries, use, what):
    install(entries)
    with pytest.raises(UsageError, match=f"'other' of the package 'toy-pack' is not {what}: update or uninstall"):
        use("other")


def test_a_room_that_is_not_open_takes_nothing(install):
    install("[corml.cli]\ntoy = toy_plugin:toy\n")
    assert "toy" not in plugins.names("corml.cli")
