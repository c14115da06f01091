"""Flaws planted in suites, each of which `audit` names, and sound suites that look like them, which it lets be."""

import base64
import json
import random
from itertools import combinations

import pytest
import yaml

from parts.command import invoke
from steelyard.auditing.audit import audit
from steelyard.auditing.cases import Asked, near_duplicates
from steelyard.loading.load import load_suite

EXACT = {"label": {"exact": {"expected": "expected.label"}}}
NAME = {"name": {"exact": {"expected": "expected.name"}}}
PARTS = {"parts": {"match_items": {"expected": {"items": "expected.parts[]"}, "shapes": [{"items": "parts[]"}]}}}
TOWNS = ["Paris", "Oslo", "Rome", "Cairo", "Lima", "Quito", "Accra", "Delhi", "Hanoi", "Seoul"]
LAND = ["France", "Norway", "Italy", "Egypt", "Peru", "Ecuador", "Ghana", "India", "Vietnam", "Korea"]
TOPICS = [
    "The parcel arrived crushed and the lamp inside is broken into many pieces",
    "My invoice shows two payments for a single month of service",
    "How can I change the name on the account of my late father",
    "Your driver left the boxes in the rain outside our gate",
    "The new app closes whenever I open the list of orders",
    "Please tell me whether the shop in Leeds opens on Sunday",
    "A colleague recommended you and everything went smoothly from start to end",
    "I waited an hour on the phone and then nobody spoke",
    "The colour of these curtains differs from the picture online",
    "Could you send the warranty papers once more by post",
]


def audited(folder, cases, score, **more):
    """The complaints about a suite of these cases."""
    (folder / "cases.json").write_text(json.dumps(cases))
    suite = {
        "suite": "planted",
        "cases": {"files": "cases.json"},
        "target": {"python": "m:f"},
        "answer": {"format": "json"},
        "score": score,
        "pass": "score >= 75 %",
        "gates": ["pass_rate >= 90 %"],
        **more,
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))
    return audit(load_suite(folder / "suite.yaml")).complaints


def labelled(*labels, **more):
    return [
        {"id": f"c{n}", "input": {"text": f"{TOPICS[n % 10]}, told {n} times"}, "expected": {"label": label, **more}}
        for n, label in enumerate(labels)
    ]


def numbered(n):
    return [
        {"id": f"c{k}", "input": {"n": k * 7919 % 1000}, "expected": {"label": f"w{k * 104729 % 9973}"}}
        for k in range(n)
    ]


def towns(n=10, **more):
    return [
        {"id": land, "input": {"text": f"What is the capital of {land}?"}, "expected": {"name": town, **more}}
        for land, town in list(zip(LAND, TOWNS, strict=True))[:n]
    ]


def enum(*labels):
    return {"schema": {"type": "object", "required": ["label"], "properties": {"label": {"enum": list(labels)}}}}


def one(message, *words):
    """The single complaint, which holds these words."""
    (sentence,) = message
    assert all(word in sentence for word in words), sentence
    return True


# Constants, against chance.


@pytest.mark.parametrize("answer", [{"format": "json"}, enum("no", "yes"), enum("yes", "no")])
@pytest.mark.parametrize("yes", [9, 10])
def test_one_class_in_most_cases_is_named(tmp_path, answer, yes):
    told = audited(tmp_path, labelled(*["yes"] * yes, *["no"] * (10 - yes)), EXACT, answer=answer, gates=[])
    share = f"{yes}0.0 % of full marks for the truth that most cases have; at most 75 % is allowed"
    assert any(share in each for each in told)


def test_one_class_in_most_cases_is_named_when_answers_are_plain_text(tmp_path):
    told = audited(tmp_path, labelled(*["yes"] * 9, "no"), EXACT, answer={"format": "text"}, gates=[])
    assert one(told, "most frequent", "90.0 %")


def test_a_mixture_of_truths_that_passes_for_each_of_them_is_named(tmp_path):
    score = {"label": {"contains": {"expected": "expected.label"}}}
    told = audited(tmp_path, labelled(*["spam", "ham"] * 5), score, answer={"format": "text"}, gates=[])
    assert any(each.startswith("best parts (as written): 100.0 %") for each in told)


