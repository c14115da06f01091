"""What a judge says beyond its scores, as scores that weigh nothing: means by key, and counts of words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.records import Judgement, Mode, Score
from steelyard.suite.build_judge import LISTED
from steelyard.suite.judge import JudgeModel, SaidCount, SaidMean
from steelyard.suite.paths import compile_path


def said_scores(judge: JudgeModel, judgement: Judgement) -> tuple[Score, ...]:
    """A score for each figure that the answer has a reading of; a basic reading, believed only in its scores, has none.

    Of a panel it is what the ballot says that stands for the others.
    """
    ballot = judgement.stands
    if ballot is None or ballot.mode is Mode.BASIC:
        return ()
    return (*_means(judge.means, ballot.reply), *_counts(judge.counts, ballot.reply))


def _means(figures: tuple[SaidMean, ...], reply: Mapping[str, Any]) -> Iterator[Score]:
    for figure in figures:
        value = compile_path(figure.path)(reply)
        if isinstance(value, int | float) and not isinstance(value, bool) and _is_on(value, figure.scale):
            yield Score(figure.name, float(value), 0.0)


def _is_on(value: float, scale: tuple[float, float]) -> bool:
    low, high = scale
    return math.isfinite(value) and low <= value <= high


def _counts(figures: tuple[SaidCount, ...], reply: Mapping[str, Any]) -> Iterator[Score]:
    """What every list counts; one that is not there counts nothing, which is not zero."""
    for figure in figures:
        elements = compile_path(figure.list_path)(reply)
        if not isinstance(elements, list | tuple):
            continue
        word_of = compile_path(figure.word_path)
        said = Counter(word for each in elements if isinstance(word := word_of(each), str))
        counts = {word: said[word] for word in figure.words}
        yield Score(figure.name, None, 0.0, counts=counts | {LISTED: len(elements)})
