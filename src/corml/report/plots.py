"""Figures as SVG text: numbers in, markup out. The only file that needs matplotlib.

The same numbers give the same bytes. Text stays text in a generic font, so a page can be searched and copied from.
"""

import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator, PercentFormatter
from numpy.typing import NDArray

from corml.report._style import COLOURS, FAINT, HALF, HEIGHT, INK, MARKERS, STYLE, WIDE
from corml.report._svg import tidy
from corml.report._text import clean, count

__all__ = ["accuracy_against_novelty", "bars", "convergence", "degrees", "popularity", "user_shares"]

Span = tuple[float, float] | None


def bars(panels: Mapping[str, Mapping[str, tuple[float, Span]]]) -> str:
    """One panel per metric, one bar per model, whiskers for the intervals."""
    models = [clean(model) for model in next(iter(panels.values()))]
    with matplotlib.rc_context(STYLE):
        figure = _figure(WIDE, 46 + 30 * len(models))
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (metric, values) in zip(axes, panels.items(), strict=True):
            _bar_panel(ax, metric, list(values.values()))
        axes[0].set_yticks(range(len(models)), models, fontsize=12.5)
        axes[0].invert_yaxis()
        return _svg(figure, "bars")


def accuracy_against_novelty(points: Mapping[str, tuple[float, float]], *, accuracy: str, novelty: str) -> str:
    """One labelled point per model: novelty to the right, accuracy upwards."""
    with matplotlib.rc_context(STYLE):
        figure, ax = _one(HALF)
        for at, (x, y) in enumerate(points.values()):
            ax.plot(x, y, MARKERS[at % 7], color=COLOURS[at % 7], markersize=10)
        ax.set(xlabel=f"{novelty}  (more novel →)", ylabel=f"{accuracy}  (more accurate →)")
        _leave_room(ax, points)
        _few_ticks(ax)
        figure.draw_without_rendering()  # fixes the scales that labels are placed by
        _point_labels(ax, points)
        return _svg(figure, "novelty")


def degrees(counts: NDArray[Any], *, head: float = 0.1) -> str:
    """How popularity falls from the most popular item to the least, both axes logarithmic."""
    ordered = np.sort(np.asarray(counts))[::-1]
    ordered = ordered[ordered > 0]
    shown = np.unique(np.geomspace(1, len(ordered), 300).round().astype(int))
    edge = max(1, round(head * len(ordered)))
    share = ordered[:edge].sum() / ordered.sum()
    with matplotlib.rc_context(STYLE):
        figure, ax = _one(HALF)
        ax.set(xscale="log", yscale="log", xlabel="items, most popular first", ylabel="users of the item")
        ax.axvspan(0.9, edge, color=COLOURS[0], alpha=0.09, linewidth=0)
        ax.plot(shown, ordered[shown - 1], color=COLOURS[0], drawstyle="steps-mid")
        ax.set_xlim(0.9, len(ordered) * 1.1)
        note = f"top {100 * head:.0f} % of the items:\n{100 * share:.0f} % of interactions"
        ax.text(0.04, 0.07, note, transform=ax.transAxes, fontsize=11.5, linespacing=1.4)
        _decades(ax.xaxis, 1, len(ordered), count)
        _decades(ax.yaxis, ordered[-1], ordered[0], count)
        return _svg(figure, "degrees")


def user_shares(per_user: Mapping[str, NDArray[Any]], *, label: str) -> str:
    """For each level of a metric, the share of users above it."""
    levels = np.linspace(0, 1, 101)
    with matplotlib.rc_context(STYLE):
        figure, ax = _one(HALF)
        for at, (model, values) in enumerate(per_user.items()):
            share = [float(np.mean(np.asarray(values) > level)) for level in levels]
            ax.plot(levels, share, color=COLOURS[at % 7], label=clean(model), linestyle=_dash(at))
        ax.set(xlabel=f"{label} above …", ylabel="share of users", xlim=(0, 1), ylim=(0, None))
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
        _legend(figure, ax, 2)
        return _svg(figure, "users")


def popularity(shares: Mapping[str, NDArray[Any]], sizes: Sequence[int]) -> str:
    """Shares of recommendations over tenths of all interactions, from the most to the least popular items."""
    groups = np.arange(1, len(sizes) + 1)
    with matplotlib.rc_context(STYLE):
        figure, ax = _one(WIDE)
        ax.axhline(1 / len(sizes), color=FAINT, linestyle=(0, (4, 3)), linewidth=1.5, label="the data")
        for at, (model, share) in enumerate(shares.items()):
            style = {"color": COLOURS[at % 7], "marker": MARKERS[at % 7], "linestyle": _dash(at)}
            ax.plot(groups, share, label=clean(model), markersize=7, **style)
        ax.set_xticks(groups, [f"{count(size)}\nitem{'' if size == 1 else 's'}" for size in sizes])
        ax.set(xlabel="most popular items   →   least popular items", ylabel="share of recommendations")
        ax.set_ylim(0, None)
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
        ax.grid(visible=False, axis="x")
        _legend(figure, ax, 5)
        return _svg(figure, "popularity")


