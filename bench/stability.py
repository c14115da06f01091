"""Compares all pairs of repeats: python -m bench.stability CASES REPEATS ITEMS ROUNDS.

Items carry one of eight keys, so that most keys occur more than once in an answer, and hardly two spans are the same:
nothing of it can be counted instead of compared.
"""

from __future__ import annotations

import json
import random
import sys
import time

from steelyard.metrics.stability import alikeness
from steelyard.records import Item

_KEYS = "abcdefgh"
_LEVELS = ("info", "warning", "violation")


def cells(cases: int, repeats: int, items: int) -> list[list[tuple[Item, ...]]]:
    """For each case, the items of each repeat."""
    chance = random.Random(7)

    def item() -> Item:
        start = chance.randrange(500)
        return Item(chance.choice(_KEYS), ([start, start + chance.randint(1, 50)], chance.choice(_LEVELS)))

    return [[tuple(item() for _ in range(items)) for _ in range(repeats)] for _ in range(cases)]


def main(cases: int, repeats: int, items: int, rounds: int) -> None:
    made = cells(cases, repeats, items)
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        pairs = sum(alikeness(cell, ["overlap", "equal"]).shared for cell in made)
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"wall": best, "pairs": pairs}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))
