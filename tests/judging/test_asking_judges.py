"""Asking judges over real HTTP: panels and repeats, asking again, what is kept, and that a failure stays a failure."""

from __future__ import annotations

import json
import re

import pytest

from parts.judge_server import cut_off, empty, formats_of, judge_server, last_message
from parts.loopback import error, garbage, slow, throttle
from steelyard.engine import call as calling
from steelyard.engine.call import RetryPolicy
from steelyard.engine.limits import Closed, Pace
from steelyard.errors import UsageError
from steelyard.judging.ask import Bench, rules_judges
from steelyard.judging.cost_estimate import prompt_characters
from steelyard.records import CallResult
from steelyard.suite.case import Case
from steelyard.suite.judge import Dimension, Flag, JudgeModel, Member, Rubric
from steelyard.suite.models import Limits
from steelyard.targets.base import TargetContext
from steelyard.targets.model_address import ChatConnection

RUBRIC = Rubric(
    dimensions=(Dimension(name="tone", about="How it sounds."), Dimension(name="depth", about="How far it goes.")),
    flags=(Flag(name="unsafe"),),
)
NUMBER = {"type": "integer", "minimum": 1, "maximum": 5}
SCHEMA = {
    "type": "object",
    "properties": {"notes": {"type": "string"}, "tone": NUMBER, "depth": NUMBER, "unsafe": {"type": "boolean"}},
    "required": ["notes", "tone", "depth", "unsafe"],
}
GOOD = {"notes": "plain", "tone": 3, "depth": 2, "unsafe": False}
CASE = Case("c1", input="Write a letter.", expected={"labels": {"tone": {"best": 3}}})
TEXT = "Dear Ann, all is well."


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch):
    monkeypatch.setattr(calling, "_FIRST_BACKOFF", 0.0)


class Kept:
    """A journal in memory."""

    def __init__(self):
        self.parts = {}

    def get(self, part):
        return self.parts.get(part)

    async def put(self, part, call_result):
        self.parts[part] = call_result


def judge_of(server, *models, repeats=1, ask_again=1, most_characters=24_000, **connection):
    members = tuple(
        Member(
            name=f"j-{model}", kind="chat", settings=ChatConnection(base_url=server.base_url, model=model, **connection)
        )
        for model in models or ("m",)
    )
    options = {"repeats": repeats, "ask_again": ask_again, "most_characters": most_characters}
    return JudgeModel(rubric=RUBRIC, members=members, response=SCHEMA, labels="expected.labels", **options)


async def ask(judge, folder, *, text=TEXT, journal=None, env=None, retries=0, timeout=5.0):
    async with Bench(judge, TargetContext(folder, env=env or {})) as bench:
        patience = RetryPolicy(Limits(retries=retries, timeout=timeout), Pace(8), bench.secrets())
        calls = await bench.ask(text, CASE, {"length": {"words": 5}}, lambda _name: patience, journal)
    return calls, bench


def marker_of(request):
    found = set(re.findall(r"<<<BEGIN (\w+)>>>", request["messages"][-1]["content"]))
    assert len(found) == 1
    return found.pop()


async def test_a_judge_is_sent_the_fenced_text_the_settings_and_the_schema(tmp_path):
    with judge_server(GOOD) as server:
        judge = judge_of(server, temperature=0.0, seed=7, max_tokens=300, extra={"top_p": 0.5})
        (call,), _ = await ask(judge, tmp_path)
    (request,) = server.requests
    marker = marker_of(request)
    assert f"<<<BEGIN {marker}>>>\n{TEXT}\n<<<END {marker}>>>" in last_message(request)
    sent = {name: request[name] for name in ("model", "temperature", "seed", "max_tokens", "top_p")}
    assert sent == {"model": "m", "temperature": 0.0, "seed": 7, "max_tokens": 300, "top_p": 0.5}
    assert request["response_format"]["json_schema"]["schema"] == SCHEMA
    assert "labels" not in json.dumps(request["messages"])
    assert (call.member, call.repeat, call.turn, call.shortened) == ("j-m", 0, 0, False)
    assert json.loads(call.call_result.text) == GOOD
    assert (call.call_result.tokens_in, call.call_result.tokens_out, call.call_result.model) == (100, 20, "m")


