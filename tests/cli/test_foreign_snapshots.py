"""`import --suite` and `export --suite`: a team's own snapshots, read by the format that its suite brings along."""

import json
import os
from contextlib import closing

import pytest

from parts.command import invoke
from parts.counts import of_judge
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from steelyard.exchange import imports
from steelyard.loading.load import load_suite
from steelyard.store.sql import open_store

FORMS = '''
from steelyard import Case, RecordedRun, RecordedSample, UsageError


class Diary:
    """Texts of a diary with the clarity that somebody gave them."""

    def read(self, document):
        if not isinstance(document, dict) or "pages" not in document:
            raise UsageError("it has no pages")
        if document.get("broken"):
            raise KeyError("ink")
        return RecordedRun(
            samples=[self._sample(page) for page in document["pages"]],
            created_at=document.get("moment", 86400.0),
            judge=document.get("by", ""),
            stored={"by": document.get("by"), "pages": len(document["pages"])},
            differences=("mean: 4, the pages give 3",) if "mean" in document else (),
        )

    def _sample(self, page):
        said = page.get("clarity")
        reply = None if said is None else {"reasons": ["a", "b"], "clarity": said, "harm": False}
        case = Case(page["day"], {"number": page.get("number", 1)})
        took = page.get("took", 0.5)
        return RecordedSample(case, page.get("text"), page.get("lost", ""), took, reply, "torn", stored=page)

    def write(self, header, summary, samples):
        pages = [[case.id, sample.call_result.text, sample.score] for sample, case in samples]
        original = header.options.original
        return {"run": header.id, "pages": pages, "kept": original.samples if original else []}


class Half:
    def read(self, document):
        return None
'''
TEXT = "A long day with more than five words in it."
PAGES = [{"day": "mon", "text": TEXT, "clarity": 5}, {"day": "tue", "text": TEXT, "clarity": 3, "ink": "blue"}]


@pytest.fixture
def run_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my"
    folder.mkdir()
    (folder / "forms.py").write_text(FORMS)
    write_judged(folder, suite={"snapshots": "forms:Diary", "limits": {"max_inconclusive": "50 %"}})

    return invoke


def diary(path, pages=PAGES, **more):
    path.write_text(json.dumps({"pages": pages, "by": "my-model", **more}))
    return path


def test_a_foreign_snapshot_is_scored_by_the_suite_and_reported_as_any_run(run_in, tmp_path):
    told = run_in("import", diary(tmp_path / "d.json"), "--suite", "my")
    assert told.startswith("numbers-19700102-000000-")
    report = json.loads(run_in("report", "LAST", "--json"))
    # Clarity 5 and 3 on 1 to 5: 1 and 0.5.
    assert (report["figures"]["average"]["value"], report["figures"]["average"]["n"]) == (0.75, 2)
    assert of_judge(report, "step") == {"recorded": 2}
    assert report["run"]["options"]["imported"]["file"] == "d.json"
    # What is only kept to be written again is in the store and not in the report.
    assert "original" not in report["run"]["options"]
    assert report["run"]["target"]["kind"] == "imported"


def test_what_its_summary_says_and_its_records_do_not_is_listed(run_in, tmp_path):
    told = run_in("import", diary(tmp_path / "d.json", mean=4), "--suite", "my")
    assert "Where its own summary differs from its records (1):\n  mean: 4, the pages give 3\n" in told
    again = json.loads(run_in("import", tmp_path / "d.json", "--suite", "my", "--json"))
    assert (again["new"], again["differences"]) == (False, ["mean: 4, the pages give 3"])


def test_failed_answers_and_judgements_are_inconclusive(run_in, tmp_path):
    pages = [*PAGES, {"day": "wed", "lost": "in the rain"}, {"day": "thu", "text": TEXT}]
    run_in("import", diary(tmp_path / "d.json", pages), "--suite", "my")
    report = json.loads(run_in("report", "LAST", "--json"))
    told = {one["case_id"]: (one["outcome"], one["score"]) for one in report["samples"]}
    assert told["wed"] == ("target_failed", None)
    assert told["thu"] == ("judge_failed", None)
    assert (report["figures"]["average"]["n"], report["figures"]["average"]["n_missing"]) == (2, 2)


def test_what_the_records_do_not_hold_is_said(run_in, tmp_path):
    pages = [*PAGES, {"day": "wed", "lost": "in the rain"}, {"day": "thu", "text": TEXT}]
    told = run_in("import", diary(tmp_path / "d.json", pages), "--suite", "my")
    assert "Note: 1 of 4 records hold no answer: target_failed, in no figure.\n" in told
    assert "Note: 1 of 4 records hold no result of the judge: judge_failed, in no figure (torn).\n" in told
    whole = json.loads(run_in("import", diary(tmp_path / "e.json"), "--suite", "my", "--json"))
    assert whole["lacking"] == []


