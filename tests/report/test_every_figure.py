"""Every figure of a report has a name that `--explain` takes."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from parts.command import invoke
from parts.recomputed import every_figure
from parts.rich_run import RICH, put_rich
from parts.views import to_json
from steelyard.analysis.stored import summary_of
from steelyard.errors import UsageError
from steelyard.metrics.expressions import asked_metric, split_sides
from steelyard.metrics.registry import FAMILIES, metrics
from steelyard.metrics.table import MISSING
from steelyard.records import RunState
from steelyard.report.build import build_report
from steelyard.report.explain import data_of, explain_report, find_figures, find_metric, listed_figure, spelled
from steelyard.store.sql import open_store

NOT_FIGURES = {
    r"run\..*": "copied from the run's header",
    r"charts\[.*": "the same figures once more, with the sizes of a drawing",
    r"confidence\.chart\..*": "the same figures once more, with the sizes of a drawing",
    r"(gates\[\d+\]|by_variant\[\d+\]\.criteria\[\d+\])\..*": "what was decided, and on which number",
    r"confidence\.utility\..*": "written in the suite",
    r"repeats": "how often the plan asks each case",
    r"n_shown": "how many rows this report has",
    r"n_samples": "`samples`, which says how many `samples` could hold",
    r"codes\[\d+\]\.n_items": "how many findings `items` could hold",
    r"(samples|worst|slowest)\[\d+\]\.repeat": "which repeat a row is of",
    r"samples\[\d+\]\.(input|expected|read|scores|findings|n_findings|marks|judgement|answer)\b.*": "one sample as it "
    "was recorded: nothing is put together",
    r"codes\[\d+\]\.items\[\d+\]\..*": "one finding as it was recorded: nothing is put together",
}
"""Numbers of a report that need no explanation, and why."""
NAMED_ROWS = {
    r"patterns\[(\d+)\]\.count": "pattern.{}",
    r"patterns\[(\d+)\]\.n_cases": "pattern.{}.cases",
    r"patterns\[(\d+)\]\.n": "pattern.{}.n",
    r"confusions\[(\d+)\]\.count": "confusion.{}",
    r"confusions\[(\d+)\]\.samples": "confusion.{}.samples",
    r"failure_causes\[(\d+)\]\.count": "failure_causes.{}",
}
"""Places of lists whose entries are numbered, and the name of a row there, which counts from 1."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("every") / "runs.db"
    store = open_store(str(path))
    header = put_rich(store)
    yield store, header, path
    store.close()


@pytest.fixture(scope="module")
def report(stored):
    store, header, _ = stored
    return build_report(store, header)


@pytest.fixture(scope="module")
def shown(report):
    """By place, every number of the report."""
    return dict(numbers(to_json(report)))


@pytest.fixture(scope="module")
def rows(stored):
    store, header, _ = stored
    return data_of(store, header)


@pytest.fixture(scope="module")
def every(report, rows):
    """Every figure of the run with what it is spelled as: its metric, its names and its slice."""
    found = every_figure(rows, report.summary, metrics(FAMILIES))
    return {
        spelled(((part.factor, part.name) if part.factor else ()) + metric.steps(names)): (metric, names, part)
        for metric, names, part in found
    }


def numbers(value, place=""):
    """Every number in plain data with its place; an estimate of nothing (n/a) is none."""
    if isinstance(value, dict) and value.get("value", "") is None and "n_missing" in value:
        return
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield place, value
    for key, each in value.items() if isinstance(value, dict) else ():
        yield from numbers(each, f"{place}.{key}" if place else key)
    for at, each in enumerate(value) if isinstance(value, list) else ():
        yield from numbers(each, f"{place}[{at}]")


def test_every_number_of_a_report_is_a_named_figure_or_needs_no_name(report, rows, shown, every):
    # Numbers of lists are those of figures, by some name.
    values = {
        round(figure.value, 9)
        for metric, names, part in every.values()
        if (figure := listed_figure(rows, metric, names, part) if metric.listed else part[metric.filled(names)]).value
        is not None
    }
    other = [re.compile(pattern) for pattern in NOT_FIGURES]
    of_lists = {place: value for place, value in shown.items() if not place.startswith(("figures.", "slices."))}
    unnamed = [
        place
        for place, value in of_lists.items()
        if place.rpartition(".")[2] in ("value", "count", "score", "latency")
        and round(value, 9) not in values
        and not any(each.fullmatch(place) for each in other)
    ]
    assert unnamed == []
    unused = [each.pattern for each in other if not any(each.fullmatch(place) for place in shown)]
    assert unused == []


