// SPDX-License-Identifier: Apache-2.0
// Address by time: every line of the picture is a range of addresses, dark where it is in use; light stripes are
// holes.

import { clamp, count, el, percent, size, span } from "./base.js";
import { Channel } from "./core.js";
import { colours, isDark, LEFT, Picture, RIGHT } from "./pen.js";
import { axis, here, moment, range } from "./runs.js";
import { set } from "./state.js";

let told = null,
    picture,
    note,
    image = null,
    from = 0,
    to = 1,
    asked = [0, 0];

// From reserved and unused to full; without a hue that the colour-blind could miss.
const RAMP = [
    [
        [247, 223, 170],
        [233, 150, 62],
        [178, 67, 60],
        [92, 20, 82],
        [20, 8, 46],
    ],
    [
        [70, 56, 30],
        [140, 82, 30],
        [214, 110, 60],
        [244, 170, 120],
        [255, 240, 205],
    ],
];

function colourOf(share) {
    const ramp = RAMP[isDark() ? 1 : 0],
        place = clamp(share, 0, 1) * (ramp.length - 1),
        i = Math.min(Math.floor(place), ramp.length - 2);
    return ramp[i].map((c, k) => c + (ramp[i + 1][k] - c) * (place - i));
}

const channel = new Channel(
    (answer, question) => {
        told = answer;
        [, , , , from, to, ...asked] = question;
        paint();
        picture.now();
    },
    error => {
        told = image = null;
        note.textContent = error.message;
        picture.ask();
    },
);

function paint() {
    const [columns, rows] = asked;
    image = el("canvas", { width: columns, height: rows });
    const context = image.getContext("2d"),
        data = context.createImageData(columns, rows);
    for (let r = 0; r < rows; r++)
        for (let c = 0; c < columns; c++) {
            const cell = r * columns + c,
                at = ((rows - 1 - r) * columns + c) * 4;
            if (!told.reserved[cell]) continue;
            data.data.set(colourOf(told.used[cell] / told.reserved[cell]), at);
            data.data[at + 3] = Math.round(
                255 *
                    clamp(
                        told.reserved[cell] /
                            told.row_bytes[
                                r === rows - 1 ? told.row_bytes.length - 1 : Math.min(r, told.row_bytes.length - 1)
                            ],
                        0.25,
                        1,
                    ),
            );
        }
    context.putImageData(data, 0, 0);
    describe(null);
}

function draw(pen, width, height) {
    if (!image) return;
    const w = width - LEFT - RIGHT,
        h = height - 22;
    pen.rect(LEFT, 0, w, h, colours().track);
    pen.image(image, LEFT, 0, w, h);
    pen.frame(LEFT, 0, w, h, colours().line);
    pen.text(LEFT - 8, h - 3, "low", colours().muted, "right");
    pen.text(LEFT - 8, 12, "high", colours().muted, "right");
    pen.text(LEFT - 8, h / 2, "address", colours().muted, "right");
    const ends = axis() ? [span(from), span(to)] : [count(from), count(to)];
    pen.text(LEFT, h + 16, ends[0], colours().muted);
    pen.text(width - RIGHT, h + 16, ends[1], colours().muted, "right");
    const m = moment(),
        c = told.at.findIndex(at => at >= m);
    if (m >= told.at[0] && c >= 0)
        pen.line(
            [LEFT + ((c + 0.5) / told.at.length) * w, 0, LEFT + ((c + 0.5) / told.at.length) * w, h],
            colours().mark,
            1.5,
        );
}

function cellAt(event) {
    const [x, y] = picture.place(event),
        [columns, rows] = asked;
    const c = Math.floor(((x - LEFT) / (picture.width - LEFT - RIGHT)) * columns),
        r = rows - 1 - Math.floor((y / (picture.height - 22)) * rows);
    return told && c >= 0 && c < columns && r >= 0 && r < rows ? [c, r] : null;
}

function describe(hit) {
    if (!told) return;
    if (!hit)
        return void (note.textContent = `Every line is ${size(told.row_bytes[0])} of addresses that were ever reserved. ${isDark() ? "Bright: in use; dim" : "Dark: in use; light"}: reserved, free; empty: not reserved.`);
    const [c, r] = hit,
        cell = r * asked[0] + c;
    let part = 0;
    while (part + 1 < told.part_row.length && told.part_row[part + 1] <= r) part++;
    note.textContent =
        `After event ${count(Math.max(told.at[c] - 1, 0))}: ${size(told.used[cell])} of ${size(told.reserved[cell])} reserved in use (${percent(told.used[cell], told.reserved[cell]) || "nothing reserved"}), ` +
        `in the range of addresses that begins at ${told.part_address[part]}, ${size(told.part_bytes[part])}`;
}

export const heatView = {
    id: "heat",
    title: "Address by time",
    keys: ["run", "dev", "axis", "from", "to", "at"],
    get picture() {
        return picture;
    },
    rows: () => [
        ["moment", "row", "used", "reserved"],
        ...(told
            ? Array.from(told.used, (used, i) => [
                  told.at[i % asked[0]],
                  Math.floor(i / asked[0]),
                  used,
                  told.reserved[i],
              ]).filter(row => row[3])
            : []),
    ],
    start(panel) {
        note = el("p.note", { id: "heat-note", "aria-live": "polite" });
        const canvas = el("canvas.heat", {
            tabIndex: 0,
            role: "img",
            "aria-label": "Addresses over time, dark where in use",
            onpointermove: event => describe(cellAt(event)),
            onpointerleave: () => describe(null),
            onclick: event => {
                const hit = cellAt(event);
                if (hit) set({ at: told.at[hit[0]], view: "space" });
            },
        });
        panel.append(note, canvas);
        picture = new Picture(canvas, draw);
        picture.onresize = () => this.update(null);
    },
    update(changed) {
        if (changed?.size === 1 && changed.has("at") && told) return picture.ask();
        const columns = clamp(Math.round((picture.width || 800) - LEFT - RIGHT), 50, 1600),
            rows = clamp(Math.round((picture.height || 400) - 22), 50, 600);
        channel.ask("heat", ...here(), axis(), ...range(), columns, rows);
    },
};
