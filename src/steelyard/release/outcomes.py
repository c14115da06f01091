"""Outcomes of an online experiment, read from JSONL or CSV: one entry a unit, and everything counted that is none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.errors import Mistake, SuiteError, UserMistake
from steelyard.release.online_file import ColumnsPart, OnlineExperiment
from steelyard.suite.paths import MISSING, Getter, compile_path
from steelyard.suite.readers import read_records
from steelyard.suite.record import Record
from steelyard.suite.spelling import listed, meant, shown

_ENDINGS = (".csv", ".jsonl", ".ndjson")
_MOST_TOLD = 20
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")


@dataclass(slots=True)
class Mean:
    """A mean of numbers that may be missing."""

    total: float = 0.0
    n: int = 0

    def add(self, value: float | None) -> None:
        """Take one more; None is none."""
        if value is not None:
            self.total += value
            self.n += 1


@dataclass(slots=True)
class Unit:
    """Everything that was recorded of one unit."""

    arms: tuple[str, ...]
    """Each once: more than one is a unit that saw both."""
    when: float
    rows: int = 0
    outcome: Mean = field(default_factory=Mean)
    cost: Mean | None = None
    latency: Mean | None = None
    """None where none was ever told: of a million units that is most of the memory."""


@dataclass(slots=True)
class Outcomes:
    """All units, those that were not exposed apart, and how many records there were."""

    units: dict[str, Unit] = field(default_factory=dict)
    n_rows: int = 0
    n_not_exposed: int = 0
    """Records that say themselves that the unit did not see its arm."""
    low: float = math.inf
    high: float = -math.inf
    binary: bool = True
    """True while every outcome is 0 or 1."""
    timed: bool = True
    """True while every record says when it came."""


def read_outcomes(file: Path, experiment: OnlineExperiment) -> Outcomes:
    """The outcomes in a file; SuiteError with the lines that cannot be read, and then nothing is decided."""
    if not file.is_file():
        raise UserMistake(f"there are no outcomes at {file}")
    if file.suffix.lower() not in _ENDINGS:
        raise UserMistake(f"{file.name}: outcomes are read from {listed(list(_ENDINGS))} files")
    mistakes: list[Mistake] = []
    reader = _Reader(experiment, Outcomes(), mistakes)
    for record in read_records(file, file.name, "", mistakes.append):
        reader.take(record)
    if mistakes:
        more = len(mistakes) - _MOST_TOLD
        told = [Mistake(f"and {more:,} more mistakes", file.name)] if more > 0 else []
        raise SuiteError([*mistakes[:_MOST_TOLD], *told])
    if not reader.found.n_rows:
        raise UserMistake(f"{file.name} holds no outcomes")
    return reader.found


class _Reader:
    def __init__(self, experiment: OnlineExperiment, found: Outcomes, mistakes: list[Mistake]) -> None:
        self.found = found
        self._mistakes = mistakes
        self._arms = experiment.arms
        self._alone = {arm: (arm,) for arm in self._arms}
        self._range = experiment.part.outcome.range
        self._columns = experiment.part.columns
        self._get = _getters(self._columns)

    def take(self, record: Record) -> None:
        """One record into the units, or its mistakes among the others."""
        before = len(self._mistakes)
        data = record.data
        if not isinstance(data, dict):
            self._mistakes.append(record.mistake("an outcome is an object with unit, arm and outcome"))
            return
        unit, arm = self._unit(record), self._arm(record)
        exposed = self._exposed(record)
        numbers = {name: self._number(record, name) for name in ("outcome", "cost", "latency")}
        when = self._when(record)
        if len(self._mistakes) > before or unit is None or arm is None:
            return
        self.found.n_rows += 1
        if not exposed:
            self.found.n_not_exposed += 1
            return
        self._keep(unit, arm, when, numbers)

    def _keep(self, unit: str, arm: str, when: float | None, numbers: Mapping[str, float | None]) -> None:
        found = self.found
        found.timed = found.timed and when is not None
        entry = found.units.get(unit)
        if entry is None:
            entry = found.units[unit] = Unit(self._alone[arm], math.inf)
        elif arm not in entry.arms:
            entry.arms = self._arms
        entry.rows += 1
        entry.when = min(entry.when, math.inf if when is None else when)
        entry.outcome.add(outcome := numbers["outcome"])
        if numbers["cost"] is not None:
            entry.cost = entry.cost or Mean()
            entry.cost.add(numbers["cost"])
        if numbers["latency"] is not None:
            entry.latency = entry.latency or Mean()
            entry.latency.add(numbers["latency"])
        if outcome is not None:
            found.low, found.high = min(found.low, outcome), max(found.high, outcome)
            found.binary = found.binary and outcome in (0.0, 1.0)

    def _value(self, record: Record, name: str) -> Any:
        value = self._get[name](record.data)
        return None if value is MISSING or value == "" else value

    def _tell(self, record: Record, name: str, message: str) -> None:
        self._mistakes.append(record.mistake(f"{getattr(self._columns, name)}: {message}"))

    def _unit(self, record: Record) -> str | None:
        value = self._value(record, "unit")
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return str(value)
        known = listed([str(key) for key in record.data])
        self._tell(record, "unit", f"says who it is, as a text or a whole number; the record has {known}")
        return None

    def _arm(self, record: Record) -> str | None:
        value = self._value(record, "arm")
        if value in self._arms:
            return str(value)
        hint = meant(str(value), self._arms) or f"; the arms are {listed(list(self._arms))}"
        self._tell(record, "arm", f"{shown(value)} is none of the experiment's arms{hint}")
        return None

    def _exposed(self, record: Record) -> bool:
        value = self._value(record, "exposure")
        word = str(value).lower()
        if value is None or word in _TRUE:
            return True
        if word not in _FALSE:
            self._tell(record, "exposure", f"{shown(value)} is neither 1 nor 0")
        return False

    def _number(self, record: Record, name: str) -> float | None:
        value = self._value(record, name)
        if value is None:
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if isinstance(value, list | dict) or not math.isfinite(number):
            self._tell(record, name, f"{shown(value)} is not a number; leave it empty when it is not known")
            return None
        ends = self._range
        if name == "outcome" and ends is not None and not ends[0] <= number <= ends[1]:
            self._tell(record, name, f"{number:g} is outside the range {ends[0]:g} to {ends[1]:g} of the experiment")
        return number

    def _when(self, record: Record) -> float | None:
        value = self._value(record, "time")
        if value is None:
            return None
        moment = _moment(value)
        if moment is None:
            self._tell(record, "time", f"{shown(value)} is neither a number nor a date such as 2026-11-16T06:50:00Z")
        return moment


def _moment(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        pass
    else:
        return number if math.isfinite(number) else None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _getters(columns: ColumnsPart) -> dict[str, Getter]:
    return {name: compile_path(getattr(columns, name)) for name in ColumnsPart.model_fields}


def in_order(found: Outcomes) -> Iterator[tuple[str, Unit]]:
    """The units as they came: by time when every record says it, else as in the file."""
    units = found.units.items()
    return iter(sorted(units, key=lambda each: each[1].when)) if found.timed else iter(units)
