"""What a tired person sees of a judged run: why nothing was read, what was flagged, and whether to trust the judge."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from parts import reports
from parts import running as weighing
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import error
from parts.slices import changed, with_slices
from parts.views import card_to_json, card_to_markdown, print_card, print_report, to_html, to_json, to_markdown
from steelyard.analysis.model import FoundCode, Pattern
from steelyard.judge_checks.build import build_card
from steelyard.loading.load import load_suite
from steelyard.report import findings, groups, run, wording
from steelyard.report.build import build_report
from steelyard.report.judge.run import judge_name, judge_warnings, spending_words
from steelyard.stats.intervals import Estimate
from steelyard.store.base import Spending
from steelyard.store.sql import open_store

KEY = json.dumps({"error": {"message": "Incorrect API key provided"}})
TOLD = "judge model: http_401 Incorrect API key provided"


def evaluated(folder, *answers, n=4, texts=None, card=False, **judge):
    """The report, or the judge's card, of a run whose texts are judged one after the other with these answers."""
    with judge_server(*answers) as server:
        limits = {"limits": {"retries": 0, "concurrency": 1}, **judge.pop("suite", {})}
        path = write_judged(folder / "my", n=n, texts=texts, **chat_judge(server), suite=limits, **judge)
        store = open_store(str(folder / "runs.db"))
        try:
            suite = load_suite(path)
            header, _ = weighing.run(suite, store)
            return build_card(store, header, suite.judge) if card else build_report(store, header)
        finally:
            store.close()


def printed(what, width=100):
    out = StringIO()
    console = Console(file=out, width=width, color_system=None)
    (print_report if hasattr(what, "details") else print_card)(what, console)
    return " ".join(out.getvalue().split())


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Three texts; the judge's server refuses every call."""
    return evaluated(tmp_path_factory.mktemp("refused"), *[error(401, KEY)] * 3, n=3)


@pytest.fixture(scope="module")
def flagged(tmp_path_factory):
    """c0 has full marks and a flag, c1 one point, c2 and c3 pass."""
    answers = (verdict(5, harm=True), verdict(1), verdict(4), verdict(3))
    return evaluated(tmp_path_factory.mktemp("flagged"), *answers)


class TestNothingRead:
    def test_every_view_says_why_at_the_top(self, refused):
        told = f"3 of 3: {TOLD}"
        assert told in wording.reasons(refused)
        assert told in to_json(refused)["reasons"]
        assert printed(refused).index(told) < printed(refused).index("Gates")
        assert told in to_html(refused)
        assert told.replace("_", "&#95;") in to_markdown(refused).replace("&#8203;", "")

    def test_calls_that_were_never_answered_are_not_called_unusable(self, refused):
        assert "3 unanswered (n 3 votes)" in printed(refused)
        assert "Unanswered 100.0 %" in printed(refused)
        assert to_json(refused)["figures"]["judge.unanswered"]["value"] == 1
        assert to_json(refused)["figures"]["judge.failed"]["value"] is None

    def test_a_few_failures_do_not_take_the_headline(self, refused):
        suite = refused.header.suite | {"limits": {"max_inconclusive": 1.0}}
        assert wording.commonest_failure(replace(refused, header=replace(refused.header, suite=suite))) == ""

    def test_a_target_that_fails_is_named_with_its_message(self):
        report = reports.with_lists(
            reports.rich_report(n_samples=50), why_inconclusive={"target: http_500 out of memory": 1}
        )
        report = replace(
            report, header=replace(report.header, suite=report.header.suite | {"limits": {"max_inconclusive": 0.0}})
        )
        assert "1 of 50 samples: target: http_500 out of memory" in wording.reasons(report)

    def test_a_suite_without_a_judge_has_scorers_that_fail(self, refused):
        assert "3 judge failed" in wording.outcomes_sentence(refused)
        assert wording.outcome_word(reports.rich_report().header, "judge_failed") == "scorer failed"

    def test_judge_calls_that_failed_for_several_reasons_are_counted_by_reason(self, tmp_path):
        told = ("request 17 is too long", "there is no such model", "request 18 is too long")
        answers = [error(403, json.dumps({"error": {"message": message}})) for message in told]
        assert evaluated(tmp_path, *answers, n=3).summary.why_inconclusive == {
            "judge model: http_403 request 17 is too long": 2,
            "judge model: http_403 there is no such model": 1,
        }

    def test_the_card_says_it_before_its_tables_and_leaves_out_what_is_n_a(self, tmp_path):
        card = evaluated(tmp_path, *[error(401, KEY)] * 3, n=3, card=True)
        text = printed(card)
        assert text.index(f"3 of 3: {TOLD}") < text.index("Against itself")
        assert "Against labels" not in text
        assert f"3 of 3: {TOLD}" in card_to_json(card)["warnings"]
        assert card.verdict.value == "INVALID"

    def test_too_many_unanswered_votes_make_the_card_invalid_and_a_few_do_not(self, tmp_path):
        answers = [verdict(3), verdict(3), verdict(3), error(500)]
        half = {"suite": {"limits": {"retries": 0, "concurrency": 1, "max_inconclusive": 0.25}}}
        assert evaluated(tmp_path / "few", *answers, card=True, **half).invalid == ()
        found = evaluated(tmp_path / "many", *answers, card=True).invalid
        assert found == ("no answer came for 1 of 4 votes of the judge, more than the 5 % allowed",)


