"""Why the headline number moved, worked out by hand. Every portion is B minus A; all of them sum to the change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.columns import Made
from parts.compared import compared
from parts.lengths import examples
from steelyard.comparing.attribution import attribute
from steelyard.comparing.attribution_model import Attribution, Cause, How, Portion, ScoredAgain
from steelyard.comparing.attribution_sentences import sentence
from steelyard.comparing.compare import compare
from steelyard.comparing.explain import explain_portion
from steelyard.pairing.cases import common_cases
from steelyard.stats.intervals import Estimate
from steelyard.suite.case import Case

BY_SCORE = {"passing": None}
MODEL = {"passing": None, "judge": {"mode": "model"}}
T_3 = 3.182446
"""The 97.5 % point of Student's t with 3 degrees of freedom (printed tables)."""


def samples(scores, **more):
    """Case k has the k-th score; None is a call that failed."""
    return [
        Made(f"c{k:02d}", score, "scored" if score is not None else "target_failed", **more)
        for k, score in enumerate(scores)
    ]


def run(scores, **more):
    made = scores if scores and isinstance(scores[0], Made) else samples(scores)
    return compared(made, **({"described": BY_SCORE} | more))


def judged(scores, judge, **more):
    """A run whose samples a model has read."""
    made = run(scores, described=MODEL, signature={"judge": judge, "rules": "r"}, **more)
    n = made.columns.n
    return replace(made, columns=replace(made.columns, mode=np.zeros(n, dtype=int), modes=["model"]))


def split(a, b, again=None, same=()):
    """The attribution; `again` is what scoring again gives, `same` are positions of pairs with the same answer."""

    def identical(first, second):
        return np.isin(np.arange(len(first)), list(same))

    return attribute(a, b, common_cases(a, b), None if again is None else lambda _: again, identical)[0]


def by_cause(result):
    check_sum(result)
    return {portion.causes: portion.change.value for portion in result.portions}


def check_sum(result):
    assert sum(portion.change.value for portion in result.portions) == pytest.approx(result.total, abs=1e-9)
    assert len({portion.causes for portion in result.portions}) == len(result.portions)


def test_without_any_other_change_all_of_it_is_the_systems():
    a, b = run([0.2, 0.4, 0.6, 0.8]), run([0.3, 0.4, 0.9, 0.8])
    found = split(a, b)
    # 2.0 / 4 to 2.4 / 4
    assert (found.total, by_cause(found)) == (pytest.approx(0.1), {(Cause.SYSTEM,): pytest.approx(0.1)})
    assert found.only_the_system
    assert found.sentence == "+10.0 points, all of it the system's (cannot tell)"


def test_the_systems_part_is_the_difference_that_compare_tells_with_its_interval():
    a, b = run([0.0] * 12 + [1.0] * 8, described={}), run([1.0] * 9 + [0.0] * 3 + [1.0] * 7 + [0.0], described={})
    told = compare(a, b).metrics[0].difference
    system = split(a, b).portions[-1].change
    assert (system.value, system.low, system.high) == (told.value, told.low, told.high)
    assert not split(a, b).portions[-1].cannot_tell


def test_removed_cases_explain_a_rise_that_no_answer_made():
    # Two hard prompts were removed: 2.0 / 4 became 2.0 / 2.
    a, b = run([1.0, 1.0, 0.0, 0.0]), run([1.0, 1.0])
    found = split(a, b)
    assert by_cause(found) == {(Cause.CASES,): 0.5, (Cause.SYSTEM,): 0.0}
    assert found.sentence == "+50.0 points; of these +50.0 other cases, 0.0 system"


def test_added_and_removed_cases_are_taken_off_on_their_own_side():
    a = run([Made("old", 0.0), Made("x", 0.4), Made("y", 0.8)])
    b = run([Made("x", 0.5), Made("y", 0.9), Made("new", 1.0), Made("newer", 0.8)])
    found = split(a, b)
    # A: 1.2 / 3 = 0.4, common 0.6; B: 3.2 / 4 = 0.8, common 0.7. Cases (0.6 - 0.4) + (0.8 - 0.7), system 0.7 - 0.6.
    assert by_cause(found) == {(Cause.CASES,): pytest.approx(0.3), (Cause.SYSTEM,): pytest.approx(0.1)}


