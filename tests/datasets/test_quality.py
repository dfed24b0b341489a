"""The data-quality report: facts, findings, and what to do."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from corml.data import examine, load, write
from corml.data._load import SWAPPED
from corml.data.interactions import Interactions
from corml.errors import DataError, DataWarning, UsageError


def found(report):
    return {finding.what: finding.advice for finding in report.findings}


def test_the_sample_is_described_in_facts():
    report = examine("movielens-small", at_least=4)
    facts = dict(report.facts)
    assert (facts["users"], facts["interactions"], facts["rows read"]) == (671, 51_568, 100_004)
    assert facts["pairs rated too low"] == 48_436
    assert facts["density"] == pytest.approx(51_568 / (671 * facts["items"]))
    assert facts["interactions per user"]["max"] > facts["interactions per user"]["median"] > 0
    assert 0 < facts["share of the top 1 % of items"] < facts["share of the top 10 % of items"] < 1
    assert facts["first time"].startswith("1995-")
    assert facts["last time"].startswith("2016-")
    assert json.loads(json.dumps(report.to_dict()))["facts"]["items"] == facts["items"]


def test_many_singles_are_advised_a_core():
    report = examine("movielens-small")
    (advice,) = [advice for what, advice in found(report).items() if "of items have a single" in what]
    assert "k_core=5" in advice


@pytest.mark.parametrize(
    ("ids", "what", "advice"),
    [
        (["7", " 7"], "1 {kind} id begins or ends with a blank: ' 7'", "--trim"),
        (["7", " 7"], "1 {kind} id differs from another only by blanks", "--trim"),
        (["Ann", "ann"], "only by upper and lower case: 'ann'", "write them alike"),
        (["7", "7.0"], "only by a final .0: '7.0'", "without .0"),
        (["7", "007"], "only by leading zeros: '007'", "alike"),
        (["a", "NA", "null"], "may stand for a missing one: 'NA', 'null'", "--null-ids drop"),
    ],
)
def test_suspicious_ids_are_shown_with_a_remedy(ids, what, advice):
    for kind, users, items in (("user", ids, ["x"] * len(ids)), ("item", ["u"] * len(ids), ids)):
        findings = found(examine(Interactions.from_pairs(users, items)))
        (remedy,) = [remedy for text, remedy in findings.items() if what.format(kind=kind) in text]
        assert advice in remedy


def test_text_ids_that_all_end_in_point_zero_are_suspected():
    findings = found(examine(Interactions.from_pairs(["7.0", "8.0"], ["7.0", "x"])))
    (what,) = [what for what in findings if "end in .0" in what]
    assert what.startswith("all user ids end in .0, ")
    assert what.endswith(": '7.0', '8.0'")


def test_repeats_conflicts_and_bad_rows_are_found(make):
    rows = [f"u{n},i{n % 9},4" for n in range(200)] + ["u1,i1,4", "u2,i2,1", "short"]
    with pytest.warns(DataWarning, match="bad rows skipped: 1"):
        report = examine(make("a.csv", "user,item,rating\n" + "\n".join(rows)), skip_bad_rows=True)
    findings = found(report)
    assert "1 row could not be read and was left out" in findings
    assert "2 rows repeat a pair" in findings
    assert "1 pair has ratings that differ" in findings
    severities = [finding.severity for finding in report.findings]
    assert severities == sorted(severities, reverse=True)


def test_a_heavy_head_is_noted():
    tail = [f"i{n}" for n in range(100)]
    for hits, expected in ((80, False), (120, True)):
        users = [f"u{n}" for n in [*range(hits), *range(100)]]
        findings = found(examine(Interactions.from_pairs(users, ["hit"] * hits + tail)))
        assert any("top 1 % of items hold" in what for what in findings) is expected


def test_healthy_data_have_no_findings():
    pairs = [(f"u{u}", f"i{i}") for u in range(9) for i in range(9)]
    data = Interactions.from_pairs(*zip(*pairs, strict=True), times=range(81))
    report = examine(data)
    assert report.findings == []
    assert dict(report.facts)["first time"] == "0"


def test_times_in_thousandths_are_dates_too():
    data = Interactions.from_pairs(["a", "b"], ["x", "y"], times=[1.5e12, 1.6e12])
    assert dict(examine(data).facts)["last time"] == "2020-09-13T12:26:40+00:00"


def test_options_belong_to_loading(make):
    data = load(make("a.csv", "user,item\na,x\n"))
    with pytest.raises(UsageError, match="Options say how to load"):
        examine(data, k_core=5)


@pytest.mark.parametrize(("items", "suspected"), [(SWAPPED * 2, False), (SWAPPED * 2 + 1, True)])
def test_columns_are_suspected_to_be_swapped_where_items_are_far_more_than_users(items, suspected):
    data = Interactions.from_pairs(np.arange(items) % 2, np.arange(items))
    findings = found(examine(data))
    assert (f"there are {items:,} items but only 2 users" in findings) is suspected
    tiny = found(examine(Interactions.from_pairs(["u"] * 60, [f"i{n}" for n in range(60)])))
    assert "--user" in tiny["there are 60 items but only 1 users"]
    assert "1 users and 60 items" in tiny


def test_histories_longer_than_is_learned_from_are_named_with_what_is_left_out():
    users = ["crawler"] * 5_300 + ["shop"] * 5_001 + ["u1", "u2"] * 5_000
    items = [*range(5_300), *range(5_001), *np.repeat(np.arange(5_000), 2)]
    report = examine(Interactions.from_pairs(users, items))
    (what,) = [what for what in found(report) if "more than 5,000 items" in what]
    assert what.startswith("2 users have more than 5,000 items: 'crawler', 'shop'; ")
    assert what.endswith("learn from 5,000 of each, without 301 interactions")
    assert "--set longest_history=none" in found(report)[what]
    ordinary = examine(Interactions.from_pairs(["u1", "u2"] * 5_000, np.repeat(np.arange(5_000), 2)))
    assert not any("more than 5,000" in what for what in found(ordinary))


DAY = 86_400
FIRST = 1_442_483_036


def events(kinds=("view", "cart"), rows=60):
    return pl.DataFrame(
        {
            "user": [f"u{at % 7}" for at in range(rows)],
            "item": [f"i{at % 11}" for at in range(rows)],
            "event": [kinds[at % 3 == 0] for at in range(rows)],
            "time": [FIRST + DAY * at for at in range(rows)],
        }
    )


def advice_with(report, start):
    return next((advice for what, advice in found(report).items() if start in what), None)


def test_a_report_prints_as_text():
    report = examine(events(), event="event", weights={"view": 1, "cart": 3})
    lines = str(report).splitlines()
    assert lines[0].split() == ["users", "7"]
    assert any(line.startswith("note: lists leave out all known items") for line in lines)
    assert any(line.startswith("    → ") for line in lines)
    assert "Report(" not in str(report)


def test_events_of_equal_weight_are_not_offered_again():
    start = "lists leave out all known items of a user"
    assert "hide_events" in advice_with(examine(events(), event="event", weights={"view": 1, "cart": 3}), start)
    for weights in ({"view": 1, "cart": 1}, {"view": 3, "cart": 1}, None):
        assert advice_with(examine(events(), event="event", weights=weights), start) is None


def test_rows_that_say_exactly_the_same_are_counted():
    twice = pl.concat([events(), events()[:10]])
    counted = "10 rows equal another: same user, item, time and all else that is read"
    report = examine(twice, event="event", weights={"view": 1, "cart": 3})
    assert found(report)[counted].endswith("their weights are added up")
    assert counted not in found(examine(events(), event="event"))
    assert counted not in found(
        examine(twice.drop("time", "event"))
    )  # who came twice on no known day may have come twice


def test_quantities_of_which_a_few_pairs_have_most_are_advised_to_be_flattened():
    hours = events().drop("event").with_columns(hours=pl.Series([5000.0 if at < 4 else 1.0 for at in range(60)]))
    assert "--transform log1p" in advice_with(examine(hours, weight="hours"), "% of the weight")
    assert advice_with(examine(hours, weight="hours", transform="log1p"), "% of the weight") is None


def test_what_a_file_does_not_keep_is_warned_of(tmp_path):
    data = load(events(), event="event", weights={"view": 1, "cart": 3}, half_life="9d")
    with pytest.warns(
        DataWarning, match=r"Left out: event types \('cart', 'view'\), .*Load its weights with weight='weight'"
    ):
        write(data, tmp_path / "a.csv")
    with pytest.warns(DataWarning, match=r"'weight' \(.*: quantities\? use weight= \(--weight\)"):
        load(tmp_path / "a.csv")
    assert load(tmp_path / "a.csv", weight="weight").fingerprint == data.fingerprint


def test_columns_of_events_are_to_be_named():
    with pytest.warns(DataWarning, match=r"use event= \(--event\)\)\. Without it all events count alike"):
        load(events())


def test_an_index_with_a_name_is_warned_of():
    frame = events().drop("event").to_pandas()
    with pytest.warns(DataWarning, match=r"index ignored: 'user': only columns are read; frame\.reset_index\(\)"):
        load(frame.assign(session=frame["user"]).set_index("user"))
    load(frame.set_index("user", drop=False))


@pytest.mark.parametrize("columns", [["item"], ["item", "rating"], ["item", "time"], ["item", "rating", "time"]])
@pytest.mark.filterwarnings("ignore:index ignored")
def test_a_user_column_in_the_index_is_an_error_that_names_reset_index(columns):
    frame = pd.DataFrame({"user_id": list("aab"), "item": list("xyx"), "rating": [1, 2, 3], "time": [1, 2, 3]})
    match = r"Its index, 'user_id', is no column: give frame\.reset_index\(\)\.$"
    with pytest.raises((DataError, UsageError), match=match) as caught:
        load(frame.set_index("user_id")[columns])
    assert "two roles" not in str(caught.value)


def test_columns_named_after_items_are_titles():
    titles = pl.DataFrame({"itemid": ["i1", "i2"], "Game Name": ["One", "Two"]})
    data = load(events().drop("event"), titles=titles)
    assert data.titles["i1"] == "One"
    data = load(events().drop("event"), items=titles)
    assert data.titles["i2"] == "Two"


def test_a_core_is_advised_only_where_something_would_be_left_of_it():
    findings = found(examine(Interactions.from_pairs(list("aabcd"), list("xyxzw"))))
    (advice,) = [advice for what, advice in findings.items() if "of items have a single" in what]
    assert advice == "add data: no 5-core (--k-core 5) would be left of these"
