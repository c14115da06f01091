"""One call, of the target or a judge: its timeout, retries (after a 429 and other failures that pass), time and cost.

Files are checked before it, the response cache is asked, and secrets are redacted from what comes back.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.engine.breaker import Breaker, FailedCall, is_transient, try_once
from steelyard.engine.limits import Pace, Ruling
from steelyard.errors import TargetFailure
from steelyard.frozen import slotted
from steelyard.records import CallResult, Failure
from steelyard.redact import SecretRedactor, learn_secrets
from steelyard.suite.case import digest
from steelyard.suite.files import unsendable
from steelyard.suite.models import Limits
from steelyard.suite.redaction import Redactor
from steelyard.targets.base import Request, Response, Target, checked_response, failure_of
from steelyard.user_code import number

_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 30.0
_LONGEST_WISH = 300.0
"""A server that asks for more than five minutes has, for this run, failed."""
_MOST_THROTTLES = 8
"""How often a call may be told to come back later, beside its ordinary retries."""
_MOST_TOKENS = 2**53
_LARGEST_AMOUNT = 1e15

_MEASURED = ("latency", "cached")
"""Of a result, what the engine finds itself: how long the call took, and whether the answer is from its own cache."""
_STATED: tuple[str, ...] = tuple(
    name for name in Response.__match_args__ if name in CallResult.__match_args__ and name not in _MEASURED
)
"""What a result has from the response."""
_TEXTS, _COUNTS = ("text", "model", "response_id"), ("tokens_in", "tokens_out", "tokens_cached")
_MOMENTS = ("first_byte", "first_token")
_MADE_THEN = ("started_at", "tries", "cached", "failure", "queued", "first_failure")
_CACHED: tuple[str, ...] = tuple(name for name in CallResult.__match_args__ if name not in _MADE_THEN)
"""What the response cache holds of a call; the others belong to the call that was made then."""

Cached = Callable[[str], dict[str, Any] | None]


@slotted
class Called:
    """An attempt, with the cache entry to keep beside it when it is new."""

    call_result: CallResult
    cache_entry: tuple[str, dict[str, Any]] | None = None


class RetryPolicy:
    """Makes a call as long as it is worth it; a failure is an attempt, never an exception, and holds no secret."""

    def __init__(self, limits: Limits, pace: Pace, secrets: Iterable[str] = ()) -> None:
        self._limits = limits
        self._pace = pace
        available = list(secrets)
        learn_secrets(available)
        self._redact_secrets = SecretRedactor(available)
        checked: dict[str, Callable[[Any], Any]] = dict.fromkeys(_TEXTS, self._redact_secrets)
        checked |= dict.fromkeys(_COUNTS, _count) | dict.fromkeys(("cost", *_MOMENTS), _amount)
        self._stated = [(name, checked.get(name)) for name in _STATED]
        self._breaker: Breaker | None = None
        self.grace = 0.0
        """Seconds that a try may last beyond its limit, where whoever makes the call watches the limit."""
        self._jitter = random.Random()  # noqa: S311 - spreads retries, hides nothing

    def watched_by(self, breaker: Breaker | None) -> None:
        """Let the breaker say what becomes of calls that fail for good, and pause all calls in an outage."""
        self._breaker = breaker
        if breaker is not None:
            breaker.redact = self._redact_secrets

    async def perform(
        self, send: Callable[[], Awaitable[Response]], seconds: float | None = None, due: float | None = None
    ) -> CallResult:
        """The answer of `send`, or its failure for good; each try may take `seconds`, or the limits' timeout.

        With `due` (of `time.perf_counter`), latency counts from that moment: waiting and earlier tries included.
        """
        most = (self._limits.timeout if seconds is None else seconds) + self.grace
        watch = _Stopwatch(due)
        tries = throttles = outages = calls = 0
        first_failure: str | None = None
        once_more, first_failed_at = self._limits.retries > 0, math.inf
        while True:
            held_up = await self._pace.enter()
            answered_between = self._breaker is not None and self._breaker.there_at > first_failed_at
            if watch.send() and held_up:
                self._pace.held_up += 1
            calls += 1
            try:
                result = await try_once(send, most)
            finally:
                self._pace.leave()
            if not isinstance(result, TargetFailure):
                self._pace.good(watch.sent)
                if self._breaker is not None:
                    self._breaker.answered(send, most, watch.sent)
                return self._answered(result, watch, calls, first_failure)
            watch.failed(_amount(result.latency))
            first_failure = first_failure or result.kind
            first_failed_at = min(first_failed_at, time.perf_counter())
            throttles, tries = throttles + result.throttled, tries + (not result.throttled)
            wish = result.retry_after or 0.0
            self._pace.failed(throttled=result.throttled, retry_after=0.0 if wish > _LONGEST_WISH else wish)
            if self._worth_asking_again(result, tries, throttles):
                await self._before_next(result, tries + throttles)
                continue
            failed = FailedCall(send, most, watch.send, answered_between, outages, once_more)
            ruling = await self._ruling(failed, result, watch)
            calls += failed.probes
            if isinstance(ruling, Response):
                return self._answered(ruling, watch, calls, first_failure)
            if ruling is Ruling.STANDS:
                return self._failed(result, watch, calls, first_failure)
            if ruling is Ruling.ONCE_MORE:
                once_more, tries, throttles = False, self._limits.retries, _MOST_THROTTLES
            else:
                # Nobody was there to answer: what was tried then does not count as a retry. What was waited does: a
                # system that hangs for a while looks like one that is gone.
                tries, throttles, outages = 0, 0, outages + 1
            first_failed_at = math.inf

    async def _ruling(self, call: FailedCall, failure: TargetFailure, watch: _Stopwatch) -> Ruling | Response:
        if self._breaker is None:
            return Ruling.STANDS
        if is_transient(failure):
            return await self._breaker.settle(call, failure)
        if failure.status is not None:
            self._breaker.is_there(watch.sent)
        return Ruling.STANDS

    def _worth_asking_again(self, failure: TargetFailure, tries: int, throttles: int) -> bool:
        if not failure.retry or (failure.retry_after or 0.0) > _LONGEST_WISH:
            return False
        if self._limits.retries == 0:
            return False
        return tries <= self._limits.retries and throttles <= max(_MOST_THROTTLES, self._limits.retries)

    async def _before_next(self, failure: TargetFailure, calls: int) -> None:
        longest = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** (calls - 1))
        # A server that refuses a call again and again asks for too little.
        await self._pace.back_off(max(failure.retry_after or 0.0, longest * self._jitter.uniform(0.5, 1.0)))

    def _answered(
        self, response: Response, watch: _Stopwatch, tries: int, first_failure: str | None = None
    ) -> CallResult:
        stated: dict[str, Any] = {}
        for name, checked in self._stated:
            value = getattr(response, name)
            stated[name] = value if value is None or checked is None else checked(value)
        for name in _MOMENTS:
            if stated[name] is not None:
                stated[name] = watch.since_first(stated[name])
        return CallResult(
            **stated,
            latency=watch.seconds(_amount(response.latency)),
            started_at=watch.started_at,
            tries=tries,
            queued=watch.queued,
            first_failure=first_failure,
            provider_cached=bool(response.cached),
        )

    def _failed(
        self, failure: TargetFailure, watch: _Stopwatch, tries: int, first_failure: str | None = None
    ) -> CallResult:
        return CallResult(
            text=None if failure.body is None else self._redact_secrets(failure.body),
            status=failure.status,
            latency=watch.waited,
            started_at=watch.started_at,
            tries=tries,
            failure=Failure(failure.kind, self._redact_secrets(str(failure))),
            first_byte=watch.since_first(_amount(failure.first_byte)),
            queued=watch.queued,
            first_token=watch.since_first(_amount(failure.first_token)),
            first_failure=first_failure,
        )


class _Stopwatch:
    """Times one call: the sum of what its attempts took. Waits between them are this process's own, and not counted.

    `due` is when it should have been sent, under an open load: then all that passes from that moment on counts.
    """

    __slots__ = ("_due", "_failed_for", "queued", "sent", "started_at", "waited")

    def __init__(self, due: float | None = None) -> None:
        self._due = due
        self._failed_for = 0.0
        """Seconds before the present attempt was sent that count."""
        self.sent = 0.0
        self.started_at = 0.0
        self.queued: float | None = None
        self.waited = 0.0
        """Seconds that were waited when the last attempt failed."""

    def send(self) -> bool:
        """An attempt begins now; True for the first of a call that was due at a certain moment."""
        self.started_at, self.sent = time.time(), time.perf_counter()
        if self._due is None:
            self._failed_for = self.waited
            return False
        self._failed_for = max(0.0, self.sent - self._due)
        if self.queued is not None:
            return False
        self.queued = self._failed_for
        return True

    def failed(self, reported: float | None) -> None:
        """The present attempt failed now, or after as many seconds as it is reported to have taken."""
        self.waited = self.seconds(reported)

    def seconds(self, reported: float | None = None) -> float:
        """How long the call took until now, or with its last attempt reported to take that many seconds."""
        took = time.perf_counter() - self.sent
        if self._due is None:
            return self._failed_for + (took if reported is None else reported)
        # Waiting inside this process counts.
        return max(took, reported or 0.0) + self._failed_for

    def since_first(self, reported: float | None) -> float | None:
        """Seconds after the present attempt was sent as seconds after the first was."""
        return None if reported is None else reported + self._failed_for - (self.queued or 0.0)


class Caller(RetryPolicy):
    """Asks the target as long as it is worth it; a failure of the target is an attempt, never an exception.

    A case with a file in `folder` that cannot be sent fails without the target being asked. What comes back is kept
    without what `redact` takes out.
    """

    def __init__(
        self,
        target: Target,
        limits: Limits,
        pace: Pace,
        cached: Cached | None = None,
        folder: Path | None = None,
        redact: Redactor | None = None,
    ) -> None:
        super().__init__(limits, pace, target.secrets())
        self._target = target
        self.grace = getattr(target, "grace", 0.0)
        self._makes_no_calls = getattr(target, "makes_no_calls", False)
        self._redact = redact
        self._cached = cached
        self._folder = folder if getattr(target, "sends_attachments", True) else None

    async def call(self, ask: Request, due: float | None = None) -> Called:
        """The attempt for this call: answered, from the cache, or failed for good; `due` as in `attempt`."""
        replayed = getattr(self._target, "replayed", None)
        if replayed is not None:
            # Its attempts were those of another run.
            return Called(self._redacted(replace(await replayed(ask), tries=0, first_failure=None), ask))
        if ask.case.attachments and (unfit := await self._unsendable(ask)):
            return Called(unfit)
        key = self._key(ask)
        if key is not None and self._cached is not None:
            entry = await asyncio.to_thread(self._cached, key)
            if entry is not None:
                # What the answer cost stays its cost; it is not paid again (`spent`).
                retained = CallResult(**entry, started_at=time.time(), cached=True, tries=0)
                # It may have been kept before anything was redacted.
                return Called(self._redacted(retained, ask))
        performed = await self.perform(lambda: self._ask(ask), due=due)
        if self._makes_no_calls:
            performed = replace(performed, tries=0, first_failure=None)
        call_result = self._redacted(performed, ask)
        if key is None or call_result.failure is not None:
            return Called(call_result)
        return Called(call_result, (key, _entry(call_result)))

    async def once(self, ask: Request) -> Response | TargetFailure:
        """One try and no more, for a process whose calls another one paces and repeats; the answer is redacted."""
        watch = _Stopwatch()
        watch.send()
        result = await try_once(lambda: self._ask(ask), self._limits.timeout)
        if isinstance(result, TargetFailure):
            return result
        stored = self._redacted(self._answered(result, watch, tries=1), ask)
        if stored.text is None:  # it cannot be redacted, which is found again where it is to be stored
            return result
        return replace(result, text=stored.text, model=stored.model, latency=stored.latency)

    async def _ask(self, ask: Request) -> Response:
        target = self._target
        try:
            response = await target.ask(ask)
        except TimeoutError:
            raise
        except BaseException as error:  # noqa: BLE001 - a plug-in may raise anything
            raise failure_of(error, target.ask) from None
        return checked_response(response, target.ask)

    def _redacted(self, call_result: CallResult, ask: Request) -> CallResult:
        return call_result if self._redact is None else self._redact.redact_call(call_result, ask.private)

    async def _unsendable(self, ask: Request) -> CallResult | None:
        """The failed attempt of a case whose files cannot be sent."""
        if self._folder is None or all(attachment.is_url for attachment in ask.case.attachments):
            return None
        watch, most = _Stopwatch(), self._limits.max_pixels
        watch.send()
        problem = await asyncio.to_thread(unsendable, ask.case, self._folder, max_pixels=most)
        if problem is None:
            return None
        return replace(self._failed(TargetFailure("bad_attachment", problem, retry=False), watch, tries=0), latency=0.0)

    def _key(self, ask: Request) -> str | None:
        if self._cached is None:
            return None
        try:
            request = self._target.request_key(ask)
        except TargetFailure:  # the call itself says why
            return None
        # The repeat index is part of the key: repeats measure spread and must never collapse into one answer.
        return None if request is None else digest({"request": request, "repeat": ask.repeat})


def _count(value: int | None) -> int | None:
    """A number of tokens; None for what cannot be one, whatever the target said."""
    result = None if value is None else number(value)
    return int(result) if result is not None and 0 <= result <= _MOST_TOKENS and result == int(result) else None


def _amount(value: float | None) -> float | None:
    """Money or seconds; None for what is not a number from 0 up."""
    result = None if value is None else number(value)
    return float(result) if result is not None and 0 <= result <= _LARGEST_AMOUNT else None


def _entry(call_result: CallResult) -> dict[str, Any]:
    entry = {name: getattr(call_result, name) for name in _CACHED}
    return entry | {"made_at": call_result.started_at}
