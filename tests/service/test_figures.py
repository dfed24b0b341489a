"""Figures of /metrics by model, and alerts that speak of figures that there are."""

import os
import re
import time
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from corml.service.operations import TABLE
from corml.service.served import Shelf, load


def figures(inside):
    """Every figure of /metrics: its name, its labels and its value."""
    families = text_string_to_metric_families(inside.http.get("/metrics").text)
    return [(one.name, one.labels, one.value) for family in families for one in family.samples]


def test_requests_and_their_times_are_counted_by_model(inside):
    inside.post("/v1/recommend", {"history": ["i1"]})
    inside.post("/v1/recommend", {"history": ["i1"], "model": "plain"})
    inside.post("/v1/explain", {"item": "nothing", "history": ["i1"], "model": "plain"})  # a problem of this model
    for name in ("nobody-1", "nobody-2"):
        inside.post("/v1/recommend", {"model": name})
    inside.http.get("/v1/models")
    found = figures(inside)
    counted = {(one["route"], one["model"], one["code"]): n for name, one, n in found if name == "corml_requests_total"}
    assert counted[("recommend", "dial", "200")] == counted[("recommend", "plain", "200")] == 1
    assert counted[("explain", "plain", "404")] == 1
    assert counted[("recommend", "", "404")] == 2  # names that nobody serves are no labels
    assert counted[("models", "", "200")] == 1
    timed = {(one["route"], one["model"]) for name, one, _ in found if name == "corml_seconds_count"}
    assert {("recommend", "dial"), ("recommend", "plain"), ("explain", "plain")} <= timed


def test_the_age_of_a_model_file_is_that_of_its_bytes_and_not_of_the_service(folder, tmp_path, make_inside):
    path = tmp_path / "old.corml"
    path.write_bytes((folder / "plain.corml").read_bytes())
    os.utime(path, (0, time.time() - 86_400))
    shelf = Shelf("old")
    shelf.put(load("old", str(path)))
    ages = {name: value for name, _, value in figures(make_inside(shelf)) if "age_seconds" in name}
    assert ages["corml_model_file_age_seconds"] == pytest.approx(86_400, abs=100)
    assert ages["corml_model_age_seconds"] < 100


# --- alerts ----------------------------------------------------------------------------------------------------------

DEPLOY = Path(__file__).parents[2] / "deploy"
ALERTS = yaml.safe_load((DEPLOY / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_speaks_of_figures_and_labels_that_the_service_has(inside, rule):
    inside.post("/v1/recommend", {"history": ["i1"]})
    inside.http.get("/readyz")
    inside.service.meter.reloads.labels("failed").inc()
    inside.service.meter.rejected.labels("overload").inc()
    labels = {}
    for name, given, _ in figures(inside):
        labels.setdefault(name, set()).update(given)
    expression = rule["expr"]
    for name, chosen in re.findall(r"(corml_\w+)(?:\{([^}]*)\})?", expression):
        assert name in labels
        assert set(re.findall(r"(\w+)[=!]", chosen)) <= labels[name]
    grouped = re.findall(r"by \(([^)]*)\)", expression)
    assert {one.strip() for each in grouped for one in each.split(",")} <= set().union(*labels.values())
    routes = {route for chosen in re.findall(r'route[=!]~?"([^"]*)"', expression) for route in chosen.split("|")}
    assert routes <= {one.name for one in TABLE}
    assert rule["labels"]["severity"] in ("critical", "warning")


def test_a_service_that_is_not_ready_raises_no_alert_about_errors():
    (errors,) = [rule["expr"] for rule in ALERTS if rule["alert"] == "CormlErrors"]
    assert errors.count("corml_requests_total{") == 2
    assert all("ready" in re.search(r'route!~"([^"]*)"', part)[1].split("|") for part in errors.split(" / "))
