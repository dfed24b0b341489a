"""A page as one HTML file that needs nothing else: no network, no script, no other file.

Everything that comes from data goes through `escaped`; only our own markup and figures are put in as they are.
"""

import os
from functools import singledispatch
from importlib.resources import files as resources

from corml.report._text import escaped
from corml.report.page import (
    Card,
    Comparison,
    Details,
    Facts,
    Figure,
    Finding,
    Findings,
    Gallery,
    Page,
    Pick,
    Samples,
    Section,
)
from corml.report.tables import Table
from corml.storage import atomic

__all__ = ["render", "write_report"]

# Even if something slipped through, the browser would neither run nor fetch it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def write_report(path: str | os.PathLike[str], page: Page) -> None:
    """Write a page as one HTML file, atomically: the old file stays until the new one is complete."""
    atomic.replace(path, render(page).encode("utf-8"))


def render(page: Page) -> str:
    """Write the page as HTML; the same page gives the same text."""
    style = resources("corml.report").joinpath("style.css").read_text("utf-8")
    subtitle = f'<p class="subtitle">{escaped(page.subtitle)}</p>' if page.subtitle else ""
    footer = f"<footer>{escaped(page.footer)}</footer>\n" if page.footer else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped(page.title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{escaped(page.title)}</h1>
{subtitle}
</header>
<main>
{"".join(map(_section, page.sections))}</main>
{footer}</body>
</html>
"""


def _section(section: Section) -> str:
    intro = f'<p class="intro">{escaped(section.intro)}</p>\n' if section.intro else ""
    return f"<section>\n<h2>{escaped(section.heading)}</h2>\n{intro}{_body(section)}</section>\n"


@singledispatch
def _body(section: Section) -> str:
    return ""


@_body.register
def _(section: Facts) -> str:
    tiles = "".join(
        f'<div class="tile"><dd>{escaped(fact.value)}</dd><dt>{escaped(fact.label)}</dt></div>\n'
        for fact in section.tiles
    )
    return f'<dl class="tiles">\n{tiles}</dl>\n' + _pairs(section.more)


@_body.register
def _(section: Findings) -> str:
    rows = "".join(map(_finding, section.findings))
    return f'<ul class="findings">\n{rows}</ul>\n' if rows else ""


@_body.register
def _(section: Comparison) -> str:
    main = _scrolling(section.table, section.heading) if section.table else ""
    note = f'<p class="note">{escaped(section.note)}</p>\n' if section.note else ""
    whole = _folded("All list lengths", _scrolling(section.whole, "All list lengths")) if section.whole else ""
    meanings = _folded("What the columns mean", _pairs(section.meanings)) if section.meanings else ""
    return main + note + meanings + whole


@_body.register
def _(section: Gallery) -> str:
    notice = f'<p class="notice">{escaped(section.notice)}</p>\n' if section.notice else ""
    figures = "".join(map(_figure, section.figures))
    return notice + (f'<div class="gallery">\n{figures}</div>\n' if figures else "")


@_body.register
def _(section: Samples) -> str:
    return "".join(map(_card, section.cards))


@_body.register
def _(section: Details) -> str:
    groups = "".join(f"<section><h3>{escaped(name)}</h3>\n{_pairs(rows)}</section>\n" for name, rows in section.groups)
    command = f"<pre><code>{escaped(section.command)}</code></pre>\n" if section.command else ""
    return f'{command}<div class="groups">\n{groups}</div>\n'


def _finding(finding: Finding) -> str:
    kind = "" if finding.severity == "note" else ' class="warning"'
    advice = f"<span>{escaped(finding.advice)}</span>" if finding.advice else ""
    return f"<li{kind}><b>{escaped(finding.severity)}</b> {escaped(finding.what)}{advice}</li>\n"


def _figure(figure: Figure) -> str:
    label = escaped(f"{figure.title}. {figure.caption}")
    svg = figure.svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    kind = ' class="wide"' if figure.wide else ""
    caption = f"<figcaption>{escaped(figure.caption)}</figcaption>"
    return f"<figure{kind}>\n<h3>{escaped(figure.title)}</h3>\n<div>{svg}</div>\n{caption}</figure>\n"


def _card(card: Card) -> str:
    history = "".join(f"<li><bdi>{escaped(title)}</bdi></li>" for title in card.history)
    more = f'<li class="more">and {card.more:,} more</li>' if card.more else ""
    note = f'<p class="note">{escaped(card.note)}</p>' if card.note else ""
    picks = "".join(map(_pick, card.picks))
    return f"""<article class="card">
<h3>User <bdi>{escaped(card.name)}</bdi></h3>{note}
<div><h4>History</h4><ul>{history}{more}</ul></div>
<div><h4>Recommended</h4><ol>{picks}</ol></div>
</article>
"""


def _pick(pick: Pick) -> str:
    hit = ' <span class="hit" title="held out: the user did choose it">✓</span>' if pick.held_out else ""
    because = ", ".join(f"<bdi>{escaped(title)}</bdi>&nbsp;{100 * share:.0f}&nbsp;%" for title, share in pick.reasons)
    why = f'<span class="why">because of: {because}</span>' if because else ""
    return f'<li><bdi>{escaped(pick.title)}</bdi>{hit} <span class="score">{pick.score:.3f}</span>{why}</li>'


def _scrolling(table: Table, label: str) -> str:
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{escaped(label)}">{table.html()}</div>\n'


def _folded(label: str, content: str) -> str:
    return f"<details><summary>{escaped(label)}</summary>\n{content}</details>\n"


def _pairs(rows: tuple[tuple[str, str], ...]) -> str:
    items = "".join(f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>\n" for name, value in rows)
    return f'<dl class="pairs">\n{items}</dl>\n' if items else ""
