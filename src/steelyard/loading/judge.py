"""From a judge as written to a JudgeModel: rubric, prompts, response, rules, figures, and who judges."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import jsonschema_rs

from steelyard.errors import SuiteError
from steelyard.metrics.expression_checks import check_judge_threshold
from steelyard.metrics.expressions import parse_judge_threshold
from steelyard.suite.draft import Draft, own_code
from steelyard.suite.judge import (
    ANSWERED_AS,
    LISTED,
    MODELS,
    BindingRule,
    Evidence,
    FigureFile,
    JudgeModel,
    Member,
    MustAnswer,
    Reasons,
    Rubric,
    SaidCount,
    SaidMean,
    dimension_code,
)
from steelyard.suite.labels import check_path
from steelyard.suite.models import AnswerShape, Component, MeasureDescription
from steelyard.suite.paths import EVERY, compile_path, split_path
from steelyard.suite.readers import read_schema
from steelyard.suite.rules import RESERVED, parse_rule, rule_measures
from steelyard.suite.templates import JUDGE_NAMES, SHOWN_NAMES, compile_template
from steelyard.suite.yaml import Place, dotted, listed, meant, meant_or_listed, read_yaml, result
from steelyard.suite_code import PLACE, find_callable

_AT: Place = ("judge",)
_RUBRIC: Place = ("judge", "rubric")
_TAKEN_CODES = {"FORMAT": "an answer that cannot be read", "JUDGE": "a judge that failed"}
"""Codes of findings that a dimension's own would be taken for."""
REASONS = "reasons"
"""The field of reasons in a schema that is made from the rubric, unless the suite names another."""
_RESPONSE: Place = ("judge", "response")
_TEXTS = {"type": "array", "items": {"type": "string"}}
_ANSWERS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "number": {"type": "integer", "description": "the finding's number"},
            "answer": {"type": "string", "enum": ["confirm", "rebut"]},
            "quote": {"type": "string", "description": "to confirm: the words of the text"},
            "reason": {"type": "string", "description": "to rebut: why it is no fault"},
        },
        "required": ["number", "answer", "quote", "reason"],
        "additionalProperties": False,
    },
}
ANY_KEY = "*"
_FIGURES: Place = ("judge", "figures")
KINDS = (*MODELS, "python")
_JUDGES: Place = ("judge", "judges")


def build_judge(
    raw: Any, draft: Draft, components: Sequence[Component], answer: AnswerShape, named: Sequence[str] = ()
) -> JudgeModel | None:
    """The judge; None when there is none or its rubric cannot be read. Everything wrong is noted.

    `named` are the names of all components, of those too that could not be built.
    """
    if raw is None:
        return None
    if not isinstance(raw, dict):
        draft.add_problem(f"judge is a group of keys (rubric, judges, ...); {result(raw)}", _AT)
        return None
    part, _ = draft.check_keys(JudgeModel, raw, _AT)
    names = list(dict.fromkeys([*named, *(component.name for component in components)]))
    rubric = build_rubric(raw.get("rubric"), draft, names)
    specs = build_specs(raw.get("judges"), draft)
    declared = list(raw["judges"]) if isinstance(raw.get("judges"), dict) else []
    members = choose(raw.get("by"), specs, declared, draft)
    system, user = (_template(raw.get(key), (*_AT, key), draft) for key in ("system", "user"))
    shown = _template(raw.get("shown"), (*_AT, "shown"), draft, SHOWN_NAMES)
    _check_paths(part, answer, draft)
    if rubric is None:
        return None
    reasons = part.reasons
    if reasons is None and raw.get("response") is None:
        reasons = Reasons.from_data({"in": REASONS})  # a schema made from the rubric always has them
    judge = part.judged_by(
        members,
        rubric=rubric,
        system=system,
        user=user,
        shown=shown,
        rules=_rules(raw.get("bind"), rubric, _metrics(components, names), components, part.must_answer, draft),
        check=own_code(raw.get("check"), (*_AT, "check"), draft),
        reasons=reasons,
        evidence=_evidence(part.evidence, rubric, draft),
        judges=specs,
    )
    response = build_response(raw.get("response"), judge, draft)
    if judge.must_answer is not None and "required" in response:  # a text without findings has nothing to answer
        optional = judge.must_answer.place
        response = response | {"required": [name for name in response["required"] if name != optional]}
    judge = judge.model_copy(update={"response": response})
    means, counts = build_figures(judge, names, draft)
    judge = judge.model_copy(update={"means": means, "counts": (*counts, *_answer_count(judge, names, draft))})
    _check_health(judge, draft)
    return judge


