"""Two runs compared, as the command shows them and as Python gets them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from steelyard.errors import UsageError
from steelyard.records import RunHeader, Verdict
from steelyard.results.operations import run_of
from steelyard.results.run import Run, model_of
from steelyard.results.shown import ShownResult

if TYPE_CHECKING:
    from steelyard.comparing.attribution import Traces
    from steelyard.comparing.attribution_model import Attribution
    from steelyard.comparing.model import Comparison
    from steelyard.decide.baselines import Reference
    from steelyard.pairing.runs import ComparedRun
    from steelyard.report.document import Block
    from steelyard.results.find import StoredRun
    from steelyard.results.run import AnyRun, AnySuite
    from steelyard.runner.anchors import Purchase
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel


def compare(
    a: AnyRun,
    b: AnyRun | None = None,
    *,
    store: str | None = None,
    suite: AnySuite | None = None,
    allow_mismatch: bool = False,
    attribution: bool = True,
    variants: tuple[str, str] | None = None,
) -> ShownResult[Comparison]:
    """What changed from run A to run B, with intervals and p-values, and why the headline number moved.

    Runs are objects or names. With `variants` and without B, two variants of run A are compared. `suite` is the one
    that B was scored with, where B was made elsewhere and its name does not find it; `allow_mismatch` gives a verdict
    although the signature or the truth differs. Nobody is asked anything.
    """
    if (b is None) == (variants is None):
        raise UsageError("give two runs, or one run and the names of two of its variants")
    with ExitStack() as closing:
        places = []
        for run in (a, b) if b is not None else (a,):
            opened, header = closing.enter_context(run_of(run, store).opened())
            places.append((opened, header.id))
        if variants is not None:
            return shown_comparison(compared_variants(places[0], variants, allow_mismatch=allow_mismatch))
        if attribution:
            by = model_of(suite) if suite is not None else b.made_by if isinstance(b, Run) else None
            return shown_comparison(traced(*places, suite=by, allow_mismatch=allow_mismatch)[0])
        return shown_comparison(compared(*places, allow_mismatch=allow_mismatch))


def compared_variants(run: StoredRun, variants: tuple[str, str], *, allow_mismatch: bool) -> Comparison:
    """The comparison of two variants of one run, paired by case and repeat; one judge read both, so none drifted."""
    from steelyard.comparing.compare import compare
    from steelyard.comparing.variants import two_variants
    from steelyard.pairing.runs import read_run

    sides = two_variants(read_run(*run), *variants)
    return compare(*sides, allow_mismatch=allow_mismatch, drift_measured=True)


def shown_comparison(comparison: Comparison) -> ShownResult[Comparison]:
    """The comparison as it is shown; an INVALID run decides the exit code, whatever was compared."""
    from steelyard.comparing.report import data, document

    invalid = Verdict.INVALID in (comparison.a.verdict, comparison.b.verdict)
    verdict = comparison.headline.verdict
    return ShownResult(comparison, document, data, verdict, exit_word=Verdict.INVALID if invalid else None)


def compared(a: StoredRun, b: StoredRun, *, allow_mismatch: bool) -> Comparison:
    """The comparison of two runs, without why the headline number moved."""
    from steelyard.comparing.compare import compare

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
    from steelyard.comparing.attributed_verdict import with_attribution
    from steelyard.comparing.compare import compare
    from steelyard.comparing.score_again import attribution_of
    from steelyard.pairing.cases import common_cases

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
    from steelyard.pairing.runs import read_run
    from steelyard.runner.same_signature import rescored

    second = read_run(*b)
    return rescored(read_run(*a), second, suite), second


def against_data(comparison: Comparison | None) -> dict[str, Any]:
    """What the JSON of a run has more where it is compared with another: the whole comparison under `against`."""
    if comparison is None:
        return {}
    from steelyard.comparing.report import data

    return {"against": data(comparison)}


def against_blocks(comparison: Comparison | None, label: str) -> list[Block]:
    """The answer of that comparison, how sure it is and what moved; nothing where nothing was compared."""
    if comparison is None:
        return []
    from steelyard.comparing.report import answer
    from steelyard.report.document import Section

    return [Section(f"Against {label} (A, run {comparison.a.id})", answer(comparison, below_report_of_b=True))]
