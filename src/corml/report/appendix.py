"""Sections for reference: time and memory, example lists, the data, convergence, and how to reproduce a page."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from corml._runtime.html import clean
from corml._runtime.settings import Declared, declared
from corml.data.interactions import Interactions
from corml.evaluation import charts
from corml.experiments.grid import Grid, Value
from corml.models.fitted import Certificate, Fitted, Training
from corml.models.recommender import Recommender
from corml.models.saved.model_file import environment
from corml.report import text
from corml.report.page import Figure, Number, Pairs, Part, Section
from corml.report.subject import Cost, Subject

COSTS = {
    "fit_seconds": ("Fit", text.duration, "Time to fit the model."),
    "fit_processor": ("Fit, CPU", text.duration, "CPU time of all threads to fit the model."),
    "list_seconds": ("1,000 lists", text.duration, "Time to make a thousand lists, all users at once."),
    "trials": ("Trials", text.count, "Settings that were tried."),
    "tuning_seconds": ("Tuning", text.duration, "CPU time of all trials."),
    "peak_bytes": ("Memory of the fit", text.size, "Predicted peak above what the process already uses."),
    "file_bytes": ("Model file", text.size, "Size of the file on disk."),
}


def cost(subject: Subject) -> Section | None:
    """A row for each model, a column for each cost that is recorded for any."""
    costs = {name: subject.costs.get(name, Cost()) for name in subject.models}
    columns = [name for name in COSTS if any(getattr(one, name) is not None for one in costs.values())]
    if not columns:
        return None
    heads, shown, meanings = zip(*(COSTS[name] for name in columns), strict=True)

    def cell(value: float | None, show: Callable[[float], str]) -> Value:
        return Value("–" if value is None else show(value))

    rows = tuple(
        (Value(model), *(cell(getattr(one, name), show) for name, show in zip(columns, shown, strict=True)))
        for model, one in costs.items()
    )
    note = "Measured on the machine that made this page; kernels were compiled before. – means unknown."
    table = Grid(("Model", *heads), rows, meanings=("", *meanings))
    return Section("cost", "Time and memory", parts=(Part("table", table, note, label="Time and memory"),))


def examples(subject: Subject) -> Section | None:
    """A card for each sampled user, with the items of the history that each recommendation cites."""
    if not subject.samples:
        return None
    model = next(iter(subject.models), "the model")
    intro = f"What {model} recommends to a few users with histories of typical length."
    if any(pick.reasons for card in subject.samples for pick in card.picks):
        intro += (
            " Marked items of the history are cited by a recommendation; percentages are their shares of the positive "
            "contributions to its score."
        )
    types = " or ".join(subject.split.targets) if subject.split else ""
    chosen = f"for which the user has an event of type {types}" if types else "that the user did choose"
    intro += f" “✓ chosen” marks items that were hidden from the model and {chosen}."
    return Section("examples", "Example lists", intro, (Part("cards", subject.samples),))


# --- the data --------------------------------------------------------------------------------------------------------

ON_TILES = ("users", "items", "interactions", "density")
HEAD = 0.1  # of the items, whose share of the interactions is shown


def data(subject: Subject) -> Section | None:
    """Sizes, data quality, and how interactions are distributed over users and items."""
    if subject.data is None:
        return None
    pairs, quality = subject.data, subject.quality
    users, items = pairs.shape
    tiles = (
        Number(text.count(users), "users"),
        Number(text.count(items), "items"),
        Number(text.count(len(pairs)), "interactions"),
        Number(text.percent(len(pairs) / max(users * items, 1)), "density"),
    )
    parts = [Part("numbers", tiles)]
    if quality is not None and quality.findings:
        parts.append(Part("findings", tuple(quality.findings)))
    elif quality is not None:
        parts.append(Part("note", "The checks of the data found no problems."))
    if len(pairs):
        parts.append(Part("figures", (_lengths(pairs), _popularity(pairs))))
    facts = quality.facts if quality is not None else ()
    more = tuple((label, _fact(label, value)) for label, value in facts if label not in ON_TILES)
    parts += [Part("facts", more)] if more else []
    return Section("data", "The data", parts=tuple(parts), appendix=True)


def _lengths(data: Interactions) -> Figure:
    degrees, title = data.user_degrees, "Length of histories"
    x, y = charts.Axis("items of a user", "count", log=True), charts.Axis("users", "count")
    chart = charts.histogram(degrees[degrees > 0], x=x, y=y, title=title)
    return Figure(title, "How many items users have. The horizontal axis is logarithmic.", chart)


def _popularity(data: Interactions) -> Figure:
    """How popularity falls from the most popular item to the least."""
    ordered = np.sort(data.item_degrees)[::-1]
    ordered = ordered[ordered > 0]
    ranks = np.unique(np.geomspace(1, len(ordered), 120).round().astype(int))
    share = ordered[: max(1, round(HEAD * len(ordered)))].sum() / ordered.sum()
    chart = charts.lines(
        [charts.Line("items", [(float(rank), float(ordered[rank - 1])) for rank in ranks])],
        x=charts.Axis("items, most popular first", "count", log=True),
        y=charts.Axis("users of the item", "count", log=True),
        title="Popularity of items",
        height=170,
    )
    caption = (
        f"A few items have many users, most have few. The top {text.percent(HEAD)} of the items have "
        f"{text.percent(share)} of the interactions. Both axes are logarithmic."
    )
    return Figure("Popularity of items", caption, chart)


def _fact(label: str, value: object) -> str:
    if isinstance(value, Mapping):
        if {"min", "median", "max"} <= value.keys():
            low, middle, high = (text.plain(value[key]) for key in ("min", "median", "max"))
            return f"{low} to {high}, median {middle}"
        return ", ".join(f"{key} {text.plain(inner)}" for key, inner in value.items())
    if label.startswith("share") and isinstance(value, float) and math.isfinite(value):
        return text.percent(value)
    day = re.match(r"(\d{4}-\d\d-\d\d)T", str(value))  # the day of a timestamp is enough here
    return day[1] if day else text.plain(value)


# --- convergence -----------------------------------------------------------------------------------------------------


def solver(subject: Subject) -> Section | None:
    """Residuals of solvers, losses of trainings, and what each reported in the end."""
    states = {name: getattr(model, "fitted_", None) for name, (model, _) in subject.models.items()}
    fitted: dict[str, Fitted] = {name: state for name, state in states.items() if state is not None}
    if not fitted:
        return None
    figures = tuple(figure for name in fitted for figure in _curves(name, fitted[name], subject.models[name][0]))
    reported = {name: (*_certified(state.certificates), *_trained(state.training)) for name, state in fitted.items()}
    groups = tuple((name, rows) for name, rows in reported.items() if rows)
    direct = [name for name, state in fitted.items() if not state.certificates and state.training is None]
    parts = [Part("figures", figures)] if figures else []
    parts += [Part("groups", groups)] if groups else []
    if direct:
        parts.append(Part("note", f"{', '.join(direct)}: computed directly, without steps that could stop too early."))
    return Section("solver", "Convergence", parts=tuple(parts), appendix=True)


def _curves(name: str, state: Fitted, model: Recommender | None) -> Iterator[Figure]:
    traces = [certificate.trace for certificate in state.certificates if certificate.trace]
    if traces:
        tol = float(getattr(model, "tol", 0.0) or 0.0)
        rows = np.atleast_2d(np.asarray(max(traces, key=len), dtype=float).T)
        kinds = ("primal", "dual") if len(rows) == 2 else ("residual",)
        lines = [
            charts.Line(kind, [(at, float(value)) for at, value in enumerate(row, start=1)], marks=len(row) <= 20)
            for kind, row in zip(kinds, rows, strict=False)
        ]
        chart = charts.lines(
            lines,
            x=charts.Axis("step", "count"),
            y=charts.Axis("relative residual", "power", log=True),
            title=f"Residuals of {name}",
            reference=(tol, "tolerance") if tol > 0 else None,
        )
        yield Figure(f"Residuals of {name}", "The solver stops when all are below the tolerance.", chart)
    elif state.training is not None and len(state.training.curve) > 1:
        curve = charts.Line("loss", [(epoch.epoch, epoch.loss) for epoch in state.training.curve])
        chart = charts.lines([curve], x=charts.Axis("epoch", "count"), y=charts.Axis("loss"), title=f"Loss of {name}")
        yield Figure(f"Loss of {name}", f"Mean loss of each epoch; stopped: {state.training.stopped}.", chart)


def _trained(training: Training | None) -> Pairs:
    if training is None:
        return ()
    return ("epochs", text.plain(training.epochs)), ("stopped", text.plain(training.stopped))


def _certified(solves: Sequence[Certificate]) -> Pairs:
    """The outcome of all solves: the steps of each, and the worst residual."""
    if not solves:
        return ()
    rows = [
        ("solver steps", ", ".join(text.plain(one.steps) for one in solves)),
        ("converged", text.plain(all(one.converged for one in solves))),
        ("residual", f"{max(one.residual for one in solves):.2g}"),
    ]
    if solves[0].pairs is not None:
        rows.append(("pairs of items", ", ".join(text.plain(one.pairs) for one in solves)))
    if solves[0].complete is not None:
        rows.append(("all co-occurring pairs", text.plain(all(one.complete for one in solves))))
    return tuple(rows)


# --- how to reproduce a page -----------------------------------------------------------------------------------------

FINGERPRINT = 16  # digits that tell data sets apart at a glance
MAX_LISTED = 5


def provenance(subject: Subject) -> Section:
    """Where the numbers come from: data, split, hyperparameters, versions, date and command."""
    groups: list[tuple[str, Pairs]] = [
        ("Data", _data(subject)),
        ("Split", _split(subject)),
        *((f"Settings of {name}", _settings(model)) for name, (model, _) in subject.models.items()),
        *((name, _shown(rows)) for name, rows in subject.more.items()),
        ("Versions", tuple((key, str(value)) for key, value in (subject.versions or environment()).items())),
    ]
    made = f"Made on {subject.when}" if subject.when else "Made"
    command = [Part("note", f"{made} with this command:"), Part("command", subject.command)] if subject.command else []
    return Section(
        "provenance",
        "How to reproduce this",
        "The same data, settings and versions give the same numbers; times differ from run to run.",
        (*command, Part("groups", tuple(group for group in groups if group[1]))),
        appendix=True,
    )


def _data(subject: Subject) -> Pairs:
    """Where the data came from; the number of rows is among the facts already."""
    if subject.data is None:
        return ()
    source = {key: value for key, value in subject.data.source.items() if not isinstance(value, int)}
    return ("name", subject.name), ("fingerprint", _value(subject.data.fingerprint)), *_shown(source)


def _split(subject: Subject) -> Pairs:
    if subject.split is None:
        return ()
    counts = [(key, _size(value)) for key, value in subject.split.counts().items()]
    return (*_shown(subject.split.procedure), *counts, ("fingerprint", _value(subject.split.fingerprint)))


def _settings(model: Recommender | None) -> Pairs:
    """The hyperparameters, and the rank that a fit chose."""
    if model is None:
        return ()
    specs = declared(type(model)) if dataclasses.is_dataclass(model) else {}
    rows = [(f"{spec.name} ({spec.symbol})" if spec.symbol else spec.name, _chosen(spec, getattr(model, key)))
            for key, spec in specs.items()]  # fmt: skip
    rank = getattr(getattr(getattr(model, "fitted_", None), "plan", None), "rank", None)
    return (*rows, *([] if rank is None else [("rank used", text.plain(rank))]))


def _size(value: object) -> str:
    if isinstance(value, Mapping) and "pairs" in value:
        return f"{text.plain(value['pairs'])} pairs, {text.plain(value.get('users'))} users"
    return text.plain(value)


def _chosen(spec: Declared, value: object) -> str:
    """A hyperparameter as it is typed; where none was given, what that means in the words of its rule."""
    meaning = re.search(r"or none \((.*)\)", spec.rule.phrase)
    return meaning[1] if value is None and meaning else _value(value)


def _shown(rows: Mapping[str, object]) -> Pairs:
    return tuple((key, shown) for key, value in rows.items() if (shown := _value(value)))


def _value(value: object) -> str:
    """Numbers as they would be typed, and the first digits of a fingerprint."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_value, value)) if len(value) <= MAX_LISTED else ""
    if isinstance(value, bool) or value is None:
        return text.plain(value)
    shown = f"{value:g}" if isinstance(value, float) else clean(value)
    return shown[:FINGERPRINT] if re.fullmatch(r"[0-9a-f]{64}", shown) else shown
