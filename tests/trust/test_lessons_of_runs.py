"""The lies of five home-made harnesses about whole runs: their ruler, their judges, their services, their repeats.

Each is a line of docs/design/0008-planted-lies.md, which also names those that other files plant.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import steelyard
from parts.attributed import write_names
from parts.command import invoke
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from parts.lengths import simulations
from parts.loopback import Loopback, error, json_answer
from parts.looped import for_every
from parts.small_suite import http_target, write_suite
from steelyard import scorers
from steelyard.cli import steelyard as group

AMBIGUOUS, INVALID = 4, 3


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return tmp_path


def compared(*more: object, code: int) -> dict[str, Any]:
    """What `compare` says of the last two runs."""
    return json.loads(invoke("compare", "LAST~1", "LAST", "--json", *more, code=code))


def invoke_any(*arguments: object) -> str:
    """What a command prints, whatever it ends with."""
    return CliRunner().invoke(group, [str(each) for each in arguments]).stdout


def names(name: float, stated: float) -> dict[str, Any]:
    """The weights of the true name and of a word that the system always says."""
    return {
        "name": {"exact": {"expected": "expected.name"}, "weight": name},
        "stated": {"regex": {"pattern": "^said", "example": "said 1", "answer": "name"}, "weight": stated},
    }


def spelt(*ignored: str) -> dict[str, Any]:
    return {"name": {"exact": {"expected": "expected.name", "ignore": list(ignored)}}}


SHOUTED = {k: f"SAID {k}" for k in range(20)}
NO_TRUTH = dict.fromkeys(range(20))
UNKNOWN = {"score": names(1, 1) | {"name": {"exact": {"expected": "expected.name"}, "when_unknown": "skip"}}}
MADE_TO_LOOK_BETTER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "truths rewritten to what was said": ({}, {"truths": {k: f"said {k}" for k in range(28)}}),
    "three truths rewritten": ({}, {"truths": {0: "said 0", 1: "said 1", 2: "said 2"}}),
    "failing cases removed": ({}, {"cases": range(10, 50)}),
    "passing cases added": ({"cases": range(40)}, {"cases": range(50)}),
    "failing answers time out": ({}, {"answers": dict.fromkeys(range(20))}),
    "failing component has no weight": ({"score": names(1, 1)}, {"score": names(0, 1)}),
    "failing component weighs less": ({"score": names(1, 1)}, {"score": names(1, 99)}),
    "pass mark lowered": ({"score": names(1, 1)}, {"score": names(1, 1), "pass": "score >= 40 %"}),
    "letter case ignored": (
        {"truths": SHOUTED, "score": spelt()},
        {"truths": SHOUTED, "score": spelt("case")},
    ),
    "failing truths taken out": (UNKNOWN, {**UNKNOWN, "truths": NO_TRUTH}),
}


class TestTheSameAnswersMadeToLookBetter:
    """28 of 50 truths rewritten, failing dimensions at weight 0, prompts that broke the judge removed."""

    @for_every("lie", MADE_TO_LOOK_BETTER)
    def test_no_system_is_better_for_what_was_done_to_its_ruler(self, lie):
        rates = []
        for suite in MADE_TO_LOOK_BETTER[lie]:
            write_names(Path("names"), **suite)
            rates.append(json.loads(invoke("run", "names", "--json"))["figures"]["pass_rate"]["value"])
        assert rates[0] < rates[1]
        data = json.loads(invoke_any("compare", "LAST~1", "LAST", "--json"))
        assert data["verdict"] in ("same", "cannot tell")
        system = [each for each in data["attribution"]["portions"] if "system" in each["causes"]]
        assert sum(each["change"]["value"] for each in system) == pytest.approx(0)

    @pytest.mark.parametrize("part", [("--limit", 10), ("--only", "id=c30"), ("--only", "id=c31", "--only", "id=c32")])
    def test_a_part_of_the_cases_is_not_better_than_the_whole(self, part):
        write_names(Path("names"))
        invoke("run", "names")
        invoke("run", "names", *part)
        assert json.loads(invoke_any("compare", "LAST~1", "LAST", "--json"))["verdict"] in ("same", "cannot tell")

    def test_the_same_answers_under_other_ids_are_not_better(self):
        write_names(Path("names"))
        invoke("run", "names")
        for file in ("cases.jsonl", "answers.jsonl"):
            path = Path("names", file)
            kept = [line for line in path.read_text().splitlines() if not any(f"c0{k}" in line for k in range(10))]
            path.write_text(re.sub(r'"c(\d\d)"', r'"d\1"', "\n".join(kept)))
        invoke("run", "names")
        assert compared(code=AMBIGUOUS)["verdict"] == "cannot tell"


class TestMeansOfMeans:
    """Baselines averaged daily averages without weights."""

    def test_a_small_category_weighs_what_its_samples_weigh(self):
        cases = [{"id": str(k), "input": k, "expected": "x", "category": "few" if k < 2 else "many"} for k in range(20)]
        score = {"word": scorers.exact(expected="expected")}
        run = steelyard.Suite(
            "means", cases=cases, target=lambda case: "x" if case.input < 2 else "y", score=score
        ).run()
        # 2 of 20; the mean of both categories' means would be 50 %.
        assert run.summary.overall["average"].value == pytest.approx(0.1)

    def test_calls_that_failed_make_no_case_weigh_more(self):
        write_names(Path("names"), cases=range(28, 32), answers={28: None})
        figures = json.loads(invoke("run", "names", "--json"))["figures"]
        # Of 3 that answered 2 are right; the fourth is missing, not wrong, and not out of sight.
        rate = figures["pass_rate"]
        assert (rate["value"], rate["n"], rate["n_missing"]) == (pytest.approx(2 / 3), 3, 1)

    @pytest.mark.parametrize("answered", [1, 9])
    @pytest.mark.parametrize("gate", ["pass_rate >= 90 %", "average >= 90 %", "median >= 10 %"])
    def test_a_few_answers_do_not_pass_for_all_whatever_may_be_missing(self, answered, gate):
        missing = dict.fromkeys(range(30 + answered, 50))
        write_names(Path("names"), cases=range(30, 50), answers=missing, gates=[gate])
        invoke("run", "names", "--max-inconclusive", 1, code=AMBIGUOUS)


SHORT = "Too short."


def judged(server: Any, model: str = "judge-1", *, n: int = 8, texts: dict[int, str] | None = None, **more: Any) -> str:
    """A run whose texts a model judges; the second is too short for more than 2 by the suite's rule."""
    chosen = {1: SHORT} | (texts or {})
    suite = {"limits": {"retries": 0, "max_inconclusive": 0.6}, "gates": []} | more.pop("suite", {})
    write_judged(Path("judged"), n=n, texts=chosen, suite=suite, **chat_judge(server, model=model), **more)
    return invoke_any("run", "judged", "--json")


