"""A judge in a suite file: what it becomes, and every mistake that can be made in it."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from steelyard import Suite
from steelyard.errors import SuiteError, UsageError
from steelyard.loading.chosen_judge import refuse_self_judged
from steelyard.loading.json_schema import suite_schema
from steelyard.loading.judge import response_schema
from steelyard.loading.load import load_suite, with_judge, with_target
from steelyard.records import Mode, TargetFacts
from steelyard.suite.judge import Dimension, Evidence, Flag, JudgeModel, Reasons, Rubric
from steelyard.suite.origins import same_address
from steelyard.suite.signature import signature
from steelyard.suite.templates import JUDGE_NAMES, compile_template

MODEL = {"base_url": "http://localhost:9/v1", "model": "big", "temperature": 0, "token": "KEY"}
RESPONSE = {
    "type": "object",
    "properties": {
        "weaknesses": {"type": "array"},
        "tone": {"type": "integer", "minimum": 1, "maximum": 5},
        "sense": {"$ref": "#/$defs/score"},
        "unsafe": {"type": "boolean"},
        "notes": {"type": "string"},
    },
    "$defs": {"score": {"type": "integer"}},
}


def problems(path) -> list[str]:
    with pytest.raises(SuiteError) as raised:
        load_suite(path)
    return str(raised.value).splitlines()


def test_a_judge_is_built_from_what_is_written(judged):
    judge = load_suite(
        judged(
            system={"file": "judge/system.md"},
            user="Judge {{ text }} of {{ case.id }} by {{ rubric.high }}: {{ metrics.form.words }}",
            response="response.json",
            reasons={"in": "weaknesses", "at_least": 2},
            evidence={"in": "notes", "unproven": "report", "fewest_words": 3, "dimensions": ["sense"]},
            repeats=3,
            combine="majority",
            flags="any",
            disagreement=1.5,
            most_characters=900,
            ask_again=0,
            files={"judge/system.md": "Be fair. {{ input | fenced }}", "response.json": RESPONSE},
        )
    ).judge
    assert judge.system == "Be fair. {{ input | fenced }}"
    assert judge.reasons == Reasons(place="weaknesses", at_least=2)
    assert judge.evidence == Evidence(place="notes", unproven="report", fewest_words=3, dimensions=("sense",))
    assert (judge.repeats, judge.combine, judge.flags, judge.disagreement) == (3, "majority", "any", 1.5)
    assert (judge.most_characters, judge.ask_again, judge.labels) == (900, 0, "expected.labels")
    assert judge.response == RESPONSE
    assert [member.name for member in judge.members] == ["code"]
    assert judge.mode is Mode.RULES
    assert list(judge.judges) == ["code", "model"]
    assert judge.judges["model"].settings.model == "big"
    assert [rule.caps for rule in judge.rules] == [{"sense": 2}, {"tone": 3}]
    assert judge.rules[0].holds({"form": {"words": 2, "greeted": True}}) is True


def test_without_a_response_one_is_made_from_the_rubric_with_reasons_first(judged):
    judge = load_suite(judged(evidence={"in": "quotes"})).judge
    assert list(judge.response["properties"]) == ["reasons", "quotes", "tone", "sense", "unsafe"]
    assert judge.reasons == Reasons(place="reasons")
    validator = jsonschema_rs.validator_for(judge.response)
    good = {"reasons": ["a"], "quotes": {"tone": ["x y"], "sense": []}, "tone": 5, "sense": 1, "unsafe": False}
    assert validator.is_valid(good)
    for wrong in ({"tone": 6}, {"tone": 0}, {"tone": 3.5}, {"tone": "3"}, {"tone": True}, {"unsafe": 1}, {"more": 1}):
        assert not validator.is_valid(good | wrong), wrong
    for name in good:
        assert not validator.is_valid({key: value for key, value in good.items() if key != name})


def test_a_made_response_may_have_no_reasons():
    rubric = Rubric(
        dimensions=(Dimension(name="tone", about="How it sounds."),),
        flags=(Flag(name="unsafe", about="Harm."),),
        scale=(0, 2),
        neutral=1,
    )
    assert response_schema(JudgeModel(rubric=rubric)) == {
        "type": "object",
        "properties": {
            "tone": {"type": "integer", "minimum": 0, "maximum": 2, "description": "How it sounds."},
            "unsafe": {"type": "boolean", "description": "Harm."},
        },
        "required": ["tone", "unsafe"],
        "additionalProperties": False,
    }


def without(schema, *names):
    return schema | {"properties": {key: one for key, one in schema["properties"].items() if key not in names}}


def with_field(name, field):
    return RESPONSE | {"properties": RESPONSE["properties"] | {name: field}}


LATE = RESPONSE | {"properties": without(RESPONSE, "weaknesses")["properties"] | {"weaknesses": {}}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rubrik": "x"}, "judge: unknown key 'rubrik': did you mean rubric?"),
        ({"repeats": 0}, "judge.repeats must be at least 1"),
        ({"combine": "mean"}, "judge.combine: 'mean' is not known"),
        ({"flags": "al"}, "judge.flags: 'al' is not known"),
        ({"disagreement": 0}, "judge.disagreement must be above 0"),
        ({"most_characters": 3}, "judge.most_characters must be at least 200"),
        ({"ask_again": -1}, "judge.ask_again must be at least 0"),
        ({"allow_self": "no"}, "judge.allow_self must be true or false"),
        # Prompts.
        ({"system": {"file": "nope.md"}}, "there is no file nope.md"),
        ({"user": "{{ txt }}"}, "the template uses 'txt', which does not exist"),
        ({"user": "{{ text"}, "the template does not compile"),
        ({"user": {"file": "user.md"}}, "user.md:2: the template uses 'csae'"),
        ({"user": 3}, "judge.user must be text or a group of keys"),
        # Who judges.
        ({"judges": None}, "judge.judges is missing"),
        ({"judges": {}}, "judge.judges must be not empty"),
        ({"by": None}, "judge.by is missing: say who judges; there are: code, model"),
        ({"by": "coed"}, "no judge is called 'coed': did you mean code?"),
        ({"by": []}, "judge.by is empty"),
        ({"by": ["code", "code"]}, "judge.by names 'code' twice"),
        ({"by": ["code", "model"]}, "a panel of models and code would mix two modes in one mean"),
        ({"by": 3}, "judge.by must be text or a list"),
        (
            {"judges": {"code": "x"}},
            'a judge is one kind with its settings (chat, anthropic, gemini, bedrock, python); found "x"',
        ),
        ({"judges": {"code": {"python": "m:f", "chat": MODEL}}}, "bedrock, python); found 2 kinds"),
        ({"judges": {"code": {"pyton": "m:f"}}}, "unknown kind of judge 'pyton': did you mean python?"),
        (
            {"judges": {"code": {"python": "nope"}}},
            "judge.judges.code.python must be a function: write module:function",
        ),
        ({"judges": {"code": {"python": "measures:nope"}}}, "judge measures:nope: measures.py has no 'nope'"),
        ({"judges": {"code": {"python": "nowhere:f"}}}, "judge nowhere:f: there is no module 'nowhere' in suite/"),
        ({"judges": {"code": {"chat": {"base_url": "http://x/v1"}}}}, "judge.judges.code.chat.model is missing"),
        ({"judges": {"code": {"chat": MODEL | {"modle": 1}}}}, "judge.judges.code.chat: unknown key 'modle'"),
        ({"judges": {"code": {"chat": MODEL | {"base_url": "x"}}}}, "'x' is not an address"),
        # The response.
        ({"response": "nope.json"}, "there is no file nope.json"),
        ({"response": {"type": "object"}}, "judge.response has no field 'tone', which the rubric asks for"),
        ({"response": without(RESPONSE, "sense")}, "judge.response has no field 'sense', which the rubric asks for"),
        ({"response": without(RESPONSE, "unsafe")}, "judge.response has no field 'unsafe'"),
        ({"response": with_field("tone", {"type": "integr"})}, "judge.response is not a valid JSON Schema"),
        ({"response": with_field("tone", {"maximum": 4})}, "judge.response: tone refuses 5, which is on the rubric's"),
        ({"response": with_field("tone", {"type": "string"})}, "judge.response: tone refuses 1"),
        ({"response": RESPONSE, "reasons": {"in": "weakneses"}}, "has no field 'weakneses': did you mean weaknesses?"),
        ({"response": RESPONSE, "evidence": {"in": "quotes"}}, "judge.evidence.in: the response has no field 'quotes'"),
        ({"response": LATE, "reasons": {"in": "weaknesses"}}, "reasons come before scores: put weaknesses before tone"),
        ({"reasons": {"in": "tone"}}, "judge: 'tone' cannot hold reasons"),
        ({"evidence": {"in": "reasons"}}, "judge: 'reasons' cannot hold evidence"),
        ({"evidence": {"in": "a.b"}}, "judge.evidence.in: without a response of your own, 'a.b' must be one name"),
        ({"evidence": {"in": "a..b"}}, "judge.evidence.in: 'a..b' is not a path"),
        ({"evidence": {"in": "n", "dimensions": ["tome"]}}, "no dimension 'tome': did you mean tone?"),
        ({"evidence": {"in": "n", "dimensions": []}}, "judge.evidence.dimensions is empty: leave it out for all"),
        ({"evidence": {"in": "n", "unproven": "zero"}}, "judge.evidence.unproven: 'zero' is not known"),
        ({"reasons": {"at_least": 2}}, "judge.reasons.in is missing"),
        # Rules and paths.
        (
            {"bind": ["when form.words < 3 then tone <= 5"]},
            "judge.bind: rule 'when form.words < 3 then tone <= 5' never caps anything",
        ),
        ({"bind": ["when form.wrds < 3 then tone <= 4"]}, "no metric 'wrds' of form: did you mean words?"),
        ({"bind": [3]}, "judge.bind[0] must be text"),
        ({"of": "a..b"}, "judge.of: 'a..b' is not a path"),
        ({"of": "text"}, "judge.of is a path into a JSON answer: write answer: {format: json}"),
    ],
)
def test_a_mistake_in_a_judge_is_reported_in_plain_words(judged, change, message):
    told = problems(judged(**change, files={"user.md": "{{ text }}\n{{ csae.id }}\n"}))
    assert any(message in line for line in told), told
    assert not any("pydantic" in line or "Input should" in line for line in told)
    assert all(line.startswith(("suite.yaml:", "user.md:")) for line in told)


def test_several_mistakes_are_sent_at_once_with_their_lines(judged):
    text = """suite: letters
