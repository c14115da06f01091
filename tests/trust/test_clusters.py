"""Repeats of a case, and cases of one document, user or seed, are no new evidence: what counts them as such lies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from parts.columns import Made
from parts.command import invoke
from parts.compared import compared
from parts.score_ends import score_ends
from steelyard.pairing.cases import common_cases, unit_counts, units_of

# Which rows it answers wrong is in a file beside it: the module is imported once.
SYSTEM = """
import json
from collections import Counter
from pathlib import Path
seen = Counter()
def answer(case):
    place = Path(__file__).with_name('wrong.json')
    asked = place.stat().st_mtime_ns, case.id
    seen[asked] += 1
    return {'word': 'no' if seen[asked] <= json.loads(place.read_text()).get(case.id, 0) else case.id}
"""


def write(folder: Path, documents: int, rows: int, *, declared: bool = True, **more: object) -> Path:
    """A suite of so many documents, each with so many questions; case `d3-2` is the third question on `doc 3`."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        {
            "id": f"d{d:02}-{r}",
            "input": {"n": [d, r]},
            "expected": {"word": f"d{d:02}-{r}"},
            "document": f"doc {d}",
            "category": "x",
        }
        for d in range(documents)
        for r in range(rows)
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (folder / "system.py").write_text(SYSTEM)
    (folder / "wrong.json").write_text("{}")
    suite = {
        "suite": "documents",
        "cases": {"files": "cases.jsonl"} | ({"cluster": "document"} if declared else {}),
        "target": {"python": "system:answer"},
        "answer": {"schema": {"type": "object", "required": ["word"], "properties": {"word": {"type": "string"}}}},
        "score": {"word": {"exact": {"expected": "expected.word"}}},
        "pass": "score >= 90 %",
        **more,
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))
    return folder


def run(folder: Path, wrong: dict[str, int], *options: object, code: int = 0) -> dict:
    """A run in which each of these cases is answered wrong so often."""
    (folder / "wrong.json").write_text(json.dumps(wrong))
    return json.loads(invoke("run", folder, "--json", *options, code=code))


def whole(document: int, rows: int) -> dict[str, int]:
    return {f"d{document:02}-{row}": 1 for row in range(rows)}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "runs.db"))
    return tmp_path


def ends(figure: dict) -> tuple[float, float]:
    return figure["low"], figure["high"]


def test_99_of_100_over_ten_cases_is_no_narrower_as_a_pass_rate_than_as_an_average(here):
    found = run(write(here / "s", 10, 1, declared=False), {"d03-0": 1}, "--repeats", 10)["figures"]
    assert found["pass_rate"]["value"] == 0.99
    assert ends(found["pass_rate"]) == ends(found["average"])
    # One case of ten is away from 1: its variance counts half, and half is that of a case that would be at 0.
    # error^2 = (1 x 0.01^2 + 0.99 x 0.01 / 10) / 2; Student's t with 9 degrees of freedom.
    assert ends(found["pass_rate"]) == pytest.approx(score_ends(0.99, ((0.0001 + 0.00099) / 2) ** 0.5, 9), abs=1e-6)


def test_cases_that_are_right_equally_often_are_no_certainty(here):
    wrong = {f"d{document:02}-0": 1 for document in range(12)}
    found = run(write(here / "s", 12, 1, declared=False), wrong, "--repeats", 5)["figures"]
    # None of 12 cases has another share than 4 of 5, so z^2 / (12 + z^2) = 0.2425 of all may have any.
    assert found["pass_rate"]["value"] == pytest.approx(0.8)
    assert ends(found["pass_rate"]) == pytest.approx((0.8 * (1 - 0.24249), 0.8 + 0.2 * 0.24249), abs=1e-4)
    assert found["pass_rate"]["constant"] is False


def test_so_are_bands_findings_and_slices(here):
    bands = [{"name": "Good", "at_least": 0.9}, {"name": "Poor", "at_least": 0.0}]
    folder = write(here / "s", 10, 1, declared=False, bands={each["name"]: each["at_least"] for each in bands})
    found = run(folder, {"d03-0": 1}, "--repeats", 10)
    average = ends(found["figures"]["average"])
    part = found["slices"]["category"][0]
    assert ends(part["figures"]["pass_rate"]) == ends(found["figures"]["band.Good"]) == average


