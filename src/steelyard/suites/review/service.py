"""A small review service, real enough to be scored: HTTP, a bearer token, error codes, and faults on demand.

`python -m steelyard.suites.review.service --port 9020` starts it. It needs no model: rules find what breaks the
standards. Every switch can also be set in the environment (REVIEW_LATENCY=20ms), those of one call in its query.
"""

from __future__ import annotations

import argparse
import asyncio
import hmac
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from .reviewing import review
from .standards import standards_of, strictnesses
from .switches import OF_A_CALL, Switches, add_options, from_env, from_options, from_texts, shaken, waiting_time

DEFAULT_TOKEN = "demo-token"  # noqa: S105 - the key of a demonstration, known to everybody
TOKEN_VARIABLE = "REVIEW_TOKEN"  # noqa: S105 - the name of a variable
MODEL_ID = "steelyard-rules-1"
_MISSING_MODEL = "no-such-model"
_LARGEST_BODY = 200_000
_SHORT = 20_000


class Refused(Exception):
    """A request that is not reviewed: the status and code of the answer, and why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Service:
    """Answers requests; counts reviews, as some faults begin after so many."""

    def __init__(self, token: str, switches: Switches) -> None:
        self._token = token
        self._switches = switches
        self._started = time.monotonic()
        self._reviews = 0
        self._seen: Counter[str] = Counter()

    def app(self) -> web.Application:
        """The service as an application of aiohttp."""
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_get("/health", self.health)
        app.router.add_post("/v1/review", self.review)
        return app

    async def health(self, _: web.Request) -> web.Response:
        """Whether the model is connected: 200 when it is, else 503."""
        connected = self._is_ready
        body = {"status": "ok" if connected else "starting", "model_connected": connected, "model_id": MODEL_ID}
        return web.json_response(body, status=200 if connected else 503)

    async def review(self, request: web.Request) -> web.Response:
        """The observations on the document that was sent, or why it is refused."""
        began = time.monotonic()
        try:
            switches = self._of_call(request)
            asked = await self._asked(request)
        except Refused as refused:
            body = {"error": {"code": refused.code, "message": refused.message}}
            return web.json_response(body, status=refused.status)
        self._count_or_break(switches)
        await asyncio.sleep(waiting_time(switches))
        if switches.masked_404 or switches.masked_silent:
            return web.json_response(_masked(began, silent=switches.masked_silent))
        observations: Sequence[dict[str, Any]] = await _reviewed(asked)
        if switches.unstable:
            self._seen[asked["content"]] += 1
            observations = shaken(observations, switches, asked["content"], self._seen[asked["content"]])
        usage = {"input_tokens": _tokens(asked["content"]), "output_tokens": _tokens(json.dumps(observations))}
        meta = {"model_id": MODEL_ID, "latency_ms": _milliseconds(began), "usage": usage}
        return web.json_response({"observations": observations, "meta": meta, "errors": []})

    @property
    def _is_ready(self) -> bool:
        return time.monotonic() - self._started >= self._switches.not_ready_for

    def _of_call(self, request: web.Request) -> Switches:
        given = {name: request.query[name] for name in OF_A_CALL if name in request.query}
        try:
            return from_texts(self._switches, given)
        except ValueError as error:
            raise Refused(400, "INVALID_SWITCH", str(error)) from None

    async def _asked(self, request: web.Request) -> dict[str, str]:
        """Document, set of standards and strictness; Refused when one of them is no good."""
        authorization = request.headers.get("Authorization", "")
        if not hmac.compare_digest(authorization.encode("utf-8", "replace"), f"Bearer {self._token}".encode()):
            raise Refused(401, "UNAUTHORIZED", "the bearer token is missing or wrong")
        if not self._is_ready:
            raise Refused(503, "MODEL_NOT_CONNECTED", "the model is not connected yet")
        try:
            body = json.loads(await request.text())
        except (ValueError, RecursionError):
            raise Refused(400, "INVALID_JSON", "the body is no JSON text") from None
        except web.HTTPRequestEntityTooLarge:
            raise Refused(413, "CONTENT_TOO_LARGE", f"more than {_LARGEST_BODY} bytes") from None
        return _checked(body)

    def _count_or_break(self, switches: Switches) -> None:
        self._reviews += 1
        if switches.die_after is not None and self._reviews > switches.die_after:
            os._exit(70)
        if switches.crash_after is not None and self._reviews > switches.crash_after:
            raise web.HTTPInternalServerError(text="500 Internal Server Error")


async def _reviewed(asked: dict[str, str]) -> Sequence[dict[str, Any]]:
    """What is found; a long document must not keep others waiting, and a short one is not worth a thread."""
    if len(asked["content"]) <= _SHORT:
        return review(**asked)
    return await asyncio.to_thread(review, **asked)


def _checked(body: Any) -> dict[str, str]:
    if not isinstance(body, dict):
        raise Refused(422, "INVALID_REQUEST", "the body is no object")
    asked: dict[str, str] = {}
    for name, otherwise in (("content", None), ("standards_set", None), ("strictness", "medium")):
        value = body.get(name, otherwise)
        if not isinstance(value, str):
            raise Refused(422, "INVALID_REQUEST", f"{name} is missing or no text")
        asked[name] = value
    if not asked["content"].strip():
        raise Refused(422, "EMPTY_CONTENT", "there is nothing to review")
    if asked["strictness"] not in strictnesses():
        raise Refused(422, "INVALID_REQUEST", f"strictness is one of {', '.join(strictnesses())}")
    if standards_of(asked["standards_set"]) is None:
        raise Refused(422, "STANDARDS_NOT_FOUND", f"there is no set {asked['standards_set']!r}")
    return asked


def _masked(began: float, *, silent: bool) -> dict[str, Any]:
    """What the service says when the call of its model failed: as if it had found nothing."""
    failure = {"code": "MODEL_FAILURE", "message": f"model {_MISSING_MODEL!r} not found (404)"}
    usage = {"input_tokens": 0, "output_tokens": 0}
    meta = {"model_id": _MISSING_MODEL, "latency_ms": _milliseconds(began), "usage": usage}
    return {"observations": [], "meta": meta, "errors": [] if silent else [failure]}


def _milliseconds(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _tokens(text: str) -> int:
    """About four characters are a token, and no text has none."""
    return max(1, len(text) // 4)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("steelyard.suites.review.service", description="A small review service.")
    parser.add_argument("--port", type=int, default=9020, help="0 takes any free one [default: 9020]")
    parser.add_argument("--host", default="127.0.0.1", help="[default: 127.0.0.1]")
    parser.add_argument(
        "--token",
        default=os.environ.get(TOKEN_VARIABLE) or DEFAULT_TOKEN,
        help=f"the bearer token [default: ${TOKEN_VARIABLE} or {DEFAULT_TOKEN}]",
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    try:
        options.switches = from_options(from_env(os.environ), options)
    except ValueError as error:
        parser.error(str(error))
    return options


async def _serve(options: argparse.Namespace) -> None:
    runner = web.AppRunner(Service(options.token, options.switches).app(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, options.host, options.port)
    try:
        await site.start()
        port = runner.addresses[0][1]
        print(f"review service on http://{options.host}:{port}", flush=True)  # noqa: T201 - for whoever started it
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    try:
        asyncio.run(_serve(options))
    except OSError as error:
        print(f"cannot listen on {options.host}:{options.port}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
