"""Words that name nothing, as names in fedlib: names.txt says how often each module binds one, and only shrinks."""

import ast
from collections.abc import Iterator

import pytest

from fedlib.files import ROOT
from tests.test_unmoved import versions

LIST = "tests/names.txt"
WORDS = {"of", "own", "at", "found", "said", "given", "known", "there", "how", "who", "told", "here"}


def counts(text: str) -> dict[str, int]:
    """The list's lines, "path count"."""
    return {path: int(count) for path, count in map(str.split, text.splitlines())}


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


def test_every_module_has_as_many_as_its_line_says():
    modules = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "fedlib").rglob("*.py")}
    listed = counts((ROOT / LIST).read_text())
    gone = sorted(listed.keys() - modules)
    assert modules and not gone, f"{gone}: no such module; take the lines out of {LIST}"
    now = {path: empty_names(code) for path, code in modules.items()}
    more = [f"{path} {n}, not {listed.get(path, 0)}" for path, n in now.items() if n > listed.get(path, 0)]
    assert not more, (
        f"{more}: more names out of {sorted(WORDS)}; say a noun of the field (shard, history, stack, level)"
    )
    fewer = [f"{path} {now[path]}, not {n}" for path, n in listed.items() if now[path] < n]
    assert not fewer, f"{fewer}: fewer than listed; lower the line in {LIST}, or take it out at 0"
    assert all(listed.values()), f"a line of {LIST} says 0: take it out"


def test_the_list_only_loses():
    listed = counts((ROOT / LIST).read_text())
    for text in versions(LIST):
        older = counts(text)
        gained = [path for path, n in listed.items() if n > older.get(path, 0)]
        assert not gained, f"{LIST} has gained in {gained}"
