"""What a judge complains of, held against what it judged: complaints that are wrong are counted and not believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.importing import find_callable, place_of
from steelyard.records import Certainty, Finding, Remark
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.user_code import checked_call


@dataclass(frozen=True, slots=True)
class Checked:
    """What a suite's own check makes of a judge's answer."""

    reply: Mapping[str, Any]
    """As much of the answer as bears checking."""
    findings: tuple[Finding, ...] = ()
    """The errors of the system under test that it amounts to, each with a code that the suite lists."""
    contradictions: tuple[str, ...] = ()
    """What the judge said and what was judged shows to be wrong, a sentence each."""
    certainties: tuple[Certainty, ...] = ()
    """What the answer claims with a confidence, and whether the judge lets it stand; for answers without a truth."""


ComplaintCheck = Callable[[Mapping[str, Any], str, Case, Mapping[str, Any]], Checked]
"""From answer, text, case without labels, and metrics to what of the answer bears checking."""


def complaint_check(judge: JudgeModel, folder: Path) -> ComplaintCheck | None:
    """The judge's check, looked up in the suite's folder first; None when it has none, UserMistake when it is gone."""
    given = judge.check
    check: ComplaintCheck | None = find_callable(given, folder, "judge.check") if isinstance(given, str) else given
    return check


def check_complaints(
    check: ComplaintCheck, reply: Mapping[str, Any], text: str, case: Case, metrics: Mapping[str, Any]
) -> tuple[Checked, tuple[Remark, ...]]:
    """What of the answer bears checking, and a remark on the judge for each thing that does not.

    The findings gain nothing: what a judge names is weighed by its scores. UserCodeError when the check raises or
    returns something else.
    """
    who = f"the check {place_of(check)} of the judge"
    checked: Checked = checked_call(who, check, reply, text, case, metrics, returns=Checked)
    findings = tuple(replace(one, gain=0.0) if one.gain else one for one in checked.findings)
    remarks = tuple(Remark("CONTRADICTION", "", told) for told in checked.contradictions)
    return replace(checked, findings=findings), remarks
