"""What `audit` tries in every kind of suite, what it names as not tested, and sound suites that it does not warn of."""

import json

import pytest
import yaml

from parts.command import steelyard
from parts.judged_suite import write_judged

COLORS = ["red", "green", "blue", "black", "white", "brown", "pink", "gray", "teal", "gold"]
THINGS = ["oak chair", "glass vase", "silver spoon", "wall clock", "brass lamp", "wool rug", "pine chest", "tin toy"]
THINGS += ["copper kettle", "marble bust"]


def audit(folder, cases, **suite):
    """The audit as data, what it prints, and its exit code."""
    (folder / "cases.json").write_text(json.dumps(cases))
    data = {
        "suite": "planted",
        "cases": {"files": "cases.json"},
        "target": {"python": "m:f"},
        "answer": {"format": "json"},
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(data | suite, sort_keys=False))
    printed = steelyard("audit", "suite.yaml", cwd=folder)
    outcome = steelyard("audit", "suite.yaml", "--json", cwd=folder)
    assert printed.returncode == outcome.returncode, printed.stderr
    return json.loads(outcome.stdout), " ".join(printed.stdout.split()), outcome.returncode


def earned(data):
    return {probe["probe"]: probe for probe in data["probes"] if probe["rule"] == "as written"}


def colored(**expected):
    return [
        {"id": f"c{n}", "input": {"text": f"Picture number {n}"}, "expected": {"color": color, "n": n % 3, **expected}}
        for n, color in enumerate(COLORS)
    ]


# Suites with checks.


@pytest.mark.parametrize(
    "expect",
    [
        # Listing everything passes every case.
        {"color": {"each": "expected.color", "in": "colors[]"}},
        {
            "color": {"each": "expected.color", "in": "$.items[*].color"},
            "some": {"count": "items[]", "between": [1, 50]},
        },
        # The same in every case.
        {"kind": {"path": "kind", "equals": "photo"}},
        {"size": {"path": "$.size", "at_least": 3, "below": 9}},
        {"code": {"path": "code", "matches": r"^[A-Z]{2}-\d+$"}},
        {"some": {"count": "items[]", "between": [2, 4]}},
    ],
)
def test_one_answer_that_passes_the_checks_of_all_cases_is_named(tmp_path, expect):
    data, printed, code = audit(tmp_path, colored(), expect=expect)
    assert code == 1
    assert len(earned(data)["best found"]["passed"]) == 10
    assert "one answer for all cases passes 10 of 10 cases" in printed


@pytest.mark.parametrize(
    "expect",
    [
        {"color": {"path": "color", "equals": {"case": "expected.color"}}},
        {"color": {"each": "expected.color", "in": "colors[]"}, "one": {"count": "colors[]", "between": [1, 1]}},
    ],
)
def test_checks_that_one_answer_cannot_pass_are_no_alarm_and_the_right_answer_is_tried(tmp_path, expect):
    data, printed, code = audit(tmp_path, colored(), expect=expect)
    assert (code, data["complaints"], data["not_tested"]) == (0, [], [])
    probes = earned(data)
    assert len(probes["truth"]["passed"]) == 10
    assert len(probes["best found"]["passed"]) == 1
    assert probes["another"]["passed"] == []
    assert "Not tested" not in printed


def test_a_right_answer_that_cannot_be_built_is_named_in_the_verdict(tmp_path):
    expect = {"color": {"path": "$.items[?@.kind == 'x'].color", "equals": {"case": "expected.color"}}}
    data, printed, code = audit(tmp_path, colored(), expect=expect)
    assert code == 0
    assert "Not tested: one answer for all cases, a right answer" in printed.split("Audit passed")[-1]
    assert len(data["not_tested"]) == 2


# Judged suites.


