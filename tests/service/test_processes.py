"""Supervisor and worker, each inside the test, with the other side played or started by it."""

import asyncio
import os
import signal
import socket
import threading
import time
from types import SimpleNamespace

import httpx
import pytest

from corml.errors import ModelFileError
from corml.service.channel import Channel
from corml.service.endpoint import Turns
from corml.service.options import Options
from corml.service.supervisor import Child, Supervisor, beside, listen, open_model
from corml.service.worker import Worker
from serving import TOKEN, wait_for


def in_thread(work):
    """Run in another thread; what goes wrong there is in the list."""
    faults = []

    def run():
        try:
            work()
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, faults


def test_messages_arrive_in_order_with_their_files_and_questions_are_answered(tmp_path):
    (tmp_path / "a").write_text("one")
    heard = []

    async def answer(message):
        heard.append(message["number"])
        content = [os.read(file, 10) for file in message["files"]]
        for file in message["files"]:
            os.close(file)
        return {"content": content[0].decode()} if content else None

    async def talk():
        ours, theirs = (Channel(end) for end in socket.socketpair())
        gone = asyncio.Event()
        theirs.listen(answer, lambda: None)
        ours.listen(answer, gone.set)
        file = os.open(tmp_path / "a", os.O_RDONLY)
        assert ours.send({"number": 1, "text": "x" * 50_000})
        assert (await ours.ask({"number": 2}, [file, os.dup(file)]))["content"] == "one"
        os.close(file)
        asking = asyncio.create_task(ours.ask({"number": 3}))  # which is never answered
        await asyncio.sleep(0.05)
        asyncio.get_running_loop().remove_reader(theirs.end)
        theirs.close()
        await gone.wait()
        assert await asking == await ours.ask({"number": 4}) == {}
        assert not ours.send({"number": 5})
        ours.close()

    asyncio.run(talk())
    assert heard == [1, 2, 3]


# --- turns ------------------------------------------------------------------------------------------------------------


def test_turns_come_in_order_and_others_are_heard_between_them():
    async def run():
        turns, done, rounds = Turns(at_once=3), [], []

        async def work(number):
            await turns.take()
            done.append(number)

        tasks = [asyncio.create_task(work(number)) for number in range(20)]
        while not all(task.done() for task in tasks):
            before = len(done)
            await asyncio.sleep(0)
            rounds.append(len(done) - before)
        return done, rounds

    done, rounds = asyncio.run(run())
    assert done == list(range(20))
    assert max(rounds) <= 6  # those of one round, and those who were free to go at once
    assert len(rounds) >= 5


def test_who_goes_away_gives_the_turn_to_the_next():
    async def run():
        turns = Turns(at_once=1)
        tasks = [asyncio.create_task(turns.take()) for _ in range(6)]
        await asyncio.sleep(0)
        for task in tasks[2:4]:
            task.cancel()
        await asyncio.wait(tasks, timeout=5)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(run()) == [False, False, True, True, False, False]


def test_turns_go_on_after_a_pause():
    async def run():
        turns = Turns(at_once=2)
        for _ in range(3):
            await asyncio.wait_for(asyncio.gather(*(turns.take() for _ in range(7))), 5)
            await asyncio.sleep(0.01)

    asyncio.run(run())


# --- supervisor ------------------------------------------------------------------------------------------------------


def test_a_supervisor_serves_reloads_replaces_and_stops(folder, tmp_path, capfd):
    path = tmp_path / "m.corml"
    path.write_bytes((folder / "dial.corml").read_bytes())
    options = Options(models={"m": str(path)}, port=0, drain=0.05, token=TOKEN, log="json")
    said = []
    supervisor = Supervisor(options, announce=said.append)

    def visit():
        try:
            assert wait_for(lambda: said, 60)
            http = httpx.Client(base_url=supervisor.address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30)
            first = http.get("/readyz").json()["models"]["m"]
            (tmp_path / "other").write_bytes((folder / "dial-2.corml").read_bytes())
            os.replace(tmp_path / "other", path)
            os.kill(os.getpid(), signal.SIGHUP)
            assert wait_for(lambda: http.get("/readyz").json()["models"]["m"] != first)
            assert http.post("/v1/admin/reload", json={}).json()["changed"] is False
            assert http.post("/v1/admin/reload", json={"file": "nothing"}).status_code == 422
            path.write_bytes(b"nothing")
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(supervisor.children[0].process.pid, signal.SIGKILL)
            http.close()
        finally:
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGTERM)

    thread, faults = in_thread(visit)
    assert supervisor.run() == 0
    thread.join()
    assert faults == []
    assert said == [f"corml serves m at {said[0].rpartition(' ')[2]}"]
    log = capfd.readouterr().err
    assert '"event": "worker ended"' in log
    assert '"event": "stopping"' in log


def test_a_supervisor_ends_with_the_reason_of_a_worker_that_cannot_begin(tmp_path):
    (tmp_path / "m.corml").write_bytes(b"nothing")
    options = Options(models={"m": str(tmp_path / "m.corml")}, port=0)
    with pytest.raises(ModelFileError, match=r"m\.corml.: the file is not a corml model file"):
        Supervisor(options, quiet=True).run()


