"""The same evaluation by other tools: python bench/peers.py NAME VERB ..., in the environment of that tool.

    run CASES URL CONCURRENCY FOLDER     asks every case, scores it exactly and by likeness, keeps results in FOLDER
    resume CASES URL CONCURRENCY FOLDER  goes on after a run was killed; only of tools that can
    compare FOLDER FOLDER                loads two results and compares them case by case; only of tools that can

Each is written as its tool's own documentation shows it. Tools without a client of their own get a plain aiohttp call.
The last line printed is `scored N`. Nothing but the standard library may be imported at the top.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done: the cases, who is asked, and where results go."""

    cases: list[dict[str, Any]]
    url: str
    concurrency: int
    folder: Path

    @property
    def chat_url(self) -> str:
        return f"{self.url}/v1/chat/completions"

    @classmethod
    def read(cls, cases: str, url: str, concurrency: str, folder: str) -> Work:
        lines = Path(cases).read_text().splitlines()
        return cls([json.loads(line) for line in lines], url, int(concurrency), Path(folder))


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _read_lines(folder: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(folder) / "results.jsonl").read_text().splitlines()]


class _Client:
    """One aiohttp session that is opened at the first call; no retries."""

    def __init__(self, work: Work) -> None:
        self._work, self._session = work, None

    async def ask(self, text: str) -> str:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=self._work.concurrency))
        body = {"model": "echo", "messages": [{"role": "user", "content": text}]}
        async with self._session.post(self._work.chat_url, json=body) as response:
            response.raise_for_status()
            return (await response.json())["choices"][0]["message"]["content"]

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _likeness(a: str, b: str) -> float:
    from rapidfuzz import fuzz

    return fuzz.ratio(a, b) / 100


def bare(work: Work) -> int:
    """A loop of workers over aiohttp with the two scores and a file of JSON lines: the least that does the work."""
    rows: list[dict[str, Any]] = []

    async def main() -> None:
        client, cases = _Client(work), iter(work.cases)

        async def worker() -> None:
            for case in cases:
                expected = case["expected"]["name"]
                for _ in range(5):
                    try:
                        answer = await client.ask(case["input"]["text"])
                    except Exception as error:
                        if getattr(error, "status", 0) not in {429, 500}:
                            raise
                        wait = (getattr(error, "headers", None) or {}).get("Retry-After", 0.5)
                        await asyncio.sleep(float(wait))
                        continue
                    score = {"exact": float(answer == expected), "likeness": _likeness(answer, expected)}
                    rows.append({"id": case["id"], "answer": answer} | score)
                    break

        await asyncio.gather(*(worker() for _ in range(work.concurrency)))
        await client.close()

    asyncio.run(main())
    _write_lines(work.folder / "results.jsonl", rows)
    return len(rows)


def bare_compare(a: str, b: str) -> int:
    before = {row["id"]: row["exact"] for row in _read_lines(a)}
    pairs = [row["exact"] - before[row["id"]] for row in _read_lines(b) if row["id"] in before]
    print(f"mean difference {sum(pairs) / len(pairs):+.4f}")
    return len(pairs)


def braintrust(work: Work) -> int:
    """`Eval` with `no_send_logs`: nothing is uploaded and nothing stored, so the results are written here."""
    from autoevals import ExactMatch, Levenshtein
    from braintrust import EvalAsync

    client = _Client(work)

    async def main() -> Any:
        result = await EvalAsync(
            "bench",
            data=[{"input": case["input"]["text"], "expected": case["expected"]["name"]} for case in work.cases],
            task=client.ask,
            scores=[ExactMatch, Levenshtein],
            max_concurrency=work.concurrency,
            no_send_logs=True,
        )
        await client.close()
        return result

    results = asyncio.run(main()).results
    rows = [{"input": each.input, "answer": each.output, "scores": each.scores} for each in results if not each.error]
    _write_lines(work.folder / "results.jsonl", rows)
    return len(rows)


def pydantic_evals(work: Work) -> int:
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import EqualsExpected, Evaluator, EvaluatorContext
    from pydantic_evals.reporting import EvaluationReportAdapter

    class Likeness(Evaluator[str, str, None]):
        def evaluate(self, ctx: EvaluatorContext[str, str, None]) -> float:
            return _likeness(ctx.output, ctx.expected_output or "")

    client = _Client(work)
    dataset = Dataset(
        name="bench",
        cases=[
            Case(name=case["id"], inputs=case["input"]["text"], expected_output=case["expected"]["name"])
            for case in work.cases
        ],
        evaluators=[EqualsExpected(), Likeness()],
    )

    async def main() -> Any:
        report = await dataset.evaluate(client.ask, max_concurrency=work.concurrency, progress=False)
        await client.close()
        return report

    report = asyncio.run(main())
    (work.folder / "results.json").write_bytes(EvaluationReportAdapter.dump_json(report))
    print(report.averages())
    return len(report.cases)


def pydantic_evals_compare(a: str, b: str) -> int:
    from pydantic_evals.reporting import EvaluationReportAdapter

    before, after = (
        EvaluationReportAdapter.validate_json((Path(each) / "results.json").read_bytes()) for each in (a, b)
    )
    after.print(baseline=before)
    return len(after.cases)


