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
export function sentence({ distance, gaps }, [r, start]) {
    const above = gaps[start][r];
    return `Round ${r + 1}: the way is ${(distance * (1 + above / 100)).toFixed(4)} long, ${inPercent(Math.max(above, 1e-5))} ` +
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

function paint(canvas, data, [r, start]) {
    const { pen, width, height, wide } = sheet(canvas, 372, 640), rounds = data.gaps[0].length;
    const side = wide ? 270 : Math.min(300, width - 60), [low, high] = data.limits;
    const first = [44, 30, side, side * (high[1] - low[1]) / (high[0] - low[0])];
    const second = wide ? [side + 110, 30, width - side - 130, 270] : [52, first[3] + 100, width - 70, 170];
    const here = axes(pen, first, [low[0], high[0]], [low[1], high[1]], {
        xlabel: "x₁", ylabel: "x₂", xticks: data.xticks, yticks: data.yticks,
    });
    const at = start * rounds + r;
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
    ring(pen, there.X(r + 1), there.Y(Math.max(data.gaps[start][r], data.span[0])), COLORS.federated);
    const y = height - 14;
    legend(pen, y, width, [[CLIENTS[0], 5, [], "client 1"], [CLIENTS[1], 5, [], "client 2"], [INK, 0, [], "halfway there"],
        ["#000000", 5, [], "shared"], [COLORS.federated, 2.5, [], "the way"], ["#b0b0b0", 1.2, [], "from other starts"]]);
    const [left, top, long, tall] = second;
    return { left, right: left + long, top, bottom: top + tall, levels: numbers, X: there.X };
}

const render = (view) => withSliders(view, unpack(view.model.get("data")), paint, sentence);

export default { render };
