"""A federation of sites is the training in one process, whatever carries the messages; and what comes of faults."""

import io
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from fedlib.federated.mixing import fedavg
from fedlib.files import packed, unpacked
from fedlib.machines import plan as plans
from fedlib.machines.command import main
from fedlib.machines.engines import ask_in_turn, difference, sites_of
from fedlib.machines.plan import load
from fedlib.machines.points import in_one_process
from fedlib.machines.server import federate
from fedlib.machines.site import Site
from fedlib.trainings.settings import read_result

from . import shapes

PATH = Path(__file__).with_name("shapes.py")
PERSONAL, MOMENTUM, RING = "personal layer", "momentum kept", "ring, own starts"


@pytest.fixture
def case(monkeypatch):
    """Chooses one of the cases."""
    return lambda name: monkeypatch.setenv("FEDLIB_CASE", name)


@pytest.mark.parametrize("name", shapes.CASES)
def test_sites_equal_one_process(case, name):
    case(name)
    sites = sites_of(load(PATH))
    played = [*federate(load(PATH), ask_in_turn(sites))]
    together = in_one_process(load(PATH))
    assert difference(sites, together) < 1e-12
    np.testing.assert_allclose([p.losses for p in played], together.losses, rtol=1e-12)


def test_a_site_loads_its_own_points_only():
    asked, plan = [], load(PATH)
    site = Site(plan._replace(points=lambda k: asked.append(k) or plan.points(k)), "site-1")
    assert asked == [0, 3]
    assert len(site.work.pool["x"]) == shapes.SIZES[0] + shapes.SIZES[3]


def test_personal_parameters_and_points_stay_at_home(case):
    """Their columns, 7 x 2 weights and 7 biases, are in no message; nor is anything as long as the data."""
    case(PERSONAL)
    sites, seen = sites_of(load(PATH)), []

    def ask(questions):
        answers = ask_in_turn(sites)(questions)
        seen.extend([*questions.values(), *answers.values()])
        return answers

    [*federate(load(PATH), ask)]
    shared = sum(p.numel() for p in shapes.make().net.parameters()) - 21
    rows = [m["rows"] for m in seen if "rows" in m]
    assert rows and {row.shape[1] for row in rows} == {shared}
    names = {
        "do",
        "round",
        "after",
        "clients",
        "rows",
        "which",
        "losses",
        "sizes",
        "experiment",
        "code",
        "layout",
        "start",
    }
    assert set().union(*seen) <= names


def test_messages_come_back_as_they_were():
    message = {"do": "round", "round": 3, "after": -1, "rows": np.arange(6.0).reshape(2, 3), "clients": np.array([4])}
    back = unpacked(packed(message))
    assert back.keys() == message.keys()
    assert [back[k] for k in ("do", "round", "after")] == ["round", 3, -1]
    np.testing.assert_array_equal(back["rows"], message["rows"])


def test_objects_are_no_message():
    """Pickles run code when they are read."""
    with pytest.raises(ValueError, match="allow_pickle"):
        unpacked(packed({"rows": np.array([{}], object)}))


def test_a_small_message_is_no_large_one():
    np.savez_compressed(file := io.BytesIO(), rows=np.zeros(10**6))
    with pytest.raises(ValueError, match="compressed"):
        unpacked(file.getvalue())


def broken(sites, name, rounds, how):
    """An engine on which a site answers badly in some rounds; how: its answer -> what arrives."""

    def ask(questions):
        answers = ask_in_turn(sites)(questions)
        if name in questions and questions[name].get("round") in rounds and questions[name]["do"] == "round":
            answers[name] = how(answers[name])
        return answers

    return ask


def spoilt(answer):
    rows = answer["rows"].copy()
    rows[-1, 0] = np.nan
    return answer | {"rows": rows}


def silent(answer):
    return {"error": "it does not answer"}


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("how, says", [(spoilt, "client 3 sent numbers that are not finite"), (silent, "not answer")])
def test_a_site_that_fails_is_named(case, how, says):
    case("ragged, full batch")
    with pytest.raises(RuntimeError, match=f"round 2: site-1 failed: .*{says}"):
        [*federate(load(PATH), broken(sites_of(load(PATH)), "site-1", {2}, how))]


