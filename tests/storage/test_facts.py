"""Dataclasses as plain facts: what comes back is what was kept, and what cannot have been kept is refused."""

from dataclasses import dataclass

import pytest

from corml.errors import ModelFileError
from corml.models.fitted import Certificate, ExcludedPairs
from corml.persistence.facts import from_plain, to_plain

CERTIFICATE = Certificate(
    steps=3,
    converged=True,
    residual=0.5,
    pairs=7,
    excluded=ExcludedPairs(pairs=9, violating=2, worst=0.25),
    trace=((0.75,), (0.5,)),
)
PLAIN = {
    "steps": 3,
    "converged": True,
    "residual": 0.5,
    "pairs": 7,
    "excluded": {"pairs": 9, "violating": 2, "worst": 0.25},
    "trace": [[0.75], [0.5]],
}


def test_facts_are_kept_plainly_and_come_back():
    assert to_plain(CERTIFICATE) == PLAIN
    assert from_plain(Certificate, PLAIN) == CERTIFICATE


def test_a_field_may_be_left_out_of_the_file():
    assert to_plain(CERTIFICATE, skip=("trace", "worst")) == {
        **{name: value for name, value in PLAIN.items() if name != "trace"},
        "excluded": {"pairs": 9, "violating": 2},
    }


def test_a_whole_number_may_stand_for_a_number():
    again = from_plain(Certificate, {"steps": 3, "converged": True, "residual": 1})
    assert type(again.residual) is float


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"steps": True}, "its Certificate steps cannot be 'True'"),
        ({"steps": 3.0}, "its Certificate steps cannot be"),
        ({"converged": 1}, "its Certificate converged cannot be"),
        ({"residual": True}, "its Certificate residual cannot be"),
        ({"residual": "0.5"}, "its Certificate residual cannot be"),
        ({"residual": None}, "its Certificate residual cannot be"),
        ({"trace": 0.5}, "its Certificate trace cannot be"),
        ({"trace": [["0.5"]]}, "its Certificate trace cannot be"),
        ({"excluded": {"pairs": 9}}, "its ExcludedPairs does not have violating"),
        ({"excluded": [9]}, "its Certificate excluded cannot be"),
        ({"stepps": 3}, "its Certificate has an odd 'stepps'"),
    ],
)
def test_what_no_certificate_was_kept_as_is_refused(change, fault):
    with pytest.raises(ModelFileError, match=fault):
        from_plain(Certificate, PLAIN | change)


@pytest.mark.parametrize("plain", [None, [], "steps", 3])
def test_what_is_no_mapping_is_refused(plain):
    with pytest.raises(ModelFileError, match="its Certificate is not a mapping"):
        from_plain(Certificate, plain)


@dataclass(frozen=True)
class Sized:
    sizes: tuple[int, float]
    name: str | None


def test_a_tuple_has_its_length_and_the_type_of_each_place():
    assert from_plain(Sized, {"sizes": [1, 2]}) == Sized((1, 2.0), None)
    with pytest.raises(ModelFileError, match="its Sized sizes has 3 values"):
        from_plain(Sized, {"sizes": [1, 2, 3]})
    with pytest.raises(ModelFileError, match="its Sized does not have sizes"):
        from_plain(Sized, {"name": "x"})
