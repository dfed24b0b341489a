"""Appendix: how near each model came to the answer it looks for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from corml.evaluation import charts
from corml.models.fitted import Certificate, Fitted, Training
from corml.report import _text as text
from corml.report.page import Figure, Figures, Groups, Note, Part, Section
from corml.report.subject import Subject

__all__ = ["section"]


def section(subject: Subject) -> Section | None:
    """Residuals of solvers, losses of trainings, and what each reported in the end."""
    states = {name: getattr(model, "fitted_", None) for name, (model, _) in subject.models.items()}
    fitted: dict[str, Fitted] = {name: state for name, state in states.items() if state is not None}
    if not fitted:
        return None
    figures = [figure for name, state in fitted.items() for figure in _figures(name, state, subject.models[name][0])]
    groups = tuple((name, rows) for name, state in fitted.items() if (rows := _rows(state)))
    direct = [name for name, state in fitted.items() if not state.certificates and state.training is None]
    parts: list[Part] = [Figures(tuple(figures))] if figures else []
    if groups:
        parts.append(Groups(groups))
    if direct:
        parts.append(Note(f"{', '.join(direct)}: computed directly, without steps that could stop too early."))
    return Section("solver", "Convergence", parts=tuple(parts), appendix=True)


def _figures(name: str, state: Fitted, model: Any) -> list[Figure]:
    traces = [certificate.trace for certificate in state.certificates if certificate.trace]
    if traces:
        return [_residuals(name, max(traces, key=len), float(getattr(model, "tol", 0.0) or 0.0))]
    return [_losses(name, state.training)] if state.training is not None and len(state.training.curve) > 1 else []


def _residuals(name: str, trace: Sequence[Any], tol: float) -> Figure:
    rows = np.atleast_2d(np.asarray(trace, dtype=float).T)
    names = ("primal", "dual") if len(rows) == 2 else ("residual",)
    chart = charts.lines(
        [
            charts.Line(what, [(at, float(value)) for at, value in enumerate(row, start=1)], marks=len(row) <= 20)
            for what, row in zip(names, rows, strict=False)
        ],
        x=charts.Axis("step", "count"),
        y=charts.Axis("relative residual", "power", log=True),
        title=f"Residuals of {name}",
        reference=(tol, "tolerance") if tol > 0 else None,
    )
    return Figure(f"Residuals of {name}", "The solver stops when all are below the tolerance.", chart)


def _losses(name: str, training: Training) -> Figure:
    curve = charts.Line("loss", [(epoch.epoch, epoch.loss) for epoch in training.curve])
    chart = charts.lines([curve], x=charts.Axis("epoch", "count"), y=charts.Axis("loss"), title=f"Loss of {name}")
    return Figure(f"Loss of {name}", f"Mean loss of each epoch; stopped: {training.stopped}.", chart)


def _rows(state: Fitted) -> tuple[tuple[str, str], ...]:
    rows = [row for certificate in state.certificates[:1] for row in _certified(certificate, state.certificates)]
    if state.training is not None:
        rows += [("epochs", text.plain(state.training.epochs)), ("stopped", text.plain(state.training.stopped))]
    return tuple(rows)


def _certified(first: Certificate, every: Sequence[Certificate]) -> list[tuple[str, str]]:
    """The outcome of all solves: of steps each, of residuals the worst."""
    rows = [
        ("solver steps", ", ".join(text.plain(certificate.steps) for certificate in every)),
        ("converged", text.plain(all(certificate.converged for certificate in every))),
        ("residual", f"{max(certificate.residual for certificate in every):.2g}"),
    ]
    if first.pairs is not None:
        rows.append(("pairs of items", ", ".join(text.plain(certificate.pairs) for certificate in every)))
    if first.complete is not None:
        rows.append(("all co-occurring pairs", text.plain(all(certificate.complete for certificate in every))))
    return rows
