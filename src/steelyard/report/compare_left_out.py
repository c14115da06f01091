"""What a comparison leaves out, in a few lines: what is of one kind and missing for one reason is told together."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.analysis.not_compared import NotCompared
from steelyard.report import figures
from steelyard.report.safe_text import clipped

_FEWEST_TOGETHER = 3
_MOST_NAMED = 3
_LONGEST_NAME = 40


def left_out(found: Iterable[NotCompared]) -> list[str]:
    """One sentence for each, three and more of one kind as one: `54 measures of spans: only B has them (...)`."""
    alike: dict[tuple[str, str, str], list[NotCompared]] = {}
    for each in found:
        alike.setdefault((each.what, _owner(each), each.why), []).append(each)
    return [told for some in alike.values() for told in _told(some)]


def _owner(each: NotCompared) -> str:
    """The component that a measure or count is of."""
    return each.name.rpartition(".")[0] if each.what in ("measure", "count") else ""


def _told(some: list[NotCompared]) -> list[str]:
    if len(some) < _FEWEST_TOGETHER:
        return [each.sentence for each in some]
    first, owner = some[0], _owner(some[0])
    names = [clipped(each.name.removeprefix(f"{owner}.") if owner else each.name, _LONGEST_NAME) for each in some]
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    of = f" of {clipped(owner, _LONGEST_NAME)}" if owner else ""
    why = first.why.replace("has it", "has them").replace("have it", "have them")
    kind = f"{first.what} ({len(some):,})" if " " in first.what else figures.counted(len(some), first.what)
    return [f"{kind}{of}: {why} ({shown})"]
