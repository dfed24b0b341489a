"""Known data sets: names, folders, layouts, and the sample that comes with corml."""

import gzip
import io
import json
import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corml import Interactions, plugins
from corml import data as datasets
from corml.data import load
from corml.data.catalog import _known
from corml.errors import DataError, UsageError

NAMES = "gowalla ml-100k ml-1m ml-20m ml-latest-small movielens-small pinterest yelp2018".split()


def archive(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, text in members.items():
            packed.writestr(name, text)
    return out.getvalue()


def test_every_file_of_the_room_is_a_data_set_with_its_terms():
    assert list(datasets.known()) == NAMES
    for name in NAMES:
        entry = datasets.get(name)
        assert entry.name == name
        assert entry.title
        assert entry.licence
        assert entry.citation
        assert entry.bundled or entry.address.startswith("https://")
        assert plugins.get("corml.datasets", name) is entry


REMOTE = [(name, file) for name in NAMES for file in datasets.get(name).files]
UNPUBLISHED = {"pinterest"}  # nobody states a checksum of its files: the first download and the pairs are the measure


@pytest.mark.parametrize(("name", "file"), REMOTE)
def test_every_file_to_fetch_has_a_checksum_and_an_address_that_does_not_move(name, file):
    assert bool(file.sha256 or file.md5) is (name not in UNPUBLISHED)
    assert bool(datasets.get(name).fingerprint) is (name in UNPUBLISHED)
    assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
    assert file.md5 is None or re.fullmatch("[0-9a-f]{32}", file.md5)
    host, *path = file.address.removeprefix("https://").split("/")
    assert host in ("files.grouplens.org", "raw.githubusercontent.com", "github.com")
    if "github" in host:  # the address names a commit, not a branch
        assert re.fullmatch("[0-9a-f]{40}", path[2 + (host == "github.com")])


def test_a_file_put_there_by_hand_is_compared_with_what_is_published_or_first_came(data_folder):
    (data_folder / "yelp2018").mkdir()
    for name in ("train.txt", "test.txt"):
        (data_folder / "yelp2018" / name).write_text("0 1 2\n")
    notes = load("yelp2018").source["notes"]
    assert sum("train.txt' is not the published file: its md5 differs" in note for note in notes) == 1
    assert sum("test.txt' is not the published file: its sha256 differs" in note for note in notes) == 1
    for name in ("train", "test"):
        (data_folder / f"pinterest-20.{name}.rating").write_text("0\t1\t1\n")
    assert not any("differs" in note for note in load("pinterest").source["notes"])
    (data_folder / "pinterest-20.test.rating.sha256").write_text("0" * 64 + "  pinterest-20.test.rating\n")
    (note,) = [note for note in load("pinterest").source["notes"] if "differs" in note]
    assert "test.rating' is not the file that first came: its sha256 differs" in note


def test_pairs_are_compared_where_no_checksum_of_files_is_published(data_folder, monkeypatch):
    for name, pairs in {"train": "0\t1\t1\n0\t2\t1\n", "test": "3\t1\t1\n"}.items():
        (data_folder / f"pinterest-20.{name}.rating").write_text(pairs)
    known = "pinterest has other pairs here than it is known with: fetch its files again"
    assert known in load("pinterest").source["notes"]
    assert known not in load("pinterest", min_item=2).source["notes"]  # not the set as it is
    ours = Interactions.from_pairs(["3", "0", "0"], ["1", "2", "1"])  # in any order
    entry = replace(datasets.get("pinterest"), fingerprint=ours.fingerprint)
    monkeypatch.setattr(_known, "get", lambda name: entry)
    assert known not in load("pinterest").source["notes"]


def test_the_sample_has_the_published_size_its_titles_and_its_conditions():
    data = load("movielens-small")
    assert data.shape == (671, 9066)
    assert len(data) == 100_004
    assert data.title("1") == "Toy Story (1995)"
    assert len(data.titles) == 9066
    readme = Path(datasets.__file__).parent / "catalog" / "_movielens_small" / "README.md"
    assert "These lines must stay with the files." in readme.read_text()
    assert "GroupLens" in data.source["licence"]
    json.dumps(data.source)


def test_the_dense_part_of_the_sample_keeps_the_order_of_the_file():
    data = load("movielens-small", at_least=4, k_core=5)
    assert data.shape == (659, 2078)
    assert len(data) == 44_413
    packed = Path(datasets.__file__).parent / "catalog" / "_movielens_small" / "ratings.csv.gz"
    rows = [tuple(line.split(",")[:2]) for line in gzip.decompress(packed.read_bytes()).decode().splitlines()[1:]]
    position = {pair: at for at, pair in enumerate(rows)}
    labels = zip(data.users.labels[data.user], data.items.labels[data.item], strict=True)
    assert (np.diff([position[pair] for pair in labels]) > 0).all()


def test_the_packed_sample_carries_no_date():
    for path in (Path(datasets.__file__).parent / "catalog" / "_movielens_small").glob("*.gz"):
        assert path.read_bytes()[4:8] == b"\0\0\0\0"


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(DataError, match="There is no file or data set 'gowala'; did you mean 'gowalla'"):
        load("gowala")
    with pytest.raises(DataError, match=r"There is no file 'gowalla\.cvs'"):
        load("gowalla.cvs")
    with pytest.raises(UsageError, match="no data set"):
        datasets.get("nothing")


def test_a_file_wins_over_a_name(make, monkeypatch):
    path = make("gowalla", "user,item\na,x\n")
    monkeypatch.chdir(path.parent)
    assert len(load("gowalla")) == 1


@pytest.mark.parametrize(
    ("platform", "variables", "ending"),
    [
        ("linux", {"XDG_CACHE_HOME": "/c"}, "/c/corml"),
        ("linux", {}, ".cache/corml"),
        ("darwin", {}, "Library/Caches/corml"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/corml"),
        ("linux", {"CORML_DATA": "/mine"}, "/mine"),
    ],
)
def test_the_data_folder_is_the_chosen_one_or_the_usual_cache(monkeypatch, platform, variables, ending):
    for name in ("CORML_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert datasets.folder().as_posix().endswith(ending)


def test_a_recbole_archive_in_the_folder_is_read_without_a_download(data_folder):
    inter = "user_id:token\titem_id:token\n0\t5\n0\t6\n1\t5\n"
    content = archive(**{"Data/gowalla/gowalla.inter": inter, "Data/gowalla/gowalla.user": "user_id:token\n0\n"})
    (data_folder / "gowalla.zip").write_bytes(content)
    (data_folder / "yelp2018.zip").write_bytes(content)
    assert load("gowalla").items.labels.tolist() == ["5", "6"]
    assert any("not the published file" in note for note in load("gowalla").source["notes"])
    assert len(load("yelp2018")) == 3


def test_ml_20m_is_read_as_the_paper_reads_it(data_folder):
    ratings = ["userId,movieId,rating,timestamp"]
    ratings += [f"{u},{i},{4.0 if i < 6 else 3.5},11124{u}{i}" for u in range(1, 8) for i in range(1, 8)]
    movies = 'movieId,title,genres\n1,"One, the (1999)",Drama\n'
    content = archive(**{"ml-20m/ratings.csv": "\n".join(ratings), "ml-20m/movies.csv": movies, "ml-20m/tags.csv": "x"})
    (data_folder / "ml-20m.zip").write_bytes(content)
    data = load("ml-20m")
    assert data.shape == (7, 5)
    assert data.titles == {"1": "One, the (1999)"}
    assert "ml-20m: at_least=4, k_core=5" in data.source["notes"]
    assert load("ml-20m", at_least=3, k_core=1).shape == (7, 7)


def test_ml_1m_has_colons_no_header_and_latin_1_titles(data_folder):
    members = {
        "ml-1m/ratings.dat": "1::1193::5::978300760\n1::661::3::978302109\n2::1193::4::978300000\n",
        "ml-1m/movies.dat": '1193::Café: "the" film (1975)::Drama\n661::James::Animation\n'.encode("latin-1"),
        "ml-1m/users.dat": "1::F::1::10::48067\n",
    }
    (data_folder / "ml-1m.zip").write_bytes(archive(**members))
    data = load("ml-1m", at_least=4)
    assert data.users.labels.tolist() == ["1", "2"]
    assert data.titles == {"1193": 'Café: "the" film (1975)'}
    assert data.times.tolist() == [978300760, 978300000]


def test_ml_100k_unpacked_is_read_as_well(data_folder):
    folder = data_folder / "ml-100k"
    folder.mkdir()
    (folder / "u.data").write_text("196\t242\t3\t881250949\n186\t302\t0\t891717742\n")
    assert load("ml-100k").titles == {}
    (folder / "u.item").write_bytes('242|"Kolya" café (1996)|24-Jan-1997||http\n'.encode("latin-1"))
    data = load("ml-100k")
    assert data.titles == {"242": '"Kolya" café (1996)'}
    assert len(data) == 1


def test_a_recbole_version_of_a_movielens_set_is_accepted(data_folder):
    text = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t2\t5\t10\n1\t3\t1\t11\n"
    (data_folder / "ml-100k.inter").write_text(text)
    assert load("ml-100k", at_least=4).items.labels.tolist() == ["2"]


def test_the_lightgcn_lists_become_pairs_sorted_by_user_and_item(data_folder):
    (data_folder / "yelp2018").mkdir()
    (data_folder / "yelp2018" / "train.txt").write_text("10 3 20\n2 7 1\n5\n5 \n")
    (data_folder / "yelp2018" / "test.txt").write_text("2 3\n10 3\n")
    data = load("yelp2018")
    pairs = list(zip(data.users.labels[data.user], data.items.labels[data.item], strict=True))
    assert pairs == [("2", "1"), ("2", "3"), ("2", "7"), ("10", "3"), ("10", "20")]


def test_the_ncf_files_become_pairs_without_repeats(data_folder):
    (data_folder / "pinterest-20.train.rating").write_text("0\t9\t1\t1\n0\t2\t1\t1\n0\t9\t1\t1\n")
    (data_folder / "pinterest-20.test.rating").write_text("1\t2\t1\t1\n")
    data = load("pinterest")
    assert data.items.labels.tolist() == ["2", "9"]
    assert len(data) == 3
    (data_folder / "pinterest-20.test.rating").write_text("<html>\tnot found\n")
    with pytest.raises(DataError, match="not the pairs file it should be"):
        load("pinterest")


def test_polars_is_not_imported_with_the_room():
    import subprocess

    code = "import sys, corml.data; sys.exit(bool({'polars', 'narwhals', 'pandas', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_first_address_speaks_for_a_set():
    assert _known.get("movielens-small").address == ""
    assert _known.get("ml-20m").address == "https://files.grouplens.org/datasets/movielens/ml-20m.zip"
