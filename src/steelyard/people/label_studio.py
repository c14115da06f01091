"""Label Studio: a list of tasks, each with what was shown (`data`) and what people said of it (`annotations`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.errors import Problem
from steelyard.people.labels import PREFERENCE
from steelyard.store.people import ANSWER, SCORES, VERDICT, Key
from steelyard.suite.readers import Record
from steelyard.suite.yaml import result

_SHOWN = ("case", "variant", "repeat", "run", "drawn")


def studio_rows(record: Record, problems: list[Problem]) -> Iterator[Record]:
    """The labels of a task. The name of a control (`from_name`) is a dimension or flag, verdict, answer or comment."""
    task = record.data
    shown = {name: task["data"][name] for name in _SHOWN if name in task["data"]}
    times = Counter[str]()
    for annotation in _groups(task.get("annotations"), "annotations", record, problems):
        by = annotation.get("completed_by")
        person = by.get("email") or by.get("id") if isinstance(by, Mapping) else by
        row = shown | {"person": "" if person is None else str(person), "at": annotation.get("created_at")}
        if not annotation.get("was_cancelled"):
            row["round"] = times[row["person"]]
            times[row["person"]] += 1
            try:
                given = _studio_value(_groups(annotation.get("result"), "result", record, problems))
                yield replace(record, data=row | given)
            except ValueError as error:
                problems.append(record.problem(str(error)))


def _groups(value: Any, name: str, record: Record, problems: list[Problem]) -> list[Mapping[str, Any]]:
    """The groups of keys in a list of Label Studio's; what is not there is an empty list."""
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return value
    if value is not None:
        wrong = f"{name} must be a list of groups of keys, as Label Studio has it; {result(value)}"
        problems.append(record.problem(wrong))
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
        elif name in (VERDICT, ANSWER, PREFERENCE, "comment"):
            row[name] = _studio_said(region.get("type"), value)
        else:
            row.setdefault(SCORES, {})[name] = _studio_said(region.get("type"), value)
    return row | ({ANSWER: spans} if spans else {})


def _studio_said(kind: Any, value: Mapping[str, Any]) -> Any:
    for name in ("rating", "number", "selected", "choices", "text"):
        given = value.get(name)
        if given or given == 0:
            first = given[0] if isinstance(given, list) else given
            return {"left": "a", "right": "b"}.get(str(first), first) if name == "selected" else first
    hint = "use choices, rating, number or labels"
    raise ValueError(f"a Label Studio result of the type {kind!r} cannot be read: {hint}")


def studio_text(rows: Sequence[Mapping[str, Any]], texts: Mapping[Key, dict[str, Any]]) -> str:
    """The file of tasks for labels, with the texts that were shown."""
    tasks: dict[Key, dict[str, Any]] = {}
    for row in rows:
        key = (row["case"], row.get("variant", ""), row["repeat"])
        shown = {name: row[name] for name in _SHOWN if name in row} | texts.get(key, {})
        task = tasks.setdefault(key, {"data": shown, "annotations": []})
        given = (row.get(SCORES) or {VERDICT: row[VERDICT]}) | {name: row[name] for name in ("comment",) if name in row}
        results = [_studio_result(name, value) for name, value in given.items()]
        task["annotations"].append({"completed_by": row["person"], "created_at": row["at"], "result": results})
    return json.dumps(list(tasks.values()), ensure_ascii=False, indent=2) + "\n"


def _studio_result(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        kind, given = "choices", dict[str, Any](choices=["yes" if value else "no"])
    else:
        kind, given = ("textarea", {"text": [value]}) if isinstance(value, str) else ("rating", {"rating": value})
    return {"from_name": name, "to_name": ANSWER, "type": kind, "value": given}
