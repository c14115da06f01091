"""A scorer of the suite's own, named in the suite file."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard import Case, Scorer, Suite
from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.records import TargetFacts
from steelyard.scoring.base import Reading
from steelyard.suite.signature import signature

CODE = """
from steelyard import Scorer
from steelyard.scoring.base import Reading


class Long(Scorer):
    "1 for a long answer."
    least: int = 3

    def read(self, answer, case):
        return Reading(1.0 if len(answer) >= self.least else 0.0)

    def truth(self, case):
        return "x" * self.least


class Plain:
    pass


def function():
    pass
"""


def suite(write, part: Any, code: str = CODE, name: str = "lengths"):
    return write({"score": {"size": part}}, files={f"{name}.py": code})


def test_a_class_of_the_suites_own_is_a_scorer(write):
    loaded = load_suite(suite(write, {"python": "lengths:Long", "with": {"least": 5}, "weight": 2, "code": "SHORT"}))
    (component,) = loaded.components
    assert (component.scorer.least, component.weight, component.code) == (5, 2, "SHORT")
    assert component.scorer.read("abcde", Case("a")).value == 1.0
    described = loaded.data()["components"][0]
    assert described["scorer"] == "lengths:Long"
    assert described["params"] == {"answer": None, "least": 5}
    assert len(described["source"]) == 16


def test_a_change_of_its_code_is_another_signature(write):
    one = signature(load_suite(suite(write, {"python": "before:Long"}, name="before")))
    same = signature(load_suite(suite(write, {"python": "before:Long"}, name="before")))
    other = signature(
        load_suite(suite(write, {"python": "after:Long"}, CODE + "\n# changed\n", name="after")), TargetFacts()
    )
    assert one.scorers == same.scorers != other.scorers


def test_a_change_in_a_module_that_its_code_imports_is_another_signature(write):
    code = "from words import LEAST\n" + CODE
    files = {"lengths.py": code, "words.py": "from numbers_of import ONE\nLEAST = ONE\n", "numbers_of.py": "ONE = 1\n"}
    path = write({"score": {"size": {"python": "lengths:Long"}}}, files=files)
    before = signature(load_suite(path)).scorers
    (path.parent / "beside.py").write_text("# nobody imports this\n")
    assert signature(load_suite(path)).scorers == before
    (path.parent / "numbers_of.py").write_text("ONE = 2\n")
    assert signature(load_suite(path)).scorers != before


def test_two_suites_may_each_have_a_module_of_the_same_name(tmp_path):
    sources = []
    for name, least in (("one", 3), ("two", 4)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "sizes.py").write_text(CODE.replace("least: int = 3", f"least: int = {least}"))
        (folder / "cases.json").write_text('[{"id": "a", "input": "x"}]')
        (folder / "suite.yaml").write_text(
            'suite: s\ncases: cases.json\ntarget: {python: "m:f"}\nscore: {size: {python: "sizes:Long"}}\n'
        )
        (component,) = load_suite(folder).components
        assert component.scorer.least == least
        sources.append(component.source)
    assert len(set(sources)) == 2


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"python": "lengths:Lnog"}, "score.size: scorer lengths:Lnog: lengths.py has no 'Lnog'"),
        ({"python": "lngths:Long"}, "score.size: scorer lngths:Long: there is no module 'lngths' in suite/"),
        (
            {"python": "lengths:Plain"},
            "score.size: lengths:Plain is no scorer: write a function, or a class that derives from",
        ),
        ({"python": "lengths:function"}, "lengths:function does not fit, it is called as f(answer, case): too many"),
        (
            {"python": "lengths"},
            'score.size.python must be a function or a class: write module:name; found "lengths" (text)',
        ),
        ({"python": 3}, "score.size.python must be a function or a class"),
        ({"python": None}, "score.size.python must be a function or a class"),
        ({"python": "lengths:Long", "with": {"leats": 3}}, "score.size.with: unknown key 'leats': did you mean least?"),
        ({"python": "lengths:Long", "with": {"least": "x"}}, "score.size.with.least must be a whole number"),
        ({"python": "lengths:Long", "wth": {}}, "score.size: unknown key 'wth': did you mean with?"),
        ({"same": {"expected": "id"}, "with": {}}, "score.size: unknown key 'with'"),
        ({"same": {"expected": "id"}, "python": "lengths:Long"}, "score.size names 2 scorers (same, python)"),
    ],
)
def test_a_mistake_with_it_is_reported(write, part, message):
    with pytest.raises(SuiteError) as raised:
        load_suite(suite(write, part))
    (told,) = str(raised.value).splitlines()
    assert message in told
    assert told.startswith("suite.yaml:")


def test_code_that_breaks_when_it_is_imported_is_reported(write):
    with pytest.raises(SuiteError, match=r"scorer broken_code:X: importing broken_code failed: ZeroDivisionError"):
        load_suite(suite(write, {"python": "broken_code:X"}, "1 / 0\n", name="broken_code"))


class Short(Scorer):
    """1 for a short answer."""

    most: int = 3

    def read(self, answer: object, case: Case) -> Reading:
        return Reading(1.0)

    def truth(self, case: Case) -> object:
        return "x"


def test_in_python_the_class_itself_may_stand_there():
    model = Suite("s", cases=[{"id": "a"}], target=print, score={"a": {"python": Short, "with": {"most": 2}}}).model
    assert model.components[0].scorer.most == 2
    with pytest.raises(SuiteError, match="int is no scorer"):
        Suite("s", cases=[{"id": "a"}], target=print, score={"a": {"python": int}})
