import asyncio
import time

import pytest

from steelyard.engine.limits import Budget, Closed, Pace


async def test_a_429_takes_one_place_and_eight_good_answers_give_it_back():
    pace = Pace(concurrency=16)
    pace.failed(throttled=True)
    assert pace.width == 15
    for _ in range(7):
        pace.good()
    assert pace.width == 15
    pace.good()
    assert pace.width == 16


def cut(pace: Pace, width: int) -> None:
    """Narrow it to this width by single 429s, each after an answer."""
    while pace.width > width:
        pace.good()
        pace.failed(throttled=True)


async def test_a_narrow_width_grows_after_two_rounds_of_good_answers():
    pace = Pace(concurrency=8)
    cut(pace, 1)
    for grown in (2, 3):
        # Two rounds of 1, then two rounds of 2.
        for _ in range(2 * (grown - 1)):
            assert pace.width == grown - 1
            pace.good()
        assert pace.width == grown


async def test_calls_refused_in_the_same_moment_take_no_more_than_half_of_the_places():
    pace = Pace(concurrency=16)
    for _ in range(5):
        pace.failed(throttled=True)
    assert pace.width == 11
    for _ in range(10):
        pace.failed(throttled=True)
    # A call that was sent before all this tells nothing about the server as it is now.
    pace.good(sent=time.perf_counter() - 60)
    pace.failed(throttled=True)
    assert pace.width == 8
    # One that was sent since does: 8 are too many as well, and half of them are left.
    pace.good()
    for _ in range(10):
        pace.failed(throttled=True)
    assert pace.width == 4


async def test_the_width_never_falls_below_one():
    pace = Pace(concurrency=4)
    cut(pace, 1)
    pace.failed(throttled=True)
    assert pace.width == 1


async def test_other_failures_than_429_leave_the_width():
    pace = Pace(concurrency=4)
    pace.failed()
    assert pace.width == 4


async def test_a_call_beyond_the_width_waits_until_another_is_over():
    pace = Pace(concurrency=2)
    pace.failed(throttled=True)
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
    pace.failed(throttled=True)
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


async def refused(pace: Pace, n: int, seconds: float) -> None:
    for _ in range(n):
        pace.leave()
        pace.failed(throttled=True, retry_after=seconds)


async def test_when_most_are_refused_every_call_holds_for_as_long_as_the_server_asked():
    pace = Pace(concurrency=4)
    for _ in range(4):
        await pace.enter()
    await refused(pace, 3, 0.2)
    started = time.monotonic()
    pace.leave()
    await pace.enter()
    assert time.monotonic() - started >= 0.19


async def test_while_fewer_are_refused_than_are_under_way_no_other_call_is_held_up():
    pace = Pace(concurrency=4)
    for _ in range(4):
        await pace.enter()
    await refused(pace, 2, 60)
    pace.leave()
    await asyncio.wait_for(pace.enter(), 1)


async def test_good_answers_make_up_for_as_many_failed_ones_of_a_round():
    pace = Pace(concurrency=3)
    pace.failed()
    assert pace.most_fail
    pace.good()
    assert not pace.most_fail
    # Earlier rounds do not count: after a thousand good answers the fourth failure is one more than a round.
    for _ in range(1000):
        pace.good()
    failing = []
    for _ in range(4):
        pace.failed()
        failing.append(pace.most_fail)
    assert failing == [False, False, False, True]


async def test_a_call_that_waits_for_its_next_try_leaves_its_place_to_another():
    pace, begun = Pace(concurrency=2), []
    pace.ask_more = lambda: begun.append(1)
    for _ in range(2):
        await pace.enter()
    await refused(pace, 1, 0.0)
    await pace.back_off(0.0)
    assert len(begun) == 1
    # Others wait already.
    waiting = asyncio.create_task(pace.enter())
    await asyncio.sleep(0)
    await pace.back_off(0.0)
    assert len(begun) == 1
    waiting.cancel()


async def test_where_most_calls_fail_none_is_begun_in_the_place_of_one_that_waits():
    pace, begun = Pace(concurrency=2), []
    pace.ask_more = lambda: begun.append(1)
    pace.failed()
    await pace.back_off(0.0)
    assert begun == []


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
