"""Server time and size of every page of the web app, in a store of many large runs.

python -m bench.web make STORE [RUNS [SAMPLES]] fills a new store, a path or a PostgreSQL URL;
python -m bench.web pages STORE [RUN [PART]] asks a served app for every page (whose address contains PART) and prints a
Markdown table. Times are those of a client on the same machine; CPU is that of the process that serves.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from bench.decided import SUITE, samples_of

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
        ended, summary = made[number % 2]
        store.update_run(replace(ended, id=name, created_at=header.created_at), summary)
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    store.close()


def _header(name: str, number: int, n: int) -> Any:
    from steelyard.records import RunHeader, Signature, TargetFacts

    signed = Signature(suite="s", truth="t", scorers="c")
    suite = SUITE | {"gates": ["pass_rate >= 20 %", "latency.p95 <= 1 s"], "n_planned": n}
    created = 1_700_000_000.0 + 86_400 * number
    return RunHeader(
        name, "bench", "", created, signed, target=TargetFacts({"kind": "python"}), suite=suite, n_planned=n
    )


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


def _ended(store: Any, header: Any) -> tuple[Any, Any]:
    """The header of the run as it ends, and its summary as it is stored."""
    from steelyard.analysis.stored import stored_form
    from steelyard.analysis.summary_from_store import summarise_stored
    from steelyard.decide.verdict import decide
    from steelyard.records import RunState

    summary = summarise_stored(store, header.id, header.description, header=header)
    verdict = decide(summary, header.description).verdict
    ended = header.created_at + 3_600
    header = replace(header, state=RunState.ENDED, ended_at=ended, verdict=verdict)
    return header, stored_form(store, header.id, summary)


_SAMPLES = (
    "after=500000",
    "order=score",
    "order=-latency&after=500000",
    "order=-case",
    "category=c3&passed=false&order=score",
    "code=NAME&tag=old&band=Poor&min_latency=0.1&component=name&below=0.3&order=-latency",
    "outcome=inconclusive",
    "text=number+976",
    "text=nothing+like+it&order=score",
)


def pages(url: str, run: str = "bench-19", part: str = "") -> None:
    """A table of every page: its size, and what the first and the later requests take."""
    from steelyard.web.app import RESOURCES

    command = [str(Path(sys.executable).parent / "steelyard"), "serve", "--port", "0", "--no-browser", "--store", url]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if server.stdout is None or (printed := re.search(r"http://([\d.]+):(\d+)", server.stdout.readline())) is None:
            raise SystemExit("the server did not start")
        connection = HTTPConnection(printed[1], int(printed[2]), timeout=300)
        # What only the first page of all takes, imports say, is no page's own.
        _asked(connection, "/runs")
        print("| page | status | kB | first | p50 | p95 | CPU a request |\n|---|---|---|---|---|---|---|")
        for address in _addresses([resource.path for resource in RESOURCES], run):
            if part not in address:
                continue
            print(_line(connection, psutil.Process(server.pid), address), flush=True)
    finally:
        for child in (server_process := psutil.Process(server.pid)).children(recursive=True):
            # Figures that are still being computed would be waited for.
            child.kill()
        server_process.terminate()
        server.wait()


def _addresses(paths: list[str], run: str) -> Iterator[str]:
    """An address of every page that the names of its parameters tell how to fill in, and some of the samples."""
    earlier = f"bench-{int(run[-2:]) - 1:02d}"
    names = {"run": run, "before": earlier, "after": run, "a": earlier, "b": run, "suite": "bench"}
    names |= {"position": "500000", "case": "case-000017"}
    for path in paths:
        if missing := set(re.findall(r"{(\w+)", path)) - names.keys():
            print(f"{path}: no value for {', '.join(missing)}", file=sys.stderr)
            continue
        address = re.sub(r"{(\w+)[^}]*}", lambda match: names[match[1]], path)
        yield address
        if path.endswith("/samples"):
            yield from (f"{address}?{query}" for query in _SAMPLES)


def _asked(connection: HTTPConnection, address: str) -> tuple[float, int, int]:
    """Seconds, status and bytes of an answer."""
    began = time.perf_counter()
    connection.request("GET", address)
    answer = connection.getresponse()
    body = answer.read()
    return time.perf_counter() - began, answer.status, len(body)


def _line(connection: HTTPConnection, server: psutil.Process, address: str) -> str:
    first, status, _ = _asked(connection, address)
    began, shown = time.monotonic(), f"{1000 * first:.0f} ms"
    while status == 202 and time.monotonic() - began < 300:
        time.sleep(0.2)
        status = _asked(connection, address)[1]
        shown = f"{1000 * first:.0f} ms, figures after {time.monotonic() - began:.0f} s"
    cpu = sum(server.cpu_times()[:2])
    answers = [_asked(connection, address) for _ in range(_REQUESTS)]
    cpu = (sum(server.cpu_times()[:2]) - cpu) / _REQUESTS
    times = sorted(seconds for seconds, _, _ in answers)
    p50, p95 = (1000 * times[round(share * (_REQUESTS - 1))] for share in (0.5, 0.95))
    size = max(size for _, _, size in answers) / 1000
    return f"| `{address}` | {status} | {size:.0f} | {shown} | {p50:.0f} ms | {p95:.0f} ms | {1000 * cpu:.0f} ms |"


if __name__ == "__main__":
    what, url, *rest = sys.argv[1:]
    if what == "make":
        make(url, *([int(item) for item in rest] + [20, 1_000_000][len(rest) :]))
    else:
        pages(url, *rest)
