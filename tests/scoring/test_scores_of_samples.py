import json
import math
from pathlib import Path

import pytest

from steelyard.errors import SuiteError
from steelyard.records import Finding, Mark, Outcome
from steelyard.scoring.aliases import Alternatives
from steelyard.scoring.base import Reading, Scorer
from steelyard.scoring.evaluate import Evaluator
from steelyard.scoring.money import MoneyRange
from steelyard.scoring.names import KeywordsOrFuzzy
from steelyard.scoring.text import Contains, Exact
from steelyard.scoring.unknown import says_unknown, truth_parts
from steelyard.scoring.years import YearRange
from steelyard.suite.case import Case
from steelyard.suite.models import AnswerShape, Component, FindingKind, SuiteModel, TargetSpec, Threshold
from steelyard.suite.values import Band
from steelyard.user_code import UserCodeError

SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "maker": {"type": ["string", "null"]}},
}
JSON = AnswerShape(format="json", json_schema=SCHEMA)
BANDS = (
    Band(name="Excellent", at_least=0.9),
    Band(name="Good", at_least=0.75),
    Band(name="Acceptable", at_least=0.6),
    Band(name="Poor", at_least=0.4),
    Band(name="Failed", at_least=0.0),
)


def suite(*components, answer=JSON, at_least=0.75, **more):
    return SuiteModel(
        name="s",
        folder=Path(),
        path="s",
        cases=(),
        target=TargetSpec("recorded", None),
        components=components,
        answer=answer,
        passing=Threshold(at_least=at_least, text="75 %"),
        bands=BANDS,
        **more,
    )


FOUR = suite(
    Component(name="name", scorer=KeywordsOrFuzzy(expected="expected.name", keywords="expected.keywords"), weight=70),
    Component(name="maker", scorer=Alternatives(expected="expected.maker"), weight=10, when_unknown="skip"),
    Component(name="era", scorer=YearRange(start="expected.start", end="expected.end"), weight=10, code="DATE"),
    Component(
        name="value",
        scorer=MoneyRange(low="expected.low", high="expected.high", unit="cents", answer_low="min", answer_high="max"),
        weight=10,
    ),
    taxonomy=(
        FindingKind(code="DATE", about="dated wrongly", severity="major"),
        FindingKind(code="FORMAT", about="", severity="critical"),
    ),
)
EXPECTED = {
    "name": "Large oak table",
    "keywords": ["oak", "table", "large", "drawers"],
    "maker": "Hall",
    "start": 1890,
    "end": 1910,
    "low": 300000,
    "high": 800000,
}
CASE = Case("c1", expected=EXPECTED)


def evaluate(answer, case=CASE, of=FOUR):
    return Evaluator(of).evaluate(answer if isinstance(answer, str) else json.dumps(answer), case)


def test_a_composite_is_the_weighted_mean_of_its_components():
    # name 3 of 4 keywords 0.75, maker 1, era 10 of 20 years 0.5, value 300,000 of 500,000 cents 0.6:
    # 0.7 * 0.75 + 0.1 * (1 + 0.5 + 0.6) = 0.525 + 0.21
    weighed = evaluate({"name": "oak,large,table.", "maker": "Hall", "era": "1900-1920", "min": 500000, "max": 900000})
    assert weighed.score == pytest.approx(0.735)
    assert (weighed.outcome, weighed.passed, weighed.band, weighed.step) == (
        Outcome.SCORED,
        False,
        "Acceptable",
        "whole",
    )
    assert [(s.name, s.weight) for s in weighed.scores] == [("name", 70), ("maker", 10), ("era", 10), ("value", 10)]
    assert [s.value for s in weighed.scores] == pytest.approx([0.75, 1.0, 0.5, 0.6])
    assert weighed.findings == ()  # 0.5 is not below 0.5


def test_a_component_below_its_threshold_is_one_finding_with_code_place_and_both_sides():
    weighed = evaluate({"name": "Large oak table", "maker": "Miller", "era": "1700s", "min": 300000, "max": 800000})
    assert weighed.score == pytest.approx(0.8)
    maker, era = weighed.findings
    assert maker == Finding("MAKER", "maker", "Hall", "Miller", "", "error", "maker", gain=1.0)
    assert era == Finding("DATE", "era", "1890 to 1910", "1700s", "read as 1700 to 1799", "major", "era", gain=1.0)