def test_rows_of_one_document_are_one_unit(here):
    wrong = whole(0, 8) | whole(1, 8)
    found = {
        declared: run(write(here / str(declared), 10, 8, declared=declared), wrong)["figures"]
        for declared in (False, True)
    }
    # Wilson for 64 of 80 rows (scipy: 0.699, 0.873), and for 8 of 10 documents (0.490, 0.943).
    assert ends(found[False]["pass_rate"]) == pytest.approx((0.69932, 0.87300), abs=1e-3)
    for figure in ("pass_rate", "average"):
        assert ends(found[True][figure]) == pytest.approx((0.49016, 0.94331), abs=1e-4)
    assert found[True]["pass_rate"]["n"] == 80


def test_two_documents_that_rose_make_no_run_better(here):
    for declared, verdict in ((False, "BETTER"), (True, "CANNOT TELL")):
        folder = write(here / str(declared), 20, 8, declared=declared)
        run(folder, whole(0, 8) | whole(1, 8))
        run(folder, {})
        text = invoke("compare", "LAST~1", "LAST", code=0 if verdict == "BETTER" else 4)
        assert f" {verdict}  " in text
        assert ("20 clusters" in text) is declared
        assert ("160 cases are 20 units" in " ".join(text.split())) is declared


def test_nor_do_they_fail_a_gate_on_a_baseline(here):
    for declared, code in ((False, 1), (True, 0)):
        folder = write(here / str(declared), 20, 8, declared=declared, gates=["pass_rate >= release - 1 points"])
        run(folder, {}, code=4)
        invoke("baseline", "set", "LAST", "--name", "release", "--reason", "first", "--by", "ada", "--force")
        run(folder, whole(0, 8) | whole(1, 8), code=code)
        invoke("baseline", "remove", "release", "--reason", "next", "--by", "ada")


def test_a_cluster_that_was_declared_between_two_runs_is_said_and_counts_in_both(here):
    folder = write(here / "s", 20, 8, declared=False)
    run(folder, whole(0, 8) | whole(1, 8))
    write(folder, 20, 8, declared=True)
    run(folder, {})
    assert "CANNOT TELL" in invoke("compare", "LAST~1", "LAST", code=4)
    for first, second, told in (
        ("LAST~1", "LAST", "are 160 units of evidence in A and 20 units in B; what either run has in one cluster"),
        ("LAST", "LAST~1", "are 20 units of evidence in A and 160 units in B; what either run has in one cluster"),
        ("LAST", "LAST", ""),
    ):
        found = json.loads(invoke("compare", first, second, "--json", code=4 if told else 0))
        (sentence,) = [each["sentence"] for each in found["signatures"]["changes"] if each["part"] == "clusters"] or [
            ""
        ]
        assert told in sentence
        assert bool(told) is ("which makes 20 units" in sentence)
        assert found["metrics"][0]["difference"]["n"] == 20


def test_clusters_that_cross_are_one_unit_where_they_meet():
    # In A c0 and c1 share a document, c3 and c4 another; in B c1 and c2 share a user.
    a, b = (
        replace(found, columns=replace(found.columns, clusters=names, cluster=np.array(of)))
        for found, names, of in (
            (compared([Made(f"c{n}", 1.0) for n in range(6)]), ["x", "y"], [0, 0, -1, 1, 1, -1]),
            (compared([Made(f"c{n}", 1.0) for n in reversed(range(6))]), ["u"], [-1, -1, -1, 0, 0, -1]),
        )
    )
    of_b = common_cases(a, b).of_b
    by_case, by_case_of_b, _ = units_of(a, b, of_b)
    assert by_case[0] == by_case[1] == by_case[2]
    assert by_case[3] == by_case[4]
    assert len(set(by_case.tolist())) == 3
    assert by_case_of_b.tolist() == by_case[of_b].tolist()
    assert unit_counts(a, b, of_b) == (4, 5, 3)


