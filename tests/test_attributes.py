"""The table of items: kinds found by looking, rows aligned with any catalogue, kept with data, model and file."""

import datetime
import json

import numpy as np
import polars
import pytest

import corml
from corml.data.attributes import Attributes, indicators
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.saved.pairs import encode_ids
from corml.errors import DataError, DataWarning, ModelFileError, UsageError
from corml.persistence import container

COLUMNS = {
    "item": ["a", "b", "c"],
    "genre": ["Action|Comedy", "Drama", ""],
    "price": ["9.5", "", "20"],
    "available_from": ["2024-01-31", "2024-02-01", ""],
    "summary": ["two men walk into a bar", "nobody comes out of it again", "it closes in the end"],
    "brand": ["Acme", "Acme", "Zed"],
    "zip": ["01234", "98765", "00001"],
}


@pytest.fixture
def table():
    return corml.load_items(COLUMNS)


@pytest.fixture
def data(table):
    pairs = Interactions.from_pairs(["u", "u", "v", "w", "w"], ["c", "a", "a", "d", "c"])
    return corml.load(pairs.to_frame(), items=table)


def test_kinds_are_found_by_looking(table):
    kinds = {name: table.kind(name) for name in table.names}
    assert kinds == {
        "genre": "category", "price": "number", "available_from": "time", "summary": "text", "brand": "category",
        "zip": "category",
    }  # fmt: skip


def test_categories_are_ones_where_an_item_has_a_value(table):
    assert table.values("genre") == ("Action", "Comedy", "Drama")
    assert table.categories("genre").toarray().tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_numbers_and_moments_are_missing_where_nothing_is_said(table):
    np.testing.assert_array_equal(table.numbers("price"), [9.5, np.nan, 20])
    day = datetime.datetime(2024, 1, 31, tzinfo=datetime.UTC).timestamp()
    np.testing.assert_array_equal(table.numbers("available_from"), [day, day + 86400, np.nan])


def test_a_kind_can_be_said():
    assert corml.load_items({"sku": ["a", "b"], "size": [36, 38]}).kind("size") == "number"
    sized = corml.load_items({"sku": ["a", "b"], "size": [36, 38]}, kinds={"size": "category"})
    assert sized.values("size") == ("36", "38")
    with pytest.raises(UsageError, match="no column 'sise' for kinds=; did you mean 'size'"):
        corml.load_items({"sku": ["a"], "size": [1]}, kinds={"sise": "category"})
    with pytest.raises(UsageError, match="one of category, number, time, text; got 'colour'"):
        corml.load_items({"sku": ["a"], "size": [1]}, kinds={"size": "colour"})


@pytest.mark.parametrize(
    "values",
    [[["x", "y"], ["z"]], ["x|y", "z"], ['["x", "y"]', '["z"]']],
    ids=["a column of lists", "a separator", "lists of JSON in text"],
)
def test_an_item_may_have_several_values(values):
    table = corml.load_items({"item": ["a", "b"], "tags": values})
    assert table.categories("tags").toarray().tolist() == [[1, 1, 0], [0, 0, 1]]


def test_another_separator_can_be_said():
    assert corml.load_items({"item": ["a"], "tags": ["x, y"]}, separator=",").values("tags") == ("x", "y")


def test_json_lines_and_parquet_and_pandas_hold_lists(tmp_path):
    rows = [{"id": "a", "tags": ["x", "y"], "price": 3}, {"id": "b", "tags": [], "price": None}]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    frame = polars.DataFrame(rows)
    frame.write_parquet(tmp_path / "items.parquet")
    for source in (tmp_path / "items.jsonl", tmp_path / "items.parquet", frame.to_pandas()):
        table = corml.load_items(source)
        assert table.categories("tags").toarray().tolist() == [[1, 1], [0, 0]]
        np.testing.assert_array_equal(table.numbers("price"), [3, np.nan])


def test_rows_that_repeat_an_item_add_up():
    table = corml.load_items({"item": ["a", "b", "a"], "tag": ["x", "y", "z"], "price": [None, 2, 3]})
    assert table.items.labels.tolist() == ["a", "b"]
    assert table.categories("tag").toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    assert table.numbers("price").tolist() == [3, 2]


