"""Any HTTP service as the system under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self
from urllib.parse import urlencode

from yarl import URL

from steelyard.blotting import Blotter
from steelyard.errors import Mistake, SuiteError, TargetFailure
from steelyard.suite.case import digest
from steelyard.suite.paths import MISSING, Getter, compile_path
from steelyard.targets.base import Ask, Reply, Surroundings
from steelyard.targets.filling import Filler, TextFiller, body_filler, text_filler, to_json, tree_filler
from steelyard.targets.http_settings import HttpSettings, dotted_path
from steelyard.targets.settings import FromEnv, names_header, read_variable
from steelyard.targets.wire import Received, Request, Wire, WireLimits, excerpt_of, json_of

_KINDS = {"json": "application/json", "form": "application/x-www-form-urlencoded", "text": "text/plain; charset=utf-8"}


class HttpTarget:
    """Sends one request a call and takes the answer out of the body."""

    Settings = HttpSettings

    def __init__(self, settings: HttpSettings, surroundings: Surroundings) -> None:
        self._settings = settings
        self._secrets: list[str] = []
        self._wire = Wire(WireLimits(surroundings.max_connections, settings.connect_timeout, settings.max_bytes))
        self._url = _address(settings)
        address = _spelled_address(settings)
        self._fixed_url = None if "{" in address else URL(address)
        self._headers, self._fixed_headers = self._fillers(settings.headers, surroundings, "header")
        self._query, self._fixed_query = self._fillers(settings.query, surroundings, "query parameter")
        self._encode = _body_encoder(settings)
        if settings.body_kind and not names_header(settings.headers, "Content-Type"):
            self._fixed_headers["Content-Type"] = _KINDS[settings.body_kind]
        if settings.token is not None:
            token = read_variable(settings.token, surroundings, "target http")
            self._secrets.append(token)
            self._fixed_headers["Authorization"] = f"Bearer {token}"
        self._wire.blot = Blotter(self._secrets)
        self._take = _Taker(settings)

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._wire.__aexit__(*exc_info)

    async def ask(self, ask: Ask) -> Reply:
        """The answer in the body of a 2xx, or the body of an expected error; TargetFailure otherwise."""
        received = await self._wire.send(self._request(ask), self._take.expected_statuses(ask))
        return self._take.reply(received)

    def identity(self) -> dict[str, Any]:
        """Kind, address and a hash of all settings; variables stand by name."""
        harmless = {"token", "max_bytes", "connect_timeout"}
        settings = self._settings.model_dump(mode="json", by_alias=True, exclude=harmless, exclude_defaults=True)
        return {"kind": "http", "address": _spelled_address(self._settings), "settings": digest(settings)}

    def request_key(self, ask: Ask) -> Any:
        """Method, address, headers and body; values from the environment stand by name."""
        try:
            body = self._encode(ask)
            headers = {name: fill(ask) for name, fill in self._headers.items()}
            query = {name: fill(ask) for name, fill in self._query.items()}
            url = self._url(ask)
        except TargetFailure:
            return None
        return {
            "method": self._settings.verb,
            "url": url,
            "query": query,
            "headers": headers,
            "from_env": self._names_from_env(),
            "body": None if body is None else body.decode("utf-8", "surrogatepass"),
        }

    def secrets(self) -> list[str]:
        """Every value that came from the environment."""
        return list(self._secrets)

    def _request(self, ask: Ask) -> Request:
        headers = self._fixed_headers | {name: fill(ask) for name, fill in self._headers.items()}
        url = self._fixed_url or self._filled_url(ask)
        if self._query or self._fixed_query:
            url = url.extend_query(self._fixed_query | {name: fill(ask) for name, fill in self._query.items()})
        return Request(self._settings.verb, url, headers, self._encode(ask))

    def _filled_url(self, ask: Ask) -> URL:
        try:
            return URL(self._url(ask))
        except ValueError as error:
            raise TargetFailure(
                "bad_url", f"{self._settings.url} is not an address here: {error}", retry=False
            ) from None

    def _fillers(
        self, given: dict[str, str | FromEnv], surroundings: Surroundings, what: str
    ) -> tuple[dict[str, TextFiller], dict[str, str]]:
        """Templates to fill for each call, and values of the environment that stay the same."""
        fillers: dict[str, TextFiller] = {}
        fixed: dict[str, str] = {}
        for name, value in given.items():
            if isinstance(value, FromEnv):
                fixed[name] = value.read(surroundings, f"target http, {what} {name}")
                self._secrets.append(fixed[name].removeprefix(value.prefix))
            else:
                fillers[name] = text_filler(value, f"target http, {what} {name}")
        return fillers, fixed

    def _names_from_env(self) -> dict[str, str]:
        both = {**self._settings.headers, **self._settings.query}
        named = {name: value.env for name, value in both.items() if isinstance(value, FromEnv)}
        return named if self._settings.token is None else named | {"Authorization": self._settings.token}


class _Taker:
    """Takes the reply out of what was received."""

    def __init__(self, settings: HttpSettings) -> None:
        self._answer_path = settings.answer
        self._answer: Getter | None = compile_path(dotted_path(settings.answer)) if settings.answer else None
        self._failed_if = [(path, compile_path(dotted_path(path))) for path in settings.failed_if]
        self._markers = settings.error_markers
        self._usage = {name: compile_path(dotted_path(path)) for name, path in settings.usage.paths().items()}
        expected = settings.expect_errors
        self._statuses = frozenset(expected.statuses()) if expected else frozenset()
        self._when = compile_path(expected.when) if expected and expected.when is not None else None

    def expected_statuses(self, ask: Ask) -> frozenset[int]:
        if self._when is None or self._when(replace(ask.case, expected=ask.truth)):
            return self._statuses
        return frozenset()

    def reply(self, received: Received) -> Reply:
        if not 200 <= received.status < 300:
            return Reply(text=received.text, status=received.status)
        for marker in self._markers:
            if marker in received.text:
                raise _reported(received, f"the body holds {marker!r}, an error marker: {excerpt_of(received.text)}")
        if self._answer is None and not self._failed_if and not self._usage:
            return Reply(text=received.text, status=received.status)
        data = json_of(received)
        for path, get in self._failed_if:
            if value := get(data):
                raise _reported(received, f"the body reports a failure at {path}: {excerpt_of(to_json(value))}")
        return Reply(text=self._text(received, data), status=received.status, **self._measures(data))

    def _text(self, received: Received, data: Any) -> str:
        if self._answer is None:
            return received.text
        value = self._answer(data)
        if value is MISSING:
            message = f"the body has nothing at {self._answer_path}: {excerpt_of(received.text)}"
            raise TargetFailure("no_answer", message, retry=False, status=received.status, body=received.text)
        return value if isinstance(value, str) else to_json(value)

    def _measures(self, data: Any) -> dict[str, Any]:
        found = {name: get(data) for name, get in self._usage.items()}
        return {name: value for name, value in found.items() if _fits(name, value)}


def _fits(name: str, value: Any) -> bool:
    if name == "model":
        return isinstance(value, str)
    kinds = (int, float) if name == "cost" else (int,)
    return isinstance(value, kinds) and not isinstance(value, bool) and value >= 0


def _reported(received: Received, message: str) -> TargetFailure:
    return TargetFailure("reported_error", message, retry=False, status=received.status, body=received.text)


def _spelled_address(settings: HttpSettings) -> str:
    if settings.base_url is None:
        return settings.url
    return settings.base_url.rstrip("/") + ("/" + settings.url.lstrip("/") if settings.url else "")


def _address(settings: HttpSettings) -> TextFiller:
    address = _spelled_address(settings)
    if "{" not in address and URL(address).scheme not in ("http", "https"):
        message = f"{address!r} is not a full address: write http:// or https:// before it, or set base_url"
        raise SuiteError([Mistake(message, "target http, url")])
    return text_filler(address, "target http, url")


def _body_encoder(settings: HttpSettings) -> Callable[[Ask], bytes | None]:
    where = f"target http, {settings.body_kind}"
    if settings.body_kind == "json":
        fill: Filler = body_filler(settings.json_body, where)
        return lambda ask: to_json(fill(ask)).encode("utf-8", "replace")
    if settings.body_kind == "form":
        form: Filler = tree_filler(settings.form, where)
        return lambda ask: urlencode({name: _form_text(value) for name, value in form(ask).items()}).encode()
    if settings.body_kind == "text":
        text = text_filler(settings.text or "", where)
        return lambda ask: text(ask).encode("utf-8", "replace")
    return lambda _: None


def _form_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)
