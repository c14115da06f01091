"""Criteria with three outcomes, compared with hand-made figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from parts.looped import for_every
from parts.slices import Repeated, a_slice, a_summary, changed
from steelyard.decide.gates import Decision, GateResult, evaluate
from steelyard.decide.verdict import decide
from steelyard.metrics.figures import Slice
from steelyard.records import RunState, Verdict
from steelyard.report.verdicts import exit_code
from steelyard.stats.intervals import Estimate, Possible
from steelyard.suite.models import SuiteModel

PASS, FAIL, AMBIGUOUS, INVALID = Verdict.PASS, Verdict.FAIL, Verdict.AMBIGUOUS, Verdict.INVALID
JSON_RULE = "valid in >= 2 of 3 repeats"
N = 100
"""Samples of a made-up run."""


def part(
    *,
    text: float | None = 0.85,
    grouping: float | None = 0.9,
    hallucinated: tuple[int, int] = (0, 0),
    repeated: Repeated | None = None,
    missing: int = 0,
    average: float = 0.8,
    factor: str = "",
    name: str = "",
    interval: tuple[float, float] | None = None,
) -> Slice:
    """A slice of N samples; `hallucinated` is how many findings there are and in how many samples."""
    n = N - missing

    def share(value: float | None) -> Estimate:
        low, high = interval or (None, None)
        estimate = Estimate(None, 0, N) if value is None else Estimate(value, n, missing, low, high)
        return replace(
            estimate, numerator=round(1000 * (value or 0)), denominator=1000 if value is not None else 0, mean_of=0
        )

    count, samples = hallucinated
    open_ = Possible(samples / N, (samples + missing) / N, missing, N) if missing > 0.05 * N else None
    of_findings = Estimate(count, n, missing, possible=open_ and replace(open_, low=count, high=None))
    most = samples + missing
    of_samples = Estimate(samples, n, missing, possible=open_ and replace(open_, low=samples, high=most))
    return a_slice(
        factor,
        name,
        N,
        outcomes={"scored": n} | ({"target_failed": missing} if missing else {}),
        average=Estimate(average, n, missing),
        median=Estimate(average, n, missing),
        pass_rate=Estimate(None, 0, N),
        findings={"HALLUC": of_findings},
        finding_rates={"HALLUC": Estimate(samples / n, n, missing, possible=open_)},
        finding_samples={"HALLUC": of_samples},
        measures={"items": {"text": share(text), "grouping": share(grouping)}},
        repeated={} if repeated is None else {JSON_RULE: repeated},
    )


def criterion(name: str, passes: str, fails: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "pass": passes, "fail": fails, "secondary": False, "about": ""} | more


TEXT = criterion("text", "score.items.text >= 80 %", "score.items.text < 60 %", about="Try another prompt first.")
INVENTED = criterion("invented", "findings.HALLUC == 0", "findings.HALLUC.samples > 1")
GROUPING = criterion("grouping", "score.items.grouping >= 70 %", secondary=True)
JSON = criterion("json", JSON_RULE, secondary=True)
SEED = [TEXT, INVENTED, GROUPING, JSON]
"""The criteria of the seed's test T-P1."""


def decision(criteria: list[dict[str, Any]], overall: Slice, *variants: Slice, **options: Any) -> Decision:
    summary = a_summary("", overall, {"variant": list(variants)} if variants else {}, repeats=options.pop("repeats", 3))
    suite = {"criteria": criteria, "gates": options.pop("gates", []), "limits": {"max_inconclusive": 0.05}}
    return decide(summary, SuiteModel.from_data(suite), **({"state": RunState.ENDED} | options))


def one(given: dict[str, Any], overall: Slice, **options: Any) -> GateResult:
    (result,) = decision([given], overall, **options).gates
    return result


