/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/whatif/gpus.h"

#include "analyze/base/ascii.h"
#include "analyze/base/closest.h"
#include "analyze/base/size.h"

#include <stdio.h>
#include <string.h>

/* GiB with two decimals, as PyTorch's messages show them; MiB, as logs of the device's properties have them. */
#define GIB(whole, hundredths) ((UINT64_C(whole) * 100 + (hundredths)) * GM_GIB / 100)
#define MIB(n) (UINT64_C(n) * GM_MIB)
#define MESSAGE(where) "message in " where
#define MESSAGES "messages in public logs"
#define PROPERTIES "properties in public logs"
#define LOGS "memory in public logs"
/* What tells how the libraries behave on it: compute capability, SMs, L2 in MiB. Written from
 * memory of the makers' data sheets, not checked card by card. */
#define CHIP(major, minor, sms, l2) CHIP_OF(major, minor, sms, MIB(l2))
/* clang-format off */
#define CHIP_OF(major, minor, sms, bytes) {major, minor, sms, bytes}
#define NO_CUDA {0, 0, 0, 0}
/* clang-format on */
#define ESTIMATE(how) "estimated: " how

/* Of several figures for a card the smallest: newer drivers keep more for themselves. */
static const struct gm_gpu gpus[] = {
    {"rtx-4060", NULL, "GeForce RTX 4060 8 GB", 8, GIB(7, 75), MESSAGE("ESRSchao/EdgeRegNet#2"), CHIP(8, 9, 24, 24)},
    {"rtx-4060-ti", NULL, "GeForce RTX 4060 Ti 8 GB", 8, GIB(7, 75),
     ESTIMATE("as the RTX 4060, which has the same memory"), CHIP(8, 9, 34, 32)},
    {"rtx-3070", NULL, "GeForce RTX 3070 8 GB", 8, GIB(7, 76), MESSAGE("sshan-zhao/GASDA#41"), CHIP(8, 6, 46, 4)},
    {"rtx-3070-ti", NULL, "GeForce RTX 3070 Ti 8 GB", 8, GIB(7, 76),
     ESTIMATE("as the RTX 3070, which has the same memory"), CHIP(8, 6, 48, 4)},
    {"rtx-3080", NULL, "GeForce RTX 3080 10 GB", 10, GIB(9, 78), MESSAGE("zai-org/CogVideo#34"), CHIP(8, 6, 68, 5)},
    {"rtx-2080-ti", NULL, "GeForce RTX 2080 Ti 11 GB", 11, GIB(10, 76), MESSAGE("JDAI-CV/image-captioning#11"),
     CHIP_OF(7, 5, 68, MIB(11) / 2)},
    {"rtx-5070", NULL, "GeForce RTX 5070 12 GB", 12, GIB(11, 50), LOGS, CHIP(12, 0, 48, 48)},
    {"rtx-4070-super", NULL, "GeForce RTX 4070 SUPER 12 GB", 12, GIB(11, 58), LOGS, CHIP(8, 9, 56, 48)},
    {"rtx-4070-ti", NULL, "GeForce RTX 4070 Ti 12 GB", 12, GIB(11, 70), MESSAGE("Kwai-Kolors/Kolors#11"),
     CHIP(8, 9, 60, 48)},
    {"rtx-4070", NULL, "GeForce RTX 4070 12 GB", 12, MIB(11994), PROPERTIES, CHIP(8, 9, 46, 36)},
    {"rtx-a2000", NULL, "RTX A2000 12 GB", 12, MIB(12017), PROPERTIES, CHIP(8, 6, 26, 3)},
    {"rtx-3080-ti", NULL, "GeForce RTX 3080 Ti 12 GB", 12, MIB(12031), "total_memory in WongKinYiu/yolov7#847",
     CHIP(8, 6, 80, 6)},
    {"rtx-3060", NULL, "GeForce RTX 3060 12 GB", 12, GIB(11, 75), MESSAGE("Kunhao-Liu/StyleGaussian#12"),
     CHIP(8, 6, 28, 3)},
    {"rtx-3080-12", NULL, "GeForce RTX 3080 12 GB", 12, MIB(12117), PROPERTIES, CHIP(8, 6, 70, 6)},
    {"t4", NULL, "T4 16 GB, ECC on", 16, GIB(14, 75), MESSAGE("hpcaitech/Open-Sora#697"), CHIP(7, 5, 40, 4)},
    {"rtx-5080", NULL, "GeForce RTX 5080 16 GB", 16, MIB(15840), PROPERTIES, CHIP(12, 0, 84, 64)},
    {"rtx-5070-ti", NULL, "GeForce RTX 5070 Ti 16 GB", 16, GIB(15, 47), LOGS, CHIP(12, 0, 70, 48)},
    {"rtx-5060-ti-16", NULL, "GeForce RTX 5060 Ti 16 GB", 16, MIB(15848), PROPERTIES, CHIP(12, 0, 36, 32)},
    {"rtx-4080-super", NULL, "GeForce RTX 4080 SUPER 16 GB", 16, MIB(15944), PROPERTIES, CHIP(8, 9, 80, 64)},
    {"rtx-4060-ti-16", NULL, "GeForce RTX 4060 Ti 16 GB", 16, GIB(15, 60), LOGS, CHIP(8, 9, 34, 32)},
    {"rtx-a4000", NULL, "RTX A4000 16 GB, ECC on", 16, GIB(15, 61), MESSAGE("DengKaiCQ/VGGT-Long#6"),
     CHIP(8, 6, 48, 4)},
    {"rtx-4080", NULL, "GeForce RTX 4080 16 GB", 16, MIB(16049), PROPERTIES, CHIP(8, 9, 76, 64)},
    {"rtx-4070-ti-super", NULL, "GeForce RTX 4070 Ti SUPER 16 GB", 16, MIB(16069), PROPERTIES, CHIP(8, 9, 66, 48)},
    {"v100-16", NULL, "V100 16 GB", 16, GIB(15, 78), MESSAGE("kchengiva/Shift-GCN#34"), CHIP(7, 0, 80, 6)},
    {"p100", NULL, "P100 16 GB", 16, MIB(16281), PROPERTIES, CHIP(6, 0, 56, 4)},
    {"rtx-a4500", NULL, "RTX A4500 20 GB", 20, GIB(19, 60), LOGS, CHIP(8, 6, 56, 6)},
    {"l4", NULL, "L4 24 GB, ECC on", 24, GIB(22, 3), MESSAGES, CHIP(8, 9, 58, 48)},
    {"a10g", NULL, "A10G 24 GB, ECC on", 24, MIB(22587), PROPERTIES, CHIP(8, 6, 80, 6)},
    {"a10", NULL, "A10 24 GB, ECC on", 24, GIB(22, 20), MESSAGE("h2oai/h2ogpt#48 (the card is not named there)"),
     CHIP(8, 6, 72, 6)},
    {"rtx-a5500", NULL, "RTX A5500 24 GB, ECC off", 24, MIB(24090), PROPERTIES, CHIP(8, 6, 80, 6)},
    {"a30", NULL, "A30 24 GB", 24, GIB(23, 53), MESSAGE("google/RB-Modulation#5"), CHIP(8, 0, 56, 24)},
    {"rtx-3090-ti", NULL, "GeForce RTX 3090 Ti 24 GB", 24, MIB(24110), PROPERTIES, CHIP(8, 6, 84, 6)},
    {"rtx-4090", NULL, "GeForce RTX 4090 24 GB", 24, GIB(23, 64), MESSAGE("ali-vilab/VGen#104"), CHIP(8, 9, 128, 72)},
    {"rtx-a5000", NULL, "RTX A5000 24 GB, ECC off", 24, MIB(24248), PROPERTIES, CHIP(8, 6, 64, 6)},
    {"rtx-3090", NULL, "GeForce RTX 3090 24 GB", 24, GIB(23, 70), MESSAGE("GaoLii/DSP#10"), CHIP(8, 6, 82, 6)},
    {"rx-7900-xtx", NULL, "Radeon RX 7900 XTX 24 GB", 24, MIB(24560), PROPERTIES, NO_CUDA},
    {"rtx-5090", NULL, "GeForce RTX 5090 32 GB", 32, GIB(31, 36), MESSAGE("TrajectoryCrafter/TrajectoryCrafter#20"),
     CHIP(12, 0, 170, 96)},
    {"rtx-5000-ada", NULL, "RTX 5000 Ada 32 GB, ECC off", 32, GIB(31, 60), LOGS, CHIP(8, 9, 100, 72)},
    {"v100-32", "v100s", "V100 32 GB", 32, GIB(31, 74), MESSAGE("haotian-liu/LLaVA#812"), CHIP(7, 0, 80, 6)},
    {"a100-40", NULL, "A100 40 GB", 40, GIB(39, 50), MESSAGE("TianheWu/CoSeR#10"), CHIP(8, 0, 108, 40)},
    {"a40", NULL, "A40 48 GB, ECC on", 48, MIB(45416), PROPERTIES, CHIP(8, 6, 84, 6)},
    {"l40", NULL, "L40 48 GB, ECC on", 48, GIB(44, 40), MESSAGE("QwenLM/Qwen3-VL#2097"), CHIP(8, 9, 142, 96)},
    {"l40s", NULL, "L40S 48 GB, ECC on", 48, MIB(45495), PROPERTIES, CHIP(8, 9, 142, 96)},
    {"rtx-6000-ada", NULL, "RTX 6000 Ada 48 GB, ECC on", 48, GIB(44, 43), MESSAGE("DINGYANB/MTVCrafter#21"),
     CHIP(8, 9, 142, 96)},
    {"quadro-rtx-8000", NULL, "Quadro RTX 8000 48 GB", 48, MIB(48601), PROPERTIES, CHIP(7, 5, 72, 6)},
    {"rtx-a6000", NULL, "RTX A6000 48 GB, ECC off", 48, GIB(47, 54), MESSAGES, CHIP(8, 6, 84, 6)},
    {"mi210", NULL, "Instinct MI210 64 GB", 64, MIB(65520), ESTIMATE("as the MI250's, of the same nominal size"),
     NO_CUDA},
    {"mi250", "mi250x,mi250x mi250", "Instinct MI250, MI250X: one of two dies, 64 GB", 64, MIB(65520), PROPERTIES,
     NO_CUDA},
    {"h100-80", NULL, "H100 80 GB", 80, GIB(79, 11), MESSAGE("vllm-project/vllm#27508"), CHIP(9, 0, 132, 50)},
    {"a100-80", NULL, "A100 80 GB", 80, GIB(79, 25), MESSAGE("levihsu/OOTDiffusion#235"), CHIP(8, 0, 108, 40)},
    {"h100-94", "h100 nvl", "H100 NVL 94 GB", 94, GIB(93, 0), MESSAGE("ali-vilab/VACE#56"), CHIP(9, 0, 132, 60)},
    {"gh200", "gh200 480gb", "GH200 96 GB", 96, GIB(94, 50), MESSAGES, CHIP(9, 0, 132, 60)},
    {"rtx-pro-6000", NULL, "RTX PRO 6000 96 GB, ECC on", 96, MIB(97250), PROPERTIES, CHIP(12, 0, 188, 128)},
    {"h200", "h200 nvl", "H200 141 GB", 141, GIB(139, 80), MESSAGES, CHIP(9, 0, 132, 60)},
    {"b200", "b200 192gb", "B200 180 GB", 180, GIB(178, 35), "total memory that CUDA reports, in pytorch/ao#4002",
     CHIP(10, 0, 148, 126)},
    {"gb200", "gb200 192gb", "GB200 186 GB, one GPU of it", 186, GIB(184, 31), MESSAGES, CHIP(10, 0, 152, 126)},
    {"mi300x", NULL, "Instinct MI300X 192 GB", 192, MIB(196592), PROPERTIES, NO_CUDA},
    {"mi325x", NULL, "Instinct MI325X 256 GB", 256, GIB(255, 98), MESSAGES, NO_CUDA},
    {"b300", NULL, "B300 288 GB", 288, GIB(267, 69), MESSAGES, CHIP(10, 3, 148, 126)},
    {"mi355x", NULL, "Instinct MI355X 288 GB", 288, GIB(287, 98), MESSAGES, NO_CUDA},
};

