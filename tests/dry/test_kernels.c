/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules of libgmdry.so: what a cubin says of its kernels is what the driver's functions answer. The cubin is made
 * here, of the sections that ptxas writes. And other libraries' functions that answer something.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elf.h>
#include <unistd.h>

#include "tests/dry/stand_in.h"
#include "tests/unit.h"

enum { OK = 0, NOT_FOUND = 500, ROOM = 4096, SECTIONS = 8 };
enum { THREADS = 0, SHARED = 1, LOCAL = 3, REGISTERS = 4 };

typedef int (*load_fn)(void **, const void *);
typedef int (*get_fn)(void **, void *, const char *);
typedef int (*ask_fn)(int *, int, void *);

struct cubin {
    _Alignas(16) unsigned char data[ROOM];
    size_t used, names, sections;
    Elf64_Shdr *table;
    char *strings;
};

/* The header, then names of sections, then what sections hold. */
static void begin(struct cubin *cubin)
{
    memset(cubin, 0, sizeof *cubin);
    Elf64_Ehdr *head = (void *)cubin->data;
    memcpy(head->e_ident, ELFMAG, SELFMAG);
    head->e_ident[EI_CLASS] = ELFCLASS64;
    head->e_machine = 190;
    head->e_shoff = sizeof *head;
    head->e_shentsize = sizeof(Elf64_Shdr);
    cubin->table = (void *)(cubin->data + head->e_shoff);
    cubin->strings = (char *)(cubin->table + SECTIONS);
    cubin->names = 1;
    cubin->used = (size_t)((unsigned char *)cubin->strings - cubin->data) + 512;
    cubin->sections = 1;
    cubin->table[0] = (Elf64_Shdr){.sh_offset = (size_t)((unsigned char *)cubin->strings - cubin->data)};
    head->e_shstrndx = 0;
}

static Elf64_Shdr *add(struct cubin *cubin, const char *name, const void *data, size_t bytes)
{
    Elf64_Shdr *section = &cubin->table[cubin->sections++];
    strcpy(cubin->strings + cubin->names, name);
    section->sh_name = (Elf64_Word)cubin->names;
    cubin->names += strlen(name) + 1;
    section->sh_offset = cubin->used;
    section->sh_size = bytes;
    if (data != NULL) {
        memcpy(cubin->data + cubin->used, data, bytes);
        cubin->used += (bytes + 7) / 8 * 8;
    }
    ((Elf64_Ehdr *)(void *)cubin->data)->e_shnum = (Elf64_Half)cubin->sections;
    return section;
}

static void make(struct cubin *cubin, size_t shared, bool is_reserved)
{
    static const char names[] = "\0kern\0two";
    const Elf64_Sym symbols[] = {{0},
                                 {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
                                 {.st_name = 6, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)}};
    /* Registers of 2, a value in place, a frame of 1, registers of 1. */
    const uint32_t all[] = {0x00082f04, 2, 8, 0x0080ff03, 0x00081104, 1, 128, 0x00082f04, 1, 77};
    const uint32_t own[] = {0x00ff1b03, 0x000c1004, 64, 4, 1};
    begin(cubin);
    add(cubin, ".text.kern", NULL, 256);
    add(cubin, ".nv.info", all, sizeof all);
    add(cubin, ".nv.info.kern", own, sizeof own);
    add(cubin, ".symtab", symbols, sizeof symbols)->sh_entsize = sizeof *symbols;
    cubin->table[cubin->sections - 1].sh_link = (Elf64_Word)cubin->sections;
    add(cubin, ".strtab", names, sizeof names);
    add(cubin, ".nv.shared.kern", NULL, shared);
    if (is_reserved)
        add(cubin, ".nv.shared.reserved.0", NULL, 0);
}

static int ask(void *kernel, int what)
{
    FIND(ask_fn, cuFuncGetAttribute);
    int value = -1;
    assert_int_equal(cuFuncGetAttribute(&value, what, kernel), OK);
    return value;
}

