"""One number of an ended run is the same wherever it is asked for, also once labels have come or were taken back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard
from parts.command import invoke
from parts.served import client_on
from parts.stored import case, header, sample
from steelyard.records import RunFacts, RunState
from steelyard.store.people import LabelRecord
from steelyard.store.sql import open_store

N = 12
"""Answers, of which numbers 0, 3, 6 and 9 do not pass: of the even ones (0, 2, 4, ...) that is 2 of 6."""


def of_report(url: str, name: str, part: str) -> Any:
    report = json.loads(invoke("report", "demo-1", "--json", "--store", url))
    if not part:
        return report["figures"].get(name)
    return next(item["figures"] for item in report["slices"]["category"] if item["name"] == part).get(name)


def of_gate(url: str, name: str, part: str) -> Any:
    gate = f"category.{part}.{name}" if part else name
    (shown,) = json.loads(invoke("gate", "demo-1", "--gate", f"{gate} >= 1 %", "--json", "--store", url))["gates"]
    return shown["value"]


def of_explanation(url: str, name: str, part: str) -> Any:
    asked = f"category.{part}.{name}" if part else name
    (found,) = json.loads(invoke("report", "demo-1", "--explain", asked, "--json", "--store", url))["explained"]
    return found["figure"]


def of_history(url: str, name: str, part: str) -> Any:
    asked = f"category.{part}.{name}" if part else name
    history = json.loads(invoke("history", "demo", "--metric", asked, "--json", "--store", url))
    (trend,) = [item for item in history["trends"] if item["metric"] == asked]
    (run,) = history["runs"]
    assert run["figures"][asked] == trend["values"][0]
    return trend["values"][0]


def of_sql(url: str, name: str, part: str) -> Any:
    where = f"slice = '{part}'" if part else "factor is null"
    asked = f"select value, n, missing as n_missing, low, high from figures where metric = '{name}' and {where}"
    return next(iter(json.loads(invoke("sql", asked, "--json", "--store", url))), None)


def of_python(url: str, name: str, part: str) -> Any:
    figures = steelyard.load_run("demo-1", store=url).figures
    found = figures.slice("category" if part else "", part)[name]
    return {key: getattr(found, key) for key in ("value", "n", "n_missing", "low", "high")}


def of_page(url: str, name: str, part: str) -> Any:
    with open_store(url) as store, client_on(store) as client:
        report = client.get("/api/runs/demo-1").json()["report"]
    if not part:
        return report["figures"].get(name)
    return next(item["figures"] for item in report["slices"]["category"] if item["name"] == part).get(name)


PLACES: list[Callable[[str, str, str], Any]] = [
    *(of_report, of_gate, of_explanation, of_history, of_sql, of_python, of_page),
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a run whose figures everybody has looked at before people labelled all of its answers: they let
    numbers 0 to 8 pass, of which 0, 2, 4, 6 and 8 are even."""
    url = str(tmp_path / "runs.db")
    suite = header().suite | {"passing": {"at_least": 0.6, "text": "score >= 60 %"}}
    run = header(suite=suite, n_planned=N, options=RunFacts())
    cases = [case(number) for number in range(N)]
    samples = [sample(of, number, passed=number % 3 != 0) for number, of in enumerate(cases)]
    with open_store(url) as store:
        store.create_run(run)
        store.add_samples(run.id, samples, cases)
        run.state = RunState.ENDED
        store.update_run(run)
    for place in (of_report, of_python, of_page):
        assert place(url, "pass_rate", "")["value"] == pytest.approx(8 / 12)
    with open_store(url) as store:
        labels = [LabelRecord("demo", of.id, "ann", "verdict", at < 9, run.id) for at, of in enumerate(cases)]
        store.people.add_labels(labels)
    return url


@pytest.mark.parametrize(
    ("name", "part", "value", "n"),
    [
        ("pass_rate", "", 8 / 12, 12),
        ("pass_rate", "even", 4 / 6, 6),
        ("pass_rate.corrected", "", 9 / 12, 12),
        ("pass_rate.corrected", "even", 5 / 6, 6),
    ],
)
@pytest.mark.parametrize("first", range(0, len(PLACES), 2))
def test_every_place_says_the_same_whoever_asks_first(
    url: str, first: int, name: str, part: str, value: float, n: int
) -> None:
    found = [place(url, name, part) for place in (*PLACES[first:], *PLACES[:first])]
    for item in found:
        assert (item["value"], item["n"], item["n_missing"]) == (pytest.approx(value), n, 0)
        assert (item["low"], item["high"]) == pytest.approx((found[0]["low"], found[0]["high"]))
        assert item["low"] < value < item["high"]
