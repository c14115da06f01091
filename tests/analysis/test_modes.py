"""Readings of two kinds of judges are never put into one figure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parts.columns import Made, columns
from parts.described import summarise
from parts.judged import judged_suite
from parts.score_ends import score_ends
from steelyard.analysis.model import Summary
from steelyard.stats.intervals import Estimate


def summary_of(made: list[Made], modes: list[str | None], **changes: object) -> Summary:
    names = sorted({mode for mode in modes if mode})
    codes = np.array([-1 if mode is None else names.index(mode) for mode in modes], dtype=np.int8)
    given = replace(columns(made), mode=codes, modes=names)
    return summarise(given, judged_suite(**changes))


def read(case: str, score: float, tone: float, **more: object) -> Made:
    return Made(case, score, parts={"tone": tone, "overall": 3.0}, **more)


MIXED = [read("a", 0.8, 4.0), read("b", 0.4, 2.0), read("c", 1.0, 5.0, findings=(("TONE", "tone", 0.5),))]


def modes_of(summary: Summary) -> dict[str, int]:
    return summary.overall.counts("mode.<mode>.n")


class TestSetAside:
    def test_another_mode_is_in_no_figure_and_counted_as_missing(self) -> None:
        overall = summary_of(MIXED, ["model", "model", "basic"]).overall
        assert (overall["average"].value, overall["average"].n, overall["average"].n_missing) == (
            pytest.approx(0.6),
            2,
            1,
        )
        assert (overall["median"].value, overall["median"].n_missing) == (pytest.approx(0.6), 1)
        assert (overall["pass_rate"].value, overall["pass_rate"].n, overall["pass_rate"].n_missing) == (0.5, 2, 1)
        assert (overall["score.tone.points"].value, overall["score.tone.points"].n_missing) == (3.0, 1)
        assert overall.counts("findings.<code>") == {}
        assert overall["findings.TONE.rate"] == replace(overall["findings.TONE.rate"], value=0.0, n=2, n_missing=1)
        assert overall["band.Good"].n == 2

    def test_it_is_inconclusive_beside_what_the_target_did(self) -> None:
        overall = summary_of(MIXED, ["model", "model", "basic"]).overall
        assert (overall.outcomes, overall.count("outcomes.excluded")) == ({"scored": 3}, 1)
        assert overall["inconclusive_rate"].value == pytest.approx(1 / 3)
        assert overall["scored_rate"].value == pytest.approx(2 / 3)
        assert overall["malformed_rate"].n == 2

    def test_slices_count_their_own(self) -> None:
        made = [replace(each, category="x" if each.case == "c" else "y") for each in MIXED]
        slices = {each.name: each for each in summary_of(made, ["model", "model", "basic"]).slices["category"]}
        assert (slices["x"].count("outcomes.excluded"), slices["x"]["average"]) == (1, Estimate(None, 0, 1))
        assert (slices["y"].count("outcomes.excluded"), slices["y"]["average"].n) == (0, 2)

    def test_a_run_of_rules_sets_a_model_aside(self) -> None:
        overall = summary_of(MIXED, ["rules", "model", "rules"], mode="rules").overall
        assert (overall["average"].value, overall.count("outcomes.excluded")) == (pytest.approx(0.9), 1)

    def test_a_score_without_a_mode_in_a_judged_run_is_not_believed(self) -> None:
        assert summary_of(MIXED, ["model", "model", None]).overall.count("outcomes.excluded") == 1

    def test_when_no_sample_is_in_the_main_mode_there_is_no_average(self) -> None:
        overall = summary_of(MIXED, ["basic", "basic", "basic"]).overall
        assert overall["average"] == Estimate(None, 0, 3)
        assert overall.count("outcomes.excluded") == 3

    def test_a_malformed_answer_never_came_before_a_judge_and_stays_a_zero(self) -> None:
        overall = summary_of([*MIXED[:2], Made("d", None, "malformed")], ["model", "model", None]).overall
        assert (overall["average"].value, overall.count("outcomes.excluded")) == (pytest.approx(0.4), 0)  # 0.8, 0.4, 0

    def test_a_run_without_a_judge_is_as_before(self) -> None:
        given = replace(columns(MIXED), mode=np.array([-1, -1, -1]), modes=[])
        plain = {key: value for key, value in judged_suite().items() if key != "judge"}
        summary = summarise(given, plain)
        assert (summary.overall["average"].n, summary.overall.count("outcomes.excluded"), modes_of(summary)) == (
            3,
            0,
            {},
        )
        assert summarise(columns(MIXED), plain) == summary

    def test_columns_that_know_nothing_of_modes_set_nothing_aside(self) -> None:
        assert summarise(columns(MIXED), judged_suite()).overall["average"].n == 3


class TestEachModeOnItsOwn:
    def test_figures_of_every_mode_the_main_one_first(self) -> None:
        overall = summary_of(MIXED, ["model", "model", "basic"]).overall
        assert list(overall.counts("mode.<mode>.n").items()) == [("model", 2), ("basic", 1)]
        assert overall["mode.model.average"].value == pytest.approx(0.6)
        assert overall["mode.basic.average"] == Estimate(1.0, 1, 2)
        assert overall["mode.model.dimension.tone"].value == 3.0
        assert overall["mode.basic.dimension.tone"] == Estimate(5.0, 1, 2)

    def test_intervals_in_points_stay_on_the_scale(self) -> None:
        tone = summary_of(MIXED, ["model"] * 3).overall["mode.model.dimension.tone"]
        # 2, 4 and 5 or so: 11/3 -+ 4.303 * 1.5275 / sqrt(3) would be 0.13 to 7.46.
        assert (tone.low, tone.high) == pytest.approx(score_ends(11 / 3, 1.527525 / 3**0.5, 2, (1.0, 5.0)), abs=1e-5)

    def test_a_failed_judge_is_in_no_mode(self) -> None:
        summary = summary_of([*MIXED[:2], Made("d", None, "judge_failed")], ["model", "model", None])
        assert modes_of(summary) == {"model": 2}
        assert summary.overall["mode.model.average"].n_missing == 1
