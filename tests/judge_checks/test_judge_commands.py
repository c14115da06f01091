"""Judging on the command line: who judges, judging again, and the check of a judge."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from parts.command import invoke
from parts.command import steelyard as in_a_process
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import error
from parts.small_suite import write_suite

HEALTH = ["top_share.clarity <= 10 %", "agreement.clarity.exact >= 90 %", "failed <= 5 %"]


@pytest.fixture
def run_in(tmp_path, monkeypatch):
    """A function that runs a command in its own folder; deliberate errors give their exit code and message."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    return invoke


def judged_by(server):
    return "--judge", server.base_url, "--judge-model", "m-2"


def test_a_run_can_be_judged_by_a_model_at_an_address(run_in, tmp_path):
    path = write_judged(tmp_path / "my")
    with judge_server(verdict(4)) as server:
        report = json.loads(run_in("run", path, *judged_by(server), "--judge-repeats", 3, "--json"))
        # 4 texts, 3 times each.
        assert [request["model"] for request in server.requests] == ["m-2"] * 12
    assert report["judge"]["mode"] == "model"
    assert report["figures"]["judge.votes"]["value"] == 12
    assert report["judge"]["spending"]["calls"] == 12
    assert report["figures"]["judge.dimension.clarity.capped_mean"]["value"] == 4


def test_the_key_of_a_judge_comes_from_the_environment(run_in, tmp_path, monkeypatch):
    path = write_judged(tmp_path / "my", n=1)
    monkeypatch.setenv("JUDGE_KEY", "s3cret")
    with judge_server(verdict(4)) as server:
        run_in("run", path, *judged_by(server), "--judge-token", "JUDGE_KEY")
        sent = {name.lower(): value for name, value in server.headers[0].items()}
    assert sent["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("command", [("run",), ("judge", "check")])
def test_a_suite_without_a_judge_cannot_be_judged(run_in, tmp_path, command):
    path = write_suite(tmp_path / "my", n=2)
    told = run_in(*command, path, "--judge", "rules", code=2)
    assert "has no judge" in told


def test_rescoring_calls_no_judge(run_in, tmp_path):
    with judge_server(verdict(4)) as server:
        path = write_judged(tmp_path / "my", **chat_judge(server))
        run_in("run", path)
        assert len(server.requests) == 4
        report = json.loads(run_in("rescore", "--json"))
        assert len(server.requests) == 4
    assert report["figures"]["judge.dimension.clarity.capped_mean"]["value"] == 4
    assert report["run"]["rescored_from"]


def test_another_judge_is_only_asked_when_judging_again_is_asked_for(run_in, tmp_path):
    with judge_server(verdict(4)) as server:
        run_in("run", write_judged(tmp_path / "my"))
        told = run_in("rescore", *judged_by(server), code=2)
        assert server.requests == []
    assert "recorded answers of the judge are read; add --judge-again to ask another" in told


def test_judging_again_tells_the_cost_and_needs_a_yes(run_in, tmp_path):
    with judge_server(verdict(2)) as server:
        run_in("run", write_judged(tmp_path / "my"))
        told = run_in("rescore", "--judge-again", *judged_by(server), code=2)
        assert "4 texts, at least 4 calls" in told
        assert "price unknown" in told
        assert "--yes" in told
        assert server.requests == []
        report = json.loads(run_in("rescore", "--judge-again", "--yes", *judged_by(server), "--json", code=1))
        assert len(server.requests) == 4
    assert report["judge"]["mode"] == "model"
    assert report["figures"]["judge.dimension.clarity.uncapped_mean"]["value"] == 2
    assert any(note.startswith("judged again: the answers of run numbers-") for note in report["disclosures"])


def test_judging_again_tells_the_price_where_the_suite_knows_it(run_in, tmp_path):
    with judge_server(verdict(3)) as server:
        price = {"price": {"input": 1.0, "output": 2.0}, "max_tokens": 100}
        run_in("run", write_judged(tmp_path / "my", n=2, **chat_judge(server, **price)))
        told = run_in("rescore", "--judge-again", code=2)
    # At most 2 x 100 tokens at 2 a million come back: 0.0004 more than what is sent costs.
    assert "at most 200 received; price about" in told


@pytest.mark.parametrize(("stated", "code", "calls"), [("n", 130, 0), ("y", 0, 2)])
def test_on_a_terminal_somebody_is_asked(tmp_path, stated, code, calls):
    with judge_server(verdict(3)) as server:
        in_a_process("run", write_judged(tmp_path / "my", n=2), cwd=tmp_path)
        ours, theirs = pty.openpty()
        os.write(ours, f"{stated}\n".encode())
        command = [sys.executable, "-m", "steelyard", "rescore", "--judge-again", *judged_by(server)]
        done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, cwd=tmp_path, check=False)
        os.close(ours)
        os.close(theirs)
        assert len(server.requests) == calls
    assert done.returncode == code, done.stderr
    assert "2 texts, at least 2 calls" in done.stderr
    assert "Go on?" in done.stderr


