"""What a suite says of the time its answers take: which medians look wrong, and from where on a change matters."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from steelyard.suite.draft import Draft
from steelyard.suite.file import Share
from steelyard.suite.model import SMALLEST_SECONDS, SMALLEST_SHARE, LatencyRules
from steelyard.suite.spelling import found, shown

_SECONDS = re.compile(r"(\d+\.?\d*|\.\d+)\s*(ms|s)?")
_LONGEST = 86_400
_SECONDS_TEXT = {"type": "string", "pattern": r"^\s*[0-9.]+\s*(ms|s)?\s*$", "examples": ["100 ms", "10 s"]}
_SECONDS_SCHEMA = {"anyOf": [_SECONDS_TEXT, {"type": "number", "exclusiveMinimum": 0}]}


def seconds(value: Any) -> float:
    """The seconds in `100 ms`, `10 s` or a bare 10, as gates have them; ValueError with a sentence when it is none."""
    if isinstance(value, str) and (written := _SECONDS.fullmatch(value.strip())):
        number = Decimal(written[1])
        return _bounded(float(number / 1000 if written[2] == "ms" else number), shown(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _bounded(float(min(value, 10**300)), shown(value))
    raise ValueError(f"a time is written 100 ms or 10 s; {found(value)}")


def time_in_words(length: float, digits: int = 3) -> str:
    """`14 ms`, `2.5 s`, `1,200 s`: in as many digits as are asked for, milliseconds below a second."""
    number, unit = (1000 * length, "ms") if length < 1 else (length, "s")
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.0f} {unit}" if rounded.is_integer() else f"{rounded:.{digits}g} {unit}"


def _bounded(length: float, text: str) -> float:
    if not math.isfinite(length) or length <= 0:
        raise ValueError(f"{text} is not a time above 0: write 100 ms or 10 s")
    if length > _LONGEST:
        raise ValueError(f"{text} is more than a day ({_LONGEST:,} s)")
    return length


Seconds = Annotated[float, BeforeValidator(seconds), WithJsonSchema(_SECONDS_SCHEMA)]


class LatencyPart(BaseModel):
    """Medians of answered calls that look wrong, which make a run suspect, and the smallest change that matters."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    below: Seconds | None = Field(
        default=None, description="A median below this looks short-circuited or cached: 100 ms."
    )
    above: Seconds | None = Field(default=None, description="A median above this looks like loading or a queue: 10 s.")
    smallest: Seconds = Field(
        default=SMALLEST_SECONDS, description="A change of latency must exceed this to be better or worse: 5 ms."
    )
    smallest_share: Share = Field(
        default=SMALLEST_SHARE, description="A change of latency or cost must exceed this share, too: 5 %."
    )


def build_latency(raw: Any, draft: Draft) -> LatencyRules:
    """The suite's rules; those that find nothing wrong when it has none or everything wrong with them is noted."""
    if raw is None:
        return LatencyRules()
    part = draft.check_part(LatencyPart, raw, ("latency",))
    if part is None:
        return LatencyRules()
    if not part.model_fields_set:
        draft.tell("latency is empty: write below: 100 ms, above: 10 s, smallest: 5 ms, or one of them", ("latency",))
    elif part.below is not None and part.above is not None and part.below >= part.above:
        told = f"below {time_in_words(part.below)} is not less than above {time_in_words(part.above)}"
        draft.tell(f"latency: {told}: every median would look wrong", ("latency", "below"))
    return LatencyRules(part.below, part.above, part.smallest, part.smallest_share)
