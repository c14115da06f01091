"""The items of one answer held against the true ones: what is right, and every error with the codes that fit it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from steelyard.records import Box, Mark
from steelyard.scoring.all_found import read_all_found
from steelyard.scoring.base import Fault, Reading
from steelyard.scoring.copies import How, choose_copies, named_by_contents
from steelyard.scoring.grouping import Agreement, agreement, all_known, groups_in_words, perfect
from steelyard.scoring.matching import Matching, copies, match_sides
from steelyard.scoring.rules import Rules
from steelyard.scoring.sides import Side
from steelyard.scoring.similar import is_fragment
from steelyard.suite.yaml import shown

COUNTS = (
    *("visible", "reported", "matched", "read", "correct", "extra"),
    *("groupable", "grouped", "pairs", "pairs_agreed"),
)
"""What is counted in every comparison; groups only where the truth has them."""
_NO_GROUPS = Agreement((), "label", {}, (), 0, 0)


def no_counts(visible: int) -> Mapping[str, int]:
    """The counts of an answer that holds nothing."""
    return dict.fromkeys(COUNTS, 0) | {"visible": visible}


def compare(truth: Side, got: Side, rules: Rules) -> Reading:
    """What the answer's items are worth beside the true ones."""
    matching = match_sides(truth, got, rules.allowed)
    return read_all_found(truth, got, matching, rules) or _Comparison(truth, got, rules, matching).reading()


class _Comparison:
    def __init__(self, truth: Side, got: Side, rules: Rules, found: Matching) -> None:
        self.truth, self.got, self.rules = truth, got, rules
        how = self._how() if rules.has_groups else None
        self.matching = choose_copies(truth, got, found, how) if found.extra and found.twice else found
        self.agreement = _NO_GROUPS if how is None else self._agree(how)

    def _how(self) -> How:
        """By label when every label of the answer is a true one, unless the suite says otherwise."""
        if self.rules.grouping != "auto":
            return self.rules.grouping
        if self.got.items.derived or self.truth.items.derived or not any(self.got.items.groups):
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
        found = perfect(truths, groups, by=how)
        if found is None:
            favoured = [matching.alike.get(at, 1.0) >= right_from for at in matching.expected]
            found = agreement(list(zip(truths, groups, strict=True)), by=how, favoured=favoured)
        if renamed:
            written = {name: group for name, group in zip(said, items.groups, strict=True) if name and group}
            found.mapping = {written[name]: label for name, label in found.mapping.items()}
            found.unmapped = tuple([written[name] for name in found.unmapped])
        return found

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
        faults = list(self._wrong(wrong, misplaced, 1 / whole)) if wrong else []
        if matching.missed:
            faults += self._missed(1 / whole)
        if n_extra:
            faults += self._extras(n_correct, whole)
        counts = {
            "visible": visible,
            "reported": len(self.got.items.texts),
            "matched": matched,
            "read": matched - len(misread),
            "correct": n_correct,
            "extra": n_extra,
            "groupable": matched if rules.has_groups else 0,
            "grouped": len(agreed.right) - len(misplaced),
            "pairs": agreed.pairs,
            "pairs_agreed": agreed.pairs_agreed,
        }
        if self.got.items.n_boxes:
            counts |= {"boxes": self.got.items.n_boxes, "boxes_unread": len(self.got.items.unread)}
        marks = tuple(self._marks(set(wrong))) if any(self.truth.items.boxes) or any(self.got.items.boxes) else ()
        return Reading(n_correct / whole, None, None, self._note(n_correct), tuple(faults), counts, marks)

    def _marks(self, wrong: set[int]) -> Iterator[Mark]:
        for at, by in zip(self.matching.expected, self.matching.got, strict=True):
            if at not in wrong and (box := self._box(at, by)) is not None:
                yield Mark(box, self.truth.items.texts[at])

    def _wrong(self, wrong: Sequence[int], misplaced: Collection[int], worth: float) -> Iterator[Fault]:
        """The faults of matched items. Mending one of two errors in an item would not yet make it right."""
        matching, codes_of, true, said = self.matching, self.rules.codes, self.truth.items, self.got.items
        # Where nothing was missed, an item's number is also that of its pair.
        places = dict(zip(matching.expected, matching.got, strict=True)) if matching.missed else matching.got
        for at in wrong:
            by, alike = places[at], matching.alike.get(at, 1.0)
            wrong_text, wrong_group = alike < self.rules.right_from, at in misplaced
            gain = 0.0 if wrong_text and wrong_group else worth
            codes: dict[str, float] = {}
            told = ""
            if wrong_text:
                if codes_of.fragment and is_fragment(*self.truth.folder.fold([said.texts[by], true.texts[at]])):
                    codes[codes_of.fragment] = gain
                codes[codes_of.wrong_text] = gain
                told = f"{100 * alike:.0f} % alike"
            if wrong_group:
                codes[codes_of.wrong_group] = gain
                where = self._where(true.groups[at], by)
                told = f"{told}; {where}" if told else where
            box = said.boxes[by] or true.boxes[at]
            # A text that is right however it was written is not what the fault is about.
            text = said.texts[by] if wrong_text else true.texts[at]
            yield Fault(codes, true.groups[at] or "", true.texts[at], text, told, box)

    def _where(self, true: str | None, by: int) -> str:
        said, unread = self.got.items.groups[by], self.got.items.unread
        if said is None:
            why = f"its box cannot be read: {shown(unread[by])};" if by in unread else "no group given,"
            return f"{why} belongs to {true}"
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
        extra = self.matching.extra
        folded = dict(zip(extra, self.got.folder.fold([said.texts[by] for by in extra]), strict=True))
        second = copies(self.truth.folded, folded, self.matching, minimum=self.rules.similarity)
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
        told = f"{n_correct} of {len(self.truth.items.texts)} right"
        if self.rules.has_groups and self.matching.expected:
            found = self.agreement
            how = found.how if any(self.got.items.groups) else "mapping"
            told = f"{told}; {groups_in_words(how, found.mapping, found.unmapped, set(self.truth.items.groups))}"
        items = self.got.items
        if items.unread:
            example = shown(next(iter(items.unread.values())))
            told = f"{told}; {len(items.unread)} of {items.n_boxes} boxes cannot be read, such as {example}"
        return f"{told}; {items.blank} without a text left out" if items.blank else told
