"""A suite's own metrics, over all samples of a run: in reports, gates, comparisons and explanations."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest

import steelyard
from parts.command import invoke
from parts.small_suite import write_suite
from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.metrics import own
from steelyard.metrics.registry import metrics
from steelyard.records import TargetFacts
from steelyard.suite.signature import signature

CODE = '''
import numpy as np
import steelyard

CLASSES = ("even", "odd")


class Parity(steelyard.Scorer):
    """Counts right and wrong answers of each class."""

    measures = {
        name: steelyard.Measure(f"tp_{name}", f"fn_{name}", "") for name in CLASSES
    }

    def read(self, answer, case):
        said, right = answer["word"], case.category
        counts = {}
        for name in CLASSES:
            counts[f"tp_{name}"] = int(said == right == name)
            counts[f"fp_{name}"] = int(said == name != right)
            counts[f"fn_{name}"] = int(right == name != said)
        return steelyard.Reading(float(said == right), counts=counts)


@steelyard.metric("macro_f1", formula="mean over classes of 2 tp / (2 tp + fp + fn)", aggregate="ratio")
def macro_f1(samples):
    """F1 of every class, each counting the same."""
    pairs = []
    for name in CLASSES:
        tp, fp, fn = (samples.count("parity", f"{kind}_{name}") for kind in ("tp", "fp", "fn"))
        pairs.append((2 * tp, 2 * tp + fp + fn))
    return pairs


@steelyard.metric(
    "cost_per_resolved",
    unit="cost",
    better="lower",
    aggregate="ratio",
    formula="sum of costs / samples that passed",
)
def cost_per_resolved(samples):
    return samples.cost(), samples.passed()


@steelyard.metric("long_answers", formula="answers of more than 3 letters / n", aggregate="rate", better="")
def long_answers(samples):
    return np.where(samples.count("parity", "tp_odd") >= 0, samples.score() > 2, np.nan)


def nothing(samples):
    return samples.score()


@steelyard.metric("average", formula="x")
def average(samples):
    return samples.score()


@steelyard.metric("broken", formula="x")
def broken(samples):
    return [1, 2, 3][:2] + samples.nothing
'''


@pytest.fixture
def suite(tmp_path):
    path = write_suite(
        tmp_path / "suite",
        n=6,
        score={"parity": {"python": "figures:Parity"}},
        metrics=["figures:macro_f1", "figures:cost_per_resolved"],
        gates=["macro_f1 >= 50 %"],
    )
    (path.parent / "figures.py").write_text(CODE)
    (path.parent / "system.py").write_text(
        "def answer(case):\n"
        "    number = case.input['number']\n"
        "    return {'word': 'even' if number % 2 == 0 or number == 5 else 'odd'}\n"
    )
    return path


@pytest.fixture
def ran(suite, tmp_path):
    store = tmp_path / "runs.db"
    invoke("run", suite, "--store", store, code=0)
    return store


# Even: 3 right, and 5 taken for even: 2 x 3 / (6 + 1 + 0). Odd: 2 right, one missed: 2 x 2 / (4 + 0 + 1).
MACRO_F1 = (6 / 7 + 4 / 5) / 2


def overall(store, run="LAST"):
    return json.loads(invoke("report", run, "--json", "--store", store))


def test_it_is_in_the_report_by_hand_computed(ran):
    report = overall(ran)
    found = report["figures"]["macro_f1"]
    assert found["value"] == pytest.approx(MACRO_F1)
    assert (found["n"], found["n_missing"]) == (6, 0)
    assert found["low"] < MACRO_F1 < found["high"]
    assert [part["figures"]["macro_f1"]["n"] for part in report["slices"]["category"]] == [3, 3]
    # What its sums are of, nobody says: rounded to whole numbers they would be of nothing.
    assert {"numerator", "denominator", "mean_of"} & found.keys() == set()
    # The system does not say what it cost.
    assert report["figures"]["cost_per_resolved"]["value"] is None
    said = " ".join(invoke("report", "LAST", "--full", "--store", ran).split())
    assert "Metrics of this suite" in said
    assert "macro_f1" in said


def test_a_gate_stands_on_it(ran):
    (gate,) = overall(ran)["gates"]
    assert (gate["metric"], gate["verdict"]) == ("macro_f1", "PASS")
    invoke("gate", "LAST", "--gate", "macro_f1 >= 99 %", "--store", ran, code=1)
    invoke("gate", "LAST", "--gate", "category.*.macro_f1 >= 1 %", "--store", ran, code=0)


def test_it_is_explained_sample_by_sample(ran):
    (found,) = json.loads(invoke("report", "LAST", "--explain", "macro_f1", "--json", "--store", ran))["explained"]
    assert found["formula"] == "mean over classes of 2 tp / (2 tp + fp + fn)"
    assert found["n_contributing"] == 6
    # The answer that was wrong pulls it down most.
    assert found["contributing"][0]["case_id"] == "c5"


def test_it_is_compared_unless_it_is_a_mean_of_ratios(suite, ran):
    text = (
        suite.read_text()
        .replace("figures:macro_f1", "figures:long_answers")
        .replace("macro_f1 >= 50 %", "average >= 1 %")
    )
    suite.write_text(text)
    for _ in range(2):
        invoke("run", suite, "--store", ran, code=0)
    compared = json.loads(invoke("compare", "LAST~1", "LAST", "--json", "--store", ran, code=0))
    (change,) = [each for each in compared["metrics"] if each["name"] == "long_answers"]
    assert change["difference"]["value"] == 0.0
    (found,) = json.loads(
        invoke("compare", "LAST~1", "LAST", "--explain", "long_answers", "--json", "--store", ran, code=0)
    )["explained"]
    assert found["a"] == found["b"]
    assert found["a"]["n"] == len(found["contributing"])


def test_without_its_code_an_ended_run_has_the_values_that_were_stored_with_it(suite, ran):
    before = overall(ran)["figures"]
    shutil.rmtree(suite.parent)
    own.forget_metrics()
    assert overall(ran)["figures"] == before
    assert before["macro_f1"]["value"] == pytest.approx(MACRO_F1)
    (found,) = json.loads(invoke("report", "LAST", "--explain", "macro_f1", "--json", "--store", ran))["explained"]
    assert found["figure"]["value"] == pytest.approx(MACRO_F1)


def test_its_code_is_part_of_the_signature(suite):
    # In a file of its own: that of the scorer is in the signature by itself.
    file = suite.parent / "apart.py"
    text = (
        "import steelyard\n\n\n@steelyard.metric('mine', formula='x')\ndef mine(samples):\n    return samples.score()\n"
    )
    file.write_text(text)
    suite.write_text(suite.read_text().replace("figures:cost_per_resolved", "apart:mine"))
    first = signature(load_suite(suite), TargetFacts({"kind": "python"})).scorers
    file.write_text(text.replace("samples.score()", "samples.passed()"))
    # A module is read once in a process.
    sys.modules.pop("apart", None)
    assert signature(load_suite(suite), TargetFacts({"kind": "python"})).scorers != first


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ("figures:nothing", "is no metric: write @steelyard.metric(...) above it"),
        ("figures:average", "Steelyard has a metric of that name"),
        ("figures:gone", "has no 'gone'"),
    ],
)
def test_what_is_no_metric_is_a_problem_of_the_suite(suite, named, problem):
    suite.write_text(suite.read_text().replace("figures:cost_per_resolved", named))
    with pytest.raises(SuiteError) as error:
        load_suite(suite)
    assert problem in str(error.value)
    assert "average" in metrics()


def test_a_gate_on_a_metric_of_another_suite_is_a_mistake(suite, tmp_path):
    load_suite(suite)
    other = write_suite(tmp_path / "other", gates=["macro_f1 >= 50 %"])
    with pytest.raises(SuiteError, match="there is no metric 'macro_f1'"):
        load_suite(other)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"unit": "stones"}, "there is no unit 'stones'; there are: share"),
        ({"aggregate": "mode"}, "there is no aggregate 'mode'; there are: mean, rate"),
        ({"better": "up"}, "better is higher, lower or nothing"),
        ({"aggregate": "quantile"}, "has a point between 0 and 1"),
        ({"name": "category.x"}, "a name is words joined by dots"),
        ({"name": "two words"}, "a name is words joined by dots"),
    ],
)
def test_a_wrong_declaration_is_refused_at_once(settings, problem):
    with pytest.raises(ValueError, match=problem):
        steelyard.metric(**{"name": "mine", "formula": "x"} | settings)


def test_samples_are_columns_with_nan_for_what_nobody_knows(ran):
    from steelyard.metrics.own import Samples
    from steelyard.metrics.run_data import RunData
    from steelyard.store.sql import open_store

    store = open_store(str(ran))
    header = store.runs(None, 1)[0]
    samples = Samples(RunData(store.columns(header.id), header.description))
    store.close()
    assert samples.n == 6
    assert samples.passed().tolist() == [1, 1, 1, 1, 1, 0]
    assert np.isnan(samples.cost()).all()
    assert sorted(samples.counts("parity")) == sorted(
        f"{kind}_{name}" for kind in ("tp", "fp", "fn") for name in ("even", "odd")
    )
    assert samples.findings("PARITY").tolist() == [0, 0, 0, 0, 0, 1]
    assert np.isnan(samples.component("gone")).all()


def test_history_and_baselines_know_it_in_a_new_process(suite, ran):
    invoke("baseline", "set", "LAST", "--name", "release", "--store", ran)
    suite.write_text(suite.read_text().replace("macro_f1 >= 50 %", "cost_per_resolved <= @release"))
    invoke("run", suite, "--store", ran, code=4)
    own.forget_metrics()
    shown = json.loads(invoke("history", "words", "--metric", "macro_f1", "--json", "--store", ran))
    (trend,) = [each for each in shown["trends"] if each["metric"] == "macro_f1"]
    assert [value["value"] for value in trend["values"]] == pytest.approx([MACRO_F1, MACRO_F1])
    own.forget_metrics()
    (gate,) = overall(ran)["gates"]
    assert (gate["metric"], gate["verdict"]) == ("cost_per_resolved", "AMBIGUOUS")
