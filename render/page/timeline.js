// SPDX-License-Identifier: Apache-2.0
// The timeline: bytes over events or time, as layers or as the single allocations, with what happened along it. It is
// always on the page; its range and its moment are those of all views.

import { byId, clamp, count, el, fill, size, span, ticks } from "./base.js";
import { call, Channel, expected } from "./core.js";
import { colours, drawBytes, fitted, LEFT, Picture, RIGHT, textWidth, tone } from "./pen.js";
import { about, axis, device, here, kept, length, lifeOf, moment, NONE, range, run, split } from "./runs.js";
import { on, set, state } from "./state.js";

const TOP = 6,
    ROW = 18,
    AXIS = 24;
const SEAM = 0.6; // pixels
const BARS = 2000; // drawn when nothing else is asked for
const ROOM_FOR_BARS = 4000; // events in the range below which allocations are drawn one by one
const PHASES = ["", "forward", "backward", "optimizer", "prefill", "decode"]; // enum gm_phase

let curve = null; // page_timeline's answer, with from, to: what of the axis it covers
let bars = null; // page_bars', likewise; null when layers are drawn
let overview = null; // page_timeline's of the whole
let marks = null;
let over = null; // {x, y} of the pointer
let lens = null; // {x, y, w}: the range that is dragged open
let view = [0, 1]; // the range as it is drawn: state's, or between two of them while a wheel turns

const plot = () => ({
    left: LEFT,
    right: picture.width - RIGHT,
    top: TOP + rows() * ROW + 4,
    bottom: picture.height - AXIS,
});
const rows = () => (marks ? (marks.step_first.length ? 1 : 0) + marks.bandRows : 0);
const toX = (place, p) => p.left + ((place - view[0]) / (view[1] - view[0])) * (p.right - p.left);
const toPlace = (x, p) => view[0] + ((x - p.left) / (p.right - p.left)) * (view[1] - view[0]);
const wantsBars = () =>
    state.draw === "bars" || (state.draw !== "layers" && axis() === 0 && view[1] - view[0] <= ROOM_FOR_BARS);

// ---- where a moment is drawn: looked up in the columns, which know the moments that they cover

function columnOf(m) {
    let low = 0,
        high = curve.at.length - 1;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (
            (curve.last[middle] < m && curve.first[middle] <= curve.last[middle]) ||
            (curve.at[middle] < m && curve.first[middle] > curve.last[middle])
        )
            low = middle + 1;
        else high = middle;
    }
    return low;
}
function placeOf(m) {
    if (axis() === 0) return m;
    if (!curve) return 0;
    const n = curve.at.length;
    if (m < curve.at[0] && m < curve.first[0]) return view[0] - 1;
    if (m > curve.at[n - 1] && m > curve.last[n - 1]) return view[1] + 1;
    return curve.from + ((columnOf(m) + 0.5) / n) * (curve.to - curve.from);
}
const xOf = (m, p) => toX(placeOf(m), p);
const columnAt = place =>
    clamp(Math.floor(((place - curve.from) / (curve.to - curve.from)) * curve.at.length), 0, curve.at.length - 1);

// ---- drawing

function highest() {
    if (!curve) return 1;
    const from = columnAt(view[0]),
        to = columnAt(view[1]);
    let most = 1;
    for (let c = from; c <= to; c++) most = Math.max(most, curve.total[c], state.reserved ? curve.reserved[c] : 0);
    return most * 1.04;
}

function drawLayers(pen, p, y) {
    const n = curve.at.length,
        layers = curve.color.length,
        width = (curve.to - curve.from) / n;
    const xs = new Float64Array(n + 1).map((_, c) => clamp(toX(curve.from + c * width, p), p.left - 2, p.right + 2));
    const sums = new Float64Array(n);
    const edges = [];
    for (let l = 0; l < layers; l++) {
        for (let c = 0; c < n; c++) sums[c] += curve.layer[c * layers + l];
        edges.push(sums.slice());
    }
    const outline = heights => {
        const points = new Float64Array(4 * n + 4);
        for (let c = 0; c < n; c++) points.set([xs[c], y(heights[c]), xs[c + 1], y(heights[c])], 4 * c);
        points.set([xs[n], y(0), xs[0], y(0)], 4 * n);
        return points;
    };
    if (state.reserved) {
        const shape = outline(curve.reserved);
        pen.area(shape, colours().track);
        pen.hatch(shape, colours().hatch);
    }
    // The highest first, each over the ones above it: no seams.
    for (let l = layers - 1; l >= 0; l--)
        if (edges[l].some((sum, c) => sum > (l ? edges[l - 1][c] : 0)))
            pen.area(outline(edges[l]), tone(curve.color[l]));
}

