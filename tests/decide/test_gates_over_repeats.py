"""Gates on checks and stability: what is undecided never passes, never fails, and is told."""

from __future__ import annotations

import pytest

from parts.columns import Made, columns, suite
from parts.described import check_on_run, summarise
from parts.looped import for_every
from parts.repeats import cell, compared, expecting, summed_up
from steelyard.decide.gates import Scope, evaluate, evaluate_criteria
from steelyard.decide.verdict import decide
from steelyard.errors import UsageError
from steelyard.records import Item, Verdict
from steelyard.suite.models import Criterion, SuiteModel

PASS, FAIL, AMBIGUOUS = Verdict.PASS, Verdict.FAIL, Verdict.AMBIGUOUS
LEVEL = {"level": "equal"}


def verdict(gate, summary):
    (result,) = evaluate([gate], summary)
    return result.verdict


def ten(good: int, open_: int):
    """Ten cases of one check: so many hold, so many did not run, the others fail."""
    rows = "p" * good + "-" * open_ + "f" * (10 - good - open_)
    return summed_up(*(cell(f"c{i}", x=row) for i, row in enumerate(rows)))


@for_every("metric", ["cases.passed", "checks.passed", "check.x.passed"])
@for_every(
    ("good", "open_", "expected"),
    [
        (8, 0, PASS),
        (7, 0, FAIL),
        (8, 2, PASS),
        # 7 of 10 hold and one could: nobody knows.
        (7, 1, AMBIGUOUS),
        # 5 hold and 2 could, which is 7 at most.
        (5, 2, FAIL),
        (0, 10, AMBIGUOUS),
    ],
)
def test_what_cannot_be_decided_leaves_a_gate_open_only_when_it_could_turn_it(metric, good, open_, expected):
    assert verdict(f"{metric} >= 80 %", ten(good, open_)) is expected


@for_every(
    ("gate", "expected"),
    [
        ("cases.passed == 70 %", AMBIGUOUS),
        ("cases.passed == 80 %", AMBIGUOUS),
        ("cases.passed == 90 %", FAIL),
        ("cases.passed != 90 %", PASS),
        ("cases.passed != 80 %", AMBIGUOUS),
        ("cases.passed < 80 %", AMBIGUOUS),
        ("cases.passed < 90 %", PASS),
        ("cases.passed <= 60 %", FAIL),
    ],
)
def test_the_other_operators_are_left_open_likewise(gate, expected):
    assert verdict(gate, ten(7, 1)) is expected


def test_the_reason_says_how_many_cannot_be_decided():
    (result,) = evaluate(["cases.passed >= 80 %"], ten(7, 1))
    assert result.reason == (
        "1 of 10 is undecided and could change it: it is 70.0 %, and with them between 70.0 % and 80.0 %"
    )
    assert (result.value.value, result.value.n, result.value.n_missing) == (0.7, 9, 1)


def test_a_minimum_n_counts_those_that_could_be_reported():
    assert verdict("cases.passed >= 50 % with n >= 9", ten(7, 1)) is PASS
    assert verdict("cases.passed >= 50 % with n >= 10", ten(7, 1)) is AMBIGUOUS


def test_pass_all_and_flaky():
    # Clean in 3 of 4 and in 4 of 4 repeats: pass^2 is (1/2 + 1) / 2, and one of two cases is flaky.
    summary = summed_up(cell("a", x="pppf"), cell("b", x="pppp"))
    assert verdict("pass_all.2 >= 75 %", summary) is PASS
    assert verdict("pass_all.2 > 75 %", summary) is FAIL
    assert verdict("flaky_rate <= 50 %", summary) is PASS
    assert verdict("flaky_rate < 50 %", summary) is FAIL


@pytest.mark.parametrize(
    ("gate", "asked"), [("pass_all.3 >= 10 %", 3), ("flaky_rate <= 99 %", 2), ("stability.level >= 10 %", 2)]
)
def test_a_gate_that_asks_for_more_repeats_than_there_are_is_open_and_says_so(gate, asked):
    summary = summed_up(cell("a", x="p")) if "stab" not in gate else compared({"a": [[Item("x", ("low",))]]}, LEVEL)
    (result,) = evaluate([gate], summary)
    assert result.verdict is AMBIGUOUS
    assert f"it asks for {asked} repeats and this run has 1: run with -n {asked}" in result.reason


