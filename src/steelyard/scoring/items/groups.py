"""Groups of items: piles, rows, columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from steelyard.frozen import slotted
from steelyard.records import Box
from steelyard.scoring.text import normalise
from steelyard.stats.assignment import best_assignment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# How far the groups of an answer agree with the true ones: by label, by the best mapping, and pair by pair.

# How many items stand in each (true group, answered group).
Table = Mapping[tuple[str, str], int]
Kinds = frozenset[tuple[str | None, str | None]]
"""The different (true group, answered group) that items have."""
Grouping = Literal["auto", "label", "mapping"]
_NOTHING: Table = {}
_FEW = 3


@slotted
class Agreement:
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
) -> Agreement:
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
    return Agreement(
        tuple([pair in right for pair in pairs]),
        "label" if by_label else "mapping",
        {group: written[chosen[groups[group]]] for group in answered if groups[group] in chosen},
        tuple([group for group in answered if groups[group] not in chosen]),
        total,
        agreed,
    )


def perfect(
    truths: Sequence[str | None], groups: Sequence[str | None], *, by: Literal["label", "mapping"]
) -> Agreement | None:
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
    return Agreement((True,) * n, by, mapping, (), pairs, pairs)


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


# Boxes put into rows, columns or piles by where they lie.

Into = Literal["rows", "columns", "piles"]

ROW_GAP: Final = 0.5
"""Centres further apart than this share of the median height (or width) stand in different rows (or columns)."""

PILE_GAP: Final = (0.25, 1.0)
"""The least and the most gap, in median boxes, over which boxes still belong to one pile."""

_LOOSE: Final = 2.0
"""A gap of more than this many usual gaps ends a pile."""

_MANY: Final = 300
"""From this many boxes on, looking at every pair takes longer than importing numpy."""


def group_boxes(boxes: Sequence[Box], into: Into) -> list[int]:
    """The group of each box, numbered from 0 in reading order.

    Rows (columns): centres less than half the median height (width) apart, from one to the next, share a row. Piles:
    boxes that overlap, touch or lie close belong together; close is up to a quarter of a median box, or up to twice the
    usual gap to the nearest box where boxes lie loosely, but never more than a whole box. The groups depend neither on
    the order of the boxes nor on the units of either axis; a box that is there twice counts once.
    """
    distinct = sorted(set(boxes))
    if not distinct:
        return []
    group = dict(zip(distinct, _GROUPINGS[into](distinct), strict=True))
    return [group[box] for box in boxes]


def lay_out(groups: Sequence[int], into: Into) -> list[Box]:
    """Made-up boxes, one an item, that `group_boxes` puts into the given groups (0, 1, ... by first appearance)."""
    lines = max(groups, default=0) + 1
    longest = max((groups.count(group) for group in set(groups)), default=1)
    filled = [0] * lines
    boxes: list[Box] = []
    for line in groups:
        place = filled[line]
        filled[line] += 1
        # A line is a third of its strip thick, so two boxes' thickness parts it from the next.
        along, across = (place / longest, (place + 1) / longest), ((line + 1 / 3) / lines, (line + 2 / 3) / lines)
        x, y = (across, along) if into == "columns" else (along, across)
        boxes.append((x[0], y[0], x[1], y[1]))
    return boxes


def _rows(boxes: Sequence[Box]) -> list[int]:
    return _lines([(top, bottom) for _, top, _, bottom in boxes])


def _columns(boxes: Sequence[Box]) -> list[int]:
    return _lines([(left, right) for left, _, right, _ in boxes])


def _lines(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The line of each span: centres in order, a new line where the step to the next is too long."""
    longest_step = ROW_GAP * median(end - start for start, end in spans)
    centres = [(start + end) / 2 for start, end in spans]
    lines = [0] * len(spans)
    line, last = 0, min(centres)
    for place in sorted(range(len(spans)), key=centres.__getitem__):
        if centres[place] - last > longest_step:
            line += 1
        lines[place], last = line, centres[place]
    return lines


def _piles(boxes: Sequence[Box]) -> list[int]:
    """The pile of each box; the boxes come sorted by their left edge."""
    width = median(right - left for left, _, right, _ in boxes) or 1.0
    height = median(bottom - top for _, top, _, bottom in boxes) or 1.0
    linked = _linked_many if len(boxes) >= _MANY else _linked
    return _in_reading_order(boxes, linked(boxes, width, height))


