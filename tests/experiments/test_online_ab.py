"""Outcomes of live traffic: read, checked and decided, and refused where nothing holds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from parts.command import invoke
from steelyard.errors import SuiteError, UsageError
from steelyard.experiments.assignment import Experiment, assign
from steelyard.experiments.decision import Decided
from steelyard.experiments.online import online_report
from steelyard.experiments.outcomes import Outcomes, UnitOutcome, read_online, read_outcomes
from steelyard.stats.two_arms import welch

PLAIN = "experiment: checkout-2\n"


def experiment(folder, text=PLAIN):
    file = folder / "checkout.yaml"
    file.write_text(text)
    return read_online(file)


def written(folder, rows, name="outcomes.jsonl"):
    file = folder / name
    if name.endswith(".csv"):
        keys = list(dict.fromkeys(key for row in rows for key in row))
        lines = [",".join(keys), *(",".join(str(row.get(key, "")) for key in keys) for row in rows)]
        file.write_text("\n".join(lines) + "\n")
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def reported(folder, rows, text=PLAIN, name="outcomes.jsonl"):
    found = experiment(folder, text)
    return online_report(found, read_outcomes(written(folder, rows, name), found))


def assigned(n, rates, name="checkout-2", seed=1, arms=("control", "treatment")):
    """Units as the hash assigns them, each with 1 or 0 by the rate of its arm."""
    draw = np.random.default_rng(seed)
    chosen = Experiment(name, arms)
    first = chosen.arms[0][0]
    for number in range(n):
        arm = assign(f"user-{number}", chosen)
        yield {"unit": f"user-{number}", "arm": arm, "outcome": int(draw.random() < rates[arm != first])}


def check(report, name):
    return next(one for one in report.checks if one.name == name)


def test_a_better_treatment_is_shown(tmp_path):
    report = reported(tmp_path, assigned(2_000, (0.30, 0.45)))
    assert report.decided is Decided.B
    assert report.test == "sequential"
    quality = report.quality
    assert quality.low > 0
    assert quality.difference == pytest.approx(quality.b - quality.a)
    assert [arm.name for arm in report.arms] == ["control", "treatment"]


def test_a_worse_treatment_is_shown_and_lower_may_be_better(tmp_path):
    rows = list(assigned(2_000, (0.45, 0.30)))
    assert reported(tmp_path, rows).decided is Decided.A
    assert reported(tmp_path, rows, PLAIN + "outcome: {better: lower}\n").decided is Decided.B


def test_a_difference_that_is_none_is_found_in_at_most_5_of_100_experiments_however_often_they_are_read(tmp_path):
    # The test looks after every pair of units, so that one reading at the end has looked at all moments.
    found, draw = experiment(tmp_path, PLAIN + "assigned: elsewhere\n"), np.random.default_rng(2)
    shown = 0
    for _ in range(60):
        units = {
            str(n): UnitOutcome((("control", "treatment")[n % 2],), float(n), 1, float(draw.random() < 0.3))
            for n in range(200)
        }
        shown += online_report(found, Outcomes(units, 200)).decided in (Decided.A, Decided.B)
    # 3 are allowed, and two standard errors of 60 draws, 2 * sqrt(60 * 0.05 * 0.95) = 3.4, for luck; of 3,000
    # simulations 3.1 % found one.
    assert shown <= 6


def test_a_fixed_test_is_not_read_before_its_planned_n(tmp_path):
    text = PLAIN + "test: fixed\nplanned: 400\n"
    rows = list(assigned(600, (0.30, 0.45)))
    early = reported(tmp_path, rows[:300], text)
    assert early.test == "sequential"
    assert early.notes[0] == "300 of 400 planned units have an outcome"
    # Read early by the always-valid test and at the end by the fixed one, 7 of 100 would find what is not there.
    assert early.quality.low > 0
    assert early.decided is Decided.CANNOT_TELL
    assert "a fixed test is read once" in early.why[0]
    assert "always-valid" in early.method
    due = reported(tmp_path, rows[:400], text)
    assert (due.test, due.quality.n) == ("fixed", 400)
    # Looking again with more units must not give another answer: the test is of the first 400.
    later = reported(tmp_path, rows, text)
    assert later.quality == due.quality
    assert "200 units came after the planned 400" in later.notes[0]


def test_the_fixed_test_is_welchs(tmp_path):
    rows = list(assigned(400, (0.30, 0.45)))
    report = reported(tmp_path, rows, PLAIN + "test: fixed\nplanned: 400\n")
    sides = [[row["outcome"] for row in rows if row["arm"] == arm] for arm in ("control", "treatment")]
    # Compared with scipy in test_two_arms.
    expected = welch(*(np.array(side, dtype=float) for side in sides), 0.05)
    assert (report.quality.low, report.quality.high, report.quality.p) == pytest.approx(expected)


def test_219_of_219_in_control_is_invalid_whatever_the_outcomes_say(tmp_path):
    # The lesson: one hash for "is it in" and "which arm".
    units = [row["unit"] for row in assigned(1_000, (0, 0)) if row["arm"] == "control"][:219]
    rows = [{"unit": unit, "arm": "control", "outcome": 1} for unit in units]
    report = reported(tmp_path, rows)
    assert report.decided is Decided.INVALID
    assert check(report, "sample ratio").invalidates
    assert "219 and 0 units, meant as 50 : 50" in check(report, "sample ratio").message


def test_losing_units_of_one_arm_is_a_sample_ratio_mismatch(tmp_path):
    rows = [row for n, row in enumerate(assigned(4_000, (0.3, 0.6))) if row["arm"] == "control" or n % 5]
    report = reported(tmp_path, rows)
    assert report.decided is Decided.INVALID
    assert "so units are assigned unevenly, or lost in one arm" in check(report, "sample ratio").message


def test_shares_as_meant_are_no_mismatch(tmp_path):
    text = PLAIN + "arms: {control: 90 %, treatment: 10 %}\n"
    arms = {"control": 0.9, "treatment": 0.1}
    report = reported(tmp_path, assigned(3_000, (0.3, 0.5), arms=arms), text)
    assert check(report, "sample ratio").fine
    assert "blocks of 9 and 1 units" in report.method
    assert report.decided is Decided.B


def test_units_in_both_arms_are_left_out_and_too_many_make_it_invalid(tmp_path):
    rows = list(assigned(1_000, (0.3, 0.5)))
    other = {"control": "treatment", "treatment": "control"}
    few = [*rows, *(row | {"arm": other[row["arm"]]} for row in rows[:10])]
    report = reported(tmp_path, few)
    assert check(report, "units in one arm only").message == "10 of 1,000 units are in both arms, and left out"
    assert not check(report, "units in one arm only").invalidates
    assert sum(int(arm.facts[0][1].replace(",", "")) for arm in report.arms) == 990
    many = [*rows, *(row | {"arm": other[row["arm"]]} for row in rows[:11])]
    assert reported(tmp_path, many).decided is Decided.INVALID


def test_an_arm_that_the_hash_does_not_give_is_noticed(tmp_path):
    rows = list(assigned(1_000, (0.3, 0.5), name="another-name"))
    report = reported(tmp_path, rows)
    wrong = check(report, "arms as the hash gives them")
    assert (report.decided, wrong.invalidates) == (Decided.INVALID, True)
    elsewhere = reported(tmp_path, rows, PLAIN + "assigned: elsewhere\n")
    assert elsewhere.decided is Decided.B
    assert all(one.name != wrong.name for one in elsewhere.checks)


def test_units_outside_the_traffic_are_noticed(tmp_path):
    report = reported(tmp_path, assigned(1_000, (0.3, 0.5)), PLAIN + "traffic: 1 %\n")
    assert check(report, "traffic as the hash gives it").invalidates


def test_a_unit_with_many_records_counts_once_by_the_first(tmp_path):
    rows = list(assigned(400, (0.3, 0.3)))
    eager = [
        *rows,
        *(row | {"outcome": 1 - row["outcome"]} for row in rows if row["unit"] == "user-1" for _ in range(49)),
    ]
    one, other = reported(tmp_path, rows), reported(tmp_path, eager)
    assert other.quality == one.quality
    told = "449 records of 400 units; of 1 with several the first outcome counts"
    assert check(other, "one unit counts once").message == told
    # By time, not by the place in the file, where every outcome has one.
    timed = [row | {"time": n} for n, row in enumerate(eager)]
    assert reported(tmp_path, timed[::-1]).quality == one.quality == reported(tmp_path, timed).quality


def test_an_outcome_that_comes_to_be_known_late_changes_no_look_that_was_made(tmp_path):
    rows = list(assigned(300, (0.3, 0.5)))
    waiting = [row | {"outcome": None} for row in rows[:40]]
    then = reported(tmp_path, [*waiting, *rows[40:]])
    later = reported(tmp_path, [*waiting, *rows[40:], *rows[:40]])
    as_they_came = reported(tmp_path, [*rows[40:], *rows[:40]])
    assert later.quality == as_they_came.quality
    assert then.quality.n_missing == 40
    timed = [row | {"time": n} for n, row in enumerate([*waiting, *rows[40:], *rows[:40]])]
    assert reported(tmp_path, timed).quality == as_they_came.quality


def test_some_outcomes_without_a_time_are_reported(tmp_path):
    rows = list(assigned(60, (0.3, 0.5)))
    some = [row | {"time": 100 - n} if n else row for n, row in enumerate(rows)]
    report = reported(tmp_path, some)
    assert check(report, "order").message == "1 outcomes have no time: the order of the file is used"
    assert report.quality == reported(tmp_path, rows).quality


def test_a_column_that_is_nowhere_is_reported_with_those_there_are(tmp_path):
    rows = [{"unit": "u1", "arm": "control", "converted": 1}, {"unit": "u2", "arm": "treatment", "converted": 0}]
    with pytest.raises(UsageError, match=r"outcomes\.jsonl: no record has outcome; the first has unit, arm, converted"):
        reported(tmp_path, rows)
    columns = PLAIN + "assigned: elsewhere\ncolumns: {outcome: converted}\n"
    assert reported(tmp_path, rows, columns).quality.n == 2
    with pytest.raises(UsageError, match="no record has price"):
        reported(tmp_path, rows, columns.replace("converted}", "converted, cost: price}"))


def test_missing_outcomes_are_counted_and_more_in_one_arm_make_it_invalid(tmp_path):
    rows = list(assigned(1_000, (0.3, 0.5)))
    alike = [row | {"outcome": None} if n % 50 == 0 else row for n, row in enumerate(rows)]
    report = reported(tmp_path, alike)
    assert report.quality.n_missing == 20
    assert report.decided is not Decided.INVALID
    apart = [
        row | {"outcome": None} if n % 10 == 0 and row["arm"] == "treatment" else row for n, row in enumerate(rows)
    ]
    worse = reported(tmp_path, apart)
    assert (worse.decided, check(worse, "outcomes are missing alike").invalidates) == (Decided.INVALID, True)


def test_units_that_did_not_see_their_arm_are_left_out(tmp_path):
    rows = list(assigned(1_000, (0.3, 0.5)))
    marked = [row | {"exposure": n % 2} for n, row in enumerate(rows)]
    report = reported(tmp_path, marked)
    assert "500 records" in check(report, "exposure").message
    assert sum(int(arm.facts[0][1]) for arm in report.arms) == 500


def test_csv_and_jsonl_say_the_same_and_times_order_them(tmp_path):
    rows = [row | {"time": f"2026-11-{1 + n % 28:02d}"} for n, row in enumerate(assigned(600, (0.3, 0.5)))]
    one, other = (reported(tmp_path, rows, name=name) for name in ("o.jsonl", "o.csv"))
    assert one == other
    turned = reported(tmp_path, sorted(rows, key=lambda row: row["time"]))
    assert turned.quality == one.quality
    untimed = [{key: value for key, value in row.items() if key != "time"} for row in rows]
    assert reported(tmp_path, untimed).quality.p != one.quality.p


def test_an_outcome_without_ends_has_an_interval_too_and_cost_and_latency_stand_beside(tmp_path):
    draw = np.random.default_rng(5)
    rows = [
        row | {"outcome": draw.normal(10 + 2 * row["outcome"], 1), "latency": draw.exponential(0.2), "cost": 0.01}
        for row in assigned(1_000, (0.0, 1.0))
    ]
    report = reported(tmp_path, rows)
    assert report.decided is Decided.B
    assert report.quality.low < 2 < report.quality.high
    assert "normal mixture" in report.quality.method
    latency, cost = report.extra
    assert latency.low < 0 < latency.high
    # All cost the same: no spread, and so no interval.
    assert (cost.difference, cost.low) == (0.0, None)


def test_a_declared_range_is_used_and_an_outcome_outside_is_a_mistake(tmp_path):
    text = PLAIN + "outcome: {range: [0, 5]}\nassigned: elsewhere\n"
    rows = [row | {"outcome": 2 + 2 * row["outcome"]} for row in assigned(600, (0.2, 0.8))]
    report = reported(tmp_path, rows, text)
    assert "betting" in report.quality.method
    assert report.quality.low > 0
    # 2 + 2 * 0.8 less 2 + 2 * 0.2.
    assert report.quality.low < 1.2 < report.quality.high
    assert report.quality.high - report.quality.low < 1.5
    with pytest.raises(SuiteError, match=r"outcomes\.jsonl:2: outcome: 9 is outside the range 0 to 5"):
        reported(tmp_path, [rows[0], rows[1] | {"outcome": 9}], text)


def test_so_close_counts_as_the_same(tmp_path):
    rows = list(assigned(2_000, (0.3, 0.3)))
    assert reported(tmp_path, rows).decided is Decided.CANNOT_TELL
    assert reported(tmp_path, rows, PLAIN + "same_within: 0.15\n").decided is Decided.SAME


def test_every_line_that_cannot_be_read_is_reported_and_nothing_is_decided(tmp_path):
    found = experiment(tmp_path)
    file = tmp_path / "outcomes.jsonl"
    file.write_text(
        '{"unit": "u1", "arm": "control", "outcome": 1}\n'
        '{"unit": "u2", "arm": "contrl", "outcome": 1}\n'
        '{"arm": "control", "outcome": 1}\n'
        '{"unit": "u4", "arm": "control", "outcome": "many"}\n'
        '{"unit": "u5", "arm": "control", "outcome": NaN}\n'
        "not json\n"
        '{"unit": "u7", "arm": "control", "outcome": 1, "time": "yesterday", "exposure": "maybe"}\n'
        '{"unit": "u8", "arm": "control", "outcome": "1_0"}\n'
        '{"unit": "u9", "arm": "control", "outcome": 1' + 400 * "0" + "}\n"
    )
    with pytest.raises(SuiteError) as raised:
        read_outcomes(file, found)
    told = str(raised.value)
    lines = [line.split(":")[1] for line in told.splitlines()]
    assert sorted(set(lines)) == ["2", "3", "4", "5", "6", "7", "8", "9"]
    assert "did you mean control?" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiment: x\ntraffic: 5\n", "checkout.yaml:2: "),
        ("experiment: x\narms: [one]\n", "two arms"),
        ("experiment: x\ntest: fixed\n", "must say how many units"),
        ("experiment: x\noutcome: {range: [1, 1]}\n", "has no room"),
        ("experiment: x\nsalts: {exposure: s, arm: s}\n", "both salts"),
        ("experiment: x\ntrafic: 0.5\n", "traffic"),
        ("- x\n", "group of keys"),
    ],
)
def test_mistakes_in_the_experiments_file_are_reported(tmp_path, text, message):
    with pytest.raises(SuiteError, match=message):
        experiment(tmp_path, text)


def test_a_report_is_of_two_arms(tmp_path):
    with pytest.raises(UsageError, match="a report is of two arms"):
        reported(tmp_path, assigned(10, (0, 0)), PLAIN + "arms: [a, b, c]\n")


def test_the_command_ends_with_the_decision(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment(tmp_path)
    file = written(tmp_path, assigned(2_000, (0.30, 0.45)))
    words = ("ab", "report", file, "--experiment", "checkout.yaml")
    told = invoke(*words, "--markdown", "ab.md", "--html", "ab.html")
    assert "B (treatment) is better: outcome" in told
    data = json.loads(invoke(*words, "--json"))
    assert (data["format"], data["kind"], data["decided"]) == ("steelyard.ab/1", "online", "B")
    assert "B (treatment) is better" in (tmp_path / "ab.md").read_text()
    assert "B (treatment) is better" in (tmp_path / "ab.html").read_text()
    worse = written(tmp_path, assigned(2_000, (0.45, 0.30)))
    assert "A (control) is better" in invoke(*words[:2], worse, *words[3:], code=1)
    alone = written(tmp_path, [row for row in assigned(300, (0.3, 0.3)) if row["arm"] == "control"])
    assert "BROKEN" in invoke(*words[:2], alone, *words[3:], code=3)
    few = written(tmp_path, assigned(40, (0.3, 0.3)))
    assert "cannot tell" in invoke(*words[:2], few, *words[3:], code=4)
