"""What a run's header tells: whether it covers its whole suite, whose answers it has, which runs are of one system."""

from __future__ import annotations

from typing import Any

from steelyard.records import RunHeader, RunState, Verdict


def is_reading(header: RunHeader) -> bool:
    """Whether a run has ended and its figures can be believed: neither INVALID nor suspect, nor all from the cache."""
    sound = header.state is RunState.ENDED and header.verdict is not Verdict.INVALID and not header.suspect
    return sound and not all_cached(header)


def all_cached(header: RunHeader) -> bool:
    """Whether every answer of an ended run came from the cache: it is an earlier run's reading, and no new one."""
    return header.options.all_cached


def stated_all_cached(summary: Any) -> bool:
    """The same by the summary that runs were stored with before their figures were rows."""
    reused = summary.get("reused") if isinstance(summary, dict) else None
    counts = [reused.get(name) for name in ("answers", "cached")] if isinstance(reused, dict) else []
    answers, cached = (n if isinstance(n, int) else 0 for n in counts or (0, 0))
    return 0 < answers <= cached


def is_partial(header: RunHeader) -> bool:
    """Whether a run looked at a part of its suite alone."""
    facts, suite = header.options, header.description
    if facts.other_cases or missing_repeats(header):
        return True
    if not facts.only and facts.limit is None and facts.sample is None:
        return False
    cells = max(1, len(suite.variants)) * max(1, suite.repeats)
    return suite.n_cases is None or header.n_planned // cells < suite.n_cases


def missing_repeats(header: RunHeader) -> int:
    """How many repeats a run made less than its suite declares."""
    return max(0, (header.description.usual_repeats or 0) - header.description.repeats)


def answers_from(header: RunHeader) -> str:
    """The run whose answers were scored again, or most of them taken over; "" when they are its own."""
    facts = header.options
    retried = "" if facts.retried is None else facts.retried.run
    return header.rescored_from or facts.answers_of or facts.resumed_from or retried


def origin(header: RunHeader, by_id: dict[str, RunHeader]) -> str:
    """The run that asked for these answers, as far back as `by_id` knows."""
    seen = {header.id}
    while (earlier := answers_from(header)) and earlier not in seen:
        seen.add(earlier)
        if earlier not in by_id:
            return earlier
        header = by_id[earlier]
    return header.id


def arm_of(header: RunHeader) -> tuple[str, str]:
    """The A/B or experiment that a run is an arm of, and the arm's name; two empty texts when it is of none."""
    plan = header.options.ab or header.options.experiment
    return ("", "") if plan is None else (plan.id, plan.arm)


def same_load(run_header: RunHeader, other: RunHeader) -> bool:
    """Whether two runs asked as often and as much at once, without which latencies cannot be compared."""
    loads = [item.options.load and item.options.load.pace for item in (run_header, other)]
    return loads[0] == loads[1]


def same_system(run_header: RunHeader, other: RunHeader) -> bool:
    """Whether two runs asked the same system the same questions in the same way: same signature, load and samples."""
    asked = [(item.signature, item.n_planned, item.options.only, item.options.limit) for item in (run_header, other)]
    return asked[0] == asked[1] and same_load(run_header, other)
