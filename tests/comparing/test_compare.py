"""What a comparison of two runs says, on runs made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parts.columns import Made, suite
from parts.compared import ONE_AB, compared
from steelyard.comparing.compare import compare
from steelyard.pairing.changes import verdict_of
from steelyard.pairing.model import MetricChange, Moved, Part, Standing, Why
from steelyard.records import Signature, Verdict
from steelyard.stats.intervals import Estimate
from steelyard.suite.case import Case


def metric(comparison, name):
    return next(each for each in comparison.metrics if each.name == name)


def ids(listed):
    return [line.case_id for line in listed.lines]


def passing(n, scores):
    return [Made(f"c{i:02d}", scores[i]) for i in range(n)]


def test_fixed_broken_unchanged_and_how_sure():
    # Of 20 cases 10 pass in A. 9 of the others are fixed and 1 is broken: exact McNemar 2 x (1 + 10) / 2^10.
    before = [1.0] * 10 + [0.0] * 10
    after = [0.0] + [1.0] * 9 + [1.0] * 9 + [0.0]
    found = compare(compared(passing(20, before)), compared(passing(20, after)))
    assert ids(found.pairs.broken) == ["c00"]
    assert ids(found.pairs.fixed) == [f"c{i}" for i in range(10, 19)]
    assert (found.pairs.fixed.count, found.pairs.broken.count, found.pairs.unchanged.count) == (9, 1, 10)
    rate = metric(found, "pass_rate")
    assert (rate.a.value, rate.b.value) == (0.5, 0.9)
    assert rate.difference.value == pytest.approx(0.4)
    assert rate.p == rate.p_adjusted == pytest.approx(22 / 1024)
    assert (rate.primary, rate.verdict, found.headline.verdict) == (True, Moved.BETTER, Moved.BETTER)
    assert found.headline.sentence.startswith("B is better: pass rate 50.0 % -> 90.0 % (+40.0 points [")
    assert found.headline.significance == "p = 0.021"


def test_without_pairs_the_mean_of_either_side_is_its_own_and_repeats_are_no_cases():
    # Each case three times over: 20 cases a side, not 60.
    sides = [[Made(f"{side}{k:02d}", (k % 5) / 4, repeat=r) for k in range(20) for r in range(3)] for side in "ab"]
    once = [[one for one in side if one.repeat == 0] for side in sides]
    found, single = (
        metric(replace_metrics(compare(compared(a), compared(b, id="made-2"))), "average") for a, b in (sides, once)
    )
    assert (found.a.value, found.b.value, found.difference.value) == (0.5, 0.5, 0.0)
    assert found.difference.low == pytest.approx(single.difference.low, abs=0.02)
    # Variance (0.25^2 x (4 + 1 + 0 + 1 + 4) / 5) x 20 / 19 = 0.13158, error of the difference sqrt(2 x 0.13158 / 20)
    # = 0.1147, and Welch's t with 38 degrees of freedom is 2.024: 0.232.
    assert single.difference.high == pytest.approx(0.232, abs=0.03)


def replace_metrics(comparison):
    return replace(comparison, metrics=comparison.unpaired.figures)


def test_failed_calls_are_never_a_change():
    # As in the lesson: 17 scores "fell", 14 of them because the judge failed in B.
    before = passing(17, [1.0] * 17)
    after = [Made(f"c{i:02d}", None, "judge_failed") for i in range(14)] + [
        Made(f"c{i:02d}", 0.0) for i in range(14, 17)
    ]
    found = compare(compared(before), compared(after))
    assert found.pairs.broken.count == 3
    assert found.pairs.not_comparable[Why.NO_READING_IN_B].count == 14
    assert metric(found, "pass_rate").a.n == 3
    assert found.headline.verdict is Moved.CANNOT_TELL
    assert found.headline.confounded_by == (
        "14 of 17 pairs are inconclusive on one side: such samples are seldom missing at random",
    )


def test_every_sample_without_a_counterpart_has_one_reason():
    a = [
        Made("both", 1.0),
        Made("gone", 1.0),
        Made("asked-anew", 1.0),
        Made("told-anew", 1.0),
        Made("dead-here", None, "target_failed"),
        Made("dead-there", 1.0),
        Made("dead", None, "judge_failed"),
    ]
    b = [
        Made("both", 1.0),
        Made("new", 1.0),
        Made("asked-anew", 0.0),
        Made("told-anew", 0.0),
        Made("dead-here", 1.0),
        Made("dead-there", None, "target_failed"),
        Made("dead", None, "target_failed"),
        Made("both", 0.0, repeat=1),
    ]
    cases = {"asked-anew": Case("asked-anew", input="another"), "told-anew": Case("told-anew", "told-anew", "new")}
    found = compare(compared(a), compared(b, cases=cases))
    assert found.pairs.comparable == 1
    assert {why: ids(listed) for why, listed in found.pairs.not_comparable.items()} == {
        Why.ONLY_IN_A: ["gone"],
        Why.ONLY_IN_B: ["both", "new"],
        Why.CHANGED_QUESTION: ["asked-anew"],
        Why.CHANGED_TRUTH: ["told-anew"],
        Why.NO_READING_IN_A: ["dead-here"],
        Why.NO_READING_IN_B: ["dead-there"],
        Why.NO_READING: ["dead"],
    }
    told = [change.sentence for change in found.signatures.changes]
    assert told == [
        "the set of cases differs: 1 case only in A and 1 case only in B; excluded",
        "the question of 1 case changed: asked-anew; excluded",
        "the truth of 1 case changed: told-anew; excluded",
    ]


def test_another_judge_blocks_the_verdict_unless_it_is_asked_for_anyway():
    a, b = compared(passing(10, [0.0] * 10)), compared(passing(10, [1.0] * 10), signature={"judge": "j2"})
    a = replace(a, header=replace(a.header, signature=replace(a.header.signature, judge="j1")))
    found = compare(a, b)
    assert found.headline.verdict is Moved.CANNOT_TELL
    assert found.headline.sentence == "cannot tell: the judge differs: scores of A and B are not on one scale"
    assert metric(found, "pass_rate").verdict is Moved.CANNOT_TELL
    anyway = compare(a, b, allow_mismatch=True)
    assert anyway.headline.verdict is Moved.BETTER
    assert anyway.headline.in_spite_of == found.headline.confounded_by


def test_a_blocked_verdict_says_nothing_against_the_clock():
    a = compared([Made(f"c{i}", 0.5, latency=1.0 + i / 100) for i in range(20)], options=ONE_AB)
    b = [Made(f"c{i}", 0.5, latency=2.0 + i / 90) for i in range(20)]
    found = compare(a, compared(b, signature={"scorers": "s2"}, options=ONE_AB))
    assert metric(found, "latency.mean").verdict is Moved.WORSE


@pytest.mark.parametrize("part", ["scorers", "rules", "judge"])
def test_each_part_of_the_scale_is_named(part):
    found = compare(compared(passing(3, [1.0] * 3)), compared(passing(3, [1.0] * 3), signature={part: "other"}))
    assert [(change.part, change.means) for change in found.signatures.changes] == [(part, Part.SCALE)]


def test_another_schema_blocks_only_where_an_answer_was_malformed():
    other = {"schema": "a2"}
    clean = compare(compared(passing(3, [1.0] * 3)), compared(passing(3, [1.0] * 3), signature=other))
    assert clean.signatures.changes[0].means is Part.NOTED
    broken = compare(compared([Made("c", 0.0, "malformed")]), compared([Made("c", 1.0)], signature=other))
    assert broken.signatures.changes[0].means is Part.SCALE


def test_what_is_compared_is_named_and_several_at_once_are_said():
    a = compared(passing(3, [1.0] * 3), described={"repeats": 1})
    b = compared(
        passing(3, [1.0] * 3),
        signature={"model": "n", "prompts": "p2", "target": "x2"},
        described={"repeats": 3},
        target={"kind": "http"},
    )
    found = compare(a, b)
    assert [change.part for change in found.signatures.subject] == ["model", "prompts"]
    assert found.signatures.several == (
        "model, prompts and repeats changed at once: cannot tell which of them caused it"
    )
    assert found.headline.confounded_by == ()


def test_an_invalid_run_is_no_side_of_a_comparison():
    b = compared(passing(9, [1.0] * 9), verdict=Verdict.INVALID, suspect=("all answers are the same",))
    found = compare(compared(passing(9, [0.0] * 9)), b)
    assert found.headline.verdict is Moved.CANNOT_TELL
    assert found.headline.confounded_by == ("run B is INVALID (all answers are the same)",)


def test_changed_truth_is_compared_only_anyway():
    truth = {f"c{i:02d}": Case(f"c{i:02d}", f"c{i:02d}", "relabelled") for i in range(3)}
    a, b = compared(passing(8, [0.0] * 8)), compared(passing(8, [1.0] * 8), cases=truth)
    found = compare(a, b)
    assert found.signatures.changes[0].sentence == "the truth of 3 cases changed: c00, c01, c02; excluded"
    few = "5 of 8 cases that either run answered can be compared, and a verdict asks for 90 % of them"
    assert (found.pairs.comparable, found.headline.confounded_by) == (5, (few,))
    anyway = compare(a, b, allow_mismatch=True)
    assert anyway.pairs.comparable == 8
    assert anyway.headline.in_spite_of == ("the truth of 3 cases changed: c00, c01, c02",)


def test_without_a_pass_rule_the_average_decides():
    described = {"passing": None}
    before = [0.1 * (i % 5) for i in range(15)]
    a = compared(passing(15, before), described=described)
    b = compared(passing(15, [score + 0.1 + 0.01 * (i % 3) for i, score in enumerate(before)]), described=described)
    found = compare(a, b)
    assert found.headline.metric == "average"
    assert (found.pairs.by_pass, found.pairs.fixed.count, found.pairs.rose.count) == (False, 0, 15)
    # mean of 0.10, 0.11, 0.12
    assert metric(found, "average").difference.value == pytest.approx(0.11)
    assert found.headline.verdict is Moved.BETTER


def test_no_sample_changing_sides_is_not_no_change_when_scores_moved():
    found = compare(compared(passing(8, [0.8] * 8)), compared(passing(8, [0.9] * 8)))
    assert metric(found, "pass_rate").verdict is Moved.SAME
    assert found.headline.verdict is Moved.CANNOT_TELL
    assert "average score 80.0 % -> 90.0 %" in found.headline.sentence


def test_many_looks_do_not_find_noise():
    # One slice of ten alone would pass for better (6 of 6 fixed: p 2/64 = 0.031); among ten it does not.
    a = [Made(f"{group}{i}", 0.0, category=group) for group in "abcdefghij" for i in range(6)]
    b = [Made(f"{group}{i}", 1.0 if group == "a" else 0.0, category=group) for group in "abcdefghij" for i in range(6)]
    found = compare(compared(a), compared(b))
    one = next(each for each in found.slices["category"] if each.name == "a")
    assert (one.n, one.n_cases, one.fixed, one.broken) == (6, 6, 6, 0)
    rate = one.metrics[0]
    assert (rate.name, rate.p) == ("pass_rate", pytest.approx(2 / 64))
    assert rate.p_adjusted == pytest.approx(20 / 64)
    assert rate.verdict is Moved.CANNOT_TELL


def test_lower_is_better_for_findings_and_undeclared_measures_only_change():
    described = {
        "components": [
            {
                "name": "name",
                "weight": 1.0,
                "code": "NAME",
                "scale": [1.0, 5.0],
                "measures": {
                    "recall": {"numerator": "hit", "denominator": "all", "about": "", "better": "higher"},
                    "odd": {"numerator": "odd", "denominator": "all", "about": ""},
                },
            }
        ]
    }

    def samples(hit, result):
        return [
            Made(
                f"c{i}",
                0.5,
                parts={"name": 3.0 + hit / 4},
                counts={"name": {"hit": hit + i % 2, "odd": hit + i % 2, "all": 4}},
                findings=("MISS",) * (result + i % 2),
            )
            for i in range(14)
        ]

    found = compare(compared(samples(1, 2), described=described), compared(samples(3, 0), described=described))
    assert metric(found, "score.name.recall").difference.value == pytest.approx(0.5)
    assert metric(found, "score.name.recall").verdict is Moved.BETTER
    assert metric(found, "score.name.odd").verdict is Moved.CHANGED
    # Findings a sample: 2.5 -> 0.5.
    assert metric(found, "findings.MISS").difference.value == pytest.approx(-2.0)
    assert metric(found, "findings.MISS").verdict is Moved.BETTER
    points = metric(found, "score.name.points")
    assert (points.a.value, points.b.value, points.unit, points.scale) == (3.25, 3.75, "points", (1.0, 5.0))


def test_codes_confusions_and_sections_are_counted_over_all():
    a = compared(
        [Made("c1", 0.5, findings=("ROLE", "ROLE", "MISS")), Made("c2", None, "judge_failed"), Made("c3", 1.0)],
        confusions=[("style", "shot"), ("style", "shot"), None],
        sections=["main", "specs", "main"],
    )
    b = compared(
        [Made("c1", 0.5, findings=("ROLE", "ROLE")), Made("c2", 0.5, findings=("MISS",)), Made("c3", 1.0)],
        confusions=[("style", "shot"), ("shot", "camera"), None],
        sections=["main", "main", "specs"],
    )
    found = compare(a, b)
    # The finding of c2 is in a sample that A has no reading of.
    assert [(each.code, each.a, each.b, each.standing) for each in found.codes] == [
        ("MISS", 1, 0, Standing.RESOLVED),
        ("ROLE", 2, 2, Standing.SAME),
    ]
    assert [(each.expected, each.got, each.a, each.b, each.standing) for each in found.confusions.listed] == [
        ("shot", "camera", 0, 1, Standing.NEW),
        ("style", "shot", 2, 1, Standing.FEWER),
    ]
    assert found.confusions.counts == {Standing.NEW: 1, Standing.FEWER: 1}
    assert [(each.section, each.a, each.b) for each in found.sections] == [("main", 2, 2), ("specs", 1, 0)]
    # Two comparable samples.
    assert (found.sections[1].rate.a.value, found.sections[1].rate.b.value) == (0.5, 0.0)


def test_old_runs_are_compared_by_what_they_have():
    old = compared(
        [Made("c", 1.0, findings=("MISS",), parts={"name": 1.0})],
        contents=False,
        described={"components": suite()["components"][:1], "bands": []},
    )
    old = replace(old, header=replace(old.header, signature=Signature(truth="t1", cases="c1")))
    new = compared(
        [Made("c", 1.0, findings=("MISS",), parts={"name": 0.5, "value": 1.0}, tokens=(5, 6))],
        confusions=[("x", "y")],
        sections=["main"],
    )
    found = compare(old, new)
    assert metric(found, "score.name.points").difference.value == -0.5
    assert tuple(each.sentence for each in found.not_compared) == (
        "component value: only B has it",
        "bands: A and B draw them differently",
        "tokens.in: only B has it",
        "tokens.out: only B has it",
        "sections: only one run says where in the text its findings are",
        "confusions: a run does not hold its texts",
    )
    assert found.headline.verdict is Moved.CANNOT_TELL
    assert any("does not say which scorers" in sentence for sentence in found.headline.confounded_by)


def test_nothing_in_common_is_not_an_error():
    found = compare(compared([Made("x", 1.0)]), compared([Made("y", 1.0)]))
    told = "cannot tell: no sample of A can be compared with one of B (1 only in A, 1 only in B)"
    assert found.headline.sentence == told
    assert (found.headline.verdict, found.pairs.comparable) == (Moved.CANNOT_TELL, 0)


def test_an_empty_run_is_not_an_error():
    found = compare(compared([]), compared([Made("y", 1.0)]))
    assert found.pairs.not_comparable[Why.ONLY_IN_B].count == 1


def test_readings_of_two_kinds_of_judges_are_never_compared():
    judge = {"rubric": {}, "members": []}
    a = compared([Made("x", 1.0)], described={"judge": judge | {"mode": "model"}})
    b = compared([Made("x", 0.0)], described={"judge": judge | {"mode": "rules"}})
    found = compare(a, b, allow_mismatch=True)
    assert found.pairs.not_comparable[Why.OTHER_MODE].count == 1


def test_pairs_of_another_kind_of_judge_are_pairs_that_may_have_no_reading():
    # Of 50 pairs 2 have inconclusive in B, and the others are read by rules: 2 of 50 are no more than 5 % twice.
    judge = {"rubric": {}, "members": []}
    a = compared(passing(50, [1.0] * 50), described={"judge": judge | {"mode": "model"}})
    dead = [Made(f"c{i:02d}", None, "judge_failed") for i in range(2)]
    b = compared([*dead, *passing(50, [1.0] * 50)[2:]], described={"judge": judge | {"mode": "rules"}})
    found = compare(a, b)
    assert (found.pairs.comparable, found.headline.confounded_by) == (0, ())
    assert found.headline.sentence.endswith("(2 inconclusive in B, 48 judged by another kind of judge)")


def test_five_cases_are_too_few_and_it_is_said():
    found = compare(compared(passing(5, [0.0] * 5)), compared(passing(5, [1.0] * 5)))
    assert found.headline.verdict is Moved.CANNOT_TELL
    assert found.headline.significance == "not sure: 5 cases are too few to show anything, 6 are the fewest"
    assert found.headline.smallest == "5 cases could not have shown any difference"


def test_another_judge_is_named():
    def judged(model):
        member = {"name": "one", "kind": "chat", "model": model, "address": None}
        return {"judge": {"mode": "model", "rubric": {}, "members": [member]}}

    a = compared([Made("x", 1.0)], described=judged("large"), signature={"judge": "j1"})
    b = compared([Made("x", 1.0)], described=judged("small"), signature={"judge": "j2"})
    change = compare(a, b).signatures.changes[0]
    assert change.sentence == "the judge differs: scores of A and B are not on one scale (large -> small)"
    assert (change.a, change.b) == ("large", "small")


def test_flags_are_better_when_fewer_and_bands_have_their_ends():
    flag = {
        "name": "harm",
        "weight": 0.0,
        "code": "",
        "scale": [0, 1],
        "when_unknown": "skip",
        "kind": "flag",
        "measures": {"rate": {"numerator": "flagged", "denominator": "judged", "about": ""}},
    }

    def samples(flagged, score):
        return [
            Made(f"c{i:02d}", score, counts={"harm": {"flagged": int(i < flagged), "judged": 1}}, parts={"harm": 0.0})
            for i in range(20)
        ]

    described = {"components": [flag]}
    found = compare(compared(samples(15, 0.1), described=described), compared(samples(2, 0.9), described=described))
    rate = metric(found, "score.harm.rate")
    assert (rate.group, rate.a.value, rate.b.value, rate.verdict) == ("flags", 0.75, 0.1, Moved.BETTER)
    assert metric(found, "band.Good").verdict is Moved.BETTER
    assert metric(found, "band.Poor").verdict is Moved.BETTER
    assert metric(found, "band.Fair").verdict is Moved.SAME
    assert not any(each.name == "score.harm.points" for each in found.metrics)


def test_a_gate_says_which_way_of_a_measure_is_better():
    part = {
        "name": "name",
        "weight": 1.0,
        "code": "NAME",
        "scale": [0.0, 1.0],
        "measures": {"extra": {"numerator": "extra", "denominator": "all", "about": ""}},
    }
    described = {"components": [part], "gates": ["score.name.extra <= 10 %", "no gate at all"]}

    def samples(extra):
        return [Made(f"c{i:02d}", 0.5, counts={"name": {"extra": extra + i % 2, "all": 5}}) for i in range(20)]

    found = compare(compared(samples(3), described=described), compared(samples(0), described=described))
    assert metric(found, "score.name.extra").verdict is Moved.BETTER


def test_repeats_of_a_case_do_not_make_it_surer():
    # Three cases with 10 repeats each, all fixed: 30 samples are three cases, and three can show nothing.
    a = [Made(f"c{i}", 0.0, repeat=r) for i in range(3) for r in range(10)]
    b = [Made(f"c{i}", 1.0, repeat=r) for i in range(3) for r in range(10)]
    rate = metric(compare(compared(a), compared(b)), "pass_rate")
    assert (rate.a.n, rate.difference.n, rate.p, rate.verdict) == (30, 3, 0.25, Moved.CANNOT_TELL)


def test_a_case_that_moved_to_another_category_is_in_neither():
    a = compared([Made("x", 1.0, category="one"), Made("y", 1.0, category="one")])
    cases = {"x": Case("x", "x", "x", category="two")}
    b = compared([Made("x", 1.0, category="two"), Made("y", 1.0, category="one")], cases=cases)
    found = compare(a, b)
    assert {each.name: each.n for each in found.slices["category"]} == {"one": 1, "(differs)": 1}
    assert found.signatures.changes[0].sentence == "category, tags or the like of 1 case changed: x"


def test_what_appears_on_one_side_only_counts_against_it():
    # A has nothing of the kind in c1, and says so by not counting it; B has two there, both wrong: 0 of 2, not n/a.
    measure = {"numerator": "right", "denominator": "answered", "about": "", "better": "higher"}
    part = {"name": "name", "weight": 1.0, "code": "NAME", "scale": [0.0, 1.0], "measures": {"precision": measure}}
    described = {"components": [part]}
    a = [
        Made("c1", 1.0, counts={"name": {"all": 3}}),
        Made("c2", 1.0, counts={"name": {"all": 3, "right": 1, "answered": 1}}),
        Made("c3", 1.0),
    ]
    b = [
        Made("c1", 1.0, counts={"name": {"all": 3, "right": 0, "answered": 2}}),
        Made("c2", 1.0, counts={"name": {"all": 3, "right": 1, "answered": 1}}),
        Made("c3", 1.0, counts={"name": {"all": 3, "right": 5, "answered": 5}}),
    ]
    found = metric(compare(compared(a, described=described), compared(b, described=described)), "score.name.precision")
    # 1 of 1 against 1 of 3; of c3 nothing was counted in A, and cannot tell.
    assert (found.a.value, found.b.value, found.a.n) == (1.0, pytest.approx(1 / 3), 2)


@pytest.mark.parametrize(("silent", "confounded"), [(2, False), (3, True)])
def test_as_many_failed_calls_as_both_runs_may_have_block_no_verdict(silent, confounded):
    # 5 % of 20 in each run, as every suite allows that says nothing else: 2 of 20 pairs.
    a = [Made(f"c{k}", 1.0) for k in range(20)]
    b = [Made(f"c{k}", None, "judge_failed") if k < silent else Made(f"c{k}", 1.0) for k in range(20)]
    assert bool(compare(compared(a), compared(b, id="made-2")).headline.confounded_by) is confounded


def test_what_weighs_in_one_run_is_no_figure_beside_the_score():
    samples = [Made(f"c{k}", 1.0, parts={"name": 1.0}) for k in range(4)]
    runs = []
    for weight in (0.0, 1.0):
        described = {"components": [{"name": "name", "weight": weight, "code": "NAME", "scale": [0, 1]}]}
        runs.append(compared(samples, described=described, id=f"made-{weight:g}"))
    for a, b in (runs, reversed(runs)):
        (change,) = [each for each in compare(a, b).metrics if each.name == "score.name.points"]
        assert change.group == "components"


def test_the_same_scores_are_not_all_that_there_is():
    a, b = ([Made(f"c{k}", 1.0, findings=found) for k in range(20)] for found in (("X",), ("X", "X")))
    moved = compare(compared(a), compared(b, id="made-2", sections=["main"] * 40))
    # The findings, all of them and those of the one code, and nothing else; sections are known of B alone.
    assert moved.headline.verdict is Moved.SAME
    assert moved.headline.sentence.endswith(", the same in every pair; but 2 other figures moved beyond noise")
    assert compare(compared(a), compared(a)).headline.sentence.endswith(", the same in every pair")


def test_being_slower_is_no_other_quality():
    a, b = ([Made(f"c{k}", 1.0, latency=seconds + k / 100) for k in range(20)] for seconds in (1.0, 3.0))
    found = compare(compared(a, options=ONE_AB), compared(b, id="made-2", options=ONE_AB))
    assert next(each for each in found.metrics if each.name == "latency.mean").verdict is Moved.WORSE
    assert found.headline.sentence.endswith(", the same in every pair")


def test_a_run_without_any_finding_has_none_in_every_section():
    clean = [Made(f"c{k}", 1.0) for k in range(8)]
    marked = [Made(f"c{k}", 1.0, findings=("X",)) for k in range(8)]
    found = compare(compared(clean), compared(marked, id="made-2", sections=["main"] * 8))
    assert [(each.section, each.a, each.b) for each in found.sections] == [("main", 0, 8)]
    assert found.not_compared == ()


def test_a_p_value_on_the_line_proves_nothing():
    change = MetricChange("x", "", "share", "higher", Estimate(0.5, 9), Estimate(0.6, 9), Estimate(0.1, 9))
    assert (verdict_of(change, 0.05), verdict_of(change, 0.0499)) == (Moved.CANNOT_TELL, Moved.BETTER)


def many_parts(moved):
    """Two runs of 50 cases with as many components of weight 1 as `moved` has pairs (fell, rose): how many of the cases
    were right in A and are wrong in B, and the other way round; each wrong one is a finding of its own code."""
    sides = [[], []]
    for i in range(50):
        for side, made in enumerate(sides):
            right = {}
            for j, (fell, rose) in enumerate(moved):
                place = (i - 7 * j) % 50
                right[f"part{j}"] = (
                    float(side == 0) if place < fell else float(side == 1) if place < fell + rose else 1.0
                )
            wrong = tuple(name.upper() for name, value in right.items() if value == 0)
            made.append(Made(f"c{i:02d}", sum(right.values()) / len(right), parts=right, findings=wrong))
    parts = [
        {"name": f"part{j}", "weight": 1.0, "code": f"PART{j}", "scale": [0.0, 1.0], "wrong_below": 0.5}
        for j in range(len(moved))
    ]
    return [compared(made, described={"components": parts}) for made in sides]


def test_a_thing_that_has_several_names_is_counted_once():
    """19 of 50 broke and 4 were fixed, a drop of 30 points."""
    found = compare(*many_parts([(19, 4), *[(4, 4)] * 9]))
    one = metric(found, "score.part0.points")
    # By scipy's binomtest of 4 in 23.
    assert one.p == pytest.approx(0.002599477767944336)
    # Ten components and the average, and no band, finding or sum of findings that is one of them by another name.
    assert one.p_adjusted == pytest.approx(11 * one.p)
    assert one.verdict is Moved.WORSE
    finding = metric(found, "findings.PART0")
    assert (finding.same_as, finding.verdict, finding.p_adjusted) == ("score.part0.points", Moved.WORSE, one.p_adjusted)
    assert metric(found, "band.Good").same_as == "pass_rate"
    assert metric(found, "findings.total").same_as == "average"


def test_different_things_that_moved_as_far_are_counted_each():
    found = compare(*many_parts([(9, 0), (9, 0), (9, 0), (4, 4)]))
    parts = [metric(found, f"score.part{j}.points") for j in range(3)]
    assert {each.same_as for each in parts} == {""}
    assert {each.p for each in parts} == {2 * 0.5**9}


def test_what_could_not_have_been_shown_is_no_look():
    """Five cases that moved stay above 5 % whichever way they did: they take nothing from the one that could."""
    found = compare(*many_parts([(7, 0), *[(3, 2)] * 12]))
    one = metric(found, "score.part0.points")
    # The average and part0 are the two that could be shown; 2 / 2^7.
    assert (one.p, one.p_adjusted, one.verdict) == (2 / 128, pytest.approx(2 * 2 / 128), Moved.WORSE)


@pytest.mark.parametrize("seed", range(6))
def test_verdict_p_and_interval_of_every_figure_agree(seed):
    rng = np.random.default_rng(seed)
    moved = [tuple(int(each) for each in rng.multinomial(int(rng.integers(2, 26)), [0.8, 0.2])) for _ in range(6)]
    a, b = many_parts(moved)
    noise = rng.normal(0, 0.2, 50)
    scores = np.clip(b.columns.score + rng.choice([0.0, 0.08]) + noise, 0, 1)
    found = compare(a, replace(b, columns=replace(b.columns, score=scores)))
    tested = [each for each in found.metrics if each.difference.low is not None and each.p_adjusted is not None]
    assert len(tested) > 8
    for each in tested:
        shown = each.p_adjusted < 0.05
        assert (each.difference.low > 0 or each.difference.high < 0) is shown, each
        assert (each.verdict in (Moved.BETTER, Moved.WORSE, Moved.CHANGED)) is shown, each
