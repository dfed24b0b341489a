"""What holds for every way to split, also for one that is added tomorrow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corml import plugins
from corml.data.interactions import Interactions
from corml.errors import SettingError
from corml.splits import read_split, split
from corml.splits._draw import label_numbers

WAYS = plugins.names("corml.splits")
ORDER_MATTERS = ("authors",)


@st.composite
def interactions(draw):
    """Few users, few items, at least one pair; times without ties, but in any order."""
    cells = st.tuples(st.integers(0, 5), st.integers(0, 7))
    rows = draw(st.lists(cells, min_size=1, max_size=40, unique=True))
    times = draw(st.permutations(range(len(rows))))
    return Interactions.from_pairs([f"u{u}" for u, _ in rows], [f"i{i}" for _, i in rows], times=times)


def shuffled(data: Interactions, seed: int) -> Interactions:
    """The same pairs with rows, users and items numbered in another order."""
    order = np.random.default_rng(seed).permutation(len(data))
    users, items = data.users.labels[data.user[order]], data.items.labels[data.item[order]]
    return Interactions.from_pairs(users, items, times=data.times[order])


def split_of(data: Interactions, how: str):
    """The split; cuts in time are put in the middle, so that small data have a past."""
    return split(data, how, moments=len(data) / 2) if how == "temporal" and len(data) > 1 else split(data, how)


@pytest.mark.parametrize("how", WAYS)
@settings(max_examples=60, deadline=None)
@given(data=interactions())
def test_every_pair_is_in_exactly_one_part(how, data, pairs, contents):
    parts = contents(split_of(data, how)).values()
    assert sum(map(len, parts)) == len(data)
    assert set().union(*parts) == pairs(data)


@pytest.mark.parametrize("how", [how for how in WAYS if how not in ORDER_MATTERS])
@settings(max_examples=40, deadline=None)
@given(data=interactions(), seed=st.integers(0, 9))
def test_order_of_rows_and_ids_does_not_matter(how, data, seed, contents):
    first, second = split_of(data, how), split_of(shuffled(data, seed), how)
    assert contents(first) == contents(second)
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize("how", WAYS)
@settings(max_examples=25, deadline=None)
@given(data=interactions())
def test_parts_share_the_ids_and_times_of_the_data(how, data):
    when = dict(zip(zip(data.user.tolist(), data.item.tolist(), strict=True), data.times, strict=True))
    for part in split_of(data, how).parts().values():
        assert part.users is data.users
        assert part.items is data.items
        assert [when[u, i] for u, i in zip(part.user.tolist(), part.item.tolist(), strict=True)] == part.times.tolist()


@pytest.mark.parametrize("how", WAYS)
def test_it_can_be_saved_read_and_made_again(how, sample, tmp_path):
    split(sample, how).save(tmp_path / "s")
    again = read_split(tmp_path / "s")
    again.verify(sample)
    assert again.procedure["name"] == how.replace("_", "-")


@pytest.mark.parametrize("how", WAYS)
def test_a_mistyped_option_is_refused(how, sample):
    with pytest.raises(SettingError, match="has no option 'sharse'"):
        split(sample, how, sharse=(0.5, 0.5))


@pytest.mark.parametrize("how", WAYS)
def test_no_pairs_make_empty_parts(how, sample):
    nothing = sample.where(np.zeros(len(sample), dtype=bool))
    assert not any(len(part) for part in split(nothing, how).parts().values())


@pytest.mark.parametrize("how", [how for how in WAYS if how not in ("k_fold", "temporal")])
def test_a_single_pair_is_learnt_from(how):
    data = Interactions.from_pairs(["u"], ["i"], times=[1])
    assert len(split(data, how).train) == 1


@pytest.mark.parametrize("how", [how for how in WAYS if how not in ("leave_last", "temporal")])
def test_another_seed_is_another_split(how, sample):
    assert split(sample, how, seed=1).fingerprint != split(sample, how, seed=2).fingerprint
    assert split(sample, how, seed=1).fingerprint == split(sample, how, seed=1).fingerprint


@pytest.mark.parametrize("how", [how for how in WAYS if how not in ("leave_last", "temporal")])
@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "many", None, True])
def test_a_seed_is_a_whole_number(how, seed, sample):
    with pytest.raises(SettingError, match=r"seed of the split .* must be a whole number from 0 to 4,294,967,295; got"):
        split(sample, how, seed=seed)


@pytest.mark.parametrize("how", ["ratio", "authors", "new-users", "temporal"])
@pytest.mark.parametrize(
    "shares",
    [
        (1.0,),
        (0.5, 0.2, 0.2),
        (0.25,) * 4,
        (1.2, -0.2),
        (0, 0.5, 0.5),
        (1e-9, 1),
        (float("nan"), 0.5),
        "half",
        0.5,
        [[1, 2], 3],
        {},
    ],
)
def test_shares_are_two_or_three_numbers_that_sum_to_one(how, shares, sample):
    with pytest.raises(
        SettingError, match=r"shares of the split .* must be two or three numbers from 0 to 1 that sum to 1"
    ):
        split(sample, how, shares=shares)


@pytest.mark.parametrize("how", ["ratio", "authors", "new-users", "temporal"])
def test_two_shares_leave_valid_empty_and_text_is_read(how, sample):
    parts = split(sample, how, shares=(0.8, 0.2))
    assert len(parts.valid) == 0
    assert len(parts.test) > 0
    assert split(sample, how, shares="0.8, 0.2").fingerprint == parts.fingerprint
    assert split(sample, how, shares=np.array([0.8, 0.0, 0.2])).fingerprint == parts.fingerprint


@pytest.mark.parametrize("how", ["ratio", "authors", "new-users", "temporal"])
def test_a_train_share_of_one_keeps_everything(how, sample):
    assert len(split(sample, how, shares=(1, 0, 0)).train) == len(sample)


def test_random_numbers_of_one_purpose_tell_nothing_of_another(sample):
    """Else which users are new would go with the order of their pairs."""
    numbers = [label_numbers(sample.users, 1, purpose) for purpose in ("new users", "start of folds", "pair of user")]
    assert len({number for row in numbers for number in row.tolist()}) == 3 * len(sample.users)
    assert (label_numbers(sample.users, 1, "new users") == numbers[0]).all()
    assert (label_numbers(sample.users, 2, "new users") != numbers[0]).all()
