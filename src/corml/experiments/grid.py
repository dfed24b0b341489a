"""A table as text, Markdown, LaTeX (booktabs) or HTML, from one description."""

import html
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

BEST, SECOND = "best", "runner-up"
_SIGNS = {BEST: "*", SECOND: "†", "": ""}
_LATEX = {
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$"},
    **{"<": "$<$", ">": "$>$", "–": "--", "≥": r"$\ge$", "…": r"\dots{}"},
}


@dataclass(frozen=True)
class Value:
    """One entry of a table: its text, a smaller addition such as ±0.012, and whether it is best or second."""

    text: str
    extra: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Grid:
    """Heads and rows; the first `texts` columns are words, to the left, and all others numbers, to the right.

    `meanings` explain the heads where there is room for it.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    texts: int = 1
    meanings: tuple[str, ...] = ()

    def text(self) -> str:
        """Aligned for a terminal; the best carries a star, the runner-up a dagger."""
        marked = [any(row[at].mark for row in self.rows) for at in range(len(self.heads))]
        body = [
            [
                clean(f"{value.text} {value.extra}".strip()) + (_SIGNS[value.mark] or " ") * mark
                for value, mark in zip(row, marked, strict=True)
            ]
            for row in self.rows
        ]
        heads = [head + " " * mark for head, mark in zip(self.heads, marked, strict=True)]
        widths = [max(map(_width, column)) for column in zip(heads, *body, strict=True)]
        lines = [heads, ["─" * width for width in widths], *body]
        return "\n".join("  ".join(self._padded(line, widths)).rstrip() for line in lines)

    def markdown(self) -> str:
        """For a README or an issue; the best is bold, the runner-up italic."""
        styles = {BEST: "**{}**", SECOND: "*{}*", "": "{}"}
        rules = ["---" if at < self.texts else "---:" for at in range(len(self.heads))]
        body = self._styled(markdown_text, styles, " {}")
        return "\n".join(f"| {' | '.join(line)} |" for line in ([*map(markdown_text, self.heads)], rules, *body))

    def latex(self) -> str:
        """A tabular with the rules of the package booktabs; the best is bold, the runner-up underlined."""
        styles = {BEST: r"\textbf{{{}}}", SECOND: r"\underline{{{}}}", "": "{}"}
        columns = "l" * self.texts + "r" * (len(self.heads) - self.texts)
        body = [" & ".join(line) + r" \\" for line in self._styled(latex_text, styles, r" {{\scriptsize {}}}")]
        head = " & ".join(map(latex_text, self.heads)) + r" \\"
        start = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule"]
        return "\n".join([*start, *body, r"\bottomrule", r"\end{tabular}"])

    def html(self) -> str:
        """A table element; the best is strong, the runner-up underlined."""
        styles = {BEST: "<strong>{}</strong>", SECOND: "<u>{}</u>", "": "{}"}
        heads = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in self.heads)
        rows = [
            f'<tr><th scope="row">{first}</th>{"".join(f"<td>{value}</td>" for value in rest)}</tr>'
            for first, *rest in self._styled(_html_text, styles, " <small>{}</small>")
        ]
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    def _styled(self, escape: Callable[[str], str], styles: dict[str, str], addition: str) -> list[list[str]]:
        return [
            [
                styles[value.mark].format(escape(value.text))
                + (addition.format(escape(value.extra)) if value.extra else "")
                for value in row
            ]
            for row in self.rows
        ]

    def _padded(self, line: Sequence[str], widths: Sequence[int]) -> list[str]:
        padding = [" " * (width - _width(text)) for text, width in zip(line, widths, strict=True)]
        return [
            text + space if at < self.texts else space + text
            for at, (text, space) in enumerate(zip(line, padding, strict=True))
        ]


def markdown_text(text: str) -> str:
    """Text in which nothing is taken for Markdown or HTML."""
    safe = clean(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join("\\" + sign if sign in "\\|*`[]>_" else sign for sign in safe)


def latex_text(text: str) -> str:
    """Text in which nothing is taken for a command."""
    return "".join(_LATEX.get(sign, sign) for sign in clean(text))


def _plain(value: Value) -> str:
    return clean(f"{value.text} {value.extra}".strip())


def _html_text(text: str) -> str:
    return html.escape(clean(text))


def clean(text: str) -> str:
    """Escape what does not print: a label must not be able to forge a line."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else not unicodedata.combining(sign) for sign in text)
