"""Aggregates many labels by every method and chooses one: python -m bench.crowd LABELS.

Ten labels an item and four classes; a tenth of the people choose at random. Prints seconds and peak memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np

from steelyard.people.crowd import METHODS, CrowdLabels, aggregate
from steelyard.people.method_choice import choose
from steelyard.people.person_quality import people_quality

_AN_ITEM, _CLASSES, _A_PERSON = 10, 4, 500


def made(n: int, seed: int = 1) -> tuple[CrowdLabels, np.ndarray]:
    random = np.random.default_rng(seed)
    items, persons = n // _AN_ITEM, max(20, n // _A_PERSON)
    truth = random.choice(_CLASSES, items, p=[0.5, 0.25, 0.15, 0.1])
    accuracy = np.where(np.arange(persons) % 10 == 0, 1 / _CLASSES, random.uniform(0.55, 0.95, persons))
    item, person = np.repeat(np.arange(items), _AN_ITEM), random.integers(0, persons, items * _AN_ITEM)
    wrong = (truth[item] + random.integers(1, _CLASSES, len(item))) % _CLASSES
    value = np.where(random.random(len(item)) < accuracy[person], truth[item], wrong)
    return CrowdLabels.of(item, person, value), truth


def main(n: int) -> None:
    labels, truth = made(n)
    took: dict[str, float] = {}
    for method in METHODS:
        began = time.perf_counter()
        aggregate(labels, method)
        took[method] = time.perf_counter() - began
    began = time.perf_counter()
    choice = choose(labels)
    took["choose"] = time.perf_counter() - began
    began = time.perf_counter()
    spammers = sum(person.spammer for person in people_quality(labels, choice.chosen))
    took["people"] = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    right = float((choice.chosen.winner == truth).mean())
    result = {"n": len(labels), "took": took, "peak_mb": peak, "right": right, "spammers": spammers}
    print(json.dumps(result | {"wall": took["choose"] + took["people"]}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
