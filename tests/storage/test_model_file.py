"""A model that was saved and read is the same model; a file whose parts do not fit together is refused."""

import json
import os
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

import corml
from corml.data.saved.pairs import decode_labels, encode_ids
from corml.errors import DataError, ModelFileError, UsageError
from corml.models.fitted import Outcome, learned
from corml.models.saved import model_file
from corml.persistence import container
from support import ODD_TEXTS, random_interactions, with_arrays

ODD = [text for text in ODD_TEXTS if len(text) < 100][:16]


@pytest.fixture(scope="module")
def odd_data():
    plain = random_interactions(3, users=30, items=len(ODD), mean=5)
    items = [ODD[int(label[1:])] for label in plain.items.labels[plain.item]]
    users = [ODD[int(label[1:])] if int(label[1:]) < len(ODD) else label for label in plain.users.labels[plain.user]]
    return corml.Interactions.from_pairs(users, items, titles={ODD[2]: "a title\nin two lines 🎬", ODD[5]: "NA"})


@pytest.fixture(scope="module", params=["corml", "popularity"])
def model(request, odd_data):
    made = corml.CoRML(rank=4, mix=0.7) if request.param == "corml" else corml.Popularity()
    return made.fit(odd_data)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.corml"


def saved(model, path, **options):
    model.save(path, **options)
    return corml.read_model(path)


def assert_same_answers(one, other, **query):
    a, b = one.recommend(**query), other.recommend(**query)
    assert np.array_equal(a.items, b.items)
    assert np.array_equal(a.scores, b.scores, equal_nan=True)
    assert (a.users, a.reasons, a.titles) == (b.users, b.reasons, b.titles)


# --- there and back --------------------------------------------------------------------------------------------------


def test_ids_titles_settings_and_facts_come_back(model, path):
    back = saved(model, path, evaluation={"ndcg@10": 0.25})
    assert type(back) is type(model)
    assert back.items_.labels.tolist() == model.items_.labels.tolist()
    assert back.users_.labels.tolist() == model.users_.labels.tolist()
    assert back.titles_ == model.titles_
    assert len(back.titles_) == 2
    assert back.get_params() == model.get_params()
    one, other = back.fitted_, model.fitted_
    assert dict(one.settings) == dict(other.settings)
    assert (one.fingerprint, one.source, one.plan) == (other.fingerprint, other.source, other.plan)
    assert [certificate.report() for certificate in one.certificates] == [
        certificate.report() for certificate in other.certificates
    ]
    assert one.evaluation == {"ndcg@10": 0.25}


def test_how_a_solver_went_step_by_step_is_not_kept(fitted, path):
    assert fitted.fitted_.certificates[0].trace
    assert saved(fitted, path).fitted_.certificates[0].trace == ()
    assert "trace" not in container.read(path).meta["notes"]["certificates"][0]


def test_every_array_comes_back_bit_by_bit(model, path):
    back = saved(model, path)
    arrays = [{"train": one.train_, "counts": one.counts_, **one.fitted_.arrays} for one in (model, back)]
    assert {name for name, array in arrays[0].items() if array is not None} == set(arrays[1])
    for name, other in arrays[1].items():
        for part in ("data", "indices", "indptr") if issparse(other) else ("T",):
            a, b = getattr(arrays[0][name], part), getattr(other, part)
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()


def test_answers_are_the_same_after_reading(model, path):
    back = saved(model, path)
    assert_same_answers(model, back, users=list(model.users_.labels))
    assert_same_answers(model, back, history=[[ODD[0]], [], ["nobody knows this"]], k=3)
    assert np.array_equal(model._popularity, back._popularity)


def test_saving_what_was_read_makes_the_same_file(model, path):
    back = saved(model, path, evaluation={"metrics": {"ndcg@10": 0.25}})
    again = path.with_name("again")
    back.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_a_file_without_histories_names_no_user_and_answers_histories(model, path):
    back = saved(model, path, history=False)
    content = path.read_bytes()
    assert not any(name.startswith(("users", "train")) for name in container.unpack(content).arrays)
    assert len(back.users_) == 0
    assert back.train_.shape == model.train_.shape
    assert np.array_equal(model._popularity, back._popularity)
    assert_same_answers(model, back, history=[[ODD[0], ODD[3]], []])
    with pytest.raises(UsageError, match="saved without its users"):
        back.recommend(["u20"])


