"""Figures over the repeats of a case under a variant (a cell), computed again from the samples of every cell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from steelyard.analysis.explain_model import Behind, Computed
from steelyard.analysis.explain_parts import Parts, Reasons
from steelyard.analysis.explain_readings import Reading, Rules
from steelyard.analysis.stability import alikeness
from steelyard.records import Check, CheckState, Item, Outcome, Sample
from steelyard.suite.gates import Gate
from steelyard.suite.model import Hold

_WORST = {CheckState.PASSED: 0, CheckState.NOT_RUN: 1, CheckState.FAILED: 2}
_UNDECIDED = "undecided: what did not run could still decide (does not hold)"
_BLIND = "no check of it is known: undecided (does not hold)"
_NO_CELL = "planned, and nothing came of it: undecided (does not hold)"


@dataclass(slots=True)
class Cell:
    """What is known of the repeats of one case under one variant."""

    states: list[dict[str, CheckState]] = field(default_factory=list)
    """Of each repeat that came, what became of its checks."""
    first: dict[str, CheckState] = field(default_factory=dict)
    """Of the first repeat."""
    items: list[tuple[Item, ...]] = field(default_factory=list)
    """Of each repeat whose answer could be read."""
    read: bool = False
    """Whether an answer was read and weighed, by whichever judge."""

    @property
    def names(self) -> set[str]:
        """The checks that any repeat has."""
        return {name for states in self.states for name in states}

    @property
    def clean(self) -> int:
        """Repeats in which every check passed."""
        names = self.names
        passed = [states for states in self.states if all(states.get(each) is CheckState.PASSED for each in names)]
        return len(passed) if names else 0

    @property
    def decided(self) -> int:
        """Repeats that are clean, or in which a check failed."""
        return self.clean + sum(CheckState.FAILED in states.values() for states in self.states)


@dataclass(frozen=True, slots=True)
class _Told:
    """What a cell brings: of `of` things `held` hold and `undecided` cannot be told; or a value of its own."""

    held: float = 0.0
    of: int = 0
    undecided: int = 0
    why: str = ""
    said: str = ""
    in_it: bool = True
    missing: bool = True
    """Of one that is not in it, whether it was to be."""


class CellFigure:
    """A figure that is made of cells."""

    def __init__(self, gate: Gate, suite: Mapping[str, Any], first_repeat: int) -> None:
        self._gate, self._suite, self._first = gate, suite, first_repeat
        self._rules = Rules(suite)
        self._repeats = max(1, int(suite.get("repeats") or 1))
        self._cells: dict[tuple[str, str], Cell] = {}

    def add(self, sample: Sample) -> None:
        cell = self._cells.setdefault((sample.case_id, sample.variant), Cell())
        conclusive = not self._rules.left_out(sample)
        states = (
            _states(sample.checks)
            if conclusive
            else dict.fromkeys((check.name for check in sample.checks), CheckState.NOT_RUN)
        )
        cell.states.append(states)
        if sample.repeat == self._first:
            cell.first = states
        if conclusive and sample.items is not None:
            cell.items.append(sample.items)
        cell.read = cell.read or sample.outcome is Outcome.SCORED

    def ended(self, absent: int) -> Parts:  # noqa: ARG002 - cells that never came are counted as cells
        excluded, noted = Reasons(), Reasons()
        told = {key: self._tell(cell) for key, cell in self._cells.items()}
        for (case_id, _), each in told.items():
            if not each.in_it:
                excluded.add(each.why, case_id)
            elif each.undecided:
                noted.add(each.why, case_id, each.undecided)
        never = self._never_came() if self._whole else 0
        if never:
            (noted if self._of_checks else excluded).add(
                _NO_CELL if self._of_checks else "planned and never came", n=never
            )
        computed = self._computed(list(told.values()), never)
        rows = [
            Behind(case_id, variant, None, each.held / each.of if each.of else 0.0, each.said)
            for (case_id, variant), each in told.items()
            if each.in_it and each.of
        ]
        higher = self._gate.pattern == "flaky_rate"
        rows.sort(key=lambda row: -row.value if higher else row.value)
        return Parts(
            computed, excluded.counted(), noted.counted(), "highest first" if higher else "lowest first", tuple(rows)
        )

    def readings(self) -> dict[tuple[str, str, str], Reading | None]:
        """By case, variant and, of `checks.held`, check: what a cell brings into a comparison.

        None where nothing was to be had: a cell of a case that asks for no items.
        """
        found: dict[tuple[str, str, str], Reading | None] = {}
        for (case_id, variant), cell in self._cells.items():
            if self._gate.pattern == "checks.held":
                for name, holds in self._holding(cell).items():
                    found[case_id, variant, name] = Reading(None if holds is None else float(holds), "undecided")
                continue
            told = self._tell(cell)
            unknown = told.undecided > 0 or not told.in_it
            reading = Reading(None, told.why) if unknown else Reading(told.held)
            found[case_id, variant, ""] = reading if told.in_it or told.missing else None
        return found

    @property
    def _of_checks(self) -> bool:
        return self._gate.pattern.endswith("held")

    @property
    def _whole(self) -> bool:
        return self._gate.factor is None

    def _never_came(self) -> int:
        return max(0, int(self._suite.get("n_planned") or 0) // self._repeats - len(self._cells))

    def _computed(self, told: Sequence[_Told], never: int) -> Computed:
        if self._of_checks:
            held = math.fsum(each.held for each in told)
            of_all, open_ = sum(each.of for each in told) + never, sum(each.undecided for each in told) + never
            value = held / of_all if of_all > open_ else None
            inputs = (("held", held), ("of all", float(of_all)), ("of these undecided", float(open_)))
            return Computed(value, of_all - open_, open_, inputs)
        values = [each.held for each in told if each.in_it]
        missing = sum(not each.in_it and each.missing for each in told) + never
        total, n = math.fsum(values), len(values)
        return Computed(total / n if n else None, n, missing, (("sum over cells", total), ("n", float(n))))

    def _tell(self, cell: Cell) -> _Told:
        head = self._gate.pattern.partition(".")[0]
        tell: dict[str, Callable[[Cell], _Told]] = {
            "cases": self._case,
            "checks": self._checks,
            "check": self._checks,
            "pass_all": self._all_of,
            "flaky_rate": self._flaky,
            "stability": self._stable,
        }
        return tell[head](cell)

    def _holding(self, cell: Cell) -> dict[str, bool | None]:
        """By check, whether it holds over the repeats; None where that cannot be told."""
        return {name: self._holds(cell, name) for name in sorted(cell.names)}

    def _holds(self, cell: Cell, name: str) -> bool | None:
        rule = self._rule(name)
        if rule is Hold.FIRST:
            state = cell.first.get(name, CheckState.NOT_RUN)
            return None if state is CheckState.NOT_RUN else state is CheckState.PASSED
        planned = max(len(cell.states), self._repeats)
        found = Counter(states[name] for states in cell.states if name in states)
        passed, failed = found[CheckState.PASSED], found[CheckState.FAILED]
        if rule is Hold.MAJORITY:
            return _most(passed, failed, planned)
        return False if failed else True if passed == planned else None

    def _together(self, cell: Cell) -> dict[str, bool | None]:
        """Whether all that is to pass in most repeats passes in the same ones, as one more check."""
        names = [name for name in cell.names if self._rule(name) is Hold.MAJORITY]
        states = [{found.get(name) for name in names} for found in cell.states]
        counts = states.count({CheckState.PASSED}), sum(CheckState.FAILED in each for each in states)
        return {"all at once": _most(*counts, max(len(cell.states), self._repeats))} if names else {}

    def _rule(self, name: str) -> Hold:
        expect = self._suite.get("expect") or {}
        declared = {check["name"]: check["hold"] for check in expect.get("checks", ())}
        return Hold(declared.get(_base(name, declared), expect.get("hold", Hold.ALL)))

    def _case(self, cell: Cell) -> _Told:
        holding = self._holding(cell) | self._together(cell)
        broken = [name for name, holds in holding.items() if holds is False]
        open_ = [name for name, holds in holding.items() if holds is None]
        if broken:
            return _Told(0.0, 1, said=f"broken: {', '.join(broken)}")
        if open_ or not holding:
            return _Told(0.0, 1, 1, _UNDECIDED if open_ else _BLIND, f"undecided: {', '.join(open_) or 'no check'}")
        return _Told(1.0, 1, said=f"{len(cell.names)} checks hold")

    def _checks(self, cell: Cell) -> _Told:
        holding = self._holding(cell)
        if not holding:
            return _Told(0.0, 1, 1, _BLIND, "no check is known")
        declared = [check["name"] for check in (self._suite.get("expect") or {}).get("checks", ())]
        mine = {
            name: holds
            for name, holds in holding.items()
            if not self._gate.subject or _base(name, declared) == self._gate.subject
        }
        held, open_ = sum(holds is True for holds in mine.values()), sum(holds is None for holds in mine.values())
        not_held = [name for name, holds in mine.items() if not holds]
        said = f"{held} of {len(mine)} hold" + (f"; not: {', '.join(not_held)}" if not_held else "")
        return _Told(float(held), len(mine), open_, _UNDECIDED, said)

    def _all_of(self, cell: Cell) -> _Told:
        k, clean, decided = int(self._gate.subject), cell.clean, cell.decided
        if decided < k or k > self._repeats:
            return _Told(why=f"fewer than {k} decided repeats", in_it=False)
        return _Told(math.comb(clean, k) / math.comb(decided, k), 1, said=f"{clean} of {decided} repeats clean")

    def _flaky(self, cell: Cell) -> _Told:
        clean, decided = cell.clean, cell.decided
        if decided < 2:
            return _Told(why="fewer than 2 decided repeats", in_it=False)
        return _Told(float(0 < clean < decided), 1, said=f"{clean} of {decided} repeats clean")

    def _stable(self, cell: Cell) -> _Told:
        if not cell.items and cell.read:
            return _Told(why="the case asks for no items (not missing)", in_it=False, missing=False)
        if self._gate.pattern == "stability.presence":
            alike, of = _presence(cell.items)
        else:
            fields = (self._suite.get("stability") or {}).get("fields") or {}
            found = alikeness(cell.items, list(fields.values()))
            alike, of = found.alike[list(fields).index(self._gate.subject)], found.shared
        if not of:
            return _Told(why="nothing to compare in two repeats", in_it=False)
        said = f"{alike:g} of {of} over {len(cell.items)} repeats"
        return _Told(alike / of, 1, said=said)


def _most(passed: int, failed: int, planned: int) -> bool | None:
    return True if 2 * passed > planned else False if 2 * failed >= planned else None


def _states(checks: Sequence[Check]) -> dict[str, CheckState]:
    """What became of each check; of one that is there twice, the worse."""
    found: dict[str, CheckState] = {}
    for check in checks:
        known = found.get(check.name)
        found[check.name] = check.state if known is None else max(known, check.state, key=_WORST.__getitem__)
    return found


def _base(name: str, declared: Any) -> str:
    """The check that a suite declares, of one with the value that was looked for: `colour` of `colour:red`."""
    return name if name in declared else name.partition(":")[0]


def _presence(answers: Sequence[Sequence[Item]]) -> tuple[float, int]:
    """Items that both have and items that either has, over all pairs of repeats, one pair after the other."""
    counts = [Counter(item.key for item in answer) for answer in answers]
    both = sum((one & other).total() for one, other in combinations(counts, 2))
    either = sum((one | other).total() for one, other in combinations(counts, 2))
    return float(both), either
