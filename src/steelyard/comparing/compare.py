"""What changed from one run to another, and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from steelyard.comparing.headline import change_text, headline, not_same, turns_on_truth, with_sides
from steelyard.comparing.length import length_effect
from steelyard.comparing.model import Comparison, SliceChange
from steelyard.comparing.side_by_side import side_by_side
from steelyard.metrics.table import clusters_in_words
from steelyard.pairing.by_run import METHOD as BY_RUN
from steelyard.pairing.by_run import by_run
from steelyard.pairing.cases import CommonCases, common_cases
from steelyard.pairing.changes import Cut, judged, verdict_of
from steelyard.pairing.checks import ComparedCells, has_cells
from steelyard.pairing.confounders import confounders, dropped_cases, too_few_paired
from steelyard.pairing.corrected import corrected_changes
from steelyard.pairing.failures import failure_changes
from steelyard.pairing.figures import EXTRA, UNTOUCHED, Figure, SharedFigures, failing
from steelyard.pairing.findings import Findings
from steelyard.pairing.judge_drift import Drift, drift_between
from steelyard.pairing.model import MetricChange, Moved, NotCompared, Pairs, SectionChange, SignaturePair
from steelyard.pairing.pairs import Lists, Pairing, pair, reused_sides, with_dropped
from steelyard.pairing.runs import ComparedRun
from steelyard.pairing.signatures import compare_signatures
from steelyard.pairing.slices import cuts
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import SHORT_INTERVALS
from steelyard.stats.paired import DRAWN_UP_TO, PATTERNS, case_starts
from steelyard.stats.resampling import RESAMPLES, SEED


def _turns_on_dropped(
    change: MetricChange, a: ComparedRun, b: ComparedRun, cases: CommonCases, pairing: Pairing
) -> str:
    """Says that the change comes to something else if the cases that B has not fail; "" when it does not."""
    found, dropped = verdict_of(change, change.p), with_dropped(a, b, cases, pairing)
    if dropped is None or found not in (Moved.SAME, Moved.BETTER):
        return ""
    everything = dropped.pairing
    figure = failing(SharedFigures(a, b, everything, Findings(a, b, everything)).headline()[0], dropped.failing)
    if figure is None:
        return ""
    worst = cuts(a, a, replace(everything, second=everything.first))[""].changes(figure)[0]
    if verdict_of(worst, worst.p) is found:
        return ""
    return f"{dropped_cases(dropped, a)}; if they failed in B: {change_text(worst, with_p=True)}"


METHOD = (
    "samples paired by case, variant and repeat, and repeats and variants of a case count as one; 95 % intervals of the"
    f" paired difference: studentised bootstrap over cases ({RESAMPLES:,} resamples, seed {SEED}) and Student t,"
    " whichever end is farther, two made-up cases added where most did not move, Bonett and Price for rates of single"
    f" samples; p-values: exact McNemar, sign flips (all patterns up to 12 cases that moved, {PATTERNS:,} drawn up to"
    f" {DRAWN_UP_TO}, then t), adjusted with their intervals for the figures of one table (Holm), each thing once, the"
    " primary metric alone; an interval that disagrees with its p about no change ends at 0;"
    f" {SHORT_INTERVALS}; {BY_RUN}"
)


def compare(
    a: ComparedRun,
    b: ComparedRun,
    *,
    allow_mismatch: bool = False,
    cases: CommonCases | None = None,
    drift_measured: bool = False,
) -> Comparison:
    """Everything that changed from A to B.

    With two signatures nothing is better or worse, unless `allow_mismatch`: then samples whose truth has changed are
    compared too. Rules and models are never compared as judges. `cases` are the matched cases, if the caller has them.
    `drift_measured` says that B's judge has since read enough answers of A, whose drift the attribution separates.
    """
    cases = common_cases(a, b) if cases is None else cases
    by_truth_of_a, a = _by_truth_of_a(a, cases), a.paired
    signatures = compare_signatures(a, b, cases, allow_mismatch=allow_mismatch)
    pairing = pair(a, b, cases, allow_mismatch=allow_mismatch)
    lists = Lists(a, b, cases, pairing).all()
    drift = drift_between(a, b, pairing)
    drift = drift and replace(drift, is_due=drift.is_due and not drift_measured)
    reasons = _reasons(a, b, signatures, lists, drift)
    findings = Findings(a, b, pairing)
    confusions = findings.confusions()  # before there are columns of figures: both take much memory
    figures = SharedFigures(a, b, pairing, findings)
    groups = cuts(a, b, pairing)
    everything = groups.pop("")
    main, components = figures.headline(), figures.components()
    compared = everything.of_all(chain(main, components, figures.others(), figures.counts()))
    compared += cuts(a, b, pairing.of_calls)[""].of_all(figures.latencies())
    changes = [by_run(change, a, b, allow_mismatch=allow_mismatch) for change in compared] + corrected_changes(a, b)
    if not reasons and by_truth_of_a and (turned := turns_on_truth(changes[0], by_truth_of_a)):
        reasons.append(turned)
    if not reasons and (turned := _turns_on_dropped(changes[0], a, b, cases, pairing)):
        reasons.append(turned)
    confounded = bool(reasons) and not allow_mismatch
    changes.sort(key=lambda change: change.group in EXTRA)
    metrics = judged(changes, confounded=confounded, primary=figures.primary)
    metrics[len(main) : len(main)] = judged(failure_changes(a, b, pairing), confounded=confounded)
    cells = ComparedCells(a, b, cases, allow_mismatch=allow_mismatch) if has_cells(a, b) else None
    of_cells, checks = ([], None) if cells is None else cells.changes(confounded=confounded)
    metrics += of_cells
    reused = [f"{text} in {side}" for side, text in reused_sides(a, b)]
    metrics = not_same(metrics) if reused else metrics
    sliced = [*main, *(figure for figure in components if figure.group not in EXTRA)]
    sections = _sections(figures, findings, everything, confounded=confounded)
    moves = _moves(a, b, pairing)
    return Comparison(
        a=a.header,
        b=b.header,
        signatures=signatures,
        headline=with_sides(
            headline(
                [change for change in metrics if change.group == "headline"],
                lists,
                reasons,
                moved_beside=_moved_beside(metrics, sections),
                allow_mismatch=allow_mismatch,
                doubt="" if drift is None else drift.doubt(metrics[0].difference.value),
                reused=reused,
            ),
            a.header,
            b.header,
        ),
        pairs=lists,
        metrics=tuple(metrics),
        slices={
            factor: tuple(
                replace(part, metrics=tuple(not_same(part.metrics))) if reused else part
                for part in slices(factor, cut, sliced, moves, pairing.case, confounded=confounded)
            )
            for factor, cut in groups.items()
        },
        codes=findings.by_code(),
        confusions=confusions,
        sections=sections,
        checks=checks,
        not_compared=(*figures.not_compared, *(cells.not_compared if cells else ()), *_without_contents(a, b)),
        method=_method(pairing),
        unpaired=None if len(pairing) else side_by_side(a, b),
        length=length_effect(a, b, pairing),
    )


def _reasons(a: ComparedRun, b: ComparedRun, signatures: SignaturePair, lists: Pairs, drift: Drift | None) -> list[str]:
    """Why nothing may be called better or worse."""
    reasons = confounders(a, b, signatures, lists, drift)
    few = "" if reasons else too_few_paired(b.suite, lists.n_cases, lists.n_answered)
    return [*reasons, few] if few else reasons


def _method(pairing: Pairing) -> str:
    n_units = len(case_starts(pairing.unit))
    return METHOD if n_units == pairing.n_cases else f"{clusters_in_words(pairing.n_cases, n_units)}; {METHOD}"


def _by_truth_of_a(a: ComparedRun, cases: CommonCases) -> MetricChange | None:
    """The figure that decides, by A's truth on both sides; None where no result turns on that."""
    if a.b_by_truth_of_a is None:
        return None
    b = a.b_by_truth_of_a
    pairing = pair(a, b, cases)
    return cuts(a, b, pairing)[""].of_all(SharedFigures(a, b, pairing, Findings(a, b, pairing)).headline()[:1])[0]


