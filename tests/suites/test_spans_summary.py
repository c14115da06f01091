"""The summary in the seed's shape. All figures are worked out by hand from the few results below."""

import pytest

from parts.looped import for_every
from parts.seed_snapshots import CATEGORIES, PROMPT, SPANS, about, judged, missed, span
from steelyard.suites.spans.extracted import bucket, confidence_analysis
from steelyard.suites.spans.prompts import SECTIONS, metadata, section_of
from steelyard.suites.spans.summary import BANDS, PromptResult, average, rounded, summarise

SECTIONS_OF_PROMPT = metadata(PROMPT, SPANS)["sections"]


def one(response=None, latency=1000, **changes):
    given = {"failed": response is None, "sections": SECTIONS_OF_PROMPT, "meta": {"source": "neuro-symbolic"}}
    return PromptResult(PROMPT, SPANS, response, latency=latency, **(given | changes))


def test_a_failed_judge_is_in_no_average_and_is_counted():
    found = summarise([one(judged((4, 3, 4, 3, 5))), one(judged((5, 5, 4, 4, 4))), one(None, latency=9000)])
    # 19 and 22; the zero of the failed call is no score.
    assert (found["avgScore"], found["errorCount"]) == (20.5, 1)
    assert sum(found["scoreDistribution"].values()) == 2
    # Spans and latency are not the judge's: they are measured on all three.
    assert found["avgSpanCount"] == 6
    assert found["latencyStats"] == {"avg": 3667, "p50": 1000, "p95": 9000, "p99": 9000}


def test_an_average_of_nothing_is_null():
    found = summarise([one(None, latency=None)])
    nothing = {"coverage": None, "precision": None, "n": 0}
    assert (found["avgScore"], found["avgCategoryScores"]) == (None, dict.fromkeys(CATEGORIES, nothing))
    assert found["latencyStats"] == {"avg": None, "p50": None, "p95": None, "p99": None}
    assert summarise([])["avgSpanCount"] is None


@for_every(
    ("total", "band"),
    [
        *((25, "excellent (23-25)"), (23, "excellent (23-25)"), (22, "good (18-22)"), (18, "good (18-22)")),
        *((17, "acceptable (13-17)"), (13, "acceptable (13-17)"), (12, "poor (8-12)"), (8, "poor (8-12)")),
        *((7, "failing (0-7)"), (5, "failing (0-7)")),
    ],
)
def test_each_total_is_in_one_band(total, band):
    found = summarise([one({"totalScore": total})])["scoreDistribution"]
    assert found == dict.fromkeys(BANDS, 0) | {band: 1}


def test_averages_of_categories_are_rounded_half_up_as_the_tool_did():
    scores = [{"shot": {"coverage": value, "precision": 5}} for value in (4, 5, 5)]
    found = summarise([one(judged(categoryScores=each)) for each in scores])["avgCategoryScores"]
    assert found["shot"] == {"coverage": 4.67, "precision": 5, "n": 3}
    # The seed asks for all nine; of the others nothing is known.
    assert found["audio"] == {"coverage": None, "precision": None, "n": 0}
    whole = summarise([one(judged())])["avgCategoryScores"]
    assert list(whole) == list(CATEGORIES)
    assert (rounded(11791.5, 0), rounded(2.125), average([1, 2])) == (11792, 2.13, 1.5)


def test_only_values_of_the_scale_are_in_an_average_of_a_category():
    scores = [{"shot": {"coverage": value, "precision": 4}} for value in (0, 4, 3, 6, None, True, "5")]
    found = summarise([one(judged(categoryScores=each)) for each in scores])["avgCategoryScores"]["shot"]
    # 4 and 3.
    assert (found["coverage"], found["precision"], found["n"]) == (3.5, 4, 7)


def test_a_total_is_what_the_scores_add_up_to():
    assert summarise([one(judged((4, 3, 4, 3, 5), totalScore=25))])["avgScore"] == 19


