/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs that are built without the page's toolchain.
 */
extern const char gm_page_template[], gm_page_template_end[];

const char gm_page_template[1] = {0}, gm_page_template_end[1] = {0};
