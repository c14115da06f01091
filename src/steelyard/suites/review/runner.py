"""The seed's command line: `python -m steelyard.suites.review.runner --cases DIR -n 5 --json-output FILE`.

A thin front of `steelyard run review --target http`: the same run, kept in the same store, with the same exit codes. It
prints the seed's table and writes the seed's results file, with the four charts beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard import MissingExtra, Run, SteelyardError, load_suite, run_suite, with_target

from .switches import seconds
from .visualize import CHART_NAMES

TOKEN_VARIABLE = "REVIEW_TOKEN"  # noqa: S105 - the name of a variable
_REFUSED = ("http_401", "http_403")
_CHECK_TOKEN = "check --token: the service refuses it"  # noqa: S105 - a sentence


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the service, say what came of it, and give the exit code that its verdict stands for."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    try:
        return _evaluate(options)
    except SteelyardError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - as `_say`
        return error.exit_code
    except OSError as error:
        print(f"error: {error.filename or 'a file'}: {error.strerror}"[:300], file=sys.stderr)  # noqa: T201
        return 2


def _evaluate(options: argparse.Namespace) -> int:
    # By its place: a folder `review` where the command is given may hold another suite.
    # The cases of whoever calls it are all that there are.
    suite = load_suite(Path(__file__).parent, cases=options.cases).changed(other_cases="")
    suite = with_target(suite, "http", {"base_url": options.base_url})
    run = run_suite(
        suite,
        store=options.store,
        env={**os.environ, TOKEN_VARIABLE: options.token},
        show_progress=True,
        repeats=options.repeats,
        concurrency=options.concurrency,
        outage=options.outage,
        keep_going=options.keep_going,
        cures=dict.fromkeys(_REFUSED, _CHECK_TOKEN),
    )
    results = {**run.own_format(), "backend": options.backend, "reasons": run.reasons}
    for line in lines(results, options.base_url):
        _say(line)
    if options.json_output is not None:
        _save(results, run, options.json_output)
    return run.exit_code


def _save(results: dict[str, Any], run: Run, path: Path) -> None:
    """Write the results file, whole or not at all, and the charts beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)
    _say(f"\nResults: {path}")
    try:
        drawn = run.write_charts(path.parent, CHART_NAMES)
    except MissingExtra as error:
        _say(f"No charts: {error}")
    else:
        _say(f"Charts:  {', '.join(picture.name for picture in drawn)}")


def _say(text: str) -> None:
    print(text)  # noqa: T201 - a command line speaks to a person


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("steelyard.suites.review.runner", description="Score a review service.")
    add = parser.add_argument
    add("--cases", type=Path, default=Path("eval/cases"), help="folder with a JSON file a case [default: eval/cases]")
    add("--backend", default="ollama", help="what the table and the results call the backend [default: ollama]")
    add("--base-url", default="http://localhost:9020", help="where the service is [default: http://localhost:9020]")
    add("--token", default="demo-token", help="the bearer token [default: demo-token]")
    add("-n", dest="repeats", type=_at_least_one, default=5, help="runs of each case; 1 is a smoke test [default: 5]")
    add("--json-output", type=Path, help="file for the results; charts are put beside it")
    add("--concurrency", type=_at_least_one, default=1, help="calls at a time [default: 1, as the seed measured]")
    add(
        "--outage",
        type=_duration,
        metavar="TIME",
        help="how long to wait for a service that stopped answering: 90s, 5m; 0: do not wait [default: 5m]",
    )
    add(
        "--keep-going", action="store_true", help="make all calls, also when the first all fail for good (401, refused)"
    )
    add("--store", help="where the run is kept [default: $STEELYARD_STORE or .steelyard/]")
    return parser.parse_args(arguments)