def test_what_both_sides_drop_may_come_to_more_than_all_points():
    a = run([Made("old", 1.0), *(Made(f"older{k}", 1.0) for k in range(8)), Made("x", 0.0)])
    b = run([Made("x", 1.0), Made("new", 0.0), *(Made(f"newer{k}", 0.0) for k in range(8))])
    # A: 0.9 to 0.0 of the one that both have, B: 1.0 to 0.1. (0.1 - 1.0) - (0.9 - 0.0), and 1.0 is left.
    cases, system = split(a, b).portions
    assert (cases.change.value, system.change.value) == (pytest.approx(-1.8), pytest.approx(1.0))
    assert cases.change.low <= cases.change.value <= cases.change.high


def test_another_question_under_the_same_id_has_a_part_of_its_own():
    b = run([1.0, 0.5], cases={"c00": Case("c00", "another question", "c00")})
    found = split(run([0.0, 0.5]), b)
    # A: 0.25, common 0.5; B: 0.75, common 0.5.
    assert by_cause(found) == {(Cause.QUESTIONS,): pytest.approx(0.5), (Cause.SYSTEM,): 0.0}
    assert "+50.0 other questions" in found.sentence


def test_failed_calls_have_their_own_part_and_are_no_change_of_the_system():
    # A: (0.2 + 0.6 + 1.0) / 3 = 0.6; B: (0.2 + 0.5) / 2 = 0.35. Both have c00 and c01: 0.4 and 0.35.
    found = split(run([0.2, 0.6, 1.0]), run([0.2, 0.5, None]))
    assert by_cause(found) == {(Cause.AVAILABILITY,): pytest.approx(-0.2), (Cause.SYSTEM,): pytest.approx(-0.05)}
    assert found.portions[0].message == "scored on one side only: 1 of A, 0 of B"
    assert found.portions[0].how is How.COUNTED


def test_the_interval_of_removed_cases_is_that_of_what_each_case_adds():
    # m(common) - m(all) = 1 - 0.5. Deviations: kept cases 0 / 2 - 0.5 / 4, removed ones 0.5 / 4: 4 squares of 1 / 64;
    # error = sqrt(4 / 3 * 4 / 64), and t with 3 degrees of freedom.
    change = split(run([1.0, 1.0, 0.0, 0.0]), run([1.0, 1.0])).portions[0].change
    half = T_3 * (4 / 3 * 4 / 64) ** 0.5
    assert (change.low, change.high) == (pytest.approx(0.5 - half, abs=1e-6), pytest.approx(1.0))  # cut at 100 points


def test_scorers_then_truth_then_what_is_left():
    a = run([0.0, 0.0, 1.0, 1.0], signature={"scorers": "s1"})
    b = run([1.0, 0.5, 1.0, 0.5], signature={"scorers": "s2"}, cases={"c01": Case("c01", "c01", "edited")})
    again = ScoredAgain(np.array([0.2, 0.0, 1.0, 0.6]), np.array([0.2, 0.8, 1.0, 0.6]))
    found = split(a, b, again)
    # Means 0.5, 0.45, 0.65, 0.75.
    assert by_cause(found) == {
        (Cause.SCORERS,): pytest.approx(-0.05),
        (Cause.TRUTH,): pytest.approx(0.2),
        (Cause.SYSTEM,): pytest.approx(0.1),
    }
    assert found.sentence.startswith("+25.0 points; of these +20.0 truth edits, -5.0 scorers and weights, +10.0 system")
    check_sum(found)


def test_edited_truths_are_listed_by_what_they_moved():
    cases = {name: Case(name, name, "edited") for name in ("c00", "c01", "c02")}
    a, b = run([0.0, 0.5, 0.3, 1.0]), run([1.0] * 4, cases=cases)
    edits = split(a, b, ScoredAgain(truth=np.array([0.25, 1.0, 0.3, 1.0]))).truth_edits
    assert (edits.n_cases, edits.n_moved) == (3, 2)
    assert [(one.case_id, one.n, one.moved, one.part) for one in edits.listed] == [
        ("c01", 1, 0.5, 0.125),
        ("c00", 1, 0.25, 0.0625),
    ]


