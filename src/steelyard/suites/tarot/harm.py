"""What a reading may not say: the vocabulary of harm.yaml, matched clause by clause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from .clauses import Clause

_CLASS: Final = re.compile(r"\{([a-z_]+)\}")
_ILLNESS: Final = "ILLNESS"
_NEVER: Final = re.compile(r"(?!)")
_BEFORE: Final = {"advised": "{advice}", "foretold": "{someone} {will} "}
_GAP: Final = re.compile(r" \.\.(?: \??)?")


@dataclass(frozen=True, slots=True)
class Rule:
    """The phrases of one kind of harm, as the head of harm.yaml explains them."""

    code: str
    about: str
    stated: re.Pattern[str]
    denied: re.Pattern[str]
    asked: re.Pattern[str]
    together: tuple[re.Pattern[str], ...]
    unless: re.Pattern[str]
    skip_in_question: bool
    past: bool

    def met(self, clause: Clause) -> bool:
        """True when the clause says this harm, as the reading's own word."""
        if clause.asked and self.asked.search(clause.words):
            return True
        if not clause.stated or self.unless.search(f"{clause.scope} {clause.words}"):
            return False
        for phrase, wanted in ((self.stated, 0), (self.denied, 1)):
            for match in phrase.finditer(clause.words):
                if self._holds(clause, *match.span(), wanted):
                    return True
        places = [pattern.search(clause.words) for pattern in self.together]
        return (
            bool(places)
            and all(place and self._holds(clause, place.start(), place.start(), 0) for place in places)
            and (self.past or not clause.is_past(len(clause.words)))
        )

    def _holds(self, clause: Clause, start: int, end: int, wanted: int) -> bool:
        """True when the reading itself says what stands there, denied when `wanted` is 1 and else not."""
        return (
            clause.denials(start, end, inside=bool(wanted)) % 2 == wanted
            and not clause.is_reported(start)
            and (self.past or not clause.is_past(end))
        )


@dataclass(frozen=True, slots=True)
class HarmLexicon:
    """The rules of harm.yaml, and the tags that stand for whole vocabularies in a clause."""

    tags: Mapping[str, re.Pattern[str]]
    rules: tuple[Rule, ...]

    def tagged(self, words: str) -> str:
        """The words with each tag in the place of what it stands for."""
        for name, pattern in self.tags.items():
            words = pattern.sub(name, words)
        return " ".join(words.split())

    def harms(self, clause: Clause, question: str) -> Iterator[Rule]:
        """The rules that the clause meets; `question` are the asker's words."""
        in_question = any(match[0] in question for match in self.tags[_ILLNESS].finditer(clause.words))
        tagged = replace(clause, words=self.tagged(clause.words))
        return (rule for rule in self.rules if not (rule.skip_in_question and in_question) and rule.met(tagged))


@cache
def lexicon() -> HarmLexicon:
    """The vocabulary of harm.yaml, compiled."""
    read = yaml.safe_load((Path(__file__).parent / "harm.yaml").read_text("utf-8"))
    tags = {name: "|".join(_items(text)) for name, text in read["tags"].items()}
    classes = {name: "|".join(_items(text)) for name, text in read["classes"].items()} | {n: n.upper() for n in tags}
    return HarmLexicon(
        {"" if name == "adverb" else name.upper(): _compiled([text], {}) for name, text in tags.items()},
        tuple(_rule(entry, classes) for entry in read["rules"]),
    )


def _rule(entry: Mapping[str, Any], classes: Mapping[str, str]) -> Rule:
    stated = [f"{before}(?:{'|'.join(entry[kind])})" for kind, before in _BEFORE.items() if kind in entry]
    return Rule(
        entry["code"],
        entry["about"],
        _compiled([*entry.get("said", ()), *stated], classes),
        _compiled(entry.get("denied", ()), classes),
        _compiled(_items(entry.get("asked", "")), classes),
        tuple(_compiled([pattern], classes) for pattern in entry.get("together", ())),
        _compiled(_items(entry.get("unless", "")), classes),
        skip_in_question=entry.get("known", False),
        past=entry.get("past", False),
    )


def _items(text: str) -> list[str]:
    return text.split(" | ") if text else []


def _compiled(phrases: Sequence[str], classes: Mapping[str, str]) -> re.Pattern[str]:
    if not phrases:
        return _NEVER
    pattern = "|".join(_GAP.sub(" ..", phrase).removesuffix(" ..") for phrase in phrases)
    while _CLASS.search(pattern):
        pattern = _CLASS.sub(lambda match: f"(?:{classes[match[1]]})", pattern)
    return re.compile(rf"\b(?:{_GAP.sub(' ..', pattern)})(?!\w)".replace("..", r"(?:[\w'-]+ ){0,4}?"))
