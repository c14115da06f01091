"""How long answers took: figures worked out by hand, bars, and what looks wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.chart_figures import times, times_in
from parts.columns import Made, columns, suite
from parts.described import summarise
from steelyard.analysis import cell_metrics
from steelyard.analysis.histogram import MOST_BARS, Bar, histogram
from steelyard.analysis.latency import CellLatency, LatencyDetails, Spread, no_calls
from steelyard.analysis.model import Summary
from steelyard.decide.gates import evaluate

RULES = {"below": 0.1, "above": 10.0}


class Found:
    """The times of a run: what its summary lists of them, and its figures."""

    def __init__(self, summary: Summary, latency: LatencyDetails) -> None:
        self._overall = summary.overall
        self.cells, self.bars, self.hints = latency.cells, latency.bars, latency.hints
        self.overall: Spread = times_in(self._overall)
        self.timeouts, self.failures, self.n_cells = map(self._count, ("timeouts", "failures", "cells"))

    def _count(self, name: str) -> int:
        return self._overall.count(f"latency.{name}")

    def of(self, name: str) -> Spread | None:
        return times_in(self._overall, f"latency.{name}") if f"latency.{name}.n" in self._overall else None


def figures_of(*made: Made, **changes) -> Found | None:
    summary = summarise(columns(list(made)), suite(**changes))
    return None if summary.latency is None else Found(summary, summary.latency)


def answered(case: str, *seconds: float, variant: str = "", **more) -> list[Made]:
    return [Made(case, 1.0, variant=variant, repeat=i, latency=time, **more) for i, time in enumerate(seconds)]


def failed(case: str, kind: str, repeat: int = 9, seconds: float = 60.0) -> Made:
    return Made(case, None, "target_failed", repeat=repeat, latency=seconds, failure=kind)


class TestSpread:
    def test_every_call_counts_not_only_the_ends_of_each_case(self) -> None:
        # a: 1 2 3 4, b: 10. Over all five, sorted 1 2 3 4 10: mean 20 / 5 = 4, p50 the third = 3,
        # and five calls are too few for a p95 or a p99.
        # Pooling the ends of each case (1, 4, 10, 10) would give a mean of 6.25.
        found = figures_of(*answered("a", 4.0, 1.0, 3.0, 2.0), *answered("b", 10.0), repeats=4)
        assert found is not None
        assert found.overall == times(5, 4.0, 1.0, 10.0, 3.0)
        a, b = found.cells
        assert a == CellLatency("a", "", times(4, 2.5, 1.0, 4.0, 2.5), 0, 0)
        assert b == CellLatency("b", "", times(1, 10.0, 10.0, 10.0, 10.0), 0, 0)
        assert found.n_cells == 2

    def test_timeouts_are_lower_bounds_and_other_failures_are_in_no_time(self) -> None:
        found = figures_of(
            *answered("a", 1.0, 3.0),
            failed("a", "timeout", 2),
            failed("a", "http_500", 3),
            failed("a", "connect_timeout", 4),
            failed("b", "timeout"),
        )
        assert found is not None
        # 1 s, 3 s, and three times at least 60 s.
        assert (found.overall.n, found.overall["min"], found.overall["at_least"]) == (5, 1.0, ["p50", "mean", "max"])
        assert (found.overall["p50"], found.overall["mean"], found.overall["max"]) == (60.0, 36.8, 60.0)
        assert (found.timeouts, found.failures) == (3, 1)
        a, b = found.cells
        assert (a.spread.n, a.timeouts, a.failures) == (4, 2, 1)
        assert (b.spread.n, b.spread.tail, b.timeouts) == (1, ("max", 60.0), 1)

    def test_a_run_in_which_every_call_failed_has_figures_without_a_time(self) -> None:
        found = figures_of(failed("a", "refused"))
        assert found is not None
        assert (found.overall, found.failures, found.bars, found.hints) == (no_calls(), 1, (), ())

    def test_malformed_answers_and_those_a_judge_failed_on_took_their_time(self) -> None:
        found = figures_of(Made("a", 0.0, "malformed", latency=1.0), Made("b", None, "judge_failed", latency=3.0))
        assert found is not None
        assert (found.overall.n, found.overall["mean"]) == (2, 2.0)

    def test_answers_from_the_cache_and_those_recorded_without_a_time_are_left_out(self) -> None:
        cached, untimed = Made("b", 1.0, latency=0.001, cached=True), Made("c", 1.0, latency=None)
        found = figures_of(*answered("a", 2.0), cached, untimed)
        assert found is not None
        assert (found.overall.n, found.overall["min"], [cell.case_id for cell in found.cells]) == (1, 2.0, ["a"])
        assert figures_of(cached, untimed) is None
        assert summarise(columns([cached]), suite()).overall["latency.p50"].value is None

    def test_first_bytes_and_waits_are_of_answered_calls_that_have_them(self) -> None:
        found = figures_of(
            *answered("a", 2.0, first_byte=0.5, queued=0.25),
            *answered("b", 3.0),
            Made("c", None, "target_failed", latency=9.0, failure="cut", queued=8.0),
            Made("d", 1.0, latency=1.0, first_byte=0.125, queued=4.0, cached=True),
        )
        assert found is not None
        assert found.of("first_byte") == times(1, 0.5, 0.5, 0.5, 0.5)
        assert found.of("queued") == times(1, 0.25, 0.25, 0.25, 0.25)
        plain = figures_of(*answered("a", 2.0))
        assert plain is not None
        assert (plain.of("first_byte"), plain.of("queued")) == (None, None)

    def test_cells_come_case_by_case_with_variants_as_declared(self) -> None:
        made = [*answered("b", 1.0, variant="old"), *answered("a", 2.0, variant="new")]
        found = figures_of(*made, *answered("a", 3.0, variant="old"), variants=["old", "new"])
        assert found is not None
        assert [(cell.case_id, cell.variant, cell.spread["mean"]) for cell in found.cells] == [
            ("a", "old", 3.0),
            ("a", "new", 2.0),
            ("b", "old", 1.0),
        ]

    def test_more_cells_than_are_kept_are_counted(self, monkeypatch) -> None:
        monkeypatch.setattr(cell_metrics, "MOST_CELLS", 2)
        found = figures_of(*(Made(f"c{i}", 1.0, latency=float(i + 1)) for i in range(5)))
        assert found is not None
        assert ([cell.spread["mean"] for cell in found.cells], found.n_cells, found.overall.n) == ([4.0, 5.0], 5, 5)

    @given(st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=40))
    def test_one_cell_has_the_figures_of_the_whole_run(self, times) -> None:
        found = figures_of(*answered("a", *times), repeats=len(times))
        assert found is not None
        for name in ("n", "mean", "min", "max", "p50", "p95", "p99"):
            one, whole = (each.n if name == "n" else each[name] for each in (found.cells[0].spread, found.overall))
            assert (one is None) is (whole is None)
            assert one is None or one == pytest.approx(whole, rel=1e-9)

    def test_a_gate_may_stand_on_the_99th_percentile(self) -> None:
        summary = summarise(columns(answered("a", *(float(i) for i in range(1, 102)))), suite())
        (result,) = evaluate(["latency.p99 <= 100 s"], summary)
        # 101 values 1..101: place 0.99 * 100 = 99, the hundredth.
        assert (result.value.value, result.value.n, result.verdict.value) == (100.0, 101, "PASS")
        assert evaluate(["latency.p99 <= 99.9 s"], summary)[0].verdict.value == "FAIL"


class TestBars:
    def test_bars_stand_at_round_places_and_hold_each_call_once(self) -> None:
        bars, by_ratio = histogram(np.array([0.11, 0.12, 0.2, 0.299, 0.3]))
        # 0.19 s in steps of 10 ms: from 0.11 to the first edge above 0.3.
        assert (bars[0], bars[-1], by_ratio) == (Bar(0.11, 0.12, 1), Bar(0.3, 0.31, 1), False)
        assert {bar.low: bar.count for bar in bars if bar.count} == {0.11: 1, 0.12: 1, 0.2: 1, 0.29: 1, 0.3: 1}
        assert len(bars) == 20

    def test_a_range_of_more_than_two_decades_grows_by_a_ratio(self) -> None:
        bars, by_ratio = histogram(np.array([0.01, 0.02, 1.0, 9.0, 10.0]))
        assert by_ratio
        # Three decades and a bit at five a decade; 10 ** (1 / 5) = 1.58489319246.
        assert (bars[0].low, bars[0].high, bars[0].count) == (0.01, pytest.approx(0.0158489319246), 1)
        assert (bars[-1].low, bars[-1].count, len(bars)) == (10.0, 1, 16)
        assert not histogram(np.array([0.1, 10.0]))[1]
        assert histogram(np.array([0.1, 10.1]))[1]

    @pytest.mark.parametrize("value", [0.0, 1e-7, 0.014, 1.0, 3600.0])
    def test_equal_times_are_one_bar(self, value) -> None:
        ((bar,), _) = histogram(np.array([value] * 3))
        assert bar.low <= value < bar.high
        assert bar.count == 3

    def test_nothing_has_no_bars(self) -> None:
        assert histogram(np.empty(0)) == ((), False)

    @given(st.lists(st.floats(0, 1e9), min_size=1, max_size=60))
    def test_every_call_is_in_exactly_one_bar(self, times) -> None:
        bars, _ = histogram(np.sort(times))
        for bar in bars:
            assert bar.count == sum(bar.low <= time < bar.high for time in times)
        assert sum(bar.count for bar in bars) == len(times)
        assert [bar.high for bar in bars[:-1]] == [bar.low for bar in bars[1:]]
        assert bars[0].count
        assert bars[-1].count

    @given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=60))
    def test_bars_are_few(self, times) -> None:
        assert len(histogram(np.sort(times))[0]) <= MOST_BARS


class TestHints:
    def hints(self, *made: Made, **changes) -> tuple[str, ...]:
        found = figures_of(*made, **({"latency": RULES} | changes))
        return () if found is None else found.hints

    def test_a_median_below_looks_short_circuited(self) -> None:
        assert self.hints(*answered("a", 0.012, 0.014, 5.0)) == (
            "median latency 14 ms of 3 answered calls is below 100 ms: looks short-circuited or cached",
        )

    def test_a_median_above_looks_like_a_queue(self) -> None:
        assert self.hints(*answered("a", 12.375)) == (
            "median latency 12.4 s of 1 answered call is above 10 s: looks like loading or a queue",
        )

    def test_a_median_at_a_limit_looks_right_and_one_close_to_it_is_separated(self) -> None:
        assert self.hints(*answered("a", 0.1)) == ()
        assert self.hints(*answered("a", 10.0)) == ()
        assert self.hints(*answered("a", 0.09999))[0].startswith("median latency 99.99 ms of")
        assert self.hints(*answered("a", 10.0001))[0].startswith("median latency 10.0001 s of")

    def test_errors_that_cases_ask_for_come_fast_and_say_nothing(self) -> None:
        errors = [Made(f"e{i}", 1.0, latency=0.003, error_answer=True) for i in range(5)]
        assert self.hints(*errors, *answered("a", 2.0)) == ()
        assert self.hints(*errors) == ()
        (told,) = self.hints(*errors, *answered("a", 0.014))
        assert "14 ms of 1 answered call " in told

    def test_each_of_several_variants_is_looked_at(self) -> None:
        # Together their median is 1 s, and nothing would look wrong.
        made = [*answered("a", 0.014, 0.014, variant="wrong"), *answered("a", 1.0, 2.0, 3.0, variant="right")]
        assert self.hints(*made, variants=["right", "wrong"]) == (
            "wrong: median latency 14 ms of 2 answered calls is below 100 ms: looks short-circuited or cached",
        )

    def test_without_rules_nothing_looks_wrong(self) -> None:
        for rules in (None, {"below": None, "above": None}, {"below": None, "above": 1.0}):
            assert self.hints(*answered("a", 0.001), latency=rules) == ()

    def test_answers_from_the_cache_are_not_short_circuited(self) -> None:
        assert self.hints(Made("a", 1.0, latency=0.014, cached=True)) == ()