def _template(raw: Any, place: Place, draft: Draft, names: tuple[str, ...] = JUDGE_NAMES) -> str:
    """The text of a template, with a note when it does not compile."""
    file = raw.get("file") if isinstance(raw, dict) else None
    text = draft.text(file, place) if isinstance(file, str) else raw
    if not isinstance(text, str):
        return ""
    try:
        compile_template(text, where=file or draft.located.file or "the template", names=names)
    except SuiteError as error:
        draft.note_template(error, file, place)
    return text


def _check_paths(part: JudgeModel, answer: AnswerShape, draft: Draft) -> None:
    if part.of:
        with draft.noting((*_AT, "of"), "judge.of: "):
            compile_path(part.of)
        if answer.format != "json":
            draft.add_problem("judge.of is a path into a JSON answer: write answer: {format: json}", (*_AT, "of"))
    for key, path in (("labels", part.labels), ("labelled", part.labelled)):
        if path and (wrong := check_path(path)):
            draft.add_problem(f"judge.{key}: {wrong}", (*_AT, key))


def _evidence(evidence: Evidence | None, rubric: Rubric, draft: Draft) -> Evidence | None:
    """The evidence with all dimensions that must be proven; those that the rubric does not have are noted."""
    if evidence is None:
        return None
    names = [dimension.name for dimension in rubric.dimensions]
    for at, name in enumerate(evidence.dimensions):
        if name not in names:
            problem = f"there is no dimension {name!r}{meant_or_listed(name, names)}"
            draft.add_problem(f"judge.evidence.dimensions: {problem}", (*_AT, "evidence", "dimensions", at))
    if not evidence.dimensions and "dimensions" in evidence.model_fields_set:
        draft.add_problem("judge.evidence.dimensions is empty: leave it out for all", (*_AT, "evidence", "dimensions"))
    proven = tuple(name for name in names if not evidence.dimensions or name in evidence.dimensions)
    return evidence.model_copy(update={"dimensions": proven})


def _metrics(components: Sequence[Component], names: Sequence[str]) -> dict[str, Sequence[str] | None]:
    """By component, what it measures; None for one that could not be built, which is told already."""
    built = {component.name: list(getattr(component.scorer, "metrics", ())) for component in components}
    return {name: built.get(name) for name in names}


def _rules(
    raw: Any,
    rubric: Rubric,
    metrics: Mapping[str, Sequence[str] | None],
    components: Sequence[Component],
    must_answer: MustAnswer | None,
    draft: Draft,
) -> tuple[BindingRule, ...]:
    measures: dict[str, Sequence[str]] = {item.name: rule_measures(item.scorer) for item in components}
    if must_answer is not None:  # a rule may name what the judge answered, as in answers.confirmed > 0
        metrics = {**metrics, must_answer.place: ()}
        measures[must_answer.place] = ANSWERED_AS
    dimensions = [dimension.name for dimension in rubric.dimensions]
    flags = [flag.name for flag in rubric.flags]
    rules: list[BindingRule] = []
    for at, text in enumerate(raw if isinstance(raw, list) else ()):
        with draft.noting((*_AT, "bind", at), "judge.bind: "):
            if isinstance(text, str):
                rules.append(parse_rule(text, dimensions, flags, metrics, rubric.scale, measures))
    return tuple(rules)


def _answer_count(judge: JudgeModel, names: Sequence[str], draft: Draft) -> Iterator[SaidCount]:
    """The figure of how many findings the judge confirmed, rebutted and left unanswered."""
    if judge.must_answer is None:
        return
    name = judge.must_answer.place
    if name in (*names, *judge.rubric.names, *judge.figures):
        problem = f"{name!r} is the name of something else: its answers are a figure of that name"
        draft.add_problem(f"judge.must_answer.in: {problem}", (*_AT, "must_answer", "in"))
        return
    about = "findings of scorers that the judge was shown, by its answer"
    yield SaidCount(name=name, words=ANSWERED_AS, list_path=name, word_path="answer", about=about)


