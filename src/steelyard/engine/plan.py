"""Options of a run, also of one that is resumed, and which samples it asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product

from steelyard.engine.run_options import FACTORS, Selection
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.suite.case import Case
from steelyard.suite.models import SuiteModel, Variant
from steelyard.suite.truth import in_no_case
from steelyard.targets.base import Request

_CHUNK = 500
_NOTHING: set[tuple[str, str, int]] = set()
Done = Callable[[Sequence[str]], set[tuple[str, str, int]]]


@frozen
class Planned:
    """One call with its place in the plan, and the whole case to score its answer against."""

    position: int
    case: Case
    ask: Request


class Plan:
    """What a run will ask, in a fixed order: all repeats of a variant, all variants of a case, case by case."""

    def __init__(self, suite: SuiteModel, selection: Selection, repeats: int) -> None:
        self._suite = suite
        self.folder = suite.folder
        self._selection = selection
        self.repeats = repeats
        self.variants: tuple[Variant, ...] = tuple(v for v in suite.variants if selection.takes_variant(v.name))
        self._drawn = selection.drawn_from(suite.cases)
        self.n_cases = self._count_cases()
        self.n = self.n_cases * len(self.variants) * repeats
        if self.n == 0:
            raise UsageError(self._why_empty())

    def cases(self) -> Iterator[Case]:
        """The cases of the plan, in file order."""
        return self._selection.of(self._suite.cases, self._drawn)

    def asks(self, done: Done | None = None) -> Iterator[Planned]:
        """Every call that is not done yet; `done` is asked for a chunk of cases at a time."""
        first = 0
        for case, skip in self._with_done(done):
            blind = case.without_truth()
            for number, (variant, repeat) in enumerate(product(self.variants, range(self.repeats))):
                if (case.id, variant.name, repeat) not in skip:
                    yield Planned(first + number, case, Request(blind, variant, repeat, case.expected, case.private))
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
        if not self._selection.only or self._drawn is not None:
            n = self._suite.survey.n if self._drawn is None else len(self._drawn)
            return n if self._selection.limit is None else min(n, self._selection.limit)
        return sum(1 for _ in self.cases())

    def _why_empty(self) -> str:
        if not self._suite.survey.n and (pending := self._suite.survey.n_pending):
            cases, are = ("1 case", "is") if pending == 1 else (f"{pending:,} cases", "are")
            return f"all {cases} of {self._suite.name} {are} pending: --pending asks for them, and nothing is scored"
        asked = ", ".join(f"{factor}={value}" for factor, value in self._selection.only)
        survey = self._suite.survey
        available = [
            f"{factor}: {', '.join(list(names)[:12])}"
            for factor, names in (
                *survey.slices.items(),
                ("variant", [v.name for v in self._suite.variants if v.name]),
            )
            if names
        ]
        fields = (in_no_case(factor, self._suite.cases) for factor, _ in self._selection.only if factor not in FACTORS)
        available += filter(None, fields)
        return f"nothing to score: no case of suite {self._suite.name} fits --only {asked}\n" + "\n".join(available)
