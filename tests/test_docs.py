"""What the pages promise: the example for one's own data runs, links lead somewhere, numbers are the report's."""

import re
import shlex
import shutil
import sys

import numpy as np
import pytest

from fedlib.__main__ import main
from fedlib.files import ROOT
from fedlib.notebook.report import facts
from fedlib.notebook.verdicts import summary

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_example_for_ones_own_data_runs_and_federation_helps(tmp_path, monkeypatch, capsys):
    """All blocks of the page as they stand, beside the experiments: a short example, and a long one."""
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "laboratories", raising=False)
    monkeypatch.setenv("FEDLIB_CSV", "")  # the page sets it
    blocks = re.findall(
        r"^```(python)?\n(.*?)^```", (ROOT / "docs/own_data.md").read_text(encoding="utf-8"), re.M | re.S
    )
    assert len([line for line in blocks[0][1].splitlines() if line and not line.startswith("#")]) <= 30
    printed, names = [], {}
    for python, code in blocks:
        if python:
            exec(compile(code, "docs/own_data.md", "exec"), names)
        else:
            *settings, command = re.fullmatch(r"(?:FEDLIB_CSV=(\w+) )?python -m fedlib (.*)\n", code).groups()
            assert settings in (["tables"], [None]) and main(shlex.split(command)) == 0
        printed.append(capsys.readouterr().out)
    together, alone = (float(x) for x in re.findall(r"error (\d+) %", printed[0]))
    assert together < 0.5 * alone
    error = {line.split()[0]: [*map(float, line.split()[1:])] for line in printed[3].splitlines()[2:]}
    assert error["federated"][0] < 0.3 * error["isolated"][0] and error["centralised"][0] <= error["federated"][0]
    assert error["federated"][1] < error["federated"][0], "mixed rows are no heterogeneity"
    assert "[[" in printed[5] and printed[5].count("[") == 3
    predicted = np.loadtxt(printed[6].splitlines(), delimiter=",", skiprows=1)
    rate = 3e6 * np.exp(-5200 / predicted[:, 0]) * predicted[:, 1]
    assert np.abs(predicted[:, 2] / rate - 1).max() < 0.2
    assert printed[6].splitlines()[0] == "temperature,concentration,rate"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert link.startswith("https://") or (page.parent / link).exists(), link


def test_pictures_have_alt_texts():
    for page in PAGES:
        assert "![](" not in page.read_text(), page.name


def test_the_readme_says_what_the_report_says():
    rows = [row for _, row in facts().rows]
    assert summary(rows) in (ROOT / "README.md").read_text()
