"""Results files of the first team's runner: read with what is wrong in their own sums, and written from a run.

Such a file holds neither answers nor single calls: checks are those of the first of n runs, latency and stability are
figures of each case. They are taken as they stand; nothing is made up to fill the rest. What is written has the same
fields, and in addition what they left out; every figure is the run's own: checks over all repeats, those that did not
run or whose case was never called in the denominator, stability over all pairs of repeats, latency of every answered
call, and why calls failed. The first team's own charts read it: their four latencies are always numbers, next to `n`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from steelyard import (
    Case,
    Check,
    CheckState,
    RecordedRun,
    RecordedSample,
    RunHeader,
    Sample,
    Summary,
    UsageError,
    failure_causes,
)


class Format:
    """Reads and writes results in the seed's shape; whatever is read is written again as it was."""

    def read(self, document: Any) -> RecordedRun:
        """What a results file says of each case; it holds no answers, so its checks are taken as they stand."""
        results = document.get("results") if isinstance(document, Mapping) else None
        if not isinstance(results, list) or not all(_is_result(result) for result in results):
            raise UsageError("it has no list of results with a case_id each")
        return recorded(document, results)

    def write(self, header: RunHeader, summary: Summary, samples: Iterable[tuple[Sample, Case]]) -> dict[str, Any]:
        """The run as such a file: as it was when it was imported, else with the figures of the run."""
        original = header.options.original
        return results_document(header, summary, samples) if original is None else original.document


def _is_result(result: Any) -> bool:
    return isinstance(result, Mapping) and isinstance(result.get("case_id"), str) and bool(result["case_id"].strip())


_ENDS = ("low", "high")
_COUNT_CHECK = "observation_count"
_ERROR_CHECK = "expected_error_code"
_FEWEST_COUNTS = 5
"""Of fewer answers, that all are empty says nothing."""
_TOO_FAST_MS = 100
_FEWEST_FOR_P95 = 20
"""Of fewer calls the 95th percentile is the largest."""
_RANGE = re.compile(r"(\d+) \(expected (\d+|None|\*)?\s*-\s*(\d+|None|\*)?\)")


