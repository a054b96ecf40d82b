// Trained networks to question: DeepONets that learnt the antiderivative v -> u in federations and alone (notebook 07).
// Behind canvas.js in one module, for JupyterLab (anywidget) and for a page without a kernel. An input v is given by
// ten Chebyshev coefficients; client 1 was trained on functions with the first n terms, client 2 with the last n.

// ---- the numbers: pure functions, which tests hold against torch and numpy

// sum_j c_j T_j(2 x - 1) on [0, 1], by Clenshaw's recurrence.
export function chebyshev(c, x) {
    return x.map((value) => {
        const z = 2 * value - 1;
        let b1 = 0, b2 = 0;
        for (let j = c.length - 1; j > 0; j--) [b1, b2] = [2 * z * b1 - b2 + c[j], b1];
        return z * b1 - b2 + c[0];
    });
}

// u' = v, u(0) = 0, exactly: the integral of T_j is T_{j+1} / (2 (j + 1)) - T_{j-1} / (2 (j - 1)).
export function antiderivative(c, x) {
    const u = new Float64Array(c.length + 1);
    c.forEach((value, j) => {
        u[j + 1] += value / (j ? 2 * (j + 1) : 1);
        if (j > 1) u[j - 1] -= value / (2 * (j - 1));
    });
    u[0] = -u.reduce((sum, value, j) => sum + (j % 2 ? -value : value), 0);  // T_j(-1) = (-1)^j
    return chebyshev(u, x).map((value) => value / 2);
}

// A fully connected ReLU network: theta from ``at`` on, its inputs x [n * widths[0]] -> [n * last]; ends: ReLU there, too.
export function relu(theta, at, widths, x, ends) {
    for (let l = 1; l < widths.length; l++) {
        const from = widths[l - 1], to = widths[l], n = x.length / from, z = new Float64Array(n * to);
        for (let i = 0; i < n; i++) {
            for (let j = 0; j < to; j++) {
                let s = theta[at + from * to + j];
                for (let k = 0; k < from; k++) s += theta[at + j * from + k] * x[i * from + k];
                z[i * to + j] = ends || l < widths.length - 1 ? Math.max(s, 0) : s;
            }
        }
        x = z, at += (from + 1) * to;
    }
    return x;
}

const count = (widths) => widths.slice(1).reduce((sum, b, i) => sum + b * (widths[i] + 1), 0);

// G(v)(y_j) = <branch(v), trunk(y_j)> + bias; the trunk is evaluated once. Parameters in torch's order: bias first.
export function deeponet(theta, { branch, trunk }, y) {
    const values = relu(theta, 1 + count(branch), trunk, y, true), p = branch[branch.length - 1];
    return (v) => {
        const b = relu(theta, 1, branch, v, false);
        return y.map((_, j) => b.reduce((sum, value, k) => sum + value * values[j * p + k], theta[0]));
    };
}

// ---- the picture

const STYLES = { federated: [COLORS.federated, 2.5, []], "client 1 alone": [CLIENTS[0], 2, DASHES[0]],
    "client 2 alone": [CLIENTS[1], 2, DASHES[1]], centralised: [COLORS.centralised, 2, [9, 4]] };
const LIMITS = [0.1, 0.2, 0.5, 1, 2, 5, 10];

// An axis that a slider changes rarely is easier to read.
function limits(values) {
    const top = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return LIMITS.find((bound) => top <= bound) ?? Math.ceil(top);
}

function frames(width, wide) {
    const each = (width - 3 * 44 - 30) / 3;
    return [0, 1, 2].map((i) => (wide ? [44 + i * (each + 54), 34, each, 200] : [44, 34 + 270 * i, width - 60, 190]));
}

