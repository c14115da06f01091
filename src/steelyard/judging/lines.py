"""Scores written as plain lines: `tone: 4`, `**Tone**: 4/5`, `Safety flag: false`."""

from __future__ import annotations

import re
from typing import Any

from steelyard.judging.score_check import score_problems
from steelyard.suite.judge_model import Rubric

_NUMBER = re.compile(
    r"(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)(?:[ \t]*(?:/|out of)[ \t]*([0-9]{1,9}))?(?![\w/.][0-9])[*_`]*(.*)"
)
_TRUTH = re.compile(r"(true|false)\b[*_`]*(.*)", re.IGNORECASE)
# What may follow a value: nothing, or a sign and then words. `4-5`, `4 or 5` and `4, 5` are two values.
_TAIL = re.compile(r"[ \t\r]*(?:$|[.,;:(\[–—-](?![ \t]*(?:[0-9]|(?:or|to|and|bis|oder)\b)))", re.IGNORECASE)


class ScoreLines:
    """Finds the lines that name a dimension or flag of the rubric and give it a value."""

    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric
        self._names = {_bare(name): name for name in rubric.names}
        self._flags = {flag.name for flag in rubric.flags}
        longest_first = sorted(rubric.names, key=len, reverse=True)
        names = "|".join(loose_name(name) for name in longest_first)
        self._line = re.compile(
            rf"^[ \t>*+\-•#_`]*(?:[0-9]{{1,2}}[.)][ \t*_`]*)?({names})(?:[ \t]+(?:score|rating))?"
            r"[*_`]*[ \t]*[:=][ \t*_`]*(.*)$",
            re.IGNORECASE | re.MULTILINE,
        )

    def read(self, text: str) -> tuple[dict[str, Any], dict[str, str]]:
        """The values by name as far as they can be read, and the problems by name with the others.

        A name that stands on more than one line is ambiguous and has no value. Numbers in words are no numbers.
        """
        said: dict[str, list[str]] = {}
        for line in self._line.finditer(text):
            said.setdefault(self._names[_bare(line[1])], []).append(line[2])
        values: dict[str, Any] = {}
        unclear: dict[str, str] = {}
        for name, rests in said.items():
            value = self._value(name, rests[0]) if len(rests) == 1 else None
            if len(rests) > 1:
                unclear[name] = f"{name}: it is given more than once"
            elif value is None:
                unclear[name] = f"{name}: {rests[0].strip()[:40]!r} is not a value"
            else:
                values[name] = value
        problems = score_problems(values, self._rubric) | unclear
        return {name: value for name, value in values.items() if name not in problems}, problems

    def _value(self, name: str, rest: str) -> int | float | bool | None:
        if name in self._flags:
            truth = _TRUTH.match(rest)
            return truth[1].lower() == "true" if truth and _TAIL.match(truth[2]) else None
        number = _NUMBER.match(rest)
        if number is None or not _TAIL.match(number[3]):
            return None
        if number[2] is not None and int(number[2]) != self._rubric.high:
            return None
        return float(number[1]) if "." in number[1] else int(number[1])


def loose_name(name: str) -> str:
    """A pattern for the name with or without its underscores, as people write it."""
    return r"[ \t_\-]?".join(re.escape(word) for word in name.split("_") if word) or re.escape(name)


def _bare(name: str) -> str:
    return re.sub(r"[ \t_\-]", "", name).casefold()
