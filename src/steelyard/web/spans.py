"""The text of a case with the spans of its truth and of the findings in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from steelyard.records import Finding
from steelyard.report.render.html import tag
from steelyard.suite.case import Case

LONGEST_INPUT = 20_000
"""Characters of a case's input that a page shows; in a longer one no spans are marked."""
_MOST_SPANS = 500


def highlighted(case: Case, findings: Sequence[Finding]) -> Markup | None:
    """The text of the case's input with its spans marked, by role and error; None when there are none."""
    text = next((value for value in _texts(case.input)), None)
    if text is None or len(text) > LONGEST_INPUT:
        return None
    spans = [
        (finding.span[0], finding.span[1], "error", f"{finding.code} {_role(finding.expected, finding.got)}".strip())
        for finding in findings
        if finding.span is not None
    ]
    wrong = {(start, end) for start, end, _, _ in spans}
    spans += [(start, end, "right", role) for start, end, role in _gold(case.expected) if (start, end) not in wrong]
    spans = sorted({span for span in spans if 0 <= span[0] < span[1] <= len(text)})[:_MOST_SPANS]
    return _marked(text, spans) if spans else None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (item for item in value.values() if isinstance(item, str))


def _gold(expected: Any) -> Iterator[tuple[int, int, str]]:
    """Spans of a truth: anything with a whole `start` and `end`."""
    if isinstance(expected, Mapping):
        start, end = expected.get("start"), expected.get("end")
        if isinstance(start, int) and isinstance(end, int):
            yield start, end, _role(expected, None)
        else:
            for item in expected.values():
                yield from _gold(item)
    elif isinstance(expected, list | tuple):
        for item in expected[:_MOST_SPANS]:
            yield from _gold(item)


def _role(*values: Any) -> str:
    return next((str(item["role"]) for item in values if isinstance(item, Mapping) and item.get("role")), "")


def _marked(text: str, spans: Sequence[tuple[int, int, str, str]]) -> Markup:
    """The text in pieces between all ends of spans; a piece inside of several has the look of an error first."""
    ends = sorted({0, len(text), *(end for span in spans for end in span[:2])})
    parts: list[object] = []
    for start, end in pairwise(ends):
        over = [span for span in spans if span[0] <= start and end <= span[1]]
        piece = text[start:end]
        if not over:
            parts.append(piece)
            continue
        kind = "error" if any(span[2] == "error" for span in over) else "right"
        names = list(dict.fromkeys(span[3] for span in over if span[3]))
        label = [tag("sup", ", ".join(names))] if names and any(span[0] == start for span in over) else []
        parts.append(tag("mark", piece, *label, cls=f"span {kind}", title="; ".join(names) or kind))
    return tag("p", *parts, cls="spans any")