def test_answers_that_the_other_suite_cannot_read_count_as_missing():
    # 1 of 40 has no reading by B's scorers; the others are worth what they were. A: 20 / 40, without it 20 / 39.
    a, b = (run([0.0] * 20 + [1.0] * 20, signature={"scorers": name}) for name in "st")
    values = np.array([np.nan] + [0.0] * 19 + [1.0] * 20)
    found = split(a, b, ScoredAgain(scorers=values, truth=values))
    # It is taken off on both sides, where it is worth the same.
    assert by_cause(found)[(Cause.AVAILABILITY,)] == pytest.approx(0.0)
    told = "scored on one side only: 0 of A, 0 of B; pairs that B's suite cannot score: 1"
    assert found.portions[0].message == told
    check_sum(found)


def test_a_suite_that_cannot_read_many_answers_is_not_believed():
    a, b = (run([0.5] * 10, signature={"scorers": name}) for name in "st")
    values = np.array([np.nan] * 3 + [1.0] * 7)
    found = split(a, b, ScoredAgain(scorers=values, truth=values))
    assert [portion.causes for portion in found.portions] == [(Cause.SCORERS, Cause.SYSTEM)]
    assert found.joined == ("B's suite cannot score 3 of 10 answers of A",)


def test_truth_that_nobody_scored_again_is_joined_with_the_system_in_its_cases_only():
    b = run([0.5, 0.6, 0.7, 0.9], cases={"c00": Case("c00", "c00", "edited")})
    found = split(run([0.1, 0.6, 0.7, 0.8]), b)
    # 0.4 / 4 in the edited case, 0.1 / 4 in the others.
    assert by_cause(found) == {(Cause.TRUTH, Cause.SYSTEM): pytest.approx(0.1), (Cause.SYSTEM,): pytest.approx(0.025)}
    assert "truth edits and system together" in found.sentence


def test_scorers_that_are_not_found_are_joined_and_not_guessed():
    a, b = run([0.2, 0.4], signature={"scorers": "s"}), run([0.4, 0.8], signature={"scorers": "t"})
    found = split(a, b, ScoredAgain(untold={Cause.SCORERS: "the suite is gone"}))
    assert by_cause(found) == {(Cause.SCORERS, Cause.SYSTEM): pytest.approx(0.3)}
    assert found.joined == ("the suite is gone",)
    assert found.sentence == "+30.0 points, all of it scorers and system together (cannot tell)"


SHIFTED = [0.1, 0.1, 0.2, 0.2]
"""What another judge gives four identical answers above the first one: 0.15 in the mean."""


def another_judge(*, same, bought=None):
    """Ten texts at 0.4; B's judge gives identical answers more, and the six other ones are 0.3 better by it."""
    a = judged([0.4] * 10, "j1")
    b = judged([0.4 + shift for shift in SHIFTED] + [0.7] * 6, "j2")
    return split(a, b, None if bought is None else ScoredAgain(judge=bought), same=same)


def test_identical_answers_measure_another_judge():
    found = another_judge(same=range(4))
    # The judge's 0.15 is carried over to all 10; what is left of (0.6 + 6 * 0.3) / 10 = 0.24 is the system's.
    assert by_cause(found) == {(Cause.JUDGE,): pytest.approx(0.15), (Cause.SYSTEM,): pytest.approx(0.09)}
    judge = found.portions[0]
    # The mean of 0.1, 0.1, 0.2, 0.2 with its t interval: s = 0.057735, s / sqrt(4) = 0.028868.
    assert (judge.change.low, judge.change.high) == (
        pytest.approx(0.15 - T_3 * 0.0288675, abs=1e-6),
        pytest.approx(0.15 + T_3 * 0.0288675, abs=1e-6),
    )
    assert (judge.how, judge.cannot_tell, judge.change.n) == (How.ANCHORS, False, 4)
    assert judge.message == "the same answer in both runs: 4; of 10 judged pairs"


