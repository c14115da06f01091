"""`steelyard ab` as a person types it: decided, killed, resumed, refused."""

from __future__ import annotations

import json
import signal
from collections import Counter

import pytest
from click.testing import CliRunner

from parts.command import invoke, start_steelyard, wait_until
from parts.loopback import Loopback, json_answer, text_answer
from parts.small_suite import http_target, write_suite
from parts.two_arms import bad, good, serve, write_arms
from steelyard.cli import steelyard as group
from steelyard.errors import SteelyardError
from steelyard.experiments.ab_command import _without_resume
from steelyard.records import RunState
from steelyard.store.sql import open_store

N = 24


@pytest.fixture
def server():
    with Loopback() as running:
        yield running


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def slowly(answer):
    return lambda seen: json_answer(json.loads(answer(seen).body), delay=0.03)


def runs_in(folder):
    store = open_store(str(folder / ".steelyard" / "steelyard.db"))
    try:
        return [
            (header, [sample.case_id for sample, _ in store.samples(header.id)]) for header in reversed(store.runs())
        ]
    finally:
        store.close()


def asked(server):
    return Counter((seen.path, seen.json["number"]) for seen in server.requests)


def wait_for_requests(server, n):
    wait_until(lambda: len(server.requests) >= n)


def test_a_better_arm_b_ends_with_0_and_a_worse_one_with_1(server, here):
    arms = serve(server)
    path = write_arms(here / "s", server, 12)
    told = invoke("ab", path, *arms["a"], *arms["b"])
    assert "B is better: pass rate 0.0 % -> 100.0 %, +100.0 points" in told
    assert f"{server.base_url}/b" in " ".join(told.split())
    serve(server, a=good, b=bad)
    assert "A is better" in invoke("ab", path, *arms["a"], *arms["b"], code=1)


def test_arms_that_do_not_differ_end_with_4_and_with_0_when_so_close_counts_as_the_same(server, here):
    arms = serve(server, a=good, b=good)
    path = write_arms(here / "s", server, 30)
    both = (*arms["a"], *arms["b"])
    assert "cannot tell: pass rate 100.0 % -> 100.0 %, +0.0 points" in invoke("ab", path, *both, code=4)
    assert "the same for all that matters" in invoke("ab", path, *both, "--same-within", "25 points")


def test_a_broken_arm_is_invalid_and_ends_with_3(server, here):
    arms = serve(server, b=lambda _: text_answer("out of order", status=500))
    path = write_arms(here / "s", server, 8, limits={"retries": 0})
    told = invoke("ab", path, *arms["a"], *arms["b"], code=3)
    assert "arm B is valid: 0 of 8 samples are conclusive; the run is INVALID" in " ".join(told.split())


def test_it_stops_early_when_asked_to_and_says_so(server, here):
    arms = serve(server)
    path = write_arms(here / "s", server, 100)
    data = json.loads(invoke("ab", path, *arms["a"], *arms["b"], "--stop-early", "--concurrency", 1, "--json"))
    assert (data["decided"], data["test"], data["quality"]["n"]) == ("B", "sequential", 8)
    assert data["notes"] == ["stopped early, as asked for: 8 of 100 planned cases were enough"]
    assert len(server.requests) == 16


def test_at_most_so_many_cases_are_drawn_at_random(server, here):
    arms = serve(server)
    path = write_arms(here / "s", server, 100)
    invoke("ab", path, *arms["a"], *arms["b"], "--max-cases", 10, "--seed", 5)
    numbers = {number for _, number in asked(server)}
    assert len(numbers) == 10
    assert numbers != set(range(10))