def scores_of(report: str, name: str = "clarity") -> list[float | None]:
    overall = json.loads(report)["figures"][f"score.{name}.points"]
    return [overall["value"], overall["n"], overall["n_missing"]]


class TestJudges:
    """Caps that were only told, failed calls that became zeros, another judge behind the same number."""

    def test_a_cap_holds_whatever_the_judge_says(self):
        with judge_server(verdict(5)) as server:
            report = judged(server)
        # Seven times 5 of 1 to 5 and once 2, the cap: 37 / 8; the judge said 5 each time.
        assert scores_of(report) == [pytest.approx(37 / 8), 8, 0]

    @for_every(
        "broken",
        [
            *(error(500), error(401), "", "I cannot judge this.", "{}", "null", "[]", {"clarity": 4}),
            *(verdict(0), verdict(6), verdict(None), verdict("N/A"), verdict(5.5), verdict(True), verdict([4])),
            *({"error": "overloaded"}, verdict(-1), verdict(harm="no"), verdict({"score": 4})),
        ],
    )
    def test_a_judge_that_fails_is_no_zero_and_no_score(self, broken):
        def answered(request: dict[str, Any]) -> Any:
            return verdict(4) if "Number 0 is" in str(request["messages"]) else broken

        with judge_server(answered if not hasattr(broken, "status") else verdict(4), broken) as server:
            report = judged(server, n=2, texts={1: "Number 1 is a number of which much could be said."})
        assert scores_of(report) == [4, 1, 1]

    def test_judge_calls_that_fail_where_it_is_bad_make_nothing_better(self):
        def failing(request: dict[str, Any]) -> Any:
            return "no" if "foggy" in str(request["messages"]) else verdict(4)

        bad = {k: f"Number {k} is foggy, and nobody could say what it is about." for k in range(2, 6)}
        with judge_server(lambda seen: verdict(1 if "foggy" in str(seen["messages"]) else 4)) as server:
            before = judged(server, texts=bad)
        with judge_server(failing) as server:
            after = judged(server, texts=bad)
        assert scores_of(before)[0] < scores_of(after)[0]
        assert json.loads(invoke_any("compare", "LAST~1", "LAST", "--json"))["verdict"] in ("same", "cannot tell")

    @pytest.mark.parametrize(
        "change",
        [
            {"model": "judge-2"},
            {"system": "Judge texts, and be kind. Answer in JSON."},
            {"bind": ["when size.words < 2 then clarity <= 2"]},
            {"repeats": 3},
            {"combine": "majority", "repeats": 3},
        ],
    )
    def test_another_judge_makes_no_system_better(self, change):
        with judge_server(lambda seen: verdict(2)) as server:
            before = judged(server, n=12)
        with judge_server(lambda seen: verdict(4)) as server:
            after = judged(server, n=12, **change)
        assert scores_of(before)[0] < scores_of(after)[0]
        said = json.loads(invoke_any("compare", "LAST~1", "LAST", "--json"))
        assert said["verdict"] in ("same", "cannot tell")

    def test_a_heuristic_that_steps_in_is_in_no_mean_of_the_judge(self):
        def answered(request: dict[str, Any]) -> Any:
            return verdict(2) if "Number 0 is" in str(request["messages"]) else "clarity: 5\nharm: false"

        with judge_server(answered) as server:
            assert scores_of(judged(server, n=4, texts={1: "Number 1 is as good as any other."}))[:2] == [2, 1]


