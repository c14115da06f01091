"""Disclosures: what was cached, repeated, retried or edited on the way to a verdict, one sentence each.

Every report shows them with the verdict and omits none. A disclosure is computed from what is stored with the run
alone, so it reads the same in every folder and from a snapshot. To add one, write a function and add it to
`_DISCLOSURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from steelyard.analysis.model import Summary
from steelyard.decide.gates import GateResult
from steelyard.decide.provenance import changed_in_words, run_before, times, verdicts_in_words
from steelyard.frozen import frozen
from steelyard.records import RunHeader, Verdict
from steelyard.stats.paired import SIGNIFICANT, holm
from steelyard.suite.yaml import listed
from steelyard.wording import cached_in_words, counted, distinguished, in_unit, percent, provider_cached_in_words

Disclosure = Callable[[RunHeader, Summary, Sequence[GateResult]], Iterator[str]]


@frozen
class Disclosed:
    """One sentence about how a verdict came about; a warning unless it is ordinary and changes no one's trust."""

    text: str
    is_warning: bool = True


def disclosures(header: RunHeader, summary: Summary, gates: Sequence[GateResult]) -> list[Disclosed]:
    """What a reader of the verdict must know about how it came about, most important first."""
    calm = _HISTORY if _same_verdict_before(header, gates) else ()
    return [
        Disclosed(sentence, disclose not in calm)
        for disclose in _DISCLOSURES
        for sentence in disclose(header, summary, gates)
    ]


def _same_verdict_before(header: RunHeader, gates: Sequence[GateResult]) -> bool:
    """Whether the earlier runs are known, and this one is not a PASS that others before it were not."""
    earlier = header.options.earlier
    if earlier is None:
        return False
    if any(item.verdict is not Verdict.PASS for item in gates):
        return True
    return {*earlier.verdicts, *earlier.same_answers} <= {Verdict.PASS.value, "without gates"}


