"""Model files that somebody forged, with digests that are right: everything a later call relies on is checked."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import corml
from attack.arena import _status
from attack.targets import rehashed
from attack.variants import SMALL
from corml import models
from corml._runtime.finite import LARGEST
from corml._runtime.settings import declared
from corml.errors import ModelFileError, NumericalError, UsageError
from corml.models.fitted import Outcome
from corml.persistence import container
from corml.service.export import export_model
from support import forge, random_interactions, with_arrays, with_weights

MIB = 1 << 20


@pytest.fixture(scope="module")
def data():
    return random_interactions(3, users=30, items=16)


@pytest.fixture(scope="module")
def saved(data, tmp_path_factory):
    """The arrays and facts of a fitted model, by its name."""
    folder = tmp_path_factory.mktemp("saved")

    def save(name, **settings):
        path = folder / "m.corml"
        models.make(name, settings).fit(data).save(path, evaluation={"metrics": {"ndcg@5": 0.5}})
        contents = container.read(path)
        return dict(contents.arrays), dict(contents.meta)

    return save


def forged(arrays, meta):
    """A model of such a file."""
    return models.from_contents(container.unpack(container.pack(arrays, meta), "m.corml"))


def taken_by(call):
    """The bytes that a call takes at its peak, beside what was there before."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    call()
    return _status("VmHWM") - before


# --- memory of a load ------------------------------------------------------------------------------------------------


def test_a_gf_cf_of_users_that_are_only_counted_is_refused(saved):
    arrays, meta = saved("gf-cf", route="users")
    nobody = {name: array for name, array in arrays.items() if not name.startswith(("users", "train"))}
    with pytest.raises(ModelFileError, match="scores through the histories of its users"):
        forged(nobody, {**meta, "shape": [2**29, meta["shape"][1]]})


@pytest.mark.parametrize("name", ["gf-cf", "corml", "ease", "popularity", "item-knn"])
def test_half_a_billion_users_that_are_only_counted_take_no_memory(name, data, tmp_path):
    settings = {"route": "pairs"} if name == "gf-cf" else {}
    good, path = tmp_path / "good.corml", tmp_path / "m.corml"
    models.make(name, settings).fit(data).save(good, history=False)
    shutil.copy(good, path)
    forge(path, shape=[2**29, container.read(good).meta["shape"][1]])

    def ask(path):
        model = corml.read_model(path)
        model.recommend(history=[["i1", "i2"]])
        model.similar("i1")
        assert model.seen_.nnz == 0
        if name not in ("popularity",):
            export_model(model, "sqlite", path.with_suffix(".sqlite"), force=True)

    ask(good)  # what is compiled once
    assert taken_by(lambda: ask(path)) < 2 * path.stat().st_size + 64 * MIB


def bomb(header, path):
    """A file with this header and a right digest."""
    path.write_bytes(rehashed(len(header).to_bytes(8, "little") + header + bytes(32)))
    return path


def escaped(text, *, hidden):
    """Facts as they stand in a header; hidden, with every brace written as a number."""
    inner = json.dumps(text)[1:-1]
    return inner.replace("{", "\\u007b").replace("}", "\\u007d").replace(",", "\\u002c") if hidden else inner


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "escaped"])
@pytest.mark.parametrize("piece", ["{}", "[]", '{"a":1}', '""'])
def test_a_header_of_millions_of_elements_is_refused_within_the_promise(piece, hidden, tmp_path):
    count = 700_000
    beginning = f'{{\\"format\\": {container.FORMAT}, \\"facts\\": '
    inner = "[" + ",".join([piece] * count) + "]}"
    header = f'{{"__metadata__":{{"corml":"{beginning}{escaped(inner, hidden=hidden)}"}}}}'.encode()
    path = bomb(header, tmp_path / "m.corml")

    def read():
        with pytest.raises(ModelFileError, match="or its beginning is damaged"):
            corml.read_model(path)

    assert taken_by(read) < 2 * path.stat().st_size + 64 * MIB


