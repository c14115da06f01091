"""The recipe for faithfulness in docs/judging.md, with a scripted judge on loopback."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from parts.command import invoke
from parts.judge_server import judge_server, last_message

PAGE = Path(__file__).parents[2] / "docs" / "judging.md"
# By a word of the question: what the judge says. Quotes of `tickets` and `cafe` are not in the passages.
SAID = {
    "museum open": (
        [("Open ten to six.", "open from TEN to six"), ("Closed on Mondays.", "“It is closed on Mondays”")],
        5,
    ),
    "ticket cost": ([("Nine euros.", "costs nine euros"), ("Students pay half.", "Students pay half the price")], 4),
    "park there": ([("A car park behind the house.", "")], 2),
    "café": ([("There is one and it bakes.", "the cakes are baked in the house")], 5),
}
"""By hand: 3 of 6 claims have a passage. One of four judgements holds a made-up quote (`tickets`); the quote of `cafe`
is from the answer, which is no lie and proves nothing: its 5 counts as the neutral 3."""


def answer(request):
    said, grounded = next(said for word, said in SAID.items() if word in last_message(request))
    return {"claims": [{"claim": claim, "quote": quote} for claim, quote in said], "grounded": grounded}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grounded")
    for name, text in re.findall(r"```\w+ file=grounded/(\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (folder / name).write_text(text)
    with judge_server(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        invoke("run", ".", "--judge", server.base_url, "--judge-model", "scripted", code=1)
        assert all("Quotes are checked against input.passages" in str(request) for request in server.requests)
        assert len(server.requests) == len(SAID)
        sent = "\n".join(message["content"] for message in server.requests[0]["messages"])
        assert "Split the answer into claims" in sent
        quote = "The words of a passage that say it, word for word; empty when none does."
        assert f'"claims": [{{"claim": "<One thing that the answer says.>", "quote": "<{quote}>"}}]' in sent
        yield json.loads(invoke("report", "LAST", "--json"))


def test_faithfulness_is_the_share_of_claims_that_a_passage_says(report):
    gate = next(gate for gate in report["gates"] if gate["metric"] == "score.support.passage")
    assert (gate["value"]["value"], gate["verdict"]) == (0.5, "FAIL")
    assert gate["value"]["low"] < 0.5 < gate["value"]["high"]
    found = {sample["case_id"]: [item["got"] for item in sample["findings"]] for sample in report["samples"]}
    assert found["opening"] == []
    assert found["tickets"] == ["Students pay half."]
    assert "A car park behind the house." in found["parking"]


def test_a_score_is_believed_only_with_a_quote_from_a_passage(report):
    points = {
        sample["case_id"]: next(score for score in sample["scores"] if score["name"] == "grounded")
        for sample in report["samples"]
    }
    assert {name: score["value"] for name, score in points.items()} == {
        "opening": 5,
        "tickets": 4,
        "parking": 2,
        "cafe": 3,
    }
    # 5, 4, 2 and 3 of 1 to 5 are 100, 75, 25 and 50 %: nothing in `cafe` and `parking` is supported.
    assert {sample["case_id"]: sample["passed"] for sample in report["samples"]} == {
        "opening": True,
        "tickets": True,
        "parking": False,
        "cafe": False,
    }
    assert points["cafe"]["capped_by"] == "evidence: no quote from input.passages for a score above 3"


def test_a_quote_that_stands_nowhere_is_made_up(report):
    assert report["figures"]["judge.made_up_quotes"]["value"] == 0.25


@pytest.mark.usefixtures("report")
def test_remarks_are_counted_of_the_votes_even_where_no_rule_binds_the_judge():
    text = " ".join(invoke("report", "LAST", "--full").split())
    assert "Other remarks UNPROVEN 1 of 4 votes in mode model" in text
    assert "Broken rules n/a: no rule binds the judge" in text


def test_a_case_without_the_field_is_a_mistake_of_the_suite(tmp_path, report):
    for name, text in re.findall(r"```\w+ file=grounded/(\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(text.replace(', "passages": []', ""))
    message = invoke("run", tmp_path, code=2)
    assert (
        "case parking: judge.evidence.quotes_from: input.passages is missing: write [] where there is none" in message
    )


def test_quotes_may_be_looked_up_in_what_the_answer_retrieved(tmp_path):
    for name, text in re.findall(r"```\w+ file=grounded/(\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(text)
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    replies = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    answers = [
        {
            "case": case["id"],
            "answer": json.dumps(
                {"reply": reply["answer"], "retrieved": [{"text": text} for text in case["input"].pop("passages")]}
            ),
        }
        for case, reply in zip(cases, replies, strict=True)
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    suite = (tmp_path / "suite.yaml").read_text()
    suite = suite.replace("quotes_from: input.passages", "quotes_from: 'answer.retrieved[].text'")
    (tmp_path / "suite.yaml").write_text(suite.replace("target:", "answer: {format: json}\ntarget:"))
    code = (tmp_path / "grounding.py").read_text()
    (tmp_path / "grounding.py").write_text(code.replace('case.input["passages"]', 'metrics["answer"]["passages"]'))
    with judge_server(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        invoke("run", ".", "--judge", server.base_url, "--judge-model", "scripted", code=1)
        report = json.loads(invoke("report", "LAST", "--json"))
    # As where the passages are in the case: 3 of 6 claims have one, and the quote of `cafe` is from the reply.
    gate = next(gate for gate in report["gates"] if gate["metric"] == "score.support.passage")
    assert gate["value"]["value"] == 0.5
    points = {
        sample["case_id"]: next(score["value"] for score in sample["scores"] if score["name"] == "grounded")
        for sample in report["samples"]
    }
    assert points == {"opening": 5, "tickets": 4, "parking": 2, "cafe": 3}
