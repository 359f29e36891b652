/* SPDX-License-Identifier: Apache-2.0
 *
 * A history that is read while it is made says what it says when it is done, or that it was wrong.
 */
#include "analyze/base/text.h"
#include "analyze/formats/load.h"
#include "analyze/timeline/history/making.h"
#include "tests/unit.h"

#define ROUNDS 4000
#define OLDER "104857600" /* a block of 1.5 MiB, older than the trace; 256 KiB of slack above it */
#define ABOVE "106692608"

static void add(struct gm_text *out, const char *action, const char *address, const char *size)
{
    gm_text_printf(out, "%s{\"action\":\"%s\",\"addr\":%s,\"size\":%s,\"stream\":0}",
                   out->data[out->length - 1] == '[' ? "" : ",", action, address, size);
}

/* What shows the slack happens in that round. */
static void load(struct gm_snapshot *snapshot, int shown, const char *pool)
{
    GM_FREED struct gm_text text = {0};
    gm_text_printf(&text,
                   "{\"segments\":[{\"device\":0,\"address\":" OLDER ",\"total_size\":20971520,\"stream\":0,"
                   "\"segment_type\":\"large\",\"blocks\":[{\"size\":1835008,\"state\":\"inactive\"},"
                   "{\"size\":2097152,\"requested_size\":2097152,\"state\":\"active_allocated\"},"
                   "{\"size\":17039360,\"state\":\"inactive\"}]},"
                   "{\"device\":0,\"address\":209715200,\"total_size\":12582912,\"stream\":0,%s"
                   "\"segment_type\":\"large\",\"blocks\":[{\"size\":12582912,\"state\":\"inactive\"}]}],"
                   "\"device_traces\":[[",
                   pool);
    for (int i = 0; i < ROUNDS; i++) {
        if (i == shown)
            add(&text, "alloc", ABOVE, "2097152");
        add(&text, "alloc", "209715200", "12582000");
        add(&text, "free_requested", "209715200", "12582000");
        add(&text, "free_completed", "209715200", "12582000");
    }
    add(&text, "free_requested", OLDER, "1572864");
    add(&text, "free_completed", OLDER, "1572864");
    gm_text_add(&text, "]]}");
    struct gm_error err = {0};
    assert_int_equal(gm_snapshot_load_bytes(snapshot, text.data, text.length, "test", NULL, &err), GM_OK);
}

/* Of all allocations, while it is made. */
static bool is_right(int shown)
{
    struct gm_snapshot snapshot;
    struct gm_history h;
    struct gm_making making;
    bool is_same = true;
    load(&snapshot, shown, "");
    assert_true(gm_history_pair(&h, &snapshot, 0));
    assert_true(gm_making_begin(&making, &h));
    const size_t count = h.allocation_count;
    GM_FREED uint64_t *bytes = calloc(count, sizeof *bytes);
    for (size_t a = 0; a < count; a++)
        bytes[a] = gm_making_block_bytes(&making.seen, a);
    assert_int_equal(making.seen.segment_count, 0);
    assert_int_equal(gm_pool_number(&making.seen, count - 1), 0);
    assert_true(gm_making_end(&making));
    assert_true(h.is_reconstructed);
    for (size_t a = 0; a < count; a++)
        is_same = is_same && bytes[a] == gm_making_block_bytes(&h, a);
    assert_int_equal(is_same, making.was_right);
    gm_history_free(&h);
    gm_snapshot_free(&snapshot);
    return is_same;
}

TEST(sizes_of_the_start_that_show_at_once_or_late)
{
    assert_true(is_right(0));
    assert_false(is_right(ROUNDS - 1));
}

TEST(private_pools_are_not_foreseen)
{
    struct gm_snapshot snapshot;
    struct gm_history h;
    struct gm_making making;
    load(&snapshot, 0, "\"segment_pool_id\":[0,1],");
    assert_true(gm_history_pair(&h, &snapshot, 0));
    assert_false(gm_making_begin(&making, &h));
    gm_history_free(&h);
    gm_snapshot_free(&snapshot);
}