def test_the_first_snapshots_call_false_positives_incorrect_extractions():
    old = {"totalScore": 19, "missedElements": ["slow pan"], "incorrectExtractions": ["dusk", "dusk", "glare"]}
    found = summarise([one(old), one(old)])
    assert found["commonIncorrectExtractions"] == ["dusk (4x)", "glare (2x)"]
    assert found["commonMissedElements"] == ["slow pan (2x)"]


def test_reasons_confusions_and_examples_are_counted_over_all_prompts():
    wrong = [about(5, reason="section_header"), about(1, reason="duplicate"), about(0, reason="section_header")]
    found = summarise([one(judged(falsePositives=wrong)), one(judged())])
    assert found["falsePositiveReasons"] == {
        "section_header": 3,
        "abstract_concept": 0,
        "non_visual": 0,
        "instruction_text": 0,
        "duplicate": 1,
        "other": 0,
    }
    assert found["falsePositiveExamples"]["section_header"] == ["Variation 1", "Wide Shot", "Variation 1"]
    assert found["commonIncorrectExtractions"] == ["Variation 1 (2x)", "red fox (1x)", "Wide Shot (1x)"]
    assert found["commonMissedElements"] == ["slow pan (2x)"]
    assert found["topTaxonomyErrors"] == [
        {"assignedRole": "lighting.source", "expectedRole": "lighting.timeOfDay", "count": 2, "examples": ["dusk"] * 2}
    ]
    assert found["topGranularityErrors"] == [
        {"reason": "too_coarse", "count": 2, "examples": ["trotting through wet grass"] * 2}
    ]
    assert found["missedBySeverity"] == {"critical": [], "important": ["slow pan (camera)"] * 2, "minor": []}
    assert found["missedCountsByCategory"] == {"camera": 2}


def test_only_the_ten_most_frequent_confusions_are_listed():
    errors = [about(3, expectedRole=f"r{k}") for k in range(12) for _ in range(12 - k)]
    found = summarise([one(judged(taxonomyErrors=[each])) for each in errors])["topTaxonomyErrors"]
    assert [(each["expectedRole"], each["count"]) for each in found] == [(f"r{k}", 12 - k) for k in range(10)]


def test_errors_are_in_the_section_they_begin_in():
    wrong = [about(0, reason="other"), about(4, reason="other"), about(5, reason="other")]
    lost = [missed("wet grass", "x"), missed("SLOW PAN", "x"), missed("warm light", "x"), missed("nowhere", "x")]
    found = summarise([one(judged(falsePositives=wrong, missedElements=lost))])["errorsBySection"]
    assert found == {
        "main": {"falsePositives": 1, "missed": 2},
        "technicalSpecs": {"falsePositives": 1, "missed": 1},
        "alternatives": {"falsePositives": 1, "missed": 1},
    }


def test_pipelines_and_sources_are_summed():
    metas = [{"source": "neuro-symbolic", "closedVocab": 3, "openVocab": 4}, {"source": "llm-v2", "llm": 7}, {}]
    found = summarise([one(judged(), meta=meta) for meta in metas])
    assert found["pipelineSources"] == {"nlp": 1, "llm": 1, "unknown": 1}
    assert found["spanSources"] == {"closedVocab": 3, "openVocab": 4, "llm": 7}


@pytest.mark.parametrize(
    ("confidence", "name"),
    [(1, "high"), (0.8, "high"), (0.7999, "medium"), (0.6, "medium"), (0.5999, "low"), (0, "low")],
)
def test_a_boundary_belongs_to_one_bucket(confidence, name):
    assert bucket(confidence) == name


@pytest.mark.parametrize("none", [None, True, "0.5", -0.1, 1.1])
def test_what_is_no_confidence_is_in_no_bucket(none):
    assert bucket(none) is None


def test_error_rates_by_confidence_come_from_the_indices_of_false_positives():
    # high: 1, 0.8, 0.9; medium: 0.7; low: 0.55, 0.59. The last of each of two is a false positive.
    found = confidence_analysis([(SPANS, [about(5), about(4), {"spanIndex": 99}])])
    rates = {name: (one["total"], one["errors"], one["errorRate"]) for name, one in found["buckets"].items()}
    assert rates == {"high": (3, 1, 1 / 3), "medium": (1, 0, 0), "low": (2, 1, 0.5)}
    assert found["buckets"]["low"]["examples"] == ['"Variation 1" (style.aesthetic)']
    # 50 % is not above 50 %.
    assert (found["recommendedThreshold"], found["notes"]) == (None, "No clear confidence threshold recommendation.")


