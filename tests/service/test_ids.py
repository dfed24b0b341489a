"""Any id that a model can hold can be asked about."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

import corml
from corml.errors import ModelFileError
from corml.service.served import Shelf, load


def test_every_id_that_data_may_have_can_be_asked_about(make_inside, tmp_path):
    odd = ["x" * 2048, "é" * 1024, "𝄞" * 512, "a/b?c=d#e", "..", "line\nfeed", "\0", '"', " spaces ", "<b>", "318.0"]
    labels = odd + [f"i{n}" for n in range(20)]
    chosen = np.random.default_rng(0).integers(len(labels), size=(60, 6))
    users = np.repeat(np.arange(60), 6)
    data = corml.Interactions.from_pairs(users, [labels[at] for at in chosen.ravel()])
    corml.models.make("ease").fit(data).save(tmp_path / "odd.corml")
    shelf = Shelf("odd")
    shelf.put(load("odd", str(tmp_path / "odd.corml")))
    inside = make_inside(shelf)
    for label in odd:
        assert [one.item for one in inside.client.items([label]).items] == [label]
        answer = inside.client.recommend([label, "i1"], k=3, exclude=[odd[0]], explain=True)
        assert answer.history == [label, "i1"]
        assert answer.unknown is msgspec.UNSET
        assert inside.client.why_not(label, ["i1"], lifts=1).item == label
    assert inside.post("/v1/items", {"items": ["x" * 2049]}).status_code == 422


def test_half_of_a_character_is_no_id_and_has_a_sign_in_a_title(make_inside, data, tmp_path):
    titled = replace(data, titles={"i1": "lone \ud800 surrogate", "i2": "pair \ud834\udd1e"})
    corml.models.make("ease").fit(titled).save(tmp_path / "titled.corml")
    shelf = Shelf("titled")
    shelf.put(load("titled", str(tmp_path / "titled.corml")))
    found = make_inside(shelf).client.items(["i1", "i2"]).items
    assert [one.title for one in found] == ["lone \ufffd surrogate", "pair 𝄞"]
    users, items = data.users.labels[data.user], data.items.labels[data.item]
    named = corml.Interactions.from_pairs(users, [label.replace("i1", "\ud8001") for label in items])
    corml.models.make("ease").fit(named).save(tmp_path / "named.corml")
    with pytest.raises(ModelFileError, match="no text in UTF-8"):
        load("named", str(tmp_path / "named.corml"))