def test_movielens_dat_files_have_titles_and_genres(tmp_path):
    path = tmp_path / "movies.dat"
    path.write_text("1::Toy Story (1995)::Animation|Comedy\n2::Heat (1995)::Crime\n")
    table = corml.load_items(path)
    assert (table.values("genres"), table.titles["2"]) == (("Animation", "Comedy", "Crime"), "Heat (1995)")


def test_an_unknown_name_is_answered_with_the_nearest(table):
    with pytest.raises(UsageError, match=r"There is no attribute 'gener'; did you mean 'genre'\?"):
        table.categories("gener")
    with pytest.raises(UsageError, match=r"no table of items was given.*--items"):
        Attributes(Ids(["a"])).kind("genre")


def test_capitals_and_a_final_s_do_not_matter(table):
    assert table.values("Genres") == table.values("genre")


def test_the_wrong_kind_is_refused(table):
    with pytest.raises(UsageError, match=r"'price' is of kind number, not of categories: .*kinds="):
        table.categories("price")
    with pytest.raises(UsageError, match="'genre' is of kind category: it holds no numbers"):
        table.numbers("genre")
    with pytest.raises(UsageError, match="'genre' is of kind category: it holds no text"):
        table.texts("genre")


def test_what_is_no_number_is_an_error():
    with pytest.raises(DataError, match="'cheap' in the column 'price' is not a number"):
        corml.load_items({"item": ["a", "b"], "price": ["1", "cheap"]}, kinds={"price": "number"})
    with pytest.raises(DataError, match="Cannot tell which column of The frame holds the ids"):
        corml.load_items({"colour": ["red"]})


def test_rows_follow_any_catalogue(table):
    moved = table.on(Ids(["c", "nobody", "a"]))
    assert moved.categories("genre").toarray().tolist() == [[0, 0], [0, 0], [1, 1]]
    assert moved.values("genre") == ("Action", "Comedy")  # what no item has is forgotten
    np.testing.assert_array_equal(moved.numbers("price"), [20, np.nan, 9.5])
    assert moved.texts("summary") == (COLUMNS["summary"][2], "", COLUMNS["summary"][0])
    assert table.on(table.items) is table


def test_a_table_is_extended_by_new_items(table):
    more = table.extended(corml.load_items({"item": ["a", "z"], "genre": ["Horror", "Horror"], "price": [1.0, 2.0]}))
    assert more.items.labels.tolist() == ["a", "b", "c", "z"]
    assert more.to_frame()["genre"].to_list() == [["Action", "Comedy"], ["Drama"], None, ["Horror"]]
    np.testing.assert_array_equal(more.numbers("price"), [9.5, np.nan, 20, 2])
    with pytest.raises(DataError, match="'price' is of kind number in one table of items and category in another"):
        table.extended(corml.load_items({"item": ["z"], "price": ["low"]}))


def test_indicators_count_a_label_once():
    assert indicators([["x", "x"], []]).matrix.toarray().tolist() == [[1], [0]]


def test_a_frame_and_a_notebook_show_the_table(table):
    frame = table.to_frame()
    assert frame["genre"].to_list() == [["Action", "Comedy"], ["Drama"], None]
    assert frame["available_from"][0] == datetime.datetime(2024, 1, 31)
    assert "3 values" in table._repr_html_()
    assert repr(table).startswith("Attributes(3 items, genre: category, price: number")


# --- on its way -----------------------------------------------------------------------------------------------------


def test_data_and_model_carry_the_table(data):
    assert data.attributes.items.labels.tolist() == ["a", "b", "c"]  # the whole table: b is new
    model = corml.Popularity().fit(data)
    assert model.attributes_.items == model.items_
    assert model.attributes_.to_frame()["brand"].to_list() == [["Zed"], ["Acme"], None]
    assert corml.split(data, "ratio", seed=1).train.attributes is data.attributes


def test_a_model_without_a_table_has_no_columns():
    model = corml.Popularity().fit(Interactions.from_pairs(["u"], ["a"]))
    assert (len(model.attributes_), model.attributes_.names) == (1, ())