def test_a_stop_waits_for_workers_that_answer_and_announces_none_that_is_ready_only_then():
    told, said = [], []

    def child(name, ready):
        ends = {how: lambda how=how: told.append((name, how)) for how in ("terminate", "kill")}
        return Child(SimpleNamespace(pid=1, returncode=None, **ends), None, ready=ready)

    async def stop():
        supervisor = Supervisor(Options(models={"m": "m"}, port=0), quiet=True, announce=said.append)
        supervisor.listening = listen("127.0.0.1", 0)
        supervisor.children = [child("answers", True), child("loads", False)]
        supervisor._stop(signal.SIGTERM)
        assert told == [("answers", "terminate"), ("loads", "kill")]
        await supervisor._answer(supervisor.children[1], {"ready": {}})  # the socket of the address is closed
        supervisor._stop(signal.SIGINT)  # twice: at once
        assert told[2:] == [("answers", "kill"), ("loads", "kill")]

    asyncio.run(stop())
    assert said == []


def test_only_plain_names_lead_to_files_beside(tmp_path):
    assert beside("/a/b.corml", "c.corml") == "/a/c.corml"
    with pytest.raises(ValueError, match="not the name"):
        beside("/a/b.corml", "../c.corml")
    with pytest.raises(ModelFileError, match="regular"):
        open_model(str(tmp_path))


# --- worker ----------------------------------------------------------------------------------------------------------


class Played:
    """A worker in this thread; the test is its supervisor."""

    def __init__(self, folder, **options):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        settings = {"port": 0, "drain": 0.05, "token": TOKEN, **options}
        self.options = Options(models={"m": str(folder / "dial.corml")}, **settings)
        files = [os.dup(self.listening.fileno()), open_model(str(folder / "dial.corml"))]
        start = {"options": self.options.plain(), "first": True, "quiet": False, "files": files}
        self.worker = Worker(Channel(theirs), start)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=30)

    def run(self, visit):
        thread, faults = in_thread(lambda: self._visit(visit))
        with asyncio.Runner() as runner:
            code = runner.run(self.worker.run())
        thread.join()
        self.http.close()
        self.channel.close()
        self.worker.channel.close()
        self.worker.service.pool.shutdown()
        self.listening.close()
        self.worker.listening.close()
        assert faults == []
        return code

    def _visit(self, visit):
        try:
            visit()
        finally:
            self.channel.end.shutdown(socket.SHUT_RDWR)  # a worker ends when its supervisor is gone

    def hear(self):
        return self.channel.receive()[0]

    def asked_for_a_reload(self, answer):
        """Ask for a reload by HTTP, and answer the question of the worker; the status, the title."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.http.post("/v1/admin/reload", json={})))
        thread.start()
        question = self.hear()
        assert question["reload"] == "m"
        self.channel.send({"answers": question["question"], **answer()})
        thread.join()
        return answers[0].status_code, answers[0].json().get("title")

    def load(self, path):
        """Have the worker load a file, as an answer to its question."""
        file = os.open(path, os.O_RDONLY)
        self.channel.send({"model": "m", "question": 1}, [file])
        os.close(file)
        outcome = self.hear()
        if outcome["ok"]:
            return {"status": "done", "changed": outcome["changed"]}
        return {"status": "failed", "reason": outcome["reason"]}

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)


def test_a_worker_answers_reloads_and_ends(folder):
    played = Played(folder, in_flight=2, timeout=0.5)

    def visit():
        assert "ready" in played.hear()
        assert played.http.get("/readyz").status_code == 200
        assert played.http.post("/v1/recommend", json={"history": ["i1"]}).json()["source"] == "personal"
        for name in ("dial-2.corml", "popularity.corml"):
            assert played.asked_for_a_reload(lambda name=name: played.load(folder / name)) == (200, None)
        refused = played.asked_for_a_reload(lambda: played.load(os.devnull))
        assert refused == (422, "Model file refused")
        assert played.asked_for_a_reload(lambda: {"status": "busy"}) == (409, "Already reloading")
        for start, code in (
            (b"GET / HTTP/1.1\r\n", b"408"),
            (b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{", b"408"),
            (b"GET /" + b"x" * 50_000, b"413"),
            (b"\xff\xff\r\n\r\n", b"400"),
        ):
            with played.connect() as line:
                line.sendall(start)
                answer = line.recv(1000)
                assert answer.startswith(b"HTTP/1.1 " + code)
                assert (b'"title":"Not HTTP"' in answer) == (code == b"400")

    assert played.run(visit) == 0


def test_a_page_that_may_call_can_read_that_the_service_is_busy(folder):
    played = Played(folder, cors=("https://shop.example",))

    def visit():
        assert "ready" in played.hear()
        played.worker.service.load.admitted = 10_000
        for origin in ("https://shop.example", "https://evil.example"):
            answer = played.http.get("/v1/models", headers={"Origin": origin})
            assert (answer.status_code, answer.json()["title"]) == (503, "Busy")
            assert (answer.headers.get("access-control-allow-origin") == origin) == ("shop" in origin)
        played.worker.service.load.admitted = 0

    assert played.run(visit) == 0


def test_more_connections_than_agreed_are_closed(folder):
    played = Played(folder, connections=3)

    def visit():
        played.hear()
        lines, closed = [played.connect() for _ in range(6)], 0
        for line in lines:
            line.settimeout(0.3)
            try:
                closed += line.recv(10) == b""
            except ConnectionResetError:
                closed += 1
            except TimeoutError:
                pass
            line.close()
        assert closed == 3

    assert played.run(visit) == 0


def test_a_worker_that_cannot_load_sends_the_reason_and_ends(folder, tmp_path):
    played = Played(folder)
    os.close(played.worker.start["files"][1])
    (tmp_path / "bad").write_bytes(b"nothing")
    played.worker.start["files"][1] = os.open(tmp_path / "bad", os.O_RDONLY)
    heard = []
    assert played.run(lambda: heard.append(played.hear())) == 5
    assert "not a corml model file" in heard[0]["failed"]
