"""What answers claimed with a confidence, and places in texts, are kept and come back as they were."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from parts.stored import case, failed, header, sample
from steelyard.errors import StoreError
from steelyard.records import Claim, Finding, RunState
from steelyard.store import columns as columns_module
from steelyard.store.base import ClaimColumns
from steelyard.store.sql import SqlStore

CASES = [case(number, tags=()) for number in range(4)]
CLAIMS = (
    Claim(0.95, True, "shot\x00\ud800 🪑"),
    Claim(None, False),
    Claim(0.1 + 0.2, False, "shot\x00\ud800 🪑"),
    Claim(1.5, True, "é"),
)


def with_claims(number: int, claims: tuple[Claim, ...], position: int | None = None, **changes: Any) -> Any:
    return sample(CASES[number], number if position is None else position, claims=claims, **changes)


def columns_of(result: ClaimColumns) -> list[tuple[Any, ...]]:
    return [
        (int(place), None if not stated else float(said), bool(right), result.labels[label])
        for place, said, right, stated, label in zip(
            result.sample, result.confidence, result.right, result.stated, result.label, strict=True
        )
    ]


def test_claims_come_back_as_they_were(store: SqlStore) -> None:
    store.create_run(header())
    samples = [with_claims(0, CLAIMS), with_claims(1, ()), with_claims(2, CLAIMS[:1])]
    store.add_samples("demo-1", samples, CASES)
    assert [one.claims for one, _ in store.samples("demo-1")] == [CLAIMS, (), CLAIMS[:1]]
    assert [one.claims for one, _ in store.samples("demo-1", case_ids=["case-0002"])] == [CLAIMS[:1]]


def test_confidences_that_are_no_numbers_come_back_too(store: SqlStore) -> None:
    store.create_run(header())
    odd = tuple(Claim(said, True) for said in (math.nan, math.inf, -math.inf))
    store.add_samples("demo-1", [with_claims(0, odd)], CASES)
    ((back, _),) = store.samples("demo-1")
    assert repr(back.claims) == repr(odd)
    found = store.claims("demo-1")
    assert (found.confidence.tolist()[1:], found.stated.tolist()) == ([math.inf, -math.inf], [True] * 3)
    assert math.isnan(found.confidence[0])


@pytest.mark.parametrize("piece", [1, 2, 500])
def test_claims_are_read_as_columns_in_the_order_of_the_plan(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(columns_module, "PAGE", piece)
    store.create_run(header())
    # Places 0, 3 and 7 of the plan, written in another order: positions 0, 1 and 2 of the columns.
    store.add_samples("demo-1", [with_claims(2, CLAIMS[1:], 7), with_claims(0, CLAIMS[:2], 0)], CASES)
    store.add_samples("demo-1", [sample(CASES[1], 3)], CASES)
    found = store.claims("demo-1")
    first, second = CLAIMS[:2], CLAIMS[1:]
    assert columns_of(found) == [(0, one.confidence, one.right, one.label) for one in first] + [
        (2, one.confidence, one.right, one.label) for one in second
    ]
    assert (found.n, found.labels) == (5, ["shot\x00\ud800 🪑", "", "é"])
    assert np.isnan(found.confidence[~found.stated]).all()


def test_a_run_without_claims_has_no_rows_of_them(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [sample(CASES[0], 0), failed(CASES[1], 1)], CASES)
    found = store.claims("demo-1")
    assert (found.n, found.labels, len(found.sample), len(found.stated)) == (0, [], 0, 0)


def test_each_run_has_its_own_claims(store: SqlStore) -> None:
    for run in ("demo-1", "demo-2"):
        store.create_run(header(run))
    store.add_samples("demo-1", [with_claims(0, CLAIMS)], CASES)
    store.add_samples("demo-2", [with_claims(0, CLAIMS[:1])], CASES)
    assert (store.claims("demo-1").n, store.claims("demo-2").n) == (4, 1)


def test_a_rescored_run_has_the_claims_of_its_own_weighing(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [with_claims(0, CLAIMS)], CASES)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [with_claims(0, CLAIMS[:1])], CASES)
    assert store.claims("demo-2").confidence.tolist() == [0.95]


def test_the_claims_of_an_ended_run_stay(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [with_claims(0, CLAIMS), sample(CASES[1], 1)], CASES)
    store.update_run(header(state=RunState.ENDED))
    for statement in (
        "UPDATE claims SET content = '[]'",
        "DELETE FROM claims",
        "INSERT INTO claims (run, seq, content) VALUES (1, 1, '[]')",
    ):
        with pytest.raises(StoreError, match="has ended and cannot be changed"), store.database.writing() as session:
            session.execute(statement)


PLACED = (
    Finding("MISS", span=(3, 9), section="main"),
    Finding("EXTRA", span=(0, 0), section="é\x00 specs"),
    Finding("FORMAT"),
)


def test_findings_keep_their_span_and_section(store: SqlStore) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [sample(CASES[0], 0, findings=PLACED)], CASES)
    ((back, _),) = store.samples("demo-1")
    assert back.findings == PLACED
    assert store.findings("demo-1", "MISS", limit=5)[0].finding == PLACED[0]


def test_sections_are_a_column_of_findings(store: SqlStore) -> None:
    store.create_run(header())
    samples = [sample(CASES[n], n, findings=PLACED[: n + 1]) for n in range(3)]
    store.add_samples("demo-1", samples, CASES)
    columns = store.columns("demo-1")
    assert columns.finding_sections == ["main", "é\x00 specs", ""]
    assert columns.finding_section.tolist() == [0, 0, 1, 0, 1, 2]
    assert columns.finding_sample.tolist() == [0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("span", [(-1, 4), (1.5, 4), ("a", 4), (1, 2**60)])
def test_a_span_that_is_no_two_whole_numbers_is_no_place(store: SqlStore, span: Any) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [sample(CASES[0], 0, findings=(Finding("MISS", span=span),))], CASES)
    ((back, _),) = store.samples("demo-1")
    assert back.findings == (Finding("MISS"),)
