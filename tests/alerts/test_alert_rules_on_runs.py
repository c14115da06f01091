"""Every rule of alerts compared with real runs in a real store."""

import json

import pytest

from parts import running as run
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.loopback import Loopback, chat_answer
from parts.nightly import Nightly, settings, wrong
from steelyard.alerts.evaluate import changes_of, readings_of
from steelyard.alerts.evidence import AlertEvidence, State
from steelyard.engine.run_options import RunOptions, Selection
from steelyard.loading.load import load_suite
from steelyard.records import Verdict
from steelyard.run_history.baselines import set_baseline
from steelyard.store.sql import open_store

PASS_RATE = "regression of the headline against earlier runs: pass_rate"


@pytest.fixture
def nightly(tmp_path):
    found = Nightly(tmp_path)
    yield found
    found.close()


def test_a_gate_that_fails_is_there_and_one_that_holds_is_gone(nightly):
    good, bad = nightly.run(), nightly.run(wrong(5))
    (gone,) = nightly.readings(good, "gate_failed").values()
    (there,) = nightly.readings(bad, "gate_failed").values()
    assert (gone.state, there.state) == (State.GONE, State.THERE)
    assert there.cause == "gate_failed: pass_rate >= 90 %"
    # 15 of 20; Wilson's interval by statsmodels: proportion_confint(15, 20, method="wilson") = (0.5313, 0.8881).
    assert there.how_much == "75.0 % is not >= 90.0 %"
    assert there.significance == "n 20, 95 % interval 53.1 % to 88.8 %"
    assert there.look == ("steelyard", "gate", bad.id)


def test_each_slice_of_a_gate_is_a_cause_of_its_own(tmp_path):
    found = Nightly(tmp_path, gates=["category.*.pass_rate >= 90 %"])
    readings = found.readings(found.run({f"c{k}": f"wrong {k}" for k in range(0, 20, 2)}), "gate_failed")
    found.close()
    assert {cause: each.state for cause, each in readings.items()} == {
        "gate_failed: category.*.pass_rate >= 90 % [category.even.pass_rate]": State.THERE,
        "gate_failed: category.*.pass_rate >= 90 % [category.odd.pass_rate]": State.GONE,
    }


def test_an_invalid_run_says_that_and_nothing_else(nightly):
    nightly.nights(2)
    header = nightly.run(dict.fromkeys((f"c{k}" for k in range(10)), "FAILS"))
    assert header.verdict is Verdict.INVALID
    found = nightly.readings(header, "gate_failed", "run_invalid", "regression", "new_finding", "latency_rise")
    assert {cause: each.state for cause, each in found.items()} == {"run_invalid: invalid": State.THERE}
    assert found["run_invalid: invalid"].how_much.startswith("10 of 20 samples are inconclusive (50.0 %)")


def test_a_suspect_run_recovers_nothing(nightly):
    text = nightly.path.read_text()
    nightly.path.write_text(text.replace("- pass_rate >= 90 %", "- pass_rate >= 90 %\n- malformed_rate <= 50 %"))
    header = nightly.run(dict.fromkeys((f"c{k}" for k in range(20)), "the same"))
    assert header.suspect
    found = nightly.readings(header, "gate_failed", "run_invalid", "new_finding")
    # The other gate holds, and nobody believes it.
    assert {cause: each.state for cause, each in found.items()} == {
        "gate_failed: pass_rate >= 90 %": State.THERE,
        "run_invalid: invalid": State.GONE,
        "run_invalid: suspect": State.THERE,
    }


def test_a_fall_beyond_noise_is_held_against_earlier_runs_together(nightly):
    # 19, 20 and 18 of 20: 57 of 60 together, 95.0 %; each sample counts once.
    for n in (1, 0, 2):
        nightly.run(wrong(n))
    found = nightly.readings(nightly.run(wrong(12)), "regression")[PASS_RATE]
    assert found.state is State.THERE
    assert found.how_much == "40.0 % now, 95.0 % before: -55.0 points (n 20 now, 60 before)"
    assert found.what == "pass_rate is worse than in 3 earlier runs"
    assert found.size == pytest.approx(0.55)


