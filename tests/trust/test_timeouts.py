"""Timeouts and failed first attempts that would not be in any figure: a call that timed out took at least the time
waited, and retries hide nothing."""

import json
from pathlib import Path

import numpy as np
import pytest

from parts.columns import Made, columns, suite
from parts.command import invoke
from parts.compared import compared
from parts.described import summarise
from parts.small_suite import write_suite
from steelyard.analysis.latency import spread_of
from steelyard.comparing.compare import compare
from steelyard.decide.gates import evaluate
from steelyard.engine import call as calls
from steelyard.engine.call import RetryPolicy
from steelyard.engine.health import Health
from steelyard.engine.limits import Pace, Ruling
from steelyard.errors import TargetFailure
from steelyard.pairing.model import Moved
from steelyard.records import AtLeast, Verdict
from steelyard.stats.groups import Groups
from steelyard.suite.models import Limits
from steelyard.targets.base import Response

PASS, FAIL, AMBIGUOUS = Verdict.PASS, Verdict.FAIL, Verdict.AMBIGUOUS
WAITED = 5.0


def answered(case, seconds, **more):
    return Made(case, 1.0, latency=seconds, **more)


def timed_out(case, seconds=WAITED, kind="timeout", **more):
    return Made(case, None, "target_failed", latency=seconds, failure=kind, **more)


def run_of(n_answered, n_timed_out, seconds=0.3, **more):
    made = [answered(f"a{i:03d}", seconds, **more) for i in range(n_answered)]
    return made + [timed_out(f"t{i:03d}", **more) for i in range(n_timed_out)]


def summary_of(made):
    return summarise(columns(made), suite())


def gate_on(made, text):
    (result,) = evaluate([text], summary_of(made))
    return result


# ---- percentiles


@pytest.mark.parametrize("kind", ["timeout", "connect_timeout", "http_504", "http_408"])
@pytest.mark.parametrize("name", ["p95", "p99", "max", "mean"])
def test_no_latency_gate_passes_while_a_tenth_of_the_calls_time_out(name, kind):
    made = [answered(f"a{i}", 0.295) for i in range(90)] + [timed_out(f"t{i}", kind=kind) for i in range(10)]
    result = gate_on(made, f"latency.{name} <= 500 ms")
    assert result.verdict is FAIL
    # By hand: p95 lies at place 94.05 of 0..99, p99 at 98.01, both among the ten that timed out after 5 s.
    assert result.value.value == pytest.approx(0.9 * 0.295 + 0.1 * WAITED if name == "mean" else WAITED)
    assert (result.value.at_least, result.value.n, result.value.n_missing) == (True, 100, 0)
    assert result.reason.startswith("≥ ")


def test_a_gate_above_what_was_waited_is_ambiguous_and_names_the_bound():
    result = gate_on(run_of(90, 10), "latency.p95 <= 8 s")
    assert (result.verdict, result.reason) == (AMBIGUOUS, "it is 5.00 s or more")
    assert gate_on(run_of(90, 10), "latency.p95 >= 4 s").verdict is PASS
    assert gate_on(run_of(90, 10), "latency.p95 >= 8 s").verdict is AMBIGUOUS


def test_a_percentile_that_no_timeout_reaches_into_is_exact():
    median = summary_of(run_of(90, 10)).overall["latency.p50"]
    assert (median.value, median.at_least, median.n) == (0.3, False, 100)
    assert gate_on(run_of(90, 10), "latency.p50 <= 500 ms").verdict is PASS


def test_a_timeout_that_was_short_may_still_be_the_slowest():
    """Ten calls were given up after 0.1 s: the 95th percentile of the 100 may be theirs, and is not known."""
    made = [answered(f"a{i}", 0.3) for i in range(90)] + [timed_out(f"t{i}", 0.1) for i in range(10)]
    result = gate_on(made, "latency.p95 <= 500 ms")
    assert (result.verdict, result.value.value, result.value.at_least) == (AMBIGUOUS, 0.3, True)


def test_a_short_timeout_makes_a_median_below_it_a_bound_as_well():
    """By hand: the median of 0.1 and more, 0.3, 0.5 and 0.7 s is 0.4 s, or 0.6 s if the first took longest."""
    spread = spread_of(np.array([0.3, 0.5, 0.7, 0.1]), np.array([False, False, False, True]))
    assert (spread["p50"], isinstance(spread["p50"], AtLeast)) == (pytest.approx(0.4), True)
    assert (spread["min"], "p50" in spread["at_least"]) == (0.1, True)