TEST(needs)
{
    FIND(load_fn, cuModuleLoadData);
    FIND(get_fn, cuModuleGetFunction);
    static struct cubin cubin;
    for (int is_reserved = 0; is_reserved < 2; is_reserved++) {
        void *module = NULL, *kernel = NULL;
        make(&cubin, is_reserved ? 5120 : 4096, is_reserved);
        assert_int_equal(cuModuleLoadData(&module, cubin.data), OK);
        memset(cubin.data, 0xff, sizeof cubin.data); /* the caller's, and gone */
        assert_int_equal(cuModuleGetFunction(&kernel, module, "kern"), OK);
        assert_int_equal(ask(kernel, REGISTERS), 77);
        assert_int_equal(ask(kernel, LOCAL), 128);
        assert_int_equal(ask(kernel, THREADS), 256);
        assert_int_equal(ask(kernel, SHARED), 4096); /* less the 1 KiB that newer cards keep for themselves */
        assert_int_equal(cuModuleGetFunction(&kernel, module, "none"), NOT_FOUND);
    }
}

/* Of what is no cubin nothing is known: any kernel may be in it. */
TEST(other_images)
{
    FIND(load_fn, cuModuleLoadData);
    FIND(get_fn, cuModuleGetFunction);
    FIND(int (*)(const char **, const void *), cuFuncGetName);
    void *module = NULL, *a = NULL, *b = NULL, *again = NULL;
    static const char image[256] = ".version 8.0";
    const char *name = NULL;
    assert_int_equal(cuModuleLoadData(&module, image), OK);
    assert_int_equal(cuModuleGetFunction(&a, module, "a"), OK);
    assert_int_equal(cuModuleGetFunction(&b, module, "b"), OK);
    assert_int_equal(cuModuleGetFunction(&again, module, "a"), OK);
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, b);
    assert_int_equal(ask(a, REGISTERS), 32);
    assert_int_equal(cuFuncGetName(&name, b), OK);
    assert_string_equal(name, "b");
}

/* What is launched with <<<>>> is known by the address of its stub. */
TEST(own_kernels)
{
    static char stub[64];
    FIND(void (*)(void **, const void *, char *, const char *), __cudaRegisterFunction);
    FIND(int (*)(const char **, const void *), cudaFuncGetName);
    FIND(int (*)(const void *), cudaLaunchKernel);
    const char *name = NULL;
    assert_int_not_equal(cudaFuncGetName(&name, stub), OK);
    for (int i = 0; i < 64; i++) /* far more than one in a place of the table */
        __cudaRegisterFunction(NULL, stub + i, stub, i == 17 ? "_Z3addPf" : "other");
    assert_int_equal(cudaFuncGetName(&name, stub + 17), OK);
    assert_string_equal(name, "_Z3addPf");
    assert_int_equal(cudaLaunchKernel(stub + 17), OK);
    assert_int_equal(cudaLaunchKernel(&name), OK); /* never registered */
}

/* Sizes that functions ask for, in what they count. */
TEST(workspaces)
{
    FIND(int (*)(void *, int, int, void *, int, int *), cusolverDnSgeqrf_bufferSize);
    FIND(int (*)(void *, int, int, int, const void *, int, const void *, int *), cusolverDnZheevd_bufferSize);
    FIND(int (*)(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int), cusparseCreateCoo);
    FIND(int (*)(const void *), cusparseDestroySpMat);
    FIND(int (*)(void *, int, int, void *, void *, void *, void *, void *, int, int, size_t *),
         cusparseSpMM_bufferSize);
    FIND(int (*)(const void *, int64_t *, int64_t *, int64_t *), cusparseSpMatGetSize);
    int elements = -1;
    size_t bytes = 1;
    int64_t rows = 0, columns = 0, entries = 0;
    void *matrix = NULL;
    assert_int_equal(cusolverDnSgeqrf_bufferSize(NULL, 100, 10, NULL, 100, &elements), 0);
    assert_int_equal(elements, 640);
    assert_int_equal(cusolverDnZheevd_bufferSize(NULL, 1, 0, 10, NULL, 10, NULL, &elements), 0);
    assert_int_equal(elements, 261);
    assert_int_not_equal(cusolverDnZheevd_bufferSize(NULL, 1, 0, 1 << 20, NULL, 10, NULL, &elements), 0);
    assert_int_equal(cusparseCreateCoo(&matrix, 5, 6, 7, NULL, NULL, NULL, 0, 0, 0), 0);
    assert_int_equal(cusparseSpMM_bufferSize(NULL, 0, 0, NULL, matrix, NULL, NULL, NULL, 0, 0, &bytes), 0);
    assert_int_equal(bytes, 0);
    assert_int_equal(cusparseSpMatGetSize(matrix, &rows, &columns, &entries), 0);
    assert_int_equal(rows * 100 + columns * 10 + entries, 567);
    assert_int_equal(cusparseDestroySpMat(matrix), 0);
}

