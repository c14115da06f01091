"""Similarity by embeddings: asked once by the run, recorded, read again without a call."""

import json

import pytest

from parts import running as runner
from parts.command import steelyard
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import Loopback, error, json_answer
from steelyard.auditing.audit import audit
from steelyard.engine.run_options import RunOptions
from steelyard.errors import UsageError
from steelyard.loading.load import load_suite
from steelyard.records import Outcome, RunState, Verdict
from steelyard.report.build import build_report
from steelyard.report.run import next_command
from steelyard.store.sql import open_store

PATH = "/v1/embeddings"
PRICE = {"input": 1000, "output": 0}
# By hand: (3, 4) and (4, 3) are 24/25 alike, (1, 0) and (0, 1) not at all, (1, 1) and (-1, -1) opposite.
VECTORS = {
    "a red chair": [3, 4],
    "a scarlet seat": [4, 3],
    "a lamp": [1, 0],
    "a table": [0, 1],
    "yes": [1, 1],
    "no": [-1, -1],
}
TRUTHS = {"c0": "a red chair", "c1": "a lamp", "c2": "yes", "c3": "a table"}
ANSWERS = {"c0": "a scarlet seat", "c1": "a table", "c2": "no", "c3": "a table"}


def embed(seen):
    texts = seen.json["input"]
    data = [{"object": "embedding", "index": n, "embedding": VECTORS[text]} for n, text in enumerate(texts)]
    # In any order: the index says which is which.
    usage = {"prompt_tokens": sum(len(text.split()) for text in texts), "total_tokens": 99}
    return json_answer({"object": "list", "data": data[::-1], "model": f"{seen.json['model']}-1", "usage": usage})


@pytest.fixture
def server():
    with Loopback() as server:
        server.on(PATH, embed)
        yield server


@pytest.fixture
def store_url(tmp_path):
    return str(tmp_path / "runs.db")


def write(folder, server, *, answers=ANSWERS, truths=TRUTHS, model="small", scorer=None, **more):
    cases = [{"id": name, "input": name, "expected": {"text": text, "kind": "x"}} for name, text in truths.items()]
    (folder / "cases.json").write_text(json.dumps(cases))
    lines = [json.dumps({"case": name, "answer": text}) for name, text in answers.items()]
    (folder / "answers.jsonl").write_text("\n".join(lines))
    address = {"base_url": server.url("/v1"), "model": model, "price": PRICE, **more.pop("embeddings", {})}
    suite = {
        "suite": "alike",
        "cases": {"files": "cases.json"},
        "target": {"recorded": "answers.jsonl"},
        "score": {"text": {"similarity": {"expected": "expected.text", "embeddings": address} | (scorer or {})}},
        "limits": {"retries": 0},
        **more,
    }
    (folder / "suite.yaml").write_text(json.dumps(suite))
    return load_suite(folder / "suite.yaml")


def samples(store, header):
    return {sample.case_id: sample for sample, _ in store.samples(header.id)}


def scores(store, header):
    return {name: sample.score for name, sample in samples(store, header).items()}


def test_the_score_is_the_cosine_and_what_was_said_is_recorded(store, server, tmp_path):
    header, _ = runner.run(write(tmp_path, server), store)
    assert scores(store, header) == pytest.approx({"c0": 24 / 25, "c1": 0, "c2": 0, "c3": 1})
    # The same text is not sent: c3 costs nothing.
    assert sorted(seen.json["input"][0] for seen in server.seen(PATH)) == ["a scarlet seat", "a table", "no"]
    (score,) = samples(store, header)["c0"].scores
    (call,) = score.calls
    assert float(call.call_result.text) == pytest.approx(24 / 25)
    assert (call.call_result.tokens_in, call.call_result.cost, call.call_result.model) == (6, 0.006, "small-1")
    assert samples(store, header)["c3"].scores[0].calls == ()
    # Opposite vectors are no more alike than strangers; the cosine itself is recorded.
    assert float(samples(store, header)["c2"].scores[0].calls[0].call_result.text) == -1.0


def test_postgres_has_the_same_calls(postgres_store, server, tmp_path):
    store = open_store(postgres_store)
    try:
        header, _ = runner.run(write(tmp_path, server), store)
        assert samples(store, header)["c0"].scores[0].calls[0].call_result.tokens_in == 6
        spent = store.judge_spending(header.id)
        assert (spent.calls, spent.tokens_in, spent.cost) == (3, 12, pytest.approx(0.012))
    finally:
        store.close()


