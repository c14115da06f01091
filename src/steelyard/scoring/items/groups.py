"""How far the groups of an answer agree with the true ones: by label, by the best mapping, and pair by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from steelyard.frozen import slotted
from steelyard.scoring.spelling import normalise
from steelyard.stats.assignment import best_assignment

# How many items stand in each (true group, answered group).
Table = Mapping[tuple[str, str], int]
Kinds = frozenset[tuple[str | None, str | None]]
"""The different (true group, answered group) that items have."""
Grouping = Literal["auto", "label", "mapping"]
_NOTHING: Table = {}
_FEW = 3


@slotted
class GroupAgreement:
    """Which items stand in the right group, how that was found out, and how many pairs of items agree (Rand).

    `mapping` goes from each answered group to its true one, in the spellings given; `unmapped` are the answered groups
    that stand for none.
    """

    right: tuple[bool, ...]
    how: Literal["label", "mapping"]
    mapping: Mapping[str, str]
    unmapped: tuple[str, ...]
    pairs: int
    pairs_agreed: int


def agreement(
    pairs: Sequence[tuple[str | None, str | None]],
    *,
    by: Grouping,
    derived: bool = False,
    favoured: Iterable[bool] = (),
) -> GroupAgreement:
    """The agreement of (true group, answered group) over matched items; None where no group was given.

    By label, an item is right when both labels are the same but for case, spaces and punctuation. By mapping, each
    answered group stands for at most one true group and each true group is stood for by at most one, so that the most
    items are right: one group an item earns one item a true group, one group for all earns the largest. `auto` goes by
    label when every answered label is a true one, unless the groups were derived (from regions, say) and their names
    mean nothing. Of mappings with equally many items right, the one with most of the `favoured` among them is taken.

    Two items agree when both sides put them together or both put them apart. An item without an answered group is
    never right and stands alone; one without a true group is never right and makes no pairs.
    """
    kinds = Counter(pairs)
    truths: dict[str, str] = {}  # as written, to as compared
    groups: dict[str, str] = {}
    table: dict[tuple[str, str], int] = {}
    for (true, group), count in kinds.items():
        if group and group not in groups and (folded := folded_label(group)):
            groups[group] = folded
        if true and true not in truths and (folded := folded_label(true)):
            truths[true] = folded
        if true in truths:
            cell = truths[true], groups.get(group, "") if group else ""
            table[cell] = table.get(cell, 0) + count
    available = set(truths.values())
    by_label = by == "label" or (by == "auto" and not derived and available.issuperset(groups.values()))
    chosen = (
        {label: label for label in available}
        if by_label
        else best_mapping(table, _favours(pairs, favoured, truths, groups))
    )
    right = {
        (true, group)
        for true, group in kinds
        if true in truths and group in groups and chosen.get(groups[group]) == truths[true]
    }
    # Of several spellings of a true group, the first by alphabet stands for it.
    written = {truths[label]: label for label in sorted(truths, reverse=True)}
    answered = sorted(groups)
    total, agreed = _rand(table)
    return GroupAgreement(
        tuple([pair in right for pair in pairs]),
        "label" if by_label else "mapping",
        {group: written[chosen[groups[group]]] for group in answered if groups[group] in chosen},
        tuple([group for group in answered if groups[group] not in chosen]),
        total,
        agreed,
    )


def perfect(
    truths: Sequence[str | None], groups: Sequence[str | None], *, by: Literal["label", "mapping"]
) -> GroupAgreement | None:
    """The `agreement` of items with these true and answered groups when all are right; None when some may not be.

    Most answers group all items rightly, and to see that takes far less than to find the best mapping.
    """
    kinds = frozenset(zip(truths, groups, strict=True))
    if len(dict(kinds)) < len(kinds):  # a true group was taken apart
        return None
    mapping = one_to_one(kinds, by)
    if mapping is None:
        return None
    n = len(truths)
    pairs = n * (n - 1) // 2
    return GroupAgreement((True,) * n, by, mapping, (), pairs, pairs)


# Most photos of a suite have the same few labels, so what was found out about them is kept.
@lru_cache(maxsize=64)
def one_to_one(kinds: Kinds, by: str) -> Mapping[str, str] | None:
    """The mapping by alphabet when no label is blank or the same as another, and by label both are the same."""
    labels = {folded_label(group or ""): folded_label(true or "") for true, group in kinds}
    truths = set(labels.values())
    if not len(truths) == len(labels) == len(kinds) or "" in truths or "" in labels:
        return None
    if by == "label" and any(group != true for group, true in labels.items()):
        return None
    return dict(sorted((group, true) for true, group in kinds if group and true))


def groups_in_words(
    how: str, mapping: Mapping[str, str], unmapped: Sequence[str] = (), truths: Collection[str | None] = ()
) -> str:
    """How groups were compared, and which of the answer was taken for which of the true ones."""
    if how == "label":
        return "groups compared by label"
    taken = [f"{text} = {true}" for text, true in mapping.items()]
    if not taken and not unmapped:
        return "no groups given"
    if len(unmapped) > _FEW:
        n = len(taken) + len(unmapped)
        return f"{n} groups for {len(truths)} true ones: {', '.join(taken)}, the other {len(unmapped)} = none"
    taken += [f"{text} = none" for text in unmapped]
    return f"groups taken as {', '.join(taken)}"


@lru_cache(maxsize=64)
def all_known(groups: frozenset[str | None], truths: frozenset[str | None]) -> bool:
    """True when every label among the answered groups is one of the true ones, None being no label."""
    available = {folded_label(true) for true in truths if true}
    return groups <= truths or all(folded_label(group) in available for group in groups if group)


@lru_cache(maxsize=1024)
def folded_label(label: str) -> str:
    """The label for comparison; a label of signs alone ("+") is kept as it is, a blank one is none."""
    return normalise(label) or label.strip()


def _favours(
    pairs: Sequence[tuple[str | None, str | None]],
    favoured: Iterable[bool],
    truths: Mapping[str, str],
    groups: Mapping[str, str],
) -> Counter[tuple[str, str]]:
    """How many favoured items lie in each cell."""
    return Counter(
        (truths[true], groups[group])
        for (true, group), favour in zip(pairs, favoured, strict=False)
        if favour and true and group and true in truths and group in groups
    )


def best_mapping(table: Table, favours: Table = _NOTHING) -> dict[str, str]:
    """The one-to-one mapping of answered to true groups with the most items right.

    Of several such, the one with most of what is favoured; then equal labels win.
    """
    truths, groups = sorted({true for true, _ in table}), sorted({group for _, group in table if group})
    # Twice the groups outweighs every tie that equal labels can win, and all items together what is favoured.
    step, many = 2 * len(groups), sum(table.values()) + 1
    weights = {
        cell: (count * many + favours.get(cell, 0)) * step + (cell[0] == cell[1])
        for cell, count in table.items()
        if cell[1]
    }
    # When the best of every group, or of every truth, is another one, no mapping has a greater sum.
    by_group = _first_best((group, true, weight) for (true, group), weight in weights.items())
    if len(set(by_group.values())) == len(groups):
        return by_group
    by_truth = _first_best((true, group, weight) for (true, group), weight in weights.items())
    if len(set(by_truth.values())) == len(by_truth):
        return {group: true for true, group in by_truth.items()}
    pairs = best_assignment([[weights.get((true, group), 0) for group in groups] for true in truths])
    best = [(truths[row], groups[column]) for row, column in pairs]
    return {group: true for true, group in best if (true, group) in weights}


def _first_best(weighted: Iterable[tuple[str, str, int]]) -> dict[str, str]:
    """For each left the right of the greatest weight; of several such, the first by alphabet."""
    best: dict[str, tuple[int, str]] = {}
    for left, right, weight in weighted:
        if left not in best or (-weight, right) < best[left]:
            best[left] = -weight, right
    return {left: right for left, (_, right) in best.items()}


def _rand(table: Table) -> tuple[int, int]:
    """How many pairs of items there are, and how many are together on both sides or apart on both."""
    true: dict[str, int] = {}
    answered: dict[str, int] = {}
    on_true = on_answered = on_both = items = 0
    for (truth, group), count in table.items():
        within, before = count * (count - 1) // 2, true.get(truth, 0)
        items += count
        on_true += within + count * before
        true[truth] = before + count
        if group:  # items without a group stand alone, together with nothing
            before = answered.get(group, 0)
            on_answered += within + count * before
            answered[group] = before + count
            on_both += within
    pairs = items * (items - 1) // 2
    return pairs, pairs - (on_true + on_answered - 2 * on_both)
