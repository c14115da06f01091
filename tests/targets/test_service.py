from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parts.loopback import Behaviour, json_answer, refusing, text_answer
from steelyard.errors import SuiteError, UsageError
from steelyard.suite.case import Case
from steelyard.suite.models import Variant
from steelyard.targets import service as readiness_module
from steelyard.targets import service as service_module
from steelyard.targets.base import Request
from steelyard.targets.service_settings import StartSettings

SERVICE = Path(__file__).parents[1] / "parts" / "small_service.py"
CASE = Case("c1", input={"number": 4})
ASK = Request(CASE, Variant())


def started(*switches, env=None, ready="/health", **more):
    """Settings of an HTTP target that starts the small service."""
    start = {"command": ["{python}", str(SERVICE), "--port", "{port}", *map(str, switches)], "env": env or {}}
    start |= more.pop("start", {})
    return {"url": "/ask", "json": {"number": "{{ input.number }}"}, "start": start, "ready": ready, **more}


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # One that nobody has reaped yet is there by name only; one that ends while its file is read leaves nothing in it.
    return bool(state) and state[0] != "Z"


def pid_in(path):
    """The process id that a service writes to the file, as soon as it is there."""
    return wait_for(lambda: path.exists() and path.read_text().strip() and int(path.read_text()))


