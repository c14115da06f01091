"""What a judge complains of, held against what it judged: complaints that are wrong are counted and not believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.importing import find_callable, place_of
from steelyard.records import Certainty, Finding, Remark
from steelyard.suite.case import Case
from steelyard.suite.judge_model import JudgeModel


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

    The findings gain nothing: what a judge names is weighed by its scores. ValueError when the check breaks or gives
    something else: then the scale is broken.
    """
    name = place_of(check)
    try:
        checked = check(reply, text, case, metrics)
    except Exception as error:  # a suite's own code may break in any way
        raise ValueError(f"the check {name} of the judge broke: {type(error).__name__}: {error}") from error
    if not isinstance(checked, Checked) or not isinstance(checked.reply, Mapping):
        raise ValueError(f"the check {name} of the judge gave a {type(checked).__name__}, not a Checked with a reply")
    findings = tuple(_without_gain(finding, name) for finding in checked.findings)
    remarks = tuple(Remark("CONTRADICTION", "", str(told)) for told in checked.contradictions)
    return replace(checked, reply=dict(checked.reply), findings=findings), remarks


def _without_gain(finding: Any, name: str) -> Finding:
    if not isinstance(finding, Finding):
        raise ValueError(f"the check {name} of the judge gave a {type(finding).__name__} among its findings")
    return replace(finding, gain=0.0) if finding.gain else finding
