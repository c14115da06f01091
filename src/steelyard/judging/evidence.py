"""The quotes in what a judge wrote as evidence, each with the dimensions it speaks for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from steelyard.frozen import frozen
from steelyard.judging.quotes import ComparableQuote, readings_of
from steelyard.judging.score_lines import bare_name, loose_name
from steelyard.records import Remark
from steelyard.suite.judge import Evidence, Rubric
from steelyard.suite.paths import compile_path

_CLOSES: Final = {
    '"': '"”“',
    "“": '”“"',
    "„": '“”"',
    "”": "”",
    "«": "»",
    "»": "«»",
    "‹": "›",
    "›": "‹›",
    "「": "」",
    "『": "』",
    "‘": "’'",
    "‚": "‘’'",
    "'": "'’",
}
"""By mark that opens a quote, those that may close it."""
_APOSTROPHES: Final = frozenset("'’‘")
_MOST_ENDS: Final = 4
_ANY_MARK = re.compile("[" + "".join(set("".join(_CLOSES) + "".join(_CLOSES.values()))) + "]")
_BETWEEN_NAMES = re.compile(r"[\s,;&/+*_`0-9()]*+(?:and|und|et|y)?[\s&/+*_`]*+", re.IGNORECASE)
_AFTER_LABEL = re.compile(
    r"[*_`]*+\s*+(?:score|rating)?\s*+(?:[(\[]?\s*+(?:=\s*+)?[0-9]++(?:\s*+/\s*+[0-9]++)?\s*+[)\]]?)?[*_`]*+\s*+[:=(–—-]"
)
_BEFORE_LABEL = re.compile(
    r"(?:scor(?:e|ed|es|ing)\W{1,3}(?:of\W+)?[0-9]+(?:/[0-9]+)?|[0-9]\s+(?:for|in|on))\W{1,3}(?:for\s+|in\s+|on\s+)?[*_`]*$",
    re.IGNORECASE,
)


@frozen
class EvidenceQuote:
    """One quote, the dimensions it speaks for (none: for any that is not named), and whether it claims to be one."""

    text: str
    of: frozenset[str] = frozenset()
    claimed: bool = True
    """False for words without quotation marks: an explanation when they are not in the text."""


@frozen
class Evidenced:
    """All quotes of an answer, and the dimensions that are named beside them: another's quote does not prove those."""

    quotes: tuple[EvidenceQuote, ...] = ()
    named: frozenset[str] = frozenset()


