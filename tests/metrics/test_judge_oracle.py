"""Every metric of a judge is what a naive computation from the samples gives."""

from __future__ import annotations

import pytest

from parts.described import summarise_stored
from parts.judged_store import put_judged
from parts.naive_judge import FORMS, NaiveJudge
from parts.rich_run import put_rich
from steelyard.errors import UsageError
from steelyard.metrics.registry import metrics
from steelyard.report.explain import data_of, explain_report, listed_figure
from steelyard.store.sql import open_store

OF_JUDGE = {name: metric for name, metric in metrics(["judge"]).items() if metric.of_judge}


def disagreeing(store, header):
    """The figures that are not what the samples come to, and the metrics that the run has."""
    naive = NaiveJudge(list(store.samples(header.id)), header.suite)
    run, data = summarise_stored(store, header.id, header.suite).overall, data_of(store, header)
    wrong, seen = [], set()
    for metric in OF_JUDGE.values():
        for names in metric.all_names(data):
            said = listed_figure(data, metric, names, run) if metric.listed else run[metric.filled(names)]
            value, count, missing = naive.figure(metric.name, names)
            seen.add(metric.name)
            same = said.value is None if value is None else said.value == pytest.approx(value, rel=1e-9, abs=1e-9)
            if not same or (said.n, said.n_missing) != (count, missing):
                wrong.append((metric.filled(names), said, (value, count, missing)))
    return wrong, seen


def test_every_metric_of_a_judge_has_a_naive_form():
    assert set(OF_JUDGE) == set(FORMS), "a metric and its form in tests/parts/naive_judge.py are written together"


@pytest.mark.parametrize("seed", [1, 2])
def test_every_metric_of_a_judge_is_what_the_samples_come_to(tmp_path, seed):
    store = open_store(str(tmp_path / "runs.db"))
    wrong, seen = disagreeing(store, put_judged(store, seed=seed))
    assert wrong == []
    assert seen == set(OF_JUDGE)
    store.close()


def test_they_agree_of_a_judge_without_labels(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    wrong, seen = disagreeing(store, put_rich(store))
    assert wrong == []
    assert "judge.failed" in seen
    assert not any(OF_JUDGE[name].needs == "labels" for name in seen)
    store.close()


def test_every_one_of_them_is_explained_by_its_rows(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    header = put_judged(store)
    data, run = data_of(store, header), summarise_stored(store, header.id, header.suite).overall
    for metric in OF_JUDGE.values():
        names = next(iter(metric.all_names(data)))
        (found,) = explain_report(store, header, metric.filled(names))
        figure = listed_figure(data, metric, names, run) if metric.listed else run[metric.filled(names)]
        assert (found.metric, found.figure) == (metric.filled(names), figure)
        assert found.contributing
    store.close()


def test_entries_of_lists_are_asked_for_by_number_or_all_at_once(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    header = put_judged(store)
    spent = {each.metric: each.figure.value for each in explain_report(store, header, "judge.spending.*")}
    assert spent["judge.spending.calls"] == len(list(store.judgements(header.id)))
    reasons = explain_report(store, header, "judge.why_failed.*")
    assert [each.figure.value for each in reasons] == list(
        summarise_stored(store, header.id, header.suite).judge.why_failed.values()
    )
    for name in ("judge.why_failed.99", "judge.spending.time"):
        with pytest.raises(UsageError, match="this run has no such figure"):
            explain_report(store, header, name)
    store.close()
