"""Which samples of a run are meant: by outcome, category, code, score and the like.

A selection is what stands in the address of a page and behind every figure of a report; `store/paging.py` reads the
samples that it selects.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

from steelyard.frozen import frozen
from steelyard.suite.values import slice_tag

INCONCLUSIVE = "inconclusive"
"""The outcome that stands for every outcome that says nothing about the system."""
CONCLUSIVE = "conclusive"
"""The outcome that stands for all that figures count: malformed, or scored by the run's own kind of judge."""
_IN_NO_COLUMN = ("section", "expected", "got", "claim", "right", "min_confidence", "max_confidence", "mode", "text")


@frozen
class Selection:
    """Samples for which all that is given here holds; a text that is "" and a number that is None ask for nothing.

    `(none)`, the name of the slice of samples that have no category, say, asks for these.
    Whoever asks for `passed`, a band, a finding, a claim, a component or a score asks for conclusive samples: the
    figures of reports count no others. Bounds of latency leave out what was not called, but came from the cache; a call
    that timed out meets a lower bound by the time waited, and no upper one.
    """

    outcome: str = ""
    """A value of `Outcome`, `inconclusive` or `conclusive`."""
    passed: bool | None = None
    category: str = ""
    """`(none)`, here and for a difficulty or a variant: samples that have none."""
    difficulty: str = ""
    band: str = ""
    variant: str = ""
    tag: str = ""
    code: str = ""
    section: str = ""
    expected: str = ""
    got: str = ""
    """A finding that the sample has: its code, the named region that it begins in, and what was taken for what (as
    `confusion_label` writes it)."""
    failure: str = ""
    """The kind of failure of the call."""
    case: str = ""
    component: str = ""
    """A component that was scored."""
    below: float | None = None
    """A component scored less: that one, or any."""
    check: str = ""
    """An expectation of the suite, as declared (`colour`) or with its value (`colour:red`); with `state`, what became
    of it."""
    state: str = ""
    claim: str = ""
    right: bool | None = None
    min_confidence: float | None = None
    max_confidence: float | None = None
    """A claim that the answer makes: its kind, whether it is right, and its confidence, which is below the maximum, or
    1 where that is the maximum."""
    mode: str = ""
    """The kind of judge behind the score."""
    min_score: float | None = None
    max_score: float | None = None
    min_latency: float | None = None
    max_latency: float | None = None
    """Bounds are included."""
    text: str = ""
    """What stands in the id of the case or in the answer, in any case of letters."""

    @classmethod
    def of_slice(cls, factor: str, name: str, **more: Any) -> Self:
        """The samples of a slice, of which more may be asked; those of a slice by a field have it as a tag."""
        is_field = factor not in cls.__dataclass_fields__
        named: dict[str, Any] = {"tag": slice_tag(factor, name)} if is_field else {factor: name}
        return cls(**named, **more)

    @property
    def asks_conclusive(self) -> bool:
        """Whether only conclusive samples can be meant."""
        claims = (self.right, self.min_confidence, self.max_confidence)
        figures = (self.passed, self.below, self.min_score, self.max_score, *claims)
        findings = (self.code, self.section, self.expected, self.got)
        texts = (self.band, self.component, self.claim, self.outcome == CONCLUSIVE, *findings)
        return any(figure is not None for figure in figures) or any(texts)

    def without_columns(self) -> Selection:
        """What is asked for that no stored column tells; the code stays, since it is that of the finding."""
        return Selection(code=self.code, **{name: getattr(self, name) for name in _IN_NO_COLUMN})

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
