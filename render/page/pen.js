// SPDX-License-Identifier: Apache-2.0
// Drawing: one set of strokes on a canvas or into an SVG, so that a view is drawn by one function and copied as
// either.

import { el, clamp, copyText, download, say, size, ticks } from "./base.js";

const FONT = '12px system-ui, "DejaVu Sans", sans-serif';

// What stands beside the plots over events or time, one below the other.
export const LEFT = 66;
export const RIGHT = 12;
// The axis of bytes: y(bytes) is where they are drawn, `height` how much room there is.
export function drawBytes(pen, right, height, most, y) {
    for (const bytes of ticks(0, most, height / 45, true)) {
        pen.line([LEFT, Math.round(y(bytes)) + 0.5, right, Math.round(y(bytes)) + 0.5], colours().grid);
        pen.text(LEFT - 8, y(bytes) + 4, size(bytes).replace(/\.0+ /, " "), colours().muted, "right");
    }
}

// ---- colours

const styles = getComputedStyle(document.documentElement);
let theme = null;

// The page's own colours by name: ink, muted, grid, paper, alarm, mark ... (page.css); read again when the theme
// changes.
export function colours() {
    theme ||= new Proxy({}, { get: (kept, name) => (kept[name] ||= styles.getPropertyValue("--" + name).trim()) });
    return theme;
}
export const isDark = () => colours().dark === "1";
export function forgetColours() {
    theme = null;
    toned.clear();
}

