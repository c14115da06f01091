"""Finds and reads a suite: a file, a folder, a Python file, or the name of one that is built in or installed."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from steelyard import plugins
from steelyard.errors import Problem, SteelyardError, SuiteError, UsageError
from steelyard.frozen import frozen
from steelyard.loading.chosen_judge import chosen_members
from steelyard.loading.suite import SURVEYED, build_suite
from steelyard.loading.target import checked_name, prompts_of, settle
from steelyard.records import RunHeader
from steelyard.redact import redacted_output
from steelyard.suite.addresses import is_address
from steelyard.suite.case import CaseSurvey
from steelyard.suite.cases import FileCases, ListCases, build_source, pending_cases, survey_cases
from steelyard.suite.draft import Draft
from steelyard.suite.edits import finish_interrupted_edit
from steelyard.suite.files import allowed, text_of
from steelyard.suite.models import SuiteModel, TargetSpec
from steelyard.suite.yaml import Located, listed, meant, read_yaml
from steelyard.suite_code import PLACE, own_source
from steelyard.user_code import raised_in_words

if TYPE_CHECKING:
    from steelyard.loading.alerts import AlertSettings

GROUP = "steelyard.suites"
SUITE_FILE = "suite.yaml"


@frozen
class SuiteListing:
    """One suite as a list shows it; `problem` says why it could not be read."""

    name: str
    about: str = ""
    n_cases: int | None = None
    path: str = ""
    problem: str = ""


def holds_suite(place: str | Path) -> bool:
    """True where a suite can be read: at a file, or in a folder with a suite file."""
    path = Path(place)
    return (path / SUITE_FILE).exists() if path.is_dir() else path.exists()


def find_suite(name: str) -> Path | None:
    """Where the suite of that name is, or None."""
    return _places().get(name)


def suite_names() -> list[str]:
    """The names of all suites, sorted."""
    return sorted(_places())


def list_suites() -> list[SuiteListing]:
    """Every suite by name, with how many cases it has; cases are counted, not checked."""
    return [_listing(name, path) for name, path in sorted(_places().items())]


def _places() -> dict[str, Path]:
    from importlib.metadata import entry_points  # takes long to import

    built_in = Path(__file__).parent.parent / "suites"
    places = {path.parent.name: path for path in sorted(built_in.glob(f"*/{SUITE_FILE}"))}
    for point in entry_points(group=GROUP):
        module, _, inner = point.value.partition(":")
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            continue
        folders = list(spec.submodule_search_locations or []) if spec else []
        if folders:
            places.setdefault(point.name, Path(folders[0]) / (inner.replace(".", "/") if inner else "") / SUITE_FILE)
        elif spec is not None and spec.origin:
            places.setdefault(point.name, Path(spec.origin))
    return places


def _listing(name: str, path: Path) -> SuiteListing:
    if path.suffix == ".py":
        return SuiteListing(name, path=str(path))
    try:
        located = read_yaml(text_of(path, str(path)), path.name)
        raw = located.data if isinstance(located.data, dict) else {}
        source = build_source(raw.get("cases"), Draft(located, path.parent.resolve()))
        n = None if source is None else _count(source)
    except (SteelyardError, ValueError) as error:
        return SuiteListing(name, path=str(path), problem=str(error).splitlines()[0])
    return SuiteListing(name, str(raw.get("about") or ""), n, str(path))


def _count(source: FileCases | ListCases) -> int:
    if isinstance(source, ListCases):
        return len(source.records)
    return sum(1 for file in source.files for _ in source.records_of(file, lambda _: None))


def suite_in(path: Path) -> SuiteModel:
    """The suite that a Python file holds under the name `suite`; UsageError when there is none."""
    module = _execute(path)
    suite = getattr(module, "suite", None)
    # A steelyard.Suite carries its model; this room does not know that class.
    model = getattr(suite, "model", suite)
    if not isinstance(model, SuiteModel):
        raise UsageError(f"{path} defines no suite: write suite = steelyard.Suite(...) at its top level")
    return model


def _execute(path: Path) -> ModuleType:
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_suite"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    home = str(path.parent.resolve())
    # Classes in the file are looked up by their module's name, and its imports start in its own folder.
    sys.modules[name] = module
    sys.path.insert(0, home)
    try:
        with own_source(path.parent):
            spec.loader.exec_module(module)
    except (SteelyardError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UsageError(f"{path} failed when it was read: {raised_in_words(error)}") from error
    finally:
        if home in sys.path:
            sys.path.remove(home)
    return module


PROJECT_FILE = "steelyard.yaml"


class ProjectPart(BaseModel):
    """What a project says for all its suites."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    alerts: Any = Field(default=None, description="Alert rules and channels of suites that declare none.")