def test_a_span_that_is_complained_of_again_counts_once():
    # SPANS has one of medium confidence, 0.7, at index 2: five complaints about it are 100 % of 1, not 500 %.
    wrong = [about(2, reason="other"), *(about(2, reason="duplicate") for _ in range(4)), about(5, reason="other")]
    found = summarise([one(judged(falsePositives=wrong))])
    medium = found["confidenceAnalysis"]["buckets"]["medium"]
    assert (medium["total"], medium["errors"], medium["errorRate"]) == (1, 1, 1)
    assert sum(found["falsePositiveReasons"].values()) == 2
    assert found["errorsBySection"]["main"]["falsePositives"] == 1


def test_a_bucket_that_is_mostly_wrong_raises_the_threshold_above_its_lower_bound():
    found = confidence_analysis([(SPANS, [about(5), about(1)])])
    assert found["recommendedThreshold"] == 0.6
    assert found["notes"] == (
        "100% of 2 spans with a confidence from 0 to 0.6 are false positives: raise the threshold above 0, to 0.6."
    )
    both = confidence_analysis([(SPANS, [about(5), about(1), about(2)])])
    assert both["recommendedThreshold"] == 0.8


def test_metadata_counts_utf16_units():
    found = metadata(PROMPT, [*SPANS, span("red fox", "subject.identity", nth=1)])
    assert found["promptLength"] == len(PROMPT) + 1
    # One emoji stands before both headers; the blank lines before a header belong to its section.
    technical, other = PROMPT.index("\n\n**TECH") + 1, PROMPT.index("\n\n**ALT") + 1
    assert found["sections"] == {
        "main": {"start": 0, "end": technical},
        "technicalSpecs": {"start": technical, "end": other},
        "alternatives": {"start": other, "end": len(PROMPT) + 1},
    }
    assert found["spansBySection"] == {"main": 4, "technicalSpecs": 1, "alternatives": 2}


def test_a_prompt_without_headers_is_all_main():
    assert metadata("A fox.", []) == {
        "promptLength": 6,
        "sections": {"main": {"start": 0, "end": 6}, "technicalSpecs": None, "alternatives": None},
        "spansBySection": dict.fromkeys(SECTIONS, 0),
    }


@for_every(
    ("header", "section"),
    [
        *(("**TECHNICAL SPECS**", "technicalSpecs"), ("**Technical Specifications**", "technicalSpecs")),
        *(("**ALTERNATIVE APPROACHES**", "alternatives"), ("**VARIATIONS**", "alternatives")),
        *(
            ("**VARIATIONS:**", "alternatives"),
            ("**Variations**:", "alternatives"),
            ("** variations **", "alternatives"),
        ),
        *(("** TECHNICAL SPECS **", "technicalSpecs"), ("**technical specs:**", "technicalSpecs")),
        *(("**Technical  Specifications**:", "technicalSpecs"), ("## Technical Specs", "technicalSpecs")),
        *(("### Variations", "alternatives"), ("# Alternatives", "alternatives"), ("**variations of light**", "main")),
        *(("**Variation 1:**", "main"), ("TECHNICAL SPECS", "main"), ("a #technical specs tag", "main")),
    ],
)
def test_the_headers_of_the_seed_begin_sections(header, section):
    text = f"A fox.\n\n{header}\n- 6s"
    found = metadata(text, [{"start": text.index("6s")}])["spansBySection"]
    assert found == dict.fromkeys(SECTIONS, 0) | {section: 1}


def test_a_span_that_says_its_section_is_believed():
    assert section_of({"start": 0, "section": "alternatives"}, SECTIONS_OF_PROMPT) == "alternatives"
    assert section_of({}, SECTIONS_OF_PROMPT) == "main"
