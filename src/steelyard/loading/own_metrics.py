"""The metrics of a stored run's own suite, put into the registry before its figures are computed."""

from __future__ import annotations

from contextlib import suppress

from steelyard.errors import SuiteError, UsageError
from steelyard.metrics.own import add_metric, is_added
from steelyard.metrics.own_values import VALUES
from steelyard.records import RunHeader


def load_metrics(header: RunHeader) -> None:
    """Put the metrics of a stored run's suite into the registry.

    An ended run has their values, and needs no code. Otherwise their code is that of the suite of this name, found as
    for a rescore: what a run records is data, and never loaded. Where the suite is not here, or its code is another
    now, they are n/a and say why.
    """
    declared = header.description.metrics
    if all(is_added(item) for item in declared):
        return
    if not all(VALUES in item for item in declared):
        from steelyard.loading.load import suite_of_run  # not needed to read an ended run

        with suppress(UsageError, SuiteError):
            suite_of_run(header)  # a suite that is loaded adds its metrics
    for item in declared:
        if not is_added(item):
            add_metric(item, None)
