// Federated training in the page itself: FedAvg with Adam on a small tanh network, notebook 04's function on a line.
// Behind canvas.js in one module, for JupyterLab (anywidget) and for a page without a kernel; nothing is loaded.
// The letters are the papers': K clients, p pieces for each, E local steps, theta = (W, b) of every layer, in torch's order.

// ---- the numbers: pure functions, which tests hold against fedlib.train

export const gramacyLee = (z) => (z + 0.5) ** 4 - Math.sin(10 * Math.PI * z) / (2 * z + 3);

// Sorted points in p K pieces; piece i K + j goes to client j, and what is left over is dealt one by one.
export function indexRule(n, K, p) {
    const q = Math.floor(n / (p * K)), shards = Array.from({ length: K }, () => []);
    if (q === 0) throw new RangeError(`${n} points cannot fill ${p} pieces for each of ${K} clients`);
    for (let i = 0; i < n; i++) shards[(i < p * K * q ? Math.floor(i / q) : i - p * K * q) % K].push(i);
    return shards;
}

export const sizeOf = (widths) => widths.slice(1).reduce((sum, b, i) => sum + b * (widths[i] + 1), 0);

// mulberry32: a small generator of uniform numbers in [0, 1), the same in every browser.
export function uniform(seed) {
    let a = seed >>> 0;
    return () => {
        a = (a + 0x6d2b79f5) | 0;
        let t = Math.imul(a ^ (a >>> 15), 1 | a);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

// Glorot uniform weights, zero biases.
export function glorot(widths, seed) {
    const theta = new Float64Array(sizeOf(widths)), draw = uniform(seed);
    for (let l = 1, at = 0; l < widths.length; at += widths[l] * (widths[l - 1] + 1), l++) {
        const bound = Math.sqrt(6 / (widths[l - 1] + widths[l]));
        for (let i = 0; i < widths[l] * widths[l - 1]; i++) theta[at + i] = bound * (2 * draw() - 1);
    }
    return theta;
}

// Like Glorot, but the kinks of the first layer are steep and lie all over [-1, 1]: the waves then come in seconds.
export function steep(widths, seed, slope = 8) {
    const theta = glorot(widths, seed), draw = uniform(seed + 1);
    for (let j = 0; j < widths[1]; j++) {
        theta[j] = slope * (0.5 + draw()) * (draw() < 0.5 ? -1 : 1);
        theta[widths[1] + j] = theta[j] * (2 * draw() - 1);
    }
    return theta;
}

// Activations of all layers for the points x [n]: the last ones are the network's values.
export function forward(theta, widths, x) {
    const n = x.length, layers = [x];
    for (let l = 1, at = 0; l < widths.length; l++) {
        const from = widths[l - 1], to = widths[l], a = layers[l - 1], z = new Float64Array(n * to);
        const b = at + from * to, last = l === widths.length - 1;
        for (let i = 0; i < n; i++) {
            for (let j = 0; j < to; j++) {
                let s = theta[b + j];
                for (let k = 0; k < from; k++) s += theta[at + j * from + k] * a[i * from + k];
                z[i * to + j] = last ? s : Math.tanh(s);
            }
        }
        layers.push(z);
        at = b + to;
    }
    return layers;
}

export const predict = (theta, widths, x) => forward(theta, widths, x)[widths.length - 1];

// Gradient of (1/n) sum (N(x_i) - f_i)^2, by backpropagation.
export function gradient(theta, widths, x, f) {
    const layers = forward(theta, widths, x), n = x.length, g = new Float64Array(theta.length);
    let delta = layers[widths.length - 1].map((value, i) => (2 * (value - f[i])) / n);
    for (let l = widths.length - 1, end = theta.length; l > 0; l--) {
        const from = widths[l - 1], to = widths[l], a = layers[l - 1], back = new Float64Array(n * from);
        const b = end - to, at = b - from * to;
        for (let i = 0; i < n; i++) {
            for (let j = 0; j < to; j++) {
                const d = delta[i * to + j];
                g[b + j] += d;
                for (let k = 0; k < from; k++) {
                    g[at + j * from + k] += d * a[i * from + k];
                    back[i * from + k] += d * theta[at + j * from + k];
                }
            }
        }
        if (l > 1) for (let i = 0; i < back.length; i++) back[i] *= 1 - a[i] * a[i];
        delta = back;
        end = at;
    }
    return g;
}

export const moments = (P) => ({ m: new Float64Array(P), v: new Float64Array(P), t: 0 });

// One step of Adam, in place.
export function adam(theta, g, state, rate, beta1 = 0.9, beta2 = 0.999, eps = 1e-8) {
    const { m, v } = state, t = ++state.t;
    const first = -Math.expm1(t * Math.log(beta1)), root = Math.sqrt(-Math.expm1(t * Math.log(beta2)));
    for (let i = 0; i < theta.length; i++) {
        m[i] += (1 - beta1) * (g[i] - m[i]);
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        theta[i] -= (rate * (m[i] / first)) / (Math.sqrt(v[i]) / root + eps);
    }
}

// sum_k p_k theta_k with p_k = n_k / n: the server's average.
export function average(thetas, sizes) {
    const n = sizes.reduce((a, b) => a + b), mean = new Float64Array(thetas[0].length);
    thetas.forEach((theta, k) => theta.forEach((value, i) => (mean[i] += (sizes[k] / n) * value)));
    return mean;
}

// A federation before its first round. averaging false: nobody talks to anybody.
export function federation({ x, f, shards, widths, theta, rate, averaging = true }) {
    const own = shards.map((shard) => ({
        x: Float64Array.from(shard, (i) => x[i]), f: Float64Array.from(shard, (i) => f[i]),
        theta: theta.slice(), state: moments(theta.length),
    }));
    return { widths, rate, averaging, clients: own, server: theta.slice(), round: 0 };
}

export function localStep(fed) {
    for (const own of fed.clients) adam(own.theta, gradient(own.theta, fed.widths, own.x, own.f), own.state, fed.rate);
}

// The end of a round: the server averages, and all clients go on from there.
export function exchange(fed) {
    fed.server = average(fed.clients.map((own) => own.theta), fed.clients.map((own) => own.x.length));
    if (fed.averaging) for (const own of fed.clients) own.theta.set(fed.server);
    fed.round++;
}

// ---- the picture

const WIDTHS = [1, 20, 20, 1], POINTS = 100, GRID = linspace(-1, 1, 201), TRUTH = GRID.map(gramacyLee);
const PACES = ["slow, then fast", "each step", "each round", "fastest"], BEAT = 120, HOLD = 500;  // ms
const STOP = 400;  // rounds after which Play is to be pressed again: nobody looks for ever

const nameOf = (k, { averaging }) => `client ${k + 1}${averaging ? "" : " alone"}`;
const serverOf = ({ averaging }) => (averaging ? "federated" : "their average");

// Left the function, whose points are whose, and all fits; right the errors over the rounds. wide: side by side.
function paint(canvas, run) {
    const { pen, width, height, wide } = sheet(canvas, 340, 630);
    const first = wide ? [44, 30, 0.58 * width - 54, 240] : [44, 30, width - 54, 230];
    const second = wide ? [0.58 * width + 50, 30, 0.42 * width - 62, 240] : [44, 350, width - 54, 190];

    const { fed, fits, server } = run, here = axes(pen, first, [-1, 1], [-1.7, 5.5], {
        xlabel: "x", ylabel: "f(x)", xticks: [-1, -0.5, 0, 0.5, 1], yticks: [-1, 0, 1, 2, 3, 4, 5],
    });
    inside(pen, first, () => {
        line(pen, here, GRID, TRUTH, TRUE, 4);
        if (run.apart || !fed.averaging) {
            fits.forEach((fit, k) => line(pen, here, GRID, fit, CLIENTS[k], 2, DASHES[k]));
        }
        line(pen, here, GRID, server, COLORS.federated, 2.5);
        fed.clients.forEach((own, k) => {  // who owns what: a strip at the bottom
            pen.fillStyle = CLIENTS[k];
            for (const x of own.x) pen.fillRect(here.X(x) - 1.5, here.Y(-1.7) - 11, 3, 11);
        });
    });
    const last = Math.max(20, fed.round), step = last <= 40 ? 10 : 10 ** Math.floor(Math.log10(last / 2));
    const there = axes(pen, second, [0, last], [1, 200], {
        xlabel: "rounds", ylabel: "error (%), relative L2", log: true, yticks: [1, 2, 5, 10, 20, 50, 100],
        xticks: Array.from({ length: 1 + Math.floor(last / step) }, (_, i) => i * step).filter((x, _, all) =>
            all.length < 7 || (x / step) % Math.ceil(all.length / 6) === 0),
    });
    inside(pen, second, () => {
        const rounds = run.history.map((h) => h.round);
        fits.forEach((_, k) => line(pen, there, rounds, run.history.map((h) => h.clients[k]), CLIENTS[k], 1.5, DASHES[k]));
        line(pen, there, rounds, run.history.map((h) => h.centralised), COLORS.centralised, 2, [12, 3]);
        line(pen, there, rounds, run.history.map((h) => h.server), COLORS.federated, 2.5);
    });
    legend(pen, height - 12, width, [
        [TRUE, 4, [], "truth"], ...fits.map((_, k) => [CLIENTS[k], 2, DASHES[k], nameOf(k, fed)]),
        [COLORS.federated, 2.5, [], serverOf(fed)], [COLORS.centralised, 2, [12, 3], "centralised"],
    ]);
}

// ---- the training that is looked at

// pieces: of each client; they own the line's pieces in turn.
export function begin({ K, pieces, E, rate, averaging, seed = 1 }) {
    const x = linspace(-1, 1, POINTS), f = x.map(gramacyLee), all = Array.from(x, (_, i) => i);
    const made = (shards) => federation({ x, f, shards, widths: WIDTHS, theta: steep(WIDTHS, seed), rate, averaging });
    const run = { E, fed: made(indexRule(POINTS, K, pieces)), whole: made([all]), step: 0, apart: false, history: [] };
    look(run);
    return run;
}

// What the models say now; averaged: the round is over, and its errors are kept.
function look(run, averaged = true) {
    const values = (theta) => predict(theta, WIDTHS, GRID), error = (fit) => 100 * relativeError(fit, TRUTH);
    if (!averaged || !run.fed.averaging || !run.fed.round) run.fits = run.fed.clients.map((own) => values(own.theta));
    run.off = run.fits.map(error);
    if (averaged) {
        run.server = values(run.fed.server);
        run.errors = {
            round: run.fed.round, server: error(run.server), clients: run.off,
            centralised: error(values(run.whole.server)),
        };
        run.history.push(run.errors);
        if (run.history.length > 600) run.history = run.history.filter((_, i) => i % 2 === 0);
    }
    run.apart = !averaged;
}

// One local step of everybody; true when the round's local steps are done and the average is due.
export function advance(run, watched = true) {
    localStep(run.fed), localStep(run.whole);
    run.step++;
    if (watched || run.step === run.E) look(run, false);
    return run.step === run.E;
}

export function snap(run) {
    exchange(run.fed), exchange(run.whole);
    run.step = 0;
    look(run);
}

export function oneRound(run) {
    while (!advance(run, false));
    snap(run);
}

// ---- buttons and sliders in front of it

const ALT = "Left the function, the points of every client as a strip below it, the clients' fits and the " +
    "federated one. Right the errors over the rounds, beside a centralised model's, which sees all points.";

function render({ model, el }) {
    const canvas = document.createElement("canvas"), status = document.createElement("p");
    const K = slider("clients K", [2, 3], 2, String, "How many clients learn together.");
    const controls = {
        K, pieces: slider("pieces", [1, 2, 3, 5, 10, 25], 1, (each) => `${K.value * each}`,
            "Into how many pieces the line is cut, which the clients own in turn; more pieces, more alike."),
        E: slider("local steps E", [1, 2, 5, 10, 20, 50], 20, String, "Steps that each client takes at home before the next average."),
        rate: slider("rate", [0.001, 0.003, 0.01, 0.03], 0.01, String, "How far a local step goes."),
        averaging: pick("buttons", "server", [true, false], true, (yes) => (yes ? "averages" : "does nothing"),
            "Whether the server averages at the end of a round. It acts at the next average."),
    };
    const pace = pick("list", "pace", PACES, PACES[0], String, "How much of a round is shown."), sliders = document.createElement("div");
    const buttons = document.createElement("div"), named = {};
    const presses = { Play: toggle, "Step one round": () => (pause(), finish()), Reset: reset };
    let run, frame = 0, due = 0;

    function show() {
        paint(canvas, run);
        const { round, server, centralised } = run.errors;
        const own = run.off.map((e, k) => `${nameOf(k, run.fed)} ${inPercent(e)}`).join(", ");
        const where = run.apart ? `round ${round + 1}, local step ${run.step} of ${run.E}` : `after ${round} round${round === 1 ? "" : "s"}`;
        status.textContent = `${where}: error of ${own}${run.fed.averaging ? " (before the average)" : ""}, ` +
            `${serverOf(run.fed)} ${inPercent(server)}, centralised ${inPercent(centralised)}`;
        canvas.setAttribute("aria-label", `${ALT} Now: ${status.textContent}.`);
    }
    function finish() {
        while (run.step < run.E) advance(run, run.step === run.E - 1);
        snap(run), show();
    }
    function tick(now) {
        frame = requestAnimationFrame(tick);
        if (now < due) return;
        const story = run.fed.round < 2 ? 0 : run.fed.round < 5 ? 1 : 2;  // rounds 1 and 2 step by step, 3 to 5 one by one
        const kind = pace.value === PACES[0] ? story : PACES.indexOf(pace.value) - 1;
        if (kind === 0 && run.step < run.E) {
            due = now + (advance(run) ? HOLD : Math.min(40, 800 / run.E));
        } else if (kind === 0 || (kind === 1 && run.step === run.E)) {
            snap(run);
            due = now + (kind ? BEAT : HOLD);
        } else if (kind === 1) {
            while (!advance(run, false));
            due = now + BEAT;
        } else {
            const end = performance.now() + 30;
            do {
                while (run.step < run.E) advance(run, false);
                snap(run);
            } while (run.fed.round % STOP && performance.now() < end);
        }
        show();
        if (!run.step && run.fed.round % STOP === 0) pause();
    }
    function pause() {
        cancelAnimationFrame(frame);
        frame = 0, named.Play.textContent = "Play", status.setAttribute("aria-live", "polite");
    }
    function toggle() {
        if (frame) return pause();
        status.setAttribute("aria-live", "off");  // nobody wants to hear every round
        named.Play.textContent = "Pause", due = 0, frame = requestAnimationFrame(tick);
    }
    function reset() {
        const playing = frame !== 0;
        pause();
        run = begin(Object.fromEntries(Object.entries(controls).map(([name, c]) => [name, c.value])));
        show();
        if (playing) toggle();
    }

    K.label.addEventListener("input", () => controls.pieces.put(controls.pieces.index));  // as many for each client
    canvas.setAttribute("role", "img");
    buttons.className = sliders.className = "fed-row", status.className = "fed-said";
    for (const [name, press] of Object.entries(presses)) named[name] = button(name, press);
    buttons.append(...Object.values(named), pace.label);
    for (const control of Object.values(controls)) {
        control.label.addEventListener("input", reset);
        sliders.append(control.label);
    }
    boxIn(el).append(buttons, sliders, canvas, status);
    reset();
    const watcher = new ResizeObserver(() => show());
    watcher.observe(canvas);
    if (model.get("playing")) {
        requestAnimationFrame(() => el.scrollIntoView({ block: "nearest" }));
        if (!matchMedia("(prefers-reduced-motion: reduce)").matches) toggle();
    }
    return () => (pause(), watcher.disconnect());
}

export default { render };
