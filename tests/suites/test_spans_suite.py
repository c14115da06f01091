"""The spans suite as a whole: what its judge is told, what comes back from one, and the commands, offline."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import steelyard.suites
from parts.command import steelyard as run_steelyard
from parts.judge_server import judge_server
from steelyard import load_suite
from steelyard.auditing.audit import audit
from steelyard.judging.complaints import complaint_check
from steelyard.judging.fence import Fence
from steelyard.judging.judgement import JudgeReader
from steelyard.judging.prompt import messages
from steelyard.records import CallResult, JudgeCall, Mode
from steelyard.scoring.evaluate import Evaluator
from steelyard.scoring.spans.schemes import compare_spans, micro
from steelyard.suites.spans.gold import judge as gold_judge
from steelyard.suites.spans.labeller import label
from steelyard.suites.spans.prompts import gold_spans, placed
from steelyard.suites.spans.taxonomy import categories

FOLDER = Path(steelyard.suites.__file__).parent / "spans"
# Of about one size: among few, the spans of a large one are too large a part of all.
AUDITED = (
    "heron-marsh",
    "baker-night",
    "fox-snow",
    "wedding-barn",
    "surgeon-theatre",
    "detective-office",
    "whale-boat",
)
DIMENSIONS = ["coverage", "precision", "granularity", "taxonomy", "technicalSpecs"]


@pytest.fixture(scope="module")
def suite():
    return load_suite("spans")


@pytest.fixture(scope="module")
def case(suite):
    return next(case for case in suite.cases if case.id == "heron-marsh")


@pytest.fixture(scope="module")
def model_judge(suite):
    return suite.judge.model_copy(update={"members": (suite.judge.judges["model"],)})


@pytest.fixture(scope="module")
def prompt(model_judge, case):
    answer = [
        {"text": "Wide Shot", "role": "shot.type", "confidence": 0.95, "start": 0, "end": 9},
        {"text": "grey\nheron", "role": "subject.identity"},
    ]
    system, user = messages(model_judge, json.dumps(answer), case, {}, Fence("mark")).messages
    return system["content"], user["content"]


def test_spans_are_shown_by_index_text_role_and_confidence(prompt):
    user = prompt[1]
    assert "[0] 'Wide Shot' (shot.type, 0.95)\n" in user
    # A line break in a span cannot begin a line of its own.
    assert "[1] 'grey heron' (subject.identity, no confidence)\n" in user
    assert '"start"' not in user.split("Work in this order")[0]


def test_no_spans_are_shown_as_none(model_judge, case):
    user = messages(model_judge, "[]", case, {}, Fence("mark")).messages[1]["content"]
    assert "<<<BEGIN mark>>>\n(no spans)\n" in user


def test_the_judge_sees_the_prompt_fenced_and_never_the_gold(prompt, case):
    user = prompt[1]
    assert f"<<<BEGIN mark>>>\n{case.input['text']}\n<<<END mark>>>" in user
    assert str(case.expected["spans"][3]["start"]) not in user.split("Work in this order")[0].replace(
        case.input["text"], ""
    )


@pytest.mark.parametrize(
    "word",
    [
        *DIMENSIONS, "totalScore", "missedElements", "falsePositives", "taxonomyErrors", "granularityErrors",
        "categoryScores", "notes", "spanIndex", "expectedRole", "assignedRole", "severity", "suggestion", "issue",
        "critical", "important", "minor", "section_header", "abstract_concept", "non_visual", "instruction_text",
        "duplicate", "other", "too_fine", "too_coarse", "4,096 tokens",
    ],
)  # fmt: skip
def test_the_judge_is_reported_of_every_field_and_value_twice_over(prompt, word):
    system, user = prompt
    assert word in system
    assert word in user


def test_every_role_of_the_taxonomy_and_every_meaning_of_the_rubric_is_reported(prompt, suite):
    system = prompt[0]
    for category in categories().values():
        for role in category.roles:
            assert f"| {role} |" in system
    for dimension in suite.judge.rubric.dimensions:
        assert sorted(dimension.scores) == ["1", "2", "3", "4", "5"]
        assert all(meaning in system for meaning in dimension.scores.values())


def test_the_error_types_have_examples_and_indices_count_from_0(prompt):
    system = prompt[0]
    assert "[0] 'Medium Shot' (shot.type, 0.95)" in system
    assert "numbered from 0" in system
    for example in ("scorched leather apron", "a sense of freedom", "slow pan", "handheld | eye level | 35mm"):
        assert example in system


def test_the_chat_judge_may_write_4096_tokens(suite):
    assert suite.judge.judges["model"].settings.max_tokens == 4096


def judged(suite, model_judge, case, response):
    answer = json.dumps(label(case))
    weighed = Evaluator(suite).evaluate(answer, case)
    reader = JudgeReader(model_judge, {}, complaint_check(model_judge, FOLDER))
    text = response if isinstance(response, str) else json.dumps(response)
    call = JudgeCall(model_judge.members[0].name, 0, 0, CallResult(text=text))
    return reader.read([call], weighed.to_judge, case, weighed.metrics)


@pytest.fixture
def response(case):
    """What a model would say that judges as the gold judge does; fresh for each test."""
    return gold_judge(json.dumps(label(case)["spans"]), case, {})


def test_an_answer_of_a_model_in_the_seeds_shape_is_read_strictly(suite, model_judge, case, response):
    found = judged(suite, model_judge, case, response)
    assert found.mode is Mode.MODEL
    assert found.votes[0].step == "strict"
    assert found.votes[0].remarks == ()
    assert dict(found.uncapped) == response["scores"]


def test_a_wrong_total_is_not_believed(suite, model_judge, case, response):
    total = response["totalScore"]
    response["totalScore"] = 24
    ballot = judged(suite, model_judge, case, response).votes[0]
    assert [remark.code for remark in ballot.remarks] == ["CONTRADICTION"]
    assert ballot.response["totalScore"] == total


def test_scores_survive_when_the_rest_is_not_as_asked_for(suite, model_judge, case, response):
    found = judged(suite, model_judge, case, {"scores": response["scores"], "notes": "too lazy for more"})
    assert found.mode is Mode.BASIC
    assert dict(found.uncapped) == response["scores"]


def test_a_model_that_praises_an_empty_answer_is_bound(suite, model_judge, case, response):
    response |= {"scores": dict.fromkeys(DIMENSIONS, 5), "totalScore": 25}
    for name in ("missedElements", "falsePositives", "taxonomyErrors", "granularityErrors"):
        response[name] = []
    weighed = Evaluator(suite).evaluate('{"spans": []}', case)
    reader = JudgeReader(model_judge, {}, complaint_check(model_judge, FOLDER))
    call = JudgeCall(model_judge.members[0].name, 0, 0, CallResult(text=json.dumps(response)))
    found = reader.read([call], weighed.to_judge, case, weighed.metrics)
    assert set(found.uncapped.values()) == {5}
    assert set(found.capped.values()) == {1}


def test_the_figures_in_the_readme_are_those_of_the_labeller(suite):
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for half in ("tuned-on", "held-out"):
        cases = [case for case in suite.cases if half in case.tags]
        found = [compare_spans(gold_spans(case), placed(label(case)["spans"], case)) for case in cases]
        whole = micro(each.figures("type") for each in found)
        total = sum(gold_judge(json.dumps(label(case)["spans"]), case, {})["totalScore"] for case in cases) / len(cases)
        shares = " | ".join(f"{100 * share:.1f} %" for share in (whole.f1, whole.precision, whole.recall))
        assert f"| {half} ({len(cases)}) | {shares} | {total:.1f} |" in readme


def test_what_knows_nothing_earns_nothing(suite):
    audited = audit(suite.changed(cases=[case for case in suite.cases if case.id in AUDITED]))
    assert audited.complaints == []
    earned = {probe.probe: probe.average for probe in audited.probes}
    assert earned["truth"] == 1
    assert earned["none"] == earned["another"] == earned["everything"] == 0


@pytest.fixture
def own_prompts(tmp_path):
    """Writes a copy of the suite with three prompts of a user's own, which nobody labelled, and gives its folder."""

    def write(**expected):
        shutil.copytree(
            FOLDER, tmp_path / "own", ignore=shutil.ignore_patterns("*.py", "__pycache__"), dirs_exist_ok=True
        )
        lines = [{"id": f"p{k}", "input": {"text": f"Wide Shot of a red fox at dusk, take {k}."}} for k in range(3)]
        (tmp_path / "own" / "prompts.jsonl").write_text("".join(json.dumps(one | expected) + "\n" for one in lines))
        return tmp_path / "own"

    return write


