// The controls of everything that moves: in JupyterLab (widgets.py), in a page without a kernel (canvas.js).
// They are the browser's own, so that a keyboard is enough: each is one stop of the Tab key, and arrows change it.

const CONTROLS = `
.fed-control { display: grid; grid-template-columns: minmax(6.5em, auto) minmax(7em, 1fr); align-items: center; gap: 2px 8px;
    min-height: 28px; color: inherit; font: inherit; }
.fed-control.fed-slider { grid-template-columns: minmax(6.5em, auto) minmax(10em, 1fr) auto; }
.fed-control input[type=range] { width: 100%; margin: 0; accent-color: #0072B2; }
.fed-control select { font: inherit; width: 100%; min-width: 0; padding: 2px; }
.fed-control .fed-words { display: flex; flex-wrap: wrap; gap: 2px 10px; }
.fed-control .fed-words label { display: inline-flex; align-items: center; gap: 3px; white-space: nowrap; }
.fed-control .fed-words input { margin: 0; accent-color: #0072B2; }
.fed-control output { white-space: nowrap; min-width: max(4em, var(--longest)); font-variant-numeric: tabular-nums; }
@media (max-width: 500px) {  /* name and value on one line, the slider below them */
    .fed-control.fed-slider { grid-template-columns: minmax(0, 1fr) auto; }
    .fed-control.fed-slider input { grid-area: 2 / 1 / 3 / 3; }
    .fed-control output { white-space: normal; min-width: 0; }
}
.fed-control.fed-off { opacity: 0.5; }
.fed-control :focus-visible { outline: 3px solid #D55E00; outline-offset: 2px; }
`;

// An element whose keys JupyterLab leaves alone, for they would choose another cell; but Shift+Enter and Escape go back to
// the cell, so that a reader who has moved a slider can go on.
function control(kind, properties) {
    const made = Object.assign(document.createElement(kind), properties);
    made.addEventListener("focus", () => (made.dataset.lmSuppressShortcuts = "true"));
    made.addEventListener("keydown", ({ key, shiftKey }) => {
        if (key !== "Escape" && !(key === "Enter" && shiftKey)) return;
        delete made.dataset.lmSuppressShortcuts;
        made.closest(".jp-Cell")?.focus();
    });
    return made;
}

// JupyterLab lets what is high grow below the foot of the window; when its head is in sight, all of it is wanted there.
function inSight(el) {
    requestAnimationFrame(() => {
        const { top } = el.getBoundingClientRect();
        if (el.closest(".jp-Cell") && top > 0 && top < innerHeight) el.scrollIntoView({ block: "nearest" });
    });
}

let groups = 0;

// One of some options. kind: "slider", over numbers; "buttons", all in sight; "list", which folds out.
// label: the element; it fires "input" when the reader chooses. words: option -> what stands on the page.
export function pick(kind, name, options, start, words = String, tip = "") {
    const label = document.createElement(kind === "buttons" ? "div" : "label"), text = document.createElement("span");
    const inputs = [], said = document.createElement("output");
    const made = {
        label, inputs, put, get input() { return inputs[0]; }, get value() { return options[made.index]; },
        get index() { return kind === "buttons" ? inputs.findIndex((i) => i.checked) : +inputs[0][kind === "list" ? "selectedIndex" : "value"]; },
        disable(off) {
            for (const input of inputs) input.disabled = off;
            label.classList.toggle("fed-off", off);
        },
    };
    function say() {
        if (kind !== "slider") return;
        said.textContent = words(made.value);
        inputs[0].setAttribute("aria-valuetext", words(made.value));
    }
    function put(index) {
        if (kind === "buttons") inputs[index].checked = true;
        else inputs[0][kind === "list" ? "selectedIndex" : "value"] = index;
        say();
    }
    text.textContent = name, label.title = tip, label.className = `fed-control fed-${kind}`;
    label.append(text);
    if (kind === "slider") {
        inputs.push(control("input", { type: "range", min: 0, max: options.length - 1, step: 1 }));
        inputs[0].addEventListener("input", say);
        const longest = Math.max(...options.map((option) => words(option).length));
        said.style.setProperty("--longest", `${longest}ch`);  // or the slider jumps
        label.append(inputs[0], said);
    } else if (kind === "list") {
        inputs.push(control("select"));
        inputs[0].append(...options.map((option) => new Option(words(option))));
        label.append(inputs[0]);
    } else {
        const all = document.createElement("div"), group = `fed-${Math.random().toString(36).slice(2)}-${groups++}`;
        all.className = "fed-words";
        for (const option of options) {
            const one = document.createElement("label");
            inputs.push(control("input", { type: "radio", name: group }));
            one.append(inputs.at(-1), words(option));
            all.append(one);
        }
        all.setAttribute("role", "radiogroup"), all.setAttribute("aria-label", name);
        label.append(all);
    }
    for (const input of kind === "buttons" ? [] : inputs) input.setAttribute("aria-label", name);
    for (const input of inputs) if (tip) input.setAttribute("aria-description", tip);
    put(options.indexOf(start));
    return made;
}

export const slider = (name, options, start, words = String, tip = "") => pick("slider", name, options, start, words, tip);
