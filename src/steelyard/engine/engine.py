"""The engine: ask the target for every planned sample within the limits, and hand answers on to be scored."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from steelyard.engine.breaker import Breakers
from steelyard.engine.call import Called, Caller
from steelyard.engine.costs import model_calls, own_cost, spent
from steelyard.engine.first_calls import FirstCalls
from steelyard.engine.health import Health
from steelyard.engine.journal import TARGET, Journal
from steelyard.engine.limits import Budget, Closed, Pace, Ruling
from steelyard.engine.open_load import MOST_WAITING, Schedule
from steelyard.engine.plan import Plan, Planned
from steelyard.engine.presence import Presence
from steelyard.engine.process import LoopLag, shielded
from steelyard.engine.sample import Evaluation
from steelyard.engine.scoring_processes import Scoring, Task
from steelyard.engine.scoring_thread import ScoringThread
from steelyard.engine.signals import caught_signals, release_signals
from steelyard.engine.warm_up import WarmUp
from steelyard.engine.writer import Completed, Counts, Progress, Writer
from steelyard.errors import RunTaken, UsageError
from steelyard.frozen import slotted
from steelyard.records import CallResult, Sample, ScoringTime
from steelyard.scoring.evaluate import Evaluator
from steelyard.store.base import Store
from steelyard.suite.models import Limits
from steelyard.suite.prices import DECLARE_PRICE
from steelyard.suite.redaction import Redactor
from steelyard.targets.base import Target

if TYPE_CHECKING:
    from steelyard.engine.judges import Judges


_MOST_BACKLOG = 2_000
_CALLS_A_SPARE = 4
"""Calls at once for which there is one worker more, so that a call's place is free when its answer is there."""
_LONGEST_HOLD = 0.02
"""Seconds that workers may keep the loop without giving way."""
_QUICK_SCORING = 0.005
"""Seconds; an answer whose scoring takes longer is stored before that, since others wait for their turn behind it."""
_GRACE = 10.0
"""Seconds that calls under way get to finish after the first Ctrl-C."""


@slotted
class Ending:
    """How the engine left a run: `stopped` says why when it did not get to the end of its plan."""

    counts: Counts
    health: Health
    stopped: str | None = None
    interrupted: bool = False
    broken: str | None = None
    """Why the system under test was gone at the end, or before it: then the rest was not asked, and the run is over."""
    warm_up_failed: int = 0
    held_up: int = 0
    """Under an open load, calls that were due and had to wait because as many as may be were under way."""
    spent: float = 0.0
    """What the calls of this run have cost so far, as far as that is known."""
    unpriced: bool = False
    """Whether a target that may be free gave answers that state no cost."""
    loop_lag: float | None = None
    """Seconds that the event loop was late on average while calls were made; None when it cannot be told."""
    scoring: ScoringTime | None = None
    """None without answers."""


def pace_of(limits: Limits) -> Pace:
    """How fast calls may be made under these limits."""
    return Pace(limits.concurrency, limits.requests_per_second, steady=limits.rate is not None)


