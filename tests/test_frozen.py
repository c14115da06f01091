"""`@frozen` and `@slotted` give what `@dataclass` of the standard library gives, and are used everywhere."""

import ast
import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import steelyard
from steelyard.frozen import frozen, slotted


def _classes(decorator):
    @decorator
    class Point:
        """A place."""

        x: float
        y: float = 0.0
        tags: list[str] = field(default_factory=list, repr=False)
        source: str = field(default="", compare=False)

        @property
        def sum(self) -> float:
            return self.x + self.y

    @decorator
    class Named(Point):
        name: str = "?"

    @decorator
    class Only:
        value: Any

    @decorator
    class Nothing:
        pass

    @decorator
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    return Point, Named, Only, Nothing, Own


OURS, THEIRS = _classes(frozen), _classes(dataclass(frozen=True, slots=True))
SLOTTED = _classes(slotted), _classes(dataclass(slots=True))
NAN = float("nan")
ARGUMENTS = [(0, (1.0,)), (0, (1.0, 2.0, ["a"], "s")), (1, (1.0, 2.0)), (2, (NAN,)), (2, ("x",)), (3, ()), (4, (1,))]


def _same(result, both=(OURS, THEIRS)):
    """What comes of it with each of both; the exception if one is raised."""
    came = []
    for classes in both:
        try:
            came.append(result(classes))
        except TypeError as error:
            came.append((type(error), str(error)))
    assert came[0] == came[1]
    return came[0]


@pytest.mark.parametrize("both", [(OURS, THEIRS), SLOTTED], ids=["frozen", "slotted"])
@pytest.mark.parametrize(("at", "given"), ARGUMENTS)
def test_objects_print_compare_hash_and_copy_as_those_of_the_standard_library(at, given, both):
    for result in (
        lambda classes: repr(classes[at](*given)),
        lambda classes: str(inspect.signature(classes[at])).replace(" -> None", "").count(","),
        lambda classes: classes[at].__match_args__,
        lambda classes: classes[at].__dataclass_params__.frozen,
        lambda classes: classes[at](*given) == classes[at](*given),
        lambda classes: classes[at](*given) == object(),
        lambda classes: repr(asdict(classes[at](*given))),
        lambda classes: repr(copy.deepcopy(classes[at](*given))),
        lambda classes: hasattr(classes[at](*given), "__dict__"),
        lambda classes: NAN in given or hash(classes[at](*given)),
    ):
        _same(result, both)


def test_a_slotted_object_can_be_changed_and_a_default_that_can_be_is_refused():
    point = SLOTTED[0][0](1.0)
    point.x = 2.0
    assert point.sum == 2.0
    with pytest.raises(ValueError, match=r"mutable default of Bad\.a"):
        slotted(type("Bad", (), {"__annotations__": {"a": list}, "a": []}))


def test_what_does_not_count_is_not_compared_and_replacing_gives_another_object():
    point = _same(lambda classes: classes[0](1.0, source="a") == classes[0](1.0, source="b"))
    assert point is True
    _same(lambda classes: repr(replace(classes[0](1.0), y=3.0)))
    _same(lambda classes: classes[0](1.0) == classes[1](1.0))
    first, second = OURS[0](1.0), OURS[0](1.0)
    assert first.tags is not second.tags
    assert first.sum == 1.0


def test_nothing_can_be_changed():
    for name in ("x", "other"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(OURS[0](1.0), name, 2.0)
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del OURS[0](1.0).x
    with pytest.raises(TypeError):
        OURS[0]()


@frozen
class Stored:
    """One that pickle finds by its name."""

    a: int
    b: tuple[str, ...] = ()


def test_objects_go_through_pickle():
    assert pickle.loads(pickle.dumps(Stored(1, ("x",)))) == Stored(1, ("x",))


@pytest.mark.parametrize("ours", [frozen(eq=False), slotted(eq=False)], ids=["frozen", "slotted"])
def test_without_equality_an_object_equals_itself_alone_and_can_be_hashed(ours):
    made = ours(type("Columns", (), {"__annotations__": {"values": list}}))
    one, other = made([1.0]), made([1.0])
    assert (one == one, one == other, len({one, other, one})) == (True, False, 2)
    assert repr(one).endswith("Columns(values=[1.0])")


@pytest.mark.parametrize("ours", [frozen, slotted])
def test_a_cached_property_is_computed_once_and_is_no_part_of_the_object(ours):
    calls = []

    @ours
    class Line:
        length: int

        @cached_property
        def double(self) -> int:
            calls.append(self.length)
            return 2 * self.length

    line = Line(3)
    assert (line.double, line.double, calls) == (6, 6, [3])
    assert line == Line(3)
    assert replace(line, length=4).double == 8
    assert copy.deepcopy(line).double == 6


def test_a_field_that_is_not_given_has_its_default_in_each_object():
    @frozen
    class Cases:
        folder: str
        read: list[str] = field(default_factory=list, init=False, compare=False)
        limit: int = field(default=5, init=False)

    first, second = Cases("a"), Cases("a")
    first.read.append("x")
    assert (first == second, second.read, second.limit) == (True, [], 5)
    with pytest.raises(TypeError):
        Cases("a", ["x"])


def test_a_class_keeps_an_init_of_its_own():
    @frozen
    class Share:
        percent: float

        def __init__(self, part: float, whole: float) -> None:
            object.__setattr__(self, "percent", 100 * part / whole)

    assert repr(Share(1, 4)).endswith("Share(percent=25.0)")
    assert Share(1, 4) == Share(2, 8)


def test_no_class_of_the_package_is_defined_in_another_way():
    """Suites are written as users write theirs, with the standard library."""
    source = Path(steelyard.__file__).parent
    others = [
        f"{path.relative_to(source)}:{node.lineno}: {node.name}"
        for path in sorted(source.rglob("*.py"))
        if "suites" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(way) for way in node.decorator_list)
    ]
    assert others == []
