/* SPDX-License-Identifier: Apache-2.0
 *
 * What libgmdry.so says of kernels, on a card of capability 8.9: fat binaries made here, whose cubins hold one kernel
 * of known needs for each capability. The expected numbers are those of NVIDIA's occupancy rules, by hand.
 */
#include <string.h>

#include <elf.h>
#include <zstd.h>

#include "tests/dry/stand_in.h"
#include "tests/unit.h"

enum { OK = 0, INVALID = 1, PTX = 1, CUBIN = 2, ONLY_THIS = 0x100000, FAMILY = 0x200000, LZ4 = 0x2000, ZSTD = 0x8000 };

/* ---- images ------------------------------------------------------------------------------------------------------ */

struct cubin {
    Elf64_Ehdr head;
    Elf64_Shdr sections[8];
    char names[128];
    Elf64_Sym symbols[2];
    uint32_t of_all[3], own[4];
};

static void name_section(struct cubin *cubin, unsigned i, const char *name, uint32_t type, size_t offset, size_t bytes)
{
    const size_t used =
        i == 0 ? 1 : cubin->sections[i - 1].sh_name + strlen(cubin->names + cubin->sections[i - 1].sh_name) + 1;
    assert_true(used + strlen(name) + 1 <= sizeof cubin->names);
    memcpy(cubin->names + used, name, strlen(name) + 1);
    cubin->sections[i].sh_name = (Elf64_Word)used;
    cubin->sections[i].sh_type = type;
    cubin->sections[i].sh_offset = offset;
    cubin->sections[i].sh_size = bytes;
}

/* With the kernel "k". */
static struct cubin make_cubin(uint32_t registers, uint32_t shared, uint32_t threads)
{
    struct cubin cubin = {.head = {.e_ident = ELFMAG, .e_machine = 190, .e_shentsize = sizeof(Elf64_Shdr)},
                          .symbols = {{0}, {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)}},
                          .of_all = {0x00082f04, 1, registers},
                          .own = {0x000c0504, threads, 1, 1}};
    cubin.head.e_ident[EI_CLASS] = ELFCLASS64;
    cubin.head.e_shoff = offsetof(struct cubin, sections);
    name_section(&cubin, 1, "names", SHT_STRTAB, offsetof(struct cubin, names), sizeof cubin.names);
    name_section(&cubin, 2, ".text.k", SHT_PROGBITS, 0, 64);
    name_section(&cubin, 3, ".nv.shared.k", SHT_NOBITS, 0, shared);
    name_section(&cubin, 4, ".nv.info", SHT_PROGBITS, offsetof(struct cubin, of_all), sizeof cubin.of_all);
    name_section(&cubin, 5, ".nv.info.k", SHT_PROGBITS, offsetof(struct cubin, own), sizeof cubin.own);
    name_section(&cubin, 6, ".symtab", SHT_SYMTAB, offsetof(struct cubin, symbols), sizeof cubin.symbols);
    cubin.sections[6].sh_link = 1;
    cubin.sections[6].sh_entsize = sizeof(Elf64_Sym);
    cubin.head.e_shnum = 7;
    cubin.head.e_shstrndx = 1;
    cubin.symbols[1].st_name = cubin.sections[2].sh_name + (Elf64_Word)strlen(".text.");
    return cubin;
}

struct entry {
    uint16_t kind, version;
    uint32_t head;
    uint64_t bytes;
    uint32_t packed, unknown;
    uint16_t minor, major;
    uint32_t capability, name, name_bytes;
    uint64_t flags, zero, unpacked;
};

struct fat {
    struct {
        uint32_t magic;
        uint16_t version, head;
        uint64_t bytes;
    } head;
    unsigned char entries[16384];
};

struct wrapper {
    uint32_t magic, version;
    const void *data, *more;
};

