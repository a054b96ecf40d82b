// A piece to explore: the curves that models give at a level, and beside them the error against the level.
// Behind canvas.js in one module, for JupyterLab (anywidget) and for a page without a kernel; levels.py packs the data.

// ---- the numbers

// curve(state, m): values of model m [x]; error(state, m): of all seeds (%), NaN where there is none. A state is the
// number of a combination of the controls' values, the last one counting fastest. truth(state): of all, or its own.
// half(state, m), truthHalf(state): half the width of a band around the curve, around the truth, if there are any.
export function unpacked(data) {
    const [q, errors, x, truth] = [new Int16Array(bytes(data.curves)), ...["errors", "x", "truth"].map((name) =>
        Float64Array.from(new Float32Array(bytes(data[name]))))];
    const [half, truthHalf] = ["half", "truth_half"].map((name) => data[name] && new Float32Array(bytes(data[name])));
    const shown = data.models.filter(({ curve }) => curve).length, { seeds, models, zero, step } = data;
    return {
        ...data, x, errors,
        truth: (state) => (truth.length > x.length ? truth.subarray(state * x.length, (state + 1) * x.length) : truth),
        curve: (state, m) => Float64Array.from(q.subarray((state * shown + m) * x.length).subarray(0, x.length),
            (value) => zero + step * value),
        half: half && ((state, m) => half.subarray((state * shown + m) * x.length).subarray(0, x.length)),
        truthHalf: truthHalf && ((state) => truthHalf.subarray(state * x.length).subarray(0, x.length)),
        error: (state, m) => errors.slice((state * models.length + m) * seeds).slice(0, seeds),
    };
}

export const stateOf = (controls, chosen) => chosen.reduce((state, at, i) => state * controls[i].options.length + at, 0);

export function median(values) {
    const sorted = values.filter(Number.isFinite).sort(), n = sorted.length;
    return n ? (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2 : NaN;
}

// About five round numbers between two others.
export function round(low, high) {
    const rough = (high - low) / 5, ten = 10 ** Math.floor(Math.log10(rough)), ticks = [];
    const step = ten * [1, 2, 5, 10].find((digit) => digit * ten >= rough), first = Math.ceil(low / step);
    for (let i = first; i * step <= high; i++) ticks.push(+(i * step).toPrecision(6));
    return ticks;
}

// About five powers of ten between two numbers; with 2 and 5 where these are few, and round numbers between neighbours.
export function powers(low, high) {
    if (!(low > 0 && high < Infinity)) return [];
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))], ticks = [];
    const every = Math.ceil((last - first) / 6), digits = last - first > 3 ? [1] : [1, 2, 5];
    for (let e = first; e <= last; e++) if (e % every === 0) ticks.push(...digits.map((d) => +`${d}e${e}`));
    const inner = ticks.filter((tick) => tick >= low && tick <= high);
    return inner.length > 1 ? inner : round(low, high);
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
export function inWords(tick) {
    if (tick >= 1e-3 && tick < 1e4) return String(tick);
    const [digits, power] = tick.toExponential().replace("e+", "e").replace("-", "⁻").split("e");
    return `${digits === "1" ? "" : `${digits}·`}10${power.replace(/\d/g, (digit) => RAISED[digit])}`;
}

// ---- the picture

function fill(pen, { X, Y }, xs, lows, highs) {
    pen.beginPath();
    xs.forEach((value, i) => pen.lineTo(X(value), Y(highs[i])));
    for (let i = xs.length - 1; i >= 0; i--) pen.lineTo(X(xs[i]), Y(lows[i]));
    pen.fill();
}