class TestTheSeedsCriteria:
    @for_every(
        ("figures", "verdict", "code"),
        [
            ({"text": 0.85, "grouping": 0.5}, PASS, 0),
            ({"text": 0.80}, PASS, 0),
            ({"text": 0.70}, AMBIGUOUS, 4),
            ({"text": 0.60}, AMBIGUOUS, 4),
            ({"text": 0.55}, FAIL, 1),
            ({"hallucinated": (1, 1)}, AMBIGUOUS, 4),
            ({"hallucinated": (3, 1)}, AMBIGUOUS, 4),
            ({"hallucinated": (2, 2)}, FAIL, 1),
            ({"text": 0.55, "hallucinated": (1, 1)}, FAIL, 1),
        ],
    )
    def test_what_a_run_comes_to(self, figures: dict[str, Any], verdict: Verdict, code: int) -> None:
        found = decision(SEED, part(repeated=Repeated(72, 0, 0), **figures))
        assert (found.verdict, exit_code(found.verdict)) == (verdict, code)
        assert [each.name for each in found.gates] == ["text", "invented", "grouping", "json"]

    def test_a_secondary_criterion_that_does_not_hold_is_said_and_does_not_decide(self) -> None:
        found = decision(SEED, part(grouping=0.5, repeated=Repeated(72, 0, 0)))
        assert found.verdict is PASS
        assert found.reasons == ("all 2 criteria that decide pass", "secondary: grouping: 50.0 % is not >= 70.0 %")
        assert [(each.name, each.verdict, each.secondary) for each in found.gates] == [
            ("text", PASS, False),
            ("invented", PASS, False),
            ("grouping", FAIL, True),
            ("json", PASS, True),
        ]

    def test_one_repeat_only_leaves_a_rule_over_three_undecided(self) -> None:
        found = decision(SEED, part(repeated=Repeated(0, 0, 24)), repeats=1)
        assert found.verdict is PASS
        assert found.gates[3].verdict is AMBIGUOUS
        assert found.reasons[1] == (
            "secondary: json: undecided: it asks for 3 repeats and this run has 1; run with -n 3"
        )

    def test_the_ambiguous_zone_says_what_to_do(self) -> None:
        assert decision(SEED, part(text=0.724, repeated=Repeated(72, 0, 0))).reasons == (
            "text: 72.4 % lies between: passes at >= 80.0 %, fails at < 60.0 %; Try another prompt first",
        )


class TestOneCriterion:
    def test_the_result_holds_name_expressions_and_the_figure_of_pass(self) -> None:
        result = one(TEXT, part(text=0.55))
        assert (result.name, result.gate, result.fails) == ("text", TEXT["pass"], TEXT["fail"])
        assert (result.metric, result.operator, result.threshold, result.unit) == (
            "score.items.text",
            ">=",
            0.8,
            "share",
        )
        assert (result.value.value, result.value.n, result.about) == (0.55, N, "Try another prompt first.")
        assert (result.verdict, result.reason) == (FAIL, "55.0 % < 60.0 %")

    def test_without_fail_whatever_does_not_pass_fails(self) -> None:
        primary = GROUPING | {"secondary": False}
        assert one(primary, part(grouping=0.699)).verdict is FAIL
        assert one(primary, part(grouping=0.7)).verdict is PASS

    def test_a_figure_that_is_not_there_is_ambiguous_with_and_without_fail(self) -> None:
        for given in (TEXT, GROUPING):
            result = one(given, part(text=None, grouping=None))
            assert (result.verdict, result.value.value) == (AMBIGUOUS, None)
            assert result.reason == "n/a: no data; 100 missing"

    def test_a_figure_just_below_does_not_look_as_if_it_passed(self) -> None:
        assert one(TEXT, part(text=0.7996)).reason.startswith("79.96 % lies between")

    def test_a_figure_between_whose_interval_reaches_out_says_so(self) -> None:
        assert one(TEXT, part(text=0.7, interval=(0.65, 0.75))).reason.endswith("fails at < 60.0 %")
        for interval in ((0.65, 0.85), (0.55, 0.75)):
            assert "the 95 % interval contains a threshold" in one(TEXT, part(text=0.7, interval=interval)).reason

    def test_between_two_figures_both_are_said(self) -> None:
        assert one(INVENTED, part(hallucinated=(3, 1))).reason == (
            "neither passes nor fails: 3 is not == 0; 1 sample with HALLUC is not > 1"
        )

    def test_samples_with_a_code_are_counted_and_said(self) -> None:
        assert one(INVENTED, part(hallucinated=(2, 2))).reason == "2 samples with HALLUC > 1"

    def test_when_both_hold_failing_wins(self) -> None:
        given = criterion("odd", "score.items.text >= 80 %", "findings.HALLUC.samples > 1")
        assert one(given, part(text=0.9, hallucinated=(2, 2))).verdict is FAIL

    def test_a_pass_whose_fail_cannot_be_decided_is_open(self) -> None:
        given = criterion("odd", "score.items.text >= 80 %", "cost.total > 5")
        result = one(given, part(text=0.9))
        assert result.verdict is AMBIGUOUS
        assert result.reason.startswith("90.0 % >= 80.0 %; whether it fails is open: n/a")

    def test_a_minimum_n_is_asked_of_each_expression(self) -> None:
        given = criterion("many", "score.items.text >= 80 % with n >= 101", "score.items.text < 60 % with n >= 50")
        assert one(given, part(text=0.9)).verdict is AMBIGUOUS
        assert one(given, part(text=0.5)).verdict is FAIL


