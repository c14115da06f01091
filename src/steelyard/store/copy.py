"""One store copied into another, whichever databases are behind them: row by row, with nothing decoded.

Runs are copied one by one, each whole and compared before it is committed, or not at all; what stands beside them
(baselines, alerts, labels and their queues) follows. Nothing that is there already is changed: what differs is named
and left as it is, so that a copy that was stopped is just made again. Numbers of rows are a store's own: on the way, a
row names others by what they are (a run by its id).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from functools import partial
from typing import Any

from steelyard.errors import StoreError, UsageError
from steelyard.frozen import slotted
from steelyard.records import RunState
from steelyard.store.codec import Row
from steelyard.store.databases import Duplicate, Session
from steelyard.store.sql import SqlStore
from steelyard.store.stored_text import from_stored, to_stored

OF_A_RUN = (
    *("layouts", "calls", "answers", "judge_calls", "samples", "findings", "tags", "judgements"),
    *("claims", "checks", "items", "journal", "stored_columns", "figures", "summaries"),
)
"""The tables with a run's rows, each after those that it refers to."""
REST = (
    "deleted_runs",
    "readings",
    "baselines",
    "alerts",
    "deliveries",
    "label_people",
    "labels",
    "label_plans",
    "label_queue",
)
NOT_COPIED = ("commits", "deletions", "migrations")
"""What a store keeps of itself."""
_DERIVED = ("stored_columns", "figures", "summaries")
"""What the other tables give: it is copied and not compared."""
_PIECE = 1_000
_RUNS = ("run", "call_run", "judge_run", "other_run", "opened_run", "seen_run", "closed_run")
_REFERENCES = dict.fromkeys(_RUNS, "runs") | {"alert": "alerts", "label": "labels"}
"""Columns that hold the number of a row of another table."""
_IDENTITY = {
    "deleted_runs": ("id",),
    "readings": ("experiment", "read_at"),
    "baselines": ("suite_name", "name"),
    "alerts": ("suite_name", "cause", "opened_run", "opened_at"),
    "labels": (
        *("suite_name", "run", "other_run", "of_case", "case_id", "variant", "repeat", "person", "round"),
        "labelled_at",
    ),
    "label_people": ("person",),
    "label_plans": ("run", "other_run", "of_case"),
}
"""What tells a thing beside the runs from all others of its kind."""
_PART_OF = {"deliveries": ("alerts", ("alert",)), "label_queue": ("label_plans", ("run", "other_run", "of_case"))}
_CASES = """
SELECT id, hash, content FROM cases WHERE (id, hash) IN (SELECT case_id, case_hash FROM samples WHERE run = ?)
"""
_OWNERS = """
SELECT call_run FROM samples WHERE run = ?
UNION SELECT judge_run FROM judgements WHERE run = ? AND judge_run IS NOT NULL
"""


@slotted
class Copied:
    """What became of a copy."""

    runs: list[str] = field(default_factory=list)
    samples: int = 0
    """Of these runs."""
    there: list[str] = field(default_factory=list)
    """Runs that were there already, with the same content."""
    rest: int = 0
    """Baselines, alerts, labels and queues that are the same in both now."""
    left: list[str] = field(default_factory=list)
    """What was not copied, and why, a sentence each."""


def copy_store(source: SqlStore, target: SqlStore, going_on: Collection[str], notify: Callable[[str], None]) -> Copied:
    """Copy all that is in one store into the other, and check that it is there; `going_on` are runs to leave out."""
    if source.place == target.place:
        raise UsageError(f"{source.place} cannot be copied into itself: name two stores")
    copied = Copied()
    for store in (source, target):
        store.notify(notify)
        store.database.outlasts = True
    # In the order they were made: a run comes after those whose answers it has.
    for run_id in source.database.outlast(lambda: _run_ids(source)):
        if run_id in going_on:
            copied.left.append(f"run {run_id} is still running: copy again when it has ended")
            continue
        done = {*copied.runs, *copied.there}
        try:
            samples, problem = target.database.outlast(partial(_copy_run, source, target, run_id, done))
        except Duplicate as error:
            raise StoreError(f"another process wrote run {run_id} into {target.place} meanwhile: copy again") from error
        if problem:
            copied.left.append(problem)
        elif samples is None:
            copied.there.append(run_id)
        else:
            copied.runs.append(run_id)
            copied.samples += samples
            notify(f"{run_id}: {samples:,} samples copied and compared")
    same = {to_stored(run_id) for run_id in (*copied.runs, *copied.there)}
    copied.rest, problems = target.database.outlast(lambda: _copy_rest(source, target, same))
    copied.left += problems
    target.database.outlast(lambda: _copy_cache(source, target))
    return copied


