"""The http target."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from yarl import URL

from steelyard.errors import Problem, SuiteError, TargetFailure
from steelyard.failures import reported_error
from steelyard.redact import SecretRedactor, looks_secret
from steelyard.suite.case import MISSING, Getter, compile_path, digest
from steelyard.targets.base import Request, Response, TargetContext
from steelyard.targets.connection import HttpRequest, excerpt_of
from steelyard.targets.filling import (
    Filler,
    TextFiller,
    body_filler,
    has_holes,
    host_template,
    refuse_hosts_of_cases,
    text_filler,
    to_json,
    tree_filler,
)
from steelyard.targets.service import NotReady, Readiness, Service, token_for
from steelyard.targets.service_settings import PORT, ReadySettings, StartSettings
from steelyard.targets.settings import (
    CasePath,
    FromEnv,
    TargetSettings,
    Texts,
    Values,
    listed,
    names_header,
    read_variable,
)
from steelyard.targets.transport import Received, json_of, wire_of

# The settings of an HTTP target.

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

_CLASS_OF_STATUS = re.compile(r"^[345]xx$")


def dotted_path(text: str) -> str:
    """The dotted path for a JSONPath such as `$.a.b`, `$.a[0]`, `$.a[*].b` or `$['odd key']`; others as they are."""
    if not text.startswith("$"):
        return text
    steps: list[str] = []
    rest = text[1:]
    while rest:
        match = _JSONPATH_STEP.match(rest)
        if match is None:
            raise ValueError(f"{text!r}: only $.name, ['name'], [0] and [*] are understood, not {rest!r}")
        name, index, quoted = match.group("name"), match.group("index"), match.group("quoted")
        if match.group("each"):
            steps.append("[]")
        elif index is not None:
            steps.append(index)
        else:
            steps.append(_quote(name if name is not None else quoted))
        rest = rest[match.end() :]
    return "".join(step if step == "[]" or not at else f".{step}" for at, step in enumerate(steps))


_JSONPATH_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"*\s]+)|\[(?P<index>\d+)\]|(?P<each>\[\*\]|\.\*)|\[(?P<mark>['"])(?P<quoted>.+?)(?P=mark)\]"""
)


def _quote(step: str) -> str:
    if re.fullmatch(r"[^.\[\]\"\s]+", step):
        return step
    return '"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _checked_path(text: str) -> str:
    compile_path(dotted_path(text))
    return text


BodyPath = Annotated[str, AfterValidator(_checked_path)]
"""A path into a JSON body, dotted or a JSONPath."""


def _or_one(schema: dict[str, Any]) -> None:
    """Say in the published schema that a single one may stand for the list."""
    several = {name: schema.pop(name) for name in ("type", "items", "minItems")}
    schema["anyOf"] = [several, *several["items"]["anyOf"]]


def _or_one_entry(schema: dict[str, Any]) -> None:
    """Say in the published schema that a single entry may stand for the list."""
    several = {name: schema.pop(name) for name in ("type", "items")}
    schema["anyOf"] = [several, several["items"]]


class ExpectedErrors(BaseModel):
    """Error statuses that are answers: their body is scored instead of counting as a failure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Annotated[tuple[int | str, ...], BeforeValidator(listed)] = Field(
        description="Statuses that count as an answer: numbers such as 422, or a class such as 4xx.",
        min_length=1,
        json_schema_extra=_or_one,
    )
    when: CasePath | None = Field(
        default=None,
        description="Path into the case: only cases with a value there may answer with an error. Default: all cases.",
    )

    @field_validator("status")
    @classmethod
    def _are_statuses(cls, given: tuple[int | str, ...]) -> tuple[int | str, ...]:
        for item in given:
            if isinstance(item, int) and 300 <= item <= 599:
                continue
            if isinstance(item, str) and (_CLASS_OF_STATUS.match(item) or re.fullmatch(r"[345]\d\d", item)):
                continue
            raise ValueError(f"{item!r} is not an error status: write a number from 300 to 599, or 4xx")
        return given

    def statuses(self) -> set[int]:
        """All of them, one by one."""
        results: set[int] = set()
        for item in self.status:
            if isinstance(item, str) and item.endswith("xx"):
                results.update(range(int(item[0]) * 100, int(item[0]) * 100 + 100))
            else:
                results.add(int(item))
        return results


class UsagePaths(BaseModel):
    """Where the body tells what the answer took."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens_in: BodyPath | None = Field(default=None, description="Path to the number of tokens sent.")
    tokens_out: BodyPath | None = Field(default=None, description="Path to the number of tokens received.")
    cost: BodyPath | None = Field(default=None, description="Path to what the answer cost.")
    model: BodyPath | None = Field(default=None, description="Path to the name of the model that answered.")
    response_id: BodyPath | None = Field(default=None, description="Path to the service's own id of the answer.")
    cached: BodyPath | None = Field(
        default=None, description="Path to true where the answer is an earlier one from a cache of the service."
    )

    def paths(self) -> dict[str, str]:
        """Those that are declared."""
        return {name: path for name, path in self if path is not None}


