"""`steelyard truth`, and what `compare` makes of the ledger, by the real command line on real runs."""

from __future__ import annotations

import json
import signal

import pytest

from parts.command import invoke, outputs, steelyard
from parts.judged_suite import write_judged
from parts.small_suite import write_suite
from steelyard.store.sql import open_store

REWRITTEN = {k: f"said {k}" for k in range(28)}
"""What the system says: 28 of 50 truths rewritten to it make 20 right answers 48."""


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    for name in ("GITHUB_ACTOR", "GITLAB_USER_LOGIN"):
        monkeypatch.delenv(name, raising=False)
    return Bench(tmp_path)


class Bench:
    """A suite of names whose system says `said k`, which is right from k = 30 on."""

    def __init__(self, folder):
        self.ledger = folder / "names" / "ledger.jsonl"

    def write(self, truths=None, cases=range(50), **more):
        answers = self.ledger.parent / "answers.jsonl"
        truth = {k: f"said {k}" if k >= 30 else f"true {k}" for k in cases} | (truths or {})
        rows = [{"id": f"c{k:02d}", "input": {"number": k}, "expected": {"word": truth[k]}} for k in cases]
        write_suite(answers.parent, name="names", target={"recorded": "answers.jsonl"}, **({"gates": []} | more))
        (answers.parent / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        said = [{"case": f"c{k:02d}", "answer": {"word": f"said {k}"}} for k in range(60)]
        answers.write_text("".join(json.dumps(row) + "\n" for row in said))

    def evaluate(self, **suite):
        self.write(**suite)
        invoke("run", "names")

    def edits(self, *more, code):
        return json.loads(invoke("truth", "check", "names", "--json", *more, code=code))["edits"]


def note(*words, code=0):
    return invoke("truth", "note", "names", "--by", "ann", *words, code=code)


def compared(*more, code=0):
    return json.loads(invoke("compare", "LAST~1", "LAST", "--json", *more, code=code))["attribution"]


def test_28_rewritten_truths_of_which_25_have_no_reason(bench, tmp_path):
    bench.evaluate()
    bench.write(truths=REWRITTEN)
    note("--reason", "the maker's mark says so", "--case", "c00", "--case", "c01", "--case", "c02")
    assert "28 edits since run names-" in (said := invoke("truth", "check", "names", code=1))
    assert "25 of them without a reason" in said
    bench.evaluate(truths=REWRITTEN)
    found = compared()
    edits = found["truth_edits"]
    assert (edits["n_cases"], edits["n_with_reason"]) == (28, 3)
    # 25 of 50 readings rose from 0 to 1 for no reason: 50 points of 56.
    assert edits["part_without_reason"] == pytest.approx(0.5)
    told = "of 28 truth edits 3 have a reason in the ledger; the others raise the number by 50.0 points"
    assert found["ledger"] == [told]
    by_case = {edit["case_id"]: edit["reason"] for edit in edits["listed"]}
    assert (by_case["c02"]["text"], by_case["c02"]["by"], by_case["c03"]) == ("the maker's mark says so", "ann", None)
    page, site = tmp_path / "c.md", tmp_path / "c.html"
    terminal = invoke("compare", "LAST~1", "LAST", "--markdown", page, "--html", site)
    for view in (terminal, page.read_text(), site.read_text()):
        flat = " ".join(view.split())
        assert told in flat
        assert "no reason in the ledger" in flat
        assert "mark says so (ann, " in flat
    assert told in " ".join(invoke("compare", "LAST~1", "LAST", "--explain", "why.truth").split())


def test_a_reason_is_shown_and_never_rendered(bench, tmp_path):
    bench.evaluate()
    bench.write(truths={0: "said 0"}, **{"pass": "score >= 80 %"})
    hostile = "<script>x</script> [bold]**y**| `z`\n::error::boo \x1b[31m"
    invoke("truth", "note", "names", "--reason", hostile, "--by", "<b>ann</b>")
    bench.evaluate(truths={0: "said 0"}, **{"pass": "score >= 80 %"})
    page, site = tmp_path / "c.md", tmp_path / "c.html"
    terminal = invoke("compare", "LAST~1", "LAST", "--allow-mismatch", "--markdown", page, "--html", site, code=4)
    assert "<script>x</script> [bold]**y**| `z` ::error::boo" in " ".join(terminal.split())
    assert "\x1b" not in terminal
    for view in (page.read_text(), site.read_text()):
        assert "<script>x" not in view
        assert "<b>ann" not in view
        assert "\n::error" not in view
    assert "**y**" not in page.read_text()
    # Once beside the edit of the truth, once for the scorers.
    assert site.read_text().count("&lt;b&gt;ann&lt;/b&gt;") == 2


def test_the_comment_on_a_pull_request_says_what_has_no_reason(bench, tmp_path):
    bench.evaluate()
    invoke("baseline", "set", "LAST", "--name", "release")
    bench.write(truths={0: "said 0"})
    invoke("ci", "names", "--against", "release", "--markdown", tmp_path / "comment.md")
    comment = (tmp_path / "comment.md").read_text()
    assert "- **Ledger** the truth edit has no reason in the ledger; it raises the number by 2.0 points" in comment


def test_a_run_by_strict_rules_is_held_against_the_suite_by_strict_rules(bench):
    strict = {"score": {"word": {"keywords_or_fuzzy": {"expected": "expected.word"}}}}
    bench.write(**strict)
    invoke("run", "names", "--strict")
    assert bench.edits(code=0) == []
    invoke("run", "names")
    assert bench.edits("--since", "LAST", code=0) == []


def test_all_edits_with_a_reason_are_said_to_have_one(bench):
    bench.evaluate()
    bench.write(truths={0: "said 0", 1: "said 1"})
    note("--reason", "the photo")
    assert [edit["reason"] for edit in bench.edits(code=0)] == ["the photo", "the photo"]
    bench.evaluate(truths={0: "said 0", 1: "said 1"})
    assert compared()["ledger"] == ["all 2 truth edits have a reason in the ledger"]


def test_an_edit_may_be_noted_after_the_run_that_it_is_in(bench):
    bench.evaluate()
    bench.evaluate(truths={0: "said 0"})
    assert compared()["ledger"] == ["the truth edit has no reason in the ledger; it raises the number by 2.0 points"]
    told = "there is nothing to note since run names-"
    assert told in note("--reason", "the photo", code=2)
    note("--reason", "the photo", "--since", "LAST~1")
    assert compared()["ledger"] == ["the truth edit has a reason in the ledger"]


def test_a_reason_that_was_noted_after_the_run_stays_when_the_suite_moves_on(bench):
    bench.evaluate()
    bench.evaluate(truths={0: "said 0"})
    note("--reason", "the photo", "--since", "LAST~1")
    bench.write(truths={0: "said 0"}, **{"pass": "score >= 80 %"})
    found = compared()
    assert "scorers changed since" in found["joined"][0]
    assert found["ledger"] == ["the truth edit has a reason in the ledger"]


def test_a_truth_that_moves_on_after_its_reason_has_none(bench):
    bench.evaluate()
    bench.write(truths={0: "said 0"})
    note("--reason", "the photo")
    bench.write(truths={0: "something else"})
    (edit,) = bench.edits(code=1)
    assert (edit["case"], edit["kind"], edit["reason"]) == ("c00", "edited", None)
    bench.evaluate(truths={0: "something else"})
    told = "the truth edit has no reason in the ledger; it does not move the number"
    assert compared()["ledger"] == [told]


def test_weights_and_pass_rule_have_a_reason_too(bench):
    always = {"regex": {"pattern": "^said", "example": "said 1", "answer": "word"}}
    score = {"word": {"exact": {"expected": "expected.word"}}, "stated": always}
    lenient = {"score": score, "pass": "score >= 40 %"}
    bench.evaluate(score=score)
    bench.write(**lenient)
    (edit,) = bench.edits(code=1)
    assert (edit["what"], edit["case"], edit["kind"]) == ("scorers", None, "edited")
    bench.write(truths={0: "said 0"}, **lenient)
    note("--reason", "the photo", "--case", "c00")
    assert [edit["what"] for edit in bench.edits(code=1) if edit["reason"] is None] == ["scorers"]
    bench.evaluate(**lenient)
    # A wrong word earns half, which passes by the new rule: 20 of 50 becomes 50 of 50.
    (told,) = compared(code=4)["ledger"]
    assert told == (
        "scorers, weights, bands or pass rule: no reason in the ledger; it raises the number by 60.0 points"
    )
    note("--reason", "drafts count", "--scorers", "--since", "LAST~1")
    (told,) = compared(code=4)["ledger"]
    assert told.startswith("scorers, weights, bands or pass rule: drafts count (ann, ")
    assert compared(code=4)["scoring_edits"][0]["reason"]["text"] == "drafts count"


def test_what_is_made_of_a_judges_words_and_the_schema_have_reasons_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_judged(tmp_path / "numbers")
    invoke("run", "numbers")
    write_judged(
        tmp_path / "numbers", bind=["when size.words < 50 then clarity <= 1"], suite={"answer": {"format": "json"}}
    )
    edits = json.loads(invoke("truth", "check", "numbers", "--json", code=1))["edits"]
    assert [edit["what"] for edit in edits] == ["schema", "rules"]
    printed = invoke("truth", "note", "numbers", "--reason", "short texts say nothing", "--scorers")
    assert printed == (
        "  the answer schema\n  rules, checks or rubric of the judge\n2 edits noted in numbers/ledger.jsonl\n"
    )
    invoke("truth", "check", "numbers", code=0)


def test_cases_that_come_and_go_are_edits(bench):
    bench.evaluate()
    bench.write(cases=range(2, 52), truths={50: "true 50", 51: "true 51"})
    kinds = {edit["case"]: edit["kind"] for edit in bench.edits(code=1)}
    assert kinds == {"c00": "removed", "c01": "removed", "c50": "added", "c51": "added"}
    note("--reason", "asked twice", "--case", "c00", "--case", "c01")
    printed = invoke("truth", "check", "names", code=1)
    assert "removed  c00: asked twice (ann, " in printed
    assert "added    c50: no reason yet" in printed
    note("--reason", "new in March")
    assert bench.edits(code=0) != []
    log = json.loads(invoke("truth", "log", "names", "--json"))
    assert [row["case"] for row in log] == ["c51", "c50", "c01", "c00"]


def test_a_truth_that_is_spelled_in_another_way_is_no_edit(bench):
    bench.evaluate()
    path = bench.ledger.with_name("cases.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row | {"expected": row["expected"] | {"era": None}}) + "\n" for row in rows))
    assert bench.edits(code=0) == []
    invoke("run", "names")
    found = json.loads(invoke("compare", "LAST~1", "LAST", "--json"))
    assert (found["pairs"]["comparable"], found["signatures"]["changes"]) == (50, [])


def test_nothing_changed_is_said_and_is_no_failure(bench):
    bench.evaluate()
    assert invoke("truth", "check", "names").startswith("truth and scorers are as they were in run names-")
    told = note("--reason", "x", code=2)
    assert "there is nothing to note since run names-" in told
    assert "truth and scorers are as they were" in told
    assert not bench.ledger.exists()
    assert "there is no ledger.jsonl yet" in invoke("truth", "log", "names")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--case", "c40"), "no edit of the truth of c40 is known since run names-"),
        (("--case", "c1"), "has a case 'c1': did you mean c"),
        (("--case", "c00", "--scorers"), "no edit of the scorers since run names-"),
        (("--case", "c01"), "c01 has its reason in the ledger already"),
    ],
)
def test_naming_what_has_no_edit_to_note_writes_nothing(bench, words, message):
    bench.evaluate()
    bench.write(truths={0: "said 0", 1: "said 1"})
    note("--reason", "the photo", "--case", "c01")
    before = bench.ledger.read_bytes()
    assert message in note("--reason", "x", *words, code=2)
    assert 'give --reason "..."' in note("--reason", "  ", code=2)
    assert bench.ledger.read_bytes() == before


