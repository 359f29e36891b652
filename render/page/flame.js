// SPDX-License-Identifier: Apache-2.0
// A flame graph of page_flame's tree: roots above, width is bytes; of a difference, red grew and blue shrank.

import { clamp, count, el, percent, signed, size } from "./base.js";
import { colours, fitted, inkOn, Picture, tone } from "./pen.js";

const ROW = 19;
const GROWN = 0xd1495b,
    SHRUNK = 0x2f6db5,
    SAME = 0x9aa4ae;

export class Flame {
    // tell(text): what is found or under the pointer, as one line.
    constructor(label, tell) {
        this.tell = tell;
        this.told = null;
        this.zoomed = 0;
        this.focus = 0;
        this.canvas = el("canvas.flame", {
            tabIndex: 0,
            role: "application",
            "aria-label": label,
            onpointermove: event => this.hover(event),
            onpointerleave: () => this.describe(null),
            onclick: event => this.click(event),
            onkeydown: event => this.key(event),
        });
        this.picture = new Picture(this.canvas, (pen, width, height) => this.draw(pen, width, height));
    }

    // The tree, and what changes with it only; a zoom that stands in the address is applied by `top`;
    // `isDifference`: of two moments, or runs.
    show(told, top, isDifference) {
        const n = told.parent.length;

        Object.assign(this, { told, isDifference, zoomed: top < n ? top : 0, focus: 0, hits: null });
        this.weight = isDifference ? told.added.map((bytes, i) => bytes + told.gone[i]) : told.bytes;
        this.left = new Float64Array(n);
        const used = new Float64Array(n);
        let deepest = 0;
        for (let i = 1; i < n; i++) {
            const parent = told.parent[i];
            this.left[i] = this.left[parent] + used[parent];
            used[parent] += this.weight[i];
            deepest = Math.max(deepest, told.depth[i]);
        }
        this.children = null;
        this.canvas.style.height = `${(deepest + 1) * ROW + 4}px`;
        this.search(this.text);
        this.picture.measure();
        this.picture.ask();
    }

    // Marks the frames that a regular expression finds, and tells their bytes; what is wrong with it, if it is none.
    search(text) {
        this.text = text;
        this.hits = null;
        this.found = "";
        try {
            if (text && this.told) this.mark(new RegExp(text, "i"));
        } catch (error) {
            this.found = `No regular expression: ${error.message}`;
        }
        this.describe(null);
        this.picture.ask();
    }
    mark(pattern) {
        const { name, file, frame, parent, bytes } = this.told,
            isFound = name.map((text, i) => pattern.test(text) || pattern.test(file[i])),
            inside = new Uint8Array(parent.length); // of a hit: its bytes are counted already
        let sum = 0;
        this.hits = new Uint8Array(parent.length);
        for (let i = 1; i < parent.length; i++) {
            inside[i] = inside[parent[i]] || this.hits[parent[i]];
            this.hits[i] = isFound[frame[i]] ? 1 : 0;
            if (this.hits[i] && !inside[i]) sum += bytes[i];
        }
        this.found = `Found ${size(sum)}, ${percent(sum, bytes[0])} of ${size(bytes[0])}`;
    }

    label(i) {
        if (!i) return "all";
        const { name, file, frame, line } = this.told,
            f = frame[i];
        return file[f] && file[f] !== "??"
            ? `${name[f]}  ${file[f].split("/").pop()}${line?.[f] > 0 ? `:${line[f]}` : ""}`
            : name[f];
    }
    describe(i) {
        if (!this.told) return;
        const { bytes, added, gone, count: counts, self } = this.told;
        const net = k => `${signed(bytes[k])}: ${size(added[k])} came, ${size(gone[k])} went`,
            live = k => `${size(bytes[k])} in ${count(counts[k])} blocks`;
        const all = this.isDifference ? net : live;
        if (i === null) return this.tell(this.found || all(0));
        const more = this.isDifference ? "" : `, ${percent(bytes[i], bytes[0])}`;
        this.tell(`${this.label(i)}: ${all(i)}${more}${self[i] && i ? `, ${size(self[i])} by itself` : ""}`);
    }

