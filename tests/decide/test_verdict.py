"""What runs come to."""

from __future__ import annotations

from typing import Any

import pytest

from parts.columns import Made, columns, suite
from parts.described import summarise
from steelyard.decide.gates import Decision
from steelyard.decide.verdict import decide
from steelyard.records import RunState, Verdict
from steelyard.report.verdicts import exit_code
from steelyard.suite.models import SuiteModel


def decision(made: list[Made], gates: list[str], **options: Any) -> Decision:
    described = suite(
        gates=gates,
        limits={"max_inconclusive": options.pop("max_inconclusive", 0.05)},
        n_planned=options.pop("n_planned", len(made)),
        without_truth=options.pop("without_truth", []),
        criteria=options.pop("criteria", []),
    )
    return decide(
        summarise(columns(made), described),
        SuiteModel.from_data(described),
        **({"state": RunState.ENDED, "suspect": ()} | options),
    )


def run(passing: int, failing: int = 0, inconclusive: int = 0) -> list[Made]:
    made = [Made(f"p{i}", 1.0) for i in range(passing)] + [Made(f"f{i}", 0.0) for i in range(failing)]
    return made + [Made(f"t{i}", None, "target_failed") for i in range(inconclusive)]


def test_all_gates_held_is_a_pass() -> None:
    found = decision(run(9, 1), ["pass_rate >= 90 %", "findings.FORMAT == 0"])
    assert (found.verdict, found.reasons) == (Verdict.PASS, ("all 2 gates pass",))
    assert [each.verdict for each in found.gates] == [Verdict.PASS, Verdict.PASS]


def test_a_run_whose_system_was_gone_at_its_end_is_invalid_whatever_its_gates_say() -> None:
    found = decision(run(9, 1), ["pass_rate >= 90 %"], gone="the service ended with exit code 7")
    assert (found.verdict, found.reasons) == (Verdict.INVALID, ("the service ended with exit code 7",))


def test_one_failed_gate_fails_the_run_even_when_another_is_undecided() -> None:
    found = decision(run(8, 2), ["pass_rate >= 90 %", "cost.total <= 1"])
    assert found.verdict is Verdict.FAIL
    assert found.reasons[0].startswith("pass_rate >= 90 %: 80.0 % is not >= 90.0 %")


def test_an_undecided_gate_leaves_the_run_undecided() -> None:
    assert decision(run(10), ["pass_rate >= 90 %", "cost.total <= 1"]).verdict is Verdict.AMBIGUOUS


def test_a_gate_that_no_case_has_a_truth_for_is_left_out_and_said() -> None:
    gates = ["pass_rate >= 90 %", "score.value.average >= 80 %", "findings.VALUE == 0", "score.valued.average >= 0.1"]
    unknown = ["score.value", "findings.VALUE"]
    found = decision(run(9, 1), gates[:3], without_truth=unknown)
    assert found.verdict is Verdict.PASS
    assert found.reasons == (
        "the gate that decides passes",
        "score.value.average >= 80 %: left out: no case of this run has a truth for value",
        "findings.VALUE == 0: left out: no case of this run has a truth for VALUE",
    )
    assert [(each.left_out, each.word) for each in found.gates] == [(False, "PASS"), *[(True, "left out")] * 2]
    # What decides can still fail, and a component of which only the answers gave nothing is as open as ever.
    assert decision(run(8, 2), gates[:3], without_truth=unknown).verdict is Verdict.FAIL
    assert decision(run(9, 1), gates, without_truth=unknown).verdict is Verdict.AMBIGUOUS


def test_a_criterion_without_a_truth_is_left_out_as_a_gate_is() -> None:
    value = {"name": "worth", "pass": "category.*.score.value.average >= 80 %", "fail": None, "secondary": False}
    found = decision(run(9, 1), ["pass_rate >= 90 %"], criteria=[value | {"about": ""}], without_truth=["score.value"])
    assert (found.verdict, [each.left_out for each in found.gates]) == (Verdict.PASS, [False, True])


def test_nothing_passes_when_all_that_decides_is_left_out() -> None:
    found = decision(run(10), ["score.value.average >= 80 %"], without_truth=["score.value"])
    assert (found.verdict, exit_code(found.verdict)) == (Verdict.AMBIGUOUS, 4)
    assert found.reasons[0] == "every deciding gate was left out: none is left that could fail"


def test_a_suspect_run_never_passes() -> None:
    found = decision(run(10), ["pass_rate >= 90 %"], suspect=("all 10 answers are identical",))
    assert found.verdict is Verdict.AMBIGUOUS
    assert found.reasons == ("suspect: all 10 answers are identical",)


