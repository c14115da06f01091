"""Failure patterns traced to samples: what a pattern's sentence says, looked for in them one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.explain import in_slice
from steelyard.analysis.explain_findings import passed
from steelyard.analysis.explain_model import Computed
from steelyard.analysis.explain_parts import Parts, Reasons
from steelyard.analysis.explain_readings import Rules, in_words
from steelyard.analysis.explain_things import Figure, Read, Thing, ThingFigure, Words, case_of, distinct, total
from steelyard.analysis.model import Pattern, Summary
from steelyard.analysis.table import code_of
from steelyard.records import Outcome, Sample

_WORDS = Words("samples of which the sentence is true", "")
_CASES = Words("cases with at least one such sample", "")
_ALL = Words(
    "what is wrong in samples of at least two different cases",
    "every component below its mark and every other code is looked for in each category and tag, and not passing in"
    " each difficulty, variant and tag; a tag that every sample has is no part",
    of="samples",
)


@dataclass(frozen=True, slots=True)
class _Trouble:
    """What is looked for, and in which slice; `words` begin the sentence of its pattern."""

    kind: str
    subject: str
    factor: str
    name: str
    words: str
    parts_only: bool = False

    def read(self, rules: Rules) -> Read:
        """1 for a sample in which it is so, 0 for another of the slice."""

        def read(sample: Sample) -> Iterator[Thing]:
            if not in_slice(sample, self.factor or None, self.name):
                return
            wrong, why = self._wrong(sample, rules)
            yield Thing(None if wrong is None else float(wrong), why, in_words(sample))

        return read

    def _wrong(self, sample: Sample, rules: Rules) -> tuple[bool | None, str]:
        if why := rules.left_out(sample):
            return None, why
        if self.kind == "passed":
            known = passed(sample, rules)
            return (None, "nothing says whether it passed") if known is None else (not known, "")
        if self.kind == "code":
            return any(each.code == self.subject for each in sample.findings), ""
        value = next((each.value for each in sample.scores if each.name == self.subject), None)
        if sample.outcome is not Outcome.SCORED:
            return None, "malformed: nothing could be weighed"
        if value is None:
            return None, "nothing to weigh it against in this case"
        low, high = rules.scale(self.subject)
        mark = rules.components[self.subject].get("wrong_below", 0.5)
        return round((value - low) / (high - low), 12) < mark, ""

    def tells(self, pattern: Pattern) -> bool:
        """Whether a pattern's sentence speaks of this."""
        rest = pattern.sentence.removeprefix(self.words)
        return rest != pattern.sentence and rest.startswith(f"{pattern.count} of {pattern.n}")


def pattern_figures(summary: Summary, suite: Mapping[str, Any]) -> Iterator[Figure]:
    """Every pattern that the report names, and how many there are."""
    rules, troubles = Rules(suite), list(_troubles(summary, suite))
    for number, pattern in enumerate(summary.patterns):
        trouble = next((each for each in troubles if each.tells(pattern)), None)
        if trouble is None:
            continue
        read, names, place = trouble.read(rules), ("pattern", str(number + 1)), f"patterns[{number}]"
        words = Words(_WORDS.formula, pattern.sentence)
        cases = Words(_CASES.formula, pattern.sentence)
        yield _figure(names, f"{place}.count", pattern.count, words, read)
        yield Figure(
            (*names, "cases"),
            f"{place}.n_cases",
            pattern.n_cases,
            cases,
            lambda read=read, words=cases: ThingFigure(read, distinct("cases", case_of), words),  # type: ignore[misc]
        )
        looked_at = Words("samples in which it could be seen", pattern.sentence)
        yield _figure((*names, "n"), f"{place}.n", pattern.n, looked_at, _seen(read))
    n = summary.extra.get("n_patterns")
    if n is not None:
        yield Figure(("patterns",), "extra.n_patterns", n, _ALL, lambda: _Every(troubles, rules))


def _figure(names: tuple[str, ...], place: str, reported: float, words: Words, read: Read) -> Figure:
    return Figure(names, place, reported, words, lambda: ThingFigure(read, total("samples"), words))


def _seen(read: Read) -> Read:
    def seen(sample: Sample) -> Iterator[Thing]:
        for thing in read(sample):
            yield thing if thing.value is None else Thing(1.0, said=thing.said)

    return seen


def _troubles(summary: Summary, suite: Mapping[str, Any]) -> Iterator[_Trouble]:
    """Everything that patterns are looked for in."""
    components = suite.get("components") or ()
    for each in components:
        what = f"{each['name']} below {100 * each.get('wrong_below', 0.5):.4g} %"
        yield from _everywhere(summary, "component", each["name"], what)
    own = {code_of(each) for each in components if each.get("kind") != "flag"}
    for code in summary.overall.finding_rates:
        if code not in own:
            yield from _everywhere(summary, "code", code, code)
    for factor in ("difficulty", "variant", "tag"):
        for part in summary.slices.get(factor, ()):
            yield _Trouble("passed", "", factor, part.name, f"{factor} {part.name}: ", parts_only=True)


def _everywhere(summary: Summary, kind: str, subject: str, what: str) -> Iterator[_Trouble]:
    if categories := summary.slices.get("category"):
        for part in categories:
            yield _Trouble(kind, subject, "category", part.name, f"{what} in {part.name} (")
    else:
        yield _Trouble(kind, subject, "", "", f"{what} (")
    for part in summary.slices.get("tag", ()):
        yield _Trouble(kind, subject, "tag", part.name, f"{what} with tag {part.name} (", parts_only=True)


class _Every:
    """How many patterns there are in all."""

    def __init__(self, troubles: list[_Trouble], rules: Rules) -> None:
        self._read = [(each, each.read(rules)) for each in troubles]
        self._cases: dict[_Trouble, set[str]] = {each: set() for each in troubles}
        self._size: dict[_Trouble, int] = dict.fromkeys(troubles, 0)
        self._n = 0

    def add(self, sample: Sample) -> None:
        self._n += 1
        for trouble, read in self._read:
            for thing in read(sample):
                self._size[trouble] += 1
                if thing.value:
                    self._cases[trouble].add(sample.case_id)

    def ended(self, absent: int) -> Parts:  # noqa: ARG002 - what never came is in no pattern
        shared = [
            each
            for each, cases in self._cases.items()
            if len(cases) > 1 and not (each.parts_only and self._size[each] == self._n)
        ]
        told = Reasons()
        for each in shared:
            for case in sorted(self._cases[each]):
                told.add(each.words.rstrip(" (:"), case)
        computed = Computed(float(len(shared)), self._n, 0, (("patterns", float(len(shared))),))
        return Parts(computed, (), told.counted(), _ALL.order, ())
