"""From the judge as written to a JudgeModel: rubric, prompts, response, rules, and who judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import SuiteError
from steelyard.suite.declared_judges import build_specs, choose
from steelyard.suite.draft import Draft
from steelyard.suite.health import lacking, parse_health
from steelyard.suite.judge_file import JudgePart
from steelyard.suite.judge_model import BindingRule, Evidence, JudgeModel, Rubric
from steelyard.suite.judge_response import REASONS, Owed, build_response
from steelyard.suite.labels import check_path
from steelyard.suite.model import AnswerShape, Component
from steelyard.suite.own_code import own_code
from steelyard.suite.paths import compile_path, split_path
from steelyard.suite.problems import Place
from steelyard.suite.rubric import build_rubric
from steelyard.suite.rules import parse_rule
from steelyard.suite.said_figures import build_figures
from steelyard.suite.spelling import found, listed, meant
from steelyard.suite.templates import JUDGE_NAMES, SHOWN_NAMES, compile_template

_AT: Place = ("judge",)


def build_judge(
    raw: Any, draft: Draft, components: Sequence[Component], answer: AnswerShape, named: Sequence[str] = ()
) -> JudgeModel | None:
    """The judge; None when there is none or its rubric cannot be read. Everything wrong is noted.

    `named` are the names of all components, of those too that could not be built.
    """
    if raw is None:
        return None
    if not isinstance(raw, dict):
        draft.tell(f"judge is a group of keys (rubric, judges, ...); {found(raw)}", _AT)
        return None
    part = draft.check(JudgePart, raw, _AT)
    names = list(dict.fromkeys([*named, *(component.name for component in components)]))
    rubric = build_rubric(raw.get("rubric"), draft, names)
    specs = build_specs(raw.get("judges"), draft)
    declared = list(raw["judges"]) if isinstance(raw.get("judges"), dict) else []
    members = choose(raw.get("by"), specs, declared, draft)
    system, user = (_template(raw.get(key), (*_AT, key), draft) for key in ("system", "user"))
    shown = _template(raw.get("shown"), (*_AT, "shown"), draft, SHOWN_NAMES)
    _check_paths(raw, answer, draft)
    if rubric is None:
        return None
    reasons, fewest = _reasons(raw)
    evidence = _evidence(raw.get("evidence"), rubric, draft)
    response = build_response(raw.get("response"), rubric, Owed(_scores_in(raw), reasons, evidence), draft)
    rules = _rules(raw.get("bind"), rubric, _metrics(components, names), draft)
    means, counts = build_figures(part, rubric, response, names, draft)
    judge = JudgeModel(
        rubric=rubric,
        members=members,
        system=system,
        user=user,
        shown=shown,
        response=response,
        reasons=reasons,
        fewest_reasons=fewest,
        rules=rules,
        evidence=evidence,
        check=own_code(raw.get("check"), (*_AT, "check"), draft),
        means=means,
        counts=counts,
        judges=specs,
        **_options(part),
    )
    _check_health(judge, draft)
    return judge


def _options(part: JudgePart | None) -> dict[str, Any]:
    """The plain settings; none when the part could not be read, which is told already."""
    if part is None:
        return {}
    plain = (
        "of",
        "repeats",
        "combine",
        "flags",
        "disagreement",
        "most_characters",
        "ask_again",
        "allow_self",
        "labels",
        "scores_in",
    )
    return {name: getattr(part, name) for name in plain} | {
        "health": tuple(part.health),
        "secrets": tuple(part.secrets),
    }


def _template(raw: Any, place: Place, draft: Draft, names: tuple[str, ...] = JUDGE_NAMES) -> str:
    """The text of a template, with a note when it does not compile."""
    file = raw.get("file") if isinstance(raw, dict) else None
    text = draft.text(file, place) if isinstance(file, str) else raw
    if not isinstance(text, str):
        return ""
    try:
        compile_template(text, where=file or draft.located.file or "the template", names=names)
    except SuiteError as error:
        if file is None:
            for mistake in error.mistakes:
                draft.tell(mistake.message, place)
        else:
            draft.mistakes.extend(error.mistakes)
    return text


def _check_paths(raw: dict[str, Any], answer: AnswerShape, draft: Draft) -> None:
    of, labels = raw.get("of"), raw.get("labels")
    if isinstance(of, str) and of:
        try:
            compile_path(of)
        except ValueError as error:
            draft.tell(f"judge.of: {error}", (*_AT, "of"))
        if answer.format != "json":
            draft.tell("judge.of is a path into a JSON answer: write answer: {format: json}", (*_AT, "of"))
    if isinstance(labels, str) and labels and (wrong := check_path(labels)):
        draft.tell(f"judge.labels: {wrong}", (*_AT, "labels"))
    for key in ("reasons", "evidence"):
        place = raw[key].get("in") if isinstance(raw.get(key), dict) else None
        if isinstance(place, str) and place:
            try:
                split_path(place)
            except ValueError as error:
                draft.tell(f"judge.{key}.in: {error}", (*_AT, key, "in"))


def _scores_in(raw: dict[str, Any]) -> str:
    given = raw.get("scores_in")
    return given if isinstance(given, str) else ""


def _reasons(raw: dict[str, Any]) -> tuple[str, int]:
    """The field of reasons and how many are asked for; a schema made from the rubric always has one."""
    given = raw.get("reasons")
    if not isinstance(given, dict) or not _is_path(given.get("in")):
        return (REASONS if raw.get("response") is None else ""), 0
    fewest = given.get("at_least", 0)
    return given["in"], fewest if isinstance(fewest, int) else 0


def _evidence(raw: Any, rubric: Rubric, draft: Draft) -> Evidence | None:
    if not isinstance(raw, dict) or not _is_path(raw.get("in")):
        return None
    known = [dimension.name for dimension in rubric.dimensions]
    given = raw.get("dimensions")
    for at, name in enumerate(given if isinstance(given, list) else ()):
        if isinstance(name, str) and name not in known:
            hint = meant(name, known) or f"; there are: {listed(known)}"
            place = (*_AT, "evidence", "dimensions", at)
            draft.tell(f"judge.evidence.dimensions: there is no dimension {name!r}{hint}", place)
    if given == []:
        draft.tell("judge.evidence.dimensions is empty: leave it out for all", (*_AT, "evidence", "dimensions"))
    return Evidence(
        raw["in"],
        raw.get("unproven", "neutral"),
        raw.get("fewest_words", 2),
        tuple(name for name in known if name in given) if isinstance(given, list) else tuple(known),
    )


def _is_path(given: Any) -> bool:
    try:
        return isinstance(given, str) and bool(split_path(given))
    except ValueError:
        return False


def _metrics(components: Sequence[Component], names: Sequence[str]) -> dict[str, Sequence[str] | None]:
    """By component, what it measures; None for one that could not be built, which is told already."""
    built = {component.name: list(getattr(component.scorer, "metrics", ())) for component in components}
    return {name: built.get(name) for name in names}


def _rules(
    raw: Any, rubric: Rubric, metrics: Mapping[str, Sequence[str] | None], draft: Draft
) -> tuple[BindingRule, ...]:
    dimensions = [dimension.name for dimension in rubric.dimensions]
    flags = [flag.name for flag in rubric.flags]
    rules: list[BindingRule] = []
    for at, text in enumerate(raw if isinstance(raw, list) else ()):
        if not isinstance(text, str):
            continue
        try:
            rules.append(parse_rule(text, dimensions, flags, metrics, (rubric.low, rubric.high)))
        except ValueError as error:
            draft.tell(f"judge.bind: {error}", (*_AT, "bind", at))
    return tuple(rules)


def _check_health(judge: JudgeModel, draft: Draft) -> None:
    for at, text in enumerate(judge.health):
        try:
            wrong = lacking(parse_health(text, judge.rubric), judge)
        except ValueError as error:
            wrong = str(error)
        if wrong:
            draft.tell(f"judge.{wrong}", (*_AT, "health", at))
