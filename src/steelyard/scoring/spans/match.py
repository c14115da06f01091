"""The scorer of spans."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema

from steelyard.frozen import frozen, slotted
from steelyard.records import Claim, Finding
from steelyard.scoring.base import UNKNOWN, MeanMeasure, Measure, Reading, Scorer
from steelyard.scoring.items.match import Code
from steelyard.scoring.spans.compare import KINDS, SCHEMES, Figures, Scheme, SpanComparison, SpanError, compare_spans
from steelyard.scoring.spans.read import (
    MAIN,
    LostSpan,
    OffsetUnit,
    Spans,
    SpansLayout,
    TextOffsets,
    TextSpan,
    complaint_about,
    read_spans,
    sections_of,
)
from steelyard.suite.case import Case
from steelyard.suite.values import share

# What is counted in one comparison of spans, and the ratios that the counts add up to over many.

_WHOLE: tuple[Scheme, ...] = ("strict", "exact", "type")
"""The schemes that count no halves."""
_WORDS = {
    "strict": "with the same boundaries and role",
    "exact": "with the same boundaries",
    "partial": "with the same boundaries, and those that overlap by half; counted in halves",
    "type": "that overlap and have the same role",
}


def span_measures(
    categories: Sequence[str], sections: Sequence[str], roles: Mapping[str, str] | None = None
) -> dict[str, Measure]:
    """The measures of a suite with these categories, sections and roles; F1 is twice what is right over all spans."""
    measures: dict[str, Measure] = {}
    for scheme, message in _WORDS.items():
        halves = "_halves" if scheme == "partial" else ""
        twice = "partial_halves" if halves else f"{scheme}_twice"
        measures[f"{scheme}_precision"] = Measure(f"{scheme}{halves}", f"answered{halves}", f"answered spans {message}")
        measures[f"{scheme}_recall"] = Measure(f"{scheme}{halves}", f"gold{halves}", f"gold spans found {message}")
        measures[f"{scheme}_f1"] = Measure(twice, "spans", f"F1 of spans {message}")
    measures["misplaced"] = Measure("misplaced", "answered", "answered spans whose offsets do not give their text")
    if categories:
        measures["outside"] = Measure("outside", "answered", "answered spans whose role is in no category")
    for name in categories:
        right, twice = f"{name}_right", f"{name}_twice"
        measures[f"{name}_precision"] = Measure(right, f"{name}_answered", f"answered spans of {name}, strictly right")
        measures[f"{name}_recall"] = Measure(right, f"{name}_gold", f"gold spans of {name}, strictly found")
        measures[f"{name}_f1"] = Measure(twice, f"{name}_spans", f"strict F1 of {name}")
    for role, name in (roles or {}).items():
        measures[f"{name}_f1"] = Measure(f"{name}_twice", f"{name}_spans", f"strict F1 of {role}")
    for name in sections:
        measures[f"{name}_wrong"] = Measure(
            f"in_{name}_wrong", f"in_{name}_answered", f"wrong spans, of those in {name}"
        )
        measures[f"{name}_missed"] = Measure(
            f"in_{name}_missed", f"in_{name}_gold", f"missed spans, of those in {name}"
        )
    return {name: replace(measure, better=_better(name)) for name, measure in measures.items()}


def macro_measures(categories: Sequence[str]) -> dict[str, MeanMeasure]:
    """Precision, recall and F1 averaged over the categories that have them; none without categories."""
    messages = {
        "precision": "strict precision, the mean over categories with an answered span",
        "recall": "strict recall, the mean over categories with a gold span",
        "f1": "strict F1, the mean over categories with a span on either side",
    }
    if not categories:
        return {}
    return {
        f"macro_{name}": MeanMeasure(tuple(f"{category}_{name}" for category in categories), about, "higher")
        for name, about in messages.items()
    }


def _better(name: str) -> str:
    return "higher" if name.endswith(("_precision", "_recall", "_f1")) else "lower"


def span_counts(
    span_comparison: SpanComparison,
    category_of: Callable[[str], str],
    categories: Sequence[str],
    roles: Mapping[str, str] | None = None,
    *,
    in_sections: bool,
) -> dict[str, int]:
    """The counts of one comparison; of categories, roles and sections only those that have a span, so that n is
    theirs."""
    n_gold, n_answered = len(span_comparison.gold.placed), len(span_comparison.answer)
    figures = span_comparison.all_figures()
    right = {scheme: round(figures[scheme].right) for scheme in _WHOLE}
    counts = {
        "gold": n_gold,
        "answered": n_answered,
        "spans": n_gold + n_answered,
        "gold_halves": 2 * n_gold,
        "answered_halves": 2 * n_answered,
        **right,
        **{f"{scheme}_twice": 2 * count for scheme, count in right.items()},
        "partial_halves": round(2 * figures["partial"].right),
        "misplaced": sum(bool(span.misplaced) for span in span_comparison.answer.all),
        "lost": len(span_comparison.answer.lost),
    }
    kinds = Counter(error.kind for error in span_comparison.errors)
    counts |= {kind: kinds[kind] for kind in KINDS}
    if categories:
        counts |= _by_category(span_comparison, category_of, categories)
    if roles:
        by_role = _by_category(span_comparison, lambda role: roles.get(role, ""), list(roles.values()))
        counts |= {name: n for name, n in by_role.items() if name.endswith(("_spans", "_twice"))}
    return counts | _by_section(span_comparison) if in_sections else counts


def _by_category(
    span_comparison: SpanComparison, category_of: Callable[[str], str], categories: Sequence[str]
) -> dict[str, int]:
    counts = {"outside": 0}
    for name, figures in span_comparison.by_category("strict", category_of).items():
        if name not in categories:
            counts["outside"] += figures.answered
            continue
        right = round(figures.right)
        counts |= {
            f"{name}_gold": figures.gold,
            f"{name}_answered": figures.answered,
            f"{name}_spans": figures.gold + figures.answered,
            f"{name}_right": right,
            f"{name}_twice": 2 * right,
        }
    return counts


def _by_section(span_comparison: SpanComparison) -> dict[str, int]:
    gold = Counter(span.section for span in span_comparison.gold.placed)
    answered = Counter(span.section for span in span_comparison.answer.placed)
    wrong = Counter(error.answer.section for error in span_comparison.errors if error.answer is not None)
    missed = Counter(error.gold[0].section for error in span_comparison.errors if error.kind == "missed")
    parts = {"gold": gold, "answered": answered, "wrong": wrong, "missed": missed}
    sections = sorted(gold.keys() | answered.keys())
    return {f"in_{section}_{part}": counter[section] for section in sections for part, counter in parts.items()}


# What a suite says about its spans besides where they are: the codes of errors and the categories of roles.


class SpanCodes(BaseModel):
    """The code of each kind of error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    missed: Code = Field(default="MISSED", description="A gold span that the answer does not have.")
    extra: Code = Field(default="EXTRA", description="A span that is not in the truth.")
    wrong_role: Code = Field(default="WRONG_ROLE", description="A span that was found and has the wrong role.")
    too_fine: Code = Field(default="TOO_FINE", description="A span that is only a piece of a gold span.")
    too_coarse: Code = Field(default="TOO_COARSE", description="A span that is more than a gold span, or several.")
    duplicate: Code = Field(
        default="DUPLICATE", description="A second span for a gold span that has one, or the same span again."
    )
    misplaced: Code | None = Field(
        default=None,
        description="A span whose offsets do not give its text; left out, one that can be put where its text is counts "
        "there without an error, and one that cannot is an extra.",
    )