async def test_a_judge_is_not_asked_for_a_dimension_that_needs_what_the_case_lacks(tmp_path):
    first, *others = RUBRIC.dimensions
    needing = first.model_copy(update={"needs": "input.nowhere"})
    rubric = RUBRIC.model_copy(update={"dimensions": (needing, *others)})
    reply = {name: value for name, value in GOOD.items() if name != first.name}
    with judge_server(reply) as server:
        calls, _ = await ask(judge_of(server).model_copy(update={"rubric": rubric}), tmp_path)
    (request,) = server.requests  # its answer is whole: nobody is asked again
    assert len(calls) == 1
    schema = request["response_format"]["json_schema"]["schema"]
    assert first.name not in schema["properties"]
    assert first.name not in schema["required"]
    assert first.name not in request["messages"][0]["content"]


async def test_settings_that_are_left_out_are_not_sent(tmp_path):
    with judge_server(GOOD) as server:
        await ask(judge_of(server, response_format="text"), tmp_path)
    assert set(server.requests[0]) == {"model", "messages"}


async def test_a_panel_of_two_models_with_two_repeats_has_four_talks(tmp_path):
    with judge_server() as server:
        server.by_model("a", GOOD)
        server.by_model("b", GOOD | {"tone": 5})
        calls, _ = await ask(judge_of(server, "a", "b", repeats=2, seed=40), tmp_path)
    assert [(call.member, call.repeat, call.turn) for call in calls] == [
        ("j-a", 0, 0),
        ("j-a", 1, 0),
        ("j-b", 0, 0),
        ("j-b", 1, 0),
    ]
    assert [json.loads(call.call_result.text)["tone"] for call in calls] == [3, 3, 5, 5]
    assert sorted((one["model"], one["seed"]) for one in server.requests) == [
        ("a", 40),
        ("a", 41),
        ("b", 40),
        ("b", 41),
    ]
    assert len({marker_of(one) for one in server.requests}) == 4


async def test_the_talks_of_a_text_go_on_at_the_same_time(tmp_path):
    with judge_server(GOOD, delay=1.0) as server:
        await ask(judge_of(server, "a", "b", repeats=2), tmp_path)
        assert server.loopback.most_in_flight == 4


async def test_an_unusable_answer_is_shown_to_the_judge_with_what_is_wrong(tmp_path):
    bad = json.dumps(GOOD | {"tone": 9})
    with judge_server(bad, GOOD) as server:
        calls, _ = await ask(judge_of(server, seed=1), tmp_path)
    first, second = server.requests
    assert [call.turn for call in calls] == [0, 1]
    assert second["messages"][: len(first["messages"])] == first["messages"]
    answer, complaint = second["messages"][len(first["messages"]) :]
    assert answer == {"role": "assistant", "content": bad}
    assert complaint["role"] == "user"
    assert "tone" in complaint["content"]
    assert "9" in complaint["content"]
    assert (first["seed"], second["seed"]) == (1, 1001)


@pytest.mark.parametrize("turns", [0, 1, 3])
async def test_a_judge_is_asked_again_as_often_as_declared_and_no_more(tmp_path, turns):
    with judge_server("What a lovely letter!") as server:
        calls, _ = await ask(judge_of(server, ask_again=turns), tmp_path)
    assert [call.turn for call in calls] == list(range(turns + 1))
    assert len(server.requests) == turns + 1


async def test_after_an_empty_answer_the_sides_still_take_turns(tmp_path):
    with judge_server(empty(), GOOD) as server:
        calls, _ = await ask(judge_of(server), tmp_path)
    assert [call.call_result.text for call in calls] == ["", json.dumps(GOOD)]
    first, second = server.requests
    assert [one["role"] for one in second["messages"]] == [one["role"] for one in first["messages"]]
    assert last_message(second).startswith(last_message(first))
    assert "empty" in last_message(second).removeprefix(last_message(first))


