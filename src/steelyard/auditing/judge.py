"""What a judged suite gives when its judge obeys the text: rules and checks must hold all the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from steelyard.auditing.injections import INJECTIONS, Injection
from steelyard.auditing.obedient_judge import Proof, obedient, obey
from steelyard.auditing.probes import ANSWERED, ProbeMaker
from steelyard.engine.process import in_own_loop
from steelyard.errors import TargetFailure
from steelyard.frozen import frozen
from steelyard.judging.ask import rules_judges
from steelyard.judging.fence import new_fence, visible
from steelyard.judging.instructions import without_orders
from steelyard.judging.judgement import JudgeReader
from steelyard.judging.prompt import as_shown, messages, shorten
from steelyard.records import Judgement, Outcome
from steelyard.scoring.evaluate import Evaluated, Evaluator
from steelyard.scoring.model_scorers import looking_up
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.models import SuiteModel, Variant
from steelyard.targets.base import Request, TargetContext, open_target

MOST_TEXTS = 12
"""Texts that every attempt is tried on, taken evenly from the suite's recorded answers."""
_MOST_BROKEN = 5


@frozen
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


@frozen
class _Text:
    """One text with what is measured of it before anybody tampers with it."""

    case: Case
    text: str
    evaluated: Evaluated


class Balance:
    """Scores probes. A judge that is code judges them; in the place of a model stands one that gives full marks."""

    def __init__(self, suite: SuiteModel) -> None:
        self._evaluator = Evaluator(suite)
        self._judge = suite.judge
        judged = self._obeys = suite.judge is not None and any(
            member.kind != "python" for member in suite.judge.members
        )
        self.is_lenient = judged or self._evaluator.needs_models
        self._reader: JudgeReader | None = None
        if suite.judge is not None:
            judge = obedient(suite.judge) if judged else suite.judge
            self._reader = JudgeReader(judge, {} if judged else rules_judges(judge, suite.folder))

    def evaluate(self, answer: str, case: Case) -> Evaluated:
        """What the answer comes to, judged where the suite has a judge."""
        with looking_up(lenient=True):
            scored = self._evaluator.evaluate(answer, case, ANSWERED)
        if self._reader is None or self._judge is None or scored.to_judge is None:
            return scored
        calls = (obey(self._judge, Proof.NONE, ""),) if self._obeys else ()
        judgement = self._reader.read(calls, scored.to_judge, case, scored.metrics, scored.findings)
        if judgement.mode is None:
            raise ValueError(judgement.message)
        return self._evaluator.judged(scored, judgement)


def try_injections(suite: SuiteModel, cases: Sequence[Case]) -> list[InjectionResult]:
    """Every attempt on some of the suite's own texts; empty for a suite without a judge."""
    if suite.judge is None:
        return []
    evaluator = Evaluator(suite)
    texts = _texts(suite, evaluator, cases)
    readable = [text for text in texts if text.evaluated.to_judge is not None]
    if not readable:
        reason = why_malformed(texts[0].evaluated)
        return [
            InjectionResult(injection.name, injection.about, 0, 0.0, 0.0, 0, (), 0, reason) for injection in INJECTIONS
        ]
    reader = JudgeReader(obedient(suite.judge), {})
    is_json = suite.answer.format == "json"
    return [
        _call_result(suite.judge, evaluator, reader, injection, readable, is_json=is_json) for injection in INJECTIONS
    ]


def why_malformed(scored: Evaluated) -> str:
    """What extraction, schema or scorer say of a malformed answer; "" of any other."""
    return scored.findings[0].evidence if scored.outcome is Outcome.MALFORMED else ""


def unguarded(judge: JudgeModel) -> str | None:
    """What to say of a judge that nothing stands beside."""
    if judge.rules or judge.evidence is not None:
        return None
    return (
        "only the judge itself keeps an instruction in the text from getting full marks: declare `evidence`, or"
        " rules under `bind`"
    )