def _linked(boxes: Sequence[Box], width: float, height: float) -> list[int]:
    """For each box the first of its pile, found by looking at every pair that may be close."""
    pairs = list(_close_pairs(boxes, width, height))
    nearest = [inf] * len(boxes)
    for item, other, gap in pairs:
        if gap < nearest[item]:
            nearest[item] = gap
        if gap < nearest[other]:
            nearest[other] = gap
    reach = _reach(nearest)
    pile_of = list(range(len(boxes)))

    def root(place: int) -> int:
        while pile_of[place] != place:
            pile_of[place] = place = pile_of[pile_of[place]]
        return place

    for item, other, gap in pairs:
        if gap <= reach and (first := root(item)) != (second := root(other)):
            pile_of[max(first, second)] = min(first, second)
    return [root(place) for place in range(len(boxes))]


def _linked_many(boxes: Sequence[Box], width: float, height: float) -> list[int]:
    """The same as `_linked`, for a heap: a box against all others at once, and none that is in its pile already."""
    import numpy as np

    def gaps(box: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
        across = np.maximum(others[0] - box[2], box[0] - others[2]) / width
        down = np.maximum(others[1] - box[3], box[1] - others[3]) / height
        gap: NDArray[np.float64] = np.maximum(np.maximum(across, down), 0.0)
        return gap

    edges = np.array(boxes, dtype=float).T.copy()
    nearest = []
    for place in range(len(boxes)):
        its_gaps = gaps(edges[:, place], edges)
        its_gaps[place] = inf
        nearest.append(float(its_gaps.min()))
    reach = _reach(nearest)
    first_of = list(range(len(boxes)))
    places = np.arange(len(boxes))
    unseen = edges
    while len(places):
        first, to_visit = int(places[0]), [int(places[0])]
        places, unseen = places[1:], unseen[:, 1:]
        while to_visit and len(places):
            close = gaps(edges[:, to_visit.pop()], unseen) <= reach
            if close.any():
                result = places[close].tolist()
                to_visit += result
                for place in result:
                    first_of[place] = first
                places, unseen = places[~close], unseen[:, ~close]
    return first_of


def _reach(nearest: Sequence[float]) -> float:
    """The gap up to which boxes share a pile, from the gap of each to its nearest."""
    least, most = PILE_GAP
    return max(least, min(most, _LOOSE * median(nearest)))


def _close_pairs(boxes: Sequence[Box], width: float, height: float) -> Iterator[tuple[int, int, float]]:
    """Places of two boxes and the gap between them in median boxes, for gaps that a pile may have."""
    most = PILE_GAP[1]
    for item, (_, top, right, bottom) in enumerate(boxes):
        for other in range(item + 1, len(boxes)):
            its_left, its_top, _, its_bottom = boxes[other]
            across = (its_left - right) / width
            if across > most:
                break
            down = (its_top - bottom if its_top > top else top - its_bottom) / height
            if down <= most:
                yield item, other, max(across, down, 0.0)


def _in_reading_order(boxes: Sequence[Box], roots: Sequence[int]) -> list[int]:
    """Piles numbered row by row, from the left in each row.

    Centres alone do not tell the rows: a pile of two boxes and one of eight may well begin side by side.
    """
    piles: dict[int, list[Box]] = {}
    for box, root in zip(boxes, roots, strict=True):
        piles.setdefault(root, []).append(box)
    outlines = [
        (min(box[1] for box in pile), max(box[3] for box in pile), min(box[0] for box in pile), root)
        for root, pile in piles.items()
    ]
    order: list[tuple[int, float, float, int]] = []
    row, row_middle, row_end = 0, 0.0, 0.0
    for top, bottom, left, root in sorted(outlines):
        middle = (top + bottom) / 2
        if not order or (top > row_middle and middle > row_end):
            row, row_middle, row_end = row + 1, middle, bottom
        order.append((row, left, top, root))
    number = {root: place for place, (*_, root) in enumerate(sorted(order))}
    return [number[root] for root in roots]


_GROUPINGS: Final[dict[Into, Callable[[Sequence[Box]], list[int]]]] = {
    "rows": _rows,
    "columns": _columns,
    "piles": _piles,
}
