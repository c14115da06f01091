"""The history of a suite: what its runs keep, what changed between them, and where levels changed."""

from __future__ import annotations

import pytest

from parts import running as weighing
from parts.histories import DAY, JAN_1, keep, made_run, summary
from parts.slices import changed, with_slices
from parts.small_suite import write_suite
from steelyard.errors import UsageError
from steelyard.loading.load import load_suite
from steelyard.records import AbPlan, RunFacts, RunState, Verdict
from steelyard.run_history.history import HistoryOptions, asked_metric, read_history
from steelyard.stats.intervals import Estimate
from steelyard.store.baseline_log import BaselineEntry
from steelyard.store.sql import open_store

JITTER = [0.0, 0.004, -0.003, 0.002, -0.004, 0.003, 0.001, -0.002]


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "steelyard.db"))
    yield opened
    opened.close()


@pytest.fixture
def history(store):
    def read(runs, **wanted):
        for run in runs:
            keep(store, run)
        return read_history(store, "chairs", HistoryOptions(**wanted))

    return read


def steady(n, level=0.85, start=0, **more):
    return [made_run(start + i, level + JITTER[i % 8], **more) for i in range(n)]


def test_every_run_is_a_row_with_what_was_kept_of_it(history):
    seed = [(9, 0.821, 0.87, 0.86, 25), (16, 0.853, 0.90, 0.90, 30), (17, 0.854, 0.91, 0.90, 29)]
    runs = [
        made_run(number, average, figures={"median": median, "pass_rate": passed, "best": best / 50})
        for number, average, median, passed, best in seed
    ]
    found = history(runs)
    assert [run.answered_at for run in found.runs] == [JAN_1 + number * DAY for number, *_ in seed]
    newest = found.runs[-1]
    figures = {name: newest.figures[name].value for name in ("average", "median", "pass_rate")}
    assert figures == {"average": 0.854, "median": 0.91, "pass_rate": 0.90}
    assert (newest.n, newest.verdict, round(newest.best_band.value * newest.best_band.n)) == (50, "PASS", 29)
    assert (found.best_band, found.passing) == ("Excellent", "score >= 75 %")


def test_what_is_no_reading_is_listed_and_has_no_part_in_the_trends(history):
    runs = [
        made_run(0),
        made_run(1, verdict=Verdict.INVALID),
        made_run(2, state=RunState.INTERRUPTED),
        made_run(3, suspect=("all answers are alike",)),
        made_run(4, options=RunFacts(only=("category=art",)), n_planned=5),
        made_run(5, options=RunFacts(limit=50)),
        made_run(6, verdict=Verdict.AMBIGUOUS),
        made_run(7, verdict=Verdict.FAIL),
    ]
    found = history(runs)
    assert [run.left_out for run in found.runs] == [
        "",
        "INVALID",
        "not finished (interrupted)",
        "suspect: all answers are alike",
        "only a part of the suite",
        "",
        "",
        "",
    ]
    assert all(len(trend.values) == 4 for trend in found.trends)


def test_answers_that_were_scored_again_stand_at_their_own_day_once(history):
    runs = [made_run(0), made_run(1, 0.7), made_run(2, 0.85), made_run(9, 0.86, rescored_from="chairs-001")]
    found = history(runs)
    assert [(run.run_id, run.left_out) for run in found.runs] == [
        ("chairs-000", ""),
        ("chairs-001", "scored again as chairs-009"),
        ("chairs-009", ""),
        ("chairs-002", ""),
    ]
    assert found.runs[2].answered_at == JAN_1 + DAY
    assert [value.value for value in found.trends[0].values] == [0.85, 0.86, 0.85]


def test_answers_that_were_scored_twice_again_count_once(history):
    runs = [made_run(0), made_run(1, 0.7)]
    runs += [made_run(8, 0.8, rescored_from="chairs-001"), made_run(9, 0.9, rescored_from="chairs-001")]
    runs += [made_run(10, 0.1, rescored_from="chairs-001", verdict=Verdict.INVALID)]
    found = history(runs)
    assert {run.run_id: run.left_out for run in found.runs} == {
        "chairs-000": "",
        "chairs-001": "scored again as chairs-009",
        "chairs-008": "scored again as chairs-009",
        "chairs-009": "",
        "chairs-010": "INVALID",
    }
    assert [value.value for value in found.trends[0].values] == [0.85, 0.9]


