"""Reads a snapshot file record by record, believing nothing before it has been checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TextIO

from steelyard.errors import SnapshotError
from steelyard.records import RunHeader, RunState, Sample
from steelyard.store.database import Session, in_pieces
from steelyard.store.keep import Layouts, keep_cases, keep_samples
from steelyard.store.rows import RUN_COLUMNS, case_row, run_row
from steelyard.store.snapshot_check import first_problem
from steelyard.store.snapshot_form import FORMAT, VERSION, ContentDigest, run_from, sample_from
from steelyard.store.sql import UPDATE_RUN, median_latency
from steelyard.suite.case import Case
from steelyard.suite.json_stream import BrokenJson, JsonCursor

BATCH = 500
"""How many records are in memory at a time."""

_DAMAGED = "The file is damaged or was edited: export the run again. Nothing was imported"


class SnapshotReader:
    """One pass over a snapshot: header, then cases, then samples, then `finish`."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._cursor = JsonCursor(file)
        self._name = name
        self._keys: Iterator[str] = iter(())
        self._digest = ContentDigest()
        self._hashes: set[int] = set()
        """The hashes of the cases seen, as numbers: a fifth of the memory of text."""

    def header(self) -> RunHeader:
        """The run; SnapshotError when the file is something else, or newer than this version reads."""
        try:
            self._keys = self._cursor.members()
            first = next(self._keys, None)
            if first != "format" or self._cursor.value()[0] != FORMAT:
                raise self._foreign()
        except BrokenJson:
            raise self._foreign() from None
        self._go_to("version")
        version, line, _text = self._value()
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise self._error(f"version {version!r} is not a snapshot version. {_DAMAGED}", line)
        if version > VERSION:
            raise self._error(
                f"the snapshot is version {version}, this Steelyard reads up to {VERSION}: upgrade it "
                "(pip install -U steelyard). Nothing was imported",
                line,
            )
        self._go_to("run")
        data, line, _text = self._value()
        self._take(data, line, first_problem("run"))
        return run_from(data)

    def cases(self) -> Iterator[tuple[str, str, str]]:
        """Each case as the row it is stored in, in the order of the file."""
        self._go_to("cases")
        check = first_problem("case")
        for data, line in self._elements():
            self._take(data, line, check)
            row = case_row(Case.from_data(data))
            self._hashes.add(int(row[1], 16))
            yield row

    def samples(self) -> Iterator[Sample]:
        """Each sample, in the order of the plan; its case has come before."""
        self._go_to("samples")
        check = first_problem("sample")
        last = -1
        for data, line in self._elements():
            self._take(data, line, check)
            if int(data["case_hash"], 16) not in self._hashes:
                raise self._error(f"case {data['case']!r} is not among the cases. {_DAMAGED}", line)
            if data["position"] <= last:
                raise self._error(f"position {data['position']} comes after {last}. {_DAMAGED}", line)
            last = data["position"]
            yield sample_from(data)

    def finish(self) -> str:
        """The digest, once it is clear that the file ends here and holds what it held when it was written."""
        self._go_to("digest")
        digest, line, _text = self._value()
        if digest != self._digest.text():
            raise self._error(f"the content does not fit the digest {str(digest)[:80]!r}. {_DAMAGED}", line)
        try:
            for extra in self._keys:
                raise self._error(f"unexpected {extra!r}. {_DAMAGED}", self._cursor.line)
            self._cursor.end()
        except BrokenJson as error:
            raise self._broken(error) from None
        return self._digest.text()

    def skim(self) -> str:
        """The digest after reading and checking the rest."""
        for _case in self.cases():
            pass
        for _sample in self.samples():
            pass
        return self.finish()

    def _go_to(self, key: str) -> None:
        try:
            found = next(self._keys, None)
        except BrokenJson as error:
            raise self._broken(error) from None
        if found != key:
            expected = f"expected {key!r} here, found {found!r}" if found else f"{key!r} is missing"
            raise self._error(f"{expected}. {_DAMAGED}", self._cursor.line)

    def _value(self) -> tuple[Any, int, str]:
        try:
            return self._cursor.value()
        except BrokenJson as error:
            raise self._broken(error) from None

    def _elements(self) -> Iterator[tuple[Any, int]]:
        try:
            for data, line, _text in self._cursor.elements():
                yield data, line
        except BrokenJson as error:
            raise self._broken(error) from None

    def _take(self, data: Any, line: int, check: Callable[[Any], str | None]) -> None:
        if problem := check(data):
            raise self._error(f"{problem}. {_DAMAGED}", line)
        self._digest.add(data)

    def _foreign(self) -> SnapshotError:
        return SnapshotError(
            f"{self._name} is not a Steelyard snapshot: it does not begin with "
            f'{{"format": "{FORMAT}", ...}}. Nothing was imported'
        )

    def _broken(self, error: BrokenJson) -> SnapshotError:
        return self._error(f"{error}. {_DAMAGED}", error.line)

    def _error(self, message: str, line: int) -> SnapshotError:
        return SnapshotError(f"{self._name}:{line}: {message}")


def keep_snapshot(session: Session, reader: SnapshotReader, header: RunHeader) -> None:
    """Store a whole snapshot inside one transaction."""
    values = dict(zip(RUN_COLUMNS, run_row(header), strict=True))
    # Nothing can be added to an ended run, so it ends last.
    values["state"] = RunState.RUNNING.value
    session.insert("runs", RUN_COLUMNS, [tuple(values.values())])
    run = int(session.execute("SELECT number FROM runs WHERE id = ?", (values["id"],))[0][0])
    for cases in in_pieces(reader.cases(), BATCH):
        keep_cases(session, cases)
    layouts: Layouts | None = None
    for samples in in_pieces(reader.samples(), BATCH):
        layouts = keep_samples(session, run, samples, [sample.case_hash for sample in samples], layouts)
    reader.finish()
    session.execute(UPDATE_RUN, (*run_row(header), median_latency(session, run, header), run))
