"""The samples of a selection in an order, from the stored columns of a large run that has ended.

Only the arrays that the selection and the order need are read, and kept for the next page.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import compress
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.records import TIMEOUTS, Mode, Outcome
from steelyard.store import stored_columns
from steelyard.store.databases import Session
from steelyard.store.selection import CONCLUSIVE, INCONCLUSIVE, Selection
from steelyard.store.stored_text import to_stored
from steelyard.suite.case import NONE

ORDERS = ("plan", "score", "latency", "case")
"""Lowest first; samples without a score or a latency come last, also where the order is turned round."""
CODED = {
    "outcome": "outcomes",
    "category": "categories",
    "difficulty": "difficulties",
    "band": "bands",
    "variant": "variants",
    "failure": "failures",
}
"""Columns of codes, by field of a selection, with the column of their names."""
_LISTED = {"tag": ("tag_sample", "tag", "tags"), "code": ("finding_sample", "finding_code", "finding_codes")}
_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "min_score": ("score", np.greater_equal),
    "max_score": ("score", np.less_equal),
    "min_latency": ("latency", np.greater_equal),
    "max_latency": ("latency", np.less_equal),
}
# Apart: SQLite finds each at an end of the index, and both in one SELECT by reading the whole run.
_SPAN = "SELECT (SELECT min(seq) FROM samples WHERE run = ?), (SELECT max(seq) FROM samples WHERE run = ?)"
_PLACES = "SELECT seq FROM samples WHERE run = ? ORDER BY seq"
# In the order of the index over cases: without it SQLite reads the whole run.
_OF_CASE = "SELECT seq FROM samples WHERE run = ? AND case_id = ? ORDER BY case_id, variant, repeat"
_CACHE_BYTES = 64_000_000


@frozen
class PageRequest:
    """Which samples of a run, and from where on: after a cursor, or with `back` before it."""

    selection: Selection = Selection()
    order: str = "plan"
    descending: bool = False
    after: int | None = None
    back: bool = False
    limit: int = 50

    @property
    def reads_down(self) -> bool:
        """Whether samples that are otherwise alike come last position first.

        A descending order of figures reads up: the figures are negative, so that those that are absent stay last.
        """
        return self.back != (self.descending and self.order in ("plan", "case"))


@frozen
class CountingRules:
    """What reports count as what, as `metrics/table.py` has it, of one suite."""

    mode: str | None
    """The run's own kind of judge: what another one scored is not conclusive."""
    has_threshold: bool
    """Then a malformed answer has not passed."""
    lowest_band: str | None
    """The band of malformed answers."""

    @classmethod
    def of(cls, suite: dict[str, Any]) -> CountingRules:
        judge = suite.get("judge")
        lowest = [band["name"] for band in suite.get("bands", ()) if band["at_least"] <= 0]
        mode = None if judge is None else judge.get("mode", Mode.MODEL)
        return cls(mode, suite.get("passing") is not None, lowest[-1] if lowest else None)


class ArrayCache:
    """Arrays of runs that have ended; those that were not asked for the longest time are forgotten first."""

    def __init__(self, most: int = _CACHE_BYTES) -> None:
        self._most, self._size = most, 0
        self._lock = threading.Lock()
        self._arrays: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def get(self, key: tuple[Any, ...], read: Callable[[], Any]) -> Any:
        with self._lock:
            if key in self._arrays:
                self._arrays.move_to_end(key)
                return self._arrays[key]
        value = read()
        with self._lock:
            if key not in self._arrays:
                self._size += _size_of(value)
            self._arrays[key] = value
            while self._size > self._most and len(self._arrays) > 1:
                self._size -= _size_of(self._arrays.popitem(last=False)[1])
        return value


def _size_of(value: Any) -> int:
    return int(getattr(value, "nbytes", 10_000))


def span_of(session: Session, run: int) -> tuple[int, int]:
    """The first and the last position of a run's samples; of none, positions between which there is nothing."""
    first, last = session.execute(_SPAN, (run, run))[0]
    return (0, -1) if last is None else (first, last)


def no_such_place(position: int) -> UsageError:
    """The mistake of a cursor that is none."""
    return UsageError(f"there is no sample at position {position} to go on from: begin with the first page")


