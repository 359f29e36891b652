/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmfleet leaves behind: its run directory, and the JSON that --json asks for.
 */
#ifndef GM_CLI_FLEET_OUTPUTS_H
#define GM_CLI_FLEET_OUTPUTS_H

#include "analyze/base/text.h"
#include "analyze/cli/gmfleet.h"
#include "analyze/report/fleet_model.h"
#include "analyze/run/run.h"

/* Draws and writes everything into a new run directory called `name`, and points `latest` at it. *json is fleet.json.
 * The caller frees *run and *json. */
enum gm_status gm_fleet_outputs_write(struct gm_run **run, struct gm_text *json, bool *latest_was_left_alone,
                                      const struct gm_fleet_context *context, const struct gm_fleet *fleet,
                                      const char *name, struct gm_error *err);

#endif