function picture(canvas, { x, c, n, v, truth, said }) {
    const { pen, width, height, wide } = sheet(canvas, 344, 880), [left, middle, right] = frames(width, wide);
    const top = limits(v), first = axes(pen, left, [0, 1], [-top, top], {
        xlabel: "x", ylabel: "input v(x)", xticks: [0, 0.5, 1], yticks: [-top, 0, top],
    });
    line(pen, first, x, v, INK, 2);
    const bars = axes(pen, middle, [-0.7, c.length - 0.3], [-1.6, 1.1], {
        xlabel: "term", ylabel: "drag these bars", xticks: [0, 2, 4, 6, 8], yticks: [-1, 0, 1],
    });
    const wideBar = 0.3 * (bars.X(1) - bars.X(0));
    c.forEach((value, j) => {
        pen.fillStyle = "#767676";
        pen.fillRect(bars.X(j) - wideBar, Math.min(bars.Y(0), bars.Y(value)), 2 * wideBar, Math.abs(bars.Y(value) - bars.Y(0)));
        pen.fillRect(bars.X(j) - 1.4 * wideBar, bars.Y(value) - 2, 2.8 * wideBar, 4);
        [j < n, j >= c.length - n].forEach((known, k) => {
            pen.fillStyle = CLIENTS[k];
            if (known) pen.fillRect(bars.X(j) - 4, bars.Y(-1.25 - 0.2 * k) - 4, 8, 8);
        });
    });
    const bound = limits(truth), second = axes(pen, right, [0, 1], [-bound, bound], {
        xlabel: "x", ylabel: "output u(x)", xticks: [0, 0.5, 1], yticks: [-bound, 0, bound],
    });
    inside(pen, right, () => {
        line(pen, second, x, truth, TRUE, 5);
        for (const { label, u } of said) line(pen, second, x, u, ...STYLES[label]);
    });
    legend(pen, height - 46, width, [[TRUE, 5, [], "truth"], ...said.map(({ label, e }) =>
        [...STYLES[label], `${label}: ${Number.isFinite(e) ? inPercent(e) : "no error exists"}`])]);
    return { frame: middle, bars };
}

// ---- sliders in front of it

const START = [0.5, -0.4, 0.3, 0, 0, 0.6, 0, 0, -0.3, 0];
const SEEN = "Left an input, in the middle how much of each of ten terms it has, and squares under the terms that each client " +
    "knows, right its antiderivative: exact, and as each client alone, both in one place and the federation say it.";
const STEPS = Array.from({ length: 21 }, (_, i) => Math.round(i - 10) / 10);
const MORE = `
.fed-live .fed-many > .fed-control { grid-template-columns: 1.6em 7em 2.4em; flex: 0 0 auto; }
.fed-live canvas.drag { touch-action: pan-y; cursor: ns-resize; }
`;

// data: as of ``packed`` in live.py.
export function answers({ branch, trunk, models }, x) {
    const nets = models.map(({ level, label, step, theta }) => {
        const values = Float64Array.from(new Int16Array(bytes(theta)), (value) => step * value);
        return { level, label, net: deeponet(values, { branch, trunk }, x) };
    });
    return (c, n) => {
        const v = chebyshev(c, x), truth = antiderivative(c, x);
        const said = nets.filter(({ level }) => level === n).map(({ label, net }) => {
            const u = net(v);
            return { label, u, e: 100 * relativeError(u, truth) };
        });
        return { x, c, n, v, truth, said };
    };
}

// What is seen, in a sentence; like ``sentences`` of levels.py.
export function sentence(n, said) {
    const words = said.filter(({ e }) => Number.isFinite(e)).map(({ label, e }, i) => `${label} ${i ? "" : "is off "}by ${inPercent(e)}`);
    if (!words.length) return `n = ${n}: of a function that is 0 no relative error exists.`;
    const together = said.find(({ label }) => label === "federated");
    const better = said.filter(({ label, e }) => label.endsWith("alone") && e < together.e && inPercent(e) !== inPercent(together.e));
    const names = better.map(({ label }) => label).join(" and ");
    return `n = ${n}: ${words.join(", ")}.${names ? ` Here ${names} ${better[1] ? "beat" : "beats"} the federation.` : ""}`;
}

