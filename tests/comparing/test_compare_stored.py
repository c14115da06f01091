"""What a store says about the cases and confusions behind a run's columns."""

from __future__ import annotations

import pytest

from parts.stored import case, header, sample
from steelyard.comparing.compare import compare
from steelyard.pairing.model import Moved, Standing, Why
from steelyard.pairing.runs import read_run
from steelyard.records import CallResult, Finding, Outcome, RunState
from steelyard.store.contents import confusion_digest, confusion_label
from steelyard.store.sql import open_store


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def stored(store, run_id, cases, findings):
    store.create_run(header(run_id, suite=SUITE))
    samples = [sample(one, i, findings=found) for i, (one, found) in enumerate(zip(cases, findings, strict=True))]
    store.add_samples(run_id, samples, cases)
    store.update_run(header(run_id, suite=SUITE, state=RunState.ENDED))
    return run_id


SUITE = {"name": "demo", "components": [{"name": "title", "weight": 70.0}, {"name": "year", "weight": 30.0}]}
WRONG = Finding("ROLE", expected={"role": "style", "text": "grainy 🎞"}, got={"text": "grainy 🎞", "role": "shot"})
EXTRA = Finding("EXTRA", got="nothing of the kind")
SPELLING = Finding("NAME", expected='say "é"\n', got="sæ")


def test_contents_stand_beside_the_columns(store):
    run = stored(store, "one", [case(1), case(2)], [(WRONG, EXTRA), (SPELLING,)])
    columns, contents = store.columns(run), store.contents(run)
    assert contents.confusion.tolist() == [
        confusion_digest("ROLE", "style", "shot"),
        confusion_digest("NAME", 'say "é"\n', "sæ"),
    ]
    assert contents.confusion_sample.tolist() == [0, 1]
    assert contents.confused([1, 0]) == [("NAME", 'say "é"\n', "sæ"), ("ROLE", "style", "shot")]
    assert contents.cases(["case-0002", "nobody"]) == {"case-0002": case(2)}
    assert len(contents.case_hash) == columns.n


def test_a_long_text_is_cut_and_keeps_its_beginning():
    assert confusion_label("x" * 500) == "x" * 199 + "…"
    assert (confusion_label(1250.0), confusion_label(1250), confusion_label(1.25)) == ("1250", "1250", "1.25")


@pytest.mark.parametrize(
    ("expected", "got", "is_one"),
    [
        ("style.look", "shot.type", True),
        ("subject.identity", "subject", True),
        ({"role": "style", "text": "x"}, {"role": "shot", "text": "x"}, True),
        ({"role": "style", "text": "x y"}, {"role": "style", "text": "x"}, False),
        (1900, 1890.5, True),
        (3, 3.0, False),
        # A score below the one asked for, and a flag.
        ("3 or more of 5", 2.0, False),
        (False, True, False),
        # Too little of the same, and too much.
        ("Glow of the lava", "lava", False),
        ("High-angle | Wide Shot", "High-angle Wide Shot", False),
        ("plus", "", False),
    ],
)
def test_a_confusion_is_one_value_taken_for_another_of_its_kind(store, expected, got, is_one):
    run = stored(store, "one", [case(1)], [(Finding("ROLE", expected=expected, got=got),)])
    assert len(store.contents(run).confusion) == is_one


def test_stored_runs_are_compared_by_question_truth_and_confusion(store):
    cases = [case(i) for i in range(4)]
    first = stored(store, "first", cases, [(WRONG,), (WRONG, SPELLING), (EXTRA,), ()])
    changed = [case(0), case(1), case(2, input="another"), case(3, expected="another")]
    second = stored(store, "second", changed, [(WRONG,), (EXTRA,), (), ()])
    found = compare(read_run(store, first), read_run(store, second))
    assert [line.case_id for line in found.pairs.not_comparable[Why.CHANGED_QUESTION].lines] == ["case-0002"]
    assert [line.case_id for line in found.pairs.not_comparable[Why.CHANGED_TRUTH].lines] == ["case-0003"]
    assert [
        (each.code, each.expected, each.got, each.a, each.b, each.standing) for each in found.confusions.listed
    ] == [
        ("NAME", 'say "é"\n', "sæ", 1, 0, Standing.RESOLVED),
        ("ROLE", "style", "shot", 2, 1, Standing.FEWER),
    ]


def test_a_stored_run_compared_with_itself_has_not_changed(store):
    cases = [case(i) for i in range(3)]
    run = stored(store, "one", cases, [(WRONG,), (SPELLING,), ()])
    found = compare(read_run(store, run), read_run(store, run))
    assert found.headline.verdict is Moved.SAME
    assert {change.part for change in found.signatures.changes} <= {"state"}
    assert found.not_compared == ()


def test_failed_calls_of_a_stored_run_are_listed(store):
    cases = [case(1), case(2)]
    first = stored(store, "first", cases, [(), ()])
    store.create_run(header("second", suite=SUITE))
    dead = sample(
        cases[1], 1, call_result=CallResult(), outcome=Outcome.TARGET_FAILED, score=None, passed=None, scores=()
    )
    store.add_samples("second", [sample(cases[0], 0), dead], cases)
    found = compare(read_run(store, first), read_run(store, "second"))
    assert found.pairs.not_comparable[Why.NO_READING_IN_B].count == 1
    assert found.pairs.comparable == 1


def test_a_run_that_has_not_ended_is_no_ground_for_a_verdict(store):
    first = stored(store, "first", [case(0), case(1)], [(), ()])
    store.create_run(header("second", suite=SUITE))
    store.add_samples("second", [sample(case(0), 0)], [case(0)])
    found = compare(read_run(store, first), read_run(store, "second")).headline
    assert (found.verdict, found.confounded_by[-1]) == (
        Moved.CANNOT_TELL,
        "run B has not ended: it was stopped, or is still going on",
    )
