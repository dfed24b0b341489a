"""Ids of a request: written in another way, misspelt, missing or joined by commas."""

import numpy as np
import pytest

import corml
from corml.errors import DataWarning, UnknownIdError, UsageError


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(1)
    users, items = rng.integers(10, 40, 400), rng.integers(300, 330, 400)
    return corml.CoRML(rank=4, ridge=2.0).fit(corml.Interactions.from_pairs(users, items))


def test_a_whole_number_that_became_a_float_is_the_id_it_was(model):
    pandas = pytest.importorskip("pandas")
    expected = model.recommend(["15"], k=3)
    with pytest.warns(DataWarning, match=r"users: 1 id was read as whole numbers, such as 15\.0 as '15'"):
        lists = model.recommend(pandas.Series([15.0]), k=3)
    assert lists.users == ("15",)
    assert lists.sources == ("personal",)
    assert lists.items.tolist() == expected.items.tolist()


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, of: model.recommend(history=[[of(305), 310]], k=3).items.tolist(),
        lambda model, of: model.recommend(["15"], k=3, exclude=[of(305)]).items.tolist(),
        lambda model, of: model.recommend(["15"], k=3, only=[[of(305), 306]]).items.tolist(),
        lambda model, of: model.recommend(["15"], k=30, boost={of(305): 9.0}).items.tolist(),
        lambda model, of: model.recommend(["15"], k=3, exclude={"item": [of(305)]}).items.tolist(),
        lambda model, of: model.similar(of(305), k=3).items.tolist(),
        lambda model, of: model.similar_users([of(15)], k=3).users.tolist(),
        lambda model, of: model.explain(of(15), 305).score,
        lambda model, of: model.explain(15, of(305)).score,
        lambda model, of: model.distance([305], of(306)),
        lambda model, of: model.recommend([of(15)], unknown="error").users,
    ],
)
def test_every_request_reads_a_float_as_the_whole_number_that_is_known(model, ask):
    with pytest.warns(DataWarning, match="read as whole numbers"):
        read = ask(model, float)
    assert read == ask(model, str)


def test_an_id_that_is_a_float_in_the_data_stays_one():
    model = corml.Popularity().fit(corml.Interactions.from_pairs(["15.0", "15"], ["a", "b"]))
    assert model.recommend([15.0], k=1)["15.0"] == ["b"]


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, np.float32("nan")])
@pytest.mark.parametrize(
    "ask",
    [
        lambda model, missing: model.recommend(["15", missing]),
        lambda model, missing: model.recommend(history=[["305", missing]]),
        lambda model, missing: model.recommend(["15"], exclude=["305", missing]),
    ],
)
def test_a_missing_id_is_an_error(model, ask, missing):
    with pytest.raises(UsageError, match=r"id 2 of 2 is missing|takes item or user ids"):
        ask(model, missing)


@pytest.mark.parametrize("option", ["exclude", "only"])
def test_one_text_with_commas_is_refused_with_the_list_that_was_meant(model, option):
    with pytest.raises(UsageError, match=rf"{option}: '305, 306' is one id.*did you mean \['305', '306'\]"):
        model.recommend(["15"], **{option: "305, 306"})
    with pytest.raises(UsageError, match=r"users: '15,16' is one id.*did you mean \['15', '16'\]"):
        model.recommend("15,16")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["305,306"], "Did you mean ['305', '306']?"),
        ([["305", " 306 "]], "Did you mean '306'?"),
        (["305.0"], "Did you mean '305'?"),
        (["zebra"], "ignores it."),
        (["zebra", "lion", "305"], "does not know 'zebra', 'lion', 2 ids in all, and ignores them."),
    ],
)
@pytest.mark.parametrize("option", ["exclude", "only"])
def test_unknown_items_of_an_option_are_named_with_what_was_probably_meant(model, option, given, meant):
    with pytest.warns(DataWarning) as told:
        model.recommend(["15"], k=3, **{option: given})
    assert len(told) == 1
    assert str(told[0].message).startswith(f"{option}= (--{option}): the model does not know ")
    assert str(told[0].message).endswith(meant)
    assert told[0].filename == __file__


def test_a_request_whose_users_are_all_unknown_warns(model):
    with pytest.warns(DataWarning, match=r"All 2 users are unknown.*'ghost', 'spook'.*unknown=\"fallback\""):
        assert model.recommend(["ghost", "spook"], k=3).sources == ("fallback", "fallback")
    with pytest.warns(DataWarning, match=r"The user is unknown .*Did you mean \['15', '16'\]"):
        model.recommend(["15,16"], k=3)
    assert model.recommend(["ghost", "15"], k=3).sources == ("fallback", "personal")  # the list itself says so
    assert model.recommend(["ghost"], k=3, unknown="fallback").sources == ("fallback",)  # it is meant
    assert model.recommend([], k=3).users == ()


def test_an_unknown_id_that_must_be_known_is_an_error_with_the_one_that_was_meant(model):
    for ask in (lambda: model.similar("305.0"), lambda: model.explain("15", "305.0")):
        with pytest.raises(UnknownIdError, match=r"1 item id is not among .*: '305.0'. Did you mean '305'\?"):
            ask()


@pytest.mark.parametrize("misspelt", ["Alein", "ALIEN", "alien"])
def test_a_misspelt_item_is_named_with_the_one_that_was_meant(misspelt):
    model = corml.Popularity().fit(corml.Interactions.from_pairs(["a", "a"], ["Alien", "Heat"]))
    with pytest.warns(DataWarning, match=f"does not know '{misspelt}', and ignores it. Did you mean 'Alien'?"):
        assert model.recommend(history=[[]], k=2, exclude=[misspelt]).items.tolist() == [["Alien", "Heat"]]


def test_a_number_is_not_taken_for_the_one_next_to_it(model):
    with pytest.warns(DataWarning, match="does not know '3050', and ignores it.$"):
        model.recommend(["15"], exclude=[3050])


def test_items_given_as_users_and_users_given_as_items_are_told_apart(model):
    with pytest.warns(DataWarning, match=r"These are item ids: pass them as history=\[\[…\]\]"):
        model.recommend(["305", "306"])
    with pytest.raises(UnknownIdError, match="These are item ids"):
        model.recommend(["305"], unknown="error")
    with pytest.warns(DataWarning, match="'15' is a user id, not an item id: give a known user as one id"):
        model.explain(["15"], 305)