LISTED = {"type": "object", "required": ["found"], "properties": {"found": {"type": "array"}}}


class TestDeadServices:
    """A wrong model id: 200 with nothing in it, 14 ms, 100 % stable, and 4 of 8 passed."""

    @pytest.mark.parametrize(
        "body",
        [
            {"found": [], "errors": [{"code": 404, "message": "no such model"}]},
            {"found": [], "errors": ["no such model"]},
            {"found": [], "error": "no such model"},
            {"found": [], "error": {"message": "no such model"}},
            {"found": [], "meta": {"errors": [{"code": "MODEL_FAILURE"}]}},
            {"found": [], "id": 1},
        ],
    )
    def test_nothing_is_never_a_pass(self, body):
        expect = {"how_many": {"count": "found[]", "between": [0, 5]}}
        with Loopback() as server:
            server.on("/ask", lambda seen: json_answer({"id": seen.json["number"]} | body))
            target = {"http": {"url": server.base_url + "/ask", "json": {"number": "{{ input.number }}"}}}
            more = {"expect": expect, "answer": {"schema": LISTED}, "gates": ["cases.passed >= 50 %"], "repeats": 2}
            suite = write_suite(Path("service"), n=8, target=target, **more)
            data = yaml.safe_load(suite.read_text())
            del data["score"], data["pass"]
            suite.write_text(yaml.safe_dump(data, sort_keys=False))
            report = json.loads(invoke_any("run", "service", "--json"))
        assert report["verdict"] in ("AMBIGUOUS", "INVALID")
        assert report["suspect"] or report["verdict"] == "INVALID"

    @pytest.mark.parametrize("status", [404, 401, 500, 204])
    def test_errors_are_no_answers(self, status):
        with Loopback() as server:
            server.on("/ask", error(status, ""))
            write_suite(Path("service"), n=8, target=http_target(server.base_url), limits={"retries": 0})
            invoke("run", "service", code=INVALID)


