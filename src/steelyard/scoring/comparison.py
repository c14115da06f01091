"""The items of one answer held against the true ones: what is right, and every error with the codes that fit it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from steelyard.records import Box, Mark
from steelyard.scoring.base import Fault, Reading
from steelyard.scoring.copies import How, Side, choose_copies, named_by_contents
from steelyard.scoring.grouping import Agreement, agreement, all_known, perfect
from steelyard.scoring.matching import copies, is_fragment, match

COUNTS = (
    *("visible", "reported", "matched", "read", "correct", "extra"),
    *("groupable", "grouped", "pairs", "pairs_agreed"),
)
"""What is counted in every comparison; groups only where the truth has them."""
_FEW = 3
_NO_GROUPS = Agreement((), "label", {}, (), 0, 0)


class Codes(Protocol):
    """The suite's code for each kind of error; None where another kind's serves."""

    @property
    def missed(self) -> str: ...
    @property
    def extra(self) -> str: ...
    @property
    def copy_(self) -> str | None: ...
    @property
    def fragment(self) -> str | None: ...
    @property
    def wrong_text(self) -> str: ...
    @property
    def wrong_group(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """How items are compared."""

    similarity: float
    right_from: float
    """A similarity; a hair below what was declared, so that rounding does not decide."""
    grouping: Literal["auto", "label", "mapping"]
    codes: Codes
    has_groups: bool
    extras_cost: bool


def no_counts(visible: int) -> Mapping[str, int]:
    """The counts of an answer that holds nothing."""
    return dict.fromkeys(COUNTS, 0) | {"visible": visible}


def compare(truth: Side, got: Side, rules: Rules) -> Reading:
    """What the answer's items are worth beside the true ones."""
    return _Comparison(truth, got, rules).reading()