// The outline of one allocation as it is stacked; also for the hit test.
function eachStep(i, p, tell) {
    const first = bars.first_point[i],
        end = first + bars.points[i],
        stop = bars.freed[i] === NONE ? bars.end : Math.min(placeEnd(i), bars.end);
    for (let k = first; k < end; k++) tell(bars.point_x[k], k + 1 < end ? bars.point_x[k + 1] : stop, bars.point_y[k]);
}
const placeEnd = i => (axis() === 0 ? bars.freed[i] : bars.freed[i] === NONE ? Infinity : placeOf(bars.freed[i]));

function drawBars(pen, p, y) {
    for (let i = 0; i < bars.id.length; i++) {
        const lower = [],
            upper = [];
        eachStep(i, p, (from, to, below) => {
            const a = clamp(toX(from, p), p.left - 2, p.right + 2),
                b = clamp(toX(to, p), p.left - 2, p.right + 2);
            if (b <= a) return;
            upper.push(a, y(below + bars.bytes[i]), b, y(below + bars.bytes[i]));
            // Half a pixel over the one below, or paper would shine through; reversed below: from right to left.
            lower.push(y(below) + SEAM, a, y(below) + SEAM, b);
        });
        if (!upper.length) continue;
        const edge = lower.reverse(),
            shape = upper.concat(edge);
        pen.area(shape, tone(bars.color[bars.layer[i]]));
        if (y(0) - y(bars.bytes[i]) > 7) pen.line(edge, colours().paper, 0.6);
        if (bars.id[i] === state.sel) pen.line(shape.concat(shape[0], shape[1]), colours().ink, 2);
    }
    const n = bars.left_out.length;
    if (!bars.left_out_count) return;
    for (let c = 0; c < n; c++) {
        const a = toX(bars.from + (c / n) * (bars.to - bars.from), p),
            b = toX(bars.from + ((c + 1) / n) * (bars.to - bars.from), p);
        if (b < p.left || a > p.right || !bars.left_out[c] || !curve) continue;
        const top = curve.total[columnAt(bars.from + ((c + 0.5) / n) * (bars.to - bars.from))];
        pen.rect(a, y(top), b - a + 0.5, Math.max(y(top - bars.left_out[c]) - y(top), 0), colours().muted);
    }
}

function drawReserved(pen, p, y) {
    const n = curve.at.length,
        points = [];
    for (let c = 0; c < n; c++) {
        const a = toX(curve.from + (c / n) * (curve.to - curve.from), p),
            b = toX(curve.from + ((c + 1) / n) * (curve.to - curve.from), p);
        if (b >= p.left - 2 && a <= p.right + 2) points.push(a, y(curve.reserved[c]), b, y(curve.reserved[c]));
    }
    pen.line(points, colours().ink, 1.2);
}

function drawBand(pen, p, top, first, last, name, colour) {
    const a = clamp(xOf(first, p), p.left, p.right),
        b = clamp(xOf(last + 1, p), p.left, p.right);
    if (b - a < 0.7) return;
    pen.rect(a, top, Math.max(b - a - 1, 0.7), ROW - 3, colour);
    const text = b - a > 24 ? fitted(name, b - a - 8) : "";
    if (text) pen.text((a + b) / 2, top + 11.5, text, colours().ink, "center");
}

