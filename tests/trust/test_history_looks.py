"""A history that is watched run after run: false alarms by many looks, and by runs that resemble their neighbors."""

from __future__ import annotations

import json

import numpy as np
import pytest

from parts.command import invoke
from parts.histories import keep, made_run
from parts.lengths import simulations
from steelyard.run_history.history import HistoryOptions, read_history
from steelyard.store.sql import open_store


def levels(rng, n, rho):
    """Averages of runs of one system: noise of 2 points, neighbors with the correlation `rho`."""
    noise = rng.normal(size=n + 30)
    for i in range(1, len(noise)):
        noise[i] = rho * noise[i - 1] + np.sqrt(1 - rho**2) * noise[i]
    return 0.8 + 0.02 * noise[30:]


def watched(path, values, every=1, **second):
    """The changes that `history` lists after each look, while runs come in; `second` is another signature, half-way."""
    found = []
    with open_store(str(path)) as store:
        for number, value in enumerate(values):
            signature = second if number >= len(values) / 2 else {}
            keep(store, made_run(number, float(value), signature=signature, figures={"pass_rate": 0.9}))
            if number % every == 0 and number > 6:
                read = read_history(store, "chairs", HistoryOptions(metrics=("average",)))
                found.append([change.run_id for change in read.trends[0].changes])
    return found


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("rho", "second"),
    [
        pytest.param(0.0, {}, id="independent"),
        pytest.param(0.5, {}, id="similar to their neighbors"),
        pytest.param(0.5, {"scorers": "s2"}, id="similar, and another signature half-way"),
    ],
)
def test_a_history_without_a_change_raises_no_alarm_however_often_it_is_looked_at(tmp_path, rho, second):
    # Looked at after every second run at 5 % each: 23 % of histories, of autocorrelated runs 20 to 60 %.
    rng, times = np.random.default_rng([31, int(10 * rho)]), simulations(60, 16)
    alarms = sum(any(watched(tmp_path / f"{i}.db", levels(rng, 40, rho), every=2, **second)) for i in range(times))
    assert alarms <= max(1, 0.05 * times)


def test_a_change_that_was_reported_stays_reported(tmp_path):
    rng = np.random.default_rng(3)
    values = levels(rng, 60, 0.0)
    values[20:40] -= 0.1
    found = watched(tmp_path / "runs.db", values)
    numbers = [len(changes) for changes in found]
    assert numbers == sorted(numbers)
    # Down at the 20th run and up at the 40th: the second does not hide the first.
    assert found[-1] == ["chairs-020", "chairs-040"]


def test_the_page_states_what_its_p_values_allow_for(tmp_path):
    watched(tmp_path / "runs.db", levels(np.random.default_rng(5), 13, 0.0), every=100)
    shown = " ".join(invoke("history", "chairs", "--store", tmp_path / "runs.db").split())
    assert "no change of level beyond noise in 2 figures over 13 runs" in shown
    assert "looked at after every run" in shown
    assert "less their autocorrelation, adjusted for all looks" in shown
    data = json.loads(invoke("history", "chairs", "--store", tmp_path / "runs.db", "--json"))
    assert "adjusted for all looks" in data["method"]
