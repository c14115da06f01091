"""One answer an item out of a crowd's labels: whom to rely on, what needs another label, and proposed cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.load import suite_of_run
from steelyard.people.crowd import ENOUGH, CrowdLabels
from steelyard.people.labels import PASSES, LabelTerms, plain
from steelyard.people.method_choice import MethodChoice, MethodScore, choose
from steelyard.people.person_quality import PersonQuality, people_quality
from steelyard.store.people import ANSWER
from steelyard.suite.cases import pending_cases
from steelyard.suite.labels import Label, labels_of
from steelyard.suite.yaml import meant_or_listed
from steelyard.truth.edits import Author, change_case, proposed_file
from steelyard.truth.suggestions import truth_of_answer
from steelyard.wording import percent

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.stats.arrays import Array
    from steelyard.store.base import Store
    from steelyard.store.people import Key, LabelRecord
    from steelyard.suite.ledger import LedgerLine

_MOST_LISTED = 50


@frozen
class CrowdPerson:
    """One person of the crowd."""

    name: str
    quality: PersonQuality
    confusion: tuple[tuple[float, ...], ...]
    """Row: the true class, column: the class that the person chooses, in the order of `Consensus.classes`."""


@frozen
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


@frozen
class Agreed:
    """An item on which the crowd agrees."""

    case_id: str
    variant: str
    repeat: int
    value: Any
    probability: float
    n_labels: int
    gold: bool = False
    """Whether the case has a truth of its own for the figure."""


@frozen
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
    """See `method_choice.MethodScore`; 0 is the published algorithm."""
    one_vote: tuple[OneVote, ...] = ()


def consensus_of(
    store: Store, header: RunHeader, figure: str = "", names: Callable[[str], str] = str, *, enough: float = ENOUGH
) -> Consensus:
    """What the labels of a run come to, for a dimension, a flag, `passes` or a field of people's own answers.

    Gold items are those whose case has labels, or a truth, of its own. UsageError when nobody labelled the figure.
    """
    terms = LabelTerms(header.description)
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
    crowd = CrowdLabels.of(*columns.T, n_items=len(keys), n_people=len(people), n_classes=len(values))
    own = _own_truths(store, header, figure, terms)
    plainly = {json.dumps(plain(json.loads(value))): code for value, code in classes.items()}
    # A truth that nobody said is no class of the crowd's.
    gold = np.array([plainly.get(json.dumps(plain(own.get(key[0]))), -1) for key in keys], dtype=int)
    choice = choose(crowd, gold=gold if (gold >= 0).any() else None)
    found = _consensus(figure, crowd, choice, gold, keys, people, [json.loads(value) for value in values], enough)
    return replace(found, agreed=tuple(replace(item, gold=item.case_id in own) for item in found.agreed))


def _values_by_figure(labels: list[LabelRecord], terms: LabelTerms) -> dict[str, list[tuple[Key, str, Any]]]:
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


def _own_truths(store: Store, header: RunHeader, figure: str, terms: LabelTerms) -> dict[str, Any]:
    """By case, what its own labels, or its truth, say."""
    judge = header.description.judge
    gold: dict[str, Any] = {}
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
    return gold


def _consensus(
    figure: str,
    crowd: CrowdLabels,
    choice: MethodChoice,
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


def crowd_truths(store: Store, header: RunHeader) -> dict[str, dict[str, Any]]:
    """By pending case of a run, what people's own answers agree on, by path of the case's truth."""
    suite = suite_of_run(header)
    cases = {case.id: case for case in pending_cases(suite)}
    labels = [label for label in store.people.labels(run_id=header.id) if label.round == 0 and label.kind == ANSWER]
    fields: dict[str, dict[str, Any]] = {}
    for figure in _values_by_figure(labels, LabelTerms(header.description)):
        for item in consensus_of(store, header, figure).agreed:
            fields.setdefault(item.case_id, {})[figure] = item.value
    is_text = suite.answer.format != "json"
    truths = {
        case_id: truth_of_answer(suite, cases[case_id], answer.get("text", "") if is_text else answer)
        for case_id, answer in fields.items()
        if case_id in cases
    }
    return {case_id: values for case_id, values in truths.items() if values}


def fill_from_crowd(
    store: Store, header: RunHeader, case_id: str, author: Author, values: Mapping[str, Any]
) -> LedgerLine:
    """Write what people agree on into the file of a pending case, with `values` for what they do not say."""
    truths = crowd_truths(store, header)
    if case_id not in truths:
        known = f"; they agree on {', '.join(sorted(truths))}" if truths else ""
        raise UsageError(f"people agree on nothing of a pending case {case_id!r} in run {header.id}{known}")
    return change_case(suite_of_run(header).path, case_id, values, author, of_case=truths[case_id])


def propose_cases(store: Store, header: RunHeader, consensus: Consensus, path: Path) -> int:
    """Write the agreed items as proposed cases, one a line; how many. Those of pending cases are whole records in the
    shape of the suite's own file. What has a truth of its own is not proposed: see `truth suggest`. Nothing is added by
    itself: a person reads them, and puts them into the suite."""
    if header.description.pending_of:
        truths = crowd_truths(store, header)
        text, n = proposed_file(suite_of_run(header), truths, path.suffix.lower()), len(truths)
    else:
        lines = _proposed(store, header, consensus)
        text, n = "".join(f"{line}\n" for line in lines), len(lines)
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    return n


def _proposed(store: Store, header: RunHeader, consensus: Consensus) -> list[str]:
    agreed = {item.case_id: item for item in consensus.agreed if not item.gold}
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
    return lines
