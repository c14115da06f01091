"""The audit on suites made to be caught, and on every built-in one."""

import json

import pytest
import yaml

from parts.command import steelyard
from steelyard.auditing.audit import AS_WRITTEN, STRICT, audit
from steelyard.auditing.filling import filled, schema_of
from steelyard.auditing.probes import NULL, WRONG
from steelyard.loading.load import list_suites, load_suite
from steelyard.records import Verdict
from steelyard.scoring.base import Reading, Scorer
from steelyard.suite.models import Criterion

CASES = [
    {"id": f"c{n}", "input": {"text": f"question {n}"}, "expected": {"name": name, "words": name.split(), "low": low}}
    for n, (name, low) in enumerate([("oak table", 100), ("silver spoon", 300), ("glass lamp", 900)])
]
SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "minLength": 1}, "price": {"type": "string"}},
}


def write(folder, *, cases=CASES, **more):
    (folder / "cases.json").write_text(json.dumps(cases))
    suite = {
        "suite": "probed",
        "cases": {"files": "cases.json"},
        "target": {"python": "m:f"},
        "answer": {"schema": SCHEMA},
        "score": {"name": {"exact": {"expected": "expected.name"}}},
        "pass": "score >= 75 %",
        "gates": ["pass_rate >= 50 %"],
        **more,
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))
    return load_suite(folder / "suite.yaml")


def by_name(result, rule=AS_WRITTEN):
    return {probe.probe: probe for probe in result.probes if probe.rule == rule}


def test_a_sound_suite_passes_and_every_null_probe_earns_nothing(tmp_path):
    result = audit(write(tmp_path))
    assert result.complaints == []
    probes = by_name(result)
    assert {"empty", "{}", "nulls", "constant", "echo", "echo fields", "keywords", "another", "truth"} <= set(probes)
    for name, probe in probes.items():
        assert probe.average == (1.0 if name == "truth" else 0.0), name


class Untold(Scorer):
    """A user's scorer that does not say what would be right."""

    def read(self, answer, case):
        return Reading(float(answer == "six"))


def test_a_scorer_that_does_not_say_what_is_right_is_tried_with_all_the_rest(tmp_path):
    suite = write(tmp_path, answer={"format": "text"})
    result = audit(suite.changed(components=(suite.components[0].model_copy(update={"scorer": Untold()}),)))
    assert "truth" not in by_name(result)
    assert by_name(result)["empty"].average == 0.0


class Generous(Scorer):
    """Full marks for whatever comes: the kind of scorer that the audit is there to catch."""

    def read(self, answer, case):
        return Reading(1.0)

    def truth(self, case):
        return "x"


def generous(folder):
    suite = write(folder, answer={"format": "text"})
    return suite.changed(components=(suite.components[0].model_copy(update={"scorer": Generous()}),))


def test_a_rule_that_pays_for_an_empty_answer_is_caught(tmp_path):
    result = audit(generous(tmp_path))
    empty = by_name(result)["empty"]
    assert not empty.holds
    assert empty.passed == ("c0", "c1", "c2")
    assert any(complaint.startswith("empty (as written): 100.0 %") for complaint in result.complaints)


def test_stuffing_is_caught_as_written_and_closed_by_the_strict_rule(tmp_path):
    score = {"name": {"keywords_or_fuzzy": {"expected": "expected.name", "keywords": "expected.words"}}}
    result = audit(write(tmp_path, score=score))
    as_written, strict = by_name(result)["keywords"], by_name(result, STRICT)["keywords"]
    # All six keywords are in the answer, so every case's two are.
    assert as_written.average == 1.0
    assert not as_written.holds
    # 2 of 6 words are to the point: precision 1/3 over the 1/2 asked for.
    assert strict.average == pytest.approx(2 / 3)
    assert any("keywords (as written)" in complaint for complaint in result.complaints)


def test_an_answer_from_nothing_to_infinity_is_caught_as_written_and_worth_nothing_strictly(tmp_path):
    cases = [case | {"expected": case["expected"] | {"high": case["expected"]["low"] * 2}} for case in CASES]
    score = {
        "price": {"money_range": {"low": "expected.low", "high": "expected.high", "unit": "units"}, "weight": 1},
    }
    result = audit(write(tmp_path, cases=cases, score=score))
    assert by_name(result)["widest"].average == 1.0
    assert not by_name(result)["widest"].holds
    assert by_name(result, STRICT)["widest"].average < 0.01
    assert by_name(result, STRICT)["widest"].holds


