"""A comparison in four forms: what differs first, then the answer, how sure, and what moved; no figure without n."""

import json
import re
from dataclasses import replace
from html import unescape
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from parts import comparisons
from parts.columns import Made
from parts.compared import compared
from parts.views import Shown, squeezed
from steelyard.comparing import change_texts as changes
from steelyard.comparing import report, sentences
from steelyard.comparing.compare import compare
from steelyard.comparing.model import Comparison, SliceChange
from steelyard.comparing.report import FORMAT
from steelyard.comparing.sentences import left_out
from steelyard.pairing.model import Confusions, MetricChange, Moved, NotCompared
from steelyard.report.render.html import to_html
from steelyard.report.render.markdown import to_markdown
from steelyard.report.render.terminal import print_document
from steelyard.stats.intervals import Estimate

WORDS = {
    "better": "BETTER",
    "worse": "WORSE",
    "cannot_tell": "CANNOT TELL",
    "same": "SAME",
    "another_judge": "CANNOT TELL",
    "other_truth": "CANNOT TELL",
    "inconclusive_in_b": "CANNOT TELL",
    "nothing_comparable": "CANNOT TELL",
    "regenerated": "CANNOT TELL",
    "old_run": "CANNOT TELL",
    "invalid": "CANNOT TELL",
    "no_pass_rule": "BETTER",
}


def printed(comparison, width=80):
    out = StringIO()
    print_document(report.document(comparison), Console(file=out, width=width, color_system=None))
    return out.getvalue()


def views(comparison):
    """What a reader sees in the terminal, in Markdown and in HTML."""
    yield squeezed(printed(comparison))
    yield squeezed(unescape(to_markdown(report.document(comparison))).replace("\u200b", "").replace("**", ""))
    yield squeezed(Shown(to_html(report.document(comparison))).text)


def tables_of(comparison):
    return [*report.main_tables(comparison), *report.other_tables(comparison)]


def change(value=0.4, low=0.1, high=0.7, unit="share", p=0.02, n=20, **more):
    """One figure from 0.5 to 0.5 + value."""
    sides = Estimate(0.5, n), Estimate(0.5 + (value or 0.0), n)
    told = {"verdict": Moved.BETTER, "p": p, "p_adjusted": p} | more
    return MetricChange("x", "components", unit, "higher", *sides, Estimate(value, n, 0, low, high), **told)


@pytest.mark.parametrize("name", WORDS)
def test_every_view_says_the_same_word_and_sentence_before_any_table(name):
    comparison = comparisons.ALL[name]()
    assert sentences.verdict_word(comparison) == WORDS[name]
    for view in views(comparison):
        answer = squeezed(sentences.answer(comparison))
        assert WORDS[name] in view
        assert view.index(answer) < view.index("What moved") < view.index("Pairs")
        assert squeezed(sentences.counts(comparison)) in view


@pytest.mark.parametrize("name", ["better", "another_judge", "rich"])
def test_the_first_screen_holds_the_whole_answer(name):
    screen = squeezed("\n".join(printed(comparisons.ALL[name]()).splitlines()[:30]))
    assert WORDS.get(name, "BETTER") in screen
    assert "Significance" in screen
    assert "of 20 comparable pairs" in screen or "of 47 comparable pairs" in screen


def test_the_answer_says_how_sure_it_is_and_what_could_have_been_shown():
    text = squeezed(printed(comparisons.better()))
    assert "BETTER B is better: pass rate 50.0 % -> 90.0 % (+40.0 points [" in text
    # Exact McNemar of 9 against 1: 2 x (1 + 10) / 2^10 = 0.0215.
    assert "Significance p = 0.021" in text
    assert re.search(r"Detectable minimum detectable difference [\d.]+ points, with 20 cases and 80 % power", text)


def test_another_judge_is_said_first_and_in_words():
    for view in views(comparisons.another_judge()):
        told = "the judge differs: scores of A and B are not on one scale"
        assert view.index(told) < view.index("Significance")
        assert "Significance none" in view
        # The figure is shown, and called neither better nor worse.
        assert "neither better nor worse: pass rate 50.0 % -> 90.0 % (+40.0 points" in view
        assert "no other figure moved" not in view


def test_a_verdict_asked_for_anyway_says_in_spite_of_what():
    for view in views(comparisons.another_judge(allow_mismatch=True)):
        assert "B is better" in view
        assert "Overridden the judge differs" in view