function render({ model, el }) {
    const data = model.get("data"), x = linspace(0, 1, data.branch[0]), ask = answers(data, x), anchor = model.get("anchor");
    const [row, many, status] = ["div", "div", "p"].map((kind) => document.createElement(kind));
    const canvas = document.createElement("canvas");
    const levels = [...new Set(data.models.map(({ level }) => level))];
    const level = slider("terms n", levels, levels.includes(data.start) ? data.start : levels[0], String,
        "Client 1 knows the first n terms, client 2 the last n.");
    const sliders = START.map((value, j) => slider(`T${j}`, STEPS, value, (c) => c.toFixed(1), `How much of term ${j}.`));
    const inputs = {
        "A mixed function": () => START, "Client 1's terms": () => START.map((_, j) => (j < 4 ? [0.5, -0.4, 0.3, 0.6][j] : 0)),
        "Client 2's terms": () => START.map((_, j) => (j > 5 ? [0.5, -0.4, 0.3, 0.6][j - 6] : 0)),
    };
    let drawn, held = null;

    function show() {
        const answer = ask(sliders.map((control) => control.value), level.value);
        drawn = picture(canvas, answer);
        status.textContent = sentence(answer.n, answer.said);
        canvas.setAttribute("aria-label", `${SEEN} ${status.textContent}`);
    }
    function move() {
        show();
        const c = sliders.map((control) => control.value).join(",");
        if (anchor) history.replaceState(null, "", `#${anchor}?n=${level.value}&c=${c}`);
    }
    function read() {  // "#anchor?n=6&c=0.5,...", as move writes it
        const [name, state] = location.hash.slice(1).split("?"), wanted = new URLSearchParams(state);
        if (!anchor || name !== anchor || !state) return;
        const n = levels.map(String).indexOf(wanted.get("n")), c = (wanted.get("c") ?? "").split(",").map(Number);
        if (n >= 0) level.put(n);
        if (c.length === sliders.length && c.every(Number.isFinite)) c.forEach((value, j) => put(sliders[j], value));
        move();
        el.scrollIntoView({ block: "nearest" });
    }
    function put(control, value) {
        control.put(STEPS.reduce((best, step, i) => (Math.abs(step - value) < Math.abs(STEPS[best] - value) ? i : best), 0));
    }
    function drag(event) {
        const at = canvas.getBoundingClientRect(), px = event.clientX - at.left, py = event.clientY - at.top;
        const [left, top, width, height] = drawn.frame;
        if (event.type === "pointerdown") {
            if (px < left || px > left + width || py < top || py > top + height) return;
            held = sliders.reduce((best, _, j) => (Math.abs(drawn.bars.X(j) - px) < Math.abs(drawn.bars.X(best) - px) ? j : best), 0);
            canvas.setPointerCapture(event.pointerId);
        }
        if (held === null) return;
        put(sliders[held], (drawn.bars.Y(0) - py) / (drawn.bars.Y(0) - drawn.bars.Y(1)));
        move();
    }

    canvas.className = "drag";
    row.className = "fed-row", many.className = "fed-row fed-many", status.className = "fed-said", status.setAttribute("aria-live", "polite");
    canvas.setAttribute("role", "img");
    for (const [name, values] of Object.entries(inputs)) {
        row.append(button(name, () => (values().forEach((value, j) => put(sliders[j], value)), move())));
    }
    row.append(level.label);
    many.append(...sliders.map(({ label }) => label));
    for (const { input } of [level, ...sliders]) input.addEventListener("input", move);
    for (const kind of ["pointerdown", "pointermove"]) canvas.addEventListener(kind, drag);
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => (held = null));
    boxIn(el, MORE).append(row, canvas, many, status);
    show(), read();
    addEventListener("hashchange", read);
    const watcher = new ResizeObserver(() => show());
    watcher.observe(canvas);
    return () => (removeEventListener("hashchange", read), watcher.disconnect());
}

export default { render };
