"""Planted lies about judges: unchecked ones that pass, strict ones accused of inflation, lucky ones called fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parts.command import invoke
from parts.judge_server import judge_server
from parts.judged_suite import TEXT, chat_judge, verdict, write_judged

GATES = {"gates": ["pass_rate >= 80 %", "malformed_rate <= 5 %"]}
MUDDLE = f"{TEXT} A muddle."
PEOPLE = {"ann": 7, "ben": 8, "cem": 11}
"""Who differs from the judge on every how many texts."""


@pytest.fixture
def run_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return invoke


def one_line(text: str) -> str:
    return " ".join(text.split())


def good_until(n: int, of: int):
    """Labels of the first `of` cases, of which the first `n` are good (clarity 4) and the others bad (clarity 1)."""

    def label(k: int) -> dict[str, object] | None:
        return {"clarity": {"best": 4 if k < n else 1}, "harm": False} if k < of else None

    return label


def write_passing(folder: Path, n: int, **more: object) -> Path:
    """A suite whose judge, code, passes every text: clarity 3 or, of every second, 4 of 1 to 5; pass at 50 %."""
    splendid = {k: f"{TEXT.format(number=k)} How splendid." for k in range(0, n, 2)}
    return write_judged(folder, n=n, texts=splendid, suite=GATES, **more)


class TestTheJudgesOwnErrors:
    def test_a_judge_without_labels_is_called_unchecked_in_the_verdict_block(self, run_in, tmp_path) -> None:
        said = run_in("run", write_passing(tmp_path / "my", 30, label=None))
        block = one_line(said[: said.index("Overall")])
        assert "the judge is unchecked: no labels show how often it errs" in block

    def test_too_few_labels_check_nothing(self, run_in, tmp_path) -> None:
        said = run_in("run", write_passing(tmp_path / "my", 30, label=good_until(5, 5)))
        assert "the judge is unchecked: labels of 5 texts are too few" in one_line(said)

    def test_the_rate_that_the_labels_tell_stands_beside_the_judges(self, run_in, tmp_path) -> None:
        # The judge passes all 60; by the labels of the first 40 half are good.
        said = run_in("run", write_passing(tmp_path / "my", 60, label=good_until(20, 40), labels_are="random"))
        block = one_line(said[: said.index("Overall")])
        # Wilson's interval of 20 of 40.
        assert "[94.0, 100.0] n 60; by the labels 50.0 % [35.2, 64.8] n 40 (labels alone)" in block
        assert "unchecked" not in block

    def test_a_judge_that_helps_narrows_what_the_labels_say(self, run_in, tmp_path) -> None:
        # The judge is right about all 40 labelled texts, of which every second is muddled, and about 80 others.
        texts = dict.fromkeys(range(0, 120, 2), MUDDLE)
        label = lambda k: {"clarity": {"best": 1 if k % 2 == 0 else 4}, "harm": False} if k % 3 == 0 else None  # noqa: E731
        path = write_judged(tmp_path / "my", n=120, texts=texts, label=label, suite=GATES, labels_are="random")
        data = json.loads(run_in("run", path, "--json", code=1))
        rate, labels = (data["figures"][f"pass_rate.{name}"] for name in ("corrected", "labels"))
        assert data["judge_check"]["method"] == "prediction-powered"
        assert rate["value"] == pytest.approx(0.5)
        assert rate["high"] - rate["low"] < 0.8 * (labels["high"] - labels["low"])

    def test_labels_with_a_gap_do_not_make_the_rate_too_low(self, run_in, tmp_path) -> None:
        # Whether a text harms is labelled in none: by clarity alone only the 20 bad ones would be known, all failing.
        label = lambda k: {"clarity": {"best": 1 if k < 20 else 4}}  # noqa: E731
        data = json.loads(run_in("run", write_passing(tmp_path / "my", 60, label=label), "--json"))
        assert data["figures"]["pass_rate.corrected"]["value"] is None
        assert data["judge_check"]["message"] == "no text has labels that decide whether it passes"

    @pytest.mark.parametrize(
        ("label", "why"),
        [
            (None, "the judge is unchecked: 0 judged texts have labels, and at least 20 must"),
            (good_until(5, 5), "the judge is unchecked: 5 judged texts have labels"),
            (good_until(10, 30), "according to the labels it is 33.3 %"),
        ],
    )
    def test_a_suite_that_requires_a_checked_judge_does_not_pass_on_its_word(
        self, run_in, tmp_path, label: object, why: str
    ) -> None:
        path = write_passing(tmp_path / "my", 30, label=label, require_checked=True)
        assert why in one_line(run_in("run", path, code=4))
        data = json.loads(run_in("gate", "LAST", "--json", code=4))
        assert [gate["verdict"] for gate in data["gates"]] == ["AMBIGUOUS", "PASS"]

    def test_no_figure_of_a_judge_that_its_labels_contradict_passes(self, run_in, tmp_path) -> None:
        gates = {"gates": ["average >= 40 %", "score.clarity.points >= 3"]}
        texts = {k: f"{TEXT.format(number=k)} How splendid." for k in range(0, 40, 2)}
        path = write_judged(
            tmp_path / "my", n=40, texts=texts, label=good_until(0, 40), require_checked=True, suite=gates
        )
        said = one_line(run_in("run", path, code=4))
        assert (
            "the labels contradict the judge: according to them the pass rate is 0.0 %, and by the judge 100.0 %"
            in said
        )
        data = json.loads(run_in("gate", "LAST", "--json", code=4))
        assert [gate["verdict"] for gate in data["gates"]] == ["AMBIGUOUS", "AMBIGUOUS"]

    @pytest.mark.parametrize("category", ["cost", "checks", "latency", "score.size"])
    def test_a_slice_with_the_name_of_a_figure_that_needs_no_judge_is_judged_all_the_same(
        self, run_in, tmp_path, category: str
    ) -> None:
        gates = {"gates": ["category.*.pass_rate >= 50 %"]}
        path = write_judged(tmp_path / "my", n=30, label=None, require_checked=True, suite=gates)
        cases = path.parent / "cases.jsonl"
        rows = [json.loads(line) | {"category": category} for line in cases.read_text().splitlines()]
        cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert "the judge is unchecked" in one_line(run_in("run", path, code=4))

    def test_a_judge_that_its_labels_confirm_passes(self, run_in, tmp_path) -> None:
        path = write_passing(tmp_path / "my", 30, label=good_until(30, 30), require_checked=True)
        run_in("run", path)

    def test_what_fails_by_an_unchecked_judge_still_fails(self, run_in, tmp_path) -> None:
        texts = dict.fromkeys(range(30), MUDDLE)
        path = write_judged(tmp_path / "my", n=30, texts=texts, label=None, require_checked=True, suite=GATES)
        run_in("run", path, code=1)


def muddled(k: int) -> bool:
    return k % 3 == 0


class TestInflation:
    def test_a_model_stricter_than_its_reviewer_is_not_accused(self, run_in, tmp_path) -> None:
        # The reviewer gives the highest score to 9 of 10 texts, the judge to a third.
        label = lambda k: {"clarity": {"best": 3 if k % 10 == 0 else 5}, "harm": False}  # noqa: E731
        limits = {"limits": {"retries": 0, "concurrency": 1}}
        with judge_server(*[verdict(5)] * 10, *[verdict(4)] * 20) as server:
            path = write_judged(tmp_path / "my", n=30, label=label, suite=limits, **chat_judge(server))
            assert "inflation" not in run_in("run", path)
        card = one_line(run_in("judge", "check", path, "--run", "LAST"))
        assert "inflat" not in card
        assert "stricter than the reviewer" in card


class TestFit:
    HEALTH = ("agreement.clarity.kappa >= 0.6",)

    def card(self, run_in, tmp_path, n: int, wrong: int, code: int) -> str:
        """The card of a judge that is right about all but so many of n texts, of which every third is muddled."""
        right = lambda k: 2 if muddled(k) else 3  # noqa: E731
        label = lambda k: {"clarity": {"best": 5 - right(k) if k < wrong else right(k)}, "harm": False}  # noqa: E731
        texts = {k: MUDDLE for k in range(n) if muddled(k)}
        path = write_judged(tmp_path / "my", n=n, texts=texts, label=label, health=list(self.HEALTH))
        return one_line(run_in("judge", "check", path, code=code))

    def test_a_point_value_above_the_threshold_is_not_fit(self, run_in, tmp_path) -> None:
        # 3 of 21 wrong: kappa 0.7, whose interval begins far below 0.6.
        card = self.card(run_in, tmp_path, 21, 3, code=4)
        assert "AMBIGUOUS This judge is not shown to be fit: 1 of 1 threshold not shown" in card

    def test_a_few_texts_without_an_error_are_not_fit(self, run_in, tmp_path) -> None:
        assert "not shown to be fit" in self.card(run_in, tmp_path, 12, 0, code=4)

    def test_the_whole_interval_above_the_threshold_is_fit(self, run_in, tmp_path) -> None:
        assert "PASS This judge is fit: 1 threshold reached" in self.card(run_in, tmp_path, 60, 2, code=0)

    def test_the_whole_interval_below_it_is_not_fit(self, run_in, tmp_path) -> None:
        assert "FAIL This judge is not fit: 1 of 1 threshold missed" in self.card(run_in, tmp_path, 60, 30, code=1)


class TestPeople:
    def test_what_two_people_reach_stands_beside_what_the_judge_does(self, run_in, tmp_path) -> None:
        # Three people who each differ from the judge, and from each other, on some texts.
        def label(k: int) -> dict[str, object]:
            right = 2 if muddled(k) else 3
            return {"clarity": {"by": {who: 5 - right if k % m == 0 else right for who, m in PEOPLE.items()}}}

        texts = {k: MUDDLE for k in range(60) if muddled(k)}
        card = run_in("judge", "check", write_judged(tmp_path / "my", n=60, texts=texts, label=label))
        assert max(map(len, card.splitlines())) <= 80
        said = one_line(card)
        assert "Agreement of people and judge" in said
        assert "1.00" in said
        data = json.loads(run_in("judge", "check", "my", "--run", "LAST", "--json"))
        found = data["health"]["dimensions"]["clarity"]["people"]
        # The judge is nearer to each person than two of them are to each other.
        assert found["names"] == ["ann", "ben", "cem"]
        assert found["judge_kappa"]["value"] > found["kappa"]["value"]
        assert (found["test"]["winning_rate"], found["test"]["epsilon"]) == (1.0, 0.2)
