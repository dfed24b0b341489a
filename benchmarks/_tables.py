"""What the tables of the pages share: results read, figures and rows written."""

from textwrap import fill
from typing import Any

from _record import read

WIDTH = 120
TITLES = {"gowalla": "Gowalla", "yelp2018": "Yelp2018", "pinterest": "Pinterest", "movielens-small": "MovieLens sample"}
PAPERS = ("gowalla", "yelp2018", "pinterest")  # data sets of the paper, in the order of every table


def must(name: str) -> dict[str, Any]:
    """A result that a page cannot do without."""
    record = read(name)
    assert record is not None, f"results/{name}.json is not there"
    return record


def markdown(rows: list[list[str]]) -> list[str]:
    """Lines of a table; the first row is its head."""
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return [head, "|" + "---|" * len(rows[0]), *body]


def paragraph(text: str) -> str:
    return fill(text, WIDTH, break_on_hyphens=False)


def small(text: str) -> str:
    return paragraph(f"<sub>{text}</sub>")


def gib(count: int, digits: int = 1) -> str:
    return f"{count / 2**30:.{digits}f} GiB"


def short(value: float) -> str:
    """Four digits without the zero before the point."""
    return f"{value:.4f}".removeprefix("0")


def threads(record: dict[str, Any]) -> str:
    return f"{record['machine']['threads']} threads on {record['machine']['cores']} cores"
