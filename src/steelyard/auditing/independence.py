"""Whether labels are independent: of what the judge's prompt shows, and of each other."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

from steelyard.analysis.judge.health import MIN_IDENTICAL
from steelyard.auditing.judge import recorded_answers
from steelyard.auditing.probes import ANSWERED
from steelyard.errors import SuiteError
from steelyard.frozen import frozen
from steelyard.judging.ask import rules_judges
from steelyard.judging.fence import Fence
from steelyard.judging.judgement import JudgeReader
from steelyard.judging.prompt import messages
from steelyard.scoring.evaluate import Evaluator
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.labels import Label, hidden, is_labelled, labels_of
from steelyard.suite.models import SuiteModel

MAX_CASES = 500
MIN_LABELED = 20
"""Fewer labeled cases do not show that a field determines their labels."""
_MIN_SAME = 4
"""Cases with the same value of a field, on average, from which on it can be more than an id."""
_MAX_EXCEPTIONS = 0.05
_MAX_UNEXPLAINED = 0.2
_PARTS = ("id", "input", "expected", "category", "difficulty", "cluster")
"""The parts of a case that a prompt may show."""
_MISSING = object()
_MIN_SIDE = 0.2
"""Of the labels on either side of a cut, so that a field can tell more than a few exceptions."""
_TOKEN = re.compile(r"[\w.]*\w")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_TEXT = "[the text]"
_FENCE = Fence("0" * 16)
Place = tuple[str | int, ...]
Value = int | bool


@frozen
class _Labeled:
    """A case as the judge may see it, with its labels."""

    case: Case
    labels: Mapping[str, Value]
    fields: Mapping[Place, Any]


def labels_in_prompt(suite: SuiteModel, cases: Iterable[Case]) -> list[str]:
    """Labels that the prompt of the judge, if it is a model, shows it under another name, one sentence each.

    A field of the case determines a label when nearly all cases with one value of it (of a list, its length; of a
    mapping, its keys) have one label, when numbers rise with it, or when a text has the label's value, or a word that
    goes with it, and none of the other ones. It is shown when the prompt changes with it.
    """
    judge = suite.judge
    if judge is None or not judge.labels or not any(member.is_model for member in judge.members):
        return []
    metrics = {component.name: dict.fromkeys(component.scorer.metrics, 0) for component in suite.computed}
    labeled = [*_labeled(judge, cases)]
    results = []
    for name in judge.rubric.names:
        rows = [item for item in labeled if name in item.labels]
        if len(rows) < MIN_LABELED or len({item.labels[name] for item in rows}) < 2:
            continue
        found: list[Place] = []
        for place in dict.fromkeys(place for item in rows for place in item.fields):
            if any(place[: len(other)] == other[: len(place)] for other in found):
                continue
            how = _how_told([(item.fields.get(place, _MISSING), item.labels[name]) for item in rows])
            if how and _is_shown(judge, rows, place, metrics):
                found.append(place)
                field = ".".join(map(str, place))
                results.append(
                    f"the judge's prompt shows {field}, which {how.format(name)} in {len(rows):,} labeled cases:"
                    " remove it from the prompt, or move it below judge.labels"
                )
    return results


def identical_labelers(judge: JudgeModel, cases: Iterable[Case]) -> list[str]:
    """People who give every case the same labels, so that two names are one labeler; one sentence per pair."""
    given: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for case in cases:
        for name, label in _labels(case, judge).items():
            if isinstance(label, Label):
                for person, score in label.by.items():
                    given[person][case.id, name] = score
    results = []
    for one, other in combinations(sorted(given), 2):
        both = given[one].keys() & given[other].keys()
        same = all(given[one][key] == given[other][key] for key in both)
        if len(both) >= MIN_LABELED and same and len({given[one][key] for key in both}) > 1:
            results.append(f"{one} and {other} give the same score in all {len(both):,} labels: two names, one labeler")
    return results


def labels_of_judge(suite: SuiteModel, cases: Sequence[Case]) -> list[str]:
    """Labels that the suite's judge, if it is code, gives to every recorded answer itself; `judge check` compares those
    of a model."""
    judge = suite.judge
    if judge is None or not judge.labels or any(member.is_model for member in judge.members):
        return []
    evaluator, reader = Evaluator(suite), JudgeReader(judge, rules_judges(judge, suite.folder))
    pairs: dict[str, list[tuple[Any, Value]]] = defaultdict(list)
    for case, text in recorded_answers(suite, cases):
        labels = _labels(case, judge)
        evaluated = evaluator.evaluate(text, case, ANSWERED) if labels else None
        if evaluated is None or evaluated.to_judge is None or not is_labelled(text, case, judge.labelled):
            continue
        given = reader.read((), evaluated.to_judge, case, evaluated.metrics, evaluated.findings).uncapped
        for name, label in labels.items():
            pairs[name].append((given.get(name), label.best if isinstance(label, Label) else label))
    return [
        f"{name}: the judge gives the label in {len(rows):,} of {len(rows):,} texts (agreement of 1.00): labels that"
        " are the judge's own scores look like this"
        for name, rows in pairs.items()
        if len(rows) >= MIN_IDENTICAL and len({label for _, label in rows}) > 1 and all(a == b for a, b in rows)
    ]


def _labels(case: Case, judge: JudgeModel) -> Mapping[str, Label | bool]:
    try:
        return labels_of(case, judge)
    except ValueError:
        return {}


def _labeled(judge: JudgeModel, cases: Iterable[Case]) -> Iterator[_Labeled]:
    n = 0
    for case in cases:
        labels = {
            name: label.best if isinstance(label, Label) else label for name, label in _labels(case, judge).items()
        }
        if labels and (n := n + 1) <= MAX_CASES:
            shown = hidden(case, judge)
            parts = {name: getattr(shown, name) for name in _PARTS}
            yield _Labeled(case, labels, dict(_leaves(parts, ())))


def _leaves(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, Mapping | list | tuple):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _leaves(inner, (*place, key))
    if place and value is not None:
        yield place, value


def _how_told(pairs: Sequence[tuple[Any, Value]]) -> str:
    """How a field tells the labels, with `{}` for what is labeled; "" when it does not."""
    pairs = [(_shape(value), label) for value, label in pairs]
    if _determines(pairs) or _orders(pairs):
        return "determines the label of {}"
    if _contains(pairs) or _has_words(pairs):
        return "contains the label of {}"
    for cut in sorted({label for _, label in pairs})[1:]:
        sides: list[tuple[Any, Value]] = [(value, label >= cut) for value, label in pairs]
        if min(Counter(side for _, side in sides).values()) >= _MIN_SIDE * len(pairs) and _determines(sides):
            return f"tells whether the label of {{}} is at least {cut}"
    return ""


def _shape(value: Any) -> Any:
    """Of a list its length, of a mapping its keys: what it holds has places of its own."""
    if isinstance(value, Mapping):
        return " ".join(sorted(map(str, value)))
    return len(value) if isinstance(value, list | tuple) else value


def _determines(pairs: Sequence[tuple[Any, Value]]) -> bool:
    """Whether the values, few enough to be no ids, tell nearly all labels, and far more than the commonest label."""
    by_value: dict[str, Counter[Value]] = defaultdict(Counter)
    for value, label in pairs:
        by_value[repr(value)][label] += 1
    if len(by_value) * _MIN_SAME > len(pairs):
        return False
    return _tells(pairs, sum(counts.total() - max(counts.values()) for counts in by_value.values()))


def _tells(pairs: Sequence[tuple[Any, Value]], wrong: int) -> bool:
    """Whether so few exceptions are nearly none, and far fewer than the commonest label for all would have."""
    commonest = Counter(label for _, label in pairs).most_common(1)[0][1]
    return wrong <= _MAX_EXCEPTIONS * len(pairs) and wrong <= _MAX_UNEXPLAINED * (len(pairs) - commonest)


def _contains(pairs: Sequence[tuple[Any, Value]]) -> bool:
    """Whether nearly every text has the value of its label as a word, and hardly any that of another label."""
    spelled = {label: _spellings(label) for _, label in pairs}
    right = 0
    for value, label in pairs:
        words = set(_TOKEN.findall(str(value).lower())) if isinstance(value, str) else set()
        right += [known for known, words_of in spelled.items() if words & words_of] == [label]
    return _tells(pairs, len(pairs) - right)


def _orders(pairs: Sequence[tuple[Any, Value]]) -> bool:
    """Whether cases in the order of a number, such as a mean of several labels, are in that of their labels."""
    if not all(isinstance(value, int | float) for value, _ in pairs):
        return False
    if len({other - one for one, other in pairwise(sorted({value for value, _ in pairs}))}) == 1:
        # A running number tells a judge nothing, whatever the order of the cases.
        return False
    labels = [label for _, label in sorted(pairs, key=lambda pair: pair[0])]
    changes = sum(one != other for one, other in pairwise(labels))
    return _tells(pairs, changes + 1 - len(set(labels)))


def _has_words(pairs: Sequence[tuple[Any, Value]]) -> bool:
    """Whether texts of nearly every label, but one, share a word that others have not: an id such as `good-17`."""
    rows = [
        (set(_WORD.findall(value.lower())) if isinstance(value, str) else set[str](), label) for value, label in pairs
    ]
    total, marks = Counter(word for words, _ in rows for word in words), dict[Value, str]()
    sizes = Counter(label for _, label in rows)
    for label, n in sizes.items():
        mine = Counter(word for words, other in rows if other == label for word in words)
        word = max(mine, key=lambda word: (2 * mine[word] - total[word], word), default="")
        if n > _MIN_SAME and 2 * mine[word] - total[word] >= (1 - _MAX_UNEXPLAINED) * n:
            marks[label] = word
    rest = [label for label in sizes if label not in marks]
    if len(rest) > 1:
        return False
    told = ([label for label, word in marks.items() if word in words] or rest for words, _ in rows)
    return _tells(pairs, sum(labels != [label] for labels, (_, label) in zip(told, rows, strict=True)))


def _spellings(label: Value) -> set[str]:
    if isinstance(label, bool):
        return {"true", "yes", "1"} if label else {"false", "no", "0"}
    numerals = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return {str(label), f"{label}.0", *numerals[label : label + 1]}


def _is_shown(judge: JudgeModel, rows: Sequence[_Labeled], place: Place, metrics: Mapping[str, Any]) -> bool:
    """Whether the prompt about a case changes when the field has another case's value."""
    other = {repr(item.fields[place]): item.fields[place] for item in rows if place in item.fields}
    for item in rows[:MIN_LABELED]:
        if place in item.fields:
            changed = next((value for text, value in other.items() if text != repr(item.fields[place])), "")
            before, after = (_prompt(judge, case, metrics) for case in (item.case, _with(item.case, place, changed)))
            if before != after:
                return True
    return False


def _prompt(judge: JudgeModel, case: Case, metrics: Mapping[str, Any]) -> str:
    """The prompt about a case; "" for a template that this case cannot fill, which a run reports."""
    try:
        return "\n".join(message["content"] for message in messages(judge, _TEXT, case, metrics, _FENCE).messages)
    except SuiteError:
        return ""


def _with(case: Case, place: Place, value: Any) -> Case:
    part = str(place[0])
    return replace(case, **{part: _replaced(getattr(case, part), place[1:], value)})


def _replaced(data: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    if isinstance(data, Mapping):
        return {key: _replaced(inner, place[1:], value) if key == place[0] else inner for key, inner in data.items()}
    return [_replaced(inner, place[1:], value) if at == place[0] else inner for at, inner in enumerate(data)]
