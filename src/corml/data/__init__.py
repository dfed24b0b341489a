"""LOAD: interactions in, from files, frames and known data sets; a doctor for them; and out again.

Each public file of this room is a data set that `load` knows by name. Files with an underscore are the machinery, in
the order data takes: `_packed` (bytes), a file for each kind of table (`_text`, `_frames`, `_parquet`, `_npz`, `_json`,
`_excel`, `_lists`, `_databases`, `_folders`, `_by_kind`), `_ignored`, `_columns`, `_times`, `_rows`,
`_pairs`, `_filters`;
`_items` is the table of items, `_ids` a list of ids. `_blocks` and `_stream` read what is too large to hold.
"""

from corml.data._ids import ids_in
from corml.data._items import load_items
from corml.data._load import load
from corml.data._options import Notes
from corml.data.catalog._download import fetch
from corml.data.catalog._known import Known, Remote, folder, get, known, present
from corml.data.cleaning._doctor import Finding, Report, examine
from corml.data.cleaning._pairs import Pairs
from corml.data.formats._blocks import Cut, Position
from corml.data.formats._by_kind import files_by_kind, in_words
from corml.data.formats._item_lists import load_item_lists
from corml.data.formats._packed import Content, content
from corml.data.formats._parquet import ParquetTable
from corml.data.formats._stream import Batch, Stream
from corml.data.formats._write import write

__all__ = [
    "Batch",
    "Content",
    "Cut",
    "Finding",
    "Known",
    "Notes",
    "Pairs",
    "ParquetTable",
    "Position",
    "Remote",
    "Report",
    "Stream",
    "content",
    "examine",
    "fetch",
    "files_by_kind",
    "folder",
    "get",
    "ids_in",
    "in_words",
    "known",
    "load",
    "load_item_lists",
    "load_items",
    "present",
    "write",
]