def project_alerts(folder: Path) -> AlertSettings | None:
    """What the project file of a folder says of alerts; None without one, SuiteError with every mistake in it."""
    path = folder / PROJECT_FILE
    if not path.is_file():
        return None
    from steelyard.loading.alerts import build_alerts

    draft = Draft(read_yaml(text_of(path, PROJECT_FILE), PROJECT_FILE), folder)
    draft.problems.extend(draft.located.problems)
    data = draft.located.data or {}
    draft.check(ProjectPart, data)
    # Whatever else is wrong: all mistakes are told at once.
    result = build_alerts(data.get("alerts"), draft) if isinstance(data, Mapping) else None
    draft.finish()
    return result


def alerts_of(suite: SuiteModel, folder: Path) -> AlertSettings | None:
    """The alert rules and channels of a suite over those of a folder's project file; None without any rule."""
    project = project_alerts(folder)
    settings: AlertSettings | None = project if suite.alerts is None else suite.alerts.over(project)
    return settings if settings is not None and settings.rules else None


_MOST_JUDGINGS = 100


@redacted_output()
def load_suite(place: str | Path, cases: str | Path | None = None) -> SuiteModel:
    """The suite at a path or of a name; SuiteError with every mistake in it and its cases.

    `cases` is a folder, file or address to read instead of the suite's own, in the same shape.
    """
    if not isinstance(place, str | Path):
        found = f"{place!r:.60} ({type(place).__name__})"
        raise UsageError(f"load_suite takes the path or the name of a suite; found {found}")
    path = Path(place)
    name = None
    if not holds_suite(path):
        # A folder of the same name that is no suite, such as one of results, does not hide a built-in one.
        suite = find_suite(str(place))
        if suite is None and path.is_dir():
            raise UsageError(f"{path} holds no {SUITE_FILE}: `steelyard init` writes one")
        if suite is None:
            hint = meant(str(place), suite_names()) or ": see `steelyard suites`"
            raise UsageError(f"there is no suite at {place}, and none of that name{hint}")
        name, path = str(place), suite
    if path.is_dir():
        path = path / SUITE_FILE
    finish_interrupted_edit(path.parent)
    if path.suffix == ".py":
        if cases is not None:
            raise UsageError(f"{path} is a suite in Python, which names its cases itself")
        return suite_in(path)
    return _load_yaml(path, name or str(path.resolve()), None if cases is None else str(cases))


def load_without_cases(place: str, survey: CaseSurvey) -> SuiteModel:
    """The suite as `load_suite` gives it, for another process that scores its answers: its cases, of which `survey`
    tells, are not read."""
    surveyed = SURVEYED.set(survey)
    try:
        return load_suite(place)
    finally:
        SURVEYED.reset(surveyed)


def _load_yaml(path: Path, found_as: str, cases: str | None) -> SuiteModel:
    """The suite in the file; `found_as` finds it again, from wherever."""
    name = path.name
    if not path.is_file():
        raise UsageError(f"{path} is not a regular file")
    try:
        located = read_yaml(text_of(path, name), name)
    except SuiteError:
        raise
    except ValueError as error:
        raise SuiteError([Problem(str(error))]) from None
    other = ""
    if cases is not None and isinstance(located.data, dict):
        declared = located.data.get("cases")
        other = "" if _is_declared(declared, cases, path.parent) else cases
        located.data["cases"] = _other_cases(declared, cases)
    draft = Draft(located, path.parent.resolve(), free_paths=cases is not None)
    suite = build_suite(draft, found_as)
    return suite.changed(other_cases=other)


def _is_declared(declared: Any, cases: str, folder: Path) -> bool:
    """Whether the suite itself names this folder or file as that of its cases."""
    own = declared.get("folder") or declared.get("files") if isinstance(declared, dict) else declared
    same_place = own == cases if is_address(cases) else (folder / str(own)).resolve() == Path(cases).resolve()
    return isinstance(own, str) and same_place


