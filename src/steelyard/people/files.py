"""Labels from and to files: CSV, JSON Lines and Label Studio's JSON.

A row names the case (`case`, and `variant` and `repeat` where a run has several), the person, and one of `verdict`,
`scores` (in CSV a column for each: `scores.clarity`), `answer` or `preference`. Every row is checked; with one mistake
no label is kept. Who a person is stays in the store: files get pseudonyms unless names are asked for.
"""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import Problem, SuiteError, UsageError
from steelyard.people.labels import ANSWER, KINDS, PREFERENCE, Terms, truth_value
from steelyard.store.people import ASKED, DISAGREEMENT, PRECISION, RANDOM, SCORES, SKIPPED, VERDICT, Key, LabelRecord
from steelyard.suite.readers import Record, read_records, unreadable
from steelyard.suite.streams import ending
from steelyard.suite.yaml import meant_or_listed, result

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.base import Store

_DRAWN = (RANDOM, DISAGREEMENT, PRECISION, ASKED)
_FIELDS = (
    *("suite", "run", "other_run", "case", "variant", "repeat", "person", "round", *KINDS, "skipped"),
    *("drawn", "blind", "comment", "at"),
)
_MOST_MESSAGES = 20
_MOST_DIGITS = 9
"""Of a whole number: what every database can store."""


def import_labels(store: Store, header: RunHeader, path: Path) -> list[LabelRecord]:
    """Keep all labels of a file, as labels of one run; SuiteError with every wrong row, and none is kept."""
    problems: list[Problem] = []
    terms, keys = Terms(header.description), _keys(store, header)
    others = {run.id for run in store.runs()} - {header.id}
    labels: dict[Any, LabelRecord] = {}
    for record in _rows(path, problems):
        try:
            if isinstance(record.data, Mapping) and (run := str(record.data.get("run"))) in others:
                raise ValueError(f"this labels an answer of run {run}: steelyard label import {path.name} {run}")
            label = _label(record.data, header, terms, keys)
            if label.other_run_id is not None and label.other_run_id not in others:
                raise ValueError(f"other_run must be another run of this store; {result(label.other_run_id)}")
            if labels.setdefault((label.key, label.person, label.round, label.other_run_id), label) is not label:
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


def _keys(store: Store, header: RunHeader) -> set[Key]:
    columns = store.columns(header.id)
    rows = zip(columns.case.tolist(), columns.variant.tolist(), columns.repeat.tolist(), strict=True)
    return {(columns.case_ids[case], columns.variants[variant], int(repeat)) for case, variant, repeat in rows}


def _rows(path: Path, problems: list[Problem]) -> Iterator[Record]:
    if unreadable(path):
        raise UsageError(f"{path.name}: labels are read from .csv, .jsonl or (of Label Studio) .json")
    for record in read_records(path, path.name, "", problems.append):
        if isinstance(record.data, dict) and isinstance(record.data.get("data"), dict):
            yield from _studio_rows(record, problems)
        else:
            yield replace(record, data=_from_cells(record.data)) if ending(path) == ".csv" else record


