"""A judge that drifts behind its name: what it moves is not called the system's, whatever the answers are.

The judge is a server that reads the quality out of a text and adds to it what it has drifted by.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from parts.attributed import points
from parts.command import invoke, outputs
from parts.judge_server import judge_server, last_message
from parts.judged_suite import chat_judge, verdict, write_judged

N = 24
MIXED = [2, 3, 4] * 8
NOT_MEASURED = "drift of the judge was not measured"
PRICE = {"input": 1.0, "output": 1.0}
CALL = 120e-6
"""100 tokens sent and 20 received, at 1 a million."""


def reads(drift=lambda _: 0):
    """A judge that gives a text its quality, and what it has drifted by for texts of that quality."""

    def stated(request):
        quality = int(re.findall(r"quality (\d)", last_message(request))[-1])
        return verdict(min(5, quality + drift(quality)))

    return stated


@pytest.fixture
def judge(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    with judge_server(reads()) as server:
        server.drifts = lambda drift: server.by_model("judge-1", reads(drift))
        yield server


def run(judge, version, quality=MIXED, *more, same=(), model="judge-1", gates=(), code=0, **suite):
    """Score texts of a version; those of `same` are the first version's. Gives what was printed on standard error."""
    texts = {
        k: f"Text {k} of version {1 if k in same else version} has ten words and quality {each}."
        for k, each in enumerate(quality)
    }
    path = write_judged(
        Path.cwd() / "judged",
        n=len(quality),
        texts=texts,
        labels="",
        **chat_judge(judge, model=model, price=PRICE),
        suite={"gates": list(gates), **suite},
    )
    data = yaml.safe_load(path.read_text())
    if "pass" not in suite:
        del data["pass"]
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    cases = [{"id": f"c{k:02d}", "input": {"number": k}, "expected": None} for k in range(len(quality))]
    answers = [{"case": f"c{k:02d}", "answer": text} for k, text in texts.items()]
    for name, rows in (("cases.jsonl", cases), ("answers.jsonl", answers)):
        path.with_name(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return " ".join(outputs("run", "judged", *more, code=code)[1].split())


def lock():
    return " ".join(invoke("baseline", "set", "LAST", "--name", "release", "--force", "--reason", "no gates").split())


def compared(code, *more):
    found = json.loads(invoke("compare", "LAST~1", "LAST", "--json", *more, code=code))
    return found["headline"]["significance"], found["attribution"]


class TestWithoutAnchors:
    def test_a_drift_that_no_answer_shows_is_not_called_the_systems_for_sure(self, judge):
        run(judge, 1)
        judge.drifts(lambda _: 1)
        run(judge, 2)
        how_sure, why = compared(4)
        assert how_sure.startswith(f"none: {NOT_MEASURED}: no case has an answer that it has read in both runs")
        assert NOT_MEASURED in why["sentence"]
        assert why["anchors"]["not_measured"].startswith(NOT_MEASURED)

    def test_five_identical_answers_are_too_few(self, judge):
        run(judge, 1)
        judge.drifts(lambda _: 1)
        run(judge, 2, same=range(5))
        how_sure, _ = compared(4)
        assert f"{NOT_MEASURED}: 5 of 6 cases needed have an answer that it has read in both runs" in how_sure

    def test_a_gate_that_asks_for_certainty_is_not_held_for_sure(self, judge):
        gates = ["average >= @release - 5 points for sure"]
        run(judge, 1, gates=gates, code=4)
        lock()
        judge.drifts(lambda _: 1)
        run(judge, 2, MIXED, "--no-anchors", gates=gates, code=4)
        (gate,) = json.loads(invoke("gate", "LAST", "--json", code=4))["gates"]
        assert (gate["verdict"], NOT_MEASURED in gate["reason"]) == ("AMBIGUOUS", True)

    @pytest.mark.parametrize("drift", [1, -1])
    def test_no_gate_on_a_baseline_and_no_comparison_takes_it_for_the_systems(self, judge, drift):
        gates = ["average >= @release - 5 points"]
        run(judge, 1, gates=gates, code=4)
        lock()
        judge.drifts(lambda _: drift)
        run(judge, 2, MIXED, "--no-anchors", gates=gates, code=4)
        (gate,) = json.loads(invoke("gate", "LAST", "--json", code=4))["gates"]
        assert (gate["verdict"], NOT_MEASURED in gate["reason"]) == ("AMBIGUOUS", True)
        assert NOT_MEASURED in compared(4)[0]

    def test_arms_that_are_judged_side_by_side_need_none(self, judge):
        run(judge, 1)
        folder = Path.cwd() / "judged"
        (folder / "say.py").write_text(
            "def text(case, quality):\n"
            "    return f\"Text {case.input['number']} has more than five words and quality {quality}.\"\n\n\n"
            "def fair(case):\n    return text(case, 2 + case.input['number'] % 2)\n\n\n"
            "def fine(case):\n    return text(case, 4 + case.input['number'] % 2)\n"
        )
        path = folder / "suite.yaml"
        path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"target": {"python": "say:fair"}}))
        invoke("ab", "judged", "--a", "function=say:fair", "--b", "function=say:fine")
        runs = [each["id"] for each in json.loads(invoke("runs", "--json"))[:2]]
        found = json.loads(invoke("compare", *reversed(runs), "--json"))
        assert found["headline"]["significance"].startswith("p < 0.001")