    isAbove(i) {
        // i leads to what is zoomed to
        for (let k = this.zoomed; k; k = this.told.parent[k]) if (k === i) return true;
        return i === 0;
    }
    place(i, width) {
        if (this.isAbove(i)) return [0, width];
        const scale = width / (this.weight[this.zoomed] || 1);
        return [(this.left[i] - this.left[this.zoomed]) * scale, this.weight[i] * scale];
    }
    colour(i) {
        if (!this.isDifference) return this.told.color[i];
        const net = this.told.bytes[i],
            share = Math.abs(net) / (this.weight[i] || 1);
        return share < 0.01 ? SAME : mix(SAME, net > 0 ? GROWN : SHRUNK, 0.35 + 0.65 * share);
    }

    draw(pen, width) {
        if (!this.told) return;
        this.drawn = [];
        for (let i = 0; i < this.weight.length; i++) {
            const [x, w] = this.place(i, width),
                y = this.told.depth[i] * ROW + 1;
            if (w < 0.4 || x + w < 0 || x > width) continue;
            const a = clamp(x, 0, width),
                b = clamp(x + w, 0, width),
                isPale = this.hits ? !this.hits[i] : i !== this.zoomed && this.isAbove(i);
            const colour = i ? this.colour(i) : 0x8a929b;
            pen.rect(a, y, Math.max(b - a - (b - a > 2 ? 1 : 0), 0.5), ROW - 1.5, tone(colour));
            if (isPale) pen.rect(a, y, b - a, ROW - 1.5, colours().veil);
            this.drawn.push([i, a, b, y]);
            const text = b - a > 34 ? fitted(this.label(i), b - a - 8) : "";
            if (text) pen.text(a + 4, y + 13, text, isPale ? colours().ink : inkOn(colour));
            if (i === this.focus && document.activeElement === this.canvas)
                pen.frame(a, y, b - a, ROW - 2, colours().ink, 2);
        }
    }

    at(event) {
        const [x, y] = this.picture.place(event);
        return this.drawn?.find(([, a, b, top]) => x >= a && x < b && y >= top && y < top + ROW)?.[0] ?? null;
    }
    hover(event) {
        this.describe(this.at(event));
    }
    click(event) {
        const i = this.at(event);
        if (i !== null) this.zoom(i);
    }
    zoom(i) {
        this.zoomed = this.focus = i;
        this.describe(i);
        this.onzoom?.(i);
        this.picture.ask();
    }
    key(event) {
        const { parent } = this.told || {};
        if (!parent) return;
        const siblings = [...this.drawn].map(d => d[0]).filter(i => i && parent[i] === parent[this.focus]),
            now = siblings.indexOf(this.focus);
        const actions = {
            ArrowDown: () => this.drawn.map(d => d[0]).find(i => i && parent[i] === this.focus),
            ArrowUp: () => this.focus && parent[this.focus],
            ArrowLeft: () => siblings[now - 1],
            ArrowRight: () => siblings[now + 1],
        };
        if (event.key === "Enter") this.zoom(this.focus);
        else if (event.key === "Backspace") this.zoom(0);
        else if (actions[event.key]) {
            this.focus = actions[event.key]() ?? this.focus;
            this.describe(this.focus);
            this.picture.ask();
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }

    // Every frame of the tree as a row: depth, frame, bytes ...
    rows() {
        if (!this.told) return [["frame"]];
        const heads = this.isDifference
            ? ["depth", "frame", "bytes", "came", "went"]
            : ["depth", "frame", "bytes", "self", "blocks"];
        const { depth, bytes, self, count: counts, added, gone } = this.told;
        return [
            heads,
            ...Array.from(depth, (d, i) => [
                d,
                this.label(i),
                bytes[i],
                ...(this.isDifference ? [added[i], gone[i]] : [self[i], counts[i]]),
            ]),
        ];
    }
}

const mix = (from, to, share) =>
    [16, 8, 0].reduce(
        (sum, shift) =>
            sum |
            (Math.round(((from >> shift) & 255) + (((to >> shift) & 255) - ((from >> shift) & 255)) * share) << shift),
        0,
    );
