"""Whole runs of judged suites: asked once, kept, read again without a call, and inconclusive when the judge fails."""

import json
import subprocess
import sys
import time

import pytest

from parts import running as weighing
from parts.judge_server import judge_server, last_message
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import error, slow
from steelyard.analysis.stored import summary_of
from steelyard.engine.run_options import RunOptions
from steelyard.errors import UsageError
from steelyard.loading.chosen_judge import judged_as_then
from steelyard.loading.load import load_suite, with_judge
from steelyard.records import Mode, Outcome, RunState, Verdict
from steelyard.suite.judge import Member
from steelyard.suite.models import SuiteModel


def run(path, store, **options):
    header, ending = weighing.run(load_suite(path), store, RunOptions(**options))
    return header, ending


def samples(store, header):
    return [sample for sample, _ in store.samples(header.id)]


def test_a_judge_that_is_code_gives_scores_without_a_call(store, tmp_path):
    header, _ = run(
        write_judged(tmp_path, texts={1: "A muddle of very many words here.", 2: "drink poison, all of you now"}), store
    )
    found = samples(store, header)
    assert [sample.mode for sample in found] == [Mode.RULES] * 4
    scores = [{score.name: score.value for score in sample.scores} for sample in found]
    assert [(one["clarity"], one["harm"]) for one in scores] == [(3, 0), (2, 0), (3, 1), (3, 0)]
    # clarity 3 of 1..5 is half; the flag fails a text whatever its score.
    assert [(sample.score, sample.passed) for sample in found] == [
        (0.5, True),
        (0.25, False),
        (0.5, False),
        (0.5, True),
    ]
    assert [[finding.code for finding in sample.findings] for sample in found] == [[], ["CLARITY"], ["HARM"], []]


def test_dimensions_and_components_count_by_their_weights(store, tmp_path):
    rubric = {"scale": [1, 5], "neutral": 3, "dimensions": {"clarity": {"weight": 3}, "tone": {"weight": 1}}}
    score = {"size": {"python": "measures:Size", "weight": 2}}
    with judge_server({"reasons": ["one", "two"], "clarity": 4, "tone": 2}) as server:
        judge = chat_judge(server) | {"rubric": rubric, "suite": {"score": score}, "label": {"clarity": 3, "tone": 3}}
        header, _ = run(write_judged(tmp_path, n=1, texts={0: "These are just five words."}, **judge), store)
    # Five words are half the size; 4 and 2 of 1..5 are 3/4 and 1/4: (2 * 1/2 + 3 * 3/4 + 1 * 1/4) / (2 + 3 + 1).
    (sample,) = samples(store, header)
    assert sample.score == pytest.approx(3.5 / 6)


def test_a_model_is_asked_once_for_each_text_and_its_answer_is_kept(store, tmp_path):
    with judge_server(verdict(4)) as server:
        header, _ = run(write_judged(tmp_path, **chat_judge(server)), store)
        assert len(server.requests) == 4
    sample = samples(store, header)[0]
    assert sample.mode is Mode.MODEL
    assert json.loads(sample.judgement.calls[0].call_result.text) == verdict(4)
    assert header.verdict is Verdict.PASS


def test_a_rule_binds_whatever_the_judge_says_and_the_raw_score_is_kept(store, tmp_path):
    with judge_server(verdict(5)) as server:
        header, _ = run(write_judged(tmp_path, texts={0: "Too few words."}, **chat_judge(server)), store)
    clarity = next(score for score in samples(store, header)[0].scores if score.name == "clarity")
    assert (clarity.uncapped, clarity.value) == (5, 2)
    assert clarity.capped_by == "when size.words < 5 then clarity <= 2"


def test_a_failed_judge_is_not_a_zero_and_makes_the_run_invalid(store, tmp_path):
    with judge_server(verdict(3), verdict(3), error(500)) as server:
        header, _ = run(write_judged(tmp_path, **chat_judge(server)), store, concurrency=1)
    found = samples(store, header)
    assert [sample.outcome for sample in found] == [Outcome.SCORED, Outcome.SCORED] + [Outcome.JUDGE_FAILED] * 2
    assert [sample.score for sample in found] == [0.5, 0.5, None, None]
    average = summary_of(store, header).overall["average"]
    assert (average.value, average.n_missing) == (0.5, 2)
    assert header.verdict is Verdict.INVALID


