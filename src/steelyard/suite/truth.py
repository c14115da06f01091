"""Whether cases have a truth: what stands in the place of a missing one, and which names lead to none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from steelyard.errors import Problem
from steelyard.frozen import slotted, values_of
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.labels import check_path, labels_of
from steelyard.suite.mapping import FIELDS, RowMapping
from steelyard.suite.models import EXPECT, Component, SuiteModel
from steelyard.suite.paths import MISSING, Getter, compile_path, split_path
from steelyard.suite.readers import Record, Report
from steelyard.suite.yaml import Place, meant
from steelyard.user_code import UserCodeError, checked_call

_ENOUGH = 100
"""So many records are looked at for names to suggest."""
_MOST_NAMES = 2_000


@slotted
class _Asked:
    """One path that a component asks for."""

    path: str
    get: Getter
    place: Place
    met: bool = False


@slotted
class _Component:
    """A component while the cases go by."""

    name: str
    scorer: Any
    declared: bool
    skipped: bool
    asked: list[_Asked]
    check: Any
    fields: list[str]
    n_missing: int = 0
    first_missing: str = ""
    knows_truth: bool = True


def without_truth(suite: SuiteModel, cases: Iterable[Case]) -> list[str]:
    """The figures that cannot be known, as no case has a truth for them: `score.<component>` of those that are skipped
    then, and `findings.<code>` of codes that nobody else gives."""
    lacking = [
        component
        for component in suite.components
        if component.when_unknown == "skip" and getattr(component.scorer, "needs_truth", True)
    ]
    for case in cases:
        if not lacking:
            return []
        lacking = [item for item in lacking if not _has_truth(item, case)]
    # A judge may name errors of any code.
    others = [component for component in suite.components if component not in lacking]
    codes = set() if suite.judge else set().union(*map(_codes, lacking)) - set().union(*map(_codes, others))
    return [f"score.{item.name}" for item in lacking] + sorted(f"findings.{code}" for code in codes)


def _has_truth(component: Component, case: Case) -> bool:
    try:
        return component.scorer.truth(case) is not None
    except Exception:  # noqa: BLE001 - of a scorer that cannot tell, nothing is left out
        return True


def _codes(component: Component) -> set[str]:
    named = getattr(component.scorer, "finding_codes", None)
    return {component.code or component.name.upper(), *(named() if named else ())}


def _cure(path: str, place: str = "") -> str:
    """How to say that cases may lack what is at a path."""
    where = f"map {place} as " if place else "write "
    return f"; where cases may have none, {where}{{from: {path}, default: null}}"


class TruthCheck:
    """Watches the cases go by and tells afterwards what no case, or not every case, has."""

    def __init__(self, components: tuple[Component, ...], mapping: RowMapping, judge: JudgeModel | None = None) -> None:
        self._components = [_watch(component) for component in components]
        scored = [component for component in components if component.weight > 0]
        judged = judge is not None and any(dimension.weight > 0 for dimension in judge.rubric.dimensions)
        self._evaluated = {component.name for component in scored}
        self._all_skip = bool(scored) and not judged and all(item.when_unknown == "skip" for item in scored)
        self._judge = judge
        self._labels = _labels(judge)
        self._sources = [_Asked(s.path, s.get, ("cases", "map", *s.spec)) for s in mapping.sources]
        self._open_sources = list(self._sources)
        self._record_names: set[str] = set()
        self._case_names: set[str] = set()
        self._n_records = 0
        self._n_cases = 0
        self._any_truth = False

    def see_record(self, record: Record) -> None:
        """Look at a record before it was mapped."""
        self._n_records += 1
        if self._open_sources:
            for source in self._open_sources:
                source.met = source.get(record.data) is not MISSING
            self._open_sources = [source for source in self._open_sources if not source.met]
            _collect(record.data, self._record_names, self._n_records)

    def see(self, case: Case, record: Record, report: Report) -> None:
        """Look at a case; its own contradictions are reported at once."""
        self._n_cases += 1
        self._any_truth = self._any_truth or bool(case.expected)
        if self._n_cases <= _ENOUGH:
            _collect(values_of(case, "expected", "input"), self._case_names, self._n_cases)
        for component in self._components:
            for asked in component.asked:
                asked.met = asked.met or asked.get(case) is not MISSING
            try:
                self._look(component, case, record, report)
            except UserCodeError as error:
                if isinstance(error.__cause__, NotImplementedError):
                    component.knows_truth = False
                else:
                    report(record.problem(f"case {case.id}: {error}"))
        self._look_at_labels(case, record, report)
        evidence = None if self._judge is None else self._judge.evidence
        if evidence is not None and evidence.quotes_from and evidence.of_answer is None:
            try:
                evidence.passages(case)
            except ValueError as error:
                report(record.problem(f"case {case.id}: {error}"))
        if self._all_skip and self._nothing_to_score(case):
            report(
                record.problem(
                    f"case {case.id}: nothing to score: it has no truth for any component, and all are skipped"
                )
            )

    def is_known(self, case: Case) -> bool:
        """Whether a case has all of the truth that scorers read, so that its answers could be scored."""
        needed = [asked for component in self._components if not component.declared for asked in component.asked]
        values = [asked.get(case) for asked in needed if split_path(asked.path)[:1] == ("expected",)]
        return bool(values) and not any(value is MISSING or value in (None, "", [], {}) for value in values)

    def _nothing_to_score(self, case: Case) -> bool:
        return all(
            component.knows_truth and component.scorer.truth(case) is None
            for component in self._components
            if component.name in self._evaluated
        )

    def _look_at_labels(self, case: Case, record: Record, report: Report) -> None:
        if self._judge is None or self._labels is None:
            return
        self._labels.met = self._labels.met or self._labels.get(case) is not MISSING
        try:
            labels_of(case, self._judge)
        except ValueError as error:
            report(record.problem(f"case {case.id}: {error}", split_path(self._judge.labels)[-1]))

    def _look(self, component: _Component, case: Case, record: Record, report: Report) -> None:
        who, scorer = f"the scorer of {component.name}", component.scorer
        if component.check is not None and (wrong := checked_call(who, component.check, case, returns=str | None)):
            report(_problem(record, wrong, component.fields))
        elif (
            component.knows_truth
            and not component.declared
            and checked_call(who, scorer.truth, case, returns=object) is None
        ):
            component.n_missing += 1
            component.first_missing = component.first_missing or f"{case.id} at {record.place}"

    def unmet(self) -> Iterator[tuple[str, Place]]:
        """What is in no case, and which truth is missing without a declared policy."""
        for source in self._sources:
            if not source.met and self._n_records:
                hint = meant(source.path, self._record_names)
                message = f"{source.path} is in none of the {self._n_records} records{hint}{_cure(source.path)}"
                yield message, source.place
        if not self._n_cases:
            return
        for component in self._components:
            unmet = [asked for asked in component.asked if not asked.met and not self._left_out(component, asked)]
            for asked in unmet:
                yield self._in_no_case(asked.path), asked.place
            if component.n_missing and not unmet:
                yield self._untold_truth(component), ("score", component.name)
        if self._labels is not None and not self._labels.met:
            yield self._in_no_case(self._labels.path), self._labels.place

    def _in_no_case(self, path: str) -> str:
        hint = _hint(path, self._case_names)
        if not hint and split_path(path)[0] not in FIELDS:
            hint = f"; a path into a case begins with one of {', '.join(FIELDS)}"
        hint = hint or _cure(path.rpartition(".")[2], path)
        return f"{path} is in none of the {self._n_cases} cases{hint}"

    def _left_out(self, component: _Component, asked: _Asked) -> bool:
        """Whether the cases simply have no truth, which the component is declared to be skipped for: they expect
        nothing at all, so that the path is no slip."""
        return component.skipped and not self._any_truth and split_path(asked.path)[0] == "expected"

    def _untold_truth(self, component: _Component) -> str:
        name, n = component.name, component.n_missing
        if n == self._n_cases:
            return f"score.{name}: none of the {n} cases has a truth for it"
        return (
            f"score.{name}: {n} of {self._n_cases} cases have no truth for it (the first is {component.first_missing}):"
            " say what then, with when_unknown: skip or when_unknown: say_unknown; or write pending: true in a case"
            " whose truth is still to be found"
        )


def _watch(component: Component) -> _Component:
    # Checks stand under a key of their own, and name their paths as `<check>.<key>`.
    is_expect = component.scorer_name == EXPECT
    where: Place = (EXPECT,) if is_expect else ("score", component.name, component.scorer_name)
    asked = [
        _Asked(path, compile_path(path), (*where, *_steps(name, dotted=is_expect)))
        for name, path in case_paths(component.scorer)
    ]
    fields = [split_path(item.path)[-1] for item in asked if item.path]
    check = getattr(component.scorer, "check", None)
    return _Component(
        name=component.name,
        scorer=component.scorer,
        declared=component.when_unknown is not None,
        skipped=component.when_unknown == "skip",
        asked=asked,
        check=check if callable(check) else None,
        fields=fields,
        knows_truth=getattr(component.scorer, "needs_truth", True),
    )


def _steps(name: str, *, dotted: bool) -> Place:
    return tuple(int(step) if step.isdigit() else step for step in name.split(".")) if dotted else (name,)


def _labels(judge: JudgeModel | None) -> _Asked | None:
    if judge is None or not judge.labels or check_path(judge.labels):
        return None
    return _Asked(judge.labels, compile_path(judge.labels), ("judge", "labels"))


def case_paths(scorer: Any) -> Iterator[tuple[str, str]]:
    """The scorer's parameters that name a place in the case, with the path each holds."""
    for name in getattr(scorer, "case_paths", ()):
        path = getattr(scorer, name, None)
        if isinstance(path, str) and path:
            yield name, path
    if hasattr(scorer, "truth_paths"):
        yield from scorer.truth_paths().items()


def in_no_case(path: str, cases: Iterable[Case]) -> str:
    """`input.lung is in no case: did you mean input.lang?`; "" when one has it."""
    read, names = compile_path(path), set[str]()
    for n, case in enumerate(cases):
        if read(case) is not MISSING:
            return ""
        _collect(values_of(case, "expected", "input"), names, n)
    return f"{path} is in no case{_hint(path, names)}"


def _hint(path: str, names: set[str]) -> str:
    """What was probably meant, also for an `x` that lacks its first step: expected.x."""
    for first in ("expected", "input"):
        if f"{first}.{path}" in names:
            return f": did you mean {first}.{path}?"
    return meant(path, names)


def _problem(record: Record, message: str, fields: list[str]) -> Problem:
    named = [name for name in fields if name in message] or fields
    return Problem(message, record.file, record.line_of(named))


def _collect(data: Any, names: set[str], n: int, before: str = "") -> None:
    """Add the dotted names in `data` to those that can be suggested."""
    if n > _ENOUGH or len(names) > _MOST_NAMES or not isinstance(data, dict) or before.count(".") > 4:
        return
    for key, value in data.items():
        name = f"{before}.{key}" if before else str(key)
        names.add(name)
        _collect(value, names, n, name)
