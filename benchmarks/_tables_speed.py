"""The tables of docs/speed.md."""

import json
from collections.abc import Sequence
from typing import Any

from _record import RESULTS, read
from _tables import TITLES, gib, markdown, must, paragraph, small, threads

SERVING = {
    "corml": "corml, from the ids of a history",
    "implicit": "implicit ALS, a known user",
    "implicit, user folded in": "implicit ALS, a user folded in",
    "plain loop": "plain loop",
}


def tables() -> dict[str, str]:
    """Each table with its caption, by the name it has in the page."""
    races = [json.loads(path.read_text("utf-8")) for path in (RESULTS / "speed").glob("rivals-*.json")]
    return {
        "serving": serving(must("speed/serving-gowalla")),
        "lists": lists(read("speed/lists")),
        "race": race(),
        "rivals": rivals(sorted(races, key=lambda record: record["items"])),
        "growth": growth(must("speed/growth")["series"]),
    }


def deploy() -> dict[str, str]:
    """The tables of docs/deploy.md."""
    names = ("movielens-small", "gowalla")
    return {
        "service": service([one for name in names if (one := read(f"speed/service-{name}"))]),
        "stress": stress([must(f"speed/stress-{name}") for name in names]),
    }


def studio() -> dict[str, str]:
    """The paragraph of docs/studio.md."""
    record = must("speed/studio-pinterest")
    dial, history = record["dial"], record["history"]
    text = (
        f"On {TITLES[record['data']]}, {record['items']:,} items, half of the lists were painted within "
        f"{dial['p50 ms']:.0f} ms after the dial was moved and within {history['p50 ms']:.0f} ms after a title was "
        f"added, 90 of 100 within {dial['p90 ms']:.0f} and {history['p90 ms']:.0f} ms: chromium and the studio on the "
        "same two cores (`benchmarks/studio.py`)."
    )
    return {"paint": paragraph(text)}


def stress(records: list[dict[str, Any]]) -> str:
    """What reloads and too many people cost."""
    rows = [["one worker", *(f"{TITLES[one['data']]}, {one['items']:,} items" for one in records)]]

    def row(name: str, part: str, *figures: str) -> None:
        rows.append([name, *(" / ".join(f"{one[part][figure]:,.0f}" for figure in figures) for one in records)])

    row("16 connections: answers a second / p99, ms", "steady", "answers a second", "p99 ms")
    row("the same with 20 reloads a minute", "with reloads", "answers a second", "p99 ms")
    row("64 connections", "peak", "answers a second", "p99 ms")
    row("512 connections, refused ones wait as they are told", "overload", "answers a second", "p99 ms")
    row("… refusals: p99, ms / health: p99, ms", "overload", "p99 ms of a refusal", "p99 ms of health")
    row("512 connections, refused ones ask again after 50 ms", "overload, impatient", "answers a second", "p99 ms")
    failures = sum(one[part]["failures"] for one in records for part in ("steady", "with reloads", "overload"))
    note = f"Answers that failed: {failures}. The program that asks has the other core"
    return "\n".join([*markdown(rows), "", small(f"{note} (`benchmarks/service_stress.py`).")])


