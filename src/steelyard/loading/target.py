"""From targets and variants as written to a TargetSpec and Variants, with the prompt texts among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import PurePath
from typing import Any, get_args

from pydantic import BaseModel

from steelyard import plugins
from steelyard.errors import SuiteError
from steelyard.suite.draft import Draft
from steelyard.suite.files import inside
from steelyard.suite.models import TargetSpec, Variant
from steelyard.suite.templates import compile_template
from steelyard.suite.yaml import Place, meant_or_listed, result, shown

_LONGEST_NAME = 100


def build_target(raw: Any, place: Place, draft: Draft) -> TargetSpec | None:
    """The target in `{kind: settings}`, which may have a `name` besides, or None with everything wrong noted."""
    name = ""
    if isinstance(raw, dict) and "name" in raw and not plugins.is_known("targets", "name"):
        raw = dict(raw)
        name = checked_name(raw.pop("name"), (*place, "name"), draft)
    given = draft.one_kind(raw, "target", lambda: plugins.names("targets"), place)
    spec = None if given is None else settle(given[0], given[1], (*place, given[0]), draft)
    return None if spec is None else replace(spec, name=name)


def checked_name(given: Any, place: Place, draft: Draft) -> str:
    """The name of a target; "" with a note for what cannot be one."""
    if isinstance(given, str) and given.strip() == given and given.isprintable() and 0 < len(given) <= _LONGEST_NAME:
        return given
    draft.add_problem(f"a target's name is a text of at most {_LONGEST_NAME} characters; {result(given)}", place)
    return ""


def settle(kind: str, settings: Any, place: Place, draft: Draft) -> TargetSpec | None:
    """A target of a kind with these settings, or None with everything wrong noted."""
    if not plugins.is_known("targets", kind):
        draft.add_problem(f"unknown target {kind!r}{meant_or_listed(kind, plugins.names('targets'))}", place)
        return None
    target = draft.registered("targets", kind, place)
    if target is None:
        return None
    settings = {} if settings is None else settings
    checked = draft.check_part(target.Settings, settings, place)
    for at, name in _files(checked if checked is not None else settings):
        with draft.noting((*place, *at)):
            inside(draft.folder, name, draft.allow if kind == "recorded" else None)
    return None if checked is None else TargetSpec(kind, checked)


def _files(settings: Any) -> Iterator[tuple[Place, str]]:
    """Every `file:` in the settings, with its place."""
    data = dict(settings) if isinstance(settings, BaseModel) else settings
    for key, value in data.items() if isinstance(data, dict) else ():
        if key == "file" and isinstance(value, str):
            yield (key,), value
        else:
            for at, name in _files(value):
                yield (key, *at), name


def prompts_of(spec: TargetSpec | None, place: Place, draft: Draft) -> dict[str, str]:
    """The prompt texts in a target's settings by the setting's name; templates that do not compile are noted.

    A setting that may be kept in a file of its own is a prompt, wherever it is written.
    """
    prompts: dict[str, str] = {}
    if spec is None or not isinstance(spec.settings, BaseModel):
        return prompts
    for name, field in type(spec.settings).model_fields.items():
        value = getattr(spec.settings, name)
        if not any(_is_text_file(form) for form in get_args(field.annotation)):
            continue
        where = (*place, spec.kind, name)
        if isinstance(value, str):
            prompts[name] = check_template(value, draft.located.file, where, draft)
        elif isinstance(value, BaseModel):
            try:
                text = inside(draft.folder, value.file).read_text("utf-8-sig")  # type: ignore[attr-defined]
            except (ValueError, OSError):
                continue  # already told
            prompts[name] = check_template(text, value.file, where, draft)  # type: ignore[attr-defined]
    return prompts


def check_template(text: str, file: str, place: Place, draft: Draft) -> str:
    """The text as it is, with a note when it is a template that does not compile."""
    try:
        compile_template(text, where=file or "the template")
    except SuiteError as error:
        draft.note_template(error, None if file == draft.located.file else file, place)
    return text


def _is_text_file(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, BaseModel) and set(form.model_fields) == {"file"}


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
            draft.add_problem(f"variants.{factor} is empty: give at least one value", ("variants", factor))
            continue
        levels[factor] = [
            _level(factor, value, ("variants", factor, at), draft, prompts) for at, value in enumerate(values)
        ]
        _report_twins(factor, levels[factor], draft)
        n *= len(values)
    if n > _MOST:
        draft.add_problem(f"the variants make {n} combinations; at most {_MOST} are allowed", ("variants",))
        return (Variant(),), prompts
    return tuple(_variant(levels, combination) for combination in product(*levels.values())), prompts


def _variant(levels: dict[str, list[tuple[str, Any]]], combination: tuple[tuple[str, Any], ...]) -> Variant:
    named = dict(zip(levels, combination, strict=True))
    names = [f"{factor}={label}" for factor, (label, _) in named.items()]
    name = ", ".join(names) if len(named) != 1 else combination[0][0]
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
        draft.add_problem(f"give this value a name, as in {{name: a, value: ...}}; {result(value)}", place)
    if name is not None and isinstance(value, str):
        prompts[f"variant {factor}={name}"] = value
    return name or (value if isinstance(value, str) else shown(value)), value


def _report_twins(factor: str, levels: list[tuple[str, Any]], draft: Draft) -> None:
    seen: set[str] = set()
    for at, (label, _) in enumerate(levels):
        if label in seen:
            message = f"variants.{factor}: two values are called {label!r}; name them, as in {{name: a, value: ...}}"
            draft.add_problem(message, ("variants", factor, at))
        if not label or label != label.strip() or not label.isprintable():
            draft.add_problem(
                f"variants.{factor}: {label!r} cannot be a name; write {{name: a, value: ...}}",
                ("variants", factor, at),
            )
        seen.add(label)
