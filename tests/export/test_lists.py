"""The lists of all users, as `recommend` gives them, written in parts."""

import numpy as np
import pytest
from asking import TABLES, asking, stored_facts

import corml
from corml.errors import UsageError
from corml.service.export import _contents, export_model


@pytest.mark.parametrize("to", TABLES)
@pytest.mark.parametrize("name", ["corml", "popularity"])
def test_every_list_is_the_models_own(small, tmp_path, to, name, monkeypatch):
    monkeypatch.setattr(_contents, "PIECE", 7)  # sixty users in nine parts
    model = small(name)
    done = export_model(model, to, tmp_path / "lists", lists=True, k=4)
    expected = model.recommend(model.users_.labels.tolist(), k=4)
    with asking(to, tmp_path / "lists") as rows_of:
        for at, (user, items) in enumerate(expected.items()):
            rows = rows_of(done.query, user=user, k=10)
            assert [row["item"] for row in rows] == items
            assert [row["rank"] for row in rows] == [1, 2, 3, 4]
            np.testing.assert_allclose([row["score"] for row in rows], expected.scores[at], rtol=1e-6)
            assert {row["source"] for row in rows} == {expected.sources[at]}
        assert rows_of(done.query, user="nobody", k=10) == []
        assert len(rows_of(done.query, user="u0", k=2)) == 2
    facts = stored_facts(to, tmp_path / "lists")
    assert (facts["contents"], facts["lists"], facts["rows"], facts["k"]) == ("lists", "60", "240", "4")


def test_short_lists_are_counted(small, tmp_path):
    model = small("corml")
    done = export_model(model, "sqlite", tmp_path / "short", lists=True, k=28)
    lengths = [len(items) for items in model.recommend(model.users_.labels.tolist(), k=28).values()]
    assert done.facts["lists_shorter_than_k"] == sum(length < 28 for length in lengths) > 0
    assert done.facts["rows"] == sum(lengths)


def test_no_more_than_one_part_of_the_lists_exists_at_a_time(small, monkeypatch):
    monkeypatch.setattr(_contents, "PIECE", 7)
    table = _contents.lists(small("corml"), 4, {}, {}, lambda *_: None)
    assert {len(part["item"]) for part in table.parts} == {7 * 4, 4 * 4}


def test_a_model_without_users_has_no_lists(small, tmp_path):
    small("corml").save(tmp_path / "m.corml", history=False)
    with pytest.raises(UsageError, match="saved without its users"):
        export_model(corml.read_model(tmp_path / "m.corml"), "sqlite", tmp_path / "no", lists=True)
