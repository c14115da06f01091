"""Every figure of a report has a name that `--explain` takes, and is what its samples come to."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from parts.command import invoke
from parts.rich_run import RICH, put_rich
from parts.views import to_json
from steelyard.errors import UsageError
from steelyard.metrics.expressions import asked_metric, split_sides
from steelyard.metrics.table import MISSING
from steelyard.records import RunState
from steelyard.report.build import build_report
from steelyard.report.explain import (
    data_of,
    explain_report,
    find_figures,
    find_metric,
    gate_figures,
    own_figures,
    spelled,
)
from steelyard.store.sql import open_store

OF_AN_ESTIMATE = ("", ".value", ".n", ".n_missing", ".low", ".high", ".numerator", ".denominator", ".mean_of")
NOT_FIGURES = {
    r"run\..*": "copied from the run's header",
    r"charts\[.*": "the same figures once more, with the sizes of a drawing",
    r"confidence\.chart\..*": "the same figures once more, with the sizes of a drawing",
    r"(gates\[\d+\]|by_variant\[\d+\]\.criteria\[\d+\])\.threshold": "written in the suite",
    r"extra\.scales\..*": "written in the suite",
    r"confidence\.utility\..*": "written in the suite",
    r"confidence\..*\.(buckets|bins)\[\d+\]\.(low|high)": "the bounds of what is counted, written in the suite",
    r"confidence\..*\.n_bins": "written in the suite",
    r"confidence\..*\.calibration\.widest": "the number of a bin; confidence.mce says it among its inputs",
    r"latency\.bars\[\d+\]\.(low|high)": "the bounds of what is counted; latency.bar.1 says them in its formula",
    r"checks\.cells\[\d+\]\.checks\[\d+\]\.(low|high)": "the range that the case asks for",
    r"passes\.bounds\..*": "the range of pass_all.K or flaky_rate, whose own places have a name",
    r"repeats": "how often the plan asks each case",
    r"n_shown": "how many rows this report has",
    r"(samples|worst|slowest)\[\d+\]\.repeat": "which repeat a row is of",
    r"samples\[\d+\]\.(input|expected|read|scores|findings|n_findings|marks|judgement|answer)\b.*": "one sample as it "
    "was recorded: nothing is put together",
    r"codes\[\d+\]\.items\[\d+\]\..*": "one finding as it was recorded: nothing is put together",
}
"""Numbers of a report that need no explanation, and why."""


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
def own(report, rows):
    return list(own_figures(report, rows))


@pytest.fixture(scope="module")
def traced(own):
    return [each.explained(spelled(each.names)) for each in own]


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


def test_every_number_of_a_report_is_a_named_figure_or_needs_no_name(report, rows, shown, own):
    places = [*(each.place for each in own), *(place for _, place in gate_figures(report, rows))]
    named = {place + end for place in places for end in OF_AN_ESTIMATE}
    other = [re.compile(pattern) for pattern in NOT_FIGURES]
    unnamed = [place for place in shown if place not in named and not any(each.fullmatch(place) for each in other)]
    assert unnamed == []
    unused = [each.pattern for each in other if not any(each.fullmatch(place) for place in shown)]
    assert unused == []


def test_every_kind_of_figure_is_in_the_report_that_is_walked(own):
    heads = {each.names[2] if each.names[2:3] == ("case",) else each.names[0] for each in own}
    assert heads >= {
        *("samples", "outcomes", "repeated", "failures", "steps", "inconclusive", "category"),
        *("gain", "if_fixed", "findings", "failing", "confusion", "section", "pattern", "patterns"),
        *("judge", "mode", "confidence", "cases", "checks", "check", "case", "latency", "stability", "best"),
    }


def test_every_figure_is_what_its_samples_come_to(traced):
    assert [(each.metric, each.reported, each.computed) for each in traced if not each.agrees] == []
    assert len(traced) > 2_000


def test_every_figure_stands_where_it_says(shown, own):
    def there(figure):
        return shown.get(figure.place, shown.get(f"{figure.place}.value"))

    told = [(each.place, there(each), getattr(each.reported, "value", each.reported)) for each in own]
    assert [row for row in told if row[1] != row[2]] == []


def test_names_are_read_as_they_are_spelled_and_no_gate_has_them(own):
    for names in {each.names for each in own}:
        text = spelled(names)
        assert tuple(split_sides(f"{text} >= 0", "", "")[0]) == names
        with pytest.raises(ValueError, match="metric"):
            asked_metric(text)


@pytest.mark.parametrize("name", ["plain", "a.b", 'say "so"', "it's", """it's "so""", '"', "\"'", ">= 1", "two words"])
def test_any_name_is_read_as_it_is_spelled(name):
    assert split_sides(f"{spelled(('case', name, 'n'))} >= 0", "", "")[0] == ["case", name, "n"]


def test_what_a_gate_can_name_has_the_name_of_its_metric(report, rows):
    for names in {names for names, _ in gate_figures(report, rows)}:
        find_metric(spelled(names), report.header, report.summary)


