"""The lies of five home-made harnesses, told again through what a user touches: a suite, a run, a comparison.

Each is a line of docs/design/0008-planted-lies.md, which also names those that other files plant.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import steelyard
from parts.command import invoke
from parts.looped import for_every
from parts.small_suite import write_suite
from steelyard import scorers
from steelyard.errors import SuiteError

WRONG_USAGE = 2


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return tmp_path


def evaluated(stated: list[Any], expected: Any, score: dict[str, Any], *, asked: Any = "?", **more: Any) -> Any:
    """The run of a suite of cases with the same question and truth, whose system gives these answers in turn."""
    cases = [{"id": f"{k:02d}", "input": asked, "expected": expected} for k in range(len(stated))]
    keys = {"passing": "score >= 50 %", "gates": ["pass_rate >= 60 %"]} | more
    return steelyard.Suite("lies", cases=cases, target=lambda case: stated[int(case.id)], score=score, **keys).run()


def earned_by_each(*of: Any, **more: Any) -> list[float]:
    details = evaluated(*of, **more).report.details
    return [detail.line.score for detail in sorted(details, key=lambda each: each.line.case_id)]


def earned(stated: Any, *of: Any, **more: Any) -> float:
    (score,) = earned_by_each([stated], *of, **more)
    return score


TRUTH = {
    "name": "Oak chest",
    "words": ["oak", "chest"],
    "year": 1750,
    "risk": "high",
    "era": "1740-1760",
    "low": 0,
    "high": 200,
}


ALL_SCORERS = {
    "exact": scorers.exact(expected="expected.name"),
    "contains": scorers.contains(expected="expected.words", match="any"),
    "number": scorers.number(expected="expected.year", relative=0.1),
    "choice": scorers.choice(expected="expected.risk", labels=["low", "high"], inside=True),
    "keywords": scorers.keywords_or_fuzzy(expected="expected.name", keywords="expected.words"),
    "alternatives": scorers.alternatives(expected="expected.name"),
    "era": scorers.year_range(expected="expected.era"),
    "value": scorers.money_range(low="expected.low", high="expected.high"),
}


class TestCreditForNothing:
    """`expected.includes("")` is true: an empty answer passed 50 of 50, and a missing maker earned full marks."""

    @for_every(
        "nothing", ["", " \n", "...", "\u200b", "\u00ad", "n/a", "unknown", "null", "{}", "[]", "I do not know."]
    )
    def test_an_answer_that_says_nothing_earns_nothing_from_any_scorer(self, nothing):
        (detail,) = evaluated([nothing], TRUTH, ALL_SCORERS).report.details
        assert {score["name"]: score["value"] for score in detail.scores if score["value"]} == {}

    @pytest.mark.parametrize("missing", [None, "", " ", []])
    def test_a_truth_that_is_missing_is_no_free_mark(self, missing):
        score = {"maker": scorers.alternatives(expected="expected.maker")}
        with pytest.raises(SuiteError, match="maker"):
            evaluated(["anybody"], {"maker": missing}, score)
        skipped = score | {"maker": scorers.alternatives(expected="expected.maker", when_unknown="skip")}
        both = skipped | {"name": scorers.exact(expected="expected.name")}
        # What is left decides: a wrong name is 0 of 1 and not 1 of 2.
        cases = [
            {"id": "a", "input": "", "expected": {"maker": missing, "name": "Oak chest"}},
            {"id": "b", "input": "", "expected": {"maker": "Gimson", "name": "Oak chest"}},
        ]
        run = steelyard.Suite("lies", cases=cases, target=lambda case: "anybody", score=both).run()
        assert run.summary.overall["average"].value == 0

    def test_a_list_of_every_label_is_no_choice(self):
        score = {"risk": scorers.choice(expected="expected", labels=["low", "high"], inside=True)}
        assert earned("low or high", "high", score) == 0
        assert earned("high", "high", score) == 1

    def test_a_list_of_every_number_is_no_number(self):
        score = {"year": scorers.number(expected="expected", absolute=5)}
        assert earned("1700 1710 1720 1730 1740 1750", 1750, score) == 0


class TestRanges:
    """A zero-width era divided by zero; touching scored 0 and a gap of a cent almost 1; 0 to infinity scored 1."""

    @pytest.mark.parametrize(
        ("stated", "least", "most"),
        [("1750", 1, 1), ("1749", 0, 0.25), ("0-9999", 0, 0.01), ("before 9999", 0, 0.01), ("1750 BC", 0, 0)],
    )
    def test_a_truth_of_a_single_year(self, stated, least, most):
        score = {"era": scorers.year_range(start="expected.a", end="expected.b", strict=True)}
        assert least <= earned(stated, {"a": 1750, "b": 1750}, score) <= most

    @pytest.mark.parametrize(
        "stated", ["$0 to $999,999,999", "0-infinity", "0 or more", "under $1e12", "$0+", "from nothing to anything"]
    )
    def test_an_estimate_of_anything_is_worth_next_to_nothing(self, stated):
        score = {"value": scorers.money_range(low="expected.a", high="expected.b", strict=True)}
        assert earned(stated, {"a": 100, "b": 200}, score) <= 0.01

    def test_an_estimate_that_comes_nearer_never_earns_less(self):
        score = {"value": scorers.money_range(low="expected.a", high="expected.b", strict=True)}
        said = [f"$40-{end}" for end in (60, 90, 99.99, 100, 100.01, 110, 150, 200)]
        values = earned_by_each(said, {"a": 100, "b": 200}, score)
        assert values == sorted(values)
        # At the touch, no jump.
        assert values[4] - values[2] < 0.01


WORD = {"type": "object", "required": ["word"], "properties": {"word": {"type": "string"}}}


class TestFindingTheAnswer:
    """Log lines, template braces and a fenced block: only one way of parsing found the answer."""

    @for_every(
        ("text", "value"),
        [
            ('INFO load {%- if tools %} {{x}}\n```json\n{"word": "owl"}\n```\nINFO done {}', 1),
            ('The shape is {"word": "example"}, so: {"word": "owl"}', 1),
            # Whoever answers twice has answered with the last: the right one first is no hit.
            ('```json\n{"word": "owl"}\n```\nor rather\n```json\n{"word": "cat"}\n```', 0),
            ('{"word": "owl", "word": "cat"}', 0),
            ('[{"word": "owl"}, {"word": "cat"}, {"word": "dog"}]', 0),
            ('{"word": ["owl", "cat", "dog"]}', 0),
            ('{"word": "owl cat dog"}', 0),
            ('{"answers": {"word": "owl"}}', 0),
            ("The word is owl.", 0),
            ('{"word": "owl', 1),
        ],
    )
    def test_one_answer_is_read_out_of_any_text(self, text, value):
        score = {"word": scorers.exact(expected="expected.word")}
        assert earned(text, {"word": "owl"}, score, answer={"schema": WORD}) == value


ROWS = [["Ace", "King", "Queen"], ["Jack", "Ten", "Nine"], ["Eight", "Seven", "Six"]]
CARDS = [card for row in ROWS for card in row]


def piles(groups: list[list[str]]) -> list[dict[str, Any]]:
    return [{"name": f"pile {number}", "cards": cards} for number, cards in enumerate(groups)]


PILES = {
    "cards": scorers.match_items(
        expected={"items": "expected[].cards[]", "group": "row"},
        shapes=[{"items": "[].cards[]", "group": "name"}],
        strict=True,
    )
}


class TestPiles:
    """Graded by columns while the truth was in rows, 0 of 8 became 8 of 8."""

    def values(self, *answers: list[list[str]]) -> list[float]:
        truth = [{"row": name, "cards": cards} for name, cards in zip(("top", "middle", "low"), ROWS, strict=True)]
        said = [json.dumps(piles(groups)) for groups in answers]
        return earned_by_each(said, truth, PILES, answer={"format": "json"})

    def test_the_true_rows_under_any_name_and_in_any_order_are_right(self):
        assert set(self.values(*map(list, permutations(ROWS)))) == {1}

    @for_every(
        ("lie", "most"),
        [
            # Each pile stands for one row at most, so of three columns one card each is right.
            (list(map(list, zip(*ROWS, strict=True))), 3 / 9),
            ([[card] for card in CARDS], 3 / 9),
            ([CARDS], 3 / 9),
            ([[*row, *CARDS] for row in ROWS], 9 / 36),
            ([["A", "K", "Q"], ["J", "T", "N"], ["E", "S", "S"]], 0),
            ([["a"], ["e"], ["i", "n", "o"]], 0),
            # The second copy of a card is no other card.
            ([["Ace"] * 3, ["Jack"] * 3, ["Eight"] * 3], 3 / 9),
            ([], 0),
        ],
    )
    def test_a_lie_about_piles_earns_no_more_than_what_is_right_in_it(self, lie, most):
        assert self.values(lie)[0] <= most + 1e-9


class TestGatesThatCannotFail:
    """ "90.0%" was fed to `bc`: a syntax error, so the gate could never fail."""

    @for_every(
        "gate",
        [
            *("pass_rate >= 90", "pass_rate >= 90.0%%", "pass_rate >= ninety", "pass_rate", ">= 90 %", "90.0%", ""),
            *("pass_rte >= 90 %", "score.nothing.average >= 0.5", "category.nowhere.pass_rate >= 90 %"),
            *("findings.NOPE == 0", "findings.WORD >= 0", "tag.none.pass_rate >= 90 %", "band.Good >= 50 %"),
            *("pass_rate >= 0 %", "pass_rate >= -5 %", "average <= 1", "pass_rate <= 100 %", "pass_rate > 100 %"),
            *(
                "latency.p95 >= 0 ms",
                "cost.total >= 0",
                "pass_rate != 12.3 %",
                "latency.p95 != 1 s",
                "average >= release - 100 points",
            ),
            *("pass_rate >= nan", "pass_rate >= 90 % or average >= 0", "malformed_rate <= 100 %"),
        ],
    )
    def test_a_gate_that_cannot_fail_is_a_mistake_and_nothing_is_asked(self, gate):
        write_suite(Path("words"), gates=[gate])
        said = invoke("run", "words", code=WRONG_USAGE)
        assert "suite.yaml" in said
        assert not Path(".steelyard").exists()

    def test_a_system_that_gets_nothing_right_fails_the_starter_gate(self):
        write_suite(Path("words"))
        Path("words/system.py").write_text("def answer(case):\n    return {'word': '90.0%'}\n")
        assert "FAIL" in invoke("run", "words", code=1)


class TestOneDefinitionOfPass:
    """The document said >= 75, and the published 90.0 % counted >= 60: by its own rule it was 76.0 %."""

    @pytest.mark.parametrize(("mark", "rate"), [("75 %", "76.0 %"), ("60 %", "90.0 %")])
    def test_the_rule_is_printed_with_the_number(self, mark, rate):
        # 29 + 9 of 50 have both parts, 7 the one that weighs 60, 5 none.
        cases = [{"id": str(k), "input": k, "expected": {"a": "a", "b": "b"}} for k in range(50)]
        said = [{"a": "a", "b": "b"}] * 38 + [{"a": "a", "b": "x"}] * 7 + [{"a": "x", "b": "x"}] * 5
        score = {
            "a": scorers.exact(expected="expected.a", weight=60),
            "b": scorers.exact(expected="expected.b", weight=40),
        }
        suite = steelyard.Suite(
            "antiques",
            cases=cases,
            target=lambda case: said[case.input],
            score=score,
            answer={"format": "json"},
            passing=f"score >= {mark}",
        )
        assert f"{rate} (score >= {mark})" in str(suite.run())


FOXES = "🦊🦊🦊🦊🦊 fox fox run."
FOX = {"text": "fox", "role": "animal"}


class TestSpans:
    """Offsets were UTF-16 code units, and a smaller judge's indices pointed to other text."""

    @for_every(
        ("units", "spans", "value"),
        [
            # The first fox: 5 emoji and a space are 6 code points, 11 UTF-16 units, 21 bytes.
            ("code_points", [FOX | {"start": 6, "end": 9}], 1),
            ("utf16", [FOX | {"start": 11, "end": 14}], 1),
            ("bytes", [FOX | {"start": 21, "end": 24}], 1),
            # Counted in other units than declared, it is the other fox.
            ("code_points", [FOX | {"start": 11, "end": 14}], 0),
            # The second fox is another one in every unit.
            ("code_points", [FOX | {"start": 10, "end": 13}], 0),
            ("utf16", [FOX | {"start": 15, "end": 18}], 0),
            ("bytes", [FOX | {"start": 25, "end": 28}], 0),
            # Inside an emoji, behind the end, backwards, no numbers: a word that stands twice has no place then.
            ("utf16", [FOX | {"start": 1, "end": 4}], 0),
            ("utf16", [FOX | {"start": 900, "end": 903}], 0),
            ("utf16", [FOX | {"start": 14, "end": 11}], 0),
            ("utf16", [FOX | {"start": None, "end": None}], 0),
            # Everything, the right one in the wrong role, and nothing.
            ("code_points", [{"text": FOXES, "start": 0, "end": len(FOXES), "role": "animal"}], 0),
            ("code_points", [FOX | {"start": 6, "end": 9, "role": "plant"}], 0),
            ("code_points", [], 0),
            # The same span three times is found once: precision 1 of 3, recall 1 of 1, F1 2 / 4.
            ("code_points", [FOX | {"start": 6, "end": 9}] * 3, 0.5),
        ],
    )
    def test_a_span_counts_where_it_really_stands(self, units, spans, value):
        gold = [FOX | {"start": 6, "end": 9}]
        layout = {"spans": "expected.spans[]", "offsets": "code_points"}
        score = {"spans": scorers.match_spans(text="input", expected=layout, offsets=units)}
        said = json.dumps({"spans": spans})
        assert earned(said, {"spans": gold}, score, asked=FOXES, answer={"format": "json"}) == value