def test_cases_with_another_truth_are_named_and_no_part_of_any_figure():
    comparison = comparisons.other_truth()
    for view in views(comparison):
        assert "the truth of 3 cases changed: c00, c01, c02; excluded" in view
        assert "of 17 comparable pairs (17 cases); 3 not comparable" in view
        assert re.search(r"another truth:? ?\|? ?3", view)
    assert all(row[6] == "17" for row in report.main_figures(comparison).rows)


def test_samples_without_a_reading_are_listed_and_never_a_change():
    comparison = comparisons.inconclusive_in_b()
    assert sentences.counts(comparison).startswith("0 fixed, 3 broken, 0 unchanged of 3 comparable pairs")
    for view in views(comparison):
        assert "14 of 17 pairs are inconclusive on one side" in view
        assert "inconclusive in B" in view
        assert all(name in view for name in ("c00", "c01", "c02", "c03"))
    assert "inconclusive in B 14: c00, c01, c02, c03 and 10 more" in squeezed(printed(comparison))


def test_every_reason_against_a_verdict_is_said_once():
    comparison = replace(comparisons.nothing_comparable(), headline=comparisons.invalid().headline)
    told = replace(comparison.headline, sentence="cannot tell: no sample", confounded_by=("B is INVALID", "no reading"))
    assert sentences.significance(replace(comparison, headline=told))[:3] == [
        ("Significance", "none"),
        ("Besides", "B is INVALID"),
        ("Besides", "no reading"),
    ]
    for view in views(comparisons.invalid()):
        assert view.count("run B is INVALID") == 1


def test_without_a_pair_both_sides_stand_side_by_side_under_what_that_can_show():
    comparison = comparisons.regenerated()
    titles = [
        table.title for table in (*report.main_tables(comparison), *report.other_tables(comparison)) if table.rows
    ]
    assert titles == [
        f"Without pairs: {kind}"
        for kind in (
            "figures",
            "failures",
            "by category",
            "samples with a finding",
            "samples with a finding, by section",
            "samples with a confusion",
        )
    ]
    rows = {row[0]: row[1:] for table in report.unpaired(comparison) for row in table.rows}
    # 48 of 80 and 56 of 70 are the example of Newcombe (1998), method 10: 0.0524 to 0.3339.
    rate = ("60.0 %\n[49.0, 70.0]", "48 of 80, 5 missing", "80.0 %\n[69.2, 87.7]", "56 of 70", "+20.0\n[+5.2, +33.4]")
    assert rows["pass rate"] == rate
    assert (rows["target failed"][1], rows["target failed"][3]) == ("5 of 85", "0 of 70")
    assert (rows["WRONG_ROLE: style for shot"][1], rows["WRONG_ROLE: style for shot"][3]) == (
        "32 of 80, 5 missing",
        "0 of 70",
    )
    assert {"long: pass rate", "short: average score", "main", "specs", "WRONG_ROLE"} <= set(rows)
    for view in views(comparison):
        assert "a difference may be that of the cases, or of whatever else differs above, as well as" in view
        assert "Without pairs: by category" in view
    data = report.data(comparison)["unpaired"]
    assert data["figures"][0]["difference"]["low"] == pytest.approx(0.0524, abs=5e-5)
    assert {each["verdict"] for each in data["figures"]} == {"cannot tell"}
    for view in views(comparisons.nothing_comparable()):
        assert "no sample of A can be compared with one of B" in view
        assert "only in A" in view
        assert "only in B" in view
        assert "beyond noise" not in view


def test_what_an_old_run_does_not_have_is_said():
    for view in views(comparisons.old_run()):
        assert "run A does not say which scorers it was scored with" in view
        for told in ("component name: only B has it", "latency: only B has it", "cost: only B has it"):
            assert told in view


def test_what_is_left_out_for_one_reason_is_reported_together_and_kept_whole_as_data():
    names = [f"spans.{kind}_{figure}" for kind in ("strict", "type") for figure in ("precision", "recall", "f1")]
    out = tuple(NotCompared("measure", name, "only B has it") for name in names)
    out += (NotCompared("measure", "other.f1", "only B has it"), NotCompared("cost", "", "only B has it"))
    comparison = replace(comparisons.better(), not_compared=out)
    together = "6 measures of spans: only B has them (strict_precision, strict_recall, strict_f1 and 3 more)"
    assert left_out(out) == [together, "measure other.f1: only B has it", "cost: only B has it"]
    for view in views(comparison):
        assert together in view
        assert "spans.type_f1" not in view
    assert [each["name"] for each in report.data(comparison)["not_compared"]] == [*names, "other.f1", ""]


