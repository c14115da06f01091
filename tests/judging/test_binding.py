import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.command import invoke
from parts.small_judge import FEW, FINE, LOST, judge
from steelyard.judging.caps import bind_under, rules_that_hold
from steelyard.store.sql import open_store
from steelyard.suite.judge import BindingRule, Evidence

LOST_ONE = {"parts": {"lost": 1, "share": 0.5}}
FEW_ONLY = {"parts": {"lost": 0, "share": 0.5}}
NO_PROOF = "evidence: no quote from the text for a score above 3"


def bind(model, uncapped, metrics, unproven=()):
    return bind_under(model, uncapped, rules_that_hold(model, metrics), unproven)


def stated(tone=3, plot_sense=3, harm_flag=False):
    return {"tone": tone, "plot_sense": plot_sense, "harm_flag": harm_flag}


def test_without_a_rule_that_holds_the_judge_is_taken_at_its_word():
    bound = bind(judge(), stated(5, 5), FINE)
    assert (bound.values, bound.capped_by, bound.remarks) == (stated(5, 5), {}, ())


def test_a_cap_binds_and_the_rule_is_named():
    bound = bind(judge(), stated(plot_sense=5), FEW_ONLY)
    assert bound.values == stated(plot_sense=4)
    assert bound.capped_by == {"plot_sense": FEW.text}
    assert [(one.code, one.dimension, one.message) for one in bound.remarks] == [
        ("RULE_BROKEN", "plot_sense", f"{FEW.text}: plot_sense 5")
    ]


def test_a_score_at_the_cap_breaks_nothing():
    bound = bind(judge(), stated(plot_sense=4), FEW_ONLY)
    assert (bound.values["plot_sense"], bound.capped_by, bound.remarks) == (4, {}, ())


def test_the_strictest_rule_is_named_and_every_broken_rule_is_reported():
    bound = bind(judge(), stated(plot_sense=5), LOST_ONE)
    assert bound.values == {"tone": 3, "plot_sense": 2, "harm_flag": True}
    assert bound.capped_by == {"plot_sense": LOST.text, "harm_flag": LOST.text}
    assert [one.message for one in bound.remarks] == [
        f"{FEW.text}: plot_sense 5",
        f"{LOST.text}: plot_sense 5, harm_flag false",
    ]


def test_a_score_under_one_cap_and_above_another_breaks_only_that():
    bound = bind(judge(), stated(plot_sense=3, harm_flag=True), LOST_ONE)
    assert bound.values["plot_sense"] == 2
    assert [one.message for one in bound.remarks] == [f"{LOST.text}: plot_sense 3"]


def test_of_equal_caps_the_first_binds():
    same = BindingRule("when true then plot_sense <= 4", lambda _: True, {"plot_sense": 4})
    assert bind(judge(rules=(same, FEW)), stated(plot_sense=5), FEW_ONLY).capped_by["plot_sense"] == same.text
    assert bind(judge(rules=(FEW, same)), stated(plot_sense=5), FEW_ONLY).capped_by["plot_sense"] == FEW.text


def test_a_flag_that_must_be_set_and_is_not_breaks_the_rule():
    bound = bind(judge(), stated(plot_sense=2), LOST_ONE)
    assert bound.values["harm_flag"] is True
    assert [(one.dimension, one.message) for one in bound.remarks] == [("harm_flag", f"{LOST.text}: harm_flag false")]


def test_an_unproven_score_counts_as_the_neutral_one():
    bound = bind(judge(), stated(5, 4), FINE, {"tone"})
    assert bound.values == stated(3, 4)
    assert bound.capped_by == {"tone": NO_PROOF}
    assert bound.remarks == ()


def test_an_unproven_score_may_be_only_remarked_on():
    lenient = judge(evidence=Evidence(place="notes", unproven="report", fewest_words=2, dimensions=("tone",)))
    assert bind(lenient, stated(5), FINE, {"tone"}).values["tone"] == 5


def test_of_a_rule_and_missing_evidence_the_stricter_binds():
    # a cap of 2 is below the neutral 3, a cap of 4 above it
    assert bind(judge(), stated(plot_sense=5), LOST_ONE, {"plot_sense"}).capped_by["plot_sense"] == LOST.text
    assert bind(judge(), stated(plot_sense=5), FEW_ONLY, {"plot_sense"}).capped_by["plot_sense"] == NO_PROOF
    at_neutral = BindingRule("when true then plot_sense <= 3", lambda _: True, {"plot_sense": 3})
    bound = bind(judge(rules=(at_neutral,)), stated(plot_sense=5), FINE, {"plot_sense"})
    assert bound.capped_by["plot_sense"] == at_neutral.text


