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
from steelyard.store.codec import Row, from_stored, to_json, to_stored
from steelyard.store.databases import Database, Session

RANDOM, DISAGREEMENT, PRECISION, ASKED = "random", "disagreement", "precision", "asked"
"""How an item was drawn: at random, because judges disagree on it, at random within what the judge passes or not so
that the estimate gets tight, or because somebody asked for it."""
SCORES, VERDICT = "scores", "verdict"
"""The kinds of labels that say how good an answer is: by the rubric, or whether it passes."""
SKIPPED = "skipped"
"""The kind of a label of somebody who could not tell: no answer, and the item is not served to that person again."""

Key = tuple[str, str, int]
"""Case, variant and repeat."""


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


@frozen
class Place:
    """One place of a run's queue, held by a person."""

    run_id: str
    position: int
    case_id: str
    variant: str
    repeat: int
    drawn: str
    round: int
    person: str
    held_until: float
    other_run_id: str | None = None
    """The run whose answer to the same is compared, where people say which of two they prefer."""

    @property
    def key(self) -> Key:
        """The sample that is to be labelled."""
        return (self.case_id, self.variant, self.repeat)


_COLUMNS = (
    *("suite_name", "run", "other_run", "case_id", "variant", "repeat", "person", "round", "kind", "content"),
    *("drawn", "blind", "comment", "labelled_at"),
)
_NEW_LABEL = f"""
INSERT INTO labels ({", ".join(_COLUMNS)}) VALUES ({", ".join("?" * len(_COLUMNS))})
ON CONFLICT DO NOTHING RETURNING number
"""  # noqa: S608 - our own names
_PLAN = """
INSERT INTO label_plans (run, other_run, content) VALUES (?, ?, ?)
ON CONFLICT (run, other_run) DO UPDATE SET content = excluded.content
"""
_LABELS = """
SELECT l.number, l.suite_name, r.id, o.id, l.case_id, l.variant, l.repeat, l.person, l.round, l.kind, l.content,
       l.drawn, l.blind, l.comment, l.labelled_at
FROM labels l LEFT JOIN runs r ON r.number = l.run LEFT JOIN runs o ON o.number = l.other_run
WHERE l.withdrawn_at IS NULL
"""
_QUEUE = ("run", "other_run", "position", "case_id", "variant", "repeat", "drawn", "round", "only_for")
_QUEUE_OF = "run = ? AND other_run = ?"
# Nobody is served what they have labelled (or skipped) already, but for the planned second time.
_PLACE = f"""
SELECT position, case_id, variant, repeat, drawn, round FROM label_queue q WHERE {_QUEUE_OF} AND label IS NULL
AND NOT EXISTS (
    SELECT 1 FROM labels l WHERE l.run = q.run AND l.case_id = q.case_id AND l.variant = q.variant
    AND l.repeat = q.repeat AND l.person = ? AND l.round = q.round AND coalesce(l.other_run, 0) = q.other_run
    AND l.withdrawn_at IS NULL
)
"""  # noqa: S608 - our own words
_MINE = f"{_PLACE} AND person = ? AND held_until >= ? ORDER BY position LIMIT 1"
_FREE = f"""
{_PLACE} AND (person IS NULL OR held_until < ?) AND (only_for IS NULL OR only_for = ?) ORDER BY position LIMIT 1
"""
_MY_PLACE = f"WHERE {_QUEUE_OF} AND position = ? AND person = ?"
_HOLD = f"UPDATE label_queue SET person = ?, held_until = ? WHERE {_QUEUE_OF} AND position = ?"  # noqa: S608
_FILL = f"UPDATE label_queue SET label = ?, held_until = NULL {_MY_PLACE}"  # noqa: S608
_SECOND = f"""
SELECT 1 FROM label_queue
WHERE {_QUEUE_OF} AND case_id = ? AND variant = ? AND repeat = ? AND round = ? AND only_for = ?
"""  # noqa: S608 - our own words
_DRAWN = "UPDATE {table} SET drawn = ? WHERE run = ? AND {other} = ? AND case_id = ? AND variant = ? AND repeat = ?"
_ITEMS = """
SELECT case_id, variant, repeat, drawn, position FROM label_queue WHERE run = ? AND other_run = ? ORDER BY position
"""
_PROGRESS = """
SELECT drawn, count(label), count(*) FROM label_queue WHERE run = ? AND other_run = ?
GROUP BY drawn ORDER BY min(position)
"""
_WAITING = f"""
SELECT count(*) FROM (
    SELECT DISTINCT case_id, variant, repeat FROM label_queue q WHERE {_QUEUE_OF} AND drawn IN (?, ?) AND NOT EXISTS (
        SELECT 1 FROM labels l WHERE l.run = q.run AND l.other_run IS NULL AND l.case_id = q.case_id
        AND l.variant = q.variant AND l.repeat = q.repeat AND l.withdrawn_at IS NULL
    )
) AS items
"""  # noqa: S608 - our own words
_NOT_AGAIN = f"""
DELETE FROM label_queue WHERE {_QUEUE_OF} AND case_id = ? AND variant = ? AND repeat = ? AND round = ? AND only_for = ?
AND label IS NULL
"""  # noqa: S608 - our own words
_RELEASE = f"UPDATE label_queue SET person = NULL, held_until = NULL {_MY_PLACE}"  # noqa: S608


