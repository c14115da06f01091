"""The truth of cases: the ledger that says why it changed, and what stands in the place of a missing one."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from steelyard.errors import Problem, UsageError
from steelyard.frozen import slotted, values_of
from steelyard.records import Signature
from steelyard.suite.case import MISSING, Case, Getter, compile_path, split_path
from steelyard.suite.draft import Draft
from steelyard.suite.judge import JudgeModel
from steelyard.suite.labels import check_path, labels_of
from steelyard.suite.mapping import FIELDS, RowMapping
from steelyard.suite.models import EXPECT, Component, SuiteModel
from steelyard.suite.readers import Record, Report, read_records
from steelyard.suite.yaml import Place, explain, meant, result
from steelyard.user_code import UserCodeError, checked_call
from steelyard.wording import iso_time

LEDGER_FILE = "ledger.jsonl"
TRUTH = "truth"
SUGGESTION = "suggestion"
"""A suggestion that was rejected: nothing was edited."""
SCORED_BY = ("scorers", "schema", "rules")
"""The parts of a signature that say how answers are scored; each may be edited for a reason of its own."""
CRITERIA = "criteria"
"""What decides on a run and is in no signature."""
NAMES = {
    CRITERIA: "gates, criteria, limits, repeats or prices",
    "scorers": "scorers, weights, bands or pass rule",
    "schema": "the answer schema",
    "rules": "rules, checks or rubric of the judge",
}
_MOST_MESSAGES = 20

State = tuple[str, str | None, str | None]
"""What was edited, of which case (None for how answers are scored), and its digest afterwards."""


class SuggestionDecision(BaseModel):
    """What a person made of a suggestion: an answer that several runs agree on and that differs from the truth."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    id: str
    component: str
    value: Any
    """The answer."""
    outcome: Literal["alternative", "correction", "rejected"]
    runs: list[str] = []
    """Those that gave the answer."""
    points: float | None = None
    """What accepting it was worth: the mean over these runs of the rise of the average score, in points."""


class LedgerLine(BaseModel):
    """One edit and its reason."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    at: str
    """ISO 8601, in UTC."""
    by: str = Field(min_length=1)
    what: Literal["truth", "scorers", "schema", "rules", "criteria", "suggestion"]
    case: str | None = None
    """The case whose truth was edited; None for how answers are scored."""
    file: str | None = None
    """The file of cases that was edited, where a command did it."""
    change: dict[str, dict[Literal["before", "after"], Any]] | None = None
    """By path into the case, what stood there and what does; the path "" is the whole record. None where only digests
    are known, as for an edit by hand."""
    suggestion: SuggestionDecision | None = None
    before: str | None
    after: str | None
    """Digests: of the case's truth, None where there was or is no such case; else of that part of the signature."""
    reason: str

    @field_validator("at")
    @classmethod
    def _is_a_moment(cls, at: str) -> str:
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            moment = None
        if moment is None or moment.utcoffset() != timedelta(0):
            raise ValueError(f"{at!r} is no moment in UTC: write it as 2026-01-31T12:00:00Z")
        return at

    @field_validator("reason")
    @classmethod
    def _says_something(cls, reason: str) -> str:
        if not reason.strip():
            raise ValueError("a reason is text that says something")
        return reason

    @model_validator(mode="after")
    def _is_an_edit(self) -> Self:
        if (self.what in (TRUTH, SUGGESTION)) != bool(self.case):
            raise ValueError("case names the case whose truth was edited" + ("" if self.case else ": it is missing"))
        if self.case is None and (self.before is None or self.after is None):
            raise ValueError("only of a case may before or after be null: it was added or removed")
        if self.before == self.after and self.what != SUGGESTION:
            raise ValueError("before and after are the same: that is no edit")
        return self

    @property
    def moment(self) -> datetime:
        """When it was written."""
        return datetime.fromisoformat(self.at)

    @property
    def state(self) -> State:
        """What it leads to."""
        return (self.what, self.case, self.after)

    def as_data(self) -> dict[str, Any]:
        """The line as it stands in the file."""
        return self.model_dump(exclude={name for name in _OPTIONAL if getattr(self, name) is None})