def test_what_the_average_shows_beyond_noise_and_the_pass_rate_does_not_stands_in_the_answer():
    for view in views(comparisons.only_the_average_fell()):
        answer = view[: view.index("What moved")]
        assert "pass rate 100.0 % -> 100.0 %" in answer
        assert "; but the average score fell beyond noise: average score 95.0 % -> 80.0 % (-15.0 points [" in answer
        assert "20 cases, p < 0.001)" in answer
        # Said once.
        assert view.count("average score 95.0 % -> 80.0 %") == 1


def test_failures_have_a_table_only_where_something_failed():
    rows = {row[0]: row for row in report.failures(comparisons.inconclusive_in_b()).rows}
    assert rows["inconclusive"][1:4] == ("0.0 %", "82.4 %", "+82.4")
    # 14 of 17 pairs lost their reading: no case is better.
    assert (rows["inconclusive"][6], *rows["inconclusive"][-2:]) == ("17", "0/3/14", "worse")
    assert "target failed" not in rows
    assert report.failures(comparisons.better()).rows == []
    assert "worse: inconclusive 0.0 % -> 82.4 %" in squeezed(printed(comparisons.inconclusive_in_b()))


def test_what_has_no_weight_has_a_table_of_its_own_and_comes_last():
    comparison = comparisons.said_beside()
    assert "score.shot_coverage.points" not in str(report.main_figures(comparison).rows)
    table = report.extra(comparison)
    assert [row[0] for row in table.rows] == ["score.shot_coverage.points (1..5)", "count.reasons.header"]
    assert table.note == "1 of 3 did not move"
    moved = sentences.what_moved(comparison)
    first, last = (next(i for i, told in enumerate(moved) if name in told) for name in ("score.name", "shot_coverage"))
    assert first < last


def test_without_a_pass_rule_scores_rise_and_fall():
    comparison = comparisons.no_pass_rule()
    assert sentences.counts(comparison) == (
        "15 rose, 0 fell, 0 level of 15 comparable pairs (15 cases); 0 not comparable"
    )
    assert "Fixed" not in printed(comparison)


def test_scores_that_move_within_a_side_of_the_pass_rule_have_lists_of_their_own():
    labels = [label for label, _ in sentences.pair_lists(comparisons.rich())]
    assert labels == [
        "Fixed",
        "Broken",
        "Unchanged",
        "Score rose",
        "Score fell",
        "Not comparable",
        "  inconclusive in A",
    ]
    assert "Score rose" not in printed(comparisons.better())


def test_every_row_of_figures_has_difference_interval_p_n_and_verdict():
    table = report.main_figures(comparisons.better())
    titles = [column.title for column in table.columns]
    assert titles == ["Figure", "A", "B", "Difference", "95 % interval", "p", "n", "Effect", "W/T/L", "Verdict"]
    # 9 fixed and 1 broken of 20: Bonett and Price add one to both, (10 - 2) / 22 around its standard error
    # sqrt((10 + 2) / 22 - (8 / 22)^2) / sqrt(22) times 1.96: 0.3636 -+ 0.2687.
    # Mean 0.4, variance (10 - 20 x 0.16) / 19 = 0.3579: effect 0.4 / 0.5982 = 0.67.
    told = ("pass rate", "50.0 %", "90.0 %", "+40.0", "[+9.5, +63.2]", "0.021", "20", "+0.67", "9/10/1", "better")
    assert table.rows[0] == told
    assert "(Holm)" in table.signature


def test_effect_size_and_sides_stand_beside_how_sure():
    told = "+0.67 standard deviations of a case's difference; cases better 9, the same 10, worse 1"
    for view in views(comparisons.better()):
        assert told in squeezed(view)


def test_the_method_names_its_seed_and_how_p_values_are_adjusted():
    for view in views(comparisons.better()):
        assert "seed 20250101" in squeezed(view)
        assert "sign flips" in squeezed(view)
        assert "(Holm)" in squeezed(view)


def test_repeats_and_variants_are_reported_as_pairs_of_fewer_cases():
    comparison = comparisons.rich()
    rows = {row[0]: row for row in report.main_figures(comparison).rows}
    # 24 cases under two variants, of which one sample failed.
    assert rows["pass rate"][6] == "47 (24)"
    assert "n 47 of 24 cases" in squeezed(printed(comparison))


def test_groups_that_moved_are_listed_what_is_beyond_noise_first():
    comparison = comparisons.better()
    by_factor = {table.columns[0].title: table for table in report.slices(comparison)}
    rows = by_factor["Difficulty"].rows
    assert rows[0][:6] == ("hard", "9", "0", "0.0 %", "90.0 %", "+90.0")
    # Of the figures beside the one that decides only what is beyond noise is shown.
    assert [(row[0], row[-1]) for row in rows] == [
        ("hard", "better"),
        ("hard: average score", "better"),
        ("hard: score.name.points", "better"),
        ("easy", "cannot tell"),
    ]
    # All samples have the one tag: it says nothing that the whole does not.
    assert "Tag" not in by_factor
    for view in views(comparison):
        assert "better in difficulty hard: pass rate 0.0 % -> 90.0 %" in view


