// SPDX-License-Identifier: Apache-2.0
// Tables: all rows at once for some hundred, a window that scrolls over any number.

import { clamp, el, fill } from "./base.js";

// columns: [{name, text(row), isNumber, swatch(row), bar(row): 0..1, sort}]. A row that is chosen calls choose(row).
export function table(caption, columns, rows, choose, isChosen) {
    const head = el(
        "tr",
        {},
        columns.map(c => el("th", { scope: "col", className: c.isNumber ? "number" : "" }, c.name)),
    );
    const body = rows.map(row => rowOf(columns, row, choose, isChosen?.(row)));
    return el("table", {}, el("caption.hidden", {}, caption), el("thead", {}, head), el("tbody", {}, body));
}

function rowOf(columns, row, choose, isChosen) {
    const cells = columns.map(column => cellOf(column, row));
    const attributes = choose
        ? {
              tabIndex: 0,
              className: isChosen ? "chosen" : "link",
              onclick: () => choose(row),
              onkeydown: event => event.key === "Enter" && choose(row),
          }
        : {};
    return el("tr", attributes, cells);
}

function cellOf(column, row) {
    const cell = el(column.isNumber ? "td.number" : "td", {});
    if (column.swatch) {
        const swatch = el("span.swatch", {});
        swatch.style.background = column.swatch(row);
        cell.append(swatch);
    }
    const text = column.text(row);
    cell.append(text);
    if (!column.isNumber) cell.title = text;
    if (column.bar) cell.style.setProperty("--share", `${clamp(column.bar(row), 0, 1) * 100}%`);
    return cell;
}

// Rows out of an answer, which has columns.
export const rowsFrom = (told, names) =>
    Array.from(told[names[0]], (_, i) => Object.fromEntries(names.map(name => [name, told[name][i]])));

// The rows as texts, heads first, for a copy.
export const texts = (columns, rows) => [columns.map(c => c.name), ...rows.map(row => columns.map(c => c.text(row)))];

const ROW = 26; // pixels; page.css says the same to .virtual .row
const TALLEST = 8_000_000; // browsers draw no element much taller: beyond, scrolling is in proportion

// A table of any number of rows: ask(first, count) is told which of them are seen; show(first, rows) draws them.
export class VirtualTable {
    constructor(label, columns, { ask, choose, isChosen, sorted }) {
        Object.assign(this, { columns, asks: ask, choose, isChosen, total: 0, first: 0, rows: [], at: 0 });
        this.heads = el(
            "div.row.head",
            { role: "row" },
            columns.map(c =>
                el(
                    "div",
                    { role: "columnheader", className: c.isNumber ? "number" : "" },
                    c.sort ? el("button", { type: "button", onclick: () => sorted(c.sort) }, c.name) : c.name,
                ),
            ),
        );
        this.inner = el("div.inner", { role: "rowgroup" });
        this.body = el(
            "div.scroll",
            { tabIndex: 0, role: "presentation", onscroll: () => this.ask(), onkeydown: event => this.key(event) },
            el("div.tall", {}, this.inner),
        );
        this.element = el("div.virtual", { role: "table", "aria-label": label }, this.heads, this.body);
        new ResizeObserver(() => this.ask()).observe(this.body);
    }
    get seen() {
        return Math.max(Math.ceil(this.body.clientHeight / ROW), 1);
    }
    get top() {
        const height = Math.min(this.total * ROW, TALLEST),
            room = Math.max(height - this.body.clientHeight, 1);
        return Math.round(clamp(this.body.scrollTop / room, 0, 1) * Math.max(this.total - this.seen + 1, 0));
    }
    resize(total) {
        if (this.total === total) return;
        this.total = total;
        this.element.setAttribute("aria-rowcount", total);
        this.body.firstChild.style.height = `${Math.min(total * ROW, TALLEST)}px`;
    }
    ask() {
        this.asks(this.top, this.seen + 1);
    }
    // Scrolls so that a row is in the middle; ask follows.
    reveal(row) {
        const room = Math.max(Math.min(this.total * ROW, TALLEST) - this.body.clientHeight, 0),
            top = Math.max(row - (this.seen >> 1), 0),
            before = this.body.scrollTop;
        this.body.scrollTop = (room * top) / Math.max(this.total - this.seen + 1, 1);
        if (this.body.scrollTop === before) this.ask();
    }
    restart() {
        this.body.scrollTop = 0;
        this.ask();
    }
    mark(sort, isUp) {
        this.columns.forEach((c, i) =>
            this.heads.children[i].setAttribute(
                "aria-sort",
                c.sort !== sort ? "none" : isUp ? "ascending" : "descending",
            ),
        );
    }
    show(first, rows) {
        Object.assign(this, { first, rows });
        this.inner.style.top = `${this.body.scrollTop}px`;
        fill(
            this.inner,
            rows.map((row, i) => {
                const line = el("div.row", {
                    role: "row",
                    "aria-rowindex": first + i + 1,
                    className: this.isChosen(row) ? "row chosen" : "row",
                    onclick: () => this.choose(row),
                });
                line.append(
                    ...this.columns.map(column => {
                        const cell = cellOf(column, row),
                            box = el("div", {
                                role: "cell",
                                className: column.isNumber ? "number" : "",
                                title: cell.title,
                            });
                        box.append(...cell.childNodes);
                        return box;
                    }),
                );
                return line;
            }),
        );
    }
    key(event) {
        const steps = {
            ArrowDown: 1,
            ArrowUp: -1,
            PageDown: this.seen - 1,
            PageUp: 1 - this.seen,
            Home: -this.total,
            End: this.total,
        };
        if (!(event.key in steps)) return;
        event.preventDefault();
        const chosen = this.rows.findIndex(row => this.isChosen(row)),
            next = clamp((chosen < 0 ? -1 : chosen) + steps[event.key], 0, this.rows.length - 2);
        if (
            chosen >= 0 &&
            Math.abs(steps[event.key]) === 1 &&
            this.rows[chosen + steps[event.key]] &&
            chosen + steps[event.key] < this.seen - 1
        )
            return this.choose(this.rows[next]);
        if (chosen < 0 && steps[event.key] === 1 && this.rows[0]) return this.choose(this.rows[0]);
        this.body.scrollTop += (Math.min(this.total * ROW, TALLEST) / Math.max(this.total, 1)) * steps[event.key];
    }
}