_CONTENT = ("file", "change", "suggestion")
_OPTIONAL = ("case", *_CONTENT)


def ledger_line(*, by: str, reason: str, **edit: Any) -> LedgerLine:
    """A line of this moment; UsageError without a reason."""
    if not reason.strip():
        raise UsageError('give --reason "...": the ledger keeps why an edit was made')
    texts = {"at": moment_now(), "by": by, "reason": reason.strip()}
    # Words of a command line may hold what is no text.
    texts = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    return LedgerLine.model_validate(texts | edit)


def read_ledger(draft: Draft) -> tuple[LedgerLine, ...]:
    """The lines of the ledger beside the suite file, in its order; none where there is no such file.

    Everything wrong with it is noted.
    """
    path = draft.folder / LEDGER_FILE
    lines: list[LedgerLine] = []
    wrong: list[Problem] = []
    if not path.exists():
        return ()
    for record in read_records(path, LEDGER_FILE, "", wrong.append):
        if not isinstance(record.data, dict):
            wrong.append(record.problem(f"a line of the ledger is a group of keys; {result(record.data)}"))
            continue
        try:
            lines.append(LedgerLine.model_validate(record.data))
        except ValidationError as error:
            wrong += [record.problem(problem.message) for problem in explain(error, record.data, LedgerLine)]
    draft.problems += wrong[:_MOST_MESSAGES]
    if len(wrong) > _MOST_MESSAGES:
        draft.more.append(Problem(f"and {len(wrong) - _MOST_MESSAGES} more mistakes in {LEDGER_FILE}"))
    return tuple(lines)


