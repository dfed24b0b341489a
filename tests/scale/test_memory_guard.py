"""A store is not begun with a budget that its data would fill and that is not free."""

import pytest

import corml
from corml.errors import ResourceError


def test_a_store_whose_budget_is_not_free_is_refused_and_a_smaller_one_is_made(tmp_path, monkeypatch):
    rows = "\n".join(f"u{n % 900},i{n % 70}" for n in range(20_000))
    (tmp_path / "a.csv").write_text(f"user,item\n{rows}\n")
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 2 << 20)
    with pytest.raises(ResourceError, match=r"^Making the store needs .* memory= \(--memory\)"):
        corml.build_store(tmp_path / "a.csv", tmp_path / "a.store", memory="1GB")
    assert not (tmp_path / "a.store").exists()
    corml.build_store(tmp_path / "a.csv", tmp_path / "a.store", memory="2MB")
