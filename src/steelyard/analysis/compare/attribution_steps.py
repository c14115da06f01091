"""Steps from one run's signature to the other's, and what each explains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.compare.attribution_model import (
    Anchors,
    Attribution,
    Cause,
    How,
    Portion,
    Reason,
    ScoreAgain,
    ScoredAgain,
    ScoringEdit,
    TruthEdit,
    TruthEdits,
    Wanted,
)
from steelyard.analysis.compare.judge_drift import (
    FEWEST_CASES,
    Drift,
    Moving,
    Units,
    covered_by,
    drift_of,
    judged_in_both,
    readings,
    unseen_spread,
)
from steelyard.analysis.compare.model import MOST_LISTED, Why
from steelyard.analysis.compare.pairing import OTHER_TRUTH, CommonCases, ComparedRun, pair
from steelyard.analysis.compare.signatures import signed
from steelyard.frozen import frozen
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Estimate, settled
from steelyard.stats.paired import NO_CHANGE, case_starts
from steelyard.suite.case import digest
from steelyard.suite.truth import NAMES, SCORED_BY, TRUTH, LedgerLine, by_state, stored_lines
from steelyard.wording import percentage

# The reasons that the ledger gives for what was edited from A to B: of truths, and of how answers are scored.

_PAGE = 500
NO_REASON = "no reason in the ledger"


class Reasons:
    """What the ledger says of B's truth and of how B was scored: as the run kept it, and what was noted since."""

    def __init__(self, b: ComparedRun, noted_since: Sequence[LedgerLine]) -> None:
        self._b = b
        self._lines = by_state([*stored_lines(b.suite.ledger), *noted_since])

    def of_cases(self, ids: Sequence[str]) -> dict[str, Reason]:
        """By case the reason of its truth; those without one are left out."""
        spoken_of = {line.case for line in self._lines.values()}
        asked, contents = [item for item in ids if item in spoken_of], self._b.contents
        reasons: dict[str, Reason] = {}
        for start in range(0, len(asked) if contents else 0, _PAGE):
            page = contents.cases(asked[start : start + _PAGE]) if contents else {}
            lines = {name: self._lines.get((TRUTH, name, digest(case.expected))) for name, case in page.items()}
            reasons |= {name: _reason(line) for name, line in lines.items() if line is not None}
        return reasons

    def of_scoring(self, a: ComparedRun) -> tuple[ScoringEdit, ...]:
        """The parts of how answers are scored that both runs name and that differ."""
        named = [(part, signed(a, part), signed(self._b, part)) for part in SCORED_BY]
        lines = [
            (part, self._lines.get((part, None, after)))
            for part, before, after in named
            if before is not None and after is not None and before != after
        ]
        return tuple(ScoringEdit(part, None if line is None else _reason(line)) for part, line in lines)


def _reason(line: LedgerLine) -> Reason:
    return Reason(line.reason, line.by, line.at)


def reason_in_words(reason: Reason | None) -> str:
    """Why, who said so and when, on one line; or that nobody did."""
    return NO_REASON if reason is None else " ".join(f"{reason.text} ({reason.by}, {reason.at[:10]})".split())


def reason_messages(
    attribution: Attribution, causes: Sequence[Cause] = (Cause.SCORERS, Cause.TRUTH)
) -> tuple[str, ...]:
    """How many edits have a reason in the ledger, and what the others come to, in sentences."""
    message = [*_scoring_message(attribution)] if Cause.SCORERS in causes else []
    edits = attribution.truth_edits
    if Cause.TRUTH in causes and edits.n_cases:
        message.append(_truth_message(edits.n_cases, edits.n_with_reason, edits.part_without_reason))
    return tuple(message)


