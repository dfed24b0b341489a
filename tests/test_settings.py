from dataclasses import dataclass

import pytest

import corml
from corml._runtime.settings import (  # fmt: skip
    above,
    at_least,
    between,
    build,
    check,
    choice,
    declared,
    linear,
    log,
    nearest,
    one_of,
    optional,
    setting,
    whole,
    yes_or_no,
)
from corml.errors import SettingError


@dataclass(kw_only=True)
class Oven:
    heat: float = setting(180.0, between(50, 250), help="how hot", symbol="h", search=linear(100, 220))
    minutes: int = setting(10, whole(1, 600), help="how long", search=choice(10, 20))
    salt: float = setting(1.0, above(0), help="how salty", search=log(0.1, 10))
    fan: bool = setting(False, yes_or_no(), help="whether to blow")
    shelf: str = setting("middle", one_of("top", "middle"), help="where")
    steam: float | None = setting(None, optional(at_least(0), "as the dish needs"), help="how moist")


def test_a_setting_is_declared_once_and_known_everywhere():
    specs = declared(Oven)
    assert list(specs) == ["heat", "minutes", "salt", "fan", "shelf", "steam"]
    heat = specs["heat"]
    assert (heat.default, heat.symbol, heat.help) == (180.0, "h", "how hot")
    assert heat.search is not None
    assert heat.search.kind == "linear"
    assert specs["salt"].search.kind == "log"
    assert specs["minutes"].search.values == (10, 20)


def test_text_is_read_by_the_settings_own_rule():
    oven = build(Oven, {"heat": "200", "minutes": "1e1", "fan": "yes", "shelf": "top", "steam": "auto"})
    assert (oven.heat, oven.minutes, oven.fan, oven.shelf, oven.steam) == (200.0, 10, True, "top", None)
    assert build(Oven, {"steam": "0.5"}).steam == 0.5


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("heat", 20, "heat of Oven must be a number from 50 to 250; got '20'."),
        ("heat", "warm", "heat must be a number from 50 to 250; got 'warm'."),
        ("heat", float("nan"), "heat of Oven must be a number from 50 to 250; got 'nan'."),
        ("heat", True, "got 'True'"),
        ("minutes", "1.5", "minutes must be a whole number from 1 to 600; got '1.5'."),
        ("minutes", 0, "got '0'"),
        ("salt", 0, "must be a number above 0 and at most 1e+12; got '0'"),
        ("fan", "perhaps", "must be true or false"),
        ("fan", 1, "must be true or false"),
        ("shelf", "bottom", "must be one of 'top', 'middle'; got 'bottom'"),
        ("steam", -1, "a number from 0 to 1e+12, or none (as the dish needs)"),
        ("heating", 20, "Oven has no setting 'heating'; did you mean 'heat'?"),
        ("zzz", 20, "Oven has no setting 'zzz'; there is: fan, heat, minutes, salt, shelf, steam"),
    ],
)
def test_wrong_settings_raise_one_sentence(name, value, sentence):
    with pytest.raises(SettingError) as refused:
        build(Oven, {name: value})
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_default_settings_pass_the_check():
    check(Oven())


def test_the_nearest_name_is_suggested():
    assert nearest("rnk", ["rank", "mix"]) == "; did you mean 'rank'?"


@pytest.mark.parametrize(("name", "value"), [("ridge", 1e300), ("l2", 1e30), ("scale", 1e13), ("rho", 10**30)])
def test_numbers_that_would_overflow_are_refused_before_a_fit(name, value):
    with pytest.raises(SettingError, match=rf"{name} of CoRML must be a number .*1e\+12"):
        corml.CoRML(**{name: value}).fit(corml.Interactions.from_pairs(list("aab"), list("xyy")))


def test_a_misspelt_setting_of_a_constructor_is_named_with_the_one_probably_meant():
    with pytest.raises(SettingError, match="CoRML has no setting 'item_nrm'; did you mean 'item_norm'"):
        corml.CoRML(item_nrm=3)
