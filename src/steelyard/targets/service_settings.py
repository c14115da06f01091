"""The settings of a service that a run starts itself, and of the check that a service is ready."""

from __future__ import annotations

import shlex
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.targets.settings import CasePath, Values

PORT = "{port}"
PYTHON = "{python}"


class StartSettings(BaseModel):
    """How a service is started on a free port of this machine, for the time of the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: tuple[str, ...] = Field(
        description="The program and its arguments, as a list or one text: no shell is used. {port} is a free port,"
        " {python} the Python that Steelyard runs in.",
        min_length=1,
    )
    env: Values = Field(
        default_factory=dict,
        description="Environment variables for the service: texts, in which {port} is the port, or {env: NAME} "
        "for values from the environment. Besides these it gets PATH, HOME and LANG.",
    )
    timeout: float = Field(
        default=30.0, description="Seconds until it must accept connections.", gt=0, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, given: Any) -> Any:
        return {"command": given} if isinstance(given, str | list) else given

    @field_validator("command", mode="before")
    @classmethod
    def _in_words(cls, given: Any) -> Any:
        return shlex.split(given) if isinstance(given, str) else given

    @field_validator("env", mode="before")
    @classmethod
    def _numbers_are_texts(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: str(value) if type(value) in (int, float) else value for name, value in given.items()}

    @model_validator(mode="after")
    def _reports_the_port(self) -> StartSettings:
        if not self.command[0].strip():
            raise ValueError("the command is empty: write the program and its arguments")
        if not any(isinstance(text, str) and PORT in text for text in (*self.command, *self.env.values())):
            raise ValueError(f"neither command nor env holds {PORT}, so the service cannot know where to listen")
        return self

    def identity(self) -> dict[str, Any]:
        """What can change an answer; variables stand by name."""
        return self.model_dump(mode="json", exclude={"timeout"}, exclude_defaults=True)


class ReadySettings(BaseModel):
    """How to see that a service is ready."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(
        description="What is asked with GET until it answers with a 2xx: a path on the service, or a full address.",
        min_length=1,
    )
    timeout: float = Field(default=60.0, description="Seconds until it must be ready.", gt=0, allow_inf_nan=False)
    expect: dict[CasePath, Any] = Field(
        default_factory=dict, description="Paths in the JSON body with the values that must stand there."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, given: Any) -> Any:
        return {"url": given} if isinstance(given, str) else given

    @field_validator("url")
    @classmethod
    def _is_a_path_or_an_address(cls, url: str) -> str:
        if not url.startswith(("/", "http://", "https://")):
            raise ValueError(f"{url!r} is neither a path such as /health nor an address with http:// before it")
        return url
