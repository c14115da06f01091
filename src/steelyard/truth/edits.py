"""Edits of the truth, each with a reason and an author: the files of cases are changed, and the ledger says why."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.load import find_suite, load_suite
from steelyard.scoring.structure import Fields
from steelyard.suite.case import Case, canonical, digest
from steelyard.suite.case_files import (
    EDITABLE,
    as_row,
    cannot_edit,
    with_record,
    with_whole_record,
    written_records,
)
from steelyard.suite.cases import CaseFile, FileCases, ListCases, every_case, survey_cases
from steelyard.suite.draft import Draft
from steelyard.suite.edits import alone_in, edit_folder, write_edit
from steelyard.suite.ledger import TRUTH, LedgerLine, SuggestionDecision, ledger_line
from steelyard.suite.models import SuiteModel
from steelyard.suite.paths import MISSING, compile_path, leaves, path_step, put, split_path
from steelyard.suite.readers import Record, decode, refuse
from steelyard.suite.redaction import written_cases
from steelyard.suite.truth import case_paths
from steelyard.suite.yaml import Located, listed, meant, meant_or_listed, shown

EXPECTED = "expected"
"""The key of a case that holds its truth."""
PENDING = "pending"
"""The key of a record whose truth is still to be found."""
_NO_TRUTH: tuple[Any, ...] = (MISSING, None, "", [])


@frozen
class Author:
    """Who edits, and why."""

    by: str
    reason: str


def assigned(text: str) -> tuple[str, Any]:
    """A path and a value out of `path=value`, JSON where it is any; UsageError when it is no such text."""
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise UsageError(f"{text!r} is no PATH=VALUE, such as expected.maker=Thonet")
    with suppress(ValueError):
        return path.strip(), decode(value)
    return path.strip(), value


class _EditedSince(UsageError):
    """What is to be changed is not what it was."""


def change_case(
    place: str,
    case_id: str,
    values: Mapping[str, Any],
    author: Author,
    *,
    now: Mapping[str, Any] | None = None,
    state: str = "",
    file: str | None = None,
    new_field: bool = False,
    decision: SuggestionDecision | None = None,
    of_case: Mapping[str, Any] | None = None,
    unchanged: Collection[str] | None = None,
) -> LedgerLine:
    """Put values at paths of a case, as in `{"expected.maker": "Thonet"}`; MISSING takes away what is there.

    The path "" is the whole record: that of a new case, or MISSING to retire one. The file of cases and the ledger
    change together. UsageError or SuiteError, and nothing changes, when that cannot be done or would break the suite,
    or when there is something else by now: `now` says what is there by path, `state` is the digest of the truth.
    `file` is where a new case goes; `new_field` allows fields that nothing else has. `of_case` are more values by path
    of the case as the suite reads it, which `cases.map` may take from elsewhere. Unless `unchanged` is None, fields
    that depend on an edited one (the keywords of a name) need a new value or must be named there.
    """
    with _alone(place) as suite:
        files = _Files(suite)
        values = files.in_record(of_case or {}) | dict(values)
        steps = files.steps(values)
        old = files.record(case_id, is_new=values.get("", MISSING) is not MISSING)
        for path, value in (now or {}).items():
            if not same_value(compile_path(path)(old), value):
                raise _EditedSince(f"{path} of {case_id} was edited since" if path else f"{case_id} was edited since")
        new = old
        for path, value in values.items():
            new = put(new, steps[path], value)
        if files.is_pending(old) and not files.missing(new):
            new = put(new, split_path(PENDING), MISSING)
        new = files.as_written(case_id, new, file)
        if not (change := dict(_changes(old, new, files.roots))):
            raise UsageError(f"nothing was edited: the truth of {case_id} is so already")
        if not new_field:
            files.refuse_unknown(new)
        if unchanged is not None and MISSING not in (old, new):
            files.refuse_left_behind(old, new, values, unchanged)
        target, data = files.with_case(case_id, new, file)
        with edit_folder(suite.folder) as temporary:
            before, after = files.digests(target, data, case_id, new, temporary)
            if state and state != before:
                raise UsageError(f"the truth of {case_id} was edited meanwhile: look again")
            edit = {"what": TRUTH, "case": case_id, "before": before, "after": after, "file": target.name}
            line = ledger_line(by=author.by, reason=author.reason, change=change, suggestion=decision, **edit)
            write_edit(temporary, target.path, data, line)
        return line


def proposed_file(suite: SuiteModel, truths: Mapping[str, Mapping[str, Any]], suffix: str) -> str:
    """The records of pending cases with truths (by case and by path of the case) filled in, in the shape of the suite's
    own file and in the form of a suffix; a case that still lacks something stays pending."""
    files, records = _Files(suite), []
    table = ""
    for case_id, of_case in truths.items():
        record = files.record(case_id, is_new=False)
        for path, value in files.in_record(of_case).items():
            record = put(record, split_path(path), value)
        record = record if files.missing(record) else put(record, split_path(PENDING), MISSING)
        records.append(record)
        if suffix == ".csv":
            text = table or files.headings(case_id)
            table = with_record(text, suffix, "", len(records) - 1, as_row(text, record))
    return table or written_records(records, suffix)


def revert_line(place: str, number: int, author: Author) -> LedgerLine:
    """Undo what a line of the ledger (1 is the first) has changed, with a line of its own."""
    ledger = load_suite(place).ledger
    if not 1 <= number <= len(ledger):
        raise UsageError(f"the ledger has no line {number}: it has {len(ledger)}; see `steelyard truth log`")
    line: LedgerLine = ledger[number - 1]
    if line.change is None or line.case is None:
        why = "it rejected a suggestion" if line.suggestion else "it does not keep what was edited"
        raise UsageError(f"line {number} cannot be reverted: {why}")
    before, after = (
        {path: sides.get(side, MISSING) for path, sides in line.change.items()} for side in ("before", "after")
    )
    try:
        return change_case(place, line.case, before, author, now=after, file=line.file, new_field=True)
    except _EditedSince as error:
        raise UsageError(f"line {number} cannot be reverted: {error}; see `steelyard truth log`") from None


@contextmanager
def _alone(place: str) -> Iterator[SuiteModel]:
    """The suite as it is now, edited by nobody else meanwhile where the system knows such a thing."""
    with alone_in(load_suite(place).folder):
        suite, installed = load_suite(place), find_suite(place)
        if installed is not None and suite.folder.resolve() == installed.parent.resolve():
            why = f"{place} is an installed suite, and an update would undo the edit"
            raise UsageError(f"{why}: copy the folder {installed.parent}, and edit the copy")
        yield suite


class _Files:
    """The files of a suite's cases, in which one case is changed."""

    def __init__(self, suite: SuiteModel) -> None:
        self._suite, source = suite, written_cases(suite.cases)
        if isinstance(source, ListCases) and source.located is not None:
            # Cases in the suite file stand in a file as all others do.
            file = CaseFile(suite.folder / source.located.file, source.located.file)
            source = FileCases(suite.folder, (file,), at="cases", mapping=source.mapping)
        if not isinstance(source, FileCases):
            raise cannot_edit(f"the cases of {suite.name} are given in Python")
        self._source, self._cases = source, _read(source)
        scorers: list[Any] = [component.scorer for component in suite.components]
        self._scorers = [*scorers, *(part for item in scorers if isinstance(item, Fields) for _, _, part in item.parts)]
        self.roots = tuple(dict.fromkeys([EXPECTED, *sorted(source.mapping.keys(EXPECTED)), PENDING]))
        """The keys of a record that the truth is read from."""

    def _read_paths(self) -> list[str]:
        """The paths of the truth that scorers read, as the case has them."""
        paths = [path for scorer in self._scorers for _, path in case_paths(scorer)]
        return [path for path in paths if split_path(path)[:1] == (EXPECTED,)]

    def is_pending(self, record: Any) -> bool:
        """Whether a record says itself that its truth is pending."""
        return isinstance(record, dict) and str(record.get(PENDING)).lower() in ("true", "yes")

    def missing(self, record: Any) -> list[str]:
        """What of the truth a record lacks before it can be scored: what scorers read and all other cases have."""
        known = [case for _, case in self._cases.values() if not case.pending]
        lacking = []
        for component in self._suite.components:
            parts = [component.scorer, *(part for _, _, part in getattr(component.scorer, "parts", ()))]
            paths = dict.fromkeys(path for part in parts for _, path in case_paths(part))
            for path in paths:
                origin = self._source.mapping.origin(path)
                needed = (
                    all(compile_path(path)(case) not in _NO_TRUTH for case in known)
                    if known
                    else component.when_unknown is None
                )
                if needed and origin is not None and compile_path(origin[0])(record) in _NO_TRUTH:
                    lacking.append(origin[0])
        return lacking

    def in_record(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of a case as those of its record; UsageError where `cases.map` makes them of something else."""
        result = {}
        for path, value in values.items():
            if (origin := self._source.mapping.origin(path)) is None:
                raise cannot_edit(f"{path} is made by cases.map")
            result[origin[0]] = value if value is MISSING else origin[1](value)
        return result

    def steps(self, values: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """The steps of the path to each value; UsageError for what is no path, or none into the truth."""
        try:
            steps = {path: split_path(path) for path in values}
        except ValueError as error:
            raise UsageError(str(error)) from None
        if wrong := [path for path in values if "" not in values and steps[path][0] not in self.roots]:
            raise UsageError(f"{wrong[0]} is no part of the truth: name a path such as expected.name")
        if not steps:
            raise UsageError("nothing was edited: say what, such as --set expected.maker=Thonet")
        return steps

    def refuse_left_behind(self, old: Any, new: Any, values: Mapping[str, Any], unchanged: Collection[str]) -> None:
        """UsageError when a field was edited and one that depends on it, by the scorer that reads both, was not."""
        left: dict[str, str] = {}
        dependent: set[str] = set()
        for scorer in self._scorers:
            paths = {
                name: origin[0] for name, path in case_paths(scorer) if (origin := self._source.mapping.origin(path))
            }
            main = paths.pop("expected", None)
            if main is None or same_value(*(compile_path(main)(record) for record in (old, new))):
                continue
            dependent.update(paths.values())
            for path in paths.values():
                value = compile_path(path)(new)
                is_set = any(path == name or path.startswith(f"{name}.") for name in values)
                if value not in (MISSING, None, []) and not is_set and path not in unchanged:
                    now = "" if self._suite.redactor else f" (now {shown(value)})"
                    left[path] = f"{path}{now} depends on {main}"
        if unknown := [path for path in unchanged if path not in dependent]:
            raise UsageError(f"--unchanged {unknown[0]}: nothing that was edited has it as a dependent field")
        if left:
            ways = " ".join(f"--set {path}=... or --unchanged {path}" for path in left)
            raise UsageError(f"{'; '.join(left.values())}: give its new value too: {ways}")

    def record(self, case_id: str, *, is_new: bool) -> Any:
        """The record of a case, MISSING of a new one; UsageError when it is not there, or when a new one is."""
        if is_new and case_id in self._cases:
            raise UsageError(f"there is a case {case_id!r} already, at {self._cases[case_id][0].place}")
        return MISSING if is_new else case_named(self._cases, case_id)[0].data

    def refuse_unknown(self, new: Any) -> None:
        """UsageError when the truth has a field that is in no case and that no scorer names."""
        read_paths = {origin[0] for path in self._read_paths() if (origin := self._source.mapping.origin(path))}
        read_paths.add(PENDING)
        for record, _ in self._cases.values():
            read_paths.update(path for path, _ in self._truth_leaves(record.data))
        for path, _ in self._truth_leaves(new):
            if path not in read_paths:
                hint = meant_or_listed(path, sorted(read_paths))
                raise UsageError(f"{path} is in no case, and no scorer names it{hint} (--new-field if it is meant)")

    def _truth_leaves(self, record: Any) -> Iterator[tuple[str, Any]]:
        for root in self.roots:
            yield from leaves(compile_path(path_step(root))(record), path_step(root))

    def _file_of(self, case_id: str, name: str | None) -> CaseFile:
        """The file of a case, for a new one that of this name or the last; UsageError for one that cannot be edited."""
        if case_id in self._cases:
            name = self._cases[case_id][0].file
        file = next((file for file in self._source.files if file.name == name), self._source.files[-1])
        if file.copy is not None:
            raise cannot_edit(f"{file.name} is an address: edit the file there")
        if file.path.suffix.lower() not in EDITABLE:
            raise cannot_edit(f"{file.name} is no file of cases in the form of {listed(EDITABLE)}")
        return file

    def headings(self, case_id: str) -> str:
        """The first line of the table that a case is in."""
        file = self._file_of(case_id, None)
        if file.path.suffix.lower() != ".csv":
            raise UsageError(f"{file.name} is no table: propose its cases as .json, .jsonl or .yaml")
        return file.path.read_text(encoding="utf-8-sig").partition("\n")[0] + "\n"

    def as_written(self, case_id: str, new: Any, name: str | None) -> Any:
        """A record as its file can hold it: a table holds texts under its headings."""
        file = self._file_of(case_id, name)
        is_table = file.path.suffix.lower() == ".csv" and new is not MISSING
        return as_row(file.path.read_text(encoding="utf-8-sig"), new) if is_table else new

    def with_case(self, case_id: str, new: Any, name: str | None) -> tuple[CaseFile, bytes]:
        """The file of a case and its content with another record."""
        file = self._file_of(case_id, name)
        suffix, content = file.path.suffix.lower(), file.path.read_bytes()
        text = content.decode("utf-8-sig")
        if self._source.one_each:
            if new is MISSING or case_id not in self._cases:
                raise cannot_edit(f"each file is one case, and {case_id} is a file to add or to remove")
            text = with_whole_record(text, suffix, new)
        else:
            ids = [key for key, (record, _) in self._cases.items() if record.file == file.name]
            at = ids.index(case_id) if case_id in ids else len(ids)
            text = with_record(text, suffix, self._source.at, at, new, case_id)
        # What is no text is refused when it is read again.
        return file, BOM_UTF8 * content.startswith(BOM_UTF8) + text.encode("utf-8", "surrogatepass")

    def digests(
        self, file: CaseFile, data: bytes, case_id: str, new: Any, place: Path
    ) -> tuple[str | None, str | None]:
        """The digests of the truth before and after; SuiteError or UsageError when more or less changes than should.

        `place` is a folder for a copy of the file as it will be.
        """
        suite = self._suite
        copy = CaseFile(place / file.path.name, file.name)
        copy.path.write_bytes(data)
        source = replace(self._source, files=tuple(copy if item == file else item for item in self._source.files))
        draft = Draft(Located(None, ""), suite.folder)
        survey_cases(source, suite.components, draft, suite.judge, suite.redactor)
        draft.finish()
        cases = _read(source)
        then, now = ({key: case for key, (_, case) in read.items()} for read in (self._cases, cases))
        before, after = then.pop(case_id, None), now.pop(case_id, None)
        if then != now or not same_value(MISSING if after is None else cases[case_id][0].data, new):
            raise cannot_edit(f"{file.name} would not be read as it should after the edit")
        states = [state_in_runs(suite, case) for case in (before, after)]
        if states[0] == states[1]:
            raise cannot_edit(f"the suite does not read the truth of {case_id} from there (cases: map)")
        return states[0], states[1]


def _read(source: FileCases) -> dict[str, tuple[Record, Case]]:
    """The cases by id, each with the record that it is made of; where records have keys, these are in them as ids."""
    return {
        case.id: (record if record.key is None else replace(record, data={"id": record.key, **record.data}), case)
        for record, case in source.walk(refuse)
        if case is not None
    }


def state_in_runs(suite: SuiteModel, case: Case | None) -> str | None:
    """The digest of a case's truth as runs see it."""
    return None if case is None else truth_state(suite.redactor.case(case) if suite.redactor else case)


def truth_state(case: Case) -> str:
    """The digest of a case's truth; of one that is pending, another one than of the same truth in force."""
    return digest([PENDING, case.expected] if case.pending else case.expected)


def still_missing(place: str, case_id: str | None) -> list[str]:
    """What of the truth of a pending case is not there yet; nothing of any other case."""
    suite = load_suite(place)
    if not suite.survey.n_pending or case_id not in {case.id for case in every_case(suite) if case.pending}:
        return []
    files = _Files(suite)
    return files.missing(files.record(case_id, is_new=False))


def case_named(cases: Mapping[str, Any], case_id: str) -> Any:
    """What is there under the id of a case; UsageError when nothing is."""
    if case_id not in cases:
        raise UsageError(f"there is no case {case_id!r}{meant(case_id, cases)}")
    return cases[case_id]


def _changes(old: Any, new: Any, keys: Collection[str], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """By path, what is another under these keys of a record; "" for all of it where there was or is none."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in keys:
            inner = f"{path}.{path_step(key)}" if path else path_step(key)
            before, after = old.get(key, MISSING), new.get(key, MISSING)
            both = dict.fromkeys([*before, *after]) if isinstance(before, dict) and isinstance(after, dict) else ()
            yield from _changes(before, after, both, inner)
    elif not same_value(old, new):
        yield path, {side: value for side, value in (("before", old), ("after", new)) if value is not MISSING}


def same_value(value: Any, other: Any) -> bool:
    """Whether two values, or two MISSING ones, are spelled alike."""
    return value is other or (MISSING not in (value, other) and canonical(value) == canonical(other))