def test_the_newest_runs_alone_when_asked(history):
    found = history(steady(10), last=3)
    assert ([run.run_id for run in found.runs], found.n_all) == (["chairs-007", "chairs-008", "chairs-009"], 10)


def test_a_change_of_level_is_put_down_to_what_changed_in_the_same_run(history):
    runs = [*steady(8), *steady(8, 0.75, 8, signature={"model": "m2", "target": "x2"})]
    (change,) = history(runs).trends[0].changes
    assert (change.run_id, change.signature_part, change.n_before, change.n_after) == ("chairs-008", False, 8, 8)
    assert change.sentence.startswith(
        "average fell on 2026-01-09 from 85.0 % to 75.0 % (mean of 8 runs before, 8 after"
    )
    assert change.sentence.endswith("when the model (m1 -> m2) changed")


@pytest.mark.parametrize(("slower", "named"), [(0.002, 0), (0.02, 1)])
def test_a_level_of_latency_that_changed_by_less_than_matters_is_not_named(history, slower, named):
    def run(number, seconds):
        told = summary(0.85)
        timed = changed(told.overall, latency={"p50": Estimate(seconds, 50)})
        return made_run(number, summary=with_slices(told, timed))

    runs = [run(k, 0.1 + k % 2 / 10_000 + (slower if k >= 8 else 0.0)) for k in range(16)]
    (trend,) = history(runs, metrics=("latency.p50",)).trends
    assert len(trend.changes) == named


def test_a_change_of_level_with_nothing_else_changed_says_so(history):
    (change,) = history([*steady(8), *steady(8, 0.75, 8)]).trends[0].changes
    assert change.sentence.endswith("with the same signature, target and prompts as before")


def test_another_signature_is_never_blamed_on_the_system(history):
    member = {"name": "panel", "kind": "chat", "model": "large"}
    judged = {"judge": {"mode": "model", "rubric": {"dimensions": [{"name": "tone"}]}, "members": [member]}}
    runs = [*steady(8), *steady(8, 0.95, 8, signature={"judge": "j2"}, suite=judged)]
    found = history(runs)
    (change,) = found.trends[0].changes
    assert change.signature_part
    assert "2026-01-09" in change.sentence
    assert "when the judge (none -> large) changed: it may be due to the signature" in change.sentence
    (mark,) = found.marks
    assert (mark.at, mark.signature_part, mark.parts) == (8, True, ("judge",))


def test_signature_and_system_at_once_cannot_be_separated(history):
    runs = [*steady(8), *steady(8, 0.75, 8, signature={"truth": "t2", "model": "m2"})]
    (change,) = history(runs).trends[0].changes
    assert change.signature_part
    assert "when the truth changed; the model (m1 -> m2) changed, too: cannot tell" in change.sentence


def test_a_mark_falls_on_the_first_run_that_counts_after_it(history):
    runs = [made_run(0), made_run(1, verdict=Verdict.INVALID, signature={"scorers": "s2"})]
    runs += [made_run(2, signature={"scorers": "s2"})]
    (mark,) = history(runs).marks
    assert (mark.at, mark.run_id, mark.sentence) == (1, "chairs-002", "the scorers changed")


def test_a_highest_band_that_began_elsewhere_is_not_shown_under_this_name(history):
    other = {"bands": [{"name": "Excellent", "at_least": 0.8}, {"name": "Poor", "at_least": 0.0}]}
    found = history([made_run(0, suite=other), made_run(1)])
    assert [run.best_band is None for run in found.runs] == [True, False]


def test_a_run_that_does_not_say_is_no_change_and_hides_none(history):
    truths = [None, "t1", None, "t1", None, "t2", None]
    marks = history([made_run(i, signature={"truth": truth}) for i, truth in enumerate(truths)]).marks
    assert [(mark.at, mark.parts) for mark in marks] == [(5, ("truth",))]


