"""The page of what the labels of a run show: agreement and estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from steelyard.people import report
from steelyard.people.agreement import agreement_of
from steelyard.people.estimates import estimates_of
from steelyard.people.pseudonyms import people_names
from steelyard.web import render
from steelyard.web.desk import DeskQuery
from steelyard.web.site import Resource, Visit

if TYPE_CHECKING:
    from steelyard.store.base import Store


def label_figures(store: Store, run_id: str, other: str) -> dict[str, Any]:
    """Agreement and estimates: a few lines for beside the queue, and all of it as a page and as data."""
    header = store.run(run_id)
    part = agreement_of(store, header, people_names(store, names=False))
    if not part.n_labels:
        return {"lines": report.label_lines(part), "data": {}, "body": ""}
    estimates = estimates_of(store, header) if part.figures and not other else None
    body, data = render.blocks(report.agreement_document(part, header), header), dict[str, Any](agreement=part)
    if estimates is not None:
        body = render.blocks(report.estimates_document(estimates, header), header) + body
        data |= {"estimates": estimates}
    return {
        "lines": report.label_lines(part, estimates, other),
        "data": {name: report.people_data(header, item) for name, item in data.items()},
        "body": str(body),
    }


def show_figures(visit: Visit) -> Mapping[str, Any]:
    """How far people and judge agree, and what the figures are by both."""
    header = visit.store.run(visit.path["run"])
    other = visit.store.run(visit.query.against).id if visit.query.against else ""
    about = f"What the labels of run {header.id} say is being computed"
    state = (visit.store.people.state(header.id), visit.store.people.said_of(header.id))
    result = visit.figures(label_figures, header.id, other, about=about, state=state)
    return {
        "lines": result["lines"],
        **result["data"],
        "_title": f"Labels of {header.suite_name}, {header.id}",
        "_context": f"run {header.id}",
        "_below": "By what people, and the judge with them, say of the same answers. People are pseudonyms.",
        "_body": Markup(result["body"]) or "No labels yet.",  # noqa: S704 - our own blocks
    }


RESOURCES: tuple[Resource, ...] = (
    Resource("/desk/{run}/figures", "Agreement and estimates of a run.", show_figures, "document.html", DeskQuery),
)
