"""How far people agree with each other and with themselves, and the judge with them. A missing label is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.frozen import frozen
from steelyard.people.answer_agreement import AnswerAgreement, answers_agreement
from steelyard.people.desk import has_outcome, keys_at
from steelyard.people.labels import PASSES, PREFERENCE, LabelTerms, Sheet, sheets
from steelyard.records import Outcome
from steelyard.stats.agreement import (
    AlternativeTest,
    ConfusionMatrix,
    alternative_test,
    confusion,
    krippendorff_alpha,
    percent_agreement,
    score_correlation,
    weighted_kappa,
)
from steelyard.stats.groups import mean, share
from steelyard.stats.intervals import Estimate, student
from steelyard.store.people import SKIPPED

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.stats.arrays import Array
    from steelyard.store.base import Store
    from steelyard.store.people import Key, LabelRecord

JUDGE = "judge"
FEWEST_IN_SLICE = 10
"""Fewer items of a category show nothing of it."""
_MOST_LISTED = 20
_EPSILON = 0.2
"""How much less often than a person scorers may agree with the others, as for judges whose suite does not say."""
_TIE = 0.5


@frozen
class Pair:
    """Two raters on the items that both rated."""

    first: str
    second: str
    agreement: Estimate
    """Share of items on which both say the same."""
    kappa: Estimate
    """Cohen's kappa."""
    kappa_weighted: Estimate
    """The same with quadratic weights; of yes and no it is kappa itself."""
    spearman: Estimate
    pearson: Estimate
    bias: Estimate
    """The mean of the first minus the second."""
    confusion: ConfusionMatrix


@frozen
class Raters:
    """How far people, and the judge with them, agree on some items."""

    name: str
    """A dimension, a flag, or `passes`; of a slice, its category."""
    n_items: int
    """Items with a label of anybody."""
    n_shared: int
    """Items with labels of two people or more."""
    alpha: Estimate
    """Krippendorff's alpha of people: ordinal, of yes and no nominal."""
    alpha_nominal: Estimate
    alpha_interval: Estimate
    agreement: Estimate
    """Share of pairs of people who say the same of an item: the ceiling of what a judge can reach."""
    pairs: tuple[Pair, ...]
    judge: tuple[Pair, ...]
    """The judge with each person, and last with the median of what people say."""


@frozen
class FigureAgreement(Raters):
    """One dimension, flag, or whether answers pass."""

    scale: tuple[float, float]
    nominal: bool
    """Whether it is yes or no; else its values have an order."""
    itself: tuple[Pair, ...]
    """Each person with what the same person said the second time."""
    drift: dict[str, Estimate]
    """By person, how much more the later half of the labels is above the other people than the earlier half."""
    test: AlternativeTest | None
    """Whether the judge may stand for a person; None without a judge."""
    slices: tuple[Raters, ...]
    """By category, where it has enough items."""
    disagreed: tuple[tuple[Key, dict[str, float]], ...]
    """The items on which people lie farthest apart, and what each said."""


@frozen
class Preferences:
    """What people say when they compare the answers of a run with those of another one."""

    other_run: str
    """"" where a file of labels did not name it."""
    better: int
    ties: int
    worse: int
    share: Estimate
    """Share of labels that prefer the run's answer; a tie counts half."""


@frozen
class LabelAgreement:
    """All that the labels of a run say of how far people and judge agree."""

    n_labels: int
    n_skipped: int
    people: tuple[str, ...]
    figures: tuple[FigureAgreement, ...]
    answers: tuple[AnswerAgreement, ...]
    preferences: tuple[Preferences, ...]


def agreement_of(store: Store, header: RunHeader, names: Callable[[str], str]) -> LabelAgreement:
    """The agreement of a run's labels; `names` gives what a person is called."""
    labels = [replace(label, person=names(label.person)) for label in store.people.labels(run_id=header.id)]
    terms = LabelTerms(header.description)
    judged = judge_figures(store, header)
    first, again = sheets(labels, terms), sheets(labels, terms, round_=1)
    times = {(label.person, label.key): label.labelled_at for label in labels if label.round == 0}
    categories, units = _categories(store, header), _units_by_case(store, header)
    rubric = terms.rubric
    order = [PASSES] if rubric is None else [*rubric.dimensions, *rubric.flags, PASSES]
    figures = [
        _figure(name, first[name], again.get(name), judged.get(name, {}), times, categories, units, terms)
        for name in order
        if name in first
    ]
    return LabelAgreement(
        n_labels=sum(label.kind != SKIPPED for label in labels),
        n_skipped=sum(label.kind == SKIPPED for label in labels),
        people=tuple(sorted({label.person for label in labels if label.kind != SKIPPED})),
        figures=tuple(figures),
        answers=tuple(answers_agreement(labels)),
        preferences=tuple(_preferences(labels, header.id)),
    )