class Categories(BaseModel):
    """What kinds of roles there are: the category of a role is its first part."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: tuple[str, ...] = Field(default=(), description="The categories, each measured on its own.")
    up_to: str = Field(default=".", min_length=1, description="What the first part of a role ends at.")

    @model_validator(mode="before")
    @classmethod
    def _names_alone(cls, given: Any) -> Any:
        return {"names": given} if isinstance(given, (list, tuple)) else given

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "array", "items": {"type": "string"}}, handler(core)]}

    @field_validator("names")
    @classmethod
    def _names_are_free(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name in SCHEMES or not name.strip():
                raise ValueError(f"a category cannot be called {name!r}")
        if len(set(names)) < len(names):
            raise ValueError("a category is named twice")
        return names

    @cached_property
    def of(self) -> Callable[[str], str]:
        """A function from a role to its category."""
        up_to = self.up_to
        return lru_cache(maxsize=4096)(lambda role: role.partition(up_to)[0])


# The errors of spans as findings: each with its place, what was expected, and what fixing it would gain.

_LONGEST_QUOTE = 300
_FEW_GOLDS = 5
_WHOLE_SPAN = {"strict": 1.0, "exact": 1.0, "partial": 0.5, "type": 0.0}
"""What a pair with the right role gains when its boundaries are fixed."""


@frozen
class Naming:
    """The suite's codes by kind of error, and how it names the place of a span on each side."""

    codes: Mapping[str, str]
    """Without `misplaced` when a span that was moved is no error."""
    answer_place: Callable[[int], str]
    gold_place: Callable[[int], str]


