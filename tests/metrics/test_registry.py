"""Adding a metric is one registration: it is then in reports, gates, comparisons and explanations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import geometric_mean

import numpy as np
import pytest

from parts.command import invoke
from parts.described import summarise_stored
from parts.judged_store import put_judged
from parts.mixed_run import put_mixed
from parts.rich_run import put_rich
from steelyard.comparing.compare import compare
from steelyard.decide.gates import evaluate, evaluate_gates
from steelyard.metrics.expression_checks import check_judge_threshold
from steelyard.metrics.expressions import parse_judge_threshold
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.reference import table, written
from steelyard.metrics.registry import (
    Compared,
    Contributions,
    Metric,
    find,
    metrics,
    register,
    unregister,
)
from steelyard.metrics.samples import latency_quantile
from steelyard.pairing.runs import read_run
from steelyard.records import Verdict
from steelyard.store.sql import open_store
from steelyard.suite.models import SuiteModel

TIMES = ("Calls", "First byte", "Sent late by")
PAGE = Path(__file__).parents[2] / "docs/reference/metrics.md"


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    for seed in (1, 2):
        put_mixed(opened, f"mixed-{seed}", seed)
    yield opened
    opened.close()


def run_as_written(name):
    """A file that docs/extending.md shows, run as it is written there."""
    page = (PAGE.parents[1] / "extending.md").read_text(encoding="utf-8")
    (code,) = re.findall(rf"```python test={name}\n(.*?)```", page, re.S)
    exec(code, {})


@pytest.fixture
def pace():
    run_as_written("pace")
    yield
    unregister("pace")


@pytest.fixture
def registered(request):
    register(request.param)
    yield request.param
    unregister(request.param.name)


def everywhere(store, path, metric):
    """The metric's figure in a report, a gate, a comparison and an explanation."""
    report = json.loads(invoke("report", "mixed-1", "--json", "--store", path))["figures"]
    (explained,) = json.loads(invoke("report", "mixed-1", "--explain", metric, "--json", "--store", path))["explained"]
    (gate,) = evaluate([f"{metric} >= 0.001"], summarise_stored(store, "mixed-1", store.run("mixed-1").suite))
    change = [each for each in compare(*(read_run(store, f"mixed-{i}") for i in (1, 2))).metrics if each.name == metric]
    return report, explained, gate, change


@pytest.mark.parametrize("registered", [latency_quantile(90, compared=Compared.PAIRS)], indirect=True)
def test_a_percentile_is_added_in_one_place(store, tmp_path, registered):
    report, explained, gate, change = everywhere(store, tmp_path / "runs.db", "latency.p90")
    times = [
        sample.call_result.latency
        for sample, _ in store.samples("mixed-1")
        if not sample.call_result.cached
        and (
            sample.call_result.latency > 0
            if (failure := sample.call_result.failure) is None
            else failure.kind == "timeout"
        )
        and (sample.outcome.value != "target_failed" or failure is not None)
    ]
    assert report["latency.p90"]["value"] == pytest.approx(np.quantile(times, 0.9))
    assert explained["figure"]["value"] == report["latency.p90"]["value"]
    assert explained["n_contributing"] == len(times)
    assert (gate.metric, gate.verdict) == ("latency.p90", Verdict.PASS)
    assert change[0].better_when == "lower"


@pytest.mark.parametrize("registered", [latency_quantile(90, compared=Compared.PAIRS)], indirect=True)
def test_a_percentile_that_is_added_is_in_every_table_of_times(tmp_path, registered):
    opened = open_store(str(tmp_path / "rich.db"))
    put_rich(opened)
    opened.close()
    rows = invoke("report", "rich-1", "--full", "--store", tmp_path / "rich.db").splitlines()
    # A long row goes on in the next line.
    at = {name: next(i for i, row in enumerate(rows) if row.strip().startswith(name)) for name in TIMES}
    assert all("p90" in rows[i] + rows[i + 1] for i in at.values())
    found = json.loads(invoke("report", "rich-1", "--json", "--store", tmp_path / "rich.db"))
    assert {"latency.p90", "latency.first_byte.p90", "latency.queued.p90"} <= found["figures"].keys()
    assert all("p90" in cell["spread"] for cell in found["latency"]["cells"])
    histogram = next(each for each in found["charts"] if each["name"] == "latency_histogram")
    assert "p90" in json.dumps(histogram)


