"""Where a suite's cases are, read again and again, and one pass over all of them before anything runs."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import Field

from steelyard.errors import Problem, SteelyardError, UsageError
from steelyard.frozen import frozen, slotted
from steelyard.suite.addresses import addresses, fetch, is_address
from steelyard.suite.case import Case, CaseSurvey, digest, json_writer
from steelyard.suite.draft import Draft
from steelyard.suite.files import folder_inside, inside, place_inside, read_attachments
from steelyard.suite.judge import JudgeModel
from steelyard.suite.ledger import LEDGER_FILE
from steelyard.suite.mapping import FIELDS, RowMapping, Unmappable, compile_mapping
from steelyard.suite.models import Component, SuiteModel
from steelyard.suite.paths import MISSING, split_path
from steelyard.suite.readers import ONE_CASE_A_FILE, Record, Report, read_one, read_records, refuse, unreadable
from steelyard.suite.redaction import Redactor, written_cases
from steelyard.suite.slices import SliceTally
from steelyard.suite.streams import LocalCopy
from steelyard.suite.truth import TruthCheck
from steelyard.suite.values import Anything, SuitePart
from steelyard.suite.yaml import Located, listed, meant, result


@frozen
class CasePlace:
    """A case's file, and the line it begins on where its file has lines."""

    file: Path
    line: int | None = None

    def within(self, root: Path) -> str:
        """The file as seen from a folder that it is in, with forward slashes; "" when it is not."""
        with suppress(ValueError):
            return self.file.resolve().relative_to(root.resolve()).as_posix()
        return ""


def case_places(suite: SuiteModel, ids: Collection[str]) -> dict[str, CasePlace]:
    """The places of these cases, by id; one that was given in Python has none. Reads no further than it must."""
    wanted, result = set(ids), {}
    # Files may have changed while the suite was scored: then some places are not known, and nothing else is lost.
    with suppress(SteelyardError, OSError):
        for case in suite.cases if wanted else ():
            if case.id not in wanted:
                continue
            wanted.remove(case.id)
            place = place_of(suite.folder, case.source)
            if place is not None:
                result[case.id] = place
            if not wanted:
                break
    return result


def place_of(folder: Path, source: str) -> CasePlace | None:
    """What `cases/one.json:12`, the way a case names its source, stands for; None when there is no such file."""
    name, colon, line = source.rpartition(":")
    if colon and line.isdecimal() and (folder / name).is_file():
        return CasePlace(folder / name, int(line))
    return CasePlace(folder / source) if source and (folder / source).is_file() else None


PLAIN_MAPPING = RowMapping()
"""The mapping of a file that is already in the shape of a case."""
_LONG_CLUSTER = 100


@frozen
class CaseFile:
    """One file of cases and the name messages call it by."""

    path: Path
    name: str
    copy: LocalCopy | None = field(default=None, compare=False, repr=False)
    """Of a file at an address, what `path` leads to."""


@frozen
class FileCases:
    """Cases read from files each time they are asked for, but for those of a few MB, which stay in memory once they
    were surveyed; memory does not grow with their number."""

    folder: Path
    files: tuple[CaseFile, ...]
    one_each: bool = False
    """True when every file is one case."""
    at: str = ""
    mapping: RowMapping = field(default=PLAIN_MAPPING, repr=False)
    traces: bool = False
    surveyed: list[Case] = field(default_factory=list, init=False, repr=False, compare=False)
    """All of them, where they are few."""

    def __iter__(self) -> Iterator[Case]:
        if self.surveyed:
            return iter(self.surveyed)
        return (case for _, case in self.walk(refuse) if case is not None and not case.pending)

    def walk(self, report: Report) -> Iterator[tuple[Record, Case | None]]:
        """Each record with its case, or None (and a report) when it is not one."""
        for file in self.files:
            for record in self.records_of(file, report):
                yield record, build_case(record, self.mapping, self.folder, report)

    def records_of(self, file: CaseFile, report: Report) -> Iterator[Record]:
        """The records of one file, before mapping."""
        if self.one_each:
            return read_one(file.path, file.name, report)
        if self.traces:
            from steelyard.suite.traces import read_cases  # few suites have them

            return read_cases(file.path, file.name, report)
        return read_records(file.path, file.name, self.at, report)


