/* SPDX-License-Identifier: Apache-2.0
 *
 * The page as a part of the programs.
 */
    .section .gm_page,"a",@progbits
    .global gm_page_template
    .global gm_page_template_size
gm_page_template:
    .incbin GM_PAGE_TEMPLATE
gm_page_template_end:
    .balign 8
gm_page_template_size:
    .quad gm_page_template_end - gm_page_template
    .section .note.GNU-stack, "", %progbits
