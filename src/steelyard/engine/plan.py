"""The grid cases × variants × repeats, walked without holding it in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from steelyard.engine.options import Selection
from steelyard.errors import UserMistake
from steelyard.suite.case import Case
from steelyard.suite.models import SuiteModel, Variant
from steelyard.targets.base import Ask

_CHUNK = 500
_NOTHING: set[tuple[str, str, int]] = set()
Done = Callable[[Sequence[str]], set[tuple[str, str, int]]]


@dataclass(frozen=True, slots=True)
class Planned:
    """One call with its place in the plan, and the whole case to weigh its answer against."""

    position: int
    case: Case
    ask: Ask


class Plan:
    """What a run will ask, in a fixed order: all repeats of a variant, all variants of a case, case by case."""

    def __init__(self, suite: SuiteModel, selection: Selection, repeats: int) -> None:
        self._suite = suite
        self.folder = suite.folder
        self._selection = selection
        self.repeats = repeats
        self.variants: tuple[Variant, ...] = tuple(v for v in suite.variants if selection.takes_variant(v.name))
        self.n_cases = self._count_cases()
        self.n = self.n_cases * len(self.variants) * repeats
        if self.n == 0:
            raise UserMistake(self._why_empty())

    def cases(self) -> Iterator[Case]:
        """The cases of the plan, in file order."""
        return self._selection.of(self._suite.cases)

    def asks(self, done: Done | None = None) -> Iterator[Planned]:
        """Every call that is not done yet; `done` is asked for a chunk of cases at a time."""
        first = 0
        for case, skip in self._with_done(done):
            blind = case.without_truth()
            for number, (variant, repeat) in enumerate(product(self.variants, range(self.repeats))):
                if (case.id, variant.name, repeat) not in skip:
                    yield Planned(first + number, case, Ask(blind, variant, repeat, case.expected, case.private))
            first += len(self.variants) * self.repeats

    def _with_done(self, done: Done | None) -> Iterator[tuple[Case, set[tuple[str, str, int]]]]:
        """The cases, each with what is done of them; one by one when nothing is, so that no call waits for a chunk."""
        cases = self.cases()
        if done is None:
            yield from ((case, _NOTHING) for case in cases)
            return
        while chunk := list(islice(cases, _CHUNK)):
            skip = done([case.id for case in chunk])
            yield from ((case, skip) for case in chunk)

    def _count_cases(self) -> int:
        if not self._selection.only:
            n = self._suite.survey.n
            return n if self._selection.limit is None else min(n, self._selection.limit)
        return sum(1 for _ in self.cases())

    def _why_empty(self) -> str:
        asked = ", ".join(f"{factor}={value}" for factor, value in self._selection.only)
        survey = self._suite.survey
        known = [
            f"{factor}: {', '.join(list(names)[:12])}"
            for factor, names in (
                ("category", survey.categories),
                ("difficulty", survey.difficulties),
                ("tag", survey.tags),
                ("variant", [v.name for v in self._suite.variants if v.name]),
            )
            if names
        ]
        return f"nothing to weigh: no case of suite {self._suite.name} fits --only {asked}\n" + "\n".join(known)
