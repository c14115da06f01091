"""What readings come to beside the alerts that are open: once for each cause, and closed when it is gone."""

import pytest

from parts.alerts import reading
from steelyard.alerts.evaluate import changes_of
from steelyard.alerts.evidence import State, reading_from
from steelyard.store.alert_log import AlertRecord

RULE = "regression of pass_rate against release"


def record(of=None, number=1):
    of = of or reading()
    return AlertRecord(number, "demo", of.cause, "demo-1", 1.0, 2.0, "demo-1", 1.0, None, None, of.as_data())


def test_a_cause_is_raised_once():
    first = changes_of([reading()], [], {RULE})
    second = changes_of([reading()], [record()], {RULE})
    assert [each.cause for each in first.raised] == [f"{RULE}: pass_rate"]
    assert (second.raised, second.closed, len(second.still)) == ((), (), 1)


def test_the_same_cause_twice_in_a_run_is_one_alert():
    assert len(changes_of([reading(), reading(how_much="other words")], [], {RULE}).raised) == 1


def test_a_cause_that_is_gone_is_closed():
    found = changes_of([reading(state=State.GONE, size=0.0)], [record()], {RULE})
    (closing,) = found.closed
    assert closing.recovered
    assert found.raised == ()


def test_nothing_is_closed_that_nobody_can_tell_of():
    found = changes_of([reading(state=State.UNKNOWN)], [record()], {RULE})
    assert (found.closed, found.raised, len(found.unknown)) == ((), (), 1)


def test_a_cause_that_was_not_looked_at_stays_open():
    assert changes_of([], [record()], {RULE}).closed == ()


@pytest.mark.parametrize(("left", "closes"), [(0.061, False), (0.06, True), (0.0, True)])
def test_a_change_is_closed_when_less_than_half_of_it_is_left(left, closes):
    # It was raised at 12 points.
    found = changes_of([reading(state=State.GONE, size=left)], [record()], {RULE})
    assert bool(found.closed) is closes
    assert bool(found.still) is not closes


def test_a_rule_that_is_declared_no_more_is_closed_and_nobody_says_it_is_well():
    (closing,) = changes_of([], [record()], {"gate_failed"}).closed
    assert not closing.recovered
    assert closing.reading is None


def test_what_is_watched_no_more_is_no_recovery():
    (closing,) = changes_of([reading(state=State.NOT_WATCHED, size=None)], [record()], {RULE}).closed
    assert not closing.recovered


def test_what_is_well_and_was_never_open_is_no_news():
    found = changes_of([reading(state=State.GONE)], [], {RULE})
    assert (found.raised, found.still, found.closed, found.unknown) == ((), (), (), ())


def test_a_reading_comes_back_from_what_is_kept():
    told = reading(quotes=(("got", "x"),))
    assert reading_from(told.as_data()) == told