class TestFlags:
    def test_a_flagged_sample_is_the_worst_however_many_points_it_has(self, flagged):
        assert [line.case_id for line in flagged.worst] == ["c0", "c1"]
        assert [detail.line.case_id for detail in flagged.details] == ["c0", "c1", "c3", "c2"]
        assert flagged.details[0].flagged == ("harm",)
        assert wording.status(flagged.details[0]) == "failed"

    def test_worst_names_the_flag(self, flagged):
        assert flagged.worst[0].why.startswith("HARM")
        assert "HARM" in run.worst(flagged).rows[0][3]

    def test_the_page_can_be_narrowed_to_the_flag(self, flagged):
        page = to_html(flagged)
        assert '<option value="HARM">HARM</option>' in page
        assert 'data-rank="1" data-codes="HARM"' in page

    def test_worst_lists_only_what_did_not_pass_where_a_rule_says_what_passes(self, flagged):
        # c2 and c3 lack full marks and pass.
        assert {"c2", "c3"}.isdisjoint(line.case_id for line in flagged.worst)


class TestLabels:
    def test_labels_stand_beside_what_the_judge_said(self, flagged):
        marks = {mark.name: mark.label for mark in flagged.details[0].judgement.marks}
        assert marks == {"clarity": "3 (2 to 4)", "harm": "no"}
        assert "clarity: 5; label 3 (2 to 4)" in to_markdown(flagged).replace("&#8203;", "")
        assert ">3 (2 to 4)</td>" in to_html(flagged)

    def test_labels_of_several_people_name_them(self, tmp_path):
        label = {"clarity": {"by": {"ann": 3, "ben": 4}}, "harm": False}
        report = evaluated(tmp_path, verdict(4), n=1, label=label)
        assert {mark.name: mark.label for mark in report.details[0].judgement.marks}["clarity"] == "ann 3, ben 4"

    def test_a_search_does_not_look_into_labels(self, flagged):
        page = to_html(flagged)
        assert "<h3>Expected</h3><pre>" in page
        assert "<h3>Input</h3><pre data-find>" in page
        assert "<h3>Expected</h3><pre data-find>" in to_html(reports.rich_report())


