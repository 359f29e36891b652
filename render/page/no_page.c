/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs that are built without the page's toolchain.
 */
#include <stdint.h>

extern const char gm_page_template[];
extern const uint64_t gm_page_template_size;

const char gm_page_template[1] = {0};
const uint64_t gm_page_template_size = 0;
