/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model: what makes a run fit on a card. Included by report.h; the same rules hold.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_plan_step {
    const char *name, *what;   /* in few words, and in full */
    const char *costs, *price; /* likewise; NULL: it is no fix */
    uint64_t peak;             /* reserved with this one and those before; of the device with the highest */
    uint64_t saved;            /* less than without it; GM_REPORT_NONE: it is no fix */
};
/* The cheapest fixes after which a run fits a card, or all of them if they are not enough. */
struct gm_card_plan {
    const char *card, *title;
    uint64_t usable, capacity;        /* bytes of the card; of that, what may be used */
    const struct gm_plan_step *steps; /* the first is the recording */
    size_t step_count;                /* 0: no plan was made, as the verdict says */
    const struct gm_plan_step *alone; /* each fix that was thought of, without the others: `what`, `costs`, `peak` */
    size_t alone_count;
    bool is_enough;
    bool is_open;      /* the recording ended out of memory: `is_enough` to get past that; the rest is not known */
    const char *ended; /* then where: "out of memory at event 896 of device 0 (768.0 MiB refused)" */
    uint64_t missing, retries;   /* bytes beyond the capacity with all of them; how often cached memory goes back */
    const char *verdict, *brief; /* a clause; the same in one line, with the card's name and the fixes */
};
