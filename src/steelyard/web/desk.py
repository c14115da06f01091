"""The label desk: one item after the other, what the labels say, and what becomes of the truth."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field

from steelyard.errors import SuiteError, UsageError
from steelyard.loading.load import suite_of_run
from steelyard.people import report
from steelyard.people.agreement import agreement_of
from steelyard.people.desk import Desk, Draw, LabelTask, extend_plan
from steelyard.people.estimates import estimates_of
from steelyard.people.experts import contested_in
from steelyard.people.files import people_names
from steelyard.people.labels import PREFERENCE, LabelTerms
from steelyard.records import RunHeader
from steelyard.report import format as fmt
from steelyard.report.render.json import picked
from steelyard.store.people import ANSWER, SCORES, VERDICT, AlreadyLabelled, Queue, person_key
from steelyard.suite.truth import NAMES, kind_of, newest_first
from steelyard.truth.edits import Author, assigned
from steelyard.truth.suggestions import chosen_runs, decide, suggestions
from steelyard.web import render
from steelyard.web.site import Action, Query, Resource, Role, Visit, desk_address, sample_address

if TYPE_CHECKING:
    from steelyard.stats.intervals import Estimate
    from steelyard.store.base import Store
    from steelyard.suite.judge import Rubric

_MOST_LISTED = 50
_LONGEST_NAME = 200
_LARGEST = 2**31 - 1
_MOST_BUTTONS = 11
"""A wider scale is a number to type."""
_PLACED = ("text", "start", "end", "box")
"""What the page can say of a span or a box by itself."""
_LONGEST = 200_000
"""Characters of a text that a person is shown: a browser gets slow beyond."""
_LONGEST_WRITE = 60.0
"""Seconds that a write waits for the process that draws and decides."""


class ListQuery(Query):
    """Which run the form to draw items names."""

    run: str = "LAST"


class DeskQuery(Query):
    """Which queue of a run it is."""

    against: str = ""
    """The run whose answers are compared."""
    kind: str = ""
    """`answer`, where experts answer the cases beside the labels of a run's answers."""


