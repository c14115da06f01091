"""How a judge behaved, traced to its ballots and texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from steelyard.analysis.ballots import FAILED, is_unanswered, was_cut_off
from steelyard.analysis.explain_model import Behind, Computed
from steelyard.analysis.explain_parts import Parts, Traced
from steelyard.analysis.explain_things import Figure, Read, Thing, ThingFigure, Together, Words, mean, total
from steelyard.analysis.judge_silence import LONGEST, reason_of
from steelyard.analysis.model import BoundFigure, Estimate, JudgeFigures, Summary
from steelyard.analysis.rubric import DescribedRubric, described_rubric
from steelyard.records import Ballot, Judgement, Outcome, Sample
from steelyard.store.base import Spending

_RATE = "Wilson's score interval; the ballots or texts of one case count as one cluster"
_MEAN = "Wilson's score interval by the standard error of the mean; the texts of one case count as one cluster"
_MODE = "each kind of judge on its own: scores of two kinds are never in one mean"
_ASKED = "a text is a sample that a judge was asked about; a ballot is one member's reading of it in one judging repeat"
_SHARES = {
    "broken_rules": ("ballots that broke a binding rule / ballots of the run's own mode", "RULE_BROKEN"),
    "made_up_quotes": ("ballots with a quote that is not in the text / ballots of the run's own mode", "MADE_UP_QUOTE"),
    "contradictions": (
        "ballots with a complaint that what was judged shows to be wrong / ballots of the run's own mode",
        "CONTRADICTION",
    ),
}


def judge_explained(summary: Summary, suite: Mapping[str, Any], spending: Spending | None) -> Iterator[Figure]:
    """Everything that a report says of its judge."""
    rubric, found = described_rubric(suite), summary.judge
    if rubric is None:
        return
    yield from _modes(summary)
    if found is None:
        return
    yield from _counts(found, rubric)
    yield from _shares(found, rubric)
    for name, dimension in found.dimensions.items():
        yield from _dimension(name, dimension, rubric)
    if spending is not None:
        yield from _spent(spending)


def _figure(
    names: tuple[str, ...], place: str, reported: Estimate | float, words: Words, read: Read, together: Together
) -> Iterator[Figure]:
    yield Figure(names, place, reported, words, lambda: ThingFigure(read, together, words))


def _ballots(value: Callable[[Ballot], float | None], why: str = "") -> Read:
    """A thing for every ballot; a judge that gave none counts as one without an answer."""

    def read(sample: Sample) -> Iterator[Thing]:
        judgement = sample.judgement
        if judgement is None:
            return
        for ballot in judgement.ballots or (Ballot("", 0, None, FAILED, told=judgement.told),):
            told = f"{ballot.member or 'no ballot'}: {ballot.rung}" + (f", {ballot.told}" if ballot.told else "")
            found = value(ballot)
            yield Thing(found, why if found is None else "", told)

    return read


def _texts(value: Callable[[Judgement], float | None], why: str = "") -> Read:
    """A thing for every text that a judge was asked about."""

    def read(sample: Sample) -> Iterator[Thing]:
        if sample.judgement is not None:
            found = value(sample.judgement)
            yield Thing(found, why if found is None else "", sample.judgement.told)

    return read


def _counts(found: JudgeFigures, rubric: DescribedRubric) -> Iterator[Figure]:
    texts, ballots = Words("texts", _ASKED, of="texts"), Words("ballots", _ASKED, of="ballots")
    yield from _figure(("judge", "texts"), "judge.n_texts", found.n_texts, texts, _texts(lambda _: 1.0), total("texts"))
    yield from _figure(
        ("judge", "ballots"), "judge.n_ballots", found.n_ballots, ballots, _ballots(lambda _: 1.0), total("ballots")
    )
    for mode, n in found.modes.items():
        read = _ballots(lambda ballot, mode=mode: float(ballot.mode == mode))  # type: ignore[misc]
        yield from _figure(("judge", "mode", mode), f"judge.modes.{mode}", n, ballots, read, total("of that mode"))
    for rung, n in found.rungs.items():
        read = _ballots(lambda ballot, rung=rung: float(ballot.rung == rung))  # type: ignore[misc]
        yield from _figure(("judge", "rung", rung), f"judge.rungs.{rung}", n, ballots, read, total("read so"))
    remarked = Words("ballots of the run's own mode with at least one such remark", _ASKED, of="ballots")
    for code, n in found.remarks.items():
        read = _own(rubric, lambda ballot, code=code: _has(ballot, code))  # type: ignore[misc]
        yield from _figure(
            ("judge", "remark", code), f"judge.remarks.{code}", n, remarked, read, total("with the remark")
        )
    words = Words("texts that came to no reading for that reason", "in the order of the report", of="texts")
    for number, (told, n) in enumerate(found.why_failed.items()):
        names, place = ("judge", "why_failed", str(number + 1)), f"judge.why_failed.{told}"
        yield Figure(names, place, n, words, silence(told))


def silence(told: str) -> Callable[[], Traced]:
    """The texts that came to no reading for a reason that a report says so."""
    return lambda: _Silence(told)


class _Silence:
    """Texts without a reading by their reason: the first wording of a reason stands for all of it."""

    def __init__(self, told: str) -> None:
        self._told = told
        self._found: dict[str, tuple[str, list[Behind]]] = {}

    def add(self, sample: Sample) -> None:
        if sample.judgement is not None and sample.judgement.mode is None:
            key, words = reason_of(sample.judgement)
            self._found.setdefault(key, (words[:LONGEST], []))[1].append(Behind(*sample.key, 1.0, words))

    def ended(self, absent: int) -> Parts:  # noqa: ARG002 - what never came has no reason
        rows = next((rows for words, rows in self._found.values() if words == self._told), [])
        n = float(len(rows))
        return Parts(Computed(n, len(rows), 0, (("texts", n),)), (), (), "as planned", tuple(rows))


def _has(ballot: Ballot, code: str) -> bool:
    return any(remark.code == code for remark in ballot.remarks)


def _own(rubric: DescribedRubric, hit: Callable[[Ballot], bool]) -> Read:
    def value(ballot: Ballot) -> float | None:
        return float(hit(ballot)) if ballot.mode == rubric.mode else None

    return _ballots(value, "another kind of reading than the run's, or none")


def _shares(found: JudgeFigures, rubric: DescribedRubric) -> Iterator[Figure]:
    for name, (formula, code) in _SHARES.items():
        if code in rubric.checked:
            words = Words(formula, _ASKED, "ballots", "share", _RATE)
            read = _own(rubric, lambda ballot, code=code: _has(ballot, code))  # type: ignore[misc]
            yield from _figure(
                ("judge", name), f"judge.{name}", getattr(found, name), words, read, mean("such ballots")
            )

    def answered(hit: Callable[[Ballot], bool]) -> Read:
        return _ballots(lambda ballot: None if is_unanswered(ballot) else float(hit(ballot)), "never answered")

    for name, formula, read in (
        ("failed", "answered ballots of which nothing could be used / answered ballots", answered(_unusable)),
        ("unanswered", "ballots without any answer / all ballots", _ballots(lambda each: float(is_unanswered(each)))),
        ("cut_off", "answered ballots that broke off at the limit of tokens / answered ballots", answered(was_cut_off)),
    ):
        words = Words(formula, _ASKED, "ballots", "share", _RATE)
        yield from _figure(("judge", name), f"judge.{name}", getattr(found, name), words, read, mean("such ballots"))

    def apart(judgement: Judgement) -> float | None:
        several = sum(ballot.mode == rubric.mode for ballot in judgement.ballots) > 1
        return float(any(remark.code == "DISAGREEMENT" for remark in judgement.remarks)) if several else None

    words = Words("texts whose readings lie far apart / texts with several readings", _ASKED, "texts", "share", _RATE)
    read = _texts(apart, "fewer than two readings of the run's own mode")
    yield from _figure(("judge", "disagreement"), "judge.disagreement", found.disagreement, words, read, mean("apart"))


def _unusable(ballot: Ballot) -> bool:
    return ballot.mode is None


def _dimension(name: str, found: BoundFigure, rubric: DescribedRubric) -> Iterator[Figure]:
    def both(judgement: Judgement) -> tuple[float, float] | None:
        if judgement.mode != rubric.mode or name not in judgement.raw or name not in judgement.bound:
            return None
        return float(judgement.raw[name]), float(judgement.bound[name])

    def of(value: Callable[[float, float], float]) -> Read:
        def known(judgement: Judgement) -> float | None:
            pair = both(judgement)
            return None if pair is None else value(*pair)

        return _texts(known, "no score of the run's own mode")

    for figure, formula, value, (unit, interval) in (
        ("bound", "texts whose score was bound / n", lambda raw, after: float(raw != after), ("share", _RATE)),
        ("raw_mean", "sum of scores as the judge gave them / n", lambda raw, _: raw, ("points", _MEAN)),
        ("bound_mean", "sum of scores after rules and checks / n", lambda _, after: after, ("points", _MEAN)),
        (
            "top_share",
            "texts with the highest score of the scale, as the judge gave it / n",
            lambda raw, _: float(raw == rubric.high),
            ("share", _RATE),
        ),
    ):
        words = Words(formula, _ASKED, "texts", unit, interval)
        names, place = ("judge", "dimension", name, figure), f"judge.dimensions.{name}.{figure}"
        yield from _figure(names, place, getattr(found, figure), words, of(value), mean())


def _modes(summary: Summary) -> Iterator[Figure]:
    for mode, figures in summary.modes.items():

        def scored(value: Callable[[Sample], float | None], mode: str = mode) -> Read:
            def read(sample: Sample) -> Iterator[Thing]:
                here = sample.outcome is Outcome.SCORED and sample.mode == mode
                found = value(sample) if here else None
                yield Thing(found, "" if found is not None else "no score by that kind of judge")

            return read

        place, words = f"modes.{mode}", Words("sum of scores / n", _MODE, unit="score", interval=_MEAN)
        yield _of_mode(("mode", mode, "average"), f"{place}.average", figures.average, words, scored(_score))
        yield from _figure(
            ("mode", mode, "n"),
            f"{place}.n",
            figures.n,
            Words("samples that were scored in that mode", _MODE),
            scored(lambda sample: None if sample.score is None else 1.0),
            total("samples"),
        )
        words = Words("sum of the dimension's scores / n", _MODE, unit="points", interval=_MEAN)
        for name, average in figures.dimensions.items():
            names, where = ("mode", mode, "dimension", name), f"{place}.dimensions.{name}"
            yield _of_mode(names, where, average, words, scored(_component(name)))


def _of_mode(names: tuple[str, ...], place: str, reported: Estimate, words: Words, read: Read) -> Figure:
    return Figure(names, place, reported, words, lambda: ThingFigure(read, mean(), words, of_planned=True))


def _score(sample: Sample) -> float | None:
    return sample.score


def _component(name: str) -> Callable[[Sample], float | None]:
    return lambda sample: next((score.value for score in sample.scores if score.name == name), None)


def _spent(spending: Spending) -> Iterator[Figure]:
    words = Words(
        "sum over the calls of the judge", "calls that did not tell it add nothing", of="calls", unit="number"
    )
    for name, n in asdict(spending).items():

        def read(sample: Sample, name: str = name) -> Iterator[Thing]:
            for call in sample.judgement.calls if sample.judgement is not None else ():
                one = Spending()
                one.add(asdict(call.attempt))
                yield Thing(float(getattr(one, name)), said=f"{call.member}, turn {call.turn + 1}")

        yield from _figure(("judge", "spending", name), f"judge.spending.{name}", n, words, read, total(name))