@slotted
class _Digest:
    """A digest of rows in any order: a server sorts texts by its own language."""

    value: int = 0
    rows: int = 0

    def add(self, table: str, row: Row) -> None:
        """Take one row in."""
        content = hashlib.blake2b(repr((table, row)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self.value = (self.value + int.from_bytes(content, "big")) % 2**128
        self.rows += 1


def _run_ids(store: SqlStore) -> list[str]:
    with store.database.reading() as session:
        return [from_stored(name) for _number, name in sorted(_ids(session).items())]


def _copy_run(source: SqlStore, target: SqlStore, run_id: str, same: Collection[str]) -> tuple[int | None, str]:
    """How many samples were copied, None when the run was there already; or why it was not copied.

    `same` are the runs that are in both stores with the same content.
    """
    with source.database.reading() as reads:
        ids, digest = _ids(reads), _Digest()
        run = {name: number for number, name in ids.items()}[to_stored(run_id)]
        with target.database.reading() as session:
            there = {name: number for number, name in _ids(session).items()}
            if to_stored(run_id) in there:
                if _run_digest(session, there[to_stored(run_id)]) == _run_digest(reads, run):
                    return None, ""
                return None, f"{target.place} holds a run {run_id} with other content: it was left as it is"
        for (owner,) in reads.execute(_OWNERS, (run, run)):
            if owner != run and (name := from_stored(ids[owner])) not in same:
                return None, f"run {run_id} has answers of run {name}, which was not copied: it was left out"
        with target.database.writing() as writes:
            number = _write_run(reads, writes, run, ids, there, digest)
            if _run_digest(writes, number) != digest:
                raise StoreError(
                    f"run {run_id} was not the same in {target.place} after it was copied: nothing of it was kept"
                )
            return int(writes.execute("SELECT count(*) FROM samples WHERE run = ?", (number,))[0][0]), ""


def _write_run(
    reads: Session, writes: Session, run: int, ids: dict[int, str], there: dict[str, int], digest: _Digest
) -> int:
    """Write all of a run, whose rows go into the digest, and give its number."""
    columns, row = _run_row(reads, run)
    digest.add("runs", row)
    values = dict(zip(columns, row, strict=True))
    # Nothing can be added to a run that has ended, so it ends last.
    writes.insert("runs", columns, [tuple((values | {"state": RunState.RUNNING.value}).values())])
    number = int(writes.execute("SELECT number FROM runs WHERE id = ?", (values["id"],))[0][0])
    numbers = there | {values["id"]: number}
    for rows in reads.stream(f"{_CASES} ORDER BY id, hash", (run,), _PIECE):
        for case in rows:
            digest.add("cases", case)
        writes.insert("cases", ("id", "hash", "content"), rows, unless_there=True)
    for table in OF_A_RUN:
        names = reads.columns(table)
        places = [at for at, name in enumerate(names) if name in _RUNS]
        for rows in _rows_of(reads, table, names, run, ids):
            if table not in _DERIVED:
                for item in rows:
                    digest.add(table, item)
            writes.insert(table, names, [_replaced(item, places, numbers) for item in rows])
    writes.execute("UPDATE runs SET state = ? WHERE number = ?", (values["state"], number))
    return number


def _run_digest(session: Session, run: int) -> _Digest:
    digest, ids = _Digest(), _ids(session)
    digest.add("runs", _run_row(session, run)[1])
    for rows in session.stream(_CASES, (run,), _PIECE):
        for case in rows:
            digest.add("cases", case)
    for table in OF_A_RUN:
        if table not in _DERIVED:
            for rows in _rows_of(session, table, session.columns(table), run, ids):
                for row in rows:
                    digest.add(table, row)
    return digest


def _ids(session: Session) -> dict[int, str]:
    return dict(session.execute("SELECT number, id FROM runs"))


def _run_row(session: Session, run: int) -> tuple[tuple[str, ...], Row]:
    columns = tuple(name for name in session.columns("runs") if name != "number")
    return columns, session.execute(f"SELECT {', '.join(columns)} FROM runs WHERE number = ?", (run,))[0]  # noqa: S608


def _rows_of(
    session: Session, table: str, columns: tuple[str, ...], run: int, ids: dict[int, str]
) -> Iterator[list[Row]]:
    """The rows of a run in one table, with other runs named by their ids."""
    places = [at for at, name in enumerate(columns) if name in _RUNS]
    for rows in session.stream(f"SELECT {', '.join(columns)} FROM {table} WHERE run = ?", (run,), _PIECE):  # noqa: S608
        yield [_replaced(row, places, ids) for row in rows]


def _replaced(row: Row, places: list[int], others: dict[Any, Any]) -> Row:
    values = list(row)
    for at in places:
        values[at] = None if values[at] is None else others[values[at]]
    return tuple(values)


Key = tuple[str, tuple[Any, ...]]
"""The table of a thing, and its identity there."""
_Part = tuple[str, dict[str, Any]]
"""A table and one of its rows."""


@slotted
class _Rest:
    """Everything beside the runs of one store, by what it is: a baseline with its lines, an alert with its deliveries,
    a label, a queue with its plan and its places."""

    things: dict[Key, list[_Part]] = field(default_factory=dict)
    numbers: dict[str, dict[Any, int]] = field(default_factory=dict)
    """By table, the number of each row that others refer to."""


def _read_rest(session: Session) -> _Rest:
    rest, names = _Rest(), dict[str, dict[int, Any]]()
    names["runs"] = dict(_ids(session))
    for table in REST:
        columns = session.columns(table)
        order = " ORDER BY number" if "number" in columns else ""
        owner, owned = _PART_OF.get(table, (table, ()))
        rows = session.execute(f"SELECT {', '.join(columns)} FROM {table}{order}")  # noqa: S608 - our own names
        for row in rows:
            values = dict(zip(columns, row, strict=True))
            number = values.pop("number", None)
            for column in _REFERENCES.keys() & values.keys():
                # 0 is the other run of a queue that is of one run.
                values[column] = names[_REFERENCES[column]][values[column]] if values[column] else values[column]
            if owner == "alerts" and owned:
                key: Key = values["alert"]
            else:
                key = (owner, tuple(values[name] for name in owned or _IDENTITY[table]))
            rest.things.setdefault(key, []).append((table, values))
            if number is not None:
                names.setdefault(table, {})[number] = key
    for table, numbered in names.items():
        rest.numbers[table] = {name: number for number, name in numbered.items()}
    for key, parts in rest.things.items():
        if key[0] != "baselines":
            parts.sort(key=repr)
    return rest


def _copy_rest(source: SqlStore, target: SqlStore, same: set[str]) -> tuple[int, list[str]]:
    """How many things are the same in both now, and those that are not, in words; `same` are the runs that are."""
    with source.database.reading() as reads:
        theirs = _read_rest(reads)
    with target.database.writing() as writes:
        before = _read_rest(writes)
        for table in REST:
            # Read again: what was just added has numbers now.
            numbers = _read_rest(writes).numbers
            new = [
                part
                for key, parts in theirs.things.items()
                if _runs_of(parts) <= same
                for part in _new(key, parts, before.things.get(key))
            ]
            rows = [row for name, values in new if name == table and (row := _numbered(values, numbers))]
            if rows:
                writes.insert(table, tuple(rows[0]), [tuple(row.values()) for row in rows], unless_there=True)
        now = _read_rest(writes).things
    differ = [key for key, parts in theirs.things.items() if now.get(key, [])[: len(parts)] != parts]
    return len(theirs.things) - len(differ), [_left(key, target.place, there=key in now) for key in differ]


def _runs_of(parts: list[_Part]) -> set[str]:
    return {values[column] for _table, values in parts for column in _RUNS if values.get(column)}


def _new(key: Key, parts: list[_Part], there: list[_Part] | None) -> list[_Part]:
    """What is to be added to what is there: all or nothing, but for a log, which may be shorter there."""
    if there is None:
        return parts
    return parts[len(there) :] if key[0] == "baselines" and parts[: len(there)] == there else []


def _numbered(values: dict[str, Any], numbers: dict[str, dict[Any, int]]) -> dict[str, Any] | None:
    """The row with the numbers of the other store; None when something that it refers to is not there."""
    row = dict(values)
    for column in _REFERENCES.keys() & row.keys():
        if row[column]:
            number = numbers.get(_REFERENCES[column], {}).get(row[column])
            if number is None:
                return None
            row[column] = number
    return row


def _left(key: Key, place: str, *, there: bool) -> str:
    table, identity = key
    name = {
        "deleted_runs": "the log line of the deletion",
        "readings": "the log line of the reading",
        "baselines": "the baseline",
        "alerts": "the alert",
        "labels": "the label",
        "label_people": "the name",
        "label_plans": "the queue",
    }
    of = " / ".join(from_stored(str(part)) for part in identity if part not in (None, "", 0))
    why = f"{place} has another one" if there else "its run was not copied, or another one is in its place"
    return f"{name[table]} of {of} was left out: {why}"


def _copy_cache(source: SqlStore, target: SqlStore) -> None:
    columns = ("key", "content", "stored_at")
    with source.database.reading() as reads, target.database.writing() as writes:
        for rows in reads.stream("SELECT key, content, stored_at FROM cache ORDER BY key", (), _PIECE):
            writes.insert("cache", columns, rows, unless_there=True)
