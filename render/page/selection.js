// SPDX-License-Identifier: Apache-2.0
// The moment, in one line that steps event by event, and the chosen allocation: what it is, its life, where it was
// made.

import { button, byId, clamp, copyText, count, el, fill, pair, say, size, span } from "./base.js";
import { Channel } from "./core.js";
import { about, axis, here, kept, lasting, lifeOf, moment, NONE } from "./runs.js";
import { FILTERS, on, set, state, unset } from "./state.js";
import { goTo, revealRange, step } from "./timeline.js";

const PYTHON = 1,
    TORCH = 2,
    NOISE = 4; // bits of frame_kind

// The frames of a stack. The framework's are folded away, unless there are no others: then what only leads from one to
// the next.
function frames(told) {
    const list = el("ol.frames", {});
    let hidden = [];
    const flush = () => {
        if (!hidden.length) return;
        const inside = hidden;
        list.append(
            el(
                "li.fold",
                {},
                button(`${count(inside.length)} frame${inside.length > 1 ? "s" : ""} of the framework`, event =>
                    event.target.parentElement.replaceWith(...inside),
                ),
            ),
        );
        hidden = [];
    };
    const isOurs = kind => (kind & (PYTHON | TORCH | NOISE)) === PYTHON,
        isFolded = told.frame_kind.some(isOurs) ? kind => !isOurs(kind) : kind => kind & NOISE;
    told.frame_name.forEach((name, i) => {
        const line = told.frame_line[i],
            kind = told.frame_kind[i];
        const item = el(
            "li",
            { className: kind & PYTHON ? "python" : "" },
            el("span.name", {}, name),
            told.frame_file[i] && told.frame_file[i] !== "??"
                ? el("span.file", {}, isFinite(line) && line ? `${told.frame_file[i]}:${line}` : told.frame_file[i])
                : null,
        );
        if (isFolded(kind)) return hidden.push(item);
        flush();
        list.append(item);
    });
    flush();
    return told.frame_name.length ? list : el("p.muted", {}, "No stack was recorded.");
}

const known = (name, value) => (value === "" || value === undefined || value === null ? [] : pair(name, value));
const jump = (m, us) => button(lasting(`event ${count(m - 1)}`, us), () => goTo(m));

const chosen = new Channel(
    told => {
        const [born] = told.born,
            [freed] = told.freed,
            isFreed = freed !== NONE,
            last = isFreed ? freed : about("events") - 1;
        fill(
            byId("selection"),
            el(
                "header",
                {},
                el("h2", {}, `${size(told.size[0])} ${told.role}`),
                button("×", () => set({ sel: null }), {
                    className: "quiet",
                    title: "Forget the chosen allocation",
                    "aria-label": "Forget the chosen allocation",
                }),
            ),
            el(
                "dl",
                { id: "selection-facts" },
                known("Category", told.category),
                known("Component", told.component),
                known("Module", told.module),
                known("Size", told.sizes),
                pair("Block", `${size(told.size[0])} (${count(told.size[0])} B)`),
                pair("Requested", `${size(told.requested[0])} (${count(told.requested[0])} B)`),
                pair("Made", born ? jump(born, told.born_us[0]) : "before the trace"),
                pair("Freed", isFreed ? jump(freed, told.freed_us[0]) : "never in this trace"),
                isFreed && pair("Lives", lifeOf(told)),
                known("Address", told.address),
                known("Pool", told.pool),
                known("Stream", told.stream),
                known("State", told.state),
                known("Made at", told.site),
            ),
            el(
                "div.tools",
                {},
                button("Show its life", () => revealRange(Math.max(born - 1, 0), last)),
                button("All of this site", () => set({ ...unset(FILTERS), view: "allocations", site: told.site })),
                button("Copy the stack", async () =>
                    say(
                        (await copyText(
                            told.frame_name
                                .map((n, i) => `${n} ${told.frame_file[i]}:${told.frame_line[i] || 0}`)
                                .join("\n"),
                        ))
                            ? "Copied the stack."
                            : "The browser does not let this page copy.",
                        false,
                    ),
                ),
            ),
            frames(told),
        );
    },
    error => fill(byId("selection"), el("p.bad", {}, error.message)),
);

// ---- the line of the moment

const place = new Channel(async (told, question) => {
    const m = question[4],
        { step_name: names, step_first: first, step_last: last } = await kept("marks", question[2]);
    const inStep = names.find((_, i) => m > first[i] && m <= last[i] + 1);
    const us = told.time[0];
    fill(
        byId("moment-facts"),
        [
            isFinite(us) && span(us),
            inStep,
            `${size(told.active[0])} active`,
            `${size(told.requested[0])} requested`,
            `${size(told.reserved[0])} reserved`,
        ]
            .filter(Boolean)
            .map(text => el("span", {}, text)),
    );
});
const event = new Channel(
    told => {
        const line = byId("moment-event"),
            id = told.allocation[0];
        fill(
            line,
            el("span", {}, told.what),
            id !== NONE && id !== undefined && button("Which one?", () => set({ sel: id })),
        );
    },
    error => fill(byId("moment-event"), error.message),
);

function showMoment() {
    const m = moment(),
        input = byId("moment-input");
    if (document.activeElement !== input) input.value = m ? m - 1 : ""; // moment m is after event m - 1
    input.max = about("events") - 1;
    place.ask("where", ...here(), axis(), m);
    if (m > 0) event.ask("event", ...here(), m - 1);
    else fill(byId("moment-event"), "Before the first event.");
}

export function startSelection() {
    byId("moment-input").addEventListener("change", e =>
        goTo(e.target.value === "" ? 0 : clamp(Math.round(Number(e.target.value)) + 1, 0, about("events"))),
    );
    for (const [id, action] of [
        ["first", () => goTo(0)],
        ["back", () => step(-1)],
        ["forward", () => step(1)],
        ["last", () => goTo(about("events"))],
        ["peak", () => goTo(about("peak_moment"))],
    ])
        byId("moment-" + id).addEventListener("click", action);
    on(changed => {
        if (["run", "dev", "at", "axis"].some(name => changed.has(name))) showMoment();
        if (["run", "dev", "sel"].some(name => changed.has(name))) showChosen();
    });
}
function showChosen() {
    document.body.classList.toggle("has-selection", state.sel !== null);
    byId("selection").hidden = state.sel === null;
    if (state.sel !== null) chosen.ask("allocation", ...here(), state.sel);
}
export function renewSelection() {
    showMoment();
    showChosen();
}
