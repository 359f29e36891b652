/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of one function: `GM_FREED uint32_t *counts = calloc(n, sizeof *counts);` is freed wherever the function is
 * left. So is an array of vec.h, or any struct that owns what its first member points to and nothing else. It stands
 * before a declaration of its own, since it holds for all that is declared with it. What has a function that frees it
 * is GM_FREED_BY(gm_map_free). GM_FREE_ALL(x->names, x->counts) frees each of them.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#define GM_FREED GM_FREED_BY(gm_free_at)
#define GM_FREED_BY(function) __attribute__((cleanup(function))) /* which takes a pointer to what is declared */
static inline void gm_free_at(void *at)
{
    void *memory;
    memcpy(&memory, at, sizeof memory);
    free(memory);
}

#define GM_FREE_ALL(...) gm_free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
static inline void gm_free_all(void *const *memory, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(memory[i]);
}