def _preferences(labels: Iterable[LabelRecord], run_id: str) -> Iterator[Preferences]:
    """By other run, how often people prefer this run's answer; where this run was the other one, sides are swapped."""
    by_run: dict[str, list[tuple[str, float]]] = {}
    for label in labels:
        if label.kind == PREFERENCE and label.round == 0:
            own, other = ("a", label.other_run_id) if label.run_id == run_id else ("b", label.run_id)
            value = _TIE if label.value == "tie" else float(label.value == own)
            by_run.setdefault(other or "", []).append((label.case_id, value))
    for other, given in by_run.items():
        values = np.array([value for _, value in given])
        case = np.unique([case_id for case_id, _ in given], return_inverse=True)[1]
        better, ties = int((values == 1).sum()), int((values == _TIE).sum())
        yield Preferences(other, better, ties, len(given) - better - ties, mean(values, case, (0.0, 1.0)))


def _scale(name: str, terms: LabelTerms) -> tuple[float, float]:
    return terms.rubric.scale if terms.rubric is not None and name in terms.rubric.dimensions else (0.0, 1.0)


def judge_figures(store: Store, header: RunHeader) -> dict[str, dict[Key, float]]:
    """What the judge says of each item, by dimension and flag, after rules; and whether it passed.

    Malformed answers are not among them: nobody is asked to label one.
    """
    figures: dict[str, dict[Key, float]] = {}
    columns = store.columns(header.id)
    positions = np.flatnonzero((columns.passed >= 0) & has_outcome(columns, Outcome.SCORED))
    if len(positions):
        passed = columns.passed[positions].astype(float).tolist()
        figures[PASSES] = dict(zip(keys_at(columns, positions), passed, strict=True))
    for item in store.judgements(header.id):
        for name, value in item.judgement.capped.items():
            figures.setdefault(name, {})[item.case_id, item.variant, item.repeat] = float(value)
    return figures


def _units_by_case(store: Store, header: RunHeader) -> dict[str, int]:
    """The unit of evidence of each case: itself, or the cluster that it is in."""
    columns = store.columns(header.id)
    cases = (columns.case_ids[case] for case in columns.case.tolist())
    return dict(zip(cases, columns.units()[0].tolist(), strict=True))


def _categories(store: Store, header: RunHeader) -> dict[str, str]:
    columns = store.columns(header.id)
    named = zip(columns.case.tolist(), columns.category.tolist(), strict=True)
    return {columns.case_ids[case]: columns.categories[category] for case, category in named if category >= 0}


def _figure(
    name: str,
    sheet: Sheet,
    again: Sheet | None,
    judged: Mapping[Key, float],
    times: Mapping[tuple[str, Key], float],
    categories: Mapping[str, str],
    units: Mapping[str, int],
    terms: LabelTerms,
) -> FigureAgreement:
    scale, epsilon = _scale(name, terms), _EPSILON if terms.rubric is None else terms.rubric.epsilon
    nominal = scale == (0.0, 1.0)
    judge = np.array([judged.get(key, np.nan) for key in sheet.items])
    case = np.array([units[key[0]] for key in sheet.items])
    category = np.array([categories.get(key[0], "") for key in sheet.items])
    test = alternative_test(judge, sheet.values, case, epsilon, nominal=nominal) if judged else None

    def raters(inside: Array) -> dict[str, Any]:
        part = judge[inside] if judged else None
        return _raters(sheet.part(inside), part, case[inside], scale, nominal=nominal)

    names = [name for name in sorted({*category.tolist()} - {""}) if (category == name).sum() >= FEWEST_IN_SLICE]
    return FigureAgreement(
        name=name,
        **raters(np.ones(len(case), dtype=bool)),
        scale=scale,
        nominal=nominal,
        itself=tuple(_itself(sheet, again, units, scale)),
        drift=dict(_drift(sheet, times, scale)),
        test=test,
        slices=tuple(Raters(name=part, **raters(category == part)) for part in names),
        disagreed=tuple(_farthest(sheet)),
    )


