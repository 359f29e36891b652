/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages that are asked for are there before they are touched, and nothing in them changes.
 */
#include "analyze/base/filling.h"
#include "tests/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 512, MOST_ASKED = 256 << 10 };

static size_t resident(char *v, size_t page)
{
    unsigned char is_there[PAGES];
    size_t n = 0;
    assert_int_equal(mincore(v, PAGES * page, is_there), 0);
    for (size_t i = 0; i < PAGES; i++)
        n += is_there[i] & 1;
    return n;
}

TEST(what_comes_next_is_there)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *v = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(v != MAP_FAILED);
    if (madvise(v, page, MADV_NOHUGEPAGE) != 0 || madvise(v, PAGES * page, MADV_NOHUGEPAGE) != 0 ||
        madvise(v, page, 23 /* MADV_POPULATE_WRITE */) != 0) {
        munmap(v, PAGES * page);
        skip();
    }
    strcpy(v, "first");
    struct gm_filling f = {.asked = 0};
    gm_filling_ask(&f); /* nothing was told yet */
    assert_int_equal(resident(v, page), 1);
    gm_filling_tell(&f, v, 6, PAGES * page);
    gm_filling_ask(&f);
    assert_int_equal(resident(v, page), MOST_ASKED / page);
    gm_filling_ask(&f); /* that is there already */
    assert_int_equal(resident(v, page), MOST_ASKED / page);
    gm_filling_tell(&f, v, PAGES * page - page, PAGES * page);
    gm_filling_ask(&f); /* too little to ask for */
    assert_int_equal(resident(v, page), MOST_ASKED / page);
    gm_pages_ask(v, 0, PAGES * page);
    assert_int_equal(resident(v, page), PAGES);
    assert_string_equal(v, "first");
    munmap(v, PAGES * page);
    gm_filling_tell(&f, v, 0, PAGES * page); /* it was moved, and nobody has told */
    gm_filling_ask(&f);
    gm_pages_ask(v, 0, PAGES * page);
}