function drawMarks(pen, p) {
    let top = TOP;
    if (marks.step_first.length) {
        pen.text(p.left - 8, top + 12, "steps", colours().muted, "right");
        marks.step_first.forEach((first, i) =>
            drawBand(
                pen,
                p,
                top,
                first,
                marks.step_last[i],
                marks.step_name[i],
                i % 2 ? colours().track : colours().band,
            ),
        );
        top += ROW;
    }
    if (marks.bandRows) pen.text(p.left - 8, top + 12, "phases", colours().muted, "right");
    marks.band_first.forEach((first, i) => {
        if (marks.band_row[i] === Infinity) return;
        const phase = PHASES[marks.band_phase[i]];
        drawBand(
            pen,
            p,
            top + marks.band_row[i] * ROW,
            first,
            marks.band_last[i],
            phase || marks.band_name[i],
            phase ? colours()[phase] : colours().band,
        );
    });
    for (const event of marks.oom_event) {
        const x = xOf(event, p);
        if (x < p.left || x > p.right) continue;
        const text = "out of memory",
            width = textWidth(text),
            left = Math.min(x + 4, p.right - width - 4);
        pen.line([x, p.top, x, p.bottom], colours().alarm, 1.5);
        pen.rect(left - 2, p.bottom - 17, width + 4, 15, colours().paper);
        pen.text(left, p.bottom - 6, text, colours().alarm);
    }
}

function drawPeak(pen, p, y) {
    const m = about("peak_moment"),
        x = xOf(m, p),
        bytes = about("peak_bytes");
    if (x < p.left || x > p.right) return;
    const level = y(bytes),
        text = `peak ${size(bytes)}`,
        width = textWidth(text) * 1.2, // bold
        right = x + 10 + width < p.right;
    pen.area([x, level - 5, x + 5, level, x, level + 5, x - 5, level], colours().ink);
    pen.rect(right ? x + 8 : x - 12 - width, level - 8, width + 4, 15, colours().veil);
    pen.text(right ? x + 10 : x - 10, level + 4, text, colours().ink, right ? "left" : "right", "bold");
}

function drawAxes(pen, p, y, most) {
    drawBytes(pen, p.right, p.bottom - p.top, most, y);
    for (const place of ticks(
        view[0],
        view[1],
        Math.min((p.right - p.left) / 90, axis() ? Infinity : view[1] - view[0]),
    )) {
        const x = toX(place, p);
        pen.line([x, p.bottom, x, p.bottom + 4], colours().muted);
        const text = axis() ? span(place) : count(place);
        pen.text(clamp(x, p.left + 10, p.right - 26), p.bottom + 17, text, colours().muted, "center");
    }
    pen.text(2, p.bottom + 17, axis() ? "time" : "event", colours().muted);
}

function draw(pen, width, height) {
    if (!curve) return;
    const p = plot(),
        most = highest(),
        y = bytes => p.bottom - (bytes / most) * (p.bottom - p.top);
    pen.rect(p.left, p.top, p.right - p.left, p.bottom - p.top, colours().paper);
    drawAxes(pen, p, y, most);
    pen.clip(p.left, p.top, p.right - p.left, p.bottom - p.top, () => {
        if (bars && wantsBars()) drawBars(pen, p, y);
        else drawLayers(pen, p, y);
        if (state.reserved) drawReserved(pen, p, y);
        drawPeak(pen, p, y);
    });
    if (marks) drawMarks(pen, p);
    const x = xOf(moment(), p);
    if (x >= p.left - 1 && x <= p.right + 1) pen.line([x, TOP, x, p.bottom], colours().mark, 1.5);
    if (state.then !== null) {
        const then = xOf(state.then, p);
        if (then >= p.left && then <= p.right) pen.line([then, TOP, then, p.bottom], colours().mark, 1.5, [4, 3]);
    }
    if (over && !lens) pen.line([over.x, p.top, over.x, p.bottom], colours().muted, 1, [2, 3]);
    if (lens) {
        const [a, b] = [Math.min(lens.x, lens.to), Math.max(lens.x, lens.to)];
        pen.rect(a, p.top, b - a, p.bottom - p.top, colours().lens);
        pen.frame(a, p.top, b - a, p.bottom - p.top, colours().mark);
    }
}

