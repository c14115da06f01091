"""Snapshots of the first team's tool: read, recomputed, and written again as they were."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from parts.looped import for_every
from parts.running import run
from parts.seed_snapshots import CATEGORIES, PROMPT, SPANS, failed, judged, result, snapshot
from steelyard import UsageError
from steelyard.analysis.stored import summary_of
from steelyard.engine.run_options import RunOptions, Selection
from steelyard.exchange.imports import export_foreign, import_foreign
from steelyard.loading.load import load_suite
from steelyard.records import Mode, Original, Outcome, RunFacts, Verdict
from steelyard.report.build import build_report
from steelyard.stats.intervals import Estimate
from steelyard.store.sql import open_store
from steelyard.suites.spans.snapshots import Format, evaluated
from steelyard.suites.spans.summary import summarise


@pytest.fixture(scope="module")
def suite():
    return load_suite("spans").changed(snapshots="steelyard.suites.spans.snapshots:Format")


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def brought_in(document, suite, store, folder):
    path = folder / "snapshot.json"
    path.write_text(json.dumps(document))
    return import_foreign(suite, store, path)


def samples_of(result, store):
    return [sample for sample, _ in store.samples(result.header.id)]


def summed(*results):
    """A snapshot with the summary that belongs to it."""
    document = snapshot(*results)
    return document | {"summary": summarise([evaluated(one) for one in results])}


def test_results_become_samples_with_what_the_judge_said(suite, store, tmp_path):
    found = brought_in(snapshot(result("a"), result("b", judged((5, 5, 5, 5, 5)))), suite, store, tmp_path)
    first, second = samples_of(found, store)
    assert (first.case_id, first.outcome, first.mode) == ("a", Outcome.SCORED, Mode.MODEL)
    # 19 of 25 on five scales from 1 to 5: (19 - 5) / 20.
    assert (first.score, second.score) == (0.7, 1.0)
    assert [one.code for one in first.findings] == ["MISSED", "FALSE_POSITIVE", "WRONG_ROLE", "TOO_COARSE"]
    assert first.call_result.latency == 2.0
    assert [one.right for one in first.claims] == [True] * 5 + [False]
    assert found.header.created_at == 1770091506.789
    assert found.header.suite["judge"]["members"][0]["model"] == "some-judge"


def test_zeros_with_a_note_are_a_failed_call_and_no_score(suite, store, tmp_path):
    found = brought_in(snapshot(result("a"), result("b", failed())), suite, store, tmp_path)
    first, second = samples_of(found, store)
    assert (first.outcome, second.outcome) == (Outcome.SCORED, Outcome.JUDGE_FAILED)
    assert (second.score, second.judgement.message) == (None, "some-judge: Judge failed: no answer in 60 s")
    average = summary_of(store, found.header).overall["average"]
    assert (average.value, average.n, average.n_missing) == (0.7, 1, 1)
    assert found.header.verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("changes", "outcome", "message"),
    [
        ({"error": "no connection", "spans": [], "judgeResult": None}, Outcome.TARGET_FAILED, "no connection"),
        ({"judgeResult": None}, Outcome.JUDGE_FAILED, "no judgement was recorded"),
        ({"judgeResult": failed("all quiet")}, Outcome.JUDGE_FAILED, "all scores are 0"),
        ({"judgeResult": judged((4, 3, 9, 3, 5))}, Outcome.JUDGE_FAILED, "9 is not a number from 1 to 5"),
        ({"spans": None, "judgeResult": None}, Outcome.TARGET_FAILED, "no spans were recorded"),
        ({"spans": None, "judgeResult": {"totalScore": 26}}, Outcome.TARGET_FAILED, "no spans were recorded"),
        ({"spans": None, "judgeResult": judged((4, 3, 9, 3, 5))}, Outcome.JUDGE_FAILED, "9 is not a number"),
    ],
)
def test_what_failed_is_inconclusive(suite, store, tmp_path, changes, outcome, message):
    found = brought_in(snapshot(result("a") | changes), suite, store, tmp_path)
    (sample,) = samples_of(found, store)
    assert (sample.outcome, sample.score) == (outcome, None)
    failure = sample.call_result.failure
    assert message in (failure.message if failure else sample.judgement.message)


def test_contradictions_of_a_recorded_judge_are_counted(suite, store, tmp_path):
    wrong = judged()
    wrong["falsePositives"][0]["spanIndex"] = 77
    found = brought_in(snapshot(result("a", wrong)), suite, store, tmp_path)
    (sample,) = samples_of(found, store)
    assert [one.message for one in sample.judgement.votes[0].remarks] == [
        "falsePositives[0]: there is no span 77: there are 6"
    ]
    assert "FALSE_POSITIVE" not in [one.code for one in sample.findings]
    assert summary_of(store, found.header).overall["judge.contradictions"].value == 1.0


FIRST_VERSION = {
    "scores": {"coverage": 4, "precision": 4, "granularity": 4, "taxonomy": 4, "technicalSpecs": 2},
    "totalScore": 18,
    "missedElements": ["slow pan"],
    "incorrectExtractions": ["Variation 1"],
    "notes": "Fine.",
}


def test_an_old_snapshot_with_fewer_fields_loads_and_its_scores_count(suite, store, tmp_path):
    old = {"promptId": "a", "output": PROMPT, "spans": SPANS, "judgeResult": FIRST_VERSION}
    document = {"timestamp": "2025-01-02T03:04:05Z", "results": [old], "summary": {"avgScore": 18, "errorCount": 0}}
    found = brought_in(document, suite, store, tmp_path)
    (sample,) = samples_of(found, store)
    assert (sample.outcome, sample.mode, sample.score) == (Outcome.SCORED, Mode.BASIC, 0.65)
    # Its complaints are texts without a place: only the low score is a finding.
    assert [one.code for one in sample.findings] == ["TECHNICALSPECS"]
    assert found.differences == ()
    # Nothing in it is more than scores, so these are what its figures stand on.
    assert found.header.suite["judge"]["mode"] == "basic"
    assert summary_of(store, found.header).overall["average"].n == 1


def test_without_category_scores_the_errors_that_the_judge_names_still_count(suite, store, tmp_path):
    one = result("a")
    one["judgeResult"] = {name: value for name, value in one["judgeResult"].items() if name != "categoryScores"}
    found = brought_in(snapshot(one), suite, store, tmp_path)
    (sample,) = samples_of(found, store)
    assert (sample.mode, found.lacking) == (Mode.MODEL, ())
    assert [one.code for one in sample.findings] == ["MISSED", "FALSE_POSITIVE", "WRONG_ROLE", "TOO_COARSE"]
    assert not [score.name for score in sample.scores if score.name.startswith("category_")]


@pytest.mark.parametrize("list_name", ["missedElements", "falsePositives", "taxonomyErrors", "granularityErrors"])
def test_without_one_of_its_lists_only_the_scores_of_an_answer_are_read(suite, store, tmp_path, list_name):
    one = result("a")
    one["judgeResult"] = {name: value for name, value in one["judgeResult"].items() if name != list_name}
    found = brought_in(snapshot(one), suite, store, tmp_path)
    (sample,) = samples_of(found, store)
    assert (sample.mode, sample.findings) == (Mode.BASIC, ())
    assert found.lacking == (
        "1 of 1 records lack what the judge is asked for now: of its answers only the scores are read",
    )


def test_a_result_without_its_time_is_not_one_of_no_time(suite, store, tmp_path):
    one = {name: value for name, value in result("a").items() if name != "latencyMs"}
    found = brought_in(snapshot(one), suite, store, tmp_path)
    assert found.lacking == ("1 of 1 records do not say how long they took: they are in no figure of latency",)
    assert summary_of(store, found.header).overall["latency.mean"].n == 0


def test_a_record_of_a_score_and_a_count_is_read_as_such(suite, store, tmp_path):
    scores = judged((4, 3, 4, 3, 5))["scores"]
    bare = {"input": "fox", "spanCount": 31, "error": None}
    document = snapshot(
        {"promptId": "five", **bare, "judgeResult": {"scores": scores, "totalScore": 19}},
        {"promptId": "total", **bare, "judgeResult": {"totalScore": 18}, "spans": SPANS, "spanCount": 31},
        {"promptId": "score", "score": 13, "spanCount": 20},
        {"promptId": "stripped", "spans": [], "spanCount": 18, "judgeResult": judged((2, 2, 2, 2, 2)), "error": None},
        summary={"avgScore": 15, "avgSpanCount": 18.75, "errorCount": 0},
    )
    found = brought_in(document, suite, store, tmp_path)
    samples = samples_of(found, store)
    # Of a total of 25 with a lowest of 5: 14, 13, 8 and 5 of 20.
    assert [(one.outcome, one.score, one.passed) for one in samples] == [
        (Outcome.SCORED, 0.7, True),
        (Outcome.SCORED, 0.65, True),
        (Outcome.SCORED, 0.4, False),
        (Outcome.SCORED, 0.25, False),
    ]
    assert {one.name: one.value for one in samples[0].scores} == {name: float(n) for name, n in scores.items()}
    assert [one.mode for one in samples] == [Mode.BASIC] * 4
    assert (found.differences, found.lacking[0]) == (
        (),
        "4 of 4 records hold a score without its answer: it is taken as stated",
    )
    average = summary_of(store, found.header).overall["average"]
    assert (average.value, average.n) == (pytest.approx(0.5), 4)
    build_report(store, found.header)
    export_foreign(suite, store, found.header, tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == document


def test_a_total_that_its_scores_do_not_give_is_listed(suite, store, tmp_path):
    found = brought_in(snapshot(result("a", judged(totalScore=24)), result("b")), suite, store, tmp_path)
    assert found.differences == ("a: totalScore 24, its scores add up to 19",)


def test_incorrect_extractions_of_an_old_file_fit_its_summary():
    old = {"scores": judged()["scores"], "totalScore": 19, "missedElements": [], "incorrectExtractions": ["dusk"]}
    stored = {"commonIncorrectExtractions": ["dusk (2x)"], "avgScore": 19}
    assert Format().read(snapshot(result("a", old), result("b", old), summary=stored)).differences == ()
    stored = {"commonIncorrectExtractions": ["dusk (3x)"]}
    told = Format().read(snapshot(result("a", old), result("b", old), summary=stored)).differences
    assert told == ("commonIncorrectExtractions: 'dusk' 3 times, the records give 2",)


def test_a_category_that_nobody_has_is_null_in_an_export_and_in_no_mean(suite, store, tmp_path):
    """All nine are in every result, and import, report and export come to the same means."""
    header, _ = run(suite, store, RunOptions(selection=Selection(limit=4)))
    export_foreign(suite, store, header, tmp_path / "own.json")
    document = json.loads((tmp_path / "own.json").read_text())
    results = [one["judgeResult"]["categoryScores"] for one in document["results"]]
    assert {tuple(one) for one in results} == {CATEGORIES}
    values = [kinds["coverage"] for one in results for kinds in one.values()]
    assert None in values
    again = brought_in(document, suite, store, tmp_path)
    assert again.differences == ()
    for one in (header, again.header):
        means = summary_of(store, one).overall.each("score.<component>.points")
        for name in CATEGORIES:
            given = [each[name]["coverage"] for each in results if each[name]["coverage"] is not None]
            mean = means.get(f"category_coverage_{name}", Estimate(None, 0))
            assert (mean.n, mean.value) == (len(given), pytest.approx(sum(given) / len(given)) if given else None)
            assert document["summary"]["avgCategoryScores"][name]["n"] == len(given)
    assert not any(remark.code == "CONTRADICTION" for one in samples_of(again, store) for remark in remarks_of(one))


def remarks_of(sample):
    return [remark for ballot in sample.judgement.votes for remark in ballot.remarks]


def test_a_snapshot_that_fits_its_records_has_no_differences():
    document = summed(result("a"), result("b", judged((5, 5, 5, 4, 4)), latency=3000), result("c", failed()))
    assert Format().read(document).differences == ()


@for_every(
    ("at", "value", "message"),
    [
        (("errorCount",), 0, "errorCount: 0, the records give 1"),
        (("avgScore",), 13.5, "avgScore: 13.5, the records give 21"),
        (("avgSpanCount",), 7, "avgSpanCount: 7, the records give 6"),
        (("scoreDistribution", "failing (0-7)"), 1, "scoreDistribution.failing (0-7): 1, the records give 0"),
        (("avgCategoryScores", "shot", "coverage"), 2.67, "avgCategoryScores.shot.coverage: 2.67, the records give 4"),
        (("falsePositiveReasons", "other"), 4, "falsePositiveReasons.other: 4, the records give 0"),
        (("errorsBySection", "main", "missed"), 9, "errorsBySection.main.missed: 9, the records give 0"),
        (("confidenceAnalysis", "buckets", "low", "total"), 1, "confidenceAnalysis.buckets.low.total: 1, "),
        (("latencyStats", "p50"), 1, "latencyStats.p50: 1, the records give 2000"),
        (("missedCountsByCategory", "audio"), 3, "missedCountsByCategory.audio: 3, the records give 0"),
        (("missedCountsByCategory",), {}, "missedCountsByCategory.camera: not there, the records give 2"),
        (("commonMissedElements",), ["slow pan (5x)"], "commonMissedElements: 'slow pan' 5 times, the records give 2"),
        (
            ("topTaxonomyErrors", 0, "count"),
            8,
            "topTaxonomyErrors: lighting.timeOfDay as lighting.source 8 times, the records give 2",
        ),
        (("topGranularityErrors",), [], "topGranularityErrors: too_coarse 0 times, the records give 2"),
        (("confidenceAnalysis", "recommendedThreshold"), 0.4, "recommendedThreshold: 0.4, the records give nothing"),
    ],
)
def test_every_number_that_does_not_fit_is_listed(at, value, message):
    document = summed(result("a"), result("b", judged((5, 5, 5, 4, 4))), result("c", failed()))
    place = document["summary"]
    for step in at[:-1]:
        place = place[step]
    place[at[-1]] = value
    assert len(found := Format().read(document).differences) == 1
    assert message in found[0]


def test_a_mean_of_spans_may_be_rounded_more_coarsely():
    document = summed(result("a"), result("b"), result("c", spans=SPANS[:2]))
    assert document["summary"]["avgSpanCount"] == 4.67
    for written, differences in ((5, 0), (4.7, 0), (4.67, 0), (4, 1), (4.6, 1)):
        document["summary"]["avgSpanCount"] = written
        assert len(Format().read(document).differences) == differences, written


@pytest.mark.parametrize("document", [[], {}, {"results": {}}, {"results": [1]}, {"format": "steelyard-snapshot"}])
def test_what_is_no_snapshot_is_reported(document):
    with pytest.raises(UsageError, match="it has no list of results"):
        Format().read(document)


def written_again(document, suite, store, folder):
    found = brought_in(document, suite, store, folder)
    export_foreign(suite, store, found.header, folder / "again.json")
    return json.loads((folder / "again.json").read_text())


def test_import_and_export_lose_nothing(suite, store, tmp_path):
    document = summed(
        result("a", odd=[1.0, 1, None, {"x": "\N{FOX FACE}"}]),
        result("b", failed(), spans=[]),
        result("c", error="no connection", spans=None, output=None, judgeResult=None),
        {"promptId": "d", "output": PROMPT, "spans": SPANS, "judgeResult": FIRST_VERSION | {"more": True}},
        {"input": "only an idea", "spans": []},
        result("a"),
        result("a", output="Another fox."),
    )
    document = {"schemaVersion": 3, **document, "tail": {"unknown": 1e-9}}
    again = written_again(document, suite, store, tmp_path)
    assert again == document
    # Not only equal, but in the same order and with the same kinds of numbers.
    assert json.dumps(again) == json.dumps(document)


def test_a_prompt_that_stands_twice_is_repeated_and_another_of_the_same_name_is_another_case(suite, store, tmp_path):
    document = snapshot(result("a"), result("a"), result("a", output="Another fox."))
    found = brought_in(document, suite, store, tmp_path)
    assert [sample.key for sample in samples_of(found, store)] == [("a", "", 0), ("a", "", 1), ("a#2", "", 0)]


plain_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=examples(30))
@given(
    st.lists(st.dictionaries(st.sampled_from([*result("x"), "more"]), plain_data, max_size=6), min_size=1, max_size=3)
)
def test_whatever_a_result_holds_comes_back(results):
    form = Format()
    document = snapshot(*results)
    read = form.read(document)

    class CallResult:
        def __init__(self, one):
            self.text = one.answer

    class Sample:
        def __init__(self, one, position):
            self.call_result, self.position = CallResult(one), position

    class Header:
        options = RunFacts(original=Original(read.stored, tuple(one.stored for one in read.samples)))

    again = form.write(Header(), None, [(Sample(one, at), one.case) for at, one in enumerate(read.samples)])
    assert json.dumps(again) == json.dumps(document)


def test_importing_the_same_again_changes_nothing(suite, store, tmp_path):
    document = summed(result("a"))
    first, second = (brought_in(document, suite, store, tmp_path) for _ in range(2))
    assert (first.is_new, second.is_new, first.header.id == second.header.id) == (True, False, True)
    other = brought_in(summed(result("a", latency=1)), suite, store, tmp_path)
    assert other.is_new
    assert len(store.runs("spans")) == 2


def test_snapshots_of_one_judge_share_an_signature_and_those_of_two_do_not(suite, store, tmp_path):
    names = ("one", "one", "two")
    documents = [snapshot(result("a", latency=at), judgeModel=name) for at, name in enumerate(names)]
    first, second, third = (brought_in(one, suite, store, tmp_path).header.signature for one in documents)
    assert first == second
    assert [part for part in first.to_data() if first.part(part) != third.part(part)] == ["judge", "text"]


def test_a_run_of_our_own_is_written_in_the_same_shape(suite, store, tmp_path):
    header, _ = run(suite, store, RunOptions(selection=Selection(limit=4)))
    export_foreign(suite, store, header, tmp_path / "own.json")
    document = json.loads((tmp_path / "own.json").read_text())
    assert document["promptCount"] == len(document["results"]) == 4
    assert set(document["summary"]) >= {"avgScore", "errorsBySection", "confidenceAnalysis", "topTaxonomyErrors"}
    totals = []
    for (sample, case), one in zip(store.samples(header.id), document["results"], strict=True):
        assert (one["promptId"], one["output"], one["error"]) == (case.id, case.input["text"], None)
        assert one["judgeResult"]["totalScore"] == sum(one["judgeResult"]["scores"].values())
        assert one["metadata"]["sections"] == one["sections"]
        assert sum(one["metadata"]["spansBySection"].values()) == one["spanCount"]
        totals.append(one["judgeResult"]["totalScore"])
        assert sample.score == pytest.approx((totals[-1] - 5) / 20)
    assert document["summary"]["avgScore"] == pytest.approx(sum(totals) / 4)
    # What we write we can read, and its summary fits its records.
    again = brought_in(document, suite, store, tmp_path)
    assert again.differences == ()
    assert [sample.score for sample in samples_of(again, store)] == [
        sample.score for sample, _ in store.samples(header.id)
    ]


def test_the_order_of_results_changes_no_figure_of_the_summary():
    results = [result(str(at), judged(tuple(1 + (at * step) % 5 for step in range(1, 6)))) for at in range(7)]
    shuffled = random.Random(5).sample(results, len(results))
    one, other = (summed(*each)["summary"] for each in (results, shuffled))
    for name in ("avgScore", "scoreDistribution", "errorsBySection", "avgCategoryScores", "latencyStats"):
        assert one[name] == other[name]
