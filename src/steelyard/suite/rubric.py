"""A rubric from its own file or from the suite's: every mistake in it with the file and line it stands on."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from steelyard.errors import SuiteError
from steelyard.suite.draft import Draft
from steelyard.suite.judge_file import DimensionPart, RubricPart
from steelyard.suite.judge_model import Dimension, Flag, Rubric
from steelyard.suite.located import read_yaml
from steelyard.suite.paths import split_path
from steelyard.suite.problems import Place, dotted
from steelyard.suite.rules import RESERVED
from steelyard.suite.spelling import found

_PLACE: Place = ("judge", "rubric")
_TAKEN_CODES = {"FORMAT": "an answer that cannot be read", "JUDGE": "a judge that gave no reading"}
"""Codes of findings that a dimension's own would be taken for."""


def build_rubric(raw: Any, draft: Draft, components: Collection[str] = ()) -> Rubric | None:
    """The rubric, or None with everything wrong noted; `components` are names that are taken."""
    if isinstance(raw, dict):
        return _rubric(raw, _PLACE, draft, components)
    if not isinstance(raw, str):
        return None  # already told by the check of the whole judge
    text = draft.text(raw, _PLACE)
    if text is None:
        return None
    try:
        located = read_yaml(text, raw)
    except SuiteError as error:
        draft.mistakes.extend(error.mistakes)
        return None
    own = Draft(located, draft.folder)
    own.mistakes.extend(located.mistakes)
    if isinstance(located.data, dict):
        rubric = _rubric(located.data, (), own, components)
    else:
        own.tell(f"a rubric is a group of keys (scale, dimensions, ...); {found(located.data)}")
        rubric = None
    draft.mistakes.extend(own.mistakes)
    return rubric


def _rubric(raw: dict[str, Any], place: Place, draft: Draft, components: Collection[str]) -> Rubric | None:
    part = draft.check(RubricPart, raw, place)
    if part is None:
        return None
    low, high = part.scale
    if low >= high:
        draft.tell(f"{_name(place, 'scale')}: {low} is not below {high}", (*place, "scale"))
        return None
    neutral = max(low + 1, (low + high) // 2) if part.neutral is None else part.neutral
    _check_neutral(neutral, low, high, place, draft)
    _check_names(part, place, draft, components)
    dimensions = tuple(
        _dimension(name, one, (low, high), (*place, "dimensions", name), draft) for name, one in part.dimensions.items()
    )
    if any(one.weight for one in dimensions) and not any(one.weight and not one.needs for one in dimensions):
        told = "every dimension with a weight needs something, so that a case without it could earn nothing"
        draft.tell(f"{_name(place, 'dimensions')}: {told}", (*place, "dimensions"))
    flags = tuple(Flag(name, one.about, tuple(one.triggers), one.fails) for name, one in part.flags.items())
    return Rubric(dimensions, flags, low, high, neutral, tuple(part.calibration), part.version)


def _check_neutral(neutral: int, low: int, high: int, place: Place, draft: Draft) -> None:
    name = _name(place, "neutral")
    if not low <= neutral <= high:
        draft.tell(f"{name}: {neutral} is not on the scale from {low} to {high}", (*place, "neutral"))
    elif neutral == low:
        draft.tell(f"{name}: {neutral} is the lowest score, and nothing could ever be below it", (*place, "neutral"))


def _check_names(part: RubricPart, place: Place, draft: Draft, components: Collection[str]) -> None:
    taken = {name.casefold(): f"the component {name}" for name in components}
    for group, names in (("dimensions", part.dimensions), ("flags", part.flags)):
        for name in names:
            at = (*place, group, name)
            word = group.removesuffix("s")
            if not name.isidentifier() or name.casefold() in RESERVED:
                draft.tell(f"{dotted(at)}: a {word}'s name is one word of letters, digits and _; found {name!r}", at)
            elif group == "dimensions" and name.upper() in _TAKEN_CODES:
                told = f"{name.upper()} is the code of {_TAKEN_CODES[name.upper()]}"
                draft.tell(f"{dotted(at)}: a dimension cannot be called so: {told}", at)
            if name.casefold() in taken:
                draft.tell(f"{dotted(at)}: the name is taken by {taken[name.casefold()]}", at)
            taken[name.casefold()] = f"the {word} {name}"


def _dimension(name: str, part: DimensionPart, scale: tuple[int, int], place: Place, draft: Draft) -> Dimension:
    return Dimension(
        name,
        part.about,
        _by_score(part.scores, scale, (*place, "scores"), draft),
        part.weight,
        _by_score(part.examples, scale, (*place, "examples"), draft),
        _needs(part, (*place, "needs"), draft),
    )


def _needs(part: DimensionPart, place: Place, draft: Draft) -> str:
    try:
        known = not part.needs or split_path(part.needs)[0] in ("input", "expected")
    except ValueError as error:
        draft.tell(f"{dotted(place)}: {error}", place)
        return ""
    if not known:
        draft.tell(f"{dotted(place)}: it is a path into the case, such as input.question; {found(part.needs)}", place)
    return part.needs if known else ""


def _by_score(given: dict[str, str], scale: tuple[int, int], place: Place, draft: Draft) -> dict[int, str]:
    """The texts by score, highest first."""
    low, high = scale
    texts: dict[int, str] = {}
    for key, text in given.items():
        if not key.removeprefix("-").isdecimal() or not low <= int(key) <= high:
            draft.tell(f"{dotted(place)}: {key!r} is not a score from {low} to {high}", (*place, key))
        else:
            texts[int(key)] = text
    return dict(sorted(texts.items(), reverse=True))


def _name(place: Place, key: str) -> str:
    return dotted((*place, key))
