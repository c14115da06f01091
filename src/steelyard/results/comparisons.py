"""Two stored runs compared, and why the headline number moved: what commands show, for programs too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.records import RunHeader, Verdict
from steelyard.results.shown import ShownResult

if TYPE_CHECKING:
    from steelyard.analysis.compare.attribution import Traces
    from steelyard.analysis.compare.attribution_model import Attribution
    from steelyard.analysis.compare.model import Comparison
    from steelyard.analysis.compare.pairing import ComparedRun
    from steelyard.decide.baselines import Reference
    from steelyard.results.find import StoredRun
    from steelyard.runner.attribute import Purchase
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel


def shown_comparison(comparison: Comparison) -> ShownResult[Comparison]:
    """The comparison as it is shown; an INVALID run decides the exit code, whatever was compared."""
    from steelyard.report.compare.blocks import data, document

    invalid = Verdict.INVALID in (comparison.a.verdict, comparison.b.verdict)
    verdict = comparison.headline.verdict
    return ShownResult(comparison, document, data, verdict, exit_word=Verdict.INVALID if invalid else None)


def compared(a: StoredRun, b: StoredRun, *, allow_mismatch: bool) -> Comparison:
    """The comparison of two runs, without why the headline number moved."""
    from steelyard.analysis.compare.compare import compare

    return compare(*read_both(a, b), allow_mismatch=allow_mismatch)


def traced(
    a: StoredRun,
    b: StoredRun,
    *,
    suite: str | SuiteModel | None = None,
    purchase: Purchase | None = None,
    allow_mismatch: bool,
) -> tuple[Comparison, Attribution, Traces]:
    """The comparison, why the headline number moved, and what every reading adds to that."""
    return traced_runs(*read_both(a, b, suite), suite=suite, purchase=purchase, allow_mismatch=allow_mismatch)


def traced_runs(
    first: ComparedRun,
    second: ComparedRun,
    *,
    suite: str | SuiteModel | None = None,
    purchase: Purchase | None = None,
    allow_mismatch: bool,
) -> tuple[Comparison, Attribution, Traces]:
    """The same of runs that were read."""
    from steelyard.analysis.compare.attribution import with_attribution
    from steelyard.analysis.compare.compare import compare
    from steelyard.analysis.compare.pairing import common_cases
    from steelyard.runner.attribute import attribution_of

    cases = common_cases(first, second)
    result, traces = attribution_of(first, second, cases, suite=suite, purchase=purchase)
    measured = purchase is not None and not result.anchors.not_measured
    comparison = compare(first, second, allow_mismatch=allow_mismatch, cases=cases, drift_measured=measured)
    return with_attribution(comparison, result), result, traces


def compare_with(store: Store, header: RunHeader, reference: Reference, *, allow_mismatch: bool) -> Comparison:
    """The run compared with the one that a baseline stands for, which is A, and why the headline number moved."""
    from steelyard.decide.baselines import home_of

    before = (home_of(reference, reference.run_id, store), reference.run_id)
    return traced(before, (store, header.id), allow_mismatch=allow_mismatch)[0]


def read_both(a: StoredRun, b: StoredRun, suite: str | SuiteModel | None = None) -> tuple[ComparedRun, ComparedRun]:
    """Two runs as they are compared: A scored again by the suite of B where that is needed."""
    from steelyard.analysis.compare.pairing import read_run
    from steelyard.runner.same_signature import rescored

    second = read_run(*b)
    return rescored(read_run(*a), second, suite), second
