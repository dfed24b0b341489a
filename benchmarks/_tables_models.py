"""The tables and the figure of docs/models.md: every model on every data set of the paper, run or not."""

from typing import Any

from _drawing import BLUE, GREEN, GREY, PINK, RED, YELLOW, panels, save
from _record import read
from _tables import PAPERS, TITLES, markdown, must, paragraph, short

LINEAR = ("popularity", "item-knn", "ease", "slim", "admm-slim", "gf-cf")
GRADIENT = ("bpr-mf", "lightgcn", "simgcl", "ultragcn", "cml", "l-cml", "dpcml", "recvae")
COLOURS = dict(zip(("cml", "l-cml", "dpcml", "recvae", "ultragcn", "simgcl"),
                   (BLUE, GREEN, PINK, GREY, YELLOW, RED), strict=True))  # fmt: skip
DONE = "no better on the validation pairs"  # of a training that nothing else ended
PATIENCE, EPOCHS = 10, 200  # by default
LIMITS = ("patience", "epochs", "minutes")
ITEMS = {"gowalla": 40_981, "yelp2018": 38_048}  # too many for dense arrays
ROOM = 24  # GiB of the machine
SAVED = "Gradient models were trained on two of the three data sets, to save time."

Record = dict[str, Any]


def tables() -> dict[str, str]:
    """Each table with what belongs to it, by the name it has in the page."""
    return {"models": models(), "trainings": trainings()}


def recorded(name: str, data: str) -> Record | None:
    if name == "corml":
        fit = must(f"corml/fit-{data}")["sparse"]
        paper = must(f"corml/quality-{data}")["paper"]["ndcg@10"]
        return {"test": fit["metrics"], "cpu seconds": fit["cpu seconds"], "paper ndcg@10": paper}
    return read(f"{'linear' if name in LINEAR else 'neural'}/{name}-{data}")


def models() -> str:
    rows = [["model", *(f"{TITLES[data]}: NDCG@10 (paper), CPU s" for data in PAPERS)]]
    reasons: list[str] = []
    for name in ("corml", *LINEAR, *GRADIENT):
        records = {data: recorded(name, data) for data in PAPERS}
        rows.append([name, *(cell(record) for record in records.values())])
        missing = [data for data, record in records.items() if record is None]
        reasons += [why for data in missing if (why := reason(name, data)) not in reasons]
    return "\n".join([*markdown(rows), "", paragraph(" ".join(["Not run:", *reasons]))])


def cell(record: Record | None) -> str:
    """How good, how good by the paper, and what it cost."""
    if record is None:
        return "not run"
    paper = record.get("paper ndcg@10", record.get("paper's ndcg@10"))
    reported = f" ({short(paper)})" if paper else ""
    seconds = record.get("training", record)["cpu seconds"]
    star = "\\*" if record.get("training", {}).get("stopped", DONE) != DONE else ""
    return f"{short(record['test']['ndcg@10'])}{star}{reported}, {seconds:,.0f}"


def reason(name: str, data: str) -> str:
    """Why a model was not run, in a sentence."""
    if name == "admm-slim" and data in ITEMS:
        room = 6 * 4 * ITEMS[data] ** 2 / 1e9
        return (
            f"`admm-slim` on {TITLES[data]} needs six dense arrays of {ITEMS[data]:,}² numbers, {room:.0f} GB, "
            f"and the machine has {ROOM} GiB; `slim` solves the same problem."
        )
    if name in GRADIENT and data == "yelp2018":
        return SAVED
    return f"`{name}` on {TITLES[data]} is still to be measured."


def trainings() -> str:
    head = ["model", "data", "patience", "max epochs", "time limit", "other settings", "epochs", "best", "ended by"]
    rows = [head]
    for name in GRADIENT:
        for data in PAPERS:
            if record := recorded(name, data):
                rows.append([name, TITLES[data], *training(record)])
    return "\n".join(markdown(rows))


def training(record: Record) -> list[str]:
    """How long a model was to learn, how long it did, and what ended it; in bold what is no default."""
    given, learned = record["settings"], record["training"]
    patience, epochs, minutes = (given[limit] for limit in LIMITS)
    settings = [word for word in record["command"].split() if "=" in word and word.partition("=")[0] not in LIMITS]
    return [
        bold(patience, PATIENCE),
        bold(epochs, EPOCHS),
        "none" if minutes is None else f"**{minutes:g} min**",
        ", ".join(f"`{word}`" for word in settings) or "none",
        str(learned["epochs"]),
        str(learned["best epoch"]),
        "patience" if learned["stopped"] == DONE else learned["stopped"],
    ]


def bold(value: int, default: int) -> str:
    return str(value) if value == default else f"**{value}**"


def draw() -> None:
    """NDCG@10 of the validation pairs against minutes, as models learn."""
    figure, axes = panels(2)
    for axis, data in zip(axes, ("pinterest", "gowalla"), strict=True):
        for name, colour in COLOURS.items():
            if record := recorded(name, data):
                curve = [row for row in record["training"]["curve"] if "valid" in row]
                minutes, values = [row["seconds"] / 60 for row in curve], [row["valid"] for row in curve]
                axis.plot(minutes, values, color=colour, label=name, linewidth=1.4)
        axis.set(title=data, xlabel="minutes", ylim=(0, None), xscale="log")
        axis.set_xticks([0.1, 1, 10, 60], ["0.1", "1", "10", "60"])
        axis.legend(frameon=False, fontsize=7, loc="lower right")
    axes[0].set_ylabel("NDCG@10 of validation pairs")
    save(figure, "training")
