"""The spans of one answer and the prompt they were extracted from, and how often spans of a confidence are wrong."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from steelyard import Certainty, Finding
from steelyard.spans import TextSpan, read_spans, section_at

from .prompts import OFFSETS, sections_in
from .taxonomy import category_of

_SENTENCE = re.compile(r"[.!?\n]+\s")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_AROUND = " \"'“”‘’.,;:"


def plain(text: str) -> str:
    """The text in lower case, runs of spaces made one, without quotes and stops around it."""
    return " ".join(_folded(text).split()).strip(_AROUND)


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


class Extracted:
    """Spans by their index in the answer, offsets in UTF-16 units; one that is no record is a span without a text."""

    def __init__(self, spans: Sequence[Any], prompt: str, gold: Sequence[Any] | None = None) -> None:
        """Phrases that are gold spans are not extracted with a longer one around them; no gold at all is None."""
        self._spans: list[Mapping[str, Any]] = [span if isinstance(span, dict) else {} for span in spans]
        self.prompt = prompt
        self.has_gold = gold is not None
        """Whether it is known what should have been extracted."""
        self._gold = [span for span in gold or () if isinstance(span, dict)]
        self._own = {plain(str(span.get("text"))) for span in self._gold}

    def __len__(self) -> int:
        return len(self._spans)

    def text(self, index: int) -> str:
        """The text of a span."""
        return str(self._spans[index].get("text") or "")

    def role(self, index: int) -> str:
        """The role of a span."""
        return str(self._spans[index].get("role") or "")

    def categories(self) -> set[str]:
        """The categories that a span has, here or among the gold ones."""
        return {category_of(str(span.get("role"))) for span in (*self._spans, *self._gold)}

    @cached_property
    def _sections(self) -> dict[str, tuple[int, int] | None]:
        return sections_in(self.prompt)

    @cached_property
    def _placed(self) -> dict[int, TextSpan]:
        spans = read_spans(self._spans, self.prompt, offsets=OFFSETS, sections=self._sections)
        return {span.index: span for span in spans.placed}

    def in_prompt(self, text: str) -> bool:
        """Whether the prompt says so: in these words, or with all of them in one sentence."""
        if self._places(text):
            return True
        wanted = _words(text)
        return any(wanted <= sentence for sentence in self._sentences)

    def holding(self, text: str, category: str) -> int | None:
        """The span that a phrase was extracted with, when all its places in the prompt are in such spans; else None.

        A span holds a phrase that it is, whatever its role, or that it contains, if it is of the same category and the
        phrase is no gold span of its own.
        """
        places = self._places(text)
        held = [self._held_at(place, text, category) for place in places]
        if places:
            return None if None in held else held[0]
        # Not in these words: then only a span of the very same words is the phrase.
        return next((at for at in range(len(self)) if plain(self.text(at)) == plain(text)), None)

    def _held_at(self, place: tuple[int, int], text: str, category: str) -> int | None:
        phrase = plain(text)
        for index, span in self._placed.items():
            inside = span.start <= place[0] and place[1] <= span.end
            alike = category_of(span.role) == category and phrase not in self._own
            if inside and (alike or plain(span.text) == phrase):
                return index
        return None

    def _places(self, text: str) -> list[tuple[int, int]]:
        """Where the phrase stands in the prompt as whole words, in whatever case and spacing."""
        phrase = [word for word, _ in _tokens(text.strip(_AROUND))]
        words = self._tokens
        n = len(phrase)
        starts = [at for at, (word, _) in enumerate(words) if phrase and word == phrase[0]]
        matches = [at for at in starts if [word for word, _ in words[at : at + n]] == phrase]
        return [(words[at][1][0], words[at + n - 1][1][1]) for at in matches]

    @cached_property
    def _tokens(self) -> list[tuple[str, tuple[int, int]]]:
        return _tokens(self.prompt)

    @cached_property
    def _sentences(self) -> list[set[str]]:
        return [_words(sentence) for sentence in _SENTENCE.split(self.prompt)]

    def finding(self, code: str, index: int, *, expected: Any = None, got: Any = None, evidence: str = "") -> Finding:
        """An error at a span; `got` is its text unless something else is given."""
        placed = self._placed.get(index)
        text, role = self.text(index), self.role(index)
        return Finding(
            code,
            f"spans[{index}]",
            expected,
            text if got is None else got,
            evidence or (repr(text) if got is not None else f"{role}, says the judge"),
            span=None if placed is None else (placed.start, placed.end),
            section="" if placed is None else placed.section,
        )

    def certainties(self, refused: Collection[int]) -> tuple[Certainty, ...]:
        """Every span that has a confidence, and whether it is among the false positives."""
        return tuple(
            Certainty(float(span["confidence"]), index not in refused, category_of(self.role(index)))
            for index, span in enumerate(self._spans)
            if bucket(span.get("confidence")) is not None
        )

    def missed(self, text: str, role: str, severity: str) -> Finding:
        """A phrase that should have been extracted; its place is the first one that no span of its category holds."""
        category = category_of(role)
        place = next(
            (candidate for candidate in self._places(text) if self._held_at(candidate, text, category) is None), None
        )
        section = "" if place is None else section_at(self._sections, place[0])
        evidence = f"{role}, says the judge"
        return Finding("MISSED", expected=text, evidence=evidence, severity=severity, span=place, section=section)


def _tokens(text: str) -> list[tuple[str, tuple[int, int]]]:
    """Words and signs, each as it is compared and with its place."""
    return [(_folded(match.group()), match.span()) for match in _TOKEN.finditer(text)]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", plain(text)))


RANGES = {"high": (0.8, 1.0), "medium": (0.6, 0.8), "low": (0.0, 0.6)}
"""Each bucket owns its lower bound; the upper one belongs to the next, 1 to the highest."""
_TOO_OFTEN = 0.5
_EXAMPLES = 3

Judged = tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]
"""The spans of a prompt, and its false positives, which point to spans by their index."""


def confidence_analysis(judged: Iterable[Judged]) -> dict[str, Any]:
    """Spans and false positives by bucket, with the seed's recommendation of a threshold."""
    total = dict.fromkeys(RANGES, 0)
    wrong: dict[str, list[str]] = {name: [] for name in RANGES}
    for spans, false_positives in judged:
        for span in spans:
            if (name := bucket(span.get("confidence"))) is not None:
                total[name] += 1
        for record in false_positives:
            index = record.get("spanIndex")
            pointed = spans[index] if isinstance(index, int) and 0 <= index < len(spans) else {}
            if (name := bucket(pointed.get("confidence"))) is not None:
                wrong[name].append(f'"{pointed.get("text")}" ({pointed.get("role")})')
    buckets = {
        name: {
            "range": list(RANGES[name]),
            "total": total[name],
            "errors": len(wrong[name]),
            "errorRate": len(wrong[name]) / total[name] if total[name] else 0,
            "examples": wrong[name][:_EXAMPLES],
        }
        for name in RANGES
    }
    threshold, notes = _recommended(buckets)
    return {"buckets": buckets, "recommendedThreshold": threshold, "notes": notes}


def bucket(confidence: Any) -> str | None:
    """The bucket that a confidence is in; None when it is none."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        return None
    return next(name for name, (low, _) in RANGES.items() if confidence >= low)


def _recommended(buckets: Mapping[str, Any]) -> tuple[float | None, str]:
    """The upper end of the highest bucket that is wrong more often than right: above it such spans are gone."""
    for name, (low, high) in RANGES.items():
        rate, n = buckets[name]["errorRate"], buckets[name]["total"]
        if rate > _TOO_OFTEN:
            message = f"{rate:.0%} of {n} spans with a confidence from {low:g} to {high:g} are false positives"
            return high, f"{message}: raise the threshold above {low:g}, to {high:g}."
    return None, "No clear confidence threshold recommendation."