size_t gm_gpu_count(void)
{
    return sizeof gpus / sizeof gpus[0];
}

const struct gm_gpu *gm_gpu_at(size_t i)
{
    return &gpus[i];
}

/* ---- spellings --------------------------------------------------------------------------------------------------- */

/* "NVIDIA A100-SXM4-80GB" is model "a100" with 80 GB. */
enum { MODEL = 32 };
struct spelling {
    char model[MODEL];
    unsigned gigabytes; /* 0: not said */
};

/* Whose card it is, its family, and how it is built: no model needs them to be told from another. */
static const char *const makers[] = {"nvidia", "geforce", "tesla", "quadro", "amd", "radeon", "instinct", "rtx", "rx"};
static const char *const builds[] = {"gpu", "graphics", "generation", "blackwell", "workstation", "server", "edition",
                                     "max", "q",        "pcie",       "ac",        "gb",          "gib"};

static bool is_one_of(const char *const *words, size_t count, const char *word)
{
    size_t i = 0;
    while (i < count && strcmp(words[i], word) != 0)
        i++;
    return i < count;
}

static bool is_noise(const char *word)
{
    return is_one_of(makers, sizeof makers / sizeof *makers, word) ||
           is_one_of(builds, sizeof builds / sizeof *builds, word) || strncmp(word, "sxm", 3) == 0 ||
           strncmp(word, "hbm", 3) == 0;
}

