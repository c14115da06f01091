"""One answer an item out of a crowd's labels: whom to rely on, what needs another label, and proposed cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.analysis.wording import percent
from steelyard.errors import UsageError
from steelyard.people.crowd import ENOUGH, Choice, Labels, MethodScore, PersonQuality, choose, people_quality
from steelyard.people.labels import PASSES, Terms, plain
from steelyard.store.people import ANSWER
from steelyard.suite.labels import Label, labels_of
from steelyard.suite.yaml import meant_or_listed

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.stats.arrays import Array
    from steelyard.store.base import Store
    from steelyard.store.people import Key, LabelRecord

_MOST_LISTED = 50


@dataclass(frozen=True, slots=True)
class CrowdPerson:
    """One person of the crowd."""

    name: str
    quality: PersonQuality
    confusion: tuple[tuple[float, ...], ...]
    """Row: the true class, column: the class that the person chooses, in the order of `Consensus.classes`."""


@dataclass(frozen=True, slots=True)
class OneVote:
    """People who nearly never differ, more than their accuracy explains: their labels count as one person's."""

    people: tuple[str, ...]
    n_items: int
    """Pairs of labels by two of them for one item."""
    n_different: int
    unexplained: float | None
    """See `DependentGroup`."""

    @property
    def message(self) -> str:
        """Who they are, and why they have one vote."""
        differ = f"differ on {self.n_different:,} of" if self.n_different else "never differ on"
        why = "nobody else's labels show that they are independent"
        if self.unexplained is not None:
            why = (
                f"their labels leave {percent(self.unexplained)} of the other people's agreement beyond chance"
                " unexplained, so their own agreement is not accuracy"
            )
        return f"{', '.join(self.people)} {differ} {self.n_items:,} pairs of labels and have one vote: {why}."


@dataclass(frozen=True, slots=True)
class Agreed:
    """An item on which the crowd agrees."""

    case_id: str
    variant: str
    repeat: int
    value: Any
    probability: float
    n_labels: int


@dataclass(frozen=True, slots=True)
class Consensus:
    """What a crowd's labels of one figure come to."""

    figure: str
    classes: tuple[Any, ...]
    method: str
    message: str
    dawid_skene_worse: bool | None
    scores: tuple[MethodScore, ...]
    shares: tuple[float, ...]
    """How frequent each class is."""
    n_labels: int
    n_items: int
    n_gold: int
    people: tuple[CrowdPerson, ...]
    agreed: tuple[Agreed, ...]
    needs_label: tuple[Key, ...]
    """Items whose likeliest class is tied, not probable enough, or what one person says."""
    shrinkage: float = 0.0
    """See `crowd.MethodScore`; 0 is the published algorithm."""
    one_vote: tuple[OneVote, ...] = ()


def consensus_of(
    store: Store, header: RunHeader, figure: str = "", names: Callable[[str], str] = str, *, enough: float = ENOUGH
) -> Consensus:
    """What the labels of a run come to, for a dimension, a flag, `passes` or a field of people's own answers.

    Gold items are those whose case has labels, or a truth, of its own. UsageError when nobody labelled the figure.
    """
    terms = Terms(header.description)
    labels = [label for label in store.people.labels(run_id=header.id) if label.round == 0]
    values_by_figure = _values_by_figure(labels, terms)
    figure = figure or (PASSES if PASSES in values_by_figure else next(iter(values_by_figure), ""))
    if figure not in values_by_figure:
        if not values_by_figure:
            raise UsageError(
                f"run {header.id} has no labels yet: steelyard label plan {header.id} --per-item 3 --random 50"
            )
        raise UsageError(
            f"nobody labelled {figure} in run {header.id}{meant_or_listed(figure, list(values_by_figure))}"
        )
    rows = values_by_figure[figure]
    values = sorted({json.dumps(value, ensure_ascii=False) for _, _, value in rows})
    keys = sorted({key for key, _, _ in rows})
    people = sorted({names(person) for _, person, _ in rows})
    items = {key: at for at, key in enumerate(keys)}
    persons, classes = ({name: at for at, name in enumerate(part)} for part in (people, values))
    spelled = [(key, names(person), json.dumps(value, ensure_ascii=False)) for key, person, value in rows]
    columns = np.array([(items[key], persons[person], classes[value]) for key, person, value in spelled]).reshape(-1, 3)
    crowd = Labels.of(*columns.T, n_items=len(keys), n_people=len(people), n_classes=len(values))
    gold = _gold(store, header, figure, terms, keys, classes)
    choice = choose(crowd, gold=gold if (gold >= 0).any() else None)
    return _consensus(figure, crowd, choice, gold, keys, people, [json.loads(value) for value in values], enough)


