"""One try of a call, and the circuit breaker: when calls of different samples fail in a row, it waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field

from steelyard.engine.limits import Budget, Closed, Pace, Ruling
from steelyard.engine.presence import Presence
from steelyard.engine.target_time import TargetTime
from steelyard.errors import TargetFailure
from steelyard.frozen import slotted
from steelyard.targets.base import Response
from steelyard.wording import duration_text

Send = Callable[[], Awaitable[Response]]


async def try_once(send: Send, seconds: float) -> Response | TargetFailure:
    """The answer of one call, or why there is none."""
    try:
        with TargetTime(seconds):
            return await send()
    except TimeoutError as error:
        # What a target that was cancelled notes of how far the answer had come.
        first_byte, first_token = (getattr(error.__cause__, name, None) for name in ("first_byte", "first_token"))
        message = f"no answer within {seconds:g} s"
        return TargetFailure("timeout", message, first_byte=first_byte, first_token=first_token)
    except TargetFailure as failure:
        return failure


_ENOUGH = 5
"""So many different samples must fail in a row: fewer, at the end of a run, are no reason to wait for minutes."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 15.0
"""Seconds between two probes."""
_MOST_OUTAGES = 3
"""A sample that was there in so many outages may well be what causes them: its failure stands."""
_NO_CONNECTION = frozenset({"refused", "unreachable", "connect_timeout", "dns"})
"""Failures that no sample can cause while the system is there."""
_SAMPLE: ContextVar[Hashable] = ContextVar("sample")
"""What a call is made for: calls of several judges about one answer are one sample's."""


@slotted(eq=False)
class FailedCall:
    """A call that failed for good, and waits for its ruling, or for the answer to a probe."""

    send: Send
    seconds: float
    begin: Callable[[], object]
    """Starts the clock of a try."""
    answered_between: bool = False
    """Whether another call was sent and answered after its first try had failed and before its last was made."""
    outages: int = 0
    """How many outages it has been through."""
    once_more: bool = False
    """Whether one more try is allowed when the system is found to be there."""
    probes: int = 0
    sample: Hashable = field(default_factory=lambda: _SAMPLE.get(object()))
    failed_at: float = field(default_factory=time.perf_counter)
    ruling: asyncio.Future[Ruling | Response] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    async def probe(self) -> Response | TargetFailure:
        """Make the call once more."""
        self.probes += 1
        self.begin()
        return await try_once(self.send, self.seconds)


def is_transient(failure: TargetFailure) -> bool:
    """True for what an outage looks like: asking again may help, and the system has not asked for patience."""
    return failure.retry and not failure.throttled


class Breakers:
    """The circuit breakers of one run: one for the system under test, one for each judge."""

    def __init__(self, longest: float, concurrency: int, budget: Budget) -> None:
        """`longest` are the seconds that an outage may last; 0 for a run without breakers."""
        self.longest = longest
        self.budget = budget
        self.note: Callable[[str], None] = lambda _: None
        self.give_up: Callable[[str], None] = lambda _: None
        self.ask_more: Callable[[], bool] = lambda: False
        """Begins with one more sample; False when none is left."""
        self.over: Ruling | None = None
        """Once the run stops: STANDS where failures are kept, AGAIN where they are left for `--resume`."""
        self._concurrency = concurrency
        self._in_progress: set[Hashable] = set()
        self._all: list[Breaker] = []

    def of(self, pace: Pace, name: str, presence: Presence | None = None) -> Breaker | None:
        """The breaker of whoever is asked at this pace; None in a run without."""
        if not self.longest:
            return None
        self._all.append(Breaker(self, pace, name, presence))
        return self._all[-1]

    def arm(self) -> None:
        """The systems have answered before: what fails from now on may be an outage."""
        for breaker in self._all:
            breaker.armed = True

    @contextmanager
    def sample(self, key: Hashable) -> Iterator[None]:
        """Calls meanwhile are made for this sample."""
        _SAMPLE.set(key)
        self._in_progress.add(key)
        try:
            yield
        finally:
            self._in_progress.discard(key)
            self._look(1)

    def found_failed(self) -> None:
        """A call has failed: one that waits must not keep others from being made, which tell more."""
        self._look(self._concurrency)

    def _look(self, fewest: int) -> None:
        """See to it that so many samples are in progress; where none is left to ask, decide by what is known."""
        failed = {call.sample for breaker in self._all for call in breaker.failed}
        if not failed or len(self._in_progress - failed) >= fewest or (self.over is None and self.ask_more()):
            return
        if self._in_progress <= failed:
            for breaker in self._all:
                breaker.decide()

    def end(self, ruling: Ruling) -> None:
        """The run stops: nobody waits any longer."""
        self.over = self.over or ruling
        for breaker in self._all:
            breaker.end()


