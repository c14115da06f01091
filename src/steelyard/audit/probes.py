"""Answers that should earn nothing, one that should earn everything, and who makes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from steelyard.audit.filling import filled, nulls, put
from steelyard.scoring.unknown import truth_parts
from steelyard.scoring.weigh import Weigher
from steelyard.suite.case import Case
from steelyard.suite.expectations import EXPECT
from steelyard.suite.model import SuiteModel
from steelyard.suite.paths import split_path

NULL = "null"
WRONG = "wrong"
STUFFED = "stuffed"
EVERYTHING = "everything"
FEWEST_CASES = 4
"""Of fewer cases, the items of all are mostly those of the one."""
TRUTH = "truth"
_CONSTANT = "unknown"


@dataclass(frozen=True, slots=True)
class Probe:
    """A way to answer every case without the skill that the suite means to weigh.

    `kind` is "null" (knows nothing), "stuffed" (knows the words of some cases), "everything" (lists the items of all,
    or lies over the question), "wrong" (right for another case) or "truth". `answer` gives the raw text for the
    case at a position.
    """

    name: str
    about: str
    kind: str
    answer: Callable[[int], str]


class ProbeMaker:
    """Makes the probes of one suite over a list of its cases."""

    def __init__(self, suite: SuiteModel, cases: list[Case]) -> None:
        self._suite = suite
        self._cases = cases
        self._schema = suite.answer.schema
        self._json = suite.answer.format == "json"
        self._scorers = Weigher(suite).components
        parts = [self._truth_parts(case) for case in cases]
        self._has_truth = any(parts)
        self._truths = [self._built(one) for one in parts]

    def probes(self) -> Iterator[Probe]:
        """All probes, the truth last."""
        yield Probe("empty", "no answer at all", NULL, lambda _: "")
        yield Probe("{}", "an empty object", NULL, lambda _: "{}")
        paths = {
            path for _, scorer in self._scorers for path in (*scorer.truth_at(self._cases[0]), scorer.answer) if path
        }
        null_fields = self._text(nulls(self._schema, sorted(paths)))
        yield Probe("nulls", "every field null", NULL, lambda _: null_fields)
        constant = self._text(filled(self._schema, _CONSTANT))
        yield Probe("constant", "the same filler for every case", NULL, lambda _: constant)
        yield Probe("echo", "the question given back", NULL, lambda at: _words(self._cases[at].input))
        if self._json:
            yield Probe("echo fields", "the question in every text field", NULL, self._echo)
        if stuffed := self._stuffed():
            yield Probe("keywords", "every keyword of every case", NULL, lambda _: stuffed)
            if (fitting := self._stuffed(cut=True)) != stuffed and fitting:
                yield Probe("keywords cut", "as many keywords as the schema lets in", STUFFED, lambda _: fitting)
        if nothing := self.without_items():
            yield Probe("none", "a well-formed answer without items", NULL, lambda _: nothing)
        if len(self._cases) >= FEWEST_CASES and (everything := self._of_all(self._cases)):
            yield Probe("everything", "every item of every case", EVERYTHING, lambda _: everything)
        for name in dict.fromkeys(name for _, scorer in self._scorers for name in scorer.blankets(self._cases[0])):
            yield Probe(name, "an answer that lies over everything", EVERYTHING, partial(self._blanket, name))
        if widest := self._widest():
            yield Probe("widest", "ranges from nothing to infinity", NULL, lambda _: widest)
        if not self._has_truth and self._has_no_one_truth():
            return  # what a judge would like best nobody knows, and many answers pass the same checks
        if len(set(self._truths)) > 1:
            yield Probe("another", "the truth of another case", WRONG, self._another)
        yield Probe("truth", "the truth itself", TRUTH, lambda at: self._truths[at])

    def _has_no_one_truth(self) -> bool:
        expects = any(component.scorer_name == EXPECT for component, _ in self._scorers)
        return self._suite.judge is not None or expects

    def without_items(self) -> str | None:
        """An answer in the right shape that holds no item; None where the scorers look for none."""
        return self._of_all([])

    def poor_answer(self, at: int) -> str:
        """An answer to the case at a position that can be read and deserves little: the truth of another case, or one
        that fits and says nothing."""
        nothing = "There is nothing to say about this."
        if len(set(self._truths)) > 1:
            return self._another(at)
        return self._text(filled(self._schema, nothing) if self._json else nothing)

    def _truth_parts(self, case: Case) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        for component, scorer in self._scorers:
            parts |= truth_parts(component, scorer, case)
        return parts

    def _echo(self, at: int) -> str:
        return self._text(filled(self._schema, _words(self._cases[at].input)))

    def _another(self, at: int) -> str:
        n = len(self._truths)
        others = (self._truths[(at + step) % n] for step in range(1, n))
        return next(text for text in others if text != self._truths[at])

    def _stuffed(self, *, cut: bool = False) -> str | None:
        parts: dict[str, Any] = {}
        for _, scorer in self._scorers:
            words = {word: None for case in self._cases for word in scorer.keywords_of(case)}
            if words:
                text = " ".join(words)
                parts[scorer.answer or ""] = text[: self._room(scorer.answer or "")] if cut else text
        return self._built(parts) if parts else None

    def _room(self, path: str) -> int | None:
        """How long the schema lets a text at this place be; None when it does not say."""
        here: Any = self._schema or {}
        for step in split_path(path):
            here = here.get("properties", {}).get(step, {}) if isinstance(here, dict) else {}
        room = here.get("maxLength") if isinstance(here, dict) else None
        return room if isinstance(room, int) else None

    def _of_all(self, cases: list[Case]) -> str | None:
        """An answer that holds the items of all these cases."""
        parts = {path: value for _, scorer in self._scorers for path, value in scorer.everything_at(cases).items()}
        return self._built(parts) if parts else None

    def _blanket(self, name: str, at: int) -> str:
        held = {scorer.answer or "": scorer.blankets(self._cases[at]).get(name) for _, scorer in self._scorers}
        return self._built({path: value for path, value in held.items() if value is not None})

    def _widest(self) -> str | None:
        parts: dict[str, Any] = {}
        for _, scorer in self._scorers:
            parts |= scorer.widest_at()
        return self._built(parts) if parts else None

    def _built(self, parts: dict[str, Any]) -> str:
        """An answer of these parts, with what the schema asks for besides filled in."""
        if not self._json or "" in parts:
            return self._text(next(iter(parts.values()), ""))
        answer = filled(self._schema, _CONSTANT, required_only=True) if self._schema else {}
        if not isinstance(answer, dict):
            return self._text(answer)
        for path, value in parts.items():
            put(answer, path, value)
        return self._text(answer)

    def _text(self, value: Any) -> str:
        return value if isinstance(value, str) and not self._json else json.dumps(value, ensure_ascii=False)


def _words(value: Any) -> str:
    """All text in an input, as an echo would give it back."""
    if isinstance(value, dict):
        return " ".join(filter(None, map(_words, value.values())))
    if isinstance(value, list):
        return " ".join(filter(None, map(_words, value)))
    return "" if value is None else str(value)
