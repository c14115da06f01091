"""Finds and reads a suite: a file, a folder, a Python file, or the name of one that is built in or installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard import registry
from steelyard.errors import Mistake, SuiteError, UserMistake
from steelyard.suite.build import build_suite
from steelyard.suite.chosen_judge import chosen_members
from steelyard.suite.declared_targets import prompts_of, settle
from steelyard.suite.discover import SUITE_FILE, find_suite, holds_suite, suite_names
from steelyard.suite.draft import Draft
from steelyard.suite.inside import text_of
from steelyard.suite.located import Located, read_yaml
from steelyard.suite.model import SuiteModel, TargetSpec
from steelyard.suite.spelling import listed, meant

_MOST_JUDGINGS = 100


def load_suite(place: str | Path, cases: str | Path | None = None) -> SuiteModel:
    """The suite at a path or of a name; SuiteError with every mistake in it and its cases.

    `cases` is a folder or file to read instead of the suite's own, in the same shape.
    """
    path = Path(place)
    name = None
    if not holds_suite(path):
        # A folder of the same name that is no suite, such as one of results, does not hide a built-in one.
        known = find_suite(str(place))
        if known is None and path.is_dir():
            raise UserMistake(f"{path} holds no {SUITE_FILE}: `steelyard init` writes one")
        if known is None:
            hint = meant(str(place), suite_names()) or ": see `steelyard suites`"
            raise UserMistake(f"there is no suite at {place}, and none of that name{hint}")
        name, path = str(place), known
    if path.is_dir():
        path = path / SUITE_FILE
    if path.suffix == ".py":
        if cases is not None:
            raise UserMistake(f"{path} is a suite in Python, which names its cases itself")
        return _load_python(path)
    return _load_yaml(path, name or str(path.resolve()), None if cases is None else Path(cases))


def _load_yaml(path: Path, found_as: str, cases: Path | None) -> SuiteModel:
    """The suite in the file; `found_as` finds it again, from wherever."""
    name = path.name
    if not path.is_file():
        raise UserMistake(f"{path} is not a regular file")
    try:
        located = read_yaml(text_of(path, name), name)
    except SuiteError:
        raise
    except ValueError as error:
        raise SuiteError([Mistake(str(error))]) from None
    if cases is not None and isinstance(located.data, dict):
        located.data["cases"] = _other_cases(located.data.get("cases"), cases)
    return build_suite(Draft(located, path.parent.resolve(), free_paths=cases is not None), found_as)


def _other_cases(declared: Any, place: Path) -> dict[str, Any]:
    """The suite's `cases` with another folder or file, read as its own are."""
    if not place.exists():
        raise UserMistake(f"there are no cases at {place}: name a folder with a file a case, or a file")
    same = declared if isinstance(declared, dict) else {}
    kept = ("map", "glob") if place.is_dir() else ("map", "at")
    named = {"folder" if place.is_dir() else "files": str(place.resolve())}
    return named | {key: same[key] for key in kept if key in same}


def _load_python(path: Path) -> SuiteModel:
    from steelyard.suite.python_file import suite_in

    return suite_in(path)


def with_target(suite: SuiteModel, name_or_kind: str | None, settings: dict[str, Any]) -> SuiteModel:
    """The suite with another target: one it names, or any kind; `settings` go over what it declares.

    None keeps the target. A kind takes over the settings of the first declared target of that kind.
    """
    if name_or_kind is None and not settings:
        return suite
    kind, declared = _chosen(suite, name_or_kind)
    draft = Draft(Located(None, ""), suite.folder)
    spec: TargetSpec | None = settle(kind, _overlaid(declared, settings), (), draft)
    prompts = prompts_of(spec, (), draft)
    if draft.mistakes or spec is None:
        raise SuiteError([Mistake(f"target {kind}: {mistake.message}") for mistake in draft.mistakes])
    kept = {name: text for name, text in suite.prompts.items() if name.startswith("variant ")}
    return replace(suite, target=spec, prompts=prompts | kept)


def _chosen(suite: SuiteModel, name: str | None) -> tuple[str, TargetSpec | None]:
    if name is None:
        return suite.target.kind, suite.target
    if name in suite.targets:
        return suite.targets[name].kind, suite.targets[name]
    for spec in (suite.target, *suite.targets.values()):
        if spec.kind == name:
            return name, spec
    if name not in registry.names("targets"):
        known = [*suite.targets, *registry.names("targets")]
        own = f"; the suite's own: {listed(list(suite.targets))}" if suite.targets else ""
        kinds = f"; kinds: {listed(registry.names('targets'))}"
        raise UserMistake(f"there is no target {name!r}{meant(name, known) or own + kinds}")
    return name, None


def _overlaid(declared: TargetSpec | None, settings: dict[str, Any]) -> dict[str, Any]:
    if declared is None:
        return settings
    given = {name: getattr(declared.settings, name) for name in declared.settings.model_fields_set}
    if settings.get("base_url") is not None:
        # Whoever says where the service is does not want another one started.
        given.pop("start", None)
    return given | settings


def with_judge(
    suite: SuiteModel,
    name_or_url: str | None,
    model: str | None,
    token: str | None,
    repeats: int | None,
    temperature: float | None = None,
) -> SuiteModel:
    """The suite judged by another: one of its judges by name, or the model at a URL; UserMistake when there is none.

    `token` names the environment variable that holds the key. None keeps what the suite says.
    """
    settings = {"model": model, "token": token, "temperature": temperature}
    given = {name: value for name, value in settings.items() if value is not None}
    if name_or_url is None and not given and repeats is None:
        return suite
    judge = suite.judge
    if judge is None:
        raise UserMistake(f"the suite {suite.name} has no judge: it only computes")
    if repeats is not None:
        if not 1 <= repeats <= _MOST_JUDGINGS:
            raise UserMistake(f"a text is judged 1 to {_MOST_JUDGINGS} times; found {repeats}")
        judge = replace(judge, repeats=repeats)
    if name_or_url is not None or given:
        judge = replace(judge, members=chosen_members(suite, judge, name_or_url, given))
    return replace(suite, judge=judge)


def as_imported(suite: SuiteModel) -> SuiteModel:
    """The suite as it scores what another tool recorded: that need not fit the schema, and without a truth to score it
    by a component is skipped."""
    components = tuple(replace(one, when_unknown=one.when_unknown or "skip") for one in suite.components)
    return replace(suite, answer=replace(suite.answer, schema=None), components=components)


def strict(suite: SuiteModel) -> SuiteModel:
    """The suite with the strict rule of every scorer that has one."""
    components = tuple(
        replace(component, scorer=component.scorer.model_copy(update={"strict": True}))
        if getattr(component.scorer, "has_strict", False)
        else component
        for component in suite.components
    )
    return replace(suite, components=components)