@pytest.mark.fault("survived")
@pytest.mark.parametrize("how", [spoilt, silent])
def test_a_round_goes_on_without_a_site(case, how):
    """Weights are renormalised over those who answered, and the history says who did not; then the site is back."""
    case("ragged, full batch")
    sites = sites_of(load(PATH))
    played = [*federate(load(PATH), broken(sites, "site-1", {1}, how), min_sites=2)]
    assert [sorted(p.lost) for p in played] == [[], ["site-1"], [], []]
    assert np.isnan(played[1].losses[[0, 3]]).all() and np.isfinite(played[1].losses[[1, 2, 4]]).all()
    before, after = played[0].progress.state.theta, played[1].progress.state.theta
    own = {k: sites[n].answer(q)["rows"][0] for k, n, q in one_client_each(sites, before)}
    n = np.array(shapes.SIZES)[[1, 2, 4]]
    np.testing.assert_allclose(after[0], (n / n.sum()) @ np.stack([own[k] for k in (1, 2, 4)]), atol=1e-12)


def one_client_each(sites, theta):
    """What clients 1, 2 and 4 are asked in round 1, each alone, at sites that have just played round 0."""
    fresh = sites_of(load(PATH))
    list(islice(federate(load(PATH), ask_in_turn(fresh)), 1))
    for k, name in ((1, "site-2"), (2, "site-3"), (4, "site-3")):
        sites[name] = fresh[name]
        which = np.array([0])
        question = {"do": "round", "round": 1, "after": 0, "clients": np.array([k]), "rows": theta.numpy()}
        yield k, name, question | {"which": which}


@pytest.mark.fault("survived")
@pytest.mark.parametrize("name, exchanges", [("scaffold", 1), ("fresh correction", 1), ("averaged moments", 3)])
def test_it_makes_no_difference_where_in_a_round_a_site_fails(case, name, exchanges):
    """In whose middle rows are exchanged: the others play it anew, from what they kept."""
    case(name)
    found = []
    for fails in range(exchanges + 1):
        sites, asked = sites_of(load(PATH)), []

        def ask(questions, sites=sites, asked=asked, fails=fails):
            asked += [q for name, q in questions.items() if name == "site-3" and q.get("round") == 1]
            answers = ask_in_turn(sites)(questions)
            gone = "site-3" in questions and questions["site-3"].get("round") == 1 and len(asked) == fails + 1
            return answers | {"site-3": silent({})} if gone else answers

        played = [*federate(load(PATH), ask, min_sites=2)]
        assert [sorted(p.lost) for p in played] == [[], ["site-3"], [], []]
        found.append(played[-1].progress.state.theta)
    assert all(torch.equal(theta, found[0]) for theta in found)


@pytest.mark.fault("clear error")
def test_rows_of_idle_clients_are_not_had(case, tmp_path):
    """A rule that exchanges them and a ring, some of whose clients are idle."""
    case("scaffold")
    on_a_ring = tmp_path / "on_a_ring.py"
    on_a_ring.write_text(
        f"{PATH.read_text()}\n\n"
        "def federation(owners):\n"
        "    return experiment.federation(make(), owners, mixing=ring)\n"
    )
    with pytest.raises(ValueError, match="take fedavg, or let all clients take part"):
        [*federate(load(on_a_ring), ask_in_turn(sites_of(load(on_a_ring))))]


@pytest.mark.fault("clear error")
def test_too_few_sites_end_the_training(case):
    case("ragged, full batch")
    with pytest.raises(RuntimeError, match="site-1 failed"):
        [*federate(load(PATH), broken(sites_of(load(PATH)), "site-1", {1}, silent), min_sites=3)]


@pytest.mark.fault("survived")
@pytest.mark.parametrize("name", [MOMENTUM, PERSONAL, "server with Adam", RING, "scaffold, personal layer"])
def test_server_and_sites_that_start_again_go_on(case, name, tmp_path):
    """The server stops before it could write down round 2, which its sites have worked already."""
    case(name)
    plan, file = load(PATH), tmp_path / "server.pt"
    for name, rounds in (("site-3", {2}), ("site-1", {2, 3})):
        with pytest.raises(ZeroDivisionError):
            [*federate(plan, broken(sites_of(plan, tmp_path), name, rounds, lambda a: 1 / 0), checkpoint=file)]
    sites = sites_of(plan, tmp_path)
    [*federate(plan, ask_in_turn(sites), checkpoint=file)]
    assert difference(sites, in_one_process(plan)) < 1e-12
    assert (tmp_path / "site-2.models.npz").exists()