def test_the_question_given_back_is_caught_when_it_holds_the_answer(tmp_path):
    cases = [case | {"input": {"text": case["expected"]["name"]}} for case in CASES]
    result = audit(write(tmp_path, cases=cases))
    assert by_name(result)["echo fields"].average == 1.0
    assert any(complaint.startswith("echo fields") for complaint in result.complaints)


def test_a_truth_that_does_not_earn_full_marks_is_caught(tmp_path):
    # The schema does not let the truth through: a name of at most 10 letters.
    schema = SCHEMA | {"properties": {"name": {"type": "string", "maxLength": 10}}}
    result = audit(write(tmp_path, answer={"schema": schema}))
    assert not by_name(result)["truth"].holds
    assert any("c1 0.0 %" in complaint for complaint in result.complaints)


def test_a_minimum_n_that_no_run_can_reach_is_caught(tmp_path):
    result = audit(write(tmp_path, gates=["pass_rate >= 50 % with n >= 4"]))
    assert result.complaints == [
        "gate 'pass_rate >= 50 % with n >= 4' can never be decided: it asks for n >= 4, and there are at most 3"
    ]


def test_slices_that_can_never_reach_their_n_are_named_unless_they_are_skipped(tmp_path):
    # oak 2, glass 1 and one without; three repeats of each, which are no more cases.
    cases = [
        case | ({"category": name} if name else {})
        for case, name in zip(
            [*CASES, CASES[0] | {"id": "c3", "input": "more"}], ["oak", "oak", "glass", None], strict=True
        )
    ]
    told = "gate 'category.*.average >= 60 % with n >= 2' can never be decided in glass (n 1), (none) (n 1):"
    told += " it asks for n >= 2; write skip small after it to leave such slices out"
    assert gates_of(tmp_path, cases, "category.*.average >= 60 % with n >= 2") == [told]
    assert gates_of(tmp_path, cases, "category.*.average >= 60 % with n >= 2 skip small") == []
    assert gates_of(tmp_path, cases, "category.*.average >= 60 % with n >= 1") == []
    (never,) = gates_of(tmp_path, cases, "category.*.average >= 60 % with n >= 3 skip small")
    assert never.endswith("can never be decided: it asks for n >= 3, and there are at most 2")


def gates_of(folder, cases, gate):
    return audit(write(folder, cases=cases, gates=[gate], repeats=3)).complaints


def test_a_component_that_many_cases_say_nothing_of_can_be_too_small(tmp_path):
    cases = [case | {"expected": case["expected"] | ({"low": None} if case["id"] != "c0" else {})} for case in CASES]
    score = {"name": {"exact": {"expected": "expected.name"}}}
    score["low"] = {"number": {"expected": "expected.low"}, "when_unknown": "skip"}
    suite = write(tmp_path, cases=cases, score=score, answer=JSON, gates=["score.low.average >= 50 % with n >= 2"])
    assert audit(suite).complaints[-1].endswith("it asks for n >= 2, and there are at most 1")


def test_a_run_that_could_never_be_invalid_is_caught(tmp_path):
    result = audit(write(tmp_path, limits={"max_inconclusive": "100 %"}))
    assert any("max_inconclusive" in complaint for complaint in result.complaints)


def test_a_gate_that_lets_empty_answers_through_is_caught(tmp_path):
    complaints = audit(generous(tmp_path)).complaints
    assert "gate 'pass_rate >= 50 %' passes a system that gives no answer at all (100.0 %)" in complaints


def test_a_criterion_whose_minimum_n_no_run_can_reach_is_caught(tmp_path):
    criteria = {"good": {"pass": "average >= 80 % with n >= 4", "fail": "average < 50 % with n >= 5"}}
    assert audit(write(tmp_path, criteria=criteria)).complaints == [
        "criterion good: its pass 'average >= 80 % with n >= 4' can never be decided:"
        " it asks for n >= 4, and there are at most 3",
        "criterion good: its fail 'average < 50 % with n >= 5' can never be decided:"
        " it asks for n >= 5, and there are at most 3",
    ]


