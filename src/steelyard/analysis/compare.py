"""What changed from one run to another, and whether that is more than noise."""

from __future__ import annotations

from itertools import chain

import numpy as np

from steelyard.analysis.by_run import METHOD as BY_RUN
from steelyard.analysis.by_run import by_run
from steelyard.analysis.compare_model import Comparison, Instruments, MetricChange, Moved, Pairs, SectionChange, Why
from steelyard.analysis.compare_wording import headline, too_few_paired, turns_on_truth
from steelyard.analysis.compared_cases import CommonCases, common_cases
from steelyard.analysis.compared_checks import ComparedCells, has_cells
from steelyard.analysis.compared_failures import failure_changes
from steelyard.analysis.compared_figures import BESIDE, UNTOUCHED, Cut, judged
from steelyard.analysis.compared_findings import Findings
from steelyard.analysis.compared_run import ComparedRun
from steelyard.analysis.compared_slices import cuts, slices
from steelyard.analysis.instruments import compare_instruments
from steelyard.analysis.judge_drift import Drift, drift_between
from steelyard.analysis.not_compared import NotCompared
from steelyard.analysis.pairing import Lists, Pairing, pair
from steelyard.analysis.shared_figures import SharedFigures
from steelyard.analysis.unpaired import side_by_side
from steelyard.metrics.table import clusters_in_words
from steelyard.records import RunState, Verdict
from steelyard.stats.arrays import RESAMPLES, SEED, Array
from steelyard.stats.intervals import SHORT_INTERVALS
from steelyard.stats.paired import DRAWN_UP_TO, PATTERNS, case_starts

METHOD = (
    "samples paired by case, variant and repeat, and repeats and variants of a case count as one; 95 % intervals of the"
    f" paired difference: studentised bootstrap over cases ({RESAMPLES:,} resamples, seed {SEED}) and Student t,"
    " whichever end is farther, two made-up cases added where most did not move, Bonett and Price for rates of single"
    f" samples; p-values: exact McNemar, sign flips (all patterns up to 12 cases that moved, {PATTERNS:,} drawn up to"
    f" {DRAWN_UP_TO}, then t), adjusted with their intervals for the figures of one table (Holm), each thing once, the"
    " primary metric alone; an interval that says otherwise of no change than its p ends there;"
    f" {SHORT_INTERVALS}; {BY_RUN}"
)
_NO_READING = (Why.NO_READING, Why.NO_READING_IN_A, Why.NO_READING_IN_B)


def compare(a: ComparedRun, b: ComparedRun, *, anyway: bool = False, cases: CommonCases | None = None) -> Comparison:
    """Everything that changed from A to B.

    When the instrument is another one nothing is better or worse, unless a verdict is asked for `anyway`: then samples
    whose truth has changed are compared too. Rules and models are never compared as judges. `cases` saves matching the
    cases once more where the caller has done so.
    """
    cases = common_cases(a, b) if cases is None else cases
    by_truth_of_a, a = _by_truth_of_a(a, cases), a.paired
    instruments = compare_instruments(a, b, cases, anyway=anyway)
    pairing = pair(a, b, cases, anyway=anyway)
    lists = Lists(a, b, cases, pairing).all()
    drift = drift_between(a, b, pairing)
    reasons = hindrances(a, b, instruments, lists, drift)
    if not reasons and (few := too_few_paired(b.suite, lists.n_cases, lists.n_answered)):
        reasons.append(few)
    findings = Findings(a, b, pairing)
    figures = SharedFigures(a, b, pairing, findings)
    groups = cuts(a, b, pairing)
    main, components = figures.headline(), figures.components()
    everything = groups[""]
    changes = everything.of_all(chain(main, components, figures.others(), figures.counts()))
    changes = [by_run(change, a, b, anyway=anyway) for change in changes]
    if not reasons and by_truth_of_a and (turned := turns_on_truth(changes[0], by_truth_of_a)):
        reasons.append(turned)
    hindered = bool(reasons) and not anyway
    changes.sort(key=lambda change: change.group in BESIDE)
    metrics = judged(changes, hindered=hindered, primary=figures.primary)
    metrics[len(main) : len(main)] = judged(failure_changes(a, b, pairing), hindered=hindered)
    cells = ComparedCells(a, b, cases, anyway=anyway) if has_cells(a, b) else None
    of_cells, checks = ([], None) if cells is None else cells.changes(hindered=hindered)
    metrics += of_cells
    weighed = [figure for figure in components if figure.group not in BESIDE]
    sections = _sections(figures, findings, everything, hindered=hindered)
    rates = [section.rate for section in sections]
    moves = _moves(a, b, pairing)
    n_units = len(case_starts(pairing.unit))
    return Comparison(
        a=a.header,
        b=b.header,
        instruments=instruments,
        headline=headline(
            _of_headline(metrics),
            lists,
            reasons,
            moved_beside=_moved_beside([*metrics, *rates]),
            anyway=anyway,
            doubt="" if drift is None else drift.doubt(metrics[0].difference.value),
        ),
        pairs=lists,
        metrics=tuple(metrics),
        slices={
            factor: slices(factor, cut, [*main, *weighed], moves, pairing.case, hindered=hindered)
            for factor, cut in groups.items()
            if factor
        },
        codes=findings.by_code(),
        confusions=findings.confusions(),
        sections=sections,
        checks=checks,
        not_compared=(*figures.not_compared, *(cells.not_compared if cells else ()), *_without_contents(a, b)),
        method=METHOD if n_units == pairing.n_cases else f"{clusters_in_words(pairing.n_cases, n_units)}; {METHOD}",
        unpaired=None if len(pairing) else side_by_side(a, b),
    )


