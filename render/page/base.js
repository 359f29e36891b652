// SPDX-License-Identifier: Apache-2.0
// What all views use: elements made without markup, numbers as the reports write them, files and the clipboard.

// el("button.big", {onclick, title, "aria-label"}, "text", otherElement, ...). Text only ever becomes a text node.
export function el(name, attributes, ...children) {
    const [tag, ...classes] = name.split(".");
    const element = document.createElement(tag);
    if (classes.length) element.className = classes.join(" ");
    for (const [key, value] of Object.entries(attributes || {})) {
        if (value === undefined || value === null || value === false) continue;
        if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else if (key in element && key !== "list" && key !== "form") element[key] = value;
        else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(
        ...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false),
    );
    return element;
}

export const button = (text, onclick, more) => el("button", { type: "button", onclick, ...more }, text);
// choices: texts, or [value, text].
export const options = choices =>
    choices.map(choice => {
        const [value, text] = [choice].flat();
        return el("option", { value }, text ?? value);
    });
export function select(label, choices, onchange) {
    return el("select", { "aria-label": label, onchange: event => onchange(event.target.value) }, options(choices));
}
// A field that is read while one types.
export function search(placeholder, width, oninput, more) {
    const field = el("input", {
        type: "search",
        placeholder,
        "aria-label": placeholder,
        oninput: () => oninput(field.value),
        ...more,
    });
    field.style.width = width;
    return field;
}
export const pair = (name, value, id) => [el("dt", {}, name), el("dd", { id }, value)];

export const byId = id => document.getElementById(id);
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
export const fill = (element, ...children) => element.replaceChildren(...children.flat().filter(Boolean));

// ---- numbers: the same in every locale

export function count(n) {
    return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function size(bytes) {
    if (bytes === null || bytes === undefined || isNaN(bytes)) return "n/a";
    const sign = bytes < 0 ? "-" : "";
    let value = Math.abs(bytes),
        unit = 0;
    for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
    if (!unit) return `${sign}${count(value)} B`;
    const digits = value >= 100 ? 1 : 2;
    if (value >= 1023.95 && unit < UNITS.length - 1) return `${sign}1.00 ${UNITS[unit + 1]}`;
    return `${sign}${value.toFixed(digits)} ${UNITS[unit]}`;
}

// "20 GiB", "512MB", "1.5e9" as bytes; null if it is no size.
export function parseSize(text) {
    const match = /^\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]?)(i?)b?\s*$/i.exec(text);
    if (!match || isNaN(match[1])) return null;
    return Math.round(
        Number(match[1]) * (match[3] || !match[2] ? 1024 : 1000) ** " kmgt".indexOf(match[2].toLowerCase() || " "),
    );
}

export function span(microseconds) {
    if (microseconds === null || microseconds === undefined) return "n/a";
    const us = Math.abs(microseconds),
        sign = microseconds < 0 ? "-" : "";
    if (us < 1e3) return `${sign}${us.toFixed(0)} µs`;
    if (us < 1e6) return `${sign}${trim(us / 1e3)} ms`;
    if (us < 120e6) return `${sign}${trim(us / 1e6)} s`;
    return us < 7200e6 ? `${sign}${trim(us / 60e6)} min` : `${sign}${trim(us / 3600e6)} h`;
}

const trim = value => String(Number(value.toFixed(3)));
export const signed = bytes => (bytes > 0 ? "+" : "") + size(bytes);
export const percents = value =>
    value > 0 && value < 0.05 ? "<0.1 %" : `${(value < 100 ? Math.min(value, 99.9) : value).toFixed(1)} %`;
export const percent = (part, whole) => (whole ? percents((100 * part) / whole) : "");

// Round places for about n ticks from low to high: whole ones for counts, powers of two times a unit for bytes.
export function ticks(low, high, n, isBytes) {
    const range = Math.max(high - low, 1e-9) / Math.max(n, 1);
    let step;
    if (isBytes) {
        const unit = 1024 ** clamp(Math.floor(Math.log(Math.max(range, 1)) / Math.log(1024)), 0, 5);
        step =
            unit *
            ([1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 400, 512].find(s => s * unit >= range) ||
                1024);
    } else {
        const unit = 10 ** Math.floor(Math.log10(range));
        step = unit * ([1, 2, 5].find(s => s * unit >= range) || 10);
    }
    const places = [];
    for (let i = Math.ceil(low / step); i * step <= high && places.length < 100; i++) places.push(i * step);
    return places;
}

// What the page carries, gzip in base64, as the answer to a request.
export function unpacked(text, headers) {
    const raw = atob(text.trim()),
        bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")), { headers });
}

// ---- what goes out of the page

export function download(name, type, data) {
    const url = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], { type }));
    el("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Copies text; where the browser keeps the clipboard to itself (file://, no permission) by an old way, and says if it
// went.
export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const area = el("textarea", { value: text, readOnly: true, className: "offscreen" });
        document.body.append(area);
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        return done;
    }
}

const csvCell = value => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
const markdownCell = value => value.replaceAll("|", "\\|").replace(/[\n\r]/g, " ");

// Rows of strings, the first one the heads.
export const toCsv = rows => rows.map(row => row.map(value => csvCell(String(value))).join(",")).join("\n") + "\n";
export function toMarkdown(rows) {
    const line = row => `| ${row.map(value => markdownCell(String(value))).join(" | ")} |`;
    return [line(rows[0]), line(rows[0].map(() => "---")), ...rows.slice(1).map(line)].join("\n") + "\n";
}

// ---- one line that says what happened, also to a screen reader

export function say(text, isBad) {
    const line = byId("says");
    line.textContent = text;
    line.classList.toggle("bad", Boolean(isBad));
    line.hidden = !text;
}
