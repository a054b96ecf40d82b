// What every piece without a kernel begins with, behind the controls (controls.js): white paper, axes, lines, a legend.

const COLORS = { federated: "#0072B2", centralised: "#009E73" };  // as fedlib/notebook/style.py
const CLIENTS = ["#882E72", "#663300", "#5522DD", "#224422", "#CC00FF"], DASHES = [[7, 4], [2, 3], [9, 3, 2, 3]];
const INK = "#222222", TRUE = "#808080", FAINT = "#d0d0d0", FONT = "13px system-ui, sans-serif";

export const linspace = (a, b, n) => Float64Array.from({ length: n }, (_, i) => a + ((b - a) * i) / (n - 1));

// The bytes of an array, (dtype, base64), of modules.py.
export const bytes = ([, base64]) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer;

export function relativeError(values, truth) {
    let gap = 0, size = 0;
    truth.forEach((t, i) => { gap += (values[i] - t) ** 2; size += t * t; });
    return Math.sqrt(gap / size);
}

// As in_percent of fedlib/numerics/metrics.py.
export function inPercent(e) {
    if (!(e >= 0 && e < Infinity)) return "-";
    if (e < 1e-4) return "below 0.0001 %";
    const [digits, power] = e.toExponential(1).split("e");
    const [whole, ...rest] = Number(`${digits}e${power}`).toFixed(Math.max(0, 1 - power)).split(".");
    return `${[whole.replace(/\B(?=(\d{3})+$)/g, " "), ...rest].join(".")} %`;
}

// A white sheet as wide as the page allows, as high as it needs: panels side by side (wide) or one above the other.
function sheet(canvas, high, higher) {
    const width = canvas.clientWidth || 760, wide = width > 560, height = wide ? high : higher;
    const ratio = (globalThis.devicePixelRatio || 1) * (canvas.currentCSSZoom || 1), pen = canvas.getContext("2d");
    canvas.style.height = `${height}px`;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio), canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = "#ffffff", pen.fillRect(0, 0, width, height);
    return { pen, width, height, wide };
}

// Axes in a rectangle of the canvas: maps data to pixels, draws ticks and labels. words: of a tick of y.
function axes(pen, [left, top, width, height], [x0, x1], [y0, y1], labels) {
    const { xlabel, ylabel, xticks, yticks, log = false, xlog = false, words = String } = labels;
    const [along, up] = [xlog, log].map((yes) => (yes ? Math.log10 : (v) => v));
    const X = (x) => left + (width * (along(x) - along(x0))) / (along(x1) - along(x0));
    const Y = (y) => top + height * (1 - (up(y) - up(y0)) / (up(y1) - up(y0)));
    pen.font = FONT;
    pen.lineWidth = 1;
    pen.setLineDash([]);
    for (const y of yticks) {
        pen.strokeStyle = FAINT;
        pen.beginPath(), pen.moveTo(left, Y(y)), pen.lineTo(left + width, Y(y)), pen.stroke();
        pen.fillStyle = INK, pen.textAlign = "right", pen.textBaseline = "middle", pen.fillText(words(y), left - 6, Y(y));
    }
    pen.strokeStyle = INK;
    pen.beginPath(), pen.moveTo(left, top), pen.lineTo(left, top + height), pen.lineTo(left + width, top + height);
    pen.stroke();
    pen.textAlign = "center", pen.textBaseline = "top";
    for (let i = 0, end = -Infinity; i < xticks.length; i++) {  // those that do not touch the one before
        const half = pen.measureText(xticks[i]).width / 2, middle = X(xticks[i]);
        if (middle - half > end) pen.fillText(xticks[i], middle, top + height + 5), (end = middle + half + 5);
    }
    pen.fillText(xlabel, left + width / 2, top + height + 22);
    pen.textAlign = "left", pen.textBaseline = "bottom", pen.fillText(ylabel, left - 34, top - 8);
    return { X, Y };
}

function line(pen, { X, Y }, xs, ys, color, width = 2, dash = []) {
    pen.strokeStyle = color, pen.lineWidth = width, pen.lineJoin = "round";
    pen.setLineDash(dash);
    pen.beginPath();
    ys.forEach((y, i) => pen[i ? "lineTo" : "moveTo"](X(xs[i]), Y(y)));
    pen.stroke();
    pen.setLineDash([]);
}

function inside(pen, [left, top, width, height], draw) {
    pen.save();
    pen.beginPath(), pen.rect(left, top, width, height), pen.clip();
    draw();
    pen.restore();
}

// Rows of entries, the last one at y. thick 0: a ring, and no line.
function legend(pen, y, width, entries) {
    let x = 12, row = 0;
    pen.font = FONT, pen.textAlign = "left", pen.textBaseline = "middle";
    const placed = entries.map((entry) => {
        const long = 34 + pen.measureText(entry[3]).width + 16;
        if (x + long > width) (x = 12), row++;
        x += long;
        return [x - long, row, ...entry];
    });
    for (const [left, down, color, thick, dash, text] of placed) {
        const middle = y + 20 * (down - row);
        if (thick) line(pen, { X: (v) => v, Y: () => middle }, [left, left + 28], [0, 0], color, thick, dash);
        else ring(pen, left + 14, middle, color);
        pen.fillStyle = INK, pen.fillText(text, left + 34, middle);
    }
}

