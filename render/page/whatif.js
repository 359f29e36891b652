// SPDX-License-Identifier: Apache-2.0
// The recorded requests under another limit, other settings, other sizes: replayed in the core while one drags.

import { button, clamp, count, el, fill, options, pair, parseSize, select, signed, size, ticks } from "./base.js";
import { call, Channel } from "./core.js";
import { colours, drawBytes, LEFT, Picture, RIGHT, tone } from "./pen.js";
import { about, analysed, device, here, kept, moment } from "./runs.js";
import { set, state } from "./state.js";
import { goTo } from "./timeline.js";

const COLUMNS = 800;
// The settings that have a switch: name in PYTORCH_ALLOC_CONF, the choices.
const SETTINGS = [
    ["expandable_segments", ["False", "True"]],
    ["max_split_size_mb", ["20", "64", "128", "256", "512"]],
    ["roundup_power2_divisions", ["1", "2", "4", "8", "16"]],
    ["garbage_collection_threshold", ["0.6", "0.8", "0.9"]],
];

let told = null,
    recorded = null,
    roles = null,
    picture,
    facts,
    sliders,
    controls,
    recordedConf = "",
    layersOf = null;

// ---- "a:1,b:2" as a Map, and back

const parse = text =>
    new Map(
        text
            .split(",")
            .filter(Boolean)
            .map(part => [part.slice(0, part.lastIndexOf(":")), part.slice(part.lastIndexOf(":") + 1)]),
    );
const compose = map => [...map].map(([key, value]) => `${key}:${value}`).join(",");
const conf = () => (state.conf === "recorded" ? recordedConf : state.conf);

function query() {
    const lines = [`memory=${state.memory ?? 0}`, `conf=${state.conf}`];
    for (const [name, factor] of parse(state.scale)) {
        const number = roles.name.indexOf(name);
        if (number >= 0) lines.push(`scale.${number}=${factor}`);
    }
    return lines.join("\n");
}

const channel = new Channel(
    answer => {
        told = answer;
        showFacts();
        picture.now();
    },
    error => {
        told = null;
        fill(facts, el("p.bad", {}, error.message));
        picture.ask();
    },
);

function showFacts() {
    const failed = told.has_failed[0],
        before = recorded?.peak_reserved[0],
        after = told.peak_reserved[0];
    fill(
        facts,
        failed
            ? el(
                  "p.bad",
                  { id: "whatif-fails" },
                  `Out of memory at event ${count(told.failed_event[0])}: ${size(told.failed_bytes[0])} was asked for, ${told.failed_site || "no stack"}. `,
                  button("Show that moment", () => goTo(told.failed_event[0])),
              )
            : el(
                  "p.good",
                  { id: "whatif-fits" },
                  state.memory ? `Fits in ${size(state.memory)}.` : "Runs to the end.",
              ),
        el(
            "dl",
            {},
            pair(
                "Peak reserved",
                `${size(after)}${before && before !== after ? ` (as recorded: ${size(before)}, ${signed(after - before)})` : ""}`,
                "whatif-reserved",
            ),
            pair("Peak allocated", size(told.peak_allocated[0]), "whatif-allocated"),
            pair("Peak requested", `${size(told.peak_requested[0])}`, "whatif-requested"),
            pair("Retries", count(told.retries[0]), "whatif-retries"),
            told.conf && pair("Settings", told.conf, "whatif-conf"),
            Boolean(failed) && told.why && pair("Why", told.why),
            told.unknown && pair("Not known", told.unknown),
        ),
    );
}

function draw(pen, width, height) {
    if (!told) return;
    const right = width - RIGHT,
        bottom = height - 22,
        events = about("events") || 1;
    const finite = values => values.filter(isFinite);
    const most =
        1.05 *
        Math.max(
            1,
            ...finite(told.column_reserved),
            ...(recorded ? finite(recorded.column_reserved) : []),
            state.memory || 0,
        );
    const x = event => LEFT + (event / events) * (right - LEFT),
        y = bytes => bottom - (bytes / most) * (bottom - 8);
    drawBytes(pen, right, bottom, most, y);
    for (const event of ticks(0, events, (right - LEFT) / 110))
        pen.text(clamp(x(event), LEFT + 4, right - 26), bottom + 17, count(event), colours().muted, "center");
    const steps = (from, values) => {
        const points = [];
        values.forEach(
            (bytes, c) =>
                isFinite(bytes) && points.push(x(from.column_first[c]), y(bytes), x(from.column_end[c]), y(bytes)),
        );
        return points;
    };
    const allocated = steps(told, told.column_allocated);
    if (allocated.length) pen.area([...allocated, allocated.at(-2), bottom, LEFT, bottom], colours().backward);
    if (recorded) pen.line(steps(recorded, recorded.column_reserved), colours().muted, 1.3, [4, 3]);
    pen.line(steps(told, told.column_reserved), colours().mark, 2);
    if (state.memory) {
        pen.line([LEFT, y(state.memory), right, y(state.memory)], colours().alarm, 1.5, [7, 4]);
        pen.text(right, y(state.memory) - 5, `limit ${size(state.memory)}`, colours().alarm, "right");
    }
    if (told.has_failed[0]) {
        const at = x(told.failed_event[0]);
        pen.line([at, 8, at, bottom], colours().alarm, 2);
        pen.text(
            at + (at > right - 110 ? -6 : 6),
            18,
            "out of memory",
            colours().alarm,
            at > right - 110 ? "right" : "left",
        );
    }
    const at = x(moment());
    pen.line([at, 0, at, bottom], colours().mark, 1, [2, 3]);
}

