"""The scorer for an unordered set of items: matched one-to-one to the truth, and every error named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from steelyard.scoring.base import UNKNOWN, Measure, Reading, Scorer
from steelyard.scoring.items.building import build
from steelyard.scoring.items.item_errors import compare, no_counts
from steelyard.scoring.items.item_rules import ItemCodes, Rules
from steelyard.scoring.items.layout import ItemsLayout, SeveralShapes, read_items
from steelyard.scoring.items.places import Items
from steelyard.scoring.items.similar import Side
from steelyard.scoring.items.text_pairs import Allowed
from steelyard.scoring.text import Difference, Folder
from steelyard.suite.case import Case
from steelyard.suite.values import share

Likeness = Annotated[
    float, BeforeValidator(share), Field(gt=0), WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]})
]
_MOST_PREPARED = 256
_ROUNDING = 1e-9
_MOST_KEYS = 10


class MatchItems(Scorer):
    """The share of the truth's items that the answer has with the right text and in the right group.

    Items are matched one-to-one whatever their order: those with equal texts first, the others by the best assignment
    of similar texts. Every item that is missed, extra, misread or in the wrong group is an error of its own.
    """

    version: ClassVar[int] = 4
    has_strict: ClassVar[bool] = True
    needs_json: ClassVar[bool] = True
    case_paths: ClassVar[tuple[str, ...]] = ("total",)
    measures: ClassVar[Mapping[str, Measure]] = MappingProxyType(
        {
            "accuracy": Measure(
                "correct", "visible", "items with the right text in the right group, of those there are"
            ),
            "text": Measure("read", "visible", "items whose text is right, of those there are"),
            "found": Measure("matched", "visible", "items that were found at all, of those there are"),
            "grouping": Measure("grouped", "groupable", "items in the right group, of those found"),
            "rand": Measure("pairs_agreed", "pairs", "pairs of found items that are rightly together or apart"),
            "extra": Measure("extra", "reported", "items that are not there, of those answered"),
            "unread_boxes": Measure("boxes_unread", "boxes", "boxes that cannot be read, of those answered"),
        }
    )
    blind_measures: ClassVar[tuple[str, ...]] = ("grouping", "rand")

    answer: str | None = Field(default="", description="Where in the answer the shapes begin; left out, at its top.")
    expected: ItemsLayout = Field(description="How the case holds the true items; paths begin at the case.")
    shapes: tuple[ItemsLayout, ...] = Field(
        description="How an answer may hold its items; the first shape that an answer has is taken."
    )
    total: str | None = Field(
        default=None, description="Path to how many items the case says there are; checked against their list."
    )
    ignore: tuple[Difference, ...] = Field(
        default=("case", "space", "punctuation"), description="Differences between texts that do not count."
    )
    similarity: Likeness = Field(
        default=0.75, description="How alike two texts must be to be taken for the same item, from 0 to 1."
    )
    right_from: Likeness = Field(
        default=1.0, description="How alike the texts of a match must be to count as right; 1 means equal."
    )
    grouping: Literal["auto", "label", "mapping"] = Field(
        default="auto",
        description="How groups are compared: by their labels, by the best one-to-one mapping of groups, or by labels "
        "when all labels of the answer are among the true ones.",
    )
    codes: ItemCodes = Field(default=ItemCodes(), description="The code of each kind of error.")
    most: int = Field(default=1000, ge=1, le=100_000, description="An answer with more items than this is malformed.")
    strict: bool = Field(default=False, description="Divide by the true and the extra items, so that extras cost.")

    @field_validator("ignore", "shapes", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _groups_are_there_to_compare(self) -> Self:
        if self.grouping != "auto" and not self._rules.has_groups:
            raise ValueError(f"grouping: {self.grouping} has nothing to compare: say where the truth's groups are")
        return self

    @field_validator("shapes", mode="before")
    @classmethod
    def _some_shape(cls, value: Any) -> Any:
        # Not a least length: that would be told once more when a shape itself is wrong.
        if not value:
            raise ValueError("give at least one shape")
        return value

    @cached_property
    def _folder(self) -> Folder:
        return Folder(self.ignore)

    @cached_property
    def _prepared(self) -> dict[str, tuple[Any, Side]]:
        """By case what its truth was read from, and the truth."""
        return {}

    @cached_property
    def _rules(self) -> Rules:
        return Rules(
            similarity=self.similarity,
            allowed=Allowed(self.similarity),
            right_from=self.right_from - _ROUNDING,
            grouping=self.grouping,
            codes=self.codes,
            has_groups=self.expected.group is not None or self.expected.regions is not None,
            extras_cost=self.strict,
        )

    def finding_codes(self) -> Mapping[str, str]:
        results: dict[str, str] = {}
        for kind in ("extra", "copy_", "missed", "leftover", "fragment", "wrong_text", "wrong_group"):
            if code := getattr(self.codes, kind):
                results.setdefault(code, ItemCodes.model_fields[kind].description or "")
        return results

    def truth_paths(self) -> Mapping[str, str]:
        outermost, _, _ = self.expected.items.partition("[]")
        return {"expected": outermost} if outermost else {}

    def read(self, answer: Any, case: Case) -> Reading:
        truth = self._truth(case)
        if truth is None:
            return UNKNOWN
        seen = self.answer_value(answer)
        try:
            got = read_items(self.shapes, seen, _size(case))
        except SeveralShapes as error:
            return _misshapen(truth, str(error))
        if got is None:
            return _misshapen(truth, self._no_shape(seen))
        if len(got.texts) > self.most:
            return _misshapen(truth, f"it holds {len(got.texts):,} items, more than the {self.most:,} that are read")
        return compare(truth, Side(got, self._folder), self._rules)

    def _no_shape(self, seen: Any) -> str:
        wanted = " or ".join(shape.items for shape in self.shapes)
        keys = ", ".join(list(seen)[:_MOST_KEYS]) if isinstance(seen, dict) else ""
        there = f"the answer has the keys: {keys}" if keys else "the answer is no object with keys"
        return f"it has none of the shapes that hold items ({wanted}); {there}"

    def nothing(self, case: Case) -> Mapping[str, int]:
        truth = self._truth(case)
        return {} if truth is None else no_counts(len(truth.items.texts))

    def truth(self, case: Case) -> Any:
        truth = self._truth(case)
        if truth is None:
            return None
        items = truth.items
        return build(self.shapes[0], list(zip(items.texts, items.groups, items.boxes, strict=True)), _size(case))

    def everything(self, cases: Sequence[Case]) -> Any:
        texts: dict[str, str] = {}
        for case in cases:
            if (truth := self._truth(case)) is not None:
                texts |= dict(zip(truth.folded, truth.items.texts, strict=True))
        return build(self.shapes[0], [(text, "all", None) for text in texts.values()])

    def partly_right(self, case: Case) -> Mapping[str, Any]:
        truth = self._truth(case)
        if truth is None or not self._rules.has_groups:
            return {}
        texts = truth.items.texts
        together = [(text, "all", None) for text in texts]
        apart = [(text, f"pile {n}", None) for n, text in enumerate(texts)]
        return {"one group": build(self.shapes[0], together), "each alone": build(self.shapes[0], apart)}

    def asks_nothing(self, case: Case) -> bool:
        truth = self._truth(case)
        return truth is not None and not truth.items.texts

    def check(self, case: Case) -> str | None:
        items = self.expected.read(case, _size(case))
        if items is None:
            return None
        if (unread := self.expected.complaint(case)) is not None:
            return f"{self.expected.items}: {unread}"
        folded = self._folder.fold(items.texts)
        if items.blank or not all(folded):
            return f"{self.expected.items} holds an item without a text that could be matched"
        return self._misplaced(items, folded) or self._miscounted(len(folded), case)

    def _misplaced(self, items: Items, folded: Sequence[str]) -> str | None:
        if not self._rules.has_groups:
            return None
        if items.derived and self.expected.group is not None:
            return f"a group of {self.expected.items} has nothing at {self.expected.group}: give every group its name"
        seen: dict[str, str | None] = {}
        if None in items.groups:
            return f"{items.texts[items.groups.index(None)]!r} is in no group"
        for text, group, spelled in zip(folded, items.groups, items.texts, strict=True):
            if seen.setdefault(text, group) != group:
                return f"{spelled!r} is in two groups, {seen[text]} and {group}: an item has one place"
        return None

    def _miscounted(self, n: int, case: Case) -> str | None:
        text = self.expected_value(case, "total")
        if text is None or text == n:
            return None
        return f"{self.total} says {text!r}, but {n} items are listed"

    def _truth(self, case: Case) -> Side | None:
        available = self._prepared.get(case.id)
        # The same object is the same truth: repeats and variants of a case need not read it again.
        if available is not None and available[0] is case.expected:
            return available[1]
        items = self.expected.read(case, _size(case))
        if items is None:
            return None
        if len(self._prepared) >= _MOST_PREPARED:
            self._prepared.clear()
        side = Side(items, self._folder)
        self._prepared[case.id] = case.expected, side
        return side


def _misshapen(truth: Side, why: str) -> Reading:
    return Reading(0.0, counts=no_counts(len(truth.items.texts)), misshapen=why)


def _size(case: Case) -> tuple[int, int] | None:
    """Width and height of the case's first picture, which boxes in pixels are measured by."""
    return case.attachments[0].size if case.attachments else None
