"""Who labels what next: a run's plan of labels, and the desk that serves its items one by one.

The random part is the beginning of one shuffled list of all answers: that makes estimates honest. What is drawn for
precision goes on in the same list, within the answers that the judge passes and within the others. What is drawn by
disagreement is picked for what it is: it shows where judges err, and is in no estimate.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.analysis.judge.votes import judged_text
from steelyard.errors import UsageError
from steelyard.people.labels import ANSWER, KINDS, PREFERENCE, Terms
from steelyard.records import Outcome, RunState
from steelyard.store.people import DISAGREEMENT, PRECISION, RANDOM, SKIPPED, Key, LabelRecord, Place
from steelyard.suite.yaml import meant_or_listed

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.base import Columns, Store
    from steelyard.suite.case import Case

_EVEN = 0.5
LEASE = 1800.0
"""Seconds that an item is held for a person who does not answer."""


@dataclass(frozen=True, slots=True)
class Draw:
    """How many more items are to be labelled, and why these."""

    random: int = 0
    disagreement: int = 0
    precision: int = 0
    per_item: int = 1
    """How many people label each."""


@dataclass(frozen=True, slots=True)
class Task:
    """One item to label, as a person sees it: without its truth, who answered, and what anybody else said."""

    place: Place
    case: Case
    answer: str
    """The text that is to be labelled; "" for people who answer the case themselves."""
    second: str
    """The other text, where people say which of two they prefer."""
    swapped: bool
    """Whether the first text shown is that of the other run."""
    done: int
    """How many labels this person has given before."""


def extend_plan(
    store: Store,
    header: RunHeader,
    draw: Draw,
    *,
    kind: str = "",
    again: float | None = None,
    by: str = "",
    against: RunHeader | None = None,
    seed: int | None = None,
) -> dict[str, int]:
    """Draw more items into the queue of a run; by how they were drawn, how many places were added.

    `again` is the share of items that each person gets a second time. With `against` people say whether they prefer the
    answer of this run or of that one. `seed` decides the draw of a run's first plan; else the run's id does. UsageError
    when there is nothing to draw from.
    """
    for run in (header, against):
        if run is not None and run.state is not RunState.ENDED:
            raise UsageError(f"run {run.id} has not ended: labels are drawn from all of its answers")
    terms, other = Terms(header.description), None if against is None else against.id
    plan = _plan(store, header, terms.kind if against is None else PREFERENCE, kind, seed, other)
    plan["again"] = plan["again"] if again is None else again
    columns = store.columns(header.id)
    order = _shuffled(columns, plan["seed"])
    if against is not None:
        theirs = store.columns(against.id)
        both = {key_at(theirs, position) for position in _shuffled(theirs, 0).tolist()}
        order = order[np.array([key_at(columns, position) in both for position in order.tolist()], dtype=bool)]
    if not len(order):
        raise UsageError(f"run {header.id} has no answer that was scored: there is nothing to label")
    queued = store.people.queued(header.id, other)
    places: dict[Key, str] = {}
    for key in _random(columns, order, queued, draw.random):
        places[key] = RANDOM
    for key in _most_disagreed(store, header, columns, order, queued | places, draw.disagreement):
        places[key] = DISAGREEMENT
    for key in _most_telling(store, terms, header.id, columns, order, queued | places, draw.precision):
        places[key] = PRECISION
    if any(queued.get(key) == DISAGREEMENT for key, how in places.items() if how != DISAGREEMENT):
        plan["picked_first"] = True
    plan["draws"].append({"at": time.time(), "by": by, "per_item": draw.per_item} | _counts(places))
    store.people.add_places(header.id, plan, list(places.items()), draw.per_item, other)
    return _counts(places)


def _plan(
    store: Store, header: RunHeader, usual: str, kind: str, seed: int | None, other: str | None
) -> dict[str, Any]:
    """The plan that a run has, or a new one; UsageError when it is of another kind or seed than is asked for."""
    _check_kind(header.id, kind, other)
    plan = store.people.plan(header.id, other)
    if plan is None:
        first = _seed(header.id) if seed is None else seed
        return {"seed": first, "kind": kind or usual, "again": 0.0, "draws": []}
    if kind and kind != plan["kind"]:
        raise UsageError(f"the labels of run {header.id} are of the kind {plan['kind']}: one plan asks for one kind")
    if seed is not None and seed != plan["seed"]:
        raise UsageError(
            f"the draw of run {header.id} began with the seed {plan['seed']}: it goes on in the same order"
        )
    return plan


def _check_kind(run_id: str, kind: str, other: str | None) -> None:
    if other is None:
        if kind not in ("", *KINDS[:-1]):
            raise UsageError(f"there is no kind {kind!r} of labels of one answer{meant_or_listed(kind, KINDS[:-1])}")
    elif other == run_id or kind not in ("", PREFERENCE):
        mistake = f"is {run_id} itself" if other == run_id else f"takes no --kind {kind}"
        raise UsageError(f"--against asks which answer of two runs is better: it {mistake}")


def _counts(places: Mapping[Key, str]) -> dict[str, int]:
    return {name: sum(drawn == name for drawn in places.values()) for name in (RANDOM, DISAGREEMENT, PRECISION)}


def _seed(run_id: str) -> int:
    return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:4], "big")


def _shuffled(columns: Columns, seed: int) -> np.ndarray:
    """The positions of all scored answers in one order by chance, the same whenever it is asked for."""
    return np.random.default_rng(seed).permutation(np.flatnonzero(has_outcome(columns, Outcome.SCORED)))


def has_outcome(columns: Columns, outcome: Outcome) -> np.ndarray:
    """Which samples ended so."""
    return np.isin(columns.outcome, [i for i, name in enumerate(columns.outcomes) if name == outcome])


def key_at(columns: Columns, position: int) -> Key:
    """Case, variant and repeat of a sample by its position."""
    return (
        columns.case_ids[columns.case[position]],
        columns.variants[columns.variant[position]],
        int(columns.repeat[position]),
    )


def _random(columns: Columns, order: np.ndarray, queued: Mapping[Key, str], n: int) -> Iterator[Key]:
    """The next of the list after those that were drawn at random already."""
    there = sum(drawn == RANDOM for drawn in queued.values())
    return (key_at(columns, position) for position in order[there : there + n].tolist())


def _most_disagreed(
    store: Store, header: RunHeader, columns: Columns, order: np.ndarray, drawn: Mapping[Key, str], n: int
) -> list[Key]:
    """Items on which judges, or the judge and its rules, are farthest apart; where all agree nothing is taken."""
    if not n:
        return []
    apart = disagreements(store, header)
    keys = [key for position in order.tolist() if (key := key_at(columns, position)) not in drawn and apart.get(key)]
    return sorted(keys, key=lambda key: -apart[key])[:n]


def disagreements(store: Store, header: RunHeader) -> dict[Key, float]:
    """By item, how far the readings of its panel, or the judge and its rules, lie apart; as a share of the scale."""
    rubric = Terms(header.description).rubric
    apart: dict[Key, float] = {}
    if rubric is None:
        return apart
    width = rubric.high - rubric.low
    for item in store.judgements(header.id):
        votes = [vote.capped for vote in item.judgement.votes if vote.capped]
        spreads = [
            (max(values) - min(values)) / (1 if name in rubric.flags else width)
            for name in (*rubric.dimensions, *rubric.flags)
            if len(values := [float(vote[name]) for vote in votes if name in vote]) > 1
        ]
        bound = [
            abs(float(item.judgement.uncapped[name]) - float(value)) / (1 if name in rubric.flags else width)
            for name, value in item.judgement.capped.items()
            if name in item.judgement.uncapped
        ]
        apart[item.case_id, item.variant, item.repeat] = max([*spreads, *bound], default=0.0)
    return apart


def _most_telling(
    store: Store, terms: Terms, run_id: str, columns: Columns, order: np.ndarray, drawn: Mapping[Key, str], n: int
) -> list[Key]:
    """The next of the list among what the judge passes and among the rest: as many of each as tighten the rate most."""
    if not n:
        return []
    judged = {key_at(columns, position): int(columns.passed[position]) for position in order.tolist()}
    labels = [
        (judged.get(label.key), passes)
        for label in store.people.labels(run_id=run_id)
        if label.round == 0 and label.drawn in (RANDOM, PRECISION) and (passes := terms.passes(label)) is not None
    ]
    by_chance = {key for key, how in drawn.items() if how in (RANDOM, PRECISION)}
    waiting = {
        side: [key for key, passed in judged.items() if passed == side and key not in by_chance] for side in (1, 0)
    }
    size = {side: sum(passed == side for passed in judged.values()) for side in (1, 0)}
    labelled = {side: [passes for of, passes in labels if of == side] for side in (1, 0)}
    taken = dict.fromkeys((1, 0), 0)
    for _ in range(n):
        # One more trial, half a hit: nobody knows of few labels that the judge never errs.
        gains = {
            side: _gain(size[side], labelled[side], taken[side]) for side in (1, 0) if taken[side] < len(waiting[side])
        }
        if not gains:
            break
        taken[max(gains, key=lambda side: gains[side])] += 1
    return [key for side in (1, 0) for key in waiting[side][: taken[side]]]


def _gain(size: int, labelled: Sequence[bool], taken: int) -> float:
    """By how much one more label of these lowers the variance of the rate."""
    share = (sum(labelled) + 0.5) / (len(labelled) + 1)
    n = len(labelled) + taken + 1
    return size * size * share * (1 - share) * (1 / n - 1 / (n + 1))


class Desk:
    """Serves the items of a run's queue to one person, and keeps what that person says of them."""

    def __init__(
        self, store: Store, header: RunHeader, person: str, *, lease: float = LEASE, against: RunHeader | None = None
    ) -> None:
        if not person.strip():
            raise UsageError("a label needs a person: give a name or a pseudonym")
        self._other = None if against is None else against.id
        plan = store.people.plan(header.id, self._other)
        if plan is None:
            raise UsageError(f"run {header.id} has no plan of labels yet: steelyard label plan {header.id} --random 50")
        self.terms = Terms(header.description)
        self.kind: str = plan["kind"]
        self.person = person.strip()
        self._store, self._header, self._plan, self._lease = store, header, plan, lease
        self._given: list[LabelRecord] = []

    @property
    def n_given(self) -> int:
        """How many labels were given at this desk."""
        return sum(label.kind != SKIPPED for label in self._given)

    def next(self) -> Task | None:
        """The item that this person holds, or the next one; None when nothing is left for this person."""
        place = self._store.people.next_place(self._header.id, self.person, self._lease, self._other)
        if place is None:
            return None
        case, text = self._text(self._header.id, place)
        # Who answers a case must not see what the system answered.
        first, second = "" if self.kind == ANSWER else text, ""
        swapped = self._other is not None and _chance(self._plan["seed"], place, f"{self.person}\nfirst") < _EVEN
        if self._other is not None:
            second = self._text(self._other, place)[1]
        first, second = (second, first) if swapped else (first, second)
        # What a case is filed under tells what is expected of it, as its tags do.
        filed = replace(case, category=None, difficulty=None, cluster=None, tags=())
        seen = replace(filed, expected={}, why="", source="", private=())
        return Task(place, seen, first, second, swapped, self.n_given)

    def _text(self, run_id: str, place: Place) -> tuple[Case, str]:
        """The case, and the part of the answer that is labelled."""
        judge = self._header.description.judge
        text = judged_text(judge.of if judge else "")
        for sample, case in self._store.samples(run_id, case_ids=[place.case_id]):
            if sample.key == place.key:
                return case, text(sample) or sample.call_result.text or ""
        raise UsageError(f"run {run_id} holds no sample of {place.case_id}: its queue is not of this run")

    def save(self, task: Task, value: Any, *, comment: str = "") -> LabelRecord:
        """Keep a label, durable on return; ValueError with a sentence when it is not on the suite's terms.

        Of two texts `first`, `second` or `tie` is the better one, as they were shown.
        """
        if self.kind == PREFERENCE:
            shown = ("b", "a") if task.swapped else ("a", "b")
            value = dict(zip(("first", "second"), shown, strict=True)).get(value, value)
        value = self.terms.check(self.kind, value)
        again = task.place.round == 0 and _chance(self._plan["seed"], task.place, self.person) < self._plan["again"]
        return self._keep(task, self.kind, value, comment, again=again)

    def skip(self, task: Task, *, comment: str = "") -> LabelRecord:
        """Say that this person cannot tell; the item is free for others and is not served to this person again."""
        return self._keep(task, SKIPPED, None, comment, again=False)

    def undo(self) -> LabelRecord | None:
        """Take back what this person said last at this desk, which is served next; None when there is nothing."""
        if not self._given:
            return None
        label = self._given.pop()
        return self._store.people.withdraw(label.number or 0, self._lease)

    def _keep(self, task: Task, kind: str, value: Any, comment: str, *, again: bool) -> LabelRecord:
        case_id, variant, repeat = task.place.key
        label = LabelRecord(
            suite_name=self._header.suite_name,
            case_id=case_id,
            person=self.person,
            kind=kind,
            value=value,
            run_id=self._header.id,
            other_run_id=self._other,
            variant=variant,
            repeat=repeat,
            round=task.place.round,
            drawn=task.place.drawn,
            blind=True,
            comment=comment,
        )
        self._given.append(self._store.people.fill(task.place, label, again=again))
        return self._given[-1]


def _chance(seed: int, place: Place, person: str) -> float:
    """A number from 0 to 1 that is always the same for a person and an item."""
    text = f"{seed}\n{place.case_id}\n{place.variant}\n{place.repeat}\n{person}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:6], "big") / 2**48