def check_must_answer(owed: MustAnswer | None, codes: Sequence[str], draft: Draft) -> None:
    """Tell of findings that a judge must answer and that no scorer of the suite gives."""
    if owed is None:
        return
    at = (*_AT, "must_answer", "findings")
    if not owed.findings:
        draft.add_problem("judge.must_answer.findings is empty: name the codes that the judge must answer", at)
    for place, code in enumerate(owed.findings):
        if code not in codes:
            problem = f"there is no finding {code!r}{meant_or_listed(code, codes)}"
            draft.add_problem(f"judge.must_answer.findings: {problem}", (*at, place))


def _check_health(judge: JudgeModel, draft: Draft) -> None:
    for at, text in enumerate(judge.health):
        with draft.noting((*_AT, "health", at), "judge."):
            threshold = parse_judge_threshold(text)
            if problem := check_judge_threshold(threshold, judge):
                raise ValueError(problem)
    dimensions = [dimension.name for dimension in judge.rubric.dimensions]
    for at, name in enumerate(judge.constant):
        if name not in dimensions:
            hint = meant_or_listed(name, dimensions)
            draft.add_problem(f"judge.constant: there is no dimension {name!r}{hint}", (*_AT, "constant", at))


def build_rubric(raw: Any, draft: Draft, components: Collection[str] = ()) -> Rubric | None:
    """The rubric, or None with everything wrong noted; `components` are names that are taken."""
    if isinstance(raw, dict):
        return _rubric(raw, _RUBRIC, draft, components)
    if not isinstance(raw, str):
        return None  # already told by the check of the whole judge
    text = draft.text(raw, _RUBRIC)
    if text is None:
        return None
    try:
        located = read_yaml(text, raw)
    except SuiteError as error:
        draft.problems.extend(error.problems)
        return None
    own = Draft(located, draft.folder)
    own.problems.extend(located.problems)
    if isinstance(located.data, dict):
        rubric = _rubric(located.data, (), own, components)
    else:
        own.add_problem(f"a rubric is a group of keys (scale, dimensions, ...); {result(located.data)}")
        rubric = None
    draft.problems.extend(own.problems)
    return rubric


def _rubric(raw: dict[str, Any], place: Place, draft: Draft, components: Collection[str]) -> Rubric | None:
    rubric = draft.check(Rubric, raw, place)
    if rubric is not None:
        _check_rubric_names(rubric, place, draft, components)
    return rubric


def _check_rubric_names(rubric: Rubric, place: Place, draft: Draft, components: Collection[str]) -> None:
    taken = {name.casefold(): f"the component {name}" for name in components}
    for group, parts in (("dimensions", rubric.dimensions), ("flags", rubric.flags)):
        for name in (part.name for part in parts):
            at = (*place, group, name)
            word = group.removesuffix("s")
            if not name.isidentifier() or name.casefold() in RESERVED:
                draft.add_problem(
                    f"{dotted(at)}: a {word}'s name is one word of letters, digits and _; found {name!r}", at
                )
            elif group == "dimensions" and name.upper() in _TAKEN_CODES:
                message = f"{name.upper()} is the code of {_TAKEN_CODES[name.upper()]}"
                draft.add_problem(f"{dotted(at)}: a dimension cannot be called so: {message}", at)
            if name.casefold() in taken:
                draft.add_problem(f"{dotted(at)}: the name is taken by {taken[name.casefold()]}", at)
            taken[name.casefold()] = f"the {word} {name}"


def _places(judge: JudgeModel) -> tuple[tuple[str, str], ...]:
    """Where in its answer a judge puts what it owes: the key of the suite file and the path, "" when it owes none."""
    owed = (("reasons", judge.reasons), ("must_answer", judge.must_answer), ("evidence", judge.evidence))
    return tuple((key, part.place if part else "") for key, part in owed)


def response_schema(judge: JudgeModel) -> dict[str, Any]:
    """The schema of an answer: reasons first, then evidence by dimension, then each score and flag; all are asked for.

    A model writes the fields in this order, so that it has said why before it says how good.
    """
    properties: dict[str, Any] = {}
    evidence, rubric = judge.evidence, judge.rubric
    if judge.reasons is not None:
        properties[judge.reasons.place] = {**_TEXTS, "description": "Weaknesses found, before any score is given."}
    if judge.must_answer is not None:
        about = "What is said of each finding that the prompt numbers."
        properties[judge.must_answer.place] = _ANSWERS | {"description": about}
    if evidence is not None:
        # Many a model gives one quote as a text, whatever it is told.
        quotes = {name: {"anyOf": [_TEXTS, {"type": "string"}]} for name in evidence.dimensions}
        about = f"Quotes from {evidence.source}, by the dimension they prove."
        properties[evidence.place] = {**_closed(quotes), "description": about}
    scores: dict[str, Any] = {}
    for dimension in rubric.dimensions:
        score = {"type": "integer", "minimum": rubric.low, "maximum": rubric.high}
        scores[dimension.name] = score | ({"description": dimension.about} if dimension.about else {})
    for flag in rubric.flags:
        scores[flag.name] = {"type": "boolean"} | ({"description": flag.about} if flag.about else {})
    return _closed(properties | ({judge.scores_in: _closed(scores)} if judge.scores_in else scores))


