"""`judge.check` in a suite file: what it becomes, what can be wrong with it, and what it changes in the signature."""

import pytest

from steelyard import Checked
from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.metrics.expression_checks import check_judge_threshold
from steelyard.metrics.expressions import parse_judge_threshold
from steelyard.records import TargetFacts
from steelyard.suite.signature import signature

CHECKS = """
from steelyard import Checked

LIMIT = 3

def check(reply, text, case, metrics):
    return Checked(reply)
"""
TARGET = {"kind": "recorded"}


def test_a_check_is_looked_up_when_the_suite_loads(judged):
    judge = load_suite(judged(check="checks:check", files={"checks.py": CHECKS})).judge
    assert judge.check == "checks:check"
    assert load_suite(judged(check="checks:check", files={"checks.py": CHECKS})).data()["judge"]["check"] == (
        "checks:check"
    )


def test_without_a_check_there_is_none(judged):
    suite = load_suite(judged())
    assert (suite.judge.check, suite.data()["judge"]["check"]) == (None, None)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("checks:chek", "checks.py has no 'chek'"),
        ("nowhere:check", "there is no module 'nowhere'"),
        ("checks:LIMIT", "'LIMIT' is a int, not a function"),
        ("check", 'judge.check is code of your own, written module:function; found "check"'),
        (7, "judge.check is code of your own, written module:function; found 7"),
    ],
)
def test_a_check_that_is_not_there_is_a_mistake_of_the_suite(judged, written, message):
    with pytest.raises(SuiteError) as raised:
        load_suite(judged(check=written, files={"checks.py": CHECKS}))
    assert message in str(raised.value)
    assert "suite.yaml:" in str(raised.value)


def test_the_source_of_a_check_is_part_of_the_rules_and_of_nothing_else(judged):
    def signed(source):
        return signature(load_suite(judged(check="checks:check", files={"checks.py": source})), TargetFacts(TARGET))

    before, again, after = signed(CHECKS), signed(CHECKS), signed(CHECKS.replace("3", "4"))
    assert before == again
    assert [part for part in before.to_data() if before.part(part) != after.part(part)] == ["rules", "text"]


def test_a_judge_without_a_check_keeps_the_signature_it_had(judged):
    suite = load_suite(judged(check="checks:check", files={"checks.py": CHECKS}))
    plain = suite.changed(judge=suite.judge.model_copy(update={"check": None}))
    with_one, without = signature(suite, TargetFacts(TARGET)), signature(plain, TargetFacts(TARGET))
    assert with_one.judge == without.judge
    assert with_one.rules != without.rules
    assert without.rules == signature(load_suite(judged()), TargetFacts(TARGET)).rules


def test_codes_that_only_the_judge_names_may_be_declared(judged):
    only_judged = {"findings": {"MISSING": {"about": "Something is missing."}}, "score": None}
    with pytest.raises(SuiteError, match=r"findings.MISSING: no scorer of this suite gives this code"):
        load_suite(judged(only_judged, bind=[]))
    suite = load_suite(judged(only_judged, bind=[], check="checks:check", files={"checks.py": CHECKS}))
    assert suite.taxonomy[0].code == "MISSING"


def test_a_threshold_on_contradictions_needs_a_check(judged):
    judge = load_suite(judged()).judge
    threshold = parse_judge_threshold("contradictions <= 5 %")
    assert (threshold.metric, threshold.threshold, threshold.unit) == ("contradictions", 0.05, "share")
    assert "complaints are not checked: write check: module:function" in check_judge_threshold(threshold, judge)
    assert (
        check_judge_threshold(threshold, judge.model_copy(update={"check": lambda reply, *_: Checked(reply)})) is None
    )


def test_a_function_may_be_given_in_python(judged):
    from steelyard.suite.draft import Draft, own_code
    from steelyard.suite.yaml import Located

    def check(response, text, case, metrics):
        return Checked(response)

    draft = Draft(Located(None, ""), judged().parent)
    assert own_code(check, ("judge", "check"), draft) is check
    assert draft.problems == []
