"""Interactions in, from files, frames and known data sets; a report on their quality; and out again.

`formats` reads tables in slices, one file for each format; `cleaning` turns their columns into clean rows and distinct
pairs; `catalog` has a file for each data set known by name.
"""

from corml.data._items import load_items
from corml.data._lists import ids_in, load_item_lists
from corml.data._load import load
from corml.data._options import LoadOptions, Notes, Options
from corml.data._reader import Reader, together, values_of
from corml.data._write import write
from corml.data.catalog._download import fetch
from corml.data.catalog._known import Known, Remote, folder, get, known, present
from corml.data.cleaning._pairs import Pairs
from corml.data.cleaning._quality import Finding, Report, examine
from corml.data.cleaning._rows import Rows
from corml.data.formats import open_table
from corml.data.formats._files import File
from corml.data.formats._several import files_by_kind, in_words
from corml.data.formats._table import Cut

__all__ = [
    "Cut",
    "File",
    "Finding",
    "Known",
    "LoadOptions",
    "Notes",
    "Options",
    "Pairs",
    "Reader",
    "Remote",
    "Report",
    "Rows",
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
    "open_table",
    "present",
    "together",
    "values_of",
    "write",
]
