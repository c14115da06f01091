"""One sample in the terminal, and the requests of a run that is not made."""

import json

import pytest

from parts.command import invoke, outputs, steelyard
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import Loopback, chat_answer, error, json_answer
from parts.small_suite import http_target, write_suite


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def asked(tmp_path, answer, **more):
    """A run of two cases against a service; its suite file."""
    with Loopback() as server:
        server.on("/ask", json_answer({"answer": answer}))
        headers = {"authorization": {"env": "SERVICE_KEY", "prefix": "Bearer "}}
        suite = write_suite(tmp_path / "my", n=2, target=http_target(server.base_url, headers=headers), **more)
        invoke("run", suite, "--quiet", code=1)
        return server.requests


def test_a_sample_is_shown_with_its_request_answer_fields_scores_and_findings(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "k-very-secret-1")
    sent = asked(tmp_path, {"word": "word 7"})
    shown = invoke("show", "LAST", "c1")
    assert max(map(len, shown.splitlines())) <= 80
    assert r"{\"number\": 1}" in shown.partition("Request as sent")[2].partition("Expected and got")[0]
    assert "!= word  word 1    word 7" in shown
    assert '{"word": "word 7"}' in shown.partition("\nAnswer")[2]
    assert "word       0.0 %" in shown.partition("Scores")[2]
    data = json.loads(invoke("show", "LAST", "c1", "--json"))
    assert data["request"]["body"].encode() == next(seen.body for seen in sent if seen.json["number"] == 1)
    assert data["fields"][0]["got"] == "word 7"
    assert "k-very-secret-1" not in shown + json.dumps(data)
    assert any(seen.headers["authorization"] == "Bearer k-very-secret-1" for seen in sent)


def test_a_request_that_may_have_been_made_otherwise_says_so(tmp_path):
    with Loopback() as server:
        server.on(
            "/chat/completions",
            lambda seen: (
                error(400, "no response_format") if "response_format" in seen.json else chat_answer('{"word": 1}')
            ),
        )
        chat = {"base_url": server.base_url, "model": "m", "response_format": "json"}
        suite = write_suite(tmp_path / "my", n=1, target={"chat": chat | {"when_refused": "text"}})
        invoke("run", suite, "--quiet", code=1)
    words = " ".join(invoke("show", "LAST", "c0").split())
    assert "(variables by name), or with response_format text where the server refused this one" in words


def test_long_texts_are_cut_with_a_note_unless_all_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "k-very-secret-1")
    asked(tmp_path, {"word": "x" * 4_000 + "END"})
    short, full = invoke("show", "LAST", "c0"), invoke("show", "LAST", "c0", "--full")
    # The answer is {"word": "xxx...END"}: 4,003 characters and 12 around them, of which 3,000 are shown.
    assert "... 1,015 more characters: --full shows them" in short
    assert "END" not in short.partition("\nAnswer")[2].partition("Scores")[0]
    assert "END" in full.partition("\nAnswer")[2].partition("Scores")[0].replace("\n", "")


def test_an_answer_of_which_a_part_is_read_says_so_and_is_whole_where_all_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "k-very-secret-1")
    asked(tmp_path, {"word": "x" * 24_000 + "END"})
    assert "The answer goes on" in invoke("show", "LAST", "c0")
    full, data = invoke("show", "LAST", "c0", "--full"), json.loads(invoke("show", "LAST", "c0", "--json"))
    assert "The answer goes on" not in full
    assert (len(data["answer"]), data["answer_is_cut"]) == (24_003 + 12, False)  # 12 around the word


def test_what_a_terminal_would_obey_is_spelled_out(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "k-very-secret-1")
    asked(tmp_path, {"word": "\x1b[31mred \u202edrow"})
    shown = invoke("show", "LAST", "c0", "--full")
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "\\u202edrow" in shown


def test_an_unknown_case_names_the_nearest_and_a_sample_that_is_not_there_what_there_is(tmp_path):
    invoke("run", write_suite(tmp_path / "my", n=3), "-n", 2, "--quiet")
    assert "did you mean c1" in invoke("show", "LAST", "c1x", code=2)
    assert "it has repeats 1 to 2" in invoke("show", "LAST", "c1", "--repeat", 3, code=2)
    assert json.loads(invoke("show", "LAST", "c1", "--repeat", 2, "--json"))["sample"]["repeat"] == 1
    assert "1 of 2 samples of the case" in invoke("show", "LAST", "c1")


def test_the_votes_and_reasons_of_a_judge_are_shown(tmp_path):
    with Loopback() as server:
        server.on("/chat/completions", chat_answer(json.dumps(verdict(2, notes="too much jargon"))))
        suite = write_judged(tmp_path / "my", n=1, **chat_judge(server))
        outputs("run", suite, "--quiet", code=1)
        shown = invoke("show", "LAST", "c0")
    judged = shown.partition("\nJudge")[2]
    assert "clarity" in judged
    assert "too much jargon" in judged.partition("Vote of")[2]


def test_a_dry_run_shows_the_requests_and_sends_starts_and_stores_nothing(tmp_path):
    with Loopback() as server:
        server.on("/ask", json_answer({"answer": {"word": "word 0"}}))
        headers = {"authorization": {"env": "SERVICE_KEY"}}
        suite = write_suite(tmp_path / "my", n=5, target=http_target(server.base_url, headers=headers))
        shown = invoke("run", suite, "--dry-run")
        data = json.loads(invoke("run", suite, "--dry-run", "--limit", 2, "-n", 2, "--json"))
        assert server.requests == []
    assert not (tmp_path / ".steelyard").exists()
    assert "3 of 5 cases" in shown
    assert "5 samples would be asked" in shown
    assert [json.loads(item["request"]["body"]) for item in data["requests"]] == [{"number": 0}, {"number": 1}]
    assert data["planned"] == 4  # repeats have the same requests


