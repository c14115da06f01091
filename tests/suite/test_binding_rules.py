"""Rules that bind a judge: what can be written, what is refused, and that they mean what Python means."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from steelyard.suite.rules import parse_rule

DIMENSIONS, FLAGS = ["tone", "sense"], ["unsafe"]
METRICS = {"form": ["complete", "coverage", "extra"], "other": ["count"], "broken": None, "silent": []}


def rule(text: str):
    return parse_rule(text, DIMENSIONS, FLAGS, METRICS, (1, 5))


def complaint(text: str) -> str:
    with pytest.raises(ValueError) as caught:
        rule(text)
    return str(caught.value)


def measured(complete=True, coverage=1.0, extra=0, count=0):
    return {"form": {"complete": complete, "coverage": coverage, "extra": extra}, "other": {"count": count}}


@pytest.mark.parametrize(
    ("text", "caps", "raises"),
    [
        ("when not form.complete then tone <= 4", {"tone": 4}, ()),
        ("when form.extra > 0 then tone <= 2 and unsafe", {"tone": 2}, ("unsafe",)),
        ("when form.extra > 0 then unsafe = true", {}, ("unsafe",)),
        (
            "when form.extra > 0 then unsafe == true and sense<=1 and tone <= 1.5",
            {"sense": 1, "tone": 1.5},
            ("unsafe",),
        ),
        ("  when form.extra>0\n  then tone <= 2  ", {"tone": 2}, ()),
    ],
)
def test_a_rule_says_what_is_capped_and_what_is_raised(text, caps, raises):
    found = rule(text)
    assert (found.caps, found.raises, found.text) == (caps, raises, text.strip())
    assert found.holds(measured(complete=False, extra=1)) is True


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("form.coverage < 90 %", True),  # 0.85 < 0.9
        ("form.coverage < 85 %", False),
        ("form.coverage<=85%", True),
        ("form.coverage >= 0.85 and form.complete", False),
        ("form.coverage >= 0.85 and not form.complete", True),
        ("form.complete or form.extra == 2", True),
        ("form.complete == false", True),
        ("not (form.complete or form.extra > 2)", True),
        ("not not form.extra", True),
        ("not form.complete and form.extra > 2 or other.count != 0", True),  # and binds before or: False or True
        ("not form.complete and (form.extra > 2 or other.count == 0)", False),
        ("1 < form.extra < 3", True),
        ("1 < form.extra < 2", False),
        ("form . coverage > -1", True),
        ("form.extra > 1.5e0", True),
        ("other.count", True),
    ],
)
def test_a_condition_is_evaluated(condition, holds):
    found = rule(f"when {condition} then tone <= 2")
    assert found.holds(measured(complete=False, coverage=0.85, extra=2, count=7)) is holds


# The same random condition, spelt for us and for Python.
numbers = st.one_of(st.integers(-5, 5), st.sampled_from([0.5, 0.9, 2.25]))
atoms = st.one_of(
    st.sampled_from([("form.complete", "form['complete']"), ("form.coverage", "form['coverage']")]),
    st.sampled_from([("form.extra", "form['extra']"), ("other.count", "other['count']")]),
    numbers.map(lambda number: (str(number), str(number))),
    st.integers(0, 200).map(lambda number: (f"{number} %", str(number / 100))),
    st.sampled_from([("true", "True"), ("false", "False")]),
)


def joined(inner):
    compared = st.tuples(inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner).map(
        lambda parts: tuple(f"({parts[0][i]}) {parts[1]} ({parts[2][i]})" for i in (0, 1))
    )
    linked = st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
        lambda parts: tuple(f"({parts[0][i]}) {parts[1]} ({parts[2][i]})" for i in (0, 1))
    )
    loose = st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
        lambda parts: tuple(f"{parts[0][i]} {parts[1]} {parts[2][i]}" for i in (0, 1))
    )
    denied = inner.map(lambda one: tuple(f"not ({one[i]})" for i in (0, 1)))
    return st.one_of(compared, linked, loose, denied)


@settings(max_examples=examples(400))
@given(
    st.recursive(atoms, joined, max_leaves=8),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.integers(-2, 4),
    st.integers(0, 3),
)
def test_a_condition_means_what_python_means(condition, complete, coverage, extra, count):
    ours, pythons = condition
    values = measured(complete, coverage, extra, count)
    expected = bool(eval(pythons, {"__builtins__": {}}, values)) or False
    # At least one metric must be named; this one changes nothing.
    found = rule(f"when ({ours}) and form.coverage >= 0 then tone <= 2")
    assert found.holds(values) is expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "form.coverage was not measured"),
        ({"form": {}}, "form.coverage was not measured"),
        ({"form": None}, "form.coverage was not measured"),
        ({"form": {"coverage": None}}, "form.coverage is neither a number nor true or false; found nothing"),
        ({"form": {"coverage": "0.5"}}, 'form.coverage is neither a number nor true or false; found "0.5" (text)'),
        ({"form": {"coverage": [1]}}, "form.coverage is neither a number nor true or false; found [1] (a list)"),
        ({"form": {"coverage": float("nan")}}, "form.coverage is neither a number nor true or false"),
    ],
)
def test_a_metric_that_is_not_there_is_a_broken_scale_and_never_false(values, message):
    with pytest.raises(ValueError) as caught:
        rule("when form.coverage < 90 % then tone <= 4").holds(values)
    assert message in str(caught.value)
    assert "when form.coverage" in str(caught.value)


def test_a_missing_metric_is_noticed_even_where_it_would_not_matter():
    found = rule("when form.complete or other.count > 1 then tone <= 4")
    with pytest.raises(ValueError, match=r"other\.count was not measured"):
        found.holds({"form": {"complete": True}})


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("tone <= 4", "write when <condition> then"),
        ("when form.extra > 0", "write when <condition> then"),
        ("when then tone <= 4", "the condition breaks off"),
        ("when form.extra > then tone <= 4", "the condition breaks off"),
        ("when (form.extra > 0 then tone <= 4", "a bracket is not closed"),
        ("when form.extra > 0) then tone <= 4", "')' is not expected there"),
        ("when form.extra 0 then tone <= 4", "'0' is not expected there"),
        ("when and form.extra then tone <= 4", "'and' is not expected there"),
        ("when form.extra + 1 > 0 then tone <= 4", "'+ 1 > 0' cannot be read in a condition"),
        ("when form.extra = 1 then tone <= 4", "'= 1' cannot be read in a condition"),
        ("when form['extra'] then tone <= 4", "cannot be read in a condition"),
        ("when __import__('os') then tone <= 4", "cannot be read in a condition"),
        ("when form.__class__ then tone <= 4", "no metric '__class__' of form"),
        (
            "when coverage < 90 % then tone <= 4",
            "'coverage' is no metric: write <component>.<metric>; there are: form.",
        ),
        ("when form.a.b < 90 % then tone <= 4", "'form.a.b' is no metric"),
        ("when form.coverag < 1 then tone <= 4", "no metric 'coverag' of form: did you mean coverage?"),
        ("when form.zzz < 1 then tone <= 4", "no metric 'zzz' of form; there are: complete, coverage, extra"),
        ("when silent.zzz < 1 then tone <= 4", "no metric 'zzz' of silent; it measures nothing"),
        ("when from.extra > 1 then tone <= 4", "no component 'from': did you mean form?"),
        ("when true then tone <= 4", "names no metric"),
        ("when form.extra > 1e999 then tone <= 4", "beyond every number"),
        ("when form.extra > 0 then", "'' is no consequence"),
        ("when form.extra > 0 then tone <= 4 and", "'' is no consequence"),
        ("when form.extra > 0 then tone", "a rule caps a dimension: write tone <= <score>"),
        ("when form.extra > 0 then tone < 4", "a rule caps a dimension: write tone <= <score>"),
        ("when form.extra > 0 then tone = 4", "a rule caps a dimension: write tone <= <score>"),
        ("when form.extra > 0 then tone <= low", "'low' is not a score"),
        ("when form.extra > 0 then tone <= 50 %", "'50 %' is not a score"),
        ("when form.extra > 0 then tone <= 0", "0 is not on the scale from 1 to 5"),
        ("when form.extra > 0 then tone <= 6", "6 is not on the scale from 1 to 5"),
        ("when form.extra > 0 then tone <= nan", "nan is not on the scale"),
        ("when form.extra > 0 then tone <= 5", "never caps anything: tone is never above 5"),
        ("when form.extra > 0 then tome <= 2", "no dimension or flag 'tome': did you mean tone?"),
        ("when form.extra > 0 then zzz", "no dimension or flag 'zzz'; there are: tone, sense, unsafe"),
        ("when form.extra > 0 then unsafe = false", "a rule can only raise a flag: write unsafe, or unsafe = true"),
        ("when form.extra > 0 then unsafe <= 3", "a rule can only raise a flag"),
        ("when form.extra > 0 then tone <= 3 and tone <= 2", "names tone twice"),
        ("when " + "(" * 99 + "form.extra" + ")" * 99 + " then tone <= 4", "nested too deeply"),
        ("when " + "not " * 99 + "form.extra then tone <= 4", "nested too deeply"),
        ("when " + "form.extra and " * 9999 + "form.extra then tone <= 4", "the condition is too long"),
    ],
)
def test_a_mistake_in_a_rule_is_explained(text, part):
    message = complaint(text)
    assert part in message
    assert message.startswith(f"rule {text!r}")


def test_of_a_component_that_could_not_be_built_nothing_is_said():
    assert rule("when broken.anything > 0 then tone <= 4").caps == {"tone": 4}


def test_a_rule_may_speak_of_the_score_and_the_measures_of_any_scorer():
    measures = {"form": ["score", "recall"], "silent": ["score"]}
    one = parse_rule(
        "when form.recall < 50 % or not silent.score >= 0.5 then tone <= 2",
        DIMENSIONS,
        FLAGS,
        METRICS,
        (1, 5),
        measures,
    )
    assert one.names == (("form", "recall"), ("silent", "score"))

    def holds(recall, score):
        return one.holds({"form": {"recall": recall}, "silent": {"score": score}})

    assert (holds(0.4, 1.0), holds(0.6, 1.0), holds(0.6, 0.4)) == (True, False, True)
    # What an answer has none of binds nothing, "not" or no "not": missing is never 0.
    assert (holds(0.4, None), holds(None, 0.4), holds(None, None)) == (False, False, False)
