"""Claims with a confidence, checks of expectations, and the items that repeats are compared by, on both databases."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.any_checks import any_checks, any_items
from parts.lengths import examples
from parts.stored import case, failed, header, sample
from steelyard.records import CallResult, Check, CheckState, Claim, Item, Sample
from steelyard.store import packed_columns
from steelyard.store.base import Checks, ClaimColumns, Store
from steelyard.store.sql import SqlStore

CASES = [case(number, tags=()) for number in range(4)]


ODD = "é\x00\ud800 🪑"


CHECKS = (
    Check("count", CheckState.PASSED, "3 of 2 to 4", 3.0, 2.0, 4.0),
    Check(f"colour:{ODD}", CheckState.FAILED, f"not among {ODD}"),
    Check("size", CheckState.NOT_RUN, "", None, None, 0.1 + 0.2),
)


NOT_RUN = tuple(Check(one.name, CheckState.NOT_RUN, "no answer in 3 s") for one in CHECKS)


ITEMS = (Item("A-1", ([3, 9], "major")), Item("A-1", (None, ODD)), Item(ODD), Item("", ({"deep": [1, 1.5]},)))


CLAIMS = (
    Claim(0.95, True, "shot\x00\ud800 🪑"),
    Claim(None, False),
    Claim(0.1 + 0.2, False, "shot\x00\ud800 🪑"),
    Claim(1.5, True, "é"),
)


_numbers = count()


def with_all(number: int, position: int | None = None, **changes: Any) -> Sample:
    plain = {"checks": CHECKS, "items": ITEMS, "claims": CLAIMS}
    return sample(CASES[number], number if position is None else position, **(plain | changes))


def columns_of(result: ClaimColumns) -> list[tuple[Any, ...]]:
    return [
        (int(place), None if not stated else float(said), bool(right), result.labels[label])
        for place, said, right, stated, label in zip(
            result.sample, result.confidence, result.right, result.stated, result.label, strict=True
        )
    ]


def listed(result: Checks) -> list[tuple[int, Check]]:
    """The columns as the checks that they came from, each with the position of its sample."""
    numbers = zip(result.value.tolist(), result.low.tolist(), result.high.tolist(), strict=True)
    figures = [[None if math.isnan(number) else number for number in three] for three in numbers]
    told = zip(result.sample.tolist(), result.name, result.state, result.detail, figures, strict=True)
    return [
        (place, Check(result.names[name], CheckState(result.states[state]), result.details[detail], *three))
        for place, name, state, detail, three in told
    ]


def test_claims_checks_and_items_come_back_as_they_were(store: Store) -> None:
    store.create_run(header())
    store.create_run(header("demo-2"))
    first = {"checks": CHECKS[:1], "items": (), "claims": CLAIMS[:1]}
    store.add_samples("demo-1", [with_all(0), sample(CASES[1], 1), with_all(2, **first)], CASES)
    store.add_samples("demo-2", [with_all(0, **first)], CASES)
    back = [one for one, _ in store.samples("demo-1")]
    assert [one.claims for one in back] == [CLAIMS, (), CLAIMS[:1]]
    assert [one.checks for one in back] == [CHECKS, (), CHECKS[:1]]
    assert [one.items for one in back] == [ITEMS, None, ()]
    ((alone, _),) = store.samples("demo-1", case_ids=["case-0002"])
    assert (alone.claims, alone.checks, alone.items) == (CLAIMS[:1], CHECKS[:1], ())
    # Each run has its own.
    assert (store.claims("demo-1").n, store.claims("demo-2").n) == (5, 1)
    assert (store.checks("demo-1").n, store.checks("demo-2").n) == (4, 1)
    assert (list(store.items("demo-1")), list(store.items("demo-2"))) == ([(0, ITEMS), (2, ())], [(0, ())])


def test_confidences_that_are_no_numbers_come_back_too(store: Store) -> None:
    store.create_run(header())
    odd = tuple(Claim(said, True) for said in (math.nan, math.inf, -math.inf))
    store.add_samples("demo-1", [with_all(0, claims=odd)], CASES)
    ((back, _),) = store.samples("demo-1")
    assert repr(back.claims) == repr(odd)
    found = store.claims("demo-1")
    assert (found.confidence.tolist()[1:], found.stated.tolist()) == ([math.inf, -math.inf], [True] * 3)
    assert math.isnan(found.confidence[0])


def test_figures_of_any_kind_of_number_come_back_as_floats(store: Store) -> None:
    store.create_run(header())
    odd = Check("n", CheckState.PASSED, "", np.int64(3), 10**400, -math.inf)  # type: ignore[arg-type] - a model may say so
    store.add_samples("demo-1", [with_all(0, checks=(odd, Check("m", CheckState.FAILED, "", math.nan)))], CASES)
    ((back, _),) = store.samples("demo-1")
    assert (back.checks[0].value, back.checks[0].low, back.checks[0].high) == (3.0, math.inf, -math.inf)
    assert math.isnan(back.checks[1].value or 0.0)
    found = store.checks("demo-1")
    assert (found.value.tolist()[0], found.low.tolist()[0], found.high.tolist()[0]) == (3.0, math.inf, -math.inf)
    assert np.isnan([found.value[1], found.low[1], found.high[1]]).all()


def test_a_failed_call_keeps_the_checks_that_did_not_run(store: Store) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [failed(CASES[0], 0, checks=NOT_RUN), with_all(1)], CASES)
    assert [one.checks for one, _ in store.samples("demo-1")] == [NOT_RUN, CHECKS]
    found = store.checks("demo-1")
    assert listed(found) == [(0, one) for one in NOT_RUN] + [(1, one) for one in CHECKS]
    assert list(store.items("demo-1")) == [(1, ITEMS)]


def test_claims_checks_and_items_are_read_in_the_order_of_the_plan(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create_run(header())
    # Places 0, 3, 5 and 7 of the plan, written in another order: positions 0 to 3 of the columns.
    last = with_all(2, 7, checks=CHECKS[1:], claims=CLAIMS[1:])
    store.add_samples("demo-1", [last, with_all(0, 0, checks=CHECKS[:2], claims=CLAIMS[:2], items=())], CASES)
    third = with_all(3, 5, checks=CHECKS[::-1], claims=(), items=ITEMS[:1])
    store.add_samples("demo-1", [sample(CASES[1], 3), third], CASES)
    for page in (1, 2, 500):
        monkeypatch.setattr(packed_columns, "PAGE", page)
        checks = store.checks("demo-1")
        expected = [(0, CHECKS[:2]), (2, CHECKS[::-1]), (3, CHECKS[1:])]
        assert listed(checks) == [(place, one) for place, some in expected for one in some]
        assert checks.n == 7
        assert checks.names == ["count", f"colour:{ODD}", "size"]
        assert checks.states == ["passed", "failed", "not_run"]
        assert checks.details == ["3 of 2 to 4", f"not among {ODD}", ""]
        assert list(store.items("demo-1")) == [(0, ()), (2, ITEMS[:1]), (3, ITEMS)]
        claims = store.claims("demo-1")
        assert columns_of(claims) == [(0, one.confidence, one.right, one.label) for one in CLAIMS[:2]] + [
            (3, one.confidence, one.right, one.label) for one in CLAIMS[1:]
        ]
        assert (claims.n, claims.labels) == (5, ["shot\x00\ud800 🪑", "", "é"])
        assert np.isnan(claims.confidence[~claims.stated]).all()


def test_a_run_without_claims_and_expectations_has_no_rows_of_them(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [sample(CASES[0], 0), failed(CASES[1], 1)], CASES)
    claims = store.claims("demo-1")
    assert (claims.n, claims.labels, len(claims.sample), len(claims.stated)) == (0, [], 0, 0)
    checks = store.checks("demo-1")
    assert (checks.n, checks.names, checks.details) == (0, [], [])
    assert checks.states == ["passed", "failed", "not_run"]
    arrays = (checks.sample, checks.state, checks.detail, checks.value, checks.low, checks.high)
    assert [len(one) for one in arrays] == [0] * 6
    assert list(store.items("demo-1")) == []
    with store.database.reading() as session:
        for table in ("claims", "checks", "items"):
            assert session.execute(f"SELECT count(*) FROM {table}") == [(0,)], table


def test_a_rescored_run_has_claims_and_checks_of_its_own_and_the_waits_of_the_call(store: Store) -> None:
    waited = CallResult(text="x", latency=2.0, first_byte=0.5, queued=0.25)
    store.create_run(header())
    store.add_samples("demo-1", [sample(CASES[0], 0), with_all(1, call_result=waited)], CASES)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    again = with_all(1, checks=NOT_RUN, items=ITEMS[:1], claims=CLAIMS[:1])
    store.add_rescored("demo-2", "demo-1", [again], CASES)
    ((back, _),) = store.samples("demo-2")
    assert (back.checks, back.items) == (NOT_RUN, ITEMS[:1])
    assert (back.call_result.first_byte, back.call_result.queued) == (0.5, 0.25)
    assert listed(store.checks("demo-2")) == [(0, one) for one in NOT_RUN]
    assert list(store.items("demo-2")) == [(0, ITEMS[:1])]
    assert store.claims("demo-2").confidence.tolist() == [0.95]
    columns = store.columns("demo-2")
    assert (columns.first_byte.tolist(), columns.queued.tolist()) == ([0.5], [0.25])


@given(given_=st.lists(st.tuples(any_checks, any_items), min_size=1, max_size=4))
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_checks_and_items_come_back_equal(store: Store, given_: list[tuple[Any, Any]]) -> None:
    run = f"any-{next(_numbers)}"
    store.create_run(header(run))
    samples = [with_all(n, checks=checks, items=items) for n, (checks, items) in enumerate(given_)]
    store.add_samples(run, samples, CASES)
    assert [(one.checks, one.items) for one, _ in store.samples(run)] == given_
    assert listed(store.checks(run)) == [(n, one) for n, (checks, _) in enumerate(given_) for one in checks]
    assert list(store.items(run)) == [(n, items) for n, (_, items) in enumerate(given_) if items is not None]