def _entries(given: Any) -> Any:
    return [] if given is None else [given] if isinstance(given, dict | ExpectedErrors) else given


_TEXT = {"type": "string"}


def _or_text(schema: dict[str, Any]) -> None:
    """Say in the published schema that a text may stand for the whole."""
    schema["anyOf"] += [_TEXT]


def _or_texts(schema: dict[str, Any]) -> None:
    """Say in the published schema that a text, or a list of texts, may stand for the whole."""
    schema["anyOf"] += [_TEXT, {"type": "array", "items": _TEXT}]


class HttpSettings(TargetSettings):
    """How to ask the service, and where in its answer to look."""

    shorthand: ClassVar[str | None] = "url"

    url: str = Field(default="", description="Address, or what follows base_url; a template.")
    base_url: str | None = Field(
        default=None,
        description="Put before url, so that the command line can point elsewhere; a template of variants, such as "
        "{{ variant.base_url }}.",
    )
    hosts: Texts = Field(
        default=(),
        description="Hosts, with their ports if need be, that cases may choose where url or base_url holds their "
        "values before the path. Without them, a request with a key goes to no host that a case chooses.",
    )
    method: Method | None = Field(
        default=None, description="Default: POST with a body, GET without.", validate_default=True
    )
    headers: Values = Field(
        default_factory=dict, description="Headers: templates, or {env: NAME} for values from the environment."
    )
    query: Values = Field(default_factory=dict, description="Query parameters: templates, or {env: NAME}.")
    token: str | None = Field(
        default=None, description="Name of the environment variable whose value is sent as bearer token.", min_length=1
    )
    json_body: Any = Field(
        default=None,
        alias="json",
        description="JSON body: data in which every text is a template, or a path into the case such as `input`. "
        "A text that is exactly one {{ expression }} keeps the type of its value.",
    )
    form: dict[str, Any] | None = Field(default=None, description="Form body: names with templates.")
    text: str | None = Field(default=None, description="Plain text body: a template.")
    answer: BodyPath | None = Field(
        default=None,
        description="Where in the JSON body the answer stands: result.text or $.result.text. Default: all of it.",
    )
    expect_errors: Annotated[tuple[ExpectedErrors, ...], BeforeValidator(_entries)] = Field(
        default=(),
        description="Error statuses that are answers: their body is scored. Several entries hold for different cases.",
        json_schema_extra=_or_one_entry,
    )
    failed_if: Annotated[tuple[BodyPath, ...], BeforeValidator(listed)] = Field(
        default=(),
        description="Paths in the JSON body of a 2xx: anything but empty, null, false or 0 there is a failure.",
    )
    error_markers: Texts = Field(default=(), description="Texts whose presence in the body of a 2xx is a failure.")
    usage: UsagePaths = Field(default=UsagePaths(), description="Where the JSON body has tokens, cost and model.")
    max_bytes: int = Field(
        default=10_000_000, description="Largest body that is read; a larger one is a failure.", gt=0
    )
    connect_timeout: float = Field(default=10.0, description="Seconds to wait for a connection.", gt=0)
    trust_env: bool = Field(
        default=False, description="Whether HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment are used."
    )
    start: StartSettings | None = Field(
        default=None,
        description="Starts the service on a free port for the time of the run, and stops it afterwards.",
        json_schema_extra=_or_texts,
    )
    ready: ReadySettings | None = Field(
        default=None,
        description="How to see that the service is ready: a path such as /health, or an address.",
        json_schema_extra=_or_text,
    )

    @property
    def base(self) -> str | None:
        """What goes before url; {port} stands for the port of a service that the run starts."""
        return f"http://127.0.0.1:{PORT}" if self.base_url is None and self.start is not None else self.base_url

    @property
    def body_kind(self) -> Literal["json", "form", "text"] | None:
        """Which body is sent."""
        if self.json_body is not None:
            return "json"
        if self.form is not None:
            return "form"
        return "text" if self.text is not None else None

    @field_validator("method", mode="before")
    @classmethod
    def _in_capitals(cls, given: Any) -> Any:
        return given.upper() if isinstance(given, str) else given

    @field_validator("error_markers")
    @classmethod
    def _are_texts(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if any(not marker for marker in given):
            raise ValueError("an empty marker would be found in every body")
        return given

    @field_validator("url", "base_url")
    @classmethod
    def _holds_no_secret(cls, url: str | None) -> str | None:
        return None if url is None else refuse_secrets_in(url)

    @model_validator(mode="after")
    def _is_one_request(self) -> Self:
        given = [n for n, v in (("json", self.json_body), ("form", self.form), ("text", self.text)) if v is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} cannot be sent together: keep one body")
        if not self.url and not self.base:
            raise ValueError("url is missing: the address of the service")
        if self.base_url and self.url.startswith(("http://", "https://")):
            raise ValueError("url is a full address, so base_url cannot go before it: write only the path as url")
        if self.token is not None and names_header(self.headers, "Authorization"):
            raise ValueError("token and the header Authorization are two keys for one lock: keep one")
        if self.method == "GET" and given:
            raise ValueError(f"a GET has no body: drop {given[0]}, or write method: POST")
        return self

    @model_validator(mode="after")
    def _is_one_service(self) -> Self:
        if self.start is None:
            return self
        if self.url.startswith(("http://", "https://")):
            raise ValueError("start starts a service here, so url can only be a path on it, such as /ask")
        if self.base_url is not None and PORT not in self.base_url:
            raise ValueError(
                f"base_url names a service that runs already, and start starts another: drop one of them, or write "
                f"base_url: http://127.0.0.1:{PORT}"
            )
        return self

    @model_validator(mode="after")
    def _keeps_keys_from_cases(self) -> Self:
        address = _spelled_address(self)
        if self.hosts:
            return self
        from_env = [*self.headers.values(), *self.query.values()]
        if self.token is not None or any(isinstance(value, FromEnv) for value in from_env):
            try:
                refuse_hosts_of_cases(address, "url")
            except ValueError as error:
                raise ValueError(f"{error}, or list the hosts that cases may choose as hosts: [...]") from None
        return self

    @model_validator(mode="after")
    def _is_ready_somewhere(self) -> Self:
        full = self.ready is not None and self.ready.url.startswith(("http://", "https://"))
        if self.ready is not None and not full and has_holes(host_template(_spelled_address(self))):
            raise ValueError("ready: where the service is depends on the call, so write a full address here")
        return self

    @property
    def verb(self) -> str:
        """The method that is sent."""
        return self.method or ("POST" if self.body_kind else "GET")


def refuse_secrets_in(url: str) -> str:
    """The address itself; ValueError when it carries a password or a key."""
    try:
        parts = urlsplit(url)
        if parts.password or (parts.username and "{" not in parts.netloc):
            raise ValueError("an address must not hold a user or password: put them in the environment, as a header")
    except ValueError as error:
        raise ValueError(str(error)) from None
    for name, value in parse_qsl(parts.query):
        if value and looks_secret(name):
            raise ValueError(
                f"{name} looks like a secret: put it in the environment, as query: {{{name}: {{env: NAME}}}}"
            )
    return url


# From the body of an HTTP answer to the reply: the answer's text, its measures, or why there is none.


_LONGEST_ERROR = 1_000
_BEFORE_MARKER = 40
"""Characters of the body before an error marker that a message shows with it."""


class AnswerTaker:
    """Takes the reply out of what was received, as the settings say."""

    def __init__(self, settings: HttpSettings) -> None:
        self._answer_path = settings.answer
        self._answer: Getter | None = compile_path(dotted_path(settings.answer)) if settings.answer else None
        self._failed_if = [(path, compile_path(dotted_path(path))) for path in settings.failed_if]
        self._markers = settings.error_markers
        self._usage = {name: compile_path(dotted_path(path)) for name, path in settings.usage.paths().items()}
        expected = settings.expect_errors
        self._statuses = frozenset(status for item in expected if item.when is None for status in item.statuses())
        self._when = [(compile_path(item.when), item.statuses()) for item in expected if item.when is not None]

    def expected_statuses(self, ask: Request) -> frozenset[int]:
        """Error statuses that are an answer to this question."""
        if not self._when:
            return self._statuses
        case = replace(ask.case, expected=ask.truth)
        return self._statuses.union(*(statuses for when, statuses in self._when if when(case)))

    def response(self, received: Received) -> Response:
        """The answer with its measures; TargetFailure when the body reports a failure or holds no answer."""
        if not 200 <= received.status < 300:
            return _response(received, received.text)
        needs_json = bool(self._answer is not None or self._failed_if or self._usage)
        try:
            data = json_of(received) if needs_json else None
        except TargetFailure:
            self._raise_if_marked(received)  # an error page is no JSON, and its marker tells more
            raise
        # What stands at a path is the error itself, with its code and message; a marker only shows that there is one.
        for path, get in self._failed_if:
            if value := get(data):
                error = reported_error(value)
                message = f"{excerpt_of(error, _LONGEST_ERROR)} (at {path} of the body)" if error else ""
                raise _reported(
                    received, message or f"the body reports a failure at {path}: {excerpt_of(to_json(value))}"
                )
        self._raise_if_marked(received)
        if not needs_json:
            return _response(received, received.text)
        text = self._text(received, data)
        measures = self._measures(data)
        return _response(received, text, **(measures | {"cached": measures.get("cached", False) or received.cached}))

    def _raise_if_marked(self, received: Received) -> None:
        for marker in self._markers:
            if (at := received.text.find(marker)) >= 0:
                around = received.text[max(0, at - _BEFORE_MARKER) :]
                raise _reported(received, f"the body holds {marker!r}, an error marker: {excerpt_of(around)}")

    def _text(self, received: Received, data: Any) -> str:
        if self._answer is None:
            return received.text
        value = self._answer(data)
        if value is MISSING:
            message = f"the body has nothing at {self._answer_path}: {excerpt_of(received.text)}"
            raise TargetFailure("no_answer", message, retry=False, status=received.status, body=received.text)
        return value if isinstance(value, str) else to_json(value)

    def _measures(self, data: Any) -> dict[str, Any]:
        results = {name: get(data) for name, get in self._usage.items()}
        return {name: value for name, value in results.items() if _fits(name, value)}


def _response(received: Received, text: str, **more: Any) -> Response:
    settings = {"cached": received.cached} | more
    return Response(text=text, status=received.status, first_byte=received.first_byte, **settings)


def _fits(name: str, value: Any) -> bool:
    if name in ("model", "response_id"):
        return isinstance(value, str)
    if name == "cached":
        return isinstance(value, bool)
    kinds = (int, float) if name == "cost" else (int,)
    return isinstance(value, kinds) and not isinstance(value, bool) and value >= 0


def _reported(received: Received, message: str) -> TargetFailure:
    return TargetFailure("reported_error", message, retry=False, status=received.status, body=received.text)


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
        return {"kind": "http", "address": _spelled_address(self._settings), "settings": digest(settings)}

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
        address = _spelled_address(self._settings).replace(PORT, self._port)
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


def _spelled_address(settings: HttpSettings) -> str:
    if settings.base is None:
        return settings.url
    return settings.base.rstrip("/") + ("/" + settings.url.lstrip("/") if settings.url else "")


def _address(settings: HttpSettings) -> TextFiller:
    address = _spelled_address(settings)
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
