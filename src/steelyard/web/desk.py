"""The label desk: queues, their items one after the other, and the labels that people give."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from steelyard.errors import UsageError
from steelyard.people.desk import Desk, Draw, LabelTask, extend_plan
from steelyard.people.labels import PREFERENCE
from steelyard.people.pseudonyms import people_names
from steelyard.people.questions import questions_of
from steelyard.records import RunHeader
from steelyard.report import format as fmt
from steelyard.store.people import ANSWER, SCORES, AlreadyLabelled, Queue, person_key
from steelyard.web.site import Action, Query, Resource, Role, Visit, desk_address, sample_address

if TYPE_CHECKING:
    from steelyard.store.base import Store

_MOST_QUEUES = 50
_LONGEST_NAME = 200
_LARGEST = 2**31 - 1
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


class NamedBody(BaseModel):
    """What a request of a person holds."""

    model_config = ConfigDict(extra="forbid")

    person: str = Field("", max_length=_LONGEST_NAME, description="Who it is; left out, the name in the cookie.")


class Seat(NamedBody):
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


class Drawing(NamedBody):
    """How many more items are to be labelled, as `steelyard label plan` takes it."""

    random: int = Field(0, ge=0, le=_LARGEST)
    disagreement: int = Field(0, ge=0, le=_LARGEST)
    precision: int = Field(0, ge=0, le=_LARGEST)
    per_item: int = Field(1, ge=1, le=100)
    again: float | None = Field(None, ge=0, le=1)
    kind: Literal["", "scores", "verdict", "answer"] = ""
    against: str = ""


def _queue_address(queue: Queue, part: str = "") -> str:
    return desk_address(queue.run_id, part, against=queue.other_run_id, kind=ANSWER if queue.of_cases else "")


def list_queues(visit: Visit) -> Mapping[str, Any]:
    """Every queue with how far it is."""
    names = people_names(visit.store, names=False)
    return {"queues": [_progress(visit, queue, names) for queue in visit.store.people.queues(_MOST_QUEUES)]}


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
    result = run_job(visit, draw_items, header.id, numbers, body.again, body.kind, person_of(visit, body), body.against)
    if not any(result["drawn"].values()):
        raise UsageError("there is nothing more to draw: every answer is in the queue, or no judges disagree")
    return result


def run_job(visit: Visit, job: Any, *given: Any) -> dict[str, Any]:
    """What a job that writes gives: it runs in the process for figures, once for each request."""
    result = visit.site.figures.ask(job, *given, state=secrets.token_hex(8), timeout=_LONGEST_WRITE)
    if result is None:
        raise UsageError(f"it takes longer than {_LONGEST_WRITE:g} s and goes on: look again later")
    return result


def person_of(visit: Visit, body: NamedBody) -> str:
    """The name of the person; UsageError when none is given, or it could be taken for another."""
    name = " ".join((body.person or visit.person).split())
    if not name:
        raise UsageError("say who you are: give a name or a pseudonym on the page /desk")
    if len(name) > _LONGEST_NAME or fmt.spelled_out(name, keep="") != name:
        # Two names that look alike would be two people.
        raise UsageError(f"a name has at most {_LONGEST_NAME} characters, none of them hidden")
    return name


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
        "questions": list(questions_of(terms, desk.kind)),
        "calibration": list(terms.suite.judge.rubric.calibration) if terms.suite.judge and desk.kind == SCORES else [],
        "_figures": _queue_address(queue, "/figures"),
        "_truth": desk_address(header.id, "/truth"),
    }


def _seated(visit: Visit, seat: Seat) -> tuple[RunHeader, Desk]:
    header = visit.store.run(visit.path["run"])
    other = visit.store.run(seat.against) if seat.against else None
    return header, Desk(visit.store, header, person_of(visit, seat), kind=seat.kind, against=other, name=seat.desk)


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


RESOURCES: tuple[Resource, ...] = (
    Resource("/desk", "Queues of what is to be labelled.", list_queues, "desk.html", ListQuery),
    Resource("/desk/{run}", "What is asked of each item of a queue.", show_desk, "desk_queue.html", DeskQuery),
)
ACTIONS: tuple[Action, ...] = (
    Action("/desk/{run}/next", "Hold the next item of a queue.", next_item, Seat),
    Action("/desk/{run}/labels", "Keep a label.", give_label, Given),
    Action("/desk/{run}/undo", "Take a label back.", take_back, TakenBack),
    Action("/desk/{run}/plan", "Draw more items of a run.", draw, Drawing, Role.OWNER),
)
