from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from steelyard.errors import SuiteError, UsageError
from steelyard.suite.case import Case
from steelyard.suite.models import Variant
from steelyard.targets.base import Request

PYTHON = sys.executable


def python(code: str, *arguments: str, **more):
    return {"run": [PYTHON, "-c", code, *arguments], **more}


def alive(pid: int) -> bool:
    """True for a running process; one that ended and waits to be reaped by the init process does not count."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return bool(state) and state[0] != "Z"


async def until(true, seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.01)
    return True


async def test_stdin_goes_in_and_stdout_is_the_answer(bench):
    settings = python("import sys; print(sys.stdin.read().upper())", stdin="{{ input.text }}")
    assert (await bench.ask("command", settings)).text == "GRÜSSE, 世界"


async def test_arguments_are_templates_and_no_shell_sees_them(bench):
    settings = python("import sys, json; print(json.dumps(sys.argv[1:]))", "{{ input }}", "$HOME", "--id={{ case.id }}")
    reply = await bench.ask("command", settings, Case("c", input="; echo hacked | `ls` $(id) \n x"))
    assert json.loads(reply.text) == ["; echo hacked | `ls` $(id) \n x", "$HOME", "--id=c"]


async def test_a_list_alone_is_what_to_run(bench):
    assert (await bench.ask("command", ["echo", "{{ case.id }}"])).text == "c1"


async def test_only_the_last_newline_is_taken_off(bench):
    assert (await bench.ask("command", python("print('a\\n'); print('')"))).text == "a\n\n"
    assert (await bench.ask("command", python("pass"))).text == ""


async def test_it_runs_in_the_folder_of_the_suite(bench):
    (bench.folder / "data.txt").write_text("from the folder")
    assert (await bench.ask("command", python("print(open('data.txt').read())"))).text == "from the folder"


async def test_a_program_of_the_suite_is_found_by_its_path(bench):
    script = bench.folder / "tools" / "say"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho said $1\n")
    script.chmod(0o755)
    assert (await bench.ask("command", {"run": ["./tools/say", "{{ case.id }}"]})).text == "said c1"


async def test_only_named_variables_reach_the_program(bench):
    bench.env = {
        "PATH": os.environ["PATH"],
        "HOME": "/",
        "LANG": "C.UTF-8",
        "MODE": "fast",
        "PLAIN": "p",
        "OTHER": "no",
    }
    bench.env["MY_API_KEY"] = "k-1"
    bench.env["QUIET"] = "q-1"
    settings = python(
        "import os, json; print(json.dumps(dict(os.environ)))", env=["MODE", "MY_API_KEY"], secret_env="QUIET"
    )
    seen = json.loads((await bench.ask("command", settings)).text)
    seen.pop("LC_CTYPE", None)  # added by the Python that runs there
    assert seen == {k: bench.env[k] for k in ("PATH", "HOME", "LANG", "MODE", "MY_API_KEY", "QUIET")}
    target = bench.open("command", settings)
    assert sorted(target.secrets()) == ["k-1", "q-1"]
    assert "k-1" not in json.dumps([target.identity(), target.request_key(Request(Case("c"), Variant()))])
    with pytest.raises(UsageError, match="ABSENT"):
        bench.open("command", python("pass", env=["ABSENT"]))


async def test_an_exit_code_is_a_failure_with_the_tail_of_stderr(bench):
    code = "import sys; print('half an answer'); sys.stderr.write('x' * 9000 + 'the reason'); sys.exit(3)"
    failure = await bench.fail("command", python(code))
    assert (failure.kind, failure.retry) == ("exit_3", False)
    assert str(failure).endswith("the reason")
    assert len(str(failure)) < 2100
    assert (await bench.fail("command", python("raise SystemExit(75)"))).retry, "75 is EX_TEMPFAIL"
    killed = await bench.fail("command", python("import os; os.kill(os.getpid(), 15)"))
    assert killed.kind == "signal_15"


async def test_output_that_is_not_text_or_too_much_is_a_failure(bench):
    wrote = python("import sys; sys.stdout.buffer.write(b'caf\\xe9')")
    assert (await bench.fail("command", wrote)).kind == "bad_encoding"
    endless = python("while True: print('x' * 1000)", max_bytes=100_000)
    failure = await bench.fail("command", endless)
    assert (failure.kind, failure.retry) == ("too_large", False)


async def test_a_program_that_does_not_read_its_stdin_is_no_failure(bench):
    settings = python("print('did not listen')", stdin="{{ input }}")
    assert (await bench.ask("command", settings, Case("c", input="x" * 5_000_000))).text == "did not listen"


async def test_much_on_stdin_stdout_and_stderr_at_once_does_not_hang(bench):
    code = "import sys; d = sys.stdin.read(); sys.stderr.write(d); print(len(d)); sys.stdout.write(d)"
    reply = await bench.ask("command", python(code, stdin="{{ input }}"), Case("c", input="y" * 3_000_000))
    assert reply.text == "3000000\n" + "y" * 3_000_000


async def test_a_timeout_kills_the_program_and_all_it_started(bench):
    code = (
        "import os, subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "open('pids', 'w').write(f'{os.getpid()} {child.pid}'); os.rename('pids', 'ready'); time.sleep(60)"
    )
    ready = bench.folder / "ready"
    async with bench.open("command", python(code)) as target:
        call = asyncio.ensure_future(target.ask(Request(Case("c"), Variant())))
        assert await until(ready.exists)
        pids = [int(pid) for pid in ready.read_text().split()]
        assert all(map(alive, pids))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert not Path(f"/proc/{pids[0]}").exists(), "the program itself is reaped"
    assert await until(lambda: not alive(pids[1]))


async def test_a_child_left_behind_neither_hangs_the_call_nor_lives_on(bench):
    code = (
        "import subprocess, sys;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print(child.pid)"
    )
    async with asyncio.timeout(5):
        left = int((await bench.ask("command", python(code))).text)
    assert await until(lambda: not alive(left))


async def test_a_child_that_left_the_group_does_not_hang_the_call(bench):
    code = (
        "import subprocess, sys;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(40)'], start_new_session=True);"
        "print('done')"
    )
    started = time.monotonic()
    assert (await bench.ask("command", python(code))).text == "done"
    assert time.monotonic() - started < 30


async def test_many_at_once_are_all_answered(bench):
    async with bench.open("command", {"run": ["echo", "{{ case.id }}"]}) as target:
        replies = await asyncio.gather(*(target.ask(Request(Case(str(n)), Variant())) for n in range(20)))
    assert [reply.text for reply in replies] == [str(n) for n in range(20)]


async def test_what_cannot_be_passed_is_a_failure(bench):
    failure = await bench.fail("command", {"run": ["echo", "{{ input }}"]}, Case("c", input="a\x00b"))
    assert (failure.kind, failure.retry) == ("cannot_start", False)
    failure = await bench.fail("command", {"run": ["echo", "{{ input }}"]}, Case("c", input="a" * 5_000_000))
    assert failure.kind == "cannot_start"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"run": "echo hello"}, r"as a list: \[echo, hello\]"),
        ({"run": []}, "run"),
        ({"run": ["{{ input }}"]}, "not the name of a program"),
        ({"run": ["no-such-program-here"]}, "no-such-program-here"),
        ({"run": ["./not-there"]}, "suite's folder"),
        ({"run": ["echo", "{{ colour }}"]}, "colour"),
        ({"run": ["echo"], "shell": True}, "shell"),
        ({"run": ["echo"], "stdin": {"file": "gone.txt"}}, "gone.txt"),
    ],
)
def test_settings_that_cannot_work_are_mistakes(bench, settings, message):
    with pytest.raises(SuiteError, match=message):
        bench.open("command", settings)


async def test_latency_is_from_the_start_of_the_program_to_its_exit(bench):
    # A child in a session of its own holds the pipe open: the call ends half a second after the program.
    code = (
        "import subprocess, sys;"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(4)'], start_new_session=True);"
        "print('done')"
    )
    began = time.perf_counter()
    reply = await bench.ask("command", python(code))
    assert reply.text == "done"
    assert 0 < reply.latency <= time.perf_counter() - began - 0.4
