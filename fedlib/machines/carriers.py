"""Who carries the messages of sites on this machine: nobody, or Flower where it is installed."""

from collections.abc import Mapping
from importlib.util import find_spec

from .local import ask_in_turn
from .middle import Ask
from .site import Site

NAMES = {"local": "a loop over the sites", "flower": "Flower's Grid"}


def here() -> list[str]:
    """The carriers that are installed."""
    return ["local", "flower"] if find_spec("flwr") else ["local"]


def chosen(name: str) -> tuple[str, str]:
    """A carrier and a line about it; "auto": Flower where it is here. ValueError where it is not."""
    if name == "flower" and "flower" not in here():
        raise ValueError("engine = 'flower': Flower is not here; pip install '.[flower]', or take \"auto\"")
    if name == "auto":
        name = here()[-1]
    why = "" if "flower" in here() else "; Flower is not here (make engines has it), the messages are the same"
    return name, f"Messages are carried by {NAMES[name]}, all in this process{why}."


def carrier(name: str, sites: Mapping[str, Site]) -> Ask:
    """The engine for ``server.federate`` that reaches these sites."""
    if name == "local":
        return ask_in_turn(sites)
    from .flower_grid import grid_of, import_library

    import_library()
    from .flower import asking, client_app

    each = list(sites.values())
    return asking(grid_of(client_app(lambda context: each[context.node_config["partition-id"]]), len(each)))
