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

from .engines import ask_in_turn, sites_of
from .model import predicted, read_model
from .plan import load, named
from .recorded import play_out
from .server import check_numbers

COMMANDS = {
    "simulate": "all sites on this machine",
    "provision": "make a kit with a certificate for every machine",
    "server": "wait for all sites, play the rounds",
    "site": "this machine's clients",
    "predict": "a table's columns, and beside them what the model of a folder of results gives",
}
ENGINES = {"local": None, "flare": "nvflare"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("fedlib federate", description="The same training on several machines.")
    parser.add_argument("do", choices=COMMANDS, help="; ".join(f"{name}: {text}" for name, text in COMMANDS.items()))
    parser.add_argument(
        "experiment", type=Path, help="a Python file with make(), points(client) and SITES; predict: results"
    )
    parser.add_argument("table", type=Path, nargs="?", help="predict: with the columns that the model takes")
    parser.add_argument("--engine", choices=ENGINES, help="what carries the messages: local; on several machines flare")
    parser.add_argument("--rounds", type=int, help="other than the experiment's")
    parser.add_argument("--min-sites", type=int, help="go on without sites that fail while so many are there")
    parser.add_argument("--folder", type=Path, help="of results and checkpoints; the same one goes on from there")
    parser.add_argument("--kits", type=Path, help="provision: a new folder for them; server: where they lie")
    parser.add_argument("--kit", type=Path, help="site: the folder that belongs to this machine")
    parser.add_argument("--host", default="localhost", help="provision: the server's name, as all sites reach it")
    parser.add_argument("--port", type=int, default=8002, help="provision: the one port that the server opens")
    parser.add_argument("--timeout", type=float, default=600.0, help="server: seconds that a site may take to answer")
    options = parser.parse_args(arguments)
    try:
        return predict(options.experiment, options.table) if options.do == "predict" else federate(options)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"fedlib: {error}", file=sys.stderr)
        return 2


def federate(options: argparse.Namespace) -> int:
    """What the command line says, but for predict."""
    do, path = options.do, options.experiment.resolve()
    name = options.engine or ("local" if do == "simulate" else "flare")
    if ENGINES[name] and not find_spec(ENGINES[name]):
        raise ValueError(f"{name} is not here; pip install '.[{name}]' in its folder, in an environment of its own")
    if do in ("simulate", "server"):
        check_numbers(load(path), options.rounds, options.min_sites)
    if "FEDLIB_CSV" in os.environ:  # FLARE's processes run elsewhere
        os.environ["FEDLIB_CSV"] = str(Path(os.environ["FEDLIB_CSV"]).resolve())
    machine = options.kit.name if options.kit else do
    default = f"federate-{path.stem}-{name}" + (f"-{machine}" if do in ("server", "site") else "")
    folder = (options.folder or Path("figures/federate") / default).resolve()
    settings = {"rounds": options.rounds, "min_sites": options.min_sites}
    with only_one(folder, machine if options.kit else "federation"):
        if do == "simulate":
            simulate(path, folder, name, **settings)
        else:
            on_machines(options, path, folder, name, settings)
    print("Results:" if do != "provision" else "Kits:", folder if do != "provision" else options.kits)
    return 0


def simulate(path: Path, folder: Path, name: str = "local", **settings) -> None:
    """Play an experiment with all its sites on this machine. settings: of ``play_out``.

    Raises:
        ValueError: the experiment is none. RuntimeError: a site failed.
    """
    if name == "flare":
        from . import flare

        flare.simulate(path, folder, **settings)
        return
    plan = load(path)
    play_out(plan, ask_in_turn(sites_of(plan, folder)), folder, engine=name, **settings)


def on_machines(options: argparse.Namespace, path: Path, folder: Path, name: str, settings: dict) -> None:
    """The part of one machine. Whoever ends this command ends what it started."""
    if name != "flare":
        raise ValueError(f"federate {options.do} is there with --engine flare only; {name} takes federate simulate")
    if (options.kit if options.do == "site" else options.kits) is None:
        raise ValueError(f"federate {options.do} needs {'--kit' if options.do == 'site' else '--kits'} FOLDER")
    for place in (options.kit, options.kits):
        if place and len(str(place.resolve()).split()) > 1:
            raise ValueError(f"{place.resolve()} has a blank in its name, which FLARE cannot have; take another folder")
    from . import flare_machines as machines

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.do == "provision":
        options.kits = machines.provision(path, options.kits, options.host, options.port)
    elif options.do == "site":
        machines.attend(path, folder, options.kit)
    else:
        machines.serve(path, folder, options.kits, timeout=options.timeout, **settings)


def predict(folder: Path, path: Path | None) -> int:
    """Print a table with what the model gives; its unit, and rows far from what it was trained on, to stderr."""
    if path is None:
        raise ValueError(f"federate predict {folder}: expected a table beside it, such as new.csv")
    model = read_model(folder)
    rows = predicted(model, path)
    print(rows.to_csv(index=False), end="")
    print(f"fedlib: {', '.join(named(model.gives))} given by {', '.join(named(model.takes))}", file=sys.stderr)
    if unusual := model.unusual(rows[[*model.takes]].to_numpy()):
        print(f"fedlib: warning: {unusual}", file=sys.stderr)
    return 0


@contextmanager
def only_one(folder: Path, name: str) -> Iterator[None]:
    """Nobody else is this in this folder meanwhile; ValueError where somebody is already."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / f".{name}.lock", timeout=0):
            yield
    except Timeout:
        raise ValueError(f"another {name} is running in {folder}; wait for its end, or take another --folder") from None
