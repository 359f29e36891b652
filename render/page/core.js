// SPDX-License-Identifier: Apache-2.0
// The core's functions (core/page_core.h) as promises. Cores run in workers, so that the page answers whatever is
// computed: one in front for what is drawn while one zooms and steps, one behind it, with the same files, for what
// takes longer.

import { byId, say, unpacked } from "./base.js";

const SLOW = new Set(["json", "finding", "whatif", "compare", "flame_between", "heat"]);
const files = []; // {query, source}, by run

class CoreError extends Error {}
// Why the core did not answer; any other error is a mistake of the page's.
export function expected(error) {
    if (!(error instanceof CoreError)) throw error;
    return error.message;
}

let compiled = null;
// Once for all workers, while the first one starts; read as it is decompressed.
function moduleOnce() {
    const headers = { "Content-Type": "application/wasm" };
    return (compiled ||= WebAssembly.compileStreaming(unpacked(byId("gm-core").textContent, headers)));
}

class Core {
    constructor(how) {
        this.how = how; // more of the query of each file
        this.number = 0;
        this.waiting = new Map();
        this.handles = []; // by run: a promise of the handle
    }

    start() {
        const url = URL.createObjectURL(new Blob([byId("gm-worker").textContent], { type: "text/javascript" }));
        this.worker = new Worker(url);
        this.worker.onmessage = ({ data }) => {
            const { resolve, reject } = this.waiting.get(data.number);
            this.waiting.delete(data.number);
            if (data.error === undefined) return resolve(data.value);
            reject(new CoreError(data.error));
            if (data.isTrap) this.restart(data.error);
        };
        this.worker.onerror = event => this.restart(event.message || "the worker could not be started");
        this.ready = moduleOnce().then(module => this.post({ kind: "start", module }));
        this.ready.catch(error => say(error.message, true));
    }

    async send(message) {
        if (!this.worker) this.start();
        await this.ready;
        return this.post(message);
    }

    post(message) {
        return new Promise((resolve, reject) => {
            this.waiting.set(++this.number, { resolve, reject });
            this.worker.postMessage({ ...message, number: this.number });
        });
    }

    // After a trap nothing in a core can be trusted: a new one, and the files are opened in it when they are asked
    // for.
    restart(why) {
        this.worker.terminate();
        this.worker = null;
        for (const { reject } of this.waiting.values()) reject(new CoreError("stopped"));
        this.waiting.clear();
        this.handles = [];
        say(`The core stopped: ${why}. What you did last did not work; the files are there again.`, true);
    }

    handle(run) {
        return (this.handles[run] ||= this.send({
            kind: "open",
            rules: byId("gm-rules")?.textContent ?? "",
            source: files[run].source,
            query: `${this.how}\n${files[run].query}`,
        }));
    }

    async call(name, runs, args) {
        const handles = [];
        for (const run of runs) handles.push(await this.handle(run));
        return this.send({ kind: "call", name, args: args(handles) });
    }
}

const front = new Core("brief=1"),
    back = new Core("brief=0");
const coreFor = name => (SLOW.has(name) ? back : front);

// Opens a file: a Blob, or base64 text; `query` as page_open's. Resolves to the number of the run.
export async function open(query, source) {
    const run = files.push({ query, source }) - 1;
    try {
        await front.handle(run);
        return run;
    } catch (error) {
        files.length = run;
        front.handles.length = Math.min(front.handles.length, run);
        throw error;
    }
}

// call("timeline", run, ...): page_timeline of the run's handle; an object of typed arrays and texts.
export const call = (name, run, ...args) => coreFor(name).call(name, [run], ([handle]) => [handle, ...args]);
export const compare = (...runs) => back.call("compare", runs, handles => [handles]);
export const flameBetween = (run, dev, moment, base, ...more) =>
    back.call("flame_between", [run, base], ([handle, other]) => [handle, dev, moment, other, ...more]);

// A question that is asked again and again while one drags: of those that wait, only the newest is asked.
export class Channel {
    constructor(show, fail = error => error.message !== "stopped" && say(error.message, true)) {
        this.show = show;
        this.fail = fail;
    }
    ask(...question) {
        this.next = question;
        if (!this.busy) this.run();
    }
    async run() {
        this.busy = true;
        try {
            while (this.next) await this.runNext();
        } finally {
            this.busy = false;
        }
    }
    async runNext() {
        const question = this.next;
        this.next = null;
        try {
            const answer = await call(...question);
            await this.show(answer, question);
        } catch (error) {
            expected(error);
            if (!this.next) this.fail(error, question);
        }
    }
}