def _from_cells(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table without its empty cells, and without the apostrophes that keep spreadsheets from calculating."""
    plain: dict[str, Any] = {
        name: value[1:] if isinstance(value, str) and _is_quoted(value) else value for name, value in row.items()
    }
    scores = {name: value for name, value in (plain.get(SCORES) or {}).items() if value is not None}
    return plain | {SCORES: scores or None}


def _label(data: Any, header: RunHeader, terms: Terms, keys: set[Key]) -> LabelRecord:
    if not isinstance(data, Mapping):
        raise ValueError(f"a label is a group of keys: case, person and {VERDICT}; {result(data)}")
    given = {name: value for name, value in data.items() if value not in (None, "")}
    for name in given:
        if name not in _FIELDS:
            raise ValueError(f"there is no column {name!r}{meant_or_listed(str(name), _FIELDS)}")
    kinds = [name for name in (*KINDS, SKIPPED) if name in given]
    if len(kinds) != 1:
        what = f"there are {' and '.join(kinds)}" if kinds else "there is none"
        raise ValueError(f"a label is one of {', '.join(KINDS)}: {what}")
    kind, value = kinds[0], given[kinds[0]]
    _check_pair(kind, given)
    if kind == ANSWER and isinstance(value, str) and terms.suite.answer.schema_data is not None:
        value = _json(value)
    if "case" not in given:
        raise ValueError("case is missing: the id of the case whose answer is labelled")
    key = (str(given["case"]), str(given.get("variant", "")), _whole(given, "repeat"))
    if key not in keys:
        listed = (
            "" if key[0] in {case for case, _, _ in keys} else meant_or_listed(key[0], [case for case, _, _ in keys])
        )
        raise ValueError(f"run {header.id} has no answer for case {key[0]!r}{_beyond(key)}{listed}")
    person = str(given.get("person", "")).strip()
    if not person:
        raise ValueError("person is missing: a name or a pseudonym")
    drawn = str(given.get("drawn", ASKED))
    if drawn not in _DRAWN:
        raise ValueError(f"drawn is one of {', '.join(_DRAWN)}; {result(drawn)}")
    return LabelRecord(
        suite_name=header.suite_name,
        case_id=key[0],
        person=person,
        kind=kind,
        value=terms.check(kind, value),
        run_id=header.id,
        variant=key[1],
        repeat=key[2],
        other_run_id=str(given["other_run"]) if "other_run" in given else None,
        round=_whole(given, "round"),
        drawn=drawn,
        blind=truth_value(given.get("blind", False), "blind"),
        comment=str(given.get("comment", "")),
        labelled_at=_moment(given.get("at")),
    )


def _check_pair(kind: str, given: Mapping[str, Any]) -> None:
    if kind != SKIPPED and (kind == PREFERENCE) != ("other_run" in given):
        raise ValueError(f"{PREFERENCE} and other_run go together: it is of the answers of two runs")


def _beyond(key: Key) -> str:
    return f" [{key[1]}], repeat {key[2]}" if key[1] or key[2] else ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"answer is no JSON: {error}") from None


def _whole(given: Mapping[str, Any], name: str) -> int:
    text = str(given.get(name, 0))
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise ValueError(f"{name} must be a whole number; {result(given[name])}")
    return int(text)


def _moment(value: Any) -> float:
    if value is None:
        return time.time()
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"at must be a time such as 2026-01-31T12:00:00Z; {result(value)}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# ---- Label Studio: a list of tasks, each with what was shown (`data`) and what people said of it (`annotations`)


def _studio_rows(record: Record, problems: list[Problem]) -> Iterator[Record]:
    """The labels of a task. The name of a control (`from_name`) is a dimension or flag, verdict, answer or comment."""
    task = record.data
    shown = {name: task["data"][name] for name in ("case", "variant", "repeat", "run", "drawn") if name in task["data"]}
    times = Counter[str]()
    for annotation in _groups(task.get("annotations"), "annotations", record, problems):
        if annotation.get("was_cancelled"):
            continue
        by = annotation.get("completed_by")
        person = by.get("email") or by.get("id") if isinstance(by, Mapping) else by
        row = shown | {"person": "" if person is None else str(person), "at": annotation.get("created_at")}
        row["round"] = times[row["person"]]
        times[row["person"]] += 1
        try:
            row |= _studio_value(_groups(annotation.get("result"), "result", record, problems))
        except ValueError as error:
            problems.append(record.problem(str(error)))
            continue
        yield Record(row, record.file, record.line)


def _groups(value: Any, name: str, record: Record, problems: list[Problem]) -> list[Mapping[str, Any]]:
    """The groups of keys in a list of Label Studio's; what is not there is an empty list."""
    items = [] if value is None else value
    if isinstance(items, list) and all(isinstance(item, Mapping) for item in items):
        return items
    problems.append(record.problem(f"{name} must be a list of groups of keys, as Label Studio has it; {result(value)}"))
    return []


def _studio_value(regions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    spans: dict[str, list[Any]] = {}
    for region in regions:
        name, value = str(region.get("from_name", "")), region.get("value")
        if not isinstance(value, Mapping):
            raise ValueError(f"the value of a Label Studio result must be a group of keys; {result(value)}")
        if value.get("labels") and "start" in value:
            span = {key: value[key] for key in ("start", "end", "text") if key in value}
            spans.setdefault(name, []).append(span | {"label": value["labels"][0]})
            continue
        value_of_region = _studio_said(region.get("type"), value)
        if name in (VERDICT, ANSWER, PREFERENCE, "comment"):
            row[name] = value_of_region
        else:
            row.setdefault(SCORES, {})[name] = value_of_region
    return row | ({ANSWER: spans} if spans else {})


def _studio_said(kind: Any, value: Mapping[str, Any]) -> Any:
    for name in ("rating", "number", "selected"):
        if name in value:
            return {"left": "a", "right": "b"}.get(str(value[name]), value[name])
    for name in ("choices", "text"):
        if value.get(name):
            return value[name][0] if isinstance(value[name], list) else value[name]
    raise ValueError(
        f"a Label Studio result of the type {kind!r} cannot be read: use choices, rating, number or labels"
    )


def _studio_task(
    labels: Sequence[LabelRecord], person: Mapping[str, str], texts: Mapping[Key, Mapping[str, Any]]
) -> dict[str, Any]:
    first = labels[0]
    data = {"case": first.case_id, "variant": first.variant, "repeat": first.repeat, "run": first.run_id}
    return {
        "data": data | {"drawn": first.drawn} | dict(texts.get(first.key, {})),
        "annotations": [
            {
                "completed_by": person[label.person],
                "created_at": _iso(label.labelled_at),
                "result": _studio_result(label),
            }
            for label in labels
        ],
    }


def _studio_result(label: LabelRecord) -> list[dict[str, Any]]:
    given = label.value if label.kind == SCORES else {VERDICT: label.value}
    results = [
        {"from_name": name, "to_name": ANSWER, "type": "choices", "value": {"choices": ["yes" if value else "no"]}}
        if isinstance(value, bool)
        else {"from_name": name, "to_name": ANSWER, "type": "rating", "value": {"rating": value}}
        for name, value in given.items()
    ]
    comment = {"from_name": "comment", "to_name": ANSWER, "type": "textarea", "value": {"text": [label.comment]}}
    return [*results, comment] if label.comment else results


# ---- out


def pseudonyms(store: Store) -> dict[str, str]:
    """A name for each person of the store that says nothing of who it is: numbers, by who labelled first.

    Nobody's number changes when labels are taken back.
    """
    return {name: f"person-{number}" for number, name in enumerate(store.people.everybody(), start=1)}


def people_names(store: Store, *, names: bool) -> Callable[[str], str]:
    """What people are called: by name where that is asked for, else by pseudonym."""
    pseudonym_of: dict[str, str] = {}

    def pseudonym(name: str) -> str:
        # Who labels for the first time while we read has no number yet.
        if name not in pseudonym_of:
            pseudonym_of.update(pseudonyms(store))
        return pseudonym_of[name]

    return str if names else pseudonym


def export_labels(store: Store, header: RunHeader, path: Path, *, names: bool = False) -> int:
    """Write the labels of a run by the file's ending: .csv, .jsonl, or .json for Label Studio; how many."""
    labels = [label for label in store.people.labels(run_id=header.id) if label.run_id == header.id]
    if path.suffix == ".json":
        # Label Studio has no place for skipped items and people's own answers.
        labels = [label for label in labels if label.kind in (SCORES, VERDICT)]
    person = {label.person: label.person for label in labels} if names else pseudonyms(store)
    writers: dict[str, Callable[[Sequence[LabelRecord], Mapping[str, str]], str]] = {
        ".csv": _csv,
        ".jsonl": _jsonl,
        ".json": partial(_studio, texts=partial(_texts, store, header)),
    }
    if path.suffix not in writers:
        raise UsageError(f"{path.name}: labels are written as .csv, .jsonl or (for Label Studio) .json")
    text = writers[path.suffix](labels, person)
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    return len(labels)


def label_row(label: LabelRecord, person: str) -> dict[str, Any]:
    """A label as a file has it; fields that say nothing are left out."""
    row = {
        "suite": label.suite_name,
        "run": label.run_id,
        "other_run": label.other_run_id,
        "case": label.case_id,
        "variant": label.variant,
        "repeat": label.repeat,
        "person": person,
        "round": label.round,
        label.kind: True if label.kind == SKIPPED else label.value,
        "drawn": label.drawn,
        "blind": label.blind,
        "comment": label.comment,
        "at": _iso(label.labelled_at),
    }
    return {name: value for name, value in row.items() if value not in (None, "")}


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _jsonl(labels: Sequence[LabelRecord], person: Mapping[str, str]) -> str:
    return "".join(json.dumps(label_row(label, person[label.person]), ensure_ascii=False) + "\n" for label in labels)


def _texts(store: Store, header: RunHeader, case_ids: Sequence[str]) -> dict[Key, dict[str, Any]]:
    """What people saw of each item."""
    samples = store.samples(header.id, case_ids=case_ids)
    return {sample.key: {"input": case.input, "answer": sample.call_result.text} for sample, case in samples}


def _studio(
    labels: Sequence[LabelRecord],
    person: Mapping[str, str],
    texts: Callable[[Sequence[str]], Mapping[Key, Mapping[str, Any]]],
) -> str:
    by_item: dict[Key, list[LabelRecord]] = {}
    for label in labels:
        by_item.setdefault(label.key, []).append(label)
    shown = texts(sorted({case_id for case_id, _, _ in by_item}))
    tasks = [_studio_task(item, person, shown) for item in by_item.values()]
    return json.dumps(tasks, ensure_ascii=False, indent=2) + "\n"


def _csv(labels: Sequence[LabelRecord], person: Mapping[str, str]) -> str:
    from io import StringIO

    rows = [_flat(label_row(label, person[label.person])) for label in labels]
    columns = sorted({name for row in rows for name in row}, key=_column_order)
    page = StringIO()
    writer = csv.DictWriter(page, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _safe(value) for name, value in row.items()} for row in rows)
    return page.getvalue()


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    scores = row.pop(SCORES, {})
    row |= {f"{SCORES}.{name}": value for name, value in scores.items()}
    if not isinstance(row.get(ANSWER, ""), str):
        row[ANSWER] = json.dumps(row[ANSWER], ensure_ascii=False)
    return row


def _column_order(name: str) -> tuple[int, str]:
    return (_FIELDS.index(name.partition(".")[0]), name)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _safe(value: Any) -> Any:
    """A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and (value.startswith(_FORMULA) or _is_quoted(value)) else value


def _is_quoted(cell: str) -> bool:
    return cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA)
