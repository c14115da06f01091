"""What was weighed, as values of columns and back: scores with their counts, findings, marks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import isfinite
from operator import index
from typing import Any

from steelyard.records import Box, Finding, Mark, Score, Span
from steelyard.store.text import from_stored, to_json, to_stored

Row = tuple[Any, ...]
Layout = tuple[tuple[str, float, tuple[str, ...]], ...]
"""Names and weights of a sample's scores, each with the names of its counts; kept once a run, not once a sample."""

FINDING_COLUMNS = (
    *("run", "seq", "position", "code", "severity", "place", "expected", "got", "evidence"),
    *("component", "gain", "box", "span_start", "span_end", "section"),
)
MOST_COUNTED = 2**53
"""The largest count: a column of numbers holds every whole number up to here exactly."""


def layout_of(scores: Iterable[Score]) -> Layout:
    """What a sample's scores have in common with most others of its run."""
    return tuple([(score.name, score.weight, tuple(score.counts)) for score in scores])


def layout_text(layout: Layout) -> str:
    """The layout as it is stored: for each score its name, its weight and the names of its counts."""
    return to_json([(name, weight, *counts) for name, weight, counts in layout])


def layout_from(text: str) -> Layout:
    """The layout back; one stored before scores had counts names none."""
    return tuple((name, weight, tuple(counts)) for name, weight, *counts in json.loads(text))


def finite_or_none(value: float | None) -> float | None:
    """The value, or None when it is no number: a scorer that gave NaN has weighed nothing."""
    return value if value is None or isfinite(value) else None


def score_values(scores: Sequence[Score]) -> str:
    """The values of all scores, and after them the counts of all scores, in the order of their layout."""
    values = [score.value for score in scores]
    # Plain numbers are written alike by Python and JSON; None, nan, inf, True, False and numpy's numbers are not.
    written = repr(values)
    if "n" in written or "e" in written:
        written = to_json([None if value is None or not isfinite(value) else float(value) for value in values])
    counts = [count for score in scores if score.counts for count in score.counts.values()]
    if not counts:
        return written
    return f"{written[:-1]},{to_json([_whole_or_none(count) for count in counts])[1:]}"


def _whole_or_none(count: Any) -> int | None:
    """The count, or None when it is no whole number from 0 up: then nothing was counted."""
    try:
        whole = index(count)
    except TypeError:
        return None
    return whole if 0 <= whole <= MOST_COUNTED else None


def score_details(scores: Sequence[Score]) -> str | None:
    """What only some scores have, by their position; None when no score of the sample has it."""
    found = {}
    for position, score in enumerate(scores):
        if score.note or score.raw is not None or score.bound_by is not None:
            found[position] = [score.raw, score.bound_by, score.note]
    return to_json(found) if found else None


def scores_from(layout: Layout, values: str, details: str | None) -> tuple[Score, ...]:
    """The scores back from their layout, values and whatever else was worth keeping."""
    numbers = json.loads(values)
    n = len(layout)
    if details is None and len(numbers) == n:
        return tuple([Score(name, value, weight) for (name, weight, _), value in zip(layout, numbers, strict=True)])
    more = {} if details is None else json.loads(details)
    counted = iter(numbers[n:])
    scores = []
    for position, ((name, weight, counts), value) in enumerate(zip(layout, numbers[:n], strict=True)):
        # The counts come first, so that `zip` takes no number of the next score.
        found = {count: number for count, number in zip(counts, counted, strict=False) if number is not None}
        raw, bound_by, note = more.get(str(position), (None, None, ""))
        scores.append(Score(name, value, weight, raw, bound_by, note, found))
    return tuple(scores)


def finding_values(finding: Finding) -> Row:
    """A finding as FINDING_COLUMNS without run, seq and position."""
    return (
        to_stored(finding.code),
        to_stored(finding.severity),
        to_stored(finding.place),
        None if finding.expected is None else to_json(finding.expected),
        None if finding.got is None else to_json(finding.got),
        to_stored(finding.evidence),
        to_stored(finding.component),
        float(finding.gain) if isfinite(finding.gain) else 0.0,
        None if finding.box is None else _box_text(finding.box),
        *((None, None) if finding.span is None else whole_span(finding.span) or (None, None)),
        to_stored(finding.section),
    )


def finding_from(row: Row) -> Finding:
    """The finding back from FINDING_COLUMNS without run, seq and position."""
    code, severity, place, expected, got, evidence, component, gain, box, start, end, section = row
    return Finding(
        code=from_stored(code),
        place=from_stored(place),
        expected=None if expected is None else json.loads(expected),
        got=None if got is None else json.loads(got),
        evidence=from_stored(evidence),
        severity=from_stored(severity),
        component=from_stored(component),
        gain=gain,
        box=None if box is None else tuple(json.loads(box)),
        span=None if start is None or end is None else (start, end),
        section=from_stored(section),
    )


def marks_text(marks: Iterable[Mark]) -> str | None:
    """Each mark as its four numbers and its text; None when there are none. A mark without a place is left out."""
    found = [(*box, mark.text) for mark in marks if (box := finite_box(mark.box))]
    return to_json(found) if found else None


def marks_from(text: str | None) -> tuple[Mark, ...]:
    """The marks back from `marks_text`."""
    return () if text is None else tuple([Mark((a, b, c, d), said) for a, b, c, d, said in json.loads(text)])


def _box_text(box: Box) -> str | None:
    found = finite_box(box)
    return None if found is None else to_json(found)


def whole_span(span: Span) -> Span | None:
    """The span in plain whole numbers from 0 up, or None when it is none: then it is nowhere in the text."""
    start, end = map(_whole_or_none, span)
    return None if start is None or end is None else (start, end)


def finite_box(box: Box) -> Box | None:
    """The box in plain numbers, or None when one of them is none: then it is nowhere on the picture."""
    left, top, right, bottom = map(float, box)
    # A sum of numbers is finite only when each of them is.
    return (left, top, right, bottom) if isfinite(left + top + right + bottom) else None
