// SPDX-License-Identifier: Apache-2.0
// The page's core in node, without a page: its analysis.json is gmanalyze's byte by byte on the demo and the real snapshots, its
// answers agree with each other and with that file, and hostile files end in one line, never in a trap.
// usage: node core.mjs PAGE_WASM GMANALYZE
import { execFileSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const [wasm, gmanalyze, ...fixtures] = process.argv.slice(2); // fixtures: folders of files that are fine
const source = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "gm_core_"));
const module = new WebAssembly.Module(fs.readFileSync(wasm));
let failures = 0, hostiles = 0;
const check = (ok, what) => ok || (failures++, console.error(`FAILED: ${what}`));
check(WebAssembly.Module.imports(module).length === 0, "the core imports nothing");

class Core {
    constructor() {
        this.e = new WebAssembly.Instance(module).exports;
        this.e._initialize();
        const seed = this.put(crypto.randomBytes(16));
        this.e.page_seed(seed);
    }
    put(bytes) {
        const p = this.e.page_alloc(bytes.length) >>> 0;
        new Uint8Array(this.e.memory.buffer, p, bytes.length).set(bytes);
        return p;
    }
    text(p) {
        const bytes = new Uint8Array(this.e.memory.buffer, p >>> 0);
        return Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString();
    }
    open(bytes, query = "") {
        const data = this.put(bytes), asked = this.put(Buffer.from(query + "\0"));
        const handle = this.e.page_open(data, bytes.length, asked, 0, 0);
        this.e.page_free(data);
        this.e.page_free(asked);
        return handle;
    }
    // The arrays of an answer, copied; an exception with the reason if there is none.
    read(p) {
        if (p === 0) throw new Error(this.text(this.e.page_error()));
        const buffer = this.e.memory.buffer, out = {};
        const [count, arrays] = new Uint32Array(buffer, p >>> 0, 2);
        for (let i = 0; i < count; i++) {
            const [name, type, data, n] = new Uint32Array(buffer, arrays + 16 * i, 4);
            const View = [Uint8Array, Uint32Array, Int32Array, Float64Array, Uint8Array, Uint32Array][type];
            const array = new View(buffer, data, type === 5 ? n + 1 : n).slice();
            out[this.text(name)] = type === 4 ? Buffer.from(array).toString() : array;
        }
        return out;
    }
}

function snapshots() {
    const folder = path.join(process.env.GM_SHARED || path.join(source, "..", "shared"), "snapshots");
    const every = Number(process.env.GM_SAMPLE || 1);
    const real = fs.existsSync(folder) ? fs.readdirSync(folder).filter(name => /\.(pickle|pkl|html)$/.test(name)) : [];
    if (real.length === 0) console.log("no real snapshots here: the demo only");
    return [path.join(source, "tests/data/demo.gmtrace"),
        ...real.sort().filter((_, i) => i % every === 0).map(name => path.join(folder, name))];
}

const sum = array => array.reduce((a, b) => a + b, 0);

// What answers say of one device, among each other and beside analysis.json.
function checkDevice(core, handle, d, json, devices, name) {
    const { e } = core, events = devices.events[d], peak = devices.peak_moment[d];
    const all = core.read(e.page_timeline(handle, d, 0, 0, 0, events, 500));
    check(Math.max(...all.total) === devices.top_bytes[d], `${name}: no column loses the peak`);
    check(Math.max(...all.reserved) === devices.reserved[d], `${name}: nor reserved bytes`);
    for (const columns of [1, 7, 1200]) {
        const part = core.read(e.page_timeline(handle, d, 1, columns % 2, events / 3, events / 2, columns));
        const layers = part.name.length - 1;
        part.total.forEach((total, i) => check(sum(part.layer.slice(i * layers, (i + 1) * layers)) === total,
            `${name}: layers of column ${i} sum to its bytes`));
    }
    const told = json.timeline?.devices?.find(row => row.device === devices.device[d]);
    if (told) check(devices.peak_bytes[d] === told.peak_requested_bytes && devices.reserved[d] >= told.peak_reserved_bytes,
        `${name}: peaks are analysis.json's`);
    for (let group = 0; group < 11; group++) {
        const moment = core.read(e.page_moment(handle, d, peak, group, 5));
        check(sum(moment.bytes) + moment.rest_bytes[0] === moment.active[0], `${name}: group ${group} sums to active bytes`);
    }
    const flame = core.read(e.page_flame(handle, d, peak, 0xffffffff, 0, 1));
    check(flame.bytes[0] === core.read(e.page_where(handle, d, 0, peak)).requested[0], `${name}: the flame graph is all of it`);
    if (devices.is_reconstructed[d]) checkSpace(core, handle, d, peak, name);
}

function checkSpace(core, handle, d, moment, name) {
    const { e } = core, levels = core.read(e.page_where(handle, d, 0, moment));
    const space = core.read(e.page_space(handle, d, moment, 0));
    const reserved = sum(space.segment_bytes), held = sum(space.block_bytes);
    check(reserved === held, `${name}: blocks and holes tile the segments`);
    check(reserved === levels.reserved[0], `${name}: segments ${reserved} are the reserved ${levels.reserved[0]}`);
}

