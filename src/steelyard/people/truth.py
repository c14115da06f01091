"""Edits of the truth, each with a reason and an author: the files of cases are changed, and the ledger says why."""

from __future__ import annotations

import os
import tempfile
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError, UsageError
from steelyard.suite.build.draft import Draft
from steelyard.suite.case import (
    MISSING,
    Case,
    CaseSource,
    bare_truth,
    canonical,
    compile_path,
    digest,
    leaves,
    path_step,
    put,
    split_path,
)
from steelyard.suite.case_files import EDITABLE, Spot, appended, as_cell, cannot_edit, new_file, replaced
from steelyard.suite.cases import CaseFile, FileCases, ListCases, survey_cases
from steelyard.suite.files import write_bytes
from steelyard.suite.load import find_suite, load_suite
from steelyard.suite.models import SuiteModel
from steelyard.suite.readers import Record, cell_value, refuse
from steelyard.suite.redaction import written_cases
from steelyard.suite.truth import TRUTH, Decision, LedgerLine, append_lines, ledger_line, wait_for_others
from steelyard.suite.yaml import Located, meant

_EXPECTED = "expected"
_truth = compile_path(_EXPECTED)


@dataclass(frozen=True, slots=True)
class Author:
    """Who edits, and why."""

    by: str
    reason: str


def edit_case(
    place: str,
    case_id: str,
    values: dict[str, Any],
    author: Author,
    *,
    removed: Sequence[str] = (),
    decision: Decision | None = None,
    state: str = "",
) -> LedgerLine:
    """Set values in the truth of a case by path, such as `expected.maker`, and take away those at other paths.

    UsageError or SuiteError, and nothing is changed, when that cannot be done or would break the suite, or when the
    truth is not any more the one whose digest is `state`.
    """
    if not values and not removed:
        raise UsageError(f"nothing was edited: say what, such as --set {_EXPECTED}.maker=Thonet")
    if wrong := [path for path in (*values, *removed) if split_path(path)[:1] != (_EXPECTED,)]:
        raise UsageError(f"{wrong[0]} is no part of the truth: name a path such as expected.name")
    with _alone(place) as desk:
        record, spot, file = desk.find(case_id)
        if state and state != digest(_case(desk.suite.cases, case_id).expected):
            raise UsageError(f"the truth of {case_id} was edited meanwhile: look again")
        new = dict(record.data)
        for path, value in (values | dict.fromkeys(removed, MISSING)).items():
            new = put(new, split_path(path), value)
        if spot.suffix == ".csv":
            new = _as_cells(new)
        if not (change := dict(_changes(_truth(record.data), _truth(new), _EXPECTED))):
            raise UsageError(f"nothing was edited: the truth of {case_id} is so already")
        text = replaced(_text(file), spot, record.data, new)
        return desk.write(file, text, case_id, new, author, change=change, suggestion=decision)


def add_case(place: str, record: Mapping[str, Any], author: Author, *, file: str | None = None) -> LedgerLine:
    """Put a case, in the shape that the suite's files have, behind the others of a file: the last unless it is named.

    A suite with a file for each case gets another file.
    """
    case_id = str(record.get("id") or "")
    if not case_id:
        raise UsageError("the case has no id")
    with _alone(place) as desk:
        into, new = desk.file_for(case_id, file), dict(record)
        suffix = _suffix(into)
        if desk.source.one_each:
            new.pop("id")
            text = new_file(suffix, new)
        else:
            new = _as_cells(new) if suffix == ".csv" else new
            text = appended(_text(into), suffix, desk.source.at, new)
        return desk.write(into, text, case_id, new, author, change={"": {"after": new}})


def retire_case(place: str, case_id: str, author: Author) -> LedgerLine:
    """Take a case out of its file; the ledger keeps it."""
    with _alone(place) as desk:
        record, spot, file = desk.find(case_id)
        text = None if desk.source.one_each else replaced(_text(file), spot, record.data, None)
        data = record.data if record.key is None else {"id": case_id, **record.data}
        return desk.write(file, text, case_id, None, author, change={"": {"before": data}})


