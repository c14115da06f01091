"""The chat target: providers' HTTP protocols."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator
from yarl import URL

from steelyard.errors import Problem, SuiteError, TargetFailure
from steelyard.redact import SecretRedactor
from steelyard.suite.case import Attachment, Case, digest
from steelyard.suite.files import inside, media_type_of
from steelyard.suite.prices import Price, price_of
from steelyard.targets.base import Request, Response, TargetContext
from steelyard.targets.connection import HttpRequest
from steelyard.targets.filling import (
    Filler,
    TextFiller,
    address_filler,
    has_holes,
    prompt_filler,
    refuse_hosts_of_cases,
    to_json,
    tree_filler,
    value_filler,
)
from steelyard.targets.http import refuse_secrets_in
from steelyard.targets.protocols import (
    FORMATS,
    AnswerForm,
    ChatProtocol,
    ResponseFormat,
    Stream,
    read_completion,
)
from steelyard.targets.settings import FromEnv, TargetSettings, TextFile, Values, names_header, read_variable, text_of
from steelyard.targets.transport import Received, json_of, wire_of

if TYPE_CHECKING:
    from steelyard.targets.aws import Signer

# How to reach a chat model: what the settings of a chat target and of a judge share, and those of a judge.


class ModelAddress(TargetSettings):
    """Where a model is, with which key it is asked, and what may be sent and received."""

    harmless: ClassVar[frozenset[str]] = frozenset({"token", "price", "max_bytes", "connect_timeout", "trust_env"})
    """Settings that cannot change an answer; they are no part of the identity."""
    protocol: ClassVar[ChatProtocol] = ChatProtocol()
    keep_calls: ClassVar[bool] = False
    """Whether the tool calls of an answer are a part of it, with their names."""

    base_url: str = Field(description="Address of the OpenAI-compatible service, up to and with /v1.", min_length=1)
    model: str = Field(description="Name of the model.", min_length=1)
    token: str | None = Field(
        default=None, description="Name of the environment variable that holds the API key.", min_length=1
    )
    headers: Values = Field(
        default_factory=dict, description="Further headers: texts, or {env: NAME} for values from the environment."
    )
    max_tokens: int | None = Field(default=None, description="Most tokens of an answer.", gt=0)
    schema_strict: bool = Field(
        default=False, description="Ask the server to hold the answer to the schema strictly, where it knows the field."
    )
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further fields of the request body, such as top_p."
    )
    price: Price | None = Field(default=None, description="Prices, to compute what each answer costs.")
    max_bytes: int = Field(default=10_000_000, description="Largest body that is read.", gt=0)
    connect_timeout: float = Field(default=10.0, description="Seconds to wait for a connection.", gt=0)
    trust_env: bool = Field(
        default=False, description="Whether HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment are used."
    )

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        if has_holes(url):
            cls.check_template(url)
        elif not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is not an address: write http:// or https:// before it")
        return refuse_secrets_in(url).rstrip("/")

    @classmethod
    def check_template(cls, url: str) -> None:
        """ValueError for an address that is a template: a judge has no variants."""
        raise ValueError(f"{url!r}: the address of a judge cannot be a template")

    @field_validator("extra")
    @classmethod
    def _leaves_our_fields_alone(cls, given: dict[str, Any]) -> dict[str, Any]:
        for name in given:
            if name in cls.protocol.own:
                raise ValueError(f"{name} cannot be an extra field: it is a setting of its own, or not supported")
        return given

    @model_validator(mode="after")
    def _has_one_key(self) -> Self:
        header = self.protocol.key_header
        if self.token is not None and "token" in self.model_fields_set and names_header(self.headers, header):
            raise ValueError(f"token and the header {header} are two keys for one lock: keep one")
        return self

    @model_validator(mode="after")
    def _has_fields_for_all(self) -> Self:
        protocol = self.protocol
        for name in sorted(protocol.lacks):
            if getattr(self, name, None):
                raise ValueError(f"{name}: the protocol of {protocol.kind} has no field for it: take it out")
        for name in ("response_format", "when_refused"):
            if (form := getattr(self, name, "text")) not in (*protocol.formats, "fail"):
                raise ValueError(f"{name}: {protocol.kind} knows {' and '.join(protocol.formats)}, no {form}")
        return self

    @property
    def formats(self) -> tuple[ResponseFormat, ...]:
        """The response formats to ask for: the first, and each next one when the server refuses the one before."""
        return ("text",)

    def key_variable(self, env: Mapping[str, str]) -> str | None:  # noqa: ARG002
        """The environment variable with the key; None when none is sent, or a header brings it."""
        return None if names_header(self.headers, self.protocol.key_header) else self.token

    def signer(self, target_context: TargetContext, who: str) -> Signer | None:  # noqa: ARG002
        """What signs requests that are sent without a key."""
        return None

    def identity(self) -> dict[str, Any]:
        """Kind, model, address and every setting that can change an answer; variables stand by name."""
        settings = self.model_dump(mode="json", exclude={*self.harmless, "model", "base_url"}, exclude_defaults=True)
        return {"kind": self.protocol.kind, "model": self.model, "address": self.base_url, "settings": settings}


class ChatConnection(ModelAddress):
    """Which model judges, and how it is asked."""

    harmless: ClassVar[frozenset[str]] = ModelAddress.harmless | {"timeout"}

    temperature: float | None = Field(default=None, description="Sampling temperature.", ge=0, allow_inf_nan=False)
    seed: int | None = Field(
        default=None,
        description="Seed of the first call. The judging repeat's index is added to it, and 1000 for each time the "
        "judge is asked again, so that no two calls share one.",
    )
    timeout: float | None = Field(
        default=None,
        description="Seconds to wait for an answer. Default: the timeout of the suite's limits.",
        gt=0,
        allow_inf_nan=False,
    )
    response_format: ResponseFormat = Field(
        default="schema",
        description="schema: the server holds the answer to the response schema; json: to any JSON object; text: to "
        "nothing.",
    )
    when_refused: Literal["fail", "json", "text"] = Field(
        default="text",
        description="How far to go down, step by step, when the server refuses a response format: schema, then json, "
        "then text. What is not refused is used from then on. fail: not at all.",
    )

    @property
    def formats(self) -> tuple[ResponseFormat, ...]:
        """From the format asked for, down to the least that is allowed."""
        if self.when_refused == "fail":
            return (self.response_format,)
        first, last = FORMATS.index(self.response_format), FORMATS.index(self.when_refused)
        return tuple(form for form in FORMATS[first : max(first, last) + 1] if form in self.protocol.formats)


# The settings of a chat target.


class ChatSettings(ModelAddress):
    """Which model to ask, and how."""

    # Prompts have a part of their own in the identity.
    harmless: ClassVar[frozenset[str]] = ModelAddress.harmless | {"system", "user", "stream"}
    keep_calls: ClassVar[bool] = True

    base_url: str = Field(
        description="Address of the OpenAI-compatible service, up to and with /v1; a template of variants, such as "
        "{{ variant.base_url }}.",
        min_length=1,
    )
    model: str = Field(description="Name of the model; a template, such as {{ variant.model }}.", min_length=1)
    system: str | TextFile | None = Field(
        default=None, description="System message: a template, or {file: PATH} of one. Default: none is sent."
    )
    user: str | TextFile | None = Field(
        default=None,
        description="User message: a template, or {file: PATH} of one. Default: the input, as text or as JSON.",
    )
    stream: bool = Field(
        default=False,
        description="Whether the answer comes in pieces: gives the time to the first token, and tokens a second.",
    )
    images: bool = Field(default=True, description="Whether the case's attachments are sent as images.")
    image_detail: Literal["low", "high", "auto"] | None = Field(
        default=None, description="How closely the model looks at images, where the server knows the field."
    )
    temperature: float | str | None = Field(
        default=None, description="Sampling temperature: a number, or a template such as {{ variant.temperature }}."
    )
    seed: int | str | None = Field(
        default=None,
        description="Seed of the first repeat: a whole number or a template. The repeat's index is added to it, so "
        "that repeats differ.",
    )
    response_format: ResponseFormat = Field(
        default="text",
        description="schema: the suite's answer schema is enforced by the server; json: any JSON object; text: free.",
    )
    when_refused: Literal["fail", "json", "text"] = Field(
        default="fail",
        description="What to do when the server refuses the response format: fail, or ask for this format instead "
        "from then on.",
    )
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further fields of the request body, such as top_p; texts are templates."
    )

    @classmethod
    def check_template(cls, url: str) -> None:
        """ValueError for an address that depends on more than variants: a case must not choose where the key goes."""
        refuse_hosts_of_cases(url, "base_url")

    @field_validator("temperature", "seed")
    @classmethod
    def _is_a_number_or_template(cls, given: float | str | None) -> float | str | None:
        if isinstance(given, str) and "{{" not in given:
            raise ValueError(f"{given!r} is neither a number nor a template")
        return given

    @model_validator(mode="after")
    def _falls_back_to_less(self) -> Self:
        if self.when_refused == self.response_format or self.response_format == "text" != self.when_refused != "fail":
            raise ValueError(f"when_refused: {self.when_refused} asks for no less than the response format itself")
        return self

    @property
    def formats(self) -> tuple[ResponseFormat, ...]:
        """The format asked for, and the one to fall back to when there is one."""
        return (self.response_format,) if self.when_refused == "fail" else (self.response_format, self.when_refused)


# One completion: key and headers, the response format that the server accepts, the cost.

_log = logging.getLogger(__name__)
_REFUSALS = frozenset({400, 404, 415, 422, 501})
"""Statuses with which servers refuse a field of the body."""


class ChatWire:
    """Sends completions to one model. `who` names the asker in messages. Used as an async context manager.

    UsageError when a variable of the environment that holds a key is not set.
    """

    def __init__(self, settings: ModelAddress, target_context: TargetContext, who: str = "target chat") -> None:
        self._settings = settings
        self._protocol = settings.protocol
        self._stream = bool(getattr(settings, "stream", False))
        self._url = lru_cache(64)(partial(settings.protocol.url, stream=self._stream))
        self._who, self._prices = who, target_context.prices
        self._formats = list(settings.formats)
        self._secrets: list[str] = []
        self._headers = self._fixed_headers(target_context)
        self._signer = settings.signer(target_context, who)
        if (signer := self._signer) is not None:
            self._secrets += [signer.access_key, signer.secret_key, signer.session_token or ""]
        self._wire = wire_of(settings, target_context, self._secrets)
        self._wire.redact = SecretRedactor(self._secrets)

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._wire.__aexit__(*exc_info)

    @property
    def format(self) -> ResponseFormat:
        """The response format asked for now: the first of the settings' that the server has not refused."""
        return self._formats[0]

    async def complete(
        self, body: dict[str, Any], schema: dict[str, Any] | None, base_url: str | None = None
    ) -> Response:
        """The model's text with tokens and cost, in the best format that the server accepts; TargetFailure when there
        is none. The body is in OpenAI's form, whatever the protocol; `base_url` is that of the settings, filled."""
        while True:
            asked_for = self.format
            read = partial(
                read_completion,
                self._protocol,
                max_tokens=body.get("max_tokens"),
                keep_calls=self._settings.keep_calls,
                schema=asked_for == "schema",
            )
            try:
                response = await self._send(*self.request(body, schema, base_url), read)
            except TargetFailure as failure:
                if not (self._refuses_format(failure, asked_for) and self._steps_down(asked_for, failure)):
                    raise
            else:
                response.cost = self._cost(body["model"], response)
                return response

    def _cost(self, model: str, response: Response) -> float | None:
        """By the price of the model that was asked for, else of the one that answered."""
        names = (model, response.model or model)
        prices = (price_of(self._settings, self._prices, name) for name in names)
        price = next((price for price in prices if price is not None), None)
        return None if price is None else price.of(response)

    def request(
        self, body: dict[str, Any], schema: dict[str, Any] | None, base_url: str | None = None
    ) -> tuple[URL, dict[str, Any]]:
        """The address and the body as the protocol has them, in the present format."""
        wanted = AnswerForm(self.format, schema, self._settings.schema_strict, self._stream)
        return self._url(base_url or self._settings.base_url, body["model"]), self._protocol.body(body, wanted)

    def secrets(self) -> list[str]:
        """The API key and every header value that came from the environment."""
        return list(self._secrets)

    async def _send(self, url: URL, body: dict[str, Any], read: Callable[[Any, Received], Response]) -> Response:
        data = to_json(body).encode("utf-8", "replace")
        signed = {} if self._signer is None else self._signer.headers("POST", url, self._headers, data)
        request = HttpRequest("POST", url, self._headers | signed, data)
        if not self._stream:
            received = await self._wire.send(request)
            response = read(json_of(received), received)
        else:
            stream = Stream(self._protocol)
            try:
                received = await self._wire.send(request, watch=stream.feed)
            except asyncio.CancelledError as stopped:
                if stream.first_token is not None:
                    stopped.first_token = stream.first_token - getattr(stopped, "sent", stream.first_token)  # type: ignore[attr-defined]
                raise
            response = read(stream.body(received), received)
            response.text = self._wire.redact(response.text)  # a secret may have come in pieces
            response.first_token = None if stream.first_token is None else stream.first_token - received.sent
        response.latency = received.took
        return response

    def _refuses_format(self, failure: TargetFailure, asked_for: ResponseFormat) -> bool:
        message = (failure.body or "").lower()
        named = any(word in message for word in self._protocol.format_words)
        return asked_for != "text" and failure.status in _REFUSALS and named

    def _steps_down(self, refused: ResponseFormat, failure: TargetFailure) -> bool:
        """Whether there is another format to ask for; calls under way at the same time step down only once."""
        if self.format != refused:
            return True
        if len(self._formats) == 1:
            return False
        del self._formats[0]
        _log.warning(
            "%s: the server refuses response_format %s (%s): asking for %s", self._who, refused, failure, self.format
        )
        return True

    def _fixed_headers(self, target_context: TargetContext) -> dict[str, str]:
        headers = dict(self._protocol.headers)
        if not names_header(self._settings.headers, "Content-Type"):
            headers["Content-Type"] = "application/json"
        for name, value in self._settings.headers.items():
            if isinstance(value, FromEnv):
                headers[name] = value.read(target_context, f"{self._who}, header {name}")
                self._secrets.append(headers[name].removeprefix(value.prefix))
            else:
                headers[name] = value
        variable = self._settings.key_variable(target_context.env)
        if variable is not None:
            key = read_variable(variable, target_context, self._who)
            self._secrets.append(key)
            headers[self._protocol.key_header] = f"{self._protocol.key_prefix}{key}"
        return headers