/* "80gb", "80g", "80gib"; `may_be_bare`: "80", too. 0: it is no size. */
static unsigned size_of(const char *word, bool may_be_bare)
{
    size_t digits = 0;
    unsigned n = 0;
    for (; digits < 4 && gm_is_digit(word[digits]); digits++)
        n = 10 * n + (unsigned)(word[digits] - '0');
    const char *unit = word + digits;
    const bool is_unit = strcmp(unit, "g") == 0 || strcmp(unit, "gb") == 0 || strcmp(unit, "gib") == 0;
    return digits < 4 && (is_unit || (may_be_bare && *unit == '\0')) ? n : 0;
}

static bool next_word(char word[MODEL], const char **text)
{
    size_t n = 0;
    while (**text != '\0' && !gm_is_letter(**text) && !gm_is_digit(**text))
        ++*text;
    for (; gm_is_letter(**text) || gm_is_digit(**text); ++*text)
        if (n + 1 < MODEL)
            word[n++] = gm_is_upper(**text) ? (char)(**text - 'A' + 'a') : **text;
    word[n] = '\0';
    return n > 0;
}

/* "rtx4090", "nvidiah100". */
static void strip_makers(char model[MODEL])
{
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        const size_t n = strlen(makers[i]);
        if (strncmp(model, makers[i], n) == 0 && model[n] != '\0') {
            memmove(model, model + n, strlen(model + n) + 1);
            i = SIZE_MAX; /* begin again */
        }
    }
}

