"""Several votes on one text and what they come to: one mode, one value for each dimension and flag, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final

from steelyard.frozen import frozen
from steelyard.records import Mode, Remark, Vote, nearest
from steelyard.suite.judge import JudgeModel

_ORDER: Final = (Mode.MODEL, Mode.BASIC, Mode.RULES)
_MOST_MESSAGES: Final = 3


@frozen
class Combined:
    """The combined result of a panel. `mode` is None without a result, and `message` then says why.

    `uncapped` lacks a dimension on which the uncapped scores have no majority though the capped ones have.
    """

    mode: Mode | None
    uncapped: dict[str, float | bool] = field(default_factory=dict)
    capped: dict[str, float | bool] = field(default_factory=dict)
    capped_by: dict[str, str] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    message: str = ""
    stands: Vote | None = None
    """The representative vote: the first of those whose capped scores are nearest to the combined."""


def combine(judge: JudgeModel, votes: Sequence[Vote]) -> Combined:
    """All votes that were asked for, combined as the judge declares.

    Only votes of one mode are put together, and only when they are at least half of all: a judge that fails is
    neither a zero nor left out of sight.
    """
    for mode in _ORDER:
        of_mode = [vote for vote in votes if vote.mode is mode]
        if of_mode and len(of_mode) * 2 >= len(votes):
            return _combined(judge, mode, of_mode)
    return Combined(None, message=_why_nothing(votes))


def _combined(judge: JudgeModel, mode: Mode, votes: list[Vote]) -> Combined:
    remarks = _disagreements(judge, votes)
    raw: dict[str, float | bool] = {}
    bound: dict[str, float | bool] = {}
    without: list[Remark] = []
    pick = _majority if judge.combine == "majority" else _median
    for dimension in judge.rubric.dimensions:
        name = dimension.name
        before, after = (pick(values) for values in _values(votes, name))
        if before is not None:
            raw[name] = before
        if after is None:
            without.append(Remark("NO_MAJORITY", name, _listed(votes, name, lambda vote: vote.capped)))
        else:
            bound[name] = after
    if without:
        names = ", ".join(item.dimension for item in without)
        return Combined(None, remarks=(*remarks, *without), message=f"no majority in the panel: {names}")
    for flag in judge.rubric.flags:
        raw[flag.name], bound[flag.name] = (_is_set(judge, flags) for flags in _values(votes, flag.name))
    capped_by = {name: rule for name in bound if (rule := _rule(name, raw, bound, votes))}
    return Combined(mode, raw, bound, capped_by, tuple(remarks), stands=nearest(votes, bound))


def _values(votes: list[Vote], name: str) -> tuple[list[float], list[float]]:
    return [vote.uncapped[name] for vote in votes], [vote.capped[name] for vote in votes]


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
    name: str, raw: Mapping[str, float | bool], bound: Mapping[str, float | bool], votes: list[Vote]
) -> str | None:
    """What bound the combined value: the rule of the first vote that decides it, else of any bound vote."""
    if raw.get(name) == bound[name]:
        return None
    values = [vote.capped[name] for vote in votes]
    deciding = {bound[name], *_middle(values)}
    rules = [(vote.capped[name] not in deciding, vote.capped_by[name]) for vote in votes if name in vote.capped_by]
    return min(rules, key=lambda rule: rule[0])[1] if rules else None


def _disagreements(judge: JudgeModel, votes: list[Vote]) -> list[Remark]:
    """Where the votes are far apart in what they said, before any rule made them equal."""
    far = []
    for name in judge.rubric.names:
        values = [vote.uncapped[name] for vote in votes]
        spread = max(values) - min(values)
        is_flag = isinstance(values[0], bool)
        if spread > 0 and (is_flag or spread >= judge.disagreement):
            far.append(Remark("DISAGREEMENT", name, _listed(votes, name, lambda vote: vote.uncapped)))
    return far


def _listed(votes: list[Vote], name: str, of: Callable[[Vote], Mapping[str, float | bool]]) -> str:
    return ", ".join(f"{vote.member} {_stated(of(vote)[name])}" for vote in votes)


def _stated(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _why_nothing(votes: Sequence[Vote]) -> str:
    if not votes:
        return "no judge was asked"
    failed = [vote for vote in votes if vote.mode is None]
    read = Counter(str(vote.mode) for vote in votes if vote.mode is not None)
    if not failed or len(failed) * 2 < len(votes):
        modes = ", ".join(f"{count} {mode}" for mode, count in read.items())
        return f"of {len(votes)} judges fewer than half gave scores of one mode: {modes}, {len(failed)} none"
    reasons = list(dict.fromkeys(f"{vote.member}: {vote.message}" for vote in failed))
    message = "; ".join(reasons[:_MOST_MESSAGES]) + ("; ..." if len(reasons) > _MOST_MESSAGES else "")
    if len(votes) == 1:
        return message
    return f"{len(failed)} of {len(votes)} judges gave no scores: {message}"