class TestMissingSamples:
    def test_few_missing_do_not_put_a_count_in_doubt_and_are_said(self) -> None:
        result = one(INVENTED, part(missing=5))
        assert (result.verdict, result.reason) == (PASS, "0 == 0; 5 missing")

    def test_a_count_that_could_grow_is_open_when_many_are_missing(self) -> None:
        result = one(INVENTED, part(missing=6))
        assert result.verdict is AMBIGUOUS
        assert "6 of 100 samples are missing and could change it" in result.reason

    def test_what_was_found_fails_however_many_are_missing(self) -> None:
        assert one(INVENTED, part(hallucinated=(2, 2), missing=40)).verdict is FAIL


class TestRepeats:
    def test_all_cells_hold(self) -> None:
        result = one(JSON, part(repeated=Repeated(72, 0, 0)))
        assert (result.verdict, result.reason) == (PASS, "all 72 pass")
        assert (result.value.value, result.value.n, result.metric) == (1.0, 72, JSON_RULE)

    def test_the_cells_that_do_not_are_named(self) -> None:
        failing = ("03-hard (boxes): 1 of 3", "07-easy (rows): 0 of 3")
        result = one(JSON, part(repeated=Repeated(69, 3, 0, failing)))
        assert result.verdict is FAIL
        assert result.reason == ("69 of 72 pass; 3 failed: 03-hard (boxes): 1 of 3, 07-easy (rows): 0 of 3 and 1 more")
        assert result.value.value == pytest.approx(69 / 72)

    def test_one_that_does_not_fails_even_when_others_are_undecided(self) -> None:
        result = one(JSON, part(repeated=Repeated(5, 1, 2, ("a: 1 of 3",))))
        assert (result.verdict, result.reason) == (FAIL, "5 of 6 pass; 1 failed: a: 1 of 3; 2 undecided")

    def test_too_few_conclusive_repeats_leave_it_undecided(self) -> None:
        result = one(JSON, part(repeated=Repeated(71, 0, 1)))
        assert result.verdict is AMBIGUOUS
        assert result.reason == "undecided: 1 of 72 has repeats that are not conclusive and could change it"
        assert (result.value.n, result.value.n_missing) == (71, 1)

    def test_a_rule_that_was_never_looked_at_is_open_and_not_passed(self) -> None:
        assert one(JSON, part()).verdict is AMBIGUOUS
        assert one(JSON, part(repeated=Repeated(0, 0, 0))).verdict is AMBIGUOUS

    @pytest.mark.parametrize(
        ("repeated", "verdict"),
        [
            (Repeated(0, 72, 0), PASS),
            (Repeated(1, 71, 0), FAIL),
            (Repeated(1, 0, 71), FAIL),
            (Repeated(0, 71, 1), AMBIGUOUS),
        ],
    )
    def test_a_fail_over_repeats_holds_as_soon_as_it_holds_once(self, repeated: Repeated, verdict: Verdict) -> None:
        given = criterion("odd", "score.items.text >= 80 %", JSON_RULE)
        assert one(given, part(repeated=repeated)).verdict is verdict


