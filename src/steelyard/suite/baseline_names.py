"""How baselines are called: `release`, `v2.1`, `last-good`; wherever a run is named, also as `@release`."""

from __future__ import annotations

import re

BASELINE_SIGN = "@"
BASELINE_NAME = r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
"""A letter first, so that no name reads as a number; no sign at its end, which could be a minus."""
_LONGEST = 60
_RESERVED = re.compile(r"LAST", re.IGNORECASE)


def wrong_with_name(name: str) -> str | None:
    """Why a baseline cannot be called so, with what would do; None when it can."""
    if _RESERVED.fullmatch(name):
        return f"{name!r} is what the newest run is called: choose another name, such as release"
    if len(name) > _LONGEST or not re.fullmatch(BASELINE_NAME, name):
        return (
            f"{name!r} cannot name a baseline: write letters, digits and . _ - in it, a letter first and a letter or"
            f" digit last, at most {_LONGEST}, such as release or v2.1"
        )
    return None
