"""Reports of runs with a judge: modes, dimensions in points, flags, and what the judge said of each text."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from parts import running as run
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.reports import rich_report
from parts.views import print_report, squeezed, to_html, to_json, to_markdown
from steelyard.loading.load import load_suite
from steelyard.report.build import build_report
from steelyard.report.groups import cases_by_variant
from steelyard.report.judge.run import mode_sentence
from steelyard.report.render.junit import to_junit
from steelyard.report.wording import status
from steelyard.store.sql import open_store

OF_DIMENSION = ("capped_mean", "uncapped_mean", "capped")


def report_of(tmp_path, *answers, n=4, texts=None, **judge):
    """The report of a run whose texts are judged one after the other with these answers."""
    with judge_server(*answers) as server:
        path = write_judged(
            tmp_path / "my",
            n=n,
            texts=texts,
            **chat_judge(server),
            suite={"limits": {"retries": 0, "concurrency": 1}, **judge.pop("suite", {})},
            **judge,
        )
        store = open_store(str(tmp_path / "runs.db"))
        try:
            header, _ = run.run(load_suite(path), store)
            return build_report(store, header)
        finally:
            store.close()


def printed(report, width=80):
    out = StringIO()
    print_report(report, Console(file=out, width=width, color_system=None))
    return out.getvalue()


BASIC = {"clarity": 1, "harm": False}
"""Scores alone: the reasons that were asked for are missing."""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Three texts read as asked, with 5, 4 and 3, the first bound to 2; one of which only the scores could be read."""
    return report_of(
        tmp_path_factory.mktemp("mixed"), verdict(5), verdict(4, harm=True), verdict(3), BASIC, texts={0: "Too few."}
    )


def test_modes_are_never_mixed_and_every_view_says_what_is_excluded(mixed):
    assert mode_sentence(mixed) == "3 samples judged by model, 1 basic excluded, in no figure"
    for view in (squeezed(printed(mixed)), to_markdown(mixed), to_html(mixed)):
        assert "3 samples judged by model, 1 basic excluded, in no figure" in view
    data = to_json(mixed)
    assert {name: data["figures"][f"mode.{name}.n"]["value"] for name in ("model", "basic")} == {"model": 3, "basic": 1}
    # (2 + 4 + 3) / 3 points, as judged (5 + 4 + 3) / 3; one of three is bound.
    clarity = {name: data["figures"][f"judge.dimension.clarity.{name}"]["value"] for name in OF_DIMENSION}
    assert clarity == {"capped_mean": 3, "uncapped_mean": 4, "capped": pytest.approx(1 / 3)}
    assert data["figures"]["outcomes.excluded"]["value"] == 1


def test_dimensions_are_printed_in_points_with_what_the_judge_said(mixed):
    lines = [squeezed(line) for line in printed(mixed).splitlines()]
    assert "Dimensions (scores 1 to 5)" in lines
    row = next(line for line in lines if line.startswith("clarity 100 %"))
    assert row.startswith("clarity 100 % 3.00 [")
    assert row.endswith("] 4.00 33.3 % 3, 1 missing")
    assert any(line.startswith("harm 1 of 3 33.3 %") for line in lines)
    assert max(map(len, printed(mixed).splitlines())) <= 80


def test_the_pass_rule_is_printed_with_the_flag(mixed):
    assert "(score >= 50 % and no harm)" in printed(mixed)


def test_the_judge_has_a_line_for_what_it_did_wrong_and_what_it_took(mixed):
    text = squeezed(printed(mixed))
    assert "Judged by model (model judge-1) at http://127.0.0.1" in text
    assert "Read 3 strict, 1 basic (n 4 votes)" in text
    assert "Broken rules 33.3 %" in text
    # The server reports 100 tokens in and 20 out for each call, and no price is known. One answer has no reasons: its
    # judge is called again, once.
    assert "5 calls; 500 tokens in, 100 out (n 5); price unknown" in text


def test_a_sample_that_is_excluded_is_neither_passed_nor_failed(mixed):
    aside = next(detail for detail in mixed.details if detail.line.case_id == "c3")
    assert status(aside) == "excluded"
    assert "c3" not in [line.case_id for line in mixed.worst]
    cases = {case.get("name"): case for case in ET.fromstring(to_junit(mixed)).iter("testcase")}
    assert cases["c3"].find("error").get("message") == (
        "excluded: only bare scores could be read from the judge's answers: no reasons in the answer"
    )


def test_a_sample_shows_what_was_judged_and_which_rule_bound_it(mixed):
    page = to_html(mixed)
    assert "when size.words &lt; 5 then clarity &lt;= 2" in page
    assert "It is short." in page
    text = to_markdown(mixed)
    assert "clarity: 5 -&#62; 2 (when size.words &#60; 5 then clarity &#60;= 2)" in text.replace("&#8203;", "")
    bound = next(detail for detail in mixed.details if detail.line.case_id == "c0").judgement
    assert [(mark.name, mark.uncapped, mark.capped) for mark in bound.marks] == [
        ("clarity", 5, 2),
        ("harm", False, False),
    ]
    assert bound.votes[0].stated == (("reasons", "- It is short.\n- It is plain."),)
    assert any(remark.startswith("RULE_BROKEN (clarity)") for remark in bound.votes[0].remarks)


def test_variants_are_compared_in_one_mode_only(mixed):
    places = {"c1": ("x", "a"), "c3": ("x", "b")}
    chosen = [detail for detail in mixed.details if detail.line.case_id in places]
    moved = [
        replace(detail, line=replace(detail.line, case_id=places[name][0], variant=places[name][1]))
        for detail in chosen
        for name in [detail.line.case_id]
    ]
    grid = cases_by_variant(replace(mixed, details=moved, n_samples=2))
    # 4 of 1..5 is 75 %; the other was read in another mode.
    assert grid.rows == [("x", "75.0 % n 1", "n/a n 0, 1 missing")]


def test_a_judge_that_fails_is_reported_and_never_a_zero(tmp_path):
    report = report_of(tmp_path, verdict(4), "no", "no", n=2)
    text = squeezed(printed(report))
    assert "judge failed" in text
    assert "Not usable 50.0 %" in text
    assert to_json(report)["figures"]["average"]["n"] == 1


def test_the_part_of_an_answer_that_was_judged_is_shown(tmp_path):
    texts = {0: json.dumps({"story": "Once upon a time there was a very small number.", "other": 1})}
    report = report_of(
        tmp_path, verdict(4), n=1, texts=texts, of="story", suite={"answer": {"format": "json"}, "score": {}}, bind=[]
    )
    assert report.details[0].judgement.text == "Once upon a time there was a very small number."


def test_a_run_without_a_judge_says_nothing_of_one():
    report = rich_report()
    assert mode_sentence(report) == ""
    assert "Judge" not in printed(report)
    assert to_json(report)["judge"] is None
