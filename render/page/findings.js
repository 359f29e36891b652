// SPDX-License-Identifier: Apache-2.0
// What the report concludes, from analysis.json, and for each the place in the views where it is seen.

import { count, el, fill, percent, size } from "./base.js";
import { CoreError } from "./core.js";
import { about, analysed, moment, run } from "./runs.js";
import { set, state } from "./state.js";
import { table, texts } from "./table.js";
import { goTo } from "./timeline.js";

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
    [/^(rounding-waste|temporary-churn)/, () => ({ view: "allocations", sort: "requested", site: "" })],
    [/leak|growth|keeps|list|retain|stale/, ({ events }) => ({ view: "stacks", at: events })],
    [/^pending/, () => ({ view: "space" })],
];

let body,
    told = null;

function placeOf(id, site) {
    const { timeline, all } = told;
    const facts = {
        settings: all.settings_advice?.settings,
        oom: timeline?.out_of_memory?.[0]?.event,
        reserved: timeline?.peaks?.reserved ? timeline.peaks.reserved.event + 1 : undefined,
        events: about("events"),
    };
    if (site)
        return {
            view: "allocations",
            site,
            alive: "all",
            role: "",
            category: "",
            pool: "",
            stream: "",
            text: "",
            min: "",
            max: "",
        };
    const found = PLACES.find(([pattern]) => pattern.test(id));
    return found ? found[1](facts) : { view: "moment", group: "site", at: about("peak_moment") };
}

const advice = (item, kind) =>
    el(
        "li",
        { className: `finding ${item.severity}` },
        el("h3", {}, el("span.severity", {}, kind || item.severity), item.title),
        el("p", {}, item.detail),
        item.fix ? el("p.muted", {}, item.fix) : null,
        el("button", { type: "button", onclick: () => set(placeOf(item.finding || item.id, item.site)) }, "Show"),
    );

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
    { name: "Share", isNumber: true, text: row => `${row.percent.toFixed(1)} %`, bar: row => row.percent / 100 },
    { name: "Peak without it", isNumber: true, text: row => size(row.peak_without_bytes) },
    { name: "Role", text: row => row.role || "" },
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
    const rest = (all.findings || []).filter(item => !done.has(item.id));
    fill(
        body,
        all.to_do?.length
            ? section(
                  "To do",
                  el(
                      "ol.findings",
                      {},
                      all.to_do.map(item => advice(item)),
                  ),
              )
            : null,
        rest.length
            ? section(
                  "Findings",
                  el(
                      "ul.findings",
                      {},
                      rest.map(item => advice(item)),
                  ),
              )
            : null,
        timeline
            ? section(
                  "Peaks",
                  table("Peaks", PEAKS, peaks(timeline), row => goTo(row.event)),
              )
            : null,
        timeline?.call_sites_at_peak?.rows.length
            ? section(
                  "Made at",
                  table("Call sites at the peak", SITES, timeline.call_sites_at_peak.rows, row =>
                      set(placeOf("", row.label)),
                  ),
              )
            : null,
        timeline?.steps?.rows.length
            ? section(
                  "Steps",
                  table("Steps", STEPS, timeline.steps.rows, row => row.peak_event !== null && goTo(row.peak_event)),
              )
            : null,
        all.reliability
            ? section(
                  "How far to trust it",
                  el(
                      "p",
                      {},
                      `${all.reliability.verdict}${all.reliability.reasons.length ? ": " : ""}${all.reliability.reasons.map(reason => reason.text ?? reason).join("; ")}`,
                  ),
              )
            : null,
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
            if (!(error instanceof CoreError)) throw error;
            fill(body, el("p.bad", {}, error.message));
        }
    },
};