def _other_cases(declared: Any, cases: str) -> dict[str, Any]:
    """The suite's `cases` with another folder or file, read as its own are."""
    same, place = declared if isinstance(declared, dict) else {}, Path(cases)
    if is_address(cases):
        return {"files": cases} | {key: same[key] for key in ("map", "at") if key in same}
    if not place.exists():
        raise UsageError(f"there are no cases at {place}: name a folder with a file a case, or a file")
    retained = ("map", "glob") if place.is_dir() else ("map", "at")
    named = {"folder" if place.is_dir() else "files": str(place.resolve())}
    return named | {key: same[key] for key in retained if key in same}


PENDING_SUFFIX = "-pending"
"""What the name of a run of pending cases ends with."""


def pending_suite(suite: SuiteModel) -> SuiteModel:
    """The cases of a suite whose truth is pending, to be asked and shown to people; nothing is scored or gated.

    It has a name of its own, so that no figure of the suite is ever mixed with it.
    """
    cases = [replace(case, pending=False) for case in pending_cases(suite)]
    if not cases:
        raise UsageError(f"no case of {suite.name} is pending: write pending: true in cases whose truth is to be found")
    draft = Draft(Located(None, ""), suite.folder)
    survey = survey_cases(ListCases(suite.folder, cases), (), draft)
    nothing: dict[str, Any] = dict.fromkeys(("components", "gates", "criteria", "metrics", "bands", "slices"), ())
    nothing |= dict.fromkeys(("expect", "judge", "passing", "confidence", "stability", "alerts"))
    return suite.changed(
        name=f"{suite.name}{PENDING_SUFFIX}",
        pending_of=suite.name,
        cases=tuple(cases),
        survey=survey,
        limits=suite.limits.model_copy(update={"max_inconclusive": 1.0}),
        **nothing,
    )


def with_target(
    suite: SuiteModel, name_or_kind: str | None, settings: dict[str, Any], allow: tuple[Path, ...] = ()
) -> SuiteModel:
    """The suite with another target: one it names, or any kind; `settings` go over what it declares.

    None keeps the target. A kind takes over the settings of the first declared target of that kind. `allow` are files
    outside the suite's folder that it may read besides those that the suite allows.
    """
    if name_or_kind is None and not settings:
        return suite
    kind, declared = _chosen(suite, name_or_kind)
    name = declared.name if declared is not None else ""
    draft = Draft(Located(None, ""), suite.folder, allow=(*allowed(suite.folder, suite.allow), *allow))
    if "name" in settings and "name" not in plugins.find("targets", kind).Settings.model_fields:
        name = checked_name(settings["name"], (), draft)
        settings = {key: value for key, value in settings.items() if key != "name"}
    spec: TargetSpec | None = settle(kind, _overlaid(declared, settings), (), draft)
    prompts = prompts_of(spec, (), draft)
    if draft.problems or spec is None:
        raise SuiteError([Problem(f"target {kind}: {problem.message}") for problem in draft.problems])
    retained = {name: text for name, text in suite.prompts.items() if name.startswith("variant ")}
    return suite.changed(target=replace(spec, name=name), prompts=prompts | retained)


def with_answers(suite: SuiteModel, file: str) -> SuiteModel:
    """The suite with the recorded answers of a file, wherever that is; nothing is asked.

    Where the suite declares recorded answers, the records have the names that it says.
    """
    if is_address(file):
        return with_target(suite, "recorded", {"file": file})
    path = Path(file).resolve()
    if not path.is_file():
        raise UsageError(f"--answers {file}: there is no such file")
    return with_target(suite, "recorded", {"file": str(path)}, allow=(path,))


def _chosen(suite: SuiteModel, name: str | None) -> tuple[str, TargetSpec | None]:
    if name is None:
        return suite.target.kind, suite.target
    if name in suite.targets:
        return suite.targets[name].kind, suite.targets[name]
    for spec in (suite.target, *suite.targets.values()):
        if spec.kind == name:
            return name, spec
    if not plugins.is_known("targets", name):
        available = [*suite.targets, *plugins.names("targets")]
        own = f"; the suite's own: {listed(list(suite.targets))}" if suite.targets else ""
        kinds = f"; kinds: {listed(plugins.names('targets'))}"
        raise UsageError(f"there is no target {name!r}{meant(name, available) or own + kinds}")
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
    """The suite judged by another: one of its judges by name, or the model at a URL; UsageError when there is none.

    `token` names the environment variable that holds the key. None keeps what the suite says.
    """
    settings = {"model": model, "token": token, "temperature": temperature}
    given = {name: value for name, value in settings.items() if value is not None}
    if name_or_url is None and not given and repeats is None:
        return suite
    judge = suite.judge
    if judge is None:
        raise UsageError(f"the suite {suite.name} has no judge")
    if repeats is not None:
        if not 1 <= repeats <= _MOST_JUDGINGS:
            raise UsageError(f"a text is judged 1 to {_MOST_JUDGINGS} times; found {repeats}")
        judge = judge.model_copy(update={"repeats": repeats})
    if name_or_url is not None or given:
        members = chosen_members(suite, judge, name_or_url, given)
        judge = judge.judged_by(members)
    return suite.changed(judge=judge)