def _truth_message(n: int, n_with: int, part: float | None) -> str:
    if n == n_with:
        return (
            "the truth edit has a reason in the ledger"
            if n == 1
            else f"all {n:,} truth edits have a reason in the ledger"
        )
    if n == 1:
        return f"the truth edit has {NO_REASON}{_moves(part, 'it', 's')}"
    if n_with == 0:
        return f"none of {n:,} truth edits has a reason in the ledger{_moves(part, 'they', '')}"
    have = "has a reason" if n_with == 1 else "have a reason"
    others = ("the other", "s") if n - n_with == 1 else ("the others", "")
    return f"of {n:,} truth edits {n_with:,} {have} in the ledger{_moves(part, *others)}"


def _scoring_message(attribution: Attribution) -> Iterator[str]:
    alone = len(attribution.scoring_edits) == 1
    portion = next((portion for portion in attribution.portions if portion.causes == (Cause.SCORERS,)), None)
    part = portion.change.value if portion is not None and alone else None
    for edit in attribution.scoring_edits:
        moves = _moves(part, "it", "s") if edit.reason is None else ""
        yield f"{NAMES[edit.part]}: {reason_in_words(edit.reason)}{moves}"


def _moves(part: float | None, who: str, ending: str) -> str:
    """What edits come to in the headline number; "" where nobody has scored it."""
    if part is None:
        return ""
    if abs(part) <= NO_CHANGE:
        return f"; {who} do{'es' if ending else ''} not move the number"
    far = f"{percentage(abs(part)):.1f}" if percentage(part) else "less than 0.1"
    return f"; {who} {'raise' if part > 0 else 'lower'}{ending} the number by {far} points"


# The samples that two runs share, with a reading on both sides, and what each reads.


class SharedPairs:
    """Pairs with the same question and a reading on both sides, in the order of A's cases."""

    def __init__(self, a: ComparedRun, b: ComparedRun, cases: CommonCases) -> None:
        self.a, self.b = a, b
        self.units = Units(a, b, cases)
        self.by_pass = a.passes and b.passes
        self.values_a, self.values_b = (readings(run, by_pass=self.by_pass) for run in (a, b))
        pairing = pair(a, b, cases, allow_mismatch=True)
        self.asked = pairing.asked[:2]
        """Positions of the samples that both have, with the same question; `met` also with another one."""
        nobody = np.empty(0, dtype=int)
        others = pairing.excluded.get(Why.CHANGED_QUESTION, (nobody, nobody))
        self.met = [np.concatenate(sides) for sides in zip(self.asked, others, strict=True)]
        state = cases.state[a.columns.case[self.asked[0]]] if len(self.asked[0]) else np.empty(0, dtype=np.int8)
        read = ~np.isnan(self.values_a[self.asked[0]]) & ~np.isnan(self.values_b[self.asked[1]])
        self.first, self.second = self.asked[0][read], self.asked[1][read]
        edited = np.isin(a.columns.case[self.first], cases.edited)
        self.other_truth = (state[read] == OTHER_TRUTH) | edited
        self.unreadable = 0
        """Pairs left out because B's suite has no reading of A's answer."""
        shared = self.asked[0] if not read.any() else self.first
        self.question_unknown, unknown = (
            bool(np.isin(a.columns.case[shared], codes).any())
            for codes in (cases.unknown_questions, cases.unknown_truths)
        )
        # Where nothing was read on both sides, nothing can be scored by another truth either.
        unknown |= not read.any() and bool((state == OTHER_TRUTH).any())
        self.truth_unknown = unknown or (not cases.available and signed(a, "truth") != signed(b, "truth"))

    @property
    def case(self) -> Array:
        """The unit of evidence of each pair: its case, or the cluster that the case is in."""
        return self.units.of_a[self.first]

    def keep(self, retained: Array) -> None:
        """Go on with these pairs only; the others count as without a reading on one side."""
        self.unreadable += int((~retained).sum())
        self.first, self.second, self.other_truth = (
            self.first[retained],
            self.second[retained],
            self.other_truth[retained],
        )

    def judged(self) -> Array:
        """Marks the pairs that judges have read, on every side that has one; none where no side has."""
        return judged_in_both(self.a, self.b, self.first, self.second)


