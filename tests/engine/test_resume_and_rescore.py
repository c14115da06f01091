"""What a resumed run takes over from its beginning, and what a rescored one keeps of where its answers came from."""

import json
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from parts import running as run
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import Loopback, chat_answer, error
from parts.photos import noise, photo_bytes
from parts.small_suite import write_suite
from steelyard.engine.journal import Journal
from steelyard.engine.owner import _began
from steelyard.engine.run_options import RunOptions, Selection
from steelyard.errors import UsageError
from steelyard.loading.load import load_suite
from steelyard.records import CallResult, Failure, Owner, RunState, Verdict


@pytest.fixture
def server():
    with Loopback() as running:
        running.on("/v1/chat/completions", chat_answer('{"word": "x"}', tokens=(1000, 0)))
        yield running


def priced(server):
    """A target that costs 0.1 a call: 1,000 tokens at 100 a million."""
    chat = {"model": "m", "base_url": server.base_url + "/v1", "price": {"input": 100, "output": 0}, "user": "hi"}
    return {"chat": chat}


def stopped_after_two(suite, store, **options):
    header, ending = run.run(suite, store, RunOptions(max_cost=0.25, concurrency=1, **options))
    assert (header.state, ending.counts.done) == (RunState.INTERRUPTED, 2)
    return header


def test_a_resumed_run_keeps_its_selection_repeats_and_strictness(server, store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "s", n=20, target=priced(server)))
    chosen = Selection(only=(("category", "odd"),), limit=3)
    begun = stopped_after_two(suite, store, selection=chosen, repeats=2, strict=True)
    for other in ({"selection": Selection(limit=4)}, {"repeats": 3}):
        with pytest.raises(UsageError, match=f"that of run {begun.id} applies and differs; leave it out"):
            run.run(suite, store, RunOptions(resume=begun.id, **other))
    header, ending = run.run(suite, store, RunOptions(resume=begun.id, max_cost=10))
    # Cases c1, c3 and c5, twice each.
    assert (ending.counts.planned, ending.counts.done, len(server.requests)) == (6, 6, 6)
    assert {sample.case_id for sample, _ in store.samples(header.id)} == {"c1", "c3", "c5"}
    assert header.options.strict is True


def test_a_resumed_run_asks_for_every_variant_and_repeat_that_it_has_not(server, store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "s", n=1, target=priced(server), variants={"tone": ["dry", "warm"]}))
    begun = stopped_after_two(suite, store, repeats=2)
    header, _ = run.run(suite, store, RunOptions(resume=begun.id, max_cost=10))
    found = [(sample.variant, sample.repeat) for sample, _ in store.samples(header.id)]
    assert found == [("dry", 0), ("dry", 1), ("warm", 0), ("warm", 1)]
    assert len(server.requests) == 4


async def test_a_call_that_failed_is_not_in_the_journal_and_is_made_again():
    stored = {}

    async def store(entry):
        stored.update([entry])

    journal = Journal(3, {}, store)
    await journal.put("target", CallResult(text="x", tries=2))
    await journal.put("judge/a/0/0", CallResult(failure=Failure("timeout", "no answer")))
    assert (list(stored), journal.keys) == (["3/target"], ["3/target"])
    resumed = Journal(3, stored, store)
    assert resumed.get("target") == CallResult(text="x", tries=2)
    assert resumed.get("judge/a/0/0") is None
    # What another sample was given is not taken.
    assert Journal(4, stored, store).get("target") is None


def test_what_was_spent_before_a_stop_counts_after_it(server, store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "s", n=20, target=priced(server)))
    begun = stopped_after_two(suite, store)
    # 0.2 of 0.45 are spent: two more calls fit, a third would make it 0.5.
    _, ending = run.run(suite, store, RunOptions(resume=begun.id, max_cost=0.45, concurrency=1))
    assert ending.stopped is not None
    assert len(server.requests) == 4


def test_health_looks_at_the_whole_run_also_when_it_was_resumed(server, store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "s", n=6, target=priced(server), gates=["malformed_rate <= 50 %"]))
    begun = stopped_after_two(suite, store)
    header, _ = run.run(suite, store, RunOptions(resume=begun.id, max_cost=10))
    # Four answers alone would be too few to call them identical (five are needed); all six are the same.
    assert "all 6 answers are identical although the cases differ" in header.suspect
    assert header.verdict is Verdict.AMBIGUOUS


