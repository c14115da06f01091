"""The table of figures: a row for each figure of a run, with what it stands on under the name of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parts import stored
from parts.command import invoke
from steelyard.records import AtLeast
from steelyard.stats.intervals import Estimate, Possible
from steelyard.store.figures import Figure, Kind, SliceKey
from steelyard.store.sql import SqlStore, open_store
from steelyard.tables.arrow import table_of
from steelyard.tables.frames import to_pandas

WHOLE, LAMP = SliceKey(), SliceKey("category", "lamp")
RECALL = Kind("score.<component>.<measure>", ("items", "recall"))
FIGURES = [
    Figure(WHOLE, "outcomes.planned", Kind("outcomes.planned"), Estimate(9.0, 9)),
    Figure(WHOLE, "score.items.recall", RECALL, Estimate(0.625, 7, 2, 0.25, 0.875, numerator=5, denominator=8)),
    Figure(WHOLE, "latency.p95", Kind("latency.p95"), Estimate(AtLeast(3.0), 6, 3, 2.0, None, at_least=True)),
    Figure(LAMP, "average", Kind("average"), Estimate(0.75, 3, 1, 0.5, 0.9, possible=Possible(0.5, 0.8, 1, 4))),
    Figure(LAMP, "median", Kind("median"), Estimate(None, 0, 4)),
]
COLUMNS = ("factor", "slice", "metric", "value", "n", "missing", "low", "high", "numerator", "denominator")
ROWS = [
    (None, None, "outcomes.planned", 9.0, 9, 0, None, None, None, None),
    (None, None, "score.items.recall", 0.625, 7, 2, 0.25, 0.875, 5, 8),
    (None, None, "latency.p95", 3.0, 6, 3, 2.0, None, None, None),
    ("category", "lamp", "average", 0.75, 3, 1, 0.5, 0.9, None, None),
    ("category", "lamp", "median", None, 0, 4, None, None, None, None),
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with an ended run that has these figures and no others."""
    url = str(tmp_path / "runs.db")
    with open_store(url) as store:
        run = stored.ended_run(store, 3)
        stored.keep_figures(store, run.id)
        summary = store.summary(run.id)
        assert summary is not None
        store.keep_summary(run.id, summary._replace(figures=FIGURES))
    return url


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    with open_store(url) as opened:
        yield opened


def test_arrow_has_a_row_for_each_figure(store: SqlStore) -> None:
    table = table_of(store, store.run("demo-1"), "figures")
    assert tuple(table.column_names) == COLUMNS
    assert [tuple(row.values()) for row in table.to_pylist()] == ROWS


def test_a_frame_has_the_same_with_whole_numbers(store: SqlStore) -> None:
    frame = to_pandas(store, store.run("demo-1"), "figures")
    assert tuple(frame.columns) == COLUMNS
    assert str(frame.dtypes["n"]) == str(frame.dtypes["denominator"]) == "Int64"
    known = frame.notna().to_numpy()
    cells = frame.astype(object).to_numpy()
    found = [
        tuple(cell if here else None for cell, here in zip(*row, strict=True)) for row in zip(cells, known, strict=True)
    ]
    assert found == ROWS


def test_sql_has_the_same_with_the_run_before_them(url: str) -> None:
    found = json.loads(invoke("sql", "select * from figures", "--store", url, "--json"))
    assert [tuple(row.values()) for row in found] == [("demo-1", *row) for row in ROWS]
    asked = "select value, missing from figures where metric = 'average' and slice = 'lamp'"
    assert json.loads(invoke("sql", asked, "--store", url, "--json")) == [{"value": 0.75, "missing": 1}]


def test_sql_shows_of_each_run_its_own_main_figures(url: str) -> None:
    with open_store(url) as store:
        for at, (name, average, rate) in enumerate((("demo-2", 0.25, 0.5), ("demo-3", 0.75, 1.0))):
            run = stored.ended_run(store, 3, name)
            stored.keep_figures(store, name)
            summary = store.summary(run.id)
            assert summary is not None
            two = [
                Figure(WHOLE, "average", Kind("average"), Estimate(average, 2 + at, 1)),
                Figure(WHOLE, "pass_rate", Kind("pass_rate"), Estimate(rate, 1, 2)),
            ]
            store.keep_summary(run.id, summary._replace(figures=two))
    asked = "select run, n, average, pass_rate from runs order by run"
    found: list[dict[str, Any]] = json.loads(invoke("sql", asked, "--store", url, "--json"))
    assert [tuple(row.values()) for row in found] == [
        ("demo-1", 0, None, None),
        ("demo-2", 2, 0.25, 0.5),
        ("demo-3", 3, 0.75, 1.0),
    ]
