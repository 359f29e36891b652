/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of a run that serves a model.
 */
#include "analyze/document/sections.h"

static void tell_what_it_costs(struct gm_doc *d, const struct gm_serving *s)
{
    const uint64_t none = GM_REPORT_NONE;
    if (s->cache == 0)
        gm_doc_tell(d, "No KV cache is known: what a token needs cannot be told.");
    if (s->growth != none)
        gm_doc_tell(d, "The KV cache grows by %s in each step of all sequences together (in %s steps).",
                    gm_doc_bytes(d, s->growth), gm_doc_count(d, s->steps));
    if (s->per_token != none)
        gm_doc_tell(d, "A token needs %s of it (%s bytes).", gm_doc_bytes(d, s->per_token),
                    gm_doc_count(d, s->per_token));
    else if (s->cache > 0)
        gm_doc_tell(d, "How many tokens it holds is in no snapshot: %s tells bytes per token.",
                    s->growth != none ? "--sequences N (how many are decoded at once)"
                                      : "--tokens N (how many it has room for, of all sequences)");
    if (s->per_sequence != none)
        gm_doc_tell(d, "A sequence needs %s, with its share of activations and temporaries.",
                    gm_doc_bytes(d, s->per_sequence));
}

static void tell_room(struct gm_doc *d, const struct gm_serving *s)
{
    const uint64_t none = GM_REPORT_NONE;
    if (s->capacity == none) {
        gm_doc_tell(d, "How much the device has is in no snapshot: --gpu CARD tells what there is room for.");
        return;
    }
    const char *whose = s->card != NULL ? gm_doc_printf(d, "that a process can have of %s", s->card)
                                        : "that were there when memory ran out";
    if (s->capacity < s->reserved) {
        gm_doc_tell(d, "%s more is reserved than the %s %s.", gm_doc_bytes(d, s->reserved - s->capacity),
                    gm_doc_bytes(d, s->capacity), whose);
        return;
    }
    const struct {
        uint64_t n;
        const char *what;
    } more[] = {{s->more_tokens, "tokens"},
                {s->more_sequences, "sequences as long as these"},
                {s->more_steps, "steps of all sequences"}};
    const char *good_for = "";
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (more[i].n != none)
            good_for = gm_doc_printf(d, "%s%s %s more %s", good_for, *good_for == '\0' ? ":" : ", or",
                                     gm_doc_count(d, more[i].n), more[i].what);
    gm_doc_tell(d, "Room for %s more, beside what is reserved, of %s %s%s.", gm_doc_bytes(d, s->room),
                gm_doc_bytes(d, s->capacity), whose, good_for);
}

void gm_section_serving(struct gm_doc *d, const struct gm_view *v)
{
    static const struct gm_column rows[] = {
        GM_FIELD(GM_TEXT, GM_ALL, "name", NULL, struct gm_serving_row, name),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Size", struct gm_serving_row, bytes),
        GM_PART_OF(GM_ALL, "percent", "Share", struct gm_serving_row, bytes),
        GM_FIELD(GM_COUNT, GM_ALL | GM_BLANK, "blocks", "Blocks", struct gm_serving_row, blocks),
    };
    static const struct gm_column fields[] = {
        GM_KEY(GM_EVENT, "event", struct gm_serving, event),
        GM_KEY(GM_BYTES, "reserved_bytes", struct gm_serving, reserved),
        GM_KEY(GM_BYTES, "cache_requested_bytes", struct gm_serving, cache),
        GM_KEY(GM_BYTES, "growth_bytes_per_step", struct gm_serving, growth),
        GM_KEY(GM_COUNT, "growth_steps", struct gm_serving, steps),
        GM_KEY(GM_TEXT, "gpu", struct gm_serving, card),
        GM_KEY(GM_BYTES, "capacity_bytes", struct gm_serving, capacity),
        GM_KEY(GM_BYTES, "bytes_per_token", struct gm_serving, per_token),
        GM_KEY(GM_BYTES, "bytes_per_sequence", struct gm_serving, per_sequence),
        GM_KEY(GM_BYTES, "room_bytes", struct gm_serving, room),
        GM_KEY(GM_COUNT, "more_tokens", struct gm_serving, more_tokens),
        GM_KEY(GM_COUNT, "more_sequences", struct gm_serving, more_sequences),
        GM_KEY(GM_COUNT, "more_steps", struct gm_serving, more_steps),
    };
    const struct gm_serving *s = v->timeline->serving;
    struct gm_serving_row told[GM_SERVING_PARTS];
    size_t n = 0;
    const struct gm_serving_row sum = {"Reserved", s == NULL ? 0 : s->reserved, GM_REPORT_NONE};
    if (s == NULL) {
        gm_json_null(&d->json, "serving");
        return;
    }
    gm_doc_open(d, "serving", NULL);
    GM_FIELDS(d, fields, s, NULL);
    for (int i = 0; i < GM_SERVING_PARTS; i++)
        if (s->rows[i].bytes > 0 || gm_doc_is(d, GM_JSON))
            told[n++] = s->rows[i];
    GM_TABLE(d, rows, told, n, .key = "rows", .of = &s->reserved, GM_FEET(&sum, 1));
    gm_doc_tell(d,
                s->event == GM_REPORT_NONE ? "Before the first event: it was never more while it serves."
                                           : "After event %s, when most is reserved while it serves.",
                gm_doc_event(d, s->event));
    tell_what_it_costs(d, s);
    tell_room(d, s);
    gm_doc_close(d);
}
