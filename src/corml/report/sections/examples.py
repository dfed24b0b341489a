"""Example lists, with the items of the history that each recommendation cites."""

from corml.report.page import Cards, Section
from corml.report.subject import Subject

__all__ = ["section"]


def section(subject: Subject) -> Section | None:
    """A card for each sampled user."""
    if not subject.samples:
        return None
    about = next(iter(subject.models), "the model")
    cited = any(pick.reasons for card in subject.samples for pick in card.picks)
    intro = f"What {about} recommends to a few users with histories of typical length."
    if cited:
        intro += (
            " Marked items of the history are cited by a recommendation; percentages are their shares of the positive "
            "contributions to its score."
        )
    intro += " “✓ chosen” marks items that were hidden from the model and that the user did choose."
    return Section("examples", "Example lists", intro, (Cards(subject.samples),))