def test_a_fall_within_noise_is_none(nightly):
    nightly.nights(3)
    found = nightly.readings(nightly.run(wrong(3)), "regression")[PASS_RATE]
    assert found.state is State.GONE
    assert found.what == "pass_rate is not worse beyond noise than in 3 earlier runs"


def test_a_rise_is_none(nightly):
    for _ in range(3):
        nightly.run(wrong(15, "x"))
    assert nightly.readings(nightly.run(), "regression")[PASS_RATE].state is State.GONE


def test_a_small_fall_is_not_worth_an_alert_when_the_rule_says_so(nightly):
    nightly.nights(3)
    header = nightly.run(wrong(10))
    found = nightly.readings(
        header,
        {"regression": {"metric": "pass_rate", "by": "60 points"}},
        {"regression": {"metric": "average", "by": "40 points"}},
    )
    assert [each.state for each in found.values()] == [State.GONE, State.THERE]


def test_slices_are_adjusted_for_one_another(nightly):
    nightly.nights(3)
    # Of the even cases c0, c2, ... c18 4 of 10 fell. Each could as well have
    # failed in one of the 3 earlier runs: (1/4)**4 = 0.0039, times 2 slices.
    header = nightly.run({f"c{k}": "wrong" for k in range(0, 8, 2)})
    found = nightly.readings(header, {"regression": {"metric": "category.*.pass_rate"}})
    by_slice = {cause.rpartition(": ")[2]: each for cause, each in found.items()}
    assert by_slice["category.even.pass_rate"].state is State.THERE
    assert "p 0.008 (exact permutation of runs within cases" in by_slice["category.even.pass_rate"].significance
    assert "adjusted for 2 slices" in by_slice["category.even.pass_rate"].significance
    assert by_slice["category.odd.pass_rate"].state is State.GONE


def test_so_few_cases_tell_nothing(tmp_path):
    small = Nightly(tmp_path, n=2)
    small.nights(4)
    found = small.readings(small.run({"c0": "wrong"}), "regression", min_n=8)[PASS_RATE]
    small.close()
    # Had both fallen, (1/5)**2 = 0.04 would be above the 1 % that an alert asks for, so it is not known.
    assert found.state is State.UNKNOWN
    assert found.what == "pass_rate is worse than in 4 earlier runs, and 2 cases are too few to tell"


def test_too_few_earlier_runs_or_samples_tell_nothing(nightly):
    header = nightly.run(wrong(20, "x"))
    found = nightly.readings(header, "regression")[PASS_RATE]
    assert found.state is State.UNKNOWN
    assert "0 earlier runs of the same signature, and the window asks for 2" in found.what
    nightly.nights(2)
    later = nightly.readings(nightly.run(wrong(15)), "regression", min_n=100)[PASS_RATE]
    assert later.state is State.UNKNOWN
    assert "n 60 together, and the window asks for 100" in later.what


def test_runs_that_are_no_readings_are_in_no_window(nightly):
    nightly.nights(2)
    nightly.run(dict.fromkeys((f"c{k}" for k in range(10)), "FAILS"))  # INVALID
    nightly.run(wrong(3), selection=Selection((), 3))  # a part of the suite
    found = nightly.readings(nightly.run(wrong(12)), "regression")[PASS_RATE]
    assert "than in 2 earlier runs" in found.what
    assert "40 before" in found.how_much


def test_another_signature_is_in_no_window(nightly):
    nightly.nights(2)
    suite = nightly.path.read_text().replace("score >= 90 %", "score >= 80 %")
    nightly.path.write_text(suite)
    found = nightly.readings(nightly.run(wrong(12)), "regression")[PASS_RATE]
    assert found.state is State.UNKNOWN


def test_answers_scored_again_count_once(nightly):
    first, _ = nightly.nights(2)
    run.rescore(load_suite(nightly.path), nightly.store, first)
    found = nightly.readings(nightly.run(wrong(12)), "regression")[PASS_RATE]
    assert "than in 2 earlier runs" in found.what
    assert "40 before" in found.how_much


