"""The samples that reports list are found by hand in columns of a few samples."""

from __future__ import annotations

import numpy as np
import pytest

from parts.reports import SUITE
from steelyard.analysis import listed_samples as module
from steelyard.analysis.listed_samples import WorstCell, listed_samples
from steelyard.metrics.run_data import RunData
from steelyard.stats.arrays import lowest
from steelyard.store.base import Columns
from steelyard.suite.models import SuiteModel

CASES = ["a", "b", "c", "d", "e"]
OUTCOMES = ["scored", "malformed", "target_failed"]


def run_data(scores, *, repeats=None, outcomes=None, latency=None, passing=0.75, flagged=None, variants=1):
    """A run whose samples are of cases a, b, c and so on, or of `repeats` in turn; of several variants one after the
    other, so many samples of a case each."""
    n = len(scores)
    zeros, case = np.zeros(n, dtype=int), np.arange(n)
    if repeats:
        case = case // repeats // variants
    score = np.array(scores, dtype=float)
    suite = SUITE | {"gates": [], "components": [], "taxonomy": []}
    suite["passing"] = None if passing is None else {"text": f"score >= {passing}", "at_least": passing}
    components = {}
    if flagged is not None:
        rubric = {"dimensions": [{"name": "tone"}], "flags": [{"name": "harm", "fails": True}], "scale": [1, 5]}
        suite["judge"] = {"rubric": rubric, "mode": "model", "members": [], "repeats": 1, "combine": "median"}
        components["harm"] = np.array(flagged, dtype=float)
    columns = Columns(
        n=n,
        case=case,
        case_ids=CASES,
        variant=np.arange(n) // (repeats or 1) % variants,
        variants=[f"v{number}" for number in range(variants)],
        repeat=np.arange(n) % (repeats or 1),
        outcome=np.array([OUTCOMES.index(name) for name in outcomes]) if outcomes else zeros,
        outcomes=OUTCOMES,
        score=score,
        passed=np.where(np.isnan(score), -1, score >= (passing or 0)).astype(int),
        band=zeros - 1,
        bands=[],
        category=zeros - 1,
        categories=[],
        difficulty=zeros - 1,
        difficulties=[],
        tag_sample=zeros[:0],
        tag=zeros[:0],
        tags=[],
        components=components,
        latency=np.array(latency, dtype=float) if latency else np.full(n, np.nan),
    )
    return RunData(columns, SuiteModel.from_data(suite))


def test_the_lowest_of_equal_values_are_the_first_and_what_is_unknown_is_none_of_them():
    assert lowest(np.array([3.0, 1.0, np.nan, 1.0, 2.0]), 3).tolist() == [1, 3, 4]
    assert lowest(np.array([1.0, 1.0, 1.0]), 2).tolist() == [0, 1]
    assert lowest(np.array([np.nan]), 2).tolist() == []


def test_the_worst_are_what_did_not_pass_lowest_first():
    found = listed_samples(run_data([0.9, 0.5, 0.7, 0.1, 0.8]))
    assert found.worst == (WorstCell(3, 1), WorstCell(1, 1), WorstCell(2, 1))


def test_without_a_pass_rule_they_are_what_has_not_the_full_score():
    found = listed_samples(run_data([1.0, 0.5, 1.0, 0.9], passing=None))
    assert found.worst == (WorstCell(1, 1), WorstCell(3, 1))


def test_a_case_is_listed_once_with_its_worst_repeat_and_how_many_failed(monkeypatch):
    monkeypatch.setattr(module, "MAX_WORST", 2)
    # Two repeats of each of three cases: the lowest score is the first of b, the next is the second of a.
    found = listed_samples(run_data([0.7, 0.2, 0.1, 0.9, 0.6, 0.5], repeats=2))
    assert found.worst == (WorstCell(2, 1), WorstCell(1, 2))


def test_each_variant_of_a_case_is_listed_with_its_own_repeats():
    # Case a: v0 fails once of two, v1 twice; case b: v0 twice, v1 never.
    found = listed_samples(run_data([0.5, 0.9, 0.1, 0.2, 0.3, 0.4, 0.8, 0.9], repeats=2, variants=2))
    assert found.worst == (WorstCell(2, 2), WorstCell(4, 2), WorstCell(0, 1))


def test_every_repeat_of_the_worst_case_may_be_worse_than_those_of_the_second(monkeypatch):
    monkeypatch.setattr(module, "MAX_WORST", 2)
    found = listed_samples(run_data([0.0, 0.0, 0.0, 0.5, 0.6, 0.9], repeats=3))
    assert found.worst == (WorstCell(0, 3), WorstCell(3, 2))


def test_inconclusive_samples_are_no_worst_ones_and_have_a_list(monkeypatch):
    monkeypatch.setattr(module, "MAX_INCONCLUSIVE", 1)
    outcomes = ["target_failed", "scored", "malformed", "target_failed"]
    found = listed_samples(run_data([np.nan, 0.2, 0.0, np.nan], outcomes=outcomes))
    assert [cell.position for cell in found.worst] == [2, 1]
    assert (found.inconclusive, found.lowest) == ((0,), (2, 1))


def test_a_sample_that_was_stored_without_a_score_is_no_worst_one():
    outcomes = ["malformed", "scored", "malformed"]
    assert listed_samples(run_data([np.nan, 0.2, 0.0], outcomes=outcomes)).worst == (WorstCell(2, 1), WorstCell(1, 1))


def test_the_slowest_first_and_what_took_no_time_is_not_known(monkeypatch):
    monkeypatch.setattr(module, "MAX_SLOWEST", 2)
    assert listed_samples(run_data([1, 1, 1, 1], latency=[0.5, 2.0, 0.0, 1.0])).slowest == (1, 3)


def test_positions_stand_for_numbers_of_a_run_with_gaps():
    found = listed_samples(run_data([0.9, 0.5, 0.7], latency=[1, 2, 3])).placed(np.array([4, 7, 9]))
    assert [cell.position for cell in found.worst] == [7, 9]
    assert (found.slowest, found.lowest) == ((9, 7, 4), (7, 9, 4))


@pytest.mark.parametrize(("flags", "first"), [([0, 0, 1], 2), ([0, 0, 0], 1), ([np.nan, 0, 0], 1)])
def test_a_flag_that_fails_comes_before_the_lowest_score(flags, first):
    data = run_data([0.9, 0.1, 0.7], flagged=flags)
    assert listed_samples(data).worst[0].position == first
