"""Kills, doubled runs, damaged and missing files: nothing is lost, nothing half-written, no process left behind."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import torch

from fedlib import Run
from fedlib.__main__ import main
from fedlib.notebook import batch
from fedlib.papers.fed_deeponet.pendulum import study as pendulum

from .test_batch import command, project, result, write_light

assert project  # a fixture

FIGURES = """
run.figure("early")
while os.path.exists(wait): time.sleep(0.05)
run.figure("late")
run.finish(mean=seed)
"""


@pytest.fixture
def batch_at_work(project, tmp_path):
    """Two notebooks, each has drawn a figure and waits for a file to go away; (process, its workers, kernels, ...)."""
    source, figures, _ = project
    wait = tmp_path / "wait"
    wait.touch()
    for name in ("sound", "early"):
        write_light(source, name, last=f"wait = {str(wait)!r}" + FIGURES)
    arguments = ["run", "--source", str(source), "--figures", str(figures), "--jobs", "2"]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "fedlib", *arguments], stdout=said, stderr=said, start_new_session=True
        )
    deadline = time.time() + 120
    while len(list(figures.glob(".work/*/partial-*/early.png"))) < 2:
        assert time.time() < deadline, (tmp_path / "said").read_text()
        time.sleep(0.1)
    workers = psutil.Process(process.pid).children()
    kernels = [kernel for w in workers for kernel in w.children()]
    assert len(workers) == len(kernels) == 2
    yield process, workers, kernels, arguments, wait
    for p in (process, *workers, *kernels):
        if p.poll() is None if p is process else p.is_running():
            p.kill()


def gone(processes, seconds=10.0):
    _, alive = psutil.wait_procs(processes, seconds)
    return not [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def whole(project, *names):
    """Both figures are there, the result is up to date, and it is what was asked for."""
    for name in names:
        folder, found = project[1] / name, result(project, name)
        assert {p.name for p in folder.glob("*.png")} == {"early.png", "late.png"}
        assert found["metrics"] == {"mean": 0}
        assert batch.is_done(batch.job_of(project[0] / f"{name}.ipynb", {}, project[1]))


@pytest.mark.fault("survived")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_main_is_killed_alone(batch_at_work, project, how, tmp_path):
    process, workers, kernels, arguments, wait = batch_at_work
    process.send_signal(how)
    process.wait(15)
    assert gone([*workers, *kernels])
    assert not (project[1] / "sound").exists()
    if how != signal.SIGKILL:
        assert process.returncode == 130
        said = (tmp_path / "said").read_bytes().decode()  # \r of the bar stays what it is
        assert "Traceback" not in said
        assert said.endswith("interrupted; what is done is kept, and the same command goes on from there\n")
        assert said.count("\n") <= 3
    wait.unlink()
    assert main(arguments) == 0
    whole(project, "sound", "early")
    assert main(arguments) == 0
    assert not list(project[1].glob(".work/*/partial-*"))


@pytest.mark.fault("survived")
@pytest.mark.parametrize("victim", ["worker", "kernel"])
def test_a_worker_or_a_kernel_is_killed_alone(batch_at_work, project, victim, tmp_path, capsys):
    process, workers, _, arguments, wait = batch_at_work
    (worker,) = [w for w in workers if list(project[1].glob(f".work/early/partial-{w.pid}-*"))]
    (kernel,) = worker.children()
    (worker if victim == "worker" else kernel).send_signal(signal.SIGKILL)
    assert gone([worker, kernel])
    wait.unlink()
    assert process.wait(60) == 1
    said = (tmp_path / "said").read_text()
    (line,) = [line for line in said.splitlines() if line.startswith("failed")]
    assert "early" in line
    assert "cell 3" in line
    assert "memory" in line
    assert str(project[1] / ".work/early/log") in line
    whole(project, "sound")  # the other one goes on
    assert not (project[1] / "early").exists()
    assert main(arguments) == 0
    assert "skipped  sound" in capsys.readouterr().out
    whole(project, "early")


@pytest.mark.fault("clear error")
def test_a_second_run_into_the_same_folder_is_refused(batch_at_work, project, capsys):
    process, workers, _, arguments, wait = batch_at_work
    assert main(arguments) == 1
    said = capsys.readouterr().out
    pids = sorted(w.pid for w in workers)
    assert sorted(int(line.split("pid ")[1].split(";")[0]) for line in said.splitlines() if "pid " in line) == pids
    wait.unlink()
    assert process.wait(60) == 0
    whole(project, "sound", "early")


@pytest.mark.fault("survived")
def test_ctrl_c_is_one_line(project, capsys, monkeypatch):
    monkeypatch.setattr(batch, "as_completed", interrupted)
    assert command(project) == 130
    assert capsys.readouterr().err == (
        "\nfedlib: interrupted; what is done is kept, and the same command goes on from there\n"
    )


def interrupted(*_):
    raise KeyboardInterrupt


@pytest.mark.fault("clear error")
def test_a_file_in_the_way_is_found_before_the_work(project, capsys):
    project[1].mkdir(parents=True)
    (project[1] / "sound").write_text("mine")
    write_light(project[0], "other", last="run.finish()")
    assert command(project) == 1
    out = capsys.readouterr().out
    assert f"a file is in the way: {project[1] / 'sound'}" in out
    assert "done     other" in out
    assert (project[1] / "sound").read_text() == "mine"
    assert project[2].read_text().split() == ["other"]
    (project[1] / ".work/other").rename(project[1] / "aside")
    (project[1] / ".work/other").write_text("mine")  # where its log would be
    assert command(project, "other", "-p", "seed=0") == 0, "up to date"
    (project[1] / "other/result.json").unlink()
    assert command(project, "other") == 1
    assert f"File exists: {project[1] / '.work/other'}" in capsys.readouterr().out


@pytest.mark.fault("clear error")
def test_a_full_disk_is_one_notebooks_failure(project):
    """Files may have 1500 bytes: the notebook itself cannot be written."""
    write_light(project[0], "sound", last="run.finish()")
    arguments = ["run", "--source", str(project[0]), "--figures", str(project[1])]
    # in the new process: a function between fork and exec is what JAX, if a test has imported it, warns of
    limited = "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500)); "
    limited += "runpy.run_module('fedlib', run_name='__main__')"
    full = subprocess.run([sys.executable, "-c", limited, *arguments], capture_output=True, text=True, timeout=120)
    assert full.returncode == 1, full.stderr
    (line,) = [line for line in full.stdout.splitlines() if line.startswith("failed")]
    assert "File too large" in line
    assert not (project[1] / "sound").exists()
    assert main(arguments) == 0


@pytest.mark.fault("clear error")
def test_a_time_limit_stops_one_notebook(project, capsys):
    write_light(project[0], "slow", last="time.sleep(600)")
    write_light(project[0], "sound", last="run.finish()")
    before = set(psutil.Process(os.getpid()).children(recursive=True))  # other tests' workers may still be there
    assert command(project, "slow", "--limit", "4") == 1
    out = capsys.readouterr().out
    assert ": it took longer than the limit of 4 s (log: " in out
    assert out.count("failed   slow") == 1
    new = set(psutil.Process(os.getpid()).children(recursive=True)) - before
    assert not [p for p in new if p.status() != psutil.STATUS_ZOMBIE]
    assert command(project, "sound", "--limit", "600") == 0


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "value", [float("inf"), -np.inf, np.array([[np.nan]]), torch.tensor(float("nan")), [{"c": np.nan}]]
)
def test_every_number_of_a_result_is_looked_at(tmp_path, monkeypatch, value):
    monkeypatch.setenv("FEDLIB_OUTPUT", str(tmp_path))
    run = Run(pendulum)
    with pytest.raises(ValueError, match=r"metrics\['b'\].* = -?(nan|inf): expected a finite number"):
        run.finish(a=1.0, b=value)
    assert not list(tmp_path.iterdir())
    run.finish(a=None, b=[1, {"c": "text"}])


def test_a_kernel_has_one_thread_unless_more_are_asked_for(project, monkeypatch):
    write_light(project[0], "sound", last="run.finish(threads=int(os.environ['OMP_NUM_THREADS']))")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert command(project) == 0
    assert result(project)["metrics"]["threads"] == 2
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert command(project, "-p", "seed=1") == 0
    assert result(project, changed=True)["metrics"]["threads"] == 1


@pytest.mark.fault("survived")
@pytest.mark.parametrize("victim", ["main", "kernel"])
def test_the_processes_of_a_notebook_end_with_it(project, victim, tmp_path):
    """Seeds in processes of their own, at work for ten minutes when something above them is killed."""
    start = "from concurrent.futures import ProcessPoolExecutor"
    code = f"{start}\n[*ProcessPoolExecutor(2).map(time.sleep, (600, 601))]\n{FIGURES}"
    write_light(project[0], "sound", last=code)
    arguments = ["run", "--source", str(project[0]), "--figures", str(project[1])]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen([sys.executable, "-m", "fedlib", *arguments], stdout=said, stderr=said)
    main_, below, deadline = psutil.Process(process.pid), [], time.time() + 120
    while len(below) < 4:  # worker, kernel, two at work
        assert time.time() < deadline
        below = main_.children(recursive=True)
        time.sleep(0.2)
    time.sleep(1)  # until the parent has seen them, too
    below = main_.children(recursive=True)
    (worker,) = main_.children()
    (kernel,) = worker.children()
    {"main": main_, "kernel": kernel}[victim].kill()
    process.wait(30)
    assert gone(below)