const channels = rgb => [(rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255];
const toned = new Map();

// A colour of the core's (0xRRGGBB) as it is drawn: on dark paper a little lighter, for the darkest would vanish.
export function tone(rgb) {
    let text = toned.get(rgb);
    if (!text) {
        const lighter = isDark() ? 0.2 : 0;
        text =
            "#" +
            channels(rgb)
                .map(c =>
                    Math.round(c + (255 - c) * lighter)
                        .toString(16)
                        .padStart(2, "0"),
                )
                .join("");
        toned.set(rgb, text);
    }
    return text;
}

// Ink or paper, whichever is easier to read on the colour.
export function inkOn(rgb) {
    const [r, g, b] = channels(parseInt(tone(rgb).slice(1), 16)).map(c => (c / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.3 ? "#111417" : "#ffffff";
}

// ---- pens: rect, line, area, text. Positions in CSS pixels.

class CanvasPen {
    constructor(context) {
        this.context = context;
        context.font = FONT;
    }
    rect(x, y, w, h, colour) {
        this.context.fillStyle = colour;
        this.context.fillRect(x, y, w, h);
    }
    frame(x, y, w, h, colour, width = 1) {
        this.context.strokeStyle = colour;
        this.context.lineWidth = width;
        this.context.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1, 0), Math.max(h - 1, 0));
    }
    path(points) {
        this.context.beginPath();
        for (let i = 0; i < points.length; i += 2) this.context.lineTo(points[i], points[i + 1]);
    }
    line(points, colour, width = 1, dash) {
        this.path(points);
        this.context.strokeStyle = colour;
        this.context.lineWidth = width;
        this.context.setLineDash(dash || []);
        this.context.stroke();
        this.context.setLineDash([]);
    }
    area(points, colour) {
        this.path(points);
        this.context.fillStyle = colour;
        this.context.fill();
    }
    hatch(points, colour) {
        const { context } = this;
        context.save();
        this.path(points);
        context.clip();
        const xs = points.filter((_, i) => i % 2 === 0),
            ys = points.filter((_, i) => i % 2 === 1);
        const left = Math.min(...xs),
            right = Math.max(...xs),
            top = Math.min(...ys),
            bottom = Math.max(...ys);
        context.strokeStyle = colour;
        context.lineWidth = 1;
        context.beginPath();
        for (let x = left - (bottom - top); x < right; x += 7) {
            context.moveTo(x, bottom);
            context.lineTo(x + bottom - top, top);
        }
        context.stroke();
        context.restore();
    }
    text(x, y, text, colour, align = "left", weight = "") {
        this.context.font = weight ? `${weight} ${FONT}` : FONT;
        this.context.fillStyle = colour;
        this.context.textAlign = align;
        this.context.textBaseline = "alphabetic";
        this.context.fillText(text, x, y);
    }
    clip(x, y, w, h, draw) {
        this.context.save();
        this.context.beginPath();
        this.context.rect(x, y, w, h);
        this.context.clip();
        draw();
        this.context.restore();
    }
    image(picture, x, y, w, h) {
        this.context.imageSmoothingEnabled = false;
        this.context.drawImage(picture, x, y, w, h);
    }
}

const SVG = "http://www.w3.org/2000/svg";
const short = value => Number(value.toFixed(2));

class SvgPen {
    constructor(width, height) {
        this.parent = this.root = document.createElementNS(SVG, "svg");
        this.clips = 0;
        this.put("", {
            xmlns: SVG,
            width,
            height,
            viewBox: `0 0 ${width} ${height}`,
            "font-family": "system-ui, DejaVu Sans, sans-serif",
            "font-size": 12,
        });
        this.rect(0, 0, width, height, colours().paper);
    }
    put(name, attributes, text) {
        const element = name ? document.createElementNS(SVG, name) : this.root;
        for (const [key, value] of Object.entries(attributes))
            if (value !== undefined) element.setAttribute(key, typeof value === "number" ? short(value) : value);
        if (text !== undefined) element.textContent = text;
        if (name) this.parent.append(element);
        return element;
    }
    rect(x, y, width, height, fill) {
        this.put("rect", { x, y, width, height, fill });
    }
    frame(x, y, width, height, stroke, w = 1) {
        this.put("rect", {
            x: x + 0.5,
            y: y + 0.5,
            width: Math.max(width - 1, 0),
            height: Math.max(height - 1, 0),
            fill: "none",
            stroke,
            "stroke-width": w,
        });
    }
    line(points, stroke, width = 1, dash) {
        this.put("polyline", {
            points: Array.from(points, short).join(" "),
            fill: "none",
            stroke,
            "stroke-width": width,
            "stroke-dasharray": dash?.join(" "),
        });
    }
    area(points, fill) {
        this.put("polygon", { points: Array.from(points, short).join(" "), fill });
    }
    hatch(points, stroke) {
        const id = "hatch";
        if (!this.root.querySelector("#hatch")) {
            const pattern = this.put("pattern", { id, width: 7, height: 7, patternUnits: "userSpaceOnUse" });
            this.inside(pattern, () => this.put("path", { d: "M-1 1L1 -1M0 7L7 0M6 8L8 6", stroke }));
        }
        this.put("polygon", { points: Array.from(points, short).join(" "), fill: `url(#${id})` });
    }
    text(x, y, text, fill, align = "left", weight = "") {
        this.put(
            "text",
            {
                x,
                y,
                fill,
                "font-weight": weight || undefined,
                "text-anchor": { left: "start", center: "middle", right: "end" }[align],
            },
            text,
        );
    }
    inside(element, draw) {
        const { parent } = this;
        this.parent = element;
        draw();
        this.parent = parent;
    }
    clip(x, y, width, height, draw) {
        const id = `clip${++this.clips}`;
        this.inside(this.put("clipPath", { id }), () => this.put("rect", { x, y, width, height }));
        this.inside(this.put("g", { "clip-path": `url(#${id})` }), draw);
    }
    image(picture, x, y, width, height) {
        this.put("image", {
            x,
            y,
            width,
            height,
            href: picture.toDataURL(),
            preserveAspectRatio: "none",
            "image-rendering": "pixelated",
        });
    }
}

const measure = document.createElement("canvas").getContext("2d");
const widths = new Map();
export function textWidth(text) {
    let width = widths.get(text);
    if (width === undefined) {
        if (widths.size > 5000) widths.clear();
        measure.font = FONT;
        widths.set(text, (width = measure.measureText(text).width));
    }
    return width;
}
// As much of the text as there is room for, "" if that is next to nothing.
export function fitted(text, room) {
    if (textWidth(text) <= room) return text;
    const n = Math.floor(text.length * clamp(room / textWidth(text), 0, 1)) - 1;
    return n >= 3 ? text.slice(0, n) + "…" : "";
}

// ---- a picture: a canvas as wide as its place, drawn when asked at most once a frame

export class Picture {
    // draw(pen, width, height) draws everything; `label` is what a screen reader says.
    constructor(canvas, draw) {
        this.canvas = canvas;
        this.draw = draw;
        this.asked = 0;
        this.width = this.height = 0;
        new ResizeObserver(() => this.measure()).observe(canvas);
    }
    measure() {
        const { clientWidth: width, clientHeight: height } = this.canvas;
        if (width === this.width && height === this.height && this.scale === devicePixelRatio) return;
        Object.assign(this, { width, height, scale: devicePixelRatio });
        this.canvas.width = Math.round(width * this.scale);
        this.canvas.height = Math.round(height * this.scale);
        this.onresize?.();
        this.now();
    }
    ask() {
        this.asked ||= requestAnimationFrame(() => this.now());
    }
    now() {
        cancelAnimationFrame(this.asked);
        this.asked = 0;
        if (!this.width || !this.height) return;
        const context = this.canvas.getContext("2d");
        context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
        context.clearRect(0, 0, this.width, this.height);
        this.draw(new CanvasPen(context), this.width, this.height);
    }
    place(event) {
        const box = this.canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    }
    svg() {
        const pen = new SvgPen(this.width, this.height);
        this.draw(pen, this.width, this.height);
        return new XMLSerializer().serializeToString(pen.root);
    }
    png() {
        const copy = el("canvas", { width: this.canvas.width, height: this.canvas.height });
        const context = copy.getContext("2d");
        context.fillStyle = colours().paper;
        context.fillRect(0, 0, copy.width, copy.height);
        context.drawImage(this.canvas, 0, 0);
        return new Promise(done => copy.toBlob(done, "image/png"));
    }
    async copyPng(name) {
        const blob = await this.png();
        try {
            await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
            say("Copied as PNG.");
        } catch {
            download(name + ".png", "image/png", blob);
            say("The browser does not let this page copy a picture: saved as a file instead.");
        }
    }
    async copySvg(name) {
        const text = this.svg();
        if (await copyText(text)) return say("Copied as SVG.");
        download(name + ".svg", "image/svg+xml", text);
        say("The browser does not let this page copy: saved as a file instead.");
    }
}
