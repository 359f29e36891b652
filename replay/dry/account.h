/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of what processes take of the devices, as it lies in the folder of a run: the stand-in writes it, gmdry
 * reads it when all have ended. Devices are those of the machine, whatever CUDA_VISIBLE_DEVICES hides or reorders.
 */
#pragma once

#include <stdint.h>

#define DRY_ACCOUNT "account"
enum { DRY_DEVICES = 64, DRY_ROWS = 512 };

struct dry_row {
    int32_t pid;                /* 0: this row and those behind it were never used */
    uint64_t used[DRY_DEVICES]; /* bytes, with the context */
};

struct dry_account {
    uint64_t peak[DRY_DEVICES]; /* bytes, of all processes together, with their contexts and NCCL's buffers */
    struct dry_row rows[DRY_ROWS];
};
