"""The report card of a judge: verdict first, every figure with its n, the same in every view."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from parts.judged import health_of, judged, judged_suite, scored, vote
from parts.reports import header
from parts.views import Shown, card_to_html, card_to_json, card_to_markdown, print_card, squeezed
from steelyard.judge_checks.build import Example, JudgeCard, check_health
from steelyard.judge_checks.card import (
    agreement,
    all_tables,
    confusions,
    document,
    flags,
    headline,
    standing,
    thresholds,
)
from steelyard.records import Mode, Verdict
from steelyard.report.document import Section
from steelyard.store.base import Spending
from steelyard.suite.judge import Dimension, Flag, Rubric
from steelyard.suite.labels import Label

RUBRIC = Rubric(dimensions=(Dimension(name="tone"), Dimension(name="overall")), flags=(Flag(name="harm"),))
RIGHT = {"tone": Label(3, 2, 4), "overall": Label(3, 3, 3), "harm": False}
ASKED = ("agreement.tone.exact >= 70 %", "top_share.overall <= 10 %", "broken_rules <= 5 %")


def card(samples=None, labels=None, asked=ASKED, **changes):
    """Four texts with 3, 3, 5 and 3 points in both dimensions, the third flagged; all are labelled 3 and unflagged."""
    if samples is None:
        samples = [scored(f"c{k}", 5 if k == 2 else 3, harm=k == 2, passed=k == 2) for k in range(4)]
    labels = {f"c{k}": RIGHT for k in range(4)} if labels is None else labels
    suite = judged_suite()
    health = health_of(samples, suite, labels, changes.pop("spending", None))
    checks = check_health(health, asked)
    found = JudgeCard(header(suite=suite, n_planned=len(samples)), health, checks, labels_at="expected.labels")
    return replace(found, outcomes={"scored": len(samples)}, **changes)


def printed(result, width=80):
    out = StringIO()
    print_card(result, Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_the_verdict_is_said_first():
    # None of 40 is in range; all fives are beyond 10 %; no rule was broken, which 40 texts do not show.
    samples = [scored(f"c{k}", 5, harm=k == 2) for k in range(40)]
    found = card(samples, {f"c{k}": RIGHT for k in range(40)})
    assert found.verdict is Verdict.FAIL
    assert headline(found) == "This judge is not fit: 2 of 3 thresholds missed, 1 not shown"
    assert "FAIL  This judge is not fit: 2 of 3 thresholds missed, 1 not shown" in printed(found).splitlines()[2]


@pytest.mark.parametrize(
    ("asked", "labels", "word", "stated"),
    [
        (
            ASKED[:1],
            None,
            "AMBIGUOUS",
            "This judge is not shown to be fit: 1 of 1 threshold not shown",
        ),
        (ASKED[:1], {}, "AMBIGUOUS", "This judge is not shown to be fit: 1 of 1 threshold not shown"),
        ((), None, "NO VERDICT", "The suite declares no thresholds for its judge: add them under judge.health"),
    ],
)
def test_what_cannot_be_decided_is_no_pass(asked, labels, word, stated):
    found = card(asked=asked, labels=labels)
    assert headline(found) == stated
    assert word in printed(found).splitlines()[2]


def test_a_judge_is_fit_by_the_whole_interval_of_every_threshold():
    samples = [scored(f"c{k}", 3) for k in range(80)]
    labels = {f"c{k}": RIGHT for k in range(80)}
    assert headline(card(samples, labels)) == "This judge is fit: 3 thresholds reached"
    # That none of 40 broke a rule does not show that fewer than 5 % would.
    fewer = headline(card(samples[:40], labels))
    assert fewer == "This judge is not shown to be fit: 1 of 3 thresholds not shown"


def test_an_invalid_run_is_neither_fit_nor_unfit():
    found = card(invalid=("none of 4 calls of the judge was answered",))
    assert found.verdict is Verdict.INVALID
    for view in (squeezed(printed(found)), card_to_markdown(found), card_to_html(found)):
        assert "neither fit nor unfit" in view
        assert "none of 4 calls of the judge was answered" in view


def test_a_threshold_stands_with_value_n_and_interval():
    rows = thresholds(card()).rows
    assert [row[:3] for row in rows] == [
        ("agreement.tone.exact >= 70 %", "75.0 %", "4"),
        ("top_share.overall <= 10 %", "25.0 %", "4"),
        ("broken_rules <= 5 %", "0.0 %", "4"),
    ]
    # Wilson for 1 of 4 at 95 %: [0.0456, 0.6994].
    assert rows[1][3:] == ("[4.6, 69.9] ~", "AMBIGUOUS")


def test_a_figure_that_misses_its_threshold_by_a_hair_does_not_look_like_it():
    samples = [scored(f"c{k}", 5 if k < 2 else 3) for k in range(19)]
    rows = thresholds(card(samples, asked=["top_share.tone <= 10.5 %"])).rows
    # 2 of 19 is 10.526 %.
    assert rows[0][1] == "10.53 %"


def test_agreement_is_laid_out_by_dimension_with_its_intervals():
    wide = agreement(card())
    assert [column.title for column in wide.columns] == [
        *("Dimension", "n", "In range", "Within one", "Kappa", "Alpha", "Bias", "In range, capped"),
    ]
    tone = wide.rows[0]
    # The judge's 5 lies a point above what is allowed for tone (2 to 4), two above for overall (3).
    assert (tone[0], tone[1], tone[2].split("\n")[0], tone[3].split("\n")[0]) == ("tone", "4", "75.0 %", "100.0 %")
    assert wide.rows[1][3].split("\n")[0] == "75.0 %"
    # (0 + 0 + 2 + 0) / 4 points above the best.
    assert tone[6].split("\n")[0] == "+0.50"
    assert "Against labels\n" in printed(card(), width=120)


def test_the_confusion_has_labels_down_and_the_judge_across():
    tone = confusions(card())[0]
    assert tone.title == "tone"
    assert [column.title for column in tone.columns] == ["best", "1", "2", "3", "4", "5", "n"]
    assert tone.rows[2] == ("3", ".", ".", "3", ".", "1", "4")
    samples = [scored("c0", 3), scored("c1", 4.5)]
    # What lies between two scores has a column, and a row only where a label lies there.
    between = confusions(card(samples))[0]
    assert [column.title for column in between.columns] == ["best", "1", "2", "3", "4", "4.5", "5", "n"]
    assert [row[0] for row in between.rows] == ["1", "2", "3", "4", "5"]
    shades = re.findall(r'<td class="number (h\d)?[^"]*">([\d.]+)</td>', card_to_html(card()))
    assert {("h4", "3"), ("h1", "1"), ("", ".")} <= set(shades)


def test_a_flag_has_precision_and_recall_with_what_they_stand_on():
    row = flags(card()).rows[0]
    # One text was flagged, wrongly; no text should be: recall stands on nothing.
    assert row[0] == "harm"
    assert row[1].endswith("n 1")
    assert row[2] == "n/a\nn 0"
    assert row[3:] == ("0", "1", "0", "3")


def test_the_corrected_pass_rate_stands_beside_the_reported_one():
    labels = {f"c{k}": RIGHT | {"tone": Label(5, 5, 5), "overall": Label(5, 5, 5)} for k in range(2)}
    labels |= {f"c{k}": RIGHT for k in (2, 3)}
    samples = [scored(f"c{k}", 5, passed=k != 3) for k in range(4)]
    text = squeezed(printed(card(samples, labels)))
    # 3 of 4 pass. Of the two that should all pass, of the two that should not one is stopped:
    # (0.75 + 0.5 - 1) / (1 + 0.5 - 1) = 0.5
    assert "As reported 75.0 %" in text
    assert "Corrected 50.0 % [" in text
    assert "Passes those that should 100.0 %" in text
    assert "Stops those that should not 50.0 %" in text


def test_under_every_table_with_intervals_stands_how_they_were_made():
    found = card()
    tables = [thresholds(found), *all_tables(found)]
    told = [(table.title, bool(table.signature)) for table in tables if table.rows]
    with_intervals = {table.title for table in tables if any("[" in cell for row in table.rows for cell in row)}
    assert {title for title, signed in told if signed} >= with_intervals
    assert {"Thresholds", "Against labels", "Against itself"} <= with_intervals
    assert "95 %: Wilson; kappa, alpha, correlations: jackknife over cases" in squeezed(printed(found))


def test_repeats_tell_how_far_the_judge_agrees_with_itself():
    samples = [
        judged(f"c{k}", *(vote({"tone": tone, "overall": 3, "harm": False}, repeat=r) for r, tone in enumerate(pair)))
        for k, pair in enumerate([(3, 3), (3, 5), (4, 4), (2, 2)])
    ]
    text = printed(card(samples))
    row = next(line for line in text.partition("Repeatability")[2].splitlines() if line.strip().startswith("tone"))
    # 3 of 4 texts got the same again; the fourth moved by 2 points: 0.5 on average.
    assert squeezed(row).startswith("tone 75.0 % 4 0.50")
    assert "Repeatability" not in printed(card())


def test_what_was_broken_is_reported_by_rule_and_with_an_example():
    five = {"tone": 5, "overall": 4, "harm": False}
    samples = [
        judged("c0", vote(five, capped={"tone": 4}, remarks=("RULE_BROKEN", "MADE_UP_QUOTE"))),
        scored("c1", 3),
    ]
    found = card(samples, examples={"MADE_UP_QUOTE": [Example("c0", "m", 'MADE_UP_QUOTE: "it never said so"')]})
    for view in (squeezed(printed(found)), Shown(card_to_html(found)).text):
        assert "when structure.coverage < 90 % then tone <= 4" in view
        assert "1 of 2" in view
        assert 'a made-up quote (case c0, m): MADE_UP_QUOTE: "it never said so"' in view


def test_other_modes_are_counted_separately_and_reported():
    samples = [scored("c0", 3), judged("c1", vote({"tone": 5, "overall": 5, "harm": False}, mode=Mode.BASIC))]
    rows = dict(standing(card(samples)))
    assert rows["Excluded"] == "1 text: only bare scores could be read from the judge's answers"
    assert rows["Votes"] == "2, 1 in mode model, 1 in mode basic"


def test_spending_is_reported_with_how_many_calls_reported_it():
    spent = Spending(calls=4, failed=1, latency=6.0, tokens_in=400, tokens_out=80, n_tokens=3, cost=0.5, n_cost=2)
    rows = dict(standing(card(spending=spent)))
    assert rows["Judging took"] == (
        "4 calls (1 failed); 400 tokens in, 80 out (n 3); cost 0.500 (n 2); 2.00 s a call (n 3)"
    )


def test_the_card_fits_80_columns_whatever_it_holds():
    names = ("personalization_of_it", "coherence_of_parts", "tone", "safety", "overall")
    weights = dict.fromkeys(names, 1.0)
    said = [dict.fromkeys(names, 1 + k % 5) | {"harm": True} for k in range(40)]
    samples = [judged(f"c{k}", vote(raw)) for k, raw in enumerate(said)] + [judged("c99", vote(None))]
    labels = {f"c{k}": dict.fromkeys(names, Label(3, 2, 4)) | {"harm": True} for k in (*range(40), 99)}
    suite = judged_suite(weights=weights)
    found = replace(card(), health=health_of(samples, suite, labels), header=header(suite=suite, n_planned=41))
    text = printed(found)
    assert max(map(len, text.splitlines())) <= 80
    # Names are never squeezed into a few columns by the figures beside them.
    for title in ("Against labels", "Against the rubric", "Correlation with the length"):
        assert all(name in text.partition(title)[2] for name in names)
    assert "1 missing" in text


def test_the_card_has_a_section_for_all_that_it_looks_at():
    titles = [block.title for block in document(card()).blocks if isinstance(block, Section)]
    for title in ("Thresholds", "Against labels", "Flags against labels", "Against the rubric", "Against itself"):
        assert title in titles


def test_the_data_holds_everything():
    data = card_to_json(card())
    assert data["verdict"] == "AMBIGUOUS"
    assert data["thresholds"][1]["value"] == pytest.approx(
        {"value": 0.25, "n": 4, "n_missing": 0, "low": 0.0456, "high": 0.6994, "constant": False, "at_least": False},
        abs=1e-4,
    )
    assert data["health"]["dimensions"]["tone"]["confusion"]["counts"][2] == [0, 0, 3, 0, 1]
    assert data["judge"]["rubric"]["scale"] == [1, 5]
    page = (Path(__file__).parents[2] / "docs" / "reference" / "reports.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", page.partition("## The report card")[2].partition("\n## ")[0]))
    assert {*data, *data["thresholds"][0]} - {"format"} <= documented
