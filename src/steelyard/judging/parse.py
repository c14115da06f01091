"""The ladder of a judge's answer: from what it wrote to scores that can be used, or to why there are none.

Rungs, tried in this order:

strict      the whole text is one JSON document that fits the response schema, every score and flag valid
extracted   so is a document that stands in the text
repaired    so is a broken one, mended; each score must stand in the text as it is, after its name, and only once
basic       every score and flag is valid, and nothing else is as asked for: an object that lacks other fields, or
            plain lines such as `tone: 4`

What decides is the last document that names a dimension or flag: whoever drafts first and then answers is taken at the
last word, and a last word that cannot be used is not replaced by an earlier one. An answer that broke off at the limit
of tokens is whole when it ends with its document; of any other no more than the scores before the cut is read, on
`basic`, however well it could be mended. A wrapped answer (`{"result":
{...}}`, `[{...}]`) is in the wrong shape. Where the suite says `scores_in: scores`, scores and flags are read from
that field; standing at the top instead, they are read too, on `basic`, and standing in both they are not. A score that
is missing, out of range, a text, true or false, fractional or given twice cannot be used on any rung: nothing is
clamped, converted or filled in. Thoughts of a reasoning model are no part of its answer, and neither is JSON that is
copied from the text under judgement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from steelyard.answer import SchemaValidator, climb
from steelyard.judging.documents import Document, blanked, documents
from steelyard.judging.lines import ScoreLines
from steelyard.judging.score_check import quoted_value, score_problems, whole_scores
from steelyard.judging.thoughts import answer_begins
from steelyard.records import BROKE_OFF
from steelyard.suite.judge import JudgeModel

# A value and what may come after it: a comma, the end of the object, or the next key where a comma was forgotten.
# `4 5`, `1,000`, `4` before ` or5` on the next line and `4` at the very end of a text that breaks off are not whole.
_VALUE = re.compile(
    r"""([^\s,}\]"']+)(?=\s*+(?:,(?!\s*[-0-9.])|[}\]]|["'][A-Za-z_][^"'\n]{0,80}["']\s*:)|[^\S\n]*+\n\s*+[A-Za-z_]\w{0,80}\s*:)"""
)
_COPIED = "the JSON in the answer is copied from the text under judgement"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an answer says. `value` and `rung` are None when it cannot be used, and `problems` then says why."""

    value: dict[str, Any] | None
    rung: str | None
    problems: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    """On the rung `basic`, what is not as asked for beside the scores."""
    extra: tuple[str, ...] = ()
    """Fields that nobody asked for: they are passed over."""
    broken_off: bool = False
    """True when only what stands before the limit of tokens could be read: asking again may give more."""


class AnswerParser:
    """Reads answers of one judge; everything that can be compiled is compiled once."""

    def __init__(self, judge: JudgeModel) -> None:
        self._rubric = judge.rubric
        self._response = judge.response
        self._schema = SchemaValidator(judge.response) if judge.response else None
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
        found = documents(text)
        if len(found) == 1 and not (text[: found[0].start].strip() or text[found[0].end :].strip()):
            whole = found[0]
            if _copied([whole], judged) and _has_words(whole.value):
                return _unusable(_COPIED)
            return self.check(whole.value, "strict", whole)
        begin = answer_begins(text, found)
        if begin is None:
            return _unusable("there are thoughts and no answer after them")
        if begin:
            text, found = text[begin:], documents(text[begin:])
        if not text.strip():
            return _unusable("there is no answer after the thoughts")
        copied = _copied(found, judged)
        starts = {one.start for one in copied}
        parsed = self._embedded(blanked(text, copied), [one for one in found if one.start not in starts])
        return _unusable(*parsed.problems, _COPIED) if copied and parsed.value is None else parsed

    def check(self, value: Any, rung: str, document: Document | None = None) -> Parsed:
        """The value on that rung, on `basic` when only its scores and flags are as asked for, or what is wrong.

        `document` is where it was read from, which knows the keys that stand in it twice.
        """
        if not isinstance(value, dict):
            return _unusable(f"the answer is not an object with scores: {quoted_value(value)}")
        holder = self._holder(value)
        wrong = score_problems(holder, self._rubric, self._repeated(value, holder, document))
        amiss, extra = self._amiss(value)
        if not wrong:
            found = self._with(value, whole_scores(holder, self._rubric))
            lacking = list(amiss)
            if self._scores_in and holder is value:
                lacking = lacking or [f"the scores do not stand in {quoted_value(self._scores_in)}"]
            return Parsed(found, "basic", lacking=tuple(lacking)) if lacking else Parsed(found, rung, extra=extra)
        # What is wrong with a score is told in one way; the schema says it again in its own words.
        again = tuple(start for name in wrong for start in self._as_the_schema_begins(name))
        others = [one for one in amiss if not one.startswith(again)]
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
        self, value: Mapping[str, Any], holder: Mapping[str, Any], document: Document | None
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

    def _with(self, value: dict[str, Any], scores: Mapping[str, int | bool]) -> dict[str, Any]:
        """The answer with its scores as whole numbers, in the place that the suite names."""
        if not self._scores_in:
            return {**value, **scores}
        holder = self._holder(value)
        if holder is value:
            return {key: one for key, one in value.items() if key not in scores} | {self._scores_in: dict(scores)}
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

    def _embedded(self, text: str, found: list[Document]) -> Parsed:
        """What a text says that is more than a JSON document, or less."""
        plain = blanked(text, found)
        naming = [one for one in found if self._key.search(text, one.start, one.end)]
        last = naming[-1] if naming else None
        after = last.end if last else 0
        if last is None or self._key.search(plain, after):
            mended = self._mended(text[after:])
            if mended is not None:
                return self._agreeing(self.check(mended, "repaired"), plain, after)
            if last is not None:
                return _unusable("after its first JSON the answer goes on with JSON that cannot be read")
            return self._by_lines(plain, text)
        return self._agreeing(self.check(last.value, "extracted", last), plain, after)

    def _mended(self, text: str) -> dict[str, Any] | None:
        """A broken object in the text that names a dimension or flag, if each of its scores stands there just so."""
        value = climb(text, self._names_one).value
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
            found = self._with({}, whole_scores(values, self._rubric))
            return Parsed(found, "basic", lacking=("the scores stand in plain lines, not in JSON",))
        if len(problems) < len(self._rubric.names) or not all(one.endswith("missing") for one in problems.values()):
            return _unusable(*problems.values())
        told_by_ladder = climb(text, self._names_one).problems
        return _unusable(*told_by_ladder, f"there is no JSON object with {', '.join(self._rubric.names)}")

    def _agreeing(self, parsed: Parsed, plain: str, after: int) -> Parsed:
        """The same, unless plain lines say otherwise: all scores anywhere, or one of them after the JSON.

        A judge may quote JSON of the text it judges and give its own scores in lines; a draft before the JSON is fine.
        """
        if parsed.value is None:
            return parsed
        _, problems = self._lines.read(plain)
        against = self._lines.against(plain[after:] if problems else plain, self._holder(parsed.value))
        return _unusable(*against) if against else parsed


def _without_last_word(text: str) -> str:
    """The text up to its last word. By hand: a pattern for the end of a text takes the square of its length."""
    end = len(text)
    while end and (text[end - 1].isalnum() or text[end - 1] in "_.+-"):
        end -= 1
    return text[:end]


def without_extra(value: dict[str, Any], schema: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The object without the fields that a closed schema does not list, also inside it, and their names."""
    known = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False
    extra = [name for name in value if closed and name not in known]
    kept = {name: one for name, one in value.items() if name not in extra}
    for name, one in kept.items():
        if isinstance(one, dict) and isinstance(known.get(name), dict):
            kept[name], inside = without_extra(one, known[name])
            extra += [f"{name}.{each}" for each in inside]
    return kept, tuple(extra)


