"""What is compared, as it is written."""

import polars
import pytest

import corml
from corml.errors import DataError, UsageError
from corml.experiments.candidates import candidates


def test_models_by_name_with_settings_and_as_objects(kinds):
    given = ["corml", "ease:l2=500", "item-knn:neighbours=7:shrink=3", corml.CoRML(rank=8, mix=0.5)]
    compared = candidates(given)
    assert [one.label for one in compared] == [*given[:3], "corml:mix=0.5:rank=8"]
    assert compared[1].model.l2 == 500
    assert [one.changed for one in compared[1:3]] == [{"l2": 500}, {"neighbours": 7, "shrink": 3}]
    assert [one.name for one in compared] == ["corml", "ease", "item-knn", "corml"]
    assert candidates("popularity")[0].label == "popularity"
    assert [one.label for one in candidates({"ours": "corml", "theirs": "ease"})] == ["ours", "theirs"]
    seeded = {one.name: one.seeded for one in candidates(["popularity", "bpr-mf", kinds["dice"]()])}
    assert seeded == {"popularity": False, "bpr-mf": True, "dice": True}


def test_lists_are_identified_by_their_content_not_by_their_name(tmp_path):
    for name, text in (("a.csv", "user,item\n1,2\n"), ("b.csv", "user,item\n1,2\n"), ("c.csv", "user,item\n1,3\n")):
        (tmp_path / name).write_text(text)
    a, b, c = candidates([f"x={tmp_path}/a.csv", f"y={tmp_path}/b.csv", f"z={tmp_path}/c.csv"])
    assert (a.label, a.model) == ("x", None)
    assert a.digest == b.digest != c.digest
    frame = polars.DataFrame({"user": ["1"], "item": ["2"]})
    one, other = candidates([], lists={"frame": frame, "mapping": {"1": ["2"]}})
    assert one.digest == other.digest


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["corlm"], UsageError, "did you mean 'corml'"),
        (["ease:l3=5"], UsageError, "did you mean 'l2'"),
        (["ease:l2"], UsageError, "is not MODEL:NAME=VALUE"),
        (["ease:l2=-1"], UsageError, "l2 of EASE must be"),
        (["ease", "ease"], UsageError, "Two models are called 'ease'"),
        (["theirs="], UsageError, "is not LABEL=FILE"),
        (["theirs=none.csv"], DataError, "'none.csv': No such file"),
        ([7], UsageError, "got a int"),
        ([], UsageError, "There is nothing to compare"),
    ],
)
def test_a_mistake_is_named(given, error, message):
    with pytest.raises(error, match=message):
        candidates(given)
