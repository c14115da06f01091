"""A run's samples as columns, findings of a code, and which answers are equal, on both databases."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from parts.stored import case, failed, header, sample
from steelyard.records import CallResult, Finding, Outcome, Sample, Score
from steelyard.store import columns as columns_module
from steelyard.store.base import Columns, SampleFinding, Store
from steelyard.suite.case import Case

NAN = float("nan")
BOX = (0.1, 0.2, 0.30000000000000004, 1.0)


def read(store: Store, run_id: str) -> Columns:
    """The columns of a run, which do not depend on the size of the pieces they are read in."""
    results = []
    for size in (2, 20_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(columns_module, "PIECE", size)
            results.append(store.columns(run_id))
    small, large = ([plain(getattr(each, part.name)) for part in fields(Columns)] for each in results)
    assert small == large
    return results[0]


def plain(value: Any) -> Any:
    """An array as its type and the text of its numbers, NaN included."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), repr(value.tolist())
    if isinstance(value, dict):
        return [(name, plain(part)) for name, part in value.items()]
    return value if isinstance(value, int) else list(value)


def same(column: np.ndarray, expected: list[float]) -> bool:
    return np.array_equal(column, np.array(expected, dtype=float), equal_nan=True)


def counted(value: float | None = 0.5, **counts: Any) -> Score:
    return Score("items", value, 70.0, counts=counts)


def keep(store: Store, samples: list[Sample], cases: list[Case]) -> None:
    store.create_run(header())
    store.add_samples("demo-1", samples, cases)


def test_every_column_holds_its_samples_in_plan_order(store: Store) -> None:
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
    columns = read(store, "demo-1")

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
    assert same(columns.latency, [0.25, 3.0, 0.5, 0.25])  # the second timed out after 3 s
    assert same(columns.tokens_in, [12, NAN, NAN, 12])
    assert same(columns.tokens_out, [7, NAN, NAN, 7])
    assert same(columns.cost, [0.0015, NAN, NAN, 0.0015])
    assert columns.failures == ["timeout"]
    assert columns.failure.tolist() == [-1, 0, -1, -1]
    assert columns.steps == ["whole"]
    assert columns.step.tolist() == [0, -1, -1, 0]


def test_cases_in_any_order_have_codes_in_the_order_of_their_ids(store: Store) -> None:
    store.create_run(header())
    planned = [3, 1, 3, 0, 1, 3, 2]
    cases = [case(number) for number in range(4)]
    samples = [sample(cases[number], seq, repeat=seq) for seq, number in enumerate(planned)]
    store.add_samples("demo-1", samples, cases)
    columns = read(store, "demo-1")
    assert columns.case.tolist() == planned
    assert list(columns.case_ids) == [of.id for of in cases]


def test_more_cases_than_are_packed_together_keep_their_ids(store: Store) -> None:
    store.create_run(header())
    cases = [case(number, id=f"case-{number:04d}-\x00-é") for number in range(1_203)]
    store.add_samples("demo-1", [sample(of, seq) for seq, of in enumerate(cases)], cases)
    ids = read(store, "demo-1").case_ids
    assert list(ids) == [of.id for of in cases]
    assert (ids[-1], ids[499:501]) == (cases[-1].id, [cases[499].id, cases[500].id])


def test_numbers_come_back_exactly_however_narrow_their_column_began(store: Store) -> None:
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
    columns = read(store, "demo-1")
    assert same(columns.tokens_in, [NAN, *tokens[1:]])
    assert columns.score.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert columns.repeat.tolist() == [0, 50_000, 100_000, 150_000, 200_000]


def test_a_run_without_samples_findings_counts_and_waits_has_empty_columns_of_them(store: Store) -> None:
    store.create_run(header())
    columns = read(store, "demo-1")
    assert columns.n == 0
    assert len(columns.score) == len(columns.latency) == len(columns.finding_code) == len(columns.tag) == 0
    assert list(columns.components) == ["title", "year"]
    assert columns.categories == []
    store.add_samples("demo-1", [sample(case(0), 0, findings=()), failed(case(1), 1)], [case(0), case(1)])
    columns = read(store, "demo-1")
    assert columns.counts == {}
    assert len(columns.finding_component) == len(columns.finding_gain) == 0
    assert columns.finding_components == []
    assert same(columns.first_byte, [NAN, NAN])
    assert same(columns.queued, [NAN, NAN])
    assert columns.cached.tolist() == [False, False]