def as_imported(suite: SuiteModel) -> SuiteModel:
    """The suite as it scores what another tool recorded: that need not fit the schema, and without a truth to score it
    by a component is skipped."""
    components = tuple(
        component.model_copy(update={"when_unknown": component.when_unknown or "skip"})
        if component.kind == "component"
        else component
        for component in suite.components
    )
    return suite.changed(answer=suite.answer.model_copy(update={"json_schema": None}), components=components)


def strict(suite: SuiteModel) -> SuiteModel:
    """The suite with the strict rule of every scorer that has one."""
    components = tuple(
        component.scored_by(component.scorer.model_copy(update={"strict": True}))
        if getattr(component.scorer, "has_strict", False)
        else component
        for component in suite.components
    )
    return suite.changed(components=components)


_DEEPEST = 3
"""Folders below the current one that are looked into."""
_SKIPPED = ("node_modules", "site-packages", "__pycache__")
_CORE = Path(__file__).parent.parent


def suite_of_run(header: RunHeader, place: str | SuiteModel | None = None) -> SuiteModel:
    """The suite at `place`, which a person named, the one that is given, or the one of the run's suite name.

    That is a built-in or installed one, or a suite file in the current folder or up to three folders below; of several
    it is the one that the run was made with. Code that comes with it is announced before it runs. UsageError when there
    is none, or when it is not known which of several.
    """
    if place is not None:
        return load_suite(place) if isinstance(place, str) else place
    name = header.description.pending_of or header.suite_name
    suite = find_suite(name)
    places = {path.resolve(): path for path in ([suite] if suite else [])}
    for path in _suite_files(Path()):
        if _raw(path, name).get("suite") == name:
            places.setdefault(path.resolve(), path)
    made_with = Path(header.suite_path).resolve() if header.suite_path else None
    if made_with in places:
        # A copy has the name of what it was copied from.
        places = {made_with: places[made_with]}
    if len(places) > 1:
        several = listed([str(path) for path in places.values()])
        raise UsageError(f"run {header.id} was made with suite {name}, and there are several: {several}; {_hint()}")
    if not places:
        made = f"run {header.id} was made with suite {name} from {header.suite_path}"
        raise UsageError(f"{made}: {_hint(header.suite_path)}")
    path = next(iter(places.values()))
    _announce_code(path, name)
    return load_suite(name if path is suite else path)


def _hint(path: str = "PATH") -> str:
    return f"name it with --suite {path}"


def _suite_files(folder: Path) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        here = Path(where)
        if SUITE_FILE in files:
            yield here / SUITE_FILE
        deeper = [] if len(here.parts) >= _DEEPEST else sorted(folders)
        folders[:] = [
            item
            for item in deeper
            if not (item.startswith(".") or item in _SKIPPED or (here / item / "pyvenv.cfg").exists())
        ]


def _raw(path: Path, name: str) -> dict[str, Any]:
    """What stands in a suite file that may have this name, read as data; nothing of one that cannot be read."""
    try:
        text = text_of(path, str(path)) if path.is_file() else ""
        data = read_yaml(text, path.name).data if name in text else None
    except (SuiteError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


@cache
def _announce_code(path: Path, name: str) -> None:
    """Say, once a process, that a suite which nobody named brings code along that is not Steelyard's."""
    if path.resolve().is_relative_to(_CORE):
        return
    code = ["a suite in Python"] if path.suffix == ".py" else sorted(set(_code_places(_raw(path, name))))
    if code:
        print(f"steelyard: suite {name} was found at {path} and runs its code: {listed(code)}", file=sys.stderr)  # noqa: T201


def _code_places(data: Any) -> Iterator[str]:
    """All functions and classes that the data names, as `module:name`."""
    if isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            yield from _code_places(item)
    elif isinstance(data, str) and PLACE.match(data):
        yield data
