"""What a run stores of its suite: its description, and a signature with a hash for each thing that changes numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from steelyard.plugins import find_callable, place_of, source_digest
from steelyard.suite.build.judge import LISTED
from steelyard.suite.build.suite import FORMAT, dimension_code
from steelyard.suite.case import digest
from steelyard.suite.judge import JudgeDescription, JudgeModel, JudgeSettings, JudgeSpec, MemberDescription, Rubric
from steelyard.suite.models import (
    EXPECT,
    SCHEMA,
    CheckDescription,
    ComponentDescription,
    ExpectDescription,
    MeasureDescription,
    SuiteDescription,
    SuiteModel,
    Threshold,
)

_HARMLESS = frozenset({"token", "price", "timeout"})
"""Settings of a model that cannot change what it says."""
_READ_BY = frozenset({"reasons", "evidence", "combine", "flags", "disagreement"})
"""The settings of a judge that are applied to what it said; the others are what it was asked."""
_NEITHER = frozenset(
    {"health", "labels", "labelled", "labels_are", "require_checked", "epsilon", "secrets", "allow_self"}
)
"""The settings that change neither."""


_SAME = (
    "name", "about", "version", "bands", "gates", "taxonomy", "criteria", "repeats", "answer", "confidence",
    "stability", "latency", "metrics",
)  # fmt: skip
"""What a description has as the suite has it."""


def describe(suite: SuiteModel) -> SuiteDescription:
    """Everything about the suite that reports, gates and comparisons read."""
    return SuiteDescription(
        **{name: getattr(suite, name) for name in _SAME},
        **{name: getattr(suite.limits, name) for name in ("max_inconclusive", "min_paired", "anchors")},
        components=_components(suite),
        passing=_passing(suite),
        variants=tuple(variant.name for variant in suite.variants),
        judge=None if suite.judge is None else describe_judge(suite.judge),
        expect=_expectations(suite),
        alerts=None if suite.alerts is None else suite.alerts.as_data(),
    )


def _components(suite: SuiteModel) -> tuple[ComponentDescription, ...]:
    """What a sample has a score of: components, dimensions, flags, and the figures of what else a judge says."""
    computed = [component.described() for component in suite.components]
    if suite.judge is None:
        return tuple(computed)
    return (*computed, *_judged_components(suite.judge.rubric), *_said_components(suite.judge))


def _judged_components(rubric: Rubric) -> list[ComponentDescription]:
    dimensions = [
        ComponentDescription(
            name=dimension.name,
            kind="dimension",
            weight=dimension.weight,
            version=rubric.version,
            code=dimension_code(dimension.name),
            scale=(rubric.low, rubric.high),
            wrong_below=(rubric.neutral - rubric.low) / (rubric.high - rubric.low),
        )
        for dimension in rubric.dimensions
    ]
    flags = [
        ComponentDescription(
            name=flag.name,
            kind="flag",
            weight=0.0,
            version=rubric.version,
            code=dimension_code(flag.name),
            when_unknown="skip",
            wrong_below=0.0,
            measures={
                "rate": MeasureDescription(numerator="flagged", denominator="judged", about=_flagged(flag.about))
            },
        )
        for flag in rubric.flags
    ]
    return dimensions + flags


def _flagged(about: str) -> str:
    return f"texts that are flagged: {about}" if about else "texts that are flagged"


def _said_components(judge: JudgeModel) -> list[ComponentDescription]:
    """What is made of what a judge says beyond its scores: it has no weight."""
    shared: dict[str, Any] = {
        "kind": "stated",
        "weight": 0.0,
        "version": judge.rubric.version,
        "when_unknown": "skip",
        "wrong_below": 0.0,
    }
    means = [
        ComponentDescription(
            name=mean.name, scale=mean.scale, figure=mean.figure, key=mean.key, about=mean.about, **shared
        )
        for mean in judge.means
    ]
    counts = [
        ComponentDescription(
            name=count.name,
            figure=count.name,
            about=count.about,
            measures={
                word: MeasureDescription(
                    numerator=word, denominator=LISTED, about=f"{word}, of all in {count.list_path}"
                )
                for word in count.words
            },
            **shared,
        )
        for count in judge.counts
    ]
    return means + counts


def _expectations(suite: SuiteModel) -> ExpectDescription | None:
    """The declared checks in their order, each with its code and how often it must pass; None without `expect`."""
    expect = next((component.scorer for component in suite.components if component.scorer_name == EXPECT), None)
    if expect is None:
        return None
    checks = [
        CheckDescription(
            name=name, code=expect.code_of(name), required_repeats=rule.required_repeats or suite.required_repeats
        )
        for name, rule in expect.checks.items()
    ]
    schema = (
        [CheckDescription(name=SCHEMA, code=FORMAT, required_repeats=suite.required_repeats)]
        if expect.with_schema
        else []
    )
    return ExpectDescription(required_repeats=suite.required_repeats, checks=(*schema, *checks))


def _passing(suite: SuiteModel) -> Threshold | None:
    """The pass rule with all that a sample must not be flagged with."""
    if suite.passing is None:
        return None
    flags = [flag.name for flag in suite.judge.rubric.flags if flag.fails] if suite.judge else []
    text = suite.passing.text + "".join(f" and no {name}" for name in flags)
    return Threshold(at_least=suite.passing.at_least, text=text)


def describe_judge(judge: JudgeModel) -> JudgeDescription:
    """Everything about the judge that reports and `judge check` read."""
    return JudgeDescription(
        **{name: getattr(judge, name) for name in JudgeSettings.model_fields},
        mode=judge.mode,
        rubric=judge.rubric,
        members=tuple(_member(member) for member in judge.members),
        rules=tuple(rule.text for rule in judge.rules),
        check=None if judge.check is None else place_of(judge.check),
    )


def _member(member: JudgeSpec) -> MemberDescription:
    if member.kind == "python":
        return MemberDescription(name=member.name, kind="python", function=place_of(member.settings))
    model, address = (getattr(member.settings, name, None) for name in ("model", "base_url"))
    return MemberDescription(name=member.name, kind=member.kind, model=model, address=address)


def signature(
    suite: SuiteModel, target_identity: dict[str, Any], *, prompts: str | None = None, judge: str | None = None
) -> dict[str, Any]:
    """Short hashes by name, the target and its model, and all of it as one line of text.

    A change of the cases changes only `cases`, of the truth only `truth`, and so on; `text` changes with any of them.
    What the target says of its prompts is left out of `target`, since `prompts` covers them. Answers that were asked
    for earlier carry the hash of the `prompts` of then, and what a judge said then that of the `judge` of then; `rules`
    is what is made of what a judge says.
    """
    parts = {
        "suite": suite.name,
        "cases": suite.survey.cases_digest,
        "truth": suite.survey.truth_digest,
        "scorers": digest(_scoring(suite)),
        "prompts": prompts or digest(_prompts(suite)),
        "schema": digest(suite.answer.data()),
        "judge": "" if suite.judge is None else judge or digest(judge_asked(suite.judge, suite.folder)),
        "rules": "" if suite.judge is None else digest(judge_read(suite.judge, suite.folder)),
        "target": digest({name: value for name, value in target_identity.items() if name != "prompts"}),
    }
    if suite.redactor is not None:
        parts["redact"] = digest(suite.redactor.identity())
    kind = str(target_identity.get("kind", suite.target.kind))
    model = target_identity.get("model")
    named: dict[str, Any] = {"target_kind": kind, "model": model if isinstance(model, str) else None}
    return {**parts, **named, "text": _line(parts, named)}


def _scoring(suite: SuiteModel) -> dict[str, Any]:
    judged = {dimension_code(name) for name in suite.judge.rubric.names} if suite.judge else set()
    stability = suite.stability
    return {
        # The order of the fields counts: samples keep their values in it.
        "stability": None if stability is None else [stability.data(), list(stability.fields)],
        # What a metric of the suite's own computes can change a number, too.
        "metrics": list(suite.metrics),
        "components": [component.described().data() for component in suite.components],
        "passing": None if suite.passing is None else suite.passing.at_least,
        "bands": [band.data() for band in suite.bands],
        # Those of a judge are part of its rubric.
        "codes": [kind.code for kind in suite.taxonomy if kind.code not in judged],
    }


def _prompts(suite: SuiteModel) -> dict[str, Any]:
    return {
        "texts": suite.prompts,
        "variants": [[variant.name, variant.values] for variant in suite.variants],
    }


def _line(parts: dict[str, str], named: dict[str, Any]) -> str:
    hashes = [f"{name} {parts[name][:8]}" for name in ("cases", "truth", "scorers", "prompts", "schema")]
    target = f"target {named['target_kind']} {parts['target'][:8]}"
    model = [f"model {named['model']}"] if named["model"] else []
    judge = [f"{name} {parts[name][:8]}" for name in ("judge", "rules") if parts[name]]
    return " | ".join([parts["suite"], *hashes, *judge, target, *model])


def judge_asked(judge: JudgeModel, folder: Path) -> dict[str, Any]:
    """Everything that can change what a judge says: rubric, prompts, response, and who it is, without its keys."""
    asked = set(JudgeSettings.model_fields) - _READ_BY - _NEITHER
    return judge.model_dump(mode="json", include=asked | {"rubric", "system", "user", "shown"}) | {
        # The order of fields is the order in which a model writes them.
        "response": [judge.response, _order(judge.response)],
        "members": [_identity(member, folder) for member in judge.members],
    }


def judge_read(judge: JudgeModel, folder: Path) -> dict[str, Any]:
    """Everything that can change what is made of what a judge said."""
    return judge.model_dump(mode="json", include={*_READ_BY, "rubric", "means", "counts"}) | {
        "rules": [rule.text for rule in judge.rules],
        "check": None if judge.check is None else _code(judge.check, folder, "judge.check"),
    }


def _code(function: Any, folder: Path, what: str) -> dict[str, Any]:
    """A function by its place and its source."""
    code = find_callable(function, folder, what) if isinstance(function, str) else function
    return {"function": place_of(function), "source": source_digest(code, data=True)}


def _order(schema: Any) -> Any:
    """The names of a schema's fields in the order written; hashing sorts keys."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return [[name, _order(inner)] for name, inner in properties.items()] if isinstance(properties, dict) else []


def _identity(member: JudgeSpec, folder: Path) -> dict[str, Any]:
    settings = member.settings
    if member.kind == "python":
        return {"kind": "python"} | _code(settings, folder, "judge")
    if callable(identity := getattr(settings, "identity", None)):
        return dict(identity())
    if isinstance(settings, BaseModel):
        return {"kind": member.kind, **settings.model_dump(mode="json", exclude=set(_HARMLESS))}
    return {"kind": member.kind, "settings": repr(settings)}
