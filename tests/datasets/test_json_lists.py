"""JSON Lines with a list of items in each record: playlists, baskets, sessions."""

import json

import pytest

import corml
from corml.data import load
from corml.errors import DataError, DataWarning

PLAYLISTS = (
    '{"playlist": 1, "tracks": ["a", "b"]}\n{"playlist": 2, "tracks": []}\n{"playlist": "c", "tracks": [7, "b"]}\n'
)


def pairs(data):
    return list(zip(data.users.labels[data.user], data.items.labels[data.item], strict=True))


@pytest.mark.parametrize("options", [{}, {"user": "playlist", "item": "tracks"}, {"user": 0, "item": 1}])
@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json"])
def test_each_item_of_a_list_is_a_row(make, options, name):
    data = load(make(name, PLAYLISTS), item_lists=True, **options)
    assert pairs(data) == [("1", "a"), ("1", "b"), ("c", "7"), ("c", "b")]


def test_a_file_that_is_one_list_of_records_may_have_lists_of_items(make):
    text = json.dumps([json.loads(line) for line in PLAYLISTS.splitlines()])
    assert len(load(make("a.json", text), item_lists=True)) == 4


def test_other_fields_hold_for_every_item_of_the_record(make):
    path = make("a.jsonl", '{"uid": 1, "when": "2024-05-01", "items": ["a", "b"], "tags": ["x"]}\n')
    data = load(path, item_lists=True, item="items", time="when")
    assert data.times.tolist() == [1714521600.0] * 2
    with pytest.raises(DataError, match=r"lists in the fields 'items', 'tags': name the one with the items as item="):
        load(path, item_lists=True)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"playlist": 3}', "its field tracks holds no list"),
        ('{"playlist": 3, "tracks": "a"}', "its field tracks holds no list"),
        ('{"playlist": 3, "tracks": [{"id": 1}]}', "its field tracks holds a record"),
        ('{"playlist": 3, "tracks": ["a", null]}', "the item is an empty id"),
        ("[1]", "it is not a JSON record"),
    ],
)
def test_a_record_without_a_plain_list_is_a_bad_row(make, line, what):
    path = make("a.jsonl", PLAYLISTS + line + "\n")
    with pytest.raises(DataError, match=f"line 4: {what}"):
        load(path, item_lists=True)
    with pytest.warns(DataWarning, match="bad rows skipped: 1"):
        load(path, item_lists=True, max_bad_rows=0.3)


def test_lists_that_were_not_announced_are_told_how_to_read(make):
    with pytest.raises(
        DataError, match=r"field tracks holds a list; item_lists=True \(--item-lists\) makes a row of eac"
    ):
        load(make("a.jsonl", PLAYLISTS))
    with pytest.raises(DataError, match="has no lists in its fields, 'user', 'item': name the one with the items"):
        load(make("b.jsonl", '{"user": 1, "item": 2}\n'), item_lists=True)


@pytest.mark.parametrize(("form", "packed"), [("lists", False), ("records", True), ("lines", True)])
def test_a_store_of_json_and_of_lists_has_the_rows_of_load(tmp_path, form, packed):
    import gzip

    names = {"lists": "a.jsonl", "records": "a.jsonl", "lines": "a.txt"}
    rows = [(f"u{at % 997}", [f"i{(at * 7 + step) % 301}" for step in range(at % 9)]) for at in range(3000)]
    if form == "records":
        lines = [json.dumps({"user": user, "item": item}) for user, items in rows for item in items]
    elif form == "lists":
        lines = [json.dumps({"playlist": user, "tracks": items}) for user, items in rows]
    else:
        lines = [" ".join([user, *items]) for user, items in rows]
    path = tmp_path / (names[form] + ".gz" * packed)
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    options = {"item_lists": form != "records"}
    store = corml.build_store(path, tmp_path / "s", memory="2MB", **options)
    assert store.interactions().fingerprint == load(path, **options).fingerprint
    assert store.manifest.counts["rows"] == load(path, **options).source["rows"]


def test_a_bad_record_of_a_store_is_named_by_its_line(tmp_path):
    good = [json.dumps({"playlist": at, "tracks": ["a", "b", "c"]}) for at in range(20_000)]
    (tmp_path / "a.jsonl").write_text("\n".join([*good, '{"playlist": 1}', *good]) + "\n")
    with pytest.raises(DataError, match=r"line 20,001: its field tracks holds no list"):
        corml.build_store(tmp_path / "a.jsonl", tmp_path / "s", memory="2MB", item_lists=True)


def test_a_store_reads_one_list_of_records_as_load_does(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"user": n, "item": n % 7} for n in range(50)], indent=1))
    store = corml.build_store(tmp_path / "a.json", tmp_path / "s")
    assert store.interactions().fingerprint == load(tmp_path / "a.json").fingerprint