@pytest.mark.parametrize("history", [True, False])
def test_what_was_read_without_histories_is_saved_without_them(model, path, history):
    back = saved(model, path, history=False)
    before = path.read_bytes()
    back.save(path, history=history)
    assert path.read_bytes() == before


def test_users_may_be_plain_numbers(path):
    data = corml.Interactions.from_pairs(np.arange(20) % 6, np.arange(20) % 7)
    model = corml.CoRML(rank=2).fit(data)
    assert_same_answers(model, saved(model, path), users=[3, "4"])


pairs = st.lists(st.tuples(st.integers(0, 8), st.sampled_from(ODD)), min_size=1, max_size=40)


@settings(max_examples=40)
@given(pairs, st.booleans(), st.sampled_from(["elementwise", "factored", "authors"]))
def test_any_tiny_model_answers_the_same_after_reading(tmp_path_factory, pairs, history, how):
    users, items = zip(*pairs, strict=True)
    model = corml.CoRML(rank=3, filter=how).fit(corml.Interactions.from_pairs(users, items))
    back = saved(model, tmp_path_factory.getbasetemp() / "tiny.corml", history=history)
    assert_same_answers(model, back, history=[[item] for item in ODD] + [list(items)], k=5)


def test_the_environment_is_told(model, path):
    model.save(path)
    made_with = container.read(path).meta["made_with"]
    assert made_with["python"] == ".".join(map(str, sys.version_info[:3]))
    assert made_with["corml"] == corml.__version__


def test_a_program_run_from_its_source_folder_can_save(monkeypatch):
    monkeypatch.setattr(model_file, "PACKAGES", ("corml", "a-package-nobody-installed"))
    assert model_file.environment()["a-package-nobody-installed"] == "unknown"


# --- what cannot be read is not written ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(odd_data):
    return corml.CoRML(rank=4).fit(odd_data)


def test_what_could_not_be_read_back_does_not_replace_a_good_model(fitted, path):
    fitted.save(path)
    before, lopsided = path.read_bytes(), fitted.H_.copy()
    lopsided.data[0] *= 2
    for broken, fault in (({"V": np.full_like(fitted.V_, np.nan)}, "not finite"), ({"H": lopsided}, "not symmetric")):
        with pytest.raises(ModelFileError, match=fault):
            with_arrays(fitted, **broken).save(path)
    with pytest.raises(UsageError, match="plain facts"):
        fitted.save(path, evaluation={"ndcg@10": float("nan")})
    assert path.read_bytes() == before


def test_where_nothing_can_be_written_is_said_before_the_work(fitted, path, monkeypatch):
    monkeypatch.setattr(model_file, "encode_ids", None)
    with pytest.raises(DataError, match="does not exist"):
        fitted.save(path / "deeper" / "still")


# --- files whose digest is right and whose contents are not ----------------------------------------------------------


class Forger:
    """Take a good file apart, let a test change a part, and put it together with a digest that is right."""

    def __init__(self, path):
        self.path = path
        contents = container.read(path)
        self.arrays, self.meta = dict(contents.arrays), json.loads(json.dumps(contents.meta))

    def refused(self, because):
        self.path.write_bytes(container.pack(self.arrays, self.meta))
        with pytest.raises(ModelFileError, match=because) as fault:
            corml.read_model(self.path)
        assert str(self.path.name) in str(fault.value)
        assert "\n" not in str(fault.value)


@pytest.fixture
def forged(fitted, path):
    fitted.save(path)
    return Forger(path)


def accepted(forged):
    forged.path.write_bytes(container.pack(forged.arrays, forged.meta))
    return corml.read_model(forged.path)


def test_an_unchanged_forgery_is_accepted_so_that_the_others_mean_something(forged, fitted):
    assert_same_answers(fitted, accepted(forged), users=list(fitted.users_.labels))
    del forged.meta["settings"]["precision"]  # which an older corml did not have
    assert accepted(forged).precision == "single"


SHAPES = [[30, 15], [29, 16], [30], [30, 16, 1], [], [-1, 16], [0, 16], [30.0, 16], ["30", 16], [True, 16], [2**40, 16]]


