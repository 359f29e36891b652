// SPDX-License-Identifier: Apache-2.0
// What the report concludes, from analysis.json, and for each the place in the views where it is seen.

import { button, count, el, fill, percents, size } from "./base.js";
import { expected } from "./core.js";
import { about, accused, analysed, device, run } from "./runs.js";
import { FILTERS, set, unset } from "./state.js";
import { table } from "./table.js";
import { afterEvent, goTo, revealRange } from "./timeline.js";

// Where to look for a finding (docs/findings.md has their ids): what is set. The others: what lives at the peak, by
// site.
const PLACES = [
    [
        /^(replayed-settings|conflicting-settings|gc-threshold)/,
        ({ settings }) => ({ view: "whatif", ...(settings ? { conf: settings } : {}) }),
    ],
    [
        /^out-of-memory|^giant-tensor|^plain-capacity/,
        ({ oom }) => ({ view: "moment", group: "role", ...(oom === undefined ? {} : { at: oom }) }),
    ],
    [
        /cache|unused|pinned-segments|stranded|efficiency|growth-despite|driver-traffic|allocation-retries|pools/,
        ({ reserved }) => ({ view: "space", at: reserved }),
    ],
    [/^(rounding-waste|temporary-churn)/, () => ({ ...unset(FILTERS), view: "allocations", sort: "requested" })],
    [/leak|growth|keeps|list|retain|stale/, ({ events }) => ({ view: "stacks", at: events })],
    [/^pending/, () => ({ view: "space" })],
];

let body,
    told = null;

// Where a finding that is about no single allocations is seen.
function placeOf(id) {
    const { timeline, all } = told,
        refused = timeline?.out_of_memory?.[0]?.event,
        reserved = timeline?.peaks?.reserved?.event;
    const facts = {
        settings: all.settings_advice?.settings,
        oom: refused === undefined ? undefined : refused + 1,
        reserved: reserved === undefined ? undefined : reserved + 1,
        events: about("events"),
    };
    const found = PLACES.find(([pattern]) => pattern.test(id));
    return found ? found[1](facts) : { view: "moment", group: "site", at: about("peak_moment") };
}

const showSite = site => set({ ...unset(FILTERS), view: "allocations", site });

// The allocations that it is about: how many, how much, and the ways to them.
async function tellPlace(line, name, id) {
    const { device: on, allocation, bytes, first, last, highest } = await accused(name).catch(error => expected(error) && {});
    if (!allocation?.length)
        return fill(line, button("Show", () => set(placeOf(id)), { title: "Where it is seen" }));
    const dev = on[0] === device() ? {} : { dev: on[0], sel: null, from: null, to: null };
    const goes = patch => () => set({ ...dev, at: highest[0], ...patch });
    fill(
        line,
        el("span", {}, `${count(allocation.length)} allocations, at most ${size(bytes[0])} at once, `, afterEvent(highest[0])),
        button("Show them", goes({ ...unset(FILTERS), view: "allocations", finding: name }), {
            title: "The list of these allocations",
        }),
        button("Their peak", goes({ view: "moment", group: "site" }), { title: "What lives when they hold most" }),
        button(
            "Their range",
            () => {
                goes({})();
                revealRange(Math.max(first[0] - 1, 0), Math.max(last[0] - 1, 0));
            },
            { title: "From the first that is made to the last that is freed" },
        ),
    );
}

function advice(item, name) {
    const where = el("p.where.muted", {});
    tellPlace(where, name, item.finding || item.id);
    return el(
        "li",
        { className: `finding ${item.severity}` },
        el("h3", {}, el("span.severity", {}, item.is_choice ? "choice" : item.severity), item.title),
        el("p", {}, item.detail),
        item.fix ? el("p.muted", {}, item.fix) : null,
        where,
    );
}

const PEAKS = [
    { name: "Peak", text: row => row.name },
    { name: "After event", isNumber: true, text: row => count(row.event) },
    { name: "Step", text: row => row.step || "" },
    { name: "Requested", isNumber: true, text: row => size(row.requested_bytes) },
    { name: "Allocated", isNumber: true, text: row => size(row.allocated_bytes) },
    { name: "Reserved", isNumber: true, text: row => size(row.reserved_bytes) },
];
const SITES = [
    { name: "Call site at the peak", text: row => row.label || row.site },
    { name: "Bytes", isNumber: true, text: row => size(row.bytes) },
    { name: "Share", isNumber: true, text: row => percents(row.percent), bar: row => row.percent / 100 },
    { name: "Peak without it", isNumber: true, text: row => size(row.peak_without_bytes) },
    { name: "Role of most", text: row => row.role || "" },
];
const STEPS = [
    { name: "Step", text: row => row.label },
    { name: "Peak", isNumber: true, text: row => size(row.peak?.requested_bytes) },
    { name: "Reserved", isNumber: true, text: row => size(row.peak?.reserved_bytes) },
    { name: "At its end", isNumber: true, text: row => size(row.end?.requested_bytes) },
    { name: "Allocations", isNumber: true, text: row => count(row.allocs) },
];

const peaks = timeline =>
    [
        ...Object.entries(timeline.peaks || {}).map(([name, row]) => ({ name: `most ${name}`, ...row })),
        ...(timeline.next_peaks || []).map(row => ({ name: "next", ...row })),
    ].filter(row => row.event !== undefined && row.event !== null);

function draw() {
    const { all, timeline } = told,
        done = new Set((all.to_do || []).map(item => item.finding));
    const section = (title, ...content) => el("section", {}, el("h2", {}, title), ...content);
    const rest = (all.findings || []).map((item, i) => [item, `find${i}`]).filter(([item]) => !done.has(item.id));
    const { reasons, verdict } = all.reliability;
    const todo = (all.to_do || []).map((item, i) => advice(item, `todo${i}`)),
        found = rest.map(([item, name]) => advice(item, name)),
        sites = timeline?.call_sites_at_peak?.rows || [],
        steps = timeline?.steps?.rows || [];
    const showStep = row => row.peak_event !== null && goTo(row.peak_event + 1);
    fill(
        body,
        todo.length && section("To do", el("ol.findings", {}, todo)),
        found.length && section("Findings", el("ul.findings", {}, found)),
        timeline && section("Peaks", table("Peaks", PEAKS, peaks(timeline), row => goTo(row.event + 1))),
        sites.length &&
            section("Made at", table("Call sites at the peak", SITES, sites, row => showSite(row.label))),
        steps.length && section("Steps", table("Steps", STEPS, steps, showStep)),
        section("How far to trust it", el("p", {}, verdict + (reasons.length ? ": " : "") + reasons.join("; "))),
    );
}

export const findingsView = {
    id: "findings",
    title: "Findings",
    keys: ["run", "dev"],
    rows: () => [
        ["id", "severity", "title", "detail", "bytes"],
        ...(told?.all.findings || []).map(f => [f.id, f.severity, f.title, f.detail, f.bytes ?? ""]),
    ],
    start(panel) {
        body = el("div.report", { id: "findings-body" });
        panel.append(body);
    },
    async update() {
        const shown = run();
        try {
            const answer = await analysed();
            if (run() !== shown) return;
            told = answer;
            draw();
        } catch (error) {
            fill(body, el("p.bad", {}, expected(error)));
        }
    },
};
