"""What a result depends on, as a hash: code and all that it imports, parameters, the papers' entries, the lock."""

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import yaml

from ..files import ROOT


def content_hash(notebook: Path, parameters: Mapping, threads: int = 1, root: Path = ROOT) -> str:
    """What a result depends on; comments, docstrings and modules that the notebook does not import are no part of it.

    The notebook's code cells and the closure of the modules of fedlib that they import, all as syntax; the
    parameters; the threads of its kernel; the printed numbers and claims of the papers that the cells name;
    requirements.lock.
    """
    cells = [c for c in json.loads(notebook.read_text())["cells"] if c["cell_type"] == "code"]
    code = ["".join(c["source"]) for c in cells]
    modules = closure(code, root)
    papers = [[path.name, entries(path, "\n".join(code))] for path in sorted((root / "data").glob("*.yaml"))]
    parts = [[syntax(cell) for cell in code], dict(parameters), threads, papers]
    parts += [[str(path.relative_to(root)), syntax(path.read_text())] for path in sorted(modules)]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    digest.update((root / "requirements.lock").read_bytes())
    return digest.hexdigest()


@cache
def syntax(source: str) -> str:
    """Python source without comments, layout and docstrings; what is no Python (a cell with magics) as it stands."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [s for s in node.body if not _is_text(s)] or [ast.Pass()]
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    """A docstring, also one after a constant: text that does nothing."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def closure(code: list[str], root: Path = ROOT) -> set[Path]:
    """Files of fedlib that these pieces of code import, and what those import; read, not run.

    The package's own __init__ is not one of them: its lazy exports are followed to the modules that they stand for.
    """
    found: set[Path] = set()
    todo = [path for cell in code for path in imported(cell, (), root)]
    while todo:
        if (path := todo.pop()) not in found:
            found.add(path)
            package = path.relative_to(root).parts[:-1]
            todo += imported(path.read_text(), package, root)
    return found


def imported(source: str, package: tuple[str, ...], root: Path) -> Iterator[Path]:
    """Files of fedlib that a source imports, anywhere in it; package: where it lives, for its relative imports."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # magics
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from files(tuple(name.name.split(".")), "*", root)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = (*base, *(node.module or "").split(".")) if node.module else base
            for name in node.names:
                yield from files(module, name.name, root)


def files(module: tuple[str, ...], name: str, root: Path) -> Iterator[Path]:
    """Files behind ``from module import name``: the module or package, or the module that has the name."""
    if not module or module[0] != "fedlib":
        return
    if len(module) == 1:  # fedlib itself: a module of it, or one of its lazy exports; "import fedlib" means all of them
        exports = lazy_exports(root)
        wanted = [name] if name != "*" else list(exports)
        for path in (exports.get(n, n).split(".") for n in wanted):
            yield from files(("fedlib", *path), "", root)
        return
    folder = root.joinpath(*module)
    packages = [root.joinpath(*module[:i]) / "__init__.py" for i in range(2, len(module) + 1)]
    for path in (folder.with_suffix(".py"), *packages, *([folder / f"{name}.py"] if name else [])):
        if path.exists():
            yield path


def lazy_exports(root: Path) -> dict[str, str]:
    """WHERE of fedlib/__init__.py: name -> module that it is taken from."""
    for node in ast.parse((root / "fedlib/__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "WHERE":
            return ast.literal_eval(node.value)
    return {}


def entries(path: Path, code: str) -> dict:
    """The entries of a file of data/ that belong to the papers that the code names."""
    found = yaml.safe_load(path.read_text())
    (kind,) = set(found) - {"papers"}
    return {id: entry for id, entry in found[kind].items() if f"{id.split('.')[0]}." in code}
