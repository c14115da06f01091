"""Why a difference between two runs would not be the system's, or not be one at all."""

from __future__ import annotations

from steelyard.pairing.judge_drift import Drift
from steelyard.pairing.model import Pairs, SignaturePair, Why
from steelyard.pairing.pairs import WithDropped
from steelyard.pairing.runs import ComparedRun
from steelyard.records import RunState, Verdict
from steelyard.suite.models import SuiteModel
from steelyard.wording import counted, percent


def too_few_paired(suite: SuiteModel, n: int, answered: int) -> str:
    """Says that fewer cases that either run answered are in pairs than the suite asks for; "" when enough are."""
    if not n or n >= suite.limits.min_paired * answered:
        return ""
    return (
        f"{on_cases(n, answered)} can be compared, and a verdict asks for {percent(suite.limits.min_paired, 0)} of them"
    )


def dropped_cases(dropped: WithDropped, a: ComparedRun, name: str = "A", here: str = "B") -> str:
    """`9 cases that A answered are not in B, 9 of them passed`."""
    n = dropped.n_cases
    passed = f", {dropped.n_passed:,} of them passed" if a.passes else ""
    return f"{counted(n, 'case')} that {name} answered {'is' if n == 1 else 'are'} not in {here}{passed}"


def on_cases(n: int, answered: int) -> str:
    """`20 of 120 cases that either run answered`."""
    return f"{n:,} of {answered:,} cases that either run answered"


_NO_READING = (Why.NO_READING, Why.NO_READING_IN_A, Why.NO_READING_IN_B)


def confounders(
    a: ComparedRun, b: ComparedRun, signatures: SignaturePair, pairs: Pairs, drift: Drift | None
) -> list[str]:
    """Why a difference would not be the system's, or not be one at all."""
    results = [change.sentence for change in signatures.confounds]
    if not results and drift is not None and drift.is_shown:
        results.append(drift.in_words)
    elif not results and drift is not None and drift.not_measured:
        # What the judge may have moved is not known to be the system's.
        results.append(f"{drift.not_measured}; `steelyard compare A B --rejudge N` measures it")
    for name, run in (("A", a), ("B", b)):
        if run.header.verdict is Verdict.INVALID:
            why = f" ({run.header.suspect[0]})" if run.header.suspect else ""
            results.append(f"run {name} is INVALID{why}")
        elif run.header.state is not RunState.ENDED:
            results.append(f"run {name} has not ended: it was stopped, or is still going on")
    silent = sum(item.count for why, item in pairs.not_comparable.items() if why in _NO_READING)
    other_mode = pairs.not_comparable.get(Why.OTHER_MODE)
    asked = pairs.comparable + silent + (other_mode.count if other_mode else 0)
    allowed = sum(run.suite.limits.max_inconclusive for run in (a, b))
    if silent > allowed * asked:
        results.append(
            f"{silent} of {asked} pairs are inconclusive on one side: such samples are seldom missing at random"
        )
    return results
