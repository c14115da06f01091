"""What people said: their labels, and the queue that hands out what is to be labelled next.

A place in the queue is held by one person for a while (a lease) and filled by one label. An item that is to get several
labels has several places. Whatever happens to a person's process, its place is free again when the lease ends.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from steelyard.errors import StoreError
from steelyard.frozen import frozen
from steelyard.store.codec import Row, columns_of, decode, encode, from_row, to_row
from steelyard.store.databases import Database, Session
from steelyard.store.stored_text import from_stored, to_json, to_stored
from steelyard.suite.case import digest

RANDOM, DISAGREEMENT, PRECISION, ASKED = "random", "disagreement", "precision", "asked"
"""How an item was drawn: at random, because judges disagree on it, at random within what the judge passes or not so
that the estimate gets tight, or because somebody asked for it."""
DRAWN = (RANDOM, DISAGREEMENT, PRECISION, ASKED)
SCORES, VERDICT = "scores", "verdict"
"""The kinds of labels that say how good an answer is: by the rubric, or whether it passes."""
ANSWER = "answer"
"""The kind of a label that answers the case itself."""
RULING, UPHELD, DISMISSED = "ruling", "upheld", "dismissed"
"""The kind of a label that decides whether a questioned case is contested, and its two values; the comment is the
reason."""
SKIPPED = "skipped"
"""The kind of a label of somebody who could not tell: its value is the kind that was asked for, and the item is not
served to that person again."""

Key = tuple[str, str, int]
"""Case, variant and repeat."""


class AlreadyLabelled(StoreError):
    """The person has labelled the item before."""


@frozen
class LabelRecord:
    """A person's answer on one sample of a run, on the answers of two runs, or (without a run) on a case itself."""

    suite_name: str
    case_id: str
    person: str
    kind: str
    value: Any
    run_id: str | None = None
    variant: str = ""
    repeat: int = 0
    other_run_id: str | None = None
    """The run whose answer is compared, of a preference."""
    round: int = 0
    """0, and 1 for the second time that the same person labels the same item."""
    drawn: str = ASKED
    blind: bool = False
    """Whether the person saw neither what the judge nor what others said."""
    comment: str = ""
    labelled_at: float = field(default_factory=time.time)
    number: int | None = None
    """Its number in the store."""

    @property
    def key(self) -> Key:
        """The sample that it is of."""
        return (self.case_id, self.variant, self.repeat)

    @property
    def of_case(self) -> bool:
        """Whether the person was to answer the case, not to label an answer."""
        return ANSWER in (self.kind, self.value if self.kind == SKIPPED else "")


@frozen
class Queue:
    """What identifies a queue. A run has one of its answers, one of its cases, and one with each run compared."""

    run_id: str
    other_run_id: str | None = None
    """The run whose answers to the same are compared, where people say which of two they prefer."""
    of_cases: bool = False
    """Whether experts answer the cases; else people label the answers."""


@frozen
class QueuePlan:
    """What was planned for a queue."""

    kind: str
    seed: int = 0
    """Decides the order in which chance draws."""
    again: float = 0.0
    """The share of items that each person labels a second time."""
    turned: tuple[str, ...] = ()
    """How items had been drawn before, and perhaps labelled, that chance drew later."""
    draws: tuple[dict[str, Any], ...] = ()
    """By whom and when how many were drawn."""


@frozen
class QueuePlace:
    """One place of a queue, held by a person at a desk."""

    queue: Queue
    position: int
    case_id: str
    variant: str
    repeat: int
    drawn: str
    round: int
    person: str
    desk: str = ""

    @property
    def key(self) -> Key:
        """The sample that is to be labelled."""
        return (self.case_id, self.variant, self.repeat)


