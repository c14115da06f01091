"""A judge that breaks the limits of the suite: the run is suspect, live and imported, and no baseline."""

import json
import shutil
from pathlib import Path

import pytest

import steelyard.suites
from parts.command import steelyard as run_steelyard
from parts.counts import of_judge, outcomes_in
from parts.judge_server import judge_server
from parts.seed_snapshots import CATEGORIES, DIMENSIONS, PROMPT, SPANS, about, judged, result, snapshot
from steelyard import Case, load_suite
from steelyard.judging.complaints import complaint_check
from steelyard.judging.judgement import JudgeReader
from steelyard.records import CallResult, JudgeCall
from steelyard.suites.spans.cross_check import against_itself
from steelyard.suites.spans.snapshots import Format

FOLDER = Path(steelyard.suites.__file__).parent / "spans"
FACTS = ("nothing", "hardly_any", "little_found", "little_right")
LISTS = ("missedElements", "falsePositives", "taxonomyErrors", "granularityErrors")


@pytest.fixture
def own_prompts(tmp_path):
    """A copy of the suite with ten prompts without gold, of which the built-in labeller finds spans."""
    shutil.copytree(FOLDER, tmp_path / "own", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    lines = [{"id": f"p{k}", "input": {"text": f"Wide Shot of a red fox at dusk, {20 + k}fps."}} for k in range(10)]
    (tmp_path / "own" / "prompts.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    return tmp_path / "own"


def reply(number=0, **changes):
    """A judge's whole reply: 20 or 21 of 25, and nothing wrong."""
    scores = dict(zip(DIMENSIONS, (4, 4, 4, 4, 4 + number % 2), strict=True))
    categories = {name: {"coverage": 4, "precision": 4} for name in CATEGORIES}
    nothing = {name: [] for name in LISTS}
    whole = nothing | {"categoryScores": categories, "notes": "Fine.", "scores": scores}
    return whole | {"totalScore": sum(scores.values())} | changes


def run_judged_by(replies, tmp_path, *options):
    with judge_server(*replies) as server:
        judge = ("--judge", server.base_url, "--judge-model", "m-1", "--store", "runs.db")
        return run_steelyard("run", "own", *judge, *options, cwd=tmp_path)


def read(*command, cwd):
    return run_steelyard(*command, "--store", "runs.db", cwd=cwd)


@pytest.mark.usefixtures("own_prompts")
def test_replies_without_the_schema_make_a_run_suspect_and_no_baseline(tmp_path):
    """All ten replies hold scores alone: basic 100 %, and the suite allows 10 %. This was a PASS."""
    ran = run_judged_by([{"scores": reply(k)["scores"]} for k in range(10)], tmp_path, "--quiet")
    sentence = "the judge breaks 1 of the suite's 5 limits: basic 100.0 % is not <= 10.0 % (n 10)"
    assert (ran.returncode, ran.stdout.startswith(f"AMBIGUOUS: SUSPECT: {sentence}; ")) == (4, True), ran.stdout
    locked = read("baseline", "set", "LAST", "--name", "release", cwd=tmp_path)
    assert (locked.returncode, f"suspect: {sentence}" in locked.stderr) == (2, True)
    forced = read("baseline", "set", "LAST", "--name", "release", "--force", "--reason", "old", cwd=tmp_path)
    assert forced.returncode == 0, forced.stderr


@pytest.mark.usefixtures("own_prompts")
def test_broken_limits_are_the_first_reason_in_every_report(tmp_path):
    wrong = [{"spanIndex": 99, "text": "x", "assignedRole": "shot.type", "expectedRole": "camera.lens"}]
    # 7 of 10 votes complain of a span that is not there: 70 % of at most 20 %.
    ran = run_judged_by([reply(k, taxonomyErrors=wrong if k < 7 else []) for k in range(10)], tmp_path)
    sentence = "the judge breaks 1 of the suite's 5 limits: contradictions 70.0 % is not <= 20.0 % (n 10)"
    assert ran.returncode == 4
    bullets = [line for line in ran.stdout.splitlines() if line.startswith((" !", " -", " *"))]
    assert bullets[0].startswith(" ! SUSPECT: the judge breaks 1 of the suite's 5 limits: contradictions")
    data = json.loads(read("report", "LAST", "--json", cwd=tmp_path).stdout)
    assert (data["suspect"][0], data["reasons"][0]) == (sentence, f"suspect: {sentence}")
    files = {kind: tmp_path / f"report.{kind}" for kind in ("markdown", "html", "junit")}
    read("report", "LAST", *(word for kind, path in files.items() for word in (f"--{kind}", path)), cwd=tmp_path)
    markdown = files["markdown"].read_text()
    assert "SUSPECT" in markdown.split("\n- ")[1]
    page = files["html"].read_text()
    assert 0 < page.index("SUSPECT: the judge breaks") < page.lower().index("pass rate")
    assert f'message="suspect: {sentence}'.replace("<", "&lt;") in files["junit"].read_text()
    compared = read("compare", "LAST", "LAST", cwd=tmp_path)
    assert "run A is SUSPECT: the judge breaks 1 of the suite" in " ".join(compared.stdout.split())


def test_an_imported_judge_that_breaks_a_limit_is_suspect_as_a_live_one(tmp_path):
    wrong = [about(3, expectedRole="lighting.source")]  # the role that it has
    results = [result(f"p{k}", judged((4, 4, 4, 4, 4 + k % 2), taxonomyErrors=wrong)) for k in range(4)]
    (tmp_path / "old.json").write_text(json.dumps(snapshot(*results)))
    imported = read("import", "old.json", "--suite", "spans", cwd=tmp_path)
    limit = "the judge breaks 1 of the suite's 5 limits: contradictions 100.0 % is not <= 20.0 % (n 4)"
    assert f"Suspect: {limit}." in imported.stdout
    run_id = imported.stdout.split()[0]
    shown = read("report", run_id, "--json", cwd=tmp_path)
    assert json.loads(shown.stdout)["verdict"] == "AMBIGUOUS"
    assert read("baseline", "set", run_id, "--name", "release", cwd=tmp_path).returncode == 2


def test_full_marks_for_spans_that_the_judge_calls_false_itself_are_reported(tmp_path):
    everything = [about(k, reason="other") for k in range(len(SPANS))]
    contradicting = judged((5, 5, 5, 5, 5), falsePositives=everything, missedElements=[], taxonomyErrors=[])
    results = [result(f"p{k}", judged((4, 4, 4, 4, 4 + k % 2))) for k in range(9)]
    (tmp_path / "old.json").write_text(json.dumps(snapshot(*results, result("all-false", contradicting))))
    run_id = read("import", "old.json", "--suite", "spans", cwd=tmp_path).stdout.split()[0]
    data = json.loads(read("report", run_id, "--json", cwd=tmp_path).stdout)
    # 1 of 10 votes, and the suite allows 5 %.
    limit = "the judge breaks 1 of the suite's 5 limits: self_contradictions 10.0 % is not <= 5.0 % (n 10)"
    assert data["suspect"][0] == limit
    assert data["warnings"][0].startswith("1 of 10 votes give scores that do not fit the errors they list themselves")
    shown = read("show", run_id, "all-false", cwd=tmp_path).stdout
    assert "precision 5 of 5, and falsePositives lists 6 of 6" in " ".join(shown.split())


@pytest.mark.usefixtures("own_prompts")
def test_a_zero_among_the_category_scores_costs_that_value_alone(tmp_path):
    """Three of ten replies score a category 0. They were excluded as basic, and the run was INVALID."""
    zero = {name: {"coverage": 0 if name == "subject" else 4, "precision": 4} for name in CATEGORIES}
    replies = [reply(k, **({"categoryScores": zero} if k < 3 else {})) for k in range(10)]
    ran = run_judged_by(replies, tmp_path, "--json")
    data = json.loads(ran.stdout)
    assert ran.returncode == 0, data["reasons"]
    assert (data["verdict"], of_judge(data, "mode"), data["suspect"]) == ("PASS", {"model": 10}, [])
    assert of_judge(data, "remark") == {"NOT_AS_ASKED": 3}
    means = [data["figures"][f"score.category_{kind}_subject.points"] for kind in ("coverage", "precision")]
    assert [mean["n"] for mean in means] == [7, 10]


def old_shape(**changes):
    """A result as the first team's judge wrote it: an issue called reason, and no suggestion."""
    return judged(granularityErrors=[{"spanIndex": 2, "text": SPANS[2]["text"], "reason": "too_coarse"}], **changes)


@pytest.mark.parametrize(
    ("response", "mode"),
    [
        (judged(), "model"),
        (judged((4, 3, 3.7, 3, 5)), "model"),
        (judged(categoryScores={name: {"coverage": 0, "precision": 5} for name in CATEGORIES}), "model"),
        (old_shape(), "model"),
        ({name: value for name, value in old_shape().items() if name not in ("categoryScores", "notes")}, "model"),
        (judged(missedElements=["slow pan"]), "basic"),
        ({name: value for name, value in judged().items() if name != "falsePositives"}, "basic"),
        ({"scores": judged()["scores"]}, "basic"),
    ],
)
def test_a_reply_reads_the_same_live_and_imported(response, mode):
    suite = load_suite("spans")
    judge = suite.judge.model_copy(update={"members": (suite.judge.judges["model"],)})
    reader = JudgeReader(judge, {}, complaint_check(judge, FOLDER))
    case, text, metrics = Case("a", {"text": PROMPT}), json.dumps(SPANS), {"facts": dict.fromkeys(FACTS, False)}
    call = JudgeCall(judge.members[0].name, 0, 0, CallResult(text=json.dumps(response)))
    live, imported = reader.read([call], text, case, metrics), reader.recorded(response, text, case, metrics)
    assert (live.mode, imported.mode) == (mode, mode)
    assert live.capped == imported.capped == response["scores"]
    assert live.findings == imported.findings
    assert live.votes[0].remarks == imported.votes[0].remarks
    assert live.votes[0].response == imported.votes[0].response


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        (
            {"falsePositives": [about(k, reason="other") for k in range(3)]},
            "precision 4 of 5, and falsePositives lists 3 of 6",
        ),
        ({"falsePositives": [about(0, reason="other")]}, ""),
    ],
)
def test_scores_are_compared_with_the_lists_of_the_same_reply(changes, message):
    found = list(against_itself(judged((4, 4, 4, 4, 4)) | changes, len(SPANS)))
    assert bool(found) is bool(message)
    assert not message or message in found[0]