def test_while_an_alert_is_open_what_went_wrong_does_not_become_usual(nightly):
    nightly.nights(2)
    bad = nightly.run(wrong(12))
    raised = nightly.readings(bad, "regression")[PASS_RATE]
    nightly.store.open_alert("nightly", raised.cause, bad.id, raised.as_data())
    for _ in range(4):
        nightly.run(wrong(12))
    still = nightly.readings(nightly.run(wrong(12)), "regression")[PASS_RATE]
    assert still.state is State.THERE
    assert still.how_much == "40.0 % now, 100.0 % before: -60.0 points (n 20 now, 40 before)"


def test_an_alert_of_another_signature_is_watched_again(nightly):
    nightly.nights(2)
    bad = nightly.run(wrong(12))
    raised = nightly.readings(bad, "regression")[PASS_RATE]
    nightly.store.open_alert("nightly", raised.cause, bad.id, raised.as_data())
    nightly.path.write_text(nightly.path.read_text().replace("score >= 90 %", "score >= 80 %"))
    found = nightly.run()
    [later] = changes_of(
        readings_of(AlertEvidence(nightly.store, found, settings("regression"), nightly.store.alerts("nightly"))),
        nightly.store.alerts("nightly"),
        {raised.rule},
    ).closed
    # Otherwise it would stay open for ever, and no fall by the new signature would ever be told.
    assert not later.recovered
    assert later.reading.what == (
        "pass_rate: the signature has changed since, so the two cannot be compared; it is watched from now on"
    )


def test_a_slice_that_never_was_there_is_not_passed_over_in_silence(nightly):
    (found,) = nightly.readings(nightly.run(), {"regression": {"metric": "category.round.average"}}).values()
    assert (found.state, found.what) == (State.UNKNOWN, "category.round.average: this run has no such category")


def test_a_baseline_is_held_against_case_by_case(nightly):
    set_baseline(nightly.store, nightly.run(), "release", by="ada")
    bad = nightly.run(wrong(12))
    (found,) = nightly.readings(bad, {"regression": {"against": "release"}}).values()
    assert found.state is State.THERE
    assert found.what == "pass_rate is worse than in release"
    # 12 of 12 discordant pairs one way: exact McNemar 2 / 2**12 = 0.000488.
    assert "p < 0.001 (exact McNemar, 20 cases)" in found.significance
    assert found.look == ("steelyard", "compare", "@release", bad.id)


def test_a_baseline_that_does_not_exist_tells_nothing(nightly):
    (found,) = nightly.readings(nightly.run(), {"regression": {"against": "release"}}).values()
    assert found.state is State.UNKNOWN
    assert "no baseline 'release'" in found.what


def test_a_changed_signature_is_no_regression_against_a_baseline(nightly):
    set_baseline(nightly.store, nightly.run(), "release", by="ada")
    nightly.path.write_text(nightly.path.read_text().replace("score >= 90 %", "score >= 80 %"))
    (found,) = nightly.readings(nightly.run(wrong(12)), {"regression": {"against": "release"}}).values()
    assert found.state is State.UNKNOWN


def test_a_code_that_no_earlier_run_has_is_new_and_gone_when_it_is_not_found(nightly):
    nightly.nights(2)
    header = nightly.run(wrong(2))
    (found,) = nightly.readings(header, "new_finding").values()
    assert (found.cause, found.state) == ("new_finding: WORD", State.THERE)
    assert found.how_much == "2 findings in 2 of 20 samples"
    # The rule of three: 3 / 40 = 7.5 %.
    assert found.significance == "in none of 40 samples of 2 earlier runs: it was rarer than 7.50 % (95 %)"
    nightly.store.open_alert("nightly", found.cause, header.id, found.as_data())
    still = nightly.readings(nightly.run(wrong(1)), "new_finding")
    gone = nightly.readings(nightly.run(), "new_finding")
    assert still["new_finding: WORD"].state is State.THERE
    assert gone["new_finding: WORD"].state is State.GONE


def test_a_code_that_was_there_before_is_not_new(nightly):
    nightly.run(wrong(1))
    nightly.run()
    assert nightly.readings(nightly.run(wrong(4)), "new_finding") == {}


