"""The scorer that matches items one to one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from steelyard.frozen import frozen
from steelyard.records import Box, Finding, Mark
from steelyard.scoring.base import UNKNOWN, Measure, Reading, Scorer
from steelyard.scoring.items.groups import (
    Agreement,
    Grouping,
    Kinds,
    agreement,
    all_known,
    groups_in_words,
    one_to_one,
    perfect,
)
from steelyard.scoring.items.layout import Items, ItemsLayout, SeveralShapes, build, read_items
from steelyard.scoring.items.similar import (
    Allowed,
    How,
    Matching,
    Side,
    choose_copies,
    copies,
    is_fragment,
    leftovers,
    match_sides,
    named_by_contents,
)
from steelyard.scoring.text import Difference, Folder
from steelyard.suite.case import Case
from steelyard.suite.values import share
from steelyard.suite.yaml import shown

# How items are compared: what a suite says about texts, groups and the codes of errors.

FORMAT = "FORMAT"
"""The code of an answer that cannot be read, which is no error of an item."""


def _code(given: str) -> str:
    if not given.strip() or given == FORMAT:
        raise ValueError(f"{given!r} cannot be the code of an item's error")
    return given


Code = Annotated[str, AfterValidator(_code)]
Fitting = Finding | tuple[Finding, ...]
"""The finding for an error, or one per code that fits it."""


class ItemCodes(BaseModel):
    """The code of each kind of error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    missed: Code = Field(default="MISSED", description="An item of the truth that the answer does not have.")
    extra: Code = Field(default="EXTRA", description="An item of the answer that the truth does not have.")
    copy_: Code | None = Field(
        default=None,
        alias="copy",
        description="A second copy of an item that was already matched; left out, it is an extra.",
    )
    fragment: Code | None = Field(
        default=None,
        description="A matched item whose text is a true fragment of the truth; left out, its text is wrong.",
    )
    leftover: Code | None = Field(
        default=None,
        description="A fragment of an item of the truth next to what was matched with that item, which is not an "
        "invention; left out, it has the code of a fragment, and without one that of an extra.",
    )
    wrong_text: Code = Field(default="WRONG_TEXT", description="A matched item whose text is wrong.")
    wrong_group: Code = Field(default="WRONG_GROUP", description="A matched item that is in the wrong group.")


@frozen
class Rules:
    """How items are compared."""

    similarity: float
    allowed: Allowed
    right_from: float
    """A similarity; a hair below what was declared, so that rounding does not decide."""
    grouping: Grouping
    codes: ItemCodes
    has_groups: bool
    extras_cost: bool


# The usual answer, told quickly: all items were found, none is too many, and all groups are right.


