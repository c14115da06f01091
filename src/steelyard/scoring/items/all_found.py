"""The usual answer, told quickly: all items were found, none is too many, and all groups are right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from steelyard.records import Box, Finding
from steelyard.scoring.base import Reading
from steelyard.scoring.items.groups import (
    Grouping,
    Kinds,
    all_known,
    groups_in_words,
    one_to_one,
)
from steelyard.scoring.items.item_rules import Fitting, Rules
from steelyard.scoring.items.similar import Matching, Side
from steelyard.scoring.items.text_pairs import is_fragment


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
            findings.append(fitting_of(fits, groups[at] or "", true[at], text, message, worth))
    return tuple(findings)


def fitting_of(
    codes: Sequence[str], group: str, true: str, text: str, message: str, gain: float, box: Box | None = None
) -> Fitting:
    """The finding for an error, or one finding per code if several fit it."""
    findings = [Finding(code, group, true, text, message, gain=gain, box=box) for code in dict.fromkeys(codes)]
    return findings[0] if len(findings) == 1 else tuple(findings)
