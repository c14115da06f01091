"""`steelyard truth lint`: each finding with its case, its file and line, and what to do."""

from __future__ import annotations

import json
import time

import pytest

from parts.command import invoke
from parts.small_suite import load_written
from steelyard.truth.lint import lint

NAMES = ["brass lamp", "oak chair", "glass bowl", "silver spoon", "wool rug", "tin robot", "paper print"]
BASE = """\
suite: things
cases: cases.json
target: {recorded: answers.jsonl}
answer:
  schema:
    type: object
    properties:
      name: {type: string}
      n: {type: integer, minimum: 0, maximum: 10}
      parts: {type: array, maxItems: 5}
"""


def things(count=7, **changes):
    rows = [
        {
            "id": f"t{at}",
            "input": f"photo number {at} of item {chr(97 + at % 26)}{at}",
            "expected": {"name": f"{NAMES[at % 7]} {at}", "n": at % 9},
        }
        for at in range(count)
    ]
    for name, change in changes.items():
        rows[int(name[1:])] |= change
    return rows


def found(tmp_path, text, rows):
    suite = load_written(tmp_path, BASE + text, rows)
    return [(item.severity, item.kind, item.case) for item in lint(suite)]


EXACT = "score: {name: {exact: {expected: expected.name}}}\n"


def test_a_clean_suite_has_no_findings(tmp_path):
    assert found(tmp_path, EXACT, things()) == []


def test_duplicates_and_two_truths_for_one_question(tmp_path):
    rows = things(t1={"input": "the same long question about a thing", "expected": {"name": "x", "n": 1}})
    rows[2] |= {"input": "the same long question about a thing", "expected": {"name": "x", "n": 1}}
    rows[3] |= {"input": "one more question of several words", "expected": {"name": "y", "n": 1}}
    rows[4] |= {"input": "one more question of several words", "expected": {"name": "z", "n": 1}}
    rows[5] |= {
        "input": "who made the chair with the four bent legs and a seat of cane",
        "expected": {"name": "w", "n": 1},
    }
    rows[6] |= {
        "input": "Who made the chair with the four bent legs and a seat of cane?!",
        "expected": {"name": "w", "n": 1},
    }
    assert found(tmp_path, EXACT, rows) == [
        ("error", "duplicate", "t2"), ("error", "two_truths", "t4"), ("warning", "near_duplicate", "t6"),
    ]  # fmt: skip


def test_keywords_that_match_anything(tmp_path):
    words = [["lamp", "the"], ["chair"], ["bowl", "e"], ["spoon"], ["rug"], ["robot"], ["print"]]
    rows = [row | {"expected": row["expected"] | {"keys": keys}} for row, keys in zip(things(), words, strict=True)]
    loose = "score: {name: {keywords_or_fuzzy: {expected: expected.name, keywords: expected.keys}}}\n"
    assert found(tmp_path, loose, rows) == [("error", "keyword", "t0"), ("error", "keyword", "t2")]
    # As a whole word neither a letter nor "no" stands anywhere: they may be what is asked for.
    whole = "score: {name: {contains: {expected: expected.keys}}}\n"
    rows[1]["expected"]["keys"] = ["no"]
    assert found(tmp_path, whole, rows) == [("error", "keyword", "t0")]
    rows[3]["expected"]["keys"] = [" "]
    with pytest.raises(Exception, match="blank keyword"):
        found(tmp_path, loose, rows)


def test_a_pattern_that_matches_the_truth_of_all_others(tmp_path):
    rows = [row | {"expected": row["expected"] | {"pattern": row["expected"]["name"]}} for row in things()]
    rows[4]["expected"]["pattern"] = r"\w+ \w+ \d"
    regex = "score: {name: {regex: {expected: expected.pattern, example: expected.name}}}\n"
    assert found(tmp_path, regex, rows) == [("error", "matches_anything", "t4")]


def test_ranges_that_hold_all_that_the_schema_allows(tmp_path):
    number = "score: {n: {number: {expected: expected.n, absolute: TOLERANCE}}}\n"
    # From 0 to 10, a truth of 5 and a tolerance of 5 cannot be missed; 4 and 6 can, by one.
    assert found(tmp_path, number.replace("TOLERANCE", "5"), things()) == [("error", "range", "t5")]
    assert found(tmp_path, number.replace("TOLERANCE", "4"), things()) == []
    checks = "expect: {CHECK, right: {path: name, equals: {case: expected.name}}}\n"
    for check, n in {
        "much: {path: n, at_least: 0}": 7,
        "much: {path: n, above: 0}": 0,
        "much: {path: n, at_least: 0, at_most: 10}": 7,
        "much: {path: n, at_least: 1}": 0,
        "many: {count: 'parts[]', between: [0, 5]}": 7,
        "many: {count: 'parts[]', between: [0, 4]}": 0,
        "many: {count: 'parts[]', between: [1, 5]}": 0,
    }.items():
        kinds = found(tmp_path, checks.replace("CHECK", check), things())
        assert kinds == [("error", "range", f"t{at}") for at in range(n)], check


