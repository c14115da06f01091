"""Baselines: a run that others are held against, under a name of its suite. Every lock and removal is logged."""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from steelyard.analysis.stored import summarise_stored
from steelyard.errors import UserMistake
from steelyard.records import RunHeader, RunState, Verdict
from steelyard.release.verdict import decide
from steelyard.store.base import Store
from steelyard.store.baselines import BaselineEntry, standing
from steelyard.suite.baseline_names import BASELINE_SIGN, wrong_with_name
from steelyard.suite.gates import is_relative
from steelyard.suite.spelling import listed, meant


def set_baseline(
    store: Store, run: RunHeader, name: str, *, by: str, reason: str = "", force: bool = False
) -> BaselineEntry:
    """Lock a run under a name of its suite, in the place of what had the name before.

    UserMistake when the run is no sound reading, unless it is forced with a reason.
    """
    if wrong := wrong_with_name(name):
        raise UserMistake(wrong)
    if force and not reason.strip():
        raise UserMistake('--force asks for --reason "...": the log keeps why a doubtful run became a baseline')
    doubts = why_unsound(store, run)
    if doubts and not force:
        told = "".join(f"\n  - {doubt}" for doubt in doubts)
        raise UserMistake(
            f"run {run.id} is no sound baseline:{told}\n"
            'Choose another run, or lock it all the same with --force --reason "..."'
        )
    entry = BaselineEntry(
        suite_name=run.suite_name,
        name=name,
        run_id=run.id,
        made_at=time.time(),
        made_by=by,
        reason=reason.strip(),
        forced=bool(doubts),
        signature=run.signature,
    )
    store.log_baseline(entry)
    return entry


def why_unsound(store: Store, run: RunHeader) -> list[str]:
    """Why nothing should be held against a run: it is not finished, INVALID, AMBIGUOUS or suspect.

    What its gates relative to other baselines come to has no part in it: the first baseline has none before it.
    """
    if run.state is not RunState.ENDED:
        return [f"it has not ended: it is {run.state.value}"]
    absolute = run.suite | {"gates": [gate for gate in run.suite.get("gates") or () if not is_relative(gate)]}
    summary = summarise_stored(store, run.id, run.suite, only_for_gates=True)
    decision = decide(summary, absolute, state=run.state, suspect=run.suspect, gone=run.options.get("broken"))
    if decision.verdict in (Verdict.INVALID, Verdict.AMBIGUOUS):
        return [f"it is {decision.verdict.value}: {reason}" for reason in decision.reasons]
    return [f"it is suspect: {reason}" for reason in run.suspect]


def remove_baseline(store: Store, lock: BaselineEntry, *, by: str, reason: str) -> BaselineEntry:
    """Take the name away from its run; the log keeps both."""
    if not reason.strip():
        raise UserMistake('give --reason "...": the log keeps why a baseline went')
    entry = BaselineEntry(
        suite_name=lock.suite_name,
        name=lock.name,
        run_id=lock.run_id,
        made_at=time.time(),
        made_by=by,
        reason=reason.strip(),
        removed=True,
        signature=lock.signature,
    )
    store.log_baseline(entry)
    return entry


def baselines(store: Store, suite: str | None = None) -> list[BaselineEntry]:
    """The locks that hold, by suite and name."""
    return list(standing(store.baseline_log(suite)).values())


def find_baseline(store: Store, name: str, suite: str | None = None) -> BaselineEntry:
    """The lock of that name, written `release`, `@release` or `@suite/release`; UserMistake when there is none, or when
    several suites have one and `suite` does not say which."""
    asked = name.removeprefix(BASELINE_SIGN)
    locks = baselines(store, suite)
    of_suite, _, alone = asked.rpartition("/")
    found = [lock for lock in locks if lock.name == asked or (lock.suite_name, lock.name) == (of_suite, alone)]
    if len(found) == 1:
        return found[0]
    if found:
        suites = listed([lock.suite_name for lock in found])
        raise UserMistake(f"several suites have a baseline {asked!r}: {suites}. Say which with --suite NAME")
    raise UserMistake(no_baseline(asked, suite, [lock.name for lock in locks]))


def no_baseline(name: str, suite: str | None, names: list[str]) -> str:
    """That there is no such baseline, what there is, and how to make it."""
    of = f"suite {suite} has no baseline {name!r}" if suite else f"there is no baseline {name!r}"
    close = meant(name, names)
    hint = close.removesuffix("?") or (f"; there are: {listed(names)}" if names else "")
    return f"{of}{hint}{'?' if close else '.'} Lock a run under this name: steelyard baseline set RUN --name {name}"


def whoever(env: Mapping[str, str] | None = None) -> str:
    """Who is at work, as the log names them: `ada@workshop`; in a CI, who set it off."""
    env = os.environ if env is None else env
    actor = env.get("GITHUB_ACTOR") or env.get("GITLAB_USER_LOGIN")
    if actor:
        return actor
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"
    return f"{user}@{socket.gethostname()}"


def entry_data(entry: BaselineEntry) -> dict[str, Any]:
    """One line of the log as plain data."""
    return {
        "suite": entry.suite_name,
        "name": entry.name,
        "run": entry.run_id,
        "made_at": entry.made_at,
        "by": entry.made_by,
        "reason": entry.reason or None,
        "removed": entry.removed,
        "forced": entry.forced,
        "signature": entry.signature,
    }