def _raters(
    sheet: Sheet, judge: Array | None, case: Array, scale: tuple[float, float], *, nominal: bool
) -> dict[str, Any]:
    """The fields of `Raters` but its name; without a judge nothing is said of it."""
    rows = dict(zip(sheet.people, sheet.values, strict=True))
    with_judge = [] if judge is None else [pair(JUDGE, person, judge, row, case, scale) for person, row in rows.items()]
    with_judge += [] if judge is None else [pair(JUDGE, "people", judge, sheet.median, case, scale)]
    return {
        "n_items": len(sheet.items),
        "n_shared": int(sheet.shared.sum()),
        "alpha": _alpha(sheet.values, case, "nominal" if nominal else "ordinal"),
        "alpha_nominal": _alpha(sheet.values, case, "nominal"),
        "alpha_interval": _alpha(sheet.values, case, "interval"),
        "agreement": percent_agreement(sheet.values, case=case),
        "pairs": tuple(_both(a, b, rows, case, scale) for a, b in combinations(rows, 2)),
        "judge": tuple(with_judge),
    }


def _alpha(values: Array, case: Array, level: str) -> Estimate:
    labelled = ~np.isnan(values).all(axis=0)
    return krippendorff_alpha(values[:, labelled], level=level, case=case[labelled])


def _both(a: str, b: str, rows: Mapping[str, Array], case: Array, scale: tuple[float, float]) -> Pair:
    """Two people on what both rated: nobody planned that they rate the rest."""
    rated = ~(np.isnan(rows[a]) | np.isnan(rows[b]))
    return pair(a, b, rows[a][rated], rows[b][rated], case[rated], scale)


def pair(a: str, b: str, first: Array, second: Array, case: Array, scale: tuple[float, float]) -> Pair:
    """All figures of two raters on what the second one rated; what the first one did not rate of it is missing."""
    rated = ~np.isnan(second)
    x, y, of = first[rated], second[rated], case[rated]
    width = scale[1] - scale[0]
    return Pair(
        first=a,
        second=b,
        agreement=share(np.abs(x - y) < 1e-9, ~np.isnan(x), of),
        kappa=weighted_kappa(x, y, power=0, case=of),
        kappa_weighted=weighted_kappa(x, y, case=of),
        spearman=score_correlation(x, y, "spearman", of),
        pearson=score_correlation(x, y, "pearson", of),
        bias=mean(x - y, of, (-width, width)),
        confusion=confusion(x, y, scale),
    )


def _itself(sheet: Sheet, again: Sheet | None, units: Mapping[str, int], scale: tuple[float, float]) -> Iterator[Pair]:
    for person in again.people if again is not None else ():
        if again is None or person not in sheet.people:
            continue
        before = dict(zip(sheet.items, sheet.row(person), strict=True))
        first = np.array([before.get(key, np.nan) for key in again.items])
        case = np.array([units[key[0]] for key in again.items])
        yield pair(person, person, first, again.row(person), case, scale)


def _drift(
    sheet: Sheet, times: Mapping[tuple[str, Key], float], scale: tuple[float, float]
) -> Iterator[tuple[str, Estimate]]:
    """Each person against the mean of the others, the later half of the labels minus the earlier."""
    for row, person in enumerate(sheet.people):
        others = np.delete(sheet.values, row, axis=0)
        counts = (~np.isnan(others)).sum(axis=0)
        usable = np.flatnonzero((counts > 0) & ~np.isnan(sheet.values[row]))
        if len(usable) < 2 * FEWEST_IN_SLICE:
            continue
        apart = sheet.values[row][usable] - np.nansum(others[:, usable], axis=0) / counts[usable]
        order = np.argsort([times[person, sheet.items[at]] for at in usable], kind="stable")
        early, late = np.array_split(apart[order], 2)
        yield person, _difference(late, early, scale)


def _difference(late: Array, early: Array, scale: tuple[float, float]) -> Estimate:
    """The difference of two means, with Welch's interval."""
    value = float(late.mean() - early.mean())
    parts = [float(side.var(ddof=1)) / len(side) for side in (late, early)]
    error = sum(parts) ** 0.5
    n = len(late) + len(early)
    if error <= 0:
        return Estimate(value, n)
    df = sum(parts) ** 2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (late, early), strict=True))
    bounds = student(value, error, df)
    width = scale[1] - scale[0]
    low, high = (None, None) if bounds is None else (max(-width, bounds[0]), min(width, bounds[1]))
    return Estimate(value, n, 0, low, high)


def _farthest(sheet: Sheet) -> Iterator[tuple[Key, dict[str, float]]]:
    apart, shared = np.zeros(len(sheet.items)), sheet.shared
    apart[shared] = np.nanmax(sheet.values[:, shared], axis=0) - np.nanmin(sheet.values[:, shared], axis=0)
    for at in np.argsort(-apart, kind="stable")[:_MOST_LISTED].tolist():
        if apart[at] > 0:
            values = zip(sheet.people, sheet.values[:, at].tolist(), strict=True)
            yield sheet.items[at], {person: value for person, value in values if value == value}
