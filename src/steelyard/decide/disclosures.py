"""Disclosures: what was cached, repeated, retried or edited on the way to a verdict, one sentence each.

Every report shows them with the verdict and omits none. A disclosure is computed from what is stored with the run
alone, so it reads the same in every folder and from a snapshot. To add one, write a function and add it to
`_DISCLOSURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from steelyard.analysis.model import Summary
from steelyard.decide.gates import GateResult
from steelyard.records import RunHeader

Disclosure = Callable[[RunHeader, Summary, Sequence[GateResult]], Iterator[str]]


def disclosures(header: RunHeader, summary: Summary, gates: Sequence[GateResult]) -> list[str]:
    """What a reader of the verdict must know about how it came about, most important first."""
    return [sentence for disclose in _DISCLOSURES for sentence in disclose(header, summary, gates)]


def _reused_answers(header: RunHeader, _summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """The earlier run whose answers were scored, judged or resumed."""
    options = header.options
    if header.rescored_from:
        yield f"rescored from run {header.rescored_from}: the same answers, scored again"
    if options.answers_of:
        yield f"judged again: the answers of run {options.answers_of}, with new calls of its judge"
    if options.resumed_from:
        yield f"resumed from run {options.resumed_from}: its answers scored again by changed scorers"


def _retried_samples(header: RunHeader, _summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """How many failed samples of which run were requested again."""
    retried = header.options.retried
    if retried is None:
        return
    cost = f"; its own calls cost {retried.spent:.4g}" if retried.spent else ""
    plural = "" if retried.asked == 1 else "s"
    yield (
        f"{retried.asked:,} failed sample{plural} of run {retried.run} run again; the other"
        f" {retried.retained:,} copied unchanged, and not paid again{cost}"
    )


_DISCLOSURES: tuple[Disclosure, ...] = (
    _reused_answers,
    _retried_samples,
)
