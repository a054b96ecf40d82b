// Federated training in the page itself: FedAvg with Adam on a small tanh network, which learns notebook 04's curve from its
// values or notebook 05's from its equation.
// Behind canvas.js in one module, for JupyterLab (anywidget) and for a page without a kernel; nothing is loaded.
// The letters are the papers': K clients, p pieces for each, E local steps, theta = (W, b) of every layer, in torch's order.

// ---- the numbers: pure functions, which tests hold against fedlib.train

export const gramacyLee = (z) => (z + 0.5) ** 4 - Math.sin(10 * Math.PI * z) / (2 * z + 3);

// What is known at the points x [n]. The network N is to make c0 N + c1 N' + c2 N'' = f there; c: one [n] for each derivative.
// Of a curve its values, c0 = 1:
export const values = (x) => ({ x, c: [x.map(() => 1)], f: x.map(gramacyLee) });

// Of Poisson's equation -u'' = F on [0, pi] with u = x + b N, b = tanh(x) tanh(pi - x): -(b N)'' = F, f = F.
export function poisson(x) {
    const c = [0, 1, 2].map(() => new Float64Array(x.length));
    x.forEach((at, i) => {
        const t = Math.tanh(at), T = Math.tanh(Math.PI - at), s = 1 - t * t, S = 1 - T * T;  // s = t', S = -T'
        c[0][i] = 2 * (t * T * (s + S) + s * S), c[1][i] = -2 * (s * T - t * S), c[2][i] = -t * T;
    });
    return { x, c, f: x.map((at) => WAVES.reduce((sum, i) => sum + i * Math.sin(i * at), 0)) };
}

const WAVES = [1, 2, 3, 4, 8];
export const poissonSolution = (x) => WAVES.reduce((sum, i) => sum + Math.sin(i * x) / i, x);

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

// tanh of z and, where they are given, its first and second derivatives in x. The loops are plain, for this is where the time goes.
function bent([z, z1, z2]) {
    const [a, a1, a2] = (z1 ? [z, z1, z2] : [z]).map(({ length }) => new Float64Array(length));
    for (let i = 0; i < z.length; i++) {
        a[i] = Math.tanh(z[i]);
        if (z1) a1[i] = (1 - a[i] * a[i]) * z1[i], a2[i] = (1 - a[i] * a[i]) * (z2[i] - 2 * a[i] * z1[i] * z1[i]);
    }
    return z1 ? [a, a1, a2] : [a];
}

// The way back through tanh: delta says what a, a', a'' are to do, and then, in place, what z, z', z'' are.
function straighten({ z: [, z1, z2], a: [a] }, [d, d1, d2]) {
    for (let i = 0; i < a.length; i++) {
        const s = 1 - a[i] * a[i];
        if (d1) {
            d[i] -= 2 * a[i] * z1[i] * d1[i] + 2 * (a[i] * z2[i] + (1 - 3 * a[i] * a[i]) * z1[i] * z1[i]) * d2[i];
            d1[i] = s * (d1[i] - 4 * a[i] * z1[i] * d2[i]), d2[i] *= s;
        }
        d[i] *= s;
    }
}

// W a [n, to] of a layer whose weights begin at ``at``; its biases, which follow, are added to values, not to derivatives.
function affine(theta, at, from, to, a, biased) {
    const n = a.length / from, sums = new Float64Array(n * to);
    for (let i = 0, at_sums = 0; i < n; i++) {
        for (let j = 0, w = at; j < to; j++) {
            let s = biased ? theta[at + from * to + j] : 0;
            for (let k = i * from; k < (i + 1) * from; k++) s += theta[w++] * a[k];
            sums[at_sums++] = s;
        }
    }
    return sums;
}

// The way back: adds to g what delta [n, to] says of W and of the biases, and returns what it says of a.
function back(theta, g, at, from, to, a, delta, biased) {
    const n = a.length / from, sums = new Float64Array(n * from);
    for (let i = 0, at_delta = 0; i < n; i++) {
        for (let j = 0, w = at; j < to; j++) {
            const d = delta[at_delta++];
            if (biased) g[at + from * to + j] += d;
            for (let k = i * from; k < (i + 1) * from; k++, w++) g[w] += d * a[k], sums[k] += d * theta[w];
        }
    }
    return sums;
}

// All layers at the points x [n]: z and a = tanh(z), each with so many derivatives in x. The last a is the network's.
export function forward(theta, widths, x, derivatives = 0) {
    const layers = [{ a: [x, x.map(() => 1), x.map(() => 0)].slice(0, 1 + derivatives) }];
    for (let l = 1, at = 0; l < widths.length; at += widths[l] * (widths[l - 1] + 1), l++) {
        const z = layers[l - 1].a.map((a, order) => affine(theta, at, widths[l - 1], widths[l], a, !order));
        layers.push({ z, a: l === widths.length - 1 ? z : bent(z) });
    }
    return layers;
}

// The network and its derivatives at x.
export const predict = (theta, widths, x, derivatives = 0) => forward(theta, widths, x, derivatives).at(-1).a;