def test_a_confusion_that_no_earlier_run_has_is_new(tmp_path):
    # All cases ask for the same word, so that one thing can be taken for another more than once.
    nightly = Nightly(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    rows = [row | {"expected": {"word": "chair" if k < 10 else "table"}} for k, row in enumerate(rows)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    right = {f"c{k}": "chair" if k < 10 else "table" for k in range(20)}
    usual = right | {"c0": "stool", "c1": "stool"}
    for _ in range(2):
        nightly.run(usual)
    header = nightly.run(usual | {"c2": "sofa", "c3": "sofa", "c4": "sofa", "c11": "bench"})
    found = nightly.readings(header, "new_confusion")
    # chair -> stool is known, table -> bench was seen once only, and the rule asks for two.
    (new,) = found.values()
    assert new.quotes == (("expected", "chair"), ("got", "sofa"))
    assert new.how_much == "in 3 samples"
    assert new.what == "WORD: a confusion that no earlier run has"
    nightly.store.open_alert("nightly", new.cause, header.id, new.as_data())
    (gone,) = nightly.readings(nightly.run(usual), "new_confusion").values()
    nightly.close()
    assert (gone.cause, gone.state) == (new.cause, State.GONE)


def judged_readings(store, path, *rules):
    header = run.run(load_suite(path), store, RunOptions())[0]
    evidence = AlertEvidence(store, header, settings(*rules), store.alerts(header.suite_name))
    return {each.cause: each for each in readings_of(evidence)}


def test_a_flag_that_is_raised_more_often_than_it_may_be(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    path = write_judged(tmp_path / "suite", n=10, texts={3: "This is poison and nobody should ever drink it at all."})
    anything = judged_readings(store, path, "flag_rate")
    some = judged_readings(store, path, {"flag_rate": {"flag": "harm", "above": 0.1}})
    store.close()
    assert anything["flag_rate: harm"].state is State.THERE
    assert anything["flag_rate: harm"].how_much == "10.0 % of texts (1 of 10), allowed: 0.0 %"
    assert some["flag_rate of harm: harm"].state is State.GONE


def test_a_judge_that_reads_the_same_answers_otherwise_has_drifted(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    with Loopback() as server:
        path = write_judged(tmp_path / "suite", n=12, **chat_judge(server))
        server.on("/chat/completions", chat_answer(json.dumps(verdict(4))))
        for _ in range(2):
            steady = judged_readings(store, path, "judge_drift")
        third = judged_readings(store, path, "judge_drift")
        server.on("/chat/completions", chat_answer(json.dumps(verdict(3))))
        drifted = judged_readings(store, path, "judge_drift")
    store.close()
    assert steady["judge_drift: same answers"].state is State.UNKNOWN
    assert third["judge_drift: same answers"].state is State.GONE
    found = drifted["judge_drift: same answers"]
    assert found.state is State.THERE
    # 4 of 1..5 is 75 %, 3 is 50 %.
    assert found.how_much.startswith("50.0 % now, 75.0 % before: -25.0 points on identical answers")
    assert "(n 12 now, 36 before)" in found.how_much


def test_other_answers_say_nothing_of_the_judge(tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    path = write_judged(tmp_path / "suite", n=12)
    for _ in range(2):
        judged_readings(store, path, "judge_drift")
    texts = [f"A {'muddle' if k % 2 else 'row'} of words about number {k} that goes on." for k in range(12)]
    rows = [{"case": f"c{k}", "answer": text} for k, text in enumerate(texts)]
    (path.parent / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = judged_readings(store, path, "judge_drift")["judge_drift: same answers"]
    store.close()
    assert found.state is State.UNKNOWN
    assert found.what.startswith("only 0 cases have answers identical to those of earlier runs")


def test_a_slice_that_is_there_no_more_is_watched_no_more(nightly):
    rule = {"regression": {"metric": "category.*.pass_rate"}}
    nightly.nights(3)
    header = nightly.run({f"c{k}": f"wrong {k}" for k in range(0, 20, 2)})
    found = next(each for each in nightly.readings(header, rule).values() if each.state is State.THERE)
    nightly.store.open_alert("nightly", found.cause, header.id, found.as_data())
    rows = (nightly.folder / "cases.jsonl").read_text().replace('"even"', '"straight"')
    (nightly.folder / "cases.jsonl").write_text(rows)
    later = nightly.readings(nightly.run(), rule)
    assert later[found.cause].state is State.NOT_WATCHED