@pytest.mark.usefixtures("pace")
def test_a_metric_is_the_function_and_registration_that_the_docs_show(store, tmp_path):
    report, explained, gate, change = everywhere(store, tmp_path / "runs.db", "pace")
    calls = [sample for sample, _ in store.samples("mixed-1")]
    known = [
        (each.call_result.tokens_out, each.call_result.latency)
        for each in calls
        if each.outcome.value != "target_failed"
        and each.call_result.failure is None
        and not each.call_result.cached
        and each.call_result.latency > 0
        and each.call_result.tokens_out is not None
    ]
    expected = sum(tokens for tokens, _ in known) / sum(seconds for _, seconds in known)
    assert report["pace"]["value"] == pytest.approx(expected)
    assert explained["n_contributing"] == len(known) == report["pace"]["n"]
    assert explained["excluded"][0]["why"] == "no time, or no tokens, were reported"
    assert (gate.metric, gate.verdict) == ("pace", Verdict.PASS)
    assert change[0].a.value is not None


@pytest.fixture
def geometric():
    run_as_written("geometric")
    yield
    unregister("typical_time")


@pytest.fixture
def long_reasons():
    metrics(["judge"])
    run_as_written("long_reasons")
    yield
    unregister("judge.long_reasons")


@pytest.mark.usefixtures("geometric")
def test_a_metric_with_an_aggregate_of_a_new_kind_is_the_one_file_that_the_docs_show(store, tmp_path):
    report, explained, gate, change = everywhere(store, tmp_path / "runs.db", "typical_time")
    times = {
        (each.case_id, each.variant, each.repeat): each.call_result.latency
        for each, _ in store.samples("mixed-1")
        if each.outcome.value != "target_failed"
        and each.call_result.failure is None
        and not each.call_result.cached
        and each.call_result.latency > 0
    }
    assert report["typical_time"]["value"] == pytest.approx(geometric_mean(times.values()))
    assert report["typical_time"]["n"] == len(times)
    assert explained["interval"].startswith("none")
    # One of the times that are missing may be 0, and with it the whole product.
    assert (gate.metric, gate.verdict) == ("typical_time", Verdict.AMBIGUOUS)
    assert change[0].difference.value == pytest.approx(change[0].b.value - change[0].a.value)
    assert change[0].p is None


@pytest.mark.usefixtures("long_reasons")
def test_a_metric_of_a_judge_is_the_one_file_that_the_docs_show(tmp_path):
    opened = open_store(str(tmp_path / "judged.db"))
    header = put_judged(opened)
    votes = [vote for sample, _ in opened.samples(header.id) for vote in sample.judgement.votes]
    given = [len(" ".join(vote.response["weaknesses"]).split()) for vote in votes if vote.mode == "model"]
    share = pytest.approx(sum(n > 30 for n in given) / len(given))
    summary = summarise_stored(opened, header.id, header.suite)
    assert (summary.overall["judge.long_reasons"].value, summary.overall["judge.long_reasons"].n) == (share, len(given))
    # A threshold on the judge, and a gate of the suite.
    (limit,) = evaluate_gates([parse_judge_threshold("long_reasons <= 5 %")], summary)
    (gate,) = evaluate(["judge.long_reasons <= 5 %"], summary)
    assert (limit.verdict, gate.verdict) == (Verdict.FAIL, Verdict.FAIL)
    judge = SuiteModel.from_data(header.suite).judge
    silent = judge.model_copy(update={"reasons": None})
    assert check_judge_threshold(parse_judge_threshold("long_reasons <= 5 %"), judge) is None
    assert "no number of reasons" in check_judge_threshold(parse_judge_threshold("long_reasons <= 5 %"), silent)
    opened.close()
    path = tmp_path / "judged.db"
    report = json.loads(invoke("report", header.id, "--json", "--store", path))
    assert report["figures"]["judge.long_reasons"]["value"] == share
    told = invoke("report", header.id, "--explain", "judge.long_reasons", "--json", "--store", path)
    (explained,) = json.loads(told)["explained"]
    assert (explained["n_contributing"], explained["figure"]["value"]) == (len(given), share)
    assert "| `judge.long_reasons` | votes with long reasons | share | lower |" in table()


def test_a_name_is_found_by_its_parts_and_a_literal_one_wins():
    assert find(["score", "name", "average"])[0].name == "score.<component>.average"
    assert find(["score", "name", "recall"]) == (
        find(["score", "x", "y"])[0],
        {"<component>": "name", "<measure>": "recall"},
    )
    assert find(["findings", "total"])[0].name == "findings.total"
    assert find(["excellence"]) is None


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="there is a metric 'average' already"):
        register(
            Metric("average", "score", "", "", "", Aggregate.MEAN, lambda data, _: Contributions(data.table.score()))
        )


def test_the_reference_page_is_what_the_registry_says():
    text = PAGE.read_text(encoding="utf-8")
    assert written(text) == text, "run: python -m steelyard.metrics.reference docs/reference/metrics.md"
    assert written(text.replace("| `latency.p95` |", "| gone |")) == text
