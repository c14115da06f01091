"""Server time and size of every page of the web app, in a store of many large runs.

python -m bench.web make STORE [RUNS [SAMPLES]] fills a new store, a path or a PostgreSQL URL;
python -m bench.web pages STORE [RUN] asks a served app for every page and prints a Markdown table.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import Any

from bench.compared import SUITE, samples_of

_BASE = 20_000
"""Samples that are made one by one; the database copies them until a run is full."""
_NUMBERS = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k + 1 < {copies})"
_OF_A_RUN = ("calls", "answers", "samples", "findings", "tags")
_REQUESTS = 20


def make(url: str, runs: int, n: int) -> None:
    """So many ended runs of n samples: two different ones, and copies of these in turn."""
    from steelyard.store.sql import open_store

    store = open_store(url)
    made: list[Any] = []
    for number in range(runs):
        began = time.perf_counter()
        name = f"bench-{number:02d}"
        header = _header(name, number, n)
        store.create_run(header)
        if number < 2:
            _fill(store, name, number, n)
            made.append(_ended(store, header))
        else:
            _copy(store, number % 2 + 1, number + 1)
        store.update_run(replace(made[number % 2], id=name, created_at=header.created_at))
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    store.close()


def _header(name: str, number: int, n: int) -> Any:
    from steelyard.records import RunHeader

    signed = {"suite": "s", "truth": "t", "scorers": "c"}
    suite = SUITE | {"gates": ["pass_rate >= 20 %", "latency.p95 <= 1 s"], "n_planned": n}
    created = 1_700_000_000.0 + 86_400 * number
    return RunHeader(name, "bench", "", created, signed, target={"kind": "python"}, suite=suite, n_planned=n)


def _fill(store: Any, name: str, number: int, n: int) -> None:
    base = min(_BASE, n)
    made = (_varied(*pair) for pair in samples_of(base, number))
    while piece := list(islice(made, 5_000)):
        store.add_samples(name, [sample for sample, _ in piece], [case for _, case in piece])
    run, copies = number + 1, n // base
    numbers = _NUMBERS.format(copies=copies)
    # Cases of their own: as many as samples.
    case_id = "case_id || '-' || k"
    with store.database.writing() as session:
        _unguarded(store, session)
        if copies == 1:
            return
        cases = "id || '-' || k, hash, replace(content, id, id || '-' || k)"
        session.execute(
            f"INSERT INTO cases {numbers} SELECT {cases} FROM cases, n WHERE id NOT LIKE '%-%-%' ON CONFLICT DO NOTHING"
        )
        for table in _OF_A_RUN:
            given = {"seq": f"seq + k * {base}", "case_id": case_id}
            columns = session.columns(table)
            values = ", ".join(given.get(column, column) for column in columns)
            names = ", ".join(columns)
            session.execute(
                f"INSERT INTO {table} ({names}) {numbers} SELECT {values} FROM {table}, n WHERE run = {run}"
            )


def _varied(sample: Any, case: Any) -> tuple[Any, Any]:
    """A sample with an answer that can be searched; some are malformed or failed, half have no findings."""
    from steelyard.records import Failure, Outcome

    number = sample.position
    text = (
        f'{{"n": {number}, "title": "Chair number {number % 977}", "year": {1800 + number % 220}, "material": "oak"}}'
    )
    sample.call_result.text = text
    if number % 2:
        sample.findings = ()
    if number % 100 == 7:
        sample.outcome, sample.score, sample.passed, sample.band = Outcome.MALFORMED, 0.0, False, "Poor"
    if number % 250 == 3:
        sample.call_result.text, sample.call_result.failure = None, Failure("timeout", "no answer in 60 s")
        sample.outcome, sample.score, sample.passed = Outcome.TARGET_FAILED, None, None
        sample.band, sample.scores, sample.findings = None, (), ()
    return sample, case


def _copy(store: Any, source: int, run: int) -> None:
    with store.database.writing() as session:
        _unguarded(store, session)
        for table in ("layouts", *_OF_A_RUN, "stored_columns"):
            columns = session.columns(table)
            values = ", ".join(str(run) if column in ("run", "call_run") else column for column in columns)
            session.execute(
                f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} WHERE run = {source}"
            )


def _unguarded(store: Any, session: Any) -> None:
    """Without a look at every foreign key."""
    if store.database.dialect.name == "postgresql":
        session.execute("SET LOCAL session_replication_role = replica")


def _ended(store: Any, header: Any) -> Any:
    from steelyard.analysis.summary import summarise_stored, summary_data
    from steelyard.decide.verdict import decide
    from steelyard.records import RunState

    summary = summarise_stored(store, header.id, header.description, header=header)
    verdict = decide(summary, header.description).verdict
    ended = header.created_at + 3_600
    return replace(header, state=RunState.ENDED, ended_at=ended, verdict=verdict, summary=summary_data(summary))


if __name__ == "__main__":
    what, url, *rest = sys.argv[1:]
    if what == "make":
        make(url, *([int(item) for item in rest] + [20, 1_000_000][len(rest) :]))