def test_a_percentile_of_too_few_calls_does_not_pass_by_a_longest_that_timed_out():
    assert gate_on(run_of(5, 1), "latency.p95 <= 6 s").verdict is AMBIGUOUS
    assert gate_on(run_of(1, 5), "latency.p95 <= 4 s").verdict is FAIL


def test_a_percentile_of_too_few_calls_is_not_known_to_be_high_by_those_that_have_a_time():
    """One call took 2 s and five failed, after a time that nobody knows: if at once, p95 is 1.5 s, by hand."""
    made = [answered("a", 2.0)]
    refused = [Made(f"r{i}", None, "target_failed", latency=None, failure="connection") for i in range(5)]
    assert gate_on(made, "latency.p95 >= 1.9 s").verdict is PASS
    assert gate_on(made + refused, "latency.p95 >= 1.9 s").verdict is AMBIGUOUS


def test_the_interval_of_a_percentile_that_timeouts_reach_into_has_no_upper_end():
    """By scipy 1.16 (binom.ppf(0.975, 100, 0.95)), the upper end of p95 of 100 is among the four highest."""
    p95 = summary_of(run_of(97, 3)).overall["latency.p95"]
    assert (p95.value, p95.at_least) == (0.3, False)
    assert (p95.low, p95.high) == (0.3, None)
    result = gate_on(run_of(97, 3), "latency.p95 <= 500 ms")
    assert result.verdict is PASS
    assert "the 95 % interval contains the threshold" in result.reason
    assert result.narrow


@pytest.mark.simulation
@pytest.mark.parametrize(("point", "n", "given_up"), [(0.5, 30, 1.15), (0.5, 100, 0.9), (0.95, 100, 1.15),
                                                      (0.95, 200, 1.15), (0.95, 200, 0.9)])  # fmt: skip
def test_intervals_of_percentiles_hold_with_censored_values(point, n, given_up):
    """Lognormal times, all of them given up at a multiple of the true percentile; that of the normal is by scipy."""
    rng, runs = np.random.default_rng(n), 400
    values = rng.lognormal(0, 0.7, (runs, n))
    truth = float(np.exp(0.7 * {0.5: 0.0, 0.95: 1.6448536269514722}[point]))
    censored = values > given_up * truth
    groups = Groups([""] * runs, np.repeat(np.arange(runs), n))
    seen = np.minimum(values, given_up * truth).ravel()
    estimates = [row[0] for row in groups.quantiles(seen, [point], censored.ravel())]
    held = [each.low <= truth and (each.high is None or truth <= each.high) for each in estimates]
    # With an upper end that is open where it is not known, never less often than without timeouts.
    assert np.mean(held) >= 0.925
    whole = np.quantile(values, point, axis=1)
    assert all(each.value <= true + 1e-9 for each, true in zip(estimates, whole, strict=True))
    exact = [each for each in estimates if not each.at_least]
    assert [each.value for each in exact] == pytest.approx(
        [true for each, true in zip(estimates, whole, strict=True) if not each.at_least]
    )


# ---- first token, cases, attempts


def test_the_time_to_the_first_token_of_a_call_that_timed_out_before_it_is_a_lower_bound():
    made = [answered(f"a{i}", 1.0, first_token=0.2) for i in range(18)]
    stalled = [timed_out("late", first_token=0.2), *(timed_out(f"t{i}") for i in range(3))]
    overall = summary_of([*made, *stalled]).overall
    # By hand: 19 of 22 had their first token after 0.2 s, three had none after 5 s; p95 lies at place 19.95 of 0..21.
    assert (overall["first_token.p95"].value, overall["first_token.p95"].at_least) == (WAITED, True)
    assert (overall["first_token.p50"].value, overall["first_token.p50"].at_least) == (0.2, False)
    assert overall["first_token.p95"].n == 22