def test_entries_of_lists_are_named_by_their_number(report, rows, shown):
    named = [
        (shown[place], pattern.format(int(found[1]) + 1))
        for place in shown
        for form, pattern in NAMED_ROWS.items()
        if (found := re.fullmatch(form, place))
    ]
    assert len(named) > 60
    for value, name in named:
        ((metric, names, part),) = find_figures(name, report.header, rows, report.summary)
        assert listed_figure(rows, metric, names, part).value == value, name
    reasons = list(report.summary.why_inconclusive.values())
    found = find_figures("inconclusive.*", report.header, rows, report.summary)
    assert [listed_figure(rows, *one).value for one in found] == reasons


def test_every_kind_of_figure_is_there(every):
    heads = {metric.parts[0] for metric, _, _ in every.values()}
    assert heads >= {
        *("samples", "outcomes", "repeated", "failures", "steps", "inconclusive", "first_failures", "reused"),
        *("gain", "if_fixed", "findings", "failing", "confusion", "section", "pattern", "patterns"),
        *("judge", "mode", "confidence", "cases", "checks", "check", "case", "latency", "stability", "best"),
    }
    assert len(every) > 3_000


def test_names_are_read_as_they_are_spelled_and_gates_have_some_of_them(report, every):
    for text, (metric, names, part) in every.items():
        steps = ((part.factor, part.name) if part.factor else ()) + metric.steps(names)
        assert tuple(split_sides(f"{text} >= 0", "", "")[0]) == steps
        if metric.gate:
            find_metric(text, report.header, report.summary)
        else:
            with pytest.raises(ValueError, match="metric"):
                asked_metric(text)


@pytest.mark.parametrize("name", ["plain", "a.b", 'say "so"', "it's", """it's "so""", '"', "\"'", ">= 1", "two words"])
def test_any_name_is_read_as_it_is_spelled(name):
    assert split_sides(f"{spelled(('case', name, 'n'))} >= 0", "", "")[0] == ["case", name, "n"]


def test_a_run_without_samples_has_names_and_nothing_behind_them(stored):
    store, header, _ = stored
    empty = replace(header, id="empty-1", suite=RICH | {"n_planned": 5}, state=RunState.RUNNING, created_at=2.0)
    store.create_run(empty)
    data, summary = data_of(store, empty), summary_of(store, empty)
    found = {spelled(metric.steps(names)) for metric, names, _ in every_figure(data, summary, metrics(FAMILIES))}
    assert {"average", "samples", "outcomes.planned"} <= found
    (planned,) = explain_report(store, empty, "outcomes.planned")
    assert (planned.figure.value, planned.contributing) == (5.0, ())


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("gain.NAME", ["gain.NAME"]),
        ("confusion.1", ["confusion.1"]),
        ("case.case-03.clean", ["variant.plain.case.case-03.clean", "variant.long.case.case-03.clean"]),
        ("variant.long.case.case-03.latency.max", ["variant.long.case.case-03.latency.max"]),
        (
            "case.case-03.repeat.2.latency",
            [f"variant.{name}.case.case-03.repeat.2.latency" for name in ("plain", "long")],
        ),
        ("tag.*.outcomes.malformed", [f"tag.{tag}.outcomes.malformed" for tag in ("every", "old", "odd")]),
        ("confidence.label.'b.c'.brier", ['confidence.label."b.c".brier']),
        (
            "repeated.'score >= 40 % in >= 2 of 3 repeats'.passed",
            ['repeated."score >= 40 % in >= 2 of 3 repeats".passed'],
        ),
    ],
)
def test_a_figure_is_found_by_its_name(stored, asked, names):
    store, header, _ = stored
    assert [each.metric for each in explain_report(store, header, asked)] == names


