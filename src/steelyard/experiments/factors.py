"""What differs between the two arms of an experiment, and whether that is the factor that was to change, and no other.

Seen are the runs' signatures, targets and settings, and which models said that they answered. What a service does
behind its address is not seen: a prompt that is to change there shows as another service, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.analysis.target import shown_address, target_changes
from steelyard.comparing.model import Comparison
from steelyard.frozen import frozen
from steelyard.records import RunHeader
from steelyard.suite.models import levels_of

_PARTS = {
    "suite": "suite",
    "judge": "judge",
    "rules": "judge",
    "scorers": "scorers",
    "schema": "schema",
    "cases": "cases",
    "questions": "cases",
    "truth": "truth",
    "model": "model",
    "prompts": "prompt",
    "repeats": "repeats",
}
"""Parts of the signature, as comparing names them, by the factor they are."""
_COVERS = {"target": ("service", "parameter"), "prompt": ("variant",)}
"""What else is seen when a factor changes."""
_CONTRIBUTING = ("model", "prompt", "parameter")
"""Factors that may be inside a service or a program, where they cannot be observed."""
_LIMITS = ("timeout", "retries", "max_cost", "max_inconclusive", "judge_repeats")
_LONGEST = 60


@frozen
class FactorChange:
    """One thing that differs between the arms."""

    factor: str
    baseline: str = ""
    """How it is there, in a few words; "" when that says nothing."""
    candidate: str = ""

    @property
    def message(self) -> str:
        """`repeats (1 and 5)`, `parameter (query)`, `prompt`."""
        if self.baseline == self.candidate:
            return f"{self.factor} ({self.baseline})" if self.baseline else self.factor
        return f"{self.factor} ({self.baseline or 'none'} and {self.candidate or 'none'})"


@frozen
class Changed:
    """Everything that differs, compared with the factor that was declared."""

    declared: str
    as_declared: tuple[FactorChange, ...] = ()
    besides: tuple[FactorChange, ...] = ()
    contributing: bool = False
    """True when the declared factor itself cannot be seen, and another service or program is taken for it."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is wrong with the experiment; nothing when the declared factor changed, and it alone."""
        results = []
        if not self.as_declared:
            results.append(f"{self.declared}, the factor that was to change, did not change")
        if self.besides:
            results.append(f"also changed: {', '.join(item.message for item in self.besides)}")
        return tuple(results)

    @property
    def caution(self) -> str:
        """What cannot be seen; "" when the declared factor can."""
        if not self.contributing:
            return ""
        seen = " and ".join(item.message for item in self.as_declared)
        return (
            f"{self.declared} cannot be observed, only another {seen}: whatever else differs there is part of the"
            f" same change"
        )


def held_against(declared: str, changes: Sequence[FactorChange]) -> Changed:
    """Which of the changes are the declared factor, and which came besides."""
    mine = {declared, *_COVERS.get(declared, ())}
    own = [change for change in changes if change.factor in mine]
    # A target that is exchanged brings its model along, where only one of them names any.
    if declared == "target" and own:
        own += [change for change in changes if change.factor == "model" and not (change.baseline and change.candidate)]
    contributing = not own and declared in _CONTRIBUTING
    if contributing:
        own = [change for change in changes if change.factor in ("service", "target")]
    # A variant is one factor's level; where its name tells that several differ, each is a change.
    several = [item for item in own if item.factor == "variant"][1:]
    retained = tuple(item for item in own if item not in several)
    besides = tuple(change for change in changes if change not in retained)
    return Changed(declared, retained, besides, contributing=contributing and bool(retained))


def changed_factors(
    comparison: Comparison, answered: tuple[Sequence[str], Sequence[str]] = ((), ())
) -> tuple[FactorChange, ...]:
    """Everything that differs between the arms, each factor once.

    `answered` are the models that the answers of either side name.
    """
    a, b = comparison.a, comparison.b
    factor_changes: dict[tuple[str, ...], FactorChange] = {}
    for change in (
        *_signatures(comparison),
        *_targets(a, b),
        *_variants(a, b),
        *_answered(*answered),
        *_settings(a, b),
    ):
        several = (change.baseline, change.candidate) if change.factor == "variant" else ()
        factor_changes.setdefault((change.factor, *several), change)
    return tuple(factor_changes.values())


def _signatures(comparison: Comparison) -> Iterator[FactorChange]:
    for change in comparison.signatures.changes:
        if change.part in _PARTS:
            named = change.part in ("model", "repeats", "suite") or (
                change.part == "judge" and " -> " in change.sentence
            )
            sides = (_short(change.a), _short(change.b)) if named else ("", "")
            if change.part == "cases":
                sides = ("", "")
            yield FactorChange(_PARTS[change.part], *sides)


