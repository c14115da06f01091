"""What gates people may write, and what they are told otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from parts.looped import for_every
from steelyard.metrics.expression_checks import SuiteNames, cannot_fail, check_gate
from steelyard.metrics.expressions import OPERATORS, Gate, parse_gate
from steelyard.metrics.registry import gate_metrics

DOCS = Path(__file__).parents[2] / "docs" / "reference"


KNOWN = SuiteNames(
    components={"name": [], "value": ["exact", "near"], "broken": None},
    codes=["NAME", "VALUE", "FORMAT"],
    bands=["Good", "Poor"],
    slices={"category": ["invoices", "hand written"], "difficulty": [], "tag": ["new.old"]},
)


def complaint(text: str) -> str:
    with pytest.raises(ValueError) as caught:
        parse_gate(text)
    return str(caught.value)


def check(text: str) -> str | None:
    return check_gate(parse_gate(text), KNOWN)


class TestParsing:
    @for_every(
        ("text", "metric", "operator", "threshold", "unit"),
        [
            ("pass_rate >= 90 %", "pass_rate", ">=", 0.9, "share"),
            ("pass_rate>=90%", "pass_rate", ">=", 0.9, "share"),
            ("average > 0.6", "average", ">", 0.6, "score"),
            ("median >= .75", "median", ">=", 0.75, "score"),
            ("malformed_rate <= 1 %", "malformed_rate", "<=", 0.01, "share"),
            ("band.Good >= 50 %", "band.Good", ">=", 0.5, "share"),
            ("score.name.average >= 0.7", "score.name.average", ">=", 0.7, "score"),
            ("score.items.text >= 80 %", "score.items.text", ">=", 0.8, "share"),
            ("findings.HALLUC == 0", "findings.HALLUC", "==", 0.0, "count"),
            ("findings.HALLUC.samples > 1", "findings.HALLUC.samples", ">", 1.0, "count"),
            ("findings.HALLUC.rate < 2 %", "findings.HALLUC.rate", "<", 0.02, "share"),
            ("findings.total <= 12", "findings.total", "<=", 12.0, "count"),
            ("latency.p95 <= 1500 ms", "latency.p95", "<=", 1.5, "s"),
            ("latency.mean <= 1.5 s", "latency.mean", "<=", 1.5, "s"),
            ("latency.max <= 30", "latency.max", "<=", 30.0, "s"),
            ("cost.total <= 1.25", "cost.total", "<=", 1.25, "cost"),
            ("tokens.out != 0", "tokens.out", "!=", 0.0, "tokens"),
        ],
    )
    def test_a_gate_says_metric_operator_and_threshold(
        self, text: str, metric: str, operator: str, threshold: float, unit: str
    ) -> None:
        gate = parse_gate(text)
        assert (gate.metric, gate.operator, gate.threshold, gate.unit) == (metric, operator, threshold, unit)
        assert (gate.factor, gate.slice, gate.min_n, gate.text) == (None, None, 1, text)

    @pytest.mark.parametrize(
        ("text", "factor", "name"),
        [
            ("category.*.average >= 0.60 with n >= 2", "category", "*"),
            ('category."hand written".average >= 0.6 with n >= 2', "category", "hand written"),
            ("category.hand written.average >= 0.6 with n>=2", "category", "hand written"),
            ("tag.'a.b >= c'.average >= 60 % with n >= 2", "tag", "a.b >= c"),
            ("variant.temperature=0.average >= 60 % with n >= 2", "variant", "temperature=0"),
        ],
    )
    def test_a_slice_stands_before_the_metric(self, text: str, factor: str, name: str) -> None:
        gate = parse_gate(text)
        assert (gate.factor, gate.slice, gate.metric, gate.min_n) == (factor, name, "average", 2)

    def test_small_slices_may_be_skipped(self) -> None:
        for text in (
            "category.*.average >= 0.6 with n >= 5 skip small",
            "tag.*.average >= @old with n >= 5 skip small",
        ):
            gate = parse_gate(text)
            assert (gate.min_n, gate.skip_small, gate.text) == (5, True, text)
        assert not parse_gate("category.*.average >= 0.6 with n >= 5").skip_small
        assert "some slices of many: write category.*" in complaint("average >= 0.6 with n >= 5 skip small")
        assert "some slices of many: write category.*" in complaint("category.x.average >= 0.6 with n >= 5 skip small")
        assert "with n >= 10 skip small" in complaint("category.*.average >= 0.6 skip small")

    def test_a_share_is_exact(self) -> None:
        assert [parse_gate(f"average >= {n} %").threshold for n in range(101)] == [n / 100 for n in range(101)]

    def test_every_metric_of_the_table_can_be_written_with_every_operator(self) -> None:
        for name, metric in gate_metrics().items():
            for operator in OPERATORS:
                gate = parse_gate(f"{name.replace('<', '').replace('>', '')} {operator} 1")
                assert (gate.pattern, gate.unit) == (name, metric.unit)

    def test_a_measure_has_a_component_and_average_is_none(self) -> None:
        gate = parse_gate("category.x.score.items.text >= 80 %")
        assert (gate.pattern, gate.subject, gate.measure) == ("score.<component>.<measure>", "items", "text")
        readable = parse_gate("score.items.text.readable >= 80 %")
        assert (readable.metric, readable.names) == ("score.items.text.readable", ("items", "text"))
        average = parse_gate("score.items.average >= 80 %")
        assert (average.pattern, average.subject, average.measure) == ("score.<component>.average", "items", "")
        assert parse_gate("findings.A.samples == 0").subject == parse_gate("findings.A.rate < 1 %").subject == "A"


class TestMistakes:
    def test_a_bare_number_above_one_is_not_a_share(self) -> None:
        assert "90 is above 1: write 90 % or 0.9" in complaint("pass_rate >= 90")

    @for_every(
        ("text", "part"),
        [
            ("pas_rate >= 0.9", "did you mean pass_rate?"),
            ("latency.p955 <= 1 s", "did you mean latency.p95?"),
            ("scores.name.average >= 0.9", "did you mean score.<component>.average?"),
            ("category.a.md.average >= 0.9", "a name that holds a dot is quoted"),
            ("pass_rate = 0.9", "write == or >="),
            ("pass_rate", "has none of the operators"),
            ("", "has none of the operators"),
            (">= 0.9", "a name is missing"),
            ("pass_rate >= high", "'high' is not a number"),
            ("pass_rate >= nan", "'nan' is not a number"),
            ("pass_rate >= 0.9 with n > 3", "with n >= 10"),
            ("pass_rate >= 0.9 with n >= 0", "the least is 1"),
            ("pass_rate >= 120 %", "above 100 %"),
            ("average >= -0.1", "below 0"),
            ("cost.total <= 5 %", "is not measured in %"),
            ("average >= 5 ms", "is not measured in ms"),
            ("category.average >= 0.3", "category needs a slice and a metric"),
        ],
    )
    def test_a_mistake_is_explained(self, text: str, part: str) -> None:
        message = complaint(text)
        assert part in message
        assert repr(text) in message


class TestChecking:
    @for_every(
        "text",
        [
            "pass_rate >= 90 %",
            "score.name.average >= 0.5",
            "score.value.near >= 0.5",
            "score.broken.anything >= 0.5",
            "findings.FORMAT == 0",
            "findings.FORMAT.samples <= 2",
            "band.Poor <= 10 %",
            "category.*.average >= 0.5",
            "category.(none).average >= 0.5",
            'tag."new.old".average >= 0.5',
        ],
    )
    def test_a_gate_on_what_exists_is_fine(self, text: str) -> None:
        assert check(text) is None

    @for_every(
        ("text", "part"),
        [
            ("score.nmae.average >= 0.5", "no component 'nmae': did you mean name?"),
            ("score.value.neer >= 0.5", "no measure of value 'neer': did you mean near?"),
            ("score.value.avarage >= 0.5", "no measure of value 'avarage': did you mean average?"),
            ("score.name.near >= 0.5", "no measure of name 'near'; there are: average"),
            ("score.valu.near >= 0.5", "no component 'valu': did you mean value?"),
            ("findings.FROMAT.samples == 0", "no finding code 'FROMAT': did you mean FORMAT?"),
            ("findings.FROMAT == 0", "no finding code 'FROMAT': did you mean FORMAT?"),
            ("band.Excellent >= 0.5", "no band 'Excellent'; there are: Good, Poor"),
            ("category.invoic.average >= 0.5", "no category 'invoic': did you mean invoices?"),
            ("difficulty.*.average >= 0.5", "no case of this suite has a difficulty"),
            ("variant.*.average >= 0.5", "no case of this suite has a variant"),
            ("pass_rate >= 0", "cannot fail"),
        ],
    )
    def test_a_gate_on_what_does_not_exist_is_a_mistake(self, text: str, part: str) -> None:
        assert part in (check(text) or "")

    def test_a_pass_rate_needs_a_pass_rule(self) -> None:
        gate = parse_gate("pass_rate >= 0.9")
        message = check_gate(gate, SuiteNames(passing=False))
        assert "write pass: score >= 75 %" in (message or "")


class TestGatesThatDecideNothing:
    @pytest.mark.parametrize(
        "text",
        [
            "pass_rate >= 0",
            "average <= 1",
            "median <= 100 %",
            "findings.FORMAT >= 0",
            "findings.FORMAT != 0.5",
            "latency.p95 >= 0 ms",
            "cost.total >= 0",
        ],
    )
    def test_what_every_run_passes(self, text: str) -> None:
        assert "cannot fail" in (cannot_fail(parse_gate(text)) or "")

    @pytest.mark.parametrize(
        "text", ["pass_rate > 1", "average < 0", "findings.FORMAT < 0", "findings.FORMAT == 0.5", "latency.p50 < 0"]
    )
    def test_what_no_run_passes(self, text: str) -> None:
        assert "cannot pass" in (cannot_fail(parse_gate(text)) or "")

    @pytest.mark.parametrize(
        "text", ["pass_rate >= 1", "pass_rate == 1", "average <= 0", "findings.FORMAT == 0", "malformed_rate < 1"]
    )
    def test_the_ends_themselves_can_be_asked_for(self, text: str) -> None:
        assert cannot_fail(parse_gate(text)) is None

    def test_no_verdict_is_certain_for_a_gate_that_is_let_through(self) -> None:
        """Compared with a brute-force search over the values that the metric can take."""
        compare = {">=": float.__ge__, "<=": float.__le__, ">": float.__gt__, "<": float.__lt__}
        compare |= {"==": float.__eq__, "!=": float.__ne__}
        reachable = {"score": [0.0, 0.25, 0.5, 0.75, 1.0], "count": [0.0, 1.0, 2.0, 1e6]}
        for metric in ("average", "findings.X"):
            unit = parse_gate(f"{metric} >= 1").unit
            for operator, holds in compare.items():
                for threshold in ("0", "0.5", "1"):
                    gate: Gate = parse_gate(f"{metric} {operator} {threshold}")
                    results = {holds(value, gate.threshold) for value in reachable[unit]}
                    # Of all the means there are, one is 0.5.
                    by_coincidence = gate.text == "average != 0.5"
                    assert (cannot_fail(gate) is None) == (results == {True, False} and not by_coincidence), gate.text

    @pytest.mark.parametrize(
        ("text", "refused"), [("pass_rate != 12.3 %", True), ("pass_rate != 0", False), ("tokens.out != 7", False)]
    )
    def test_what_only_a_coincidence_fails(self, text: str, refused: bool) -> None:
        assert ("by coincidence" in (cannot_fail(parse_gate(text)) or "")) is refused


@for_every("name", gate_metrics())
def test_every_metric_is_documented(name: str) -> None:
    assert f"`{name}`" in (DOCS / "metrics.md").read_text()


def test_every_operator_and_factor_is_documented() -> None:
    text = (DOCS / "gates.md").read_text()
    for word in (*OPERATORS, "category.", "difficulty.", "variant.", "tag.", "with n >="):
        assert word in text, word


def test_every_gate_shown_in_the_docs_is_one() -> None:
    blocks = (DOCS / "gates.md").read_text().split("```yaml")[1:]
    shown = [
        line.strip()[2:] for block in blocks for line in block.split("```")[0].splitlines() if line.strip()[:2] == "- "
    ]
    assert len(shown) >= 8
    for text in shown:
        assert cannot_fail(parse_gate(text.split("#")[0].strip().strip("'"))) is None, text
