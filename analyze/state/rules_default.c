/* SPDX-License-Identifier: Apache-2.0
 *
 * The default rules, compiled in: the build turns default.categories into the array (embed.cmake).
 */
#include "analyze/state/categories.h"

static const char text[] = {
#include "state/default_categories.inc"
};

enum gm_status gm_category_rules_default(struct gm_category_rules **rules, struct gm_error *err)
{
    return gm_category_rules_parse(rules, text, sizeof text, "default.categories", err);
}
