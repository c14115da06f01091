"""Whether all answers of a run are one answer, but for what changes with every call: an id, a time, a counter."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from steelyard.suite.case import Case, digest
from steelyard.suite.paths import compile_path

_OF_CALL = re.compile(
    r"(\b(?:request|req|call|trace|ref|id|attempt)\W{0,3}|#)[\w-]*\d[\w-]*"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # a UUID
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|\s?[+-]\d\d:?\d\d|\b)"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? \d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d(?: [A-Z]+)?"
    r"|\b\d{1,2}:\d\d:\d\d[\d.]*"
    r"|\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{8,}"  # letters and digits mixed
    r"|\b\d{8,}(?:\.\d+)?\b"
    r"|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds|milliseconds)\b",
    re.IGNORECASE,
)
_KEY_OF_CALL = re.compile(
    r"(?:^|_|[a-z](?=[A-Z]))(?:id|uuid|time|timestamp|date|at|elapsed|duration|latency|took|ms|seconds|nonce|seq|sequence"
    r"|counter|trace|uptime|created|server|host|tokens)$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS = 2
_EPOCH = 1e9
_LITTLE = 0.5
_MOST_KEPT = 10_000
_MOST_WORDINGS = 10
_TRUTHS_A_WORDING = 4
_QUESTIONS_A_WORDING = 10
_SENTENCE = 5
"""Words."""
_TRUTH = re.compile(r'"(expected(?:\.[^"\\]+)?)"(?!:)')
_NAMING = ("components", "expect", "stability", "confidence")


class SameAnswers:
    """Looks at answers until two differ in more than what changes with every call."""

    def __init__(self) -> None:
        self._first: dict[str, Any] | None = None
        self._differ = False
        self._changing: dict[str, tuple[Any, Any]] = {}
        self._whole_numbers: dict[str, set[int]] = {}

    def watch(self, text: str) -> None:
        """Take note of one answer."""
        if self._differ:
            return
        leaves = dict(_leaves(text))
        if self._first is None:
            self._first = leaves
        self._differ = leaves.keys() != self._first.keys() or not all(
            self._is_of_call(path, self._first[path], value) for path, value in leaves.items()
        )

    def example(self, suite: Mapping[str, Any], average: float | None) -> str | None:
        """None when answers differ; else "" when all are identical, or an example of what alone is not.

        What the suite's scorers look at is no such thing, unless words are left around it and little was earned.
        """
        if self._differ or self._first is None:
            return None
        named = _names(suite)
        left = [path for path in self._first if path not in self._changing]
        for path, (item, _) in self._changing.items():
            words = _WORD.findall(_bare(item)) if isinstance(item, str) else ()
            has_words = len(words) >= _FEWEST_WORDS
            is_scored = not path or bool(named & set(re.findall(r"\w+", path)))
            if is_scored and not (has_words and average is not None and average <= _LITTLE):
                return None
            left += [path] if has_words else []
        if not left:
            return None
        changed = [f"{path.lstrip('.')} {other}".strip() for path, (_, other) in self._changing.items()]
        return changed[0] if changed else ""

    def _is_of_call(self, path: str, entry: Any, other: Any) -> bool:
        """Whether two values at one place are equal, or differ as an id or a time does."""
        numbers = [item for item in (entry, other) if isinstance(item, (int, float)) and not isinstance(item, bool)]
        if path in self._whole_numbers and isinstance(other, int):
            seen = self._whole_numbers[path]
            # A counter is never twice the same; a number that comes again was found in the question.
            if other in seen or len(seen) > _MOST_KEPT:
                return False
            seen.add(other)
            return True
        if entry == other and type(entry) is type(other):
            return True
        self._changing[path] = entry, other
        if (
            isinstance(entry, str)
            and isinstance(other, str)
            and (_bare(entry) == _bare(other) or _is_key_of_call(path))
        ):
            return True
        if len(numbers) < 2:
            return False
        if _is_key_of_call(path) or min(numbers) >= _EPOCH:
            return True
        if isinstance(entry, int) and isinstance(other, int):
            self._whole_numbers[path] = {entry, other}
            return True
        return False


class Wordings:
    """Counts the answers that differ in more than what changes with every call, as long as they are few."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._shortest = _SENTENCE

    def watch(self, text: str) -> None:
        """Take note of one answer."""
        if len(self._seen) > _MOST_WORDINGS:
            return
        left = [(path, _bare(str(value))) for path, value in _leaves(text) if not _is_key_of_call(path)]
        words = " ".join(f"{path} {value}" for path, value in left).casefold().split()
        self._seen.add(hash(" ".join(words)))
        self._shortest = min(self._shortest, len(words))

    def complaint(
        self, n: int, average: float | None, suite: Mapping[str, Any], cases: Callable[[], Iterable[Case]]
    ) -> str | None:
        """That `n` answers hardly depend on the cases, if so: they are few wordings for truths that nearly all differ.

        A choice of a few labels has few truths, too. Where a judge reads texts that have no truth, a sentence for ten
        questions is too few.
        """
        few = len(self._seen)
        if not 1 < few <= _MOST_WORDINGS or few > n / _TRUTHS_A_WORDING:
            return None
        paths = sorted(set(_TRUTH.findall(json.dumps(suite.get("components"), default=str))))
        if paths and average is not None and average <= _LITTLE:
            get = [compile_path(path) for path in paths]
            truths = Counter(digest([str(item(case)) for item in get]) for case in cases())
            if len(truths) >= max(few * _TRUTHS_A_WORDING, truths.total() / 2):
                return self._hardly(n, f"{len(truths):,} truths")
        elif not paths and suite.get("judge") and self._shortest >= _SENTENCE:
            questions = len({case.question for case in cases()})
            if questions >= few * _QUESTIONS_A_WORDING:
                return self._hardly(n, f"{questions:,} questions")
        return None

    def _hardly(self, n: int, others: str) -> str:
        return f"the {n:,} answers are {len(self._seen)} wordings for {others}: they hardly depend on what was asked"


def _leaves(text: str) -> Iterator[tuple[str, Any]]:
    """Every value of a JSON document by its path; of any other text, the text."""
    if text[:1] in "{[":
        try:
            yield from _values(json.loads(text), "")
        except (ValueError, RecursionError):
            yield "", text
    else:
        yield "", text


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _values(inner, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for at, inner in enumerate(value):
            yield from _values(inner, f"{path}.{at}")
    else:
        yield path, value


def _is_key_of_call(path: str) -> bool:
    return _KEY_OF_CALL.search(path.rpartition(".")[2]) is not None


def _bare(text: str) -> str:
    return _OF_CALL.sub(lambda result: f"{result[1] or ''}…", text)


def _names(suite: Mapping[str, Any]) -> set[str]:
    """Every name that the suite's scorers, checks and comparisons of repeats speak of."""
    return set(re.findall(r"\w+", json.dumps([suite.get(key) for key in _NAMING], default=str)))