@pytest.mark.fault("clear error")
def test_a_site_that_forgot_is_no_fresh_one(case, tmp_path):
    """Its clients' momentum is gone; to start it at 0 would be another algorithm."""
    case(MOMENTUM)
    file = tmp_path / "server.pt"
    list(islice(federate(load(PATH), ask_in_turn(sites_of(load(PATH))), checkpoint=file), 3))
    with pytest.raises(RuntimeError, match="knows what its clients kept after rounds"):
        [*federate(load(PATH), ask_in_turn(sites_of(load(PATH))), checkpoint=file)]


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("what", ["code", "experiment"])
def test_another_code_or_experiment_is_refused(case, what):
    case("ragged, full batch")
    sites = sites_of(load(PATH))
    site = sites["site-2"]
    site.plan = site.plan._replace(identity={**site.plan.identity, what: "another"})
    with pytest.raises(ValueError, match=f"site-2 is refused: its {what} has hash another"):
        [*federate(load(PATH), ask_in_turn(sites))]


@pytest.mark.fault("clear error")
def test_a_damaged_or_foreign_checkpoint_is_refused(tmp_path):
    file = tmp_path / "server.pt"
    file.write_bytes(b"no checkpoint")
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        [*federate(load(PATH), ask_in_turn(sites_of(load(PATH))), checkpoint=file)]


def test_the_identity_is_that_of_the_files(tmp_path, monkeypatch):
    own, library = tmp_path / "own.py", tmp_path / "fedlib/one.py"
    library.parent.mkdir()
    monkeypatch.setattr(plans, "ROOT", tmp_path)

    def identity():
        plans.identity.cache_clear()
        return plans.identity(own)

    own.write_text("RATE = 0.02"), library.write_text("X = 1")
    first = identity()
    assert identity() == first
    own.write_text("RATE = 0.03")
    assert identity()["experiment"] != first["experiment"] and identity()["code"] == first["code"]
    library.write_text("X = 2")
    assert identity()["code"] != first["code"]
    plans.identity.cache_clear()


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("sites", [[[0, 1], [1]], [[0], [2]], [[0], []], []])
def test_every_client_lives_at_one_site(sites):
    with pytest.raises(ValueError, match="exactly one site"):
        plans.check(load(PATH)._replace(sites=sites))


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "text, says",
    [
        ("", "has none of make, points, SITES; add def make"),
        ("def make(): ...\nSITES = [[0]]", "has make, SITES of make, points, SITES; add def points"),
        ("def make(): ...\ndef points(client): ...", r"has make, points of .*; add SITES = \[0, 1\], \[2\]"),
    ],
)
def test_what_an_experiment_module_lacks_is_said(text, says, tmp_path):
    (tmp_path / "half.py").write_text(text)
    with pytest.raises(ValueError, match=says):
        load(tmp_path / "half.py")


def test_a_module_may_say_no_more_than_it_has_to(tmp_path):
    """And the function that makes its federation may be imported there."""
    (tmp_path / "short.py").write_text(
        "from fedlib.federated.experiment import Experiment, federation\n"
        "SITES, points = [[0, 1]], None\n"
        "def make(): return Experiment('short', None, lr=0.3, fraction=0.5)\n"
    )
    plan = load(tmp_path / "short.py")
    fed = plan.federation([np.array([0]), np.array([1])])
    assert (fed.lr, fed.fraction, fed.seed, fed.mixing) == (0.3, 0.5, 0, fedavg)
    assert (plan.dtype, plan.backend, plan.clients) == (torch.float32, "auto", {"site-1": [0, 1]})


def test_the_command_writes_a_result_like_a_notebooks(case, tmp_path, capsys):
    case("ragged, full batch")
    assert main(["simulate", str(PATH), "--rounds", "2", "--folder", str(tmp_path)]) == 0
    result = read_result(tmp_path / "result.json")
    assert np.shape(result["metrics"]["losses"]) == (2, 5)
    assert result["metrics"]["bytes"][0]["site-1"][1] == 2 * (29 + 1) * 8  # two clients' models and losses, float64
    assert "round    2" in capsys.readouterr().out
    assert main(["simulate", str(PATH), "--rounds", "2", "--folder", str(tmp_path)]) == 2
    assert "has all its rounds already" in capsys.readouterr().err


