"""A run's samples as numpy columns, read in pieces: memory grows with the numbers, never with the answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.records import Outcome
from steelyard.store.base import Columns
from steelyard.store.database import Row, Session
from steelyard.store.load import layouts_of
from steelyard.store.rows import Layout
from steelyard.store.text import from_stored

PIECE = 1_000
"""Rows read at a time: few enough to stay in the processor's cache, which is twice as fast as 20,000."""

_SAMPLES = """
SELECT seq, case_id, variant, repeat, outcome, score, passed, band, category, difficulty, rung, layout, scores
FROM samples WHERE run = ? ORDER BY seq
"""
_OWNERS = "SELECT DISTINCT attempt_run FROM samples WHERE run = ?"
_ATTEMPTS = """
SELECT seq, CASE WHEN failure_kind IS NULL THEN latency END, tokens_in, tokens_out, cost, failure_kind
FROM attempts WHERE run = ? ORDER BY seq
"""
_FINDINGS = "SELECT seq, code FROM findings WHERE run = ? ORDER BY seq, position"
_TAGS = "SELECT seq, tag FROM tags WHERE run = ? ORDER BY seq, position"


class _Names:
    """Gives each text its code, in the order of first appearance; an absent text is -1."""

    def __init__(self, first: Sequence[str] = ()) -> None:
        self._known: dict[str | None, int] = {None: -1}
        self.texts: list[str] = []
        self.codes(first)

    def codes(self, texts: Sequence[str | None]) -> np.ndarray:
        known = self._known
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(fresh, range(len(self.texts), len(self.texts) + len(fresh)), strict=True))
        self.texts.extend(from_stored(text) for text in fresh if text is not None)
        return np.array([known[text] for text in texts], dtype=np.int32)


class _Pieces:
    """Arrays that arrive in pieces and leave as one."""

    def __init__(self, *names: str) -> None:
        self._pieces: dict[str, list[np.ndarray]] = {name: [] for name in names}

    def add(self, name: str, piece: np.ndarray) -> None:
        self._pieces[name].append(piece)

    def whole(self, name: str, dtype: type) -> np.ndarray:
        pieces = self._pieces.pop(name)
        return np.concatenate(pieces) if pieces else np.empty(0, dtype=dtype)


def read_columns(session: Session, run: int, suite: dict[str, Any]) -> Columns:
    """The columns of a run, as `base.Columns` describes them."""
    components = [component["name"] for component in suite.get("components", ())]
    layouts = layouts_of(session, run)
    for layout in layouts.values():
        components.extend(name for name, _weight in layout if name not in components)
    names = {column: _Names() for column in ("case_id", "variant", "category", "difficulty", "rung")}
    names["outcome"] = _Names([outcome.value for outcome in Outcome])
    names["band"] = _Names([band["name"] for band in suite.get("bands", ())])
    pieces = _Pieces("seq", "repeat", "score", "passed", *names, *(f"component {name}" for name in components))
    for rows in session.stream(_SAMPLES, (run,), PIECE):
        _take_samples(rows, names, pieces, layouts, components)
    seq = pieces.whole("seq", np.int64)
    columns = Columns(
        n=len(seq),
        case=pieces.whole("case_id", np.int32),
        case_ids=names["case_id"].texts,
        variant=pieces.whole("variant", np.int32),
        variants=names["variant"].texts,
        repeat=pieces.whole("repeat", np.int32),
        outcome=pieces.whole("outcome", np.int32),
        outcomes=names["outcome"].texts,
        score=pieces.whole("score", float),
        passed=pieces.whole("passed", np.int8),
        band=pieces.whole("band", np.int32),
        bands=names["band"].texts,
        category=pieces.whole("category", np.int32),
        categories=names["category"].texts,
        difficulty=pieces.whole("difficulty", np.int32),
        difficulties=names["difficulty"].texts,
        tag_sample=np.empty(0, dtype=np.int64),
        tag=np.empty(0, dtype=np.int32),
        tags=[],
        components={name: pieces.whole(f"component {name}", float) for name in components},
        rung=pieces.whole("rung", np.int32),
        rungs=names["rung"].texts,
    )
    columns.tag_sample, columns.tag, columns.tags = _listed(session, _TAGS, run, seq)
    columns.finding_sample, columns.finding_code, columns.finding_codes = _listed(session, _FINDINGS, run, seq)
    _take_attempts(session, run, seq, columns)
    return columns


def _take_samples(
    rows: list[Row], names: dict[str, _Names], pieces: _Pieces, layouts: dict[int, Layout], components: list[str]
) -> None:
    (seq, case_id, variant, repeat, outcome, score, passed, band, category, difficulty, rung, layout, scores) = zip(
        *rows, strict=True
    )
    pieces.add("seq", np.array(seq, dtype=np.int64))
    pieces.add("repeat", np.array(repeat, dtype=np.int32))
    pieces.add("score", np.array(score, dtype=float))
    pieces.add("passed", np.array([-1 if p is None else p for p in passed], dtype=np.int8))
    texts = {
        "case_id": case_id,
        "variant": variant,
        "outcome": outcome,
        "band": band,
        "category": category,
        "difficulty": difficulty,
        "rung": rung,
    }
    for name, values in texts.items():
        pieces.add(name, names[name].codes(values))
    values_of = {name: np.full(len(rows), np.nan) for name in components}
    layout_codes = np.array(layout)
    for number in np.unique(layout_codes):
        where = np.flatnonzero(layout_codes == number)
        parsed = json.loads("[" + ",".join([scores[position] for position in where]) + "]")
        matrix = np.array(parsed, dtype=float).reshape(len(where), -1)
        for position, (name, _weight) in enumerate(layouts[int(number)]):
            values_of[name][where] = matrix[:, position]
    for name, column in values_of.items():
        pieces.add(f"component {name}", column)


def _listed(session: Session, sql: str, run: int, seq: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Positions of samples and codes of the texts listed for them."""
    names, pieces = _Names(), _Pieces("seq", "code")
    for rows in session.stream(sql, (run,), PIECE):
        seqs, texts = zip(*rows, strict=True)
        pieces.add("seq", np.array(seqs, dtype=np.int64))
        pieces.add("code", names.codes(texts))
    where = np.searchsorted(seq, pieces.whole("seq", np.int64))
    return where, pieces.whole("code", np.int32), names.texts


def _take_attempts(session: Session, run: int, seq: np.ndarray, columns: Columns) -> None:
    """Numbers of the attempts, which a rescored run shares with an earlier one that may hold more of them."""
    numbers = np.full((4, len(seq)), np.nan)
    failure, names = np.full(len(seq), -1, dtype=np.int32), _Names()
    owners = [row[0] for row in session.execute(_OWNERS, (run,))]
    for owner in owners:
        for rows in session.stream(_ATTEMPTS, (owner,), PIECE):
            seqs, *values, kinds = zip(*rows, strict=True)
            found = np.array(seqs, dtype=np.int64)
            where = np.searchsorted(seq, found)
            here = (where < len(seq)) & (seq[np.minimum(where, len(seq) - 1)] == found)
            numbers[:, where[here]] = np.array(values, dtype=float)[:, here]
            failure[where[here]] = names.codes(kinds)[here]
    columns.latency, columns.tokens_in, columns.tokens_out, columns.cost = numbers
    columns.failure, columns.failures = failure, names.texts
