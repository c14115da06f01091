"""The calls of two arms on the same cases: cases in random order, both arms of a call side by side."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product, zip_longest

from steelyard.engine.plan import Done, Plan, Planned
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.suite.case import Case, drawn_first, drawn_place
from steelyard.targets.base import Request

Key = tuple[str, str, int]
_AT_ONCE = 20_000
"""Cases held in memory: of more, the files are read once for each piece of the order."""
_CASES_AT_ONCE = 500


@frozen
class Turn:
    """A case whose turn it is: what is still to be asked of which arm (0 or 1), in that order."""

    case: Case
    asks: tuple[tuple[int, Planned], ...]
    started: bool
    """True when a sample of it is kept already."""


class DrawnPlan:
    """What an A/B asks. At most `max_cases` of the cases, chosen at random as their order is."""

    def __init__(self, arms: tuple[Plan, Plan], seed: int, max_cases: int | None = None) -> None:
        if arms[0].n_cases != arms[1].n_cases:
            raise UsageError("the arms of an A/B must be asked the same cases, and these are not")
        self._arms = arms
        self._seed = seed
        self.n_cases = arms[0].n_cases if max_cases is None else min(max_cases, arms[0].n_cases)
        self.n = tuple(self.n_cases * len(plan.variants) * plan.repeats for plan in arms)
        """Samples of each arm."""

    def turns(self, done: Sequence[Done | None] = (None, None)) -> Iterator[Turn]:
        """The cases in the order drawn, each with what is not done of it; cases that are done come, too."""
        for piece in self._pieces():
            for start in range(0, len(piece), _CASES_AT_ONCE):
                chunk = piece[start : start + _CASES_AT_ONCE]
                ids = [case.id for _, case in chunk]
                retained = [set() if item is None else item(ids) for item in done]
                yield from (self._turn(place, case, retained) for place, case in chunk)

    def _turn(self, place: int, case: Case, keys: Sequence[set[Key]]) -> Turn:
        blind = case.without_truth()
        grids = [list(product(plan.variants, range(plan.repeats))) for plan in self._arms]
        asks: list[tuple[int, Planned]] = []
        started = False
        for number, pair in enumerate(zip_longest(*grids)):
            first = drawn_first(self._seed, case.id, number)
            for arm in (first, 1 - first):
                if pair[arm] is None:
                    continue
                variant, repeat = pair[arm]
                if (case.id, variant.name, repeat) in keys[arm]:
                    started = True
                    continue
                position = place * len(grids[arm]) + number
                ask = Request(blind, variant, repeat, case.expected, case.private)
                asks.append((arm, Planned(position, case, ask)))
        return Turn(case, tuple(asks), started)

    def _pieces(self) -> Iterator[list[tuple[int, Case]]]:
        """Pieces of the drawn order: cases with their places in the files."""
        drawn = array("Q", (drawn_place(self._seed, case.unit) for case in self._arms[0].cases()))
        order = sorted(range(len(drawn)), key=lambda place: (drawn[place], place))[: self.n_cases]
        for start in range(0, len(order), _AT_ONCE):
            wanted = order[start : start + _AT_ONCE]
            result = self._read({place: rank for rank, place in enumerate(wanted)})
            yield [(place, result[place]) for place in wanted]

    def _read(self, wanted: Mapping[int, int]) -> dict[int, Case]:
        last = max(wanted)
        cases = enumerate(islice(self._arms[0].cases(), last + 1))
        return {place: case for place, case in cases if place in wanted}


def asks_until(turns: Iterator[Turn], begin: Callable[[Turn], bool]) -> Iterator[tuple[int, Planned]]:
    """The calls turn by turn; a case is begun when `begin` says so, and whatever is begun is brought to its end."""
    for turn in turns:
        if not begin(turn):
            return
        yield from turn.asks
