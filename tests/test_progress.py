import pytest

from corml._runtime.progress import expected_steps


@pytest.mark.parametrize(
    ("residuals", "tol", "expected"),
    [
        ([1.0], 1e-4, 500),  # nothing is known yet
        ([1.0, 2.0], 1e-4, 500),  # not getting better
        ([1.0, 0.1, 0.01], 1e-4, 4),  # a tenth a step
        ([1.0, 0.1, 1e-4], 1e-4, 2),  # there
        ([1.0, 0.999], 1e-9, 500),  # never more than the most
        ([1.0, 0.1], 0, 500),  # a fixed number of steps
    ],
)
def test_the_pace_so_far_tells_how_long_it_takes(residuals, tol, expected):
    assert expected_steps(residuals, tol, 500) == expected


def test_a_step_that_is_begun_counts():
    """From 1 to ½ in a step, and from there by halves to 0.1: 2.3 steps, so three more."""
    assert expected_steps([1.0, 0.5], 0.1, 500) == 1 + 3
    assert expected_steps([1.0, 0.7, 0.5], 0.1, 500) == 2 + 5
    assert expected_steps([1.0, 0.5], 0.1, 3) == 3
