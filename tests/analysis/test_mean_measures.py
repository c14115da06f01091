"""Means of measures: pooled over samples first, then averaged over those that are ratios of something."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.columns import Made, columns, suite
from parts.described import summarise
from steelyard.analysis.model import Summary
from steelyard.decide.gates import evaluate
from steelyard.scoring.spans.schemes import PrecisionRecall, macro, micro
from steelyard.stats.intervals import Estimate

NAMES = ("a", "b", "c")


def summary_of(*made: Made) -> Summary:
    described = suite()
    measures = {f"{name}_f1": {"numerator": f"{name}_up", "denominator": f"{name}_down", "about": ""} for name in NAMES}
    described["components"][0]["measures"] = measures
    described["components"][0]["means"] = {"macro": {"of": list(measures), "about": "x", "better": "higher"}}
    return summarise(columns(list(made)), described)


def counted(case: str, **pairs: tuple[int, int]) -> Made:
    counts = {f"{name}_{part}": n for name, pair in pairs.items() for part, n in zip(("up", "down"), pair, strict=True)}
    return Made(case, 0.5, parts={"name": 0.5}, counts={"name": counts})


def macro_of(*made: Made) -> Estimate:
    return summary_of(*made).overall["score.name.macro"]


def test_every_ratio_counts_the_same_and_a_ratio_of_nothing_not_at_all() -> None:
    found = macro_of(counted("x", a=(1, 2), b=(9, 10)), counted("y", a=(1, 2), b=(0, 0)))
    # a: 2 of 4, b: 9 of 10, c: nobody has it. The mean over samples would be another.
    assert found.value == pytest.approx((0.5 + 0.9) / 2)
    assert (found.mean_of, found.n, found.n_missing) == (2, 2, 0)


def test_a_sample_without_any_of_them_is_missing() -> None:
    found = macro_of(counted("x", a=(1, 2)), Made("y", 0.5, parts={"name": 0.5}))
    assert (found.n, found.n_missing) == (1, 1)


def test_a_mean_of_nothing_is_not_available() -> None:
    assert macro_of(Made("x", 0.5)) == Estimate(None, 0, 1, numerator=0, denominator=0, mean_of=0)


def test_equal_ratios_are_not_certainty() -> None:
    found = macro_of(counted("x", a=(2, 2)), counted("y", a=(3, 3)))
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low is not None
    assert found.low < 0.5  # two cases


def test_the_interval_is_that_of_the_linearised_mean() -> None:
    """Against the delete-one jackknife, an independent way to the same standard error: within a tenth of it."""
    random = np.random.default_rng(1)
    rows = [[(int(random.binomial(8, share)), 8) for share in (0.3, 0.6, 0.9)] for _ in range(60)]
    made = [counted(f"k{i}", **dict(zip(NAMES, row, strict=True))) for i, row in enumerate(rows)]

    def mean(chosen: list[int]) -> float:
        sums = np.array([rows[i] for i in chosen]).sum(axis=0)
        return float((sums[:, 0] / sums[:, 1]).mean())

    left_out = np.array([mean([i for i in range(60) if i != k]) for k in range(60)])
    error = float(np.sqrt(59 / 60 * ((left_out - left_out.mean()) ** 2).sum()))
    found = macro_of(*made)
    assert found.low is not None
    assert found.high is not None
    # Student's t with 59 degrees of freedom: 2.001 (any table).
    assert (found.high - found.low) / 2 == pytest.approx(2.001 * error, rel=0.1)


def test_the_spread_is_that_of_the_cases_that_have_it() -> None:
    made = [counted(f"k{up}", a=(up, 100)) for up in (50, 52, 48)] + [Made("none", 0.5, parts={"name": 0.5})]
    found = macro_of(*made)
    # One ratio with equal denominators is a mean of three shares: s = 0.02, s / sqrt(3) = 0.011547; t, 2 degrees of
    # freedom: 4.3027 (any table). Wilson's way for a mean of a scale with ends: q = (4.3027 x 0.011547)^2 / (0.5 x 0.5)
    # = 0.0098739; half = sqrt(q / 4 + q^2 / 4) / (1 + q) = 0.0499284 / 1.0098739 = 0.049440.
    assert (found.value, found.n, found.n_missing) == (0.5, 3, 1)
    assert (found.low, found.high) == (pytest.approx(0.5 - 0.04944, abs=1e-5), pytest.approx(0.5 + 0.04944, abs=1e-5))


spans = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), spans), min_size=1, max_size=6))
def test_it_is_the_macro_of_the_pooled_categories(samples: list[dict[str, tuple[int, int, int]]]) -> None:
    """The same as `steelyard.spans.macro`, which knows nothing of columns."""
    parts: dict[str, list[PrecisionRecall]] = {name: [] for name in NAMES}
    made = []
    for at, sample in enumerate(samples):
        for name, (right, more, missed) in sample.items():
            parts[name].append(PrecisionRecall(right, right + more, right + missed))
        pairs = {name: (2 * right, 2 * right + more + missed) for name, (right, more, missed) in sample.items()}
        made.append(counted(f"k{at}", **pairs))
    expected = macro({name: micro(each) for name, each in parts.items() if each})["f1"]
    found = macro_of(*made)
    assert found.mean_of == expected.n
    assert found.value == (None if expected.value is None else pytest.approx(expected.value))


def test_a_gate_stands_on_it() -> None:
    summary = summary_of(counted("x", a=(1, 2)), counted("y", b=(1, 4)))
    # 0.5 and 0.25
    assert [
        one.verdict.value for one in evaluate(["score.name.macro >= 37 %", "score.name.macro >= 38 %"], summary)
    ] == [
        "PASS",
        "FAIL",
    ]