def test_with_fewer_repeats_than_the_suite_asks_for_gates_that_need_them_are_left_out():
    summary = summed_up(cell("a", x="p"), cell("b", x="p"))
    gates = ["cases.passed >= 50 %", "pass_all.3 >= 10 %"]
    decision = decide(summary, SuiteModel(gates=tuple(gates), usual_repeats=3))
    assert (decision.verdict, [each.secondary for each in decision.gates]) == (PASS, [False, True])
    assert decision.reasons[0] == "the gate that decides passes"
    assert decision.reasons[1].startswith("pass_all.3 >= 10 %: left out: n/a: no data; it asks for 3")
    # A suite that never asks often enough for its own gates, and one with no other gate, are told so.
    assert decide(summary, SuiteModel(gates=tuple(gates), usual_repeats=1)).verdict is AMBIGUOUS
    assert decide(summary, SuiteModel(gates=tuple(gates[1:]), usual_repeats=3)).verdict is AMBIGUOUS


def test_stability_decides_on_what_was_compared():
    low, high = Item("x", ("low",)), Item("x", ("high",))
    summary = compared({"a": [[low], [low], [high]], "b": [[low], [low, Item("y", ("low",))], [low]]}, LEVEL)
    # a: levels agree in 1 of 3 pairs, b in 3 of 3: 2/3. Presence: a 3 of 3, b 3 of 5: 4/5.
    assert verdict("stability.level >= 66 %", summary) is PASS
    assert verdict("stability.level >= 67 %", summary) is FAIL
    assert verdict("stability.presence >= 80 %", summary) is PASS
    assert verdict("stability.presence > 80 %", summary) is FAIL


def test_stability_of_empty_answers_is_no_pass():
    (result,) = evaluate(["stability.presence >= 60 %"], compared({"a": [[], []]}, LEVEL))
    assert (result.verdict, result.reason) == (AMBIGUOUS, "n/a: no data; 1 missing")


def test_a_gate_may_stand_on_a_slice_and_a_criterion_on_one_variant():
    described = expecting(repeats=2, variants=["u", "v"])
    cells = [cell(case, variant, x="pp" if variant == "u" else "pf") for case in "ab" for variant in "uv"]
    summary = summed_up(*cells, described=described)
    assert verdict("variant.u.cases.passed == 100 %", summary) is PASS
    assert verdict("variant.v.cases.passed == 100 %", summary) is FAIL
    criterion = Criterion(name="good", passes="cases.passed >= 90 %")
    found = [evaluate_criteria([criterion], Scope(summary, part))[0] for part in summary.slices["variant"]]
    assert [(each.verdict, each.value.value) for each in found] == [(PASS, 1.0), (FAIL, 0.0)]


class TestAskedOnTheCommandLine:
    def test_names_are_held_against_the_stored_run(self):
        described = expecting(holds={"x": "all"}) | {"stability": {"items": "i[]", "key": "id", "fields": LEVEL}}
        summary = summed_up(cell("a", x="p"), described=described)
        good = [
            "cases.passed >= 80 %",
            "check.x.passed >= 80 %",
            "stability.level >= 80 %",
            "stability.presence > 10 %",
        ]
        check_on_run(good, described, summary)
        with pytest.raises(UsageError) as raised:
            check_on_run(["check.y.passed >= 80 %", "stability.lvel >= 80 %"], described, summary)
        first, second = str(raised.value).splitlines()
        assert "there is no check 'y'; there are: x" in first
        assert "there is no field of stability 'lvel': did you mean level?" in second

    def test_a_run_without_checks_or_stability_refuses_their_gates(self):
        summary = summarise(columns([Made("a", 1.0)]), suite())
        with pytest.raises(UsageError) as raised:
            check_on_run(["cases.passed >= 80 %", "stability.presence >= 80 %"], suite(), summary)
        assert "needs checks" in str(raised.value)
        assert "needs repeats that are compared" in str(raised.value)