def service(records: list[dict[str, Any]]) -> str:
    """Requests a second beside a bare ping; nothing where it was not measured."""
    if not records:
        return "Not measured yet."
    rows = [["data", "items", "requests a second", "times a bare ping", "99 of 100 within, ms"]]
    for record in records:
        turns = sorted(record["recommend"], key=lambda turn: turn["requests a second"])
        middle = turns[len(turns) // 2]
        figures = [f"{middle['requests a second']:,.0f}", f"{record['times the ping']:.2f}", f"{middle['p99 ms']:.0f}"]
        rows.append([TITLES[record["data"]], f"{record['items']:,}", *figures])
    return "\n".join(markdown(rows))


def serving(record: dict[str, Any]) -> str:
    rows = [["program", "one list, median ms", "95 of 100 within, ms", "everyone, s", "lists a second"]]
    for name, label in SERVING.items():
        one, many = record["single"][name], record["batch"].get(name)
        all_users = [f"{many['seconds']:.1f}", f"{many['users a second']:,}"] if many else ["–", "–"]
        rows.append([label, f"{one['p50 ms']:.1f}", f"{one['p95 ms']:.1f}", *all_users])
    evaluation = record["evaluate"]
    loop = evaluation["plain loop"]
    sentence = (
        f"Evaluation: {evaluation['metrics']} figures (every metric at 5, 10 and 20) of {evaluation['users']:,} users, "
        f"with intervals, take corml {evaluation['corml']['seconds']:.1f} s. The plain loop, without intervals, "
        f"would take {loop['seconds']:.0f} s, {evaluation['times faster']:.0f} times as long."
    )
    caption = (
        f"{record['data']}: {record['users']:,} users, {record['items']:,} items, rank {record['rank']}; "
        f"implicit {record['versions']['implicit']}. {threads(record)}, "
        f"load {record['machine']['load before']:.1f} before the start. The plain loop is measured on "
        f"{loop['extrapolated from users']} users and extrapolated."
    )
    return "\n".join([*markdown(rows), "", paragraph(sentence), "", small(caption)])


def lists(record: dict[str, Any] | None) -> str:
    if record is None:
        return "Not measured yet."
    fit, served = record["fit"], record["lists"]
    rows = [["users", "items", "lists, s", "CPU s", "lists a second", "peak"]]
    times = [f"{served[key]:,.0f}" for key in ("seconds", "cpu seconds", "lists a second")]
    rows.append([f"{record['users']:,}", f"{record['items']:,}", *times, gib(served["peak bytes"], 2)])
    caption = (
        f"Lists of {record['k']}; rank {fit['rank']}, {fit['entries of H']:,} entries of H, learned from "
        f"{fit['interactions']:,} interactions in {fit['cpu seconds']:,.0f} CPU seconds. {threads(record)}, "
        f"load {record['machine']['load before']:.1f} before the start. Of the peak, {gib(served['bytes before'], 2)} "
        "are the interpreter, the histories and the model."
    )
    return "\n".join([*markdown(rows), "", small(caption)])


def race() -> str:
    """Seconds of fits in one run, and how they compare."""
    records = [must(f"speed/race-{data}") for data in ("movielens-small", "pinterest", "gowalla")]
    names = list(dict.fromkeys(name for record in records for name in record["models"]))
    rows = [["fit, s (CPU s)", *(TITLES[record["data"]] for record in records)]]
    for name in names:
        cells = [record["models"].get(name, {}) for record in records]
        rows.append(
            [name, *(f"{one['seconds']:.2f} ({one['cpu seconds']:.2f})" if "seconds" in one else "–" for one in cells)]
        )
    for model in ("CoRML(adapt=False)", "CoRML()"):
        rows.append([f"{model}, predicted s", *(f"{one['models'][model]['predicted seconds']:.2f}" for one in records)])
        for label, others in (
            ("EASE, the faster route", ("EASE, local", "EASE, dense")),
            ("ALS, SANSA, the faster", ("ALS", "SANSA")),
        ):
            ratios = [_ratio(record["models"], model, others) for record in records]
            rows.append([f"{model} ÷ {label}", *ratios])
    loads = ", ".join(f"{record['machine']['load before']:.1f}" for record in records)
    note = small(f"{threads(records[-1])}; load before the runs {loads}. Written by `benchmarks/race.py`.")
    return "\n".join([*markdown(rows), "", note])


def _ratio(models: dict[str, Any], model: str, others: Sequence[str]) -> str:
    seconds = [models[name]["seconds"] for name in others if "seconds" in models.get(name, {})]
    return f"{models[model]['seconds'] / min(seconds):.2f}" if seconds else "–"


def rivals(records: Sequence[dict[str, Any]]) -> str:
    rows = [["data", "model", "settings chosen on valid", "fit, s", "CPU s", "peak", "NDCG@10"]]
    notes = []
    for record in records:
        for name, result in record["rivals"].items():
            rows.append([record["data"], name, *rival(result)])
            if why := result.get("skipped") or result.get("reason"):
                notes.append(f"{name} on {record['data']}: {why}.")
    packages = ", ".join(f"{name} {version}" for name, version in records[-1]["versions"].items())
    loads = ", ".join(f"{record['machine']['load before']:.1f} before {record['data']}" for record in records)
    caption = [f"{threads(records[-1])}; load {loads}. {packages}.", *notes]
    return "\n".join([*markdown(rows), "", small(" ".join(caption))])


def growth(series: dict[str, Any]) -> str:
    rows = [["users of an item", "items", "interactions", "fit, s", "CPU s", "peak", "predicted"]]
    sentences = []
    for degree, one in series.items():
        for row in one["rows"]:
            sizes = [gib(row[key], 2) for key in ("peak bytes", "predicted bytes")]
            times = [f"{row[key]:,.1f}" for key in ("seconds", "cpu seconds")]
            rows.append([degree, f"{row['items']:,}", f"{row['interactions']:,}", *times, *sizes])
        exponent = one["exponents"]
        sentences.append(
            f"With {_users(degree)}, CPU time grows with interactions^{exponent['cpu seconds']:.2f}, "
            f"memory with interactions^{exponent['bytes']:.2f}."
        )
    return "\n".join([*markdown(rows), "", paragraph(" ".join(sentences))])


def _users(series: str) -> str:
    """A series of growth in words: its users of an item, and how the fits were made."""
    degree, *how = series.split(", ")
    return " and ".join([f"{degree} users of an item", *(f"`{setting}`" for setting in how)])


def rival(result: dict[str, Any]) -> list[str]:
    """The cells of one model: a figure with ≈ is extrapolated."""
    if "skipped" in result:
        return ["–"] * 5
    setting = ", ".join(
        f"{key} {value:g}" if key != "factorizer" else value for key, value in result["setting"].items()
    )
    about, quality = ("", f"{result['ndcg@10']:.4f}") if "ndcg@10" in result else ("≈ ", "–")
    times = [f"{about}{result[key]:,.1f}" for key in ("seconds", "cpu seconds")]
    return [setting or "none", *times, gib(result["peak bytes"]), quality]
