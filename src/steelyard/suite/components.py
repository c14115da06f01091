"""The components of a score: a registered scorer each, with its weight and its policy for unknown truth."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from steelyard import registry
from steelyard.errors import UserMistake
from steelyard.importing import PLACE, find_callable, source_digest
from steelyard.suite.draft import Draft
from steelyard.suite.file import ComponentPart
from steelyard.suite.model import Component
from steelyard.suite.problems import Place
from steelyard.suite.spelling import found, listed, meant, unknown_key

OPTIONS = tuple(ComponentPart.model_fields)
"""What a component may say besides its scorer."""
PYTHON, WITH = "python", "with"
"""The scorer that is a class of the suite's own, and its parameters."""


def build_components(raw: Any, draft: Draft) -> tuple[Component, ...]:
    """The components that can be built; everything wrong with the others is noted."""
    if not isinstance(raw, dict):
        return ()
    built = [_component(name, part, ("score", name), draft) for name, part in raw.items()]
    components = tuple(component for component in built if component is not None)
    for component in components:
        if "." in component.name or not component.name.strip():
            draft.tell("a component's name must not be empty or hold dots", ("score", component.name))
    return components


def _component(name: str, raw: Any, place: Place, draft: Draft) -> Component | None:
    if is_scorer(raw):
        return Component(name, raw, code=name.upper())
    if not isinstance(raw, dict):
        draft.tell(
            f"score.{name} must name a scorer, as in {{exact: {{expected: expected.{name}}}}}; {found(raw)}", place
        )
        return None
    options = draft.check(ComponentPart, {key: value for key, value in raw.items() if key in OPTIONS}, place)
    scorer = _scorer(name, raw, place, draft)
    if options is None or scorer is None:
        return None
    low, high = options.scale
    if low >= high:
        draft.tell(f"score.{name}.scale: {low:g} is not below {high:g}", (*place, "scale"))
    kind, built, source = scorer
    return Component(
        name=name,
        scorer=built,
        weight=options.weight,
        when_unknown=options.when_unknown,
        wrong_below=options.wrong_below,
        code=options.code or name.upper(),
        scale=(low, high),
        scorer_name=kind,
        source=source,
    )


def _scorer(name: str, raw: dict[str, Any], place: Place, draft: Draft) -> tuple[str, Any, str] | None:
    """The registered name, the scorer and the hash of its source, the first or the last of them ""."""
    known = [*registry.names("scorers"), PYTHON]
    kinds = [key for key in raw if key in known]
    options = (*OPTIONS, WITH) if PYTHON in kinds else OPTIONS
    strange = [key for key in raw if key not in known and key not in options]
    for key in strange:
        # A misspelt option is told apart from an unknown scorer by what it is closest to.
        words = options if kinds else (*known, *options)
        hint = meant(key, words)
        what = (
            unknown_key(key, options) if kinds else f"unknown scorer {key!r}{hint or '; there are: ' + listed(known)}"
        )
        draft.tell(f"score.{name}: {what}", (*place, key))
    if len(kinds) > 1:
        draft.tell(f"score.{name} names {len(kinds)} scorers ({listed(kinds)}): one component has one", place)
    elif not kinds and not strange:
        draft.tell(f"score.{name} names no scorer; there are: {listed(known)}", place)
    if len(kinds) != 1:
        return None
    kind = kinds[0]
    if kind == PYTHON:
        return _own_scorer(name, raw, place, draft)
    parameters = raw[kind] if raw[kind] is not None else {}
    try:
        scorer = registry.find("scorers", kind)
    except UserMistake as error:
        draft.tell(f"score.{name}: {error}", (*place, kind))
        return None
    built = draft.check_part(scorer, parameters, (*place, kind))
    return None if built is None else (kind, built, "")


def _own_scorer(name: str, raw: dict[str, Any], place: Place, draft: Draft) -> tuple[str, Any, str] | None:
    """A scorer that is a class of the suite's own: `module:Class`, or in Python the class itself."""
    given, where = raw[PYTHON], (*place, PYTHON)
    if not isinstance(given, type) and not (isinstance(given, str) and PLACE.match(given)):
        draft.tell(f"score.{name}.python must be a class: write module:Class; {found(given)}", where)
        return None
    try:
        scorer = find_callable(given, draft.folder, "scorer") if isinstance(given, str) else given
    except UserMistake as error:
        draft.tell(f"score.{name}: {error}", where)
        return None
    if not (isinstance(scorer, type) and issubclass(scorer, BaseModel) and is_scorer(scorer)):
        told = given if isinstance(given, str) else given.__qualname__
        draft.tell(f"score.{name}: {told} is no scorer: write a class that derives from steelyard.Scorer", where)
        return None
    parameters = raw[WITH] if raw.get(WITH) is not None else {}
    built = draft.check_part(scorer, parameters, (*place, WITH))
    return None if built is None else ("", built, source_digest(scorer) or "")


def is_scorer(value: Any) -> bool:
    """True for an instance of a scorer, as Python suites may bring along."""
    return callable(getattr(value, "read", None)) and callable(getattr(value, "truth", None))
