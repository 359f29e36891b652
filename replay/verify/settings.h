/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocator settings of the recorded run: the settings text, then the single settings that the file lists, which
 * say what was in force.
 */
#ifndef GM_REPLAY_SETTINGS_H
#define GM_REPLAY_SETTINGS_H

#include "analyze/base/error.h"
#include "analyze/model/snapshot.h"
#include "replay/allocator/conf.h"

/* Fills *conf. GM_E_USAGE: the recorded text is none that PyTorch accepts (what is wrong with it stands in *err);
 * *conf is then what the single settings say. */
enum gm_status gm_settings_recorded(struct gm_conf *conf, const struct gm_snapshot *snapshot, struct gm_error *err);
/* Whether two settings place blocks alike. */
bool gm_settings_equal(const struct gm_conf *a, const struct gm_conf *b);

#endif
