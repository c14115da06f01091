"""Locking a run as a baseline, and holding runs of a real store against it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from parts import running as weighing
from parts.command import invoke
from parts.histories import DAY, JAN_1, keep, made_run
from parts.small_suite import write_suite
from steelyard.cli.user import current_user
from steelyard.decide.baselines import baselines, find_baseline, find_reference, held_against, stored_results
from steelyard.errors import UsageError
from steelyard.loading.load import load_suite
from steelyard.records import RunState, Verdict
from steelyard.report.build import build_report
from steelyard.run_history.baselines import remove_baseline, set_baseline, why_unsound
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.sql import open_store

RIGHT = "def answer(case):\n    return {'word': 'word %d' % case.input['number']}\n"
WRONG = "def answer(case):\n    return {'word': 'nothing %d' % case.input['number']}\n"
SILENT = "def answer(case):\n    raise OSError('gone')\n"


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "steelyard.db"))
    yield opened
    opened.close()


@pytest.fixture
def evaluate(store, tmp_path):
    """Runs a system through a suite of twelve cases in a folder of its own, so that no module is met again."""
    numbers = iter(range(100))

    def run(system=RIGHT, against=None, allow_mismatch=False, **suite):
        path = write_suite(tmp_path / f"suite-{next(numbers)}", n=12, **({"gates": ["pass_rate >= 1 %"]} | suite))
        (path.parent / "system.py").write_text(system)
        loaded = load_suite(path)
        reference = None if against is None else find_reference(store, against, loaded.name)
        return weighing.run(loaded, store, reference=reference, allow_mismatch=allow_mismatch)[0]

    return run


def test_a_sound_run_is_locked_with_its_signature_and_logged(store, evaluate):
    run = evaluate()
    entry = set_baseline(store, run, "release", by="ada", reason=" first ")
    assert (entry.run_id, entry.signature, entry.reason, entry.forced) == (run.id, run.signature, "first", False)
    assert store.baseline_log() == [entry]
    assert find_baseline(store, "release", "words") == entry
    assert find_baseline(store, "@release") == entry


def test_a_failing_run_may_be_a_baseline(store, evaluate):
    run = evaluate(WRONG)
    assert run.verdict is Verdict.FAIL
    assert why_unsound(store, run) == []


@pytest.mark.parametrize(
    ("system", "suite", "changes", "message"),
    [
        (SILENT, {}, {}, "it is INVALID: nothing was scored"),
        (RIGHT, {"gates": ["pass_rate >= 90 % with n >= 99"]}, {}, "it is AMBIGUOUS: pass_rate >= 90 % with n >= 99"),
        (RIGHT, {"gates": []}, {"suspect": ("all answers are alike",)}, "it is suspect: all answers are alike"),
        (RIGHT, {}, {"state": RunState.INTERRUPTED}, "it has not ended: it is interrupted"),
    ],
)
def test_what_is_no_sound_reading_is_refused_without_force_and_reason(store, evaluate, system, suite, changes, message):
    run = replace(evaluate(system, **suite), **changes)
    with pytest.raises(UsageError, match="cannot be a baseline") as caught:
        set_baseline(store, run, "release", by="ada", reason="please")
    assert message in str(caught.value)
    assert '--force --reason "..."' in str(caught.value)
    with pytest.raises(UsageError, match="--force requires --reason"):
        set_baseline(store, run, "release", by="ada", force=True)
    assert store.baseline_log() == []
    entry = set_baseline(store, run, "release", by="ada", reason="nothing better", force=True)
    assert (entry.forced, entry.reason) == (True, "nothing better")


def test_force_on_a_sound_run_is_no_mark_against_it(store, evaluate):
    assert set_baseline(store, evaluate(), "release", by="ada", reason="sure", force=True).forced is False


def test_a_name_that_cannot_be_one_is_refused(store, evaluate):
    with pytest.raises(UsageError, match="'LAST' is what the newest run is called"):
        set_baseline(store, evaluate(), "LAST", by="ada")


def test_a_removed_name_is_gone_and_its_log_stays(store, evaluate):
    entry = set_baseline(store, evaluate(), "release", by="ada")
    with pytest.raises(UsageError, match="--reason"):
        remove_baseline(store, entry, by="bob", reason=" ")
    remove_baseline(store, entry, by="bob", reason="wrong model")
    assert baselines(store) == []
    assert [(each.made_by, each.removed, each.reason) for each in store.baseline_log()] == [
        ("ada", False, ""),
        ("bob", True, "wrong model"),
    ]
    with pytest.raises(UsageError, match="suite words has no baseline 'release'"):
        find_baseline(store, "release", "words")


def test_whoever_set_off_a_ci_is_named():
    assert current_user({"GITHUB_ACTOR": "ada"}) == "ada"
    assert "@" in current_user({})


def test_the_first_run_with_a_gate_on_a_baseline_is_open_and_can_become_it(store, evaluate):
    gates = ["pass_rate >= 1 %", "average >= release - 3 points"]
    first = evaluate(gates=gates)
    assert first.verdict is Verdict.AMBIGUOUS
    (told,) = stored_results(first)
    assert told.reason.startswith("suite words has no baseline 'release'")
    with pytest.raises(UsageError, match="suite words has no baseline 'release'"):
        held_against(store, first, strict=True)
    set_baseline(store, first, "release", by="ada")
    assert evaluate(gates=gates).verdict is Verdict.PASS
    worse = evaluate(WRONG, gates=gates)
    assert worse.verdict is Verdict.FAIL
    assert [each.gate for each in stored_results(worse)] == ["average >= release - 3 points"]


def test_what_a_run_came_to_stays_whatever_becomes_of_the_baseline(store, evaluate):
    gates = ["average >= release - 3 points"]
    good, bad = evaluate(), evaluate(WRONG)
    set_baseline(store, good, "release", by="ada")
    worse = evaluate(WRONG, gates=gates)
    set_baseline(store, bad, "release", by="ada")
    report = build_report(store, store.run(worse.id))
    assert report.decision.verdict is worse.verdict is Verdict.FAIL
    (now,) = held_against(store, store.run(worse.id), strict=True)
    assert now.verdict is Verdict.PASS


def test_a_run_against_a_baseline_fails_when_it_is_worse(store, evaluate):
    set_baseline(store, evaluate(), "release", by="ada")
    same, worse = evaluate(against="release", gates=[]), evaluate(WRONG, against="@release", gates=[])
    assert (same.verdict, worse.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert [each.gate for each in stored_results(worse)] == ["pass_rate >= @release"]


def test_a_suite_that_says_how_far_the_deciding_figure_may_fall_has_the_word(store, evaluate):
    set_baseline(store, evaluate(), "release", by="ada")
    own = ["pass_rate >= release - 20 points"]
    assert [each.gate for each in stored_results(evaluate(against="release", gates=own))] == own
    sliced = ["category.*.average >= release - 20 points"]
    found = [each.gate for each in stored_results(evaluate(against="release", gates=sliced))]
    assert found == [*sliced, *sliced, "pass_rate >= @release"]


def test_another_signature_leaves_it_open_unless_asked_anyway(store, evaluate):
    set_baseline(store, evaluate(), "release", by="ada")
    looser = {"score": {"word": {"contains": {"expected": "expected.word"}}}}
    run = evaluate(WRONG, against="release", gates=[], **looser)
    assert run.verdict is Verdict.AMBIGUOUS
    assert "the scorers differ" in stored_results(run)[0].reason
    assert evaluate(WRONG, against="release", allow_mismatch=True, gates=[], **looser).verdict is Verdict.FAIL


def test_a_run_may_be_held_against_any_run(store, evaluate):
    first = evaluate()
    assert evaluate(WRONG, against="LAST", gates=[]).verdict is Verdict.FAIL
    assert find_reference(store, first.id[:-1], "words").run_id == first.id


def test_a_reference_that_does_not_exist_is_a_mistake_before_anything_runs(store, evaluate):
    evaluate()
    with pytest.raises(UsageError, match="suite words has no baseline 'relase'"):
        evaluate(against="relase")
    with pytest.raises(UsageError, match="suite words has no baseline 'nope'"):
        evaluate(against="@nope")
    assert len(store.runs()) == 1


def test_scoring_again_does_not_carry_over_what_the_first_came_to(store, evaluate, tmp_path):
    set_baseline(store, evaluate(), "release", by="ada")
    run = evaluate(WRONG, against="release")
    assert stored_results(run)
    again = weighing.rescore(load_suite(write_suite(tmp_path / "again", n=12)), store, store.run(run.id))
    assert stored_results(again) == ()


def test_a_baseline_of_another_suite_is_not_meant(store, evaluate):
    set_baseline(store, evaluate(name="others"), "release", by="ada")
    with pytest.raises(UsageError, match="suite words has no baseline 'release'"):
        evaluate(against="@release")
    with pytest.raises(UsageError, match="'release' is a run of suite others, not of words"):
        evaluate(against="release")


def test_a_baseline_shows_its_own_figures_and_how_far_they_are_from_those_before(store, tmp_path):
    levels = ((0.8, 0.9, 0.95), (0.6, 0.7, 0.5), (0.7, 0.75, 0.65))
    for number, (average, median, rate) in enumerate(levels):
        run = made_run(number, average, figures={"median": median, "pass_rate": rate, "missing": 2})
        keep(store, run)
        store.log_baseline(BaselineEntry("chairs", "release", run.id, JAN_1 + number * DAY, "ada"))
    url = str(tmp_path / "steelyard.db")
    data = json.loads(invoke("baseline", "show", "release", "--json", "--store", url))
    assert (data["run"], data["average"]["value"], data["pass_rate"]["value"]) == ("chairs-002", 0.7, 0.65)
    assert (data["average"]["n"], data["average"]["n_missing"]) == (50, 2)
    # Then and now, of the lock before and of the first.
    assert [(item["run"], item["moved"]) for item in data["drift"]] == [
        ("chairs-001", {"pass rate": [0.5, 0.65], "average": [0.6, 0.7]}),
        ("chairs-000", {"pass rate": [0.95, 0.65], "average": [0.8, 0.7]}),
    ]
    said = " ".join(invoke("baseline", "show", "release", "--store", url).split())
    assert "Average 70.0 % [62.0, 78.0] n 50, 2 missing" in said
    assert "Median 75.0 % [67.0, 83.0] n 50 " in said
    assert "65.0 %" in said
    assert "pass rate 50.0 % -> 65.0 % (+15.0 points), average 60.0 % -> 70.0 % (+10.0 points)" in said
    assert "pass rate 95.0 % -> 65.0 % (-30.0 points), average 80.0 % -> 70.0 % (-10.0 points)" in said