def test_what_a_judge_gave_stands_where_the_answer_was_not_kept(run_in, tmp_path):
    pages = [PAGES[0], {"day": "wed", "clarity": 2}, {"day": "thu", "clarity": 9}]
    told = run_in("import", diary(tmp_path / "d.json", pages), "--suite", "my")
    assert "Note: 2 of 3 records hold a score without its answer: it is taken as stated.\n" in told
    report = json.loads(run_in("report", "LAST", "--json"))
    outcomes = {one["case_id"]: (one["outcome"], one["score"]) for one in report["samples"]}
    # Clarity 2 on 1 to 5; it is no reading of the same kind as one that rules and checks could look at.
    assert (outcomes["wed"], outcomes["thu"]) == (("scored", 0.25), ("judge_failed", None))
    assert (report["figures"]["average"]["value"], report["figures"]["outcomes.excluded"]["value"]) == (1, 1)


def test_a_file_without_a_date_is_dated_by_itself_and_says_so(run_in, tmp_path):
    path = diary(tmp_path / "d.json", moment=None)
    os.utime(path, (1_700_000_000, 1_700_000_000))  # 2023-11-14 22:13:20 UTC
    told = run_in("import", path, "--suite", "my")
    assert told.startswith("numbers-undated-")
    assert "it does not say when it was written: dated by its file, 2023-11-14 22:13 UTC" in told
    assert json.loads(run_in("report", "LAST", "--json"))["run"]["created_at"] == 1_700_000_000
    # A copy has another date and is the same snapshot.
    os.utime(path, (1_800_000_000, 1_800_000_000))
    assert "is already in the store" in run_in("import", path, "--suite", "my")


def test_an_old_file_is_not_last_and_says_so(run_in, tmp_path):
    run_in("import", diary(tmp_path / "new.json", moment=1_700_000_000.0), "--suite", "my")
    told = run_in("import", diary(tmp_path / "old.json"), "--suite", "my")
    assert "It keeps the date it was made on, so LAST is still numbers-20231114-221320-" in told
    old = json.loads(run_in("import", tmp_path / "old.json", "--suite", "my", "--json"))
    assert old["last"] is False
    newest = json.loads(run_in("import", tmp_path / "new.json", "--suite", "my", "--json"))
    assert newest["last"] is True


def test_rules_bind_what_was_judged_elsewhere(run_in, tmp_path):
    run_in("import", diary(tmp_path / "d.json", [{"day": "mon", "text": "Too short.", "clarity": 5}]), "--suite", "my")
    report = json.loads(run_in("report", "LAST", "--json"))
    means = [report["figures"][f"judge.dimension.clarity.{name}"]["value"] for name in ("uncapped_mean", "capped_mean")]
    assert means == [5, 2]


def test_a_run_is_written_in_the_suites_own_format(run_in, tmp_path):
    run_in("import", diary(tmp_path / "d.json"), "--suite", "my")
    told = run_in("export", "LAST", "out.json", "--suite", "my")
    assert told.endswith(" written to out.json\n")
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["pages"] == [["mon", TEXT, 1.0], ["tue", TEXT, 0.5]]
    assert written["kept"] == PAGES


def test_our_own_snapshot_of_an_imported_run_can_be_imported_elsewhere(run_in, tmp_path):
    run_in("import", diary(tmp_path / "d.json"), "--suite", "my")
    run_in("export", "LAST", "own.json")
    run_in("import", "own.json", "--store", "other.db")
    run_in("export", "LAST", "out.json", "--suite", "my", "--store", "other.db")
    assert json.loads((tmp_path / "out.json").read_text())["kept"] == PAGES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"pages": [', "is not a snapshot: Expecting value: line 1 column 12"),
        ('{"pages": [], "mean": NaN}', "is not a snapshot: it holds NaN, which is no number"),
        (b"\xff\xfe", "is not a snapshot: it is no JSON text"),
        ("[]", "is not a snapshot of suite numbers: it has no pages"),
        ('{"pages": []}', "holds no samples"),
        (
            '{"pages": [{"day": "a"}], "broken": 1}',
            "cannot be read by suite numbers: its format raised KeyError: 'ink' (forms.py:",
        ),
        (
            '{"pages": [{"day": "a", "number": 1}, {"day": "a", "number": 2}]}',
            "two different cases have the id 'a'",
        ),
    ],
)
def test_a_file_that_is_none_is_refused_whole(run_in, tmp_path, content, message):
    path = tmp_path / "d.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message in run_in("import", path, "--suite", "my", code=2)
    assert run_in("runs", "--json").strip() == "[]"


