"""The scores of samples: their names and weights are those of most other samples of the run, and stored once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from steelyard.records import Score, ScorerCall
from steelyard.store.codec import decode, encode, whole_in
from steelyard.store.databases import Session
from steelyard.store.stored_text import to_json

Layout = tuple[tuple[str, float, tuple[str, ...]], ...]
"""Names and weights of a sample's scores, each with the names of its counts; stored once a run, not once a sample."""
_COUNTS = range(2**53 + 1)
Layouts = dict[Layout, int]


def layouts_of(session: Session, run: int) -> dict[int, Layout]:
    """Number of each layout of a run, with its names, weights and counts."""
    rows = session.execute("SELECT number, content FROM layouts WHERE run = ?", (run,))
    return {
        number: tuple((name, weight, tuple(counts)) for name, weight, *counts in json.loads(content))
        for number, content in rows
    }


def layout_of(scores: Iterable[Score]) -> Layout:
    """The layout of a sample's scores."""
    return tuple([(score.name, score.weight, tuple(score.counts)) for score in scores])


def with_layouts(session: Session, run: int, needed: set[Layout], stored: Layouts | None) -> Layouts:
    """The run's layouts, those needed now included."""
    if stored is not None and needed <= stored.keys():
        return stored
    layouts = {layout: number for number, layout in layouts_of(session, run).items()}
    for layout in sorted(needed - layouts.keys()):
        layouts[layout] = len(layouts)
        content = to_json([(name, weight, *counts) for name, weight, counts in layout])
        session.insert("layouts", ("run", "number", "content"), [(run, layouts[layout], content)])
    return layouts


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
    return f"{written[:-1]},{to_json([whole_in(_COUNTS, count) for count in counts])[1:]}"


def score_details(scores: Sequence[Score]) -> str | None:
    """What only some scores have, by their position; None when no score of the sample has it."""
    details = {}
    for position, score in enumerate(scores):
        if score.note or score.uncapped is not None or score.capped_by is not None or score.calls:
            calls = [encode(call) for call in score.calls]
            details[position] = [score.uncapped, score.capped_by, score.note, *([calls] if calls else [])]
    return to_json(details) if details else None


def scores_from(layout: Layout, numbers: list[Any], details: str | None) -> tuple[Score, ...]:
    """The scores of a sample, from its layout and what `score_values` and `score_details` wrote."""
    n = len(layout)
    if details is None and len(numbers) == n:
        return tuple([Score(name, value, weight) for (name, weight, _), value in zip(layout, numbers, strict=True)])
    more = {} if details is None else json.loads(details)
    counted = iter(numbers[n:])
    scores = []
    for position, ((name, weight, names), value) in enumerate(zip(layout, numbers[:n], strict=True)):
        # The names come first, so that `zip` takes no number of the next score.
        counts = {count: number for count, number in zip(names, counted, strict=False) if number is not None}
        raw, capped_by, note, *asked = more.get(str(position), (None, None, ""))
        calls = tuple([decode(ScorerCall, call) for call in asked[0]]) if asked else ()
        scores.append(Score(name, value, weight, raw, capped_by, note, counts, calls))
    return tuple(scores)
