"""Tasks on a Dask cluster: the tasks, kernels and bytes of `Serial`, on as many machines as there are.

All machines share the folder of the artefacts. What passes between them are names of files and facts of a few bytes: so
a worker that dies takes nothing along, and whatever it was doing is done again by another. Dask is imported when a
cluster is asked for.

What was met on the way is handled here: Dask's limit of memory counts mapped files as if they were memory and would
end workers (so it is off); its settings of the allocator make fresh memory three times as dear (taken out); many
compile the same kernel at once (the first task of a kind runs alone); anyone who reaches the port of a scheduler can
run programs (so it is loopback, or TLS).
"""

import importlib.metadata
import os
import secrets
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from corml._runtime import memory
from corml._runtime.parallel import threads
from corml._runtime.version import VERSION as CORML
from corml.errors import ResourceError, UsageError, ascii_line
from corml.outofcore.tasks.artefacts import TOKEN, Artefacts, Damaged
from corml.outofcore.tasks.executor import MAX_REPAIRS, VERSION, Facts, Needed, Report, Task, perform

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Dask", "connected", "local_workers"]

DEATHS = 3  # of workers at one task, after which it is the task
LOOPBACK = {"127.0.0.1", "localhost", "::1", ""}
IDLE = {  # a cluster that waits is to take no CPU time
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.scheduler.allowed-failures": DEATHS - 1,
}

_opened: dict[str, Artefacts] = {}  # by a worker: what it compared once it does not compare again


def run_task(folder: str, task: Task) -> dict[str, Any]:
    """Run a task, on a worker: its facts, or the key of what it read and found damaged."""
    artefacts = _opened.setdefault(folder, Artefacts(folder))
    try:
        return {"facts": dict(perform(artefacts, task))}
    except Damaged as fault:
        artefacts.discard(fault.key)
        return {"damaged": fault.key}


class Dask:
    """Runs tasks on the workers of a cluster."""

    def __init__(self, artefacts: Artefacts, client: "Client") -> None:
        self.artefacts, self.client = artefacts, client
        self.made_by: dict[str, Task] = {}
        self.compiled: set[str] = set()
        _check_nodes(client, artefacts)

    def run(self, tasks: Sequence[Task], progress: Report | None = None) -> list[Facts]:
        """Make the artefacts of tasks, except those that are there; gives their facts."""
        facts: dict[str, Facts] = {}
        for task in tasks:
            if task.durable:
                self.made_by[task.key] = task
            there = self.artefacts.find(task.key)
            if there is not None:
                facts[task.key] = there.facts
        missing = [task for task in tasks if task.key not in facts]

        def report() -> None:
            if progress:
                progress(len(facts), len(tasks))

        report()
        first = [task for task in missing[:1] if task.kernel not in self.compiled]  # others find it compiled
        for some in (first, missing[len(first) :]):
            for task, fact in self._finished(some):
                facts[task.key] = fact
                report()
            self.compiled.update(task.kernel for task in some)
        return [facts[task.key] for task in tasks]

    def require(self, needed: Needed) -> None:
        """Refuse workers that may take less memory than a task needs; those of one machine share what it has.

        Dask's own limit is off, because it counts mapped files.
        """
        workers = self.client.run(_free)
        on_machine = Counter(machine for machine, _, _ in workers.values())
        for node, (machine, free, cores) in workers.items():
            share, most = free // on_machine[machine], needed(cores)
            if most > share:
                raise ResourceError(
                    f"The worker {ascii_line(node, 200)} may take {memory.size(share)}, and a task needs up to "
                    f"{memory.size(most)}: start fewer workers a machine, with fewer threads, or set candidates to "
                    "fewer pairs an item."
                )

    def _finished(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Facts]]:
        """Tasks as they are done; what was damaged is made again."""
        as_completed: Any = _distributed().as_completed
        tries = {task.key: 0 for task in tasks}
        running = {self._submit(task): task for task in tasks}
        waiting = as_completed(running, loop=self.client.loop)
        for future in waiting:
            task = running.pop(future)
            answer = self._answer(future, task)
            if "facts" in answer:
                if task.durable:
                    self.artefacts.trust(task.key)
                yield task, answer["facts"]
                continue
            tries[task.key] += 1
            self.artefacts.discard(answer["damaged"])
            if answer["damaged"] not in self.made_by or tries[task.key] > MAX_REPAIRS:
                raise Damaged(answer["damaged"])
            self.run([self.made_by[answer["damaged"]]])
            again = self._submit(task)
            running[again] = task
            waiting.add(again)

    def _submit(self, task: Task) -> Any:
        # a name of its own for each try: what failed once is not remembered
        name = f"{task.kernel.partition(':')[2]}-{task.key[:16]}-{secrets.token_hex(4)}"
        return self.client.submit(run_task, str(self.artefacts.folder.resolve()), task, key=name, pure=False)

    def _answer(self, future: Any, task: Task) -> dict[str, Any]:
        from distributed.scheduler import KilledWorker

        try:
            answer: dict[str, Any] = future.result()
        except KilledWorker as fault:
            read = sum(self._bytes(key) for key in task.inputs.values())
            params = ", ".join(f"{name} {value}" for name, value in task.params.items() if isinstance(value, int))
            raise ResourceError(
                f"A task ended {DEATHS} workers, one after the other: {task.kernel.partition(':')[2]} ({params}), "
                f"which reads {memory.size(read)}. What is finished stays: give workers more memory, and start again."
            ) from fault
        return answer

    def _bytes(self, key: str) -> int:
        read = self.artefacts.find(key)
        return 0 if read is None else sum(path.stat().st_size for path in read.folder.iterdir())


