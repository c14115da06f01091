"""The file of an online experiment, written beforehand, and its outcomes.

Outcomes become one entry a unit, and everything is counted that is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from steelyard.errors import Problem, SuiteError, UsageError
from steelyard.experiments.assignment import Experiment
from steelyard.experiments.plan import PlanPart, experiment_draft
from steelyard.frozen import frozen, slotted
from steelyard.suite.case import digest
from steelyard.suite.draft import Draft
from steelyard.suite.paths import MISSING, Getter, compile_path
from steelyard.suite.readers import Record, read_records
from steelyard.suite.streams import ending
from steelyard.suite.values import share
from steelyard.suite.yaml import listed, meant, shown

Share = Annotated[float, BeforeValidator(share)]


class SaltsPart(PlanPart):
    """The two salts, where the experiment goes on with those of an older one."""

    exposure: str = Field(min_length=1, description="Decides who takes part.")
    arm: str = Field(min_length=1, description="Decides who gets which arm.")


class OutcomePart(PlanPart):
    """What is measured of a unit."""

    name: str = Field(default="outcome", min_length=1, description="What reports call it.")
    better: Literal["higher", "lower"] = Field(default="higher", description="Which way is better.")
    range: tuple[float, float] | None = Field(
        default=None, strict=False, description="The least and the most that it can be; 0 and 1 need not be said."
    )


class ColumnsPart(PlanPart):
    """Where in a record of outcomes each thing stands."""

    unit: str = Field(default="unit", description="Who it is: one user, session or request.")
    arm: str = Field(default="arm", description="The arm that it was given.")
    outcome: str = Field(default="outcome", description="A number; empty when it is not known.")
    time: str = Field(
        default="time", description="When it came, as a number or an ISO date; left out, the file's order."
    )
    exposure: str = Field(default="exposure", description="Whether it saw its arm at all: 1 or 0, true or false.")
    cost: str = Field(default="cost", description="What it cost.")
    latency: str = Field(default="latency", description="Seconds.")


class OnlinePart(PlanPart):
    """An online experiment."""

    experiment: str = Field(
        min_length=1, max_length=100, description="The name; salts that are not given come from it."
    )
    about: str = Field(default="", description="What is tried, in a sentence.")
    arms: list[str] | dict[str, Share] = Field(
        default=["control", "treatment"], description="Names, the control first, or names with their shares."
    )
    traffic: Share = Field(default=1.0, description="The share of all units that takes part.")
    salts: SaltsPart | None = Field(default=None, description="Salts of its own.")
    assigned: Literal["by_hash", "elsewhere"] = Field(
        default="by_hash", description="Whether `steelyard.ab.assign` chose the arms."
    )
    outcome: OutcomePart = Field(default=OutcomePart(), description="What is measured.")
    test: Literal["sequential", "fixed"] = Field(
        default="sequential",
        description="Whether results may be read at any time, or once, when all planned units are there.",
    )
    planned: int | None = Field(
        default=None, ge=4, description="Units, both arms together, that a fixed test waits for."
    )
    same_within: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="How far apart the arms may be and count as the same."
    )
    columns: ColumnsPart = Field(default=ColumnsPart(), description="Where in a record each thing stands.")


@frozen
class OnlineExperiment:
    """An experiment as it was written."""

    part: OnlinePart
    experiment: Experiment
    plan: str
    """The hash of everything that was written beforehand."""

    @property
    def arms(self) -> tuple[str, str]:
        """The control and the treatment; UsageError when there are more."""
        names = [name for name, _ in self.experiment.arms]
        if len(names) != 2:
            message = f"a report is of two arms, and {self.part.experiment} has {len(names)}: {listed(names)}"
            raise UsageError(f"{message}; write an experiment of two of them, with assigned: elsewhere")
        return names[0], names[1]

    @property
    def shares(self) -> tuple[float, float]:
        """The shares that units come to the arms in."""
        first, second = (share for _, share in self.experiment.arms)
        return first, second


def read_online(file: Path) -> OnlineExperiment:
    """The experiment in a file; SuiteError with every mistake in it, with file and line."""
    draft = experiment_draft(file, keys="experiment, arms, traffic", guide="docs/ab.md")
    part = draft.check(OnlinePart, draft.located.data)
    experiment = None if part is None else _experiment(part, draft)
    draft.finish()
    if part is None or experiment is None:
        raise AssertionError("an experiment that cannot be read must have a mistake")
    return OnlineExperiment(part, experiment, digest(part.model_dump(mode="json", exclude={"about", "columns"})))


def _experiment(part: OnlinePart, draft: Draft) -> Experiment | None:
    """What the keys say together, with what contradicts itself told."""
    if part.test == "fixed" and part.planned is None:
        draft.add_problem("a fixed test must say how many units it waits for: planned: 10000", ("test",))
    ends = part.outcome.range
    if ends is not None and not ends[0] < ends[1]:
        draft.add_problem(f"the range {ends[0]:g} to {ends[1]:g} has no room in it", ("outcome", "range"))
    salts: dict[str, Any] = {}
    if part.salts is not None:
        salts = {"salt_exposure": part.salts.exposure, "salt_arm": part.salts.arm}
    try:
        return Experiment(part.experiment, part.arms, part.traffic, **salts)
    except UsageError as problem:
        draft.add_problem(str(problem))
    return None


_ENDINGS = (".csv", ".jsonl", ".ndjson")
_MOST_MESSAGES = 20
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")


@slotted
class OutcomeMean:
    """A mean of numbers that may be missing."""

    total: float = 0.0
    n: int = 0

    def add(self, value: float | None) -> None:
        """Take one more; None is none."""
        if value is not None:
            self.total += value
            self.n += 1


@slotted
class UnitOutcome:
    """What counts of one unit: its first outcome.

    A mean would change with each further record, and with it looks that were made already: read every day, means of
    growing records showed a difference where there was none in 8 of 100 simulated experiments.
    """

    arms: tuple[str, ...]
    """Each once: more than one is a unit that saw both."""
    when: float
    """When its first outcome came: what comes to be known later stands at the end, and changes no earlier look."""
    rows: int = 0
    outcome: float | None = None
    row: int = 0
    """The record that its first outcome stands in."""
    cost: OutcomeMean | None = None
    latency: OutcomeMean | None = None
    """None where none was ever told: of a million units that is most of the memory."""
    earliest: float | None = None
    """The outcome that came first by its time, while nobody knows whether all have one."""


@slotted
class Outcomes:
    """All units, those that were not exposed apart, and how many records there were."""

    units: dict[str, UnitOutcome] = field(default_factory=dict)
    n_rows: int = 0
    n_not_exposed: int = 0
    """Records that say themselves that the unit did not see its arm."""
    binary: bool = True
    """True while every outcome is 0 or 1."""
    n_timed: int = 0
    """Outcomes that say when they came."""
    n_untimed: int = 0

    @property
    def timed(self) -> bool:
        """True when every outcome says when it came."""
        return self.n_timed > 0 and self.n_untimed == 0


def read_outcomes(file: Path, experiment: OnlineExperiment) -> Outcomes:
    """The outcomes in a file; SuiteError with the lines that cannot be read, and then nothing is decided."""
    if not file.is_file():
        raise UsageError(f"there are no outcomes at {file}")
    if ending(file) not in _ENDINGS:
        raise UsageError(f"{file.name}: outcomes are read from {listed(list(_ENDINGS))} files")
    problems: list[Problem] = []
    reader = _Reader(experiment, Outcomes(), problems)
    for record in read_records(file, file.name, "", problems.append):
        reader.take(record)
    if problems:
        more = len(problems) - _MOST_MESSAGES
        message = [Problem(f"and {more:,} more mistakes", file.name)] if more > 0 else []
        raise SuiteError([*problems[:_MOST_MESSAGES], *message])
    if not reader.result.n_rows:
        raise UsageError(f"{file.name} holds no outcomes")
    if reader.unseen:
        columns = listed([getattr(experiment.part.columns, name) for name in sorted(reader.unseen)])
        raise UsageError(
            f"{file.name}: no record has {columns}; the first has {listed(list(reader.first))}. Say under `columns` of"
            " the experiment what stands where"
        )
    if reader.result.timed:
        for unit in reader.result.units.values():
            unit.outcome = unit.earliest
    return reader.result


class _Reader:
    def __init__(self, experiment: OnlineExperiment, outcomes: Outcomes, problems: list[Problem]) -> None:
        self.result = outcomes
        self._problems = problems
        self._arms = experiment.arms
        self._alone = {arm: (arm,) for arm in self._arms}
        self._range = experiment.part.outcome.range
        self._columns = experiment.part.columns
        self._get = _getters(self._columns)
        self.unseen = {"outcome", *self._columns.model_fields_set}
        """What must be in some record, and was in none yet."""
        self.first: tuple[str, ...] = ()
        """What the first record has."""

    def take(self, record: Record) -> None:
        """One record into the units, or its mistakes among the others."""
        before = len(self._problems)
        data = record.data
        if not isinstance(data, dict):
            self._problems.append(record.problem("an outcome is an object with unit, arm and outcome"))
            return
        self.first = self.first or tuple(map(str, data))
        unit, arm = self._unit(record), self._arm(record)
        exposed = self._exposed(record)
        numbers = {name: self._number(record, name) for name in ("outcome", "cost", "latency")}
        when = self._when(record)
        if len(self._problems) > before or unit is None or arm is None:
            return
        self.result.n_rows += 1
        if not exposed:
            self.result.n_not_exposed += 1
            return
        self._keep(unit, arm, when, numbers)

    def _keep(self, unit: str, arm: str, when: float | None, numbers: Mapping[str, float | None]) -> None:
        result = self.result
        entry = result.units.get(unit)
        if entry is None:
            entry = result.units[unit] = UnitOutcome(self._alone[arm], math.inf)
        elif arm not in entry.arms:
            entry.arms = self._arms
        entry.rows += 1
        if numbers["cost"] is not None:
            entry.cost = entry.cost or OutcomeMean()
            entry.cost.add(numbers["cost"])
        if numbers["latency"] is not None:
            entry.latency = entry.latency or OutcomeMean()
            entry.latency.add(numbers["latency"])
        if (outcome := numbers["outcome"]) is not None:
            self._evaluate(entry, outcome, when)

    def _evaluate(self, entry: UnitOutcome, outcome: float, when: float | None) -> None:
        result = self.result
        if entry.outcome is None:
            entry.outcome, entry.row = outcome, result.n_rows
        result.binary = result.binary and outcome in (0.0, 1.0)
        if when is None:
            result.n_untimed += 1
            return
        result.n_timed += 1
        if when < entry.when:
            entry.when, entry.earliest = when, outcome

    def _value(self, record: Record, name: str) -> Any:
        value = self._get[name](record.data)
        if value is MISSING:
            return None
        self.unseen.discard(name)
        return None if value == "" else value

    def _add_problem(self, record: Record, name: str, message: str) -> None:
        self._problems.append(record.problem(f"{getattr(self._columns, name)}: {message}"))

    def _unit(self, record: Record) -> str | None:
        value = self._value(record, "unit")
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return str(value)
        available = listed([str(key) for key in record.data])
        self._add_problem(record, "unit", f"says who it is, as a text or a whole number; the record has {available}")
        return None

    def _arm(self, record: Record) -> str | None:
        value = self._value(record, "arm")
        if value in self._arms:
            return str(value)
        hint = meant(str(value), self._arms) or f"; the arms are {listed(list(self._arms))}"
        self._add_problem(record, "arm", f"{shown(value)} is none of the experiment's arms{hint}")
        return None

    def _exposed(self, record: Record) -> bool:
        value = self._value(record, "exposure")
        word = str(value).lower()
        if value is None or word in _TRUE:
            return True
        if word not in _FALSE:
            self._add_problem(record, "exposure", f"{shown(value)} is neither 1 nor 0")
        return False

    def _number(self, record: Record, name: str) -> float | None:
        value = self._value(record, name)
        if value is None:
            return None
        number = _as_number(value)
        if number is None:
            self._add_problem(record, name, f"{shown(value)} is not a number; leave it empty when it is not known")
            return None
        ends = self._range
        if name == "outcome" and ends is not None and not ends[0] <= number <= ends[1]:
            self._add_problem(
                record, name, f"{number:g} is outside the range {ends[0]:g} to {ends[1]:g} of the experiment"
            )
        return number

    def _when(self, record: Record) -> float | None:
        value = self._value(record, "time")
        if value is None:
            return None
        moment = _moment(value)
        if moment is None:
            self._add_problem(
                record, "time", f"{shown(value)} is neither a number nor a date such as 2026-11-16T06:50:00Z"
            )
        return moment


def _as_number(value: Any) -> float | None:
    """A finite number; None for whatever is none, such as 1_000, which Python would take for a thousand."""
    try:
        number = math.nan if "_" in str(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _moment(value: Any) -> float | None:
    number = _as_number(value)
    if number is not None:
        return number
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _getters(columns: ColumnsPart) -> dict[str, Getter]:
    return {name: compile_path(getattr(columns, name)) for name in ColumnsPart.model_fields}


def in_order(outcomes: Outcomes) -> Iterator[tuple[str, UnitOutcome]]:
    """The units as their outcomes came: by time when every outcome says it, else as in the file."""
    units = outcomes.units.items()
    by_row = sorted(units, key=lambda item: item[1].row)
    return iter(sorted(by_row, key=lambda item: item[1].when) if outcomes.timed else by_row)
