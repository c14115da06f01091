"""A verdict that hides how uncertain it is: a narrow pass, a rounded figure, a doubtful side of a comparison."""

import json
from html import unescape

import pytest

from parts.command import invoke
from parts.small_suite import write_suite

SYSTEM = """
def answer(case):
    number = case.input["number"]
    return {"word": "word %d" % number if number >= WRONG else "wrong"}
"""


def suite(folder, n, wrong, *gates, **more):
    write_suite(folder / "words", n=n, gates=list(gates), **more)
    (folder / "words" / "system.py").write_text(f"WRONG = {wrong}\n{SYSTEM}")


def words(printed):
    return " ".join(printed.split())


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# 25 of 40; Wilson's interval by statsmodels' proportion_confint(25, 40, method="wilson"): 0.4703, 0.7578.
NARROW = "the interval contains the threshold: pass_rate 62.5 % [47.0, 75.8] against"


@pytest.mark.parametrize(("limit", "word", "code"), [(60, "PASS", 0), (65, "FAIL", 1)])
def test_a_narrow_verdict_says_so_in_every_report(tmp_path, limit, word, code):
    suite(tmp_path, 40, 15, f"pass_rate >= {limit} %")
    says = f"narrow {word}: {NARROW} {limit}.0 %"
    told = words(invoke("run", "words", code=code))
    assert says in told
    assert told.count("interval contains the threshold") == 1
    assert says in words(invoke("report", "LAST"))
    assert says in words(invoke("gate", "LAST", code=code))
    assert says in json.loads(invoke("report", "LAST", "--json"))["disclosures"]
    for option, file in (("--html", "r.html"), ("--markdown", "r.md"), ("--junit", "r.xml")):
        invoke("report", "LAST", option, file)
        assert says in words(unescape((tmp_path / file).read_text()).replace("\u200b", "")), file


def test_a_run_that_fails_is_not_called_a_narrow_pass_by_another_gate(tmp_path):
    # [0.4703, 0.7578] contains 60 % and lies below 90 %.
    suite(tmp_path, 40, 15, "pass_rate >= 60 %", "average >= 90 %")
    assert "narrow" not in invoke("run", "words", code=1)


def test_a_clear_verdict_is_not_called_narrow(tmp_path):
    # [0.4703, 0.7578] lies above 40 %.
    suite(tmp_path, 40, 15, "pass_rate >= 40 %", "average >= 40 %")
    assert "narrow" not in invoke("run", "words")


def test_a_criterion_that_does_not_decide_makes_no_verdict_narrow(tmp_path):
    criteria = {"aim": {"pass": "pass_rate >= 60 %", "secondary": True}}
    suite(tmp_path, 40, 15, "pass_rate >= 40 %", criteria=criteria)
    assert "narrow" not in invoke("run", "words")


def test_a_figure_below_its_threshold_is_never_shown_as_equal_to_it(tmp_path):
    # 1,799 of 2,000 are 89.95 %, which rounds to 90.0 %.
    suite(tmp_path, 2000, 201, "pass_rate >= 90 %", "average >= 90 %")
    shown = [invoke("run", "words", code=1), invoke("report", "LAST", "--full"), invoke("gate", "LAST", code=1)]
    for option, file in (("--html", "r.html"), ("--markdown", "r.md"), ("--junit", "r.xml")):
        invoke("report", "LAST", option, file)
        shown.append((tmp_path / file).read_text())
    for text in shown:
        plain = words(text)
        assert "89.95 %" in plain
        for label in ("Pass rate 90.0 %", "pass rate 90.0 %", "Average 90.0 %"):
            assert label not in plain


def side(folder, wrong, *options, code=0):
    suite(folder, 20, wrong, "pass_rate >= 5 %")
    invoke("run", "words", *options, code=code)


def test_a_comparison_says_in_its_verdict_that_a_side_is_partial(tmp_path):
    side(tmp_path, 10)
    side(tmp_path, 0, "--limit", 19)
    printed = invoke("compare", "LAST~1", "LAST")
    assert "run B is partial: it covers only a part of its suite" in words(printed.partition("Significance")[0])
    headline = json.loads(invoke("compare", "LAST~1", "LAST", "--json"))["headline"]
    assert headline["sides"] == ["run B is partial: it covers only a part of its suite"]
    assert headline["sentence"].endswith("; run B is partial: it covers only a part of its suite")


def test_a_comparison_says_in_its_verdict_that_a_side_is_suspect(tmp_path):
    same = "def answer(case):\n    return {'word': 'word 0'}\n"
    suite(tmp_path, 20, 10, "pass_rate >= 1 %")
    (tmp_path / "words" / "system.py").write_text(same)
    invoke("run", "words", code=4)
    side(tmp_path, 0)
    headline = json.loads(invoke("compare", "LAST~1", "LAST", "--json"))["headline"]
    assert headline["verdict"] == "better"
    assert "run A is SUSPECT: " in headline["sentence"]
    invoke("compare", "LAST~1", "LAST", "--markdown", "c.md")
    assert "run A is SUSPECT" in words((tmp_path / "c.md").read_text())


def test_a_comparison_says_that_a_side_is_invalid_whatever_else_blocks_it(tmp_path):
    side(tmp_path, 0)
    write_suite(tmp_path / "words", n=20, gates=["pass_rate >= 5 %"], **{"pass": "score >= 80 %"})
    (tmp_path / "words" / "system.py").write_text("def answer(case):\n    raise RuntimeError('down')\n")
    invoke("run", "words", code=3)
    headline = json.loads(invoke("compare", "LAST~1", "LAST", "--json", code=3))["headline"]
    assert "run B is INVALID" in headline["sentence"]
