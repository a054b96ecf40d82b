"""The batch on a dask cluster: the same results though a worker is killed, nothing left behind, clear errors."""

import contextlib
import re
import subprocess
import sys
import time

import psutil
import pytest

from fedlib.files import ROOT

from .test_batch import command, project, result, write_light

assert project  # a fixture

SLOWLY = "Path('{begun}').open('a').write(f'{{os.getppid()}} ')\ntime.sleep(6)\nrun.finish(mean=seed)"


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """Two workers, each a process, on this machine; (address, pids of the workers, its scheduler)."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed (make engines)")
    monkeypatch.chdir(tmp_path)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as there:
        yield there.scheduler_address, lambda: {w.pid for w in there.workers.values()}, there.scheduler


@contextlib.contextmanager
def batch_there(project, address, tmp_path):
    """A batch of two notebooks on the cluster, once both have begun; (its process, the file that says so)."""
    begun = tmp_path / "begun"
    for name in ("sound", "early"):
        write_light(project[0], name, last=SLOWLY.format(begun=begun))
    arguments = ["run", "--scheduler", address]
    arguments += ["--source", str(project[0]), "--figures", str(project[1])]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen([sys.executable, "-m", "fedlib", *arguments], stdout=said, stderr=said)
    try:
        deadline = time.time() + 300
        while not begun.exists() or len(begun.read_text().split()) < 2:
            assert time.time() < deadline and process.poll() is None, (tmp_path / "said").read_text()
            time.sleep(0.1)
        yield process, begun
    finally:
        process.kill()
        process.wait()


def notebooks_of(pid):
    with contextlib.suppress(psutil.NoSuchProcess):
        return [p for p in psutil.Process(pid).children(recursive=True) if "fedlib.notebook.batch" in p.cmdline()]
    return []


@pytest.mark.fault("survived")
@pytest.mark.slow
def test_a_killed_worker_changes_nothing(project, cluster, tmp_path, capsys):
    address, pids, _ = cluster
    with batch_there(project, address, tmp_path) as (process, begun):
        killed = min(pids())
        (notebook,) = notebooks_of(killed)
        psutil.Process(killed).kill()
        assert process.wait(300) == 0, (tmp_path / "said").read_text()
        assert not notebook.is_running()
        assert len(begun.read_text().split()) == 3  # one of the two ran again
    said = (tmp_path / "said").read_text()
    assert "done     early" in said and "done     sound" in said
    assert all(result(project, name)["metrics"] == {"mean": 0} for name in ("sound", "early"))
    capsys.readouterr()
    assert command(project) == 0  # here, what was done there is up to date
    assert capsys.readouterr().out.count("skipped") == 2


@pytest.mark.fault("clear error")
@pytest.mark.slow
def test_a_notebook_that_dask_gives_up_is_one_failure(project, cluster, tmp_path):
    """joblib's dask backend waits for ever for it."""
    address, pids, scheduler = cluster
    scheduler.allowed_failures = 0
    with batch_there(project, address, tmp_path) as (process, _):
        psutil.Process(min(pids())).kill()
        assert process.wait(300) == 1
    said = (tmp_path / "said").read_text()
    assert (said.count("done     "), said.count("failed   "), said.count("KilledWorker")) == (1, 1, 1)
    assert "; the same command runs it again" in said


@pytest.mark.fault("survived")
@pytest.mark.slow
def test_when_the_caller_is_killed_its_notebooks_end(project, cluster, tmp_path):
    address, pids, _ = cluster
    with batch_there(project, address, tmp_path) as (process, _):
        at_work = [notebook for pid in pids() for notebook in notebooks_of(pid)]
        assert len(at_work) == 2
        process.kill()
        _, alive = psutil.wait_procs(at_work, 5)
        assert not alive
    assert not list(project[1].glob("*/result.json"))


@pytest.mark.fault("clear error")
@pytest.mark.slow
def test_what_goes_wrong_there_is_said_and_stops_nothing_else(project, cluster, tmp_path, capsys):
    address, *_ = cluster
    write_light(project[0], "sound")
    write_light(project[0], "broken", last="1 / 0")
    write_light(project[0], "endless", last="time.sleep(300)")
    assert command(project, "--scheduler", address, "--limit", "60") == 1
    out = capsys.readouterr().out
    assert "done     sound" in out
    assert "cell 3: ZeroDivisionError: division by zero" in out
    assert "it took longer than the limit of 60 s" in out


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "tcp://no.such.host.invalid:8786"])
def test_an_address_where_nobody_answers(project, address, capsys, monkeypatch):
    pytest.importorskip("distributed", reason="dask is not installed (make engines)")
    monkeypatch.setattr("fedlib.notebook.cluster.PATIENCE", 1.0)
    assert command(project, "--scheduler", address) == 2
    said = capsys.readouterr().err
    assert f"--scheduler {address}: no dask scheduler answers (" in said
    assert "expected an address such as tcp://node1:8786" in said
    assert "Traceback" not in said


@pytest.mark.fault("clear error")
def test_without_dask_it_is_said_before_anything_runs(project, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    write_light(project[0], "sound")
    assert command(project, "--scheduler", "tcp://node1:8786") == 2
    said = capsys.readouterr().err
    assert said.startswith("fedlib: ")
    assert "dask is not installed here; expected the extra: pip install '.[dask]'" in said
    assert not project[2].exists()


def test_a_task_of_the_array_takes_its_notebook(tmp_path):
    """The script of docs/cluster.md; what would run is said instead."""
    (script,) = re.findall(r"^```bash\n(.*?)^```", (ROOT / "docs/cluster.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "array.sh").write_text(script)
    (tmp_path / "names.txt").write_text("05_pinn_forward\n07_operator_learning\n")
    (tmp_path / "python").write_text('#!/bin/sh\necho "$OMP_NUM_THREADS" "$@"\n')
    (tmp_path / "python").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_ARRAY_TASK_ID": "2"}
    said = subprocess.check_output(["bash", "array.sh"], cwd=tmp_path, env=environment, text=True)
    assert said == "1 -m fedlib train 07_operator_learning\n"
