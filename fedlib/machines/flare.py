"""The federation on NVIDIA FLARE (nvflare 2.9.0, Collab API): a FLARE client is a site with many clients.

Each machine says by itself which experiment it takes part in: FEDLIB_EXPERIMENT is its file, FEDLIB_FOLDER where it
keeps what it has to keep. Nothing of either comes with FLARE's job.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from nvflare.collab import CollabRecipe, collab

from .message import packed, unpacked
from .recorded import add_up, play_out
from .site import Site


class Answers:
    @collab.publish
    def answer(self, message: bytes) -> bytes:
        return packed(site(collab.site_name).answer(unpacked(message)))


@cache  # of this process: one, or in a simulation all of them
def site(name: str) -> Site:
    return Site(os.environ["FEDLIB_EXPERIMENT"], name, Path(os.environ["FEDLIB_FOLDER"]))


class Questions:
    def __init__(self, rounds: int, min_sites: int, timeout: float, sums: bool):
        self.rounds, self.min_sites, self.timeout, self.sums = rounds, min_sites, timeout, sums

    @collab.main
    def run(self):
        sites, folder = {proxy.name: proxy for proxy in collab.clients}, Path(os.environ["FEDLIB_FOLDER"])

        def one(name, asked):
            try:
                return unpacked(sites[name](timeout=self.timeout).answer(packed(asked)))
            except Exception as error:  # of whatever kind: the server says what comes of it
                return {"error": f"{type(error).__name__}: {error}"}

        def ask(questions):
            with ThreadPoolExecutor(len(questions)) as pool:
                return dict(zip(questions, pool.map(one, *zip(*questions.items(), strict=True)), strict=True))

        how = {"rounds": self.rounds or None, "min_sites": self.min_sites or None}
        try:
            if self.sums:
                add_up(os.environ["FEDLIB_EXPERIMENT"], ask, folder, engine="flare")
            else:
                play_out(os.environ["FEDLIB_EXPERIMENT"], ask, folder, engine="flare", **how)
            (folder / "ended.txt").write_text("", encoding="utf-8")
        except Exception as error:  # FLARE would keep it in its log
            (folder / "ended.txt").write_text(f"{error}", encoding="utf-8")
            raise


def recipe(rounds: int = 0, min_sites: int = 0, timeout: float = 600.0, sums: bool = False) -> CollabRecipe:
    """What SimEnv, or a federation of machines, executes; 0: the experiment's rounds, all sites. timeout [s]: for a
    site's answer. sums: one round of sums instead."""
    return CollabRecipe("fedlib", server=Questions(rounds, min_sites, timeout, sums), client=Answers())