@frozen
class ListCases:
    """Cases given as data: in Python, or written into the suite file itself."""

    folder: Path
    records: Sequence[Any]
    mapping: RowMapping = field(default=PLAIN_MAPPING, repr=False)
    located: Located | None = field(default=None, repr=False)
    """The suite file, when they are written there under `cases`."""

    def __iter__(self) -> Iterator[Case]:
        for _, case in self.walk(refuse):
            if case is not None and not case.pending:
                yield case

    def walk(self, report: Report) -> Iterator[tuple[Record, Case | None]]:
        """Each record with its case, or None (and a report) when it is not one."""
        for n, data in enumerate(self.records):
            if self.located is None:
                record = Record(data.as_data() if isinstance(data, Case) else data, f"cases[{n}]")
            else:
                path = ("cases", n)
                record = Record(data, self.located.file, self.located.line(path), located=self.located, path=path)
            yield record, build_case(record, self.mapping, self.folder, report)


def build_case(record: Record, mapping: RowMapping, folder: Path, report: Report) -> Case | None:
    """The case in a record, or None (and a report of everything wrong with it)."""
    if not isinstance(record.data, dict):
        report(record.problem(f"a case is a group of keys; {result(record.data)}"))
        return None
    try:
        fields = mapping.fields(_with_key(record))
    except Unmappable as error:
        report(record.problem(str(error), error.field))
        return None
    if mapping.plain:
        _report_misspelt(record, report)
    broken: list[tuple[str, str]] = []
    case_id = _id(fields.get("id", record.key), broken)
    case = Case(
        id=case_id,
        input=fields.get("input"),
        expected=fields.get("expected"),
        category=_label("category", fields.get("category"), broken),
        difficulty=_label("difficulty", fields.get("difficulty"), broken),
        cluster=_cluster(fields.get("cluster"), broken),
        tags=_tags(fields.get("tags"), broken),
        why=_label("why", fields.get("why"), broken) or "",
        source=record.place,
        pending=_pending(fields.get("pending"), broken),
    )
    if fields.get("attachments"):
        try:
            case = replace(case, attachments=read_attachments(fields["attachments"], folder))
        except ValueError as error:
            broken.append((f"case {case_id}: {error}", "attachments"))
    for message, name in broken:
        report(record.problem(message, name))
    return None if broken else case


def _with_key(record: Record) -> dict[str, Any]:
    """The record's data; the key it stands under, or the name of its file, is its `id` unless it has one."""
    data: dict[str, Any] = record.data
    return data if record.key is None or "id" in data else {"id": record.key, **data}


def _id(value: Any, broken: list[tuple[str, str]]) -> str:
    if value is None or value == "":
        broken.append(("the case has no id", "id"))
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        broken.append((f"an id is text or a number; {result(value)}", "id"))
        return ""
    text = str(value)
    if text != text.strip() or not text.isprintable():
        broken.append((f"the id {text!r} has spaces around it or characters that cannot be printed", "id"))
    return text


def _label(name: str, value: Any, broken: list[tuple[str, str]]) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        broken.append((f"{name} is text; {result(value)}", name))
        return None
    return str(value)


def _pending(value: Any, broken: list[tuple[str, str]]) -> bool:
    text = str(value).strip().lower()
    if value is not None and text not in ("", "true", "yes", "false", "no"):
        broken.append((f"pending is true (the truth is still to be found) or left out; {result(value)}", "pending"))
    return text in ("true", "yes")


def every_case(suite: SuiteModel) -> Iterator[Case]:
    """The cases as their files have them, those whose truth is pending included."""
    source = written_cases(suite.cases)
    if not isinstance(source, FileCases | ListCases):
        return iter(source)
    return (case for _, case in source.walk(refuse) if case is not None)


def pending_cases(suite: SuiteModel) -> list[Case]:
    """The cases whose truth is pending, as they may be shown: without personal data."""
    cases = [case for case in every_case(suite) if case.pending] if suite.survey.n_pending else []
    return [suite.redactor.case(case) for case in cases] if suite.redactor else cases