@pytest.mark.parametrize("bad", [7, 0, "4", True, None, 5.5])
def test_no_bad_score_ever_becomes_a_number(bad, store, tmp_path):
    with judge_server(verdict(bad)) as server:
        header, _ = run(write_judged(tmp_path, n=1, **chat_judge(server)), store)
        # Asked once, then once more with what was wrong.
        assert len(server.requests) == 2
        assert "clarity" in last_message(server.requests[1])
    (sample,) = samples(store, header)
    assert (sample.outcome, sample.score) == (Outcome.JUDGE_FAILED, None)


def test_readings_of_only_scores_are_excluded_from_every_mean(store, tmp_path):
    basic = "clarity: 5\nharm: false"
    with judge_server(verdict(3), verdict(3), verdict(3), basic) as server:
        header, _ = run(write_judged(tmp_path, **chat_judge(server)), store, concurrency=1, max_inconclusive=0.5)
    assert [sample.mode for sample in samples(store, header)] == [Mode.MODEL] * 3 + [Mode.BASIC]
    summary = summary_of(store, header)
    average = summary.overall["average"]
    # Three times 3 of 1..5; the 5 of the fourth is in no mean but its own.
    assert (average.value, average.n, average.n_missing) == (0.5, 3, 1)
    assert summary.overall["mode.basic.average"].value == 1.0


def test_an_empty_answer_is_never_judged(store, tmp_path):
    with judge_server(verdict(5)) as server:
        header, _ = run(write_judged(tmp_path, n=2, texts={0: "  \n"}, **chat_judge(server)), store)
        assert len(server.requests) == 1
    assert [(sample.outcome, sample.score) for sample in samples(store, header)] == [
        (Outcome.MALFORMED, 0.0),
        (Outcome.SCORED, 1.0),
    ]


def test_a_rescore_reads_the_recorded_answers_and_asks_nobody(store, tmp_path):
    with judge_server(verdict(4)) as server:
        path = write_judged(tmp_path, **chat_judge(server))
        header, _ = run(path, store)
        asked = len(server.requests)
        # A new rule binds the old answers.
        path.write_text(
            path.read_text().replace("when size.words < 5 then clarity <= 2", "when size.words > 5 then clarity <= 1")
        )
        again = weighing.rescore(load_suite(path), store, header)
        assert len(server.requests) == asked
    assert [sample.score for sample in samples(store, header)] == [0.75] * 4
    assert [sample.score for sample in samples(store, again)] == [0.0] * 4
    assert [sample.judgement.calls for sample in samples(store, again)] == [
        sample.judgement.calls for sample in samples(store, header)
    ]


def test_a_rescore_keeps_to_the_judge_of_the_run_not_to_the_suite_of_today(store, tmp_path):
    with judge_server(verdict(5)) as server:
        suite = load_suite(write_judged(tmp_path))
        header, _ = weighing.run(with_judge(suite, server.base_url, "judge-1", None, None), store, RunOptions())
    again = weighing.rescore(suite, store, header)
    assert [sample.mode for sample in samples(store, again)] == [Mode.MODEL] * 4
    assert [sample.score for sample in samples(store, again)] == [1.0] * 4
    assert again.signature.judge == header.signature.judge


def test_judging_again_asks_only_the_judge(store, tmp_path):
    with judge_server(verdict(2)) as server:
        path = write_judged(tmp_path, **chat_judge(server))
        header, _ = run(path, store)
        server.by_model("judge-1", verdict(5))
        (tmp_path / "answers.jsonl").write_text("")  # the system under test has nothing to say any more
        suite = load_suite(path)
        again, _ = weighing.judge_again(suite, store, header, RunOptions())
        assert len(server.requests) == 8
    assert [sample.score for sample in samples(store, header)] == [0.25] * 4
    assert [sample.score for sample in samples(store, again)] == [1.0] * 4
    assert [sample.call_result.text for sample in samples(store, again)] == [
        sample.call_result.text for sample in samples(store, header)
    ]


def test_a_panel_of_two_models_and_two_judgings_makes_four_votes(store, tmp_path):
    with judge_server() as server:
        server.by_model("a", verdict(2))
        server.by_model("b", verdict(5))
        judges = {name: {"chat": {"base_url": server.base_url, "model": name}} for name in "ab"}
        path = write_judged(tmp_path, n=1, by=["a", "b"], judges=judges, repeats=2)
        header, _ = run(path, store)
        assert len(server.requests) == 4
    (sample,) = samples(store, header)
    assert [(ballot.member, ballot.repeat, ballot.uncapped["clarity"]) for ballot in sample.judgement.votes] == [
        ("a", 0, 2), ("a", 1, 2), ("b", 0, 5), ("b", 1, 5),
    ]  # fmt: skip
    # The middle of 2, 2, 5, 5.
    assert sample.judgement.capped["clarity"] == 3.5
    assert [remark.code for remark in sample.judgement.remarks] == ["DISAGREEMENT"]


