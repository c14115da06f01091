"""A run's samples as numpy columns, read in pieces: memory grows with the numbers, never with the answers."""

from __future__ import annotations

import json
import operator
import zlib
from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import compress
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from steelyard.records import Outcome
from steelyard.store.base import Columns
from steelyard.store.codec import Row
from steelyard.store.databases import Session
from steelyard.store.samples import timed
from steelyard.store.score_layouts import Layout, layouts_of
from steelyard.store.stored_text import MARK, from_stored

if TYPE_CHECKING:
    from steelyard.suite.models import SuiteModel

WHOLE = (np.int8, np.int16, np.int32, np.int64)
REAL = (np.float16, np.float32, np.float64)


class NarrowColumn:
    """Values in the narrowest type that holds all of them exactly; what was not put is absent (-1 or NaN)."""

    def __init__(self, n: int, kinds: Sequence[type] = WHOLE) -> None:
        self._wider = list(kinds[1:])
        self.values: np.ndarray = np.full(n, np.nan if kinds is REAL else -1, dtype=kinds[0])

    def put(self, where: slice | np.ndarray, piece: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            while not np.array_equal(piece.astype(self.values.dtype), piece, equal_nan=True):
                self.values = self.values.astype(self._wider.pop(0))
        self.values[where] = piece


class Names:
    """Gives each text its code, in the order of first appearance; an absent text is -1."""

    def __init__(self, first: Sequence[str] = ()) -> None:
        self._available: dict[str | None, int] = {None: -1}
        self.texts: list[str] = []
        self.codes(first)

    def codes(self, texts: Sequence[str | None]) -> np.ndarray:
        try:
            return np.fromiter(map(self._available.__getitem__, texts), np.int64, len(texts))
        except KeyError:
            for text in dict.fromkeys(texts):
                if text is not None and text not in self._available:
                    self._available[text] = len(self.texts)
                    self.texts.append(from_stored(text))
            return self.codes(texts)


class PackedTexts(Sequence[str]):
    """Many sorted texts, packed together: a million ids would be a hundred million bytes as strings."""

    _PACK = 500

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._loose: list[str] = []
        self._last: tuple[int, list[str]] = (-1, [])
        """The pack that was unpacked last: whoever asks for one text after the other mostly stays in it."""

    def extend(self, stored: Sequence[str]) -> None:
        self._loose.extend(stored)
        while len(self._loose) >= self._PACK:
            # No stored text contains this character.
            self._packed.append(zlib.compress("\0".join(self._loose[: self._PACK]).encode(), 1))
            del self._loose[: self._PACK]

    @classmethod
    def of(cls, packs: list[bytes], loose: list[str]) -> PackedTexts:
        """The texts that `packs` gave."""
        result = cls()
        result._packed, result._loose = packs, loose
        return result

    def packs(self) -> tuple[list[bytes], list[str]]:
        """The texts as they are packed, and those that make no whole pack."""
        return self._packed, self._loose

    def __eq__(self, other: object) -> bool:
        """Whether these are packed of the same texts, found out without unpacking any."""
        return isinstance(other, PackedTexts) and self.packs() == other.packs()

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._packed) * self._PACK + len(self._loose)

    def __iter__(self) -> Iterator[str]:
        # One by one each pack would be unpacked 500 times.
        for packed in self._packed:
            texts = zlib.decompress(packed).decode()
            # Nearly always nothing is marked, and one look at all of them is 20 times as fast as one at each.
            yield from map(from_stored, texts.split("\0")) if MARK in texts else texts.split("\0")
        yield from map(from_stored, self._loose)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        pack, at = divmod(range(len(self))[place], self._PACK)
        return from_stored((self._loose if pack == len(self._packed) else self._unpacked(pack))[at])

    def _unpacked(self, pack: int) -> list[str]:
        last, texts = self._last
        if last != pack:
            texts = zlib.decompress(self._packed[pack]).decode().split("\0")
            self._last = pack, texts
        return texts


PIECE = 1_000
"""Rows read at a time: few enough to stay in the processor's cache, which is twice as fast as 20,000."""

