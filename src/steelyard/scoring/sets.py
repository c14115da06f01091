"""Scorers of sets of plain values: those that are in a list of the case, and precision, recall and F1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from steelyard.records import Finding
from steelyard.scoring.base import UNKNOWN, MeanMeasure, Measure, Reading, Scorer
from steelyard.scoring.items.item_rules import Code
from steelyard.scoring.repeat_items import key_text
from steelyard.scoring.text import Difference, Folder
from steelyard.suite.case import Case
from steelyard.suite.paths import MISSING, Getter, compile_path, in_answer

Values = dict[str, Any]
"""Different values by the text that they are compared as."""


class _OfValues(Scorer):
    """What scorers of sets share: how values are read and compared.

    An empty list is a truth: an empty list is the only right answer to it. In the measures, where the ratio of one
    answer would be 0 of 0, the answer counts as one value, which is right if and only if both lists are empty.
    """

    version: ClassVar[int] = 2
    needs_json: ClassVar[bool] = True

    ignore: tuple[Difference, ...] = Field(
        default=("case", "space"), description="Differences between texts that do not count."
    )
    most: int = Field(default=1000, ge=1, le=100_000, description="An answer with more values than this is malformed.")

    @cached_property
    def _folder(self) -> Folder:
        return Folder(self.ignore)

    def _values(self, listed: Any) -> Values | None:
        """The different values of a list, or the one that stands there; None for an object and for nothing at all."""
        if listed is None or listed is MISSING or isinstance(listed, dict):
            return None
        values = [value for value in (listed if isinstance(listed, (list, tuple)) else [listed]) if value is not None]
        folded = zip(self._folder.fold(list(map(key_text, values))), values, strict=True)
        distinct: Values = {}
        for text, value in folded:
            if text.strip():
                distinct.setdefault(text, value)
        return distinct

    def _listed(self, case: Case) -> Values | None:
        """The values of the list of the case, which may be empty; None where it is missing."""
        return self._values(self.getters[self.case_paths[0]](case)) if self.case_paths else None

    def _too_many(self, got: Values, counts: Mapping[str, int]) -> Reading | None:
        if len(got) <= self.most:
            return None
        why = f"it holds {len(got):,} values, more than the {self.most:,} that are read"
        return Reading(0.0, counts=counts, misshapen=why)

    def truth(self, case: Case) -> Any:
        listed = self._listed(case)
        return None if listed is None else list(listed.values())

    def asks_nothing(self, case: Case) -> bool:
        return self._listed(case) == {}

    def everything(self, cases: Sequence[Case]) -> Any:
        values: Values = {}
        for case in cases:
            values |= self._listed(case) or {}
        return list(values.values())

    def check(self, case: Case) -> str | None:
        if not self.case_paths:
            return None
        place = self.case_paths[0]
        raw = self.getters[place](case)
        inner = raw if isinstance(raw, (list, tuple)) else [raw]
        if any(isinstance(value, (dict, list)) for value in inner):
            return f"{getattr(self, place)} is {raw!r}: a list of texts or numbers is needed"
        return None


class Subset(_OfValues):
    """The share of the answer's values that are in a list of the case, or in another list of the answer; every
    stranger is an error of its own."""

    has_strict: ClassVar[bool] = True
    measures: ClassVar[Mapping[str, Measure]] = MappingProxyType(
        {
            "inside": Measure("inside", "answered", "answered values that are in the list", "higher"),
            "empty": Measure("empty", "answers", "answers without a value", "lower"),
        }
    )

    of: str = Field(
        description="Path to the list in the case or, as `answer.<path>`, in the answer itself: what was retrieved."
    )
    empty: Literal["fail", "skip"] = Field(
        default="fail",
        description="What an empty list is: worth 0, or taken out of the score. An answer without a list earns 0.",
    )
    code: Code = Field(default="NOT_IN_LIST", description="The code of a value that is not in the list.")
    strict: bool = Field(default=False, description="Give marks only when every value is in the list.")

    @cached_property
    def _of_answer(self) -> Getter | None:
        """Where in the answer the list is; None when it is in the case."""
        path = in_answer(self.of)
        return None if path is None else compile_path(path)

    @property
    def case_paths(self) -> tuple[str, ...]:  # type: ignore[override]  # the list may be in the answer
        """`of`, unless it leads into the answer."""
        return () if in_answer(self.of) is not None else ("of",)

    @property
    def needs_truth(self) -> bool:  # type: ignore[override]  # as above
        """Whether a case must have the list."""
        return bool(self.case_paths)

    def truth_within(self, answer: Any) -> dict[str, Any]:
        listed = None if self._of_answer is None else self._values(self._of_answer(answer))
        return {self.answer or "": list(listed.values())} if listed else {}

    def finding_codes(self) -> Mapping[str, str]:
        return {self.code: "A value of the answer that is not in the list."}

    def read(self, answer: Any, case: Case) -> Reading:
        # An answer that lists nothing to choose from, and chooses nothing, has earned nothing.
        listed = self._listed(case) if self._of_answer is None else self._values(self._of_answer(answer)) or {}
        if listed is None:
            return UNKNOWN
        raw = self.answer_value(answer)
        got = self._values(raw)
        if not got and not listed and isinstance(raw, list) and self.case_paths:
            return Reading(
                1.0, [], raw, "nothing to list, and nothing listed", counts=_NO_VALUES | {"inside": 1, "empty": 0}
            )
        if not got:
            skipped = self.empty == "skip" and isinstance(raw, list)
            note = "the answer lists nothing" + (": taken out of the score" if skipped else "")
            counts = _NO_VALUES | ({"answered": 0} if skipped else {})
            return Reading(None if skipped else 0.0, None, raw, note, counts=counts, skipped=skipped)
        if (too_many := self._too_many(got, _NO_VALUES)) is not None:
            return too_many
        strangers = [value for text, value in got.items() if text not in listed]
        inside = len(got) - len(strangers)
        value = float(not strangers) if self.strict else inside / len(got)
        evidence = f"not one of the {len(listed)} in {self.of}"
        gain = (1.0 - value) / max(1, len(strangers))
        place = self.answer or ""
        findings = tuple([Finding(self.code, place, None, item, evidence, gain=gain) for item in strangers])
        counts = {"inside": inside, "answered": len(got), "empty": 0, "answers": 1}
        return Reading(value, None, raw, f"{inside} of {len(got)} in the list", findings, counts)

    def nothing(self, case: Case) -> Mapping[str, int]:
        return {} if self.case_paths and self._listed(case) is None else _NO_VALUES


_NO_VALUES = {"inside": 0, "answered": 1, "empty": 1, "answers": 1}
"""The counts of an answer without a value, which is one wrong value."""


class SetCodes(BaseModel):
    """The code of each kind of error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    missed: Code = Field(default="MISSED", description="A value of the truth that the answer does not have.")
    extra: Code = Field(default="EXTRA", description="A value of the answer that the truth does not have.")


