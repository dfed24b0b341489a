"""Time and memory."""

from corml.report import _text as text
from corml.report.page import Section, Tables
from corml.report.subject import Cost, Subject
from corml.report.tables import Cell, Column, Table

__all__ = ["section"]

_COLUMNS = {
    "fit_seconds": ("Fit", text.duration, "Time to fit the model."),
    "fit_processor": ("Fit, processor", text.duration, "Time of all processors to fit the model."),
    "list_seconds": ("1,000 lists", text.duration, "Time to make a thousand lists, all users at once."),
    "trials": ("Trials", text.count, "Settings that were tried."),
    "tuning_seconds": ("Tuning", text.duration, "Processor time of all trials."),
    "peak_bytes": ("Memory of the fit", text.size, "Predicted peak beside what the process has already."),
    "file_bytes": ("Model file", text.size, "Size of the file on disk."),
}


def section(subject: Subject) -> Section | None:
    """A row for each model, a column for each cost that is known of any."""
    costs = {name: subject.costs.get(name, Cost()) for name in subject.models}
    known = [field for field in _COLUMNS if any(getattr(cost, field) is not None for cost in costs.values())]
    if not known:
        return None
    columns = (
        Column("Model"),
        *(Column(_COLUMNS[field][0], number=True, meaning=_COLUMNS[field][2]) for field in known),
    )
    rows = tuple((Cell(name), *(_cell(cost, field) for field in known)) for name, cost in costs.items())
    note = "Measured on the machine that made this page; kernels were compiled before. – is not known."
    return Section("cost", "Time and memory", parts=(Tables(Table(columns, rows), "Time and memory", note),))


def _cell(cost: Cost, field: str) -> Cell:
    value = getattr(cost, field)
    return Cell("–" if value is None else _COLUMNS[field][1](value))
