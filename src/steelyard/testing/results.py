"""What the tests of a suite stand on: one run, and what it came to for every case and gate."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.api import Suite
from steelyard.engine.process import in_thread
from steelyard.engine.run_options import Selection, run_options
from steelyard.errors import SteelyardError, UsageError
from steelyard.frozen import frozen
from steelyard.loading.load import find_suite, holds_suite, load_suite
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
from steelyard.runner import run
from steelyard.store.sql import open_store
from steelyard.suite.models import RequiredRepeats, SuiteModel

if TYPE_CHECKING:
    from steelyard.report.model import Report, SampleDetail

VERDICT = "verdict of the run"
CaseStates = dict[tuple[str, str], bool | None]
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
        if "selection" in options:
            raise UsageError("steelyard_suite: unknown key 'selection': pytest chooses the cases")
        self._options = run_options("steelyard_suite", options)
        variants = [variant.name for variant in self.suite.variants]
        self.cells = {test_name(case.id, name): (case.id, name) for case in self.suite.cases for name in variants}
        """By the name of its test, a case and a variant."""
        gates = dict.fromkeys([*self.suite.gates, *(criterion.name for criterion in self.suite.criteria)])
        self.gates = (*gates, VERDICT) if gates else ()
        self.line = ""
        """Each run in a line, once it is over."""
        self._file = hashlib.sha256(nodeid.encode()).hexdigest()[:16]
        self._results: dict[str, TestResult] = {}

    def result(self, name: str, chosen: Callable[[], set[str]], shared: Path | None) -> TestResult:
        """What came of a test. The first that is asked for runs the chosen tests, or all when only gates are chosen.

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
        chosen = chosen or set(self.cells)
        # A thread of its own: the event loop that other tests use here is none of ours.
        try:
            parts = in_thread(lambda: [self._run(*part) for part in self._parts(chosen)], daemon=True)
        except SteelyardError as error:
            failed = TestResult("error", f"inconclusive: the suite could not be run: {error}")
            return dict.fromkeys([*self.cells, *self.gates], failed)
        self.line = "\n".join(map(self._in_a_line, (report for report, _ in parts)))
        results = dict.fromkeys(chosen, TestResult("error", "inconclusive: no answer is stored"))
        for report, states in parts:
            results |= _case_results(self, report, states)
        n, planned = len(chosen), len(self.cells)
        part = f"{n} of {planned} {'cases' if len(self.suite.variants) == 1 else 'cases and variants'}"
        gates = [dict(_gate_results(self, report, part if n < planned else "")) for report, _ in parts]
        for name in self.gates:
            of_parts = [result[name] for result in gates]
            results[name] = replace(of_parts[0], text="\n".join(result.text for result in of_parts))
        return results

    def _in_a_line(self, report: Report) -> str:
        average = report.summary.overall["average"]
        figure = f"average {fmt.percent(average.value)} {fmt.base(average.n, average.n_missing)}"
        if report.summary.passing:
            figure = f"pass rate {wording.pass_rate(report)}"
        return f"{self.suite.name}: {wording.verdict_title(report)} | run {report.header.id} | {figure}"

    def _parts(self, chosen: set[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The chosen tests as cases and variants of as few runs as ask nothing else: all cases of a run are asked
        under all of its variants."""
        cases: dict[str, list[str]] = {}
        for name, (case, variant) in self.cells.items():
            if name in chosen:
                cases.setdefault(variant, []).append(case)
        variants: dict[tuple[str, ...], list[str]] = {}
        for variant, of_variant in cases.items():
            variants.setdefault(tuple(of_variant), []).append(variant)
        for of_variants, names in variants.items():
            yield of_variants, tuple(names)

    def _run(self, cases: tuple[str, ...], variants: tuple[str, ...]) -> tuple[Report, CaseStates]:
        only = [("id", case) for case in cases] if len(cases) * len(self.suite.variants) < len(self.cells) else []
        only += [("variant", name) for name in variants] if len(variants) < len(self.suite.variants) else []
        with open_store(self._store) as store:
            options = replace(self._options, selection=Selection(tuple(only)))
            result = run.run(self.suite, store, options)
            figures, most = (result.summary, result.decision), result.header.n_planned or 1
            report = build_report(store, result.header, figures=figures, max_details=most)
            return report, case_states(store, result.header)


def test_name(case: str, variant: str) -> str:
    """The name of a test: `peru`, or `peru[careful]` under a variant.

    pytest reads `::` before a bracket as a step down its tree, so there it is written `%3A%3A`.
    """
    head, bracket, tail = case.partition("[")
    head = re.sub(r"%(?=3A|25)", "%25", head).replace("::", "%3A%3A")
    return f"{head}{bracket}{tail}" + (f"[{variant}]" if variant else "")


test_name.__test__ = False  # type: ignore[attr-defined]  # pytest takes the name for a test


def _case_results(run: SuiteRun, report: Report, states: CaseStates) -> dict[str, TestResult]:
    details: dict[tuple[str, str], list[SampleDetail]] = {}
    for detail in report.details:
        details.setdefault((detail.line.case_id, detail.line.variant), []).append(detail)
    named = ("steelyard_run", report.header.id)
    decided = {cell: {states[cell]} if cell in states else None for cell in details}
    names = {cell: name for name, cell in run.cells.items()}
    return {names[cell]: _case(report, of_cell, named, decided[cell]) for cell, of_cell in details.items()}


def _gate_results(run: SuiteRun, report: Report, part: str) -> Iterator[tuple[str, TestResult]]:
    """What came of the gates and of the verdict; `part` says how much was asked, where that is not all."""
    named = ("steelyard_run", report.header.id)
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
    """A case of a suite with expectations fails when `cases.passed` counts it as failed (`states`); of another suite,
    when an answer does."""
    scores = [detail.line.score for detail in details if detail.line.score is not None]
    mean = [("steelyard_score", round(sum(scores) / len(scores), 6)), ("steelyard_n", len(scores))] if scores else []
    properties = (named, *mean)
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
