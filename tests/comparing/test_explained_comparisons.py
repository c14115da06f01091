"""Every figure of a comparison that has a metric's name can be traced to its pairs, and is what they come to."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from statistics import fmean

import numpy as np
import pytest

from parts.command import invoke
from parts.mixed_run import SUITE, put_mixed
from steelyard.comparing.compare import compare
from steelyard.comparing.explain import explain_comparison
from steelyard.errors import UsageError
from steelyard.pairing.runs import read_run
from steelyard.store.sql import open_store


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    path = tmp_path_factory.mktemp("compared") / "runs.db"
    store = open_store(str(path))
    put_mixed(store, "mixed-1", 1)
    put_mixed(store, "mixed-2", 2)
    a, b = read_run(store, "mixed-1"), read_run(store, "mixed-2")
    # Read once, and not anew for each of some thirty figures.
    read = {run.header.id: list(run.samples()) for run in (a, b)}
    a, b = (replace(run, samples=partial(iter, read[run.header.id])) for run in (a, b))
    yield a, b, compare(a, b), path
    store.close()


def explained(compared, metric):
    a, b, comparison, _ = compared
    return explain_comparison(a, b, comparison, metric, allow_mismatch=False)


def of_rows(values, inputs):
    """What the rows of one side come to; of a ratio, whose rows are pulls, what stands in its formula."""
    ratios = [value for name, value in inputs.items() if name.startswith("ratio ")]
    if "denominator" in inputs:
        return inputs["numerator"] / inputs["denominator"]
    if ratios or "rank" not in inputs:
        return fmean(ratios or values)
    return np.quantile(values, (inputs["rank"] - 1) / max(1, len(values) - 1))


def agrees(found):
    """Both figures, and the difference where it is one of them, are what their pairs come to."""
    n, missing = len(found.contributing), sum(each.count for each in found.excluded if each.why.startswith("not known"))
    rows = [[getattr(row, side) for row in found.contributing] for side in ("a", "b")]
    values = [of_rows(side, dict(given)) for side, given in zip(rows, (found.inputs_a, found.inputs_b), strict=True)]
    for value, figure in zip(values, found.sides, strict=True):
        assert figure.value == pytest.approx(value, rel=1e-9, abs=1e-9), found.metric
        assert (figure.n, figure.n_missing) == (n, missing), found.metric
    if found.change.own is None and found.change.difference.value is not None:
        assert values[1] - values[0] == pytest.approx(found.change.difference.value, rel=1e-9, abs=1e-9), found.metric


def test_every_figure_of_a_comparison_is_what_its_pairs_come_to(compared):
    comparison = compared[2]
    names = [each.name for each in (*comparison.metrics, *(section.rate for section in comparison.sections))]
    assert {"pass_rate", "malformed_rate", "score.items.recall", "findings.total", "latency.p95", "cost"} <= {*names}
    assert {"cases.passed", "checks.passed", "stability.presence", "stability.where"} <= {*names}
    assert {"target_failed_rate", "judge_failed_rate", "count.items.twice", "section.", "section.v1.0"} <= {*names}
    for name in names:
        (found,) = explained(compared, name)
        agrees(found)
        assert len(found.contributing) == found.change.a.n


def test_every_figure_of_a_slice_of_pairs_is_what_they_come_to(compared):
    for factor in ("category", "difficulty", "variant", "tag"):
        for metric in ("pass_rate", "average", "score.tone.points"):
            found = explained(compared, f"{factor}.*.{metric}")
            assert len(found) == len(compared[2].slices[factor])
            for each in found:
                agrees(each)


def test_what_was_not_compared_is_named_with_how_many(compared):
    (found,) = explained(compared, "average")
    pairs = compared[2].pairs
    told = {each.why: each.count for each in found.excluded}
    assert told == {why.value: each.count for why, each in pairs.not_comparable.items()}
    assert sum(told.values()) + len(found.contributing) == SUITE["n_planned"] - 8
    # Of what failed every pair is asked about, with a reading or without.
    (failed,) = explained(compared, "target_failed_rate")
    assert failed.excluded == ()


def test_what_moved_most_against_the_system_comes_first(compared):
    (score,), (latency,) = explained(compared, "average"), explained(compared, "latency.mean")
    moved = [each.moved for each in score.contributing]
    assert moved == sorted(moved)
    assert moved[0] < 0
    moved = [each.moved for each in latency.contributing]
    assert moved == sorted(moved, reverse=True)
    assert moved[0] > 0


def test_what_pairs_bring_to_a_measure_adds_up_to_its_change(compared):
    (found,) = explained(compared, "score.items.recall")
    total = dict(found.inputs_b)["denominator"]
    assert sum(each.moved for each in found.contributing) / total == pytest.approx(found.change.difference.value)


def test_a_figure_that_the_comparison_lacks_is_reported_with_those_it_has(compared):
    with pytest.raises(UsageError, match=r"has no such figure.*it has: pass_rate, average"):
        explained(compared, "median")
    with pytest.raises(UsageError, match="did you mean average"):
        explained(compared, "averag")
    for nothing in ("", "excellence", "section.opening", "count.items.thrice"):
        with pytest.raises(UsageError, match=f"metric '{nothing}'.*: pass_rate, average, .*count.items.twice"):
            explained(compared, nothing)
    with pytest.raises(UsageError, match="no pair has category 'chair'; there are: "):
        explained(compared, "category.chair.average")


def test_the_command_prints_both_sides_and_ends_as_the_comparison_does(compared):
    *_, path = compared
    plain = invoke("compare", "mixed-1", "mixed-2", "--store", path, "--no-attribution", "--json", code=4)
    asked = ("compare", "mixed-1", "mixed-2", "--explain", "pass_rate", "--store", path)
    said = " ".join(invoke(*asked, code=4).split())
    for words in ("with A", "with B", "inconclusive in A", "what fell most first", "seed"):
        assert words in said
    (found,) = json.loads(invoke(*asked, "--json", code=4))["explained"]
    (metric,) = [each for each in json.loads(plain)["metrics"] if each["name"] == "pass_rate"]
    assert found["difference"]["value"] == metric["difference"]["value"]
    assert len(found["contributing"]) == found["n_contributing"] == found["a"]["n"]


def test_of_what_is_not_tested_the_command_says_why_once_and_names_no_method(compared):
    lines = invoke("compare", "mixed-1", "mixed-2", "--explain", "latency.p50", "--store", compared[3], code=4)
    facts = dict(line.strip().split("  ", 1) for line in lines.splitlines() if line.startswith("  p "))
    assert facts["p"].strip() == "n/a, one run a side: not tested"
    assert not any(line.startswith("  method") for line in lines.splitlines())


def test_findings_that_only_one_judge_could_name_are_in_neither_figure(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    put_mixed(store, "full-1", 1)
    put_mixed(store, "basic-1", 2, judge=SUITE["judge"] | {"mode": "basic"})
    a, b = read_run(store, "full-1"), read_run(store, "basic-1")
    comparison = compare(a, b)
    (found,) = explain_comparison(a, b, comparison, "findings.total", allow_mismatch=False)
    agrees(found)
    # Findings of no component are the judge's own: only answers in the wrong shape are left.
    assert {each.a for each in found.contributing} <= {0.0, 1.0}
    store.close()
