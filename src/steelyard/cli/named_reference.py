"""What `--against` names: a baseline, a run, or a snapshot file."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.decide.baselines import Reference
    from steelyard.store.base import Store

_FOREIGN = "bring it in first: steelyard import {file} --suite SUITE"


def reference_of(store: Store, name: str | None, suite: str, closing: ExitStack) -> Reference | None:
    """The run to be held against; None when nothing was asked for, UserMistake when there is none of that name.

    A file whose name ends with .json is read as it is and not put into the store; `release.json` stands for the
    baseline `release` in the gates of the suite.
    """
    from steelyard.decide.baselines import find_reference

    if name is None:
        return None
    return file_reference(name, suite, closing) if names_a_file(name) else find_reference(store, name, suite)


def names_a_file(name: str) -> bool:
    """Whether a snapshot file is named, which needs no store."""
    return name.lower().endswith(".json")


def file_reference(name: str, suite: str, closing: ExitStack) -> Reference:
    """The run in a snapshot file; UserMistake when it is not of the suite."""
    from steelyard.cli.found_run import FoundRuns
    from steelyard.decide.baselines import Reference
    from steelyard.errors import UserMistake

    own, run_id = FoundRuns(None, closing, hint=_FOREIGN).find(name)
    found = own.run(run_id)
    if found.suite_name != suite:
        raise UserMistake(f"{name} holds a run of suite {found.suite_name}, not of {suite}")
    return Reference(Path(name).stem, found.id, own)
