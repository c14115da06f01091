"""What is stored of an ended run is read as long as it is what the run comes to, and made again when it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parts.judged_store import put_judged
from parts.stored import add_planned, case, ended_run, header, sample
from steelyard.analysis import summary_from_store as module
from steelyard.analysis.judge.define import judge_metric
from steelyard.analysis.judge.votes import OfVotes
from steelyard.analysis.stored import all_figures, figures_of, has_summary, stored_form, summary_of
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.own import add_metric, forget_metrics, metric
from steelyard.metrics.registry import Contributions, Metric, register, unregister
from steelyard.records import RunHeader, RunState
from steelyard.run_history.history import HistoryOptions, read_history
from steelyard.stats.intervals import Estimate
from steelyard.store.people import DISAGREEMENT, RANDOM, LabelRecord, Queue, QueuePlan
from steelyard.store.sql import SqlStore, open_store

N = 12
"""Answers of the run, of which numbers 0, 3, 6 and 9 do not pass."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with open_store(str(tmp_path / "runs.db")) as opened:
        yield opened


@pytest.fixture
def run(store: SqlStore) -> RunHeader:
    made = ended_run(store, N)
    summary_of(store, made)
    return made


def label(store: SqlStore, run: RunHeader, good: int, n: int = N) -> None:
    """Labels of the first answers, as a plan drew them at random; the first `good` of them let the answer pass."""
    of = (case(number).id for number in range(n))
    records = [
        LabelRecord("demo", name, "ann", "verdict", number < good, run.id, drawn=RANDOM)
        for number, name in enumerate(of)
    ]
    add_planned(store, records)


TURNED = QueuePlan("verdict", turned=(DISAGREEMENT,))
"""A plan that draws by chance what had been picked before."""


def draw(store: SqlStore, run: RunHeader, plan: QueuePlan, n: int) -> None:
    """Keep a plan of the run that draws its first answers at random."""
    store.people.add_places(Queue(run.id), plan, [((case(number).id, "", 0), RANDOM) for number in range(n)])


def corrected(store: SqlStore, run: RunHeader) -> Estimate:
    return figures_of(store, [run], ["pass_rate.corrected"])[run.id].slice()["pass_rate.corrected"]


def test_all_figures_together_know_the_labels_that_came_later(store: SqlStore, run: RunHeader) -> None:
    assert all_figures(store, run).slice()["pass_rate.corrected"].value is None
    label(store, run, good=9)
    # People say of every answer whether it passes: 9 of 12.
    assert all_figures(store, run)["pass_rate.corrected"].value == pytest.approx(9 / 12)
    assert corrected(store, run).n == N


def test_all_figures_together_are_those_of_every_slice(store: SqlStore, run: RunHeader) -> None:
    figures = all_figures(store, run)
    # Of the even numbers 0, 2, 4, 6, 8 and 10, all but 0 and 6 pass; of the odd ones all but 3 and 9.
    assert figures["pass_rate"].value == pytest.approx(8 / 12)
    for name in ("even", "odd"):
        part = figures["pass_rate", "category", name]
        assert (part.value, part.n) == (pytest.approx(4 / 6), 6)
    assert figures == module.summarise_stored(store, run.id, run.description, header=run).figures


def test_a_label_that_is_withdrawn_is_in_no_figure_any_more(store: SqlStore, run: RunHeader) -> None:
    label(store, run, good=9)
    assert corrected(store, run).value == pytest.approx(9 / 12)
    for number in range(1, N + 1):
        store.people.withdraw(number)
    assert corrected(store, run).value is None
    assert all_figures(store, run).slice()["labels.texts"].value is None


