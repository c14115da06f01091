"""A document reviewed against a set of standards: four rules, and the observations that they give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .standards import SEVERITIES, Standard, lexicon, reported_at, standards_of
from .text_parts import TextPart, is_heading, is_list_item, paragraphs, sentences, stems, words


@dataclass(frozen=True, slots=True)
class Breach:
    """One place of a document that breaks a rule; `span` is None when it is about the whole."""

    span: tuple[int, int] | None
    severity: str
    message: str
    suggested_fix: str
    confidence: float


_LEARNER = r"(?:students?|trainees?|learners?|participants?|cadets?|candidates?|recruits?|crew(?: members?)?|you)"
_PROMISE = re.compile(
    rf"\b{_LEARNER}\b[^.;:]{{0,40}}?\b(?:will|should|shall|must|can|is able to|are able to|is to|are to)\b", re.I
)
_OBJECTIVES = re.compile(r"\bobjectives?\b|\baims?\b|\boutcomes?\b|by the end of", re.I)
_BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)])\s*(?:to\s+)?")
_ADVERBS = r"(?:(?:be able to|fully|clearly|also|better|then|first|to)\s+)*"
_PROBLEMS = {
    "violation": "cannot be observed or measured",
    "warning": "cannot be observed or measured",
    "info": "can be observed, but hardly measured",
}
_INSTEAD = "Say what the learner will do: state, list, calculate, demonstrate, operate."


def find_unmeasurable_verbs(content: str) -> Iterator[Breach]:
    """Every verb of an objective that cannot be measured, where it stands."""
    in_list_of_objectives = False
    for part in paragraphs(content):
        bullet = _BULLET.match(part.text)
        if bullet and in_list_of_objectives:
            yield from _verbs_in(part, bullet.end())
            continue
        in_list_of_objectives = bool(_OBJECTIVES.search(part.text)) and (
            is_heading(part) or part.text.rstrip().endswith(":")
        )
        for sentence in sentences(part):
            if promise := _PROMISE.search(sentence.text):
                yield from _verbs_in(sentence, promise.end())


def _verbs_in(part: TextPart, at: int) -> Iterator[Breach]:
    """The verb at that place, and every further one that is joined to it."""
    for match in _GOVERNED.finditer(part.text[at:]):
        verb = re.sub(r"\s+", " ", match.group(1)).lower()
        start = part.start + at + match.start(1)
        yield Breach(
            (start, start + len(match.group(1))),
            lexicon().verbs[verb],
            f'"{verb}" {_PROBLEMS[lexicon().verbs[verb]]}.',
            _INSTEAD,
            0.9,
        )


_VERBS = "|".join(
    re.escape(verb).replace(r"\ ", r"\s+") for verb in sorted(lexicon().verbs, key=lambda text: (-len(text), text))
)
_GOVERNED = re.compile(rf"(?:\A\s*|[,;]\s*(?:and\s+|or\s+)?|\b(?:and|or)\s+){_ADVERBS}({_VERBS})(?![\w-])", re.I)


_ACRONYM = re.compile(r"(?<![\w/&-])([A-Z][A-Z0-9]{1,6}(?:[/&][A-Z]{1,4})?)(?=s?(?![\w]))")
_ROMAN = re.compile(r"X{0,3}(?:IX|IV|V?I{0,3})")
_LETTERS = re.compile(r"[^\W\d_]")
_LAST_WORDS = re.compile(r"[^.;:\n(]*\Z")
_LONGEST_NAME = 200


def find_unexplained_acronyms(content: str) -> Iterator[Breach]:
    """Every acronym at its first use, unless it is explained there."""
    seen: set[str] = set()
    loud = [part.span for part in paragraphs(content) if _is_shouted(part.text)]
    for match in _ACRONYM.finditer(content):
        letters = match.group(1)
        in_loud_line = any(start <= match.start() < end for start, end in loud)
        if letters in seen or in_loud_line or _needs_no_words(letters):
            continue
        seen.add(letters)
        at = _explained_at(letters, content)
        if at is None:
            yield _breach(match.span(1), "warning", f'"{letters}" is never explained.')
        elif at > match.start(1):
            yield _breach(match.span(1), "info", f'"{letters}" is used before it is explained.')


def _breach(span: tuple[int, int], severity: str, message: str) -> Breach:
    return Breach(span, severity, message, "Spell it out at its first use, with the letters in brackets.", 0.85)


def _needs_no_words(letters: str) -> bool:
    is_listed = letters in lexicon().known_letters or letters in lexicon().loud_words
    return is_listed or _ROMAN.fullmatch(letters) is not None or sum(letter.isalpha() for letter in letters) < 2


def _is_shouted(text: str) -> bool:
    """True for a line that is all capitals: a headline, in which letters are no acronyms."""
    letters = _LETTERS.findall(text)
    return len(letters) > 8 and all(letter.isupper() for letter in letters)


def _explained_at(letters: str, content: str) -> int | None:
    """Where the letters stand beside their words: in brackets after them, before them in brackets, or "stands for"."""
    name = re.escape(letters)
    for match in re.finditer(rf"\(\s*({name})s?\s*[),;]", content):
        before = _LAST_WORDS.search(content, max(0, match.start() - _LONGEST_NAME), match.start())
        if before and _could_stand_for(letters, before.group().split()):
            return match.start(1)
    for match in re.finditer(
        rf"\b{name}s?\s*(?:\(([^)]{{1,{_LONGEST_NAME}}})\)|(?:stands for|means|is short for)\s+([^.;,\n]+))", content
    ):
        if _could_stand_for(letters, (match.group(1) or match.group(2)).split(), anywhere=True):
            return match.start()
    return None


def _could_stand_for(letters: str, words: list[str], *, anywhere: bool = False) -> bool:
    """True when the first letters of the words give the acronym in order; small words may be left out."""
    wanted = [part.lower() for part in letters if part.isalpha()]
    initials = [part[0].lower() for word in words for part in re.findall(r"[A-Za-z][A-Za-z']*", word)]
    if not anywhere:
        initials = initials[-2 * len(wanted) - 2 :]
    at = 0
    for initial in initials:
        if at < len(wanted) and initial == wanted[at]:
            at += 1
    return at == len(wanted) or (len(wanted) > 2 and at == len(wanted) - 1)


_FORBIDS = re.compile(
    r"\b(?:must not|shall not|may not|should not|cannot|can not|do not|never|no longer|is prohibited|are prohibited"
    r"|is forbidden|are forbidden|not (?:be )?(?:allowed|permitted))\b",
    re.I,
)
_WAIVES = re.compile(
    r"\b(?:optional|not (?:\w+ )?required|not mandatory|need not|not necessary|may be (?:skipped|omitted|left out))\b",
    re.I,
)
_ASKS = re.compile(
    r"\b(?:must|shall|always|is required|are required|mandatory|at all times|has to|have to|required)\b", re.I
)
_ALLOWS = re.compile(r"\b(?:may|is allowed|are allowed|is permitted|are permitted|can)\b", re.I)
_FIGURE = re.compile(
    r"\b(\d+(?:\.\d+)?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)[\s-]+"
    r"(seconds?|minutes?|hours?|days?|weeks?|months?|years?|knots?|met(?:er|re)s?|miles?|people|persons?|crew|volts?|bars?"
    r"|degrees?|percent|litres?|liters?|kilograms?|times)\b",
    re.I,
)
_CONDITION = re.compile(
    r"\b(?:in|on|at|during|when|if|while|unless|except|under|inside|outside|for|within|below|above|from|by)\s+"
    r"((?:[\w'-]+\s*){1,4})",
    re.I,
)
_NUMBERS = dict(one=1, two=2, three=3, four=4, five=5, six=6, seven=7, eight=8, nine=9, ten=10, twelve=12)  # noqa: C408
_SHARED_SHARE = 0.6
_FEWEST_SHARED = 2


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence as far as contradictions go: what it is about, what it asks for, and under which conditions."""

    part: TextPart
    about: frozenset[str]
    stance: str
    figures: tuple[tuple[float, str], ...]
    conditions: frozenset[str]


