"""Opens a target by its kind, built-in or plug-in."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from steelyard import registry
from steelyard.errors import Mistake, SuiteError, UserMistake
from steelyard.suite.models import TargetSpec
from steelyard.targets.base import Surroundings, Target


def open_target(spec: TargetSpec, surroundings: Surroundings) -> Target:
    """The target a suite declares, ready to be entered; UserMistake when it lacks something it needs.

    The spec's settings may be validated already or still be plain data, as code that builds a target by hand has them.
    """
    kind = _kind(spec.kind)
    target: Target = kind(_settings(spec, kind), surroundings)
    return target


def _kind(name: str) -> Any:
    try:
        return registry.find("targets", name)
    except KeyError:
        known = ", ".join(registry.names("targets"))
        raise UserMistake(f"there is no target of kind {name!r}; there are: {known}") from None


def _settings(spec: TargetSpec, kind: Any) -> Any:
    if isinstance(spec.settings, kind.Settings):
        return spec.settings
    try:
        return kind.Settings.model_validate(spec.settings)
    except ValidationError as error:
        raise SuiteError(
            [
                Mistake(
                    one["msg"].removeprefix("Value error, "),
                    ".".join(["target", spec.kind, *(str(part) for part in one["loc"])]),
                )
                for one in error.errors()
            ]
        ) from None
