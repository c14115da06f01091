"""Top confusions and errors by section, from a run with gold spans, in every view."""

import json
from contextlib import closing

import pytest
import yaml

from parts.columns import Made
from parts.compared import compared
from parts.running import run
from parts.views import to_html, to_json, to_markdown
from steelyard.analysis.confusions import top_confusions
from steelyard.loading.load import load_suite
from steelyard.metrics.registry import filled
from steelyard.metrics.run_figures import run_figures
from steelyard.report.build import build_report
from steelyard.report.findings import confusions, sections
from steelyard.report.groups import measured
from steelyard.store.sql import open_store

SUITE = {
    "suite": "spots",
    "cases": {"files": "cases.jsonl"},
    "target": {"recorded": "answers.jsonl"},
    "answer": {"schema": {"type": "object"}},
    "score": {
        "spots": {
            "match_spans": {
                "text": "input.text",
                "expected": {"spans": "expected.spans[]"},
                "categories": ["c", "d", "e"],
                "sections": {"NOTES": "NOTES:"},
                "codes": {"wrong_role": "WRONG", "missed": "MISSED", "extra": "EXTRA"},
            }
        }
    },
    "gates": ["score.spots.macro_f1 >= 50 %"],
}
TEXT = "red blue NOTES: red blue"
RED, BLUE, RED_AGAIN, BLUE_AGAIN = ((0, 3), (4, 8), (16, 19), (20, 24))


def spans(*given):
    return {
        "spans": [{"start": start, "end": end, "role": role, "text": TEXT[start:end]} for (start, end), role in given]
    }


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """Three texts: c.x is taken for d.y three times, d.y for c.x once, and one blue in the notes is missed."""
    folder = tmp_path_factory.mktemp("spots")
    gold = spans((RED, "c.x"), (BLUE, "d.y"), (RED_AGAIN, "c.x"), (BLUE_AGAIN, "d.y"))
    answers = {
        "a": spans((RED, "d.y"), (BLUE, "d.y"), (RED_AGAIN, "d.y"), (BLUE_AGAIN, "d.y")),
        "b": spans((RED, "c.x"), (BLUE, "c.x"), (RED_AGAIN, "d.y")),
        "c": "no JSON at all",
    }
    rows = [{"id": name, "input": {"text": TEXT}, "expected": gold} for name in answers]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = [{"case": name, "answer": one if isinstance(one, str) else json.dumps(one)} for name, one in answers.items()]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told))
    (folder / "suite.yaml").write_text(yaml.safe_dump(SUITE))
    with closing(open_store(str(folder / "store.db"))) as store:
        header, _ = run(load_suite(folder / "suite.yaml"), store)
        yield build_report(store, header)


def test_what_was_found_in_a_sample_without_a_reading_is_not_counted():
    made = [Made("a", 1.0, findings=("X",)), Made("b", None, "judge_failed", findings=("X",))]
    run = compared(made, sections=["main"] * 2, confusions=[("c.x", "d.y")] * 2)
    overall = run_figures(run.data).slice()
    assert (overall.counts("section.<section>"), overall.count("section.main.samples")) == ({"main": 1}, 1)
    assert overall.counts("section.<section>.<code>", "main") == {"X": 1}
    (confused,) = top_confusions(run.table, run.suite, run.contents)
    assert (confused.code, confused.count, confused.samples) == ("X", 1, 1)


def test_what_is_taken_twice_is_found_among_thousands_that_are_taken_once():
    texts = [(f"c.{number}", f"d.{number}") for number in range(2_500)] + [
        ("c.7", "d.7"),
        ("c.9", "d.9"),
        ("c.9", "d.9"),
    ]
    made = [Made(f"case-{number}", 1.0, findings=("X",)) for number in range(len(texts))]
    run = compared(made, sections=["main"] * len(texts), confusions=texts)
    confused = top_confusions(run.table, run.suite, run.contents)
    assert [(item.expected, item.got, item.count, item.samples) for item in confused[:2]] == [
        ("c.9", "d.9", 3, 3),
        ("c.7", "d.7", 2, 2),
    ]
    assert [item.count for item in confused[2:]] == [1] * 8


def test_confusions_are_counted_over_all_findings_most_frequent_first(reported):
    # FORMAT of text c says what was expected and what came, too, and is no confusion.
    assert list(confusions(reported).rows) == [
        ("c.x", "d.y", "WRONG", "3", "2"),
        ("d.y", "c.x", "WRONG", "1", "1"),
    ]


def test_errors_are_counted_by_the_section_they_begin_in(reported):
    assert list(sections(reported).rows) == [
        ("NOTES", "3", "2", "WRONG 2, MISSED 1"),
        ("main", "2", "2", "WRONG 2"),
    ]
    assert "3 conclusive samples" in sections(reported).note


def test_macro_figures_stand_among_the_measures_and_decide_a_gate(reported):
    overall = reported.summary.overall
    found = {label: overall[filled(*kind)] for label, kind in measured(reported, overall).items()}
    # c: right 1 (b's first red), answered 2, gold 6 of three texts -> F1 2 of 8;
    # d: right 2 (a's blues), answered 5, gold 6 -> F1 4 of 11. e occurs nowhere.
    assert found["macro_f1"].value == pytest.approx((2 / 8 + 4 / 11) / 2)
    assert (found["macro_f1"].mean_of, found["macro_f1"].n) == (2, 3)
    assert found["macro_precision"].value == pytest.approx((1 / 2 + 2 / 5) / 2)
    assert found["macro_recall"].value == pytest.approx((1 / 6 + 2 / 6) / 2)
    assert [gate.verdict.value for gate in reported.decision.gates] == ["FAIL"]


def test_every_view_shows_them(reported):
    data = to_json(reported)
    assert data["confusions"][0] == {"code": "WRONG", "expected": "c.x", "got": "d.y", "count": 3, "samples": 2}
    codes = {name: data["figures"][f"section.NOTES.{name}"]["value"] for name in ("WRONG", "MISSED")}
    assert codes == {"WRONG": 2, "MISSED": 1}
    assert data["figures"]["score.spots.macro_f1"]["mean_of"] == 2
    for page in (to_html(reported), to_markdown(reported)):
        assert "Top confusions" in page
        assert "Errors by section" in page
        assert "mean of 2" in page