@pytest.mark.parametrize("shape", [*SHAPES, [30, 10**400], [None, 16], [[30], 16]])
def test_a_shape_that_is_not_that_of_the_ids_is_refused(forged, shape):
    forged.meta["shape"] = shape
    forged.refused("items and says|users and says|its shape")


def test_without_histories_a_number_of_users_takes_no_memory_and_must_be_possible(fitted, path):
    fitted.save(path, history=False)
    forged = Forger(path)
    forged.meta["shape"][0] = 2**31 - 1
    assert accepted(forged).train_.indptr.base.nbytes < 100
    for users in (0, -5, 2**31, 2**62, 10**30):
        forged.meta["shape"][0] = users
        forged.refused("its shape")


@pytest.mark.parametrize("kind", ["items", "users", "titles"])
def test_ids_and_titles_that_do_not_fit_are_refused(forged, kind):
    labels, arrays = decode_labels(forged.arrays, kind).tolist(), dict(forged.arrays)
    if kind != "titles":
        forged.arrays |= encode_ids(kind, [labels[1], *labels[1:]])
        forged.refused(f"some of its {kind[:-1]} ids occur twice")
    for other in (labels[:-1], [*labels, "one more"]):
        forged.arrays |= encode_ids(kind, other)
        forged.refused("items and says|users and says|titles for")
    for part in ("bytes", "offsets"):
        forged.arrays = {name: array for name, array in arrays.items() if name != f"{kind}.{part}"}
        forged.refused("missing or unreadable|no corml model has")


@pytest.mark.parametrize(
    "name", ["train.indptr", "train.indices", "H.indptr", "H.indices", "H.data", "V", "degrees", "counts"]
)
def test_a_missing_array_is_refused(forged, name):
    del forged.arrays[name]
    forged.refused("incomplete|missing")


@pytest.mark.parametrize("name", ["unknown", "train.data", "H", "V.data", "degrees.indptr", "../x"])
def test_an_array_that_the_model_does_not_have_is_refused(forged, name):
    forged.arrays[name] = np.zeros(3, dtype=np.float32)
    forged.refused("arrays that no corml model has")


@pytest.mark.parametrize("matrix", ["train", "H"])
@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("indptr", lambda a: np.concatenate([a[:3], [a[4] + 1], a[4:]])),
        ("indptr", lambda a: np.concatenate([[1], a[1:]])),
        ("indptr", lambda a: np.concatenate([a[:-1], [a[-1] - 1]])),
        ("indptr", lambda a: np.delete(a, 2)),
        ("indices", lambda a: np.concatenate([a[:5], [len(ODD)], a[6:]])),
        ("indices", lambda a: np.concatenate([a[:5], [-1], a[6:]])),
    ],
)
def test_a_matrix_that_does_not_add_up_is_refused(forged, matrix, part, change):
    name = f"{matrix}.{part}"
    forged.arrays[name] = change(forged.arrays[name]).astype(np.int32)
    forged.refused(f"its matrix {matrix} does not add up")


@pytest.mark.parametrize("name", ["V", "degrees", "H.data"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(forged, monkeypatch, name, value):
    array = forged.arrays[name].copy()
    array.flat[0] = value
    forged.arrays[name] = array
    check = container._check_arrays
    monkeypatch.setattr(container, "_check_arrays", lambda *given: given[1] == "The model" or check(*given))
    forged.refused("not finite")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("V", np.int64), ("degrees", np.int32), ("counts", np.float64), ("counts", np.uint8), ("H.data", np.int32),
     ("H.indices", np.float32), ("train.indptr", np.float64), ("items.bytes", np.int32)],
)  # fmt: skip
def test_a_wrong_type_is_refused(forged, name, dtype):
    forged.arrays[name] = forged.arrays[name].astype(dtype)
    forged.refused("wrong type|does not add up|do not add up")


@pytest.mark.parametrize("name", ["V", "degrees", "counts"])
def test_a_wrong_shape_is_refused(forged, name):
    array = forged.arrays[name]
    for other in (array[:-1], array[None], np.concatenate([array, array[:1]]), array.reshape(-1)[:1].reshape(())):
        forged.arrays[name] = other
        forged.refused(f"its array {name} has the wrong shape")


