"""Pages of a run's samples: those of a selection, in an order, from a place on.

A page must come at once, however large the run is. The columns of a large run that has ended are stored as arrays, of
which some suffice (`stored_paging`). Other runs are asked by SQL. What must be looked at sample by sample (a text in
answers, say) stops when its time is over, and goes on with the next page.

A cursor is the position of a sample in the plan. Samples never change, so that it stands for its place in every order,
also while a run is being written: what comes meanwhile is on a page that is still to come, or on none.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.records import TIMEOUTS, AtLeast, Check, Outcome
from steelyard.store.codec import unpack
from steelyard.store.databases import IN_LIMIT, Session, placeholders
from steelyard.store.looked_at import tests_of
from steelyard.store.packing import BLOCK, head_of_text, unpack_text
from steelyard.store.score_layouts import layouts_of
from steelyard.store.selection import Selection
from steelyard.store.sql_paging import LATENCY, SMALL, SqlSource
from steelyard.store.stored_paging import (
    CODED,
    ORDERS,
    ArrayCache,
    CountingRules,
    PageRequest,
    StoredColumns,
    StoredSource,
)
from steelyard.store.stored_text import from_stored, from_stored_or_none

TIME = 0.06
"""Seconds after which a search stops."""
_TIME_TO_COUNT = 1.0
_MOST_COUNTED = 1_000_000
HEAD = 200
"""Characters of an answer that a page shows."""


@frozen
class SampleRow:
    """What a page shows of a sample."""

    position: int
    case_id: str
    variant: str
    repeat: int
    outcome: str
    score: float | None
    passed: bool | None
    band: str | None
    category: str | None
    latency: float | None
    """Seconds, of a call that timed out `AtLeast` those; None where it failed otherwise, or nobody knows."""
    cost: float | None
    failure: str | None
    """The kind of failure of the call."""
    codes: tuple[str, ...]
    """Of its findings, each once."""
    answer: str | None
    """The beginning of the answer."""
    excluded: bool = False
    """True when another kind of judge than the run's own scored it: no figure counts it."""


@frozen
class Page:
    """Some samples of a selection."""

    rows: tuple[SampleRow, ...]
    more: int | None
    """The cursor of what comes after (or, of a page that was read backwards, before) them; None when that is all."""
    count: int | None
    """How many samples are selected; None where nobody has counted."""
    total: int | None
    """How many samples the run has; None where nobody has counted."""
    complete: bool = True
    """False when a search stopped before the page was full: `more` goes on with it."""
    searched: int | None = None
    """Then, how many samples had been looked at; None where nobody has counted."""
    candidates: int | None = None
    """Then, how many there are to look at."""


def read_page(session: Session, run: int, request: PageRequest, cache: ArrayCache) -> Page:
    """A page of samples."""
    deadline = time.monotonic() + TIME
    if request.order not in ORDERS:
        raise UsageError(f"samples cannot be ordered by {request.order!r}: choose one of {', '.join(ORDERS)}")
    if request.selection.case and request.order == "plan":
        # The same, and there is an index over cases.
        request = replace(request, order="case")
    source, matching, rules = _source(session, run, request, cache)
    places, more, complete = _read(source, matching, request, deadline)
    count = source.count() if matching is None else None
    if matching is not None and complete and more is None and request.after is None:
        count = len(places)
    searched, candidates = (None, None) if complete or more is None else source.passed(more) or (None, None)
    rows = _rows(session, run, places[::-1] if request.back else places, rules)
    return Page(tuple(rows), more, count, source.total, complete, searched, candidates)


@frozen
class Neighbors:
    """What is before and after a sample in a list of samples, and where it is."""

    previous: int | None
    next: int | None
    place: int | None = None
    """From 1; None where it is not in the list, or was not counted in time."""
    count: int | None = None
    """How many samples the list has."""


def read_neighbors(session: Session, run: int, position: int, request: PageRequest, cache: ArrayCache) -> Neighbors:
    """The neighbors of the sample at a position in the list that a request asks for, whichever page of it."""
    sides, complete = [], True
    for back in (True, False):
        asked = replace(request, after=position, back=back, limit=_MOST_COUNTED)
        source, matching, _ = _source(session, run, asked, cache)
        places, more, ended = _read(source, matching, asked, time.monotonic() + _TIME_TO_COUNT)
        complete = complete and ended and more is None
        sides.append(places)
    before, after = (places[0] if places else None for places in sides)
    n = len(sides[0]) + 1 + len(sides[1])
    listed = source.count() == n if matching is None else bool(matching([position]))
    return Neighbors(before, after, len(sides[0]) + 1, n) if complete and listed else Neighbors(before, after)