def _moved_beside(metrics: Sequence[MetricChange], sections: Sequence[SectionChange]) -> int:
    """Figures that moved beyond noise and are no part of the headline; how fast or dear an answer was is another
    question than how good."""
    return sum(
        metric.verdict in (Moved.BETTER, Moved.WORSE, Moved.CHANGED) and metric.group not in {"headline", *UNTOUCHED}
        for metric in (*metrics, *(section.rate for section in sections))
    )


def _sections(
    figures: SharedFigures, findings: Findings, everything: Cut, *, confounded: bool
) -> tuple[SectionChange, ...]:
    by_name = figures.sections()
    rates = judged(everything.of_all(by_name.values()), confounded=confounded)
    return tuple(findings.section_change(name, rate) for name, rate in zip(by_name, rates, strict=True))


def _moves(a: ComparedRun, b: ComparedRun, pairing: Pairing) -> tuple[Array, Array]:
    """Marks the pairs that were fixed, and those that were broken."""
    if not (a.passes and b.passes):
        nothing = np.zeros(len(pairing), dtype=bool)
        return nothing, nothing
    before, after = a.table.passed()[pairing.first], b.table.passed()[pairing.second]
    return after > before, after < before


def _without_contents(a: ComparedRun, b: ComparedRun) -> tuple[NotCompared, ...]:
    if a.contents is not None and b.contents is not None:
        return ()
    return (NotCompared("confusions", "", "a run does not hold its texts"),)


def slices(
    factor: str, cut: Cut, figures: Sequence[Figure], moves: tuple[Array, Array], case: Array, *, confounded: bool
) -> tuple[SliceChange, ...]:
    """What changed in each group of a factor; `moves` marks the pairs that were fixed and those that were broken.

    The figure that comes first is tested over all groups as one table, the others as another.
    """
    names = [figure.name for figure in figures]
    by_figure = [cut.changes(figure) for figure in figures]
    main = judged(by_figure[0], confounded=confounded, every=True) if by_figure else []
    rest = judged([change for changes in by_figure[1:] for change in changes], confounded=confounded, every=True)
    fixed, broken = moves
    results = []
    for g, rows in enumerate(cut.rows):
        mine: list[MetricChange] = [main[g]] + [rest[i * len(cut.rows) + g] for i in range(len(names) - 1)]
        results.append(
            SliceChange(
                factor=factor,
                name=cut.groups.names[g],
                n=len(rows),
                n_cases=len(case_starts(case[rows])),
                fixed=int(fixed[rows].sum()),
                broken=int(broken[rows].sum()),
                metrics=tuple(mine),
            )
        )
    return tuple(results)