/* All literals but a match for what repeats a byte eight times or more: enough to meet every part of the format. */
static size_t pack_lz4(unsigned char *to, const unsigned char *from, size_t bytes)
{
    unsigned char *const begin = to;
    size_t at = 0, since = 0;
    while (at <= bytes) {
        size_t same = 1;
        while (at + same < bytes && from[at + same] == from[at])
            same++;
        if (at < bytes && same < 8) {
            at += same;
            continue;
        }
        size_t literals = at < bytes ? at - since + 1 : bytes - since, match = at < bytes ? same - 1 : 0;
        unsigned char *token = to++;
        *token = (unsigned char)((literals < 15 ? literals : 15) << 4);
        for (size_t rest = literals - 15; literals >= 15; rest -= 255) {
            *to++ = (unsigned char)(rest < 255 ? rest : 255);
            if (rest < 255)
                break;
        }
        memcpy(to, from + since, literals);
        to += literals;
        if (match == 0)
            break;
        *to++ = 1;
        *to++ = 0;
        *token |= (unsigned char)(match - 4 < 15 ? match - 4 : 15);
        for (size_t rest = match - 4 - 15; match - 4 >= 15; rest -= 255) {
            *to++ = (unsigned char)(rest < 255 ? rest : 255);
            if (rest < 255)
                break;
        }
        since = at += same;
    }
    return (size_t)(to - begin);
}

static void add_entry(struct fat *fat, int kind, uint32_t capability, uint64_t flags, const void *image, size_t bytes)
{
    static unsigned char packed[8192];
    size_t n = bytes;
    if (flags & LZ4)
        n = pack_lz4(packed, image, bytes);
    else if (flags & ZSTD)
        n = ZSTD_compress(packed, sizeof packed, image, bytes, 3);
    else
        memcpy(packed, image, bytes);
    assert_true(n <= sizeof packed && fat->head.bytes + sizeof(struct entry) + n + 8 <= sizeof fat->entries);
    const struct entry entry = {.kind = (uint16_t)kind,
                                .head = sizeof entry,
                                .bytes = (n + 7) / 8 * 8,
                                .packed = (uint32_t)n,
                                .capability = capability,
                                .flags = flags,
                                .unpacked = bytes};
    memcpy(fat->entries + fat->head.bytes, &entry, sizeof entry);
    memcpy(fat->entries + fat->head.bytes + sizeof entry, packed, n);
    fat->head.bytes += sizeof entry + entry.bytes;
}

static void begin_fat(struct fat *fat)
{
    memset(fat, 0, sizeof *fat);
    fat->head.magic = 0xba55ed50;
    fat->head.version = 1;
    fat->head.head = 16;
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

struct attributes {
    size_t shared, constant, local;
    int threads, registers, ptx, binary, cache_mode, dynamic_shared, carveout;
    char more[64];
};

/* Registers the kernel "k" of the fat binary under `function`. */
static void add_kernel(const struct wrapper *wrapper, const void *function)
{
    FIND(void **(*)(const void *), __cudaRegisterFatBinary);
    FIND(void (*)(void **, const void *, char *, const char *), __cudaRegisterFunction);
    static char name[] = "k";
    __cudaRegisterFunction(__cudaRegisterFatBinary(wrapper), function, name, name);
}

static struct attributes ask(const void *function)
{
    FIND(int (*)(struct attributes *, const void *), cudaFuncGetAttributes);
    struct attributes a = {0};
    assert_int_equal(cudaFuncGetAttributes(&a, function), OK);
    return a;
}

static int blocks(const void *function, int threads, size_t shared)
{
    FIND(int (*)(int *, const void *, int, size_t), cudaOccupancyMaxActiveBlocksPerMultiprocessor);
    int n = -1;
    assert_int_equal(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, function, threads, shared), OK);
    return n;
}