@pytest.mark.fault("clear error")
def test_no_experiment_is_a_clear_error(tmp_path, capsys):
    assert main(["simulate", str(tmp_path / "none.py")]) == 2
    assert "there is no experiment" in capsys.readouterr().err


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("what", ["provision", "server", "site"])
def test_machines_are_for_flare(what, capsys):
    assert main([what, str(PATH), "--engine", "local"]) == 2
    assert f"federate {what} is there with --engine flare only" in capsys.readouterr().err


@pytest.mark.parametrize("change", ["line ends", "editor's copy"])
def test_line_ends_and_an_editors_copies_are_no_other_code(tmp_path, monkeypatch, change):
    own, library = tmp_path / "own.py", tmp_path / "fedlib/one.py"
    library.parent.mkdir()
    monkeypatch.setattr(plans, "ROOT", tmp_path)
    own.write_bytes(b"A = 1\nB = 2\n"), library.write_bytes(b"X = 1\nY = 2\n")
    first = identity_of(own)
    if change == "line ends":
        own.write_bytes(b"A = 1\r\nB = 2\r\n"), library.write_bytes(b"X = 1\r\nY = 2\r\n")
    else:
        (kept := library.parent / ".ipynb_checkpoints").mkdir()
        (kept / "one-checkpoint.py").write_text("X = 2")
    assert identity_of(own) == first


SHORT = "from fedlib.federated.experiment import Experiment\nSITES, points = [[0]], None\n"


@pytest.mark.parametrize("name", ["helper.py", "helper/__init__.py", "helper/inner.py"])
def test_what_lies_beside_an_experiment_is_found_and_part_of_it(tmp_path, name):
    """A file or a package, what it imports in turn, and what a function imports later; a change is seen at once."""
    (file := tmp_path / name).parent.mkdir(exist_ok=True)
    (file.parent / "__init__.py").write_text("from . import inner") if name.endswith("inner.py") else None
    own = tmp_path / "own.py"
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    own.write_text(f"{SHORT}def make():\n    from {module} import RATE\n    return Experiment('own', None, lr=RATE)\n")
    identities = set()
    for rate in (0.25, 0.5):
        file.write_text(f"RATE = {rate}  # {'x' * int(100 * rate)}\n")
        assert load(own).experiment.lr == rate
        identities.add(identity_of(own)["experiment"])
    assert len(identities) == 2 and str(tmp_path) not in sys.path


def test_two_experiments_have_helpers_of_one_name(tmp_path):
    for folder, rate in (("one", 0.25), ("two", 0.5)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "helper.py").write_text(f"RATE = {rate}")
        (tmp_path / folder / "own.py").write_text(
            f"from helper import RATE\n{SHORT}def make(): return Experiment('own', None, lr=RATE)\n"
        )
    assert [load(tmp_path / name / "own.py").experiment.lr for name in ("one", "two", "one")] == [
        0.25,
        0.5,
        0.25,
    ]


def identity_of(path):
    plans.identity.cache_clear()
    found = plans.identity(path)
    plans.identity.cache_clear()
    return found


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "text, says",
    [
        ("SITES = [0, 1, 2]", r"SITES = \[0, 1, 2\]; expected every client"),
        ("DTYPE = 'float64'", "DTYPE = 'float64'; expected torch.float32"),
        ("def make(): return None", "make.. gave NoneType; expected an Experiment"),
        ("import no_such_helper", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_helper'"),
        ("def make(:", r"cannot be loaded: SyntaxError: .*line \d+"),
    ],
)
def test_a_module_that_means_nothing_is_a_clear_error(text, says, tmp_path):
    (tmp_path / "own.py").write_text(f"{PATH.read_text()}\n{text}\n")
    with pytest.raises(ValueError, match=f"own.py.*{says}"):
        load(tmp_path / "own.py")