def test_a_criterion_that_lets_empty_answers_through_is_caught(tmp_path):
    criteria = (
        Criterion(name="average", passes="average >= 80 %", fails="average < 60 %"),
        Criterion(name="steady", passes="score >= 80 % in >= 2 of 3 repeats"),
        Criterion(name="passes", passes="passed in >= 2 of 3 repeats", secondary=True),
        Criterion(name="clean", passes="findings.NAME == 0"),
    )
    complaints = audit(generous(tmp_path).changed(gates=(), criteria=criteria)).complaints
    through = "passes a system that gives no answer at all (100.0 %)"
    assert [each for each in complaints if each.startswith("criterion")] == [
        f"criterion average (average >= 80 %) {through}",
        f"criterion steady (score >= 80 % in >= 2 of 3 repeats) {through}",
        f"criterion passes (passed in >= 2 of 3 repeats) {through}",
    ]


def test_a_criterion_that_cannot_fail_or_cannot_pass_is_caught(tmp_path):
    criteria = (
        Criterion(name="always", passes="average >= 0"),
        Criterion(name="never", passes="average > 0.5", fails="findings.NAME < 0"),
    )
    assert audit(write(tmp_path).changed(criteria=criteria)).complaints == [
        "criterion always: its pass is always true",
        "criterion never: its fail is never true",
    ]


def test_sound_criteria_and_one_for_more_repeats_than_the_suite_makes_are_fine(tmp_path):
    criteria = {
        "average": {"pass": "average >= 80 %", "fail": "average < 60 %"},
        "json": {"pass": "valid in >= 2 of 3 repeats", "secondary": True},
    }
    assert audit(write(tmp_path, criteria=criteria)).complaints == []


def test_the_command_fails_with_exit_code_1_and_says_why(tmp_path):
    write(tmp_path, gates=["pass_rate >= 50 % with n >= 4"])
    done = steelyard("audit", "suite.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "AUDIT FAILED" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


# The 50 prompts of spans take as long as all other suites: in `make test` its own tests audit seven of them.
@pytest.mark.parametrize(
    "name",
    [pytest.param(each.name, marks=[pytest.mark.long] * (each.name == "spans")) for each in list_suites()],
)
def test_every_built_in_suite_passes_its_audit(name):
    suite = load_suite(name)
    result = audit(suite)
    assert (result.complaints, result.not_read) == ([], [])
    assert result.n_audited == result.n_cases
    # A suite with cases that ask for nothing says how many of them an empty answer may pass.
    allowed = suite.audit.null_passes * result.n_audited
    wrong = [probe for probe in result.probes if probe.kind in (NULL, WRONG) and not probe.only_shown]
    assert all(len(probe.passed) <= allowed for probe in wrong)
    assert all(probe.n_malformed < probe.n for probe in wrong if probe.probe in ("constant", "echo fields"))


def test_a_null_answer_that_passes_is_caught_however_little_it_earns(tmp_path):
    lax = {"null_share": "20 %", "wrong_share": "20 %"}
    suite = write(tmp_path, answer={"format": "text"}, gates=[], audit=lax, **{"pass": "score >= 5 %"})
    (name,) = suite.components
    # Whatever comes earns 1 of 10 parts, less than the 20 % allowed, but more than the 5 % that pass.
    free = name.model_copy(update={"name": "free", "scorer": Generous(), "weight": 1})
    result = audit(suite.changed(components=(free, name.model_copy(update={"weight": 9}))))
    assert by_name(result)["empty"].average == pytest.approx(0.1)
    assert any(each.startswith("empty") and "passes 3 of 3 cases" in each for each in result.complaints)


def test_the_strict_rule_is_held_to_its_own_share(tmp_path):
    cases = [case | {"expected": case["expected"] | {"high": case["expected"]["low"] * 2}} for case in CASES]
    score = {"price": {"money_range": {"low": "expected.low", "high": "expected.high"}}}
    lax = {"null_share": "100 %", "wrong_share": "100 %", "null_passes": "100 %", "null_share_strict": 0}
    result = audit(write(tmp_path, cases=cases, score=score, audit=lax, gates=[]))
    assert 0 < by_name(result, STRICT)["widest"].average < 0.01
    assert not by_name(result, STRICT)["widest"].holds
    assert by_name(result)["widest"].holds


def test_stuffing_that_the_schema_turns_away_is_tried_again_cut_to_fit(tmp_path):
    # "oak table silver" is what 16 letters hold: both keywords of the first case, one of the second, none of the third.
    schema = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 16}}}
    score = {"name": {"keywords_or_fuzzy": {"expected": "expected.name", "keywords": "expected.words"}}}
    probes = by_name(audit(write(tmp_path, score=score, answer={"schema": schema})))
    assert probes["keywords"].n_malformed == 3
    assert probes["keywords cut"].n_malformed == 0
    assert probes["keywords cut"].highest == 1.0
    assert probes["keywords cut"].passed == ("c0",)
    assert probes["keywords cut"].only_shown  # the strict rule is held to the limit in its place


