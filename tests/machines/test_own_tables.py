"""Tables of one's own: one scale for all sites from sums, what each site sees of its training, a model that is used."""

import importlib.util
import json
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from fedlib.machines.command import main
from fedlib.machines.engines import ask_in_turn, difference, sites_of
from fedlib.machines.model import read_model
from fedlib.machines.plan import load
from fedlib.machines.points import in_one_memory, in_one_process
from fedlib.machines.scaling import added, far, moments
from fedlib.machines.server import federate
from fedlib.streams import stream
from fedlib.trainings.settings import read_result
from fedlib.trainings.store import stored_sweep

from .laboratories import saved

RANGES = (290, 320), (310, 350), (340, 370)  # K, of three laboratories
COLUMNS = {"x": {"temperature": "K", "c/mol": "mol/l"}, "y": {"rate, mol/s": "mol/(l s)"}}


def rows_of(client: int) -> np.ndarray:
    """[20 + 10 client, 3]: temperature [K], concentration [mol/l], rate of a reaction [mol/(l s)]."""
    rng, n = stream(3, "own tables", client), 20 + 10 * client
    T, c = rng.uniform(*RANGES[client], n), rng.uniform(0.1, 4, n)
    return np.stack([T, c, 3e6 * np.exp(-5200 / T) * c], 1)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Writes the tables, with a factor and an offset to one client's columns, and the experiment; gives its path."""

    def write(odd: int = 0, factor=(1, 1, 1), offset=(0, 0, 0), text: str = "DTYPE = torch.float64") -> Path:
        for k in range(3):
            rows = rows_of(k) * (factor if k == odd else 1) + (offset if k == odd else 0)
            table = pd.DataFrame(rows, columns=[name for tensor in COLUMNS.values() for name in tensor])
            table[[*table.columns[:: (-1) ** k]]].to_csv(tmp_path / f"client-{k}.csv", index=False)
        monkeypatch.setenv("FEDLIB_CSV", str(tmp_path))
        return saved(tmp_path / "study.py", text, COLUMNS=COLUMNS)

    return write


# scale


def test_moments_of_sites_are_those_of_all_rows():
    """Of times in seconds since 1970 too, of which sum x^2 has no digit left."""
    rng = stream(0, "moments")
    parts = [rng.normal(size=(n, 2)) * [3, 0.01] + [1.7e9, -5] for n in (1, 7, 40)]
    mean, spread = added([moments(torch.as_tensor(part)) for part in parts]).scale
    whole = np.concatenate(parts)
    np.testing.assert_allclose(mean, whole.mean(0), rtol=1e-15)
    np.testing.assert_allclose(spread, whole.std(0), rtol=1e-7)
    # a constant column has the scale one
    assert added([moments(torch.full((n, 1), 0.1, dtype=torch.float64)) for n in (3, 4)]).scale.tolist() == [[0.1], [1]]


def test_the_scale_is_that_of_all_tables_and_points_stay_at_home(study):
    """What the sites tell of their columns is n, mean and squares; no message is as long as a table."""
    path, heard = study(), []

    def ask(questions):
        answers = ask_in_turn(sites)(questions)
        heard.extend([*questions.values(), *answers.values()])
        return answers

    sites = sites_of(load(path))
    done = next(federate(load(path), ask))
    kept = [np.delete(rows_of(k), np.s_[4::5], 0) for k in range(3)]
    x = np.concatenate(kept)
    np.testing.assert_allclose(done.scale["x"], [x[:, :2].mean(0), x[:, :2].std(0)], rtol=1e-12)
    np.testing.assert_allclose(done.scale["y"], [x[:, 2:].mean(0), x[:, 2:].std(0)], rtol=1e-12)
    assert {m["moments.x"].shape for m in heard if "moments.x" in m} == {(2, 2)}
    assert max(len(v) for m in heard for v in m.values() if np.ndim(v)) < min(map(len, kept))


def test_sites_equal_one_process(study):
    path = study()
    sites = sites_of(load(path))
    played = [*federate(load(path), ask_in_turn(sites), rounds=5)]
    together = in_one_process(load(path), rounds=5)
    assert difference(sites, together) < 1e-12
    np.testing.assert_allclose([done.losses for done in played], together.losses, rtol=1e-12)