function checkSnapshot(file) {
    const name = path.basename(file), out = path.join(scratch, "out.json");
    try {
        execFileSync(gmanalyze, ["-q", "--no-charts", "--no-page", "-o", path.join(scratch, "runs"), "-n", "core",
            "--json", out, file], { stdio: ["ignore", "ignore", "ignore"] });
    } catch { /* told below: there is no JSON */ }
    const core = new Core();
    const expected = fs.existsSync(out) ? fs.readFileSync(out, "utf8") : null;
    const created = expected && JSON.parse(expected).created;
    const handle = core.open(fs.readFileSync(file), `path=${file}\nname=core\ncreated=${created}`);
    check((handle !== 0) === (expected !== null), `${name}: read by both or by neither`);
    if (handle === 0 || expected === null) return;
    const json = core.read(core.e.page_json(handle)).json;
    check(json === expected, `${name}: analysis.json`);
    if (json !== expected) fs.writeFileSync(path.join(os.tmpdir(), "gm_core_json"), json);
    const devices = core.read(core.e.page_devices(handle));
    for (let d = 0; d < devices.device.length; d++) checkDevice(core, handle, d, JSON.parse(json), devices, name);
    fs.rmSync(out, { force: true });
}

// Every question, of whatever was opened: an answer or one line.
function askAll(core, handle) {
    const { e } = core, empty = core.put(Buffer.from("\0")), kinds = core.put(Buffer.from("kind=freed\nmin_size=512\0"));
    const ask = p => { try { return core.read(p); } catch (error) { check(!error.message.includes("\n"), "one line"); return null; } };
    const json = ask(e.page_json(handle)), report = json && JSON.parse(json.json);
    const devices = ask(e.page_devices(handle)) || { device: [] };
    for (let d = 0; d < devices.device.length; d++) {
        const n = devices.events[d];
        for (let split = 0; split < 8; split++) ask(e.page_timeline(handle, d, split, split % 2, 0, n, 50));
        ask(e.page_timeline(handle, d, 0, 0, NaN, -1, 0));
        ask(e.page_marks(handle, d));
        ask(e.page_bars(handle, d, 0, 0, 0, n, 50, 0, 100));
        for (const m of [0, n >>> 1, n, n + 1]) {
            for (let group = 0; group < 12; group++) ask(e.page_moment(handle, d, m, group, 3));
            ask(e.page_space(handle, d, m, 0));
            ask(e.page_event(handle, d, m));
            ask(e.page_allocation(handle, d, m));
            ask(e.page_flame(handle, d, m, 0, m % 2, 1));
        }
        for (const query of [empty, kinds]) ask(e.page_events(handle, d, query, 0, 10, n >>> 1));
        for (const item of [...(report?.findings ?? []), ...(report?.to_do ?? [])]) {
            const query = core.put(Buffer.from(`${item.id ? `id=${item.id}\n` : ""}detail=${item.detail}\0`));
            const found = ask(e.page_finding(handle, query));
            check(found, `the finding ${item.id} is found again`);
            if (found) ask(e.page_mark(handle, found.device[0], core.put(Buffer.from(found.allocation.buffer)), found.allocation.length));
        }
        ask(e.page_allocations(handle, d, empty, 0, 10));
        ask(e.page_heat(handle, d, 0, 0, n, 20, 20));
        ask(e.page_whatif(handle, d, empty, 20));
    }
    ask(e.page_devices(handle + 7));
    e.page_close(handle);
    ask(e.page_json(handle));
}

function checkHostile(bytes, what) {
    hostiles++;
    const core = new Core();
    try {
        const handle = core.open(bytes, "path=hostile\nsalvage=1");
        if (handle !== 0) askAll(core, handle);
        else check(/^[^\n]{5,}$/.test(core.text(core.e.page_error())), `${what}: one line says why`);
    } catch (error) {
        check(false, `${what}: ${error}`);
    }
}

function hostile() {
    for (const corpus of [path.join(source, "tests/fuzz/corpus"), ...fixtures])
        for (const file of fs.readdirSync(corpus, { recursive: true }).map(String)) {
            const where = path.join(corpus, file);
            if (fs.statSync(where).isFile()) checkHostile(fs.readFileSync(where), file);
        }
    const demo = fs.readFileSync(path.join(source, "tests/data/demo.gmtrace"));
    for (let i = 0; i < 40; i++) { // the same damage every time
        const damaged = Buffer.from(demo.subarray(0, i % 2 ? demo.length : (demo.length * i) / 40));
        for (let k = 0; k < i && damaged.length > 0; k++) damaged[(k * 7919 + i * 104729) % damaged.length] ^= 1 << (k % 8);
        checkHostile(damaged, `demo damaged ${i}`);
    }
}

const files = snapshots();
for (const file of files) checkSnapshot(file);
hostile();
fs.rmSync(scratch, { recursive: true, force: true });
console.log(`${files.length} snapshots, ${hostiles} damaged files, ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
