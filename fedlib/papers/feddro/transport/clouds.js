// Two clouds that may not meet, and the shared one that goes between them (notebook 10): a round is chosen.
// Behind canvas.js in one module, for JupyterLab (anywidget) and for a page without a kernel; live.py packs the data.

// ---- the numbers: clouds [atoms, 2] in steps of ``step``, whose missing atoms are left out

export function cloudAt(data, name, index) {
    const size = 2 * data.atoms, all = data.unpacked[name].subarray(index * size, (index + 1) * size), points = [];
    for (let i = 0; i < size; i += 2) if (all[i] !== -32768) points.push([all[i] * data.step, all[i + 1] * data.step]);
    return points;
}

export function unpack(data) {
    const unpacked = Object.fromEntries(["cloud", "xi", "eta"].map((name) => [name, new Int16Array(bytes(data[name]))]));
    return { ...data, unpacked };
}

// What is seen, in a sentence.
export function sentence({ distance, gaps }, start, round) {
    const above = gaps[start][round - 1];
    return `Round ${round}: the way is ${(distance * (1 + above / 100)).toFixed(4)} long, ${inPercent(Math.max(above, 1e-5))} ` +
        `above the distance ${distance.toFixed(4)}.`;
}

// ---- the picture

function dots(pen, { X, Y }, points, color, radius, hollow = false) {
    for (const [x, y] of points) {
        pen.beginPath(), pen.arc(X(x), Y(y), radius, 0, 2 * Math.PI);
        if (hollow) (pen.strokeStyle = color), (pen.lineWidth = 0.8), pen.stroke();
        else (pen.fillStyle = color), pen.fill();
    }
}

function paint(canvas, data, start, round) {
    const { pen, width, height, wide } = sheet(canvas, 372, 640), rounds = data.gaps[0].length;
    const side = wide ? 270 : Math.min(300, width - 60), [low, high] = data.limits;
    const first = [44, 30, side, side * (high[1] - low[1]) / (high[0] - low[0])];
    const second = wide ? [side + 110, 30, width - side - 130, 270] : [52, first[3] + 100, width - 70, 170];
    const here = axes(pen, first, [low[0], high[0]], [low[1], high[1]], {
        xlabel: "x₁", ylabel: "x₂", xticks: data.xticks, yticks: data.yticks,
    });
    const at = start * rounds + round - 1;
    inside(pen, first, () => {
        for (const k of [0, 1]) dots(pen, here, cloudAt(data, "cloud", k), CLIENTS[k], 1.8);
        for (const k of [0, 1]) dots(pen, here, cloudAt(data, "eta", 2 * at + k), CLIENTS[k], 2, true);
        dots(pen, here, cloudAt(data, "xi", at), "#000000", 1.6);
    });
    const numbers = Array.from({ length: rounds }, (_, i) => i + 1);
    const there = axes(pen, second, [0.5, rounds + 0.5], data.span, {
        xlabel: "round", ylabel: "the way above the distance (%)", log: true, xticks: numbers, yticks: data.ticks,
    });
    inside(pen, second, () => {
        data.gaps.forEach((gaps, s) => line(pen, there, numbers, gaps.map((e) => Math.max(e, data.span[0])),
            s === start ? COLORS.federated : "#b0b0b0", s === start ? 2.5 : 1.2));
        line(pen, there, [0.5, rounds + 0.5], [1, 1], INK, 1, [2, 3]);
    });
    ring(pen, there.X(round), there.Y(Math.max(data.gaps[start][round - 1], data.span[0])), COLORS.federated);
    const y = height - 14;
    legend(pen, y, width, [[CLIENTS[0], 5, [], "client 1"], [CLIENTS[1], 5, [], "client 2"], [INK, 0, [], "halfway there"],
        ["#000000", 5, [], "shared"], [COLORS.federated, 2.5, [], "the way"], ["#b0b0b0", 1.2, [], "from other starts"]]);
    return { left: second[0], right: second[0] + second[2], X: there.X };
}

function render({ model, el }) {
    const data = unpack(model.get("data")), canvas = document.createElement("canvas"), anchor = model.get("anchor");
    const row = document.createElement("div"), status = document.createElement("p"), rounds = data.gaps[0].length;
    const round = slider("round", Array.from({ length: rounds }, (_, i) => i + 1), 1);
    const start = pick("list", "the shared cloud starts as", data.starts, data.starts[0]);

    function show() {
        paint(canvas, data, start.index, round.value);
        status.textContent = sentence(data, start.index, round.value);
        canvas.setAttribute("aria-label", `Two clouds, the shared one between them and how far both go from it. ${status.textContent}`);
    }
    function move() {
        show();
        if (anchor) history.replaceState(null, "", `#${anchor}?${new URLSearchParams({ round: round.value, start: start.value })}`);
    }
    function read() {  // "#anchor?round=3&start=...", as move writes it
        const [name, state] = location.hash.slice(1).split("?"), wanted = new URLSearchParams(state);
        if (!anchor || name !== anchor || !state) return;
        round.put(Math.min(Math.max(Math.trunc(+wanted.get("round")) || 1, 1), rounds) - 1);
        start.put(Math.max(data.starts.indexOf(wanted.get("start")), 0));
        move();
        el.scrollIntoView({ block: "nearest" });
    }

    row.className = "fed-row", status.className = "fed-said", status.setAttribute("aria-live", "polite");
    canvas.setAttribute("role", "img");
    row.append(round.label, start.label);
    for (const { label } of [round, start]) label.addEventListener("input", move);
    boxIn(el).append(canvas, row, status);
    show(), read();
    addEventListener("hashchange", read);
    const watcher = new ResizeObserver(show);
    watcher.observe(canvas);
    return () => (removeEventListener("hashchange", read), watcher.disconnect());
}

export default { render };