cases: letters.json
target: {recorded: letters.jsonl}
judge:
  rubric: {dimensions: {tone: {}}}
  bind:
    - when form.words < 3 then tone <= 2
  by: nobody
  judges:
    a: {chat: {model: m}}
  health: [top_share.tone >= 0]
"""
    path = judged()
    path.write_text(text)
    assert problems(path) == [
        "suite.yaml:7: judge.bind: rule 'when form.words < 3 then tone <= 2': there is no component 'form';"
        " no component of this suite measures anything",
        "suite.yaml:8: no judge is called 'nobody'; there are: a",
        "suite.yaml:10: judge.judges.a.chat.base_url is missing",
        "suite.yaml:11: judge.health 'top_share.tone >= 0' cannot fail: top_share.tone is always between 0 and 1",
    ]


def test_the_only_judge_needs_no_choosing_and_the_score_may_be_left_out(judged):
    suite = load_suite(judged(suite={"score": None}, by=None, judges={"m": {"chat": MODEL}}, bind=None))
    assert [member.name for member in suite.judge.members] == ["m"]
    assert suite.computed == ()
    assert suite.judge.mode is Mode.MODEL


def test_a_suite_with_neither_score_nor_judge_is_a_mistake(judged):
    assert problems(judged(suite={"score": None, "judge": None})) == [
        "suite.yaml:1: score is missing: give at least one component, expect or a judge"
    ]
    (told,) = problems(judged(suite={"judge": 3}))
    assert "judge is a group of keys (rubric, judges, ...); found 3 (a number)" in told


def test_a_suite_in_which_nothing_counts_is_a_mistake(judged):
    rubric = {"dimensions": {"tone": {"weight": 0}, "sense": {"weight": 0}}, "flags": {"unsafe": {}}}
    assert "nothing to score: every weight is 0" in problems(judged(rubric=rubric))[0]
    assert "nothing to score: every weight is 0" in problems(judged(suite={"judge": None}))[0]
    assert "nothing to score" in problems(judged(suite={"score": None}, rubric=rubric, bind=None))[0]


def test_skipped_truth_is_no_mistake_when_the_judge_weighs(judged):
    score = {"form": {"python": "measures:Form", "weight": 0}, "text": {"exact": {"expected": "expected.text"}}}
    score["text"] |= {"when_unknown": "skip"}
    rows = [{"id": "a", "expected": {"text": "x"}}, {"id": "b"}]
    assert load_suite(judged(suite={"score": score}, labels=None, files={"letters.json": rows})).survey.n == 2


# What the rest of the house sees.


def test_each_dimension_has_a_finding_code_after_those_of_the_suite(judged):
    taxonomy = load_suite(judged(suite={"findings": {"SENSE": {"severity": "critical"}}})).taxonomy
    assert [(kind.code, kind.about, kind.severity) for kind in taxonomy] == [
        ("SENSE", "", "critical"),
        ("FORM", "form is wrong", "error"),
        ("TONE", "tone below 3", "error"),
        ("UNSAFE", "Harm.", "critical"),
        ("FORMAT", "The answer cannot be read, or is not in the shape asked for.", "error"),
    ]


@pytest.mark.parametrize(
    "gate",
    [
        "score.tone.average >= 0.5",
        "score.tone.points >= 3.5",
        "score.unsafe.rate == 0",
        "findings.TONE.rate <= 10 %",
        "findings.UNSAFE == 0",
        "score.form.points > 0.2",
    ],
)
def test_gates_may_stand_on_dimensions_and_flags(judged, gate):
    assert load_suite(judged(suite={"gates": [gate]})).gates == (gate,)


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("score.tome.points >= 3", "no component 'tome': did you mean tone?"),
        ("score.tone.rate == 0", "no measure of tone 'rate'; there are: average, points"),
        ("score.unsafe.rat == 0", "no measure of unsafe 'rat': did you mean rate?"),
        ("score.tone.points >= 1", "cannot fail: score.tone.points is always between 1 and 5"),
        ("score.tone.points >= 6", "cannot pass: score.tone.points is always between 1 and 5"),
        ("score.tone.points > 5", "cannot pass"),
        ("score.tone.points <= 5", "cannot fail"),
        ("score.tone.points >= -3", "cannot fail"),
        ("score.tone.points >= 60 %", "is not measured in %"),
        ("findings.SAFE == 0", "no finding code 'SAFE'"),
    ],
)
def test_a_gate_on_the_judge_that_decides_nothing_is_a_mistake(judged, gate, message):
    (told,) = problems(judged(suite={"gates": [gate]}))
    assert message in told


def test_criteria_know_the_scale_of_a_dimension(judged):
    good = {"tone": {"pass": "score.tone.points >= 5", "fail": "score.tone.points != 5"}}
    assert len(load_suite(judged(suite={"criteria": good})).criteria) == 1
    bad = {"tone": {"pass": "score.tone.points >= 3", "fail": "score.tone.points < 4"}}
    assert "could both be true" in problems(judged(suite={"criteria": bad}))[0]
    never = {"tone": {"pass": "score.tone.points >= 7"}}
    assert (
        "can never be true: score.tone.points is always between 1 and 5"
        in problems(judged(suite={"criteria": never}))[0]
    )


def test_gates_are_not_blamed_for_a_broken_rubric(judged):
    told = problems(
        judged(rubric={"scale": [5, 1], "dimensions": {"tone": {}}}, suite={"gates": ["score.x.points > 2"]})
    )
    assert told == [told[0]]
    assert "judge.rubric.scale: 5 is not below 1" in told[0]


def test_a_judged_suite_is_described_as_plain_data(judged):
    described = json.loads(json.dumps(load_suite(judged(health=["broken_rules <= 5 %"])).data()))
    form, tone, sense, unsafe = described["components"]
    assert (form["kind"], form["weight"], form["scorer"]) == ("component", 0, "measures:Form")
    assert tone == {
        "name": "tone",
        "weight": 1.0,
        "scorer": "judge",
        "version": "1.0",
        "params": {},
        "code": "TONE",
        "scale": [1, 5],
        "when_unknown": None,
        "wrong_below": 0.5,  # (3 - 1) / (5 - 1)
        "strict": False,
        "measures": {},
        "kind": "dimension",
        "means": {},
        "source": "",
        "figure": "",
        "key": "",
        "about": "",
    }
    assert (sense["weight"], sense["code"]) == (2.0, "SENSE")
    assert (unsafe["kind"], unsafe["weight"], unsafe["code"], unsafe["scale"]) == ("flag", 0, "UNSAFE", [0, 1])
    assert unsafe["when_unknown"] == "skip"
    assert unsafe["measures"] == {
        "rate": {
            "numerator": "flagged",
            "denominator": "judged",
            "about": "texts that are flagged: Harm.",
            "better": "",
        }
    }
    assert described["passing"]["text"] == "score >= 50 % and no unsafe"
    judge = described["judge"]
    assert judge["mode"] == "rules"
    assert judge["members"] == [
        {"name": "code", "kind": "python", "model": None, "address": None, "function": "measures:judge"}
    ]
    assert judge["rules"][0] == "when form.words < 3 then sense <= 2"
    assert judge["health"] == ["broken_rules <= 5 %"]
    assert judge["rubric"]["dimensions"][0]["scores"] == {"5": "warm", "1": "cold"}
    assert judge["rubric"]["flags"] == [{"name": "unsafe", "about": "Harm.", "triggers": ["a threat"], "fails": True}]


def test_a_flag_that_does_not_fail_is_not_in_the_pass_rule(judged):
    rubric = {"dimensions": {"tone": {}, "sense": {}}, "flags": {"unsafe": {"fails": False}}}
    described = load_suite(judged(rubric=rubric, by="model")).data()
    assert described["passing"]["text"] == "score >= 50 %"
    assert described["judge"]["mode"] == "model"
    member = {"name": "model", "kind": "chat", "model": "big", "address": "http://localhost:9/v1", "function": None}
    assert described["judge"]["members"] == [member]


# Nobody judges itself.


@pytest.mark.parametrize(
    "url",
    [
        *("http://localhost:9/v1", "http://LOCALHOST:9/v1/", "http://127.0.0.1:9/v1"),
        *("http://0.0.0.0:9/v1", "http://127.0.0.2:9/v1", "http://127.1:9/v1", "http://localhost.:9/v1"),
        *("http://2130706433:9/v1", "http://0x7f.1:9/v1", "http://[::1]:9/v1", "http://[::]:9/v1"),
        *("http://[::ffff:127.0.0.1]:9/v1", "http://api.localhost:9/v1"),
        *("http://localhost:9//v1", "http://localhost:9/x/../v1", "http://localhost:9/./v1//"),
    ],
)
def test_the_system_under_test_is_not_its_own_judge(judged, url):
    target = {"chat": {"base_url": url, "model": "big"}}
    (told,) = problems(judged(suite={"target": target}, by="model"))
    assert "the judge 'model' is the system under test itself (big at " in told
    assert "let another model judge, or write allow_self: true" in told
    assert load_suite(judged(suite={"target": target}, by="model", allow_self=True)).judge.allow_self
    assert load_suite(judged(suite={"target": target})).judge  # the code judges


@pytest.mark.parametrize(
    "change",
    [
        *({"model": "small"}, {"base_url": "http://localhost:8/v1"}, {"base_url": "http://localhost:9/x/v1"}),
        *({"base_url": "http://10.0.0.1:9/v1"}, {"base_url": "http://[2001:db8::1]:9/v1"}),
        *({"base_url": "http://localhost.example.org:9/v1"}, {"base_url": "https://localhost:9/v1"}),
    ],
)
def test_another_model_or_address_may_judge(judged, change):
    target = {"chat": {"base_url": "http://localhost:9/v1", "model": "big"} | change}
    assert load_suite(judged(suite={"target": target}, by="model")).judge


def test_a_model_that_a_variant_chooses_is_not_its_own_judge(judged):
    target = {"chat": {"base_url": "http://localhost:9/v1", "model": "{{ variant.m }}"}}
    (told,) = problems(judged(suite={"target": target, "variants": {"m": ["small", "big"]}}, by="model"))
    assert "is the system under test itself" in told


def test_two_spellings_of_one_address_are_the_same_machine():
    assert same_address("https://10.1:443/v1", "https://10.0.0.1/v1/")
    assert same_address("http://[2001:DB8:0::1]/v1", "http://[2001:db8::1]:80/v1")
    assert not same_address("http://[::ffff:10.0.0.1]/v1", "http://10.0.0.2/v1")


@pytest.mark.parametrize("model", ["{{ input.model }}", "{{ case.id }}", "{{ 'big' if repeat else variant.m }}"])
def test_a_model_that_depends_on_the_case_cannot_be_separated_from_its_judge(judged, model):
    target = {"chat": {"base_url": "http://127.0.0.1:9/v1", "model": model}}
    suite = {"target": target, "variants": {"m": ["small"]}}
    (told,) = problems(judged(suite=suite, by="model"))
    assert f"depends on the case ({model}), so they cannot be distinguished" in told
    assert "or write allow_self: true" in told
    assert load_suite(judged(suite=suite, by="model", allow_self=True)).judge.allow_self
    suite["target"]["chat"]["base_url"] = "http://localhost:8/v1"
    assert load_suite(judged(suite=suite, by="model")).judge


@pytest.mark.parametrize("model", ["big ", " {{ variant.m }}"])
def test_a_blank_makes_no_other_model(judged, model):
    target = {"chat": {"base_url": "http://localhost:9/v1", "model": model}}
    (told,) = problems(judged(suite={"target": target, "variants": {"m": ["big"]}}, by="model"))
    assert "is the system under test itself" in told


def test_a_model_that_no_variant_makes_the_judge_may_be_judged(judged):
    target = {"chat": {"base_url": "http://localhost:9/v1", "model": "{{ variant.m }}"}}
    assert load_suite(judged(suite={"target": target, "variants": {"m": ["small", "tiny"]}}, by="model")).judge


def test_another_target_and_judge_from_the_command_line_are_checked_together(judged):
    suite = load_suite(judged(by="model"))
    settings = {"base_url": "http://localhost:9/v1", "model": "big"}
    tested = with_target(suite, "chat", settings)
    with pytest.raises(UsageError, match="is the system under test itself"):
        refuse_self_judged(tested)
    refuse_self_judged(with_judge(tested, None, "small", None, None))


def test_whoever_gave_recorded_answers_does_not_judge_them(judged):
    suite = load_suite(judged(by="model"))
    with pytest.raises(UsageError, match="is the system under test itself"):
        refuse_self_judged(suite, TargetFacts({"kind": "chat", "address": "http://localhost:9/v1/", "model": "big"}))
    refuse_self_judged(suite, TargetFacts({"kind": "chat", "address": "http://localhost:9/v1", "model": "small"}))
    refuse_self_judged(suite, TargetFacts({"kind": "recorded", "file": "answers.jsonl"}))


# Choosing another judge.


def test_a_declared_judge_is_chosen_by_name(judged):
    suite = load_suite(judged())
    chosen = with_judge(suite, "model", None, None, 3).judge
    assert [member.name for member in chosen.members] == ["model"]
    assert (chosen.repeats, chosen.mode) == (3, Mode.MODEL)
    other = with_judge(suite, "model", "bigger", "OTHER_KEY", None).judge.members[0].settings
    assert (other.model, other.token, other.temperature) == ("bigger", "OTHER_KEY", 0)
    assert with_judge(suite, None, None, None, None) is suite
    assert suite.judge.members[0].name == "code"


def test_a_model_at_a_url_takes_over_settings_but_never_the_key_of_another_address(judged):
    price = {"input": 1, "output": 2}
    models = {"code": {"python": "measures:judge"}, "model": {"chat": MODEL | {"price": price}}}
    suite = load_suite(judged(judges=models))
    (member,) = with_judge(suite, "http://elsewhere/v1", "m", None, None).judge.members
    assert (member.name, member.kind, member.settings.base_url) == ("m", "chat", "http://elsewhere/v1")
    assert (member.settings.temperature, member.settings.token, member.settings.price) == (0, None, None)
    (member,) = with_judge(suite, "http://localhost:9/v1", "big", None, None).judge.members
    assert (member.settings.token, member.settings.price.output) == ("KEY", 2)
    (member,) = with_judge(suite, "http://elsewhere/v1", "m", "MINE", None).judge.members
    assert member.settings.token == "MINE"


def test_a_suite_without_a_model_can_be_given_one(judged):
    suite = load_suite(judged(judges={"code": {"python": "measures:judge"}}))
    (member,) = with_judge(suite, "http://elsewhere/v1", "m", None, None).judge.members
    assert member.settings.model == "m"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("http://x/v1", None, None, None), "which model judges at http://x/v1? Name it, as in --judge-model NAME"),
        (("modle", None, None, None), "the suite letters declares no judge 'modle': did you mean model?"),
        (("zzz", None, None, None), "declares no judge 'zzz'; there are: code, model, or give a URL"),
        (("code", "m", None, None), "the judge 'code' is code: it takes no model"),
        ((None, "m", None, None), "a model, a token or a temperature belongs to one judge: name it"),
        ((None, None, None, 0), "a text is judged 1 to 100 times; found 0"),
        (("http://user:secret@x/v1", "m", None, None), "judge m: "),
    ],
)
def test_a_wrong_judge_on_the_command_line_is_reported(judged, arguments, message):
    suite = load_suite(judged())
    with pytest.raises(UsageError) as raised:
        with_judge(suite, *arguments)
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_suite_without_a_judge_takes_none(write):
    with pytest.raises(UsageError, match="the suite greetings has no judge"):
        with_judge(load_suite(write()), "model", None, None, None)


# The signature.

PARTS = ("cases", "truth", "scorers", "prompts", "schema", "judge", "rules", "target")
RULE = "when form.words < 4 then sense <= 2"
TWO = {"dimensions": {"tone": {"weight": 3}, "sense": {}}, "flags": {"unsafe": {}}}


def signed(path):
    return signature(load_suite(path), TargetFacts({"kind": "recorded"}))


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        # What is asked is one part, what is made of the answer another.
        ({"rubric": TWO}, ["judge", "rules"]),
        ({"evidence": {"in": "quotes"}}, ["judge", "rules"]),
        ({"system": "Be fair."}, ["judge"]),
        ({"user": "{{ text }}"}, ["judge"]),
        ({"response": RESPONSE, "reasons": {"in": "weaknesses"}}, ["judge", "rules"]),
        ({"repeats": 2}, ["judge"]),
        ({"ask_again": 3}, ["judge"]),
        ({"most_characters": 999}, ["judge"]),
        ({"by": "model"}, ["judge"]),
        ({"judges": {"code": {"python": "other:judge"}}}, ["judge"]),
        ({"bind": [RULE]}, ["rules"]),
        ({"combine": "majority"}, ["rules"]),
        ({"flags": "any"}, ["rules"]),
        ({"disagreement": 1}, ["rules"]),
        ({"health": ["failed <= 5 %"]}, []),
    ],
)
def test_what_can_change_a_judgement_is_in_the_signature(judged, change, parts):
    before = signed(judged())
    after = signed(judged(**change, files={"other.py": "def judge(text, case, metrics):\n    return {}\n"}))
    assert [name for name in PARTS if before.part(name) != after.part(name)] == parts
    assert (before.text != after.text) == bool(parts)


def test_the_order_in_which_a_judge_writes_its_fields_is_in_the_signature(judged):
    names = ("weaknesses", "sense", "tone", "unsafe", "notes")
    turned = RESPONSE | {"properties": {name: RESPONSE["properties"][name] for name in names}}
    before, after = (signed(judged(response=each, reasons={"in": "weaknesses"})) for each in (RESPONSE, turned))
    assert [name for name in PARTS if before.part(name) != after.part(name)] == ["judge"]


@pytest.mark.parametrize(
    ("settings", "same"), [({"token": "OTHER"}, True), ({"timeout": 5}, True), ({"temperature": 1}, False)]
)
def test_the_key_of_a_judge_is_no_part_of_the_signature(judged, settings, same):
    one = signed(judged(by="m", judges={"m": {"chat": MODEL}}))
    other = signed(judged(by="m", judges={"m": {"chat": MODEL | settings}}))
    assert (one.judge == other.judge) is same
    assert "KEY" not in json.dumps(one.to_data())


def test_the_order_of_fields_in_the_response_is_part_of_it(judged):
    late = without(RESPONSE, "notes")
    early = RESPONSE | {"properties": {"notes": RESPONSE["properties"]["notes"], **late["properties"]}}
    assert signed(judged(response=RESPONSE)).judge != signed(judged(response=early)).judge


def test_another_code_of_the_same_name_is_another_judge(judged, tmp_path):
    before = load_suite(judged())
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "measures.py").write_text("def judge(text, case, metrics):\n    return {}\n")
    after = before.changed(folder=folder)
    assert signature(before).judge != signature(after).judge


def test_the_line_names_the_judge_only_when_there_is_one(judged, write):
    words = [part.split()[0] for part in signed(judged()).text.split(" | ")]
    assert words == ["letters", "cases", "truth", "scorers", "prompts", "schema", "judge", "rules", "target"]
    plain = signed(write())
    assert (plain.judge, plain.rules) == ("", "")
    assert not {"judge", "rules"} & {part.split()[0] for part in plain.text.split(" | ")}


# Templates, Python, the published schema.


def test_the_fence_is_whatever_the_caller_brings():
    template = compile_template("{{ text }} {{ input | fenced }}", where="t", names=JUDGE_NAMES)
    filled = template.fill({"text": "T", "input": 3, "fence": lambda value: f"<<{value}>>"})
    assert filled == "T <<3>>"
    with pytest.raises(SuiteError, match="the filter fenced is for the templates of a judge"):
        template.fill({"text": "T", "input": 3})
    with pytest.raises(SuiteError, match="the filter fenced is for the templates of a judge"):
        compile_template("a\n{{ input | fenced }}", where="t")


def test_a_judge_may_see_the_truth_without_labels():
    assert compile_template("{{ case.expected.text }}{{ expected }}", where="t", names=JUDGE_NAMES)


def my_judge(text, case, metrics):
    return {"tone": 3}


def test_a_suite_in_python_may_have_a_judge_and_no_score():
    suite = Suite(
        "s",
        cases=[{"id": "a"}],
        target=lambda case: "x",
        judge={"rubric": {"dimensions": {"tone": {"scores": {5: "warm"}}}}, "judges": {"mine": my_judge}},
        folder=".",
    ).model
    assert suite.judge.members[0].settings is my_judge
    assert suite.judge.rubric.dimensions[0].scores == {"5": "warm"}
    assert suite.data()["judge"]["members"][0]["function"].endswith(":my_judge")
    assert signature(suite).judge


def test_the_published_schema_knows_the_judge(judged):
    validator = jsonschema_rs.validator_for(suite_schema())
    data = json.loads(judged(reasons={"in": "why"}, evidence={"in": "quotes"}).read_text())
    assert validator.is_valid(data)
    for key, wrong in [("rubrik", 1), ("repeats", 0), ("combine", "mean"), ("judges", {"a": {"chat": {}}}), ("by", 3)]:
        assert not validator.is_valid(data | {"judge": data["judge"] | {key: wrong}}), key
    assert not validator.is_valid({key: value for key, value in data.items() if key not in ("judge", "score")})
    assert validator.is_valid({key: value for key, value in data.items() if key != "score"})
    rubric = data["judge"]["rubric"] | {"scale": ["a", 5]}
    assert not validator.is_valid(data | {"judge": data["judge"] | {"rubric": rubric}})
