"""What only some samples of a run have, as columns: claims, checks and items, packed as one text per sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from steelyard.records import Check, CheckState, Claim, Item
from steelyard.store.base import Checks, ClaimColumns
from steelyard.store.codec import Row, unpack, unpacked_columns
from steelyard.store.databases import Database, Session, pages_of
from steelyard.store.samples import PAGE

_PLACES = "SELECT seq FROM samples WHERE run = ? ORDER BY seq"
_RANGE = "SELECT count(*), min(seq), max(seq) FROM samples WHERE run = ?"
_NEXT_ITEMS = "SELECT seq, content FROM items WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?"


def _places_of(session: Session, run: int) -> np.ndarray:
    """The place in the plan of every sample, in order: its index here is its position in `Columns`."""
    n, first, last = session.execute(_RANGE, (run,))[0]
    if last - first + 1 == n:
        # Nothing was left out of the plan: no need to read what can be counted.
        return np.arange(first, last + 1)
    pieces = [np.array(rows, dtype=np.int64).ravel() for rows in session.stream(_PLACES, (run,), 20_000)]
    return np.concatenate(pieces)


def _packed_pieces(
    session: Session, run: int, table: str, kind: type[Any]
) -> Iterator[tuple[np.ndarray, list[list[Any]]]]:
    """The records of some samples at a time: for each the position of its sample, and the values of each field."""
    places: np.ndarray | None = None
    sql = f"SELECT seq, content FROM {table} WHERE run = ? ORDER BY seq"  # noqa: S608 - our own names
    for rows in session.stream(sql, (run,), PAGE):
        if places is None:
            places = _places_of(session, run)
        seqs, texts = zip(*rows, strict=True)
        parsed = json.loads(f"[{','.join(texts)}]")
        lengths = [len(columns[0]) if columns else 0 for columns in parsed]
        samples = np.searchsorted(places, np.array(seqs)).astype(np.uint32)
        yield np.repeat(samples, lengths), unpacked_columns(kind, parsed)


def _codes_of(texts: Sequence[str], codes: dict[str, int]) -> np.ndarray:
    """Codes of the texts, each new one taking the next."""
    for text in dict.fromkeys(texts):
        codes.setdefault(text, len(codes))
    return np.fromiter(map(codes.__getitem__, texts), np.uint32, len(texts))


def _joined(pieces: Sequence[tuple[np.ndarray, ...]], types: str) -> list[np.ndarray]:
    """The columns of all pieces, of these types also where there are none."""
    return [
        np.concatenate([np.zeros(0, dtype=kind), *[piece[at] for piece in pieces]]) for at, kind in enumerate(types)
    ]


def read_claims(session: Session, run: int) -> ClaimColumns:
    """All claims of a run as columns, in the order of its plan."""
    labels: dict[str, int] = {}
    pieces = []
    for samples, (confidences, right, label) in _packed_pieces(session, run, "claims", Claim):
        # Not stated is NaN; a confidence that came as no number is NaN too, and told apart by `stated`.
        numbers = np.array(confidences, dtype=float)
        stated = np.ones(len(numbers), dtype=bool)
        for at in np.flatnonzero(np.isnan(numbers)):
            stated[at] = confidences[at] is not None
        pieces.append((samples, numbers, np.array(right, dtype=bool), stated, _codes_of(label, labels)))
    sample, confidence, is_right, is_stated, codes = _joined(pieces, "Id??I")
    return ClaimColumns(
        sample=sample, confidence=confidence, right=is_right, stated=is_stated, label=codes, labels=list(labels)
    )


def read_checks(session: Session, run: int) -> Checks:
    """All checks of a run as columns, in the order of its plan."""
    names: dict[str, int] = {}
    details: dict[str, int] = {}
    states = {state.value: code for code, state in enumerate(CheckState)}
    pieces = []
    for samples, (name, state, detail, *figures) in _packed_pieces(session, run, "checks", Check):
        codes = np.fromiter(map(states.__getitem__, state), np.uint8, len(state))
        numbers = [np.array(column, dtype=float) for column in figures]
        pieces.append((samples, _codes_of(name, names), codes, _codes_of(detail, details), *numbers))
    sample, name_codes, state_codes, detail_codes, value, low, high = _joined(pieces, "IIBIddd")
    return Checks(
        sample=sample,
        name=name_codes,
        names=list(names),
        state=state_codes,
        states=list(states),
        detail=detail_codes,
        details=list(details),
        value=value,
        low=low,
        high=high,
    )


def items_of(database: Database, run: int) -> Iterator[tuple[int, tuple[Item, ...]]]:
    """The items of a run's answers with the positions of their samples, in the order of its plan, a transaction a page.

    The positions are those at the first page: what a run adds after that is left out.
    """
    places: np.ndarray | None = None

    def read(seq: int) -> tuple[list[Row], int]:
        nonlocal places
        with database.reading() as session:
            rows = session.execute(_NEXT_ITEMS, (run, seq, PAGE))
            places = _places_of(session, run) if rows and places is None else places
        return rows, rows[-1][0] if rows else seq

    for rows in pages_of(lambda seq: database.outlast(partial(read, seq)), -1):
        assert places is not None  # noqa: S101 - read with the first page
        seqs = np.array([seq for seq, _text in rows])
        where = np.searchsorted(places, seqs)
        there = places[np.minimum(where, len(places) - 1)] == seqs
        for position, (_seq, text) in compress(zip(where.tolist(), rows, strict=True), there.tolist()):
            yield position, unpack(Item, text)
