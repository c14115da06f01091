"""Flaws of the cases: one asked twice, one question with two truths, truths that the question or a prompt tells."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from steelyard.audit.constants import even
from steelyard.audit.duplicates import Asked, near_duplicates
from steelyard.audit.sent import case_fields, decoded_words, is_sent, key, read_forms, sent_paths
from steelyard.scoring.place import build_answer
from steelyard.scoring.unknown import truth_parts
from steelyard.scoring.weigh import Weigher
from steelyard.stats.special import incomplete_beta
from steelyard.suite.case import Case
from steelyard.suite.models import SuiteModel

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
_MOST_NAMED = 5


@dataclass(frozen=True)
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
        return {path: [value] for path, value in self.inputs.items()} | case_fields(self.case)

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
        attached = [each.digest or each.place for each in self.case.attachments]
        numbers = [token for found in texts.values() for token in found if any(map(str.isdigit, token))]
        # Of a few words, letter case and signs may be what the case is about.
        compared = {path: found if len(found) >= _SHORT else (self.inputs[path],) for path, found in texts.items()}
        return Asked(self.case.id, compared, json.dumps([self.truth, others, attached, numbers], default=str))


def case_complaints(suite: SuiteModel) -> list[str]:
    """What is wrong with the cases, one sentence each."""
    drawn = set(even(suite.survey.n, MOST_CASES))
    weigher = Weigher(suite)
    found = [_looked(weigher, case) for at, case in enumerate(suite.cases) if at in drawn]
    labels = Counter(each.truth for each in found if each.truths)
    is_choice = bool(labels) and 2 * len(labels) <= sum(labels.values())
    told = [*_asked_twice(suite, weigher, found)]
    once = {each.case.question: each.asked for each in found if _is_question(each.case)}
    if near := near_duplicates(list(once.values()), is_choice=is_choice):
        told.append(f"cases that ask the same in almost the same words count as one: {_pairs(near)}")
    told.extend(_given_away(suite, found, sent_paths(suite), is_choice=is_choice))
    prompts = [_spaced(tokens(prompt)) for prompt in suite.prompts.values()]
    if shown := [each.case.id for each in found if _is_shown(each, prompts)]:
        told.append(f"cases stand in the prompt, so that their answers are known: {_named(shown)}")
    return told


def tokens(text: str) -> tuple[str, ...]:
    """The words, numbers and symbols of a text; letter case, spaces and the signs of sentences do not count."""
    return tuple(_TOKEN.findall(text.casefold()))


def _looked(weigher: Weigher, case: Case) -> _Looked:
    parts = {component.name: truth_parts(component, scorer, case) for component, scorer in weigher.components}
    return _Looked(case, {name: build_answer(part) for name, part in parts.items() if part})


def _is_question(case: Case) -> bool:
    return bool(case.input or case.attachments)


def _asked_twice(suite: SuiteModel, weigher: Weigher, found: list[_Looked]) -> Iterator[str]:
    """Cases with the very same question: with the same truth they count twice, with two truths one is wrong."""
    by_question: dict[str, list[_Looked]] = {}
    for each in found:
        if _is_question(each.case):
            by_question.setdefault(each.case.question, []).append(each)
    same, two = [], []
    for first, *others in by_question.values():
        for other in others:
            if first.truth == other.truth or _is_right(suite, weigher, first, other):
                same.append((first.case.id, other.case.id))
            elif first.truths and other.truths:
                two.append((first.case.id, other.case.id))
    if same:
        yield f"cases that ask the very same count as one: {_pairs(same)}"
    if two:
        yield f"one question has two truths, so that no answer is right for both: {_pairs(two)}"


def _is_right(suite: SuiteModel, weigher: Weigher, one: _Looked, other: _Looked) -> bool:
    """Whether the truth of one case earns full marks in the other, however differently it is written."""
    if not (one.truths and other.truths) or suite.judge is not None or suite.answer.format == "json":
        return False
    (text, *more) = map(str, one.truths.values())
    return not more and weigher.weigh(text, other.case).score >= suite.audit.truth_share


def _given_away(suite: SuiteModel, found: list[_Looked], sent: tuple[str, ...], *, is_choice: bool) -> Iterator[str]:
    """Places in what the target is sent that hold the truth, plain or in code, or tell it as in `answer: ...`."""
    weights = {each.name: each.weight for each in suite.components}
    whole = sum(weights.values()) or 1.0
    for name, weight in weights.items():
        known = [each for each in found if isinstance(each.truths.get(name), (str, int, float, dict))]
        truths = [(each, _values(each.truths[name])) for each in known]
        labels = {value for _, values in truths for value in values}
        for path in dict.fromkeys(path for each in known for path in each.given if is_sent(path, sent)):
            copied = [
                (set().union(*map(read_forms, each.given.get(path, ()))), set(map(_key, values)))
                for each, values in truths
            ]
            hits = [said for said, values in copied if said & values]
            marked = [
                v for each, values in truths for v in values if _is_marked(each.inputs.get(path), v, labels, is_choice)
            ]
            enough = weight / whole > suite.audit.null_share
            if enough and len(hits) >= max(_FEWEST, _HALF * len(truths)) and _beyond_chance(copied, len(hits)):
                yield f"{path} is the truth of {name} in {len(hits)} of {len(truths)} cases: a system need only copy it"
            elif enough and len(marked) >= max(_FEWEST, _HALF * len(truths)) and len(set(marked)) > 1:
                yield f"{path} tells the truth of {name} in {len(marked)} of {len(truths)} cases, as in `answer: ...`"


def _beyond_chance(copied: list[tuple[set[Any], set[Any]]], hits: int) -> bool:
    """Whether a place holds the truth more often than it would if both had nothing to do with each other."""
    n = len(copied)
    said = Counter(value for given, _ in copied for value in given)
    true = Counter(value for _, values in copied for value in values)
    by_chance = min(1.0, sum(count * true[value] for value, count in said.items()) / n**2)
    # The chance of so many hits or more among n, each of which comes `by_chance`.
    return by_chance < 1 and incomplete_beta(hits, n - hits + 1, by_chance) < _UNLIKELY


def _is_marked(value: Any, truth: Any, labels: set[Any], is_choice: bool) -> bool:
    """Whether a text says the truth behind a word that announces it; of a choice, also in brackets at its end."""
    if not isinstance(value, str) or not isinstance(truth, tuple) or not truth:
        return False
    said = tokens(value)
    if _key(truth) in decoded_words(value):
        return True
    backwards = tuple(word[::-1] for word in reversed(truth))
    if not _holds(_spaced(said), truth) and _holds(_spaced(said), backwards) and _key(truth) != _key(backwards):
        truth = backwards
    if said == truth or not _holds(_spaced(said), truth):
        return False
    if is_choice and re.search(
        r"[\[({|=#>:]\s*" + r"\W+".join(map(re.escape, truth)) + r"\s*[\])}|]*\s*$", value.casefold()
    ):
        return True
    for at in (at for at, token in enumerate(said) if token in _MARK or (is_choice and token in _MARK_OF_CHOICE)):
        near = _spaced(said[at + 1 : at + _NEAR_MARK + len(truth)])
        # `answer yes or no` names all that there is to choose from.
        others = [each for each in labels if each != truth and isinstance(each, tuple) and each and _holds(near, each)]
        if _holds(near, truth) and not (is_choice and others):
            return True
    return False


def _is_shown(each: _Looked, prompts: list[str]) -> bool:
    """Whether a prompt of the suite holds the case's question; one of few words, with its truth behind it."""
    longest = max(each.texts.values(), key=len, default=())
    for prompt in prompts:
        if not longest or not _holds(prompt, longest):
            continue
        if len(longest) >= _SHORT:
            return True
        truths = [value for truth in each.truths.values() for value in _values(truth) if isinstance(value, tuple)]
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
    behind = (text[at.end() - 1 :].split()[: len(then) + _NEAR_MARK] for at in re.finditer(re.escape(phrase), text))
    return any(_holds(_spaced(each), then) for each in behind)


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
    return _named([f"{one} and {other}" for one, other in pairs])


def _named(names: list[str]) -> str:
    more = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
