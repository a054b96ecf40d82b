"""python -m fedlib federate simulate|provision|server|site EXPERIMENT: a federation on this machine, or on several.

And federate predict FOLDER TABLE: what a model that came of one makes of a table.
"""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock, Timeout

from .carriers import carrier
from .experiment import load, named
from .local import sites_of
from .model import predicted, read_model
from .recorded import add_up, play_out
from .server import check_numbers

WHAT = {
    "simulate": "all sites on this machine",
    "provision": "make a kit with a certificate for every machine",
    "server": "wait for all sites, play the rounds",
    "site": "this machine's clients",
    "predict": "a table's columns, and beside them what the model of a folder of results gives",
}
ENGINES = {"local": None, "flower": "flwr", "flare": "nvflare"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("fedlib federate", description="The same training on several machines.")
    parser.add_argument("what", choices=WHAT, help="; ".join(f"{name}: {text}" for name, text in WHAT.items()))
    parser.add_argument(
        "experiment", type=Path, help="a Python file with make(), points(client) and SITES; predict: results"
    )
    parser.add_argument("table", type=Path, nargs="?", help="predict: with the columns that the model takes")
    parser.add_argument("--engine", choices=ENGINES, help="what carries the messages: local; on several machines flare")
    parser.add_argument("--rounds", type=int, help="other than the experiment's")
    parser.add_argument("--sums", action="store_true", help="one round of sums, of a model linear in what is learnt")
    parser.add_argument("--min-sites", type=int, help="go on without sites that fail while so many are there")
    parser.add_argument("--folder", type=Path, help="of results and checkpoints; the same one goes on from there")
    parser.add_argument("--kits", type=Path, help="provision: a new folder for them; server: where they lie")
    parser.add_argument("--kit", type=Path, help="site: the folder that belongs to this machine")
    parser.add_argument("--host", default="localhost", help="provision: the server's name, as all sites reach it")
    parser.add_argument("--port", type=int, default=8002, help="provision: the one port that the server opens")
    parser.add_argument("--timeout", type=float, default=600.0, help="server: seconds that a site may take to answer")
    given = parser.parse_args(arguments)
    try:
        return run(given)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"fedlib: {error}", file=sys.stderr)
        return 2


def run(given: argparse.Namespace) -> int:
    """What the command line says."""
    if given.what == "predict":
        return predict(given.experiment, given.table)
    path, engine = given.experiment.resolve(), given.engine or ("local" if given.what == "simulate" else "flare")
    if ENGINES[engine] and not find_spec(ENGINES[engine]):
        raise ValueError(f"{engine} is not here; pip install '.[{engine}]' in its folder, in an environment of its own")
    if given.what in ("simulate", "server"):
        check_numbers(load(path).clients, given.rounds, given.min_sites)
    if "FEDLIB_CSV" in os.environ:  # FLARE's processes run elsewhere
        os.environ["FEDLIB_CSV"] = str(Path(os.environ["FEDLIB_CSV"]).resolve())
    own = given.kit.name if given.kit else given.what
    name = f"federate-{path.stem}-{engine}" + (f"-{own}" if given.what in ("server", "site") else "")
    folder = (given.folder or Path("figures/federate") / name).resolve()
    with alone(folder, own if given.kit else "federation"):
        if given.what == "simulate":
            simulate(path, folder, engine, given.rounds, given.min_sites, given.sums)
        else:
            on_machines(given, path, folder, engine)
    print("Results:" if given.what != "provision" else "Kits:", folder if given.what != "provision" else given.kits)
    return 0


@contextmanager
def alone(folder: Path, name: str) -> Iterator[None]:
    """Nobody else is this in this folder meanwhile; ValueError where somebody is already."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / f".{name}.lock", timeout=0):
            yield
    except Timeout:
        raise ValueError(f"another {name} is running in {folder}; wait for its end, or take another --folder") from None


def predict(folder: Path, path: Path | None) -> int:
    """Print a table with what the model gives; its unit, and rows far from what it was trained on, to stderr."""
    if path is None:
        raise ValueError(f"federate predict {folder}: expected a table beside it, such as new.csv")
    model = read_model(folder)
    rows = predicted(model, path)
    print(rows.to_csv(index=False), end="")
    units = ", ".join(named(model.gives))
    print(f"fedlib: {units} given by {', '.join(named(model.takes))}", file=sys.stderr)
    if unusual := model.unusual(rows[[*model.takes]].to_numpy()):
        print(f"fedlib: warning: {unusual}", file=sys.stderr)
    return 0


def on_machines(given: argparse.Namespace, path: Path, folder: Path, engine: str) -> None:
    """The part of one machine. Whoever ends this command ends what it started."""
    if engine != "flare":
        raise ValueError(f"federate {given.what} is there with --engine flare only; {engine} takes federate simulate")
    if (given.kit if given.what == "site" else given.kits) is None:
        raise ValueError(f"federate {given.what} needs {'--kit' if given.what == 'site' else '--kits'} FOLDER")
    for place in (given.kit, given.kits):
        if place and len(str(place.resolve()).split()) > 1:
            raise ValueError(f"{place.resolve()} has a blank in its name, which FLARE cannot have; take another folder")
    from . import flare_machines as machines

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if given.what == "provision":
        given.kits = machines.provision(path, given.kits, given.host, given.port)
    elif given.what == "site":
        machines.site(path, folder, given.kit)
    else:
        how = {"rounds": given.rounds, "min_sites": given.min_sites, "timeout": given.timeout, "sums": given.sums}
        machines.serve(path, folder, given.kits, **how)


def simulate(
    path: Path, folder: Path, engine: str = "local", rounds: int | None = None, min_sites: int | None = None,
    sums: bool = False,
):  # fmt: skip
    """Play an experiment with all its sites on this machine.

    Raises:
        ValueError: the experiment is none. RuntimeError: a site failed.
    """
    names = [*load(path).clients]
    if engine == "flare":
        from .flare_here import simulated

        simulated(path, folder, len(names), rounds=rounds, min_sites=min_sites, sums=sums)
        return
    ask = carrier(engine, sites_of(path, folder))
    if sums:
        add_up(path, ask, folder, engine=engine)
    else:
        play_out(path, ask, folder, engine=engine, rounds=rounds, min_sites=min_sites)
