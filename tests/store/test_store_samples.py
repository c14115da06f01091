from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from parts.stored import case, failed, header, sample
from steelyard.errors import RunNotFound, StoreError
from steelyard.records import CallResult, Finding, Outcome, Sample, Score
from steelyard.store.codec import encode
from steelyard.store.sql import SqlStore
from steelyard.suite.case import Attachment, Case, digest


def stored(sample: Sample, of: Case, position: int) -> Sample:
    return replace(sample, case_hash=digest(encode(of)), position=position)


def test_a_sample_comes_back_whole(store: SqlStore) -> None:
    store.create_run(header())
    picture = Attachment("images/one.png", "image/png", "ab" * 8, (640, 480))
    of = case(1, attachments=(picture,), expected=[1, {"x": None}])
    given = sample(of)
    store.add_samples("demo-1", [given], [of])
    assert list(store.samples("demo-1")) == [(stored(given, of, 0), of)]


def test_a_failed_sample_comes_back_whole(store: SqlStore) -> None:
    store.create_run(header())
    of = case(1, category=None, difficulty=None, tags=())
    given = failed(of)
    store.add_samples("demo-1", [given], [of])
    assert list(store.samples("demo-1")) == [(stored(given, of, 0), of)]


@pytest.mark.parametrize(
    "text", ["", "\x00", "a\x00b\x10c", "\ud800 alone", "emoji 🪑 and \udfff", "line\r\nend\n", "'; --"]
)
def test_model_output_comes_back_to_the_letter(store: SqlStore, text: str) -> None:
    store.create_run(header())
    of = case(1)
    given = sample(
        of,
        call_result=CallResult(text=text, model=text),
        findings=(Finding("CODE", text, {"k": text}, [text], text),),
        scores=(Score("title", 0.5, note=text),),
        band=text,
        category=text,
        variant=text,
    )
    store.add_samples("demo-1", [given], [of])
    ((back, _),) = store.samples("demo-1")
    assert back == stored(given, of, 0)
    columns = store.columns("demo-1")
    assert columns.categories == [text]
    assert columns.variants == [text]
    assert store.done("demo-1", [of.id]) == {(of.id, text, 0)}


def test_samples_come_in_the_order_of_the_plan_whatever_order_they_were_kept_in(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(4)]
    for batch in ([3, 1], [2], [0]):
        chosen = [cases[number] for number in batch]
        store.add_samples("demo-1", [sample(of, number) for number, of in zip(batch, chosen, strict=True)], chosen)
    assert [of.id for _, of in store.samples("demo-1")] == [of.id for of in cases]
    assert list(store.columns("demo-1").case_ids) == [of.id for of in cases]


def test_samples_without_a_position_take_the_next_places(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(4)]
    store.add_samples("demo-1", [sample(cases[0], 5), sample(cases[1])], cases[:2])
    store.add_samples("demo-1", [sample(cases[2]), sample(cases[3])], cases[2:])
    assert [one.position for one, _ in store.samples("demo-1")] == [5, 6, 7, 8]


def test_a_sample_kept_twice_is_refused_with_its_whole_batch(store: SqlStore) -> None:
    store.create_run(header())
    one, two = case(1), case(2)
    store.add_samples("demo-1", [sample(one)], [one])
    with pytest.raises(StoreError, match="already holds the sample for case 'case-0001', repeat 0"):
        store.add_samples("demo-1", [sample(two), sample(one, score=0.1)], [one, two])
    assert [(kept.case_id, kept.score) for kept, _ in store.samples("demo-1")] == [("case-0001", 0.8)]
    store.add_samples("demo-1", [sample(two)], [two])


def test_a_place_in_the_plan_is_taken_once(store: SqlStore) -> None:
    store.create_run(header())
    one, two = case(1), case(2)
    store.add_samples("demo-1", [sample(one, 5)], [one])
    with pytest.raises(StoreError, match="the same place in the plan: nothing of this batch was stored"):
        store.add_samples("demo-1", [sample(two, 5)], [two])
    assert list(store.columns("demo-1").case_ids) == [one.id]


@pytest.mark.parametrize("value", [1, True, 1e-20, np.float64(0.25), 0.1 + 0.2, None])
def test_a_component_value_of_any_kind_comes_back_as_its_number(store: SqlStore, value: Any) -> None:
    store.create_run(header())
    of = case(1)
    store.add_samples("demo-1", [sample(of, scores=(Score("title", value), Score("year", 0.5)))], [of])
    ((back, _),) = store.samples("demo-1")
    assert [score.value for score in back.scores] == [value, 0.5]
    assert type(back.scores[0].value) in (float, int, type(None))


def test_variants_and_repeats_are_samples_of_their_own(store: SqlStore) -> None:
    store.create_run(header())
    of = case(1)
    grid = [sample(of, variant=variant, repeat=repeat) for variant in ("a", "b") for repeat in (0, 1)]
    store.add_samples("demo-1", grid, [of])
    assert store.done("demo-1", [of.id, "unknown"]) == {(of.id, v, r) for v in ("a", "b") for r in (0, 1)}


def test_done_takes_more_cases_than_a_statement_has_places(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(1200)]
    store.add_samples("demo-1", [sample(of) for of in cases], cases)
    assert len(store.done("demo-1", [of.id for of in cases])) == 1200
    assert [of.id for _, of in store.samples("demo-1")] == [of.id for of in cases]


def test_samples_of_some_cases_only(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(5)]
    store.add_samples("demo-1", [sample(of, repeat=r) for of in cases for r in (0, 1)], cases)
    found = [(one.case_id, one.repeat) for one, _ in store.samples("demo-1", case_ids=["case-0003", "case-0001", "no"])]
    assert found == [("case-0001", 0), ("case-0001", 1), ("case-0003", 0), ("case-0003", 1)]


