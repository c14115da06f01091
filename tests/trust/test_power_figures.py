"""`power` that states more than it keeps: drops, noise of other systems, warnings instead of figures."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest
from scipy import optimize, special, stats

from parts.command import invoke, steelyard
from parts.lengths import simulations, slack
from parts.noisy_runs import SIGNATURE, add_run
from steelyard.stats.paired import paired_rate
from steelyard.store.sql import open_store

SYSTEM = SIGNATURE | {"target": "x1", "model": "m-1", "prompts": "p1"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


def stored(path, *runs, **changes):
    """Runs of these passes (cases by repeats of 0 and 1), each with its own signature; oldest first."""
    with open_store(str(path)) as store:
        for number, (passed, signature) in enumerate(runs):
            add_run(store, number, np.asarray(passed, dtype=float), signature=SYSTEM | signature, **changes)


def power_of(path, *arguments):
    return json.loads(invoke("power", "demo", "--store", path, "--json", *arguments))


def answers(rng, rate, cases, repeats=1):
    return rng.random((cases, repeats)) < rate


@pytest.mark.simulation
def test_a_stated_drop_is_shown_as_often_as_stated(path):
    # Rate .8, 60 cases, one answer each; the chances of the cases are beta distributed (scipy), two answers to a case
    # have a correlation of one half. Brute force with the test that `compare` uses; the log odds of all cases fall.
    rng, times = np.random.default_rng(29), simulations(4000, 1500)
    odds = special.logit(stats.beta.ppf((np.arange(60) + 0.5) / 60, 0.8, 0.2))
    stored(path, *((rng.random((60, 1)) < special.expit(odds)[:, None], {}) for _ in range(8)))
    drop = power_of(path)["now"]
    rate = special.expit(odds).mean()
    by = optimize.brentq(lambda by: special.expit(odds - by).mean() - (rate - drop), 0, 20)
    shown = 0
    for _ in range(times):
        before, after = (rng.random(60) < special.expit(odds - down) for down in (0.0, by))
        shown += (paired_rate(before.astype(float), after.astype(float)).p or 1.0) < 0.05
    # Stated for drops and rises together, 67 to 75 % of the drops were shown.
    assert shown / times >= 0.78 - slack(0.8, times)


def test_a_drop_from_a_high_rate_takes_more_than_a_rise(path):
    rng = np.random.default_rng(1)
    stored(path, *((answers(rng, 0.7, 60), {}) for _ in range(3)))
    found = power_of(path)
    assert found["rise"] < found["now"]
    assert f"a drop of {100 * found['now']:.1f} points of pass rate with 80 % power" in found["sentence"]
    assert f"and a rise of {100 * found['rise']:.1f}" in found["sentence"]


def test_a_single_run_states_the_worst_case_of_a_drop(path):
    # Two runs that have nothing in common: at a rate of .8 and 60 cases, a drop of d changes .8 (1 - q) + .2 q of the
    # cases with q = .8 - d. Brute force of McNemar's exact test at the stated drop: 80 %.
    stored(path, (np.tile([1.0, 1.0, 1.0, 1.0, 0.0], 12)[:, None], {}))
    found = power_of(path)
    assert found["at_worst"]
    rng = np.random.default_rng(3)
    shown = [
        (paired_rate(*(answers(rng, rate, 60).astype(float)[:, 0] for rate in (0.8, 0.8 - found["now"]))).p or 1) < 0.05
        for _ in range(600)
    ]
    assert np.mean(shown) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("part", ["target", "model", "prompts"])
def test_another_system_is_no_noise_between_runs(path, part):
    rng = np.random.default_rng(2)
    scores = [answers(rng, 0.8, 80, 2) for _ in range(3)]
    stored(path, *((passed, {}) for passed in scores))
    alone = power_of(path)
    # The other system fails half of the cases, every time.
    broken = np.arange(80)[:, None] % 2 * np.ones((1, 2))
    mixed = path.with_name("mixed.db")
    stored(mixed, *(run for passed in scores for run in ((broken, {part: "another"}), (passed, {}))))
    found = power_of(mixed)
    assert (found["now"], found["spread"]["change"]) == (alone["now"], alone["spread"]["change"])
    assert found["left_out"] == {"of another target, model or prompts than the newest": 3}


def test_a_suspect_run_is_no_noise_between_runs(path):
    rng = np.random.default_rng(2)
    stored(path, (answers(rng, 0.8, 40), {}), (answers(rng, 0.8, 40), {}))
    with open_store(str(path)) as store:
        add_run(store, 9, np.zeros((40, 1)), signature=SYSTEM, suspect=("all answers are the same",))
    found = power_of(path)
    assert found["runs"] == ["demo-1", "demo-0"]
    assert found["left_out"] == {"suspect": 1}


@pytest.mark.parametrize("rate", [0.99, 0.01, 1.0, 0.0])
def test_extreme_rates_give_figures_and_no_warning(path, tmp_path, rate):
    # One case of 100 varies, the others always pass: the odds of a case exceed what a float holds.
    passed = np.full((100, 2), round(rate), dtype=float)
    if 0 < rate < 1:
        passed[0] = [0, 1]
        passed[1] = 1 - round(rate)
    stored(path, (passed, {}), (passed, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        power_of(path)
    done = steelyard("power", "demo", "--store", path, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_drop_below_zero_is_refused(path):
    rng = np.random.default_rng(5)
    stored(path, (answers(rng, 0.1, 60), {}), (answers(rng, 0.1, 60), {}))
    refused = invoke("power", "demo", "--store", path, "--detect", "30 points", code=2)
    assert re.search(r"the pass rate of demo is \d+\.\d %, so it cannot drop by 30 points", refused)


def test_a_rate_from_which_no_drop_could_be_shown_is_reported(path):
    rng = np.random.default_rng(6)
    stored(path, (answers(rng, 0.05, 30), {}), (answers(rng, 0.05, 30), {}))
    found = power_of(path)
    assert found["now"] is None
    assert "can show no drop of the pass rate from" in found["sentence"]