# what is said


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "odd, factor, offset, column",
    [
        (2, (1, 1, 1), (-273.15, 0, 0), r"column 'temperature' \[K\] at 8"),
        (0, (1, 1e-3, 1), (0, 0, 0), r"column 'c/mol' \[mol/l\]"),
        (1, (1, 1, 1e6), (0, 0, 0), r"column 'rate, mol/s'"),
    ],
    ids=["Celsius", "too small", "micromole"],
)
def test_a_site_in_another_unit_is_named_before_training(study, odd, factor, offset, column):
    path, sentences = study(odd, factor, offset), []
    asked = []
    sites = sites_of(load(path))

    def ask(questions):
        asked.extend(question["do"] for question in questions.values())
        return ask_in_turn(sites)(questions)

    def warn(text):
        assert "round" not in asked
        sentences.append(text)

    next(federate(load(path), ask, warn=warn))
    (sentence,) = sentences
    assert sentence.startswith(f"site-{odd + 1} has ")
    assert re.search(column + ".*another unit", sentence)


@pytest.mark.parametrize("sites", [1, 3, 20])  # of one alone nothing can be said
def test_pieces_of_a_range_are_no_other_unit(sites):
    """Heterogeneity as in the papers: each site has a piece; and laboratories whose ranges overlap, or not quite."""
    for gap in (0, 0.5):
        parts = {k: moments(torch.rand(30, 1, dtype=torch.float64) + (1 + gap) * k) for k in range(sites)}
        assert far(parts, ["x"]) == []
    constant = {k: moments(torch.full((1, 1), float(k))) for k in range(sites)}
    assert far(constant, ["x"]) == []


def test_nobody_is_warned_of_plain_tables_and_each_sites_error_is_shown(study, tmp_path, capsys):
    """evaluate's error is that of the models with which a round begins, on rows that were held back."""
    path = study()
    assert main(["simulate", str(path), "--rounds", "25", "--folder", str(tmp_path / "results")]) == 0
    out = capsys.readouterr().out
    assert "warning" not in out
    metrics = read_result(tmp_path / "results/result.json")["metrics"]
    assert len(metrics["sites"]) == 25 and {*metrics["sites"][0]} == {"site-1", "site-2", "site-3"}
    model, spread = read_model(tmp_path / "results"), in_one_memory(load(path))[2]["y"][1, 0]
    for k in range(3):
        held_back = rows_of(k)[4::5]
        rest = model(held_back[:, :2])[:, 0] - held_back[:, 2]
        found = metrics["final"][f"site-{k + 1}"]["error"]
        np.testing.assert_allclose(found, np.sqrt((rest**2).mean()) / spread, rtol=5e-6)  # of six digits
        assert found < metrics["sites"][0][f"site-{k + 1}"]["error"]
    assert f"site-1 {metrics['sites'][24]['site-1']['loss']:.3g}" in out and "after 25 rounds  error: site-1 " in out


@pytest.mark.fault("clear error")
def test_worse_than_the_mean_and_a_loss_that_rises_are_said(study):
    for text, says in (
        ("def residuals(predict, batch): return predict(batch['x']) - 3", "nothing was learnt: .* at site-"),
        ("def federation(owners):\n    from fedlib.federated.experiment import federation as f\n"
         "    return f(make(), owners, lr=3e4)\n", "the mean loss went from .*; lower lr"),
    ):  # fmt: skip
        sentences, path = [], study(text=text)
        [*federate(load(path), ask_in_turn(sites_of(load(path))), warn=sentences.append)]
        assert re.search(says, " ".join(sentences)), sentences


@pytest.mark.parametrize("lr, falls", [(1e-3, True), (1e-9, False)])
def test_whether_more_rounds_would_help_is_said(study, lr, falls):
    text = f"first = make\ndef make(): return first()._replace(lr={lr})\n"
    sentences, path = [], study(text=text)
    [*federate(load(path), ask_in_turn(sites_of(load(path))), rounds=200, warn=sentences.append)]
    assert bool(re.search(r"the loss still falls, by \d+ % over the last 20 rounds", " ".join(sentences))) == falls


# a model that is used


