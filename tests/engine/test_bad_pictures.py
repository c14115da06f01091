"""A picture that cannot be sent fails its own samples, unasked and in words; the run goes on."""

import asyncio
import base64
import json
import sys
import time

import pytest

from parts import running as run
from parts.loopback import Loopback, chat_answer, json_answer
from parts.photos import bad_photos, photo_bytes
from parts.small_suite import http_target, write_suite
from steelyard.engine import call as calling
from steelyard.engine.call import Caller
from steelyard.engine.limits import Pace
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.records import Outcome, RunState, Verdict
from steelyard.store.sql import open_store
from steelyard.suite.case import Attachment, Case
from steelyard.suite.models import Limits, Variant
from steelyard.targets.base import Request, Response

pytestmark = pytest.mark.boundary("pillow")

ANSWER = '{"word": "word 0"}'
PYTHON = """
def answer(case, folder):
    with (folder / "calls.txt").open("a") as calls:
        calls.write(case.id + "\\n")
    assert (folder / case.attachments[0].place).read_bytes().startswith(b"\\x89PNG")
    return {"word": "word %d" % case.input["number"]}
"""
COMMAND = "import sys; print(sys.argv[1], file=open('calls.txt', 'a')); print('{\"word\": \"word 0\"}')"


@pytest.fixture
def stored(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


@pytest.fixture
def server():
    with Loopback() as running:
        running.on("/v1/chat/completions", chat_answer(ANSWER))
        running.on("/ask", json_answer({"answer": json.loads(ANSWER)}))
        yield running


def write_photo_suite(folder, **more):
    """Case c0 with a good photo, c1 to c5 with bad ones; gives the suite and what must be told, case by case."""
    path = write_suite(folder, n=6, **more)
    told = bad_photos(folder)
    (folder / "good.png").write_bytes(photo_bytes())
    (folder / "system.py").write_text(PYTHON)
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    cases = [row | {"attachments": name} for row, name in zip(rows, ["good.png", *told], strict=True)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return path, {f"c{n}": message for n, message in enumerate(told.values(), start=1)}


def chat(server, **more):
    return {"chat": {"model": "m", "base_url": server.base_url + "/v1", "user": "Read it.", **more}}


TARGETS = {
    "python": lambda _: {"python": "system:answer"},
    "chat": chat,
    "http": lambda server: http_target(server.base_url),
    "command": lambda _: {"command": [sys.executable, "-c", COMMAND, "{{ case.id }}"]},
}


@pytest.mark.parametrize("kind", TARGETS)
def test_five_bad_photos_fail_in_words_and_the_good_one_is_scored(kind, server, stored, tmp_path):
    folder = tmp_path / "s"
    path, told = write_photo_suite(folder, target=TARGETS[kind](server))
    header, ending = run.run(load_suite(path), stored)
    samples = {sample.case_id: sample for sample, _ in stored.samples(header.id)}
    assert (ending.stopped, header.state, len(samples)) == (None, RunState.ENDED, 6)

    assert (samples["c0"].outcome, samples["c0"].score) == (Outcome.SCORED, 1.0)
    for case_id, message in told.items():
        sample = samples[case_id]
        assert (sample.outcome, sample.score) == (Outcome.TARGET_FAILED, None)
        assert sample.call_result.failure.kind == "bad_attachment"
        assert sample.call_result.failure.message == f"an attachment cannot be sent: {message}"
        assert (sample.call_result.tries, sample.call_result.text) == (0, None)

    calls = folder / "calls.txt"
    asked = len(server.requests) if kind in ("chat", "http") else calls.read_text().splitlines()
    assert asked == (1 if kind in ("chat", "http") else ["c0"])
    # Five of six samples say nothing: far above the 5 % a run may have.
    assert header.verdict is Verdict.INVALID


def test_within_the_allowed_share_the_run_is_a_reading_and_one_of_six_does_not_pass_for_all(stored, tmp_path):
    path, _ = write_photo_suite(tmp_path / "s", limits={"max_inconclusive": "90 %"})
    header, _ = run.run(load_suite(path), stored)
    assert header.verdict is Verdict.AMBIGUOUS


def test_the_bytes_of_the_good_photo_arrive_unchanged(server, stored, tmp_path):
    path, _ = write_photo_suite(tmp_path / "s", target=chat(server))
    run.run(load_suite(path), stored)
    (seen,) = server.requests
    _, image = seen.json["messages"][-1]["content"]
    sent = image["image_url"]["url"].removeprefix("data:image/png;base64,")
    assert base64.b64decode(sent, validate=True) == (tmp_path / "s/good.png").read_bytes()


def test_every_variant_and_repeat_of_a_bad_photo_fails_and_none_of_the_good_one(stored, tmp_path):
    path, _ = write_photo_suite(tmp_path / "s", variants={"tone": ["dry", "warm"]}, repeats=2)
    header, ending = run.run(load_suite(path), stored)
    scored = [sample.case_id for sample, _ in stored.samples(header.id) if sample.outcome is Outcome.SCORED]
    assert (ending.counts.done, scored) == (24, ["c0"] * 4)


def test_recorded_answers_need_no_photo(stored, tmp_path):
    path, _ = write_photo_suite(tmp_path / "s", target={"recorded": "answers.jsonl"})
    records = [{"case": f"c{n}", "answer": {"word": f"word {n}"}} for n in range(6)]
    (tmp_path / "s/answers.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    header, _ = run.run(load_suite(path), stored)
    assert {sample.outcome for sample, _ in stored.samples(header.id)} == {Outcome.SCORED}
    assert header.verdict is Verdict.PASS


def test_a_chat_target_that_sends_no_images_needs_none(server, stored, tmp_path):
    path, _ = write_photo_suite(tmp_path / "s", target=chat(server, images=False))
    header, _ = run.run(load_suite(path), stored)
    assert len(server.requests) == 6
    assert {sample.outcome for sample, _ in stored.samples(header.id)} == {Outcome.SCORED}


def test_an_answer_in_the_cache_does_not_hide_that_the_photo_is_gone(server, stored, tmp_path):
    path, _ = write_photo_suite(tmp_path / "s", target=chat(server))
    run.run(load_suite(path), stored, RunOptions(cache=True))
    (tmp_path / "s/good.png").unlink()
    header, _ = run.run(load_suite(path), stored, RunOptions(cache=True))
    kinds = {sample.call_result.failure.kind for sample, _ in stored.samples(header.id)}
    assert (kinds, len(server.requests)) == ({"bad_attachment"}, 1)


def test_a_photo_that_goes_away_during_the_run_fails_its_case_only(stored, tmp_path):
    folder = tmp_path / "s"
    path, _ = write_photo_suite(folder, limits={"concurrency": 1})
    (folder / "system.py").write_text(
        "def answer(case, folder):\n    (folder / 'last.png').unlink(missing_ok=True)\n    return {'word': 'word 0'}\n"
    )
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    (folder / "last.png").write_bytes(photo_bytes())
    cases = [rows[0], rows[5] | {"attachments": "last.png"}]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    header, _ = run.run(load_suite(path), stored)
    samples = {sample.case_id: sample for sample, _ in stored.samples(header.id)}
    assert (samples["c0"].outcome, samples["c5"].call_result.failure.kind) == (Outcome.SCORED, "bad_attachment")


def test_the_limit_of_the_suite_is_the_one_that_holds(stored, tmp_path):
    # The good photo has 40 x 30 pixels.
    path, _ = write_photo_suite(tmp_path / "s", limits={"max_pixels": 1199})
    header, _ = run.run(load_suite(path), stored)
    samples = {sample.case_id: sample for sample, _ in stored.samples(header.id)}
    assert "good.png has 40 x 30 pixels, more than the 1,199 allowed" in samples["c0"].call_result.failure.message


class Plain:
    """A target of a package that knows nothing of `sends_attachments`."""

    async def ask(self, ask):
        return Response("stated")

    def request_key(self, ask):
        return None

    def secrets(self):
        return []


def caller(folder):
    return Caller(Plain(), Limits(timeout=5), Pace(1), folder=folder)


async def test_a_target_that_says_nothing_of_files_has_them_checked(tmp_path):
    case = Case("c", attachments=(Attachment("none.png", "image/png"),))
    called = await caller(tmp_path).call(Request(case, Variant()))
    assert called.call_result.failure.kind == "bad_attachment"
    assert called.cache_entry is None


@pytest.mark.parametrize("attachments", [(), (Attachment("https://example.org/a.png", "image/png"),)])
async def test_a_case_without_files_is_not_looked_at(tmp_path, monkeypatch, attachments):
    monkeypatch.setattr(calling, "unsendable", None)
    called = await caller(tmp_path).call(Request(Case("c", attachments=attachments), Variant()))
    assert called.call_result.text == "stated"


async def test_looking_at_a_photo_does_not_hold_up_the_loop(tmp_path, monkeypatch):
    monkeypatch.setattr(calling, "unsendable", lambda *_, **__: time.sleep(0.3))
    case = Case("c", attachments=(Attachment("a.png", "image/png"),))
    looking = asyncio.create_task(caller(tmp_path).call(Request(case, Variant())))
    started, longest = time.monotonic(), 0.0
    while not looking.done():
        await asyncio.sleep(0.01)
        now = time.monotonic()
        started, longest = now, max(longest, now - started)
    assert (await looking).call_result.text == "stated"
    assert longest < 0.2