class Engine:
    """One run of one plan against one open target."""

    def __init__(
        self,
        *,
        plan: Plan,
        target: Target,
        evaluator: Evaluator,
        judges: Judges | None,
        limits: Limits,
        store: Store,
        run_id: str,
        cache: bool,
        redact: Redactor | None = None,
        pace: Pace | None = None,
        budget: Budget | None = None,
        scoring: ScoringThread | None = None,
        recorded: Scoring | None = None,
        since: float = 0.0,
        keep_going: bool = True,
        cures: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`pace`, `budget` and `scoring` are those of another engine that this one shares them with. `recorded` scores
        answers that nobody has to be asked for. Calls before `since` were another run's, and are not paid again.
        `keep_going` makes all calls, also when the first fail so that asking again cannot help, and `cures` are what is
        to be done then, by kind of failure, where the caller knows better."""
        self._since = since
        self._plan = plan
        self._evaluator = evaluator
        self._judges = judges
        self._target = target
        self._makes_no_calls = getattr(target, "makes_no_calls", False)
        self._may_be_free = getattr(target, "may_be_free", False)
        self._unpriced = False
        self._limits = limits
        self._store = store
        self._run_id = run_id
        self._pace = pace or pace_of(limits)
        self._budget = budget or Budget(limits.max_cost)
        self._caller = Caller(target, limits, self._pace, store.cached if cache else None, plan.folder, redact)
        self._warm: WarmUp | None = None
        self._presence = Presence(target, self._pace)
        self._breakers = Breakers(limits.outage, limits.concurrency, self._budget)
        # Under an open load calls are made when they are due, also in an outage: it is part of what is measured.
        watching = None if limits.rate else self._breakers.of(self._pace, "the system under test", self._presence)
        self._breaker = watching
        self._caller.watched_by(watching)
        if judges is not None:
            judges.watched_by(self._breakers)
        self._first = FirstCalls(plan, recorded=self._makes_no_calls, cures=cures)
        self._first.watching &= not keep_going
        self._broken: str | None = None
        self._gave_up = False
        self._journalled: dict[str, dict[str, Any]] = {}
        self._counts = Counts(planned=plan.n)
        self._health = Health()
        self._stopped: str | None = None
        self._lost: RunTaken | None = None
        self._interrupts = 0
        self._gave_way = 0.0
        self._scoring = scoring or ScoringThread()
        self._recorded = recorded
        self.lag = LoopLag()
        self._workers: set[asyncio.Task[None]] = set()

    async def run(self, progress: Progress, *, resumed: bool) -> Ending:
        """Score everything that is not there yet."""
        self._begin(progress, resumed=resumed)
        writer = Writer(self._store, self._run_id, self._stored)
        writer.start()
        try:
            with self.watched(), caught_signals(self._interrupt), shielded():
                await self._warm_up()
                async with self.lag.watched():
                    await self._work(self._plan.asks(self._done if resumed else None), writer)
                for completed in self._first.release():
                    writer.put(completed)
                if self._stopped is None:
                    self._broken = await self._presence.gone()
        finally:
            self._scoring.close()
            if self._recorded is not None:
                self._recorded.close()
            await asyncio.to_thread(writer.close)
        self.insist_on_own_run()
        return self._ending()

    def watched(self) -> AbstractContextManager[None]:
        """Meanwhile the run stops at once when another process takes it over: its calls are that process's now."""
        loop = asyncio.get_running_loop()

        def lost(error: RunTaken) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and makes no more calls
                loop.call_soon_threadsafe(self._lose, error)

        return self._store.watched(self._run_id, lost)

    def _lose(self, error: RunTaken) -> None:
        self._lost = error
        self._stop("stopped: another process has taken over the run")
        self._drop()

    def insist_on_own_run(self) -> None:
        """RunTaken when another process has taken over the run."""
        if self._lost is not None:
            raise self._lost

    def _begin(self, progress: Progress, *, resumed: bool) -> None:
        self._progress = progress
        self._breakers.note, self._breakers.give_up = progress.note, self._give_up
        if resumed:
            self._take_up()
            self._journalled = self._store.journalled(self._run_id)

    def _ending(self) -> Ending:
        return Ending(
            self._counts,
            self._health,
            self._why_stopped() if self._broken is None else None,
            interrupted=self._interrupts > 0,
            broken=self._broken,
            warm_up_failed=0 if self._warm is None else self._warm.failed,
            held_up=self._pace.held_up,
            spent=self._budget.spent,
            unpriced=self._unpriced,
            loop_lag=self.lag.mean,
            scoring=self._scoring.load,
        )

    def _why_stopped(self) -> str | None:
        left = f"{self._counts.planned - self._counts.done:,} of {self._counts.planned:,} samples are left"
        return f"{self._stopped}; {left}" if self._gave_up else self._stopped

    async def _warm_up(self) -> None:
        n = self._limits.warm_up
        if n == 0:
            return
        self._progress.note(f"warming up: {n:,} call{'' if n == 1 else 's'} whose answers are dropped")
        warm = self._warm = WarmUp(self._target, self._limits, self._plan, self._budget)
        async with asyncio.TaskGroup() as group:
            for _ in range(warm.width):
                self._set_to_work(group, warm.work())

    async def _work(self, asks: Iterator[Planned], writer: Writer) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                if self._limits.rate is not None:
                    await self._open_load(self._limits.rate, asks, writer, group)
                else:
                    self.ask_more_by(lambda: self._ask_more(asks, writer, group))
                    # One worker more than there are samples has nothing to do.
                    for _ in range(min(self._n_workers(), self._plan.n)):
                        self._set_to_work(group, self._worker(asks, writer))
        except BaseExceptionGroup as raised:
            # The first cause is what a person can act on; the others follow from the same stop.
            raise raised.exceptions[0] from raised

    def _n_workers(self) -> int:
        """More than there may be calls: those beyond make the next calls while answers are scored and stored."""
        at_once, width = 0 if self._recorded is None else self._recorded.at_once, self._limits.concurrency
        # Under a spending limit what is in progress counts as spent, also what only waits.
        return max(at_once, width if self._limits.max_cost is not None else width + width // _CALLS_A_SPARE)

    def ask_more_by(self, begin: Callable[[], bool]) -> None:
        """How one more sample is begun while calls wait for the breaker or their next try; False when none is left."""
        self._breakers.ask_more = begin
        # Under a spending limit what is in progress counts as spent, also what only waits.
        if self._limits.max_cost is None:
            self._pace.ask_more = begin

    def _ask_more(self, asks: Iterator[Planned], writer: Writer, group: asyncio.TaskGroup) -> bool:
        """Start a worker in the place of one whose call waits; False when nothing is left to ask."""
        planned = next(asks, None) if self._may_go_on() and len(self._workers) < MOST_WAITING else None
        if planned is not None:
            self._set_to_work(group, self._worker(chain([planned], asks), writer))
        return planned is not None

    def _set_to_work(self, group: asyncio.TaskGroup, work: Coroutine[Any, Any, None]) -> None:
        task = group.create_task(work)
        self._workers.add(task)
        task.add_done_callback(self._workers.discard)

    async def _open_load(self, rate: float, asks: Iterator[Planned], writer: Writer, group: asyncio.TaskGroup) -> None:
        """Make each call when it is due, whatever came back of the others."""
        schedule = Schedule(rate, self._pace)
        for planned in asks:
            if not self._may_go_on():
                return
            try:
                due = await schedule.next()
            except Closed:
                return
            self._set_to_work(group, self._evaluate(planned, writer, due))
            schedule.put_off(await self._first_price() + await self._scored_in_time(writer))

    async def _worker(self, asks: Iterator[Planned], writer: Writer) -> None:
        while self._stopped is None:
            await self._first_price()
            if not self._may_go_on():
                return
            planned = next(asks, None)
            if planned is None:
                return
            await self._evaluate(planned, writer)
            await self._give_way(writer)

    async def _scored_in_time(self, writer: Writer) -> float:
        """Wait while too many answers wait to be scored or stored; gives the seconds, not the target's fault."""
        began = time.perf_counter()
        # Both are set by threads.
        while self._scoring.waiting + writer.awaited > _MOST_BACKLOG and self._stopped is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return time.perf_counter() - began

    async def _first_price(self) -> float:
        """Wait while nobody knows what a call costs, which is only before the first answer; gives the seconds."""
        if not self._budget.awaits_first_price:
            return 0.0
        began = time.perf_counter()
        while self._budget.awaits_first_price:  # noqa: ASYNC110 - only ever waits for the very first answer
            await asyncio.sleep(0.005)
        return time.perf_counter() - began

    def _may_go_on(self) -> bool:
        if self._stopped is None and not self._budget.may_spend():
            self._stop(self._no_room())
        return self._stopped is None

    async def _evaluate(self, planned: Planned, writer: Writer, due: float | None = None) -> None:
        """One sample, handed to the writer; nothing when the run stops before it is complete."""
        if not self._store.is_confirmed(self._run_id):
            # Suspended, or without its store for long: before another call is paid for, the run must be its own.
            await asyncio.to_thread(self._store.confirm, self._run_id)
        self._first.begun += 1
        try:
            with self._breakers.sample(planned.position):
                completed = await self._sample(planned, writer, due)
        except Closed:
            if self._budget.is_empty:
                self._stop(self._no_room())
            return
        for ready in self._first.take(completed):
            if self._makes_no_calls:
                writer.put(ready)
            else:
                await writer.store(ready)
        if self._first.why is not None:
            self._give_up(self._first.why)
        self._insist_on_price(completed.sample)
        if self._breaker is not None and self._breaker.waits_for_return:
            return
        if gone := await self._presence.gone_after(completed.sample.call_result):
            self._break_off(gone)

    async def _give_way(self, writer: Writer) -> None:
        """Let the other workers, Ctrl-C and the writer have their turn when the target answers without waiting."""
        now = time.monotonic()
        if now - self._gave_way > _LONGEST_HOLD:
            self._gave_way = now
            await asyncio.sleep(0)
        # A writer that has failed takes nothing more off its pile; the next sample handed to it raises why.
        while writer.backlog > _MOST_BACKLOG and writer.failure is None:  # noqa: ASYNC110 - a thread sets no asyncio event
            await asyncio.sleep(0.01)

    async def _sample(self, planned: Planned, writer: Writer, due: float | None) -> Completed:
        journal = Journal(planned.position, self._journalled, writer.store)
        self._budget.started()
        called, sample = None, None
        try:
            called = await self._answer(planned, journal, due)
            sample = await self._scored(planned, called.call_result, journal)
        finally:
            # What judges cost has been paid call by call.
            available = sample is not None and (spent(sample) is not None or self._costs_nothing(sample))
            cost = own_cost(called, self._since)
            self._budget.ended((cost or 0.0) if available else cost)
        sample.position = planned.position
        self._health.watch(sample)
        return Completed(sample, planned.case, called.cache_entry, journal.keys)

    async def _scored(self, planned: Planned, call_result: CallResult, journal: Journal) -> Sample:
        ask = planned.ask
        if self._recorded is not None:
            return await self._recorded.score(Task(planned.case, ask.variant.name, ask.repeat, call_result, ()))
        to_score = (self._evaluator, planned.case, ask.variant.name, ask.repeat, call_result)
        # When nobody is asked, no call can be held up, and a thread would only take time.
        scoring = (
            Evaluation(*to_score)
            if self._makes_no_calls and not self._scoring.is_remote
            else await self._scoring.evaluate(*to_score)
        )
        if self._judges is not None:
            scoring = await self._judges.look_up(scoring, journal, self._budget, self._scoring)
        if self._judges is not None and scoring.to_judge is not None:
            await self._judges.judge(scoring, journal, self._budget, self._scoring)
        return scoring.sample

    def _no_room(self) -> str:
        return f"the spending limit of {self._budget.limit:g} leaves no room for another call"

    async def _answer(self, planned: Planned, journal: Journal, due: float | None) -> Called:
        """The target's answer, stored before it is used when a judge is to be asked or scorers take their time."""
        retained = journal.get(TARGET)
        if retained is not None:
            return Called(retained)
        called = await self._caller.call(planned.ask, due)
        slow = self._scoring.mean > _QUICK_SCORING and not self._makes_no_calls
        if slow or (self._judges is not None and self._judges.are_asked):
            await journal.put(TARGET, called.call_result)
        return called

    def _costs_nothing(self, sample: Sample) -> bool:
        """Whether an answer without a cost shows that calls are free: no further one waits to learn its price."""
        judged = self._judges is not None and self._judges.are_asked
        return self._may_be_free and not judged and sample.call_result.failure is None

    def _insist_on_price(self, sample: Sample) -> None:
        if self._budget.limit is None:
            return
        unpriced = not self._makes_no_calls and sample.call_result.failure is None and sample.call_result.cost is None
        if unpriced and self._may_be_free:
            self._unpriced, unpriced = True, False
        who = "target" if unpriced else "judge"
        if unpriced or any(call.failure is None and call.cost is None for call in model_calls(sample)):
            # Said before it is raised: another worker may be about to call.
            self._stopped = (
                f"a spending limit is set, but the {who} does not say what a call costs:"
                f" {DECLARE_PRICE}, or leave out the limit"
            )
            raise UsageError(self._stopped)

    def _done(self, case_ids: object) -> set[tuple[str, str, int]]:
        return self._store.done(self._run_id, case_ids)  # type: ignore[arg-type]

    def _take_up(self) -> None:
        for sample, _ in self._store.samples(self._run_id):
            self._counts.add(sample.outcome)
            self._health.watch(sample)
            self._first.begun += 1
            if sample.call_result.failure is None:
                self._breakers.arm()
                self._first.watching = False
            if (cost := spent(sample, self._since)) is not None:
                self._budget.started()
                self._budget.ended(cost)
        self._progress.update(self._counts)

    def _stored(self, group: list[Completed]) -> None:
        samples = [completed.sample for completed in group]
        for sample in samples:
            self._counts.add(sample.outcome)
        self._progress.update(self._counts, samples)

    def _stop(self, reason: str) -> None:
        if self._stopped is None:
            self._stopped = reason
            self._progress.note(reason)
            self._pace.close()
            self._breakers.end(Ruling.AGAIN)
            if self._warm is not None:
                self._warm.close()
            if self._judges is not None:
                self._judges.close()

    def _give_up(self, why: str) -> None:
        """An outage lasts too long, or no call can help: what is left is left for `--resume`."""
        self._gave_up |= self._stopped is None
        self._stop(why)

    def _break_off(self, gone: str) -> None:
        """The system under test is gone: there is no point in asking it for the rest. Answers it gave are judged."""
        if self._stopped is None:
            self._broken = gone
            self._stopped = f"the remaining samples are not run: {gone}"
            self._progress.note(self._stopped)
            self._pace.close()
            self._breakers.end(Ruling.STANDS)

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts == 1:
            self._stop("interrupted: finishing the calls in flight, Ctrl-C again drops them")
            asyncio.get_running_loop().call_later(_GRACE, self._drop)
        else:
            self._drop()

    def _drop(self) -> None:
        # From here on a further Ctrl-C ends the process: a target that ignores being cancelled must not hold it up.
        release_signals()
        for worker in list(self._workers):
            worker.cancel()