function paint(canvas, data, chosen) {
    const { x, models, controls, limits } = data, [level] = controls, state = stateOf(controls, chosen);
    const seen = innerHeight / (canvas.currentCSSZoom || 1);  // so that slider and sentence are seen with the picture
    const high = Math.max(300, Math.min(0.42 * canvas.clientWidth, 0.33 * seen)), { pen, width, height, wide } = sheet(canvas, high, 650);
    const first = wide ? [44, 30, 0.56 * width - 60, height - 110] : [44, 30, width - 56, 220];
    const second = wide ? [0.56 * width + 48, 30, 0.44 * width - 64, height - 110] : [52, 340, width - 64, 190];
    const style = models.map(({ color, client }) => [color, 2, client < 0 ? [] : DASHES[client % DASHES.length]]);

    const [x0, x1] = [x[0], x.at(-1)], here = axes(pen, first, [x0, x1], limits, {
        xlabel: data.xlabel, ylabel: data.ylabel, xticks: round(x0, x1), yticks: round(...limits),
    });
    inside(pen, first, () => {
        pen.globalAlpha = 0.15;
        const whose = data.owners[chosen[0]], middle = (i) => (x[i - 1] + x[i]) / 2;
        for (let from = 0, i = 1; whose && i <= x.length; i++) {
            if (i < x.length && whose[i] === whose[from]) continue;
            const [a, b] = [from ? middle(from) : x0, i < x.length ? middle(i) : x1].map(here.X);
            pen.fillStyle = CLIENTS[whose[from] % CLIENTS.length], pen.fillRect(a, first[1], b - a, first[3]);
            from = i;
        }
        pen.globalAlpha = 0.25, line(pen, here, x, data.truth(state), "#000000", 5), pen.globalAlpha = 1;
        const edge = (values, half, side) => values.map((value, i) => value + side * half[i]);
        models.forEach(({ curve, color }, m) => {
            if (!data.half || !curve || !(data.error(state, m)[0] >= 0)) return;
            const [values, half] = [data.curve(state, m), data.half(state, m)];
            pen.globalAlpha = 0.3, pen.fillStyle = color;
            fill(pen, here, x, edge(values, half, -1), edge(values, half, 1)), pen.globalAlpha = 1;
        });
        for (const side of data.truthHalf ? [-1, 1] : []) {
            line(pen, here, x, edge(data.truth(state), data.truthHalf(state), side), INK, 1.5, [5, 4]);
        }
        models.forEach(({ curve }, m) => curve && data.error(state, m)[0] >= 0 && line(pen, here, x, data.curve(state, m), ...style[m]));
    });

    const positive = data.errors.filter((e) => e > 0), span = [Math.min(...positive) / 1.5, Math.max(...positive) * 1.5];
    const levels = level.options, there = axes(pen, second, [levels[0] / 1.12, levels.at(-1) * 1.12], span, {
        xlabel: level.name, ylabel: data.measure, log: true, xlog: true, xticks: levels, yticks: powers(...span), words: inWords,
    });
    const column = (i) => stateOf(controls, [i, ...chosen.slice(1)]), mark = there.X(levels[chosen[0]]);
    inside(pen, second, () => {
        line(pen, { X: (v) => v, Y: (v) => v }, [mark, mark], [second[1], second[1] + second[3]], INK, 1);
        models.forEach((model, m) => {
            const errors = levels.map((_, i) => data.error(column(i), m)), medians = errors.map(median);
            const dots = levels.filter((_, i) => medians[i] > 0);
            pen.globalAlpha = 0.35;
            errors.forEach((seeds, i) => seeds.forEach((e) => e > 0 && disc(pen, there.X(levels[i]), there.Y(e), 2, model.color)));
            pen.globalAlpha = 1;
            line(pen, there, dots, medians.filter((e) => e > 0), ...style[m]);
        });
    });
    models.forEach(({ curve, color }, m) => curve && ring(pen, mark, there.Y(data.error(state, m)[0]), color));
    const names = models.map(({ name }, m) => [...style[m], name])
        .filter((_, m) => levels.some((_, i) => data.error(column(i), m).some((e) => e > 0)));  // what is drawn
    legend(pen, height - 14, width, [["rgb(0 0 0 / 0.25)", 5, [], "truth"], ...names, [INK, 0, [], "shown"]]);
    return { left: second[0], right: second[0] + second[2], top: second[1], bottom: second[1] + second[3], levels, X: there.X };
}

const render = (view) => withSliders(view, unpacked(view.model.get("data")), paint,
    (data, chosen) => data.sentences[stateOf(data.controls, chosen)]);

export default { render };
