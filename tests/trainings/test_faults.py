"""What can happen to a stored training: kills, a full disk, flipped bits, two at once, other files. Nothing is lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
import xarray
from torch import nn

from fedlib.federated import checkpoints
from fedlib.federated.batches import Local
from fedlib.federated.mixing import equal
from fedlib.federated.optimizers import adam, sgd
from fedlib.federated.rules import fedadam, scaffold
from fedlib.federated.schedules import Cosine, Drop
from fedlib.files import ROOT, Unreadable
from fedlib.models.networks import mlp
from fedlib.trainings import as_json, calls, files, missing, store
from fedlib.trainings.calls import Call, Computed, read
from fedlib.trainings.files import SEAL
from fedlib.trainings.settings import FIGURES

from ..new_problem import oscillator
from .replaying import replay, restored

EAGER = {"backend": "eager"}
CALL = Call(oscillator, {}, [2], [0], changes={"rounds": 6, "local": Local(2)})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "oscillator.nc"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of a training that nothing happened to."""
    path = tmp_path_factory.mktemp("whole") / "oscillator.nc"
    CALL.fill(path, **EAGER)
    return path


def same(path: Path, whole: Path) -> bool:
    """Whether two files have the same models, losses and errors, bit by bit."""
    one, other = (CALL.read(file).result for file in (path, whole))
    equal = all(np.array_equal(one.metrics[name], other.metrics[name]) for name in other.metrics)
    return equal and torch.equal(one.theta, other.theta) and np.array_equal(one.losses, other.losses)


def hidden(path: Path) -> set[str]:
    """Endings of what is left in a folder beside the file."""
    return {file.suffix for file in path.parent.iterdir()} - {".nc", ".lock"}


KILLED = """
import os, signal, sys
from io import BytesIO
from hashlib import sha256
from pathlib import Path
import torch
from fedlib.federated import checkpoints
from fedlib.trainings import files
from tests.trainings.test_faults import CALL, EAGER
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
checkpoints.SECONDS = -1  # keep every round
where, path = sys.argv[1], Path(sys.argv[2])
if where == "in a round":
    save, checkpoints.save = checkpoints.save, lambda c, state, h: (save(c, state, h), state.round == 3 and die())
if where in ("in a checkpoint", "in the file"):
    write_bytes, ending = Path.write_bytes, ".pt." if "checkpoint" in where else ".nc."
    def half(partial, content):
        here = ending in partial.name and (ending == ".nc." or torch.load(BytesIO(content))["state"][0] == 4)
        write_bytes(partial, content[: len(content) // (1 + here)])
        here and die()
    Path.write_bytes = half
if where == "before the file":
    files.write = die
if where == "after the file":
    write = files.write
    files.write = lambda *stacks: (write(*stacks), die())
CALL.fill(path, **EAGER)
"""


