"""Appendix: what the metrics mean, and all of them at all list lengths."""

from collections.abc import Iterator

from corml.report._measures import measure
from corml.report._results import shared_names
from corml.report.page import Facts, Part, Section, Tables
from corml.report.subject import Subject
from corml.report.tables import Cell, Column, Table, comparison

__all__ = ["section"]

WIDEST = 5  # columns of figures with intervals that fit a printed page


def section(subject: Subject) -> Section | None:
    """Folded: only some readers ask for it."""
    results = subject.results
    names = shared_names(results.values())
    if not names:
        return None
    meanings = tuple((measure(name).label, measure(name).meaning) for name in subject.main)
    known = tuple((label, meaning) for label, meaning in meanings if meaning)
    parts: list[Part] = [Facts(known, folded="What the metrics mean")] if known else []
    whole = comparison(results, names, intervals="range")
    title = "All metrics at all list lengths, with intervals"
    if len(names) <= WIDEST:
        parts.append(Tables(whole, "All metrics", folded=title))
    else:
        parts += [Tables(table, "All metrics", folded=title) for table in _turned(whole)]
    return Section("metrics", "All metrics", parts=tuple(parts), appendix=True)


def _turned(table: Table) -> Iterator[Table]:
    """Metrics down, models across, as many as a printed page has room for: many metrics fit it that way."""
    for first in range(0, len(table.rows), WIDEST):
        some = table.rows[first : first + WIDEST]
        columns = (Column("Metric"), *(Column(row[0].text, number=True) for row in some))
        rows = ((Cell(column.label), *(row[at] for row in some)) for at, column in enumerate(table.columns) if at > 0)
        yield Table(columns, tuple(rows))
