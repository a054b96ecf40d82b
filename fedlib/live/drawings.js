// What clients draw of a picture, alone and together (notebook 09), round by round.
// Behind canvas.js in one module, for JupyterLab (anywidget) and for a page without a kernel; live.py packs the data.

// ---- the numbers

// drawing(name, i): the i-th picture of that name, a 0 or 1 for each pixel; overlap(name, i): with each letter.
export function unpacked(data) {
    const n = data.shape[0] * data.shape[1], each = Math.ceil(n / 8), letters = data.names.length;
    const parts = (packed, made) => Object.fromEntries(Object.entries(packed).map(([name, text]) => [name, made(bytes(text))]));
    const bits = parts(data.pictures, (buffer) => new Uint8Array(buffer));
    const overlaps = parts(data.overlaps, (buffer) => new Float32Array(buffer));
    return {
        ...data,
        drawing: (name, i = 0) => Uint8Array.from({ length: n }, (_, p) => (bits[name][i * each + (p >> 3)] >> (7 - (p & 7))) & 1),
        overlap: (name, i) => Array.from(overlaps[name].subarray(i * letters, (i + 1) * letters)),
    };
}

// 0 and 1 for right black and white, 2 wrongly white, 3 wrongly black.
export const codes = (white, truth) => white.map((w, p) => (w === truth[p] ? w : w ? 2 : 3));

// 0 and 1 where a client knows the pixel, 4 elsewhere.
export const known = (seen, truth) => seen.map((s, p) => (s ? truth[p] : 4));

export function inWords(data, [r, k]) {
    const [rounds, clients] = data.controls.map(({ options }) => options);
    const words = (values) => values.map((value, j) => `${data.names[j]} ${value.toFixed(2)}`).join(", ");
    return `Overlap after round ${rounds[r]}, the federation: ${words(data.overlap("federated", r))}. ` +
        `Client ${clients[k]} alone, after all ${rounds.at(-1)} rounds: ${words(data.overlap("alone", k))}.`;
}

// ---- the picture

const COLOURED = ["white, should be black", "black, should be white", "not known"];
const SHADES = [[16, 16, 16], [255, 255, 255], [230, 159, 0], [86, 180, 233], [153, 153, 153]];  // as figures.py

function bitmap(pen, pixels, [rows, columns], [left, top, width, height]) {
    const image = new ImageData(columns, rows), paper = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
    pixels.forEach((code, p) => image.data.set([...SHADES[code], 255], 4 * p));
    paper.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(paper, left, top, width, height);
    pen.strokeStyle = INK, pen.lineWidth = 1, pen.strokeRect(left, top, width, height);
}

function paint(canvas, data, [r, k]) {
    const { shape, names, controls } = data, [rounds, clients] = controls.map(({ options }) => options);
    const ratio = Math.min(shape[0] / shape[1], 0.8), truth = data.drawing("truth"), seen = data.drawing("seen", k);
    const shown = [
        [`client ${clients[k]} knows ${seen.reduce((a, b) => a + b, 0)} pixels`, known(seen, truth)],
        [`client ${clients[k]} alone, round ${rounds.at(-1)}`, codes(data.drawing("alone", k), truth)],
        [`federated, round ${rounds[r]}`, codes(data.drawing("federated", r), truth)],
    ];
    const across = (canvas.clientWidth || 760) > 560 ? 3 : 1, wide = ((canvas.clientWidth || 760) - 20 * (across - 1)) / across;
    const down = wide * ratio + 26, foot = (3 / across) * down, { pen, width, height } = sheet(canvas, foot + 250, foot + 330);
    shown.forEach(([title, pixels], i) => {
        const left = (i % across) * (wide + 20), top = Math.floor(i / across) * down;
        pen.font = FONT, pen.textAlign = "left", pen.textBaseline = "top", pen.fillStyle = INK, pen.fillText(title, left, top + 3);
        bitmap(pen, pixels, shape, [left, top + 20, wide, wide * ratio]);
    });

    const frame = [44, foot + 34, width - 60, 130], here = axes(pen, frame, [0, rounds.at(-1)], [0, 1], {
        xlabel: "round", ylabel: "overlap with each letter", xticks: rounds.filter((round) => round % 20 === 0), yticks: [0, 0.5, 1],
    });
    const mark = here.X(rounds[r]), alone = data.overlap("alone", k);
    line(pen, { X: (v) => v, Y: (v) => v }, [mark, mark], [frame[1], frame[1] + frame[3]], INK, 1);
    names.forEach((_, j) => {
        line(pen, here, [0, rounds.at(-1)], [alone[j], alone[j]], CLIENTS[j], 1.5, DASHES[j]);
        line(pen, here, rounds, rounds.map((_, i) => data.overlap("federated", i)[j]), CLIENTS[j], 2.5);
        ring(pen, mark, here.Y(data.overlap("federated", r)[j]), CLIENTS[j]);
    });
    legend(pen, height - 14, width, [...names.map((name, j) => [CLIENTS[j], 2.5, [], `${name}, federated`]),
        ...names.map((name, j) => [CLIENTS[j], 1.5, DASHES[j], `${name}, client alone`]),
        ...COLOURED.map((text, i) => [`rgb(${SHADES[2 + i]})`, 10, [], text])]);
    const [left, top, long, high] = frame;
    return { left, right: left + long, top, bottom: top + high, levels: rounds, X: here.X };
}

const render = (view) => withSliders(view, unpacked(view.model.get("data")), paint, inWords);

export default { render };
