"""The tables of docs/reproduce.md: what `corml reproduce` gave, and what was not run."""

from itertools import chain
from typing import Any

from _record import RESULTS, read
from _tables import markdown, paragraph, short

from corml.experiments.reproduce.published import read_published
from corml.experiments.reproduce.table import verdict

METRIC = "ndcg@10"
BOLD = {"holds": "holds", "not": "**does not hold**"}


def tables() -> dict[str, str]:
    parts = [_paper(), _pruned(), _checks(), _speed(), _ablation(), _boards(), _strong()]
    return {"reproduced": "\n\n".join([*chain.from_iterable(parts), _missing()])}


def _recorded(name: str) -> dict[str, dict[str, Any]]:
    """Results of an experiment by data set."""
    names = [path.stem for path in sorted((RESULTS / "reproduce").glob(f"{name}-*.json"))]
    return {one.removeprefix(f"{name}-"): record for one in names if (record := read(f"reproduce/{one}")) is not None}


def _title(data: str) -> str:
    return str(read_published()["data"][data]["title"])


def _paper() -> list[str]:
    parts = []
    for data, record in _recorded("table").items():
        shown = [row for row in record["rows"] if row["metric"] == METRIC]
        apart = _run_apart(data, {row["model"] for row in shown})
        shown = [*apart, *shown]
        rows = [["model", f"paper, {METRIC}", "ours", "difference", "verdict"], *map(_line, shown)]
        parts.append(f"**`table`, {_title(data)}**, {record['date']}:\n\n" + "\n".join(markdown(rows)))
        if apart:
            parts.append(paragraph("¹ Run by itself before, with the same split and settings: `benchmarks/neural.py`."))
        run = {row["model"] for row in shown}
        offered = [*read_published()["table"]["models"], *read_published()["table"]["corml"]]
        if absent := [name for name in offered if name not in run]:
            parts.append(paragraph(f"Not in this run: {', '.join(f'`{name}`' for name in absent)}."))
        reasons = {row["title"]: row["reason"] for row in shown if row["reason"]}
        if reasons:
            said = " ".join(f"{title}: {reason}." for title, reason in reasons.items())
            parts.append(paragraph(f"More than 2 % off, and what is known to differ. {said}"))
    return parts


def _run_apart(data: str, run: set[str]) -> list[dict[str, Any]]:
    """Rows of gradient models that were trained one by one, where the experiment did not run them."""
    published, rows = read_published(), []
    for name in published["table"]["models"]:
        record = None if name in run else read(f"neural/{name}-{data}")
        if record is None:
            continue
        paper, ours, model = record["paper ndcg@10"], record["test"][METRIC], published["models"][name]
        said = verdict(paper, ours, published["table"]["tolerance"])
        rows.append(
            {
                "model": name,
                "title": f"{model['title']}¹",
                "paper": paper,
                "ours": ours,
                "difference": ours / paper - 1,
                "verdict": said,
                "reason": model["differs"] if said in ("higher", "lower") else "",
                "paper's star": False,
                "star": False,
            }
        )
    return rows


def _line(row: dict[str, Any]) -> list[str]:
    paper = "–" if row["paper"] is None else ("\\*" if row["paper's star"] else "") + short(row["paper"])
    ours = "failed" if row["ours"] is None else ("\\*" if row["star"] else "") + short(row["ours"])
    difference = "–" if row["difference"] is None else f"{100 * row['difference']:+.1f} %".replace("-", "−")
    return [row["title"], paper, ours, difference, row["verdict"]]


def _pruned() -> list[str]:
    said = [
        f"{_title(data)}: "
        + ", ".join(
            f"`{name}` {short(record[name]['pruned'][METRIC])} instead of {short(record[name]['whole'][METRIC])}"
            for name in ("ease", "slim")
        )
        for data, record in _recorded("pruned").items()
    ]
    if not said:
        return []
    start = "The paper prunes the weights of EASE and SLIM to the storage of a factor model of size 64."
    return [paragraph(f"{start} Ours, pruned so, by {METRIC}: {'; '.join(said)} (`benchmarks/pruned.py`).")]