class StoredColumns:
    """The stored columns of a run, each read when it is asked for; KeyError when they are not there."""

    def __init__(self, session: Session, run: int, cache: ArrayCache) -> None:
        self._session, self._run, self._cache = session, run, cache
        self.texts = self.texts_of(stored_columns.COLUMNS)
        self.n: int = self.texts["n"]

    def texts_of(self, part: str) -> dict[str, Any]:
        """All of a part that is no array."""
        read = stored_columns.stored_texts
        texts: dict[str, Any] = self._cache.get((self._run, part), lambda: read(self._session, self._run, part))
        return texts

    def array(self, name: str, part: str = stored_columns.COLUMNS) -> np.ndarray:
        read = stored_columns.stored_array
        key = (self._run, part, name)
        result: np.ndarray = self._cache.get(key, lambda: read(self._session, self._run, part, name))
        return result

    def places(self) -> tuple[int, np.ndarray | None]:
        """The first position of the plan; and all of them, where some are left out."""
        first, last = span_of(self._session, self._run)
        if last - first + 1 == self.n:
            return first, None

        def read() -> np.ndarray:
            rows = self._session.stream(_PLACES, (self._run,), 20_000)
            return np.concatenate([np.array(piece, dtype=np.int64).ravel() for piece in rows])

        return first, self._cache.get((self._run, "places"), read)

    def places_of_case(self, case_id: str) -> list[int]:
        return [row[0] for row in self._session.execute(_OF_CASE, (self._run, to_stored(case_id)))]

    def masks(self, selection: Selection, rules: CountingRules) -> Iterator[np.ndarray]:
        """For each thing that is asked for, the samples that have it; a case and a text are not looked at."""
        given = selection.given()
        for name in given.keys() & {*CODED, *_LISTED, *_BOUNDS, "passed"}:
            yield self._mask(name, given[name], rules)
        if "component" in given or "below" in given:
            yield self._scored(selection.component, selection.below)
        if "check" in given or "state" in given:
            yield self._checked(selection.check, selection.state)
        if "min_latency" in given or "max_latency" in given:
            there = ~self._is_named("outcome", Outcome.TARGET_FAILED)
            if "max_latency" not in given:
                # Of a call that timed out is known how long it took at least.
                for kind in TIMEOUTS:
                    there |= self._is_named("failure", kind)
            yield there & ~self.array("cached")
        if selection.asks_conclusive:
            yield self._conclusive(rules.mode)

    def _mask(self, name: str, value: Any, rules: CountingRules) -> np.ndarray:
        if name == "outcome" and value in (INCONCLUSIVE, CONCLUSIVE):
            failed = self._is_named(name, Outcome.TARGET_FAILED) | self._is_named(name, Outcome.JUDGE_FAILED)
            return np.asarray(failed if value == INCONCLUSIVE else ~failed)
        if name in _LISTED:
            samples, codes, names = _LISTED[name]
            return self.marked(self.array(samples)[self.array(codes) == _code(self.texts[names], value)])
        if name in _BOUNDS:
            column, compare = _BOUNDS[name]
            return np.asarray(compare(self.figures(column), value))
        malformed = self._is_named("outcome", Outcome.MALFORMED)
        if name == "passed":
            passed = self.array("passed")
            return np.where(malformed & rules.has_threshold, not value, passed == int(value))
        here = self._is_named(name, value)
        if name == "band" and value == rules.lowest_band:
            here = here | (malformed & (self.array("band") < 0))
        return here

    def figures(self, column: str) -> np.ndarray:
        """Scores, or latencies; what is malformed scored 0."""
        values = self.array(column).astype(float)
        if column == "score":
            values[self._is_named("outcome", Outcome.MALFORMED)] = 0.0
        return values

    def marked(self, where: np.ndarray) -> np.ndarray:
        mask = np.zeros(self.n, dtype=bool)
        mask[where] = True
        return mask

    def _is_named(self, column: str, name: str) -> np.ndarray:
        codes, names = self.array(column), self.texts[CODED[column]]
        if name != NONE:
            return np.asarray(codes == _code(names, name))
        return np.isin(codes, [-1, *(code for code, text in enumerate(names) if text in ("", NONE))])

    def _conclusive(self, mode: str | None) -> np.ndarray:
        scored = self._is_named("outcome", Outcome.SCORED)
        if mode is not None:
            scored = scored & (self.array("mode") == _code(self.texts["modes"], mode))
        return np.asarray(scored | self._is_named("outcome", Outcome.MALFORMED))

    def _scored(self, component: str, below: float | None) -> np.ndarray:
        mask = np.zeros(self.n, dtype=bool)
        for name, stored in self.texts["components"].items():
            if component in ("", name):
                values = self.array(stored)
                mask |= ~np.isnan(values) if below is None else values.astype(float) < below
        return mask

    def _checked(self, check: str, state: str) -> np.ndarray:
        texts = self.texts_of(stored_columns.CHECKS)
        samples = self.array("sample", stored_columns.CHECKS)
        chosen: np.ndarray = np.ones(len(samples), dtype=bool)
        if check:
            named = [at for at, name in enumerate(texts["names"]) if check in (name, name.partition(":")[0])]
            chosen &= np.isin(self.array("name", stored_columns.CHECKS), named)
        if state:
            chosen &= self.array("state", stored_columns.CHECKS) == _code(texts["states"], state)
        return self.marked(samples[chosen])

    def choices(self) -> dict[str, list[str]]:
        """By field of a selection what samples have there."""

        def read() -> dict[str, list[str]]:
            result = {name: self.texts[names] for name, (_, _, names) in _LISTED.items()}
            for name, names in CODED.items():
                present = np.zeros(len(self.texts[names]) + 1, dtype=bool)
                # The last is of samples that have none.
                present[self.array(name)] = True
                result[name] = list(compress(self.texts[names], present[:-1].tolist()))
            result["component"] = list(self.texts["components"])
            result["check"] = self.texts_of(stored_columns.CHECKS)["names"]
            return {name: sorted(filter(None, texts)) for name, texts in result.items()}

        return dict(self._cache.get((self._run, "choices"), read))


