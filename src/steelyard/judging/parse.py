"""Scores and reasons out of a judge's reply."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard.failures import BROKE_OFF
from steelyard.frozen import frozen
from steelyard.judging.documents import JsonDocument, blanked, documents
from steelyard.judging.score_lines import ScoreLines
from steelyard.judging.score_values import quoted_value, score_problems, scores_of
from steelyard.scoring.extract import extract_json
from steelyard.scoring.json_schema import SchemaValidator
from steelyard.suite.judge import JudgeModel
from steelyard.suite.paths import split_path

_TAG: Final = r"(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|analysis)"
_OPENS = re.compile(rf"\s*(?:<{_TAG}>|\[think\]|◁think▷|<\|channel\|>\s*analysis)", re.IGNORECASE)
_CLOSES = re.compile(rf"</{_TAG}>|\[/think\]|◁/think▷|<\|channel\|>\s*final\s*<\|message\|>", re.IGNORECASE)
_BEGINS_AS_ANSWER = re.compile(r"\s*(?:\{|```)")


def answer_begins(text: str, documents: Sequence[JsonDocument]) -> int | None:
    """The place after the thoughts of a reasoning model, 0 when there are none, None when they never end.

    A draft among the thoughts is not the answer. The end of thoughts that is quoted inside a JSON document does not
    count, and a text that begins with the answer has no thoughts: else a text under judgement that holds such a mark
    could cut off the judge's own scores by being quoted.
    """
    if _BEGINS_AS_ANSWER.match(text):
        return 0
    starts = [document.start for document in documents]
    for close in reversed(list(_CLOSES.finditer(text))):
        before = bisect_left(starts, close.start())
        if not before or documents[before - 1].end <= close.start():
            return close.end()
    return None if _OPENS.match(text) else 0


# A value and what may come after it: a comma, the end of the object, or the next key where a comma was forgotten.
# `4 5`, `1,000`, `4` before ` or5` on the next line and `4` at the very end of a text that breaks off are not whole.
_VALUE = re.compile(
    r"""([^\s,}\]"']+)(?=\s*+(?:,(?!\s*[-0-9.])|[}\]]|["'][A-Za-z_][^"'\n]{0,80}["']\s*:)|[^\S\n]*+\n\s*+[A-Za-z_]\w{0,80}\s*:)"""
)
_COPIED = "the JSON in the answer is copied from the text under judgement"


@frozen
class Parsed:
    """What an answer says. `value` and `step` are None when it cannot be used, and `problems` then says why."""

    value: dict[str, Any] | None
    step: str | None
    problems: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    """On the step `basic`, what is not as asked for beside the scores."""
    extra: tuple[str, ...] = ()
    """Unexpected fields: they are ignored."""
    dropped: tuple[str, ...] = ()
    """Parts that are not as asked for and cost no more than themselves: see `essential`."""
    broken_off: bool = False
    """True when only what stands before the limit of tokens could be read: asking again may give more."""


