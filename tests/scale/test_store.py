"""A store holds what `load` reads from the same files, whatever they are cut into."""

import json
import shutil

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import corml
from corml.errors import CormlError, DataError, DataWarning, ResourceError, UsageError
from corml.persistence import atomic

SMALL = 1 << 20  # the least budget: batches of 2,048 rows, buckets of 4,096


def contents(data):
    """What interactions hold, by label: pairs with times and weights, pairs seen, and what others have seen."""

    def listed(some):
        if some is None:
            return []
        times = [None] * len(some) if some.times is None else some.times.tolist()
        weights = [None] * len(some) if some.weights is None else some.weights.tolist()
        return sorted(
            zip(some.users.labels[some.user], some.items.labels[some.item], times, weights, strict=True),
            key=lambda row: row[:2],
        )

    others = data.others
    return {
        "users": sorted(data.users),
        "items": list(data.items),
        "pairs": listed(data),
        "seen": listed(data.seen),
        "others": [] if others is None else sorted(others.users),
        "of others": listed(others),
        "seen by others": listed(None if others is None else others.seen),
    }


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


OPTIONS = [
    {},
    pytest.param({"at_least": 4}, marks=pytest.mark.slow),
    pytest.param({"rating": False}, marks=pytest.mark.slow),
    pytest.param({"time": False}, marks=pytest.mark.slow),
    {"at_least": 3, "rating_strength": True},
    {"rating": False, "weight": "rating", "transform": "log1p"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_store_of_many_parts_is_what_load_reads(parts, tmp_path, options):
    store = corml.build_store([parts / "*.csv*", parts / "*.parquet"], tmp_path / "s", memory=SMALL, **options)
    loaded, read = corml.load(tmp_path / "whole.parquet", **options), store.interactions()
    assert len(store.manifest.user_starts) > 20  # buckets
    assert contents(read) == contents(loaded)
    assert read.fingerprint == loaded.fingerprint
    assert store.shape == read.shape
    assert len(store) == len(read)
    known = ("rows", "bad_rows", "without_id", "filtered", "duplicates", "conflicts")
    assert {name: read.source[name] for name in known} == {name: loaded.source[name] for name in known}


def test_both_orientations_are_the_same_matrix(parts, tmp_path):
    options = {"at_least": 3, "rating_strength": True}
    store = corml.build_store(parts / "*.parquet", tmp_path / "s", memory=SMALL, **options)
    data = store.interactions()
    by_user, by_item = list(store.chunks()), list(store.item_chunks())
    assert len(by_item) > 1
    for chunk in by_user:
        assert (chunk.matrix != data.weighted[chunk.first : chunk.first + len(chunk)]).nnz == 0
    turned, times = data.weighted.T.tocsr(), data.matrix.copy()
    times.data = data.times_by_row
    times = times.T.tocsr()
    times.sort_indices()
    turned.sort_indices()
    for chunk in by_item:
        rows = slice(chunk.first, chunk.first + len(chunk))
        assert (chunk.matrix != turned[rows]).nnz == 0
        assert np.array_equal(chunk.indices, turned[rows].indices)
        assert np.array_equal(chunk.times, times[rows].data)
    assert sum(map(len, by_user)) == store.users
    assert sum(map(len, by_item)) == store.items
    assert [len(labels) for labels in store.user_labels()] == [len(chunk) for chunk in by_user]


IDS = st.sampled_from(["1", "01", "1.0", "ü", "a b", "x\ty", 'q"q', "l\nl", "NA", "-", "日本", "u" * 300])
ROWS = st.lists(st.tuples(IDS, IDS, st.sampled_from([0, 1, 2.5, 4, 5]), st.integers(0, 9)), min_size=1, max_size=60)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS, cuts=st.integers(1, 5), at_least=st.sampled_from([None, 2, 4]), timed=st.booleans(), text=st.booleans()
)
def test_any_small_table(rows, cuts, at_least, timed, text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    frame = pl.DataFrame(rows, schema=["user", "item", "rating", "time"], orient="row")
    frame = frame if timed else frame.drop("time")
    size = -(-len(frame) // cuts)
    (folder / "parts").mkdir()
    for number, start in enumerate(range(0, len(frame), size)):
        part, name = frame.slice(start, size), folder / "parts" / f"{number}"
        part.write_csv(name.with_suffix(".csv")) if text else part.write_parquet(name.with_suffix(".parquet"))
    try:
        loaded = corml.load(folder / "parts", at_least=at_least)
    except DataError:
        with pytest.raises(DataError):
            corml.build_store(folder / "parts", folder / "s", at_least=at_least)
        return
    store = corml.build_store(folder / "parts", folder / "s", at_least=at_least)
    assert contents(store.interactions()) == contents(loaded)
    assert store.interactions().fingerprint == loaded.fingerprint
    shutil.rmtree(folder)


def test_text_is_cut_at_line_ends_outside_of_quotes(tmp_path):
    lines = [f'"u{n % 997}","a ""title""\nof {n % 13} lines, more",{n % 5 + 1}' for n in range(20_000)]
    (tmp_path / "a.csv").write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    (tmp_path / "b.csv").write_text("user,item,rating\n" + "\n".join(f"#v{n % 89},{n},3" for n in range(20_000)))
    for name in ("a.csv", "b.csv"):
        store = corml.build_store(tmp_path / name, tmp_path / f"{name}.store", memory=SMALL)
        assert contents(store.interactions()) == contents(corml.load(tmp_path / name))


def test_a_file_without_header_keeps_every_row(tmp_path):
    (tmp_path / "a.csv").write_text("\n".join(f"#{n % 2999},{n % 71}" for n in range(30_000)).replace("#0,0", "0,0"))
    store = corml.build_store(tmp_path / "a.csv", tmp_path / "s", memory=SMALL, header=False)
    assert store.manifest.counts["rows"] == 30_000
    assert contents(store.interactions()) == contents(corml.load(tmp_path / "a.csv", header=False))


def test_columns_named_by_folders_are_read(tmp_path):
    for day in ("2024-01-01", "2024-01-02"):
        (tmp_path / "in" / f"time={day}").mkdir(parents=True)
        frame = pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"]})
        frame.write_parquet(tmp_path / "in" / f"time={day}" / "part.parquet")
    store = corml.build_store(tmp_path / "in", tmp_path / "s")
    assert store.manifest.timed
    assert contents(store.interactions()) == contents(corml.load(tmp_path / "in"))


def test_a_part_may_be_all_rows_without_a_user(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\n" + "null,1\n" * 5000)
    (tmp_path / "b.csv").write_text("user,item\n" + "a,1\nb,2\n" * 5000)
    notes = []
    options = {"null_ids": "drop"}
    with pytest.warns(DataWarning, match="rows without a user or an item left out: 5,000 of 15,000"):
        store = corml.build_store(tmp_path / "*.csv", tmp_path / "s", memory=SMALL, notify=notes.append, **options)
    with pytest.warns(DataWarning, match="null ids: 5,000"):
        assert contents(store.interactions()) == contents(corml.load(tmp_path / "*.csv", **options))
    assert len(notes) == 2  # the columns, the first batch


# --- what is refused -------------------------------------------------------------------------------------------------


def test_bad_rows_are_named_by_file_and_line(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\n" + "a,1\n" * 90_000)
    (tmp_path / "b.csv").write_text("user,item\n" + "a,1\n" * 89_999 + ",1\n" + "a,2\n" * 9)
    with pytest.raises(DataError, match=r"b\.csv', line 90,001: the user is an empty id"):
        corml.build_store([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "s", memory=SMALL)
    with pytest.warns(DataWarning, match="bad rows skipped: 1 of 180,009"):
        store = corml.build_store(tmp_path / "*.csv", tmp_path / "s2", memory=SMALL, skip_bad_rows=True)
    assert store.manifest.counts["bad_rows"] == 1
    with pytest.warns(DataWarning, match="bad rows skipped: 1, "):
        assert contents(store.interactions()) == contents(corml.load(tmp_path / "*.csv", skip_bad_rows=True))


def test_too_many_bad_rows_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\n" + "a,1\n,1\n" * 10)
    with pytest.raises(DataError, match="10 of 20 rows are bad, more than 1%"):
        corml.build_store(tmp_path / "a.csv", tmp_path / "s", skip_bad_rows=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k_core": 5}, "k_core= .* is given when a store is loaded"),
        ({"event": "kind"}, "cannot be made with event="),
        ({"half_life": "9d", "time": "time"}, "cannot be made with half_life="),
        ({"at_least": 3, "low_ratings": "negative"}, "keeps low ratings as seen"),
        ({"user": "nobody"}, "has no column 'nobody'"),
    ],
)
def test_what_it_cannot_do_is_refused(tmp_path, options, said):
    (tmp_path / "a.csv").write_text("user,item,rating,time\na,1,4,7\n")
    with pytest.raises(CormlError, match=said):
        corml.build_store(tmp_path / "a.csv", tmp_path / "s", **options)
    assert not (tmp_path / "s").exists()


def test_dates_that_only_all_rows_could_explain_need_a_format(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,time\na,1,01.02.2024\nb,2,31.01.2024\n")
    with pytest.raises(DataError, match="day or month comes first"):
        corml.build_store(tmp_path / "a.csv", tmp_path / "s")
    assert not (tmp_path / "s").exists()  # so that another format may be tried in the same folder
    store = corml.build_store(tmp_path / "a.csv", tmp_path / "s", time_format="%d.%m.%Y")
    assert contents(store.interactions()) == contents(corml.load(tmp_path / "a.csv"))


@pytest.mark.parametrize("name", ["a.npz", "a.xlsx", "a.zip", "nothing.csv"])
def test_kinds_of_files_that_cannot_be_cut_are_refused(tmp_path, name):
    if name != "nothing.csv":
        (tmp_path / name).write_text("{}")
    with pytest.raises(CormlError, match=r"cannot be read in slices|There is no file"):
        corml.build_store(tmp_path / name, tmp_path / "s")


def test_another_folder_is_not_written_into(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\na,1\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not a store"):
        corml.build_store(tmp_path / "a.csv", tmp_path / "full")
    with pytest.raises(UsageError, match="lies in the folder to write"):
        corml.build_store(tmp_path / "a.csv", tmp_path)


def test_a_finished_store_is_left_alone_and_other_data_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\na,1\n")
    first = corml.build_store(tmp_path / "a.csv", tmp_path / "s")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "s").rglob("*")}
    assert corml.build_store(tmp_path / "a.csv", tmp_path / "s").fingerprint == first.fingerprint
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "s").rglob("*")} == before
    with pytest.raises(UsageError, match="other files, options"):
        corml.build_store(tmp_path / "a.csv", tmp_path / "s", trim=True)
    (tmp_path / "a.csv").write_text("user,item\na,2\n")  # as long, and other
    with pytest.raises(UsageError, match="other files, options"):
        corml.build_store(tmp_path / "a.csv", tmp_path / "s")


# --- opening ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(parts, tmp_path):
    return corml.build_store(parts / "*.parquet", tmp_path / "s", memory=8 * SMALL, at_least=3)


def test_a_flipped_bit_is_found_wherever_it_is(store):
    for path in sorted(store.path.rglob("*")):
        if not path.is_file():
            continue
        whole = path.read_bytes()
        at = len(whole) // 2
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(DataError, match=r"damaged|cannot be read|not a store"):
            corml.Store(store.path, verify=True)
        path.write_bytes(whole)
    corml.Store(store.path, verify=True)


def test_a_flipped_bit_is_found_when_its_file_is_read(store):
    path = store.path / "by_user" / "indices-00000.npy"
    whole = bytearray(path.read_bytes())
    whole[-1] ^= 1
    path.write_bytes(whole)
    opened = corml.Store(store.path)
    with pytest.raises(DataError, match=r"by_user/indices-00000\.npy of the store .* is damaged"):
        next(opened.chunks())


def test_what_is_mapped_can_be_written_to_and_the_file_stays(store):
    before = (store.path / "by_user" / "indices-00000.npy").read_bytes()
    next(store.chunks()).indices[:] = 0
    assert (store.path / "by_user" / "indices-00000.npy").read_bytes() == before


def test_a_store_that_does_not_fit_is_refused_before_it_is_read(store, monkeypatch):
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 1000)
    with pytest.raises(ResourceError, match=r"Holding all of .* needs .* Store\.chunks\(\)"):
        store.interactions()


def test_a_manifest_of_another_format_is_refused(store):
    manifest = store.path / "manifest.json"
    known = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(known | {"format": 99}))
    with pytest.raises(DataError, match="has format '99' and this version of corml reads 1"):
        corml.Store(store.path)


# --- load and the models ---------------------------------------------------------------------------------------------


def test_load_takes_a_store_and_thins_it(store, parts):
    thin = {"min_user": 30, "k_core": 5}
    assert contents(corml.load(store.path, **thin)) == contents(corml.load(parts / "*.parquet", at_least=3, **thin))
    assert contents(corml.load(f"{store.path}/")) == contents(corml.load(parts / "*.parquet", at_least=3))
    with pytest.raises(UsageError, match=r"is a store.* leave at_least= \(--at-least\) out"):
        corml.load(store.path, at_least=4)
    titled = corml.load(store.path, titles={"1": "Toy Story"})
    assert titled.title("1") == "Toy Story"


def test_the_catalogue_and_so_the_model_is_that_of_the_loaded_files(store, parts):
    loaded, stored = corml.load(parts / "*.parquet", at_least=3), corml.load(store.path)
    models = [corml.CoRML(rank=4, adapt=False, max_steps=2, tol=0).fit(data) for data in (loaded, stored)]
    lists = [model.recommend(["1", "15", "400"], k=5).items.tolist() for model in models]
    assert lists[0] == lists[1]


# --- a store that cannot be made -------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
def test_where_the_data_cannot_be_used_nothing_is_left_behind(shop_rows, tmp_path, inside):
    if inside:
        (tmp_path / "s").mkdir()
    with pytest.raises(DataError, match="0 positives after the threshold"):
        corml.build_store(shop_rows, tmp_path / "s", at_least=9)
    assert not (tmp_path / "s").exists()
    assert corml.build_store(shop_rows, tmp_path / "s", at_least=3).users


def test_what_a_full_disk_stopped_is_kept_and_the_error_says_how_to_go_on(shop_rows, tmp_path, monkeypatch):
    expected = corml.build_store(shop_rows, tmp_path / "whole", memory=SMALL, at_least=3).fingerprint
    fill, left = atomic._fill, iter(range(12))

    def full(handle, parts):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        fill(handle, parts)

    monkeypatch.setattr(atomic, "_fill", full)
    with pytest.raises(DataError, match=r"No space left on device.* is kept in .*: the same command resumes"):
        corml.build_store(shop_rows, tmp_path / "s", memory=SMALL, at_least=3)
    assert list((tmp_path / "s" / "work" / "split").iterdir())
    monkeypatch.undo()
    assert corml.build_store(shop_rows, tmp_path / "s", memory=SMALL, at_least=3).fingerprint == expected


def test_a_folder_with_work_of_somebody_else_is_left_alone(shop_rows, tmp_path):
    (tmp_path / "mine" / "work").mkdir(parents=True)
    (tmp_path / "mine" / "work" / "thesis.txt").write_text("years")
    with pytest.raises(UsageError, match="exists and is not a store"):
        corml.build_store(shop_rows, tmp_path / "mine")
    assert (tmp_path / "mine" / "work" / "thesis.txt").read_text() == "years"
