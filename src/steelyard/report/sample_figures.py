"""The samples that a report lists: each score and time by the name that `--explain` takes."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.analysis.explain_check_rows import case_names
from steelyard.analysis.explain_things import Figure, Thing, ThingFigure, Words, total
from steelyard.analysis.model import SampleLine
from steelyard.records import Sample
from steelyard.report.model import Report

_SCORE = Words(
    "sum of weight x share of the scale / sum of weights",
    "one sample, as it was weighed; its components with their weights stand beside it, a malformed answer has none",
    unit="score",
    interval="none: it is one sample",
)
_TIME = Words("seconds of the call, as recorded", "one sample", unit="s", interval="none: it is one call")


def sample_figures(report: Report) -> Iterator[Figure]:
    """Score and time of every sample that the report lists."""
    listed = (
        ("samples", [detail.line for detail in report.details]),
        ("worst", report.worst),
        ("slowest", report.slowest),
    )
    for where, lines in listed:
        for number, line in enumerate(lines):
            names = (*case_names(line.case_id, line.variant), "repeat", str(line.repeat + 1))
            place = f"{where}[{number}]"
            if line.score is not None:
                yield Figure((*names, "score"), f"{place}.score", line.score, _SCORE, _score(line).copy)
            if line.latency is not None:
                yield Figure((*names, "latency"), f"{place}.latency", line.latency, _TIME, _time(line).copy)


class _One:
    """One figure of one sample."""

    def __init__(self, line: SampleLine, name: str, words: Words) -> None:
        self._key, self._name, self._words = (line.case_id, line.variant, line.repeat), name, words

    def copy(self) -> ThingFigure:
        """Ready for samples."""
        return ThingFigure(self._read, total(self._name), self._words)

    def _read(self, sample: Sample) -> Iterator[Thing]:
        if sample.key == self._key:
            value = sample.attempt.latency if self._name == "seconds" else sample.score
            yield Thing(value, said=_weighed(sample))


def _score(line: SampleLine) -> _One:
    return _One(line, "score", _SCORE)


def _time(line: SampleLine) -> _One:
    return _One(line, "seconds", _TIME)


def _weighed(sample: Sample) -> str:
    return ", ".join(
        f"{score.name} {'none' if score.value is None else f'{score.value:.4g}'} x {score.weight:g}"
        for score in sample.scores
    )
