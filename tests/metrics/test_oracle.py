"""Every registered metric, over the run and every slice, is what a naive computation from the samples gives."""

from __future__ import annotations

import pytest

from parts.described import RunData, summarise_stored
from parts.mixed_run import SUITE, put_labels, put_mixed
from parts.naive_metrics import Naive
from parts.naive_repeats import FORMS as FORMS_OF_REPEATS
from parts.naive_repeats import NaiveRepeats
from parts.naive_reported import FORMS, At, NaiveReport
from parts.recomputed import every_figure
from parts.rich_run import put_rich
from steelyard.analysis.judge.corrected import labels_of
from steelyard.analysis.stored import summary_of
from steelyard.metrics.registry import gate_metrics, metrics
from steelyard.report.build import build_report
from steelyard.report.explain import data_of, listed_figure
from steelyard.store.sql import open_store
from steelyard.suite.case import NONE


def in_slice(sample, factor, name):
    if factor == "tag":
        return name in sample.tags
    value = getattr(sample, factor)
    return (NONE if value is None else value) == name


def disagreeing(store, header):
    """The figures that are not what the samples come to, how many were looked at, and the metrics among them."""
    suite = header.suite
    samples = [sample for sample, _ in store.samples(header.id)]
    labels = put_labels(store, header)
    summary = summarise_stored(store, header.id, suite)
    data = RunData(store.columns(header.id), suite, store.checks(header.id), store.items(header.id))
    data.labels = labels_of(store, header.id, data)
    parts = [(summary.overall, Naive(samples, suite, suite["n_planned"] - len(samples), labels))]
    for factor, groups in summary.slices.items():
        mine = [[each for each in samples if in_slice(each, factor, part.name)] for part in groups]
        parts += [(part, Naive(some, suite, 0, labels, samples)) for part, some in zip(groups, mine, strict=True)]
    wrong, n, seen = [], 0, set()
    for metric in gate_metrics().values():
        for names in [()] if metric.all_names is None else metric.all_names(data):
            for part, naive in parts:
                said = part[metric.filled(names)]
                value, count, missing = naive.figure(metric.name, names)
                n += 1
                seen.add(metric.name)
                same = said.value is None if value is None else said.value == pytest.approx(value, rel=1e-9, abs=1e-9)
                if not same or (said.n, said.n_missing) != (count, missing):
                    wrong.append((part.factor, part.name, metric.filled(names), said, (value, count, missing)))
    return wrong, n, seen


@pytest.mark.parametrize("seed", range(1, 4))
def test_every_metric_is_what_the_samples_come_to(tmp_path, seed):
    store = open_store(str(tmp_path / "runs.db"))
    wrong, n, seen = disagreeing(store, put_mixed(store, f"mixed-{seed}", seed))
    assert wrong == []
    assert n > 500
    # No metric is left out.
    assert seen == {name for name, metric in gate_metrics().items() if not metric.own}
    store.close()


def _planned(store, header):
    samples = [sample for sample, _ in store.samples(header.id)]
    return samples, header.suite, header.suite["n_planned"] - len(samples)


def _in_list(report, pattern, n):
    """What a report says of an entry of one of its lists, of which only the words are looked at."""
    lists = {
        "confusion": report.summary.confusions,
        "pattern": report.summary.patterns,
        "inconclusive": list(report.summary.why_inconclusive),
        "failure_causes": report.summary.failure_causes,
    }
    return lists.get(pattern.partition(".")[0], {}) and lists[pattern.partition(".")[0]][int(n) - 1]


def test_every_metric_that_is_only_reported_has_a_naive_form_and_is_what_the_samples_come_to(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    mine = {metric.name for metric in of_repeats()}
    registered = {
        name: metric
        for name, metric in metrics(["confidence"]).items()
        if not (metric.gate or metric.own or name in mine)
    }
    assert registered.keys() == FORMS.keys(), "a metric and its form in tests/parts/naive_reported.py are one change"
    wrong, seen = [], set()
    for header in (put_rich(store), put_mixed(store, "scored", 5, checks=False, expect=None, judge=None)):
        labels = put_labels(store, header)
        naive, report = NaiveReport(*_planned(store, header), labels), build_report(store, header)
        data = data_of(store, header)
        for metric, names, part in every_figure(data, report.summary, registered):
            filled = dict(zip(metric.blanks, names, strict=True))
            item = _in_list(report, metric.name, filled["<n>"]) if "<n>" in filled else None
            value, n = naive.figure_at(metric.name, At(filled, part.factor, part.name, item))
            said = listed_figure(data, metric, names, part) if metric.listed else part[metric.filled(names)]
            seen.add(metric.name)
            same = said.value is None if value is None else said.value == pytest.approx(value, rel=1e-9, abs=1e-9)
            if not same or (n is not None and n != said.n):
                wrong.append((part.factor, part.name, metric.filled(names), said, value, n))
    assert wrong == []
    assert registered.keys() == seen
    store.close()


_MODULES = {
    f"steelyard.analysis.{name}"
    for name in ("confidence", "checks", "repeat_conditions", "flaky", "stability", "latency", "variants")
}


def of_repeats():
    """What is only reported of repeats, times, claims and variants."""
    mine = [metric for metric in metrics(["confidence"]).values() if not metric.gate]
    return [metric for metric in mine if metric.contributions.__module__ in _MODULES]


def listed_figures(metric, names, data, summary):
    """A figure of an entry of a list with its variant: that of the whole run, or of each variant."""
    by_variant = metric.name.startswith("case.")
    for part in summary.slices["variant"] if by_variant else [summary.overall]:
        yield part.name, listed_figure(data, metric, names, part)


def test_what_is_only_reported_of_repeats_times_claims_and_variants_is_what_the_samples_come_to(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    assert {metric.name for metric in of_repeats()} == set(FORMS_OF_REPEATS)
    wrong, seen, n = [], set(), 0
    for header in (put_rich(store), put_mixed(store, "scored", 5, checks=False, expect=None, judge=None)):
        naive, data, summary = NaiveRepeats(*_planned(store, header)), data_of(store, header), summary_of(store, header)
        naive.bars, naive.leader = summary.latency.bars, summary.best_variant.leader
        for metric in of_repeats():
            for names in [()] if metric.all_names is None else metric.all_names(data):
                parts = [summary.overall, *(summary.slices["variant"] if metric.sliced else ())]
                stored = [(part.name or None, part[metric.filled(names)]) for part in parts]
                for variant, said in listed_figures(metric, names, data, summary) if metric.listed else stored:
                    n += 1
                    if said.value is None:
                        continue
                    seen.add(metric.name)
                    value, count = naive.figure_of(metric.name, names, variant)
                    if said.value != pytest.approx(value, rel=1e-9, abs=1e-9) or count not in (None, said.n):
                        wrong.append((header.id, metric.filled(names), variant, said, value, count))
    assert wrong == []
    assert n > 1000
    # Four repeats are too few for these.
    lacking = {"case.<case>.latency.p95", "case.<case>.latency.p99"}
    assert {metric.name for metric in of_repeats()} - seen == lacking
    store.close()


def test_they_agree_without_a_judge_and_with_everything(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    assert disagreeing(store, put_mixed(store, "plain", 4, judge=None, n_planned=SUITE["n_planned"] - 8))[0] == []
    assert disagreeing(store, put_rich(store))[0] == []
    assert disagreeing(store, put_mixed(store, "scored", 5, checks=False, expect=None, judge=None))[0] == []
    store.close()