def test_a_suite_without_a_format_says_so(run_in, tmp_path):
    write_judged(tmp_path / "plain")
    told = run_in("import", diary(tmp_path / "d.json"), "--suite", "plain", code=2)
    assert "the suite numbers has no snapshots of its own: write snapshots: module:Name into it" in told


def test_a_run_of_another_suite_is_not_written(run_in, tmp_path):
    run_in("import", diary(tmp_path / "d.json"), "--suite", "my")
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "forms.py").write_text(FORMS)
    write_judged(folder, suite={"suite": "words", "snapshots": "forms:Diary"})
    told = run_in("export", "LAST", "out.json", "--suite", "other", code=2)
    assert "scored suite numbers, not words" in told
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("forms:Half", "snapshots: forms:Half has no write"),
        ("forms:Nobody", "forms.py has no 'Nobody'"),
        ("forms", "snapshots is code of your own, written module:Name"),
    ],
)
def test_a_format_that_is_none_is_a_mistake_of_the_suite(run_in, tmp_path, written, message):
    write_judged(tmp_path / "my", suite={"snapshots": written})
    assert message in run_in("import", diary(tmp_path / "d.json"), "--suite", "my", code=2)


def test_a_suite_that_redacts_keeps_nothing_beside_what_it_redacted(run_in, tmp_path):
    write_judged(tmp_path / "my", suite={"snapshots": "forms:Diary", "redact": {"emails": True}})
    page = {"day": "mon", "text": f"{TEXT} Write to ann@example.org.", "clarity": 3, "from": "ann@example.org"}
    run_in("import", diary(tmp_path / "d.json", [page]), "--suite", "my")
    run_in("export", "LAST", "own.json")
    written = (tmp_path / "own.json").read_text()
    assert "ann@example.org" not in written
    assert "[EMAIL]" in written


def test_an_import_that_was_killed_is_gone_on_with(run_in, tmp_path, monkeypatch):
    path = diary(tmp_path / "d.json")
    monkeypatch.setattr(imports, "finish", lambda *_, **__: 1 / 0)
    store, suite = open_store(None), load_suite("my")
    with pytest.raises(ZeroDivisionError):
        imports.import_foreign(suite, store, path)
    store.close()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert json.loads(run_in("import", path, "--suite", "my", "--json"))["new"] is True
    assert json.loads(run_in("report", "LAST", "--json"))["figures"]["average"]["n"] == 2


def test_without_a_suite_a_foreign_file_says_how_it_can_be_read(run_in, tmp_path):
    told = run_in("import", diary(tmp_path / "d.json"), code=2)
    assert "is not a Steelyard snapshot" in told
    assert told.endswith("If another tool wrote it, name the suite that reads it: --suite SUITE")


def test_a_record_that_does_not_say_how_long_it_took_has_no_latency(run_in, tmp_path):
    pages = [{**PAGES[0], "took": None}, PAGES[1]]
    told = run_in("import", diary(tmp_path / "d.json", pages), "--suite", "my")
    assert "Note: 1 of 2 records do not say how long they took: they are in no figure of latency.\n" in told
    report = json.loads(run_in("report", "LAST", "--json"))
    # The figure stands on the one that says it, with its n.
    assert (report["figures"]["latency.p50"]["value"], report["figures"]["latency.p50"]["n"]) == (0.5, 1)
    assert [one["latency"] for one in report["slowest"]] == [0.5]
    assert {one["case_id"]: one["latency"] for one in report["samples"]} == {"mon": None, "tue": 0.5}
    # Nor does the next one look slow, or itself too fast, beside it.
    run_in("import", diary(tmp_path / "e.json"), "--suite", "my")
    with closing(open_store(None, create=False)) as store:
        kept = [store.run(one.id) for one in store.runs()]
        assert [one.suspect for one in kept] == [(), ()]
        assert store.usual_latency(kept[0].suite_name, kept[0].target, before=1e12) == [0.5, 0.5]


def test_an_imported_run_is_not_scored_again_and_it_is_said_what_to_do(run_in, tmp_path):
    run_in("import", diary(tmp_path / "d.json"), "--suite", "my")
    told = run_in("rescore", "LAST", code=2)
    assert "was imported from d.json" in told
    assert "steelyard import d.json --suite numbers --store ANOTHER" in told


