"""The file of an online experiment: who takes part, in which arms, and how it will be decided, written beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from steelyard.errors import UserMistake
from steelyard.release.assignment import Experiment
from steelyard.suite.case import digest
from steelyard.suite.draft import Draft
from steelyard.suite.experiment_draft import experiment_draft
from steelyard.suite.shares import share
from steelyard.suite.spelling import listed

Share = Annotated[float, BeforeValidator(share)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SaltsPart(_Part):
    """The two salts, where the experiment goes on with those of an older one."""

    exposure: str = Field(min_length=1, description="Decides who takes part.")
    arm: str = Field(min_length=1, description="Decides who gets which arm.")


class OutcomePart(_Part):
    """What is measured of a unit."""

    name: str = Field(default="outcome", min_length=1, description="What reports call it.")
    better: Literal["higher", "lower"] = Field(default="higher", description="Which way is better.")
    range: tuple[float, float] | None = Field(
        default=None, strict=False, description="The least and the most that it can be; 0 and 1 need not be said."
    )


class ColumnsPart(_Part):
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


class OnlinePart(_Part):
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
        default="sequential", description="May it be read at any time, or once, when all planned units are there?"
    )
    planned: int | None = Field(
        default=None, ge=4, description="Units, both arms together, that a fixed test waits for."
    )
    same_within: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="How far apart the arms may be and count as the same."
    )
    columns: ColumnsPart = Field(default=ColumnsPart(), description="Where in a record each thing stands.")


@dataclass(frozen=True, slots=True)
class OnlineExperiment:
    """An experiment as it was written."""

    part: OnlinePart
    experiment: Experiment
    plan: str
    """The hash of everything that was written beforehand."""

    @property
    def arms(self) -> tuple[str, str]:
        """The control and the treatment; UserMistake when there are more."""
        names = [name for name, _ in self.experiment.arms]
        if len(names) != 2:
            told = f"a report is of two arms, and {self.part.experiment} has {len(names)}: {listed(names)}"
            raise UserMistake(f"{told}; write an experiment of two of them, with assigned: elsewhere")
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
        draft.tell("a fixed test must say how many units it waits for: planned: 10000", ("test",))
    ends = part.outcome.range
    if ends is not None and not ends[0] < ends[1]:
        draft.tell(f"the range {ends[0]:g} to {ends[1]:g} has no room in it", ("outcome", "range"))
    salts: dict[str, Any] = {}
    if part.salts is not None:
        salts = {"salt_exposure": part.salts.exposure, "salt_arm": part.salts.arm}
    try:
        return Experiment(part.experiment, part.arms, part.traffic, **salts)
    except UserMistake as mistake:
        draft.tell(str(mistake))
    return None
