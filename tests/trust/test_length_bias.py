"""A judge that favors length: how much of a difference is associated with the length of the answers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from parts.command import invoke
from parts.judged_suite import write_judged
from steelyard.comparing.length import least_squares
from steelyard.stats.intervals import student
from steelyard.store.sql import open_store

N = 40
BY_LENGTH = "min(5, max(1, len(text.split()) // 12))"
BY_QUALITY = '2 + ("good" in text) + ("best" in text)'

# statsmodels 0.15.0: OLS(y, add_constant(x)).fit(cov_type="HC3", use_t=True): params, bse, conf_int of the constant.
STATSMODELS = (0.0127358491, 0.391509434, 0.0400485247, 0.0692866973, -0.0796162146, 0.1050879127)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return tmp_path


def texts(seed: int, low: int, high: int, word: str = "plain") -> list[str]:
    """Text k has a number of words between the two, of which one is `word`."""
    sizes = np.random.default_rng(seed).integers(low, high, N)
    return [f"Text {k} is {word} and " + "goes on " * int(size // 2) for k, size in enumerate(sizes)]


def compared(folder, gives, before, after, code):
    """The comparison of two runs of one suite whose judge is code, on two sets of recorded answers."""
    path = write_judged(folder / "judged", n=len(before), bind=[], suite={"pass": "score >= 50 %", "gates": []})
    module = path.with_name("measures.py")
    module.write_text(module.read_text().replace('2 if "muddle" in text else 3', gives))
    for answers in (before, after):
        rows = [json.dumps({"case": f"c{k}", "answer": text}) for k, text in enumerate(answers)]
        path.with_name("answers.jsonl").write_text("\n".join(rows) + "\n")
        invoke("run", "judged", "--quiet")
    with open_store(None, create=False) as store:
        after_id, before_id = [run.id for run in store.runs("numbers", 2)]
    shown = " ".join(invoke("compare", before_id, after_id, code=code).split())
    return json.loads(invoke("compare", before_id, after_id, "--json", code=code)), shown


def test_a_judge_that_scores_by_length_alone(folder):
    found, shown = compared(folder, BY_LENGTH, texts(1, 14, 40), texts(2, 20, 60), 0)
    assert found["verdict"] == "better"
    effect = found["length"]
    # Scores are steps of the length, so nearly all of the difference is associated with it.
    assert effect["with_length"]["value"] > 0.8 * effect["difference"]["value"] > 0.04
    assert effect["at_equal_length"]["low"] < 0 < effect["at_equal_length"]["high"]
    assert "Length B's answers are" in shown
    assert "are associated with length; at equal length" in shown


def test_answers_that_are_better_whatever_their_length(folder):
    found, _ = compared(folder, BY_QUALITY, texts(1, 14, 40), texts(2, 20, 60, "good"), 0)
    effect = found["length"]
    # Every answer rises from 2 to 3 of 5, which is 25 points, at any length.
    assert effect["difference"]["value"] == pytest.approx(0.25)
    assert effect["at_equal_length"]["value"] == pytest.approx(0.25)
    assert effect["with_length"]["value"] == pytest.approx(0, abs=1e-9)


def test_the_same_lengths_are_no_news(folder):
    found, shown = compared(folder, BY_QUALITY, texts(1, 14, 40, "plain"), texts(1, 14, 40, "best!"), 0)
    assert found["length"] is None
    assert "Length B's" not in shown


def test_all_answers_longer_by_the_same_factor(folder):
    before = [f"Text {k:02} " + "is plain. " * 3 for k in range(N)]
    found, shown = compared(folder, BY_QUALITY, before, [f"{text * 2} good" for text in before], 0)
    assert found["length"]["at_equal_length"]["value"] is None
    assert "all by the same factor, so nothing shows how much of the difference is associated with length" in shown


def test_too_few_cases_say_so(folder):
    found, shown = compared(folder, BY_LENGTH, texts(1, 14, 20)[:8], texts(2, 40, 60)[:8], 0)
    assert found["length"]["at_equal_length"]["value"] is None
    assert "fewer than 10 cases do not show how much of the difference is associated with length" in shown


def test_the_regression_is_that_of_statsmodels():
    x = np.array([0.1, 0.5, -0.2, 0.9, 0.4, 1.1, 0.3, 0.0, 0.7, 0.6])
    y = np.array([0.05, 0.2, -0.1, 0.3, 0.25, 0.5, 0.0, 0.1, 0.2, 0.35])
    (intercept, slope), (error, slope_error) = least_squares(x, y)
    assert (intercept, slope, error, slope_error) == pytest.approx(STATSMODELS[:4], abs=1e-8)
    assert student(intercept, error, 8) == pytest.approx(STATSMODELS[4:], abs=1e-6)


def test_a_line_through_three_points_by_hand():
    # x 0, 1, 2 and y 1, 3, 5: intercept 1, slope 2, and no residual.
    assert least_squares(np.array([0.0, 1, 2]), np.array([1.0, 3, 5]))[0] == pytest.approx((1, 2))


@pytest.mark.simulation
def test_the_interval_at_equal_length_covers():
    # 40 cases, log ratios around 0.5, residuals that grow with the ratio: 2,000 draws, expected 93 to 97 %.
    random = np.random.default_rng(3)
    hits = 0
    for _ in range(2000):
        x = random.normal(0.5, 0.4, 40)
        y = 0.05 + 0.1 * x + random.normal(0, 0.1 + 0.1 * np.abs(x))
        (intercept, _), (error, _) = least_squares(x, y)
        low, high = student(intercept, error, 38)
        hits += low <= 0.05 <= high
    assert 0.93 <= hits / 2000 <= 0.97