function drawOverview(pen, width, height) {
    if (!overview) return;
    const n = overview.at.length,
        most = Math.max(1, ...overview.reserved, ...overview.total),
        p = { left: LEFT, right: width - RIGHT };
    const x = c => p.left + (c / n) * (p.right - p.left),
        y = bytes => height - (bytes / most) * (height - 2);
    const shape = values => {
        const points = [];
        for (let c = 0; c < n; c++) points.push(x(c), y(values[c]), x(c + 1), y(values[c]));
        return [...points, p.right, height, p.left, height];
    };
    pen.area(shape(overview.reserved), colours().band);
    pen.area(shape(overview.total), colours().muted);
    const whole = length(),
        a = p.left + (view[0] / whole) * (p.right - p.left),
        b = p.left + (view[1] / whole) * (p.right - p.left);
    pen.rect(p.left, 0, Math.max(a - p.left, 0), height, colours().veil);
    pen.rect(b, 0, Math.max(p.right - b, 0), height, colours().veil);
    pen.frame(a, 0, Math.max(b - a, 3), height, colours().mark, 1.5);
}

// ---- asking

const plotWidth = () => Math.max(Math.round((picture.width - LEFT - RIGHT) * Math.min(devicePixelRatio, 2)), 50);

const curves = new Channel((told, [, , , , , from, to]) => {
    curve = { ...told, from, to };
    if (!bars || !wantsBars()) legend();
    picture.now();
});
const barsChannel = new Channel((told, question) => {
    const [, , , bySplit, , from, to] = question;
    kept("layers", device(), bySplit).then(layers => {
        bars = { ...told, color: layers.color, from, to, end: to };
        picture.canvas.dataset.bars = told.id.length;
        picture.ask();
    });
});

function ask() {
    if (!run() || !picture.width) return;
    // A little more than is seen, so that a zoom or a pan has something to show until its own answer is there.
    const [from, to] = view,
        whole = length();
    curves.ask("timeline", ...here(), split(), axis(), from, to, Math.min(plotWidth(), 16384));
    if (wantsBars() && whole) {
        const limit = state.detail || BARS;
        barsChannel.ask(
            "bars",
            ...here(),
            split(),
            axis(),
            from,
            to,
            Math.min(plotWidth(), 4096),
            0,
            Math.min(limit, 8192),
        );
    } else {
        bars = null;
        picture.canvas.dataset.bars = 0;
    }
}

function askOverview() {
    call("timeline", ...here(), split(), axis(), 0, length(), 600).then(told => {
        overview = told;
        small.ask();
    }, expected);
}

// Everything anew: another run, device, split or axis.
function renew() {
    curve = bars = overview = null;
    view = range();
    kept("marks", device()).then(told => {
        marks = { ...told, ...rowsOfBands(told) };
        picture.ask();
    }, expected);
    askOverview();
    ask();
}

// Phases lie in the upper row, other ranges below them: those that are no deeper than any other.
function rowsOfBands({ band_depth: depth, band_phase: phase, band_is_step: isStep }) {
    const others = [...depth.keys()].filter(i => !isStep[i] && !PHASES[phase[i]]),
        hasPhases = phase.some((p, i) => PHASES[p] && !isStep[i]);
    const outermost = Math.min(...others.map(i => depth[i])),
        below = hasPhases ? 1 : 0;
    const band_row = [...depth.keys()].map(i =>
        isStep[i] ? Infinity : PHASES[phase[i]] ? 0 : depth[i] === outermost ? below : Infinity,
    );
    return { band_row, bandRows: below + (others.length ? 1 : 0) };
}

// ---- zoom and pan

function show(from, to) {
    const whole = length(),
        least = Math.min(axis() ? 10 : 8, whole || 1);
    const width = clamp(to - from, least, whole);
    const begin = clamp(from, 0, whole - width);
    view = [begin, begin + width];
    picture.now();
    small.ask();
    ask();
    const isAll = width >= whole * 0.9999;
    set({ from: isAll ? null : round(begin), to: isAll ? null : round(begin + width) });
}
const round = place => Number(place.toFixed(axis() ? 1 : 2));

export function zoom(factor, place = (view[0] + view[1]) / 2) {
    show(place - (place - view[0]) * factor, place + (view[1] - place) * factor);
}
const pan = share => show(view[0] + share * (view[1] - view[0]), view[1] + share * (view[1] - view[0]));
export const showAll = () => show(0, length());

