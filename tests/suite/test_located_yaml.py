"""YAML that knows its lines and follows YAML 1.2."""

from __future__ import annotations

import pytest

from steelyard.errors import SuiteError
from steelyard.suite.yaml import read_yaml

pytestmark = pytest.mark.boundary("pyyaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("2024-01-31", "2024-01-31"),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("0042", "0042"),
        ("-7", -7),
        ("0x1F", 31),
        ("0o17", 15),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("75 %", "75 %"),
    ],
)
def test_a_word_is_read_as_yaml_1_2_reads_it(text, value):
    data = read_yaml(f"x: {text}", "f.yaml").data["x"]
    assert data == value
    assert type(data) is type(value)


def test_every_value_knows_its_line():
    located = read_yaml("a: 1\nb:\n  c: [x,\n    y]\n  d: 2\n", "f.yaml")
    assert [located.line(p) for p in [("a",), ("b",), ("b", "c"), ("b", "c", 1), ("b", "d")]] == [1, 2, 3, 4, 5]
    assert located.line(("b", "d", "deeper", 3)) == 5


def test_a_key_given_twice_is_a_mistake_that_names_both_lines():
    located = read_yaml("a: 1\nb: 2\na: 3\n", "f.yaml")
    assert [str(m) for m in located.problems] == ["f.yaml:3: the key 'a' is given twice; the first is on line 1"]


@pytest.mark.parametrize("text", ["x: !!python/object/apply:os.system ['true']", "x: !thing {a: 1}", "x: !thing y"])
def test_a_tag_builds_nothing_and_is_a_mistake(text):
    located = read_yaml(text, "f.yaml")
    assert "is not allowed" in str(located.problems[0])
    assert not callable(located.data["x"])


def test_aliases_work_but_cannot_blow_up():
    assert read_yaml("a: &x [1]\nb: *x\n", "f").data == {"a": [1], "b": [1]}
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    with pytest.raises(SuiteError, match="aliases"):
        read_yaml(bomb, "f.yaml")
    with pytest.raises(SuiteError, match=r"\*a names no anchor"):
        read_yaml("&a [*a]", "f.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "a: [1",
        "a: b: c",
        "\tx: 1",
        "a: \x00",
        "a: 1\n---\nb: 2",
        "[" * 200_000,
        "{a: " * 200_000,
        "a: *nope",
        "%YAML 9",
    ],
)
def test_what_is_no_yaml_is_one_plain_error(text):
    with pytest.raises(SuiteError, match=r"^f\.yaml"):
        read_yaml(text, "f.yaml")
