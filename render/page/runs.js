// SPDX-License-Identifier: Apache-2.0
// The runs that are open, and what is asked of the core once for each.

import { count, span } from "./base.js";
import { call, open } from "./core.js";
import { state } from "./state.js";

// Order as enum gm_page_split, then what enum gm_page_group has beside it.
export const SPLITS = ["role", "category", "component", "module", "sizes", "pool", "stream"];
export const GROUPS = [...SPLITS, "site", "stack", "size", "none"];
const NAMES = { none: "each allocation", site: "call site", stack: "whole stack", size: "equal size", sizes: "size" };
export const groupName = group => NAMES[group] || group;
const AXES = ["event", "time"];
export const NONE = 0xffffffff;

export const runs = []; // {name, devices, kept}
// The run looked at; none while there is none, or it has no device: then there is nothing to draw.
export const run = () => (runs[state.run]?.devices.device.length ? runs[state.run] : undefined);

// The device with the highest peak.
export const highest = number =>
    runs[number].devices.peak_bytes.reduce((best, bytes, i, all) => (bytes > all[best] ? i : best), 0);
// The device looked at: the chosen one, else that one.
export const device = () =>
    state.dev !== null && state.dev < run().devices.device.length ? state.dev : highest(state.run);
export const about = name => run().devices[name][device()];
export const axis = () => AXES.indexOf(state.axis === "time" && about("has_times") ? "time" : "event");
export const length = () => (axis() ? about("span_us") : about("events"));
export const range = () => [state.from ?? 0, state.to ?? length()];
// The moment looked at: the chosen one, else the peak.
export const moment = () => Math.min(state.at ?? about("peak_moment"), about("events"));
export const split = () => Math.max(SPLITS.indexOf(state.by), 0);

// What does not change, asked once: kept("marks", device()).
export function kept(name, ...args) {
    return keptOf(state.run, name, ...args);
}
export function keptOf(number, name, ...args) {
    const key = [name, ...args].join();
    return (runs[number].kept[key] ||= call(name, number, ...args));
}
export const analysis = (number = state.run) =>
    (runs[number].analysis ||= keptOf(number, "json").then(told => JSON.parse(told.json)));

// "find2" or "todo0" in the report: the item, and the allocations that it is about.
export async function accused(name) {
    const all = await analysis(),
        item = (name.startsWith("todo") ? all.to_do : all.findings)?.[parseInt(name.slice(4), 10)];
    const id = item?.finding ?? item?.id;
    return { item, ...(await keptOf(state.run, "finding", `${id ? `id=${id}\n` : ""}detail=${item?.detail}`)) };
}

// Opens a file; `query` as page_open's, lines of key=value; `report`: its analysis.json, where the file has it.
export async function add(name, source, query = `path=${name}`, report = undefined) {
    const number = await open(query, source),
        devices = await call("devices", number);
    runs[number] = { name, devices, kept: {}, analysis: report };
    for (const row of (await report)?.timeline?.devices ?? []) {
        const i = devices.device.indexOf(row.device);
        if (!row.filter || i < 0) continue; // else it is the same
        devices.peak_moment[i] = row.peak_event === null ? 0 : row.peak_event + 1;
        devices.peak_bytes[i] = row.peak_requested_bytes;
    }
    return number;
}

// The device's part of analysis.json, and the device's part of its timeline (null without a trace).
export async function analysed() {
    const all = await analysis(),
        ordinal = about("device");
    return {
        all,
        state: all.devices.find(d => d.device === ordinal),
        timeline: all.timeline?.devices.find(d => d.device === ordinal) ?? null,
    };
}

// A text and how long after the first event that was, where it is known; how long an allocation lives.
export const lasting = (text, us) => (isFinite(us) ? `${text}, ${span(us)}` : text);
export const lifeOf = told => lasting(`${count(told.life_events[0])} events`, told.life_us[0]);

// Everything that is asked of one device's moments begins so.
export const here = () => [state.run, device()];