static struct spelling read_spelling(const char *text)
{
    struct spelling s = {"", 0};
    char word[MODEL];
    while (next_word(word, &text)) {
        const size_t n = strlen(s.model);
        const unsigned size = size_of(word, n > 0);
        if (size > 0)
            s.gigabytes = size;
        else if (!is_noise(word))
            snprintf(s.model + n, MODEL - n, "%s", word);
    }
    strip_makers(s.model);
    return s;
}

static bool is_spelt(const struct spelling *wanted, const char *name, unsigned gigabytes)
{
    const struct spelling s = read_spelling(name);
    return strcmp(s.model, wanted->model) == 0 &&
           (wanted->gigabytes == 0 || wanted->gigabytes == gigabytes || wanted->gigabytes == s.gigabytes);
}

static bool is_called(const struct gm_gpu *gpu, const struct spelling *wanted)
{
    char name[GM_GPU_NAME];
    if (is_spelt(wanted, gpu->name, gpu->gigabytes))
        return true;
    for (const char *at = gpu->also; at != NULL && *at != '\0'; at += at[0] == ',') {
        const size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        if (is_spelt(wanted, name, gpu->gigabytes))
            return true;
        at += n;
    }
    return false;
}

const struct gm_gpu *gm_gpu_find(const char *name)
{
    const struct spelling wanted = read_spelling(name);
    size_t i = 0;
    while (i < gm_gpu_count() && !is_called(&gpus[i], &wanted))
        i++;
    return wanted.model[0] == '\0' || i == gm_gpu_count() ? NULL : &gpus[i];
}

