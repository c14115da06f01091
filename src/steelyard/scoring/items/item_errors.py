"""The items of one answer compared with the true ones: what is right, and every error with the codes that fit it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from steelyard.records import Box, Finding, Mark
from steelyard.scoring.base import Reading
from steelyard.scoring.items.all_found import fitting_of, read_all_found
from steelyard.scoring.items.copies import How, choose_copies, named_by_contents
from steelyard.scoring.items.groups import (
    GroupAgreement,
    agreement,
    all_known,
    groups_in_words,
    perfect,
)
from steelyard.scoring.items.item_rules import Fitting, Rules
from steelyard.scoring.items.places import Items
from steelyard.scoring.items.similar import Matching, Side, copies, leftovers, match_sides
from steelyard.scoring.items.text_pairs import is_fragment
from steelyard.suite.yaml import shown

COUNTS = (
    *("visible", "reported", "matched", "read", "correct", "extra"),
    *("groupable", "grouped", "pairs", "pairs_agreed"),
)
"""What is counted in every comparison; groups only where the truth has them."""
_NO_GROUPS = GroupAgreement((), "label", {}, (), 0, 0)


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

    def _agree(self, how: How) -> GroupAgreement:
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
            yield fitting_of(codes, true.groups[at] or "", true.texts[at], text, message, gain, box)

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