def _checks() -> list[str]:
    parts = []
    for name in ("novelty", "mix", "weights"):
        for data, record in _recorded(name).items():
            rows = [["the paper says", "where", "", "found"]]
            rows += [
                [check["says"], check["where"], BOLD["holds" if check["holds"] else "not"], check["found"]]
                for check in record["checks"]
            ]
            parts.append(f"**`{name}`, {_title(data)}**, {record['date']}:\n\n" + "\n".join(markdown(rows)))
    return parts


def _ablation() -> list[str]:
    parts = []
    for data, record in _recorded("ablation").items():
        rows = [["variant", "compared with", METRIC, "gain, % (standard error)"]]
        rows += [
            [row["variant"], row["compared with"], short(row[METRIC]), _gain(row)]
            for row in record["rows"]
            if row[METRIC] is not None
        ]
        head = f"**`ablation`, {_title(data)}, valid part**, {record['date']}:"
        parts.append(f"{head}\n\n" + "\n".join(markdown(rows)))
    return parts


def _gain(row: dict[str, Any]) -> str:
    if row["variant"] == row["compared with"]:
        return ""
    return f"{row['gain %']:+.2f} ({row['standard error %']:.2f})".replace("-", "−")


def _speed() -> list[str]:
    """Processor seconds of fits, which other work on the machine changes little."""
    parts = []
    for data, record in _recorded("speed").items():
        rows = [["model", "paper, on ML-20M", "CPU seconds", "seconds", "threads"]]
        rows += [
            [
                row["title"],
                row["paper, ML-20M"] or "–",
                f"{row['processor seconds']:,.1f}",
                f"{row['seconds']:,.1f}",
                str(row["threads"]),
            ]
            for row in record["rows"]
        ]
        parts.append(f"**`speed`, {_title(data)}**, {record['date']}:\n\n" + "\n".join(markdown(rows)))
    if parts:
        said = "Models ran on an idle machine, except for the fixed steps: these ran before, next to other work."
        parts.append(paragraph(f"{said} Compare CPU seconds."))
    return parts


def _strong() -> list[str]:
    """New users: ours, and published rows where there are some."""
    parts = []
    for data, record in _recorded("strong").items():
        metrics = ("ndcg@100", "capped_recall@20", "capped_recall@50")
        rows = [["model", "from", "NDCG@100", "Recall@20", "Recall@50", "CPU s"]]
        for row in record["rows"]:
            cost = row.get("fit processor seconds")
            figures = ["–" if row.get(metric) is None else short(row[metric]) for metric in metrics]
            rows.append([row["model"], row["from"], *figures, "" if cost is None else f"{cost:.0f}"])
        head = f"**`strong`, {_title(data)}, new users**, {record['date']}:"
        parts.append(f"{head}\n\n" + "\n".join(markdown(rows)))
    return parts


def _boards() -> list[str]:
    """Published rows and ours on public splits, the best NDCG@20 first; ours are bold."""
    parts = []
    for data, record in _recorded("leaderboard").items():
        rows = [["model", "from", "Recall@20", "NDCG@20", "CPU s"]]
        rows += [_place(row) for row in record["rows"] if not row.get("error")]
        head = f"**`leaderboard`, LightGCN's split of {_title(data)}**, {record['date']}:"
        parts.append(f"{head}\n\n" + "\n".join(markdown(rows)))
    return parts


def _place(row: dict[str, Any]) -> list[str]:
    figures = [short(row[metric]) for metric in ("recall@20", "ndcg@20")]
    cost = row.get("fit processor seconds")
    if row["from"] == "ours":
        return [f"**{row['model']}**", "ours", *(f"**{figure}**" for figure in figures), f"{cost:.0f}"]
    return [row["model"], row["from"], *figures, ""]


def _missing() -> str:
    """Every experiment and data set without a result."""
    published = read_published()
    sections = {"table": published["table"], **published["figures"]}
    sections |= {name: published[name] for name in ("speed", "ablation", "leaderboard", "strong")}
    said = []
    for name, section in sections.items():
        absent = [data for data in section["data"] if data not in _recorded(name)]
        if absent:
            said.append(f"`{name}` on {', '.join(absent)}")
    return paragraph(f"Not run with this command yet: {'; '.join(said)}.") if said else "Everything was run."
