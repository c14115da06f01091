"""What the judge of spans says beyond its five scores, in runs of our own and in imported ones."""

import json
from contextlib import closing

import pytest

from parts.running import run
from parts.seed_snapshots import about, failed, judged, missed, result, snapshot
from steelyard.exchange.imports import import_foreign
from steelyard.loading.load import load_suite
from steelyard.report.build import build_report
from steelyard.scoring.spans.schemes import compare_spans, macro, micro
from steelyard.store.sql import open_store
from steelyard.suites.spans.prompts import gold_spans, placed
from steelyard.suites.spans.taxonomy import categories, category_of


@pytest.fixture(scope="module")
def suite():
    return load_suite("spans")


def report_of(folder, suite, document):
    path = folder / "snapshot.json"
    path.write_text(json.dumps(document))
    with closing(open_store(str(folder / "store.db"))) as store:
        return build_report(store, import_foreign(suite, store, path).header)


def test_an_imported_run_has_the_figures_of_what_its_judge_said(tmp_path, suite):
    lost = judged(missedElements=[], categoryScores={"shot": {"coverage": 1, "precision": 2}})
    one = report_of(tmp_path, suite, snapshot(result("a"), result("b", lost), result("c", failed())))
    parts = one.summary.overall.each("score.<component>.points")
    # 4 and 1 of shot; of audio only the first speaks, with a 4; the failed call is missing from both.
    assert [(parts[name].value, parts[name].n, parts[name].n_missing) for name in _coverage("shot", "audio")] == [
        (2.5, 2, 1),
        (4.0, 1, 2),
    ]
    reasons = one.summary.overall.each("score.<component>.<measure>", "false_positive_reasons")
    assert {name: ratio.numerator for name, ratio in reasons.items() if ratio.numerator} == {"section_header": 2}


def test_a_complaint_that_the_spans_contradict_is_in_no_count(tmp_path, suite):
    wrong = [about(5, reason="section_header"), about(1, reason="duplicate") | {"text": "another text"}]
    one = report_of(tmp_path, suite, snapshot(result("a", judged(falsePositives=wrong))))
    reasons = one.summary.overall.each("score.<component>.<measure>", "false_positive_reasons")
    assert (reasons["duplicate"].numerator, reasons["duplicate"].denominator) == (0, 1)


def test_a_category_that_nobody_has_is_in_no_mean(tmp_path, suite):
    fives = {name: {"coverage": 5, "precision": 5} for name in categories()}
    said = judged(categoryScores=fives, missedElements=[missed("slow pan", "camera.movement")])
    parts = report_of(tmp_path, suite, snapshot(result("a", said))).summary.overall.each("score.<component>.points")
    assert {name for name in _coverage(*categories()) if parts[name].n} == set(
        _coverage("shot", "subject", "action", "lighting", "technical", "style", "camera")
    )


def test_macro_figures_of_a_run_are_those_of_the_pooled_categories(tmp_path, suite):
    with closing(open_store(str(tmp_path / "store.db"))) as store:
        header, _ = run(suite, store)
        found = build_report(store, header).summary.overall.each("score.<component>.<measure>", "spans")
        pairs = [
            (gold_spans(case), placed(json.loads(sample.call_result.text)["spans"], case))
            for sample, case in store.samples(header.id)
        ]
    by_category = [compare_spans(gold, said).by_category("strict", category_of) for gold, said in pairs]
    pooled = {name: micro(one[name] for one in by_category if name in one) for name in categories()}
    for kind, mean in macro(pooled).items():
        assert found[f"macro_{kind}"].value == pytest.approx(mean.value)
        assert found[f"macro_{kind}"].mean_of == mean.n == 9


def _coverage(*names):
    return [f"category_coverage_{name}" for name in names]
