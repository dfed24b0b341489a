"""Small HTML for notebooks: text that came from data is shown and never acts as markup.

Objects of every room show themselves with `_repr_html_`, so this file lies below them all and needs nothing.
"""

import html
import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

# Marks that turn text around.
_HIDDEN = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def clean(text: object) -> str:
    """Make one line without control characters, whatever a title or an id contains."""
    characters = []
    for character in str(text):
        if character in _HIDDEN:
            continue
        if character.isspace():
            characters.append(" ")
        elif unicodedata.category(character) in ("Cc", "Cs"):
            characters.append("\N{REPLACEMENT CHARACTER}")
        else:
            characters.append(character)
    return "".join(characters)


def escaped(text: object) -> str:
    """Text for an HTML page or attribute: it shows as it is and never acts as markup."""
    return html.escape(clean(text), quote=True)


def number(value: float) -> str:
    """A number as a notebook shows it: whole ones with separators, others with four digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if math.isfinite(value) else "–"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str = "", note: str = "") -> str:
    """A table element; numbers stand to the right. It brings no style of its own, the notebook has one."""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    heads = "".join(f'<th scope="col">{escaped(column)}</th>' for column in columns)
    above = f"<caption>{escaped(caption)}</caption>" if caption else ""
    below = f"<p><small>{escaped(note)}</small></p>" if note else ""
    return f"<table>{above}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cell(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td style="text-align: right">{escaped(number(value))}</td>'
    return f'<td style="text-align: left"><bdi>{escaped(value)}</bdi></td>'
