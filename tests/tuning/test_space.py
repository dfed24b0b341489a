"""Search spaces come from the declarations of the settings, and callers may narrow them."""

import pytest

from corml import models
from corml._runtime.settings import choice, declared, linear, log
from corml.errors import SettingError
from corml.experiments.tuning.space import point_near, rounded, size_of, space_of

EASE, KNN, CORML = (models.get(name) for name in ("ease", "item-knn", "corml"))


@pytest.mark.parametrize("name", models.names())
def test_the_space_of_a_model_is_what_its_settings_declare(name):
    model = models.get(name)
    assert space_of(model) == {n: s.search for n, s in declared(model).items() if s.search is not None}


@pytest.mark.parametrize("name", models.names())
def test_every_declared_value_is_allowed(name):
    for setting, search in space_of(models.get(name)).items():
        rule = declared(models.get(name))[setting].rule
        assert all(rule.holds(value) for value in search.values), setting


def test_a_fixed_setting_is_not_searched():
    assert set(space_of(KNN, fixed=["shrink"])) == {"neighbours"}
    with pytest.raises(SettingError, match="shrink is to be searched and is fixed"):
        space_of(KNN, ["shrink"], ["shrink"])


def test_names_select():
    assert space_of(CORML, ["mix"]) == {"mix": linear(0.3, 0.95)}
    assert space_of(CORML, "mix") == {"mix": linear(0.3, 0.95)}


@pytest.mark.parametrize(
    ("given", "search"),
    [
        ((0.5, 0.9), linear(0.5, 0.9)),
        ("0.5..0.9", linear(0.5, 0.9)),
        ("0.5,0.9", choice(0.5, 0.9)),
        ([0.5, 0.6, 0.9], choice(0.5, 0.6, 0.9)),
        (log(0.1, 0.9), log(0.1, 0.9)),
    ],
)
def test_a_range_is_an_interval_or_choices(given, search):
    assert space_of(CORML, {"mix": given}) == {"mix": search}


def test_an_interval_has_the_scale_that_the_setting_declares():
    assert space_of(CORML, {"ridge": "5..50"}) == {"ridge": log(5, 50)}


def test_two_values_of_a_setting_with_choices_are_choices():
    assert space_of(CORML, {"rank": (16, 32)}) == {"rank": choice(16, 32)}


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"mixx": (0.5, 0.9)}, "did you mean 'mix'"),
        ({"mix": (0.5, 1.9)}, "mix must be a number above 0 and at most 1; got '1.9'"),
        ({"mix": "half"}, "mix must be"),
        ({"mix": (0.9, 0.5)}, "from a lower to a higher number"),
        ({"ridge": log(0, 5)}, "both above 0"),
        (["tol"], "tol declares no range to search"),
    ],
)
def test_a_range_that_cannot_be_meant_is_refused(asked, sentence):
    with pytest.raises(SettingError, match=sentence):
        space_of(CORML, asked)


def test_points_have_few_digits_and_stay_inside():
    space = {"mix": linear(0.12345, 0.9)}
    assert rounded(CORML, space, {"mix": 0.654321}) == {"mix": 0.654}
    assert rounded(CORML, space, {"mix": 0.1234501}) == {"mix": 0.12345}


def test_settings_outside_the_space_are_put_at_its_edge():
    space = {"neighbours": choice(50, 100, 400), "shrink": log(1, 200)}
    assert point_near(KNN, space, {"neighbours": 390, "shrink": 0}) == {"neighbours": 400, "shrink": 1.0}


def test_settings_without_a_place_in_the_space_have_no_point():
    assert point_near(EASE, {"ridge": log(1, 10)}, {"ridge": None}) == {}


def test_choices_can_be_counted_and_intervals_cannot():
    assert size_of({"rank": choice(16, 32), "filter_power": choice(0.0, 0.5, 1.0)}) == 6
    assert size_of({"rank": choice(16, 32), "mix": linear(0, 1)}) == float("inf")
