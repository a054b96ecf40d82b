"""What notebook 10b trains, and what its figures and claims take (FedDRO, Section 2).

``python -m fedlib train 10b_digits --only rounds`` trains what is not stored of the long trainings.
"""

from collections.abc import Mapping
from itertools import product

from ....federated.batches import Local
from ....trainings.calls import Call, Task
from ....trainings.store import Name
from .problem import digits
from .ways import AFFINE, FEDAVG, MAPPED, MEANS, SAMPLES, WAYS

NOTEBOOK = "10b_digits"

FOUR = (FEDAVG, MEANS, AFFINE, MAPPED)
"""Ways that are trained for many rounds."""

ASCENT, STRONG = "ascent", "strong ascent"


def trainings(p: Mapping) -> dict[Name, Task]:
    """ "rounds": FOUR ways, for long, on all clean digits. "ways": the others, for the table's rounds; "ascent": with
    a displacement theta_i, or without, tested on shifted digits, too; "readings": other shifts and pixels; "skew":
    label skew; "lineage": the sizes of the code that the paper's authors started from. "barycenters", "pictures":
    what is no training.
    """
    seeds, first, levels = p["seeds"], p["seeds"][:1], [*dict.fromkeys(map(float, p["levels"]))]
    names = "clients", "per_client", "atoms", "barycenter_rounds", "affine_steps", "test_digits"
    shared = {"source": p["digits"]} | {name: p[name] for name in names}
    usual = shared | {"reading": p["reading"], "pixels": p["pixels"]}
    local = Local(p["local_epochs"], "epochs", p["batch_size"])
    table = {"rounds": p["rounds"], "local": local, "lr": p["lr"], "evaluations": 1}
    long = table | {"rounds": p["long_rounds"], "evaluations": p["long_rounds"] // p["rounds"]}

    def call(way, seeds=seeds, arguments=usual, changes=table, models=()) -> Call:
        arguments = arguments | {"way": way}
        return Call(digits, arguments, levels, seeds, ["federated"], changes=changes, models={"federated": models})

    calls: dict[Name, Task] = {("rounds", way): call(way, changes=long) for way in FOUR}
    calls |= {("ways", way): call(way) for way in WAYS if way not in (*FOUR, SAMPLES)}
    calls["ways", SAMPLES] = call(SAMPLES, first)
    moved = {"shifted_digits": p["shifted_digits"], "fresh_shifts": p["fresh_shifts"]}
    weak = {"ascent": [p["eta_1"], p["penalty"]]}
    for way in (FEDAVG, MAPPED):
        calls["ascent", way, "none"] = call(way, arguments=usual | moved)
        calls["ascent", way, ASCENT] = call(way, arguments=usual | moved | weak, models=first)
    calls["ascent", MAPPED, STRONG] = call(MAPPED, first, usual | moved | {"ascent": [*p["strong"]]}, models=first)
    for reading, pixels in product(p["compared"], ("normalised", "raw")):
        if (reading, pixels) != (p["reading"], p["pixels"]):
            other = shared | {"reading": reading, "pixels": pixels}
            calls |= {("readings", f"{reading}, {pixels}", way): call(way, p["reading_seeds"], other)
                      for way in (FEDAVG, MAPPED)}  # fmt: skip
    skew = usual | {"partition": "dirichlet", "alpha": p["alpha"]}
    calls |= {("skew", way): call(way, first, skew) for way in (FEDAVG, MAPPED)}
    if p["lineage_seeds"]:
        sizes = usual | {"per_client": 3600, "atoms": 360}
        epochs = table | {"local": Local(5, "epochs", p["batch_size"])}
        calls |= {("lineage", way): call(way, p["lineage_seeds"], sizes, epochs) for way in (FEDAVG, MAPPED)}
    return calls