CHECKED = {
    "suite": "checked",
    "cases": [
        {"id": "fine", "input": {"case": "fine"}, "expected": {"kinds": ["red"], "code": None}},
        {"id": "refused", "input": {"case": "refused"}, "expected": {"kinds": None, "code": "NO_TEXT"}},
    ],
    "answer": {"schema": LISTED},
    "expect": {
        "how_many": {"count": "found[]", "between": [1, None], "unless": "expected.code"},
        "kind": {"each": "expected.kinds", "in": "found[].kind"},
        "refused": {"status": 422, "body_has": "expected.code", "only_if": "expected.code"},
    },
    "repeats": 3,
    "stability": {"items": "found[]", "key": "kind"},
    "limits": {"retries": 0, "max_inconclusive": 0.9, "concurrency": 1},
    "gates": ["cases.passed >= 100 %"],
}
RED = json_answer({"found": [{"kind": "red"}]})
REFUSED = json_answer({"code": "NO_TEXT"}, status=422)


def checked(fine: list[Any], refused: list[Any]) -> dict[str, Any]:
    """The report of three answers to a case that asks for something red, and of three to one that must be refused."""
    left = {"fine": iter(fine), "refused": iter(refused)}
    with Loopback() as server:
        server.on("/ask", lambda seen: next(left[seen.json["case"]]))
        http = {"url": server.base_url + "/ask", "json": "input", "expect_errors": {"status": [404, 422]}}
        Path("suite.yaml").write_text(yaml.safe_dump(CHECKED | {"target": {"http": http}}, sort_keys=False))
        return json.loads(invoke_any("run", "suite.yaml", "--json"))


class TestChecksOverRepeats:
    """Only the first of n runs was looked at, any error passed an error case, and a dead call took its checks along."""

    def test_what_is_right_passes(self):
        assert checked([RED] * 3, [REFUSED] * 3)["verdict"] == "PASS"

    @pytest.mark.parametrize(
        ("fine", "refused"),
        [
            ([RED, RED, json_answer({"found": [{"kind": "blue"}]})], [REFUSED] * 3),
            ([RED, json_answer({"found": []}), RED], [REFUSED] * 3),
            ([RED, RED, json_answer({"code": "NO_TEXT"}, status=422)], [REFUSED] * 3),
            ([RED] * 3, [REFUSED, REFUSED, json_answer({"code": "NO_RULES"}, status=422)]),
            ([RED] * 3, [REFUSED, REFUSED, json_answer({"code": "NO_TEXT"}, status=404)]),
            ([RED] * 3, [REFUSED, REFUSED, json_answer({"code": "NO_TEXT_AT_ALL"}, status=422)]),
            ([RED] * 3, [REFUSED, REFUSED, RED]),
        ],
    )
    def test_one_wrong_answer_of_three_fails_its_case(self, fine, refused):
        report = checked(fine, refused)
        assert report["verdict"] == "FAIL"
        assert report["figures"]["cases.passed"]["value"] == 0.5

    @pytest.mark.parametrize("dead", [error(500), error(403), error(429)])
    def test_a_dead_call_leaves_its_checks_in_the_count(self, dead):
        report = checked([RED, RED, dead], [REFUSED] * 3)
        assert report["verdict"] in ("AMBIGUOUS", "INVALID")
        held = report["figures"]["cases.passed"]
        # One of both planned cases holds, and whether the other does is not known.
        assert (held["value"], held["n"], held["n_missing"]) == (0.5, 1, 1)

    def test_stability_of_nothing_is_no_figure(self):
        nothing = json_answer({"found": []})
        report = checked([nothing] * 3, [REFUSED] * 3)
        assert report["figures"]["stability.presence"]["value"] is None


