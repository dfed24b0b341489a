"""The shop of the journeys: 50,000 events, or with --long as many as a middling shop has in a year."""

import pytest

from journeys.shop import make_shop


@pytest.fixture(scope="session")
def shop(pytestconfig):
    return make_shop(200_000 if pytestconfig.getoption("--long", default=False) else 50_000)