def test_titles_come_from_the_table():
    frame = polars.DataFrame({"user": ["u", "v"], "item": ["a", "b"]})
    table = {"item": ["a", "b"], "name": ["Salt", "Pepper"]}
    assert corml.load(frame, items=table).titles == {"a": "Salt", "b": "Pepper"}
    assert corml.load(frame, items=table, titles={"a": "Sugar"}).titles == {"a": "Sugar"}  # what was asked for wins


def test_a_table_can_be_given_later_and_nothing_is_learned_anew(data):
    model = corml.Popularity().fit(data)
    other = model.with_items({"item": ["d"], "colour": ["red"], "title": ["Tomato"]})
    assert (other.attributes_.names, other.titles_["d"]) == (("colour", "title"), "Tomato")
    assert model.attributes_.names[0] == "genre"  # the model itself is as it was
    assert other.counts_ is model.counts_


def test_a_model_file_keeps_the_table(data, tmp_path):
    model = corml.Popularity().fit(data)
    model.save(tmp_path / "m.corml", history=False)
    again = corml.read_model(tmp_path / "m.corml")
    assert again.attributes_.to_frame().equals(model.attributes_.to_frame())
    assert again.attributes_.names == model.attributes_.names


def test_a_file_without_a_table_is_as_it_was(tmp_path):
    model = corml.Popularity().fit(Interactions.from_pairs(["u"], ["a"]))
    model.save(tmp_path / "m.corml")
    contents = container.read(tmp_path / "m.corml")
    assert "attributes" not in contents.meta
    assert not any(name.startswith("attribute") for name in contents.arrays)


def test_a_split_file_keeps_the_table(data, tmp_path):
    split = corml.split(data, "ratio", seed=1)
    split.save(tmp_path / "s.split")
    again = corml.read_split(tmp_path / "s.split")
    assert again.train.attributes.to_frame().equals(data.attributes.to_frame())


def _forged(path, change):
    contents = container.read(path)
    arrays, meta = dict(contents.arrays), {**contents.meta}
    change(arrays, meta)
    path.write_bytes(container.pack(arrays, meta))
    return path


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda a, m: m.update(attributes=3), "columns with a name and a kind"),
        (lambda a, m: m["attributes"]["columns"][0].__setitem__(1, "colour"), "columns with a name and a kind"),
        (lambda a, m: m["attributes"]["columns"][1].__setitem__(0, "genre"), "two of its attributes have one name"),
        (lambda a, m: m["attributes"].update(title="genre"), "not a column of text"),
        (lambda a, m: a.update({"attribute.0.indices": a["attribute.0.indices"] + 99}), "does not add up"),
        (lambda a, m: a.pop("attribute.0.labels.bytes"), "missing or unreadable"),
        (lambda a, m: a.update({"attribute.1": a["attribute.1"][:1]}), "one number for each item"),
        (lambda a, m: a.update(encode_ids("attribute.3", ["x"])), "1 texts for 3 items"),
        (lambda a, m: a.update(encode_ids("attribute.4.labels", ["Zed", "Acme"])), "ascending order"),
        (lambda a, m: m["attributes"]["columns"].pop(), "arrays that no popularity model has"),
    ],
)
def test_a_forged_table_is_refused(data, tmp_path, change, sentence):
    corml.Popularity().fit(data).save(tmp_path / "m.corml")
    with pytest.raises(ModelFileError, match=sentence):
        corml.read_model(_forged(tmp_path / "m.corml", change))


def test_the_sample_comes_with_genres():
    data = corml.load("movielens-small", at_least=4, k_core=20)
    assert data.attributes.on(data.items).to_frame().row(0)[2] is not None
    assert "Film-Noir" in data.attributes.values("genre")


PAIRS = {"user": list("aabb"), "item": ["1", "2", "2", "3"]}
OTHER_IDS = {"item": ["1.0", "2.0", "x"], "title": ["One", "Two", "Ex"]}


