/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/whatif/gpus.h"

#include <stdio.h>

/* GiB with two decimals, as PyTorch's messages show them. */
#define GIB(whole, hundredths) ((UINT64_C(whole) * 100 + (hundredths)) * (UINT64_C(1) << 30) / 100)
#define THREAD(where) "total capacity in the out-of-memory message of " where
#define SEVERAL "total capacity in the out-of-memory messages of several public logs that name the card"

static const struct gm_gpu gpus[] = {
    {"rtx-4060", "GeForce RTX 4060 8 GB", GIB(7, 75), THREAD("ESRSchao/EdgeRegNet#2")},
    {"rtx-3070", "GeForce RTX 3070 8 GB", GIB(7, 76), THREAD("sshan-zhao/GASDA#41")},
    {"rtx-3080", "GeForce RTX 3080 10 GB", GIB(9, 78), THREAD("zai-org/CogVideo#34")},
    {"rtx-2080-ti", "GeForce RTX 2080 Ti 11 GB", GIB(10, 76), THREAD("JDAI-CV/image-captioning#11")},
    {"rtx-3060", "GeForce RTX 3060 12 GB", GIB(11, 75), THREAD("Kunhao-Liu/StyleGaussian#12")},
    {"t4", "T4 16 GB, ECC on", GIB(14, 75), THREAD("hpcaitech/Open-Sora#697")},
    {"rtx-a4000", "RTX A4000 16 GB, ECC on", GIB(15, 61), THREAD("DengKaiCQ/VGGT-Long#6")},
    {"v100-16", "V100 16 GB", GIB(15, 78), THREAD("kchengiva/Shift-GCN#34")},
    {"l4", "L4 24 GB, ECC on", GIB(22, 3), SEVERAL},
    {"a10", "A10, A10G 24 GB, ECC on", GIB(22, 20), THREAD("h2oai/h2ogpt#48 (the card is not named there)")},
    {"rtx-4090", "GeForce RTX 4090 24 GB", GIB(23, 64), THREAD("ali-vilab/VGen#104")},
    {"rtx-3090", "GeForce RTX 3090 24 GB", GIB(23, 70), THREAD("GaoLii/DSP#10")},
    {"rtx-5090", "GeForce RTX 5090 32 GB", GIB(31, 36), THREAD("TrajectoryCrafter/TrajectoryCrafter#20")},
    {"v100-32", "V100 32 GB", GIB(31, 74), THREAD("haotian-liu/LLaVA#812")},
    {"a100-40", "A100 40 GB", GIB(39, 50), THREAD("TianheWu/CoSeR#10")},
    {"l40", "L40, L40S 48 GB, ECC on", GIB(44, 40), THREAD("QwenLM/Qwen3-VL#2097")},
    {"rtx-6000-ada", "RTX 6000 Ada 48 GB, ECC on", GIB(44, 43), THREAD("DINGYANB/MTVCrafter#21")},
    {"rtx-a6000", "RTX A6000 48 GB, ECC off", GIB(47, 54), SEVERAL},
    {"h100-80", "H100 80 GB", GIB(79, 11), THREAD("vllm-project/vllm#27508")},
    {"a100-80", "A100 80 GB", GIB(79, 25), THREAD("levihsu/OOTDiffusion#235")},
    {"h100-94", "H100 NVL 94 GB", GIB(93, 0), THREAD("ali-vilab/VACE#56")},
    {"h200", "H200 141 GB", GIB(139, 80), SEVERAL},
    {"b200", "B200 180 GB", GIB(178, 35), "total memory that CUDA reports, in pytorch/ao#4002"},
};

size_t gm_gpu_count(void)
{
    return sizeof gpus / sizeof gpus[0];
}

const struct gm_gpu *gm_gpu_at(size_t i)
{
    return &gpus[i];
}

static char folded(char c)
{
    return c == ' ' || c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const struct gm_gpu *gm_gpu_find(const char *name)
{
    for (size_t i = 0; i < gm_gpu_count(); i++) {
        size_t k = 0;
        while (name[k] != '\0' && folded(name[k]) == gpus[i].name[k])
            k++;
        if (name[k] == '\0' && gpus[i].name[k] == '\0')
            return &gpus[i];
    }
    return NULL;
}

enum gm_status gm_gpu_choose(const struct gm_gpu **gpu, const char *name, struct gm_error *err)
{
    char names[sizeof err->message] = "";
    size_t used = 0;
    *gpu = gm_gpu_find(name);
    if (*gpu != NULL)
        return GM_OK;
    for (size_t i = 0; i < gm_gpu_count() && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", gpus[i].name);
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--gpu: no card is called '%.60s'; there are %s", name, names);
}