def judged(folder, rule, **judge):
    """The audit of ten recorded texts, judged by this rule in code, or by a model."""
    rules = {"bind": ["when size.muddles > 0 then clarity <= 2"]}
    write_judged(folder, n=10, **(rules | judge))
    measures = (folder / "measures.py").read_text().partition("def judge")[0]
    code = "def judge(text, case, metrics):\n    good = " + rule
    code += "\n    return {'reasons': ['a', 'b'], 'clarity': 5 if good else 1, 'harm': False}\n"
    (folder / "measures.py").write_text(measures + code)
    printed = steelyard("audit", "suite.yaml", cwd=folder)
    outcome = steelyard("audit", "suite.yaml", "--json", cwd=folder)
    return json.loads(outcome.stdout), " ".join(printed.stdout.split()), outcome.returncode


def test_a_judge_in_code_that_passes_one_answer_for_all_cases_is_named(tmp_path):
    # It likes every text that is long enough, whatever the number that was asked for.
    data, printed, code = judged(tmp_path, "len(text) > 60")
    assert code == 1
    assert len(earned(data)["best found"]["passed"]) == 10
    assert "of full marks for one answer for all cases" in printed


def test_a_judge_in_code_that_reads_the_case_is_no_alarm(tmp_path):
    data, printed, code = judged(tmp_path, "f\"Number {case.input['number']} is\" in text")
    assert (code, data["complaints"]) == (0, [])
    assert earned(data)["best found"]["passed"] == ["c0"]
    # Nothing says what would be right for each case.
    assert "Not tested: a right answer, and that of another case." in printed.split("Audit passed")[-1]


def test_what_only_a_model_could_score_is_named_as_not_tested(tmp_path):
    model = {"by": "m", "judges": {"m": {"chat": {"model": "m", "base_url": "http://127.0.0.1:9/v1"}}}}
    data, printed, code = judged(tmp_path, "True", **model)
    assert code == 0
    (message,) = [message for message in data["not_tested"] if message.startswith("what a model gives")]
    assert "best found" in message
    assert "what a model gives" in printed.split("Audit passed")[-1]


# Answers that the schema rejects.

