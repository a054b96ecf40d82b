"""What runs just now, in a line at the foot of the notebook: *Run All* leaves its reader at the last cell."""

import os
from pathlib import Path

import anywidget
import traitlets
from IPython import get_ipython
from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult
from IPython.display import display

from ..trainings.settings import cells_of


class Line(anywidget.AnyWidget):
    """The line: what runs and for how long, and a way back to the first page. It has room of its own below the cells.

    What is done at once is not told, nor is the end of cells that a reader ran one by one or up to some place, whose
    end is seen: only that of all, when the notebook's last cell is done, and it leaves again.

    now: cell, "5 Levels (cell 12 of 53)"; last: whether no code follows; state: "runs", "done" or "failed".
    """

    _esm = """
    export default { render({ model, el }) {
        const line = document.createElement("div"), cell = document.createElement("span");
        const clock = document.createElement("span"), back = document.createElement("button");
        let first = 0, last = 0, ended = 0;  // when cells began to run in a row, this one did, the last one ended
        let cells = 0, failed = false, timer = 0, pages = null;
        line.style.cssText = "position: absolute; bottom: 12px; left: 28px; z-index: 10; max-width: 90%; display: none;"
            + "padding: 6px 12px; border: 1px solid #0072B2; border-radius: 4px;"
            + "background: var(--jp-layout-color1, #fff);"
            + "color: var(--jp-ui-font-color1, #000); font: 14px/1.4 var(--jp-ui-font-family, sans-serif)";
        back.style.cssText = "margin-left: 12px; font: inherit";
        back.textContent = "Back to the first page";
        back.onclick = () => {
            pages.scrollTop = 0;
            if (model.get("now").state !== "runs") stop();
        };
        cell.setAttribute("role", "status");
        line.append(cell, clock, back);
        const seconds = (from, to) => `${Math.round((to - from) / 1000)} s`;
        function tell() {
            const { cell: name, last: end, state } = model.get("now"), time = performance.now();
            const words = { runs: `Running: ${name}`, failed: `Stopped: ${name}`, done: "All cells are done" }[state];
            if (state === "done" && time - ended < 1000) return;  // the next cell begins
            const several = cells > 1, runs = state === "runs";
            const long = (runs ? time : ended) - first > (runs && several ? 1000 : 5000);
            const told = several && (state === "failed" || (long && end));
            if (!runs && (!told || time - ended > 8000)) return stop();
            if (cell.textContent !== words) cell.textContent = words;
            clock.textContent = runs ? `, ${seconds(last, time)}` : `, ${seconds(first, ended)} in all`;
            show(long || !runs);
        }
        function show(shown) {
            line.style.display = shown ? "" : "none";
            if (pages) pages.style.height = shown ? `calc(100% - ${line.offsetHeight + 18}px)` : "";
        }
        function stop() {
            clearInterval(timer);
            show(false);
            timer = first = 0;
        }
        function follow() {
            const time = performance.now();
            const notebook = el.closest(".jp-NotebookPanel");
            notebook?.append(line);
            pages = notebook?.querySelector(".jp-WindowedPanel-outer");
            if (model.get("now").state === "runs") {
                if (!first || failed || time - ended > 1000) [first, cells] = [time, 0];  // a failure ends a row
                [last, cells] = [time, cells + 1];
                timer ||= setInterval(tell, 500);
            } else ended = time;
            failed = model.get("now").state === "failed";
        }
        model.on("change:now", follow);
        model.on("comm_live_update", stop);  // the kernel is gone, and can say nothing more
        return () => (stop(), line.remove());
    } };
    """
    now = traitlets.Dict({"cell": "", "last": False, "state": "done"}).tag(sync=True)


def show() -> None:
    """Display the line, which follows the cells of this kernel from now on; outside of a notebook, nothing."""
    if not hasattr(shell := get_ipython(), "kernel"):
        return
    line = Line()

    def before(info: ExecutionInfo):
        line.now = {**place(info), "state": "runs"}

    def after(result: ExecutionResult):
        line.now = line.now | {"state": "done" if result.success else "failed"}

    for event, act in (("pre_run_cell", before), ("post_run_cell", after)):
        for old in [act for act in shell.events.callbacks[event] if act.__module__ == __name__]:
            shell.events.unregister(event, old)  # of a line that was shown before
        shell.events.register(event, act)
    display(line._repr_mimebundle_()[0] | {"text/plain": ""}, raw=True)


def place(info: ExecutionInfo) -> dict:
    """Where a cell stands in the notebook as it was saved: its section and number, and whether it is the last one with
    code; of a cell typed since, its first line."""
    path = Path(os.environ.get("JPY_SESSION_NAME", ""))  # Jupyter tells its kernels which notebook they are of
    cells = cells_of(path) if path.suffix == ".ipynb" and path.exists() else []
    section = ""
    for number, cell in enumerate(cells, 1):
        if cell["cell_type"] == "markdown":
            headings = [line.lstrip("# ") for line in "".join(cell["source"]).splitlines() if line.startswith("#")]
            section = [section, *headings][-1]
        elif cell.get("id") == info.cell_id:
            last = all(later["cell_type"] == "markdown" for later in cells[number:])
            return {"cell": f"{section} (cell {number} of {len(cells)})", "last": last}
    return {"cell": info.raw_cell.strip().partition("\n")[0], "last": False}
