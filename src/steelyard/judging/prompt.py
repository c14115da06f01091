"""The judge's prompt, with the answer under test fenced off."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from steelyard.frozen import frozen
from steelyard.judging.default_prompt import default_system, default_user
from steelyard.judging.fence import Fence, instruction
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.labels import hidden
from steelyard.suite.templates import FENCE, JUDGE_NAMES, SHOWN_NAMES, Template, compile_template

_LONGEST_CLUSTER: Final = 32
"""Characters that are looked at to find the edge of one sign; more than this is decoration, and is cut."""
_JOINER: Final = "\u200d"


def shorten(text: str, most: int) -> tuple[str, bool]:
    """The text and False when it has at most `most` characters; else its head and tail and True.

    Head and tail together have at most `most` characters, and the line between them counts those that are left out.
    No sign is cut in two: an accent stays with its letter, the parts of an emoji stay together.
    """
    if len(text) <= most:
        return text, False
    head = _edge(text, (most + 1) // 2, -1)
    tail = _edge(text, len(text) - most // 2, 1)
    return f"{text[:head]}\n[... {tail - head:,} characters left out ...]\n{text[tail:]}", True


def _edge(text: str, at: int, step: int) -> int:
    """The nearest place in that direction where the text may be cut; `at` itself when none is near."""
    place = at
    for _ in range(_LONGEST_CLUSTER):
        if not 0 < place < len(text) or not _belong_together(text, place):
            return place
        place += step
    return at


def _belong_together(text: str, at: int) -> bool:
    """True when the characters before and after that place are parts of one sign."""
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"
    if _JOINER in (before, after) or unicodedata.category(after).startswith("M"):
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True  # a skin tone, or the letters of a flag
    return _is_flag_letter(before) and _is_flag_letter(after) and _flag_letters_before(text, at) % 2 == 1


def _flag_letters_before(text: str, at: int) -> int:
    start = at
    while start > 0 and at - start < _LONGEST_CLUSTER and _is_flag_letter(text[start - 1]):
        start -= 1
    return at - start


def _is_flag_letter(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"


_MOST_PROBLEMS: Final = 12
_LONGEST_PROBLEM: Final = 300


@frozen
class Prompt:
    """The messages of the first turn. `shortened` says that the text is shown by head and tail only."""

    messages: list[dict[str, str]]
    shortened: bool


def messages(
    judge: JudgeModel, text: str, case: Case, metrics: Mapping[str, Any], fence: Fence, to_answer: str = ""
) -> Prompt:
    """System and user message about one text.

    The name `text` of the templates is the fenced text; one that they do not show whole is put at the end of the user
    message, and so is `to_answer`, what is said of findings to answer. A template that takes `text` apart, or shows
    metrics that quote it, must fence those parts itself. The case has no labels. SuiteError when a template cannot be
    filled from this case.
    """
    shown, shortened = shorten(as_shown(judge, text), judge.most_characters)
    fenced = fence(shown)
    available = hidden(case, judge)
    names = {
        "case": available,
        "input": available.input,
        "expected": available.expected,
        "text": fenced,
        "metrics": metrics,
        "rubric": judge.rubric,
        "shortened": shortened,
        "to_answer": to_answer,
        FENCE: fence,
    }
    system = _filled(judge.system, "judge.system", names) if judge.system else default_system(judge)
    user = (
        _filled(judge.user, "judge.user", names)
        if judge.user
        else default_user(judge, fenced, available, metrics, fence)
    )
    for owed in (fenced, to_answer):
        if owed and owed not in user and owed not in system:
            user = f"{user.rstrip()}\n\n{owed}"
    texts = [
        {"role": "system", "content": f"{system.rstrip()}\n\n{instruction(fence)}".lstrip()},
        {"role": "user", "content": user},
    ]
    return Prompt(texts, shortened)


def as_shown(judge: JudgeModel, text: str) -> str:
    """What is judged as the suite wants it shown; `part` is the value when the text is JSON, else the text."""
    if not judge.shown:
        return text
    try:
        part = json.loads(text)
    except (ValueError, RecursionError):
        part = text
    return _compiled(judge.shown, "judge.shown", SHOWN_NAMES).fill({"part": part})


def again(problems: Sequence[str], what: str = "Your answer cannot be used") -> dict[str, str]:
    """The user message that says what was wrong with an answer and asks for another."""
    texts = [f"- {problem[:_LONGEST_PROBLEM]}" for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        texts.append(f"- and {len(problems) - _MOST_PROBLEMS} more")
    listed = "\n".join(texts)
    content = (
        f"{what}:\n{listed}\n\n"
        "Judge the same text again by the same rules. Answer with one complete JSON object as described, with every "
        "field in it, and with nothing before or after it."
    )
    return {"role": "user", "content": content}


def _filled(template: str, where: str, names: Mapping[str, Any]) -> str:
    return _compiled(template, where).fill(names)


@lru_cache(maxsize=64)
def _compiled(template: str, where: str, names: tuple[str, ...] = (*JUDGE_NAMES, FENCE)) -> Template:
    return compile_template(template, where=where, names=names)