def test_an_ab_of_two_documents_decides_nothing(here):
    for declared, code in ((False, 0), (True, 4)):
        folder = write(here / str(declared), 20, 8, declared=declared)
        right, wrong = (folder / f"{name}.py" for name in ("right", "wrong"))
        right.write_text("def answer(case):\n    return {'word': case.id}\n")
        wrong.write_text("def answer(case):\n    return {'word': 'no' if case.input['n'][0] < 2 else case.id}\n")
        text = yaml.safe_load((folder / "suite.yaml").read_text())
        text["targets"] = {"right": {"python": "right:answer"}, "wrong": {"python": "wrong:answer"}}
        (folder / "suite.yaml").write_text(yaml.safe_dump(text))
        told = invoke("ab", folder, "--a", "target=wrong", "--b", "target=right", code=code)
        assert ("cannot tell" in told) is declared


def test_power_counts_documents(here):
    found = {}
    for declared in (False, True):
        folder = write(here / str(declared), 10, 8, declared=declared)
        run(folder, whole(0, 8))
        run(folder, whole(1, 8) | whole(2, 8))
        data = json.loads(invoke("power", "documents", "--detect", "10 points", "--json"))
        found[declared] = data["needed"][0]["cases"]
        assert data["spread"]["n_cases"] == 80
        (here / "runs.db").unlink()
    # A document's rows change together: an eighth as many units, each with the same change.
    assert found[True] > 4 * found[False]


def test_a_snapshot_keeps_the_documents(here):
    folder = write(here / "s", 10, 8)
    found = run(folder, whole(0, 8) | whole(1, 8))["figures"]
    invoke("export", "LAST", here / "run.json")
    (here / "runs.db").unlink()
    invoke("import", here / "run.json")
    again = json.loads(invoke("report", "LAST", "--json"))["figures"]
    assert ends(again["pass_rate"]) == ends(found["pass_rate"])


def test_a_cluster_that_no_record_has_is_refused(here):
    folder = write(here / "s", 4, 2)
    text = (folder / "suite.yaml").read_text().replace("cluster: document", "cluster: documint")
    (folder / "suite.yaml").write_text(text)
    told = invoke("run", folder, code=2)
    assert "documint is in none of the 8 records" in told
    assert "document" in told


PASSAGE = " ".join(f"word{i}" for i in range(60))


def audited(folder: Path, inputs: list[object], code: int = 0, **cases: str) -> list[str]:
    """The warnings of an audit of a suite with these inputs; cases that are duplicates fail it."""
    write(folder, 1, 1)
    rows = [{"id": f"c{i}", "input": each, "expected": {"word": f"w{i}"}} for i, each in enumerate(inputs)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in rows))
    text = yaml.safe_load((folder / "suite.yaml").read_text())
    text["cases"] = {"files": "cases.jsonl"} | cases
    (folder / "suite.yaml").write_text(yaml.safe_dump(text))
    return json.loads(invoke("audit", folder, "--json", code=code))["warnings"]


def test_the_audit_warns_of_questions_about_one_text(here):
    inputs = [
        {"text": " ".join(f"{word}{i // 5}" for word in PASSAGE.split()), "question": f"what is {i}?"}
        for i in range(20)
    ]
    found = audited(here / "s", inputs)
    assert len(found) == 1
    assert "20 of 20 cases" in found[0]
    assert "cases: {cluster: input.text}" in found[0]
    assert audited(here / "s", inputs, cluster="input.text") == []


def test_it_warns_of_a_passage_inside_other_words_and_of_a_repeated_question(here):
    texts = [f"Story {i}. {' '.join(f'{word}{i % 3}' for word in PASSAGE.split())} And then {i}." for i in range(12)]
    assert "12 of 12 cases" in audited(here / "s", texts)[0]
    again = ["how?", "how?", "why?", "why?", "who?", "who?", "1", "2", "3"]
    assert "6 of 9 cases" in audited(here / "t", again, code=1)[0]


def test_it_does_not_warn_of_an_instruction_in_every_question_or_of_short_ones(here):
    assert audited(here / "s", [f"{PASSAGE} Now answer: {i}" for i in range(12)]) == []
    assert audited(here / "t", [{"language": "en", "number": i} for i in range(12)]) == []
    assert audited(here / "u", [*(f"question {i}" for i in range(40)), "question 1"], code=1) == []
