"""How long one waits: every live training in JupyterLab, and the pieces without a kernel, in a real browser.

`make latency` writes docs/latency.md; the machine should have nothing else to do.
"""

import os
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from fedlib.files import ROOT
from fedlib.live.training import Training
from fedlib.pages import pieces
from fedlib.trainings.environment import environment

from .browser import chromium, lab
from .hands import MOVES, begin, pressed, rounds_a_second, run

STARTS = 20
IMPORTS = """
from fedlib.live import stage
from fedlib.notebook import style
style.use()
"""  # as in a notebook's first cells
ROOMS = [
    path.parent for path in sorted((ROOT / "fedlib/papers").glob("*/*/live.py")) if "def show(" in path.read_text()
]


def of_lab(page, own: Path) -> tuple[list[list[str]], str]:
    """A row for each piece; and what STARTS starts and cancels of the first one leave in its kernel."""
    rows, left = [], ""
    with lab(own, own) as address:
        begin(page, address, own)
        run(page, IMPORTS)
        for room in ROOMS:
            name = ".".join(room.relative_to(ROOT).parts)
            first = run(page, f"from {name} import live\nlive.show()", "img[src^=blob]")
            rate = 1000 / rounds_a_second(page)
            left = left or starts_and_cancels(page)
            moves = pressed(page)
            slowest = max(moves, key=moves.get)
            rows.append(
                [room.name, f"{first / 1000:.1f}", f"{median(moves.values()):.0f}",
                 f"{moves[slowest]:.0f} ({slowest})", f"{rate:.0f}"]
            )  # fmt: skip
            print(" | ".join(rows[-1]), flush=True)
            run(page, "for name in [*stage.OPEN]: stage.close(name)")
    return rows, left


def starts_and_cancels(page) -> str:
    """Memory and threads of the kernel before and after."""
    (kernel,) = [p for p in psutil.Process().children(recursive=True) if "ipykernel_launcher" in " ".join(p.cmdline())]
    before = kernel.memory_info().rss, kernel.num_threads()
    for _ in range(STARTS):
        page.get_by_role("button", name="Play").click()
        page.wait_for_timeout(200)
        page.get_by_role("button", name="Reset").click()
        page.wait_for_timeout(300)
    grown = (kernel.memory_info().rss - before[0]) / 1e6
    return f"{before[0] / 1e6:.0f} MB and {grown:+.0f} MB; {before[1]} and {kernel.num_threads()} threads"


def of_site(page, own: Path) -> list[list[str]]:
    """A row for each piece that needs no kernel."""
    rows = []
    kinds = {
        "training": (pieces.fragment("t", Training._esm), ".fed-row:not(:first-child) input"),
        "operator": (pieces.explorer("07_operator_learning"), ".fed-many input"),
        "explorer": (pieces.explorer("04_function_approximation"), ".fed-row input"),
    }
    for name, (html, inputs) in kinds.items():
        (own / f"{name}.html").write_text(f'<!doctype html><meta charset="utf-8"><title>{name}</title>{html}')
        page.goto((own / f"{name}.html").as_uri())
        page.wait_for_selector("canvas[aria-label]")
        times = page.evaluate(MOVES, inputs)
        rows.append([name, f"{median(times):.1f}", f"{times[-1]:.1f}", str(len(times))])
    return rows


def table(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])


PAGE = """# How long one waits

Written by `make latency` on {hardware}, Python {python}, Chromium {chromium}; load {load:.1f} before it began.

**In JupyterLab.** *First*: from running the cell to its first picture, in s, after a notebook's imports (the first
piece also waits for what torch imports late). *Median, slowest*: of its sliders, from a key to the last picture that it
makes, in ms; a live training starts anew at each move. *Round*: of a live training as it begins, at the pace *fastest*,
in ms.

{lab}

Before the first of {starts} starts and cancels of the first piece, and after the last one: {left}.

**Without a kernel** (the site's pieces). From a slider's event to the drawn canvas, in ms.

{site}
"""


def main() -> None:
    """Measure everything, and write the page."""
    load, here = os.getloadavg()[0], environment()
    with chromium() as browser, TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in ("lab", "site")]
        for place in places:
            place.mkdir()
        in_lab, left = of_lab(browser.new_page(viewport={"width": 1400, "height": 1000}), places[0])
        without = of_site(browser.new_page(), places[1])
        text = PAGE.format(
            hardware=f"{here['hardware']['cpu']}, {here['hardware']['cores']} cores",
            python=here["versions"]["python"],
            chromium=browser.version,
            load=load,
            starts=STARTS,
            lab=table(["notebook", "first", "median", "slowest", "round"], in_lab),
            left=left,
            site=table(["piece", "median", "slowest", "moves"], without),
        )
    (ROOT / "docs/latency.md").write_text(text)


if __name__ == "__main__":
    main()