class Breaker:
    """Watches the calls of one system."""

    def __init__(self, run: Breakers, pace: Pace, name: str, presence: Presence | None) -> None:
        self.armed = False
        """True once a call was answered: a system that was never there is no outage."""
        self.failed: list[FailedCall] = []
        self.redact: Callable[[str], str] = str
        self._run = run
        self._pace = pace
        self._name = name
        self._presence = presence
        self._enough = _ENOUGH
        self._answered: tuple[Send, float] | None = None
        self.there_at = float("-inf")
        """When the newest call that was answered was sent."""
        self._probing = False

    @property
    def waits_for_return(self) -> bool:
        """True for a system that was there, and whose being gone for a while is an outage."""
        return self.armed and self._presence is not None and not self._presence.is_final

    def answered(self, send: Send, seconds: float, sent: float) -> None:
        """A call that was sent at this moment (of `time.perf_counter`) was answered."""
        self.armed, self._answered, self._enough = True, (send, seconds), _ENOUGH
        self.is_there(sent)

    def is_there(self, sent: float) -> None:
        """A call that was sent at this moment got an answer, or a refusal that is about this call alone."""
        self.there_at = max(self.there_at, sent)
        if not self._probing:
            for call in [call for call in self.failed if call.failed_at < sent]:
                self._rule([call], Ruling.ONCE_MORE if call.once_more else Ruling.STANDS)

    async def settle(self, call: FailedCall, failure: TargetFailure) -> Ruling | Response:
        """What becomes of a call whose tries are used up, as soon as it is known; Closed when the run stops before."""
        if not self.armed or call.outages >= _MOST_OUTAGES or call.answered_between:
            return Ruling.STANDS
        gone = None if self._presence is None else await self._presence.gone_after_failure(failure.kind)
        if self._run.over is not None or (gone and self._presence is not None and self._presence.is_final):
            if self._run.over is Ruling.AGAIN:
                raise Closed
            return Ruling.STANDS
        self.failed.append(call)
        try:
            if not self._probing:
                if gone or len({item.sample for item in self.failed}) >= self._enough:
                    self._begin_probing()
                else:
                    self._run.found_failed()
            ruling = await call.ruling
            if ruling is Ruling.PROBE:
                call.ruling = asyncio.get_running_loop().create_future()
                await self._probe()
                ruling = await call.ruling
            return ruling
        finally:
            if call in self.failed:
                self.failed.remove(call)

    def decide(self) -> None:
        """No further sample will tell more: too few have failed for an outage."""
        if not self._probing:
            self._rule(self.failed, Ruling.STANDS)

    def end(self) -> None:
        """The run stops."""
        for call in self.failed:
            if self._run.over is Ruling.STANDS and not call.ruling.done():
                call.ruling.set_result(Ruling.STANDS)
            _close(call)

    def _begin_probing(self) -> None:
        self._probing = True
        self._rule(self.failed[:1], Ruling.PROBE)

    def _rule(self, calls: Sequence[FailedCall], ruling: Ruling) -> None:
        for call in list(calls):
            if not call.ruling.done():
                call.ruling.set_result(ruling)
                if ruling is not Ruling.PROBE:
                    self.failed.remove(call)

    async def _probe(self) -> None:
        """Hold all calls until a probe is answered or the time is up; then everybody who waits has a ruling."""
        began, wait, message = time.monotonic(), _FIRST_WAIT, False
        try:
            with self._pace.held():
                while True:
                    last = time.monotonic() - began >= self._run.longest
                    failure = await self._still_out(certain=message and not last)
                    if failure is None:
                        break
                    seconds = time.monotonic() - began
                    if last:
                        self._run.give_up(self._out_for(seconds, failure))
                        return
                    if not message:
                        message = True
                        self._run.note(self._pausing(failure))
                    await self._pace.rest(max(0.0, min(wait, self._run.longest - seconds)))
                    wait = min(2 * wait, _LONGEST_WAIT)
            if message:
                self._run.note(f"{self._name} answers again after {duration_text(time.monotonic() - began)}: going on")
        finally:
            self._probing = False
            for call in self.failed:
                _close(call)  # the run has stopped, or was dropped

    async def _still_out(self, *, certain: bool) -> TargetFailure | None:
        """One probe: why the system counts as out; None when it is there, and everybody has a ruling.

        Each probe is another of the calls that failed. The first and the last that find a system there, and fail, are
        followed by the call that was answered last: if that is answered again, it is these samples that fail, and
        nobody is out. Not the others: that answer was paid for already.
        """
        while self._pace.under_way >= self._pace.concurrency:
            await self._pace.rest(0.02)
        call = self.failed.pop(0)
        self.failed.append(call)
        result = await call.probe()
        if isinstance(result, TargetFailure) and is_transient(result):
            if certain or result.kind in _NO_CONNECTION or not await self._answers_what_it_answered():
                return result
            result = await call.probe()  # it may have come back between the two
            if isinstance(result, TargetFailure):
                self._enough *= 2
                self._rule(self.failed, Ruling.STANDS)
                return None
        self._pace.regain()
        if not isinstance(result, TargetFailure):
            self.failed.remove(call)
            call.ruling.set_result(result)
        self._rule(self.failed, Ruling.AGAIN)
        return None

    async def _answers_what_it_answered(self) -> bool:
        if self._answered is None:
            return False
        result = await try_once(*self._answered)
        if isinstance(result, TargetFailure):
            return False
        self._run.budget.pay(result.cost)
        return True

    def _pausing(self, failure: TargetFailure) -> str:
        n = len({call.sample for call in self.failed})
        return (
            f"pausing: {self._name} does not answer, calls of {n:,} sample{'s' if n > 1 else ''} failed in a row"
            f" ({failure.kind}: {self.redact(str(failure))}); it is probed with single calls for up to"
            f" {duration_text(self._run.longest)}"
        )

    def _out_for(self, seconds: float, failure: TargetFailure) -> str:
        return (
            f"{self._name} was out for {duration_text(seconds)}, the limit of --outage; last failure:"
            f" {failure.kind}: {self.redact(str(failure))}; what failed meanwhile is not stored"
        )


def _close(call: FailedCall) -> None:
    if not call.ruling.done():
        call.ruling.set_exception(Closed())
        call.ruling.exception()  # whoever made the call may be gone, too: then nobody is to be told