class TestAnchorsOfOneKind:
    """Half of the texts are bad and the same in both runs; the judge gives one step more to good ones alone."""

    QUALITY = [1] * 12 + [4] * 12

    @staticmethod
    def milder_with_good_texts(quality):
        return 1 if quality >= 4 else 0

    def test_another_judge_is_not_measured_where_they_do_not_reach(self, judge):
        run(judge, 1, self.QUALITY)
        judge.by_model("judge-2", reads(self.milder_with_good_texts))
        run(judge, 2, self.QUALITY, same=range(12), model="judge-2")
        _, why = compared(4)
        # All of the 12.5 points are the judge's: nothing here can tell, and nobody claims to.
        assert points(why) == {"judge": 0.0, "judge+system": 12.5}
        assert "cannot be separated in 12 of 24 judged pairs" in why["joined"][0]
        _, why = compared(4, "--rejudge", "6", "--yes")
        assert points(why) == {"judge": 12.5, "system": 0.0}

    def test_no_drift_of_bad_texts_is_none_of_good_ones(self, judge):
        run(judge, 1, self.QUALITY)
        judge.drifts(self.milder_with_good_texts)
        run(judge, 2, self.QUALITY, same=range(12))
        how_sure, why = compared(4)
        told = f"{NOT_MEASURED} for 12 of 24 answers: it scored none with such scores in both runs"
        assert how_sure.startswith(f"none: {told}")
        assert why["sentence"] == f"+12.5 points, all of it the system's; {told}"

    def test_a_drift_of_bad_texts_is_not_carried_to_good_ones(self, judge):
        run(judge, 1, self.QUALITY)
        judge.drifts(lambda quality: 1 if quality == 1 else 0)
        run(judge, 2, self.QUALITY, same=range(12))
        _, why = compared(4)
        # 25 points for half of the texts. It said 25.0 for all of them, and that the system lost 12.5.
        assert points(why) == {"judge": 12.5, "judge+system": 0.0}


