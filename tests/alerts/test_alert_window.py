"""Figures over several runs, weighted by n, and what is more than noise; figures by hand or by scipy."""

import pytest

from parts.histories import DAY, JAN_1, made_run
from steelyard.alerts.evidence import chance_of, earlier_runs, pooled, too_little
from steelyard.records import RunFacts, RunState, Verdict
from steelyard.stats.intervals import Estimate
from steelyard.store.headers import is_partial


class Runs:
    """A store of headers alone."""

    def __init__(self, *headers):
        self._headers = sorted(headers, key=lambda each: each.created_at, reverse=True)

    def runs(self, suite=None, limit=None):
        return self._headers[:limit]


def share(value, n, half=None):
    return Estimate(value, n, 0, None if half is None else value - half, None if half is None else value + half)


def test_every_run_weighs_as_much_as_it_has_samples():
    # (0.9 x 10 + 0.5 x 990) / 1000 = 0.504; without weights it would be 0.7.
    found = pooled([share(0.9, 10), share(0.5, 990)])
    assert found is not None
    assert found.value == pytest.approx(0.504)
    assert (found.n, found.runs) == (1000, 2)


def test_runs_without_the_figure_have_no_part():
    found = pooled([share(0.8, 50), Estimate(None, 0, 50)])
    assert found is not None
    assert (found.value, found.n, found.runs, found.spread) == (0.8, 50, 1, None)


def test_no_run_with_the_figure_is_no_figure():
    assert pooled([Estimate(None, 0)]) is None


def test_the_spread_of_runs_of_one_size_is_their_standard_deviation():
    # statistics.stdev([1.0, 1.2, 1.4]) = 0.2
    found = pooled([share(1.0, 40), share(1.2, 40), share(1.4, 40)])
    assert found is not None
    assert found.spread == pytest.approx(0.2)


def test_the_error_of_the_pooled_figure_comes_from_the_intervals():
    # Half-widths 0.196 and 0.196 are standard errors of 0.1; of two runs of one size, 0.1 / sqrt(2) = 0.0707.
    found = pooled([share(0.5, 50, 0.1959964), share(0.5, 50, 0.1959964)])
    assert found is not None
    assert found.error == pytest.approx(0.0707107, abs=1e-6)


def test_one_more_run_is_held_against_how_far_earlier_ones_lie_apart():
    # No intervals, so only the spread tells: t = 1.0 / (0.2 sqrt(1 + 1/3)) = 4.3301 with 2 degrees of freedom;
    # scipy: 2 * stats.t.sf(4.330127, 2) = 0.049414.
    before = pooled([share(1.0, 40), share(1.2, 40), share(1.4, 40)])
    assert chance_of(share(2.2, 40), before) == pytest.approx(0.049414, abs=1e-5)


def test_the_noise_of_samples_is_allowed_for_too():
    # Earlier runs agree to the digit, so that their spread allows for nothing; the samples' own noise does:
    # z = 0.3 / sqrt(0.1**2 + 0.1**2 / 2) = 2.4495; scipy: 2 * stats.norm.sf(2.449490) = 0.014306.
    before = pooled([share(0.5, 50, 0.1959964), share(0.5, 50, 0.1959964)])
    assert chance_of(share(0.8, 50, 0.1959964), before) == pytest.approx(0.014306, abs=1e-5)


def test_one_run_without_an_interval_tells_nothing():
    assert chance_of(share(2.0, 40), pooled([share(1.0, 40)])) is None


def test_the_window_is_the_newest_sound_runs_of_the_same_signature_before():
    now = made_run(9)
    store = Runs(
        now,
        made_run(10),
        made_run(8),
        made_run(7, verdict=Verdict.INVALID),
        made_run(6, suspect=("all answers are alike",)),
        made_run(5, state=RunState.INTERRUPTED),
        made_run(4, signature={"truth": "other"}),
        made_run(3, options=RunFacts(limit=5), n_planned=5),
        made_run(2, signature={"model": "another model", "target": "x2"}),
        made_run(1),
        made_run(0),
    )
    found = earlier_runs(store, now, before=now.created_at, most=3)
    assert [each.id for each in found] == ["chairs-008", "chairs-002", "chairs-001"]


def test_the_window_can_end_before_a_moment():
    store = Runs(*(made_run(number) for number in range(5)))
    found = earlier_runs(store, made_run(4), before=JAN_1 + 2 * DAY, most=10)
    assert [each.id for each in found] == ["chairs-001", "chairs-000"]


def test_a_window_that_ended_long_ago_is_found():
    # An alert that has been open for so many runs still knows what was usual.
    runs = [made_run(number) for number in range(400)]
    found = earlier_runs(Runs(*runs), runs[-1], before=JAN_1 + 2 * DAY, most=5)
    assert [each.id for each in found] == ["chairs-001", "chairs-000"]


def test_a_run_and_its_own_answers_scored_again_are_not_compared_with_each_other():
    first = made_run(1)
    again = made_run(2, rescored_from=first.id)
    assert earlier_runs(Runs(first, again), again, before=again.created_at, most=10) == []


def test_a_limit_that_leaves_nothing_out_is_no_part():
    assert not is_partial(made_run(1, options=RunFacts(limit=50), n_planned=50))
    assert is_partial(made_run(1, options=RunFacts(limit=49), n_planned=49))


def test_what_is_too_little_is_reported():
    runs = [made_run(1)]
    assert too_little(runs, 50, min_runs=1, min_n=50) == ""
    assert too_little(runs, 49, min_runs=1, min_n=50) == "earlier runs have n 49 together, and the window asks for 50"
    assert too_little(runs, 50, min_runs=2, min_n=1).startswith("1 earlier run of the same signature, and")
