"""REPORT: results for people to read: tables, figures, and one self-contained HTML page.

    study = Study(name="ratings.csv", data=data, split=split, models={"CoRML": (model, result)}, …)
    write_report("report.html", build_page(study))

matplotlib draws the figures if it is there; without it the page says how to get them.
"""

from corml.report.build import build_page
from corml.report.html import render, write_report
from corml.report.page import Page
from corml.report.samples import cards, sample_users, samples
from corml.report.study import Study
from corml.report.tables import Cell, Column, Table, comparison

__all__ = [
    "Cell",
    "Column",
    "Page",
    "Study",
    "Table",
    "build_page",
    "cards",
    "comparison",
    "render",
    "sample_users",
    "samples",
    "write_report",
]
