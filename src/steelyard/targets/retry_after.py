"""Reads the Retry-After header."""

from __future__ import annotations

import math
import time
from email.utils import parsedate_to_datetime


def seconds_to_wait(header: str | None, now: float | None = None) -> float | None:
    """Seconds from now, whether written as seconds or as an HTTP date; None when absent or unreadable."""
    if header is None or not (text := header.strip()):
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - (time.time() if now is None else now)
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
