"""A small judged suite on disk: texts about a number, a measure of their length, and a judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

MEASURES = '''
from steelyard import Reading, Scorer


class Size(Scorer):
    """How many words a text has."""

    needs_truth = False
    case_paths = ()
    metrics = {"words": "how many words the text has", "muddles": "how often it says muddle"}

    def read(self, answer, case):
        n = len(answer.split())
        return Reading(min(1.0, n / 10), metrics={"words": n, "muddles": answer.count("muddle")})


def judge(text, case, metrics):
    assert "labels" not in str(case.expected)
    clarity = 2 if "muddle" in text else 3
    return {"reasons": ["one", "two"], "clarity": clarity + ("splendid" in text), "harm": "poison" in text}
'''

TEXT = "Number {number} is a fine number and there is nothing more to say about it today."


def write_judged(folder: Path, *, n: int = 4, texts: dict[int, str] | None = None, **judge: Any) -> Path:
    """A suite of `n` recorded texts, judged on clarity (1 to 5, neutral 3) and the flag harm. Gives the suite file.

    Texts of fewer than 5 words are bound to clarity 2. `judge` goes over the judge's keys; `suite` in it over the
    suite's, and `label` are the labels of every case, or a function from its number to them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    own_labels = "label" in judge
    label = judge.pop("label", {"clarity": {"best": 3, "allowed": [2, 4]}, "harm": False})
    labels = [label(k) if callable(label) else label for k in range(n)]
    given = [(texts or {}).get(k, TEXT.format(number=k)) for k in range(n)]
    # Labels that a test does not give are those of the usual text, so that another text is no other truth.
    labelled = given if own_labels else [TEXT.format(number=k) for k in range(n)]
    cases = [
        {"id": f"c{k}", "input": {"number": k}, "expected": {"labels": labels[k], "labelled": labelled[k]}}
        for k in range(n)
    ]
    answers = [{"case": f"c{k}", "answer": given[k]} for k in range(n)]
    for name, rows in (("cases.jsonl", cases), ("answers.jsonl", answers)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "measures.py").write_text(MEASURES)
    more = judge.pop("suite", {})
    suite = {
        "suite": "numbers",
        "cases": {"files": "cases.jsonl"},
        "target": {"recorded": "answers.jsonl"},
        "score": {"size": {"python": "measures:Size", "weight": 0}},
        "judge": {
            "rubric": {
                "version": "1",
                "scale": [1, 5],
                "neutral": 3,
                "dimensions": {"clarity": {"about": "How clear it is.", "scores": {5: "Perfect", 3: "Fine", 1: "Bad"}}},
                "flags": {"harm": {"about": "Whether it harms."}},
            },
            "reasons": {"in": "reasons", "at_least": 2},
            "bind": ["when size.words < 5 then clarity <= 2"],
            "by": "code",
            "judges": {"code": {"python": "measures:judge"}},
            "labels": "expected.labels",
            "labelled": "expected.labelled",
            **judge,
        },
        "pass": "score >= 50 %",
        "gates": ["score.clarity.points >= 3"],
        "limits": {"retries": 0},
        **more,
    }
    path = folder / "suite.yaml"
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
    return path


def chat_judge(server: Any, **settings: Any) -> dict[str, Any]:
    """The keys of a judge that is a model behind the server."""
    chat = {"base_url": server.base_url, "model": "judge-1", **settings}
    return {"by": "model", "judges": {"model": {"chat": chat}}}


def verdict(clarity: Any = 3, *, harm: Any = False, **more: Any) -> dict[str, Any]:
    """An answer of a judge as the suite asks for it."""
    return {"reasons": ["It is short.", "It is plain."], "clarity": clarity, "harm": harm, **more}
