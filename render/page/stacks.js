// SPDX-License-Identifier: Apache-2.0
// Who made what lives at the moment, as a flame graph; or what came and went since another moment.

import { button, count, el, search } from "./base.js";
import { Channel } from "./core.js";
import { Flame } from "./flame.js";
import { here, moment, NONE } from "./runs.js";
import { set, state } from "./state.js";

let flame, line, sync;
const tell = text => (line.textContent = text);
const channel = new Channel(
    (told, question) => flame.show(told, state.top, question[4] !== NONE),
    error => tell(error.message),
);

export const stacksView = {
    id: "stacks",
    title: "Stacks",
    keys: ["run", "dev", "at", "then", "inverted", "folds", "find", "top"],
    get picture() {
        return flame.picture;
    },
    rows: () => flame.rows(),
    start(panel, tools) {
        const toggle = (text, name, title) => button(text, () => set({ [name]: !state[name], top: 0 }), { title });
        const inverted = toggle("Inverted", "inverted", "Innermost frames on top"),
            folds = toggle("Framework folded", "folds", "Without frames that only lead from one to the next");
        const then = button("", () => set({ then: state.then === null ? moment() : null, top: 0 }), { id: "stacks-then" });
        const find = search("regular expression", "", text => set({ find: text }), {
            "aria-label": "Search frames by a regular expression",
        });
        tools.append(inverted, folds, then, find);
        line = el("p.note", { id: "stacks-line", "aria-live": "polite" });
        flame = new Flame("Flame graph; arrow keys move, Enter zooms, Backspace shows all", tell);
        flame.onzoom = top => set({ top });
        panel.append(line, el("div.cells", {}, flame.canvas));
        sync = () => {
            inverted.setAttribute("aria-pressed", state.inverted);
            folds.setAttribute("aria-pressed", state.folds);
            then.setAttribute("aria-pressed", state.then !== null);
            then.textContent =
                state.then === null
                    ? "Compare with this moment"
                    : `Since event ${count(Math.max(state.then - 1, 0))}: end`;
            if (document.activeElement !== find) find.value = state.find;
        };
    },
    update(changed) {
        sync();
        if (changed?.size === 1 && changed.has("top")) return;
        if (changed?.size === 1 && changed.has("find")) return flame.search(state.find);
        flame.text = state.find;
        channel.ask("flame", ...here(), moment(), state.then ?? NONE, state.inverted, state.folds);
    },
};
