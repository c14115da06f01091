"""Which runs are readings of their whole suite, whose answers they hold, and which are runs of the same system."""

from __future__ import annotations

from steelyard.records import RunHeader, RunState, Verdict

_LOAD = ("rate", "concurrency", "requests_per_second")
_SELECTION = ("only", "limit")


def is_reading(header: RunHeader) -> bool:
    """Whether a run has ended and its figures can be believed: neither INVALID nor suspect."""
    return header.state is RunState.ENDED and header.verdict is not Verdict.INVALID and not header.suspect


def is_partial(header: RunHeader) -> bool:
    """Whether a run looked at a part of its suite alone."""
    options, suite = header.options, header.description
    if options.get("cases") or missing_repeats(header):
        return True
    if not options.get("only") and options.get("limit") is None:
        return False
    cells = max(1, len(suite.variants)) * max(1, suite.repeats)
    return suite.n_cases is None or header.n_planned // cells < suite.n_cases


def missing_repeats(header: RunHeader) -> int:
    """How many repeats a run made less than its suite declares."""
    return max(0, (header.description.usual_repeats or 0) - header.description.repeats)


def answers_from(header: RunHeader) -> str:
    """The run whose answers were weighed again, or most of them taken over; "" when they are its own."""
    retried = header.options.get("retried") or {}
    return header.rescored_from or header.options.get("answers_of") or retried.get("run") or ""


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
    plan = header.options.get("ab") or header.options.get("experiment") or {}
    return str(plan.get("id") or plan.get("attempt") or ""), str(plan.get("arm") or "")


def target_name(header: RunHeader) -> str:
    """What was weighed, in a few words: the target's kind and model or place."""
    target = header.target
    kind = str(target.get("kind", ""))
    settings = target.get("settings")
    described = {**settings, **target} if isinstance(settings, dict) else target
    for key in ("name", "model", "file", "address", "command", "function"):
        value = described.get(key)
        if value and value != kind:
            words = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            return f"{kind} {shown_address(words)}".strip()
    return kind or "unknown target"


def shown_address(address: str) -> str:
    """An address as a person reads it: `/ask of a service started for the run` where its port was any free one."""
    place, unfilled, path = address.partition("{port}")
    return f"{path or '/'} of a service started for the run" if unfilled and "/" not in place[8:] else address


def same_load(one: RunHeader, other: RunHeader) -> bool:
    """Whether two runs asked as often and as much at once, without which latencies cannot be compared."""
    loads = [each.options.get("load") or {} for each in (one, other)]
    return all(loads[0].get(name) == loads[1].get(name) for name in _LOAD)


def same_system(one: RunHeader, other: RunHeader) -> bool:
    """Whether two runs asked the same system the same questions in the same way: same signature, load and samples."""
    asked = [[each.signature, each.n_planned, *map(each.options.get, _SELECTION)] for each in (one, other)]
    return asked[0] == asked[1] and same_load(one, other)
