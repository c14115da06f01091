"""What a careful reviewer would say of a case: read for `judge check`, and taken out of what a judge may see."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from steelyard.frozen import frozen
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel, Rubric
from steelyard.suite.paths import EVERY, MISSING, compile_path, split_path
from steelyard.suite.yaml import meant_or_listed, result, shown, unknown_key

ROOT = "expected"
"""The part of a case that the system under test never sees: labels must be in it."""


@frozen
class Label:
    """A reviewer's score of one dimension: the best one, and the lowest and highest that are right too."""

    best: int
    low: int
    high: int
    by: Mapping[str, int] = field(default_factory=dict)
    """What each of several people gave, by name; empty when nobody says who."""

    def allows(self, score: float) -> bool:
        """True when a score is inside the allowed range."""
        return self.low <= score <= self.high


def labels_of(case: Case, judge: JudgeModel) -> dict[str, Label | bool]:
    """The labels by dimension and flag, empty for a case without; ValueError with a sentence when one is wrong."""
    given = compile_path(judge.labels)(case) if judge.labels else MISSING
    if given is MISSING or given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"{judge.labels} gives labels by dimension; {result(given)}")
    flags = {flag.name for flag in judge.rubric.flags}
    labels: dict[str, Label | bool] = {}
    for name, value in given.items():
        if name not in judge.rubric.names:
            hint = meant_or_listed(str(name), judge.rubric.names)
            raise ValueError(f"{judge.labels}: there is no dimension or flag {name!r}{hint}")
        where = f"{judge.labels}.{name}"
        labels[name] = _flag(value, where) if name in flags else _label(value, where, judge.rubric)
    return labels


def is_labelled(text: str, case: Case, labelled: str) -> bool:
    """Whether the labels of a case were given for this text, but for white space and the way that accents are encoded
    (Unicode NFC, NFD): then the case holds it.

    `labelled` is the path to the text that was labelled; without one it is any text of the case's input.
    """
    held = compile_path(labelled)(case) if labelled else case.input
    words = _words(text)
    return any(words == _words(text) for text in _texts(held))


def _words(text: str) -> list[str]:
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).split()


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping | list):
        for inner in data.values() if isinstance(data, Mapping) else data:
            yield from _texts(inner)


def hidden(case: Case, judge: JudgeModel) -> Case:
    """The case as a judge may see it: without the labels and the text that they are of.

    What a person wrote of the case itself is left out, too. Tags are of that kind: where faults are built into texts,
    they say which one it is.
    """
    expected = case.expected
    for path in filter(None, (judge.labels, judge.labelled)):
        expected = _without(expected, split_path(path)[1:])
    return replace(case, expected=expected, tags=(), why="", source="", private=())


def check_path(path: str) -> str | None:
    """What is wrong with the path to labels, or None."""
    try:
        steps = split_path(path)
    except ValueError as error:
        return str(error)
    if not steps or steps[0] != ROOT:
        return f"labels are part of the truth: write {ROOT}.labels; {result(path)}"
    return "one case has one set of labels: leave out []" if EVERY in steps else None


def _without(data: Any, steps: Sequence[str]) -> Any:
    """A copy of the data without what stands at the end of the steps."""
    if not steps:
        return None
    first, rest = steps[0], steps[1:]
    if isinstance(data, dict) and first in data:
        if not rest:
            return {key: value for key, value in data.items() if key != first}
        return data | {first: _without(data[first], rest)}
    if isinstance(data, list) and first.isascii() and first.isdigit() and int(first) < len(data):
        at = int(first)
        # The place of an element is kept, so that the others stay where they are.
        return [*data[:at], _without(data[at], rest) if rest else None, *data[at + 1 :]]
    return data


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{where} must be true or false; {result(value)}")
    return value


def _label(value: Any, where: str, rubric: Rubric) -> Label:
    """The label in `{best: 2, allowed: [1, 3]}`, `{by: {ann: 2, ben: 3}}`, `[1, 3]` or `2`."""
    if isinstance(value, Mapping):
        for key in value:
            if key not in ("best", "allowed", "by"):
                raise ValueError(f"{where}: {unknown_key(str(key), ('best', 'allowed', 'by'))}")
        if not value:
            raise ValueError(f"{where} is empty: write {{best: {rubric.neutral}}}")
        by = _people(value["by"], f"{where}.by", rubric) if "by" in value else {}
        best = _score(value["best"], f"{where}.best", rubric) if "best" in value else _median(by, rubric.neutral)
        if "allowed" not in value and best is not None:
            return Label(best, best, best, by)
        low, high = _range(value["allowed"], f"{where}.allowed", rubric)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        by, best, (low, high) = {}, None, _range(value, where, rubric)
    else:
        score = _score(value, where, rubric)
        return Label(score, score, score)
    if best is None:
        best = _middle(low, high, rubric.neutral)
    if not low <= best <= high:
        raise ValueError(f"{where}: the best score {best} is not among those allowed, {low} to {high}")
    return Label(best, low, high, by)


def _people(value: Any, where: str, rubric: Rubric) -> dict[str, int]:
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{where} gives each person's score by name, as in {{ann: 2, ben: 3}}; {result(value)}")
    return {str(name): _score(score, f"{where}.{name}", rubric) for name, score in value.items()}


def _median(by: Mapping[str, int], neutral: int) -> int | None:
    """What several people come to: their median; between two scores, the one nearer to the neutral one."""
    ordered = sorted(by.values())
    return _middle(ordered[(len(by) - 1) // 2], ordered[len(by) // 2], neutral) if by else None


def _range(value: Any, where: str, rubric: Rubric) -> tuple[int, int]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ValueError(f"{where} must be the lowest and the highest score, as in [2, 3]; {result(value)}")
    low, high = (_score(item, where, rubric) for item in value)
    if low > high:
        raise ValueError(f"{where}: {low} is above {high}")
    return low, high


def _score(value: Any, where: str, rubric: Rubric) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1:
        raise ValueError(f"{where} must be a whole score from {rubric.low} to {rubric.high}; {result(value)}")
    if not rubric.low <= value <= rubric.high:
        raise ValueError(f"{where}: {shown(value)} is not on the scale from {rubric.low} to {rubric.high}")
    return int(value)


def _middle(low: int, high: int, neutral: int) -> int:
    """The middle of a range; between two scores, the one nearer to the neutral one."""
    below, above = (low + high) // 2, (low + high + 1) // 2
    return below if neutral <= below else above
