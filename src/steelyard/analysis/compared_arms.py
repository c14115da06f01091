"""The two arms of an experiment compared, and which models said that they answered."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from steelyard.analysis.compare import compare
from steelyard.analysis.compare_model import Comparison
from steelyard.analysis.compared_run import ComparedRun
from steelyard.store.base import Store

_MOST_LOOKED_AT = 200


def compare_arms(a: ComparedRun, b: ComparedRun, *, anyway: bool = False) -> Comparison:
    """As `compare`; where each arm is one variant, and they are two, the variants are compared with each other."""
    named = [run.suite.variants for run in (a, b)]
    if all(len(names) == 1 for names in named) and named[0] != named[1]:
        a, b = _unnamed(a), _unnamed(b)
    return compare(a, b, anyway=anyway)


def _unnamed(run: ComparedRun) -> ComparedRun:
    """The run with its only variant under no name, so that its samples find their counterparts."""
    return replace(run, columns=replace(run.columns, variants=[""] * len(run.columns.variants)))


def answering_models(store: Store, run_id: str) -> tuple[str, ...]:
    """The models that the first answers of a run name, each once; nothing when none does."""
    first = islice(store.samples(run_id), _MOST_LOOKED_AT)
    return tuple(sorted({sample.attempt.model for sample, _ in first if sample.attempt.model}))