def _cluster(value: Any, broken: list[tuple[str, str]]) -> str | None:
    """What cases share, which may be all of a document: that is told apart by its digest."""
    long = isinstance(value, (dict, list)) or (isinstance(value, str) and len(value) > _LONG_CLUSTER)
    return digest(value) if long and value else _label("cluster", value, broken)


def _tags(value: Any, broken: list[tuple[str, str]]) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    items = value if isinstance(value, (list, tuple)) else [value]
    tags = [_label("a tag", item, broken) for item in items]
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _report_misspelt(record: Record, report: Report) -> None:
    """Tell of a key that is almost a field's name while that field is not there."""
    strange = [key for key in record.data if key not in FIELDS]
    if strange:
        absent = tuple(name for name in FIELDS if name not in record.data)
        for key in strange:
            if hint := _meant(str(key), absent):
                report(record.problem(f"unknown key {key!r}{hint}", str(key)))


@lru_cache(maxsize=1024)
def _meant(key: str, absent: tuple[str, ...]) -> str:
    # A million records have the same few keys.
    return meant(key, absent)


_GLOB = "*?["


class CasesFile(SuitePart):
    """Where the cases are and how a record becomes a case."""

    files: str | list[str] | None = Field(
        default=None,
        description="One file, a list of files or a glob: .yaml .json .jsonl .csv .parquet; JSON, JSONL and CSV also"
        " packed as .gz or .zst; an address such as s3://bucket/cases.jsonl is read by fsspec.",
    )
    folder: str | None = Field(default=None, description="A folder with one file a case, instead of `files`.")
    otlp: str | list[str] | None = Field(
        default=None, description="OpenTelemetry traces in OTLP JSON instead: a case for each `gen_ai` span."
    )
    glob: str = Field(default="*", description="Which files of the folder are cases.")
    at: str = Field(default="", description="Where the list of cases is inside a JSON or YAML document: a path.")
    cluster: str | None = Field(
        default=None,
        description="What of a record (a path, such as `document` or `input.user`) cases share that are not independent"
        " of one another: those of one document, user or seed are one unit in every interval, test and power figure.",
    )
    map: dict[str, Anything] = Field(
        default={},
        description="How a record of another shape becomes a case: path, constant, unit or template.",
    )


def build_source(raw: Any, draft: Draft) -> FileCases | ListCases | None:
    """The source of the suite's cases, or None with everything wrong noted."""
    if isinstance(raw, list) and not (raw and all(isinstance(item, str) for item in raw)):
        return ListCases(draft.folder, raw, located=draft.located if ("cases",) in draft.located.lines else None)
    if isinstance(raw, (str, list)):
        raw = {"files": raw}
    if not isinstance(raw, dict):
        draft.add_problem(f"cases names files, a folder, or lists the cases; {result(raw)}", ("cases",))
        return None
    part = draft.check(CasesFile, raw, ("cases",))
    mapping = _mapping(raw.get("map"), raw.get("cluster"), draft)
    if part is None:
        return None
    named = [name for name in ("files", "folder", "otlp") if getattr(part, name) is not None]
    if len(named) != 1:
        message = f"both {' and '.join(named)}" if named else "neither files nor folder"
        draft.add_problem(f"cases names {message}: write one of them", ("cases",))
        return None
    if not _check_at(part, draft):
        return None
    files = _folder_files(part, draft) if part.folder is not None else _listed_files(part, named[0], draft)
    if not files:
        return None
    return FileCases(draft.folder, tuple(files), part.folder is not None, part.at, mapping, part.otlp is not None)


def _mapping(raw: Any, cluster: Any, draft: Draft) -> RowMapping:
    spec = dict(raw) if isinstance(raw, dict) else {}
    if isinstance(cluster, str):
        if "cluster" in spec:
            draft.add_problem(
                "cases.cluster and cases.map.cluster say the same: write one of them", ("cases", "cluster")
            )
        spec["cluster"] = cluster
    if not spec:
        return PLAIN_MAPPING

    def add_problem(message: str, place: tuple[str | int, ...]) -> None:
        where = ("cases", "cluster") if place == ("cluster",) and cluster is not None else ("cases", "map", *place)
        draft.add_problem(f"{'.'.join(map(str, where[:2]))}: {message}", where)

    return compile_mapping(spec, add_problem)