def span_findings(span_comparison: SpanComparison, scheme: Scheme, naming: Naming) -> Iterator[Finding]:
    """A finding for every error, for every span without a place, and for every one that had to be moved."""
    figures = span_comparison.figures(scheme)
    for error in span_comparison.errors:
        yield _finding(error, gain_of(error, figures, scheme), naming)
    for lost in span_comparison.answer.lost:
        yield _lost(lost, _gain(figures, 0.0, -1), naming)
    misplaced = naming.codes.get("misplaced")
    for span in span_comparison.answer.placed if misplaced else ():
        if span.misplaced and misplaced:
            place = naming.answer_place(span.index)
            yield _at(span, Finding(misplaced, place, None, _cut(span.text), span.misplaced))


def gain_of(error: SpanError, figures: Figures, scheme: Scheme) -> float:
    """What F1 would rise by if this error alone were fixed: a missed span added, an extra or a duplicate taken out,
    a role or the boundaries put right; one too fine or too coarse replaced by the gold span it stands for, or taken out
    when it stands for none."""
    if error.kind == "missed":
        return _gain(figures, 1.0, 1)
    if error.kind in ("extra", "duplicate"):
        return _gain(figures, 0.0, -1)
    if not error.paired:
        return _gain(figures, 0.0, -1) if error.stands_for is None else _gain(figures, 1.0, 0)
    if error.kind == "wrong_role":
        return _gain(figures, _role_fixed(error, scheme), 0)
    return _gain(figures, _WHOLE_SPAN[scheme], 0)


def _role_fixed(error: SpanError, scheme: Scheme) -> float:
    if scheme == "type":
        return 1.0
    return 1.0 if scheme == "strict" and _same_boundaries(error) else 0.0


def _gain(figures: Figures, right: float, answered: int) -> float:
    return Figures(figures.right + right, figures.answered + answered, figures.gold).value - figures.value


def claims(span_comparison: SpanComparison, category_of: Callable[[str], str]) -> tuple[Claim, ...]:
    """Every span of the answer that has a confidence; right when boundaries and role are those of its gold span."""
    wrong = {error.answer.index for error in span_comparison.errors if error.answer is not None}
    wrong |= {span.index for span in span_comparison.answer.lost}
    return tuple(
        Claim(span.confidence, span.index not in wrong, category_of(span.role))
        for span in sorted(span_comparison.answer.all, key=lambda span: span.index)
        if span.confidence is not None
    )


def _finding(error: SpanError, gain: float, naming: Naming) -> Finding:
    text, kind = error.answer, error.kind
    code = naming.codes[kind]
    if text is None:
        true = error.gold[0]
        message = _with_role(true, "not in the answer")
        return _at(true, Finding(code, naming.gold_place(true.index), _cut(true.text), None, message, gain=gain))
    place = naming.answer_place(text.index)
    if kind == "wrong_role":
        true = error.gold[0]
        message = repr(_cut(text.text)) + ("" if _same_boundaries(error) else f", for {_cut(true.text)!r}")
        return _at(text, Finding(code, place, true.role, text.role, message, gain=gain))
    expected = (
        None if kind in ("extra", "duplicate") else " | ".join(_cut(true.text) for true in error.gold[:_FEW_GOLDS])
    )
    message = _with_role(text, _about(error, naming))
    return _at(text, Finding(code, place, expected, _cut(text.text), message, gain=gain))


def _about(error: SpanError, naming: Naming) -> str:
    golds = ", ".join(naming.gold_place(true.index) for true in error.gold[:_FEW_GOLDS])
    golds += f" and {len(error.gold) - _FEW_GOLDS} more" if len(error.gold) > _FEW_GOLDS else ""
    if error.kind == "extra":
        return "not in the truth"
    if error.kind == "duplicate":
        return f"{golds} has a span already" if golds else "the same span is there already"
    return f"only a piece of {golds}" if error.kind == "too_fine" else f"more than {golds}"


def _lost(span: LostSpan, gain: float, naming: Naming) -> Finding:
    code = naming.codes.get("misplaced") if span.misplaced else None
    message = _with_role(span, span.why)
    place = naming.answer_place(span.index)
    return Finding(code or naming.codes["extra"], place, None, _cut(span.text) or None, message, gain=gain)


def _at(span: TextSpan, finding: Finding) -> Finding:
    finding.span, finding.section = (span.start, span.end), span.section
    return finding


def _same_boundaries(error: SpanError) -> bool:
    text, true = error.answer, error.gold[0]
    return text is not None and (text.start, text.end) == (true.start, true.end)


def _with_role(span: TextSpan | LostSpan, message: str) -> str:
    return f"{span.role}: {message}" if span.role else message


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"


# The scorer for spans of a text: matched one-to-one to the gold spans, and every error named.


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
