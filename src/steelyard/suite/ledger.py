"""The ledger of a suite: one line for each edit of its truth or of how answers are scored, with its reason."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from steelyard.errors import Problem, UsageError
from steelyard.records import Signature
from steelyard.suite.models import SuiteModel
from steelyard.suite.readers import read_records
from steelyard.suite.yaml import explain, result
from steelyard.wording import iso_time

if TYPE_CHECKING:
    from steelyard.suite.draft import Draft

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
