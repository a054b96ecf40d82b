"""Words that name nothing are no names in fedlib."""

import ast
from collections.abc import Iterator

import pytest

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


@pytest.mark.parametrize(
    "code",
    [
        "of = 1",
        "of: int = 1",
        "a, (*of, b) = c",
        "self.of = 1",
        "for of in a: pass",
        "[a for of in b]",
        "(of := 1)",
        "with a as of: pass",
        "import a as of",
        "try: pass\nexcept E as of: pass",
        "match a:\n case of: pass",
        "def f(of): pass",
        "def f(*of): pass",
        "def f(*, of=1): pass",
        "lambda of: 1",
        "def of(): pass",
        "class A:\n def of(self): pass",
        "class A:\n of: int",
    ],
)
def test_a_name_is_counted_wherever_it_is_bound(code):
    assert empty_names(code) == 1


@pytest.mark.parametrize("code", ["f(of=1)", "history.of(1)", "of + of", "a.of = 1", "'of'", "offset = how_many = 1"])
def test_what_is_only_used_or_only_contains_the_word_is_not_counted(code):
    assert empty_names(code) == 0


def test_no_module_has_one():
    modules = [*(ROOT / "fedlib").rglob("*.py")]
    bad = [path.relative_to(ROOT).as_posix() for path in modules if empty_names(path.read_text())]
    assert modules and not bad, f"{bad}: names out of {sorted(WORDS)}; say a noun of the field (shard, history, level)"
