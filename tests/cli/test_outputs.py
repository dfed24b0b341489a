"""A name that cannot be written is refused before data are read or anything is fitted, by every command that writes."""

import os

import pytest

COMMANDS = {
    "fit": ["fit", "r.csv", "--out", "{}"],
    "fit on a split": ["fit", "--split", "s.split", "--out", "{}"],
    "fit on a store": ["fit", "s.store", "--out", "{}"],
    "checkpoint": ["fit", "r.csv", "--model", "bpr-mf", "--out", "m.corml", "--checkpoint", "{}"],
    "recommend": ["recommend", "m", "--all", "--out", "{}.csv"],
    "recommend in parts": ["recommend", "m", "--all", "--out", "{}/"],
    "export": ["export", "m", "--to", "sqlite", "--out", "{}"],
    "export a folder": ["export", "m", "--to", "parquet", "--out", "{}"],
    "export a page": ["export", "m", "--to", "html", "--out", "{}"],
    "tune": ["tune", "r.csv", "--trials", "1", "--out", "{}"],
    "report": ["report", "m", "--out", "{}"],
    "convert": ["data", "convert", "r.csv", "{}.csv"],
    "split": ["data", "split", "r.csv", "{}"],
    "update": ["update", "m", "r.csv", "--out", "{}"],
    "values of users": ["evaluate", "m", "--per-user", "{}.csv"],
    "plan": ["plan", "--interactions", "1e6", "--items", "1e4", "--users", "1e5", "--chart", "{}.svg"],
    "studio": ["studio", "r.csv", "--no-browser", "--out", "{}"],
}
FOLDERS = {  # made with those above them
    "work": ["fit", "s.store", "--out", "m.corml", "--work", "{}"],
    "compare": ["compare", "r.csv", "--models", "popularity", "--out", "{}"],
    "journal": ["tune", "r.csv", "--trials", "1", "--journal", "{}"],
    "plots": ["tune", "r.csv", "--trials", "1", "--plots", "{}"],
    "split of a store": ["data", "split", "s.store", "{}/"],
    "store": ["data", "store", "r.csv", "{}"],
    "reproduce": ["reproduce", "table", "--quick", "--models", "popularity", "--out", "{}"],
    "demo": ["demo", "--out", "{}"],
}
NAMES = {"below a file": "file/x", "too long": "n" * 300, "with a NUL": "a\0b", "read-only": "/proc/x"}
if not os.path.isdir("/proc/self"):
    del NAMES["read-only"]


