"""Labels from and to files: CSV, JSON Lines and Label Studio's JSON.

A row names the case (`case`, and `variant` and `repeat` where a run has several), the person, and one of `verdict`,
`scores` (in CSV a column for each: `scores.clarity`), `answer` or `preference`. Every row is checked; with one mistake
no label is kept. Who a person is stays in the store: files get pseudonyms unless names are asked for.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import Problem, SuiteError, UsageError
from steelyard.frozen import frozen
from steelyard.people.label_studio import studio_rows, studio_text
from steelyard.people.labels import KINDS, PREFERENCE, LabelTerms, case_key, truth_value
from steelyard.people.pseudonyms import people_names
from steelyard.store.people import ANSWER, DRAWN, SCORES, SKIPPED, VERDICT, Key, LabelRecord, person_key
from steelyard.suite.files import formula_safe, is_formula_safe
from steelyard.suite.readers import Record, read_records, unreadable
from steelyard.suite.streams import ending
from steelyard.suite.yaml import meant_or_listed, result

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.base import Store

_MOST_MESSAGES = 20
_MOST_DIGITS = 9
"""Of a whole number: what every database can store."""


def _whole(value: Any, name: str) -> int:
    text = str(value)
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise ValueError(f"{name} must be a whole number; {result(value)}")
    return int(text)


def _drawn(value: Any, name: str) -> str:
    if value not in DRAWN:
        raise ValueError(f"{name} is one of {', '.join(DRAWN)}; {result(value)}")
    return str(value)


def _moment(value: Any, name: str) -> float:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{name} must be a time such as 2026-01-31T12:00:00Z; {result(value)}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


@frozen
class _Column:
    """A column of a file, and the field of a label that it is."""

    name: str
    field: str
    read: Callable[[Any, str], Any] = lambda value, _: str(value)
    write: Callable[[Any], Any] = lambda value: value


_COLUMNS = (
    _Column("suite", "suite_name"),
    _Column("run", "run_id"),
    _Column("other_run", "other_run_id"),
    _Column("case", "case_id"),
    _Column("variant", "variant"),
    _Column("repeat", "repeat", _whole),
    _Column("person", "person", lambda value, _: str(value).strip()),
    _Column("round", "round", _whole),
    *(_Column(kind, "") for kind in (*KINDS, SKIPPED)),
    _Column("drawn", "drawn", _drawn),
    _Column("blind", "blind", truth_value),
    _Column("comment", "comment"),
    _Column("at", "labelled_at", _moment, _iso),
)
_NAMES = tuple(column.name for column in _COLUMNS)


def import_labels(store: Store, header: RunHeader, path: Path, *, of_any_run: bool = True) -> list[LabelRecord]:
    """Keep all labels of a file, as labels of one run; SuiteError with every wrong row, and none is kept.

    A row that names another run of the store is wrong; one that names a run of another store only with `of_any_run`.
    """
    problems: list[Problem] = []
    read = _Reader(store, header, f"steelyard label import {path.name}", of_any_run)
    labels: dict[Any, LabelRecord] = {}
    for record in _rows(path, problems):
        try:
            label = read.label(record.data)
            once = (label.key, person_key(label.person), label.round, label.other_run_id, label.of_case)
            if labels.setdefault(once, label) is not label:
                raise ValueError(f"{label.person} labels {label.case_id}{_beyond(label.key)} a second time")
        except ValueError as error:
            problems.append(record.problem(str(error)))
    if problems:
        more = [Problem(f"and {len(problems) - _MOST_MESSAGES} more mistakes in {path.name}")]
        listed = problems[:_MOST_MESSAGES] + (more if len(problems) > _MOST_MESSAGES else [])
        raise SuiteError([*listed, Problem("no label was kept")])
    if not labels:
        raise UsageError(f"{path.name} holds no label")
    store.people.add_labels(list(labels.values()))
    return list(labels.values())


def _rows(path: Path, problems: list[Problem]) -> Iterator[Record]:
    if unreadable(path):
        raise UsageError(f"{path.name}: labels are read from .csv, .jsonl or (of Label Studio) .json")
    for record in read_records(path, path.name, "", problems.append):
        if isinstance(record.data, dict) and isinstance(record.data.get("data"), dict):
            yield from studio_rows(record, problems)
        else:
            yield replace(record, data=_from_cells(record.data)) if ending(path) == ".csv" else record


def _from_cells(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table without its empty cells, and without the apostrophes that keep spreadsheets from calculating."""
    plain: dict[str, Any] = {
        name: value[1:] if isinstance(value, str) and is_formula_safe(value) else value for name, value in row.items()
    }
    scores = {name: value for name, value in (plain.get(SCORES) or {}).items() if value is not None}
    return plain | {SCORES: scores or None}


