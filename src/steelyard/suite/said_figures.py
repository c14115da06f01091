"""From `judge.figures` as written to what is read out of a judge's answer beside its scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.suite.draft import Draft
from steelyard.suite.judge_file import FigurePart, JudgePart
from steelyard.suite.judge_model import Rubric, SaidCount, SaidMean
from steelyard.suite.paths import EACH, split_path
from steelyard.suite.problems import Place
from steelyard.suite.spelling import listed, meant

ANY_KEY = "*"
LISTED = "listed"
"""The count of all elements of a list, whatever their word: no word may be called so."""
_AT: Place = ("judge", "figures")


def build_figures(
    part: JudgePart | None, rubric: Rubric, response: dict[str, Any], names: Sequence[str], draft: Draft
) -> tuple[tuple[SaidMean, ...], tuple[SaidCount, ...]]:
    """The means and the counts; everything wrong is noted. `names` are those of all components."""
    means: list[SaidMean] = []
    counts: list[SaidCount] = []
    for name, figure in (part.figures if part is not None else {}).items():
        place = (*_AT, name)
        path, shape = _path(name, figure, place, draft)
        if not path:
            continue
        schema, keys = _looked_up(path, response, place, draft)
        if schema is None:
            continue
        keys = list(figure.keys) or (_words(schema) if figure.count else keys)
        if not keys and (figure.count or ANY_KEY in path):
            draft.tell(f"{shape}: the response lists no keys there: write keys: [...]", place)
        elif figure.count:
            before, after = _cut(path)
            counts.append(SaidCount(name, tuple(keys), _joined(before), _joined(after), figure.about))
        else:
            scale = _scale(figure, rubric, place, draft)
            means += _means(name, path, keys, scale, figure.about)
    taken = {each.casefold(): f"the component {each}" for each in names}
    taken |= {each.casefold(): f"the rubric's {each}" for each in rubric.names}
    _check_names(means, counts, taken, draft)
    return tuple(means), tuple(counts)


def _path(name: str, figure: FigurePart, place: Place, draft: Draft) -> tuple[tuple[str, ...], str]:
    """The steps of the one path it has, and what it is called; no steps when that is told to be wrong."""
    kind = "count" if figure.count else "mean"
    shape, text = f"judge.figures.{name}.{kind}", figure.count or figure.mean
    if bool(figure.mean) == bool(figure.count):
        draft.tell(f"judge.figures.{name} needs one of mean and count: a path into the judge's answer", place)
        return (), shape
    try:
        steps = split_path(text)
    except ValueError as error:
        draft.tell(f"{shape}: {error}", (*place, kind))
        return (), shape
    if figure.count and (steps.count(EACH) != 1 or ANY_KEY in steps):
        draft.tell(f"{shape}: a path to the words of one list is written with one []: faults[].reason", (*place, kind))
        return (), shape
    if figure.mean and (EACH in steps or steps.count(ANY_KEY) > 1):
        draft.tell(f"{shape}: a path to numbers has no [] and at most one *: categories.*.coverage", (*place, kind))
        return (), shape
    return steps, shape


def _looked_up(
    steps: Sequence[str], response: dict[str, Any], place: Place, draft: Draft
) -> tuple[dict[str, Any] | None, list[str]]:
    """What the response says of the place, as far as it says anything, and the keys that * stands for there.

    None when it has no such place, which is told.
    """
    schema, keys = response, list[str]()
    for at, step in enumerate(steps):
        inner = schema.get("items" if step == EACH else "properties")
        if not isinstance(inner, dict) or not inner:
            return {}, keys
        if step == ANY_KEY:
            keys = list(inner)
        elif step != EACH and step not in inner:
            hint = meant(step, inner) or f"; there are: {listed(list(inner))}"
            draft.tell(f"judge.figures.{place[-1]}: the response has no {_joined(steps[: at + 1])}{hint}", place)
            return None, keys
        below = inner if step == EACH else next(iter(inner.values())) if step == ANY_KEY else inner[step]
        schema = below if isinstance(below, dict) else {}
    return schema, keys


def _words(schema: dict[str, Any]) -> list[str]:
    words = schema.get("enum")
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _means(
    name: str, path: Sequence[str], keys: Sequence[str], scale: tuple[float, float], about: str
) -> Iterator[SaidMean]:
    if ANY_KEY not in path:
        yield SaidMean(name, "", _joined(path), scale, about)
        return
    for key in keys:
        yield SaidMean(name, key, _joined([key if step == ANY_KEY else step for step in path]), scale, about)


def _scale(figure: FigurePart, rubric: Rubric, place: Place, draft: Draft) -> tuple[float, float]:
    low, high = figure.scale or (rubric.low, rubric.high)
    if low >= high:
        draft.tell(f"judge.figures.{place[-1]}.scale: {low:g} is not below {high:g}", (*place, "scale"))
    return float(low), float(high)


def _cut(path: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    at = path.index(EACH)
    return path[:at], path[at + 1 :]


def _joined(steps: Sequence[str]) -> str:
    """The path of these steps, each of them quoted where it must be."""
    written = ""
    for step in steps:
        if step == EACH:
            written += EACH
            continue
        plain = step.strip() == step and not set(step) & set('.[]"')
        quoted = step if plain else '"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"'
        written += f".{quoted}" if written else quoted
    return written


def _check_names(means: Sequence[SaidMean], counts: Sequence[SaidCount], taken: dict[str, str], draft: Draft) -> None:
    for figure, name in [(each.figure, each.name) for each in means] + [(each.name, each.name) for each in counts]:
        if "." in name or not name.strip():
            draft.tell(f"judge.figures.{figure}: {name!r} must not be empty or hold dots", (*_AT, figure))
        elif name.casefold() in taken:
            draft.tell(f"judge.figures.{figure}: the name {name} is taken by {taken[name.casefold()]}", (*_AT, figure))
        taken[name.casefold()] = f"the figure {name}"
    for each in counts:
        for word in each.words:
            if word == LISTED or "." in word:
                told = f"{word!r} cannot be counted under that name: it is {LISTED!r} or holds a dot"
                draft.tell(f"judge.figures.{each.name}: {told}", (*_AT, each.name))
