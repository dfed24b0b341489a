"""SQLite and DuckDB files: a query, or the only table. They are opened read-only."""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from sys import getsizeof
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

import corml.data.formats._guard as _guard
from corml._runtime import memory
from corml.data._options import Notes, Options
from corml.data.formats._files import File, magic, shown
from corml.data.formats._frames import column
from corml.data.formats._guard import Budget
from corml.data.formats._table import Columns, Cut, Place, Table, plain_names
from corml.errors import DataError, ResourceError, UsageError, ascii_line, quoted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Database"]

LONGEST = 1 << 24  # bytes of one value or row of SQLite
STEPS = 200  # of SQLite's machine, after which it is asked whether to go on: each can make a value as long as any
PAUSE = 0.02  # seconds between two looks at the clock and at memory
PATIENCE = 120.0  # seconds without a row
ALONE = {  # a DuckDB file reads no other file, no network and no extension, and nothing in it can change that
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "temp_directory": "",
    "lock_configuration": "true",
}

SQLITE = b"SQLite format 3\0"

Fetch = Callable[[Sequence[int]], "list[pl.Series]"]
Answer = tuple[list[str], Fetch]  # the names of its columns, and some of them


class Database(Table):
    """The answer to a query, or the only table; a view may be without end, so its bytes are counted."""

    SUFFIXES: ClassVar[tuple[str, ...]] = ("sqlite", "sqlite3", "db", "db3", "duckdb", "ddb")
    peekable = False
    takes_query = True

    def __init__(self, file: File, options: Options, notes: Notes) -> None:
        file.require_whole()
        self.where = file.where
        make = _sqlite if magic(file.disk).startswith(SQLITE) else _duckdb
        own, self._fetch = make(file.disk, options.query, file.budget)
        self.names = plain_names(own, self.where)

    @classmethod
    def recognises(cls, file: File, options: Options) -> bool:
        """Whether the first bytes are those of a database; a suffix without them is an error."""
        start = magic(file.disk) if file.plain else b""
        if start.startswith(SQLITE) or start[8:12] == b"DUCK":
            return True
        if file.kind in cls.SUFFIXES:
            raise DataError(f"{file.where} is neither a SQLite nor a DuckDB file: check it.")
        return False

    def _slices(self, positions: Sequence[int], cut: Cut, skip: int) -> Iterator[Columns]:
        series = self._fetch(positions)
        yield Columns(series, "row", [Place(self.where, len(series[0]))])


def _sqlite(path: Path, query: str | None, limit: Budget) -> Answer:
    import sqlite3

    faults = (sqlite3.Error, sqlite3.Warning)

    @contextmanager
    def asked(patience: "_Patience") -> Iterator[Any]:
        with _complaints(path, patience, *faults), closing(_opened_sqlite(path)) as database:
            if not limit.allowed:  # what is sorted would go into a file, until the disk is full
                database.execute("PRAGMA temp_store = MEMORY")
            database.set_progress_handler(patience.is_over, STEPS)
            yield database

    with asked(_Patience(path, query, limit)) as database:
        tables = database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        )
        table = "" if query else _only([name for (name,) in tables], path)
        names = [about[0] for about in database.execute(query or f"{table} LIMIT 0").description or ()]
    _check_answer(names, path)

    def fetch(positions: Sequence[int]) -> "list[pl.Series]":
        values: list[list[Any]] = [[] for _ in positions]
        taken, patience = 0, _Patience(path, query, limit)
        with asked(patience) as database:
            for row in database.execute(query or table):
                patience.renew()
                piece = 0
                for kept, at in zip(values, positions, strict=True):
                    kept.append(row[at])
                    piece += 8 + getsizeof(row[at])
                taken += piece
                limit.grow(taken, piece)
        return [column(kept) for kept in values]

    return names, fetch


def _opened_sqlite(path: Path) -> Any:
    import sqlite3

    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    database.execute("PRAGMA trusted_schema = OFF")  # views of the file call no function that has side effects
    return database