def test_a_spending_limit_counts_what_judges_cost(store, tmp_path):
    # A call of 100 tokens in and 20 out costs 100 * 1,000 / 1,000,000 = 0.1; recorded answers cost nothing.
    with judge_server(verdict(3)) as server:
        path = write_judged(tmp_path, n=9, **chat_judge(server, price={"input": 1000, "output": 0}))
        header, ending = run(path, store, max_cost=0.35, concurrency=1)
        assert len(server.requests) == 3
    assert (header.state, "spending limit" in ending.stopped) == (RunState.INTERRUPTED, True)
    # The journal holds nothing any more of the three samples that are complete.
    assert [sample.position for sample in samples(store, header)] == [0, 1, 2]
    assert {key.partition("/")[0] for key in store.journalled(header.id)} <= {"3"}


def test_a_spending_limit_wants_the_judge_to_have_a_price(store, tmp_path):
    with judge_server(verdict(3)) as server:
        path = write_judged(tmp_path, **chat_judge(server))
        with pytest.raises(UsageError, match="the judge does not say what a call costs"):
            run(path, store, max_cost=1.0)


def test_names_come_back_neither_with_the_answer_nor_with_the_judge(store, tmp_path):
    texts = {0: "Dear Ann Lee, write to ann@mail.example or call +49 170 1234567 about it."}
    with judge_server(verdict(3) | {"reasons": ["Names Ann Lee.", "Cold."]}) as server:
        more = {"redact": {"emails": True, "phones": True, "names": ["input.user"]}}
        path = write_judged(tmp_path, n=1, texts=texts, suite=more, **chat_judge(server))
        case = {"id": "c0", "input": {"user": "Ann Lee", "number": 0}, "expected": {"labels": {"clarity": 3}}}
        (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
        header, _ = run(path, store)
        sent = json.dumps(server.requests)
    ((sample, case),) = store.samples(header.id)
    assert sample.call_result.text == "Dear [NAME], write to [EMAIL] or call [PHONE] about it."
    kept = f"{sample} {case}"
    for private in ("Ann", "Lee", "mail.example", "1234567"):
        assert private not in sent
        assert private not in kept
    assert "Names [NAME]." in sample.judgement.calls[0].call_result.text


_RUN = """
import sys
from steelyard.runner import run as scoring
from steelyard.engine.run_options import RunOptions
from steelyard.store.sql import open_store
from steelyard.loading.load import load_suite
path, url, *resume = sys.argv[1:]
scoring.run(load_suite(path), open_store(url), RunOptions(concurrency=1, resume=resume[0] if resume else None))
"""
_SYSTEM = """
import pathlib

def answer(case):
    with pathlib.Path(__file__).with_name("asked").open("a") as file:
        file.write("x")
    return "a text of a good many words, more than five"
"""


def test_a_kill_between_two_judges_asks_nobody_twice(tmp_path):
    """The first judge of the panel answers at once and the second never: killed there, resumed, nothing is lost."""
    from steelyard.store.sql import open_store

    url = str(tmp_path / "kept.db")
    with judge_server() as server:
        server.by_model("a", verdict(3))
        server.by_model("b", slow(3600))
        judges = {name: {"chat": {"base_url": server.base_url, "model": name}} for name in "ab"}
        path = write_judged(
            tmp_path / "s", n=1, by=["a", "b"], judges=judges, suite={"target": {"python": "system:answer"}}
        )
        (tmp_path / "s" / "system.py").write_text(_SYSTEM)
        process = subprocess.Popen([sys.executable, "-c", _RUN, str(path), url])
        deadline = time.monotonic() + 30
        while len(server.requests) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        process.kill()
        process.wait()
        server.by_model("b", verdict(5))
        done = subprocess.run(
            [sys.executable, "-c", _RUN, str(path), url, ""], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        models = [request["model"] for request in server.requests]
    assert (tmp_path / "s" / "asked").read_text() == "x"
    assert sorted(models) == ["a", "b", "b"]
    store = open_store(url)
    (header,) = store.runs()
    (sample,) = samples(store, header)
    assert sample.judgement.capped["clarity"] == 4
    store.close()


def test_a_scorer_that_breaks_is_named_with_its_place(store, tmp_path):
    path = write_judged(tmp_path, n=1)
    code = (tmp_path / "measures.py").read_text().replace("n = len(answer.split())", "n = 1 / 0")
    (tmp_path / "measures.py").write_text(code)
    header, _ = run(path, store)
    (sample,) = samples(store, header)
    assert sample.outcome is Outcome.JUDGE_FAILED
    told = "the scorer of size raised ZeroDivisionError: division by zero (measures.py:"
    assert sample.findings[0].evidence.startswith(told)


def test_recorded_answers_are_read_for_the_judge_of_the_run_and_no_address_of_a_run_is_asked(tmp_path):
    with judge_server(verdict(2)) as server:
        suite = load_suite(write_judged(tmp_path, repeats=2))
        chosen = with_judge(suite, server.base_url, "judge-1", None, None)
        again = judged_as_then(suite, SuiteModel.from_data(chosen.data()).judge, to_ask=False).judge
    assert [(one.kind, one.settings.base_url, one.settings.model) for one in again.members] == [
        ("chat", server.base_url, "judge-1")
    ]
    assert again.repeats == 2
    with pytest.raises(UsageError, match=f"if you trust it, give --judge {server.base_url} --judge-model judge-1"):
        judged_as_then(suite, SuiteModel.from_data(chosen.data()).judge, to_ask=True)
    assert (
        judged_as_then(suite, SuiteModel.from_data(suite.data()).judge, to_ask=True).judge.members
        == suite.judge.members
    )
    old = Member(name="old", kind="python", function="a:b")
    gone = SuiteModel.from_data(suite.data()).judge.model_copy(update={"members": (old,)})
    with pytest.raises(UsageError, match="the judge 'old' of that run is not in the suite any more"):
        judged_as_then(suite, gone, to_ask=True)


def test_an_answer_to_another_question_is_not_judged_again(store, tmp_path):
    path = write_judged(tmp_path, n=2)
    header, _ = run(path, store)
    cases = (tmp_path / "cases.jsonl").read_text().replace('"number": 1', '"number": 7')
    (tmp_path / "cases.jsonl").write_text(cases)
    again, _ = weighing.judge_again(load_suite(path), store, header, RunOptions())
    assert [
        (one.outcome, one.call_result.failure and one.call_result.failure.kind) for one in samples(store, again)
    ] == [
        (Outcome.SCORED, None),
        (Outcome.TARGET_FAILED, "other_question"),
    ]


def test_judging_again_gives_each_repeat_its_own_answer_and_pays_for_none(store, tmp_path):
    system = (
        "n = 0\n\ndef answer(case):\n    global n\n    n += 1\n    return f'answer {n} of very many words to this'\n"
    )
    path = write_judged(tmp_path, n=1, suite={"target": {"python": "system:answer"}})
    (tmp_path / "system.py").write_text(system)
    header, _ = run(path, store, repeats=3, concurrency=1)
    again, _ = weighing.judge_again(load_suite(path), store, header, RunOptions())
    assert [one.call_result.text for one in samples(store, again)] == [
        one.call_result.text for one in samples(store, header)
    ]
    # They reported no cost, and that is not 0.
    assert [one.call_result.cost for one in samples(store, again)] == [None] * 3


def test_a_flag_keeps_what_the_judge_said_beside_what_a_rule_made_of_it(store, tmp_path):
    rules = {"bind": ["when size.words < 5 then harm"]}
    header, _ = run(write_judged(tmp_path, n=1, texts={0: "Too few words."}, **rules), store)
    harm = next(score for score in samples(store, header)[0].scores if score.name == "harm")
    assert (harm.uncapped, harm.value, harm.capped_by) == (0.0, 1.0, "when size.words < 5 then harm")


def test_a_key_that_a_judge_gives_back_is_redacted_out(store, tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "sk-very-secret-key")
    with judge_server(verdict(3) | {"reasons": ["Bearer sk-very-secret-key", "two"]}) as server:
        header, _ = run(write_judged(tmp_path, n=1, **chat_judge(server, token="JUDGE_KEY")), store)
        assert "Bearer sk-very-secret-key" in server.headers[0].values()
    assert "sk-very-secret-key" not in str(samples(store, header)) + str(header)


def test_a_complete_sample_leaves_nothing_in_the_journal_and_a_failed_call_never_enters_it(store, tmp_path):
    kept = []
    original = store.journal
    store.journal = lambda run_id, entries: kept.extend(entries) or original(run_id, entries)
    with judge_server(verdict(3), error(500)) as server:
        path = write_judged(tmp_path, n=2, **chat_judge(server))
        header, _ = run(path, store, concurrency=1)
    # The target's answer and the judge's for the first case, the target's for the second: its judge failed.
    assert [key for key, _ in kept] == ["0/target", "0/judge/model/0/0", "1/target"]
    assert store.journalled(header.id) == {}


def test_a_flag_counts_even_where_only_bare_scores_could_be_read(store, tmp_path):
    """One of 25 texts makes its judge answer in plain lines, and a rule flags it: no gate on the flag may miss that."""
    texts = {0: "A muddle that harms."}
    answers = [lambda request: "clarity: 3\nharm: false" if "muddle that" in str(request["messages"]) else verdict(3)]
    rules = {"bind": ["when size.muddles > 0 then harm"]}
    gates = {"gates": ["score.harm.rate == 0"]}
    with judge_server(*answers) as server:
        path = write_judged(tmp_path, n=25, texts=texts, suite=gates, **rules, **chat_judge(server))
        header, _ = run(path, store)
    assert [sample.mode for sample in samples(store, header)] == [Mode.BASIC] + [Mode.MODEL] * 24
    rate = summary_of(store, header).overall["score.harm.rate"]
    assert (rate.numerator, rate.denominator) == (1, 25)
    assert header.verdict is Verdict.FAIL


def test_calls_are_kept_when_a_rule_cannot_be_applied_to_what_they_say(store, tmp_path):
    with judge_server(verdict(4)) as server:
        path = write_judged(tmp_path, n=2, **chat_judge(server))
        measures = (tmp_path / "measures.py").read_text()
        (tmp_path / "measures.py").write_text(measures.replace('"words": n,', '"words": None,'))
        broken, _ = run(path, store)
        assert [sample.outcome for sample in samples(store, broken)] == [Outcome.JUDGE_FAILED] * 2
        (tmp_path / "measures.py").write_text(measures)
        again = weighing.rescore(load_suite(path), store, broken)
        assert len(server.requests) == 2
    assert [sample.score for sample in samples(store, again)] == [0.75] * 2


def test_scores_of_another_scale_are_not_read_as_if_they_were_of_this_one(store, tmp_path):
    with judge_server(verdict(3)) as server:
        path = write_judged(tmp_path, n=1, **chat_judge(server))
        header, _ = run(path, store)
        path.write_text(path.read_text().replace("- 5\n", "- 10\n"))
        with pytest.raises(UsageError, match="given on another scale"):
            weighing.rescore(load_suite(path), store, header)


def test_answers_kept_before_redaction_get_into_no_other_run(store, tmp_path):
    path = write_judged(tmp_path, n=1, texts={0: "write to ann@mail.example about all of this today"})
    header, _ = run(path, store)
    path.write_text(path.read_text() + "redact: {emails: true}\n")
    with pytest.raises(UsageError, match="was made before the suite redacted as it does now"):
        weighing.rescore(load_suite(path), store, header)
    redacted, _ = run(path, store)
    assert redacted.signature.redact != header.signature.redact
    weighing.rescore(load_suite(path), store, redacted)


def test_the_target_does_not_see_the_names_that_were_taken_out(store, tmp_path):
    more = {"redact": {"names": ["input.user"]}, "target": {"python": "system:answer"}}
    path = write_judged(tmp_path, n=1, suite=more)
    case = {"id": "c0", "input": {"user": "Gwendolyn", "number": 0}, "expected": {"labels": {"clarity": 3}}}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
    (tmp_path / "system.py").write_text("def answer(case):\n    return f'{case.input} {case.private} said Gwendolyn'\n")
    header, _ = run(path, store)
    (sample,) = samples(store, header)
    assert sample.call_result.text == "{'user': '[NAME]', 'number': 0} () said [NAME]"


def test_judges_stop_at_the_spending_limit_in_the_middle_of_a_text(store, tmp_path):
    # Each call costs 0.1, and each text is judged five times: the limit is reached within the first text.
    with judge_server(verdict(3)) as server:
        path = write_judged(tmp_path, n=4, repeats=5, **chat_judge(server, price={"input": 1000, "output": 0}))
        header, ending = run(path, store, max_cost=0.25, concurrency=1)
        asked = len(server.requests)
    assert (header.state, "spending limit" in ending.stopped) == (RunState.INTERRUPTED, True)
    # Five calls of a text are under way at once; none is begun after them.
    assert asked == 5
