"""What a judge is told: the suite's templates or a default made from the rubric, and always the fence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from steelyard.judging.default_prompt import default_system, default_user
from steelyard.judging.fence import Fence, instruction
from steelyard.judging.shorten import shorten
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.labels import hidden
from steelyard.suite.templates import FENCE, JUDGE_NAMES, SHOWN_NAMES, Template, compile_template

_MOST_PROBLEMS: Final = 12
_LONGEST_PROBLEM: Final = 300


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of the first turn. `shortened` says that the text is shown by head and tail only."""

    messages: list[dict[str, str]]
    shortened: bool


def messages(judge: JudgeModel, text: str, case: Case, metrics: Mapping[str, Any], fence: Fence) -> Prompt:
    """System and user message about one text.

    The name `text` of the templates is the fenced text; one that they do not show whole is put at the end of the user
    message. A template that takes `text` apart, or shows metrics that quote it, must fence those parts itself. The
    case has no labels. SuiteError when a template cannot be filled from this case.
    """
    shown, shortened = shorten(as_shown(judge, text), judge.most_characters)
    fenced = fence(shown)
    known = hidden(case, judge)
    names = {
        "case": known,
        "input": known.input,
        "expected": known.expected,
        "text": fenced,
        "metrics": metrics,
        "rubric": judge.rubric,
        "shortened": shortened,
        FENCE: fence,
    }
    system = _filled(judge.system, "judge.system", names) if judge.system else default_system(judge)
    user = (
        _filled(judge.user, "judge.user", names) if judge.user else default_user(judge, fenced, known, metrics, fence)
    )
    if fenced not in user and fenced not in system:
        user = f"{user.rstrip()}\n\n{fenced}"
    told = [
        {"role": "system", "content": f"{system.rstrip()}\n\n{instruction(fence)}".lstrip()},
        {"role": "user", "content": user},
    ]
    return Prompt(told, shortened)


def as_shown(judge: JudgeModel, text: str) -> str:
    """What is judged as the suite wants it shown; `part` is the value when the text is JSON, else the text."""
    if not judge.shown:
        return text
    try:
        part = json.loads(text)
    except (ValueError, RecursionError):
        part = text
    return _compiled(judge.shown, "judge.shown", SHOWN_NAMES).fill({"part": part})


def again(problems: Sequence[str]) -> dict[str, str]:
    """The user message that says what was wrong with an answer and asks for another."""
    told = [f"- {one[:_LONGEST_PROBLEM]}" for one in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        told.append(f"- and {len(problems) - _MOST_PROBLEMS} more")
    listed = "\n".join(told)
    content = (
        f"Your answer cannot be used:\n{listed}\n\n"
        "Judge the same text again by the same rules. Answer with one complete JSON object as described, with every "
        "field in it, and with nothing before or after it."
    )
    return {"role": "user", "content": content}


def _filled(template: str, where: str, names: Mapping[str, Any]) -> str:
    return _compiled(template, where).fill(names)


@lru_cache(maxsize=64)
def _compiled(template: str, where: str, names: tuple[str, ...] = (*JUDGE_NAMES, FENCE)) -> Template:
    return compile_template(template, where=where, names=names)