class TestLatency:
    """ "Overall latency" pooled only each case's ends, and timeouts were in the mean."""

    def test_every_call_that_answered_counts_once_and_no_other(self):
        write_suite(Path("words"), n=2, repeats=5, target={"recorded": "answers.jsonl"}, gates=[])
        rows = [{"case": "c0", "repeat": k, "latency": 1 + 8 * (k == 4)} for k in range(5)]
        rows += [{"case": "c1", "repeat": k, "latency": 2} for k in range(4)]
        lines = [row | {"answer": {"word": f"word {row['case'][1]}"}} for row in rows]
        lines.append({"case": "c1", "repeat": 4, "latency": 60, "failed": "timeout"})
        Path("words/answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        figures = json.loads(invoke("run", "words", "--json", "--max-inconclusive", 0.5))["figures"]
        # Four times 1 s, four times 2 s, once 9 s; the ends alone would be (1 + 9 + 2 + 2) / 4 = 3.5 s.
        # The timeout took at least 60 s: the mean is a lower bound and says so, the median of the ten is exact.
        mean, median = figures["latency.mean"], figures["latency.p50"]
        assert (mean["value"], mean["n"], mean["at_least"]) == (pytest.approx(81 / 10), 10, True)
        assert (median["value"], median["at_least"]) == (2, False)


class TestArms:
    """One hash for "is it in the experiment" and for "which arm": at 1 % traffic 219 of 219 went to control."""

    @for_every("traffic", ["1 %", "10 %", "50 %"])
    @for_every("unit", ["{}", "user-{}", "{}@mail.example"])
    @pytest.mark.simulation
    def test_both_arms_are_filled_at_any_traffic(self, traffic, unit):
        n = simulations(20_000, 4_000)
        ids = [unit.format(k) for k in range(n)]
        given = {"input": "\n".join(ids)}
        done = CliRunner().invoke(group, ["ab", "assign", "--name", "tone", "--traffic", traffic, "--json"], **given)
        arms = Counter(each["arm"] for each in json.loads(done.stdout))
        taken = arms["control"] + arms["treatment"]
        share = float(traffic[:-2]) / 100
        # Five standard errors of each.
        assert abs(taken - n * share) < 5 * (n * share * (1 - share)) ** 0.5
        assert abs(arms["control"] - taken / 2) < 5 * (taken / 4) ** 0.5


class TestRepeats:
    """ "Two of three runs" was never exercised: each prompt ran once."""

    @pytest.mark.parametrize(("repeats", "code"), [(1, AMBIGUOUS), (2, AMBIGUOUS), (3, 0)])
    def test_a_rule_over_three_repeats_is_open_with_fewer(self, repeats, code):
        criteria = {"valid": {"pass": "valid in >= 2 of 3 repeats"}}
        write_suite(Path("words"), repeats=3, gates=[], criteria=criteria)
        invoke("run", "words", "-n", repeats, code=code)


class TestPersonalData:
    """Judge notes quoted users' names past the redaction."""

    @pytest.mark.parametrize(
        "note", ["Names Ann Lee.", "Names ANN LEE.", "Names Ann\u00a0Lee.", "Names Ann\nLee.", "Names A\u00adnn Lee."]
    )
    def test_a_name_gets_out_by_no_note_of_a_judge(self, note):
        redact = {"redact": {"names": ["input.user"]}}
        case = {"id": "c0", "input": {"user": "Ann Lee", "number": 0}, "expected": {"labels": {"clarity": 3}}}
        said = json.dumps(verdict(3) | {"reasons": [note, "Cold."]}).replace("A", "\\u0041")
        with judge_server(said) as server:
            chosen = {"n": 1, "suite": redact | {"gates": []}}
            write_judged(Path("judged"), **chosen, **chat_judge(server))
            Path("judged/cases.jsonl").write_text(json.dumps(case) + "\n")
            told = invoke("run", "judged", "--save", "run.json")
        told += invoke("report", "LAST", "--html", "page.html", "--markdown", "page.md")
        kept = [Path(name).read_text() for name in ("run.json", "page.html", "page.md")]
        store = b"".join(file.read_bytes() for file in Path(".steelyard").iterdir() if file.is_file())
        for text in (told, *kept, store.decode(errors="replace")):
            assert not re.search(r"nn.{0,8}lee\b", text, re.IGNORECASE | re.DOTALL)
