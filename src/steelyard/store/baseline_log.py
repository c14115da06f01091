"""The log of baselines: which run a baseline's name has stood for. Lines are added, never changed."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.errors import RunNotFound
from steelyard.frozen import frozen
from steelyard.records import BASELINE_SIGN, Signature
from steelyard.store.codec import columns_of, from_row, to_row
from steelyard.store.databases import Session
from steelyard.store.stored_text import to_stored

_BASELINES = """
SELECT b.suite_name, b.name, r.id, b.made_at, b.made_by, b.reason, b.removed, b.forced, b.signature
FROM baselines b JOIN runs r ON r.number = b.run
"""


@frozen
class BaselineEntry:
    """One line of the log: a name was given to a run of its suite, or taken away from it."""

    suite_name: str
    name: str
    run_id: str
    made_at: float
    made_by: str
    reason: str = ""
    removed: bool = False
    forced: bool = False
    """True when the run was locked although it is INVALID, suspect or partial."""
    signature: Signature = Signature()
    """The run's, when it was locked."""


def keep_baseline(session: Session, entry: BaselineEntry, run: int) -> None:
    """Add a line; `run` is the run's number."""
    values = dict(zip(columns_of(BaselineEntry), to_row(entry), strict=True))
    del values["run_id"]
    session.insert("baselines", ("run", *values), [(run, *values.values())])


def baseline_entries(session: Session, suite: str | None) -> list[BaselineEntry]:
    """The log, oldest line first: of one suite, or of all."""
    where, values = ("", []) if suite is None else ("WHERE b.suite_name = ?", [to_stored(suite)])
    return [from_row(BaselineEntry, row) for row in session.execute(f"{_BASELINES} {where} ORDER BY b.number", values)]


def standing(entries: Iterable[BaselineEntry]) -> dict[tuple[str, str], BaselineEntry]:
    """By suite and name, the lock that holds: the newest line, unless it is a removal."""
    newest = {(entry.suite_name, entry.name): entry for entry in entries}
    return {key: entry for key, entry in sorted(newest.items()) if not entry.removed}


def run_behind(session: Session, name: str) -> str | None:
    """The id of the run that a baseline stands for, by `release`, `@release` or `@suite/release`; None when none does.

    RunNotFound when the name may mean several, or when it is written as a baseline and there is none.
    """
    written, asked = name.startswith(BASELINE_SIGN), name.removeprefix(BASELINE_SIGN)
    locks = standing(baseline_entries(session, None))
    suite, _, alone = asked.rpartition("/")
    results = [lock for lock in locks.values() if lock.name == asked or (lock.suite_name, lock.name) == (suite, alone)]
    if len(results) == 1:
        return results[0].run_id
    if results:
        names = ", ".join(f"{BASELINE_SIGN}{lock.suite_name}/{lock.name}" for lock in results)
        raise RunNotFound(f"several suites have a baseline {asked!r}: write one of {names}")
    if not written:
        return None
    there = ", ".join(f"{BASELINE_SIGN}{lock.name} (of {lock.suite_name})" for lock in locks.values())
    message = f"there are: {there}" if there else "there is none yet"
    raise RunNotFound(
        f"no baseline {asked!r}: {message}. Lock one: steelyard baseline set RUN --name {asked or 'release'}"
    )
