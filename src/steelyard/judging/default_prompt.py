"""The prompt of a suite that brings none: everything a judge must know, out of the rubric."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.judging.fence import Fence
from steelyard.suite.case import Case
from steelyard.suite.judge import Dimension, Flag, JudgeModel, Rubric


def default_system(judge: JudgeModel) -> str:
    """Who the judge is, the scale, what each score means, the flags, the rules and what it owes."""
    rubric = judge.rubric
    parts = [
        "You judge texts for quality. Look for weaknesses first, and be rigorous: your scores decide what is fixed.",
        _scale(rubric),
        *(_dimension(dimension) for dimension in rubric.dimensions),
        *(_flag(flag) for flag in rubric.flags),
    ]
    if judge.rules:
        rules = "\n".join(f"- {rule.text}" for rule in judge.rules)
        parts.append(
            f"Rules that bind you. They are enforced after you answer, and each violation is counted:\n{rules}"
        )
    parts.append("\n".join(f"- {demand}" for demand in _demands(judge)))
    return "\n\n".join(parts)


def default_user(judge: JudgeModel, fenced: str, case: Case, metrics: Mapping[str, Any], fence: Fence) -> str:
    """The question, what was measured, the text, and the shape of the answer. `fenced` is the text in its fence."""
    parts = []
    if case.input is not None:
        parts.append(f"What the author of the text was asked:\n{fence(_plain(case.input))}")
    if metrics:
        parts.append(f"What was measured in the text; rely on it:\n{fence(_plain(metrics))}")
    parts.append(f"The text to judge:\n{fenced}")
    parts.append(
        "Answer with one JSON object and nothing else, its fields in this order, so that reasons come before scores:\n"
        f"{answer_shape(judge)}"
    )
    return "\n\n".join(parts)


def answer_shape(judge: JudgeModel) -> str:
    """The answer asked for, as a JSON object with a description in the place of each value; reasons stand first."""
    rubric = judge.rubric
    properties = dict(judge.response.get("properties") or {})
    named = [owed.place for owed in (judge.reasons, judge.evidence) if owed is not None]
    # A path leads to a part of a field: the schema knows the rest.
    fields = [place for place in named if place and place.isidentifier()]
    inside = judge.scores_in
    scores = () if inside else rubric.names
    order = list(dict.fromkeys([*fields[:1], *(name for name in properties if name not in scores), *fields]))
    order = [name for name in order if name != inside] + [name for name in scores if name not in order]
    rows = [f"{json.dumps(name, ensure_ascii=False)}: {_place_for(name, judge, properties)}" for name in order]
    if inside:
        held = ", ".join(
            f"{json.dumps(name, ensure_ascii=False)}: {_place_for(name, judge, {})}" for name in rubric.names
        )
        rows.append(f"{json.dumps(inside, ensure_ascii=False)}: {{{held}}}")
    return "{\n" + ",\n".join(f"  {row}" for row in rows) + "\n}"


def _scale(rubric: Rubric) -> str:
    message = (
        f"Every dimension is scored with a whole number from {rubric.low} (worst) to {rubric.high} (best). "
        f"Start at {rubric.neutral}; go up only with clear evidence, and down for real problems."
    )
    return message + "".join(f"\n- {note}" for note in rubric.calibration)


def _dimension(dimension: Dimension) -> str:
    rows = [f"Dimension {dimension.name}" + (f": {dimension.about}" if dimension.about else "")]
    rows += [f"- {score}: {meaning}" for score, meaning in dimension.scores.items()]
    rows += [f"- Example of a {score}: {example}" for score, example in dimension.examples.items()]
    return "\n".join(rows)


def _flag(flag: Flag) -> str:
    rows = [f"Flag {flag.name} (true or false)" + (f": {flag.about}" if flag.about else "")]
    if flag.triggers:
        rows.append("True when any of these is in the text:")
    rows += [f"- {trigger}" for trigger in flag.triggers]
    return "\n".join(rows)


def _demands(judge: JudgeModel) -> Iterator[str]:
    if judge.reasons:
        fewest = max(1, judge.reasons.at_least)
        yield f"First list the weaknesses of the text in {judge.reasons.place}: at least {fewest}."
    if judge.evidence is not None:
        neutral, evidence = judge.rubric.neutral, judge.evidence
        unproven = f"; a score without one does not count as more than {neutral}"
        # A path such as claims[].quote leads to quotes, each by itself.
        of, marks = ("", "") if "[]" in evidence.place else ("the name of the dimension and ", ", in quotation marks")
        yield (
            f"For every score above {neutral}, put {of}a word-for-word quote of at least "
            f"{evidence.fewest_words} words from {evidence.source} into {evidence.place}{marks}. "
            f"Quotes are checked against {evidence.source}{unproven if evidence.unproven == 'neutral' else ''}."
        )
    yield "Then give every score and every flag; leave none out, and give no score in words or in halves."


def _place_for(name: str, judge: JudgeModel, properties: Mapping[str, Any]) -> str:
    rubric = judge.rubric
    if name in {dimension.name for dimension in rubric.dimensions}:
        return f"<whole number from {rubric.low} to {rubric.high}>"
    if name in {flag.name for flag in rubric.flags}:
        return "<true or false>"
    schema = properties.get(name)
    about = schema.get("description") if isinstance(schema, Mapping) else None
    kind = _kind(schema) if isinstance(schema, Mapping) else None
    if judge.reasons is not None and name == judge.reasons.place and not _items(schema):
        return '["<weakness>", "<weakness>"]' if kind in (None, "array") else '"<weaknesses>"'
    if judge.evidence is not None and name == judge.evidence.place:
        about = about or "name of the dimension: 'quote from the text'; for every score above the neutral one"
    return _value(schema, about)


def _kind(schema: Mapping[str, Any]) -> str | None:
    kind = schema.get("type")
    return kind if isinstance(kind, str) else None


def _value(schema: Any, about: str | None = None) -> str:
    """What stands in the place of a value, its description, and that of everything inside it."""
    schema = schema if isinstance(schema, Mapping) else {}
    about = about or schema.get("description") or " or ".join(map(str, schema.get("enum") or ()))
    return {
        "array": f"[{_items(schema) or _text_place(about)}]",
        "object": _object(schema),
        "boolean": "<true or false>",
        "integer": f"<{about or 'whole number'}>",
        "number": f"<{about or 'number'}>",
    }.get(_kind(schema) or "", _text_place(about))


def _text_place(about: str) -> str:
    return f'"<{about or "text"}>"'


def _items(schema: Any) -> str:
    """An element of a list of objects; empty for any other."""
    items = schema.get("items") if isinstance(schema, Mapping) else None
    return _object(items) if isinstance(items, Mapping) and items.get("properties") else ""


def _object(schema: Mapping[str, Any]) -> str:
    inner = schema.get("properties")
    if not isinstance(inner, Mapping) or not inner:
        return "{...}"
    asked = {name: item for name, item in inner.items() if not (isinstance(item, Mapping) and item.get("readOnly"))}
    return (
        "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {_value(item)}" for name, item in asked.items()) + "}"
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str)