def _ends_with_document(text: str) -> bool:
    """True when nothing but space, or the end of a fence, comes after a JSON document."""
    end = len(text.rstrip().removesuffix("```").rstrip())
    found = documents(text)
    return bool(found) and found[-1].end == end


def _unusable(*problems: str) -> Parsed:
    return Parsed(None, None, tuple(dict.fromkeys(problems)))


def _copied(found: list[Document], judged: str) -> list[Document]:
    """Those documents that stand in the text under judgement too."""
    if not found or "{" not in judged:
        return []
    theirs = {_hashable(one.value) for one in documents(judged)}
    return [one for one in found if isinstance(one.value, dict) and _hashable(one.value) in theirs]


def _hashable(value: Any) -> Hashable:
    """The same for equal values: a search among thousands of documents takes the square of their number."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(one)) for key, one in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _has_words(value: Any) -> bool:
    """True when a copy cannot be chance: bare scores may well be the same, reasons never are."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(one, str) and one.strip() for one in inner) or any(
        _has_words(one) for one in inner if isinstance(one, (dict, list))
    )


def _stands(name: str, value: Any, text: str) -> bool:
    """True when the value stands in the text after the name, whole, and the name is the key of nothing else there.

    Between marks every mention counts as a key. Without marks it may be a word of a note ("tone: 'so it goes'"), so
    that beside a key in marks only one in the place of a key and with a value counts.
    """
    quoted = [found.end() for found in re.finditer(rf"[\"']\s*{re.escape(name)}\s*[\"']\s*:\s*", text, re.IGNORECASE)]
    bare = rf"(?<![\w\"']){re.escape(name)}\s*:\s*"
    if quoted:
        bare = rf"[{{,]\s*{re.escape(name)}\s*:\s*(?=[\"']?(?:[-+.0-9]|true\b|false\b))"
    places = [*quoted, *(found.end() for found in re.finditer(bare, text, re.IGNORECASE))]
    there = _VALUE.match(text, places[0]) if len(places) == 1 else None
    return there is not None and there[1].lower() == quoted_value(value).lower()
