"""The nine categories and their roles, as `taxonomy.yaml` lists them, and six reasons not to label a span.

The rules of the reasons are tried in a fixed order:

duplicate           the matching says so: what it says has been said
section_header      it lies in a header, a label before a colon, or the title of a variation
instruction_text    it lies in a sentence or clause that tells the maker what to do, not what is seen
non_visual          it is about sound, smell or taste and has the role of something that is seen
abstract_concept    its last word, or its first, names a thought or feeling that cannot be filmed
other               none of these
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from steelyard.spans import TextSpan


@dataclass(frozen=True, slots=True)
class Category:
    """One category: what it is about, how much it hurts to miss a span of it, and its roles with a sentence each."""

    name: str
    about: str
    missed: str
    roles: MappingProxyType[str, str]


@cache
def categories() -> MappingProxyType[str, Category]:
    """All categories by name, in the order of the file."""
    path = Path(__file__).with_name("taxonomy.yaml")
    listed: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["categories"]
    return MappingProxyType({name: _category(name, given) for name, given in listed.items()})


def category_of(role: str) -> str:
    """The first part of a role: `subject` of `subject.wardrobe`; a role of no category gives its own first part."""
    return role.partition(".")[0]


def severity_of(role: str) -> str:
    """How much it hurts to miss a span of that role: critical, important or minor."""
    category = categories().get(category_of(role))
    return "minor" if category is None else category.missed


def _category(name: str, given: dict[str, Any]) -> Category:
    roles = {f"{name}.{sub}": about for sub, about in given["roles"].items()}
    return Category(name, given["about"], given["missed"], MappingProxyType(roles))


REASONS: Final = ("section_header", "abstract_concept", "non_visual", "instruction_text", "duplicate", "other")
"""All six, in the order of the seed."""

_HEADER: Final = re.compile(
    r"\*\*[^*\n]+\*\*|^[ \t]*(?:[-•\d.)]+[ \t]*)?[^\W\d_][\w \t]{0,30}:|(?<=[.!?] )[A-Z]\w*(?: \w+){0,2}:"
    r"|^[ \t]*\d+[.)]",
    re.MULTILINE,
)
_INSTRUCTION: Final = re.compile(
    r"(?:(?<=[.!?]\s)|(?<=\n)|\A)"
    r"(?:keep|avoid|maintain|do not|don't|never|always|hold|leave|ensure|make sure)\b[^.!?\n]*"
    r"|\bto (?:guide|isolate|separate|keep|hold|emphasi[sz]e|highlight|show|draw|suggest|convey|create|evoke)\b"
    r"[^.!?\n]*|\bso that\b[^.!?\n:]*",
    re.IGNORECASE,
)
_SOUND_LINE: Final = re.compile(r"^[ \t]*(?:[-•][ \t]*)?\**(?:audio|sound)\b[^\n]*", re.IGNORECASE | re.MULTILINE)
_SENSED: Final = re.compile(
    r"\b(?:sounds?|silence|music|melody|voices?|noise|echo|breathing|humming|ringing|scent|smell|taste|aroma)\b",
    re.IGNORECASE,
)
_ABSTRACT: Final = frozenset({
    "mood", "moods", "atmosphere", "feeling", "feelings", "sense", "tension", "friendship", "wisdom", "hope", "destiny",
    "emotion", "emotions", "forgiveness", "memory", "memories", "nostalgia", "beauty", "mystery", "time", "age",
    "power", "freedom", "love", "loss", "energy", "story", "meaning", "depth", "intimacy", "drama", "tone",
    "attention", "continuity", "second", "beginning",
})  # fmt: skip


def reason(span: TextSpan, prompt: str, *, duplicate: bool = False) -> str:
    """The first of the reasons that fits."""
    if duplicate:
        return "duplicate"
    if _inside(span, prompt, _HEADER):
        return "section_header"
    if _inside(span, prompt, _INSTRUCTION):
        return "instruction_text"
    if not span.role.startswith("audio.") and (_SENSED.search(span.text) or _inside(span, prompt, _SOUND_LINE)):
        return "non_visual"
    words = re.findall(r"\w+", span.text.lower())
    if words and (words[-1] in _ABSTRACT or words[0] in _ABSTRACT):
        return "abstract_concept"
    return "other"


def _inside(span: TextSpan, prompt: str, pattern: re.Pattern[str]) -> bool:
    return any(match.start() <= span.start and span.end <= match.end() for match in pattern.finditer(prompt))