# A person is known by the folded name; the first spelling is the one that is shown.
_ELSEWHERE = {"run_id": "r.id", "other_run_id": "o.id", "person": "p.name"}
_RUNS = {"run_id": "run", "other_run_id": "other_run"}
_COLUMNS = (*(name for name in columns_of(LabelRecord) if name != "number"), "of_case")
_NEW_LABEL = f"""
INSERT INTO labels ({", ".join(_RUNS.get(name, name) for name in _COLUMNS)})
VALUES ({", ".join("?" * len(_COLUMNS))}) ON CONFLICT DO NOTHING RETURNING number
"""  # noqa: S608 - our own names
_LABELS = f"""
SELECT {", ".join(_ELSEWHERE.get(name, f"l.{name}") for name in columns_of(LabelRecord))}
FROM labels l JOIN label_people p ON p.person = l.person
LEFT JOIN runs r ON r.number = l.run LEFT JOIN runs o ON o.number = l.other_run WHERE l.withdrawn_at IS NULL
"""  # noqa: S608 - our own names
_PLAN = """
INSERT INTO label_plans (run, other_run, of_case, content) VALUES (?, ?, ?, ?)
ON CONFLICT (run, other_run, of_case) DO UPDATE SET content = excluded.content
"""
_QUEUE = ("run", "other_run", "of_case", "position", "case_id", "variant", "repeat", "drawn", "round", "only_for")
_IN_QUEUE = "run = ? AND other_run = ? AND of_case = ?"
_OF_ITEM = "case_id = ? AND variant = ? AND repeat = ?"
_LABELLED = """EXISTS (
    SELECT 1 FROM labels l WHERE l.run = q.run AND coalesce(l.other_run, 0) = q.other_run AND l.of_case = q.of_case
    AND l.case_id = q.case_id AND l.variant = q.variant AND l.repeat = q.repeat AND l.withdrawn_at IS NULL"""
# Nobody is served what they have labelled (or skipped) already, but for the planned second time.
_OPEN = f"""
SELECT position, case_id, variant, repeat, drawn, round FROM label_queue q WHERE {_IN_QUEUE} AND label IS NULL
AND NOT {_LABELLED} AND l.person = ? AND l.round = q.round) AND """  # noqa: S608 - our own words
_HELD_HERE = "person = ? AND desk IN ('', ?) AND held_until >= ?"
_FREE = "(person IS NULL OR held_until < ?) AND (only_for IS NULL OR only_for = ?)"
_HELD_ELSEWHERE = "person = ?"
_WAITING = f"""
SELECT count(*) FROM (
    SELECT DISTINCT case_id, variant, repeat FROM label_queue q
    WHERE {_IN_QUEUE} AND drawn IN (?, ?) AND NOT {_LABELLED})
) AS items
"""  # noqa: S608 - our own words
_SECOND_TIME = f"FROM label_queue WHERE {_IN_QUEUE} AND {_OF_ITEM} AND round = ? AND only_for = ?"


def _item(key: Key) -> tuple[str, str, int]:
    return (to_stored(key[0]), to_stored(key[1]), key[2])


def person_key(name: str) -> str:
    """What a person is known by: "Ann" and " ann " are one."""
    return " ".join(name.split()).casefold()


