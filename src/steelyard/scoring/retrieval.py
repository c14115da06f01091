"""The scorer of ranked results by their ids: recall, precision and nDCG of the first k, and reciprocal rank."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from steelyard.records import Finding
from steelyard.scoring.base import UNKNOWN, Reading, Scorer
from steelyard.scoring.items.item_rules import Code
from steelyard.scoring.repeat_items import key_text
from steelyard.suite.case import Case
from steelyard.suite.values import Scale
from steelyard.suite.yaml import listed

MRR = "mrr"


class Retrieval(Scorer):
    """How well a ranked list of ids has the relevant ones, and has them first.

    An id counts at its first rank only; what stands at other ranks counts as not relevant.
    """

    needs_json: ClassVar[bool] = True

    expected: str = Field(
        description="Path to the relevant ids of the case: a list, or an object from each id to its grade (0 and more)."
    )
    k: tuple[int, ...] = Field(
        default=(5, 10), description="How many results the measures look at: one number, or several."
    )
    value: str = Field(default="", description="The measure that the value is; left out, nDCG at the largest k.")
    code: Code = Field(
        default="NOT_RETRIEVED", description="The code of a relevant id that is not among the first k, the largest k."
    )
    most: int = Field(default=1000, ge=1, le=100_000, description="An answer with more results than this is malformed.")

    @field_validator("k", mode="before")
    @classmethod
    def _several(cls, k: Any) -> Any:
        return k if isinstance(k, list | tuple) else (k,)

    @field_validator("k")
    @classmethod
    def _positive(cls, k: tuple[int, ...]) -> tuple[int, ...]:
        if not k or min(k) < 1 or len(set(k)) < len(k):
            raise ValueError("k is a number from 1 up, or several different ones")
        return tuple(sorted(k))

    @model_validator(mode="after")
    def _is_measured(self) -> Self:
        if self.value and self.value not in self.named:
            raise ValueError(f"value: {self.value!r} is not one of {listed(self.named)}")
        return self

    @cached_property
    def named(self) -> Mapping[str, Scale]:
        """The scale of each measure, which becomes a component without weight: `<component>_recall_at_5`."""
        return dict.fromkeys([*(f"{name}_at_{k}" for k in self.k for name in _AT_K), MRR], (0.0, 1.0))

    @property
    def metrics(self) -> Mapping[str, str]:  # type: ignore[override]  # they depend on k
        """The same, for the rules of a judge."""
        return dict.fromkeys(self.named, "of the ranked results")

    def finding_codes(self) -> Mapping[str, str]:
        return {self.code: f"A relevant id that is not among the first {self.k[-1]} results."}

    def read(self, answer: Any, case: Case) -> Reading:
        grades = self._grades(case)
        if not grades:
            return UNKNOWN
        raw = self.answer_value(answer)
        results = raw if isinstance(raw, list) else []
        if len(results) > self.most:
            why = f"it holds {len(results):,} results, more than the {self.most:,} that are read"
            return Reading(0.0, misshapen=why)
        ranking = _first_of_each([key_text(item) for item in results])
        measured = self._measured(ranking, grades)
        missed = [name for name in grades if name not in ranking[: self.k[-1]]]
        gain = (self._value(self._measured(_replaced(ranking, missed, grades), grades)) - self._value(measured)) / max(
            1, len(missed)
        )
        evidence = f"not among the first {self.k[-1]}"
        place, gain = self.answer or "", max(0.0, gain)
        findings = tuple([Finding(self.code, place, name, None, evidence, gain=gain) for name in missed])
        note = f"{len(grades) - len(missed)} of {len(grades)} relevant among the first {self.k[-1]}"
        note += "" if isinstance(raw, list) else "; no list"
        return Reading(self._value(measured), list(grades), raw, note, findings, metrics=measured)

    def measured(self, answer: Any, case: Case) -> Mapping[str, float | None]:
        """Its measures of that answer; None of each where the case has no relevant id."""
        return self.read(answer, case).metrics or dict.fromkeys(self.named)

    def truth(self, case: Case) -> Any:
        grades = self._grades(case)
        return None if not grades else sorted(grades, key=lambda name: (-grades[name], name))

    def check(self, case: Case) -> str | None:
        raw = self.getters["expected"](case)
        grades = raw.values() if isinstance(raw, Mapping) else ()
        if not all(_is_grade(grade) for grade in grades):
            return f"{self.expected} is {raw!r}: the grade of an id is a number from 0 up"
        ids = raw if isinstance(raw, list | tuple) else ()
        if any(isinstance(item, dict | list) for item in ids):
            return f"{self.expected} is {raw!r}: a list of ids is needed, or an object from id to grade"
        return None

    def _grades(self, case: Case) -> dict[str, float]:
        """The grade of each relevant id; those of grade 0 are not relevant."""
        raw = self.expected_value(case)
        if isinstance(raw, Mapping):
            return {str(name): float(grade) for name, grade in raw.items() if grade > 0}
        ids = raw if isinstance(raw, list | tuple) else [] if raw is None else [raw]
        return {text: 1.0 for item in ids if (text := key_text(item).strip())}

    def _value(self, measured: Mapping[str, float]) -> float:
        return measured[self.value or f"ndcg_at_{self.k[-1]}"]

    def _measured(self, ranking: Sequence[str | None], grades: Mapping[str, float]) -> dict[str, float]:
        measured = {f"{name}_at_{k}": measure(ranking, grades, k) for k in self.k for name, measure in _AT_K.items()}
        first = next((rank for rank, name in enumerate(ranking, 1) if name in grades), None)
        return measured | {MRR: 0.0 if first is None else 1 / first}


def _is_grade(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _hits(ranking: Sequence[str | None], grades: Mapping[str, float], k: int) -> int:
    return sum(name in grades for name in ranking[:k])


def _recall(ranking: Sequence[str | None], grades: Mapping[str, float], k: int) -> float:
    return _hits(ranking, grades, k) / len(grades)


def _precision(ranking: Sequence[str | None], grades: Mapping[str, float], k: int) -> float:
    """Of k, also where fewer were given, as trec_eval does."""
    return _hits(ranking, grades, k) / k


def _ndcg(ranking: Sequence[str | None], grades: Mapping[str, float], k: int) -> float:
    """Gain is the grade itself, discounted by log2(rank + 1), as trec_eval and scikit-learn have it."""
    gained = _discounted(grades.get(name or "", 0.0) for name in ranking[:k])
    return gained / _discounted(sorted(grades.values(), reverse=True)[:k])


def _discounted(gains: Any) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


_AT_K = {"recall": _recall, "precision": _precision, "ndcg": _ndcg}


def _first_of_each(names: Sequence[str]) -> list[str | None]:
    """The ranking with None where an id stands again, or where there is none."""
    seen: set[str] = set()
    result: list[str | None] = []
    for name in names:
        result.append(None if name in seen or not name.strip() else name)
        seen.add(name)
    return result


def _replaced(ranking: Sequence[str | None], missed: Sequence[str], grades: Mapping[str, float]) -> list[str | None]:
    """The ranking with the missed ids in the places of results that are not relevant, then behind them."""
    left: Iterator[str] = iter(missed)
    kept = [name if name in grades and name not in missed else next(left, None) for name in ranking]
    return [*kept, *left]
