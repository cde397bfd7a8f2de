"""Dependencies between modules point one way (CONTRIBUTING, "The layers")."""

import ast
from pathlib import Path

from fast_share import each

SRC = Path(__file__).resolve().parents[2] / "src" / "preflearn"

# Who may import whom; a package may always import itself.
ALLOWED = {
    "__init__": {"_version", "data", "kernels", "files", "models", "analysis"},
    "_version": set(),
    "_disk": {"exceptions"},
    "messages": set(),
    "exceptions": {"messages"},
    "table_format": set(),
    "items": {"exceptions"},
    "linalg": {"exceptions"},
    "kernels": {"exceptions", "items", "linalg"},
    "operators": {"exceptions", "linalg"},
    "data": {"exceptions", "items", "linalg"},
    "io": {"_disk", "table_format", "exceptions", "data"},
    "likelihoods": {"exceptions"},
    "terms": {"items", "exceptions", "linalg", "kernels"},
    "inference": {"exceptions", "linalg", "operators", "terms"},
    "metrics": {"exceptions", "linalg", "data"},
    "datasets": {"exceptions", "data", "io"},
    "models": {
        "table_format",
        "exceptions",
        "items",
        "linalg",
        "kernels",
        "operators",
        "data",
        "likelihoods",
        "terms",
        "inference",
        "metrics",
    },
    "baselines": {"exceptions", "linalg", "items", "data", "kernels", "operators", "inference", "metrics", "models"},
    "selection": {"exceptions", "items", "linalg", "data", "kernels", "metrics", "models"},
    "active": {"table_format", "exceptions", "linalg", "operators", "data", "likelihoods", "metrics", "models"},
    "structure": {"table_format", "exceptions", "data", "kernels", "models", "terms"},
    "plots": {"table_format", "exceptions", "items", "data", "metrics"},
    "files": {
        "_disk",
        "_version",
        "exceptions",
        "items",
        "data",
        "kernels",
        "likelihoods",
        "inference",
        "metrics",
        "models",
        "baselines",
        "structure",
    },
    "analysis": {
        "table_format",
        "exceptions",
        "messages",
        "operators",
        "data",
        "io",
        "kernels",
        "models",
        "baselines",
        "selection",
        "active",
        "structure",
        "plots",
        "terms",
    },
    "report": {
        "_disk",
        "table_format",
        "_version",
        "exceptions",
        "messages",
        "items",
        "operators",
        "data",
        "metrics",
        "selection",
        "active",
        "structure",
        "plots",
        "analysis",
        "io",
    },
    "scale": {
        "_disk",
        "exceptions",
        "linalg",
        "data",
        "io",
        "likelihoods",
        "metrics",
        "operators",
        "inference",
        "models",
    },
    "reproduce": {
        "_disk",
        "_version",
        "table_format",
        "exceptions",
        "linalg",
        "items",
        "data",
        "io",
        "kernels",
        "likelihoods",
        "metrics",
        "datasets",
        "models",
        "baselines",
        "selection",
        "active",
        "structure",
        "plots",
        "analysis",
    },
    "__main__": {"cli"},
    "cli": {
        "_disk",
        "table_format",
        "_version",
        "exceptions",
        "messages",
        "data",
        "io",
        "datasets",
        "kernels",
        "metrics",
        "models",
        "selection",
        "structure",
        "active",
        "likelihoods",
        "files",
        "analysis",
        "report",
        "reproduce",
        "scale",
    },
}
OPTIONAL = {"pandas", "polars", "pyarrow", "xlsxwriter", "matplotlib", "dask", "distributed"}
FILES = {path: ast.parse(path.read_text()) for path in sorted(SRC.rglob("*.py"))}


def part_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imports(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer"
            yield node, node.module or ""


@each("path", FILES)
def test_imports_point_down(path):
    part = part_of(path)
    for node, name in imports(FILES[path]):
        if name.split(".")[0] != "preflearn":
            continue
        target = name.split(".")[1] if "." in name else "__init__"
        if name == "preflearn":
            continue
        assert target == part or target in ALLOWED[part], f"{path.name}:{node.lineno} imports {name}"


@each("path", FILES)
def test_optional_packages_are_imported_where_they_are_used(path):
    top = FILES[path].body
    for node in top:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for _, name in imports(ast.Module([node], [])):
                assert name.split(".")[0] not in OPTIONAL, f"{path.name}:{node.lineno}"


def modules_needed(path: Path) -> set[str]:
    """Return the modules of the command line that one imports, in its functions too, but for types only."""
    tree = ast.parse(path.read_text())
    typing_only = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    ]
    for block in typing_only:
        block.body = [ast.Pass()]
    found = set()
    for node, name in imports(tree):
        names = [name, *(f"{name}.{alias.name}" for alias in node.names if isinstance(node, ast.ImportFrom))]
        found |= {name.removeprefix("preflearn.cli.") for name in names if name.startswith("preflearn.cli.")}
    return found & {one.stem for one in path.parent.glob("*.py")}


def test_modules_of_the_command_line_do_not_import_each_other_in_circles():
    from preflearn.cli.app import COMMANDS

    needs = {path.stem: modules_needed(path) for path in (SRC / "cli").glob("*.py")}
    needs["app"] |= set(COMMANDS)  # imported by their names
    while free := {name for name, needed in needs.items() if not needed & set(needs)}:
        needs = {name: needed for name, needed in needs.items() if name not in free}
    assert needs == {}


def test_every_part_has_its_layer():
    assert {part_of(path) for path in FILES} <= set(ALLOWED)


def test_importing_preflearn_loads_nothing_heavy():
    import subprocess
    import sys

    code = "import sys, preflearn; print([m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def private_parts(node: ast.Import | ast.ImportFrom, name: str):
    """Yield the package of each private module or name of preflearn that an import goes through."""
    for alias in node.names:
        parts = [*name.split("."), alias.name] if isinstance(node, ast.ImportFrom) else alias.name.split(".")
        if parts[0] == "preflearn":
            for place, part in enumerate(parts):
                if part.startswith("_") and not part.startswith("__"):
                    owner = tuple(parts[1:place])
                    yield owner[:-1] if SRC.joinpath(*owner).with_suffix(".py") in FILES else owner


def test_modules_with_an_underscore_are_imported_inside_their_package_only():
    others = [path for room in ("benchmarks", "docs", "examples") for path in (SRC.parents[1] / room).rglob("*.py")]
    assert others
    for path in (*FILES, *others):
        home = path.relative_to(SRC).parts if path in FILES else ("outside",)
        for node, name in imports(ast.parse(path.read_text())):
            for package in private_parts(node, name):
                assert home[: len(package)] == package, f"{path}:{node.lineno} imports what is private to {package}"


# Modules of one name in several packages, because they are about the same thing.
SAME = {
    "resolve",  # names to objects
    "writing",  # results to files
    *("hidden_states", "judges", "labels", "letor", "parses", "sinc"),  # data or terms, and experiments with them
}


def test_no_two_modules_of_one_name_mean_different_things():
    names = [path.stem for path in FILES if not path.stem.startswith("__")]
    assert {name for name in names if names.count(name) > 1} <= SAME
