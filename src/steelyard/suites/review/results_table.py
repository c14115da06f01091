"""A results document as the seed's runner prints it, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_STATES = {"held": "PASS", "broken": "FAIL", "undecided": "?"}
_WIDTH = 80


def lines(results: Mapping[str, Any], base_url: str, reasons: Sequence[str]) -> Iterator[str]:
    """The table of cases, what did not hold, the sums, and the verdict with its reasons."""
    runs = "1 run each" if results["repeats"] == 1 else f"{results['repeats']} runs each"
    cases = "1 case" if results["cases_total"] == 1 else f"{results['cases_total']} cases"
    yield f"Backend {results['backend']} at {base_url}: {cases}, {runs}"
    yield ""
    yield from _table(results["results"])
    yield from _not_held(results["results"])
    yield ""
    yield from _sums(results)
    verdict = results["verdict"] or "none: the suite has no gates"
    yield f"Verdict:             {verdict}"
    for reason in reasons:
        yield from _wrapped(f"- {reason}", "  ")
    yield f"Everything else:     steelyard report {results['run']}"


def _table(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = [("Case", "Result", "Checks", "Observations", "Mean", "p95", "Span", "Severity")]
    for result in results:
        checks = result["expectation_results"]
        same = result.get("repeatability", {})
        rows.append(
            (
                result["case_id"],
                _STATES[result["state"]],
                f"{sum(one['passed'] for one in checks)}/{len(checks)}",
                _range(result.get("observation_counts")),
                _time(result["latency"]["mean_ms"]),
                _time(result["latency"]["p95_ms"]),
                _share(same.get("span_stability")),
                _share(same.get("severity_stability")),
            )
        )
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _not_held(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    told = []
    for result in results:
        if result.get("schema_valid", True) is not True:
            why = "an answer does not fit it" if result["schema_valid"] is False else "cannot be told"
            told.append(f"{result['case_id']} schema: {why}")
        elif result["state"] != "held" and all(one["passed"] for one in result["expectation_results"]):
            clean = f"{result['runs_clean']} of {result['runs_decided']} answers"
            told.append(f"{result['case_id']}: each check passes in most answers, all of them in {clean}")
        told += [f"{result['case_id']} {_said(one)}" for one in result["expectation_results"] if not one["passed"]]
    if told:
        yield ""
        yield "Not held:"
    for sentence in told:
        yield from _wrapped(sentence, "  ")


def _said(check: Mapping[str, Any]) -> str:
    n = check["runs_passed"] + check["runs_failed"] + check["runs_not_run"]
    not_run = f", {check['runs_not_run']} not run" if check["runs_not_run"] else ""
    return f"{check['check']} [{check['runs_passed']} of {n} runs{not_run}]: {check['detail']}"


def _sums(results: Mapping[str, Any]) -> Iterator[str]:
    latency, same = results["overall_latency"], results["overall_repeatability"]
    for name, what in (("Cases passed", "cases"), ("Expectations passed", "expectations")):
        undecided = results[f"{what}_undecided"]
        beside = f" ({undecided} undecided)" if undecided else ""
        yield f"{name + ':':20} {results[f'{what}_passed']} of {results[f'{what}_total']}{beside}"
    points = ", ".join(f"{name} {_time(latency[f'{name}_ms'])}" for name in ("mean", "p50", "p95", "p99", "max"))
    yield f"Latency:             {points}"
    missing = f"{latency['timeouts']} timeouts, {latency['failures']} other failures"
    yield f"                     {latency['n']} answered, {missing}"
    shares = ", ".join(f"{name} {_share(same[f'{name}_stability'])}" for name in ("span", "severity", "presence"))
    yield f"Stability:           {shares}"


def _range(counts: Sequence[int] | None) -> str:
    if counts is None:
        return "-"
    if not counts:
        return "n/a"
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)}-{max(counts)}"


def _time(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "n/a"
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.0f} %"


def _wrapped(text: str, indent: str) -> Iterator[str]:
    """The text in lines that fit; those after the first are set in further."""
    line = indent
    for word in text.split():
        if len(line) + len(word) + 1 > _WIDTH and line.strip():
            yield line
            line = indent + "  "
        line += word if line.isspace() or not line else f" {word}"
    yield line
