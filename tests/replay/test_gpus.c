/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of cards, and the names they are called by: those that users write, and those that
 * torch.cuda.get_device_name() prints.
 */
#include "replay/whatif/gpus.h"
#include "tests/unit.h"

#include <stdbool.h>
#include <string.h>

TEST(table)
{
    uint64_t before = 0;
    for (size_t i = 0; i < gm_gpu_count(); i++) {
        const struct gm_gpu *gpu = gm_gpu_at(i);
        assert_true(gpu->total >= before && gm_gpu_usable(gpu) + GM_GPU_CONTEXT == gpu->total);
        assert_ptr_equal(gm_gpu_find(gpu->name), gpu);
        /* no card reports more than it is sold with, or a tenth less */
        assert_true(gpu->total <= (uint64_t)gpu->gigabytes << 30);
        assert_true(gpu->total >= ((uint64_t)gpu->gigabytes << 30) / 10 * 9);
        assert_true(strlen(gpu->source) > 0 && strlen(gpu->name) < GM_GPU_NAME);
        /* a card of CUDA's has all of its chip's figures, the others none */
        const bool is_cuda = gpu->chip.major > 0;
        assert_true((gpu->chip.sms > 0) == is_cuda && (gpu->chip.l2 > 0) == is_cuda);
        assert_true((gpu->chip.source != NULL) == is_cuda && (gpu->chip.bus_bits > 0) == is_cuda);
        /* clocks in megahertz: nobody's memory is slower than 500, no SM faster than 4,000 */
        assert_true(!is_cuda || (gpu->chip.memory_megahertz > 500 && gpu->chip.megahertz > 1000));
        assert_true(gpu->chip.memory_megahertz < 20000 && gpu->chip.megahertz < 4000);
        assert_true(is_cuda == (strncmp(gpu->name, "mi", 2) != 0 && strncmp(gpu->name, "rx-", 3) != 0));
        before = gpu->total;
    }
    /* An H100 SXM: 9.0, 132 SMs, 50 MiB of L2. */
    const struct gm_gpu_chip *chip = &gm_gpu_find("h100-80")->chip;
    assert_true(chip->major == 9 && chip->minor == 0 && chip->sms == 132 && chip->l2 == 50 << 20);
    /* 23.64 GiB less half a GiB. */
    assert_int_equal(gm_gpu_usable(gm_gpu_find("rtx-4090")), UINT64_C(2364) * (1 << 30) / 100 - (1 << 29));
}

