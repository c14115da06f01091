"""A labeller without a model: trade vocabulary, patterns for figures, and guesses by the shape of a phrase.

It is the suite's default target, and it makes the mistakes that such programs make: it labels headers, takes moods for
styles, and says the same thing twice. Its confidences are what each rule deserves: 0.95 for a phrase of the trade of
two words or more, 0.9 for one word of it and for a pattern of figures, 0.5 to 0.7 for a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from steelyard import Case

_PATTERNS: Final = {
    "technical.duration": r"\b\d+(?:\.\d+)?(?:\s?s|\s?sec|\s?seconds?)\b",
    "technical.aspectRatio": r"\b\d+(?:\.\d+)?:\d+\b",
    "technical.frameRate": r"\b\d+(?:\.\d+)?\s?fps\b",
    "technical.resolution": r"\b(?:[2468]K|\d{3,4}p|\d{3,4}\s?[x×]\s?\d{3,4})\b",
    "camera.focus": r"\bf/\d+(?:\.\d+)?(?:\s?[-–]\s?f/\d+(?:\.\d+)?)?",
    "camera.lens": r"\b\d+(?:\.\d+)?\s?mm\b(?:\s(?:lens|anamorphic|macro))?",
    "lighting.colorTemp": r"\b\d{4,5}\s?K\b",
}
_WORD: Final = re.compile(r"[^\W_](?:[\w'’\-]*\w)?")
_ACTION: Final = re.compile(r"\b[a-z]{2,}ing\b")
_BREAK: Final = re.compile(r"[.,;:!?()\[\]\n*]")
_SUBJECT: Final = re.compile(
    r"(?:^|\b(?:of|on|following)\s+)(?:(?:an?|the|two)\s+)?(?=\w)", re.IGNORECASE | re.MULTILINE
)
_STYLE: Final = re.compile(r"\bstyle(?: reference)?:\**\s+", re.IGNORECASE)
_SOUND: Final = re.compile(r"\b(?:audio|sound):\**\s+", re.IGNORECASE)
_SUREST_GUESS: Final = 0.7
_LONGEST_PHRASE: Final = 4
_LONGEST_ACTION: Final = 5
_LONGEST_LISTED: Final = 6


@dataclass(frozen=True, slots=True)
class _Candidate:
    start: int
    end: int
    role: str
    confidence: float


def label(case: Case) -> dict[str, Any]:
    """The spans of a prompt in the order of the text, offsets in UTF-16 units; all it looks at is the prompt."""
    text: str = case.input["text"]
    spans = sorted(_spans(text), key=lambda span: (span.start, span.end, span.role))
    return {
        "spans": [
            {
                "text": text[span.start : span.end],
                "role": span.role,
                "confidence": span.confidence,
                "start": _utf16(text[: span.start]),
                "end": _utf16(text[: span.end]),
            }
            for span in spans
        ]
    }


def _spans(text: str) -> list[_Candidate]:
    sure = _longest([*_figures(text), *_closed(text)])
    guesses = [*_by_head(text), *_subjects(text), *_actions(text), *_listed(text)]
    chosen = list(sure)
    for guess in sorted(guesses, key=lambda span: (-span.confidence, span.start, -span.end)):
        if not any(_same_or_worse(guess, other) for other in chosen):
            chosen.append(guess)
    return chosen


def _same_or_worse(guess: _Candidate, other: _Candidate) -> bool:
    """True when the guess adds nothing: it overlaps a guess, or lies in or crosses something sure.

    A longer guess around a sure word stays beside it; so do people's programs, and so the same thing is said twice.
    """
    if guess.end <= other.start or other.end <= guess.start:
        return False
    holds = guess.start <= other.start and other.end <= guess.end
    longer = guess.end - guess.start > other.end - other.start
    return not (holds and longer and other.confidence > _SUREST_GUESS)


def _longest(spans: list[_Candidate]) -> list[_Candidate]:
    """Of spans that overlap the longest, the first of equals."""
    chosen: list[_Candidate] = []
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        if all(span.end <= other.start or other.end <= span.start for other in chosen):
            chosen.append(span)
    return chosen


def _figures(text: str) -> Iterator[_Candidate]:
    for role, pattern in _PATTERNS.items():
        for match in re.finditer(pattern, text):
            yield _Candidate(match.start(), match.end(), role, 0.9)


def _closed(text: str) -> Iterator[_Candidate]:
    for role, pattern in _vocabulary().closed.items():
        for match in pattern.finditer(text):
            yield _Candidate(match.start(), match.end(), role, 0.95 if re.search(r"[ \-]", match[0]) else 0.9)


def _by_head(text: str) -> Iterator[_Candidate]:
    """Phrases that end in a word which says what they are, with the words before it that are no stop words."""
    vocabulary = _vocabulary()
    words = list(_WORD.finditer(text))
    for at, word in enumerate(words):
        role = vocabulary.role_of_head.get(word[0].lower())
        if role is None or text[word.end() : word.end() + 1] == ":":
            continue
        first = at
        while first > 0 and at - first < _LONGEST_PHRASE - 1 and _goes_on(text, words[first - 1], words[first]):
            first -= 1
        yield _Candidate(words[first].start(), word.end(), role, 0.7 if first < at else 0.6)


def _subjects(text: str) -> Iterator[_Candidate]:
    """What is filmed: the words after `of a`, or at the beginning, up to the first stop word or action."""
    for match in _SUBJECT.finditer(text):
        phrase = _phrase(text, match.end(), _LONGEST_PHRASE)
        if phrase is not None and text[phrase[1] : phrase[1] + 1] != ":":
            yield _Candidate(*phrase, "subject.identity", 0.6)


def _actions(text: str) -> Iterator[_Candidate]:
    """A word in -ing and what it is done to, up to the first preposition or break."""
    for match in _ACTION.finditer(text):
        if match[0] not in _vocabulary().not_actions:
            end = _end_of_action(text, match.end())
            yield _Candidate(match.start(), end, "action.movement", 0.65 if end > match.end() else 0.55)


def _end_of_action(text: str, end: int) -> int:
    for passed, word in enumerate(_WORD.finditer(text, end), 1):
        if _BREAK.search(text, end, word.start()):
            break
        lower = word[0].lower()
        if lower in _vocabulary().stop and lower not in ("a", "an", "the", "her", "his"):
            break
        if passed > _LONGEST_ACTION:
            break
        end = word.end()
    return end


def _listed(text: str) -> Iterator[_Candidate]:
    """What stands in a list after `Style:` or `Audio:`, item by item."""
    for opening, role, confidence in ((_STYLE, "style.aesthetic", 0.6), (_SOUND, "audio.soundEffect", 0.68)):
        for match in opening.finditer(text):
            line_end = text.find("\n", match.end())
            line = text[match.end() : line_end if line_end >= 0 else len(text)].split(". ")[0]
            at = match.end()
            for item in re.split(r"(,| and )", line):
                bare = re.match(r"\s*(?:(?:an?|the)\s+)?", item, re.IGNORECASE)
                start, end = at + (bare.end() if bare else 0), at + len(item.rstrip(" ."))
                at += len(item)
                if end > start and item not in (",", " and ") and len(item.split()) <= _LONGEST_LISTED:
                    yield _Candidate(start, end, role, confidence)


def _phrase(text: str, at: int, most: int) -> tuple[int, int] | None:
    """The words from there on that belong together; None when there are none."""
    start = end = None
    taken = 0
    for word in _WORD.finditer(text, at):
        lower = word[0].lower()
        ends = lower in _vocabulary().stop or (lower.endswith("ing") and lower not in _vocabulary().not_actions)
        if ends or taken == most or _BREAK.search(text, end if end is not None else at, word.start()):
            break
        start = word.start() if start is None else start
        end, taken = word.end(), taken + 1
    return None if start is None or end is None else (start, end)


def _goes_on(text: str, before: re.Match[str], after: re.Match[str]) -> bool:
    """True when the word before belongs to the same phrase; past a comma only when it may stand in a row of such."""
    between, lower = text[before.end() : after.start()], before[0].lower()
    if between == ", ":
        return lower in _vocabulary().in_a_row
    return between == " " and lower not in _vocabulary().stop


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    closed: dict[str, re.Pattern[str]]
    role_of_head: dict[str, str]
    stop: frozenset[str]
    in_a_row: frozenset[str]
    not_actions: frozenset[str]


@cache
def _vocabulary() -> _Vocabulary:
    given = yaml.safe_load(Path(__file__).with_name("vocabulary.yaml").read_text(encoding="utf-8"))
    closed = {role: _any_of(phrases) for role, phrases in given["closed"].items()}
    heads = {word: role for role, words in given["heads"].items() for word in words}
    return _Vocabulary(closed, heads, *(frozenset(given[key]) for key in ("stop", "in_a_row", "not_actions")))


def _any_of(phrases: list[str]) -> re.Pattern[str]:
    longest_first = sorted(phrases, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)
