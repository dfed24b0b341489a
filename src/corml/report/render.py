"""A page as one HTML file that needs nothing else: no network, no script, no other file.

Jinja escapes everything that is put into a template; only our own charts and style go in as they are.
"""

import os
from functools import cache
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any

from corml._runtime.html import clean
from corml.evaluation.charts import STYLE
from corml.persistence import atomic
from corml.report.page import Page

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render", "write_report"]

# Even if something slipped through, the browser would neither run nor fetch it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def write_report(path: str | os.PathLike[str], page: Page) -> None:
    """Write a page as one HTML file, atomically: the old file stays until the new one is complete."""
    atomic.replace(path, render(page).encode("utf-8"))


def render(page: Page) -> str:
    """Write the page as HTML; the same page gives the same text."""
    from markupsafe import Markup

    style = resources("corml.report").joinpath("style.css").read_text("utf-8")
    return _templates().get_template("page.html").render(page=page, policy=Markup(POLICY), style=Markup(STYLE + style))


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        """Text from data on one line, without control characters; escaping comes after this."""
        return value if isinstance(value, Markup) else clean(value)

    environment = Environment(
        loader=PackageLoader("corml.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["drawn"] = lambda chart: Markup(chart.svg(style=False))
    return environment