def test_without_anchors_judge_and_system_cannot_be_separated():
    found = another_judge(same=())
    assert by_cause(found) == {(Cause.JUDGE, Cause.SYSTEM): pytest.approx(0.24)}
    assert "judge and system together" in found.sentence
    assert "--rejudge N" in found.joined[0]


def test_identical_answers_do_not_stand_for_scorers_that_are_not_found():
    a, b = judged([0.4] * 10, "j1"), judged([0.5] * 10, "j2")
    b.header.signature = replace(b.header.signature, scorers="s2")
    found = split(a, b, same=range(4))
    assert by_cause(found) == {(Cause.SCORERS, Cause.JUDGE, Cause.SYSTEM): pytest.approx(0.1)}


def test_one_anchor_is_none():
    assert [portion.causes for portion in another_judge(same=[0]).portions] == [(Cause.JUDGE, Cause.SYSTEM)]


def test_bought_anchors_stand_for_the_answers_that_are_not_identical():
    bought = np.full(10, np.nan)
    bought[[4, 6, 8]] = [0.6, 0.7, 0.8]  # by B's judge; A's gave 0.4
    found = another_judge(same=range(4), bought=bought)
    # Identical ones exactly 0.6 / 10; the six others by the mean of 0.2, 0.3, 0.4: 0.6 * 0.3.
    assert by_cause(found) == {(Cause.JUDGE,): pytest.approx(0.24), (Cause.SYSTEM,): pytest.approx(0.0)}
    assert (found.anchors.identical, found.anchors.bought, found.anchors.n_cases) == (4, 3, 7)
    assert found.portions[1].cannot_tell


def test_anchors_that_agree_are_no_certainty():
    a, b = judged([0.5] * 10, "j1"), judged([0.5] * 4 + [0.9] * 6, "j2")
    judge, system = split(a, b, same=range(4)).portions
    # None of 4 moved: at most as a rate would by Bonett and Price, 1.96 * sqrt(2) / 6.
    assert (judge.change.value, judge.change.high) == (0.0, pytest.approx(0.461967, abs=1e-6))
    assert judge.cannot_tell
    # What is off in one is off in the other. By itself: deviations (4 * 0.024^2 + 6 * 0.016^2), times 4 / 3, is an
    # error of 0.071554 and with t 0.227715; both: sqrt(0.227715^2 + 0.461967^2) = 0.515045.
    assert (system.change.value, system.change.low) == (pytest.approx(0.24), pytest.approx(0.24 - 0.515045, abs=1e-5))
    assert system.cannot_tell


def test_a_drift_that_every_answer_shows_alike_is_no_guess():
    a, b = judged([0.75] * 12, "j"), judged([0.25] * 12, "j")
    judge, system = split(a, b, same=range(12)).portions
    # 1.96 * sqrt(2) / 14 to either side; the system has answered as before, to the byte.
    assert (judge.change.low, judge.change.high) == (
        pytest.approx(-0.697986, abs=1e-6),
        pytest.approx(-0.302014, abs=1e-6),
    )
    assert (judge.change.value, judge.cannot_tell) == (-0.5, False)
    assert (system.change.value, system.change.low, system.cannot_tell) == (0.0, None, False)


def test_another_judge_that_reads_every_answer_alike_has_no_part():
    a, b = judged([0.2, 0.5, 0.8], "j1"), judged([0.2, 0.5, 0.8], "j2")
    found = split(a, b, same=range(3))
    assert found.sentence == "0.0 points; of these 0.0 judge, 0.0 system"


def test_the_same_judge_has_the_part_of_identical_answers_and_no_more_without_a_drift():
    a, b = judged([0.5] * 10, "j"), judged([0.6, 0.4, 0.7, 0.5] + [0.8] * 6, "j")
    found = split(a, b, same=range(4))
    # 0.2 / 10 on answers that are the same, 1.8 / 10 on the others.
    assert by_cause(found) == {(Cause.JUDGE,): pytest.approx(0.02), (Cause.SYSTEM,): pytest.approx(0.18)}
    assert found.portions[0].cannot_tell


