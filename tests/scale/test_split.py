"""A split of a store has the pairs of the split in memory, whatever the store is cut into; its parts are stores."""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corml
from corml.data.store import writing
from corml.errors import DataError, SettingError, UsageError
from corml.splits import _draw

WAYS = [
    ("ratio", {}),
    ("ratio", {"shares": (0.8, 0.2), "seed": 7}),
    ("temporal", {}),
    ("temporal", {"moments": [2000, 4000]}),
    ("temporal", {"shares": (0.9, 0.1)}),
    ("leave-last", {"n": 2, "n_valid": 1}),
    ("k-fold", {"fold": 2, "valid_fold": 0}),
    ("new-users", {}),
    ("new-users", {"shares": (0.7, 0.3), "given": 0.5}),
    ("new-items", {"known": 0.2}),
]


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def pairs_of(data):
    return set(zip(data.users.labels[data.user], data.items.labels[data.item], strict=True))


@pytest.mark.parametrize(("how", "options"), WAYS, ids=str)
def test_the_pairs_of_a_part_are_those_of_the_split_in_memory(parts_of, in_memory, how, options):
    split, expected = parts_of(how, **options), corml.split(in_memory, how, **options)
    assert split.parts().keys() == expected.parts().keys()
    for name, part in split.parts().items():
        assert part.interactions().fingerprint == expected.parts()[name].fingerprint
    assert split.counts() == expected.counts()
    plain = json.loads(json.dumps(expected.procedure))
    assert {**split.procedure, "data": None} == {**plain, "data": None}
    assert split.interactions().fingerprint == expected.fingerprint


def test_its_name_in_a_file_cannot_move_the_cursor(parts_of):
    shown = repr(replace(parts_of("ratio"), procedure={"name": "\x1b[2Jratio\n\u202e"}))
    assert shown.isprintable()
    assert "ratio" in shown


@pytest.mark.parametrize("how", ["ratio", "temporal", "new-users"])
def test_it_is_the_same_for_any_cutting_into_parts(parts_of, shop_rows, tmp_path, how):
    whole = corml.build_store(shop_rows, tmp_path / "one", at_least=3)
    assert len(whole.manifest.user_starts) == 2
    split = corml.split(whole, how, out=tmp_path / "parts")
    assert split.interactions().fingerprint == parts_of(how).interactions().fingerprint


@pytest.mark.parametrize("how", ["ratio", "new-users"])
def test_parts_are_stores_on_the_users_and_items_of_the_store(parts_of, shop, how):
    split = parts_of(how)
    split.verify()
    for part in split.parts().values():
        assert part.manifest.user_starts == shop.manifest.user_starts
        assert part.item_labels().equals(shop.item_labels())
        assert all(a.equals(b) for a, b in zip(part.user_labels(), shop.user_labels(), strict=True))
        data = part.interactions()
        turned = data.matrix.T.tocsr()
        for chunk in part.item_chunks():
            assert (chunk.matrix != turned[chunk.first : chunk.first + len(chunk)]).nnz == 0
        assert part.manifest.split["of"] == shop.fingerprint


def test_what_was_only_seen_and_who_likes_nothing_are_in_every_part(parts_of, in_memory):
    for part in parts_of("ratio").parts().values():
        data = part.interactions()
        assert pairs_of(data.seen) == pairs_of(in_memory.seen)
        assert sorted(data.others.users) == sorted(in_memory.others.users)
        assert pairs_of(data.others.seen) == pairs_of(in_memory.others.seen)


def test_items_without_a_train_pair_stay_in_the_catalogue(parts_of, shop):
    split = parts_of("new-items", known=0.2)
    assert split.counts()["cold items"] > 0
    assert split.train.items == shop.items


def test_weights_go_with_their_pairs(shop_rows, tmp_path):
    options = {"at_least": 3, "rating_strength": True}
    store = corml.build_store(shop_rows, tmp_path / "s", memory=1 << 20, **options)
    split = corml.split(store, "ratio", out=tmp_path / "parts")
    expected = corml.split(store.interactions(), "ratio")
    assert split.train.manifest.weighted
    assert split.interactions().fingerprint == expected.fingerprint


def test_a_store_without_times_is_split_at_random_and_by_users(shop_rows, tmp_path):
    store = corml.build_store(shop_rows, tmp_path / "s", memory=1 << 20, time=False)
    split = corml.split(store, "new-users", out=tmp_path / "parts")
    assert split.interactions().fingerprint == corml.split(store.interactions(), "new-users").fingerprint
    for how in ("temporal", "leave-last"):
        with pytest.raises(DataError, match="needs the time of each pair, and these data have none"):
            corml.split(store, how, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_split_is_opened_by_its_folder(parts_of):
    made = parts_of("ratio")
    opened = corml.read_split(made.path)
    assert opened.fingerprint == made.fingerprint
    assert opened.counts() == made.counts()
    sizes = ", ".join(f"{len(part):,} {name}" for name, part in made.parts().items())
    assert repr(opened) == f"StoreSplit(ratio: {sizes})"


def test_where_files_cannot_be_linked_they_are_copied(shop, parts_of, tmp_path, monkeypatch):
    def refuse(*names, **options):
        raise OSError

    monkeypatch.setattr(writing.os, "link", refuse)
    corml.split(shop, "ratio", out=tmp_path / "parts")
    assert files_of(tmp_path / "parts") == files_of(parts_of("ratio").path)


# --- numbers by rank -------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=60), cut=st.integers(1, 9), data=st.data())
def test_numbers_at_ranks_are_found_without_holding_them(values, cut, data):
    ranks = sorted(data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=3)))
    array, counted = np.array(values), []

    def walk():
        counted.append(1)
        return (_draw.ordered(array[at : at + cut]) for at in range(0, len(array), cut))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_draw, "HELD", 0)
        found = [_draw.value_of(number) for number in _draw.at_ranks(walk, ranks)]
    assert found == [np.sort(array)[rank] for rank in ranks]
    assert len(counted) == 5
    assert [_draw.value_of(number) for number in _draw.at_ranks(walk, ranks)] == found