def test_rescore_asks_nobody_and_a_threshold_may_change(store, server, tmp_path):
    header, _ = runner.run(write(tmp_path, server), store)
    asked = len(server.seen(PATH))
    again = runner.rescore(write(tmp_path, server, scorer={"at_least": 0.9}), store, header)
    assert scores(store, again) == {"c0": 1, "c1": 0, "c2": 0, "c3": 1}
    once_more = runner.rescore(write(tmp_path, server), store, again)
    assert scores(store, once_more) == scores(store, header)
    assert len(server.seen(PATH)) == asked
    assert once_more.signature.scorers == header.signature.scorers != again.signature.scorers


def test_another_model_or_truth_is_inconclusive_until_it_is_asked(store, server, tmp_path):
    header, _ = runner.run(write(tmp_path, server), store)
    other = write(tmp_path, server, model="large")
    rescored = runner.rescore(other, store, header)
    sample = samples(store, rescored)["c0"]
    assert (sample.outcome, sample.score) == (Outcome.JUDGE_FAILED, None)
    assert "no cosine by large" in sample.findings[0].evidence
    assert "--judge-again" in sample.findings[0].evidence
    assert samples(store, rescored)["c3"].score == 1.0
    assert rescored.verdict is Verdict.INVALID
    truths = runner.rescore(write(tmp_path, server, truths=TRUTHS | {"c0": "a lamp"}), store, header)
    assert samples(store, truths)["c0"].outcome is Outcome.JUDGE_FAILED
    # What is sent besides the texts may change the vectors, and so may the place.
    for more in ({"extra": {"task": "query"}}, {"base_url": server.url("/v1").replace("127.0.0.1", "localhost")}):
        changed = runner.rescore(write(tmp_path, server, embeddings=more), store, header)
        assert samples(store, changed)["c0"].outcome is Outcome.JUDGE_FAILED
    asked = len(server.seen(PATH))
    judged, _ = runner.judge_again(other, store, header, RunOptions())
    assert scores(store, judged) == scores(store, header)
    assert {seen.json["model"] for seen in server.seen(PATH)[asked:]} == {"large"}


def test_a_failing_endpoint_is_inconclusive_and_is_retried_alone(store, server, tmp_path):
    server.on(PATH, lambda seen: error(400) if "no" in seen.json["input"] else embed(seen))
    suite = write(tmp_path, server)
    header, _ = runner.run(suite, store)
    failed = samples(store, header)["c2"]
    assert (failed.outcome, failed.score) == (Outcome.JUDGE_FAILED, None)
    assert "http_400" in failed.findings[0].evidence
    report = build_report(store, header)
    assert list(report.summary.why_inconclusive.values()) == [1]
    assert "the embeddings of small failed (http_400)" in next(iter(report.summary.why_inconclusive))
    assert f"--retry-failed {header.id}" in next_command(report)
    assert samples(store, header)["c0"].score == pytest.approx(24 / 25)
    server.on(PATH, embed)
    asked = len(server.seen(PATH))
    retried, _ = runner.run(suite, store, RunOptions(retry_failed=header.id))
    assert [seen.json["input"] for seen in server.seen(PATH)[asked:]] == [["no", "yes"]]
    assert samples(store, retried)["c2"].score == 0.0


@pytest.mark.parametrize(
    "body",
    [
        {"data": []},
        {"data": [{"embedding": [1, 2]}]},
        {"data": [{"embedding": [1, 2]}, {"embedding": [1]}]},
        {"data": [{"embedding": [1, 2]}] * 3},
        {"data": [{"embedding": [0, 0]}, {"embedding": [1, 2]}]},
        {"data": [{"embedding": ["1", 2]}, {"embedding": [1, 2]}]},
        {"data": [{"embedding": "AAAA"}, {"embedding": "AAAA"}]},
        {"error": {"message": "no such model"}},
        [1],
    ],
    ids=str,
)
def test_an_answer_without_two_vectors_is_a_failure_and_no_zero(store, server, tmp_path, body):
    server.on(PATH, json_answer(body))
    header, _ = runner.run(write(tmp_path, server, truths={"c0": "a red chair"}), store)
    (sample,) = samples(store, header).values()
    assert sample.outcome is Outcome.JUDGE_FAILED
    assert ("reported_error" if "error" in body else "bad_body") in sample.findings[0].evidence


def test_what_a_failure_quotes_is_redacted(store, server, tmp_path):
    server.on(PATH, error(400, "ask ann@example.org"))
    header, _ = runner.run(write(tmp_path, server, redact={"emails": True}), store)
    (call,) = samples(store, header)["c0"].scores[0].calls
    assert "ask [EMAIL]" in call.call_result.failure.message
    assert "ann@" not in str(list(store.samples(header.id)))


