"""Personal data is taken out before anything is stored or sent."""

import json

import pytest

from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.records import CallResult, Failure, TargetFacts
from steelyard.suite.case import Case
from steelyard.suite.redaction import RedactedCases, Redactor, RedactPart
from steelyard.suite.signature import signature


def redactor(hook=None, **what):
    return Redactor(RedactPart(**what), hook)


def plain(text, **what):
    return redactor(**what).text(text, Case("a"))


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("write to ann.lee+x@mail.example.co.uk, please", "write to [EMAIL], please"),
        ("a@b.de and c_d@e-f.org.", "[EMAIL] and [EMAIL]."),
        ("mail me @home", "mail me @home"),
        ("2 @ 3.50", "2 @ 3.50"),
    ],
)
def test_e_mail_addresses_are_taken_out(text, without):
    assert plain(text, emails=True) == without


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("call +49 170 1234567 today", "call [PHONE] today"),
        ("call (555) 123-4567.", "call [PHONE]."),
        ("call 0049-30-123456", "call [PHONE]"),
        ("020 7946 0958, after six", "[PHONE], after six"),
        ("from 1890 to 1920", "from 1890 to 1920"),
        ("1890-1920", "1890-1920"),
        ("it costs 12,500,000 dollars", "it costs 12,500,000 dollars"),
        ("order 4711081511", "order 4711081511"),
        ("on 2026-11-16 at 10:30", "on 2026-11-16 at 10:30"),
        ("shipped 2026-01-18 10:30", "shipped 2026-01-18 10:30"),
        ("parcel 4711 0815 2233", "parcel 4711 0815 2233"),
        ("call 555-123-4567 now", "call [PHONE] now"),
        ("call (030) 1234567", "call [PHONE]"),
        ("since 01.02.2026", "since 01.02.2026"),
    ],
)
def test_phone_numbers_are_taken_out_and_other_numbers_stay(text, without):
    assert plain(text, phones=True) == without


def test_names_are_found_at_their_path_and_taken_out_of_everything():
    question = "Will Ann find rest? asks ANN LEE"
    case = Case("a", input={"user": "Ann Lee", "question": question}, expected={"by": "Ann"}, why="Ann asked")
    redacted = redactor(names=["input.user"]).case(case)
    assert redacted.why == "[NAME] asked"
    assert redacted.input == {"user": "[NAME]", "question": "Will [NAME] find rest? asks [NAME]"}
    assert redacted.expected == {"by": "[NAME]"}


def test_names_of_the_case_are_taken_out_of_its_answers_and_failures():
    redact = redactor(names=["input.users"])
    case = redact.case(Case("a", input={"users": ["Ann", "Bo"]}))
    given = CallResult(text="Dear Ann, tell Bo. Annually yours", failure=Failure("cut", "Bo left"))
    attempt = redact.redact_call(given, case.private)
    assert attempt.text == "Dear [NAME], tell [NAME]. Annually yours"
    assert attempt.failure == Failure("cut", "[NAME] left")


@pytest.mark.parametrize(
    ("question", "without"),
    [
        ("My name is Ann Lee and I am tired.", "My name is [NAME] and I am tired."),
        ("I am at a crossroads with my partner Alex.", "I am at a crossroads with my partner [NAME]."),
        ("My ex-husband left. My brother Tom stayed.", "My ex-husband left. My brother [NAME] stayed."),
        ("My partner and I argue.", "My partner and I argue."),
    ],
)
def test_names_that_a_question_introduces_are_taken_out(question, without):
    assert redactor(introduced=True).case(Case("a", input=question)).input == without


def test_a_name_that_was_introduced_does_not_come_back_with_the_answer():
    redact = redactor(introduced=True)
    case = redact.case(Case("a", input={"question": "Should I trust my boss Dana?"}))
    assert (
        redact.text("Dana may surprise you. Dana's plan is open.", case)
        == "[NAME] may surprise you. [NAME]'s plan is open."
    )


def test_names_stay_out_of_what_is_stored_of_a_case():
    case = redactor(names=["input.user"]).case(Case("a", input={"user": "Ann"}))
    assert case.private == ("Ann",)
    assert "Ann" not in repr(case)
    assert "Ann" not in str(case.as_data())