def _check_at(part: CasesFile, draft: Draft) -> bool:
    try:
        split_path(part.at)
    except ValueError as error:
        draft.add_problem(f"cases.at: {error}", ("cases", "at"))
        return False
    if part.at and part.folder is not None:
        draft.add_problem("cases.at goes with files: in a folder each file is one case", ("cases", "at"))
        return False
    return True


def _listed_files(part: CasesFile, key: str, draft: Draft) -> list[CaseFile]:
    given = getattr(part, key)
    names = given if isinstance(given, list) else [str(given)]
    if not names:
        draft.add_problem(f"cases.{key} is empty", ("cases", key))
    files: list[CaseFile] = []
    for at, name in enumerate(names):
        place = ("cases", key, at) if isinstance(given, list) else ("cases", key)
        with draft.noting(place):
            for file in _matching(name, draft):
                if file in files:
                    raise ValueError(f"{file.name} is named twice")
                files.append(file)
    return files


def _matching(name: str, draft: Draft) -> list[CaseFile]:
    if is_address(name):
        return [_fetched(address) for address in addresses(name)]
    if any(sign in name for sign in _GLOB):
        before, pattern = _split_glob(name)
        root = place_inside(draft.folder, str(before), draft.allow)
        fitting = [(before / path.relative_to(root)).as_posix() for path in root.glob(pattern) if path.is_file()]
        names = sorted(item for item in fitting if item != LEDGER_FILE)
        if not names:
            raise ValueError(f"no file fits {name}")
        return [_readable(CaseFile(inside(draft.folder, name, draft.allow), name)) for name in names]
    if name == LEDGER_FILE:
        raise ValueError(f"{name} is where the suite says why its truth was edited: give the cases another name")
    if draft.free_paths and Path(name).is_absolute():
        if not Path(name).is_file():
            raise ValueError(f"there is no file {name}")
        return [_readable(CaseFile(Path(name), name))]
    return [_readable(CaseFile(inside(draft.folder, name, draft.allow), name))]


def _split_glob(name: str) -> tuple[PurePosixPath, str]:
    """The folder that a pattern begins with, and the pattern in it."""
    parts = PurePosixPath(name).parts
    at = next(at for at, step in enumerate(parts) if any(sign in step for sign in _GLOB))
    if ".." in parts[at:]:
        raise ValueError(f"{name} leads out of the folder in which it looks for files")
    return PurePosixPath(*parts[:at]), PurePosixPath(*parts[at:]).as_posix()


def _readable(file: CaseFile) -> CaseFile:
    if why := unreadable(file.path):
        raise ValueError(f"{file.name} {why}")
    return file


def _fetched(address: str) -> CaseFile:
    if why := unreadable(address):
        raise ValueError(f"{address} {why}")
    copy = fetch(address)
    return CaseFile(copy.path, address, copy)


def _folder_files(part: CasesFile, draft: Draft) -> list[CaseFile]:
    try:
        folder = _folder(part, draft)
        paths = sorted(path for path in folder.glob(part.glob) if path.is_file())
        taken = [path for path in paths if path.suffix.lower() in ONE_CASE_A_FILE and not path.name.startswith(".")]
        if not taken:
            raise ValueError(f"no file in {part.folder} fits {part.glob}; a case is one of {listed(ONE_CASE_A_FILE)}")
        root = Path(str(part.folder))
        names = [(root / path.relative_to(folder)).as_posix() for path in taken]
        if root.is_absolute() and draft.free_paths:
            return [CaseFile(path, name) for path, name in zip(taken, names, strict=True)]
        return [CaseFile(inside(draft.folder, name, draft.allow), name) for name in names]
    except (ValueError, NotImplementedError) as error:
        draft.add_problem(str(error), ("cases", "folder"))
        return []