def find_contradictions(content: str) -> Iterator[Breach]:
    """Every pair of statements that contradict each other, at the place of the second."""
    earlier: dict[str, Statement] = {}
    for second in (_statement(sentence) for part in paragraphs(content) for sentence in sentences(part)):
        if not second.stance and not second.figures:
            continue
        # What was said before in the same words is compared with it once.
        conflicts = ((first, why) for first in earlier.values() if (why := _conflict(first, second)))
        first, why = next(conflicts, (None, ""))
        earlier.setdefault(second.part.text, second)
        if first is not None:
            quoted = first.part.text if len(first.part.text) <= 80 else first.part.text[:79] + "…"
            yield Breach(
                second.part.span,
                "violation",
                f'Contradicts "{quoted}": {why}.',
                "Keep one of the two statements, or say when each of them holds.",
                0.75,
            )


def _statement(part: TextPart) -> Statement:
    figures = tuple((_number(match.group(1)), _unit(match.group(2))) for match in _FIGURE.finditer(part.text))
    plain = _FIGURE.sub(" ", part.text)
    conditions = frozenset(word for match in _CONDITION.finditer(plain) for word in stems(match.group(1)))
    return Statement(part, frozenset(stems(plain)), _stance(part.text), figures, conditions)


def _stance(text: str) -> str:
    for name, pattern in (("forbids", _FORBIDS), ("waives", _WAIVES), ("asks", _ASKS), ("allows", _ALLOWS)):
        if pattern.search(text):
            return name
    return ""


_OPPOSED = {
    frozenset(("asks", "forbids")): "one asks for what the other forbids",
    frozenset(("asks", "waives")): "one asks for what the other makes optional",
    frozenset(("allows", "forbids")): "one allows what the other forbids",
}


