"""Made-up judgements for the tests of analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from parts.columns import Made, columns
from steelyard.analysis.judge.corrected import LabelColumns, RunLabels
from steelyard.analysis.judge.health import judge_health
from steelyard.analysis.judge.model import JudgeHealth
from steelyard.metrics.run_data import RunData
from steelyard.records import Judgement, Mode, Outcome, Remark, Vote
from steelyard.store.base import JudgedSample, Spending
from steelyard.suite.models import SuiteModel

RULE = "when structure.coverage < 90 % then tone <= 4"


def judged_suite(
    *,
    mode: str = "model",
    weights: Mapping[str, float] | None = None,
    flags: Mapping[str, bool] | None = None,
    passing: float | None = 0.75,
    **changes: Any,
) -> dict[str, Any]:
    """A judged suite as a run's header describes it: tone and overall on 1..5, one flag, pass at 75 %."""
    weights = {"tone": 1.0, "overall": 1.0} if weights is None else weights
    flags = {"harm": True} if flags is None else flags
    components = [
        {"name": name, "weight": weight, "code": name.upper(), "scale": [1, 5], "wrong_below": 0.5}
        for name, weight in weights.items()
    ]
    return {
        "name": "made",
        "components": components,
        "bands": [],
        "passing": None if passing is None else {"at_least": passing, "text": "score >= 75 %"},
        "gates": [],
        "taxonomy": [],
        "variants": [""],
        "repeats": 1,
        "limits": {"max_inconclusive": 0.05},
        "judge": {
            "mode": mode,
            "rules": [RULE],
            "evidence": {"in": "notes"},
            "reasons": {"in": "weaknesses", "at_least": 2},
            "rubric": {
                "version": "1",
                "scale": [1, 5],
                "neutral": 3,
                "dimensions": [{"name": name, "weight": weight} for name, weight in weights.items()],
                "flags": [{"name": name, "fails": fails} for name, fails in flags.items()],
            },
        },
    } | changes


def vote(
    uncapped: Mapping[str, float | bool] | None,
    *,
    capped: Mapping[str, float | bool] | None = None,
    mode: Mode | None = Mode.MODEL,
    step: str = "strict",
    member: str = "m",
    repeat: int = 0,
    remarks: tuple[str, ...] = (),
    rule: str = RULE,
) -> Vote:
    """One reading; None for an answer that could not be used.

    `remarks` are codes, those of broken rules about what `bound` changes.
    """
    if uncapped is None:
        unusable = "there is no JSON object in the answer"
        return Vote(member, repeat, None, "failed", remarks=(Remark("VIOLATION", "", unusable),), message=unusable)
    after = dict(uncapped) | dict(capped or {})
    changed = [name for name in uncapped if uncapped[name] != after[name]]
    return Vote(
        member,
        repeat,
        mode,
        step,
        uncapped=uncapped,
        capped=after,
        capped_by=dict.fromkeys(changed, rule),
        remarks=tuple(_remark(code, changed[0] if changed else "", rule, uncapped) for code in remarks),
    )


def unanswered(message: str = "timeout: no answer within 60 s", member: str = "m") -> Vote:
    """A vote none of whose calls was answered."""
    return Vote(member, 0, None, "failed", message=message)


def _remark(code: str, name: str, rule: str, uncapped: Mapping[str, float | bool]) -> Remark:
    return Remark(code, name, f"{rule}: {name} {uncapped.get(name)}" if code == "RULE_BROKEN" else "message")


def judged(
    case: str,
    *ballots: Vote,
    passed: bool | None = None,
    length: int | None = 100,
    mode: Mode | None = None,
    repeat: int = 0,
    disagree: bool = False,
) -> JudgedSample:
    """A judged sample; what its votes come to is what the first reading of them says."""
    first = next((each for each in ballots if each.mode is not None), None)
    judgement = Judgement(
        mode=mode or (None if first is None else first.mode),
        votes=ballots,
        uncapped={} if first is None else first.uncapped,
        capped={} if first is None else first.capped,
        remarks=(Remark("DISAGREEMENT", "tone"),) if disagree else (),
    )
    outcome = Outcome.JUDGE_FAILED if judgement.mode is None else Outcome.SCORED
    return JudgedSample(case, "", repeat, outcome, None, passed, length, judgement)


def scored(case: str, tone: float, overall: float | None = None, *, harm: bool = False, **more: Any) -> JudgedSample:
    """A sample with one reading in the main mode."""
    raw = {"tone": tone, "overall": tone if overall is None else overall, "harm": harm}
    return judged(case, vote(raw), **more)


def judged_run(
    samples: Iterable[JudgedSample], suite: SuiteModel | dict[str, Any], labels: Mapping[str, Any]
) -> tuple[RunData, RunLabels]:
    """A run of these samples, whose cases have these labels."""
    suite = SuiteModel.from_data(suite) if isinstance(suite, dict) else suite
    seen: Counter[str] = Counter()
    every = []
    for sample in samples:
        every.append(replace(sample, repeat=seen[sample.case_id]))
        seen[sample.case_id] += 1
    made = columns([Made(item.case_id, 1.0, outcome=item.outcome.value, repeat=item.repeat) for item in every])
    made.passed = np.array([-1 if item.passed is None else int(item.passed) for item in every], dtype=int)
    made.variants = [""]
    made.variant = np.zeros(len(every), dtype=int)
    data = RunData(made, suite)
    data.judged, data.case_labels = lambda: iter(every), labels
    return data, RunLabels(labels, [(item.case_id, "", item.repeat) for item in every if item.labelled])


def health_of(
    samples: Iterable[JudgedSample],
    suite: SuiteModel | dict[str, Any],
    labels: Mapping[str, Any],
    spending: Spending | None = None,
) -> JudgeHealth:
    """How far the judge of such a run can be trusted."""
    data, run_labels = judged_run(samples, suite, labels)
    return judge_health(data, LabelColumns(run_labels, data).corrected(), spending)