def test_a_wrong_key_stops_the_run_before_every_answer_is_asked_for(store, server, tmp_path):
    server.on(PATH, error(401, "bad key"))
    server.on("/ask", json_answer({"answer": "a lamp"}))
    target = {"http": {"url": server.url("/ask"), "json": "input", "answer": "answer"}}
    truths = {f"c{n}": "a table" for n in range(12)}
    suite = write(tmp_path, server, truths=truths, target=target, limits={"concurrency": 1, "retries": 0})
    header, ending = runner.run(suite, store)
    assert "the model that a scorer asks: answered 401" in ending.stopped
    assert (header.verdict, len(server.seen("/ask"))) == (Verdict.INVALID, 5)
    server.on(PATH, embed)
    again, _ = runner.run(suite, store, RunOptions(resume=header.id))
    assert scores(store, again) == dict.fromkeys(truths, 0)
    assert len(server.seen("/ask")) == 12


def test_a_429_is_asked_again_and_the_key_is_sent_and_never_stored(store, server, tmp_path):
    tried = []

    def throttled(seen):
        tried.append(seen.headers["authorization"])
        return error(429) if len(tried) == 1 else embed(seen)

    server.on(PATH, throttled)
    suite = write(
        tmp_path, server, truths={"c0": "a red chair"}, limits={"retries": 2}, embeddings={"token": "EMBED_KEY"}
    )
    with pytest.raises(UsageError, match="EMBED_KEY"):
        runner.run(suite, store, env={})
    header, _ = runner.run(suite, store, env={"EMBED_KEY": "sk-hidden-value"})
    assert tried == ["Bearer sk-hidden-value"] * 2
    assert samples(store, header)["c0"].scores[0].calls[0].call_result.tries == 2
    assert b"sk-hidden-value" not in (tmp_path / "runs.db").read_bytes()


def test_calls_are_paid_from_the_budget_and_need_a_price(store, server, tmp_path):
    # The first costs 6 tokens at 0.001: nothing is left for another.
    suite = write(tmp_path, server)
    header, ending = runner.run(suite, store, RunOptions(max_cost=0.007, concurrency=1))
    assert header.state is RunState.INTERRUPTED
    assert ending.spent == pytest.approx(0.006)
    assert "spending limit" in ending.stopped
    resumed, _ = runner.run(suite, store, RunOptions(max_cost=1, resume=header.id))
    assert scores(store, resumed) == pytest.approx({"c0": 24 / 25, "c1": 0, "c2": 0, "c3": 1})
    assert len(server.seen(PATH)) == 3  # none of them twice
    (tmp_path / "prices.yaml").write_text("small: {input: 2000, output: 0}")
    priced, _ = runner.run(write(tmp_path, server, embeddings={"price": None}), store, RunOptions(max_cost=1))
    assert samples(store, priced)["c0"].scores[0].calls[0].call_result.cost == pytest.approx(0.012)
    (tmp_path / "prices.yaml").unlink()
    with pytest.raises(UsageError, match="price"):
        runner.run(write(tmp_path, server, embeddings={"price": None}), store, RunOptions(max_cost=1))


def test_an_estimate_has_the_calls_of_embeddings_in_its_cost(server, tmp_path):
    target = {
        "chat": {"base_url": server.url("/v1"), "model": "m", "max_tokens": 30, "price": PRICE | {"output": 2000}}
    }
    write(tmp_path, server, target=target)
    done = json.loads(steelyard("run", ".", "--estimate", "--json", cwd=tmp_path).stdout)
    asked, alike = done["parts"]
    assert (alike["who"], alike["model"], alike["calls"], done["calls"]) == ("embeddings", "small", 4, 8)
    # The truths have 11 + 6 + 3 + 7 characters, and "kind" 4 x 1: 31, 3 to 5 a token, and an answer up to 30 tokens.
    sent, cost = alike["tokens_in"], alike["cost"]
    assert [sent["low"], sent["high"]] == [pytest.approx(31 / 5), pytest.approx(31 / 3 + 4 * 30)]
    # 1,000 for a million tokens.
    assert [cost["low"], cost["high"]] == [pytest.approx(31 / 5 / 1000), pytest.approx((31 / 3 + 120) / 1000)]
    assert done["cost"]["high"] == pytest.approx(asked["cost"]["high"] + cost["high"])
    assert server.requests == []