@pytest.mark.parametrize("changed", ["plan", "places"])
def test_a_plan_alone_may_change_what_labels_say(store: SqlStore, run: RunHeader, changed: str) -> None:
    # Ten of twelve have labels. Either all are drawn before and some are then said to have been picked first, or the
    # last two are drawn later: both times the draw is then unfinished.
    first, plan = (N, QueuePlan("verdict")) if changed == "plan" else (10, TURNED)
    draw(store, run, plan, first)
    label(store, run, good=9, n=10)
    # Of the 8 that the run passes 6 have labels, all good; of the other 4 all have, and 3 are good:
    # 8 / 12 x 6 / 6 + 4 / 12 x 3 / 4.
    assert corrected(store, run).value == pytest.approx(11 / 12)
    draw(store, run, TURNED, 0 if changed == "plan" else N)
    assert not has_summary(store, run)
    assert corrected(store, run).value is None
    assert "of the others 2 have no label yet" in summary_of(store, run).judge_check.message  # type: ignore[union-attr]


def test_a_label_outside_of_any_plan_counts_until_it_is_withdrawn(store: SqlStore, run: RunHeader) -> None:
    of = [case(number).id for number in range(N)]
    given = [LabelRecord("demo", name, "ann", "verdict", at < 9, run.id) for at, name in enumerate(of)]
    numbers = store.people.add_labels(given)
    # All answers have labels, so that it does not matter how they were chosen.
    assert corrected(store, run).value == pytest.approx(9 / 12)
    for number in numbers[:9]:
        store.people.withdraw(number)
    assert corrected(store, run).value is None
    assert summary_of(store, run).overall["labels.texts"].value == 3


