"""A thin, fast library for federated scientific machine learning; CONTRIBUTING.md has the map.

What most notebooks need can be taken from here. It is looked up when it is asked for, so that ``python -m fedlib`` need
not wait for torch.
"""

import os
import sys
from importlib import import_module

if "torch" not in sys.modules:  # else its threads are there already
    # Threads of small models wait for one another: on busy cores a plain loop takes minutes instead of seconds.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POT_BACKEND_DISABLE_JAX", "1")  # POT gets numpy arrays here; else it loads JAX, half a second

WHERE = {
    "Data": "federated.experiment",
    "Experiment": "federated.experiment",
    "Federation": "federated.federation",
    "History": "federated.history",
    "Local": "federated.batches",
    "Run": "notebook.run",
    "best": "federated.sweep",
    "centralised": "federated.federation",
    "environment": "trainings.environment",
    "grid": "federated.sweep",
    "join": "federated.federation",
    "pinn": "federated.pinn",
    "play": "federated.rounds",
    "predict": "federated.stack",
    "show": "notebook.pages",
    "sweep": "federated.sweep",
    "train": "federated.train",
    "under": "federated.experiment",
}
__all__ = list(WHERE)


def __getattr__(name: str):
    if name not in WHERE:
        raise AttributeError(f"module 'fedlib' has no attribute {name!r}; see fedlib.WHERE")
    return getattr(import_module(f".{WHERE[name]}", __name__), name)
