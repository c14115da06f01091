"""What must hold of every comparison, from answers through scorers and the store to the result."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts import running as run
from parts.lengths import examples
from steelyard.comparing.compare import compare
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.pairing.model import Moved, Standing
from steelyard.pairing.runs import read_run
from steelyard.store.sql import open_store

FEW = settings(max_examples=examples(6), suppress_health_check=[HealthCheck.too_slow])
ROLES = ("style.look", "shot.type", "camera.angle")
WORDS = ("fox", "grass", "dusk", "rain", "pan")
SUITE = """\
suite: spans
cases: {files: cases.jsonl}
target: {recorded: answers.jsonl}
answer: {schema: {type: object, required: [spans]}}
score:
  spans:
    match_spans:
      text: input.text
      expected: {spans: "expected.spans[]", confidence: null}
      shape: {spans: "spans[]"}
      categories: [style, shot, camera]
      codes:
        {missed: MISSED, extra: EXTRA, wrong_role: ROLE, too_fine: FINE, too_coarse: COARSE, duplicate: TWICE,
         misplaced: OFF}
findings: {MISSED: {}, EXTRA: {}, ROLE: {}, FINE: {}, COARSE: {}, TWICE: {}, OFF: {}}
pass: score >= 50 %
"""


@st.composite
def documents(draw: st.DrawFn):
    """Texts with gold spans and what two systems answered: words with a role each."""
    found = []
    for number in range(draw(st.integers(2, 6))):
        words = draw(st.lists(st.sampled_from(WORDS), min_size=2, max_size=6))
        sides = []
        for fewest in (1, 0, 0):
            places = st.integers(0, len(words) - 1)
            chosen = draw(st.lists(places, min_size=fewest, max_size=4, unique=True))
            sides.append([(place, draw(st.sampled_from(ROLES))) for place in chosen])
        found.append((f"d{number}", words, *sides))
    return found


def spans(words, chosen, first=0):
    """Spans of the words at these places; `first` is where the text begins."""
    starts = [first + sum(len(word) + 1 for word in words[:place]) for place in range(len(words))]
    return [
        {"text": words[at], "role": role, "start": starts[at], "end": starts[at] + len(words[at])}
        for at, role in chosen
    ]


def rows(document):
    """A document as a case and two answers."""
    name, words, gold, *answers = document
    case = {"id": name, "category": "x", "input": {"text": " ".join(words)}, "expected": {"spans": spans(words, gold)}}
    return case, [{"case": name, "answer": json.dumps({"spans": spans(words, each)})} for each in answers]


def merged(one, other):
    """Two documents as one, the second after the first."""
    (first, answers), (second, _) = rows(one), rows(other)
    shift = len(first["input"]["text"]) + 1
    moved = [spans(other[1], each, shift) for each in other[2:]]
    text = f"{first['input']['text']} {second['input']['text']}"
    case = first | {"input": {"text": text}, "expected": {"spans": [*first["expected"]["spans"], *moved[0]]}}
    told = [
        {"case": first["id"], "answer": json.dumps({"spans": json.loads(mine["answer"])["spans"] + more})}
        for mine, more in zip(answers, moved[1:], strict=True)
    ]
    return case, told


@contextmanager
def evaluated(*orders):
    """A comparison of the two answers for each list of documents, through a store on disk."""
    with TemporaryDirectory() as folder:
        yield [_compared(Path(folder) / str(n), found) for n, found in enumerate(orders)]


def _compared(folder, result):
    folder.mkdir()
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case, _ in result))
    store = open_store(str(folder / "runs.db"))
    names = []
    for side in (0, 1):
        (folder / "answers.jsonl").write_text("".join(json.dumps(told[side]) + "\n" for _, told in result))
        header, _ = run.run(load_suite(folder), store, RunOptions())
        names.append(header.id)
    a, b = (read_run(store, name) for name in names)
    result = {"ab": compare(a, b), "ba": compare(b, a), "aa": compare(a, a)}
    store.close()
    return result


def figures(comparison):
    """Everything that is said, save what differs from run to run anyway."""
    kept = [each for each in comparison.metrics if each.group not in ("latency", "spending")]
    told = asdict(comparison)
    return kept, [told[name] for name in ("headline", "pairs", "codes", "confusions", "sections", "not_compared")]


@FEW
@given(documents())
def test_a_scored_run_compared_with_itself_has_not_changed(result):
    with evaluated([rows(each) for each in result]) as [result]:
        same = result["aa"]
        assert same.headline.verdict is Moved.SAME
        assert {each.verdict for each in same.metrics if each.a.value is not None} == {Moved.SAME}
        assert {each.standing for each in same.codes} <= {Standing.SAME}
        assert set(same.confusions.counts) <= {Standing.SAME}
        assert (same.signatures.changes, same.not_compared) == ((), ())


@FEW
@given(documents())
def test_scored_runs_mirror_each_other(result):
    back = {Moved.BETTER: Moved.WORSE, Moved.WORSE: Moved.BETTER}
    turned = {Standing.NEW: Standing.RESOLVED, Standing.MORE: Standing.FEWER}
    turned |= {after: before for before, after in turned.items()}
    with evaluated([rows(each) for each in result]) as [result]:
        one, other = result["ab"], result["ba"]
        assert one.headline.verdict is back.get(other.headline.verdict, other.headline.verdict)
        assert [(each.name, each.a, each.b, back.get(each.verdict, each.verdict)) for each in one.metrics] == [
            (each.name, each.b, each.a, each.verdict) for each in other.metrics
        ]
        assert [_rounded(each.difference.value) for each in one.metrics] == [
            None if each.difference.value is None else _rounded(-each.difference.value) for each in other.metrics
        ]
        assert {(each.code, each.a, each.b, each.standing) for each in one.codes} == {
            (each.code, each.b, each.a, turned.get(each.standing, each.standing)) for each in other.codes
        }
        assert {(each.expected, each.got, each.a, each.b) for each in one.confusions.listed} == {
            (each.expected, each.got, each.b, each.a) for each in other.confusions.listed
        }
        assert (one.pairs.fixed.count, one.pairs.broken.count) == (other.pairs.broken.count, other.pairs.fixed.count)


@FEW
@given(documents(), st.randoms(use_true_random=False))
def test_the_order_of_documents_and_of_spans_changes_nothing(result, chance):
    shuffled = [(name, words, *(chance.sample(side, len(side)) for side in sides)) for name, words, *sides in result]
    chance.shuffle(shuffled)
    with evaluated([rows(each) for each in result], [rows(each) for each in shuffled]) as [one, other]:
        assert figures(one["ab"]) == figures(other["ab"])


@FEW
@given(documents())
def test_documents_split_or_merged_sum_up_to_the_same(result):
    pairs = list(zip(result[::2], result[1::2], strict=False))
    apart = [rows(each) for pair in pairs for each in pair]
    together = [merged(*pair) for pair in pairs]
    with evaluated(apart, together) as [one, other]:
        split, whole = one["ab"], other["ab"]
        assert [(each.code, each.a, each.b) for each in split.codes] == [
            (each.code, each.a, each.b) for each in whole.codes
        ]
        assert split.confusions == whole.confusions
        for mine, their in zip(_measures(split), _measures(whole), strict=True):
            assert mine == their


def _measures(comparison):
    """Ratios of sums, which have no part in how the sums are split over documents."""
    measures = [each for each in comparison.metrics if each.group == "measures"]
    return [(each.name, _rounded(each.a.value), _rounded(each.b.value)) for each in measures]


def _rounded(value):
    return None if value is None else round(value, 9)
