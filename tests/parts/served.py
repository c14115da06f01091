"""The web app on a store: in this process, or served by the command for a real browser."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from parts.mixed_run import put_ended
from parts.rich_run import RICH, put_rich
from parts.stored import case, sample
from steelyard.records import CallResult, Finding, RunHeader, Score, Signature, TargetFacts
from steelyard.store.base import Store
from steelyard.web.app import create_app
from steelyard.web.security import CSRF_HEADER
from steelyard.web.site import Settings, Site

HOSTILE = (
    "<script>window.broken = 1</script>",
    '<img src=x onerror="window.broken = 2">',
    '"><svg onload="window.broken = 3"><a href="javascript:window.broken=4">x</a></svg>',
    "javascript:window.broken=5",
    "{{ 7 * 7 }} {% raw %}",
    "\u202egnp.exe\u202c \u200b\u2066x\u2069",
    "x" * 1_000_000,
)


class InThisProcess:
    """Figures that are there at once."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._results: dict[Any, dict[str, Any]] = {}

    def ask(self, job: Any, *given: Any, state: object, **_: Any) -> dict[str, Any]:
        key = (job, given, state)
        if key not in self._results:
            self._results[key] = job(self._store, *given)
        return self._results[key]

    def read(self, job: Any, store: Any, *given: Any, state: object) -> dict[str, Any]:
        assert store is self._store
        return self.ask(job, *given, state=state)

    def close(self) -> None:
        """Nothing to end."""


def client_on(store: Any, settings: Settings = Settings(), **more: Any) -> TestClient:  # noqa: B008 - frozen
    site = Site(store, InThisProcess(store), settings)  # type: ignore[arg-type]
    client = TestClient(create_app(site), base_url="http://127.0.0.1", follow_redirects=False, **more)
    client.headers[CSRF_HEADER] = site.csrf
    return client


def put_hostile(store: Store, name: str = "hostile-1", started: float = 500.0) -> RunHeader:
    """A run whose every text tries to get out of where it stands."""
    everything = " ".join(HOSTILE[:-1])
    cases, samples = [], []
    for number, text in enumerate(HOSTILE):
        held = case(number, id=f"{text[:200]} {number}", input={"text": text, text[:90]: [text]}, category=text[:200])
        finding = Finding("YEAR", everything, everything, text, everything, "major", "year")
        scores = (Score("title", 0.1, 70.0, 0.5, everything, everything), Score("year", 0.2, 30.0))
        cases.append(held)
        samples.append(
            sample(
                held,
                call_result=CallResult(text=text, latency=0.1, model=everything),
                score=0.1,
                passed=False,
                scores=scores,
                findings=(finding,),
                category=text[:200],
                tags=(everything,),
            )
        )
    suite = RICH | {"components": [{"name": "title"}, {"name": "year"}], "judge": None, "criteria": [], "gates": []}
    suite |= {"n_planned": len(samples)}
    header = RunHeader(
        name, everything[:150], "", started, Signature(truth="x"), target=TargetFacts({"kind": "python"}), suite=suite
    )
    return put_ended(store, header, samples, cases)


def put_all(store: Store) -> None:
    """Two rich runs and two hostile ones."""
    put_rich(store, "rich-1", 1)
    put_rich(store, "rich-2", 2)
    put_hostile(store)
    put_hostile(store, "hostile-2", 600.0)


@contextmanager
def served(store_file: Path, *options: str) -> Iterator[str]:
    """The address of `steelyard serve` on a store, as a process of its own."""
    command = [sys.executable, "-m", "steelyard", "serve", "--port", "0", "--no-browser", "--store", str(store_file)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, cwd=store_file.parent)
    try:
        line = process.stdout.readline()  # type: ignore[union-attr]
        yield re.search(r"http://[^/ ]+", line)[0]  # type: ignore[index]
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()  # type: ignore[union-attr]