def praise(score=5, **changes):
    """What a model says of spans that it finds nothing wrong with."""
    lists = {name: [] for name in ("missedElements", "falsePositives", "taxonomyErrors", "granularityErrors")}
    scores = dict.fromkeys(DIMENSIONS, score)
    both = {name: {"coverage": 5, "precision": 5} for name in categories()}
    return lists | {"categoryScores": both, "notes": "Fine.", "scores": scores, "totalScore": 5 * score} | changes


def judged_by(server):
    return ("--judge", server.base_url, "--judge-model", "m-1", "--store", "runs.db")


@pytest.mark.parametrize("expected", [{}, {"expected": None}, {"expected": {}}, {"expected": {"spans": None}}])
def test_prompts_without_gold_are_judged_by_a_model_and_can_be_a_baseline(own_prompts, tmp_path, expected):
    own_prompts(**expected)
    with judge_server(praise()) as server:
        ran = run_steelyard("run", "own", *judged_by(server), "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert [(gate["metric"], gate["verdict"], gate["left_out"]) for gate in report["gates"]] == [
        ("score.spans.type_f1", "AMBIGUOUS", True),
        ("score.spans.technical_recall", "AMBIGUOUS", True),
        ("score.spans.misplaced", "AMBIGUOUS", True),
        ("pass_rate", "PASS", False),
    ]
    assert "score.spans.type_f1 >= 80 %: left out: no case of this run has a truth for spans" in report["reasons"]
    locked = run_steelyard("baseline", "set", "LAST", "--name", "release", "--store", "runs.db", cwd=tmp_path)
    assert locked.returncode == 0, locked.stdout + locked.stderr


