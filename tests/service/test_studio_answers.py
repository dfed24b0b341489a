"""What the studio page asks for: the map, personas, facts about the data, and jobs."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from corml.service import handlers
from corml.service.problems import Refusal
from corml.service.studio import jobs, schema
from corml.service.studio.about_data import about_data
from corml.service.studio.atlas import atlas, how_known, map_of, personas_of


def of(name="dial"):
    return schema.OfModel(model=name)


@pytest.fixture(scope="module")
def ready(shelf):
    """The shelf, with the map of its default model made."""
    atlas.of(shelf["dial"]).result(60)
    return shelf


def test_a_map_is_made_in_the_background_and_lists_what_is_best_known_meanwhile(shelf):
    first = map_of(shelf, of("plain"))
    assert first.state in ("making", "ready")
    assert first.people == sorted(first.people, reverse=True)
    deadline = time.monotonic() + 60
    while (answer := map_of(shelf, of("plain"))).state == "making":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert answer.state == "ready"
    assert len(answer.x) == len(answer.y) == len(answer.items) == len(answer.titles)
    assert answer.items == first.items


def test_what_is_near_on_the_map_is_near_by_the_model(ready):
    chart = atlas.of(ready["dial"]).result()
    for position in (0, 7, 19):
        item = ready["dial"].model.items_.labels[chart.rows[position]]
        similar = handlers.similar(ready, handlers.schema.Similar(item=item, k=5, model="dial")).items
        labels = [ready["dial"].model.items_.labels[chart.rows[at]] for at in chart.nearest[position][:5]]
        assert labels == [one.item for one in similar]


def test_one_map_serves_all_who_ask_for_the_same_file(ready):
    assert atlas.of(ready["dial"]) is atlas.of(ready["dial"])
    assert atlas.of(ready["dial"]) is not atlas.of(ready["plain"])


def test_personas_are_histories_of_different_regions_and_nobodys(ready):
    answer = personas_of(ready, of())
    histories = [[item.item for item in one.items] for one in answer.personas]
    assert len(histories) == 6
    assert all(1 <= len(history) <= 4 for history in histories)
    everything = [item for history in histories for item in history]
    assert len(set(everything)) == len(everything)  # regions do not overlap
    assert histories == [[item.item for item in one.items] for one in personas_of(ready, of()).personas]


def test_facts_are_those_of_the_pairs_in_the_file_and_the_curve_is_their_share(shelf, data):
    answer = about_data(shelf, of("plain"))
    assert (answer.facts["users"], answer.facts["items"], answer.facts["interactions"]) == (*data.shape, len(data))
    counts = np.sort(data.item_degrees)[::-1]
    assert answer.curve[0] == 0
    assert answer.curve[-1] == 1
    assert answer.curve[50] == pytest.approx(counts[: len(counts) // 2].sum() / counts.sum(), abs=1e-4)


def test_a_file_without_histories_has_its_sizes_alone(shelf):
    answer = about_data(shelf, of("no-users"))
    assert set(answer.facts) == {"users", "items"}
    assert answer.findings == []


def test_every_item_is_in_one_bin_of_the_histogram():
    counts = np.array([0, 1, 1, 2, 3, 9, 10, 11, 99, 100, 5000])
    known = how_known(counts)
    assert sum(known.items) == len(counts)
    assert known.edges == sorted(set(known.edges))
    assert known.edges[-1] > 5000
    assert known.median == 9


def test_a_plain_service_has_no_jobs_and_begins_none():
    assert jobs.listed(None) == schema.Jobs(jobs=[], can_fit=False, notes=[])
    with pytest.raises(Refusal, match="No data are open"):
        jobs.start(None, schema.StartFit())


def test_another_fit_while_one_is_at_work_is_refused_as_that():
    working = SimpleNamespace(jobs=[jobs.Job(1, "shop", "corml")], notes=[], can_fit=True)
    with pytest.raises(Refusal, match="A fit is under way") as refused:
        jobs.start(working, schema.StartFit())
    assert (refused.value.status, refused.value.title) == (409, "Already fitting")


def test_a_job_tells_where_it_is_and_ends_when_asked_to():
    job = jobs.Job(1, "shop", "corml")
    job.tell("fit", "solve", 3, 9)
    assert (job.info().last.step, job.info().last.done, job.info().last.total) == ("fit", 3, 9)
    job.stopped = True
    with pytest.raises(KeyboardInterrupt):
        job.tell("fit", "solve", 4, 9)