def _values_by_figure(labels: list[LabelRecord], terms: Terms) -> dict[str, list[tuple[Key, str, Any]]]:
    """By figure, what each person said of each item; texts that differ in case or spaces alone count as the first."""
    values_by_figure: dict[str, list[tuple[Key, str, Any]]] = {}
    spelled: dict[Any, Any] = {}
    for label in labels:
        values: dict[str, Any] = dict(terms.figures(label))
        if label.kind == ANSWER:
            fields = label.value if isinstance(label.value, dict) else {"text": label.value}
            values = {name: value for name, value in fields.items() if isinstance(value, str | int | float | bool)}
        for name, value in values.items():
            first = spelled.setdefault((name, json.dumps(plain(value))), value)
            values_by_figure.setdefault(name, []).append((label.key, label.person, first))
    return values_by_figure


def _gold(store: Store, header: RunHeader, figure: str, terms: Terms, keys: list[Key], codes: dict[str, int]) -> Array:
    """The class that the case's own labels, or its truth, give each item; -1 where they say nothing."""
    judge = header.description.judge
    gold: dict[str, float | Any] = {}
    for case in store.cases(header.id):
        try:
            own = labels_of(case, judge) if judge is not None else {}
        except ValueError:
            continue
        if figure == PASSES and own and terms.rubric is not None:
            passes = terms.rubric.passes(own)
            if passes is not None:
                gold[case.id] = float(passes)
        elif (label := own.get(figure)) is not None:
            gold[case.id] = float(label.best) if isinstance(label, Label) else float(label)
        elif judge is None and isinstance(case.expected, dict) and figure in case.expected:
            gold[case.id] = case.expected[figure]
    plainly = {json.dumps(plain(json.loads(value))): code for value, code in codes.items()}
    return np.array([plainly.get(json.dumps(plain(gold.get(key[0]))), -1) for key in keys], dtype=int)


def _consensus(
    figure: str,
    crowd: Labels,
    choice: Choice,
    gold: Array,
    keys: list[Key],
    people: list[str],
    values: list[Any],
    enough: float,
) -> Consensus:
    fit = choice.chosen
    best = fit.posterior.max(axis=1)
    # What one person says, or several who are not independent, is no agreement, whatever the method makes of it.
    counts = np.bincount(choice.voters.item, minlength=len(keys))
    settled = (fit.winner >= 0) & (best >= enough) & (counts > 1)
    quality = people_quality(crowd, fit, gold=gold if (gold >= 0).any() else None)
    return Consensus(
        figure=figure,
        classes=tuple(values),
        method=fit.method,
        message=choice.message,
        dawid_skene_worse=choice.dawid_skene_worse,
        scores=choice.scores,
        shares=tuple(fit.shares.tolist()),
        n_labels=len(crowd),
        n_items=len(keys),
        n_gold=int((gold >= 0).sum()),
        people=tuple(
            CrowdPerson(name, quality[at], tuple(tuple(row) for row in fit.confusion[at].tolist()))
            for at, name in enumerate(people)
        ),
        agreed=tuple(
            Agreed(*keys[at], values[fit.winner[at]], float(best[at]), int(counts[at]))
            for at in np.flatnonzero(settled).tolist()
        ),
        needs_label=tuple(keys[at] for at in np.argsort(best, kind="stable").tolist() if not settled[at]),
        shrinkage=fit.shrinkage,
        one_vote=tuple(
            OneVote(tuple(people[at] for at in group.people), group.n_items, group.n_different, group.unexplained)
            for group in choice.dependent
        ),
    )


def propose_cases(store: Store, header: RunHeader, consensus: Consensus, path: Path) -> int:
    """Write the agreed items as proposed cases with where they come from, one a line; how many. Nothing is added by
    itself: a person reads them, and puts them into the suite."""
    agreed = {item.case_id: item for item in consensus.agreed}
    lines = []
    for case in store.cases(header.id):
        if (item := agreed.get(case.id)) is not None:
            source = (
                f"{item.n_labels} labels of run {header.id}, {consensus.method}, probability {item.probability:.3f}"
            )
            proposed = {
                "id": case.id,
                "input": case.input,
                "expected": {consensus.figure: item.value},
                "source": f"crowd: {source}",
            }
            lines.append(json.dumps(proposed, ensure_ascii=False))
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    return len(lines)
