"""Which runs count as readings of a whole suite, and whose answers they hold."""

from __future__ import annotations

from parts.histories import made_run
from parts.looped import for_every
from steelyard.records import RunFacts, RunState, Verdict
from steelyard.store.headers import is_partial, is_reading, origin


@for_every(
    ("options", "n_planned", "suite", "partial"),
    [
        (RunFacts(), 5, {}, False),
        (RunFacts(limit=49), 49, {}, True),
        (RunFacts(limit=50), 50, {}, False),
        (RunFacts(only=("category=art",)), 5, {}, True),
        # 25 of 50 cases, twice each or under two variants, are as many samples as there are cases.
        (RunFacts(limit=25), 50, {"repeats": 2}, True),
        (RunFacts(limit=25), 50, {"variants": ["a", "b"]}, True),
        (RunFacts(limit=99), 200, {"repeats": 2, "variants": ["a", "b"]}, False),
        (RunFacts(), 50, {"repeats": 1, "usual_repeats": 3}, True),
        (RunFacts(), 150, {"repeats": 3, "usual_repeats": 3}, False),
        (RunFacts(), 200, {"repeats": 4, "usual_repeats": 3}, False),
        (RunFacts(other_cases="easy.json"), 50, {}, True),
        # A run that does not say how many cases there are.
        (RunFacts(limit=50), 50, {"n_cases": None}, True),
    ],
)
def test_a_part_of_the_suite(options, n_planned, suite, partial):
    assert is_partial(made_run(0, options=options, n_planned=n_planned, suite=suite)) is partial


def test_a_reading_has_ended_and_can_be_believed():
    assert is_reading(made_run(0, verdict=Verdict.AMBIGUOUS))
    for wrong in ({"verdict": Verdict.INVALID}, {"state": RunState.INTERRUPTED}, {"suspect": ("alike",)}):
        assert not is_reading(made_run(0, **wrong))


def test_answers_are_followed_to_whoever_asked_for_them():
    first, second = made_run(1, rescored_from="gone"), made_run(2, options=RunFacts(answers_of="chairs-001"))
    by_id = {run.id: run for run in (first, second)}
    assert origin(made_run(3), by_id) == "chairs-003"
    assert origin(second, by_id) == "gone"
    in_a_circle = made_run(4, rescored_from="chairs-004")
    assert origin(in_a_circle, {"chairs-004": in_a_circle}) == "chairs-004"