def test_a_run_without_samples_has_names_and_nothing_behind_them(stored):
    store, header, _ = stored
    empty = replace(header, id="empty-1", suite=RICH | {"n_planned": 5}, state=RunState.RUNNING, created_at=2.0)
    store.create_run(empty)
    bare, rows = build_report(store, empty), data_of(store, empty)
    found = [each.explained(spelled(each.names)) for each in own_figures(bare, rows)]
    assert [each.metric for each in found if not each.agrees] == []
    assert next(each.computed.value for each in found if each.metric == "outcomes.planned") == 5.0
    for names in {names for names, _ in gate_figures(bare, rows)}:
        find_metric(spelled(names), empty, bare.summary)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("gain.NAME", ["gain.NAME"]),
        ("confusion.1", ["confusion.1"]),
        ("case.case-03.clean", ["variant.plain.case.case-03.clean", "variant.long.case.case-03.clean"]),
        ("variant.long.case.case-03.latency.max", ["variant.long.case.case-03.latency.max"]),
        ("tag.*.outcomes.malformed", [f"tag.{tag}.outcomes.malformed" for tag in ("every", "old", "odd")]),
        ("confidence.label.'b.c'.brier", ['confidence.label."b.c".brier']),
        (
            "repeated.'score >= 40 % in >= 2 of 3 repeats'.passed",
            ['repeated."score >= 40 % in >= 2 of 3 repeats".passed'],
        ),
    ],
)
def test_a_figure_is_found_by_its_name(report, rows, asked, names):
    found = find_figures(report, rows, asked, ValueError())
    assert [spelled(each.names) for each in found] == names


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
    assert all(each.agrees for each in found)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("confidence.brie", "did you mean confidence.brier?"),
        ("judge.step.strickt", "did you mean judge.step.strict?"),
        ("pattern.999", "it has: pattern.1, pattern.1.cases"),
        ("excellence", "--explain list names every figure of this run"),
        ("case..clean", "a name is missing"),
    ],
)
def test_a_figure_that_is_not_there_names_those_that_are(report, rows, asked, message):
    with pytest.raises(ValueError, match="metric") as unknown:
        asked_metric(asked)
    with pytest.raises(UsageError) as error:
        find_figures(report, rows, asked, unknown.value)
    assert message in str(error.value)


def explained(traced, metric):
    return next(each for each in traced if each.metric == metric)


def test_a_gain_lists_what_rises_most_first_and_says_what_is_left_out(traced, stored):
    store, header, _ = stored
    found = explained(traced, "gain.NAME")
    rises = [each.value for each in found.contributing]
    assert rises == sorted(rises, reverse=True)
    assert sum(rises) / len(rises) == pytest.approx(found.reported.value)
    outcomes = [sample.outcome.value for sample, _ in store.samples(header.id)]
    left_out = {each.why: each.count for each in found.excluded}
    assert left_out["the target failed: inconclusive"] == outcomes.count("target_failed")
    assert left_out[MISSING] == header.n_planned - len(outcomes)


def test_a_calibration_lists_claims_and_counts_those_without_a_confidence(traced, stored):
    store, header, _ = stored
    found = explained(traced, "confidence.ece")
    claims = [
        claim.confidence
        for sample, _ in store.samples(header.id)
        if sample.outcome.value == "malformed" or sample.mode == "model"
        for claim in sample.claims
    ]
    assert {each.why: each.count for each in found.excluded}["no confidence"] == claims.count(None)
    assert found.of == "claims"
    assert (
        len(found.contributing) == found.reported.n == len([each for each in claims if each is not None and each <= 1])
    )


def test_a_share_of_votes_lists_the_votes(traced, stored):
    store, header, _ = stored
    found = explained(traced, "judge.unanswered")
    judged = [sample.judgement for sample, _ in store.samples(header.id) if sample.judgement is not None]
    assert found.reported.n == len(found.contributing) == sum(max(1, len(each.votes)) for each in judged)
    assert found.contributing[0].value == 1.0


def test_the_score_of_a_sample_is_named_by_its_repeat_counted_from_1(traced):
    named = [(each, re.search(r"\.repeat\.(\d+)\.(?:score|latency)$", each.metric)) for each in traced]
    repeats = {(int(found[1]), row.repeat) for each, found in named if found for row in each.contributing}
    assert repeats == {(1, 0), (2, 1), (3, 2), (4, 3)}


def test_a_pattern_lists_the_samples_of_its_sentence(traced, report):
    found, pattern = explained(traced, "pattern.1"), report.summary.patterns[0]
    assert found.how == pattern.sentence
    assert sum(each.value for each in found.contributing) == pattern.count
    assert len(found.contributing) == pattern.n
    assert sorted({each.case_id for each in found.contributing if each.value}) == list(pattern.cases)


def test_the_names_of_all_figures_can_be_listed(stored):
    _, _, path = stored
    assert "confidence.label.*.brier" in invoke("report", "rich-1", "--explain", "list", "--store", path)
    listed = json.loads(invoke("report", "rich-1", "--explain", "list", "--store", path, "--json"))
    places = {each["name"]: each["place"] for each in listed["figures"]}
    assert places["average"] == "overall.average"
    assert places["case.*.latency.max"] == "latency.cells[*].spread.max"
    assert places["gain.NAME"].endswith(".gain")
    assert "lists no sample" in invoke("report", "rich-1", "--explain", "list", "--limit", 3, "--store", path, code=2)
