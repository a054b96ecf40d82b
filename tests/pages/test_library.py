"""The session of docs/site/library.md runs as it stands, and uses each name that the page explains."""

import doctest
import re

import fedlib
from fedlib.files import ROOT

PAGE = (ROOT / "docs/site/library.md").read_text()
SESSION = "\n".join(re.findall(r"^```pycon\n(.*?)^```", PAGE, re.M | re.S))
EXPLAINED = re.findall(r"^\.\. auto(?:class|function):: (fedlib[\w.]+)\.(\w+)$", PAGE, re.M)


def test_the_examples_print_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(SESSION, {}, "library.md", None, 0)
    said = []
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
    assert tried > 40 and not failed, "".join(said)


def test_each_name_of_the_library_is_explained_and_used():
    names = [name for _, name in EXPLAINED]
    assert {*fedlib.__all__} - {*names} == {"environment"}, "of the machine, for reports"
    assert {name for name in names if not re.search(rf"\b{name}\b", SESSION)} == {"History", "Solution"}, "results"