def test_a_judge_that_drifts_beyond_noise_is_carried_over():
    a = judged([0.5] * 20, "j")
    b = judged([0.6 + 0.01 * (k % 2) for k in range(10)] + [0.6] * 10, "j")
    found = split(a, b, same=range(10))
    # 0.105 on every anchor; nothing is left: (1.05 + 1.0) / 20 - 0.105.
    assert by_cause(found) == {(Cause.JUDGE,): pytest.approx(0.105), (Cause.SYSTEM,): pytest.approx(-0.0025)}


def test_the_same_judge_that_reads_another_truth_moves_by_the_truth():
    cases = {"c00": Case("c00", "c00", "edited")}
    a, b = judged([0.5] * 4, "j"), judged([0.9, 0.5, 0.5, 0.5], "j", cases=cases)
    found = split(a, b, ScoredAgain(truth=np.array([0.5] * 4)), same=range(4))
    assert by_cause(found) == {(Cause.TRUTH,): pytest.approx(0.1), (Cause.SYSTEM,): 0.0}


def test_a_judge_that_is_code_is_exact():
    a, b = judged([0.5] * 4, "j1"), judged([0.9, 0.7, 0.8, 0.8], "j2")
    found = split(a, b, ScoredAgain(judge=np.array([0.7, 0.7, 0.7, 0.7]), by_code=True))
    assert by_cause(found) == {(Cause.JUDGE,): pytest.approx(0.2), (Cause.SYSTEM,): pytest.approx(0.1)}
    assert found.portions[0].how is How.SCORED_AGAIN


def test_noise_is_reported_with_the_share_of_repeats():
    def repeated(*values):
        return [Made(f"c{k}", value, repeat=r) for k, pair in enumerate(values) for r, value in enumerate(pair)]

    a = run(repeated((0.0, 0.0), (0.0, 0.0)))
    b = run(repeated((0.1, 0.3), (0.3, 0.5)))
    noise = split(a, b).noise
    # Variance in a case 0.02, so 2 * 0.02 * 2 / 16 = 0.005; over cases: means 0.2 and 0.4, error 0.1, squared 0.01.
    assert noise.of_repeats == pytest.approx(0.5)
    # 0.3 with t of one degree of freedom is -0.9706 to 1.5706, which no score reaches: half of -0.9706 to 1.
    assert noise.half_width == pytest.approx((1 + 12.706205 * 0.1 - 0.3) / 2, abs=1e-6)


def test_runs_that_share_nothing_have_one_part():
    found = split(run([Made("x", 0.2)]), run([Made("y", 0.9)]))
    assert by_cause(found) == {(Cause.CASES, Cause.SYSTEM): pytest.approx(0.7)}
    assert found.joined == ("the two runs have no case in common: causes cannot be separated",)
    only_failed = split(run([0.2, None]), run([None, 0.9]))
    assert by_cause(only_failed) == {(Cause.AVAILABILITY, Cause.SYSTEM): pytest.approx(0.7)}


def test_without_pairs_every_known_difference_is_in_the_one_part():
    b = run(
        [Made("c00", 0.9), Made("c01", None, "target_failed"), Made("c02", 0.9)],
        cases={"c00": Case("c00", "another question", "c00"), "c01": Case("c01", "c01", "relabelled")},
        signature={"judge": "j2", "scorers": "s2"},
    )
    found = split(run([Made("c00", 0.2), Made("c01", 0.2)], signature={"judge": "j1"}), b)
    causes = (
        Cause.CASES,
        Cause.QUESTIONS,
        Cause.AVAILABILITY,
        Cause.SCORERS,
        Cause.TRUTH,
        Cause.JUDGE,
        Cause.SYSTEM,
    )
    assert by_cause(found) == {causes: pytest.approx(0.7)}
    names = "other cases, other questions, inconclusive samples, scorers, truth edits, judge and system together"
    assert found.sentence == f"+70.0 points, all of it {names} (cannot tell)"
    stands_on = "without a counterpart: 0 of A, 1 of B; another question: 1 of A, 1 of B"
    assert found.portions[0].message == f"{stands_on}; scored on one side only: 1 of A, 0 of B"
    assert found.joined == ("no sample of the same question is scored in both runs: causes cannot be separated",)


