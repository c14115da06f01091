"""The page of a comparison, its pairs in order, and one pair with what differs."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from parts.columns import suite
from parts.stored import case, failed, header, sample
from steelyard.comparing import sentences
from steelyard.comparing.compare import compare
from steelyard.pairing.runs import read_run
from steelyard.records import CallResult, Finding, RunState
from steelyard.store.sql import SqlStore
from steelyard.web import change_figures, changes
from steelyard.web.differences import ShownLength, differences

BEFORE = {0: 0.9, 1: 0.2, 2: 0.9, 3: 0.1, 4: 0.8, 5: 0.9, 6: 0.7}
AFTER = {0: 0.2, 1: 0.95, 2: 0.8, 3: 0.3, 4: 0.8, 5: None, 7: 0.7}
PASS = 0.5


def put(store: SqlStore, run_id: str, scores: dict[int, float | None], *, text: str = "It is {}.", **more: Any) -> None:
    """An ended run with these scores by case, case 2 twice; between two samples a place of the plan is empty."""
    described = suite(passing={"at_least": PASS, "text": "score >= 50 %"})
    run = header(run_id, **({"suite": described} | more))
    store.create_run(run)
    cells = [(number, repeat) for number in scores for repeat in (0, 1) if repeat == 0 or number == 2]
    samples = []
    for place, (number, repeat) in enumerate(cells):
        score = 0.9 if repeat else scores[number]
        place = {"position": 3 * place + 1, "repeat": repeat}
        if score is None:
            samples.append(failed(case(number), **place))
            continue
        found = (Finding("YEAR", "year", 1900, 1890),) if score < PASS else ()
        answer = CallResult(text=text.format(number), status=200, latency=0.1)
        samples.append(
            sample(case(number), **place, score=score, passed=score >= PASS, call_result=answer, findings=found)
        )
    store.add_samples(run_id, samples, [case(number) for number in scores])
    run.state, run.ended_at = RunState.ENDED, 1012.0
    store.update_run(run)


@pytest.fixture
def runs(store: SqlStore) -> SqlStore:
    put(store, "a", BEFORE)
    put(store, "b", AFTER, text="It was {}, <b>then</b>.")
    return store


def listed(client, query: str = "") -> list[dict[str, Any]]:
    response = client.get(f"/api/changes/a/b/pairs{query}")
    assert response.status_code == 200
    return response.json()["pairs"]


def names(pairs: list[dict[str, Any]]) -> list[str]:
    return [pair["name"].replace("case-000", "") for pair in pairs]


def text_of(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_pairs_stand_in_order_of_the_move_then_what_is_not_comparable_then_what_did_not_move(client, runs):
    pairs = listed(client)
    assert names(pairs) == ["1", "0", "3", "2", "6", "7", "5", "2 #2", "4"]
    assert [pair["moved"] and round(pair["moved"], 9) for pair in pairs] == [0.75, -0.7, 0.2, -0.1, *[None] * 3, 0, 0]
    reasons = [pair["not_comparable"] for pair in pairs]
    assert reasons == ["", "", "", "", "only in A", "only in B", "inconclusive in B", "", ""]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("broken", ["0"]),
        ("fixed", ["1"]),
        ("worse", ["0", "2"]),
        ("better", ["1", "3"]),
        ("not-comparable", ["6", "7", "5"]),
    ],
)
def test_a_kind_lists_its_pairs_and_counts_all(client, runs, kind, expected):
    assert names(listed(client, f"?kind={kind}")) == expected
    counts = {item["kind"]: item["count"] for item in client.get("/api/changes/a/b").json()["kinds"]}
    assert counts[kind] == len(expected)
    assert counts["all"] == 9


def test_pages_of_pairs_go_on_where_the_last_one_ended(client, runs, monkeypatch):
    monkeypatch.setattr(changes, "_A_PAGE", 4)
    shown, after = [], 0
    while after is not None:
        page = client.get(f"/api/changes/a/b/pairs?after={after}").json()
        shown += names(page["pairs"])
        after = page["next"]
    assert shown == ["1", "0", "3", "2", "6", "7", "5", "2 #2", "4"]


def test_of_each_kind_only_so_many_are_listed_and_the_page_says_so(client, runs, monkeypatch):
    monkeypatch.setattr(change_figures, "MOST_LISTED", 1)
    monkeypatch.setattr(changes, "MOST_LISTED", 1)
    page = text_of(client.get("/changes/a/b/pairs?kind=worse").text)
    assert "Of each kind the first 1 are listed: 1 of 2." in page
    assert names(listed(client)) == ["1", "0", "6", "2 #2"]


def test_a_pair_shows_both_samples_with_differences_findings_and_keys(client, runs):
    page = client.get("/changes/a/b/pairs/2?kind=worse").text
    assert "<del>is</del>" in page
    assert "<ins>was</ins>" in page
    assert "<b>then" not in page
    assert "&lt;b&gt;then&lt;/b&gt;" in page
    # Sample 0 is at place 1 of both plans.
    assert 'href="/runs/a/samples/1"' in page
    assert 'href="/runs/b/samples/1"' in page
    assert "+ new YEAR year 1900 1890" in text_of(page)
    keys = dict(re.findall(r'data-key="(\w)" href="([^"]+)"', page))
    assert keys == {
        "n": "/changes/a/b/pairs/4?kind=worse",
        "f": "/changes/a/b/pairs/1?kind=fixed",
        "x": "/changes/a/b/pairs/5?kind=not-comparable",
    }


def test_without_a_pass_rule_the_keys_lead_to_what_fell_and_rose(client, store):
    put(store, "a", BEFORE, suite=suite(passing=None))
    put(store, "b", AFTER, suite=suite(passing=None))
    page = client.get("/changes/a/b").text
    keys = dict(re.findall(r'data-key="(\w)" href="[^"]+/pairs/([^"]+)"', page))
    assert keys == {"b": "2?kind=worse", "f": "1?kind=better", "x": "5?kind=not-comparable", "n": "1"}


def test_answers_that_are_alike_as_far_as_they_were_read_are_not_called_the_same(client, store):
    put(store, "a", {0: 0.9}, text="x" * 2_050_000 + " one")
    put(store, "b", {0: 0.9}, text="x" * 2_050_000 + " two")
    kind, words = listed(client)[0]["answers"][-1]
    assert kind == "cut"
    assert "not compared after 2,000,000 characters" in words


def test_an_empty_answer_is_an_answer(client, store):
    put(store, "a", {0: 0.9}, text="")
    put(store, "b", {0: 0.9})
    page = client.get("/changes/a/b/pairs/1").text
    assert "The answer was empty." in page
    assert "There is no answer" not in page


def test_a_pair_with_one_side_says_so(client, runs):
    page = client.get("/changes/a/b/pairs/6").text
    assert "This run has no such sample." in page
    assert "only in B" in page
    # Case 7 is the last of eight samples.
    assert 'href="/runs/b/samples/22"' in page


def test_the_page_says_what_the_command_says_and_draws_why(client, runs):
    page = client.get("/changes/a/b")
    shown = text_of(page.text)
    comparison = compare(read_run(runs, "a"), read_run(runs, "b"))
    assert f"{sentences.verdict_word(comparison)} {sentences.answer(comparison)}" in shown
    assert sentences.counts(comparison) in shown
    assert "Why the pass rate moved" in shown
    assert 'class="waterfall"' in page.text
    assert "other cases" in shown
    assert 'href="/runs/b/samples?category=odd"' in page.text


def test_runs_of_two_suites_are_shown_side_by_side_and_nothing_is_called_better(client, store):
    put(store, "a", BEFORE)
    put(store, "b", {number + 20: 0.9 for number in AFTER}, suite_name="other", signature={"suite": "other"})
    page = client.get("/changes/a/b")
    assert page.status_code == 200
    assert "CANNOT TELL" in page.text
    assert client.get("/changes/a/b/pairs/1").status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/changes/a/none", 404, "none"),
        ("/changes/a/b/pairs/99", 404, "there is no pair '99' of a and b: 1 to 9 are"),
        ("/changes/a/b/pairs/x", 404, "there is no pair 'x'"),
        ("/changes/a/b/pairs?kind=odd", 400, "kind"),
        ("/changes/a/b/pairs?after=-1", 400, "after"),
    ],
)
def test_what_is_not_there_is_said_without_a_traceback(client, runs, path, status, message):
    response = client.get(path)
    assert response.status_code == status
    assert message in text_of(response.text)
    assert client.get(f"/api{path}").json()["error"]


def test_another_scoring_is_not_scored_again_but_the_command_for_it_is_named(client, store):
    put(store, "a", BEFORE, signature={"scorers": "1"})
    put(store, "b", AFTER, signature={"scorers": "2"})
    shown = text_of(client.get("/changes/a/b").text)
    assert "CANNOT TELL" in shown
    assert "the scorers differ" in shown
    assert "`steelyard compare a b` scores A's recorded answers by B's suite" in shown


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The quick brown fox", "The slow brown fox"),
        ("", "now there is one"),
        ("walked", "talked"),
        ("a b " * 30_000 + "end", "b a " * 30_000),
        ("x" * 500_000, "x" * 499_999 + "y"),
        ("same\u0301 text", "same text"),
    ],
)
def test_differences_give_back_both_texts(first, second):
    wide = ShownLength(10**7, 10**7) if len(first) < 100 else ShownLength()
    parts = differences(first, second, wide)
    if len(first) > 100:
        assert "cut" in [side for side, _ in parts]
    else:
        assert "".join(text for side, text in parts if side in ("both", "first")) == first
        assert "".join(text for side, text in parts if side in ("both", "second")) == second
    assert sum(len(text) for _, text in parts) < 25_000


def test_a_few_common_words_between_two_changes_are_no_difference_of_their_own():
    parts = differences("we saw the old grey house by the sea", "we saw a new and much larger house by the sea")
    assert parts == [
        ("both", "we saw "),
        ("first", "the old grey"),
        ("second", "a new and much larger"),
        ("both", " house by the sea"),
    ]