_SIZE = "SELECT count(*) FROM samples WHERE run = ?"
_SAMPLES = """
SELECT seq, case_id, repeat, score, passed, variant, outcome, band, category, difficulty, step, mode, cluster, layout,
    scores
FROM samples WHERE run = ? ORDER BY seq
"""
_TEXTS = ("variant", "outcome", "band", "category", "difficulty", "step", "mode", "cluster")
_BY_CASE = "SELECT case_id, seq FROM samples WHERE run = ? ORDER BY case_id"
_OWNERS = "SELECT DISTINCT call_run FROM samples WHERE run = ?"
_CALLS = "SELECT seq, failure_kind, {} FROM calls WHERE run = ? ORDER BY seq"
_NUMBERS = {
    "latency": timed("latency", "failure_kind"),
    "tokens_in": "tokens_in",
    "tokens_out": "tokens_out",
    "cost": "cost",
}
_RARE_NUMBERS = {
    "first_byte": "first_byte",
    "first_token": "first_token",
    "queued": "queued",
    "cached": "cached",
    "tries": "tries",
    "made_at": "made_at",
    "provider_cached": "provider_cached",
    "error_answer": "CASE WHEN failure_kind IS NULL AND status >= 400 THEN 1 END",
}
_HAS_RARE = """
SELECT 1 FROM calls WHERE run = ? AND
(first_byte IS NOT NULL OR first_token IS NOT NULL OR queued IS NOT NULL OR cached <> 0
OR tries <> 1 OR provider_cached <> 0 OR (failure_kind IS NULL AND status >= 400)) LIMIT 1
"""
_N_FINDINGS = "SELECT count(*) FROM findings WHERE run = ?"
_FINDINGS = "SELECT seq, code, component, gain, section FROM findings WHERE run = ? ORDER BY seq, position"
_TAGS = "SELECT seq, tag FROM tags WHERE run = ? ORDER BY seq, position"


class _Cases:
    """The codes of cases whose ids come in order, so that none need be looked up; useless once one does not."""

    def __init__(self, n: int) -> None:
        self.codes = NarrowColumn(n)
        self.ids = PackedTexts()
        self.in_order = True
        self._last = ""

    def take(self, where: slice | np.ndarray, ids: Sequence[str]) -> None:
        before = (self._last, *ids[:-1])
        self.in_order = self.in_order and all(map(operator.le, before, ids))
        if self.in_order:
            fresh = list(map(operator.ne, before, ids))
            fresh[0] = fresh[0] or not len(self.ids)
            self.codes.put(where, len(self.ids) - 1 + np.cumsum(fresh))
            self.ids.extend(list(compress(ids, fresh)))
            self._last = ids[-1]


def _cases_in_order(session: Session, run: int, places: np.ndarray) -> _Cases:
    """The cases of samples that were planned in another order than that of their ids."""
    cases = _Cases(len(places))
    for rows in session.stream(_BY_CASE, (run,), PIECE):
        case_ids, seq = zip(*rows, strict=True)
        cases.take(np.searchsorted(places, np.array(seq)), case_ids)
    return cases


def read_columns(session: Session, run: int, suite: SuiteModel) -> Columns:
    """The columns of a run, as `base.Columns` describes them."""
    n = session.execute(_SIZE, (run,))[0][0]
    layouts = layouts_of(session, run)
    declared = [component.name for component in suite.components]
    available = [score for layout in layouts.values() for score in layout]
    components = dict.fromkeys([*declared, *(name for name, _weight, _counts in available)])
    names = {column: Names() for column in _TEXTS}
    names["outcome"] = Names([outcome.value for outcome in Outcome])
    names["band"] = Names([band.name for band in suite.bands])
    whole = {column: NarrowColumn(n) for column in ("repeat", "passed", *_TEXTS)}
    score, parts = NarrowColumn(n, REAL), {name: NarrowColumn(n, REAL) for name in components}
    counted = {(name, count): NarrowColumn(n, REAL) for name, _weight, counts in available for count in counts}
    # As wide as what is looked up in it, which numpy would otherwise widen again and again.
    places = np.empty(n, dtype=np.int64)
    cases = _Cases(n)
    start = 0
    for rows in session.stream(_SAMPLES, (run,), PIECE):
        piece = slice(start, start + len(rows))
        seq, case_ids, repeat, scores, passed, *texts, layout, values = zip(*rows, strict=True)
        places[piece] = seq
        cases.take(piece, case_ids)
        whole["repeat"].put(piece, np.array(repeat))
        whole["passed"].put(piece, np.array([-1 if item is None else item for item in passed]))
        score.put(piece, np.array(scores, dtype=float))
        for column, result in zip(_TEXTS, texts, strict=True):
            whole[column].put(piece, names[column].codes(result))
        _put_parts(parts, counted, piece, layouts, layout, values)
        start = piece.stop
    if not cases.in_order:
        cases = _cases_in_order(session, run, places)
    return Columns(
        n=n,
        case=cases.codes.values,
        case_ids=cases.ids,
        variant=whole["variant"].values,
        variants=names["variant"].texts,
        repeat=whole["repeat"].values,
        outcome=whole["outcome"].values,
        outcomes=names["outcome"].texts,
        score=score.values,
        passed=whole["passed"].values,
        band=whole["band"].values,
        bands=names["band"].texts,
        category=whole["category"].values,
        categories=names["category"].texts,
        difficulty=whole["difficulty"].values,
        difficulties=names["difficulty"].texts,
        components={name: item.values for name, item in parts.items()},
        counts=_by_component(counted),
        step=whole["step"].values,
        steps=names["step"].texts,
        mode=whole["mode"].values,
        modes=names["mode"].texts,
        cluster=whole["cluster"].values,
        clusters=names["cluster"].texts,
        **_tags(session, run, places),
        **_findings(session, run, places),
        **_call_results(session, run, places),
        copied=_copied(session, run, places, repeated=n > 0 and int(np.ptp(whole["repeat"].values)) > 0),
    )