class _Comparison:
    def __init__(self, truth: Side, got: Side, rules: Rules) -> None:
        self.truth, self.got, self.rules = truth, got, rules
        how = self._how() if rules.has_groups else None
        found = match(truth.folded, got.folded, minimum=rules.similarity)
        self.matching = choose_copies(truth, got, found, how)
        self.agreement = _NO_GROUPS if how is None else self._agree(how)

    def _how(self) -> How:
        """By label when every label of the answer is a true one, unless the suite says otherwise."""
        if self.rules.grouping != "auto":
            return self.rules.grouping
        if self.got.items.derived or self.truth.items.derived:
            return "mapping"
        known = all_known(frozenset(self.got.items.groups), frozenset(self.truth.items.groups))
        return "label" if known else "mapping"

    def _agree(self, how: How) -> Agreement:
        items, true = self.got.items, self.truth.items.groups
        # Groups without names of their own are called by their place, which must not break a tie.
        renamed = items.derived and how == "mapping"
        said = named_by_contents(self.got) if renamed else items.groups
        matching, right_from = self.matching, self.rules.right_from
        truths = true if not matching.missed else list(map(true.__getitem__, matching.expected))
        groups = list(map(said.__getitem__, matching.got))
        found = perfect(truths, groups, by=how) or agreement(
            list(zip(truths, groups, strict=True)), by=how, favoured=[alike >= right_from for alike in matching.alike]
        )
        if renamed:
            written = {name: group for name, group in zip(said, items.groups, strict=True) if name and group}
            found.mapping = {written[name]: label for name, label in found.mapping.items()}
            found.unmapped = tuple([written[name] for name in found.unmapped])
        return found

    def reading(self) -> Reading:
        matching, rules = self.matching, self.rules
        visible, matched, n_extra = len(self.truth.folded), len(matching.expected), len(matching.extra)
        whole = visible + n_extra if rules.extras_cost else visible
        right_from, right_groups = rules.right_from, self.agreement.right
        wrong_texts = [place for place, alike in enumerate(matching.alike) if alike < right_from]
        wrong_groups = [place for place, right in enumerate(right_groups) if not right] if False in right_groups else []
        wrong = sorted({*wrong_texts, *wrong_groups}) if wrong_groups else wrong_texts
        n_correct = matched - len(wrong)
        faults = [self._misread(place, 1 / whole) for place in wrong]
        if matching.missed:
            faults += self._missed(1 / whole)
        if matching.extra:
            faults += self._extras(n_correct, whole)
        counts = {
            "visible": visible,
            "reported": len(self.got.folded),
            "matched": matched,
            "read": matched - len(wrong_texts),
            "correct": n_correct,
            "extra": n_extra,
            "groupable": matched if rules.has_groups else 0,
            "grouped": len(right_groups) - len(wrong_groups),
            "pairs": self.agreement.pairs,
            "pairs_agreed": self.agreement.pairs_agreed,
        }
        marks = tuple(self._marks(set(wrong))) if any(self.truth.items.boxes) or any(self.got.items.boxes) else ()
        return Reading(n_correct / whole, None, None, self._note(n_correct), tuple(faults), counts, marks)

    def _marks(self, wrong: set[int]) -> Iterator[Mark]:
        for place, (at, by) in enumerate(zip(self.matching.expected, self.matching.got, strict=True)):
            if place not in wrong and (box := self._box(at, by)) is not None:
                yield Mark(box, self.truth.items.texts[at])

    def _misread(self, place: int, worth: float) -> Fault:
        """The fault of a matched item. Mending one of two errors in an item would not yet make it right."""
        at, by, alike = self.matching.expected[place], self.matching.got[place], self.matching.alike[place]
        wrong_text = alike < self.rules.right_from
        wrong_group = self.rules.has_groups and not self.agreement.right[place]
        known, true, said = self.rules.codes, self.truth.items, self.got.items
        gain = 0.0 if wrong_text and wrong_group else worth
        codes: dict[str, float] = {}
        told = ""
        if wrong_text:
            if known.fragment and is_fragment(self.got.folded[by], self.truth.folded[at]):
                codes[known.fragment] = gain
            codes[known.wrong_text] = gain
            told = f"{100 * alike:.0f} % alike"
        if wrong_group:
            codes[known.wrong_group] = gain
            where = self._where(true.groups[at], said.groups[by])
            told = f"{told}; {where}" if told else where
        return Fault(codes, true.groups[at] or "", true.texts[at], said.texts[by], told, self._box(at, by))

    def _where(self, true: str | None, said: str | None) -> str:
        if said is None:
            return f"no group given, belongs to {true}"
        meant = self.agreement.mapping.get(said)
        taken = "" if meant is None or meant == said else f" (taken for {meant})"
        return f"in {said}{taken}, belongs to {true}"

    def _missed(self, worth: float) -> Iterator[Fault]:
        true = self.truth.items
        codes = {self.rules.codes.missed: worth}
        for at in self.matching.missed:
            yield Fault(codes, true.groups[at] or "", true.texts[at], None, "not in the answer", true.boxes[at])

    def _extras(self, n_correct: int, whole: int) -> Iterator[Fault]:
        said, true, codes = self.got.items, self.truth.items, self.rules.codes
        second = copies(self.truth.folded, self.got.folded, self.matching, minimum=self.rules.similarity)
        code_of = {by: codes.copy_ if by in second and codes.copy_ else codes.extra for by in self.matching.extra}
        numbers = Counter(code_of.values())
        for by, code in code_of.items():
            # What all extras of this code would give back if they were gone, shared among them.
            n = numbers[code]
            worth = (n_correct / (whole - n) - n_correct / whole) / n if self.rules.extras_cost else 0.0
            told = f"a second copy of {true.texts[second[by]]!r}" if by in second else "not in the truth"
            yield Fault({code: worth}, said.groups[by] or "", None, said.texts[by], told, said.boxes[by])

    def _box(self, at: int, by: int) -> Box | None:
        return self.got.items.boxes[by] or self.truth.items.boxes[at]

    def _note(self, n_correct: int) -> str:
        told = [f"{n_correct} of {len(self.truth.folded)} right"]
        if self.rules.has_groups and self.matching.expected:
            told.append(self._groups_in_words())
        if self.got.items.blank:
            told.append(f"{self.got.items.blank} without a text left out")
        return "; ".join(told)

    def _groups_in_words(self) -> str:
        found = self.agreement
        if found.how == "label":
            return "groups compared by label"
        taken = [f"{said} = {true}" for said, true in found.mapping.items()]
        if not taken and not found.unmapped:
            return "no groups given"
        if len(found.unmapped) > _FEW:
            n, true = len(taken) + len(found.unmapped), len(set(self.truth.items.groups))
            return f"{n} groups for {true} true ones: {', '.join(taken)}, the other {len(found.unmapped)} = none"
        taken += [f"{said} = none" for said in found.unmapped]
        return f"groups taken as {', '.join(taken)}"