def _folder(part: CasesFile, draft: Draft) -> Path:
    if is_address(str(part.folder)):
        raise ValueError(f"{part.folder} is an address: write files: {str(part.folder).rstrip('/')}/*.jsonl")
    if draft.free_paths and Path(str(part.folder)).is_absolute():
        if not Path(str(part.folder)).is_dir():
            raise ValueError(f"there is no folder {part.folder}")
        return Path(str(part.folder))
    return folder_inside(draft.folder, str(part.folder), draft.allow)


_MOST_MESSAGES = 100
_MOST_IN_MEMORY = 4_000_000
"""Bytes of cases that are read once and stay; they take about six times as much room."""
_MODULUS = 1 << 256
_spell = json_writer((",", ":"), sort_keys=True, allow_nan=False)


@slotted
class _Few:
    """The first mistakes, and how many more there were."""

    message: list[Problem] = field(default_factory=list)
    more: int = 0

    def add(self, problem: Problem) -> None:
        if len(self.message) < _MOST_MESSAGES:
            self.message.append(problem)
        else:
            self.more += 1


class _Hash:
    """A hash of many things that does not depend on their order."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, data: bytes) -> None:
        self._sum = (self._sum + int.from_bytes(hashlib.sha256(data).digest(), "big")) % _MODULUS

    def text(self) -> str:
        return f"{self._sum:064x}"[:16]


@slotted
class _Tally:
    fields: SliceTally
    ids: array[int] = field(default_factory=lambda: array("Q"))
    pending: array[int] = field(default_factory=lambda: array("Q"))
    """Ids of cases whose truth is pending."""
    pending_known: int = 0
    categories: Counter[str] = field(default_factory=Counter)
    difficulties: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    clusters: set[int] = field(default_factory=set)
    size: int = 0
    """Bytes of what the cases hold."""
    cases: _Hash = field(default_factory=_Hash)
    truth: _Hash = field(default_factory=_Hash)
    inputs: _Hash = field(default_factory=_Hash)
    noted: frozenset[str] = frozenset()
    noted_truths: dict[str, str] = field(default_factory=dict)


def survey_cases(
    source: FileCases | ListCases,
    components: tuple[Component, ...],
    draft: Draft,
    judge: JudgeModel | None = None,
    redactor: Redactor | None = None,
    noted: Iterable[str] = (),
    slices: Sequence[str] = (),
) -> CaseSurvey:
    """What the cases hold; every mistake in them is noted, the first ones in full.

    What is hashed is what will be asked and stored, without personal data. `noted` are the cases whose truth is hashed
    one by one, too; `slices` the fields that they are sliced by.
    """
    few = _Few()
    tally = _Tally(noted=frozenset(noted), fields=SliceTally(slices))
    truths = TruthCheck(components, source.mapping, judge)
    seen: dict[str, int] = {}
    nowhere = {} if redactor is None else redactor.paths
    few_cases: list[Case] = []
    for record, case in source.walk(few.add):
        seen[record.file] = seen.get(record.file, 0) + 1 if isinstance(source, FileCases) else 1
        truths.see_record(record)
        if case is not None and case.pending:
            tally.pending.append(_id_hash(case.id))
            tally.pending_known += truths.is_known(case)
            continue
        if case is not None and tally.size <= _MOST_IN_MEMORY:
            few_cases.append(case)
        if case is not None and redactor is not None:
            nowhere = {path: get for path, get in nowhere.items() if get(case) is MISSING}
            case = redactor.case(case)
        if case is not None and _count(case, record, tally, few):
            truths.see(case, record, few.add)
    if isinstance(source, FileCases) and tally.size <= _MOST_IN_MEMORY and not few.message:
        source.surveyed.extend(few_cases)
    _report_empty(source, seen, few)
    _report_twins(source, tally.ids + tally.pending, few)
    _report_absent(truths, tally, nowhere, draft)
    draft.problems.extend(few.message)
    if few.more:
        draft.more.append(Problem(f"and {few.more} more mistakes in the cases"))
    return CaseSurvey(
        n=len(tally.ids),
        n_pending=len(tally.pending),
        n_pending_known=tally.pending_known,
        categories=dict(sorted(tally.categories.items())),
        difficulties=dict(sorted(tally.difficulties.items())),
        tags=dict(sorted(tally.tags.items())),
        fields={path: dict(sorted(names.items())) for path, names in tally.fields.counts.items()},
        n_clusters=len(tally.clusters),
        cases_digest=tally.cases.text(),
        truth_digest=tally.truth.text(),
        input_digest=tally.inputs.text(),
        noted_truths=tally.noted_truths,
    )


def _report_absent(truths: TruthCheck, tally: _Tally, nowhere: Iterable[str], draft: Draft) -> None:
    """Tell of paths that no case has."""
    for message, place in truths.unmet():
        draft.add_problem(message, place)
    # Where the truth of all cases is pending, nothing is known of them yet.
    for path in nowhere if tally.ids else ():
        draft.add_problem(f"redact.names: {path} is in none of the {len(tally.ids)} cases", ("redact", "names"))
    for message, at in tally.fields.problems():
        draft.add_problem(message, ("slices", at))


def _count(case: Case, record: Record, tally: _Tally, few: _Few) -> bool:
    """Take a case into the tally; False (and a mistake) when it holds what cannot be kept."""
    try:
        attached = [(a.media_type, a.digest or a.place) for a in case.attachments]
        asked = _spell([case.id, case.input, attached]).encode()
        groups = "\0".join((case.category or "", case.difficulty or "", *sorted(case.tags))).encode()
        if case.cluster is not None:
            groups += f"\0\n{case.cluster}".encode()
        truth = _spell([case.id, case.expected]).encode()
    except (ValueError, TypeError, RecursionError) as error:
        few.add(record.problem(f"case {case.id}: {_why_not_kept(error)}"))
        return False
    try:
        tally.fields.add(case)
    except UsageError as error:
        few.add(record.problem(str(error)))
    tally.size += len(asked) + len(truth)
    tally.inputs.add(asked)
    tally.cases.add(asked + groups)
    tally.truth.add(truth)
    tally.ids.append(_id_hash(case.id))
    if case.id in tally.noted:
        tally.noted_truths[case.id] = digest(case.expected)
    if case.category is not None:
        tally.categories[case.category] += 1
    if case.difficulty is not None:
        tally.difficulties[case.difficulty] += 1
    if case.cluster is not None:
        tally.clusters.add(_id_hash(case.cluster))
    tally.tags.update(case.tags)
    return True


def _why_not_kept(error: Exception) -> str:
    text = str(error)
    if "not JSON compliant" in text:
        return "it holds NaN or Infinity, which is no number: leave the value out or write null"
    if isinstance(error, UnicodeEncodeError):
        return "it holds half of a surrogate pair (\\ud800 and the like), which is no character"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return text


def _report_empty(source: FileCases | ListCases, seen: dict[str, int], few: _Few) -> None:
    if few.message:
        return
    if isinstance(source, ListCases):
        if not source.records:
            few.add(Problem("there are no cases", source.located.file if source.located else ""))
        return
    with_rows = {name.partition(" row ")[0] for name in seen}
    for file in source.files:
        if file.name not in with_rows:
            few.add(Problem("there are no cases in this file", file.name))


def _id_hash(case_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(case_id.encode(), digest_size=8).digest(), "big")


def _report_twins(source: FileCases | ListCases, ids: array[int], few: _Few) -> None:
    """Look for ids that occur twice; only when hashes clash are the files read again to name them."""
    import numpy as np

    hashes = np.sort(np.frombuffer(ids, dtype=np.uint64)) if ids else np.empty(0, dtype=np.uint64)
    clashing = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    if not clashing:
        return
    first: dict[str, str] = {}
    for record, case in source.walk(lambda _: None):
        if case is None or _id_hash(case.id) not in clashing:
            continue
        if case.id in first:
            few.add(record.problem(f"the id {case.id!r} is given twice; the first is at {first[case.id]}", "id"))
        else:
            first[case.id] = record.place
