"""A training is a file: rows come back as they were, those of the settings that are asked for, and can be made anew."""

from functools import partial

import numpy as np
import pytest
import torch
import xarray
from torch import nn

from fedlib.federated import stack as start_of
from fedlib.federated.batches import Local
from fedlib.federated.experiment import Experiment
from fedlib.federated.history import gathered
from fedlib.federated.schedules import Cosine, Drop
from fedlib.federated.sweep import Row, errors, sweep, whole_levels
from fedlib.files import ROOT
from fedlib.models import jets
from fedlib.papers.fedsciml.forward import problem, study
from fedlib.trainings import calls, files, missing, store
from fedlib.trainings.as_json import difference
from fedlib.trainings.calls import Call, Computed, differs, read
from fedlib.trainings.files import abouts
from fedlib.trainings.store import file_of, histories_of, made, stored, stored_sweep

from ..new_problem import oscillator
from .replaying import call_of, replay

CHANGES = {"rounds": 4, "local": Local(2), "evaluations": 2}
EAGER = {"backend": "eager"}


def call(levels=(2, 6), seeds=(0, 1), **more) -> Call:
    return Call(oscillator, {}, [*levels], [*seeds], **{"changes": CHANGES} | more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "oscillator.nc"


@pytest.mark.parametrize("decay", [Drop(2, 0.1), Cosine(4)])
def test_a_training_with_a_schedule_is_stored_read_and_replayed(path, decay):
    falling = call([2], [0], changes=CHANGES | {"decay": decay})
    falling.fill(path, **EAGER)
    history = falling.read(path).result
    assert not falling.read(path).absent and call([2], [0]).read(path).absent, "a training without it is another one"
    assert call([2], [0], changes=CHANGES | {"decay": type(decay)(decay[0] + 1, *decay[1:])}).read(path).absent
    by_hand = sweep(oscillator(), [2], [0], rounds=4, local=Local(2), decay=lambda r: decay(r), **EAGER)
    assert torch.equal(history.theta, by_hand.theta)
    assert not torch.equal(history.theta, sweep(oscillator(), [2], [0], rounds=4, local=Local(2), **EAGER).theta)
    (stack,) = read(path)
    assert replay(stack) < 0.1


def test_some_rows_of_several_trainings_are_one_history():
    one, other = (sweep(oscillator(), levels, [0], rounds=2) for levels in ([2], [6, 10]))
    keys = [("federated", 10, 0), ("isolated", 2, 0)]
    both = gathered([one, other], keys)
    assert [*both.rows] == keys and len(both.distinct) == 3
    torch.testing.assert_close(both.models("isolated", 2, 0), one.models("isolated", 2, 0), rtol=0, atol=0)
    np.testing.assert_array_equal(both.losses[:, :2], other.losses[:, other.rows[keys[0]]])
    with pytest.raises(ValueError, match=r"trainings with metrics .*: expected the same of all"):
        gathered([one, sweep(oscillator(), [6], [0], rounds=2, evaluate=None)], [*keys[1:], ("federated", 6, 0)])


def test_what_is_there_is_read_and_what_is_not_is_trained_and_added(path):
    call([2]).fill(path, **EAGER)
    first = read(path)
    assert len(first) == 1 and not call([2]).read(path).absent
    history, absent, _, _ = call().read(path)
    assert {level for _, level, _ in absent} == {6} and len(absent) == 6
    call().fill(path, **EAGER)
    assert len(read(path)) == 2 and not call().read(path).absent
    np.testing.assert_array_equal(read(path)[0].history.theta, first[0].history.theta)
    before = path.read_bytes()
    call().fill(path, **EAGER)
    assert path.read_bytes() == before, "nothing was missing"
    history = call().read(path).result
    alone = sweep(oscillator(), [2, 6], [0, 1], **CHANGES, **EAGER)
    np.testing.assert_allclose(errors(history), errors(alone), rtol=1e-3)  # other stacks, float32
    assert whole_levels(history) == [2, 6]


def test_rows_apart_are_stacks_of_their_own(path):
    call([2], [0], apart=True).fill(path, **EAGER)
    assert [[*stack.history.rows] for stack in read(path)] == [
        [("federated", 2, 0)],
        [("isolated", 2, 0)],
        [("centralised", 2, 0)],
    ]
    about = read(path)[0].about
    assert about["backend"] == "eager" and about["seconds"] > 0 and about["versions"]["torch"] and about["hardware"]


def test_other_settings_and_another_numerics_are_never_used_and_the_first_difference_is_named(
    path, capsys, monkeypatch
):
    call([2], [0]).fill(path, **EAGER)
    longer = call([2], [0], changes=CHANGES | {"rounds": 5})
    assert histories_of({"oscillator": longer}, path.parent) == {}
    assert "oscillator: 3 of 3 rows, the stored ones have changes.rounds = 4, not 5" in capsys.readouterr().out
    made = Call.experiment
    monkeypatch.setattr(Call, "experiment", lambda self: made(self)._replace(numerics=2))
    assert histories_of({"oscillator": call([2], [0])}, path.parent) == {}
    assert "numerics = 1, not 2" in capsys.readouterr().out


def test_a_reader_trains_nothing_and_what_is_only_made_is_not_kept(path, monkeypatch):
    once = made({"oscillator": call([2], [0])}, **EAGER)
    assert [*once["oscillator"].rows] == [("federated", 2, 0), ("isolated", 2, 0), ("centralised", 2, 0)]
    assert not path.exists()
    call([2], [0]).fill(path, **EAGER)
    monkeypatch.setattr(calls, "sweep", None)
    assert [*histories_of({"oscillator": call([2], [0])}, path.parent)] == ["oscillator"]


def test_a_reader_opens_a_stored_training_by_name():
    history = stored(study, "poisson")
    assert set(history.labels("kind")) == {"federated", "isolated", "centralised"}
    with pytest.raises(ValueError, match="no training 'poison'; expected one of 'poisson', 'helmholtz'"):
        stored(study, "poison")


def test_a_call_is_written_down_and_comes_back():
    made = Call(problem.allen_cahn, {"clients": 3, "activation": nn.Tanh, "lines": 12}, [3], [0], changes=CHANGES)
    settings = made.settings()[()]
    assert settings["arguments"]["boundary"] == 400 and settings["resolved"]["local"][0] == 2
    assert settings["arguments"]["activation"] == "torch.nn.modules.activation.Tanh"
    again = call_of(settings)._replace(levels=[3], seeds=[0])
    assert again.make is problem.allen_cahn and again.changes["local"] == Local(2)
    assert again.arguments["activation"] is nn.Tanh and not difference(settings, again.settings()[()])
    with pytest.raises(ValueError, match="cannot be written down"):
        call(changes={"decay": lambda r: 1.0}).settings()


@pytest.mark.parametrize("file", sorted(ROOT.glob("figures/*/trainings/*.nc")), ids=lambda file: file.stem)
def test_no_stored_row_is_stale(file):
    """What the code makes of a stack's own arguments has the settings under which its rows are stored."""
    with files.reading(file) as opened:
        if "0" not in opened:
            return  # computed; tests/trainings/test_replay.py reads those
    for stack in read(file):
        now = call_of(stack.settings).settings()[()]
        if "over" in stack.settings:
            now |= {"over": stack.settings["over"]}
        if "converted" in stack.about:  # shown as of an earlier version, which had other numerics
            now |= {"numerics": stack.settings["numerics"]}
        assert not differs(stack, now)


def test_the_first_rounds_are_made_again_and_a_change_is_seen(path, monkeypatch):
    """A constant, an activation, a stream: whatever moves the numbers."""
    call([2, 6], [0]).fill(path, **EAGER)
    (stack,) = read(path)
    assert replay(stack) < 0.1 and replay(stack, [Row("federated", 6, 0)]) < 0.1
    exact = torch.linspace
    monkeypatch.setattr(torch, "linspace", lambda a, b, n, **how: exact(a, 1.01 * b, n, **how))
    assert replay(stack) > 1
    monkeypatch.undo()
    right = jets.elementwise
    monkeypatch.setattr(jets, "elementwise", lambda activation, z, order: right(jets.Sine(), z, order))
    assert replay(stack) > 1
    monkeypatch.undo()
    stream = start_of.torch_stream
    monkeypatch.setattr(start_of, "torch_stream", lambda seed, name, *rest: stream(seed, f"{name}s", *rest))
    assert replay(stack) > 1


def squares(n: int, shift: float = 0.0) -> xarray.Dataset:
    """As an experiment's module has it."""
    return xarray.Dataset({"squares": ("i", np.arange(float(n)) ** 2 + shift)})


def test_what_is_no_training_is_stored_the_same_way(tmp_path, monkeypatch, capsys):
    calls, path = {"squares": Computed(squares, {"n": 100})}, tmp_path / "squares.nc"
    assert histories_of(calls, tmp_path) == {} and "squares: never computed" in capsys.readouterr().out
    assert made(calls)["squares"].squares[9] == 81 and not path.exists()
    calls["squares"].fill(path)
    first = histories_of(calls, tmp_path)["squares"]
    xarray.testing.assert_identical(first.drop_attrs(), squares(100))
    assert next(about["cpu_seconds"] for about in abouts(path)) >= 0 and "hardware" in first.attrs["about"]
    before = path.read_bytes()
    calls["squares"].fill(path)
    assert histories_of(calls, tmp_path) and path.read_bytes() == before
    for other in (Computed(squares, {"n": 100, "shift": 1.0}), Computed(squares, {"n": 100}, numerics=2)):
        assert histories_of({"squares": other}, tmp_path) == {}
    text = capsys.readouterr().out
    assert "arguments.shift = 0.0, not 1.0" in text and "numerics = 1, not 2" in text

    class room:
        NOTEBOOK, PAPER = "05_pinn_forward", {}

        @staticmethod
        def trainings(p):
            return calls

    for module in (missing, store):
        monkeypatch.setattr(module, "folder_of", lambda notebook: tmp_path)
    assert missing.missing(room) == []
    calls["squares"] = Computed(squares, {"n": 50})
    (absent,) = missing.missing(room)
    assert absent.core_hours is not None and missing.train(room) == "1 trainings are there now"
    assert missing.missing(room) == []
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="cannot be read as stored trainings"):
        histories_of(calls, tmp_path)