def test_the_best_answer_of_each_part_is_named_where_no_whole_truth_is_frequent(tmp_path):
    # Each part has one value in nine of ten cases; the odd ones are spread, so that few whole truths are equal.
    cases = labelled(*["a"] * 10)
    for n, case in enumerate(cases):
        case["expected"] = {f"p{k}": "odd" if k == n else "even" for k in range(10)}
    score = {f"p{k}": {"exact": {"expected": f"expected.p{k}"}} for k in range(10)}
    told = audited(tmp_path, cases, score, gates=[])
    assert any(each.startswith("best parts (as written): 90.0 %") for each in told)


def test_a_number_in_the_middle_that_is_near_enough_for_most_cases_is_named(tmp_path):
    cases = labelled(*[100 + n for n in range(10)])
    score = {"label": {"number": {"expected": "expected.label", "absolute": 6}}}
    told = audited(tmp_path, cases, score, gates=[])
    # 104.5 is within 6 of all ten.
    assert any(each.startswith("best parts (as written): 100.0 %") for each in told)


def test_items_that_stand_in_most_lists_are_named(tmp_path):
    cases = labelled(*"abcdefghij")
    for n, case in enumerate(cases):
        case["expected"] = {"parts": ["leg", "top", "drawer", f"piece {n}"]}
    told = audited(tmp_path, cases, PARTS, gates=[], **{"pass": "score >= 90 %"})
    # Three of four items everywhere, and the fourth of the case whose list it is: 31 of 40.
    assert any(each.startswith("best parts (as written): 77.5 %") for each in told)


@pytest.mark.parametrize("labels", [("yes", "no"), ("a", "b", "c"), tuple("abcde")])
@pytest.mark.parametrize("closed", [True, False])
def test_a_balanced_choice_is_no_alarm(tmp_path, labels, closed):
    answer = enum(*labels) if closed else {"format": "json"}
    assert audited(tmp_path, labelled(*labels * 12), EXACT, answer=answer) == []


def test_a_choice_that_is_not_quite_balanced_is_no_alarm(tmp_path):
    assert audited(tmp_path, labelled(*["yes"] * 13, *["no"] * 7), EXACT, answer=enum("yes", "no")) == []


@pytest.mark.parametrize("labels", [("a", "b"), ("b", "a", "a"), tuple("aabbc"), tuple("abcde")])
def test_a_choice_of_few_cases_is_no_alarm_where_the_schema_declares_it(tmp_path, labels):
    assert audited(tmp_path, labelled(*labels), EXACT, answer=enum(*sorted(set(labels)))) == []


def test_a_choice_of_three_at_a_fifth_of_the_weight_is_no_alarm(tmp_path):
    cases = towns()
    for n, case in enumerate(cases):
        case["expected"]["kind"] = "abc"[n % 3]
    score = {"name": NAME["name"] | {"weight": 4}, "kind": {"exact": {"expected": "expected.kind"}, "weight": 1}}
    properties = {"name": {"type": "string"}, "kind": {"enum": ["a", "b", "c"]}}
    answer = {"schema": {"type": "object", "required": ["name", "kind"], "properties": properties}}
    assert audited(tmp_path, cases, score, answer=answer) == []


# Gates, all of them against every probe.


@pytest.mark.parametrize(
    "gates",
    [
        ["latency.p95 <= 5 s"],
        ["malformed_rate <= 5 %", "cost.total <= 3"],
        ["scored_rate >= 95 %"],
        ["findings.FORMAT == 0"],
        ["inconclusive_rate <= 5 %", "latency.mean <= release + 20 ms"],
    ],
)
def test_gates_that_do_not_ask_for_right_answers_are_named(tmp_path, gates):
    assert one(audited(tmp_path, towns(), NAME, gates=gates), "measures correctness")


def test_gates_that_an_answer_without_items_passes_together_are_named(tmp_path):
    cases = [case | {"expected": {"parts": [f"{case['id']} leg", f"{case['id']} top"]}} for case in towns()]
    told = audited(tmp_path, cases, PARTS, gates=["findings.EXTRA == 0", "malformed_rate <= 5 %"])
    assert one(told, "all gates and criteria together pass a system", "a well-formed answer without items (none)")


@pytest.mark.parametrize("gate", ["pass_rate >= 40 %", "average >= 45 %", "score.label.average >= 30 %"])
def test_a_gate_below_chance_is_named(tmp_path, gate):
    told = audited(tmp_path, labelled(*["yes", "no"] * 10), EXACT, gates=[gate, "pass_rate >= 90 %"])
    assert one(told, f"gate {gate!r} passes a system that gives", "50.0 %")


