"""What is decided of suggestions: a suggestion never becomes truth by itself."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from steelyard.errors import UsageError
from steelyard.frozen import values_of
from steelyard.loading.load import load_suite
from steelyard.suite.case import Case
from steelyard.suite.case_files import cannot_edit
from steelyard.suite.cases import every_case
from steelyard.suite.ledger import SUGGESTION, LedgerLine, SuggestionDecision, append_lines, ledger_line
from steelyard.suite.models import SuiteModel
from steelyard.suite.paths import compile_path
from steelyard.suite.yaml import meant
from steelyard.truth.edits import Author, change_case
from steelyard.truth.suggestions import Suggestion, is_redacted


def decide(
    place: str,
    listed: Sequence[Suggestion],
    name: str,
    outcome: Literal["alternative", "correction", "rejected"],
    author: Author,
    values: Mapping[str, Any] | None = None,
    unchanged: Collection[str] = (),
) -> LedgerLine:
    """Make an answer the truth or an alternative to it, or reject it, with a line in the ledger that says why.

    `values` and `unchanged` are what else is edited with a correction, and what depends on it and stays: see
    `change_case`.
    """
    matching = [item for item in listed if name and item.id.startswith(name)]
    if len(matching) != 1:
        several = f"{len(matching)} suggestions begin with {name!r}" if matching else f"there is no suggestion {name!r}"
        where = "see `steelyard truth suggest --all`, and give the same --agree and --run here as there"
        raise UsageError(f"{several}{meant(name, [item.id for item in listed])}; {where}")
    (item,) = matching
    about = values_of(item, "id", "component", "value") | {"runs": list(item.runs)}
    decision = SuggestionDecision(outcome=outcome, points=item.points.get(outcome), **about)
    if way := item.ways.get(outcome):
        if is_redacted(json.dumps(way)):
            raise cannot_edit(f"the truth of {item.case} holds personal data, which the suite redacts")
        about = {"of_case": way, "state": item.state, "decision": decision}
        return change_case(place, item.case, values or {}, author, unchanged=unchanged, **about)
    if outcome != "rejected":
        why = f"the scorer of {item.component} knows one truth alone"
        raise UsageError(f"{why}: accept it as a correction, or score it by alternatives with also")
    edit = {"what": SUGGESTION, "case": item.case, "before": item.state, "after": item.state, "suggestion": decision}
    line = ledger_line(by=author.by, reason=author.reason, **edit)
    append_lines(load_suite(place).folder, [line])
    return line


def accepted(suite: SuiteModel) -> list[SuggestionDecision]:
    """What was decided of suggestions that became truth and still are."""
    lines = [line for line in suite.ledger if line.suggestion and line.change]
    cases = {case.id: case for case in every_case(suite)} if lines else {}

    def stands(path: str, after: Any, case: Case | None) -> bool:
        now, then = (value if isinstance(value, list) else [value] for value in (compile_path(path)(case), after))
        return all(item in now for item in then)

    return [
        line.suggestion
        for line in lines
        if all(stands(path, sides.get("after"), cases.get(line.case)) for path, sides in line.change.items())
    ]