# A's answers scored again, one change of the signature after another: what each step moves.

_MOST_LOST = 0.05
"""Above this share of answers that B's suite cannot score, scoring again shows nothing."""


class Steps:
    """A's readings of the pairs as they are scored again, one change of the signature after another."""

    def __init__(self, pairs: SharedPairs, score_again: ScoreAgain | None) -> None:
        self._pairs = pairs
        wanted = Wanted(pairs.first, pairs.second, pairs.other_truth, pairs.by_pass)
        self.again = ScoredAgain() if score_again is None else score_again(wanted)
        self._take_up_readable()
        n, again = len(pairs.first), self.again
        self.values_a, self.values_b = pairs.values_a[pairs.first], pairs.values_b[pairs.second]
        self.steps: list[tuple[tuple[Cause, ...], Array, Array]] = []
        """Causes with what A's answers were worth before and after."""
        self.last = self.values_a
        pending: list[Cause] = []
        # A truth that is not known has not been scored by.
        truth = None if pairs.truth_unknown else again.truth
        others = other_signatures(pairs)
        for cause, scored in (
            (Cause.SCORERS, again.scorers),
            (Cause.TRUTH, truth),
            (Cause.JUDGE, again.judge if again.by_code else None),
        ):
            if cause in others:
                pending.append(cause)
            if pending and scored is not None:
                self.steps.append((tuple(pending), self.last, scored))
                self.last, pending = scored, []
        self.bought = np.full(n, np.nan)
        """A's answers by B's judge minus as last scored; NaN where it has not read them."""
        if again.judge is not None and not again.by_code:
            self.bought = again.judge - self.last
        # A question that is not known has a part in nothing but what is left.
        self.pending = (*others[: others.count(Cause.QUESTIONS)], *pending)
        """The causes that nothing has told from the system yet."""

    def _take_up_readable(self) -> None:
        """Leave out pairs that B's suite cannot score; when there are many, use none of it."""
        n, again = len(self._pairs.first), self.again
        lost, retained = np.zeros(n, dtype=bool), {}
        untold = dict(again.untold)
        for cause, values in (
            (Cause.SCORERS, again.scorers),
            (Cause.TRUTH, again.truth),
            (Cause.JUDGE, again.judge if again.by_code else None),
        ):
            missing = np.zeros(n, dtype=bool) if values is None else np.isnan(values)
            if missing.sum() > _MOST_LOST * n:
                untold[cause] = f"B's suite cannot score {int(missing.sum()):,} of {n:,} answers of A"
                values = None
            else:
                lost |= missing
            retained[cause] = values
        if not again.by_code:
            retained[Cause.JUDGE] = again.judge
        self._pairs.keep(~lost)
        scorers, truth, judge = (None if values is None else values[~lost] for values in retained.values())
        self.again = replace(again, scorers=scorers, truth=truth, judge=judge, untold=untold)

    def read_with_truth(self, marks: Array) -> None:
        """Put B's reading of these pairs into the step of the truth, if there is one."""
        if not marks.any() or not self.steps or Cause.TRUTH not in self.steps[-1][0]:
            return
        causes, before, after = self.steps.pop()
        self.last = np.where(marks, self.values_b, after)
        self.steps.append((causes, before, self.last))
        self.bought = np.where(marks, np.nan, self.bought)

    def portions(self, units: Units, case: Array) -> Iterator[Portion]:
        """What scoring A's answers again has moved, a portion a step."""
        n_cases = units.count(case)
        for causes, before, after in self.steps:
            n = int(self._pairs.other_truth.sum()) if causes == (Cause.TRUTH,) else len(case)
            change = units.mean(after - before, case).estimate(n_cases)
            yield Portion(causes, change, How.SCORED_AGAIN, message=f"answers of A scored again: {n:,}")

    def truth_edits(self, reasons: Reasons) -> TruthEdits:
        """The cases whose truth changed, those that moved the number most first."""
        pairs = self._pairs
        rows = np.flatnonzero(pairs.other_truth)
        step = next((step for step in self.steps if step[0] == (Cause.TRUTH,)), None)
        case = pairs.a.columns.case[pairs.first[rows]]
        starts = case_starts(case)
        ids = [pairs.a.columns.case_ids[code] for code in case[starts].tolist()]
        why = reasons.of_cases(ids)
        if step is None or not len(rows):
            return TruthEdits(len(starts), n_with_reason=len(why))
        sums = np.add.reduceat(step[2][rows] - step[1][rows], starts)
        sizes = np.diff(np.append(starts, len(rows)))
        moved = np.flatnonzero(np.abs(sums) > NO_CHANGE)
        order = moved[np.argsort(-np.round(np.abs(sums[moved]), 12), kind="stable")][:MOST_LISTED]
        listed = [
            TruthEdit(
                ids[i],
                int(sizes[i]),
                settled(float(sums[i] / sizes[i])),
                settled(float(sums[i]) / len(pairs.case)),
                why.get(ids[i]),
            )
            for i in order.tolist()
        ]
        without = float(sums[[name not in why for name in ids]].sum()) / len(pairs.case)
        return TruthEdits(len(starts), len(moved), tuple(listed), len(why), settled(without))


