"""Thresholds that are counted from a baseline: `release - 3 points`, `release + 200 ms`, `@release`.

The name is looked for when the gate is held against a run: a suite is read without a store.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

from steelyard.suite.baseline_names import BASELINE_NAME

ENOUGH = r"(?:with\s+n\s*>=\s*(?P<min_n>\d+)(?P<skip_small>\s+skip\s+small)?)?\s*"
"""How any gate may end."""
_RIGHT = re.compile(
    rf"\s*(?P<at>@)?(?P<name>{BASELINE_NAME})"
    r"(?:\s*(?P<sign>[+-])\s*(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*(?P<unit>%|points?\b|ms\b|s\b)?)?"
    rf"(?P<sure>\s+for\s+sure)?\s*{ENOUGH}"
)
UNCOMPARED = (
    *("scored_rate", "check.<check>.held", "pass_all.<k>", "flaky_rate"),
    "score.<component>.<measure>.readable",
    *("latency.p99", "latency.min", "latency.max"),
)
"""Metrics that have no paired difference between two runs."""
WHOLE_RUN = (
    *("inconclusive_rate", "malformed_rate"),
    *("cases.held", "checks.held", "stability.presence", "stability.<field>"),
)
"""Metrics whose paired difference is known of the whole run alone."""


@dataclass(frozen=True, slots=True)
class Relative:
    """What stands right of the operator of a gate that looks at a baseline."""

    baseline: str
    offset: float
    """What the baseline's figure is raised by; below 0 when it may be lower."""
    min_n: int
    for_sure: bool
    """True when the gate passes only if that is more than noise."""


def read_relative(rest: str) -> re.Match[str] | None:
    """The parts of a threshold that names a baseline; None when it names none.

    A word alone is none: `pass_rate >= high` is a mistake to be told at once. It takes an `@` or an offset.
    """
    found = _RIGHT.fullmatch(rest)
    return found if found is not None and (found["at"] or found["number"]) else None


def relative_threshold(found: re.Match[str], metric: str, unit: str, sign: str, *, sliced: bool) -> Relative:
    """The threshold that the parts say; ValueError with what is wrong, to stand behind the gate's text."""
    if sign not in (">=", "<="):
        raise ValueError(f"a figure is held against that of another run by >= or <=, with what is allowed: not {sign}")
    if metric in UNCOMPARED or (sliced and metric in WHOLE_RUN):
        where = " in a slice" if metric not in UNCOMPARED else ""
        raise ValueError(f"{metric}{where} is not compared between runs: write a number for {found['name']}")
    offset = 0.0 if found["number"] is None else _offset(Decimal(found["number"]), found["unit"] or "", metric, unit)
    lower = found["sign"] == "-"
    if offset and lower is not (sign == ">="):
        wrong, right = ("+", "-") if not lower else ("-", "+")
        raise ValueError(
            f"{sign} {found['name']} {wrong} {found['number']} asks for a change in every run: to allow one, write"
            f" {sign} {found['name']} {right} {found['number']}"
        )
    return Relative(found["name"], -offset if lower else offset, int(found["min_n"] or 1), bool(found["sure"]))


def _offset(number: Decimal, written: str, metric: str, unit: str) -> float:
    written = written.removesuffix("s") if written.startswith("point") else written
    allowed = {"share": ("point",), "score": ("point",), "points": ("point", ""), "s": ("s", "ms", "")}.get(unit, ("",))
    if written not in allowed:
        shapes = {"point": f"{number} points", "": f"{number}", "s": f"{number} s", "ms": f"{number} ms"}
        raise ValueError(
            f"{number}{f' {written}' if written else ''} says nothing clear beside {metric}: write"
            f" {' or '.join(shapes[each] for each in allowed)}"
        )
    if not math.isfinite(float(number)):
        raise ValueError(f"{number} is beyond every number that can be measured")
    if unit in ("share", "score"):
        return float(number / 100)
    return float(number / 1000) if written == "ms" else float(number)