class PeopleTables:
    """The labels and queues of one store. Every method that writes is one transaction."""

    def __init__(self, database: Database, number_of: Callable[[Session, str], int]) -> None:
        self._database = database
        self._number_of = number_of

    def add_labels(self, labels: Sequence[LabelRecord]) -> list[int]:
        """Keep all labels, or none; StoreError when a person has labelled one of the items already."""
        with self._database.writing() as session:
            return [self._insert(session, label) for label in labels]

    def labels(self, *, run_id: str | None = None, suite: str | None = None) -> list[LabelRecord]:
        """The labels of a run (preferences with it on either side included), of a suite, or all; oldest first."""
        with self._database.reading() as session:
            where, values = "", list[Any]()
            if run_id is not None:
                run = self._number_of(session, run_id)
                where, values = " AND (l.run = ? OR l.other_run = ?)", [run, run]
            if suite is not None:
                where, values = f"{where} AND l.suite_name = ?", [*values, to_stored(suite)]
            return [_label(row) for row in session.execute(f"{_LABELS}{where} ORDER BY l.number", values)]

    def withdraw(self, number: int, lease: float = 0.0) -> LabelRecord:
        """Take a label back; its person holds its place in the queue for `lease` seconds, and then it is free.

        A second time that was planned because of it, and is still to come, is planned no more. StoreError when there
        is no such label.
        """
        with self._database.writing() as session:
            rows = session.execute(f"{_LABELS} AND l.number = ?", (number,))
            if not rows:
                raise StoreError(f"there is no label {number}: `steelyard label log` lists them")
            now, label = time.time(), _label(rows[0])
            session.execute("UPDATE labels SET withdrawn_at = ? WHERE number = ?", (now, number))
            session.execute(
                "UPDATE label_queue SET label = NULL, held_until = ? WHERE label = ?", (now + lease, number)
            )
            if label.run_id is not None:
                runs = self._runs(session, label.run_id, label.other_run_id)
                item = (to_stored(label.case_id), to_stored(label.variant), label.repeat)
                session.execute(_NOT_AGAIN, (*runs, *item, label.round + 1, to_stored(label.person)))
            return label

    def everybody(self) -> list[str]:
        """Everybody who ever gave a label, who gave one first first; labels that were taken back count, too."""
        with self._database.reading() as session:
            rows = session.execute("SELECT person FROM labels GROUP BY person ORDER BY min(number)")
            return [from_stored(row[0]) for row in rows]

    def plan(self, run_id: str, other: str | None = None) -> dict[str, Any] | None:
        """What was planned for the queue of a run, or of two runs to be compared; None when nothing was."""
        with self._database.reading() as session:
            sql = "SELECT content FROM label_plans WHERE run = ? AND other_run = ?"
            rows = session.execute(sql, self._runs(session, run_id, other))
        plan: dict[str, Any] | None = json.loads(rows[0][0]) if rows else None
        return plan

    def add_places(
        self,
        run_id: str,
        plan: dict[str, Any],
        places: Sequence[tuple[Key, str]],
        per_item: int = 1,
        other: str | None = None,
    ) -> int:
        """Keep a run's plan and put places for items that have none at the end of its queue; how many were added.

        An item that is there already and now is drawn at random counts as random from now on, and so do its labels: it
        is part of the random draw, however it came to be labelled first.
        """
        with self._database.writing() as session:
            runs = self._runs(session, run_id, other)
            session.execute(_PLAN, (*runs, to_json(plan)))
            self._locked(session, run_id, other)
            there, position = _queued(session, runs)
            new = [(key, drawn) for key, drawn in places if key not in there]
            rows = [
                (*runs, position + i, to_stored(key[0]), to_stored(key[1]), key[2], drawn, 0, None)
                for i, (key, drawn) in enumerate(new * per_item)
            ]
            session.insert("label_queue", _QUEUE, rows)
            for key, drawn in places:
                if there.get(key, drawn) not in (drawn, RANDOM):
                    item = (drawn, *runs, to_stored(key[0]), to_stored(key[1]), key[2])
                    session.execute(_DRAWN.format(table="label_queue", other="other_run"), item)
                    session.execute(_DRAWN.format(table="labels", other="coalesce(other_run, 0)"), item)
        return len(rows)

    def queued(self, run_id: str, other: str | None = None) -> dict[Key, str]:
        """Every item in a run's queue, and how it was drawn."""
        with self._database.reading() as session:
            return _queued(session, self._runs(session, run_id, other))[0]

    def waiting(self, run_id: str) -> int:
        """How many items of a draw by chance that began with picked ones have no label yet, 0 for other draws.

        What was picked by disagreement is labelled first: until the others are, a draw that it is part of leans to it.
        """
        if not (self.plan(run_id) or {}).get("picked_first"):
            return 0
        with self._database.reading() as session:
            return int(session.execute(_WAITING, (*self._runs(session, run_id, None), RANDOM, PRECISION))[0][0])

    def next_place(
        self, run_id: str, person: str, lease: float, other: str | None = None, now: float | None = None
    ) -> Place | None:
        """The place that a person holds already, or the first free one, held from now on for `lease` seconds.

        None when nothing is left for that person.
        """
        now = time.time() if now is None else now
        name = to_stored(person)
        with self._database.writing() as session:
            runs = self._locked(session, run_id, other)
            rows = session.execute(_MINE, (*runs, name, name, now)) or session.execute(_FREE, (*runs, name, now, name))
            if not rows:
                return None
            position, case_id, variant, repeat, drawn, round_ = rows[0]
            session.execute(_HOLD, (name, now + lease, *runs, position))
        key = (from_stored(case_id), from_stored(variant), repeat)
        return Place(run_id, position, *key, drawn, round_, person, now + lease, other)

    def fill(self, place: Place, label: LabelRecord, *, again: bool = False) -> LabelRecord:
        """Keep the label of a place. It is kept, too, when the lease ended and somebody else holds the place by now.

        `again` adds a place for the same person to label the same item a second time. StoreError when the person has
        labelled the item already.
        """
        with self._database.writing() as session:
            runs, name = self._locked(session, place.run_id, place.other_run_id), to_stored(place.person)
            number = self._insert(session, label)
            if label.kind == SKIPPED:
                session.execute(_RELEASE, (*runs, place.position, name))
            else:
                session.execute(_FILL, (number, *runs, place.position, name))
            if again:
                item = (to_stored(place.case_id), to_stored(place.variant), place.repeat)
                # A label that was taken back and given anew has its second place already.
                if not session.execute(_SECOND, (*runs, *item, place.round + 1, name)):
                    _, last = _queued(session, runs)
                    session.insert("label_queue", _QUEUE, [(*runs, last, *item, place.drawn, place.round + 1, name)])
        return replace(label, number=number)

    def progress(self, run_id: str, other: str | None = None) -> dict[str, tuple[int, int]]:
        """How many places of a run's queue are filled, and how many there are, by how they were drawn."""
        with self._database.reading() as session:
            rows = session.execute(_PROGRESS, self._runs(session, run_id, other))
        return {row[0]: (row[1], row[2]) for row in rows}

    def _runs(self, session: Session, run_id: str, other: str | None) -> tuple[int, int]:
        """What identifies a queue: a run's number, and that of the run it is compared with or 0."""
        return self._number_of(session, run_id), 0 if other is None else self._number_of(session, other)

    def _locked(self, session: Session, run_id: str, other: str | None) -> tuple[int, int]:
        """The numbers of a queue that is locked: two people who ask at once are served one after the other."""
        runs = self._runs(session, run_id, other)
        lock = "SELECT 1 FROM label_plans WHERE run = ? AND other_run = ?" + self._database.dialect.lock_rows  # noqa: S608
        if not session.execute(lock, runs):
            raise StoreError(f"run {run_id} has no plan of labels yet: make one with `steelyard label plan {run_id}`")
        return runs

    def _insert(self, session: Session, label: LabelRecord) -> int:
        runs = [None if name is None else self._number_of(session, name) for name in (label.run_id, label.other_run_id)]
        key = (to_stored(label.case_id), to_stored(label.variant), label.repeat)
        who = (to_stored(label.person), label.round)
        content = (label.kind, to_json(label.value), label.drawn, int(label.blind), to_stored(label.comment))
        rows = session.execute(
            _NEW_LABEL, (to_stored(label.suite_name), *runs, *key, *who, *content, label.labelled_at)
        )
        if not rows:
            item = f"{label.case_id}{f' [{label.variant}]' if label.variant else ''}"
            raise StoreError(
                f"{label.person} has labelled {item} already: take that label back first (`steelyard label withdraw`)"
            )
        return int(rows[0][0])


def _queued(session: Session, runs: tuple[int, int]) -> tuple[dict[Key, str], int]:
    """How each item of a queue was drawn, and the next free position."""
    rows = session.execute(_ITEMS, runs)
    return {(from_stored(row[0]), from_stored(row[1]), row[2]): row[3] for row in rows}, rows[-1][4] + 1 if rows else 0


def _label(row: Row) -> LabelRecord:
    number, suite, run, other, case_id, variant, repeat, person, round_, kind, content, drawn, blind, comment, at = row
    return LabelRecord(
        suite_name=from_stored(suite),
        case_id=from_stored(case_id),
        person=from_stored(person),
        kind=kind,
        value=json.loads(content),
        run_id=run,
        variant=from_stored(variant),
        repeat=repeat,
        other_run_id=other,
        round=round_,
        drawn=drawn,
        blind=bool(blind),
        comment=from_stored(comment),
        labelled_at=at,
        number=number,
    )