class AnswerParser:
    """Reads answers of one judge; everything that can be compiled is compiled once."""

    def __init__(self, judge: JudgeModel) -> None:
        self._rubric = judge.rubric
        self._response = judge.response
        self._schema = SchemaValidator(without_scores(judge.response, judge)) if judge.response else None
        self._essential = SchemaValidator(essential(judge.response, judge)) if judge.response else None
        self._means = [(split_path(mean.path), mean.scale) for mean in judge.means]
        self._lines = ScoreLines(judge.rubric)
        self._scores_in = judge.scores_in
        names = (*judge.rubric.names, *filter(None, [judge.scores_in]))
        self._names_one = SchemaValidator({"type": "object", "anyOf": [{"required": [name]} for name in names]})
        listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        self._scores_part = re.compile(rf"""["']{re.escape(judge.scores_in)}["']\s*:\s*(\{{[^{{}}]*\}}?)""")
        self._key = re.compile(rf"""["'](?:{listed})["']\s*:""")

    def parse(self, text: str, judged: str = "", *, cut_off: bool = False) -> Parsed:
        """What an answer says; never raises, and never gives a score that is not in the text.

        `judged` is the text it is about; `cut_off` says that it reached the limit of tokens.
        """
        if not cut_off or _ends_with_document(text):
            return self._parsed(text, judged)
        # The cut may have gone through the last word: `1` is perhaps the beginning of `10`.
        parsed = self._parsed(_without_last_word(text), judged)
        if parsed.value is None:
            return replace(parsed, problems=(BROKE_OFF, *parsed.problems), broken_off=True)
        return Parsed(parsed.value, "basic", lacking=(BROKE_OFF, *parsed.lacking), broken_off=True)

    def _parsed(self, text: str, judged: str) -> Parsed:
        if not text.strip():
            return _unusable("the answer is empty")
        result = documents(text)
        if len(result) == 1 and not (text[: result[0].start].strip() or text[result[0].end :].strip()):
            whole = result[0]
            if _copied([whole], judged) and _has_words(whole.value):
                return _unusable(_COPIED)
            return self.check(whole.value, "strict", whole)
        begin = answer_begins(text, result)
        if begin is None:
            return _unusable("there are thoughts and no answer after them")
        if begin:
            text, result = text[begin:], documents(text[begin:])
        if not text.strip():
            return _unusable("there is no answer after the thoughts")
        copied = _copied(result, judged)
        starts = {item.start for item in copied}
        parsed = self._embedded(blanked(text, copied), [item for item in result if item.start not in starts])
        return _unusable(*parsed.problems, _COPIED) if copied and parsed.value is None else parsed

    def check(self, value: Any, step: str, document: JsonDocument | None = None) -> Parsed:
        """The value on that step, on `basic` when only its scores and flags are as asked for, or what is wrong.

        `document` is where it was read from, which knows the keys that stand in it twice.
        """
        if not isinstance(value, dict):
            return _unusable(f"the answer is not an object with scores: {quoted_value(value)}")
        holder = self._holder(value)
        wrong = score_problems(holder, self._rubric, self._repeated(value, holder, document))
        amiss, extra = self._amiss(value)
        if not wrong:
            result = self._with(value, scores_of(holder, self._rubric))
            lacking = list(amiss)
            if self._scores_in and holder is value:
                lacking = lacking or [f"the scores are not in {quoted_value(self._scores_in)}"]
            if not lacking:
                return Parsed(result, step, extra=extra)
            # Without the field for them, the scores may be those of another object.
            if (holder is value and self._scores_in) or not (self._essential and self._essential.fits(value)):
                return Parsed(result, "basic", lacking=tuple(lacking))
            for path, scale in self._means:
                _drop_off_scale(result, path, scale)
            return Parsed(result, step, extra=extra, dropped=tuple(lacking))
        # What is wrong with a score is told in one way; the schema says it again in its own words.
        again = tuple(start for name in wrong for start in self._as_the_schema_begins(name))
        others = [item for item in amiss if not item.startswith(again)]
        return _unusable(*wrong.values(), *self._wrapped(value, wrong), *others)

    def _amiss(self, value: dict[str, Any]) -> tuple[list[str], tuple[str, ...]]:
        """What does not fit the schema, and the fields too many of an answer that fits it without them."""
        if self._schema is None or self._schema.fits(value):
            return [], ()
        needed, extra = without_extra(value, self._response)
        if extra and self._schema.fits(needed):
            return [], extra
        return self._schema.problems(value), ()

    def _holder(self, value: dict[str, Any]) -> dict[str, Any]:
        """The object that scores and flags are read from: the field named for them, the answer itself without it."""
        inner = value.get(self._scores_in) if self._scores_in else None
        return inner if isinstance(inner, dict) else value

    def _repeated(
        self, value: Mapping[str, Any], holder: Mapping[str, Any], document: JsonDocument | None
    ) -> Collection[str]:
        """Names of which nobody can say which of several scores was meant."""
        if holder is value:
            return frozenset() if document is None else document.repeated
        names = frozenset(self._rubric.names)
        if document is not None and self._scores_in in document.repeated:
            return names
        inside = (
            set() if document is None else {key for outer, key in document.repeated_inside if outer == self._scores_in}
        )
        return inside | (names & value.keys())

    def _with(self, value: dict[str, Any], scores: Mapping[str, float | bool]) -> dict[str, Any]:
        """The answer with its scores in the place that the suite names."""
        if not self._scores_in:
            return {**value, **scores}
        holder = self._holder(value)
        if holder is value:
            return {key: item for key, item in value.items() if key not in scores} | {self._scores_in: dict(scores)}
        return {**value, self._scores_in: {**holder, **scores}}

    def _as_the_schema_begins(self, name: str) -> tuple[str, ...]:
        """How the schema's own words on a field begin."""
        inside = f"{self._scores_in}.{name}"
        return f"{name}:", f'"{name}" ', f"{inside}:", f'"{inside}" ', f'{self._scores_in}: "{name}" '

    def _wrapped(self, value: dict[str, Any], wrong: dict[str, str]) -> list[str]:
        """A hint when the scores stand in another field than the one they belong in."""
        belong = f"in {quoted_value(self._scores_in)}" if self._scores_in else "at the top of the object"
        return [
            f"the scores stand inside {quoted_value(key)}: they belong {belong}"
            for key, inner in value.items()
            if isinstance(inner, dict) and key != self._scores_in
            if any(name not in value and isinstance(inner.get(name), (int, float)) for name in wrong)
        ]

    def _embedded(self, text: str, result: list[JsonDocument]) -> Parsed:
        """What a text says that is more than a JSON document, or less."""
        plain = blanked(text, result)
        naming = [item for item in result if self._key.search(text, item.start, item.end)]
        last = naming[-1] if naming else None
        after = last.end if last else 0
        if last is None or self._key.search(plain, after):
            fixed = self._fixed(text[after:])
            if fixed is not None:
                return self._agreeing(self.check(fixed, "repaired"), plain, after)
            if last is not None:
                return _unusable("after its first JSON the answer goes on with JSON that cannot be read")
            return self._by_lines(plain, text)
        return self._agreeing(self.check(last.value, "extracted", last), plain, after)

    def _fixed(self, text: str) -> dict[str, Any] | None:
        """A broken object in the text that names a dimension or flag, if each of its scores stands there just so."""
        value = extract_json(text, self._names_one).value
        if not isinstance(value, dict):
            return None
        holder = self._holder(value)
        if holder is not value:
            parts = self._scores_part.findall(text)
            if len(parts) != 1:
                return None
            text = parts[0]
        given = [name for name in self._rubric.names if name in holder]
        return value if all(_stands(name, holder[name], text) for name in given) else None

    def _by_lines(self, plain: str, text: str) -> Parsed:
        values, problems = self._lines.read(plain)
        if not problems:
            result = self._with({}, scores_of(values, self._rubric))
            return Parsed(result, "basic", lacking=("the scores are in plain lines, not in JSON",))
        if len(problems) < len(self._rubric.names) or not all(
            problem.endswith("missing") for problem in problems.values()
        ):
            return _unusable(*problems.values())
        message_of_extraction = extract_json(text, self._names_one).problems
        return _unusable(*message_of_extraction, f"there is no JSON object with {', '.join(self._rubric.names)}")

    def _agreeing(self, parsed: Parsed, plain: str, after: int) -> Parsed:
        """The same, unless plain lines say otherwise: all scores anywhere, or one of them after the JSON.

        A judge may quote JSON of the text it judges and give its own scores in lines; a draft before the JSON is fine.
        """
        if parsed.value is None:
            return parsed
        _, problems = self._lines.read(plain)
        against = self._lines.against(plain[after:] if problems else plain, self._holder(parsed.value))
        return _unusable(*against) if against else parsed


