"""The settings of a chat target."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.targets.chat_connection import ModelAddress, ResponseFormat
from steelyard.targets.settings import TextFile


class ChatSettings(ModelAddress):
    """Which model to ask, and how."""

    # Prompts have a part of their own in the identity.
    harmless: ClassVar[frozenset[str]] = ModelAddress.harmless | {"system", "user"}

    model: str = Field(description="Name of the model; a template, such as {{ variant.model }}.", min_length=1)
    system: str | TextFile | None = Field(
        default=None, description="System message: a template, or {file: PATH} of one. Default: none is sent."
    )
    user: str | TextFile | None = Field(
        default=None,
        description="User message: a template, or {file: PATH} of one. Default: the input, as text or as JSON.",
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
