"""The short form of the attack: every surface, with few cases; `make attack` has them by the ten thousand."""

import importlib
import sys

import pytest

from attack import arena, targets

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it"),
]


@pytest.mark.parametrize("surface", arena.SURFACES)
def test_hostile_input_ends_with_an_answer_or_a_sentence(surface):
    report = arena.run(surface, range(importlib.import_module(f"attack.{surface}").SHORT))
    assert not report.findings, "\n\n".join(f"case {number}: {words}" for number, words in report.findings.items())
    assert report.cases == sum(report.outcomes.values()) > 0


@pytest.mark.parametrize("target", targets.TARGETS)
def test_what_fuzzing_found_is_answered(target):
    inputs = targets.corpus(target)
    assert len(inputs) > 10
    for data in inputs.values():
        targets.TARGETS[target](data)


def test_the_arena_notes_what_must_not_happen(monkeypatch):
    """A crash, a hang, a traceback, memory and an unsound answer are findings; a sentence and an answer are none."""
    monkeypatch.setattr(arena, "CPU_MARGIN", 1)
    report = arena.run("pretended", range(7))
    assert report.outcomes == {"answered": 1, "refused": 1}
    said = [report.findings[number] for number in range(2, 7)]
    for words, expected in zip(said, ("crash", "hang", "ZeroDivisionError", "memory", "Unsound"), strict=True):
        assert expected in words
