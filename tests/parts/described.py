"""The entrances of analysis for tests that write a suite's description as plain data."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from steelyard.analysis import confidence, confusions, summary, summary_from_store
from steelyard.analysis.judge import rubric
from steelyard.decide import gates
from steelyard.metrics import own, table
from steelyard.suite.models import SuiteModel


def _described(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with every dictionary among its first arguments read as a suite's description."""

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        return function(*(SuiteModel.from_data(each) if _is_suite(each) else each for each in given), **named)

    return called


def _is_suite(given: Any) -> bool:
    return isinstance(given, dict) and bool({"components", "name", "judge"} & given.keys())


summarise = _described(summary.summarise)
summarise_stored = _described(summary_from_store.summarise_stored)
described_rubric = _described(rubric.described_rubric)
confidence_figures = _described(confidence.confidence_figures)
top_confusions = _described(confusions.top_confusions)
check_on_run = _described(gates.check_on_run)
Table = _described(table.Table)
RunData = _described(own.RunData)
