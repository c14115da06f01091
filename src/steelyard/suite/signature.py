"""The signature of a run: a hash for each thing of its suite that changes numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from steelyard.frozen import values_of
from steelyard.records import DrawnSample, Signature, TargetFacts
from steelyard.suite.case import digest
from steelyard.suite.judge import JudgeModel, Member, dimension_code
from steelyard.suite.models import SuiteModel
from steelyard.suite.values import sample_in_words
from steelyard.suite_code import find_callable, place_of, source_digest

_HARMLESS = frozenset({"token", "price", "timeout", "trust_env"})
"""Settings of a model that cannot change what it says."""
_READ_BY = frozenset({"reasons", "evidence", "combine", "flags", "disagreement"})
"""The settings of a judge that are applied to what it said; the others are what it was asked."""
_NEITHER = frozenset(
    {"health", "labels", "labelled", "labels_are", "require_checked", "epsilon", "constant", "secrets", "allow_self"}
)
"""The settings that change neither."""
_NAMED = frozenset({"mode", "members", "rules", "check"})
"""What is in the signature by its identity or source."""


def signature(
    suite: SuiteModel,
    target: TargetFacts = TargetFacts(),  # noqa: B008 - frozen
    *,
    prompts: str | None = None,
    judge: str | None = None,
    sample: DrawnSample | None = None,
) -> Signature:
    """Short hashes by name, the target and its model, and all of it as one line of text.

    A change of the cases changes only `cases`, of the truth only `truth`, and so on; `text` changes with any of them.
    What the target says of its prompts is left out of `target`, since `prompts` covers them. Answers that were asked
    for earlier carry the hash of the `prompts` of then, and what a judge said then that of the `judge` of then; `rules`
    is what is made of what a judge says. `sample` says which cases were drawn, where not all were asked.
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
        "target": digest({name: value for name, value in target.facts.items() if name != "prompts"}),
    }
    if suite.redactor is not None:
        parts["redact"] = digest(suite.redactor.identity())
    if suite.slices:
        parts["slices"] = digest(list(suite.slices))
    named: dict[str, Any] = {"target_kind": target.kind or suite.target.kind, "model": target.model}
    drawn = {} if sample is None else {"sample": sample_in_words(sample)}
    text = " | ".join([_line(parts, named), *drawn.values()])
    return Signature.from_data({**parts, **named, **drawn, "text": text})


def _scoring(suite: SuiteModel) -> dict[str, Any]:
    judged = {dimension_code(name) for name in suite.judge.rubric.names} if suite.judge else set()
    stability = suite.stability
    return {
        # The order of the fields counts: samples keep their values in it.
        "stability": None if stability is None else [stability.data(), list(stability.fields)],
        # What a metric of the suite's own computes can change a number, too.
        "metrics": [{key: value for key, value in item.items() if key != "values"} for item in suite.metrics],
        "components": [component.data() for component in suite.computed],
        "passing": _passing(suite),
        "bands": [band.data() for band in suite.bands],
        # Those of a judge are part of its rubric.
        "codes": [kind.code for kind in suite.taxonomy if kind.code not in judged],
    }


def _passing(suite: SuiteModel) -> float | list[float | str] | None:
    """What a score must reach; with checks, which must all pass as well where the score alone does not say so."""
    if suite.passing is None:
        return None
    at_least = suite.passing.at_least
    return [at_least, "every check"] if suite.expect and at_least < 1 else at_least


def _prompts(suite: SuiteModel) -> dict[str, Any]:
    return {
        "texts": suite.prompts,
        # By name: their order in the file changes no number.
        "variants": sorted(([variant.name, variant.values] for variant in suite.variants), key=lambda pair: pair[0]),
    }


def _line(parts: dict[str, str], named: dict[str, Any]) -> str:
    hashes = [f"{name} {parts[name][:8]}" for name in ("cases", "truth", "scorers", "prompts", "schema")]
    target = f"target {named['target_kind']} {parts['target'][:8]}"
    model = [f"model {named['model']}"] if named["model"] else []
    judge = [f"{name} {parts[name][:8]}" for name in ("judge", "rules") if parts[name]]
    return " | ".join([parts["suite"], *hashes, *judge, target, *model])


def judge_asked(judge: JudgeModel, folder: Path) -> dict[str, Any]:
    """Everything that can change what a judge says: rubric, prompts, response, and who it is, without its keys."""
    return judge.model_dump(mode="json", exclude={*_READ_BY, *_NEITHER, *_NAMED}) | {
        **values_of(judge, "system", "user", "shown"),
        # The order of fields is the order in which a model writes them.
        "response": [judge.response, _order(judge.response)],
        "members": [_identity(member, folder) for member in judge.members],
    }


def judge_read(judge: JudgeModel, folder: Path) -> dict[str, Any]:
    """Everything that can change what is made of what a judge said."""
    return judge.model_dump(mode="json", include={*_READ_BY, "rubric"}) | {
        **{name: [part.model_dump(mode="json") for part in getattr(judge, name)] for name in ("means", "counts")},
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


def _identity(member: Member, folder: Path) -> dict[str, Any]:
    settings = member.settings
    if member.kind == "python":
        return {"kind": "python"} | _code(settings, folder, "judge")
    if callable(identity := getattr(settings, "identity", None)):
        return dict(identity())
    if isinstance(settings, BaseModel):
        return {"kind": member.kind, **settings.model_dump(mode="json", exclude=set(_HARMLESS))}
    return {"kind": member.kind, "settings": repr(settings)}
