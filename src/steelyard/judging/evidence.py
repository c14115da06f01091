"""Whether a judge proved its scores: quotes that are in the text, and those that it made up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from steelyard.judging.plain_words import Quote, readings_of
from steelyard.judging.quotes import QuoteReader, Said
from steelyard.records import Remark
from steelyard.suite.judge import Evidence, Rubric
from steelyard.suite.paths import compile_path

_LONGEST_TOLD: Final = 200
_LONGEST_EVIDENCE: Final = 20_000
"""Characters of all quotes together: each is searched for in the whole text, and more of them prove no more."""
FEWEST_SHARED: Final = 4
"""Words of a quote that speaks for every dimension that is not named. Two or three words stand in any text ("you may
want"): they can show what one score is about, but not that all of them were thought about."""


class EvidenceCheck:
    """Checks the quotes in answers judged with one rubric."""

    def __init__(self, evidence: Evidence, rubric: Rubric) -> None:
        self._evidence = evidence
        self._rubric = rubric
        self._field = compile_path(evidence.place)
        self._quotes = QuoteReader(rubric)
        self._owing = evidence.dimensions or tuple(one.name for one in rubric.dimensions)
        self._fewest_shared = max(evidence.fewest_words, FEWEST_SHARED if len(self._owing) > 1 else 1)

    def check(
        self, reply: Mapping[str, Any], raw: Mapping[str, float | bool], text: str, shown: Iterable[str] = ()
    ) -> tuple[tuple[Remark, ...], frozenset[str]]:
        """Remarks on the quotes, and the dimensions whose score above the neutral one is not proven.

        A quote proves the dimension it stands with. One that is named nowhere is proven by any quote of some length,
        unless the quotes are given by dimension. `shown` is what else the judge saw: words from there are neither
        evidence nor made up, and it is only read when needed.
        """
        words = readings_of(text)
        other = _Other(shown)
        given = self._field(reply)
        too_long = len(str(given)) > _LONGEST_EVIDENCE
        evidenced = self._quotes.read(None if too_long else given, lambda quote: _quote(quote).stands_in(words))
        proven: set[str] = set()
        longest = 0
        remarks: dict[str, Remark] = {}
        for said in evidenced.quotes:
            quote = _quote(said.text)
            if quote.words < self._evidence.fewest_words:
                continue
            if quote.stands_in(words):
                longest = max(longest, quote.words)
                proven |= said.of
            elif said.claimed and said.text not in remarks and not other.holds(quote):
                remarks[said.text] = _made_up(said)
        if longest >= self._fewest_shared:
            proven |= set(self._owing) - evidenced.named
        neutral = self._rubric.neutral
        unproven = [name for name in self._owing if raw.get(name, neutral) > neutral and name not in proven]
        why = f": evidence of more than {_LONGEST_EVIDENCE:,} characters is not read" if too_long else ""
        told = [Remark("UNPROVEN", name, f"{raw[name]:g} without a quote from the text{why}") for name in unproven]
        return (*remarks.values(), *told), frozenset(unproven)


class _Other:
    """What else the judge saw, made comparable at the first question about it."""

    def __init__(self, shown: Iterable[str]) -> None:
        self._shown = shown
        self._comparable: list[tuple[str, ...]] | None = None

    def holds(self, quote: Quote) -> bool:
        if self._comparable is None:
            self._comparable = [readings_of(one) for one in self._shown]
        return any(quote.stands_in(one) for one in self._comparable)


def _made_up(said: Said) -> Remark:
    text = said.text if len(said.text) <= _LONGEST_TOLD else said.text[: _LONGEST_TOLD - 1] + "…"
    return Remark("MADE_UP_QUOTE", min(said.of, default=""), text)


@lru_cache(maxsize=1024)
def _quote(text: str) -> Quote:
    return Quote(text)