class TestSlices:
    STAR = criterion("all", "variant.*.score.items.text >= 80 %", "variant.*.score.items.text < 60 %")

    def of(self, *texts: float | None, given: dict[str, Any] = STAR) -> GateResult:
        variants = [part(text=text, factor="variant", name=f"v{i}") for i, text in enumerate(texts)]
        (result,) = decision([given], part(), *variants).gates
        return result

    def test_every_slice_must_pass_and_one_that_fails_is_enough(self) -> None:
        assert self.of(0.9, 0.8).verdict is PASS
        assert self.of(0.9, 0.7).verdict is AMBIGUOUS
        assert self.of(0.9, 0.5).verdict is FAIL

    @pytest.mark.parametrize("texts", [(0.5, None), (None, 0.5), (0.9, None, 0.5)])
    @pytest.mark.parametrize("fails", [None, STAR["fail"]])
    def test_one_that_fails_is_enough_beside_one_that_is_open(
        self, texts: tuple[float | None, ...], fails: str | None
    ) -> None:
        result = self.of(*texts, given=self.STAR | {"fail": fails})
        assert result.verdict is FAIL
        assert result.reason.startswith(f"variant.v{texts.index(0.5)}.score.items.text: 50.0 % ")

    @pytest.mark.parametrize("texts", [(0.9, None), (None, 0.9), (None, None)])
    @pytest.mark.parametrize("fails", [None, STAR["fail"]])
    def test_one_that_is_open_keeps_the_others_from_passing(
        self, texts: tuple[float | None, ...], fails: str | None
    ) -> None:
        assert self.of(*texts, given=self.STAR | {"fail": fails}).verdict is AMBIGUOUS

    def test_the_slice_that_decides_is_named(self) -> None:
        assert self.of(0.9, 0.5, 0.4).reason == "variant.v1.score.items.text: 50.0 % < 60.0 %; 1 more alike"
        assert "variant.v1.score.items.text: 70.0 % is not >= 80.0 %" in self.of(0.9, 0.7).reason


class TestGatesAndCriteriaTogether:
    def test_both_decide(self) -> None:
        held = decision([TEXT], part(), gates=["average >= 50 %"])
        assert (held.verdict, held.reasons) == (PASS, ("1 gate and 1 criterion pass",))
        assert [each.name for each in held.gates] == ["", "text"]
        assert decision([TEXT], part(), gates=["average >= 90 %"]).verdict is FAIL
        assert decision([TEXT], part(text=0.5), gates=["average >= 50 %"]).verdict is FAIL
        assert decision([TEXT], part(text=0.7), gates=["average >= 50 %"]).verdict is AMBIGUOUS

    def test_a_single_criterion_that_holds_is_said(self) -> None:
        assert decision([TEXT], part()).reasons == ("the criterion passes",)

    def test_only_secondary_criteria_decide_nothing(self) -> None:
        found = decision([GROUPING], part(grouping=0.1))
        assert found.verdict is None
        assert exit_code(found.verdict) == 0
        assert found.reasons == (
            "all criteria are secondary, so none decides",
            "secondary: grouping: 10.0 % is not >= 70.0 %",
        )

    def test_a_gate_decides_beside_secondary_criteria(self) -> None:
        assert decision([GROUPING], part(grouping=0.1), gates=["average >= 50 %"]).verdict is PASS

    def test_an_invalid_run_is_invalid_whatever_the_criteria_say(self) -> None:
        assert decision(SEED, part(missing=6)).verdict is INVALID
        assert decision(SEED, part(), state=RunState.INTERRUPTED).verdict is INVALID

    def test_a_suspect_run_never_passes_and_can_fail(self) -> None:
        assert decision([TEXT], part(), suspect=("no tokens",)).verdict is AMBIGUOUS
        assert decision([TEXT], part(text=0.1), suspect=("no tokens",)).verdict is FAIL

    def test_a_run_stored_before_there_were_criteria_is_decided_by_its_gates(self) -> None:
        summary = a_summary("", part())
        assert decide(summary, SuiteModel(gates=("average >= 50 %",))).verdict is PASS


