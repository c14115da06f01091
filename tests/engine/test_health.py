import json
from uuid import uuid4

import pytest

from parts.looped import for_every
from steelyard.engine.health import Health
from steelyard.engine.same_answers import SameAnswers
from steelyard.records import CallResult, Failure, Outcome, Sample


def watched(texts, *, tokens_out=None, same_case=False):
    health = Health()
    for number, text in enumerate(texts):
        attempt = CallResult(text=text, tokens_out=tokens_out)
        case_id = "one" if same_case else str(number)
        health.watch(Sample(case_id, "", number, attempt, Outcome.SCORED, score=0.5))
    return health


def test_a_healthy_run_has_no_complaints():
    assert watched([f"answer {n}" for n in range(20)], tokens_out=12).complaints(0.5, [0.4, 0.6]) == ()


def test_identical_answers_to_different_cases_are_suspect():
    (complaint,) = watched(["the same"] * 6).complaints(None, [])
    assert complaint == "all 6 answers are identical although the cases differ"


def test_identical_answers_to_repeats_of_one_case_are_not_suspect():
    assert watched(["the same"] * 6, same_case=True).complaints(None, []) == ()


def test_too_few_answers_to_call_them_identical():
    assert watched(["the same"] * 4).complaints(None, []) == ()


def test_empty_answers_are_suspect_even_when_there_are_few():
    assert watched(["", "  "]).complaints(None, []) == ("all 2 answers are empty",)


def test_mostly_empty_answers_are_suspect():
    assert watched(["", "", "", "", "", "a", "b"]).complaints(None, []) == ("5 of 7 answers are empty",)


@pytest.mark.parametrize(
    "body",
    [
        '{"observations": [], "errors": [{"code": "MODEL_FAILURE"}]}',
        '{"error": {"message": "x"}}',
        '{"error": "model missing"}',
        "<html><body>502 Bad Gateway</body></html>",
        "Traceback (most recent call last):\n  File",
    ],
)
def test_error_markers_in_bodies_are_suspect(body):
    (complaint,) = watched([f"fine {n}" for n in range(10)] + [body]).complaints(None, [])
    assert complaint.startswith("1 of 11 answers carry an error marker")


@pytest.mark.parametrize("body", ['{"errors": []}', '{"error": null}', '{"error": ""}', "no errors were found"])
def test_an_empty_error_field_is_no_marker(body):
    assert watched([f"fine {n}" for n in range(10)] + [body]).complaints(None, []) == ()


def test_zero_output_tokens_everywhere_are_suspect():
    complaints = watched([f"a {n}" for n in range(6)], tokens_out=0).complaints(None, [])
    assert complaints == ("all 6 answers that report tokens report zero output tokens",)


def test_latency_far_below_history_is_suspect_and_says_both_figures():
    complaints = watched([f"a {n}" for n in range(6)]).complaints(0.014, [20.0, 24.0, 22.0])
    assert complaints == ("median latency 14 ms is far below the usual 22000 ms of 3 earlier runs",)


def test_answers_that_broke_off_are_suspect_from_1_in_20_on():
    def broken(n):
        health = Health()
        for number in range(40):
            attempt = CallResult(text=f"answer {number}", cut_off=number < n)
            health.watch(Sample(str(number), "", 0, attempt, Outcome.SCORED, score=0.5))
        return health.complaints(None, [])

    assert broken(1) == ()
    told = "2 of 40 answers broke off at the limit of tokens: ask for more with max_tokens, or for less"
    assert broken(2) == (told,)


def test_without_history_latency_says_nothing():
    assert watched([f"a {n}" for n in range(6)]).complaints(0.001, []) == ()


def test_failed_calls_do_not_count_as_answers():
    health = Health()
    for number in range(10):
        attempt = CallResult(failure=Failure("refused", "no"))
        health.watch(Sample(str(number), "", 0, attempt, Outcome.TARGET_FAILED))
    assert health.complaints(None, []) == ()