def is_started_with(path):
    """Whether a process runs with this path among its arguments, though it may not have written its pid yet."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(path).encode() in entry.read_bytes().split(b"\0"):
                return True
    return False


def wait_for(condition, seconds=120):
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "it never became true"
        time.sleep(0.01)
    return found


@pytest.fixture
def short_grace(monkeypatch):
    monkeypatch.setattr(service_module, "_GRACE", 0.2)


async def test_a_service_is_started_asked_and_stopped_with_its_whole_group(bench, tmp_path):
    own, child = tmp_path / "own", tmp_path / "child"
    async with bench.open("http", started("--pid", own, "--child", child)) as target:
        assert '"word 4"' in (await target.ask(ASK)).text
        assert is_running(pid_in(own))
        assert is_running(pid_in(child))
        assert await target.gone() is None
    wait_for(lambda: not is_running(pid_in(own)) and not is_running(pid_in(child)))


async def test_a_wait_for_a_service_is_reported_once(bench, caplog, monkeypatch):
    monkeypatch.setattr(readiness_module, "_LONGEST_WAIT", 0.0)
    async with bench.open("http", started("--loading", 3)):
        told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert re.fullmatch(
        r"waiting up to 60 s until GET http://127\.0\.0\.1:\d+/health is ready: answered 503.*", told[0]
    )


async def test_a_service_may_start_late_and_answer_that_it_is_loading(bench):
    async with bench.open("http", started("--late", 0.2, "--loading", 3)) as target:
        assert '"word 4"' in (await target.ask(ASK)).text


async def test_a_service_without_a_ready_check_is_asked_once_it_listens(bench):
    async with bench.open("http", started("--late", 0.2, ready=None)) as target:
        assert '"word 4"' in (await target.ask(ASK)).text


async def test_the_port_may_stand_in_the_environment_and_the_command_be_one_text(bench):
    settings = started()
    settings["start"] = {"command": f"{{python}} '{SERVICE}'", "env": {"SERVICE_PORT": "{port}"}}
    assert '"word 4"' in (await bench.ask("http", settings, CASE)).text


async def test_a_token_that_is_not_set_is_made_up_and_shared_with_the_service(bench):
    target = bench.open("http", started(token="SERVICE_TOKEN"))
    (token,) = target.secrets()
    assert len(token) >= 24
    async with target:
        assert '"word 4"' in (await target.ask(ASK)).text


async def test_the_shared_token_is_redacted_out_of_the_last_words(bench):
    bench.env["SERVICE_TOKEN"] = "a-token-of-my-own"
    with pytest.raises(UsageError) as caught:
        await bench.ask("http", started("--crash", "cannot log in with a-token-of-my-own", token="SERVICE_TOKEN"))
    # The command line is the suite's own text; what the service prints is not.
    printed = str(caught.value).partition("its last lines:")[2]
    assert "cannot log in with" in printed
    assert "a-token-of-my-own" not in printed


async def test_a_token_that_is_set_is_the_one_that_is_shared(bench):
    bench.env["SERVICE_TOKEN"] = "a-token-of-my-own"
    target = bench.open("http", started(token="SERVICE_TOKEN"))
    assert target.secrets() == ["a-token-of-my-own"]
    async with target:
        assert '"word 4"' in (await target.ask(ASK)).text


async def test_the_service_sees_only_what_is_passed_on(bench, tmp_path):
    bench.env |= {"OTHER_SECRET": "do not tell", "GIVEN": "a value from outside"}
    write = "import json,os,sys; open('env.json','w').write(json.dumps(dict(os.environ)))"
    settings = started(env={"PLAIN": "x", "NAMED": {"env": "GIVEN"}})
    settings["start"]["command"] = ["{python}", "-c", write, "{port}"]
    with pytest.raises(UsageError, match="ended with exit code 0"):
        await bench.ask("http", settings)
    written = (tmp_path / "env.json").read_text()
    assert '"PLAIN": "x"' in written
    assert "a value from outside" in written
    assert "do not tell" not in written


async def test_a_service_that_crashes_at_its_start_is_reported_with_its_last_words(bench):
    with pytest.raises(UsageError) as caught:
        await bench.ask("http", started("--crash", "no such model: tiny-1"))
    told = str(caught.value)
    assert "the service ended with exit code 3 before it was ready" in told
    assert "no such model: tiny-1" in told
    assert "small_service.py --port" in told


async def test_secrets_in_the_last_words_are_redacted_out(bench):
    bench.env["KEY"] = "key-0123456789"
    settings = started("--crash", "x", env={"PASSED": {"env": "KEY"}})
    say = "import os,sys; sys.exit('bad key ' + os.environ['PASSED'])"
    settings["start"]["command"] = ["{python}", "-c", say, "{port}"]
    with pytest.raises(UsageError) as caught:
        await bench.ask("http", settings)
    assert "bad key" in str(caught.value)
    assert "key-0123456789" not in str(caught.value)


async def test_a_service_that_never_listens_is_reported_and_killed(bench, tmp_path):
    own = tmp_path / "own"
    with pytest.raises(UsageError, match=r"nothing listens on 127\.0\.0\.1:\d+ after 0\.5 s"):
        await bench.ask("http", started("--never", "--pid", own, start={"timeout": 0.5}))
    # On a busy machine it is stopped before it has written its pid.
    wait_for(lambda: not is_started_with(own))


async def test_a_service_that_never_gets_ready_is_reported_with_what_was_tried(bench, tmp_path):
    own = tmp_path / "own"
    ready = {"url": "/health", "timeout": 3}
    with pytest.raises(UsageError) as caught:
        await bench.ask("http", started("--loading", 10_000, "--pid", own, ready=ready))
    told = str(caught.value)
    assert "/health, asked" in told
    assert "within 3 s" in told
    assert 'answered 503: {"status": "loading"}' in told
    assert "starting" in told  # the last line it printed
    wait_for(lambda: not is_started_with(own))


async def test_a_service_that_ignores_sigterm_is_killed(bench, tmp_path, short_grace):
    own = tmp_path / "own"
    async with bench.open("http", started("--ignores-sigterm", "--pid", own)):
        assert is_running(pid_in(own))
    assert not is_running(pid_in(own))


async def test_a_service_is_stopped_when_the_run_is_cancelled_while_it_starts(bench, tmp_path):
    own = tmp_path / "own"
    task = asyncio.create_task(bench.ask("http", started("--late", 60, "--pid", own)))
    await asyncio.to_thread(pid_in, own)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    wait_for(lambda: not is_running(pid_in(own)))


def test_a_service_does_not_outlive_a_steelyard_that_is_killed(tmp_path):
    own = tmp_path / "own"
    settings = started("--pid", own)
    code = (
        "import asyncio, os, pathlib\n"
        "from steelyard.suite.models import TargetSpec\n"
        "from steelyard.targets.base import TargetContext\n"
        "from steelyard.targets.base import open_target\n"
        "async def main():\n"
        f"    spec = TargetSpec('http', {settings!r})\n"
        "    async with open_target(spec, TargetContext(pathlib.Path('.'), None, dict(os.environ))):\n"
        "        print('up', flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGKILL)
    wait_for(lambda: not is_running(pid_in(own)))


async def test_a_service_that_has_died_is_gone_with_code_and_last_words(bench):
    async with bench.open("http", started("--dies-after", 1)) as target:
        with pytest.raises(Exception, match="cut the connection"):
            await target.ask(ASK)
        for _ in range(500):
            if told := target._service.ended():
                break
            await asyncio.sleep(0.01)
        assert told == "the service ended with exit code 7; its last words: starting | out of memory: giving up"
        assert await target.gone() == told


async def test_a_service_that_runs_and_is_not_ready_any_more_is_gone(bench):
    async with bench.open("http", started("--sick-after", 1)) as target:
        assert await target.gone() is None
        await target.ask(ASK)
        told = await target.gone()
    assert told is not None
    assert "is not ready any more: GET http://127.0.0.1:" in told
    assert "answered 503" in told


async def test_a_service_that_is_busy_for_a_moment_is_not_gone(bench, server):
    server.on("/health", text_answer("ok"), text_answer("busy", status=503), text_answer("ok"))
    server.on("/", text_answer("hello"))
    async with bench.open("http", {"base_url": server.base_url, "ready": "/health"}) as target:
        assert await target.gone() is None


async def test_a_service_elsewhere_is_waited_for_and_reported_when_it_is_not_there(bench):
    with refusing() as base_url, pytest.raises(UsageError) as caught:
        await bench.ask("http", {"base_url": base_url, "ready": {"url": "/health", "timeout": 0.2}})
    assert f"GET {base_url}/health, asked" in str(caught.value)
    assert "refuses connections" in str(caught.value)


async def test_ready_may_ask_for_values_in_the_body(bench, server):
    server.on("/health", json_answer({"model": {}}), json_answer({"model": {"loaded": False}}))
    server.on("/", text_answer("hello"))
    settings = {"base_url": server.base_url, "ready": {"url": "/health", "expect": {"model.loaded": True}}}
    settings["ready"]["timeout"] = 0.3
    with pytest.raises(UsageError, match=r"model\.loaded = false, not true"):
        await bench.ask("http", settings)
    server.on("/health", json_answer({"model": {"loaded": False}}), json_answer({"model": {"loaded": True}}))
    assert (await bench.ask("http", settings)).text == "hello"


async def test_another_value_than_the_one_asked_for_is_not_ready(bench, server):
    server.on("/health", json_answer({"status": "starting"}))
    ready = {"url": "/health", "expect": {"status": "ok"}, "timeout": 0.1}
    with pytest.raises(UsageError, match='status = "starting", not "ok"'):
        await bench.ask("http", {"base_url": server.base_url, "ready": ready})


async def test_a_ready_check_that_hangs_is_cut_off(bench, server):
    server.on("/health", Behaviour(delay=30))
    with pytest.raises(UsageError, match="no answer within"):
        await bench.ask("http", {"base_url": server.base_url, "ready": {"url": "/health", "timeout": 0.2}})


async def test_the_ready_check_sends_the_token_to_the_service_and_to_no_other_address(bench, server):
    bench.env["TOKEN"] = "token-0123456789"
    server.on("*", text_answer("ok"))
    for ready in ("/health", server.url("/elsewhere")):
        await bench.ask("http", {"base_url": server.base_url, "token": "TOKEN", "ready": ready})
    assert server.seen("/health")[0].headers["authorization"] == "Bearer token-0123456789"
    assert "authorization" not in server.seen("/elsewhere")[0].headers


def test_the_identity_does_not_depend_on_the_port_and_does_on_the_command(bench):
    one, same, other = (bench.open("http", started(*switches)) for switches in ((), (), ("--late", 1)))
    assert one.identity() == same.identity()
    assert one.identity() != other.identity()
    assert one.identity()["address"] == "http://127.0.0.1:{port}/ask"
    assert one.request_key(ASK) == same.request_key(ASK) != other.request_key(ASK)


def test_whether_and_how_it_is_checked_to_be_ready_is_no_part_of_the_identity(bench):
    assert bench.open("http", started()).identity() == bench.open("http", started(ready=None)).identity()


async def test_a_template_in_the_url_is_filled_on_a_started_service(bench):
    async with bench.open("http", started() | {"url": "/ask/{{ input.number }}/{port}"}) as target:
        assert '"word 4"' in (await target.ask(ASK)).text
        assert target._request(ASK).url.path == "/ask/4/{port}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": {"command": ["serve"]}}, "neither command nor env holds {port}"),
        ({"start": {"command": ["serve", "{port}"]}, "base_url": "http://other:1"}, "drop one of them"),
        ({"start": ["serve", "{port}"], "url": "http://other:1/ask"}, "url can only be a path"),
        ({"start": {"command": ["serve", "{port}"], "env": {"API_KEY": "abc"}}}, "API_KEY looks like a secret"),
        ({"url": "http://one:1", "ready": "health"}, "neither a path such as /health nor an address"),
        ({"start": {"command": ["no-such-program-here", "{port}"]}}, "there is no program 'no-such-program-here'"),
    ],
)
def test_settings_that_cannot_work_are_mistakes_before_anything_is_started(bench, settings, message):
    with pytest.raises(SuiteError) as caught:
        bench.open("http", settings)
    assert message in str(caught.value)


def test_a_start_may_be_written_as_one_text():
    assert StartSettings.model_validate("serve --port {port}").command == ("serve", "--port", "{port}")


async def test_the_first_byte_of_a_body_is_timed_and_an_empty_body_has_none(bench, server):
    server.on("/", text_answer("hello"), text_answer(""))
    async with bench.open("http", server.url("/")) as target:
        first, second = await target.ask(ASK), await target.ask(ASK)
    assert first.first_byte is not None
    assert first.first_byte > 0
    assert second.first_byte is None


async def test_the_first_byte_of_a_stream_comes_before_its_last(bench):
    async def converse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await writer.drain()
        await asyncio.sleep(0.3)
        writer.write(b"5\r\n last\r\n0\r\n\r\n")
        writer.close()

    running = await asyncio.start_server(converse, "127.0.0.1", 0)
    async with running:
        port = running.sockets[0].getsockname()[1]
        began = time.perf_counter()
        reply = await bench.ask("http", f"http://127.0.0.1:{port}/")
        took = time.perf_counter() - began
    assert reply.text == "first last"
    # The pause of 0.3 s lies between the two, whatever else takes time.
    assert took - reply.first_byte >= 0.29
