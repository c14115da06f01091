"""The settings of an HTTP target."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from steelyard.redact import looks_secret
from steelyard.suite.paths import compile_path
from steelyard.targets.filling import has_holes, host_template, refuse_hosts_of_cases
from steelyard.targets.service_settings import PORT, ReadySettings, StartSettings
from steelyard.targets.settings import CasePath, FromEnv, TargetSettings, Texts, Values, listed, names_header

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
        address = spelled_address(self)
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
        if self.ready is not None and not full and has_holes(host_template(spelled_address(self))):
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


def spelled_address(settings: HttpSettings) -> str:
    """The address as it is written, with its holes."""
    if settings.base is None:
        return settings.url
    return settings.base.rstrip("/") + ("/" + settings.url.lstrip("/") if settings.url else "")