def _duration(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of times: write 1 or more")
    return int(text)


_STATES = {"held": "PASS", "broken": "FAIL", "undecided": "?"}
_WIDTH = 80
_NEAREST = "*"


def lines(results: Mapping[str, Any], base_url: str) -> Iterator[str]:
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
    reasons = list(results["reasons"])
    if results["stopped"] and not any(results["stopped"] in reason for reason in reasons):
        reasons.insert(0, f"the run stopped: {results['stopped']}")
    refused = any(error["kind"] in _REFUSED for error in results["errors"])
    if refused and not any(_CHECK_TOKEN in reason for reason in reasons):
        reasons.append(_CHECK_TOKEN)
    for reason in reasons:
        yield from _wrapped(f"- {reason}", "  ")
    for error in results["errors"]:
        text = " ".join(filter(None, (error["kind"], error["code"] and f"{error['code']}:", error["message"])))
        if not any(text in reason for reason in reasons):
            yield from _wrapped(f"- {error['count']} failed: {text}", "  ")
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
                f"{sum(check['passed'] for check in checks)}/{len(checks)}",
                _range(result.get("observation_counts")),
                _point(result["latency"], "mean"),
                _point(result["latency"], "p95"),
                _share(same.get("span_stability")),
                _share(same.get("severity_stability")),
            )
        )
    marked = any(row[5].endswith(_NEAREST) for row in rows)
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
    if marked:
        yield f"{_NEAREST} nearest rank: of fewer than 20 calls the longest"


def _not_held(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    sentences = []
    not_run: dict[str, list[str]] = {}
    for result in results:
        checks = result["expectation_results"]
        if not result["runs_decided"] and not any(check["passed"] for check in checks):
            # Not one call was answered: one line has the reason for all such cases.
            not_run.setdefault(checks[0]["detail"] if checks else "nothing to check", []).append(result["case_id"])
            continue
        if result.get("schema_valid", True) is not True:
            why = f"an answer does not fit it: {result['schema_detail']}" if result["schema_valid"] is False else ""
            sentences.append(f"{result['case_id']} schema: {why or 'cannot be told'}")
        elif result["state"] != "held" and all(check["passed"] for check in result["expectation_results"]):
            clean = f"{result['runs_clean']} of {result['runs_decided']} answers"
            sentences.append(f"{result['case_id']}: each check passes in most answers, all of them in {clean}")
        sentences += [
            f"{result['case_id']} {_check_line(check)}"
            for check in result["expectation_results"]
            if not check["passed"]
        ]
    sentences += [f"{', '.join(cases)}: no check ran: {detail}" for detail, cases in not_run.items()]
    if sentences:
        yield ""
        yield "Not held:"
    for sentence in sentences:
        yield from _wrapped(sentence, "  ")


def _check_line(check: Mapping[str, Any]) -> str:
    n = check["runs_passed"] + check["runs_failed"] + check["runs_not_run"]
    not_run = f", {check['runs_not_run']} not run" if check["runs_not_run"] else ""
    return f"{check['check']} [{check['runs_passed']} of {n} runs{not_run}]: {check['detail']}"


def _sums(results: Mapping[str, Any]) -> Iterator[str]:
    latency, same = results["overall_latency"], results["overall_repeatability"]
    for name, what in (("Cases passed", "cases"), ("Expectations passed", "expectations")):
        undecided = results[f"{what}_undecided"]
        note = f" ({undecided} undecided)" if undecided else ""
        yield f"{name + ':':20} {results[f'{what}_passed']} of {results[f'{what}_total']}{note}"
    points = ", ".join(f"{name} {_point(latency, name)}" for name in ("mean", "p50", "p95", "p99", "max"))
    yield f"Latency:             {points}"
    missing = f"{latency['timeouts']} timeouts, {latency['failures']} other failures"
    yield f"                     {latency['n']} answered, {missing}"
    if latency["hint"]:
        first, *more = _wrapped(latency["hint"], " " * 21)
        yield first
        yield from (f"{' ' * 21}{line.strip()}" for line in more)
    shares = ", ".join(f"{name} {_share(same[f'{name}_stability'])}" for name in ("span", "severity", "presence"))
    yield f"Stability:           {shares}"


def _range(counts: Sequence[int] | None) -> str:
    if counts is None:
        return "-"
    if not counts:
        return "n/a"
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)}-{max(counts)}"


def _point(latency: Mapping[str, Any], name: str) -> str:
    """A figure of latency; n/a without a call, and marked where a percentile is by nearest rank."""
    if not latency["n"]:
        return "n/a"
    bound = "≥ " if f"{name}_ms" in latency["at_least"] else ""
    nearest = name == "p95" and latency["p95_method"].startswith("nearest rank")
    return f"{bound}{_time(latency[f'{name}_ms'])}{_NEAREST if nearest else ''}"


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


if __name__ == "__main__":
    sys.exit(main())
