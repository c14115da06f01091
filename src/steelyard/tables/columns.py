"""The columns of each table, in pieces: built from the arrays that a summary reads, without pyarrow or pandas.

What counts as what is as in reports (`metrics/table.py`): the mean of `score` is the average of the run. Columns that
every run has are plain words; those named after something of the suite have a prefix and a dot, so none can clash.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress
from typing import Any, Literal

import numpy as np

from steelyard.analysis.stored import all_figures
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.metrics.figures import Figures
from steelyard.metrics.table import Table
from steelyard.records import CheckState, Judgement, RunHeader
from steelyard.stats.arrays import Array, distinct, translated
from steelyard.store.codec import decode
from steelyard.store.columns import Names
from steelyard.store.databases import in_pieces
from steelyard.store.figures import Figure
from steelyard.store.packing import unpack_text
from steelyard.store.sql import SqlStore
from steelyard.store.stored_text import MARK, from_stored, to_json, to_stored

NAMES = ("samples", "findings", "votes", "claims", "figures")
PIECE = 20_000
"""Rows of a table that are handed on at a time."""
SHORT = 200
"""Characters that are shown of the message of a failure."""
_READ = 1_000

Kind = Literal["text", "code", "texts", "real", "whole", "flag"]


@frozen
class Coded:
    """Values as codes into a list of names; a code below 0 is no value."""

    codes: Array
    names: Sequence[Any]


@frozen
class Field:
    """A column: its name and what it holds.

    `text` is a list of texts or None; `code` and `texts` (several texts) are `Coded`; `real` and `whole` are floats
    with NaN for none; `flag` is 1, 0, or -1 for none.
    """

    name: str
    kind: Kind


Piece = list[Any]
"""The values of some rows, a column each, in the order of the fields."""
Pieces = Iterator[Piece]


def cells(kind: Kind, values: Any) -> list[Any]:
    """A column as plain Python values, None where there is none."""
    if kind == "text":
        return list(values)
    if isinstance(values, Coded):
        names = [*values.names, None]
        return [names[code] for code in values.codes.tolist()]
    if kind == "flag":
        return [None if value < 0 else value > 0 for value in values.tolist()]
    whole = kind == "whole"
    return [None if value != value else int(value) if whole else value for value in values.tolist()]


def table_columns(
    store: SqlStore, header: RunHeader, name: str, *, answers: bool = False
) -> tuple[list[Field], Pieces]:
    """The columns of a table and their values, some rows at a time; UsageError for a table that there is not."""
    if name not in NAMES:
        raise UsageError(f"there is no table {name}: choose one of {', '.join(NAMES)}")
    if answers and name not in ("samples", "votes"):
        raise UsageError(f"the table {name} has no answers: they are with the samples, and judges' with the votes")
    if name == "figures":
        return _figures(all_figures(store, header))
    samples = _Samples(store, header)
    if name == "samples":
        return _all_samples(samples, answers=answers)
    if name == "votes":
        return _votes(samples, answers=answers)
    return _findings(samples) if name == "findings" else _claims(samples)


def _figures(figures: Figures) -> tuple[list[Field], Pieces]:
    """Every figure of the run, a row each; those of the whole run have no factor and no slice."""
    kinds: dict[str, Kind] = {"factor": "text", "slice": "text", "metric": "text", "value": "real"}
    kinds |= {"n": "whole", "missing": "whole", "low": "real", "high": "real"}
    kinds |= {"numerator": "whole", "denominator": "whole"}
    fields = [Field(name, kind) for name, kind in kinds.items()]

    def row(figure: Figure) -> tuple[Any, ...]:
        of, item = figure.of, figure.estimate
        names = (_utf8(of.factor) or None, _utf8(of.name) if of.factor else None, _utf8(figure.name))
        return (*names, item.value, item.n, item.n_missing, item.low, item.high, item.numerator, item.denominator)

    def pieces() -> Pieces:
        for rows in in_pieces(map(row, figures.rows()), PIECE):
            yield [
                list(values) if field.kind == "text" else np.array(values, dtype=float)
                for field, values in zip(fields, zip(*rows, strict=True), strict=True)
            ]

    return fields, pieces()


def _utf8(text: str) -> str:
    """The text as a file can hold it: a lone surrogate is spelled out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _text(stored: str | None) -> str | None:
    return stored if stored is None or MARK not in stored else _utf8(from_stored(stored))