def test_slow_cases_and_slices_count_their_timeouts():
    made = [answered("quick", 0.1, repeat=i, category="x") for i in range(4)]
    made += [answered("slow", 1.0, category="y"), *(timed_out("slow", repeat=i, category="y") for i in (1, 2))]
    summary = summary_of(made)
    spreads = {cell.case_id: cell.spread for cell in summary.latency.cells}
    assert spreads["slow"].tail == ("max", WAITED)
    assert isinstance(spreads["slow"]["p50"], AtLeast)
    assert spreads["slow"]["at_least"] == ["p50", "mean", "max"]
    assert "at_least" not in spreads["quick"]
    by_category = {part.name: part["latency.p50"] for part in summary.slices["category"]}
    assert (by_category["y"].at_least, by_category["x"].at_least) == (True, False)


class Clock:
    """A clock that only calls move."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now

    time = perf_counter


async def no_rest(_self, _seconds):
    return None


@pytest.mark.parametrize(
    ("attempts", "took", "first", "tries"),
    [
        ([0.2], 0.2, None, 1),
        ([("timeout", 5.0), 0.2], 5.2, "timeout", 2),
        ([("http_500", 0.1), ("timeout", 5.0), 0.2], 5.3, "http_500", 3),
        ([("timeout", 5.0)] * 3, 15.0, "timeout", 3),
    ],
)
async def test_a_timeout_that_a_retry_hides_is_in_the_latency_of_the_call(monkeypatch, attempts, took, first, tries):
    clock, left = Clock(), iter(attempts)
    monkeypatch.setattr(calls, "time", clock)
    monkeypatch.setattr(Pace, "back_off", no_rest)

    async def send():
        step = next(left)
        kind, seconds = step if isinstance(step, tuple) else ("", step)
        clock.now += seconds
        if kind:
            raise TargetFailure(kind, "no answer")
        return Response(text="fine", first_token=0.05)

    result = await RetryPolicy(Limits(retries=2), Pace(1)).perform(send)
    assert result.latency == pytest.approx(took)
    assert (result.first_failure, result.tries) == (first, tries)
    if result.failure is None:
        assert result.first_token == pytest.approx(took - 0.2 + 0.05)


class Outage:
    """A breaker that takes every failure for an outage which has just ended."""

    there_at = float("-inf")

    async def settle(self, _call, _failure):
        return Ruling.AGAIN

    def answered(self, *_):
        """Nothing to note."""


async def test_a_timeout_that_is_taken_for_an_outage_is_in_the_latency_of_the_call(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(calls, "time", clock)
    steps = iter([5.0, 0.2])

    async def send():
        clock.now += (took := next(steps))
        if took > 1:
            raise TargetFailure("timeout", "no answer")
        return Response(text="fine")

    policy = RetryPolicy(Limits(retries=0), Pace(1))
    policy.watched_by(Outage())
    result = await policy.perform(send)
    assert (result.latency, result.first_failure, result.tries) == (pytest.approx(5.2), "timeout", 2)


def written(kind):
    """The report of the last run, written to a file."""
    invoke("report", "LAST", kind, "report")
    return " ".join(Path("report").read_text(encoding="utf-8").split())


FAILING = """
import itertools
from steelyard.errors import TargetFailure
calls = itertools.count()
def answer(case):
    if next(calls) % 2 == 0:
        raise TargetFailure("http_500", "answered 500")
    return {'word': 'word %d' % case.input['number']}
