"""The ledger: why the truth of a case, or what an answer is weighed by, is another than it was.

It is a file beside the suite file, a line an edit. Lines are added at its end and never changed.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from steelyard.errors import Mistake, UserMistake
from steelyard.suite.draft import Draft
from steelyard.suite.problems import explain
from steelyard.suite.readers import read_records
from steelyard.suite.spelling import found

if TYPE_CHECKING:
    from steelyard.suite.model import SuiteModel

LEDGER_FILE = "ledger.jsonl"
TRUTH = "truth"
WEIGHED_BY = ("scorers", "schema", "rules")
"""The parts of a signature that say how answers are weighed; each may be edited for a reason of its own."""
NAMES = {
    "scorers": "scorers, weights, bands or pass rule",
    "schema": "the shape asked of answers",
    "rules": "what is made of the judge's words",
}
_MOST_TOLD = 20

State = tuple[str, str | None, str | None]
"""What was edited, of which case (None for how answers are weighed), and its digest afterwards."""


class LedgerLine(BaseModel):
    """One edit and its reason."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    at: str
    """ISO 8601, in UTC."""
    by: str = Field(min_length=1)
    what: Literal["truth", "scorers", "schema", "rules"]
    case: str | None = None
    """The case whose truth was edited; None for how answers are weighed."""
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
        if (self.what == TRUTH) != bool(self.case):
            raise ValueError("case names the case whose truth was edited" + ("" if self.case else ": it is missing"))
        if self.case is None and (self.before is None or self.after is None):
            raise ValueError("only of a case may before or after be null: it was added or removed")
        if self.before == self.after:
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
        return self.model_dump(exclude={"case"} if self.case is None else None)


def read_ledger(draft: Draft) -> tuple[LedgerLine, ...]:
    """The lines of the ledger beside the suite file, in its order; none where there is no such file.

    Everything wrong with it is noted.
    """
    path = draft.folder / LEDGER_FILE
    lines: list[LedgerLine] = []
    wrong: list[Mistake] = []
    if not path.exists():
        return ()
    for record in read_records(path, LEDGER_FILE, "", wrong.append):
        if not isinstance(record.data, dict):
            wrong.append(record.mistake(f"a line of the ledger is a group of keys; {found(record.data)}"))
            continue
        try:
            lines.append(LedgerLine.model_validate(record.data))
        except ValidationError as error:
            wrong += [record.mistake(problem.message) for problem in explain(error, record.data, LedgerLine)]
    draft.mistakes += wrong[:_MOST_TOLD]
    if len(wrong) > _MOST_TOLD:
        draft.more.append(Mistake(f"and {len(wrong) - _MOST_TOLD} more mistakes in {LEDGER_FILE}"))
    return tuple(lines)


def append_lines(folder: Path, lines: Sequence[LedgerLine]) -> Path:
    """Put lines at the end of the ledger, durable on return; UserMistake, and none is there, when it cannot be done."""
    path = folder / LEDGER_FILE
    text = "".join(json.dumps(line.as_data(), ensure_ascii=False) + "\n" for line in lines)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            _wait_for_others(descriptor)
            _append(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UserMistake(f"{path} cannot be written: {error.strerror or error}") from None
    return path


def _wait_for_others(descriptor: int) -> None:
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
    """What an edit did: `added`, `removed` or `edited`."""
    return "added" if before is None else "removed" if after is None else "edited"


def moment_now() -> str:
    """Now, as a line of the ledger says it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def by_state(lines: Iterable[LedgerLine]) -> dict[State, LedgerLine]:
    """For each state that an edit led to the newest line that says so; of one moment the later in the file."""
    return {line.state: line for line in sorted(lines, key=lambda line: line.moment)}


def newest_first(lines: Iterable[LedgerLine]) -> list[LedgerLine]:
    """The lines by when they were written; of one moment the later in the file first."""
    return sorted(lines, key=lambda line: line.moment)[::-1]


def kept_with_a_run(suite: SuiteModel, signature: dict[str, Any]) -> dict[str, Any]:
    """What a run's description keeps of the ledger: the edits that led to what the run is weighed by.

    Nothing where there are none. Added cases stay out: a set of cases that was brought in at once would be most of
    every run's header, and no reading rests on why a case is there.
    """
    now: set[State] = {(part, None, signature.get(part)) for part in WEIGHED_BY}
    now |= {(TRUTH, case, digest) for case, digest in suite.survey.noted_truths.items()}
    kept = [
        line.as_data() for state, line in by_state(suite.ledger).items() if state in now and line.before is not None
    ]
    return {"ledger": kept} if kept else {}


def lines_kept(description: dict[str, Any]) -> list[LedgerLine]:
    """The lines that a run's description keeps; what is none, as in a snapshot of another hand, is passed over."""
    kept = description.get("ledger")
    lines: list[LedgerLine] = []
    for data in kept if isinstance(kept, list) else ():
        try:
            lines.append(LedgerLine.model_validate(data))
        except ValidationError:
            continue
    return lines