def test_a_run_without_any_reading_has_no_change_to_explain():
    found = split(run([0.2]), run([None]))
    assert (found.total, found.portions) == (None, ())
    assert found.sentence == "the change cannot be attributed: run B has no scored sample"


def test_the_sentence_names_the_largest_first_and_the_system_last():
    portions = (
        Portion((Cause.JUDGE,), Estimate(0.006, 9), How.ANCHORS),
        Portion((Cause.TRUTH,), Estimate(0.014, 9), How.SCORED_AGAIN),
        Portion((Cause.SYSTEM,), Estimate(-0.001, 9), How.LEFT, cannot_tell=True),
    )
    made = Attribution("pass_rate", Estimate(0.5, 9), Estimate(0.519, 9), 0.019, portions)
    assert sentence(made) == "+1.9 points; of these +1.4 truth edits, +0.6 judge, -0.1 system (cannot tell)"


scores = st.one_of(st.none(), st.floats(0, 1).map(lambda one: round(one, 3)))
kept = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1), scores), unique_by=lambda one: one[:2], max_size=14)


@settings(max_examples=examples(80))
@given(kept, kept, st.data())
def test_whatever_changed_the_parts_sum_to_the_whole(before, after, data):
    def made(rows):
        return [
            Made(f"c{case}", score, "target_failed" if score is None else "scored", repeat=repeat)
            for case, repeat, score in rows
        ]

    by_pass = data.draw(st.booleans())
    described = {"passing": {"at_least": 0.75, "text": ""} if by_pass else None, "judge": {"mode": "model"}}
    edited = data.draw(st.sets(st.integers(0, 7)))
    cases = {f"c{k}": Case(f"c{k}", f"c{k}", "edited") for k in edited}
    runs = []
    for rows, more in ((before, {}), (after, {"cases": cases})):
        parts = {part: data.draw(st.sampled_from("xy")) for part in ("scorers", "judge", "rules")}
        one = compared(made(rows), described=described, signature=parts, **more)
        runs.append(replace(one, columns=replace(one.columns, mode=np.zeros(len(rows), dtype=int), modes=["model"])))
    marks = data.draw(st.lists(st.booleans(), min_size=16, max_size=16))
    values = st.lists(st.one_of(st.just(float("nan")), st.sampled_from([0.0, 1.0])), min_size=16, max_size=16)
    again = data.draw(st.one_of(st.none(), st.tuples(values, values, values, st.booleans())))

    def score_again(wanted):
        arrays = [np.array(each[: len(wanted.first)]) for each in again[:3]]
        return ScoredAgain(*arrays, by_code=again[3])

    a, b = runs
    found, traces = attribute(
        a,
        b,
        common_cases(a, b),
        None if again is None else score_again,
        lambda first, _: np.array(marks[: len(first)], dtype=bool),
    )
    if found.total is None:
        assert found.portions == ()
        return
    check_sum(found)
    for portion in found.portions:
        rows = explain_portion(found, portion, traces[portion.causes]).contributing
        assert sum(row.value for row in rows) == pytest.approx(portion.change.value, abs=1e-9)
        low, value, high = portion.change.low, portion.change.value, portion.change.high
        assert low is None or low <= value <= high
    assert found.portions[-1].causes[-1] is Cause.SYSTEM


@settings(max_examples=examples(30))
@given(st.permutations(range(6)))
def test_the_order_of_samples_changes_nothing(order):
    made = samples([0.1, 0.5, None, 0.7, 0.9, 0.3])
    b = run(samples([0.4, 0.2, 0.8, None, 1.0]))
    assert split(run([made[k] for k in order]), b) == split(run(made), b)
