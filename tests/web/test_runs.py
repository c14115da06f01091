"""Runs, a run, history and suites; and every figure leads to the samples that it counts."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest

from parts.histories import keep, made_run
from parts.served import client_on
from parts.stored import add_planned, case, ended_run, failed, header, sample
from steelyard.records import RunFacts, RunState, Verdict
from steelyard.report import document as doc
from steelyard.report.build import build_report
from steelyard.report.run import document
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.people import DISAGREEMENT, RANDOM, LabelRecord, Queue, QueuePlan
from steelyard.store.selection import Selection
from steelyard.web.run import state_of

COUNTED = {
    ("Score distribution", "Samples"),
    ("Failures by cause", "Samples"),
    ("Errors by code", "In samples"),
    ("Top confusions", "Samples"),
    ("Errors by section", "Samples"),
}
"""Columns that say how many samples there are."""


def _tables(blocks):
    return [block for block in doc.every_block(blocks) if isinstance(block, doc.Table)]


def _cells(blocks):
    for table in _tables(blocks):
        for row in table.rows:
            for cell, column in zip(row, table.columns, strict=True):
                yield table.title, column, cell


def _count(store, run_id, selection):
    """How many samples all pages of a selection have: what takes long comes in several."""
    n, after = 0, None
    while True:
        page = store.page(run_id, selection, limit=500, after=after)
        n += len(page.rows)
        if (after := page.more) is None:
            return n


def test_a_figure_that_counts_samples_leads_to_as_many(full):
    shown = document(build_report(full, full.run("rich-1")))
    looked_at = set()
    for title, column, cell in _cells(shown.blocks):
        if (title, column.title) in COUNTED:
            assert _count(full, "rich-1", cell.selection) == int(re.match(r"\d+", cell)[0]), (
                title,
                cell,
                cell.selection,
            )
            looked_at.add((title, column.title))
        if title.startswith(("By category", "By variant", "By tag", "By difficulty")) and column.title == "n":
            conclusive = replace(cell.selection, outcome="conclusive")
            assert _count(full, "rich-1", conclusive) == int(re.match(r"\d+", cell)[0]), (title, cell)
            looked_at.add("slices")
    assert len(looked_at) >= 5


def test_claims_of_a_bucket_and_kind_are_found(full):
    report = build_report(full, full.run("rich-1"))
    claimed = {}
    for one, _ in full.samples("rich-1"):
        for claim in one.claims if one.outcome.conclusive and one.mode in (None, report.summary.judge.mode) else ():
            claimed.setdefault(claim.label or "(none)", set()).add(one.key)
    for title, column, cell in _cells(document(report).blocks):
        if title == "Confidence by kind of claim" and column.title == "n":
            assert _count(full, "rich-1", cell.selection) == len(claimed[cell.selection.claim])
        if title == "Errors by confidence" and column.title == "Wrong" and not cell.startswith("0 "):
            assert 0 < _count(full, "rich-1", cell.selection) <= int(cell.split()[0])


def test_every_number_of_a_run_is_a_link_to_samples(full):
    with client_on(full) as client:
        pages, part = "", 1
        while True:
            page = client.get("/runs/rich-1", params={"part": part}).text
            assert len(page.encode()) < 100_000
            pages += page
            if f"part={part + 1}" not in page:
                break
            part += 1
        cells = re.findall(r'<td[^>]*class="number"[^>]*>(.*?)</td>', pages, re.DOTALL)
        bare = [cell for cell in cells if "behind" not in cell and re.search(r"\d", cell)]
        weights = [cell for cell in bare if cell.endswith(" %") and "." not in cell]
        assert len(cells) > 300
        assert bare == weights
        addresses = {
            item.replace("&amp;", "&")
            for item in re.findall(r'class="behind"[^>]*|href="([^"]+)" class="behind"', pages)
        }
        for address in sorted(filter(None, addresses))[::25]:
            assert client.get(address).status_code == 200


def _put_chairs(store, n=3, **changes):
    for number in range(n):
        keep(store, made_run(number, 0.7 + number / 1_000, **changes))


def test_runs_stand_by_suite_with_verdict_figure_trend_changes_and_baselines(store):
    _put_chairs(store)
    keep(
        store,
        made_run(
            3,
            0.9,
            signature={"truth": "t2", "judge": "j1"},
            suite={"judge": {"mode": "model", "members": [{"kind": "chat", "model": "m-7"}]}},
        ),
    )
    store.log_baseline(BaselineEntry("chairs", "release", "chairs-001", time.time(), "me", ""))
    with client_on(store) as client:
        shown = client.get("/api/runs").json()["suites"]
        page = client.get("/runs").text
    assert [item["suite"] for item in shown] == ["chairs"]
    runs = shown[0]["runs"]
    assert [run["id"] for run in runs] == ["chairs-003", "chairs-002", "chairs-001", "chairs-000"]
    assert runs[0]["figure"]["label"] == "Pass rate"
    assert runs[0]["figure"]["estimate"]["value"] == 0.9
    assert "the truth" in runs[0]["changed"][0]
    assert "m-7" in runs[0]["changed"][0]
    assert not runs[1]["changed"]
    assert runs[2]["baselines"] == ["release"]
    assert [point["changed"] for point in shown[0]["trend"]] == [False, False, False, True]
    assert '<svg class="spark"' in page
    assert "baseline release" in page
    assert "style=" not in page


def test_a_list_shows_the_pass_rate_or_without_a_pass_rule_the_average(store):
    keep(store, made_run(0, 0.6, figures={"pass_rate": 0.25}))
    keep(store, made_run(1, 0.7, figures={"pass_rate": 0.5}, suite={"passing": None}))
    with client_on(store) as client:
        (group,) = client.get("/api/runs").json()["suites"]
    found = {run["id"]: (run["figure"]["label"], run["figure"]["estimate"]["value"]) for run in group["runs"]}
    assert found == {"chairs-000": ("Pass rate", 0.25), "chairs-001": ("Average", 0.7)}


def test_a_page_counts_what_did_not_pass_and_leads_to_it_and_to_the_run_before(store):
    passing = {"passing": {"at_least": 0.6, "text": "score >= 60 %"}}
    for number in range(3):
        run = header(f"demo-{number}", created_at=1000.0 + number, suite=header().suite | passing, n_planned=6)
        store.create_run(run)
        cases = [case(at) for at in range(6)]
        # Four pass, one does not, and one call failed: nobody knows of that one.
        samples = [sample(of, at, passed=at != 2) for at, of in enumerate(cases[:5])] + [failed(cases[5], 5)]
        store.add_samples(run.id, samples, cases)
        store.update_run(replace(run, state=RunState.ENDED))
    with client_on(store) as client:
        shown = client.get("/api/runs/demo-1").json()
        page = client.get("/runs/demo-1").text
        assert shown["n_failed"] == 1
        assert shown["compare_with"] == [
            {"what": "the run before", "run": "demo-0", "address": "/changes/demo-0/demo-1"}
        ]
        assert client.get("/api/runs/demo-0").json()["compare_with"] == []
    assert re.search(r'<a data-key="f" href="/runs/demo-1/samples\?passed=false">1 failed</a>', page)
    assert _count(store, "demo-1", Selection(passed=False)) == 1


def test_a_trend_has_no_run_that_is_invalid_suspect_or_of_a_part_and_answers_once(store):
    runs = {
        "whole": {"figures": {"n": 8, "missing": 2}},
        "invalid": {"verdict": Verdict.INVALID},
        "suspect": {"suspect": ("all answers are equal",)},
        "part": {"options": RunFacts(limit=4), "n_planned": 4},
        "again": {"rescored_from": "whole"},
    }
    for day, (name, more) in enumerate(runs.items()):
        keep(store, made_run(day, id=name, **more))
    with client_on(store) as client:
        (group,) = client.get("/api/runs").json()["suites"]
        page = client.get("/runs").text
    assert {run["id"]: run["no_trend"] for run in group["runs"]} == {
        "whole": "",
        "invalid": "INVALID",
        "suspect": "suspect: all answers are equal",
        "part": "only a part of the suite",
        "again": "",
    }
    assert len(group["trend"]) == 1
    assert "only a part of the suite" in page
    assert "8, 2 missing" in page


def test_pages_of_runs_have_each_once(store):
    _put_chairs(store, 120)
    keep(store, made_run(0, id="doors-1", suite_name="doors", verdict=None))
    with client_on(store) as client:
        seen, after = [], ""
        while True:
            answer = client.get("/api/runs", params={"suite": "chairs", "after": after}).json()
            seen += [run["id"] for group in answer["suites"] for run in group["runs"]]
            if not (after := answer["next"]):
                break
        assert seen == [f"chairs-{number:03d}" for number in reversed(range(120))]
        assert len(client.get("/runs?suite=chairs").content) < 100_000
        found = client.get("/api/runs", params={"search": "DOORS"}).json()["suites"]
        assert [run["id"] for group in found for run in group["runs"]] == ["doors-1"]
        assert client.get("/api/runs", params={"search": "%"}).json()["suites"] == []
        names = [group["suite"] for group in client.get("/api/runs").json()["suites"]]
        assert names == ["chairs", "doors"]


def test_a_run_that_goes_on_shows_how_far_it_is_and_its_figures_so_far(store):
    going = header("demo-1", n_planned=4)
    store.create_run(going)
    cases = [case(number) for number in range(4)]
    store.add_samples("demo-1", [sample(cases[0], 0)], cases[:1])
    before = state_of(store, going)
    store.add_samples("demo-1", [sample(cases[2], 2)], cases[2:3])
    assert state_of(store, going) != before
    with client_on(store) as client:
        assert client.get("/api/runs/demo-1/progress").json()["progress"] == {
            "run": "demo-1",
            "state": "running",
            "stored": 2,
            "planned": 4,
        }
        assert 'hx-trigger="every 2s"' in client.get("/runs").text
        page = client.get("/runs/demo-1").text
        assert "2 of 4 samples" in page
        store.update_run(replace(going, state=RunState.ENDED))
        assert "hx-trigger" not in client.get("/runs/demo-1/progress").text


def test_what_figures_depend_on_changes_with_labels_and_baselines(store):
    _put_chairs(store, 1)
    run = store.run("chairs-000")
    states = [state_of(store, run)]
    store.log_baseline(BaselineEntry("chairs", "release", run.id, time.time(), "me", ""))
    states.append(state_of(store, run))
    number = store.people.add_labels([LabelRecord("chairs", "c1", "ann", "pass", True, run.id)])[0]
    states.append(state_of(store, run))
    store.people.withdraw(number)
    states.append(state_of(store, run))
    assert len(set(states)) == 4


def _put_labels(store, n, good):
    """A run of 12 answers, the first `n` of which have labels that a plan drew; `good` of these let it pass."""
    run = ended_run(store, 12)
    told = [(case(number).id, number < good) for number in range(n)]
    labels = [LabelRecord("demo", name, "ann", "verdict", value, run.id, drawn=RANDOM) for name, value in told]
    add_planned(store, labels)
    return run


def _corrected(page):
    return page["report"]["figures"]["pass_rate.corrected"]["value"]


def test_pages_show_what_labels_come_to_also_after_a_plan_alone_changed_it(store):
    run = _put_labels(store, 10, 9)
    with client_on(store) as client:
        # 6 of the 8 that pass are labelled, all good; the other 4 all are, 3 of them good: 8 / 12 + 4 / 12 x 3 / 4.
        assert _corrected(client.get("/api/runs/demo-1").json()) == pytest.approx(11 / 12)
        of_people = client.get("/api/desk/demo-1/figures").json()
        assert of_people["estimates"]["figures"][0]["together"]["value"] == pytest.approx(11 / 12)
        # All are drawn at random now, where some had been picked: two have no label yet.
        places = [((case(number).id, "", 0), RANDOM) for number in range(12)]
        store.people.add_places(Queue(run.id), QueuePlan("verdict", turned=(DISAGREEMENT,)), places)
        assert _corrected(client.get("/api/runs/demo-1").json()) is None
        of_people = client.get("/api/desk/demo-1/figures").json()
        assert of_people["estimates"]["figures"][0]["together"]["value"] is None


def test_a_suite_counts_the_labels_that_were_not_taken_back(store):
    _put_labels(store, 3, 3)
    store.people.withdraw(2)
    with client_on(store) as client:
        assert client.get("/api/suites/demo").json()["n_labels"] == 2
        assert "2 labels" in client.get("/suites/demo").text


@pytest.mark.parametrize("query", [{}, {"by": "category"}, {"metric": "median", "last": 3}])
def test_a_history_leads_to_its_runs(store, query):
    _put_chairs(store, 9, figures={"categories": {"oak": 0.5, "elm": 0.9}})
    with client_on(store) as client:
        page = client.get("/history/chairs", params=query)
        assert page.status_code == 200
        assert 'href="/runs/chairs-008"' in page.text
        assert 'href="/runs/chairs-008/samples"' in page.text
        for chart in re.findall(r'src="(/charts/\w+)"', page.text):
            assert client.get(chart).headers["content-type"].startswith("image/svg+xml")
        assert client.get("/api/history/chairs", params=query).json()["history"]["suite"] == "chairs"
        assert client.get("/history/tables").status_code == 404
        assert client.get("/history/chairs", params={"metric": "nonsense"}).status_code == 400


def test_a_suite_is_shown_as_its_newest_run_stored_it(full):
    with client_on(full) as client:
        assert {item["suite"] for item in client.get("/api/suites").json()["suites"]} >= {"rich"}
        page = client.get("/suites/rich").text
        assert "SLIP" in page
        assert "Rubric" in page
        assert "steelyard audit" in page
        seen, after = [], ""
        while True:
            answer = client.get("/api/suites/rich", params={"after": after}).json()
            seen += [item["id"] for item in answer["cases"]]
            if not (after := answer["next"]):
                break
        assert seen == sorted(seen)
        assert len(seen) == len(set(seen)) == 24
        assert client.get("/suites/nothing").status_code == 404
        for item in client.get("/api/suites").json()["suites"]:
            hostile = client.get("/suites/" + item["suite"].replace("/", "%2F")).text
            assert "<script>window" not in hostile
            assert "\u202e" not in hostile
