"""Labels are of a text: they say nothing of another answer to the same case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from parts.command import invoke
from parts.judged_suite import TEXT, write_judged

N = 24
GATES = {"gates": ["pass_rate >= 80 %"]}


def good(k: int) -> dict[str, object]:
    return {"clarity": {"best": 3 + k % 2}, "harm": False}


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every text passes by the judge and by its labels, and the suite requires a checked judge."""
    monkeypatch.chdir(tmp_path)
    texts = {k: f"{TEXT.format(number=k)} How splendid." for k in range(0, N, 2)}
    return write_judged(tmp_path / "my", n=N, texts=texts, label=good, require_checked=True, suite=GATES)


def answer(suite: Path, text: str, rows: range = range(N)) -> None:
    """Other answers than those that were labelled, to some cases."""
    path = suite.with_name("answers.jsonl")
    given = [json.loads(line) for line in path.read_text().splitlines()]
    for k in rows:
        given[k]["answer"] = text.format(number=k)
    path.write_text("".join(json.dumps(row) + "\n" for row in given))


def checked(code: int) -> dict[str, int]:
    figures = json.loads(invoke("run", "my", "--json", code=code))["figures"]
    names = {"n_labelled": "labels.texts", "n_labelled_otherwise": "labels.otherwise"}
    return {name: figures[figure]["value"] for name, figure in names.items()}


def test_labels_of_the_text_that_was_judged_check_the_judge(suite):
    assert checked(0) == {"n_labelled": N, "n_labelled_otherwise": 0}


def test_labels_of_one_answer_do_not_check_the_judge_on_another(suite):
    answer(suite, "Quite another system wrote of number {number} here, {number} times.")
    answer(suite, "And for the others it wrote how splendid the number {number} is.", range(0, N, 3))
    assert checked(4) == {"n_labelled": 0, "n_labelled_otherwise": N}
    said = " ".join(invoke("report", "LAST").split())
    assert "the judge is unchecked" in said
    assert f"{N} texts have labels given for another text" in said
    assert "by the labels" not in said
    card = " ".join(invoke("judge", "check", "my", "--run", "LAST", code=0).split())
    assert "no labels were given for these texts" in card


def test_the_answers_that_are_still_the_labelled_ones_count_and_the_others_are_reported(suite):
    answer(suite, "Somebody else wrote of number {number}.", range(2))
    # What did not change is not a random sample of what the system answers now.
    assert checked(4) == {"n_labelled": N - 2, "n_labelled_otherwise": 2}
    assert "2 texts have labels given for another text" in " ".join(invoke("report", "LAST").split())


def test_labels_that_do_not_say_of_which_text_they_are_check_nothing(suite):
    data = yaml.safe_load(suite.read_text())
    del data["judge"]["labelled"]
    suite.write_text(yaml.safe_dump(data))
    assert checked(4) == {"n_labelled": 0, "n_labelled_otherwise": N}


def test_where_the_question_holds_the_text_nothing_need_be_named(suite):
    data = yaml.safe_load(suite.read_text())
    del data["judge"]["labelled"]
    suite.write_text(yaml.safe_dump(data))
    path = suite.with_name("cases.jsonl")
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    for case in cases:
        case["input"]["review"] = {"text": case["expected"].pop("labelled").replace(" ", "\n")}
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    assert checked(0) == {"n_labelled": N, "n_labelled_otherwise": 0}


def test_repeats_that_differ_are_labelled_only_where_they_are_the_labelled_text(suite):
    data = yaml.safe_load(suite.read_text())
    data |= {"target": {"python": "system:answer"}, "repeats": 2}
    suite.write_text(yaml.safe_dump(data))
    (suite.parent / "system.py").write_text(
        "import json, pathlib\n"
        "lines = pathlib.Path(__file__).with_name('answers.jsonl').read_text().splitlines()\n"
        "texts = [json.loads(line) for line in lines]\n"
        "texts = {row['case']: row['answer'] for row in texts}\nseen = set()\n"
        "def answer(case):\n"
        "    again = case.id in seen\n    seen.add(case.id)\n"
        "    return texts[case.id] + ' And once more.' * again\n"
    )
    assert checked(4) == {"n_labelled": N, "n_labelled_otherwise": N}
