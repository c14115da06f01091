"""The report as plain data: stable names, every figure with its n. Documented in docs/reference/reports.md."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from steelyard.analysis.model import (
    BestVariant,
    CodeFigure,
    Estimate,
    JudgeFigures,
    ModeFigure,
    Proportion,
    Repeated,
    SampleLine,
    Slice,
)
from steelyard.records import RunHeader
from steelyard.release.model import GateResult
from steelyard.report import error_tables, judged_wording, wording
from steelyard.report.charts.build import charts_of
from steelyard.report.confidence_json import confidence_data
from steelyard.report.figures import DIFFERENCE
from steelyard.report.model import Report, SampleDetail
from steelyard.report.repeats_json import checks_data, stability_data
from steelyard.report.taxonomy import code_of
from steelyard.store.base import Found, Spending

FORMAT = "steelyard.report/1"


def to_json(report: Report) -> dict[str, Any]:
    """The whole report as data that `json.dumps(..., allow_nan=False)` can write."""
    return {key: plain(value) for key, value in _whole(report).items()}


def decision_to_json(report: Report) -> dict[str, Any]:
    """The run, its verdict with the reasons, and every gate and criterion."""
    names = ("format", "run", "verdict", "reasons", "suspect", "notes", "warnings", "gates", "by_variant")
    return {key: plain(value) for key, value in _whole(report).items() if key in names}


def _whole(report: Report) -> dict[str, Any]:
    summary = report.summary
    return {
        "format": FORMAT,
        "run": _run(report),
        "verdict": report.decision.verdict.value if report.decision.verdict else None,
        "reasons": wording.all_reasons(report),
        "suspect": list(report.header.suspect),
        "notes": wording.notes(report),
        "warnings": judged_wording.judge_warnings(report),
        "gates": [_gate(gate) for gate in report.decision.gates],
        "by_variant": [
            {
                "variant": each.variant,
                "verdict": each.verdict.value,
                "criteria": [_gate(criterion) for criterion in each.criteria],
            }
            for each in report.decision.by_variant
        ],
        "best_variant": None if summary.best_variant is None else _best(summary.best_variant),
        "passing": summary.passing or None,
        "overall": _slice(summary.overall),
        "slices": {factor: [_slice(group) for group in groups] for factor, groups in summary.slices.items()},
        "codes": [_code(report, figure) for figure in summary.codes],
        "patterns": [
            {
                "sentence": pattern.sentence,
                "count": pattern.count,
                "n": pattern.n,
                "n_cases": pattern.n_cases,
                "cases": list(pattern.cases),
            }
            for pattern in summary.patterns
        ],
        "priorities": [
            {
                "sentence": priority.sentence,
                "component": priority.component,
                "average": _estimate(priority.average),
                "gain": _number(priority.gain),
            }
            for priority in summary.priorities
        ],
        "confusions": [asdict(each) for each in summary.confusions],
        "sections": [asdict(each) for each in summary.sections],
        "failing": None if summary.failing is None else asdict(summary.failing),
        "why_inconclusive": dict(report.why_inconclusive),
        "modes": {name: _mode(figure) for name, figure in summary.modes.items()},
        "judge": None if summary.judge is None else _judge(summary.judge, report.spending),
        "confidence": None if summary.confidence is None else confidence_data(summary.confidence),
        "checks": None if summary.checks is None else checks_data(summary.checks),
        "stability": None if summary.stability is None else stability_data(summary.stability),
        "latency": None if summary.latency is None else asdict(summary.latency),
        "charts": [
            {"name": chart.name, "title": chart.title, "about": chart.about, "spec": chart.spec}
            for chart in charts_of(summary, report.header)
        ],
        "failures": dict(summary.failures),
        "rungs": dict(summary.rungs),
        "tokens_in": _maybe(summary.tokens_in),
        "tokens_out": _maybe(summary.tokens_out),
        "cost": _maybe(summary.cost),
        "repeats": summary.repeats,
        "method": summary.method,
        "extra": summary.extra,
        "worst": [_line(line) for line in report.worst],
        "slowest": [_line(line) for line in report.slowest],
        "n_samples": report.n_samples,
        "n_shown": len(report.details),
        "samples": [_detail(detail) for detail in report.details],
    }


def _run(report: Report) -> dict[str, Any]:
    header: RunHeader = report.header
    return {
        "id": header.id,
        "suite": header.suite_name,
        "suite_path": header.suite_path,
        "created_at": _number(header.created_at),
        "ended_at": _number(header.ended_at),
        "state": header.state.value,
        "n_planned": header.n_planned,
        "target": header.target,
        # What was kept of a foreign snapshot is there to be written again, not to be read.
        "options": {name: value for name, value in header.options.items() if name != "kept"},
        "strict": wording.is_strict(header),
        "rescored_from": header.rescored_from,
        "signature": header.signature,
        "version": header.version,
    }


def _gate(gate: GateResult) -> dict[str, Any]:
    return {
        "gate": gate.gate,
        "metric": gate.metric,
        "operator": gate.operator,
        "threshold": _number(gate.threshold),
        "unit": gate.unit.removeprefix(DIFFERENCE),
        "baseline": gate.baseline or None,
        "value": _estimate(gate.value),
        "verdict": gate.verdict.value,
        "reason": gate.reason,
        "skipped": gate.skipped or None,
        "name": gate.name or None,
        "fails": gate.fails or None,
        "secondary": gate.secondary,
        "left_out": gate.left_out,
        "about": gate.about,
    }


def _best(found: BestVariant) -> dict[str, Any]:
    return {
        "best": found.best,
        "leader": found.leader,
        "sentence": found.sentence,
        "differences": [
            {"first": each.first, "other": each.other, "difference": _estimate(each.estimate), "p": _number(each.p)}
            for each in found.differences
        ],
    }


def _code(report: Report, figure: CodeFigure) -> dict[str, Any]:
    declared = code_of(report.header, figure.code)
    items = report.findings.get(figure.code, [])
    return {
        "code": figure.code,
        "name": declared.name,
        "about": declared.about,
        "severity": declared.severity or None,
        "count": figure.count,
        "samples": _estimate(figure.samples),
        "mended": _estimate(figure.mended),
        "gain": None if figure.mended.value is None or not figure.weighs else _number(figure.gain),
        "at_most": figure.at_most,
        "weighs": figure.weighs,
        "slices": [
            {"factor": each.factor, "name": each.name, "count": each.count, "samples": _estimate(each.samples)}
            for each in error_tables.counts_by_slice(report, figure.code)
        ],
        "n_items": error_tables.n_found(report, figure.code),
        "items": [_item(found) for found in items],
    }


def _item(found: Found) -> dict[str, Any]:
    finding = found.finding
    return {
        "case": found.case_id,
        "variant": found.variant,
        "repeat": found.repeat,
        "place": finding.place,
        "expected": finding.expected,
        "got": finding.got,
        "evidence": finding.evidence,
        "component": finding.component,
        "gain": _number(finding.gain),
        "box": finding.box,
        "span": finding.span,
        "section": finding.section or None,
    }


def _slice(group: Slice) -> dict[str, Any]:
    return {
        "factor": group.factor,
        "name": group.name,
        "n_planned": group.n_planned,
        "outcomes": dict(group.outcomes),
        "set_aside": group.set_aside,
        "average": _estimate(group.average),
        "median": _estimate(group.median),
        "pass_rate": _estimate(group.pass_rate),
        "bands": _estimates(group.bands),
        "components": _estimates(group.components),
        "findings": dict(group.findings),
        "latency": _estimates(group.latency),
        "finding_rates": _estimates(group.finding_rates),
        "outcome_rates": _estimates(group.outcome_rates),
        "totals": _estimates(group.totals),
        "measures": {
            component: {name: _proportion(ratio) for name, ratio in ratios.items()}
            for component, ratios in group.measures.items()
        },
        "finding_samples": dict(group.finding_samples),
        "repeated": {text: _repeated(found) for text, found in group.repeated.items()},
        "over_repeats": _estimates(group.over_repeats),
    }


def _mode(figure: ModeFigure) -> dict[str, Any]:
    return {"n": figure.n, "average": _estimate(figure.average), "dimensions": _estimates(figure.dimensions)}


def _judge(figures: JudgeFigures, spending: Spending | None) -> dict[str, Any]:
    return {
        "mode": figures.mode,
        "n_texts": figures.n_texts,
        "n_ballots": figures.n_ballots,
        "modes": dict(figures.modes),
        "rungs": dict(figures.rungs),
        "broken_rules": _estimate(figures.broken_rules),
        "made_up_quotes": _estimate(figures.made_up_quotes),
        "contradictions": _estimate(figures.contradictions),
        "failed": _estimate(figures.failed),
        "unanswered": _estimate(figures.unanswered),
        "cut_off": _estimate(figures.cut_off),
        "disagreement": _estimate(figures.disagreement),
        "why_failed": dict(figures.why_failed),
        "dimensions": {
            name: {
                "bound": _estimate(each.bound),
                "raw_mean": _estimate(each.raw_mean),
                "bound_mean": _estimate(each.bound_mean),
                "top_share": _estimate(each.top_share),
                "constant": each.constant,
            }
            for name, each in figures.dimensions.items()
        },
        "remarks": dict(figures.remarks),
        "spending": None if spending is None else asdict(spending),
    }


def _proportion(ratio: Proportion) -> dict[str, Any]:
    if ratio.mean_of:
        return {**_estimate(ratio.estimate), "mean_of": ratio.mean_of}
    return {**_estimate(ratio.estimate), "numerator": ratio.numerator, "denominator": ratio.denominator}


def _repeated(found: Repeated) -> dict[str, Any]:
    return {
        "held": found.held,
        "failed": found.failed,
        "undecided": found.undecided,
        "failing": list(found.failing),
    }


def _line(line: SampleLine) -> dict[str, Any]:
    return {
        "case": line.case_id,
        "variant": line.variant,
        "repeat": line.repeat,
        "outcome": line.outcome,
        "score": _number(line.score),
        "band": line.band,
        "latency": _number(line.latency),
        "why": line.why,
    }


def _detail(detail: SampleDetail) -> dict[str, Any]:
    return {
        **_line(detail.line),
        "passed": detail.passed,
        "flagged": list(detail.flagged),
        "category": detail.category,
        "difficulty": detail.difficulty,
        "tags": list(detail.tags),
        "rung": detail.rung,
        "case_why": detail.case_why,
        "input": detail.input,
        "expected": detail.expected,
        "answer": detail.answer,
        "read": detail.read,
        "scores": detail.scores,
        "findings": detail.findings,
        "n_findings": len(detail.findings) if detail.n_findings is None else detail.n_findings,
        "pictures": [picture.place for picture in detail.pictures],
        "marks": [{"text": mark.text, "box": mark.box} for mark in detail.marks],
        "judgement": None if detail.judgement is None else asdict(detail.judgement),
    }


def _estimates(figures: dict[str, Estimate]) -> dict[str, Any]:
    return {name: _estimate(figure) for name, figure in figures.items()}


def _maybe(figure: Estimate | None) -> dict[str, Any] | None:
    return None if figure is None else _estimate(figure)


def _estimate(figure: Estimate) -> dict[str, Any]:
    return {
        "value": _number(figure.value),
        "n": figure.n,
        "n_missing": figure.n_missing,
        "low": _number(figure.low),
        "high": _number(figure.high),
        "constant": figure.constant,
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def plain(value: Any) -> Any:
    """The value with what JSON cannot hold made holdable: tuples as lists, NaN as null, anything else as text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        # A lone surrogate, which no file or terminal can take, is spelled out.
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)
