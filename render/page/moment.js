// SPDX-License-Identifier: Apache-2.0
// What lives at the moment: a table or a treemap, by what one likes.

import { button, count, el, fill, percent, select, size } from "./base.js";
import { Channel } from "./core.js";
import { colours, fitted, inkOn, Picture, tone } from "./pen.js";
import { GROUPS, groupName, here, moment, SPLITS } from "./runs.js";
import { FILTERS, set, state, unset } from "./state.js";
import { table, texts } from "./table.js";

const MOST = 500;

let told = null,
    rows = [],
    boxes = [],
    cells,
    picture,
    holder,
    note,
    total = 0;

const columns = [
    { name: "What", text: row => row.label, swatch: row => tone(row.colour) },
    { name: "Bytes", isNumber: true, text: row => size(row.bytes) },
    { name: "Share", isNumber: true, text: row => percent(row.bytes, total), bar: row => row.bytes / total },
    { name: "Requested", isNumber: true, text: row => size(row.requested) },
    { name: "Blocks", isNumber: true, text: row => count(row.count) },
];

const channel = new Channel(
    (answer, question) => {
        told = answer;
        total = told.active[0];
        const group = GROUPS[question[4]];
        rows = told.label.map((label, i) => ({
            label,
            bytes: told.bytes[i],
            requested: told.requested[i],
            count: told.count[i],
            colour: told.color[i],
            id: told.largest[i],
            group,
        }));
        if (told.rest_count[0])
            rows.push({
                label: `${count(told.rest_count[0])} more`,
                bytes: told.rest_bytes[0],
                requested: NaN,
                count: told.rest_count[0],
                colour: 0x8a929b,
                group: "rest",
            });
        draw();
    },
    error => {
        told = null;
        rows = [];
        draw(error.message);
    },
);

// A group leads to its allocations, an allocation to what is known about it.
function choose(row) {
    if (row.group === "rest") return;
    if (row.group === "none" || row.count === 1) return set({ sel: row.id });
    const filter = { ...unset(FILTERS), alive: "moment" };
    if (row.group === "size")
        Object.assign(filter, { min: String(row.requested / row.count), max: String(row.requested / row.count) });
    else if (row.group === "site" || SPLITS.includes(row.group)) filter[row.group] = row.label;
    else return set({ sel: row.id });
    set({ ...filter, sel: row.id, view: "allocations" });
}

function draw(problem) {
    note.textContent =
        problem ||
        `${size(told.active[0])} active, ${size(told.allocated[0])} allocated, ${size(told.requested_level[0])} requested, ${size(told.reserved[0])} reserved`;
    picture.canvas.hidden = !state.map;
    cells.hidden = state.map;
    if (state.map) picture.now();
    else
        fill(
            cells,
            table(
                "What lives at the moment",
                columns,
                rows,
                choose,
                row => row.group === "none" && row.id === state.sel,
            ),
        );
}

// ---- treemap: rows of boxes as square as can be (Bruls, Huizing, van Wijk)

function squares(items, x, y, w, h) {
    const out = [];
    let sum = items.reduce((all, item) => all + item.bytes, 0),
        i = 0;
    while (i < items.length && sum > 0) {
        const side = Math.min(w, h),
            area = (w * h) / sum;
        const worst = (bytes, least, most) =>
            Math.max((side * side * most) / (bytes * bytes * area), (bytes * bytes * area) / (side * side * least));
        let bytes = 0,
            n = 0,
            shape = Infinity;
        while (i + n < items.length) {
            const next = bytes + items[i + n].bytes,
                now = worst(next, items[i + n].bytes, items[i].bytes);
            if (n && now > shape) break;
            [bytes, shape, n] = [next, now, n + 1];
        }
        const thick = (bytes * area) / side;
        let along = 0;
        for (const item of items.slice(i, i + n)) {
            const long = (item.bytes * area) / thick;
            out.push(w >= h ? [item, x, y + along, thick, long] : [item, x + along, y, long, thick]);
            along += long;
        }
        if (w >= h) [x, w] = [x + thick, w - thick];
        else [y, h] = [y + thick, h - thick];
        [i, sum] = [i + n, sum - bytes];
    }
    return out;
}

function drawMap(pen, width, height) {
    boxes = squares(
        rows.filter(row => row.bytes > 0),
        0,
        0,
        width,
        height,
    );
    for (const [row, x, y, w, h] of boxes) {
        pen.rect(x, y, Math.max(w - 1, 0.5), Math.max(h - 1, 0.5), tone(row.colour));
        if (row.group === "none" && row.id === state.sel) pen.frame(x + 1, y + 1, w - 3, h - 3, colours().ink, 2);
        if (h < 18) continue;
        const text = fitted(row.label, w - 10);
        if (text) pen.text(x + 5, y + 15, text, inkOn(row.colour), "left", "bold");
        const more = h >= 34 ? fitted(`${size(row.bytes)} ${percent(row.bytes, total)}`, w - 10) : "";
        if (more) pen.text(x + 5, y + 30, more, inkOn(row.colour));
    }
}

const boxAt = event => {
    const [x, y] = picture.place(event);
    return boxes.find(([, left, top, w, h]) => x >= left && x < left + w && y >= top && y < top + h)?.[0];
};

export const momentView = {
    id: "moment",
    title: "Moment",
    key: "m",
    keys: ["run", "dev", "at", "group", "map", "sel"],
    get picture() {
        return state.map ? picture : null;
    },
    rows: () => texts(columns, rows),
    start(panel, tools) {
        holder = panel;
        const groups = select(null, GROUPS.map(group => [group, groupName(group)]), group => set({ group }));
        const shape = button("Treemap", () => set({ map: !state.map }), { id: "moment-map" });
        tools.append(el("label", {}, "by ", groups), shape);
        note = el("p.note", { id: "moment-note" });
        cells = el("div.cells", { id: "moment-table" });
        const canvas = el("canvas.map", {
            hidden: true,
            tabIndex: 0,
            role: "img",
            "aria-label": "Treemap of what lives at the moment; the table has the same numbers",
            onclick: event => boxAt(event) && choose(boxAt(event)),
            onpointermove: event => (canvas.title = labelOf(boxAt(event))),
        });
        panel.append(note, cells, canvas);
        picture = new Picture(canvas, drawMap);
        this.sync = () => {
            groups.value = state.group;
            shape.setAttribute("aria-pressed", state.map);
        };
    },
    update(changed) {
        this.sync();
        if (changed && changed.size === 1 && (changed.has("sel") || changed.has("map"))) return told && draw();
        channel.ask("moment", ...here(), moment(), GROUPS.indexOf(state.group), MOST);
    },
};
const labelOf = row => (row ? `${row.label}: ${size(row.bytes)} in ${count(row.count)} blocks` : "");
