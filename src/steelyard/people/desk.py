"""Who labels what next: a run's plan of labels, and the desk that serves its items one by one.

The random part is the beginning of one shuffled list of all answers: that makes estimates honest. What is drawn for
precision goes on in the same list, within the answers that the judge passes and within the others. What is drawn by
disagreement is picked for what it is: it shows where judges err, and is in no estimate. Experts answer a case once,
whatever variants and repeats a run has of it.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.analysis.judge.labels import judged_text
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.people.labels import KINDS, PREFERENCE, LabelTerms, case_key
from steelyard.records import Outcome, RunState
from steelyard.store.people import (
    ANSWER,
    DISAGREEMENT,
    PRECISION,
    RANDOM,
    SKIPPED,
    Key,
    LabelRecord,
    Queue,
    QueuePlace,
    QueuePlan,
    person_key,
)
from steelyard.suite.yaml import meant_or_listed

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.base import Columns, Store
    from steelyard.suite.case import Case

_EVEN = 0.5
_BY_CHANCE = (RANDOM, PRECISION)
LEASE = 1800.0
"""Seconds that an item is held for a person who does not answer."""


@frozen
class Draw:
    """How many more items are to be labelled, and why these."""

    random: int = 0
    disagreement: int = 0
    precision: int = 0
    per_item: int = 1
    """How many people label each."""


@frozen
class LabelTask:
    """One item to label, as a person sees it: without its truth, who answered, and what anybody else said."""

    place: QueuePlace
    case: Case
    answer: str
    """The text that is to be labelled; "" for people who answer the case themselves."""
    second: str
    """The other text, where people say which of two they prefer."""
    swapped: bool
    """Whether the first text shown is that of the other run."""
    done: int
    """How many labels this person has given before."""
    sample: int
    """The position in the run of the sample, whose case may have pictures."""


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
    """Draw more items into a queue of a run; by how they were drawn, how many there are.

    `again` is the share of items that each person gets a second time. With `against` people say whether they prefer the
    answer of this run or of that one. `seed` decides the draw of a run's first plan; else the run's id does. UsageError
    when there is nothing to draw from.
    """
    for run in (header, against):
        if run is not None and run.state is not RunState.ENDED:
            raise UsageError(f"run {run.id} has not ended: labels are drawn from all of its answers")
    of_cases = kind == ANSWER or (not kind and bool(header.description.pending_of))
    queue = Queue(header.id, None if against is None else against.id, of_cases)
    terms = LabelTerms(header.description)
    is_pending = bool(header.description.pending_of)
    usual = ANSWER if is_pending else terms.kind
    plan = _plan(store, queue, usual if against is None else PREFERENCE, kind, seed)
    pool = _pool(store, queue, plan.seed, any_outcome=is_pending and queue.of_cases)
    if not pool:
        raise UsageError(f"run {header.id} has no answer that was scored: there is nothing to label")
    queued = store.people.queued(queue)
    n_random = sum(drawn == RANDOM for drawn in queued.values())
    places = dict.fromkeys(list(pool)[n_random : n_random + draw.random], RANDOM)
    if draw.disagreement:
        apart = _by_item(disagreements(store, header), queue)
        left = (key for key in pool if key not in queued and key not in places and apart.get(key))
        places |= dict.fromkeys(sorted(left, key=lambda key: -apart[key])[: draw.disagreement], DISAGREEMENT)
    if draw.precision:
        places |= dict.fromkeys(_most_telling(store, terms, queue, pool, queued | places, draw.precision), PRECISION)
    drawn = {name: sum(how == name for how in places.values()) for name in (RANDOM, DISAGREEMENT, PRECISION)}
    before = {(how, queued[key]) for key, how in places.items() if key in queued}
    turned = {was for how, was in before if how in _BY_CHANCE and was not in (how, RANDOM)}
    plan = replace(
        plan,
        again=plan.again if again is None else again,
        turned=tuple(sorted({*plan.turned, *turned})),
        draws=(*plan.draws, {"at": time.time(), "by": by, "per_item": draw.per_item} | drawn),
    )
    store.people.add_places(queue, plan, list(places.items()), draw.per_item)
    return drawn


def _plan(store: Store, queue: Queue, usual: str, kind: str, seed: int | None) -> QueuePlan:
    """The plan that a queue has, or a new one; UsageError when it is of another kind or seed than is asked for."""
    run_id, other, allowed = queue.run_id, queue.other_run_id, [name for name in KINDS if name != PREFERENCE]
    if other is None and kind not in ("", *allowed):
        raise UsageError(f"there is no kind {kind!r} of labels of one answer{meant_or_listed(kind, allowed)}")
    if other is not None and (other == run_id or kind not in ("", PREFERENCE)):
        mistake = f"is {run_id} itself" if other == run_id else f"takes no --kind {kind}"
        raise UsageError(f"--against asks which answer of two runs is better: it {mistake}")
    plan = store.people.plan(queue)
    if plan is None:
        first = int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:4], "big")
        return QueuePlan(kind or usual, first if seed is None else seed)
    if kind not in ("", plan.kind):
        raise UsageError(
            f"the answers of run {run_id} are labelled by {plan.kind}: draw more with --kind {plan.kind}."
            f" Beside it a run can have experts' own answers (--kind {ANSWER}); ask for {kind} in another run"
        )
    if seed not in (None, plan.seed):
        raise UsageError(f"the draw of run {run_id} began with the seed {plan.seed}: it goes on in the same order")
    return plan


def _pool(store: Store, queue: Queue, seed: int, *, any_outcome: bool = False) -> dict[Key, float]:
    """All that can be drawn in one order by chance, the same whenever it is asked for; and whether it passed.

    A case that people answer themselves needs no answer of the system: `any_outcome`.
    """
    columns = store.columns(queue.run_id)
    served = np.arange(len(columns.outcome)) if any_outcome else np.flatnonzero(has_outcome(columns, Outcome.SCORED))
    order = np.random.default_rng(seed).permutation(served)
    pool = dict(zip(keys_at(columns, order), columns.passed[order].astype(float).tolist(), strict=True))
    if queue.other_run_id is not None:
        theirs = store.columns(queue.other_run_id)
        both = set(keys_at(theirs, np.flatnonzero(has_outcome(theirs, Outcome.SCORED))))
        pool = {key: passed for key, passed in pool.items() if key in both}
    return _by_item(pool, queue)


def _by_item(values: Mapping[Key, float], queue: Queue) -> dict[Key, float]:
    """Values of samples as those of a queue's items: of a case it is the first sample's."""
    items: dict[Key, float] = {}
    for key, value in values.items():
        items.setdefault(case_key(key[0]) if queue.of_cases else key, value)
    return items


def has_outcome(columns: Columns, outcome: Outcome) -> np.ndarray:
    """Which samples ended so."""
    return np.isin(columns.outcome, [i for i, name in enumerate(columns.outcomes) if name == outcome])


def keys_at(columns: Columns, positions: np.ndarray) -> Iterator[Key]:
    """Case, variant and repeat of samples by their positions."""
    # Ids are packed together: taken out one by one in another order, a pack would be unpacked for each.
    case_ids, variants = list(columns.case_ids), columns.variants
    sides = (column[positions].tolist() for column in (columns.case, columns.variant, columns.repeat))
    return ((case_ids[case], variants[variant], repeat) for case, variant, repeat in zip(*sides, strict=True))


def disagreements(store: Store, header: RunHeader) -> dict[Key, float]:
    """By item, how far the readings of its panel, or the judge and its rules, lie apart; as a share of the scale."""
    rubric = LabelTerms(header.description).rubric
    apart: dict[Key, float] = {}
    if rubric is None:
        return apart
    for item in store.judgements(header.id):
        votes = [vote.capped for vote in item.judgement.votes if vote.capped]
        sides = [votes, [item.judgement.uncapped, item.judgement.capped]]
        spreads = [0.0]
        for name in (*rubric.dimensions, *rubric.flags):
            width = 1 if name in rubric.flags else rubric.high - rubric.low
            for readings in sides:
                values = [float(reading[name]) for reading in readings if name in reading]
                spreads += [(max(values) - min(values)) / width] if len(values) > 1 else []
        apart[item.case_id, item.variant, item.repeat] = max(spreads)
    return apart


def _most_telling(
    store: Store, terms: LabelTerms, queue: Queue, pool: Mapping[Key, float], drawn: Mapping[Key, str], n: int
) -> list[Key]:
    """The next of the list among what the judge passes and among the rest: as many of each as tighten the rate most."""
    labels = [
        (pool.get(label.key), passes)
        for label in store.people.labels(run_id=queue.run_id)
        if label.round == 0 and label.drawn in _BY_CHANCE and (passes := terms.passes(label)) is not None
    ]
    sides = []
    for side in (1, 0):
        keys = [key for key, passed in pool.items() if passed == side]
        labelled = [passes for of, passes in labels if of == side]
        sides.append((len(keys), labelled, [key for key in keys if drawn.get(key) not in _BY_CHANCE]))
    taken = [0, 0]
    for _ in range(n):
        gains = {
            at: _gain(size, labelled, taken[at])
            for at, (size, labelled, waiting) in enumerate(sides)
            if taken[at] < len(waiting)
        }
        if not gains:
            break
        taken[max(gains, key=lambda at: gains[at])] += 1
    return [key for (_, _, waiting), n_taken in zip(sides, taken, strict=True) for key in waiting[:n_taken]]


def _gain(size: int, labelled: Sequence[bool], taken: int) -> float:
    """By how much one more label of these lowers the variance of the rate."""
    # One more trial, half a hit: nobody knows of few labels that the judge never errs.
    share = (sum(labelled) + 0.5) / (len(labelled) + 1)
    n = len(labelled) + taken + 1
    return size * size * share * (1 - share) * (1 / n - 1 / (n + 1))


class Desk:
    """Serves the items of a run's queue to one person, and keeps what that person says of them.

    A run may have two queues, of its answers and (kind `answer`) of its cases; without a kind it is the first there is.
    A person may sit at several desks at once: each serves other items. Who comes back to a desk by its `name` gets what
    was held there.
    """

    def __init__(
        self,
        store: Store,
        header: RunHeader,
        person: str,
        *,
        kind: str = "",
        lease: float = LEASE,
        against: RunHeader | None = None,
        name: str = "",
    ) -> None:
        if not person.strip():
            raise UsageError("a label needs a person: give a name or a pseudonym")
        other = None if against is None else against.id
        queues = [Queue(header.id, other, of_cases) for of_cases in (False, True)[: 1 if other else 2]]
        plans = {queue: plan for queue in queues if (plan := store.people.plan(queue)) and kind in ("", plan.kind)}
        if not plans:
            wanted = f" --kind {kind}" if kind else ""
            raise UsageError(
                f"run {header.id} has no plan of {kind or 'labels'} yet:"
                f" steelyard label plan {header.id} --random 50{wanted}"
            )
        self.queue, self._plan = next(iter(plans.items()))
        self.terms = LabelTerms(header.description)
        self.kind, self.person = self._plan.kind, person.strip()
        self._store, self._header, self._lease, self._name = store, header, lease, name or secrets.token_hex(8)
        self._given: list[LabelRecord] = []

    @property
    def n_given(self) -> int:
        """How many labels were given at this desk."""
        return sum(label.kind != SKIPPED for label in self._given)

    def next(self) -> LabelTask | None:
        """The item that this person holds here, or the next one; None when nothing is left for this person."""
        place = self._store.people.next_place(self.queue, self.person, self._lease, self._name)
        return None if place is None else self._task(place)

    def task(self, position: int) -> LabelTask:
        """The item at a position of the queue, as it was served; UsageError when it is not this person's."""
        place = self._store.people.place(self.queue, position, self.person, self._name)
        if place is None:
            raise UsageError(f"the queue of run {self._header.id} has no item {position} for {self.person}")
        return self._task(place)

    def _task(self, place: QueuePlace) -> LabelTask:
        case, sample, first = self._text(self._header.id, place)
        other, second, swapped = self.queue.other_run_id, "", False
        if other is not None:
            swapped = _chance(self._plan.seed, place, f"{self.person}\nfirst") < _EVEN
            second = self._text(other, place)[2]
            first, second = (second, first) if swapped else (first, second)
        # What a case is filed under tells what is expected of it, as its tags do.
        filed = replace(case, category=None, difficulty=None, cluster=None, tags=())
        seen = replace(filed, expected={}, why="", source="", private=())
        return LabelTask(place, seen, first, second, swapped, self.n_given, sample)

    def _text(self, run_id: str, place: QueuePlace) -> tuple[Case, int, str]:
        """The case, the position of a sample of it, and the part of the answer that is labelled."""
        judge = self._header.description.judge
        text = judged_text(judge.of if judge else "")
        for sample, case in self._store.samples(run_id, case_ids=[place.case_id]):
            if self.queue.of_cases:
                # Who answers a case must not see what the system answered.
                return case, sample.position or 0, ""
            if sample.key == place.key:
                return case, sample.position or 0, text(sample) or sample.call_result.text or ""
        raise UsageError(f"run {run_id} holds no sample of {place.case_id}: its queue is not of this run")

    def save(self, task: LabelTask, value: Any, *, comment: str = "") -> LabelRecord:
        """Keep a label, durable on return; ValueError with a sentence when it is not on the suite's terms.

        Of two texts `first`, `second` or `tie` is the better one, as they were shown. AlreadyLabelled when the person
        labelled the item elsewhere meanwhile: `next` gives another one.
        """
        if self.kind == PREFERENCE:
            shown = ("b", "a") if task.swapped else ("a", "b")
            value = dict(zip(("first", "second"), shown, strict=True)).get(value, value)
        value = self.terms.check(self.kind, value)
        again = task.place.round == 0 and _chance(self._plan.seed, task.place, self.person) < self._plan.again
        return self._keep(task, self.kind, value, comment, again=again)

    def skip(self, task: LabelTask, *, comment: str = "") -> LabelRecord:
        """Say that this person cannot tell; the item is free for others and is not served to this person again."""
        return self._keep(task, SKIPPED, self.kind, comment, again=False)

    def undo(self, number: int | None = None) -> LabelRecord | None:
        """Take back what this person said last at this desk, which is served next; None when there is nothing.

        With a number it is that label, given at whatever desk; UsageError when it is not this person's in this queue.
        """
        if number is None:
            label = self._given.pop() if self._given else None
        else:
            label = next(filter(self._is_mine, self._store.people.labels(number=number)), None)
            if label is None:
                raise UsageError(f"there is no label {number} of {self.person} in this queue")
        return None if label is None else self._store.people.withdraw(label.number or 0, self._lease)

    def _is_mine(self, label: LabelRecord) -> bool:
        queue = Queue(label.run_id or "", label.other_run_id, label.of_case)
        return queue == self.queue and person_key(label.person) == person_key(self.person)

    def leave(self, task: LabelTask) -> None:
        """Stop before an item has a label: while it is held, it is served at the next desk of the same person."""
        self._store.people.leave_desk(task.place)

    def _keep(self, task: LabelTask, kind: str, value: Any, comment: str, *, again: bool) -> LabelRecord:
        place, header = task.place, self._header
        sample = (header.id, place.variant, place.repeat, self.queue.other_run_id, place.round, place.drawn)
        label = LabelRecord(header.suite_name, place.case_id, self.person, kind, value, *sample, True, comment)
        self._given.append(self._store.people.fill(place, label, again=again))
        return self._given[-1]


def _chance(seed: int, place: QueuePlace, person: str) -> float:
    """A number from 0 to 1 that is always the same for a person and an item."""
    text = f"{seed}\n{place.case_id}\n{place.variant}\n{place.repeat}\n{person}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:6], "big") / 2**48
