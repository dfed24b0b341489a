"""Appendix: what the metrics mean, and all of them at all list lengths."""

from corml.report._measures import measure
from corml.report._results import shared_names
from corml.report.page import Facts, Part, Section, Tables
from corml.report.subject import Subject
from corml.report.tables import Cell, Column, Table, comparison

__all__ = ["section"]


def section(subject: Subject) -> Section | None:
    """Folded: only some readers ask for it."""
    results = subject.results
    names = shared_names(results.values())
    if not names:
        return None
    meanings = tuple((measure(name).label, measure(name).meaning) for name in subject.main)
    known = tuple((label, meaning) for label, meaning in meanings if meaning)
    parts: list[Part] = [Facts(known, folded="What the metrics mean")] if known else []
    whole = _turned(comparison(results, names, intervals="range"))
    parts.append(Tables(whole, "All metrics", folded="All metrics at all list lengths, with intervals"))
    return Section("metrics", "All metrics", parts=tuple(parts), appendix=True)


def _turned(table: Table) -> Table:
    """Metrics down, models across: many metrics fit a page that way."""
    columns = (Column("Metric"), *(Column(row[0].text, number=True) for row in table.rows))
    rows = tuple(
        (Cell(column.label), *(row[at] for row in table.rows)) for at, column in enumerate(table.columns) if at > 0
    )
    return Table(columns, rows)