class TruthQuery(Query):
    """How suggestions are looked for."""

    agree: int = Field(3, ge=1, le=1000)
    """Fewest voters."""
    look: str = Field("", max_length=40)
    """Another text looks again."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    person: str = Field("", max_length=_LONGEST_NAME, description="Who it is; left out, the name in the cookie.")


class Seat(_Body):
    """Who sits at which desk of a queue."""

    against: str = Field("", max_length=200)
    kind: Literal["", "scores", "verdict", "answer", "preference"] = ""
    desk: str = Field("", pattern="^[A-Za-z0-9.,-]{0,64}$", description="Under this name the same item is given again.")


class Given(Seat):
    """A label of the item at a position of the queue; `skip` says that the person cannot tell."""

    position: int = Field(ge=0, le=_LARGEST)
    value: Any = None
    skip: bool = False
    comment: str = Field("", max_length=10_000)


class TakenBack(Seat):
    """A label, by its number in the store."""

    number: int = Field(ge=0, le=_LARGEST)


class Drawing(_Body):
    """How many more items are to be labelled, as `steelyard label plan` takes it."""

    random: int = Field(0, ge=0, le=_LARGEST)
    disagreement: int = Field(0, ge=0, le=_LARGEST)
    precision: int = Field(0, ge=0, le=_LARGEST)
    per_item: int = Field(1, ge=1, le=100)
    again: float | None = Field(None, ge=0, le=1)
    kind: Literal["", "scores", "verdict", "answer"] = ""
    against: str = ""


class Decided(_Body):
    """What becomes of a suggestion, as `steelyard truth accept` and `reject` take it."""

    id: str = Field(min_length=1, max_length=64)
    outcome: Literal["alternative", "correction", "rejected"]
    reason: str = Field(min_length=1, max_length=2000)
    agree: int = Field(3, ge=1, le=1000)
    fields: str = Field("", max_length=4000)
    """Fields that depend on the corrected one, one per line: PATH=VALUE, or PATH for one that stays."""


def _queue_address(queue: Queue, part: str = "") -> str:
    return desk_address(queue.run_id, part, against=queue.other_run_id, kind=ANSWER if queue.of_cases else "")


# ---- queues and their plans


def list_queues(visit: Visit) -> Mapping[str, Any]:
    """Every queue with how far it is."""
    names = people_names(visit.store, names=False)
    return {"queues": [_progress(visit, queue, names) for queue in visit.store.people.queues(_MOST_LISTED)]}


def _progress(visit: Visit, queue: Queue, names: Callable[[str], str]) -> dict[str, Any]:
    people = visit.store.people
    drawn, plan = people.progress(queue), people.plan(queue)
    by_person = people.by_person(queue)
    return {
        "run": queue.run_id,
        "against": queue.other_run_id,
        "kind": plan.kind if plan else "",
        "drawn": {name: {"labelled": done, "planned": planned} for name, (done, planned) in drawn.items()},
        "left": sum(planned - done for done, planned in drawn.values()),
        "planned": sum(planned for _, planned in drawn.values()),
        "yours": sum(n for name, n in by_person.items() if person_key(name) == person_key(visit.person)),
        "people": {names(name): n for name, n in by_person.items()},
        "address": _queue_address(queue),
    }


def draw_items(
    store: Store, run_id: str, draw: tuple[int, ...], again: float | None, kind: str, by: str, against: str
) -> dict[str, Any]:
    """Draw items into a queue: in the process for figures, as it reads all samples."""
    header, other = store.run(run_id), store.run(against) if against else None
    drawn = extend_plan(store, header, Draw(*draw), kind=kind, again=again, by=by, against=other)
    return {"drawn": drawn, "address": _queue_address(Queue(run_id, other.id if other else None, kind == ANSWER))}


def draw(visit: Visit, body: Drawing) -> Mapping[str, Any]:
    """Draw more items of a run."""
    if not body.random + body.disagreement + body.precision:
        raise UsageError("say how many items to draw: at random, by disagreement or for precision")
    header = visit.store.run(visit.path["run"])
    numbers = (body.random, body.disagreement, body.precision, body.per_item)
    result = _run_job(visit, draw_items, header.id, numbers, body.again, body.kind, _who(visit, body), body.against)
    if not any(result["drawn"].values()):
        raise UsageError("there is nothing more to draw: every answer is in the queue, or no judges disagree")
    return result


def _run_job(visit: Visit, job: Any, *given: Any) -> dict[str, Any]:
    """What a job that writes gives: it runs in the process for figures, once for each request."""
    result = visit.site.figures.ask(job, *given, state=secrets.token_hex(8), timeout=_LONGEST_WRITE)
    if result is None:
        raise UsageError(f"it takes longer than {_LONGEST_WRITE:g} s and goes on: look again later")
    return result


def _who(visit: Visit, body: _Body) -> str:
    name = " ".join((body.person or visit.person).split())
    if not name:
        raise UsageError("say who you are: give a name or a pseudonym on the page /desk")
    if len(name) > _LONGEST_NAME or fmt.spelled_out(name, keep="") != name:
        # Two names that look alike would be two people.
        raise UsageError(f"a name has at most {_LONGEST_NAME} characters, none of them hidden")
    return name


# ---- labels, one by one


def show_desk(visit: Visit) -> Mapping[str, Any]:
    """What is asked of each item of a queue, and how far it is."""
    store, query = visit.store, visit.query
    header = store.run(visit.path["run"])
    other = store.run(query.against) if query.against else None
    desk = Desk(store, header, visit.person or "nobody", kind=query.kind, against=other)
    terms, queue = desk.terms, desk.queue
    return {
        **_progress(visit, queue, people_names(store, names=False)),
        "suite": header.suite_name,
        "person": visit.person,
        "questions": list(_questions(terms, desk.kind)),
        "calibration": list(terms.suite.judge.rubric.calibration) if terms.suite.judge and desk.kind == SCORES else [],
        "_figures": _queue_address(queue, "/figures"),
        "_truth": desk_address(header.id, "/truth"),
    }


def _questions(terms: LabelTerms, kind: str) -> Iterator[dict[str, Any]]:
    """What is asked of an item: each by buttons with a key (`choices`) or by a field to fill in (`field`)."""
    if kind == SCORES and terms.suite.judge is not None:
        yield from _rubric(terms.suite.judge.rubric)
    elif kind == VERDICT:
        yield _question(kind, "Does the answer pass?", [("pass", True, "p", ""), ("fail", False, "f", "")])
    elif kind == PREFERENCE:
        sides = [("first", "first", "1", ""), ("second", "second", "2", ""), ("tie", "tie", "t", "")]
        yield _question(kind, "Which answer is better?", sides)
    else:
        yield from _fields(terms.suite.answer.schema_data)


def _question(name: str, about: str, choices: Sequence[tuple[str, Any, str, str]] = (), **more: Any) -> dict[str, Any]:
    """With what a template may ask for; `members` are those of a list's items that a page can fill in."""
    buttons = [dict(zip(("text", "value", "key", "about"), item, strict=True)) for item in choices]
    usual = {"field": "", "options": [], "members": [], "start": "", "notes": [], "required": True, "whole": False}
    return {"name": name, "about": about, "choices": buttons} | usual | more


