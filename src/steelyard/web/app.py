"""The app: every resource as a page and as JSON, actions, static files, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from steelyard.errors import RunNotFound, SteelyardError
from steelyard.redact import redact_known
from steelyard.report.format import one_line
from steelyard.report.render.html import asset
from steelyard.report.render.json import encode
from steelyard.web import (
    changes,
    desk,
    history,
    labels,
    openapi,
    parts,
    render,
    run,
    runs,
    sample,
    samples,
    suites,
    truth,
)
from steelyard.web.security import HEADERS, guarded
from steelyard.web.site import Action, File, NotThere, Resource, Site, Visit, Working

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    Endpoint = Callable[[Request], Awaitable[Response]]

_PAGES = (runs, run, history, samples, sample, changes, suites, desk, labels, truth)
RESOURCES: tuple[Resource, ...] = tuple(item for page in _PAGES for item in page.RESOURCES)
ACTIONS: tuple[Action, ...] = (*desk.ACTIONS, *truth.ACTIONS)
FILES: tuple[File, ...] = (*parts.FILES, *sample.FILES)
PERSON = "steelyard_person"
_LARGEST_BODY = 1_000_000


def create_app(site: Site) -> Starlette:
    """The app on a site."""
    routes = [
        Route("/", lambda _: RedirectResponse("/runs")),
        Route("/sign-in", _sign_in),
        Route("/api/openapi.json", lambda _: JSONResponse(openapi.description(RESOURCES, ACTIONS))),
        Route("/api/session", _session(site)),
        *(Route(item.path, _file(site, item)) for item in FILES),
        *(Route(item.path, _page(site, item)) for item in RESOURCES),
        *(Route(f"/api{item.path}", _json(site, item)) for item in RESOURCES),
        *(Route(f"/api{item.path}", _write(site, item), methods=["POST"]) for item in ACTIONS),
        Route("/static/page.css", _report_style),
        Mount("/static", StaticFiles(packages=[("steelyard.web", "static")])),
    ]

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(site.figures.close)

    middleware = [Middleware(BaseHTTPMiddleware, dispatch=guarded(site))]
    handlers: dict[Any, Any] = {404: _missing, 405: _missing, 500: _broken}
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers, lifespan=life)


def visit_of(site: Site, item: Resource | Action | File, request: Request) -> Visit:
    """The request as a resource reads it; ValidationError when its parameters are wrong."""
    query = item.query.model_validate(dict(request.query_params)) if isinstance(item, Resource) else None
    path = {name: str(value) for name, value in request.path_params.items()}
    person = unquote(request.cookies.get(PERSON, ""))
    of_page = not request.url.path.startswith("/api/")
    return Visit(site, path, query, request.state.role, person, of_page)


async def _answered(item: Resource | Action | File, request: Request, make: Callable[[], Any]) -> Any:
    """What `make` gives in a thread; a `_Problem` with what is wrong in words a person can act on."""
    if request.state.role < item.role:
        raise _Problem(403, f"this needs the role {item.role.name.lower()}: yours is {request.state.role.name.lower()}")
    try:
        return await run_in_threadpool(make)
    except ValidationError as error:
        raise _Problem(400, "; ".join(_mistake(line) for line in error.errors())) from None
    except (RunNotFound, NotThere) as error:
        raise _Problem(404, str(error)) from None
    except SteelyardError as error:
        raise _Problem(400, str(error)) from None


def _mistake(line: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in line["loc"])
    return one_line(f"{place}: {line['msg']}" if place else line["msg"], 300)


class _Problem(Exception):
    """A request that cannot be answered, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def as_page(self) -> Response:
        page = render.page("error.html", message=redact_known(str(self)), role=None, csrf="")
        return HTMLResponse(page, self.status)

    def as_json(self) -> Response:
        return JSONResponse({"error": redact_known(str(self))}, self.status)


def _page(site: Site, item: Resource) -> Endpoint:
    async def show(request: Request) -> Response:
        def make() -> str:
            visit = visit_of(site, item, request)
            return render.page(item.template, role=visit.role, csrf=site.csrf, visit=visit, **item.load(visit))

        try:
            return HTMLResponse(await _answered(item, request, make))
        except Working as work:
            page = render.page("working.html", role=request.state.role, csrf=site.csrf, what=str(work))
            return HTMLResponse(page, 202, headers={"Refresh": "1"})
        except _Problem as problem:
            return problem.as_page()

    return show


def _json(site: Site, item: Resource) -> Endpoint:
    async def give(request: Request) -> Response:
        def make() -> Any:
            shown = item.load(visit_of(site, item, request))
            return encode({name: value for name, value in shown.items() if not name.startswith("_")})

        try:
            return JSONResponse(await _answered(item, request, make))
        except Working as work:
            return JSONResponse({"working": str(work)}, 202, headers={"Retry-After": "1"})
        except _Problem as problem:
            return problem.as_json()

    return give


def _write(site: Site, item: Action) -> Endpoint:
    async def write(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _LARGEST_BODY:
                return _Problem(413, "the body is too large").as_json()

        def make() -> Any:
            visit = visit_of(site, item, request)
            return encode(dict(item.do(visit, item.body.model_validate_json(bytes(body)))))

        try:
            return JSONResponse(await _answered(item, request, make))
        except _Problem as problem:
            return problem.as_json()

    return write


def _file(site: Site, item: File) -> Endpoint:
    async def give(request: Request) -> Response:
        try:
            content, kind = await _answered(item, request, lambda: item.load(visit_of(site, item, request)))
        except _Problem as problem:
            return problem.as_page()
        # Whatever it is, a browser shows it as a picture or not at all.
        headers = {"Content-Security-Policy": "default-src 'none'; sandbox", "Content-Disposition": "inline"}
        return Response(content, media_type=kind, headers=headers)

    return give


def _session(site: Site) -> Endpoint:
    async def session(request: Request) -> Response:
        return JSONResponse({"role": request.state.role.name.lower(), "csrf": site.csrf})

    return session


async def _report_style(_: Request) -> Response:
    return Response(asset("page.css"), media_type="text/css", headers={"Cache-Control": "max-age=3600"})


async def _sign_in(request: Request) -> Response:
    path, _, query = request.query_params.get("to", "/runs").partition("?")
    # Whatever was given, the form leads to a page of this app.
    shown = {"action": "/" + quote(path.lstrip("/")), "asked": parse_qsl(query)}
    return HTMLResponse(render.page("sign_in.html", wrong="wrong" in request.query_params, role=None, csrf="", **shown))


async def _missing(request: Request, error: Any) -> Response:
    problem = _Problem(error.status_code, "there is no such page")
    return problem.as_json() if request.scope["path"].startswith("/api/") else problem.as_page()


async def _broken(request: Request, _: Exception) -> Response:
    problem = _Problem(500, "something broke in Steelyard itself; the terminal that serves it shows where")
    response = problem.as_json() if request.scope["path"].startswith("/api/") else problem.as_page()
    # Starlette answers this one outside of the guard.
    response.headers.update(HEADERS)
    return response