def read_all_found(truth: Side, got: Side, matching: Matching, rules: Rules) -> Reading | None:
    """What the general comparison gives for a usual answer; None when the answer is not one."""
    true, text = truth.items, got.items
    if matching.missed or matching.extra or true.derived or text.derived or text.blank:
        return None
    if text.n_boxes or any(true.boxes):
        return None
    message = ""
    if rules.has_groups:
        kinds = frozenset(zip(true.groups, map(text.groups.__getitem__, matching.got), strict=True))
        # A true group that was taken apart is not worth remembering.
        words = _right_groups(kinds, rules.grouping) if len(dict(kinds)) == len(kinds) else None
        if words is None:
            return None
        message = f"; {words}"
    n = len(true.texts)
    findings = _misread(truth, got, matching, rules) if matching.alike else ()
    right = n - len(findings)
    grouped, pairs = (n, n * (n - 1) // 2) if rules.has_groups else (0, 0)
    counts = {
        "visible": n,
        "reported": n,
        "matched": n,
        "read": right,
        "correct": right,
        "extra": 0,
        "groupable": grouped,
        "grouped": grouped,
        "pairs": pairs,
        "pairs_agreed": pairs,
    }
    return Reading(right / n, None, None, f"{right} of {n} right{message}", findings, counts)


# Most photos of a suite have the same few labels, so what was found out about them is kept.
@lru_cache(maxsize=64)
def _right_groups(kinds: Kinds, by: Grouping) -> str | None:
    """In words how groups were compared that are all right; None when some may be wrong."""
    if by == "auto":
        available = all_known(frozenset(group for _, group in kinds), frozenset(true for true, _ in kinds))
        by = "label" if available else "mapping"
    mapping = one_to_one(kinds, by)
    return None if mapping is None else groups_in_words(by, mapping)


def _misread(truth: Side, got: Side, matching: Matching, rules: Rules) -> tuple[Fitting, ...]:
    """The findings for items in the right group whose text is wrong."""
    true, groups, texts, places = truth.items.texts, truth.items.groups, got.items.texts, matching.got
    worth, right_from, codes = 1 / len(true), rules.right_from, rules.codes
    wrong_text, fragment = codes.wrong_text, codes.fragment
    findings: list[Fitting] = []
    for at, alike in sorted(matching.alike.items()):
        if alike < right_from:
            text = texts[places[at]]
            fits = [wrong_text]
            if fragment and is_fragment(*truth.folder.fold([text, true[at]])):
                fits = [fragment, wrong_text]
            message = f"{100 * alike:.0f} % alike"
            findings.append(_fitting(fits, groups[at] or "", true[at], text, message, worth))
    return tuple(findings)


def _fitting(
    codes: Sequence[str], group: str, true: str, text: str, message: str, gain: float, box: Box | None = None
) -> Fitting:
    """The finding for an error, or one finding per code if several fit it."""
    findings = [Finding(code, group, true, text, message, gain=gain, box=box) for code in dict.fromkeys(codes)]
    return findings[0] if len(findings) == 1 else tuple(findings)


# The items of one answer compared with the true ones: what is right, and every error with the codes that fit it.

COUNTS = (
    *("visible", "reported", "matched", "read", "correct", "extra"),
    *("groupable", "grouped", "pairs", "pairs_agreed"),
)
"""What is counted in every comparison; groups only where the truth has them."""
_NO_GROUPS = Agreement((), "label", {}, (), 0, 0)


def no_counts(visible: int) -> dict[str, int]:
    """The counts of an answer that holds nothing; where no items are due, it is one wrong item all the same."""
    return dict.fromkeys(COUNTS, 0) | {"visible": visible or 1}


def compare(truth: Side, got: Side, rules: Rules) -> Reading:
    """What the answer's items are worth beside the true ones; where there are none, only no items are right."""
    if not truth.items.texts:
        return _where_none_are_due(got.items, rules)
    matching = match_sides(truth, got, rules.allowed)
    return read_all_found(truth, got, matching, rules) or _Comparison(truth, got, rules, matching).reading()


def _where_none_are_due(items: Items, rules: Rules) -> Reading:
    """The answer counts as one item, which is right when it reports none."""
    n, right = len(items.texts), int(not items.texts)
    findings = tuple(
        Finding(rules.codes.extra, group or "", None, text, "not in the truth", gain=1 / n, box=box)
        for text, group, box in zip(items.texts, items.groups, items.boxes, strict=True)
    )
    counts = no_counts(0) | dict.fromkeys(("matched", "read", "correct"), right) | {"reported": n, "extra": n}
    return Reading(float(right), None, None, f"no items are due, {n} reported", findings, counts)


class _Comparison:
    def __init__(self, truth: Side, got: Side, rules: Rules, matching: Matching) -> None:
        self.truth, self.got, self.rules = truth, got, rules
        how = self._how() if rules.has_groups else None
        self.matching = choose_copies(truth, got, matching, how) if matching.extra and matching.twice else matching
        self.agreement = _NO_GROUPS if how is None else self._agree(how)

    def _how(self) -> How:
        """By label when every label of the answer is a true one, unless the suite says otherwise."""
        if self.rules.grouping != "auto":
            return self.rules.grouping
        if self.got.items.derived or self.truth.items.derived or not any(self.got.items.groups):
            return "mapping"
        available = all_known(frozenset(self.got.items.groups), frozenset(self.truth.items.groups))
        return "label" if available else "mapping"

    def _agree(self, how: How) -> Agreement:
        items, true = self.got.items, self.truth.items.groups
        # Groups without names of their own are called by their place, which must not break a tie.
        renamed = items.derived and how == "mapping"
        text = named_by_contents(self.got) if renamed else items.groups
        matching, right_from = self.matching, self.rules.right_from
        truths = true if not matching.missed else list(map(true.__getitem__, matching.expected))
        groups = list(map(text.__getitem__, matching.got))
        result = perfect(truths, groups, by=how)
        if result is None:
            favoured = [matching.alike.get(at, 1.0) >= right_from for at in matching.expected]
            result = agreement(list(zip(truths, groups, strict=True)), by=how, favoured=favoured)
        if renamed:
            written = {name: group for name, group in zip(text, items.groups, strict=True) if name and group}
            result.mapping = {written[name]: label for name, label in result.mapping.items()}
            result.unmapped = tuple([written[name] for name in result.unmapped])
        return result

    def reading(self) -> Reading:
        matching, rules, agreed = self.matching, self.rules, self.agreement
        visible, matched, n_extra = len(self.truth.items.texts), len(matching.expected), len(matching.extra)
        whole = visible + n_extra if rules.extras_cost else visible
        misread = [at for at, alike in matching.alike.items() if alike < rules.right_from]
        misplaced: Collection[int] = ()
        if False in agreed.right:
            misplaced = {at for at, right in zip(matching.expected, agreed.right, strict=True) if not right}
        wrong = sorted({*misread, *misplaced})
        n_correct = matched - len(wrong)
        findings: list[Fitting] = list(self._wrong(wrong, misplaced, 1 / whole)) if wrong else []
        if matching.missed:
            findings += self._missed(1 / whole)
        n_leftover = 0
        if n_extra:
            extras, n_leftover = self._extras(n_correct, whole)
            findings += extras
        counts = {
            "visible": visible,
            "reported": len(self.got.items.texts),
            "matched": matched,
            "read": matched - len(misread),
            "correct": n_correct,
            "extra": n_extra - n_leftover,
            "groupable": matched if rules.has_groups else 0,
            "grouped": len(agreed.right) - len(misplaced),
            "pairs": agreed.pairs,
            "pairs_agreed": agreed.pairs_agreed,
        }
        if self.got.items.n_boxes:
            counts |= {"boxes": self.got.items.n_boxes, "boxes_unread": len(self.got.items.unread)}
        marks = tuple(self._marks(set(wrong))) if any(self.truth.items.boxes) or any(self.got.items.boxes) else ()
        return Reading(n_correct / whole, None, None, self._note(n_correct), tuple(findings), counts, marks)

    def _marks(self, wrong: set[int]) -> Iterator[Mark]:
        for at, by in zip(self.matching.expected, self.matching.got, strict=True):
            if at not in wrong and (box := self._box(at, by)) is not None:
                yield Mark(box, self.truth.items.texts[at])

    def _wrong(self, wrong: Sequence[int], misplaced: Collection[int], worth: float) -> Iterator[Fitting]:
        """The findings for matched items. Fixing one of two errors in an item would not yet make it right."""
        matching, codes_of, true, stated = self.matching, self.rules.codes, self.truth.items, self.got.items
        # Where nothing was missed, an item's number is also that of its pair.
        places = dict(zip(matching.expected, matching.got, strict=True)) if matching.missed else matching.got
        for at in wrong:
            by, alike = places[at], matching.alike.get(at, 1.0)
            wrong_text, wrong_group = alike < self.rules.right_from, at in misplaced
            gain = 0.0 if wrong_text and wrong_group else worth
            codes: list[str] = []
            message = ""
            if wrong_text:
                if codes_of.fragment and is_fragment(*self.truth.folder.fold([stated.texts[by], true.texts[at]])):
                    codes.append(codes_of.fragment)
                codes.append(codes_of.wrong_text)
                message = f"{100 * alike:.0f} % alike"
            if wrong_group:
                codes.append(codes_of.wrong_group)
                where = self._where(true.groups[at], by)
                message = f"{message}; {where}" if message else where
            box = stated.boxes[by] or true.boxes[at]
            # A text that is right however it was written is not what the finding is about.
            text = stated.texts[by] if wrong_text else true.texts[at]
            yield _fitting(codes, true.groups[at] or "", true.texts[at], text, message, gain, box)

    def _where(self, true: str | None, by: int) -> str:
        text, unread = self.got.items.groups[by], self.got.items.unread
        if text is None:
            why = f"its box cannot be read: {shown(unread[by])};" if by in unread else "no group given,"
            return f"{why} belongs to {true}"
        meant = self.agreement.mapping.get(text)
        taken = "" if meant is None or meant == text else f" (taken for {meant})"
        return f"in {text}{taken}, belongs to {true}"

    def _missed(self, worth: float) -> Iterator[Finding]:
        true = self.truth.items
        code, message = self.rules.codes.missed, "not in the answer"
        for at in self.matching.missed:
            group, box = true.groups[at] or "", true.boxes[at]
            yield Finding(code, group, true.texts[at], None, message, gain=worth, box=box)

    def _extras(self, n_correct: int, whole: int) -> tuple[list[Finding], int]:
        """The findings for what is too many in the answer, and how many of these are fragments of true items."""
        text, true, codes, extra = self.got.items, self.truth.items, self.rules.codes, self.matching.extra
        folded = dict(zip(extra, self.got.folder.fold([text.texts[by] for by in extra]), strict=True))
        parts = leftovers(self.truth.folded, folded, self.matching, self.got)
        second = copies(self.truth.folded, folded, self.matching, minimum=self.rules.similarity)
        code_of = {by: codes.copy_ if by in second and codes.copy_ else codes.extra for by in extra}
        code_of |= dict.fromkeys(parts, codes.leftover or codes.fragment or codes.extra)
        numbers = Counter(code_of.values())
        fragments = {folded[by] for by in parts}
        findings: list[Finding] = []
        for by, code in code_of.items():
            # What all extras of this code would give back if they were gone, shared among them.
            n = numbers[code]
            worth = (n_correct / (whole - n) - n_correct / whole) / n if self.rules.extras_cost else 0.0
            message = "not in the truth"
            if by in parts:
                message = f"a further fragment of {true.texts[parts[by]]!r}"
            elif by in second:
                message = f"a second copy of {true.texts[second[by]]!r}"
            elif folded[by] in fragments:
                message = "a further copy of a fragment"
            group, box = text.groups[by] or "", text.boxes[by]
            findings.append(Finding(code, group, None, text.texts[by], message, gain=worth, box=box))
        return findings, len(parts)

    def _box(self, at: int, by: int) -> Box | None:
        return self.got.items.boxes[by] or self.truth.items.boxes[at]

    def _note(self, n_correct: int) -> str:
        message = f"{n_correct} of {len(self.truth.items.texts)} right"
        if self.rules.has_groups and self.matching.expected:
            result = self.agreement
            how = result.how if any(self.got.items.groups) else "mapping"
            message = (
                f"{message}; {groups_in_words(how, result.mapping, result.unmapped, set(self.truth.items.groups))}"
            )
        items = self.got.items
        if items.unread:
            example = shown(next(iter(items.unread.values())))
            message = f"{message}; {len(items.unread)} of {items.n_boxes} boxes cannot be read, such as {example}"
        return f"{message}; {items.blank} without a text left out" if items.blank else message


# The scorer for an unordered set of items: matched one-to-one to the truth, and every error named.

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
