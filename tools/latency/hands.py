"""What a reader does on a page with widgets, and how long it takes: run a cell, press keys, play."""

import time
from pathlib import Path

import nbformat

PANEL = "window.jupyterapp.shell.currentWidget"
KERNEL = f"{PANEL}?.context?.sessionContext?.session?.kernel"
PICTURES = "[...document.querySelectorAll('img')].filter(img => img.src.startsWith('blob'))"
ALT = f"{PICTURES}.at(-1).alt"
CONTROLS = "[...document.querySelectorAll('.fed-control')].filter(one => !one.closest('.fed-live'))"
SLIDERS = CONTROLS + ".map(one => one.querySelector('span').textContent)"
MOVE = """(control, step) => {  // to another option, as a key does; false at the end, or where it is disabled
    const [input, ...others] = control.querySelectorAll("input, select"), radio = input.type === "radio";
    const at = radio ? [input, ...others].findIndex(one => one.checked) : +(input.selectedIndex ?? input.value);
    const most = radio ? others.length : input.type === "range" ? +input.max : input.length - 1;
    const to = Math.min(at + step, most);
    if (input.disabled || to < 0 || to === at) return false;
    if (radio) [input, ...others][to].checked = true;
    else input[input.type === "range" ? "value" : "selectedIndex"] = to;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    return true;
}"""

RUN = f"""async ([source, awaited]) => {{  // run a cell; how long until what is awaited is on the page, in ms
    const content = {PANEL}.content, start = performance.now();
    content.activeCell.model.sharedModel.setSource(source);
    await window.jupyterapp.commands.execute("notebook:run-cell");
    while (awaited && !document.querySelector(awaited)) await new Promise(requestAnimationFrame);
    return performance.now() - start;
}}"""
PRESS = f"""async ([place, step]) => {{  // a control moves: how long until the last picture that it makes, in ms
    const image = {PICTURES}.at(-1), times = [];
    const watch = new MutationObserver(() => times.push(performance.now()));
    watch.observe(image, {{ attributes: true }});
    const start = performance.now();
    if (!({MOVE})({CONTROLS}[place], step)) return null;
    while (performance.now() - (times.at(-1) ?? start + 2000) < 700) await new Promise(done => setTimeout(done, 50));
    watch.disconnect();
    return times.length ? times.at(-1) - start : null;
}}"""
MOVES = """(inputs) => {  // every slider through all its places: how long until the picture is another one, in ms
    const canvas = document.querySelector("canvas"), pen = canvas.getContext("2d"), times = [];
    for (const input of document.querySelectorAll(inputs)) {
        for (let value = +input.min; value <= +input.max; value++) {
            const start = performance.now();
            input.value = value;
            input.dispatchEvent(new Event("input", { bubbles: true }));
            pen.getImageData(0, 0, 1, 1);  // what was drawn is there
            times.push(performance.now() - start);
        }
    }
    return times.sort((a, b) => a - b);
}"""


def begin(page, address: str, folder: Path) -> None:
    """Open a notebook of one empty cell in JupyterLab, see ``browser.lab``, and wait for its kernel."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell()])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    nbformat.write(notebook, folder / "one.ipynb")
    page.goto(f"{address}/lab/tree/one.ipynb?token=see&reset")
    page.locator(".jp-CodeCell").first.wait_for(timeout=90_000)
    page.wait_for_function(f"{KERNEL}?.status == 'idle'", timeout=90_000)
    page.wait_for_timeout(2000)  # the active cell


def run(page, source: str, awaited: str = "") -> float:
    """Run a source in the active cell; ms until what a CSS selector finds is there."""
    return page.evaluate(RUN, [source, awaited])


def pressed(page) -> dict[str, float]:
    """Name of each control -> ms from a step to the last picture that it makes; then it is put back."""
    found, steps = {}, (1, -1)
    for place, name in enumerate(page.evaluate(SLIDERS)):
        if name == "pace":  # no picture
            continue
        for step, back in (steps, steps[::-1]):  # one that stands at its end goes back
            if (ms := page.evaluate(PRESS, [place, step])) is not None:
                found[name] = ms
                page.evaluate(PRESS, [place, back])  # or the next one is measured with other settings
                break
    return found


def rounds_a_second(page, seconds: float = 4) -> float:
    """Of a live training at the pace *fastest*."""
    page.evaluate(PRESS.replace("+ 2000", ""), [page.evaluate(SLIDERS).index("pace"), 9])
    number = f"+{ALT}.match(/round (\\d+)/)[1]"
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(1000)  # compiled, warm
    before, start = page.evaluate(number), time.monotonic()
    page.wait_for_timeout(1000 * seconds)
    rounds, took = page.evaluate(number) - before, time.monotonic() - start
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(500)
    return rounds / took
