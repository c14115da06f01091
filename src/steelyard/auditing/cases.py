"""Flaws of the cases: one asked twice, one question with two truths, truths that the question or a prompt tells."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import Any
from urllib.parse import unquote_plus
from zlib import crc32

import numpy as np
from rapidfuzz.distance import Levenshtein

from steelyard.auditing.coded_texts import decoded_words, key, read_forms
from steelyard.auditing.guesses import even
from steelyard.auditing.sent_parts import case_fields, is_sent, sent_paths
from steelyard.frozen import frozen
from steelyard.scoring.building import build_answer
from steelyard.scoring.evaluate import Evaluator
from steelyard.scoring.unknown import truth_parts
from steelyard.stats.distributions import incomplete_beta
from steelyard.suite.case import Case
from steelyard.suite.models import SuiteModel

_BANDS, _ROWS = 12, 3
"""Questions that share 64 % of their word pairs (one word of ten differs) meet in a band 97 times of 100."""
_NEIGHBOURS = 5
"""Questions of the same band that one is compared with."""
_ALIKE = 0.9
_MOST_ALIKE = 3
"""More than so many that are alike are a pattern filled in with other words, where the truth is one of a few."""
_PRIME = (1 << 31) - 1


@frozen
class Asked:
    """A question as it is compared: the words of its texts by place, and what must be equal beside them."""

    case: str
    texts: dict[str, tuple[str, ...]]
    rest: str


def near_duplicates(asked: Sequence[Asked], *, is_choice: bool) -> list[tuple[str, str]]:
    """Pairs of cases with the same truth and the same numbers that differ in letter case and signs, or in one word of
    ten."""
    groups: dict[str, list[Asked]] = defaultdict(list)
    for item in asked:
        if any(item.texts.values()):
            groups[item.rest].append(item)
    results = {pair for group in groups.values() if len(group) > 1 for pair in _duplicate_pairs(group)}
    n_alike = Counter(case for pair in results for case in pair)
    return sorted(pair for pair in results if not is_choice or max(n_alike[case] for case in pair) < _MOST_ALIKE)


def _duplicate_pairs(group: Sequence[Asked]) -> Iterator[tuple[str, str]]:
    buckets: dict[object, list[Asked]] = defaultdict(list)
    for item in group:
        words = [word for text in item.texts.values() for word in text]
        for band in (" ".join(words), *_bands(words)):
            for other in buckets[band][-_NEIGHBOURS:]:
                if _are_alike(item, other):
                    yield other.case, item.case
            buckets[band].append(item)


def _bands(words: Sequence[str]) -> Iterator[tuple[int, bytes]]:
    pairs = {crc32(f"{item} {other}".encode()) % _PRIME for item, other in pairwise(words)}
    if pairs:
        hashes = (_FACTORS * np.fromiter(pairs, dtype=np.uint64) + _OFFSETS) % np.uint64(_PRIME)
        least = hashes.min(axis=1).reshape(_BANDS, _ROWS)
        yield from ((at, band.tobytes()) for at, band in enumerate(least))


def _are_alike(asked: Asked, other: Asked) -> bool:
    if asked.texts.keys() != other.texts.keys():
        return False
    texts = ((text, other.texts[place]) for place, text in asked.texts.items())
    return all(text == same or Levenshtein.normalized_similarity(text, same) >= _ALIKE for text, same in texts)


_draw = np.random.default_rng(0)
_FACTORS = _draw.integers(1, _PRIME, size=(_BANDS * _ROWS, 1), dtype=np.uint64)
_OFFSETS = _draw.integers(0, _PRIME, size=(_BANDS * _ROWS, 1), dtype=np.uint64)


MOST_CASES = 20_000
"""Of a larger suite, so many cases drawn at random are looked at."""
_TOKEN = re.compile(r"\w+(?:[.,:'’]\w+)*|[^\w\s.,!?;:'’\"()…]")
_MARK = {"answer", "gold", "truth", "solution"}
_MARK_OF_CHOICE = {"label", "class", "category", "expected"}
_NEAR_MARK = 4
_FEWEST = 3
_HALF = 0.5
_UNLIKELY = 0.002
_SHORT = 4
_LETTERS = re.compile(r"[^\W\d_]+|\d+")
_ENDING = re.compile(r"(?<=\w)\.[A-Za-z][A-Za-z0-9]{1,4}$")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
"""Where one word of OakChair2 ends and the next begins."""
_MOST_NAMED = 5


@frozen
class _Looked:
    """One case, and what is looked for in answers to it."""

    case: Case
    truths: dict[str, Any]
    """By component, the document that holds its truth."""

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """What the question holds, by path."""
        return dict(_leaves(self.case.input, "input"))

    @cached_property
    def given(self) -> dict[str, list[Any]]:
        """By path, what stands there in the question and in what the case says of itself."""
        files = {"attachments": [item.place for item in self.case.attachments]} if self.case.attachments else {}
        return {path: [value] for path, value in self.inputs.items()} | case_fields(self.case) | files

    @cached_property
    def truth(self) -> str:
        """The truth, spelled; where components have none, all that is expected."""
        return json.dumps(self.truths or self.case.expected, sort_keys=True, default=str)

    @cached_property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """The words of each text of the question."""
        return {path: tokens(value) for path, value in self.inputs.items() if isinstance(value, str)}

    @cached_property
    def asked(self) -> Asked:
        """The question as it is compared with others."""
        texts = self.texts
        others = [(path, value) for path, value in self.inputs.items() if path not in texts]
        attached = [attachment.digest or attachment.place for attachment in self.case.attachments]
        numbers = [token for text in texts.values() for token in text if any(map(str.isdigit, token))]
        # Of a few words, letter case and signs may be what the case is about.
        compared = {path: result if len(result) >= _SHORT else (self.inputs[path],) for path, result in texts.items()}
        return Asked(self.case.id, compared, json.dumps([self.truth, others, attached, numbers], default=str))


@frozen
class CaseFlaws:
    """What spoils a result: cases by their ids, pairs of them, and sentences on truths that the question tells."""

    same: list[tuple[str, str]]
    two_truths: list[tuple[str, str]]
    near: list[tuple[str, str]]
    given_away: list[str]
    shown: list[str]


def case_flaws(suite: SuiteModel) -> CaseFlaws:
    """All flaws of the cases, or of so many of a large suite."""
    drawn = set(even(suite.survey.n, MOST_CASES))
    evaluator = Evaluator(suite)
    results = [_looked(evaluator, case) for at, case in enumerate(suite.cases) if at in drawn]
    labels = Counter(item.truth for item in results if item.truths)
    is_choice = bool(labels) and 2 * len(labels) <= sum(labels.values())
    same, two_truths = _asked_twice(suite, evaluator, results)
    once = {item.case.question: item.asked for item in results if _is_question(item.case)}
    near = near_duplicates(list(once.values()), is_choice=is_choice)
    given_away = [*_given_away(suite, results, sent_paths(suite), is_choice=is_choice)]
    prompts = [_spaced(tokens(prompt)) for prompt in suite.prompts.values()]
    shown = [item.case.id for item in results if _is_shown(item, prompts)]
    return CaseFlaws(same, two_truths, near, given_away, shown)


def case_complaints(suite: SuiteModel) -> list[str]:
    """What is wrong with the cases, one sentence each."""
    flaws = case_flaws(suite)
    pairs = {
        "cases that ask the very same count as one": flaws.same,
        "one question has two truths, so that no answer is right for both": flaws.two_truths,
        "cases that ask the same in almost the same words count as one": flaws.near,
    }
    messages = [f"{message}: {_pairs(cases)}" for message, cases in pairs.items() if cases]
    messages.extend(flaws.given_away)
    if flaws.shown:
        messages.append(f"cases are in the prompt, so their answers are known: {_named(flaws.shown)}")
    return messages


def tokens(text: str) -> tuple[str, ...]:
    """The words, numbers and symbols of a text; letter case, spaces and the signs of sentences do not count."""
    return tuple(_TOKEN.findall(text.casefold()))


def _looked(evaluator: Evaluator, case: Case) -> _Looked:
    parts: dict[str, Any] = {}
    for component, scorer in evaluator.components:
        with suppress(NotImplementedError):  # a scorer of a suite's own need not know a perfect answer
            parts[component.name] = truth_parts(component, scorer, case)
    return _Looked(case, {name: build_answer(part) for name, part in parts.items() if part})


def _is_question(case: Case) -> bool:
    return bool(case.input or case.attachments)


def _asked_twice(
    suite: SuiteModel, evaluator: Evaluator, lookeds: list[_Looked]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Cases with the very same question: with the same truth they count twice, with two truths one is wrong."""
    by_question: dict[str, list[_Looked]] = {}
    for item in lookeds:
        if _is_question(item.case):
            by_question.setdefault(item.case.question, []).append(item)
    same, two = [], []
    for first, *others in by_question.values():
        for other in others:
            if first.truth == other.truth or _is_right(suite, evaluator, first, other):
                same.append((first.case.id, other.case.id))
            elif first.truths and other.truths:
                two.append((first.case.id, other.case.id))
    return same, two


