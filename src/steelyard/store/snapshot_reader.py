"""Reads a snapshot line by line, and refuses one that is damaged or was edited."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TextIO

import jsonschema_rs

from steelyard.errors import SnapshotError
from steelyard.records import RunHeader, RunState, Sample
from steelyard.store.case_rows import case_row
from steelyard.store.codec import decode, encode
from steelyard.store.headers import stated_all_cached
from steelyard.store.snapshot_format import FORMAT, KINDS, VERSION, ContentDigest, snapshot_schema
from steelyard.suite.case import Case
from steelyard.suite.readers import BrokenJson, JsonCursor

_DAMAGED = "The file is damaged or was edited: export the run again. Nothing was imported"
_HASH = re.compile("[0-9a-f]{16}")


class SnapshotReader:
    """One pass over a snapshot: header, then cases, then samples, then `finish`."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._cursor = JsonCursor(file)
        self._name = name
        self._keys: Iterator[str] = iter(())
        self._digest = ContentDigest()
        self._as_now: ContentDigest | None = None
        """The same of the run as this version writes it, where it was written by one that wrote more of it."""
        self._hashes: set[int] = set()
        """The hashes of the cases seen, as numbers: a fifth of the memory of text."""

    def header(self) -> RunHeader:
        """The run; SnapshotError when the file is something else, or of another version."""
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
        problem = _first_problem("run")
        self._take(data, line, lambda run: problem(_without_summary(run)))
        if not data["id"]:
            raise self._error(f"run.id: it is empty. {_DAMAGED}", line)
        header = decode(RunHeader, _without_summary(data))
        if "summary" in data:
            # Of before the figures were rows: they are made of the samples again.
            all_cached = header.state is RunState.ENDED and stated_all_cached(data["summary"])
            header = replace(header, options=replace(header.options, all_cached=all_cached))
            self._as_now = ContentDigest()
            self._as_now.add(encode(header))
        return header

    def cases(self) -> Iterator[tuple[str, str, str]]:
        """Each case as the row it is stored in, in the order of the file."""
        self._go_to("cases")
        check = _first_problem("case")
        for data, line in self._elements():
            self._take(data, line, check)
            row = case_row(decode(Case, data))
            self._hashes.add(int(row[1], 16))
            yield row

    def samples(self) -> Iterator[Sample]:
        """Each sample, in the order of the plan; its case has come before."""
        self._go_to("samples")
        check = _first_problem("sample")
        last = -1
        for data, line in self._elements():
            self._take(data, line, check)
            sample = decode(Sample, data)
            if not _HASH.fullmatch(sample.case_hash) or int(sample.case_hash, 16) not in self._hashes:
                raise self._error(f"case {sample.case_id!r} is not among the cases. {_DAMAGED}", line)
            if sample.position is None or sample.position <= last:
                raise self._error(f"position {sample.position} comes after {last}. {_DAMAGED}", line)
            last = sample.position
            yield sample

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
        return (self._as_now or self._digest).text()

    def skim(self) -> str:
        """The digest that this version writes, after reading and checking the rest."""
        for _case in self.cases():
            pass
        for _sample in self.samples():
            pass
        return self.finish()

    def _go_to(self, key: str) -> None:
        try:
            result = next(self._keys, None)
        except BrokenJson as error:
            raise self._broken(error) from None
        if result != key:
            expected = f"expected {key!r} here, found {result!r}" if result else f"{key!r} is missing"
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
        if self._as_now is not None:
            self._as_now.add(data)

    def _foreign(self) -> SnapshotError:
        return SnapshotError(
            f"{self._name} is not a Steelyard snapshot: it does not begin with "
            f'{{"format": "{FORMAT}", ...}}. Nothing was imported'
        )

    def _broken(self, error: BrokenJson) -> SnapshotError:
        return self._error(f"{error}. {_DAMAGED}", error.line)

    def _error(self, message: str, line: int) -> SnapshotError:
        return SnapshotError(f"{self._name}:{line}: {message}")


def _first_problem(kind: str) -> Callable[[Any], str | None]:
    """A check of one `run`, `case` or `sample`: the first thing wrong with it in words, or None."""
    schema = snapshot_schema()
    validator = jsonschema_rs.Draft202012Validator(
        {"$ref": f"#/$defs/{KINDS[kind].__name__}", "$defs": schema["$defs"]}, retriever=_no_remote
    )

    def check(record: Any) -> str | None:
        try:
            return problem(record)
        except UnicodeEncodeError:
            # The validator can neither look up nor quote half of a surrogate pair, which model output may hold.
            return problem(_without_halves(record))

    def problem(record: Any) -> str | None:
        if validator.is_valid(record):
            return None
        error = next(iter(validator.iter_errors(record)))
        place = ".".join(str(step) for step in error.instance_path)
        message = error.message if len(error.message) <= 200 else f"{error.message[:200]}..."
        return f"{kind}{f'.{place}' if place else ''}: {message}"

    return check


def _without_summary(run: Any) -> Any:
    return {name: value for name, value in run.items() if name != "summary"} if isinstance(run, dict) else run


def _without_halves(data: Any) -> Any:
    """The same with another character for each half of a surrogate pair: of the same shape, only to be checked."""
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode()
    if isinstance(data, dict):
        return {_without_halves(key): _without_halves(value) for key, value in data.items()}
    return [_without_halves(item) for item in data] if isinstance(data, list) else data


def _no_remote(address: str) -> Any:
    raise ValueError(f"a snapshot's schema refers to nothing outside itself, not to {address}")
