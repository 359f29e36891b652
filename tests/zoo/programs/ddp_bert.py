# SPDX-License-Identifier: Apache-2.0
# class: flat-gradient-buckets
# compare: peak
# gmdry: --world-size 2 --rank 0
# libs: transformers
"""BERT under DistributedDataParallel, whose buckets stand beside the gradients."""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import BertConfig, BertForMaskedLM

MENDED = os.environ.get("ZOO_MENDED")


def setup():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))


def bert():
    config = BertConfig(vocab_size=20000, hidden_size=1024, num_hidden_layers=14, num_attention_heads=16,
                        intermediate_size=4096, max_position_embeddings=256)
    model = BertForMaskedLM(config).cuda()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return model.train()


def masked(steps, batch=4, length=128):
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(steps):
        rows = torch.randint(5, 20000, (batch, length), generator=generator)
        yield rows.cuda(), rows.where(rows % 7 == 0, torch.tensor(-100)).cuda()


def main():
    setup()
    model = DistributedDataParallel(  # <- the mistake
        bert(),
        device_ids=[torch.cuda.current_device()],
        bucket_cap_mb=100,
        gradient_as_bucket_view=bool(MENDED),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for rows, labels in masked(5):
        loss = model(input_ids=rows, labels=labels).loss
        optimizer.zero_grad(set_to_none=False)
        loss.backward()  # <- the mistake
        optimizer.step()
        del loss
    if dist.get_rank() == 0:
        print("trained on", dist.get_world_size(), "ranks")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