@pytest.mark.parametrize("option", ["items", "titles"])
@pytest.mark.parametrize("store", [False, True])
def test_a_table_whose_ids_are_not_those_of_the_data_is_a_warning(option, store, tmp_path):
    source = polars.DataFrame(PAIRS)
    if store:
        source.write_csv(tmp_path / "a.csv")
        source = tmp_path / "s"
        corml.build_store(tmp_path / "a.csv", source)
    match = r"0 of 3 rows describe an item of the data: the table has ids such as '1\.0', the data '1'"
    with pytest.warns(DataWarning, match=rf"^{option}= \(--{option}\): {match}"):
        corml.load(source, **{option: polars.DataFrame(OTHER_IDS)})
    corml.load(source, **{option: polars.DataFrame({"item": ["9", "3"], "title": ["Nine", "Three"]})})


def test_a_mapping_of_titles_without_an_item_of_the_data_is_a_warning():
    with pytest.warns(DataWarning, match="0 of 1 rows describe an item of the data"):
        corml.load(polars.DataFrame(PAIRS), titles={"x": "Ex"})


def test_fewer_than_one_in_a_hundred_matching_ids_is_a_warning():
    many = polars.DataFrame({"user": ["u"] * 1000, "item": [f"i{at}" for at in range(1000)]})
    table = {"item": [f"i{at}" if at < 9 else f"I{at}" for at in range(1000)], "genre": ["drama"] * 1000}
    with pytest.warns(DataWarning, match="9 of 1,000 rows describe an item of the data"):
        corml.load(many, items=table)
    few = polars.DataFrame({**PAIRS, "item": ["i1", "i2", "i2", "i3"]})
    corml.load(few, items={"item": many["item"], "genre": ["drama"] * 1000})  # a large catalogue around few items


def test_the_items_of_an_update_may_all_be_new():
    corml.load(polars.DataFrame(PAIRS), items=polars.DataFrame(OTHER_IDS), as_update=True)


@pytest.mark.parametrize("name", ["category", "subcategory", "Product Category", "category_id", "brand_code"])
@pytest.mark.parametrize("make", [int, str])
def test_numbers_in_a_column_named_like_a_category_are_labels(name, make):
    table = corml.load_items(polars.DataFrame({"item": ["a", "b"], name: [make(12), make(7)], "price": [1, 2]}))
    assert table.values(name) == ("12", "7")
    assert table.kind("price") == "number"


EMPTY = {"strings": ["", ""], "nulls": [None, None], "numbers": polars.Series([None, None], dtype=polars.Float64)}


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("available_until", "2024-01-31", "time"),
        ("since", "2024-01-31", "time"),
        ("price", 9.5, "number"),
        ("genre", "drama", "category"),
        ("summary", "two men walk into a bar", "text"),
    ],
)
def test_an_empty_column_clashes_with_no_kind(name, value, kind, empty):
    filled = corml.load_items({"item": ["c", "d"], name: [value, None]})
    table = corml.load_items(polars.DataFrame({"item": ["a", "b"], name: EMPTY[empty]}))
    for first, second in ((table, filled), (filled, table)):
        both = first.extended(second)
        assert both.kind(name) == kind
        assert both.on(Ids(["c"])).columns[name].known.tolist() == [True]


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_column_of_availability_holds_times(empty):
    table = corml.load_items(polars.DataFrame({"item": ["a", "b"], "available_until": [empty, empty]}))
    assert table.kind("available_until") == "time"


def test_new_items_without_a_last_day_fit_a_model_that_has_one(tmp_path):
    data = corml.load(polars.DataFrame(PAIRS), items={"item": ["1", "2"], "available_until": ["2034-01-31", ""]})
    late = polars.DataFrame({"user": ["a", "b"], "item": ["3", "9"]})
    table = polars.DataFrame({"item": ["9"], "available_until": [""]})
    model = corml.models.make("ease").fit(data).update(corml.load(late, items=table, as_update=True))
    model.save(tmp_path / "m.corml")
    assert corml.read_model(tmp_path / "m.corml").attributes_.kind("available_until") == "time"


def test_kinds_given_to_load_names_load_items():
    with pytest.raises(TypeError, match=r"items=corml\.load_items\(table, kinds=\.\.\.\)"):
        corml.load(polars.DataFrame(PAIRS), items=OTHER_IDS, kinds={"title": "text"})
