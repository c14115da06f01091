"""Whether the answers of a run come from a service that works."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from steelyard.engine.same_answers import SameAnswers, Wordings
from steelyard.records import AtLeast, Sample
from steelyard.suite.case import Case

_FEWEST = 5
"""Below this many answers, sameness says nothing."""
_MARKED_SHARE = 0.05
_FAR_BELOW = 0.1
_SHORTEST_USUAL = 0.1
"""Seconds; below this, history is too fast for a ratio to mean anything: a busy machine alone makes it."""

_ERROR_MARKS = re.compile(
    r'"errors?"\s*:\s*(?:\[\s*[{"]|\{|"[^"])'
    r"|model[_ ]not[_ ]found|MODEL_(?:PARSE_)?FAILURE|Internal Server Error|Traceback \(most recent call last\)"
    r"|rate limit (?:exceeded|reached)|upstream connect error|<html[\s>]",
    re.IGNORECASE,
)
_HINTS = ("error", "model", "traceback", "rate limit", "upstream", "<html")
"""Every error mark holds one of these: looking for them first takes a tenth of the time."""
_LOOKED_AT = 20_000
_EXAMPLE = 60
_ERRORS = 400
"""HTTP statuses from here on are errors."""


class Health:
    """Watches every sample of a run and, at the end, names what looks wrong. Memory does not grow with the run."""

    def __init__(self, doubts: Sequence[str] = ()) -> None:
        """`doubts` are reasons that somebody else has to suspect the run."""
        self._doubts = doubts
        self._answers = 0
        self._empty = 0
        self._marked = 0
        self._mark = ""
        self._cut_off = 0
        self._objects = 0
        self._with_tokens = 0
        self._without_output = 0
        self._with_list = 0
        self._nothing_listed = 0
        self._same, self._wordings = SameAnswers(), Wordings()
        self._scored, self._earned = 0, 0.0
        self._texts: set[int] = set()
        self._cases: set[str] = set()

    def watch(self, sample: Sample) -> None:
        """Take note of one sample."""
        call_result = sample.call_result
        if not sample.outcome.conclusive or call_result.text is None:
            return
        if call_result.status is not None and call_result.status >= _ERRORS:
            # An error that is scored is one that the case asks for: it says nothing of the other answers.
            return
        text = call_result.text.strip()
        self._answers += 1
        self._empty += not text
        if sample.items is not None:
            self._with_list += 1
            self._nothing_listed += not sample.items
        self._cut_off += call_result.cut_off
        self._objects += text.startswith("{") and text.endswith("}")
        self._same.watch(text)
        self._wordings.watch(text)
        if sample.score is not None:
            self._scored, self._earned = self._scored + 1, self._earned + sample.score
        if len(self._texts) < _FEWEST:
            self._texts.add(hash(text))
        if len(self._cases) < _FEWEST:
            self._cases.add(sample.case_id)
        if call_result.tokens_out is not None:
            self._with_tokens += 1
            self._without_output += call_result.tokens_out == 0
        lowered = text[:_LOOKED_AT].lower()
        if any(hint in lowered for hint in _HINTS) and (mark := _ERROR_MARKS.search(text, 0, _LOOKED_AT)):
            self._marked += 1
            self._mark = self._mark or mark.group(0)[:40]

    @property
    def answers_differ(self) -> bool:
        """True when enough answers to different cases are different ones."""
        return len(self._texts) == len(self._cases) == _FEWEST

    @property
    def _average(self) -> float | None:
        return self._earned / self._scored if self._scored else None

    @property
    def all_objects(self) -> bool:
        """True when every answer looks like a JSON object."""
        return self._answers > 0 and self._objects == self._answers

    def complaints(
        self,
        typical_latency: float | None,
        usual: list[float],
        suite: Mapping[str, Any] | None = None,
        cases: Callable[[], Iterable[Case]] = tuple,
    ) -> tuple[str, ...]:
        """Why the run is suspect, in words; empty when nothing looks wrong.

        `typical_latency` is this run's median in seconds, `usual` the medians of earlier runs of the same target,
        `suite` the description of the suite, which names what its scorers look at, `cases` what gives its cases.
        """
        results = [
            self._same_or_empty(suite or {})
            or self._wordings.complaint(self._answers, self._average, suite or {}, cases),
            self._marks(),
            self._broken_off(),
            self._tokens(),
            self._too_fast(typical_latency, usual),
            *self._doubts,
        ]
        return tuple(text for text in results if text)

    def _same_or_empty(self, suite: Mapping[str, Any]) -> str | None:
        if self._answers and self._empty == self._answers:
            return f"all {self._answers} answers are empty"
        if self._empty >= _FEWEST and self._empty > self._answers / 2:
            return f"{self._empty} of {self._answers} answers are empty"
        if len(self._cases) < 2:
            return None
        example = self._same.example(suite, self._average) if self._answers >= _FEWEST else None
        if example == "":
            return f"all {self._answers} answers are identical although the cases differ"
        if self._with_list >= _FEWEST and self._nothing_listed == self._with_list:
            return f"all {self._with_list} answers list nothing although the cases differ"
        if example is None:
            return None
        but = f"but for what changes with every call, such as {example[:_EXAMPLE]!r}"
        return f"all {self._answers} answers are identical {but}, although the cases differ"

    def _marks(self) -> str | None:
        if self._marked and self._marked >= _MARKED_SHARE * self._answers:
            return f"{self._marked} of {self._answers} answers carry an error marker such as {self._mark!r}"
        return None

    def _broken_off(self) -> str | None:
        if self._cut_off and self._cut_off >= _MARKED_SHARE * self._answers:
            message = f"{self._cut_off} of {self._answers} answers broke off at the limit of tokens"
            return f"{message}: ask for more with max_tokens, or for less"
        return None

    def _tokens(self) -> str | None:
        if self._with_tokens and self._without_output == self._with_tokens:
            return f"all {self._with_tokens} answers that report tokens report zero output tokens"
        return None

    def _too_fast(self, now: float | None, usual: list[float]) -> str | None:
        # A median that timeouts reach into may be anything from there on.
        if now is None or isinstance(now, AtLeast) or self._answers < _FEWEST or not usual:
            return None
        before = median(usual)
        if before < _SHORTEST_USUAL or now >= _FAR_BELOW * before:
            return None
        runs = "1 earlier run" if len(usual) == 1 else f"{len(usual)} earlier runs"
        return f"median latency {now * 1000:.0f} ms is far below the usual {before * 1000:.0f} ms of {runs}"
