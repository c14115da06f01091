"""What every scorer gets and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from steelyard.frozen import frozen, slotted
from steelyard.records import Check, Claim, Finding, Mark, ScorerCall
from steelyard.suite.case import Case
from steelyard.suite.paths import MISSING, Getter, compile_path


@frozen
class Answered:
    """What a scorer or check may look at."""

    text: str
    answer: Any = None
    """As parsed; None when it is no JSON."""
    status: int | None = None


@frozen
class Measure:
    """A ratio of two counts of a scorer; over many samples it is the ratio of their sums."""

    numerator: str
    denominator: str
    about: str
    better: str = ""
    """`higher` or `lower`, for comparisons; "" when that is not for the scorer to say."""


@frozen
class MeanMeasure:
    """The mean of several measures of a scorer, each over all samples first; a ratio of nothing is left out."""

    of: tuple[str, ...]
    """The names of the measures, which count the same."""
    about: str
    better: str = ""


@slotted
class Reading:
    """What one scorer says of one answer.

    `value` lies on the component's scale (0..1 unless declared otherwise); None means that the case gives nothing to
    score against. `expected` and `got` are what was compared, as a person would want to see it; `note` says why the
    value is what it is. `findings` are the errors, for scorers that find more than one thing; they replace the finding
    that a low value gives. An error that several codes fit is a tuple of findings, one per code: the code that the
    suite lists first is used. `counts` are what the scorer's measures are made of, `marks` what is right and where on
    the picture.
    """

    value: float | None
    expected: Any = None
    got: Any = None
    note: str = ""
    findings: tuple[Finding | tuple[Finding, ...], ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """What was measured, by name, for the rules that bind a judge: numbers, true or false; lists only to be shown."""
    claims: tuple[Claim, ...] = ()
    """What the answer claims with a confidence, and whether each claim is right."""
    checks: tuple[Check, ...] = ()
    """Named expectations and what became of each."""
    skipped: bool = False
    """True when not the case but the answer leaves nothing to score: no value, and its weight is taken out. An answer
    of which every part is skipped earns nothing."""
    calls: tuple[ScorerCall, ...] = ()
    """What a model said for it; those that failed included."""
    misshapen: str = ""
    """Why the answer is in no shape that this scorer can read; the whole answer then counts as malformed."""


UNKNOWN = Reading(None)
"""The reading of a case that has no truth for this scorer."""


class Scorer(BaseModel):
    """Base of all scorers; the fields are the parameters, checked when the suite loads and part of its signature.

    `version` is raised whenever the same parameters would give another value. Parameters that name a place are dotted
    paths: `answer` starts at the answer, all others at the case (`expected.name`, `input.text`, `tags`).
    A missing answer scores 0; for a missing truth the value is None and the suite's policy decides.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: ClassVar[int] = 1
    has_strict: ClassVar[bool] = False
    """True when the scorer has a `strict: bool` parameter, which `--strict` turns on."""

    needs_json: ClassVar[bool] = False
    """True when it can read nothing in a plain text."""

    needs_truth: ClassVar[bool] = True
    """False for one that looks at nothing but the answer and the question: no case has to hold a truth for it."""

    answer_paths: ClassVar[tuple[str, ...]] = ("answer",)
    """Parameters that are paths into the answer."""

    case_paths: ClassVar[tuple[str, ...]] = ("expected",)
    """Parameters that are paths into the case; one that is left out or is not a text is passed over."""

    measures: ClassVar[Mapping[str, Measure]] = MappingProxyType({})
    """Ratios of the counts in its readings, by name: a gate may use `score.<component>.<measure>`."""

    means: ClassVar[Mapping[str, MeanMeasure]] = MappingProxyType({})
    """Means of some of its measures, by name; a gate may use one like a measure."""

    metrics: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What its readings measure, by name with what it means: a judge's rules speak of `<component>.<metric>`."""

    blind_measures: ClassVar[tuple[str, ...]] = ()
    """Those of its measures that answers of `partly_right` should miss."""

    answer: str | None = Field(
        default=None,
        description="Where in the answer to look; left out, the component's own name, or the whole of a text answer.",
    )

    @cached_property
    def getters(self) -> dict[str, Getter]:
        """Each path parameter compiled, by its name. A cached property: pydantic's private attributes read slowly."""
        paths = {name: getattr(self, name, None) for name in (*self.answer_paths, *self.case_paths)}
        getters = {name: compile_path(path) for name, path in paths.items() if isinstance(path, str)}
        getters.setdefault("answer", compile_path(""))
        return getters

    @model_validator(mode="after")
    def _paths_are_paths(self) -> Self:
        _ = self.getters
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other parameters, everything derived from them made again."""
        copy = super().model_copy(update=update, deep=deep)
        for name in copy.__dict__.keys() - type(self).model_fields.keys():
            del copy.__dict__[name]
        return copy

    def at(self, path: str) -> Self:
        """The same scorer, looking at that place of the answer."""
        return self.model_copy(update={"answer": path})

    def answer_value(self, answer: Any, place: str = "answer") -> Any:
        """The value in the answer where the parameter `place` points; None when nothing is there."""
        value = self.getters[place](answer)
        return None if value is MISSING else value

    def expected_value(self, case: Case, place: str = "expected") -> Any:
        """The value in the case where the parameter `place` points; None when it is missing, null, blank or empty."""
        getter = self.getters.get(place)
        value = getter(case) if getter is not None else None
        if value or value == 0:
            return None if isinstance(value, str) and not value.strip() else value
        return None

    def stated(self, answer: Any) -> Mapping[str, Any]:  # noqa: ARG002 - for those whose truth has several parts
        """By parameter that names a place in the case, what an answer states of it; nothing where it states no truth
        of several parts, such as a range."""
        return {}

    def read(self, answer: Any, case: Case) -> Reading:
        """Score one answer, the whole of it as parsed."""
        raise NotImplementedError

    def nothing(self, case: Case) -> Mapping[str, int]:  # noqa: ARG002 - for those that count
        """The counts of an answer that cannot be read, so that what it should have held stays in the measures."""
        return {}

    def finding_codes(self) -> Mapping[str, str]:
        """The codes of its findings with what they mean, in the order they are tried when the suite lists none."""
        return {}

    def truth_paths(self) -> Mapping[str, str]:
        """Further paths into the case by the parameter that holds them, to tell one that leads nowhere."""
        return {}

    def truth(self, case: Case) -> Any:
        """A part of an answer that earns full marks, for `audit`; None when the case has no truth for it.

        The value stands where `answer` points.
        """
        raise NotImplementedError

    def truth_at(self, case: Case) -> dict[str, Any]:
        """The truth by path into the answer, for scorers that look at more than one place; empty without truth."""
        try:
            value = self.truth(case) if self.needs_truth else None
        except NotImplementedError:
            return {}  # a user's scorer that does not say: `audit` tells that no right answer could be tried
        return {} if value is None else {self.answer or "": value}

    def truth_within(self, answer: Any) -> dict[str, Any]:  # noqa: ARG002 - for those that override it
        """What is right beside the rest of an answer, by path, for scorers that compare two places of one answer."""
        return {}

    def needed_models(self) -> Sequence[Any]:
        """The settings of the models that it needs to read an answer."""
        return ()

    def check(self, case: Case) -> str | None:  # noqa: ARG002 - for those that override it
        """A mistake in the case's truth, as a sentence; None when there is none.

        Truth that is missing altogether is no mistake here: the suite's `when_unknown` policy decides.
        """
        return None

    def keywords_of(self, case: Case) -> list[str]:  # noqa: ARG002 - for those that override it
        """The words this scorer looks for, so that `audit` can stuff an answer with them."""
        return []

    def everything(self, cases: Sequence[Case]) -> Any:  # noqa: ARG002 - for those that override it
        """An answer that holds what is true of any of these cases, for `audit` of scorers of sets; None for others."""
        return None

    def everything_at(self, cases: Sequence[Case]) -> dict[str, Any]:
        """The same by path into the answer, for scorers that look at more than one place; empty for others."""
        value = self.everything(cases)
        return {} if value is None else {self.answer or "": value}

    def asks_nothing(self, case: Case) -> bool:  # noqa: ARG002 - for those that override it
        """True when a well-formed answer that holds nothing may be right for the case."""
        return False

    def blankets(self, case: Case) -> Mapping[str, Any]:  # noqa: ARG002 - for those that override it
        """Answers that lie over all of the case's question, by name, for `audit` of scorers that look for places."""
        return {}

    def partly_right(self, case: Case) -> Mapping[str, Any]:  # noqa: ARG002 - for those that override it
        """Answers right but in what `blind_measures` are about, by name, for `audit` of gates on these measures."""
        return {}

    def widest(self) -> Any:
        """An answer that covers everything, for `audit` of scorers that score ranges; None for all others."""
        return None

    def widest_at(self) -> dict[str, Any]:
        """The widest answer by path into the answer; empty for scorers that score no ranges."""
        value = self.widest()
        return {} if value is None else {self.answer or "": value}
