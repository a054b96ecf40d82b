"""What notebook 12 states, all targets of ours; each statement on privacy names the attack."""

import xarray

from .study import Results


def after_one_step(results: Results, attack: str, points: int) -> xarray.DataArray:
    """What an attack finds of each client after one step of gradient descent (%) [client]."""
    return getattr(results.messages, attack).sel(optimizer="SGD", E=1, points=points)


CLAIMS = {
    "fed-deeponet.target.sites.equal": (lambda results: results.difference, "<", 1e-12),
    "fed-deeponet.target.sites.hidden": (lambda results: results.common, "<", 1),
    "fed-deeponet.target.sites.leak": (lambda results: after_one_step(results, "off", 1).max(), "<", 1),
    "fed-deeponet.target.sites.recognised": (lambda results: after_one_step(results, "span", 10).mean(), ">", 90),
    "fed-deeponet.target.sites.wire": (lambda results: results.wire.span.mean(), "<", 55),
    "fed-deeponet.target.sites.price": (lambda results: results.overhead, "<", 2),
}
"""Id of data/claims.yaml -> claim, see ``relations.judged``."""
