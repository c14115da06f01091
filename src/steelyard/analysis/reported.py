"""Every metric that reports have and no gate can name: of samples and findings here, all others by their module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.analysis import confidence, findings, latency, repeats, stability, variants
from steelyard.analysis.findings import component_gain, failing_samples, pattern_samples, with_finding
from steelyard.analysis.judge.reasons import silent_texts
from steelyard.failures import failure_reason
from steelyard.metrics.kinds import NO_INTERVAL, Aggregate
from steelyard.metrics.registry import (
    At,
    Contributions,
    Key,
    Level,
    Reasons,
    Reported,
    register_reported,
)
from steelyard.metrics.run_data import RunData, Thing, one_value
from steelyard.metrics.table import FORMAT
from steelyard.records import SCORER_ERROR, Finding, Outcome, Sample
from steelyard.stats.arrays import Array
from steelyard.store.contents import confusion_label, is_confusion

Contribute = Callable[[RunData, At], Contributions]


def _marked(mask: Callable[[RunData, At], Any]) -> Contribute:
    """The samples that a mask marks, each counting 1."""
    return lambda data, at: data.marked(mask(data, at), at)


def _everything(data: RunData, _: At) -> Array:
    return np.ones(data.table.n, dtype=bool)


def _first_failed(data: RunData, at: At) -> Array:
    codes, kinds = data.table.first_failures()
    return np.asarray(codes == kinds.index(at.name("kind")))


_REUSED: dict[str, tuple[str, Callable[[RunData, At], Array]]] = {
    "cached": ("answers from the cache", lambda data, _: data.table.cached()),
    "answers": ("answers, cached or not", lambda data, _: ~np.logical_or(*data.table.unanswered())),
    "provider_cached": (
        "answers that the provider marked as from its cache",
        lambda data, _: data.table.reused() & ~data.table.cached(),
    ),
    "copied": ("repeats that are the same answer as an earlier one", lambda data, _: data.table.copied()),
}


COUNTS = (
    Reported(
        "failures.<kind>",
        "failures.<kind>",
        "samples whose call failed in that way",
        "every sample is looked at",
        _marked(lambda data, at: data.columns.failure == data.columns.failures.index(at.name("kind"))),
    ),
    Reported(
        "first_failures.<kind>",
        "first_failures.<kind>",
        "calls whose first attempt failed in that way, whatever came of later ones",
        "answers for which no call was made are left out",
        _marked(_first_failed),
        of="calls",
    ),
    *(
        Reported(f"reused.{name}", f"reused.{name}", formula, "every answer is looked at", _marked(mask), of="answers")
        for name, (formula, mask) in _REUSED.items()
    ),
    Reported(
        "reused.copied_cells",
        "reused.copied_cells",
        "cells with a repeat that is the same answer as an earlier one",
        "every cell is looked at",
        lambda data, _: data.of_cells(data.cells.count_of(data.table.copied()) > 0),
        Level.CELL,
    ),
    Reported(
        "steps.<step>",
        "steps.<step>",
        "answers that were extracted in this way",
        "samples without an answer are on no step",
        _marked(lambda data, at: data.columns.step == data.columns.steps.index(at.name("step"))),
    ),
)


def _scored(values: Callable[[RunData, At], Array]) -> Contribute:
    """What every sample with a score brings."""

    def contributions(data: RunData, at: At) -> Contributions:
        left_out: Reasons = (*data.table.left_out, ("no component was scored: no score", None))
        return data.samples(values(data, at), excluded=left_out, n_absent=data.absent)

    return contributions


def _fixed(blank: str) -> Callable[[RunData, At], Array]:
    return lambda data, at: findings.fixed_scores(data.table, at.name(blank))


def _rise(blank: str) -> Callable[[RunData, At], Array]:
    return lambda data, at: _fixed(blank)(data, at) - data.table.score()


def _unread(data: RunData, _: At) -> Array:
    return np.where(np.isnan(data.table.score()), np.nan, data.table.malformed)


def _is_component(data: RunData, at: At) -> bool:
    name = at.name("component")
    return name in data.table.weights and all(code["code"] != name for code in at.path[0]["codes"])


_IF_FIXED = (
    "a sample's score rises, for every finding of the code, by what the finding says its component would gain x the"
    " component's part of the weights that the sample was scored with, to 1 at most; a malformed answer would earn 1"
)
_CODE_GAIN = Reported(
    "gain.<code>",
    "codes[<code>].gain",
    "sum of what each score would rise by, with every such finding fixed / n",
    _IF_FIXED,
    _scored(_rise("code")),
    unit="difference",
    aggregate=Aggregate.MEAN,
    when=lambda _, at: at.item["has_weight"] and at.item["if_fixed"]["value"] is not None,
)
CODES = (
    Reported(
        "if_fixed.<code>",
        "codes[<code>].if_fixed",
        "sum of scores with every such finding fixed / n",
        _IF_FIXED,
        _scored(_fixed("code")),
        unit="score",
        aggregate=Aggregate.MEAN,
        better="higher",
    ),
    _CODE_GAIN,
)
PRIORITIES = (
    Reported(
        "gain.<component>",
        "priorities[<component>].gain",
        "sum over samples of weight / (weights of what was scored) x (1 - value) / n",
        "what a perfect value of this component would add to each score; a malformed answer gains nothing, nor does a"
        " sample in which the component was not scored",
        _scored(lambda data, at: component_gain(data.table, at.name("component"))),
        unit="difference",
        aggregate=Aggregate.MEAN,
        when=_is_component,
    ),
    Reported(
        "gain.<component>",
        "priorities[<component>].gain",
        "malformed / n",
        "a malformed answer would rise from 0 to 1 at most",
        _scored(_unread),
        unit="difference",
        aggregate=Aggregate.MEAN,
        interval=NO_INTERVAL,
        when=lambda data, at: not _is_component(data, at) and at.name("component") == FORMAT,
    ),
    replace(
        _CODE_GAIN,
        name="gain.<component>",
        place="priorities[<component>].gain",
        contributions=_scored(_rise("component")),
        when=lambda data, at: not _is_component(data, at) and at.name("component") != FORMAT,
    ),
    Reported(
        "findings.<component>.without",
        "priorities[<component>].average",
        "samples without such a finding / conclusive samples",
        "only conclusive samples (scored or malformed) are looked at",
        _scored(
            lambda data, at: np.where(data.table.conclusive, ~with_finding(data.table, at.name("component")), np.nan)
        ),
        unit="share",
        aggregate=Aggregate.MEAN,
        better="higher",
        when=lambda data, at: not _is_component(data, at),
    ),
)


_GRAVE = "samples that did not pass and have such a finding"
_OF_GRAVE = "of critical and major codes of components that have no weight; samples that passed are left out"
FAILING = (
    Reported(
        "failing.samples",
        "failing.n_failing",
        "samples that did not pass",
        "samples that cannot be said to pass or fail are left out",
        _marked(lambda data, _: failing_samples(data.table)),
    ),
    Reported(
        "failing.grave",
        "failing.n_with",
        _GRAVE,
        _OF_GRAVE,
        _marked(lambda data, at: failing_samples(data.table, *at.item["codes"])),
    ),
    Reported(
        "failing.<code>.samples",
        "failing.codes.<code>",
        _GRAVE,
        _OF_GRAVE,
        _marked(lambda data, at: failing_samples(data.table, at.name("code"))),
    ),
)


def _findings(wanted: Callable[[Finding, At], bool], *, once: bool = False) -> Contribute:
    """The findings of conclusive samples that are wanted, or one of each sample."""

    def contributions(data: RunData, at: At) -> Contributions:
        main = data.suite.judge and data.suite.judge.mode

        def things(sample: Sample, _: str) -> Iterator[Thing]:
            excluded = sample.outcome.value == "scored" and main is not None and sample.mode != main
            if not sample.outcome.conclusive or excluded:
                return
            mine = [finding for finding in sample.findings if wanted(finding, at)]
            for finding in mine[:1] if once else mine:
                yield 1.0, f"{finding.code} at {finding.place or '-'}"

        return data.things(things)

    return contributions


def _confused(finding: Finding, at: At) -> bool:
    row = at.item
    if finding.code != row["code"] or finding.expected is None or finding.got is None:
        return False
    labels = (confusion_label(finding.expected), confusion_label(finding.got))
    return labels == (row["expected"], row["got"]) and is_confusion(finding.expected, finding.got)


def _in_section(finding: Finding, at: At) -> bool:
    return finding.section == at.name("section") and at.names.get("<code>", (finding.code,)) == (finding.code,)


_LEFT_OUT = "findings of inconclusive samples are left out"
_CONFUSION = Reported(
    "confusion.<n>",
    "confusions[<n>].count",
    "findings of {code} that expected {expected} and got {got}",
    f"of something with a role, the role is compared; {_LEFT_OUT}",
    _findings(_confused),
    of="findings",
)
_SECTION = Reported(
    "section.<section>",
    "sections[<section>].count",
    "findings that begin in that region",
    _LEFT_OUT,
    _findings(_in_section),
    of="findings",
)
FINDINGS = (
    _CONFUSION,
    replace(
        _CONFUSION,
        name="confusion.<n>.samples",
        place="confusions[<n>].samples",
        formula=f"samples with at least one of the {_CONFUSION.formula}",
        contributions=_findings(_confused, once=True),
    ),
    _SECTION,
    replace(
        _SECTION,
        name="section.<section>.samples",
        place="sections[<section>].samples",
        formula=f"samples with at least one of the {_SECTION.formula}",
        contributions=_findings(_in_section, once=True),
    ),
    replace(_SECTION, name="section.<section>.<code>", place="sections[<section>].codes.<code>"),
)


def _all_patterns(data: RunData) -> list[tuple[Array, Array]]:
    return pattern_samples(data.table, data.groups, data.suite)


def _pattern(values: Callable[[RunData, Array, Array], Contributions]) -> Contribute:
    """Of the samples in which a pattern could be seen, and those in which it was."""
    return lambda data, at: values(data, *data.once(_all_patterns)[int(at.name("n")) - 1])


def _cases_once(data: RunData, seen: Array, wrong: Array) -> Contributions:
    mine = seen[wrong[seen]]
    first = np.sort(np.unique(data.table.case[mine], return_index=True)[1])
    return data.samples(np.ones(data.table.n), mine[first])


def _patterns(data: RunData, _: At) -> Contributions:
    every = data.once(_all_patterns)

    def samples(row: int) -> str:
        seen, wrong = every[row]
        return f"{int(wrong[seen].sum())} samples"

    def key(row: int) -> Key:
        return f"pattern {row + 1}", "", None

    return Contributions(np.ones(len(every)), detail=samples, key=key)


PATTERNS = (
    Reported(
        "pattern.<n>",
        "patterns[<n>].count",
        "samples of which the sentence is true",
        "{sentence}",
        _pattern(lambda data, seen, wrong: data.samples(wrong, seen)),
    ),
    Reported(
        "pattern.<n>.cases",
        "patterns[<n>].n_cases",
        "cases with at least one such sample",
        "{sentence}",
        _pattern(_cases_once),
        of="cases",
    ),
    Reported(
        "pattern.<n>.n",
        "patterns[<n>].n",
        "samples in which it could be seen",
        "{sentence}",
        _pattern(lambda data, seen, _: data.samples(np.ones(data.table.n), seen)),
    ),
    Reported(
        "patterns",
        "extra.n_patterns",
        "what is wrong in samples of at least two different cases",
        "every component below its mark and every other code is looked for in each category, tag and slice by a field,"
        " and not passing in each difficulty, variant, tag and slice by a field; a slice of all samples is no part",
        _patterns,
        of="patterns",
    ),
)


def _read_in_mode(data: RunData, at: At) -> Contributions:
    dimension = at.names.get("<dimension>", (None,))[0]
    values = data.table.read_in(at.name("mode"), dimension)
    return data.samples(values, excluded=(("no score by that kind of judge", None),), n_absent=data.absent)


_OF_MODE = "each kind of judge on its own: scores of two kinds are never in one mean"
_MODE = Reported(
    "mode.<mode>.average",
    "modes.<mode>.average",
    "sum of scores / n",
    _OF_MODE,
    _read_in_mode,
    unit="score",
    aggregate=Aggregate.MEAN,
    better="higher",
    even_unknown=True,
)
MODES = (
    _MODE,
    Reported(
        "mode.<mode>.n",
        "modes.<mode>.n",
        "samples that were scored in that mode",
        _OF_MODE,
        _marked(lambda data, at: ~np.isnan(data.table.read_in(at.name("mode")))),
    ),
    replace(
        _MODE,
        name="mode.<mode>.dimension.<dimension>",
        place="modes.<mode>.dimensions.<dimension>",
        formula="sum of the dimension's scores / n",
        unit="points",
    ),
)


def _inconclusive(data: RunData, at: At) -> Contributions:
    """Samples without a reading for one reason, or, where it is the only one of its kind, of that kind."""
    report, why = at.path[0], next(text for text, n in list(at.item.items())[int(at.name("n")) - 1 :])
    failures, silent = report["failures"], (report["judge"] or {}).get("why_failed", {})
    if why in silent:
        return silent_texts(data, why)
    n_broken = report["overall"]["outcomes"].get(Outcome.JUDGE_FAILED, 0) - sum(silent.values())
    kind = next((kind for kind in failures if f"{why} ".startswith(f"target: {kind} ")), "")
    alike = None if at.value == failures.get(kind, n_broken) else why.removeprefix(f"target: {kind} ")
    return data.things(_failed(kind, alike) if kind else _broken(alike))


def _failed(kind: str, reason: str | None) -> Callable[[Sample, str], Iterator[Thing]]:
    """Samples whose call failed in one way, or for one reason."""

    key = None if reason is None else failure_reason(kind, reason)[0]

    def things(sample: Sample, wrong: str) -> Iterator[Thing]:
        failure = sample.call_result.failure
        if failure is None or failure.kind != kind:
            return
        if key is None or failure_reason(kind, failure.message)[0] == key:
            yield 1.0, wrong

    return things


def _broken(reason: str | None) -> Callable[[Sample, str], Iterator[Thing]]:
    """Samples on which a scorer broke, for any or for one reason."""

    def things(sample: Sample, wrong: str) -> Iterator[Thing]:
        kind, _, message = wrong.partition(": ")
        broke = sample.outcome is Outcome.JUDGE_FAILED and kind == SCORER_ERROR
        if broke and (reason is None or failure_reason("", message)[0] == failure_reason("", reason)[0]):
            yield 1.0, wrong

    return things


INCONCLUSIVE = Reported(
    "inconclusive.<n>",
    "why_inconclusive.<n>",
    "samples that are inconclusive for that reason",
    "in the order of the report",
    _inconclusive,
)
CAUSES = Reported(
    "failure_causes.<n>",
    "failure_causes[<n>].count",
    "samples whose call failed with the code {code} and the message {message}",
    "in the order of the report",
    lambda data, at: data.things(_failed(at.item["kind"], _reported_words(at.item))),
)


def _reported_words(cause: Mapping[str, Any]) -> str:
    return f"{cause['code']}: {cause['message']}" if cause["code"] else str(cause["message"])


def _listed(where: str) -> Iterator[Reported]:
    """The score and the time of every sample that the report lists."""
    score = Reported(
        "<sample>.score",
        f"{where}[<sample>].score",
        "sum of weight x share of the scale / sum of weights",
        "one sample, as it was scored; a malformed answer has no components",
        lambda data, at: one_value(data, at, at.item["why"]),
        unit="score",
        interval="none: it is one sample",
    )
    yield score
    yield replace(
        score,
        name="<sample>.latency",
        place=f"{where}[<sample>].latency",
        formula="seconds of the call, as recorded",
        counts="one sample",
        unit="s",
        interval="none: it is one call",
    )


_CAME = Reported(
    "samples",
    "n_samples",
    "stored samples",
    "those that were planned and are missing are left out",
    _marked(_everything),
)
for _group in (
    (_CAME,),
    COUNTS,
    repeats.REPORTED_CRITERIA,
    CODES,
    PRIORITIES,
    FAILING,
    FINDINGS,
    PATTERNS,
    MODES,
    confidence.REPORTED,
    repeats.REPORTED,
    stability.REPORTED,
    latency.REPORTED,
    variants.REPORTED,
    (INCONCLUSIVE, CAUSES),
    tuple(item for where in ("samples", "worst", "slowest") for item in _listed(where)),
):
    register_reported(*_group)
