// SPDX-License-Identifier: Apache-2.0
// What is looked at: the one selection and the one range of all views. It stands in the URL's fragment, so that a link
// shows what its sender saw. Views change it with `set` and are told with `on`; nothing else is shared between them.

// The type of a default is the type of the key; null is "nothing chosen".
const DEFAULTS = {
    // of all: which run, which device, what the layers are, what the axis counts, the range, the moment, the
    // allocation
    run: 0,
    dev: null,
    by: "role",
    axis: "event",
    from: null,
    to: null,
    at: null,
    sel: null,
    view: "moment",
    theme: "",
    draw: "auto",
    detail: 0,
    reserved: true, // timeline
    group: "role",
    map: false, // moment
    then: null,
    inverted: false,
    folds: true,
    find: "",
    top: 0, // stacks; `then` is the moment compared with
    sort: "size",
    up: false,
    min: "",
    max: "",
    life: "",
    role: "",
    category: "",
    component: "",
    module: "",
    sizes: "",
    pool: "",
    stream: "",
    site: "",
    text: "",
    regex: false,
    alive: "all",
    finding: "", // allocations; the finding is "find2" or "todo0", by its number in the report
    kind: "",
    least: "", // events
    memory: null,
    conf: "recorded",
    scale: "", // what if
    other: null, // compare
};
const NUMBERS = new Set(["run", "dev", "from", "to", "at", "sel", "detail", "then", "top", "memory", "other"]);
// What narrows the list of allocations down.
export const FILTERS = (
    "min max life role category component module sizes pool stream site text regex alive finding"
).split(" ");

export const state = { ...DEFAULTS };
// What these keys are where nothing is chosen.
export const unset = keys => Object.fromEntries(keys.map(key => [key, DEFAULTS[key]]));
const listeners = [];
let writing = 0;
let known = ""; // the address that was read or written last

function read() {
    known = location.hash;
    const given = new URLSearchParams(location.hash.slice(1));
    for (const [key, standard] of Object.entries(DEFAULTS)) {
        const text = given.get(key);
        if (text === null) state[key] = standard;
        else if (NUMBERS.has(key)) state[key] = text !== "" && isFinite(text) ? Number(text) : standard;
        else state[key] = typeof standard === "boolean" ? text === "1" : text;
    }
}

function write() {
    writing = 0;
    if (location.hash !== known) return; // gone elsewhere meanwhile: hashchange comes
    const told = new URLSearchParams();
    for (const [key, standard] of Object.entries(DEFAULTS))
        if (state[key] !== standard)
            told.set(key, typeof standard === "boolean" ? (state[key] ? "1" : "0") : (state[key] ?? ""));
    const text = told.toString();
    if (text !== location.hash.slice(1)) history.replaceState(null, "", "#" + text);
    known = location.hash;
}

// on(listener): called with the set of keys that changed.
export const on = listener => void listeners.push(listener);

export function set(patch) {
    const changed = new Set(Object.keys(patch).filter(key => key in DEFAULTS && state[key] !== patch[key]));
    if (!changed.size) return;
    for (const key of changed) state[key] = patch[key];
    // Browsers refuse more than some hundred changes of the address in half a minute.
    writing ||= setTimeout(write, 250);
    for (const listener of listeners) listener(changed);
}

// The address as it is now, for a link that is copied at once.
export function link() {
    clearTimeout(writing);
    write();
    return location.href;
}

read();
addEventListener("hashchange", () => {
    const before = { ...state };
    read();
    const changed = new Set(Object.keys(DEFAULTS).filter(key => before[key] !== state[key]));
    if (changed.size) for (const listener of listeners) listener(changed);
});