def _pending(header: RunHeader, _summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """How many cases of the suite have no truth yet, and how many have one and are called pending all the same."""
    known = header.description.n_pending_known
    if n := header.description.n_pending - known:
        some = "1 case is pending: it has no truth yet and counts" if n == 1 else ""
        yield f"{some or f'{n:,} cases are pending: they have no truth yet and count'} in no figure"
    if known:
        some = "1 case has its truth and is called pending: it counts" if known == 1 else ""
        yield f"{some or f'{known:,} cases have their truth and are called pending: they count'} in no figure"


def _reused_answers(header: RunHeader, _summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """The earlier run whose answers were scored, judged or resumed, and what the same answers came to before."""
    options = header.options
    before = options.earlier.same_answers if options.earlier is not None else {}
    did = "scored" if header.rescored_from else "judged"
    often = f"{did} {times(sum(before.values()) + 1)}; before this: {verdicts_in_words(before)}"
    if header.rescored_from:
        yield f"rescored from run {header.rescored_from}: the same answers{f' {often}' if before else ', scored again'}"
    if options.answers_of:
        more = f"; the same answers {often}" if before else ""
        yield f"judged again: the answers of run {options.answers_of}, with new calls of its judge{more}"
    if options.resumed_from:
        yield f"resumed from run {options.resumed_from}: its answers scored again by changed scorers"


def _retried_samples(header: RunHeader, _summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """How many failed samples of which run were requested again."""
    retried = header.options.retried
    if retried is None:
        return
    cost = f"; its own calls cost {retried.spent:.4g}" if retried.spent else ""
    chain = f" ({retried.total:,} in {retried.retries:,} retries)" if retried.retries > 1 else ""
    yield (
        f"{counted(retried.asked, 'failed sample')} of run {retried.run} run again{chain}; the other"
        f" {retried.retained:,} copied unchanged, and not paid again{cost}"
    )


def _earlier_runs(header: RunHeader, _summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """How often the same was run before, with the verdicts."""
    earlier = header.options.earlier
    if earlier is not None and (sentence := run_before(earlier)):
        yield sentence


def _changed_criteria(header: RunHeader, _summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """How the criteria changed (gates, pass rule, limits, prices), and which cases were dropped."""
    for changed in header.options.changed:
        yield from changed_in_words(changed)


_MAX_NARROW = 3


def _narrow_gates(_header: RunHeader, _summary: Summary, gates: Sequence[GateResult]) -> Iterator[str]:
    """Which gates could have ended on the other side by chance alone."""
    narrow = [item for item in gates if item.narrow and not item.secondary]
    # Of a run that fails, a gate that passes by little changes nothing.
    fails = any(item.verdict is Verdict.FAIL and not item.secondary for item in gates)
    for verdict in (Verdict.FAIL,) if fails else (Verdict.PASS,):
        mine = [item for item in narrow if item.verdict is verdict]
        if mine:
            named = listed(map(_against_threshold, mine), _MAX_NARROW)
            yield f"narrow {verdict.value}: the interval contains the threshold: {named}"


def _against_threshold(result: GateResult) -> str:
    """`pass_rate 62.5 % [47.0, 75.8] against 60.0 %`."""
    value, unit, limit = result.value, result.unit, result.threshold
    low, high = (in_unit(end, unit).removesuffix(" %") for end in (value.low, value.high))
    high = "no upper end" if value.high is None else high
    figure = distinguished(value.value, unit, limit)
    return f"{result.name or result.metric} {figure} [{low}, {high}] against {in_unit(limit, unit)}"


_FAMILY = 3
"""From so many gates on, at least one fails by chance in more than 5 % of runs."""


def _family_of_gates(_header: RunHeader, _summary: Summary, gates: Sequence[GateResult]) -> Iterator[str]:
    """How often at least one of several gates on baselines fails by chance, and which failures remain if adjusted."""
    tested = [(item.gate, item.p) for item in gates if item.baseline and item.p is not None]
    family = {gate: min(p for other, p in tested if other == gate) for gate, _ in tested}
    if len(family) < _FAMILY:
        return
    # Each gate fails at p < 5 %, two-sided, in one of two directions.
    rate = 1 - (1 - SIGNIFICANT / 2) ** len(family)
    yield (
        f"{len(family)} gates are tested on a baseline, and each fails by chance in up to {percent(SIGNIFICANT / 2)} of"
        f" runs: with no change at all, at least one fails in up to {percent(rate)} of runs"
    )
    failing = {item.gate for item in gates if item.baseline and item.verdict is Verdict.FAIL}
    adjusted = dict(zip(family, holm(list(family.values())), strict=True))
    if failing:
        still = sorted(gate for gate in failing if (adjusted.get(gate) or 0.0) < SIGNIFICANT)
        named = f": {', '.join(still)}" if still else ", so chance alone may explain it"
        yield f"adjusted for all {len(family)} (Holm), {len(still)} of {len(failing)} failing gates remain{named}"


_MANY_FIRST_FAILURES = 0.05
"""The share of calls above which failed first attempts are disclosed: the default share of missing samples."""


def _failed_first_attempts(_header: RunHeader, summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """How many first attempts failed, where retries hide it; without any, the calls are missing and shown as such."""
    rate, total = (summary.overall[name] for name in ("first_attempt_failure_rate", "attempts.total"))
    if (total.value or 0.0) > total.n and (rate.value or 0.0) > _MANY_FIRST_FAILURES:
        yield summary.attempts


def origins_of_run(header: RunHeader) -> Iterator[str]:
    """What a run's judge shares with the system under test, or members of its panel with each other."""
    judge = header.description.judge
    if judge is None or not any(member.is_model for member in judge.members):
        return
    from steelyard.loading.chosen_judge import models_of
    from steelyard.suite.origins import shared_origins

    model, address = header.target.model or "", header.target.address
    models = models_of(model, header.description.variants) or {model}
    yield from shared_origins(models, address, judge)


def _shared_origins(header: RunHeader, _summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """That judges, or a judge and the system, are of one model family or share an address."""
    yield from origins_of_run(header)


def _cached_answers(_header: RunHeader, summary: Summary, _gates: Sequence[GateResult]) -> Iterator[str]:
    """How many answers come from a cache, and how many repeats are one answer."""
    if summary.reused is None:
        return
    n = {name: summary.overall.count(f"reused.{name}") for name in ("cached", "provider_cached", "answers", "copied")}
    if n["cached"]:
        text = cached_in_words(n["cached"], n["answers"], summary.reused)
        yield f"{text}: no call was made for them, and they say nothing of the system as it is now"
    if n["provider_cached"]:
        yield f"{provider_cached_in_words(n['provider_cached'], n['answers'])}, by its own headers or fields"
    if n["copied"]:
        copied_cells = summary.overall.count("reused.copied_cells")
        repeats = f"{counted(n['copied'], 'repeat')} of {counted(copied_cells, 'case')}"
        yield f"{repeats} are the same answer as an earlier repeat (response id or cache): they count as one"


def _labels_of_a_part(_header: RunHeader, summary: Summary, gates: Sequence[GateResult]) -> Iterator[str]:
    """Why the labels of the run give no pass rate: answers changed after labeling, or nobody sampled at random."""
    check = summary.judge_check
    if check is not None and check.not_random:
        unchecked = (
            "the judge is unchecked, and there is " if summary.judge is not None and summary.labels_are_chosen else ""
        )
        given = any(check.not_random in item.reason for item in gates if item.verdict is not Verdict.PASS)
        yield f"{unchecked}no pass rate by labels{'' if given else f': {check.not_random}'}"


_DISCLOSURES: tuple[Disclosure, ...] = (
    _narrow_gates,
    _pending,
    _earlier_runs,
    _reused_answers,
    _cached_answers,
    _retried_samples,
    _changed_criteria,
    _family_of_gates,
    _failed_first_attempts,
    _shared_origins,
    _labels_of_a_part,
)
_HISTORY: tuple[Disclosure, ...] = (_earlier_runs, _reused_answers, _retried_samples)
"""What ordinary work leaves behind: a warning only where it could have selected a PASS."""
