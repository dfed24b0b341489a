import subprocess
import sys

import pytest

import corml.splits
from corml.errors import SettingError, UsageError
from corml.splits import split


def test_ratio_is_what_split_does_by_default(sample):
    assert split(sample).procedure == {
        "name": "ratio",
        "shares": [0.6, 0.2, 0.2],
        "seed": 2026,
        "data": sample.fingerprint,
    }


def test_dashes_and_underscores_are_the_same(sample):
    assert split(sample, "leave-last").fingerprint == split(sample, "leave_last").fingerprint


def test_an_unknown_split_names_the_nearest(sample):
    with pytest.raises(UsageError, match=r"There is no split 'ration'; did you mean 'ratio'\?"):
        split(sample, "ration")


def test_an_unknown_option_names_the_nearest(sample):
    with pytest.raises(SettingError, match=r"The split 'ratio' has no option 'sed'; did you mean 'seed'\?"):
        split(sample, "ratio", sed=3)


def test_private_files_are_not_splits(sample):
    with pytest.raises(UsageError):
        split(sample, "_file")


def test_a_frame_must_be_loaded_first():
    with pytest.raises(UsageError, match=r"not list: read it with corml\.load first"):
        split([("u", "i")])


def test_a_split_is_chosen_by_name(sample):
    with pytest.raises(UsageError, match=r"must be a name such as 'ratio', not '0\.2'"):
        split(sample, 0.2)


def test_public_names_exist():
    assert all(hasattr(corml.splits, name) for name in corml.splits.__all__)


def test_importing_splits_stays_light():
    code = "import sys, corml.splits; print(sorted({'polars', 'numba', 'safetensors'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"[]"


def test_a_plug_in_must_make_a_split(sample, monkeypatch):
    monkeypatch.setattr("corml.splits.ratio.ratio", lambda data: None)
    with pytest.raises(UsageError, match=r"The split 'ratio' made a NoneType: it must make a corml\.Split"):
        split(sample, "ratio")