def test_cases_are_redacted_as_they_are_read():
    source = [Case("a", input="a@b.de"), Case("b", input="none")]
    cases = RedactedCases(source, redactor(emails=True))
    assert [case.input for case in cases] == ["[EMAIL]", "none"]
    assert [case.input for case in cases] == ["[EMAIL]", "none"]


def test_a_function_of_the_suite_sees_every_text_last():
    redact = redactor(hook=lambda text: text.replace("Berlin", "[CITY]"), emails=True)
    assert redact.case(Case("a", input=["a@b.de in Berlin"])).input == ["[EMAIL] in [CITY]"]


def test_nothing_is_taken_out_unless_it_is_asked_for():
    text = "Ann, a@b.de, +49 170 1234567"
    assert plain(text, names=["input.user"]) == text


def test_what_is_taken_out_is_part_of_the_signature(write):
    found = [
        signature(load_suite(write({"redact": what})), TargetFacts({"kind": "python"}))
        for what in ({"emails": True}, {"phones": True})
    ]
    assert found[0].redact != found[1].redact
    assert signature(load_suite(write()), TargetFacts({"kind": "python"})).redact is None


def test_a_path_to_names_that_leads_nowhere_is_a_mistake(tmp_path):
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "input": {"user": "Ann"}, "expected": {"word": "x"}}\n')
    (tmp_path / "suite.yaml").write_text(
        "suite: s\ncases: {files: cases.jsonl}\ntarget: {recorded: answers.jsonl}\n"
        "score: {word: {exact: {expected: expected.word}}}\nredact: {names: [input.user, input.custmer]}\n"
    )
    with pytest.raises(SuiteError, match=r"suite.yaml:5: redact.names: input.custmer is in none of the 1 cases"):
        load_suite(tmp_path)


@pytest.mark.parametrize(
    ("uncapped", "without"),
    [
        ('{"a": "Dear\\nAnna", "Anna": 1}', '{"a": "Dear\\n[NAME]", "[NAME]": 1}'),
        ('{"a": "write to\\nann@mail.example"}', '{"a": "write to\\n[EMAIL]"}'),
        ('noise {"a": "Dear\\nAnna, write to\\nann@mail.example"}', 'noise {"a": "Dear\\n[NAME], write to\\n[EMAIL]"}'),
        ('{"a": "Zo\\u00eb Li and O\u2019Neil"}', '{"a": "[NAME] and [NAME]"}'),
        ("Zoe\u0308 said _Anna_ knows Li", "[NAME] said _[NAME]_ knows [NAME]"),
        ('noise "Zo\\u00eb"', 'noise "[NAME]"'),
        ("call 01511234567", "call [PHONE]"),
    ],
)
def test_no_spelling_of_json_or_unicode_hides_personal_data(uncapped, without):
    redact = redactor(names=["input.names"], emails=True, phones=True)
    case = redact.case(Case("a", input={"names": ["Anna", "Zo\u00eb Li", "O'Neil"]}))
    assert redact.redact_call(CallResult(text=uncapped), case.private).text == without


def test_json_stays_json():
    raw = '{"a": "x\\ty@z.de \\" q", "b": [1.5, null, "ann@mail.example"]}'
    text = redactor(emails=True).redact_call(CallResult(text=raw), ()).text
    assert json.loads(text) == {"a": 'x\t[EMAIL] " q', "b": [1.5, None, "[EMAIL]"]}


def test_names_are_taken_out_of_category_and_tags():
    case = redactor(names=["input.user"]).case(Case("a", input={"user": "Ann"}, category="for Ann", tags=("Ann", "b")))
    assert (case.category, case.tags) == ("for [NAME]", ("[NAME]", "b"))


def test_the_longer_of_two_names_is_taken_out_first():
    # The other way round "Bo" would go first and leave " X", which is too short to be a name of its own.
    redact = redactor(names=["input.users"])
    case = redact.case(Case("a", input={"users": ["Bo", "Bo X"], "question": "Bo X asks for Bo."}))
    assert case.private == ("Bo X", "Bo")
    assert case.input["question"] == "[NAME] asks for [NAME]."
