// SPDX-License-Identifier: Apache-2.0
// All allocations of the device: sorted, filtered; a row is the chosen allocation of all views.

import { button, count, el, fill, options, parseSize, search, select, size, span } from "./base.js";
import { call, Channel } from "./core.js";
import { tone } from "./pen.js";
import { accused, axis, device, groupName, here, kept, moment, NONE, range, SPLITS } from "./runs.js";
import { FILTERS, set, state, unset } from "./state.js";
import { rowsFrom, texts, VirtualTable } from "./table.js";

const COPIED = 10000; // rows at most
let grid,
    line,
    layers = null,
    marked = "", // the finding whose allocations the core has marked
    title = "", // of it
    sync,
    controls;

const layerColumn = name => {
    const split = name.toLowerCase();
    return { name, sort: split, text: row => layers[split].name[row[split]] ?? "" };
};
const columns = [
    { name: "Size", sort: "size", isNumber: true, text: row => size(row.size) },
    { name: "Requested", sort: "requested", isNumber: true, text: row => size(row.requested) },
    {
        name: "Role",
        sort: "role",
        text: row => layers.role.name[row.role] ?? "",
        swatch: row => tone(layers.role.color[row.role] ?? 0x8a929b),
    },
    { name: "Made", sort: "born", isNumber: true, text: row => (row.born ? count(row.born - 1) : "before") },
    {
        name: "Freed",
        sort: "freed",
        isNumber: true,
        text: row => (row.freed === NONE ? "never" : count(row.freed - 1)),
    },
    { name: "Lives", sort: "life", isNumber: true, text: row => `${count(row.life)} events` },
    { name: "Time", isNumber: true, text: row => (isFinite(row.life_us) ? span(row.life_us) : "") },
    layerColumn("Stream"),
    layerColumn("Pool"),
    layerColumn("Category"),
    { name: "Made at", text: row => row.site },
    layerColumn("Module"),
];

// The table's filter as the core reads it. What cannot be read is left out, and said.
function query() {
    const lines = [`sort=${state.sort}`, `order=${state.up ? "up" : "down"}`],
        wrong = [];
    for (const [key, text] of [
        ["min_size", state.min],
        ["max_size", state.max],
    ]) {
        const bytes = text && parseSize(text);
        if (bytes !== "" && bytes !== null) lines.push(`${key}=${bytes}`);
        else if (text) wrong.push(`"${text}" is no size`);
    }
    if (Number(state.life)) lines.push(`min_life=${Number(state.life)}`);
    for (const split of SPLITS) {
        const number = layers[split].name.indexOf(state[split]);
        if (state[split]) lines.push(`${split}=${number < 0 ? NONE : number}`);
    }
    if (state.finding) lines.push("marked=1");
    if (state.site) lines.push(`site=${state.site}`);
    if (state.text) lines.push(`${state.regex ? "regex" : "text"}=${state.text}`);
    if (state.alive === "moment") lines.push(`alive_at=${moment()}`);
    if (state.alive === "range" && axis() === 0)
        lines.push(`born_from=${Math.floor(range()[0])}`, `born_to=${Math.ceil(range()[1])}`);
    return [lines.join("\n"), wrong];
}

const NAMES = ["id", "size", "requested", ...SPLITS, "born", "freed", "life", "life_us", "site"];

const channel = new Channel(
    (told, question) => {
        const [total] = told.total;
        line.textContent = `${count(total)} allocations, ${size(told.total_bytes[0])}${title && `, of the finding: ${title}`}`;
        grid.resize(total);
        grid.show(question[4], rowsFrom(told, NAMES));
    },
    error => (line.textContent = error.message),
);

async function ask(first = 0, n = 40) {
    if (!layers) return;
    const [text, wrong] = query();
    if (wrong.length) return void (line.textContent = wrong.join("; "));
    channel.ask("allocations", ...here(), text, first, n);
}

async function learn() {
    const told = await Promise.all(SPLITS.map((_, split) => kept("layers", device(), split)));
    layers = Object.fromEntries(told.map((layer, i) => [SPLITS[i], layer]));
    for (const split of SPLITS)
        fill(controls[split], options([["", `any ${groupName(split)}`], ...layers[split].name]));
    sync();
}

// The core is told which allocations the finding is about, before it is asked for them.
async function mark() {
    const key = state.finding && [...here(), state.finding].join();
    if (key === marked) return;
    title = "";
    if (key) {
        const told = await accused(state.finding);
        await call("mark", state.run, told.device[0], told.allocation);
        title = told.item.title;
    }
    marked = key;
}

export const allocationsView = {
    id: "allocations",
    title: "Allocations",
    keys: ["run", "dev", "at", "from", "to", "sel", "sort", "up", ...FILTERS],
    async rows() {
        const told = await call("allocations", ...here(), query()[0], 0, COPIED);
        return texts(columns, rowsFrom(told, NAMES));
    },
    start(panel, tools) {
        const input = (name, placeholder, width) => search(placeholder, width, text => set({ [name]: text }));
        const choice = (name, choices) => select(name, choices, value => set({ [name]: value }));
        controls = {
            min: input("min", "from size", "100px"),
            max: input("max", "to size", "100px"),
            life: input("life", "lives events", "110px"),
            ...Object.fromEntries(SPLITS.map(split => [split, choice(split, [])])),
            alive: choice("alive", [
                "all",
                ["moment", "alive at the moment"],
                ["range", "made in the range"],
            ]),
            text: input("text", "in its stack", "150px"),
            site: input("site", "call site", "150px"),
        };
        const regex = el("input", { type: "checkbox", onchange: () => set({ regex: regex.checked }) });
        const clear = button("No filter", () => set(unset(FILTERS)));
        tools.append(...Object.values(controls), el("label", {}, regex, "regex"), clear);
        line = el("p.note", { id: "allocations-line", "aria-live": "polite" });
        grid = new VirtualTable("Allocations", columns, {
            ask,
            choose: row => set({ sel: row.id }),
            isChosen: row => row.id === state.sel,
            sorted: sort => set({ sort, up: state.sort === sort ? !state.up : false }),
        });
        grid.element.classList.add("allocations");
        panel.append(line, grid.element);
        sync = () => {
            for (const [name, control] of Object.entries(controls))
                if (document.activeElement !== control) control.value = state[name];
            regex.checked = state.regex;
            grid.mark(state.sort, state.up);
        };
    },
    async update(changed) {
        if (!changed || changed.has("run") || changed.has("dev")) await learn();
        await mark();
        sync();
        if (changed && [...changed].every(name => name === "sel")) return grid.show(grid.first, grid.rows);
        const isOther = ["from", "to", "at"],
            matters = { at: state.alive === "moment", from: state.alive === "range", to: state.alive === "range" };
        if (changed && [...changed].every(name => isOther.includes(name) && !matters[name])) return;
        grid.restart();
    },
};
