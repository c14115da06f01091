"""Quotes and complaints of a judge, checked against the text."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from steelyard.frozen import frozen
from steelyard.judging.parse import bare_name, loose_name
from steelyard.plugins import checked_call, find_callable, place_of
from steelyard.records import Claim, Finding, Remark
from steelyard.suite.case import Case, compile_path
from steelyard.suite.judge import Evidence, JudgeModel, Rubric

# What a judge complains of, compared with what it judged: complaints that are wrong are counted and not believed.


@frozen
class Checked:
    """What a suite's own check makes of a judge's answer."""

    response: Mapping[str, Any]
    """As much of the answer as bears checking."""
    findings: tuple[Finding, ...] = ()
    """The errors of the system under test that it amounts to, each with a code that the suite lists."""
    contradictions: tuple[str, ...] = ()
    """What the judge said and what was judged shows to be wrong, a sentence each."""
    claims: tuple[Claim, ...] = ()
    """What the answer claims with a confidence, and whether the judge lets it stand; for answers without a truth."""
    self_contradictions: tuple[str, ...] = ()
    """Where the judge's scores do not fit the errors that it lists itself, a sentence each."""


ComplaintCheck = Callable[[Mapping[str, Any], str, Case, Mapping[str, Any]], Checked]
"""From answer, text, case without labels, and metrics to what of the answer bears checking."""


def complaint_check(judge: JudgeModel, folder: Path) -> ComplaintCheck | None:
    """The judge's check, looked up in the suite's folder first; None when it has none, UsageError when it is gone."""
    given = judge.check
    check: ComplaintCheck | None = find_callable(given, folder, "judge.check") if isinstance(given, str) else given
    return check


def check_complaints(
    check: ComplaintCheck, response: Mapping[str, Any], text: str, case: Case, metrics: Mapping[str, Any]
) -> tuple[Checked, tuple[Remark, ...]]:
    """What of the answer bears checking, and a remark on the judge for each thing that does not.

    The findings gain nothing: what a judge names is scored by its scores. UserCodeError when the check raises or
    returns something else.
    """
    who = f"the check {place_of(check)} of the judge"
    checked: Checked = checked_call(who, check, response, text, case, metrics, returns=Checked)
    findings = tuple(replace(finding, gain=0.0) if finding.gain else finding for finding in checked.findings)
    remarks = [Remark("CONTRADICTION", "", contradiction) for contradiction in checked.contradictions]
    remarks += [Remark("SELF_CONTRADICTION", "", contradiction) for contradiction in checked.self_contradictions]
    return replace(checked, findings=findings), tuple(remarks)


# Texts made comparable: whether a quote stands in a text when case, spacing, marks and emphasis are not regarded.