// Shows a moment, moving the range only if it is outside.
async function reveal(m) {
    const {
        x: [x],
    } = await call("where", ...here(), axis(), m);
    const [from, to] = view;
    if (x < from || x > to) show(x - (to - from) / 2, x + (to - from) / 2);
}
// Shows the events [first, last], with some room.
export async function revealRange(first, last) {
    const [
        {
            x: [a],
        },
        {
            x: [b],
        },
    ] = await Promise.all([call("where", ...here(), axis(), first), call("where", ...here(), axis(), last + 1)]);
    const room = (b - a) * 0.05;
    show(a - room, b + room);
}

// ---- pointer

function barAt(x, y, p) {
    if (!bars || !wantsBars() || !curve) return null;
    const place = toPlace(x, p),
        bytes = ((p.bottom - y) / (p.bottom - p.top)) * highest();
    let hit = null;
    for (let i = 0; i < bars.id.length && hit === null; i++)
        eachStep(i, p, (from, to, below) => {
            if (place >= from && place < to && bytes >= below && bytes < below + bars.bytes[i]) hit = i;
        });
    return hit;
}

function layerAt(c, y, p) {
    const bytes = ((p.bottom - y) / (p.bottom - p.top)) * highest(),
        n = curve.color.length;
    let sum = 0;
    for (let l = 0; l < n; l++) {
        sum += curve.layer[c * n + l];
        if (bytes < sum) return l;
    }
    return null;
}

const describe = new Channel((told, [, , , id]) => tip.dataset.id === String(id) && fill(tip, ...barLines(told)));

function barLines(told) {
    const life = told.freed[0] === NONE ? "never freed" : `lives ${lifeOf(told)}`;
    return [
        el("b", {}, `${size(told.size[0])} ${told.role}`),
        el("div", {}, [told.category, told.component].filter(Boolean).join(" · ")),
        el("div", {}, life),
        el("div", { className: "site" }, told.site),
        el("div", { className: "muted" }, totals()),
    ];
}

function totals() {
    if (!over) return "";
    const c = columnAt(toPlace(over.x, plot()));
    return `${afterEvent(curve.at[c])}: ${size(curve.total[c])} active, ${size(curve.reserved[c])} reserved`;
}

export const afterEvent = m => (m ? `after event ${count(m - 1)}` : "before the first event");
const tip = el("div.tip", { id: "tip", hidden: true, role: "tooltip" });

function hover(x, y) {
    const p = plot();
    const inside = curve && x >= p.left && x <= p.right && y >= TOP && y <= p.bottom;
    over = inside ? { x, y } : null;
    tip.hidden = !inside || Boolean(lens);
    picture.ask();
    if (!inside) return legend();
    const c = columnAt(toPlace(x, p)),
        bar = barAt(x, y, p),
        layer = bar === null ? layerAt(c, y, p) : null;
    legend(c);
    if (bar !== null) {
        if (tip.dataset.id !== String(bars.id[bar])) {
            tip.dataset.id = bars.id[bar];
            fill(tip, el("b", {}, size(bars.bytes[bar])), el("div", { className: "muted" }, totals()));
            describe.ask("allocation", ...here(), bars.id[bar]);
        } else if (tip.lastChild) tip.lastChild.textContent = totals();
    } else {
        delete tip.dataset.id;
        const name =
            layer === null
                ? state.reserved && bytesAt(y, p) < curve.reserved[c]
                    ? "Cached: reserved, not in use"
                    : ""
                : curve.name[layer];
        const bytes =
            layer === null ? curve.reserved[c] - curve.total[c] : curve.layer[c * curve.color.length + layer];
        fill(tip, name && el("b", {}, `${name} ${size(bytes)}`), el("div", { className: "muted" }, totals()));
    }
    const box = tip.parentElement.getBoundingClientRect(),
        canvas = picture.canvas.getBoundingClientRect();
    const left = canvas.left - box.left + x,
        isRight = left > box.width / 2;
    tip.style.left = isRight ? "" : `${left + 14}px`;
    tip.style.right = isRight ? `${box.width - left + 14}px` : "";
    tip.style.top = `${canvas.top - box.top + Math.max(y - 20, 0)}px`;
}
const bytesAt = (y, p) => ((p.bottom - y) / (p.bottom - p.top)) * highest();

function pin(x, y) {
    const p = plot(),
        bar = barAt(x, y, p);
    if (!curve || x < p.left || x > p.right) return;
    if (y < p.top && marks) return pinMark(x, y, p);
    set({ at: curve.at[columnAt(toPlace(x, p))], ...(bar === null ? {} : { sel: bars.id[bar] }) });
}