def test_a_place_of_the_question_that_holds_the_truth(tmp_path):
    # Where all questions hold their truth, it is to be found in them.
    told = [
        row | {"input": f"a text {row['id']} with {row['expected']['name']} and more words {row['id']}"}
        for row in things()
    ]
    assert found(tmp_path, EXACT, told) == []
    copied = [row | {"input": {"text": row["input"], "hint": row["expected"]["name"]}} for row in things()]
    assert found(tmp_path, EXACT, copied) == [("error", "truth_in_input", "")]


def test_cases_that_every_run_passes_or_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    load_written(tmp_path / "things", BASE + EXACT + "pass: score >= 50 %\n", things(4))
    names = [row["expected"]["name"] for row in things(4)]
    for run in range(5):
        # t0 is always right, t1 never, t2 in every other run; the truth of t3 is edited before the last run.
        said = [names[0], "no", names[2] if run % 2 else "no", "no"]
        rows = [{"case": f"t{at}", "answer": {"name": name}} for at, name in enumerate(said)]
        (tmp_path / "things" / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        if run == 4:
            assert json.loads(invoke("truth", "lint", "things", "--json")) == []
            invoke("truth", "edit", "things", "t3", "--set", "expected.name=other", "--reason", "x")
        invoke("run", "things")
    found = json.loads(invoke("truth", "lint", "things", "--json"))
    assert [(item["kind"], item["case"], item["message"]) for item in found] == [
        ("always_failed", "t1", "failed in all 5 runs"), ("always_passed", "t0", "passed in all 5 runs"),
    ]  # fmt: skip
    assert found[0]["place"] == "cases.json:1"
    text = invoke("truth", "lint", "things")
    assert "warning  cases.json" in text
    assert text.endswith("2 findings in 4 cases, 0 of them errors\n")


def test_a_scorer_of_the_suites_own_need_not_know_a_perfect_answer(tmp_path):
    tmp_path.joinpath("mine.py").write_text(
        "from steelyard import Reading, Scorer\n"
        "class Mine(Scorer):\n    expected: str = 'expected.name'\n"
        "    def read(self, answer, case): return Reading(float(self.seen(answer) == self.available(case)))\n"
    )
    assert found(tmp_path, "score: {name: {python: 'mine:Mine'}}\n", things()) == []


def test_an_error_is_the_exit_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    rows = things()
    rows[1] |= {"input": rows[0]["input"], "expected": rows[0]["expected"]}
    load_written(tmp_path / "things", BASE + EXACT, rows)
    (tmp_path / "things" / "answers.jsonl").write_text("")
    assert "t1: asks the very same as t0 (retire one of them)" in invoke("truth", "lint", "things", code=1)
    assert "there" in invoke("truth", "lint", "things", "--store", "nowhere.db", code=2)


def test_20_000_cases_take_seconds(tmp_path):
    rows = [
        {
            "id": f"c{at}",
            "input": f"question {at} on subject {at * 7919 % 20_011} and place {at * 104_729 % 9_973}",
            "expected": {"name": f"thing {at} key{at}", "keys": [f"thing {at} key{at}", "thing part"], "n": at % 9},
        }
        for at in range(20_000)
    ]
    suite = load_written(
        tmp_path,
        BASE + "score: {name: {keywords_or_fuzzy: {expected: expected.name, keywords: expected.keys}}}\n",
        rows,
    )
    start = time.process_time()
    assert lint(suite) == []
    assert time.process_time() - start < 20


def test_a_truth_that_contains_none_of_its_own_keywords(tmp_path):
    rows = things()
    for row in rows:
        row["expected"]["words"] = row["expected"]["name"].split()[:2]
    rows[3]["expected"]["words"] = ["thonet", "bentwood"]
    text = "score: {name: {keywords_or_fuzzy: {expected: expected.name, keywords: expected.words}}}\n"
    suite = load_written(tmp_path, BASE + text, rows)
    (finding,) = lint(suite)
    assert (finding.severity, finding.kind, finding.case) == ("error", "keywords_apart", "t3")
    assert finding.message == 'name: the truth "silver spoon 3" contains none of its own keywords (thonet, bentwood)'
