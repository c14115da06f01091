"""Each room imports only what the design lets it know."""

import ast
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import steelyard
from parts.looped import for_every

SOURCE = Path(steelyard.__file__).parent
# Modules of the root that everybody may know.
COMMON = {"redact", "errors", "failures", "frozen", "plugins", "records", "__version__"}
# Modules that suites may import besides `steelyard` itself.
PUBLIC = {"steelyard.spans"}
_DATA = {"suite", "store", "metrics", "stats"}
_CALLS = {"targets", "scoring", "judging", "engine"}
MAY_KNOW = {
    "stats": set(),
    # What a suite file may say of metrics and alerts is read in their rooms, which know its places and messages.
    "suite": {"metrics", "alerts", "exchange"},
    "targets": {"suite", "exchange"},
    "scoring": {"suite", "stats"},
    "judging": {"suite", "targets", "scoring"},
    "store": {"suite", "metrics"},
    "metrics": {"suite", "store", "stats"},
    "exchange": {"suite", "store"},
    "engine": {"suite", "targets", "scoring", "judging", "store"},
    "cluster": {"suite"} | _CALLS,
    "analysis": _DATA | {"scoring"},
    "decide": _DATA | {"analysis"},
    "report": _DATA | {"scoring", "analysis", "decide", "people"},
    "alerts": _DATA | {"analysis", "decide", "report"},
    "runner": _DATA | _CALLS | {"analysis", "decide", "report", "cluster", "exchange"},
    "auditing": _DATA | _CALLS | {"analysis", "decide"},
    "results": _DATA | {"engine", "analysis", "decide", "report", "runner", "auditing", "people", "tables", "api"},
    "experiments": _DATA | _CALLS | {"analysis", "decide", "report", "runner", "results", "cli"},
    "tables": _DATA | {"analysis"},
    "people": _DATA | {"scoring", "engine", "analysis", "decide", "auditing"},
    "web": _DATA | _CALLS | {"analysis", "decide", "report", "people"},
    "testing": {"api", "engine", "report", "results", "runner", "store", "suite"},
    "cli": _DATA
    | _CALLS
    | {
        "analysis",
        "decide",
        "report",
        "alerts",
        "auditing",
        "runner",
        "people",
        "web",
        "results",
        "tables",
        "exchange",
    },
}
# What the modules of the root may import besides COMMON.
ROOT = {
    "__init__": {
        "api",
        "experiments",
        "judging",
        "metrics",
        "results",
        "scoring",
        "store",
        "suite",
        "targets",
        "testing",
    },
    "__main__": {"cli"},
    "api": {"engine", "report", "results", "runner", "scoring", "store", "suite"},
    "errors": set(),
    "plugins": set(),
    "records": {"suite"},
    "redact": set(),
    "spans": {"scoring"},
}


def imports(path):
    """The rooms and top-level modules of steelyard that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "steelyard":
            names = [f"steelyard.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "steelyard":
                yield (parts[1] if len(parts) > 1 else "__version__"), node.lineno


@for_every("room", sorted(MAY_KNOW))
def test_a_room_knows_only_what_it_may(room):
    allowed = MAY_KNOW[room] | COMMON | {room}
    told = [
        f"{path.relative_to(SOURCE)}:{line}: imports {name}"
        for path in sorted((SOURCE / room).rglob("*.py"))
        for name, line in imports(path)
        if name not in allowed
    ]
    assert told == []


def test_a_module_of_the_root_is_listed_and_knows_only_what_it_may():
    modules = {path.stem: path for path in SOURCE.glob("*.py")}
    assert set(modules) == {*ROOT, *COMMON} - {"__version__"}
    wrong = [
        f"{name}.py:{line}: imports {room}"
        for name, path in sorted(modules.items())
        for room, line in imports(path)
        if room not in ROOT.get(name, set()) | COMMON
    ]
    assert wrong == []


def _at_import(path):
    """The modules of steelyard that are imported while a file is: not those in functions or for type checkers alone."""
    pending = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            pending += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def test_no_module_imports_itself_by_way_of_others():
    paths = {path: path.relative_to(SOURCE.parent).with_suffix("").parts for path in SOURCE.rglob("*.py")}
    names = {path: ".".join(parts).removesuffix(".__init__") for path, parts in paths.items()}
    modules = set(names.values())
    # The root's names are there before its rooms are imported, which is lazy.
    graph = {name: {*_at_import(path)} & modules - {"steelyard", name} for path, name in names.items()}
    TopologicalSorter(graph).prepare()  # CycleError names the modules


def test_every_room_is_listed():
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert rooms == {*MAY_KNOW, "cli", "suites"}


def test_suites_use_only_the_public_api():
    told = [
        f"{path.relative_to(SOURCE)}: {node.module}"
        for path in sorted((SOURCE / "suites").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("steelyard.")
        if node.module not in PUBLIC
    ]
    assert told == []


def test_the_core_names_no_domain():
    words = ("antique", "tarot", "eames", "nav-tr")
    told = [
        f"{path.relative_to(SOURCE)} says {word}"
        for path in sorted(SOURCE.rglob("*"))
        if path.suffix in {".py", ".html", ".css", ".js", ".yaml"} and "suites" not in path.relative_to(SOURCE).parts
        for word in words
        if word in path.read_text().lower()
    ]
    assert told == []


def test_scipy_is_for_tests_alone():
    # 143 MB of a core install that shall be no more than 250.
    told = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "scipy" in ast.unparse(node)
    ]
    assert told == []
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert not [name for name in project["dependencies"] if name.startswith("scipy")]
