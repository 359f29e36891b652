// SPDX-License-Identifier: Apache-2.0
// The address space at the moment, to scale: all segments as one long strip that is broken into lines, like text.

import { count, el, size } from "./base.js";
import { Channel } from "./core.js";
import { colours, Picture, tone } from "./pen.js";
import { here, moment, NONE, split } from "./runs.js";
import { set, state } from "./state.js";

const LINE = 22,
    BAR = 16,
    GAP = 2;
const FREE = 0,
    PENDING = 2;
let told = null,
    picture,
    note,
    drawn = [],
    lines,
    problem = "";

const channel = new Channel(
    answer => {
        told = answer;
        problem = "";
        summary();
        picture.now();
    },
    error => {
        told = null;
        note.textContent = problem = error.message;
        picture.ask();
    },
);

function summary() {
    const reserved = told.segment_bytes.reduce((a, b) => a + b, 0);
    let free = 0,
        holes = 0,
        largest = 0,
        pending = 0;
    told.block_bytes.forEach((bytes, i) => {
        if (told.block_state[i] === PENDING) pending += bytes;
        if (told.block_state[i] !== FREE) return;
        free += bytes;
        holes++;
        largest = Math.max(largest, bytes);
    });
    note.textContent =
        `${count(told.segment_bytes.length)} segments, ${size(reserved)}; ${count(told.block_bytes.length - holes)} blocks; ${count(holes)} free, ${size(free)}, the largest ${size(largest)}` +
        (pending ? `; ${size(pending)} freed but waiting for another stream` : "");
}

function draw(pen, width, height) {
    drawn = [];
    if (!told) return;
    const all = told.segment_bytes.reduce((a, b) => a + b, 0),
        n = told.segment_bytes.length;
    lines = Math.max(Math.floor(height / LINE), 1);
    // So much room that the last segment ends on the last line, gaps and all.
    const scale = Math.max((lines * width - n * GAP - width * 0.5) / (all || 1), 1e-12);
    let at = 0;
    const piece = (from, bytes, paint) => {
        // a range of the strip, on as many lines as it goes over
        let x = from,
            left = bytes * scale;
        while (left > 1e-6) {
            const line = Math.floor(x / width + 1e-9),
                within = x - line * width,
                w = Math.min(left, width - within);
            paint(Math.max(within, 0), line * LINE + 3, w);
            x += w;
            left -= w;
        }
    };
    for (let s = 0; s < n; s++) {
        piece(at, told.segment_bytes[s], (x, y, w) => pen.rect(x, y, Math.max(w, 0.6), BAR, colours().track));
        const first = told.segment_first[s];
        for (let b = first; b < first + told.segment_blocks[s]; b++) {
            const isFree = told.block_state[b] === FREE;
            piece(at + told.block_offset[b] * scale, told.block_bytes[b], (x, y, w) => {
                drawn.push([s, b, x, y, w]);
                if (!isFree) pen.rect(x, y, Math.max(w - (w > 3 ? 0.7 : 0), 0.5), BAR, tone(told.block_color[b]));
                else if (w > 2) pen.hatch([x, y, x + w, y, x + w, y + BAR, x, y + BAR], colours().hatch);
                if (told.block_state[b] === PENDING)
                    pen.hatch([x, y, x + w, y, x + w, y + BAR, x, y + BAR], colours().ink);
            });
        }
        piece(at, told.segment_bytes[s], (x, y, w) => pen.frame(x, y, w, BAR, colours().line));
        at += told.segment_bytes[s] * scale + GAP;
    }
    for (const [, b, x, y, w] of drawn) {
        if (told.block_changed[b]) pen.frame(x - 2, y - 2, Math.max(w, 2) + 4, BAR + 4, colours().alarm, 2);
        if (told.block_id[b] !== NONE && told.block_id[b] === state.sel)
            pen.frame(x - 1, y - 1, Math.max(w, 2) + 2, BAR + 2, colours().ink, 2);
    }
}

const blockAt = event => {
    const [x, y] = picture.place(event);
    return (
        drawn.findLast(
            ([, , left, top, w]) => x >= left - 0.5 && x < left + Math.max(w, 1) && y >= top && y < top + BAR,
        ) ?? null
    );
};
const addressOf = (s, b) => "0x" + (BigInt(told.segment_address[s]) + BigInt(told.block_offset[b])).toString(16);

function describe(event) {
    const hit = blockAt(event);
    if (!hit) return told && summary();
    const [s, b] = hit,
        what = ["free", "allocated", "freed, waiting for another stream"][told.block_state[b]];
    note.textContent = `${size(told.block_bytes[b])} ${what} at ${addressOf(s, b)}, in a segment of ${size(told.segment_bytes[s])}, ${told.segment_pool[s]}, ${told.segment_stream[s]}`;
}

// The next block with an allocation, for those who have no mouse.
function key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !told) return;
    event.preventDefault();
    event.stopPropagation();
    const n = told.block_id.length;
    let b = told.block_id.indexOf(state.sel ?? NONE);
    b = state.sel === null || b < 0 ? (step > 0 ? 0 : n - 1) : b + step;
    while (b >= 0 && b < n && told.block_id[b] === NONE) b += step;
    if (b >= 0 && b < n) set({ sel: told.block_id[b] });
}

export const spaceView = {
    id: "space",
    title: "Addresses",
    keys: ["run", "dev", "at", "by", "sel"],
    get picture() {
        return picture;
    },
    rows: () => [
        ["segment", "pool", "stream", "address", "bytes", "state", "allocation"],
        ...(told
            ? [...drawn].map(([s, b]) => [
                  told.segment_address[s],
                  told.segment_pool[s],
                  told.segment_stream[s],
                  addressOf(s, b),
                  told.block_bytes[b],
                  ["free", "allocated", "pending"][told.block_state[b]],
                  told.block_id[b] === NONE ? "" : told.block_id[b],
              ])
            : []),
    ],
    start(panel, tools) {
        const scale = el("input", {
            type: "range",
            min: 0,
            max: 4,
            step: 0.5,
            value: 0,
            "aria-label": "Scale",
            oninput: () => (picture.canvas.style.height = `${360 * 2 ** scale.value}px`),
        });
        tools.append(
            el("label", {}, "scale ", scale),
            el("span.muted", {}, "red frame: what this event made or freed; hatched: free"),
        );
        note = el("p.note", { id: "space-note", "aria-live": "polite" });
        const canvas = el("canvas.space", {
            tabIndex: 0,
            role: "application",
            "aria-label": "The address space at the moment; left and right choose the next block",
            onpointermove: describe,
            onpointerleave: () => told && summary(),
            onclick: event => {
                const hit = blockAt(event);
                if (hit && told.block_id[hit[1]] !== NONE) set({ sel: told.block_id[hit[1]] });
            },
            onkeydown: key,
        });
        panel.append(note, el("div.cells", {}, canvas));
        picture = new Picture(canvas, draw);
    },
    update(changed) {
        if (changed?.size === 1 && changed.has("sel")) return picture.ask();
        channel.ask("space", ...here(), moment(), split());
    },
};
