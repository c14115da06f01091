import asyncio
import time

import pytest

from steelyard.engine.pace import Pace, Purse


async def test_a_throttled_answer_halves_the_lanes_and_good_answers_open_them_again_one_by_one():
    pace = Pace(concurrency=8)
    await pace.throttled(None)
    assert pace.lanes == 4
    # A full round at 4 lanes opens a fifth; then a full round of 5 opens a sixth.
    for _ in range(4):
        await pace.good()
    assert pace.lanes == 5
    for _ in range(5):
        await pace.good()
    assert pace.lanes == 6


async def test_calls_throttled_in_the_same_moment_cut_only_once():
    pace = Pace(concurrency=16)
    for _ in range(10):
        await pace.throttled(None)
    assert pace.lanes == 8


async def test_lanes_never_fall_below_one():
    now = 0.0
    pace = Pace(concurrency=4, clock=lambda: now)
    for _ in range(10):
        now += 10
        await pace.throttled(None)
    assert pace.lanes == 1


async def test_a_closed_lane_waits_until_it_is_opened():
    pace = Pace(concurrency=2)
    await pace.throttled(None)
    assert pace.lanes == 1
    waiting = asyncio.create_task(pace.enter(1))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    await pace.good()
    await asyncio.wait_for(waiting, 1)


async def test_every_lane_holds_for_as_long_as_the_server_asked():
    pace = Pace(concurrency=4)
    await pace.throttled(0.2)
    started = time.monotonic()
    await pace.enter(0)
    assert time.monotonic() - started >= 0.19


async def test_requests_a_second_are_spaced_over_all_lanes():
    pace = Pace(concurrency=10, requests_per_second=50)
    started = time.monotonic()
    await asyncio.gather(*(pace.enter(lane) for lane in range(10)))
    # Ten calls at 50 a second: the last starts nine gaps of 20 ms after the first.
    assert time.monotonic() - started >= 0.18


def test_a_purse_stops_before_the_calls_under_way_could_go_over():
    purse = Purse(limit=1.0)
    for _ in range(4):
        assert purse.may_spend()
        purse.started()
        purse.ended(0.2)
    # 0.8 spent, 0.2 a call: one more fits, a second beside it does not.
    assert purse.may_spend()
    purse.started()
    assert not purse.may_spend()


def test_a_call_of_unknown_cost_is_not_counted_as_free():
    purse = Purse(limit=1.0)
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
    assert Purse(limit=None, spent=spent).may_spend()
