from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from parts.stored import case, failed, header, sample
from steelyard.errors import RunNotFound
from steelyard.records import Finding, Mark, Outcome, Sample, Score
from steelyard.store import columns as columns_module
from steelyard.store.base import Hit
from steelyard.store.sql import SqlStore
from steelyard.suite.case import Case

NAN = float("nan")
BOX = (0.1, 0.2, 0.30000000000000004, 1.0)


def items(value: float | None = 0.5, **counts: Any) -> Score:
    return Score("items", value, 70.0, counts=counts)


def keep(store: SqlStore, samples: list[Sample], cases: list[Case]) -> list[Sample]:
    store.create_run(header())
    store.add_samples("demo-1", samples, cases)
    return [back for back, _ in store.samples("demo-1")]


def same(column: np.ndarray, expected: list[float]) -> bool:
    return np.array_equal(column, np.array(expected, dtype=float), equal_nan=True)


def test_counts_places_gains_and_marks_come_back_whole(store: SqlStore) -> None:
    of = case(1)
    given = sample(
        of,
        scores=(
            items(visible=12, read=10, extra=0),
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


@pytest.mark.parametrize("text", ["", "\x00", "a\x10b", "\ud800 alone", "🪑 é", '"; --'])
def test_texts_of_marks_names_of_counts_and_components_come_back_to_the_letter(store: SqlStore, text: str) -> None:
    of = case(1)
    given = sample(
        of,
        scores=(Score(text, 0.5, counts={text: 1}),),
        findings=(Finding("CODE", component=text, gain=0.5),),
        marks=(Mark(BOX, text),),
    )
    (back,) = keep(store, [given], [of])
    assert (back.scores, back.findings, back.marks) == (given.scores, given.findings, given.marks)
    columns = store.columns("demo-1")
    assert columns.counts[text][text].tolist() == [1.0]
    assert columns.finding_components == [text]


def test_numbers_of_numpy_are_kept_as_plain_ones(store: SqlStore) -> None:
    of = case(1)
    box: Any = tuple(np.array([0.0, 0.25, 0.5, 1.0], dtype=np.float32))
    finding = Finding("CODE", component="items", gain=np.float32(0.25), box=box)  # type: ignore[arg-type]
    score = items(np.float64(0.5), read=np.int64(10), seen=True)
    (back,) = keep(store, [sample(of, scores=(score,), findings=(finding,), marks=(Mark(box, "x"),))], [of])
    assert back.scores == (items(0.5, read=10, seen=1),)
    assert {type(count) for count in back.scores[0].counts.values()} == {int}
    assert (back.findings[0].gain, back.findings[0].box) == (0.25, (0.0, 0.25, 0.5, 1.0))
    assert back.marks == (Mark((0.0, 0.25, 0.5, 1.0), "x"),)


@pytest.mark.parametrize("wrong", [2.5, 3.0, NAN, -1, None, "3", 2**53 + 1])
def test_what_is_no_whole_number_was_not_counted(store: SqlStore, wrong: Any) -> None:
    of = case(1)
    (back,) = keep(store, [sample(of, scores=(items(read=wrong, visible=2**53),))], [of])
    assert back.scores[0].counts == {"visible": 2**53}
    columns = store.columns("demo-1")
    assert same(columns.counts["items"]["read"], [NAN])
    assert same(columns.counts["items"]["visible"], [2**53])


@pytest.mark.parametrize("nowhere", [NAN, float("inf"), float("-inf")])
def test_a_box_that_is_nowhere_is_no_box(store: SqlStore, nowhere: float) -> None:
    of = case(1)
    box = (0.0, nowhere, 0.5, 0.5)
    found = Finding("CODE", gain=nowhere, box=box)
    (back,) = keep(store, [sample(of, findings=(found,), marks=(Mark(box, "lost"), Mark(BOX, "kept")))], [of])
    assert back.findings == (Finding("CODE"),)
    assert back.marks == (Mark(BOX, "kept"),)


@pytest.mark.parametrize("piece", [2, 20_000])
def test_counts_become_columns_with_nothing_where_nothing_was_counted(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(columns_module, "PIECE", piece)
    cases = [case(number) for number in range(6)]
    samples = [
        sample(cases[0], 0, scores=(items(visible=12, read=10), Score("title", 1.0, counts={"read": 5}))),
        failed(cases[1], 1),
        sample(cases[2], 2, scores=(Score("title", 0.25, counts={"read": 0}), items(0.0, visible=3, read=0))),
        sample(cases[3], 3, scores=(items(None),)),
        sample(cases[4], 4, scores=(items(0.75, read=2_049),)),
        sample(cases[5], 5, outcome=Outcome.MALFORMED, scores=(items(0.0, visible=70_001, read=0),)),
    ]
    keep(store, samples, cases)
    columns = store.columns("demo-1")
    assert list(columns.counts) == ["items", "title"]
    assert same(columns.counts["items"]["visible"], [12, NAN, 3, NAN, NAN, 70_001])
    assert same(columns.counts["items"]["read"], [10, NAN, 0, NAN, 2_049, 0])
    assert same(columns.counts["title"]["read"], [5, NAN, 0, NAN, NAN, NAN])
    assert same(columns.components["items"], [0.5, NAN, 0.0, NAN, 0.75, 0.0])
    assert same(columns.components["title"], [1.0, NAN, 0.25, NAN, NAN, NAN])
    # Whole numbers are exact up to 2**11 in 16 bits, up to 2**24 in 32.
    assert columns.counts["title"]["read"].dtype == np.float16
    assert columns.counts["items"]["read"].dtype == np.float32


@pytest.mark.parametrize("piece", [2, 20_000])
def test_components_and_gains_of_findings_stand_beside_their_codes(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(columns_module, "PIECE", piece)
    cases = [case(number) for number in range(3)]
    found = [
        (Finding("MISS", component="items", gain=0.25), Finding("YEAR", component="year", gain=0.1)),
        (Finding("FORMAT", gain=1.0),),
        (Finding("MISS", component="items", gain=0.5),),
    ]
    keep(store, [sample(of, seq, findings=found[seq]) for seq, of in enumerate(cases)], cases)
    columns = store.columns("demo-1")
    assert columns.finding_sample.tolist() == [0, 0, 1, 2]
    assert [columns.finding_codes[code] for code in columns.finding_code] == ["MISS", "YEAR", "FORMAT", "MISS"]
    assert columns.finding_components == ["items", "year", ""]
    assert columns.finding_component.tolist() == [0, 1, 2, 0]
    assert columns.finding_component.dtype == np.uint8
    assert columns.finding_gain.tolist() == [0.25, 0.1, 1.0, 0.5]


def test_a_run_without_findings_and_counts_has_empty_columns_of_them(store: SqlStore) -> None:
    of = case(1)
    keep(store, [sample(of, findings=())], [of])
    columns = store.columns("demo-1")
    assert columns.counts == {}
    assert len(columns.finding_component) == len(columns.finding_gain) == 0
    assert columns.finding_components == []


def test_names_of_counts_are_kept_once_a_run(store: SqlStore) -> None:
    cases = [case(number) for number in range(4)]
    counts: list[Mapping[str, int]] = [{"a": 1, "b": 2}, {"a": 3, "b": 4}, {}, {"a": 5}]
    keep(store, [sample(of, scores=(items(**counts[n]),)) for n, of in enumerate(cases)], cases)
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


def test_the_findings_of_a_code_come_in_the_order_of_their_samples(store: SqlStore) -> None:
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
        Hit("case-0000", "é\x00", 2, miss[0]),
        Hit("case-0000", "é\x00", 2, miss[1]),
        Hit("case-0002", "", 0, miss[2]),
        Hit("case-0003", "", 0, miss[3]),
    ]
    assert [found.finding.place for found in store.findings("demo-1", "MISS", limit=2)] == ["items[0]", "items[1]"]
    assert store.findings("demo-1", "SCORER_ERROR", limit=10) == []
    assert store.findings("demo-1", "NOTHING", limit=10) == []
    with pytest.raises(RunNotFound):
        store.findings("demo-9", "MISS", limit=10)
