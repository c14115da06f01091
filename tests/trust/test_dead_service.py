"""A service that is dead and answers 200 all the same, each time with another id or time, or in a few wordings."""

import json

import pytest

from parts.command import invoke
from parts.judged_suite import write_judged
from parts.small_suite import write_suite

ANSWERS = {
    "a request id": "{'word': 'word 1', 'request_id': str(uuid.uuid4())}",
    "a time": "{'word': 'word 1', 'time': time.time()}",
    "a counter": "{'word': 'word 1', 'n': next(calls)}",
    "an apology": "{'word': f'Sorry, request {uuid.uuid4()} failed, please try again'}",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_dead_service_whose_answers_vary_does_not_pass(answer, tmp_path, monkeypatch):
    write_suite(tmp_path / "words", n=8, gates=["scored_rate >= 90 %"])
    calls = "import itertools, time, uuid\ncalls = itertools.count()\n"
    (tmp_path / "words" / "system.py").write_text(f"{calls}def answer(case):\n    return {answer}\n")
    monkeypatch.chdir(tmp_path)
    told = " ".join(invoke("run", "words", code=4).split())
    assert "all 8 answers are identical but for what changes with every call" in told


def test_a_live_service_that_adds_an_id_to_its_answers_passes(tmp_path, monkeypatch):
    write_suite(tmp_path / "words", n=8, gates=["pass_rate >= 90 %"])
    right = "{'word': 'word %d' % case.input['number'], 'request_id': str(uuid.uuid4())}"
    (tmp_path / "words" / "system.py").write_text(f"import uuid\ndef answer(case):\n    return {right}\n")
    monkeypatch.chdir(tmp_path)
    assert "identical" not in invoke("run", "words")


IN_TURN = {
    "two wordings": "{'word': ['Sorry, try again', 'We are busy'][next(calls) % 2]}",
    "two wordings with an id": "{'word': ['Sorry', 'Busy'][next(calls) % 2], 'request_id': str(uuid.uuid4())}",
    "five wordings": "{'word': f'We are {\"very \" * (next(calls) % 5)}busy'}",
    "two truths": "{'word': f'word {next(calls) % 2}'}",
}


def write_system(folder, answer, **more):
    write_suite(folder, **more)
    head = "import itertools, uuid\ncalls = itertools.count()\n"
    (folder / "system.py").write_text(f"{head}def answer(case):\n    return {answer}\n")


@pytest.mark.parametrize("answer", IN_TURN.values(), ids=IN_TURN)
def test_a_dead_service_of_a_few_wordings_does_not_pass(answer, tmp_path, monkeypatch):
    write_system(tmp_path / "words", answer, n=24, gates=["scored_rate >= 90 %"])
    monkeypatch.chdir(tmp_path)
    told = " ".join(invoke("run", "words", code=4).split())
    assert "wordings for 24 truths: they hardly depend on what was asked" in told


def relabel(folder, labels):
    """Other truths, in turn."""
    path = folder / "cases.jsonl"
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    for k, case in enumerate(cases):
        case["expected"] = {"word": labels[k % len(labels)], "note": f"as person {k} says"}
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))


@pytest.mark.parametrize("labels", [["spam", "ham"], ["low", "middle", "high", "top", "none"]])
def test_a_choice_of_a_few_labels_is_no_dead_service_however_often_it_is_wrong(labels, tmp_path, monkeypatch):
    answer = f"{{'word': {labels[:2]!r}[case.input['number'] // 3 % 2]}}"
    write_system(tmp_path / "words", answer, n=40, gates=["scored_rate >= 90 %"])
    relabel(tmp_path / "words", labels)
    monkeypatch.chdir(tmp_path)
    assert "wordings" not in invoke("run", "words")


def test_texts_for_a_judge_in_two_wordings_are_suspect(tmp_path, monkeypatch):
    busy = ["We are very busy just now, please come again.", "Sorry, this did not work, ask us tomorrow, how splendid."]
    write_judged(tmp_path / "judged", n=24, texts={k: busy[k % 2] for k in range(24)}, label=None)
    monkeypatch.chdir(tmp_path)
    told = " ".join(invoke("run", "judged", code=4).split())
    assert "the 24 answers are 2 wordings for 24 questions: they hardly depend on what was asked" in told