async def test_an_answer_that_ran_wild_is_not_sent_back_whole(tmp_path):
    with judge_server("la " * 100_000, GOOD) as server:
        calls, _ = await ask(judge_of(server), tmp_path)
    assert len(calls[0].call_result.text) == 300_000
    assert len(server.requests[1]["messages"][-2]["content"]) < 10_000


async def test_an_answer_cut_off_by_the_token_limit_is_asked_for_again(tmp_path):
    with judge_server(cut_off('{"notes": "pla'), GOOD) as server:
        calls, _ = await ask(judge_of(server), tmp_path)
    assert [call.call_result.failure for call in calls] == [None, None]
    assert json.loads(calls[-1].call_result.text) == GOOD


@pytest.mark.parametrize(
    ("step", "kind"),
    [(error(500), "http_500"), (error(401), "http_401"), (garbage(), None), (slow(3), "timeout")],
    ids=["500", "401", "garbage", "slow"],
)
async def test_a_call_that_failed_is_a_failed_call_and_ends_the_talk(tmp_path, step, kind):
    with judge_server(step) as server:
        (call,), _ = await ask(judge_of(server, ask_again=2, timeout=0.1), tmp_path)
    assert call.call_result.failure is not None
    assert kind in (None, call.call_result.failure.kind)
    assert len(server.requests) == 1


async def test_the_time_limit_of_a_judge_is_its_own(tmp_path):
    with judge_server(GOOD, delay=0.15) as server:
        (late,), _ = await ask(judge_of(server, timeout=0.03), tmp_path, timeout=5)
        (in_time,), _ = await ask(judge_of(server, timeout=3), tmp_path, timeout=0.03)
        (by_default,), _ = await ask(judge_of(server), tmp_path, timeout=0.03)
    assert late.call_result.failure.message == "no answer within 0.03 s"
    assert in_time.call_result.failure is None
    assert by_default.call_result.failure.kind == "timeout"


async def test_a_judge_that_stumbles_is_tried_again_inside_one_call(tmp_path):
    with judge_server(error(503), throttle(0), GOOD) as server:
        (call,), _ = await ask(judge_of(server), tmp_path, retries=2)
    assert (call.call_result.failure, call.call_result.tries, call.turn) == (None, 3, 0)


async def test_one_dead_member_leaves_the_others_their_say(tmp_path):
    with judge_server() as server:
        server.by_model("a", error(500))
        server.by_model("b", GOOD)
        dead, alive = (await ask(judge_of(server, "a", "b"), tmp_path))[0]
    assert (dead.call_result.failure.kind, alive.call_result.failure) == ("http_500", None)


async def test_the_format_that_was_used_in_the_end_is_reported(tmp_path):
    with judge_server(GOOD, refuses=("schema", "json")) as server:
        judge = judge_of(server, repeats=1)
        (call,), bench = await ask(judge, tmp_path)
    assert formats_of(server.requests) == ["schema", "json", "text"]
    assert (bench.formats(), call.call_result.tries) == ({"j-m": "text"}, 1)


async def test_a_key_is_in_the_header_and_never_in_what_is_kept(tmp_path):
    with judge_server(GOOD | {"notes": "sk-very-secret"}) as server:
        (call,), bench = await ask(judge_of(server, token="KEY"), tmp_path, env={"KEY": "sk-very-secret"})
    assert server.headers[0]["authorization"] == "Bearer sk-very-secret"
    assert bench.secrets() == ["sk-very-secret"]
    (identity,) = bench.identity()
    assert (identity["name"], identity["kind"], identity["model"]) == ("j-m", "chat", "m")
    assert identity["address"] == server.base_url
    assert "secret" not in json.dumps([identity, server.requests, call.call_result.text]).replace("[redacted]", "")


async def test_a_missing_key_is_named_before_any_call(tmp_path):
    with judge_server(GOOD) as server, pytest.raises(UsageError, match=r"judge j-m.*NO_SUCH_KEY"):
        Bench(judge_of(server, token="NO_SUCH_KEY"), TargetContext(tmp_path))