ITEMS = {
    "match_items": {
        "expected": {"items": "expected.boxes[].parts[]", "group": "label"},
        "shapes": [{"items": "boxes[].parts[]", "group": "label"}],
    }
}
BOXED = {
    "anyOf": [{"required": ["boxes"], "properties": {"boxes": {"type": "array", "items": {"$ref": "#/$defs/box"}}}}],
    "$defs": {
        "box": {
            "type": "object",
            "required": ["label", "parts"],
            "properties": {"label": {"type": "string"}, "parts": {"type": "array", "items": {"type": "string"}}},
        }
    },
}


def test_listing_every_item_of_every_case_is_shown_and_costs_under_the_strict_rule(tmp_path):
    cases = [
        {"id": str(n), "expected": {"boxes": [{"label": "a", "parts": [f"thing {n}", f"object {n}"]}]}}
        for n in range(10)
    ]
    result = audit(write(tmp_path, cases=cases, score={"parts": ITEMS}, answer={"schema": BOXED}, audit={}))
    probe, strict = by_name(result)["everything"], by_name(result, STRICT)["everything"]
    assert (probe.average, probe.only_shown) == (1.0, True)
    # 20 items are listed, 2 are there: 2 right of 2 + 18.
    assert strict.average == pytest.approx(0.1)
    # Held to what another case's truth may earn, since a suite of few cases cannot dilute them more.
    assert (strict.limit, strict.holds) == (0.5, True)
    tight = audit(
        write(tmp_path, cases=cases, score={"parts": ITEMS}, answer={"schema": BOXED}, audit={"wrong_share": 0.05})
    )
    assert [told for told in tight.complaints if "everything" in told] == [
        "everything (strict): 10.0 % of full marks for every item of every case; at most 5 % is allowed"
    ]


def test_of_a_few_cases_the_items_of_all_are_no_probe(tmp_path):
    cases = [{"id": str(n), "expected": {"boxes": [{"label": "a", "parts": [f"thing {n}"]}]}} for n in range(3)]
    result = audit(write(tmp_path, cases=cases, score={"parts": ITEMS}, answer={"schema": BOXED}))
    assert "everything" not in by_name(result)


def test_a_filler_follows_references_and_takes_the_first_of_several_forms(tmp_path):
    cases = [{"id": "a", "expected": {"boxes": [{"label": "a", "parts": ["thing"]}]}}]
    result = audit(write(tmp_path, cases=cases, score={"parts": ITEMS}, answer={"schema": BOXED}))
    assert by_name(result)["constant"].n_malformed == 0
    assert (by_name(result)["none"].n_malformed, by_name(result)["none"].highest) == (0, 0.0)
    assert filled(BOXED, "x") == {"boxes": [{"label": "x", "parts": ["x"]}]}


