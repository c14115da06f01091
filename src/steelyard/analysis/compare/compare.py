"""Compare two runs over the pairs that are comparable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import eq

import numpy as np

from steelyard.analysis.compare.checks import ComparedCells, has_cells
from steelyard.analysis.compare.findings import Findings
from steelyard.analysis.compare.judge_drift import Drift, drift_between
from steelyard.analysis.compare.length import length_effect
from steelyard.analysis.compare.metrics import EXTRA, UNTOUCHED, Cut, SharedFigures, failing, judged, verdict_of
from steelyard.analysis.compare.model import (
    Comparison,
    Headline,
    MetricChange,
    Moved,
    NotCompared,
    Pairs,
    SectionChange,
    SignaturePair,
    Why,
)
from steelyard.analysis.compare.pairing import (
    CommonCases,
    ComparedRun,
    Lists,
    Pairing,
    WithDropped,
    common_cases,
    pair,
    reused_sides,
    with_dropped,
)
from steelyard.analysis.compare.signatures import compare_signatures
from steelyard.analysis.compare.slices import cuts, failure_changes, slices
from steelyard.analysis.compare.unpaired import METHOD as BY_RUN
from steelyard.analysis.compare.unpaired import by_run, corrected_changes, side_by_side
from steelyard.frozen import frozen
from steelyard.metrics.table import Table, clusters_in_words
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.stats.arrays import RESAMPLES, SEED, Array
from steelyard.stats.intervals import SHORT_INTERVALS, Estimate
from steelyard.stats.paired import DRAWN_UP_TO, FEWEST_TO_SHOW, PATTERNS, Paired, case_starts, paired_mean
from steelyard.stats.window import window_test
from steelyard.store.headers import is_partial
from steelyard.suite.models import SuiteModel
from steelyard.suite.values import MIN_PAIRED
from steelyard.wording import counted, percent, percentage

# The answer of a comparison in words: better, worse, the same or cannot tell, and how sure that is.

_NAMES = {"pass_rate": "pass rate", "average": "average score"}


def headline(
    metrics: Sequence[MetricChange],
    pairs: Pairs,
    confounded_by: Sequence[str],
    *,
    moved_beside: int = 0,
    allow_mismatch: bool = False,
    doubt: str = "",
    reused: Sequence[str] = (),
) -> Headline:
    """The answer; `metrics` are those of the headline, the one that decides first, and `moved_beside` says how many
    figures that have no part in it moved beyond noise. With a `doubt` that no figure shows nobody is more than fairly
    sure. `reused` says which answers were not requested again."""
    main = metrics[0]
    confounded = () if allow_mismatch else tuple(confounded_by)
    verdict = _verdict(metrics, confounded)
    old = f"{' and '.join(reused)}: answers that were not requested again are no new evidence" if reused else ""
    return Headline(
        verdict=verdict,
        sentence=_sentence(verdict, metrics, pairs, confounded) + _extra(verdict, moved_beside) + (old and f"; {old}"),
        significance=_significance(verdict, main, confounded, "; ".join(filter(None, [doubt, old]))),
        metric=main.name,
        smallest=_smallest(main),
        confounded_by=confounded,
        in_spite_of=tuple(confounded_by) if allow_mismatch else (),
    )


def with_sides(headline: Headline, *runs: RunHeader) -> Headline:
    """The headline with what is wrong with run A or run B itself."""
    notes = [note for name, run in zip("AB", runs, strict=True) for note in _wrong_with(name, run)]
    added = "".join(f"; {note}" for note in notes if note.partition(":")[0] not in headline.sentence)
    return replace(headline, sentence=headline.sentence + added, sides=tuple(notes))


def _wrong_with(name: str, run: RunHeader) -> Iterator[str]:
    if run.state is not RunState.ENDED:
        yield f"run {name} has not ended"
    elif run.verdict is Verdict.INVALID:
        yield f"run {name} is INVALID"
    if run.suspect:
        yield f"run {name} is SUSPECT: {run.suspect[0].partition(';')[0]}"
    if is_partial(run):
        yield f"run {name} is partial: it covers only a part of its suite"


def too_few_paired(suite: SuiteModel, n: int, answered: int) -> str:
    """Says that fewer cases that either run answered are in pairs than the suite asks for; "" when enough are."""
    if not n or n >= suite.limits.min_paired * answered:
        return ""
    return (
        f"{on_cases(n, answered)} can be compared, and a verdict asks for {percent(suite.limits.min_paired, 0)} of them"
    )


def turns_on_truth(by_b: MetricChange, by_a: MetricChange) -> str:
    """Says that the change comes to something else by A's truth than by B's; "" when it does not."""
    if verdict_of(by_b, by_b.p) is verdict_of(by_a, by_a.p):
        return ""
    return (
        f"it turns on the truth edits: {_message(by_b, with_p=True)} by B's truth, {_message(by_a, with_p=True)} by A's"
    )


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
    return f"{dropped_cases(dropped, a)}; if they failed in B: {_message(worst, with_p=True)}"


def dropped_cases(dropped: WithDropped, a: ComparedRun, name: str = "A", here: str = "B") -> str:
    """`9 cases that A answered are not in B, 9 of them passed`."""
    n = dropped.n_cases
    passed = f", {dropped.n_passed:,} of them passed" if a.passes else ""
    return f"{counted(n, 'case')} that {name} answered {'is' if n == 1 else 'are'} not in {here}{passed}"


def on_cases(n: int, answered: int) -> str:
    """`20 of 120 cases that either run answered`."""
    return f"{n:,} of {answered:,} cases that either run answered"


def _on_few(pairs: Pairs) -> str:
    """What a verdict on few of all cases says of itself."""
    return "" if pairs.n_cases >= MIN_PAIRED * pairs.n_answered else f"; on {on_cases(pairs.n_cases, pairs.n_answered)}"


def not_same(changes: Iterable[MetricChange]) -> list[MetricChange]:
    """The changes where answers were not requested again: what does not differ cannot be called the same."""
    return [
        replace(change, verdict=Moved.CANNOT_TELL)
        if change.verdict is Moved.SAME and change.group not in UNTOUCHED
        else change
        for change in changes
    ]


def _verdict(metrics: Sequence[MetricChange], confounded: Sequence[str]) -> Moved:
    if confounded:
        return Moved.CANNOT_TELL
    main = metrics[0]
    if main.verdict is Moved.SAME and any(metric.verdict is not Moved.SAME for metric in metrics):
        return Moved.CANNOT_TELL
    return main.verdict


def _sentence(verdict: Moved, metrics: Sequence[MetricChange], pairs: Pairs, confounded: Sequence[str]) -> str:
    main = metrics[0]
    if not pairs.comparable and not confounded:
        why = ", ".join(f"{item.count:,} {reason}" for reason, item in pairs.not_comparable.items())
        return "cannot tell: no sample of A can be compared with one of B" + (f" ({why})" if why else "")
    if verdict is Moved.SAME:
        return f"no change: {_message(main)}, the same in every pair{_on_few(pairs)}"
    if verdict is not Moved.CANNOT_TELL:
        return f"B is {verdict}: {_message(main)}{_but(metrics)}{_on_few(pairs)}"
    if confounded:
        return f"cannot tell: {confounded[0]}"
    return f"cannot tell whether B is better: {_message(main)}{_but(metrics)}{_on_few(pairs)}"


def _extra(verdict: Moved, n: int) -> str:
    if verdict is not Moved.SAME or not n:
        return ""
    return f"; but {counted(n, 'other figure')} moved beyond noise"


def _but(metrics: Sequence[MetricChange]) -> str:
    """What the other figures of the headline show and the one that decides does not: scores may fall, and no sample
    change sides."""
    main, others = metrics[0], metrics[1:]
    message = ""
    for other in others:
        if other.verdict in (Moved.BETTER, Moved.WORSE) and other.verdict is not main.verdict:
            way = "rose" if (other.difference.value or 0.0) > 0 else "fell"
            message += f"; but the {_named(other)} {way} beyond noise: {_message(other, with_p=True)}"
        elif main.verdict is Moved.SAME and other.verdict is not Moved.SAME:
            message += f"; {_message(other)}"
    return message


def _named(change: MetricChange) -> str:
    return _NAMES.get(change.name, change.name)


def _message(change: MetricChange, *, with_p: bool = False) -> str:
    name = _named(change)
    before, after, by = change.a.value, change.b.value, change.difference
    if before is None or after is None or by.value is None:
        return f"{name} n/a"
    interval = "" if by.low is None or by.high is None else f" [{percentage(by.low):+.1f}, {percentage(by.high):+.1f}]"
    cases = counted(by.n, change.counts)
    if with_p and change.p_adjusted is not None:
        cases += f", {p_value(change.p_adjusted)}"
    return f"{name} {percent(before)} -> {percent(after)} ({percentage(by.value):+.1f} points{interval}, {cases})"


def _significance(verdict: Moved, main: MetricChange, confounded: Sequence[str], doubt: str) -> str:
    if confounded:
        return "none: " + "; ".join(confounded)
    if main.p is None:
        return "undefined: " + (
            f"one {main.counts} shows no spread" if main.difference.n else "nothing can be compared"
        )
    if verdict is Moved.SAME:
        return "no pair differs in pass or score; that does not generalise to other answers"
    if verdict is Moved.CANNOT_TELL:
        if main.difference.n < FEWEST_TO_SHOW:
            few = f"{main.difference.n} {main.counts}s are too few to show anything"
            return f"not sure: {few}, {FEWEST_TO_SHOW} are the fewest"
        return f"not significant: {p_value(main.p)}"
    return f"limited: {p_value(main.p)}, but {doubt}" if doubt else p_value(main.p)


def p_value(p: float) -> str:
    """`p = 0.021`, or `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _smallest(main: MetricChange) -> str:
    n, units = main.difference.n, f"{main.difference.n} {main.counts}s"
    if main.smallest is None:
        return f"{units} could not have shown any difference" if 0 < n < FEWEST_TO_SHOW else ""
    return f"minimum detectable difference {percentage(main.smallest):.1f} points, with {units} and 80 % power"


# What changed from one run to another, and whether that is more than noise.

METHOD = (
    "samples paired by case, variant and repeat, and repeats and variants of a case count as one; 95 % intervals of the"
    f" paired difference: studentised bootstrap over cases ({RESAMPLES:,} resamples, seed {SEED}) and Student t,"
    " whichever end is farther, two made-up cases added where most did not move, Bonett and Price for rates of single"
    f" samples; p-values: exact McNemar, sign flips (all patterns up to 12 cases that moved, {PATTERNS:,} drawn up to"
    f" {DRAWN_UP_TO}, then t), adjusted with their intervals for the figures of one table (Holm), each thing once, the"
    " primary metric alone; an interval that disagrees with its p about no change ends at 0;"
    f" {SHORT_INTERVALS}; {BY_RUN}"
)
_NO_READING = (Why.NO_READING, Why.NO_READING_IN_A, Why.NO_READING_IN_B)


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


def confounders(
    a: ComparedRun, b: ComparedRun, signatures: SignaturePair, pairs: Pairs, drift: Drift | None
) -> list[str]:
    """Why a difference would not be the system's, or not be one at all."""
    results = [change.sentence for change in signatures.confounds]
    if not results and drift is not None and drift.is_shown:
        results.append(drift.in_words)
    elif not results and drift is not None and drift.not_measured:
        # What the judge may have moved is not known to be the system's.
        results.append(f"{drift.not_measured}; `steelyard compare A B --rejudge N` measures it")
    for name, run in (("A", a), ("B", b)):
        if run.header.verdict is Verdict.INVALID:
            why = f" ({run.header.suspect[0]})" if run.header.suspect else ""
            results.append(f"run {name} is INVALID{why}")
        elif run.header.state is not RunState.ENDED:
            results.append(f"run {name} has not ended: it was stopped, or is still going on")
    silent = sum(item.count for why, item in pairs.not_comparable.items() if why in _NO_READING)
    other_mode = pairs.not_comparable.get(Why.OTHER_MODE)
    asked = pairs.comparable + silent + (other_mode.count if other_mode else 0)
    allowed = sum(run.suite.limits.max_inconclusive for run in (a, b))
    if silent > allowed * asked:
        results.append(
            f"{silent} of {asked} pairs are inconclusive on one side: such samples are seldom missing at random"
        )
    return results


def _without_contents(a: ComparedRun, b: ComparedRun) -> tuple[NotCompared, ...]:
    if a.contents is not None and b.contents is not None:
        return ()
    return (NotCompared("confusions", "", "a run does not hold its texts"),)


# A run compared with several earlier ones together: every earlier sample of a case and variant counts once, so that a
# run with few readings weighs as little as it should.

_SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)


@frozen
class PooledChange:
    """A figure in earlier runs and now, over the samples whose case and variant both have."""

    before: float | None
    now: float | None
    n_before: int
    """Readings of earlier runs that stand behind it."""
    n_now: int
    difference: Estimate
    """Now minus before; `n` is cases."""
    p: float | None
    test: str = ""
    smallest_p: float = 0.0
    """The smallest p-value that so few cases and runs could have."""


class Pool:
    """Readings of earlier runs by the cell (case and variant) of a run, and by what tells answers apart if asked."""

    def __init__(self, table: Table, answers: Array | None = None) -> None:
        """`answers` is a number for each sample's answer: then only readings of the same answer are pooled."""
        self.table = table
        self._cell = _cells(table, table.case, table.variant)
        self._n_cells = len(table.case_ids) * _width(table)
        self._answers = answers
        if answers is None:
            self._keys, self._place = np.arange(self._n_cells), self._cell
        else:
            self._keys, self._place = np.unique(_keyed(self._cell, answers), return_inverse=True)
        self._runs: list[tuple[Array, Array]] = []
        """By earlier run, the sum and the number of its readings of each key."""

    def add(self, other: Table, values: Array, answers: Array | None = None) -> None:
        """Add the readings of an earlier run; those of cases, variants or answers that this run lacks are left out."""
        cases, variants = _translation(self.table.case_ids, other.case_ids), _variants(self.table, other)
        case, variant = cases[other.case.astype(int)], variants[other.variant.astype(int)]
        used = (case >= 0) & (variant >= 0) & ~np.isnan(values)
        if answers is not None:
            used &= answers != 0
        cell = case[used] * _width(self.table) + variant[used]
        if self._answers is None:
            place = cell
        elif answers is None:
            raise ValueError("answers are counted by text here")
        else:
            wanted = _keyed(cell, answers[used])
            place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            same = self._keys[place] == wanted if len(self._keys) else np.zeros(len(wanted), dtype=bool)
            used[np.flatnonzero(used)[~same]] = False
            place = place[same]
        sums = np.bincount(place, values[used], minlength=len(self._keys))
        self._runs.append((sums, np.bincount(place, minlength=len(self._keys)).astype(np.int32)))

    def change(self, values: Array, rows: Array, widest: float = 1.0) -> PooledChange:
        """What became of the figure in some samples of the run; `values` is a value for each of all its samples."""
        none = np.zeros(len(self._keys), dtype=int)
        sums, counts = (sum((run[i] for run in self._runs), none) for i in (0, 1))
        available = (counts[self._place[rows]] > 0) & ~np.isnan(values[rows])
        if self._answers is not None:
            available &= self._answers[rows] != 0
        used = rows[available]
        used = used[np.argsort(self.table.unit[used], kind="stable")]
        place = self._place[used]
        before, now = sums[place] / counts[place], values[used]
        starts = case_starts(self.table.unit[used])
        result, smallest_p = Paired(None, 0), 1.0
        if len(used):
            sizes = np.diff(np.append(starts, len(used)))
            results = self._by_run(now, place, np.repeat(np.arange(len(starts)), sizes), sums, counts)
            smallest_p = float(np.prod(1.0 / (~np.isnan(results)).sum(axis=1)))
            tested = window_test(results, sizes.astype(float))
            result = paired_mean(np.add.reduceat(now - before, starts), sizes, widest, tested)
        return PooledChange(
            before=float(before.mean()) if len(used) else None,
            now=float(now.mean()) if len(used) else None,
            n_before=int(counts[np.unique(place)].sum()),
            n_now=len(used),
            difference=Estimate(result.difference, result.n_cases, 0, result.low, result.high),
            p=result.p,
            test=result.test,
            smallest_p=smallest_p,
        )

    def _by_run(self, now: Array, place: Array, unit: Array, sums: Array, counts: Array) -> Array:
        """By unit and run, this run last, how far its samples are on average from the mean of their own cell; NaN
        where the run has no sample of the unit. So a run that lacks the hard cases of a unit is not better for it."""
        keys, first = np.unique(place, return_index=True)
        here = [np.bincount(place, amounts, minlength=len(self._keys)) for amounts in (now, None)]
        mean = (sums + here[0])[keys] / (counts + here[1])[keys]
        columns = []
        for of_run, n_run in (*self._runs, here):
            n = np.bincount(unit[first], n_run[keys], minlength=int(unit[-1]) + 1)
            away = np.bincount(unit[first], of_run[keys] - n_run[keys] * mean, minlength=len(n))
            columns.append(np.divide(away, n, out=np.full(len(n), np.nan), where=n > 0))
        return np.column_stack(columns)


def _width(table: Table) -> int:
    # One more for samples without a variant, whose code is -1.
    return len(table.variants) + 1


def _cells(table: Table, case: Array, variant: Array) -> Array:
    cell: Array = case.astype(int) * _width(table) + np.where(variant < 0, len(table.variants), variant).astype(int)
    return cell


def _keyed(cell: Array, answers: Array) -> Array:
    """One 64-bit number for a cell and an answer in it; the multiplication wraps, and spreads the cells."""
    keyed: Array = answers.astype(np.uint64) ^ (cell.astype(np.uint64) * _SPREAD)
    return keyed


def _translation(mine: Sequence[str], others: Sequence[str]) -> Array:
    """For each case of another run, its place among the cases of this one; -1 where it has none."""
    # Runs of one signature mostly have the same cases, and looking up a million names takes seconds.
    if len(mine) == len(others) and all(map(eq, mine, others)):
        return np.arange(max(1, len(mine)))
    place = {name: i for i, name in enumerate(mine)}
    return np.array([place.get(name, -1) for name in others] or [-1])


def _variants(mine: Table, other: Table) -> Array:
    place = {name: i for i, name in enumerate(mine.variants)}
    # The last entry is the one that -1 points at.
    return np.array([*(place.get(name, -1) for name in other.variants), len(mine.variants)])