def figures(run_id, cwd):
    data = json.loads(read("report", run_id, "--json", cwd=cwd).stdout)
    average = data["figures"]["average"]
    return (
        (average["value"], average["n"], outcomes_in(data), data["figures"]["outcomes.excluded"]["value"]),
        data["judge"]["why_failed"],
        data["verdict"],
    )


@pytest.mark.usefixtures("own_prompts")
def test_an_export_has_the_figures_of_the_report_and_an_import_of_it_the_same_failures(tmp_path):
    """Of ten replies two hold scores alone, which are in no figure, and two cannot be used."""
    unusable = reply(scores=dict.fromkeys(DIMENSIONS, 9))
    bare = {"scores": dict.fromkeys(DIMENSIONS, 5)}
    run_judged_by([bare, bare, *[unusable] * 4, *[reply(k) for k in range(6)]], tmp_path, "--concurrency", "1")
    assert read("export", "LAST", "own.json", "--suite", "spans", cwd=tmp_path).returncode == 0
    document = json.loads((tmp_path / "own.json").read_text())
    # Three texts with 20 and three with 21 points; an unusable reply is asked for twice.
    assert (document["summary"]["avgScore"], document["summary"]["errorCount"]) == (20.5, 4)
    errors = [one["error"] for one in document["results"] if one["error"]]
    assert errors[0] == "Excluded: judged by basic, the run by model"
    assert errors[-1].startswith("Judge failed: coverage: 9 is not a number from 1 to 5")
    imported = read("import", "own.json", "--suite", "spans", cwd=tmp_path).stdout
    assert "differs from its records" not in imported
    assert figures(imported.split()[0], tmp_path) == figures("LAST", tmp_path)