/* What a file has comes back from the device, to another place of the file. */
TEST(files)
{
    struct {
        int64_t type, number; /* the latter in a union with a pointer */
        void *rest;
    } description = {1, -1, NULL};
    FIND(int (*)(void **, size_t), cudaMalloc);
    FIND(int (*)(void *), cudaFree);
    FIND(uint64_t(*)(void **, const void *), cuFileHandleRegister);
    FIND(void (*)(void *), cuFileHandleDeregister);
    FIND(ssize_t(*)(void *, void *, size_t, off_t, off_t), cuFileRead);
    FIND(ssize_t(*)(void *, const void *, size_t, off_t, off_t), cuFileWrite);
    char path[] = "/tmp/test_kernels.XXXXXX", text[16] = "";
    void *handle = NULL, *device = NULL;
    const int file = mkstemp(path);
    description.number = file;
    assert_int_equal(write(file, "0123456789", 10), 10);
    assert_int_equal(cudaMalloc(&device, 4096), OK);
    assert_int_equal(cuFileHandleRegister(&handle, &description), 0);
    assert_int_equal(cuFileRead(handle, device, 4096, 2, 100), 8); /* as many as there are */
    assert_int_equal(cuFileWrite(handle, device, 8, 10, 100), 8);
    assert_int_equal(pread(file, text, 15, 8), 10);
    assert_string_equal(text, "8923456789");
    cuFileHandleDeregister(handle);
    assert_int_equal(cuFileHandleRegister(&handle, &(__typeof__(description)){.type = 2}) & 0xffffffff, 5003);
    assert_int_equal(cudaFree(device), OK);
    close(file);
    unlink(path);
}

/* The machine, as NVML tells it. */
TEST(machine)
{
    FIND(int (*)(unsigned, void **), nvmlDeviceGetHandleByIndex_v2);
    FIND(int (*)(const char *, void **), nvmlDeviceGetHandleByUUID);
    FIND(int (*)(void *, char *, unsigned), nvmlDeviceGetUUID);
    FIND(int (*)(void *, void *), nvmlDeviceGetMemoryInfo_v2);
    FIND(int (*)(void *, int, unsigned *), nvmlDeviceGetClockInfo);
    FIND(int (*)(void *, char *), nvmlDeviceGetPciInfo_v3);
    FIND(int (*)(void **, size_t *, size_t, size_t), cudaMallocPitch);
    FIND(int (*)(void *), cudaFree);
    struct {
        unsigned version;
        unsigned long long total, reserved, free, used;
    } memory = {.version = 7};
    void *second = NULL, *again = NULL, *rows = NULL;
    char uuid[96] = "", place[128] = "";
    unsigned clock = 0;
    size_t pitch = 0;
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(1, &second), 0);
    assert_int_equal(nvmlDeviceGetUUID(second, uuid, sizeof uuid), 0);
    assert_int_equal(nvmlDeviceGetHandleByUUID(uuid, &again), 0);
    assert_ptr_equal(second, again);
    assert_int_not_equal(nvmlDeviceGetHandleByUUID("GPU-0", &again), 0);
    assert_int_equal(nvmlDeviceGetPciInfo_v3(second, place), 0);
    assert_string_equal(place + 36, "00000000:02:00.0");
    assert_int_equal(nvmlDeviceGetClockInfo(second, 2, &clock), 0);
    assert_int_equal(clock, 2619);
    assert_int_equal(cudaMallocPitch(&rows, &pitch, 100, 3), OK);
    assert_int_equal(pitch, 512);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &again), 0);
    assert_int_equal(nvmlDeviceGetMemoryInfo_v2(again, &memory), 0);
    assert_true(memory.version == 7 && memory.total == 1 << 30 && memory.used + memory.free == memory.total);
    assert_int_equal(memory.free, (768 << 20) - 3 * 512);
    assert_int_equal(cudaFree(rows), OK);
}

AROUND_ALL(open_library, NULL)
