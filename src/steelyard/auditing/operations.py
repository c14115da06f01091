"""A suite's audit, as the command shows it and as Python gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.results.run import model_of
from steelyard.results.shown import ShownResult

if TYPE_CHECKING:
    from steelyard.auditing.audit import AuditResult
    from steelyard.results.run import AnySuite


def audit(suite: AnySuite) -> ShownResult[AuditResult]:
    """What answers that know nothing earn in a suite, whether its gates can fail, and what is wrong with its cases."""
    from steelyard.auditing.audit import audit
    from steelyard.auditing.report import data, document

    result = audit(model_of(suite))
    return ShownResult(result, document, data, result.verdict)
