/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel needs, as its image says it: a cubin is an ELF file with the section .text.NAME for the kernel NAME,
 * .nv.shared.NAME for its static shared memory, and attributes of the kernel in .nv.info.NAME, of all in .nv.info.
 * An attribute is a format, a number, and what follows by the format (binutils does not know them; checked against what
 * ptxas -v says of capabilities 8.0, 9.0 and 12.0).
 */
#include "replay/dry/private.h"

#include <elf.h>
#include <string.h>

enum { CUDA_MACHINE = 190, LONG_VALUE = 4 }; /* a format; the others have their value in four bytes with the head */
enum { MAX_THREADS = 0x05, NEEDED_THREADS = 0x10, FRAME_SIZE = 0x11, REGISTERS = 0x2f };
enum { RESERVED_SHARED = 1024 }; /* in the section from capability 9.0 on; not the kernel's */

struct image {
    const unsigned char *data;
    const Elf64_Shdr *sections;
    const char *names;
    size_t count;
};

static bool open_image(struct image *image, const void *data)
{
    const Elf64_Ehdr *head = data;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_machine != CUDA_MACHINE || head->e_shentsize != sizeof(Elf64_Shdr) || head->e_shstrndx >= head->e_shnum)
        return false;
    const unsigned char *bytes = data;
    const Elf64_Shdr *sections = (const void *)(bytes + head->e_shoff);
    *image = (struct image){bytes, sections, (const char *)bytes + sections[head->e_shstrndx].sh_offset, head->e_shnum};
    return true;
}

/* The section PREFIX.NAME, or NULL. */
static const Elf64_Shdr *find(const struct image *image, const char *prefix, const char *name)
{
    const size_t n = strlen(prefix);
    for (size_t i = 0; i < image->count; i++) {
        const char *called = image->names + image->sections[i].sh_name;
        if (strncmp(called, prefix, n) == 0 && strcmp(called + n, name) == 0)
            return &image->sections[i];
    }
    return NULL;
}

static uint32_t word(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* `symbol`: of attributes of several functions only that one's count; 0: all are the kernel's. */
static void read_attributes(const struct image *image, const Elf64_Shdr *section, uint32_t symbol,
                            struct dry_needs *needs)
{
    const unsigned char *at = image->data + section->sh_offset, *end = at + section->sh_size;
    while (end - at >= 4) {
        const unsigned bytes = at[0] == LONG_VALUE ? (unsigned)at[2] | (unsigned)at[3] << 8 : 0;
        const unsigned char *value = at + 4;
        if (end - value < (ptrdiff_t)bytes)
            return;
        if (symbol != 0 && bytes == 8 && word(value) == symbol && at[1] == REGISTERS)
            needs->registers = (int)word(value + 4);
        if (symbol != 0 && bytes == 8 && word(value) == symbol && at[1] == FRAME_SIZE)
            needs->local = (int)word(value + 4);
        if (symbol == 0 && bytes == 12 && (at[1] == MAX_THREADS || at[1] == NEEDED_THREADS))
            needs->threads = (int)(word(value) * word(value + 4) * word(value + 8));
        at = value + bytes;
    }
}

static uint32_t find_symbol(const struct image *image, const char *name)
{
    const Elf64_Shdr *table = find(image, ".symtab", "");
    if (table == NULL || table->sh_link >= image->count || table->sh_entsize != sizeof(Elf64_Sym))
        return 0;
    const Elf64_Sym *symbols = (const void *)(image->data + table->sh_offset);
    const char *names = (const char *)image->data + image->sections[table->sh_link].sh_offset;
    for (uint32_t i = 1; i < table->sh_size / sizeof *symbols; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && strcmp(names + symbols[i].st_name, name) == 0)
            return i;
    return 0;
}

static struct dry_needs read_needs(const struct image *image, const char *name)
{
    struct dry_needs needs = dry_usual_needs();
    const Elf64_Shdr *of_all = find(image, ".nv.info", ""), *own = find(image, ".nv.info.", name);
    const Elf64_Shdr *shared = find(image, ".nv.shared.", name);
    const bool is_reserved = find(image, ".nv.shared.reserved.", "0") != NULL;
    const uint32_t symbol = find_symbol(image, name);
    if (of_all != NULL && symbol != 0)
        read_attributes(image, of_all, symbol, &needs);
    if (own != NULL)
        read_attributes(image, own, 0, &needs);
    if (shared != NULL)
        needs.shared = (int)shared->sh_size - (is_reserved && shared->sh_size >= RESERVED_SHARED ? RESERVED_SHARED : 0);
    return needs;
}

struct dry_needs dry_usual_needs(void)
{
    return (struct dry_needs){.registers = 32, .threads = 1024};
}

struct dry_needs dry_cubin_needs(const void *data, const char *name)
{
    struct image image;
    return open_image(&image, data) ? read_needs(&image, name) : dry_usual_needs();
}

bool dry_cubin_kernels(const void *data, bool (*each)(void *context, const char *name, struct dry_needs needs),
                       void *context)
{
    static const char text[] = ".text.";
    struct image image;
    if (!open_image(&image, data))
        return false;
    for (size_t i = 0; i < image.count; i++) {
        const char *name = image.names + image.sections[i].sh_name;
        if (strncmp(name, text, sizeof text - 1) == 0 &&
            !each(context, name + sizeof text - 1, read_needs(&image, name + sizeof text - 1)))
            return false;
    }
    return true;
}