def test_gates_on_findings_below_chance_are_named_together(tmp_path):
    told = audited(tmp_path, labelled(*["yes", "no"] * 10), EXACT, gates=["findings.LABEL.rate <= 60 %"])
    assert one(told, "all gates and criteria together pass a system", "the truth that most cases have")


def test_gates_on_what_was_said_and_on_what_was_left_out_are_no_alarm_together(tmp_path):
    cases = [case | {"expected": {"parts": ["leg", *(f"{case['id']} {k}" for k in "abc")]}} for case in towns()]
    gates = ["score.parts.found >= 80 %", "score.parts.extra <= 80 %", "findings.EXTRA.rate <= 95 %"]
    assert audited(tmp_path, cases, PARTS, gates=gates) == []


PILES = {
    "cards": {
        "match_items": {
            "expected": {"items": "expected.piles[].cards[]", "group": "label"},
            "shapes": [{"items": "piles[].cards[]", "group": "label"}],
        }
    }
}


def piles():
    """Ten tables with twenty cards in ten piles: 180 of 190 pairs are apart, 94.7 %."""
    return [
        {
            "id": f"t{n}",
            "input": {"text": f"table number {n}"},
            "expected": {"piles": [{"label": f"p{k}", "cards": [f"c{n}-{k}-{i}" for i in "ab"]} for k in range(10)]},
        }
        for n in range(10)
    ]


def test_a_gate_on_rand_that_one_pile_an_item_passes_is_named(tmp_path):
    gates = ["score.cards.text >= 90 %", "score.cards.rand >= 90 %"]
    told = audited(tmp_path, piles(), PILES, gates=gates)
    assert one(told, "gate 'score.cards.rand >= 90 %'", "groups that say nothing (94.7 %)")


@pytest.mark.parametrize("gate", ["score.cards.rand >= 97 %", "score.cards.grouping >= 70 %", "average >= 60 %"])
def test_a_gate_that_one_pile_an_item_misses_is_no_alarm(tmp_path, gate):
    assert audited(tmp_path, piles(), PILES, gates=[gate, "score.cards.text >= 90 %"]) == []


def test_gates_on_form_beside_one_on_quality_are_no_alarm(tmp_path):
    gates = ["pass_rate >= 80 %", "malformed_rate <= 5 %", "scored_rate >= 95 %", "findings.FORMAT == 0"]
    gates += ["latency.p95 <= 5 s", "cost.total <= 10"]
    assert audited(tmp_path, towns(), NAME, gates=gates) == []


@pytest.mark.parametrize(
    ("n", "gate", "caught"),
    [
        (5, "average >= release - 2 points for sure", True),
        (5, "average >= release - 3 points", True),
        (6, "average >= release - 2 points for sure", False),
        (10, "pass_rate >= release - 3 points", False),
        (5, "latency.mean <= release + 20 ms", False),
    ],
)
def test_a_gate_on_a_baseline_that_so_few_cases_can_never_decide_is_named(tmp_path, n, gate, caught):
    told = audited(tmp_path, towns(n), NAME, gates=["pass_rate >= 80 %", gate])
    # The least p of a sign test with 5 cases is 2 / 32 = 0.063, with 6 it is 2 / 64 = 0.031.
    assert one(told, "can never be decided", f"(n {n})") if caught else told == []


FOR_SURE = "pass_rate >= release - 2 points for sure"


@pytest.mark.parametrize(
    ("labels", "gates", "caught"),
    [
        # 2,000,000 draws of weights: with 4 gains and 16 that stay a mean of -2 points has 4.2 %, with 5 gains 2.1 %.
        (20, ["pass_rate >= 80 %", FOR_SURE], True),
        (20, ["pass_rate >= 75 %", FOR_SURE], False),
        (20, ["pass_rate >= 99 %", "pass_rate >= release - 10 points for sure"], True),
        (20, ["findings.LABEL.rate <= 20 %", "findings.LABEL.rate <= release + 2 points for sure"], True),
        # 0.98^183 is the first below 2.5 %.
        (182, ["pass_rate >= 99.9 %", FOR_SURE], True),
        (183, ["pass_rate >= 99.9 %", FOR_SURE], False),
        (20, ["average >= 90 %", "average >= release - 2 points for sure"], True),
        (60, ["average >= 80 %", "average >= release - 2 points for sure"], False),
    ],
)
def test_a_gate_that_not_even_a_run_without_a_fault_passes_for_sure_is_named(tmp_path, labels, gates, caught):
    told = audited(tmp_path, numbered(labels), EXACT, gates=["malformed_rate <= 5 %", *gates])
    assert one(told, f"{gates[1]!r} can never pass", f"meets {gates[0]!r}") if caught else told == []