def test_two_scorers_that_send_other_headers_are_two(store, server, tmp_path):
    alike = [
        {
            "similarity": {
                "expected": "expected.text",
                "embeddings": {"base_url": server.url("/v1"), "model": "small"} | more,
            }
        }
        for more in ({"headers": {"X-Task": "a"}}, {"headers": {"X-Task": "b"}})
    ]
    suite = write(tmp_path, server, truths={"c0": "a red chair"}, score=dict(zip("xy", alike, strict=True)))
    runner.run(suite, store)
    assert sorted(seen.headers["x-task"] for seen in server.seen(PATH)) == ["a", "b"]


def test_a_model_inside_fields_and_beside_other_components_is_asked_too(store, server, tmp_path):
    address = {"base_url": server.url("/v1"), "model": "small"}
    fields = {"text": {"similarity": {"embeddings": address}}, "kind": 1}
    suite = write(
        tmp_path,
        server,
        truths={"c0": "a red chair"},
        answers={"c0": {"text": "a scarlet seat", "kind": "x"}},
        answer={"format": "json"},
        score={
            "whole": {"fields": {"answer": "", "expected": "expected", "fields": fields}},
            "kind": {"exact": {"expected": "expected.kind"}},
        },
    )
    header, _ = runner.run(suite, store)
    assert scores(store, header) == pytest.approx({"c0": ((24 / 25 + 1) / 2 + 1) / 2})
    asked = len(server.seen(PATH))
    assert scores(store, runner.rescore(suite, store, header)) == scores(store, header)
    assert len(server.seen(PATH)) == asked == 1


def test_the_audit_assumes_the_best_of_a_model_and_shows_it(server, tmp_path):
    result = audit(write(tmp_path, server))
    probes = {probe.probe: probe for probe in result.probes if probe.rule == "as written"}
    assert (probes["empty"].average, probes["truth"].average) == (0.0, 1.0)
    assert (probes["constant"].average, probes["constant"].only_shown) == (1.0, True)
    assert not server.seen(PATH)


def test_the_command_line_asks_again_only_with_consent(server, tmp_path):
    write(tmp_path, server)
    first = json.loads(steelyard("run", "suite.yaml", "--json", cwd=tmp_path).stdout)
    asked = len(server.seen(PATH))
    refused = steelyard("rescore", first["run"]["id"], "--judge-again", "--json", cwd=tmp_path)
    assert "Embeddings of 4 answers are asked for again: small" in refused.stderr
    assert "--yes" in refused.stderr
    assert len(server.seen(PATH)) == asked
    again = steelyard("rescore", first["run"]["id"], "--judge-again", "--yes", "--json", cwd=tmp_path)
    assert len(server.seen(PATH)) == 2 * asked
    report = json.loads(again.stdout)
    assert report["figures"]["score.text.similarity"]["value"] == pytest.approx(1.96 / 4)
    # 3 calls of 6, 4 and 2 tokens, at 0.001 each.
    assert {name: report["spending"][name] for name in ("calls", "failed", "tokens_in")} == {
        "calls": 3,
        "failed": 0,
        "tokens_in": 12,
    }
    assert report["spending"]["cost"] == pytest.approx(0.012)
    shown = steelyard("report", report["run"]["id"], "--full", cwd=tmp_path).stdout
    assert "Embeddings took" in shown


def test_a_judge_is_asked_after_the_embeddings_and_its_rules_may_name_the_similarity(store, server, tmp_path):
    address = {"base_url": server.url("/v1"), "model": "small", "price": PRICE}
    alike = {"similarity": {"expected": "expected.labelled", "embeddings": address}, "weight": 1}
    server.on(PATH, json_answer({"data": [{"embedding": [3, 4]}, {"embedding": [4, 3]}]}))
    with judge_server(verdict(5)) as judge:
        rules = {"bind": ["when alike.similarity < 0.99 then clarity <= 3"]}
        settings = chat_judge(judge) | rules | {"suite": {"score": {"alike": alike}}}
        path = write_judged(tmp_path, n=1, texts={0: "Six words that say it otherwise."}, **settings)
        header, _ = runner.run(load_suite(path), store)
        (sample,) = samples(store, header).values()
        scored = {score.name: score.value for score in sample.scores}
        assert (scored["alike"], scored["clarity"]) == (pytest.approx(24 / 25), 3)
        again = runner.rescore(load_suite(path), store, header)
        assert (scores(store, again), len(judge.requests)) == (scores(store, header), 1)
        # Of a text whose embeddings fail nothing can be said: the judge is not asked.
        server.on(PATH, error(400))
        failed, _ = runner.run(load_suite(path), store)
        assert samples(store, failed)["c0"].outcome is Outcome.JUDGE_FAILED
        assert len(judge.requests) == 1