class _Samples:
    """The samples of a run: columns by name, each read for the rows that are asked for."""

    def __init__(self, store: SqlStore, header: RunHeader) -> None:
        self.store, self.run_id, self.suite = store, header.id, header.description
        columns = store.columns(header.id)
        self.table, self.n = Table(columns, self.suite), columns.n
        self.places: Array = store.positions(header.id, columns.n)
        self._ids, self._case = list(columns.case_ids), columns.case
        if not "".join(self._ids).isascii():
            self._ids = list(map(_utf8, self._ids))
        self.columns: dict[Field, Callable[[Any], Any]] = {Field("case", "text"): self._cases}
        self._code("variant", columns.variant, columns.variants)
        self._number("repeat", "whole", columns.repeat)
        self._code("category", columns.category, columns.categories)
        self._code("difficulty", columns.difficulty, columns.difficulties)
        self._code("cluster", columns.cluster, columns.clusters)
        codes, tags = _combined(columns.tag_sample, columns.tag, list(map(_utf8, columns.tags)), self.n)
        self.columns[Field("tags", "texts")] = lambda at: Coded(codes[at], tags)
        self._code("outcome", columns.outcome, columns.outcomes)
        self._number("score", "real", self.table.score())
        self._number("passed", "flag", self.table.passed())
        self._code("band", self.table.band(), self.table.bands)
        self._number("latency", "real", self.table.latency())
        self._number("first_byte", "real", np.where(columns.failure >= 0, np.nan, columns.first_byte))
        self._number("tokens_in", "whole", columns.tokens_in)
        self._number("tokens_out", "whole", columns.tokens_out)
        self._number("cost", "real", columns.cost)
        self._number("cached", "flag", columns.cached)
        self._code("failure", columns.failure, columns.failures)
        self._code("failure_message", *self._messages())
        self._code("extraction", columns.step, columns.steps)
        self._code("mode", columns.mode, columns.modes)
        self._add_scores()
        self._add_checks()

    def _cases(self, at: Any) -> list[str]:
        return list(map(self._ids.__getitem__, self._case[at].tolist()))

    def _code(self, name: str, codes: Array, names: Sequence[str]) -> None:
        texts = list(map(_utf8, names))
        self.columns[Field(name, "code")] = lambda at: Coded(codes[at], texts)

    def _number(self, name: str, kind: Kind, values: Array) -> None:
        wide = np.int8 if kind == "flag" else np.float64
        self.columns[Field(name, kind)] = lambda at: values[at].astype(wide)

    def _messages(self) -> tuple[Array, list[str]]:
        """The beginnings of the messages of failed calls, as codes."""
        codes, names = np.full(self.n, -1, dtype=np.int32), Names()
        for rows in self.stream(_MESSAGES, SHORT):
            seqs, texts = zip(*rows, strict=True)
            codes[np.searchsorted(self.places, np.array(seqs))] = names.codes(texts)
        return codes, names.texts

    def _add_scores(self) -> None:
        kinds = {component.name: component.kind for component in self.suite.components}
        for name in self.table.components:
            kind = kinds.get(name, "component")
            field = Field(f"{kind}.{_utf8(name)}", "flag" if kind == "flag" else "real")
            self.columns[field] = partial(self._flag if kind == "flag" else self._component, name)

    def _component(self, name: str, at: slice) -> Array:
        return self.table.component(name, at)

    def _flag(self, name: str, at: slice) -> Array:
        values = self._component(name, at)
        return np.where(np.isnan(values), -1, values > 0).astype(np.int8)

    def _add_checks(self) -> None:
        checks = self.store.checks(self.run_id)
        # Each check has the places of its own samples: a column as long as the run would be large where many are rare.
        order = np.argsort(checks.name, kind="stable")
        ends = np.searchsorted(checks.name[order], np.arange(len(checks.names) + 1)).tolist()
        passed, failed = checks.states.index(CheckState.PASSED), checks.states.index(CheckState.FAILED)
        for name, first, last in zip(map(_utf8, checks.names), ends, ends[1:], strict=False):
            mine = order[first:last]
            where, state, value = checks.sample[mine], checks.state[mine], checks.value[mine]
            # A check that was made several times in a sample failed where it failed once.
            placed = [(where[state == code], np.int8(flag)) for code, flag in ((passed, 1), (failed, 0))]
            self.columns[Field(f"check.{name}", "flag")] = partial(_placed, placed, np.int8(-1))
            if not np.isnan(value).all():
                self.columns[Field(f"check_value.{name}", "real")] = partial(_placed, [(where, value)], np.nan)

    def stream(self, sql: str, *values: Any) -> Iterator[list[Any]]:
        """The rows of a statement about this run, some at a time."""
        with self.store.database.reading() as session:
            yield from session.stream(sql, (*values, to_stored(self.run_id)), _READ)

    def answers(self, at: slice) -> list[str | None]:
        """The answers of some samples."""
        places = self.places[at]
        texts: dict[int, str | None] = {}
        for rows in self.stream(_ANSWERS, int(places[0]), int(places[-1])) if len(places) else ():
            texts.update((seq, _text(unpack_text(text, packed))) for seq, text, packed in rows)
        return [texts.get(place) for place in places.tolist()]

    def of(self, fields: Sequence[Field], at: Array) -> Piece:
        """Some columns of the samples at these positions."""
        return [self.columns[field](at) for field in fields]


