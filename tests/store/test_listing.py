"""Runs as lists show them: pages, the newest of each suite, how far one is, and what selections find in no column."""

from __future__ import annotations

from dataclasses import replace

from parts.histories import keep, made_run
from parts.stored import case, header, sample
from steelyard.records import Claim, Finding, RunState
from steelyard.store import listing
from steelyard.store.selection import Selection


def test_pages_and_the_newest_of_each_suite(store):
    for number in range(7):
        name = "doors" if number % 3 == 0 else "chairs"
        # Two at one time: the order is that in which they were made.
        keep(store, made_run(number // 2, id=f"run-{number}", suite_name=name))
    assert store.listing.suites() == [("doors", 3), ("chairs", 4)]
    newest = store.listing.newest(["chairs", "doors"], 2)
    assert {name: [run.id for run in runs] for name, runs in newest.items()} == {
        "chairs": ["run-5", "run-4"],
        "doors": ["run-6", "run-3"],
    }
    seen, after = [], ""
    while page := store.listing.page(after=after, limit=2):
        seen += [run.id for run in page]
        after = page[-1].id
    assert seen == [f"run-{number}" for number in reversed(range(7))]
    assert [run.id for run in store.listing.page(search="DOOR", limit=2)] == ["run-6", "run-3"]
    assert [run.id for run in store.listing.page("chairs", search="n-1")] == ["run-1"]
    assert store.listing.page(search="run_1") == []


def test_samples_are_counted_whatever_the_order_in_which_they_come(store, monkeypatch):
    monkeypatch.setattr(listing, "_STILL_COMING", 3)
    monkeypatch.setattr(listing, "_AT_ONCE", 5)
    store.create_run(header("demo-1", n_planned=40))
    cases = [case(number) for number in range(40)]
    for place in (1, 0, 3, 2, 5, 9, 4, 8, 7, 12, 11, 10):
        store.add_samples("demo-1", [sample(cases[place], place)], [cases[place]])
        store.listing.stored("demo-1")
    assert store.listing.stored("demo-1") == 12
    store.add_samples("demo-1", [sample(cases[6], 6)], [cases[6]])
    assert store.listing.stored("demo-1") == 13


def test_a_run_is_read_anew_until_it_has_ended(store):
    going = header("demo-1")
    store.create_run(going)
    assert store.listing.page()[0].state is RunState.RUNNING
    store.update_run(replace(going, state=RunState.ENDED))
    assert store.listing.page()[0].state is RunState.ENDED


def test_cases_come_in_pages_and_no_more_is_read_of_long_ones(store):
    store.create_run(header("demo-1"))
    cases = [case(number, input={"text": "x" * 1_000}) for number in range(5)]
    store.add_samples("demo-1", [sample(item, place) for place, item in enumerate(cases)], cases)
    first = store.listing.cases("demo-1", "", 3, 100)
    assert [name for name, _ in first] == [item.id for item in cases[:3]]
    assert {len(content) for _, content in first} == {100}
    assert [name for name, _ in store.listing.cases("demo-1", first[-1][0], 3, 100)] == [item.id for item in cases[3:]]


def test_samples_are_selected_by_what_a_finding_says_and_an_answer_claims(store):
    store.create_run(header("demo-1"))
    cases = [case(number) for number in range(4)]
    findings = [
        (Finding("ROLE", expected="chair", got="stool", section="top"),),
        (Finding("ROLE", expected="chair", got="bench", section="end"), Finding("NAME", expected="x", got="stool")),
        (),
        (Finding("NAME", expected=3, got=4),),
    ]
    claims = [(Claim(0.5, True, "a"),), (Claim(0.5, False, "a"), Claim(1.0, True)), (Claim(1.0, False),), ()]
    samples = [sample(item, place, findings=findings[place], claims=claims[place]) for place, item in enumerate(cases)]
    store.add_samples("demo-1", samples, cases)

    def found(**asked):
        return [row.position for row in store.page("demo-1", Selection(**asked)).rows]

    assert found(section="end") == [1]
    assert found(got="stool") == [0, 1]
    assert found(code="ROLE", got="stool") == [0]
    assert found(code="NAME", expected="3", got="4") == [3]
    assert found(claim="a") == [0, 1]
    assert found(claim="(none)") == [1, 2]
    assert found(claim="a", right=False) == [1]
    assert found(min_confidence=0.5, max_confidence=1.0) == [0, 1, 2]
    assert found(min_confidence=0.5, max_confidence=0.9, right=True) == [0]
    assert found(max_confidence=0.5) == []
    assert found(mode="model") == []
