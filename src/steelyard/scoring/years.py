"""The scorer for a range of years."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from pydantic import Field, model_validator

from steelyard.scoring.amounts import as_number, with_cut
from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.eras import EARLIEST, LATEST, Years, join_years, read_years
from steelyard.scoring.ranges import strict_years, years_overlap
from steelyard.suite.case import Case

DEFAULT_PRESENT: Final = 2026
"""What "present" means unless a suite says otherwise: fixed, so that a reading never depends on the clock."""


class YearRange(Scorer):
    """How much of the true range of years the answer covers; reads dates in words ("late 19th century", "c. 1920s")."""

    has_strict: ClassVar[bool] = True
    answer_paths: ClassVar[tuple[str, ...]] = ("answer", "answer_start", "answer_end")
    case_paths: ClassVar[tuple[str, ...]] = ("start", "end", "expected")

    start: str | None = Field(default=None, description="Path to the first true year in the case.")
    end: str | None = Field(default=None, description="Path to the last true year in the case.")
    expected: str | None = Field(
        default=None, description="Path to the true range instead: a text, a year, [start, end] or {start, end}."
    )
    answer_start: str | None = Field(
        default=None, description="Path to the first year, when the answer has two fields."
    )
    answer_end: str | None = Field(default=None, description="Path to the last year, when the answer has two fields.")
    present: int = Field(default=DEFAULT_PRESENT, description='The year that "present" stands for.')
    strict: bool = Field(default=False, description="Weigh by the strict rule.")
    max_ratio: float = Field(
        default=3.0, ge=1, allow_inf_nan=False, description="Strict rule: how many times wider than the truth is free."
    )
    min_width: float = Field(
        default=10.0, gt=0, allow_inf_nan=False, description="Strict rule: years that a narrower truth counts as wide."
    )

    @model_validator(mode="after")
    def _one_truth(self) -> YearRange:
        if (self.start is None) != (self.end is None) or (self.start is None) == (self.expected is None):
            raise ValueError("give `start` and `end`, or `expected`")
        if (self.answer_start is None) != (self.answer_end is None):
            raise ValueError("give `answer_start` and `answer_end` together, or neither")
        return self

    def read(self, answer: Any, case: Case) -> Reading:
        truth = self._truth(case)
        if truth is None:
            return UNKNOWN
        raw, years = self._estimate(answer)
        expected = f"{truth[0]} to {truth[1]}"
        if years is None:
            return Reading(0.0, expected, raw, with_cut("no years can be read", raw))
        value = self.compare(years, truth)
        note = "" if value == 1 else f"read as {years[0]} to {years[1]}"
        return Reading(value, expected, raw, with_cut(note, raw))

    def compare(self, years: Years, truth: Years) -> float:
        """The value of an estimate against the true years, by the rule that is on."""
        if self.strict:
            return strict_years(*years, *truth, max_ratio=self.max_ratio, min_width=self.min_width)
        return years_overlap(*years, *truth)

    def truth(self, case: Case) -> Any:
        truth = self._truth(case)
        return None if truth is None else _written(*truth)

    def truth_at(self, case: Case) -> dict[str, Any]:
        truth = self._truth(case)
        if truth is None or self.answer_start is None or self.answer_end is None:
            return super().truth_at(case)
        return {self.answer_start: truth[0], self.answer_end: truth[1]}

    def widest(self) -> Any:
        return _written(EARLIEST, LATEST)

    def widest_at(self) -> dict[str, Any]:
        if self.answer_start is None or self.answer_end is None:
            return super().widest_at()
        return {self.answer_start: EARLIEST, self.answer_end: LATEST}

    def check(self, case: Case) -> str | None:
        if self.expected is not None:
            raw = self.known(case)
            if raw is None or read_years(raw, present=self.present) is not None:
                return None
            return f"{self.expected} is {raw!r}: no range of years from an earlier to a later one can be read"
        start, end = self.known(case, "start"), self.known(case, "end")
        for path, other, raw, rest in ((self.start, self.end, start, end), (self.end, self.start, end, start)):
            if raw is None and rest is not None:
                return f"{path} is missing, while {other} is {rest!r}"
            if raw is not None and as_number(raw) is None:
                return f"{path} is {raw!r}: a year as a number is needed"
        if self._truth(case) is None and start is not None:
            return f"{self.start} {start} is above {self.end} {end}"
        return None

    def _truth(self, case: Case) -> Years | None:
        if self.expected is not None:
            return read_years(self.known(case), present=self.present)
        start, end = as_number(self.known(case, "start")), as_number(self.known(case, "end"))
        return None if start is None or end is None or start > end else (int(start), int(end))

    def _estimate(self, answer: Any) -> tuple[Any, Years | None]:
        if self.answer_start is None:
            raw = self.seen(answer)
            return raw, read_years(raw, present=self.present)
        pair = [self.seen(answer, "answer_start"), self.seen(answer, "answer_end")]
        return pair, join_years(*pair, present=self.present)


def _written(start: int, end: int) -> str:
    if start < 0:
        return f"{-start} BC to {f'{-end} BC' if end < 0 else f'AD {end}'}"
    return f"{start}-{end}"
