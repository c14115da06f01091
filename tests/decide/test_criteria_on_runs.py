"""Criteria from the samples of a run to its verdict, through the real analysis and the real command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parts.columns import Made, columns, suite
from parts.command import steelyard
from parts.described import check_on_run, summarise
from parts.small_suite import write_suite
from steelyard.decide.gates import Decision
from steelyard.decide.verdict import decide
from steelyard.errors import UsageError
from steelyard.records import Verdict
from steelyard.suite.models import SuiteModel

PASS, FAIL, AMBIGUOUS = Verdict.PASS, Verdict.FAIL, Verdict.AMBIGUOUS
CRITERIA = [
    {
        "name": "text",
        "pass": "score.name.text >= 80 %",
        "fail": "score.name.text < 60 %",
        "secondary": False,
        "about": "",
    },
    {
        "name": "invented",
        "pass": "findings.INVENTED == 0",
        "fail": "findings.INVENTED.samples > 1",
        "secondary": False,
        "about": "",
    },
    {"name": "json", "pass": "valid in >= 2 of 3 repeats", "fail": None, "secondary": True, "about": ""},
]


def described(**changes: Any) -> dict[str, Any]:
    described = suite(criteria=CRITERIA, taxonomy=[{"code": code} for code in ("INVENTED", "FORMAT")], **changes)
    described["components"][0]["measures"] = {"text": {"numerator": "read", "denominator": "there", "about": ""}}
    return described


def answered(case: str, variant: str, repeat: int, read: int, *found: str, valid: bool = True) -> Made:
    return Made(
        case,
        read / 10 if valid else 0.0,
        "scored" if valid else "malformed",
        variant=variant,
        repeat=repeat,
        counts={"name": {"read": read if valid else 0, "there": 10}},
        findings=found if valid else ("FORMAT",),
    )


def decided(made: list[Made], **changes: Any) -> Decision:
    suite = described(n_planned=len(made), **changes)
    return decide(summarise(columns(made), suite), SuiteModel.from_data(suite))


def test_the_verdict_follows_from_the_samples_variant_by_variant() -> None:
    # rows reads 9 of 10 in all six samples; boxes reads 6 of 10 (36 of 60), and invents in one of them.
    made = [answered(case, "rows", repeat, 9) for case in "ab" for repeat in range(3)]
    made += [
        answered(case, "boxes", repeat, 6, *(["INVENTED"] * 2 if (case, repeat) == ("a", 0) else []))
        for case in "ab"
        for repeat in range(3)
    ]
    found = decided(made, variants=["rows", "boxes"], repeats=3)
    # Together (54 + 36) / 120 = 75 %; two inventions, both in one sample.
    assert [each.value.value for each in found.gates] == [pytest.approx(0.75), 2.0, 1.0]
    assert [each.verdict for each in found.gates] == [AMBIGUOUS, AMBIGUOUS, PASS]
    assert found.verdict is AMBIGUOUS
    assert [(each.variant, each.verdict) for each in found.by_variant] == [("rows", PASS), ("boxes", AMBIGUOUS)]


def test_an_answer_that_cannot_be_read_counts_against_text_and_json() -> None:
    # 2 of 3 valid is enough, 1 of 3 is not; the four readable samples hold 40 of 60.
    made = [answered("a", "", repeat, 10, valid=repeat != 0) for repeat in range(3)]
    made += [answered("b", "", repeat, 10) for repeat in range(2)] + [answered("b", "", 2, 0, valid=False)]
    assert decided(made, repeats=3).gates[2].verdict is PASS
    made[3] = answered("b", "", 0, 10, valid=False)
    found = decided(made, repeats=3)
    assert found.gates[0].value.value == pytest.approx(30 / 60)
    assert found.verdict is FAIL
    assert found.gates[2].verdict is FAIL
    assert "1 of 2 pass; 1 failed: b: 1 of 3" in found.gates[2].reason


def test_a_single_repeat_leaves_the_rule_over_three_open() -> None:
    found = decided([answered(case, "", 0, 9) for case in "abc"])
    assert found.verdict is PASS
    assert found.gates[2].verdict is AMBIGUOUS
    assert found.gates[2].reason.endswith("run with -n 3")


def test_a_gate_asked_of_a_stored_run_may_name_its_measures() -> None:
    suite = described()
    summary = summarise(columns([answered("a", "", 0, 9)]), suite)
    check_on_run(["score.name.text >= 80 %", "findings.INVENTED.samples <= 1"], suite, summary)
    with pytest.raises(UsageError) as caught:
        check_on_run(["score.name.txt >= 80 %", "score.value.text >= 80 %", "findings.X.samples <= 1"], suite, summary)
    assert str(caught.value).splitlines() == [
        "gate 'score.name.txt >= 80 %': there is no measure of name 'txt': did you mean text?",
        "gate 'score.value.text >= 80 %': there is no measure of value 'text'; there are: average, points",
        "gate 'findings.X.samples <= 1': there is no finding code 'X'; there are: INVENTED, FORMAT",
    ]


class TestTheCommand:
    def write(self, folder: Path, **criteria: dict[str, Any]) -> Path:
        return write_suite(folder / "my", n=2, gates=[], criteria=criteria)

    def test_a_run_ends_with_the_verdict_of_its_criteria_and_gate_says_it_again(self, tmp_path: Path) -> None:
        path = self.write(
            tmp_path,
            fast={"pass": "latency.max <= 0 ms", "fail": "latency.max > 1000 s"},
            json={"pass": "valid in >= 2 of 3 repeats", "secondary": True},
        )
        assert steelyard("run", path, cwd=tmp_path).returncode == 4
        asked = steelyard("gate", cwd=tmp_path)
        assert asked.returncode == 4
        assert "AMBIGUOUS" in asked.stdout
        assert steelyard("gate", "--gate", "average >= 90 %", cwd=tmp_path).returncode == 0

    def test_only_secondary_criteria_decide_nothing(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, low={"pass": "average <= 10 %", "secondary": True})
        assert steelyard("run", path, cwd=tmp_path).returncode == 0
        asked = steelyard("gate", cwd=tmp_path)
        assert asked.returncode == 2
        assert "all its criteria are secondary" in asked.stderr.replace("\n", " ")