def _is_right(suite: SuiteModel, evaluator: Evaluator, looked: _Looked, other: _Looked) -> bool:
    """Whether the truth of one case earns full marks in the other, however differently it is written."""
    if not (looked.truths and other.truths) or suite.judge is not None or suite.answer.format == "json":
        return False
    (text, *more) = map(str, looked.truths.values())
    return not more and evaluator.evaluate(text, other.case).score >= suite.audit.truth_share


def _given_away(suite: SuiteModel, lookeds: list[_Looked], sent: tuple[str, ...], *, is_choice: bool) -> Iterator[str]:
    """Places in what the target is sent that hold the truth, plain or in code, or tell it as in `answer: ...`."""
    weights = {component.name: component.weight for component in suite.computed}
    whole = sum(weights.values()) or 1.0
    for name, weight in weights.items():
        available = [item for item in lookeds if isinstance(item.truths.get(name), (str, int, float, dict))]
        truths = [(item, _values(item.truths[name])) for item in available]
        labels = {value for _, values in truths for value in values}
        for path in dict.fromkeys(path for item in available for path in item.given if is_sent(path, sent)):
            copied = [
                (set().union(*map(read_forms, item.given.get(path, ()))), set(map(_key, values)))
                for item, values in truths
            ]
            hits = [text for text, values in copied if text & values]
            marked = [
                v for item, values in truths for v in values if _is_marked(item.inputs.get(path), v, labels, is_choice)
            ]
            named = [(_named_by_files(item.given.get(path, ())), values) for item, values in truths]
            enough = weight / whole > suite.audit.null_share
            if enough and len(hits) >= max(_FEWEST, _HALF * len(truths)) and _beyond_chance(copied, len(hits)):
                yield f"{path} is the truth of {name} in {len(hits)} of {len(truths)} cases: a system could copy it"
            elif enough and len(marked) >= max(_FEWEST, _HALF * len(truths)) and len(set(marked)) > 1:
                yield f"{path} reveals the truth of {name} in {len(marked)} of {len(truths)} cases, as in `answer: ...`"
            elif enough and (n := _own_hits(named)):
                yield f"a file name or an id in {path} contains the truth of {name} in {n} of {len(truths)} cases"


