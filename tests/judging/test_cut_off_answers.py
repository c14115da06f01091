"""Answers that reached the limit of tokens: never fixed into more than they say, asked for again, counted."""

import json

import pytest

from parts import running as weighing
from parts.judge_server import cut_off, judge_server, last_message
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import chat_answer
from parts.small_judge import answer, judge
from parts.small_suite import write_suite
from steelyard.engine.run_options import RunOptions
from steelyard.failures import BROKE_OFF
from steelyard.judge_checks.build import build_card
from steelyard.judging.parse import AnswerParser
from steelyard.loading.load import load_suite
from steelyard.records import Mode, Outcome
from steelyard.report.build import build_report
from steelyard.report.sample_detail import sample_line
from steelyard.store.snapshot import read_snapshot, write_snapshot
from steelyard.store.sql import open_store

PARSER = AnswerParser(judge())
WHOLE = json.dumps(answer(tone=4))
JUDGED_CUT = '{"clarity": 4, "harm": false, "reasons": ["It is short.", "It is pl'


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def run(path, store):
    header, _ = weighing.run(load_suite(path), store, RunOptions())
    return header, [sample for sample, _ in store.samples(header.id)]


@pytest.mark.parametrize("text", [WHOLE, WHOLE + " \n" * 500, f"Here:\n```json\n{WHOLE}\n```"])
def test_an_answer_that_ends_with_its_document_is_whole_although_it_reached_the_limit(text):
    assert PARSER.parse(text, cut_off=True) == PARSER.parse(text)
    assert PARSER.parse(text, cut_off=True).value == answer(tone=4)


def test_a_broken_answer_is_fixed_into_scores_and_no_more():
    broken = '{"weaknesses": ["a", "b"], "tone": 4, "plot_sense": 2, "harm_flag": false, "notes": "and th'
    assert PARSER.parse(broken).step == "repaired"
    parsed = PARSER.parse(broken, cut_off=True)
    assert (parsed.step, parsed.lacking[0], parsed.broken_off) == ("basic", BROKE_OFF, True)
    assert (parsed.value["tone"], parsed.value["plot_sense"]) == (4, 2)


@pytest.mark.parametrize(
    "text",
    [
        '{"weaknesses": [], "harm_flag": false, "tone": 4, "plot_sense": 1',
        "harm_flag: false\ntone: 4\nplot_sense: 1",
        '{"weaknesses": ["far too lo',
    ],
)
def test_a_score_that_the_cut_may_have_gone_through_is_none(text):
    parsed = PARSER.parse(text, cut_off=True)
    assert (parsed.value, parsed.problems[0]) == (None, BROKE_OFF)


def test_a_draft_is_not_the_answer_when_the_rest_broke_off():
    parsed = PARSER.parse(f"A draft: {WHOLE}\nOn second thoughts, the tone is", cut_off=True)
    assert (parsed.step, parsed.broken_off) == ("basic", True)


def test_a_judge_whose_answer_broke_off_is_asked_to_be_shorter(store, tmp_path):
    with judge_server(cut_off(JUDGED_CUT), verdict(5)) as server:
        _, samples = run(write_judged(tmp_path / "s", n=1, **chat_judge(server, max_tokens=40)), store)
        told = last_message(server.requests[1])
    assert "it broke off at the limit of 40 tokens, before its end: be much shorter" in told
    (ballot,) = samples[0].judgement.votes
    assert (ballot.mode, ballot.step, ballot.uncapped["clarity"]) == (Mode.MODEL, "asked_again", 5)
    assert [remark.code for remark in ballot.remarks] == ["CUT_OFF"]


def test_one_that_breaks_off_every_time_is_a_basic_reading_and_counted(store, tmp_path):
    with judge_server(cut_off(JUDGED_CUT)) as server:
        path = write_judged(tmp_path / "s", n=2, **chat_judge(server))
        header, samples = run(path, store)
        assert len(server.requests) == 4  # two texts, each asked about twice
    (ballot,) = samples[0].judgement.votes
    assert (ballot.mode, ballot.step, ballot.uncapped["clarity"]) == (Mode.BASIC, "basic", 4)
    assert ballot.message.startswith(BROKE_OFF)
    assert [remark.code for remark in ballot.remarks] == ["CUT_OFF", "CUT_OFF"]
    share = build_report(store, header).summary.overall["judge.cut_off"]
    assert (share.value, share.n) == (1.0, 2)
    card = build_card(store, header, load_suite(path).judge)
    assert (card.health["cut_off"].value, card.health["cut_off"].n) == (1.0, 2)
    assert "broke off at the limit of tokens in 2 of 2 votes" in card.health.complaints
    assert card.examples["CUT_OFF"][0].message == f"CUT_OFF: {BROKE_OFF}"


