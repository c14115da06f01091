"""A suite's own code may raise anything and return anything: the run is whole, and a person can read why."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from parts.command import steelyard
from steelyard import Case, Check, CheckState, Claim, Finding, Mark, Reading, Scorer, Suite
from steelyard.records import Outcome, RunState
from steelyard.store.sql import open_store
from steelyard.targets.base import Request, Response
from steelyard.targets.python import response_from

pytestmark = pytest.mark.filterwarnings("error")


class Evil:
    """Breaks whoever looks at it."""

    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __bool__ = __eq__ = __hash__ = __len__ = __iter__ = __repr__


class Stop(BaseException):
    pass


def deep(levels=100_000):
    data: list = []
    for _ in range(levels):
        data = [data]
    return data


def run(tmp_path, read, target=lambda case: "a", cases=2, part=None, **parts):
    """A whole run in a store: its header as stored, its samples, and that report and snapshot can be made of it."""

    class Own(Scorer):
        def read(self, answer, case):
            return read(case)

        def truth(self, case):
            return "a"

    suite = Suite(
        "own",
        cases=[{"id": f"c{k}", "input": "q"} for k in range(cases)],
        target=target,
        score={"own": {"python": Own} | (part or {})},
        **parts,
    )
    done = suite.run(store=str(tmp_path / "runs.db"))
    str(done)  # the report
    store = open_store(str(tmp_path / "runs.db"))
    try:
        return store.run(done.id), [sample for sample, _ in store.samples(done.id)]
    finally:
        store.close()


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (np.float32(0.5), 0.5),
        (np.float64(0.25), 0.25),
        (np.float16(1), 1.0),
        (np.int64(1), 1.0),
        (np.bool_(True), 1.0),
        (np.array(0.5), 0.5),
        (Decimal("0.75"), 0.75),
        (Fraction(1, 4), 0.25),
        (True, 1.0),
        (1, 1.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_of_any_kind_are_scores(tmp_path, value, stored):
    header, samples = run(tmp_path, lambda case: Reading(value))
    assert header.state is RunState.ENDED
    assert [(sample.outcome, sample.score, sample.scores[0].value) for sample in samples] == [
        (Outcome.SCORED, stored, stored)
    ] * 2


def test_numbers_of_any_kind_are_taken_wherever_a_reading_holds_some(tmp_path):
    reading = Reading(
        np.float32(0.25),
        expected={"n": np.int16(3), "of": (Decimal("0.5"), np.float32(0.25))},
        got=np.float32(2),
        counts={"right": np.int64(1), "all": np.float64(2)},
        claims=[Claim(np.float32(0.5), np.bool_(False), "word")],
        marks=[Mark(tuple(np.array([0, 0, 1, 0.5], dtype=np.float32)), "x")],
        checks=[Check("size", CheckState.PASSED, value=np.float32(1.5))],
    )
    header, (sample, _) = run(tmp_path, lambda case: reading)
    assert header.state is RunState.ENDED
    (finding,) = sample.findings
    assert (finding.expected, finding.got) == ({"n": 3, "of": [0.5, 0.25]}, 2.0)
    assert dict(sample.scores[0].counts) == {"right": 1, "all": 2}
    assert sample.claims == (Claim(0.5, False, "word"),)
    assert sample.marks == (Mark((0.0, 0.0, 1.0, 0.5), "x"),)


def raises(error):
    def read(case):
        raise error

    return read


def recurse(case):
    return recurse(case)


async def later(case):
    return Reading(1.0)


CASE_FAILED = {
    "nan": (lambda case: Reading(float("nan")), "gave nan, which is not on its scale from 0 to 1"),
    "inf": (lambda case: Reading(np.float32("inf")), "gave inf, which is not on its scale"),
    "text as value": (lambda case: Reading("0.5"), "returned Reading.value: '0.5' (str), not a number"),
    "complex": (lambda case: Reading(0.5j), "returned Reading.value: 0.5j (complex), not a number"),
    "huge": (lambda case: Reading(Fraction(10**400)), "(Fraction), not a number"),
    "array": (lambda case: Reading(np.zeros(2)), "returned Reading.value: array([0., 0.]) (ndarray), not a number"),
    "note None": (lambda case: Reading(1.0, note=None), "returned Reading.note: None (NoneType), not a text"),
    "note 3": (lambda case: Reading(1.0, note=3), "returned Reading.note: 3 (int), not a text"),
    "exit": (lambda case: exit(3), "raised SystemExit: 3"),
    "recursion": (recurse, "raised RecursionError: maximum recursion depth exceeded"),
    "base exception": (raises(Stop("all\nof it")), "raised Stop: all of it"),
    "Ctrl-C of its own": (raises(KeyboardInterrupt()), "raised KeyboardInterrupt: "),
    "cancelled": (raises(asyncio.CancelledError()), "raised CancelledError: "),
    "long": (raises(ValueError("x" * 10_000)), "raised ValueError: xxx"),
    "evil error": (raises(Exception(Evil())), "raised Exception: what cannot be printed"),
    "0.5": (lambda case: 0.5, "returned 0.5 (float), not a Reading"),
    "None": (lambda case: None, "returned None (NoneType), not a Reading"),
    "list": (lambda case: [Reading(1.0)], "(list), not a Reading"),
    "text": (lambda case: "good", "returned 'good' (str), not a Reading"),
    "generator": (lambda case: (one for one in "a"), "(generator), not a Reading"),
    "coroutine": (later, "(coroutine), not a Reading"),
    "evil": (lambda case: Evil(), "returned what cannot be printed (Evil), not a Reading"),
    "evil got": (lambda case: Reading(0.0, got={"x": deep()}), "Reading.got: data nested more than 100 deep"),
    "findings": (lambda case: Reading(0.0, findings=("OWN",)), "returned Reading.findings: 'OWN' (str), not a Finding"),
    "no list": (lambda case: Reading(0.0, findings="OWN"), "returned Reading.findings: 'OWN' (str), not such a list"),
    "gain": (lambda case: Reading(0.0, findings=(Finding("OWN", gain="1"),)), "Finding.gain: '1' (str), not a number"),
    "place": (lambda case: Reading(0.0, findings=(Finding("OWN", 3),)), "Finding.place: 3 (int), not a text"),
    "span": (
        lambda case: Reading(0.0, findings=(Finding("OWN", span=(1,)),)),
        "Finding.span: (1,) (tuple), not such a list",
    ),
    "code": (lambda case: Reading(0.0, findings=(Finding("NO"),)), "gave the finding code 'NO', which the suite's"),
    "counts": (lambda case: Reading(1.0, counts={"n": 1.5}), "Reading.counts: 1.5 (float), not a whole number"),
    "state": (
        lambda case: Reading(1.0, checks=(Check("a", "passed"),)),
        "Check.state: 'passed' (str), not a CheckState",
    ),
    "keys": (lambda case: Reading(1.0, counts={3: 1}), "Reading.counts: 3 (int), not a text"),
}


@pytest.mark.parametrize("name", CASE_FAILED)
def test_a_scorer_that_breaks_makes_its_sample_inconclusive_and_the_run_is_whole(tmp_path, name):
    read, problem = CASE_FAILED[name]
    header, (broken, fine) = run(tmp_path, lambda case: read(case) if case.id == "c0" else Reading(1.0))
    assert header.state is RunState.ENDED
    assert (fine.outcome, fine.score) == (Outcome.SCORED, 1.0)
    assert (broken.outcome, broken.score, broken.scores) == (Outcome.JUDGE_FAILED, None, ())
    (finding,) = broken.findings
    assert finding.code == "SCORER_ERROR"
    assert finding.evidence.startswith("the scorer of own ")
    assert problem in finding.evidence
    assert "(test_user_code.py:" in finding.evidence
    assert "\n" not in finding.evidence
    assert len(finding.evidence) < 500
    assert broken.call_result.text == "a"


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ({}, "own: the truth is missing; give it, or declare when_unknown"),
        ({"when_unknown": "skip"}, "nothing to score"),
    ],
)
def test_a_scorer_that_finds_no_truth_where_there_is_one_does_not_end_the_run(tmp_path, part, problem):
    read = lambda case: Reading(None if case.id == "c0" else 1.0)  # noqa: E731 - as the others
    header, (broken, fine) = run(tmp_path, read, part=part)
    assert (header.state, fine.score) == (RunState.ENDED, 1.0)
    assert (broken.outcome, broken.score) == (Outcome.JUDGE_FAILED, None)
    assert problem in broken.findings[0].evidence


def test_what_is_only_shown_may_be_anything(tmp_path):
    _, (sample, _) = run(tmp_path, lambda case: Reading(0.0, expected=Evil(), got={"a": {1}, "b": Evil()}))
    assert (sample.outcome, sample.score) == (Outcome.SCORED, 0.0)
    assert sample.findings[0].expected == "what cannot be printed"
    assert sample.findings[0].got == {"a": "{1}", "b": "what cannot be printed"}


@pytest.mark.parametrize(
    ("answer", "kind", "problem"),
    [
        (lambda case: {1, 2}, "bad_answer", "returned a set that is neither text nor JSON data"),
        (lambda case: b"x", "bad_answer", "it holds b'x' (bytes)"),
        (lambda case: np.zeros(2), "bad_answer", "it holds array([0., 0.]) (ndarray)"),
        (lambda case: [Evil()], "bad_answer", "it holds what cannot be printed (Evil)"),
        (lambda case: Evil(), "bad_answer", "it holds what cannot be printed (Evil)"),
        (lambda case: deep(), "bad_answer", "recursion"),
        (lambda case: Response(3), "bad_answer", "returned Response(text=3, "),
        (lambda case: Response("x", status="fine"), "bad_answer", "status='fine'"),
        (raises(Stop("now")), "raised", "Stop: now"),
        (raises(KeyboardInterrupt()), "raised", "KeyboardInterrupt: "),
        (raises(asyncio.CancelledError()), "raised", "CancelledError: "),
        (raises(SystemExit(1)), "raised", "SystemExit: 1"),
        (recurse, "raised", "RecursionError: "),
        (raises(Exception(Evil())), "raised", "Exception: what cannot be printed"),
    ],
)
def test_a_target_that_breaks_makes_its_sample_inconclusive(tmp_path, answer, kind, problem):
    def target(case):
        return answer(case) if case.id == "c0" else "a"

    header, (broken, fine) = run(tmp_path, lambda case: Reading(1.0), target)
    assert header.state is RunState.ENDED
    assert fine.score == 1.0
    assert (broken.outcome, broken.call_result.failure.kind) == (Outcome.TARGET_FAILED, kind)
    assert problem in broken.call_result.failure.message
    assert "(test_user_code.py:" in broken.call_result.failure.message
    assert "\n" not in broken.call_result.failure.message


def test_an_async_target_may_raise_anything(tmp_path):
    async def target(case):
        raise asyncio.CancelledError if case.id == "c0" else Stop("now")

    header, samples = run(tmp_path, lambda case: Reading(1.0), target)
    assert header.state is RunState.ENDED
    assert [sample.call_result.failure.kind for sample in samples] == ["raised", "raised"]


def test_an_answer_may_hold_numbers_of_any_kind():
    answer = {"a": np.float32(0.5), "b": [Decimal("1.5"), Fraction(1, 2), np.int8(3), np.bool_(True)]}
    assert json.loads(response_from(answer, recurse).text) == {"a": 0.5, "b": [1.5, 0.5, 3, True]}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda *_: None, "returned None (NoneType), not a dict"),
        (lambda *_: [1], "returned [1] (list), not a dict"),
        (lambda *_: {"tone": Evil()}, "the judge 'code' gave an answer that cannot be used: tone"),
        (raises(SystemExit(3)), "the judge 'code' raised TypeError"),
        (lambda *_: exit(3), "the judge 'code' raised SystemExit: 3"),
    ],
)
def test_a_judge_in_code_that_breaks_makes_its_sample_inconclusive(tmp_path, answer, problem):
    _, samples = judged(tmp_path, answer)
    assert [sample.outcome for sample in samples] == [Outcome.JUDGE_FAILED] * 2
    assert problem in samples[0].findings[0].evidence
    assert "(test_user_code.py:" in samples[0].findings[0].evidence


def judged(tmp_path, answer):
    rubric = {"scale": [1, 5], "dimensions": {"tone": {"about": "How it sounds."}}}
    judge = {"rubric": rubric, "judges": {"code": {"python": answer}}}
    return run(tmp_path, lambda case: Reading(1.0), judge=judge)


def test_a_judge_in_code_may_give_numbers_of_any_kind(tmp_path):
    _, samples = judged(tmp_path, lambda *_: {"tone": np.int64(4), "reasons": ["it is calm"]})
    assert [(sample.outcome, sample.scores[-1].value) for sample in samples] == [(Outcome.SCORED, 4.0)] * 2


HOOK = "def hide(text):\n    if 'Anna' in text:\n        raise KeyError(text)\n    return {} if text == 'b' else text\n"


@pytest.mark.parametrize(("stated", "problem"), [("Anna", "raised KeyError"), ("b", "returned something else than a")])
def test_what_a_redaction_hook_cannot_redact_is_not_stored(tmp_path, stated, problem):
    (tmp_path / "hooks.py").write_text(HOOK)
    header, samples = run(
        tmp_path, lambda case: Reading(1.0), lambda case: stated, redact={"hook": "hooks:hide"}, folder=tmp_path
    )
    assert header.state is RunState.ENDED
    assert [(sample.outcome, sample.call_result.text) for sample in samples] == [(Outcome.TARGET_FAILED, None)] * 2
    assert samples[0].call_result.failure.message.startswith(f"redact.hook hooks:hide {problem}")
    assert samples[0].call_result.failure.message.endswith(" (hooks.py:1)")
    assert b"Anna" not in (tmp_path / "runs.db").read_bytes()


SCORER = """
import numpy as np
from steelyard import Reading, Scorer