def _duckdb(path: Path, query: str | None, limit: Budget) -> Answer:
    if importlib.util.find_spec("duckdb") is None:
        raise UsageError(
            f"{shown(path)} is a DuckDB file, and duckdb, which reads it, is not installed: "
            "pip install 'corml[duckdb]'."
        )
    import duckdb

    from corml._runtime.lazy_polars import polars as pl

    @contextmanager
    def asked() -> Iterator[Any]:
        patience = _Patience(path, query, limit)
        faults = (duckdb.Error, pl.exceptions.PolarsError)
        config: dict[str, Any] = {**ALONE, "memory_limit": f"{_most(limit)}B"}
        with (
            _complaints(path, patience, *faults),
            closing(duckdb.connect(str(path), read_only=True, config=config)) as database,
            patience.interrupting(database.interrupt),
        ):
            yield database

    with asked() as database:
        tables = database.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
        chosen = query or _only([name for (name,) in tables], path)
        answer = database.sql(chosen)
        names = [] if answer is None else list(answer.columns)
    _check_answer(names, path)

    def fetch(positions: Sequence[int]) -> "list[pl.Series]":
        wanted = ", ".join(_identifier(names[at]) for at in positions)
        with asked() as database:  # DuckDB holds the answer first, within its limit of memory
            database.execute(f"CREATE TEMP TABLE answer AS SELECT {wanted} FROM ({chosen.rstrip().rstrip(';')}\n)")
            frame = pl.DataFrame(database.sql("FROM temp.answer"))
        return [frame.to_series(at) for at in range(len(positions))]

    return names, fetch


def _most(limit: Budget) -> int:
    """Bytes that a database may take: the answer is in memory twice, and no larger than an honest file makes it."""
    free = memory.budget() // 2
    return free if limit.allowed else min(free, max(_guard.BOMB_SIZE, _guard.BOMB_RATIO * limit.packed))


class _Patience:
    """What a view may take without a row: memory, and time, of which a query that somebody wrote has without end."""

    def __init__(self, path: Path, query: str | None, limit: Budget) -> None:
        self._where, self._limited, self.ended, self.full = shown(path), query is None, False, False
        self._most, self._next = memory.resident() + 2 * _most(limit), 0.0  # its own, and the rows there are
        self.renew()

    def renew(self) -> None:
        """Begin again: there was a row."""
        self._end = monotonic() + PATIENCE

    def is_over(self) -> bool:
        """Whether to end the query."""
        now = monotonic()
        if now < self._next:
            return False
        self._next = now + PAUSE
        self.ended, self.full = self._limited and now > self._end, memory.resident() > self._most
        return self.ended or self.full

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """End a query by a call, when it is over."""

        def end() -> None:
            self.ended = True
            interrupt()

        timer = Timer(PATIENCE, end)
        timer.daemon = True
        if self._limited:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def refusal(self) -> DataError:
        """What to say of a view that does not answer."""
        return DataError(
            f"{self._where} has a view that gave no row for {PATIENCE:g} seconds: correct it, or if it needs longer, "
            "write the query yourself as query= (--query)."
        )


def _only(tables: Sequence[str], path: Path) -> str:
    if len(tables) == 1:
        return f"SELECT * FROM {_identifier(tables[0])}"
    holds = f"{len(tables)} tables ({quoted(tables, 12)})" if tables else "no table"
    example = _identifier(tables[0]) if tables else "orders"
    raise DataError(f"{shown(path)} holds {holds}: choose with query= (--query), such as SELECT * FROM {example}.")


def _check_answer(names: Sequence[str], path: Path) -> None:
    if not names:
        raise UsageError(f"The query= (--query) for {shown(path)} gives no rows: write one that begins with SELECT.")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _complaints(path: Path, patience: _Patience, *kinds: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kinds as fault:
        if patience.ended:
            raise patience.refusal() from fault
        if patience.full or type(fault).__name__ == "OutOfMemoryException":
            raise ResourceError(
                f"The answer of {shown(path)} takes more memory than a file of its size may, or than is free: "
                "ask for less with query= (--query), or pass allow_expansion=True (--allow-expansion)."
            ) from fault
        if str(fault) == "interrupted":  # by Ctrl-C: SQLite keeps to itself what was raised while it asked
            raise KeyboardInterrupt from fault
        reason = ascii_line(str(fault).strip().partition("\n")[0], 200)[1:-1]
        raise DataError(f"{shown(path)} cannot be queried: {reason}. Check query= (--query) and the file.") from fault