def test_labels_of_one_run_leave_the_figures_of_another_as_they_are(
    store: SqlStore, run: RunHeader, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ended_run(store, 3, "demo-2")
    summary_of(store, other)
    label(store, other, good=3, n=3)
    monkeypatch.setattr(module, "summarise_stored", None)
    assert has_summary(store, run)
    assert not has_summary(store, other)
    assert corrected(store, run).value is None


def test_a_label_that_comes_while_a_summary_is_made_is_in_the_next_one(
    store: SqlStore, run: RunHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label(store, run, good=1, n=1)
    made: Callable[..., Any] = module.summarise_stored

    def slow(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        result = made(*given, **named)
        with open_store(str(tmp_path / "runs.db")) as other:
            of_the_rest = [
                LabelRecord("demo", case(number).id, "ann", "verdict", number < 9, run.id, drawn=RANDOM)
                for number in range(1, N)
            ]
            add_planned(other, of_the_rest)
        return result

    monkeypatch.setattr(module, "summarise_stored", slow)
    assert summary_of(store, run).overall["pass_rate.corrected"].value is None
    assert summary_of(store, run).overall["pass_rate.corrected"].value == pytest.approx(9 / 12)


ASKED = (("average",), ("pass_rate", "median"), None)


@pytest.mark.parametrize("factors", [(), ("category",), None], ids=["whole", "category", "all"])
@pytest.mark.parametrize("names", ASKED, ids=["one", "two", "all"])
def test_what_is_asked_for_is_the_same_whether_it_is_computed_or_read(
    store: SqlStore, names: tuple[str, ...] | None, factors: tuple[str, ...] | None
) -> None:
    run = ended_run(store, N)
    first, second = (figures_of(store, [run], names, factors)[run.id] for _ in range(2))
    assert first == second
    assert {part.name for part in first.slices("category")} == (set() if factors == () else {"even", "odd"})
    assert set(first.factors) == ({"", "category", "difficulty", "tag"} if factors is None else {"", *factors})
    assert names is None or set(first.names()) == {"outcomes.planned", *names}


def test_a_figure_that_was_not_asked_for_is_missing_in_all_that_was_planned(store: SqlStore, run: RunHeader) -> None:
    some = figures_of(store, [run], ["average"], ["category"])[run.id]
    assert some.slice()["median"] == Estimate(None, 0, N)
    # Half of the numbers from 0 to 11 are even.
    assert some.slice("category", "even")["median"] == Estimate(None, 0, N // 2)


def _weight(data: Any, _: Any) -> Contributions:
    return Contributions(np.full(data.table.n, 2.5))


NEW = Metric("weight", "number", "kilograms", "sum of kilograms / n", "every sample", Aggregate.MEAN, _weight, "lower")


@pytest.fixture
def newer(store: SqlStore, run: RunHeader) -> Iterator[None]:
    """A version of the product that has a metric which it had not when the run ended."""
    register(NEW)
    yield
    unregister(NEW.name)


@pytest.mark.usefixtures("newer")
def test_a_metric_of_a_newer_version_is_there_by_its_name_for_runs_of_before(store: SqlStore, run: RunHeader) -> None:
    assert not has_summary(store, run)
    assert figures_of(store, [run], ["average"])[run.id]["average"].value == pytest.approx(0.8)
    assert figures_of(store, [run], ["weight"])[run.id]["weight"].value == 2.5
    assert has_summary(store, run)


@pytest.mark.usefixtures("newer")
def test_a_history_has_a_metric_of_a_newer_version(store: SqlStore, run: RunHeader) -> None:
    (trend,) = read_history(store, "demo", HistoryOptions(metrics=("weight",))).trends
    assert [value.value for value in trend.values] == [2.5]


def test_a_new_metric_of_judges_is_new_for_judged_runs_alone(store: SqlStore, run: RunHeader) -> None:
    judged = put_judged(store)
    summary_of(store, judged)
    judge_metric("loud", "share", "loud votes", "loud votes / votes", OfVotes(lambda vote, rubric: 1.0, ""))
    try:
        assert not has_summary(store, judged)
        assert has_summary(store, run)
        assert summary_of(store, judged).overall["judge.loud"].value == 1.0
        assert has_summary(store, judged)
    finally:
        unregister("judge.loud")


def test_the_metrics_of_another_suite_make_no_figures_anew(store: SqlStore, run: RunHeader) -> None:
    own = {"name": "own", "unit": "share", "better": "higher", "aggregate": "mean", "formula": "x", "about": ""}
    add_metric(own | {"point": None, "code": "a:own", "source": "1"}, metric("own", formula="x")(lambda samples: None))
    try:
        assert has_summary(store, run)
    finally:
        forget_metrics()


class TestInterrupted:
    """A run of six cases that is stopped after two, whose average is 0.8, and taken up for three more of 0.2 each."""

    @pytest.fixture
    def stopped(self, store: SqlStore) -> RunHeader:
        run = header("stopped-1", n_planned=6)
        store.create_run(run)
        cases = [case(number) for number in range(2)]
        store.add_samples(run.id, [sample(of, number) for number, of in enumerate(cases)], cases)
        run.state = RunState.INTERRUPTED
        summary = module.summarise_stored(store, run.id, run.description, header=run)
        store.update_run(run, stored_form(store, run.id, summary))
        return run

    def taken_up(self, store: SqlStore, run: RunHeader) -> None:
        run.state = RunState.RUNNING
        store.take_run(run, store.lease(run.id))
        cases = [case(number) for number in range(2, 5)]
        samples = [sample(of, number, score=0.2) for number, of in enumerate(cases, start=2)]
        store.add_samples(run.id, samples, cases)

    def average(self, store: SqlStore, run: RunHeader) -> tuple[float | None, int]:
        (listed,) = store.listing.page(run.suite_name)
        figure = figures_of(store, [listed], ["average"])[run.id]["average"]
        return figure.value, figure.n

    def test_it_has_the_figures_of_what_came(self, store: SqlStore, stopped: RunHeader) -> None:
        assert self.average(store, stopped) == (pytest.approx(0.8), 2)

    def test_while_it_goes_on_it_has_none(self, store: SqlStore, stopped: RunHeader) -> None:
        self.taken_up(store, stopped)
        assert figures_of(store, store.listing.page(stopped.suite_name), ["average"]) == {}
        # Whoever asks for all that there is gets what came so far: (2 x 0.8 + 3 x 0.2) / 5.
        assert all_figures(store, store.run(stopped.id))["average"].value == pytest.approx(0.44)

    def test_stopped_again_by_an_error_it_has_those_of_all_that_came(self, store: SqlStore, stopped: RunHeader) -> None:
        self.taken_up(store, stopped)
        stopped.state = RunState.INTERRUPTED
        store.update_run(stopped)
        assert self.average(store, stopped) == (pytest.approx(0.44), 5)
        assert summary_of(store, store.run(stopped.id)).overall["average"].value == pytest.approx(0.44)
