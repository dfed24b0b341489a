"""Attributes on the command line: --items, --only-where, --exclude-where and --now."""

import pytest

import corml

RATINGS = "user,item\n" + "\n".join(f"u{user},i{item}" for user in range(6) for item in range(8) if (user + item) % 3)
ITEMS = """item,title,genre,price,available_from
i0,Salt,Spice|Basic,2,2024-01-01
i1,Pepper,Spice,5,2024-01-01
i2,Rice,Basic,9,2024-01-01
i3,Saffron,Spice,90,2024-02-01
i4,Oil,Basic,12,2024-01-01
i5,Vinegar,Basic,4,2024-01-01
i6,Cumin,Spice,6,2024-03-01
i7,Flour,Basic,1,2024-01-01
"""


@pytest.fixture
def shop(run, here):
    (here / "ratings.csv").write_text(RATINGS)
    (here / "items.csv").write_text(ITEMS)
    assert run("fit", "ratings.csv", "--items", "items.csv", "--out", "shop.corml").code == 0
    return run


def listed(run, *words):
    outcome = run("recommend", "shop.corml", "--history", "i0", "-k", "9", "--json", *words)
    assert outcome.code == 0, outcome.err
    return {entry["item"] for entry in outcome.json[0]["items"]}


def test_fit_keeps_the_table_and_its_titles(shop):
    model = corml.read_model("shop.corml")
    assert model.attributes_.names == ("title", "genre", "price", "available_from")
    assert model.titles_["i3"] == "Saffron"


def test_inspect_shows_the_kinds_of_columns(shop):
    shown = " ".join(shop("inspect", "-v", "shop.corml").out.split())
    assert "attribute of items" in shown
    assert "title text genre category price number available_from time" in shown


@pytest.mark.parametrize(
    ("flags", "items"),
    [
        (["--only-where", "genre=Spice"], "136"),
        (["--only-where", "genre=Spice,Basic"], "1234567"),
        (["--only-where", "genre=Spice", "--only-where", "genre=Basic"], "1234567"),
        (["--only-where", "genre=Spice", "--only-where", "price<=10"], "16"),
        (["--only-where", "price>=5", "--only-where", "price <= 12"], "1246"),
        (["--only-where", "price=5..12"], "1246"),
        (["--only-where", "price=..4"], "57"),
        (["--only-where", "price=4,5"], "15"),
        (["--only-where", "title=in"], "56"),
        (["--only-where", "genre=Spice", "--only", "i1,i2"], "1"),
        (["--exclude-where", "genre=Spice", "--exclude-where", "price<=4"], "24"),
        (["--exclude-where", "genre=Spice", "--exclude", "i2"], "457"),
        (["--only-where", "genre=Spice", "--now", "2024-02-15"], "13"),
    ],
)
def test_conditions_choose_items(shop, flags, items):
    assert listed(shop, *flags) == {f"i{number}" for number in items}


def test_another_table_can_be_given_to_recommend(shop, here):
    (here / "new.csv").write_text("item,colour\ni1,red\ni2,green\n")
    assert listed(shop, "--items", "new.csv", "--only-where", "colour=red") == {"i1"}


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--only-where", "gener=Spice"], "There is no attribute 'gener'; did you mean 'genre'?"),
        (["--only-where", "genre"], "Invalid --only-where 'genre': write genre=Comedy,Drama or price<=20."),
        (["--only-where", "genre<=Spice"], "genre is of kind category and has no order"),
        (["--only-where", "genre=spice"], "No item has the genre 'spice'; did you mean 'Spice'?"),
        (["--only-where", "price<=3", "--only-where", "price<=4"], "two conditions on 'price' that exclude each other"),
        (["--only-where", "price<=cheap"], "needs a number; got 'cheap'"),
        (["--items", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_mistakes_are_one_sentence(shop, flags, sentence):
    outcome = shop("recommend", "shop.corml", "--history", "i0", *flags)
    assert outcome.code in (2, 3)
    assert sentence in outcome.err


def test_a_model_without_a_table_says_so(run, here):
    (here / "ratings.csv").write_text(RATINGS)
    run("fit", "ratings.csv", "--out", "plain.corml")
    outcome = run("recommend", "plain.corml", "--history", "i0", "--only-where", "genre=Spice")
    assert "no table of items was given" in outcome.err
    assert "--items" in outcome.err


def test_a_settings_file_names_the_table(run, here):
    (here / "ratings.csv").write_text(RATINGS)
    (here / "items.csv").write_text(ITEMS)
    (here / "fit.toml").write_text('[data]\nsource = "ratings.csv"\nitems = "items.csv"\n')
    assert run("fit", "--settings", "fit.toml", "--out", "shop.corml").code == 0
    assert corml.read_model("shop.corml").attributes_.values("genre") == ("Basic", "Spice")


# --- new items -------------------------------------------------------------------------------------------------------

ARRIVALS = "item,title,genre,price\nn1,Paprika,Spice,5\nn2,Sugar,Basic,2\n"


def test_new_items_are_listed_explained_and_marked(shop, here):
    (here / "new.csv").write_text(ARRIVALS)
    words = ("recommend", "shop.corml", "--history", "i1,i3", "-k", "3", "--new-items", "new.csv", "--lift", "100")
    outcome = shop(*words, "--json")
    assert "note: 2 new items, scored by what they are like" in outcome.err
    first = outcome.json[0]["items"][0]
    assert (first["item"], first["title"], first["new"]) == ("n1", "Paprika", True)
    assert "new" in shop(*words).out.splitlines()[0]
    assert shop(*words, "--out", "lists.csv").code == 0
    assert (here / "lists.csv").read_text().splitlines()[0] == "user,rank,item,score,title,new,source,reason"


def test_explain_names_what_a_new_item_is_like(shop, here):
    (here / "new.csv").write_text(ARRIVALS)
    corml.read_model("shop.corml").with_new_items("new.csv").save("wider.corml")
    outcome = shop("explain", "wider.corml", "n1", "--history", "i1,i3")
    assert "new; it is like Pepper (" in outcome.out
    like = shop("explain", "wider.corml", "n1", "--history", "i1,i3", "--json").json["like"]
    assert like[0]["item"] == "i1"
    assert "like" not in shop("explain", "wider.corml", "i0", "--history", "i1,i3", "--json").json


def test_lift_needs_new_items(shop):
    outcome = shop("recommend", "shop.corml", "--history", "i1", "--lift", "2")
    assert "--lift is for new items: give --new-items FILE with it." in outcome.err