def test_whoever_notes_it_is_named(bench, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTOR", "octocat")
    bench.evaluate()
    bench.write(truths={0: "said 0"})
    invoke("truth", "note", "names", "--reason", "a line\nend and \x1b[31mcolour")
    assert json.loads(bench.ledger.read_text())["by"] == "octocat"
    log = invoke("truth", "log", "names")
    assert "by octocat: a line end and \\x1b[31mcolour" in log


def test_the_run_to_hold_it_against_may_be_a_baseline_or_a_snapshot_without_a_store(bench, tmp_path):
    bench.evaluate()
    invoke("baseline", "set", "LAST", "--name", "release")
    invoke("export", "LAST", "release.json")
    bench.evaluate(truths={0: "said 0"})
    assert bench.edits(code=0) == []
    for name in ("@release", "release"):
        assert [edit["case"] for edit in bench.edits("--since", name, code=1)] == ["c00"]
    (tmp_path / ".steelyard").rename(tmp_path / "elsewhere")
    assert [edit["case"] for edit in bench.edits("--since", "release.json", code=1)] == ["c00"]
    assert "no baseline 'nightly'" in invoke(
        "truth", "check", "names", "--since", "@nightly", "--store", "elsewhere/steelyard.db", code=2
    )


def test_a_run_of_a_part_says_nothing_of_the_other_cases(bench):
    bench.write()
    invoke("run", "names", "--only", "id=c00")
    bench.write(truths={0: "said 0", 1: "said 1"})
    printed, aside = outputs("truth", "check", "names", code=1)
    assert "edited   c00: no reason yet" in printed
    assert "added" not in printed
    assert "covers only a part of the cases" in aside
    # A run of everything is looked at before a newer one of a part.
    bench.evaluate(truths={0: "said 0"})
    invoke("run", "names", "--only", "id=c00")
    bench.write(truths={0: "said 0", 1: "said 1"})
    assert [edit["case"] for edit in bench.edits(code=1)] == ["c01"]


def test_a_run_of_entirely_other_cases_is_not_the_one_to_hold_it_against(bench, tmp_path):
    bench.evaluate()
    others = tmp_path / "others.jsonl"
    row = {"id": "c50", "input": {"number": 50}, "expected": {"word": "said 50"}}
    others.write_text(json.dumps(row) + "\n")
    invoke("run", "names", "--cases", others)
    assert bench.edits(code=0) == []


def test_without_an_ended_run_there_is_nothing_to_hold_it_against(bench, tmp_path):
    bench.write()
    open_store(str(tmp_path / "empty.db")).close()
    told = invoke("truth", "check", "names", "--store", "empty.db", code=2)
    assert told == "no run of suite names has ended in this store: run it first, or name one: --since RUN"


def test_runs_and_snapshots_carry_their_reasons_with_them(bench, tmp_path):
    bench.evaluate()
    bench.write(truths={0: "said 0", 1: "said 1"})
    note("--reason", "the photo", "--case", "c00")
    bench.evaluate(truths={0: "said 0", 1: "said 1"})
    for name, run in (("a", "LAST~1"), ("b", "LAST")):
        invoke("export", run, f"{name}.json")
    told = "of 2 truth edits 1 has a reason in the ledger; the other raises the number by 2.0 points"
    bench.ledger.unlink()
    for runs in (("a.json", "b.json"), ("LAST~1", "LAST")):
        assert json.loads(invoke("compare", *runs, "--json"))["attribution"]["ledger"] == [told]
    for name in ("a", "b"):
        invoke("import", f"{name}.json", "--store", "other.db")
    found = json.loads(invoke("compare", "LAST~1", "LAST", "--store", "other.db", "--json"))["attribution"]
    assert found["ledger"] == [told]
    # From B back to A: that the truth was what it was is no reason to go back to it.
    back = json.loads(invoke("compare", "b.json", "a.json", "--json", code=0))["attribution"]
    assert back["ledger"] == ["none of 2 truth edits has a reason in the ledger; they lower the number by 4.0 points"]


def test_answers_that_are_scored_again_keep_the_reasons_of_now(bench):
    bench.evaluate()
    bench.write(truths={0: "said 0"})
    note("--reason", "the photo")
    invoke("rescore", "LAST", "--suite", "names")
    bench.ledger.unlink()
    assert compared()["ledger"] == ["the truth edit has a reason in the ledger"]


KILLED = """
import os, signal
from pathlib import Path

def answer(case):
    if case.input["number"] == 3 and not Path("go").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return {"word": "word %d" % case.input["number"]}
"""


def test_a_note_between_a_kill_and_its_resume_blocks_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite = write_suite(tmp_path / "words", n=5)
    system, cases = (tmp_path / "words" / name for name in ("system.py", "cases.jsonl"))
    system.write_text(KILLED)
    (tmp_path / "go").touch()
    right = cases.read_text()
    cases.write_text(right.replace('"word 0"', '"a word"'))
    invoke("run", suite, "--concurrency", 1, code=1)
    (tmp_path / "go").unlink()
    cases.write_text(right)
    assert steelyard("run", suite, "--concurrency", 1, cwd=tmp_path).returncode == -signal.SIGKILL
    # It has not ended: the run before it is the one to hold the suite against.
    invoke("truth", "note", suite, "--reason", "a slip")
    (tmp_path / "go").touch()
    resumed = steelyard("run", suite, "--resume", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert compared()["ledger"] == ["the truth edit has a reason in the ledger"]
