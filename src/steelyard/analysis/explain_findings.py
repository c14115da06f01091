"""What to mend first, what goes wrong more than once, what was taken for what and where: traced to samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from steelyard.analysis.explain_readings import Rules, in_words
from steelyard.analysis.explain_things import Figure, Read, Thing, ThingFigure, Words, distinct, mean, sample_of, total
from steelyard.analysis.model import CodeFigure, Summary
from steelyard.analysis.table import FORMAT
from steelyard.records import Finding, Outcome, Sample
from steelyard.store.contents import confusion_label, is_confusion

_CONCLUSIVE = "only conclusive samples (scored or malformed) are looked at"
_MENDED = (
    "a sample's score rises, for every finding of the code, by what the finding says its component would gain x the"
    " component's part of the weights that the sample was weighed with, to 1 at most; a malformed answer would earn 1"
)
_RISES = Words(
    "sum of what each score would rise by, with every such finding mended / n",
    _MENDED,
    unit="difference",
    interval="none: the report gives a gain without one",
)
_MENDED_MEAN = Words(
    "sum of scores with every such finding mended / n",
    _MENDED,
    unit="score",
    interval="Wilson's score interval by the standard error of the mean; samples of one case count as one cluster",
    order="lowest first",
)
_PERFECT = Words(
    "sum over samples of weight / (weights of what was weighed) x (1 - value) / n",
    "what perfection in this component alone would add to each score; a malformed answer gains nothing, nor does a"
    " sample in which the component was not weighed",
    unit="difference",
    interval="none: the report gives a gain without one",
)
_FORMAT = Words(
    "malformed / n",
    "a malformed answer that could be read would rise from 0 to 1 at most",
    unit="difference",
    interval="none: the report gives a gain without one",
)
_WITHOUT = Words(
    "samples without such a finding / conclusive samples",
    _CONCLUSIVE,
    unit="share",
    interval="Wilson's score interval; samples of one case count as one cluster",
    order="lowest first",
)
_FAILING = Words("samples that did not pass", "samples of which nobody can tell whether they pass are left out")
_GRAVE = Words(
    "samples that did not pass and have such a finding",
    "of critical and major codes of components that weigh nothing; samples that passed are left out",
)
_CONFUSED = Words(
    "findings of that code that expected the one and got the other",
    "of something with a role, the role is compared; findings of inconclusive samples are left out",
    of="findings",
)
_PLACED = Words("findings that begin in that region", "findings of inconclusive samples are left out", of="findings")


def finding_figures(summary: Summary, suite: Mapping[str, Any]) -> Iterator[Figure]:
    """Gains, failing samples, confusions and sections."""
    rules = Rules(suite)
    yield from _of_codes(summary, rules)
    yield from _of_priorities(summary, rules)
    yield from _of_failing(summary, rules)
    for number, each in enumerate(summary.confusions):
        names, place = ("confusion", str(number + 1)), f"confusions[{number}]"
        read = _found(rules, _confused(each.code, each.expected, each.got))
        words = replace(_CONFUSED, formula=f"findings of {each.code} that expected {each.expected} and got {each.got}")
        yield from _counted(names, place, (each.count, each.samples), words, read)
    for number, section in enumerate(summary.sections):
        names, place = ("section", section.section), f"sections[{number}]"
        yield from _counted(
            names, place, (section.count, section.samples), _PLACED, _found(rules, _in(section.section))
        )
        for code, n in section.codes.items():
            yield _figure(
                (*names, code), f"{place}.codes.{code}", n, _PLACED, _found(rules, _in(section.section, code))
            )


def _figure(names: tuple[str, ...], place: str, reported: float, words: Words, read: Read) -> Figure:
    return Figure(names, place, reported, words, lambda: ThingFigure(read, total(words.of), words))


def _counted(
    names: tuple[str, ...], place: str, reported: tuple[int, int], words: Words, read: Read
) -> Iterator[Figure]:
    """How many findings, and in how many samples."""
    yield _figure(names, f"{place}.count", reported[0], words, read)
    once = Words(f"samples with at least one of the {words.formula}", words.how, words.of)
    yield Figure(
        (*names, "samples"),
        f"{place}.samples",
        reported[1],
        once,
        lambda: ThingFigure(read, distinct("samples", sample_of), once),
    )


def _of_codes(summary: Summary, rules: Rules) -> Iterator[Figure]:
    for number, each in enumerate(summary.codes):
        if each.mended.value is None:
            continue
        place = f"codes[{number}]"
        mended = _samples(_mending(rules, each.code), mean("sum of scores"), _MENDED_MEAN)
        yield Figure(("mended", each.code), f"{place}.mended", each.mended, _MENDED_MEAN, mended)
        if each.weighs:
            rises = _samples(_rising(rules, each.code), mean("sum of rises"), _RISES)
            yield Figure(("gain", each.code), f"{place}.gain", each.gain, _RISES, rises)


def _samples(read: Read, together: Any, words: Words) -> Callable[[], ThingFigure]:
    return lambda: ThingFigure(read, together, words, of_planned=True)


def _of_priorities(summary: Summary, rules: Rules) -> Iterator[Figure]:
    codes: dict[str, CodeFigure] = {each.code: each for each in summary.codes}
    for number, each in enumerate(summary.priorities):
        name, place = each.component, f"priorities[{number}]"
        if name in rules.components and name not in codes:
            perfect = _samples(_lacking(rules, name), mean("sum of gains"), _PERFECT)
            yield Figure(("gain", name), f"{place}.gain", each.gain, _PERFECT, perfect)
            continue
        if name == FORMAT:
            unread = _samples(_malformed(rules), mean("malformed"), _FORMAT)
            yield Figure(("gain", name), f"{place}.gain", each.gain, _FORMAT, unread)
        else:
            mended = _samples(_rising(rules, name), mean("sum of rises"), _RISES)
            yield Figure(("gain", name), f"{place}.gain", each.gain, _RISES, mended)
        without = _samples(_clear_of(rules, name), mean("without"), _WITHOUT)
        yield Figure(("findings", name, "without"), f"{place}.average", each.average, _WITHOUT, without)


def _of_failing(summary: Summary, rules: Rules) -> Iterator[Figure]:
    failing = summary.failing
    if failing is None:
        return
    yield _figure(("failing", "samples"), "failing.n_failing", failing.n_failing, _FAILING, _failing(rules, None))
    grave = _failing(rules, set(failing.codes))
    yield _figure(("failing", "grave"), "failing.n_with", failing.n_with, _GRAVE, grave)
    for code, n in failing.codes.items():
        yield _figure(("failing", code, "samples"), f"failing.codes.{code}", n, _GRAVE, _failing(rules, {code}))


def passed(sample: Sample, rules: Rules) -> bool | None:
    """Whether a sample passed; None when nobody can tell."""
    if rules.left_out(sample):
        return None
    if sample.outcome is Outcome.MALFORMED and rules.has_threshold:
        return False
    return sample.passed


def _failing(rules: Rules, codes: set[str] | None) -> Read:
    """Failing samples with one of the codes; all of them without."""

    def read(sample: Sample) -> Iterator[Thing]:
        known = passed(sample, rules)
        if known is None:
            yield Thing(None, rules.left_out(sample) or "nothing says whether it passed")
        elif codes is None:
            yield Thing(float(not known), said=in_words(sample))
        elif known:
            yield Thing(None, "passed", missing=False)
        else:
            yield Thing(float(any(each.code in codes for each in sample.findings)), said=in_words(sample))

    return read


def _clear_of(rules: Rules, code: str) -> Read:
    def read(sample: Sample) -> Iterator[Thing]:
        if why := rules.left_out(sample):
            yield Thing(None, why)
        elif code == FORMAT:
            yield Thing(float(sample.outcome is not Outcome.MALFORMED), said=in_words(sample))
        else:
            yield Thing(float(all(each.code != code for each in sample.findings)), said=in_words(sample))

    return read


def _malformed(rules: Rules) -> Read:
    def read(sample: Sample) -> Iterator[Thing]:
        if why := rules.left_out(sample):
            yield Thing(None, why)
        elif sample.outcome is Outcome.SCORED and sample.score is None:
            yield Thing(None, "no component was weighed: no score")
        else:
            yield Thing(float(sample.outcome is Outcome.MALFORMED), said=in_words(sample))

    return read


def weights_of(sample: Sample, rules: Rules) -> dict[str, float]:
    """The weights of the components that a sample was weighed by."""
    return {
        score.name: float(rules.components.get(score.name, {}).get("weight", 0.0))
        for score in sample.scores
        if score.value is not None
    }


def _lacking(rules: Rules, component: str) -> Read:
    """What perfection in a component would add to each score."""
    low, high = rules.scale(component)

    def read(sample: Sample) -> Iterator[Thing]:
        for thing in _malformed(rules)(sample):
            if thing.value is None or thing.value > 0:
                yield thing if thing.value is None else Thing(0.0, "malformed: gains nothing here")
                continue
            weights = weights_of(sample, rules)
            value = next((each.value for each in sample.scores if each.name == component), None)
            if value is None or not weights.get(component):
                yield Thing(0.0, "not weighed by it: gains nothing")
                continue
            part = weights[component] / math.fsum(weights.values())
            yield Thing(part * (high - value) / (high - low), said=f"{value:g} x {part:.3g} of the weights")

    return read


def _mending(rules: Rules, code: str) -> Read:
    """Each score as it would be without the findings of a code, with the score as it is beside it."""

    def read(sample: Sample) -> Iterator[Thing]:
        if why := rules.left_out(sample):
            yield Thing(None, why)
            return
        mine = [each for each in sample.findings if each.code == code]
        if sample.outcome is Outcome.MALFORMED:
            yield Thing(
                float(bool(mine)), "malformed: would earn 1 at most" if mine else "", in_words(sample), data=0.0
            )
        elif sample.score is None:
            yield Thing(None, "no component was weighed: no score")
        else:
            weights = weights_of(sample, rules)
            whole = math.fsum(weights.values())
            rise = math.fsum(_gain(each, rules) / whole for each in mine) if whole else 0.0
            after = min(1.0, sample.score + rise)
            yield Thing(after, said=f"{sample.score:.4g} + {after - sample.score:.3g}", data=sample.score)

    return read


def _gain(finding: Finding, rules: Rules) -> float:
    return finding.gain * float(rules.components.get(finding.component, {}).get("weight", 0.0))


def _rising(rules: Rules, code: str) -> Read:
    """What mending the findings of a code would add to each score."""

    def read(sample: Sample) -> Iterator[Thing]:
        for thing in _mending(rules, code)(sample):
            yield thing if thing.value is None else replace(thing, value=thing.value - thing.data)

    return read


def _found(rules: Rules, wanted: Callable[[Finding], bool]) -> Read:
    """Findings of conclusive samples."""

    def read(sample: Sample) -> Iterator[Thing]:
        for each in sample.findings:
            if wanted(each):
                why = rules.left_out(sample)
                yield Thing(None if why else 1.0, why, f"{each.code} at {each.place or '-'}")

    return read


def _confused(code: str, expected: str, got: str) -> Callable[[Finding], bool]:
    def wanted(finding: Finding) -> bool:
        if finding.code != code or finding.expected is None or finding.got is None:
            return False
        same = (confusion_label(finding.expected), confusion_label(finding.got)) == (expected, got)
        return same and is_confusion(finding.expected, finding.got)

    return wanted


def _in(section: str, code: str = "") -> Callable[[Finding], bool]:
    return lambda finding: finding.section == section and code in ("", finding.code)
