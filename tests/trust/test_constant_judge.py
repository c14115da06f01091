"""A judge that gives every text the same score is a broken signature, whoever it is."""

from __future__ import annotations

import json

import pytest

from parts.command import invoke
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged

TEXTS = {
    k: "Text {} tells of {} things in its own words, and no other does.".format(k, "many " * k) for k in range(100)
}
PASSING = {"pass": "score >= 50 %", "gates": ["pass_rate >= 90 %"]}
CHECK = "gates that pass on these scores: pass_rate >= 90 %; compare the judge with labels (steelyard judge check)"
REFUSED = f"the judge gives all {{}} texts the same scores (clarity {{}}) although the texts differ; {CHECK}"
TOLD = f"{REFUSED}, or declare the score expected: judge.constant: [clarity]"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return tmp_path


def write(folder, gives, *, labels=(), n=12, **more):
    """A suite whose judge is code that says `gives`, an expression; without labels unless some are given."""
    at = "expected.labels" if labels else ""
    path = write_judged(folder / "judged", n=n, texts=TEXTS, suite=PASSING, labels=at, **more)
    module = path.with_name("measures.py")
    module.write_text(module.read_text().replace('2 if "muddle" in text else 3', gives))
    cases = [
        {"id": f"c{k}", "input": {"number": k}}
        | {"expected": {"labels": {"clarity": labels[k]}, "labelled": TEXTS[k]} if labels else None}
        for k in range(n)
    ]
    path.with_name("cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))


def stated(code):
    found = json.loads(invoke("run", "judged", "--json", code=code))
    return found["verdict"], found["suspect"]


def test_code_that_scores_everything_4_is_suspect_and_no_pass(folder):
    write(folder, "4")
    assert stated(4) == ("AMBIGUOUS", [TOLD.format(12, 4)])
    refused = invoke("baseline", "set", "LAST", "--name", "release", code=2)
    assert "the judge gives all 12 texts the same scores" in " ".join(refused.split())


def test_a_model_that_scores_everything_5_is_suspect_and_no_pass(folder):
    with judge_server(verdict(5)) as server:
        write(folder, "3", **chat_judge(server))
        assert stated(4) == ("AMBIGUOUS", [TOLD.format(12, 5)])


def test_rules_that_cap_some_of_the_scores_do_not_hide_it(folder):
    # What the judge says is looked at, not what the suite's rule on short texts makes of it.
    write(folder, "4", bind=["when size.words < 14 then clarity <= 3"])
    assert stated(4)[1] == [TOLD.format(12, 4)]


def test_labels_that_differ_do_not_excuse_it(folder):
    write(folder, "4", labels=[2, 4, 5] * 4)
    assert stated(4)[1] == [REFUSED.format(12, 4)]


def test_a_judge_that_tells_one_text_from_another_passes(folder):
    write(folder, '5 if "many many many" in text else 4')
    assert stated(0) == ("PASS", [])


def test_where_a_reviewer_gives_all_texts_that_score_it_is_due(folder):
    write(folder, "4", labels=[4] * 12)
    assert stated(0) == ("PASS", [])


def test_four_texts_show_no_habit(folder):
    write(folder, "4", n=4)
    assert stated(0) == ("PASS", [])


def test_yes_to_every_text_is_warned_of_and_may_be_due(folder):
    # A system that is always right and a judge that always says yes look alike on a scale of two.
    rubric = {"scale": [0, 1], "neutral": 1, "dimensions": {"clarity": {"about": "Is it clear?"}}}
    write(folder, "1", rubric=rubric, bind=[])
    found = json.loads(invoke("run", "judged", "--json"))
    assert found["suspect"] == []
    assert any("the same score for every text" in each for each in found["warnings"])


NEARLY = '5 if text.split()[1] in ("7", "8") else 4'
"""4 for 98 of 100 texts."""


def test_nearly_one_score_is_suspect_where_labels_refuse_it_to_more_texts(folder):
    write(folder, NEARLY, labels=[2, 4] * 50, n=100)
    why = "the judge hardly separates texts that differ by their labels"
    assert stated(4) == ("AMBIGUOUS", [f"{why} (clarity 4 to 98 of 100; labels refuse it to 50 of 100); {CHECK}"])


def test_nearly_one_score_is_due_where_labels_say_so(folder):
    write(folder, NEARLY, labels=[3, *[4] * 97, 5, 4], n=100)
    found = json.loads(invoke("run", "judged", "--json"))
    assert found["suspect"] == []
    assert not any("nearly every text" in each for each in found["warnings"])


def test_nearly_one_score_without_labels_is_reported(folder):
    write(folder, NEARLY, n=100)
    found = json.loads(invoke("run", "judged", "--json"))
    assert found["suspect"] == []
    told = "the same score for nearly every text separates few of them: clarity 4 in 98 of 100"
    assert any(told in each for each in found["warnings"])


TWO = {
    "version": "1",
    "scale": [1, 5],
    "neutral": 3,
    "dimensions": {"clarity": {"about": "How clear it is."}, "depth": {"about": "How deep it is."}},
}


@pytest.mark.parametrize(("refused", "suspect"), [(20, True), (2, False)])
def test_one_constant_dimension_is_suspect_where_labels_refuse_it(folder, refused, suspect):
    labels = [2 if k < refused else 4 for k in range(40)]
    write(folder, "2 + len(text) % 3", labels=labels, n=40, rubric=TWO, bind=[])
    module = folder / "judged" / "measures.py"
    module.write_text(module.read_text().replace('"harm": "poison" in text', '"depth": 4'))
    cases = folder / "judged" / "cases.jsonl"
    cases.write_text(cases.read_text().replace('"clarity"', '"depth"'))
    found = json.loads(invoke("run", "judged", "--json", code=4 if suspect else 0))
    assert any("depth 4 to 40 of 40; labels refuse it to 20 of 40" in each for each in found["suspect"]) is suspect


def test_a_score_that_the_suite_expects_is_no_doubt(folder):
    write(folder, "4", constant=["clarity"])
    assert stated(0) == ("PASS", [])
    assert "the same score for every text" not in invoke("report", "LAST")


def test_a_declared_dimension_need_not_be_constant(folder):
    write(folder, '5 if "many many many" in text else 4', constant=["clarity"])
    assert stated(0) == ("PASS", [])


def test_labels_that_refuse_it_contradict_the_declaration(folder):
    write(folder, "4", labels=[2, 4] * 20, n=40, constant=["clarity"])
    verdict, (why,) = stated(4)
    assert verdict == "AMBIGUOUS"
    assert "labels refuse it to 20 of 40" in why
    assert "declare" not in why


def test_a_declared_dimension_must_exist(folder):
    write(folder, "4", constant=["clarty"])
    refused = " ".join(invoke("run", "judged", code=2).split())
    assert "judge.constant: there is no dimension 'clarty': did you mean clarity?" in refused


def checked(code):
    return json.loads(invoke("judge", "check", "judged", "--json", code=code))


@pytest.mark.parametrize(
    "health",
    [["agreement.clarity.kappa >= 0.6"], ["agreement.clarity.spearman >= 0.5"], ["top_share.clarity <= 50 %"], []],
)
def test_a_judge_whose_kappa_is_0_by_definition_is_not_fit(folder, health):
    write(folder, "4", labels=[2, 4] * 30, n=60, health=health)
    card = checked(1)
    assert (card["verdict"], card["headline"][:23]) == ("FAIL", "This judge is not fit: ")
    assert "kappa is 0 by definition" in card["complaints"][0]


def test_one_constant_dimension_is_not_fit_either(folder):
    labels = [2 if k % 2 else 4 for k in range(60)]
    write(folder, "2 + len(text) % 3", labels=labels, n=60, rubric=TWO, bind=[], health=["top_share.clarity <= 50 %"])
    module = folder / "judged" / "measures.py"
    module.write_text(module.read_text().replace('"harm": "poison" in text', '"depth": 4'))
    cases = folder / "judged" / "cases.jsonl"
    cases.write_text(cases.read_text().replace('"clarity"', '"depth"'))
    assert checked(1)["headline"].startswith("This judge is not fit: depth: the same score for all 60 labeled texts")


def test_a_constant_score_that_all_labels_allow_misses_no_threshold(folder):
    write(folder, "4", labels=[4] * 60, n=60, health=["agreement.clarity.exact >= 90 %"])
    assert checked(0)["verdict"] == "PASS"
