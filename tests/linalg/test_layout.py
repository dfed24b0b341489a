import numpy as np
import pytest

from corml.linalg.layout import layout


def ring(n, k=6):
    """Items on a circle; the nearest ones of each are its neighbours on it."""
    steps = np.array([side * step for step in range(1, k // 2 + 1) for side in (1, -1)])
    return (np.arange(n)[:, None] + steps) % n


def away(points, a, b):
    return np.sqrt(np.square(points[a] - points[b]).sum(axis=-1))


def test_neighbours_lie_nearer_than_others():
    near = ring(240)
    points = layout(near)
    to_near = np.median(away(points, np.repeat(np.arange(240), near.shape[1]), near.ravel()))
    to_any = np.median(away(points, np.arange(240), np.roll(np.arange(240), 97)))
    assert to_near < to_any / 5


def test_groups_that_have_nothing_in_common_lie_apart():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 60)
    near = np.array([rng.choice(np.flatnonzero(group == one), 8, replace=False) for one in group])
    points = layout(near)
    centres = np.array([points[group == one].mean(axis=0) for one in range(3)])
    nearest = np.square(points[:, None] - centres).sum(axis=2).argmin(axis=1)
    assert (nearest == group).mean() > 0.95


def test_the_same_neighbours_give_the_same_map_inside_the_square():
    near = ring(100)
    points = layout(near, seed=3)
    assert np.array_equal(points, layout(near, seed=3))
    assert not np.array_equal(points, layout(near, seed=4))
    assert np.isfinite(points).all()
    assert np.abs(points).max() <= 1
    assert np.abs(points).max(axis=0) == pytest.approx([0.95, 0.95], abs=0.06)  # and fills it


def test_an_item_that_is_near_everything_does_not_swallow_the_map():
    near = ring(200)
    near[:, 0] = 0
    points = layout(near)
    assert np.median(away(points, np.zeros(199, dtype=int), np.arange(1, 200))) > 0.2


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_few_items_and_items_without_neighbours_have_a_place_too(n):
    points = layout(np.full((n, 4), -1))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