static enum gm_status refuse(const char *name, struct gm_error *err)
{
    const struct spelling wanted = read_spelling(name);
    struct gm_closest closest = gm_closest_to(wanted.model, strlen(wanted.model));
    for (size_t i = 0; i < gm_gpu_count(); i++) {
        const struct spelling s = read_spelling(gpus[i].name);
        gm_closest_offer(&closest, s.model);
        if (closest.name == s.model)
            closest.name = gpus[i].name;
    }
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                   "--gpu: no card is called '%.60s'%s (h100-80, rtx-4090 ...: --gpu "
                   "list shows all)",
                   name, gm_closest_hint(&closest, "").text);
}

/* The others of the model, if only a size tells them from `gpu`. */
static void note_others(char note[GM_GPU_NOTE], const struct gm_gpu *gpu, const char *name)
{
    const struct spelling wanted = read_spelling(name);
    size_t used = 0;
    note[0] = '\0';
    for (size_t i = 0; wanted.gigabytes == 0 && strcmp(name, gpu->name) != 0 && i < gm_gpu_count(); i++)
        if (&gpus[i] != gpu && is_called(&gpus[i], &wanted) && used < GM_GPU_NOTE)
            used += (size_t)snprintf(note + used, GM_GPU_NOTE - used, "%s%s", used == 0 ? "" : ", ", gpus[i].name);
    if (used == 0)
        return;
    char others[GM_GPU_NOTE];
    memcpy(others, note, sizeof others);
    snprintf(note, GM_GPU_NOTE, "--gpu %.40s: %s is taken; there is %.60s, too", name, gpu->name, others);
}

enum gm_status gm_gpu_choose(const struct gm_gpu **gpu, char note[GM_GPU_NOTE], const char *name, struct gm_error *err)
{
    *gpu = gm_gpu_find(name);
    if (*gpu == NULL)
        return refuse(name, err);
    note_others(note, *gpu, name);
    return GM_OK;
}

/* ---- the table as text ------------------------------------------------------------------------------------------- */

bool gm_gpu_is_list(const char *name)
{
    return name != NULL && (strcmp(name, "list") == 0 || strcmp(name, "help") == 0);
}

void gm_gpu_list(struct gm_text *out)
{
    char total[GM_SIZE_TEXT], usable[GM_SIZE_TEXT];
    gm_text_printf(out, "%-17s %10s %10s  %s\n", "name", "total", "usable", "source");
    for (size_t i = 0; i < gm_gpu_count(); i++)
        gm_text_printf(out, "%-17s %10s %10s  %s\n", gpus[i].name, gm_size_format(total, gpus[i].total),
                       gm_size_format(usable, gm_gpu_usable(&gpus[i])), gpus[i].source);
    gm_text_printf(out,
                   "\ntotal: the device's memory as CUDA reports it: 'total capacity' of an out-of-memory\n"
                   "message, 'total_memory' of the device's properties. usable: less %s for the\n"
                   "CUDA context. Names are taken as torch.cuda.get_device_name() prints them, too.\n",
                   gm_size_format(total, GM_GPU_CONTEXT));
}
