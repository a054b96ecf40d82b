"""python -m fedlib federate simulate EXPERIMENT: a federation on this machine, to see what a real one does."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from .experiment import load
from .local import ask_in_turn, sites_of
from .recorded import play_out

ENGINES = {"local": None, "flower": "flwr", "flare": "nvflare"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("fedlib federate", description="The same training on several machines.")
    parser.add_argument("what", choices=["simulate"], help="all sites on this machine")
    parser.add_argument("experiment", type=Path, help="a Python file with make() and points(client)")
    parser.add_argument("--engine", default="local", choices=ENGINES, help="what carries the messages")
    parser.add_argument("--rounds", type=int, help="other than the experiment's")
    parser.add_argument("--min-sites", type=int, help="go on without sites that fail while so many are there")
    parser.add_argument("--folder", type=Path, help="of results and checkpoints; the same one goes on from there")
    given = parser.parse_args(arguments)
    folder = (given.folder or Path("figures/custom") / f"federate-{given.experiment.stem}-{given.engine}").resolve()
    try:
        simulate(given.experiment.resolve(), folder, given.engine, given.rounds, given.min_sites)
    except (ValueError, RuntimeError, FileNotFoundError) as error:
        print(f"fedlib: {error}", file=sys.stderr)
        return 2
    print("Results:", folder)
    return 0


def simulate(path: Path, folder: Path, engine: str = "local", rounds: int | None = None, min_sites: int | None = None):
    """Play an experiment with all its sites on this machine.

    Raises:
        ValueError: the engine is not installed, or the experiment is none. RuntimeError: a site failed.
    """
    if ENGINES[engine] and not find_spec(ENGINES[engine]):
        raise ValueError(f"{engine} is not here; pip install 'fedlib[{engine}]', in an environment of its own")
    names = [*load(path).make().checked().clients]
    folder.mkdir(parents=True, exist_ok=True)
    if engine == "flare":
        from .flare_here import simulated

        simulated(path, folder, len(names), rounds=rounds, min_sites=min_sites)
        return
    sites = sites_of(path, folder)
    ask = ask_in_turn(sites)
    if engine == "flower":
        from .flower_grid import grid_of, import_library

        import_library()
        from .flower import asking, client_app

        app = client_app(lambda context: sites[names[context.node_config["partition-id"]]])
        ask = asking(grid_of(app, len(names)))
    play_out(path, ask, folder, engine=engine, rounds=rounds, min_sites=min_sites)
