"""REPORT: results for people to read: tables, and one self-contained HTML page with charts.

subject = Subject(name="ratings.csv", data=data, split=split, models={"CoRML": (model, result)}, …)
write_report("report.html", build_page(subject))
"""

from corml.report.build import METRICS, build_page, render, write_report
from corml.report.page import Card, Page
from corml.report.samples import cards, sample_users, samples
from corml.report.studies import of_study
from corml.report.subject import Cost, Subject
from corml.report.tables import comparison

__all__ = [
    "METRICS",
    "Card",
    "Cost",
    "Page",
    "Subject",
    "build_page",
    "cards",
    "comparison",
    "of_study",
    "render",
    "sample_users",
    "samples",
    "write_report",
]
