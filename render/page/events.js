// SPDX-License-Identifier: Apache-2.0
// All events of the device, each with what it did; a row is the moment of all views, and the other way round.

import { count, el, parseSize, search, select, size, span } from "./base.js";
import { call, Channel } from "./core.js";
import { tone } from "./pen.js";
import { device, here, kept, moment, NONE } from "./runs.js";
import { set, state } from "./state.js";
import { rowsFrom, texts, VirtualTable } from "./table.js";
import { goTo } from "./timeline.js";

const COPIED = 10000; // rows at most
const KINDS = {
    "": "all events",
    made: "allocations",
    freed: "frees",
    driver: "segments from and to the driver",
    oom: "out of memory",
    other: "others",
};
let grid,
    line,
    roles = null,
    sync;

const columns = [
    { name: "Event", isNumber: true, text: row => count(row.event) },
    { name: "Time", isNumber: true, text: row => (isFinite(row.time) ? span(row.time) : "") },
    { name: "What", text: row => row.action },
    { name: "Bytes", isNumber: true, text: row => size(row.bytes) },
    {
        name: "Role",
        text: row => (row.role === NONE ? "" : roles.name[row.role]),
        swatch: row => (row.role === NONE ? "transparent" : tone(roles.color[row.role])),
    },
    { name: "Active after it", isNumber: true, text: row => size(row.active) },
    { name: "Made at", text: row => row.site },
];
const NAMES = ["event", "time", "action", "bytes", "role", "active", "site", "allocation"];

const channel = new Channel(
    (told, question) => {
        const [total] = told.total;
        line.textContent = `${count(total)} events`;
        grid.resize(total);
        grid.show(question[4], rowsFrom(told, NAMES));
        if (grid.isLost && question[6] === now()) {
            grid.isLost = false;
            grid.reveal(told.near[0]);
        }
    },
    error => (line.textContent = error.message),
);

const now = () => Math.max(moment() - 1, 0);
const query = least => [state.kind && `kind=${state.kind}`, least && `min_size=${least}`].filter(Boolean).join("\n");
function ask(first = 0, n = 40) {
    const least = state.least && parseSize(state.least);
    if (!roles) return;
    if (least === null) return void (line.textContent = `"${state.least}" is no size`);
    channel.ask("events", ...here(), query(least), first, n, now());
}

export const eventsView = {
    id: "events",
    title: "Events",
    keys: ["run", "dev", "at", "kind", "least"],
    async rows() {
        const told = await call("events", ...here(), query(parseSize(state.least)), 0, COPIED, 0);
        return texts(columns, rowsFrom(told, NAMES));
    },
    start(panel, tools) {
        const kinds = select("kind of events", Object.entries(KINDS), kind => set({ kind }));
        const least = search("from size", "110px", text => set({ least: text }));
        tools.append(kinds, least);
        line = el("p.note", { id: "events-line", "aria-live": "polite" });
        grid = new VirtualTable("Events", columns, {
            ask,
            choose: row => {
                if (row.allocation !== NONE) set({ sel: row.allocation });
                goTo(row.event + 1);
            },
            isChosen: row => row.event + 1 === moment(),
        });
        grid.element.classList.add("events");
        panel.append(line, grid.element);
        sync = () => {
            kinds.value = state.kind;
            if (document.activeElement !== least) least.value = state.least;
        };
    },
    // Another moment: its event is among the rows that are seen, or they move there.
    async update(changed) {
        if (!changed || changed.has("run") || changed.has("dev")) roles = await kept("layers", device(), 0);
        sync();
        const isSeen = grid.rows.slice(0, grid.seen - 1).some(row => row.event + 1 === moment());
        grid.isLost = !changed || !isSeen || [...changed].some(name => name !== "at");
        ask(grid.top, grid.seen + 1);
    },
};
