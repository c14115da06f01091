"""Whole runs against a real HTTP server on loopback, on a real SQLite file and a real PostgreSQL."""

import threading
import time

import pytest

from parts import running as run
from parts.loopback import Loopback, chat_answer, cut_mid_body, error, garbage, json_answer, slow, throttle
from parts.small_suite import http_target, write_suite
from steelyard.engine.run_options import RunOptions, Selection
from steelyard.errors import StoreError, UsageError
from steelyard.loading.load import load_suite
from steelyard.records import Outcome, RunState, Verdict
from steelyard.scoring.base import Scorer
from steelyard.store.sql import open_store

pytestmark = pytest.mark.boundary("httptools", "numpy", "psycopg")


def right(seen):
    return json_answer({"answer": {"word": f"word {seen.json['number']}"}})


@pytest.fixture
def server():
    with Loopback() as running:
        yield running


def samples_of(store, header):
    return {sample.key: sample for sample, _ in store.samples(header.id)}


def test_every_answer_is_asked_for_once_scored_and_kept(server, store, tmp_path):
    server.on("/ask", right)
    suite = load_suite(write_suite(tmp_path / "s", n=12, target=http_target(server.base_url)))
    header, ending = run.run(suite, store)
    assert ending.counts.scored == 12
    assert header.state is RunState.ENDED
    assert header.verdict is Verdict.PASS
    assert len(samples_of(store, header)) == 12
    assert sorted(seen.json["number"] for seen in server.requests) == list(range(12))


def test_the_grid_is_cases_times_variants_times_repeats(server, store, tmp_path):
    server.on("/ask", right)
    path = write_suite(
        tmp_path / "s", n=3, target=http_target(server.base_url), variants={"tone": ["plain", "polite"]}, repeats=2
    )
    header, _ = run.run(load_suite(path), store)
    keys = samples_of(store, header)
    assert set(keys) == {(f"c{n}", tone, k) for n in range(3) for tone in ("plain", "polite") for k in range(2)}
    assert len(server.requests) == 12


def test_only_and_limit_weigh_a_part(server, store, tmp_path):
    server.on("/ask", right)
    suite = load_suite(write_suite(tmp_path / "s", n=10, target=http_target(server.base_url)))
    options = RunOptions(selection=Selection(only=(("category", "odd"),), limit=2))
    header, _ = run.run(suite, store, options)
    assert {key[0] for key in samples_of(store, header)} == {"c1", "c3"}


def test_a_selection_that_fits_nothing_is_a_mistake_that_names_what_there_is(store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "s"))
    with pytest.raises(UsageError, match="even, odd"):
        run.run(suite, store, RunOptions(selection=Selection(only=(("category", "blue"),))))
    assert store.runs() == []


def test_retry_after_is_obeyed_and_the_sample_is_not_lost(server, store, tmp_path):
    server.on("/ask", throttle(1), right)
    suite = load_suite(write_suite(tmp_path / "s", n=1, target=http_target(server.base_url)))
    header, _ = run.run(suite, store)
    first, second = server.requests
    assert second.at - first.at >= 0.99
    (sample,) = samples_of(store, header).values()
    assert sample.outcome is Outcome.SCORED
    assert sample.call_result.tries == 2


def test_a_refused_call_waits_alone_and_the_others_are_made_meanwhile(server, store, tmp_path):
    def first_refused(seen):
        return throttle(0.5) if seen.json["number"] == 5 and len(server.requests) < 10 else right(seen)

    server.on("/ask", first_refused)
    suite = load_suite(write_suite(tmp_path / "s", n=10, target=http_target(server.base_url)))
    _, ending = run.run(suite, store, RunOptions(concurrency=2))
    assert ending.counts.scored == 10
    numbers = [seen.json["number"] for seen in server.requests]
    # It comes again after all others, which were asked once each.
    assert (sorted(numbers), numbers[-1]) == (sorted([*range(10), 5]), 5)


def test_a_run_ends_although_the_last_questions_are_throttled_for_good(server, store, tmp_path):
    # Half of the questions are always turned away: whoever holds one when the others are through must get a turn.
    def half(seen):
        return throttle() if seen.json["number"] % 2 else right(seen)

    server.on("/ask", half)
    suite = load_suite(write_suite(tmp_path / "s", n=16, target=http_target(server.base_url)))
    header, ending = run.run(suite, store, RunOptions(concurrency=8, retries=0))
    assert (ending.counts.scored, ending.counts.failed) == (8, 8)
    assert header.verdict is Verdict.INVALID


def test_a_server_error_is_asked_again_and_then_scored(server, store, tmp_path):
    server.on("/ask", error(503), error(500), right)
    suite = load_suite(write_suite(tmp_path / "s", n=1, target=http_target(server.base_url)))
    header, _ = run.run(suite, store)
    (sample,) = samples_of(store, header).values()
    assert sample.outcome is Outcome.SCORED
    assert sample.call_result.tries == 3


