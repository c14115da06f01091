"""What a judged suite gives when its judge obeys the text: rules and checks must hold all the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.audit.injections import INJECTIONS, Injection
from steelyard.audit.obedient import Proof, obedient, obey
from steelyard.audit.probes import ANSWERED, ProbeMaker
from steelyard.engine.own_loop import in_own_loop
from steelyard.errors import TargetFailure
from steelyard.judging.asking import rules_judges
from steelyard.judging.fence import new_fence, visible
from steelyard.judging.orders import without_orders
from steelyard.judging.prompt import as_shown, messages
from steelyard.judging.reading import JudgeReader
from steelyard.judging.shorten import shorten
from steelyard.records import Judgement, Outcome
from steelyard.scoring.weigh import Weighed, Weigher
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.models import SuiteModel, Variant
from steelyard.targets.base import Ask, Surroundings
from steelyard.targets.open import open_target

MOST_TEXTS = 12
"""Texts that every attempt is tried on, taken evenly from the suite's recorded answers."""
_MOST_BROKEN = 5


@dataclass(frozen=True, slots=True)
class InjectionResult:
    """What one attempt came to on `n` texts, with a judge that gives full marks and no proof, or a made-up one."""

    name: str
    about: str
    n: int
    highest: float
    """The most that a text got, as a share of full marks, after rules and checks."""
    highest_with_quote: float
    """The same where the judge quotes the attempt itself as its proof: shown, since such a quote is in the text."""
    n_passed: int
    """How many of the texts pass with such a judge, one that quotes the attempt included."""
    broken: tuple[str, ...]
    """The first few ways in which a rule or check did not hold."""
    n_broken: int
    reason: str = ""
    """Without any text: why none could be read."""

    @property
    def holds(self) -> bool:
        """True when every rule and check held on every text, and there was one."""
        return self.n > 0 and not self.n_broken


@dataclass(frozen=True, slots=True)
class _Text:
    """One text with what is measured of it before anybody tampers with it."""

    case: Case
    text: str
    weighed: Weighed


class Balance:
    """Weighs probes. A judge that is code judges them; in the place of a model stands one that gives full marks."""

    def __init__(self, suite: SuiteModel) -> None:
        self._weigher = Weigher(suite)
        self._judge = suite.judge
        self.is_lenient = suite.judge is not None and any(one.kind != "python" for one in suite.judge.members)
        self._reader: JudgeReader | None = None
        if suite.judge is not None:
            judge = obedient(suite.judge) if self.is_lenient else suite.judge
            self._reader = JudgeReader(judge, {} if self.is_lenient else rules_judges(judge, suite.folder))

    def weigh(self, answer: str, case: Case) -> Weighed:
        """What the answer comes to, judged where the suite has a judge."""
        weighed = self._weigher.weigh(answer, case, ANSWERED)
        if self._reader is None or self._judge is None or weighed.to_judge is None:
            return weighed
        calls = (obey(self._judge, Proof.NONE, ""),) if self.is_lenient else ()
        judgement = self._reader.read(calls, weighed.to_judge, case, weighed.metrics)
        if judgement.mode is None:
            raise ValueError(judgement.told)
        return self._weigher.judged(weighed, judgement)


def try_injections(suite: SuiteModel, cases: Sequence[Case]) -> list[InjectionResult]:
    """Every attempt on some of the suite's own texts; empty for a suite without a judge."""
    if suite.judge is None:
        return []
    weigher = Weigher(suite)
    texts = _texts(suite, weigher, cases)
    readable = [one for one in texts if one.weighed.to_judge is not None]
    if not readable:
        reason = why_malformed(texts[0].weighed)
        return [InjectionResult(each.name, each.about, 0, 0.0, 0.0, 0, (), 0, reason) for each in INJECTIONS]
    reader = JudgeReader(obedient(suite.judge), {})
    is_json = suite.answer.format == "json"
    return [_attempt(suite.judge, weigher, reader, injection, readable, is_json=is_json) for injection in INJECTIONS]


def why_malformed(weighed: Weighed) -> str:
    """What extraction, schema or scorer say of a malformed answer; "" of any other."""
    return weighed.findings[0].evidence if weighed.outcome is Outcome.MALFORMED else ""


def unguarded(judge: JudgeModel) -> str | None:
    """What to say of a judge that nothing stands beside."""
    if judge.rules or judge.evidence is not None:
        return None
    return (
        "nothing but the judge itself stands between an order in the text and full marks:"
        " declare `evidence` or rules to `bind`"
    )


