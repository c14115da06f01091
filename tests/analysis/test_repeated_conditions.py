"""Conditions over the repeats of each case and variant."""

from __future__ import annotations

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.looped import for_every
from parts.slices import Repeated, repeated_in
from steelyard.analysis.model import Summary

VALID = "valid in >= 2 of 3 repeats"


def summary_of(made: list[Made], rule: str = VALID, **changes: object) -> Summary:
    criteria = [{"name": "c", "pass": rule, "fail": None, "secondary": False, "about": ""}]
    return summarise(columns(made), suite(criteria=criteria, **changes))


def repeated(made: list[Made], rule: str = VALID, **changes: object) -> Repeated:
    return repeated_in(summary_of(made, rule, **changes))[rule]


def cell(case: str, outcomes: str, **changes: object) -> list[Made]:
    """Repeats of one case: v valid, m malformed, f failed call."""
    kinds = {"v": (0.9, "scored"), "m": (0.0, "malformed"), "f": (None, "target_failed")}
    return [Made(case, *kinds[one], repeat=i, **changes) for i, one in enumerate(outcomes)]  # type: ignore[arg-type]


@for_every(
    ("outcomes", "held", "failed", "undecided"),
    [
        ("vvv", 1, 0, 0),
        ("vvm", 1, 0, 0),
        ("vmm", 0, 1, 0),
        ("mmm", 0, 1, 0),
        ("vvf", 0, 0, 1),  # a failed call is no run, and two runs are too few
        ("vv", 0, 0, 1),
        ("fff", 0, 0, 1),
        ("vvvmm", 0, 1, 0),  # 3 of 5 is less than 2 of 3
        ("vvvvmm", 1, 0, 0),
        ("vvvvmf", 1, 0, 0),  # 4 of 6, whatever the last would have been
        ("vvvmmf", 0, 0, 1),  # 3 or 4 of 6
        ("mmf", 0, 1, 0),  # 1 of 3 at most: what failed twice cannot pass any more
        ("mm", 0, 1, 0),
        ("vmf", 0, 0, 1),
    ],
)
def test_valid_in_two_of_three(outcomes: str, held: int, failed: int, undecided: int) -> None:
    found = repeated(cell("a", outcomes))
    assert (found.passed, found.failed, found.undecided) == (held, failed, undecided)


def test_an_answer_that_could_not_be_read_does_not_show_that_something_was_not_found() -> None:
    rule = "findings.NAME == 0 in >= 2 of 3 repeats"
    assert repeated(cell("a", "vvm"), rule) == Repeated(1, 0, 0)
    assert repeated(cell("a", "vmm"), rule) == Repeated(0, 1, 0, ("a: 1 of 3",))


def test_each_case_under_each_variant_is_a_cell_of_its_own() -> None:
    made = cell("a", "vvv", variant="one") + cell("a", "vmm", variant="two") + cell("b", "vvm", variant="one")
    summary = summary_of([*made, *cell("b", "vvf", variant="two")], variants=["one", "two"])
    assert repeated_in(summary)[VALID] == Repeated(2, 1, 1, ("a [two]: 1 of 3",))
    assert {each.name: repeated_in(summary, each)[VALID] for each in summary.slices["variant"]} == {
        "one": Repeated(2, 0, 0),
        "two": Repeated(0, 1, 1, ("a [two]: 1 of 3",)),
    }


def test_every_slice_is_looked_at_and_a_case_with_two_tags_is_in_both() -> None:
    made = cell("a", "vmm", category="x", tags=("p", "q")) + cell("b", "vvv", category="y", tags=("q",))
    summary = summary_of(made)
    slices = [each for part in summary.slices.values() for each in part]
    found = {(each.factor, each.name): repeated_in(summary, each)[VALID] for each in slices}
    assert {key: (each.passed, each.failed) for key, each in found.items()} == {
        ("category", "x"): (0, 1),
        ("category", "y"): (1, 0),
        ("tag", "p"): (0, 1),
        ("tag", "q"): (1, 1),
    }