class _Reader:
    """Makes labels of one run out of rows; ValueError with a sentence of what is wrong with a row."""

    def __init__(self, store: Store, header: RunHeader, command: str, of_any_run: bool) -> None:
        self._header, self._terms = header, LabelTerms(header.description)
        self._command, self._of_any_run = command, of_any_run
        self._runs = {run.id for run in store.runs()}
        columns = store.columns(header.id)
        rows = zip(columns.case.tolist(), columns.variant.tolist(), columns.repeat.tolist(), strict=True)
        self._keys = {
            (columns.case_ids[case], columns.variants[variant], int(repeat)) for case, variant, repeat in rows
        }
        self._cases = set(columns.case_ids)

    def label(self, data: Any) -> LabelRecord:
        if not isinstance(data, Mapping):
            raise ValueError(f"a label is a group of keys: case, person and {VERDICT}; {result(data)}")
        given = {name: value for name, value in data.items() if value not in (None, "")}
        for name in given:
            if name not in _NAMES:
                raise ValueError(f"there is no column {name!r}{meant_or_listed(str(name), _NAMES)}")
        kinds = [name for name in (*KINDS, SKIPPED) if name in given]
        if len(kinds) != 1:
            what = f"there are {' and '.join(kinds)}" if kinds else "there is none"
            raise ValueError(f"a label is one of {', '.join(KINDS)}: {what}")
        fields = {
            column.field: column.read(given[column.name], column.name)
            for column in _COLUMNS
            if column.field and column.name in given
        }
        self._check_runs(kinds[0], fields.pop("run_id", None), fields.get("other_run_id"))
        if not fields.get("person"):
            raise ValueError("person is missing: a name or a pseudonym")
        own = {"suite_name": self._header.suite_name, "run_id": self._header.id}
        label = self._of_answer(
            LabelRecord(**{"case_id": "", "kind": kinds[0], "value": given[kinds[0]], **fields, **own})
        )
        return replace(label, value=self._terms.read(label.kind, label.value))

    def _check_runs(self, kind: str, run: str | None, other: str | None) -> None:
        own = self._header.id
        if run not in (None, own) and (run in self._runs or not self._of_any_run):
            where = "" if run in self._runs else ", which is not in this store; if it is this run"
            raise ValueError(f"this labels an answer of run {run}{where}: {self._command} {own if where else run}")
        if kind != SKIPPED and (kind == PREFERENCE) != (other is not None):
            raise ValueError(f"{PREFERENCE} and other_run go together: it is of the answers of two runs")
        if other is not None and other not in self._runs - {own}:
            raise ValueError(f"other_run must be another run of this store; {result(other)}")

    def _of_answer(self, label: LabelRecord) -> LabelRecord:
        """The label, when the run has what it is of; of a case that somebody answers it is no variant or repeat."""
        if not label.case_id:
            raise ValueError("case is missing: the id of the case whose answer is labelled")
        if label.key not in self._keys and not (label.of_case and label.case_id in self._cases):
            listed = "" if label.case_id in self._cases else meant_or_listed(label.case_id, sorted(self._cases))
            where = f"{label.case_id!r}{_beyond(label.key)}{listed}"
            raise ValueError(f"run {self._header.id} has no answer for case {where}")
        _, variant, repeat = case_key(label.case_id) if label.of_case else label.key
        return replace(label, variant=variant, repeat=repeat)


def _beyond(key: Key) -> str:
    return f" [{key[1]}], repeat {key[2]}" if key[1] or key[2] else ""


def export_labels(store: Store, header: RunHeader, path: Path, *, names: bool = False) -> int:
    """Write the labels of a run by the file's ending: .csv, .jsonl, or .json for Label Studio; how many."""
    if path.suffix not in (".csv", ".jsonl", ".json"):
        raise UsageError(f"{path.name}: labels are written as .csv, .jsonl or (for Label Studio) .json")
    labels = [label for label in store.people.labels(run_id=header.id) if label.run_id == header.id]
    if path.suffix == ".json":
        # Label Studio has no place for skipped items and people's own answers.
        labels = [label for label in labels if label.kind in (SCORES, VERDICT)]
    person = people_names(store, names=names)
    rows = [label_row(label, person(label.person)) for label in labels]
    if path.suffix == ".json":
        samples = store.samples(header.id, case_ids=sorted({label.case_id for label in labels}))
        seen = {sample.key: {"input": case.input, "answer": sample.call_result.text} for sample, case in samples}
        text = studio_text(rows, seen)
    elif path.suffix == ".csv":
        text = _csv(rows)
    else:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    return len(labels)


def label_row(label: LabelRecord, person: str) -> dict[str, Any]:
    """A label as a file has it; fields that say nothing are left out."""
    row = {
        column.name: column.write(getattr(label, column.field)) if column.field else label.value
        for column in _COLUMNS
        if column.field or column.name == label.kind
    }
    return {name: value for name, value in (row | {"person": person}).items() if value not in (None, "")}


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    flat = []
    for row in rows:
        scores = {f"{SCORES}.{name}": value for name, value in row.get(SCORES, {}).items()}
        plain = {name: value for name, value in row.items() if name != SCORES} | scores
        if not isinstance(plain.get(ANSWER, ""), str):
            plain[ANSWER] = json.dumps(plain[ANSWER], ensure_ascii=False)
        flat.append({name: formula_safe(value) for name, value in plain.items()})
    order = {name: at for at, name in enumerate(_NAMES)}
    columns = sorted({name for row in flat for name in row}, key=lambda name: (order[name.partition(".")[0]], name))
    page = StringIO()
    writer = csv.DictWriter(page, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return page.getvalue()