@pytest.mark.parametrize(("n", "message"), [(182, ["it takes 183 cases or clusters, and there are 182"]), (183, [])])
def test_a_gate_that_takes_more_cases_than_there_are_unless_the_baseline_is_worse_is_warned_of(tmp_path, n, message):
    audited(tmp_path, numbered(n), EXACT, gates=["pass_rate >= 80 %", FOR_SURE])
    warnings = audit(load_suite(tmp_path / "suite.yaml")).warnings
    assert [each.partition("nothing changes ")[2] for each in warnings if "for sure" in each] == message


# Cases.


def test_two_cases_that_ask_the_very_same_are_named(tmp_path):
    cases = [*towns(), towns(1)[0] | {"id": "again"}]
    assert one(audited(tmp_path, cases, NAME), "ask the very same", "France and again")


@pytest.mark.parametrize(
    "text",
    [
        "what is the  capital of france",
        "What is the capital of FRANCE ?!",
    ],
)
def test_a_case_that_differs_in_signs_and_letter_case_alone_is_named(tmp_path, text):
    cases = [*towns(), {"id": "again", "input": {"text": text}, "expected": {"name": "Paris"}}]
    assert one(audited(tmp_path, cases, NAME), "almost the same words", "France and again")


def test_a_case_that_differs_in_a_word_is_named(tmp_path):
    first = "I was charged twice for the same order last week and nobody answers my letters, please refund the money"
    again = first.replace("letters", "calls")
    cases = labelled(*["a", "b"] * 5)
    cases[0]["input"]["text"], cases[2]["input"]["text"] = first, again
    assert one(audited(tmp_path, cases, EXACT), "almost the same words", "c0 and c2")


def test_one_question_with_two_truths_is_named(tmp_path):
    cases = [*towns(), towns(1)[0] | {"id": "again", "expected": {"name": "Lyon"}}]
    assert one(audited(tmp_path, cases, NAME), "one question has two truths", "France and again")


@pytest.mark.parametrize(
    "texts",
    [
        [f"What is {n} plus {n + 1}, and is the sum an even number or is it an odd one?" for n in range(20)],
        # A pattern with one word filled in.
        [f"Is the word {word} in this long sentence the name of a town or of something else?" for word in TOWNS * 1],
        [f"Is a {word} an animal?" for word in ["cat", "bat", "rat", "hat", "mat", "vat", "cot", "bit", "rut", "hut"]],
    ],
)
def test_patterns_filled_in_with_other_numbers_or_words_are_no_duplicates(tmp_path, texts):
    cases = [{"id": f"c{n}", "input": text, "expected": {"label": "ab"[n % 2]}} for n, text in enumerate(texts)]
    assert audited(tmp_path, cases, EXACT) == []


def test_texts_of_few_words_that_differ_in_letter_case_or_blanks_are_no_duplicates(tmp_path):
    texts = ["", "  ", "STOP", "stop", "Stop!", "go on", "GO  ON", "a b c", "A B C", "a, b, c"]
    cases = [
        {"id": f"c{n}", "input": {"text": text, "to": "all"}, "expected": {"label": "ab"[n % 2]}}
        for n, text in enumerate(texts)
    ]
    assert audited(tmp_path, cases, EXACT) == []


def test_several_questions_about_one_text_are_no_duplicates(tmp_path):
    text = " ".join(TOPICS)
    asked = ["Who wrote this?", "What broke?", "Where is the shop?", "When was it paid?", "Why was it late?"]
    cases = [
        {"id": f"c{n}", "input": {"text": text, "question": question}, "expected": {"label": "ab"[n % 2]}}
        for n, question in enumerate(asked)
    ]
    assert audited(tmp_path, cases, EXACT) == []


