"""A file of the present format answers as it did when it was written.

`tests/golden/format-5.corml` was written by `write_fixture` below (`python tests/reliability/test_compatibility.py`
writes the next one, and refuses to write over an old one), with the answers it gave beside it.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import corml
from corml.persistence import container

GOLDEN = Path(__file__).parents[1] / "golden"
HISTORIES = [["NA", "item 3"], ["☕"], ["line\nbreak", "item 5", "item 9"], []]


def write_fixture(folder):
    """Fit a small model on made-up data with odd ids and a title, and write it with its answers."""
    odd = ["NA", "☕", "line\nbreak", "e\u0301", "007"]
    rng = np.random.default_rng(1)
    items = [odd[n] if n < len(odd) else f"item {n}" for n in rng.zipf(1.4, 500) % 25]
    users = [f"user {n}" for n in rng.integers(0, 40, 500)]
    about = {"titles": {"007": "A title"}, "source": {"made": "up"}}
    data = corml.Interactions.from_pairs(
        users, items, times=np.arange(500.0), weights=1 + rng.integers(0, 3, 500), **about
    )
    data = data.with_seen(corml.Interactions.from_pairs(["user 3", "user 11"], ["item 9", "☕"], times=[900, np.nan]))
    model = corml.CoRML(rank=8, mix=0.7, item_norm=-0.05).fit(data)
    path = folder / f"format-{container.FORMAT}.corml"
    if path.exists():
        raise SystemExit(f"{path} is there already: a released format does not change.")
    model.save(path, evaluation={"ndcg@10": 0.5})
    path.with_suffix(".json").write_text(json.dumps(answers(model), indent=1) + "\n")


def answers(model):
    known, typed = model.recommend(["user 3", "user 11"], k=5), model.recommend(history=HISTORIES, k=5)
    return {
        "settings": {"rank": model.rank, "mix": model.mix, "item_norm": model.item_norm},
        "titles": dict(model.titles_),
        "items": known.items.tolist() + typed.items.tolist(),
        "scores": known.scores.tolist() + typed.scores.tolist(),
    }


def test_the_file_of_the_present_format_answers_as_it_did_and_can_be_saved_again(tmp_path):
    path = GOLDEN / f"format-{container.FORMAT}.corml"
    assert path.stat().st_size < 60_000
    model, recorded = corml.read_model(path), json.loads(path.with_suffix(".json").read_text())
    found = answers(model)
    np.testing.assert_allclose(found["scores"], recorded["scores"], rtol=1e-5)
    assert {**found, "scores": 0} == {**recorded, "scores": 0}
    model.save(tmp_path / "again.corml")
    assert answers(corml.read_model(tmp_path / "again.corml")) == found


def test_a_fixture_is_never_written_over(tmp_path):
    write_fixture(tmp_path)
    with pytest.raises(SystemExit, match="does not change"):
        write_fixture(tmp_path)


if __name__ == "__main__":
    write_fixture(GOLDEN)
