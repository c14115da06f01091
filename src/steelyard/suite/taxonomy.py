"""The codes of a suite's findings: those it declares, those its scorers give, one for each dimension and flag."""

from __future__ import annotations

from steelyard import registry
from steelyard.suite.draft import Draft
from steelyard.suite.file import SuitePart
from steelyard.suite.gate_checks import Known
from steelyard.suite.judge_model import JudgeModel
from steelyard.suite.model import Component, FindingKind
from steelyard.suite.spelling import listed, meant

FORMAT = "FORMAT"
"""The code of an answer that cannot be read."""


def build_taxonomy(
    part: SuitePart | None, components: tuple[Component, ...], judge: JudgeModel | None
) -> tuple[FindingKind, ...]:
    """Every kind of finding, in the order of detection: as declared, then as the scorers and the rubric give them."""
    declared = {
        code: FindingKind(code, kind.about, kind.severity, kind.name)
        for code, kind in (part.findings if part else {}).items()
    }
    for component in components:
        # A scorer that a Python suite brought along need not have all that ours have.
        codes = component.scorer.fault_codes() if hasattr(component.scorer, "fault_codes") else {}
        for code, about in codes.items():
            declared.setdefault(code, FindingKind(code, about))
        if not codes:
            declared.setdefault(component.code, FindingKind(component.code, f"{component.name} is wrong"))
    for dimension in judge.rubric.dimensions if judge else ():
        about = f"{dimension.name} below {judge.rubric.neutral}" if judge else ""
        declared.setdefault(dimension_code(dimension.name), FindingKind(dimension_code(dimension.name), about))
    for flag in judge.rubric.flags if judge else ():
        code = dimension_code(flag.name)
        severity = "critical" if flag.fails else "warning"
        declared.setdefault(code, FindingKind(code, flag.about or f"{flag.name} is set", severity))
    declared.setdefault(FORMAT, FindingKind(FORMAT, "The answer cannot be read, or is not in the shape asked for."))
    return tuple(declared.values())


def dimension_code(name: str) -> str:
    """The code of a dimension that is below the neutral score, and of a flag that is set."""
    return name.upper()


def given_codes(
    components: tuple[Component, ...], judge: JudgeModel | None, taxonomy: tuple[FindingKind, ...]
) -> list[str]:
    """The codes that findings can have; a scorer or check from elsewhere may give any that the suite lists."""
    known = registry.built_in("scorers") | registry.built_in("expectations")
    if (judge is not None and judge.check is not None) or any(
        component.scorer_name not in known for component in components
    ):
        return [kind.code for kind in taxonomy]
    given = [code for component in components for code in component.scorer.fault_codes() or (component.code,)]
    judged = [dimension_code(name) for name in judge.rubric.names] if judge else []
    return list(dict.fromkeys([*given, *judged, FORMAT]))


def tell_idle_codes(part: SuitePart | None, known: Known, draft: Draft) -> None:
    """Tell of a code that no scorer gives: a gate on it could never fail."""
    for code in part.findings if part is not None else ():
        if known.codes is not None and code not in known.codes:
            hint = meant(code, known.codes) or f"; they give: {listed(known.codes)}"
            draft.tell(f"findings.{code}: no scorer of this suite gives this code{hint}", ("findings", code))