def build_response(given: Any, judge: JudgeModel, draft: Draft) -> dict[str, Any]:
    """The schema that the suite gives, or one made from the rubric; everything wrong with it is noted."""
    if given is None:
        _check_own_names(judge, draft)
        return response_schema(judge)
    schema = read_schema(given, _RESPONSE, draft)
    if schema is None:
        return {}
    properties, rubric, scores_in = _properties(schema), judge.rubric, judge.scores_in
    holder = _properties(properties.get(scores_in)) if scores_in else properties
    where = f" in {scores_in}" if scores_in else ""
    for name in rubric.names:
        if name not in holder:
            hint = meant(name, list(holder))
            draft.add_problem(
                f"judge.response has no field {name!r}{where}, which the rubric asks for{hint}", _RESPONSE
            )
    names = list(properties)
    for key, place in _places(judge):
        if place and (first := split_path(place)[0]) not in names:
            problem = f"the response has no field {first!r}{meant_or_listed(first, names)}"
            draft.add_problem(f"judge.{key}.in: {problem}", ("judge", key, "in"))
    reasons = judge.reasons.place if judge.reasons else ""
    _check_order(names, (scores_in,) if scores_in else rubric.names, reasons, draft)
    _check_scale(schema, holder, rubric, draft)
    return schema


def _properties(schema: Any) -> dict[str, Any]:
    """The fields of an object by name; none when the schema lists none."""
    fields = schema.get("properties") if isinstance(schema, dict) else None
    return fields if isinstance(fields, dict) else {}


def _check_own_names(judge: JudgeModel, draft: Draft) -> None:
    """Tell of fields of a made schema that would stand for two things."""
    taken = [judge.scores_in] if judge.scores_in else list(judge.rubric.names)
    for key, name in _places(judge):
        if not name:
            continue
        if len(split_path(name)) > 1:
            draft.add_problem(
                f"judge.{key}.in: without a response of your own, {name!r} must be one name", ("judge", key)
            )
        if name in taken:
            message = f"judge: {name!r} cannot hold {key}: it is the name of something else in the answer"
            draft.add_problem(f"{message}; write {key}: {{in: ANOTHER}}", ("judge", key))
        taken.append(name)


def _check_order(names: list[str], of_scores: Sequence[str], reasons: str, draft: Draft) -> None:
    scores = [name for name in names if name in of_scores]
    first = split_path(reasons)[0] if reasons else ""
    if first in names and scores and names.index(first) > names.index(scores[0]):
        draft.add_problem(f"judge.response: reasons come before scores: put {first} before {scores[0]}", _RESPONSE)


def _check_scale(schema: dict[str, Any], properties: dict[str, Any], rubric: Rubric, draft: Draft) -> None:
    """Tell of a dimension whose field refuses a score of the rubric's scale: no judge could ever give it."""
    shared: dict[str, Any] = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    for dimension in rubric.dimensions:
        field = properties.get(dimension.name)
        if not isinstance(field, dict):
            continue
        try:
            validator = jsonschema_rs.validator_for(shared | field)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
            continue  # told already, or it refers to what only the whole schema has
        refused = [score for score in (rubric.low, rubric.high) if not validator.is_valid(score)]
        if refused:
            message = f"judge.response: {dimension.name} refuses {refused[0]}, which is on the rubric's scale"
            draft.add_problem(message, _RESPONSE)


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def build_figures(
    judge: JudgeModel, names: Sequence[str], draft: Draft
) -> tuple[tuple[SaidMean, ...], tuple[SaidCount, ...]]:
    """The means and the counts; everything wrong is noted. `names` are those of all components."""
    means: list[SaidMean] = []
    counts: list[SaidCount] = []
    rubric = judge.rubric
    for name, figure in judge.figures.items():
        place = (*_FIGURES, name)
        path, shape = _figure_path(name, figure, place, draft)
        if not path:
            continue
        schema, keys = _looked_up(path, judge.response, place, draft)
        if schema is None:
            continue
        keys = list(figure.keys) or (_enumerated(schema) if figure.count else keys)
        if not keys and (figure.count or ANY_KEY in path):
            draft.add_problem(f"{shape}: the response lists no keys there: write keys: [...]", place)
        elif figure.count:
            at = path.index(EVERY)
            paths = {"list_path": _joined(path[:at]), "word_path": _joined(path[at + 1 :])}
            counts.append(SaidCount(name=name, words=tuple(keys), about=figure.about, **paths))
        else:
            means += _means(name, path, keys, figure.scale or (float(rubric.low), float(rubric.high)), figure.about)
    taken = {name.casefold(): f"the component {name}" for name in names}
    taken |= {name.casefold(): f"the rubric's {name}" for name in rubric.names}
    _check_figure_names(means, counts, taken, draft)
    return tuple(means), tuple(counts)