def test_a_rescore_reads_a_broken_answer_as_the_run_did(store, tmp_path):
    with judge_server(cut_off(JUDGED_CUT)) as server:
        path = write_judged(tmp_path / "s", n=1, **chat_judge(server))
        header, before = run(path, store)
    again = weighing.rescore(load_suite(path), store, header)
    (after,) = [sample for sample, _ in store.samples(again.id)]
    assert after.judgement.votes == before[0].judgement.votes


def test_one_that_breaks_off_before_its_scores_gave_an_answer_that_cannot_be_used(store, tmp_path):
    with judge_server(cut_off('{"reasons": ["It is sh')) as server:
        header, (sample,) = run(write_judged(tmp_path / "s", n=1, **chat_judge(server)), store)
    assert sample.outcome is Outcome.JUDGE_FAILED
    run_figures = build_report(store, header).summary.overall
    assert [run_figures[f"judge.{name}"].value for name in ("failed", "unanswered", "cut_off")] == [1.0, 0.0, 1.0]


def chat_suite(folder, server, **more):
    chat = {"base_url": server.base_url, "model": "m", "max_tokens": 9}
    return write_suite(folder, n=1, target={"chat": chat}, limits={"retries": 0}, **more)


def test_a_target_whose_json_broke_off_is_malformed_and_stays_so_in_a_rescore(store, tmp_path):
    with judge_server(cut_off('{"word": "word 0", "more": "and')) as server:
        path = chat_suite(tmp_path / "s", server)
        header, (sample,) = run(path, store)
    assert (sample.outcome, sample.score, sample.call_result.cut_off) == (Outcome.MALFORMED, 0.0, True)
    assert sample.findings[0].evidence.startswith(BROKE_OFF)
    assert "1 of 1 answers broke off at the limit of tokens" in header.suspect[0]
    again = weighing.rescore(load_suite(path), store, header)
    (after,) = [one for one, _ in store.samples(again.id)]
    assert (after.outcome, after.call_result.cut_off) == (Outcome.MALFORMED, True)


def test_a_snapshot_keeps_that_an_answer_broke_off(store, tmp_path):
    with judge_server(cut_off('{"word": "word 0", "more": "and')) as server:
        header, _ = run(chat_suite(tmp_path / "s", server), store)
    write_snapshot(store, header.id, tmp_path / "run.json")
    other = open_store(str(tmp_path / "other.db"))
    read_snapshot(other, tmp_path / "run.json")
    assert [sample.call_result.cut_off for sample, _ in other.samples(header.id)] == [True]
    other.close()


def test_a_text_that_broke_off_is_scored_and_says_so(store, tmp_path):
    more = {"answer": {"format": "text"}, "score": {"word": {"exact": {"expected": "expected.word"}}}}
    with judge_server(cut_off("word")) as server:
        _, (sample,) = run(chat_suite(tmp_path / "s", server, **more), store)
    assert sample.outcome is Outcome.SCORED
    assert sample_line(sample).why.startswith("broke off at the limit of tokens; ")


@pytest.mark.parametrize(
    ("finish", "tokens", "is_cut_off"),
    [
        ("length", (1, 5), True),
        ("max_tokens", (1, 5), True),
        ("stop", (1, 9), False),
        (None, (1, 9), True),
        (None, (1, 8), False),
        (None, None, False),
    ],
)
def test_whether_an_answer_broke_off_is_the_servers_word_else_the_count_of_tokens(
    store, tmp_path, finish, tokens, is_cut_off
):
    with judge_server(chat_answer('{"word": "word 0"}', finish=finish, tokens=tokens)) as server:
        _, (sample,) = run(chat_suite(tmp_path / "s", server), store)
    assert sample.call_result.cut_off is is_cut_off
    assert sample.score == 1.0  # the document is whole