def recorded_answers(suite: SuiteModel, cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """The suite's recorded answers to these cases; none when its target would have to be asked."""
    if suite.target.kind != "recorded":
        return []
    return in_own_loop(_replayed(suite, cases))


async def _replayed(suite: SuiteModel, cases: Sequence[Case]) -> list[tuple[Case, str]]:
    found = []
    variant = suite.variants[0] if suite.variants else Variant()
    async with open_target(suite.target, Surroundings(suite.folder, suite.answer.schema_data)) as target:
        for case in cases:
            try:
                reply = await target.ask(Ask(case.without_truth(), variant))
            except TargetFailure:
                continue
            found.append((case, reply.text))
    return found


def _texts(suite: SuiteModel, weigher: Weigher, cases: Sequence[Case]) -> list[_Text]:
    """Recorded answers where some can be read; else such as deserve little, so that full marks show who was obeyed."""
    texts = _weighed(weigher, recorded_answers(suite, cases))
    if any(one.weighed.to_judge is not None for one in texts):
        return texts
    probes = ProbeMaker(suite, list(cases))
    return _weighed(weigher, [(case, probes.poor_answer(at)) for at, case in enumerate(cases)])


def _weighed(weigher: Weigher, answers: list[tuple[Case, str]]) -> list[_Text]:
    return [_Text(case, text, weigher.weigh(text, case, ANSWERED)) for case, text in _evenly(answers)]


def _evenly(answers: list[tuple[Case, str]]) -> list[tuple[Case, str]]:
    step = max(1, len(answers) // MOST_TEXTS)
    return answers[::step][:MOST_TEXTS]


def _attempt(
    judge: JudgeModel,
    weigher: Weigher,
    reader: JudgeReader,
    injection: Injection,
    texts: list[_Text],
    *,
    is_json: bool,
) -> InjectionResult:
    broken: list[str] = []
    highest = dict.fromkeys(Proof, 0.0)
    passed: set[str] = set()
    is_order = bool(without_orders(injection.quote)[1])
    for one in texts:
        injected = _put_in(injection, one.weighed.to_judge or "")
        # Only the text to be judged is tampered with, so that JSON around it stays whole.
        weighed = one.weighed if is_json else weigher.weigh(injected, one.case, ANSWERED)
        weighed = replace(weighed, to_judge=injected)
        broken += [f"case {one.case.id}: {told}" for told in _escapes(judge, injected, one.case, weighed)]
        for proof in Proof:
            judgement = reader.read((obey(judge, proof, injection.quote),), injected, one.case, weighed.metrics)
            told = _unbound(judge, judgement, one.weighed, proof, is_order=is_order)
            broken += [f"case {one.case.id}, {proof.value}: {problem}" for problem in told]
            if judgement.mode is not None:
                judged = weigher.judged(weighed, judgement)
                highest[proof] = max(highest[proof], judged.score)
                passed |= {one.case.id} if judged.passed else set()
    return InjectionResult(
        name=injection.name,
        about=injection.about,
        n=len(texts),
        highest=max(highest[Proof.NONE], highest[Proof.MADE_UP]),
        highest_with_quote=highest[Proof.ORDER],
        n_passed=len(passed),
        broken=tuple(broken[:_MOST_BROKEN]),
        n_broken=len(broken),
    )


def _put_in(injection: Injection, text: str) -> str:
    """The text with the attempt in it: behind a text, inside the longest text of a JSON document."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return injection.put_in(text)
    longest = max(_texts_in(value), key=len, default=None)
    return (
        injection.put_in(text)
        if longest is None
        else json.dumps(_replaced(value, longest, injection), ensure_ascii=False)
    )


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(inner)


def _replaced(value: Any, text: str, injection: Injection) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(inner, text, injection) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, text, injection) for inner in value]
    return injection.put_in(text) if value == text else value


def _escapes(judge: JudgeModel, injected: str, case: Case, weighed: Weighed) -> Iterator[str]:
    """Ways in which the text got out of its fence."""
    fence = new_fence(injected)
    prompt = messages(judge, injected, case, weighed.metrics, fence)
    whole = "\n".join(message["content"] for message in prompt.messages[1:])
    shown, _ = shorten(as_shown(judge, injected), judge.most_characters)
    if f"{fence.begin}\n{visible(shown)}\n{fence.end}" not in prompt.messages[0]["content"] + whole:
        yield "the text does not stand whole inside its fence"
    if whole.count(fence.begin) != whole.count(fence.end):
        yield "a fence is open"


def _unbound(
    judge: JudgeModel, judgement: Judgement, before: Weighed, proof: Proof, *, is_order: bool
) -> Iterator[str]:
    """Rules that held for the text as it was and do not bind now, and scores that count without proof.

    An attempt that is plainly an order (`is_order`) proves nothing, however truly it is quoted.
    """
    if judgement.mode is None:
        yield f"the answer of the judge could not be read: {judgement.told}"
        return
    for rule in judge.rules:
        if not rule.holds(before.metrics):
            continue
        loose = [name for name, cap in rule.caps.items() if judgement.bound.get(name, cap) > cap]
        loose += [name for name in rule.raises if not judgement.bound[name]]
        if loose:
            yield f"{', '.join(loose)} got past the rule {rule.text!r}"
    if judge.evidence is None or (proof is Proof.ORDER and not is_order):
        return
    codes = {remark.code for ballot in judgement.ballots for remark in ballot.remarks}
    if judge.evidence.unproven == "neutral":
        neutral = judge.rubric.neutral
        high = [name for name in judge.evidence.dimensions if judgement.bound.get(name, neutral) > neutral]
        if high:
            yield f"{', '.join(high)} above {neutral} without a quote"
    if proof is Proof.ORDER:
        return
    wanted = {"UNPROVEN"} | ({"MADE_UP_QUOTE"} if proof is Proof.MADE_UP else set())
    if missing := wanted - codes:
        yield f"nobody remarked on it: {', '.join(sorted(missing))}"