def _figure_path(name: str, figure: FigureFile, place: Place, draft: Draft) -> tuple[tuple[str, ...], str]:
    """The steps of the one path it has, and what it is called; no steps when that is told to be wrong."""
    kind = "count" if figure.count else "mean"
    shape, text = f"judge.figures.{name}.{kind}", figure.count or figure.mean
    if bool(figure.mean) == bool(figure.count):
        draft.add_problem(f"judge.figures.{name} needs one of mean and count: a path into the judge's answer", place)
        return (), shape
    with draft.noting((*place, kind), f"{shape}: "):
        steps = split_path(text)
        if figure.count and (steps.count(EVERY) != 1 or ANY_KEY in steps):
            raise ValueError("a path to the words of one list is written with one []: faults[].reason")
        if figure.mean and (EVERY in steps or steps.count(ANY_KEY) > 1):
            raise ValueError("a path to numbers has no [] and at most one *: categories.*.coverage")
        return steps, shape
    return (), shape


def _looked_up(
    steps: Sequence[str], response: dict[str, Any], place: Place, draft: Draft
) -> tuple[dict[str, Any] | None, list[str]]:
    """What the response says of the place, as far as it says anything, and the keys that * stands for there.

    None when it has no such place, which is told.
    """
    schema, keys = response, list[str]()
    for at, step in enumerate(steps):
        inner = schema.get("items" if step == EVERY else "properties")
        if not isinstance(inner, dict) or not inner:
            return {}, keys
        if step == ANY_KEY:
            keys = list(inner)
        elif step != EVERY and step not in inner:
            problem = f"the response has no {_joined(steps[: at + 1])}{meant_or_listed(step, inner)}"
            draft.add_problem(f"judge.figures.{place[-1]}: {problem}", place)
            return None, keys
        below = inner if step == EVERY else next(iter(inner.values())) if step == ANY_KEY else inner[step]
        schema = below if isinstance(below, dict) else {}
    return schema, keys


def _enumerated(schema: dict[str, Any]) -> list[str]:
    words = schema.get("enum")
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _means(
    name: str, path: Sequence[str], keys: Sequence[str], scale: tuple[float, float], about: str
) -> Iterator[SaidMean]:
    for key in keys if ANY_KEY in path else ("",):
        place = _joined([key if step == ANY_KEY else step for step in path])
        yield SaidMean(figure=name, key=key, path=place, scale=scale, about=about)


def _joined(steps: Sequence[str]) -> str:
    """The path of these steps, each of them quoted where it must be."""
    written = ""
    for step in steps:
        if step == EVERY:
            written += EVERY
            continue
        plain = step.strip() == step and not set(step) & set('.[]"')
        quoted = step if plain else '"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"'
        written += f".{quoted}" if written else quoted
    return written


def _check_figure_names(
    means: Sequence[SaidMean], counts: Sequence[SaidCount], taken: dict[str, str], draft: Draft
) -> None:
    named = [(mean.figure, mean.name) for mean in means] + [(count.name, count.name) for count in counts]
    for figure, name in named:
        if "." in name or not name.strip():
            draft.add_problem(f"judge.figures.{figure}: {name!r} must not be empty or hold dots", (*_FIGURES, figure))
        elif name.casefold() in taken:
            draft.add_problem(
                f"judge.figures.{figure}: the name {name} is taken by {taken[name.casefold()]}", (*_FIGURES, figure)
            )
        taken[name.casefold()] = f"the figure {name}"
    for count in counts:
        for word in count.words:
            if word == LISTED or "." in word:
                problem = f"{word!r} cannot be counted under that name: it is {LISTED!r} or holds a dot"
                draft.add_problem(f"judge.figures.{count.name}: {problem}", (*_FIGURES, count.name))


