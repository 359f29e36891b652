/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host reads of data that no kernel has computed (--data). Docs: docs/dry.md has the table.
 */
#include "replay/dry/private.h"

#include <stdatomic.h>
#include <string.h>

/* ---- of how many elements ---------------------------------------------------------------------------------------- */

/* CUB's kernels by parts of their names, and which of their parameters is the number of elements. */
static const struct dry_counted {
    const char *name;
    int parameter;
    bool is_rest; /* if launched right after the one above, the elements are that one's partial results */
} kernels[] = {
    {"DeviceReduceKernel", 2, false},
    {"DeviceReduceSingleTileKernel", 2, true},
    {"DeviceScanKernel", 6, false},
    {"DeviceRadixSortSingleTileKernel", 4, false},
    {"DeviceRadixSortHistogramKernel", 2, false},
    {"DeviceRadixSortUpsweepKernel", 2, false},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static _Thread_local const struct dry_counted *last_kernel;
static _Thread_local uint64_t last_items; /* 0: not known */

const struct dry_counted *dry_counted_kernel(const char *name)
{
    size_t i = strstr(name, "Device") == NULL ? KERNELS : 0;
    while (i < KERNELS && strstr(name, kernels[i].name) == NULL)
        i++;
    return i == KERNELS ? NULL : &kernels[i];
}

void dry_note_kernel(const struct dry_counted *kernel, void *const *parameters)
{
    if (kernel != NULL && !(kernel->is_rest && last_kernel == kernel - 1)) {
        uint32_t items; /* of a wider type the lower half */
        memcpy(&items, parameters[kernel->parameter], sizeof items);
        last_items = items;
    }
    last_kernel = kernel;
}

/* PyTorch's FillFunctor<T> over contiguous elements. Names are mangled or not. */
uint64_t dry_filled_by(const char *name)
{
    static const struct {
        const char *type;
        uint64_t size;
    } types[] = {
        {"Ib", 1},
        {"Ia", 1},
        {"Ih", 1},
        {"Is", 2},
        {"Ii", 4},
        {"If", 4},
        {"Il", 8},
        {"Id", 8},
        {"IN3c104HalfE", 2},
        {"IN3c108BFloat16E", 2},
        {"<bool>", 1},
        {"<signed char>", 1},
        {"<unsigned char>", 1},
        {"<short>", 2},
        {"<int>", 4},
        {"<float>", 4},
        {"<long>", 8},
        {"<double>", 8},
        {"<c10::Half>", 2},
        {"<c10::BFloat16>", 2},
    };
    const char *functor = strstr(name, "FillFunctor");
    if (functor == NULL ||
        (strstr(name, "vectorized_elementwise_kernel") == NULL && strstr(name, "unrolled_elementwise_kernel") == NULL))
        return 0;
    functor += strlen("FillFunctor");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strncmp(functor, types[i].type, strlen(types[i].type)) == 0)
            return types[i].size;
    return 0;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* SplitMix64. */
static uint64_t random_of(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The same ones in every run. */
static uint64_t next_random(void)
{
    static atomic_uint_fast64_t turn;
    return random_of(atomic_fetch_add(&turn, 1));
}

/* The same part of as many elements: a mask is read again in the backward pass. */
static uint64_t part_of(uint64_t elements)
{
    switch (dry_data()) {
    case DRY_ZEROS:
        return 0;
    case DRY_ONES:
        return elements;
    case DRY_HALF:
        return elements / 2;
    case DRY_RANDOM:
        break;
    }
    return random_of(elements) % (elements + 1);
}

/* 0 or 1; of half of them the one, of half the other. */
static unsigned bit(void)
{
    static atomic_uint turn;
    switch (dry_data()) {
    case DRY_ZEROS:
    case DRY_ONES:
        return dry_data() == DRY_ONES;
    case DRY_HALF:
        return atomic_fetch_add(&turn, 1) & 1;
    case DRY_RANDOM:
        break;
    }
    return next_random() & 1;
}

static double fraction(void)
{
    switch (dry_data()) {
    case DRY_ZEROS:
    case DRY_ONES:
        return dry_data() == DRY_ONES ? 1 : 0;
    case DRY_HALF:
        return 0.5;
    case DRY_RANDOM:
        break;
    }
    return (double)(next_random() >> 11) * 0x1p-53;
}

static uint64_t number_of(enum dry_reading reading)
{
    switch (reading) {
    case DRY_READS_CHECK:
    case DRY_READS_TROUBLE:
        return reading == DRY_READS_CHECK;
    case DRY_READS_COUNT:
    case DRY_READS_SUM:
        return part_of(last_items);
    case DRY_READS_DISTINCT: { /* equal ones are one */
        const uint64_t part = dry_data() == DRY_ONES ? 1 : part_of(last_items);
        return part == 0 ? 1 : part;
    }
    case DRY_READS_MOST:
    case DRY_READS_VALUE:
    case DRY_READS_BOTH: /* it is one of the first two by now */
        break;
    }
    return bit();
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static int (*_Atomic ask_type)(const void *);

/* The hook gives a function that knows which tensor lies at an address: enum dry_type. NULL: it is gone. */
API(void, gmdry_ask_types, int (*ask)(const void *))
{
    ask_type = ask;
}

enum dry_type dry_type_at(const void *address)
{
    int (*ask)(const void *) = ask_type;
    const int type = ask == NULL ? DRY_TYPE_UNKNOWN : ask(address);
    return type > DRY_TYPE_UNKNOWN && type <= DRY_TYPE_DOUBLE ? (enum dry_type)type : DRY_TYPE_UNKNOWN;
}

static uint64_t size_of(enum dry_type type, uint64_t bytes)
{
    static const uint64_t sizes[] = {
        [DRY_TYPE_BYTE] = 1, [DRY_TYPE_SHORT] = 2,    [DRY_TYPE_INT] = 4,   [DRY_TYPE_LONG] = 8,
        [DRY_TYPE_HALF] = 2, [DRY_TYPE_BFLOAT16] = 2, [DRY_TYPE_FLOAT] = 4, [DRY_TYPE_DOUBLE] = 8};
    const uint64_t size = type == DRY_TYPE_UNKNOWN ? bytes == 4 || bytes == 8 ? bytes : 1 : sizes[type];
    return bytes % size == 0 ? size : 1;
}

/* Little endian: the low bytes of a number come first. */
static void put(void *to, uint64_t size, enum dry_type type)
{
    const double real = type >= DRY_TYPE_HALF ? fraction() : 0;
    const float single = (float)real;
    uint64_t number = type >= DRY_TYPE_HALF ? 0 : bit();
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (type == DRY_TYPE_DOUBLE)
        memcpy(&number, &real, sizeof real);
    else if (type == DRY_TYPE_FLOAT)
        number = bits;
    else if (type == DRY_TYPE_BFLOAT16)
        number = bits >> 16;
    else if (type == DRY_TYPE_HALF) /* of 0 and what is at least 2^-14; below that, 0 */
        number = bits < UINT32_C(0x38800000) ? 0 : (bits - UINT32_C(0x38000000)) >> 13;
    memcpy(to, &number, size);
}

void dry_make_up(void *to, uint64_t bytes, enum dry_reading reading, enum dry_type type)
{
    if (reading != DRY_READS_VALUE && bytes <= 8) {
        const uint64_t number = number_of(reading);
        memcpy(to, &number, bytes);
        return;
    }
    if (dry_data() == DRY_ZEROS) {
        memset(to, 0, bytes);
        return;
    }
    const uint64_t size = size_of(type, bytes);
    for (uint64_t i = 0; i < bytes; i += size)
        put((char *)to + i, size, type);
}
