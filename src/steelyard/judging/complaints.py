"""What a judge complains of, compared with what it judged: complaints that are wrong are counted and not believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.frozen import frozen
from steelyard.records import Claim, Finding, Remark
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite_code import find_callable, place_of
from steelyard.user_code import checked_call


@frozen
class Checked:
    """What a suite's own check makes of a judge's answer."""

    response: Mapping[str, Any]
    """As much of the answer as bears checking."""
    findings: tuple[Finding, ...] = ()
    """The errors of the system under test that it amounts to, each with a code that the suite lists."""
    contradictions: tuple[str, ...] = ()
    """What the judge said and what was judged shows to be wrong, a sentence each."""
    claims: tuple[Claim, ...] = ()
    """What the answer claims with a confidence, and whether the judge lets it stand; for answers without a truth."""
    self_contradictions: tuple[str, ...] = ()
    """Where the judge's scores do not fit the errors that it lists itself, a sentence each."""


ComplaintCheck = Callable[[Mapping[str, Any], str, Case, Mapping[str, Any]], Checked]
"""From answer, text, case without labels, and metrics to what of the answer bears checking."""


def complaint_check(judge: JudgeModel, folder: Path) -> ComplaintCheck | None:
    """The judge's check, looked up in the suite's folder first; None when it has none, UsageError when it is gone."""
    given = judge.check
    check: ComplaintCheck | None = find_callable(given, folder, "judge.check") if isinstance(given, str) else given
    return check


def check_complaints(
    check: ComplaintCheck, response: Mapping[str, Any], text: str, case: Case, metrics: Mapping[str, Any]
) -> tuple[Checked, tuple[Remark, ...]]:
    """What of the answer bears checking, and a remark on the judge for each thing that does not.

    The findings gain nothing: what a judge names is scored by its scores. UserCodeError when the check raises or
    returns something else.
    """
    who = f"the check {place_of(check)} of the judge"
    checked: Checked = checked_call(who, check, response, text, case, metrics, returns=Checked)
    findings = tuple(replace(finding, gain=0.0) if finding.gain else finding for finding in checked.findings)
    remarks = [Remark("CONTRADICTION", "", contradiction) for contradiction in checked.contradictions]
    remarks += [Remark("SELF_CONTRADICTION", "", contradiction) for contradiction in checked.self_contradictions]
    return replace(checked, findings=findings), tuple(remarks)
