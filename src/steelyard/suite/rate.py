"""Loads: how many calls a second under an open load, how many at a time under a closed one, and both in words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from steelyard.suite.spelling import found, shown

_RATE = re.compile(r"(\d+\.?\d*|\.\d+)\s*(?:(?:/|per|a)\s*(s|sec|second|min|minute|m|h|hour))?")
_SECONDS = {"s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_FASTEST = 100_000.0
OPEN_CONCURRENCY = 1_000
"""Most calls under way under an open load, where nobody says otherwise."""


def parse_rate(value: Any) -> float:
    """Calls a second in `20/s`, `90/min` or a bare 20; ValueError with a sentence when it is none."""
    if isinstance(value, str) and (written := _RATE.fullmatch(value.strip().lower())):
        return _bounded(float(written[1]) / _SECONDS[written[2] or "s"], shown(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _bounded(float(min(value, 10**300)), shown(value))
    raise ValueError(f"a rate is written 20/s or 90/min; {found(value)}")


def rate_in_words(rate: float) -> str:
    """`20 a second`, or `90 a minute` where that is the rounder number."""
    for seconds, unit in ((1, "a second"), (60, "a minute"), (3600, "an hour")):
        whole = round(rate * seconds, 9)
        if whole >= 1 and whole == int(whole):
            return f"{int(whole):,} {unit}"
    return f"{rate:.3g} a second" if rate >= 1 else f"{rate * 60:.3g} a minute"


def load_in_words(load: Mapping[str, Any] | None) -> str:
    """How the calls were made: `8 at a time`, or `20 a second, whatever comes back`; "" when it is not known."""
    if not load:
        return ""
    if load.get("rate"):
        return f"{rate_in_words(load['rate'])}, whatever comes back"
    most = load.get("requests_per_second")
    limit = f", {rate_in_words(most)} at most" if most else ""
    return f"{load['concurrency']:,} at a time{limit}"


def _bounded(rate: float, text: str) -> float:
    if not math.isfinite(rate) or rate <= 0:
        raise ValueError(f"{text} is not a rate: write a number above 0, such as 20/s")
    if rate > _FASTEST:
        raise ValueError(f"{text} is more than {_FASTEST:,.0f} calls a second")
    return rate