def without_scores(schema: Mapping[str, Any], judge: JudgeModel) -> dict[str, Any]:
    """The schema of a reply without what it asks of scores and flags, which `score_problems` looks at."""
    free = dict.fromkeys(judge.rubric.names, True)
    properties = dict(schema.get("properties", {}))
    inner = properties.get(judge.scores_in) if judge.scores_in else None
    if isinstance(inner, Mapping):
        properties[judge.scores_in] = {**inner, "properties": {**inner.get("properties", {}), **free}}
    else:
        properties |= {name: True for name in free if name in properties}
    return {**schema, "properties": properties} if properties else dict(schema)


def essential(schema: Mapping[str, Any], judge: JudgeModel) -> dict[str, Any]:
    """The schema of what a reply must have to count as more than its scores.

    A value of a further figure (`judge.figures`) that is off its scale or missing costs that value alone. Where the
    suite has a `check`, that looks at the entries of lists one by one, and single values beside them are not needed; a
    list that is missing is, since an error that was not found cannot be told from one that was not looked for.
    """
    schema = without_scores(schema, judge)
    optional = {split_path(mean.path)[0] for mean in judge.means}
    properties: dict[str, Any] = {}
    for name, part in schema.get("properties", {}).items():
        kind = part.get("type") if isinstance(part, Mapping) else None
        if judge.check and kind == "array":
            items = part.get("items")
            kept = {"type": items["type"]} if isinstance(items, Mapping) and "type" in items else True
            part = {**part, "items": kept}
        elif judge.check and kind in ("string", "number", "integer", "boolean"):
            optional.add(name)
        properties[name] = True if name in optional else part
    required = [name for name in schema.get("required", ()) if name not in optional]
    return {**schema, "properties": properties, "required": required, "additionalProperties": True}


