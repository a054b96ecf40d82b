"""What ran: git is asked in one place, and answers for the project's own folder alone."""

import subprocess

import pytest

from fedlib.pages import build
from fedlib.trainings import environment
from fedlib.trainings.environment import commit


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, check=True)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Unpacked in somebody's repository."""
    folder = tmp_path / "homework/companion"
    (folder / "fedlib").mkdir(parents=True)
    (folder / "fedlib/streams.py").write_text("1")
    git(folder.parent, "init", "-q")
    git(folder.parent, "commit", "-qm", "mine", "--allow-empty")
    monkeypatch.setattr(environment, "ROOT", folder)
    return folder


@pytest.mark.parametrize("name", ["streams.py", "new.py"])
def test_the_commit_is_the_projects_own_and_changed_code_is_marked(project, name):
    assert commit() == ""
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "code")
    clean = commit()
    assert len(clean) >= 7
    (project / "notes.txt").write_text("changes no number")
    assert commit() == clean
    (project / "fedlib" / name).write_text("2")
    assert commit() == f"{clean}+changes"


def test_without_git_there_is_no_commit_and_all_notebooks_are_published(tmp_path, monkeypatch):
    before = build.published()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() == "" and {*before} <= {*build.published()}


def test_names_with_umlauts_and_blanks_are_published(project, monkeypatch):
    notebooks = project / "notebooks"
    notebooks.mkdir()
    names = ["16_übung.ipynb", "17 with blanks.ipynb"]
    for name in [*names, "draft.ipynb"]:
        (notebooks / name).touch()
    git(project, "init", "-q")
    git(project, "add", *(f"notebooks/{name}" for name in names))
    monkeypatch.setattr(build, "ROOT", project)
    monkeypatch.setattr(build, "NOTEBOOKS", notebooks)
    assert [path.name for path in build.published()] == names
