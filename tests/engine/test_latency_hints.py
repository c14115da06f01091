"""Runs that are too fast or too slow for the suite are suspect; what was never asked is not."""

import json
from dataclasses import replace

import pytest
import yaml

from parts import running as run
from parts.chart_figures import times_in
from parts.loopback import Loopback, error, json_answer, slow
from parts.small_suite import write_suite
from parts.views import to_json
from steelyard.analysis.latency import bottleneck
from steelyard.analysis.stored import summary_of
from steelyard.analysis.summary_from_store import summarise_stored
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.records import Load, ScoringTime, TargetFacts, Verdict
from steelyard.report.build import build_report
from steelyard.report.repeats import latency

ANSWER = json_answer({"items": ["x"]})
DELAY = 0.15
TOO_FAST = "median latency {} of {} answered calls is below 100 ms: looks short-circuited or cached"


@pytest.fixture
def service():
    with Loopback() as running:
        running.on("/fast", ANSWER).on("/slow", slow(DELAY, ANSWER)).on("/refused", error(422, "NO_TEXT"))
        yield running


@pytest.fixture
def evaluated(service, store, tmp_path):
    def evaluate(paths, latency, options=None, **more):
        http = {"url": service.base_url + "/{{ input.path }}", "expect_errors": {"status": 422}}
        cases = [
            {"id": f"c{at}", "input": {"path": path}, "expected": {"code": "NO_TEXT" if path == "refused" else None}}
            for at, path in enumerate(paths)
        ]
        data = {
            "suite": "timed",
            "cases": cases,
            "target": {"http": http},
            "answer": {"format": "json"},
            "expect": {
                "some": {"count": "items[]", "between": [1, None], "unless": "expected.code"},
                "refused": {"status": 422, "body_has": "expected.code", "only_if": "expected.code"},
            },
            "latency": latency,
            "gates": ["cases.passed >= 100 %"],
            **more,
        }
        (tmp_path / "suite.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
        return run.run(load_suite(tmp_path / "suite.yaml"), store, options)[0]

    return evaluate


def test_a_run_that_looks_short_circuited_does_not_pass(evaluated, store):
    header = evaluated(["fast"] * 3, {"below": "100 ms"})
    summary = summary_of(store, header)
    median = summary.overall["latency.p50"].value
    assert header.suspect == (TOO_FAST.format(f"{float(f'{1000 * median:.3g}'):g} ms", 3),)
    assert header.verdict is Verdict.AMBIGUOUS
    assert summary.latency.load == "8 at a time"


def test_a_run_that_looks_like_a_queue_does_not_pass(evaluated):
    header = evaluated(["slow"] * 2, {"above": "100 ms"})
    (told,) = header.suspect
    assert told.endswith("of 2 answered calls is above 100 ms: looks like loading or a queue")
    assert header.verdict is Verdict.AMBIGUOUS


def test_every_call_above_the_limit_is_named_although_the_median_is_not(evaluated, store):
    header = evaluated(["slow", "fast", "fast"], {"above": "100 ms"})
    assert (header.suspect, header.verdict) == ((), Verdict.PASS)
    told = summary_of(store, header).latency.slow
    assert told.startswith("1 of 3 answered calls took over 100 ms, which looks like loading or a queue: c0 1")
    assert told in build_report(store, header).decision.reasons


def test_errors_that_cases_ask_for_do_not_make_a_run_suspect(evaluated, store):
    header = evaluated(["refused", "refused", "refused", "slow"], {"below": "100 ms"})
    assert (header.suspect, header.verdict) == ((), Verdict.PASS)
    times = times_in(summary_of(store, header).overall)
    assert times["n"] == 4
    assert times["p50"] < DELAY


def test_without_rules_a_fast_run_passes(evaluated):
    header = evaluated(["fast"], None)
    assert (header.suspect, header.verdict) == ((), Verdict.PASS)


def test_answers_from_the_cache_have_no_latency(evaluated, store):
    first = evaluated(["fast"] * 3, {"below": "100 ms"}, RunOptions(cache=True))
    assert first.suspect
    again = evaluated(["fast"] * 3, {"below": "100 ms"}, RunOptions(cache=True))
    assert (again.suspect, summary_of(store, again).latency, again.verdict) == ((), None, Verdict.PASS)


def test_recorded_answers_without_a_time_have_no_latency(evaluated, store, tmp_path):
    lines = [{"case": "c0", "answer": {"items": [1]}}, {"case": "c1", "answer": {"items": [1]}, "latency": 2.0}]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    header = evaluated(["fast"] * 2, {"below": "100 ms"}, target={"recorded": "answers.jsonl"})
    summary = summary_of(store, header)
    times = times_in(summary.overall)
    assert (times["n"], times["mean"], summary.latency.load) == (1, 2.0, "")
    assert header.suspect == ()


def test_a_client_that_cannot_keep_up_is_named_as_the_bottleneck(store, tmp_path):
    path = write_suite(tmp_path / "s", n=12)
    (path.parent / "system.py").write_text(
        "import time\n\nasync def answer(case):\n    time.sleep(0.03)\n"
        "    return {'word': 'word %d' % case.input['number']}\n"
    )
    header, _ = run.run(load_suite(path), store)
    report = build_report(store, header)
    (told,) = [words for label, words in latency(report) if label == "Client"]
    assert told.startswith("the client was the bottleneck: its event loop was ")
    assert to_json(report)["latency"]["bottleneck"] == told


def test_recorded_answers_say_nothing_about_the_client(store, evaluated, tmp_path):
    lines = [{"case": f"c{n}", "answer": {"items": [1]}, "latency": 0.01} for n in range(2)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    header = evaluated(["fast"] * 2, {"below": "5 ms"}, target={"recorded": "answers.jsonl"})

    def client(**changes):
        # An event loop that was two seconds late while 10 ms were recorded.
        other = replace(header, options=replace(header.options, load=Load(8, loop_lag=2.0)), **changes)
        return summarise_stored(store, header.id, header.description, header=other).latency.bottleneck

    assert client() == ""
    assert client(target=TargetFacts({"kind": "http"}), rescored_from="earlier-1") == ""
    assert client(target=TargetFacts({"kind": "http"})).startswith("the client was the bottleneck")


@pytest.mark.parametrize(
    ("median", "lag", "named"),
    [(0.05, 0.006, True), (0.05, 0.004, False), (2.0, 0.1, False), (2.0, 0.3, True), (0.05, None, False)],
)
def test_a_lag_that_hardly_shows_in_the_median_is_no_bottleneck(median, lag, named):
    # From 5 ms and a tenth of the median on.
    assert bool(bottleneck(median, Load(8, loop_lag=lag))) is named


@pytest.mark.parametrize(
    ("mean", "share", "named"), [(0.4, 0.5, True), (0.4, 0.49, False), (0.005, 0.9, True), (0.0049, 0.9, False)]
)
def test_scoring_that_sets_the_pace_is_named(mean, share, named):
    # From 5 ms an answer and half of the time on.
    assert bottleneck(1.0, Load(8, scoring=ScoringTime(mean, share))).startswith("scoring was") is named