def convergence(residuals: Mapping[str, Sequence[float]], *, tol: float = 0.0) -> str:
    """Residuals of a solver, step by step."""
    with matplotlib.rc_context(STYLE):
        figure, ax = _one(HALF)
        ax.set(yscale="log", xlabel="step", ylabel="relative residual")
        for at, (name, values) in enumerate(residuals.items()):
            positive = np.where(np.asarray(values) > 0, values, np.nan)
            steps = np.arange(1, len(positive) + 1)
            ax.plot(steps, positive, color=COLOURS[at % 7], label=clean(name), linestyle=_dash(at))
        if tol > 0:
            ax.axhline(tol, color=FAINT, linestyle=(0, (4, 3)), linewidth=1.5, label="tolerance")
        low, high = ax.get_ylim()
        _decades(ax.yaxis, low, high, _power)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
        ax.legend(loc="upper right")
        return _svg(figure, "convergence")


def _bar_panel(ax: Any, metric: str, values: list[tuple[float, Span]]) -> None:
    heights = [value for value, _ in values]
    ends = [span[1] if span else value for value, span in values]
    ax.barh(range(len(values)), heights, height=0.62, color=[COLOURS[at % 7] for at in range(len(values))])
    for at, (_, span) in enumerate(values):
        if span:
            ax.plot(span, (at, at), color=INK, linewidth=1.4, solid_capstyle="butt", marker="|", markersize=7)
    reach = max([*ends, 1e-9])
    for at, (value, _) in enumerate(values):
        ax.text(ends[at] + 0.03 * reach, at, f"{value:.3f}", va="center", fontsize=11.5)
    ax.set_xlim(0, 1.22 * reach)
    ax.set_title(clean(metric))
    ax.xaxis.set_visible(False)
    ax.grid(visible=False)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _leave_room(ax: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """Margins wide enough for the names to the right of the points."""
    xs, ys = np.array(list(points.values())).T
    x_span, y_span = max(np.ptp(xs), 0.02), max(np.ptp(ys), 0.02)
    left = xs.min() - 0.12 * x_span
    taken = np.array([(8.2 * len(_short(name)) + 18) / (HALF - 70) for name in points])  # of the axis, by each name
    ax.set_xlim(left, max(np.max(left + (xs - left) / (1 - taken)), xs.max() + 0.12 * x_span))
    ax.set_ylim(ys.min() - 0.15 * y_span, ys.max() + 0.15 * y_span)


def _point_labels(ax: Any, points: Mapping[str, tuple[float, float]], gap: float = 15) -> None:
    """Names beside the points, pushed apart vertically where points lie close together."""
    pixels = ax.transData.transform(list(points.values()))
    order = np.argsort(pixels[:, 1], kind="stable")
    height = -np.inf
    for at in order:
        x, y = pixels[at]
        height = max(y, height + gap)
        moved, colour = 10 if height - y > 5 else 0, COLOURS[at % 7]
        point, label = ax.transData.inverted().transform([(x, y), (x + 10 + moved, height)])
        if moved:
            ax.plot(*zip(point, label, strict=True), color=colour, linewidth=0.8, zorder=1)
        ax.text(*label, _short(list(points)[at]), va="center", color=colour, fontweight="bold")


def _short(name: str, longest: int = 28) -> str:
    text = clean(name)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _legend(figure: Figure, ax: Any, columns: int) -> None:
    """Inside, in the empty corner, while it is small; else below, in a figure as much taller."""
    lines = ax.get_legend_handles_labels()[1]
    if len(lines) <= 5:
        ax.legend(loc="upper right")
        return
    figure.set_figheight(figure.get_figheight() + (18 * -(-len(lines) // columns) + 8) / 72)
    figure.legend(loc="outside lower center", ncols=columns)


def _few_ticks(ax: Any) -> None:
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def _decades(axis: Any, low: float, high: float, wording: Any) -> None:
    """Whole powers of ten only, and no more than seven of them."""
    first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
    step = max(1, -(-(last - first + 1) // 7))
    axis.set_major_locator(FixedLocator([10.0**n for n in range(first, last + 1, step)]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: wording(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _power(value: float) -> str:
    return "10" + str(round(np.log10(value))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _dash(at: int) -> Any:
    """Solid lines first; after the palette has been used once, the same colours return dashed."""
    return "-" if at < len(COLOURS) else (0, (2, 1.5))


def _figure(wide: float, high: float) -> Figure:
    return Figure(figsize=(wide / 72, high / 72), layout="constrained")


def _one(wide: float) -> tuple[Figure, Any]:
    figure = _figure(wide, HEIGHT)
    return figure, figure.subplots()


def _svg(figure: Figure, key: str) -> str:
    buffer = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the reader's fonts draw it, not ours
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    wide, high = (round(72 * inches) for inches in figure.get_size_inches())
    return tidy(buffer.getvalue(), key, wide, high)