def _targets(a: RunHeader, b: RunHeader) -> Iterator[FactorChange]:
    before, after = a.target, b.target
    if before.kind != after.kind:
        yield FactorChange("target", _short(before.kind), _short(after.kind))
        return
    differs = [key for key in {**before.facts, **after.facts} if before.facts.get(key) != after.facts.get(key)]
    if "address" in differs:
        places = (_short(shown_address(item.address)) for item in (before, after))
        yield FactorChange("service", *places)
    text = _said_differently(a, b)
    if "settings" in differs and not (text == {"base_url"} and "address" in differs):
        yield from _parameters(a, b)
    others = [key for key in differs if key not in ("address", "settings", "model", "prompts", "stdin", "n")]
    if others:
        yield FactorChange(
            "target", *(_short(", ".join(f"{key} {side.facts.get(key)}" for key in others)) for side in (before, after))
        )


def _parameters(a: RunHeader, b: RunHeader) -> Iterator[FactorChange]:
    """Settings of a target that differ, by name where the run or the plan tells it."""
    before, after, named = a.target.settings, b.target.settings, _set_differently(a, b)
    if before is not None and after is not None:
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        messages = [_short(", ".join(f"{key} {side.get(key, 'not set')}" for key in keys)) for side in (before, after)]
        yield FactorChange("parameter", *messages)
        return
    changes = [item for item in target_changes(a, b) if item.name not in ("model", "address") and item.before]
    started = [item for item in changes if item.name.startswith("start.")]
    for factor, part in (("service", started), ("parameter", [item for item in changes if item not in started])):
        if part:
            texts = ([f"{item.name} {getattr(item, side)}" for item in part] for side in ("before", "after"))
            yield FactorChange(factor, *(_short(", ".join(side)) for side in texts))
    if changes:
        return
    if "start" in named:
        yield FactorChange("service")
    others = [name for name in named if name != "start"]
    if others or not named:
        yield FactorChange("parameter", *(2 * [_short(", ".join(others))] if others else ("", "")))


def _variants(a: RunHeader, b: RunHeader) -> Iterator[FactorChange]:
    before, after = (sorted(run.description.variant_names) for run in (a, b))
    if before == after:
        return
    levels = [levels_of(names[0]) if len(names) == 1 else {} for names in (before, after)]
    if levels[0] and levels[0].keys() == levels[1].keys():
        for name, level in levels[0].items():
            if level != levels[1][name]:
                yield FactorChange("variant", f"{name} {level}", f"{name} {levels[1][name]}")
        return
    yield FactorChange("variant", *(_short(", ".join(name or "none" for name in names)) for names in (before, after)))


def _answered(before: Sequence[str], after: Sequence[str]) -> Iterator[FactorChange]:
    if before and after and set(before) != set(after):
        yield FactorChange("model", *(_short(", ".join(sorted(side))) for side in (before, after)))


def _settings(a: RunHeader, b: RunHeader) -> Iterator[FactorChange]:
    # Answers that nobody was asked for have no load.
    loads = [run.options.load.declared for run in (a, b) if run.options.load is not None]
    if len(loads) == 2 and loads[0] != loads[1]:
        keys = [key for key in loads[0] if loads[0][key] != loads[1][key]]
        messages = (", ".join(f"{key.replace('_', ' ')} {load[key] or 'none'}" for key in keys) for load in loads)
        yield FactorChange("load", *messages)
    before, after = _arms(a, b)
    for key in _LIMITS:
        if before.get(key) != after.get(key):
            messages = (str(arm.get(key, "as the suite says")) for arm in (before, after))
            yield FactorChange(key.replace("_", " "), *messages)


def _arms(a: RunHeader, b: RunHeader) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What the plan says of either arm; nothing where a run is of no experiment."""
    before, after = ({} if (plan := run.options.experiment) is None else plan.settings for run in (a, b))
    return before, after


def _said_differently(a: RunHeader, b: RunHeader) -> set[str]:
    """The keys of the target in which the arms of the plan differ."""
    before, after = _arms(a, b)
    return {key for key in ("target", "base_url", "set") if before.get(key) != after.get(key)}


def _set_differently(a: RunHeader, b: RunHeader) -> list[str]:
    before, after = (arm.get("set") or {} for arm in _arms(a, b))
    return [key for key in {**before, **after} if before.get(key) != after.get(key)]


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
