"""A suite while it is being read: its folder, its text, its own code, and every mistake found so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from steelyard import plugins
from steelyard.errors import Problem, SuiteError, UsageError
from steelyard.frozen import slotted
from steelyard.suite.files import text_inside
from steelyard.suite.values import SuitePart
from steelyard.suite.yaml import Located, Place, dotted, explain, listed, result
from steelyard.suite_code import PLACE, find_callable

Checked = TypeVar("Checked", bound=BaseModel)
Written = TypeVar("Written", bound=SuitePart)


@slotted
class Draft:
    """Where builders report to; nothing is raised before everything has been looked at."""

    located: Located
    folder: Path
    problems: list[Problem] = field(default_factory=list)
    more: list[Problem] = field(default_factory=list)
    """What is told after all others: how many there were besides."""
    free_paths: bool = False
    """True for a suite written in Python, which may name case files anywhere."""
    allow: tuple[Path, ...] = ()
    """Places outside the folder whose cases and recorded answers the suite may read."""

    def add_problem(self, message: str, place: Place = ()) -> None:
        """Note a mistake at a place of the suite file."""
        self.problems.append(self.located.problem(message, place))

    @contextmanager
    def noting(self, place: Place = (), prefix: str = "") -> Iterator[None]:
        """Note what is refused inside with a sentence as a mistake at the place, and go on after the block."""
        try:
            yield
        except (ValueError, UsageError) as error:
            self.add_problem(f"{prefix}{error}", place)

    def registered(self, kind: str, name: str, place: Place, prefix: str = "") -> Any:
        """What is registered under the name, or None with the reason noted why it cannot be loaded."""
        with self.noting(place, prefix):
            return plugins.find(kind, name)
        return None

    def one_kind(self, raw: Any, what: str, kinds: Callable[[], Sequence[str]], place: Place, prefix: str = "") -> Any:
        """Kind and settings in `{kind: settings}` of a target or judge, or None with a note; a function is `python`."""
        if callable(raw):
            return "python", raw
        if isinstance(raw, dict) and len(raw) == 1:
            return next(iter(raw.items()))
        text = f"{len(raw)} kinds" if isinstance(raw, dict) else result(raw).removeprefix("found ")
        self.add_problem(f"{prefix}a {what} is one kind with its settings ({listed(kinds())}); found {text}", place)
        return None

    def note_template(self, error: SuiteError, file: str | None, place: Place) -> None:
        """Note what is wrong with a template: at its own line in a file of its own, else at its place in the suite."""
        for problem in error.problems:
            self.problems.append(problem if file is not None else self.located.problem(problem.message, place))

    def check(self, model: type[Checked], data: Any, place: Place = ()) -> Checked | None:
        """The data as the model, or None with every problem noted."""
        try:
            return model.from_file(data) if issubclass(model, SuitePart) else model.model_validate(data)
        except ValidationError as error:
            for problem in explain(error, data, model, place):
                self.add_problem(problem.message, problem.place)
        return None

    def check_keys(self, model: type[Written], data: dict[str, Any], place: Place = ()) -> tuple[Written, set[Any]]:
        """The data as the model without its keys that are wrong, and these keys, whose problems are noted."""
        checked = self.check(model, data, place)
        if checked is not None:
            return checked, set()
        try:
            model.from_file(data, whole=False)
        except ValidationError as error:
            wrong = {detail["loc"][0] for detail in error.errors(include_url=False) if detail["loc"]}
            return model.from_file({key: data[key] for key in data if key not in wrong}, whole=False), wrong
        return model.from_file(data, whole=False), set()

    def check_part(self, model: type[Checked], data: Any, place: Place) -> Checked | None:
        """As `check`, for the models of scorers and targets, whose own checks may raise anything."""
        try:
            return self.check(model, data, place)
        except Exception as error:  # noqa: BLE001 - a plug-in's mistake must not hide the user's others
            self.add_problem(f"{dotted(place)} cannot be checked: {type(error).__name__}: {error}", place)
            return None

    def text(self, name: Any, place: Place) -> str | None:
        """The text of a file of the suite, or None with the reason noted."""
        if not isinstance(name, str):
            self.add_problem("the name of a file is text", place)
            return None
        with self.noting(place):
            return text_inside(self.folder, name)
        return None

    def finish(self) -> None:
        """Raise all mistakes, in the order of the files, if there are any."""
        if self.problems:
            own = self.located.file
            ordered = sorted(dict.fromkeys(self.problems), key=lambda m: (m.file != own, m.file, m.line or 0))
            raise SuiteError([*ordered, *self.more])


def own_code(raw: Any, place: Place, draft: Draft, *, methods: tuple[str, ...] = ()) -> Any:
    """A function (or what has these methods), or its place, as given; None, and a note, when there is no such thing."""
    name = dotted(place)
    if raw is None:
        return None
    code = raw
    if isinstance(raw, str) and PLACE.match(raw):
        code = None
        with draft.noting(place):
            code = find_callable(raw, draft.folder, name)
        if code is None:
            return None
    elif isinstance(raw, str) or not (callable(raw) or methods):
        draft.add_problem(
            f"{name} is code of your own, written module:{'Name' if methods else 'function'}; {result(raw)}", place
        )
        return None
    lacks = [method for method in methods if not callable(getattr(code, method, None))]
    if lacks:
        draft.add_problem(
            f"{name}: {raw if isinstance(raw, str) else type(raw).__name__} has no {' and no '.join(lacks)}", place
        )
        return None
    return raw