@pytest.fixture
def live(run_in, tmp_path):
    """Scores the suite's own four texts by a model on loopback that finds all of them fine; gives the run's name."""
    with judge_server(verdict(3)) as server:

        def run(model="my-model", labelled=True):
            more = {"snapshots": "forms:Diary", "limits": {"max_inconclusive": "50 %"}, "gates": []}
            write_judged(tmp_path / "my", **chat_judge(server, model=model), suite=more)
            if not labelled:
                path = tmp_path / "my" / "cases.jsonl"
                rows = [json.loads(line) | {"expected": {"labels": None}} for line in path.read_text().splitlines()]
                path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            run_in("run", "my")
            return json.loads(run_in("runs", "--json"))[0]["id"]

        yield run


def recorded(path, clarity=4, **more):
    """A diary of the same four texts."""
    pages = [{"day": f"c{k}", "number": k, "text": TEXT, "clarity": clarity} for k in range(4)]
    return diary(path, [page | more for page in pages], moment=86400.0)


def imported(run_in, path):
    return json.loads(run_in("import", path, "--suite", "my", "--json"))["run"]


def test_an_imported_run_with_another_judge_is_compared_either_way(run_in, live, tmp_path):
    mine, old = live("judge-2", labelled=False), imported(run_in, recorded(tmp_path / "d.json"))
    for a, b, told in ((old, mine, "my-model -> judge-2"), (mine, old, "judge-2 -> my-model")):
        found = json.loads(run_in("compare", a, b, "--json", code=4))
        assert told in found["headline"]["confounded_by"][0]
        assert found["pairs"]["comparable"] == 4
        assert found["attribution"]["portions"][0]["causes"] == ["judge", "system"]
    # Nobody can ask the judge of a file, and that is said.
    assert "another tool asked it" in found["attribution"]["joined"][0]


def test_an_imported_and_a_live_run_of_the_same_texts_share_every_pair(run_in, live, tmp_path):
    mine, old = live(labelled=False), imported(run_in, recorded(tmp_path / "d.json"))
    found = json.loads(run_in("compare", old, mine, "--json", code=4))
    # Absent truth and `labels: null` are one truth, and clarity is 4 and 3 of 5: (4 - 1) / 4 and (3 - 1) / 4.
    average = next(one for one in found["metrics"] if one["name"] == "average")
    assert (average["a"]["value"], average["b"]["value"], average["a"]["n"]) == (0.75, 0.5, 4)
    told = {change["part"]: (change["means"], change["sentence"]) for change in found["signatures"]["changes"]}
    assert set(told) == {"judge", "target"}
    assert told["judge"][1].startswith("the file of run A names the judge my-model, and not how it was asked: ")
    assert told["target"][1].startswith("run A was imported: cannot tell ")
    # What is not known blocks a verdict; it can be asked for.
    asked = json.loads(run_in("compare", old, mine, "--allow-mismatch", "--json", code=4))["headline"]
    assert (asked["confounded_by"], asked["in_spite_of"]) == ([], [told["judge"][1]])


def test_what_a_file_does_not_hold_is_unknown_and_what_it_holds_otherwise_has_changed(run_in, live, tmp_path):
    mine = live()
    silent = imported(run_in, recorded(tmp_path / "d.json", number=None))
    found = json.loads(run_in("compare", silent, mine, "--json", code=4))
    assert found["pairs"]["comparable"] == 4
    questions = next(one for one in found["signatures"]["changes"] if one["part"] == "questions")
    assert (questions["means"], questions["n_cases"]) == ("scale", 4)
    assert questions["sentence"].startswith("the file of run A does not hold the question of 4 cases: cannot tell ")
    (part,) = found["attribution"]["portions"]
    assert part["causes"] == ["questions", "truth", "judge", "system"]
    assert "a file does not hold the questions" in found["attribution"]["joined"][0]
    other = imported(run_in, recorded(tmp_path / "e.json", number=7))
    found = json.loads(run_in("compare", other, mine, "--json", code=4))
    assert found["pairs"]["not_comparable"][0] | {"lines": []} == {
        "why": "another question under the same id",
        "count": 4,
        "n_cases": 4,
        "lines": [],
    }
    # The file has the questions and no truth, the suite has both.
    bare = imported(run_in, recorded(tmp_path / "f.json"))
    found = json.loads(run_in("compare", bare, mine, "--json", code=4))
    assert found["pairs"]["comparable"] == 4
    assert "does not hold the truth of 4 cases" in " ".join(found["headline"]["confounded_by"])
    assert found["attribution"]["portions"][0]["causes"] == ["truth", "judge", "system"]