class TestByVariant:
    GOOD = part(text=0.9, factor="variant", name="rows", repeated=Repeated(24, 0, 0))
    MIDDLING = part(text=0.7, factor="variant", name="boxes", repeated=Repeated(23, 1, 0, ("a: 1 of 3",)))
    BAD = part(text=0.5, factor="variant", name="piles", repeated=Repeated(24, 0, 0))

    def test_each_variant_is_decided_on_its_own_samples(self) -> None:
        found = decision(SEED, part(text=0.7, repeated=Repeated(71, 1, 0)), self.GOOD, self.MIDDLING, self.BAD)
        assert [(each.variant, each.verdict) for each in found.by_variant] == [
            ("rows", PASS),
            ("boxes", AMBIGUOUS),
            ("piles", FAIL),
        ]
        boxes = found.by_variant[1].criteria
        assert [(each.name, each.verdict) for each in boxes] == [
            ("text", AMBIGUOUS),
            ("invented", PASS),
            ("grouping", PASS),
            ("json", FAIL),
        ]
        assert boxes[0].value.value == 0.7
        assert boxes[3].value.value == pytest.approx(23 / 24)

    def test_gates_of_the_whole_run_do_not_decide_for_a_variant(self) -> None:
        found = decision([TEXT], part(), self.GOOD, self.BAD, gates=["average >= 90 %"])
        assert found.verdict is FAIL
        assert found.by_variant[0].verdict is PASS
        assert [each.name for each in found.by_variant[0].criteria] == ["text"]

    def test_a_variant_with_too_many_missing_is_invalid_and_the_others_are_not(self) -> None:
        broken = part(text=0.9, factor="variant", name="boxes", missing=20)
        whole = changed(part(missing=20), 200, outcomes={"scored": 180, "target_failed": 20})
        found = decision([TEXT], whole, self.GOOD, broken)
        assert [each.verdict for each in found.by_variant] == [PASS, INVALID]

    def test_samples_that_never_came_put_every_variant_in_doubt(self) -> None:
        whole = changed(part(), 300, outcomes={"scored": 200})
        assert {each.verdict for each in decision([TEXT], whole, self.GOOD, self.BAD).by_variant} == {INVALID}

    def test_a_suspect_run_has_no_variant_that_passes(self) -> None:
        found = decision([TEXT], part(), self.GOOD, self.BAD, suspect=("all answers are identical",))
        assert [each.verdict for each in found.by_variant] == [AMBIGUOUS, FAIL]

    def test_one_variant_no_criteria_or_only_secondary_ones_give_no_table(self) -> None:
        assert decision([TEXT], part(), self.GOOD).by_variant == ()
        assert decision([], part(), self.GOOD, self.BAD, gates=["average >= 0.5"]).by_variant == ()
        assert decision([GROUPING], part(), self.GOOD, self.BAD).by_variant == ()

    def test_a_criterion_on_other_slices_is_left_out_and_one_on_variants_is_kept(self) -> None:
        every = criterion("every", "variant.*.average >= 50 %")
        other = criterion("other", "category.*.average >= 50 %")
        found = decision([every, other, TEXT], part(), self.GOOD, self.BAD)
        assert [[each.name for each in variant.criteria] for variant in found.by_variant] == [["every", "text"]] * 2
        assert found.by_variant[0].criteria[0].metric == "variant.rows.average"


@pytest.mark.parametrize(
    ("gate", "value", "verdict"),
    [
        ("score.items.text >= 80 %", 0.85, PASS),
        ("score.items.grouping > 90 %", 0.9, FAIL),
        ("score.items.nothing >= 1 %", None, AMBIGUOUS),
        ("score.other.text >= 1 %", None, AMBIGUOUS),
        ("findings.HALLUC.samples <= 2", 2.0, PASS),
        ("findings.HALLUC <= 2", 3.0, FAIL),
        ("findings.OTHER.samples <= 2", None, AMBIGUOUS),
    ],
)
def test_gates_stand_on_measures_and_on_samples_with_a_code(gate: str, value: float | None, verdict: Verdict) -> None:
    (result,) = evaluate([gate], a_summary("", part(hallucinated=(3, 2))))
    assert (result.value.value, result.verdict) == (value, verdict)
