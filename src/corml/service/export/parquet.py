"""Parquet: a folder of files for data frames, warehouses and Spark, with a query for DuckDB.

metadata.json         facts about the export
query.sql             for DuckDB, run in the folder
items/0000.parquet    a folder for each table; its rows are those of all its files
pairs/0000.parquet, pairs/0001.parquet, …
"""

import json
from pathlib import Path

from corml.service.export._tables import Job, Table, Target, queries

__all__ = ["parquet"]


def write(job: Job, path: Path) -> None:
    """Write each part of each table as a file."""
    path.mkdir()
    for table in job.tables:
        if table.name == "metadata":
            (part,) = table.parts
            facts = dict(zip(part["name"], part["value"], strict=True))
            (path / "metadata.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", "utf-8")
            (path / "query.sql").write_text(facts["query"] + "\n", "utf-8")
        else:
            _add(path / table.name, table)


def _add(folder: Path, table: Table) -> None:
    from corml._runtime.lazy_polars import polars

    kinds = {"integer": polars.Int64, "real": polars.Float32, "text": polars.String}
    schema = {name: kinds[kind] for name, kind in table.columns.items()}
    folder.mkdir()
    for number, part in enumerate(table.parts):
        frame = polars.DataFrame({name: part[name] for name in schema}, schema_overrides=schema)
        frame.cast(schema).write_parquet(folder / f"{number:04}.parquet")  # type: ignore[arg-type]


def is_ours(path: Path) -> bool:
    """Whether a folder is an export."""
    try:
        facts = json.loads((path / "metadata.json").read_text("utf-8"))
        return {"data_fingerprint", "contents", "format"} <= set(facts)
    except (OSError, ValueError, TypeError):
        return False


parquet = Target(
    ending=".parquet",
    queries=queries(
        given="(SELECT unnest($history::VARCHAR[]) AS id) AS given",
        id="given.id",
        k="$k",
        user="$user",
        place="read_parquet('{name}/*.parquet')",
    ),
    write=write,
    is_ours=is_ours,
)
