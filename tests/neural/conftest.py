"""Without PyTorch there is nothing to learn with: these tests are left out."""

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
