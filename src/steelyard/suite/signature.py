"""The name of the instrument: a hash for each thing that can change a reading."""

from __future__ import annotations

from typing import Any

from steelyard.suite.case import digest
from steelyard.suite.describe import describe_component
from steelyard.suite.describe_judge import judge_asked, judge_read
from steelyard.suite.model import SuiteModel
from steelyard.suite.taxonomy import dimension_code


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
        "schema": digest([suite.answer.format, suite.answer.schema, suite.answer.repair]),
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
    # Left out where there is none, so that suites of before have the name they had. The order of the fields counts:
    # samples keep their values in it.
    compared = (
        {} if suite.stability is None else {"stability": [suite.stability.as_data(), list(suite.stability.fields)]}
    )
    return compared | {
        "components": [describe_component(component) for component in suite.components],
        "passing": None if suite.passing is None else suite.passing.at_least,
        "bands": [[band.name, band.at_least] for band in suite.bands],
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
