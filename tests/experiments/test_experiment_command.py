"""`steelyard experiment` with two real services as its arms: the decision is the exit code."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import replace

import pytest
import yaml

from parts.command import invoke, start_steelyard, steelyard
from parts.loopback import Loopback, error, json_answer
from parts.small_suite import write_suite

N = 12


def right(seen):
    return json_answer({"answer": {"word": f"word {seen.json['number']}"}})


def wrong(seen):
    return json_answer({"answer": {"word": f"no {seen.json['number']}"}})


def half(seen):
    """Right for the first half of the numbers."""
    return right(seen) if int(seen.json["number"]) < N / 2 else wrong(seen)


def one_less(seen):
    """Right for all numbers but one."""
    return wrong(seen) if int(seen.json["number"]) == 0 else right(seen)


class Bench:
    """A suite, two services and an experiment file in a folder."""

    def __init__(self, folder, baseline, candidate):
        self.folder, self.baseline, self.candidate = folder, baseline, candidate
        target = {"http": {"base_url": baseline.base_url, "url": "/ask", "json": {"number": "{{ input.number }}"}}}
        target["http"]["answer"] = "answer"
        write_suite(folder / "words", n=N, target=target, limits={"retries": 0, "concurrency": 4})

    def answers(self, baseline, candidate):
        for server, script in ((self.baseline, baseline), (self.candidate, candidate)):
            server.on("/ask", script)
            server.requests.clear()

    def write(self, **more):
        data = {
            "experiment": "trial",
            "hypothesis": "The other service reads more words.",
            "suite": "words",
            "factor": "service",
            "baseline": {"base_url": self.baseline.base_url},
            "candidate": {"base_url": self.candidate.base_url},
            "criteria": {"adopt": ["better", "pass_rate >= 80 %"], "reject": ["worse"]},
        }
        (self.folder / "trial.yaml").write_text(yaml.safe_dump(data | more, sort_keys=False))

    def run(self, *more, code):
        store = ("--store", self.folder / "store.db")
        return " ".join(invoke("experiment", self.folder / "trial.yaml", *more, *store, code=code).split())

    def data(self, *more, code):
        return json.loads(self.run("--json", *more, code=code))

    def asked(self):
        return len(self.baseline.requests), len(self.candidate.requests)


@pytest.fixture(scope="module")
def services():
    with Loopback() as baseline, Loopback() as candidate:
        yield baseline, candidate


@pytest.fixture
def bench(tmp_path, services):
    return Bench(tmp_path, *services)


def test_a_better_candidate_is_adopted(bench):
    bench.answers(half, right)
    bench.write()
    told = bench.run(code=0)
    # 6 of 12 right, then 12 of 12: six pairs fixed and none broken, p = 2 / 64.
    assert "ADOPT the candidate meets the criteria" in told
    assert "all 2 criteria to adopt are met, and the one to reject is not" in told
    assert "pass rate 50.0 % -> 100.0 % (+50.0 points" in told
    assert bench.asked() == (N, N)


def test_a_worse_candidate_is_rejected(bench):
    bench.answers(right, half)
    bench.write()
    told = bench.run(code=1)
    assert "REJECT" in told
    assert "worse: B is worse: pass rate 100.0 % -> 50.0 %" in told


def test_the_same_answers_decide_nothing(bench):
    bench.answers(half, half)
    bench.write()
    told = bench.run(code=4)
    assert "CANNOT TELL" in told
    assert "neither what it takes to adopt nor what it takes to reject is met" in told


def test_without_criteria_to_reject_whatever_is_not_adopted_is_rejected(bench):
    bench.answers(half, half)
    bench.write(criteria={"adopt": "better"})
    assert "is not met: better: no change" in bench.run(code=1)


def test_a_difference_within_noise_decides_nothing(bench):
    bench.answers(one_less, right)
    bench.write()
    data = bench.data(code=4)
    assert [each["holds"] for each in data["criteria"]] == [None, True, None]


def test_a_gate_that_the_candidate_misses_keeps_it_from_being_adopted(bench):
    bench.answers(wrong, half)
    bench.write(criteria={"adopt": ["better", "pass_rate >= 80 %"], "reject": ["worse"]})
    data = bench.data(code=4)
    assert [each["holds"] for each in data["criteria"]] == [True, False, False]
    # The figure of either side stands beside it.
    gate = data["criteria"][1]
    assert (gate["baseline"]["value"], gate["candidate"]["value"]) == (0.0, 0.5)


def test_a_dead_baseline_is_invalid_and_the_candidate_is_not_asked(bench):
    bench.answers(error(500), right)
    bench.write()
    told = bench.run(code=3)
    assert "INVALID" in told
    assert "the baseline is INVALID: nothing was scored: 12 samples, 12 of them inconclusive" in told
    assert "the candidate was not asked" in told
    assert bench.asked() == (N, 0)


def test_a_dead_candidate_is_invalid_and_not_worse(bench):
    bench.answers(right, error(500))
    bench.write()
    data = bench.data(code=3)
    assert data["decided"] == "INVALID"
    assert data["reasons"][0].startswith("the candidate is INVALID")


def test_a_second_changed_factor_is_pointed_out_and_keeps_from_deciding(bench):
    bench.answers(half, right)
    bench.write(
        baseline={"base_url": bench.baseline.base_url, "repeats": 1},
        candidate={"base_url": bench.candidate.base_url, "repeats": 3, "timeout": 9},
    )
    told = bench.run(code=4)
    assert told.index("also changed: repeats (1 and 3), timeout (as the suite says and 9.0)") < told.index("Hypothesis")
    assert "cannot be attributed to the service" in told
    assert "by the criteria alone: ADOPT" in told
    # Asked for in spite of it, the criteria decide, and what it is in spite of is said. Nobody is asked again.
    before = bench.asked()
    told = bench.run("--allow-mismatch", code=0)
    assert "overridden: also changed: repeats (1 and 3)" in told
    assert bench.asked() == before


def test_a_factor_that_did_not_change_is_pointed_out(bench):
    bench.answers(half, half)
    bench.write(candidate={"base_url": bench.baseline.base_url})
    assert "service, the factor that was to change, did not change" in bench.run(code=4)


def test_a_model_that_came_along_behind_the_service_is_noticed(bench):
    def naming(script, model):
        return lambda seen: json_answer({**json.loads(script(seen).body), "model": model})

    bench.answers(naming(half, "small-1"), naming(right, "large-2"))
    usage = {"usage": {"model": "model"}}
    bench.write(factor="prompt", set=usage)
    told = bench.run(code=4)
    assert "also changed: model (small-1 and large-2)" in told


def test_a_prompt_behind_a_service_is_taken_on_trust_and_that_is_said(bench):
    bench.answers(half, right)
    bench.write(factor="prompt")
    data = bench.data(code=0)
    assert data["changed"]["contributing"] is True
    assert data["changed"]["caution"].startswith("prompt cannot be observed, only another service")


def test_the_plan_is_stored_before_the_first_call(bench):
    seen_plans = []

    def looks(seen):
        from steelyard.store.sql import open_store

        store = open_store(str(bench.folder / "store.db"), create=False)
        try:
            seen_plans.append(store.run("LAST").options.experiment)
        finally:
            store.close()
        return half(seen)

    bench.answers(looks, right)
    bench.write(limit=1)
    bench.run(code=4)
    plan = seen_plans[0]
    assert (plan.adopt, plan.reject) == (("better", "pass_rate >= 80 %"), ("worse",))
    assert (plan.arm, plan.factor) == ("baseline", "service")


def test_a_criterion_edited_after_the_run_is_noticed(bench):
    bench.answers(half, half)
    bench.write()
    bench.run(code=4)
    bench.write(criteria={"adopt": ["not worse"], "reject": ["worse"]})
    told = bench.run(code=2)
    assert "these have changed: criteria.adopt" in told
    assert "--restart" in told
    runs = json.loads(invoke("runs", "--json", "--store", bench.folder / "store.db"))
    ids = [run["id"] for run in runs][::-1]
    assert "these have changed in the plan: criteria.adopt" in bench.run("--decide-only", *ids, code=2)
    told = bench.run("--decide-only", *ids, "--allow-mismatch", code=0)
    assert f"since run {ids[0]} was made, these have changed in the plan: criteria.adopt" in told
    # Under the new plan both are asked again, and the report says that it was tried before.
    told = bench.run("--restart", code=0)
    assert "run once before" in told
    assert bench.asked() == (2 * N, 2 * N)


def test_runs_that_are_there_are_not_made_again(bench):
    bench.answers(half, right)
    bench.write()
    bench.run(code=0)
    assert "ADOPT" in bench.run(code=0)
    assert bench.asked() == (N, N)


def test_runs_without_a_plan_are_decided_on_and_that_is_said(bench):
    bench.answers(half, right)
    bench.write()
    store = ("--store", bench.folder / "store.db")
    names = []
    for number, (server, code) in enumerate([(bench.baseline, 1), (bench.candidate, 0)]):
        file = bench.folder / f"arm-{number}.json"
        invoke("run", bench.folder / "words", "--base-url", server.base_url, "--save", file, *store, code=code)
        names.append(file)
    told = bench.run("--decide-only", *names, code=0)
    assert "nothing shows that the criteria were written before run" in told


def test_a_gate_on_a_metric_that_does_not_exist_is_refused_before_anything_is_asked(bench):
    bench.answers(half, right)
    bench.write(criteria={"adopt": ["better", "check.shape.passed >= 80 %", "band.gold >= 10 %"], "reject": []})
    told = bench.run(code=2)
    assert "trial.yaml:12: criteria.adopt: 'check.shape.passed >= 80 %' needs checks" in told
    assert "trial.yaml:13: criteria.adopt: 'band.gold >= 10 %': there is no band 'gold'" in told
    assert bench.asked() == (0, 0)


def test_the_report_is_written_with_the_decision_first(bench):
    bench.answers(half, right)
    bench.write(hypothesis="The <script>alert(1)</script> reads *more*.")
    bench.run("--report", bench.folder / "out" / "deep", code=0)
    page, text = ((bench.folder / "out/deep" / name).read_text() for name in ("report.html", "report.md"))
    assert text.startswith("### ✅ trial (suite words): ADOPT")
    for written in (page, text):
        assert written.index("ADOPT") < written.index("Hypothesis") < written.index("The raw runs")
        assert "<script>alert" not in written
        assert "steelyard compare" in written


def unhurried(script):
    return lambda seen: replace(script(seen), delay=0.5)


@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_an_interrupted_arm_is_gone_on_with(bench, arm):
    bench.answers(*{"baseline": (unhurried(half), right), "candidate": (half, unhurried(right))}[arm])
    bench.write()
    there = ("experiment", "trial.yaml", "--store", "store.db")
    process = start_steelyard(*there, cwd=bench.folder)
    deadline = time.monotonic() + 120
    while not getattr(bench, arm).requests:
        assert time.monotonic() < deadline, "the arm was never asked"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 130, told
    assert "steelyard experiment trial.yaml --resume" in told
    done = steelyard(*there, cwd=bench.folder)
    assert (done.returncode, "has not finished" in done.stderr) == (2, True)
    assert "ADOPT" in bench.run("--resume", code=0)
    # Whatever was answered is not asked again, in either arm.
    assert bench.asked() == (N, N)


def test_going_on_with_nothing_is_a_mistake(bench):
    bench.write()
    assert "no run of experiment trial to resume" in bench.run("--resume", code=2)


def test_two_variants_are_compared_with_each_other(bench):
    def by_heat(seen):
        return right(seen) if seen.json["heat"] == "0" else half(seen)

    bench.answers(by_heat, by_heat)
    body = {"number": "{{ input.number }}", "heat": "{{ variant.heat }}"}
    target = {"http": {"url": f"{bench.baseline.base_url}/ask", "json": body, "answer": "answer"}}
    more = {"limits": {"retries": 0}, "variants": {"heat": ["0", "1"]}}
    write_suite(bench.folder / "words", n=N, target=target, **more)
    bench.write(factor="variant", baseline={"variant": "1"}, candidate={"variant": "0"})
    data = bench.data(code=0)
    assert data["comparison"]["pairs"]["comparable"] == N
    assert data["changed"]["as_declared"] == [{"factor": "variant", "baseline": "1", "candidate": "0"}]
