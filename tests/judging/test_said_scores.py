"""What a judge says beyond its scores becomes scores that have no weight, in runs, reports and gates."""

import json
from contextlib import closing

import pytest

from parts.judged_suite import write_judged
from parts.running import run
from parts.small_judge import RUBRIC
from parts.views import to_html, to_json, to_markdown
from steelyard.loading.load import load_suite
from steelyard.records import Judgement, Mode, Score, Vote
from steelyard.report.build import build_report
from steelyard.report.groups import stated
from steelyard.scoring.judged import said_scores
from steelyard.store.sql import open_store
from steelyard.suite.judge import JudgeModel, SaidCount, SaidMean

JUDGE = JudgeModel(
    rubric=RUBRIC,
    members=(),
    means=(
        SaidMean(figure="found", key="head", path="parts.head.found", scale=(1.0, 5.0)),
        SaidMean(figure="sure", key="", path="sure", scale=(0.0, 1.0)),
    ),
    counts=(SaidCount(name="kinds", words=("dull", "long"), list_path="faults", word_path="kind"),),
)


def read(response, mode=Mode.MODEL):
    ballot = Vote("m", 0, mode, "strict", capped={"tone": 3}, response=response)
    return said_scores(JUDGE, Judgement(mode, (ballot,), capped={"tone": 3}))


def test_numbers_and_words_become_scores_without_weight():
    reply = {
        "parts": {"head": {"found": 4}},
        "sure": 0.5,
        "faults": [{"kind": "dull"}, {"kind": "odd"}, {"kind": "dull"}],
    }
    # The odd word is none of those that are counted, and one of three all the same.
    assert read(reply) == (
        Score("found_head", 4.0, 0.0),
        Score("sure", 0.5, 0.0),
        Score("kinds", None, 0.0, counts={"dull": 2, "long": 0, "listed": 3}),
    )


@pytest.mark.parametrize("value", [None, "4", True, 0, 6, float("nan")])
def test_what_is_no_number_of_the_scale_is_no_reading(value):
    assert read({"parts": {"head": {"found": value}}}) == ()


def test_a_list_that_is_not_there_is_not_one_of_nothing():
    assert read({}) == ()
    assert read({"faults": []}) == (Score("kinds", None, 0.0, counts={"dull": 0, "long": 0, "listed": 0}),)


def test_what_names_no_word_is_one_of_the_list_all_the_same():
    (score,) = read({"faults": [{"kind": "dull"}, {"kind": None}, {}]})
    assert score.counts == {"dull": 1, "long": 0, "listed": 3}


def test_a_basic_reading_is_believed_in_its_scores_alone():
    assert read({"sure": 0.5}, Mode.BASIC) == ()


def test_of_a_panel_the_vote_counts_that_stands_for_the_others():
    ballots = [
        Vote("m", at, Mode.MODEL, "strict", capped={"tone": tone}, response={"sure": sure})
        for at, (tone, sure) in enumerate([(5, 0.1), (3, 0.2), (1, 0.3)])
    ]
    assert said_scores(JUDGE, Judgement(Mode.MODEL, tuple(ballots), capped={"tone": 3})) == (Score("sure", 0.2, 0.0),)


CODE = """

def judge(text, case, metrics):
    number = case.input["number"]
    parts = {"head": {"found": 2 + number}} | ({"tail": {"found": 5}} if number == 0 else {})
    faults = [{"kind": "dull"}] * number
    return {"reasons": ["one", "two"], "parts": parts, "faults": faults, "clarity": 3, "harm": False}
"""
RESPONSE = {
    "type": "object",
    "properties": {
        "reasons": {"type": "array", "items": {"type": "string"}},
        "parts": {"type": "object"},
        "faults": {"type": "array", "items": {"properties": {"kind": {"enum": ["dull", "long"]}}}},
        "clarity": {"type": "integer", "minimum": 1, "maximum": 5},
        "harm": {"type": "boolean"},
    },
    "required": ["reasons", "parts", "faults", "clarity", "harm"],
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """Three texts: the head is found 2, 3 and 4, the tail 5 once; 0, 1 and 2 faults, all dull."""
    folder = tmp_path_factory.mktemp("stated")
    figures = {
        "found": {"mean": "parts.*.found", "keys": ["head", "tail", "foot"], "about": "How much was found."},
        "kinds": {"count": "faults[].kind"},
    }
    gates = ["score.found_head.points >= 3", "score.found_tail.points >= 3 with n >= 2", "score.kinds.long <= 10 %"]
    path = write_judged(folder, n=3, response=RESPONSE, figures=figures, suite={"gates": gates})
    (folder / "measures.py").write_text((folder / "measures.py").read_text() + CODE)
    suite = load_suite(path)
    with closing(open_store(str(folder / "store.db"))) as store:
        header, _ = run(suite, store)
        yield build_report(store, header)


def test_a_figure_is_a_mean_over_the_texts_that_have_it(reported):
    parts = reported.summary.overall.each("score.<component>.points")
    assert [(parts[name].value, parts[name].n, parts[name].n_missing) for name in ("found_head", "found_tail")] == [
        (3.0, 3, 0),
        (5.0, 1, 2),
    ]
    dull = reported.summary.overall["score.kinds.dull"]
    assert (dull.numerator, dull.denominator, dull.n) == (3, 3, 3)


def test_figures_have_no_weight_and_are_no_findings(reported):
    assert reported.summary.overall["average"].value == 0.5  # clarity 3 of 1 to 5, and nothing else
    assert not [
        code for code in reported.summary.overall.each("findings.<code>.rate") if code.startswith(("FOUND", "KINDS"))
    ]


def test_gates_hold_figures_against_their_thresholds(reported):
    verdicts = [(gate.metric, gate.verdict.value) for gate in reported.decision.gates]
    assert verdicts == [
        ("score.found_head.points", "PASS"),
        ("score.found_tail.points", "AMBIGUOUS"),
        ("score.kinds.long", "PASS"),
    ]


def test_tables_show_every_figure_with_its_n_also_one_that_nobody_gave(reported):
    means, kinds = stated(reported)
    assert [(row[0], row[2], row[4]) for row in means.rows] == [
        ("found_head", "3.00", "3"),
        ("found_tail", "5.00", "1, 2 missing"),
        ("found_foot", "n/a", "0, 3 missing"),
    ]
    assert [(row[0], row[1]) for row in kinds.rows] == [("dull", "3 of 3"), ("long", "0 of 3")]


def test_every_view_has_the_figures(reported):
    data = json.loads(json.dumps(to_json(reported)))
    assert data["figures"]["score.found_tail.points"]["n"] == 1
    assert data["figures"]["score.kinds.dull"]["numerator"] == 3
    assert "found_tail" in to_html(reported)
    assert "found&#95;tail" in to_markdown(reported)