class PeopleTables:
    """The labels and queues of one store. Every method that writes is one transaction."""

    def __init__(self, database: Database, number_of: Callable[[Session, str], int]) -> None:
        self._database = database
        self._number_of = number_of

    # ---- labels

    def add_labels(self, labels: Sequence[LabelRecord]) -> list[int]:
        """Keep all labels, or none, and fill the open places of their plans with them.

        AlreadyLabelled when a person has labelled one of the items already.
        """
        with self._database.writing() as session:
            numbers = self._insert(session, labels)
            of_runs = [label for label in labels if label.run_id is not None]
            for queue in dict.fromkeys(Queue(item.run_id or "", item.other_run_id, item.of_case) for item in of_runs):
                _fill_open(session, self._numbers(session, queue))
            return numbers

    def labels(
        self, *, run_id: str | None = None, suite: str | None = None, number: int | None = None
    ) -> list[LabelRecord]:
        """The labels of a run (preferences with it on either side included), of a suite, of a number, or all; oldest
        first."""
        with self._database.reading() as session:
            where, values = "", list[Any]()
            if run_id is not None:
                where, values = " AND ? IN (l.run, l.other_run)", [self._number_of(session, run_id)]
            if suite is not None:
                where, values = f"{where} AND l.suite_name = ?", [*values, to_stored(suite)]
            if number is not None:
                where, values = f"{where} AND l.number = ?", [*values, number]
            rows = session.execute(f"{_LABELS}{where} ORDER BY l.number", values)
        return [from_row(LabelRecord, row) for row in rows]

    def withdraw(self, number: int, lease: float = 0.0) -> LabelRecord:
        """Take a label back; its person holds its place in the queue for `lease` seconds, and then it is free.

        A second time that was planned because of it, and is still to come, is planned no more. StoreError when there
        is no such label.
        """
        with self._database.writing() as session:
            rows = session.execute(f"{_LABELS} AND l.number = ?", (number,))
            if not rows:
                raise StoreError(f"there is no label {number}: `steelyard label log` lists them")
            now, label = time.time(), from_row(LabelRecord, rows[0])
            session.execute("UPDATE labels SET withdrawn_at = ? WHERE number = ?", (now, number))
            session.execute(
                "UPDATE label_queue SET label = NULL, held_until = ? WHERE label = ?", (now + lease, number)
            )
            if label.run_id is not None:
                queue = self._numbers(session, Queue(label.run_id, label.other_run_id, label.of_case))
                again = (*queue, *_item(label.key), label.round + 1, to_stored(person_key(label.person)))
                session.execute(f"DELETE {_SECOND_TIME} AND label IS NULL", again)
            return label

    def everybody(self) -> list[str]:
        """Everybody who ever gave a label, who gave one first first; labels that were taken back count, too."""
        with self._database.reading() as session:
            of_people = "SELECT p.name FROM labels l JOIN label_people p ON p.person = l.person"
            return [from_stored(row[0]) for row in session.execute(f"{of_people} GROUP BY p.name ORDER BY min(number)")]

    def by_person(self, queue: Queue) -> dict[str, int]:
        """How many labels of a queue each person gave, most first; what was skipped does not count."""
        sql = """SELECT p.name, count(*) FROM labels l JOIN label_people p ON p.person = l.person
            WHERE l.run = ? AND coalesce(l.other_run, 0) = ? AND l.of_case = ? AND l.withdrawn_at IS NULL
            AND l.kind <> ? GROUP BY p.name ORDER BY count(*) DESC, p.name"""
        return {from_stored(name): n for name, n in self._read(queue, sql, SKIPPED)}

    def state(self, run_id: str) -> tuple[int, int]:
        """Another one whenever a label of the run was given or taken back."""
        sql = "SELECT count(*), count(withdrawn_at) FROM labels WHERE ? IN (run, other_run)"
        with self._database.reading() as session:
            ((given, withdrawn),) = session.execute(sql, (self._number_of(session, run_id),))
        return int(given), int(withdrawn)

    def _insert(self, session: Session, labels: Sequence[LabelRecord]) -> list[int]:
        names = {person_key(label.person): label.person.strip() for label in reversed(labels)}
        # In one order, so that two who write at once do not wait for each other.
        people = [(to_stored(person), to_stored(names[person])) for person in sorted(names)]
        session.insert("label_people", ("person", "name"), people, unless_there=True)
        numbers = []
        for label in labels:
            row = dict(zip(columns_of(LabelRecord), to_row(label), strict=True))
            for name in _RUNS:
                row[name] = row[name] and self._number_of(session, row[name])
            row |= {"person": to_stored(person_key(label.person)), "of_case": int(label.of_case)}
            inserted = session.execute(_NEW_LABEL, [row[name] for name in _COLUMNS])
            if not inserted:
                what = f"{label.case_id}{f' [{label.variant}]' if label.variant else ''} already"
                undo = "take that label back first (`steelyard label withdraw`)"
                raise AlreadyLabelled(f"{label.person} has labelled {what}: {undo}")
            numbers.append(int(inserted[0][0]))
        return numbers

    # ---- plans and their queues

    def plan(self, queue: Queue) -> QueuePlan | None:
        """What was planned for a queue; None when nothing was."""
        rows = self._read(queue, f"SELECT content FROM label_plans WHERE {_IN_QUEUE}")  # noqa: S608 - our own words
        return decode(QueuePlan, json.loads(rows[0][0])) if rows else None

    def add_places(self, queue: Queue, plan: QueuePlan, places: Sequence[tuple[Key, str]], per_item: int = 1) -> int:
        """Keep a plan and put places for items that have none at the end of its queue; how many were added.

        An item that is there already and now is drawn at random counts as random from now on, and so do its labels: it
        is part of the random draw, however it came to be labelled first.
        """
        with self._database.writing() as session:
            numbers = self._numbers(session, queue)
            session.execute(_PLAN, (*numbers, to_json(encode(plan))))
            self._locked(session, queue)
            there, position = _queued(session, numbers)
            new = [(key, drawn) for key, drawn in places if key not in there]
            rows = [
                (*numbers, position + at, *_item(key), drawn, 0, None) for at, (key, drawn) in enumerate(new * per_item)
            ]
            session.insert("label_queue", _QUEUE, rows)
            for key, drawn in places:
                if there.get(key, drawn) not in (drawn, RANDOM):
                    for table, other in (("label_queue", "other_run"), ("labels", "coalesce(other_run, 0)")):
                        where = f"run = ? AND {other} = ? AND of_case = ? AND {_OF_ITEM}"
                        update = f"UPDATE {table} SET drawn = ? WHERE {where}"  # noqa: S608 - our own words
                        session.execute(update, (drawn, *numbers, *_item(key)))
            _fill_open(session, numbers)
        return len(rows)

    def queues(self, most: int) -> list[Queue]:
        """The queues of the runs that began last, newest first."""
        sql = """SELECT r.id, o.id, q.of_case FROM label_plans q JOIN runs r ON r.number = q.run
            LEFT JOIN runs o ON o.number = q.other_run ORDER BY r.number DESC, q.other_run, q.of_case LIMIT ?"""
        with self._database.reading() as session:
            rows = session.execute(sql, (most,))
        return [Queue(from_stored(run), other and from_stored(other), bool(of_case)) for run, other, of_case in rows]

    def place(self, queue: Queue, position: int, person: str, desk: str = "") -> QueuePlace | None:
        """A place by its position, whoever holds it; None when it is not for that person."""
        sql = f"""SELECT case_id, variant, repeat, drawn, round FROM label_queue
            WHERE {_IN_QUEUE} AND position = ? AND (only_for IS NULL OR only_for = ?)"""  # noqa: S608 - our own words
        for row in self._read(queue, sql, position, to_stored(person_key(person))):
            case_id, variant, repeat, drawn, round_ = row
            return QueuePlace(
                queue, position, from_stored(case_id), from_stored(variant), repeat, drawn, round_, person, desk
            )
        return None

    def queued(self, queue: Queue) -> dict[Key, str]:
        """Every item in a queue, and how it was drawn."""
        with self._database.reading() as session:
            return _queued(session, self._numbers(session, queue))[0]

    def progress(self, queue: Queue) -> dict[str, tuple[int, int]]:
        """How many places of a queue are filled, and how many there are, by how they were drawn."""
        sql = f"SELECT drawn, count(label), count(*) FROM label_queue WHERE {_IN_QUEUE}"  # noqa: S608 - our own words
        rows = self._read(queue, f"{sql} GROUP BY drawn ORDER BY min(position)")
        return {drawn: (filled, planned) for drawn, filled, planned in rows}

    def waiting(self, run_id: str, before: str = DISAGREEMENT) -> int:
        """How many items drawn by chance have no label yet, where some of them were drawn `before` by another way.

        Those are labelled first: until the others are, a random draw that they are part of leans to them.
        """
        plan = self.plan(Queue(run_id))
        # Whoever asked for a label picked what is labelled, as disagreement does.
        turned = plan is not None and (before in plan.turned or (before == DISAGREEMENT and ASKED in plan.turned))
        return int(self._read(Queue(run_id), _WAITING, RANDOM, PRECISION)[0][0]) if turned else 0

    def next_place(
        self, queue: Queue, person: str, lease: float, desk: str = "", now: float | None = None
    ) -> QueuePlace | None:
        """The place that a person holds at this desk, or the first free one, held from now on for `lease` seconds.

        Where none is free it is one that the person holds at another desk; None when nothing is left for that person.
        """
        now = time.time() if now is None else now
        name = to_stored(person_key(person))
        ways = ((_HELD_HERE, (name, desk, now)), (_FREE, (now, name)), (_HELD_ELSEWHERE, (name,)))
        with self._database.writing() as session:
            numbers = self._locked(session, queue)
            for condition, values in ways:
                rows = session.execute(f"{_OPEN}{condition} ORDER BY position LIMIT 1", (*numbers, name, *values))
                if rows:
                    break
            else:
                return None
            position, case_id, variant, repeat, drawn, round_ = rows[0]
            held = f"UPDATE label_queue SET person = ?, desk = ?, held_until = ? WHERE {_IN_QUEUE} AND position = ?"  # noqa: S608
            session.execute(held, (name, desk, now + lease, *numbers, position))
        return QueuePlace(
            queue, position, from_stored(case_id), from_stored(variant), repeat, drawn, round_, person, desk
        )

    def fill(self, place: QueuePlace, label: LabelRecord, *, again: bool = False) -> LabelRecord:
        """Keep the label of a place. It is kept, too, when the lease ended and somebody else holds the place by now.

        `again` adds a place for the same person to label the same item a second time. AlreadyLabelled when the person
        has labelled the item already.
        """
        with self._database.writing() as session:
            numbers = self._locked(session, place.queue)
            (number,) = self._insert(session, [label])
            _end_lease(session, numbers, place, None if label.kind == SKIPPED else number)
            second = (*_item(place.key), place.round + 1, to_stored(person_key(place.person)))
            # A label that was taken back and given anew has its second place already.
            if again and not session.execute(f"SELECT 1 {_SECOND_TIME}", (*numbers, *second)):
                row = (*numbers, _queued(session, numbers)[1], *second[:3], place.drawn, *second[3:])
                session.insert("label_queue", _QUEUE, [row])
        return replace(label, number=number)

    def leave_desk(self, place: QueuePlace) -> None:
        """Let the person have the place, as long as it is held, at whatever desk they come back to."""
        with self._database.writing() as session:
            sql = f"UPDATE label_queue SET desk = '' WHERE {_IN_QUEUE} AND position = ? AND desk = ?"  # noqa: S608
            session.execute(sql, (*self._locked(session, place.queue), place.position, place.desk))

    def _read(self, queue: Queue, sql: str, *values: Any) -> list[Row]:
        with self._database.reading() as session:
            return session.execute(sql, (*self._numbers(session, queue), *values))

    def _numbers(self, session: Session, queue: Queue) -> tuple[int, int, int]:
        compared = 0 if queue.other_run_id is None else self._number_of(session, queue.other_run_id)
        return self._number_of(session, queue.run_id), compared, int(queue.of_cases)

    def said_of(self, run_id: str) -> str:
        """A digest of all that people said of a run, and of its queues; "" while there is nothing."""

        with self._database.reading() as session:
            run = self._number_of(session, run_id)
            rows = [list(row) for sql in _SAID for row in session.execute(sql, (run,))]
        return digest(rows) if rows else ""

    def _locked(self, session: Session, queue: Queue) -> tuple[int, int, int]:
        """The numbers of a queue that is locked: two people who ask at once are served one after the other."""
        numbers, run = self._numbers(session, queue), queue.run_id
        lock = f"SELECT 1 FROM label_plans WHERE {_IN_QUEUE}{self._database.dialect.lock_rows}"  # noqa: S608
        if not session.execute(lock, numbers):
            raise StoreError(f"run {run} has no plan of labels yet: make one with `steelyard label plan {run}`")
        return numbers


