"""The grid of variants: every combination of the factors' values, each with a name people can read."""

from __future__ import annotations

from itertools import product
from pathlib import PurePath
from typing import Any

from steelyard.suite.declared_targets import check_template
from steelyard.suite.draft import Draft
from steelyard.suite.model import Variant
from steelyard.suite.problems import Place
from steelyard.suite.spelling import found, shown

_MOST = 10_000


def build_variants(raw: Any, draft: Draft) -> tuple[tuple[Variant, ...], dict[str, str]]:
    """The variants, and the prompt texts among their values by name."""
    if not isinstance(raw, dict) or not raw:
        return (Variant(),), {}
    prompts: dict[str, str] = {}
    levels: dict[str, list[tuple[str, Any]]] = {}
    n = 1
    for factor, values in raw.items():
        if not isinstance(values, list):
            continue
        if not values:
            draft.tell(f"variants.{factor} is empty: give at least one value", ("variants", factor))
            continue
        levels[factor] = [
            _level(factor, value, ("variants", factor, at), draft, prompts) for at, value in enumerate(values)
        ]
        _tell_twins(factor, levels[factor], draft)
        n *= len(values)
    if n > _MOST:
        draft.tell(f"the variants make {n} combinations; at most {_MOST} are allowed", ("variants",))
        return (Variant(),), prompts
    return tuple(_variant(levels, combination) for combination in product(*levels.values())), prompts


def _variant(levels: dict[str, list[tuple[str, Any]]], combination: tuple[tuple[str, Any], ...]) -> Variant:
    named = dict(zip(levels, combination, strict=True))
    if len(named) == 1:
        name = combination[0][0]
    else:
        name = ", ".join(f"{factor}={label}" for factor, (label, _) in named.items())
    return Variant(name, {factor: value for factor, (_, value) in named.items()})


def _level(factor: str, value: Any, place: Place, draft: Draft, prompts: dict[str, str]) -> tuple[str, Any]:
    """The label and the value of one level; `{file: ...}` is read, `{name: ..., value: ...}` names it."""
    name: str | None = None
    if isinstance(value, dict) and "name" in value and set(value) in ({"name", "value"}, {"name", "file"}):
        name = str(value["name"])
        value = value["value"] if "value" in value else {"file": value["file"]}
    if isinstance(value, dict) and set(value) == {"file"}:
        text = draft.text(value["file"], place)
        label = name or PurePath(str(value["file"])).stem
        if text is not None:
            prompts[f"variant {factor}={label}"] = check_template(text, str(value["file"]), place, draft)
        return label, text
    if name is None and isinstance(value, (dict, list)):
        draft.tell(f"give this value a name, as in {{name: a, value: ...}}; {found(value)}", place)
    if name is not None and isinstance(value, str):
        prompts[f"variant {factor}={name}"] = value
    return name or (value if isinstance(value, str) else shown(value)), value


def _tell_twins(factor: str, levels: list[tuple[str, Any]], draft: Draft) -> None:
    seen: set[str] = set()
    for at, (label, _) in enumerate(levels):
        if label in seen:
            message = f"variants.{factor}: two values are called {label!r}; name them, as in {{name: a, value: ...}}"
            draft.tell(message, ("variants", factor, at))
        if not label or label != label.strip() or not label.isprintable():
            draft.tell(
                f"variants.{factor}: {label!r} cannot be a name; write {{name: a, value: ...}}",
                ("variants", factor, at),
            )
        seen.add(label)
