"""Samples come back as they were stored, with their cases, scores, counts, findings and marks, on both databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from parts.stored import case, failed, header, sample
from steelyard.errors import StoreError
from steelyard.records import CallResult, Finding, Mark, Outcome, Sample, Score
from steelyard.store.base import Store
from steelyard.store.codec import encode
from steelyard.store.sql import SqlStore, open_store
from steelyard.suite.case import Attachment, Case, digest

NAN = float("nan")
BOX = (0.1, 0.2, 0.30000000000000004, 1.0)
TEXTS = ("", "\x00", "a\x00b\x10c", "\ud800 alone", "emoji 🪑 é and \udfff", "line\r\nend\n", "'; --", '"; --')


def stored(sample: Sample, of: Case, position: int) -> Sample:
    return replace(sample, case_hash=digest(encode(of)), position=position)


def counted(value: float | None = 0.5, **counts: Any) -> Score:
    return Score("items", value, 70.0, counts=counts)


def keep(store: Store, samples: list[Sample], cases: list[Case], run_id: str = "demo-1") -> list[Sample]:
    """What comes back of the samples of a new run."""
    store.create_run(header(run_id))
    store.add_samples(run_id, samples, cases)
    return [back for back, _ in store.samples(run_id)]


def test_a_sample_comes_back_whole(store: Store) -> None:
    store.create_run(header())
    picture = Attachment("images/one.png", "image/png", "ab" * 8, (640, 480))
    of = case(1, attachments=(picture,), expected=[1, {"x": None}])
    given = sample(of)
    store.add_samples("demo-1", [given], [of])
    assert list(store.samples("demo-1")) == [(stored(given, of, 0), of)]


def test_a_failed_sample_comes_back_whole(store: Store) -> None:
    store.create_run(header())
    of = case(1, category=None, difficulty=None, tags=())
    given = failed(of)
    store.add_samples("demo-1", [given], [of])
    assert list(store.samples("demo-1")) == [(stored(given, of, 0), of)]


def test_model_output_comes_back_to_the_letter(store: Store) -> None:
    of = case(1)
    for text in TEXTS:
        given = sample(
            of,
            call_result=CallResult(text=text, model=text),
            findings=(Finding("CODE", text, {"k": text}, [text], text, component=text, gain=0.5),),
            scores=(Score("title", 0.5, note=text), Score(text, 0.5, counts={text: 1})),
            marks=(Mark(BOX, text),),
            band=text,
            category=text,
            variant=text,
        )
        run = f"demo-{TEXTS.index(text)}"
        assert keep(store, [given], [of], run) == [stored(given, of, 0)], repr(text)
        columns = store.columns(run)
        assert (columns.categories, columns.variants, columns.finding_components) == ([text], [text], [text])
        assert columns.counts[text][text].tolist() == [1.0]
        assert store.done(run, [of.id]) == {(of.id, text, 0)}


def test_counts_places_gains_and_marks_come_back_whole(store: Store) -> None:
    of = case(1)
    given = sample(
        of,
        scores=(
            counted(visible=12, read=10, extra=0),
            Score("title", None, 10.0, uncapped=0.9, capped_by="rule", note="why", counts={"words": 3}),
            Score("year", 0.25, 20.0),
        ),
        findings=(
            Finding("MISS", "items[3]", "x", None, "", "major", "items", 1 / 12, BOX),
            Finding("EXTRA", component="items", gain=-0.5),
            Finding("FORMAT"),
        ),
        marks=(Mark(BOX, "To be free from pain"), Mark((0.0, 0.0, 1.0, 1.0))),
    )
    (back,) = keep(store, [given], [of])
    assert back.scores == given.scores
    assert back.findings == given.findings
    assert back.marks == given.marks
    assert [list(score.counts) for score in back.scores] == [["visible", "read", "extra"], ["words"], []]


def test_numbers_of_numpy_are_kept_as_plain_ones(store: Store) -> None:
    of = case(1)
    box: Any = tuple(np.array([0.0, 0.25, 0.5, 1.0], dtype=np.float32))
    finding = Finding("CODE", component="items", gain=np.float32(0.25), box=box)  # type: ignore[arg-type]
    score = counted(np.float64(0.5), read=np.int64(10), seen=True)
    (back,) = keep(store, [sample(of, scores=(score,), findings=(finding,), marks=(Mark(box, "x"),))], [of])
    assert back.scores == (counted(0.5, read=10, seen=1),)
    assert {type(count) for count in back.scores[0].counts.values()} == {int}
    assert (back.findings[0].gain, back.findings[0].box) == (0.25, (0.0, 0.25, 0.5, 1.0))
    assert back.marks == (Mark((0.0, 0.25, 0.5, 1.0), "x"),)


def test_what_is_no_whole_number_was_not_counted(store: Store) -> None:
    of = case(1)
    for number, wrong in enumerate((2.5, 3.0, NAN, -1, None, "3", 2**53 + 1)):
        (back,) = keep(store, [sample(of, scores=(counted(read=wrong, visible=2**53),))], [of], f"demo-{number}")
        assert back.scores[0].counts == {"visible": 2**53}, wrong
        counts = store.columns(f"demo-{number}").counts["items"]
        assert np.isnan(counts["read"]).tolist() == [True]
        assert counts["visible"].tolist() == [2**53]


def test_a_box_that_is_nowhere_is_no_box_and_a_span_that_is_no_two_whole_numbers_no_place(store: Store) -> None:
    nowhere = [NAN, float("inf"), float("-inf")]
    boxes = [(0.0, number, 0.5, 0.5) for number in nowhere]
    found = [Finding("CODE", gain=number, box=box) for number, box in zip(nowhere, boxes, strict=True)]
    spans: list[Any] = [(-1, 4), (1.5, 4), ("a", 4), (1, 2**60)]
    found += [Finding("CODE", span=span) for span in spans]
    marks = (*(Mark(box, "lost") for box in boxes), Mark(BOX, "kept"))
    of = case(1)
    (back,) = keep(store, [sample(of, findings=tuple(found), marks=marks)], [of])
    assert back.findings == (Finding("CODE"),) * 7
    assert back.marks == (Mark(BOX, "kept"),)


def test_a_component_value_of_any_kind_comes_back_as_its_number(store: Store) -> None:
    values = (1, True, 1e-20, np.float64(0.25), 0.1 + 0.2, None)
    of = case(1)
    given = [sample(of, repeat=n, scores=(Score("title", v), Score("year", 0.5))) for n, v in enumerate(values)]
    back = keep(store, given, [of])
    assert [[score.value for score in one.scores] for one in back] == [[value, 0.5] for value in values]
    assert {type(one.scores[0].value) for one in back} <= {float, int, type(None)}


def test_a_score_that_is_no_number_was_not_given(store: Store) -> None:
    store.create_run(header())
    of = case(1)
    given = sample(of, score=float("nan"), scores=(Score("title", float("nan")), Score("year", 0.5)))
    store.add_samples("demo-1", [given], [of])
    ((back, _),) = store.samples("demo-1")
    assert back.score is None
    assert [score.value for score in back.scores] == [None, 0.5]


PLACED = (
    Finding("MISS", span=(3, 9), section="main"),
    Finding("EXTRA", span=(0, 0), section="é\x00 specs"),
    Finding("FORMAT"),
)


def test_findings_keep_their_span_and_section(store: Store) -> None:
    store.create_run(header())
    store.add_samples("demo-1", [sample(case(0), 0, findings=PLACED)], [case(0)])
    ((back, _),) = store.samples("demo-1")
    assert back.findings == PLACED
    assert store.findings("demo-1", "MISS", limit=5)[0].finding == PLACED[0]


def test_an_outcome_is_one_of_the_closed_set(store: Store) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(4)]
    store.add_samples(
        "demo-1", [sample(of, outcome=outcome) for of, outcome in zip(cases, Outcome, strict=True)], cases
    )
    assert [one.outcome for one, _ in store.samples("demo-1")] == list(Outcome)


def test_samples_come_in_the_order_of_the_plan_whatever_order_they_were_kept_in(store: Store) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(4)]
    for batch in ([3, 1], [2], [0]):
        chosen = [cases[number] for number in batch]
        store.add_samples("demo-1", [sample(of, number) for number, of in zip(batch, chosen, strict=True)], chosen)
    assert [of.id for _, of in store.samples("demo-1")] == [of.id for of in cases]
    assert list(store.columns("demo-1").case_ids) == [of.id for of in cases]


def test_samples_without_a_position_take_the_next_places(store: Store) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(4)]
    store.add_samples("demo-1", [sample(cases[0], 5), sample(cases[1])], cases[:2])
    store.add_samples("demo-1", [sample(cases[2]), sample(cases[3])], cases[2:])
    assert [one.position for one, _ in store.samples("demo-1")] == [5, 6, 7, 8]


def test_variants_and_repeats_are_samples_of_their_own(store: Store) -> None:
    store.create_run(header())
    of = case(1)
    grid = [sample(of, variant=variant, repeat=repeat) for variant in ("a", "b") for repeat in (0, 1)]
    store.add_samples("demo-1", grid, [of])
    assert store.done("demo-1", [of.id, "unknown"]) == {(of.id, v, r) for v in ("a", "b") for r in (0, 1)}


def test_done_takes_more_cases_than_a_statement_has_places(store: Store) -> None:
    store.create_run(header())
    cases = [case(number) for number in range(1200)]
    store.add_samples("demo-1", [sample(of) for of in cases], cases)
    assert len(store.done("demo-1", [of.id for of in cases])) == 1200
    assert [of.id for _, of in store.samples("demo-1")] == [of.id for of in cases]


def test_samples_of_some_cases_only(store: Store) -> None:
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


def test_names_of_counts_are_kept_once_a_run(store: SqlStore) -> None:
    cases = [case(number) for number in range(4)]
    counts: list[Mapping[str, int]] = [{"a": 1, "b": 2}, {"a": 3, "b": 4}, {}, {"a": 5}]
    keep(store, [sample(of, scores=(counted(**counts[n]),)) for n, of in enumerate(cases)], cases)
    with store.database.reading() as session:
        assert session.execute("SELECT content FROM layouts ORDER BY content") == [
            ('[["items",70.0,"a","b"]]',),
            ('[["items",70.0,"a"]]',),
            ('[["items",70.0]]',),
        ]
        assert [row[0] for row in session.execute("SELECT scores FROM samples ORDER BY seq")] == [
            *("[0.5,1,2]", "[0.5,3,4]", "[0.5]", "[0.5,5]")
        ]
        assert session.execute("SELECT count(*) FROM samples WHERE marks IS NOT NULL") == [(0,)]


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


def test_nothing_can_be_rescored_that_was_never_answered(store: Store) -> None:
    store.create_run(header())
    store.create_run(header("demo-2", rescored_from="demo-1"))
    with pytest.raises(StoreError, match="no answer for case 'case-0001', repeat 0"):
        store.add_rescored("demo-2", "demo-1", [sample(case(1))], [case(1)])


LARGE_TEXTS = (
    "\x00 é 🪑 a long answer. " * 200,
    "".join(map(chr, Random(1).choices(range(32, 127), k=3000))),
    "short",
)


@pytest.mark.boundary("zstandard")
def test_large_answers_are_packed_and_come_back_to_the_letter(store: SqlStore) -> None:
    cases = [case(n) for n in range(len(LARGE_TEXTS))]
    given = [sample(of, call_result=CallResult(text=text)) for of, text in zip(cases, LARGE_TEXTS, strict=True)]
    back = keep(store, given, cases)
    assert [one.call_result.text for one in back] == list(LARGE_TEXTS)
    assert len(set(store.answer_digests("demo-1").tolist())) == len(LARGE_TEXTS)
    with store.database.reading() as session:
        rows = session.execute("SELECT answer, length(packed_answer) FROM sample_answers ORDER BY seq")
    # PostgreSQL packs by itself, and shows the text; what would stay large is not packed.
    assert [(answer is None, (size or 0) < 200) for answer, size in rows] == [
        (store.database.dialect.packs, True),
        (False, True),
        (False, True),
    ]
    assert rows[2] == ("short", None)


def test_samples_of_some_cases_are_looked_up_and_not_searched_for(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    store.create_run(header("r"))
    asked: list[str] = []
    connection = store.database._connection()
    connection.set_trace_callback(asked.append)
    store.done("r", ["a", "b"])
    connection.set_trace_callback(None)
    (query,) = [text for text in asked if "FROM samples" in text]
    plan = connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
    store.close()
    assert "case_id=?" in plan[0][3], "it would read the whole run for every piece"
