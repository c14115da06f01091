"""When the same answers show that a judge has drifted, and when nothing does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parts.columns import Made
from parts.compared import compared
from steelyard.analysis.compare import compare
from steelyard.analysis.compared_cases import common_cases
from steelyard.analysis.judge_drift import drift_in_words
from steelyard.analysis.pairing import pair

JUDGE = {"mode": "model", "members": [{"name": "one", "model": "m"}]}


def run(scores, *, repeats=1, answers=None, **more):
    """A judged run, the repeats of a case one after another; answer k is the number k + 1 unless said otherwise.

    An answer without a score is malformed, and no judge has read it.
    """
    made = [
        Made(f"c{at // repeats:02d}", score, "malformed" if score is None else "scored", repeat=at % repeats)
        for at, score in enumerate(scores)
    ]
    found = compared(made, described={"judge": JUDGE, "passing": None, "repeats": repeats}, **more)
    modes = np.array([-1 if score is None else 0 for score in scores])
    digests = np.arange(1, len(made) + 1) if answers is None else np.array(answers)
    return replace(found, columns=replace(found.columns, mode=modes, modes=["model"]), digests=lambda: digests)


def told(a, b):
    return drift_in_words(a, b, pair(a, b, common_cases(a, b)))


@pytest.mark.parametrize(("mode", "looked_at"), [(None, 0), ("rules", 0), ("model", 2), ("basic", 2)])
def test_answers_are_looked_at_only_where_a_model_may_have_drifted(mode, looked_at):
    looks = []
    judge = None if mode is None else {"mode": mode, "members": []}
    made = [compared([Made(f"c{k}", 1.0) for k in range(3)], described={"judge": judge}) for _ in "ab"]
    for at, each in enumerate(made):
        columns = replace(each.columns, mode=np.zeros(3, dtype=int), modes=[mode])
        made[at] = replace(each, columns=columns, digests=lambda: looks.append(1) or np.arange(3))
    assert told(*made) is None
    assert len(looks) == looked_at


@pytest.mark.parametrize(
    ("after", "far"),
    [(0.6, "10.0 points higher in B"), (0.25, "25.0 points lower in B"), (0.5002, "less than 0.1 points higher in B")],
)
def test_a_shift_of_all_answers_is_told_with_its_way(after, far):
    words = "the judge has drifted: it scores 8 answers that are the same in both runs "
    assert told(run([0.5] * 8), run([after] * 8)) == words + far


def test_only_the_same_answers_that_a_judge_has_read_show_it():
    a, b = [0.5] * 8, [0.9] * 8
    assert told(run(a), run(b, answers=range(101, 109))) is None
    # 0 stands for an answer that is not kept: two of them need not be the same.
    assert told(run(a, answers=[0] * 8), run(b, answers=[0] * 8)) is None
    assert "scores 8 answers that are the same in both runs 40.0" in told(run([*a, None]), run([*b, None]))


def test_repeats_of_a_case_are_one_and_prove_no_more_than_it():
    # 24 answers of 2 cases rise: by the sign test of two cases that agree p is 0.5.
    assert told(run([0.5] * 24, repeats=12), run([0.6] * 24, repeats=12)) is None
    # 2 of 3 repeats of 8 cases move against each other, so that no case does.
    still = [0.5, 0.6, 0.4] * 8
    assert told(run([0.5] * 24, repeats=3), run(still, repeats=3)) is None
    moved = [0.5, 0.5, 0.8] * 8
    assert "24 answers that are the same in both runs 10.0 points higher" in told(
        run([0.5] * 24, repeats=3), run(moved, repeats=3)
    )


def test_where_the_scale_is_another_a_judge_is_not_blamed_for_it():
    a = run([0.5] * 8)
    drifted, rescaled = run([0.9] * 8), run([0.9] * 8, signature={"scorers": "s2"})
    assert "drifted" in compare(a, drifted).headline.sentence
    hindered = compare(a, rescaled).headline.hindered_by
    assert [why for why in hindered if "drifted" in why] == []
    assert hindered