def _end_lease(session: Session, queue: tuple[int, ...], place: QueuePlace, label: int | None = None) -> None:
    """Fill a place with a label, or free it without one; unless somebody else holds it by now."""
    change = "person = NULL" if label is None else f"label = {label}"
    sql = f"UPDATE label_queue SET {change}, held_until = NULL WHERE {_IN_QUEUE} AND position = ? AND person = ?"  # noqa: S608
    session.execute(sql, (*queue, place.position, to_stored(person_key(place.person))))


_SAID = (
    "SELECT number, kind, value, drawn, withdrawn_at FROM labels WHERE run = ? ORDER BY number",
    "SELECT case_id, variant, repeat, round, drawn, label FROM label_queue WHERE run = ? ORDER BY 1, 2, 3, 4, 5, 6",
    "SELECT content FROM label_plans WHERE run = ? ORDER BY other_run, of_case",
)
_UNPLACED = f"""
SELECT number, case_id, variant, repeat, round, person, drawn FROM labels l
WHERE run = ? AND coalesce(other_run, 0) = ? AND of_case = ? AND withdrawn_at IS NULL AND kind = ?
AND NOT EXISTS (SELECT 1 FROM label_queue q WHERE q.label = l.number AND {_IN_QUEUE}) ORDER BY number
"""  # noqa: S608 - our own words


