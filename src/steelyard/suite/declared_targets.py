"""The targets a suite declares, with their settings checked, and the prompts they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from steelyard import registry
from steelyard.errors import SuiteError, UserMistake
from steelyard.suite.draft import Draft
from steelyard.suite.inside import inside
from steelyard.suite.model import TargetSpec
from steelyard.suite.problems import Place
from steelyard.suite.spelling import found, listed, meant
from steelyard.suite.templates import compile_template


def build_target(raw: Any, place: Place, draft: Draft) -> TargetSpec | None:
    """The target in `{kind: settings}`, or None with everything wrong noted."""
    if callable(raw):
        raw = {"python": raw}
    if not isinstance(raw, dict) or len(raw) != 1:
        known = listed(registry.names("targets"))
        told = f"{len(raw)} kinds" if isinstance(raw, dict) else found(raw)
        draft.tell(f"a target is one kind with its settings ({known}); found {told.removeprefix('found ')}", place)
        return None
    kind, settings = next(iter(raw.items()))
    return settle(kind, {} if settings is None else settings, (*place, kind), draft)


def settle(kind: str, settings: Any, place: Place, draft: Draft) -> TargetSpec | None:
    """A target of a kind with these settings, or None with everything wrong noted."""
    known = registry.names("targets")
    if kind not in known:
        draft.tell(f"unknown target {kind!r}{meant(kind, known) or '; there are: ' + listed(known)}", place)
        return None
    try:
        target = registry.find("targets", kind)
    except UserMistake as error:
        draft.tell(str(error), place)
        return None
    checked = draft.check_part(target.Settings, settings, place)
    _check_files(checked if checked is not None else settings, place, draft)
    return None if checked is None else TargetSpec(kind, checked)


def _check_files(settings: Any, place: Place, draft: Draft) -> None:
    for at, name in _files(settings):
        try:
            inside(draft.folder, name)
        except ValueError as error:
            draft.tell(str(error), (*place, *at))


def _files(settings: Any) -> Iterator[tuple[Place, str]]:
    """Every `file:` in the settings, with its place."""
    if isinstance(settings, BaseModel):
        items: Any = [(name, getattr(settings, name)) for name in type(settings).model_fields]
    elif isinstance(settings, dict):
        items = settings.items()
    else:
        return
    for key, value in items:
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
        if file == draft.located.file:
            for mistake in error.mistakes:
                draft.tell(mistake.message, place)
        else:
            draft.mistakes.extend(error.mistakes)
    return text


def _is_text_file(form: Any) -> bool:
    return isinstance(form, type) and issubclass(form, BaseModel) and set(form.model_fields) == {"file"}