def _put_parts(
    parts: dict[str, NarrowColumn],
    counted: dict[tuple[str, str], NarrowColumn],
    piece: slice,
    layouts: dict[int, Layout],
    used: Sequence[int],
    scores: Sequence[str],
) -> None:
    """Put values and counts of components, which are stored as one list a sample in the order its layout says."""
    numbers = np.array(used)
    for number in set(used):
        where = np.flatnonzero(numbers == number)
        parsed = json.loads("[" + ",".join([scores[position] for position in where.tolist()]) + "]")
        matrix = np.array(parsed, dtype=float).reshape(len(where), -1)
        layout = layouts[number]
        columns = [parts[name] for name, _weight, _counts in layout]
        columns += [counted[name, count] for name, _weight, counts in layout for count in counts]
        for position, column in enumerate(columns):
            column.put(piece.start + where, matrix[:, position])


def _by_component(counted: dict[tuple[str, str], NarrowColumn]) -> dict[str, dict[str, np.ndarray]]:
    nested: dict[str, dict[str, np.ndarray]] = {}
    for (name, count), column in counted.items():
        nested.setdefault(name, {})[count] = column.values
    return nested


class _Listing:
    """Texts listed for samples, as codes in the narrowest type."""

    def __init__(self) -> None:
        self.names = Names()
        self._codes = array("I")

    def take(self, texts: Sequence[str]) -> None:
        self._codes.frombytes(self.names.codes(texts).astype(np.uint32).tobytes())

    def codes(self) -> np.ndarray:
        return np.asarray(self._codes).astype(np.min_scalar_type(len(self.names.texts)))


def _tags(session: Session, run: int, seq: np.ndarray) -> dict[str, Any]:
    """Positions of samples and the tags listed for them."""
    places, tags = array("I"), _Listing()
    for rows in session.stream(_TAGS, (run,), PIECE):
        seqs, texts = zip(*rows, strict=True)
        places.frombytes(_positions(seq, seqs))
        tags.take(texts)
    return {"tag_sample": np.asarray(places), "tag": tags.codes(), "tags": tags.names.texts}


def _findings(session: Session, run: int, seq: np.ndarray) -> dict[str, Any]:
    """Positions of samples, and of each finding in them the code, the component, the gain and the section."""
    n = session.execute(_N_FINDINGS, (run,))[0][0]
    places, codes, components, sections = array("I"), _Listing(), _Listing(), _Listing()
    gain = NarrowColumn(n, REAL)
    for rows in session.stream(_FINDINGS, (run,), PIECE):
        seqs, code, component, gains, section = zip(*rows, strict=True)
        gain.put(slice(len(places), len(places) + len(rows)), np.array(gains))
        places.frombytes(_positions(seq, seqs))
        codes.take(code)
        components.take(component)
        sections.take(section)
    return {
        "finding_sample": np.asarray(places),
        "finding_code": codes.codes(),
        "finding_codes": codes.names.texts,
        "finding_component": components.codes(),
        "finding_components": components.names.texts,
        "finding_gain": gain.values,
        "finding_section": sections.codes(),
        "finding_sections": sections.names.texts,
    }


def _positions(seq: np.ndarray, seqs: Sequence[int]) -> bytes:
    return np.searchsorted(seq, np.array(seqs)).astype(np.uint32).tobytes()


