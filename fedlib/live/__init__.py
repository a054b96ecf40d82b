"""What moves on the page: ``show`` puts a training with buttons there; see ``stage``."""

from .stage import MIXING, OPTIMIZERS, SERVERS, live, show

__all__ = ["MIXING", "OPTIMIZERS", "SERVERS", "live", "show"]