def test_waits_and_what_came_from_the_cache_are_columns(store: Store) -> None:
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
    columns = read(store, "demo-1")
    # A call that timed out may have begun to answer, and was sent late all the same.
    assert same(columns.first_byte, [0.1, NAN, 0.5, NAN, 0.0])
    assert same(columns.queued, [NAN, 0.0, 0.125, NAN, 2.5])
    assert columns.cached.tolist() == [False, True, False, False, False]
    assert columns.cached.dtype == bool
    told = [(one.call_result.first_byte, one.call_result.queued) for one, _ in store.samples("demo-1")]
    assert told == [(0.1, None), (None, 0.0), (0.5, 0.125), (None, None), (0.0, 2.5)]


def test_any_one_of_the_waits_is_reason_enough_to_read_them(store: Store) -> None:
    cases = [case(0), case(1)]
    for name, value in (("first_byte", 0.5), ("queued", 0.5), ("cached", True)):
        store.create_run(header(name))
        waited = sample(cases[1], 1, call_result=CallResult(text="", **{name: value}))
        store.add_samples(name, [sample(cases[0], 0), waited], cases)
        assert getattr(read(store, name), name).tolist()[1] == value


def test_a_rescored_part_of_a_run_takes_only_its_own_calls_and_waits(store: Store) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(5)]
    waited = [
        CallResult(text="x", latency=float(n), first_byte=n / 2, queued=n / 4, cached=n == 3) for n in range(len(cases))
    ]
    store.add_samples("demo-1", [sample(of, n, call_result=waited[n]) for n, of in enumerate(cases)], cases)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [sample(cases[n]) for n in (3, 1)], cases)
    columns = read(store, "demo-2")
    assert list(columns.case_ids) == ["case-0001", "case-0003"]
    assert columns.latency.tolist() == [1.0, 3.0]
    assert (columns.first_byte.tolist(), columns.queued.tolist()) == ([0.5, 1.5], [0.25, 0.75])
    assert columns.cached.tolist() == [False, True]


def test_counts_become_columns_with_nothing_where_nothing_was_counted(store: Store) -> None:
    cases = [case(number) for number in range(6)]
    samples = [
        sample(cases[0], 0, scores=(counted(visible=12, read=10), Score("title", 1.0, counts={"read": 5}))),
        failed(cases[1], 1),
        sample(cases[2], 2, scores=(Score("title", 0.25, counts={"read": 0}), counted(0.0, visible=3, read=0))),
        sample(cases[3], 3, scores=(counted(None),)),
        sample(cases[4], 4, scores=(counted(0.75, read=2_049),)),
        sample(cases[5], 5, outcome=Outcome.MALFORMED, scores=(counted(0.0, visible=70_001, read=0),)),
    ]
    keep(store, samples, cases)
    columns = read(store, "demo-1")
    assert list(columns.counts) == ["items", "title"]
    assert same(columns.counts["items"]["visible"], [12, NAN, 3, NAN, NAN, 70_001])
    assert same(columns.counts["items"]["read"], [10, NAN, 0, NAN, 2_049, 0])
    assert same(columns.counts["title"]["read"], [5, NAN, 0, NAN, NAN, NAN])
    assert same(columns.components["items"], [0.5, NAN, 0.0, NAN, 0.75, 0.0])
    assert same(columns.components["title"], [1.0, NAN, 0.25, NAN, NAN, NAN])
    # Whole numbers are exact up to 2**11 in 16 bits, up to 2**24 in 32.
    assert columns.counts["title"]["read"].dtype == np.float16
    assert columns.counts["items"]["read"].dtype == np.float32


