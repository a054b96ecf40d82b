"""FLARE on several machines: a kit with a certificate for each, the server with its training, and the sites."""

import contextlib
import ctypes
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import yaml

from ..files import code_path
from .flare import ENDED, ending, recipe
from .plan import load

ADMIN = "admin@fedlib.org"
PATIENCE = 15.0  # s that FLARE may take to end a job, and then to say so to all sites
BUILDERS = {
    "workspace.WorkspaceBuilder": {"template_file": ["master_template.yml"]},
    "static_file.StaticFileBuilder": {"config_folder": "config"},
    "cert.CertBuilder": {},
    "signature.SignatureBuilder": {},
}


def provision(path: Path, folder: Path, host: str, port: int = 8002) -> Path:
    """FLARE's provisioning: a kit for the server, for each site of the experiment, and for who starts trainings.

    A kit is a folder with a key, and a certificate of a root that is made here; it goes to its machine and nowhere
    else. Connections are mutual TLS: who has no certificate of this root gets none.

    Args:
        host: the server's name, by which all sites reach it. port: the one that it opens.

    Returns:
        the folder of the kits: HOST, site-1, ..., and one for the training's start, which belongs to the server's.
    """
    from nvflare.lighter.prov_utils import prepare_builders
    from nvflare.lighter.provision import prepare_project
    from nvflare.lighter.provisioner import Provisioner

    name = "federation"
    if (folder / name).exists():
        raise ValueError(f"{folder / name} is there already; its kits would no longer fit: take another folder")
    server = {"name": host, "type": "server", "org": "lab", "fed_learn_port": port}
    sites = [{"name": site, "type": "client", "org": "lab"} for site in load(path).clients]
    admin = {"name": ADMIN, "type": "admin", "org": "lab", "role": "project_admin"}
    project = {"api_version": 3, "name": name, "description": path.stem, "participants": [server, *sites, admin]}
    project["builders"] = [{"path": f"nvflare.lighter.impl.{b}", "args": args} for b, args in BUILDERS.items()]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "project.yml").write_text(yaml.safe_dump(project, sort_keys=False), encoding="utf-8")
    Provisioner(str(folder), prepare_builders(project)).provision(prepare_project(project))
    return folder / name / "prod_00"


def kit_with(kits: Path, file: str) -> Path:
    """The kit in a folder of kits that has such a file in startup/; ValueError if there is not exactly one."""
    matching = sorted({f.parent.parent for f in kits.glob(f"*/startup/{file}")})
    if len(matching) != 1:
        raise ValueError(f"{kits} has {len(matching)} kits with startup/{file}, expected one; see federate provision")
    return matching[0]


@contextlib.contextmanager
def running(kit: Path, path: Path, folder: Path) -> Iterator[tuple[subprocess.Popen, Path]]:
    """FLARE's process of a machine and its log; when this ends, or is killed, none of its processes is left."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {"FEDLIB_EXPERIMENT": str(path.resolve()), "FEDLIB_FOLDER": str(folder.resolve())}
    env["PYTHONPATH"] = code_path()
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # its script calls python3
    script = ["bash", str(kit.resolve() / "startup" / "sub_start.sh"), "--once"]
    log = folder / f"{kit.resolve().name}.log"
    with open(log, "wb") as file:
        process = subprocess.Popen(
            script, env=os.environ | env, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=die_with_parent,
        )  # fmt: skip
    try:
        yield process, log
    finally:
        end(process.pid)
        process.wait()


def die_with_parent() -> None:
    """Linux only: a process whose parent is killed is killed, too. FLARE's jobs see to that themselves."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG


def end(pid: int, patience: float = 5.0) -> None:
    """Ends a process and all that it started, by force after some seconds."""
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(pid)
        family = [top, *top.children(recursive=True)]
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            _, family = psutil.wait_procs(family, timeout=patience)


def attend(path: Path, folder: Path, kit: Path) -> None:
    """A site's machine: waits for the server's trainings until the server ends the federation."""
    if not (kit / "startup" / "fed_client.json").exists():
        raise ValueError(f"{kit} is no site's kit; see federate provision")
    with running(kit, path, folder) as (process, _):
        process.wait()


def serve(
    path: Path, folder: Path, kits: Path, *, wait: float = 3600.0, show: Callable[[str], None] = print, **settings
) -> None:
    """The server: waits for all sites, plays the experiment, ends the federation.

    Args:
        kits: the folder with the server's kit and the admin's. wait [s]: for the sites to join. settings: of
            ``flare.recipe``.

    Raises:
        RuntimeError: sites did not join, or the training did not come to its end; says why.
    """
    from nvflare.fuel.flare_api.flare_api import new_secure_session
    from nvflare.recipe import ProdEnv

    admin, names = kit_with(kits, "fed_admin.json").resolve(), sorted(load(path).clients)
    (folder / ENDED).unlink(missing_ok=True)
    with running(kit_with(kits, "fed_server.json"), path, folder) as (_, log):
        session = new_secure_session(ADMIN, str(admin), timeout=wait)
        show(f"waiting for {', '.join(names)}")
        until = time.monotonic() + wait
        while missing := [name for name in names if name not in joined(session)]:
            if time.monotonic() > until:
                raise RuntimeError(f"{', '.join(missing)} did not join within {wait:.0f} s")
            time.sleep(1)
        job = recipe(**settings).execute(ProdEnv(str(admin), username=ADMIN)).get_job_id()
        watch(session, job, log, folder / ENDED, show)
        farewell = threading.Thread(target=send_home, args=(session, job), daemon=True)
        farewell.start()
        farewell.join(PATIENCE)  # a site that is gone does not answer
    if why := ending(folder, f"FLARE ended the training early; see {log}"):
        raise RuntimeError(why)


def joined(session) -> list[str]:
    """The sites that are there."""
    return [client.name for client in session.get_system_info().client_info]


def watch(session, job: str, log: Path, ended: Path, show: Callable[[str], None]) -> None:
    """Shows a training's rounds until it is over, and FLARE's job, too, or it waits for a site that is gone."""
    until = math.inf
    with open(log, encoding="utf-8", errors="replace") as lines:
        while time.monotonic() < until:
            over = session.get_job_meta(job)["status"].startswith("FINISHED")
            if over or ended.exists():
                until = min(until, time.monotonic() + (0 if over else PATIENCE))
            for line in lines:
                if line.startswith(("round ", "warning: ", "after ")):
                    show(line.rstrip())
            time.sleep(1)


def send_home(session, job: str) -> None:
    """Ends FLARE at all sites that are there."""
    if not session.get_job_meta(job)["status"].startswith("FINISHED"):
        session.abort_job(job)
    session.shutdown("client", wait=False)
    session.close()
