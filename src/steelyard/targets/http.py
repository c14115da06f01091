"""The http target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from yarl import URL

from steelyard.errors import Problem, SuiteError, TargetFailure
from steelyard.redact import SecretRedactor
from steelyard.suite.case import digest
from steelyard.targets.base import Request, Response, TargetContext
from steelyard.targets.connection import HttpRequest
from steelyard.targets.filling import (
    Filler,
    TextFiller,
    body_filler,
    text_filler,
    to_json,
    tree_filler,
)
from steelyard.targets.http_answers import AnswerTaker
from steelyard.targets.http_settings import HttpSettings, spelled_address
from steelyard.targets.service import NotReady, Readiness, Service, token_for
from steelyard.targets.service_settings import PORT
from steelyard.targets.settings import (
    FromEnv,
    names_header,
    read_variable,
)
from steelyard.targets.transport import wire_of

_KINDS = {"json": "application/json", "form": "application/x-www-form-urlencoded", "text": "text/plain; charset=utf-8"}


class HttpTarget:
    """Sends one request a call and takes the answer out of the body."""

    Settings = HttpSettings

    def __init__(self, settings: HttpSettings, target_context: TargetContext) -> None:
        self._settings = settings
        self._secrets: list[str] = []
        self._wire = wire_of(settings, target_context, self._secrets)
        self._url = _address(settings)
        self._port = PORT
        self._fixed_url = self._settled_url()
        self._headers, self._fixed_headers = self._fillers(settings.headers, target_context, "header")
        self._query, self._fixed_query = self._fillers(settings.query, target_context, "query parameter")
        self._encode = _body_encoder(settings)
        if settings.body_kind and not names_header(settings.headers, "Content-Type"):
            self._fixed_headers["Content-Type"] = _KINDS[settings.body_kind]
        shared: dict[str, str] = {}
        if settings.token is not None:
            token = self._token(settings.token, target_context)
            shared[settings.token] = token
            self._secrets.append(token)
            self._fixed_headers["Authorization"] = f"Bearer {token}"
        self._service = None if settings.start is None else Service(settings.start, target_context, shared)
        self._readiness: Readiness | None = None
        if self._service is not None:
            self._secrets += self._service.secrets
        self._wire.redact = SecretRedactor(self._secrets)
        self._take = AnswerTaker(settings)

    async def __aenter__(self) -> Self:
        """Start the service if it is to be started, and wait until it is ready; UsageError when it does not get so."""
        await self._wire.__aenter__()
        try:
            await self._make_ready()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        try:
            await self._wire.__aexit__(*exc_info)
        finally:
            if self._service is not None:
                await self._service.stop()

    async def ask(self, ask: Request) -> Response:
        """The answer in the body of a 2xx, or the body of an expected error; TargetFailure otherwise."""
        try:
            received = await self._wire.send(self._request(ask), self._take.expected_statuses(ask))
            return replace(self._take.response(received), latency=received.took)
        except TargetFailure as failure:
            if self._service is not None:
                failure.args = (await self._service.explained(str(failure)),)
            raise

    @property
    def may_come_back(self) -> bool:
        """True for a service that somebody else runs."""
        return self._settings.start is None

    async def gone(self) -> str | None:
        """Why the service is not there any more: its process has ended, or it is not ready; None when it is there."""
        ended = (lambda: None) if self._service is None else self._service.ended
        if message := ended():
            return message
        return None if self._readiness is None else await self._readiness.lost(ended)

    def identity(self) -> dict[str, Any]:
        """Kind, address and a hash of all settings; variables stand by name."""
        # The address says what stands in the first two.
        harmless = {"base_url", "url", "token", "max_bytes", "connect_timeout", "trust_env", "start", "ready"}
        settings = self._settings.model_dump(mode="json", by_alias=True, exclude=harmless, exclude_defaults=True)
        if self._settings.start is not None:
            settings["start"] = self._settings.start.identity()
        return {"kind": "http", "address": spelled_address(self._settings), "settings": digest(settings)}

    def request_key(self, ask: Request) -> Any:
        """Method, address, headers and body; values from the environment stand by name."""
        body = self._encode(ask)
        headers = {name: fill(ask) for name, fill in self._headers.items()}
        query = {name: fill(ask) for name, fill in self._query.items()}
        url = self._url(ask)
        start = {} if self._settings.start is None else {"start": self._settings.start.identity()}
        return start | {
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

    async def _make_ready(self) -> None:
        if self._service is not None:
            self._port = str(await self._service.start())
            self._fixed_url = self._settled_url()
        if self._settings.ready is None:
            return
        base = (self._settings.base or _origin(self._settings.url)).replace(PORT, self._port)
        readiness = Readiness(self._settings.ready, base, self._fixed_headers, self._wire)
        if self._service is None:
            await readiness.wait()
        else:
            try:
                await readiness.wait(self._service.refuse_if_ended)
            except NotReady as problem:
                raise self._service.problem(str(problem)) from None
        self._readiness = readiness

    def _token(self, name: str, target_context: TargetContext) -> str:
        if self._settings.start is not None:
            return token_for(name, target_context)
        return read_variable(name, target_context, "target http")

    def _settled_url(self) -> URL | None:
        """The address when it is the same for every call; None when it is a template."""
        address = spelled_address(self._settings).replace(PORT, self._port)
        return None if "{" in address else URL(address)

    def _request(self, ask: Request) -> HttpRequest:
        headers = self._fixed_headers | {name: fill(ask) for name, fill in self._headers.items()}
        url = self._fixed_url or self._filled_url(ask)
        if self._query or self._fixed_query:
            url = url.extend_query(self._fixed_query | {name: fill(ask) for name, fill in self._query.items()})
        return HttpRequest(self._settings.verb, url, headers, self._encode(ask))

    def _filled_url(self, ask: Request) -> URL:
        try:
            # The port stands in what comes first; what a case says is left as it is.
            url = URL(self._url(ask).replace(PORT, self._port, 1))
        except ValueError as error:
            raise TargetFailure(
                "bad_url", f"{self._settings.url} is not an address here: {error}", retry=False
            ) from None
        if self._settings.hosts and not {url.host, url.authority} & {*self._settings.hosts}:
            message = (
                f"{url.authority} is not among the hosts that cases may choose ({', '.join(self._settings.hosts)})"
            )
            raise TargetFailure("bad_url", message, retry=False)
        return url

    def _fillers(
        self, given: dict[str, str | FromEnv], target_context: TargetContext, what: str
    ) -> tuple[dict[str, TextFiller], dict[str, str]]:
        """Templates to fill for each call, and values of the environment that stay the same."""
        fillers: dict[str, TextFiller] = {}
        fixed: dict[str, str] = {}
        for name, value in given.items():
            if isinstance(value, FromEnv):
                fixed[name] = value.read(target_context, f"target http, {what} {name}")
                self._secrets.append(fixed[name].removeprefix(value.prefix))
            else:
                fillers[name] = text_filler(value, f"target http, {what} {name}")
        return fillers, fixed

    def _names_from_env(self) -> dict[str, str]:
        both = {**self._settings.headers, **self._settings.query}
        named = {name: value.env for name, value in both.items() if isinstance(value, FromEnv)}
        return named if self._settings.token is None else named | {"Authorization": self._settings.token}


def _address(settings: HttpSettings) -> TextFiller:
    address = spelled_address(settings)
    if "{" not in address and URL(address).scheme not in ("http", "https"):
        message = f"{address!r} is not a full address: write http:// or https:// before it, or set base_url"
        raise SuiteError([Problem(message, "target http, url")])
    return text_filler(address, "target http, url")


def _origin(url: str) -> str:
    """The beginning of an address, up to its path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _body_encoder(settings: HttpSettings) -> Callable[[Request], bytes | None]:
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