class QuoteReader:
    """Finds quotes in the evidence field of answers judged with one rubric."""

    def __init__(self, rubric: Rubric) -> None:
        self._names = {bare_name(name): name for name in rubric.names}
        longest_first = sorted(rubric.names, key=len, reverse=True)
        self._name = re.compile(rf"(?<!\w)(?:{'|'.join(map(loose_name, longest_first))})(?!\w)", re.IGNORECASE)

    def read(self, field: Any, genuine: Callable[[str], bool]) -> Evidenced:
        """The quotes of a text with quotes in it, a list of quotes, or either by dimension.

        `genuine` says whether words stand in the text; it is asked where quotation marks can be read in two ways.
        """
        if isinstance(field, str):
            return self._of_text(field, genuine)
        if isinstance(field, list):
            return _joined([self._of_item(item, genuine) for item in field if isinstance(item, str)])
        if isinstance(field, Mapping):
            by_key = _joined([self._of_key(str(key), value, genuine) for key, value in field.items()])
            # Whoever gives quotes by dimension has none for a dimension that is left out.
            return Evidenced(by_key.quotes, frozenset(self._names.values()))
        return Evidenced()

    def _of_key(self, key: str, value: Any, genuine: Callable[[str], bool]) -> Evidenced:
        name = self._names.get(bare_name(key))
        of = frozenset() if name is None else frozenset([name])
        texts = value if isinstance(value, list) else [value]
        quotes: list[EvidenceQuote] = []
        for text in texts:
            if not isinstance(text, str) or not text.strip():
                continue
            inside = [] if genuine(text) else [text[start:end] for start, end in _spans(text, genuine)]
            claimed = isinstance(value, list) or bool(inside)
            quotes += [EvidenceQuote(item, of, claimed) for item in inside or [text]]
        return Evidenced(tuple(quotes), of)

    def _of_item(self, item: str, genuine: Callable[[str], bool]) -> Evidenced:
        if not item.strip():
            return Evidenced()
        if genuine(item):
            return Evidenced((EvidenceQuote(item),))
        if _spans(item, genuine):
            return self._of_text(item, genuine)
        label = self._name.match(item.lstrip(" \t*_`-•"))
        rest = item.lstrip(" \t*_`-•")[label.end() :] if label else ""
        separator = re.match(r"[*_`]*+\s*+(?:\([^)]*\)|[0-9/]++)?\s*+[:=–—-]\s*", rest)
        if label is None or separator is None:
            return Evidenced((EvidenceQuote(item),))
        of = frozenset([self._names[bare_name(label[0])]])
        return Evidenced((EvidenceQuote(rest[separator.end() :], of),), of)

    def _of_text(self, text: str, genuine: Callable[[str], bool]) -> Evidenced:
        spans = _spans(text, genuine)
        groups = self._groups(text, spans)
        starts = [start for start, _ in groups]
        quotes = []
        for start, end in spans:
            at = bisect_right(starts, start) - 1
            quotes.append(EvidenceQuote(text[start:end], groups[at][1] if at >= 0 else frozenset()))
        return Evidenced(tuple(quotes), frozenset(name for _, names in groups for name in names))

    def _groups(self, text: str, spans: list[tuple[int, int]]) -> list[tuple[int, frozenset[str]]]:
        """Where dimensions are named outside quotes: each place with all that are named there side by side.

        Names are plain words too ("overall, the tone is calm"). Where the answer uses labels ("Score 4 tone:",
        "tone (4):"), only those count.
        """
        groups: list[tuple[int, int, set[str], bool]] = []
        ends_of_quotes = [end for _, end in spans]
        for match in self._name.finditer(text):
            at = bisect_right(ends_of_quotes, match.start())
            if at < len(spans) and spans[at][0] <= match.start():
                continue
            name = self._names[bare_name(match[0])]
            label = _is_label(text, match, name)
            if groups and _BETWEEN_NAMES.fullmatch(text, groups[-1][1], match.start()):
                start, _, names, labelled = groups.pop()
                groups.append((start, match.end(), names | {name}, labelled or label))
            else:
                groups.append((match.start(), match.end(), {name}, label))
        labels_only = any(label for *_, label in groups)
        return [(start, frozenset(names)) for start, _, names, label in groups if label or not labels_only]


def _is_label(text: str, result: re.Match[str], name: str) -> bool:
    if "_" in name and result[0] == name:
        return True
    before = text[max(0, result.start() - 40) : result.start()]
    return bool(_AFTER_LABEL.match(text, result.end()) or _BEFORE_LABEL.search(before))


