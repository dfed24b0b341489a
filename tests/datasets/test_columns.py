"""Which column is which: given, known by name, or by position."""

import polars as pl
import pytest

from corml.data import load
from corml.errors import DataError, DataWarning


@pytest.mark.parametrize(
    "header",
    [
        "user,item", "userId,movieId", "user_id,item_id", "uid,iid", "User ID,Item ID", "CustomerID,ProductID",
        " user , item ", "user_id:token,item_id:token", "reviewerID,asin", "session_id,article_id", "u,i",
        "visitor,thing", "person,stuff", "blob,product",
    ],
)  # fmt: skip
def test_usual_names_are_found(make, header):
    data = load(make("named.csv", f"{header}\na,x\nb,x\n"))
    assert data.users.labels.tolist() == ["a", "b"]
    assert data.items.labels.tolist() == ["x"]


def test_the_other_order_is_found_too(make):
    assert load(make("a.csv", "item,user\nx,a\ny,a\n")).shape == (1, 2)


def test_columns_can_be_given_by_name_with_or_without_type_or_by_number(make):
    path = make("a.inter", "from:token\tto:token\tn:float\n1\t2\t3\n1\t3\t1\n")
    for user, item, rating in (("from", "to", "n"), ("from:token", "to:token", "n:float"), (0, 1, 2)):
        data = load(path, user=user, item=item, rating=rating, at_least=2, header=True)
        assert data.items.labels.tolist() == ["2"]


def test_without_header_the_first_two_columns_are_users_and_items(make):
    path = make("plain.csv", "1,31,2.5\n1,29,4.0\n")
    assert load(path, header=False).items.labels.tolist() == ["31", "29"]
    assert load(path, header=False, rating=2, at_least=3).items.labels.tolist() == ["29"]
    assert load(path, header=False, user="1", item="0").users.labels.tolist() == ["31", "29"]
    assert load(path, user=0, item=1).items.labels.tolist() == ["31", "29"]


def test_an_unknown_header_lists_its_columns(make):
    with pytest.raises(DataError, match=r"'alpha', 'beta' as user= .*--no-header"):
        load(make("a.csv", "alpha,beta\nx,y\n"))


def test_a_given_name_makes_the_first_row_a_header(make):
    assert load(make("a.csv", "1,2\na,x\n"), user="1", item="2").users.labels.tolist() == ["a"]


def test_found_ratings_and_times_can_be_left_alone(make):
    path = make("a.csv", "user,item,rating,time\na,x,0,1\na,y,3,2\n")
    assert len(load(path)) == 1
    data = load(path, rating=False, time=False)
    assert len(data) == 2
    assert data.times is None


def test_the_chosen_separator_is_reported(make):
    data = load(make("a.csv", "user;item\na;x\n"))
    assert "separator: ';'" in data.source["notes"]


def test_a_tab_can_be_given_as_a_command_line_writes_it(make):
    assert len(load(make("a.txt", "user\titem\na\tx\n"), separator=r"\t")) == 1


def test_a_comment_may_hold_the_long_separator(make):
    assert len(load(make("a.dat", "# one::two::three\nuser::item\na::x\n"))) == 1


def test_ratings_we_chose_ourselves_can_be_declined(make):
    path = make("a.csv", "user,item,score\na,x,good\n")
    with pytest.raises(DataError, match=r"rating=False \(--no-rating\) ignores column 'score'"):
        load(path)
    assert len(load(path, rating=False)) == 1


def test_an_uneven_file_is_read_with_the_separator_of_its_suffix(make):
    data = load(make("a.csv", 'user,item,note\na,x,"one, two"\nb,y,"three, four, five"\n'))
    assert data.users.labels.tolist() == ["a", "b"]


def test_titles_come_from_a_file_a_frame_or_a_mapping(make):
    path = make("a.csv", "user,sku\na,x\nb,y\n")
    movies = make("titles.csv", 'sku,title,more\nx,"One, two",1\nx,again,1\ny,,1\nz,Unused,1\n')
    assert load(path, titles=movies).titles == {"x": "One, two"}
    assert load(path, titles=str(movies), item="sku").titles == {"x": "One, two"}
    assert load(path, titles=pl.DataFrame({"id": ["x", None], "name": ["Ex", "None"]})).titles == {"x": "Ex"}
    assert load(path, titles={"x": "Ex", 7: "seven"}).titles == {"x": "Ex"}
    assert load(path, titles=make("t.tsv", "id\tname\nx\tEx\n")).source["options"]["titles"].endswith("t.tsv")


def test_title_rows_without_all_columns_are_left_out_and_counted(make):
    titles = make("t.csv", "item,title\nx,Ex\nshort\n")
    with pytest.warns(DataWarning, match="titles: 1 rows of .* without all columns left out"):
        data = load(make("a.csv", "user,item\na,x\n"), titles=titles)
    assert data.titles == {"x": "Ex"}


def test_titles_without_a_title_column_are_refused(make):
    path = make("a.csv", "user,item\na,x\n")
    with pytest.raises(DataError, match="no title column"):
        load(path, titles=make("t.csv", "item,genre\nx,y\n"))
    with pytest.raises(DataError, match="no item column"):
        load(path, titles=make("u.csv", "thing,title\nx,y\n"), item="item")


@pytest.mark.parametrize(
    ("name", "items"), [("a.csv", {"x\ty", "z\tw"}), ("a.tsv", {"y,1", "w,2"}), ("a.txt", {"y,1", "w,2"})]
)
def test_where_two_separators_divide_all_lines_alike_the_suffix_decides(make, name, items):
    if name.endswith("csv"):
        lines = ["ann,x\ty,1", "bob,z\tw,2"]
    else:
        lines = ["ann\ty,1", "bob\tw,2"]
    data = load(make(name, "\n".join(lines)), header=False)
    assert set(data.items.labels) == items


def test_a_column_number_past_the_last_is_refused(make):
    path = make("a.csv", "user,item\nann,x\n")
    for number in (2, -1):
        with pytest.raises(DataError, match=f"has no column number {number} for item: it has 2, counted from 0"):
            load(path, item=number)
