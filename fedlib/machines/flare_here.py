"""FLARE's simulator: its server and its clients on this machine, without any network."""

import os
import tempfile
from pathlib import Path

KEPT = ("FEDLIB_EXPERIMENT", "FEDLIB_FOLDER")


def simulated(
    path: Path, folder: Path, sites: int, *, rounds: int | None = None, min_sites: int | None = None, sums: bool = False
) -> None:
    """Play an experiment in FLARE's simulator; the results are in the folder.

    Raises:
        RuntimeError: it did not come to its end; says why.
    """
    from nvflare.recipe import SimEnv

    from .flare import recipe

    there, before = os.getcwd(), {name: os.environ.get(name) for name in KEPT}
    os.environ |= dict(zip(KEPT, (str(path.resolve()), str(folder.resolve())), strict=True))
    ended = folder / "ended.txt"
    ended.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as workspace:
        try:
            job = recipe(rounds or 0, min_sites or 0, sums=sums)
            job.execute(SimEnv(num_clients=sites, workspace_root=workspace, log_config="concise"))
        except RuntimeError as error:  # names a log that is gone when one reads it
            if not (ended.exists() and ended.read_text()):
                raise RuntimeError(f"FLARE's simulator ended early: {error}") from error
        finally:  # it changes the folder of this process
            os.chdir(there)
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
    if (
        why := ended.read_text(encoding="utf-8")
        if ended.exists()
        else "FLARE's simulator ended early; see what it printed"
    ):
        raise RuntimeError(why)  # the simulator says nothing of it
