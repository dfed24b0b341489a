"""Files of format 1 say in the words of the present format what they were made with."""

import pytest

from corml.storage.upgrade import upgraded

PUBLISHED = {"user_balance": 0.0, "graph_user_norm": 0.5, "graph_item_norm": 0.5, "filter_norm": 0.5}
OURS = {"user_balance": 0.25, "graph_user_norm": 0.4, "graph_item_norm": 0.4, "filter_norm": 0.4}
UNSAID = dict.fromkeys(OURS)
ALL = {"longest_history": None}  # of every history was learned from, before there was such a setting


def of(model="corml", settings=None, notes=None, format=1):
    return {"format": format, "model": model, "settings": settings or {}, "notes": notes or {}}


@pytest.mark.parametrize(("ridge", "used"), [(None, OURS), (0.0, PUBLISHED), (50.0, PUBLISHED)])
def test_what_a_given_ridge_switched_is_written_out(ridge, used):
    settings = {"ridge": ridge, "mix": 0.7}
    assert upgraded(of(settings=settings | UNSAID))["settings"] == settings | used | ALL
    assert upgraded(of(settings=settings))["settings"] == settings | used | ALL
    of_dial = {"item_norms": [0.0, 0.1], "of": settings | UNSAID}
    assert upgraded(of("corml-dial", of_dial))["settings"] == of_dial | {"of": settings | used | ALL}


def test_what_was_given_stays_as_it_was_given():
    given = {"ridge": 3.0, **UNSAID, "user_balance": 1.5, "filter_norm": 0.0}
    assert upgraded(of(settings=given))["settings"] == {
        **PUBLISHED,
        **ALL,
        "ridge": 3.0,
        "user_balance": 1.5,
        "filter_norm": 0.0,
    }


def test_other_models_have_no_such_switch():
    assert upgraded(of("ease", {"l2": None}))["settings"] == {"l2": None, **ALL}
    assert upgraded(of("corml-dial", {"of": None}))["settings"] == {"of": OURS | ALL}
    assert upgraded(of("popularity"))["settings"] == {}


def test_pairs_were_counted_one_way_and_all_of_them_were_no_number():
    plan = {"solver": "sparse", "ridge": 2.0, "predicted pairs": 21, "strongest per item": "all", "predicted bytes": 8}
    expected = {"solver": "sparse", "ridge": 2.0, "pairs": 42, "predicted_bytes": 8}
    assert upgraded(of(notes={"plan": plan}))["notes"] == {"plan": expected}
    few = upgraded(of(notes={"plan": plan | {"strongest per item": 200}}))["notes"]["plan"]
    assert few == expected | {"candidates": 200}


def test_what_linear_baselines_chose_becomes_a_plan():
    notes = {"route": "dense", "l2": 30.0, "predicted bytes": 8, "seconds": 1.5}
    assert upgraded(of("ease", notes=notes))["notes"] == {"plan": {"route": "dense", "l2": 30.0, "predicted_bytes": 8}}


def test_training_has_names_without_blanks():
    training = {"epochs": 3, "cpu seconds": 2.0, "best epoch": 1, "valid": "ndcg@10"}
    expected = {"epochs": 3, "cpu_seconds": 2.0, "best_epoch": 1, "metric": "ndcg@10"}
    assert upgraded(of("bpr-mf", notes={"training": training}))["notes"] == {"training": expected}


def test_a_file_of_the_present_format_is_left_alone():
    meta = of(settings={"ridge": 3.0, "longest_history": 70}, notes={"route": "dense"}, format=2)
    assert upgraded(meta) == meta
