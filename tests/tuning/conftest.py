import pytest

import corml
from support import random_interactions


@pytest.fixture(scope="session")
def data():
    return random_interactions(3, users=120, items=60, mean=9)


@pytest.fixture(scope="session")
def split(data):
    return corml.split(data, "ratio")
