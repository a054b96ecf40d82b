"""python -m fedlib federate simulate|provision|server|site EXPERIMENT: a federation on this machine, or on several."""

import argparse
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

from .carriers import carrier
from .experiment import load
from .local import sites_of
from .recorded import add_up, play_out

WHAT = {
    "simulate": "all sites on this machine",
    "provision": "make a kit with a certificate for every machine",
    "server": "wait for all sites, play the rounds",
    "site": "this machine's clients",
}
ENGINES = {"local": None, "flower": "flwr", "flare": "nvflare"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("fedlib federate", description="The same training on several machines.")
    parser.add_argument("what", choices=WHAT, help="; ".join(f"{name}: {text}" for name, text in WHAT.items()))
    parser.add_argument("experiment", type=Path, help="a Python file with make(), points(client) and SITES")
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
    except (ValueError, RuntimeError, FileNotFoundError) as error:
        print(f"fedlib: {error}", file=sys.stderr)
        return 2


def run(given: argparse.Namespace) -> int:
    """What the command line says."""
    path, engine = given.experiment.resolve(), given.engine or ("local" if given.what == "simulate" else "flare")
    if ENGINES[engine] and not find_spec(ENGINES[engine]):
        raise ValueError(f"{engine} is not here; pip install 'fedlib[{engine}]', in an environment of its own")
    own = given.kit.name if given.kit else given.what
    name = f"federate-{path.stem}-{engine}" + (f"-{own}" if given.what in ("server", "site") else "")
    folder = (given.folder or Path("figures/federate") / name).resolve()
    if given.what == "simulate":
        simulate(path, folder, engine, given.rounds, given.min_sites, given.sums)
    else:
        on_machines(given, path, folder, engine)
    print("Results:" if given.what != "provision" else "Kits:", folder if given.what != "provision" else given.kits)
    return 0


def on_machines(given: argparse.Namespace, path: Path, folder: Path, engine: str) -> None:
    """The part of one machine. Whoever ends this command ends what it started."""
    if engine != "flare":
        raise ValueError(f"federate {given.what} is there with --engine flare only; {engine} takes federate simulate")
    if (given.kit if given.what == "site" else given.kits) is None:
        raise ValueError(f"federate {given.what} needs {'--kit' if given.what == 'site' else '--kits'} FOLDER")
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
    folder.mkdir(parents=True, exist_ok=True)
    if engine == "flare":
        from .flare_here import simulated

        simulated(path, folder, len(names), rounds=rounds, min_sites=min_sites, sums=sums)
        return
    ask = carrier(engine, sites_of(path, folder))
    if sums:
        add_up(path, ask, folder, engine=engine)
    else:
        play_out(path, ask, folder, engine=engine, rounds=rounds, min_sites=min_sites)
