"""Which samples of a run are meant: by outcome, category, code, score and the like.

A selection is what stands in the address of a page and behind every figure of a report; `store/paging.py` reads the
samples that it selects.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from steelyard.frozen import frozen

INCONCLUSIVE = "inconclusive"
"""The outcome that stands for every outcome that says nothing about the system."""


@frozen
class Selection:
    """Samples for which all that is given here holds; a text that is "" and a number that is None ask for nothing."""

    outcome: str = ""
    """A value of `Outcome`, or `inconclusive`."""
    passed: bool | None = None
    category: str = ""
    difficulty: str = ""
    band: str = ""
    variant: str = ""
    tag: str = ""
    code: str = ""
    """The code of a finding that the sample has."""
    failure: str = ""
    """The kind of failure of the call."""
    case: str = ""
    component: str = ""
    """A component that was scored; with `below`, one that scored less."""
    below: float | None = None
    check: str = ""
    """An expectation of the suite; with `state`, what became of it."""
    state: str = ""
    min_score: float | None = None
    max_score: float | None = None
    min_latency: float | None = None
    max_latency: float | None = None
    """Bounds are included."""
    text: str = ""
    """What stands in the id of the case or in the answer, in any case of letters."""

    def given(self) -> dict[str, Any]:
        """What is asked for, by name."""
        return {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None and value != ""
        }


@frozen
class OfRun(Selection):
    """Samples of one run, in a document on several."""

    run: str = ""

    def given(self) -> dict[str, Any]:
        """What is asked for, by name; the run stands elsewhere in an address."""
        return {name: value for name, value in Selection.given(self).items() if name != "run"}
