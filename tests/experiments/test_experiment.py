"""What experiments come to, and what is said to have changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from parts.columns import Made
from parts.compared import arm_of_experiment, compared
from parts.described import summarise
from parts.looped import for_every
from steelyard.comparing.compare import compare
from steelyard.comparing.model import Comparison
from steelyard.experiments.criteria import CriteriaDecision, ExperimentArm, rule
from steelyard.experiments.decision import Decided
from steelyard.experiments.factors import Changed, FactorChange, changed_factors, held_against
from steelyard.pairing.runs import ComparedRun
from steelyard.records import Load, RunFacts, Verdict
from steelyard.report.verdicts import exit_code

CASES = 20
ONE = Changed("prompt", (FactorChange("prompt"),))
BETTER, WORSE, SAME = (5, 20), (20, 5), (10, 10)
"""How many of 20 cases pass in the baseline and in the candidate; 15 that change sides are more than chance."""


def run(passing: int, *, failed: int = 0, **more: Any) -> ComparedRun:
    scores = [1.0] * passing + [0.0] * (CASES - passing)
    made = [Made(f"c{k:02d}", score, category="ab"[k % 2]) for k, score in enumerate(scores)]
    dead = [Made(f"c{k:02d}", None, "target_failed", failure="refused") for k in range(CASES - failed, CASES)]
    return compared([*made[: CASES - failed], *dead], **({"id": "made-1"} | more))


def arm(of: ComparedRun) -> ExperimentArm:
    return ExperimentArm(of.header, summarise(of.columns, of.suite))


def ruling(
    passing: tuple[int, int],
    adopt: Sequence[str] = ("better",),
    reject: Sequence[str] = ("worse",),
    changed: Changed = ONE,
    allow_mismatch: bool = False,
    baseline: dict[str, Any] | None = None,
    candidate: dict[str, Any] | None = None,
) -> CriteriaDecision:
    a, b = run(passing[0], **(baseline or {})), run(passing[1], **({"id": "made-2"} | (candidate or {})))
    return rule(
        adopt,
        reject,
        arm(a),
        arm(b),
        compare(a, b, allow_mismatch=allow_mismatch),
        changed,
        allow_mismatch=allow_mismatch,
    )


# By hand: `not worse` is true of better and same, `not better` of worse and same. Whatever is not met decides nothing
# while something else could still reject; without criteria to reject it rejects.
@for_every(
    ("passing", "adopt", "reject", "decided"),
    [
        (BETTER, ["better"], ["worse"], Decided.ADOPT),
        (SAME, ["better"], ["worse"], Decided.CANNOT_TELL),
        (WORSE, ["better"], ["worse"], Decided.REJECT),
        (BETTER, ["not worse"], [], Decided.ADOPT),
        (SAME, ["not worse"], [], Decided.ADOPT),
        (WORSE, ["not worse"], [], Decided.REJECT),
        (SAME, ["better"], [], Decided.REJECT),
        (SAME, ["Better "], ["not  better"], Decided.REJECT),
        ((10, 11), ["better"], [], Decided.CANNOT_TELL),
        ((10, 11), ["not worse"], [], Decided.CANNOT_TELL),
        (BETTER, ["better", "pass_rate >= 90 %"], ["worse"], Decided.ADOPT),
        ((0, 15), ["better", "pass_rate >= 90 %"], ["worse"], Decided.CANNOT_TELL),
        ((0, 15), ["better", "pass_rate >= 90 %"], ["pass_rate < 80 %"], Decided.REJECT),
        (BETTER, ["better"], ["latency.p95 >= 1 s"], Decided.REJECT),
        (BETTER, ["better", "cost.total <= 1"], ["worse"], Decided.CANNOT_TELL),
        (BETTER, ["better"], ["cost.total > 1"], Decided.CANNOT_TELL),
    ],
)
def test_the_criteria_decide(passing, adopt, reject, decided):
    assert ruling(passing, adopt, reject).decided is decided


def test_the_exit_codes_tell_the_four_decisions_apart():
    decisions = (Decided.ADOPT, Decided.REJECT, Decided.CANNOT_TELL, Decided.INVALID)
    assert [exit_code(each) for each in decisions] == [0, 1, 4, 3]


def test_to_adopt_a_gate_on_slices_must_hold_in_all_and_to_reject_in_one():
    # 19 of 20 pass: 10 of 10 in a, 9 of 10 in b.
    whole, part = ruling((5, 19), ["category.*.pass_rate >= 90 %"]), ruling((5, 19), ["category.*.pass_rate >= 95 %"])
    assert (whole.criteria[0].holds, part.criteria[0].holds) == (True, False)
    assert part.criteria[0].reason.startswith("category.b.pass_rate: 90.0 % is not >= 95.0 %")
    assert ruling((5, 19), ["better"], ["category.*.pass_rate < 95 %"]).decided is Decided.REJECT


def test_a_gate_shows_the_figure_of_the_baseline_beside_the_candidates():
    held = ruling(BETTER, ["pass_rate >= 90 %"]).criteria[0]
    assert (held.baseline.value, held.candidate.value, held.unit) == (0.25, 1.0, "share")


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_an_invalid_arm_decides_nothing_whatever_the_criteria_say(side):
    dead = {side: {"verdict": Verdict.INVALID, "failed": CASES}}
    found = ruling(BETTER, ["not worse"], [], allow_mismatch=True, **dead)
    assert (found.decided, found.criteria) == (Decided.INVALID, ())
    assert found.reasons[0].startswith(f"the {side} is INVALID: nothing was scored: 20 samples, 20 of them")


def test_a_candidate_that_was_not_asked_is_no_reading():
    found = rule(["better"], [], arm(run(5, verdict=Verdict.INVALID, failed=CASES)), None, None, None)
    assert found.decided is Decided.INVALID
    assert found.reasons[-1].startswith("the candidate was not asked")


def test_arms_without_a_case_in_common_decide_nothing():
    a, b = compared([Made("x", 1.0)]), compared([Made("y", 1.0)], id="made-2")
    found = rule(["not worse"], [], arm(a), arm(b), compare(a, b), ONE)
    assert found.decided is Decided.INVALID
    assert found.reasons == ("no sample of the baseline can be compared with one of the candidate",)


def test_more_than_one_changed_factor_cannot_be_put_down_to_the_one():
    two = Changed(
        "prompt", (FactorChange("prompt"),), (FactorChange("model", "a", "b"), FactorChange("repeats", "1", "5"))
    )
    found = ruling(BETTER, changed=two)
    assert (found.decided, found.by_criteria) == (Decided.CANNOT_TELL, Decided.ADOPT)
    assert found.reasons[0] == (
        "also changed: model (a and b), repeats (1 and 5): the difference cannot be attributed to the prompt"
    )
    asked = ruling(BETTER, changed=two, allow_mismatch=True)
    assert asked.decided is Decided.ADOPT
    assert asked.reasons[1].startswith("overridden: also changed: model (a and b), repeats (1 and 5)")


def test_a_rejection_cannot_be_put_down_to_the_one_of_two_factors_either():
    two = Changed("prompt", (FactorChange("prompt"),), (FactorChange("model", "a", "b"),))
    assert ruling(WORSE, changed=two).decided is Decided.CANNOT_TELL


def test_a_factor_that_did_not_change_decides_nothing():
    found = ruling(BETTER, changed=Changed("prompt"))
    assert found.decided is Decided.CANNOT_TELL
    assert found.reasons[0].startswith("prompt, the factor that was to change, did not change")


def test_a_suspect_arm_is_never_a_reason_to_adopt():
    for side in ("baseline", "candidate"):
        found = ruling(BETTER, ["pass_rate >= 90 %"], [], **{side: {"suspect": ("all answers are empty",)}})
        assert found.decided is Decided.CANNOT_TELL
        assert found.reasons[0] == f"the {side} is suspect: all answers are empty"


def test_worse_than_a_baseline_that_is_suspect_cannot_be_decided():
    assert ruling(WORSE, baseline={"suspect": ("too fast",)}).decided is Decided.CANNOT_TELL
    assert ruling(WORSE, candidate={"suspect": ("too fast",)}).decided is Decided.REJECT


def differing(a: dict[str, Any] | None = None, b: dict[str, Any] | None = None) -> Comparison:
    return compare(run(10, **(a or {})), run(10, **({"id": "made-2"} | (b or {}))))


def words(comparison: Comparison, **more: Any) -> list[str]:
    return [one.message for one in changed_factors(comparison, **more)]


HTTP = {"kind": "http", "address": "http://a/x", "settings": "h1"}
CHAT = {"kind": "chat", "model": "m", "address": "http://a/v1", "settings": {"temperature": 0.0}}


@for_every(
    ("a", "b", "message"),
    [
        ({}, {}, []),
        ({}, {"signature": {"model": "n"}}, ["model (m and n)"]),
        ({}, {"signature": {"prompts": "p2"}}, ["prompt"]),
        ({}, {"signature": {"judge": "j2", "rules": "r2"}}, ["judge"]),
        ({}, {"signature": {"scorers": "s2"}}, ["scorers"]),
        ({}, {"described": {"repeats": 5}}, ["repeats (1 and 5)"]),
        ({"target": HTTP}, {"target": HTTP | {"address": "http://b/x"}}, ["service (http://a/x and http://b/x)"]),
        ({"target": HTTP}, {"target": HTTP | {"settings": "h2"}}, ["parameter"]),
        ({"target": HTTP}, {"target": {"kind": "python", "function": "m:f"}}, ["target (http and python)"]),
        (
            {"target": CHAT},
            {"target": CHAT | {"settings": {"temperature": 1.0, "seed": 3}}},
            ["parameter (temperature 0.0, seed not set and temperature 1.0, seed 3)"],
        ),
        (
            {"target": {"kind": "python", "source": "1"}},
            {"target": {"kind": "python", "source": "2"}},
            ["target (source 1 and source 2)"],
        ),
        (
            {"options": RunFacts(load=Load(8))},
            {"options": RunFacts(load=Load(1))},
            ["load (concurrency 8 and concurrency 1)"],
        ),
        ({"options": RunFacts(load=Load(8))}, {}, []),
        (
            {"options": RunFacts(load=Load(8, held_up=2))},
            {"options": RunFacts(load=Load(8, warm_up_failed=1))},
            [],
        ),
        (
            {"described": {"variants": ["prompt=a, heat=0"]}},
            {"described": {"variants": ["prompt=b, heat=1"]}},
            ["variant (prompt a and prompt b)", "variant (heat 0 and heat 1)"],
        ),
    ],
)
def test_what_differs_is_reported_in_words(a, b, message):
    assert words(differing(a, b)) == message


def test_limits_that_only_the_plan_tells_are_reported():
    arms = {"baseline": {"timeout": 5}, "candidate": {"timeout": 60, "set": {"query": "d1"}}}
    plans = [{"options": arm_of_experiment(arm=name, arms=arms)} for name in arms]
    assert words(differing(*plans)) == ["timeout (5 and 60)"]


def test_settings_that_are_hashed_are_named_by_the_plan():
    arms = {"baseline": {"set": {"query": "d1", "start": "s"}}, "candidate": {"set": {"query": "d2", "start": "s"}}}
    a, b = ({"options": arm_of_experiment(arm=name, arms=arms), "target": HTTP} for name in arms)
    assert words(differing(a, b | {"target": HTTP | {"settings": "h2"}})) == ["parameter (query)"]


def test_models_that_the_answers_name_are_separated():
    assert words(differing(), answered=(("small",), ("large", "small"))) == ["model (small and large, small)"]
    assert words(differing(), answered=(("small",), ())) == []


SEEN = {name: FactorChange(name, "x", "y") for name in ("target", "service", "model", "prompt", "parameter", "variant")}


@for_every(
    ("declared", "seen", "besides", "contributing"),
    [
        ("model", ["model"], [], False),
        ("model", ["model", "prompt"], ["prompt"], False),
        ("target", ["target", "service", "parameter"], [], False),
        ("target", ["service", "model"], ["model"], False),
        ("prompt", ["service"], [], True),
        ("prompt", ["service", "model"], ["model"], True),
        ("prompt", ["prompt", "service"], ["service"], False),
        ("prompt", ["variant"], [], False),
        ("parameter", ["service"], [], True),
        ("service", ["parameter"], ["parameter"], False),
        ("judge", ["service"], ["service"], False),
    ],
)
def test_what_came_besides_the_declared_factor(declared, seen, besides, contributing):
    found = held_against(declared, [SEEN[name] for name in seen])
    assert ([one.factor for one in found.besides], found.contributing) == (besides, contributing)


def test_a_target_brings_along_the_model_that_only_one_of_them_names():
    named = FactorChange("model", "", "large")
    assert held_against("target", [SEEN["target"], named]).besides == ()
    assert held_against("target", [named]).as_declared == ()


def test_a_variant_in_which_two_things_differ_is_two_changes():
    heat, prompt = FactorChange("variant", "prompt a", "prompt b"), FactorChange("variant", "heat 0", "heat 1")
    assert held_against("variant", [heat, prompt]).besides == (prompt,)


def test_every_change_is_either_the_factor_or_besides_it():
    names = list(SEEN)
    for marks, declared in product(product((False, True), repeat=len(names)), names):
        changes = [SEEN[name] for name, there in zip(names, marks, strict=True) if there]
        found = held_against(declared, changes)
        assert sorted(one.factor for one in (*found.as_declared, *found.besides)) == sorted(
            one.factor for one in changes
        )


def test_two_variants_are_paired_with_each_other():
    a, b = (
        compared([Made(f"c{k}", 1.0, variant=name) for k in range(6)], id=name, described={"variants": [name]})
        for name in ("short", "long")
    )
    comparison = compare(a, b)
    assert comparison.pairs.comparable == 6
    assert words(comparison) == ["variant (short and long)"]
