"""The table of a run's samples: what is selected stands in the address, and every row leads to its sample."""

from __future__ import annotations

import re
from typing import get_type_hints

import pytest
from starlette.testclient import TestClient

from parts.mixed_run import put_mixed
from parts.stored import case, header, sample
from steelyard.records import CallResult, RunState
from steelyard.store import paging
from steelyard.store.selection import Selection
from steelyard.store.sql import SqlStore

PAGE = "/runs/mixed/samples"


@pytest.fixture
def mixed(store: SqlStore, client: TestClient) -> TestClient:
    put_mixed(store, "mixed", 3)
    return client


def addresses(text: str) -> list[str]:
    return re.findall(r'<tr data-href="([^"]+)"', text)


def test_a_page_has_fifty_rows_that_lead_to_samples_and_a_way_to_the_next(mixed: TestClient) -> None:
    first = mixed.get(PAGE)
    assert first.status_code == 200
    assert "192 samples" in first.text
    assert addresses(first.text) == [f"{PAGE}/{position}" for position in range(50)]
    second = mixed.get(f"{PAGE}?after=49").text
    assert f'href="{PAGE}?after=49" data-key="n"' in first.text
    assert addresses(second)[0] == f"{PAGE}/50"
    assert f'href="{PAGE}?before=50" data-key="p"' in second
    assert addresses(mixed.get(f"{PAGE}?before=50").text) == addresses(first.text)
    assert 'data-key="n"' not in mixed.get(f"{PAGE}?after=180").text


def test_a_selection_is_shown_counted_and_taken_back(mixed: TestClient) -> None:
    text = mixed.get(f"{PAGE}?category=chairs&passed=false&order=-score&min_score=0.1&text=").text
    count = mixed.get(f"/api{PAGE}?category=chairs&passed=false&min_score=0.1").json()["count"]
    assert f"{count} of 192 samples" in text
    assert '<option value="chairs" selected>' in text
    assert '<option value="-score" selected>' in text
    assert '<input type="hidden" name="min_score" value="0.1">' in text
    assert f'href="{PAGE}?order=-score&amp;passed=false&amp;min_score=0.1" aria-label="Without category chairs"' in text
    assert "score ≥ 0.1" in text


def test_every_part_of_a_selection_is_taken_from_the_address(mixed: TestClient) -> None:
    kinds = get_type_hints(Selection)
    words = {"outcome": "scored", "state": "passed", "text": "a"}
    asked = {
        name: words.get(name, "x") if kind is str else True if kind == bool | None else 0.5
        for name, kind in kinds.items()
    }
    for name, value in asked.items():
        answer = mixed.get(f"/api{PAGE}", params={name: value})
        assert answer.json()["selection"] == {name: value}


def test_the_form_has_what_the_run_has(mixed: TestClient, store: SqlStore) -> None:
    text = mixed.get(PAGE).text
    chosen = re.findall(r'<select id="(\w+)"', text)
    # One kind of failure is no choice.
    assert chosen == [
        "order",
        "outcome",
        "passed",
        "category",
        "difficulty",
        "band",
        "variant",
        "code",
        "tag",
        "check",
        "state",
    ]
    store.create_run(header())
    store.add_samples("demo-1", [sample(case(1), 0)], [case(1)])
    assert re.findall(r'<select id="(\w+)"', mixed.get("/runs/demo-1/samples").text) == ["order", "tag"]
    assert "0 of 1 sample" in mixed.get("/runs/demo-1/samples?tag=none").text


def test_a_search_that_stopped_goes_on_by_itself(
    client: TestClient, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "TIME", 0.0)
    cases = [case(number) for number in range(60)]
    texts = ["needle" if at == 55 else "hay" for at in range(60)]
    store.create_run(header())
    store.add_samples(
        "demo-1", [sample(of, at, call_result=CallResult(text=texts[at])) for at, of in enumerate(cases)], cases
    )
    store.update_run(header(state=RunState.ENDED))
    address, found, rounds = "/runs/demo-1/samples?text=Needle", [], 0
    while address:
        text = client.get(address).text
        found += addresses(text)
        going = re.search(r'<tr id="more" hx-get="([^"]+)"', text)
        address = going[1].replace("&amp;", "&") if going else ""
        rounds += 1
    assert found == ["/runs/demo-1/samples/55?text=Needle"]
    assert rounds > 2
    assert "Searching: 20 of 60 samples looked at" in client.get("/runs/demo-1/samples?text=Needle").text


def test_foreign_texts_stay_texts(client: TestClient, store: SqlStore) -> None:
    nasty = '<script>alert(1)</script>\u202e"'
    of = case(1, id=nasty, category=nasty)
    store.create_run(header())
    store.add_samples("demo-1", [sample(of, 0, category=nasty, call_result=CallResult(text=nasty))], [of])
    text = client.get("/runs/demo-1/samples", params={"text": nasty, "category": nasty}).text
    assert len(addresses(text)) == 1
    assert "<script>alert" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("asked", "status", "message"),
    [
        ("order=beauty", 400, "order"),
        ("passed=perhaps", 400, "passed"),
        ("order=score&after=9999", 400, "no sample at position 9999"),
        ("after=99999999999999999999", 400, "after"),
        ("min_score=high", 400, "min_score"),
    ],
)
def test_mistakes_are_said(mixed: TestClient, asked: str, status: int, message: str) -> None:
    answer = mixed.get(f"/api{PAGE}?{asked}")
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert mixed.get("/runs/nothing/samples").status_code == 404
