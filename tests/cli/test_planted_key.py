"""One key, planted wherever a server or a function can put a text, is in nothing that is kept, shown or started."""

from __future__ import annotations

import base64
import html
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from parts.command import start_process, steelyard
from parts.loopback import Loopback, chat_answer, error, json_answer, redirect
from parts.small_suite import write_suite

KEY = "sk+Planted/Key=0123456789abcdef"
JUDGE_KEY = "jk+Judging/Key=fedcba9876543210"
SPELLED = {
    "plain": KEY,
    "json": json.dumps(KEY).replace("/", "\\/").replace("+", "\\u002B"),
    "address": quote(KEY, safe=""),
    "html": "".join(f"&#x{ord(one):x};" for one in KEY),
    "base64": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "hex": KEY.encode().hex(),
    "large": KEY.upper(),
}
ALL = " | ".join(SPELLED.values())


def traces(data: bytes, key: str = KEY) -> list[str]:
    """In which spellings the key, or more than half of it, is in the data."""
    text = data.decode("utf-8", "replace")
    decoded = text
    for _ in range(3):
        decoded = html.unescape(unquote(decoded)).replace("\\/", "/")
        decoded = decoded.replace("\\u002B", "+").replace("\\u002b", "+")
    raw = key.encode()
    looked_for = {"plain": key, "half": key[:18], "other half": key[-18:], "hex": raw.hex()}
    looked_for |= {f"base64 {n}": base64.b64encode(bytes(n) + raw).decode()[4:-4] for n in range(3)}
    texts = (text.lower(), decoded.lower())
    return [name for name, spelled in looked_for.items() if any(spelled.lower() in one for one in texts)]


def assert_clean(folder: Path, *processes: subprocess.CompletedProcess[str]) -> None:
    """Look into every output, and every file but those that hold the key by our own hand."""
    for done in processes:
        assert traces(done.stdout.encode()) == [], done.args
        assert traces(done.stderr.encode()) == [], done.args
    files = [path for path in folder.rglob("*") if path.is_file() and "suite" not in path.parts]
    assert any(path.suffix == ".db" for path in files)
    for path in files:
        assert traces(path.read_bytes()) == [], path
        assert traces(path.read_bytes(), JUDGE_KEY) == [], path


def run_and_show(folder: Path, env: dict[str, str], *, n: int = 1) -> None:
    """Run the suite and write its run in all forms; nowhere is the key."""
    done = [steelyard("run", "suite", cwd=folder, env=env)]
    run = ["LAST", "--html", "p.html", "--markdown", "p.md", "--junit", "p.xml"]
    done.append(steelyard("report", *run, cwd=folder, env=env))
    done.append(steelyard("report", "LAST", "--json", cwd=folder, env=env))
    done.append(steelyard("export", "LAST", "snapshot.json", cwd=folder, env=env))
    done.append(steelyard("rescore", "LAST", "--suite", "suite", cwd=folder, env=env))
    assert [one.returncode for one in done[1:4]] == [0] * 3, [one.stderr for one in done]
    assert_clean(folder, *done)
    # The key did come, and was seen.
    assert (folder / "snapshot.json").read_text().count("[redacted]") >= n


def write(folder: Path, target: dict[str, object], **more: object) -> Path:
    limits = {"retries": 0, "concurrency": 1, "timeout": 20}
    settings = {"answer": {"format": "text"}, "score": {"word": {"contains": {"expected": "expected.word"}}}}
    return write_suite(folder / "suite", n=1, target=target, limits=limits, **(settings | more))


CHATTY = """
import os, sys
print("loading with", os.environ["SERVER_KEY"])

def answer(request):
    print("asking with", os.environ["SERVER_KEY"])
    print("trace", os.environ["SERVER_KEY"], file=sys.stderr)
    return '{"word": "word %d"}' % request.input["number"]

def score(answer, case):
    sys.stderr.write(f"scoring with {os.environ['SERVER_KEY']}\\n")
    return 1.0
"""


def test_code_of_a_suite_that_prints_the_key(tmp_path):
    suite = tmp_path / "suite"
    settings = {"answer": {"format": "text"}, "score": {"own": {"python": "system:score"}}}
    write_suite(suite, n=2, target={"python": "system:answer"}, **settings)
    (suite / "system.py").write_text(CHATTY)
    env = {"SERVER_KEY": KEY}
    for arguments in (("run", "suite"), ("rescore", "LAST", "--suite", "suite"), ("audit", "suite")):
        done = steelyard(*arguments, cwd=tmp_path, env=env)
        shown = done.stdout + done.stderr
        assert "scoring with [redacted]" in shown, shown
        assert_clean(tmp_path, done)
    done = steelyard("run", "suite", cwd=tmp_path, env=env)
    assert "asking with [redacted]" in done.stdout + done.stderr


