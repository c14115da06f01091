"""A chat model behind an OpenAI-compatible address as the system under test."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, Self

from yarl import URL

from steelyard.blotting import Blotter
from steelyard.errors import Mistake, SuiteError, TargetFailure
from steelyard.suite.case import digest
from steelyard.targets.base import Ask, Reply, Surroundings
from steelyard.targets.chat_reply import read_completion
from steelyard.targets.chat_settings import ChatSettings, ResponseFormat
from steelyard.targets.filling import Filler, TextFiller, prompt_filler, to_json, tree_filler, value_filler
from steelyard.targets.images import image_names, image_part
from steelyard.targets.settings import FromEnv, TextFile, names_header, read_variable, text_of
from steelyard.targets.wire import Request, Wire, WireLimits, json_of

_log = logging.getLogger(__name__)


class ChatTarget:
    """Asks the model once a call: system and user message, images, and the sampling settings."""

    Settings = ChatSettings

    def __init__(self, settings: ChatSettings, surroundings: Surroundings) -> None:
        self._settings = settings
        self._surroundings = surroundings
        self.sends_attachments = settings.images
        self._wire = Wire(WireLimits(surroundings.max_connections, settings.connect_timeout, settings.max_bytes))
        self._url = URL(settings.base_url + "/chat/completions")
        self._prompts: dict[str, str] = {}
        self._system = None if settings.system is None else self._prompt("system", settings.system)
        self._user: TextFiller = _input_as_text if settings.user is None else self._prompt("user", settings.user)
        self._fields = _field_fillers(settings)
        self._secrets: list[str] = []
        self._headers = self._fixed_headers()
        self._format: ResponseFormat = settings.response_format
        if settings.response_format == "schema" and surroundings.answer_schema is None:
            message = "response_format: schema needs a schema in the suite: write answer: {schema: FILE}"
            raise SuiteError([Mistake(message, "target chat")])

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._wire.__aexit__(*exc_info)

    async def ask(self, ask: Ask) -> Reply:
        """The model's text with tokens and cost; TargetFailure when there is none."""
        sends_files = self._settings.images and any(not one.is_url for one in ask.case.attachments)
        body = await asyncio.to_thread(self._body, ask) if sends_files else self._body(ask)
        asked_for = self._format
        try:
            reply = await self._complete(body, asked_for)
        except TargetFailure as failure:
            if self._settings.when_refused == "fail" or not _refuses_format(failure, asked_for):
                raise
            self._fall_back(asked_for, failure)
            reply = await self._complete(body, self._format)
        if self._settings.price is not None:
            reply.cost = self._settings.price.of(reply.tokens_in, reply.tokens_out)
        return reply

    def identity(self) -> dict[str, Any]:
        """Kind, model, address, sampling settings and hashes of the prompts; variables stand by name."""
        settings = self._settings.model_dump(
            mode="json", exclude={"token", "price", "max_bytes", "connect_timeout"}, exclude_defaults=True
        )
        return {
            "kind": "chat",
            "model": self._settings.model,
            "address": self._settings.base_url,
            "settings": {k: v for k, v in settings.items() if k not in ("model", "base_url", "system", "user")},
            "prompts": {name: digest(text) for name, text in self._prompts.items()},
        }

    def request_key(self, ask: Ask) -> Any:
        """The address and the body, in which hashes stand for images."""
        try:
            body = self._body(ask, images=False)
            images = image_names(ask.case, self._surroundings.folder) if self._settings.images else []
        except TargetFailure:
            return None
        format_ = self._response_format(self._format)
        return {"url": str(self._url), "body": body | format_, "images": images}

    def secrets(self) -> list[str]:
        """The API key and every header value that came from the environment."""
        return list(self._secrets)

    async def _complete(self, body: dict[str, Any], format_: ResponseFormat) -> Reply:
        data = to_json(body | self._response_format(format_)).encode("utf-8", "replace")
        received = await self._wire.send(Request("POST", self._url, self._headers, data))
        return read_completion(json_of(received), received)

    def _body(self, ask: Ask, *, images: bool = True) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        if self._system is not None:
            messages.append({"role": "system", "content": self._system(ask)})
        content: Any = self._user(ask)
        if images and self._settings.images and ask.case.attachments:
            folder, detail = self._surroundings.folder, self._settings.image_detail
            parts = [image_part(one, folder, detail) for one in ask.case.attachments]
            content = [{"type": "text", "text": content}, *parts]
        messages.append({"role": "user", "content": content})
        fields = {name: _checked(name, fill(ask)) for name, fill in self._fields.items()}
        if "seed" in fields:
            fields["seed"] += ask.repeat
        return {"messages": messages} | fields

    def _response_format(self, format_: ResponseFormat) -> dict[str, Any]:
        if format_ == "text":
            return {}
        if format_ == "json":
            return {"response_format": {"type": "json_object"}}
        schema: dict[str, Any] = {"name": "answer", "schema": self._surroundings.answer_schema}
        if self._settings.schema_strict:
            schema["strict"] = True
        return {"response_format": {"type": "json_schema", "json_schema": schema}}

    def _fall_back(self, refused: ResponseFormat, failure: TargetFailure) -> None:
        if self._settings.when_refused == "fail" or self._format != refused:
            return  # another call has done so in the meantime
        self._format = self._settings.when_refused
        _log.warning("the server refuses response_format %s (%s): asking for %s", refused, failure, self._format)

    def _prompt(self, name: str, given: str | TextFile) -> TextFiller:
        text, where = text_of(given, self._surroundings, f"target chat, {name}")
        self._prompts[name] = text
        return prompt_filler(text, where)

    def _fixed_headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        if not names_header(self._settings.headers, "Content-Type"):
            headers["Content-Type"] = "application/json"
        for name, value in self._settings.headers.items():
            if isinstance(value, FromEnv):
                headers[name] = value.read(self._surroundings, f"target chat, header {name}")
                self._secrets.append(headers[name].removeprefix(value.prefix))
            else:
                headers[name] = value
        if self._settings.token is not None:
            key = read_variable(self._settings.token, self._surroundings, "target chat")
            self._secrets.append(key)
            headers["Authorization"] = f"Bearer {key}"
        self._wire.blot = Blotter(self._secrets)
        return headers


def _input_as_text(ask: Ask) -> str:
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


def _checked(name: str, value: Any) -> Any:
    wanted: dict[str, tuple[type, ...]] = {"model": (str,), "temperature": (int, float), "seed": (int,)}
    if name in wanted and (not isinstance(value, wanted[name]) or isinstance(value, bool)):
        raise TargetFailure("bad_template", f"target chat: {name} came out as {value!r} for this call", retry=False)
    return value


def _refuses_format(failure: TargetFailure, asked_for: ResponseFormat) -> bool:
    told = (failure.body or "").lower()
    named = "response_format" in told or "json_schema" in told or "json_object" in told
    return asked_for != "text" and failure.status in (400, 404, 415, 422, 501) and named