WRONG = {  # of one client's tensors, with what is said of it
    "numpy": ("{n: v.numpy() for n, v in good(k).items()}", r"points\({k}\)\['x'\] is ndarray; expected a tensor"),
    "a list": ("[*good(k).values()]", r"points\({k}\) gave a list; expected a dictionary"),
    "a number": ("good(k) | {'y': torch.tensor(1.0)}", r"points\({k}\)\['y'\] is Tensor; expected a tensor \[n_k"),
    "none": ("{n: v[:0] for n, v in good(k).items()}", r"points\({k}\) gave tensors of lengths .*one common length"),
    "unequal": ("good(k) | {'y': good(k)['y'][1:]}", r"points\({k}\) gave tensors of lengths"),
    "whole": (
        "{n: v.long() for n, v in good(k).items()}",
        r"points\({k}\) has 'x' as torch.int64 \[2\], expected numbers",
    ),
    "wider": (
        "good(k) | {'x': good(k)['x'].repeat(1, 2)}",
        r"points\({k}\) has 'x' as numbers \[4\], expected numbers",
    ),
    "more": ("good(k) | {'z': good(k)['x']}", r"points\({k}\) has 'z' as numbers \[2\], expected nothing"),
    "fewer": ("{'x': good(k)['x']}", r"points\({k}\) has 'y' as nothing, expected numbers \[\]"),
}


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("k, name", [(1, "alone at its site"), (3, "beside others")], ids=["alone", "beside"])
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_tensors_are_named_with_their_client(wrong, k, name, tmp_path):
    """Whether others at its site show it, or only the server sees it."""
    points, says = WRONG[wrong]
    own = tmp_path / "own.py"
    own.write_text(
        f"{PATH.read_text()}\ngood = points\n\ndef points(k):\n    return {points} if k == {k} else good(k)\n"
    )
    with pytest.raises(ValueError, match=says.replace("{k}", str(k))):
        next(federate(load(own), ask_in_turn(sites_of(load(own)))))


@pytest.mark.fault("survived")
@pytest.mark.parametrize("wrong", ["whole", "wider", "more", "fewer"])
def test_a_site_with_wrong_tensors_is_left_out_where_others_may_go_on(case, wrong, tmp_path):
    case("ragged, full batch")
    own = tmp_path / "own.py"
    points = WRONG[wrong][0]
    own.write_text(f"{PATH.read_text()}\ngood = points\n\ndef points(k):\n    return {points} if k == 1 else good(k)\n")
    played = [*federate(load(own), ask_in_turn(sites_of(load(own))), min_sites=2)]
    assert [[*done.lost] for done in played] == [["site-2"]] * 4 and "points(1)" in played[0].lost["site-2"]
    assert np.isfinite(played[-1].losses[[0, 2, 3, 4]]).all()


@pytest.mark.fault("clear error")
def test_an_error_at_a_site_is_told_with_its_line_by_every_engine(case, tmp_path):
    """Here, too, a site that fails is left out; it is no end of all."""
    case("ragged, full batch")
    own, last = tmp_path / "own.py", 1 + len(PATH.read_text().splitlines())
    own.write_text(f"{PATH.read_text()}\ndef loss(predict, batch): return batch['no such tensor']\n")
    with pytest.raises(RuntimeError, match=rf"site-1 failed: KeyError \(own.py, line {last + 1}\); what it says"):
        next(federate(load(own), ask_in_turn(sites_of(load(own)))))


@pytest.mark.fault("clear error")
@pytest.mark.parametrize(
    "what, says",
    [
        ({"rounds": 0}, "rounds = 0: expected a whole number >= 1"),
        ({"rounds": -3}, "rounds = -3: expected"),
        ({"rounds": 2.0}, "rounds = 2.0: expected"),
        ({"rounds": True}, "rounds = True: expected"),
        ({"min_sites": 0}, "min_sites = 0: expected a whole number from 1 to 3"),
        ({"min_sites": 9}, "min_sites = 9: expected a whole number from 1 to 3"),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused(what, says):
    with pytest.raises(ValueError, match=says):
        next(federate(load(PATH), ask_in_turn(sites_of(load(PATH))), **what))


@pytest.mark.fault("clear error")
@pytest.mark.parametrize("what", ["simulate", "server"])
def test_the_command_refuses_numbers_a_file_for_a_folder_and_blanks_in_it(what, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fedlib.machines.command.find_spec", lambda name: object())
    (tmp_path / "FILE").write_text("")
    kits = ["--kits", str(tmp_path / "my kits")] if what == "server" else []
    for arguments, says in (
        (["--rounds", "0"], "rounds = 0"),
        (["--min-sites", "9"], "min_sites = 9"),
        (["--folder", str(tmp_path / "FILE")], "FILE"),
        *([([], "my kits has a blank in its name")] if kits else []),
    ):
        assert main([what, str(PATH), *kits, *arguments]) == 2
        assert says in capsys.readouterr().err