TEST(spellings)
{
    static const char *const same[][2] = {
        {"RTX 4090", "rtx-4090"},
        {"rtx4090", "rtx-4090"},
        {"4090", "rtx-4090"},
        {"RTX_4090 24GB", "rtx-4090"},
        {"NVIDIA GeForce RTX 4090", "rtx-4090"},
        {"NVIDIA GeForce RTX 4070 Ti SUPER", "rtx-4070-ti-super"},
        {"4070 ti super", "rtx-4070-ti-super"},
        {"NVIDIA GeForce RTX 4060 Ti", "rtx-4060-ti"},
        {"RTX 4060 Ti 16GB", "rtx-4060-ti-16"},
        {"NVIDIA GeForce RTX 3080", "rtx-3080"},
        {"3080-10", "rtx-3080"},
        {"RTX 3080 12 GB", "rtx-3080-12"},
        {"NVIDIA GeForce RTX 3080 Ti", "rtx-3080-ti"},
        {"GeForce RTX 2080 Ti", "rtx-2080-ti"},
        {"H100_80", "h100-80"},
        {"h100", "h100-80"},
        {"NVIDIA H100 80GB HBM3", "h100-80"},
        {"NVIDIA H100 PCIe", "h100-80"},
        {"H100 SXM5", "h100-80"},
        {"NVIDIA H100 NVL", "h100-94"},
        {"h100-nvl", "h100-94"},
        {"NVIDIA H200", "h200"},
        {"NVIDIA GH200 480GB", "gh200"},
        {"NVIDIA A100-SXM4-80GB", "a100-80"},
        {"NVIDIA A100 80GB PCIe", "a100-80"},
        {"A100-PCIE-40GB", "a100-40"},
        {"A100-SXM4-40GB", "a100-40"},
        {"a100", "a100-40"},
        {"a100 80g", "a100-80"},
        {"Tesla V100-SXM2-16GB", "v100-16"},
        {"Tesla V100-PCIE-32GB", "v100-32"},
        {"v100", "v100-16"},
        {"Tesla T4", "t4"},
        {"Tesla P100-PCIE-16GB", "p100"},
        {"NVIDIA A10", "a10"},
        {"a10g", "a10g"},
        {"NVIDIA A10G", "a10g"},
        {"NVIDIA A30", "a30"},
        {"NVIDIA A40", "a40"},
        {"NVIDIA L4", "l4"},
        {"NVIDIA L40", "l40"},
        {"L40S", "l40s"},
        {"NVIDIA RTX A2000 12GB", "rtx-a2000"},
        {"a4000", "rtx-a4000"},
        {"NVIDIA RTX A6000", "rtx-a6000"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
        {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"},
        {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000"},
        {"Quadro RTX 8000", "quadro-rtx-8000"},
        {"NVIDIA B200", "b200"},
        {"NVIDIA GB200", "gb200"},
        {"NVIDIA B300 SXM6 AC", "b300"},
        {"Radeon RX 7900 XTX", "rx-7900-xtx"},
        {"AMD Radeon RX 7900 XTX", "rx-7900-xtx"},
        {"AMD Instinct MI250X/MI250", "mi250"},
        {"AMD Instinct MI250X / MI250", "mi250"},
        {"mi250x", "mi250"},
        {"AMD Instinct MI300X", "mi300x"},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        const struct gm_gpu *gpu = gm_gpu_find(same[i][0]);
        if (gpu == NULL || strcmp(gpu->name, same[i][1]) != 0)
            print_error("%s is %s\n", same[i][0], gpu == NULL ? "nothing" : gpu->name);
        assert_non_null(gpu);
        assert_string_equal(gpu->name, same[i][1]);
    }
}

/* Neither laptops' cards, which have less, nor sizes that a card is not made in. */
TEST(no_card)
{
    static const char *const none[] = {"",
                                       "-",
                                       "rtx",
                                       "nvidia",
                                       "80gb",
                                       "gpu",
                                       "NVIDIA GeForce RTX 4090 Laptop GPU",
                                       "voodoo2",
                                       "A100-SXM-64GB",
                                       "rtx-4090-48",
                                       "h1000",
                                       "cpu",
                                       "4090000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_null(gm_gpu_find(none[i]));
}

static void expect(const char *name, const char *chosen, const char *said)
{
    const struct gm_gpu *gpu;
    struct gm_error err = {0};
    char note[GM_GPU_NOTE];
    enum gm_status status = gm_gpu_choose(&gpu, note, "--gpu", name, &err);
    assert_int_equal(status, chosen == NULL ? GM_E_USAGE : GM_OK);
    if (chosen != NULL)
        assert_string_equal(gpu->name, chosen);
    assert_string_equal(chosen == NULL ? err.message : note, said);
}

TEST(choosing)
{
    expect("a100", "a100-40", "--gpu a100: a100-40 is taken; there is a100-80, too");
    expect("H100", "h100-80", "--gpu H100: h100-80 is taken; there is h100-94, too");
    expect("NVIDIA GeForce RTX 3080", "rtx-3080",
           "--gpu NVIDIA GeForce RTX 3080: rtx-3080 is taken; there is rtx-3080-12, too");
    expect("rtx-3080", "rtx-3080", ""); /* its name in the table */
    expect("A100-SXM4-40GB", "a100-40", "");
    expect("4090", "rtx-4090", "");
    expect("voodoo2", NULL, "--gpu: no card is called 'voodoo2' (h100-80, rtx-4090 ...: --gpu list shows all)");
    expect(
        "rtx-4900", NULL,
        "--gpu: no card is called 'rtx-4900'; did you mean 'rtx-4090'? (h100-80, rtx-4090 ...: --gpu list shows all)");
    expect("h10", NULL,
           "--gpu: no card is called 'h10'; did you mean 'h100-80'? (h100-80, rtx-4090 ...: --gpu list shows all)");
    expect(
        "a100-64gb", NULL,
        "--gpu: no card is called 'a100-64gb'; did you mean 'a100-40'? (h100-80, rtx-4090 ...: --gpu list shows all)");
}

TEST(list)
{
    GM_FREED struct gm_text out = {0};
    gm_gpu_list(&out);
    assert_false(out.failed);
    size_t longest = 0;
    for (const char *at = out.data; *at != '\0'; at += strcspn(at, "\n") + 1)
        longest = strcspn(at, "\n") > longest ? strcspn(at, "\n") : longest;
    assert_true(longest <= 100);
    for (size_t i = 0; i < gm_gpu_count(); i++)
        assert_non_null(strstr(out.data, gm_gpu_at(i)->source));
    assert_non_null(strstr(out.data, "\nrtx-4090           23.64 GiB  23.14 GiB  message in ali-vilab/VGen#104\n"));
}
