"""What `--against` names: a baseline, a run, or a snapshot file."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.release.baseline_gates import Reference
    from steelyard.store.base import Store

_FOREIGN = "bring it in first: steelyard import {file} --suite SUITE"


def reference_of(store: Store, name: str | None, suite: str, closing: ExitStack) -> Reference | None:
    """The run to be held against; None when nothing was asked for, UserMistake when there is none of that name.

    A file whose name ends with .json is read as it is and not put into the store; `release.json` stands for the
    baseline `release` in the gates of the suite.
    """
    from steelyard.cli.found_run import FoundRuns
    from steelyard.errors import UserMistake
    from steelyard.release.baseline_gates import Reference, find_reference

    if name is None:
        return None
    if not name.lower().endswith(".json"):
        return find_reference(store, name, suite)
    own, run_id = FoundRuns(None, closing, hint=_FOREIGN).find(name)
    found = own.run(run_id)
    if found.suite_name != suite:
        raise UserMistake(f"{name} holds a run of suite {found.suite_name}, not of {suite}")
    return Reference(Path(name).stem, found.id, own)