def _placed(values: list[tuple[Array, Any]], absent: Any, at: slice) -> Array:
    """Values at their samples, of a part of the run: an array, or one value for all of them; the later ones prevail."""
    result: Array = np.full(at.stop - at.start, absent)
    for where, value in values:
        here = slice(*np.searchsorted(where, (at.start, at.stop)))
        result[where[here] - at.start] = value[here] if np.ndim(value) else value
    return result


def _combined(samples: Array, tags: Array, names: Sequence[str], n: int) -> tuple[Array, list[tuple[str, ...]]]:
    """For each sample the code of its tags, and every combination of tags that there is."""
    counts = np.bincount(samples, minlength=n)
    starts = np.cumsum(counts) - counts
    codes: Array = np.zeros(n, dtype=np.int64)
    combinations: list[tuple[str, ...]] = [()]
    for turn in range(counts.max(initial=0)):
        rows = np.flatnonzero(counts > turn)
        keys = codes[rows] * len(names) + tags[starts[rows] + turn]
        different, _ = distinct(keys)
        codes[rows] = len(combinations) + np.searchsorted(different, keys)
        combinations += [(*combinations[key // len(names)], names[key % len(names)]) for key in different.tolist()]
    return codes, combinations


_OF_RUN = "run = (SELECT number FROM runs WHERE id = ?)"
# The first condition is that of the index, which no other order of words would use.
_MESSAGES = f"""
SELECT s.seq, substr(c.failure_message, 1, ?) FROM samples s JOIN calls c ON c.run = s.call_run AND c.seq = s.seq
WHERE s.outcome <> 'scored' AND s.outcome = 'target_failed' AND s.{_OF_RUN} ORDER BY s.seq
"""  # noqa: S608 - our own words, here and below
_ANSWERS = f"""
SELECT s.seq, t.text, t.packed FROM samples s JOIN answers t ON t.run = s.call_run AND t.seq = s.seq
WHERE s.seq BETWEEN ? AND ? AND s.{_OF_RUN} ORDER BY s.seq
"""  # noqa: S608
_FINDINGS = f"""
SELECT seq, code, severity, component, section, place, evidence, expected, got, gain FROM findings
WHERE {_OF_RUN} ORDER BY seq, position
"""  # noqa: S608
_JUDGEMENTS = f"SELECT seq, content FROM judgements WHERE {_OF_RUN} ORDER BY seq"  # noqa: S608
_KEY = (Field("case", "text"), Field("variant", "code"), Field("repeat", "whole"))


def _all_samples(samples: _Samples, *, answers: bool) -> tuple[list[Field], Pieces]:
    fields = [*samples.columns, *([Field("answer", "text")] if answers else [])]

    def pieces() -> Pieces:
        for start in range(0, samples.n, PIECE):
            at = slice(start, min(start + PIECE, samples.n))
            yield [read(at) for read in samples.columns.values()] + ([samples.answers(at)] if answers else [])

    return fields, pieces()


def _findings(samples: _Samples) -> tuple[list[Field], Pieces]:
    """Those of conclusive samples, as reports count them."""
    coded = ("code", "severity", "component", "section")
    fields = [*_KEY, *(Field(name, "code") for name in coded)]
    fields += [Field(name, "text") for name in ("place", "evidence", "expected", "got")] + [Field("gain", "real")]

    def pieces() -> Pieces:
        names = [Names() for _ in coded]
        for rows in samples.stream(_FINDINGS):
            at = np.searchsorted(samples.places, np.array([row[0] for row in rows]))
            counted = samples.table.conclusive[at]
            if not counted.any():
                continue
            _, *columns, place, evidence, expected, got, gain = zip(*compress(rows, counted.tolist()), strict=True)
            yield [
                *samples.of(_KEY, at[counted]),
                *(_coded(item, [text or None for text in texts]) for item, texts in zip(names, columns, strict=True)),
                *([_text(text) or None for text in texts] for texts in (place, evidence)),
                *(list(map(_shown, values)) for values in (expected, got)),
                np.array(gain, dtype=float),
            ]

    return fields, pieces()


def _coded(names: Names, texts: Sequence[str | None]) -> Coded:
    return Coded(names.codes(texts), list(map(_utf8, names.texts)))


def _shown(stored: str | None) -> str | None:
    """A value that is stored as JSON: a text as it is, all else as JSON."""
    if stored is None or not stored.startswith('"'):
        return stored
    return stored[1:-1] if "\\" not in stored else _utf8(json.loads(stored))


def _votes(samples: _Samples, *, answers: bool) -> tuple[list[Field], Pieces]:
    """All votes, those that came to nothing included."""
    scores = [item for item in samples.suite.components if item.kind in ("dimension", "flag")]
    coded = ("member", "mode", "step")
    fields = [*_KEY, Field("outcome", "code"), Field("vote", "whole"), Field("member_repeat", "whole")]
    fields += [Field(name, "code") for name in coded]
    fields += [Field(name, "text") for name in ("message", "remarks", "capped_by", *(["response"] if answers else []))]
    for item in scores:
        kind: Kind = "flag" if item.kind == "flag" else "real"
        fields += [Field(f"{item.kind}.{_utf8(item.name)}", kind), Field(f"uncapped.{_utf8(item.name)}", kind)]

    def pieces() -> Pieces:
        names = {name: Names() for name in coded}
        for rows in samples.stream(_JUDGEMENTS):
            read = [(seq, decode(Judgement, json.loads(content)).votes) for seq, content in rows]
            votes = [vote for _, given in read for vote in given]
            at = np.searchsorted(samples.places, np.array([seq for seq, given in read for _ in given], dtype=np.int64))
            piece = samples.of(fields[: len(_KEY) + 1], at)
            piece.append(np.array([float(number) for _, given in read for number in range(len(given))]))
            piece.append(np.array([float(vote.repeat) for vote in votes]))
            for name in coded:
                texts = [None if (text := getattr(vote, name)) is None else str(text) for vote in votes]
                piece.append(_coded(names[name], texts))
            piece.append([_utf8(vote.message) or None for vote in votes])
            piece.append([", ".join(sorted({remark.code for remark in vote.remarks})) or None for vote in votes])
            piece.append([to_json(vote.capped_by) if vote.capped_by else None for vote in votes])
            piece += [[to_json(vote.response) if vote.response else None for vote in votes]] if answers else []
            for item in scores:
                piece += [_of_votes([vote.capped.get(item.name) for vote in votes], item.kind == "flag")]
                piece += [_of_votes([vote.uncapped.get(item.name) for vote in votes], item.kind == "flag")]
            yield piece

    return fields, pieces()


def _of_votes(values: list[float | bool | None], flag: bool) -> Array:
    return np.array([-1 if value is None else value for value in values], np.int8) if flag else np.array(values, float)


def _claims(samples: _Samples) -> tuple[list[Field], Pieces]:
    """Those of conclusive samples, as calibration counts them."""
    claims = samples.store.claims(samples.run_id)
    fields = [*_KEY, Field("label", "code"), Field("confidence", "real"), Field("right", "flag")]
    counted = np.flatnonzero(samples.table.conclusive[claims.sample])

    def pieces() -> Pieces:
        labels = list(map(_utf8, claims.labels))
        # No label is stored as an empty one.
        codes = translated(claims.label, [code if label else -1 for code, label in enumerate(labels)])
        for start in range(0, len(counted), PIECE):
            at = counted[start : start + PIECE]
            values = [Coded(codes[at], labels), claims.confidence[at]]
            yield [*samples.of(_KEY, claims.sample[at]), *values, claims.right[at].astype(np.int8)]

    return fields, pieces()
