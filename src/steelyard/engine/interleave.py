"""Runs two arms in one loop: one pool of workers, one pace and one budget, so that neither has an advantage."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from steelyard.engine.engine import Ending, Engine
from steelyard.engine.interleaved_plan import Turn
from steelyard.engine.limits import Closed, Pace
from steelyard.engine.open_load import Schedule
from steelyard.engine.other_suite import reading_of
from steelyard.engine.plan import Planned
from steelyard.engine.process import shielded
from steelyard.engine.signals import caught_signals
from steelyard.engine.writer import Completed, Counts, Progress, Writer
from steelyard.frozen import frozen, slotted
from steelyard.records import Outcome, Sample

_OTHER_GONE = "the remaining samples are not run: the system of the other arm is gone"


class ArmEngine(Engine):
    """An engine that is handed its calls one by one, and shows every sample that it has scored."""

    def begin(self, progress: Progress, planned: int, seen: Callable[[Sample], None], *, resumed: bool) -> None:
        """Take up what is kept, and be ready to keep more, as many samples as are planned."""
        self._counts.planned = planned
        self._seen = seen
        self._begin(progress, resumed=resumed)
        self._writer = Writer(self._store, self._run_id, self._stored)
        self._writer.start()

    def stored(self) -> Iterator[Sample]:
        """The samples that are in the store."""
        return (sample for sample, _ in self._store.samples(self._run_id))

    def done(self, case_ids: Sequence[str]) -> set[tuple[str, str, int]]:
        """Keys of the samples that are kept of these cases."""
        return self._store.done(self._run_id, case_ids)

    def why_stopped(self) -> str | None:
        """Why no more may be asked; None while it may."""
        self._may_go_on()
        return self._stopped

    @property
    def pace(self) -> Pace:
        """How fast calls may be made."""
        return self._pace

    async def scored_in_time(self) -> float:
        """Wait while too many answers wait to be scored or stored; gives the seconds."""
        return await self._scored_in_time(self._writer)

    async def first_price(self) -> float:
        """Wait while nobody knows what a call costs; gives the seconds."""
        return await self._first_price()

    async def warm_up(self) -> None:
        """Make the calls that do not count."""
        await self._warm_up()

    async def evaluate(self, planned: Planned, due: float | None = None) -> None:
        """One sample, kept when it is complete."""
        await self._evaluate(planned, self._writer, due)

    async def give_way(self) -> None:
        """Let others have their turn."""
        await self._give_way(self._writer)

    async def _sample(self, planned: Planned, writer: Writer, due: float | None) -> Completed:
        completed = await super()._sample(planned, writer, due)
        self._seen(completed.sample)
        return completed

    def stop(self, why: str) -> None:
        """Ask no more."""
        self._stop(why)

    def interrupt(self) -> None:
        """Somebody wants it to end: once politely, twice at once."""
        self._interrupt()

    async def look_around(self) -> None:
        """Ask whether the system is still there after the last call."""
        if self._stopped is None:
            self._broken = await self._presence.gone()

    async def close(self) -> None:
        """Keep what is left."""
        self._scoring.close()
        await asyncio.to_thread(self._writer.close)

    def ending(self) -> Ending:
        """How it went."""
        return self._ending()

    def set_to_work(self, group: asyncio.TaskGroup, work: Coroutine[Any, Any, None]) -> None:
        """Start a worker that an impatient Ctrl-C drops."""
        self._set_to_work(group, work)


@slotted
class _Pair:
    """One case, or cluster of cases, on its way: what is still to come, and the readings of both arms so far."""

    outstanding: int
    complete: bool = True
    """False while more cases of its cluster may come."""
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0])
    counts: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, arm: int, reading: float) -> None:
        if reading == reading:  # NaN is no reading
            self.sums[arm] += reading
            self.counts[arm] += 1

    @property
    def difference(self) -> float | None:
        if not all(self.counts):
            return None
        return self.sums[1] / self.counts[1] - self.sums[0] / self.counts[0]


class PairWatch:
    """Hands the difference of each case, or cluster, to `look` in the order drawn, once both arms have answered all.

    Not in the order in which answers come: slow cases may be of another kind. `look` says when enough was seen.
    """

    def __init__(self, look: Callable[[float], bool], *, by_pass: bool, mode: str | None) -> None:
        self._look = look
        self._by_pass = by_pass
        self._mode = mode
        self._open: dict[str, _Pair] = {}
        self._earlier: dict[str, _Pair] = {}
        self.enough = False

    def earlier(self, arm: int, sample: Sample) -> None:
        """A sample that was kept before this process began."""
        self._earlier.setdefault(sample.unit, _Pair(0)).add(arm, self._reading(sample))

    def begin(self, turn: Turn) -> bool:
        """True when this case is to be asked: it was begun before, or more must be seen."""
        unit = turn.case.unit
        if self.enough and not turn.started and unit not in self._open:
            return False
        if unit not in self._open:
            # The cases of a cluster come one after another: with the next one it is complete.
            for other in self._open.values():
                other.complete = True
            self._open[unit] = self._earlier.pop(unit, _Pair(0))
            self._open[unit].complete = turn.case.cluster is None
        self._open[unit].outstanding += len(turn.asks)
        self._hand_over()
        return True

    def seen(self, arm: int, sample: Sample) -> None:
        """A sample that was scored now."""
        pair = self._open[sample.unit]
        pair.add(arm, self._reading(sample))
        pair.outstanding -= 1
        self._hand_over()

    def _hand_over(self) -> None:
        while self._open:
            unit, pair = next(iter(self._open.items()))
            if pair.outstanding or not pair.complete:
                return
            del self._open[unit]
            if (difference := pair.difference) is not None and self._look(difference):
                self.enough = True

    def _reading(self, sample: Sample) -> float:
        other_mode = self._mode is not None and sample.outcome is Outcome.SCORED and sample.mode != self._mode
        return float("nan") if other_mode else reading_of(sample, by_pass=self._by_pass)


class Interleaved:
    """Two arms, asked in the order that `asks` gives."""

    def __init__(
        self, arms: tuple[ArmEngine, ArmEngine], asks: Iterator[tuple[int, Planned]], width: int, rate: float | None
    ):
        self._arms = arms
        self._asks = asks
        self._width = width
        self._rate = rate

    async def run(self) -> tuple[Ending, Ending]:
        """Score everything that is not there yet; both arms have begun, and are closed afterwards."""
        a, b = self._arms
        try:
            with a.watched(), b.watched(), caught_signals(self._interrupt), shielded():
                for arm in self._arms:
                    await arm.warm_up()
                async with self._arms[0].lag.watched(), self._arms[1].lag.watched():
                    await self._work()
                for arm in self._arms:
                    await arm.look_around()
        finally:
            for arm in self._arms:
                await arm.close()
        for arm in self._arms:
            arm.insist_on_own_run()
        endings = a.ending(), b.ending()
        if any(ending.broken for ending in endings):
            # There is nothing to go on with: the other arm ends as it stands.
            first, second = (ending if ending.broken else replace(ending, stopped=None) for ending in endings)
            return first, second
        return endings

    async def _work(self) -> None:
        first = self._arms[0]
        try:
            async with asyncio.TaskGroup() as group:
                if self._rate is not None:
                    await self._open_load(self._rate, group)
                else:
                    for arm in self._arms:
                        arm.ask_more_by(lambda: self._ask_more(group))
                    for _ in range(self._width):
                        first.set_to_work(group, self._worker())
        except BaseExceptionGroup as raised:
            # The first cause is what a person can act on; the others follow from the same stop.
            raise raised.exceptions[0] from raised

    def _ask_more(self, group: asyncio.TaskGroup) -> bool:
        result = next(self._asks, None) if self._may_go_on() else None
        if result is not None:
            self._arms[0].set_to_work(group, self._worker(result))
        return result is not None

    async def _worker(self, first: tuple[int, Planned] | None = None) -> None:
        while self._may_go_on():
            await self._arms[0].first_price()
            if not self._may_go_on() or (result := first or next(self._asks, None)) is None:
                return
            first = None
            arm, planned = result
            await self._arms[arm].evaluate(planned)
            await self._arms[arm].give_way()

    async def _open_load(self, rate: float, group: asyncio.TaskGroup) -> None:
        """Make each call when it is due, whatever came back of the others."""
        schedule = Schedule(rate, self._arms[0].pace)
        for arm, planned in self._asks:
            if not self._may_go_on():
                return
            try:
                due = await schedule.next()
            except Closed:
                return
            self._arms[0].set_to_work(group, self._arms[arm].evaluate(planned, due))
            schedule.put_off(await self._arms[0].first_price() + await self._arms[0].scored_in_time())

    def _may_go_on(self) -> bool:
        """False once one of the arms has stopped; the other then stops, too."""
        messages = [arm.why_stopped() for arm in self._arms]
        for item, other, why in zip(self._arms, self._arms[::-1], messages[::-1], strict=True):
            if why is not None and item.why_stopped() is None:
                item.stop(_OTHER_GONE if other.ending().broken else why)
        return messages == [None, None]

    def _interrupt(self) -> None:
        for arm in self._arms:
            arm.interrupt()


class CommonProgress:
    """Shows the counts of two arms as one."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._counts = [Counts(), Counts()]
        self._noted = ""
        self._lock = threading.Lock()

    def of(self, arm: int) -> Progress:
        """What one arm reports to."""
        return _Half(self, arm)

    def update(self, arm: int, counts: Counts, samples: Sequence[Sample] = ()) -> None:
        """One arm has come so far; each has a thread of its own that says so."""
        with self._lock:
            self._counts[arm] = replace(counts)
            a, b = self._counts
            whole = Counts(a.planned + b.planned, a.scored + b.scored, a.malformed + b.malformed, a.failed + b.failed)
            self._progress.update(whole, samples)

    def note(self, text: str) -> None:
        """What both say is said once."""
        if text != self._noted:
            self._noted = text
            self._progress.note(text)


@frozen
class _Half:
    both: CommonProgress
    arm: int

    def update(self, counts: Counts, samples: Sequence[Sample] = ()) -> None:
        self.both.update(self.arm, counts, samples)

    def note(self, text: str) -> None:
        self.both.note(text)