def _source(
    session: Session, run: int, request: PageRequest, cache: ArrayCache
) -> tuple[StoredSource | SqlSource, Callable[[list[int]], list[int]] | None, CountingRules]:
    """Where the positions of a request's samples come from, which of them are meant when not all are, and the rules."""
    stored, planned = session.execute("SELECT suite, n_planned FROM runs WHERE number = ?", (run,))[0]
    rules = CountingRules.of(json.loads(stored))
    source: StoredSource | SqlSource
    try:
        source, left = StoredSource(session, run, request, rules, cache), request.selection.without_columns()
    except KeyError:
        # A small run, one that goes on, or one of whose arrays somebody deleted some.
        source, left = SqlSource(session, run, request, rules, planned), request.selection
    return source, _matching(session, run, left), rules


def _read(
    source: StoredSource | SqlSource,
    matching: Callable[[list[int]], list[int]] | None,
    request: PageRequest,
    deadline: float,
) -> tuple[list[int], int | None, bool]:
    """Positions of a page's samples, the cursor behind them, and whether time did not run out."""
    chosen: list[int] = []
    cursor, limit = request.after, request.limit
    while True:
        places, after = source.next(cursor, limit + 1 if matching is None else 10 * IN_LIMIT)
        for piece in [places] if matching is None else _pieces(places):
            chosen += piece if matching is None else matching(piece)
            if len(chosen) > limit:
                return chosen[:limit], chosen[limit - 1], True
            if time.monotonic() > deadline and piece[-1:] != places[-1:]:
                return chosen, piece[-1], False
        if after is None or time.monotonic() > deadline:
            return chosen, after, after is None
        cursor = after


