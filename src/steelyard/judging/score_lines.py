"""Scores written as plain lines: `tone: 4`, `**Tone**: 4/5`, `Safety flag: false`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from steelyard.judging.score_values import quoted_value, score_problems
from steelyard.suite.judge import Rubric

_NUMBER = re.compile(r"(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)(?:[ \t]*(?:/|out of)[ \t]*([0-9]{1,9})(?![0-9]))?[*_`]*(.*)")
_TRUTH = re.compile(r"(true|false)\b[*_`]*(.*)", re.IGNORECASE)
# What may follow a value: nothing, or a sign and then a comment. `5-point`, `4.x` and `4..` go on with the value.
_COMMENT = re.compile(r"[ \t\r]*+(?:[.,;:]?[ \t\r]*+$|(?:[.,;:-][ \t]|[(\[–—])[ \t]*+([^\W_].*)$)")
# A comment with one of these may name another value, say what the scale is, or say what would be if. Whoever reads such
# a line may err, and the judge can be asked again: it does not count.
_OTHER_VALUE = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|half|quarter|null|eins|zwei|drei|vier|fünf|sechs|"
    r"sieben|acht|neun|zehn|to|or|bis|oder|out|scales?|points?|stars?|range|skala|punkte|no|not|nope|nein|nicht|"
    r"max|min|maximum|minimum|highest|lowest|best|worst|possible)\b",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(r"\b(?:if|unless|wenn|falls|example|beispiel|default)\b", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"\b(?:chang(?:e|ed|ing)|wait|rather|instead|actually|sorry|oops|correct(?:ed|ion)|revis(?:e|ed|ion)|updated|"
    r"second thoughts?|geändert|moment|vielmehr|sondern)\b",
    re.IGNORECASE,
)
_TRUTHS = re.compile(r"\b(?:true|false|yes|no|not|ja|nein|nicht|wahr|falsch)\b", re.IGNORECASE)


class ScoreLines:
    """Finds the lines that name a dimension or flag of the rubric and give it a value."""

    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric
        self._names = {bare_name(name): name for name in rubric.names}
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

        A name that stands on more than one line is ambiguous and has no value, and so is one whose line holds a second
        number, takes the first one back or speaks of the scale. Numbers in words are no numbers.
        """
        stated = self._stated(text)
        values: dict[str, Any] = {}
        unclear: dict[str, str] = {}
        for name, rests in stated.items():
            value = self._value(name, rests[0]) if len(rests) == 1 else None
            if len(rests) > 1:
                unclear[name] = f"{name}: it is given more than once"
            elif value is None:
                unclear[name] = f"{name}: {rests[0].strip()[:40]!r} is not a value"
            else:
                values[name] = value
        problems = score_problems(values, self._rubric) | unclear
        return {name: value for name, value in values.items() if name not in problems}, problems

    def against(self, text: str, values: Mapping[str, Any]) -> list[str]:
        """What the lines of a text say against these values, in words.

        A line that only explains ("tone: warm", "tone: 4, since it rests on two hints") says nothing against 4.
        """
        messages = []
        for name, rests in self._stated(text).items():
            for rest in rests:
                value, comment = self._beginning(name, rest)
                if value is not None and value != values[name]:
                    messages.append(
                        f"{name}: {quoted_value(values[name])} in the JSON, {quoted_value(value)} in a line outside it"
                    )
                elif value is not None and _TAKEN_BACK.search(comment):
                    messages.append(f"{name}: a line outside the JSON takes it back: {rest.strip()[:40]!r}")
        return messages

    def _stated(self, text: str) -> dict[str, list[str]]:
        """What stands after each name, line by line."""
        texts: dict[str, list[str]] = {}
        for line in self._line.finditer(text):
            texts.setdefault(self._names[bare_name(line[1])], []).append(line[2])
        return texts

    def _beginning(self, name: str, rest: str) -> tuple[int | float | bool | None, str]:
        """The value that a line begins with, if it is one on this scale, and what comes after it."""
        if name in self._flags:
            truth = _TRUTH.match(rest)
            return (truth[1].lower() == "true", truth[2]) if truth else (None, rest)
        number = _NUMBER.match(rest)
        if number is None or (number[2] is not None and int(number[2]) != self._rubric.high):
            return None, rest
        return float(number[1]) if "." in number[1] else int(number[1]), number[3]

    def _value(self, name: str, rest: str) -> int | float | bool | None:
        """The value of a line that can be read in one way only, else None."""
        value, after = self._beginning(name, rest)
        following = _COMMENT.match(after)
        if value is None or following is None:
            return None
        comment = following[1] or ""
        if _TAKEN_BACK.search(comment) or _NOT_MEANT.search(comment):
            return None
        if name in self._flags:
            return None if _TRUTHS.search(comment) else value
        return None if _OTHER_VALUE.search(comment) or any(sign.isnumeric() for sign in comment) else value


def loose_name(name: str) -> str:
    """A pattern for the name with or without its underscores, as people write it."""
    return r"[ \t_\-]?".join(re.escape(word) for word in name.split("_") if word) or re.escape(name)


def bare_name(name: str) -> str:
    """The name in the spelling that all ways to write it share."""
    return re.sub(r"[ \t_\-]", "", name).casefold()