def test_what_is_missing_is_listed_with_its_price_the_cheapest_first(tmp_path, monkeypatch):
    class room:
        NOTEBOOK, PAPER = "05_pinn_forward", {}

        @staticmethod
        def trainings(p):
            longer = call([2], [0, 1], changes=CHANGES | {"rounds": 400})
            return {("b", "long"): longer, ("b", "short"): call([2], [0, 1]), "c": call([6], [0])}

    for module in (missing, store):
        monkeypatch.setattr(module, "folder_of", lambda notebook: tmp_path)
    call([2], [0]).fill(file_of(tmp_path, ("b", "short")), **EAGER)
    names = [(lack.name, lack.absent, lack.core_hours) for lack in missing.missing(room)]
    assert [(name, rows) for name, rows, _ in names] == [(("b", "short"), 3), (("b", "long"), 6), ("c", 3)]
    assert names[1][2] == pytest.approx(2 * 100 * names[0][2], rel=1e-6) and names[2][2] is None
    text = missing.lines(room)
    assert "b, short" in text[1] and "core-hours" in text[1] and "nothing of it ever ran" in text[3]
    assert missing.train(room, **EAGER) == "3 trainings are there now" and missing.train(room) == "nothing was missing"
    assert missing.lines(room) == ["05_pinn_forward: all of it is trained"]
    assert missing.train(room, only="b, sho") == "nothing was missing"
    with pytest.raises(ValueError, match="nothing of 05_pinn_forward begins with 'b, shro'; it has: b, long; b, sh"):
        missing.train(room, only="b, shro")