def other_signatures(pairs: SharedPairs) -> tuple[Cause, ...]:
    """What differs, or may differ, in what answers of the same id were asked and how they were scored."""
    results = (
        (Cause.QUESTIONS, pairs.question_unknown),
        (Cause.SCORERS, other_scorers(pairs.a, pairs.b)),
        (Cause.TRUTH, bool(pairs.other_truth.any()) or pairs.truth_unknown),
        (Cause.JUDGE, signed(pairs.a, "judge") != signed(pairs.b, "judge")),
    )
    return tuple(cause for cause, differs in results if differs)


def other_scorers(a: ComparedRun, b: ComparedRun) -> bool:
    """Whether what is made of an answer may be another; a schema that no answer fails in makes no difference."""
    differs = [part for part in ("scorers", "rules", "schema") if signed(a, part) != signed(b, part)]
    if differs == ["schema"]:
        return bool(a.table.malformed.any() or b.table.malformed.any())
    return bool(differs)


# The portion of a judge that is another, or has drifted, and what it leaves for the system.


@frozen
class Judged:
    """Pairs on their way from A's answers as last scored to B's readings."""

    left: Array
    """B's reading minus A's answer as last scored."""
    bought: Array
    """A's answer by B's judge minus as last scored; NaN where B's judge was not asked about it."""
    identical: Array
    """Marks anchors."""
    judged: Array
    """Marks the pairs that a judge has read on both sides."""
    band: Array
    """The band of the score that A's answer has in A."""
    case: Array
    pending: tuple[Cause, ...]
    """The causes between A's answers as last scored and as B's judge reads them; empty when nothing is known to
    differ, so that only a drift can."""

    @property
    def moved(self) -> Array:
        """What each anchor is moved by; NaN for pairs that are none."""
        return np.where(self.identical & self.judged, self.left, self.bought)

    @property
    def drift(self) -> Drift:
        """Whether the same judge reads the same answers otherwise than it did."""
        return drift_of(self.moved, self.identical, self.judged, self.band, self.case)


@frozen
class Separated:
    """The portions that anchors tell apart, and by how much the judge moves each pair."""

    judge: Portion
    system: Portion | None
    """None when anchors stand for no answer but the same ones."""
    anchors: Anchors
    to_pair: Array
    """NaN where no anchor has such a score."""