/* 8.9 runs what is for 8.6, not what is for 9.0, nor what is for 8.0 if there is 8.6; neither 8.6 "alone". */
static void expect_choice(uint64_t how)
{
    static struct fat fat;
    static char function;
    static struct wrapper wrapper = {0x466243b1, 1, &fat, NULL};
    const struct cubin of_80 = make_cubin(20, 0, 1024), of_86 = make_cubin(100, 3000, 256),
                       of_90 = make_cubin(30, 0, 1024);
    begin_fat(&fat);
    add_entry(&fat, CUBIN, 80, how, &of_80, sizeof of_80);
    add_entry(&fat, CUBIN, 86, how, &of_86, sizeof of_86);
    add_entry(&fat, CUBIN, 86, how | ONLY_THIS, &of_80, sizeof of_80);
    add_entry(&fat, CUBIN, 90, how, &of_90, sizeof of_90);
    add_entry(&fat, PTX, 75, 0, "ptx", 4);
    add_kernel(&wrapper, &function);
    const struct attributes a = ask(&function);
    assert_int_equal(a.registers, 100);
    assert_int_equal(a.shared, 3000);
    assert_int_equal(a.threads, 256);
    assert_int_equal(a.ptx, 86);
    assert_int_equal(a.binary, 86);
    assert_int_equal(a.dynamic_shared, 49152 - 3000);
    /* 100 registers are 3328 of a warp: 4 warps in each quarter's 16384, so 16 of the SM's 48. */
    assert_int_equal(blocks(&function, 128, 0), 4);
    assert_int_equal(blocks(&function, 256, 0), 2);
    assert_int_equal(blocks(&function, 512, 0), 1);
    assert_int_equal(blocks(&function, 1024, 0), 0);
    /* 3000 + 29000 + 1024 are 33024 in pieces of 128: three in 100 KiB; 102400 - 1024 - 3000 are just one. */
    assert_int_equal(blocks(&function, 32, 29000), 3);
    assert_int_equal(blocks(&function, 32, 98000), 1);
    assert_int_equal(blocks(&function, 32, 99000), 0);
}

TEST(small_kernels)
{
    static struct fat fat;
    static char function, unknown;
    static struct wrapper wrapper = {0x466243b1, 1, &fat, NULL};
    const struct cubin cubin = make_cubin(32, 0, 1024);
    begin_fat(&fat);
    add_entry(&fat, CUBIN, 89, 0, &cubin, sizeof cubin);
    add_kernel(&wrapper, &function);
    assert_int_equal(blocks(&function, 256, 0), 6); /* 1536 threads */
    assert_int_equal(blocks(&function, 1024, 0), 1);
    assert_int_equal(blocks(&function, 32, 0), 24); /* the most blocks */
    assert_int_equal(blocks(&function, 2000, 0), 0);
    assert_int_equal(blocks(&unknown, 256, 0), 6); /* as of this one */
    FIND(int (*)(int *, const void *, int, size_t), cudaOccupancyMaxActiveBlocksPerMultiprocessor);
    int n = 0;
    assert_int_equal(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, &function, 0, 0), INVALID);
}

/* Made for the card by the driver: of which PTX is known, how many registers is not. */
TEST(only_ptx)
{
    static struct fat fat;
    static char function;
    static struct wrapper wrapper = {0x466243b1, 1, &fat, NULL};
    const struct cubin of_90 = make_cubin(99, 0, 1024);
    begin_fat(&fat);
    add_entry(&fat, CUBIN, 90, 0, &of_90, sizeof of_90);
    add_entry(&fat, PTX, 75, 0, "ptx", 4);
    add_entry(&fat, PTX, 80, 0, "ptx", 4);
    add_entry(&fat, PTX, 90, 0, "ptx", 4);
    add_kernel(&wrapper, &function);
    const struct attributes a = ask(&function);
    assert_int_equal(a.ptx, 80);
    assert_int_equal(a.binary, 89);
    assert_int_equal(a.registers, 32);
}

/* What does not unpack is not believed: the usual needs. */
TEST(damaged)
{
    static struct fat fats[2];
    static char functions[2];
    static struct wrapper wrappers[2] = {{0x466243b1, 1, &fats[0], NULL}, {0x466243b1, 1, &fats[1], NULL}};
    const struct cubin cubin = make_cubin(100, 0, 1024);
    const uint64_t how[] = {LZ4, ZSTD};
    for (int i = 0; i < 2; i++) {
        begin_fat(&fats[i]);
        add_entry(&fats[i], CUBIN, 89, how[i], &cubin, sizeof cubin);
        memset(fats[i].entries + sizeof(struct entry) + 4, 0xff, 200);
        add_kernel(&wrappers[i], &functions[i]);
        assert_int_equal(ask(&functions[i]).registers, 32);
    }
}

TEST(the_card_chooses)
{
    expect_choice(0);
    expect_choice(LZ4);
    expect_choice(ZSTD);
}

AROUND_ALL(open_library, NULL)