@pytest.mark.parametrize("text", ["", "no idea", "{}", '{"name": 3}', "null", '{"name": "oak"'[:5]])
def test_a_malformed_answer_scores_0_with_exactly_one_finding(text):
    weighed = evaluate(text)
    assert (weighed.outcome, weighed.score, weighed.passed, weighed.band) == (Outcome.MALFORMED, 0.0, False, "Failed")
    (finding,) = weighed.findings
    assert (finding.code, finding.got, finding.severity) == ("FORMAT", text, "critical")
    assert finding.evidence
    # Cases may have no maker; this one has, and an answer that cannot be read does not have it right.
    assert [(score.name, score.value) for score in weighed.scores] == [("maker", 0.0)]


def test_a_skipped_component_takes_its_weight_along_and_gives_no_free_marks():
    unknown = Case("c2", expected=EXPECTED | {"maker": None})
    answer = {"name": "Large oak table", "maker": "Hall", "era": "1700s", "min": 300000, "max": 800000}
    # 0.7 and 0.1 of 0.9
    assert evaluate(answer, unknown).score == pytest.approx(0.8 / 0.9)
    assert [s.value for s in evaluate(answer, unknown).scores][1] is None


@pytest.mark.parametrize(
    ("maker", "value"),
    [("Unknown", 1.0), ("unknown maker", 1.0), ("not known", 1.0), (None, 0.0), ("", 0.0), ("Hall", 0.0)],
)
def test_say_unknown_wants_it_said_in_words(maker, value):
    of = suite(Component(name="maker", scorer=Alternatives(expected="expected.maker"), when_unknown="say_unknown"))
    weighed = evaluate({"name": "x", "maker": maker}, Case("c", expected={"maker": None}), of)
    assert weighed.score == value
    assert [finding.code for finding in weighed.findings] == ([] if value else ["MAKER"])


def test_a_long_text_that_mentions_the_word_does_not_say_unknown():
    assert not says_unknown("A maker unknown to most, Hall made " + "fine tables and benches " * 5)


def test_missing_truth_without_a_policy_is_never_scored():
    of = suite(Component(name="maker", scorer=Alternatives(expected="expected.maker")))
    with pytest.raises(SuiteError, match="case c: maker: the truth is missing"):
        evaluate({"name": "x"}, Case("c", expected={}), of)


def test_a_case_with_nothing_to_score_is_never_scored():
    of = suite(Component(name="maker", scorer=Alternatives(expected="expected.maker"), when_unknown="skip"))
    with pytest.raises(SuiteError, match="nothing to score"):
        evaluate({"name": "x"}, Case("c", expected={}), of)


class Fixed(Scorer):
    at_value: float
    findings: tuple[Finding | tuple[Finding, ...], ...] = ()
    marks: tuple[Mark, ...] = ()

    def read(self, answer, case):
        return Reading(self.at_value, findings=self.findings, marks=self.marks)

    def truth(self, case):
        return "x"


@pytest.mark.parametrize(
    ("values", "score", "passed", "band"),
    [
        # 0.7 * 1 + 0.1 * 0.5 sums to 0.7499999999999999 or 0.75 depending on the order: it is 75 % and passes.
        ([(70, 1.0), (10, 0.5), (10, 0.0), (10, 0.0)], 0.75, True, "Good"),
        ([(0.1, 1.0)] * 3 + [(0.1, 0.0)], 0.75, True, "Good"),
        ([(1, 0.75 - 1e-15)], 0.75, True, "Good"),
        ([(1, 0.7499)], 0.7499, False, "Acceptable"),
        ([(1, 0.9)], 0.9, True, "Excellent"),
        ([(1, 0.0)], 0.0, False, "Failed"),
    ],
)
def test_a_score_at_exactly_the_threshold_passes(values, score, passed, band):
    of = suite(
        *(
            Component(name=f"c{i}", scorer=Fixed(at_value=value), weight=weight)
            for i, (weight, value) in enumerate(values)
        )
    )
    weighed = evaluate({"name": "x"}, CASE, of)
    assert (weighed.score, weighed.passed, weighed.band) == (score, passed, band)


def test_a_declared_scale_is_brought_to_fractions():
    of = suite(Component(name="stars", scorer=Fixed(at_value=4.0), scale=(1.0, 5.0)), at_least=0.75)
    weighed = evaluate({"name": "x"}, CASE, of)
    assert weighed.score == 0.75
    assert weighed.scores[0].value == 4.0