# Each pattern begins with a literal or one set of characters, which is what a long text is searched for quickly.
_SHOWN_UNSEEN = re.compile(r"<[uU]\+[0-9a-fA-F]{4,6}>")
_UNDERSCORES = re.compile(r"(?<!_)_++(?!\w)|(?<!\w)_+")
_LINE_MARKS = re.compile(r"\n[ \t]*(?:#{1,6}[ \t]|>[ \t]?|[-+•][ \t])+")
_MARKS: Final = dict.fromkeys('"‘’‚‛“”„‟«»‹›´′″「」『』', "'") | dict.fromkeys("‐‑‒–—―−", "-")
# One search for all of them: emphasis and unseen signs, which go, and marks and dashes, which become one kind.
_SIGNS = re.compile(
    "[*`~\\\\\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    + "".join(_MARKS)
    + "]"
)
_DASH_AND_MORE = re.compile("-[- ]+")
_BEFORE_PERCENT = re.compile(r"(?<=[0-9]) (?=%)")
# A word that was cut at the end of a line, and items of a list: both may be quoted as one line of prose.
_CUT_WORD = re.compile(r"(?<=[^\W\d_])[-\u2010\xad][ \t]*\r?\n[ \t]*(?=[^\W\d_])")
_LIST_ITEM = re.compile(r"\r?\n[ \t]*+(?:[-+*•]|[0-9]{1,2}[.)])[ \t]+")
# `[T]he choice`: a letter that the quote writes large or small where the text does not.
_OTHER_CASE = re.compile(r"(?<!\w)\[(\w)\](?=\w)")
_ELLIPSIS = re.compile(r"\s*[\[(]?\s*(?:\.\s?){3,}[\])]?\s*")
_WORDS = re.compile(r"\w\S*")
_NEGATION = re.compile(
    r"(?<!\w)(?:not|no|never|none|nor|neither|nobody|nothing|nowhere|without|cannot|hardly|nicht|nie|niemals|kein\w*|"
    r"nichts|niemand|weder|ohne|pas|jamais|rien|sans|nunca|nada|sin)(?!\w)|n't(?!\w)"
)
_SENTENCE_END = re.compile(r"[.!?](?=[\s')\]]|$)")
_LONGEST_LEFT_OUT: Final = 400
"""Signs before the next part that are looked through: no sentence that is worth quoting is longer."""
_MOST_PLACES: Final = 64
"""Of one part of a quote with gaps: a text of nothing but the same word must cost little."""
_ENDS: Final = " .,;:!?'()[]{}-…/|"
# Writing without spaces between words: a quote may begin and end anywhere in it.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def plain(text: str) -> str:
    """The text without regard to case, spacing, kind of quotation mark and dash, Markdown emphasis, unseen signs."""
    text = _LINE_MARKS.sub("\n", f"\n{text}")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = _SIGNS.sub(_one_kind, text)
    if "<" in text:
        text = _SHOWN_UNSEEN.sub("", text)
    if "_" in text:
        text = _UNDERSCORES.sub("", text)
    text = " ".join(text.casefold().split())
    if "-" in text:
        text = _DASH_AND_MORE.sub("-", text).replace(" -", "-")
    if "%" in text:
        text = _BEFORE_PERCENT.sub("", text)
    return text


def _one_kind(sign: re.Match[str]) -> str:
    return _MARKS.get(sign[0], "")


@lru_cache(maxsize=64)
def readings_of(text: str) -> tuple[str, ...]:
    """The ways to read a text that is quoted from, made comparable; most texts have one.

    A hyphen at the end of a line may belong to the word or not, and items of a list may be quoted with commas between
    them or without. Remembered: one text is looked through for the quotes of many votes.
    """
    written = [text]
    if _CUT_WORD.search(text):
        written.append(_CUT_WORD.sub("", text))
    for entry in written[:]:
        *items, last = _LIST_ITEM.split(entry)
        written += [", ".join([*(item.rstrip(" \t.,;") for item in items), last])] if items else []
    return tuple(dict.fromkeys(plain(item) for item in written))


def n_words(text: str) -> int:
    """How many words a text has; in writing without spaces two signs count as one."""
    if text.isascii():
        return len(_WORDS.findall(text))
    signs = len(_UNSPACED.findall(text))
    words = sum(any(sign.isalnum() for sign in word) for word in _UNSPACED.sub(" ", text).split())
    return words + (signs + 1) // 2


class Quote:
    """A quote made comparable. One with an ellipsis is found when its parts are, in order."""

    __slots__ = ("_parts", "_whole", "words")

    def __init__(self, text: str) -> None:
        comparable = plain(_OTHER_CASE.sub(r"\1", text))
        self._whole = comparable.strip(_ENDS)
        parts = _ELLIPSIS.split(comparable) if ".." in comparable or ". ." in comparable else [comparable]
        self._parts = [end for part in parts if (end := part.strip(_ENDS))]
        self.words = max((n_words(part) for part in self._parts), default=0)
        """Of the longest part: single words with gaps between them quote nothing."""

    def stands_in(self, readings: Iterable[str]) -> bool:
        """True when the quote is in one of the readings of a text, at the edges of words."""
        return bool(self._whole) and any(self._result(reading) for reading in readings)

    def _result(self, text: str) -> bool:
        if next(_places(self._whole, text, 0), None) is not None:
            return True
        if len(self._parts) < 2:
            return False
        ends = [end for _, end in islice(_places(self._parts[0], text, 0), _MOST_PLACES)]
        for part in self._parts[1:]:
            if not ends:
                return False
            # The nearest end before a part leaves out the least, and so hides the least.
            ends = [
                end
                for start, end in islice(_places(part, text, ends[0]), _MOST_PLACES)
                if not _turns_around(text[max(ends[bisect_right(ends, start) - 1], start - _LONGEST_LEFT_OUT) : start])
            ]
        return bool(ends)


