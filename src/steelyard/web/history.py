"""The page of a suite's figures run by run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.run_history import report as history
from steelyard.run_history.history import HistoryOptions, groupings_of, read_history
from steelyard.store.base import Store
from steelyard.web.parts import PartQuery, in_parts, part_of
from steelyard.web.render import PageWriter
from steelyard.web.site import NotThere, Resource, Visit, address_in_its_run


class HistoryQuery(PartQuery):
    """What is followed over a suite's runs."""

    by: str = ""
    metric: str = ""
    last: int = Field(default=100, ge=1, le=1_000)


def history_figures(store: Store, suite: str, last: int, by: str, metric: str) -> dict[str, Any]:
    """A suite's figures run by run, as a page and as data."""
    result = read_history(store, suite, HistoryOptions(last=last, by=by, metrics=(metric,) if metric else ()))
    shown = history.document(result)
    parts, charts = in_parts(PageWriter(shown, None, address_in_its_run))
    return {
        "history": history.data(result),
        "parts": parts,
        "below": " · ".join((*shown.context, *shown.footer)),
        "charts": charts,
    }


def show_history(visit: Visit) -> Mapping[str, Any]:
    """A suite's figures run by run: trends, changes of level, and what changed in how the runs were made."""
    suite, query, store = visit.path["suite"], visit.query, visit.store
    newest = store.listing.page(suite, limit=query.last)
    if not newest:
        raise NotThere(f"no runs of a suite {suite!r}")
    # What has ended never changes; labels and baselines may.
    state = (tuple((header.id, header.state.value) for header in newest), *store.listing.figures_state(suite))
    about = f"The history of {suite} is being computed"
    result = visit.figures(history_figures, suite, query.last, query.by, query.metric, about=about, state=hash(state))
    visit.site.keep_charts(result["charts"])
    return {
        "history": result["history"],
        "_suite": suite,
        "_below": result["below"],
        "_groupings": ("", *groupings_of(newest[0])),
        **part_of(visit, result["parts"]),
    }


RESOURCES: tuple[Resource, ...] = (
    Resource("/history/{suite}", "A suite's figures run by run.", show_history, "history.html", HistoryQuery),
)