@pytest.mark.parametrize(
    "leak",
    [
        lambda case: {"text": "Which town?", "n": case["id"], "meta": {"gold": case["expected"]["name"], "by": "ada"}},
        lambda case: {
            "messages": [{"role": "user", "text": case["id"]}, {"role": "x", "text": case["expected"]["name"]}]
        },
        lambda case: {"text": f"Capital of {case['id']}? The answer is {case['expected']['name']}, they say."},
        lambda case: {"text": f"Capital of {case['id']}?\n\nGold: {case['expected']['name']}\nBe brief."},
    ],
)
def test_a_truth_that_stands_in_the_question_is_named(tmp_path, leak):
    cases = [case | {"input": leak(case)} for case in towns()]
    told = audited(tmp_path, cases, NAME)
    assert any("the truth of name in 10 of 10 cases" in each for each in told), told


def asks(body):
    return {"http": {"url": "http://127.0.0.1:9/ask", "json": body, "answer": "answer"}}


CODES = {
    "base64": lambda town: base64.b64encode(town.encode()).decode(),
    "base64 without its end": lambda town: base64.urlsafe_b64encode(town.encode()).decode().rstrip("="),
    "hexadecimal": lambda town: town.encode().hex(),
    "backwards": lambda town: town[::-1],
    "letter case": str.swapcase,
    "spaced": lambda town: " ".join(town),
    "signs": lambda town: f"_{town}_",
}


@pytest.mark.parametrize(
    ("code", "inside"),
    [(code, "{}") for code in CODES] + [(code, "Where is it? Answer: {}. Be brief.") for code in list(CODES)[:5]],
)
def test_a_truth_that_stands_in_the_question_in_code_is_named(tmp_path, code, inside):
    cases = [
        case | {"input": {"text": case["id"], "hint": inside.format(CODES[code](case["expected"]["name"]))}}
        for case in towns()
    ]
    told = audited(tmp_path, cases, NAME)
    assert any("input.hint" in each and "the truth of name in 10 of 10 cases" in each for each in told), told


@pytest.mark.parametrize(
    ("where", "body"),
    [
        ("category", {"q": "{{ input.text }}", "kind": "{{ case.category }}"}),
        ("tags", {"q": "{{ input.text }}", "about": "{{ case['tags'] | join(', ') }}"}),
        ("id", {"q": "{{ input.text }} ({{ case.id }})"}),
        ("category", "{{ case | json }}"),
        ("tags", {"all": "{{ case }}"}),
    ],
)
def test_a_truth_that_a_template_sends_beside_the_question_is_named(tmp_path, where, body):
    cases = [with_truth_in(where, case) for case in towns()]
    told = audited(tmp_path, cases, NAME, target=asks(body))
    assert one(told, f"{where} is the truth of name in 10 of 10 cases")


@pytest.mark.parametrize("where", ["category", "tags", "id"])
@pytest.mark.parametrize("body", ["input", {"q": "{{ input.text }}"}, {"q": "{{ case.input }}"}])
def test_what_is_never_sent_gives_nothing_away(tmp_path, where, body):
    cases = [with_truth_in(where, case) for case in towns()]
    assert audited(tmp_path, cases, NAME, target=asks(body)) == []


def test_a_part_of_the_input_that_is_never_sent_gives_nothing_away(tmp_path):
    cases = [case | {"input": case["input"] | {"gold": case["expected"]["name"]}} for case in towns()]
    told = audited(tmp_path, cases, NAME, target=asks({"q": "{{ input.text }}"}))
    assert not any("a system could copy it" in each for each in told)
    for body in ("input", {"q": "{{ input['gold'] }}"}, {"q": "{% for one in input.items() %}{{ one }}{% endfor %}"}):
        told = audited(tmp_path, cases, NAME, target=asks(body))
        assert any("input.gold is the truth of name" in each for each in told)


def with_truth_in(where, case):
    town = case["expected"]["name"]
    given = {"category": town.upper(), "tags": ["town", town] if town < "M" else [town, "town"], "id": f"{town}-017"}
    return case | {where: given[where]}


def test_a_number_that_stands_in_the_question_as_a_field_is_named(tmp_path):
    schema = {"type": "object", "required": ["label"], "properties": {"label": {"type": "number"}}}
    cases = labelled(*[3 * n + 7 for n in range(10)])
    for case in cases:
        case["input"]["total"] = case["expected"]["label"]
    score = {"label": {"number": {"expected": "expected.label"}}}
    told = audited(tmp_path, cases, score, answer={"schema": schema})
    assert any("input.total is the truth of label in 10 of 10 cases" in each for each in told)


def test_a_label_in_brackets_behind_the_text_is_named(tmp_path):
    cases = labelled(*["good", "bad"] * 5)
    for case in cases:
        case["input"]["text"] += f" [{case['expected']['label']}]"
    assert one(audited(tmp_path, cases, EXACT), "input.text reveals the truth of label in 10 of 10 cases")