# Turns a case's attachments into the image parts of a chat message.


def image_part(attachment: Attachment, folder: Path, detail: str | None) -> dict[str, Any]:
    """One `image_url` part: a URL as it is, a file as a data URL.

    Its media type is that of the bytes where they tell it: servers refuse a PNG that says it is a JPEG.
    """
    url = attachment.place
    if not attachment.is_url:
        data = _read(attachment, folder)
        media_type = media_type_of(data) or attachment.media_type
        url = f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"
    image = {"url": url} if detail is None else {"url": url, "detail": detail}
    return {"type": "image_url", "image_url": image}


def image_names(case: Case, folder: Path) -> list[str]:
    """What stands for the images in a cache key: URLs, and hashes of files."""
    return [
        attachment.place if attachment.is_url else hashlib.sha256(_read(attachment, folder)).hexdigest()
        for attachment in case.attachments
    ]


def _read(attachment: Attachment, folder: Path) -> bytes:
    if not attachment.media_type.startswith("image/"):
        message = f"{attachment.place} is {attachment.media_type}: a chat target sends images only"
        raise TargetFailure("bad_attachment", message, retry=False)
    try:
        return inside(folder, attachment.place).read_bytes()
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"the attachment {attachment.place} cannot be read: {reason}"
        raise TargetFailure("bad_attachment", message, retry=False) from None