def recorded(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> RecordedRun:
    """The results as samples, one a case: of further repeats the file has no checks."""
    return RecordedRun(
        samples=_samples(results),
        created_at=None,
        target={"backend": document["backend"]} if isinstance(document.get("backend"), str) else {},
        stored=dict(document),
        differences=tuple(differences(document, results)),
        notes=tuple(notes(document, results)),
        stated={result["case_id"]: _stated(result) for result in results},
        suspect=tuple(_suspect(document, results)),
    )


def _suspect(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Why it looks as if no model was behind the answers: as a file of our own says, or nothing seen and no time taken.

    Cases that expect an error see nothing and are fast by nature.
    """
    if isinstance(own := document.get("suspect"), list):
        yield from map(str, own)
        return
    reviews = [result for result in results if all(check.name != _ERROR_CHECK for check in _checks(result))]
    counts = [n for result in reviews for n in _counts(result)]
    if len(counts) >= _FEWEST_COUNTS and not any(counts):
        yield f"all {len(counts)} answers of {len(reviews)} cases list nothing although the cases differ"
    latencies = [_figures(result.get("latency")) for result in reviews]
    times = [figures["mean_ms"] for figures in latencies if "mean_ms" in figures and figures.get("n", 1)]
    if times and median(times) < _TOO_FAST_MS:
        yield f"mean latency {median(times):g} ms (median of {len(times)} cases) looks short-circuited or cached"


def _counts(result: Mapping[str, Any]) -> list[float]:
    """Observations in each repeat; where only a check tells them, those of the first."""
    listed = result.get("observation_counts")
    if isinstance(listed, list):
        return [float(n) for n in listed if isinstance(n, int)]
    return [check.value for check in _checks(result) if check.name == _COUNT_CHECK and check.value is not None]


def _stated(result: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """The figures of a case for charts: times in seconds, shares unless nothing was compared, counts of all repeats."""
    figures = _figures(result.get("latency"))
    # Where no call was answered, the times are 0 for want of a number.
    times: dict[str, float | None] = {
        name.removesuffix("_ms"): value / 1000
        for name, value in figures.items()
        if name.endswith("_ms") and figures.get("n", 1)
    }
    times |= {name: value for name, value in figures.items() if name in ("n", "timeouts", "failures")}
    given = result.get("repeatability")
    names = given if isinstance(given, Mapping) else ()
    shares: dict[str, float | None] = dict.fromkeys(_share_name(name) for name in names if _share_name(name) != name)
    shares |= {} if list(_nothing_compared(result)) else _stabilities(result)
    counts: dict[str, float | None] = {str(number): n for number, n in enumerate(_counts(result), 1)}
    counted = {f"check.{_COUNT_CHECK}": counts} if "observation_counts" in result else {}
    return {"latency": times, "stability": shares, **counted}


def _samples(results: Sequence[Mapping[str, Any]]) -> list[RecordedSample]:
    samples = []
    for result in results:
        checks = (*_checks(result), *_failed_otherwise(result))
        case = Case(
            result["case_id"], None, {"checks": [check.name for check in checks]}, why=_text(result, "description")
        )
        failure = "" if checks else "the file holds no checks of it: its calls failed, or were never made"
        samples.append(RecordedSample(case, checks=checks or None, failure=failure))
    return samples


def _checks(result: Mapping[str, Any]) -> Iterator[Check]:
    listed = result.get("expectation_results")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("check"), str):
            state = CheckState.PASSED if entry.get("passed") is True else CheckState.FAILED
            if entry.get("state") == "undecided":
                state = CheckState.NOT_RUN
            detail = _text(entry, "detail")
            match = _RANGE.search(detail)
            numbers = [_number(text) for text in match.groups()] if match else [None, *map(_figures(entry).get, _ENDS)]
            yield Check(entry["check"], state, detail, *numbers)


def _failed_otherwise(result: Mapping[str, Any]) -> Iterator[Check]:
    """What failed a case whose listed checks all pass: its schema, or what its file says without a check of it."""
    checks = list(_checks(result))
    if result.get("pass") is False and checks and all(check.state is CheckState.PASSED for check in checks):
        name = SCHEMA_CHECK if result.get("schema_valid") is False else "pass"
        yield Check(
            name, CheckState.FAILED, "the file marks the case as failed, and every check that it lists as passed"
        )


def differences(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Where the file's own sums do not fit its results, a sentence each."""
    checks = [check for result in results for check in _checks(result)]
    yield from _unequal(document, "cases_total", len(results))
    yield from _unequal(document, "cases_passed", sum(result.get("pass") is True for result in results))
    yield from _unequal(document, "expectations_total", len(checks))
    yield from _unequal(document, "expectations_passed", sum(check.state is CheckState.PASSED for check in checks))
    for result in results:
        yield from _pass_against_checks(result)
    yield from _overall_latency(document, results)
    for result in results:
        yield from _nothing_compared(result)


def _unequal(document: Mapping[str, Any], name: str, counted: int) -> Iterator[str]:
    stated = document.get(name)
    if stated is not None and stated != counted:
        yield f"{name}: says {stated}, its results give {counted}"


def _pass_against_checks(result: Mapping[str, Any]) -> Iterator[str]:
    checks = list(_checks(result))
    failed = [check.name for check in checks if check.state is not CheckState.PASSED]
    if result.get("pass") is True and failed:
        yield f"{result['case_id']}: passes, although {', '.join(failed)} failed"
    if result.get("pass") is True and not checks:
        yield f"{result['case_id']}: passes without a single check"
    if result.get("pass") is False and checks and not failed and result.get("schema_valid", True) is True:
        yield f"{result['case_id']}: fails, although every check that it lists passed"


def _overall_latency(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The seed pooled the smallest and the largest time of each case, and nothing between them."""
    stated = _figures(document.get("overall_latency"))
    mean, largest = stated.get("mean_ms"), stated.get("p95_ms")
    times = [figures for result in results if (figures := _figures(result.get("latency"))).get("n", 1)]
    ends = [figures[name] for figures in times for name in ("min_ms", "max_ms") if name in figures]
    means = [(figures["mean_ms"], figures.get("n", 1.0)) for figures in times if "mean_ms" in figures]
    if mean is None or not means:
        return
    true = sum(value * n for value, n in means) / sum(n for _, n in means)
    if abs(mean - true) > max(1.0, 0.001 * true):
        why = ""
        if ends and abs(mean - sum(ends) / len(ends)) <= 1:
            why = f": it is the mean of the {len(ends)} smallest and largest times only"
        message = f"overall_latency.mean_ms: says {mean:g}, the mean of its cases is {true:.0f}"
        yield message + why
    repeats = document.get("repeats")
    calls = int(stated.get("n", len(means) * repeats if isinstance(repeats, int) else 0))
    if largest is not None and largest == stated.get("max_ms") and calls >= _FEWEST_FOR_P95:
        yield f"overall_latency.p95_ms: says {largest:g}, the largest of {calls} calls, not the 95th percentile"


def _nothing_compared(result: Mapping[str, Any]) -> Iterator[str]:
    """A stability of 1.0 where no two answers had anything to compare."""
    counts = result.get("observation_counts")
    shares = _stabilities(result)
    if isinstance(counts, list) and sum(1 for n in counts if n) < 2 and 1.0 in shares.values():
        yield f"{result['case_id']}: calls itself 100 % stable, although fewer than two answers had any observations"


def notes(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the file says and nobody can compute again."""
    repeats = document.get("repeats")
    if isinstance(document.get("run"), str):
        yield f"it was written from the run {document['run']}: in the store of that run nothing is lost"
    elif isinstance(repeats, int) and repeats > 1:
        yield (
            f"of {repeats} repeats only the counts and the checks of the first are in the file: the others are not made"
            " up, so nothing can be said of how many repeats hold"
        )
    latencies = ((result, _figures(result.get("latency"))) for result in results)
    timed = [result for result, figures in latencies if "mean_ms" in figures and figures.get("n", 1)]
    compared = [result for result in results if _stabilities(result)]
    if timed:
        yield "it holds no single calls: latency cannot be computed again. As it says, in ms:"
        for result in timed:
            figures = _figures(result["latency"])
            points = (f"{name[:-3]} {value:g}" for name, value in figures.items() if name.endswith("_ms"))
            yield f"  {result['case_id']}: " + ", ".join(points)
    if compared:
        yield "it holds no answers: stability cannot be computed again. As it says:"
        for result in compared:
            shares = (f"{name} {100 * value:.1f} %" for name, value in _stabilities(result).items())
            yield f"  {result['case_id']}: " + ", ".join(shares)


def _stabilities(result: Mapping[str, Any]) -> dict[str, float]:
    """What it calls its stability, by what is compared with each other."""
    figures = _figures(result.get("repeatability"))
    return {_share_name(name): value for name, value in figures.items() if _share_name(name) != name}


def _share_name(name: str) -> str:
    return name.removesuffix("_stability")


def _figures(given: Any) -> dict[str, float]:
    """The numbers in a group of figures, by name."""
    if not isinstance(given, Mapping):
        return {}
    numbers = {name: value for name, value in given.items() if isinstance(value, (int, float))}
    return {str(name): float(value) for name, value in numbers.items() if not isinstance(value, bool)}


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdigit() else None


SCHEMA_CHECK = "schema"
_POINTS = ("mean", "min", "max", "p50", "p95", "p99")
_ALWAYS_NUMBERS = ("mean", "min", "max", "p95")
_HELD = {True: "held", False: "broken", None: "undecided"}


@dataclass(slots=True)
class Answers:
    """What is known of one case besides the run's figures."""

    description: str = ""
    counts: list[int] = field(default_factory=list)
    """Observations in each answer that could be read, in the order of the repeats."""
    models: set[str] = field(default_factory=set)
    failed: list[Sample] = field(default_factory=list)


def results_document(header: RunHeader, summary: Summary, samples: Iterable[tuple[Sample, Case]]) -> dict[str, Any]:
    """The run as one results document."""
    parts = (summary.checks, summary.stability, summary.latency)
    checks, stability, latency = ({} if part is None else asdict(part) for part in parts)
    overall, answers = summary.overall, _answers(samples)
    stable = {_key(cell): cell for cell in stability.get("cells", ())}
    times = {_key(cell): cell for cell in latency.get("cells", ())}
    uncalled = {(case.case_id, case.variant) for case in header.description.uncalled}
    results = [
        _result(cell, answers[cell["case_id"]], stable.get(_key(cell)), times.get(_key(cell)))
        | {"called": _key(cell) not in uncalled}
        for cell in checks.get("cells", ())
    ]
    expectations = [entry for result in results for entry in result["expectation_results"]]
    # A case of which nothing is known has at least one expectation, and none of them is decided.
    unknown = overall.count("cases.count.unknown")
    failed = [sample for entry in answers.values() for sample in entry.failed]
    return {
        "backend": ", ".join(sorted({model for entry in answers.values() for model in entry.models})),
        "repeats": header.description.repeats,
        "cases_passed": overall.count("cases.count.passed"),
        "cases_total": overall.count("cases.count.all"),
        "cases_undecided": overall.count("cases.count.undecided"),
        "expectations_passed": sum(entry["passed"] for entry in expectations),
        "expectations_total": len(expectations) + unknown,
        "expectations_undecided": sum(entry["state"] == "undecided" for entry in expectations) + unknown,
        "overall_latency": _latency_of_run(summary) | {"hint": latency.get("normal", "")},
        "overall_repeatability": _overall_stability(summary),
        "verdict": None if header.verdict is None else header.verdict.value,
        "suspect": list(header.suspect),
        "stopped": header.options.broken or header.options.stopped,
        "errors": _errors(failed),
        "run": header.id,
        "results": results,
    }


def _key(cell: Mapping[str, Any]) -> tuple[str, str]:
    return cell["case_id"], cell["variant"]


def _answers(samples: Iterable[tuple[Sample, Case]]) -> defaultdict[str, Answers]:
    by_case: defaultdict[str, Answers] = defaultdict(Answers)
    for sample, case in samples:
        answers = by_case[case.id]
        answers.description = case.why
        if sample.items is not None:
            answers.counts.append(len(sample.items))
        if sample.call_result.model:
            answers.models.add(sample.call_result.model)
        if sample.call_result.failure is not None:
            answers.failed.append(sample)
    return by_case


def _result(
    cell: Mapping[str, Any], answers: Answers, stable: Mapping[str, Any] | None, times: Mapping[str, Any] | None
) -> dict[str, Any]:
    schema = [check for check in cell["checks"] if check["name"] == SCHEMA_CHECK]
    result: dict[str, Any] = {
        "case_id": cell["case_id"] if not cell["variant"] else f"{cell['case_id']} ({cell['variant']})",
        "description": answers.description or cell.get("about", ""),
        "latency": _latency((times or {}).get("spread"), times or {}),
        "pass": cell["holds"] is True,
        "state": _HELD[cell["holds"]],
        "runs_clean": cell.get("clean", 0),
        "runs_decided": cell.get("decided", 0),
        "errors": _errors(answers.failed),
    }
    # As in the seed, a case that is to be refused has no observations to compare or to count.
    if schema:
        result["schema_valid"] = schema[0]["holds"]
        result["schema_detail"] = schema[0]["detail"]
        if (repeatability := _repeatability(stable)) is not None:
            result["repeatability"] = repeatability
        result["observation_counts"] = answers.counts
    result["expectation_results"] = [_expectation(check) for check in cell["checks"] if check["name"] != SCHEMA_CHECK]
    return result


def _expectation(check: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "check": check["name"],
        "passed": check["holds"] is True,
        "detail": check["detail"],
        "state": _HELD[check["holds"]],
        "runs_passed": check["passed"],
        "runs_failed": check["failed"],
        "runs_not_run": check["not_run"],
        **{name: check[name] for name in ("low", "high") if check.get(name) is not None},
    }


def _errors(failed: Iterable[Sample]) -> list[dict[str, Any]]:
    """Why calls failed, by cause, most frequent first."""
    return [asdict(cause) for cause in failure_causes(failed)]


def _repeatability(stable: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The stability of a case; None where there was nothing to compare, and the file then says nothing of it."""
    fields = (stable or {}).get("fields", {})
    values = {f"{name}_stability": _value(fields.get(name)) for name in ("span", "severity")}
    if all(value is None for value in values.values()):
        return None
    return values | {
        "presence_stability": _value((stable or {}).get("presence")),
        "comparisons": (fields.get("severity") or {}).get("n", 0),
    }


def _latency_of_run(summary: Summary) -> dict[str, Any]:
    overall = summary.overall
    figures = {name: overall[f"latency.{name}"] for name in _POINTS}
    bounds = [name for name in _POINTS if figures[name].at_least]
    times = {name: item.value for name, item in figures.items()} | {"n": figures["p50"].n, "at_least": bounds}
    return _latency(times, {name: overall.count(f"latency.{name}") for name in ("timeouts", "failures")})


def _overall_stability(summary: Summary) -> dict[str, Any]:
    overall = summary.overall
    return {
        "span_stability": overall["stability.span"].value,
        "severity_stability": overall["stability.severity"].value,
        "presence_stability": overall["stability.presence"].value,
        "comparisons": {
            what: round(item.value or 0) for what, item in overall.each("stability.comparisons.<what>").items()
        },
    }


def _value(estimate: Mapping[str, Any] | None) -> float | None:
    """None, and not 1.0, where there was nothing to compare."""
    return None if estimate is None else estimate["value"]


def _latency(spread: Mapping[str, Any] | None, counts: Mapping[str, Any]) -> dict[str, Any]:
    """Milliseconds of the calls that were answered or timed out. The first team's charts read numbers alone: where no
    call was answered, the times are 0 and `n` is 0."""
    figures, n = spread or {}, (spread or {}).get("n", 0)
    points = {f"{name}_ms": _milliseconds(figures.get(name)) for name in _POINTS}
    method = "interpolated"
    if points["p95_ms"] is None and n:
        # Of fewer than 20 calls the rank of the 95th percentile, 0.95 n rounded up, is that of the longest.
        points["p95_ms"], method = points["max_ms"], f"nearest rank: the longest of {n} calls, fewer than 20"
    if not n:
        points |= {f"{name}_ms": 0 for name in _ALWAYS_NUMBERS}
        method = "none: no call was answered"
    counted = {"p95_method": method, "n": n, "at_least": [f"{name}_ms" for name in figures.get("at_least", ())]}
    return points | counted | {name: counts.get(name, 0) for name in ("timeouts", "failures")}


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)
