"""Rescores photos full of items beside the bare library calls: python -m bench.items PHOTOS ITEMS ROUNDS FOLDER.

One process, the two in turn, so that a busy machine slows down both.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.process import cdist
from scipy.optimize import linear_sum_assignment

from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.runner import run
from steelyard.scoring.evaluate import Evaluator
from steelyard.store.sql import open_store
from steelyard.suite.models import SuiteModel
from tools.draw_cards.plan import DECK

_MISREAD = 0.1
"""Share of the items with a letter lost, as of a reader that is nearly good enough to ship."""
_SUITE = """\
suite: items
cases: {files: cases.jsonl}
target: {recorded: answers.jsonl}
answer: {schema: {type: object, required: [groups], properties: {groups: {type: array}}}}
score:
  items:
    match_items:
      expected: {items: "expected.groups[].items[]", group: name}
      shapes: [{items: "groups[].items[]", group: name}]
gates: [average >= 50 %]
"""


def write(folder: Path, photos: int, items: int) -> Path:
    """A suite of so many photos with so many items each, in three groups, and answers to it."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(7)
    with (folder / "cases.jsonl").open("w") as cases, (folder / "answers.jsonl").open("w") as answers:
        for number in range(photos):
            texts = chance.sample(DECK, items)
            read = [_misread(text, chance) for text in texts]
            name = f"photo-{number}"
            cases.write(json.dumps({"id": name, "expected": _grouped(texts, "abc")}) + "\n")
            answers.write(json.dumps({"case": name, "answer": json.dumps(_grouped(read, "xyz"))}) + "\n")
    (folder / "suite.yaml").write_text(_SUITE)
    return folder / "suite.yaml"


def _misread(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text))
    return text[:place] + text[place + 1 :] if chance.random() < _MISREAD else text


def _grouped(texts: list[str], names: str) -> dict[str, Any]:
    return {"groups": [{"name": name, "items": texts[at :: len(names)]} for at, name in enumerate(names)]}


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def main(photos: int, items: int, rounds: int, folder: Path) -> None:
    suite = load_suite(write(folder, photos, items))
    texts = _answers(folder)
    cases = list(suite.cases)
    parsed = [json.loads(text) for text in texts]
    bare_sides = [(_flat(case.expected), _flat(answer)) for case, answer in zip(cases, parsed, strict=True)]
    store = open_store(str(folder / "items.db"))
    header = run.run(suite, store, RunOptions()).header

    def bare() -> None:
        for true, read in bare_sides:
            linear_sum_assignment(cdist(true, read, scorer=fuzz.ratio), maximize=True)

    def scored() -> None:
        ((_, scorer),) = _fresh(suite).components
        for answer, case in zip(parsed, cases, strict=True):
            scorer.read(answer, case)

    def evaluated() -> None:
        weigher = _fresh(suite)
        for text, case in zip(texts, cases, strict=True):
            weigher.evaluate(text, case)

    def rescored() -> None:
        run.rescore(suite, store, header)

    kinds = {"bare": bare, "scored": scored, "evaluated": evaluated, "rescored": rescored}
    spent: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, work in kinds.items():
            spent[name].append(_cpu(work) / photos)
    store.close()
    print(json.dumps({name: min(seconds) for name, seconds in spent.items()}))


def _answers(folder: Path) -> list[str]:
    return [json.loads(line)["answer"] for line in (folder / "answers.jsonl").read_text().splitlines()]


def _fresh(suite: SuiteModel) -> Evaluator:
    """A weigher that remembers nothing of an earlier round."""
    for component in suite.components:
        for name in component.scorer.__dict__.keys() - type(component.scorer).model_fields.keys():
            del component.scorer.__dict__[name]
    return Evaluator(suite)


def _flat(document: dict[str, Any]) -> list[str]:
    return [text for group in document["groups"] for text in group["items"]]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
