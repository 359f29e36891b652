// SPDX-License-Identifier: Apache-2.0
// The beginning: what the page carries is opened, controls are bound to the state, views are shown when they are
// chosen.

import { allocationsView } from "./allocations.js";
import { button, byId, copyText, count, download, el, fill, options, say, toCsv, toMarkdown, unpacked } from "./base.js";
import { compareView } from "./compare.js";
import { expected } from "./core.js";
import { eventsView } from "./events.js";
import { findingsView } from "./findings.js";
import { heatView } from "./heat.js";
import { momentView } from "./moment.js";
import { forgetColours } from "./pen.js";
import { about, add, analysis, device, groupName, run, runs, SPLITS } from "./runs.js";
import { renewSelection, startSelection } from "./selection.js";
import { spaceView } from "./space.js";
import { stacksView } from "./stacks.js";
import { link, on, set, state } from "./state.js";
import { key, showAll, startTimeline, zoom } from "./timeline.js";
import { whatifView } from "./whatif.js";

// In the order of their tabs. A view: id, title, keys of the state that change it, start(panel, tools) once,
// update(changed) when it is shown and one of them did (null: all did), picture and rows() to copy.
const VIEWS = [momentView, spaceView, stacksView, allocationsView, eventsView, heatView, whatifView, findingsView, compareView];
const timeline = startTimeline();

// ---- views

const started = new Map();

function panelOf(view) {
    if (started.has(view)) return started.get(view);
    const tools = el("div.tools", {}),
        panel = el(
            "div.panel",
            { id: "panel-" + view.id, role: "tabpanel", "aria-labelledby": "tab-" + view.id },
            tools,
        );
    byId("panels").append(panel);
    started.set(view, panel);
    view.start(panel, tools);
    tools.append(el("span.grow", {}), copies(view.id, "picture" in view && (() => view.picture), view.rows));
    return panel;
}

const tellTable = () => say("This is a table now: copy it as CSV or Markdown.");
// Buttons that copy a view: its picture, its rows.
function copies(name, picture, rows) {
    const copy = (what, form, action) => button(form, action, { title: `Copy the ${what} as ${form}` });
    const give = async (type, extension, text) => {
        if (await copyText(text)) return say(`Copied as ${extension === "csv" ? "CSV" : "Markdown"}.`);
        download(`${name}.${extension}`, type, text);
        say("The browser does not let this page copy: saved as a file instead.");
    };
    return el(
        "span.copies",
        {},
        picture && copy("picture", "PNG", () => picture()?.copyPng(name) ?? tellTable()),
        picture && copy("picture", "SVG", () => picture()?.copySvg(name) ?? tellTable()),
        rows && copy("table", "CSV", async () => give("text/csv", "csv", toCsv(await rows()))),
        rows && copy("table", "Markdown", async () => give("text/markdown", "md", toMarkdown(await rows()))),
    );
}

function showView(changed) {
    const view = VIEWS.find(v => v.id === state.view) || VIEWS[0];
    for (const each of VIEWS) {
        byId("tab-" + each.id).setAttribute("aria-selected", each === view);
        byId("tab-" + each.id).tabIndex = each === view ? 0 : -1;
        if (started.has(each)) started.get(each).hidden = each !== view;
    }
    const isNew = !started.has(view);
    panelOf(view);
    if (isNew || !changed || changed.has("view") || view.keys.some(name => changed.has(name)))
        view.update(isNew || changed?.has("view") ? null : changed);
}

function startTabs() {
    fill(
        byId("tabs"),
        VIEWS.map((view, i) =>
            button(view.title, () => set({ view: view.id }), {
                id: "tab-" + view.id,
                role: "tab",
                "aria-controls": "panel-" + view.id,
                title: `Key ${i + 1}`,
            }),
        ),
    );
    byId("tabs").addEventListener("keydown", event => {
        const next = VIEWS.findIndex(v => v.id === state.view) + { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!VIEWS[next]) return;
        set({ view: VIEWS[next].id });
        byId("tab-" + VIEWS[next].id).focus();
        event.stopPropagation();
    });
}

// ---- controls and state

function bind(id, name, read = e => e.value, write = (e, value) => (e.value = value)) {
    const control = byId(id);
    control.addEventListener("input", () => set({ [name]: read(control) }));
    const sync = () => write(control, state[name]);
    on(changed => changed.has(name) && sync());
    sync();
}

function bindControls() {
    bind("axis", "axis");
    bind("by", "by");
    bind("draw", "draw");
    bind(
        "reserved",
        "reserved",
        e => e.checked,
        (e, value) => (e.checked = value),
    );
    bind(
        "detail",
        "detail",
        e => Math.round(2 ** e.value),
        (e, value) => (e.value = Math.log2(value || 2000)),
    );
    const detail = () => (byId("detail-value").textContent = count(state.detail || 2000));
    on(detail);
    detail();
    const number = e => Number(e.value);
    bind("run", "run", number);
    byId("device").addEventListener("input", e =>
        set({ dev: number(e.target), sel: null, at: null, from: null, to: null }),
    );
    byId("zoom-in").addEventListener("click", () => zoom(0.5));
    byId("zoom-out").addEventListener("click", () => zoom(2));
    byId("zoom-all").addEventListener("click", showAll);
    byId("axis").addEventListener("input", () => set({ from: null, to: null }));
    document.querySelector('.copies[data-of="timeline"]').replaceWith(copies("timeline", () => timeline.picture));
    byId("link").addEventListener("click", async () =>
        say((await copyText(link())) ? "Copied the address of what is seen now." : location.href),
    );
    byId("help").addEventListener("click", () => byId("keys").showModal());
    byId("theme").addEventListener("click", () => set({ theme: isDarkNow() ? "light" : "dark" }));
    document.addEventListener("keydown", event => {
        if (
            /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) ||
            event.ctrlKey ||
            event.metaKey ||
            event.altKey ||
            event.defaultPrevented
        )
            return;
        if (event.key === "?") byId("keys").showModal();
        else if (event.key === "Escape") set({ sel: null });
        else if (event.key === "t") byId("theme").click();
        else if (/^[1-9]$/.test(event.key) && VIEWS[event.key - 1]) set({ view: VIEWS[event.key - 1].id });
        else if (event.target === document.body) key(event);
    });
}