PIECES = """
import os, sys
KEY = os.environ["SERVER_KEY"]

def answer(request):
    sys.stdout.write("letters ")
    for letter in KEY:
        sys.stdout.write(letter)
        sys.stdout.flush()
    print(" halves", KEY[:15], end="")
    print(KEY[15:])
    sys.stdout.buffer.write(b"bytes \\xff " + KEY.encode() + b" end\\n")
    sys.stdout.buffer.flush()
    print("only a beginning:", KEY[:6], "that ends")
    return "word"
"""


def test_code_of_a_suite_that_prints_the_key_in_pieces_or_as_bytes(tmp_path):
    settings = {"answer": {"format": "text"}, "score": {"word": {"contains": {"expected": "expected.word"}}}}
    write_suite(tmp_path / "suite", n=1, target={"python": "system:answer"}, **settings)
    (tmp_path / "suite" / "system.py").write_text(PIECES)
    # From Python, where the streams are the process's own; the command has no bytes to write to.
    command = [sys.executable, "-c", "from steelyard import *; run_suite(load_suite('suite'))"]
    env = os.environ | {"SERVER_KEY": KEY}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False, timeout=60)
    shown = done.stdout + done.stderr
    assert traces(shown) == []
    assert b"letters [redacted] halves [redacted]\n" in shown
    assert b"bytes \xff [redacted] end\n" in shown
    # What was only the beginning of a key is printed as it is.
    assert f"only a beginning: {KEY[:6]} that ends\n".encode() in shown


@pytest.mark.parametrize(
    "behaviour",
    [
        lambda: json_answer({"answer": ALL}),
        lambda: error(500, ALL),
        lambda: error(400, "x" * 190 + ALL),
        lambda: redirect(f"http://{quote(KEY, safe='')}.invalid/{quote(KEY, safe='')}?k={quote(KEY)}"),
        lambda: json_answer({"error": ALL}, status=401, headers={"X-Echo": KEY}),
        lambda: json_answer({"answer": "x"}, headers={"Content-Type": f"text/{quote(KEY)}"}),
        lambda: json_answer({"answer": "x"}, headers={"Content-Encoding": KEY, "Retry-After": KEY}),
    ],
    ids=["body", "error", "cut", "redirect", "denied", "type", "encoding"],
)
def test_a_server_that_says_the_key_back(tmp_path, behaviour):
    with Loopback() as server:
        server.on("/ask", behaviour())
        target = {"url": server.url("/ask"), "json": {"q": "x"}, "answer": "answer", "token": "SERVER_KEY"}
        write(tmp_path, {"http": target})
        run_and_show(tmp_path, {"SERVER_KEY": KEY}, n=0)


def test_models_and_judges_that_say_the_key_back(tmp_path):
    told = {"reasons": [ALL], "quotes": {"tone": [ALL]}, "tone": 4}
    with Loopback() as server:
        server.on("/v1/chat/completions", chat_answer(ALL, model=f"model {KEY}"))
        server.on("/judge/chat/completions", chat_answer(json.dumps(told) + JUDGE_KEY, model=JUDGE_KEY))
        chat = {"base_url": server.url("/v1"), "model": "m", "token": "SERVER_KEY", "user": "{{ input.number }}"}
        judge = {
            "rubric": {"dimensions": {"tone": {"about": "How it sounds."}}},
            "judges": {"it": {"chat": {"base_url": server.url("/judge"), "model": "j", "token": "JUDGE"}}},
        }
        write(tmp_path, {"chat": chat}, judge=judge)
        run_and_show(tmp_path, {"SERVER_KEY": KEY, "JUDGE": JUDGE_KEY})


CODE = """
import os
from steelyard import Finding, Reading, Response

KEY = os.environ["{name}"]
MODEL = "model " + KEY
ALL = {all!r}

def answer(case):
    {answer}

class Own:
    pass

def judge(text, case, metrics):
    {judge}
"""