// A click on a step shows its highest moment; a click on a phase shows all of it.
function pinMark(x, y, p) {
    const inside = (first, last) => first.findIndex((event, i) => x >= xOf(event, p) && x <= xOf(last[i] + 1, p));
    const hasSteps = marks.step_first.length > 0,
        row = Math.floor((y - TOP) / ROW) - (hasSteps ? 1 : 0);
    if (row < 0) {
        const i = inside(marks.step_first, marks.step_last);
        if (i >= 0) set({ at: marks.step_peak_event[i] === NONE ? marks.step_first[i] : marks.step_peak_event[i] + 1 });
        return;
    }
    marks.band_first.forEach((first, i) => {
        if (
            !marks.band_is_step[i] &&
            marks.band_row[i] === row &&
            x >= xOf(first, p) &&
            x <= xOf(marks.band_last[i] + 1, p)
        )
            revealRange(first, marks.band_last[i]);
    });
}

const touching = new Map(); // pointers that are down, by id: {x, y}

function down(event) {
    if (event.button > 1) return;
    const [x, y] = picture.place(event);
    picture.canvas.setPointerCapture(event.pointerId);
    touching.set(event.pointerId, { x, y });
    const pans = event.shiftKey || event.button === 1 || event.pointerType === "touch";
    lens = touching.size === 1 ? { x, y, to: x, pans, moved: false, view: [...view] } : null;
    if (touching.size === 2)
        lens = { pinch: true, moved: true, view: [...view], points: [...touching.values()].map(t => t.x) };
}

function move(event) {
    const [x, y] = picture.place(event),
        p = plot();
    if (touching.has(event.pointerId)) touching.set(event.pointerId, { x, y });
    if (!lens) return hover(x, y);
    if (lens.pinch) {
        const [a, b] = [...touching.values()].map(t => t.x),
            [a0, b0] = lens.points,
            width = lens.view[1] - lens.view[0],
            room = p.right - p.left;
        const factor = Math.abs(a0 - b0) / Math.max(Math.abs(a - b), 4),
            middle = lens.view[0] + (((a0 + b0) / 2 - p.left) / room) * width;
        const from = middle - (((a + b) / 2 - p.left) / room) * width * factor;
        return show(from, from + width * factor);
    }
    lens.moved ||= Math.abs(x - lens.x) > 4;
    lens.to = clamp(x, p.left, p.right);
    if (lens.pans && lens.moved) {
        const shift = ((lens.x - x) / (p.right - p.left)) * (lens.view[1] - lens.view[0]);
        show(lens.view[0] + shift, lens.view[1] + shift);
    } else picture.ask();
}

function up(event) {
    touching.delete(event.pointerId);
    if (!lens) return;
    const was = lens,
        p = plot();
    if (touching.size) return;
    lens = null;
    if (was.pinch || (was.pans && was.moved)) return picture.ask();
    if (!was.moved) {
        hover(was.x, was.y);
        return pin(was.x, was.y);
    }
    if (Math.abs(was.to - was.x) > 4) show(...[toPlace(was.x, p), toPlace(was.to, p)].sort((a, b) => a - b));
}

function wheel(event) {
    event.preventDefault();
    const [x, y] = picture.place(event),
        p = plot(),
        lines = event.deltaMode ? 30 : 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return pan((event.deltaX * lines) / (p.right - p.left));
    zoom(Math.exp(clamp(event.deltaY * lines, -400, 400) * 0.0022), toPlace(clamp(x, p.left, p.right), p));
    hover(x, y);
}

// ---- keys

const KEYS = {
    ArrowLeft: shift => (shift ? pan(-0.2) : step(-1)),
    ArrowRight: shift => (shift ? pan(0.2) : step(1)),
    "+": () => zoomAtMoment(0.6),
    "=": () => zoomAtMoment(0.6),
    "-": () => zoomAtMoment(1 / 0.6),
    0: showAll,
    Home: () => goTo(0),
    End: () => goTo(about("events")),
    p: () => goTo(about("peak_moment")),
    "]": () => nextStep(1),
    "[": () => nextStep(-1),
    ArrowUp: () => nextBar(1),
    ArrowDown: () => nextBar(-1),
};
const zoomAtMoment = factor => {
    const place = placeOf(moment());
    zoom(factor, place >= view[0] && place <= view[1] ? place : undefined);
};
export function goTo(m) {
    const at = clamp(m, 0, about("events"));
    set({ at });
    reveal(at);
}
export const step = n => goTo(moment() + n);

