"""What confidences are worth, traced to the claims in answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from steelyard.analysis.confidence_model import Claims, Split
from steelyard.analysis.explain_model import Behind
from steelyard.analysis.explain_readings import Rules
from steelyard.analysis.explain_sums import Inputs
from steelyard.analysis.explain_things import (
    Figure,
    Read,
    Thing,
    ThingFigure,
    Together,
    Words,
    case_of,
    distinct,
    mean,
    total,
)
from steelyard.analysis.explain_thresholds import (
    Widest,
    best_gain,
    best_threshold,
    bin_of,
    by_chance,
    calibration,
    raised,
)
from steelyard.analysis.model import Estimate, Summary
from steelyard.analysis.resampling import LEAST_CLAIMS, RESAMPLES, SEED
from steelyard.records import Certainty, Sample
from steelyard.suite.confidence import ConfidenceRules
from steelyard.suite.gates import NONE

Rows = Sequence[tuple[Behind, Thing]]
_HOW = (
    "a claim is one thing that an answer says with a confidence; claims without a confidence from 0 to 1 are missing,"
    " those of samples that are inconclusive or set aside are left out"
)
_RATE = "Wilson's score interval; the claims of one case count as one cluster"
_LUCK = f"from {RESAMPLES:,} resamples of cases (seed {SEED})"
_ALL = Words("claims with a confidence from 0 to 1", _HOW, of="claims")
_LEFT_OUT = "of a sample that is inconclusive or set aside"


def claim_figures(summary: Summary, suite: Mapping[str, Any]) -> Iterator[Figure]:
    """All figures of confidences: of the run, and of each kind of claim."""
    found = summary.confidence
    if found is None:
        return
    rules, settings = Rules(suite), ConfidenceRules.from_data(suite.get("confidence"))
    yield from _Claims(("confidence",), "confidence.overall", found.overall, rules, settings, None).figures()
    for label, claims in found.labels.items():
        names, place = ("confidence", "label", label), f"confidence.labels.{label}"
        yield from _Claims(names, place, claims, rules, settings, label).figures()
    for why, n in found.unusable.items():
        words = Words(f"claims whose confidence is wrong in that way: {why}", _HOW, of="claims")
        yield _figure(("confidence", "unusable", why), f"confidence.unusable.{why}", n, words, _unusable(rules, why))
    words = Words(
        "claims of samples that are inconclusive or set aside", "all their readings are left out", of="claims"
    )
    yield _figure(("confidence", "left_out"), "confidence.n_left_out", found.n_left_out, words, _not_believed(rules))
    if found.n_labels:
        words = Words("different kinds of claims", _HOW, of="claims")
        kinds = _figure(("confidence", "kinds"), "confidence.n_labels", found.n_labels, words, _labelled(rules))
        yield Figure(
            kinds.names, kinds.place, kinds.reported, words, lambda: ThingFigure(_labelled(rules), _kinds, words)
        )


def _figure(
    names: tuple[str, ...],
    place: str,
    reported: Estimate | float,
    words: Words,
    read: Read,
    together: Together | None = None,
) -> Figure:
    return Figure(names, place, reported, words, lambda: ThingFigure(read, together or _TOTAL, words))


def wrong_with(claim: Certainty) -> str:
    """What is wrong with a claim's confidence; "" when nothing is."""
    said = claim.confidence
    if said is None:
        return "no confidence"
    if math.isnan(said):
        return "not a number"
    return "below 0" if said < 0 else "above 1" if said > 1 else ""


def _said(claim: Certainty) -> float:
    """The confidence of a claim with which nothing is wrong."""
    if claim.confidence is None:
        raise ValueError("a claim without a confidence has no part in this figure")
    return claim.confidence


def _told(claim: Certainty) -> str:
    said = "none" if claim.confidence is None else f"{claim.confidence:g}"
    return f"{claim.label + ': ' if claim.label else ''}{said}, {'right' if claim.right else 'wrong'}"


def _unusable(rules: Rules, why: str) -> Read:
    def read(sample: Sample) -> Iterator[Thing]:
        for claim in sample.certainties:
            if wrong_with(claim) == why and not rules.left_out(sample):
                yield Thing(1.0, said=_told(claim))

    return read


