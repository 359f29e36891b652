# SPDX-License-Identifier: Apache-2.0
# since: 2.6
# environment: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
"""A tensor of the device given to another process (CUDA IPC)."""
import torch
import torch.multiprocessing as mp


def work(queue):
    assert queue.get(timeout=60).is_cuda


if __name__ == "__main__":
    context = mp.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    tensor = torch.ones(1000, device="cuda")
    queue.put(tensor)
    process.join()
    assert process.exitcode == 0
