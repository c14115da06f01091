"""The chat target: providers' HTTP protocols."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.errors import Problem, SuiteError, TargetFailure
from steelyard.frozen import values_of
from steelyard.suite.case import Attachment, Case, digest
from steelyard.suite.files import inside, media_type_of
from steelyard.suite.values import TextFile
from steelyard.targets.base import Request, Response, TargetContext
from steelyard.targets.chat_wire import ChatWire
from steelyard.targets.filling import (
    Filler,
    TextFiller,
    address_filler,
    prompt_filler,
    refuse_hosts_of_cases,
    tree_filler,
    value_filler,
)
from steelyard.targets.model_address import ModelAddress
from steelyard.targets.protocols import (
    ResponseFormat,
)
from steelyard.targets.settings import text_of


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
    fillers = {
        name: value_filler(value, f"target chat, {name}") if isinstance(value, str) else _constant(value)
        for name, value in values_of(settings, "model", "temperature", "seed", "max_tokens").items()
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