@pytest.mark.fault("survived")
@pytest.mark.parametrize(
    ("where", "rounds"),
    {"in a round": 3, "in a checkpoint": 3, "before the file": 1, "in the file": 1, "after the file": 0}.items(),
)
def test_a_kill_at_any_point_loses_nothing(path, whole, where, rounds, monkeypatch):
    """rounds: how many the same command then plays; the first one again, and what came after the checkpoint."""
    run = [sys.executable, "-c", KILLED, where, path]
    killed = subprocess.run(run, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert path.exists() == (where == "after the file") and ".pt" in hidden(path)
    played = []
    monkeypatch.setattr("fedlib.federated.rounds.site_round", counting(played, "fedlib.federated.rounds.site_round"))
    CALL.fill(path, **EAGER)
    assert len(played) == rounds + (where in ("in a round", "in a checkpoint"))
    assert same(path, whole) and hidden(path) <= ({".pt"} if where == "after the file" else set())


def counting(calls: list, name: str):
    """A function by its name, which also counts its calls."""
    module, _, attribute = name.rpartition(".")
    function = getattr(sys.modules[module], attribute)
    return lambda *given: (calls.append(1), function(*given))[1]


def full(*given):
    raise OSError(28, "No space left on device")


@pytest.mark.fault("survived")
def test_a_file_that_cannot_be_written_costs_no_round(path, whole, monkeypatch):
    write = files.write
    monkeypatch.setattr(files, "write", full)
    with pytest.raises(OSError, match="No space left"):
        CALL.fill(path, **EAGER)
    monkeypatch.setattr(files, "write", write)
    took = json.loads(json.dumps(torch.load(next(path.parent.glob("*.pt")))["spent"]))
    CALL.fill(path, **EAGER)
    assert same(path, whole) and not hidden(path) and read(path)[0].about["backend"] == "eager"
    assert read(path)[0].about["cpu_seconds"] > took[1] > 0, "the clock goes on"


@pytest.fixture
def disk(tmp_path):
    """mount options -> a small file system in the memory, mounted so."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mounted(options: str) -> Path:
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"only root may mount: {made.stderr.strip()}")
        return folder

    yield mounted
    subprocess.run(["umount", folder], capture_output=True)


@pytest.mark.fault("survived")
@pytest.mark.parametrize("kilobytes", [16, 40])
def test_a_full_disk_loses_nothing_that_had_room(disk, whole, kilobytes, monkeypatch):
    """Of 23 kB each: 16 has room for no checkpoint, 40 for one, but not for another, or the file, beside it."""
    monkeypatch.setattr(checkpoints, "SECONDS", -1)
    path = disk(f"size={kilobytes}k") / "oscillator.nc"
    with pytest.raises(OSError, match="No space left"):
        CALL.fill(path, **EAGER)
    assert hidden(path) == ({".pt"} if kilobytes > 16 else set())
    disk("remount,size=1m")
    CALL.fill(path, **EAGER)
    assert same(path, whole) and not hidden(path)


@pytest.mark.fault("clear error")
def test_in_a_read_only_folder_one_reads_and_is_told_that_one_cannot_train(disk, whole):
    path = disk("size=1m") / "oscillator.nc"
    shutil.copy(whole, path)
    disk("remount,ro")
    CALL.fill(path, **EAGER)  # nothing is missing
    assert same(path, whole)
    for more in (CALL._replace(levels=[2, 6]), Computed(squares, {"n": 3})):
        with pytest.raises(ValueError, match=r"disk cannot be written \(.*Read-only file system: '.*\.lock'\)"):
            more.fill(path.with_name("squares.nc") if isinstance(more, Computed) else path)


@pytest.mark.fault("clear error")
def test_every_flipped_bit_is_found(whole, path):
    """But in the mark of the seal itself: then the file counts as one without a seal, and is whole."""
    good, rng, found = whole.read_bytes(), np.random.default_rng(0), 0
    for bit in [
        *rng.integers(len(good) * 8, size=120),
        *range(8 * len(good) - 8 * (32 + len(SEAL)), 8 * len(good), 29),
    ]:
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bad)
        try:
            assert same(path, whole) and bit // 8 >= len(good) - 32 - len(SEAL)
        except Unreadable as error:
            assert "its bytes are not those" in str(error) or "damaged" in str(error)
            found += 1
    assert found >= 120


def test_a_file_of_before_the_seal_is_read(whole, path):
    good = whole.read_bytes()
    path.write_bytes(good[: good.rindex(SEAL)])
    assert same(path, whole)


@pytest.mark.fault("survived")
def test_two_at_once_train_once_and_who_waits_says_so(path, whole):
    code = "import sys, pathlib, time\n"
    code += "from tests.trainings.test_faults import CALL\n"
    code += "path, me, other = pathlib.Path(sys.argv[1]), *sys.argv[2:]\n"
    code += "longer = CALL._replace(changes=CALL.changes | {'rounds': 60})\n"
    code += "(path.parent.parent / me).touch()\n"
    code += "while not (path.parent.parent / other).exists(): time.sleep(0.001)\n"  # both begin in the same moment
    code += "longer.fill(path, backend='eager')"
    path = path.parent / "room" / path.name
    path.parent.mkdir()
    start = lambda *names: subprocess.Popen(  # noqa: E731
        [sys.executable, "-c", code, path, *names], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    both = [start("one", "other"), start("other", "one")]
    said = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted("waiting for its end" in text for text in said) == [False, True]
    assert len(read(path)) == 1 and not hidden(path)


def in_metres():
    """The oscillator, whose error has a slash in its name."""
    right = oscillator()
    return right._replace(evaluate=lambda predict, at: {"error, m/s": right.evaluate(predict, at)["error"]})


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"settings": {"lr": [1e-3, 1e-2]}}, "'settings' is neither a field of Experiment nor an argument of train"),
        ({"lr": np.nan}, "NaN cannot be written down"),
        ({"decay": lambda r: 1.0}, "cannot be written down; expected a number"),
        ({"optimizer": sgd()._replace(made=None)}, "cannot be written down; expected a number"),
    ],
)
def test_settings_that_could_not_be_read_again_are_refused_before_training(path, changes, match, monkeypatch):
    monkeypatch.setattr(calls, "sweep", None)
    with pytest.raises(ValueError, match=match):
        CALL._replace(changes=CALL.changes | changes).fill(path, **EAGER)


VALUES = [
    *(1, 1.5, True, None, "text", "wave.csv", "a.b", "os.path", float("inf"), [1, [2.0, "x.y"]], nn.Tanh, mlp),
    *({"a": 1, "b": ["c.d"]}, Drop(3, 0.1), Cosine(7)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: getattr(value, "__name__", repr(value)))
def test_a_setting_comes_back_as_it_was(value):
    text = json.dumps(as_json.plain(value))
    assert restored(json.loads(text)) == value


@pytest.mark.parametrize("made", [adam(), sgd(0.9), scaffold(adam(eps=1e-6)), fedadam(0.01)])
def test_an_optimiser_comes_back_by_its_function_and_numbers(made):
    words = json.loads(json.dumps(as_json.plain(made)))
    assert as_json.plain(restored(words)) == words and words["function"].startswith("fedlib.federated.")


@pytest.mark.parametrize(
    "changed",
    [
        {"common_init": False}, {"optimizer": sgd()}, 
        {"net": mlp((1, 8, 2), nn.Tanh)}, 
        {"mixing": equal},
    ],
    ids=lambda changed: next(iter(changed)),
)  # fmt: skip
@pytest.mark.parametrize("old", [False, True])
def test_numbers_of_other_settings_are_never_served(whole, path, changed, old, monkeypatch):
    """old: the file is one of before a setting was written down, of which it is known what it was then."""
    (stack,) = read(whole)
    late = ("optimizer", "mixing", "server", "init", "common_init", "parameters") if old else ()
    resolved = dict(stack.settings["resolved"])
    monkeypatch.setattr(as_json, "AT_FIRST", {name: resolved.pop(name) for name in late})
    files.write(path, [stack._replace(settings=stack.settings | {"resolved": resolved})])
    assert not CALL.read(path).absent, "what is right stays"
    right = Call.experiment
    monkeypatch.setattr(Call, "experiment", lambda self: right(self)._replace(**changed))
    assert len(CALL.read(path).absent) == 3
    assert f"resolved.{'parameters' if 'net' in changed else next(iter(changed))}" in CALL.read(path).why


def test_rows_of_a_function_that_has_moved_are_found_and_made_again(whole, path, monkeypatch):
    (stack,) = read(whole)
    old = "fedlib.long_ago.oscillator"
    files.write(path, [stack._replace(settings=stack.settings | {"experiment": old})])
    assert len(CALL.read(path).absent) == 3
    monkeypatch.setitem(as_json.MOVED, old, "tests.new_problem.oscillator")
    assert not CALL.read(path).absent and replay(read(path)[0]) < 0.1


@pytest.mark.fault("survived")
def test_another_experiments_file_is_named_and_trained_into_and_both_stay(whole, path):
    shutil.copy(whole, path)
    other = CALL._replace(make=in_metres)
    assert len(other.read(path).absent) == 3 and "experiment" in other.read(path).why
    other.fill(path, **EAGER)
    assert not other.read(path).absent and same(path, whole)
    assert "error, m/s" in other.read(path).result.metrics


@pytest.mark.fault("clear error")
def test_a_file_that_is_open_elsewhere_is_said_to_be_so(whole, path):
    shutil.copy(whole, path)
    hold = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print('open', flush=True); sys.stdin.read()"
    other = subprocess.Popen([sys.executable, "-c", hold, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    with pytest.raises(Unreadable, match=r"another program has it open .*; close it there, or wait$"):
        read(path)
    other.communicate()
    assert same(path, whole)


@pytest.fixture
def room(tmp_path, monkeypatch, whole):
    """A room with a damaged file, and one that is missing, two of whose trainings are in one file."""
    for module in (missing, store):
        monkeypatch.setattr(module, "folder_of", lambda notebook: tmp_path)
    (tmp_path / "bad.nc").write_bytes(whole.read_bytes()[:9000])
    names = (("bad", "one"), ("bad", 2), "good")

    class room:
        NOTEBOOK, PAPER = "05_pinn_forward", {}
        trainings = staticmethod(lambda p: dict.fromkeys(names, CALL))

    return room


@pytest.mark.fault("clear error")
def test_a_damaged_file_is_named_and_the_others_go_on(room, tmp_path, capsys):
    _, good, bad = missing.lines(room)
    assert "good" in good and "3 of    3 rows" in good
    assert "bad.nc cannot be read as stored trainings: it is damaged" in bad
    before = (tmp_path / "bad.nc").read_bytes()
    assert missing.train(room, **EAGER) == "1 trainings are there now; 2 are not, see above"
    assert "bad, one: " in (text := capsys.readouterr().out) and "good: " in text
    assert (tmp_path / "bad.nc").read_bytes() == before and (tmp_path / "good.nc").exists()


@pytest.mark.fault("clear error")
def test_train_says_that_a_disk_is_full(room, monkeypatch):
    monkeypatch.setattr(files, "write", full)
    with pytest.raises(ValueError, match=r"good: .*No space left on device; what is kept of it goes on"):
        missing.train(room, **EAGER)


@pytest.mark.fault("clear error")
def test_the_command_that_mends_a_file_works_at_the_root():
    file = next(iter(sorted(ROOT.glob("figures/05*/trainings/*.nc"))))
    command = files.remedy(file, OSError("truncated")).split("(")[-1].split(")")[0]
    assert command == f"git checkout -- {file.relative_to(ROOT)}"


def test_always_trains_anew_and_keeps_it(whole, path, monkeypatch):
    shutil.copy(whole, path)
    CALL._replace(levels=[6]).fill(path, **EAGER)
    played = []
    monkeypatch.setattr("fedlib.federated.rounds.site_round", counting(played, "fedlib.federated.rounds.site_round"))
    CALL.fill(path, anew=True, **EAGER)
    assert len(played) == 6 and same(path, whole)
    assert [{*stack.history.labels("level")} for stack in read(path)] == [{6}, {2}], "what was anew stands once"


def squares(n: int) -> xarray.Dataset:
    """Names and attributes that netCDF refuses."""
    speed = ("i, 1/s", np.arange(float(n)), {"unit": "m/s", "from/to": [1, "two", None]})
    attrs = {"unit": None, "mixed": {"a": [1, 2.5]}, "text": "JSON as a word", "n": 3, "100 %/x": True}
    return xarray.Dataset({"speed, m/s": speed}, {"i, 1/s": np.arange(n)}, attrs)


def test_names_and_attributes_that_netcdf_refuses_come_back(path):
    call = Computed(squares, {"n": 3})
    call.fill(path)
    stored = call.read(path).result
    xarray.testing.assert_equal(stored, squares(3))
    assert {name: stored.attrs[name] for name in squares(3).attrs} == squares(3).attrs
    assert stored["speed, m/s"].attrs == squares(3)["speed, m/s"].attrs
    with h5py.File(path) as file:
        assert "speed, m%2Fs" in file


def numbers(n: int) -> dict:
    """No labelled arrays."""
    return {"squares": np.arange(n)}


@pytest.mark.fault("clear error")
def test_what_gives_no_labelled_arrays_is_refused_and_nothing_is_kept(path):
    with pytest.raises(ValueError, match=r"test_faults.numbers gave dict; expected labelled arrays, such as xarray"):
        Computed(numbers, {"n": 3}).fill(path)
    assert not path.exists()


def test_every_committed_file_is_sealed():
    """So that a flipped bit is found in these, too."""
    paths = [*FIGURES.glob("*/trainings/*.nc")]
    assert paths
    for path in paths:
        content, mark, digest = path.read_bytes().rpartition(SEAL)
        assert mark and digest == sha256(content).digest(), path