def _fill_open(session: Session, queue: tuple[int, ...]) -> None:
    """Fill the open places of a plan with labels that were given outside of it, as by `label import`.

    Such a label counts as drawn the way its place was: the plan picked the item. Who gave it may have picked among
    those, so that an estimate waits until the whole draw has labels.
    """
    content = session.execute(f"SELECT content FROM label_plans WHERE {_IN_QUEUE}", queue)  # noqa: S608
    plan = decode(QueuePlan, json.loads(content[0][0])) if content else None
    labels = [] if plan is None else session.execute(_UNPLACED, (*queue, plan.kind, *queue))
    if plan is None or not labels:
        return
    sql = f"""SELECT position, case_id, variant, repeat, round, drawn, only_for, person, held_until FROM label_queue
        WHERE {_IN_QUEUE} AND label IS NULL ORDER BY position"""  # noqa: S608 - our own words
    places: dict[Row, list[Row]] = {}
    for position, *item, drawn, only_for, holder, held_until in session.execute(sql, queue):
        places.setdefault(tuple(item), []).append((position, drawn, only_for, holder, held_until))
    turned, now = set(plan.turned), time.time()
    for number, *item, person, drawn in labels:
        left = places.get(tuple(item), [])
        free = (
            place
            for place in left
            if place[2] in (None, person) and (place[3] in (None, person) or (place[4] or 0.0) < now)
        )
        if (place := next(free, None)) is None:
            continue
        left.remove(place)
        fill = f"UPDATE label_queue SET label = ?, person = ?, held_until = NULL WHERE {_IN_QUEUE} AND position = ?"  # noqa: S608
        session.execute(fill, (number, person, *queue, place[0]))
        if drawn == ASKED and place[1] != ASKED:
            session.execute("UPDATE labels SET drawn = ? WHERE number = ?", (place[1], number))
            turned.add(ASKED)
    if turned != set(plan.turned):
        session.execute(_PLAN, (*queue, to_json(encode(replace(plan, turned=tuple(sorted(turned)))))))


def _queued(session: Session, queue: tuple[int, ...]) -> tuple[dict[Key, str], int]:
    """How each item of a queue was drawn, and the next free position."""
    sql = f"SELECT case_id, variant, repeat, drawn, position FROM label_queue WHERE {_IN_QUEUE}"  # noqa: S608
    rows = session.execute(f"{sql} ORDER BY position", queue)
    return {(from_stored(row[0]), from_stored(row[1]), row[2]): row[3] for row in rows}, rows[-1][4] + 1 if rows else 0
