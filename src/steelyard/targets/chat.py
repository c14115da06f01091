"""A chat model behind an OpenAI-compatible address as the system under test."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

from steelyard.errors import Mistake, SuiteError, TargetFailure
from steelyard.suite.case import digest
from steelyard.targets.base import Ask, Reply, Surroundings
from steelyard.targets.chat_settings import ChatSettings
from steelyard.targets.chat_wire import ChatWire
from steelyard.targets.filling import Filler, TextFiller, prompt_filler, tree_filler, value_filler
from steelyard.targets.images import image_names, image_part
from steelyard.targets.settings import TextFile, text_of


class ChatTarget:
    """Asks the model once a call: system and user message, images, and the sampling settings."""

    Settings = ChatSettings

    def __init__(self, settings: ChatSettings, surroundings: Surroundings) -> None:
        self._settings = settings
        self._surroundings = surroundings
        self.sends_attachments = settings.images
        self._wire = ChatWire(settings, surroundings)
        self._prompts: dict[str, str] = {}
        self._system = None if settings.system is None else self._prompt("system", settings.system)
        self._user: TextFiller = _input_as_text if settings.user is None else self._prompt("user", settings.user)
        self._fields = _field_fillers(settings)
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
        return await self._wire.complete(body, self._surroundings.answer_schema)

    def identity(self) -> dict[str, Any]:
        """Kind, model, address, sampling settings and hashes of the prompts; variables stand by name."""
        return self._settings.identity() | {"prompts": {name: digest(text) for name, text in self._prompts.items()}}

    def request_key(self, ask: Ask) -> Any:
        """The address and the body, in which hashes stand for images."""
        try:
            body = self._body(ask, images=False)
            images = image_names(ask.case, self._surroundings.folder) if self._settings.images else []
        except TargetFailure:
            return None
        format_ = self._wire.response_format(self._surroundings.answer_schema)
        return {"url": str(self._wire.url), "body": body | format_, "images": images}

    def secrets(self) -> list[str]:
        """The API key and every header value that came from the environment."""
        return self._wire.secrets()

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

    def _prompt(self, name: str, given: str | TextFile) -> TextFiller:
        text, where = text_of(given, self._surroundings, f"target chat, {name}")
        self._prompts[name] = text
        return prompt_filler(text, where)


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
