"""Answers that runs agree on against the truth: suggested with their evidence, decided by a person, worth points."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from parts.command import invoke
from parts.makers import ANSWERS, write_makers
from steelyard.loading.load import load_suite
from steelyard.store.people import LabelRecord
from steelyard.store.sql import open_store
from steelyard.truth.suggestions import suggestions


@pytest.fixture
def makers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    folder = tmp_path / "makers"
    write_makers(folder)
    for name in ANSWERS:
        invoke("run", "makers", "--target", name)
    return folder


ALSO = ("--unchanged", "expected.also")


def suggested(*more):
    return json.loads(invoke("truth", "suggest", "makers", "--json", *more))


def of(case, component="maker"):
    return next(
        item for item in suggested("--all")["suggestions"] if (item["case"], item["component"]) == (case, component)
    )


def test_what_all_say_is_suggested_with_evidence_and_worth(makers):
    found = suggested()
    assert found["runs"] == 3
    assert found["accepted"] == {"n": 0, "points": 0}
    first, second = found["suggestions"]
    assert (first["case"], first["component"], first["truth"], first["value"]) == ("a", "maker", "Kohn", "Thonet")
    assert (first["place"], first["voters"], first["n_voters"], first["systems"]) == ("cases.jsonl:1", 3, 3, 3)
    # 3 of 4 points of one of four cases, in each of the runs.
    assert first["points"] == {"alternative": 18.75, "correction": 18.75}
    assert first["ways"] == {
        "correction": {"expected.maker": "Thonet"},
        "alternative": {"expected.also": ["x y", "Thonet"]},
    }
    # The year counts for 1 of 4; as a number it has no alternatives.
    assert (second["case"], second["component"], second["value"]) == ("d", "year", 1905)
    assert second["points"] == {"correction": 6.25}


def test_too_few_runs_to_agree_are_told_what_to_do(makers):
    shown = invoke("truth", "suggest", "makers", "--agree", 4)
    assert shown == "0 suggestions from 3 runs; 4 voters must say the same: run more systems, or lower --agree\n"


def test_fewer_voters_may_do_and_who_says_unknown_does_not_vote(makers):
    found = {(item["case"], item["component"]): item for item in suggested("--agree", 2)["suggestions"]}
    assert set(found) == {("a", "maker"), ("b", "maker"), ("c", "maker"), ("d", "year")}
    spode, handel = found["b", "maker"], found["c", "maker"]
    assert (spode["voters"], spode["n_voters"], handel["voters"], handel["n_voters"]) == (2, 3, 2, 2)
    # As an alternative it is right in two runs of three; as a correction the third loses what it had.
    assert spode["points"] == pytest.approx({"alternative": 18.75 * 2 / 3, "correction": 18.75 / 3})


def test_the_same_recorded_answers_are_one_voter_and_scored_again_they_are_no_run_more(makers):
    invoke("run", "makers", "--target", "first")
    invoke("rescore", "LAST")
    found = suggested()
    assert found["runs"] == 4
    assert (found["suggestions"][0]["voters"], found["suggestions"][0]["n_voters"]) == (3, 3)
    assert suggested("--run", "LAST", "--run", "LAST~4")["suggestions"] == []


def test_an_accepted_one_is_truth_with_its_reason_and_its_points(makers):
    name = of("a")["id"]
    invoke("truth", "accept", "makers", name[:6], "--as", "alternative", "--reason", "both made it", "--by", "ann")
    assert '"also": ["x y", "Thonet"]' in (makers / "cases.jsonl").read_text()
    line = json.loads((makers / "ledger.jsonl").read_text())
    assert (line["reason"], line["suggestion"]["outcome"], line["suggestion"]["points"]) == (
        "both made it",
        "alternative",
        18.75,
    )
    assert len(line["suggestion"]["runs"]) == 3
    assert suggested()["accepted"] == {"n": 1, "points": 18.75}
    assert "1 accepted suggestion is worth +18.8 points in the runs they came from" in invoke("truth", "log", "makers")
    assert [item["case"] for item in suggested()["suggestions"]] == ["d"]
    # The points are what a run gains: 3 of 4 points on one of four cases.
    before = json.loads(invoke("report", "LAST", "--json"))["figures"]["average"]["value"]
    invoke("rescore", "LAST")
    assert json.loads(invoke("report", "LAST", "--json"))["figures"]["average"]["value"] - before == pytest.approx(
        0.1875
    )
    # A run whose truth it is says what it is worth, and keeps nothing else of it.
    assert "1 accepted suggestion is worth +18.8 points" in " ".join(invoke("report", "LAST").split())
    with closing(open_store()) as store:
        (kept,) = store.run("LAST").description.ledger
    assert (kept["suggestion"]["points"], kept["suggestion"]["value"], "change" in kept) == (18.75, None, False)
    invoke("truth", "revert", "makers", 1, "--reason", "it was not", "--by", "bob")
    assert suggested()["accepted"] == {"n": 0, "points": 0}


def test_a_correction_replaces_the_truth(makers):
    invoke("truth", "accept", "makers", of("d", "year")["id"], "--as", "correction", "--reason", "the catalogue")
    assert load_suite("makers").ledger[0].change == {"expected.year": {"before": 1900, "after": 1905}}
    words = ("truth", "accept", "makers", of("a")["id"], "--as", "correction", "--reason", "r", "--json")
    said = invoke(*words, "--unchanged", "expected.also")
    assert json.loads(said)["change"] == {"expected.maker": {"before": "Kohn", "after": "Thonet"}}


def test_a_rejected_one_is_not_offered_again_unless_asked_for(makers):
    cases = (makers / "cases.jsonl").read_text()
    invoke("truth", "reject", "makers", of("a")["id"], "--reason", "all read the forged label", "--by", "ann")
    assert (makers / "cases.jsonl").read_text() == cases
    assert [item["case"] for item in suggested()["suggestions"]] == ["d"]
    assert of("a")["decision"] == "rejected"
    log = invoke("truth", "log", "makers")
    assert "rejected  a" in log
    assert "all read the forged label" in log
    assert "it rejected a suggestion" in invoke("truth", "revert", "makers", 1, "--reason", "x", code=2)
    # It is no edit: nothing lacks a reason, and a run does not keep it.
    invoke("truth", "check", "makers")
    invoke("truth", "accept", "makers", of("a")["id"], "--as", "correction", "--reason", "it was not forged", *ALSO)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("accept", "makers", "zzz", "--as", "correction"), "there is no suggestion 'zzz'"),
        (("accept", "makers", "zzz", "--as", "correction"), "and give the same --agree and --run here as there"),
        (("accept", "makers", "", "--as", "correction"), "there is no suggestion ''"),
        (("accept", "makers", "YEAR", "--as", "alternative"), "the scorer of year knows one truth alone"),
        (("suggest", "makers", "--run", "nowhere"), "nowhere"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(makers, words, message):
    given = [of("d", "year")["id"] if word == "YEAR" else word for word in words]
    assert message in invoke("truth", *given, *(["--reason", "x"] if words[0] == "accept" else []), code=2)
    assert not (makers / "ledger.jsonl").exists()


def test_what_was_redacted_is_not_written_over_the_truth(makers):
    suite, cases = makers / "suite.yaml", makers / "cases.jsonl"
    suite.write_text(suite.read_text() + "redact: {emails: true}\n")
    cases.write_text(text := cases.read_text().replace("x y", "kohn@example.org"))
    words = ("truth", "accept", "makers", of("a")["id"], "--reason", "x", "--as")
    assert "the truth of a holds personal data, which the suite redacts" in invoke(*words, "alternative", code=2)
    assert cases.read_text() == text
    told = invoke(*words, "correction", code=2)
    assert "expected.also depends on expected.maker" in told
    assert "kohn@example.org" not in told
    invoke(*words, "correction", *ALSO)
    assert cases.read_text() == text.replace("Kohn", "Thonet")


def test_people_who_answered_cases_vote_by_default(makers):
    with closing(open_store(create=False)) as store:
        run = store.run("LAST").id
        said = [("ann", "c", "Handel"), ("bob", "c", "handel"), ("cy", "c", "Tiffany"), ("ann", "b", "unknown")]
        labels = [
            LabelRecord(
                "makers", case, who, "answer", json.dumps({"maker": maker}), run_id=run if who == "bob" else None
            )
            for who, case, maker in said
        ]
        # What is no answer of a person, and what is of another suite, does not vote.
        others = [LabelRecord("makers", "c", "dee", "verdict", True), LabelRecord("else", "c", "eve", "answer", "{}")]
        store.people.add_labels([*labels, *others])
    (found,) = [item for item in suggested()["suggestions"] if item["case"] == "c"]
    assert (found["voters"], found["n_voters"], found["systems"], found["people"]) == (4, 5, 2, 2)
    text = invoke("truth", "suggest", "makers")
    assert "    4 of 5 voters, 2 systems and 2 people, 4 of 5 answers; as alternative +12.5 points" in text
    # Of an answer that was given beside a run it is known what was asked: this is another question now.
    cases = makers / "cases.jsonl"
    cases.write_text(cases.read_text().replace('"input": "c"', '"input": "C?"'))
    assert [item for item in suggested("--agree", 1)["suggestions"] if item["case"] == "c"] == []


def test_a_suggestion_is_shown_and_never_rendered(makers):
    text = invoke("truth", "suggest", "makers")
    assert '    truth: "Kohn"\n    answer: "Thonet"\n    3 of 3 voters, 3 systems, 3 of 3 answers; ' in text
    assert "; as alternative +18.8 points, as correction +18.8 points\n" in text
    assert text.endswith("2 suggestions from 3 runs\n")


def test_words_of_a_name_become_keywords_as_the_seed_has_it(makers):
    path = makers / "suite.yaml"
    path.write_text(
        path.read_text().replace(
            "alternatives: {expected: expected.maker, also:", "keywords_or_fuzzy: {expected: expected.maker, keywords:"
        )
    )
    found = of("a")
    assert found["ways"]["alternative"] == {"expected.also": ["x y", "thonet"]}
    # One of two keywords found is half of 3 of 4 points; the likeness of the names gave some of them before.
    assert found["points"]["correction"] == pytest.approx(18.75 * (1 - likeness("Kohn", "Thonet")))
    assert found["points"]["alternative"] == pytest.approx(18.75 * (0.5 - likeness("Kohn", "Thonet")))


def test_a_field_of_an_object_is_suggested_and_what_was_redacted_is_not(makers):
    path = makers / "suite.yaml"
    fields = "score: {all: {fields: {answer: '', expected: expected, fields: {maker: 3, year: 1}}}}\n"
    path.write_text(path.read_text().partition("score:")[0] + fields)
    found = of("a", "all.maker")
    assert (found["ways"], found["points"]) == ({"correction": {"expected.maker": "Thonet"}}, {"correction": 18.75})
    for name in ANSWERS:
        answers = makers / f"{name}.jsonl"
        answers.write_text(answers.read_text().replace("Thonet", "[NAME] Thonet").replace("THONET", "[NAME] Thonet"))
        invoke("run", "makers", "--target", name)
    runs = [word for at in range(3) for word in ("--run", f"LAST~{at}" if at else "LAST")]
    assert {item["case"] for item in suggested(*runs)["suggestions"]} == {"d"}


def likeness(truth, answer):
    pairs = [{word.lower()[at : at + 2] for at in range(len(word) - 1)} for word in (truth, answer)]
    return 2 * len(pairs[0] & pairs[1]) / (len(pairs[0]) + len(pairs[1]))


def test_what_a_judge_scores_is_no_part_of_the_truth_that_answers_could_correct(makers):
    with closing(open_store(None)) as store:
        assert suggestions(load_suite("tarot"), store, ()) == []


def test_a_correction_of_a_name_asks_for_its_keywords_and_the_wrong_answer_keeps_nothing(makers):
    suite = makers / "suite.yaml"
    scorer = "keywords_or_fuzzy: {expected: expected.maker, keywords: expected.also}"
    text = suite.read_text()
    suite.write_text(text.replace("alternatives: {expected: expected.maker, also: expected.also}", scorer))
    assert suite.read_text() != text
    words = ("truth", "accept", "makers", of("a")["id"], "--as", "correction", "--reason", "the stamp")
    before = (makers / "cases.jsonl").read_text()
    told = invoke(*words, code=2)
    assert 'expected.also (now ["x y"]) depends on expected.maker' in told
    assert "--set expected.also=... or --unchanged expected.also" in told
    assert (makers / "cases.jsonl").read_text() == before
    assert "--unchanged expected.alos" in invoke(*words, "--unchanged", "expected.alos", code=2)
    invoke(*words, "--set", 'expected.also=["thonet"]')
    (case,) = (case for case in load_suite("makers").cases if case.id == "a")
    assert case.expected["maker"] == "Thonet"
    assert case.expected["also"] == ["thonet"]
