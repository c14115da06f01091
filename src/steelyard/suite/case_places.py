"""Where cases stand in their files, for whoever wants to point at them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import SteelyardError
from steelyard.suite.model import SuiteModel


@dataclass(frozen=True, slots=True)
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
    wanted, found = set(ids), {}
    # Files may have changed while the suite was weighed: then some places are not known, and nothing else is lost.
    with suppress(SteelyardError, OSError):
        for case in suite.cases if wanted else ():
            if case.id not in wanted:
                continue
            wanted.remove(case.id)
            place = place_of(suite.folder, case.source)
            if place is not None:
                found[case.id] = place
            if not wanted:
                break
    return found


def place_of(folder: Path, source: str) -> CasePlace | None:
    """What `cases/one.json:12`, the way a case names its source, stands for; None when there is no such file."""
    name, colon, line = source.rpartition(":")
    if colon and line.isdecimal() and (folder / name).is_file():
        return CasePlace(folder / name, int(line))
    return CasePlace(folder / source) if source and (folder / source).is_file() else None
