"""Every figure that a gate may stand on can be traced to its samples, and is what they come to."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from parts.command import invoke
from parts.judged_store import put_judged
from parts.mixed_run import MISSING, SUITE, put_labels, put_mixed
from parts.recomputed import differing
from parts.rich_run import put_rich
from steelyard.analysis.stored import summary_of
from steelyard.errors import UsageError
from steelyard.metrics.registry import FAMILIES, metrics
from steelyard.report.explain import data_of, explain_report
from steelyard.report.explanations import print_names
from steelyard.store.sql import open_store


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("explained") / "runs.db"
    store = open_store(str(path))
    header = put_mixed(store, "mixed-1", 1)
    put_labels(store, header)
    put_mixed(store, "mixed-2", 2)
    yield store, header, path
    store.close()


def test_every_figure_of_a_run_and_of_its_slices_is_what_its_rows_come_to(stored):
    store, header, _ = stored
    wrong, n = differing(data_of(store, header), summary_of(store, header), metrics(FAMILIES))
    assert wrong == []
    assert n > 2_500


@pytest.mark.parametrize("put", [put_rich, put_judged])
def test_every_figure_of_runs_with_everything_is_what_its_rows_come_to(tmp_path, put):
    store = open_store(str(tmp_path / "more.db"))
    header = put(store)
    wrong, n = differing(data_of(store, header), summary_of(store, header), metrics(FAMILIES))
    assert wrong == []
    assert n > 100
    store.close()


@pytest.mark.parametrize("seed", range(3, 6))
def test_they_agree_for_other_samples_too_and_without_a_judge(tmp_path, seed):
    store = open_store(str(tmp_path / "more.db"))
    header = put_mixed(store, f"more-{seed}", seed, judge=None, n_planned=SUITE["n_planned"] - MISSING)
    assert differing(data_of(store, header), summary_of(store, header), metrics())[0] == []
    store.close()


def test_more_repeats_in_a_row_than_there_are_have_nothing_behind_them(stored):
    store, header, _ = stored
    (found,) = explain_report(store, header, "pass_all.9")
    assert found.figure.value is None
    assert found.contributing == ()


def test_what_is_left_out_and_what_is_in_it_are_all_samples(stored):
    store, header, _ = stored
    metrics = ("average", "pass_rate", "latency.p95", "score.tone.points", "cost.total", "findings.total")
    for found in explain_report(store, header, *metrics):
        assert len(found.contributing) + sum(each.count for each in found.excluded) == SUITE["n_planned"]
        assert len(found.contributing) == found.figure.n


def test_every_reason_is_named_with_how_many(stored):
    store, header, _ = stored
    samples = [sample for sample, _ in store.samples(header.id)]
    (found,) = explain_report(store, header, "average")
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
        (found,) = explain_report(store, header, metric)
        return [each.value for each in found.contributing]

    assert values("average") == sorted(values("average"))
    assert values("latency.max") == sorted(values("latency.max"), reverse=True)
    assert values("findings.total")[0] == 3.0
    assert values("malformed_rate")[0] == 1.0
    assert values("score.harm.rate")[0] > 0 > values("score.items.recall")[0]


def test_the_command_prints_formula_inputs_reasons_and_samples(stored):
    _, _, path = stored
    said = " ".join(invoke("report", "mixed-1", "--explain", "category.chairs.average", "--store", path).split())
    assert "category.chairs.average = " in said
    for words in ("sum of scores / n", "a malformed answer counts as 0", "Left out", "lowest first"):
        assert words in said
    assert "are not listed: --limit N lists more, --json all" in said


def test_an_interval_that_is_undefined_says_how_it_would_be_made(stored):
    store, header, _ = stored
    (found,) = explain_report(store, header, "pass_all.9")
    assert found.interval.startswith("undefined for so few; otherwise Wilson's")


def test_names_are_listed_within_the_terminal_and_on_one_line_each_in_a_pipe():
    names = [("average", "mean score; a malformed answer counts as 0"), ("p", "short")]
    said = {}
    for width in (40, None):
        out = io.StringIO()
        print_names(names, Console(file=out, width=40, force_terminal=bool(width), color_system=None), title="Figures")
        said[width] = out.getvalue().splitlines()[1:]
    assert said[40] == ["average  mean score; a malformed answer", "         counts as 0", "p        short"]
    assert said[None] == ["average  mean score; a malformed answer counts as 0", "p        short"]


def test_json_gives_all_samples_and_limit_as_many_as_asked_for(stored):
    _, _, path = stored
    asked = ("report", "mixed-1", "--explain", "pass_rate", "--store", path, "--json")
    (whole,) = json.loads(invoke(*asked))["explained"]
    assert len(whole["contributing"]) == whole["n_contributing"] == whole["figure"]["n"]
    assert whole["inputs"]["n"] == whole["figure"]["n"]
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
        explain_report(store, header, asked)
    assert message in str(error.value)
    assert asked in str(error.value)
    assert "gate" not in str(error.value)


def test_a_whole_gate_may_be_asked_for(stored):
    store, header, _ = stored
    (found,) = explain_report(store, header, "latency.p95 <= 500 ms")
    assert found.metric == "latency.p95"
    assert found.contributing


def test_a_run_without_samples_has_nothing_behind_its_figures(tmp_path):
    store = open_store(str(tmp_path / "empty.db"))
    header = put_mixed(store, "empty-1", 1)
    empty = replace(header, id="empty-2", suite=SUITE | {"n_planned": 5}, created_at=2.0)
    store.create_run(replace(empty))
    (found,) = explain_report(store, empty, "average")
    assert found.figure.value is None
    assert found.contributing == ()
    assert [(each.why, each.count) for each in found.excluded] == [("planned and missing", 5)]
    store.close()


def test_options_that_do_nothing_are_refused(stored):
    _, _, path = stored
    assert "--explain METRIC" in invoke("report", "mixed-1", "--limit", 3, "--store", path, code=2)
    assert "do not go together" in invoke(
        "report", "mixed-1", "--explain", "average", "--markdown", "x.md", "--store", path, code=2
    )