@pytest.mark.usefixtures("own_prompts")
def test_of_replies_with_scores_alone_an_export_claims_no_counts_of_errors(tmp_path):
    run_judged_by([{"scores": reply(k)["scores"]} for k in range(10)], tmp_path)
    read("export", "LAST", "own.json", "--suite", "spans", cwd=tmp_path)
    summary = json.loads((tmp_path / "own.json").read_text())["summary"]
    assert (summary["avgScore"], summary["falsePositiveReasons"], summary["errorsBySection"]) == (20.5, None, None)


def test_an_answer_that_cannot_be_read_is_malformed_again_after_an_export(tmp_path):
    (tmp_path / "answers.jsonl").write_text(json.dumps({"case": "heron-marsh", "answer": "no spans today"}) + "\n")
    command = ("run", "spans", "--answers", "answers.jsonl", "--only", "id=heron-marsh")
    ran = read(*command, cwd=tmp_path)
    assert "malformed" in ran.stdout, ran.stdout + ran.stderr
    read("export", "LAST", "own.json", "--suite", "spans", cwd=tmp_path)
    run_id = read("import", "own.json", "--suite", "spans", cwd=tmp_path).stdout.split()[0]
    data = json.loads(read("report", run_id, "--json", cwd=tmp_path).stdout)
    assert outcomes_in(data) == {"malformed": 1}


def stored_summary(**changes):
    """Two records with 19 and 23 points by their scores, and a summary of the tool's own."""
    records = [result("a"), result("b", judged((5, 5, 5, 4, 4)))]
    return Format().read(snapshot(*records, summary=changes)).differences