def test_kill_dash_nine_loses_nothing_and_the_decision_is_as_if_it_had_not_happened(server, here, tmp_path):
    arms = serve(server, a=slowly(bad), b=slowly(good))
    path = write_arms(tmp_path / "s", server, N)
    words = ("ab", path, *arms["a"], *arms["b"], "--concurrency", 4, "--json")
    process = start_steelyard(*words, cwd=tmp_path)
    wait_for_requests(server, 16)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    before = runs_in(tmp_path)
    assert [header.state for header, _ in before] == [RunState.RUNNING] * 2
    assert all(0 < len(cases) < N for _, cases in before)

    resumed = json.loads(invoke(*words, "--resume"))
    after = runs_in(tmp_path)
    assert [header.id for header, _ in after] == [header.id for header, _ in before]
    assert [len(cases) for _, cases in after] == [N, N]
    counts = asked(server)
    for (_, cases), arm in zip(before, ("/a", "/b"), strict=True):
        assert all(counts[arm, int(case[1:])] == 1 for case in cases)
    # What was under way, or not written yet, at the moment of the kill is asked once more.
    assert max(counts.values()) <= 2

    whole = json.loads(invoke(*words))
    assert {key: resumed[key] for key in ("decided", "quality")} == {key: whole[key] for key in ("decided", "quality")}


def test_of_two_processes_that_resume_a_killed_ab_one_makes_the_calls(server, tmp_path):
    arms = serve(server, a=slowly(bad), b=slowly(good))
    path = write_arms(tmp_path / "s", server, N)
    words = ("ab", path, *arms["a"], *arms["b"], "--concurrency", 2, "--json")
    process = start_steelyard(*words, cwd=tmp_path)
    wait_for_requests(server, 16)
    process.kill()
    process.communicate()
    earlier = len(server.requests)
    resumed = [start_steelyard(*words, "--resume", cwd=tmp_path) for _ in range(2)]
    ends = [(one.communicate(timeout=300)[1], one.returncode) for one in resumed]
    # 0 is the decision for B, 2 a message.
    assert sorted(code for _, code in ends) == [0, 2], ends
    refused = next(message for message, code in ends if code == 2)
    assert any(text in refused for text in ("taken over", "is still going on", "no unfinished A/B")), refused
    calls = Counter((seen.path, seen.json["number"]) for seen in list(server.requests)[earlier:])
    assert max(calls.values()) == 1
    assert [len(cases) for _, cases in runs_in(tmp_path)] == [N, N]


def test_ctrl_c_shows_no_decision_and_says_how_to_go_on(server, tmp_path):
    arms = serve(server, a=slowly(bad), b=slowly(good))
    path = write_arms(tmp_path / "s", server, N)
    process = start_steelyard("ab", path, *arms["a"], *arms["b"], "--concurrency", 2, cwd=tmp_path)
    wait_for_requests(server, 12)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=300)
    assert (process.returncode, stdout) == (130, "")
    assert "Traceback" not in stderr
    assert "--resume words-ab-" in stderr
    kept = runs_in(tmp_path)
    assert [header.state for header, _ in kept] == [RunState.INTERRUPTED] * 2
    # Every call that was made has its sample.
    assert sum(len(cases) for _, cases in kept) == len(server.requests)


def test_an_ended_one_is_shown_again_without_a_call_and_by_its_own_plan(server, here):
    arms = serve(server)
    path = write_arms(here / "s", server, 8)
    data = json.loads(invoke("ab", path, *arms["a"], *arms["b"], "--json"))
    before = len(server.requests)
    again = json.loads(invoke("ab", path, *arms["a"], *arms["b"], "--resume", data["plan"]["id"], "--json"))
    assert again == data
    assert len(server.requests) == before
    told = refused("ab", path, *arms["a"], *arms["b"], "--resume", data["plan"]["id"], "--same-within", "30 points")
    assert "was planned with other options: leave --same-within out" in told


def test_an_ab_that_is_not_the_same_any_more_is_not_resumed(server, here):
    def priced(seen):
        return json_answer({"answer": {"word": f"no {seen.json['number']}"}, "price": 1.0})

    arms = serve(server, a=priced, b=priced)
    path = write_suite(here / "s", n=8, target=http_target(server.base_url, usage={"cost": "price"}), gates=[])
    invoke("ab", path, *arms["a"], *arms["b"], "--max-cost", 5.5, "--concurrency", 1, code=4)
    before = len(server.requests)
    assert "target" in refused("ab", path, *arms["a"], "--b", f"url={server.base_url}/c", "--resume")
    assert len(server.requests) == before


