"""What the pages promise: the example for one's own data runs, links lead somewhere, numbers are the report's."""

import ast
import re
import shlex
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from fedlib.__main__ import main
from fedlib.federated import sums
from fedlib.federated.sweep import errors, sweep
from fedlib.files import ROOT
from fedlib.machines.model import read_model
from fedlib.notebook import verdicts
from fedlib.notebook.claims import summary as summary_of_claims
from fedlib.notebook.pictures import curves
from fedlib.notebook.report import facts
from fedlib.pages import source
from fedlib.papers.beyond.one_round.problem import start, with_sines
from fedlib.papers.fedsciml.flow import study as flow
from fedlib.papers.fedsciml.forward import problem as poisson_problem
from fedlib.papers.fedsciml.forward import study as forward
from fedlib.papers.studies import STUDIES
from fedlib.streams import stream
from fedlib.trainings.settings import FIGURES, NOTEBOOKS, committed
from fedlib.trainings.store import stored

from .machines import laboratories

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "figures/README.md",
]


def test_the_example_for_ones_own_data_runs_and_federation_helps(tmp_path, monkeypatch, capsys):
    """All blocks of the page as they stand, but for what three machines are told: see machines/test_story.py."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "laboratories", raising=False)
    monkeypatch.setenv("FEDLIB_CSV", "")  # the page sets it
    printed, names = {}, {}
    for language, code in laboratories.blocks():
        if code.startswith("# laboratories.py"):
            laboratories.saved(tmp_path / "laboratories.py")
            lines = [line for line in code.splitlines() if line and not line.startswith("#")]
            assert len(lines) <= 30
        elif language == "python":
            exec(compile(code, "docs/own_data.md", "exec"), names)
        elif not language:
            assert main(shlex.split(code.removeprefix("python -m fedlib "))) == 0
        printed[code.split("\n")[0]] = capsys.readouterr().out
    table, rates = (
        printed["from laboratories import make"],
        printed["python -m fedlib federate predict results new.csv"],
    )
    error = {line.split()[0]: [*map(float, line.split()[1:])] for line in table.splitlines()[2:]}
    assert error["federated"][0] < 0.3 * error["isolated"][0] and error["centralised"][0] <= error["federated"][0]
    assert error["federated"][1] < error["federated"][0], "mixed rows are no heterogeneity"
    for kind, numbers in {"federated": "0.04", "isolated": "0.30", "centralised": "0.02"}.items():
        assert f"{error[kind][0]:.2f}" == numbers and numbers in laboratories.PAGE.read_text()
    assert printed["from laboratories import COLUMNS, SITES, points, test"].count("site-3") == 3
    predicted = np.loadtxt(rates.splitlines(), delimiter=",", skiprows=1)
    rate = 3e6 * np.exp(-5200 / predicted[:, 0]) * predicted[:, 1]
    assert np.abs(predicted[:, 2] / rate - 1).max() < 0.2
    assert rates.splitlines()[0] == "temperature,concentration,rate"
    model = printed["from fedlib.machines.model import read_model"]
    np.testing.assert_allclose([float(x) for x in re.findall(r"[\d.]+", model)], predicted[:, 2], rtol=1e-3)


def test_the_example_of_sums_runs_in_thirty_lines_and_warns_first(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs/sums.md").read_text()
    assert "A sum is no secret" in page.split("\n\n")[1].split(". ")[1], "in the second sentence"
    code, use, own, broken, private = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 30
    names = {}
    exec(compile(code, "docs/sums.md", "exec"), names)
    *lines, message = capsys.readouterr().out.splitlines()
    for line in lines:
        assert line.split(": ")[1] in page, "it prints what the page says"
    assert f"{names['messages'][0].bytes} bytes from each laboratory" in page and "80 bytes" in message
    rows = [torch.cat([table[name] for table in names["tables"]]) for name in ("x", "y")]
    A = torch.cat([rows[0], torch.ones_like(rows[1])], 1)
    together = torch.linalg.lstsq(A, rows[1]).solution[:, 0]
    torch.testing.assert_close(names["solution"].step, together, rtol=1e-5, atol=0)  # a ridge of GCV
    monkeypatch.chdir(tmp_path)
    exec(compile(use, "docs/sums.md", "exec"), names)
    in_python, of_the_file = (float(number) for number in re.findall(r"\d+\.\d+(?=\])", capsys.readouterr().out))
    assert in_python == pytest.approx(3e6 * np.exp(-5200 / 330) * 2, rel=0.01)
    assert of_the_file == pytest.approx(in_python, rel=1e-4), "printed with four digits"
    assert not read_model("rate.pt2").unusual(np.array([[1e9, 0.0]])), "nobody said what is usual"
    exec(compile(own, "docs/sums.md", "exec"), names)
    numbers = re.findall(r"\d\.\d\d", capsys.readouterr().out)
    assert "It prints {}, {} and {}, where 0.20 was put in".format(*numbers) in page
    exec(compile(broken, "docs/sums.md", "exec"), names)
    assert f"It prints `{capsys.readouterr().out.strip()}`" in page
    exec(compile(private, "docs/sums.md", "exec"), names)
    assert capsys.readouterr().out.startswith("private: E ")
    torch.testing.assert_close(names["step"][:2], together[:2], rtol=0.1, atol=0)  # of 100 draws 0.057 at most
    assert max(A[:, 2].abs().max() for A in names["many"]) == 1 and "20 000 rows a laboratory" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere_and_pictures_have_alt_texts(page):
    assert "![](" not in page.read_text()
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert link.startswith("https://") or (page.parent / link).exists(), link


README = (ROOT / "README.md").read_text()
START = "\n".join(cell.source for cell in nbformat.read(NOTEBOOKS / "00_start.ipynb", 4).cells)


def test_the_readme_says_what_the_report_says():
    rows, claims, _ = facts()
    assert verdicts.summary(row for _, row in rows) in README
    assert summary_of_claims(claims) in README


def test_what_the_readme_trusts_most_is_so():
    most = README.split("Trust these three most:")[1].split("And these three least:")[0]
    poisson = errors(stored(forward, "poisson"))[-1].sel(kind="federated")
    two, six, eight = (poisson.sel(level=n) for n in (2, 6, 8))
    assert poisson.sizes["seed"] == 20 and f"each time in {(six > two).sum().item()} of the 20" in most
    assert f"The median of {eight.median():.1f} % with eight pieces is one rate's" in most
    assert "with roots the difference is at most 2e-11" in most and "about 1e-9" in most
    squares = lambda A: sums.Sums(A.T @ A, float(len(A)))  # noqa: E731
    experiment = with_sines("helmholtz", 300, 11.0, 0)
    data = experiment.data(4, 0)
    A, rng = sums.rows(experiment, data.pool, start(experiment)), stream(0, "squares")
    whole, off = sums.solve(squares(A)), []
    for _ in range(10):
        owner = rng.choice(8, len(A), p=rng.dirichlet(np.full(8, 0.3)))
        owners = [np.flatnonzero(owner == k) for k in range(8)]
        step = sums.solve(sums.added(squares(A[owner]) for owner in owners), whole.ridge).step
        off.append(float((A[:, :-1] @ (step - whole.step)).norm() / (A[:, :-1] @ whole.step).norm()))
    assert 1e-10 < max(off) < 1e-8
    spread = committed("08_stochastic_regression")["metrics"]["learnt_std"]["squared error"]["0.4"]
    assert len(spread) == 5 and {f"{std:.2f}" for std in spread} == {"0.01"} and "a spread of 0.01" in most
    frozen = committed("08b_as_coded")["metrics"]["spread_alone"]["frozen paths"]["0.4"]
    assert f"a client alone keeps {np.mean(frozen):.2f}" in most


def test_what_the_readme_trusts_least_is_so():
    least = README.split("And these three least:")[1].split("\n## ")[0]
    rows = {row.number.id: row for _, row in facts().rows}
    kinds = {(id.split(".table")[0], row.sort, len(row.measured.values)) for id, row in rows.items() if ".table" in id}
    assert {kind for kind in kinds if kind[0] == "feddro"} == {("feddro", "undefined", 5)}
    assert "chosen after the table was seen, with five seeds" in least
    assert {len(row.measured.values) for id, row in rows.items() if id.startswith("fedsciml.table2.n")} == {5}
    assert "Five runs of ours, a quarter of the rounds, on a flow of our own" in least
    assert 4 * flow.PAPER["rounds"] == flow.ROUNDS
    unseen = rows["fed-deeponet.exp4.unseen"]
    assert unseen.verdict == "consistent" and len(unseen.measured.values) == 20 and "Twenty seeds" in least
    assert f"{unseen.number.printed} agrees" in least and f"from {unseen.low:.3g} to {unseen.high:.3g} %" in least


def test_one_sentence_says_how_to_begin():
    """With the first notebook; its first code cell trains."""
    for page in (README, (ROOT / "docs/site/index.md").read_text()):
        assert "click its first code cell, press Shift+Enter once, and a federation trains in the page" in page
    first, second = nbformat.read(NOTEBOOKS / "00_start.ipynb", 4).cells[:2]
    assert [first.cell_type, second.cell_type] == ["markdown", "code"] and "Training(" in second.source


def test_readme_and_first_notebook_ask_what_the_notebooks_titles_ask():
    """As figures/README.md does, of which the site's first page is made."""
    asked = {path.stem: source.title(path).split(" · ")[1] for path in NOTEBOOKS.glob("*.ipynb")}
    rows = re.findall(r"^\| \[\w+\]\(notebooks/(\w+)\.ipynb\) \| .+ \| (.+) \|$", README, re.M)
    assert dict(rows) == asked and len(rows) == len(asked)
    rows = re.findall(r"^\| .*\| (?:\*Begin here:\* )?(.+\?) \| \[\w+\]\((\w+)\.ipynb\) \|$", START, re.M)
    begun = {name: question[0].upper() + question[1:] for question, name in rows}  # "Begin here: can two ..."
    assert begun == {name: asked[name] for name in STUDIES} and len(rows) == len(STUDIES)