def test_judging_again_by_code_asks_nobody(run_in, tmp_path):
    run_in("run", write_judged(tmp_path / "my"))
    run_in("rescore", "--judge-again")


def test_the_strict_rules_are_not_forgotten_when_judging_again(run_in, tmp_path):
    run_in("run", write_judged(tmp_path / "my"))
    assert "rescore that run --strict" in run_in("rescore", "--judge-again", "--strict", code=2)


def test_a_judge_that_holds_every_threshold_is_fit(run_in, tmp_path):
    card = run_in("judge", "check", write_judged(tmp_path / "my", n=80, health=HEALTH))
    assert "PASS  This judge is fit: 3 thresholds reached" in card
    assert "80 of 80 samples reached the judge; 80 of them are labelled" in card
    assert max(map(len, card.splitlines())) <= 80


def test_a_judge_without_an_error_on_19_texts_is_not_shown_to_be_fit(run_in, tmp_path):
    card = run_in("judge", "check", write_judged(tmp_path / "my", n=19, health=HEALTH), code=4)
    assert "AMBIGUOUS This judge is not shown to be fit: 3 of 3 thresholds not shown" in " ".join(card.split())


def test_a_judge_at_a_url_is_asked_with_the_temperature_of_the_command_line(run_in, tmp_path):
    with judge_server(verdict(3)) as server:
        path = write_judged(tmp_path / "my", n=1)
        at = ("--judge", server.base_url, "--judge-model", "m")
        run_in("run", path, *at, "--judge-temperature", "0.7")
        run_in("run", path, *at)
        assert [request.get("temperature") for request in server.requests] == [0.7, None]
    told = run_in("judge", "check", path, "--run", "LAST", "--judge-temperature", "0", code=2)
    assert "leave out --judge-temperature" in told


def test_a_lenient_judge_is_not_fit(run_in, tmp_path):
    with judge_server(verdict(5)) as server:
        path = write_judged(tmp_path / "my", n=6, health=HEALTH, **chat_judge(server))
        card = run_in("judge", "check", path, "--markdown", "card.md", "--html", "card.html", code=1)
        # A model reads each text twice, so that it can be compared with itself.
        assert len(server.requests) == 12
    # 6 of 6 texts got 5 of 5; the labels allow 2 to 4, so none is in range.
    assert "FAIL  This judge is not fit: 2 of 3 thresholds missed" in card
    assert "gives 5 of 5 for clarity in 6 of 6 texts: more than 1 in 10 is inflation" in card
    # 5 where the best is 3, in all six.
    assert "+2.00" in card
    assert max(map(len, card.splitlines())) <= 80
    assert "This judge is not fit: 2 of 3 thresholds missed" in (tmp_path / "card.md").read_text()
    assert "This judge is not fit: 2 of 3 thresholds missed" in (tmp_path / "card.html").read_text()


def test_a_recorded_run_is_checked_without_a_call(run_in, tmp_path):
    with judge_server(verdict(5)) as server:
        path = write_judged(tmp_path / "my", health=HEALTH, **chat_judge(server))
        assert "SUSPECT: the judge breaks 2 of the suite's 3 limits" in run_in("run", path, code=4)
        data = json.loads(run_in("judge", "check", path, "--run", "LAST", "--json", code=1))
        assert len(server.requests) == 4
    assert data["format"] == "steelyard.judge/1"
    assert data["verdict"] == "FAIL"
    assert [each["verdict"] for each in data["thresholds"]] == ["FAIL", "FAIL", "AMBIGUOUS"]
    top = data["health"]["figures"]["judge.top_share.clarity"]
    assert (top["value"], top["n"]) == (1.0, 4)
    told = run_in("judge", "check", path, "--run", "LAST", "--judge", "model", "--repeats", 2, code=2)
    assert "leave out --judge, --repeats, or leave out --run" in told


def test_a_run_of_another_suite_is_not_checked(run_in, tmp_path):
    run_in("run", write_suite(tmp_path / "other", n=2))
    assert "not of numbers" in run_in("judge", "check", write_judged(tmp_path / "my"), "--run", "LAST", code=2)


def test_a_run_of_another_rubric_is_not_checked(run_in, tmp_path):
    path = write_judged(tmp_path / "my")
    run_in("run", path)
    both = {"clarity": {"about": "How clear it is."}, "depth": {"about": "How deep it is."}}
    path = write_judged(
        tmp_path / "my", rubric={"scale": [1, 5], "neutral": 3, "dimensions": both, "flags": {"harm": {}}}
    )
    assert "steelyard rescore numbers-" in run_in("judge", "check", path, "--run", "LAST", code=2)


