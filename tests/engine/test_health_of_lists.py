"""Answers that list nothing are a sign of a broken scale; errors that a case asks for are none."""

import pytest

from steelyard.engine.health import Health
from steelyard.records import CallResult, Item, Outcome, Sample


def complaints(samples):
    health = Health()
    for sample in samples:
        health.watch(sample)
    return health.complaints(None, [])


def sample(number, text="{}", items=(), status=200):
    attempt = CallResult(text=f"{text} {number}", status=status)
    return Sample(f"case-{number}", "", 0, attempt, Outcome.SCORED, items=items)


def test_answers_that_all_list_nothing_are_suspect():
    assert complaints(map(sample, range(5))) == ("all 5 answers list nothing although the cases differ",)


@pytest.mark.parametrize(
    "samples",
    [
        [*map(sample, range(5)), sample(5, items=(Item("a"),))],
        [sample(number) for number in range(4)],
        [sample(1) for _ in range(9)],
        [sample(number, items=None) for number in range(9)],
    ],
    ids=["one lists something", "too few", "one case only", "nothing is compared"],
)
def test_one_item_or_too_few_answers_are_not(samples):
    assert complaints(samples) == ()


def test_an_error_that_is_scored_carries_no_error_marker_and_hides_no_sameness():
    refused = [sample(number, '{"error": {"code": "EMPTY"}}', items=None, status=422) for number in range(5)]
    assert complaints(refused) == ()
    same = [Sample(f"case-{n}", "", 0, CallResult(text="{}", status=200), Outcome.SCORED) for n in range(5)]
    assert complaints([*refused, *same]) == ("all 5 answers are identical although the cases differ",)
    marked = [sample(number, '{"error": {"code": "EMPTY"}}', items=None) for number in range(5)]
    assert complaints(marked) == ("5 of 5 answers carry an error marker such as '\"error\": {'",)