PICTURE = re.compile(r'\n\n<img src="(\w+)/(\w+\.png)" alt="[^"]{20,}" width="\d+">\n\n(.+)\n')


def test_the_page_of_figures_has_a_picture_and_a_sentence_of_each_notebook():
    """The title is the notebook's own."""
    sections = (ROOT / "figures/README.md").read_text().split("\n## [")[1:]
    for path, section in zip(sorted(NOTEBOOKS.glob("*.ipynb")), sections, strict=True):
        title, link = re.match(r"(.+)\]\((.+)\)", section).groups()
        folder, picture, words = PICTURE.search(section).groups()
        assert f"# {title}" == nbformat.read(path, 4).cells[0].source.splitlines()[0]
        assert (link, folder) == (f"../notebooks/{path.name}", path.stem)
        assert (FIGURES / folder / picture).exists() and 5 < len(words.split()) < 40


PAPERS = sorted((ROOT / "fedlib/papers").glob("*/README.md"))
PARTS = "Where it comes from", "What the paper does not say, errata, and how we read it"


@pytest.mark.parametrize("page", PAPERS, ids=lambda path: path.parent.name)
def test_a_papers_page_has_what_it_says_and_ours_panel_by_panel_errata_and_where_it_comes_from(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert link.startswith("https://") or (page.parent / link).exists(), link
    if page.parent.name != "beyond":  # which is no paper
        assert [part for part in re.findall(r"^## (.+)", text, re.MULTILINE) if part in PARTS] == [*PARTS]
        notebooks = {name.split("_")[0] for name, s in STUDIES.items() if f".{page.parent.name}." in s.__name__}
        told = dict(re.findall(r"^Notebook (\d\db?)\b.*\n\n\| (.*) \|$", text, re.MULTILINE))
        assert {*told} == notebooks and len(told) > 1
        assert all({"ours", "mended"} & {*re.split(r"[ |,]+", header)} for header in told.values())


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAP = CONTRIBUTING.split("## Map\n")[1].split("\n\n**")[0]
FOLDERS = re.findall(r"^\| `([\w/]+)` \| ([\d ]*?) ?\|(.*)", MAP, re.MULTILINE)
"""(folder, its lines, what is in it)."""


def test_the_map_is_one_screen_and_what_it_names_exists():
    """A terminal of 50 lines and 120 columns."""
    assert sum(1 + len(line) // 120 for line in MAP.splitlines()) < 50
    assert len(FOLDERS) == 17
    for folder, _, words in FOLDERS:
        for name in re.findall(r"`([\w/]+(?:\.\w+)?)`", words):
            module = ROOT / folder / f"{name}.py"
            assert (ROOT / name if "/" in name else module).exists(), f"{folder}: {name}"


def lines(folder: str) -> int:
    """Of Python, in a folder and those below it; in fedlib itself."""
    paths = (ROOT / folder).glob("*.py" if folder == "fedlib" else "**/*.py")
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def test_how_large_things_are_said_to_be_is_true_within_5_percent_or_50_lines():
    said = {folder: number for folder, number, _ in FOLDERS if number}
    true = {folder: lines(folder) for folder in said}
    named = {"fedlib/papers": "of which {}", "fedlib/federated": "rooms and {}", "tests": "`tests` {}"}
    library = re.search(r"`fedlib` has ([\d ]+) lines of Python", README)[1]
    assert float(library.replace(" ", "")) == pytest.approx(
        sum(true[f] for f in said if f.startswith("fedlib")), rel=0.05
    )
    for folder, number in said.items():
        assert float(number.replace(" ", "")) == pytest.approx(true[folder], rel=0.05, abs=50), folder
        assert named.get(folder, "").format(number) in README, folder


def test_fig_7a_takes_the_names_that_contributing_lists():
    source = ast.parse(Path(poisson_problem.__file__).read_text(encoding="utf-8"))
    ours = {a.name for node in source.body if isinstance(node, ast.ImportFrom) and node.level for a in node.names}
    functions = [node for node in source.body if getattr(node, "name", "") in ("poisson", "poisson_equation")]
    met = {node.id for f in functions for node in ast.walk(f) if isinstance(node, ast.Name)} & ours
    met |= {f.name for f in functions} | {"sweep", "errors", "curves"}
    listed = re.search(r"Fig\. 7A takes eleven names of ours: (.*?) in all\.", CONTRIBUTING)[1]
    assert met == {*re.findall(r"`(\w+)`", listed)} and len(met) == 11 and "eleven names of ours" in README
    assert sum(f.end_lineno - f.lineno + 1 for f in functions) < 30
    history = sweep(poisson_problem.poisson(), [2, 8], [0], rounds=2)
    assert curves({"Poisson (Fig. 7A)": errors(history)[-1]}, "level").axes[0].get_xlabel() == "pieces"


SECTION = re.compile(r"[Ss]ection B?\d+|[Ss]ections B?\d+(?:(?:, | and | to )B?\d+)*")


def sections_named(text):
    return {number for numbers in SECTION.findall(text) for number in re.findall(r"B?\d+", numbers)}


def sections_of(number):
    (notebook,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    cells = nbformat.read(notebook, 4).cells
    return set(re.findall(r"^##+ (B?\d+) ", "\n".join(c.source for c in cells if c.cell_type == "markdown"), re.M))


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_every_section_that_a_page_names_is_in_the_notebook_that_it_names_beside_it(path):
    for line in path.read_text().splitlines():
        if sections := sections_named(line):
            assert any(sections <= sections_of(number) for number in re.findall(r"\b(\d\db?)\b", line)), line