@pytest.mark.parametrize(
    ("summary", "differences"),
    [
        ({"scoreDistribution": {"excellent": 1, "good": 1, "poor": 0}}, ()),
        ({"scoreDistribution": {"Excellent (22 - 25)": 1, "fair (15-21)": 1, "odd": 7}}, ()),
        ({"scoreDistribution": {"excellent": 29}}, ("scoreDistribution.excellent: 29, the records give 1",)),
        ({"avgScore": 21.0, "avgSpanCount": 6}, ()),
        # Categories are 4 and 5 in both records.
        ({"avgCategoryScores": {"shot": {"coverage": 4.0, "precision": 5}}}, ()),
    ],
)
def test_names_of_bands_and_rounding_are_no_differences(summary, differences):
    assert stored_summary(**summary) == differences


def test_a_figure_that_follows_from_totals_as_the_judge_states_them_is_listed_with_its_record_alone():
    """Gemini states 24 where its scores add up to 19: the tool counts 24 as excellent."""
    records = [result("a", judged(totalScore=24)), result("b", judged((5, 5, 5, 4, 4))), result("c")]
    # 24, 23 and 19: two excellent and one good, 22 on average; by the scores 19, 23 and 19.
    stated = {"avgScore": 22, "scoreDistribution": {"excellent (23-25)": 2, "good (18-22)": 1}}
    found = Format().read(snapshot(*records, summary=stated)).differences
    assert found == ("a: totalScore 24, its scores add up to 19",)
    # (19 + 23 + 19) / 3 = 20.333...
    for written, n in ((20.33, 1), (20.3, 1), (20, 1), (20.3333333, 1), (20.4, 2), (20.34, 2)):
        assert len(Format().read(snapshot(*records, summary={"avgScore": written})).differences) == n, written


def test_a_gate_can_ask_for_the_f1_of_a_role(own_prompts, tmp_path):
    words = {"Wide Shot": "shot.type", "red fox": "subject.identity", "6s": "technical.duration"}
    text = "Wide Shot of a red fox, 6s"
    gold = [
        {"text": word, "role": role, "start": text.index(word), "end": text.index(word) + len(word)}
        for word, role in words.items()
    ]
    case = {"id": "fox", "input": {"text": text}, "expected": {"spans": gold}}
    (own_prompts / "prompts.jsonl").write_text(json.dumps(case) + "\n")
    # All right but the fox, who is called a wardrobe: F1 of subject.identity is 0, of shot.type 1.
    answer = [one | ({"role": "subject.wardrobe"} if one["text"] == "red fox" else {}) for one in gold]
    (tmp_path / "answers.jsonl").write_text(json.dumps({"case": "fox", "answer": {"spans": answer}}) + "\n")
    file = own_prompts / "suite.yaml"
    gates = "gates:\n  - score.spans.shot_type_f1 >= 60 %\n  - score.spans.subject_identity_f1 >= 60 %\n"
    file.write_text(file.read_text().replace("gates:\n", gates))
    ran = read("run", "own", "--answers", "answers.jsonl", "--json", cwd=tmp_path)
    results = {gate["metric"]: (gate["verdict"], gate["value"]["value"]) for gate in json.loads(ran.stdout)["gates"]}
    assert results["score.spans.shot_type_f1"] == ("PASS", 1.0)
    assert results["score.spans.subject_identity_f1"] == ("FAIL", 0.0)


@pytest.mark.usefixtures("own_prompts")
def test_the_short_report_names_every_cause_with_its_count(tmp_path):
    """Two replies lack a list, one is cut down to scores, one cannot be used: each was given the first one's cause."""
    lacking = {name: value for name, value in reply().items() if name != "taxonomyErrors"}
    unusable = reply(scores=dict.fromkeys(DIMENSIONS, 9))
    replies = [lacking, lacking, {"scores": reply()["scores"]}, unusable, unusable, *[reply(k) for k in range(6)]]
    shown = " ".join(run_judged_by(replies, tmp_path, "--concurrency", "1").stdout.split())
    assert '4 of 10 samples: excluded: "taxonomyErrors" is a required property (2), ' in shown
    assert "judge m-1: coverage: 9 is not a number from 1 to 5 (1)" in shown


@pytest.mark.usefixtures("own_prompts")
def test_the_report_shows_the_total_out_of_25(tmp_path):
    shown = run_judged_by([reply(k) for k in range(10)], tmp_path).stdout
    # Half of the texts have 20 points and half 21.
    (line,) = [line for line in shown.splitlines() if line.strip().startswith("Total score")]
    assert line.split()[2:5] == ["20.5", "of", "25"]
