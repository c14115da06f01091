from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time

import pytest
from pydantic import BaseModel

from steelyard.errors import SuiteError, TargetFailure, UsageError
from steelyard.suite.case import Case
from steelyard.suite.models import Variant
from steelyard.targets.base import Request, Response
from steelyard.targets.python import PythonSettings

mark: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="none")


class Shape(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        ({"name": "Ü"}, '{"name": "Ü"}'),
        ([1, None], "[1, null]"),
        (3, "3"),
        (Shape(name="n"), '{"name":"n"}'),
        (Response("stated", tokens_in=4), "stated"),
    ],
)
async def test_what_a_function_returns_is_the_answer(bench, result, text):
    assert (await bench.ask("python", lambda case: result)).text == text


@pytest.mark.parametrize(
    ("result", "kind"),
    [(None, "no_answer"), ({1, 2}, "bad_answer"), (object(), "bad_answer"), (Response(None), "bad_answer")],
)
async def test_what_is_no_answer_is_a_failure(bench, result, kind):
    failure = await bench.fail("python", lambda case: result)
    assert (failure.kind, failure.retry) == (kind, False)


async def test_variant_repeat_and_folder_are_given_to_those_who_name_them(bench):
    variant = Variant("t=1", {"t": 1})

    def all_of_it(case, variant, repeat):
        return [case.id, variant.values, repeat]

    async def by_keyword(case, *, repeat):
        return [case.id, repeat]

    def everything(case, **more):
        return [case.id, sorted(more)]

    def by_folder(case, folder):
        return [case.id, (folder / "x.png").relative_to(folder).name, folder.is_dir()]

    class Asked:
        async def __call__(self, case, variant):
            return variant.name

    given = {"variant": variant, "repeat": 2}
    assert (await bench.ask("python", all_of_it, **given)).text == '["c1", {"t": 1}, 2]'
    assert (await bench.ask("python", by_keyword, **given)).text == '["c1", 2]'
    assert (await bench.ask("python", everything, **given)).text == '["c1", ["folder", "repeat", "variant"]]'
    assert (await bench.ask("python", by_folder, **given)).text == '["c1", "x.png", true]'
    assert (await bench.ask("python", Asked(), **given)).text == "t=1"


async def test_a_sync_function_that_gives_a_coroutine_is_awaited(bench):
    async def later(case):
        return case.id

    assert (await bench.ask("python", lambda case: later(case))).text == "c1"


async def test_an_exception_is_a_failure_with_its_type_message_and_line(bench):
    def broken(case):
        raise KeyError("colour")

    async def broken_too(case):
        sys.exit("gone")

    failure = await bench.fail("python", broken)
    assert (failure.kind, failure.retry) == ("raised", False)
    assert str(failure).startswith("KeyError: 'colour' (test_python_target.py:")
    assert str(await bench.fail("python", broken_too)).startswith("SystemExit: gone")
    assert (await bench.fail("python", lambda case: next(iter(())))).kind == "raised"


async def test_a_function_may_say_itself_that_asking_again_may_help(bench):
    def busy(case):
        raise TargetFailure("busy", "later", retry=True, retry_after=2.0)

    failure = await bench.fail("python", busy)
    assert (failure.kind, failure.retry, failure.retry_after) == ("busy", True, 2.0)


async def test_sync_functions_run_side_by_side_beyond_the_default_pool(bench):
    gate = threading.Barrier(24, timeout=5)

    def meet(case):
        gate.wait()
        return mark.get()

    mark.set("seen in the thread")
    async with bench.open("python", meet) as target:
        replies = await asyncio.gather(*(target.ask(Request(Case(str(n)), Variant())) for n in range(24)))
    assert {reply.text for reply in replies} == {"seen in the thread"}


