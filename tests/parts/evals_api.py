"""OpenAI's Evals API on loopback: evals, runs and output items in pages, as its reference documents them.

`CLIENT` is a module that makes the requests of the official `openai` package (3.51: cursors `after` and `limit`, until
`has_more` is false) for where that is not installed.
"""

from __future__ import annotations

from typing import Any

from parts.loopback import Behaviour, Loopback, Seen, json_answer

CLIENT = """
import json, os, urllib.request

class Record:
    def __init__(self, data):
        self.data, self.id = data, data["id"]

    def to_json(self, indent=2):
        return json.dumps(self.data, indent=indent)

def listed(path, limit):
    after = ""
    while True:
        address = f"{os.environ['OPENAI_BASE_URL']}{path}?limit={limit}{after}"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"})
        with urllib.request.urlopen(request) as answer:
            page = json.load(answer)
        yield from map(Record, page["data"])
        if not page["has_more"] or not page["data"]:
            return
        after = f"&after={page['data'][-1]['id']}"

class Items:
    def list(self, run_id, *, eval_id, limit):
        return listed(f"/evals/{eval_id}/runs/{run_id}/output_items", limit)

class Runs:
    output_items = Items()

    def list(self, eval_id, *, limit):
        return listed(f"/evals/{eval_id}/runs", limit)

class Evals:
    runs = Runs()

    def list(self, *, limit):
        return listed("/evals", limit)

class OpenAI:
    evals = Evals()
"""
GRADERS: list[dict[str, Any]] = [
    {
        "type": "string_check",
        "name": "Same city",
        "id": "Same city-2eaf2d8d-d649-4335-8148-9535a7ca73c2",
        "input": "{{ sample.output_text }}",
        "reference": "{{ item.city }}",
        "operation": "eq",
    },
    {
        "type": "score_model",
        "name": "Tone",
        "id": "Tone-5a0fd5a5-5a0f-4fd5-8a0f-d5a55a0fd5a5",
        "model": "gpt-4.1-mini",
        "range": [1, 5],
        "pass_threshold": 3,
        "sampling_params": {"temperature": 0.2, "top_p": 0.9},
        "input": [
            {"role": "system", "content": "Score how friendly the answer to {{ item.question }} is."},
            {"role": "user", "content": {"type": "input_text", "text": "Answer: {{ sample.output_text }}"}},
        ],
    },
]
EVAL = {
    "object": "eval",
    "id": "eval_68",
    "name": "Capitals",
    "created_at": 1743015000,
    "metadata": {},
    "data_source_config": {"type": "custom", "schema": {"type": "object"}},
    "testing_criteria": GRADERS,
}


def run(name: str = "evalrun_1", **counts: int) -> dict[str, Any]:
    """A run object."""
    return {
        "object": "eval.run",
        "id": name,
        "eval_id": "eval_68",
        "name": "first",
        "status": "completed",
        "model": "gpt-4.1",
        "created_at": 1743015028,
        "result_counts": {"total": 4, "passed": 1, "failed": 1, "errored": 2} | counts,
        "per_testing_criteria_results": [],
        "data_source": {"type": "completions", "input_messages": {"type": "template", "template": []}},
        "error": None,
    }


def item(place: int, country: str, city: str, said: str | None, same: bool, tone: int | None) -> dict[str, Any]:
    """An output item; without a text its call failed, and without a tone the model that scores it."""
    failed = {"code": "rate_limit_exceeded", "message": "Too many requests"}
    grader = {"output": [{"role": "assistant", "content": "It is curt."}], "error": None if tone else failed}
    results = [
        {"name": GRADERS[0]["id"], "sample": None, "passed": same, "score": float(same)},
        {"name": GRADERS[1]["id"], "sample": grader, "passed": tone and tone >= 3, "score": tone and float(tone)},
    ]
    return {
        "object": "eval.run.output_item",
        "id": f"outputitem_{place}",
        "run_id": "evalrun_1",
        "eval_id": "eval_68",
        "created_at": 1743015030,
        "status": "fail" if said is None else "pass",
        "datasource_item_id": place,
        "datasource_item": {"question": f"What is the capital of {country}?", "city": city},
        "results": [] if said is None else results,
        "sample": {
            "input": [{"role": "user", "content": f"Answer in a word: what is the capital of {country}?"}],
            "output": [] if said is None else [{"role": "assistant", "content": said}],
            "error": failed if said is None else None,
            "finish_reason": "" if said is None else "stop",
            "model": "gpt-4.1-2025-04-14",
            "usage": {"prompt_tokens": 12, "completion_tokens": 2, "total_tokens": 14, "cached_tokens": 0},
            "temperature": 1.0,
            "top_p": 1.0,
            "max_completion_tokens": 100,
            "seed": 42,
        },
    }


ITEMS = [
    item(0, "France", "Paris", "Paris", True, 4),
    item(1, "Peru", "Lima", "Cusco", False, 2),
    item(2, "Chad", "N'Djamena", None, False, None),
    item(3, "Åland", "Mariehamn", "Mariehamn", True, None),
]


def serve(server: Loopback, most: int = 2) -> None:
    """Answer the lists with at most so many objects per page."""

    def listed(objects: list[dict[str, Any]]) -> Any:
        def answer(seen: Seen) -> Behaviour:
            ids = [record["id"] for record in objects]
            start = ids.index(seen.query["after"]) + 1 if "after" in seen.query else 0
            page = objects[start : start + min(most, int(seen.query.get("limit", 20)))]
            more = start + len(page) < len(objects)
            ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
            return json_answer({"object": "list", "data": page, "has_more": more} | ends)

        return answer

    unused = EVAL | {"id": "eval_unused", "name": "Never run"}
    runs = [run(), run("evalrun_2", total=0, passed=0, failed=0, errored=0), run("evalrun_3")]
    server.on("/v1/evals", listed([EVAL, unused]))
    server.on("/v1/evals/eval_68/runs", listed(runs))
    server.on("/v1/evals/eval_unused/runs", listed([]))
    server.on("/v1/evals/eval_68/runs/evalrun_1/output_items", listed(ITEMS))
    server.on("/v1/evals/eval_68/runs/evalrun_2/output_items", listed([]))
    others = [record | {"run_id": "evalrun_3"} for record in ITEMS[:2]]
    server.on("/v1/evals/eval_68/runs/evalrun_3/output_items", listed(others))
