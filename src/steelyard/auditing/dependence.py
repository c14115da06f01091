"""Cases that are not independent although nothing says so: inputs that repeat, or that share long passages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from zlib import crc32

from steelyard.suite.case import Case
from steelyard.suite.models import SuiteModel
from steelyard.wording import percent

MOST_CASES_COMPARED = 5_000
"""The first ones: cases of one document mostly stand side by side."""
_WORDS = 30
"""What is shared by chance or by good style is shorter."""
_CHARACTERS = 200
"""The same for a text that is the same as a whole, whose language may have no spaces."""
_ONE_OF = 8
"""Passages are looked at from one word of so many on, which the word itself decides."""
_COMMON = 0.5
"""What more than this share of the cases hold is an instruction that goes with every question."""
_LEAST_SHARE, _LEAST_CASES = 0.1, 4


def shared_inputs(suite: SuiteModel) -> str:
    """What to declare, in words; "" when what cases share is in one cluster, or when next to none share anything."""
    cases = list(islice(suite.cases, MOST_CASES_COMPARED))
    leader, place = _groups(cases)
    if suite.survey.n_clusters:
        # A declared cluster that each of them has for itself does not say that they are one.
        units: dict[int, set[str]] = defaultdict(set)
        for case, first in zip(cases, leader, strict=True):
            units[first].add(case.unit)
        leader = [first if len(units[first]) > 1 else -at - 1 for at, first in enumerate(leader)]
    sizes = Counter(leader)
    sharing = sum(size for size in sizes.values() if size > 1)
    if sharing < max(_LEAST_CASES, _LEAST_SHARE * len(cases)):
        return ""
    largest, n = sizes.most_common(1)[0]
    others = [case.id for case, first in zip(cases, leader, strict=True) if first == largest]
    how = f"declare what they share, as in cases: {{cluster: {place}}}"
    if suite.survey.n_clusters:
        how = "they are in different clusters; declare as cluster what they share"
    elif not place:
        how = "give each case the field cluster: the document, user or seed that it comes from"
    return (
        f"{sharing} of {len(cases)} cases ({percent(sharing / len(cases))}) repeat the input of another or share a long"
        f" passage with it ({n} of them: {', '.join(others[:3])}{', ...' if n > 3 else ''}). They are no independent"
        f" evidence, and every interval is too narrow by it: {how}"
    )


def _groups(cases: Sequence[Case]) -> tuple[list[int], str]:
    """For each case the first of those that it shares something with, and where in a case most of that stands."""
    holders: dict[tuple[str, object], list[int]] = defaultdict(list)
    for at, case in enumerate(cases):
        for part in dict.fromkeys(_parts(case)):
            holders[part].append(at)
    leader = list(range(len(cases)))
    places: Counter[str] = Counter()

    def first(at: int) -> int:
        while leader[at] != at:
            leader[at] = at = leader[leader[at]]
        return at

    for (place, _), result in holders.items():
        if len(result) > 1 and (len(result) <= _COMMON * len(cases) or place == ""):
            places[place] += len(result) * (place != "")
            for other in result[1:]:
                item, two = sorted((first(result[0]), first(other)))
                leader[two] = item
    named = places.most_common(1)[0][0] if places else "input"
    return [first(at) for at in range(len(cases))], named


def _parts(case: Case) -> Iterator[tuple[str, object]]:
    """What two cases may share, each with its place: the whole question, files, long texts and passages of texts."""
    yield "", case.question
    for attachment in case.attachments:
        yield "attachments", attachment.digest or attachment.place
    for place, text in _texts(case.input, "input"):
        if len(text) >= _CHARACTERS:
            yield place, hash(text)
        words = text.split()
        for at in range(len(words) - _WORDS + 1):
            if crc32(words[at].encode("utf-8", "surrogatepass")) % _ONE_OF == 0:
                yield place, hash(tuple(words[at : at + _WORDS]))


def _texts(data: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, str):
        yield place, data
    elif isinstance(data, dict):
        for name, value in data.items():
            yield from _texts(value, f"{place}.{name}")
    elif isinstance(data, list):
        for value in data:
            yield from _texts(value, place)