def recorded_answers(suite: SuiteModel, cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """The suite's recorded answers to these cases; none when its target would have to be asked."""
    if suite.target.kind != "recorded":
        return []
    return in_own_loop(_replayed(suite, cases))


async def _replayed(suite: SuiteModel, cases: Sequence[Case]) -> list[tuple[Case, str]]:
    results = []
    variant = suite.variants[0] if suite.variants else Variant()
    async with open_target(suite.target, TargetContext(suite.folder, suite.answer.schema_data)) as target:
        for case in cases:
            try:
                response = await target.ask(Request(case.without_truth(), variant))
            except TargetFailure:
                continue
            results.append((case, response.text))
    return results


def _texts(suite: SuiteModel, evaluator: Evaluator, cases: Sequence[Case]) -> list[_Text]:
    """Recorded answers where some can be read; else such as deserve little, so that full marks show who was obeyed."""
    texts = _evaluated(evaluator, recorded_answers(suite, cases))
    if any(text.evaluated.to_judge is not None for text in texts):
        return texts
    probes = ProbeMaker(suite, list(cases))
    return _evaluated(evaluator, [(case, probes.poor_answer(at)) for at, case in enumerate(cases)])


def _evaluated(evaluator: Evaluator, answers: list[tuple[Case, str]]) -> list[_Text]:
    return [_Text(case, text, evaluator.evaluate(text, case, ANSWERED)) for case, text in _evenly(answers)]


def _evenly(answers: list[tuple[Case, str]]) -> list[tuple[Case, str]]:
    step = max(1, len(answers) // MOST_TEXTS)
    return answers[::step][:MOST_TEXTS]


def _call_result(
    judge: JudgeModel,
    evaluator: Evaluator,
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
    for text in texts:
        injected = _put_in(injection, text.evaluated.to_judge or "")
        # Only the text to be judged is tampered with, so that JSON around it stays whole.
        scored = text.evaluated if is_json else evaluator.evaluate(injected, text.case, ANSWERED)
        scored = replace(scored, to_judge=injected)
        broken += [f"case {text.case.id}: {escape}" for escape in _escapes(judge, injected, text.case, scored)]
        for proof in Proof:
            judgement = reader.read((obey(judge, proof, injection.quote),), injected, text.case, scored.metrics)
            message = _unbound(judge, judgement, text.evaluated, proof, is_order=is_order)
            broken += [f"case {text.case.id}, {proof.value}: {problem}" for problem in message]
            if judgement.mode is not None:
                judged = evaluator.judged(scored, judgement)
                highest[proof] = max(highest[proof], judged.score)
                passed |= {text.case.id} if judged.passed else set()
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


def _escapes(judge: JudgeModel, injected: str, case: Case, scored: Evaluated) -> Iterator[str]:
    """Ways in which the text got out of its fence."""
    fence = new_fence(injected)
    prompt = messages(judge, injected, case, scored.metrics, fence)
    whole = "\n".join(message["content"] for message in prompt.messages[1:])
    shown, _ = shorten(as_shown(judge, injected), judge.most_characters)
    if f"{fence.begin}\n{visible(shown)}\n{fence.end}" not in prompt.messages[0]["content"] + whole:
        yield "the text is not whole inside its fence"
    if whole.count(fence.begin) != whole.count(fence.end):
        yield "a fence is open"


def _unbound(
    judge: JudgeModel, judgement: Judgement, before: Evaluated, proof: Proof, *, is_order: bool
) -> Iterator[str]:
    """Rules that held for the text as it was and do not bind now, and scores that count without proof.

    An attempt that is plainly an order (`is_order`) proves nothing, however truly it is quoted.
    """
    if judgement.mode is None:
        yield f"the answer of the judge could not be read: {judgement.message}"
        return
    for rule in judge.rules:
        if not rule.holds(before.metrics):
            continue
        loose = [name for name, cap in rule.caps.items() if judgement.capped.get(name, cap) > cap]
        loose += [name for name in rule.raises if not judgement.capped[name]]
        if loose:
            yield f"{', '.join(loose)} got past the rule {rule.text!r}"
    if judge.evidence is None or (proof is Proof.ORDER and not is_order):
        return
    codes = {remark.code for vote in judgement.votes for remark in vote.remarks}
    if judge.evidence.unproven == "neutral":
        neutral = judge.rubric.neutral
        high = [name for name in judge.evidence.dimensions if judgement.capped.get(name, neutral) > neutral]
        if high:
            yield f"{', '.join(high)} above {neutral} without a quote"
    if proof is Proof.ORDER:
        return
    wanted = {"UNPROVEN"} | ({"MADE_UP_QUOTE"} if proof is Proof.MADE_UP else set())
    if missing := wanted - codes:
        yield f"there is no remark on it: {', '.join(sorted(missing))}"
