"""The check for known vulnerabilities: what it prints when there are some, none, or no answer."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import audit
import pytest
from lock import Locked


@pytest.fixture
def database(monkeypatch):
    """A database that gives a fixed answer and keeps the request."""
    packages = {"numpy": Locked("2.4.6", [], ["corml"]), "jinja2": Locked("3.1.2", [], ["corml"])}
    monkeypatch.setattr(audit, "read", lambda: packages)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.server.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.server.answer)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        server.address = f"http://127.0.0.1:{server.server_port}/"
        yield server
        server.shutdown()
        thread.join()


FOUND = b'{"results": [{}, {"vulns": [{"id": "GHSA-1"}, {"id": "GHSA-2"}]}]}'


def test_known_vulnerabilities_are_listed_and_the_exit_code_is_1(database, capsys):
    database.answer = FOUND
    assert audit.main(database.address) == 1
    assert capsys.readouterr().out.splitlines() == [
        "jinja2 3.1.2: GHSA-1, GHSA-2",
        "2 packages checked, 1 with known vulnerabilities",
    ]
    assert database.asked["queries"][0] == {"package": {"name": "numpy", "ecosystem": "PyPI"}, "version": "2.4.6"}


def test_a_waiver_holds_until_its_date(database, monkeypatch):
    found = {"jinja2": ["GHSA-1", "GHSA-2"]}
    monkeypatch.setattr(audit, "WAIVED", {"GHSA-1": ("2026-03-31", "not used"), "GHSA-2": ("2026-03-31", "not used")})
    assert audit.open_findings(found, "2026-03-31") == {}
    assert audit.open_findings(found, "2026-04-01") == found


def test_without_a_known_vulnerability_the_number_of_packages_is_printed(database, capsys):
    database.answer = b'{"results": [{}, {}]}'
    assert audit.main(database.address) == 0
    assert capsys.readouterr().out == "2 packages checked, 0 with known vulnerabilities\n"


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"results": []}', b'{"results": [1, 2]}', b"<html>"])
def test_an_unreadable_answer_is_not_reported_as_safe(database, capsys, answer):
    database.answer = answer
    assert audit.main(database.address) == 0
    assert capsys.readouterr().out.startswith(f"skipped: {database.address} could not be asked (")


def test_without_a_connection_the_check_is_skipped(capsys):
    audit.main("http://127.0.0.1:9/")
    out = capsys.readouterr().out
    assert out.startswith("skipped: ")
    assert out.endswith("nothing was checked\n")
