"""The samples of a page by SQL: of a run whose columns are not stored, since it is small or goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.records import TIMEOUTS, Outcome
from steelyard.store.databases import Session, placeholders
from steelyard.store.samples import INCONCLUSIVE, timed
from steelyard.store.selection import CONCLUSIVE, Selection
from steelyard.store.selection import INCONCLUSIVE as ANY_INCONCLUSIVE
from steelyard.store.stored_paging import CountingRules, PageRequest, no_such_place, span_of
from steelyard.store.stored_text import to_stored
from steelyard.suite.case import NONE

SMALL = 20_000
"""Samples that are counted by SQL at once, and positions that are looked at together."""
LATENCY = timed("a.latency", "a.failure_kind")
_SCORE = f"CASE WHEN s.outcome = '{Outcome.MALFORMED}' THEN 0.0 ELSE s.score END"
_LAST = 9e99
"""Comes after every score and every latency."""
_KEYS = {
    "plan": "s.seq",
    "case": "s.case_id",
    "score": f"coalesce({{sign}} {_SCORE}, {_LAST})",
    "latency": f"coalesce({{sign}} {LATENCY}, {_LAST})",
}
_ANSWERED = f"a.cached = 0 AND s.outcome <> '{Outcome.TARGET_FAILED}' AND {LATENCY}"
_CALLED = f"a.cached = 0 AND (s.outcome <> '{Outcome.TARGET_FAILED}' OR a.failure_kind IN {TIMEOUTS}) AND {LATENCY}"
_CONDITIONS = {
    "passed": f"CASE WHEN s.outcome = '{Outcome.MALFORMED}' AND ? THEN 0 ELSE s.passed END = ?",
    "band": f"coalesce(s.band, CASE WHEN s.outcome = '{Outcome.MALFORMED}' THEN ? END) = ?",
    "tag": "EXISTS (SELECT 1 FROM tags g WHERE g.run = s.run AND g.seq = s.seq AND g.tag = ?)",
    "code": "EXISTS (SELECT 1 FROM findings f WHERE f.run = s.run AND f.seq = s.seq AND f.code = ?)",
    "failure": "a.failure_kind = ?",
    "case": "s.case_id = ?",
    "min_score": f"{_SCORE} >= ?",
    "max_score": f"{_SCORE} <= ?",
    "min_latency": f"{_CALLED} >= ?",
    "max_latency": f"{_ANSWERED} <= ?",
}


def _conditions(selection: Selection, rules: CountingRules) -> Iterator[tuple[str, list[Any]]]:
    """What SQL can tell of a selection."""
    lowest = None if rules.lowest_band is None else to_stored(rules.lowest_band)
    before: dict[str, list[Any]] = {"passed": [rules.has_threshold], "band": [lowest]}
    for name, value in selection.given().items():
        if name in ("category", "difficulty", "variant"):
            none = f"coalesce(s.{name}, '{NONE}') IN ('', '{NONE}')"
            yield (none, []) if value == NONE else (f"s.{name} = ?", [to_stored(value)])
        elif name == "outcome" and value == ANY_INCONCLUSIVE:
            # That it is not scored is said as the index says it.
            yield f"s.outcome <> 'scored' AND s.outcome IN ({placeholders(INCONCLUSIVE)})", list(INCONCLUSIVE)
        elif name == "outcome" and value != CONCLUSIVE:
            scored = " AND s.outcome <> 'scored'" if value != Outcome.SCORED else ""
            yield f"s.outcome = ?{scored}", [to_stored(value)]
        elif name in _CONDITIONS:
            stored = to_stored(value) if isinstance(value, str) else int(value) if name == "passed" else value
            yield _CONDITIONS[name], [*before.get(name, ()), stored]
    if selection.asks_conclusive:
        of_mode = "" if rules.mode is None else " AND s.mode = ?"
        yield f"(s.outcome = 'malformed' OR s.outcome = 'scored'{of_mode})", [] if rules.mode is None else [rules.mode]


class SqlSource:
    """A run whose columns are not stored: one that is small, or goes on."""

    def __init__(self, session: Session, run: int, request: PageRequest, rules: CountingRules, planned: int) -> None:
        self._session, self._run, self._request = session, run, request
        parts = list(_conditions(request.selection, rules))
        self._values = [run, *(value for _, values in parts for value in values)]
        key = _KEYS[request.order].format(sign="-" if request.descending else "")
        where = " AND ".join(["s.run = ?", *(sql for sql, _ in parts)])
        calls = " JOIN calls a ON a.run = s.call_run AND a.seq = s.seq" if "a." in where + key else ""
        self._key, self._from, self._where = key, f"FROM samples s{calls}", where
        self._first, self._last = span_of(session, run)
        self._few = self._last - self._first < SMALL
        self._planned = max(planned, self._last + 1)
        self.total = session.execute("SELECT count(*) FROM samples WHERE run = ?", (run,))[0][0] if self._few else None

    def next(self, cursor: int | None, n: int) -> tuple[list[int], int | None]:
        down = self._request.reads_down
        where, values = self._where, list(self._values)
        end = None
        if self._request.order == "plan":
            # Not further than this at a time: what is rare would otherwise be looked for in the whole run.
            start = cursor if cursor is not None else self._last + 1 if down else self._first - 1
            end = start - SMALL if down else start + SMALL
            where += " AND s.seq < ? AND s.seq >= ?" if down else " AND s.seq > ? AND s.seq <= ?"
            values += [start, end]
        elif cursor is not None:
            where += f" AND ({self._key}, s.seq) {'<' if down else '>'} (?, ?)"
            values += [self._key_at(cursor), cursor]
        way = "DESC" if down else "ASC"
        sql = f"SELECT s.seq {self._from} WHERE {where} ORDER BY {self._key} {way}, s.seq {way} LIMIT ?"
        places = [row[0] for row in self._session.execute(sql, (*values, n))]
        if len(places) == n:
            return places, places[-1]
        over = end is None or (end <= self._first if down else end >= self._last)
        return places, None if over else end

    def _key_at(self, cursor: int) -> Any:
        calls = "JOIN calls a ON a.run = s.call_run AND a.seq = s.seq"
        sql = f"SELECT {self._key} FROM samples s {calls} WHERE s.run = ? AND s.seq = ?"  # noqa: S608 - our own words
        rows = self._session.execute(sql, (self._run, cursor))
        if not rows:
            raise no_such_place(cursor)
        return rows[0][0]

    def count(self) -> int | None:
        if not self._few:
            return None
        sql = f"SELECT count(*) {self._from} WHERE {self._where}"
        return int(self._session.execute(sql, self._values)[0][0])

    def passed(self, cursor: int) -> tuple[int, int] | None:
        if self._request.order != "plan":
            return None
        return (self._last - cursor if self._request.reads_down else cursor - self._first) + 1, self._planned