def test_one_marked_answer_in_twenty_is_suspect_and_one_in_twenty_one_is_not():
    fine = [f"fine {n}" for n in range(20)]
    bad = '{"error": "model missing"}'
    assert watched([*fine[:19], bad]).complaints(None, []) != ()  # 1 of 20 = 5 %
    assert watched([*fine, bad]).complaints(None, []) == ()  # 1 of 21 = 4.8 %


@pytest.mark.parametrize(("now", "suspect"), [(0.0099, True), (0.0101, False)])
def test_far_below_is_less_than_a_tenth_of_the_usual(now, suspect):
    assert bool(watched([f"a {n}" for n in range(6)]).complaints(now, [0.1])) is suspect


@pytest.mark.parametrize(("usual", "suspect"), [(0.1, True), (0.0999, False)])
def test_a_usual_latency_below_100_ms_says_nothing(usual, suspect):
    assert bool(watched([f"a {n}" for n in range(6)]).complaints(0.0001, [usual])) is suspect


@pytest.mark.parametrize(("full", "suspect"), [(4, True), (5, False)])
def test_more_than_half_empty_is_suspect(full, suspect):
    # 5 empty of 9 are more than half, 5 of 10 are not.
    assert bool(watched([""] * 5 + [f"a {n}" for n in range(full)]).complaints(None, [])) is suspect


SUITE = {"components": [{"name": "label", "params": {"expected": "expected.label", "answer": "label"}}]}


def of_calls(make, *, score=0.0):
    health = Health()
    for n in range(8):
        text = make(n) if isinstance(make(n), str) else json.dumps(make(n))
        health.watch(Sample(f"c{n}", "", 0, CallResult(text=text), Outcome.SCORED, score=score))
    return health.complaints(None, [], SUITE)


@for_every(
    "make",
    [
        lambda _: {"label": "none", "request_id": str(uuid4())},
        lambda n: {"label": "none", "time": 1790000000.25 + n},
        lambda n: {"label": "none", "meta": {"took": 0.003 * n, "served_at": f"2026-11-17T00:26:{30 + n}Z"}},
        lambda n: {"label": "none", "n": n},
        lambda n: {"label": "none", "id": f"cmpl-{n * 7919 + 10**7:08x}", "host": f"node-{n % 3}"},
        lambda _: {"label": f"Sorry, request {uuid4()} could not be answered"},
        lambda _: f"Service unavailable, trace {uuid4().hex[:12]}",
        lambda n: f"Please try again later (request {n}).",
        lambda n: f"[00:26:{30 + n}] the model is being loaded",
        lambda n: f"Tue, 17 Nov 2026 00:26:{30 + n} GMT upstream did not answer",
        lambda n: f"gave up after {1000 + n} ms, nothing came",
    ],
)
def test_answers_that_differ_only_by_what_changes_with_every_call_are_suspect(make):
    (complaint,) = of_calls(make)
    assert complaint.startswith("all 8 answers are identical but for what changes with every call, such as ")


@for_every(
    "make",
    [
        lambda n: {"label": f"kind {n}", "request_id": str(uuid4())},
        lambda n: {"label": 1000 + n, "status": "found"},
        lambda n: {"status": "found", "score": n / 9},
        lambda n: {"status": "found", "words": n % 3},
        lambda _: {"label": str(uuid4()), "status": "found"},
        lambda n: f"The answer is {17 * n}.",
        lambda n: str(10**9 + n),
        lambda _: uuid4().hex,
        lambda n: [n, n + 1],
    ],
)
def test_answers_whose_numbers_or_ids_are_the_answer_are_not(make):
    assert of_calls(make) == ()


def test_times_in_sentences_that_earn_their_marks_are_answers():
    assert of_calls(lambda n: f"The train leaves at 10:00:{10 + n} from here", score=0.9) == ()


def test_of_answers_without_a_score_nobody_knows_that_they_earned_little():
    same = SameAnswers()
    for k in range(6):
        same.watch(f"The order {k}a3f9c1d7b2 has been sent to you.")
    assert same.example({}, 0.0) is not None
    assert same.example({}, None) is None
