"""The scorer for spans of a text: matched one-to-one to the gold spans, and every error named."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from steelyard.frozen import slotted
from steelyard.scoring.base import UNKNOWN, MeanMeasure, Measure, Reading, Scorer
from steelyard.scoring.spans.codes import Categories, SpanCodes
from steelyard.scoring.spans.findings import Naming, claims, span_findings
from steelyard.scoring.spans.measures import macro_measures, span_counts, span_measures
from steelyard.scoring.spans.offsets import OffsetUnit, TextOffsets
from steelyard.scoring.spans.read import Spans, SpansLayout, TextSpan, read_spans
from steelyard.scoring.spans.schemes import SCHEMES, Scheme, SpanComparison, compare_spans
from steelyard.scoring.spans.sections import MAIN, complaint_about, sections_of
from steelyard.suite.case import Case
from steelyard.suite.values import share


def _overlap(given: Any) -> float:
    """The least overlap that makes a pair: of `> 50 %` it is the next number above."""
    if isinstance(given, str) and given.lstrip().startswith(">"):
        return math.nextafter(share(given.lstrip()[1:]), math.inf)
    return share(given)


def _written(iou: float) -> float | str:
    """The overlap as a suite would write it."""
    below = round(iou, 12)
    return f"> {below:g}" if math.nextafter(below, math.inf) == iou else iou


Overlap = Annotated[
    float,
    BeforeValidator(_overlap),
    PlainSerializer(_written),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
]
_MOST_PREPARED = 256
_MOST_KEYS = 10
_WORD = re.compile(r"\w+")
_FEW = 3


@slotted
class _Gold:
    """The gold spans of one case with its text, read once."""

    source: Any
    asked: Any
    text: str
    spans: Spans


class MatchSpans(Scorer):
    """F1 of the answer's spans against the gold ones: by default, those with the same boundaries and role are right.

    Spans are matched one-to-one whatever their order. Every span that is missed, extra, in the wrong role, too fine,
    too coarse or a duplicate is an error of its own. Inside, all offsets are in code points.
    """

    version: ClassVar[int] = 2
    has_strict: ClassVar[bool] = True
    needs_json: ClassVar[bool] = True
    case_paths: ClassVar[tuple[str, ...]] = ("text",)

    answer: str | None = Field(default="", description="Where in the answer the shape begins; left out, at its top.")
    text: str = Field(description="Path to the text that the offsets refer to; it begins at the case.")
    expected: SpansLayout = Field(description="How the case holds the gold spans; the path of the list begins there.")
    shape: SpansLayout = Field(default=SpansLayout(), description="How an answer holds its spans.")
    offsets: OffsetUnit = Field(
        default="code_points", description="What offsets count: code points, UTF-8 bytes or UTF-16 units."
    )
    iou: Overlap = Field(
        default=0.5,
        description="How much two spans must overlap to be a pair, as intersection over union: at least 0.5, or more "
        "than that when written '> 0.5'; 0: any overlap.",
    )
    value: Scheme = Field(default="strict", description="The scheme whose F1 is the value.")
    categories: Categories = Field(
        default=Categories(), description="The categories of roles: a list of names, or names and what ends them."
    )
    roles: tuple[str, ...] = Field(default=(), description="Roles whose F1 is a measure of its own, for gates.")
    sections: dict[str, str | tuple[str, ...]] = Field(
        default={},
        description="By name of a section, the regular expression that begins it; what is before them all is `main`.",
    )
    codes: SpanCodes = Field(default=SpanCodes(), description="The code of each kind of error.")
    most: int = Field(default=1000, ge=1, le=100_000, description="An answer with more spans than this is malformed.")
    strict: bool = Field(default=False, description="Take the strict scheme, whatever `value` says.")

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        if wrong := complaint_about(self.sections):
            raise ValueError(wrong)
        if outside := [role for role in self.roles if self._outside(role)]:
            raise ValueError(f"roles: {outside[0]!r} is in none of the categories {', '.join(self.categories.names)}")
        names = [*self.categories.names, *SCHEMES, "macro", *self.role_names.values()]
        if twice := [role for role, name in self.role_names.items() if names.count(name) > 1]:
            raise ValueError(f"roles: the measure {self.role_names[twice[0]]}_f1 of {twice[0]!r} is there already")
        return self

    @cached_property
    def role_names(self) -> Mapping[str, str]:
        """How the measure of each role begins: `subject_wardrobe` of `subject.wardrobe`."""
        return {role: re.sub(r"\W+", "_", role) for role in self.roles}

    @cached_property
    def measures(self) -> Mapping[str, Measure]:  # type: ignore[override]  # its categories and sections are its own
        """Ratios of its counts: the usual ones, and those of its categories and sections."""
        sections = [MAIN, *self.sections] if self.sections else []
        return span_measures(self.categories.names, sections, self.role_names)

    @cached_property
    def means(self) -> Mapping[str, MeanMeasure]:  # type: ignore[override]  # as above
        """The mean over its categories."""
        return macro_measures(self.categories.names)

    @cached_property
    def _prepared(self) -> dict[str, _Gold]:
        return {}

    @cached_property
    def _naming(self) -> Naming:
        codes = {kind: code for kind, code in self.codes.model_dump().items() if code is not None}
        before = f"{self.answer}." if self.answer else ""
        return Naming(codes, lambda index: before + self.shape.place_of(index), self.expected.place_of)

    @property
    def scheme(self) -> Scheme:
        """The scheme that the value is of."""
        return "strict" if self.strict else self.value

    def finding_codes(self) -> Mapping[str, str]:
        results: dict[str, str] = {}
        for kind in SpanCodes.model_fields:
            if code := getattr(self.codes, kind):
                results.setdefault(code, SpanCodes.model_fields[kind].description or "")
        return results

    def truth_paths(self) -> Mapping[str, str]:
        return {"expected": self.expected.list_path} if self.expected.list_path else {}

    def read(self, answer: Any, case: Case) -> Reading:
        gold = self._gold(case)
        if gold is None:
            return UNKNOWN
        seen = self.answer_value(answer)
        items = self.shape.result(seen)
        if items is None:
            return self._misshapen(gold, self._no_list(seen))
        if len(items) > self.most:
            return self._misshapen(gold, f"it holds {len(items):,} spans, more than the {self.most:,} that are read")
        spans = self.placed(items, self.shape, gold.text)
        return self._reading(compare_spans(gold.spans, spans, iou=self.iou))

    def placed(self, items: Sequence[Any], layout: SpansLayout, text: str) -> Spans:
        """The spans of a list in their places in the text, each tagged with its section."""
        sections = sections_of(text, self.sections) if self.sections else None
        return read_spans(items, text, layout=layout, offsets=self.offsets, sections=sections)

    def _reading(self, span_comparison: SpanComparison) -> Reading:
        return Reading(
            span_comparison.figures(self.scheme).value,
            note=self._note(span_comparison),
            findings=tuple(span_findings(span_comparison, self.scheme, self._naming)),
            counts=self._counts(span_comparison),
            claims=claims(span_comparison, self.categories.of),
        )

    def _counts(self, span_comparison: SpanComparison) -> Mapping[str, int]:
        categories, in_sections = self.categories, bool(self.sections)
        return span_counts(span_comparison, categories.of, categories.names, self.role_names, in_sections=in_sections)

    def _note(self, span_comparison: SpanComparison) -> str:
        right = round(span_comparison.figures("strict").right)
        messages = [f"{right} of {len(span_comparison.gold)} right, {len(span_comparison.answer)} answered"]
        if moved := sum(bool(span.misplaced) for span in span_comparison.answer.placed):
            messages.append(f"{moved} with wrong offsets put where their text is")
        if span_comparison.answer.lost:
            messages.append(f"{len(span_comparison.answer.lost)} without a place in the text")
        if roles := {span.role for span in span_comparison.answer.placed if self._outside(span.role)}:
            few = ", ".join(repr(role) for role in sorted(roles)[:_FEW])
            messages.append(f"roles of no category: {few}" + (", …" if len(roles) > _FEW else ""))
        return "; ".join(messages)

    def _outside(self, role: str) -> bool:
        return bool(self.categories.names) and self.categories.of(role) not in self.categories.names

    def _misshapen(self, gold: _Gold, why: str) -> Reading:
        return Reading(0.0, counts=self._nothing(gold), misshapen=why)

    def _no_list(self, seen: Any) -> str:
        keys = ", ".join(map(str, list(seen)[:_MOST_KEYS])) if isinstance(seen, dict) else ""
        there = f"the answer has the keys: {keys}" if keys else "the answer is no object with keys"
        return f"it has no list of spans at {self.shape.spans}; {there}"

    def nothing(self, case: Case) -> Mapping[str, int]:
        gold = self._gold(case)
        return {} if gold is None else self._nothing(gold)

    def _nothing(self, gold: _Gold) -> Mapping[str, int]:
        counts = self._counts(compare_spans(gold.spans, Spans(), iou=self.iou))
        # Where none are due, an answer that cannot be read is one wrong span: it is not right, as an empty list is.
        return {**counts, "spans": counts["spans"] or 1}

    def truth(self, case: Case) -> Any:
        gold = self._gold(case)
        return None if gold is None else self.shape.build(gold.spans.placed, gold.text, self.offsets)

    def everything(self, cases: Sequence[Case]) -> Any:
        elements: dict[tuple[str, str], Any] = {}
        for case in cases:
            if (gold := self._gold(case)) is not None:
                ruler = TextOffsets(gold.text, self.shape.offsets or self.offsets)
                for span in gold.spans.placed:
                    elements.setdefault((span.text, span.role), self.shape.element(span, ruler))
        return self.shape.document(list(elements.values()))

    def blankets(self, case: Case) -> Mapping[str, Any]:
        gold = self._gold(case)
        if gold is None:
            return {}
        roles = list(dict.fromkeys(span.role for span in gold.spans.placed)) or [""]
        words = [word.span() for word in _WORD.finditer(gold.text)]
        places = {"whole text": [(0, len(gold.text))], "every word": words}
        return {
            name: self.shape.build(
                [TextSpan(gold.text[start:end], start, end, role) for start, end in result for role in roles],
                gold.text,
                self.offsets,
            )
            for name, result in places.items()
        }

    def asks_nothing(self, case: Case) -> bool:
        gold = self._gold(case)
        return gold is not None and not gold.spans.placed

    def check(self, case: Case) -> str | None:
        items = self.expected.result(case)
        if not items:
            return None
        text = self.expected_value(case, "text")
        if not isinstance(text, str):
            return f"{self.text} holds no text that the spans could be in"
        spans = self.placed(items, self.expected, text)
        wrong = {span.index: span.why for span in spans.lost}
        wrong |= {span.index: span.misplaced or self._wrong_role(span.role) for span in spans.placed}
        problems = [f"{self.expected.place_of(index)}: {why}" for index, why in sorted(wrong.items()) if why]
        return "; ".join(problems) or self._messages_twice(spans)

    def _wrong_role(self, role: str) -> str:
        if self.expected.role is not None and not role:
            return "it has no role"
        if self._outside(role):
            return f"its role {role!r} is in none of the categories {', '.join(self.categories.names)}"
        return ""

    def _messages_twice(self, spans: Spans) -> str | None:
        by_role = sorted(spans.placed, key=lambda span: (span.role, span.start, span.end))
        for item, other in pairwise(by_role):
            if item.role == other.role and other.start < item.end:
                both = " and ".join(map(self.expected.place_of, (item.index, other.index)))
                return f"{both} overlap and have one role, {item.role!r}: keep one"
        return None

    def _gold(self, case: Case) -> _Gold | None:
        available = self._prepared.get(case.id)
        # The same objects are the same truth: repeats and variants of a case need not read it again.
        if available is not None and available.source is case.expected and available.asked is case.input:
            return available
        items, text = self.expected.result(case), self.expected_value(case, "text")
        if items is None or not isinstance(text, str):
            return None
        spans = self.placed(items, self.expected, text)
        if items and not spans.placed:
            return None
        if len(self._prepared) >= _MOST_PREPARED:
            self._prepared.clear()
        gold = _Gold(case.expected, case.input, text, spans)
        self._prepared[case.id] = gold
        return gold
