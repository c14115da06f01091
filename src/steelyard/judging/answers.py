"""Findings of scorers that a model must answer: how they are shown, and what its reply says of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from steelyard.judging.evidence import quoted
from steelyard.judging.fence import Fence
from steelyard.records import Finding, Remark
from steelyard.suite.judge import CONFIRMED, REBUTTED, UNANSWERED, JudgeModel
from steelyard.suite.paths import compile_path

_GIVEN: Final = {"confirm": CONFIRMED, "confirmed": CONFIRMED, "rebut": REBUTTED, "rebutted": REBUTTED}
_LONGEST: Final = 300
Answers = list[dict[str, str]]
"""Of each finding in order: `finding` (its code), `words` (what it was found in), `answer` and `reason`."""


def findings_to_answer(judge: JudgeModel, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that the suite has its judge answer."""
    owed = judge.must_answer
    return () if owed is None else tuple(finding for finding in findings if finding.code in owed.findings)


def asked_about(judge: JudgeModel, findings: Sequence[Finding]) -> JudgeModel:
    """The judge as it is called about a text with these findings to answer: without any, the field is not asked for."""
    if judge.must_answer is None:
        return judge
    name, response = judge.must_answer.place, judge.response
    properties, required = dict(response.get("properties", {})), list(response.get("required", ()))
    if findings:
        required = list(dict.fromkeys([*required, name]))
    else:
        properties.pop(name, None)
    return judge.model_copy(update={"response": response | {"properties": properties, "required": required}})


def shown_findings(judge: JudgeModel, findings: Sequence[Finding], fence: Fence) -> str:
    """What the prompt says of the findings, numbered and fenced, since they quote the text; "" without any."""
    if judge.must_answer is None or not findings:
        return ""
    listed = "\n".join(
        f"{number}. {finding.code}: {_clipped(words_of(finding))}{_in_sentence(finding)}"
        for number, finding in enumerate(findings, 1)
    )
    return (
        "A program noticed wording that may be a fault. It matches words and cannot tell an idiom, a denial or a figure"
        " of speech from what is meant, so it is often wrong. Decide for yourself, and answer every number in"
        f' {judge.must_answer.place}: "confirm" with a word-for-word quote from the text where the fault is there, or'
        f' "rebut" with the reason why it is not.\n{fence(listed)}'
    )


def words_of(finding: Finding) -> str:
    """The words of the text that a finding is about."""
    return finding.got if isinstance(finding.got, str) and finding.got else finding.evidence


def _in_sentence(finding: Finding) -> str:
    sentence = finding.evidence
    return "" if not sentence or sentence == words_of(finding) else f" [in: {_clipped(sentence)}]"


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def read_answers(judge: JudgeModel, response: Mapping[str, Any], findings: Sequence[Finding], text: str) -> Answers:
    """What the reply answers to each finding.

    A confirmation counts with a quote that is in the text, a rebuttal with a reason; a number that is answered in two
    ways is not answered.
    """
    given = response.get(judge.must_answer.place) if judge.must_answer else None
    by_number: dict[int, list[tuple[str, str]]] = {}
    for element in given if isinstance(given, list) else ():
        if isinstance(element, Mapping) and (number := _number(element.get("number"))) is not None:
            by_number.setdefault(number, []).append(_answer(element, text))
    result = []
    for number, finding in enumerate(findings, 1):
        stated = by_number.get(number, [])
        answer, reason = stated[0] if stated else (UNANSWERED, "not answered")
        if len({answer for answer, _ in stated}) > 1:
            answer, reason = UNANSWERED, "answered in two ways"
        words = _clipped(words_of(finding))
        result.append({"finding": finding.code, "words": words, "answer": answer, "reason": _clipped(reason)})
    return result


_NO_LETTER = re.compile(r"[\W\d_]")
_MIN_LETTERS = 4


def _number(value: Any) -> int | None:
    match = re.fullmatch(r"\s*#?(\d{1,6})\.?\s*", str(value))
    return int(match[1]) if match else None


def _answer(element: Mapping[str, Any], text: str) -> tuple[str, str]:
    answer = _GIVEN.get(str(element.get("answer", "")).strip().lower())
    quote, reason = (str(element.get(key) or "").strip() for key in ("quote", "reason"))
    if answer is None:
        return UNANSWERED, 'neither "confirm" nor "rebut"'
    # A letter or a stop answers nothing.
    quote, reason = (part if len(_NO_LETTER.sub("", part)) >= _MIN_LETTERS else "" for part in (quote, reason))
    if answer == CONFIRMED:
        is_there = bool(quote) and quoted(quote, text, 1)
        return (CONFIRMED, quote) if is_there else (UNANSWERED, "confirmed without a quote that is in the text")
    return (REBUTTED, reason or quote) if reason or quote else (UNANSWERED, "rebutted without a reason")


def owed_remarks(
    judge: JudgeModel, response: Mapping[str, Any], findings: Sequence[Finding], text: str
) -> tuple[Remark, ...]:
    """What the reply owes: reasons that it does not give, and findings that it does not answer."""
    answers = read_answers(judge, response, findings, text)
    return *_too_few_reasons(judge, response), *answer_remarks(item for item in answers if item["answer"] == UNANSWERED)


def _too_few_reasons(judge: JudgeModel, response: Mapping[str, Any]) -> tuple[Remark, ...]:
    asked = judge.reasons
    if asked is None or not asked.at_least:
        return ()
    given = compile_path(asked.place)(response)
    texts = given.splitlines() if isinstance(given, str) else given if isinstance(given, list) else []
    distinct = {" ".join(text.casefold().split()) for text in texts if isinstance(text, str)} - {""}
    if len(distinct) >= asked.at_least:
        return ()
    return (Remark("TOO_FEW_REASONS", "", f"{len(distinct)} of {asked.at_least} in {asked.place}"),)


def problem_of(remark: Remark, judge: JudgeModel) -> str:
    """What is owed, as the judge is told when it is called again."""
    if remark.code == "TOO_FEW_REASONS" and judge.reasons is not None:
        return f"{judge.reasons.place}: {remark.message}; list at least {judge.reasons.at_least} different ones"
    field = judge.must_answer.place if judge.must_answer else ""
    return f'{field}: {remark.message}; "confirm" it with a quote from the text, or "rebut" it with a reason'


def answer_counts(answers: Iterable[Mapping[str, str]]) -> dict[str, int]:
    """How many findings are confirmed, rebutted and unanswered: what binding rules may name."""
    counts = Counter(answer["answer"] for answer in answers)
    return {name: counts[name] for name in (CONFIRMED, REBUTTED, UNANSWERED)}


def answer_remarks(answers: Iterable[Mapping[str, str]]) -> tuple[Remark, ...]:
    """A remark for each finding that the judge rebutted, and for each that it owes an answer."""
    codes = {REBUTTED: "REBUTTED_FINDING", UNANSWERED: "UNANSWERED_FINDING"}
    return tuple(
        Remark(codes[item["answer"]], "", f'{item["finding"]} in "{item["words"]}": {item["reason"]}')
        for item in answers
        if item["answer"] in codes
    )
