"""An outcome as files: a page, every figure as CSV and JSON, and a drawing for each panel."""

from pathlib import Path

from corml.errors import DataError, ascii_line
from corml.evaluation import charts
from corml.experiments.reproduce.outcome import Outcome, Panel
from corml.persistence import atomic

__all__ = ["ENDINGS", "drawing", "write"]

ENDINGS = ("md", "csv", "json")


def write(outcome: Outcome, folder: Path) -> list[Path]:
    """Write NAME.md, NAME.csv, NAME.json and the drawings, each whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise DataError(f"Cannot make the folder {ascii_line(folder, 200)}: {fault.strerror or fault}.") from None
    texts = {
        "md": outcome.to_markdown() + "".join(f"\n![{panel.title}]({panel.name}.svg)\n" for panel in outcome.panels),
        "csv": outcome.to_frame().write_csv(),
        "json": outcome.to_json(),
    }
    for ending, text in texts.items():
        atomic.replace(folder / f"{outcome.name}.{ending}", text.encode("utf-8", "surrogatepass"))
    for panel in outcome.panels:
        drawing(panel).save(folder / f"{panel.name}.svg")
    return [
        *(folder / f"{outcome.name}.{ending}" for ending in texts),
        *(folder / f"{panel.name}.svg" for panel in outcome.panels),
    ]


def drawing(panel: Panel) -> charts.Chart:
    """A panel on its axes; a published value is a dashed line."""
    if panel.bars:
        labels = [str(label) for label, _ in panel.curves[0].points]
        series = [charts.Bars(one.name, [value for _, value in one.points]) for one in panel.curves]
        return charts.bars(series, labels, x=charts.Axis(panel.y), title=panel.title)
    lines = [
        charts.Line(one.name, [(float(x), y) for x, y in one.points], marks=len(one.points) > 2) for one in panel.curves
    ]
    return charts.lines(
        lines,
        x=charts.Axis(panel.x, log=panel.log),
        y=charts.Axis(panel.y),
        title=panel.title,
        reference=panel.reference,
    )