def deepeval(work: Work) -> int:
    """`evaluate` scores answers that were asked before: the tool makes no calls of the target."""
    os.chdir(work.folder)
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_RESULTS_FOLDER": str(work.folder)}
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, DisplayConfig
    from deepeval.metrics import BaseMetric, ExactMatchMetric
    from deepeval.test_case import LLMTestCase

    class Likeness(BaseMetric):
        threshold, async_mode = 0.5, True

        def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
            self.score = _likeness(test_case.actual_output, test_case.expected_output)
            self.success = self.score >= self.threshold
            return self.score

        async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
            return self.measure(test_case)

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return "Likeness"

    async def asked() -> list[LLMTestCase]:
        client, free = _Client(work), asyncio.Semaphore(work.concurrency)

        async def one(case: dict[str, Any]) -> LLMTestCase:
            text = case["input"]["text"]
            async with free:
                answer = await client.ask(text)
            return LLMTestCase(input=text, actual_output=answer, expected_output=case["expected"]["name"])

        done = await asyncio.gather(*map(one, work.cases), return_exceptions=True)
        await client.close()
        return [each for each in done if isinstance(each, LLMTestCase)]

    result = evaluate(
        asyncio.run(asked()),
        [ExactMatchMetric(), Likeness()],
        async_config=AsyncConfig(max_concurrent=work.concurrency),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
    return len(result.test_results)


_INSPECT_TASK = """\
import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, exact, mean, scorer
from rapidfuzz import fuzz


@scorer(metrics=[mean()])
def likeness():
    async def score(state, target):
        return Score(value=fuzz.ratio(state.output.completion, target.text) / 100)

    return score


@task
def bench():
    cases = map(json.loads, Path({cases!r}).read_text().splitlines())
    samples = [Sample(id=case["id"], input=case["input"]["text"], target=case["expected"]["name"]) for case in cases]
    return Task(dataset=MemoryDataset(samples), scorer=[exact(), likeness()])
"""


def _inspect_settings(work: Work) -> dict[str, Any]:
    os.environ |= {"BENCH_API_KEY": "none", "BENCH_BASE_URL": f"{work.url}/v1"}
    limits = {"max_connections": work.concurrency, "max_samples": work.concurrency}
    return limits | {"log_dir": str(work.folder / "logs"), "display": "none", "fail_on_error": False}


def inspect(work: Work) -> int:
    from inspect_ai import eval as evaluate

    os.chdir(work.folder)  # it finds tasks by their relative path alone
    cases = work.folder / "cases.jsonl"
    _write_lines(cases, work.cases)
    Path("task.py").write_text(_INSPECT_TASK.format(cases=str(cases)))
    (log,) = evaluate("task.py", model="openai-api/bench/echo", **_inspect_settings(work))
    return log.results.completed_samples


def inspect_resume(work: Work) -> int:
    from inspect_ai import eval_retry
    from inspect_ai.log import list_eval_logs

    os.chdir(work.folder)
    settings = _inspect_settings(work)
    (log,) = eval_retry(list_eval_logs(settings["log_dir"])[0], **settings)
    return log.results.completed_samples


def inspect_compare(a: str, b: str) -> int:
    from inspect_ai.log import list_eval_logs, read_eval_log

    def scores(folder: str) -> dict[Any, Any]:
        log = read_eval_log(list_eval_logs(f"{folder}/logs")[0])
        return {sample.id: sample.scores["exact"].value == "C" for sample in log.samples}

    before, after = scores(a), scores(b)
    pairs = [after[name] - before[name] for name in after if name in before]
    print(f"mean difference {sum(pairs) / len(pairs):+.4f}")
    return len(pairs)


_LM_EVAL_TASK = """\
task: bench
dataset_path: json
dataset_kwargs: {{data_files: {{test: {cases}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{input.text}}}}"
doc_to_target: "{{{{expected.name}}}}"
generation_kwargs: {{until: [], max_gen_toks: 64}}
process_results: !function scores.process_results
metric_list:
  - {{metric: exact, aggregation: mean, higher_is_better: true}}
  - {{metric: likeness, aggregation: mean, higher_is_better: true}}
"""
_LM_EVAL_SCORES = """\
from rapidfuzz import fuzz


def process_results(doc, results):
    answer, expected = results[0], doc["expected"]["name"]
    return {"exact": float(answer == expected), "likeness": fuzz.ratio(answer, expected) / 100}
"""


def lm_eval(work: Work) -> int:
    task = work.folder / "task"
    task.mkdir(exist_ok=True)
    cases = work.folder / "cases.jsonl"
    _write_lines(cases, work.cases)
    (task / "bench.yaml").write_text(_LM_EVAL_TASK.format(cases=cases))
    (task / "scores.py").write_text(_LM_EVAL_SCORES)
    os.environ |= {"OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1", "HF_HOME": str(work.folder / "hf")}
    settings = (
        f"model=echo,base_url={work.chat_url},num_concurrent={work.concurrency},max_retries=5,tokenized_requests=False"
    )
    sys.argv = ["lm-eval", "run", "--model", "local-chat-completions", "--model_args", settings, "--tasks", "bench"]
    sys.argv += ["--include_path", str(task), "--apply_chat_template", "--log_samples"]
    sys.argv += ["--output_path", str(work.folder / "out"), "--use_cache", str(work.folder / "cache")]
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
    (samples,) = (work.folder / "out").rglob("samples_*.jsonl")
    return len(samples.read_text().splitlines())


RUN: dict[str, Callable[[Work], int]] = {
    "bare": bare,
    "braintrust": braintrust,
    "pydantic-evals": pydantic_evals,
    "deepeval": deepeval,
    "inspect-ai": inspect,
    "lm-eval": lm_eval,
}
RESUME: dict[str, Callable[[Work], int]] = {"inspect-ai": inspect_resume, "lm-eval": lm_eval}
COMPARE: dict[str, Callable[[str, str], int]] = {
    "bare": bare_compare,
    "pydantic-evals": pydantic_evals_compare,
    "inspect-ai": inspect_compare,
}

if __name__ == "__main__":
    name, verb, *rest = sys.argv[1:]
    if verb == "compare":
        print("scored", COMPARE[name](*rest))
    else:
        print("scored", {"run": RUN, "resume": RESUME}[verb][name](Work.read(*rest)))
