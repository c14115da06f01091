"""What a comparison says of expectations and stability, on runs made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parts.columns import Made
from parts.compared import ONE_AB, compared
from parts.repeats import cell, checks
from steelyard.comparing.compare import compare
from steelyard.comparing.report import data as comparison_data
from steelyard.comparing.report import moved_checks
from steelyard.comparing.sentences import checks_sentence
from steelyard.pairing.model import Moved
from steelyard.records import Item, Load
from steelyard.suite.case import Case


def expecting(*cells, required_repeats="all", repeats=2, declared=(), **more):
    """A run with these checks."""
    samples = [sample for each in cells for sample in each]
    rules = [{"name": name, "code": name.upper(), "required_repeats": rule} for name, rule in declared]
    described = {"expect": {"required_repeats": required_repeats, "checks": rules}, "repeats": repeats}
    run = compared([made for made, _ in samples], described=described, **more)
    return replace(run, checks=checks([found for _, found in samples]))


def listing(answers, *, how="equal", **more):
    """A run whose repeats are compared: by case the levels of the items in each repeat; None, no answer with items."""
    flat = [(case, n, found) for case, given in answers.items() for n, found in enumerate(given)]
    rules = {"items": "items[]", "key": "id", "fields": {"level": how}}
    made = [Made(case, 1.0, repeat=n) for case, n, _ in flat]
    run = compared(made, described={"stability": rules, "repeats": 2}, **more)
    items = [
        (at, tuple(Item(key, (level,)) for key, level in found.items()))
        for at, (_, _, found) in enumerate(flat)
        if found is not None
    ]
    return replace(run, items=lambda: iter(items))


def figure(comparison, name):
    return next(each for each in comparison.metrics if each.name == name)


def test_checks_and_cases_that_newly_hold_or_break_are_named():
    before = expecting(cell("a", x="pp", y="pp"), cell("b", x="pf", y="pp"), cell("c", x="pp"), cell("d", x="p-"))
    after = expecting(cell("a", x="pp", y="fp"), cell("b", x="pp", y="pp"), cell("c", x="pp"), cell("d", x="pp"))
    found = compare(before, after)
    moved = found.checks
    (broken,), (fixed,) = moved.broken.lines, moved.fixed.lines
    assert (broken.case_id, broken.name, broken.passed_a, broken.n_a, broken.passed_b, broken.n_b) == (
        "a", "y", 2, 2, 1, 2,
    )  # fmt: skip
    assert (fixed.case_id, fixed.name, fixed.passed_a, fixed.passed_b) == ("b", "x", 1, 2)
    assert (moved.n, moved.unchanged, moved.cannot_tell) == (6, 3, 1)
    assert (moved.cells_fixed.names, moved.cells_failed.names) == ((("b", ""),), (("a", ""),))
    assert (moved.n_cells, moved.cells_unchanged, moved.cells_cannot_tell) == (4, 1, 1)
    assert checks_sentence(found) == (
        "expectations of 4 cases: 1 fixed (b), 1 broken (a), 1 unchanged, 1 cannot tell;"
        " 6 checks: 1 fixed, 1 broken, 3 unchanged, 1 cannot tell"
    )
    assert moved_checks(found).rows == [
        ("a", "y", "2 of 2", "1 of 2", "broken"),
        ("b", "x", "1 of 2", "2 of 2", "fixed"),
    ]
    assert comparison_data(found)["checks"]["broken"]["count"] == 1


def test_shares_of_cases_and_checks_are_compared_over_cases():
    n = 12
    before = [cell(f"c{i:02d}", x="pp", y="pp") for i in range(n)]
    after = [cell(f"c{i:02d}", x="pp", y="ff" if i < 9 else "pp") for i in range(n)]
    found = compare(expecting(*before), expecting(*after))
    cases, held = figure(found, "cases.passed"), figure(found, "checks.passed")
    # Exact McNemar of 9 broken and none fixed: 2 / 2^9; Holm of the two figures doubles the smaller.
    assert (cases.a.value, cases.b.value, cases.a.n, cases.p) == (1.0, 0.25, n, pytest.approx(2 / 512))
    assert (held.a.value, held.b.value, held.a.n, held.difference.n) == (1.0, 15 / 24, 24, n)
    assert cases.verdict is held.verdict is Moved.WORSE


def test_what_holds_over_other_numbers_of_repeats_is_neither_better_nor_worse():
    n = 12
    before = [cell(f"c{i:02d}", x="pp") for i in range(n)]
    after = [cell(f"c{i:02d}", x="fff") for i in range(n)]
    found = compare(expecting(*before), expecting(*after, repeats=3))
    assert found.checks.confounded == "of 2 repeats in A and of 3 in B: to pass is not the same in both"
    assert checks_sentence(found).endswith(found.checks.confounded)
    assert figure(found, "cases.passed").verdict is Moved.CANNOT_TELL
    first = compare(
        expecting(*before, required_repeats="first"), expecting(*after, required_repeats="first", repeats=3)
    )
    assert first.checks.confounded == ""
    assert figure(first, "cases.passed").verdict is Moved.WORSE


def test_cases_of_another_truth_and_of_one_run_alone_are_no_part_of_it():
    def truth(word):
        return {"b": Case("b", None, {"is": word})}

    before = expecting(cell("a", x="pp"), cell("b", x="pp"), cell("c", x="pp"), cases=truth("one"))
    after = expecting(cell("d", x="ff"), cell("b", x="ff"), cell("a", x="pp", y="pp"), cases=truth("another"))
    found = compare(before, after).checks
    assert (found.n_cells, found.n, found.only_a, found.only_b) == (1, 1, 0, 1)
    assert (found.cells_unchanged, found.broken.count) == (1, 0)
    believed = compare(before, after, allow_mismatch=True).checks
    assert (believed.n_cells, [line.case_id for line in believed.broken.lines]) == (2, ["b"])


def test_a_check_that_nobody_can_tell_of_in_b_is_not_broken():
    found = compare(expecting(cell("a", x="pp")), expecting(cell("a", x="p-"))).checks
    assert (found.broken.count, found.cannot_tell) == (0, 1)
    assert (found.cells_failed.count, found.cells_cannot_tell) == (0, 1)


def test_cells_find_each_other_whatever_came_before_them_in_b():
    before = expecting(cell("b", x="pp"), cell("c", x="pp"))
    after = expecting(cell("a", x="ff"), cell("b", x="pp"), cell("c", x="ff"))
    assert compare(before, after).checks.cells_failed.names == (("c", ""),)


def test_variants_are_cells_of_their_own():
    before = expecting(cell("a", "long", x="pp"), cell("a", "short", x="pp"))
    after = expecting(cell("a", "short", x="pf"), cell("a", "long", x="pp"))
    found = compare(before, after)
    assert found.checks.cells_failed.names == (("a", "short"),)
    assert found.checks.n_cells == 2


def test_runs_without_expectations_have_nothing_to_say_of_them():
    found = compare(compared([Made("a", 1.0)]), compared([Made("a", 0.0)]))
    assert (found.checks, checks_sentence(found)) == (None, "")
    one_sided = compare(compared([Made("a", 1.0)]), expecting(cell("a", x="p"), repeats=1))
    assert one_sided.checks is None


def test_a_run_of_which_nothing_came_can_be_compared():
    assert compare(compared([]), expecting(cell("a", x="p"), repeats=1)).checks is None


def test_how_alike_repeats_are_is_compared_case_by_case():
    n = 8
    steady = {f"c{i}": [{"x": "low", "y": "low"}, {"x": "low", "y": "low"}] for i in range(n)}
    # Of x and y each is alike or not: 1/2 of the level; z came once: 2 of 3 items are in both.
    shaky = {f"c{i}": [{"x": "low", "y": "low"}, {"x": "low", "y": "high", "z": "low"}] for i in range(n)}
    refused = {"error": [None, None]}
    found = compare(listing(steady | refused), listing(shaky | refused))
    level, presence = figure(found, "stability.level"), figure(found, "stability.presence")
    assert (level.a.value, level.b.value, presence.b.value) == (1.0, 0.5, pytest.approx(2 / 3))
    # A case whose answers are to have no items is not missing.
    assert (level.a.n, level.a.n_missing) == (n, 0)
    assert level.verdict is presence.verdict is Moved.WORSE


def test_repeats_that_are_compared_in_another_way_are_not_compared_with_each_other():
    answers = {"a": [{"x": "low"}, {"x": "low"}]}
    found = compare(listing(answers), listing(answers, how="overlap"))
    assert not [each for each in found.metrics if each.group == "stability"]
    assert [each.what for each in found.not_compared if each.what == "stability"] == ["stability"]


class TestLoad:
    def times(self, seconds, load):
        made = [Made(f"c{i}", 1.0, latency=seconds + i / 1000) for i in range(12)]
        return compared(made, options=replace(ONE_AB, load=load))

    def test_times_under_another_load_are_neither_better_nor_worse(self):
        closed, opened = Load(8), Load(1000, rate=20.0, warm_up=3)
        found = compare(self.times(1.0, closed), self.times(2.0, opened))
        assert [change.sentence for change in found.signatures.changes] == [
            "the load differs: 8 at a time -> 20 a second, whatever comes back, 1,000 at a time at most after 3"
            " warm-up calls; a change of latency may be due to it"
        ]
        assert figure(found, "latency.mean").verdict is Moved.NOT_TESTED
        assert figure(found, "latency.mean").test == "the load differs: not tested"
        assert found.headline.confounded_by == ()

    @pytest.mark.parametrize("other", [Load(9), Load(8, warm_up=1)])
    def test_more_calls_at_a_time_and_warm_up_are_another_load(self, other):
        found = compare(self.times(1.0, Load(8)), self.times(2.0, other))
        assert [change.part for change in found.signatures.changes] == ["load"]

    @pytest.mark.parametrize("other", [Load(8, held_up=2), None])
    def test_times_under_the_same_load_or_one_that_nobody_knows_are(self, other):
        found = compare(self.times(1.0, Load(8)), self.times(2.0, other))
        assert found.signatures.changes == ()
        assert figure(found, "latency.mean").verdict is Moved.WORSE