// c0 N + c1 N' + c2 N'' - f at the points of known.
export function residuals(N, { c, f }) {
    return f.map((value, i) => c.reduce((sum, each, order) => sum + each[i] * N[order][i], 0) - value);
}

// Gradient of the mean square of the residuals, by backpropagation.
export function gradient(theta, widths, known) {
    const { x, c } = known, layers = forward(theta, widths, x, c.length - 1), g = new Float64Array(theta.length);
    const r = residuals(layers.at(-1).a, known);
    let delta = c.map((each) => each.map((value, i) => (2 * value * r[i]) / x.length));
    for (let l = widths.length - 1, at = theta.length; l > 0; l--) {
        at -= widths[l] * (widths[l - 1] + 1);
        delta = layers[l - 1].a.map((a, order) => back(theta, g, at, widths[l - 1], widths[l], a, delta[order], !order));
        if (l > 1) straighten(layers[l - 1], delta);
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
export function federation({ known: { x, c, f }, shards, widths, theta, rate, averaging = true }) {
    const own = shards.map((shard) => {
        const [at, values, ...factors] = [x, f, ...c].map((each) => Float64Array.from(shard, (i) => each[i]));
        return { known: { x: at, f: values, c: factors }, theta: theta.slice(), state: moments(theta.length) };
    });
    return { widths, rate, averaging, clients: own, server: theta.slice(), round: 0 };
}

export function localStep(fed) {
    for (const own of fed.clients) adam(own.theta, gradient(own.theta, fed.widths, own.known), own.state, fed.rate);
}

// The end of a round: the server averages, and all clients go on from there.
export function exchange(fed) {
    fed.server = average(fed.clients.map((own) => own.theta), fed.clients.map((own) => own.known.x.length));
    if (fed.averaging) for (const own of fed.clients) own.theta.set(fed.server);
    fed.round++;
}

// ---- what there is to learn

// known: at the clients' points; seen: where the models are looked at. answer: the solution u from the network's N, N', N''.
// start: of the weights. low, high: of u; reach: of the residuals, where they are shown.
// errors: ticks (%).
export const PROBLEMS = {
    curve: {
        known: values(linspace(-1, 1, 100)), seen: values(linspace(-1, 1, 201)), answer: ([N]) => N, truth: gramacyLee,
        widths: [1, 20, 20, 1], start: steep, xticks: [-1, -0.5, 0, 0.5, 1], low: -1.7, high: 5.5, yticks: [-1, 0, 1, 2, 3, 4, 5],
        clients: [2, 3], pieces: [1, 2, 3, 5, 10, 25], rates: [0.001, 0.003, 0.01, 0.03], rate: 0.01, ylabel: "f(x)",
        errors: [0.5, 1, 2, 5, 10, 20, 50, 100],
    },
    Poisson: {
        known: poisson(linspace(0, Math.PI, 32)), seen: poisson(linspace(0, Math.PI, 100)), truth: poissonSolution,
        answer: ([N], { x, c }) => N.map((value, i) => x[i] - c[2][i] * value),
        widths: [1, 20, 20, 20, 1], start: glorot, xticks: [0, 1, 2, 3], low: -1, high: 5, yticks: [0, 1, 2, 3, 4], reach: 20,
        clients: [2], pieces: [1, 2, 3, 4, 5, 8, 16], rates: [0.0003, 0.001, 0.003, 0.01], rate: 0.003, ylabel: "u(x)",
        errors: [0.01, 0.1, 1, 10, 100],
    },
};

// pieces: of each client; they own the line's pieces in turn.
export function begin({ problem = "curve", K = 2, pieces, E, rate, averaging, seed = 1 }) {
    const { known, seen, widths, start, truth } = PROBLEMS[problem], n = known.x.length, all = Array.from(known.x, (_, i) => i);
    const made = (shards) => federation({ known, shards, widths, theta: start(widths, seed), rate, averaging });
    const run = {
        E, problem: PROBLEMS[problem], truth: seen.x.map(truth), fed: made(indexRule(n, K, pieces)), whole: made([all]),
        step: 0, apart: false, history: [],
    };
    look(run);
    return run;
}

// What the models say now; averaged: the round is over, and its errors are kept.
function look(run, averaged = true) {
    const { widths, seen, answer } = run.problem;
    const of = (theta) => {
        const N = predict(theta, widths, seen.x, seen.c.length - 1), u = answer(N, seen);
        return { u, residual: residuals(N, seen), error: 100 * relativeError(u, run.truth) };
    };
    if (!averaged || !run.fed.averaging || !run.fed.round) run.fits = run.fed.clients.map((own) => of(own.theta));
    if (averaged) {
        run.server = of(run.fed.server);
        run.errors = {
            round: run.fed.round, server: run.server.error, clients: run.fits.map(({ error }) => error),
            centralised: of(run.whole.server).error,
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

// ---- the picture

const PACES = ["slow, then fast", "each step", "each round", "fastest"], BEAT = 120, HOLD = 500;  // ms
const STOP = 400;  // rounds after which Play is to be pressed again: nobody looks for ever

const nameOf = (k, { averaging }) => `client ${k + 1}${averaging ? "" : " alone"}`;
const serverOf = ({ averaging }) => (averaging ? "federated" : "their average");

// Left the truth, whose points are whose, and all fits, for an equation its residuals below; right the errors over the rounds.
function paint(canvas, run) {
    const { problem, fed, fits, server, truth } = run, { seen, low, high, xticks, yticks, reach } = problem;
    const more = reach ? 150 : 0, { pen, width, height, wide } = sheet(canvas, 340 + more, 630 + more);  // wide: side by side
    const left = wide ? 0.58 * width - 54 : width - 54, first = [44, 30, left, wide ? 240 : 230], below = [44, first[3] + 78, left, 102];
    const second = wide ? [0.58 * width + 50, 30, 0.42 * width - 62, 240 + more] : [44, 350 + more, width - 54, 190];

    const ends = [xticks[0], seen.x.at(-1)], here = axes(pen, first, ends, [low, high], {
        xlabel: reach ? "" : "x", ylabel: problem.ylabel, xticks, yticks,
    });
    function models(panel, map, what) {
        inside(pen, panel, () => {
            if (run.apart || !fed.averaging) fits.forEach((fit, k) => line(pen, map, seen.x, fit[what], CLIENTS[k], 2, DASHES[k]));
            line(pen, map, seen.x, server[what], COLORS.federated, 2.5);
        });
    }
    inside(pen, first, () => line(pen, here, seen.x, truth, TRUE, 4));
    models(first, here, "u");
    inside(pen, first, () => fed.clients.forEach((own, k) => {  // who owns what: a strip at the bottom
        pen.fillStyle = CLIENTS[k];
        for (const x of own.known.x) pen.fillRect(here.X(x) - 1.5, here.Y(low) - 11, 3, 11);
    }));
    if (reach) {
        const labels = { xlabel: "x", ylabel: "residual -u'' - f", xticks, yticks: [-reach / 2, 0, reach / 2] };
        models(below, axes(pen, below, ends, [-reach, reach], labels), "residual");
    }
    const last = Math.max(20, fed.round), step = last <= 40 ? 10 : 10 ** Math.floor(Math.log10(last / 2));
    const there = axes(pen, second, [0, last], [problem.errors[0], 200], {
        xlabel: "rounds", ylabel: "error (%), relative L2", log: true, yticks: problem.errors,
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

// ---- buttons and sliders in front of it

const ALT = "Left the truth, the points of every client as a strip below it, the clients' fits and the federated one";
const RIGHT = "Right the errors over the rounds, beside a centralised model's, which sees all points.";

function render({ model, el }) {
    const canvas = document.createElement("canvas"), status = document.createElement("p");
    const name = model.get("problem") || "curve", problem = PROBLEMS[name];
    const K = slider("clients K", problem.clients, 2, String, "How many clients learn together.");
    const controls = {
        K, pieces: slider("pieces", problem.pieces, 1, (each) => `${K.value * each}`,
            "Into how many pieces the line is cut, which the clients own in turn; more pieces, more alike."),
        E: slider("local steps E", [1, 2, 5, 10, 20, 50], 20, String, "Steps that each client takes at home before the next average."),
        rate: slider("rate", problem.rates, problem.rate, String, "How far a local step goes."),
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
        const own = run.fits.map(({ error }, k) => `${nameOf(k, run.fed)} ${inPercent(error)}`).join(", ");
        const where = run.apart ? `round ${round + 1}, local step ${run.step} of ${run.E}` : `after ${round} round${round === 1 ? "" : "s"}`;
        status.textContent = `${where}: error of ${own}${run.fed.averaging ? " (before the average)" : ""}, ` +
            `${serverOf(run.fed)} ${inPercent(server)}, centralised ${inPercent(centralised)}`;
        canvas.setAttribute("aria-label", `${ALT}${problem.reach ? ", their residuals below" : ""}. ${RIGHT} Now: ${status.textContent}.`);
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
        run = begin({ problem: name, ...Object.fromEntries(Object.entries(controls).map(([key, c]) => [key, c.value])) });
        show();
        if (playing) toggle();
    }

    K.label.addEventListener("input", () => controls.pieces.put(controls.pieces.index));  // as many for each client
    canvas.setAttribute("role", "img");
    buttons.className = sliders.className = "fed-row", status.className = "fed-said";
    for (const [key, press] of Object.entries(presses)) named[key] = button(key, press);
    buttons.append(...Object.values(named), pace.label);
    for (const control of Object.values(controls)) {
        control.label.addEventListener("input", reset);
        if (control !== K || problem.clients[1]) sliders.append(control.label);
    }
    boxIn(el).append(canvas, buttons, sliders, status);
    reset();
    const watcher = new ResizeObserver(() => show());
    watcher.observe(canvas);
    if (model.get("playing") && !matchMedia("(prefers-reduced-motion: reduce)").matches) toggle();
    return () => (pause(), watcher.disconnect());
}

export default { render };
