"""Each package imports only what stands below it: there is no cycle between packages."""

import ast
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import steelyard
from parts.looped import for_every

SOURCE = Path(steelyard.__file__).parent
# Modules of the root that every package may import.
COMMON = {
    "errors",
    "failures",
    "frozen",
    "plugins",
    "records",
    "redact",
    "suite_code",
    "user_code",
    "wording",
    "__version__",
}
# Modules that suites may import besides `steelyard` itself.
PUBLIC = {"steelyard.spans"}
# From the bottom up: a package imports only packages that stand before it, so there is no cycle between packages.
KERNEL = [
    "stats",
    "suite",
    "scoring",
    "targets",
    "judging",
    "store",
    "metrics",
    "loading",
    "engine",
    "analysis",
    "pairing",
    "decide",
    "report",
    "runner",
    "results",
    "cli",
]
# What is built on the kernel, each in its own folder, and the few features that one of them imports besides it.
FEATURES = {
    "alerts": set(),
    "auditing": set(),
    "cluster": set(),
    "comparing": set(),
    "exchange": {"tables"},  # `export` writes tables
    "experiments": {"comparing"},  # the difference between two arms
    "gating": {"comparing"},  # `gate --against`
    "judge_checks": {"auditing"},  # whether the prompt shows labels
    "people": {"judge_checks", "truth"},  # the card of a judge; edits that labels lead to
    "run_history": set(),
    "tables": set(),
    "testing": {"api"},
    "truth": {"auditing"},  # the probes that lint uses
    "web": {"comparing", "people", "run_history", "truth"},
}
# The commands that no feature owns may import all of them.
FEATURES["commands"] = set(FEATURES) - {"testing"}
# What the modules of the root import besides COMMON.
ROOT = {
    "__init__": {
        *("analysis", "api", "auditing", "comparing", "experiments", "gating", "judge_checks", "judging", "loading"),
        *("metrics", "results", "run_history", "scoring", "stats", "store", "suite", "targets", "testing"),
    },
    "__main__": {"cli"},
    "api": {"engine", "exchange", "loading", "report", "results", "runner", "scoring", "store", "suite"},
    "errors": set(),
    "plugins": set(),
    "records": {"suite"},
    "redact": set(),
    "spans": {"scoring"},
    "wording": {"analysis"},
}


def allowed(package):
    """What a package may import besides itself and COMMON."""
    if package in KERNEL:
        return set(KERNEL[: KERNEL.index(package)])
    return set(KERNEL) | FEATURES[package]


def imports(path):
    """The packages and root modules of steelyard that a file imports, wherever it does; also for type checkers."""
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


@for_every("package", [*KERNEL, *FEATURES])
def test_a_package_imports_only_what_is_below_it(package):
    known = allowed(package) | COMMON | {package}
    wrong = [
        f"{path.relative_to(SOURCE)}:{line}: imports {name}"
        for path in sorted((SOURCE / package).rglob("*.py"))
        for name, line in imports(path)
        if name not in known
    ]
    assert wrong == []


def test_no_cycle_between_packages():
    """Also by way of imports in functions and of those for type checkers."""
    graph = {
        package: {name for path in (SOURCE / package).rglob("*.py") for name, _ in imports(path)} - COMMON - {package}
        for package in (*KERNEL, *FEATURES)
    }
    TopologicalSorter(graph).prepare()  # CycleError names the packages


def test_a_module_of_the_root_is_listed_and_knows_only_what_it_may():
    modules = {path.stem: path for path in SOURCE.glob("*.py")}
    assert set(modules) == {*ROOT, *COMMON} - {"__version__"}
    wrong = [
        f"{name}.py:{line}: imports {package}"
        for name, path in sorted(modules.items())
        for package, line in imports(path)
        if package not in ROOT.get(name, set()) | COMMON
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
    # The root's names are there before its packages are imported, which is lazy.
    graph = {name: {*_at_import(path)} & modules - {"steelyard", name} for path, name in names.items()}
    TopologicalSorter(graph).prepare()  # CycleError names the modules


def test_every_package_is_listed():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == {*KERNEL, *FEATURES, "suites"}


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