def test_three_tables_become_a_model_that_predicts(study, tmp_path, capsys):
    """In the tables' units, on a table with other columns in another order; every site has the same model as a file."""
    path, folder = study(), tmp_path / "results"
    assert main(["simulate", str(path), "--rounds", "60", "--folder", str(folder)]) == 0
    new = stream(9, "new").uniform([300, 0.5], [360, 3.5], (50, 2))
    table = pd.DataFrame({"remark": "a", "c/mol": new[:, 1], "temperature": new[:, 0]})
    table.to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    assert main(["predict", str(folder), str(tmp_path / "new.csv")]) == 0
    printed = capsys.readouterr()
    (tmp_path / "predicted.csv").write_text(printed.out)
    found = pd.read_csv(tmp_path / "predicted.csv")
    assert [*found] == ["temperature", "c/mol", "rate, mol/s"] and "[mol/(l s)]" in printed.err
    assert "another unit" not in printed.err
    truth = 3e6 * np.exp(-5200 / new[:, 0]) * new[:, 1]
    relative = np.linalg.norm(found["rate, mol/s"] - truth) / np.linalg.norm(truth - truth.mean())
    assert relative < 0.3, "the mean has 1"
    for k in (1, 2, 3):
        np.testing.assert_array_equal(
            read_model(folder / f"site-{k}.model.pt2")(new)[:, 0], read_model(folder)(new)[:, 0]
        )
    assert read_model(folder).takes == COLUMNS["x"]


@pytest.mark.fault("clear error")
def test_a_table_in_celsius_is_said_and_no_model_or_table_is_a_clear_error(study, tmp_path, capsys):
    path, folder = study(), tmp_path / "results"
    assert main(["simulate", str(path), "--rounds", "1", "--folder", str(folder)]) == 0
    (tmp_path / "new.csv").write_text("temperature,c/mol\n25,1\n330,1\n")
    assert main(["predict", str(folder), str(tmp_path / "new.csv")]) == 0
    assert "1 of 2 rows have 'temperature' more than 5 st.dev." in capsys.readouterr().err
    (tmp_path / "new.csv").write_text("temperature\n25\n")
    for arguments, says in (
        ([folder, tmp_path / "new.csv"], "no column 'c/mol'"),
        ([folder], "expected a table beside it"),
        ([tmp_path / "sites", tmp_path / "new.csv"], "has none; expected one model.pt2"),
    ):
        assert main(["predict", *map(str, arguments)]) == 2
        assert says in capsys.readouterr().err
    (folder / "model.pt2").write_bytes(b"no model")
    assert main(["predict", str(folder), str(tmp_path / "new.csv")]) == 2
    assert "cannot be read as a model" in capsys.readouterr().err


@pytest.mark.parametrize("own", ["personal", "isolated"])
def test_clients_with_models_of_their_own_leave_them_at_their_sites(study, tmp_path, own):
    more = "fed(make(), owners, mixing=isolated)" if own == "isolated" else "fed(make(), owners)"
    text = (
        "from fedlib.federated.experiment import federation as fed\nfrom fedlib.federated.mixing import isolated\n"
        f"def federation(owners): return {more}\n"
    )
    if own == "personal":
        text += "shared = make\ndef make(): return shared()._replace(personal=['2.weight', '2.bias'])\n"
    path, folder = study(text=text), tmp_path / "results"
    assert main(["simulate", str(path), "--rounds", "2", "--folder", str(folder)]) == 0
    assert not (folder / "model.pt2").exists()
    models = [read_model(folder / f"site-{k}.model.pt2")(np.array([[330, 1]])).item() for k in (1, 2, 3)]
    assert len({*models}) == 3
    with pytest.raises(ValueError, match=r"a model of each site \(site-1.model.pt2, .*; name one of these"):
        read_model(folder)


# folders


@pytest.mark.fault("clear error")
def test_other_tables_in_the_same_folder_are_refused(study, tmp_path, capsys):
    path, folder = study(), tmp_path / "results"
    command = ["simulate", str(path), "--folder", str(folder), "--rounds"]
    assert main([*command, "1"]) == 0
    assert main([*command, "2"]) == 0, "the same tables go on"
    study(1, (1, 1, 1.01))
    assert main([*command, "3"]) == 2
    assert "site-2.pt is of other points than those that site-2 has now" in capsys.readouterr().err
    assert len(read_result(folder / "result.json")["metrics"]["losses"]) == 2


@pytest.mark.fault("clear error")
def test_two_federations_in_one_folder_are_refused(study, tmp_path, capsys):
    from fedlib.machines.command import only_one

    path = study()
    with only_one(tmp_path / "results", "federation"):
        assert main(["simulate", str(path), "--rounds", "1", "--folder", str(tmp_path / "results")]) == 2
    assert "another federation is running in" in capsys.readouterr().err
    assert main(["simulate", str(path), "--rounds", "1", "--folder", str(tmp_path / "results")]) == 0