def test_without_gold_a_bad_judgement_still_fails_and_gates_on_gold_alone_decide_nothing(own_prompts, tmp_path):
    folder = own_prompts()
    with judge_server(praise(2)) as server:
        ran = run_steelyard("run", "own", *judged_by(server), cwd=tmp_path)
        assert (ran.returncode, "left out" in ran.stdout) == (1, True), ran.stdout + ran.stderr
        file = folder / "suite.yaml"
        file.write_text(file.read_text().replace("  - pass_rate >= 80 %\n", ""))
        ran = run_steelyard("run", "own", *judged_by(server), cwd=tmp_path)
    assert ran.returncode == 4, ran.stdout + ran.stderr
    assert "every deciding gate was left out: none is left that could fail" in ran.stdout


def test_a_path_that_is_a_slip_is_refused_though_the_scorer_may_be_skipped(own_prompts, tmp_path):
    own_prompts(expected={"span": []})
    ran = run_steelyard("run", "own", "--store", "runs.db", cwd=tmp_path)
    assert ran.returncode == 2
    assert "expected.spans is in none of the 3 cases: did you mean expected.span?" in ran.stderr


def test_when_every_reply_is_basic_the_scores_are_shown_as_such_with_what_is_wrong(own_prompts, tmp_path):
    own_prompts()
    with judge_server({"scores": dict.fromkeys(DIMENSIONS, 4), "notes": "lazy"}) as server:
        ran = run_steelyard("run", "own", *judged_by(server), cwd=tmp_path)
    assert ran.returncode == 4, ran.stdout + ran.stderr
    shown = " ".join(ran.stdout.split())
    assert "3 samples judged in basic mode: only the judge's scores could be read" in shown
    assert "only bare scores could be read from the judge's answers:" in shown
    assert '"missedElements" is a required property (3)' in shown
    report = json.loads(run_steelyard("report", "LAST", "--json", "--store", "runs.db", cwd=tmp_path).stdout)
    # 4 on a scale from 1 to 5.
    assert (report["figures"]["average"]["value"], report["figures"]["average"]["n"]) == (0.75, 3)


def test_gold_of_no_spans_is_met_by_an_empty_answer_alone(suite, model_judge, case):
    bare = replace(case, expected={"spans": []})
    for text, score in (('{"spans": []}', 5), (json.dumps(label(case)), 1)):
        weighed = Evaluator(suite).evaluate(text, bare)
        said = gold_judge(weighed.to_judge, bare, {})
        assert set(said["scores"].values()) == {score}
        # A model that praises either is bound where the gold says otherwise.
        reader = JudgeReader(model_judge, {}, complaint_check(model_judge, FOLDER))
        call = JudgeCall(model_judge.members[0].name, 0, 0, CallResult(text=json.dumps(praise())))
        assert set(reader.read([call], weighed.to_judge, bare, weighed.metrics).capped.values()) == {score}


def test_a_run_and_a_check_of_the_judge_work_offline(tmp_path):
    store = tmp_path / "runs.db"
    ran = run_steelyard("run", "spans", "--limit", "6", "--store", store, "--json", cwd=tmp_path)
    assert ran.returncode == 1, ran.stderr  # the labeller is not fit to ship, and says so
    report = json.loads(ran.stdout)
    assert report["run"]["n_planned"] == 6
    assert report["verdict"] == "FAIL"
    checked = run_steelyard("judge", "check", "spans", "--limit", "20", "--store", store, cwd=tmp_path)
    # No rule was broken in 20 texts, which does not show that fewer than 5 % would be.
    assert checked.returncode == 4, checked.stdout + checked.stderr
    assert "This judge is not shown to be fit: 4 of 5 thresholds not shown" in checked.stdout
