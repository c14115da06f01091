"""The usual answer, told quickly: all items were found, none is too many, and all groups are right.

Only texts may then be wrong, so neither copies nor a mapping of groups need to be sought.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from steelyard.scoring.base import Fault, Reading
from steelyard.scoring.grouping import Grouping, Kinds, all_known, groups_in_words, one_to_one
from steelyard.scoring.similar import is_fragment

if TYPE_CHECKING:
    from steelyard.scoring.matching import Matching
    from steelyard.scoring.rules import Rules
    from steelyard.scoring.sides import Side


def read_all_found(truth: Side, got: Side, matching: Matching, rules: Rules) -> Reading | None:
    """What the general comparison gives for a usual answer; None when the answer is not one."""
    true, said = truth.items, got.items
    if matching.missed or matching.extra or true.derived or said.derived or said.blank:
        return None
    if said.n_boxes or any(true.boxes):
        return None
    told = ""
    if rules.has_groups:
        kinds = frozenset(zip(true.groups, map(said.groups.__getitem__, matching.got), strict=True))
        # A true group that was taken apart is not worth remembering.
        words = _right_groups(kinds, rules.grouping) if len(dict(kinds)) == len(kinds) else None
        if words is None:
            return None
        told = f"; {words}"
    n = len(true.texts)
    faults = _misread(truth, got, matching, rules) if matching.alike else ()
    right = n - len(faults)
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
    return Reading(right / n, None, None, f"{right} of {n} right{told}", faults, counts)


# Most photos of a suite have the same few labels, so what was found out about them is kept.
@lru_cache(maxsize=64)
def _right_groups(kinds: Kinds, by: Grouping) -> str | None:
    """In words how groups were compared that are all right; None when some may be wrong."""
    if by == "auto":
        known = all_known(frozenset(group for _, group in kinds), frozenset(true for true, _ in kinds))
        by = "label" if known else "mapping"
    mapping = one_to_one(kinds, by)
    return None if mapping is None else groups_in_words(by, mapping)


def _misread(truth: Side, got: Side, matching: Matching, rules: Rules) -> tuple[Fault, ...]:
    """The faults of items in the right group whose text is wrong."""
    true, groups, texts, places = truth.items.texts, truth.items.groups, got.items.texts, matching.got
    worth, right_from, codes = 1 / len(true), rules.right_from, rules.codes
    wrong_text, fragment = codes.wrong_text, codes.fragment
    faults: list[Fault] = []
    for at, alike in sorted(matching.alike.items()):
        if alike < right_from:
            text = texts[places[at]]
            fits = {wrong_text: worth}
            if fragment and is_fragment(*truth.folder.fold([text, true[at]])):
                fits = {fragment: worth, wrong_text: worth}
            faults.append(Fault(fits, groups[at] or "", true[at], text, f"{100 * alike:.0f} % alike"))
    return tuple(faults)