def _conflict(first: Statement, second: Statement) -> str:
    """Why the two cannot both be followed; "" when they can."""
    shared = first.about & second.about
    least = min(len(first.about), len(second.about))
    if len(shared) < _FEWEST_SHARED or len(shared) < _SHARED_SHARE * least:
        return ""
    if first.conditions and second.conditions and not first.conditions & second.conditions:
        return ""
    if opposed := _OPPOSED.get(frozenset((first.stance, second.stance))):
        return opposed
    for number, unit in first.figures:
        others = {other for other, of in second.figures if of == unit}
        if others and number not in others:
            return f"{number:g} {unit} and {min(others):g} {unit} are both stated"
    return ""


def _number(text: str) -> float:
    return float(_NUMBERS[text.lower()]) if text.lower() in _NUMBERS else float(text)


def _unit(text: str) -> str:
    return text.lower().rstrip("s")


_MOST_WORDS = 120
_MOST_WORDS_OF_A_SENTENCE = 40
_WITHOUT_HEADING = 200
_FEWEST_STEPS = 3
_STEP = re.compile(
    r"(?:^|[.;,]\s+|\band\s+)"
    r"(first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|after that|afterwards|finally|lastly)\b",
    re.I,
)
_NUMBERED = re.compile(r"\s*(\d+)[.)]\s")


def find_structure_problems(content: str) -> Iterator[Breach]:
    """Every paragraph that is too long or hides a procedure, every list with a hole, and a text without headings."""
    parts = paragraphs(content)
    for part in parts:
        yield from _paragraph(part)
    yield from _holes(parts)
    total = len(words(content))
    if total > _WITHOUT_HEADING and not any(is_heading(part) for part in parts):
        yield Breach(None, "info", f"{total} words without a heading.", "Give each subject a heading of its own.", 0.7)


def _paragraph(part: TextPart) -> Iterator[Breach]:
    if is_list_item(part) or is_heading(part):
        return
    n = len(words(part.text))
    if n > _MOST_WORDS:
        fix = "Break it where the thought changes."
        yield Breach(_trimmed(part), "warning", f"A paragraph of {n} words.", fix, 0.9)
    steps = [match.group(1).lower() for match in _STEP.finditer(part.text)]
    if len(steps) >= _FEWEST_STEPS:
        message = f"A procedure of several steps ({', '.join(steps[:4])}) in running text."
        yield Breach(_trimmed(part), "warning", message, "Write the steps as a numbered list.", 0.8)
    for sentence in sentences(part):
        long = len(words(sentence.text))
        if long > _MOST_WORDS_OF_A_SENTENCE:
            yield Breach(sentence.span, "info", f"A sentence of {long} words.", "Make two of it.", 0.7)


def _holes(parts: list[TextPart]) -> Iterator[Breach]:
    before: int | None = None
    for part in parts:
        numbered = _NUMBERED.match(part.text)
        number = int(numbered.group(1)) if numbered else None
        if number is not None and before is not None and number > before + 1:
            message = f"Step {number} follows step {before}."
            yield Breach(_trimmed(part), "warning", message, "Number the steps without a gap.", 0.9)
        before = number if number is not None else before if not is_heading(part) else None


def _trimmed(part: TextPart) -> tuple[int, int]:
    stripped = part.text.rstrip()
    lead = len(stripped) - len(stripped.lstrip())
    return part.start + lead, part.start + len(stripped)


_CHECKS = {
    "verbs": find_unmeasurable_verbs,
    "acronyms": find_unexplained_acronyms,
    "contradictions": find_contradictions,
    "structure": find_structure_problems,
}


@lru_cache(maxsize=256)
def review(content: str, standards_set: str, strictness: str) -> tuple[dict[str, Any], ...]:
    """The observations on a document, in the order of their places; KeyError when there is no such set.

    The same document is looked at once, and what was found must not be changed.
    """
    standards = standards_of(standards_set)
    if standards is None:
        raise KeyError(standards_set)
    wanted = reported_at(strictness)
    breaches = [
        (standard, breach)
        for standard in standards
        for breach in _CHECKS[standard.check](content)
        if breach.severity in wanted
    ]
    breaches.sort(key=lambda entry: (entry[1].span or (0, 0), entry[0].ref, -SEVERITIES.index(entry[1].severity)))
    return tuple(_observation(at, standard, breach) for at, (standard, breach) in enumerate(breaches, 1))


def _observation(at: int, standard: Standard, breach: Breach) -> dict[str, Any]:
    return {
        "id": f"obs-{at}",
        "span": None if breach.span is None else list(breach.span),
        "severity": breach.severity,
        "category": standard.category,
        "standard_ref": standard.ref,
        "message": breach.message,
        "suggested_fix": breach.suggested_fix,
        "rationale": standard.rationale,
        "standard_excerpt": standard.excerpt,
        "confidence": breach.confidence,
    }