class Own(Scorer):
    def read(self, answer, case):
        {code}

    def truth(self, case):
        return "a"
"""
SUITE = """
suite: own
cases: cases.json
target: {python: "system:answer"}
score: {own: {python: "scorers:Own"}}
gates: ["average >= 50 %"]
"""


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("return Reading(np.float32(1))", 0),
        ("return Reading(1.0, note=None)", 3),
        ("exit()", 3),
        ("return 0.5", 3),
    ],
)
def test_the_commands_say_in_few_lines_what_broke(tmp_path, code, exit_code):
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "cases.json").write_text(json.dumps([{"id": f"c{k}", "input": "q"} for k in range(80)]))
    (tmp_path / "system.py").write_text("def answer(case):\n    return case.id\n")
    (tmp_path / "scorers.py").write_text(SCORER.format(code=code))
    done = steelyard("run", "suite.yaml", cwd=tmp_path)
    assert done.returncode == exit_code, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    # One report, and not a traceback for each of the 80 samples.
    assert len(done.stdout.splitlines()) < 70
    assert ("scorers.py:" in done.stdout) == (exit_code == 3)
    assert steelyard("report", "LAST", cwd=tmp_path).returncode in (0, exit_code)
    assert steelyard("export", "LAST", "run.json", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("exits", "exit_code", "said"),
    [
        ("exit(0)", 2, "steelyard: code of the suite ended the process: SystemExit: 0 ("),
        # As Ray does on SIGTERM, in its handler.
        ("exec('raise SystemExit(15)', {'__name__': 'ray._private.worker'})", 130, ""),
    ],
)
def test_code_of_a_suite_that_exits_makes_up_no_verdict(tmp_path, exits, exit_code, said):
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "cases.json").write_text('[{"id": "c", "input": "q"}]')
    (tmp_path / "system.py").write_text("def answer(case):\n    return case.id\n")
    code = f"return Reading(1.0)\n\n    def keywords_of(self, case):\n        {exits}"
    (tmp_path / "scorers.py").write_text(SCORER.format(code=code))
    done = steelyard("audit", "suite.yaml", cwd=tmp_path)
    assert done.returncode == exit_code
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr


async def test_a_plug_ins_target_is_held_to_the_same(tmp_path):
    from steelyard.engine.call import Caller
    from steelyard.engine.limits import Pace
    from steelyard.suite.models import Limits, Variant

    class Plugin:
        def secrets(self):
            return []

        async def ask(self, ask):
            return ask.case.input()

    for given, kind, problem in (
        (lambda: 3, "bad_answer", "(test_user_code.py:"),
        (lambda: exit(1), "raised", "SystemExit: 1 (test_user_code.py:"),
        (lambda: Response("x", tokens_in=np.int64(3), cost=Decimal("0.5")), None, ""),
    ):
        called = await Caller(Plugin(), Limits(retries=0), Pace(1, None)).call(Request(Case("c", given), Variant()))
        failure = called.call_result.failure
        assert (failure and failure.kind) == kind
        assert problem in (failure.message if failure else "")
    assert (called.call_result.tokens_in, called.call_result.cost) == (3, 0.5)