def contained_truths(suite: SuiteModel) -> list[str]:
    """Sentences on texts of the question that contain the truth, which is right only where it is to be found there."""
    drawn = set(even(suite.survey.n, MOST_CASES))
    evaluator, sent = Evaluator(suite), sent_paths(suite)
    lookeds = [_looked(evaluator, case) for at, case in enumerate(suite.cases) if at in drawn]
    messages = []
    for component, scorer in evaluator.components:
        truths = [(item, _values(item.truths[component.name])) for item in lookeds if component.name in item.truths]
        is_choice = 2 * len({json.dumps(sorted(map(str, values))) for _, values in truths}) <= len(truths)
        if is_choice or component.weight <= 0 or any(scorer.blankets(item.case) for item, _ in truths):
            continue  # of few labels, and of spans of the text itself, it says nothing
        for path in dict.fromkeys(path for item, _ in truths for path in item.texts if is_sent(path, sent)):
            words = (_LETTERS.findall(" ".join(item.texts.get(path, ()))) for item, _ in truths)
            named = [(_spaced(found), values) for found, (_, values) in zip(words, truths, strict=True)]
            if n := _own_hits(named):
                messages.append(
                    f"{path} contains the truth of {component.name} in {n} of {len(truths)} cases: right where the task"
                    " is to find it there; otherwise a system could copy it"
                )
    return messages


def _named_by_files(given: Iterable[Any]) -> str:
    """The words of file names, addresses and ids: `photos/OakChair-2.jpg` is photos oak chair 2.

    Such is a value without a space; within a sentence only what has a file's ending, since other joined words (an order
    AB-12, a date, a mail address) may be what is to be found there.
    """
    names = []
    for value in (value for value in given if isinstance(value, str)):
        chunks = [chunk.strip("\"'`()[]{}<>.,;:!?") for chunk in value.split()]
        names += [
            _ENDING.sub("", item) for item in chunks if len(chunks) == 1 or (_ENDING.search(item) and "@" not in item)
        ]
    return _spaced(word for name in names for word in _LETTERS.findall(_HUMP.sub(" ", unquote_plus(name)).casefold()))


