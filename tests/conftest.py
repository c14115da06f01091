"""What holds for every test."""

import os
from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import is_hypothesis_test, settings

# A deadline is a timed assertion: on a busy machine, or where a first call imports scipy, it fails for no reason.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def _empty_working_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run in a folder of their own: what lies in the checkout, such as the `demo/` of `make demo`, is no input."""
    before = os.getcwd()  # noqa: PTH109
    os.chdir(tmp_path_factory.mktemp("working"))
    yield
    os.chdir(before)


_AT_LENGTH = (
    *("test_kill_and_resume.py", "test_case_sources.py", "test_html_pictures.py", "test_cards_readers.py"),
    *("test_audit.py", "test_experiment_command.py", "test_spans_suite.py", "test_review_runner.py"),
    *("test_cards_suite.py", "test_compare_command.py", "test_attribution_command.py", "test_alerts_command.py"),
    *("test_service_gone.py", "test_store_processes.py", "test_alert_rules_on_runs.py", "test_explained_figures.py"),
    *("test_statistics_hold.py", "test_power.py", "test_best_variant.py", "test_every_figure.py"),
    # The oracle of the last is scipy, whose older versions are less exact than what they judge.
    *("test_attribution_to_judges.py", "test_kill_campaign.py", "test_special.py"),
)
"""Files whose tests take their time over our own work: killed processes, memory, large pages, whole suites, sums."""

_OUR_OWN = ("docs", "suites", "audit", "alerting")
"""Folders that use no dependency in a way that others do not."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is run with the newest versions of the dependencies alone: it looks for faults of ours, at length.

    Every other test is run with the lowest versions as well; of one with many parameters, the first and the last.
    """
    alike = defaultdict(list)
    for item in items:
        alike[item.nodeid.partition("[")[0]].append(item)
        looks_at_length = is_hypothesis_test(getattr(item, "function", None)) or item.path.name in _AT_LENGTH
        if looks_at_length or item.get_closest_marker("browser") or item.path.parent.name in _OUR_OWN:
            item.add_marker("once")
    for inner in (same[1:-1] for same in alike.values()):
        for item in inner:
            item.add_marker("once")