def test_a_function_that_never_returns_holds_up_neither_the_next_call_nor_the_end(tmp_path):
    (tmp_path / "stuck.py").write_text("import threading\ndef ask(case):\n    threading.Event().wait()\n")
    program = """
import asyncio, sys
from pathlib import Path
from steelyard.suite.case import Case
from steelyard.suite.models import TargetSpec, Variant
from steelyard.targets.base import Request, TargetContext
from steelyard.targets.base import open_target

async def main():
    async with open_target(TargetSpec("python", "stuck:ask"), TargetContext(Path(sys.argv[1]))) as target:
        for _ in range(3):
            try:
                async with asyncio.timeout(0.05):
                    await target.ask(Request(Case("c"), Variant()))
            except TimeoutError:
                print("given up", flush=True)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, timeout=300)
    assert (done.stdout.split("\n")[:3], done.returncode, done.stderr) == (["given up"] * 3, 0, "")


async def test_the_suites_folder_comes_first_and_leaves_no_trace_on_the_path(bench):
    (bench.folder / "answers_here.py").write_text("from beside_it import WORD\ndef ask(case): return WORD + case.id\n")
    (bench.folder / "beside_it.py").write_text("WORD = 'hello '\n")
    before = list(sys.path)
    assert (await bench.ask("python", {"function": "answers_here:ask"})).text == "hello c1"
    assert sys.path == before


async def test_two_suites_may_use_the_same_module_names(bench, tmp_path):
    replies = []
    for word in ("one", "two"):
        bench.folder = tmp_path / word
        bench.folder.mkdir()
        (bench.folder / "same_name.py").write_text("from same_sibling import WORD\ndef ask(case): return WORD\n")
        (bench.folder / "same_sibling.py").write_text(f"WORD = {word!r}\n")
        replies.append((await bench.ask("python", "same_name:ask")).text)
    assert replies == ["one", "two"]


async def test_modules_in_packages_and_methods_are_found(bench):
    (bench.folder / "in_package").mkdir()
    (bench.folder / "in_package" / "__init__.py").write_text("")
    (bench.folder / "in_package" / "part.py").write_text(
        "from .word import WORD\nclass Box:\n    @staticmethod\n    def ask(case): return WORD\n"
    )
    (bench.folder / "in_package" / "word.py").write_text("WORD = 'deep'\n")
    assert (await bench.ask("python", "in_package.part:Box.ask")).text == "deep"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("not_there:ask", "no module 'not_there'"),
        ("half_there:missing", "half_there.py has no 'missing'"),
        ("half_there:WORD", "is a str, not a function"),
        ("needs_more:ask", "needs 'surely_not_installed'"),
        ("breaks:ask", "importing breaks failed: ZeroDivisionError"),
        ("wrong_syntax:ask", "importing wrong_syntax failed: SyntaxError"),
        ("leaves:ask", "importing leaves failed: SystemExit"),
    ],
)
def test_a_function_that_cannot_be_had_is_a_clear_mistake(bench, place, message):
    files = {
        "half_there": "WORD = 'x'",
        "needs_more": "import surely_not_installed",
        "breaks": "1 / 0",
        "wrong_syntax": "def (",
        "leaves": "raise SystemExit(3)",
    }
    for name, text in files.items():
        (bench.folder / f"{name}.py").write_text(text)
    with pytest.raises(UsageError, match=message):
        bench.open("python", place)


@pytest.mark.parametrize("given", ["no_colon", "a:b:c", "path/to.py:f", ":f", "m:", 7])
def test_what_is_not_module_and_function_is_a_mistake(bench, given):
    with pytest.raises(SuiteError, match="module:function"):
        bench.open("python", {"function": given})


def test_the_identity_follows_the_source(bench):
    module = bench.folder / "changing_source.py"
    module.write_text("def ask(case): return 1\n")
    first = bench.open("python", "changing_source:ask").identity()
    module.write_text("def ask(case): return 2\n")
    second = bench.open("python", "changing_source:ask").identity()
    assert first["function"] == "changing_source:ask"
    assert first["source"] != second["source"]


def test_settings_with_a_function_are_plain_data_when_dumped():
    dumped = PythonSettings(function=time.sleep).model_dump(mode="json")
    assert dumped == {"function": "time:sleep", "secrets": []}
    assert PythonSettings.model_json_schema()["properties"]["function"]["type"] == "string"


def test_a_model_that_the_functions_module_names_is_part_of_the_identity(bench):
    (bench.folder / "engine_of_test.py").write_text('MODEL = "engine 3.1"\n\n\ndef read(case):\n    return "x"\n')
    assert bench.open("python", "engine_of_test:read").identity()["model"] == "engine 3.1"
    assert "model" not in bench.open("python", lambda case: "x").identity()


async def test_latency_is_the_function_s_own_time_however_many_wait_for_a_thread(bench):
    async with bench.open("python", lambda case: sum(range(1000))) as target:
        replies = await asyncio.gather(*(target.ask(Request(Case(str(n)), Variant())) for n in range(64)))
    # 64 threads at once took 20 to 80 ms each by the engine's clock; the sum takes some 0.02 ms.
    assert sorted(reply.latency for reply in replies)[32] < 0.002


async def test_a_time_that_the_function_tells_is_kept_and_an_async_one_is_timed(bench):
    async def waits(case):
        await asyncio.sleep(0.05)
        return "late"

    assert (await bench.ask("python", lambda case: Response("x", latency=3.0))).latency == 3.0
    assert 0.05 <= (await bench.ask("python", waits)).latency < 2
    assert 0.05 <= (await bench.ask("python", lambda case: waits(case))).latency < 2