// ---- controls

const STEPS = 1000;
const most = () => 1.3 * Math.max(about("reserved"), about("capacity") || 0);
const scaleOf = name => Number(parse(state.scale).get(name) ?? 1);

function setConf(key, value) {
    const map = parse(conf());
    if (value === "") map.delete(key);
    else map.set(key, value);
    set({ conf: compose(map) });
}
function setScale(name, factor) {
    const map = parse(state.scale);
    if (factor === 1) map.delete(name);
    else map.set(name, factor);
    set({ scale: compose(map) });
}

async function learn() {
    const key = `${state.run}.${device()}`;
    if (layersOf === key) return;
    const [layers, { all }] = await Promise.all([kept("layers", device(), 0), analysed()]);
    roles = layers;
    recordedConf = all.settings_advice?.recorded_settings || "";
    layersOf = key;
    recorded = null;
    const shown = [...roles.name];
    fill(
        sliders,
        shown.map(name => {
            const value = el("output", {}),
                slider = el("input", {
                    type: "range",
                    min: 0,
                    max: 2,
                    step: 0.05,
                    "aria-label": `Scale ${name}`,
                    oninput: () => setScale(name, Number(slider.value)),
                });
            const swatch = el("span.swatch", {});
            swatch.style.background = tone(roles.color[roles.name.indexOf(name)]);
            const row = el("label", { className: "scale" }, el("span", {}, swatch, name), slider, value);
            row.dataset.role = name;
            return row;
        }),
    );
    call("whatif", ...here(), "memory=0\nconf=recorded", COLUMNS).then(
        answer => {
            recorded = answer;
            if (told) showFacts();
            picture.ask();
        },
        () => null,
    );
}

function sync() {
    const { memory, limit, text, settings } = controls;
    limit.checked = state.memory !== null;
    memory.disabled = text.disabled = state.memory === null;
    memory.value = Math.round(((state.memory ?? most()) / most()) * STEPS);
    if (document.activeElement !== text) text.value = state.memory === null ? "unlimited" : size(state.memory);
    const map = parse(conf());
    for (const [name, choice] of Object.entries(settings)) {
        const value = map.get(name) ?? "";
        if (value && ![...choice.options].some(o => o.value === value)) choice.append(...options([value]));
        choice.value = value;
    }
    if (document.activeElement !== controls.conf) controls.conf.value = conf();
    for (const row of sliders.children) {
        const factor = scaleOf(row.dataset.role);
        row.children[1].value = factor;
        row.children[2].textContent = `× ${factor.toFixed(2)}`;
    }
}

export const whatifView = {
    id: "whatif",
    title: "What if",
    keys: ["run", "dev", "at", "memory", "conf", "scale"],
    get picture() {
        return picture;
    },
    rows: () => [
        ["event from", "event to", "reserved", "allocated"],
        ...(told
            ? Array.from(told.column_first, (first, i) => [
                  first,
                  told.column_end[i],
                  told.column_reserved[i],
                  told.column_allocated[i],
              ])
            : []),
    ],
    start(panel, tools) {
        const memory = el("input", {
            type: "range",
            id: "whatif-memory",
            min: 10,
            max: STEPS,
            "aria-label": "Memory limit",
            oninput: () => set({ memory: Math.round((most() * memory.value) / STEPS) }),
        });
        const limit = el("input", {
            type: "checkbox",
            id: "whatif-limit",
            onchange: () => set({ memory: limit.checked ? Math.round(about("reserved")) : null }),
        });
        const text = el("input", {
            type: "text",
            id: "whatif-size",
            "aria-label": "Memory limit as text, 20 GiB",
            onchange: () => {
                const bytes = parseSize(text.value);
                if (bytes) set({ memory: bytes });
                else sync();
            },
        });
        text.style.width = "110px";
        const settings = Object.fromEntries(
            SETTINGS.map(([name, values]) => [
                name,
                select(null, [["", "default"], ...values], value => setConf(name, value)),
            ]),
        );
        const confText = el("input", {
            type: "text",
            className: "wide",
            "aria-label": "PYTORCH_ALLOC_CONF",
            onchange: () => set({ conf: confText.value }),
        });
        controls = { memory, limit, text, settings, conf: confText };
        tools.append(
            el("label", {}, limit, "limit the memory"),
            memory,
            text,
            button("As recorded", () => set({ memory: null, conf: "recorded", scale: "" })),
        );
        sliders = el("div.sliders", {});
        facts = el("div", { id: "whatif-facts", "aria-live": "polite" });
        const canvas = el("canvas.whatif", {
            tabIndex: 0,
            role: "img",
            "aria-label": "Reserved and allocated memory of the replay; dashed: as recorded",
        });
        panel.append(
            el(
                "div.columns",
                {},
                el("div", {}, canvas, facts),
                el(
                    "div.controls",
                    {},
                    el("h2", {}, "Allocator settings"),
                    SETTINGS.map(([name]) => el("label.scale", {}, el("span", {}, name), settings[name])),
                    el("label.scale", {}, el("span", {}, "PYTORCH_ALLOC_CONF"), confText),
                    el("h2", {}, "Sizes by role"),
                    sliders,
                ),
            ),
        );
        picture = new Picture(canvas, draw);
    },
    async update(changed) {
        if (changed?.size === 1 && changed.has("at")) return picture.ask();
        await learn();
        sync();
        channel.ask("whatif", ...here(), query(), COLUMNS);
    },
};
