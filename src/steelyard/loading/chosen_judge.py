"""Another judge than the suite's own choice, and whether a judge is the system under test itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from steelyard.errors import Problem, SuiteError, UsageError
from steelyard.loading.judge import settle_model
from steelyard.records import TargetFacts
from steelyard.suite.draft import Draft
from steelyard.suite.judge import MODELS, JudgeModel, Member, Rubric
from steelyard.suite.models import SuiteModel, TargetSpec, Variant
from steelyard.suite.origins import model_alias, same_address
from steelyard.suite.templates import compile_template
from steelyard.suite.yaml import Located, listed, meant
from steelyard.suite_code import find_callable

_OF_THAT_ADDRESS = ("token", "headers")
"""Settings that must not be sent to another address."""


def _scored(rubric: Rubric) -> list[Any]:
    return [rubric.scale, *sorted(rubric.names)]


def as_recorded(judge: JudgeModel, described: JudgeModel) -> JudgeModel:
    """The judge of today with the members, and as many judgings, of the run that was described so.

    Rules and checks are those of today; a member that is code is today's code. UsageError when models gave their
    scores on another scale, or for other dimensions, than the rubric has now: they say nothing on this one.
    """
    asked = any(member.kind != "python" for member in described.members)
    if asked and _scored(described.rubric) != _scored(judge.rubric):
        raise UsageError(
            "the judge's scores were given on another scale or for other dimensions than the rubric has now:"
            " judge again, with --judge-again"
        )
    members = []
    for member in described.members:
        if member.kind == "python":
            declared = judge.judges.get(member.name)
            if declared is None or declared.kind != member.kind:
                # The function that the data names is no code of the suite.
                raise UsageError(f"the judge {member.name!r} of that run is not in the suite any more")
            members.append(declared)
        else:
            members.append(member)
    return judge.judged_by(tuple(members), repeats=described.repeats)


def refuse_self_judged(suite: SuiteModel, answered_by: TargetFacts | None = None) -> None:
    """UsageError when the suite's target would judge itself; `answered_by` is who gave the answers, if not that."""
    if suite.judge is None:
        return
    target = suite.target
    if answered_by is not None:
        target = TargetSpec(
            answered_by.kind, SimpleNamespace(model=answered_by.model, base_url=answered_by.address or None)
        )
    if wrong := self_judged(target, suite.judge, suite.variants):
        raise UsageError(wrong)


def judged_as_then(suite: SuiteModel, described: JudgeModel | None, *, to_ask: bool) -> SuiteModel:
    """The suite with the judges of a run that was described so; UsageError when one of them cannot be asked any more.

    One that the suite declares is taken as it is declared now; any other is the model of then at its address, which is
    not `to_ask`: a run is data, and may come from anybody, so nothing is sent to an address that only a run names.
    """
    judge = suite.judge
    if judge is None or described is None:
        return suite
    members = []
    for member in described.members:
        declared = judge.judges.get(member.name)
        if declared is not None and declared.kind == member.kind:
            members.append(declared)
        elif member.kind == "chat" and not member.address:
            raise UsageError(
                f"where the judge {member.name!r} of that run is asked is not known, since another tool asked it"
            )
        elif member.kind == "chat" and to_ask:
            raise UsageError(
                f"the judge of that run is not in the suite, and no call is made to an address that only a run names:"
                f" if you trust it, give --judge {member.address} --judge-model {member.model}"
            )
        elif member.kind == "chat" and member.address is not None:
            members.append(_at_address(suite, judge, member.address, {"model": member.model}))
        else:
            raise UsageError(
                f"the judge {member.name!r} of that run is not in the suite any more: name one with --judge"
            )
    return suite.changed(judge=judge.judged_by(tuple(members), repeats=described.repeats))