@pytest.mark.parametrize(
    "trouble", [error(404), error(500), garbage(), cut_mid_body()], ids=["404", "500", "garbage", "cut"]
)
def test_a_failed_target_is_inconclusive_never_a_zero_and_the_run_is_invalid(trouble, server, store, tmp_path):
    server.on("/ask", trouble)
    suite = load_suite(write_suite(tmp_path / "s", n=4, target=http_target(server.base_url)))
    header, ending = run.run(suite, store, RunOptions(retries=0))
    assert ending.counts.failed == 4
    assert header.verdict is Verdict.INVALID
    for sample in samples_of(store, header).values():
        assert sample.outcome is Outcome.TARGET_FAILED
        assert sample.score is None
        assert sample.passed is None


def test_up_to_the_declared_share_may_fail(server, store, tmp_path):
    def mostly(seen):
        return error(404) if seen.json["number"] == 7 else right(seen)

    server.on("/ask", mostly)
    suite = load_suite(write_suite(tmp_path / "s", n=20, target=http_target(server.base_url)))
    # 1 of 20 is exactly 5 %, which is allowed; a limit of 4 % is not.
    header, _ = run.run(suite, store, RunOptions(retries=0))
    assert header.verdict is Verdict.PASS
    header, _ = run.run(suite, store, RunOptions(retries=0, max_inconclusive=0.04))
    assert header.verdict is Verdict.INVALID


def test_an_answer_that_comes_too_late_is_a_failure_that_says_so(server, store, tmp_path):
    server.on("/ask", slow(2))
    suite = load_suite(write_suite(tmp_path / "s", n=1, target=http_target(server.base_url)))
    header, _ = run.run(suite, store, RunOptions(timeout=0.2, retries=0))
    (sample,) = samples_of(store, header).values()
    assert sample.call_result.failure.kind == "timeout"
    assert sample.call_result.failure.message == "no answer within 0.2 s"


def test_a_malformed_answer_scores_zero_with_one_format_finding(server, store, tmp_path):
    server.on("/ask", json_answer({"answer": {"sentence": "no word here"}}))
    suite = load_suite(write_suite(tmp_path / "s", n=1, target=http_target(server.base_url)))
    header, _ = run.run(suite, store)
    (sample,) = samples_of(store, header).values()
    assert (sample.outcome, sample.score, sample.passed) == (Outcome.MALFORMED, 0.0, False)
    assert [finding.code for finding in sample.findings] == ["FORMAT"]


def test_the_cache_spares_calls_but_never_makes_one_answer_of_repeats(server, store, tmp_path):
    server.on("/ask", right)
    suite = load_suite(write_suite(tmp_path / "s", n=2, target=http_target(server.base_url)))
    run.run(suite, store, RunOptions(cache=True, repeats=3))
    assert len(server.requests) == 6
    header, _ = run.run(suite, store, RunOptions(cache=True, repeats=3))
    assert len(server.requests) == 6
    assert all(sample.call_result.cached for sample in samples_of(store, header).values())


def test_failures_are_not_kept_in_the_cache(server, store, tmp_path):
    server.on("/ask", error(404), right)
    suite = load_suite(write_suite(tmp_path / "s", n=1, target=http_target(server.base_url)))
    run.run(suite, store, RunOptions(cache=True, retries=0))
    header, _ = run.run(suite, store, RunOptions(cache=True, retries=0))
    assert header.verdict is Verdict.PASS
    assert len(server.requests) == 2