def _by_truth_of_a(a: ComparedRun, cases: CommonCases) -> MetricChange | None:
    """The figure that decides, by A's truth on both sides; None where no result turns on that."""
    if a.b_by_truth_of_a is None:
        return None
    b = a.b_by_truth_of_a
    pairing = pair(a, b, cases)
    return cuts(a, b, pairing)[""].of_all(SharedFigures(a, b, pairing, Findings(a, b, pairing)).headline()[:1])[0]


def _of_headline(metrics: list[MetricChange]) -> list[MetricChange]:
    return [change for change in metrics if change.group == "headline"]


def _moved_beside(metrics: list[MetricChange]) -> int:
    """Figures that moved beyond noise and are no part of the headline; how fast or dear an answer was is another
    question than how good."""
    return sum(
        each.verdict in (Moved.BETTER, Moved.WORSE, Moved.CHANGED) and each.group not in {"headline", *UNTOUCHED}
        for each in metrics
    )


def _sections(
    figures: SharedFigures, findings: Findings, everything: Cut, *, hindered: bool
) -> tuple[SectionChange, ...]:
    by_name = figures.sections()
    rates = judged(everything.of_all(by_name.values()), hindered=hindered)
    return tuple(findings.section_change(name, rate) for name, rate in zip(by_name, rates, strict=True))


def _moves(a: ComparedRun, b: ComparedRun, pairing: Pairing) -> tuple[Array, Array]:
    """Marks the pairs that were fixed, and those that were broken."""
    if not (a.passes and b.passes):
        nothing = np.zeros(len(pairing), dtype=bool)
        return nothing, nothing
    before, after = a.table.passed()[pairing.first], b.table.passed()[pairing.second]
    return after > before, after < before


def hindrances(
    a: ComparedRun, b: ComparedRun, instruments: Instruments, pairs: Pairs, drift: Drift | None
) -> list[str]:
    """Why a difference would not be the system's, or not be one at all."""
    found = [change.sentence for change in instruments.hinders]
    if not found and drift is not None and drift.is_shown:
        found.append(drift.in_words)
    for name, run in (("A", a), ("B", b)):
        if run.header.verdict is Verdict.INVALID:
            why = f" ({run.header.suspect[0]})" if run.header.suspect else ""
            found.append(f"run {name} is INVALID{why}")
        elif run.header.state is not RunState.ENDED:
            found.append(f"run {name} has not ended: it was stopped, or is still going on")
    silent = sum(each.count for why, each in pairs.not_comparable.items() if why in _NO_READING)
    other_mode = pairs.not_comparable.get(Why.OTHER_MODE)
    asked = pairs.comparable + silent + (other_mode.count if other_mode else 0)
    allowed = sum(run.suite.max_inconclusive for run in (a, b))
    if silent > allowed * asked:
        found.append(f"{silent} of {asked} pairs have no reading on one side: what is missing is seldom so by chance")
    return found


def _without_contents(a: ComparedRun, b: ComparedRun) -> tuple[NotCompared, ...]:
    if a.contents is not None and b.contents is not None:
        return ()
    return (NotCompared("confusions", "", "a run does not hold its texts"),)