def test_components_and_gains_of_findings_stand_beside_their_codes(store: Store) -> None:
    cases = [case(number) for number in range(3)]
    found = [
        (Finding("MISS", component="items", gain=0.25), Finding("YEAR", component="year", gain=0.1)),
        (Finding("FORMAT", gain=1.0),),
        (Finding("MISS", component="items", gain=0.5),),
    ]
    keep(store, [sample(of, seq, findings=found[seq]) for seq, of in enumerate(cases)], cases)
    columns = read(store, "demo-1")
    assert columns.finding_sample.tolist() == [0, 0, 1, 2]
    assert [columns.finding_codes[code] for code in columns.finding_code] == ["MISS", "YEAR", "FORMAT", "MISS"]
    assert columns.finding_components == ["items", "year", ""]
    assert columns.finding_component.tolist() == [0, 1, 2, 0]
    assert columns.finding_component.dtype == np.uint8
    assert columns.finding_gain.tolist() == [0.25, 0.1, 1.0, 0.5]


def test_sections_are_a_column_of_findings(store: Store) -> None:
    store.create_run(header())
    placed = (Finding("MISS", section="main"), Finding("EXTRA", section="é\x00 specs"), Finding("FORMAT"))
    cases = [case(number) for number in range(3)]
    samples = [sample(of, n, findings=placed[: n + 1]) for n, of in enumerate(cases)]
    store.add_samples("demo-1", samples, cases)
    columns = read(store, "demo-1")
    assert columns.finding_sections == ["main", "é\x00 specs", ""]
    assert columns.finding_section.tolist() == [0, 0, 1, 0, 1, 2]
    assert columns.finding_sample.tolist() == [0, 1, 1, 2, 2, 2]


def test_the_findings_of_a_code_come_in_the_order_of_their_samples(store: Store) -> None:
    cases = [case(number) for number in range(4)]
    miss = [Finding("MISS", f"items[{n}]", n, None, "", "error", "items", 0.25, BOX) for n in range(4)]
    samples = [
        sample(cases[0], 0, variant="é\x00", repeat=2, findings=(miss[0], Finding("YEAR"), miss[1])),
        failed(cases[1], 1, outcome=Outcome.JUDGE_FAILED, findings=(Finding("MISS"), Finding("SCORER_ERROR"))),
        sample(cases[2], 2, findings=(miss[2],), outcome=Outcome.MALFORMED),
        sample(cases[3], 3, findings=(Finding("MISSED"), miss[3])),
    ]
    store.create_run(header("demo-0"))
    store.add_samples("demo-0", [sample(cases[0], findings=(Finding("MISS", "of another run"),))], cases)
    keep(store, list(reversed(samples)), cases)
    assert store.findings("demo-1", "MISS", limit=10) == [
        SampleFinding("case-0000", "é\x00", 2, miss[0]),
        SampleFinding("case-0000", "é\x00", 2, miss[1]),
        SampleFinding("case-0002", "", 0, miss[2]),
        SampleFinding("case-0003", "", 0, miss[3]),
    ]
    assert [found.finding.place for found in store.findings("demo-1", "MISS", limit=2)] == ["items[0]", "items[1]"]
    assert store.findings("demo-1", "SCORER_ERROR", limit=10) == []
    assert store.findings("demo-1", "NOTHING", limit=10) == []


def digests(store: Store, *attempts: CallResult | None) -> list[int]:
    """One number for each attempt of a run; None is a call that failed."""
    cases = [case(number) for number in range(len(attempts))]
    made = [
        failed(of, k) if attempt is None else sample(of, k, call_result=attempt)
        for k, (of, attempt) in enumerate(zip(cases, attempts, strict=True))
    ]
    keep(store, made, cases)
    return store.answer_digests("demo-1").tolist()


def test_answers_that_are_equal_to_the_byte_have_one_number_and_others_another(store: Store) -> None:
    texts = ["a", "a", "a ", "", "\ud800\x00", "\ud800\x00"]
    results = digests(
        store, *(CallResult(text=text, status=200) for text in texts), None, CallResult(text="a", status=422)
    )
    assert (results[0] == results[1], results[4] == results[5]) == (True, True)
    # A call without an answer has none; the same text with another status is another answer.
    assert results[6] == 0
    assert len(set(results)) == 6
    assert results.count(0) == 1
