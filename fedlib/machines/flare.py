"""The federation on NVIDIA FLARE (nvflare 2.9.0, Collab API): a FLARE client is a site with many clients.

Each machine says by itself which experiment it takes part in: FEDLIB_EXPERIMENT is its file, FEDLIB_FOLDER where it
keeps what it has to keep. Neither comes with FLARE's job. Imported where FLARE is, in its processes.
"""

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from nvflare.collab import CollabRecipe, collab

from ..files import packed, unpacked
from .plan import load
from .recorded import play_out
from .site import Site, public

ENDED = "ended.txt"  # how a training ended, empty where it came to its end: FLARE would keep that in its log


class Answers:
    @collab.publish
    def answer(self, message: bytes) -> bytes:
        try:
            return packed(this_site(collab.site_name).answer(unpacked(message)))
        except Exception as error:  # of its tables or its folder: FLARE would say it in many words
            return packed({"error": public(error, os.environ["FEDLIB_EXPERIMENT"])})


@cache  # of this process: one, or in a simulation all of them
def this_site(name: str) -> Site:
    return Site(load(os.environ["FEDLIB_EXPERIMENT"]), name, Path(os.environ["FEDLIB_FOLDER"]))


class Questions:
    def __init__(self, rounds: int, min_sites: int, timeout: float):
        self.rounds, self.min_sites, self.timeout = rounds, min_sites, timeout

    @collab.main
    def run(self):
        sites, folder = {proxy.name: proxy for proxy in collab.clients}, Path(os.environ["FEDLIB_FOLDER"])

        def one(name, question):
            try:
                return unpacked(sites[name](timeout=self.timeout).answer(packed(question)))
            except Exception as error:  # of whatever kind: the server says what comes of it
                return {"error": f"{type(error).__name__}: {error}"}

        def ask(questions):
            with ThreadPoolExecutor(len(questions)) as pool:
                return dict(zip(questions, pool.map(one, *zip(*questions.items(), strict=True)), strict=True))

        try:
            settings = {"rounds": self.rounds or None, "min_sites": self.min_sites or None}
            play_out(load(os.environ["FEDLIB_EXPERIMENT"]), ask, folder, engine="flare", **settings)
            (folder / ENDED).write_text("", encoding="utf-8")
        except Exception as error:
            (folder / ENDED).write_text(f"{error}", encoding="utf-8")
            raise


def recipe(rounds: int | None, min_sites: int | None, timeout: float = 600.0) -> CollabRecipe:
    """What a simulator, or a federation of machines, executes; None: the experiment's rounds, all sites. timeout [s]:
    for a site's answer."""
    return CollabRecipe("fedlib", server=Questions(rounds or 0, min_sites or 0, timeout), client=Answers())


def simulate(path: Path, folder: Path, **settings) -> None:
    """Play an experiment in FLARE's simulator: its server and its clients on this machine, without any network.

    settings: of ``recipe``. RuntimeError: it did not come to its end; says why.
    """
    from nvflare.recipe import SimEnv

    changed = {"FEDLIB_EXPERIMENT": str(path.resolve()), "FEDLIB_FOLDER": str(folder.resolve())}
    place, before = os.getcwd(), dict(os.environ)
    os.environ |= changed
    (folder / ENDED).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as workspace:
        try:
            env = SimEnv(num_clients=len(load(path).sites), workspace_root=workspace, log_config="concise")
            recipe(**settings).execute(env)
        except RuntimeError as error:  # names a log that is gone when one reads it
            if not ending(folder):
                raise RuntimeError(f"FLARE's simulator ended early: {error}") from error
        finally:  # it changes the folder of this process
            os.chdir(place)
            for name in changed:
                os.environ.pop(name)
            os.environ |= {name: value for name, value in before.items() if name in changed}
    if why := ending(folder, "FLARE's simulator ended early; see what it printed"):
        raise RuntimeError(why)  # the simulator says nothing of it


def ending(folder: Path, missing: str = "") -> str:
    """Why a training ended early; empty where it came to its end, ``missing`` where nobody knows."""
    file = folder / ENDED
    return file.read_text(encoding="utf-8") if file.exists() else missing