def _call_results(session: Session, run: int, seq: np.ndarray) -> dict[str, Any]:
    """Numbers of the attempts, which a rescored run shares with an earlier one that may hold more of them."""
    measured = {column: NarrowColumn(len(seq), REAL) for column in _NUMBERS | _RARE_NUMBERS}
    failure, names = NarrowColumn(len(seq)), Names()
    first_failure, first_names = NarrowColumn(len(seq)), Names()
    for (owner,) in session.execute(_OWNERS, (run,)):
        # To look once is half the price of bringing four empty columns along.
        wanted = _NUMBERS | _RARE_NUMBERS if session.execute(_HAS_RARE, (owner,)) else _NUMBERS
        retried = "first_failure" if wanted is not _NUMBERS else "NULL"
        for rows in session.stream(_CALLS.format(", ".join((retried, *wanted.values()))), (owner,), PIECE):
            seqs, kinds, first_kinds, *values = zip(*rows, strict=True)
            there, here = _shared(seq, np.array(seqs))
            for column, numbers in zip(wanted, values, strict=True):
                measured[column].put(there, np.array(numbers, dtype=float)[here])
            failure.put(there, names.codes(kinds)[here])
            first_failure.put(there, first_names.codes(first_kinds)[here])
    numbered = {column: item.values for column, item in measured.items()}
    marked = {column: numbered[column] == 1 for column in ("cached", "provider_cached", "error_answer")}
    named = {"failure": failure.values, "failures": names.texts}
    return numbered | marked | named | {"first_failure": first_failure.values, "first_failures": first_names.texts}


_FROM_A_CACHE = "SELECT 1 FROM calls WHERE run = ? AND (provider_cached <> 0 OR cached <> 0) LIMIT 1"
_SAME_IDS = """
SELECT response_id FROM calls WHERE run IN ({}) AND response_id IS NOT NULL AND failure_kind IS NULL
GROUP BY response_id HAVING count(*) > 1
"""
_ANSWERS = """
SELECT s.seq, s.case_id, s.variant, a.response_id, a.provider_cached, a.made_at, t.text, t.packed
FROM samples s JOIN calls a ON a.run = s.call_run AND a.seq = s.seq
LEFT JOIN answers t ON t.run = s.call_run AND t.seq = s.seq
WHERE s.run = ? AND a.failure_kind IS NULL ORDER BY coalesce(a.provider_cached, 0), s.repeat, s.seq
"""


def _copied(session: Session, run: int, seq: np.ndarray, *, repeated: bool) -> np.ndarray:
    """Which answers are that of an earlier repeat: the same text with the same response id, from the same entry of the
    cache, or from the provider's cache. An id that answers to several cases have identifies none of them."""
    copied = np.zeros(len(seq), dtype=bool)
    owners = [owner for (owner,) in session.execute(_OWNERS, (run,))] if repeated else []
    # A retry has answers of several runs: an id may be in each of them once.
    same_ids = _SAME_IDS.format(", ".join("?" * len(owners)))
    ids = {item for (item,) in session.execute(same_ids, owners)} if owners else set[str]()
    if not ids and not any(session.execute(_FROM_A_CACHE, (owner,)) for owner in owners):
        return copied
    rows = [row for piece in session.stream(_ANSWERS, (run,), PIECE) for row in _digests(piece)]
    cases: dict[str, set[str]] = {}
    for _, (case, _), response_id, *_ in rows:
        if response_id in ids:
            cases.setdefault(response_id, set()).add(case)
    seen: set[tuple[Any, ...]] = set()
    for place, cell, response_id, provider_cached, made_at, text in rows:
        marks = [("id", response_id)] if len(cases.get(response_id, ())) == 1 else []
        marks += [] if made_at is None else [("made", made_at)]
        # Any earlier answer with this text may be the one that the provider's cache holds.
        known = [(cell, text, *mark) for mark in (*marks, *([("any",)] if provider_cached else []))]
        copied[np.searchsorted(seq, place)] = any(key in seen for key in known)
        seen.update((*known, (cell, text, "any")))
    return copied


def _digests(rows: Sequence[Row]) -> Iterator[tuple[Any, ...]]:
    """The answers with digests in the place of their texts."""
    for seq, case, variant, response_id, provider_cached, made_at, text, packed in rows:
        content = (text or "").encode("utf-8", "surrogatepass") if packed is None else bytes(packed)
        yield seq, (case, variant), response_id, provider_cached, made_at, blake2b(content, digest_size=16).digest()


def _shared(seq: np.ndarray, result: np.ndarray) -> tuple[slice | np.ndarray, slice | np.ndarray]:
    """Where in `seq` those of the found places are that it holds, and which of them these are."""
    where = np.searchsorted(seq, result)
    held = (where < len(seq)) & (seq[np.minimum(where, len(seq) - 1)] == result)
    if held.all() and where[-1] - where[0] + 1 == len(where):
        # As good as always: a run with attempts of its own, all in one piece.
        return slice(where[0], where[-1] + 1), slice(None)
    return where[held], held


def positions_of(session: Session, run: int, n: int) -> np.ndarray:
    """The places in the plan of a run's n samples, in order; a run without gaps is not read for them."""
    last = session.execute("SELECT max(seq) FROM samples WHERE run = ?", (run,))[0][0]
    if last is None or last == n - 1:
        return np.arange(n)
    return np.array([row[0] for row in session.execute("SELECT seq FROM samples WHERE run = ? ORDER BY seq", (run,))])
