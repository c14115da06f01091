"""A small suite that is run night after night, in this process, with answers that the test decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from parts import running as run
from parts.small_suite import write_suite
from steelyard.alerts.evaluate import readings_of
from steelyard.alerts.evidence import AlertEvidence
from steelyard.engine.run_options import RunOptions
from steelyard.loading.alerts import AlertSettings, WindowPart, settings_from
from steelyard.loading.load import load_suite
from steelyard.records import RunHeader
from steelyard.store.sql import open_store

SYSTEM = """
import json, pathlib
from steelyard.errors import TargetFailure

def answer(case):
    said = json.loads((pathlib.Path(__file__).parent / "said.json").read_text()).get(case.id)
    if said == "FAILS":
        raise TargetFailure("http_500", "nobody there", retry=False)
    return {"word": said or "word %d" % case.input["number"]}
"""


class Nightly:
    """Runs of one suite of `n` cases in one store; every case is answered right unless a night says otherwise."""

    def __init__(self, folder: Path, *, n: int = 20, **suite: Any) -> None:
        self.folder = folder
        self.path = write_suite(folder, n=n, name="nightly", **suite)
        (folder / "system.py").write_text(SYSTEM)
        self.store = open_store(str(folder / "runs.db"))

    def run(self, stated: dict[str, str] | None = None, **options: Any) -> RunHeader:
        """One night; `said` is what some cases are answered with, by id: any word, or FAILS."""
        (self.folder / "said.json").write_text(json.dumps(stated or {}))
        return run.run(load_suite(self.path), self.store, RunOptions(**options))[0]

    def nights(self, n: int) -> list[RunHeader]:
        """So many nights on which all went well."""
        return [self.run() for _ in range(n)]

    def readings(self, header: RunHeader, *rules: str | dict[str, Any], **window: Any) -> dict[str, Any]:
        """What rules say of a run, by cause; the store's open alerts are known."""
        evidence = AlertEvidence(self.store, header, settings(*rules, **window), self.store.alerts(header.suite_name))
        return {each.cause: each for each in readings_of(evidence)}

    def close(self) -> None:
        self.store.close()


def settings(*rules: str | dict[str, Any], sure: float = 0.99, **window: Any) -> AlertSettings:
    """Settings with these rules and a window that two runs are enough for."""
    found = settings_from({"rules": [{each: {}} if isinstance(each, str) else each for each in rules]})
    assert found is not None
    return AlertSettings(found.rules, (), WindowPart(**({"runs": 5, "min_runs": 2, "min_n": 20} | window)), sure)


def wrong(n: int, word: str = "wrong") -> dict[str, str]:
    """The first `n` cases answered with a wrong word, each with another: a system that says one thing is suspect."""
    return {f"c{number}": f"{word} {number}" for number in range(n)}
