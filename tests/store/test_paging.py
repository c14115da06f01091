"""A page of samples has exactly those that are selected, in the order asked for, whatever the run is read from."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from parts.mixed_run import put_mixed
from parts.stored import case, header, sample
from steelyard.errors import UsageError
from steelyard.metrics.table import Table
from steelyard.records import CallResult, Outcome, RunState, Sample
from steelyard.store import paging, stored_columns, stored_paging
from steelyard.store.selection import Selection
from steelyard.store.sql import SqlStore

NONE = "(none)"
CHOICES = {
    "outcome": [*Outcome, "conclusive", "inconclusive"],
    "passed": [True, False],
    "category": ["chairs", NONE, "other"],
    "difficulty": ["hard", NONE],
    "band": ["Good", "Poor"],
    "variant": ["long", NONE],
    "tag": ["old", "odd"],
    "code": ["NAME", "FORMAT", "OTHER"],
    "failure": ["timeout"],
    "case": ["case-03", "case-99"],
    "component": ["tone", "other"],
    "below": [0.5],
    "check": ["count", "other"],
    "state": ["failed", "not_run"],
    "min_score": [0.25],
    "max_score": [0.55],
    "min_latency": [0.5],
    "max_latency": [1.0],
    "text": ["CASE-1", "needle", "nowhere"],
}
ORDERS = [(order, descending) for order in stored_paging.ORDERS for descending in (False, True)]


@pytest.fixture(params=["arrays", "statements"])
def mixed(store: SqlStore, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SqlStore:
    if request.param == "arrays":
        monkeypatch.setattr(stored_columns, "LEAST", 1)
    monkeypatch.setattr(paging, "TIME", 60.0)
    put_mixed(store, "mixed", 3)
    return store


def plainly(sample: Sample, wanted: Selection) -> bool:
    """Whether a sample is selected, by the words of `Selection` and the rules of reports."""
    malformed = sample.outcome is Outcome.MALFORMED
    conclusive = malformed or (sample.outcome is Outcome.SCORED and sample.mode == "model")
    score = 0.0 if malformed else sample.score
    passed = False if malformed else sample.passed
    band = sample.band or ("Poor" if malformed else None)
    call = sample.call_result
    called = call.failure is None and call.latency > 0 and not call.cached
    timed_out = call.failure is not None and call.failure.kind == "timeout" and not call.cached
    values = [(item.name, item.value) for item in sample.scores if item.value is not None]
    answers = {
        "outcome": lambda value: {"conclusive": conclusive, "inconclusive": not sample.outcome.conclusive}.get(
            value, sample.outcome == value
        ),
        "passed": lambda value: conclusive and passed is value,
        "band": lambda value: conclusive and band == value,
        "category": lambda value: (sample.category or NONE) == value,
        "difficulty": lambda value: (sample.difficulty or NONE) == value,
        "variant": lambda value: (sample.variant or NONE) == value,
        "tag": lambda value: value in sample.tags,
        "code": lambda value: conclusive and value in [finding.code for finding in sample.findings],
        "failure": lambda value: call.failure is not None and call.failure.kind == value,
        "case": lambda value: sample.case_id == value,
        "min_score": lambda value: conclusive and score is not None and score >= value,
        "max_score": lambda value: conclusive and score is not None and score <= value,
        "min_latency": lambda value: (called or timed_out) and call.latency >= value,
        "max_latency": lambda value: called and call.latency <= value,
        "text": lambda value: value.lower() in sample.case_id.lower() or value.lower() in (call.text or "").lower(),
        "component": lambda value: conclusive and any(name == value for name, _ in values),
        "below": lambda value: (
            conclusive and any(number < value for name, number in values if wanted.component in ("", name))
        ),
        "check": lambda value: any(
            check.name == value and wanted.state in ("", check.state) for check in sample.checks
        ),
        "state": lambda value: any(
            check.state == value and wanted.check in ("", check.name) for check in sample.checks
        ),
    }
    return all(answers[name](value) for name, value in wanted.given().items())


def place(sample: Sample, order: str, *, descending: bool) -> tuple[object, ...]:
    figure = sample.call_result.latency or None
    if (failure := sample.call_result.failure) is not None:
        figure = sample.call_result.latency if failure.kind == "timeout" else None
    if order == "score":
        figure = 0.0 if sample.outcome is Outcome.MALFORMED else sample.score
    if order in ("score", "latency"):
        return (math.inf if figure is None else -figure if descending else figure, sample.position)
    return (sample.case_id, sample.position) if order == "case" else (sample.position,)


def every_page(store: SqlStore, wanted: Selection, **how: object) -> list[int]:
    found, after = [], None
    while True:
        page = store.page("mixed", wanted, after=after, **how)
        found += [row.position for row in page.rows]
        if page.more is None:
            return found
        after = page.more


def test_pages_have_what_a_plain_filter_finds(mixed: SqlStore) -> None:
    samples = [sample for sample, _ in mixed.samples("mixed")]
    chance = random.Random(1)
    selections = [Selection(), *(Selection(**{name: value}) for name, values in CHOICES.items() for value in values)]
    for _ in range(40):
        names = chance.sample(list(CHOICES), chance.choice((2, 2, 3, 4)))
        selections.append(Selection(**{name: chance.choice(CHOICES[name]) for name in names}))
    for at, wanted in enumerate(selections):
        order, descending = ORDERS[at % len(ORDERS)]
        chosen = [sample for sample in samples if plainly(sample, wanted)]
        ordered = sorted(chosen, key=lambda sample: place(sample, order, descending=descending))
        if descending and order in ("plan", "case"):
            ordered.reverse()
        expected = [sample.position for sample in ordered]
        page = mixed.page("mixed", wanted, order=order, descending=descending, limit=1000)
        assert [row.position for row in page.rows] == expected, (wanted, order, descending)
        assert (page.count, page.total, page.more) == (len(expected), len(samples), None)
        assert every_page(mixed, wanted, order=order, descending=descending, limit=40) == expected
        if len(expected) > 3:
            before = mixed.page(
                "mixed", wanted, order=order, descending=descending, after=expected[3], back=True, limit=2
            )
            assert [row.position for row in before.rows] == expected[1:3]


def test_figures_of_a_report_count_what_their_selection_has(mixed: SqlStore) -> None:
    """The rules on what counts as what are those of `metrics/table.py`."""
    table = Table(mixed.columns("mixed"), mixed.run("mixed").description)

    def count(**wanted: object) -> int | None:
        return mixed.page("mixed", Selection(**wanted)).count

    assert count(outcome="conclusive") == table.conclusive.sum()
    assert [count(passed=value) for value in (False, True)] == [(table.passed() == value).sum() for value in (0, 1)]
    assert [count(band=band) for band in table.bands] == [
        (table.band() == code).sum() for code in range(len(table.bands))
    ]
    _samples, codes = table.findings_once()
    assert [count(code=code) for code in table.codes] == [(codes == at).sum() for at in range(len(table.codes))]
    assert count(min_score=0.5) == (table.score() >= 0.5).sum()
    assert count(min_latency=0.0) == (table.times()[0] >= 0).sum()


def test_choices_are_what_the_samples_have(mixed: SqlStore) -> None:
    choices = mixed.choices("mixed")
    assert choices == {
        "outcome": sorted(Outcome),
        "category": ["chairs", "tables"],
        "difficulty": ["easy", "hard"],
        "band": ["Fair", "Good", "Poor"],
        "variant": ["long", "plain"],
        "failure": ["timeout"],
        "tag": ["odd", "old"],
        "code": ["FORMAT", "NAME", "TONE"],
        "component": ["harm", "items", "name", "tone"],
        "check": ["colour:blue", "colour:red", "count", "opening"],
    }


def put(store: SqlStore, texts: list[str | None], state: RunState = RunState.ENDED) -> None:
    cases = [case(number) for number in range(len(texts))]
    samples = [sample(cases[at], at, call_result=CallResult(text=text, latency=0.5)) for at, text in enumerate(texts)]
    store.create_run(header())
    store.add_samples("demo-1", samples, cases)
    store.update_run(header(state=state))


def test_a_row_has_the_head_of_the_answer_alone(store: SqlStore) -> None:
    put(store, ["short", "Äé\x00\ud800" * 400, "long " * 100_000, None])
    heads = [row.answer for row in store.page("demo-1").rows]
    assert heads == ["short", ("Äé\x00\ud800" * 400)[:200], ("long " * 100)[:200], None]
    row = store.page("demo-1", limit=1).rows[0]
    assert (row.case_id, row.codes, row.score, row.latency) == ("case-0000", ("YEAR",), 0.8, 0.5)


def test_a_search_that_takes_too_long_stops_and_goes_on(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "TIME", 0.0)
    put(store, ["needle" if at % 60 == 59 else "hay" for at in range(300)])
    page = store.page("demo-1", Selection(text="NEEDLE"))
    assert (page.rows, page.complete, page.count, page.searched, page.candidates) == ((), False, None, 20, 300)
    found, pages = [], 0
    while True:
        found += [row.position for row in page.rows]
        pages += 1
        if page.more is None:
            break
        page = store.page("demo-1", Selection(text="NEEDLE"), after=page.more)
    assert found == [59, 119, 179, 239, 299]
    assert pages > 10


def test_a_run_that_goes_on_is_paged_without_repeating_a_sample(store: SqlStore) -> None:
    put(store, ["a"] * 8, RunState.RUNNING)
    page = store.page("demo-1", order="score", limit=5)
    more = [case(number) for number in range(8, 12)]
    scores = dict(zip((8, 9, 10, 11), (0.1, 0.8, 0.9, None), strict=True))
    store.add_samples("demo-1", [sample(of, at, score=scores[at]) for at, of in zip(scores, more, strict=True)], more)
    rest = store.page("demo-1", order="score", after=page.more, limit=50)
    assert [row.position for row in (*page.rows, *rest.rows)] == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11]
    store.update_run(replace(store.run("demo-1"), state=RunState.ENDED))
    assert store.page("demo-1").total == 12


def test_a_cursor_that_is_none_is_a_mistake(mixed: SqlStore) -> None:
    with pytest.raises(UsageError, match="no sample at position 9999"):
        mixed.page("mixed", order="score", after=9999)
    with pytest.raises(UsageError, match="cannot be ordered by 'beauty'"):
        mixed.page("mixed", order="beauty")


def test_places_that_the_plan_left_out_are_left_out(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_columns, "LEAST", 1)
    cases = [case(number) for number in range(3)]
    store.create_run(header())
    store.add_samples("demo-1", [sample(of, at) for of, at in zip(cases, (2, 5, 9), strict=True)], cases)
    store.update_run(header(state=RunState.ENDED))
    assert [row.position for row in store.page("demo-1", after=2).rows] == [5, 9]
    assert [row.position for row in store.page("demo-1", Selection(case="case-0001")).rows] == [5]
    with pytest.raises(UsageError, match="position 4"):
        store.page("demo-1", after=4)


def test_arrays_beyond_the_limit_are_forgotten() -> None:
    import numpy as np

    cache, read = stored_paging.ArrayCache(most=100), []

    def get(name: str) -> None:
        cache.get((name,), lambda: read.append(name) or np.zeros(40, dtype=np.int8))

    for name in ("a", "b", "a", "c", "a", "b"):
        get(name)
    assert read == ["a", "b", "c", "b"]