def test_a_suspect_run_can_still_fail() -> None:
    assert decision(run(5, 5), ["pass_rate >= 90 %"], suspect=("zero tokens",)).verdict is Verdict.FAIL


def test_without_gates_there_is_no_verdict() -> None:
    assert decision(run(10), []).verdict is None


@pytest.mark.parametrize("gates", [[], ["pass_rate >= 90 %"]])
def test_too_many_inconclusive_samples_make_a_run_invalid_with_or_without_gates(gates: list[str]) -> None:
    found = decision(run(18, 0, 2), gates)
    assert found.verdict is Verdict.INVALID
    assert found.reasons == ("2 of 20 samples are inconclusive (10.0 %), more than the 5 % allowed",)


def test_exactly_the_allowed_share_is_allowed() -> None:
    assert decision(run(19, 0, 1), ["pass_rate >= 90 %"]).verdict is Verdict.PASS
    assert decision(run(9, 0, 1), ["pass_rate >= 90 %"], max_inconclusive=0.1).verdict is Verdict.PASS


def test_samples_that_never_came_are_as_inconclusive_as_failed_ones() -> None:
    found = decision(run(3), ["pass_rate >= 90 %"], n_planned=4)
    assert found.verdict is Verdict.INVALID
    assert found.reasons == ("1 of 4 planned samples is missing (25.0 %), more than the 5 % allowed",)
    assert decision(run(19), ["pass_rate >= 90 %"], n_planned=20).verdict is Verdict.PASS


def test_failed_and_absent_samples_are_added_up() -> None:
    # Either alone is 5 % of 20, which is allowed.
    found = decision(run(18, 0, 1), ["pass_rate >= 90 %"], n_planned=20)
    assert found.reasons == (
        "1 of 20 samples is inconclusive and 1 of 20 planned samples is missing (10.0 %), more than the 5 % allowed",
    )


def test_a_run_of_which_nothing_came_is_invalid_whatever_is_allowed() -> None:
    found = decision([], ["pass_rate >= 90 %"], max_inconclusive=1.0, n_planned=3)
    assert found.reasons == ("nothing was scored: 3 samples, 0 of them inconclusive, 3 missing",)


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.INTERRUPTED])
def test_a_run_that_has_not_finished_is_invalid(state: RunState) -> None:
    found = decision(run(10), ["pass_rate >= 90 %"], state=state)
    assert found.verdict is Verdict.INVALID
    assert state.value in found.reasons[0]


def test_a_run_in_which_every_call_failed_is_invalid_whatever_is_allowed() -> None:
    found = decision(run(0, 0, 5), ["pass_rate >= 90 %"], max_inconclusive=1.0)
    assert found.verdict is Verdict.INVALID
    assert "nothing was scored" in found.reasons[0]


def test_a_run_without_samples_is_invalid() -> None:
    assert decision([], []).verdict is Verdict.INVALID


def test_malformed_answers_are_the_systems_fault_and_not_inconclusive() -> None:
    made = [Made(f"m{i}", 0.0, "malformed", findings=("FORMAT",)) for i in range(10)]
    assert decision(made, ["pass_rate >= 90 %"]).verdict is Verdict.FAIL


def test_a_star_gate_names_the_slice_that_failed() -> None:
    made = [Made(f"x{i}", 1.0, category="x") for i in range(3)] + [Made("y", 0.0, category="y")]
    (reason,) = decision(made, ["category.*.average >= 0.6"]).reasons
    assert "category.y.average" in reason


@pytest.mark.parametrize(
    ("verdict", "code"),
    [(Verdict.PASS, 0), (Verdict.FAIL, 1), (Verdict.INVALID, 3), (Verdict.AMBIGUOUS, 4), (None, 0)],
)
def test_exit_codes(verdict: Verdict | None, code: int) -> None:
    assert exit_code(verdict) == code


def test_slices_that_a_gate_left_out_are_named_whatever_the_verdict() -> None:
    def made(score: float) -> list[Made]:
        small = [Made("s", 0.0, category="rugs"), Made("t", 0.0, category="lamps")]
        return small + [Made(f"c{i}", score, category="vases") for i in range(3)]

    gate = "category.*.average >= 60 % with n >= 2 skip small"
    said = f"{gate}: skipped as small: lamps (n 1), rugs (n 1)"
    assert decision(made(1.0), [gate]).reasons == ("the gate passes", said)
    failed = decision(made(0.5), [gate])
    assert (failed.verdict, failed.reasons[-1]) == (Verdict.FAIL, said)
