"""Runs a suite: asks for every sample of the plan, weighs it, keeps it, and can be stopped and resumed anywhere."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from steelyard.engine.caller import Called, Caller
from steelyard.engine.health import Health
from steelyard.engine.journal import TARGET, Journal
from steelyard.engine.judges import Judges
from steelyard.engine.pace import Closed, Pace, Purse
from steelyard.engine.plan import Plan, Planned
from steelyard.engine.progress import Counts, Progress
from steelyard.engine.sample import Weighing
from steelyard.engine.writer import Completed, Writer
from steelyard.errors import UserMistake
from steelyard.records import Sample
from steelyard.scoring.weigh import Weigher
from steelyard.store.base import Store
from steelyard.suite.model import Limits
from steelyard.suite.redaction import Redactor
from steelyard.targets.base import Target

_MOST_BACKLOG = 2_000
_LONGEST_HOLD = 0.02
"""Seconds that workers may keep the loop without giving way."""
_GRACE = 10.0
"""Seconds that calls under way get to finish after the first Ctrl-C."""
_CAUGHT = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Ending:
    """How the engine left a run: `stopped` says why when it did not get to the end of its plan."""

    counts: Counts
    health: Health
    stopped: str | None = None
    interrupted: bool = False


class Engine:
    """One run of one plan against one open target."""

    def __init__(
        self,
        *,
        plan: Plan,
        target: Target,
        weigher: Weigher,
        judges: Judges | None,
        limits: Limits,
        store: Store,
        run_id: str,
        cache: bool,
        redact: Redactor | None = None,
    ) -> None:
        self._plan = plan
        self._weigher = weigher
        self._judges = judges
        self._costs_nothing = getattr(target, "asks_nobody", False)
        self._limits = limits
        self._store = store
        self._run_id = run_id
        self._pace = Pace(limits.concurrency, limits.requests_per_second)
        self._purse = Purse(limits.max_cost)
        self._caller = Caller(target, limits, self._pace, store.cached if cache else None, plan.folder, redact)
        self._journalled: dict[str, dict[str, Any]] = {}
        self._counts = Counts(planned=plan.n)
        self._health = Health()
        self._stopped: str | None = None
        self._interrupts = 0
        self._gave_way = 0.0
        self._workers: list[asyncio.Task[None]] = []

    async def run(self, progress: Progress, *, resumed: bool) -> Ending:
        """Weigh everything that is not there yet."""
        self._progress = progress
        if resumed:
            self._take_up()
            self._journalled = self._store.journalled(self._run_id)
        writer = Writer(self._store, self._run_id, self._kept)
        writer.start()
        asks = self._plan.asks(self._done if resumed else None)
        try:
            with _signals(self._interrupt), _rare_collection():
                await self._work(asks, writer)
        finally:
            await asyncio.to_thread(writer.close)
        return Ending(self._counts, self._health, self._stopped, interrupted=self._interrupts > 0)

    async def _work(self, asks: Iterator[Planned], writer: Writer) -> None:
        # One worker more than there are samples has nothing to do.
        n_workers = min(self._limits.concurrency, self._plan.n)
        try:
            async with asyncio.TaskGroup() as group:
                self._workers = [group.create_task(self._worker(asks, writer)) for _ in range(n_workers)]
        except BaseExceptionGroup as raised:
            # The first cause is what a person can act on; the others follow from the same stop.
            raise raised.exceptions[0] from raised

    async def _worker(self, asks: Iterator[Planned], writer: Writer) -> None:
        while self._stopped is None:
            while self._purse.awaits_first_price:  # noqa: ASYNC110 - only ever waits for the very first answer
                await asyncio.sleep(0.005)
            if self._stopped is not None:
                return
            if not self._purse.may_spend():
                self._stop(self._no_room())
                return
            planned = next(asks, None)
            if planned is None:
                return
            try:
                completed = await self._sample(planned, writer)
            except Closed:
                if self._purse.is_empty:
                    self._stop(self._no_room())
                return
            writer.put(completed)
            self._insist_on_price(completed.sample)
            await self._give_way(writer)

    async def _give_way(self, writer: Writer) -> None:
        """Let the other workers, Ctrl-C and the writer have their turn when the target answers without waiting."""
        now = time.monotonic()
        if now - self._gave_way > _LONGEST_HOLD:
            self._gave_way = now
            await asyncio.sleep(0)
        # A writer that has failed takes nothing more off its pile; the next sample handed to it raises why.
        while writer.backlog > _MOST_BACKLOG and writer.failure is None:  # noqa: ASYNC110 - a thread sets no asyncio event
            await asyncio.sleep(0.01)

    async def _sample(self, planned: Planned, writer: Writer) -> Completed:
        journal = Journal(planned.position, self._journalled, writer.journal)
        self._purse.started()
        called, weighing = None, None
        try:
            called = await self._answer(planned, journal)
            ask = planned.ask
            weighing = Weighing(self._weigher, planned.case, ask.variant.name, ask.repeat, called.attempt)
            if self._judges is not None and weighing.to_judge is not None:
                await self._judges.judge(weighing, journal, self._purse)
        finally:
            # What judges cost has been paid call by call.
            known = weighing is not None and _spent(weighing.sample) is not None
            self._purse.ended((_own_cost(called) or 0.0) if known else _own_cost(called))
        sample = weighing.sample
        sample.position = planned.position
        self._health.watch(sample)
        return Completed(sample, planned.case, called.cache_entry, journal.keys)

    def _no_room(self) -> str:
        return f"the spending limit of {self._purse.limit:g} leaves no room for another call"

    async def _answer(self, planned: Planned, journal: Journal) -> Called:
        """The target's answer; with a judge still to be asked, it is kept before that."""
        if self._judges is None or not self._judges.are_asked:
            return await self._caller.call(planned.ask)
        kept = journal.get(TARGET)
        if kept is not None:
            return Called(kept)
        called = await self._caller.call(planned.ask)
        journal.put(TARGET, called.attempt)
        return called

    def _insist_on_price(self, sample: Sample) -> None:
        if self._purse.limit is None:
            return
        unpriced = not self._costs_nothing and sample.attempt.failure is None and sample.attempt.cost is None
        calls = () if sample.judgement is None else sample.judgement.calls
        who = "target" if unpriced else "judge"
        if unpriced or any(call.attempt.failure is None and call.attempt.cost is None for call in calls):
            # Said before it is raised: another worker may be about to call.
            self._stopped = (
                f"a spending limit is set, but the {who} does not say what a call costs:"
                " declare `price` in its settings, or leave out the limit"
            )
            raise UserMistake(self._stopped)

    def _done(self, case_ids: object) -> set[tuple[str, str, int]]:
        return self._store.done(self._run_id, case_ids)  # type: ignore[arg-type]

    def _take_up(self) -> None:
        for sample, _ in self._store.samples(self._run_id):
            self._counts.add(sample.outcome)
            self._health.watch(sample)
            if (spent := _spent(sample)) is not None:
                self._purse.started()
                self._purse.ended(spent)
        self._progress.update(self._counts)

    def _kept(self, group: list[Completed]) -> None:
        for completed in group:
            self._counts.add(completed.sample.outcome)
        self._progress.update(self._counts)

    def _stop(self, reason: str) -> None:
        if self._stopped is None:
            self._stopped = reason
            self._progress.note(reason)
            self._pace.close()
            if self._judges is not None:
                self._judges.close()

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts == 1:
            self._stop("interrupted: finishing the calls under way, Ctrl-C again drops them")
            asyncio.get_running_loop().call_later(_GRACE, self._drop)
        else:
            self._drop()

    def _drop(self) -> None:
        # From here on a further Ctrl-C ends the process: a target that ignores being cancelled must not hold it up.
        _release_signals()
        for worker in self._workers:
            worker.cancel()


def _own_cost(called: Called | None) -> float | None:
    """What the target's answer cost; None when it was not asked, or nobody knows."""
    return None if called is None or called.attempt.cached else called.attempt.cost


def _spent(sample: Sample) -> float | None:
    """What the answer and its judges cost; None when nothing was paid for, or nobody knows."""
    calls = () if sample.judgement is None else sample.judgement.calls
    paid = [one for one in (sample.attempt, *(call.attempt for call in calls)) if not one.cached]
    costs = [one.cost for one in paid if one.cost is not None]
    return sum(costs) if costs else None


@contextlib.contextmanager
def _rare_collection() -> Iterator[None]:
    """Looks for garbage in circles seldom while calls are under way: saved a tenth of the CPU of a call, measured."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextlib.contextmanager
def _signals(interrupt: object) -> Iterator[None]:
    """Ctrl-C and a polite kill stop the run instead of the process; only the main thread can ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for number in _CAUGHT:
        loop.add_signal_handler(number, interrupt)  # type: ignore[arg-type]
    try:
        yield
    finally:
        _release_signals()


def _release_signals() -> None:
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for number in _CAUGHT:
            loop.remove_signal_handler(number)
