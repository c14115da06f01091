import asyncio
import time

import pytest

from steelyard.engine.limits import Budget, Closed, Pace


async def test_a_throttled_answer_halves_the_width_and_good_answers_widen_it_one_by_one():
    pace = Pace(concurrency=8)
    pace.throttled(None)
    assert pace.width == 4
    # A full round of 4 allows a fifth; then a full round of 5 allows a sixth.
    for _ in range(4):
        pace.good()
    assert pace.width == 5
    for _ in range(5):
        pace.good()
    assert pace.width == 6


async def test_calls_throttled_in_the_same_moment_cut_only_once():
    pace = Pace(concurrency=16)
    for _ in range(10):
        pace.throttled(None)
    assert pace.width == 8


async def test_the_width_never_falls_below_one():
    now = 0.0
    pace = Pace(concurrency=4, clock=lambda: now)
    for _ in range(10):
        now += 10
        pace.throttled(None)
    assert pace.width == 1


async def test_a_call_beyond_the_width_waits_until_another_is_over():
    pace = Pace(concurrency=2)
    pace.throttled(None)
    await pace.enter()
    waiting = asyncio.create_task(pace.enter())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    pace.leave()
    await asyncio.wait_for(waiting, 1)
    assert pace.under_way == 1


async def test_whoever_waits_gets_a_turn_although_no_answer_is_ever_good():
    # The width was cut while five held a question; nobody else is left to widen it again.
    pace = Pace(concurrency=8)
    for _ in range(8):
        await pace.enter()
    pace.throttled(None)
    waiting = [asyncio.create_task(pace.enter()) for _ in range(5)]
    for _ in range(8):
        pace.leave()
    for _ in range(5):
        done, _ = await asyncio.wait(waiting, timeout=1, return_when=asyncio.FIRST_COMPLETED)
        assert done
        waiting = [task for task in waiting if task not in done]
        for _ in done:
            pace.leave()
        if not waiting:
            break
    assert pace.under_way == 0


async def test_every_call_holds_for_as_long_as_the_server_asked():
    pace = Pace(concurrency=4)
    pace.throttled(0.2)
    started = time.monotonic()
    await pace.enter()
    assert time.monotonic() - started >= 0.19


async def test_requests_a_second_are_spaced_over_all_calls():
    pace = Pace(concurrency=10, requests_per_second=50)
    started = time.monotonic()
    await asyncio.gather(*(pace.enter() for _ in range(10)))
    # Ten calls at 50 a second: the last starts nine gaps of 20 ms after the first.
    assert time.monotonic() - started >= 0.18


async def test_a_stop_ends_every_wait_and_starts_no_call():
    pace = Pace(concurrency=1)
    await pace.enter()
    waiting = asyncio.create_task(pace.enter())
    resting = asyncio.create_task(pace.rest(60))
    await asyncio.sleep(0.01)
    pace.close()
    for task in (waiting, resting):
        with pytest.raises(Closed):
            await asyncio.wait_for(task, 1)
    with pytest.raises(Closed):
        await pace.enter()
    assert pace.under_way == 1


def test_a_budget_stops_before_the_calls_under_way_could_go_over():
    purse = Budget(limit=1.0)
    for _ in range(4):
        assert purse.may_spend()
        purse.started()
        purse.ended(0.2)
    # 0.8 spent, 0.2 a call: one more fits, a second beside it does not.
    assert purse.may_spend()
    purse.started()
    assert not purse.may_spend()


def test_a_call_of_unknown_cost_is_not_counted_as_free():
    purse = Budget(limit=1.0)
    purse.started()
    purse.ended(0.5)
    purse.started()
    purse.ended(None)
    # The failed call says nothing about the usual cost, which stays 0.5.
    assert purse.may_spend()
    purse.started()
    assert not purse.may_spend()


@pytest.mark.parametrize("spent", [0.0, 5.0])
def test_no_limit_never_stops(spent):
    assert Budget(limit=None, spent=spent).may_spend()
