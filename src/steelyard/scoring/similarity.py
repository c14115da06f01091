"""The scorer of how alike two texts are: by n-grams (chrF), or by a model of embeddings that a run asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from pydantic import Field, model_validator

from steelyard import plugins
from steelyard.errors import MissingExtra
from steelyard.records import ScorerCall
from steelyard.scoring.base import UNKNOWN, Measure, Reading, Scorer
from steelyard.scoring.model_scorers import LOOKUP, NeededCall
from steelyard.scoring.spelling import as_text
from steelyard.suite.case import Case, digest
from steelyard.suite.values import Share

_WHOLE = 10_000
"""Counts are whole: a similarity is counted in parts of this."""


if TYPE_CHECKING:
    EmbeddingsConnection: TypeAlias = Any
else:
    # The settings are of the part that asks the model, which this one does not import.
    EmbeddingsConnection = plugins.find("models", "embeddings")


class Similarity(Scorer):
    """How alike answer and truth are, 0..1, by chrF or by the cosine of embeddings; with a threshold, 1 or 0."""

    has_strict: ClassVar[bool] = True
    measures: ClassVar[Mapping[str, Measure]] = MappingProxyType(
        {"similarity": Measure("alike", "whole", "the mean similarity, before any threshold", "higher")}
    )
    metrics: ClassVar[Mapping[str, str]] = MappingProxyType({"similarity": "how alike answer and truth are, 0 to 1"})

    expected: str = Field(description="Path to the true text in the case, or to several that are as good.")
    at_least: Share | None = Field(
        default=None, description="The similarity that earns 1, and less 0; left out, the value is the similarity."
    )
    embeddings: EmbeddingsConnection | None = Field(
        default=None, description="The model whose vectors are compared; left out, n-grams are (chrF)."
    )
    char_order: int = Field(default=6, ge=1, le=20, description="chrF: the longest n-grams of characters.")
    word_order: int = Field(default=0, ge=0, le=10, description="chrF: the longest n-grams of words; 2 is chrF++.")
    beta: int = Field(default=2, ge=1, le=10, description="chrF: how many times recall counts as much as precision.")
    ignore_case: bool = Field(default=False, description="chrF: whether letter case does not count.")
    max_characters: int = Field(default=50_000, gt=0, description="A longer answer earns 0.")
    strict: bool = Field(default=False, description="Score by the strict rule.")
    floor: Share = Field(
        default=0.5, lt=1, description="Strict rule: similarity up to this earns nothing; above it is rescaled."
    )

    @model_validator(mode="after")
    def _can_compare(self) -> Self:
        if self.embeddings is None:
            _chrf(self.char_order, self.word_order, self.beta, self.ignore_case)
        elif self.model_fields_set & {"char_order", "word_order", "beta", "ignore_case"}:
            raise ValueError("char_order, word_order, beta and ignore_case are of chrF: leave them out with embeddings")
        return self

    def needed_models(self) -> Sequence[Any]:
        return () if self.embeddings is None else (self.embeddings,)

    def read(self, answer: Any, case: Case) -> Reading:
        truths = self._truths(case)
        if not truths:
            return UNKNOWN
        got, expected = as_text(self.answer_value(answer)), truths[0] if len(truths) == 1 else truths
        if not got.strip() or len(got) > self.max_characters:
            note = f"longer than {self.max_characters:,} characters" if got.strip() else ""
            return Reading(0.0, expected, got, note, counts=self.nothing(case), metrics={"similarity": 0.0})
        calls: tuple[ScorerCall, ...] = ()
        if self.embeddings is None:
            compare = _chrf(self.char_order, self.word_order, self.beta, self.ignore_case)
            alike = compare(got, truths)
        else:
            cosine, calls = self._cosines(self.embeddings, got, truths)
            if cosine is None:
                return Reading(None, expected, got, "the model was not asked", calls=calls, skipped=True)
            alike = cosine
        # Vectors at more than a right angle have a cosine below 0: no more alike than strangers.
        alike = min(1.0, max(0.0, alike))
        counts = {"alike": round(alike * _WHOLE), "whole": _WHOLE}
        note = f"{100 * alike:.1f} % alike"
        return Reading(
            self._value(alike), expected, got, note, counts=counts, metrics={"similarity": alike}, calls=calls
        )

    def _value(self, alike: float) -> float:
        if self.at_least is not None:
            return float(alike >= self.at_least)
        return max(0.0, (alike - self.floor) / (1.0 - self.floor)) if self.strict else alike

    def _cosines(self, model: Any, got: str, truths: Sequence[str]) -> tuple[float | None, tuple[ScorerCall, ...]]:
        """The best cosine, with the calls it stands on; None when one has still to be asked for."""
        if got in truths:
            return 1.0, ()  # the same text has the same vector
        lookup = LOOKUP.get()
        if lookup is None or lookup.lenient:
            return (1.0 if lookup else None), ()
        calls: list[ScorerCall] = []
        complete = True
        for truth in truths:
            key = digest([model.identity(), got, truth])
            call = lookup.recorded.get(key)
            if call is not None:
                calls.append(call)
            if call is None or call.call_result.failure is not None:
                complete = False
                lookup.wanted[key] = NeededCall(key, model, (got, truth), _why(model.model, call))
        best = max(float(call.call_result.text or "nan") for call in calls) if complete else None
        return best, tuple(calls)

    def nothing(self, case: Case) -> Mapping[str, int]:
        return {"alike": 0, "whole": _WHOLE} if self._truths(case) else {}

    def truth(self, case: Case) -> Any:
        return next(iter(self._truths(case)), None)

    def check(self, case: Case) -> str | None:
        raw = self.expected_value(case)
        if raw is None:
            return None
        texts = raw if isinstance(raw, list) else [raw]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            return f"{self.expected} is {raw!r}: a text or a list of texts is needed"
        if max(map(len, texts)) > self.max_characters:
            return f"{self.expected} is longer than max_characters ({self.max_characters:,})"
        return None

    def keywords_of(self, case: Case) -> list[str]:
        return self._truths(case)

    def _truths(self, case: Case) -> list[str]:
        raw = self.expected_value(case)
        texts = raw if isinstance(raw, list) else [raw]
        return [text for text in texts if isinstance(text, str) and text.strip()]


def _why(model: str, call: ScorerCall | None) -> str:
    if call is None or call.call_result.failure is None:
        return (
            f"no cosine by {model} of this answer and truth is recorded: steelyard rescore --judge-again asks the model"
        )
    failure = call.call_result.failure
    return f"the embeddings of {model} failed ({failure.kind}), --retry-failed asks again: {failure.message}"


@cache
def _chrf(char_order: int, word_order: int, beta: int, ignore_case: bool) -> Callable[[str, Sequence[str]], float]:
    """chrF of a text against the best of others, 0..1; MissingExtra without sacrebleu."""
    try:
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise MissingExtra(f"the scorer similarity ({error})", "similarity") from error
    metric = CHRF(char_order=char_order, word_order=word_order, beta=beta, lowercase=ignore_case)
    return lambda got, truths: float(metric.sentence_score(got, list(truths)).score) / 100