async def test_a_call_in_the_journal_is_not_paid_for_twice(tmp_path):
    journal = Kept()
    with judge_server("no JSON", GOOD) as server:
        first, _ = await ask(judge_of(server, repeats=1), tmp_path, journal=journal)
        assert list(journal.parts) == ["judge/j-m/0/0", "judge/j-m/0/1"]
        del journal.parts["judge/j-m/0/1"]  # killed between the two turns
        again, _ = await ask(judge_of(server, repeats=1), tmp_path, journal=journal)
    assert len(server.requests) == 3
    assert again[0].call_result is first[0].call_result
    assert server.requests[2]["messages"][-2] == {"role": "assistant", "content": "no JSON"}


async def test_a_failed_call_is_not_kept_so_that_it_is_asked_again(tmp_path):
    journal = Kept()
    with judge_server(error(500), GOOD) as server:
        await ask(judge_of(server), tmp_path, journal=journal)
        assert journal.parts == {}
        (call,), _ = await ask(judge_of(server), tmp_path, journal=journal)
    assert call.call_result.failure is None


async def test_when_the_run_stops_calls_under_way_are_still_kept(tmp_path):
    class Stopping:
        """The first call is carried out; no further one may start."""

        def __init__(self):
            self.asked = 0

        async def perform(self, send, _seconds=None):
            self.asked += 1
            if self.asked > 1:
                raise Closed
            return CallResult(text=(await send()).text)

    journal, stopping = Kept(), Stopping()
    with judge_server(GOOD, delay=0.05) as server:
        async with Bench(judge_of(server, repeats=3), TargetContext(tmp_path)) as bench:
            with pytest.raises(Closed):
                await bench.ask(TEXT, CASE, {}, lambda _name: stopping, journal)
    assert (stopping.asked, list(journal.parts)) == (3, ["judge/j-m/0/0"])


async def test_a_long_text_is_marked_as_shortened_in_every_turn(tmp_path):
    with judge_server("no JSON", GOOD) as server:
        calls, _ = await ask(judge_of(server, most_characters=200), tmp_path, text="word " * 100 + "the end")
    assert [call.shortened for call in calls] == [True, True]
    assert "the end" in server.requests[0]["messages"][-1]["content"]
    assert "left out" in server.requests[0]["messages"][-1]["content"]


async def test_a_template_that_a_case_cannot_fill_is_a_failed_call_without_asking(tmp_path):
    with judge_server(GOOD) as server:
        given = judge_of(server)
        judge = JudgeModel(rubric=RUBRIC, members=given.members, user="{{ input.topic }}: {{ text }}", response=SCHEMA)
        (call,), _ = await ask(judge, tmp_path)
    assert (call.call_result.failure.kind, call.call_result.tries) == ("bad_template", 0)
    assert server.requests == []


async def test_judges_that_are_code_are_found_and_not_asked(tmp_path):
    (tmp_path / "own_rules.py").write_text("def judge(text, case, metrics):\n    return {'tone': len(text)}\n")
    rules = Member(name="rules", kind="python", settings="own_rules:judge")
    with judge_server(GOOD) as server:
        given = judge_of(server)
        judge = JudgeModel(rubric=RUBRIC, members=(rules, *given.members), response=SCHEMA)
        calls, bench = await ask(judge, tmp_path)
    assert [call.member for call in calls] == ["j-m"]
    assert [one["name"] for one in bench.identity()] == ["j-m"]
    found = rules_judges(judge, tmp_path)
    assert list(found) == ["rules"]
    assert found["rules"]("abc", CASE, {}) == {"tone": 3}
    gone = JudgeModel(rubric=RUBRIC, members=(Member(name="rules", kind="python", settings="own_rules:no_such"),))
    with pytest.raises(UsageError, match=r"judge own_rules:no_such"):
        rules_judges(gone, tmp_path)


async def test_the_estimate_of_a_prompt_is_what_is_then_sent(tmp_path):
    with judge_server(GOOD) as server:
        judge = judge_of(server)
        await ask(judge, tmp_path)
    sent = sum(len(one["content"]) for one in server.requests[0]["messages"])
    assert prompt_characters(judge, TEXT, CASE, {"length": {"words": 5}}) == sent