def _code(names: list[str], name: str) -> int:
    """The code of a name; one that nothing has where it is not known."""
    return names.index(name) if name in names else -2


class StoredSource:
    """The samples of a selection in the order asked for; KeyError when the run's columns are not stored."""

    def __init__(
        self, session: Session, run: int, request: PageRequest, rules: CountingRules, cache: ArrayCache
    ) -> None:
        columns = StoredColumns(session, run, cache)
        self.total = columns.n
        self._first, self._places = columns.places()
        self._down = request.reads_down
        masks = list(columns.masks(request.selection, rules))
        if request.selection.case:
            places = columns.places_of_case(request.selection.case)
            masks.append(columns.marked(np.array([self._index_of(place) for place in places], dtype=int)))
        self._index = np.flatnonzero(np.logical_and.reduce(masks)) if masks else np.arange(self.total)
        if self._down:
            self._index = self._index[::-1]
        self._all_keys = self._keys(columns, request)
        self._key = self._all_keys
        if self._all_keys is not None and (masks or self._down):
            self._key = self._all_keys[self._index]

    def _keys(self, columns: StoredColumns, request: PageRequest) -> np.ndarray | None:
        """What each sample of the run is ordered by; None for its position."""
        if request.order == "plan":
            return None
        if request.order == "case":
            key = columns.array("case").astype(np.int64)
        else:
            key = columns.figures(request.order)
            if request.descending:
                np.negative(key, out=key)
            key[np.isnan(key)] = np.inf
        return np.negative(key, out=key) if self._down else key

    def _index_of(self, position: int) -> int:
        at = position - self._first if self._places is None else int(np.searchsorted(self._places, position))
        if not 0 <= at < self.total or (self._places is not None and self._places[at] != position):
            raise no_such_place(position)
        return at

    def _later(self, cursor: int) -> np.ndarray:
        """Which of the samples come after a cursor."""
        at = self._index_of(cursor)
        later = self._index < at if self._down else self._index > at
        if self._key is None or self._all_keys is None:
            return later
        key = self._all_keys[at]
        result: np.ndarray = (self._key > key) | ((self._key == key) & later)
        return result

    def next(self, cursor: int | None, n: int) -> tuple[list[int], int | None]:
        """Positions of up to n samples after a cursor, and the cursor behind them; None at the end."""
        index, key = self._index, self._key
        if cursor is not None:
            later = self._later(cursor)
            index, key = index[later], None if key is None else key[later]
        chosen = index[:n] if key is None else index[_lowest(key, n)]
        positions: list[int] = (chosen + self._first if self._places is None else self._places[chosen]).tolist()
        return positions, positions[-1] if len(index) > n else None

    def count(self) -> int | None:
        """How many samples there are."""
        return len(self._index)

    def passed(self, cursor: int) -> tuple[int, int] | None:
        """How many there are up to a cursor, of how many."""
        return len(self._index) - int(self._later(cursor).sum()), len(self._index)


def _lowest(key: np.ndarray, n: int) -> np.ndarray:
    """Where the n lowest are, lowest first, those that are alike as they stand; without sorting all others."""
    places = np.arange(len(key))
    if len(key) > n:
        bound = np.partition(key, n - 1)[n - 1]
        below = np.flatnonzero(key < bound)
        places = np.concatenate([below, np.flatnonzero(key == bound)[: n - len(below)]])
    return places[np.argsort(key[places], kind="stable")]