def _own_hits(named: list[tuple[str, set[Any]]]) -> int:
    """In how many cases the words contain the truth, where these are most of them, and far more than the words of other
    cases contain it by chance; else 0."""
    truths = [{_spaced(_LETTERS.findall(" ".join(v))) for v in values if isinstance(v, tuple)} for _, values in named]
    truths = [{text for text in some if len(text.strip()) >= _FEWEST and not text.strip().isdigit()} for some in truths]
    available = [(words, some) for (words, _), some in zip(named, truths, strict=True) if some]
    hits = sum(any(text in words for text in some) for words, some in available)
    if hits < max(_FEWEST, _HALF * len(named)) or len({text for _, some in available for text in some}) < 2:
        return 0
    step = max(1, len(available) // 2)
    others = sum(
        any(text in words for text in available[(at + shift) % len(available)][1])
        for at, (words, _) in enumerate(available)
        for shift in {1, step, len(available) - 1} - {0}
    )
    by_chance = others / (len(available) * len({1, step, len(available) - 1} - {0}))
    beyond = (
        by_chance < 1
        and incomplete_beta(hits, len(available) - hits + 1, by_chance or 1 / (2 * len(available))) < _UNLIKELY
    )
    return hits if beyond else 0


def _beyond_chance(copied: list[tuple[set[Any], set[Any]]], hits: int) -> bool:
    """Whether a place holds the truth more often than it would if both had nothing to do with each other."""
    n = len(copied)
    texts = Counter(value for given, _ in copied for value in given)
    true = Counter(value for _, values in copied for value in values)
    by_chance = min(1.0, sum(count * true[value] for value, count in texts.items()) / n**2)
    # The chance of so many hits or more among n, each of which comes `by_chance`.
    return by_chance < 1 and incomplete_beta(hits, n - hits + 1, by_chance) < _UNLIKELY


def _is_marked(value: Any, truth: Any, labels: set[Any], is_choice: bool) -> bool:
    """Whether a text says the truth behind a word that announces it; of a choice, also in brackets at its end."""
    if not isinstance(value, str) or not isinstance(truth, tuple) or not truth:
        return False
    text = tokens(value)
    if _key(truth) in decoded_words(value):
        return True
    backwards = tuple(word[::-1] for word in reversed(truth))
    if not _holds(_spaced(text), truth) and _holds(_spaced(text), backwards) and _key(truth) != _key(backwards):
        truth = backwards
    if text == truth or not _holds(_spaced(text), truth):
        return False
    if is_choice and re.search(
        r"[\[({|=#>:]\s*" + r"\W+".join(map(re.escape, truth)) + r"\s*[\])}|]*\s*$", value.casefold()
    ):
        return True
    for at in (at for at, token in enumerate(text) if token in _MARK or (is_choice and token in _MARK_OF_CHOICE)):
        near = _spaced(text[at + 1 : at + _NEAR_MARK + len(truth)])
        # `answer yes or no` names all that there is to choose from.
        others = [
            label for label in labels if label != truth and isinstance(label, tuple) and label and _holds(near, label)
        ]
        if _holds(near, truth) and not (is_choice and others):
            return True
    return False


def _is_shown(looked: _Looked, prompts: list[str]) -> bool:
    """Whether a prompt of the suite holds the case's question; one of few words, with its truth behind it."""
    longest = max(looked.texts.values(), key=len, default=())
    for prompt in prompts:
        if not longest or not _holds(prompt, longest):
            continue
        if len(longest) >= _SHORT:
            return True
        truths = [value for truth in looked.truths.values() for value in _values(truth) if isinstance(value, tuple)]
        if any(value and _holds(prompt, longest, value) for value in truths):
            return True
    return False


def _spaced(words: Iterable[str]) -> str:
    return f" {' '.join(words)} "


def _holds(text: str, first: tuple[str, ...], then: tuple[str, ...] = ()) -> bool:
    """Whether some words stand in a row in a spaced text; with `then`, also those a little behind them."""
    phrase = _spaced(first)
    if not then:
        return phrase in text
    contributing = (
        text[at.end() - 1 :].split()[: len(then) + _NEAR_MARK] for at in re.finditer(re.escape(phrase), text)
    )
    return any(_holds(_spaced(item), then) for item in contributing)


def _values(truth: Any) -> set[Any]:
    return {plain for _, value in _leaves(truth, "") if (plain := _plain(value)) not in (None, ())}


def _key(plain: Any) -> Any:
    return key(" ".join(plain)) if isinstance(plain, tuple) else plain


def _plain(value: Any) -> Any:
    return tokens(value) if isinstance(value, str) else value


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every single value in plain data with its path; those of a list by their place."""
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        items = ((f"{path}.{key}", inner) for key, inner in value.items())
    elif isinstance(value, list):
        items = ((f"{path}[{at}]", inner) for at, inner in enumerate(value))
    elif value is not None:
        yield path, value
    for where, inner in items:
        yield from _leaves(inner, where)


def _pairs(pairs: list[tuple[str, str]]) -> str:
    return _named([f"{item} and {other}" for item, other in pairs])


def _named(names: list[str]) -> str:
    more = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