@pytest.mark.parametrize(
    ("name", "answer", "judge"),
    [
        ("SOME_API_KEY", "return ALL", "raise ValueError('x' * 280 + ALL)"),
        ("SOME_API_KEY", "return Response(ALL, model=ALL)", "return {'tone': 4, 'why': ALL, 'quotes': [ALL]}"),
        ("SOME_API_KEY", "raise ValueError('x' * 280 + ALL)", "return {}"),
        ("SOME_API_KEY", "return {1: object(), ALL: ALL}", "return {}"),
        ("SOME_API_KEY", "return 'x'", "return ALL"),
        # One that is only known for a key because the suite says so is redacted by the same code.
        ("PLAIN_NAME", "return Response(ALL, model=ALL)", "return {'tone': 4, 'why': ALL, 'quotes': [ALL]}"),
        ("PLAIN_NAME", "raise ValueError('x' * 280 + ALL)", "raise ValueError('x' * 280 + ALL)"),
    ],
    ids=["text", "response", "raised", "data", "judge", "declared", "declared and raised"],
)
def test_code_that_says_what_its_environment_holds(tmp_path, name, answer, judge):
    declared = [] if name == "SOME_API_KEY" else [name]
    part = {
        "rubric": {"dimensions": {"tone": {"about": "How it sounds."}}},
        "judges": {"it": {"python": "planted:judge"}},
        "secrets": declared,
    }
    target = {"python": {"function": "planted:answer", "secrets": declared}}
    write(tmp_path, target, judge=part)
    (tmp_path / "suite" / "planted.py").write_text(CODE.format(name=name, all=ALL, answer=answer, judge=judge))
    run_and_show(tmp_path, {name: KEY})


@pytest.mark.parametrize("says", ["return Reading(0.0, note=ALL)", "raise ValueError('x' * 280 + ALL)", "return ALL"])
def test_a_scorer_that_says_what_its_environment_holds(tmp_path, says):
    write(tmp_path, {"python": "system:answer"}, score={"own": {"python": "own:Own"}})
    (tmp_path / "suite" / "own.py").write_text(
        "from steelyard import Reading, Scorer\n"
        f"ALL = {ALL!r}\nclass Own(Scorer):\n    def read(self, answer, case):\n        {says}\n"
    )
    run_and_show(tmp_path, {"SOME_API_KEY": KEY})


def test_a_command_that_prints_its_key(tmp_path):
    code = f"import sys; print({ALL!r}); sys.stderr.write('y' * 1985 + {ALL!r} + 'z' * 1990); sys.exit(3)"
    for run in (code, code.replace("sys.exit(3)", "sys.exit(0)")):
        write(tmp_path, {"command": {"run": [sys.executable, "say.py"], "env": ["SOME_API_KEY"]}})
        (tmp_path / "suite" / "say.py").write_text(run)
        run_and_show(tmp_path, {"SOME_API_KEY": KEY}, n=0)


def test_a_suite_that_cannot_be_read_and_a_service_that_does_not_start(tmp_path):
    write(tmp_path, {"python": "planted:answer"})
    (tmp_path / "suite" / "planted.py").write_text(f"raise ValueError('x' * 280 + {ALL!r})")
    env = {"SOME_API_KEY": KEY}
    done = [steelyard("run", "suite", cwd=tmp_path, env=env)]
    start = {"command": [sys.executable, "serve.py"], "env": {"GIVEN": {"env": "SOME_API_KEY"}}}
    write(tmp_path, {"http": {"url": "http://127.0.0.1:{port}/ask", "json": {}, "answer": "a", "start": start}})
    (tmp_path / "suite" / "serve.py").write_text(f"print({ALL!r})\nraise SystemExit({ALL!r})")
    done.append(steelyard("run", "suite", cwd=tmp_path, env=env))
    assert all(one.returncode == 2 for one in done), done
    for one in done:
        assert traces(one.stderr.encode()) == traces(one.stdout.encode()) == [], one.stderr


def test_no_process_has_the_key_in_its_arguments(tmp_path):
    write(tmp_path, {"command": {"run": [sys.executable, "wait.py"], "secret_env": ["PLAIN_NAME"]}})
    (tmp_path / "suite" / "wait.py").write_text("import time\nopen('up', 'w').close()\ntime.sleep(30)")
    process = start_process("run", "suite", cwd=tmp_path, env={"PLAIN_NAME": KEY})
    try:
        until = time.monotonic() + 120
        while not (tmp_path / "suite" / "up").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert (tmp_path / "suite" / "up").exists()
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True).stdout
        assert b"wait.py" in listed
        assert traces(listed) == []
    finally:
        process.kill()
        process.communicate()


def test_the_log_of_an_internal_error_holds_no_key(monkeypatch):
    from steelyard.cli.internal_errors import internal_error_text
    from steelyard.redact import learn_secrets

    monkeypatch.setenv("CI", "1")
    learn_secrets([KEY])
    assert traces(internal_error_text(RuntimeError(ALL)).encode()) == []
