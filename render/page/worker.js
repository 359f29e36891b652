// SPDX-License-Identifier: Apache-2.0
// The worker: the core (core/page_core.h) in WebAssembly, and its results as typed arrays. It knows no function by its
// meaning.
"use strict";

let core = null;
const utf8 = new TextDecoder(),
    toUtf8 = new TextEncoder();

function fromBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const raw = atob(text),
        bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
}

async function start({ module }) {
    core = (await WebAssembly.instantiate(module, {})).exports;
    core._initialize();
    const seed = put(crypto.getRandomValues(new Uint8Array(16)));
    core.page_seed(seed);
    core.page_free(seed);
}

function put(bytes) {
    if (!core) throw Error("the core could not be started");
    const at = core.page_alloc(Math.max(bytes.length, 1)) >>> 0;
    if (!at) throw Error(TOO_LARGE);
    new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
    return at;
}
const putText = text => put(toUtf8.encode(text + "\0"));

function textAt(at) {
    const bytes = new Uint8Array(core.memory.buffer, at);
    return utf8.decode(bytes.subarray(0, bytes.indexOf(0)));
}

function stringsAt(at, count) {
    const starts = new Uint32Array(core.memory.buffer, at, count + 1),
        from = at + 4 * (count + 1);
    return Array.from({ length: count }, (_, i) =>
        utf8.decode(new Uint8Array(core.memory.buffer, from + starts[i], starts[i + 1] - starts[i])),
    );
}

// enum gm_page_type
const READERS = [
    (at, count) => new Uint8Array(core.memory.buffer, at, count).slice(),
    (at, count) => new Uint32Array(core.memory.buffer, at, count).slice(),
    (at, count) => new Int32Array(core.memory.buffer, at, count).slice(),
    (at, count) => new Float64Array(core.memory.buffer, at, count).slice(),
    (at, count) => utf8.decode(new Uint8Array(core.memory.buffer, at, count)),
    stringsAt,
];

// struct gm_page_result
function result(at) {
    const [count, arrays] = new Uint32Array(core.memory.buffer, at, 2),
        told = {};
    for (let i = 0; i < count; i++) {
        const [name, type, data, length] = new Uint32Array(core.memory.buffer, arrays + 16 * i, 4);
        told[textAt(name)] = length || type > 3 ? READERS[type](data, length) : READERS[type](8, 0);
    }
    return told;
}

const TOO_LARGE =
    "more than the 4 GiB that a page can have: use gmanalyze on the command line (--from and --to for a part), or record fewer events (max_entries)";

async function open({ query, source, rules }) {
    if (source.size >= 2 ** 32) throw Error(TOO_LARGE);
    const bytes = typeof source === "string" ? fromBase64(source.trim()) : new Uint8Array(await source.arrayBuffer());
    const data = put(bytes),
        asked = putText(query);
    const words = fromBase64(rules.trim()),
        lent = put(words);
    const handle = core.page_open(data, bytes.length, asked, lent, words.length) >>> 0;
    const why = textAt(core.page_error() >>> 0);
    core.page_free(data);
    core.page_free(asked);
    core.page_free(lent);
    if (!handle) throw Error(why);
    return handle;
}

// Numbers and booleans go as they are; a text, or a list of numbers with its length, is put into the core's memory
// first.
function call({ name, args }) {
    const lent = [];
    const lend = at => (lent.push(at), at);
    const given = args.flatMap(arg =>
        typeof arg === "string"
            ? [lend(putText(arg))]
            : typeof arg === "object"
              ? [lend(put(new Uint8Array(Uint32Array.from(arg).buffer))), arg.length]
              : [arg],
    );
    if (!core["page_" + name]) throw Error(`this core has no page_${name}`);
    const at = core["page_" + name](...given) >>> 0;
    const told = at ? result(at) : textAt(core.page_error() >>> 0);
    lent.forEach(core.page_free);
    if (!at) throw Error(told);
    return told;
}

// One at a time, in the order in which they were asked.
let last = Promise.resolve();
onmessage = ({ data }) => {
    last = last.then(async () => {
        try {
            const value = await { start, open, call }[data.kind](data);
            const transfer =
                value && typeof value === "object"
                    ? Object.values(value)
                          .filter(ArrayBuffer.isView)
                          .map(view => view.buffer)
                    : [];
            postMessage({ number: data.number, value }, transfer);
        } catch (error) {
            postMessage({
                number: data.number,
                error: error.message,
                isTrap: error instanceof WebAssembly.RuntimeError || error instanceof RangeError,
            });
        }
    });
};
