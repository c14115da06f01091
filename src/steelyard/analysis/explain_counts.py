"""Plain counts of samples and cells in a report: how they ended, why, how answers were read, rules over repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from steelyard.analysis.explain import in_slice
from steelyard.analysis.explain_model import Behind, Computed
from steelyard.analysis.explain_parts import Parts, Reasons, Traced
from steelyard.analysis.explain_readings import NEVER_CAME, Rules, in_words
from steelyard.analysis.explain_things import Figure, Thing, ThingFigure, Words, sliced, total
from steelyard.analysis.model import Estimate, Slice, Summary
from steelyard.analysis.repeats import rules_of
from steelyard.analysis.table import FORMAT
from steelyard.records import Outcome, Sample
from steelyard.suite.gates import COMPARE
from steelyard.suite.repeats import RepeatsRule

_ENDED = Words("samples that ended so", "a sample that another kind of judge has read counts as scored here")
_ASIDE = Words("scored samples that another kind of judge has read than the run's", "they are in no other figure")
_PLANNED = Words("samples that came + planned samples that never came", "what never came is in no slice")
_CAME = Words("samples that came", "those that were planned and never came are left out")
_FAILED = Words("samples whose call failed in that way", "every sample is looked at")
_RUNG = Words("answers that were read in that way", "samples without an answer are on no rung")
_OVER_REPEATS = Words(
    "cells of which this came out",
    "a cell is a case under a variant; the condition is looked for in its conclusive repeats, and with fewer of them"
    " than the rule asks for nobody can tell; what failed in none of them and never came is undecided",
    of="cells",
)


def count_figures(summary: Summary, suite: Mapping[str, Any]) -> Iterator[Figure]:
    """Outcomes and rules over repeats of the run and every slice; failures and rungs of the run."""
    rules = Rules(suite)
    for place, part in slices_of(summary):
        yield from _outcomes(place, part, rules)
        yield from _repeated(place, part, suite)
    for kind, n in summary.failures.items():
        yield _figure(("failures", kind), f"failures.{kind}", n, _FAILED, _failed(kind))
    for rung, n in summary.rungs.items():
        yield _figure(("rungs", rung), f"rungs.{rung}", n, _RUNG, _read_as(rung))


def slices_of(summary: Summary) -> Iterator[tuple[str, Slice]]:
    """The whole run and every slice, with its place in a report."""
    yield "overall", summary.overall
    for factor, parts in summary.slices.items():
        for number, part in enumerate(parts):
            yield f"slices.{factor}[{number}]", part


def samples_figure(n: int) -> Figure:
    """How many samples a run has."""
    return _figure(("samples",), "n_samples", n, _CAME, lambda _: True)


def failed_samples(kind: str, same: Callable[[Sample], bool] | None = None) -> Callable[[], Traced]:
    """The samples whose call failed in one way; those alone that are the `same` in more than its kind."""
    failed = _failed(kind)
    wanted = failed if same is None else lambda sample: failed(sample) and same(sample)
    return _figure((), "", 0, _FAILED, wanted).trace


def _figure(names: tuple[str, ...], place: str, n: int, words: Words, wanted: Callable[[Sample], bool]) -> Figure:
    def read(sample: Sample) -> Iterator[Thing]:
        if wanted(sample):
            yield Thing(1.0, said=in_words(sample))

    return Figure(names, place, n, words, lambda: ThingFigure(read, total("samples"), words))


def _outcomes(place: str, part: Slice, rules: Rules) -> Iterator[Figure]:
    head = sliced(part.factor, part.name)

    def here(sample: Sample) -> bool:
        return in_slice(sample, part.factor or None, part.name)

    def ended(outcome: str) -> Callable[[Sample], bool]:
        return lambda sample: here(sample) and sample.outcome == outcome

    for outcome, n in part.outcomes.items():
        yield _figure((*head, "outcomes", outcome), f"{place}.outcomes.{outcome}", n, _ENDED, ended(outcome))
    aside = (*head, "outcomes", "set_aside")
    yield _figure(
        aside, f"{place}.set_aside", part.set_aside, _ASIDE, lambda each: here(each) and rules.set_aside(each)
    )
    yield Figure(
        (*head, "outcomes", "planned"),
        f"{place}.n_planned",
        part.n_planned,
        _PLANNED,
        lambda: _Planned(here, whole=not part.factor),
    )


class _Planned:
    """Samples that came and, of a whole run, those that never came."""

    def __init__(self, here: Callable[[Sample], bool], *, whole: bool) -> None:
        self._here, self._whole, self._rows = here, whole, list[Behind]()

    def add(self, sample: Sample) -> None:
        if self._here(sample):
            self._rows.append(Behind(*sample.key, 1.0, in_words(sample)))

    def ended(self, absent: int) -> Parts:
        noted, n = Reasons(), len(self._rows)
        absent = absent if self._whole else 0
        if absent:
            noted.add(NEVER_CAME, n=absent)
        computed = Computed(float(n + absent), n, 0, (("came", float(n)), ("never came", float(absent))))
        return Parts(computed, (), noted.counted(), _PLANNED.order, tuple(self._rows))


def _failed(kind: str) -> Callable[[Sample], bool]:
    return lambda sample: sample.attempt.failure is not None and sample.attempt.failure.kind == kind


def _read_as(rung: str) -> Callable[[Sample], bool]:
    return lambda sample: sample.rung == rung


def _repeated(place: str, part: Slice, suite: Mapping[str, Any]) -> Iterator[Figure]:
    rules = {rule.text: rule for rule in rules_of(dict(suite))}
    for text, found in part.repeated.items():
        for state, n in (("held", found.held), ("failed", found.failed), ("undecided", found.undecided)):

            def trace(rule: RepeatsRule = rules[text], state: str = state) -> _OverRepeats:
                return _OverRepeats(rule, state, part, suite)

            names = (*sliced(part.factor, part.name), "repeated", text, state)
            yield Figure(names, f"{place}.repeated.{text}.{state}", n, _OVER_REPEATS, trace)


def criterion_figure(rule: RepeatsRule, place: str, value: Estimate, part: Slice, suite: Mapping[str, Any]) -> Figure:
    """The figure of a criterion over repeats: of the cells that could be decided, the share in which it holds."""
    words = replace(_OVER_REPEATS, formula="cells in which it holds / cells that could be decided", unit="share")
    names = (*sliced(part.factor, part.name), "repeated", rule.text, "share")
    return Figure(names, place, value, words, lambda: _OverRepeats(rule, "share", part, suite))


class _OverRepeats:
    """In how many cells a condition holds in enough repeats, or in which share of those that could be decided."""

    def __init__(self, rule: RepeatsRule, state: str, part: Slice, suite: Mapping[str, Any]) -> None:
        self._rule, self._state, self._part, self._suite = rule, state, part, suite
        self._rules = Rules(suite)
        self._cells: dict[tuple[str, str], list[bool]] = {}

    def add(self, sample: Sample) -> None:
        if in_slice(sample, self._part.factor or None, self._part.name):
            held = self._cells.setdefault((sample.case_id, sample.variant), [])
            if (known := self._holds(sample)) is not None:
                held.append(known)

    def ended(self, absent: int) -> Parts:  # noqa: ARG002 - cells that never came are counted as cells
        wanted = {"held": 1.0, "failed": 0.0} if self._state == "share" else {self._state: 1.0}
        rows, excluded, noted = [], Reasons(), Reasons()
        for (case, variant), held in self._cells.items():
            state = self._state_of(held)
            if state in wanted:
                said = f"{sum(held)} of {len(held)} conclusive repeats"
                rows.append(Behind(case, variant, None, wanted[state], said))
            else:
                excluded.add(state, case)
        unseen = max(0, self._expected() - len(self._cells))
        if unseen:
            (noted if "undecided" in wanted else excluded).add("planned, and nothing came of it", n=unseen)
        missing = sum(each.count for each in excluded.counted()) if self._state == "share" else 0
        computed = self._computed(rows, unseen if "undecided" in wanted else 0, missing)
        return Parts(computed, excluded.counted(), noted.counted(), _OVER_REPEATS.order, tuple(rows))

    def _computed(self, rows: list[Behind], unseen: int, missing: int) -> Computed:
        n, held = len(rows), sum(row.value for row in rows)
        if self._state == "share":
            return Computed(held / n if n else None, n, missing, (("held", held), ("decided", float(n))))
        return Computed(held + unseen, n + unseen, 0, (("cells", held), ("that never came", float(unseen))))

    def _state_of(self, held: list[bool]) -> str:
        if len(held) < self._rule.of:
            return "undecided"
        return "held" if sum(held) * self._rule.of >= len(held) * self._rule.at_least else "failed"

    def _expected(self) -> int:
        """How many cells were planned, where the plan says it."""
        cells = int(self._suite.get("n_planned") or 0) // max(1, int(self._suite.get("repeats") or 1))
        variants = max(1, len(self._suite.get("variants") or ()))
        return {"": cells, "variant": cells // variants}.get(self._part.factor, 0)

    def _holds(self, sample: Sample) -> bool | None:
        rule, left_out = self._rule, self._rules.left_out(sample)
        malformed = sample.outcome is Outcome.MALFORMED
        if left_out:
            return None
        if rule.condition == "valid":
            return not malformed
        if rule.condition == "passed":
            return False if malformed and self._rules.has_threshold else sample.passed
        if rule.condition == "score":
            score = 0.0 if malformed else sample.score
            return None if score is None else COMPARE[rule.operator](score, rule.threshold)
        n = sum(each.code == rule.code for each in sample.findings)
        return COMPARE[rule.operator](n, rule.threshold) and (rule.code == FORMAT or not malformed)
