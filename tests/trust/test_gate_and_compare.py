"""A gate on a baseline never passes where `compare` of the same two runs cannot tell, unless it is for noise, and then
it says so."""

from __future__ import annotations

import numpy as np
import pytest

from parts.columns import Made
from parts.compared import compared
from steelyard.comparing.compare import compare
from steelyard.decide.relative_gates import relative_results
from steelyard.metrics.expressions import parse_gate
from steelyard.pairing.against import Against
from steelyard.pairing.model import Moved
from steelyard.records import Verdict
from steelyard.stats.paired import FEWEST_TO_SHOW

OTHER_SCORERS = {"signature": {"scorers": "s2"}}


def both(before, after, *gates, **more):
    """What compare and gates (one on the pass rate unless told) say of the same two runs."""
    a = compared([Made(f"c{i:02}", float(score)) for i, score in enumerate(before)], id="old-1")
    b = compared([Made(f"c{i:02}", float(score)) for i, score in enumerate(after)], id="new-1", **more)
    against = Against(a, b)
    results = [relative_results(parse_gate(gate), against) for gate in gates or ("pass_rate >= @release",)]
    return compare(a, b).headline, *(result for (result,) in results)


@pytest.mark.parametrize("n", range(1, FEWEST_TO_SHOW))
def test_a_gain_of_so_few_cases_that_they_show_nothing_is_no_pass(n):
    headline, gate = both([0.0] * n, [1.0] * n)
    assert headline.verdict is Moved.CANNOT_TELL
    assert gate.verdict is Verdict.AMBIGUOUS
    assert "too few to tell" in gate.reason


def test_what_may_be_the_scorers_gain_is_no_pass():
    headline, gate = both([0.0] * 20, [1.0] * 20, **OTHER_SCORERS)
    assert (headline.verdict, gate.verdict) == (Moved.CANNOT_TELL, Verdict.AMBIGUOUS)
    assert "the scorers differ" in gate.reason


def test_they_agree_on_any_two_runs():
    rng = np.random.default_rng(16)
    gates = [
        f"{metric} >= {margin}" for metric in ("pass_rate", "average") for margin in ("@release", "release - 5 points")
    ]
    seen = {gate: set() for gate in gates}
    for _ in range(150):
        n, share = int(rng.integers(1, 40)), rng.uniform(0.1, 0.9, 2)
        before, after = (np.where(rng.random(n) < each, 1.0, 0.0) for each in share)
        headline, *results = both(before, after, *gates)
        for gate, result in zip(gates, results, strict=True):
            seen[gate].add((headline.verdict, result.verdict))
            if headline.verdict is Moved.CANNOT_TELL and n < FEWEST_TO_SHOW:
                assert result.verdict is Verdict.AMBIGUOUS, result.reason
            elif headline.verdict is Moved.CANNOT_TELL and result.verdict is Verdict.PASS:
                assert "within noise" in result.reason
            elif headline.verdict in (Moved.BETTER, Moved.SAME):
                assert result.verdict is Verdict.PASS, result.reason
            elif headline.verdict is Moved.WORSE and gate.endswith("@release"):
                assert result.verdict is Verdict.FAIL, result.reason
    for gate in gates:
        assert {
            (Moved.BETTER, Verdict.PASS),
            (Moved.CANNOT_TELL, Verdict.PASS),
            (Moved.CANNOT_TELL, Verdict.AMBIGUOUS),
            (Moved.WORSE, Verdict.FAIL),
        } <= seen[gate], gate