def _turns_around(left_out: str) -> bool:
    """True when the words that an ellipsis leaves out hold the "not" of the sentence that goes on after it.

    A "not" in a sentence before that is no matter: whoever quotes only the later words leaves it out as well.
    """
    begins = 0
    for end in _SENTENCE_END.finditer(left_out):
        begins = end.end()
    return _NEGATION.search(left_out, begins) is not None


def _places(part: str, text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where the part begins and ends in the text, at the edges of words."""
    at = text.find(part, start)
    while at >= 0:
        end = at + len(part)
        if not _inside_word(text, at) and not _inside_word(text, end):
            yield at, end
        at = text.find(part, at + 1)


def _inside_word(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _UNSPACED.match(before) or _UNSPACED.match(after):
        return unicodedata.category(after).startswith("M")
    return (before.isalnum() or unicodedata.category(before).startswith("M")) and (
        after.isalnum() or unicodedata.category(after).startswith("M")
    )


# The quotes in what a judge wrote as evidence, each with the dimensions it speaks for.

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
class Statement:
    """One quote, the dimensions it speaks for (none: for any that is not named), and whether it claims to be one."""

    text: str
    of: frozenset[str] = frozenset()
    claimed: bool = True
    """False for words without quotation marks: an explanation when they are not in the text."""


@frozen
class Evidenced:
    """All quotes of an answer, and the dimensions that are named beside them: another's quote does not prove those."""

    quotes: tuple[Statement, ...] = ()
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
        quotes: list[Statement] = []
        for text in texts:
            if not isinstance(text, str) or not text.strip():
                continue
            inside = [] if genuine(text) else [text[start:end] for start, end in _spans(text, genuine)]
            claimed = isinstance(value, list) or bool(inside)
            quotes += [Statement(item, of, claimed) for item in inside or [text]]
        return Evidenced(tuple(quotes), of)

    def _of_item(self, item: str, genuine: Callable[[str], bool]) -> Evidenced:
        if not item.strip():
            return Evidenced()
        if genuine(item):
            return Evidenced((Statement(item),))
        if _spans(item, genuine):
            return self._of_text(item, genuine)
        label = self._name.match(item.lstrip(" \t*_`-•"))
        rest = item.lstrip(" \t*_`-•")[label.end() :] if label else ""
        separator = re.match(r"[*_`]*+\s*+(?:\([^)]*\)|[0-9/]++)?\s*+[:=–—-]\s*", rest)
        if label is None or separator is None:
            return Evidenced((Statement(item),))
        of = frozenset([self._names[bare_name(label[0])]])
        return Evidenced((Statement(rest[separator.end() :], of),), of)

    def _of_text(self, text: str, genuine: Callable[[str], bool]) -> Evidenced:
        spans = _spans(text, genuine)
        groups = self._groups(text, spans)
        starts = [start for start, _ in groups]
        quotes = []
        for start, end in spans:
            at = bisect_right(starts, start) - 1
            quotes.append(Statement(text[start:end], groups[at][1] if at >= 0 else frozenset()))
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

    def holds(self, quote: Quote) -> bool:
        if self._comparable is None:
            self._comparable = [readings_of(item) for item in self._shown]
        return any(quote.stands_in(item) for item in self._comparable)


def _made_up(stated: Statement) -> Remark:
    text = stated.text if len(stated.text) <= _LONGEST_MESSAGE else stated.text[: _LONGEST_MESSAGE - 1] + "…"
    return Remark("MADE_UP_QUOTE", min(stated.of, default=""), text)


@lru_cache(maxsize=1024)
def _quote(text: str) -> Quote:
    return Quote(text)
