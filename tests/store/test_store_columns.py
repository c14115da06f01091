from __future__ import annotations

import numpy as np
import pytest

from parts.stored import case, failed, header, sample
from steelyard.records import CallResult, Finding, Outcome, Score
from steelyard.store import columns as columns_module
from steelyard.store.sql import SqlStore

NAN = float("nan")


@pytest.fixture(autouse=True, params=[2, 20_000])
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns must not depend on the size of the pieces they are read in."""
    monkeypatch.setattr(columns_module, "PIECE", request.param)


def same(column: np.ndarray, expected: list[float]) -> bool:
    return np.array_equal(column, np.array(expected, dtype=float), equal_nan=True)


def test_every_column_holds_its_samples_in_plan_order(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(0), case(1, category=None, difficulty="hard", tags=()), case(2), case(3, tags=("small",))]
    samples = [
        sample(cases[0], 0, variant="a"),
        failed(cases[1], 1, variant="b", category=None),
        sample(
            cases[2],
            2,
            variant="a",
            repeat=1,
            outcome=Outcome.MALFORMED,
            score=0.0,
            passed=False,
            band="Poor",
            scores=(),
            findings=(Finding("FORMAT"), Finding("YEAR"), Finding("FORMAT")),
            step=None,
            call_result=CallResult(text="?", latency=0.5),
        ),
        sample(
            cases[3],
            7,
            variant="a",
            band="Unlisted",
            scores=(Score("year", None, 30.0), Score("extra", 0.25)),
            findings=(),
        ),
    ]
    store.add_samples("demo-1", list(reversed(samples)), cases)
    columns = store.columns("demo-1")

    assert columns.n == 4
    assert list(columns.case_ids) == [of.id for of in cases]
    assert columns.case.tolist() == [0, 1, 2, 3]
    assert columns.variants == ["a", "b"]
    assert columns.variant.tolist() == [0, 1, 0, 0]
    assert columns.repeat.tolist() == [0, 0, 1, 0]
    assert columns.outcomes == [outcome.value for outcome in Outcome]
    assert columns.outcome.tolist() == [0, 2, 1, 0]
    assert same(columns.score, [0.8, NAN, 0.0, 0.8])
    assert columns.passed.tolist() == [1, -1, 0, 1]
    assert columns.bands == ["Good", "Poor", "Unlisted"]
    assert columns.band.tolist() == [0, -1, 1, 2]
    assert columns.categories == ["even", "odd"]
    assert columns.category.tolist() == [0, -1, 0, 1]
    assert columns.difficulties == ["easy", "hard"]
    assert columns.difficulty.tolist() == [0, 1, 0, 0]
    assert columns.tags == ["old", "small"]
    assert list(zip(columns.tag_sample.tolist(), columns.tag.tolist(), strict=True)) == [
        *[(0, 0), (0, 1)],
        *[(2, 0), (2, 1)],
        (3, 1),
    ]
    assert list(columns.components) == ["title", "year", "extra"]
    assert same(columns.components["title"], [1.0, NAN, NAN, NAN])
    assert same(columns.components["year"], [0.5, NAN, NAN, NAN])
    assert same(columns.components["extra"], [NAN, NAN, NAN, 0.25])
    assert columns.finding_codes == ["YEAR", "FORMAT"]
    assert list(zip(columns.finding_sample.tolist(), columns.finding_code.tolist(), strict=True)) == [
        (0, 0),
        (2, 1),
        (2, 0),
        (2, 1),
    ]
    assert same(columns.latency, [0.25, NAN, 0.5, 0.25])
    assert same(columns.tokens_in, [12, NAN, NAN, 12])
    assert same(columns.tokens_out, [7, NAN, NAN, 7])
    assert same(columns.cost, [0.0015, NAN, NAN, 0.0015])
    assert columns.failures == ["timeout"]
    assert columns.failure.tolist() == [-1, 0, -1, -1]
    assert columns.steps == ["whole"]
    assert columns.step.tolist() == [0, -1, -1, 0]


def test_cases_in_any_order_have_codes_in_the_order_of_their_ids(store: SqlStore) -> None:
    store.create_run(header())
    planned = [3, 1, 3, 0, 1, 3, 2]
    cases = [case(number) for number in range(4)]
    samples = [sample(cases[number], seq, repeat=seq) for seq, number in enumerate(planned)]
    store.add_samples("demo-1", samples, cases)
    columns = store.columns("demo-1")
    assert columns.case.tolist() == planned
    assert list(columns.case_ids) == [of.id for of in cases]


def test_more_cases_than_are_packed_together_keep_their_ids(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number, id=f"case-{number:04d}-\x00-é") for number in range(1_203)]
    store.add_samples("demo-1", [sample(of, seq) for seq, of in enumerate(cases)], cases)
    ids = store.columns("demo-1").case_ids
    assert list(ids) == [of.id for of in cases]
    assert (ids[-1], ids[499:501]) == (cases[-1].id, [cases[499].id, cases[500].id])


def test_numbers_come_back_exactly_however_narrow_their_column_began(store: SqlStore) -> None:
    store.create_run(header())
    tokens = [None, 1, 2_049, 16_777_217, 2**40 + 1]
    cases = [case(number) for number in range(len(tokens))]
    store.add_samples(
        "demo-1",
        [
            sample(of, seq, repeat=50_000 * seq, score=seq / 10, call_result=CallResult(text="", tokens_in=tokens[seq]))
            for seq, of in enumerate(cases)
        ],
        cases,
    )
    columns = store.columns("demo-1")
    assert same(columns.tokens_in, [NAN, *tokens[1:]])
    assert columns.score.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert columns.repeat.tolist() == [0, 50_000, 100_000, 150_000, 200_000]


def test_a_run_without_samples_has_empty_columns(store: SqlStore) -> None:
    store.create_run(header())
    columns = store.columns("demo-1")
    assert columns.n == 0
    assert len(columns.score) == len(columns.latency) == len(columns.finding_code) == len(columns.tag) == 0
    assert list(columns.components) == ["title", "year"]
    assert columns.categories == []


def test_a_rescored_part_of_a_run_takes_only_its_own_attempts(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(5)]
    store.add_samples(
        "demo-1",
        [sample(of, n, call_result=CallResult(text="x", latency=float(n))) for n, of in enumerate(cases)],
        cases,
    )
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [sample(cases[3]), sample(cases[1])], cases)
    columns = store.columns("demo-2")
    assert list(columns.case_ids) == ["case-0001", "case-0003"]
    assert columns.latency.tolist() == [1.0, 3.0]


def test_waits_and_what_came_from_the_cache_are_columns(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(5)]
    late = failed(cases[2], 2).call_result
    late.first_byte, late.queued = 0.5, 0.125
    attempts = [
        CallResult(text="", latency=0.3, first_byte=0.1),
        CallResult(text="", latency=0.3, queued=0.0, cached=True),
        late,
        CallResult(text="", latency=0.3, first_byte=NAN, queued=float("inf")),
        CallResult(text="", latency=0.3, first_byte=0.0, queued=2.5),
    ]
    samples = [sample(of, n, call_result=attempts[n]) for n, of in enumerate(cases)]
    samples[2] = failed(cases[2], 2, call_result=late)
    store.add_samples("demo-1", samples, cases)
    columns = store.columns("demo-1")
    # A call that failed has no answer that could begin; it was sent late all the same.
    assert same(columns.first_byte, [0.1, NAN, NAN, NAN, 0.0])
    assert same(columns.queued, [NAN, 0.0, 0.125, NAN, 2.5])
    assert columns.cached.tolist() == [False, True, False, False, False]
    assert columns.cached.dtype == bool
    told = [(one.call_result.first_byte, one.call_result.queued) for one, _ in store.samples("demo-1")]
    assert told == [(0.1, None), (None, 0.0), (0.5, 0.125), (None, None), (0.0, 2.5)]


def test_a_run_without_waits_has_columns_without_numbers(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [sample(case(0), 0), failed(case(1), 1)], [case(0), case(1)])
    columns = store.columns("demo-1")
    assert same(columns.first_byte, [NAN, NAN])
    assert same(columns.queued, [NAN, NAN])
    assert columns.cached.tolist() == [False, False]


def test_a_rescored_part_of_a_run_takes_only_its_own_waits(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(5)]
    waited = [CallResult(text="x", latency=9.0, first_byte=n / 2, queued=n / 4, cached=n == 3) for n in range(5)]
    store.add_samples("demo-1", [sample(of, n, call_result=waited[n]) for n, of in enumerate(cases)], cases)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [sample(cases[n]) for n in (3, 1)], cases)
    columns = store.columns("demo-2")
    assert (columns.first_byte.tolist(), columns.queued.tolist()) == ([0.5, 1.5], [0.25, 0.75])
    assert columns.cached.tolist() == [False, True]


@pytest.mark.parametrize("message", [{"first_byte": 0.5}, {"queued": 0.5}, {"cached": True}])
def test_any_one_of_the_waits_is_reason_enough_to_read_them(store: SqlStore, message: dict[str, float]) -> None:
    store.create_run(header())
    store.add_samples(
        "demo-1",
        [sample(case(0), 0), sample(case(1), 1, call_result=CallResult(text="", **message))],
        [case(0), case(1)],
    )
    columns = store.columns("demo-1")
    ((name, value),) = message.items()
    assert getattr(columns, name).tolist()[1] == value