def test_the_request_to_a_service_that_a_run_starts_has_a_hole_for_its_port(tmp_path):
    start = {"command": ["{python}", "service.py", "{port}"]}
    target = {"url": "/ask", "json": {"number": "{{ input.number }}"}, "answer": "answer", "start": start}
    suite = write_suite(tmp_path / "my", n=1, target={"http": target | {"usage": {"tokens_in": "tokens.in"}}})
    (request,) = json.loads(invoke("run", suite, "--dry-run", "--json"))["requests"]
    assert request["request"]["url"] == "http://127.0.0.1:{port}/ask"


def test_a_dry_run_says_what_a_template_lacks(tmp_path):
    target = {"http": {"url": "http://127.0.0.1:1/ask", "json": {"text": "{{ input.nothing }}"}, "answer": "answer"}}
    suite = write_suite(tmp_path / "my", n=2, target=target)
    assert "2 of 2 requests cannot be made" in invoke("run", suite, "--dry-run", code=2)
    # Nor does such a call break a run that looks for it in the cache.
    assert "bad_template" in invoke("run", suite, "--cache", code=3)


def test_quiet_is_the_verdict_alone(tmp_path):
    suite = write_suite(tmp_path / "my", n=2)
    assert outputs("run", suite, "--quiet") == ("PASS: every gate passes\n", "")
    assert outputs("rescore", "--suite", suite, "--quiet") == ("PASS: every gate passes\n", "")
    assert outputs("ci", suite, "--quiet", "--no-github") == ("PASS: every gate passes\n", "")


def test_the_folder_of_the_store_is_left_out_of_a_repository(tmp_path):
    suite = write_suite(tmp_path / "my", n=1)
    invoke("run", suite, "--quiet")
    assert (tmp_path / ".steelyard" / ".gitignore").read_text() == "*\n"
    invoke("run", suite, "--quiet", "--store", "data/runs.db")
    assert not (tmp_path / "data" / ".gitignore").exists()


def test_a_shell_completes_commands_suites_runs_and_metrics(tmp_path):
    def words(line, at):
        env = {"_STEELYARD_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(at)}
        done = steelyard(cwd=tmp_path, env=env)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    invoke("run", write_suite(tmp_path / "my", n=1), "--quiet")
    assert "plain,show" in words("steelyard sh", 1)
    assert "plain,my" in words("steelyard run m", 2)
    assert words("steelyard runs de", 2) == ["plain,delete"]
    assert [word.partition("-2")[0] for word in words("steelyard show w", 2)] == ["plain,words"]
    assert "plain,latency.p95" in words("steelyard history words --metric lat", 4)
    assert "_STEELYARD_COMPLETE=zsh_complete" in invoke("completion", "zsh")


def test_a_small_cost_is_written_as_in_the_report(tmp_path):
    (tmp_path / "suite.yaml").write_text(
        "suite: s\ncases: [{id: a, expected: x}]\ntarget: {recorded: a.jsonl}\n"
        "score: {answer: {exact: {expected: expected}}}\n"
    )
    (tmp_path / "a.jsonl").write_text('{"case": "a", "answer": "x", "cost": 0.0000065}')
    assert "0.00000650" in invoke("run", ".")
    assert "0.00000650" in invoke("show", "LAST", "a")


def test_a_sample_is_found_by_its_name_as_reports_print_it(tmp_path):
    names = ["lookup-2", "lookup-2#1", "odd [x]"]
    cases = [{"id": name, "input": name, "expected": {"word": "right"}} for name in names]
    suite = tmp_path / "named"
    suite.mkdir()
    (suite / "suite.yaml").write_text(
        "suite: named\ncases: {files: cases.json}\ntarget: {python: 'system:answer'}\nrepeats: 2\n"
        "variants: {style: [plain, loud]}\nscore: {word: {exact: {expected: expected.word}}}\n"
    )
    (suite / "cases.json").write_text(json.dumps(cases))
    (suite / "system.py").write_text(
        "def answer(case, variant, repeat):\n    return f'{case.id}/{variant.values[\"style\"]}/{repeat + 1}'\n"
    )
    invoke("run", suite, "--quiet")
    for name, answer in {
        "lookup-2 [plain] #2": "lookup-2/plain/2",
        "lookup-2#2": "lookup-2/loud/2",  # the first variant in the alphabet
        "lookup-2#1": "lookup-2#1/loud/1",  # there is a case of that id
        "lookup-2 [loud] #2": "lookup-2/loud/2",
        "lookup-2[loud]": "lookup-2/loud/1",
        "odd [x] [loud] #1": "odd [x]/loud/1",
        "odd [x] #2": "odd [x]/loud/2",
    }.items():
        assert json.loads(invoke("show", "LAST", name, "--json"))["answer"] == answer, name
    assert "it has repeats 1 to 2, loud, plain" in invoke("show", "LAST", "lookup-2 #9", code=2)
    assert "did you mean lookup-2" in invoke("show", "LAST", "lookup-3 #1", code=2)
