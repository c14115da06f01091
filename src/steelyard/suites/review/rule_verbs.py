"""Objectives whose verb nobody can measure: understand, know, be familiar with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .breach import Breach
from .standards import lexicon
from .text_parts import Part, is_heading, paragraphs, sentences

_LEARNER = r"(?:students?|trainees?|learners?|participants?|cadets?|candidates?|recruits?|crew(?: members?)?|you)"
_PROMISE = re.compile(
    rf"\b{_LEARNER}\b[^.;:]{{0,40}}?\b(?:will|should|shall|must|can|is able to|are able to|is to|are to)\b", re.I
)
_OBJECTIVES = re.compile(r"\bobjectives?\b|\baims?\b|\boutcomes?\b|by the end of", re.I)
_BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)])\s*(?:to\s+)?")
_ADVERBS = r"(?:(?:be able to|fully|clearly|also|better|then|first|to)\s+)*"
_TOLD = {
    "violation": "cannot be observed or measured",
    "warning": "cannot be observed or measured",
    "info": "can be observed, but hardly measured",
}
_INSTEAD = "Say what the learner will do: state, list, calculate, demonstrate, operate."


def find(content: str) -> Iterator[Breach]:
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


def _verbs_in(part: Part, at: int) -> Iterator[Breach]:
    """The verb at that place, and every further one that is joined to it."""
    for found in _GOVERNED.finditer(part.text[at:]):
        verb = re.sub(r"\s+", " ", found.group(1)).lower()
        start = part.start + at + found.start(1)
        yield Breach(
            (start, start + len(found.group(1))),
            lexicon().verbs[verb],
            f'"{verb}" {_TOLD[lexicon().verbs[verb]]}.',
            _INSTEAD,
            0.9,
        )


_VERBS = "|".join(
    re.escape(verb).replace(r"\ ", r"\s+") for verb in sorted(lexicon().verbs, key=lambda one: (-len(one), one))
)
_GOVERNED = re.compile(rf"(?:\A\s*|[,;]\s*(?:and\s+|or\s+)?|\b(?:and|or)\s+){_ADVERBS}({_VERBS})(?![\w-])", re.I)
