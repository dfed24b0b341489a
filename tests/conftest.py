"""What all tests share: tiny data, random data, and the rule for tests that need more than the repository."""

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support import random_interactions

# Folders and files that take seconds rather than moments: `make quick` leaves them out.
THOROUGH = tuple(
    (
        "attack baselines cli contracts datasets/test_linear_time datasets/test_memory_guard datasets/test_new_format "
        "export journeys labels/test_texts linalg/test_bounded linalg/test_choose linalg/test_co_occurrence "
        "linalg/test_spd linalg/test_svd method/test_admm method/test_golden method/test_lists_by_bounds "
        "method/test_plan_memory method/test_sparse method/test_symmetric method/test_thread_count "
        "method/test_workspace metrics/test_every_metric metrics/test_oracle neural out_of_core parts reliability "
        "report scale service storage/test_load_memory storage/test_mapping storage/test_save_memory studio tasks "
        "test_at_home test_compiled test_docs test_environment test_examples test_fitted test_fresh_user "
        "test_list_options test_long_histories test_memory_guards test_plugins test_rules torch tuning"
    ).split()
)

NO_TORCH = importlib.util.find_spec("torch") is None

if "PYTEST_XDIST_WORKER" in os.environ:  # several processes: each with one thread, or they wait for each other
    os.environ.setdefault("CORML_THREADS", "1")

settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("house")


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also run the tests that take minutes")


def pytest_configure(config):
    if not config.getoption("--long") and "slow" not in config.option.markexpr:
        config.option.markexpr = " and ".join(filter(None, [config.option.markexpr, "not slow"]))


def pytest_collection_modifyitems(items):
    large = pytest.mark.skip(reason="needs the large data sets: point CORML_DATA at their folder")
    here = Path(__file__).parent
    for item in items:
        if str(item.path.relative_to(here)).startswith(THOROUGH):
            item.add_marker(pytest.mark.thorough)
        if "large" in item.keywords and not os.environ.get("CORML_DATA"):
            item.add_marker(large)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Skip what fails because PyTorch is not installed, wherever a test or a fixture needs it."""
    report = yield
    if report.failed and NO_TORCH and "pip install 'corml[neural]'" in str(report.longrepr):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, "Skipped: it needs PyTorch")
    return report


@pytest.fixture(scope="session")
def data():
    return random_interactions(0)