def test_a_rescored_run_stays_suspect(server, store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "s", n=6, target=priced(server), gates=["malformed_rate <= 50 %"]))
    first, _ = run.run(suite, store)
    again = run.rescore(suite, store, first)
    assert again.suspect == first.suspect != ()
    assert again.verdict is Verdict.AMBIGUOUS


def test_only_one_variant_of_the_grid(server, store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "s", n=2, target=priced(server), variants={"tone": ["dry", "warm"]}))
    header, _ = run.run(suite, store, RunOptions(selection=Selection(only=(("variant", "warm"),))))
    assert {sample.variant for sample, _ in store.samples(header.id)} == {"warm"}
    assert len(server.requests) == 2


def test_an_answer_to_another_picture_is_not_scored_again(server, store, tmp_path):
    folder = tmp_path / "s"
    path = write_suite(folder, n=2, target=priced(server))
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    for seed, name in enumerate(("a", "b")):
        (folder / f"{name}.png").write_bytes(photo_bytes("PNG", noise(seed=seed)))
    cases = [row | {"attachments": ["a.png"]} for row in rows]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cases))
    first, _ = run.run(load_suite(path), store)
    cases[1]["attachments"] = ["b.png"]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cases))
    second = run.rescore(load_suite(path), store, first)
    assert [sample.case_id for sample, _ in store.samples(second.id)] == ["c0"]


def test_an_answer_to_a_picture_that_was_exchanged_is_not_scored_again(server, store, tmp_path):
    folder = tmp_path / "s"
    path = write_suite(folder, n=2, target=priced(server))
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    cases = [row | {"attachments": [f"{row['id']}.png"]} for row in rows]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cases))
    for name in ("c0", "c1"):
        (folder / f"{name}.png").write_bytes(photo_bytes("PNG", noise(seed=1)))
    first, _ = run.run(load_suite(path), store)
    (folder / "c1.png").write_bytes(photo_bytes("PNG", noise(seed=2)))
    second = run.rescore(load_suite(path), store, first)
    assert [sample.case_id for sample, _ in store.samples(second.id)] == ["c0"]


def test_a_rescored_run_names_the_prompt_that_was_asked_not_the_one_of_today(server, store, tmp_path):
    folder = tmp_path / "s"
    target = priced(server)
    target["chat"]["user"] = {"file": "user.md"}
    folder.mkdir()
    (folder / "user.md").write_text("old {{ input.number }}")
    path = write_suite(folder, n=2, target=target)
    first, _ = run.run(load_suite(path), store)
    (folder / "user.md").write_text("new {{ input.number }}")
    second = run.rescore(load_suite(path), store, first)
    assert second.signature.prompts == first.signature.prompts


def test_a_run_that_is_still_alive_is_not_taken_over(server, store, tmp_path):
    suite = load_suite(write_suite(tmp_path / "s", n=20, target=priced(server)))
    begun = stopped_after_two(suite, store)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        options = replace(begun.options, owner=Owner(socket.gethostname(), other.pid, _began(other.pid)))
        store.update_run(replace(store.run(begun.id), state=RunState.RUNNING, options=options))
        with pytest.raises(UsageError, match=f"still going on in process {other.pid}"):
            run.run(suite, store, RunOptions(resume=begun.id))
        with pytest.raises(UsageError, match=f"still going on in process {other.pid}"):
            run.run(suite, store, RunOptions(resume=""))
    finally:
        other.kill()
        other.wait()
    header, ending = run.run(suite, store, RunOptions(resume=begun.id, max_cost=10))
    assert (header.state, ending.counts.done) == (RunState.ENDED, 20)
    assert header.options.owner is None


def with_scorer(tmp_path, server, ignore, target=None):
    score = {"word": {"exact": {"expected": "expected.word", "ignore": ignore}}}
    return load_suite(write_suite(tmp_path / "s", n=6, target=target or priced(server), score=score))