def test_a_dense_matrix_where_a_sparse_one_belongs_is_refused(forged):
    for part in ("indptr", "indices", "data"):
        del forged.arrays[f"H.{part}"]
    forged.arrays["H"] = np.zeros((len(ODD), len(ODD)), dtype=np.float32)
    forged.refused("its matrix H is not")


@pytest.mark.parametrize(
    "entries",
    [{(0, 1): 7.0}, {(2, 5): 0.0}, {(3, 3): 0.5}, {(15, 0): 1e-30}, {(0, 1): -0.5, (1, 0): -0.5}],
    ids=str,
)
def test_an_h_that_is_not_symmetric_hollow_and_positive_is_refused(forged, entries):
    parts = (forged.arrays[f"H.{part}"] for part in ("data", "indices", "indptr"))
    dense = csr_array(tuple(parts), shape=(len(ODD),) * 2).toarray()
    for place, value in entries.items():
        dense[place] = value
    forged.arrays |= container.encode_sparse("H", csr_array(dense))
    forged.refused("H is not symmetric, hollow and without negative")


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("degrees", value) for value in (0.0, -1.0, 0.5, 1e9)), *(("counts", value) for value in (-1, 31, 2**62, 0))],
)
def test_degrees_and_counts_that_are_not_those_of_the_data_are_refused(forged, name, value):
    forged.arrays[name] = np.concatenate([[value], forged.arrays[name][1:]])
    forged.refused("its degrees are not those of its data" if name == "degrees" else "its counts are not")


def test_popularity_too_must_be_that_of_the_data_and_of_the_users_there_are(odd_data, path):
    corml.Popularity().fit(odd_data).save(path)
    forged = Forger(path)
    forged.arrays["degrees"] = forged.arrays["degrees"] + 1
    forged.refused("its degrees are not those of its data")
    corml.Popularity().fit(odd_data).save(path, history=False)
    for count in (30, 31, -1):
        forged = Forger(path)
        forged.arrays["counts"][0], forged.arrays["degrees"][0] = count, count
        if count == 30:
            assert accepted(forged).counts_[0] == count
            odd = path.read_bytes()
        else:
            path.write_bytes(odd)
            forged.refused("its counts are not numbers of users")


@pytest.mark.parametrize("name", ["corm", "", "os", "_hidden", "__init__", "../popularity", "Popularity", "a\nb"])
def test_an_unknown_model_is_refused(forged, name):
    forged.meta["model"] = name
    forged.refused("There is no model")


def test_the_arrays_of_one_model_are_refused_under_the_name_of_another(forged):
    forged.meta |= {"model": "popularity", "settings": {}}
    forged.refused("no popularity model has|its degrees")


@pytest.mark.parametrize(
    ("name", "value"),
    [("mux", 1), *(("mix", value) for value in (0, 1.5, "much", None, [0.5], 10**400)),
     *(("rank", value) for value in (0, 2.5, True)), ("filter", "none"), ("filter", ["elementwise"]), ("tol", {}),
     ("STATE", {}), ("H_", 1), ("__class__", "x")],
)  # fmt: skip
def test_a_setting_that_is_unknown_or_out_of_range_is_refused(forged, name, value):
    forged.meta["settings"][name] = value
    forged.refused("was made by another corml")


@pytest.mark.parametrize("fact", ["model", "settings", "shape", "data", "notes", "evaluation", "made_with"])
def test_a_missing_fact_is_refused(forged, fact):
    del forged.meta[fact]
    forged.refused(f"has no valid {fact}")


def test_nothing_is_left_beside_the_file(fitted, path):
    for _ in range(3):
        fitted.save(path)
    assert os.listdir(path.parent) == ["m.corml"]


@dataclass(kw_only=True, eq=False)
class WithVectors(corml.Popularity):
    """A model that learns something of each user."""

    vectors_ = learned(np.ndarray, "users", None)

    def _fit(self, call):
        arrays = {**super()._fit(call).arrays, "vectors": np.ones((len(call.train.users), 2), dtype=np.float32)}
        return Outcome(arrays=arrays)


@pytest.mark.parametrize("history", [True, False])
def test_what_was_learned_of_users_goes_with_their_histories(odd_data, path, history):
    WithVectors().fit(odd_data).save(path, history=history)
    assert ("vectors" in container.read(path).arrays) is history
