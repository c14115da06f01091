"""From the plain data of a suite, however written, to a validated SuiteModel, or all its mistakes at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from steelyard import registry
from steelyard.suite.answer_shape import build_answer
from steelyard.suite.case_files import build_source
from steelyard.suite.components import build_components
from steelyard.suite.criteria import check_criteria
from steelyard.suite.declared_targets import build_target, prompts_of
from steelyard.suite.draft import Draft
from steelyard.suite.file import SuitePart
from steelyard.suite.gates import Known, check_gate, parse_gate
from steelyard.suite.model import (
    AuditLimits,
    Band,
    CaseSurvey,
    Component,
    Criterion,
    FindingKind,
    Limits,
    SuiteModel,
    TargetSpec,
    Threshold,
    Variant,
)
from steelyard.suite.shares import passing, share
from steelyard.suite.spelling import found, listed, meant
from steelyard.suite.survey import survey_cases
from steelyard.suite.variants import build_variants

FORMAT = "FORMAT"
"""The code of an answer that cannot be read."""


def build_suite(draft: Draft, path: str) -> SuiteModel:
    """The suite in the draft; SuiteError with every mistake when there are any."""
    raw = draft.located.data
    draft.mistakes.extend(draft.located.mistakes)
    if not isinstance(raw, dict):
        draft.tell(f"a suite is a group of keys (suite, cases, target, score, ...); {found(raw)}")
        draft.finish()
    part = draft.check(SuitePart, raw)
    components = build_components(raw.get("score"), draft)
    target, targets = _targets(raw, draft)
    answer = build_answer(raw.get("answer"), draft)
    variants, variant_prompts = build_variants(raw.get("variants"), draft)
    source = build_source(raw.get("cases"), draft)
    survey = survey_cases(source, components, draft) if source is not None else CaseSurvey()
    for component in components:
        if answer.format != "json" and getattr(component.scorer, "needs_json", False):
            name = f"score.{component.name}: {component.scorer_name}"
            draft.tell(f"{name} reads JSON: write answer: {{format: json}}, or a schema", ("score", component.name))
    bands = _bands(raw.get("bands"), draft)
    taxonomy = _taxonomy(part, components)
    known = _known(raw, components, taxonomy, bands, variants, survey)
    _tell_idle_codes(part, known, draft)
    _check_gates(raw.get("gates"), known, draft)
    check_criteria(raw.get("criteria"), known, draft)
    prompts = prompts_of(target, ("target",), draft) | variant_prompts
    draft.finish()
    if part is None or target is None or source is None:
        raise AssertionError("a suite that could not be built must have a mistake")
    return SuiteModel(
        name=part.suite,
        folder=draft.folder,
        path=path,
        cases=source,
        target=target,
        components=components,
        about=part.about,
        answer=answer,
        passing=None if part.pass_ is None else Threshold(passing(part.pass_), _rule(part.pass_)),
        bands=bands,
        gates=tuple(part.gates),
        criteria=tuple(
            Criterion(name, criterion.pass_, criterion.fail, criterion.secondary, criterion.about)
            for name, criterion in part.criteria.items()
        ),
        variants=variants,
        repeats=part.repeats,
        taxonomy=taxonomy,
        limits=Limits(**part.limits.model_dump()),
        audit=AuditLimits(**part.audit.model_dump()),
        prompts=prompts,
        survey=survey,
        targets=targets,
        version=part.version,
    )


def _targets(raw: dict[str, Any], draft: Draft) -> tuple[TargetSpec | None, dict[str, TargetSpec]]:
    named: dict[str, TargetSpec] = {}
    declared = raw.get("targets")
    for name, given in (declared if isinstance(declared, dict) else {}).items():
        built = build_target(given, ("targets", name), draft)
        if built is not None:
            named[name] = built
            prompts_of(built, ("targets", name), draft)
    given = raw.get("target")
    if given is None:
        draft.tell("target is missing: name the system under test, as in target: {recorded: answers.jsonl}")
        return None, named
    if isinstance(given, str) and isinstance(declared, dict) and declared:
        if given not in declared:
            names = list(declared)
            hint = meant(given, names) or f"; there are: {listed(names)}"
            draft.tell(f"no target is called {given!r}{hint}", ("target",))
        return named.get(given), named
    return build_target(given, ("target",), draft), named


def _bands(raw: Any, draft: Draft) -> tuple[Band, ...]:
    if not isinstance(raw, dict) or not raw:
        return ()
    bands: list[Band] = []
    for name, value in raw.items():
        try:
            bands.append(Band(name, share(value)))
        except ValueError:
            return ()  # already told by the check of the whole file
    by_start: dict[float, str] = {}
    for band in bands:
        if band.at_least in by_start:
            other = by_start[band.at_least]
            draft.tell(f"bands {other} and {band.name} start at the same score", ("bands", band.name))
        by_start[band.at_least] = band.name
    for better, worse in pairwise(bands):
        if better.at_least < worse.at_least:
            told = f"bands go from the best to the worst: {worse.name} starts above {better.name}"
            draft.tell(told, ("bands", worse.name))
    if min(band.at_least for band in bands) > 0:
        draft.tell(
            f"the lowest band, {bands[-1].name}, must start at 0, so that every score has one",
            ("bands", bands[-1].name),
        )
    return tuple(sorted(bands, key=lambda band: -band.at_least))


def _taxonomy(part: SuitePart | None, components: tuple[Component, ...]) -> tuple[FindingKind, ...]:
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
    declared.setdefault(FORMAT, FindingKind(FORMAT, "The answer cannot be read, or is not in the shape asked for."))
    return tuple(declared.values())


def _known(
    raw: dict[str, Any],
    components: tuple[Component, ...],
    taxonomy: tuple[FindingKind, ...],
    bands: tuple[Band, ...],
    variants: tuple[Variant, ...],
    survey: CaseSurvey,
) -> Known:
    """What gates and criteria may speak of; a part that is broken is told elsewhere and must not be told twice."""
    score = raw.get("score")
    measures: dict[str, list[str] | None] = dict.fromkeys(score if isinstance(score, dict) else ())
    measures |= {component.name: list(getattr(component.scorer, "measures", ())) for component in components}
    slices = {
        "category": list(survey.categories),
        "difficulty": list(survey.difficulties),
        "tag": list(survey.tags),
        "variant": [variant.name for variant in variants if variant.name],
    }
    return Known(
        components=measures,
        codes=None if len(components) < len(measures) else _given_codes(components, taxonomy),
        bands=[band.name for band in bands],
        slices=slices if survey.n else None,
        passing=raw.get("pass") is not None,
    )


def _given_codes(components: tuple[Component, ...], taxonomy: tuple[FindingKind, ...]) -> list[str]:
    """The codes that findings can have; a scorer from elsewhere may give any that the suite lists."""
    if any(component.scorer_name not in registry.built_in("scorers") for component in components):
        return [kind.code for kind in taxonomy]
    given = [code for component in components for code in component.scorer.fault_codes() or (component.code,)]
    return list(dict.fromkeys([*given, FORMAT]))


def _tell_idle_codes(part: SuitePart | None, known: Known, draft: Draft) -> None:
    """Tell of a code that no scorer gives: a gate on it could never fail."""
    for code in part.findings if part is not None else ():
        if known.codes is not None and code not in known.codes:
            hint = meant(code, known.codes) or f"; they give: {listed(known.codes)}"
            draft.tell(f"findings.{code}: no scorer of this suite gives this code{hint}", ("findings", code))


def _check_gates(gates: Any, known: Known, draft: Draft) -> None:
    for at, text in enumerate(gates if isinstance(gates, list) else []):
        if not isinstance(text, str):
            continue
        try:
            wrong = check_gate(parse_gate(text), known)
        except ValueError as error:
            wrong = str(error)
        if wrong:
            draft.tell(wrong, ("gates", at))


def _rule(text: str) -> str:
    """The pass rule as it is printed beside every pass rate: a bare share is the score's."""
    return text.strip() if "score" in text else f"score >= {text.strip()}"