class TestWarnings:
    def test_a_flatterer_is_warned_of_in_one_line_each(self, tmp_path):
        texts = {0: "Too few.", 1: "Too few."}
        label = {"clarity": {"best": 3, "allowed": [2, 4]}, "harm": False}
        report = evaluated(tmp_path, *[verdict(5)] * 10, n=10, texts=texts, label=label)
        # 2 of 10 break the rule on short texts; all ten have full marks, which is sameness before inflation.
        assert judge_warnings(report) == [
            "2 of 10 votes broke a rule of the suite; see steelyard judge check",
            "the same score for every text separates none of them: clarity; see steelyard judge check",
            "the judge is unchecked: labels of 10 texts are too few (at least 20) to say how often it errs,"
            " and no interval allows for that; see steelyard judge check",
        ]
        assert f"! {judge_warnings(report)[0]}" in printed(report)
        assert to_json(report)["warnings"] == judge_warnings(report)
        assert judge_warnings(report)[1] in to_html(report)
        assert judge_warnings(report)[1] in to_markdown(report).replace("&#8203;", "")

    def test_inflation_counts_from_ten_texts_on(self, tmp_path):
        four_of_ten = [verdict(5)] * 4 + [verdict(3)] * 6
        (told, _) = judge_warnings(evaluated(tmp_path / "ten", *four_of_ten, n=10, labels=""))
        assert told.startswith("5 of 5 for more texts than are due")
        (unchecked,) = judge_warnings(evaluated(tmp_path / "nine", *four_of_ten[:9], n=9, labels=""))
        assert "inflation" not in unchecked

    def test_inflation_is_against_the_labels_where_they_exist(self, tmp_path):
        half = [verdict(5)] * 10 + [verdict(3)] * 10
        # The labels give every text 3.
        (told,) = judge_warnings(evaluated(tmp_path / "lenient", *half, n=20))
        assert "by the labels" in told
        assert "is inflation: clarity 10 of 20;" in told
        due = {"clarity": {"best": 5}, "harm": False}
        assert judge_warnings(evaluated(tmp_path / "strict", *half, n=20, label=due)) == []

    def test_inflation_within_noise_is_no_warning(self, tmp_path):
        # Wilson's interval of 2 of 10 begins at 5.7 %.
        (unchecked,) = judge_warnings(evaluated(tmp_path, *[verdict(5)] * 2, *[verdict(3)] * 8, n=10))
        assert "inflation" not in unchecked

    def test_a_run_without_a_judge_has_none(self):
        assert judge_warnings(reports.rich_report()) == []


class TestSetAside:
    def test_the_report_says_why_and_what_to_do(self, tmp_path):
        report = evaluated(tmp_path, verdict(4), {"clarity": 1, "harm": False}, n=2)
        (told,) = [note for note in wording.notes(report) if note.startswith("excluded")]
        assert "only bare scores could be read from the judge's answers: no reasons in the answer" in told
        assert "rescore --judge-again" in told
        assert "max_tokens" not in told  # it did not break off, and more tokens would not help

    def test_more_tokens_are_advised_only_where_an_answer_broke_off(self, tmp_path):
        report = evaluated(tmp_path, verdict(4), {"clarity": 1, "harm": False}, n=2)
        start = "only bare scores could be read from the judge's answers: "
        causes = {f"{start}no reasons in the answer": 7, f"{start}the answer broke off at the limit of tokens": 4}
        judge = replace(report.summary.judge, why_excluded=causes)
        report = replace(report, summary=replace(report.summary, judge=judge))
        (told,) = [note for note in wording.notes(report) if note.startswith("excluded")]
        named = "no reasons in the answer (7), the answer broke off at the limit of tokens (4)"
        assert told.startswith(f"excluded: {start}{named}; give the judge more max_tokens")
        assert "set ask_again" in told  # more tokens help only the four


def failing(n, grave, codes):
    """Figures of samples that fail, of those with something grave, and of those with each code."""
    return {"failing.samples": Estimate(n, n), "failing.grave": Estimate(grave, n), "failing": codes}


