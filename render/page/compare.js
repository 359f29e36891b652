// SPDX-License-Identifier: Apache-2.0
// Two runs: their memory on one axis of steps, what grew and where it was made, the flame graph of the difference.

import { clamp, el, fill, options, select, signed, size, ticks } from "./base.js";
import { call, compare, expected, flameBetween } from "./core.js";
import { Flame } from "./flame.js";
import { colours, drawBytes, LEFT, Picture, RIGHT, tone } from "./pen.js";
import { highest, keptOf, runs } from "./runs.js";
import { FILTERS, set, state, unset } from "./state.js";
import { table, texts } from "./table.js";

const COLUMNS = 1500;
const COLOURS = [0x8a929b, 0x0072b2]; // the base, the other: dashed, and drawn through
let pick,
    body,
    line,
    flame,
    picture,
    lines = [],
    diff = null,
    asked = 0;


// A run's curve with the places of its columns counted in steps; in shares of the trace if there are none.
async function curveOf(number) {
    const dev = highest(number),
        events = runs[number].devices.events[dev];
    const [curve, marks] = await Promise.all([
        call("timeline", number, dev, 0, 0, 0, events, COLUMNS),
        keptOf(number, "marks", dev),
    ]);
    const { step_first: first, step_last: last } = marks,
        n = first.length;
    const place = event => {
        if (!n) return event / (events || 1);
        let i = 0;
        while (i + 1 < n && first[i + 1] <= event) i++;
        const end = i + 1 < n ? first[i + 1] : last[i] + 1;
        return event < first[0]
            ? (event - first[0]) / (end - first[0])
            : i + (event - first[i]) / (end - first[i] || 1);
    };
    return {
        xs: Array.from({ length: COLUMNS + 1 }, (_, c) => place((c / COLUMNS) * events)),
        total: curve.total,
        reserved: curve.reserved,
        names: marks.step_name,
        byStep: n > 0,
    };
}

function draw(pen, width, height) {
    if (lines.length < 2) return;
    const right = width - RIGHT,
        bottom = height - 22,
        byStep = lines.every(l => l.byStep);
    const low = Math.min(...lines.map(l => l.xs[0])),
        high = Math.max(...lines.map(l => l.xs.at(-1)));
    const most = 1.05 * Math.max(1, ...lines.flatMap(l => [...l.reserved]));
    const x = place => LEFT + ((place - low) / (high - low || 1)) * (right - LEFT),
        y = bytes => bottom - (bytes / most) * (bottom - 26);
    drawBytes(pen, right, bottom, most, y);
    const whole = byStep ? Number.isInteger : () => true; // a step has its name where it begins
    for (const place of ticks(low, high, (right - LEFT) / 80).filter(whole))
        pen.text(
            clamp(x(place), LEFT + 4, right - 20),
            bottom + 17,
            byStep ? (lines[0].names[place] ?? lines[1].names[place] ?? "") : `${Math.round(place * 100)} %`,
            colours().muted,
            "center",
        );
    lines.forEach((l, i) => {
        const steps = values =>
            Array.from(values).flatMap((bytes, c) => [x(l.xs[c]), y(bytes), x(l.xs[c + 1]), y(bytes)]);
        pen.line(steps(l.reserved), tone(COLOURS[i]), 1, [2, 3]);
        pen.line(steps(l.total), tone(COLOURS[i]), 2, i ? undefined : [6, 3]);
        const at = LEFT + 8 + (i * (right - LEFT)) / 2;
        pen.line([at, 12, at + 24, 12], tone(COLOURS[i]), 2, i ? undefined : [6, 3]);
        pen.text(at + 30, 16, l.name.slice(0, Math.max(Math.floor((right - LEFT) / 2 / 8) - 5, 4)), colours().ink);
    });
}

const ROWS = [
    { name: "Made at", text: row => row.site ?? row.name },
    { name: "", text: row => row.kind || "" },
    { name: "Before", isNumber: true, text: row => size(row.base_bytes) },
    { name: "After", isNumber: true, text: row => size(row.new_bytes) },
    { name: "Change", isNumber: true, text: row => signed(row.delta_bytes) },
    { name: "Category", text: row => row.category || "" },
];

function showTables() {
    const runsOf = diff.runs.map(r => r.peaks.peak_reserved_bytes);
    fill(
        body,
        el("p", { id: "compare-headline" }, diff.headline),
        el("h2", {}, "At the peak, by call site"),
        table("Call sites at the peak", ROWS, diff.call_sites_at_peak || diff.call_sites || [], row =>
            set({ ...unset(FILTERS), view: "allocations", text: (row.site || "").split("  ")[0] }),
        ),
        el("h2", {}, "At the peak, by role"),
        table("Roles at the peak", ROWS, diff.roles_at_peak || diff.roles || []),
    );
    line.textContent = `Peak reserved ${size(runsOf[0])} and ${size(runsOf[1])}`;
}

async function compute() {
    const [base, other] = [state.other, state.run].sort((a, b) => a - b), // before: what was opened first
        mine = ++asked;
    lines = [];
    line.textContent = "Comparing …";
    fill(body);
    try {
        const curves = await Promise.all([base, other].map(curveOf));
        if (mine !== asked) return;
        lines = curves.map((curve, i) => ({ ...curve, name: runs[[base, other][i]].name }));
        picture.ask();
        const [a, b] = [highest(base), highest(other)];
        const tree = await flameBetween(
            other,
            b,
            runs[other].devices.peak_moment[b],
            base,
            a,
            runs[base].devices.peak_moment[a],
            state.inverted,
            state.folds,
        );
        if (mine !== asked) return;
        flame.show(tree, 0, true);
        diff = JSON.parse((await compare(base, other)).json);
        if (mine === asked) showTables();
    } catch (error) {
        const why = expected(error);
        if (mine === asked) line.textContent = why;
    }
}

export const compareView = {
    id: "compare",
    title: "Compare",
    keys: ["run", "other", "inverted", "folds"],
    get picture() {
        return picture;
    },
    rows: () => (diff ? texts(ROWS, diff.call_sites_at_peak || diff.call_sites || []) : [["nothing"]]),
    start(panel, tools) {
        pick = select(null, [], other => set({ other: Number(other) }));
        pick.id = "compare-base";
        tools.append(el("label", {}, "with ", pick));
        line = el("p.note", { id: "compare-line", "aria-live": "polite" });
        const tell = el("p.note", { "aria-live": "polite" });
        flame = new Flame("Flame graph of the difference; red grew, blue shrank", text => (tell.textContent = text));
        const canvas = el("canvas.compare", {
            tabIndex: 0,
            role: "img",
            "aria-label": "Memory of both runs over their steps",
        });
        body = el("div", { id: "compare-body" });
        panel.append(
            line,
            canvas,
            el("h2", {}, "Stacks at the peaks: what came, what went"),
            tell,
            el("div.cells", {}, flame.canvas),
            body,
        );
        picture = new Picture(canvas, draw);
    },
    update() {
        fill(pick, options(runs.map((r, i) => [i, r.name])));
        if (runs[state.run]) pick.options[state.run].disabled = true;
        body.parentElement.classList.toggle("alone", runs.length < 2);
        if (runs.length < 2) {
            line.textContent = "Drop a second file on the page (or open it above), and choose it here.";
            return;
        }
        if (state.other === null || state.other === state.run || !runs[state.other])
            return set({ other: state.run ? 0 : 1 });
        pick.value = state.other;
        compute();
    },
};
