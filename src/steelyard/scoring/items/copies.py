"""Of an item that was answered more than once, which copy counts: the one that makes most items right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from steelyard.frozen import slotted
from steelyard.scoring.items.groups import best_mapping
from steelyard.scoring.items.similar import Matching, Side

How = Literal["label", "mapping"]
Contents = tuple[tuple[str, str], ...]


@slotted
class _Text:
    """One answered text with copies to spare: the pairs it stands in, and all the places where it was answered."""

    pairs: list[int]
    places: list[int]


def choose_copies(truth: Side, got: Side, matching: Matching, how: How | None) -> Matching:
    """The same matching with the best copy of every text in it; `how` groups are compared, None without groups.

    Under one mapping of groups an item is right when any copy of it is in the group that stands for its own. So the
    mapping with the most such items is sought, and then each item takes a copy there. Where that leaves a choice, the
    contents of the groups decide, never their order or their names.
    """
    texts = _with_copies(got, matching) if matching.extra else None
    if not texts:
        return matching
    true, labels = truth.labels(), got.labels()
    contents = _contents(got, labels)
    stated = labels if how == "label" else _named_by(contents, labels)
    home = {} if how is None else _homes(texts, matching, true, stated, how)
    chosen = list(matching.got)
    used = set(chosen) - {place for text in texts for place in text.places}
    for text in texts:
        free = sorted(text.places, key=lambda place: (contents[place], got.items.texts[place], labels[place]))
        waiting = sorted(text.pairs, key=lambda pair: (true[matching.expected[pair]], pair))
        # Those whose copy lies at home first; the others take what is left.
        for wanted in (True, False):
            for pair in list(waiting):
                its_group = true[matching.expected[pair]]
                place = next(
                    (item for item in free if not wanted or (stated[item] and home.get(stated[item]) == its_group)),
                    None,
                )
                if place is not None:
                    chosen[pair] = place
                    free.remove(place)
                    waiting.remove(pair)
                    used.add(place)
    extra = tuple(place for place in range(len(got.folded)) if place not in used)
    return replace(matching, got=chosen, extra=extra)


def named_by_contents(got: Side) -> list[str | None]:
    """Each item's group under a name that does not depend on the order of the groups; None where none was given."""
    labels = got.labels()
    return [name or None for name in _named_by(_contents(got, labels), labels)]


def _with_copies(got: Side, matching: Matching) -> list[_Text]:
    """The texts that stand in a pair and were answered once more."""
    folded = got.folded
    spare: dict[str, list[int]] = {}
    for place in matching.extra:
        spare.setdefault(folded[place], []).append(place)
    texts: dict[str, _Text] = {}
    for number, by in enumerate(matching.got):
        text = folded[by]
        if text in spare:
            available = texts.setdefault(text, _Text([], list(spare[text])))
            available.pairs.append(number)
            available.places.append(by)
    return list(texts.values())


def _homes(
    texts: Sequence[_Text], matching: Matching, true: Sequence[str], stated: Sequence[str], how: How
) -> dict[str, str]:
    """The true group that each answered group stands for."""
    if how == "label":
        return {label: label for label in stated if label}
    choosing = {number for text in texts for number in text.pairs}
    places = enumerate(zip(matching.expected, matching.got, strict=True))
    cells = Counter((true[at], stated[by]) for number, (at, by) in places if number not in choosing)
    for text in texts:
        wanted = Counter(true[matching.expected[number]] for number in text.pairs)
        there = Counter(stated[place] for place in text.places)
        for label, n in wanted.items():
            for group, n_there in there.items():
                cells[label, group] += min(n, n_there)
    return best_mapping(cells)


def _contents(got: Side, stated: Sequence[str]) -> list[Contents]:
    """For each item, all the texts of its group, as compared and as written."""
    members: dict[str, list[tuple[str, str]]] = {}
    for label, folded, text in zip(stated, got.folded, got.items.texts, strict=True):
        members.setdefault(label, []).append((folded, text))
    whole = {label: tuple(sorted(texts)) for label, texts in members.items()}
    return [whole[label] for label in stated]


def _named_by(contents: Sequence[Contents], text: Sequence[str]) -> list[str]:
    """New labels for the groups, in the order of their contents: what they are called must not break a tie."""
    first = {label: place for place, label in reversed(list(enumerate(text)))}
    ordered = sorted((label for label in first if label), key=lambda label: (contents[first[label]], label))
    names = {label: f"{number:06d}" for number, label in enumerate(ordered)}
    return [names.get(label, "") for label in text]