def _rubric(rubric: Rubric) -> Iterator[dict[str, Any]]:
    low, high = rubric.scale
    by_digit = low >= 0 and high - low < _MOST_BUTTONS and high <= (10 if low else 9)
    for item in rubric.dimensions:
        if by_digit:
            levels = [(str(n), n, str(n % 10), item.scores.get(str(n), "")) for n in range(low, high + 1)]
            yield _question(item.name, item.about, levels)
        else:
            notes = [f"{score}: {text}" for score, text in item.scores.items()]
            yield _question(item.name, f"{item.about} ({low} to {high})", field="number", notes=notes)
    for flag in rubric.flags:
        ways = [("yes", True, "y", ""), ("no", False, "n", "")]
        yield _question(flag.name, flag.about, ways, notes=list(flag.triggers))


def _fields(schema: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    """A field for each property of the answer's schema; one for all of it where it is a text or has no properties."""
    if schema is None or not schema.get("properties"):
        about = "Your own answer" + ("" if schema is None else " as JSON")
        yield _question(ANSWER, about, field="text" if schema is None else "json", whole=True)
        return
    for name, part in schema["properties"].items():
        part = part if isinstance(part, Mapping) else {}
        kinds, items = part.get("type", ""), part.get("items")
        kind = next((item for item in kinds if item != "null"), "") if isinstance(kinds, list) else kinds
        values = [True, False] if kind == "boolean" else part.get("enum") or ()
        items = items if isinstance(items, Mapping) else {}
        field = {"string": "text", "integer": "number", "number": "number"}.get(kind, "json")
        yield _question(
            name,
            str(part.get("description", "")),
            field="choice" if values else field,
            options=[{"text": fmt.as_text(value), "json": json.dumps(value)} for value in values],
            members=[key for key in items.get("properties", {}) if key in (*_PLACED, *items.get("required", ()))],
            start="[]" if kind == "array" else "",
            required=name in schema.get("required", ()),
        )


def _seated(visit: Visit, seat: Seat) -> tuple[RunHeader, Desk]:
    header = visit.store.run(visit.path["run"])
    other = visit.store.run(seat.against) if seat.against else None
    return header, Desk(visit.store, header, _who(visit, seat), kind=seat.kind, against=other, name=seat.desk)


def _item(header: RunHeader, task: LabelTask | None) -> dict[str, Any] | None:
    """An item as a person sees it: texts with every hidden character spelled out, and where its pictures are."""
    if task is None:
        return None
    given = task.case.input
    parts = given.items() if isinstance(given, dict) else [("", given)]
    images = [item for item in task.case.attachments if item.media_type.startswith("image/")]
    pictures = [
        {"address": f"{sample_address(header.id, task.sample)}/pictures/{n}", "place": fmt.visible(item.place)}
        for n, item in enumerate(images)
        if not item.is_url
    ]
    return {
        "position": task.place.position,
        "desk": task.place.desk,
        "input": [_part(str(name), value) for name, value in parts if value is not None],
        "pictures": pictures,
        "answer": _shown(task.answer),
        "second": _shown(task.second),
    }


def _shown(text: str) -> str:
    more = len(text) - _LONGEST
    return fmt.visible(text[:_LONGEST]) + (f"\n[{more:,} more characters]" if more > 0 else "")


def _part(name: str, value: Any) -> dict[str, Any]:
    text = fmt.laid_out(value)
    shown = _shown(text)
    # A place in the shown text is one in the text itself, in whatever unit the suite counts.
    return {"name": fmt.visible(name), "text": shown, "exact": shown == text and max(text, default="") <= "\uffff"}


def next_item(visit: Visit, seat: Seat) -> Mapping[str, Any]:
    """The item that is held at a desk, or the next one, held from now on; null when nothing is left."""
    header, desk = _seated(visit, seat)
    return {"item": _item(header, desk.next())}


def give_label(visit: Visit, body: Given) -> Mapping[str, Any]:
    """Keep a label, or that the person cannot tell; kept when this answers."""
    _, desk = _seated(visit, body)
    task = desk.task(body.position)
    try:
        json.dumps(body.value, allow_nan=False)
        comment = body.comment
        label = desk.skip(task, comment=comment) if body.skip else desk.save(task, body.value, comment=comment)
    except AlreadyLabelled:
        return {"number": None, "message": "you labelled this one elsewhere meanwhile: that label stays"}
    except ValueError as error:
        raise UsageError(str(error)) from None
    return {"number": label.number, "message": "skipped" if body.skip else "saved"}


def take_back(visit: Visit, body: TakenBack) -> Mapping[str, Any]:
    """Take a label back, and hold its item again."""
    header, desk = _seated(visit, body)
    label = desk.undo(body.number)
    value = None if label is None or label.kind != desk.kind or desk.kind == PREFERENCE else label.value
    return {"item": _item(header, desk.next()), "value": value, "comment": label.comment if label else ""}


# ---- what the labels say


def label_figures(store: Store, run_id: str, other: str) -> dict[str, Any]:
    """Agreement and estimates: a few lines for beside the queue, and all of it as a page and as data."""
    header = store.run(run_id)
    part = agreement_of(store, header, people_names(store, names=False))
    if not part.n_labels:
        return {"lines": [["Labels", "none yet"]], "data": {}, "body": ""}
    people = fmt.counted(len(part.people), "person", "people")
    lines = [["Labels", f"{fmt.counted(part.n_labels, 'label')} of {people}"]]
    lines += [["Preferred to the other", _share(item.share)] for item in part.preferences if item.other_run == other]
    figures = () if other else part.figures
    for figure in figures:
        alpha = "" if figure.alpha.value is None else f", alpha {figure.alpha.value:.2f}"
        if figure.n_shared:
            same = f"{_share(figure.agreement)} of {figure.n_shared:,} shared{alpha}"
            lines.append([f"{figure.name}: people agree", same])
        if figure.judge and figure.judge[-1].agreement.n:
            lines.append([f"{figure.name}: judge agrees", _share(figure.judge[-1].agreement)])
    body, data = render.blocks(report.agreement_document(part, header), header), dict[str, Any](agreement=part)
    if figures:
        estimates = estimates_of(store, header)
        rate = estimates.figures[0]
        lines.append(["Pass rate", _share(rate.together) if rate.together.value is not None else f"none: {rate.why}"])
        if rate.more_to_halve is not None:
            lines.append(["To halve the interval", f"{rate.more_to_halve:,} more at random"])
        body = render.blocks(report.estimates_document(estimates, header), header) + body
        data |= {"estimates": estimates}
    return {
        "lines": lines,
        "data": {name: report.people_data(header, item) for name, item in data.items()},
        "body": str(body),
    }


def _share(estimate: Estimate) -> str:
    bounds = "" if estimate.low is None else f" {fmt.interval(estimate)}"
    return f"{fmt.percent(estimate.value)}{bounds}"


def show_figures(visit: Visit) -> Mapping[str, Any]:
    """How far people and judge agree, and what the figures are by both."""
    header = visit.store.run(visit.path["run"])
    other = visit.store.run(visit.query.against).id if visit.query.against else ""
    about = f"What the labels of run {header.id} say is being computed"
    state = visit.store.people.state(header.id)
    result = visit.figures(label_figures, header.id, other, about=about, state=state)
    return {
        "lines": result["lines"],
        **result["data"],
        "_title": f"Labels of {header.suite_name}, {header.id}",
        "_context": f"run {header.id}",
        "_below": "By what people, and the judge with them, say of the same answers. People are pseudonyms.",
        "_body": Markup(result["body"]) or "No labels yet.",  # noqa: S704 - our own blocks
    }


# ---- suggestions, contested truth, ledger


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
    given = (body.agree, body.id, body.outcome, _who(visit, body), body.reason, body.fields)
    return _run_job(visit, decide_suggestion, header.id, *given)


RESOURCES: tuple[Resource, ...] = (
    Resource("/desk", "Queues of what is to be labelled.", list_queues, "desk.html", ListQuery),
    Resource("/desk/{run}", "What is asked of each item of a queue.", show_desk, "desk_queue.html", DeskQuery),
    Resource("/desk/{run}/figures", "Agreement and estimates of a run.", show_figures, "document.html", DeskQuery),
    Resource("/desk/{run}/truth", "Suggestions, contested cases, ledger.", show_truth, "desk_truth.html", TruthQuery),
)
ACTIONS: tuple[Action, ...] = (
    Action("/desk/{run}/next", "Hold the next item of a queue.", next_item, Seat),
    Action("/desk/{run}/labels", "Keep a label.", give_label, Given),
    Action("/desk/{run}/undo", "Take a label back.", take_back, TakenBack),
    Action("/desk/{run}/plan", "Draw more items of a run.", draw, Drawing, Role.OWNER),
    Action("/desk/{run}/truth", "Decide on a suggestion.", decide_truth, Decided, Role.OWNER),
)
