"""What people give `load` that is no table, and which of up to three tables an error is about."""

import pandas as pd
import pytest

import corml
from corml.data import load
from corml.errors import DataError, UsageError


@pytest.mark.parametrize("name", ["x.corml", "models/x.corml"])
def test_a_model_file_is_read_otherwise(name, tmp_path):
    for source in (name, tmp_path / name):
        with pytest.raises(UsageError, match=r"is a model file, not a table: read it with corml\.read_model"):
            load(source)


@pytest.mark.parametrize("address", ["https://example.org/a.csv", "http://x.org/a?b=c&d=[1]", "s3://bucket/a.parquet"])
def test_an_address_has_to_be_downloaded_first(address, tmp_path):
    with pytest.raises(UsageError, match="is an address, and corml reads files: download it first, then load the file"):
        load(address)
    with pytest.raises(UsageError, match="is an address"):
        corml.build_store(address, tmp_path / "s")


@pytest.mark.parametrize("column", [["a"], pd.Series(["a"]), pd.Series(["a"]).to_numpy()])
def test_a_mapping_of_columns_is_told_to_become_a_frame(column):
    with pytest.raises(UsageError, match=r"This mapping has columns, not tables: 'user' is a .* Make a frame of it"):
        load({"user": column, "item": column})


def test_frames_by_kind_are_still_read():
    frame = pd.DataFrame({"user": [1, 2], "item": [1, 2]})
    assert len(load({"view": frame, "buy": frame})) == 2


@pytest.mark.parametrize("option", ["titles", "items"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no file"),
        ("1;Hello\n2;World\n", "seems to have no header: .*Put a line with the names of its columns above"),
        ("name\nx\n", "has one column only; .*put commas or tabs between its columns"),
        ("odd,title\nx,y\n", "rename one"),
    ],
)
def test_an_error_about_a_second_table_names_its_option_and_no_other(make, tmp_path, option, content, said):
    path = tmp_path / "second.csv" if content is None else make("second.csv", content)
    with pytest.raises(DataError, match=rf"^{option}= \(--{option}\): .*{said}") as caught:
        load(make("a.csv", "user,item\na,x\n"), **{option: path})
    assert str(caught.value).count("--") == 1
