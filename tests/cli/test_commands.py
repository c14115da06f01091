"""Every command as a person types it, in a process of its own."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from parts.command import invoke, steelyard
from parts.counts import outcomes_in
from parts.github_runner import obeyed
from parts.loopback import Loopback, chat_answer, error
from parts.small_suite import write_suite
from steelyard.cli import commands, summary_of

pytestmark = pytest.mark.boundary("click", "rich")


@pytest.fixture
def suite(tmp_path):
    return write_suite(tmp_path / "my", n=8)


def ok(done, code=0):
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_suites_lists_what_is_built_in(tmp_path):
    assert "antiques" in ok(steelyard("suites", cwd=tmp_path))
    listed = json.loads(ok(steelyard("suites", "--json", cwd=tmp_path)))
    assert {key: listed[0][key] for key in ("name", "cases")} == {"name": "antiques", "cases": 50}


def test_a_built_in_suite_runs_on_its_recorded_answers_and_its_failed_gate_is_exit_code_1(tmp_path):
    printed = ok(steelyard("run", "antiques", cwd=tmp_path), code=1)
    assert "FAIL" in printed
    assert "n 50" in printed
    assert max(map(len, printed.splitlines())) <= 80
    ok(steelyard("run", "antiques", "--target", "better", cwd=tmp_path), code=0)


def test_strict_weighs_the_same_answers_by_the_strict_rules(tmp_path):
    ok(steelyard("run", "antiques", cwd=tmp_path), code=1)
    ok(steelyard("rescore", "LAST", "--strict", cwd=tmp_path), code=1)
    plain, strict = (json.loads(ok(steelyard("report", name, "--json", cwd=tmp_path))) for name in ("LAST~1", "LAST"))
    assert strict["run"]["rescored_from"] == plain["run"]["id"]
    assert strict["figures"]["average"]["value"] < plain["figures"]["average"]["value"]
    assert strict["run"]["signature"]["scorers"] != plain["run"]["signature"]["scorers"]
    assert strict["run"]["signature"]["truth"] == plain["run"]["signature"]["truth"]


def test_a_chat_model_is_scored_by_naming_model_and_address(tmp_path):
    answer = {"name": "Chair", "maker": None, "era": "1900", "estimatedValueMin": 1, "estimatedValueMax": 2}
    with Loopback() as server:
        server.on("/v1/chat/completions", chat_answer(json.dumps(answer)))
        done = steelyard(
            *("run", "antiques", "--target", "chat", "--model", "qwen2.5", "--base-url", server.base_url + "/v1"),
            *("--limit", 3, "--json"),
            cwd=tmp_path,
        )
        sent = server.requests[0].json
    report = json.loads(ok(done, code=1))
    assert sent["model"] == "qwen2.5"
    assert report["run"]["target"]["model"] == "qwen2.5"
    assert outcomes_in(report) == {"scored": 3}


def test_repeats_selection_limit_and_snapshot(suite, tmp_path):
    done = steelyard(
        "run", suite, "-n", 5, "--only", "category=even", "--limit", 2, "--save", "out.json", "--json", cwd=tmp_path
    )
    report = json.loads(ok(done))
    assert report["figures"]["outcomes.planned"]["value"] == 10
    snapshot = json.loads((tmp_path / "out.json").read_text())
    assert snapshot["format"] == "steelyard-snapshot"
    assert len(snapshot["samples"]) == 10


def test_reports_in_every_form(suite, tmp_path):
    ok(steelyard("run", suite, cwd=tmp_path))
    ok(steelyard("report", "LAST", "--markdown", "r.md", "--junit", "j.xml", "--html", "r.html", cwd=tmp_path))
    assert (tmp_path / "r.md").read_text().count("n 8") > 0
    assert len(ET.parse(tmp_path / "j.xml").findall(".//testcase")) >= 8
    page = (tmp_path / "r.html").read_text()
    assert "<html" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_gate_is_an_exit_code_and_other_gates_can_be_asked_for(suite, tmp_path):
    ok(steelyard("run", suite, "--save", "run.json", cwd=tmp_path))
    shown = ok(steelyard("gate", "LAST", cwd=tmp_path))
    assert "PASS" in shown
    assert ok(steelyard("gate", "run.json", "--store", "nowhere.db", cwd=tmp_path)) == shown
    ok(steelyard("gate", "LAST", "--gate", "latency.p95 >= 1000 s", cwd=tmp_path), code=1)
    ok(steelyard("gate", "LAST", "--gate", "average >= 50 % with n >= 9", cwd=tmp_path), code=4)
    wrong = steelyard("gate", "LAST", "--gate", "pass_rat >= 90 %", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "pass_rate" in wrong.stderr


def test_a_run_without_gates_decides_nothing(tmp_path):
    path = write_suite(tmp_path / "my", n=2, gates=[])
    ok(steelyard("run", path, cwd=tmp_path), code=0)
    assert steelyard("gate", cwd=tmp_path).returncode == 2


def test_an_invalid_run_is_exit_code_3(tmp_path):
    with Loopback() as server:
        server.on("/ask", error(500))
        path = write_suite(tmp_path / "my", n=3, target={"http": {"url": server.base_url + "/ask"}})
        done = steelyard("run", path, "--retries", 0, cwd=tmp_path)
    assert "INVALID" in ok(done, code=3)
    assert steelyard("gate", cwd=tmp_path).returncode == 3


def test_export_and_import_give_the_identical_file(suite, tmp_path):
    ok(steelyard("run", suite, cwd=tmp_path))
    ok(steelyard("export", "LAST", "one.json", cwd=tmp_path))
    ok(steelyard("import", "one.json", "--store", "other.db", cwd=tmp_path))
    ok(steelyard("export", "LAST", "two.json", "--store", "other.db", cwd=tmp_path))
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_the_starter_suite_runs_at_once_passes_its_audit_and_is_never_overwritten(tmp_path):
    ok(steelyard("init", "mine", cwd=tmp_path))
    assert "83.3 %" in ok(steelyard("run", "mine", cwd=tmp_path))  # 5 of 6: one case shows a finding
    assert "Audit passed" in ok(steelyard("audit", "mine", cwd=tmp_path))
    before = (tmp_path / "mine" / "suite.yaml").read_bytes()
    again = steelyard("init", "mine", cwd=tmp_path)
    assert again.returncode == 2
    assert (tmp_path / "mine" / "suite.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "stated"),
    [
        (["run", "nowhere.yaml"], "nowhere.yaml"),
        (["run", "antique"], "antiques"),
        (["run", "antiques", "--only", "colour=red"], "category=VALUE"),
        (["run", "antiques", "--target", "chatt"], "chat"),
        (["run", "antiques", "--set", "colour"], "KEY=VALUE"),
        (["run", "antiques", "-n", "0"], "0"),
        (["run", "antiques", "--max-inconclusive", "nan"], "not a number"),
        (["run", "antiques", "--timeout", "inf"], "not a number"),
        (["run", "/dev/zero"], "not a regular file"),
        (["rprt"], "report"),
        (["report", "LAST"], "steelyard run"),
        (["import", "missing.json"], "missing.json"),
    ],
)
def test_wrong_usage_is_exit_code_2_with_a_hint_and_leaves_nothing_behind(arguments, stated, tmp_path):
    done = steelyard(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert stated in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.rglob("*.json")) == []


def test_a_broken_suite_runs_nothing_and_writes_nothing(tmp_path):
    path = write_suite(tmp_path / "my", n=2, score={"word": {"exactly": {"expected": "expected.word"}}})
    done = steelyard("run", path, cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean exact" in done.stderr
    assert not (tmp_path / ".steelyard").exists()


GROUPS = {
    "runs": ("list", "delete", "prune"),
    "ab": ("assign", "report"),
    "alerts": ("check", "list"),
    "baseline": ("set", "show", "list", "log", "remove"),
    "judge": ("check",),
    "label": ("status", "log", "agreement", "estimate", "crowd", "experts"),
    "store": ("copy",),
    "truth": ("log", "check", "note"),
}


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_helps_and_takes_json(name, tmp_path):
    printed = ok(steelyard(name, "--help", cwd=tmp_path))
    assert summary_of(name) in " ".join(printed.split())
    for words in [(name, one) for one in GROUPS[name]] if name in GROUPS else [(name,)]:
        assert "--json" in invoke(*words, "--help")


def test_help_imports_nothing_heavy(tmp_path):
    script = (
        "import sys; sys.argv = ['steelyard', '--help']\n"
        "from steelyard.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pydantic', 'aiohttp', 'yaml', 'jinja2', 'rich', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.newest  # older NumPy imports numpy.ma by itself
def test_a_run_of_a_python_target_imports_nothing_that_it_does_not_need(tmp_path):
    ok(steelyard("init", "my", cwd=tmp_path))
    script = (
        "import sys; sys.argv = ['steelyard', 'run', 'my']\n"
        "from steelyard.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "unneeded = ('aiohttp', 'difflib', 'getpass', 'httptools', 'jinja2', 'json_repair', 'numpy.ma', 'yarl',"
        " 'steelyard.targets.chat', 'steelyard.judging', 'steelyard.analysis.judge', 'steelyard.analysis.confidence',"
        " 'steelyard.pairing', 'steelyard.comparing', 'steelyard.alerts', 'steelyard.auditing', 'steelyard.people',"
        " 'steelyard.scoring.checks')\n"
        "heavy = {*unneeded} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_plain_progress_lines_count_scored_malformed_and_failed(suite, tmp_path):
    done = steelyard("run", suite, cwd=tmp_path)
    assert "words: 8/8 (8 scored, 0 malformed, 0 failed)" in done.stderr


def test_a_target_that_prints_does_not_spoil_the_json(tmp_path):
    path = write_suite(tmp_path / "my", n=2)
    (tmp_path / "my" / "system.py").write_text(
        "def answer(case):\n    print('noise')\n    return {'word': 'word %d' % case.input['number']}\n"
    )
    done = steelyard("run", path, "--json", cwd=tmp_path)
    assert json.loads(ok(done))["verdict"] == "PASS"
    assert "noise" in done.stderr


def test_a_full_disk_behind_the_output_is_reported(suite, tmp_path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "steelyard", "schema"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_rescore_finds_its_suite_by_its_name_and_never_takes_another(suite, tmp_path):
    store = tmp_path / "shared.db"
    ok(steelyard("run", suite.name, "--store", store, cwd=suite.parent))
    elsewhere = tmp_path / "elsewhere"
    write_suite(elsewhere, n=8, name="another")
    rescored = steelyard("rescore", "LAST", "--store", store, "--json", cwd=tmp_path)
    assert json.loads(ok(rescored))["run"]["suite"] == "words"
    refused = steelyard("rescore", "LAST", "--store", store, cwd=elsewhere)
    assert (refused.returncode, f"name it with --suite {suite}" in refused.stderr) == (2, True)
    write_suite(suite.parent, n=8, name="renamed")
    refused = steelyard("rescore", "LAST", "--store", store, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--suite" in refused.stderr


def test_json_answers_read_as_plain_text_are_pointed_out(tmp_path):
    path = write_suite(tmp_path / "my", n=2, answer={"format": "text"}, gates=[])
    assert "add answer: {format: json}" in steelyard("run", path, cwd=tmp_path).stderr


def test_the_report_says_which_server_was_scored(tmp_path):
    with Loopback() as server:
        server.on("/ask", error(404))
        path = write_suite(tmp_path / "my", n=2, target={"http": {"url": server.base_url + "/ask"}})
        printed = ok(steelyard("run", path, cwd=tmp_path), code=3)
    assert f"{server.base_url}/ask" in " ".join(printed.split())


def test_a_crash_is_never_taken_for_a_failed_gate(suite, tmp_path):
    script = (
        "import sys; sys.argv = ['steelyard', 'suites']\n"
        "import steelyard.loading.load as d\n"
        "def broken(): raise RuntimeError('no')\n"
        "d.list_suites = broken\n"
        "from steelyard.cli import main; main()\n"
    )
    env = {name: value for name, value in os.environ.items() if name != "CI"} | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, env=env)
    assert done.returncode == 70
    first, safe, where = done.stderr.splitlines()
    assert first == "steelyard: internal error: RuntimeError: no (<string>:3)"
    assert safe == "Finished samples of all runs are stored."
    (log,) = tmp_path.glob("internal-error-*.log")
    assert where.startswith(f"The full traceback is in {log}. This is a defect of Steelyard")
    assert "RuntimeError: no" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
    # A file of a CI machine is lost with it.
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, env=env | {"CI": "true"})
    assert "Traceback (most recent call last):" in shown.stderr


@pytest.mark.parametrize("broken", ["steelyard.engine.health:Health.watch", "steelyard.runner.run:summarise_stored"])
def test_a_crash_in_a_run_says_how_to_go_on_and_the_run_can_be_resumed(suite, tmp_path, broken):
    module, _, name = broken.partition(":")
    script = (
        f"import sys; sys.argv = ['steelyard', 'run', {str(suite)!r}]\n"
        f"import {module} as m\n"
        "def broken(*_, **__): raise RuntimeError('no')\n"
        f"m.{name} = broken\n"
        "from steelyard.cli import main; main()\n"
    )
    env = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, env=env)
    assert done.returncode == 70
    assert "Traceback" not in done.stderr
    text = done.stderr[done.stderr.index("steelyard: internal error: RuntimeError: no") :].splitlines()
    assert len(text) == 4
    run = text[1].split()[5]
    assert text[1] == f"The finished samples of run {run} are stored. Resume with:"
    assert text[2] == f"  steelyard run {suite} --resume {run}"
    assert text[3].startswith(f"The full traceback is in {tmp_path}/.steelyard/internal-error-")
    assert "interrupted" in ok(steelyard("runs", cwd=tmp_path))
    assert run in ok(steelyard("run", suite, "--resume", run, cwd=tmp_path))


HOSTILE = "::stop-commands::x\\n::add-mask::y\\n##[error]z \\x1b[31m\\u202egnp"


def test_no_answer_gives_a_command_to_a_terminal_or_a_ci_log_whatever_prints_it(tmp_path):
    path = write_suite(tmp_path / "s", n=2, name="words")
    (tmp_path / "s" / "system.py").write_text(f"def answer(case):\n    return {{'word': '{HOSTILE}', 'x': 1}}\n")
    printed = ""
    for command in ("run", path), ("report",), ("gate",), ("compare", "LAST~1", "LAST"):
        shown = [steelyard(*command, *as_json, cwd=tmp_path) for as_json in ((), ("--json",))]
        printed += "".join(done.stdout + done.stderr for done in shown)
        if command == ("report",):
            answer = json.loads(shown[1].stdout)["samples"][0]["answer"]
            assert json.loads(answer)["word"].endswith("\x1b[31m\u202egnp")
    assert "stop-commands" in printed
    assert obeyed(printed) == []
    assert not {*printed} & {*"\x1b\u202e"}


def test_runs_show_target_model_and_pass_rate_with_its_n(tmp_path):
    write_suite(tmp_path / "words", n=4)
    ok(steelyard("run", "words", cwd=tmp_path))
    wrong = "def answer(case):\n    return {'word': 'word 1'}\n"
    (tmp_path / "words/system.py").write_text(wrong)
    steelyard("run", "words", cwd=tmp_path)
    lines = ok(steelyard("runs", cwd=tmp_path)).splitlines()
    assert lines[0].split() == ["run", "verdict", "pass", "rate", "target"]
    # One of the four words is "word 1".
    assert lines[1].split()[1:] == ["FAIL", "25.0", "%", "n", "4", "python", "system:answer"]
    assert lines[2].split()[1:] == ["PASS", "100.0", "%", "n", "4", "python", "system:answer"]
    newest = json.loads(ok(steelyard("runs", "--json", cwd=tmp_path)))[0]
    assert (newest["target"], newest["model"]) == ("python system:answer", None)
    assert newest["pass_rate"] == {"value": 0.25, "n": 4, "missing": 0}
