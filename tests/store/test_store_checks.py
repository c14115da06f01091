"""What became of expectations, and what repeats are compared by, is kept and comes back as it was."""

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
from steelyard.errors import RunNotFound, StoreError
from steelyard.records import CallResult, Check, CheckState, Item, RunState, Sample
from steelyard.store import columns as columns_module
from steelyard.store.base import Checks
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
_numbers = count()


def with_all(number: int, position: int | None = None, **changes: Any) -> Sample:
    plain = {"checks": CHECKS, "items": ITEMS}
    return sample(CASES[number], number if position is None else position, **(plain | changes))


def listed(result: Checks) -> list[tuple[int, Check]]:
    """The columns as the checks that they came from, each with the position of its sample."""
    numbers = zip(result.value.tolist(), result.low.tolist(), result.high.tolist(), strict=True)
    figures = [[None if math.isnan(number) else number for number in three] for three in numbers]
    told = zip(result.sample.tolist(), result.name, result.state, result.detail, figures, strict=True)
    return [
        (place, Check(result.names[name], CheckState(result.states[state]), result.details[detail], *three))
        for place, name, state, detail, three in told
    ]


def test_checks_and_items_come_back_as_they_were(store: SqlStore) -> None:
    store.create_run(header())
    samples = [with_all(0), sample(CASES[1], 1), with_all(2, checks=CHECKS[:1], items=())]
    store.add_samples("demo-1", samples, CASES)
    back = [one for one, _ in store.samples("demo-1")]
    assert [one.checks for one in back] == [CHECKS, (), CHECKS[:1]]
    assert [one.items for one in back] == [ITEMS, None, ()]
    ((alone, _),) = store.samples("demo-1", case_ids=["case-0002"])
    assert (alone.checks, alone.items) == (CHECKS[:1], ())


def test_a_failed_call_keeps_the_checks_that_did_not_run(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [failed(CASES[0], 0, checks=NOT_RUN), with_all(1)], CASES)
    assert [one.checks for one, _ in store.samples("demo-1")] == [NOT_RUN, CHECKS]
    found = store.checks("demo-1")
    assert listed(found) == [(0, one) for one in NOT_RUN] + [(1, one) for one in CHECKS]
    assert list(store.items("demo-1")) == [(1, ITEMS)]


@pytest.mark.parametrize("piece", [1, 2, 500])
def test_checks_are_read_as_columns_in_the_order_of_the_plan(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(columns_module, "PAGE", piece)
    store.create_run(header())
    # Places 0, 3, 5 and 7 of the plan, written in another order: positions 0 to 3 of the columns.
    store.add_samples("demo-1", [with_all(2, 7, checks=CHECKS[1:]), with_all(0, 0, checks=CHECKS[:2])], CASES)
    store.add_samples("demo-1", [sample(CASES[1], 3), with_all(3, 5, checks=CHECKS[::-1])], CASES)
    found = store.checks("demo-1")
    given = [(0, CHECKS[:2]), (2, CHECKS[::-1]), (3, CHECKS[1:])]
    assert listed(found) == [(place, one) for place, checks in given for one in checks]
    assert found.n == 7
    assert found.names == ["count", f"colour:{ODD}", "size"]
    assert found.states == ["passed", "failed", "not_run"]
    assert found.details == ["3 of 2 to 4", f"not among {ODD}", ""]


@pytest.mark.parametrize("page", [1, 2, 500])
def test_items_are_streamed_in_the_order_of_the_plan(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(columns_module, "PAGE", page)
    store.create_run(header())
    store.add_samples("demo-1", [with_all(2, 7), with_all(0, 0, items=())], CASES)
    store.add_samples("demo-1", [sample(CASES[1], 3), with_all(3, 5, items=ITEMS[:1])], CASES)
    assert list(store.items("demo-1")) == [(0, ()), (2, ITEMS[:1]), (3, ITEMS)]


def test_a_sample_added_while_items_are_read_moves_no_position(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_module, "PAGE", 1)
    store.create_run(header())
    store.add_samples("demo-1", [with_all(0, 0), with_all(2, 7, items=ITEMS[:1])], CASES)
    reading = store.items("demo-1")
    assert next(reading) == (0, ITEMS)
    store.add_samples("demo-1", [with_all(1, 3), with_all(3, 9)], CASES)
    assert list(reading) == [(1, ITEMS[:1])]


def test_a_run_without_expectations_has_no_rows_of_them(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [sample(CASES[0], 0), failed(CASES[1], 1)], CASES)
    found = store.checks("demo-1")
    assert (found.n, found.names, found.details) == (0, [], [])
    assert found.states == ["passed", "failed", "not_run"]
    assert [len(one) for one in (found.sample, found.state, found.detail, found.value, found.low, found.high)] == [
        0
    ] * 6
    assert list(store.items("demo-1")) == []
    with store.database.reading() as session:
        assert session.execute("SELECT count(*) FROM checks") == session.execute("SELECT count(*) FROM items") == [(0,)]


def test_each_run_has_its_own_checks_and_items(store: SqlStore) -> None:
    for run, changes in (("demo-1", {}), ("demo-2", {"checks": CHECKS[:1], "items": ()})):
        store.create_run(header(run))
        store.add_samples(run, [with_all(0, **changes)], CASES)
    assert (store.checks("demo-1").n, store.checks("demo-2").n) == (3, 1)
    assert (list(store.items("demo-1")), list(store.items("demo-2"))) == ([(0, ITEMS)], [(0, ())])


def test_a_rescored_run_has_the_checks_of_its_own_weighing_and_the_waits_of_the_call(store: SqlStore) -> None:
    waited = CallResult(text="x", latency=2.0, first_byte=0.5, queued=0.25)
    store.create_run(header())
    store.add_samples("demo-1", [sample(CASES[0], 0), with_all(1, call_result=waited)], CASES)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [with_all(1, checks=NOT_RUN, items=ITEMS[:1])], CASES)
    ((back, _),) = store.samples("demo-2")
    assert (back.checks, back.items) == (NOT_RUN, ITEMS[:1])
    assert (back.call_result.first_byte, back.call_result.queued) == (0.5, 0.25)
    assert listed(store.checks("demo-2")) == [(0, one) for one in NOT_RUN]
    assert list(store.items("demo-2")) == [(0, ITEMS[:1])]
    columns = store.columns("demo-2")
    assert (columns.first_byte.tolist(), columns.queued.tolist()) == ([0.5], [0.25])


@pytest.mark.parametrize("table", ["checks", "items"])
def test_the_checks_and_items_of_an_ended_run_stay(store: SqlStore, table: str) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [with_all(0), sample(CASES[1], 1)], CASES)
    store.update_run(header(state=RunState.ENDED))
    for statement in (
        f"UPDATE {table} SET content = '[]'",
        f"DELETE FROM {table}",
        f"INSERT INTO {table} (run, seq, content) VALUES (1, 1, '[]')",
        "UPDATE calls SET first_byte = 1, queued = 1",
    ):
        with pytest.raises(StoreError, match="has ended and cannot be changed"), store.database.writing() as session:
            session.execute(statement)
    assert [(one.checks, one.items) for one, _ in store.samples("demo-1")] == [(CHECKS, ITEMS), ((), None)]