def append_lines(folder: Path, lines: Sequence[LedgerLine]) -> Path:
    """Put lines at the end of the ledger, durable on return; UsageError, and none is there, when it cannot be done."""
    path = folder / LEDGER_FILE
    text = "".join(json.dumps(line.as_data(), ensure_ascii=False) + "\n" for line in lines)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            wait_for_others(descriptor)
            _append(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    return path


def wait_for_others(descriptor: int) -> None:
    """Have the file alone until it is closed, where the system knows such a thing."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def _append(descriptor: int, data: bytes) -> None:
    size = os.fstat(descriptor).st_size
    if size:
        # An editor may have left the last line without an end.
        os.lseek(descriptor, -1, os.SEEK_END)
        data = data if os.read(descriptor, 1) == b"\n" else b"\n" + data
    try:
        # One write: there is no place between lines at which a kill could find it.
        if os.write(descriptor, data) != len(data):
            raise OSError(errno.ENOSPC, "no space is left for all lines")
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def kind_of(before: str | None, after: str | None) -> str:
    """What an edit did: `added`, `removed` or `edited`; `kept` where it did nothing."""
    return "added" if before is None else "removed" if after is None else "edited" if before != after else "kept"


def moment_now() -> str:
    """Now, as a line of the ledger says it."""
    return iso_time(time.time())


def by_state(lines: Iterable[LedgerLine]) -> dict[State, LedgerLine]:
    """For each state that an edit led to the newest line that says so; of one moment the later in the file."""
    return {line.state: line for line in sorted(lines, key=lambda line: line.moment)}


def newest_first(lines: Iterable[LedgerLine]) -> list[LedgerLine]:
    """The lines by when they were written; of one moment the later in the file first."""
    return sorted(lines, key=lambda line: line.moment)[::-1]


def kept_with_a_run(suite: SuiteModel, signature: Signature) -> tuple[LedgerLine, ...]:
    """What a run's description keeps of the ledger: the edits that led to what the run is scored by.

    Added cases stay out: a set of cases that was brought in at once would be most of
    every run's header, and no reading rests on why a case is there. So does the content of edits: a run has its cases.
    Of a suggestion stays what it was worth.
    """
    now: set[State] = {(part, None, signature.part(part)) for part in SCORED_BY}
    now |= {(TRUTH, case, digest) for case, digest in suite.survey.noted_truths.items()}
    lines = by_state(suite.ledger).items()
    retained = (line for state, line in lines if state in now and line.before is not None)
    return tuple(line.model_copy(update=dict.fromkeys(_CONTENT) | {"suggestion": _bare(line)}) for line in retained)


def _bare(line: LedgerLine) -> SuggestionDecision | None:
    return line.suggestion and line.suggestion.model_copy(update={"value": None, "runs": []})


def worth(decisions: Sequence[SuggestionDecision]) -> tuple[dict[str, Any], str]:
    """How many accepted suggestions these are and what they are worth, as data and as a sentence; "" for none."""
    n, points = len(decisions), sum(item.points or 0.0 for item in decisions)
    counted = "1 accepted suggestion is" if n == 1 else f"{n} accepted suggestions are"
    text = f"{counted} worth {points:+.1f} points in the runs they came from" if n else ""
    return {"n": n, "points": points}, text


def stored_lines(ledger: Iterable[dict[str, Any]]) -> list[LedgerLine]:
    """The lines of a run's description; what is none, as in a snapshot of another hand, is passed over."""
    lines: list[LedgerLine] = []
    for data in ledger:
        try:
            lines.append(LedgerLine.model_validate(data))
        except ValidationError:
            continue
    return lines


_ENOUGH = 100
"""So many records are looked at for names to suggest."""
_MOST_NAMES = 2_000


@slotted
class _Asked:
    """One path that a component asks for."""

    path: str
    get: Getter
    place: Place
    met: bool = False


@slotted
class _Component:
    """A component while the cases go by."""

    name: str
    scorer: Any
    declared: bool
    skipped: bool
    asked: list[_Asked]
    check: Any
    fields: list[str]
    n_missing: int = 0
    first_missing: str = ""
    knows_truth: bool = True


def without_truth(suite: SuiteModel, cases: Iterable[Case]) -> list[str]:
    """The figures that cannot be known, as no case has a truth for them: `score.<component>` of those that are skipped
    then, and `findings.<code>` of codes that nobody else gives."""
    lacking = [
        component
        for component in suite.components
        if component.when_unknown == "skip" and getattr(component.scorer, "needs_truth", True)
    ]
    for case in cases:
        if not lacking:
            return []
        lacking = [item for item in lacking if not _has_truth(item, case)]
    # A judge may name errors of any code.
    others = [component for component in suite.components if component not in lacking]
    codes = set() if suite.judge else set().union(*map(_codes, lacking)) - set().union(*map(_codes, others))
    return [f"score.{item.name}" for item in lacking] + sorted(f"findings.{code}" for code in codes)


def _has_truth(component: Component, case: Case) -> bool:
    try:
        return component.scorer.truth(case) is not None
    except Exception:  # noqa: BLE001 - of a scorer that cannot tell, nothing is left out
        return True


def _codes(component: Component) -> set[str]:
    named = getattr(component.scorer, "finding_codes", None)
    return {component.code or component.name.upper(), *(named() if named else ())}


def _cure(path: str, place: str = "") -> str:
    """How to say that cases may lack what is at a path."""
    where = f"map {place} as " if place else "write "
    return f"; where cases may have none, {where}{{from: {path}, default: null}}"


class TruthCheck:
    """Watches the cases go by and tells afterwards what no case, or not every case, has."""

    def __init__(self, components: tuple[Component, ...], mapping: RowMapping, judge: JudgeModel | None = None) -> None:
        self._components = [_watch(component) for component in components]
        scored = [component for component in components if component.weight > 0]
        judged = judge is not None and any(dimension.weight > 0 for dimension in judge.rubric.dimensions)
        self._evaluated = {component.name for component in scored}
        self._all_skip = bool(scored) and not judged and all(item.when_unknown == "skip" for item in scored)
        self._judge = judge
        self._labels = _labels(judge)
        self._sources = [_Asked(s.path, s.get, ("cases", "map", *s.spec)) for s in mapping.sources]
        self._open_sources = list(self._sources)
        self._record_names: set[str] = set()
        self._case_names: set[str] = set()
        self._n_records = 0
        self._n_cases = 0
        self._any_truth = False

    def see_record(self, record: Record) -> None:
        """Look at a record before it was mapped."""
        self._n_records += 1
        if self._open_sources:
            for source in self._open_sources:
                source.met = source.get(record.data) is not MISSING
            self._open_sources = [source for source in self._open_sources if not source.met]
            _collect(record.data, self._record_names, self._n_records)

    def see(self, case: Case, record: Record, report: Report) -> None:
        """Look at a case; its own contradictions are reported at once."""
        self._n_cases += 1
        self._any_truth = self._any_truth or bool(case.expected)
        if self._n_cases <= _ENOUGH:
            _collect(values_of(case, "expected", "input"), self._case_names, self._n_cases)
        for component in self._components:
            for asked in component.asked:
                asked.met = asked.met or asked.get(case) is not MISSING
            try:
                self._look(component, case, record, report)
            except UserCodeError as error:
                if isinstance(error.__cause__, NotImplementedError):
                    component.knows_truth = False
                else:
                    report(record.problem(f"case {case.id}: {error}"))
        self._look_at_labels(case, record, report)
        evidence = None if self._judge is None else self._judge.evidence
        if evidence is not None and evidence.quotes_from and evidence.of_answer is None:
            try:
                evidence.passages(case)
            except ValueError as error:
                report(record.problem(f"case {case.id}: {error}"))
        if self._all_skip and self._nothing_to_score(case):
            report(
                record.problem(
                    f"case {case.id}: nothing to score: it has no truth for any component, and all are skipped"
                )
            )

    def is_known(self, case: Case) -> bool:
        """Whether a case has all of the truth that scorers read, so that its answers could be scored."""
        needed = [asked for component in self._components if not component.declared for asked in component.asked]
        values = [asked.get(case) for asked in needed if split_path(asked.path)[:1] == ("expected",)]
        return bool(values) and not any(value is MISSING or value in (None, "", [], {}) for value in values)

    def _nothing_to_score(self, case: Case) -> bool:
        return all(
            component.knows_truth and component.scorer.truth(case) is None
            for component in self._components
            if component.name in self._evaluated
        )

    def _look_at_labels(self, case: Case, record: Record, report: Report) -> None:
        if self._judge is None or self._labels is None:
            return
        self._labels.met = self._labels.met or self._labels.get(case) is not MISSING
        try:
            labels_of(case, self._judge)
        except ValueError as error:
            report(record.problem(f"case {case.id}: {error}", split_path(self._judge.labels)[-1]))

    def _look(self, component: _Component, case: Case, record: Record, report: Report) -> None:
        who, scorer = f"the scorer of {component.name}", component.scorer
        if component.check is not None and (wrong := checked_call(who, component.check, case, returns=str | None)):
            report(_problem(record, wrong, component.fields))
        elif (
            component.knows_truth
            and not component.declared
            and checked_call(who, scorer.truth, case, returns=object) is None
        ):
            component.n_missing += 1
            component.first_missing = component.first_missing or f"{case.id} at {record.place}"

    def unmet(self) -> Iterator[tuple[str, Place]]:
        """What is in no case, and which truth is missing without a declared policy."""
        for source in self._sources:
            if not source.met and self._n_records:
                hint = meant(source.path, self._record_names)
                message = f"{source.path} is in none of the {self._n_records} records{hint}{_cure(source.path)}"
                yield message, source.place
        if not self._n_cases:
            return
        for component in self._components:
            unmet = [asked for asked in component.asked if not asked.met and not self._left_out(component, asked)]
            for asked in unmet:
                yield self._in_no_case(asked.path), asked.place
            if component.n_missing and not unmet:
                yield self._untold_truth(component), ("score", component.name)
        if self._labels is not None and not self._labels.met:
            yield self._in_no_case(self._labels.path), self._labels.place

    def _in_no_case(self, path: str) -> str:
        hint = _hint(path, self._case_names)
        if not hint and split_path(path)[0] not in FIELDS:
            hint = f"; a path into a case begins with one of {', '.join(FIELDS)}"
        hint = hint or _cure(path.rpartition(".")[2], path)
        return f"{path} is in none of the {self._n_cases} cases{hint}"

    def _left_out(self, component: _Component, asked: _Asked) -> bool:
        """Whether the cases simply have no truth, which the component is declared to be skipped for: they expect
        nothing at all, so that the path is no slip."""
        return component.skipped and not self._any_truth and split_path(asked.path)[0] == "expected"

    def _untold_truth(self, component: _Component) -> str:
        name, n = component.name, component.n_missing
        if n == self._n_cases:
            return f"score.{name}: none of the {n} cases has a truth for it"
        return (
            f"score.{name}: {n} of {self._n_cases} cases have no truth for it (the first is {component.first_missing}):"
            " say what then, with when_unknown: skip or when_unknown: say_unknown; or write pending: true in a case"
            " whose truth is still to be found"
        )


def _watch(component: Component) -> _Component:
    # Checks stand under a key of their own, and name their paths as `<check>.<key>`.
    is_expect = component.scorer_name == EXPECT
    where: Place = (EXPECT,) if is_expect else ("score", component.name, component.scorer_name)
    asked = [
        _Asked(path, compile_path(path), (*where, *_steps(name, dotted=is_expect)))
        for name, path in case_paths(component.scorer)
    ]
    fields = [split_path(item.path)[-1] for item in asked if item.path]
    check = getattr(component.scorer, "check", None)
    return _Component(
        name=component.name,
        scorer=component.scorer,
        declared=component.when_unknown is not None,
        skipped=component.when_unknown == "skip",
        asked=asked,
        check=check if callable(check) else None,
        fields=fields,
        knows_truth=getattr(component.scorer, "needs_truth", True),
    )


def _steps(name: str, *, dotted: bool) -> Place:
    return tuple(int(step) if step.isdigit() else step for step in name.split(".")) if dotted else (name,)


def _labels(judge: JudgeModel | None) -> _Asked | None:
    if judge is None or not judge.labels or check_path(judge.labels):
        return None
    return _Asked(judge.labels, compile_path(judge.labels), ("judge", "labels"))


def case_paths(scorer: Any) -> Iterator[tuple[str, str]]:
    """The scorer's parameters that name a place in the case, with the path each holds."""
    for name in getattr(scorer, "case_paths", ()):
        path = getattr(scorer, name, None)
        if isinstance(path, str) and path:
            yield name, path
    if hasattr(scorer, "truth_paths"):
        yield from scorer.truth_paths().items()


def in_no_case(path: str, cases: Iterable[Case]) -> str:
    """`input.lung is in no case: did you mean input.lang?`; "" when one has it."""
    read, names = compile_path(path), set[str]()
    for n, case in enumerate(cases):
        if read(case) is not MISSING:
            return ""
        _collect(values_of(case, "expected", "input"), names, n)
    return f"{path} is in no case{_hint(path, names)}"


def _hint(path: str, names: set[str]) -> str:
    """What was probably meant, also for an `x` that lacks its first step: expected.x."""
    for first in ("expected", "input"):
        if f"{first}.{path}" in names:
            return f": did you mean {first}.{path}?"
    return meant(path, names)


def _problem(record: Record, message: str, fields: list[str]) -> Problem:
    named = [name for name in fields if name in message] or fields
    return Problem(message, record.file, record.line_of(named))


def _collect(data: Any, names: set[str], n: int, before: str = "") -> None:
    """Add the dotted names in `data` to those that can be suggested."""
    if n > _ENOUGH or len(names) > _MOST_NAMES or not isinstance(data, dict) or before.count(".") > 4:
        return
    for key, value in data.items():
        name = f"{before}.{key}" if before else str(key)
        names.add(name)
        _collect(value, names, n, name)
