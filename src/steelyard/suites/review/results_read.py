"""What a results file of the seed's runner tells of each case, and where its own sums are wrong.

The file holds neither answers nor single calls: checks are those of the first of n runs, latency and stability are
figures of each case. They are kept as they stand; nothing is made up to fill the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from steelyard import Case, Check, CheckState, RecordedRun, RecordedSample

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
        kept=dict(document),
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
    times = [time for one in reviews if (time := _figures(one.get("latency")).get("mean_ms")) is not None]
    if times and median(times) < _TOO_FAST_MS:
        yield f"mean latency {median(times):g} ms (median of {len(times)} cases) looks short-circuited or cached"


def _by_most(counts: Sequence[Any], low: float | None, high: float | None) -> CheckState:
    within = sum((low is None or n >= low) and (high is None or n <= high) for n in counts)
    return CheckState.PASSED if 2 * within > len(counts) else CheckState.FAILED


def _counts(result: Mapping[str, Any]) -> list[float]:
    """Observations in each repeat; where only a check tells them, those of the first."""
    listed = result.get("observation_counts")
    if isinstance(listed, list):
        return [float(n) for n in listed if isinstance(n, int)]
    return [check.value for check in _checks(result) if check.name == _COUNT_CHECK and check.value is not None]


def _stated(result: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """The figures of a case for charts: times in seconds, shares unless nothing was compared, counts of all repeats."""
    figures = _figures(result.get("latency"))
    times: dict[str, float | None] = {
        name.removesuffix("_ms"): value / 1000 for name, value in figures.items() if name.endswith("_ms")
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
        checks = tuple(_checks(result))
        case = Case(
            result["case_id"], None, {"checks": [check.name for check in checks]}, why=_text(result, "description")
        )
        failure = "" if checks else "the file holds no checks of it: its calls failed, or were never made"
        samples.append(RecordedSample(case, checks=checks or None, failure=failure))
    return samples


def _checks(result: Mapping[str, Any]) -> Iterator[Check]:
    listed = result.get("expectation_results")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, Mapping) and isinstance(one.get("check"), str):
            state = CheckState.PASSED if one.get("passed") is True else CheckState.FAILED
            if one.get("state") == "undecided":
                state = CheckState.NOT_RUN
            detail = _text(one, "detail")
            found = _RANGE.search(detail)
            numbers = [_number(text) for text in found.groups()] if found else [None, *map(_figures(one).get, _ENDS)]
            counts = result.get("observation_counts")
            if "state" not in one and one["check"] == _COUNT_CHECK and found and counts:
                # The seed looked at the first repeat; the counts of all are in the file.
                state = _by_most(_counts(result), *numbers[1:])
                detail = f"{', '.join(map(str, counts))}{detail[found.end(1) :]}"
            yield Check(one["check"], state, detail, *numbers)


def differences(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Where the file's own sums do not fit its results, a sentence each."""
    checks = [check for result in results for check in _checks(result)]
    yield from _unequal(document, "cases_total", len(results))
    yield from _unequal(document, "cases_passed", sum(result.get("pass") is True for result in results))
    yield from _unequal(document, "expectations_total", len(checks))
    yield from _unequal(document, "expectations_passed", sum(one.state is CheckState.PASSED for one in checks))
    for result in results:
        yield from _pass_against_checks(result)
    yield from _overall_latency(document, results)
    for result in results:
        yield from _nothing_compared(result)


def _unequal(document: Mapping[str, Any], name: str, counted: int) -> Iterator[str]:
    said = document.get(name)
    if said is not None and said != counted:
        yield f"{name}: says {said}, its results give {counted}"


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
    said = _figures(document.get("overall_latency"))
    mean, largest = said.get("mean_ms"), said.get("p95_ms")
    times = [_figures(result.get("latency")) for result in results]
    ends = [one[name] for one in times for name in ("min_ms", "max_ms") if name in one]
    means = [(one["mean_ms"], one.get("n", 1.0)) for one in times if "mean_ms" in one]
    if mean is None or not means:
        return
    true = sum(value * n for value, n in means) / sum(n for _, n in means)
    if abs(mean - true) > max(1.0, 0.001 * true):
        why = ""
        if ends and abs(mean - sum(ends) / len(ends)) <= 1:
            why = f": it is the mean of the {len(ends)} smallest and largest times only"
        told = f"overall_latency.mean_ms: says {mean:g}, the mean of its cases is {true:.0f}"
        yield told + why
    repeats = document.get("repeats")
    calls = len(means) * repeats if isinstance(repeats, int) else 0
    if largest is not None and largest == said.get("max_ms") and calls >= _FEWEST_FOR_P95:
        yield f"overall_latency.p95_ms: says {largest:g}, the largest of {calls} calls, not the 95th percentile"


def _nothing_compared(result: Mapping[str, Any]) -> Iterator[str]:
    """A stability of 1.0 where no two answers had anything to compare."""
    counts = result.get("observation_counts")
    said = _stabilities(result)
    if isinstance(counts, list) and sum(1 for n in counts if n) < 2 and 1.0 in said.values():
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
    timed = [result for result in results if "mean_ms" in _figures(result.get("latency"))]
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
    """What it calls its stability, by what is held against each other."""
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
