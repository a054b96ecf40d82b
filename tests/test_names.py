"""Words that name nothing are no names in fedlib."""

import ast
from collections.abc import Iterator

from fedlib.files import ROOT

WORDS = {"of", "own", "at", "found", "said", "given", "known", "there", "how", "who", "told", "here"}


def bound(code: str) -> Iterator[str]:
    """The names that a module binds: variables, its own attributes, parameters, functions, classes, what ``as`` names.

    A keyword argument or an attribute of somebody else's is read, not bound.
    """
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(ast.Name("self"), name, ast.Store()):
                yield name
            case ast.arg(arg=name) | ast.alias(asname=name) | ast.ExceptHandler(name=name) | ast.MatchAs(name=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def empty_names(code: str) -> int:
    """How often a module binds one of WORDS."""
    return sum(name in WORDS for name in bound(code))


def test_no_module_has_one():
    modules = [*(ROOT / "fedlib").rglob("*.py")]
    bad = [path.relative_to(ROOT).as_posix() for path in modules if empty_names(path.read_text())]
    assert modules and not bad, f"{bad}: names out of {sorted(WORDS)}; say a noun of the field (shard, history, level)"