class ChatTarget:
    """Asks the model once a call: system and user message, images, and the sampling settings."""

    Settings: type[ChatSettings] = ChatSettings

    def __init__(self, settings: ChatSettings, target_context: TargetContext) -> None:
        self._settings = settings
        self._target_context = target_context
        self.sends_attachments = settings.images
        self._who = f"target {settings.protocol.kind}"
        self._wire = ChatWire(settings, target_context, self._who)
        self._prompts: dict[str, str] = {}
        self._system = None if settings.system is None else self._prompt("system", settings.system)
        self._user: TextFiller = _input_as_text if settings.user is None else self._prompt("user", settings.user)
        self._fields = _field_fillers(settings)
        self._base_url = address_filler(settings.base_url, f"{self._who}, base_url")
        if settings.response_format == "schema" and target_context.answer_schema is None:
            message = "response_format: schema needs a schema in the suite: write answer: {schema: FILE}"
            raise SuiteError([Problem(message, self._who)])

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._wire.__aexit__(*exc_info)

    async def ask(self, ask: Request) -> Response:
        """The model's text with tokens and cost; TargetFailure when there is none."""
        sends_files = self._settings.images and any(not attachment.is_url for attachment in ask.case.attachments)
        body = await asyncio.to_thread(self._body, ask) if sends_files else self._body(ask)
        return await self._wire.complete(body, self._target_context.answer_schema, self._base_url(ask))

    def identity(self) -> dict[str, Any]:
        """Kind, model, address, sampling settings and hashes of the prompts; variables stand by name."""
        return self._settings.identity() | {"prompts": {name: digest(text) for name, text in self._prompts.items()}}

    def request_key(self, ask: Request) -> Any:
        """The address and the body, in which hashes stand for images."""
        body = self._body(ask, images=False)
        images = image_names(ask.case, self._target_context.folder) if self._settings.images else []
        url, sent = self._wire.request(body, self._target_context.answer_schema, self._base_url(ask))
        return {"url": str(url), "body": sent, "images": images}

    def secrets(self) -> list[str]:
        """The API key and every header value that came from the environment."""
        return self._wire.secrets()

    def _body(self, ask: Request, *, images: bool = True) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        if self._system is not None:
            messages.append({"role": "system", "content": self._system(ask)})
        content: Any = self._user(ask)
        if images and self._settings.images and ask.case.attachments:
            folder, detail = self._target_context.folder, self._settings.image_detail
            parts = [image_part(attachment, folder, detail) for attachment in ask.case.attachments]
            content = [{"type": "text", "text": content}, *parts]
        messages.append({"role": "user", "content": content})
        body: dict[str, Any] = {"messages": messages}
        for name, fill in self._fields.items():
            body[name] = _checked(name, fill(ask))
        if "seed" in body:
            body["seed"] += ask.repeat
        return body

    def _prompt(self, name: str, given: str | TextFile) -> TextFiller:
        text, where = text_of(given, self._target_context, f"{self._who}, {name}")
        self._prompts[name] = text
        return prompt_filler(text, where)


def _input_as_text(ask: Request) -> str:
    given = ask.case.input
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2, default=str)


def _field_fillers(settings: ChatSettings) -> dict[str, Filler]:
    fields: dict[str, Any] = {"model": settings.model, "temperature": settings.temperature, "seed": settings.seed}
    fields["max_tokens"] = settings.max_tokens
    fillers = {
        name: value_filler(value, f"target chat, {name}") if isinstance(value, str) else _constant(value)
        for name, value in fields.items()
        if value is not None
    }
    extra = {name: tree_filler(value, f"target chat, extra.{name}") for name, value in settings.extra.items()}
    return fillers | extra


def _constant(value: Any) -> Filler:
    return lambda _: value


_KINDS: dict[str, tuple[type, ...]] = {"model": (str,), "temperature": (int, float), "seed": (int,)}


def _checked(name: str, value: Any) -> Any:
    if name in _KINDS and (not isinstance(value, _KINDS[name]) or isinstance(value, bool)):
        raise TargetFailure("bad_template", f"target chat: {name} came out as {value!r} for this call", retry=False)
    return value