def _pieces(places: list[int]) -> Iterator[list[int]]:
    """The places in pieces that grow as long as each takes little time, so that large answers are looked at singly."""
    start, size = 0, 20
    while start < len(places):
        began = time.monotonic()
        yield places[start : start + size]
        start += size
        size = min(2 * size, IN_LIMIT) if time.monotonic() - began < TIME / 10 else max(size // 2, 1)


_TEXTS = """
SELECT s.seq, s.case_id, t.text, t.packed FROM samples s LEFT JOIN answers t ON t.run = s.call_run AND t.seq = s.seq
WHERE s.run = ? AND s.seq IN
"""


def _matching(session: Session, run: int, selection: Selection) -> Callable[[list[int]], list[int]] | None:
    """Which of some samples have the component, the check and the text that is asked for; None when nothing is."""
    tests = list(tests_of(session, run, selection))

    def rows(sql: str, places: list[int]) -> list[Any]:
        return session.execute(f"{sql} ({placeholders(places)})", (run, *places))

    if selection.component or selection.below is not None:
        layouts = {
            number: [at for at, (name, *_) in enumerate(layout) if selection.component in ("", name)]
            for number, layout in layouts_of(session, run).items()
        }

        def scored(places: list[int]) -> set[int]:
            sql = "SELECT seq, layout, scores FROM samples WHERE run = ? AND seq IN"
            return {
                seq for seq, layout, scores in rows(sql, places) if _is_scored(layouts[layout], scores, selection.below)
            }

        tests.append(scored)
    if selection.check or selection.state:

        def checked(places: list[int]) -> set[int]:
            sql = "SELECT seq, content FROM checks WHERE run = ? AND seq IN"
            return {seq for seq, content in rows(sql, places) if _is_checked(unpack(Check, content), selection)}

        tests.append(checked)
    if selection.text:
        wanted = selection.text.casefold()

        def contains(places: list[int]) -> set[int]:
            return {
                seq
                for seq, case_id, text, packed in rows(_TEXTS, places)
                if wanted in from_stored(case_id).casefold()
                or wanted in from_stored(unpack_text(text, packed) or "").casefold()
            }

        tests.append(contains)

    def matching(places: list[int]) -> list[int]:
        for test in tests:
            chosen = test(places) if places else set()
            places = [place for place in places if place in chosen]
        return places

    return matching if tests else None


def _is_scored(places: list[int], scores: str, below: float | None) -> bool:
    values = json.loads(scores)
    given = [values[at] for at in places if values[at] is not None]
    return any(below is None or value < below for value in given)


def _is_checked(checks: Sequence[Check], selection: Selection) -> bool:
    return any(
        selection.check in ("", check.name, check.name.partition(":")[0]) and selection.state in ("", check.state)
        for check in checks
    )


_ROWS = f"""
SELECT s.seq, s.case_id, s.variant, s.repeat, s.outcome, s.score, s.passed, s.band, s.category, {LATENCY}, a.cost,
    a.failure_kind, substr(t.text, 1, {5 * HEAD}), substr(t.packed, 1, {BLOCK}), s.mode
FROM samples s JOIN calls a ON a.run = s.call_run AND a.seq = s.seq
LEFT JOIN answers t ON t.run = s.call_run AND t.seq = s.seq
WHERE s.run = ? AND s.seq IN
"""  # noqa: S608 - our own words
_CODES = "SELECT seq, code FROM findings WHERE run = ? AND seq IN"


def _rows(session: Session, run: int, places: Sequence[int], rules: CountingRules) -> Iterator[SampleRow]:
    if not places:
        return
    marks = f"({placeholders(places)})"
    codes: dict[int, dict[str, None]] = {}
    for seq, code in session.execute(f"{_CODES} {marks} ORDER BY seq, position", (run, *places)):
        codes.setdefault(seq, {})[from_stored(code)] = None
    rows = {row[0]: row[1:] for row in session.execute(_ROWS + marks, (run, *places))}
    for place in places:
        case_id, variant, repeat, outcome, score, passed, band, category, *of_call = rows[place]
        latency, cost, failure, text, packed, mode = of_call
        if outcome == Outcome.MALFORMED:
            score, passed, band = 0.0, 0 if rules.has_threshold else passed, band or rules.lowest_band
        head = head_of_text(text, packed, 5 * HEAD)
        yield SampleRow(
            position=place,
            case_id=from_stored(case_id),
            variant=from_stored(variant),
            repeat=repeat,
            outcome=outcome,
            score=score,
            passed=None if passed is None else bool(passed),
            band=from_stored_or_none(band),
            category=from_stored_or_none(category),
            latency=AtLeast(latency) if latency and failure in TIMEOUTS else latency or None,
            cost=cost,
            failure=from_stored_or_none(failure),
            codes=tuple(codes.get(place, ())),
            answer=None if head is None else from_stored(head)[:HEAD],
            excluded=outcome == Outcome.SCORED and rules.mode not in (None, mode),
        )


_DISTINCT = {
    "samples": """SELECT DISTINCT outcome, category, difficulty, band, variant, failure_kind FROM (
SELECT s.*, a.failure_kind FROM samples s JOIN calls a ON a.run = s.call_run AND a.seq = s.seq
WHERE s.run = ? ORDER BY s.seq LIMIT ?) first_samples""",
    "tag": "SELECT DISTINCT tag FROM (SELECT tag FROM tags WHERE run = ? ORDER BY seq LIMIT ?) first_tags",
    "code": "SELECT DISTINCT code FROM (SELECT code FROM findings WHERE run = ? ORDER BY seq LIMIT ?) first_findings",
    "check": "SELECT content FROM checks WHERE run = ? ORDER BY seq LIMIT ? / 100",
}


def choices_of(session: Session, run: int, cache: ArrayCache) -> dict[str, list[str]]:
    """By field of a selection what samples of a run have there; of a run that goes on, the first of them."""
    with suppress(KeyError):
        return StoredColumns(session, run, cache).choices()
    ended = session.execute("SELECT 1 FROM runs WHERE number = ? AND state = 'ended'", (run,))

    def read() -> dict[str, list[str]]:
        most = SMALL if ended else SMALL // 10
        rows = {name: session.execute(sql, (run, most)) for name, sql in _DISTINCT.items()}
        columns = list(zip(*rows["samples"], strict=True)) or [()] * len(CODED)
        values: dict[str, Sequence[Any]] = dict(zip(CODED, columns, strict=True))
        values |= {name: [text for (text,) in rows[name]] for name in ("tag", "code")}
        result = {name: sorted({from_stored(text) for text in texts if text}) for name, texts in values.items()}
        result["component"] = sorted({name for layout in layouts_of(session, run).values() for name, *_ in layout})
        result["check"] = sorted({check.name for (content,) in rows["check"] for check in unpack(Check, content)})
        return result

    return dict(cache.get((run, "choices"), read)) if ended else read()
