"""What is paged and filtered is found by an index, on both databases: none of it walks over a run of a million."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from parts.stored import header
from steelyard.store import postgres
from steelyard.store.databases import SqliteSession
from steelyard.store.selection import Selection
from steelyard.store.sql import SqlStore, open_store

_NUMBERS = "WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k + 1 < {n})"
_OUTCOME = (
    "CASE WHEN k % 1000 = 0 THEN 'malformed' WHEN k % 1000 = 1 THEN 'target_failed' "
    "WHEN k % 1000 = 2 THEN 'judge_failed' ELSE 'scored' END"
)
_FILL = f"""
INSERT INTO cases (id, hash, content) {_NUMBERS} SELECT 'c' || k, '0', '{{{{"id":"c"}}}}' FROM n;
INSERT INTO layouts (run, number, content) VALUES (1, 0, '[]');
INSERT INTO calls (run, seq, latency, started_at, tries, cached, cut_off)
{_NUMBERS} SELECT 1, k, 0.1, 0, 1, 0, 0 FROM n;
INSERT INTO samples (run, seq, case_id, variant, repeat, case_hash, call_run, outcome, score, category, layout, scores)
{_NUMBERS} SELECT 1, k, 'c' || k, '', 0, '0', 1, {_OUTCOME}, 0.5, 'category ' || (k % 20), 0, '[]' FROM n;
INSERT INTO findings (run, seq, position, code, place, evidence, severity, component, gain, section)
{_NUMBERS} SELECT 1, k, 0, 'CODE_' || (k % 500), '', '', 'minor', '', 0.1, '' FROM n
"""
_OF_CATEGORY = "SELECT seq FROM samples WHERE run = ? AND category = ? AND seq > ? ORDER BY seq LIMIT 50"


@pytest.fixture(params=[20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def filled(url: str, request: pytest.FixtureRequest) -> Iterator[SqlStore]:
    store = open_store(url)
    store.create_run(header())
    with store.database.writing() as session:
        for statement in _FILL.format(n=request.param).split(";"):
            session.execute(statement)
    with store.database.writing() as session:
        session.execute("ANALYZE" if store.database.dialect.name == "postgresql" else "SELECT 1")
    yield store
    store.close()


def of_category(store: SqlStore) -> None:
    """As somebody who looks into the tables asks for it."""
    with store.database.reading() as session:
        assert session.execute(_OF_CATEGORY, (1, "category 7", 10_000))[0] == (10_007,)


_READS: dict[str, Callable[[SqlStore], object]] = {
    "a page of samples": lambda store: next(iter(store.samples("demo-1"))),
    "a page of cases": lambda store: next(iter(store.cases("demo-1"))),
    "samples of cases": lambda store: list(store.samples("demo-1", case_ids=["c7", "c8"])),
    "what is done": lambda store: store.done("demo-1", ["c7", "c8"]),
    "a page of an outcome": lambda store: store.page("demo-1", Selection(outcome="inconclusive"), limit=20),
    "a code": lambda store: store.findings("demo-1", "CODE_7", limit=20),
    "a category": of_category,
}


def test_pages_and_filters_use_an_index(filled: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = {what: plans_of(filled, read, monkeypatch) for what, read in _READS.items()}
    # A page of a small run says of how many samples in all it is, which takes a count of the whole run.
    of_outcome = plans.pop("a page of an outcome")
    for what, plan in plans.items():
        assert plan, what
        # Of the tables that have no rows here, PostgreSQL reads all.
        walks = [line for line in plan if re.search(r"^SCAN |Seq Scan on (samples|calls|findings|cases)\b", line)]
        assert [line for line in walks if "layouts" not in line] == [], what
    # Of a large one it looks at so many places of the plan at a time.
    assert any("samples_not_scored" in line or "run=? AND seq>? AND seq<?" in line for line in of_outcome)
    assert any("findings_by_code" in line for line in plans["a code"])


def plans_of(store: SqlStore, read: Callable[[SqlStore], object], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the database finds what is asked of the large tables."""
    asked: list[tuple[str, tuple[object, ...]]] = []
    kind = postgres.PostgresSession if store.database.dialect.name == "postgresql" else SqliteSession
    execute = kind.execute

    def recorded(self: object, sql: str, values: tuple[object, ...] = ()) -> object:
        if "SELECT" in sql and " runs " not in sql:
            asked.append((sql, tuple(values)))
        return execute(self, sql, values)

    with monkeypatch.context() as patched:
        patched.setattr(kind, "execute", recorded)
        read(store)
    explain = "EXPLAIN" if kind is postgres.PostgresSession else "EXPLAIN QUERY PLAN"
    with store.database.reading() as session:
        return [str(row[-1]) for sql, values in asked for row in session.execute(f"{explain} {sql}", values)]