def test_figures_of_gates_and_others_may_be_asked_for_together(stored):
    store, header, _ = stored
    found = explain_report(store, header, "gain.NAME", "category.*.average", "confusion.1")
    assert [each.metric for each in found] == [
        "gain.NAME",
        "category.chairs.average",
        "category.tables.average",
        "category.(none).average",
        "confusion.1",
    ]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("confidence.brie", "did you mean confidence.brier?"),
        ("judge.step.strickt", "did you mean judge.step.strict?"),
        ("pattern.999", "it has: pattern.1, pattern.2"),
        ("case.nobody.clean", "this run has no such figure"),
        ("excellence", "--explain list names every figure of this run"),
        ("case..clean", "a name is missing"),
    ],
)
def test_a_figure_that_is_not_there_names_those_that_are(stored, asked, message):
    store, header, _ = stored
    with pytest.raises(UsageError) as error:
        explain_report(store, header, asked)
    assert message in str(error.value)


def explained(stored, metric):
    store, header, _ = stored
    (found,) = explain_report(store, header, metric)
    return found


def test_a_gain_lists_what_rises_most_first_and_says_what_is_left_out(stored):
    store, header, _ = stored
    found = explained(stored, "gain.NAME")
    rises = [each.value for each in found.contributing]
    assert rises == sorted(rises, reverse=True)
    assert sum(rises) / len(rises) == pytest.approx(found.figure.value)
    outcomes = [sample.outcome.value for sample, _ in store.samples(header.id)]
    left_out = {each.why: each.count for each in found.excluded}
    assert left_out["the target failed: inconclusive"] == outcomes.count("target_failed")
    assert left_out[MISSING] == header.n_planned - len(outcomes)


def test_a_calibration_lists_claims_and_counts_those_without_a_confidence(stored):
    store, header, _ = stored
    found = explained(stored, "confidence.ece")
    claims = [
        claim.confidence
        for sample, _ in store.samples(header.id)
        if sample.outcome.value == "malformed" or sample.mode == "model"
        for claim in sample.claims
    ]
    assert {each.why: each.count for each in found.excluded}["no confidence"] == claims.count(None)
    assert found.of == "claims"
    usable = [each for each in claims if each is not None and each <= 1]
    assert len(found.contributing) == found.figure.n == len(usable)


def test_a_share_of_votes_lists_the_votes(stored):
    store, header, _ = stored
    found = explained(stored, "judge.unanswered")
    judged = [sample.judgement for sample, _ in store.samples(header.id) if sample.judgement is not None]
    assert found.figure.n == len(found.contributing) == sum(max(1, len(each.votes)) for each in judged)
    assert found.contributing[0].value == 1.0


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_time_of_a_sample_is_named_by_its_repeat_counted_from_1(stored, number):
    store, header, _ = stored
    found = explain_report(store, header, f"case.*.repeat.{number}.latency")
    assert len(found) > 20
    assert [[row.repeat for row in each.contributing] for each in found] == [[number - 1]] * len(found)


def test_a_section_names_its_findings_with_their_places(stored):
    found = explained(stored, "section.'v1.0'")
    assert found.contributing[0].value > 0
    assert " at " in found.contributing[0].detail


def test_a_pattern_lists_the_samples_of_its_sentence(stored, report):
    found, pattern = explained(stored, "pattern.1"), report.summary.patterns[0]
    assert found.how == pattern.sentence
    assert sum(each.value for each in found.contributing) == pattern.count
    assert len(found.contributing) == pattern.n
    assert sorted({each.case_id for each in found.contributing if each.value}) == list(pattern.cases)


def test_the_names_of_all_figures_can_be_listed(stored):
    _, _, path = stored
    assert "confidence.label.*.brier" in invoke("report", "rich-1", "--explain", "list", "--store", path)
    listed = json.loads(invoke("report", "rich-1", "--explain", "list", "--store", path, "--json"))
    about = {each["name"]: each["about"] for each in listed["figures"]}
    assert about["average"] == "mean score; a malformed answer counts as 0"
    assert {
        "case.*.latency.max",
        "case.*.repeat.*.score",
        "pattern.*",
        "gain.NAME",
        "judge.why_failed.*",
    } <= about.keys()
    assert "lists no sample" in invoke("report", "rich-1", "--explain", "list", "--limit", 3, "--store", path, code=2)