def _not_believed(rules: Rules) -> Read:
    def read(sample: Sample) -> Iterator[Thing]:
        if why := rules.left_out(sample):
            for claim in sample.certainties:
                yield Thing(1.0, said=f"{_told(claim)}; {why}")

    return read


def _labelled(rules: Rules) -> Read:
    def read(sample: Sample) -> Iterator[Thing]:
        if not rules.left_out(sample):
            for claim in sample.certainties:
                yield Thing(1.0, said=_told(claim), data=claim.label)

    return read


def _kinds(rows: Rows) -> tuple[float | None, Inputs]:
    n = len({thing.data for _, thing in rows})
    return float(n), (("kinds", float(n)), ("claims", float(len(rows))))


class _Claims:
    """The figures of all claims, or of one kind."""

    def __init__(
        self,
        names: tuple[str, ...],
        place: str,
        found: Claims,
        rules: Rules,
        settings: ConfidenceRules,
        label: str | None,
    ) -> None:
        self._names, self._place, self._found = names, place, found
        self._rules, self._settings, self._label = rules, settings, label

    def figures(self) -> Iterator[Figure]:
        found = self._found
        wrong = self._read(lambda claim: float(not claim.right))
        yield self._figure(("claims",), "n", found.n, _ALL, self._read(lambda _: 1.0))
        yield self._figure(("missing",), "n_missing", found.n_missing, _words("claims without one"), self._without())
        yield self._figure(
            ("cases",), "n_cases", found.n_cases, _words("cases with a claim"), self._read(lambda _: 1.0), _cases
        )
        yield self._figure(("errors",), "errors", found.errors, _words("claims that are wrong"), wrong)
        if not found.n:
            return
        rate = _words("wrong / n", "share", _RATE)
        yield self._figure(("error_rate",), "error_rate", found.error_rate, rate, wrong, mean("wrong"))
        brier = _words("mean of (confidence - 1 if right, else 0) squared", "number", _RATE)
        square = self._read(lambda claim: (_said(claim) - claim.right) ** 2)
        yield self._figure(("brier",), "brier", found.brier, brier, square, mean("sum of squares"))
        yield from self._buckets()
        yield from self._calibration()
        yield from self._thresholds()

    def _buckets(self) -> Iterator[Figure]:
        for number, bucket in enumerate(self._found.buckets):
            surest = number == 0

            def inside(
                claim: Certainty, low: float = bucket.low, high: float = bucket.high, last: bool = surest
            ) -> bool:
                said = _said(claim)
                return low <= said and (last or said < high)

            read = self._read(lambda claim: float(not claim.right), inside)
            place, name = f"buckets[{number}]", ("bucket", bucket.name)
            words = _words(f"wrong claims with a confidence from {bucket.low:g}, below {bucket.high:g} unless surest")
            yield self._figure((*name, "errors"), f"{place}.errors", bucket.errors, words, read)
            if bucket.error_rate.n:
                rate = _words("wrong / claims in the bucket", "share", _RATE)
                yield self._figure((*name, "error_rate"), f"{place}.error_rate", bucket.error_rate, rate, read, mean())

    def _calibration(self) -> Iterator[Figure]:
        found, bins = self._found.calibration, self._settings.bins
        gap = self._read(lambda claim: _said(claim) - claim.right)
        ece = _words("sum over bins of |sum of confidences - number right| / n", "number", _LUCK)
        yield self._figure(("ece",), "calibration.ece", found.ece, ece, gap, calibration(bins))
        if found.by_chance is not None:
            luck = _words(
                f"the mean error of {RESAMPLES:,} resamples of cases if confidences were perfect", "number", _LUCK
            )
            yield self._figure(("by_chance",), "calibration.by_chance", found.by_chance, luck, gap, by_chance(bins))
        if found.mce.value is not None:
            full = f"the widest gap between mean confidence and share right of bins with {LEAST_CLAIMS} claims and more"
            mce = _words(full, "number", _LUCK)
            yield Figure(
                (*self._names, "mce"), f"{self._place}.calibration.mce", found.mce, mce, lambda: Widest(gap, mce, bins)
            )
        for number, each in enumerate(found.bins):
            if not each.right.n or each.confidence is None:
                continue

            def inside(claim: Certainty, number: int = number) -> bool:
                return bin_of(_said(claim), bins) == number

            place, names = f"calibration.bins[{number}]", ("bin", str(number + 1))
            right = self._read(lambda claim: float(claim.right), inside)
            said = self._read(lambda claim: _said(claim), inside)
            share = _words("right / claims in the bin", "share", _RATE)
            yield self._figure((*names, "right"), f"{place}.right", each.right, share, right, mean("right"))
            average = _words("sum of confidences / claims in the bin", "number")
            yield self._figure((*names, "confidence"), f"{place}.confidence", each.confidence, average, said, mean())

    def _thresholds(self) -> Iterator[Figure]:
        read, by_rule, best = self._read(lambda claim: _said(claim)), self._found.raised, self._found.best
        rule = (
            f"where more than half of a bucket's claims are wrong, of {LEAST_CLAIMS} and more; the surest such bucket"
        )
        for name in ("threshold", "above", "n"):
            reported = getattr(by_rule, name)
            if reported is not None:
                words = _words(f"{_OF_BUCKET[name]}: {rule}", "number")
                together = raised(self._settings, name)
                yield self._figure(("raised", name), f"raised.{name}", reported, words, read, together)
        yield from self._split("raised", by_rule.split, by_rule.threshold)
        utility = (self._settings.right, self._settings.wrong)
        if best.gain.value is not None:
            words = _words("what the kept claims are worth more, a claim, than all of them", "number", _LUCK)
            yield self._figure(("best", "gain"), "best.gain", best.gain, words, read, best_gain(utility))
        if best.threshold.value is not None:
            words = _words("from where on the kept claims are worth the most; of several the lowest", "number", _LUCK)
            yield self._figure(
                ("best", "threshold"), "best.threshold", best.threshold, words, read, best_threshold(utility)
            )
        yield from self._split("best", best.split, best.threshold.value)

    def _split(self, name: str, split: Split | None, threshold: float | None) -> Iterator[Figure]:
        """What a threshold keeps and loses; without one nothing is kept."""
        if split is None:
            return
        limit = math.inf if threshold is None else threshold
        for side, n in asdict(split).items():
            right, kept = side.startswith("right"), side.endswith("kept")

            def hit(claim: Certainty, right: bool = right, kept: bool = kept) -> float:
                return float(claim.right is right and (_said(claim) >= limit) is kept)

            where = f"of {limit:g} and more" if kept else f"below {limit:g}"
            words = _words(f"{'right' if right else 'wrong'} claims {where}")
            yield self._figure((name, side), f"{name}.split.{side}", n, words, self._read(hit))

    def _figure(
        self,
        names: tuple[str, ...],
        place: str,
        reported: Estimate | float,
        words: Words,
        read: Read,
        together: Together | None = None,
    ) -> Figure:
        return _figure((*self._names, *names), f"{self._place}.{place}", reported, words, read, together)

    def _mine(self, sample: Sample) -> Iterator[Certainty]:
        for claim in sample.certainties:
            if self._label is None or (claim.label or NONE) == self._label:
                yield claim

    def _read(self, value: Callable[[Certainty], float], inside: Callable[[Certainty], bool] | None = None) -> Read:
        """A thing for every claim of the kind with a confidence from 0 to 1, in a part of the confidences or in all."""

        def read(sample: Sample) -> Iterator[Thing]:
            left_out = self._rules.left_out(sample)
            for claim in self._mine(sample):
                if left_out:
                    yield Thing(None, _LEFT_OUT, missing=False)
                elif why := wrong_with(claim):
                    yield Thing(None, why, missing=inside is None)
                elif inside is None or inside(claim):
                    yield Thing(value(claim), said=_told(claim), data=claim)

        return read

    def _without(self) -> Read:
        def read(sample: Sample) -> Iterator[Thing]:
            if not self._rules.left_out(sample):
                for claim in self._mine(sample):
                    if why := wrong_with(claim):
                        yield Thing(1.0, said=f"{_told(claim)}: {why}")

        return read


_TOTAL = total("claims")
_cases = distinct("cases", case_of)
_OF_BUCKET = {"threshold": "the bucket's upper bound", "above": "its lower bound", "n": "its claims, or all of them"}


def _words(formula: str, unit: str = "count", interval: str = _ALL.interval) -> Words:
    return Words(formula, _HOW, "claims", unit, interval)
