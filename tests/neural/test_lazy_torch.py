"""PyTorch is asked for when something learns, and by nothing else."""

import importlib.util
import subprocess
import sys

import pytest
import torch

import corml
from corml import models
from corml.errors import SettingError, UsageError
from corml.models.neural.training.gradient_model import GradientModel
from support import random_interactions

NEURAL = [name for name in models.names() if issubclass(models.get(name), GradientModel)]
NO_TORCH = "import sys; sys.modules['torch'] = None\n"  # from here on, importing it raises


def python(code, *words):
    done = subprocess.run([sys.executable, "-c", NO_TORCH + code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def no_torch(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else find(name, *rest))


def test_all_gradient_models_are_here():
    assert NEURAL == ["bpr-mf", "cml", "dpcml", "l-cml", "lightgcn", "recvae", "simgcl", "ultragcn"]


@pytest.mark.parametrize("name", NEURAL)
def test_without_pytorch_a_fit_says_what_to_install(name, no_torch, data):
    sentence = r"learns with PyTorch, which is not installed: pip install 'corml\[neural\]'"
    with pytest.raises(UsageError, match=f"{models.get(name).__name__} {sentence}"):
        models.make(name).fit(data)


def test_without_pytorch_models_are_listed():
    shown = python("from corml.cli import main; main(['models'])")
    assert all(f"\n{name}" in shown for name in NEURAL)


def test_listing_models_does_not_load_pytorch():
    code = "import sys, corml.cli._main as program; program._run(['models', '--json'], True)"
    check = f"{code}; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_pytorch_fitted_models_answer_as_before(tmp_path, data):
    small = {"size": 4, "epochs": 1}
    users = list(data.users.labels[:5])
    expected = {}
    for name in NEURAL:
        model = models.make(name, small | ({"hidden": 8} if name == "recvae" else {})).fit(data)
        model.save(tmp_path / name)
        expected[name] = repr(model.recommend(users, k=3).items.tolist() + model.similar(["i0"], k=3).items.tolist())
    code = (
        "import corml, pathlib\n"
        "for name in sys.argv[2:]:\n"
        "    model = corml.read_model(pathlib.Path(sys.argv[1]) / name)\n"
        f"    print(model.recommend({users!r}, k=3).items.tolist() + model.similar(['i0'], k=3).items.tolist())\n"
    )
    assert python(code, str(tmp_path), *NEURAL).splitlines() == list(expected.values())


def test_a_missing_gpu_is_an_error(monkeypatch, data):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingError, match="device is 'cuda', but PyTorch finds no GPU here: leave it out, or choose"):
        corml.models.make("bpr-mf", {"device": "cuda"}).fit(data)
    with pytest.raises(SettingError, match="device of BPRMF must be one of 'auto', 'cpu', 'cuda'; got 'gpu'"):
        corml.models.make("bpr-mf", {"device": "gpu"})


def test_a_gpu_is_taken_if_there_is_one(monkeypatch):
    from corml.models.neural.training import lazy_torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert lazy_torch.device("auto") == lazy_torch.device("cuda") == torch.device("cuda")
    assert lazy_torch.device("cpu") == torch.device("cpu")


def test_threads_are_put_back_after_a_fit(monkeypatch):
    before, during = torch.get_num_threads(), []
    monkeypatch.setattr("corml.models.neural.training.gradient_model.MANY", 0)
    monkeypatch.setenv("CORML_THREADS", "3")
    torch.set_num_threads(2)
    try:
        model = models.make("bpr-mf", {"epochs": 1, "size": 4})
        model.fit(random_interactions(0), progress=lambda *_: during.append(torch.get_num_threads()))
        after = torch.get_num_threads()
    finally:
        torch.set_num_threads(before)
    assert (set(during), after) == ({3}, 2)


def test_a_model_file_tells_which_pytorch_learned_and_where(tmp_path, data):
    models.make("bpr-mf", {"size": 4, "epochs": 1, "device": "cpu"}).fit(data).save(tmp_path / "m")
    training = corml.read_model(tmp_path / "m").fitted_.training
    assert (training.torch, training.device) == (torch.__version__, "cpu")