def test_a_schema_that_refers_to_itself_is_filled_once_around():
    tree = {"$ref": "#/$defs/node", "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}}
    assert filled(tree, "x") == {"next": "x"}


JSON = {"format": "json"}
THINGS = [
    {
        "id": f"c{n}",
        "input": {"text": f"question {n}"},
        "expected": {"name": name, "price": 10 * n + 10, "kind": name.split()[0], "good": n != 1}
        | {"parts": [f"{name} leg", f"{name} top"], "sizes": [n + 2, n + 7]},
    }
    for n, name in enumerate(["oak table", "silver spoon", "glass lamp", "brass clock", "wool rug"])
]
NAME = {"name": {"exact": {"expected": "expected.name"}}}
PRICE = {"price": {"number": {"expected": "expected.price"}}}
PARTS = {"parts": {"match_items": {"expected": {"items": "expected.parts[]"}, "shapes": [{"items": "parts[]"}]}}}


def exact(path, answer):
    return {"exact": {"expected": path, "answer": answer}}


def items(path, shape):
    return {"match_items": {"expected": {"items": path}, "shapes": [{"items": shape}]}}


@pytest.mark.parametrize(
    ("score", "echoed"),
    [
        (NAME, 1.0),
        # A text with one number in it is read as that number, and nothing forbids a text there.
        (PRICE, 1.0),
        # The name is right, and neither of the two parts.
        (NAME | PARTS, 0.5),
        ({"deep": exact("expected.name", "found.best.name")}, 1.0),
    ],
)
def test_without_a_schema_the_question_is_put_where_the_scorers_look(score, echoed, tmp_path):
    cases = [
        case | {"input": {"text": str(case["expected"]["price"]) if score is PRICE else case["expected"]["name"]}}
        for case in THINGS
    ]
    result = audit(write(tmp_path, cases=cases, score=score, answer=JSON))
    assert by_name(result)["echo fields"].average == echoed
    assert by_name(result)["constant"].n_malformed == 0
    assert not by_name(result)["echo fields"].holds
    assert result.verdict is Verdict.FAIL


def test_a_part_of_the_question_given_back_alone_is_tried(tmp_path):
    cases = [case | {"input": {"language": "en", "title": case["expected"]["name"]}} for case in THINGS]
    result = by_name(audit(write(tmp_path, cases=cases, score=NAME, answer=JSON)))
    assert (result["echo fields"].average, result["echo 1"].average, result["echo 2"].average) == (0.0, 0.0, 1.0)
    # As JSON, the question given back is an answer like any other.
    asked_by_name = [case | {"input": {"name": case["expected"]["name"]}} for case in THINGS]
    assert by_name(audit(write(tmp_path, cases=asked_by_name, score=NAME, answer=JSON)))["echo"].average == 1.0


def test_a_part_is_tried_that_is_not_in_the_first_question_or_is_the_sixth(tmp_path):
    parts = {f"part {k}": f"word {k}" for k in range(5)}
    asked = [parts, *(parts | {"title": case["expected"]["name"]} for case in THINGS[1:])]
    cases = [case | {"input": question} for case, question in zip(THINGS, asked, strict=True)]
    result = by_name(audit(write(tmp_path, cases=cases, score=NAME, answer=JSON)))
    assert result["echo 6"].average == pytest.approx((len(THINGS) - 1) / len(THINGS))


@pytest.mark.parametrize(("yes", "caught"), [(9, True), (8, True), (7, False)])
def test_one_answer_for_all_cases_may_not_pass_a_gate_however_right_it_is_for_most(yes, caught, tmp_path):
    cases = [{"id": f"c{k}", "input": f"q {k}", "expected": {"name": "yes" if k < yes else "no"}} for k in range(10)]
    told = audit(write(tmp_path, cases=cases, gates=["pass_rate >= 80 %"])).complaints
    sentence = "gate 'pass_rate >= 80 %' passes a system that gives the truth that most cases have"
    # A choice of two: guessing earns a half, and a constant may earn half of what is left, 75 %.
    earns = f"most frequent (as written): {yes}0.0 % of full marks for the truth that most cases have"
    assert told == ([f"{earns}; at most 75 % is allowed", f"{sentence} ({yes}0.0 %)"] if caught else [])


@pytest.mark.parametrize(
    ("gates", "caught"),
    [
        ([], True),
        (["latency.p95 <= 5 s"], True),
        (["malformed_rate <= 10 %"], False),
        (["pass_rate >= 50 %"], False),
    ],
)
def test_gates_over_readable_answers_alone_are_caught(gates, caught, tmp_path):
    cases = [{"id": f"c{k}", "input": f"q {k}", "expected": {"parts": [f"thing {k}"]}} for k in range(3)]
    more = {"answer": JSON, "score": PARTS, "gates": ["score.parts.text.readable >= 80 %", *gates]}
    told = audit(write(tmp_path, cases=cases, **more)).complaints
    assert any("add one on malformed_rate" in each for each in told) is caught


def test_a_filler_keeps_to_yes_and_no_where_the_truth_does(tmp_path):
    score = {"good": {"exact": {"expected": "expected.good"}}}
    # True for every case is right for 4 of 5.
    assert by_name(audit(write(tmp_path, cases=THINGS, score=score, answer=JSON)))["constant"].average == 0.8


LAX = {"schema": {"type": "object"}}
FULL = {
    "schema": {
        "type": "object",
        "required": ["name", "parts", "sure"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "parts": {
                "type": "array",
                "items": {"type": "object", "required": ["text", "sure"], "properties": {"text": {"type": "string"}}},
            },
            "sure": {"type": "number"},
        },
    }
}
PARTS_AS_OBJECTS = {
    "parts": {
        "match_items": {"expected": {"items": "expected.parts[]"}, "shapes": [{"items": "parts[]", "text": "text"}]}
    }
}


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (JSON, NAME | PARTS),
        (JSON, PARTS | NAME | PRICE | {"deep": exact("expected.kind", "found.kind")}),
        (JSON, {"a": items("expected.parts[]", "parts[]"), "b": items("expected.sizes[]", "sizes[]")}),
        # Two components look at one list, and two want different things at one place.
        (JSON, {"a": exact("expected.parts", "rows[].part"), "b": exact("expected.sizes", "rows[].size")}),
        (JSON, {"a": exact("expected.name", "x"), "b": {"contains": {"expected": "expected.kind", "answer": "x"}}}),
        (
            {"format": "text"},
            {"a": {"contains": {"expected": "expected.name"}}, "b": {"number": {"expected": "expected.price"}}},
        ),
        (JSON, NAME | PARTS_AS_OBJECTS),
        (LAX, NAME | PARTS),
        (FULL, NAME | PARTS_AS_OBJECTS),
    ],
)
def test_the_truth_of_several_components_is_built_from_all_of_them(answer, score, tmp_path):
    result = audit(write(tmp_path, cases=THINGS, score=score, answer=answer, audit={"null_share": "50 %"}))
    probes = by_name(result)
    assert (probes["truth"].average, len(probes["truth"].passed)) == (1.0, 5)
    assert probes["another"].average == 0.0
    assert [probe.probe for probe in result.probes if probe.not_read] == []
    assert result.verdict is Verdict.PASS


