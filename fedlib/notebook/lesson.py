"""Part A of a notebook, the lesson: pictures of stored trainings, which are the same whatever a reader runs below."""

from collections.abc import Container, Hashable
from types import ModuleType

import xarray
from matplotlib.figure import Figure
from torch import Tensor

from ..federated.history import History
from ..trainings.store import last_reading, last_stored, parameters_of
from . import pages

LABEL = "stored"


class Lesson:
    """What a study has stored at the paper's settings, and the pictures of it.

    ``lesson = Lesson(study)``, ``lesson.stored("poisson")``, ``lesson.figure(fig, "answer", alt=...)``. The run of the
    notebook keeps the pictures in its folder, see ``Run.begin``: they are the first thing that the notebook shows.
    """

    def __init__(self, study: ModuleType):
        self.study, self.parameters = study, parameters_of(study.NOTEBOOK)
        self.calls = study.trainings(self.parameters)
        self.pictures: dict[str, tuple[bytes, str]] = {}  # name -> PNG, what one sees in it
        self.outdated: list[Hashable] = []  # trainings of an earlier numerics

    def stored(self, name: Hashable) -> History | xarray.Dataset:
        """A training of the study, or what it computed, see ``store.stored``; after its ``numerics`` was raised what
        there was before, until it is trained again, and pictures say so."""
        result, outdated = last_stored(self.study.NOTEBOOK, self.calls, name, earlier=True)
        self.note(name, outdated)
        return result

    def results(self, among: Container[Hashable] | None = None) -> object:
        """The study's ``results`` of all that is stored, or of what has one of these names; what is not there yet is
        left out."""
        histories = {}
        for name in [name for name in self.calls if among is None or name in among]:
            reading, outdated = last_reading(self.study.NOTEBOOK, self.calls, name, earlier=True)
            if reading.result is not None:
                histories[name] = reading.result
                self.note(name, outdated)
        return self.study.results(self.parameters, histories)

    def note(self, name: Hashable, outdated: bool) -> None:
        """Remember a training that pictures are marked for."""
        if outdated and name not in self.outdated:
            self.outdated.append(name)

    def figure(self, fig: Figure, name: str, alt: str) -> None:
        """Show a picture of stored trainings, which its corner says. alt: what one sees in it, in a sentence."""
        label = LABEL + ", by an earlier version" * bool(self.outdated)
        image = pages.labelled_png(fig, label)
        self.pictures[name] = image, alt
        pages.picture(image, alt)


def filled(answer: object, example: Tensor) -> bool:
    """Whether the blank of an exercise returns something; ValueError: no finite numbers of the shape of ``example``."""
    if answer is None:
        return False
    size = list(example.shape)
    words = f"return a tensor {size}, as each of those that the blank gets, for instance 0.5 * the first one"
    if not isinstance(answer, Tensor):
        raise ValueError(f"the blank returns a {type(answer).__name__}; {words}")
    if answer.shape != example.shape:
        raise ValueError(f"the blank returns a tensor {list(answer.shape)}; {words}")
    if not answer.isfinite().all():
        raise ValueError("the blank returns numbers that are not finite: is something divided by zero?")
    return True
