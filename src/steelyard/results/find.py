"""Where a run that a person names is: in the store, in a snapshot, or in a results file of a suite's own format.

What `--against` names may also be a baseline: `reference_of` finds it.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard import plugins
from steelyard.errors import SnapshotError, UsageError

if TYPE_CHECKING:
    from steelyard.decide.baselines import Reference
    from steelyard.store.base import Store
    from steelyard.store.sql import SqlStore

    StoredRun = tuple[Store, str]
    """A store, and the name of a run in it."""

FOREIGN = "import it first: steelyard import {file} (with --suite SUITE where it is in a suite's own format)"
"""What to do with a file that another tool wrote."""


def stored_suite_name(store: Store, suite: str) -> str:
    """The name that runs are stored under: as given where the store has runs of it, else that of the suite there."""
    if store.runs(suite, 1):
        return suite
    from steelyard.loading.load import holds_suite, load_suite

    return load_suite(suite).name if holds_suite(suite) else suite


class FoundRuns:
    """Finds runs by name in the store, which is opened when one is asked for, or reads files into stores of their own.

    Whatever is opened or made for it is closed and removed with `closing`; nothing is put into the user's store.
    """

    def __init__(
        self, store_url: str | None, closing: ExitStack, *, hint: str = FOREIGN, suite: str | None = None
    ) -> None:
        """`hint` is what to do with a file that another tool wrote; `suite` reads such files instead of snapshots."""
        self._url, self._closing, self._hint, self._suite = store_url, closing, hint, suite
        self._store: SqlStore | None = None

    def find(self, name: str) -> tuple[SqlStore, str]:
        """The store that holds the run, and the run's name in it; `name` may be a .json file.

        SnapshotError or UsageError when the file cannot be read as a run.
        """
        if self._suite is not None:
            return self._results(Path(name), self._suite)
        if names_a_file(name):
            return self._snapshot(Path(name))
        return self._opened(), name

    def _opened(self) -> SqlStore:
        from steelyard.store.sql import open_store

        if self._store is None:
            self._store = self._closing.enter_context(open_store(self._url, create=False))
        return self._store

    def _snapshot(self, file: Path) -> tuple[SqlStore, str]:
        from steelyard.report.build import build_report
        from steelyard.store.snapshot import read_snapshot

        store = self._own_store(file)
        try:
            return store, read_snapshot(store, file, lambda header: build_report(store, header))
        except SnapshotError as error:
            if "is not a Steelyard snapshot" not in str(error):
                raise
            message = self._hint.format(file=file)
            raise SnapshotError(f"{error}. If another tool wrote it, {message}") from None

    def _results(self, file: Path, suite: str) -> tuple[SqlStore, str]:
        from steelyard.loading.load import load_suite

        store, import_file = self._own_store(file), plugins.find("features", "import_file")
        return store, import_file(load_suite(suite), store, file).header.id

    def _own_store(self, file: Path) -> SqlStore:
        from tempfile import TemporaryDirectory

        from steelyard.store.sql import open_store

        if not file.is_file():
            what = "snapshot" if self._suite is None else "results file"
            raise UsageError(f"there is no {what} at {file}")
        folder = self._closing.enter_context(TemporaryDirectory(prefix="steelyard-"))
        return self._closing.enter_context(open_store(str(Path(folder) / "snapshot.db")))


def reference_of(store: Store, name: str | None, suite: str, closing: ExitStack) -> Reference | None:
    """The run to be compared with; None when nothing was asked for, UsageError when there is none of that name.

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
    """The run in a snapshot file; UsageError when it is not of the suite."""
    from steelyard.decide.baselines import Reference

    own, run_id = FoundRuns(None, closing).find(name)
    result = own.run(run_id)
    if result.suite_name != suite:
        raise UsageError(f"{name} holds a run of suite {result.suite_name}, not of {suite}")
    return Reference(Path(name).stem, result.id, own)
