"""Draws docs/training.gif, the README's moving picture: notebook 05's live piece, two clients and one equation.

python tools/moving_picture.py
"""

from io import BytesIO
from itertools import takewhile

from PIL import Image

from fedlib.files import ROOT, replacing
from fedlib.live.player import PACES, moments
from fedlib.live.redraw import painter
from fedlib.live.views import experiment_panels, experiment_scene, remember, view
from fedlib.live.watched import watched_experiment
from fedlib.notebook.style import use
from fedlib.papers.fedsciml.forward.problem import poisson

STEP_BY_STEP, LAST = 2, 320  # rounds
WIDTH, COLOURS = 640, 224
SHOW_MS, END_MS = 180, 2500


def frames() -> list[Image.Image]:
    """All local steps of the first rounds, then clients apart and their average in rounds that lie further and further
    apart."""
    paint = painter()  # keeps the layout, so that nothing jumps
    training = watched_experiment(poisson(), 2, E=20, lr=3e-3)
    past, pictures, due = {}, [], 0
    for moment in takewhile(lambda m: m.done.number < LAST, moments(training.begin(), lambda: PACES[0])):
        r, at_the_end = moment.done.number, moment.step == moment.walk.shape[1] - 1
        errors_only = r >= STEP_BY_STEP and (r < due or not at_the_end)
        if at_the_end:
            remember(past, training, moment)
        if errors_only:
            continue
        if moment.averaged:
            due = max(r + 1, round(1.4 * r))
        fig = view(experiment_scene, training, moment, past, experiment_panels(training))
        picture = Image.open(BytesIO(paint(fig)))
        pictures.append(picture.resize((WIDTH, round(WIDTH * picture.height / picture.width)), Image.LANCZOS))
    return pictures


def main() -> None:
    use()
    pictures = frames()
    some = pictures[0], pictures[20], pictures[-1]  # start, clients apart, end
    together = Image.new("RGB", (sum(p.width for p in some), some[0].height))  # one palette for all: less to store
    for i, picture in enumerate(some):
        together.paste(picture, (i * picture.width, 0))
    palette = together.quantize(COLOURS)
    first, *others = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    durations = [SHOW_MS] * len(others) + [END_MS]
    with replacing(ROOT / "docs/training.gif") as partial:
        options = {"format": "GIF", "save_all": True, "append_images": others, "duration": durations, "loop": 0}
        first.save(partial, optimize=True, **options)


if __name__ == "__main__":
    main()
