"""Checks over repeats: k of n, when that is enough, pass^k, flakiness, and what missing."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.looped import for_every
from parts.repeats import cell, checks, expecting, n_cases, n_checks, of_check, summed_up
from steelyard.metrics.cells import PassedRepeats
from steelyard.records import Check, CheckState
from steelyard.stats.intervals import Estimate, Possible


def held(row: str, required_repeats: str, repeats: int = 0) -> bool | None:
    summary = summed_up(cell("a", x=row), described=expecting(required_repeats, repeats=repeats or len(row)))
    (found,) = summary.checks.cells
    assert found.holds == found.checks[0].holds
    return found.holds


class TestHolding:
    @for_every(
        ("row", "all_", "majority", "first"),
        [
            ("ppppp", True, True, True),
            ("ppppf", False, True, True),
            ("fpppp", False, True, False),
            ("ppfff", False, False, True),
            # 2 of 4 is not more than half.
            ("ppff", False, False, True),
            ("pppp-", None, True, True),
            ("-pppp", None, True, None),
            # One failure decides `all`, whatever did not run.
            ("f----", False, None, False),
            # 2 passed and 2 that could still pass are 4 of 5; 3 failed leave 2 at most.
            ("ppf--", False, None, True),
            ("fff--", False, False, False),
            # 2 failed and 1 passed: the fourth could make it 2 of 4 only.
            ("pff-", False, False, True),
            ("-----", None, None, None),
        ],
    )
    def test_what_did_not_run_is_undecided_only_when_it_could_still_decide(self, row, all_, majority, first):
        assert (held(row, "all"), held(row, "majority"), held(row, "first")) == (all_, majority, first)

    @pytest.mark.parametrize(
        ("x", "y", "holds"),
        [
            # Each passes in most answers; 2, 3 of 5 answers pass both.
            ("pppff", "fpppp", False),
            ("ppppf", "fpppp", True),
            # 2 pass both and 3 are open; 2 pass both, 2 failed and 1 is open, then 3 failed.
            ("ppp--", "-ppp-", None),
            ("pppf-", "fppp-", None),
            ("pppff", "fppp-", False),
        ],
    )
    def test_a_case_of_most_repeats_holds_when_most_pass_every_check(self, x, y, holds):
        found = summed_up(cell("a", x=x, y=y), described=expecting("majority", repeats=5))
        (only,) = found.checks.cells
        assert [check.holds for check in only.checks] == [True, True]
        assert (only.holds, n_cases(found, "passed"), n_checks(found, "passed")) == (holds, (holds is True,), (2,))

    def test_a_planned_repeat_that_never_came_did_not_run(self):
        assert (held("ppp", "all", 5), held("ppp", "majority", 5), held("pp", "majority", 5)) == (None, True, None)
        found = summed_up(cell("a", x="ppf"), described=expecting(repeats=5)).checks.cells[0].checks[0]
        assert (found.passed, found.failed, found.not_run, found.n) == (2, 1, 2, 5)

    def test_the_first_repeat_that_never_came_decides_nothing(self):
        late = [sample for sample in cell("a", x="ppp") if sample[0].repeat > 0]
        assert summed_up(late, described=expecting("first", repeats=3)).checks.cells[0].holds is None

    def test_repeats_counted_from_one_have_a_first_too(self):
        shifted = [(replace(made, repeat=made.repeat + 1), found) for made, found in cell("a", x="fpp")]
        assert summed_up(shifted, described=expecting("first", repeats=3)).checks.cells[0].holds is False

    def test_a_check_may_have_a_rule_of_its_own_whatever_values_it_looks_for(self):
        described = expecting("all", repeats=3, holds={"x": "majority", "y": "all"})
        found = summed_up(cell("a", **{"x:red": "ppf", "x:blue": "pff", "y": "ppp"}), described=described)
        assert [(check.name, check.required_repeats, check.holds) for check in found.checks.cells[0].checks] == [
            ("x:red", "majority", True),
            ("x:blue", "majority", False),
            ("y", "all", True),
        ]
        assert [found.overall[f"check.{name}.passed"].value for name in ("x", "y")] == [0.5, 1.0]

    def test_a_check_is_known_by_its_whole_name_first(self):
        described = expecting("all", repeats=1, holds={"x:y": "first"})
        assert (
            summed_up(cell("a", **{"x:y": "p"}), described=described).checks.cells[0].checks[0].required_repeats
            == "first"
        )

    def test_checks_of_an_inconclusive_sample_did_not_run(self):
        samples = cell("a", x="pp")
        samples[1] = (Made("a", None, "judge_failed", repeat=1), samples[1][1])
        found = summed_up(samples).checks.cells[0]
        assert (found.checks[0].passed, found.checks[0].not_run, found.holds) == (1, 1, None)

    def test_of_a_check_that_a_sample_has_twice_the_worse_counts(self):
        for second, expected in (("f", (0, 1, 0)), ("-", (0, 0, 1)), ("p", (1, 0, 0))):
            twice = [(made, [*found, *cell("a", x=second)[0][1]]) for made, found in cell("a", x="p")]
            check = summed_up(twice).checks.cells[0].checks[0]
            assert (check.passed, check.failed, check.not_run) == expected


class TestCounts:
    def figures(self):
        return summed_up(
            cell("a", x="ppp", y="ppp"),
            cell("b", x="ppp", y="pfp"),
            cell("c", x="pp-", y="ppp"),
            described=expecting(n_planned=12, repeats=3, holds={"y": "all", "x": "all"}),
        )

    def test_cells_and_checks_are_counted_with_those_that_never_came(self):
        # a holds, b is broken by y, c is open for x; a fourth case was planned and missing.
        found = self.figures()
        assert n_cases(found, "passed", "failed", "undecided", "all") == (1, 1, 2, 4)
        # x holds in a and b, is open in c; y holds in a and c, is broken in b; the fourth case is one open check.
        assert n_checks(found, "passed", "failed", "undecided") == (4, 1, 2)

    def test_shares_are_of_all_planned_and_the_open_are_missing(self):
        of_cells, of_checks = (self.figures().overall[name] for name in ("cases.passed", "checks.passed"))
        rates = [(rate.value, rate.n, rate.n_missing) for rate in (of_cells, of_checks)]
        assert rates == [(1 / 4, 2, 2), (4 / 7, 5, 2)]
        # Two of four are undecided: from Wilson's interval of 1 of 4 to that of 3 of 4, by scipy.
        few, many = (binomtest(n, 4).proportion_ci(method="wilson") for n in (1, 3))
        assert (of_cells.low, of_cells.high) == pytest.approx((few.low, many.high))
        assert of_cells.possible == Possible(1 / 4, 3 / 4, 2, 4)

    def test_each_check_is_reported_in_the_order_of_the_suite(self):
        # Of 3 cells: y passed in 3 + 2 + 3 answers, x in 3 + 3 + 2.
        found = self.figures()
        assert found.checks.by_check == ("y", "x")
        assert of_check(found, "y") == (2, 1, 0, 8, 1, 0)
        assert of_check(found, "x") == (2, 0, 1, 8, 0, 1)

    def test_a_cell_without_any_known_check_is_undecided(self):
        broken = [(Made("b", None, "judge_failed"), [])]
        found = summed_up(cell("a", x="p"), broken)
        assert (n_cases(found, "passed", "undecided"), n_checks(found, "undecided")) == ((1, 1), (1,))
        assert (found.checks.cells[1].checks, found.checks.cells[1].holds) == ((), None)

    def test_nothing_decided_is_not_available(self):
        found = summed_up(cell("a", x="--")).overall
        unknown = Estimate(None, 0, 1, possible=Possible(0.0, 1.0, 1, 1))
        assert (found["cases.passed"], found["flaky_rate"]) == (unknown, unknown)

    def test_a_suite_without_expectations_has_no_figures(self):
        made = columns([Made("a", 1.0)])
        assert summarise(made, suite(), checks=checks([[]])).checks is None
        assert summarise(made, expecting()).checks is None
        # No check applies to a case that was answered and has none: the pass rule alone decides.
        found = summarise(made, expecting(), checks=checks([[]]))
        assert (n_cases(found, "passed", "unknown"), n_checks(found, "undecided")) == ((1, 0), (0,))

    def test_the_checks_of_several_variants_of_one_case_are_one_cluster(self):
        alike = [cell(f"c{i}", variant, x="p" if i % 2 else "f") for i in range(6) for variant in ("u", "v")]
        described = expecting(variants=["u", "v"])
        rate = summed_up(*alike, described=described).overall["cases.passed"]
        single = summed_up(*alike[::2], described=described).overall["cases.passed"]
        # Both variants say the same of each case, so that twelve cells are worth six.
        assert (rate.value, rate.n) == (0.5, 12)
        assert (rate.low, rate.high) == pytest.approx((single.low, single.high), abs=0.01)

    def test_slices_have_figures_of_their_own(self):
        samples = [*cell("a", "u", x="pp"), *cell("a", "v", x="pf"), *cell("b", "u", x="pp"), *cell("b", "v", x="ff")]
        samples = [
            (
                replace(
                    made, category="k" if made.case == "a" else "l", tags=("t",) if made.case == "b" else ("s", "t")
                ),
                its,
            )
            for made, its in samples
        ]
        summary = summed_up(samples, described=expecting(repeats=2, variants=["u", "v"]))
        told = {
            (factor, each.name): (each["cases.passed"].value, each["cases.passed"].n)
            for factor, groups in summary.slices.items()
            for each in groups
        }
        assert told == {
            ("category", "k"): (0.5, 2),
            ("category", "l"): (0.5, 2),
            ("variant", "u"): (1.0, 2),
            ("variant", "v"): (0.0, 2),
            ("tag", "t"): (0.5, 4),
            ("tag", "s"): (0.5, 2),
        }
        assert summary.overall["cases.passed"].value == 0.5


def all_of(summary):
    """pass^k by k."""
    return {int(k): figure for k, figure in summary.overall.each("pass_all.<k>").items()}


class TestRepeats:
    def test_pass_all_is_the_unbiased_estimate(self):
        # c of n clean: 3 of 4 and 4 of 4. pass^2: C(3,2)/C(4,2) = 3/6, and 1; pass^4: 0 and 1.
        found = all_of(summed_up(cell("a", x="pppf", y="pppp"), cell("b", x="pppp", y="pppp")))
        assert {k: estimate.value for k, estimate in found.items()} == {1: 0.875, 2: 0.75, 3: 0.625, 4: 0.5}
        assert [(estimate.n, estimate.n_missing) for estimate in found.values()] == [(2, 0)] * 4

    def test_a_cell_with_fewer_decided_repeats_stays_in_the_figure(self):
        # Of b, the repeat with a failure is decided although y did not run; the other is not.
        summary = summed_up(cell("a", x="ppp", y="ppp"), cell("b", x="p-f", y="pp-"))
        listed = summary.checks.cells
        assert [(each.clean, each.decided, each.flaky) for each in listed] == [(3, 3, False), (1, 2, True)]
        # By hand, for b: of 1 and of 2 known repeats 1/2 and 0; all 3 cannot pass.
        assert {k: (e.value, e.n, e.n_missing) for k, e in all_of(summary).items()} == {
            1: (0.75, 2, 0),
            2: (0.5, 2, 0),
            3: (0.5, 2, 0),
        }
        # b with its unknown repeat failed or passed: 1 or 2 of 3, and of pairs 0 or 1 of 3.
        bounds = {1: pytest.approx((2 / 3, 5 / 6)), 2: pytest.approx((1 / 2, 2 / 3))}
        assert {k: e.possible.ends for k, e in all_of(summary).items() if e.possible is not None} == bounds
        flaky = summary.overall["flaky_rate"]
        assert (flaky.value, flaky.n, flaky.possible) == (0.5, 2, None)

    def test_one_repeat_cannot_be_flaky(self):
        found = summed_up(cell("a", x="p"), cell("b", x="f"))
        flaky = found.overall["flaky_rate"]
        assert (flaky.value, flaky.n, flaky.n_missing) == (None, 0, 2)
        assert (all_of(found).keys(), all_of(found)[1].value) == ({1}, 0.5)

    @given(st.text("pf-", min_size=1, max_size=8), st.integers(1, 8))
    def test_pass_all_is_the_share_of_all_choices_of_k(self, row, k):
        """Every choice of k repeats, written out: of those that are known, and of all with the unknown ones filled."""

        def share(results):
            chosen = list(combinations(results, k))
            return sum(map(all, chosen)) / len(chosen)

        k = min(k, len(row))
        known = [letter == "p" for letter in row if letter != "-"]
        counts = (np.array([n]) for n in (sum(known), len(known), len(row)))
        found = PassedRepeats(*counts).all_of(k)
        lowest, highest = (share([letter in passing for letter in row]) for passing in ("p", "p-"))
        assert tuple(end[0] for end in found.possible) == pytest.approx((lowest, highest))
        settled = lowest == highest
        value = lowest if settled or len(known) < k else share(known)
        assert (found.values[0], found.undecided[0]) == (pytest.approx(value), not settled and len(known) < k)
        assert lowest - 1e-12 <= value <= highest + 1e-12


class TestCells:
    def test_a_check_keeps_its_figures_its_range_and_why_it_did_not_pass(self):
        def count(state, value, detail):
            return [Check("many", state, detail, value, 2.0, 4.0)]

        samples = [
            (Made("a", 1.0, repeat=0), count(CheckState.PASSED, 3, "3 found")),
            (Made("a", None, "target_failed", repeat=1), [Check("many", CheckState.NOT_RUN, "timeout")]),
            (Made("a", 0.0, repeat=2), count(CheckState.FAILED, 7, "7 found")),
        ]
        (check,) = summed_up(samples).checks.cells[0].checks
        assert (check.values, check.low, check.high, check.detail) == ((3.0, 7.0), 2.0, 4.0, "7 found")

    def test_what_failed_says_why_a_check_is_broken_and_what_did_not_run_why_nobody_can_tell(self):
        samples = [
            (Made("a", None, "target_failed", repeat=0), [Check("many", CheckState.NOT_RUN, "timeout")]),
            (Made("a", 0.0, repeat=1), [Check("many", CheckState.FAILED, "7 found")]),
            (Made("a", 1.0, repeat=2), [Check("many", CheckState.PASSED, "3 found")]),
        ]
        for rule, holds, told in (("all", False, "7 found"), ("majority", None, "timeout")):
            (check,) = summed_up(samples, described=expecting(rule, repeats=3)).checks.cells[0].checks
            assert (check.holds, check.detail) == (holds, told)

    def test_a_figure_of_an_inconclusive_sample_is_none(self):
        samples = [
            (Made("a", 1.0, repeat=0), [Check("many", CheckState.PASSED, "", 3.0)]),
            (Made("a", None, "judge_failed", repeat=1), [Check("many", CheckState.PASSED, "", 9.0)]),
        ]
        (check,) = summed_up(samples).checks.cells[0].checks
        assert (check.values, check.passed, check.not_run) == ((3.0,), 1, 1)

    def test_more_repeats_than_the_suite_asks_for_are_all_counted(self):
        (check,) = summed_up(cell("a", x="pf"), described=expecting(repeats=1)).checks.cells[0].checks
        assert (check.passed, check.failed, check.not_run, check.n) == (1, 1, 0, 2)

    def test_of_a_check_that_a_sample_has_twice_what_failed_is_worse_than_what_did_not_run(self):
        twice = [Check("x", CheckState.NOT_RUN), Check("x", CheckState.FAILED)]
        (check,) = summed_up([(Made("a", 0.0), twice)]).checks.cells[0].checks
        assert (check.failed, check.not_run) == (1, 0)

    def test_an_end_that_is_open_is_none(self):
        samples = [(Made("a", 1.0), [Check("many", CheckState.PASSED, "", 5.0, None, 9.0)])]
        (check,) = summed_up(samples).checks.cells[0].checks
        assert (check.values, check.low, check.high) == ((5.0,), None, 9.0)

    def test_only_some_cells_are_kept_and_all_are_counted(self, monkeypatch):
        monkeypatch.setattr("steelyard.analysis.cell_metrics.MOST_CELLS", 2)
        found = summed_up(*(cell(f"c{i}", x="p") for i in range(5)))
        assert [each.case_id for each in found.checks.cells] == ["c0", "c1"]
        assert n_cases(found, "all", "passed") == (5, 5)

    @pytest.mark.parametrize(
        ("rows", "kept"),
        [
            # Failed, then undecided, then flaky, then passed; each kind in the order of the cases.
            (("pp", "pp", "p-", "ff", "pf", "ff"), ["c3", "c4"]),
            (("pp", "pp", "p-", "pp", "pp", "ff"), ["c2", "c5"]),
            (("pp", "pp", "pp", "pp", "pp", "p-"), ["c0", "c5"]),
        ],
    )
    def test_those_to_look_at_are_kept_wherever_they_stand(self, monkeypatch, rows, kept):
        monkeypatch.setattr("steelyard.analysis.cell_metrics.MOST_CELLS", 2)
        found = summed_up(*(cell(f"c{i}", **{f"x:{i}": row, "y": "pp"}) for i, row in enumerate(rows))).checks
        assert [each.case_id for each in found.cells] == kept
        assert [[check.name for check in each.checks] for each in found.cells] == [
            [f"x:{each[1]}", "y"] for each in kept
        ]
        assert [each.checks[0].passed for each in found.cells] == [rows[int(each[1])].count("p") for each in kept]

    def test_the_values_that_fail_are_kept_and_a_check_is_summed_up_over_all(self, monkeypatch):
        monkeypatch.setattr("steelyard.analysis.cell_metrics.MOST_CELLS", 2)
        rows = ("p", "p", "p", "f", "p", "f")
        found = summed_up(*(cell(f"c{i}", **{f"x:{i}": row}) for i, row in enumerate(rows)))
        assert found.checks.by_check == ("x:3", "x:5")
        assert list(found.overall.each("check.<check>.passed")) == ["x"]
        assert of_check(found, "x") == (4, 2, 0, 4, 2, 0)


ROWS = st.lists(st.text("pf-", min_size=3, max_size=3), min_size=1, max_size=4)


@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from(["all", "majority", "first"]), st.randoms())
def test_the_order_of_samples_and_checks_changes_nothing(cells, required_repeats, chance):
    made = [
        sample
        for i, rows in enumerate(cells)
        for sample in cell(f"c{i}", **{f"x{j}": row for j, row in enumerate(rows)})
    ]
    described = expecting(
        required_repeats, repeats=3, n_planned=3 * len(cells), holds={f"x{j}": required_repeats for j in range(4)}
    )
    first = summed_up(made, described=described)
    shuffled = [(sample, chance.sample(found, len(found))) for sample, found in chance.sample(made, len(made))]
    again = summed_up(shuffled, described=described)
    assert again.checks == first.checks
    of_checks = [name for name in first.overall if name.startswith(("check.", "checks.", "cases."))]
    assert {name: again.overall[name] for name in of_checks} == {name: first.overall[name] for name in of_checks}


@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from(["all", "majority", "first"]))
def test_nothing_that_did_not_run_counts_as_passed(cells, required_repeats):
    """Turning every check that did not run into a failed one leaves no check, and no case, that holds less."""

    def run(rows):
        named = [{f"x{j}": row for j, row in enumerate(each)} for each in rows]
        given = [cell(f"c{i}", **each) for i, each in enumerate(named)]
        return summed_up(*given, described=expecting(required_repeats, repeats=3))

    before, after = run(cells), run([[row.replace("-", "f") for row in rows] for rows in cells])
    assert n_cases(before, "passed") == n_cases(after, "passed")
    assert n_checks(before, "passed") == n_checks(after, "passed")
    assert n_cases(before, "failed") <= n_cases(after, "failed")
    assert n_cases(after, "undecided") == n_checks(after, "undecided") == (0,)
