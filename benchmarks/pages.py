"""Every table of README.md and docs/ that holds measured figures, made from results/ (run: python benchmarks/pages.py).

A table stands between two comments of its page, `<!-- NAME: made by benchmarks -->` and `<!-- end of NAME -->`. The
figure of docs/models.md is drawn as well.
"""

import re
from collections.abc import Callable

import _tables_ablation
import _tables_corml
import _tables_items
import _tables_models
import _tables_reproduce
import _tables_scale
import _tables_speed
import _tables_strength
import _tables_tuning
from _record import ROOT

Tables = dict[str, str]
PAGES: dict[str, Callable[[], Tables]] = {
    "README.md": _tables_corml.readme,
    "docs/method.md": _tables_corml.method,
    "docs/ablation.md": _tables_ablation.tables,
    "docs/solver.md": _tables_corml.solver,
    "docs/models.md": _tables_models.tables,
    "docs/items.md": _tables_items.tables,
    "docs/scale.md": _tables_scale.tables,
    "docs/speed.md": _tables_speed.tables,
    "docs/deploy.md": _tables_speed.deploy,
    "docs/studio.md": _tables_speed.studio,
    "docs/reproduce.md": _tables_reproduce.tables,
    "docs/weights.md": _tables_strength.tables,
    "docs/tuning.md": _tables_tuning.tables,
}


def write_tables() -> None:
    """Bring all pages up to date."""
    for name, tables in PAGES.items():
        page = ROOT / name
        page.write_text(put(page.read_text("utf-8"), tables(), name), encoding="utf-8")


def put(text: str, tables: Tables, page: str) -> str:
    """The text of a page with these tables."""
    for name, table in tables.items():
        marks = rf"(<!-- {name}: made by benchmarks -->\n).*?(<!-- end of {name} -->)"
        text, count = re.subn(marks, lambda mark, table=table: mark[1] + table + "\n" + mark[2], text, flags=re.S)
        assert count == 1, f"{page} has no place for {name}"
    return text


if __name__ == "__main__":
    write_tables()
    _tables_models.draw()