def test_a_secret_that_the_server_echoes_reaches_no_file(server, tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    secret = "s3cr3t-walnut-42"

    def echo(seen):
        return json_answer({"answer": {"word": f"you said {seen.headers['authorization']}"}})

    server.on("/ask", echo)
    suite = load_suite(write_suite(tmp_path / "s", n=2, target=http_target(server.base_url, token="MY_TOKEN")))
    run.run(suite, store, RunOptions(cache=True), env={"MY_TOKEN": secret})
    assert server.requests[0].headers["authorization"] == f"Bearer {secret}"
    store.close()
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file


def test_progress_shows_only_what_is_already_durable(server, store, store_url, tmp_path):
    server.on("/ask", right)
    suite = load_suite(write_suite(tmp_path / "s", n=40, target=http_target(server.base_url)))
    seen = []

    class Watching:
        def update(self, counts, _samples=()):
            other = open_store(store_url)
            durable = sum(1 for _ in other.samples(other.runs()[0].id))
            other.close()
            seen.append((counts.done, durable))

        def note(self, text):
            pass

    run.run(suite, store, RunOptions(concurrency=4), Watching())
    assert seen[-1][0] == 40
    assert all(shown <= durable for shown, durable in seen)


def test_the_number_of_calls_under_way_never_exceeds_the_limit(server, store, tmp_path):
    lock = threading.Lock()
    spans = []

    def timed(seen):
        with lock:
            spans.append(seen.at)
        return json_answer({"answer": {"word": f"word {seen.json['number']}"}}, delay=0.05)

    server.on("/ask", timed)
    suite = load_suite(write_suite(tmp_path / "s", n=12, target=http_target(server.base_url)))
    run.run(suite, store, RunOptions(concurrency=3))
    # Each call takes 50 ms: a fourth that began less than that after three others would make four at once.
    spans.sort()
    assert len(spans) == 12
    assert all(later - earlier >= 0.045 for earlier, later in zip(spans, spans[3:], strict=False))


def test_a_suspect_run_cannot_pass(server, store, tmp_path):
    path = write_suite(tmp_path / "s", n=8, target=http_target(server.base_url), gates=["malformed_rate <= 50 %"])
    server.on("/ask", json_answer({"answer": {"word": "always the same"}}))
    header, _ = run.run(load_suite(path), store)
    assert header.verdict is Verdict.AMBIGUOUS
    assert "identical" in header.suspect[0]


def test_a_spending_limit_without_a_price_is_a_mistake_and_the_paid_answer_is_kept(server, store, tmp_path):
    server.on("/ask", right)
    suite = load_suite(write_suite(tmp_path / "s", n=3, target=http_target(server.base_url)))
    with pytest.raises(UsageError, match="price"):
        run.run(suite, store, RunOptions(max_cost=1.0))
    (header,) = store.runs()
    assert header.state is RunState.INTERRUPTED
    # The first call under a limit goes alone, so exactly one answer was paid for.
    assert len(samples_of(store, header)) == len(server.requests) == 1


def test_a_spending_limit_does_not_stop_or_slow_a_function_that_states_no_cost(store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "s", n=6))
    (suite.folder / "system.py").write_text(
        "import asyncio\n\nat_once = [0, 0]\n\n"
        "async def answer(case):\n    at_once[0] += 1\n    at_once[1] = max(at_once)\n    await asyncio.sleep(0.2)\n"
        "    at_once[0] -= 1\n    return {'word': f'word {at_once[1]}'}\n"
    )
    header, ending = run.run(suite, store, RunOptions(max_cost=1.0, concurrency=5))
    assert (header.state, ending.stopped, ending.unpriced) == (RunState.ENDED, None, True)
    answers = [sample.call_result.text for sample in samples_of(store, header).values()]
    # The first goes alone; once its answer shows that calls are free, the other five go at once.
    assert answers[0] == '{"word": "word 1"}'
    assert answers[-1] == '{"word": "word 5"}'


def test_a_spending_limit_stops_in_time_and_the_rest_can_be_resumed(server, store, tmp_path):
    # 1,000 tokens in and none out at 100 a million: 0.1 a call.
    server.on("/v1/chat/completions", chat_answer('{"word": "x"}', tokens=(1000, 0)))
    target = {
        "chat": {"model": "m", "base_url": server.base_url + "/v1", "price": {"input": 100, "output": 0}, "user": "hi"}
    }
    suite = load_suite(write_suite(tmp_path / "s", n=20, target=target))
    header, ending = run.run(suite, store, RunOptions(max_cost=0.55, concurrency=4))
    assert ending.stopped == "the spending limit of 0.55 leaves no room for another call"
    assert header.verdict is Verdict.INVALID
    assert 4 <= len(server.requests) <= 5
    header, ending = run.run(suite, store, RunOptions(resume=header.id, max_cost=10))
    assert ending.stopped is None
    assert len(server.requests) == 20


class Breaks(Scorer):
    """Raises on every answer."""

    expected: str = "expected.word"

    def read(self, answer, case):
        raise ZeroDivisionError("no scale")

    def truth(self, case):
        return "x"


def test_a_scorer_that_raises_is_a_broken_scale_and_the_answer_is_kept(server, store, tmp_path):
    server.on("/ask", right)
    suite = load_suite(write_suite(tmp_path / "s", n=2, target=http_target(server.base_url)))
    broken = suite.changed(components=(suite.components[0].model_copy(update={"scorer": Breaks()}),))
    header, ending = run.run(broken, store)
    assert ending.counts.failed == 2
    assert header.verdict is Verdict.INVALID
    for sample in samples_of(store, header).values():
        assert (sample.outcome, sample.score) == (Outcome.JUDGE_FAILED, None)
        assert "ZeroDivisionError: no scale" in sample.findings[0].evidence
        assert sample.call_result.text
    mended = run.rescore(suite, store, header)
    assert len(server.requests) == 2
    assert mended.verdict is Verdict.PASS