function nextStep(direction) {
    if (!marks?.step_first.length) return;
    const starts = [...marks.step_first],
        m = moment();
    const i = direction > 0 ? starts.findIndex(s => s > m) : starts.findLastIndex(s => s < m);
    if (i >= 0) goTo(starts[i]);
}

// The allocation above or below the chosen one, among those drawn at the moment.
function nextBar(direction) {
    if (!bars || !wantsBars()) return;
    const place = placeOf(moment()),
        there = [];
    for (let i = 0; i < bars.id.length; i++)
        eachStep(i, null, (from, to, below) => place >= from && place < to && there.push([below, bars.id[i]]));
    there.sort((a, b) => a[0] - b[0]);
    const now = there.findIndex(([, id]) => id === state.sel);
    const next = there[now < 0 ? (direction > 0 ? 0 : there.length - 1) : clamp(now + direction, 0, there.length - 1)];
    if (next) set({ sel: next[1] });
}

export function key(event) {
    const action = KEYS[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey || !run()) return false;
    event.preventDefault();
    action(event.shiftKey);
    return true;
}

// ---- legend: what the layers hold in the column under the pointer, else at the moment

function legend(c) {
    if (!curve) return;
    const at = c ?? clamp(columnOf(moment()), 0, curve.at.length - 1),
        n = curve.color.length;
    const items = [];
    for (let l = n - 1; l >= 0; l--) {
        const bytes = curve.layer[at * n + l];
        if (bytes || curve.layer.some((b, i) => i % n === l && b)) items.push([curve.name[l], bytes, curve.color[l]]);
    }
    const list = byId("legend");
    if (list.children.length !== items.length)
        fill(
            list,
            items.map(() => el("li", {}, el("span.swatch", {}), el("span", {}), el("b", {}))),
        );
    items.forEach(([name, bytes, colour], i) => {
        const [swatch, label, value] = list.children[i].children;
        swatch.style.background = tone(colour);
        label.textContent = name;
        value.textContent = size(bytes);
    });
}

// ---- beginning

let picture, small;

export function startTimeline() {
    const canvas = byId("timeline-canvas");
    picture = new Picture(canvas, draw);
    picture.onresize = () => run() && ask();
    small = new Picture(byId("overview-canvas"), drawOverview);
    canvas.parentElement.append(tip);
    canvas.addEventListener("pointerdown", down);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => !lens && hover(-1, -1));
    canvas.addEventListener("wheel", wheel, { passive: false });
    canvas.addEventListener("dblclick", showAll);
    canvas.addEventListener("keydown", key);
    startOverview(small.canvas);
    on(changed => {
        if (!run()) return;
        if (["run", "dev", "by", "axis"].some(name => changed.has(name))) return renew();
        if (changed.has("from") || changed.has("to")) {
            const [from, to] = range();
            if (Math.abs(from - view[0]) + Math.abs(to - view[1]) > 0.02) {
                view = [from, to];
                small.ask();
                ask();
            }
        }
        if (changed.has("draw") || changed.has("detail")) ask();
        if (changed.has("at")) legend();
        picture.ask();
    });
    return { picture, renew, redraw: () => (legend(), picture.ask(), small.ask()) };
}

function startOverview(canvas) {
    let held = null;
    const place = event => ((small.place(event)[0] - LEFT) / (small.width - LEFT - RIGHT)) * length();
    const centre = at => show(at - (view[1] - view[0]) / 2, at + (view[1] - view[0]) / 2);
    canvas.addEventListener("pointerdown", event => {
        canvas.setPointerCapture(event.pointerId);
        const at = place(event);
        held = at >= view[0] && at <= view[1] ? at - (view[0] + view[1]) / 2 : 0;
        centre(at - held);
    });
    canvas.addEventListener("pointermove", event => held !== null && event.buttons && centre(place(event) - held));
    canvas.addEventListener("pointerup", () => (held = null));
}