class LongWorkError(Exception):
    """Nothing of this may be begun."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, shop):
    from cli.conftest import call

    folder = tmp_path_factory.mktemp("inputs")
    for name, words in {"s.store": ["data", "store"], "s.split": ["data", "split"]}.items():
        assert call(*words, shop / "ratings.csv", folder / name).code == 0
    return folder


@pytest.fixture
def place(here, shop, inputs, monkeypatch):
    """A folder with data, a store, a split, a model and a file, in which all long work fails."""
    for name, path in {"r.csv": shop / "ratings.csv", "m": shop / "split.corml"}.items():
        (here / name).symlink_to(path)
    for name in ("s.store", "s.split"):
        (here / name).symlink_to(inputs / name)
    (here / "file").write_text("precious")

    def fail(*arguments, **options):
        raise LongWorkError

    for name in (
        *(
            "corml.data._load.gather",
            "corml.models.corml.estimator.fit_as_planned",
            "corml.outofcore.ingest.build.split_files",
        ),
        *("corml.outofcore.fit_store", "corml.models.recommender.Recommender.recommend"),
    ):
        monkeypatch.setattr(name, fail)
    return here


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", [*COMMANDS, *FOLDERS])
def test_a_name_that_cannot_be_written_is_refused_before_the_work(run, place, command, name):
    before = sorted(os.listdir(place))
    outcome = run(*(word.replace("{}", NAMES[name]) for word in {**COMMANDS, **FOLDERS}[command]))
    assert outcome.code in (2, 3), outcome
    assert outcome.err.splitlines()[-1].startswith(("error[data]: ", "error[usage]: "))
    assert "\0" not in outcome.err
    assert (sorted(os.listdir(place)), (place / "file").read_text()) == (before, "precious")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_is_not_there_is_refused_before_the_work(run, place, command):
    outcome = run(*(word.replace("{}", "no/such/x") for word in COMMANDS[command]))
    assert outcome.code == 3
    assert "The folder 'no/such' does not exist: create it first." in outcome.err.replace(str(place) + "/", "")


@pytest.mark.parametrize("command", [name for name, words in COMMANDS.items() if "{}" in words])
def test_a_folder_where_a_file_must_be_is_refused_before_the_work(run, place, command):
    (place / "folder" / "inner").mkdir(parents=True)
    outcome = run(*(word.replace("{}", "folder") for word in COMMANDS[command]))
    assert outcome.code in (2, 3), outcome
    assert "folder" in outcome.err


@pytest.mark.parametrize("command", FOLDERS)
def test_a_file_where_a_folder_must_be_is_refused_before_the_work(run, place, command):
    outcome = run(*(word.replace("{}", "file") for word in FOLDERS[command]))
    assert outcome.code in (2, 3), outcome
    assert (place / "file").read_text() == "precious"


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("command", [*COMMANDS, *FOLDERS])
def test_a_folder_without_permission_is_refused_before_the_work(run, place, command):
    (place / "locked").mkdir(mode=0o555)
    words = (word.replace("{}", "locked/x") for word in {**COMMANDS, **FOLDERS}[command])
    assert "No permission to write in" in run(*words).err


LINKED = {name: words for name, words in COMMANDS.items() if "{}/" not in words}


@pytest.mark.parametrize("command", LINKED)
def test_a_link_to_a_device_is_refused_before_the_work_and_stays(run, place, command):
    """Not /dev/null itself, which root could replace if this went wrong."""
    ending = next(word for word in COMMANDS[command] if word.startswith("{}")).removeprefix("{}")
    (place / f"null{ending}").symlink_to(os.devnull)
    outcome = run(*(word.replace("{}", "null") for word in COMMANDS[command]))
    assert outcome.code in (2, 3), outcome
    assert os.readlink(place / f"null{ending}") == os.devnull


WRITERS = {
    "fit": (["fit", "r.csv", "--model", "popularity", "--out", "{}"], ".corml"),
    "recommend": (["recommend", "m", "--all", "--out", "{}"], ".csv"),
    "recommend json": (["recommend", "m", "--all", "--out", "{}"], ".json"),
    "export": (["export", "m", "--to", "sqlite", "--out", "{}"], ".sqlite"),
    "export a page": (["export", "m", "--to", "html", "--out", "{}"], ".html"),
    "tune": (["tune", "r.csv", "--model", "popularity", "--trials", "1", "--out", "{}"], ".toml"),
    "report": (["report", "m", "--out", "{}"], ".html"),
    "convert": (["data", "convert", "r.csv", "{}"], ".csv"),
    "split": (["data", "split", "r.csv", "{}"], ".split"),
    "update": (["update", "m", "r.csv", "--out", "{}"], ".corml"),
    "values of users": (["evaluate", "m", "--per-user", "{}"], ".csv"),
}


@pytest.mark.parametrize("command", WRITERS)
def test_every_command_writes_through_a_link(run, here, shop, command):
    words, ending = WRITERS[command]
    (here / "r.csv").write_bytes((shop / "ratings.csv").read_bytes())
    (here / "m").write_bytes((shop / "split.corml").read_bytes())
    (here / "real").mkdir()
    (here / "one").symlink_to(here / "real" / f"file{ending}")
    (here / f"two{ending}").symlink_to("one")
    outcome = run(*(word.replace("{}", f"two{ending}") for word in words))
    assert outcome.code == 0, outcome
    assert (here / "real" / f"file{ending}").stat().st_size
    assert (os.readlink(here / f"two{ending}"), os.path.islink(here / "one")) == ("one", True)
    assert [name for name in os.listdir(here) if name.startswith(".")] == []


def test_an_export_of_parquet_files_goes_through_a_link_to_a_folder(run, here, shop):
    words = ["export", shop / "all.corml", "--to", "parquet", "--out"]
    assert run(*words, "real").code == 0
    (here / "link").symlink_to("real")
    made = (here / "real" / "metadata.json").stat().st_ino
    assert run(*words, "link", "--force").code == 0
    assert os.readlink(here / "link") == "real"
    assert (here / "real" / "metadata.json").stat().st_ino != made