// ---- light and dark

const wantsDark = matchMedia("(prefers-color-scheme: dark)");
const isDarkNow = () => (state.theme ? state.theme === "dark" : wantsDark.matches);

function showTheme() {
    document.documentElement.classList.toggle("dark", isDarkNow());
    byId("theme").textContent = isDarkNow() ? "Light" : "Dark";
    forgetColours();
    if (!run()) return;
    timeline.redraw();
    showView();
}

// ---- files

async function openAll(sources) {
    let last = null;
    for (const { name, source, query, report } of sources) {
        say(`Reading ${name} …`);
        try {
            last = await add(name, source, query, report);
            say("");
        } catch (error) {
            say(`${name}: ${expected(error)}`, true);
        }
    }
    return last;
}

async function openFiles(list) {
    const before = runs.length,
        last = await openAll(list.map(file => ({ name: file.name, source: file })));
    if (last === null) return;
    const patch = { run: before, dev: null, at: null, sel: null, from: null, to: null, then: null };
    if (runs.length > 1) Object.assign(patch, { other: before ? 0 : 1 });
    set(patch);
    showRun();
}

function acceptFiles() {
    const input = byId("files");
    for (const id of ["open", "open-here"]) byId(id).addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
        const chosen = [...input.files];
        input.value = ""; // so that the same file can be chosen again
        openFiles(chosen);
    });
    const isDrag = event => event.dataTransfer?.types.includes("Files");
    addEventListener("dragover", event => {
        if (!isDrag(event)) return;
        event.preventDefault();
        document.body.classList.add("dropping");
    });
    addEventListener("dragleave", event => event.relatedTarget || document.body.classList.remove("dropping"));
    addEventListener("drop", event => {
        if (!isDrag(event)) return;
        event.preventDefault();
        document.body.classList.remove("dropping");
        openFiles([...event.dataTransfer.files]);
    });
}

// ---- a run is shown

function offer(id, choices, value) {
    fill(byId(id), options(choices));
    byId(id).value = value;
}
const numbered = names => Array.from(names, (name, i) => [i, name]);

async function showHeadline() {
    const number = state.run,
        all = await analysis(number);
    if (state.run !== number) return;
    const lines = all.headline?.length ? all.headline : all.headline_at_end || [];
    fill(
        byId("headline"),
        lines
            .filter(line => line.label !== "Report")
            .flatMap(line => [el("dt", {}, line.label), el("dd", {}, line.text)]),
    );
    const cut = new Set(all.timeline?.devices.map(row => row.filter).filter(Boolean));
    byId("cut").hidden = !cut.size;
    byId("cut").textContent = `The report is of a part. ${[...cut].join(" ")} The views have the whole trace.`;
}

function showRun() {
    const { name, devices } = runs[state.run];
    document.body.classList.remove("empty");
    document.body.classList.toggle("bare", !run());
    document.title = `${name}: GPU memory`;
    byId("title").textContent = name;
    byId("run-choice").hidden = runs.length < 2;
    offer("run", numbered(runs.map(r => r.name)), state.run);
    showHeadline();
    if (!run()) return;
    document.body.classList.toggle("traceless", !about("events"));
    byId("device-choice").hidden = devices.device.length < 2;
    offer("device", numbered(devices.device), device());
    offer("by", SPLITS.map(split => [split, groupName(split)]), state.by);
    timeline.renew();
    renewSelection();
    showView();
}

async function start() {
    bindControls();
    acceptFiles();
    startTabs();
    startSelection();
    showTheme();
    wantsDark.addEventListener("change", showTheme);
    on(changed => {
        if (changed.has("theme")) showTheme();
        if (!runs[state.run]) return;
        if (changed.has("run") || changed.has("dev")) showRun();
        else if (run()) showView(changed);
    });
    const carried = [...document.querySelectorAll("script.gm-run")].map(e => {
        const query = e.dataset.query || `path=${e.dataset.name}`,
            keys = new Map(query.split("\n").map(line => [line.split("=")[0], line.slice(line.indexOf("=") + 1)]));
        const next = e.nextElementSibling,
            report = next?.className === "gm-report" ? unpacked(next.textContent).json() : undefined;
        return { name: keys.get("name") || keys.get("path"), source: e.textContent, query, report };
    });
    if (carried.length && (await openAll(carried)) !== null) {
        if (!run()) set({ run: 0 });
        showRun();
    }
}

start();
