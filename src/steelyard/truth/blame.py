"""Who is behind each value of the truth by the ledger, and what changed since."""

from __future__ import annotations

from typing import Any

from steelyard.frozen import frozen
from steelyard.suite.case import Case
from steelyard.suite.cases import every_case
from steelyard.suite.ledger import TRUTH, LedgerLine
from steelyard.suite.models import SuiteModel
from steelyard.suite.paths import MISSING, compile_path, leaves
from steelyard.truth.edits import EXPECTED, case_named, same_value, state_in_runs

_truth = compile_path(EXPECTED)


@frozen
class Value:
    """A value of a case's truth, as the ledger has it and as it is now; MISSING where there is none.

    The path is "" for all of a case that is retired.
    """

    case: str
    path: str
    recorded: Any
    now: Any
    number: int | None
    """The newest line of the ledger that speaks of it."""

    @property
    def as_recorded(self) -> bool:
        """Whether the line says what is there."""
        return self.number is not None and same_value(self.recorded, self.now)


def blame(suite: SuiteModel, case_id: str) -> list[Value]:
    """The values of a case's truth, each with the line of the ledger that may have set it; of a retired case the line
    that retired it."""
    cases = {case.id: case for case in every_case(suite)}
    last = max((at for at, line in enumerate(suite.ledger, 1) if _is_about(line, case_id)), default=0)
    if case_id not in cases and last and suite.ledger[last - 1].after is None:
        return [Value(case_id, "", MISSING, MISSING, last)]
    return [value for value in _values(suite, case_id, case_named(cases, case_id)) if value.now is not MISSING]


def changes_since_ledger(suite: SuiteModel, case: str | None = None) -> list[Value]:
    """What is another than the newest line of each case says: edits by hand, or a command that was killed half-way.

    Of a line that keeps digests alone no more is known than that something changed: the path is `expected`.
    """
    states = {line.case: line.after for line in suite.ledger if line.case and _is_about(line, case or line.case)}
    cases = {item.id: item for item in every_case(suite) if item.id in states}
    results = []
    for name, state in states.items():
        if state_in_runs(suite, cases.get(name)) != state:
            values = _values(suite, name, cases.get(name))
            changed = [value for value in values if value.number is not None and not value.as_recorded]
            results += changed or [Value(name, EXPECTED, MISSING, _truth(cases.get(name)), None)]
    return results


def _is_about(line: LedgerLine, case_id: str) -> bool:
    return (line.what, line.case) == (TRUTH, case_id)


def _values(suite: SuiteModel, case_id: str, case: Case | None) -> list[Value]:
    """All values that a case's truth has, or had by the ledger."""
    state, now = state_in_runs(suite, case), dict(leaves(_truth(case), EXPECTED))
    recorded: dict[str, tuple[Any, int | None]] = {}
    for number, line in enumerate(suite.ledger, 1):
        if not _is_about(line, case_id):
            continue
        for path, sides in (line.change or {}).items():
            for side in ("before", "after"):
                value = sides.get(side, MISSING)
                for inner, leaf in leaves(value if path else _truth(value), path or EXPECTED):
                    recorded[inner] = (leaf if side == "after" else MISSING), number
        if line.change is None and line.after == state:
            # An edit by hand that led here may have set whatever no other line did.
            other = [path for path in now if not same_value(recorded.get(path, (MISSING, 0))[0], now[path])]
            recorded |= {path: (now[path], number) for path in other}
    results = []
    for path in now | recorded:
        was, set_by = recorded.get(path, (MISSING, None))
        results.append(Value(case_id, path, was, now.get(path, MISSING), set_by))
    return results