SLIGHTLY = {"test": 1.0, "name": "error"}


def marked() -> Experiment:
    """The oscillator with other test cases, or errors of another name, as SLIGHTLY says."""
    whole = oscillator()

    def data(level, seed):
        one = whole.data(level, seed)
        return one._replace(test={**one.test, "u": SLIGHTLY["test"] * one.test["u"]})

    return whole._replace(
        data=data, evaluate=lambda predict, test: {SLIGHTLY["name"]: whole.evaluate(predict, test)["error"]}
    )


def test_a_stored_sweep_asks_for_a_file_and_a_function(tmp_path):
    with pytest.raises(ValueError, match=r"is a folder; expected a file in it, such as .*training\.nc"):
        stored_sweep(tmp_path, marked, [2], [0])
    with pytest.raises(ValueError, match=r"make is no function, but of type Experiment; expected make, not make\(\)"):
        stored_sweep(tmp_path / "own.nc", marked(), [2], [0])


@pytest.mark.parametrize("change", [{"test": 3.0}, {"name": "rmse"}])
def test_a_stored_sweep_serves_no_errors_of_other_test_cases(tmp_path, monkeypatch, change):
    """No setting says what they are, and the losses are the same."""
    stored = partial(stored_sweep, tmp_path / "own.nc", marked, [2], [0], rounds=3)
    first = stored()
    assert stored().metrics.keys() == first.metrics.keys()
    monkeypatch.setattr(f"{__name__}.SLIGHTLY", SLIGHTLY | change)
    with pytest.raises(ValueError, match="are the test cases, or evaluate, others"):
        stored()