def test_groups_that_did_not_move_are_counted_and_not_shown():
    assert [table.rows for table in report.slices(comparisons.same())] == [[], []]
    assert report.unmoved_slices(comparisons.same()) == (
        "nothing moved by category: pass rate, by difficulty: pass rate"
    )
    still, moved = change(value=0.0, verdict=Moved.SAME), change()
    groups = (SliceChange("tag", "a", 20, 20, 0, 0, (still,)), SliceChange("tag", "b", 20, 20, 8, 0, (moved,)))
    table = report.slices(replace(comparisons.better(), slices={"tag": groups}))[0]
    assert [row[0] for row in table.rows] == ["b: x"]
    assert table.note == "1 of 2 groups did not move"
    assert "adjusted over the groups (Holm)" in table.signature


def test_findings_and_confusions_that_are_new_or_resolved_are_said():
    comparison = comparisons.rich()
    moved = sentences.what_moved(comparison)
    assert "new findings, in 47 pairs: TOO_FINE 0 -> 12" in moved
    assert "resolved findings, in 47 pairs: MISSED 47 -> 0" in moved
    assert any(told.startswith("4 confusions, 3 new, 1 fewer: WRONG_ROLE camera.angle for shot.type") for told in moved)
    rows = report.codes(comparison).rows
    assert [(row[0], *row[1:6]) for row in rows[:2]] == [
        ("MISSED", "47", "0", "47", "0", "resolved"),
        ("TOO_FINE", "0", "12", "0", "12", "new"),
    ]
    assert report.confusions(comparison).rows[0] == (
        "shot.type",
        "camera.angle",
        "WRONG_ROLE",
        "0",
        "23",
        "new",
    )


def test_confusions_beyond_those_listed_are_counted():
    comparison = comparisons.rich()
    listed = replace(comparison.confusions, listed=comparison.confusions.listed[:1])
    few = report.confusions(replace(comparison, confusions=listed))
    assert few.note == "4 confusions, 3 new, 1 fewer, in 47 comparable pairs"
    assert few.left_off(12) == 3
    assert report.confusions(replace(comparison, confusions=Confusions())).rows == []


def test_sections_have_counts_and_findings_a_sample():
    rows = {row[0]: row for row in report.sections(comparisons.rich()).rows}
    # 47 pairs: one finding of A in each, none in B.
    assert rows["specs"][1:6] == ("47", "0", "1.00", "0.00", "-1.00")
    assert rows["specs"][-4::3] == ("47 (24)", "better")
    assert rows["specs"][-2] == "24/0/0"
    assert ("specs", "MISSED", "47", "0", "resolved") in report.section_codes(comparisons.rich()).rows


def test_latency_and_cost_have_their_units():
    rows = {row[0]: row for row in report.spending(comparisons.rich()).rows}
    assert rows["latency.p50"][1].endswith(" s")
    assert rows["latency.p50"][3].startswith("+3")
    assert rows["latency.p50"][3].endswith(" ms")
    assert (rows["cost"][2], rows["tokens.in"][2]) == ("0.000900", "1,100")
    assert rows["cost"][3].startswith("-0.0003")


@pytest.mark.parametrize(
    ("value", "unit", "message"),
    [
        (0.4, "share", "+40.0"),
        (-0.0004, "share", "-0.04"),
        (0.0, "share", "0.0"),
        (-0.0, "share", "0.0"),
        (None, "share", "n/a"),
        (-0.25, "points", "-0.25"),
        (0.001, "count", "+0.001"),
        (-0.25, "seconds", "-250 ms"),
        (1.5, "seconds", "+1.50 s"),
        (-0.000312, "cost", "-0.000312"),
        (-1234.5, "tokens", "-1,234.5"),
    ],
)
def test_a_difference_has_its_sign_and_never_looks_like_nothing(value, unit, message):
    assert changes.difference(change(value=value, unit=unit)) == message


@pytest.mark.parametrize(
    ("p", "message"), [(0.00004, "<0.001"), (0.0215, "0.021"), (0.04996, "0.04996"), (0.05, "0.050"), (None, "n/a")]
)
def test_a_p_value_is_never_rounded_onto_the_line(p, message):
    assert changes.chance(change(p=p)) == message