@pytest.mark.parametrize("how", ["temporal", "new-users"])
def test_cuts_are_the_same_where_numbers_are_not_held(shop, parts_of, tmp_path, monkeypatch, how):
    monkeypatch.setattr(_draw, "HELD", 100)
    assert corml.split(shop, how, out=tmp_path / "parts").fingerprint == parts_of(how).fingerprint


# --- stopped and killed ----------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.mark.parametrize("how", ["new-users"])
def test_stopped_after_any_step_it_goes_on_and_nothing_done_is_done_again(shop, parts_of, tmp_path, how):
    out, stops = tmp_path / "parts", 0
    for stop in range(0, 1000, 3):
        left = iter(range(stop + 1))

        def stopping(*step, left=left):
            if next(left, None) is None:
                raise Stop

        before = {path.stat().st_ino for path in out.rglob("*.*") if path.is_file()}
        try:
            corml.split(shop, how, out=out, progress=stopping)
        except Stop:
            stops += 1
            with pytest.raises(DataError, match="is an unfinished split: run the same corml data split again"):
                corml.read_split(out)
            assert {path.stat().st_ino for path in out.rglob("*.*") if path.is_file()} >= before
        else:
            break
    assert stops > 5
    assert files_of(out) == files_of(parts_of(how).path)


SPLITTER = """
import sys
import corml
store = corml.Store(sys.argv[1])
print("begun", flush=True)
corml.split(store, sys.argv[3], out=sys.argv[2])
"""


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(shop, parts_of, tmp_path, kills):
    rng, out, killed, ended = random.Random(kills), tmp_path / "parts", 0, 0
    whole = {how: files_of(parts_of(how).path) for how in ("temporal", "new-users")}
    ways = itertools.cycle(whole)
    how = next(ways)
    while killed < kills:
        command = [sys.executable, "-c", SPLITTER, str(shop.path), str(out), how]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            time.sleep(rng.random() * 0.6)
            child.send_signal(signal.SIGKILL)
        killed += child.returncode == -signal.SIGKILL and out.exists()
        if (out / "split.json").exists() or killed == kills:
            corml.split(shop, how, out=out)
            assert files_of(out) == whole[how]
            shutil.rmtree(out)
            how, ended = next(ways), ended + 1
    assert ended


# --- refusals --------------------------------------------------------------------------------------------------------


def test_what_cannot_be_split_says_why(shop, in_memory, tmp_path):
    out = tmp_path / "parts"
    with pytest.raises(UsageError, match="The split of a store is a folder: name it with out='folder'"):
        corml.split(shop, "ratio")
    with pytest.raises(UsageError, match=r"out is for the split of a Store: save one of Interactions with \.save"):
        corml.split(in_memory, "ratio", out=out)
    with pytest.raises(UsageError, match="The split 'authors' needs all pairs in memory"):
        corml.split(shop, "authors", out=out)
    with pytest.raises(SettingError, match="The split 'ratio' has no option 'sed'"):
        corml.split(shop, "ratio", out=out, sed=3)
    with pytest.raises(SettingError, match="shares of the split 'ratio' must be"):
        corml.split(shop, "ratio", out=out, shares=(2, 1))
    with pytest.raises(DataError, match="No pair is earlier than -5, so train would be empty"):
        corml.split(shop, "temporal", out=out, moments=-5)
    with pytest.raises(UsageError, match="lies in the folder to write"):
        corml.split(shop, "ratio", out=shop.path.parent)
    assert not out.exists()
    out.mkdir()
    (out / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="exists and is not a split"):
        corml.split(shop, "ratio", out=out)
    assert (out / "mine.txt").read_text() == "keep"


def test_a_folder_with_another_split_is_refused_finished_or_not(shop, parts_of, tmp_path):
    with pytest.raises(UsageError, match="has a split of another store or by other options"):
        corml.split(shop, "ratio", out=parts_of("ratio").path, seed=1)

    def stop(*step):
        raise Stop

    with pytest.raises(Stop):
        corml.split(shop, "ratio", out=tmp_path / "parts", progress=stop)
    with pytest.raises(UsageError, match="has a split of another store or by other options"):
        corml.split(shop, "ratio", out=tmp_path / "parts", seed=1)
    corml.split(shop, "ratio", out=tmp_path / "parts")


def test_a_finished_split_is_left_alone(shop, parts_of):
    folder = parts_of("ratio").path
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert corml.split(shop, "ratio", out=folder).fingerprint == parts_of("ratio").fingerprint
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_part_that_is_another_store_or_damaged_is_an_error(shop, tmp_path):
    split = corml.split(shop, "ratio", out=tmp_path / "parts")
    path = split.path / "train" / "by_user" / "indices-00002.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"by_user/indices-00002\.npy of the store .* is damaged"):
        list(corml.read_split(split.path).pieces())
    shutil.rmtree(split.path / "valid")
    os.rename(split.path / "test", split.path / "valid")
    shutil.copytree(split.path / "valid", split.path / "test")
    with pytest.raises(DataError, match=r"valid of .* is not the set that was written"):
        corml.read_split(split.path)
    with pytest.raises(DataError, match="is a split of a store: name a part of it, such as its folder train"):
        corml.load(split.path)
    (split.path / "split.json").write_text("{}")
    with pytest.raises(DataError, match=r"The split\.json of .* is damaged, or of another version"):
        corml.read_split(split.path)