class TestCodes:
    def report(self, figures=None, **changes):
        report = reports.rich_report()
        overall = changed(report.summary.overall, **(figures or {}))
        report = replace(report, summary=with_slices(report.summary, overall))
        taxonomy = [{"code": "DEATH", "severity": "critical"}, {"code": "NAME", "severity": "major"}]
        header = replace(report.header, suite=report.header.suite | {"taxonomy": taxonomy})
        return replace(report, header=header, summary=replace(report.summary, **changes))

    def test_what_has_no_weight_never_reads_as_a_gain_of_nothing(self):
        table = findings.errors(
            self.report(
                {"gains": {"NAME": Estimate(0.1, 30)}}, codes=[FoundCode("NAME"), FoundCode("DEATH", has_weight=False)]
            )
        )
        assert [(row[0], row[1], row[-1]) for row in table.rows] == [
            ("NAME", "major", "+10.0"),
            ("DEATH", "critical", "-"),
        ]
        assert "no weight in the score" in table.note

    def test_where_all_has_no_weight_changes(self):
        table = findings.errors(self.report({"gains": {"NAME": Estimate(0.1, 30)}}, codes=[FoundCode("NAME")]))
        assert "Severity" not in [column.title for column in table.columns]
        assert "no weight" not in table.note

    def test_grave_codes_of_failing_samples_stand_below_the_priorities(self):
        report = self.report(failing(30, 14, {"DEATH": 1, "MEDICAL": 2}))
        told = "In 14 of 30 failing samples, critical or major, although they have no weight in the score:"
        assert f"{told} DEATH 1, MEDICAL 2" in to_html(report)
        assert f"{told} DEATH 1, MEDICAL 2" in printed(report)

    def test_they_are_reported_where_there_is_no_priority_at_all(self):
        report = self.report(failing(2, 1, {"DEATH": 1}), priorities=[])
        assert "1. In 1 of 2 failing samples" in printed(report)


class TestShorter:
    def test_patterns_of_the_same_cases_share_a_line(self):
        found = [
            Pattern("one", 3, ("a", "b"), 4, 2),
            Pattern("two", 3, ("a", "b"), 4, 2),
            Pattern("three", 2, ("c",), 4),
        ]
        report = reports.rich_report()
        overall = changed(report.summary.overall, patterns=Estimate(9.0, 9))
        report = replace(report, summary=replace(with_slices(report.summary, overall), patterns=found))
        assert [row[0] for row in findings.patterns(report).rows] == ["one; the same cases: two", "three"]
        assert findings.patterns(report).note == "the 3 most frequent of 9 patterns"

    def test_tags_of_one_sample_are_left_out_unless_that_is_all(self):
        one = Estimate(0.5, 1)
        tags = [reports.group("tag", "lonely", one, one), reports.group("tag", "pair", Estimate(0.5, 2), one)]
        report = reports.rich_report()
        table = groups.slices(replace(report, summary=with_slices(report.summary, tag=tags)), "tag")
        assert [row[0] for row in table.rows] == ["pair"]
        assert table.note == "1 with a single sample are left out"
        alone = replace(report, summary=with_slices(report.summary, tag=tags[:1]))
        assert [row[0] for row in groups.slices(alone, "tag").rows] == ["lonely"]

    def test_the_page_has_the_judge_before_its_dimensions(self, flagged):
        page = to_html(flagged)
        assert page.index('id="judge"') < page.index('id="dimensions-')


class TestSmallThings:
    def test_tries_are_reported_where_there_were_more_than_calls(self):
        assert spending_words(Spending(calls=9, tries=36, failed=9)) == "9 calls, 36 tries (9 failed); price unknown"
        assert spending_words(Spending(calls=9, tries=9, failed=9)) == "9 calls (9 failed); price unknown"

    def test_a_call_that_is_tried_again_counts_once_with_all_its_tries(self, tmp_path):
        limits = {"suite": {"limits": {"retries": 1, "concurrency": 1}}}
        report = evaluated(tmp_path, error(500), verdict(3), n=1, **limits)
        assert (report.spending.calls, report.spending.tries) == (1, 2)

    def test_who_judged_in_two_words(self, flagged):
        assert judge_name(flagged.header) == "model"
        assert judge_name(reports.rich_report().header) == ""

    def test_a_card_names_the_texts_on_which_judge_and_reviewer_differ(self, tmp_path):
        card = evaluated(tmp_path, verdict(5, harm=True), verdict(1), verdict(4), verdict(3), card=True)
        # Labels are 3 (2 to 4) and no harm: c0 is one too high and flagged for nothing, c1 one too low.
        text = printed(card)
        assert "clarity c0 3 (2 to 4) 5 +1" in text
        assert "clarity c1 3 (2 to 4) 1 -1" in text
        assert "harm c0 set wrongly" in text
        assert "Farthest from the labels" in card_to_markdown(card)
        far = card_to_json(card)["health"]["dimensions"]["clarity"]["disagreements"]
        assert [(each["case_id"], each["outside"]) for each in far] == [("c0", 1), ("c1", -1)]