def test_cells_that_were_planned_and_never_came_are_undecided() -> None:
    # Three cases by two variants by three repeats were planned; case c missing, and one repeat of b is missing.
    made = [each for variant in ("one", "two") for each in cell("a", "vvv", variant=variant)]
    made += cell("b", "vvv", variant="one") + cell("b", "vv", variant="two")
    summary = summary_of(made, variants=["one", "two"], repeats=3, n_planned=18)
    assert repeated_in(summary)[VALID] == Repeated(3, 0, 3)
    assert [repeated_in(summary, each)[VALID] for each in summary.slices["variant"]] == [
        Repeated(2, 0, 1),
        Repeated(1, 0, 2),
    ]


def test_a_run_without_samples_has_only_undecided_cells() -> None:
    assert repeated([], repeats=3, n_planned=6) == Repeated(0, 0, 2)


def test_passing_a_score_and_the_number_of_findings_may_be_asked_for() -> None:
    made = [
        Made("a", 0.9, repeat=0, findings=("MISS", "MISS")),
        Made("a", 0.7, repeat=1, findings=("MISS",)),
        Made("a", None, "malformed", repeat=2, findings=("FORMAT",)),
    ]
    expected = {
        "passed in >= 1 of 3 repeats": 1,  # 0.9 reaches 0.75
        "passed in >= 2 of 3 repeats": 0,
        "score >= 70 % in >= 2 of 3 repeats": 1,
        "score > 70 % in >= 2 of 3 repeats": 0,
        "score < 10 % in >= 1 of 3 repeats": 1,  # what cannot be read has score 0
        "findings.MISS == 0 in >= 1 of 3 repeats": 0,  # the third could not be read, so it shows nothing
        "findings.MISS == 0 in >= 2 of 3 repeats": 0,
        "findings.MISS <= 1 in >= 1 of 3 repeats": 1,
        "findings.MISS <= 1 in >= 2 of 3 repeats": 0,
        "findings.FORMAT == 0 in >= 2 of 3 repeats": 1,
        "findings.FORMAT == 0 in >= 3 of 3 repeats": 0,
        "findings.MISS != 2 in >= 3 of 3 repeats": 0,
        "findings.NEVER_SEEN == 0 in >= 2 of 3 repeats": 1,
        "findings.NEVER_SEEN == 0 in >= 3 of 3 repeats": 0,
    }
    found = {rule: repeated(made, rule) for rule in expected}
    assert {rule: each.passed for rule, each in found.items()} == expected
    assert {rule: each.failed for rule, each in found.items()} == {rule: 1 - held for rule, held in expected.items()}


def test_without_a_pass_rule_nobody_has_passed_or_failed() -> None:
    made = columns([Made("a", 0.9, repeat=i) for i in range(3)])
    made.passed[:] = -1
    rule = "passed in >= 2 of 3 repeats"
    summary = summarise(made, suite(passing=None, criteria=[{"name": "c", "pass": rule, "fail": None}]))
    assert repeated_in(summary)[rule] == Repeated(0, 0, 1)


def test_the_first_failing_cells_are_named_in_the_order_of_cases_and_variants() -> None:
    made = [each for case in "dcba" for variant in ("z", "y") for each in cell(case, "mmv", variant=variant)]
    found = repeated(made, variants=["z", "y"])
    assert found.failed == 8
    assert found.failing == tuple(f"{name}: 1 of 3" for name in ("a [z]", "a [y]", "b [z]", "b [y]", "c [z]"))


def test_only_rules_over_repeats_are_looked_at_and_both_sides_of_a_criterion_are() -> None:
    criteria = [
        {"name": "x", "pass": "average >= 50 %", "fail": "score < 50 % in >= 1 of 2 repeats"},
        {"name": "y", "pass": VALID, "fail": None},
        {"name": "z", "pass": VALID, "fail": None},
    ]
    summary = summarise(columns(cell("a", "vvv")), suite(criteria=criteria))
    assert list(repeated_in(summary)) == ["score < 50 % in >= 1 of 2 repeats", VALID]
    assert summarise(columns(cell("a", "vvv")), suite()).overall.each("repeated.<rule>.passed") == {}
