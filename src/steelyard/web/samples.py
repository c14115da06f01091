"""The samples of a run as a table: filtered, searched and ordered by its address, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Literal, get_type_hints

from pydantic import Field, create_model, model_validator

from steelyard.frozen import values_of
from steelyard.records import CheckState, Outcome, RunHeader
from steelyard.report import format as fmt
from steelyard.report.wording import status_of
from steelyard.store.paging import Page
from steelyard.store.selection import CONCLUSIVE, INCONCLUSIVE, Selection
from steelyard.web.site import Query, Resource, Visit, parameter, sample_address, samples_address, with_query

Order = Literal["plan", "-plan", "score", "-score", "latency", "-latency", "case", "-case"]
ORDERS: dict[Order, str] = {
    "plan": "as planned",
    "-plan": "last planned first",
    "score": "worst score first",
    "-score": "best score first",
    "-latency": "slowest first",
    "latency": "fastest first",
    "case": "case A to Z",
    "-case": "case Z to A",
}
_LABELS = {
    "outcome": "Outcome",
    "passed": "Result",
    "category": "Category",
    "difficulty": "Difficulty",
    "band": "Band",
    "variant": "Variant",
    "code": "Finding",
    "tag": "Tag",
    "failure": "Failure",
    "check": "Check",
    "state": "Check result",
}
"""What a visitor chooses from a list, in this order."""
_LARGEST = 2**31 - 1
_PASSED = {"true": "passed", "false": "not passed"}


class _ListQuery(Query):
    order: Order = "plan"

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, given: Any) -> Any:
        """A form sends what was left empty, too."""
        return {name: value for name, value in given.items() if value != ""} if isinstance(given, Mapping) else given


_FIELDS: dict[str, Any] = {name: (hint, getattr(Selection(), name)) for name, hint in get_type_hints(Selection).items()}
ListQuery = create_model("ListQuery", __base__=_ListQuery, **_FIELDS)
"""Which samples of a run are listed, and in which order: what the address of a sample keeps of its list."""


class SamplesQuery(ListQuery):  # type: ignore[misc, valid-type]
    """Which samples of a run are listed."""

    after: int | None = Field(default=None, ge=0, le=_LARGEST, description="Samples after the one at this position.")
    before: int | None = Field(default=None, ge=0, le=_LARGEST, description="Samples before the one at this position.")


def selection_in(query: Any) -> Selection:
    """What a query selects."""
    return Selection(**{field.name: getattr(query, field.name) for field in fields(Selection)})


def order_in(query: Any) -> dict[str, Any]:
    """The order of a query, as the store takes it."""
    return {"order": query.order.removeprefix("-"), "descending": query.order.startswith("-")}


def list_address(path: str, query: Any, **changes: Any) -> str:
    """An address that keeps the list of samples, with some parameters changed; the place in it is left out."""
    return with_query(path, query.model_dump(exclude_defaults=True, exclude={"after", "before", "more"}) | changes)


def list_samples(visit: Visit) -> Mapping[str, Any]:
    """The samples of a run that are selected, in the order asked for."""
    header, query = visit.store.run(visit.path["run"]), visit.query
    selection = selection_in(query)
    back = query.before is not None
    page = visit.store.page(
        header.id,
        selection,
        **order_in(query),
        after=query.before if back else query.after,
        back=back,
    )
    choices = _choices(visit, header, selection)
    positions = [row.position for row in page.rows]
    return {
        "run": {"id": header.id, "suite": header.suite_name, "state": header.state.value},
        "selection": selection.given(),
        "order": query.order,
        **values_of(page, "rows", "count", "total", "complete", "searched", "candidates"),
        "next": (positions[-1] if positions else None) if back else page.more,
        "previous": page.more if back else (positions[0] if positions and query.after is not None else None),
        "choices": {name: [value for value, _ in options] for name, options in choices.items()},
        "_fields": [
            (name, _LABELS[name], options, parameter(getattr(selection, name))) for name, options in choices.items()
        ],
        "_hidden": {name: value for name, value in selection.given().items() if name not in (*_LABELS, "text")},
        "_chips": [(text, _address(header.id, query, **without)) for text, without in _chips(selection)],
        "_status": _status(page, header, selection),
        "_orders": ORDERS,
        "_at": lambda **place: _address(header.id, query, **place),
        "_sorted": lambda name, first: _sorted(header.id, query, name, first),
        "_status_of": status_of,
        "_open": lambda position: list_address(sample_address(header.id, position), query),
    }


def _address(run_id: str, query: Any, **changes: Any) -> str:
    return list_address(samples_address(run_id), query, **changes)


def _sorted(run_id: str, query: Any, name: str, first: Order) -> tuple[str, str]:
    """The address of another order, for the head of a column, and which order it has now, as ARIA says it."""
    other = name if first.startswith("-") else f"-{name}"
    way = "ascending" if query.order == name else "descending" if query.order == f"-{name}" else "none"
    return _address(run_id, query, order=other if query.order == first else first), way


def _choices(visit: Visit, header: RunHeader, selection: Selection) -> dict[str, list[tuple[str, str]]]:
    """By field, what can be asked for, where that is more than one thing, or is asked for."""
    available = visit.store.choices(header.id)
    outcomes = [Outcome(outcome) for outcome in available["outcome"]]
    if len({outcome.conclusive for outcome in outcomes}) > 1:
        available["outcome"] = [*outcomes, CONCLUSIVE, INCONCLUSIVE]
    available["passed"] = list(_PASSED) if header.suite.get("passing") is not None else []
    available["state"] = list(CheckState) if available["check"] else []
    result = {}
    for name in _LABELS:
        chosen = parameter(getattr(selection, name))
        values = list(dict.fromkeys([*available[name], *([chosen] if chosen else [])]))
        if chosen or len(values) > 1:
            result[name] = [(value, _shown(name, value)) for value in values]
    return result


def _shown(name: str, value: str) -> str:
    if name == "passed":
        return _PASSED[value]
    return value.replace("_", " ") if name in ("outcome", "state") else value


def _chips(selection: Selection) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is selected, in words, and what an address without it changes."""
    for name, value in selection.given().items():
        label = _LABELS.get(name, name).lower()
        shown = fmt.plain(value) if isinstance(value, float) else _shown(name, parameter(value))
        if name.startswith(("min_", "max_")):
            label = f"{name[4:]} {'≥' if name.startswith('min_') else '≤'}"
        elif name == "below":
            label = f"{'it' if selection.component else 'a component'} <"
        elif name == "text":
            shown = f"“{shown}”"
        yield f"{label} {shown}", {name: ""}


def _status(page: Page, header: RunHeader, selection: Selection) -> str:
    """How many samples there are."""
    if not page.complete:
        searched = "" if page.searched is None else f": {page.searched:,} of {page.candidates:,} samples looked at"
        return f"Searching{searched}"
    of = f"{header.n_planned:,} planned samples" if page.total is None else fmt.counted(page.total, "sample")
    if page.count is not None:
        return f"{page.count:,} of {of}" if selection.given() else of
    if not selection.given():
        return f"Of {of}"
    return f"All of {of} looked at" if page.more is None else f"{len(page.rows):,} or more of {of}"


RESOURCES: tuple[Resource, ...] = (
    Resource("/runs/{run}/samples", "Samples of a run.", list_samples, "samples.html", SamplesQuery),
)