def test_a_figure_that_some_runs_lack_changes_where_the_next_run_has_it(history):
    # No art in runs 3 to 5, nor in run 10, from which on the truth is another.
    lacking = (3, 4, 5, 10)
    runs = []
    for i in range(20):
        art = {} if i in lacking else {"art": (0.85 if i < 10 else 0.6) + JITTER[i % 8]}
        truth = {"truth": "t1" if i < 10 else "t2"}
        runs.append(made_run(i, figures={"categories": {"toys": 0.7} | art}, signature=truth))
    found = history(runs, by="category")
    (change,) = next(trend for trend in found.grouped if trend.title == "art").changes
    assert (change.run_id, change.at, change.n_before, change.n_after) == ("chairs-011", 11, 7, 9)
    assert change.signature_part
    assert "when the truth changed: it may be due to the signature" in change.sentence


def test_gates_on_the_figure_come_with_its_trend(history):
    found = history([made_run(i, figures={"categories": {"art": 0.9, "toys": 0.7}}) for i in range(3)], by="category")
    assert found.trends[0].gates == ((">=", 0.8),)
    assert found.trends[1].gates == ()
    assert {trend.title: trend.gates for trend in found.grouped} == {"art": ((">=", 0.7),), "toys": ((">=", 0.7),)}


def test_gates_on_another_slice_or_on_a_baseline_are_no_line(history):
    gates = ["average >= release - 3 points", "category.art.average >= 60 %", "what a later version may say"]
    figures = {"categories": {"art": 0.9, "toys": 0.7}}
    found = history([made_run(i, figures=figures, suite={"gates": gates}) for i in range(3)], by="category")
    assert found.trends[0].gates == ()
    assert {trend.title: trend.gates for trend in found.grouped} == {"art": ((">=", 0.6),), "toys": ()}


def test_one_figure_by_slice_what_moved_most_first(history):
    runs = [
        made_run(i, figures={"categories": {"art": 0.9, "toys": 0.9 - 0.01 * i} | ({"new": 0.5} if i == 9 else {})})
        for i in range(10)
    ]
    found = history(runs, by="category")
    assert [trend.title for trend in found.grouped] == ["toys", "art", "new"]
    assert found.grouped[0].metric == "category.toys.average"
    assert found.grouped[2].values[0].value is None
    assert (found.n_groups, found.by) == (3, "category")


def test_finding_codes_by_how_many_samples_have_them(history):
    runs = [made_run(i, figures={"codes": {"NAME": 0.1, "VALUE.X": 0.3 if i < 8 else 0.5}}) for i in range(16)]
    found = history(runs, by="code")
    assert [trend.title for trend in found.grouped] == ["VALUE.X", "NAME"]
    assert found.grouped[0].metric == "findings.VALUE.X.rate"
    (change,) = found.grouped[0].changes
    assert "findings.VALUE.X.rate rose on 2026-01-09 from 30.0 % to 50.0 %" in change.sentence


def test_slices_do_not_blur_what_is_found_in_the_whole(history):
    noise = {f"g{i}": 0.5 for i in range(14)}
    runs = [*steady(8, figures={"categories": noise}), *steady(8, 0.75, 8, figures={"categories": noise})]
    found = history(runs, by="category")
    alone = read_again(runs)
    assert found.trends[0].changes == alone.trends[0].changes != ()


def read_again(runs):
    with open_store(":memory:") as store:
        for run in runs:
            keep(store, run)
        return read_history(store, "chairs")


def test_any_figure_that_gates_know_can_be_followed(history):
    runs = [made_run(i, figures={"categories": {"art": 0.9}}) for i in range(3)]
    found = history(runs, metrics=("category.art.average", "band.Excellent"))
    assert [trend.metric for trend in found.trends] == ["category.art.average", "band.Excellent"]
    assert [value.value for value in found.trends[1].values] == [0.58] * 3


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("averag", "--metric 'averag': there is no metric 'averag': did you mean average?"),
        ("category.*.average", "see all of them with --by category"),
        ("latency.p95", "no run of chairs that counts has latency.p95"),
    ],
)
def test_a_figure_that_is_none_is_a_mistake(history, metric, message):
    with pytest.raises(UsageError) as caught:
        history([made_run(0)], metrics=(metric,))
    assert message in str(caught.value)


