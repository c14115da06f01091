"""Who may come in, and what a browser may do with what it gets.

A browser runs pages of other people: they can make it send requests here, so the host and where a write comes from
are checked. Everything that is shown may be foreign, so pages run no script but the app's own files.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from steelyard.web.site import Role, Settings, Site

if TYPE_CHECKING:
    from collections.abc import Iterable

COOKIE = "steelyard"
CSRF_HEADER = "x-steelyard-csrf"
_YEAR = 365 * 24 * 3600
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_READS = ("GET", "HEAD")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]*)?")
_OPEN = ("/sign-in", "/static/")
"""What a visitor without a token may see."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host in _LOOPBACK


def guarded(site: Site) -> Callable[[Request, Callable[[Request], Awaitable[Response]]], Awaitable[Response]]:
    """What stands before every request: host, token, and where a write comes from."""
    allowed = {*_LOOPBACK, site.settings.host.lower(), *(name.lower() for name in site.settings.hosts)}

    async def guard(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        response = _refused(site, request, allowed) or await go_on(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if not request.scope["path"].startswith("/static/"):
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    return guard


def _asked_host(request: Request) -> str:
    """The host name as it was sent; "" when it is anything but one name with a port.

    Not that of `request.url`, which is made of what the visitor sent: "localhost/static/?" as a host would be a path.
    """
    sent = request.headers.getlist("host")
    match = _HOST.fullmatch(sent[0]) if len(sent) == 1 else None
    return (match[1] or match[2]).lower() if match else ""


def _refused(site: Site, request: Request, allowed: Iterable[str]) -> Response | None:
    path = request.scope["path"]
    if _asked_host(request) not in allowed:
        return Response(
            "Steelyard does not answer to this host name. Start it with --allow-host NAME to let it.\n",
            421,
            media_type="text/plain",
        )
    if site.settings.tokens is not None and request.query_params.get("token"):
        return _sign_in(site.settings, request)
    role = role_of(site.settings, request)
    if role is None and not path.startswith(_OPEN):
        if path.startswith("/api/"):
            return Response("a token is needed: Authorization: Bearer TOKEN\n", 401, media_type="text/plain")
        return _to_sign_in(request)
    request.state.role = role or Role.VIEWER
    if request.method not in _READS and not _is_ours(site, request):
        return Response("this write does not come from a page of Steelyard\n", 403, media_type="text/plain")
    return None


def role_of(settings: Settings, request: Request) -> Role | None:
    """What the visitor may do; None when a token is missing or wrong."""
    most = Role.VIEWER if settings.read_only else Role.OWNER
    if settings.tokens is None:
        return most
    token = _bearer(request)
    role = _matching(settings, request.cookies.get(COOKIE, "") if token is None else token)
    return None if role is None else min(role, most)


def _bearer(request: Request) -> str | None:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else None


def _matching(settings: Settings, token: str) -> Role | None:
    """The role of a token. All are looked at, each in constant time: how long it takes says nothing about them."""
    role = None
    for valid, its_role in (settings.tokens or {}).items():
        if hmac.compare_digest(valid.encode(), token.encode("utf-8", "surrogateescape")):
            role = its_role
    return role


def _sign_in(settings: Settings, request: Request) -> Response:
    token = request.query_params["token"]
    if _matching(settings, token) is None:
        return _to_sign_in(request, wrong="true")
    response = RedirectResponse(_without_token(request), 303)
    secure = request.scope["scheme"] == "https"
    response.set_cookie(COOKIE, token, max_age=_YEAR, httponly=True, samesite="strict", secure=secure)
    return response


def _without_token(request: Request) -> str:
    """The address without the token: it is not to stay in the history of the browser."""
    rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "token"])
    # One slash at its beginning: "//name" would be another host.
    return f"/{quote(request.scope['path'].lstrip('/'))}{f'?{rest}' if rest else ''}"


def _to_sign_in(request: Request, **given: str) -> Response:
    """To the form, which leads on to what was asked for: a colleague may have sent its address."""
    asked = _without_token(request)
    if request.scope["path"] not in ("/", "/sign-in") and asked != "/runs":
        given["to"] = asked
    return RedirectResponse(f"/sign-in?{urlencode(given)}" if given else "/sign-in", 303)


def _is_ours(site: Site, request: Request) -> bool:
    """Whether a write carries what only a page of this app, or a program with a token, can know."""
    # Not any `Authorization`: a browser sends a password of a proxy by itself.
    if site.settings.tokens is not None and _bearer(request) is not None:
        return True
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    return hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), site.csrf.encode())
