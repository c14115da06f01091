"""Gates that cannot fail: by their own words, for want of cases, or because empty answers get through."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from steelyard.analysis.model import Summary
from steelyard.analysis.summary import summarise
from steelyard.engine.run import weigh_attempt
from steelyard.records import Attempt, RunHeader, Verdict
from steelyard.release.gates import evaluate
from steelyard.scoring.weigh import Weigher
from steelyard.store.open import open_store
from steelyard.suite.case import Case
from steelyard.suite.describe import describe
from steelyard.suite.gates import Gate, cannot_fail, parse_gate
from steelyard.suite.model import SuiteModel

_QUALITY = ("pass_rate", "average", "median", "score.<component>.average", "scored_rate")


def gate_complaints(suite: SuiteModel, cases: list[Case]) -> list[str]:
    """What is wrong with the suite's gates, one sentence each."""
    complaints = []
    if suite.limits.max_inconclusive >= 1:
        complaints.append("max_inconclusive is 100 %: a run in which every call failed would not be INVALID")
    gates = [parse_gate(text) for text in suite.gates]
    summary = _summary_of_empty_answers(suite, cases) if gates else None
    for gate in gates:
        complaint = cannot_fail(gate) or _too_few(suite, gate)
        if complaint is None and summary is not None and _lets_empty_through(gate, summary):
            complaint = f"gate {gate.text!r} lets a system through that answers nothing"
        if complaint:
            complaints.append(complaint)
    return complaints


def _too_few(suite: SuiteModel, gate: Gate) -> str | None:
    """A minimum n that no slice can reach leaves the gate undecided for ever."""
    survey = suite.survey
    by_factor = {"category": survey.categories, "difficulty": survey.difficulties, "tag": survey.tags}
    grid = len(suite.variants) * suite.repeats
    if gate.factor is None:
        most = survey.n * grid
    elif gate.factor == "variant":
        most = survey.n * suite.repeats
    else:
        counts = by_factor[gate.factor]
        most = (max(counts.values(), default=0) if gate.slice == "*" else counts.get(gate.slice or "", 0)) * grid
    if gate.min_n > most:
        return f"gate {gate.text!r} can never be decided: it asks for n >= {gate.min_n}, and there are at most {most}"
    return None


def _lets_empty_through(gate: Gate, summary: Summary) -> bool:
    if gate.pattern not in _QUALITY or gate.operator not in (">=", ">"):
        return False
    return all(result.verdict is Verdict.PASS for result in evaluate([gate.text], summary))


def _summary_of_empty_answers(suite: SuiteModel, cases: list[Case]) -> Summary:
    weigher = Weigher(suite)
    samples = [weigh_attempt(weigher, case, suite.variants[0].name, 0, Attempt(text="")) for case in cases]
    description = describe(suite)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "audit.db"))
        try:
            store.create_run(RunHeader("audit", suite.name, suite.path, time.time(), {}, {}, description))
            store.add_samples("audit", samples, cases)
            return summarise(store.columns("audit"), description)
        finally:
            store.close()
