"""The page of suggestions, contested cases and the ledger of a suite, and decisions on suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from steelyard.errors import SuiteError, UsageError
from steelyard.loading.load import suite_of_run
from steelyard.people.experts import contested_in
from steelyard.report.render.json import picked
from steelyard.suite.ledger import NAMES, kind_of, newest_first
from steelyard.truth.decisions import decide
from steelyard.truth.edits import Author, assigned
from steelyard.truth.suggestions import chosen_runs, suggestions
from steelyard.web.desk import NamedBody, person_of, run_job
from steelyard.web.site import Action, Query, Resource, Role, Visit

if TYPE_CHECKING:
    from steelyard.store.base import Store

_MOST_LISTED = 50


class TruthQuery(Query):
    """How suggestions are looked for."""

    agree: int = Field(3, ge=1, le=1000)
    """Fewest voters."""
    look: str = Field("", max_length=40)
    """Another text looks again."""


class Decided(NamedBody):
    """What becomes of a suggestion, as `steelyard truth accept` and `reject` take it."""

    id: str = Field(min_length=1, max_length=64)
    outcome: Literal["alternative", "correction", "rejected"]
    reason: str = Field(min_length=1, max_length=2000)
    agree: int = Field(3, ge=1, le=1000)
    fields: str = Field("", max_length=4000)
    """Fields that depend on the corrected one, one per line: PATH=VALUE, or PATH for one that stays."""


def truth_figures(store: Store, run_id: str, agree: int) -> dict[str, Any]:
    """What several runs or people say otherwise than the truth, which cases are contested, and what was edited."""
    header = store.run(run_id)
    contested = [picked(item, "case_id", "why") | {"answers": len(item.scores)} for item in contested_in(store, header)]
    shown = {"contested": contested[:_MOST_LISTED], "n_contested": len(contested), "problem": ""}
    try:
        suite = suite_of_run(header)
        runs = chosen_runs(store, suite, pending=True)
        listed = suggestions(suite, store, runs, agree)
    except (UsageError, SuiteError) as error:
        nothing = {"problem": str(error), "suggestions": [], "n_suggestions": 0, "n_runs": 0, "ledger": []}
        return shown | nothing
    names = ("id", "case", "place", "component", "truth", "value", "voters", "n_voters", "people", "points", "decision")
    ledger = [
        line.as_data()
        | {"kind": line.suggestion.outcome if line.suggestion else kind_of(line.before, line.after)}
        | {"what": NAMES[line.what] if line.case is None else line.case}
        for line in newest_first(suite.ledger)[:_MOST_LISTED]
    ]
    rows = [picked(item, *names) | {"ways": sorted(item.ways)} for item in listed[:_MOST_LISTED]]
    return shown | {"suggestions": rows, "n_suggestions": len(listed), "n_runs": len(runs), "ledger": ledger}


def show_truth(visit: Visit) -> Mapping[str, Any]:
    """Suggestions, contested cases and the ledger of a run's suite."""
    header, query = visit.store.run(visit.path["run"]), visit.query
    newest = visit.store.run("LAST")
    state = (query.look, visit.store.people.state(header.id), newest.id, newest.state.value)
    about = f"What speaks against the truth of {header.suite_name} is being looked for"
    result = visit.figures(truth_figures, header.id, query.agree, about=about, state=state)
    return {"run": header.id, "suite": header.suite_name, "agree": query.agree, **result}


def decide_suggestion(
    store: Store, run_id: str, agree: int, name: str, outcome: Any, by: str, reason: str, fields: str
) -> dict[str, Any]:
    """Decide on a suggestion as `steelyard truth` does: in the process for figures, as it reads all runs."""
    suite = suite_of_run(store.run(run_id))
    listed = suggestions(suite, store, chosen_runs(store, suite, pending=True), agree)
    lines = [line.strip() for line in fields.splitlines() if line.strip()]
    values = dict(assigned(line) for line in lines if "=" in line)
    unchanged = [line for line in lines if "=" not in line]
    return {"line": decide(suite.path, listed, name, outcome, Author(by, reason), values, unchanged).as_data()}


def decide_truth(visit: Visit, body: Decided) -> Mapping[str, Any]:
    """Make the answer of a suggestion the truth or an alternative to it, or reject it; the ledger says why."""
    header = visit.store.run(visit.path["run"])
    given = (body.agree, body.id, body.outcome, person_of(visit, body), body.reason, body.fields)
    return run_job(visit, decide_suggestion, header.id, *given)


RESOURCES: tuple[Resource, ...] = (
    Resource("/desk/{run}/truth", "Suggestions, contested cases, ledger.", show_truth, "desk_truth.html", TruthQuery),
)
ACTIONS: tuple[Action, ...] = (
    Action("/desk/{run}/truth", "Decide on a suggestion.", decide_truth, Decided, Role.OWNER),
)