def _drop_off_scale(value: dict[str, Any], path: tuple[str, ...], scale: tuple[float, float]) -> None:
    """Take out what stands at the path unless it is a number on the scale; what lies around it is copied first."""
    for step in path[:-1]:
        inner = value.get(step)
        if not isinstance(inner, dict):
            return
        value[step] = value = dict(inner)
    number = value.get(path[-1])
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not scale[0] <= number <= scale[1]:
        value.pop(path[-1], None)


def _without_last_word(text: str) -> str:
    """The text up to its last word. By hand: a pattern for the end of a text takes the square of its length."""
    end = len(text)
    while end and (text[end - 1].isalnum() or text[end - 1] in "_.+-"):
        end -= 1
    return text[:end]


def without_extra(value: dict[str, Any], schema: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The object without the fields that a closed schema does not list, also inside it, and their names."""
    available = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False
    extra = [name for name in value if closed and name not in available]
    retained = {name: item for name, item in value.items() if name not in extra}
    for name, entry in retained.items():
        if isinstance(entry, dict) and isinstance(available.get(name), dict):
            retained[name], inside = without_extra(entry, available[name])
            extra += [f"{name}.{item}" for item in inside]
    return retained, tuple(extra)


def _ends_with_document(text: str) -> bool:
    """True when nothing but space, or the end of a fence, comes after a JSON document."""
    end = len(text.rstrip().removesuffix("```").rstrip())
    result = documents(text)
    return bool(result) and result[-1].end == end


def _unusable(*problems: str) -> Parsed:
    return Parsed(None, None, tuple(dict.fromkeys(problems)))


def _copied(result: list[JsonDocument], judged: str) -> list[JsonDocument]:
    """Those documents that stand in the text under judgement too."""
    if not result or "{" not in judged:
        return []
    theirs = {_hashable(document.value) for document in documents(judged)}
    return [item for item in result if isinstance(item.value, dict) and _hashable(item.value) in theirs]


def _hashable(value: Any) -> Hashable:
    """The same for equal values: a search among thousands of documents takes the square of their number."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _has_words(value: Any) -> bool:
    """True when a copy cannot be chance: bare scores may well be the same, reasons never are."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(item, str) and item.strip() for item in inner) or any(
        _has_words(item) for item in inner if isinstance(item, (dict, list))
    )


def _stands(name: str, value: Any, text: str) -> bool:
    """True when the value stands in the text after the name, whole, and the name is the key of nothing else there.

    Between marks every mention counts as a key. Without marks it may be a word of a note ("tone: 'so it goes'"), so
    that beside a key in marks only one in the place of a key and with a value counts.
    """
    quoted = [match.end() for match in re.finditer(rf"[\"']\s*{re.escape(name)}\s*[\"']\s*:\s*", text, re.IGNORECASE)]
    bare = rf"(?<![\w\"']){re.escape(name)}\s*:\s*"
    if quoted:
        bare = rf"[{{,]\s*{re.escape(name)}\s*:\s*(?=[\"']?(?:[-+.0-9]|true\b|false\b))"
    places = [*quoted, *(match.end() for match in re.finditer(bare, text, re.IGNORECASE))]
    there = _VALUE.match(text, places[0]) if len(places) == 1 else None
    return there is not None and there[1].lower() == quoted_value(value).lower()
