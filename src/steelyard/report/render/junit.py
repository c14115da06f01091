"""The report as JUnit XML, so that a CI server lists gates and samples as tests."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from xml.etree import ElementTree

from steelyard.decide.gates import GateResult
from steelyard.frozen import frozen
from steelyard.records import Outcome, Verdict
from steelyard.report import format as fmt
from steelyard.report import gates, wording
from steelyard.report.format import as_text, contrasted, one_line, shortened, visible
from steelyard.report.judge.run import judged_lines
from steelyard.report.model import Report, SampleDetail
from steelyard.suite.models import EXPECT

_LONGEST_NAME = 300
_LONGEST_ANSWER = 4_000
_PROBLEMS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def to_junit(report: Report) -> str:
    """JUnit XML: one testsuite of gates, then one a category with a testcase a sample.

    A sample that did not pass is a failure, an inconclusive one an error; so are a gate or criterion that fails
    and one that cannot tell. A secondary criterion that does not pass decides nothing and is skipped.
    """
    root = ElementTree.Element("testsuites", {"name": _attribute(report.header.suite_name)})
    suites = [_gates(report), *_samples(report)]
    root.extend(suite for suite in suites if len(suite))
    _count(root, root.iter("testcase"))
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _gates(report: Report) -> ElementTree.Element:
    suite = _suite(report, "gates")
    classname = _attribute(f"{report.header.suite_name}.gates")
    for gate in report.decision.gates:
        name = _attribute(wording.gate_name(gate))
        case = ElementTree.SubElement(suite, "testcase", {"classname": classname, "name": name, "time": "0.000"})
        value = gates.value(gate)
        reading = f"{value} {fmt.interval(gate.value, gate.unit)} {fmt.base(gate.value.n, gate.value.n_missing)}"
        _show(case, gate_problem(gate))
        asked = [f"passes: {gates.rule(gate)}"] if gate.name else []
        lines = [*asked, f"{gate.metric}: {reading}", gate_note(gate)]
        ElementTree.SubElement(case, "system-out").text = visible("\n".join(lines))
    if report.decision.verdict is not None:
        names = {"classname": classname, "name": "verdict of the run", "time": "0.000"}
        case = ElementTree.SubElement(suite, "testcase", names)
        _show(case, verdict_problem(report))
        reasons = "\n".join(wording.suspect_first(report))
        text = "\n".join([report.decision.verdict.value, f"pass rate {wording.pass_rate(report)}", reasons])
        ElementTree.SubElement(case, "system-out").text = visible(text)
    _count(suite, suite.iter("testcase"))
    return suite


def _show(case: ElementTree.Element, problem: JunitProblem | None) -> None:
    if problem is not None:
        attributes = {"type": _attribute(problem.type), "message": _attribute(problem.message)}
        element = ElementTree.SubElement(case, problem.kind, {key: value for key, value in attributes.items() if value})
        element.text = visible(problem.text)


def _samples(report: Report) -> list[ElementTree.Element]:
    by_category: dict[str, ElementTree.Element] = {}
    for detail in report.details:
        category = detail.category or report.header.suite_name
        if category not in by_category:
            by_category[category] = _suite(report, category)
        by_category[category].append(_sample(report, detail, category))
    for suite in by_category.values():
        _count(suite, suite.iter("testcase"))
    return list(by_category.values())


def _sample(report: Report, detail: SampleDetail, category: str) -> ElementTree.Element:
    line = detail.line
    suite = report.header.suite_name
    case = ElementTree.Element(
        "testcase",
        {
            "classname": _attribute(suite if category == suite else f"{suite}.{category}"),
            "name": _attribute(wording.sample_name(line, repeats=report.summary.repeats)),
            "time": f"{line.latency or 0.0:.3f}",
        },
    )
    _show(case, sample_problem(report, detail))
    ElementTree.SubElement(case, "system-out").text = visible(_account(detail))
    return case


@frozen
class JunitProblem:
    """Why a gate or sample, shown as a test, is not green."""

    kind: str
    """`failure` for a wrong answer and a gate that fails; `error` where nothing can be told; `skipped`."""
    type: str
    message: str
    text: str = ""


def sample_problem(report: Report, detail: SampleDetail) -> JunitProblem | None:
    """What is wrong with a sample; None when it passed, or when nothing says that it must."""
    line = detail.line
    if not wording.is_conclusive(line):
        return JunitProblem(
            "error", line.outcome, line.why or wording.outcome_word(report.header, line.outcome), line.why
        )
    if wording.is_excluded(detail):
        return JunitProblem("error", "excluded", wording.excluded_text(detail))
    if detail.passed is not False and line.outcome != Outcome.MALFORMED:
        return None
    score = f"{fmt.percent(line.score)} does not reach {report.summary.passing or 'the shape asked for'}"
    why = _failed_checks(detail) or line.why
    message = f"{score}: {why}" if why else score
    return JunitProblem("failure", line.band or line.outcome, message, findings_text(detail))


def gate_note(gate: GateResult) -> str:
    """Why a gate or criterion comes to what it does."""
    return gates.stated(gate) if gate.name else gate.reason


def gate_problem(gate: GateResult) -> JunitProblem | None:
    """What is wrong with a gate or criterion; None when it passes."""
    if gate.secondary and gate.verdict is not Verdict.PASS:
        return JunitProblem("skipped", "", f"secondary, does not decide: {gate.word}: {gate_note(gate)}")
    return _verdict_problem(gate.verdict, gate_note(gate), f"{gate.metric} {gates.value(gate)}")


def verdict_problem(report: Report) -> JunitProblem | None:
    """Why the verdict of a run is not PASS: without it a suspect or invalid run whose gates all hold would be green."""
    verdict = report.decision.verdict
    text = "\n".join(wording.suspect_first(report))
    return None if verdict is None else _verdict_problem(verdict, text, wording.verdict_meaning(report))


def _verdict_problem(verdict: Verdict, text: str, message: str) -> JunitProblem | None:
    if verdict is Verdict.PASS:
        return None
    return JunitProblem("failure" if verdict is Verdict.FAIL else "error", verdict.value, text or message, text)


def _failed_checks(detail: SampleDetail) -> str:
    """The names of the checks that failed, where everything that was found is such a check; else ""."""
    if not detail.findings or any(finding.get("component") != EXPECT for finding in detail.findings):
        return ""
    named = ", ".join(as_text(finding.get("place")) for finding in detail.findings)
    more = (detail.n_findings or 0) - len(detail.findings)
    return f"failed {named}" + (f" and {more:,} more" if more > 0 else "")


def findings_text(detail: SampleDetail) -> str:
    """The findings of a sample, a line each."""
    lines = []
    for finding in detail.findings:
        code, place, evidence = (one_line(as_text(finding.get(key)), 500) for key in ("code", "place", "evidence"))
        expected, got = contrasted(finding.get("expected"), finding.get("got"), 500)
        compared = f"expected {expected or 'nothing'}, got {got or 'nothing'} " if expected or got else ""
        lines.append(f"{code} {place}: {compared}{evidence}".rstrip(" :"))
    return "\n".join([*lines, *filter(None, [wording.more_findings(detail)])])


def _account(detail: SampleDetail) -> str:
    scores = [
        f"{as_text(score.get('name'))}: {score.get('value')} {one_line(as_text(score.get('note')), 500)}".rstrip()
        for score in detail.scores
    ]
    text = as_text(detail.read) if detail.read is not None else detail.answer
    answer = "no answer" if text is None else shortened(text, _LONGEST_ANSWER)
    judged = (
        [] if detail.judgement is None else [f"judge: {judged_line}" for judged_line in judged_lines(detail.judgement)]
    )
    return "\n".join([f"score {fmt.percent(detail.line.score)}", *scores, *judged, f"answer: {answer}"])


def _suite(report: Report, name: str) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", {"name": _attribute(name)})
    if report.header.created_at:
        moment = datetime.fromtimestamp(report.header.created_at, UTC)
        suite.set("timestamp", moment.strftime("%Y-%m-%dT%H:%M:%S"))
    facts = {
        "run": report.header.id,
        "signature": wording.signature_line(report.header),
        "disclosures": "; ".join(wording.disclosed_texts(report)),
        "notes": "; ".join([*wording.notes(report), *filter(None, [wording.not_shown(report)])]),
    }
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in facts.items():
        if value:
            ElementTree.SubElement(properties, "property", {"name": key, "value": one_line(value)})
    return suite


def _count(element: ElementTree.Element, cases: Iterable[ElementTree.Element]) -> None:
    results = list(cases)
    element.set("tests", str(len(results)))
    for attribute, problem in _PROBLEMS.items():
        element.set(attribute, str(sum(case.find(problem) is not None for case in results)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in results):.3f}")


def _attribute(text: str) -> str:
    return one_line(text, _LONGEST_NAME)