CODED = {"type": "object", "required": ["name", "code"], "properties": {"name": {"type": "string"}}}


def test_a_probe_that_was_not_read_is_never_ok_and_the_audit_says_why(tmp_path):
    code = {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}}
    write(tmp_path, answer={"schema": CODED | {"properties": CODED["properties"] | code}})
    done = steelyard("audit", "suite.yaml", cwd=tmp_path)
    assert done.returncode == 4
    assert 'constant was not read: code: "unknown" does not match "^[A-Z]{3}$"' in done.stdout
    assert "AUDIT AMBIGUOUS" in done.stdout
    assert "passed" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    words = {line.split()[0]: line.split()[-1] for line in done.stdout.splitlines() if " %  " in line}
    assert {words[name] for name in ("constant", "another", "truth")} == {"read"}
    told = json.loads(steelyard("audit", "suite.yaml", "--json", cwd=tmp_path).stdout)
    assert (told["passes"], told["verdict"], told["complaints"]) == (False, "AMBIGUOUS", [])
    constant = next(probe for probe in told["probes"] if probe["probe"] == "constant")
    assert (constant["holds"], constant["not_read"], constant["n_malformed"]) == (False, True, 3)
    # With an example of such a code, the same suite is audited.
    example = {"code": code["code"] | {"examples": ["ABC"]}}
    assert audit(write(tmp_path, answer={"schema": CODED | {"properties": example}})).verdict is Verdict.PASS


def test_the_cases_that_a_probe_passed_are_listed_for_the_truth_as_for_any_other(tmp_path):
    schema = SCHEMA | {"properties": {"name": {"type": "string", "maxLength": 10}}}
    result = audit(write(tmp_path, answer={"schema": schema}))
    # "silver spoon" has 12 letters.
    assert by_name(result)["truth"].passed == ("c0", "c2")
    assert any('c1 0.0 % (name: "silver spoon" is longer than 10 characters)' in each for each in result.complaints)


def test_a_schema_of_answers_is_read_off_them():
    answers = [{"a": {"b": 1}, "c": [{"d": "x", "box": [1, 2, 3, 4]}]}, {"c": [{"e": True}], "f": True}]
    assert filled(schema_of(answers), "x") == {
        "a": {"b": 1}, "c": [{"d": "x", "box": [1, 1, 1, 1], "e": True}], "f": True,
    }  # fmt: skip
    assert filled(schema_of(answers, loose=True), "x") == {
        "a": {"b": "x"}, "c": [{"d": "x", "box": [1, 1, 1, 1], "e": True}], "f": "x",
    }  # fmt: skip
