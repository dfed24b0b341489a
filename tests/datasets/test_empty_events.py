"""A row without an event type is a bad row, like one without a time."""

import pytest

from corml.data import load
from corml.errors import DataError, DataWarning

ROWS = "user,item,event\n" + "".join(f"u{at % 9},i{at % 7},view\n" for at in range(200))


@pytest.mark.parametrize("weights", [None, {"view": 1}])
@pytest.mark.parametrize("cell", ["", "  "])
def test_an_empty_event_is_a_bad_row(cell, weights, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{ROWS}u1,i1,{cell}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.csv', line 202: the event is missing: correct it, or pass skip_bad_rows"):
        load(path, event="event", weights=weights)
    with pytest.warns(DataWarning, match="bad rows skipped: 1, the first: "):
        data = load(path, event="event", weights=weights, skip_bad_rows=True)
    assert data.event_types == ("view",)
