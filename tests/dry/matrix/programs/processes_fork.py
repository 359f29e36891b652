# SPDX-License-Identifier: Apache-2.0
# peak: 67108864
"""multiprocessing: forked before the device is used."""
import multiprocessing
import torch


def work():
    torch.empty(1 << 26, dtype=torch.uint8, device="cuda")


if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == 0
