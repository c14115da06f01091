"""What a person sees in a terminal."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from parts import item_reports, reports
from parts.slices import changed, with_slices
from parts.views import print_report
from steelyard.decide.gates import Decision
from steelyard.records import Outcome, RunFacts, RunState, Verdict
from steelyard.report import document as doc
from steelyard.report import run
from steelyard.report.render.terminal import print_fitting
from steelyard.report.wording import verdict_word
from steelyard.stats.intervals import Estimate


def printed(report, width=80, **settings):
    file = io.StringIO()
    print_report(report, Console(file=file, width=width, **settings))
    return file.getvalue()


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_every_kind_of_report_fits_80_columns(name):
    assert max(map(len, printed(item_reports.EDGES[name]()).splitlines())) <= 80


def test_the_verdict_and_the_pass_rate_come_first_and_the_signature_last():
    lines = [line.strip() for line in printed(reports.rich_report()).splitlines() if line.strip()]
    assert lines[1].startswith("FAIL")
    assert lines[2] == "Pass rate 77.6 % (score >= 75 %) [64.1, 87.0] n 49, 1 missing"
    assert f"Signature: {reports.SIGNATURE['text']}" in " ".join(lines[-3:])


def test_the_parts_come_in_their_order():
    out = printed(reports.rich_report())
    titles = ["Overall", "Fix first", "Gates", "Score distribution", "Common failure patterns", "Failures by cause"]
    titles += ["Slowest", "Worst", "Inconclusive", "Components", "By category", "By difficulty"]
    places = [out.index(f"\n{title}") for title in titles]
    assert places == sorted(places)


def test_every_gate_prints_value_n_interval_and_verdict():
    text = "\n".join(" ".join(line.split()) for line in printed(reports.rich_report(), width=120).splitlines())
    assert "pass_rate >= 90 % 77.6 % 49, 1 missing [64.1, 87.0] FAIL" in text
    assert "category.levers.average >= 60 % 55.2 % 2, 1 missing [34.0, 76.0] AMBIGUOUS n 2 is too few to tell" in text
    assert "findings.PLACE == 0 17 49, 1 missing no interval FAIL" in text


@pytest.mark.parametrize("hostile", item_reports.HOSTILE_REPORTS)
def test_model_text_can_not_steer_the_terminal_nor_rich(hostile):
    out = printed(hostile(), width=500)
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\x07" not in out
    assert "[bold red]not bold[/]" in out
    assert "\\x1b[2J" in out


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_a_terminal_that_knows_ascii_alone_gets_ascii(name):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    report = item_reports.EDGES[name]()
    report = replace(report, header=replace(report.header, suite_name="Möbel"))
    print_report(report, Console(file=file, width=80))
    file.flush()
    assert raw.getvalue().decode("ascii").startswith("M\\xf6bel")


def test_a_long_answer_is_shortened_visibly():
    report = reports.rich_report(worst=[reports.line("part-1", 0.1, why="x" * 5000)])
    out = printed(report)
    assert "x..." in "".join(out.split())
    assert len(out) < 12_000


def test_a_run_without_a_reading_is_invalid_and_says_n_a():
    out = printed(reports.inconclusive_report())
    assert " INVALID " in out
    assert "Average      n/a n 0, 2 missing" in out
    assert "0.0 %" not in out.replace("100.0 %", "")


def test_a_suspect_run_says_why_before_any_figure():
    decision = Decision(Verdict.AMBIGUOUS, ("suspect: all answers are identical",))
    out = printed(reports.rich_report(header=reports.header(suspect=("all answers are identical",)), decision=decision))
    assert out.count("all answers are identical") == 1
    assert out.index("SUSPECT: all answers are identical") < out.index("Overall")


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        (
            {"options": RunFacts(only=("category=gears",), limit=20), "n_planned": 20, "suite": {"n_cases": 50}},
            "partial: 20 of 50 cases (only category=gears, limit 20)",
        ),
        ({"options": RunFacts(limit=20), "n_planned": 20}, "partial: 20 cases (limit 20)"),
        ({"options": RunFacts(strict=True)}, "strict: scored by the strict rules"),
        ({"state": RunState.INTERRUPTED, "n_planned": 80}, "interrupted: 50 of 80 planned samples; resume with "),
        ({"state": RunState.RUNNING, "n_planned": 80}, "still running, or killed: 50 of 80 planned samples so far"),
    ],
)
def test_what_kind_of_run_it_was_is_said(changes, note):
    assert f" * {note}" in printed(reports.rich_report(header=reports.header(**changes)))


def test_what_was_done_on_the_way_is_a_warning_next_to_the_verdict():
    out = printed(reports.rich_report(header=reports.header(rescored_from="20260101-1")))
    assert " ! rescored from run 20260101-1: the same answers, scored again" in out


def test_a_limit_that_took_in_everything_is_not_partial():
    head = reports.header(options=RunFacts(limit=100), n_planned=50, suite={"n_cases": 50})
    assert "partial" not in printed(reports.rich_report(header=head))


def test_many_groups_are_cut_to_the_lowest_and_the_cut_is_said():
    groups = [
        reports.group("category", f"group-{n:03d}", Estimate(n / 200, 5), Estimate(0.5, 5))
        for n in reversed(range(100))
    ]
    report = reports.rich_report()
    out = printed(replace(report, summary=with_slices(report.summary, category=groups)))
    assert "group-000" in out
    assert "group-019" in out
    assert "group-020" not in out
    assert "the lowest averages of 100 first; 80 more not shown" in out


def on_one_screen(report, lines):
    file = io.StringIO()
    print_fitting(run.brief(report), Console(file=file, width=80), lines)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("name", item_reports.EDGES)
def test_what_a_person_needs_at_once_fits_one_screen_and_ends_with_verdict_and_next_command(name):
    report = item_reports.EDGES[name]()
    lines = on_one_screen(report, run.LINES)
    assert len(lines) <= 40
    assert lines[-2].startswith(f"{verdict_word(report)}: ")
    broke = report.summary.n_scorer_errors > 0
    assert lines[-1].startswith("Next: fix the scorer, then steelyard rescore " if broke else "Next: steelyard ")


def test_one_screen_has_failing_gates_headline_figures_what_to_fix_and_the_worst_cases():
    text = "\n".join(on_one_screen(reports.rich_report(), run.LINES))
    places = [
        text.index(part) for part in ("Pass rate 77.6 %", "Overall", "Gates that do not pass", "Fix first", "Worst")
    ]
    assert places == sorted(places)
    assert "category.gears.average" not in text
    assert "1 of 4 pass" in text


def test_a_long_report_is_shortened_until_it_fits_the_screen():
    gates = tuple(replace(reports.rich_report().decision.gates[0], gate=f"average >= {n} %") for n in range(90, 60, -1))
    decision = Decision(Verdict.FAIL, tuple(f"average >= {n} %: is below, " + "x " * 80 for n in range(30)), gates)
    lines = on_one_screen(reports.rich_report(decision=decision), run.LINES)
    assert len(lines) <= 40
    text = " ".join(" ".join(lines).split())
    assert "more not shown" not in text
    assert all(f"average >= {n} %" in text for n in range(90, 60, -1))  # every gate that fails is named


def test_a_run_that_is_no_reading_takes_ten_lines_and_says_what_failed_how_often_and_what_to_do():
    why = {"target: http_401 Incorrect API key provided": 2}
    report = reports.with_lists(reports.inconclusive_report(), why_inconclusive=why)
    lines = on_one_screen(report, run.LINES_INVALID)
    assert len(lines) <= 10
    assert any("2 of 2: target: http_401 Incorrect API key provided" in line for line in lines)
    long = {f"a scorer raised {'KeyError ' * 18}(scorers.py:4)": 2}
    told = on_one_screen(reports.with_lists(report, why_inconclusive=long), run.LINES_INVALID)
    assert len(told) <= 10
    assert "(scorers.py:4)" in " ".join(told)
    assert lines[-1] == f"Next: steelyard run parts/suite.yaml --retry-failed {report.header.id}"


def test_the_first_message_stays_where_ten_lines_have_no_room_for_all_reasons():
    why = {f"target: raised RuntimeError: {'no connection to the backend, ' * 6}(system.py:2)": 2}
    report = reports.with_lists(reports.inconclusive_report(), why_inconclusive=why)
    lines = on_one_screen(report, 8)
    assert any("2 of 2: target: raised RuntimeError: no connection" in line for line in lines)


def test_a_table_whose_intervals_are_all_undefined_and_figures_all_missing_is_left_out():
    columns = (
        doc.Column("Category", doc.Kind.TEXT),
        doc.Column("Average"),
        doc.Column("95 % interval"),
        doc.Column("n"),
    )
    none = doc.Table("By category", columns, [("chairs", "n/a", "undefined", "0, 5 missing")])
    assert doc.table_section(none) == []
    single = replace(none, rows=[("chairs", "40.0 %", "undefined", "1")])
    assert len(doc.table_section(single)) == 1
    assert single.sound == single


def test_a_run_that_an_outage_stopped_says_so_with_the_command_that_goes_on():
    header = reports.header(
        state=RunState.INTERRUPTED, n_planned=80, options=RunFacts(stopped="the service was out for 5 min")
    )
    decision = Decision(Verdict.INVALID, ("the run has not finished: it is interrupted",))
    lines = on_one_screen(reports.rich_report(header=header, decision=decision), run.LINES_INVALID)
    assert " - the run has not finished: the service was out for 5 min" in map(str.rstrip, lines)
    assert lines[-1] == f"Next: steelyard run parts/suite.yaml --resume {header.id}"


@pytest.mark.parametrize("rescored_from", [None, "demo-1"])
def test_after_a_scorer_that_broke_the_next_step_is_to_fix_it_and_to_rescore(rescored_from):
    report = reports.inconclusive_report()
    overall = changed(report.summary.overall, outcomes={Outcome.SCORED: 40, Outcome.JUDGE_FAILED: 2})
    header = replace(report.header, rescored_from=rescored_from)
    broken = replace(report, header=header, summary=with_slices(report.summary, overall))
    expected = f"Next: fix the scorer, then steelyard rescore {header.id} --suite parts/suite.yaml"
    assert on_one_screen(broken, run.LINES_INVALID)[-1] == expected
