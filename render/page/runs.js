// SPDX-License-Identifier: Apache-2.0
// The runs that are open, and what is asked of the core once for each.

import { call, open } from "./core.js";
import { state, set } from "./state.js";

// Order as enum gm_page_split, then what enum gm_page_group has beside it.
export const SPLITS = ["role", "category", "component", "module", "sizes", "pool", "stream"];
export const GROUPS = [...SPLITS, "site", "stack", "size", "none"];
const NAMES = { none: "each allocation", site: "call site", stack: "whole stack", size: "equal size", sizes: "size" };
export const groupName = group => NAMES[group] || group;
export const AXES = ["event", "time"];
export const NONE = 0xffffffff;

export const runs = []; // {name, devices, kept}
// The run looked at; none while there is none, or it has no device: then there is nothing to draw.
export const run = () => (runs[state.run]?.devices.device.length ? runs[state.run] : undefined);

// The device looked at: the chosen one, else the one with the highest peak.
export function device() {
    const { devices } = run();
    if (state.dev !== null && state.dev < devices.device.length) return state.dev;
    return devices.peak_bytes.reduce((best, bytes, i) => (bytes > devices.peak_bytes[best] ? i : best), 0);
}
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

// The allocations that "find2" or "todo0" is about, by their numbers in the report.
export const accused = name => keptOf(state.run, "finding", name.startsWith("todo"), parseInt(name.slice(4), 10) || 0);

// Opens a file; `query` as page_open's, lines of key=value.
export async function add(name, source, query = `path=${name}`) {
    const number = await open(query, source);
    runs[number] = { name, devices: await call("devices", number), kept: {} };
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

// Everything that is asked of one device's moments begins so.
export const here = () => [state.run, device()];
export const choose = (patch, why) => set({ ...patch, ...(why ? { view: why } : {}) });