def test_a_text_that_the_answer_is_to_be_found_in_is_no_leak(tmp_path):
    cases = [case | {"input": {"text": f"The fastest train to {case['expected']['name']}, please"}} for case in towns()]
    assert audited(tmp_path, cases, NAME) == []


def test_a_question_that_names_the_choice_is_no_leak(tmp_path):
    cases = labelled(*["yes", "no"] * 6)
    for case in cases:
        case["input"]["text"] += ". Answer yes or no"
    assert audited(tmp_path, cases, EXACT) == []


@pytest.mark.parametrize("new", ["1100" * 4, "10101001"])
def test_a_field_that_agrees_with_the_truth_by_chance_is_no_leak(tmp_path, new):
    # 8 of 16, and 6 of 8, which a coin does once in seven times.
    cases = labelled(*([True, False] * 8)[: len(new)])
    for case, digit in zip(cases, new, strict=True):
        case["input"]["new"] = digit == "1"
    assert audited(tmp_path, cases, EXACT) == []


@pytest.mark.parametrize("text", ["Expected delivery: {} by train", "We pay no label fee; ship to {}, please"])
def test_a_word_that_also_announces_truths_is_no_leak_where_the_answer_is_to_be_found(tmp_path, text):
    cases = [case | {"input": {"text": text.format(case["expected"]["name"])}} for case in towns()]
    assert audited(tmp_path, cases, NAME) == []


CHAT = {"model": "m", "base_url": "http://localhost:1/v1"}


@pytest.mark.parametrize(
    ("prompt", "caught"),
    [
        ("Name the town.\n\nQ: what is the capital of Peru?\nA: Lima", True),
        ("Name the town.\n\nQ: What is the capital of Kenya?\nA: Nairobi", False),
        ("What is the capital? Name the town: {{ input.text }}", False),
    ],
)
@pytest.mark.parametrize("place", ["system", "user"])
def test_an_example_in_the_prompt_that_is_a_case_is_named(tmp_path, prompt, caught, place):
    told = audited(tmp_path, towns(), NAME, target={"chat": CHAT | {place: prompt}})
    assert one(told, "cases are in the prompt", "Peru") if caught else told == []


def test_an_example_of_few_words_is_named_with_its_truth_behind_it(tmp_path):
    cases = [{"id": land, "input": land, "expected": {"name": town}} for land, town in zip(LAND, TOWNS, strict=True)]
    (tmp_path / "prompt.txt").write_text("Name the capital.\nItaly -> Rome\nKenya -> Nairobi\nPeru is in America.\n")
    told = audited(tmp_path, cases, NAME, target={"chat": CHAT | {"system": {"file": "prompt.txt"}}})
    assert one(told, "cases are in the prompt, so their answers are known: Italy")


def test_the_starter_raises_no_alarm(tmp_path):
    invoke("init", tmp_path / "mine")
    assert audit(load_suite(tmp_path / "mine")).complaints == []


def test_near_duplicates_among_many_cases_are_those_that_comparing_all_pairs_finds():
    draw = random.Random(16)
    words = ["".join(draw.choices("abcdefghij", k=5)) for _ in range(400)]
    texts = [draw.choices(words, k=draw.randrange(12, 30)) for _ in range(60)]
    for text in texts[:40]:
        copy = list(text)
        for _ in range(draw.randrange(1, 4)):
            copy[draw.randrange(len(copy))] = "other"
        texts.append(copy)
    asked = [Asked(f"c{n}", {"input": tuple(text)}, "") for n, text in enumerate(texts)]
    pairs = [(one.case, other.case) for one, other in combinations(asked, 2) if _alike(one, other)]
    assert 15 < len(pairs) < 40
    found = near_duplicates(asked, is_choice=False)
    assert set(found) <= set(pairs)
    assert len(found) >= 0.95 * len(pairs)


def _alike(one, other):
    """At most one word of ten differs, by Wagner and Fischer's table."""
    a, b = one.texts["input"], other.texts["input"]
    row = list(range(len(b) + 1))
    if abs(len(a) - len(b)) > 0.1 * max(len(a), len(b)):
        return False
    for i, word in enumerate(a, 1):
        before, row = row, [i]
        for j, said in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (word != said)))
    return 1 - row[-1] / max(len(a), len(b)) >= 0.9
