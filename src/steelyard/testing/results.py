"""What the tests of a suite stand on: one run, and what it came to for every case and gate."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.api import Suite
from steelyard.engine.plan import RunOptions, Selection
from steelyard.engine.process import in_thread
from steelyard.errors import SteelyardError, UsageError
from steelyard.frozen import frozen
from steelyard.report import format as fmt
from steelyard.report import wording
from steelyard.report.build import build_report, case_states
from steelyard.report.render.junit import (
    JunitProblem,
    findings_text,
    gate_note,
    gate_problem,
    sample_problem,
    verdict_problem,
)
from steelyard.runner.run import run_decided
from steelyard.store.sql import open_store
from steelyard.suite.load import find_suite, holds_suite, load_suite
from steelyard.suite.models import RequiredRepeats, SuiteModel
from steelyard.suite.yaml import unknown_key

if TYPE_CHECKING:
    from steelyard.report.model import Report, SampleDetail

VERDICT = "verdict of the run"
CaseStates = dict[str, set[bool | None]]
_HOURS = 24 * 3600.0


@frozen
class TestResult:
    """What came of one test: `kind` is "" for a pass, else `failure`, `error` or `skipped`."""

    __test__ = False

    kind: str = ""
    text: str = ""
    properties: tuple[tuple[str, Any], ...] = ()


def suite_file(name: str, folder: Path) -> Path:
    """The file of a suite at a path or of a name; UsageError when there is none."""
    path = (folder / name).resolve()
    if not holds_suite(path):
        path = find_suite(name) or Path(load_suite(name).path)  # which says what is wrong
    return path / "suite.yaml" if path.is_dir() else path


class SuiteRun:
    """A suite whose tests were collected, and its run once the first of them begins."""

    def __init__(self, suite: Any, folder: Path, options: dict[str, Any], nodeid: str) -> None:
        """Load the suite; SteelyardError when it is no good one."""
        self.suite: SuiteModel = suite.model if isinstance(suite, Suite) else load_suite(suite_file(str(suite), folder))
        self._store = options.pop("store", None)
        # pytest itself chooses the cases.
        names = [name for name in RunOptions.__dataclass_fields__ if name != "selection"]
        for name in options.keys() - set(names):
            raise UsageError(f"steelyard_suite: {unknown_key(name, ['xfail', 'store', *names])}")
        self._options = RunOptions(**options)
        self.cases = dict.fromkeys(case.id for case in self.suite.cases)
        gates = dict.fromkeys([*self.suite.gates, *(criterion.name for criterion in self.suite.criteria)])
        self.gates = (*gates, VERDICT) if gates else ()
        self.line = ""
        """The run in a line, once it is over."""
        self._file = hashlib.sha256(nodeid.encode()).hexdigest()[:16]
        self._results: dict[str, TestResult] = {}

    def result(self, name: str, chosen: Callable[[], set[str]], shared: Path | None) -> TestResult:
        """What came of a test. The first that is asked for runs the chosen cases, or all when only gates are chosen.

        `shared` is a folder in which processes with the same tests let only one of them do so.
        """
        if not self._results:
            self._results = self._ask(chosen()) if shared is None else self._ask_once(chosen(), shared / self._file)
        return self._results[name]

    def _ask_once(self, chosen: set[str], file: Path) -> dict[str, TestResult]:
        with closing(sqlite3.connect(file.with_suffix(".lock"), timeout=_HOURS, isolation_level=None)) as lock:
            lock.execute("BEGIN EXCLUSIVE")  # given up when the process ends, however it ends
            if not file.exists():
                results = self._ask(chosen)
                file.with_suffix(".line").write_text(self.line, "utf-8")
                file.write_text(json.dumps({name: asdict(result) for name, result in results.items()}), "utf-8")
        stored: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return {
            name: TestResult(**{**item, "properties": (*map(tuple, item["properties"]),)})
            for name, item in stored.items()
        }

    def _ask(self, chosen: set[str]) -> dict[str, TestResult]:
        only = [case for case in self.cases if case in chosen] if chosen else list(self.cases)
        # A thread of its own: the event loop that other tests use here is none of ours.
        try:
            report, states = in_thread(lambda: self._run(only), daemon=True)
        except SteelyardError as error:
            failed = TestResult("error", f"inconclusive: the suite could not be run: {error}")
            return dict.fromkeys([*self.cases, *self.gates], failed)
        average = report.summary.overall.average
        figure = f"average {fmt.percent(average.value)} {fmt.base(average.n, average.n_missing)}"
        if report.summary.passing:
            figure = f"pass rate {wording.pass_rate(report)}"
        self.line = f"{self.suite.name}: {wording.verdict_title(report)} | run {report.header.id} | {figure}"
        return dict(_results(self, report, only, states))

    def _run(self, only: list[str]) -> tuple[Report, CaseStates]:
        chosen = Selection(tuple(("id", case) for case in only) if len(only) < len(self.cases) else ())
        with open_store(self._store) as store:
            result, _ = run_decided(self.suite, store, replace(self._options, selection=chosen))
            figures, most = (result.summary, result.decision), result.header.n_planned or 1
            report = build_report(store, result.header, figures=figures, max_details=most)
            return report, case_states(store, result.header)


def _results(run: SuiteRun, report: Report, only: list[str], states: CaseStates) -> Iterator[tuple[str, TestResult]]:
    details: dict[str, list[SampleDetail]] = {}
    for detail in report.details:
        details.setdefault(detail.line.case_id, []).append(detail)
    named = ("steelyard_run", report.header.id)
    for case in only:
        yield case, _case(report, details.get(case, []), named, states.get(case))
    part = f"{len(only)} of {len(run.cases)} cases" if len(only) < len(run.cases) else ""
    for name in run.gates:
        gates = [gate for gate in report.decision.gates if (gate.name or gate.gate) == name]
        problems = [verdict_problem(report)] if name == VERDICT else [gate_problem(gate) for gate in gates]
        texts = [f"{wording.gate_name(gate)}: {gate.word}: {gate_note(gate)}" for gate in gates]
        if name == VERDICT:
            texts = [wording.verdict_meaning(report), *wording.suspect_first(report)]
        elif not gates:
            problems = [JunitProblem("error", "", "nothing was decided")]
        kind = min((problem.kind for problem in problems if problem), key=_WORST.index, default="")
        if part:
            kind, texts = "skipped", [f"a gate is not decided by a part, {part}; of this part: {'; '.join(texts)}"]
        values = []
        for gate in gates if not part else ():
            values += [("steelyard_value", gate.value.value), ("steelyard_n", gate.value.n)]
        yield name, TestResult(kind, "\n".join(texts), (named, *values))


_WORST = ("failure", "error", "skipped")


def _case(
    report: Report, details: list[SampleDetail], named: tuple[str, str], states: set[bool | None] | None
) -> TestResult:
    """A case of a suite with expectations fails when `cases.passed` counts it as failed under a variant (`states`); of
    another suite, when an answer does."""
    scores = [detail.line.score for detail in details if detail.line.score is not None]
    mean = [("steelyard_score", round(sum(scores) / len(scores), 6)), ("steelyard_n", len(scores))] if scores else []
    properties = (named, *mean)
    if not details:
        return TestResult("error", "inconclusive: no answer was asked for, or none is stored", properties)
    expect = report.header.description.expect
    rule = RequiredRepeats.ALL if expect is None else expect.required_repeats
    if rule is RequiredRepeats.FIRST:
        details = [detail for detail in details if detail.line.repeat == min(item.line.repeat for item in details)]
    problems = [(detail, problem) for detail in details if (problem := _problem(report, detail))]
    kinds = {problem.kind for _, problem in problems}
    enough = "failure" not in kinds if states is None else False not in states
    if enough and "error" not in kinds and None not in (states or ()):
        return TestResult("", "", properties)
    texts = [] if problems else ["inconclusive: not every repeat is known"]
    for detail, problem in problems:
        name = f"{wording.sample_name(detail.line, repeats=report.summary.repeats)}: " if len(details) > 1 else ""
        inconclusive = "inconclusive: " if problem.kind == "error" else ""
        answer = "" if detail.answer is None else f"\nanswer: {fmt.shortened(detail.answer, 500)}"
        more = f"\n{problem.text}" if problem.kind == "failure" and problem.text else ""
        texts.append(f"{name}{inconclusive}{problem.message}{more}{answer}")
    return TestResult("error" if enough else "failure", "\n".join(texts), properties)


def _problem(report: Report, detail: SampleDetail) -> JunitProblem | None:
    """As JUnit has it; where the suite has no `pass`, findings are what is wrong."""
    problem = sample_problem(report, detail)
    if problem is None and detail.passed is None and detail.findings:
        return JunitProblem("failure", "", f"score {fmt.percent(detail.line.score)}", findings_text(detail))
    return problem
