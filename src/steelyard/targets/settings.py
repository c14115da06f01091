"""What the settings of all kinds of target share: strictness, shorthand, secrets by name, texts from files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from steelyard.errors import Problem, SuiteError, UsageError
from steelyard.redact import looks_secret
from steelyard.suite.files import text_inside
from steelyard.suite.paths import compile_path
from steelyard.suite.values import TextFile
from steelyard.targets.base import TargetContext

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class TargetSettings(BaseModel):
    """Base of all settings: what is not known is a mistake, and nothing changes after loading."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    shorthand: ClassVar[str | None] = None
    """The setting that a bare text or list in the suite file sets."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, given: Any) -> Any:
        if cls.shorthand is not None and (isinstance(given, str | list) or callable(given)):
            return {cls.shorthand: given}
        return given


class FromEnv(BaseModel):
    """A value taken from an environment variable, so that it is never in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: str = Field(description="Name of the environment variable that holds the value.", min_length=1)
    prefix: str = Field(default="", description="Text put before the value, such as `ApiKey `.")

    def read(self, target_context: TargetContext, what: str) -> str:
        """The value with its prefix; UsageError naming the variable when it is not set."""
        return self.prefix + read_variable(self.env, target_context, what)


def read_variable(name: str, target_context: TargetContext, what: str) -> str:
    """The variable's value; UsageError naming it when it is not set or empty."""
    value = target_context.env.get(name, "")
    if not _VARIABLE.fullmatch(name):
        raise UsageError(
            f"{what}: the value is not the name of an environment variable; if it is the key itself,"
            " take it out of the file, export it, and write the variable's name"
        )
    if not value.strip():
        state = "empty" if name in target_context.env else "not set"
        raise UsageError(f"{what} needs the environment variable {name}, which is {state}: export {name}=... first")
    return value.strip()


def without_secrets(given: dict[str, str | FromEnv]) -> dict[str, str | FromEnv]:
    """The headers or parameters as given; ValueError naming every one that holds a secret in plain sight."""
    plain = [name for name, value in given.items() if isinstance(value, str) and looks_secret(name)]
    if plain:
        look = "looks like a secret: put it" if len(plain) == 1 else "look like secrets: put them"
        raise ValueError(f"{', '.join(plain)} {look} in the environment and write {{env: NAME}} here")
    return given


Values = Annotated[dict[str, str | FromEnv], AfterValidator(without_secrets)]
"""Headers, parameters or variables: texts, or what is taken from the environment; no secret in plain sight."""


def listed(given: Any) -> Any:
    """The value of a setting that takes several: a single one may stand alone."""
    return [given] if isinstance(given, int | str) else given


Texts = Annotated[tuple[str, ...], BeforeValidator(listed)]
"""Texts as a list; a single one may stand alone."""


def _checked_path(text: str) -> str:
    compile_path(text)
    return text


CasePath = Annotated[str, AfterValidator(_checked_path)]
"""A dotted path."""


def names_header(headers: Iterable[str], name: str) -> bool:
    """True when one of the headers is `name`, in whatever letter case."""
    return any(header.lower() == name.lower() for header in headers)


def text_of(given: str | TextFile, target_context: TargetContext, what: str) -> tuple[str, str]:
    """The text and the place to name in messages: written inline, or read from a file of the suite."""
    if isinstance(given, str):
        return given, what
    try:
        return text_inside(target_context.folder, given.file), given.file
    except ValueError as error:
        raise SuiteError([Problem(str(error), what)]) from None