def build_specs(raw: Any, draft: Draft) -> dict[str, Member]:
    """Every judge that can be built, by name; everything wrong with the others is noted."""
    declared = raw if isinstance(raw, dict) else {}
    built = {name: _spec(name, given, (*_JUDGES, name), draft) for name, given in declared.items()}
    for name in declared:
        if not name.strip():
            draft.add_problem("a judge's name must not be empty", _JUDGES)
    return {name: spec for name, spec in built.items() if spec is not None}


def _spec(name: str, raw: Any, place: Place, draft: Draft) -> Member | None:
    given = draft.one_kind(raw, "judge", lambda: KINDS, place, f"{dotted(place)}: ")
    if given is None:
        return None
    kind, settings = given
    if kind not in KINDS:
        draft.add_problem(
            f"{dotted(place)}: unknown kind of judge {kind!r}{meant_or_listed(kind, KINDS)}", (*place, kind)
        )
        return None
    if kind in MODELS:
        return settle_model(name, kind, {} if settings is None else settings, (*place, kind), draft)
    if not callable(settings) and not (isinstance(settings, str) and PLACE.match(settings)):
        draft.add_problem(
            f"{dotted((*place, kind))} must be a function: write module:function; {result(settings)}", place
        )
        return None
    return Member(name=name, kind=kind, settings=settings)


def settle_model(name: str, kind: str, settings: Any, place: Place, draft: Draft) -> Member | None:
    """A judge that is a model, or None with everything wrong with its settings noted."""
    model = draft.registered("judges", kind, place)
    checked = None if model is None else draft.check_part(model, settings, place)
    return None if checked is None else Member(name=name, kind=kind, settings=checked)


def choose(by: Any, specs: Mapping[str, Member], declared: Sequence[str], draft: Draft) -> tuple[Member, ...]:
    """Those named by `by`, or the only one there is; what is wrong with the choice is noted."""
    if by is None and len(declared) == 1:
        by = declared[0]
    if by is None:
        if declared:
            draft.add_problem(f"judge.by is missing: say who judges; there are: {listed(declared)}", ("judge",))
        return ()
    names = by if isinstance(by, list) else [by]
    if not names:
        draft.add_problem("judge.by is empty: name at least one judge", ("judge", "by"))
    for at, name in enumerate(names):
        if not isinstance(name, str):
            return ()  # already told by the check of the whole judge
        if name in names[:at]:
            draft.add_problem(
                f"judge.by names {name!r} twice: for several votes by one judge write repeats", ("judge", "by")
            )
        elif name not in declared:
            draft.add_problem(f"no judge is called {name!r}{meant_or_listed(name, declared)}", ("judge", "by"))
    members = tuple(specs[name] for name in dict.fromkeys(names) if name in specs)
    if len({member.is_model for member in members}) > 1:
        message = "a panel of models and code would mix two modes in one mean: let all be models, or all python"
        draft.add_problem(f"judge.by: {message}", ("judge", "by"))
    _check_code(members, draft)
    return members


def _check_code(members: Sequence[Member], draft: Draft) -> None:
    for member in members:
        if member.kind == "python" and isinstance(member.settings, str):
            with draft.noting((*_JUDGES, member.name)):
                find_callable(member.settings, draft.folder, "judge")


def judged_components(judge: JudgeModel) -> tuple[Component, ...]:
    """What a sample has a score of by its judge: dimensions, flags, and the figures of what else a judge says."""
    return (*_rubric_components(judge.rubric), *_said_components(judge))


def _rubric_components(rubric: Rubric) -> list[Component]:
    dimensions = [
        Component(
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
        Component(
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


def _said_components(judge: JudgeModel) -> list[Component]:
    """What is made of what a judge says beyond its scores: it has no weight."""
    shared: dict[str, Any] = {
        "kind": "stated",
        "weight": 0.0,
        "version": judge.rubric.version,
        "when_unknown": "skip",
        "wrong_below": 0.0,
    }
    means = [
        Component(name=mean.name, scale=mean.scale, figure=mean.figure, key=mean.key, about=mean.about, **shared)
        for mean in judge.means
    ]
    counts = [
        Component(
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
