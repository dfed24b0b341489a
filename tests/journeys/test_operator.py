"""An operator: a service under load, while models are updated, reloaded, broken and rolled back; log and metrics."""

import os
import re
import secrets
import threading
from collections import Counter

import polars as pl
import pytest

import corml
from journeys.facts import known_pairs
from journeys.program import Shell, wait_for
from journeys.shop import NEGATIVE, WEIGHTS

CALLERS = 4
LOADING = {
    "event": "event",
    "weights": WEIGHTS,
    "negative": {NEGATIVE},
    "rating": False,
    "half_life": "90d",
    "transform": "log1p",
    "null_ids": "drop",
}


class Load:
    """Callers that ask for lists without a pause, and keep what they were told."""

    def __init__(self, make_client, users):
        self.answers, self.faults, self._stop = [], [], threading.Event()
        self._make, self._users = make_client, users
        self._threads = [threading.Thread(target=self._call, args=(at,)) for at in range(CALLERS)]

    def _call(self, at):
        with self._make() as ask:
            while not self._stop.is_set():
                user = self._users[at % len(self._users)]
                at += CALLERS
                try:
                    answer = ask.recommend(user=user, k=10)
                    self.answers.append((user, answer.model_version, [item.item for item in answer.items]))
                except Exception as fault:
                    self.faults.append(fault)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def goes_on(self):
        """Wait until every caller was answered a few times more."""
        so_far = len(self.answers)
        wait_for(lambda: self.faults or len(self.answers) > so_far + 10 * CALLERS)
        assert not self.faults


@pytest.fixture
def models(shop, tmp_path):
    """Yesterday's model, today's with the events of two weeks, and their lists."""
    (tmp_path / "models").mkdir()
    moment = shop.weeks_before_the_end(2)
    with pytest.warns(corml.errors.DataWarning, match="null ids"):
        known = corml.load(shop.before(moment), **LOADING, k_core=3, items=shop.items)
    with pytest.warns(corml.errors.DataWarning, match="null ids"):
        later = corml.load(shop.since(moment), **LOADING, as_update=True)
    old = corml.CoRML(adapt=False).fit(known)
    new = old.update(later)
    old.save(tmp_path / "models/old.corml")
    old.save(tmp_path / "models/shop.corml")
    new.save(tmp_path / "new.corml")
    return old, new


def test_an_operator_updates_a_service_under_load_and_rolls_it_back(shop, models, tmp_path):
    client, httpx = pytest.importorskip("corml.client"), pytest.importorskip("httpx")
    tokens = {name: secrets.token_urlsafe(32) for name in ("token", "admin")}
    for name, token in tokens.items():
        (tmp_path / name).write_text(token)
    old, new = models
    busy = shop.since(shop.weeks_before_the_end(2)).drop_nulls(["customer_id", "sku"])
    users = [user for user in busy["customer_id"].cast(pl.String).unique().sort().to_list() if user in old.users_][:200]
    expected = {model: dict(zip(users, model.recommend(users, k=10).items.tolist(), strict=True)) for model in models}
    had = known_pairs(busy)

    shell, workers = Shell(tmp_path), min(2, os.cpu_count() or 1)
    words = ["shop=models/shop.corml", "--workers", workers, "--token-file", "token", "--admin-token-file", "admin"]
    with shell.serving(*words, "--drain", 0.2) as service:

        def caller(name="token", **how):
            return client.Client(service.address, **{"token": tokens[name], "timeout": 60, **how})

        with httpx.Client(base_url=service.address, timeout=60) as http, caller("admin", model="shop") as admin:
            assert http.get("/healthz").status_code == http.get("/readyz").status_code == 200
            assert http.post("/v1/recommend", json={"user": users[0]}).status_code == 401
            with caller() as ask, pytest.raises(client.ServiceError, match=r"40[13]"):
                ask.reload()
            first = http.get("/readyz").json()["models"]["shop"]

            with Load(caller, users) as load:
                load.goes_on()
                # a new version: written beside the old one, renamed, and taken by a signal
                os.replace(tmp_path / "new.corml", tmp_path / "models/shop.corml")
                service.signal("SIGHUP")
                wait_for(lambda: http.get("/readyz").json()["models"]["shop"] != first)
                second = http.get("/readyz").json()["models"]["shop"]
                load.goes_on()
                # a broken file is refused, and what answers stays
                whole = (tmp_path / "models/shop.corml").read_bytes()
                (tmp_path / "models/broken.corml").write_bytes(whole[:-100])
                with pytest.raises(client.ServiceError, match="422"):
                    admin.reload(file="broken.corml")
                assert http.get("/readyz").json()["models"]["shop"] == second
                load.goes_on()
                # back to the version before, by its name
                assert admin.reload(file="old.corml").model_version == first
                wait_for(lambda: http.get("/readyz").json()["models"]["shop"] == first)
                load.goes_on()

            # every answer was whole, and of the version it names
            lists = {first: expected[old], second: expected[new]}
            assert {version for _, version, _ in load.answers} == set(lists)
            for user, version, items in load.answers:
                assert items == lists[version][user]
            assert not any(set(expected[new][user]) & had[user] for user in users)

            metrics = http.get("/metrics", headers={"Authorization": f"Bearer {tokens['token']}"}).text
            asked = total(metrics, "corml_requests_total", route="recommend", code="200")
            assert asked == len(load.answers)
            assert total(metrics, "corml_requests_total", route="recommend", code="401") == 1
            assert total(metrics, "corml_reloads_total", result="done") >= 2
            assert f'version="{first}"' in metrics

    # the log: a line for each request, by route and version, and nothing that was asked
    events = service.events()
    answered = Counter(event["code"] for event in events if event.get("route") == "recommend")
    assert answered == {200: len(load.answers), 401: 1}
    text = service.log.read_text()
    for secret in (*tokens.values(), *users):
        assert secret not in text


def total(metrics, name, **labels):
    """The sum of a counter over all lines that have these labels."""
    found = 0.0
    for line in metrics.splitlines():
        match = re.match(rf"{name}\{{(.*)\}} (\S+)", line)
        given = dict(re.findall(r'(\w+)="([^"]*)"', match[1])) if match else {}
        if match and all(given.get(key) == value for key, value in labels.items()):
            found += float(match[2])
    return found
