/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/export/csv.h"

#include <inttypes.h>

void gm_operators_csv_write(struct gm_text *out, const struct gm_profile_report *profile)
{
    const struct gm_operator_table *table = profile->has_shapes ? &profile->shapes : &profile->operators;
    gm_text_add(out, "name,shapes,on_device,annotation,calls,self_device_bytes,device_bytes,self_host_bytes,host_bytes,"
                     "self_time_ns,time_ns,self_device_time_ns,device_time_ns\n");
    for (size_t i = 0; i < table->count; i++) {
        const struct gm_operator_row *r = &table->v[i];
        gm_text_add_csv(out, r->name);
        gm_text_add_char(out, ',');
        gm_text_add_csv(out, r->shapes == NULL ? "" : r->shapes);
        gm_text_printf(out, ",%d,%d,%" PRIu64, r->is_on_device, r->is_annotation, r->calls);
        const struct gm_operator_sums *self = &r->self, *total = &r->total;
        const int64_t numbers[] = {self->device_bytes,   total->device_bytes,  self->host_bytes,
                                   total->host_bytes,    self->time_ns,        total->time_ns,
                                   self->device_time_ns, total->device_time_ns};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            gm_text_printf(out, ",%" PRId64, numbers[k]);
        gm_text_add_char(out, '\n');
    }
}