def test_a_missing_reading_stands_beside_n():
    told = replace(change(), a=Estimate(0.5, 18, 2))
    assert changes.base(told) == "18 (20),\n2 missing"
    assert "n 18 of 20 cases, 2 missing" in changes.sentence(told)


@pytest.mark.parametrize("name", comparisons.ALL)
def test_the_comparison_fits_80_columns(name):
    assert max(map(len, printed(comparisons.ALL[name]()).splitlines())) <= 80


def test_a_role_named_like_a_verdict_is_no_verdict():
    page = to_html(report.document(comparisons.hostile()))
    confusions = page.partition(">Confusions</h2>")[2].partition("</section>")[0]
    assert ">better</td>" in confusions
    assert "badge" not in confusions


@pytest.mark.parametrize("name", comparisons.ALL)
def test_every_comparison_is_strict_json(name):
    data = report.data(comparisons.ALL[name]())
    text = json.dumps(data, allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode("utf-8")) == data


def test_the_data_holds_everything():
    data = report.data(comparisons.better())
    assert data["format"] == FORMAT == "steelyard.compare/1"
    assert (data["verdict"], data["headline"]["metric"]) == ("better", "pass_rate")
    assert (data["a"]["id"], data["b"]["id"]) == ("made-1", "made-2")
    assert (data["pairs"]["fixed"]["count"], data["pairs"]["comparable"]) == (9, 20)
    assert data["pairs"]["fixed"]["lines"][0] == {"case_id": "c10", "variant": "", "repeat": 0, "a": 0.0, "b": 1.0}
    rate = data["metrics"][0]
    assert (rate["name"], rate["a"]["n"], rate["difference"]["n"]) == ("pass_rate", 20, 20)
    assert rate["p"] == pytest.approx(22 / 1024)
    assert [each["name"] for each in data["slices"]["difficulty"]] == ["easy", "hard"]
    aside = report.data(comparisons.inconclusive_in_b())["pairs"]
    assert (aside["n_not_comparable"], aside["not_comparable"][0]["why"]) == (14, "inconclusive in B")
    assert aside["not_comparable"][0]["count"] == 14


def names_in(value):
    """The names of data, save those of which each suite has its own: signature, target, groups and counts."""
    if isinstance(value, list):
        return set().union(*map(names_in, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    own = {"signature", "target", "slices", "counts"}
    inside = [each for key, each in value.items() if key not in own]
    inside += [group for found in value.get("slices", {}).values() for group in found]
    return set(value).union(*map(names_in, inside))


def test_every_name_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "reports.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", page.partition("\n## Comparisons\n")[2].partition("\n## ")[0]))
    found = names_in(report.data(comparisons.rich())) | names_in(report.data(comparisons.other_truth()))
    assert len(found) > 60
    assert found - {"value", "n", "n_missing", "low", "high", "constant", "at_least"} - documented == set()


def test_nothing_of_the_model_is_left_out_of_the_data():
    data = report.data(comparisons.rich())
    assert set(Comparison.__dataclass_fields__) <= set(data)


def test_what_moved_beyond_noise_is_shown_when_some_figures_must_be_left_off():
    comparison = comparisons.better()
    first = next(one for one in comparison.metrics if one.group in ("headline", comparison.metrics[0].group))
    still = [replace(first, name=f"still.{n}", verdict=Moved.SAME) for n in range(20)]
    fell = replace(first, name="fell.last", verdict=Moved.WORSE)
    many = replace(comparison, metrics=(*still, fell))
    names = [row[0] for row in report.main_figures(many).rows]
    assert names[:5] == ["still.0", "still.1", "fell.last", "still.2", "still.3"]
    # Nothing is left off: the order stays.
    few = replace(comparison, metrics=(*still[:5], fell))
    assert [row[0] for row in report.main_figures(few).rows][-1] == "fell.last"


def test_a_section_with_more_errors_is_said_at_the_top():
    a, b = ([Made(f"c{k}", 1.0, findings=("X",) * n) for k in range(20)] for n in (1, 2))
    found = compare(compared(a, sections=["main"] * 20), compared(b, id="made-2", sections=["main"] * 40))
    told = "worse: findings a sample in main 1.00 -> 2.00 (+1.00"
    assert any(line.startswith(told) for line in sentences.what_moved(found))
    sides = [
        compared(a, sections=["main"] * 18 + [""] * 2),
        compared(b, id="made-2", sections=["main"] * 2 + [""] * 38),
    ]
    moved = sentences.what_moved(compare(sides[0], sides[1]))
    assert any("worse: findings a sample in no section 0.10 -> 1.90 (" in line for line in moved)