class TestAnchorsOfABaseline:
    def test_a_drift_is_measured_by_default_and_no_verdict_is_given(self, judge):
        run(judge, 1)
        assert "later runs judge 20 of its answers again" in lock()
        judge.drifts(lambda _: 1)
        asked = len(judge.requests)
        told = run(judge, 2)
        assert len(judge.requests) == asked + N + 20
        assert "judging answers of release again, to measure drift of the judge: 20 texts, at least 20 calls" in told
        how_sure, why = compared(4)
        drifted = "the judge has drifted: it scores 20 answers that it has read in both 25.0 points higher in B"
        assert how_sure == f"none: {drifted}"
        assert points(why) == {"judge": 25.0, "system": 0.0}
        gate = json.loads(invoke("gate", "LAST", "--gate", "average >= @release", "--json", code=4))["gates"][0]
        assert drifted in gate["reason"]

    def test_a_drift_of_good_texts_alone_is_measured_there(self, judge):
        quality = [2] * 8 + [4] * 16
        run(judge, 1, quality)
        lock()
        judge.drifts(lambda quality: 1 if quality == 4 else 0)
        run(judge, 2, quality)
        _, why = compared(4)
        # 16 of 24 rise by 25 points, however many of the anchors are of them.
        assert points(why) == {"judge": pytest.approx(25 * 16 / 24), "system": 0.0}

    def test_texts_that_pass_by_a_drift_alone_are_no_gain_of_the_system(self, judge):
        # 4 passes, and 3 after the drift: a third of the texts did, and two thirds do.
        run(judge, 1, **{"pass": "score >= 60 %"})
        lock()
        judge.drifts(lambda _: 1)
        run(judge, 2, **{"pass": "score >= 60 %"})
        how_sure, why = compared(4)
        assert "20 answers that it has read in both 25.0 points higher" in how_sure
        assert points(why) == {"judge": pytest.approx(100 / 3), "system": 0.0}

    def test_anchors_that_could_not_show_so_small_a_drift_are_no_certainty(self, judge):
        run(judge, 1)
        lock()
        run(judge, 2, [each + (k % 3 == 0) for k, each in enumerate(MIXED)])
        how_sure, _ = compared(0)
        # A third rose by 25 points; 20 anchors that did not move leave 12.6 points to a drift.
        assert how_sure.startswith("limited: ")
        told = "20 answers that the judge scored in both runs do not rule out a drift as large (-12.6 to +12.6 points)"
        assert how_sure.endswith(told)

    def test_a_gain_of_the_system_is_still_one(self, judge):
        run(judge, 1)
        lock()
        run(judge, 2, [each + 1 for each in MIXED])
        how_sure, why = compared(0)
        # None of 20 anchors moved: 1.96 * sqrt(2) / 22 is 12.6 points at most, and the gain is 25.
        assert how_sure.startswith("p < 0.001")
        assert (points(why), why["anchors"]["not_measured"], why["anchors"]["bought"]) == ({"system": 25.0}, "", 20)

    def test_every_run_measures_its_own_hour(self, judge):
        run(judge, 1)
        lock()
        run(judge, 2)
        judge.drifts(lambda _: 1)
        run(judge, 3)
        found = json.loads(invoke("compare", "@release", "LAST", "--json", code=4))
        assert points(found["attribution"]) == {"judge": 25.0, "system": 0.0}

    def test_a_bought_anchor_of_one_run_says_nothing_of_a_later_one(self, judge):
        run(judge, 1)
        run(judge, 2)
        compared(0, "--rejudge", "12", "--yes")
        judge.drifts(lambda _: 1)
        run(judge, 3)
        found = json.loads(invoke("compare", "LAST~2", "LAST", "--json", "--rejudge", "12", "--yes", code=4))
        assert points(found["attribution"]) == {"judge": 25.0, "system": 0.0}

    def test_who_does_not_want_to_pay_is_reported_what_is_not_known(self, judge):
        run(judge, 1)
        lock()
        asked = len(judge.requests)
        run(judge, 2, [each + 1 for each in MIXED], "--no-anchors")
        assert NOT_MEASURED in compared(4)[0]
        run(judge, 3, [each + 1 for each in MIXED], limits={"retries": 0, "anchors": 0})
        assert len(judge.requests) == asked + 2 * N

    def test_what_it_costs_is_said_and_counts_in_the_spending_limit(self, judge):
        run(judge, 1)
        lock()
        run(judge, 2, MIXED, "--max-cost", "1")
        shown = " ".join(invoke("report", "LAST", "--full").split())
        assert f"20 answers of run {_last(1)} judged again for {20 * CALL:.4g}" in shown
        asked = len(judge.requests)
        # There is room for the run, and for three calls more.
        run(judge, 3, MIXED, "--max-cost", str((N + 3.5) * CALL), "--concurrency", "1")
        assert len(judge.requests) == asked + N + 3
        assert "the spending limit" in " ".join(invoke("report", "LAST", "--full").split())

    def test_a_judge_that_fails_on_anchors_costs_no_run(self, judge):
        run(judge, 1)
        lock()
        good = reads()
        judge.by_model("judge-1", *[good] * N, "no JSON at all")
        run(judge, 2, [each + 1 for each in MIXED])
        how_sure, why = compared(4)
        assert (NOT_MEASURED in how_sure, why["anchors"]["bought"]) == (True, 0)
        assert "20 more failed" in " ".join(invoke("report", "LAST", "--full").split())

    def test_what_was_paid_for_before_a_crash_is_not_bought_again(self, judge, monkeypatch):
        run(judge, 1)
        lock()
        with monkeypatch.context() as broken:
            broken.setattr("steelyard.runner.run.finish", lambda *_, **__: 1 / 0)
            with pytest.raises(AssertionError, match="ZeroDivisionError"):
                run(judge, 2)
        asked = len(judge.requests)
        invoke("run", "judged", "--resume")
        assert len(judge.requests) == asked
        assert compared(0)[1]["anchors"]["bought"] == 20

    def test_answers_that_are_the_same_are_not_paid_for(self, judge):
        run(judge, 1)
        lock()
        asked = len(judge.requests)
        run(judge, 2, same=range(N))
        assert len(judge.requests) == asked + N


class TestCode:
    def test_code_that_reads_the_same_texts_otherwise_has_drifted(self, tmp_path, monkeypatch):
        # Its source is the same: it asks somebody whom no signature knows.
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("MILDNESS", "0")
        path = write_judged(tmp_path / "judged", n=12, labels="", suite={"gates": []})
        module = path.with_name("measures.py")
        asks = "2 + len(text) % 2 + int(__import__('os').environ['MILDNESS'])"
        module.write_text(module.read_text().replace('2 if "muddle" in text else 3', asks).replace("assert", "#"))
        invoke("run", "judged")
        monkeypatch.setenv("MILDNESS", "1")
        invoke("run", "judged")
        how_sure, why = compared(4)
        drifted = "the judge has drifted: it scores 12 answers that are the same in both runs 25.0 points higher in B"
        assert how_sure == f"none: {drifted}"
        assert points(why)["system"] == 0.0


def _last(back):
    return json.loads(invoke("runs", "--json"))[back]["id"]
