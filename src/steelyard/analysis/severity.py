"""How grave findings are, in order."""

from __future__ import annotations

from steelyard.suite.models import SuiteDescription

_GRAVEST_FIRST = ("critical", "major", "error", "minor", "warning", "info")
GRAVE = ("critical", "major")


def rank(severity: str) -> int:
    """0 for the gravest; one that says nothing is an error."""
    return _GRAVEST_FIRST.index(severity) if severity in _GRAVEST_FIRST else _GRAVEST_FIRST.index("error")


def severities(suite: SuiteDescription) -> dict[str, str]:
    """By code, what the suite declares."""
    return {kind.code: kind.severity for kind in suite.taxonomy}
