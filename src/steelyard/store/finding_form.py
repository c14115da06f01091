"""A finding as plain data and back: the same in a snapshot and inside a stored judgement.

What there is nothing to say of is left out.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from steelyard.records import Finding
from steelyard.store.weighed import finite_box, whole_span


def finding_data(finding: Finding) -> dict[str, Any]:
    """The finding as plain data, with the same care for what is no number as the database takes."""
    data: dict[str, Any] = {
        "code": finding.code,
        "severity": finding.severity,
        "place": finding.place,
        "expected": finding.expected,
        "got": finding.got,
        "evidence": finding.evidence,
    }
    if finding.component:
        data["component"] = finding.component
    if finding.gain and isfinite(finding.gain):
        data["gain"] = finding.gain
    if finding.box is not None and (box := finite_box(finding.box)):
        data["box"] = list(box)
    if finding.span is not None and (span := whole_span(finding.span)):
        data["span"] = list(span)
    if finding.section:
        data["section"] = finding.section
    return data


def finding_from(data: dict[str, Any]) -> Finding:
    """The finding back from `finding_data`."""
    placed: dict[str, Any] = {name: tuple(data[name]) for name in ("box", "span") if name in data}
    return Finding(**(data | placed))