def test_a_header_is_read_up_to_its_bound_and_not_beyond():
    def parsed(text):
        return container._parsed(json.dumps({"__metadata__": {"corml": text}}, ensure_ascii=False).encode())

    assert parsed("x" * (container.LONGEST - 100))
    with pytest.raises(ValueError, match="8,388,608 are the most"):
        parsed("x" * container.LONGEST)
    with pytest.raises(ValueError, match="are the most"):  # one odd character makes every other one larger
        parsed("x" * (container.LONGEST // 2) + "\N{GRINNING FACE}")


def test_what_could_not_be_read_is_not_written(data, tmp_path):
    model = corml.Popularity().fit(data)
    with pytest.raises(UsageError, match="200,000 are the most that are read"):
        model.save(tmp_path / "m.corml", evaluation={"many": [[]] * 200_000})
    with pytest.raises(UsageError, match="8,388,608 are the most that are read"):
        model.save(tmp_path / "m.corml", evaluation={"long": "x" * (9 << 20)})
    assert not (tmp_path / "m.corml").exists()


def test_facts_within_facts_without_end_are_refused(saved):
    arrays, meta = saved("popularity")
    deep = json.loads("[" * 60 + "]" * 60)
    text = json.dumps({**meta, "made_with": {"deep": deep}})
    data = b"".join(container.sealed(arrays, f'{{"format": {container.FORMAT}, "facts": {text}}}'))
    with pytest.raises(ModelFileError, match="facts nested more than 40 deep"):
        container.unpack(data)


# --- widths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "array"),
    [("bpr-mf", "user"), ("cml", "item"), ("lightgcn", "spread"), ("recvae", "first"), ("recvae", "layers"),
     ("recvae", "biases"), ("recvae", "norms"), ("recvae", "means"), ("recvae", "item")],
)  # fmt: skip
def test_vectors_of_another_width_are_refused(name, array, saved):
    arrays, meta = saved(name, epochs=1, **({"hidden": 4, "size": 3} if name == "recvae" else {"size": 4}))
    wide = np.concatenate([arrays[array], arrays[array][..., :1]], axis=-1)
    assert forged(arrays, meta)
    with pytest.raises(ModelFileError, match=r"has the wrong shape|does not fit the one before"):
        forged({**arrays, array: wide}, meta)


# --- facts that are missing or odd -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ease", "gf-cf"])
def test_a_plan_without_its_route_is_refused(name, saved):
    arrays, meta = saved(name)
    plan = {key: value for key, value in meta["notes"]["plan"].items() if key != "route"}
    with pytest.raises(ModelFileError, match="Plan does not have route"):
        forged(arrays, {**meta, "notes": {**meta["notes"], "plan": plan}})


ODD = [
    {"shape": [30.5, 16]},
    {"shape": [[], 16]},
    {"shape": ["30", "16"]},
    {"evaluation": {"metrics": [1]}},
    {"evaluation": {"metrics": {"ndcg@5": "high"}}},
    {"evaluation": {"metrics": {"ndcg@5": None}}},
    {"evaluation": {"metrics": {"ndcg@5": 10**400}}},
    {"evaluation": {"metrics": {"ndcg@5": 0.5}, "intervals": {"ndcg@5": [1]}}},
    {"evaluation": {"metrics": {"ndcg@5": 0.5}, "procedure": "ratio"}},
    {"evaluation": {"metrics": {"ndcg@5": 0.5}, "refit": 1}},
    {"evaluation": {"metrics": {"ndcg@5": 0.5}, "split": {}}},
    {"evaluation": {"metrics": {"ndcg@5": 0.5}, "part": []}},
    {"data": {"fingerprint": 1, "source": {}}},
    {"data": {"fingerprint": "a", "source": []}},
    {"data": {"fingerprint": "a", "source": {"options": 3}}},
    {"now": []},
    {"now": {"updates": [1]}},
    {"now": {"updates": [{"interactions": "many"}]}},
]


@pytest.mark.parametrize(
    ("command", "odd"), [*(("inspect", odd) for odd in ODD), ("evaluate", ODD[3]), ("verify", ODD[-1])], ids=str
)
def test_commands_refuse_odd_facts_with_a_sentence(command, odd, saved, tmp_path, capfd):
    from corml.cli import main

    arrays, meta = saved("popularity")
    path = tmp_path / "m.corml"
    path.write_bytes(container.pack(arrays, {**meta, **odd}))
    with pytest.raises(SystemExit) as end:
        main([command, str(path)])
    said = capfd.readouterr().err
    assert end.value.code == 5, said
    assert said.startswith("error[model]: ")
    assert "cannot be trusted" in said


# --- answers ---------------------------------------------------------------------------------------------------------


def test_numbers_beyond_what_scores_hold_are_refused(saved):
    arrays, meta = saved("ease")
    name = next(name for name, array in arrays.items() if array.dtype.kind == "f")
    huge = np.array(arrays[name])
    huge.reshape(-1)[1] = 3e38
    with pytest.raises(ModelFileError, match="numbers beyond 1e\\+12, with which no score is sure to be finite"):
        forged({**arrays, name: huge}, meta)


@pytest.mark.parametrize("number", [1e13, -1e40, 1e308])
@pytest.mark.parametrize("name", ["corml", "corml-dial", "slim", "ease"])
def test_chosen_numbers_beyond_what_scores_hold_are_refused(name, number, saved):
    arrays, meta = saved(name)
    plan = meta["notes"]["plan"]
    chosen = next(key for key, value in plan.items() if isinstance(value, float))
    with pytest.raises(ModelFileError, match=f"its plan has a {chosen} of .* no score is sure to be finite"):
        forged(arrays, {**meta, "notes": {**meta["notes"], "plan": {**plan, chosen: number}}})


def test_counts_are_whole_numbers_of_any_size_to_the_check_of_sizes(saved):
    arrays, meta = saved("popularity")
    counts = np.array(arrays["counts"])
    counts[0] = np.iinfo(np.int64).min  # which has no size of its own
    with pytest.raises(ModelFileError, match="its counts are not"):
        forged({**arrays, "counts": counts}, meta)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.recommend(history=[["i1"]]),
        lambda model: model.recommend(["u1"]),
        lambda model: model.scores([["i1"]]),
        lambda model: model.similar("i1"),
        lambda model: model.recommend(history=[["i1"]], boost={"i2": 2.0}),
        lambda model: model.explain(["i1"], "i2"),
        lambda model: model.distance(["i1"], "i2", part="g"),
    ],
    ids=["history", "user", "scores", "similar", "boost", "explain", "distance"],
)
def test_no_answer_is_made_of_numbers_that_are_none(ask, data):
    model = corml.CoRML(rank=3, filter_weight=1.0, adapt=False).fit(data)
    model = with_arrays(model, V=np.full(model.V_.shape, 1e200))
    with np.errstate(all="ignore"), pytest.raises(NumericalError, match="cannot be given: numbers of the model"):
        ask(model)