def test_a_batch_that_fails_leaves_no_checks_and_no_items(store: SqlStore) -> None:
    store.create_run(header())
    broken = with_all(1, call_result=CallResult(text="x", tries=None))  # type: ignore[arg-type] - a row the database refuses
    with pytest.raises(StoreError):
        store.add_samples("demo-1", [with_all(0), broken], CASES)
    assert (store.checks("demo-1").n, list(store.items("demo-1"))) == (0, [])


@pytest.mark.parametrize("method", ["checks", "items"])
def test_the_expectations_of_a_run_that_is_not_there_are_not_found(store: SqlStore, method: str) -> None:
    with pytest.raises(RunNotFound):
        getattr(store, method)("nothing")


def test_figures_of_any_kind_of_number_come_back_as_floats(store: SqlStore) -> None:
    store.create_run(header())
    odd = Check("n", CheckState.PASSED, "", np.int64(3), 10**400, -math.inf)  # type: ignore[arg-type] - a model may say so
    store.add_samples("demo-1", [with_all(0, checks=(odd, Check("m", CheckState.FAILED, "", math.nan)))], CASES)
    ((back, _),) = store.samples("demo-1")
    assert (back.checks[0].value, back.checks[0].low, back.checks[0].high) == (3.0, math.inf, -math.inf)
    assert math.isnan(back.checks[1].value or 0.0)
    found = store.checks("demo-1")
    assert (found.value.tolist()[0], found.low.tolist()[0], found.high.tolist()[0]) == (3.0, math.inf, -math.inf)
    assert np.isnan([found.value[1], found.low[1], found.high[1]]).all()


@given(given_=st.lists(st.tuples(any_checks, any_items), min_size=1, max_size=4))
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_checks_and_items_come_back_equal(store: SqlStore, given_: list[tuple[Any, Any]]) -> None:
    run = f"any-{next(_numbers)}"
    store.create_run(header(run))
    samples = [with_all(n, checks=checks, items=items) for n, (checks, items) in enumerate(given_)]
    store.add_samples(run, samples, CASES)
    assert [(one.checks, one.items) for one, _ in store.samples(run)] == given_
    assert listed(store.checks(run)) == [(n, one) for n, (checks, _) in enumerate(given_) for one in checks]
    assert list(store.items(run)) == [(n, items) for n, (_, items) in enumerate(given_) if items is not None]