# --- clusters --------------------------------------------------------------------------------------------------------


def _distributed() -> Any:
    try:
        import dask
        import distributed
    except ImportError:
        raise UsageError("A cluster needs Dask: pip install 'corml[cluster]'.") from None
    dask.config.set(IDLE)
    before = dict(dask.config.get("distributed.nanny.pre-spawn-environ", {}))
    before.pop("MALLOC_TRIM_THRESHOLD_", None)
    dask.config.set({"distributed.nanny.pre-spawn-environ": before})
    return distributed


@contextmanager
def local_workers(count: int) -> "Iterator[Client]":
    """So many worker processes on this machine, reachable from this machine alone."""
    distributed = _distributed()
    environ = {"CORML_THREADS": str(max(1, threads() // count)), "POLARS_MAX_THREADS": "1"}
    cluster = distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        memory_limit=0,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # any port: with none named, Dask takes 8787, and warns if it is taken
        scheduler_kwargs={"dashboard": False},
        env=environ,
        silence_logs=50,
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@contextmanager
def connected(address: str, *, insecure: bool = False, security: Any = None) -> "Iterator[Client]":
    """A client of a running scheduler; one on another machine must use TLS, unless `insecure`."""
    parts = urlsplit(address)
    if parts.scheme not in ("tcp", "tls") or not parts.netloc:
        raise UsageError(
            f"{ascii_line(address, 200)} is no address of a scheduler: write it like tcp://127.0.0.1:8786."
        )
    if parts.scheme == "tcp" and (parts.hostname or "") not in LOOPBACK and not insecure:
        raise UsageError(
            f"{ascii_line(address, 200)} is another machine without TLS, and whoever reaches a scheduler can run "
            "programs on its workers: use tls://, or say --insecure-cluster in a network of your own."
        )
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout="20s", security=security)
    except (OSError, ValueError) as fault:
        raise UsageError(f"No scheduler answers at {ascii_line(address, 200)}: {ascii_line(fault)}.") from fault
    with client:
        yield client


def versions() -> dict[str, str]:
    """What must be the same on all nodes for the same bytes."""
    import platform

    import numba
    import numpy
    import scipy

    packages = {module.__name__: module.__version__ for module in (numpy, scipy, numba)}
    packages["polars"] = importlib.metadata.version("polars")  # which writes lists
    return {"corml": CORML, "python": platform.python_version(), "tasks": str(VERSION), **packages}


def _free() -> tuple[str, int, int]:
    """The machine of a worker, what may be taken there, and threads of the worker."""
    return socket.gethostname(), memory.budget(), threads()


def _token(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _check_nodes(client: "Client", artefacts: Artefacts) -> None:
    """Refuse workers with other versions, and those that cannot reach the folder."""
    mine = versions()
    for node, theirs in client.run(versions).items():
        differing = [f"{name} {theirs.get(name)}, not {mine[name]}" for name in mine if theirs.get(name) != mine[name]]
        if differing:
            raise UsageError(f"The worker {ascii_line(node, 200)} has {', '.join(differing)}: install the same on all.")
    path, token = artefacts.folder / f"{TOKEN}{secrets.token_hex(8)}", secrets.token_hex(16)
    path.write_text(token, encoding="utf-8")
    try:
        for node, read in client.run(_token, str(path.resolve()), on_error="return").items():
            if read != token:
                raise UsageError(
                    f"The worker {ascii_line(node, 200)} cannot read {ascii_line(artefacts.folder.resolve(), 200)}: "
                    "all workers need the same folder under the same path."
                )
    finally:
        os.unlink(path)
