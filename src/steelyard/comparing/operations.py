"""Two runs compared, as the command shows them and as Python gets them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.results.comparisons import compared, shown_comparison, traced
from steelyard.results.operations import run_of
from steelyard.results.run import Run, model_of
from steelyard.results.shown import ShownResult

if TYPE_CHECKING:
    from steelyard.analysis.compare.model import Comparison
    from steelyard.results.find import StoredRun
    from steelyard.results.run import AnyRun, AnySuite


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
    from steelyard.analysis.compare.compare import compare
    from steelyard.analysis.compare.pairing import read_run
    from steelyard.analysis.compare.variants import two_variants

    sides = two_variants(read_run(*run), *variants)
    return compare(*sides, allow_mismatch=allow_mismatch, drift_measured=True)