"""


def test_failed_calls_that_were_not_made_again_are_missing_and_no_second_warning(tmp_path, monkeypatch):
    path = write_suite(tmp_path / "words", n=6, gates=["pass_rate >= 90 %"])
    (tmp_path / "words" / "system.py").write_text(FAILING)
    monkeypatch.chdir(tmp_path)
    told = " ".join(invoke("run", path, "--concurrency", 1, "--retries", 0, "--max-inconclusive", 0.9, code=4).split())
    sentence = "6 attempts for 6 calls; 3 first attempts failed (http_500 3)"
    assert told.count(sentence) == 1
    assert f"! {sentence}" not in told


def test_every_report_says_that_every_second_call_fails_although_retries_answer_all(tmp_path, monkeypatch):
    write_suite(tmp_path / "words", n=6, gates=["pass_rate >= 90 %", "first_attempt_failure_rate <= 10 %"])
    (tmp_path / "words" / "system.py").write_text(FAILING)
    monkeypatch.chdir(tmp_path)
    told = " ".join(invoke("run", "words", "--concurrency", 1, code=1).split())
    sentence = "12 attempts for 6 calls; 6 first attempts failed (http_500 6)"
    assert f"! {sentence}" in told
    assert told.count(sentence) == 1
    assert "100.0 % is not <= 10.0 %" in told
    for report in ("--full", "--json"):
        assert sentence in " ".join(invoke("report", "LAST", report).split()), report
    for report in ("--markdown", "--html", "--junit"):
        assert sentence.partition(" (")[0] in written(report), report
    data = json.loads(invoke("report", "LAST", "--json"))
    kinds = {name: item["value"] for name, item in data["figures"].items() if name.startswith("first_failures.")}
    assert kinds == {"first_failures.http_500": 6}
    assert data["figures"]["attempts.total"]["value"] == 12


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A suite of 40 recorded answers, four of which timed out after 5 s."""
    folder = tmp_path / "words"
    target = {"recorded": {"file": "answers.jsonl"}}
    gates = ["latency.p95 <= 500 ms", "latency.p50 <= 500 ms"]
    write_suite(folder, n=40, target=target, gates=gates, limits={"max_inconclusive": 0.2})
    records = [{"case": f"c{i}", "failed": {"kind": "timeout"}, "latency": WAITED} for i in range(4)]
    records += [{"case": f"c{i}", "answer": {"word": f"word {i}"}, "latency": 0.295} for i in range(4, 40)]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, records)))
    monkeypatch.chdir(tmp_path)


def test_every_report_shows_the_bound(recorded):
    told = " ".join(invoke("run", "words", code=1).split())
    assert "≥ 5.00 s is not <= 500 ms" in told
    assert "Latency p95 ≥ 5.00 s" in told
    for shown in (invoke("report", "LAST", "--full"), written("--markdown"), written("--html")):
        assert "≥ 5.00 s" in shown.partition("Slowest")[2]
        assert "≥ 5.00 s is not" in " ".join(shown.split())
    data = json.loads(invoke("report", "LAST", "--json"))
    p95 = data["figures"]["latency.p95"]
    assert (p95["value"], p95["at_least"], p95["n"]) == (WAITED, True, 40)
    bounds = [
        name for name in ("p50", "p95", "p99", "mean", "min", "max") if data["figures"][f"latency.{name}"]["at_least"]
    ]
    assert bounds == ["p95", "mean", "max"]
    assert data["figures"]["latency.timeouts"]["value"] == 4
    # Recorded answers were requested by somebody else.
    assert not [name for name in data["figures"] if name.startswith("first_failures.")]
    assert "attempts for" not in told
    invoke("rescore", "LAST", code=1)
    assert "≥ 5.00 s is not <= 500 ms" in " ".join(invoke("report", "LAST").split())


# ---- comparisons, health


def latency_change(before, after, name="latency.p95"):
    result = compare(compared(before), compared(after, id="made-2"))
    return next(change for change in result.metrics if change.name == name)


def test_a_comparison_counts_timeouts_of_either_side():
    """Every tenth call of B times out; those that are answered are faster than before."""
    change = latency_change(
        [answered(f"c{i:03d}", 0.5) for i in range(40)],
        [timed_out(f"c{i:03d}") if i % 10 == 0 else answered(f"c{i:03d}", 0.1) for i in range(40)],
    )
    assert (change.a.value, change.b.value, change.b.at_least, change.b.n) == (0.5, WAITED, True, 40)
    mean = latency_change(
        [answered(f"c{i:03d}", 0.5) for i in range(40)],
        [timed_out(f"c{i:03d}") if i % 10 == 0 else answered(f"c{i:03d}", 0.1) for i in range(40)],
        "latency.mean",
    )
    assert (mean.b.value, mean.b.at_least) == (pytest.approx(0.59), True)
    assert mean.verdict not in (Moved.BETTER, Moved.SAME)


def test_two_runs_that_both_time_out_are_not_the_same():
    both = [timed_out(f"c{i:03d}") for i in range(25)]
    made = [answered(f"d{i:03d}", 0.5) for i in range(25)]
    assert latency_change([*made, *both], [*made, *both]).verdict is not Moved.SAME


def test_a_median_that_timeouts_reach_into_is_not_called_too_fast():
    health = Health()
    health._answers = 10
    assert health._too_fast(0.01, [1.0]) is not None
    assert health._too_fast(AtLeast(0.01), [1.0]) is None