@pytest.mark.fault("clear error")
def test_columns_that_mean_nothing_are_refused(study, tmp_path):
    for columns in (["x", "y"], {"x": {"a": ""}}, {"x": {"a": ""}, "y": {}}, {"x": {"a": ""}, "y": {"a": ""}}):
        with pytest.raises(ValueError, match=r"COLUMNS = .*; expected what the network takes and what it gives"):
            load(saved(tmp_path / "other.py", COLUMNS=columns))
    flat = study(text="rows = points\ndef points(k): return {'x': rows(k)['x'], 'y': rows(k)['y'][:, 0]}")
    with pytest.raises(
        ValueError, match=r"points\(0\) has 'y' as numbers \[\], expected numbers \[1\], as at all clients"
    ):
        sites_of(load(flat))


@pytest.mark.fault("clear error")
def test_a_value_that_is_not_finite_is_named_with_its_client(study):
    """It would make the scale of all sites NaN."""
    path = study(text="rows = points\ndef points(k): return {n: v.log() if k == 1 else v for n, v in rows(k).items()}")
    path.write_text(path.read_text().replace("v.log()", "(v - v[2]).log()"))
    with pytest.raises(ValueError, match=r"points\(1\)\['x'\] has (nan|-inf) at \[\d, \d\]"):
        sites_of(load(path))


def test_it_is_swept_where_all_tables_may_lie_in_one_place(study):
    """On the scale of the sites; mixed rows are the same rows, and as many at each client."""
    plan = load(study())
    measured, mixed = (plan.experiment.data(level, 0) for level in ("as measured", "mixed"))
    pool, owners, _ = in_one_memory(plan)
    np.testing.assert_array_equal(measured.pool["x"], pool["x"])
    assert [*map(len, measured.owners)] == [*map(len, mixed.owners)] == [*map(len, owners)]
    np.testing.assert_array_equal(np.sort(np.concatenate(mixed.owners)), np.arange(len(pool["x"])))
    assert not np.array_equal(mixed.owners[0], measured.owners[0])
    assert len(measured.test["x"]) == 4 + 6 + 8


def test_the_file_says_what_it_is(study, tmp_path):
    """PyTorch alone reads it: columns, units and scale are in it as JSON."""
    path, folder = study(), tmp_path / "results"
    assert main(["simulate", str(path), "--rounds", "1", "--folder", str(folder)]) == 0
    extra = {"fedlib.json": ""}
    program = torch.export.load(str(folder / "model.pt2"), extra_files=extra).module()
    about = json.loads(extra["fedlib.json"])
    assert about["columns"] == COLUMNS and np.shape(about["scale"]["x"]) == (2, 2)
    x = torch.tensor([[330.0, 1.0]], dtype=torch.float64)
    np.testing.assert_array_equal(program(x).detach(), read_model(folder)(x.numpy()))


def test_a_stored_sweep_knows_its_tables(study, tmp_path, monkeypatch):
    """Those of other tables are no stored training; what else it knows: tests/trainings/test_store.py."""
    study()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "study", raising=False)
    make = importlib.import_module("study").make
    stored = partial(stored_sweep, tmp_path / "own.nc", make, ["as measured"], [0], ["isolated"], rounds=2)
    np.testing.assert_array_equal(stored().theta, stored().theta)
    study(1, (1, 1, 1.5))
    with pytest.raises(ValueError, match="is stored; are the data or the loss others"):
        stored()


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "net, says",
    [
        ("Flat", r"the network gives \[3\] of 3 rows, expected \[3, 1\]"),
        ("Wide", "no model of 2 columns can be made of the network .RuntimeError: mat1 and mat2 shapes"),
        ("Branch", "no model of 2 columns can be made of the network"),
    ],
)
def test_a_network_that_makes_no_model_is_refused_before_training(study, tmp_path, capsys, net, says):
    nets = """
class Flat(torch.nn.Linear):
    def forward(self, x): return super().forward(x)[:, 0]
class Wide(torch.nn.Linear):
    def forward(self, x): return super().forward(torch.cat([x, x], 1))
class Branch(torch.nn.Linear):
    def forward(self, x): return super().forward(x) if x.sum() > 0 else super().forward(-x)
"""
    path = study(text=f"{nets}\nmlp = lambda sizes, activation: {net}(sizes[0], sizes[-1])")
    assert main(["simulate", str(path), "--folder", str(tmp_path / "results")]) == 2
    printed = capsys.readouterr()
    assert re.search(says, printed.err) and "round" not in printed.out