def revert_line(place: str, number: int, author: Author) -> LedgerLine:
    """Undo what a line of the ledger (1 is the first) has changed, with a line of its own."""
    suite = load_suite(place)
    line = _numbered(suite, number)
    if line.change is None or line.case is None:
        why = "it rejected a suggestion" if line.suggestion else "it does not keep what was edited"
        raise UsageError(f"line {number} cannot be reverted: {why}")
    if (whole := line.change.get("")) is not None:
        if "after" in whole:
            return retire_case(place, line.case, author)
        return add_case(place, whole["before"], author, file=line.file)
    case = _case(written_cases(suite.cases), line.case)
    for path, change in line.change.items():
        if not _equal(compile_path(path)(case), change.get("after", MISSING)):
            where = f"{path} of {line.case} was edited since; see `steelyard truth log`"
            raise UsageError(f"line {number} cannot be reverted: {where}")
    values = {path: change["before"] for path, change in line.change.items() if "before" in change}
    return edit_case(place, line.case, values, author, removed=[path for path in line.change if path not in values])


# What changed, and who is behind each value.


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of a case's truth that is another than it was; MISSING where there was or is none."""

    case: str
    path: str
    before: Any
    after: Any

    def as_data(self) -> dict[str, Any]:
        """The difference as plain data; a side where there is nothing is left out."""
        sides = {"before": self.before, "after": self.after}
        return {"case": self.case, "path": self.path} | {k: v for k, v in sides.items() if v is not MISSING}


def _steps(
    suite: SuiteModel, only: str | None, first: int = 0, last: int | None = None
) -> Iterator[tuple[int, Difference]]:
    """What each line changed, value by value, with the number of the line."""
    for number, line in enumerate(suite.ledger[first:last], first + 1):
        case = line.case or ""
        for path, change in (line.change or {}).items() if only in (None, case) else ():
            before, after = (change.get(side, MISSING) for side in ("before", "after"))
            if path:
                yield number, Difference(case, path, before, after)
                continue
            old, new = (dict(leaves(_truth(record), _EXPECTED)) for record in (before, after))
            for inner in dict.fromkeys([*old, *new]):
                yield number, Difference(case, inner, old.get(inner, MISSING), new.get(inner, MISSING))


def changes_between(suite: SuiteModel, first: int, last: int, case: str | None = None) -> list[Difference]:
    """What the lines after the first up to the last changed, each value once."""
    for number in (first or 1, last):
        _numbered(suite, number)
    by_key: dict[tuple[str, str], Difference] = {}
    for _, step in _steps(suite, case, first, last):
        earlier = by_key.get((step.case, step.path), step)
        by_key[step.case, step.path] = replace(step, before=earlier.before)
    return [item for item in by_key.values() if not _equal(item.before, item.after)]


def changes_since_ledger(suite: SuiteModel, case: str | None = None) -> list[Difference]:
    """What is another than the newest line of each case says: edits by hand, or a command that was killed half-way.

    Of a line that keeps digests alone no more is known than that something changed: the path is `expected`.
    """
    lines = {line.case: line for line in suite.ledger if line.what == TRUTH and case in (None, line.case)}
    states = {item.id: digest(item.expected) for item in suite.cases if item.id in lines}
    now = {item.id: item for item in written_cases(suite.cases) if item.id in lines}
    results = []
    for name, line in lines.items():
        if states.get(str(name)) != line.after:
            by_key = {step.path: step.after for _, step in _steps(suite, name)}
            present = now.get(str(name))
            moved = [Difference(str(name), path, was, compile_path(path)(present)) for path, was in by_key.items()]
            unknown = Difference(str(name), _EXPECTED, MISSING, MISSING if present is None else present.expected)
            results += [item for item in moved if not _equal(item.before, item.after)] or [unknown]
    return results


@dataclass(frozen=True, slots=True)
class Blame:
    """A value of a case's truth, with the line of the ledger that set it and its number."""

    path: str
    value: Any
    number: int | None = None
    line: LedgerLine | None = None
    """None where the ledger does not say who set it."""


