"""What decides on a run, as readable values: gates, pass rule, limits, planned size and prices, and how two differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from steelyard.errors import UsageError
from steelyard.metrics.expressions import parse_gate, parse_repeats
from steelyard.records import RunHeader
from steelyard.suite.case import digest
from steelyard.suite.models import SuiteModel
from steelyard.wording import percent, threshold

Values = dict[str, str]
"""By what it is called, a value as people write it."""
_IN_SIGNATURE = ("pass rule", "band", "weight of")
"""How values begin that the signature has a hash of, as a part of the scorers."""
_IF_BOTH = ("planned ", "adopt", "reject", "price of ", "require_checked", "anchors", "judge ")
"""How values begin that are only compared where both have them."""
_NONE = "none"
_JOINED = re.compile(r" and |, fails when |(?= \(secondary\)$)")
"""Between the expressions of a value."""
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(\s*%)?")
HASHED = {
    "judge": "the judge",
    "rules": "the judge's rules",
    "scorers": "the scorers",
    "schema": "the answer schema",
    "truth": "the truth",
    "cases": "the set of cases",
}
"""Parts of the signature that are criteria, too, and of which only a hash is stored."""


def has_criteria(header: RunHeader) -> bool:
    """Whether the criteria of a run can be read: not where another version or tool wrote its header."""
    try:
        return bool(header.description)
    except UsageError:
        return False


def criteria_of(header: RunHeader) -> Values:
    """The criteria of a run; see `suite_criteria`."""
    ab, experiment = header.options.ab, header.options.experiment
    values = suite_criteria(header.description, header.options.prices, strict=header.options.strict)
    if ab is not None:
        # The number of sampled cases is known only when the run begins.
        early = "yes" if ab.stop_early else "no"
        plan = {"cases": ab.max_cases, "metric": ab.metric, "stop early": early, "same within": ab.same_within}
        values |= {f"planned {name}": _NONE if value is None else str(value) for name, value in plan.items()}
    if experiment is not None:
        values |= {"adopt": "; ".join(experiment.adopt), "reject": "; ".join(experiment.reject) or _NONE}
    return values


def suite_criteria(suite: SuiteModel, prices: Mapping[str, Any], *, strict: bool = False) -> Values:
    """What decides on a run of a suite, by name: gates, criteria, pass rule, weights, limits, repeats and prices."""
    gates: dict[str, list[str]] = {}
    for text in dict.fromkeys(" ".join(text.split()) for text in suite.gates):
        gates.setdefault(f"gate {_side(text)}", []).append(text)
    values = {name: " and ".join(texts) for name, texts in gates.items()}
    for criterion in suite.criteria:
        fails = f", fails when {criterion.fails}" if criterion.fails else ""
        secondary = " (secondary)" if criterion.secondary else ""
        values[f"criterion {criterion.name}"] = f"{criterion.passes}{fails}{secondary}"
    values["pass rule"] = _NONE if suite.passing is None else suite.passing.text
    values |= {f"band {band.name}": percent(band.at_least) for band in suite.bands}
    values |= {f"weight of {item.name}": f"{item.weight:g}" for item in suite.components}
    if suite.expect is not None:
        values |= {f"check {item.name}": f"in {item.required_repeats.value} repeats" for item in suite.expect.checks}
    values["max_inconclusive"] = threshold(suite.limits.max_inconclusive)
    values["min_paired"] = threshold(suite.limits.min_paired)
    if suite.judge is not None:
        values["require_checked"] = "yes" if suite.judge.require_checked else "no"
        values["anchors"] = str(suite.limits.anchors)
        values["judge health"] = "; ".join(suite.judge.health) or _NONE
        values["judge constant"] = ", ".join(sorted(suite.judge.constant)) or _NONE
        values["judge epsilon"] = f"{suite.judge.epsilon:g}"
        values["judge labels_are"] = suite.judge.labels_are
    # What is normal is a hint, and decides nothing.
    for name, value in suite.latency.model_dump(mode="json", exclude={"normal"}).items():
        values[f"latency {name}"] = _NONE if value is None else f"{value:g}"
    values["repeats"] = str(suite.repeats if suite.usual_repeats is None else suite.usual_repeats)
    values["strict rules"] = "yes" if strict else "no"
    for model, price in prices.items():
        texts = [f"{kind} {amount:g}" for kind, amount in (price or {}).items()]
        values[f"price of {model}"] = ", ".join(texts) or _NONE
    return values


def is_signed(text: str) -> bool:
    """Whether the signature has a hash of a value, or of a change of it."""
    return text.startswith(_IN_SIGNATURE)


def criteria_digest(values: Values) -> str:
    """One hash of the criteria that are not in the signature."""
    return digest({name: _meaning(name, value) for name, value in values.items() if not is_signed(name)})


def _side(text: str) -> str:
    """What a gate is on, up to its threshold, however it is written."""
    with suppress(ValueError):
        gate = parse_gate(text)
        return f"{gate.stands_on} {gate.operator}"
    return text


def _meaning(name: str, value: str) -> str:
    """A value without how it is written: spaces, units, decimals, and the order of gates on one figure."""
    if name == "pass rule":
        return _NUMBER.sub(lambda found: repr(float(found[1]) / (100 if found[2] else 1)), value)
    if not name.startswith(("gate ", "criterion ")):
        return value
    texts = [_expression(text) for text in _JOINED.split(value)]
    return "; ".join(sorted(texts) if name.startswith("gate ") else texts)


def _expression(text: str) -> str:
    with suppress(ValueError):
        return repr(replace(parse_repeats(text) or parse_gate(text), text=""))
    return text


def changed_criteria(before: RunHeader, after: RunHeader) -> tuple[str, ...]:
    """How the criteria of two runs differ, one text per change: `gate pass_rate >= 90 % -> pass_rate >= 60 %`."""
    values = (criteria_of(before), criteria_of(after))
    hashed = [
        f"{text} changed"
        for part, text in HASHED.items()
        if None not in (signed := [header.signature.part(part) for header in (before, after)])
        and signed[0] != signed[1]
    ]
    return (*changed_values(*values), *hashed)


def changed_values(before: Values, after: Values) -> tuple[str, ...]:
    """Values that differ, are new or were removed, one text per change."""
    changes = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            if name.startswith(_IF_BOTH):
                continue
        elif _meaning(name, old) == _meaning(name, new):
            continue
        if name.startswith("gate "):
            changes.append(
                f"gate {old} -> {new}" if old and new else f"gate {'removed' if old else 'added'}: {old or new}"
            )
        else:
            changes.append(f"{name}: {old or _NONE} -> {new or _NONE}")
    return tuple(changes)