def test_a_case_is_stored_once_and_a_changed_case_beside_it(store: SqlStore) -> None:
    before, after = case(1), case(1, expected={"title": "Fixed"})
    for run_id, of in (("demo-1", before), ("demo-2", before), ("demo-3", after)):
        store.create_run(header(run_id))
        store.add_samples(run_id, [sample(of)], [of])
    with store.database.reading() as session:
        stored = session.execute("SELECT hash FROM cases ORDER BY hash")
    assert [row[0] for row in stored] == sorted([digest(encode(before)), digest(encode(after))])
    assert [of for _, of in store.samples("demo-1")] == [before]
    assert [of for _, of in store.samples("demo-3")] == [after]


def test_a_batch_that_fails_leaves_nothing(store: SqlStore) -> None:
    store.create_run(header())
    one, two = case(1), case(2)
    broken = sample(two, call_result=CallResult(text="x", tries=None))  # type: ignore[arg-type] - a row the database refuses
    with pytest.raises(StoreError):
        store.add_samples("demo-1", [sample(one), broken], [one, two])
    assert list(store.samples("demo-1")) == []
    with store.database.reading() as session:
        for table in ("cases", "calls", "answers", "findings", "tags", "layouts"):
            assert session.execute(f"SELECT count(*) FROM {table}") == [(0,)], table
    store.add_samples("demo-1", [sample(one)], [one])


def test_samples_for_a_run_that_is_not_there_are_refused(store: SqlStore) -> None:
    with pytest.raises(RunNotFound):
        store.add_samples("nothing", [sample(case(1))], [case(1)])


def test_a_score_that_is_no_number_was_not_weighed(store: SqlStore) -> None:
    store.create_run(header())
    of = case(1)
    given = sample(of, score=float("nan"), scores=(Score("title", float("nan")), Score("year", 0.5)))
    store.add_samples("demo-1", [given], [of])
    ((back, _),) = store.samples("demo-1")
    assert back.score is None
    assert [score.value for score in back.scores] == [None, 0.5]


def test_rescored_samples_share_the_attempts(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(3)]
    store.add_samples("demo-1", [sample(of, number) for number, of in enumerate(cases)], cases)
    store.create_run(header("demo-2", rescored_from="demo-1"))
    mended = case(2, expected={"title": "Other"})
    again = [sample(mended, score=0.1, scores=(Score("title", 0.1, 100.0),)), sample(cases[0], score=0.2)]
    store.add_rescored("demo-2", "demo-1", again, [mended, cases[0]])
    store.create_run(header("demo-3", rescored_from="demo-2"))
    store.add_rescored("demo-3", "demo-2", [sample(cases[0], score=0.3)], [cases[0]])

    assert [(one.case_id, one.score) for one, _ in store.samples("demo-2")] == [("case-0000", 0.2), ("case-0002", 0.1)]
    ((third, _),) = store.samples("demo-3")
    assert (third.score, third.call_result) == (0.3, sample(cases[0]).call_result)
    assert [of for _, of in store.samples("demo-2")] == [cases[0], mended]
    with store.database.reading() as session:
        assert session.execute("SELECT count(*) FROM calls") == [(3,)]
    columns = store.columns("demo-2")
    assert columns.latency.tolist() == [0.25, 0.25]


def test_nothing_can_be_rescored_that_was_never_answered(store: SqlStore) -> None:
    store.create_run(header())
    store.create_run(header("demo-2", rescored_from="demo-1"))
    with pytest.raises(StoreError, match="no answer for case 'case-0001', repeat 0"):
        store.add_rescored("demo-2", "demo-1", [sample(case(1))], [case(1)])


def test_some_samples_are_ordered_and_leave_out_what_has_no_value(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(5)]
    scores = [0.5, 0.1, None, 0.9, 0.1]
    latencies = [3.0, 1.0, 99.0, 2.0, 4.0]
    samples = [
        failed(of, number)
        if score is None
        else sample(of, number, score=score, call_result=CallResult(text="x", latency=latency))
        for number, (of, score, latency) in enumerate(zip(cases, scores, latencies, strict=True))
    ]
    store.add_samples("demo-1", samples, cases)

    def result(order: str, *, descending: bool = False) -> list[int | None]:
        some = store.some_samples("demo-1", order=order, limit=3, descending=descending)
        return [one.position for one, _ in some]

    assert result("score") == [1, 4, 0]
    assert result("score", descending=True) == [3, 0, 1]
    assert result("latency") == [1, 3, 0]
    assert result("latency", descending=True) == [4, 0, 3]


def test_samples_written_from_another_thread_are_seen_at_once(store: SqlStore) -> None:
    store.create_run(header())
    of = case(1)
    writer = threading.Thread(target=store.add_samples, args=("demo-1", [sample(of)], [of]))
    writer.start()
    writer.join()
    assert [one.case_id for one, _ in store.samples("demo-1")] == [of.id]


def test_a_run_can_be_written_while_its_samples_are_read(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(700)]
    store.add_samples("demo-1", [sample(of, number) for number, of in enumerate(cases)], cases)
    reading = store.samples("demo-1")
    next(reading)
    late = case(700)
    store.add_samples("demo-1", [sample(late, 700)], [late])
    assert sum(1 for _ in reading) == 700


def test_an_outcome_is_one_of_the_closed_set(store: SqlStore) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(4)]
    store.add_samples(
        "demo-1", [sample(of, outcome=outcome) for of, outcome in zip(cases, Outcome, strict=True)], cases
    )
    assert [one.outcome for one, _ in store.samples("demo-1")] == list(Outcome)