class ItemSet(_OfValues):
    """F1, precision or recall of the answer's values against the true ones; every missed or extra one is an error."""

    has_strict: ClassVar[bool] = True

    expected: str = Field(description="Path to the list of true values in the case.")
    value: Literal["f1", "precision", "recall"] = Field(default="f1", description="What the value is.")
    labels: tuple[str, ...] = Field(
        default=(), description="Values that are measured each on its own, for the means over labels (macro)."
    )
    codes: SetCodes = Field(default=SetCodes(), description="The code of each kind of error.")
    strict: bool = Field(default=False, description="Take F1, whatever `value` says.")

    @field_validator("labels")
    @classmethod
    def _are_names(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        for label in labels:
            if label == "macro" or not label.strip():
                raise ValueError(f"a label cannot be called {label!r}")
        if len(set(labels)) < len(labels):
            raise ValueError("a label is named twice")
        return labels

    @cached_property
    def measures(self) -> Mapping[str, Measure]:  # type: ignore[override]  # its labels are its own
        """Over all values (micro), and of each label."""
        return _measures("", "values") | {
            name: measure for label in self.labels for name, measure in _measures(f"{label}_", label).items()
        }

    @cached_property
    def means(self) -> Mapping[str, MeanMeasure]:  # type: ignore[override]  # as above
        """The means over labels (macro)."""
        return {
            f"macro_{figure}": MeanMeasure(
                tuple(f"{label}_{figure}" for label in self.labels), f"{figure}, the mean over labels", "higher"
            )
            for figure in (_FIGURES if self.labels else ())
        }

    def finding_codes(self) -> Mapping[str, str]:
        fields = SetCodes.model_fields
        return {getattr(self.codes, kind): fields[kind].description or "" for kind in ("missed", "extra")}

    def read(self, answer: Any, case: Case) -> Reading:
        true = self._listed(case)
        if true is None:
            return UNKNOWN
        raw = self.answer_value(answer)
        got = self._values(raw) or {}
        if (too_many := self._too_many(got, self._counts(true, ()))) is not None:
            return too_many
        sizes = (len(got.keys() & true.keys()), len(got), len(true))
        note = "{} right of {} answered and {} true".format(*sizes)
        if not got and not isinstance(raw, list):
            return Reading(
                0.0,
                list(true.values()),
                raw,
                f"{note}; no list",
                self._findings(true, got, sizes),
                self._counts(true, ()),
            )
        findings, counts = self._findings(true, got, sizes), self._counts(true, got, is_list=True)
        return Reading(self._figure(*sizes), list(true.values()), raw, note, findings, counts)

    def _figure(self, right: int, answered: int, true: int) -> float:
        if not answered and not true:
            return 1.0
        f1 = (2 * right, answered + true)
        ratios = {"f1": f1, "precision": (right, answered), "recall": (right, true)}
        numerator, denominator = f1 if self.strict else ratios[self.value]
        return numerator / denominator if denominator else 0.0

    def _findings(self, true: Values, got: Values, sizes: tuple[int, int, int]) -> tuple[Finding, ...]:
        right, answered, n_true = sizes
        now = self._figure(*sizes)
        missed = [value for text, value in true.items() if text not in got]
        extra = [value for text, value in got.items() if text not in true]
        # What all of a kind would give back if they were fixed, shared among them.
        regained = (self._figure(right + len(missed), answered + len(missed), n_true) - now) / max(1, len(missed))
        gone = max(0.0, self._figure(right, answered - len(extra), n_true) - now) / max(1, len(extra))
        if self.value == "recall" and not gone:
            extra = []  # what costs nothing is no error
        place = self.answer or ""
        return (
            *[Finding(self.codes.missed, place, value, None, "not in the answer", gain=regained) for value in missed],
            *[Finding(self.codes.extra, place, None, value, "not in the truth", gain=gone) for value in extra],
        )

    def _counts(self, true: Iterable[str], got: Iterable[str], *, is_list: bool = False) -> dict[str, int]:
        """Of labels only those that are on a side, so that n is theirs; without a list (`is_list`) nothing is right."""
        true, got = set(true), set(got)
        right = len(true & got) if true or got else int(is_list)
        counts = _counted("", right, len(got) or 1, len(true) or 1)
        counts["both"] = len(got) + len(true) or 2
        for label, text in zip(self.labels, self._folder.fold(self.labels), strict=True):
            if text in true or text in got:
                counts |= _counted(f"{label}_", int(text in true and text in got), int(text in got), int(text in true))
        return counts

    def nothing(self, case: Case) -> Mapping[str, int]:
        true = self._listed(case)
        return {} if true is None else self._counts(true, ())


_FIGURES = ("precision", "recall", "f1")


def _measures(before: str, what: str) -> dict[str, Measure]:
    """Precision, recall and F1, which is twice the right ones over all of both sides, so that sums give it, too."""
    return {
        f"{before}precision": Measure(f"{before}right", f"{before}answered", f"right of answered {what}", "higher"),
        f"{before}recall": Measure(f"{before}right", f"{before}true", f"right of true {what}", "higher"),
        f"{before}f1": Measure(f"{before}twice", f"{before}both", f"F1 of {what}", "higher"),
    }


def _counted(before: str, right: int, answered: int, true: int) -> dict[str, int]:
    sizes = {"right": right, "answered": answered, "true": true, "twice": 2 * right, "both": answered + true}
    return {f"{before}{name}": size for name, size in sizes.items()}
