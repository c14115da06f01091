"""One call: how often it is made again, what the cache takes for the same, and that no secret gets through."""

import asyncio
import base64
import json
import math
import time
from urllib.parse import quote

import pytest

from steelyard.engine import call as calling
from steelyard.engine.call import Caller, RetryPolicy
from steelyard.engine.costs import own_cost
from steelyard.engine.limits import Pace
from steelyard.errors import TargetFailure
from steelyard.suite.case import Case
from steelyard.suite.models import Limits, Variant
from steelyard.suite.redaction import NAME, Redactor, RedactPart
from steelyard.targets.base import Request, Response

SECRET = 'wal"nut/42'


class Scripted:
    """A target that goes through a list of replies and failures; the last one stays."""

    def __init__(self, *script):
        self.script = list(script)
        self.asked = 0

    async def ask(self, ask):
        step = self.script[min(self.asked, len(self.script) - 1)]
        self.asked += 1
        if isinstance(step, TargetFailure):
            raise step
        return step

    def request_key(self, ask):
        return {"case": ask.case.id}

    def secrets(self):
        return [SECRET]


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch):
    monkeypatch.setattr(calling, "_FIRST_BACKOFF", 0.0)


def ask(repeat=0):
    return Request(Case("c1"), Variant("", {}), repeat)


async def call(target, *, retries=3, cached=None, repeat=0):
    return await Caller(target, Limits(retries=retries, timeout=5), Pace(1), cached).call(ask(repeat))


@pytest.mark.parametrize(("retries", "asked"), [(0, 1), (1, 2), (3, 4)])
async def test_a_failing_call_is_made_once_and_then_as_often_again_as_allowed(retries, asked):
    target = Scripted(TargetFailure("http_500", "no", retry=True))
    called = await call(target, retries=retries)
    assert (target.asked, called.call_result.tries) == (asked, asked)
    assert called.call_result.failure.kind == "http_500"


async def test_a_failure_that_will_not_change_is_not_asked_again():
    target = Scripted(TargetFailure("http_404", "no", retry=False))
    await call(target)
    assert target.asked == 1


async def test_a_server_that_wants_more_than_five_minutes_has_failed():
    target = Scripted(TargetFailure("http_429", "no", retry=True, retry_after=301, throttled=True))
    assert (await call(target)).call_result.failure.kind == "http_429"
    assert target.asked == 1


async def test_being_throttled_is_not_a_failed_try_but_ends_after_eight():
    throttled = TargetFailure("http_429", "no", retry=True, throttled=True)
    target = Scripted(*[throttled] * 8, Response("at last"))
    assert (await call(target, retries=1)).call_result.text == "at last"
    target = Scripted(throttled)
    assert (await call(target, retries=1)).call_result.failure is not None
    assert target.asked == 9


