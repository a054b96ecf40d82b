// Tables of the report: a column's button sorts by it, numbers as numbers; the field above keeps rows with its words.
for (const box of document.querySelectorAll(".sorted")) {
    const body = box.querySelector("tbody"), buttons = [...box.querySelectorAll("th button")];
    const number = (text) => (/^-?\d/.test(text) ? parseFloat(text) : NaN);
    buttons.forEach((button, column) => button.addEventListener("click", () => {
        const head = button.parentElement, falls = head.getAttribute("aria-sort") === "ascending";
        for (const { parentElement } of buttons) parentElement.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => ({ row, text: row.cells[column].textContent }));
        rows.sort((a, b) => {
            const gap = number(a.text) - number(b.text);
            return (Number.isNaN(gap) ? a.text.localeCompare(b.text) : gap) * (falls ? -1 : 1);
        });
        body.append(...rows.map(({ row }) => row));
    }));
    const nothing = Object.assign(document.createElement("p"), { hidden: true, role: "status" });
    box.append(nothing);
    box.querySelector("input").addEventListener("input", ({ target }) => {
        const words = target.value.toLowerCase();
        for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(words);
        nothing.hidden = [...body.rows].some((row) => !row.hidden);
        nothing.textContent = nothing.hidden ? "" : `No row has "${target.value}".`;
    });
}