def test_how_to_go_on_is_reported_without_what_it_went_on_with():
    typed = ["ab", "s", "--resume", "words-ab-2", "--b", "model=x", "--resume=words", "--json", "--resume"]
    assert _without_resume(typed) == ["ab", "s", "--b", "model=x", "--json"]


def test_two_variants_are_compared_case_by_case(here):
    path = write_suite(here / "s", n=20, gates=[], variants={"style": ["short", "long"]})
    (here / "s" / "system.py").write_text(
        "def answer(case, variant):\n"
        "    right = 'long' in variant.name\n"
        "    return {'word': ('word %d' if right else 'no %d') % case.input['number']}\n"
    )
    told = invoke("ab", path, "--a", "variant=short", "--b", "variant=long")
    assert "B is better" in told
    assert "variants long" in " ".join(told.split())


def refused(*words):
    """What is told of a command that must end with 2."""
    done = CliRunner().invoke(group, [str(word) for word in words], prog_name="steelyard")
    if isinstance(done.exception, SteelyardError):
        assert done.exception.exit_code == 2
    else:
        assert done.exit_code == 2, done.output
    return f"{done.output}{done.exception}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say what differs"),
        ((), "Try 'steelyard ab SUITE --help'"),
        (("--b", "model"), "write KEY=VALUE"),
        (("--b", "=x"), "write KEY=VALUE"),
        (("--b", "target=nobody"), "there is no target 'nobody'"),
        (("--b", "variant=loud"), "has no variant 'loud'"),
        (("--b", "judge_repeats=0"), "judge_repeats"),
        (("--b", "judge_model=x"), "judge"),
        (("--b", "timeoutt=3"), "timeoutt"),
        (("--b", "url=http://127.0.0.1:1/x", "--same-within", "much"), "percentage points"),
        (("--b", "url=http://127.0.0.1:1/x", "--resume", "nothing"), "there is no store"),
    ],
)
def test_what_cannot_be_asked_for_is_reported_before_anybody_is(server, here, words, message):
    path = write_arms(here / "s", server, 4)
    assert message in " ".join(refused("ab", path, *words).split())
    assert server.requests == []
    assert not (here / ".steelyard").exists()


def test_assign_says_the_arm_of_each_id(here):
    told = invoke("ab", "assign", "--name", "checkout-2", "user-1", "user-2", "user-3")
    # As sha256sum gives them; see test_assignment.
    assert told == "user-1\ttreatment\nuser-2\ttreatment\nuser-3\tcontrol\n"
    few = invoke("ab", "assign", "--name", "checkout-2", "--traffic", "1 %", *(f"user-{n}" for n in range(200)))
    arms = Counter(line.split("\t")[1] for line in few.splitlines())
    assert arms["-"] > 190
    unquoted = invoke("ab", "assign", "--name", "checkout-2", "--traffic", "1", "%", *(f"user-{n}" for n in range(200)))
    assert unquoted == few
    given = ("--salt-exposure", "checkout-2/exposure", "--salt-arm", "checkout-2/arm")
    assert json.loads(invoke("ab", "assign", *given, "user-3", "--json")) == [{"unit": "user-3", "arm": "control"}]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("user-1",), "name the experiment"),
        (("--salt-arm", "x", "user-1"), "name the experiment"),
        (("--salt-arm", "x", "--salt-exposure", "x", "user-1"), "both salts"),
        (("--name", "x", "--traffic", "5", "user-1"), "write 5 %"),
        (("--name", "x", "--arms", "one", "user-1"), "two arms"),
        (("--experiment", "gone.yaml", "user-1"), "there is no experiment at gone.yaml"),
        (("--experiment", "gone.yaml", "--traffic", "0.5", "user-1"), "already given in"),
    ],
)
def test_assign_refuses_what_is_no_experiment(here, words, message):
    assert message in " ".join(refused("ab", "assign", *words).split())
