"""A repeat that says the same is not scored again; whatever could make a difference is scored."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from parts.judged_suite import write_judged
from steelyard.loading.load import load_suite
from steelyard.scoring import recent
from steelyard.scoring.base import Reading, Scorer
from steelyard.scoring.evaluate import Evaluator
from steelyard.scoring.recent import Recent
from steelyard.suite.case import Case
from steelyard.suite.models import Component, SuiteModel, TargetSpec


def case(truth: str = "oak") -> Case:
    return Case(id="table", input={}, expected={"wood": truth})


def test_the_same_answer_to_the_same_case_is_known() -> None:
    kept: Recent[str] = Recent()
    asked = case()
    assert kept.get(asked, ("oak", 200, False)) is None
    assert kept.keep(asked, ("oak", 200, False), "right") == "right"
    assert kept.get(asked, ("oak", 200, False)) == "right"


@pytest.mark.parametrize("stated", [("Oak", 200, False), ("oak", 404, False), ("oak", 200, True), ("oak", None, False)])
def test_another_text_status_or_cut_is_not_known(stated: Any) -> None:
    kept: Recent[str] = Recent()
    asked = case()
    kept.keep(asked, ("oak", 200, False), "right")
    assert kept.get(asked, stated) is None


def test_a_case_of_the_same_name_with_another_truth_is_not_known() -> None:
    kept: Recent[str] = Recent()
    kept.keep(case("oak"), ("oak", 200, False), "right")
    assert kept.get(case("elm"), ("oak", 200, False)) is None


def test_no_more_than_a_few_dozen_are_kept_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "_MOST", 2)
    kept: Recent[int] = Recent()
    asked = case()
    for number in range(3):
        kept.keep(asked, (str(number), None, False), number)
    assert [kept.get(asked, (str(number), None, False)) for number in range(3)] == [None, 1, 2]


def test_a_very_long_answer_is_not_kept() -> None:
    kept: Recent[int] = Recent()
    asked = case()
    longest = "x" * 50_000
    kept.keep(asked, (longest, None, False), 1)
    kept.keep(asked, (longest + "x", None, False), 2)
    assert kept.get(asked, (longest, None, False)) == 1
    assert kept.get(asked, (longest + "x", None, False)) is None


class Counting(Scorer):
    asked: ClassVar[list[Any]] = []

    def read(self, answer: Any, case: Case) -> Reading:
        self.asked.append(answer)
        return Reading(float(answer == case.expected["wood"]))

    def truth(self, case: Case) -> Any:
        return case.expected["wood"]


def test_a_scorer_asks_its_scorers_once_for_repeats_and_again_for_all_else() -> None:
    suite = SuiteModel(
        name="s",
        folder=Path(),
        path="s",
        cases=(),
        target=TargetSpec("recorded", None),
        components=(Component(name="wood", scorer=Counting()),),
    )
    weigher, oak, elm = Evaluator(suite), case("oak"), case("elm")
    said = [
        weigher.evaluate(*one).score for one in [("oak", oak), ("oak", oak), ("elm", oak), ("oak", elm), ("oak", oak)]
    ]
    assert said == [1.0, 1.0, 0.0, 0.0, 1.0]
    assert Counting.asked == ["oak", "elm", "oak"]


def test_a_judge_that_writes_into_what_was_measured_spoils_no_other_repeat(tmp_path: Path) -> None:
    suite = load_suite(write_judged(tmp_path))
    weigher, asked = Evaluator(suite), next(iter(suite.cases))
    first, second = (weigher.evaluate("three words long", asked) for _ in range(2))
    measured: Any = first.metrics["size"]
    measured["words"] = 99
    assert second.metrics["size"]["words"] == 3
    assert weigher.evaluate("three words long", asked).metrics["size"]["words"] == 3