def chosen_members(suite: SuiteModel, judge: JudgeModel, name: str | None, given: dict[str, Any]) -> tuple[Member, ...]:
    """Who judges when the command line names a judge, or gives settings of one (model, token, temperature); UsageError
    when that is nobody.

    What a suite says of its first model (temperature, seed, ...) holds for a model at a URL too, but its key is sent
    to no other address.
    """
    if name is None:
        if len(judge.members) != 1 or not judge.members[0].is_model:
            what = "a model, a token or a temperature"
            raise UsageError(f"{what} belongs to one judge: name it, as in --judge URL --judge-model NAME")
        return (_overlaid(suite, judge.members[0], given),)
    if name.lower().startswith(("http://", "https://")):
        if "model" not in given:
            raise UsageError(f"which model judges at {name}? Name it, as in --judge-model NAME")
        return (_at_address(suite, judge, name, given),)
    if name not in judge.judges:
        hint = meant(name, judge.judges) or f"; there are: {listed(judge.judges)}, or give a URL"
        raise UsageError(f"the suite {suite.name} declares no judge {name!r}{hint}")
    chosen = judge.judges[name]
    if chosen.kind == "python":
        if given:
            raise UsageError(f"the judge {name!r} is code: it takes no {listed(given)}")
        if isinstance(chosen.settings, str):
            find_callable(chosen.settings, suite.folder, "judge")
        return (chosen,)
    return (_overlaid(suite, chosen, given) if given else chosen,)


def _at_address(suite: SuiteModel, judge: JudgeModel, url: str, given: dict[str, Any]) -> Member:
    """The model at the URL, with the settings of the first declared model underneath."""
    declared = next((spec for spec in judge.judges.values() if spec.kind == "chat"), None)
    below = {} if declared is None else _settings(declared)
    if declared is not None and not same_address(declared.settings.base_url, url):
        below = _without(below, _OF_THAT_ADDRESS)
    if declared is None or declared.settings.model != given["model"]:
        below = _without(below, ("price",))
    return _settled(suite, given["model"], "chat", below | {"base_url": url} | given)


def _overlaid(suite: SuiteModel, spec: Member, given: dict[str, Any]) -> Member:
    below = _settings(spec)
    if given.get("model", spec.settings.model) != spec.settings.model:
        below = _without(below, ("price",))
    return _settled(suite, spec.name, spec.kind, below | given)


def _settings(spec: Member) -> dict[str, Any]:
    return {name: getattr(spec.settings, name) for name in spec.settings.model_fields_set}


def _without(settings: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}


def _settled(suite: SuiteModel, name: str, kind: str, settings: dict[str, Any]) -> Member:
    draft = Draft(Located(None, ""), suite.folder)
    spec = settle_model(name, kind, settings, (), draft)
    if spec is None:
        raise SuiteError([Problem(f"judge {name}: {problem.message}") for problem in draft.problems])
    return spec


def self_judged(target: TargetSpec | None, judge: JudgeModel, variants: Sequence[Variant]) -> str | None:
    """The sentence for a judge that is the system under test itself, or may be it, or None."""
    if judge.allow_self or target is None or target.kind not in MODELS:
        return None
    address = getattr(target.settings, "base_url", None) or ""
    model = str(getattr(target.settings, "model", ""))
    models = models_of(model, variants)
    addresses = models_of(address, variants) or {address}
    for member in judge.members:
        if not member.is_model or not any(same_address(member.address or "", item) for item in addresses):
            continue
        if models is None:
            return (
                f"the judge {member.name!r} may be the system under test itself: both are asked at {address}, and which"
                f" model is tested there depends on the case ({model}), so they cannot be distinguished:"
                f" let a model at another address judge, or write allow_self: true"
            )
        if model_alias(str(member.model)) in {model_alias(name) for name in models}:
            return (
                f"the judge {member.name!r} is the system under test itself ({member.model} at {address}):"
                " let another model judge, or write allow_self: true"
            )
    return None


def models_of(model: str, variants: Sequence[Variant]) -> set[str] | None:
    """The names that a target's model has over the variants; None when they depend on more than that."""
    if "{" not in model:
        return {model.strip()}
    try:
        template = compile_template(model, where="model", names=("variant",))
        return {template.fill({"variant": variant.values}).strip() for variant in variants}
    except SuiteError:
        return None