def test_a_run_goes_on_after_a_scorer_was_fixed_as_a_new_run_that_asks_only_for_what_is_missing(
    server, store, tmp_path
):
    server.on("/v1/chat/completions", chat_answer('{"word": "WORD 0"}', tokens=(1000, 0)))
    begun = stopped_after_two(with_scorer(tmp_path, server, []), store)
    assert [sample.score for sample, _ in store.samples(begun.id)] == [0.0, 0.0]
    fixed = with_scorer(tmp_path, server, ["case"])
    # What the earlier run spent is not this one's: 0.25 leaves room for two calls more.
    half, ending = run.run(fixed, store, RunOptions(resume="", max_cost=0.25, concurrency=1))
    assert (half.id != begun.id, half.options.resumed_from, half.state) == (True, begun.id, RunState.INTERRUPTED)
    assert len(server.requests) == 4
    header, ending = run.run(fixed, store, RunOptions(resume=""))
    assert (header.id, header.state, ending.stopped) == (half.id, RunState.ENDED, None)
    assert len(server.requests) == 6
    # By the scorer of now, "WORD 0" is right for the first case, which the earlier run asked.
    assert [(sample.case_id, sample.score) for sample, _ in store.samples(header.id)] == [
        ("c0", 1.0),
        *((f"c{k}", 0.0) for k in range(1, 6)),
    ]
    assert header.signature.scorers != begun.signature.scorers
    assert store.run(begun.id).state is RunState.INTERRUPTED
    with pytest.raises(UsageError, match="no unfinished run"):
        run.run(fixed, store, RunOptions(resume=""))


def test_answers_that_a_run_had_no_time_to_take_over_are_not_asked_for_again(server, store, tmp_path, monkeypatch):
    server.on("/v1/chat/completions", chat_answer('{"word": "WORD 0"}', tokens=(1000, 0)))
    begun = stopped_after_two(with_scorer(tmp_path, server, []), store)
    with monkeypatch.context() as patch:
        patch.setattr("steelyard.runner.run.rescore_answers", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.run(with_scorer(tmp_path, server, ["space"]), store, RunOptions(resume=""))
    header, _ = run.run(with_scorer(tmp_path, server, ["case"]), store, RunOptions(resume=""))
    between = store.run(header.options.resumed_from)
    assert (between.options.resumed_from, list(store.samples(between.id))) == (begun.id, [])
    assert len(server.requests) == 6
    assert [sample.score for sample, _ in store.samples(header.id)] == [1.0] + [0.0] * 5


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_a_run_does_not_go_on_when_the_target_changed_with_the_scorer(server, store, tmp_path):
    stopped_after_two(with_scorer(tmp_path, server, []), store)
    other = {"chat": priced(server)["chat"] | {"model": "another"}}
    with pytest.raises(UsageError, match="scorers, target"):
        run.run(with_scorer(tmp_path, server, ["case"], other), store, RunOptions(resume=""))
    assert len(server.requests) == 2


def test_what_a_judge_of_an_unfinished_run_said_is_read_by_the_rules_of_now(store, tmp_path):
    more = {"limits": {"retries": 0, "concurrency": 1, "outage": 0.1}}
    answered = chat_answer(json.dumps(verdict(4)))
    with Loopback() as judge:
        judge.on("/chat/completions", answered, answered, error(500))
        suite = write_judged(tmp_path / "s", n=8, suite=more, **chat_judge(judge))
        begun, _ = run.run(load_suite(suite), store, RunOptions())
        assert (begun.state, len(list(store.samples(begun.id)))) == (RunState.INTERRUPTED, 2)
        judge.on("/chat/completions", answered)
        n = len(judge.requests)
        bind = ["when size.words > 0 then clarity <= 1"]
        bound = write_judged(tmp_path / "s", n=8, suite=more, bind=bind, **chat_judge(judge))
        header, _ = run.run(load_suite(bound), store, RunOptions(resume=begun.id))
        assert len(judge.requests) == n + 6
    judgements = [sample.judgement for sample, _ in store.samples(header.id)]
    assert [(item.uncapped["clarity"], item.capped["clarity"]) for item in judgements] == [(4.0, 1.0)] * 8
