"""Without PyTorch nothing can be learned: these tests are skipped."""

import pytest

collect_ignore_glob = []
try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    collect_ignore_glob += ["test_*.py"]


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """Small work gains nothing from more."""
    monkeypatch.setenv("CORML_THREADS", "1")
