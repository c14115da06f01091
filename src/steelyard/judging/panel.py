"""Several ballots on one text and what they come to: one mode, one value for each dimension and flag, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from steelyard.records import Ballot, Mode, Remark, nearest
from steelyard.suite.judge import JudgeModel

_ORDER: Final = (Mode.MODEL, Mode.BASIC, Mode.RULES)
_MOST_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class Combined:
    """What a panel comes to. `mode` is None when it comes to nothing, and `told` then says why.

    `raw` lacks a dimension on which the raw scores have no majority though the bound ones have.
    """

    mode: Mode | None
    raw: dict[str, float | bool] = field(default_factory=dict)
    bound: dict[str, float | bool] = field(default_factory=dict)
    bound_by: dict[str, str] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    told: str = ""
    stands: Ballot | None = None
    """The ballot that stands for the others: the first of those whose bound scores are nearest to the combined."""


def combine(judge: JudgeModel, ballots: Sequence[Ballot]) -> Combined:
    """All ballots that were asked for, combined as the judge declares.

    Only ballots of one mode are put together, and only when they are at least half of all: a judge that fails is
    neither a zero nor left out of sight.
    """
    for mode in _ORDER:
        of_mode = [ballot for ballot in ballots if ballot.mode is mode]
        if of_mode and len(of_mode) * 2 >= len(ballots):
            return _combined(judge, mode, of_mode)
    return Combined(None, told=_why_nothing(ballots))


def _combined(judge: JudgeModel, mode: Mode, ballots: list[Ballot]) -> Combined:
    remarks = _disagreements(judge, ballots)
    raw: dict[str, float | bool] = {}
    bound: dict[str, float | bool] = {}
    without: list[Remark] = []
    pick = _majority if judge.combine == "majority" else _median
    for dimension in judge.rubric.dimensions:
        name = dimension.name
        before, after = (pick(values) for values in _values(ballots, name))
        if before is not None:
            raw[name] = before
        if after is None:
            without.append(Remark("NO_MAJORITY", name, _listed(ballots, name, lambda ballot: ballot.bound)))
        else:
            bound[name] = after
    if without:
        names = ", ".join(one.dimension for one in without)
        return Combined(None, remarks=(*remarks, *without), told=f"no score that most of the panel gave: {names}")
    for flag in judge.rubric.flags:
        raw[flag.name], bound[flag.name] = (_is_set(judge, votes) for votes in _values(ballots, flag.name))
    bound_by = {name: rule for name in bound if (rule := _rule(name, raw, bound, ballots))}
    return Combined(mode, raw, bound, bound_by, tuple(remarks), stands=nearest(ballots, bound))


def _values(ballots: list[Ballot], name: str) -> tuple[list[float], list[float]]:
    return [ballot.raw[name] for ballot in ballots], [ballot.bound[name] for ballot in ballots]


def _median(values: list[float]) -> float:
    """The middle value; the mean of the two in the middle when there is no one."""
    lower, upper = _middle(values)
    mean = (lower + upper) / 2
    return int(mean) if mean == mean // 1 else mean


def _middle(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]


def _majority(values: list[float]) -> float | None:
    value, count = Counter(values).most_common(1)[0]
    return value if count * 2 > len(values) else None


def _is_set(judge: JudgeModel, votes: list[float]) -> bool:
    """What the panel says of a flag; a tie sets it, the careful side."""
    return any(votes) if judge.flags == "any" else sum(map(bool, votes)) * 2 >= len(votes)


def _rule(
    name: str, raw: Mapping[str, float | bool], bound: Mapping[str, float | bool], ballots: list[Ballot]
) -> str | None:
    """What bound the combined value: the rule of the first ballot that decides it, else of any bound ballot."""
    if raw.get(name) == bound[name]:
        return None
    values = [ballot.bound[name] for ballot in ballots]
    deciding = {bound[name], *_middle(values)}
    rules = [
        (ballot.bound[name] not in deciding, ballot.bound_by[name]) for ballot in ballots if name in ballot.bound_by
    ]
    return min(rules, key=lambda rule: rule[0])[1] if rules else None


def _disagreements(judge: JudgeModel, ballots: list[Ballot]) -> list[Remark]:
    """Where the ballots are far apart in what they said, before any rule made them equal."""
    far = []
    for name in judge.rubric.names:
        values = [ballot.raw[name] for ballot in ballots]
        spread = max(values) - min(values)
        is_flag = isinstance(values[0], bool)
        if spread > 0 and (is_flag or spread >= judge.disagreement):
            far.append(Remark("DISAGREEMENT", name, _listed(ballots, name, lambda ballot: ballot.raw)))
    return far


def _listed(ballots: list[Ballot], name: str, of: Callable[[Ballot], Mapping[str, float | bool]]) -> str:
    return ", ".join(f"{ballot.member} {_said(of(ballot)[name])}" for ballot in ballots)


def _said(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _why_nothing(ballots: Sequence[Ballot]) -> str:
    if not ballots:
        return "no judge was asked"
    failed = [ballot for ballot in ballots if ballot.mode is None]
    read = Counter(str(ballot.mode) for ballot in ballots if ballot.mode is not None)
    if not failed or len(failed) * 2 < len(ballots):
        modes = ", ".join(f"{count} {mode}" for mode, count in read.items())
        return f"of {len(ballots)} judges fewer than half gave a reading of one kind: {modes}, {len(failed)} none"
    reasons = list(dict.fromkeys(f"{ballot.member}: {ballot.told}" for ballot in failed))
    told = "; ".join(reasons[:_MOST_TOLD]) + ("; ..." if len(reasons) > _MOST_TOLD else "")
    if len(ballots) == 1:
        return told
    return f"{len(failed)} of {len(ballots)} judges gave no reading: {told}"