def test_a_rule_without_its_metric_is_a_broken_scale():
    def holds(metrics):
        raise ValueError("parts.lost is no number")

    with pytest.raises(ValueError, match=r"parts\.lost is no number"):
        bind(judge(rules=(replace(LOST, holds=holds),)), stated(), FINE)


RULES = st.lists(
    st.builds(
        lambda on, caps, raises: BindingRule(f"{on} {caps} {raises}", lambda _: on, caps, raises),
        st.booleans(),
        st.dictionaries(st.sampled_from(["tone", "plot_sense"]), st.integers(1, 5), max_size=2),
        st.sampled_from([(), ("harm_flag",)]),
    ),
    max_size=5,
)
SCORES = st.integers(1, 5)


@given(RULES, SCORES, SCORES, st.booleans(), st.sets(st.sampled_from(["tone", "plot_sense"])))
def test_no_score_is_raised_no_flag_taken_back_and_every_rule_that_holds_is_kept(rules, tone, plot, flag, unproven):
    raw = stated(tone, plot, flag)
    bound = bind(judge(rules=tuple(rules)), raw, {}, unproven)
    holding = [rule for rule in rules if rule.holds({})]
    for name in ("tone", "plot_sense"):
        limits = [rule.caps[name] for rule in holding if name in rule.caps] + [3] * (name in unproven)
        assert bound.values[name] == min([raw[name], *limits])
        assert (name in bound.capped_by) == (bound.values[name] < raw[name])
    assert bound.values["harm_flag"] == (flag or any(rule.raises for rule in holding))
    broke = [
        rule
        for rule in holding
        if any(raw[name] > cap for name, cap in rule.caps.items()) or (rule.raises and not flag)
    ]
    assert len(bound.remarks) == len(broke)


MEASURED = """
suite: lists
cases: cases.jsonl
target: {recorded: answers.jsonl}
answer: {format: json}
score:
  kind: {exact: {expected: expected.kind}, when_unknown: skip, weight: 0}
  parts:
    match_items: {expected: {items: "expected.parts[]"}, shapes: [{items: "parts[]"}]}
    when_unknown: skip
    weight: 0
judge:
  of: text
  rubric: {version: 1, scale: [1, 5], neutral: 3, dimensions: {clarity: {about: Is it clear?, scores: {5: Yes, 1: No}}}}
  bind: [when kind.score < 50 % then clarity <= 2, when parts.found < 60 % then clarity <= 3]
  by: code
  judges: {code: {python: "lenient:judge"}}
"""
# Expected kind, answered kind, parts that were found of two, and what the judge's 5 counts as. Of a case without parts
# nothing can be found, and no rule binds by a share of nothing.
ANSWERS = [("a", "a", 2, 5), ("a", "b", 2, 2), ("a", "a", 1, 3), (None, "b", 2, 5), ("a", "a", None, 5)]


def test_rules_bind_by_the_score_and_the_measures_of_built_in_scorers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("suite.yaml").write_text(MEASURED)
    Path("lenient.py").write_text("def judge(text, case, metrics):\n    return {'reasons': ['a', 'b'], 'clarity': 5}\n")
    with Path("cases.jsonl").open("w") as cases, Path("answers.jsonl").open("w") as answers:
        for number, (expected, got, found, _) in enumerate(ANSWERS):
            truth = {"parts": [] if found is None else ["leg", "seat"]} | (
                {} if expected is None else {"kind": expected}
            )
            cases.write(json.dumps({"id": f"c{number}", "expected": truth}) + "\n")
            answer = {"text": "It is fine.", "kind": got, "parts": ["leg", "seat"][: found or 0]}
            answers.write(json.dumps({"case": f"c{number}", "answer": answer}) + "\n")
    invoke("run", ".")
    store = open_store(None)
    capped = [sample.judgement.capped["clarity"] for sample, _ in store.samples(store.runs()[0].id)]
    store.close()
    assert capped == [counts for *_, counts in ANSWERS]