def test_arrays_are_read_as_xarray_reads_them(tmp_path):
    """Axes of one length, with and without labels, texts, truths, scalars, NaN, attributes."""
    rng = np.random.default_rng(0)
    dataset = xarray.Dataset(
        {
            "error": (("level", "seed"), np.where(rng.random((3, 3)) < 0.3, np.nan, rng.random((3, 3)))),
            "theta": (("seed", "parameter"), rng.random((3, 200), dtype="float32"), {"unit": "rad", "n": 3}),
            "square": (("seed", "seed_"), rng.random((3, 3))),
            "words": ("level", np.array(["a", "bc", "d e/f"], object)),
            "right": ("level", [True, False, True]),
            "count": ((), 7),
            "empty": (("level", "none"), np.zeros((3, 0))),
        },
        {"level": [2, 8, 4], "rule": "SCAFFOLD", "name": ("level", ["x", "y", "z"]), "way": ["one", "another"]},
        {"settings": "{}", "rate": 0.1, "rates": np.array([0.1, 0.2]), "one": np.array([3])},
    )
    files.write_groups(tmp_path / "all.nc", {"/": dataset[["count"]], "/0": dataset, "/1": dataset.isel(level=[1])})
    with (
        xarray.open_datatree(tmp_path / "all.nc", engine="h5netcdf") as tree,
        files.reading(tmp_path / "all.nc") as file,
    ):
        for name in ("0", "1"):
            theirs, ours = tree[name].to_dataset().load(), files.in_memory(file[name])
            xarray.testing.assert_identical(theirs, ours)
            for variable in theirs.variables:
                assert theirs[variable].dtype.kind.replace("U", "O") == ours[variable].dtype.kind.replace("U", "O")
        xarray.testing.assert_identical(tree.to_dataset().load(), files.in_memory(file))


def test_a_file_that_was_deleted_comes_back_from_git():
    """The other way takes hours."""
    folder = store.folder_of("nb")
    reading, _ = store.last_reading({"x": call()}, "x", [folder])
    with pytest.raises(ValueError, match=r"git checkout -- figures/nb/trainings/x\.nc brings.* fedlib train nb"):
        store.result_of("x", reading, folder)