def judge_and_system(pairs: Judged, units: Units) -> Separated | None:
    """The judge's portion and what is left; None when nothing measures the judge."""
    same, fresh = pairs.identical & pairs.judged, ~np.isnan(pairs.bought) & ~pairs.identical
    others, available = pairs.judged & ~same, same | fresh
    # Identical answers are not drawn at random: they may stand for a judge, but not for scorers or truth.
    few_drawn = units.count(pairs.case[fresh]) < FEWEST_CASES
    if few_drawn and others.any() and pairs.pending not in ((), (Cause.JUDGE,)):
        return None
    if units.count(pairs.case[available]) < FEWEST_CASES:
        return None
    judge, to_pair, n_free = _shift(pairs, units, same, fresh)
    n_cases, n_anchors = units.count(pairs.case), units.count(pairs.case[available])
    anchors = Anchors(int(same.sum()), int(fresh.sum()), n_anchors, int(pairs.judged.sum()))
    apart = np.isnan(to_pair)
    carried = bool((pairs.judged & ~available & ~apart).any())
    agreed = judge.error(n_free) == 0 and (carried or abs(judge.value) > NO_CHANGE)
    unseen = unseen_spread(n_anchors) if agreed else 0.0
    change = replace(judge.estimate(n_free, unseen), n=n_anchors)
    message = stands_on(anchors)
    separated = Separated(
        Portion(pairs.pending or (Cause.JUDGE,), change, How.ANCHORS, _unsure(change), message), None, anchors, to_pair
    )
    if apart.any() and not (others & ~apart).any():
        return separated
    # Where a shift is carried over, what the judge's part may be off by the system's is off by the other way.
    rest = units.mean(np.where(apart, 0.0, pairs.left), pairs.case) - judge
    left = rest.estimate(min(n_cases, n_free), unseen if carried else 0.0)
    return replace(separated, system=Portion((Cause.SYSTEM,), left, How.LEFT, _unsure(left)))


def _shift(pairs: Judged, units: Units, same: Array, fresh: Array) -> tuple[Moving, Array, int]:
    """By how much the judge alone moves the mean, and each pair, and the cases that are left when every band has its
    own mean."""
    n, available = len(pairs.left), same | fresh
    shown = np.where(available, pairs.moved, 0.0)
    unknown = pairs.judged & ~available
    to_pair = np.where(unknown, np.nan, shown)
    expected, bands = to_pair.copy(), []
    # Bought anchors stand for the pairs that are not identical, identical ones for themselves; where too few were
    # bought, the identical stand for all.
    for anchors in (fresh, available):
        for here, drawn in covered_by(anchors, pairs.band, pairs.case):
            if np.isnan(to_pair[here]).any():
                stands_for = drawn | (here & unknown)
                expected[stands_for] = mean = float(shown[drawn].mean())
                to_pair[here & unknown] = mean
                bands.append((drawn, int(stands_for.sum()) / n))
    carriers = np.any([drawn for drawn, _ in bands], axis=0) if bands else available
    n_free = max(FEWEST_CASES, units.count(pairs.case[carriers]) - max(0, len(bands) - 1))
    total = units.mean(np.nan_to_num(expected), pairs.case)
    for drawn, part in bands:
        mean_of, n_drawn = units.mean(shown[drawn], pairs.case[drawn]), units.count(pairs.case[drawn])
        # A mean of few has a spread of its own: by its own number, not by that of all.
        wider = math.sqrt(n_drawn / (n_drawn - 1) * (n_free - 1) / n_free)
        total += Moving(0.0, mean_of.influence * wider).times(part)
    return total, to_pair, n_free


def _unsure(change: Estimate) -> bool:
    if change.low is None or change.high is None:
        return change.value != 0
    return change.low <= 0 <= change.high


def stands_on(anchors: Anchors) -> str:
    """The anchors in words."""
    message = [f"the same answer in both runs: {anchors.identical:,}"] if anchors.identical else []
    if anchors.bought:
        message.append(f"answers of A that B's judge scored, too: {anchors.bought:,}")
    return f"{'; '.join(message)}; of {anchors.judged:,} judged pairs" if message else ""