# --- what is legitimate stays so -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::corml.errors.WeightsWarning")
@pytest.mark.parametrize("name", sorted(models.names()))
def test_the_largest_learned_number_of_an_ordinary_fit_is_far_from_the_limit(name, data):
    own = declared(models.get(name))
    model = models.make(name, {key: value for key, value in SMALL.items() if key in own}).fit(with_weights(data))
    numbers = [getattr(array, "data", array) for array in model.fitted_.arrays.values() if array is not None]
    assert max(float(np.abs(np.asarray(some)).max(initial=0)) for some in numbers) < 1e-6 * LARGEST


@pytest.mark.parametrize(
    ("name", "settings"),
    [("bpr-mf", {"epochs": 2, "size": 4, "init_std": 100.0, "learning_rate": 1.0}), ("ease", {"l2": 1e-300}),
     ("corml", {"mix": 1e-300, "adapt": False}), ("corml", {"scale": 1e30}), ("gf-cf", {"alpha": 1e30})],
    ids=str,
)  # fmt: skip
def test_a_fit_with_extreme_settings_is_refused_or_can_be_read_back(name, settings, data, tmp_path):
    with np.errstate(all="ignore"):
        try:
            model = models.make(name, settings).fit(data)
        except (NumericalError, UsageError):
            return
        model.save(tmp_path / "m.corml")
        back = corml.read_model(tmp_path / "m.corml")
        try:
            scores = back.recommend(["u1"], k=3).scores
        except NumericalError:
            return
    assert np.isfinite(scores).all()


def test_what_a_fit_learned_beyond_the_limit_is_said_by_the_fit(data, monkeypatch):
    def learn(self, call):
        return Outcome(arrays={"W": np.full((16, 16), 1e13, dtype=np.float32)})

    monkeypatch.setattr(models.get("ease"), "_fit", learn)
    with pytest.raises(NumericalError, match=r"ease learned numbers beyond 1e\+12 \(W\)"):
        models.make("ease").fit(data)


def test_a_pair_that_was_learned_from_is_not_also_among_those_only_seen(saved):
    arrays, meta = saved("popularity")
    forged(dict(arrays), meta)  # as it was, it is read
    arrays |= {f"train.seen.{part}": arrays[f"train.{part}"] for part in ("indptr", "indices")}
    with pytest.raises(ModelFileError, match="pairs of its train are also among those that are only excluded"):
        forged(arrays, meta)