def test_rescoring_asks_for_nothing_and_leaves_the_first_run_alone(server, store, tmp_path):
    server.on("/ask", right)
    folder = tmp_path / "s"
    suite = load_suite(write_suite(folder, n=4, target=http_target(server.base_url)))
    first, _ = run.run(suite, store)
    before = samples_of(store, first)
    cases = (folder / "cases.jsonl").read_text().replace('"word 3"', '"another word"')
    (folder / "cases.jsonl").write_text(cases)
    asked = len(server.requests)
    second = run.rescore(load_suite(folder / "suite.yaml"), store, first)
    assert len(server.requests) == asked
    assert second.rescored_from == first.id
    # One truth of four was changed to something the system did not say.
    assert sorted(sample.score for sample in samples_of(store, second).values()) == [0.0, 1.0, 1.0, 1.0]
    assert samples_of(store, first) == before
    assert first.signature.truth != second.signature.truth


def test_rescoring_leaves_out_answers_to_questions_that_have_changed(server, store, tmp_path):
    server.on("/ask", right)
    folder = tmp_path / "s"
    first, _ = run.run(load_suite(write_suite(folder, n=4, target=http_target(server.base_url))), store)
    cases = (folder / "cases.jsonl").read_text().replace('{"number": 3}', '{"number": 33}')
    (folder / "cases.jsonl").write_text(cases)
    second = run.rescore(load_suite(folder / "suite.yaml"), store, first)
    assert len(samples_of(store, second)) == 3
    # 1 of 4 planned samples is missing: more than the allowed 5 %.
    assert second.verdict is Verdict.INVALID


def test_requests_a_second_hold_over_a_whole_run(server, store, tmp_path):
    server.on("/ask", right)
    suite = load_suite(write_suite(tmp_path / "s", n=11, target=http_target(server.base_url)))
    started = time.monotonic()
    run.run(suite, store, RunOptions(requests_per_second=20))
    # Ten gaps of 50 ms lie between eleven calls.
    assert time.monotonic() - started >= 0.5


def test_the_system_under_test_is_never_shown_the_truth(server, store, tmp_path):
    server.on("/ask", json_answer({"word": "x"}))
    target = {"http": {"url": server.base_url + "/ask", "text": "{{ case }}"}}
    run.run(load_suite(write_suite(tmp_path / "s", n=1, target=target)), store)
    assert b"'number': 0" in server.requests[0].body
    assert b"word 0" not in server.requests[0].body

    path = write_suite(tmp_path / "p", n=1)
    (tmp_path / "p" / "system.py").write_text("def answer(case):\n    return {'word': repr(case.expected)}\n")
    header, _ = run.run(load_suite(path), store)
    (sample,) = samples_of(store, header).values()
    assert sample.call_result.text == '{"word": "None"}'


def test_a_store_that_fails_under_a_pile_of_answers_ends_the_run_instead_of_hanging_it(store, tmp_path, monkeypatch):
    monkeypatch.setattr("steelyard.engine.engine._MOST_BACKLOG", 1)
    suite = load_suite(write_suite(tmp_path / "s", n=40))
    raised = []

    def full(*_, **__):
        time.sleep(0.2)  # answers pile up meanwhile
        raise StoreError("the disk is full")

    def evaluate():
        try:
            run.run(suite, store)
        except StoreError as error:
            raised.append(str(error))

    monkeypatch.setattr(store, "add_samples", full)
    thread = threading.Thread(target=evaluate, daemon=True)
    thread.start()
    thread.join(20)
    assert raised == ["the disk is full"]


def test_a_function_in_this_process_is_not_suspected_for_being_fast(store, server, tmp_path, monkeypatch):
    # Its first calls pay for its imports: a short first run is slow, and every longer one after it far faster.
    monkeypatch.setattr(store, "usual_latency", lambda *_args, **_more: [700.0])
    header, _ = run.run(load_suite(write_suite(tmp_path / "py")), store, RunOptions())
    assert header.suspect == ()
    server.on("/ask", right)
    path = write_suite(tmp_path / "http", target=http_target(server.url("")))
    header, _ = run.run(load_suite(path), store, RunOptions())
    assert "far below the usual 700000 ms" in header.suspect[0]


def test_an_answer_whose_scoring_may_take_long_is_stored_before_it_is_scored(server, store, tmp_path):
    server.on("/ask", right)
    stored_before = []

    class Looks(Breaks):
        def read(self, answer, case):
            stored_before.append(sorted(store.journalled(store.runs()[0].id)))
            return super().read(answer, case)

    suite = load_suite(write_suite(tmp_path / "s", n=1, target=http_target(server.base_url)))
    header, _ = run.run(suite.changed(components=(suite.components[0].model_copy(update={"scorer": Looks()}),)), store)
    assert stored_before == [["0/target"]]
    assert store.journalled(header.id) == {}