SCHEMAS = {
    "enum": ({"enum": COLORS}, {"exact": {"expected": "expected.color"}}),
    "pattern": (
        {"type": "string", "pattern": "^[a-z]{3,6}$", "examples": ["mauve"]},
        {"exact": {"expected": "expected.color"}},
    ),
    "keywords of an enum": ({"enum": COLORS}, {"contains": {"expected": "expected.color"}}),
    "maxItems": (
        {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        {"item_set": {"expected": "expected.color"}},
    ),
    "minItems": (
        {"type": "array", "minItems": 1, "items": {"type": "string"}},
        {"item_set": {"expected": "expected.color"}},
    ),
    "uniqueItems": (
        {"type": "array", "uniqueItems": True, "maxItems": 3, "items": {"enum": COLORS}},
        {"item_set": {"expected": "expected.color"}},
    ),
    "maxLength": ({"type": "string", "maxLength": 8}, {"exact": {"expected": "expected.color"}}),
    "maximum": ({"type": "number", "maximum": 100}, {"number": {"expected": "expected.number"}}),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_answer_that_the_schema_rejects_earns_nothing_and_is_no_alarm(tmp_path, name):
    place, score = SCHEMAS[name]
    schema = {"type": "object", "required": ["color"], "properties": {"color": place}, "additionalProperties": False}
    cases = [case | {"expected": case["expected"] | {"number": 7 + 9 * n}} for n, case in enumerate(colored())]
    data, _, code = audit(
        tmp_path,
        cases,
        answer={"schema": schema},
        score={"color": score},
        gates=["pass_rate >= 90 %"],
        **{"pass": "score >= 75 %"},
    )
    assert (code, data["complaints"], data["not_read"]) == (0, [], [])


# Truths in the question.

NAME = {"name": {"exact": {"expected": "expected.name"}}}


def named(question):
    return [{"id": f"c{n}", "expected": {"name": name}, **question(n, name)} for n, name in enumerate(THINGS)]


def title(name):
    return "".join(map(str.title, name.split()))


FILES = {
    "snake": lambda n, name: {"input": {"photo": f"{name.replace(' ', '_')}.jpg"}},
    "kebab, in a folder": lambda n, name: {"input": {"photo": f"photos/{n}/{name.replace(' ', '-')}-front.png"}},
    "camel": lambda n, name: {"input": {"photo": f"{title(name)}{n}.jpg"}},
    "capitals": lambda n, name: {"input": {"photo": f"IMG_{name.upper().replace(' ', '_')}_{n}"}},
    "address": lambda n, name: {"input": {"url": f"https://shop.example/i/{name.replace(' ', '%20')}?size={n}"}},
    "plus": lambda n, name: {"input": {"url": f"https://shop.example/search?q={name.replace(' ', '+')}"}},
    "in a sentence": lambda n, name: {"input": {"text": f"What is on {name.replace(' ', '_')}_{n}.jpg, please?"}},
    "list": lambda n, name: {"input": {"files": [f"a{n}.txt", f"{name.replace(' ', '.')}.txt"]}},
    "attachment": lambda n, name: {
        "input": {"text": f"What is it? ({n})"},
        "attachments": [f"http://x.example/{title(name)}.jpg"],
    },
}


@pytest.mark.parametrize("where", FILES)
def test_a_truth_in_a_file_name_is_named(tmp_path, where):
    data, _, code = audit(tmp_path, named(FILES[where]), score=NAME, **{"pass": "score >= 75 %"})
    assert code == 1
    assert any("contains the truth of name in 10 of 10 cases" in message for message in data["complaints"]), data


CODES = [f"AB-{7000 + 13 * n}" for n in range(10)]
SOUND = {
    "other files": lambda n, name: {"input": {"photo": f"photos/IMG_{2000 + n}.jpg"}},
    "all names in every address": lambda n, name: {
        "input": {"url": f"https://x.example/{'-'.join(THINGS).replace(' ', '_')}/{n}"}
    },
    "a code to be found in a sentence": lambda n, name: {
        "input": {"text": f"Lot {n}: my order {CODES[n]} did not come."},
        "expected": {"name": CODES[n]},
    },
    "a mail address to be found": lambda n, name: {
        "input": {"text": f"Write to {name.replace(' ', '.')}@shop.com, lot {n}."},
        "expected": {"name": f"{name.replace(' ', '.')}@shop.com"},
    },
    "one name of another case": lambda n, name: {"input": {"photo": f"{THINGS[n - 1].replace(' ', '_')}_{n}.jpg"}},
}


@pytest.mark.parametrize("where", SOUND)
def test_files_that_say_nothing_of_the_truth_are_no_alarm(tmp_path, where):
    data, _, code = audit(tmp_path, named(SOUND[where]), score=NAME, **{"pass": "score >= 75 %"})
    assert (code, data["complaints"], data["warnings"]) == (0, [], [])
    assert bool(data["notes"]) is ("to be found" in where)


@pytest.mark.parametrize("labels", [["yes", "no"] * 5, ["7", "12", "30", "4", "51", "6", "88", "9", "10", "2"]])
def test_short_truths_that_stand_in_file_names_by_chance_are_no_alarm(tmp_path, labels):
    cases = [
        {"id": f"c{n}", "input": {"photo": f"no_{n}_yes_{90 - n}.jpg"}, "expected": {"name": label}}
        for n, label in enumerate(labels)
    ]
    data, _, _ = audit(tmp_path, cases, score=NAME, **{"pass": "score >= 75 %"})
    assert not any("truth of name" in message for message in data["complaints"])


def test_a_truth_inside_a_longer_text_is_noted(tmp_path):
    cases = named(lambda n, name: {"input": {"text": f"Here you see an old {name}, lot {n} of the sale. What is it?"}})
    data, printed, code = audit(tmp_path, cases, score=NAME, **{"pass": "score >= 75 %"})
    assert (code, data["complaints"], data["warnings"]) == (0, [], [])
    assert "input.text contains the truth of name in 10 of 10 cases" in printed


# Clusters that hide what cases share.

PASSAGE = " ".join(f"word{n}" for n in range(60))


def shared(cluster):
    return [
        {
            "id": f"c{n}",
            "input": {"text": f"{PASSAGE if n < 4 else ' '.join(f'other{n}x{k}' for k in range(60))} question {n}"},
            "expected": {"name": name},
            **({} if cluster(n) is None else {"cluster": cluster(n)}),
        }
        for n, name in enumerate(THINGS)
    ]


@pytest.mark.parametrize(
    "cluster", [lambda n: None, lambda n: f"row {n}", lambda n: f"half {n % 2}", lambda n: "x" if n == 9 else None]
)
def test_a_cluster_that_does_not_join_what_cases_share_hides_nothing(tmp_path, cluster):
    data, printed, code = audit(tmp_path, shared(cluster), score=NAME, **{"pass": "score >= 75 %"})
    assert code == 0
    assert "4 of 10 cases (40.0 %) repeat the input of another or share a long passage" in printed
    assert len(data["warnings"]) == 1


def test_a_cluster_that_joins_what_cases_share_is_no_alarm(tmp_path):
    data, _, _ = audit(
        tmp_path, shared(lambda n: "page" if n < 4 else f"row {n}"), score=NAME, **{"pass": "score >= 75 %"}
    )
    assert data["warnings"] == []


# Gates that almost half of the answers may fail without a sign.


@pytest.mark.parametrize(
    "gates",
    [
        ["median >= 100 %"],
        ["median >= 90 %", "malformed_rate <= 5 %"],
        ["median >= 60 %", "latency.p95 <= 5 s"],
        ["category.a.pass_rate >= 90 %"],
        ["category.a.average >= 90 %", "median >= 75 %"],
    ],
)
def test_gates_that_pass_with_almost_half_of_the_answers_worthless_are_named(tmp_path, gates):
    cases = [case | {"category": "ab"[n % 2]} for n, case in enumerate(named(lambda n, name: {"input": {"n": n}}))]
    data, _, code = audit(tmp_path, cases, score=NAME, gates=gates, **{"pass": "score >= 75 %"})
    assert code == 1
    (message,) = data["complaints"]
    assert "a system that gives nothing in 4 of 10 cases" in message
    assert gates[0] in message


def test_a_median_alone_is_named_where_only_a_judge_knows_what_is_right(tmp_path):
    rule, gates = "f\"Number {case.input['number']} is\" in text", {"suite": {"gates": ["median >= 75 %"]}}
    data, _, code = judged(tmp_path, rule, **gates)
    assert code == 1
    assert "which a median does not show" in data["complaints"][0]


@pytest.mark.parametrize("gates", [["median >= 90 %", "pass_rate >= 90 %"], ["pass_rate >= 50 %"], ["average >= 90 %"]])
def test_gates_that_show_worthless_answers_are_no_alarm(tmp_path, gates):
    cases = named(lambda n, name: {"input": {"n": n}})
    data, _, code = audit(tmp_path, cases, score=NAME, gates=gates, **{"pass": "score >= 75 %"})
    assert (code, data["complaints"]) == (0, [])


def test_a_pattern_that_no_filler_fits_is_no_alarm(tmp_path):
    cases = [
        {"id": f"c{n}", "input": {"t": f"Item {n}"}, "expected": {"code": f"AB-{n * 37 % 100:02d}"}} for n in range(10)
    ]
    code = {"type": "string", "pattern": r"^[A-Z]{2}-\d{2}$"}
    rules = {
        "pass": "score >= 90 %",
        "gates": ["pass_rate >= 80 %"],
        "score": {"code": {"exact": {"expected": "expected.code"}}},
    }
    schema = {"type": "object", "required": ["code"], "properties": {"code": code}}
    data, printed, exit_code = audit(tmp_path, cases, answer={"schema": schema}, **rules)
    assert (exit_code, data["not_read"]) == (0, [])
    assert earned(data)["constant"]["n_malformed"] == 10
    assert "Audit passed" in printed
    # One code for all cases is found all the same.
    for case in cases:
        case["expected"]["code"] = "AB-00"
    assert audit(tmp_path, cases, answer={"schema": schema}, **rules)[2] == 1
