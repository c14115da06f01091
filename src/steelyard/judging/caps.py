"""Rules that are enforced in code: the judge's scores, capped by what was measured and by what it could prove."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from steelyard.frozen import frozen
from steelyard.records import Remark
from steelyard.suite.judge import BindingRule, JudgeModel

Statement = Mapping[str, float | bool]


@frozen
class Bound:
    """What counts after rules and checks, what bound each value that differs, and the rules that the judge broke."""

    values: dict[str, float | bool]
    capped_by: dict[str, str]
    remarks: tuple[Remark, ...]


def rules_that_hold(judge: JudgeModel, metrics: Mapping[str, Any]) -> list[BindingRule]:
    """The rules whose condition is met; ValueError when one needs a metric that is not there."""
    return [rule for rule in judge.rules if rule.holds(metrics)]


def bind_under(
    judge: JudgeModel, raw: Statement, rules: Sequence[BindingRule], unproven: Collection[str] = ()
) -> Bound:
    """The judge's scores and flags under these rules; no score is ever raised, no flag ever taken back.

    Of several caps the lowest counts, of equal ones the first. A dimension in `unproven` counts as the neutral score
    at most, when the suite asks for that.
    """
    values = dict(raw)
    capped_by: dict[str, str] = {}
    remarks: list[Remark] = []
    for rule in rules:
        broken = {name: raw[name] for name, cap in rule.caps.items() if name in raw and raw[name] > cap}
        broken |= {name: False for name in rule.raises if raw.get(name) is False}
        for name in broken:
            if name in rule.caps and values[name] > rule.caps[name]:
                values[name] = _tidy(rule.caps[name])
                capped_by[name] = rule.text
            elif name in rule.raises and values[name] is False:
                values[name] = True
                capped_by[name] = rule.text
        if broken:
            remarks.append(Remark("RULE_BROKEN", next(iter(broken)), f"{rule.text}: {_message(broken)}"))
    neutral = judge.rubric.neutral
    if judge.evidence is not None and judge.evidence.unproven == "neutral":
        for name in unproven:
            if values[name] > neutral:
                values[name] = neutral
                capped_by[name] = f"evidence: no quote from {judge.evidence.source} for a score above {neutral}"
    return Bound(values, capped_by, tuple(remarks))


def _tidy(cap: float) -> float:
    return int(cap) if cap == cap // 1 else cap


def _message(broken: Mapping[str, float | bool]) -> str:
    return ", ".join(f"{name} {'false' if value is False else f'{value:g}'}" for name, value in broken.items())