def test_a_scorers_own_findings_stand_instead_of_the_usual_one():
    box = (0, 0, 1, 1)
    either = (Finding("B", "y", gain=0.4, box=box), Finding("C", "y", gain=0.3, box=box))
    own = (Finding("A", "x", gain=0.5), either)
    kinds = (FindingKind(code="C", severity="minor"), FindingKind(code="B"), FindingKind(code="A"))
    of = suite(Component(name="parts", scorer=Fixed(at_value=0.1, findings=own))).changed(taxonomy=kinds)
    # A has no rival; of B and C the one listed first is taken, with what it would gain.
    assert evaluate({"name": "x"}, CASE, of).findings == (
        Finding("A", "x", component="parts", gain=0.5),
        Finding("C", "y", severity="minor", component="parts", gain=0.3, box=(0, 0, 1, 1)),
    )


def test_a_code_that_the_suite_does_not_list_is_a_broken_scale():
    of = suite(Component(name="parts", scorer=Fixed(at_value=0.1, findings=(Finding("NOWHERE", gain=0.5),))))
    with pytest.raises(ValueError, match="gave the finding code 'NOWHERE', which the suite's findings do not list"):
        evaluate({"name": "x"}, CASE, of)


@pytest.mark.parametrize("box", [(0, 0, 1), (0, 0, 1, math.nan), (0, 0, 1, "x")])
def test_a_box_that_is_none_is_a_broken_scale(box):
    for odd in ({"findings": (Finding("DATE", gain=0.5, box=box),)}, {"marks": (Mark(box),)}):
        of = FOUR.changed(
            components=(Component(name="odd", scorer=Fixed.model_construct(at_value=0.5, answer="name", **odd)),)
        )
        with pytest.raises(UserCodeError, match=r"is no box|\.box: .*, not (such a list|a number)"):
            evaluate({"name": "x", "maker": "x", "era": "1900", "min": 1, "max": 2}, of=of)


def test_a_text_answer_is_scored_as_a_whole():
    of = suite(Component(name="says", scorer=Contains(expected=("oak",))), answer=AnswerShape(format="text"))
    assert evaluate("It is oak.", CASE, of).score == 1.0
    empty = evaluate("", CASE, of)
    assert (empty.outcome, empty.score, empty.step) == (Outcome.SCORED, 0.0, None)


def test_a_component_looks_at_its_own_name_unless_reported_otherwise():
    of = suite(
        Component(name="name", scorer=Exact(expected="expected.name")),
        Component(name="odd.name", scorer=Exact(expected="id")),
    )
    weighed = evaluate({"name": "Large oak table", "odd.name": "c1"}, CASE, of)
    assert weighed.score == 1.0
    elsewhere = suite(Component(name="name", scorer=Exact(answer="thing.title", expected="expected.name")))
    assert evaluate({"name": "x", "thing": {"title": "large oak table"}}, CASE, elsewhere).score == 1.0


def test_without_a_pass_mark_nothing_passes_or_fails():
    of = FOUR.changed(passing=None, bands=())
    weighed = evaluate({"name": "x"}, CASE, of)
    assert (weighed.passed, weighed.band) == (None, None)


def test_the_parts_of_a_perfect_answer_follow_the_policy():
    unknown = Case("c", expected={})
    scorer = Alternatives(answer="maker", expected="expected.maker")
    assert truth_parts(Component(name="maker", scorer=scorer), scorer, CASE) == {"maker": "Hall"}
    assert truth_parts(Component(name="maker", scorer=scorer, when_unknown="skip"), scorer, unknown) == {}
    assert truth_parts(Component(name="maker", scorer=scorer, when_unknown="say_unknown"), scorer, unknown) == {
        "maker": "unknown"
    }


@pytest.mark.parametrize(("words", "stated"), [(12, True), (13, False)])
def test_unknown_is_said_in_at_most_twelve_words(words, stated):
    assert says_unknown("unknown " + "word " * (words - 1)) is stated


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.5, -0.1])
def test_a_scorer_that_leaves_its_scale_is_a_broken_scale_not_a_score(value):
    of = FOUR.changed(components=(Component(name="odd", scorer=Fixed(at_value=value)),))
    with pytest.raises(ValueError, match="not on its scale"):
        evaluate({"name": "x", "maker": "x", "era": "1900", "min": 1, "max": 2}, of=of)
