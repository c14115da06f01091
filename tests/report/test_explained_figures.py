"""Every figure that a gate may stand on can be traced to its samples, and is what they come to."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from parts.command import invoke
from parts.mixed_run import MISSING, SUITE, put_labels, put_mixed
from steelyard.analysis.explain import Computed
from steelyard.cli.attribution_options import ExplainOptions
from steelyard.errors import UsageError
from steelyard.metrics.registry import metrics
from steelyard.report.explain import data_of, explain_metrics
from steelyard.stats.intervals import Estimate
from steelyard.store.sql import open_store

FILLED = {
    "band.<band>": ["band.Good", "band.Fair", "band.Poor"],
    "score.<component>.average": ["score.name.average", "score.tone.average"],
    "score.<component>.points": ["score.name.points", "score.tone.points"],
    "score.<component>.<measure>": [
        "score.items.recall",
        "score.items.precision",
        "score.items.both",
        "score.harm.rate",
    ],
    "score.<component>.<measure>.readable": ["score.items.recall.readable", "score.items.both.readable"],
    "findings.<code>": ["findings.NAME", "findings.FORMAT", "findings.HARM"],
    "findings.<code>.rate": ["findings.TONE.rate"],
    "findings.<code>.samples": ["findings.NAME.samples"],
    "check.<check>.passed": ["check.count.passed", "check.colour.passed", "check.opening.passed"],
    "pass_all.<k>": ["pass_all.1", "pass_all.2", "pass_all.4", "pass_all.9"],
    "checks.pass_all.<k>": ["checks.pass_all.1", "checks.pass_all.4"],
    "stability.<field>": ["stability.kind", "stability.where"],
}
WHOLE = [name for pattern in metrics() for name in FILLED.get(pattern, [pattern])]
SLICES = ("category.*", "difficulty.hard", "variant.plain", "tag.*", "category.(none)")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("explained") / "runs.db"
    store = open_store(str(path))
    header = put_mixed(store, "mixed-1", 1)
    put_labels(store, header)
    put_mixed(store, "mixed-2", 2)
    yield store, header, path
    store.close()


def explain_run(store, header, *asked):
    return explain_metrics(store, header, data_of(store, header), *asked)


def disagreeing(store, header, metrics):
    """The figures that are not what their samples come to, and how many were looked at."""
    found = explain_run(store, header, *metrics)
    return [(each.metric, each.reported, each.computed) for each in found if not each.agrees], len(found)


def test_every_figure_of_a_run_is_what_its_samples_come_to(stored):
    store, header, _ = stored
    assert disagreeing(store, header, WHOLE) == ([], len(WHOLE))
    found = explain_run(store, header, *WHOLE)
    # More repeats in a row than there are is the only one that stands on nothing.
    assert [each.metric for each in found if each.reported.value is None] == ["pass_all.9"]


def test_every_figure_of_a_slice_is_what_its_samples_come_to(stored):
    store, header, _ = stored
    wrong, n = disagreeing(store, header, [f"{part}.{metric}" for part in SLICES for metric in WHOLE])
    # Categories are chairs, tables and (none), tags old and odd; the other parts are one slice each.
    assert (wrong, n) == ([], (3 + 1 + 1 + 2 + 1) * len(WHOLE))


@pytest.mark.parametrize("seed", range(3, 6))
def test_they_agree_for_other_samples_too_and_without_a_judge(tmp_path, seed):
    store = open_store(str(tmp_path / "more.db"))
    header = put_mixed(store, f"more-{seed}", seed, judge=None, n_planned=SUITE["n_planned"] - MISSING)
    assert disagreeing(store, header, WHOLE) == ([], len(WHOLE))
    store.close()


def test_what_is_left_out_and_what_is_in_it_are_all_samples(stored):
    store, header, _ = stored
    metrics = ("average", "pass_rate", "latency.p95", "score.tone.points", "cost.total", "findings.total")
    for found in explain_run(store, header, *metrics):
        assert len(found.contributing) + sum(each.count for each in found.excluded) == SUITE["n_planned"]
        assert len(found.contributing) == found.reported.n


def test_every_reason_is_named_with_how_many(stored):
    store, header, _ = stored
    samples = [sample for sample, _ in store.samples(header.id)]
    (found,) = explain_run(store, header, "average")
    told = {each.why: each.count for each in found.excluded}
    outcomes = [sample.outcome.value for sample in samples]
    assert told == {
        "the target failed: inconclusive": outcomes.count("target_failed"),
        "the judge failed: inconclusive": outcomes.count("judge_failed"),
        "excluded: judged by another kind of judge than the run's": sum(each.mode == "basic" for each in samples),
        "planned and missing": MISSING,
    }
    assert {each.why: each.count for each in found.noted} == {"malformed: counts as 0": outcomes.count("malformed")}


def test_what_counts_most_against_it_comes_first(stored):
    store, header, _ = stored

    def values(metric):
        (found,) = explain_run(store, header, metric)
        return [each.value for each in found.contributing]

    assert values("average") == sorted(values("average"))
    assert values("latency.max") == sorted(values("latency.max"), reverse=True)
    assert values("findings.total")[0] == 3.0
    assert values("malformed_rate")[0] == 1.0
    assert values("score.harm.rate")[0] > 0 > values("score.items.recall")[0]


@pytest.mark.parametrize(
    "reported", [Estimate(0.5, 4, 1), Estimate(0.5, 3, 2), Estimate(0.4, 3, 1), Estimate(None, 3, 1)]
)
def test_a_figure_with_another_n_is_another_figure(stored, capsys, reported):
    assert Computed(0.5, 3, 1).equals(Estimate(0.5, 3, 1))
    assert not Computed(0.5, 3, 1).equals(reported)
    store, header, _ = stored
    (found,) = explain_run(store, header, "average")
    ExplainOptions("average", None).show(["mixed-1"], [replace(found, reported=reported)], as_json=True)
    assert "average: the figure differs from what its samples give" in capsys.readouterr().err


def test_the_command_prints_formula_inputs_reasons_and_samples(stored):
    _, _, path = stored
    said = " ".join(invoke("report", "mixed-1", "--explain", "category.chairs.average", "--store", path).split())
    assert "category.chairs.average = " in said
    for words in ("sum of scores / n", "a malformed answer counts as 0", "the same", "Left out", "lowest first"):
        assert words in said
    assert "are not listed: --limit N lists more, --json all" in said


def test_json_gives_all_samples_and_limit_as_many_as_asked_for(stored):
    _, _, path = stored
    asked = ("report", "mixed-1", "--explain", "pass_rate", "--store", path, "--json")
    (whole,) = json.loads(invoke(*asked))["explained"]
    assert whole["agrees"]
    assert len(whole["contributing"]) == whole["n_contributing"] == whole["reported"]["n"]
    assert whole["computed"]["inputs"]["n"] == whole["reported"]["n"]
    (short,) = json.loads(invoke(*asked, "--limit", 3))["explained"]
    assert short["contributing"] == whole["contributing"][:3]
    assert short["n_contributing"] == whole["n_contributing"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("pass_rat", "did you mean pass_rate?"),
        ("score.tune.average", "did you mean tone?"),
        ("findings.FORMT.rate", "did you mean FORMAT?"),
        ("category.chair.average", "did you mean chairs?"),
        ("stability.wher", "did you mean where?"),
        ("check.colours.passed", "did you mean colour?"),
        ("category.chairs", "needs a slice and a metric: category.*.average"),
        ("excellence", "there are: pass_rate, average, "),
        (" ", "there are: pass_rate, average, "),
    ],
)
def test_a_metric_that_is_not_there_names_the_one_that_was_meant(stored, asked, message):
    store, header, _ = stored
    with pytest.raises(UsageError) as error:
        explain_run(store, header, asked)
    assert message in str(error.value)
    assert asked in str(error.value)
    assert "gate" not in str(error.value)


def test_a_whole_gate_may_be_asked_for(stored):
    store, header, _ = stored
    (found,) = explain_run(store, header, "latency.p95 <= 500 ms")
    assert found.metric == "latency.p95"
    assert found.agrees


def test_a_run_without_samples_has_nothing_behind_its_figures(tmp_path):
    store = open_store(str(tmp_path / "empty.db"))
    header = put_mixed(store, "empty-1", 1)
    empty = replace(header, id="empty-2", suite=SUITE | {"n_planned": 5}, created_at=2.0)
    store.create_run(replace(empty))
    (found,) = explain_run(store, empty, "average")
    assert found.agrees
    assert found.reported.value is None
    assert found.contributing == ()
    assert [(each.why, each.count) for each in found.excluded] == [("planned and missing", 5)]
    store.close()


def test_options_that_do_nothing_are_refused(stored):
    _, _, path = stored
    assert "--explain METRIC" in invoke("report", "mixed-1", "--limit", 3, "--store", path, code=2)
    assert "do not go together" in invoke(
        "report", "mixed-1", "--explain", "average", "--markdown", "x.md", "--store", path, code=2
    )
