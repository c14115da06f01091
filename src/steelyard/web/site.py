"""What every page of the web app has at hand: the store, who may do what, and figures that are computed elsewhere."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ConfigDict

from steelyard.errors import SteelyardError
from steelyard.frozen import frozen
from steelyard.store.selection import OfRun, Selection

if TYPE_CHECKING:
    from steelyard.report.charts.base import Chart
    from steelyard.store.sql import SqlStore
    from steelyard.web.figures import FigureJobs, Job


_MOST_CHARTS = 300
"""Charts of some 50 kB each."""


class Working(Exception):
    """Figures are being computed: the page says of what, and looks again."""


class NotThere(SteelyardError):
    """A page about something that is not in the store."""


class Role(IntEnum):
    """What a visitor may do; each may do what those before it may."""

    VIEWER = 1
    LABELLER = 2
    OWNER = 3


@frozen
class Settings:
    """How the app is served."""

    host: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()
    """Further names under which a browser may ask for it."""
    tokens: Mapping[str, Role] | None = None
    """Who must show one of these signs in; None where everybody who reaches the app is its owner."""
    read_only: bool = False


class Site:
    """One store, served."""

    def __init__(self, store: SqlStore, figures: FigureJobs, settings: Settings) -> None:
        self.store = store
        self.figures = figures
        self.settings = settings
        self.csrf = secrets.token_urlsafe(32)
        """What every write must carry: a page of this app knows it, a page of somebody else does not."""
        self._charts: OrderedDict[str, Chart] = OrderedDict()

    def keep_charts(self, charts: Mapping[str, Chart]) -> None:
        """Charts of a page, by names that tell their content: the page fetches each by itself, and it is drawn then."""
        for name, chart in charts.items():
            self._charts[name] = chart
            self._charts.move_to_end(name)
        while len(self._charts) > _MOST_CHARTS:
            self._charts.popitem(last=False)

    def chart(self, name: str) -> Chart:
        """A chart of a page that was shown; NotThere when that is long ago."""
        if (chart := self._charts.get(name)) is None:
            raise NotThere("this chart is no longer there: load its page again")
        return chart


class Query(BaseModel):
    """The parameters of an address, checked; every page's own are declared in a subclass."""

    model_config = ConfigDict(extra="ignore", frozen=True)


@frozen
class Visit:
    """One request: where, by whom, and with which parameters."""

    site: Site
    path: Mapping[str, str]
    query: Any
    """An object of the resource's own `Query`."""
    role: Role = Role.OWNER
    person: str = ""
    """Who labels, by the name that was given."""
    of_page: bool = False
    """Whether a page is made; False for JSON."""

    @property
    def store(self) -> SqlStore:
        return self.site.store

    def figures(self, job: Job, *given: Any, about: str, state: object = None) -> dict[str, Any]:
        """What a job of the process for figures gives; `Working` while it is not there yet."""
        result = self.site.figures.ask(job, *given, state=state)
        if result is None:
            raise Working(about)
        return result


@frozen
class Resource:
    """Something that a page shows and the API gives as JSON: `/runs/x` and `/api/runs/x`.

    `load` gives what both are made of, by name; names that begin with "_" are for the page alone.
    """

    path: str
    about: str
    load: Callable[[Visit], Mapping[str, Any]]
    template: str
    query: type[Query] = Query
    role: Role = Role.VIEWER


@frozen
class File:
    """A file that a page shows, a picture of a case say: its content and media type."""

    path: str
    load: Callable[[Visit], tuple[bytes, str]]
    role: Role = Role.VIEWER


@frozen
class Action:
    """Something that a visitor can change, by POST of JSON to `/api/...`."""

    path: str
    about: str
    do: Callable[[Visit, Any], Mapping[str, Any]]
    body: type[BaseModel]
    role: Role = Role.LABELLER


def number_in(text: str) -> int | None:
    """The number in an address; None when it is none, or larger than any that a store has."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def with_query(path: str, given: Mapping[str, Any]) -> str:
    """An address with those of the parameters that are not empty."""
    query = urlencode({name: text for name, value in given.items() if (text := parameter(value))})
    return f"{path}?{query}" if query else path


def parameter(value: Any) -> str:
    """A value as an address and a form have it: `true` and `false`, and "" for None."""
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def run_address(run_id: str) -> str:
    """The page of a run."""
    return f"/runs/{quote(run_id, safe='')}"


def samples_address(run_id: str, selection: Selection | None = None) -> str:
    """The page of a run's samples, those of a selection alone."""
    return with_query(f"{run_address(run_id)}/samples", {} if selection is None else selection.given())


def address_in_its_run(selection: Selection) -> str:
    """The page of the samples of a selection that names its run."""
    return samples_address(selection.run if isinstance(selection, OfRun) else "", selection)


def sample_address(run_id: str, position: int) -> str:
    """The page of one sample, by its place in the run's plan."""
    return f"{run_address(run_id)}/samples/{position}"


def change_address(before: str, after: str) -> str:
    """The page of what changed between two runs."""
    return f"/changes/{quote(before, safe='')}/{quote(after, safe='')}"


def runs_address(suite: str = "", search: str = "", after: str = "") -> str:
    """The page of runs: of a suite, with a text, older than a run."""
    return with_query("/runs", {"suite": suite, "search": search, "after": after})


def desk_address(run_id: str, part: str = "", **given: str | None) -> str:
    """The page of a run's queue of what is to be labelled, or a part of it such as `/truth`."""
    return with_query(f"/desk/{quote(run_id, safe='')}{part}", given)


def suite_address(suite: str) -> str:
    """The page of a suite as its newest run stored it."""
    return f"/suites/{quote(suite, safe='')}"


def history_address(suite: str) -> str:
    """The page of a suite's figures run by run."""
    return f"/history/{quote(suite, safe='')}"
