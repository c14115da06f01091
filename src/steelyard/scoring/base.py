"""What a scorer is: validated parameters and one pure function from answer and case to a reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from steelyard.records import Finding
from steelyard.suite.case import Case


@dataclass(frozen=True, slots=True)
class Reading:
    """What one scorer says of one answer.

    `value` lies on the component's scale (0..1 unless declared otherwise); None means that the case gives nothing to
    weigh against. `expected` and `got` are what was compared, as a person would want to see it; `note` says why the
    value is what it is. `findings` are the scorer's own, for scorers that find more than one thing.
    """

    value: float | None
    expected: Any = None
    got: Any = None
    note: str = ""
    findings: tuple[Finding, ...] = ()


class Scorer(BaseModel):
    """Base of all scorers; the fields are the parameters, checked when the suite loads and part of its signature.

    `version` is raised whenever the same parameters would give another value. Parameters that name a place are dotted
    paths: `answer` starts at the answer, all others at the case (`expected.name`, `input.text`, `tags`).
    A missing answer earns 0; a missing truth reads None and the suite's policy decides.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: ClassVar[int] = 1
    has_strict: ClassVar[bool] = False
    """True when the scorer has a `strict: bool` parameter, which `--strict` turns on."""

    answer: str | None = None
    """Where in the answer to look; None is the component's own name, or the whole of a text answer."""

    def read(self, answer: Any, case: Case) -> Reading:
        """Weigh one answer."""
        raise NotImplementedError

    def truth(self, case: Case) -> Any:
        """A part of an answer that earns full marks, for `audit`; None when the case has no truth for it.

        The value stands where `answer` points.
        """
        raise NotImplementedError