SPELLINGS = {
    "plain": SECRET,
    "in JSON": json.dumps(SECRET)[1:-1],
    "in a URL": quote(SECRET, safe=""),
    "in base64": base64.b64encode(SECRET.encode()).decode(),
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("place", ["text", "model", "message", "body"])
async def test_a_secret_is_redacted_wherever_it_comes_back(place, spelled):
    said = f"you sent {spelled}."
    step = {
        "text": Response(said),
        "model": Response("x", model=said),
        "message": TargetFailure("http_401", said, retry=False),
        "body": TargetFailure("http_401", "no", retry=False, body=said),
    }[place]
    attempt = (await call(Scripted(step))).call_result
    kept = (attempt.text, attempt.model, attempt.failure and attempt.failure.message)
    assert not any(spelled in part for part in kept if part)
    assert "you sent [redacted]." in kept


async def test_each_repeat_has_its_own_place_in_the_cache():
    kept = {}
    for repeat, text in enumerate(["one", "two", "three"]):
        key, entry = (await call(Scripted(Response(text)), cached=kept.get, repeat=repeat)).cache_entry
        assert key not in kept
        kept[key] = entry
    silent = Scripted(TargetFailure("refused", "must not be asked"))
    again = [(await call(silent, cached=kept.get, repeat=repeat)).call_result for repeat in range(3)]
    assert [attempt.text for attempt in again] == ["one", "two", "three"]
    assert silent.asked == 0


async def test_an_answer_from_the_cache_keeps_its_cost_and_is_not_paid_again():
    for paid in (0.25, None):
        entry = (await call(Scripted(Response("x", cost=paid)), cached={}.get)).cache_entry[1]
        cached = await call(Scripted(), cached=lambda _key, entry=entry: entry)
        assert (cached.call_result.cost, own_cost(cached)) == (paid, None)


@pytest.mark.parametrize("stated", [-1, 10**30, 1.5, math.nan, math.inf])
async def test_a_number_of_tokens_that_cannot_be_one_is_unknown(stated):
    attempt = (await call(Scripted(Response("x", tokens_in=stated, tokens_out=stated)))).call_result
    assert (attempt.tokens_in, attempt.tokens_out) == (None, None)


@pytest.mark.parametrize("stated", [-0.5, 10**400, math.nan, math.inf])
async def test_a_cost_or_a_latency_that_cannot_be_one_is_unknown(stated):
    attempt = (await call(Scripted(Response("x", cost=stated, latency=stated)))).call_result
    assert attempt.cost is None
    assert 0 <= attempt.latency < 5  # the engine's own clock instead


async def test_a_call_may_have_a_time_limit_of_its_own():
    async def send():
        await asyncio.sleep(0.2)
        return Response("late")

    patience = RetryPolicy(Limits(retries=0, timeout=5), Pace(1))
    failure = (await patience.perform(send, 0.02)).failure
    assert (failure.kind, failure.message) == ("timeout", "no answer within 0.02 s")
    assert (await patience.perform(send)).text == "late"


async def test_a_timeout_counts_no_time_in_which_this_process_was_held_up():
    async def send():
        await asyncio.sleep(0.05)
        return Response("in time")

    asyncio.get_running_loop().call_later(0.01, time.sleep, 0.4)
    assert (await RetryPolicy(Limits(retries=0, timeout=0.2), Pace(1)).perform(send)).text == "in time"


async def test_a_process_that_is_held_up_again_and_again_puts_off_a_timeout_once_over():
    async def hold_up():
        while True:
            time.sleep(0.03)
            await asyncio.sleep(0)

    holding = asyncio.create_task(hold_up())
    began = time.monotonic()
    failed = await RetryPolicy(Limits(retries=0, timeout=0.3), Pace(1)).perform(
        lambda: asyncio.sleep(60, Response("late"))
    )
    holding.cancel()
    assert failed.failure.kind == "timeout"
    assert time.monotonic() - began < 30  # put off for ever, it would take the 60 s of the call


@pytest.mark.parametrize("place", ["text", "message", "body", "cache"])
async def test_the_names_of_a_case_are_redacted_wherever_they_come_back(place):
    said = f"Ann says {SECRET}."
    step = {
        "text": Response(said),
        "message": TargetFailure("http_500", said, retry=False),
        "body": TargetFailure("http_500", "no", retry=False, body=said),
        "cache": TargetFailure("refused", "must not be asked"),
    }[place]
    kept = {"text": "Ann says [redacted].", "status": 200, "latency": 1.0, "cost": None}
    cached = (lambda _key: kept) if place == "cache" else None
    redact = Redactor(RedactPart(names=["input.name"]))
    caller = Caller(Scripted(step), Limits(retries=0), Pace(1), cached, redact=redact)
    case = redact.case(Case("c1", input={"name": "Ann"}))
    attempt = (await caller.call(Request(case, Variant("", {}), private=case.private))).call_result
    assert f"{NAME} says [redacted]." in (attempt.text, attempt.failure and attempt.failure.message)
    assert "Ann" not in str(attempt)
