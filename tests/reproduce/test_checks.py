"""What the paper says of its figures, held against curves drawn by hand."""

import pytest

from corml.experiments.reproduce.figure import Series, checked

RISES = ((-0.2, 0.4), (0.0, 0.5), (0.2, 0.45))
FALLS = ((-0.2, 0.6), (0.0, 0.5), (0.2, 0.45))


def series(points, *, by=None, metric="ndcg@10"):
    return Series("CoRML", by, "t_u", metric, points)


def claim(kind, **more):
    return {"says": "so it is", "kind": kind, "metrics": ["ndcg@10"], **more}


def test_a_curve_falls_only_if_it_never_rises():
    (check,) = checked([claim("falls")], "gowalla", [series(FALLS)], "t")
    assert check.holds
    assert check.measured == "0.6000 to 0.4500"
    (check,) = checked([claim("falls")], "gowalla", [series(RISES)], "t")
    assert not check.holds
    assert "rises from t = -0.2 to 0" in check.measured
    assert check.line().startswith("does not hold: so it is (gowalla, CoRML, ndcg@10)")


@pytest.mark.parametrize(("between", "holds"), [([0.0, 0.0], True), ([-0.1, 0.1], True), ([0.1, 0.2], False)])
def test_a_peak_lies_between_the_ends_or_not(between, holds):
    (check,) = checked([claim("peak", between=between)], "gowalla", [series(RISES)], "t")
    assert check.holds is holds
    assert check.measured == "best at t = 0"


def test_peaks_fall_along_the_second_setting():
    early, late = ((0.1, 0.5), (1.0, 0.4)), ((0.1, 0.4), (1.0, 0.5))
    (check,) = checked([claim("peaks fall")], "gowalla", [series(late, by=0.0), series(early, by=1.0)], "ε")
    assert check.holds
    assert check.measured == "best at ε = 1 for t_u = 0, ε = 0.1 for t_u = 1"
    (check,) = checked([claim("peaks fall")], "gowalla", [series(early, by=0.0), series(late, by=1.0)], "ε")
    assert not check.holds
    (check,) = checked([claim("peaks fall")], "gowalla", [series(late, by=0.0), series(late, by=1.0)], "ε")
    assert not check.holds  # the same everywhere is not smaller


def test_a_claim_is_about_its_own_data_and_metrics():
    about = claim("falls", data=["ml-20m"])
    assert checked([about], "gowalla", [series(FALLS)], "t") == []
    assert checked([claim("falls")], "gowalla", [series(FALLS, metric="mrr@10")], "t") == []
    assert checked([claim("falls")], "gowalla", [series(FALLS[:1])], "t") == []