def _spans(text: str, genuine: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The places of the words between quotation marks; an apostrophe inside a word is none.

    `the users' words'` can be read in two ways: of several possible ends the farthest that makes a genuine quote is
    taken, else the first.
    """
    marks = [mark.start() for mark in _ANY_MARK.finditer(text)]
    spans: list[tuple[int, int]] = []
    after = 0
    for index, start in enumerate(marks):
        if start < after or not _opens(text, start):
            continue
        ends = _ends(text, start, marks, index)
        if not ends:
            continue
        end = next((end for end in reversed(ends) if len(ends) > 1 and genuine(text[start + 1 : end])), ends[0])
        spans.append((start + 1, end))
        after = end + 1
    return spans


def _opens(text: str, at: int) -> bool:
    if text[at] not in _CLOSES:
        return False
    before = text[at - 1] if at else " "
    following = text[at + 1] if at + 1 < len(text) else " "
    if text[at] in "'‘”»›":
        return not before.isalnum() and not following.isspace()
    return not following.isspace() or text[at] != '"'


def _ends(text: str, start: int, marks: list[int], index: int) -> list[int]:
    """Where a quote that opens there may end: the first place, and for apostrophes a few more on the same lines."""
    closing = _CLOSES[text[start]]
    ends: list[int] = []
    for at in _later(marks, index):
        if text[at] not in closing or at == start + 1:
            continue
        following = text[at + 1] if at + 1 < len(text) else " "
        if text[at] in _APOSTROPHES and (following.isalnum() or text[at - 1].isspace()):
            continue
        if ends and "\n\n" in text[start:at]:
            break
        ends.append(at)
        if text[at] not in _APOSTROPHES or len(ends) == _MOST_ENDS:
            break
    return ends


def _later(marks: list[int], index: int) -> Iterator[int]:
    """The marks after that one; not too many, so that a text of nothing but marks costs little."""
    yield from marks[index + 1 : index + 1 + 64]


def _joined(parts: list[Evidenced]) -> Evidenced:
    quotes = tuple(quote for part in parts for quote in part.quotes)
    return Evidenced(quotes, frozenset(name for part in parts for name in part.named))


_LONGEST_MESSAGE: Final = 200
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
        self._owing = evidence.dimensions or tuple(dimension.name for dimension in rubric.dimensions)
        self._fewest_shared = max(evidence.fewest_words, FEWEST_SHARED if len(self._owing) > 1 else 1)

    def check(
        self,
        response: Mapping[str, Any],
        raw: Mapping[str, float | bool],
        texts: str | Sequence[str],
        shown: Iterable[str] = (),
    ) -> tuple[tuple[Remark, ...], frozenset[str]]:
        """Remarks on the quotes, and the dimensions whose score above the neutral one is not proven.

        `texts` are what is quoted from: the text that was judged, or the passages of the case.
        A quote proves the dimension it stands with. One that is named nowhere is proven by any quote of some length,
        unless the quotes are given by dimension. `shown` is what else the judge saw: words from there are neither
        evidence nor made up, and it is only read when needed.
        """
        words = _readings(texts)
        other = _Other(shown)
        given = self._field(response)
        too_long = len(str(given)) > _LONGEST_EVIDENCE
        evidenced = self._quotes.read(None if too_long else given, lambda quote: _quote(quote).stands_in(words))
        proven: set[str] = set()
        longest = 0
        remarks: dict[str, Remark] = {}
        for stated in evidenced.quotes:
            quote = _quote(stated.text)
            if quote.words < self._evidence.fewest_words:
                continue
            if quote.stands_in(words):
                longest = max(longest, quote.words)
                proven |= stated.of
            elif stated.claimed and stated.text not in remarks and not other.holds(quote):
                remarks[stated.text] = _made_up(stated)
        if longest >= self._fewest_shared:
            proven |= set(self._owing) - evidenced.named
        neutral = self._rubric.neutral
        unproven = [name for name in self._owing if raw.get(name, neutral) > neutral and name not in proven]
        why = f": evidence of more than {_LONGEST_EVIDENCE:,} characters is not read" if too_long else ""
        lacking = f"without a quote from {self._evidence.source}{why}"
        messages = [Remark("UNPROVEN", name, f"{raw[name]:g} {lacking}") for name in unproven]
        return (*remarks.values(), *messages), frozenset(unproven)


def _readings(texts: str | Sequence[str]) -> tuple[str, ...]:
    """The ways to read a text, or each of several."""
    return tuple(reading for text in ([texts] if isinstance(texts, str) else texts) for reading in readings_of(text))


def quoted(quote: str, texts: str | Sequence[str], fewest_words: int = 2) -> bool:
    """Whether a quote of at least so many words stands in a text, or in one of several, word for word.

    As quotes of a judge are looked up: whatever its case, spacing, quotation marks, dashes and Markdown; an ellipsis
    leaves words out, but no "not".
    """
    looked_up = _quote(quote)
    return looked_up.words >= fewest_words and looked_up.stands_in(_readings(texts))


class _Other:
    """What else the judge saw, made comparable at the first question about it."""

    def __init__(self, shown: Iterable[str]) -> None:
        self._shown = shown
        self._comparable: list[tuple[str, ...]] | None = None

    def holds(self, quote: ComparableQuote) -> bool:
        if self._comparable is None:
            self._comparable = [readings_of(item) for item in self._shown]
        return any(quote.stands_in(item) for item in self._comparable)


def _made_up(stated: EvidenceQuote) -> Remark:
    text = stated.text if len(stated.text) <= _LONGEST_MESSAGE else stated.text[: _LONGEST_MESSAGE - 1] + "…"
    return Remark("MADE_UP_QUOTE", min(stated.of, default=""), text)


@lru_cache(maxsize=1024)
def _quote(text: str) -> ComparableQuote:
    return ComparableQuote(text)