function disc(pen, x, y, radius, color) {
    pen.fillStyle = color;
    pen.beginPath(), pen.arc(x, y, radius, 0, 2 * Math.PI), pen.fill();
}

function ring(pen, x, y, color) {
    pen.strokeStyle = color, pen.lineWidth = 2;
    pen.beginPath(), pen.arc(x, y, 5, 0, 2 * Math.PI), pen.stroke();
}

// ---- the box with its controls

const STYLE = `
.fed-live { background: #ffffff; color: #222222; border: 1px solid #767676; border-radius: 6px; padding: 12px;
    max-width: 800px; margin-bottom: 16px; font: 14px/1.4 system-ui, sans-serif; }
.fed-live canvas { display: block; width: 100%; }
.fed-live .fed-row { display: flex; flex-wrap: wrap; gap: 6px 14px; margin: 8px 0; align-items: center; }
.fed-live .fed-row > .fed-control { flex: 1 1 17em; max-width: 26em; }
.fed-live button { font: inherit; color: #ffffff; background: #005a8c; border: 0; border-radius: 4px; padding: 5px 14px; }
.fed-live button:focus-visible { outline: 3px solid #D55E00; outline-offset: 2px; }
.fed-live .fed-said { margin: 6px 0 0; min-height: 2.8em; }
`;

// The box of a piece in el.
function boxIn(el, more = "") {
    const box = document.createElement("div"), style = document.createElement("style");
    style.textContent = CONTROLS + STYLE + more, box.className = "fed-live";
    box.append(style);
    el.append(box);
    return box;
}

function button(name, press) {
    const made = control("button", { type: "button", textContent: name });
    made.addEventListener("click", press);
    return made;
}

// A canvas with a control for each of data.controls (a slider, or of the kind that it names) and a sentence below it, for
// JupyterLab scrolls a piece's foot into sight, not its head. data.alt: what the picture is, before the sentence.
// paint(canvas, data, chosen) draws at the numbers of the controls' values, and returns the strip on which the first one can
// be dragged, too. sentence(data, chosen): what is seen.
function withSliders({ model, el }, data, paint, sentence) {
    const row = document.createElement("div"), status = document.createElement("p"), canvas = document.createElement("canvas");
    const controls = data.controls.map(({ kind = "slider", name, label = name, options, start }) =>
        pick(kind, label, options, options[start]));
    let strip, held = false;

    function show() {
        const chosen = controls.map((control) => control.index);
        strip = paint(canvas, data, chosen);
        status.textContent = sentence(data, chosen);
        canvas.setAttribute("aria-label", [data.alt, status.textContent].filter(Boolean).join(" "));
    }
    function move() {
        show();
        const values = new URLSearchParams(controls.map((control, i) => [data.controls[i].name, control.value]));
        if (model.get("anchor")) history.replaceState(null, "", `#${model.get("anchor")}?${values}`);
    }
    function read() {  // "#anchor?pieces=8", as move writes it
        const [anchor, state] = location.hash.slice(1).split("?"), wanted = new URLSearchParams(state);
        if (!anchor || !state || anchor !== model.get("anchor")) return;
        data.controls.forEach(({ name, options, start }, i) => {
            const value = wanted.get(name), index = options.findIndex((option) =>
                value === String(option) || (value && Number(value) === option));  // "2.0", too
            controls[i].put(index < 0 ? start : index);
        });
        move();  // the address of what is shown, where it names what there is not
        el.scrollIntoView({ block: "nearest" });
    }
    function point(event) {
        const place = canvas.getBoundingClientRect(), shrunk = canvas.clientWidth / place.width;
        const px = (event.clientX - place.left) * shrunk, py = (event.clientY - place.top) * shrunk;
        if (event.type === "pointerdown") {
            held = px > strip.left && px < strip.right && py > strip.top && py < strip.bottom;
            if (held) canvas.setPointerCapture(event.pointerId);
        }
        if (!held) return;
        const gaps = strip.levels.map((level) => Math.abs(strip.X(level) - px)), nearest = gaps.indexOf(Math.min(...gaps));
        if (nearest !== controls[0].index) controls[0].put(nearest), move();
    }

    row.className = "fed-row", status.className = "fed-said", status.setAttribute("aria-live", "polite");
    canvas.setAttribute("role", "img"), canvas.style.touchAction = "pan-y";
    row.append(...controls.map(({ label }) => label));
    for (const { label } of controls) label.addEventListener("input", move);
    for (const kind of ["pointerdown", "pointermove"]) canvas.addEventListener(kind, point);
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => (held = false));
    boxIn(el).append(canvas, row, status);
    show(), read();
    addEventListener("hashchange", read);
    const watcher = new ResizeObserver(show);
    watcher.observe(canvas);
    return () => (removeEventListener("hashchange", read), watcher.disconnect());
}