def blame(suite: SuiteModel, case_id: str) -> list[Blame]:
    """Who set each value of a case's truth, and why."""
    state, set_by = digest(_case(suite.cases, case_id).expected), dict[str, tuple[int, Any]]()
    by_hand = None
    for number, step in _steps(suite, case_id):
        set_by[step.path] = number, step.after
    for number, line in enumerate(suite.ledger, 1):
        if (line.case, line.what, line.change, line.after) == (case_id, TRUTH, None, state):
            by_hand = number  # may have set any of the values
    results = []
    for path, value in leaves(_case(written_cases(suite.cases), case_id).expected, _EXPECTED):
        last, after = set_by.get(path, (None, MISSING))
        setter = last if _equal(after, value) else by_hand
        results.append(Blame(path, value, setter, None if setter is None else suite.ledger[setter - 1]))
    return results


# The file and the ledger, changed together or not at all.


@contextmanager
def _alone(place: str) -> Iterator[_Desk]:
    """The suite as it is now, edited by nobody else meanwhile where the system knows such a thing."""
    with ExitStack() as stack:
        with suppress(OSError):  # Windows
            descriptor = os.open(load_suite(place).folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            wait_for_others(descriptor)
        suite, installed = load_suite(place), find_suite(place)
        if installed is not None and suite.folder.resolve() == installed.parent.resolve():
            raise UsageError(
                f"{place} is an installed suite, and an update would undo the edit: copy the folder {installed.parent},"
                " and edit the copy"
            )
        yield _Desk(suite)


class _Desk:
    """A suite whose files are edited."""

    def __init__(self, suite: SuiteModel) -> None:
        self.suite = suite
        cases = written_cases(suite.cases)
        if isinstance(cases, ListCases) and cases.located is not None:
            # Cases in the suite file stand in a file as all others do.
            file = CaseFile(suite.folder / cases.located.file, cases.located.file)
            cases = FileCases(suite.folder, (file,), at="cases", mapping=cases.mapping)
        if not isinstance(cases, FileCases):
            raise cannot_edit(f"the cases of {suite.name} are given in Python")
        self.source = cases

    def find(self, case_id: str) -> tuple[Record, Spot, CaseFile]:
        """The record of a case and where it stands."""
        _case(self.source, case_id)
        places = Counter[str]()
        for record, case in self.source.walk(refuse):
            if case is not None and case.id == case_id:
                break
            places[record.file] += 1
        file = next(file for file in self.source.files if file.name == record.file)
        steps: list[str | int] = [] if self.source.one_each else [*split_path(self.source.at), places[record.file]]
        return record, Spot(_suffix(file), record.line, tuple(steps)), file

    def file_for(self, case_id: str, name: str | None) -> CaseFile:
        """The file that another case goes into."""
        files, last = {file.name: file for file in self.source.files}, self.source.files[-1]
        if self.source.one_each:
            path = last.path.parent / f"{case_id}{last.path.suffix}"
            if Path(case_id).name != case_id or path.exists():
                raise UsageError(f"{case_id!r} cannot be the name of a new file")
            return CaseFile(path, str(Path(last.name).with_name(path.name)))
        if name is not None and name not in files:
            raise UsageError(f"{name} is no file of cases of {self.suite.name}{meant(name, files)}")
        return last if name is None else files[name]

    def write(
        self, file: CaseFile, text: str | None, case_id: str, new: Any, author: Author, **content: Any
    ) -> LedgerLine:
        """Replace a file by another text, or take it away, and say why in the ledger; both or neither."""
        old = file.path.read_bytes() if file.path.exists() else None
        mark = BOM_UTF8 if old and old.startswith(BOM_UTF8) else b""
        data = None if text is None else mark + text.encode()
        before, after = self._checked(file, data, case_id, new)
        edit = {"what": TRUTH, "case": case_id, "before": before, "after": after, "file": file.name} | content
        line = ledger_line(by=author.by, reason=author.reason, **edit)
        _replace(file.path, data)
        try:
            append_lines(self.suite.folder, [line])
        except SteelyardError:
            _replace(file.path, old)
            raise
        return line

    def _checked(self, file: CaseFile, data: bytes | None, case_id: str, new: Any) -> tuple[str | None, str | None]:
        """The digests of the truth before and after; SuiteError or UsageError when more or less changes than should."""
        with tempfile.TemporaryDirectory() as folder:
            # Under the same name, which is the id of a case that is a whole file.
            copy = CaseFile(Path(folder, file.path.name), file.name)
            copy.path.write_bytes(data or b"")
            others = [item for item in self.source.files if item.name != file.name]
            source = replace(self.source, files=(*others, *([] if data is None else [copy])))
            draft = Draft(Located(None, ""), self.suite.folder)
            survey_cases(source, self.suite.components, draft, self.suite.judge, self.suite.redactor)
            draft.finish()
            read = {case.id: (record.data, case) for record, case in source.walk(refuse) if case is not None}
        data_now, _ = read.get(case_id, (None, None))
        now, then = {name: case for name, (_, case) in read.items()}, {case.id: case for case in self.source}
        changed = {name for name in {*now, *then} - {case_id} if now.get(name) != then.get(name)}
        if changed or canonical(_bare(data_now)) != canonical(_bare(new)):
            raise cannot_edit(f"{file.name} would not be read as it should after the edit")
        redact = self.suite.redactor.case if self.suite.redactor else lambda case: case
        before, after = (digest(redact(cases[case_id]).expected) if case_id in cases else None for cases in (then, now))
        if before == after:
            raise cannot_edit(f"the suite does not read the truth of {case_id} from there (cases: map)")
        return before, after


def _suffix(file: CaseFile) -> str:
    if file.copy is not None:
        raise cannot_edit(f"{file.name} is an address: edit the file there")
    if (suffix := file.path.suffix.lower()) not in EDITABLE:
        raise cannot_edit(f"{file.name} cannot be edited as text")
    return suffix


def _text(file: CaseFile) -> str:
    """The text of a file, line ends as they are and without a byte-order mark."""
    return file.path.read_bytes().decode("utf-8-sig")


def _replace(path: Path, data: bytes | None) -> None:
    if data is not None:
        write_bytes(path, data)
        return
    try:
        path.unlink()
    except OSError as error:
        raise UsageError(f"{path} cannot be taken away: {error.strerror}") from None


# Values in plain data.


def _bare(record: Any) -> Any:
    """A record without what it does not hold, and without its id, which may be the key that it stands under."""
    return bare_truth({key: value for key, value in (record or {}).items() if key != "id" and value != []})


def _as_cells(data: Any, steps: tuple[str, ...] = ()) -> Any:
    """What a row of a table gives for these values."""
    if isinstance(data, dict):
        return {key: _as_cells(value, (*steps, key)) for key, value in data.items()}
    return cell_value(steps, as_cell(data))


def _changes(old: Any, new: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _changes(old.get(key, MISSING), new.get(key, MISSING), f"{path}.{path_step(key)}")
    elif not _equal(old, new):
        yield path, {side: value for side, value in (("before", old), ("after", new)) if value is not MISSING}


def _equal(value: Any, other: Any) -> bool:
    if value is MISSING or other is MISSING:
        return value is other
    return canonical(value) == canonical(other)


def _case(cases: CaseSource, case_id: str) -> Case:
    by_key = {case.id: case for case in cases}
    if case_id not in by_key:
        raise UsageError(f"there is no case {case_id!r}{meant(case_id, by_key)}")
    return by_key[case_id]


def _numbered(suite: SuiteModel, number: int) -> LedgerLine:
    if not 1 <= number <= len(suite.ledger):
        raise UsageError(f"the ledger has no line {number}: it has {len(suite.ledger)}; see `steelyard truth log`")
    line: LedgerLine = suite.ledger[number - 1]
    return line
