"""Figures by slice and name, and as a store keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from parts import stored
from parts.judged_store import put_judged
from parts.mixed_run import put_labels, put_mixed
from parts.rich_run import put_rich
from steelyard.analysis.model import Summary
from steelyard.analysis.stored import all_figures, figures_of, summary_of
from steelyard.analysis.summary_from_store import summarise_stored
from steelyard.decide.gates import evaluate
from steelyard.metrics.figures import WHOLE_RUN, Figures
from steelyard.metrics.kinds import NO_INTERVAL
from steelyard.metrics.registry import metric, register, unregister
from steelyard.metrics.run_figures import share_of_scale
from steelyard.metrics.samples import latency_quantile
from steelyard.records import Finding, RunHeader, RunState, Score, Verdict
from steelyard.report.build import build_report
from steelyard.report.document import Table, every_block
from steelyard.report.run import document
from steelyard.stats.intervals import Estimate, Possible
from steelyard.store.base import Store
from steelyard.store.figures import Figure, Kind, SliceKey
from steelyard.store.sql import open_store

LAMP = SliceKey("category", "lamp")


def figure(of: SliceKey, pattern: str, estimate: Estimate, *names: str) -> Figure:
    left = iter(names)
    name = ".".join(next(left) if step.startswith("<") else step for step in pattern.split("."))
    return Figure(of, name, Kind(pattern, names), estimate)


def test_a_figure_is_found_by_name_and_slice() -> None:
    whole, lamp = Estimate(0.5, 4), Estimate(1.0, 2, 1)
    rows = [figure(WHOLE_RUN, "average", whole), figure(LAMP, "average", lamp)]
    figures = Figures(rows, {WHOLE_RUN: 5, LAMP: 3})
    assert figures["average"] is figures[WHOLE_RUN, "average"] is whole
    assert figures["average", "category", "lamp"] is figures[LAMP, "average"] is lamp
    assert ("average" in figures, "median" in figures, "lamp" in figures) == (True, False, False)
    assert figures.get("median") is None
    with pytest.raises(KeyError, match="the run has no figure 'median'"):
        figures["median"]
    with pytest.raises(KeyError, match=r"the slice category\.chair has no figure 'average'"):
        figures["average", "category", "chair"]
    assert figures.slice("category", "lamp")["median"] == Estimate(None, 0, 3)
    assert figures.slice("category", "other")["median"] == Estimate(None, 0, 0)
    assert dict(figures.items()) == {(WHOLE_RUN, "average"): whole, (LAMP, "average"): lamp}
    assert [part.key for part in figures.slices("category")] == [LAMP]
    assert (figures.factors, figures.names(), len(figures)) == (["", "category"], ["average"], 2)
    assert list(figures.rows()) == rows
    assert (LAMP.text, WHOLE_RUN.text) == ("category.lamp", "")


def test_a_row_may_say_how_many_samples_were_planned() -> None:
    figures = Figures([figure(LAMP, "outcomes.planned", Estimate(7.0, 7))])
    assert figures.slice("category", "lamp")["average"] == Estimate(None, 0, 7)


def test_figures_of_one_metric_are_found_by_what_fills_its_name() -> None:
    found = {"a.b": Estimate(3.0, 4), "plain": Estimate(0.0, 4)}
    rows = [figure(WHOLE_RUN, "findings.<code>", item, code) for code, item in found.items()]
    rate, recall = Estimate(0.5, 4), Estimate(0.9, 4)
    rows += [figure(WHOLE_RUN, "findings.<code>.rate", rate, "a.b")]
    rows += [figure(WHOLE_RUN, "score.<component>.<measure>", recall, "items", "recall")]
    whole = Figures(rows).slice()
    assert whole.each("findings.<code>") == found
    assert whole.counts("findings.<code>") == {"a.b": 3}
    assert whole.each("findings.<code>.rate") == {"a.b": rate}
    assert whole.each("score.<component>.<measure>", "items") == {"recall": recall}
    assert whole.each("score.<component>.<measure>", "other") == {}
    assert (whole.count("findings.a.b"), whole.count("findings.none")) == (3, 0)


def test_what_another_kind_of_judge_scored_is_not_among_the_conclusive() -> None:
    ended = {"scored": 5.0, "malformed": 1.0, "target_failed": 3.0, "judge_failed": 4.0}
    rows = [figure(WHOLE_RUN, "outcomes.<outcome>", Estimate(n, 13), name) for name, n in ended.items()]
    rows.append(figure(WHOLE_RUN, "outcomes.excluded", Estimate(2.0, 13)))
    whole = Figures(rows).slice()
    # 5 + 1 - 2, of 5 + 1 + 3 + 4.
    assert (whole.n_conclusive, whole.n_samples) == (4, 13)


@pytest.mark.parametrize(
    ("average", "share"),
    [
        # (3 - 1) / (5 - 1), likewise all other ends.
        (
            Estimate(3.0, 4, 1, 2.0, 4.5, possible=Possible(2.0, 5.0, 1, 5)),
            Estimate(0.5, 4, 1, 0.25, 0.875, possible=Possible(0.25, 1.0, 1, 5)),
        ),
        (Estimate(None, 0, 5), Estimate(None, 0, 5)),
        (
            Estimate(1.0, 1, 4, possible=Possible(1.0, None, 4, 5)),
            Estimate(0.0, 1, 4, possible=Possible(0.0, None, 4, 5)),
        ),
    ],
)
def test_points_are_a_share_of_their_scale_with_all_their_ends(average: Estimate, share: Estimate) -> None:
    assert share_of_scale(average, (1.0, 5.0)) == share
    assert share_of_scale(average, (0.0, 1.0)) is average


RATIO = {"numerator": "hit", "denominator": "all", "about": "", "better": "higher"}
ALIKE = {"name": "title", "code": "YEAR", "measures": {"points": RATIO, "average": RATIO}}
"""A component whose measures are called as its own figures are."""


def put_alike(store: Store) -> RunHeader:
    """Six samples with half the points of the title and 1 of 4 counted in each; findings whose codes and sections are
    called as other figures are: in samples 0 and 1 `total` once and `A` twice, in sample 3 `A.samples` five times."""
    suite = stored.header().suite | {"components": [ALIKE], "gates": ["score.title.points >= 0.4"]}
    run = stored.header("alike-1", suite=suite, n_planned=6)
    store.create_run(run)
    cases = [stored.case(number) for number in range(6)]
    found = {at: [("total", "intro"), ("A", "intro"), ("A", "intro")] for at in (0, 1)}
    found[3] = [("A.samples", "intro.samples")] * 5
    for number, of in enumerate(cases):
        findings = tuple(Finding(code, "x", 1, 2, section=section) for code, section in found.get(number, ()))
        score = Score("title", 0.5, 1.0, counts={"hit": 1, "all": 4})
        store.add_samples(
            run.id,
            [stored.sample(of, number, score=0.5, scores=(score,), findings=findings)],
            cases[number : number + 1],
        )
    run.state = RunState.ENDED
    store.update_run(run)
    return run


def test_metrics_that_are_spelled_alike_have_each_their_own_figure(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.sqlite") as store:
        run = put_alike(store)
        for _ in range(2):  # computed, and as it was stored
            whole = summary_of(store, run).overall
            # As in gates, the plain name is that of the literal spelling.
            assert (whole["score.title.points"].value, whole["score.title.average"].value) == (0.5, 0.5)
            of_measures = [whole.of("score.<component>.<measure>", "title", name) for name in ("points", "average")]
            assert [(item.value, item.numerator, item.denominator) for item in of_measures] == [(0.25, 6, 24)] * 2
            assert whole['score."title"."points"'] == of_measures[0]
            assert whole.counts("findings.<code>") == {"total": 2, "A": 4, "A.samples": 5}
            assert (whole.count("findings.total"), whole.count_of("findings.<code>", "total")) == (11, 2)
            assert whole.counts("findings.<code>.samples") == {"total": 2, "A": 2, "A.samples": 1}
            assert (whole.count("findings.A.samples"), whole.count_of("findings.<code>", "A.samples")) == (2, 5)
            assert whole.counts("section.<section>") == {"intro": 6, "intro.samples": 5}
            assert whole.counts("section.<section>.samples") == {"intro": 2, "intro.samples": 1}
        assert len({(of, name) for of, name in all_figures(store, run)}) == len(list(all_figures(store, run).rows()))


def test_what_is_spelled_alike_is_shown_and_gated_as_what_it_is(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.sqlite") as store:
        run = put_alike(store)
        report = build_report(store, run)
        (gate,) = report.decision.gates
        assert (gate.value.value, gate.verdict) == (0.5, Verdict.PASS)
        (result,) = evaluate(['findings."A.samples" <= 4'], report.summary)
        assert (result.value.value, result.verdict) == (5.0, Verdict.FAIL)
        tables = {item.title: item for item in every_block(document(report).blocks) if isinstance(item, Table)}
        assert [row[2] for row in tables["Components"].rows] == ["50.0 %"]
        assert [row[:2] for row in tables["Measures"].rows] == [("points", "25.0 %"), ("average", "25.0 %")]
        assert {row[0]: row[1:3] for row in tables["Errors by code"].rows} == {
            "total": ("2", "2 (33.3 %)"),
            "A": ("4", "2 (33.3 %)"),
            "A.samples": ("5", "1 (16.7 %)"),
        }
        assert {row[0]: row[1:3] for row in tables["Errors by section"].rows} == {
            "intro": ("6", "2"),
            "intro.samples": ("5", "1"),
        }


@pytest.mark.parametrize("kind", ["rich", "mixed"])
def test_a_stored_summary_is_the_one_that_was_computed(tmp_path: Path, kind: str) -> None:
    with open_store(tmp_path / "store.sqlite") as store:
        header = put_rich(store) if kind == "rich" else put_mixed(store, "mixed-1", 1)
        computed = summarise_stored(store, header.id, header.description)
        assert store.summary(header.id) is None
        kept, read = summary_of(store, header), summary_of(store, header)
        assert store.summary(header.id) is not None
        for part in fields(Summary):
            assert getattr(read, part.name) == getattr(kept, part.name) == getattr(computed, part.name), part.name


_RATE = {"value": 0.5, "n": 4}
_TIMES = {"n": 4, "p50": 0.1, "p95": None, "p99": None, "mean": 0.1, "min": 0.1, "max": 0.2}
_CHECK = {"name": "count", "cells_passed": 2, "cells_failed": 1, "undecided": 1, "passed": 8, "failed": 4, "not_run": 0}
_NUMBERS = ("cells_passed", "cells_failed", "cells_undecided", "checks_passed", "checks_failed", "checks_undecided")


@pytest.mark.parametrize(
    "lists",
    [
        {"checks": dict.fromkeys(_NUMBERS, 1) | {"cells_rate": _RATE, "checks_rate": _RATE, "by_check": [_CHECK]}},
        {"passes": {"all_of": {"1": _RATE}, "flaky": _RATE, "n_flaky": 1, "bounds": {"1": [0.25, 0.75]}}},
        {"latency": {"overall": _TIMES, "timeouts": 0, "failures": 0, "n_cells": 4}},
        {"repeated": {"": {"valid in >= 2 of 3 repeats": {"passed": 1, "failed": 0, "undecided": 3}}}},
        {
            "judge_check": {
                "n_labelled": 4,
                "n_labelled_otherwise": 0,
                "corrected": dict.fromkeys(("rate", "reported", "sensitivity", "specificity"), _RATE),
            }
        },
    ],
    ids=["checks", "passes", "latency", "repeated", "judge_check"],
)
def test_lists_that_an_earlier_version_stored_with_copies_of_figures_are_made_again_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lists: dict[str, Any]
) -> None:
    with open_store(tmp_path / "store.sqlite") as store:
        header = put_rich(store)
        computed = summary_of(store, header)
        stored = store.summary(header.id)
        assert stored is not None
        store.keep_summary(header.id, stored._replace(lists=json.dumps(json.loads(stored.lists) | lists)))
        assert summary_of(store, header) == computed
        again = store.summary(header.id)
        assert again is not None
        assert (again.lists, again.figures) == (stored.lists, stored.figures)
        # What is stored now is read, and not computed once more.
        monkeypatch.setattr("steelyard.analysis.summary_from_store.summarise_stored", None)
        assert summary_of(store, header) == computed


def test_labels_that_come_later_change_a_stored_summary(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.sqlite") as store:
        header = put_mixed(store, "mixed-1", 1)
        assert summary_of(store, header).overall["pass_rate.corrected"].value is None
        put_labels(store, header)
        now = summarise_stored(store, header.id, header.description)
        assert now.overall["pass_rate.corrected"].value is not None
        assert summary_of(store, header).figures == now.figures
        some = figures_of(store, [header], ["pass_rate.corrected"])[header.id]
        assert some["pass_rate.corrected"] == now.overall["pass_rate.corrected"]


@pytest.mark.parametrize("put", [put_rich, put_judged])
def test_every_figure_with_an_interval_says_how_it_is_made(tmp_path: Path, put: Callable[..., RunHeader]) -> None:
    with open_store(tmp_path / "store.sqlite") as store:
        bounded = {
            row.kind.pattern for row in summary_of(store, put(store)).figures.rows() if row.estimate.low is not None
        }
    assert len(bounded) > 20
    silent = {name for name in bounded if metric(name).aggregate.interval_text(metric(name).unit) == NO_INTERVAL}
    assert silent == set()


@pytest.mark.parametrize("name", ["pass_rate.corrected", "pass_rate.sensitivity", "labels.texts"])
def test_a_figure_that_labels_change_is_known_by_its_name(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / "store.sqlite") as store:
        header = put_mixed(store, "mixed-1", 1)
        assert summary_of(store, header).overall[name].value is None
        put_labels(store, header)
        now = summarise_stored(store, header.id, header.description).overall[name]
        assert now.value is not None
        assert figures_of(store, [header], [name])[header.id][name] == now


def test_a_run_that_was_stored_before_a_metric_was_defined_has_it_in_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(tmp_path / "store.sqlite") as store:
        header = put_mixed(store, "mixed-1", 1)
        before = summary_of(store, header)
        register(latency_quantile(90))
        try:
            listed = figures_of(store, [header], ["latency.p90"])[header.id]
            # It is stored now: neither this nor a name that the run has not is computed again.
            monkeypatch.setattr("steelyard.analysis.summary_from_store.summarise_stored", None)
            assert figures_of(store, [header], ["latency.p90", "band.None"])[header.id] == listed
        finally:
            unregister("latency.p90")
        assert before.overall["latency.p50"].value < listed["latency.p90"].value < before.overall["latency.p95"].value


def test_a_run_that_is_first_seen_in_a_list_gets_the_figures_of_its_whole_suite(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "runs.db"))
    header = put_mixed(store, "mixed-1", 1)
    computed = summarise_stored(store, header.id, header.description)
    listed = store.listing.newest(["mixed"], 1)["mixed"]
    assert figures_of(store, listed, ("pass_rate",))[header.id]["pass_rate"] == computed.overall["pass_rate"]
    kept = summary_of(store, store.run(header.id))
    assert kept == computed
    assert kept.figures == computed.figures
    assert [item.component for item in kept.priorities]
    store.close()


def test_an_interrupted_run_that_was_stored_without_figures_gets_them_in_a_list(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.sqlite") as store:
        run = stored.header("stopped-1")
        store.create_run(run)
        cases = [stored.case(number) for number in range(3)]
        store.add_samples(run.id, [stored.sample(of, number) for number, of in enumerate(cases)], cases)
        for state in (RunState.RUNNING, RunState.INTERRUPTED):
            run.state = state
            store.update_run(run)
            listed = figures_of(store, store.listing.newest(["demo"], 1)["demo"], ("average",))
            if state is RunState.RUNNING:
                assert listed == {}
        average = listed[run.id]["average"]
        assert (average.value, average.n) == (0.8, 3)
        assert store.summary(run.id) is not None