def test_a_suite_without_runs_is_reported_with_those_that_have_some(store):
    with pytest.raises(UsageError, match=r"no runs of a suite 'chairs'\. Make one"):
        read_history(store, "chairs")
    keep(store, made_run(0, suite_name="tables"))
    with pytest.raises(UsageError, match="there are runs of: tables"):
        read_history(store, "chairs")


def test_baselines_are_named_at_their_runs(store):
    for run in steady(2):
        keep(store, run)
    store.log_baseline(BaselineEntry("chairs", "release", "chairs-001", 1.0, "ada"))
    assert [run.baselines for run in read_history(store, "chairs").runs] == [(), ("release",)]


def test_a_run_that_keeps_no_figures_is_summed_up_again(store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "words", n=6))
    weighing.run(suite, store)
    kept = read_history(store, "words")
    with store.database.writing() as session:
        session.execute("DELETE FROM figures")
        session.execute("DELETE FROM summaries")
    again = read_history(store, "words")
    assert again.runs == kept.runs
    assert again.runs[0].figures["average"].n == 6


def test_a_metric_is_read_as_gates_read_it():
    assert asked_metric('category."a.b".pass_rate').slice == "a.b"


def arms(number, name, models=("m1", "m2")):
    """Both arms of an A/B of that day."""
    return [
        made_run(
            number,
            level,
            id=f"{name}-{arm}",
            target={"kind": "chat", "model": model},
            options=RunFacts(ab=AbPlan(id=name, arm=arm)),
        )
        for arm, level, model in zip("AB", (0.6, 0.9), models, strict=True)
    ]


def test_every_run_has_its_target_and_one_target_can_be_asked_for(history, store):
    old, new = {"kind": "chat", "model": "m1"}, {"kind": "chat", "model": "m1-large"}
    runs = [made_run(0, target=old), made_run(1, target=new), made_run(2, target=new)]
    assert [run.target for run in history(runs).runs] == ["chat m1", "chat m1-large", "chat m1-large"]
    of = {name: read_history(store, "chairs", HistoryOptions(target=name)) for name in ("chat m1", "LARGE", "m1")}
    assert {name: [run.run_id for run in found.runs] for name, found in of.items()} == {
        "chat m1": ["chairs-000"],  # a whole name is that target alone
        "LARGE": ["chairs-001", "chairs-002"],
        "m1": ["chairs-000", "chairs-001", "chairs-002"],
    }
    assert of["LARGE"].marks == ()
    with pytest.raises(UsageError, match="no run with a target 'gpt'; there are: chat m1, chat m1-large"):
        read_history(store, "chairs", HistoryOptions(target="gpt"))


def test_the_arms_of_an_ab_are_in_no_trend_together(history, store):
    found = history(
        [*steady(3, target={"kind": "chat", "model": "m1"}), *arms(3, "ab-1"), *arms(4, "ab-2", ("m2", "m2"))]
    )
    assert [run.run_id for run in found.in_trends] == ["chairs-000", "chairs-001", "chairs-002"]
    left = {run.run_id: run.left_out for run in found.runs if run.left_out}
    assert left["ab-1-B"] == "arm B of ab-1, whose arms are two systems: --target NAME shows one"
    # Of ab-1 one arm is there, and both of ab-2, whose systems differ in something else than the target's name.
    of_m1, of_m2 = (read_history(store, "chairs", HistoryOptions(target=name)) for name in ("m1", "m2"))
    assert [run.run_id for run in of_m1.in_trends] == ["chairs-000", "chairs-001", "chairs-002", "ab-1-A"]
    assert [run.run_id for run in of_m2.in_trends] == ["ab-1-B"]