def unlabelled(folder, *places):
    """Take the labels of some cases away."""
    cases = folder / "cases.jsonl"
    rows = [json.loads(line) for line in cases.read_text().splitlines()]
    for place in places:
        rows[place]["expected"] = {}
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_without_labels_nobody_can_tell_and_the_card_says_why(run_in, tmp_path):
    path = write_judged(tmp_path / "my", health=HEALTH)
    unlabelled(tmp_path / "my", 0, 1)
    run_in("run", path, "--limit", 2)
    card = " ".join(run_in("judge", "check", path, "--run", "LAST", code=4).split())
    assert "This judge is not shown to be fit: 3 of 3 thresholds not shown" in card
    assert "none of the texts has labels at expected.labels" in card
    assert "Against labels" not in card


def test_a_judge_without_labels_is_held_against_its_rubric_and_itself(run_in, tmp_path):
    path = write_judged(tmp_path / "my", n=80, health=[HEALTH[0], HEALTH[2]])
    unlabelled(tmp_path / "my", *range(80))
    path.write_text(path.read_text().replace("  labels: expected.labels\n", ""))
    card = " ".join(run_in("judge", "check", path).split())
    assert "the suite names no labels (judge.labels)" in card
    assert "Against the rubric" in card


def test_a_suite_that_asks_nothing_of_its_judge_has_no_verdict(run_in, tmp_path):
    card = run_in("judge", "check", write_judged(tmp_path / "my"))
    assert "NO VERDICT" in card
    assert "declares no thresholds for its judge" in " ".join(card.split())


def test_a_judge_that_never_answers_is_neither_fit_nor_unfit(run_in, tmp_path):
    with judge_server(error(500)) as server:
        path = write_judged(tmp_path / "my", health=HEALTH, **chat_judge(server))
        card = run_in("judge", "check", path, "--repeats", 1, code=3)
    assert "INVALID" in card
    assert "no answer came for 4 of 4 votes of the judge" in card


def test_a_judge_whose_answers_cannot_be_used_is_not_fit(run_in, tmp_path):
    with judge_server("I would rather not say.") as server:
        path = write_judged(tmp_path / "my", health=HEALTH, **chat_judge(server))
        card = " ".join(run_in("judge", "check", path, code=1).split())
    # No reading: nothing to tell about the other two thresholds, but 100 % failed is a reading of the judge.
    assert "This judge is not fit: 1 of 3 thresholds missed, 2 not shown" in card
    assert "the judge gave no usable answer" in card


def test_only_the_labelled_cases_are_scored(run_in, tmp_path):
    path = write_judged(tmp_path / "my", n=6, health=HEALTH)
    unlabelled(tmp_path / "my", 0, 1)
    assert "4 of 4 samples reached the judge" in run_in("judge", "check", path, code=4)
    assert "2 of 2 samples reached the judge" in run_in("judge", "check", path, "--limit", 2, code=4)
    card = run_in("judge", "check", path, "--only", "id=c0", "--only", "id=c5", code=4)
    assert "1 of 1 sample reached the judge" in card


def test_a_judge_that_is_code_and_breaks_is_not_out_of_sight(run_in, tmp_path):
    path = write_judged(tmp_path / "my", health=HEALTH)
    code = tmp_path / "my" / "measures.py"
    code.write_text(code.read_text().replace("return {", 'assert "Number 2" not in text\n    return {'))
    card = " ".join(run_in("judge", "check", path, code=3).split())
    assert "broke on 1 of 4 samples, more than the 5 % allowed" in card


def test_the_check_ends_with_its_verdict_in_a_process_of_its_own(tmp_path):
    path = write_judged(tmp_path / "my", health=["agreement.clarity.best <= 99 %"])
    done = in_a_process("judge", "check", path, cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no metric 'agreement.clarity.best'" in done.stderr
    helped = in_a_process("judge", "--help", cwd=tmp_path)
    assert "check" in helped.stdout


def test_the_list_of_runs_says_who_judged_where_anybody_did(run_in, tmp_path):
    plain = write_suite(tmp_path / "plain")
    run_in("run", plain, "--json")
    assert "judged by" not in run_in("runs")
    run_in("run", write_judged(tmp_path / "my"), "--json")
    assert "judged by" in run_in("runs")
    assert [row["judge"] for row in json.loads(run_in("runs", "--json"))] == ["rules code", None]


def test_an_audit_of_texts_says_that_an_empty_one_is_malformed(run_in, tmp_path):
    # The judge looks at no question, so one good text passes all four: that is the one complaint.
    told = run_in("audit", write_judged(tmp_path / "my", suite={"audit": {"null_share": "30 %"}}), code=1)
    assert "best found (as written): one answer for all cases passes 4 of 4 cases" in " ".join(told.split())
    assert re.search(r"empty +no answer at all .* malformed", told)
    assert "schema" not in told
